"""What reconciling goes by: tolerances, limits, and the columns of a row and of a pair."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import narwhals.stable.v2 as nw

from workbench.analysis.frames import day_of
from workbench.analysis.shapes import DAY, LEDGER_MOVEMENT, MOMENT, STATEMENT_ROW
from workbench.errors import ReconcileRefused

TEXT: Final = "text"
WHOLE: Final = "a whole number"
INSTANT: Final = "a moment with its time zone"
DATE: Final = "a date"

Frame = nw.LazyFrame[Any]
Kinds = Mapping[str, str]
"""Column → one of the four kinds."""

LEDGER: Final = "ledger"
STATEMENT: Final = "statement"
SIDES: Final = (LEDGER, STATEMENT)
PREFIX: Final = {LEDGER: "l_", STATEMENT: "s_"}
"""How the columns of each side begin in a pair."""

_KIND_OF_TYPE: Kinds = {
    "string": TEXT, "category": TEXT, "int64": WHOLE, "Int64": WHOLE, MOMENT: INSTANT, DAY: DATE,
}  # fmt: skip
_UNREAD = {"payment", "description", "words", "phone_hash"}
LEDGER_READ, STATEMENT_READ = (
    {name: _KIND_OF_TYPE[kind] for name, kind in columns.items() if name not in _UNREAD}
    for columns in (LEDGER_MOVEMENT, STATEMENT_ROW)
)
"""The kinds of those columns that are read."""

NUMBER, WORD, FLAG = nw.Int64, nw.String, nw.Boolean
Shape = Mapping[str, Any]
"""Column → type, as narwhals names it."""

_OTHERS = {**dict.fromkeys(("account", "no", "at", "order", "day", "amount", "fee", "signed"), NUMBER), "bad": FLAG}
ROW: Shape = {
    name: _OTHERS.get(name, WORD)
    for name in (
        "side", "account", "g", "key", "batch", "source", "no", "at", "order", "day", "direction", "amount", "fee",
        "currency", "status", "phone", "bad", "signed", "entry", "kind", "refers", "state", "problem", "was",
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


@dataclass(frozen=True)
class Tolerance:
    """How far two sides may differ and still agree.

    `amount_minor` and `fee_minor` are minor units; `days` is the difference of business dates that
    still counts as the same date. Raises ReconcileRefused: not whole numbers from zero up.

    >>> Tolerance(amount_minor=1)
    Tolerance(amount_minor=1, fee_minor=0, days=1)
    """

    amount_minor: int = 0
    fee_minor: int = 0
    days: int = 1

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            check_whole(name, value, "Tolerance")


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
            return f"it is dated {day_of(day)}, after {day_of(self.as_of)}, the day as of which the books are compared"
        return f"it is dated {day_of(day)}, {'before the first' if day < first else 'after the last'} day of its file"


def check_whole(name: str, value: object, of: str) -> None:
    """Raises ReconcileRefused: not a whole number from zero up."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ReconcileRefused(
            f"{of} takes a whole number from 0 up as `{name}`, not {value!r}.",
            hint="Amounts are in minor units: one ngwee is 1, one kwacha 100.",
        )


PARTNERS_WITHIN_MS: Final = 15 * 60 * 1000
"""Two rows whose keys differ may be one movement only within so long."""

ONE_SIDED: Final = "one_sided"
TOLERATED: Final = "tolerated"
"""Two codes of the work in between; no break is called so."""

MATCH_RULES: Final = ("key", "one_to_many", "many_to_one", "many_to_many", "nets_to_zero", "nothing_moved")
