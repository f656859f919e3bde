"""A month of a merchant's payments: drawn at random, sent as commands in order of time, reported as statement rows."""

import heapq
import math
import sys
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import KW_ONLY, dataclass
from datetime import date
from itertools import accumulate, count, groupby, islice
from statistics import NormalDist
from typing import Any, Final, NamedTuple

from msgspec.structs import replace

from workbench.analysis.break_codes import INVALID, LATE_SUCCESS, MISSING
from workbench.analysis.shapes import COMPLETED
from workbench.domain.catalogue import OPERATOR_NAMES
from workbench.domain.gaps import Gaps
from workbench.domain.ids import Draws, reference
from workbench.domain.ledger import BANK, CREDITED, FLOAT, IN, IN_SUSPENSE
from workbench.domain.moments import DAY_MS, LUSAKA, business_date, milliseconds, moment
from workbench.domain.money import ZMW
from workbench.domain.payments import fees_of
from workbench.domain.phones import COUNTRY_CODE, OPERATORS
from workbench.domain.scenarios import ACTS_AFTER_S, APPROVE, LATE, LATE_S, TIMEOUT, UNKNOWN
from workbench.domain.wire.sandbox_controls import SimulatedCommand
from workbench.session import Session

_BITS: Final = 53
_NORMAL: Final = NormalDist()
_HOUR_MS: Final = 3_600_000
_AGAIN_MS: Final = (15_000, 55_000)
INTENT: Final = "intent"
CHARGE: Final = "charge"


def lusaka_day(at_ms: int) -> date:
    """The business date of a moment."""
    return moment(at_ms).astimezone(LUSAKA).date()


class Chances(Draws):
    """Random numbers and choices, each derived from a key: equal keys give equal draws, whatever else is drawn."""

    def share(self, *natural_key: str | int) -> float:
        """A number between 0 and 1, both excluded, drawn for the key."""
        drawn = int.from_bytes(self.digest("share", *natural_key, size=8), "big") >> (64 - _BITS)
        return (drawn + 0.5) / (1 << _BITS)

    def rank(self, *natural_key: str | int) -> int:
        """A random rank for the key: sorting keys by rank shuffles them."""
        return int.from_bytes(self.digest("rank", *natural_key, size=8), "big")

    def between(self, bounds: tuple[int, int], *natural_key: str | int) -> int:
        """An integer within `bounds`, both included, drawn for the key."""
        low, high = bounds
        return low + self.below(high - low + 1, *natural_key)

    def happens(self, per_100k: int, *natural_key: str | int) -> bool:
        """True with a probability of `per_100k` in a hundred thousand, drawn for the key."""
        return self.below(100_000, *natural_key) < per_100k

    def one_of(self, weights: Mapping[str, int], *natural_key: str | int) -> str:
        """A name from `weights`, drawn for the key with a probability in proportion to its weight."""
        at = self.below(sum(weights.values()), *natural_key)
        return next(name for name, reached in zip(weights, accumulate(weights.values()), strict=True) if at < reached)


HOURLY_SHARES: Final = (
    3.97, 1.43, 0.35, 0.03, 0.01, 0.01, 0.09, 0.42, 1.01, 1.38, 1.13, 1.57,
    2.33, 3.37, 4.10, 4.19, 5.66, 6.53, 9.88, 12.23, 12.73, 10.68, 9.32, 7.59,
)  # fmt: skip
"""The percentage of a day's merchant payments in each hour in Lusaka, from PaySim's data; the sum is not 100."""
_REACHED: Final = (0.0, *accumulate(share / sum(HOURLY_SHARES) for share in HOURLY_SHARES))
"""The share of a day's payments that has occurred by the beginning of each hour, from 0 to 1."""
MAX_CUSTOMERS: Final = 3_000
"""The most customers of an operator with distinct masked numbers: a mask shows the prefix and the last three digits."""
FAILURES: Final[Mapping[str, int]] = {
    "insufficient_funds": 3_500, "prompt_timeout": 2_000, "declined_by_customer": 1_200, "wrong_pin": 800,
    "limit_reached": 400, "operator_unavailable": 300, "payer_not_found": 250, "payer_busy": 150,
}  # fmt: skip
"""Failure code → payments in a hundred thousand. No rates are published; with these, nine in ten payments succeed."""
UNREPORTED: Final = {"operator_unavailable", "payer_not_found", "payer_busy"}
"""Failure codes that no operator's statement shows."""
_OPERATOR_WEIGHTS: Final = {"mtn": 46, "airtel": 42, "zamtel": 12}
_FULL_REFUNDS_PER_100K: Final = 60_000
"""Refunds of the whole payment in a hundred thousand refunds."""
_FIRST_PAYOUT_MS, _BETWEEN_PAYOUTS_MS = 2 * DAY_MS + 10 * _HOUR_MS, 7 * DAY_MS
"""Milliseconds from the month's first midnight to the first payout, and between payouts of all available money."""
PIN_AFTER_MS: Final = (4_000, 45_000)
"""The shortest and the longest time, in milliseconds, that customers take to enter their PIN."""


