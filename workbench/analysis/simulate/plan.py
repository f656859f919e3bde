"""The plan of a month: each payment with its moment, amount, customer and scenario, drawn by keyed hash."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import KW_ONLY, dataclass
from datetime import date
from itertools import accumulate, count
from statistics import NormalDist
from typing import Final, NamedTuple

from workbench.domain.ids import Draws
from workbench.domain.moments import DAY_MS, LUSAKA, moment
from workbench.domain.phones import COUNTRY_CODE, OPERATORS
from workbench.domain.scenarios import APPROVE, LATE, UNKNOWN

_BITS: Final = 53
_NORMAL: Final = NormalDist()
_HOUR_MS: Final = 3_600_000
_AGAIN_MS: Final = (15_000, 55_000)
_SUFFIXES: Final = 1_000
INTENT: Final = "intent"
CHARGE: Final = "charge"


def day_of(at_ms: int) -> date:
    """The business date of a moment."""
    return moment(at_ms).astimezone(LUSAKA).date()


class Chances(Draws):
    """Numbers and choices drawn by a natural key; a further draw changes no other draw."""

    def share(self, *natural_key: str | int) -> float:
        """A number above 0 and below 1, drawn for the key."""
        drawn = int.from_bytes(self.digest("share", *natural_key, size=8), "big") >> (64 - _BITS)
        return (drawn + 0.5) / (1 << _BITS)

    def rank(self, *natural_key: str | int) -> int:
        """The key's place in a shuffled order; users take the lowest places first."""
        return int.from_bytes(self.digest("rank", *natural_key, size=8), "big")

    def between(self, bounds: tuple[int, int], *natural_key: str | int) -> int:
        """A whole number from the first to the last of `bounds`."""
        low, high = bounds
        return low + self.below(high - low + 1, *natural_key)

    def happens(self, per_100k: int, *natural_key: str | int) -> bool:
        """True for `per_100k` of a hundred thousand keys."""
        return self.below(100_000, *natural_key) < per_100k

    def one_of(self, weights: Mapping[str, int], *natural_key: str | int) -> str:
        """A name from `weights`, drawn as often as its weight says."""
        at = self.below(sum(weights.values()), *natural_key)
        return next(name for name, reached in zip(weights, accumulate(weights.values()), strict=True) if at < reached)


HOURLY_SHARES: Final = (
    3.97, 1.43, 0.35, 0.03, 0.01, 0.01, 0.09, 0.42, 1.01, 1.38, 1.13, 1.57,
    2.33, 3.37, 4.10, 4.19, 5.66, 6.53, 9.88, 12.23, 12.73, 10.68, 9.32, 7.59,
)  # fmt: skip
"""Share of a day's merchant payments in each hour of Lusaka, in percent (PaySim's aggregate); the sum is not 100."""
MAX_CUSTOMERS: Final = 3_000
"""The most customers of an operator that differ in a masked number, which shows a prefix of three and three digits."""
FAILURES: Final[Mapping[str, int]] = {
    "insufficient_funds": 3_500, "prompt_timeout": 2_000, "declined_by_customer": 1_200, "wrong_pin": 800,
    "limit_reached": 400, "operator_unavailable": 300, "payer_not_found": 250, "payer_busy": 150,
}  # fmt: skip
"""Failure code → payments in a hundred thousand. Nobody publishes rates; with these, nine in ten succeed."""
UNREPORTED: Final = {"operator_unavailable", "payer_not_found", "payer_busy"}
"""Failures that no operator's statement shows."""
_OPERATOR_WEIGHTS: Final = {"mtn": 46, "airtel": 42, "zamtel": 12}
_FULL_REFUNDS_PER_100K: Final = 60_000
"""Full refunds in a hundred thousand refunds."""
PAYOUTS_MS: Final = (2 * DAY_MS + 10 * _HOUR_MS, 7 * DAY_MS)
"""The time from the month's start to its first payout, and from one payout to the next.

The first is at ten o'clock of the third day, the others every week; each is of what is available then.
"""
PIN_AFTER_MS: Final = (4_000, 45_000)
"""The least and the most time that people take to find their PIN."""


@dataclass(frozen=True, kw_only=True)
class Traffic:
    """Settings of a month. Rates are per hundred thousand payments, unless they say otherwise."""

    mean_minor: int = 20_200
    """K202, the national average of a mobile-money transaction in 2023; merchants' are taken to have the same."""
    sigma: float = 0.81
    """The standard deviation of the amount's logarithm: amounts are lognormal."""
    smallest_minor: int = 100
    largest_minor: int = 2_000_000
    """K20,000, what a wallet of the first tier may pay in a day (Bank of Zambia, 2020)."""
    customers: int = 1_500
    """Customers of an operator; some pay often, most now and then."""
    intents_per_100k: int = 30_000
    """Payments by an intent and a PIN on the handset; the others are charged in one call."""
    late_per_100k: int = 150
    """Payments whose money arrives after the prompt has expired."""
    unknown_per_100k: int = 100
    """Payments whose money moves without a word from the operator."""
    again_per_100k: int = 2_000
    """Payments that repeat customer and amount of the payment before, within a minute."""
    refunds_per_100k: int = 2_500
    refund_after_ms: tuple[int, int] = (600_000, 172_800_000)
    """The time from a payment to its refund, at least and at most: ten minutes to two days."""

    def __post_init__(self) -> None:
        if not 1 <= self.customers <= MAX_CUSTOMERS:
            raise ValueError(f"customers is from 1 to {MAX_CUSTOMERS}, so many can be told apart by a masked number")


