"""A month driven through the service: each payment asked for at its moment, and what follows at its own.

Nothing goes around the service: its client asks, its handsets type PINs, its operators are scripted and
its nights clear and sweep. What is still to happen waits in a heap, which holds what is in flight.
"""

import heapq
from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from typing import TYPE_CHECKING, Final

from workbench.analysis.simulate.notes import Notes, Told
from workbench.analysis.simulate.plan import APPROVE, CHARGE, DAY_MS, LATE, UNKNOWN, Payment, Plan
from workbench.domain.moments import business_date
from workbench.domain.money import Money
from workbench.domain.ussd import SANDBOX_PIN
from workbench.errors import PaymentDeclined

if TYPE_CHECKING:
    from workbench.bench import Workbench

CURRENCY: Final = "ZMW"
SUCCEEDED: Final = "succeeded"
OPEN: Final = "open"
"""The outcome of what the end of the month found unanswered."""
_TIMEOUT: Final = "prompt_timeout"
_LATE_MS: Final = 60_000
"""How long after its prompt has expired late money arrives: the sandbox's operators take so long."""
_ACTS_MS: Final = 5_000
"""How long a scripted customer takes to answer the prompt of an intent."""


class Month:
    """Drives a plan. `outcomes` counts payments by what became of them; together they are the plan's."""

    def __init__(self, bench: "Workbench", plan: Plan, *, prompt_ms: int, notes: Notes | None) -> None:
        self._bench = bench
        self._plan = plan
        self._prompt_ms = prompt_ms
        self._notes = notes
        self._now_ms = bench.clock.now_ms
        self._waiting: list[tuple[int, int, Callable[[], None]]] = []
        self._put = 0
        self._ringing: set[str] = set()
        self.outcomes: Counter[str] = Counter()
        self.refunds = 0
        self.payouts = 0

    def run(self, step: Callable[[], object]) -> None:
        """All of it, to the last millisecond of the last day; `step` is called after each payment."""
        traffic = self._plan.traffic
        for day in range(traffic.payout_on_day, self._plan.days, traffic.payout_every_days):
            self._later(self._plan.start_ms + day * DAY_MS + traffic.payout_at_ms, self._pay_out)
        for payment in self._plan:
            self._run_until(payment.at_ms)
            self._pay(payment)
            step()
        self._run_until(self._plan.end_ms)
        if left := self._plan.payments - self.outcomes.total():
            self.outcomes[OPEN] = left

    def _run_until(self, at_ms: int) -> None:
        while self._waiting and self._waiting[0][0] <= at_ms:
            due_ms, _, happen = heapq.heappop(self._waiting)
            self._move_to(due_ms)
            happen()
        self._move_to(at_ms)

    def _move_to(self, at_ms: int) -> None:
        if at_ms > self._now_ms:
            self._bench.clock.advance(Decimal(at_ms - self._now_ms) / 1000)
            self._now_ms = at_ms

    def _later(self, at_ms: int, happen: Callable[[], None]) -> None:
        """What comes after the end is of another month."""
        if at_ms <= self._plan.end_ms:
            self._put += 1
            heapq.heappush(self._waiting, (at_ms, self._put, happen))

    def _pay(self, payment: Payment) -> None:
        if payment.phone in self._ringing:
            # A handset that shows a prompt would take the PIN for that one.
            payment = payment._replace(way=CHARGE)
        if payment.fate != APPROVE:
            self._bench.operator.script(payment.phone, [payment.fate])
        paid = self._charge(payment) if payment.way == CHARGE else self._intend(payment)
        self._follow(payment)
        if payment.refund_minor:
            self._later(payment.at_ms + payment.refund_after_ms, lambda: self._refund(payment, paid))

    def _charge(self, payment: Payment) -> str:
        try:
            return self._bench.client.charges.create(
                amount=payment.amount_minor,
                channel=payment.operator,
                phone=payment.phone,
                idempotency_key=self._order(payment),
                reference=self._order(payment),
            ).id
        except PaymentDeclined as declined:
            return str(declined.facts.get("charge"))

    def _intend(self, payment: Payment) -> str:
        amount = Money(payment.amount_minor, CURRENCY).major
        intents = self._bench.client.payment_intents
        intent = intents.create(amount=amount, currency=CURRENCY, description=self._order(payment))
        intents.confirm(intent.id, phone=payment.phone, provider=payment.operator)
        return intent.id

    def _order(self, payment: Payment) -> str:
        return f"order-{business_date(self._plan.start_ms)}-{payment.number + 1}"

    def _follow(self, payment: Payment) -> None:
        """What becomes of a payment, and when that is known; a charge is answered within the call."""
        at_once = payment.way == CHARGE
        if payment.fate == APPROVE and at_once:
            self.outcomes[SUCCEEDED] += 1
        elif payment.fate == APPROVE:
            self._ring(payment, self._plan.pin_after_ms(payment), lambda: self._enter_pin(payment))
        elif payment.fate == LATE:
            self._ring(payment, self._prompt_ms, lambda: self._note(payment, _TIMEOUT))
            self._later(payment.at_ms + self._prompt_ms + _LATE_MS, self._came_late)
        elif payment.fate == _TIMEOUT:
            self._ring(payment, self._prompt_ms, lambda: self._note(payment, _TIMEOUT, told=True))
        else:
            told = payment.fate == UNKNOWN or self._plan.traffic.failures[payment.fate].told
            after_ms = 0 if at_once else _ACTS_MS
            self._later(payment.at_ms + after_ms, lambda: self._note(payment, payment.fate, told=told))

    def _ring(self, payment: Payment, for_ms: int, happen: Callable[[], None]) -> None:
        """A prompt is on the handset for so long, and then something happens."""

        def end() -> None:
            self._ringing.discard(payment.phone)
            happen()

        self._ringing.add(payment.phone)
        self._later(payment.at_ms + for_ms, end)

    def _enter_pin(self, payment: Payment) -> None:
        self._bench.phone(payment.phone).enter_pin(SANDBOX_PIN)
        self.outcomes[SUCCEEDED] += 1

    def _came_late(self) -> None:
        self.outcomes[_TIMEOUT] -= 1
        self.outcomes[LATE] += 1

    def _note(self, payment: Payment, fate: str, *, told: bool = False) -> None:
        self.outcomes[fate] += 1
        if told and self._notes:
            known = payment.number, payment.operator, payment.amount_minor, payment.phone, fate
            self._notes.add(Told(self._now_ms, *known))

    def _refund(self, payment: Payment, paid: str) -> None:
        full = payment.refund_minor == payment.amount_minor
        if payment.way == CHARGE:
            self._bench.client.refunds.create(charge=paid, amount=None if full else payment.refund_minor)
        else:
            amount = None if full else Money(payment.refund_minor, CURRENCY).major
            self._bench.client.refunds.create(payment_intent=paid, amount=amount)
        self.refunds += 1

    def _pay_out(self) -> None:
        balance = self._bench.client.balance.retrieve()
        available = next((each.amount for each in balance.available if each.currency == CURRENCY), Decimal(0))
        if available > 0:
            self._bench.client.payouts.create(amount=available, currency=CURRENCY)
            self.payouts += 1
