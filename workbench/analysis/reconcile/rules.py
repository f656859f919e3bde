"""Tolerances, limits, and the columns of a row and of a pair."""

from collections.abc import Mapping, Sequence
from dataclasses import InitVar, dataclass
from typing import Any, Final, NamedTuple

from workbench.analysis.frames import day_of
from workbench.analysis.match_rules import rules_in_place_of
from workbench.analysis.shapes import LEDGER_MOVEMENT, STATEMENT_ROW, Columns
from workbench.errors import ReconcileRefused

GROUP: Final = ["account", "g"]
"""Columns that the rows of one movement, or of one batch, share."""
Frame = str
"""SQL for rows: the name of a table, or a SELECT in parentheses."""
Native = Any
"""A table or a session of a library that may not be installed."""

LEDGER: Final = "ledger"
STATEMENT: Final = "statement"
SIDES: Final = (LEDGER, STATEMENT)
PREFIX: Final = {LEDGER: "l_", STATEMENT: "s_"}
"""The prefix of each side's columns in a pair."""

_UNREAD = {"payment", "description", "words"}
OPTIONAL: Columns = {"phone_hash": "string"}
"""Columns that a table of either side may lack; they are then null."""
LEDGER_READ, STATEMENT_READ = (
    {**{name: kind for name, kind in columns.items() if name not in _UNREAD}, **OPTIONAL}
    for columns in (LEDGER_MOVEMENT, STATEMENT_ROW)
)
"""The columns that are read from each side."""

_OTHERS = {
    **dict.fromkeys(("account", "no", "at", "order", "day", "amount", "fee", "signed"), "int64"),
    "bad": "bool",
}
ROW: Columns = {
    name: _OTHERS.get(name, "string")
    for name in (
        "side", "account", "g", "key", "batch", "source", "no", "at", "order", "day", "direction", "amount", "fee",
        "currency", "status", "phone", "phone_hash", "bad", "signed", "entry", "kind", "refers", "state", "problem",
        "was",
    )
}  # fmt: skip
"""A row of either side. `account` is a place in the list of accounts: numbers are compared faster than names.

`g` is the group: the batch, else the key. `source` and `no` are the statement and its line; a ledger row has no
source, and its `no` is the entry's number. `order` is `at`, or midnight of `day` if `at` is null. `bad` marks a row
that no rule can use. `kind` is the ledger's kind or the statement's type, `refers` names what a reversal reverses,
and `was` is the code that an earlier run gave the row.
"""

OF_SIDE: Final = tuple(name for name in ROW if name not in {"side", "account", "g", "bad", "order", "was"})
"""The columns of a row that a pair has for each side, as `l_…` and `s_…`."""


@dataclass(frozen=True)
class Tolerance:
    """The most by which the amounts and the fees of two rows with one key may differ, in minor units.

    Each account's rules say how many days apart its rows may be, and what matches rows without a common key: see
    `match_rules`. Raises ReconcileRefused: a limit is not a whole number from 0 up, or `days`, `minutes` or `pair_by`
    is given, which are rules now.

    >>> Tolerance(amount_minor=1)
    Tolerance(amount_minor=1, fee_minor=0)
    """

    amount_minor: int = 0
    fee_minor: int = 0
    days: InitVar[int | None] = None
    minutes: InitVar[int | None] = None
    pair_by: InitVar[Sequence[str] | None] = None

    def __post_init__(self, days: int | None, minutes: int | None, pair_by: Sequence[str] | None) -> None:
        for name in ("amount_minor", "fee_minor"):
            check_whole(name, getattr(self, name), "Tolerance")
        given = {"days": days, "minutes": minutes, "pair_by": pair_by}
        if old := [name for name, value in given.items() if value is not None]:
            raise ReconcileRefused(
                f"A tolerance has no {' and no '.join(old)} any more: a rule of the account says it. "
                f"Write {rules_in_place_of(days, minutes, pair_by)}.",
                hint="It stands in the statement's layout, in the rules file under [match] as "
                '"ACCOUNT" = […], or in reconcile(match=…).',
            )


class Allowed(NamedTuple):
    """Limits within which two rows of one key agree: amount and fee, and the days of each account by its place."""

    amount_minor: int
    fee_minor: int
    days: Sequence[int]

    @property
    def days_of_account(self) -> str:
        """SQL for the number of days by which two rows of an account may be apart."""
        usual, *others = self.days
        places = " ".join(f"when {place} then {days}" for place, days in enumerate(others, start=1))
        return f"case account {places} else {usual} end" if {usual} < {*self.days} else f"{usual}"


ANY_DAY: Final = 10**9
"""More days than lie between 1970 and any date."""
TOO_LATE: Final = "the day of the reconciliation"
"""The end of the problem of a row that is dated after `as_of`: for a later run the date may be right."""


@dataclass(frozen=True)
class Bounds:
    """The days, counted from 1970, outside of which a row without a partner is wrongly dated."""

    periods: Mapping[str, tuple[int, int]]
    """Statement → its first and last day; rows of any other statement may have any day up to `as_of`."""
    as_of: int

    def why(self, source: str, day: int | None) -> str | None:
        """Why the `day` of a row of this statement, or of the ledger, is wrong; None if it is missing or possible."""
        first, last = self.periods.get(source, (-ANY_DAY, ANY_DAY))
        if day is None or first <= day <= min(last, self.as_of):
            return None
        if day > self.as_of:
            return f"it is dated {day_of(day)}, after {day_of(self.as_of)}, {TOO_LATE}"
        return f"it is dated {day_of(day)}, {'before the first' if day < first else 'after the last'} day of its file"


def check_whole(name: str, value: object, of: str) -> None:
    """Raises ReconcileRefused: the `value` of the parameter `name` is not a whole number from 0 up."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ReconcileRefused(
            f"{of} takes a whole number from 0 up as `{name}`, not {value!r}.",
            hint="Amounts are in minor units: one ngwee is 1, one kwacha 100.",
        )


ONE_SIDED: Final = "one_sided"
"""The code, while the rules run, of a row or group without a partner: matching or rule 6 replaces it."""
TOLERATED: Final = "tolerated"
"""The code, while the rules run, of a pair that differs only within the tolerance: it is no break."""
