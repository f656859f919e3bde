"""What reconciling goes by: tolerances, limits, and the columns of a row and of a pair."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import narwhals.stable.v2 as nw

from workbench.analysis.frames import day_of
from workbench.analysis.shapes import DAY, LEDGER_MOVEMENT, MOMENT, STATEMENT_ROW
from workbench.errors import ReconcileRefused

GROUP: Final = ["account", "g"]
"""What the rows of one movement, or of one batch, have in common."""
Frame = nw.LazyFrame[Any]
Shape = Mapping[str, Any]
"""Column → type, as narwhals names it. A moment is read as whole milliseconds, a date as whole days."""

LEDGER: Final = "ledger"
STATEMENT: Final = "statement"
SIDES: Final = (LEDGER, STATEMENT)
PREFIX: Final = {LEDGER: "l_", STATEMENT: "s_"}
"""How the columns of each side begin in a pair."""

_READ_AS: Shape = {
    **dict.fromkeys(("string", "category"), nw.String), **dict.fromkeys(("int64", "Int64"), nw.Int64),
    MOMENT: nw.Datetime, DAY: nw.Date,
}  # fmt: skip
_UNREAD = {"payment", "description", "words"}
OPTIONAL: Shape = {"phone_hash": nw.String}
"""Columns of either side that may be missing: then they are empty."""
LEDGER_READ, STATEMENT_READ = (
    {**{name: _READ_AS[kind] for name, kind in columns.items() if name not in _UNREAD}, **OPTIONAL}
    for columns in (LEDGER_MOVEMENT, STATEMENT_ROW)
)
"""The types of those columns that are read."""

_OTHERS = {
    **dict.fromkeys(("account", "no", "at", "order", "day", "amount", "fee", "signed"), nw.Int64),
    "bad": nw.Boolean,
}
ROW: Shape = {
    name: _OTHERS.get(name, nw.String)
    for name in (
        "side", "account", "g", "key", "batch", "source", "no", "at", "order", "day", "direction", "amount", "fee",
        "currency", "status", "phone", "phone_hash", "bad", "signed", "entry", "kind", "refers", "state", "problem",
        "was",
    )
}  # fmt: skip
"""A row of either side. The account is its place in the list of accounts: numbers are compared sooner than names.

`g` is the group, `source` and `no` the statement and line, or nothing and the entry's number; `at` may be
null, `order` stands for it then; `bad` marks a row that no rule can work with, `kind` is the ledger's kind or the
statement's type, `refers` what a reversal reverses, and `was` the code that an earlier run gave a row that is
carried forward.
"""

OF_SIDE: Final = tuple(name for name in ROW if name not in {"side", "account", "g", "bad", "order", "was"})
"""What a pair has of a row, as `l_…` and `s_…`."""


PAIR_FIELDS: Final = ("phone", "amount", "time", "day", "fee", "type")
"""By what rows of two keys may pair, in the order in which a reason names it."""


@dataclass(frozen=True)
class Tolerance:
    """How far two sides may differ and still agree, and what makes one movement of two rows whose keys differ.

    `amount_minor` and `fee_minor` are minor units; `days` is the difference of business dates that
    still counts as the same date. Rows of one side alone are proposed as one movement where account, currency and
    direction are the same, what `pair_by` names fits, and no other row does: `amount`, which must be named,
    `phone` (both rows have one), `time` (at most `minutes` apart; the same date where a row has no time), `day` (at
    most `days` apart), `fee`, `type`. Whatever it names, rows with two different numbers are two movements.

    A bank's rows have no phone: `Tolerance(pair_by=("amount", "day"))`. It counts for every account of the run.

    Raises ReconcileRefused: not whole numbers from zero up, or no such fields.

    >>> Tolerance(amount_minor=1, minutes=60)
    Tolerance(amount_minor=1, fee_minor=0, days=1, minutes=60, pair_by=('phone', 'amount', 'time'))
    """

    amount_minor: int = 0
    fee_minor: int = 0
    days: int = 1
    minutes: int = 15
    pair_by: Sequence[str] = ("phone", "amount", "time")

    def __post_init__(self) -> None:
        for name in ("amount_minor", "fee_minor", "days", "minutes"):
            check_whole(name, getattr(self, name), "Tolerance")
        given = self.pair_by
        named = [] if isinstance(given, str) or not isinstance(given, Sequence) else list(given)
        if "amount" not in named or any(each not in PAIR_FIELDS for each in named):
            raise ReconcileRefused(
                f"Tolerance takes names of {', '.join(PAIR_FIELDS)} as `pair_by`, amount among them, not {given!r}.",
                hint='For rows of a bank, use pair_by=("amount", "day").',
            )
        object.__setattr__(self, "pair_by", tuple(each for each in PAIR_FIELDS if each in named))


ANY_DAY: Final = 10**9
"""No day is as far from 1970, before or after."""


@dataclass(frozen=True)
class Bounds:
    """The days, as numbers, outside of which a row that stands alone is wrongly dated."""

    periods: Mapping[str, tuple[int, int]]
    """The first and the last day of a statement, by its name; of one that is not here any day will do."""
    as_of: int

    def why(self, source: str, day: int | None) -> str | None:
        """Words for a row of the statement named `source`, or of the ledger; null where nothing is wrong."""
        first, last = self.periods.get(source, (-ANY_DAY, ANY_DAY))
        if day is None or first <= day <= min(last, self.as_of):
            return None
        if day > self.as_of:
            return f"it is dated {day_of(day)}, after {day_of(self.as_of)}, the day of the reconciliation"
        return f"it is dated {day_of(day)}, {'before the first' if day < first else 'after the last'} day of its file"


def check_whole(name: str, value: object, of: str) -> None:
    """Raises ReconcileRefused: not a whole number from zero up."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ReconcileRefused(
            f"{of} takes a whole number from 0 up as `{name}`, not {value!r}.",
            hint="Amounts are in minor units: one ngwee is 1, one kwacha 100.",
        )


ONE_SIDED: Final = "one_sided"
TOLERATED: Final = "tolerated"
"""Two codes of the work in between; no break is called so."""