@dataclass(frozen=True, kw_only=True)
class Traffic:
    """The settings of a month's payments. Rates are per hundred thousand payments unless stated otherwise."""

    mean_minor: int = 20_200
    """The mean amount: K202, the national average of mobile-money transactions in 2023."""
    sigma: float = 0.81
    """The standard deviation of the amount's logarithm: amounts are lognormal."""
    smallest_minor: int = 100
    largest_minor: int = 2_000_000
    """The largest amount: K20,000, the daily limit of a first-tier wallet (Bank of Zambia, 2020)."""
    customers: int = 1_500
    """The number of customers of each operator; a few pay often, most pay now and then."""
    intents_per_100k: int = 30_000
    """Payments by a payment intent and a PIN on the handset; all others are direct charges."""
    late_per_100k: int = 150
    """Payments whose money arrives after the prompt has expired."""
    unknown_per_100k: int = 100
    """Payments whose money moves, although the operator never answers the sandbox."""
    again_per_100k: int = 2_000
    """Payments that repeat, within a minute, the customer and the amount of the previous payment."""
    refunds_per_100k: int = 2_500
    refund_after_ms: tuple[int, int] = (600_000, 172_800_000)
    """The shortest and the longest time, in milliseconds, from a payment to its refund: ten minutes to two days."""

    def __post_init__(self) -> None:
        if not 1 <= self.customers <= MAX_CUSTOMERS:
            raise ValueError(f"customers is from 1 to {MAX_CUSTOMERS}, so many can be told apart by a masked number")


class PlannedPayment(NamedTuple):
    """A customer's attempt to pay by an intent or a charge (`flow`), which ends as `scenario`; and its later refund."""

    number: int
    at_ms: int
    amount_minor: int
    phone: str
    operator: str
    flow: str
    scenario: str
    refund_minor: int = 0


