"""What the rules go by: tolerances, limits, and the codes in the order in which they are given."""

from dataclasses import dataclass
from typing import Final

from workbench.errors import ReconcileRefused


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


def check_whole(name: str, value: object, of: str) -> None:
    """Raises ReconcileRefused: not a whole number from zero up."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ReconcileRefused(
            f"{of} takes a whole number from 0 up as `{name}`, not {value!r}.",
            hint="Amounts are in minor units: one ngwee is 1, one kwacha 100.",
        )


PARTNERS_WITHIN_MS: Final = 15 * 60 * 1000
"""Two rows whose keys differ may be one movement only within so long."""

DAY_MS: Final = 86_400_000

INVALID: Final = "invalid_row"
DUPLICATE: Final = {"ledger": "duplicate_in_ledger", "statement": "duplicate_in_statement"}
AMBIGUOUS: Final = "ambiguous"
WRONG_REFERENCE: Final = "wrong_reference"
BATCH_MISMATCH: Final = "batch_mismatch"
TIMING: Final = "timing"
LATE_SUCCESS: Final = "late_success"
REVERSED_UNMATCHED: Final = "reversed_unmatched"
PAYOUT_UNPAID: Final = "payout_unpaid"
MISSING: Final = {"ledger": "missing_in_statement", "statement": "missing_in_ledger"}
"""By the side that has the row."""

CODES: Final = (
    INVALID,
    *DUPLICATE.values(),
    AMBIGUOUS,
    "currency_mismatch",
    "status_mismatch",
    "direction_mismatch",
    "amount_mismatch",
    "fee_mismatch",
    "date_mismatch",
    WRONG_REFERENCE,
    BATCH_MISMATCH,
    TIMING,
    *MISSING.values(),
    LATE_SUCCESS,
    REVERSED_UNMATCHED,
    PAYOUT_UNPAID,
)

ONE_SIDED: Final = "one_sided"
TOLERATED: Final = "tolerated"
"""Two words of the work in between; no break is called so."""

BUCKETS: Final = {"0–1": 1, "2–3": 3, "4–7": 7, "8–30": 30, "31+": None}  # noqa: RUF001  an en dash, as in print
"""The name of each age and the days to which it reaches."""

MATCH_RULES: Final = ("key", "one_to_many", "many_to_one", "many_to_many", "nets_to_zero", "nothing_moved")