class Payment(NamedTuple):
    """One attempt of a customer to pay; `scenario` is its outcome, by the name in an operator's script.

    `refund_minor` is given back `refund_after_ms` after the payment; 0 means no refund.
    """

    number: int
    at_ms: int
    amount_minor: int
    phone: str
    operator: str
    way: str
    scenario: str
    refund_minor: int = 0
    refund_after_ms: int = 0


@dataclass
class Plan:
    """`payments` payments over `days` days from `start_ms`, which is midnight in Lusaka.

    The money of `late` payments comes late, besides those that the traffic makes late.
    """

    chances: Chances
    traffic: Traffic
    _: KW_ONLY
    payments: int
    days: int
    start_ms: int
    late: int = 0

    def __post_init__(self) -> None:
        total = sum(HOURLY_SHARES)
        self._reached = [0.0, *accumulate(share / total for share in HOURLY_SHARES)]
        others = {**FAILURES, LATE: self.traffic.late_per_100k, UNKNOWN: self.traffic.unknown_per_100k}
        # Late money of the month's last payments might come after its end.
        early = max(1, self.payments - self.payments // 10) if self.payments else 0
        places = (self.chances.below(early, "late", number) for number in count())
        self._late: set[int] = set()
        while len(self._late) < min(self.late, early):
            self._late.add(next(places))
        self._scenarios = {APPROVE: max(0, 100_000 - sum(others.values())), **others}

    @property
    def end_ms(self) -> int:
        """The last millisecond of the last day, before the clearing of that night."""
        return self.start_ms + self.days * DAY_MS - 1

    def __iter__(self) -> Iterator[Payment]:
        before: Payment | None = None
        often = self.traffic.again_per_100k
        for index, at_ms in enumerate(self._moments()):
            is_again, was_again = (self.chances.happens(often, "again", number) for number in (index, index - 1))
            # A payment is repeated once, never a third time.
            if before is not None and is_again and not was_again:
                soon_ms = min(at_ms, before.at_ms + self.chances.between(_AGAIN_MS, "again after", index))
                payment = self._payment(index, soon_ms, before.operator, before.phone, before.amount_minor)
                # A second prompt would queue behind the first, so this one is charged in a call.
                before = payment._replace(way=CHARGE)
            else:
                operator = self.chances.one_of(_OPERATOR_WEIGHTS, "operator", index)
                phone, amount_minor = self._phone(operator, index), self._amount_minor(index)
                before = self._payment(index, at_ms, operator, phone, amount_minor)
            yield before

    def _moments(self) -> Iterator[int]:
        """Yields moments in order, one at a time: the smallest of n uniforms, then of the n - 1 above it, and so on.

        The smallest of n uniforms above `low` is 1 - (1 - low) · v^(1/n). Logarithms keep the last as exact
        as the first.
        """
        left = 0.0
        for index in range(self.payments):
            left += math.log(self.chances.share("moment", index)) / (self.payments - index)
            yield self._at_ms(-math.expm1(left))

    def _at_ms(self, share: float) -> int:
        """The moment by which this share of the period's payments has come, by the shape of a day."""
        day, within = divmod(share * self.days, 1)
        hour = next((hour for hour in range(24) if within < self._reached[hour + 1]), 23)
        low, high = self._reached[hour : hour + 2]
        into = min(1.0, (within - low) / (high - low)) if high > low else 0.0
        offset_ms = int(day) * DAY_MS + hour * _HOUR_MS + int(into * _HOUR_MS)
        return self.start_ms + min(offset_ms, self.days * DAY_MS - 1)

    def _amount_minor(self, index: int) -> int:
        """A lognormal amount in whole ngwee: here, and only here, a drawn number is rounded to money."""
        traffic = self.traffic
        mu = math.log(traffic.mean_minor) - traffic.sigma**2 / 2
        drawn = round(math.exp(mu + traffic.sigma * _NORMAL.inv_cdf(self.chances.share("amount", index))))
        return min(max(drawn, traffic.smallest_minor), traffic.largest_minor)

    def _phone(self, operator: str, index: int) -> str:
        """A customer's number; drawn by the square of a share, some customers pay often."""
        number = int(self.chances.share("customer", index) ** 2 * self.traffic.customers)
        prefix, suffix = divmod(number, _SUFFIXES)
        return phone_of(f"{COUNTRY_CODE}{OPERATORS[operator].prefixes[prefix]}", f"{suffix:03}", self.chances)

    def _payment(self, index: int, at_ms: int, operator: str, phone: str, amount_minor: int) -> Payment:
        chances, traffic = self.chances, self.traffic
        scenario = LATE if index in self._late else chances.one_of(self._scenarios, "fate", index)
        refund_minor = refund_after_ms = 0
        if scenario == APPROVE and chances.happens(traffic.refunds_per_100k, "refund", index):
            refund_minor = amount_minor
            if not chances.happens(_FULL_REFUNDS_PER_100K, "full refund", index):
                refund_minor = max(1, amount_minor * chances.between((10, 90), "part", index) // 100)
            refund_after_ms = chances.between(traffic.refund_after_ms, "refund after", index)
        return Payment(
            number=index,
            at_ms=at_ms,
            amount_minor=amount_minor,
            phone=phone,
            operator=operator,
            way=INTENT if chances.happens(traffic.intents_per_100k, "way", index) else CHARGE,
            scenario=scenario,
            refund_minor=refund_minor,
            refund_after_ms=refund_after_ms,
        )


def phone_of(start: str, end: str, chances: Chances) -> str:
    """An unmasked number for a masked one, whose `start` and `end` decide the four digits between.

    The four digits never begin with 0, as a test number's do: a test number acts by itself.
    """
    return f"{start}{1000 + chances.below(9000, 'phone', start, end)}{end}"
