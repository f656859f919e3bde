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

ONE_SIDED: Final = "one_sided"
TOLERATED: Final = "tolerated"
"""Two words of the work in between; no break is called so."""

MATCH_RULES: Final = ("key", "one_to_many", "many_to_one", "many_to_many", "nets_to_zero", "nothing_moved")
