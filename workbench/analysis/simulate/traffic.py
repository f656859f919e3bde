"""What a merchant's month is like: the shape of a day, amounts, customers, and what goes wrong how often.

Figures with a source name it; the others are nobody's and parameters: give a `Traffic` of your own.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

HOURLY_SHARES: Final = (
    3.97, 1.43, 0.35, 0.03, 0.01, 0.01, 0.09, 0.42, 1.01, 1.38, 1.13, 1.57,
    2.33, 3.37, 4.10, 4.19, 5.66, 6.53, 9.88, 12.23, 12.73, 10.68, 9.32, 7.59,
)  # fmt: skip
"""Share of a day's merchant payments in each hour of Lusaka, in percent (PaySim's aggregate); their sum is no 100."""
MEAN_MINOR: Final = 20_200
"""The national average of a mobile-money transaction in 2023, K202; merchants' payments are taken to have the same."""
SIGMA: Final = 0.81
"""Of the logarithm of the amount: amounts are lognormal."""
SMALLEST_MINOR: Final = 100
LARGEST_MINOR: Final = 2_000_000
"""K20,000, what a wallet of the first tier may pay in a day (Bank of Zambia, 2020)."""
MAX_CUSTOMERS: Final = 3_000
"""Of one operator: a masked number tells three prefixes and three digits, and each customer has another one."""


class Failure(NamedTuple):
    """How many payments in a hundred thousand fail so; `told` where the operator's statement shows the attempt."""

    per_100k: int
    reported: bool


FAILURES: Final[Mapping[str, Failure]] = {
    "insufficient_funds": Failure(3_500, reported=True),
    "prompt_timeout": Failure(2_000, reported=True),
    "declined_by_customer": Failure(1_200, reported=True),
    "wrong_pin": Failure(800, reported=True),
    "limit_reached": Failure(400, reported=True),
    "operator_unavailable": Failure(300, reported=False),
    "payer_not_found": Failure(250, reported=False),
    "payer_busy": Failure(150, reported=False),
}
"""By our code. Nobody publishes rates; these come to a success rate of nine in ten."""


@dataclass(frozen=True, kw_only=True)
class Traffic:
    """What may be set of a month. Shares are of a hundred thousand payments, unless they say otherwise."""

    hourly_shares: tuple[float, ...] = HOURLY_SHARES
    mean_minor: int = MEAN_MINOR
    sigma: float = SIGMA
    smallest_minor: int = SMALLEST_MINOR
    largest_minor: int = LARGEST_MINOR
    operators: Mapping[str, int] = field(default_factory=lambda: {"mtn": 46, "airtel": 42, "zamtel": 12})
    """Operator → its weight among payments."""
    customers: int = 1_500
    """How many customers an operator has; some pay often, most now and then."""
    intents_per_100k: int = 30_000
    """How many are paid by an intent and a PIN on the handset; the others are charged in one call."""
    failures: Mapping[str, Failure] = field(default_factory=lambda: dict(FAILURES))
    late_per_100k: int = 150
    """Money that arrives after its prompt has expired."""
    unknown_per_100k: int = 100
    """Money that moves without a word from the operator."""
    again_per_100k: int = 2_000
    """How often the same customer pays the same amount again within the minute."""
    refunds_per_100k: int = 2_500
    full_refunds_per_100k: int = 60_000
    """Of the refunds, those of the whole amount."""
    refund_after_ms: tuple[int, int] = (600_000, 172_800_000)
    """Money is given back so long after it was paid: ten minutes to two days."""
    payout_every_days: int = 7
    payout_on_day: int = 2
    """The first is asked for on the third day, for what is available then."""
    payout_at_ms: int = 36_000_000
    """At ten o'clock."""
    pin_after_ms: tuple[int, int] = (4_000, 45_000)
    """How long people look for their PIN."""

    def __post_init__(self) -> None:
        if not 1 <= self.customers <= MAX_CUSTOMERS:
            message = f"customers is from 1 to {MAX_CUSTOMERS}, so many can be told apart by a masked number"
            raise ValueError(message)