@dataclass
class Plan:
    """The plan of `payments` payments over `days` days from `start_ms`, a midnight in Lusaka.

    Iterating over a plan yields its payments in order of time. `late` is the number of payments whose money comes late,
    in addition to those that the traffic's rate gives.
    """

    chances: Chances
    traffic: Traffic
    _: KW_ONLY
    payments: int
    days: int
    start_ms: int
    late: int = 0

    def __post_init__(self) -> None:
        others = {**FAILURES, LATE: self.traffic.late_per_100k, UNKNOWN: self.traffic.unknown_per_100k}
        # Late money of the month's last payments might come after its end.
        early = max(1, self.payments - self.payments // 10) if self.payments else 0
        draws = (self.chances.below(early, "late", number) for number in count())
        self._late: set[int] = set()
        while len(self._late) < min(self.late, early):
            self._late.add(next(draws))
        self._scenarios = {APPROVE: max(0, 100_000 - sum(others.values())), **others}

    @property
    def end_ms(self) -> int:
        """The last millisecond of the last day, before that night's clearing."""
        return self.start_ms + self.days * DAY_MS - 1

    def __iter__(self) -> Iterator[PlannedPayment]:
        previous: PlannedPayment | None = None
        often = self.traffic.again_per_100k
        for index, at_ms in enumerate(self._moments()):
            is_again, was_again = (self.chances.happens(often, "again", number) for number in (index, index - 1))
            # A payment is repeated once, never a third time.
            if previous is not None and is_again and not was_again:
                soon_ms = min(at_ms, previous.at_ms + self.chances.between(_AGAIN_MS, "again after", index))
                # A second prompt would queue behind the first, so this one is charged in a call.
                repeated = previous.operator, previous.phone, previous.amount_minor
                previous = self._payment(index, soon_ms, *repeated, CHARGE)
            else:
                operator = self.chances.one_of(_OPERATOR_WEIGHTS, "operator", index)
                flow = INTENT if self.chances.happens(self.traffic.intents_per_100k, "way", index) else CHARGE
                phone, amount_minor = self._phone(operator, index), self._amount_minor(index)
                previous = self._payment(index, at_ms, operator, phone, amount_minor, flow)
            yield previous

    def _moments(self) -> Iterator[int]:
        """Yields the payments' moments in order, without storing them.

        The next one is the smallest of n uniform random numbers above `low`, the previous one, with n payments left:
        1 - (1 - low) · v^(1/n) for a uniform v. Logarithms keep the last moment as exact as the first.
        """
        log_above = 0.0
        for index in range(self.payments):
            log_above += math.log(self.chances.share("moment", index)) / (self.payments - index)
            yield self._at_ms(-math.expm1(log_above))

    def _at_ms(self, share: float) -> int:
        """The moment, in ms, by which this share (0 to 1) of the payments has occurred; each day has HOURLY_SHARES."""
        day, within = divmod(share * self.days, 1)
        hour = min(bisect_right(_REACHED, within) - 1, 23)
        low, high = _REACHED[hour : hour + 2]
        into = min(1.0, (within - low) / (high - low))
        offset_ms = int(day) * DAY_MS + hour * _HOUR_MS + int(into * _HOUR_MS)
        return self.start_ms + min(offset_ms, self.days * DAY_MS - 1)

    def _amount_minor(self, index: int) -> int:
        """A lognormal amount in whole ngwee; a random number becomes money only here."""
        traffic = self.traffic
        mu = math.log(traffic.mean_minor) - traffic.sigma**2 / 2
        drawn = round(math.exp(mu + traffic.sigma * _NORMAL.inv_cdf(self.chances.share("amount", index))))
        return min(max(drawn, traffic.smallest_minor), traffic.largest_minor)

    def _phone(self, operator: str, index: int) -> str:
        """The customer's number of the payment `index`; the draw is squared, so that a few customers pay often."""
        number = int(self.chances.share("customer", index) ** 2 * self.traffic.customers)
        prefix, suffix = divmod(number, 1_000)
        return phone_of(f"{COUNTRY_CODE}{OPERATORS[operator].prefixes[prefix]}", f"{suffix:03}", self.chances)

    def _payment(
        self, index: int, at_ms: int, operator: str, phone: str, amount_minor: int, flow: str
    ) -> PlannedPayment:
        chances, traffic = self.chances, self.traffic
        scenario = LATE if index in self._late else chances.one_of(self._scenarios, "fate", index)
        payment = PlannedPayment(index, at_ms, amount_minor, phone, operator, flow, scenario)
        if scenario != APPROVE or not chances.happens(traffic.refunds_per_100k, "refund", index):
            return payment
        refund_minor = amount_minor
        if not chances.happens(_FULL_REFUNDS_PER_100K, "full refund", index):
            refund_minor = max(1, amount_minor * chances.between((10, 90), "part", index) // 100)
        return payment._replace(refund_minor=refund_minor)


def phone_of(start: str, end: str, chances: Chances) -> str:
    """A phone number from `start`, four random digits and `end`; the digits never begin with the 0 of test numbers."""
    return f"{start}{1000 + chances.below(9000, 'phone', start, end)}{end}"


ACCOUNTS: Final[Mapping[str, str]] = {
    **{FLOAT.name.format(operator=operator): operator for operator in OPERATORS},
    BANK.name: "aggregator",
}
"""Account → the layout of its statement."""
_TYPES: Final[Mapping[str, tuple[str, str]]] = {
    "funds_secured": ("payment", "Payment to PLANT STORE"),
    LATE_SUCCESS: ("payment", "Payment to PLANT STORE"),
    "refund_sent": ("refund", "Refund from PLANT STORE"),
    "swept": ("transfer", "Sweep to settlement account"),
    "sweep_recalled": ("transfer", "Sweep called back"),
    "float_topped_up": ("transfer", "Top-up from settlement account"),
    CREDITED: ("transfer", "Collections credited"),
    "payout_paid": ("payout", "Payout to merchant"),
    "payout_returned": ("reversal", "Payout returned"),
}
"""Kind of entry → the type and the description of its row on a statement."""
_SAME: Final = ("account", "key", "direction", "amount_minor", "fee_minor", "currency", "status", "batch")
"""The columns that a ledger movement and its statement row have in common."""
_TRANCHE_MINOR: Final = 500_000
_MOST_TRANCHES: Final = 5
_TRANCHE_MS: Final = 420_000
_OWN_SEQ: Final = 90_000_000
"""The first number of transaction ids that only an operator knows; numbers in the ledger's ids stay far below."""


class StatementRow(NamedTuple):
    """A statement row to be written; `cells` is column → text that the file has in place of the row's value."""

    account: str
    key: str | None
    at_ms: int
    direction: str
    amount_minor: int
    fee_minor: int
    phone: str | None
    type: str
    description: str
    currency: str = ZMW.code
    status: str = COMPLETED
    batch: str | None = None
    related: str | None = None
    code: str | None = None
    """The code of the row's planted break."""
    cells: Mapping[str, str] = {}
    decoy: str | None = None
    """The reason why the row only looks like a break; None for all other rows."""

    @property
    def effect_minor(self) -> int:
        """The change of the statement's balance by the row, in minor units; 0 if the row moves no money."""
        # The file's own balance counts neither an amount that cannot be read nor one in another currency.
        if self.status != COMPLETED or self.currency != ZMW.code or (self.code == INVALID and "amount" in self.cells):
            return 0
        return (self.amount_minor if self.direction == IN else -self.amount_minor) - self.fee_minor

    @property
    def natural_key(self) -> str:
        """The row's key for random draws: account, moment, amount and payer, but none of the sandbox's ids."""
        return f"{self.account} {self.at_ms} {self.amount_minor} {self.phone}"

    @property
    def looks(self) -> tuple[str, str, int, str | None]:
        """The fields by which `reconcile` searches a partner with another key: account, direction, amount and phone."""
        return self.account, self.direction, self.amount_minor, self.phone

    def own_key(self, number: int) -> str:
        """A transaction id in the operator's format that the ledger does not have; each `number` gives another id."""
        return reference(ACCOUNTS[self.account], self.at_ms, seq=_OWN_SEQ + number)

    def record(self, balance_minor: int) -> dict[str, Any]:
        """The row as column → value of STATEMENT_ROW; `balance_minor` is the statement's balance after the row."""
        when = {"occurred_at": moment(self.at_ms), "business_date": lusaka_day(self.at_ms)}
        return {**self._asdict(), **when, "balance_minor": balance_minor}


class Known(NamedTuple):
    """A movement that both sides have: its rows on the statement, and the ledger's entry."""

    rows: tuple[StatementRow, ...]
    entry: str
    kind: str
    day: date
    """The ledger's business date."""
    in_parts: bool = False
    """True if either side has several rows for the movement."""


_AT_ONCE: Final = 200
"""The most commands in one call; the sandbox runs only as many of them as its time limit allows."""
Happens = Callable[[], Iterable[SimulatedCommand] | None]
"""An event of the month: returns the commands to send at its moment, or None."""


class Month:
    """The commands of a planned month, in order of time; iterate over it once.

    `outcomes` counts the payments by outcome; at the end of the iteration, `open` is the number of unanswered payments.
    `gaps` has the operators' fee, and the time that a prompt waits for its answer.
    """

    def __init__(self, plan: Plan, gaps: Gaps) -> None:
        self.plan, self._gaps = plan, gaps
        self._now_ms = plan.start_ms
        self._waiting: list[tuple[int, int, Happens]] = []
        self._places = count()
        self._rings_until_ms: defaultdict[str, int] = defaultdict(int)
        self.outcomes: Counter[str] = Counter()
        self.refunds = 0
        self.info: list[PlannedPayment] = []
        """Payments that operators report and the ledger does not know, with the moments at which they ended."""

    def __iter__(self) -> Iterator[SimulatedCommand]:
        for at_ms in range(self.plan.start_ms + _FIRST_PAYOUT_MS, self.plan.end_ms, _BETWEEN_PAYOUTS_MS):
            self._later(at_ms, lambda: [SimulatedCommand(self._now_ms, "payout")])
        for payment in self.plan:
            yield from self._until(payment.at_ms)
            yield from self._pay(payment)
        yield from self._until(self.plan.end_ms)
        if unanswered := self.plan.payments - self.outcomes.total():
            self.outcomes["open"] = unanswered

    def _until(self, at_ms: int) -> Iterator[SimulatedCommand]:
        while self._waiting and self._waiting[0][0] <= at_ms:
            self._now_ms, _, happens = heapq.heappop(self._waiting)
            yield from happens() or ()
        self._now_ms = at_ms

    def _later(self, at_ms: int, happen: Happens) -> None:
        """Queues an event at `at_ms`; an event after the end of the month is dropped."""
        if at_ms <= self.plan.end_ms:
            heapq.heappush(self._waiting, (at_ms, next(self._places), happen))

    def _pay(self, payment: PlannedPayment) -> Iterator[SimulatedCommand]:
        if payment.at_ms < self._rings_until_ms[payment.phone]:
            # A handset that shows a prompt would take the PIN for that prompt.
            payment = payment._replace(flow=CHARGE)
        creation = self._command(payment, payment.flow, payment.amount_minor)
        if payment.scenario != APPROVE:
            yield replace(creation, what="script", scenario=payment.scenario)
        yield creation
        if payment.flow != CHARGE:
            yield replace(creation, what="confirm")
        self._schedule_end(payment)
        if payment.refund_minor:
            after_ms = self.plan.chances.between(self.plan.traffic.refund_after_ms, "refund after", payment.number)
            refunded_ms = payment.at_ms + after_ms
            self.refunds += refunded_ms <= self.plan.end_ms
            # A full refund names no amount.
            part_minor = 0 if payment.refund_minor == payment.amount_minor else payment.refund_minor
            self._later(refunded_ms, lambda: [self._command(payment, "refund", part_minor)])

    def _command(self, payment: PlannedPayment, action: str, amount_minor: int = 0) -> SimulatedCommand:
        order = f"order-{business_date(self.plan.start_ms)}-{payment.number + 1}"
        return SimulatedCommand(self._now_ms, action, order, payment.phone, payment.operator, amount_minor)

    def _schedule_end(self, payment: PlannedPayment) -> None:
        """Schedules the payment's end; until then its handset shows a prompt, unless a charge ends within its call."""
        if payment.scenario in (LATE, TIMEOUT):
            rings_ms = self._gaps.prompt_timeout_s * 1000
        elif payment.flow == CHARGE:
            rings_ms = 0
        elif payment.scenario == APPROVE:
            rings_ms = self.plan.chances.between(PIN_AFTER_MS, "pin after", payment.number)
        else:
            rings_ms = ACTS_AFTER_S * 1000
        until_ms = payment.at_ms + rings_ms
        self._rings_until_ms[payment.phone] = max(self._rings_until_ms[payment.phone], until_ms)
        self._later(until_ms, lambda: self._end(payment))
        if payment.scenario == LATE:
            self._later(until_ms + LATE_S * 1000, lambda: self.outcomes.update({TIMEOUT: -1, LATE: 1}))

    def _end(self, payment: PlannedPayment) -> Iterator[SimulatedCommand]:
        outcome = {APPROVE: "succeeded", LATE: TIMEOUT}.get(payment.scenario, payment.scenario)
        self.outcomes[outcome] += 1
        if outcome == payment.scenario and outcome not in UNREPORTED:
            self.info.append(payment._replace(at_ms=self._now_ms))
        if payment.scenario == APPROVE and payment.flow != CHARGE:
            yield self._command(payment, "pin")

    def drive(self, session: Session, *, show_progress: bool) -> None:
        """Sends the month's commands to the sandbox, which runs as many commands of a call as its time limit allows.

        With `show_progress`, standard error reports each tenth of the payments.
        """
        name, payments = self.plan.chances.token("simulation", self.plan.start_ms), self.plan.payments
        commands, cursor, paid = iter(self), 0, 0
        ahead = [*islice(commands, _AT_ONCE)]
        while ahead:
            done = session.control.simulate(name, cursor, ahead).done
            for _ in (command for command in ahead[:done] if show_progress and command.what in (CHARGE, INTENT)):
                paid += 1
                if paid * 10 // payments > (paid - 1) * 10 // payments:
                    sys.stderr.write(f"{paid:,} of {payments:,} payments\n")
            cursor += done
            ahead = [*ahead[done:], *islice(commands, done)]

    def known(self, movements: Iterable[Mapping[str, Any]]) -> Iterator[Known]:
        """Yields the ledger's `movements` on one account, in order, each with its rows on the statement.

        The bank has one row for all credits of a night, and several for a large payout.
        """
        for _, (first, *others) in groupby(movements, key=lambda movement: movement["batch"] or movement["entry"]):
            row, kind = _row(first, self.plan.chances), first["kind"]
            if kind == CREDITED:
                whole_minor = row.amount_minor + sum(movement["amount_minor"] for movement in others)
                row = row._replace(key=first["batch"], batch=None, amount_minor=whole_minor)
            rows = _tranches(row) if kind == "payout_paid" else (row,)
            yield Known(rows, first["entry"], kind, first["business_date"], kind == CREDITED or len(rows) > 1)

    def reported(self, account: str) -> Iterator[StatementRow]:
        """Yields the rows that an account's operator reports and the ledger does not have, in order of time."""
        mine = (payment for payment in self.info if payment.operator == ACCOUNTS[account])
        return (_reported_row(account, payment, self._gaps) for payment in mine)


def _reported_row(account: str, payment: PlannedPayment, gaps: Gaps) -> StatementRow:
    """The operator's row for a payment that failed, or whose outcome the sandbox never learned; `gaps` has the fee."""
    kind, words = _TYPES["funds_secured"]
    row = StatementRow(account, None, payment.at_ms, IN, payment.amount_minor, 0, payment.phone, kind, words)
    row = row._replace(key=row.own_key(payment.number))
    if payment.scenario == UNKNOWN:
        fee_minor = fees_of(payment.amount_minor, gaps).operator_minor
        return row._replace(fee_minor=fee_minor, code=MISSING["statement"])
    name = OPERATOR_NAMES[payment.scenario]._asdict().get(payment.operator) or payment.scenario.upper()
    return row._replace(status="failed", description=f"Not paid: {name}")


def _row(movement: Mapping[str, Any], chances: Chances) -> StatementRow:
    kind, words = _TYPES.get(movement["kind"], ("other", "Adjustment"))
    phone = movement["phone"]
    return StatementRow(
        **{name: movement[name] for name in _SAME},
        at_ms=milliseconds(movement["occurred_at"]),
        phone=phone and phone_of(phone[:6], phone[-3:], chances),
        type=kind,
        description=words,
        related=movement["payment"] if kind == "reversal" else None,
        code=LATE_SUCCESS if movement["state"] == IN_SUSPENSE else None,
    )


def _tranches(row: StatementRow) -> tuple[StatementRow, ...]:
    """The rows of a large payout that the bank sends in parts, minutes apart, each with its own key."""
    parts = min(_MOST_TRANCHES, -(-row.amount_minor // _TRANCHE_MINOR))
    if parts == 1:
        return (row,)
    part_minor, rest_minor = divmod(row.amount_minor, parts)
    return tuple(
        row._replace(
            key=f"{row.key}-{part + 1}",
            batch=row.key,
            at_ms=row.at_ms + part * _TRANCHE_MS,
            amount_minor=part_minor + (0 if part else rest_minor),
        )
        for part in range(parts)
    )
