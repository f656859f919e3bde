"""A month driven through the service: each payment asked for at its moment, and what follows at its own.

Nothing goes around the service: its client asks, its handsets type PINs, its operators are scripted and
its nights clear and sweep. What is still to happen waits in a heap, which holds what is in flight.
"""

import heapq
from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from typing import Final

from workbench.analysis.simulate.notes import Notes, StatementInfo
from workbench.analysis.simulate.plan import CHARGE, Payment, Plan
from workbench.domain.moments import DAY_MS, business_date
from workbench.domain.money import Money
from workbench.domain.scenarios import ACTS_AFTER_S, APPROVE, LATE, LATE_S, SANDBOX_PIN, TIMEOUT, UNKNOWN
from workbench.errors import PaymentDeclined
from workbench.session import Session

CURRENCY: Final = "ZMW"
SUCCEEDED: Final = "succeeded"
OPEN: Final = "open"
"""The outcome of what the end of the month found unanswered."""


class Month:
    """Drives a plan. `outcomes` counts payments by what became of them; together they are the plan's."""

    def __init__(self, session: Session, plan: Plan, *, prompt_ms: int, notes: Notes | None) -> None:
        self._session = session
        self._plan = plan
        self._prompt_ms = prompt_ms
        self._notes = notes
        self._now_ms = session.clock.now_ms
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
            self._session.clock.advance(Decimal(at_ms - self._now_ms) / 1000)
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
        if payment.scenario != APPROVE:
            self._session.operator.script(payment.phone, [payment.scenario])
        paid = self._charge(payment) if payment.way == CHARGE else self._intend(payment)
        self._follow(payment)
        if payment.refund_minor:
            self._later(payment.at_ms + payment.refund_after_ms, lambda: self._refund(payment, paid))

    def _charge(self, payment: Payment) -> str:
        try:
            return self._session.client.charges.create(
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
        intents = self._session.client.payment_intents
        intent = intents.create(amount=amount, currency=CURRENCY, description=self._order(payment))
        intents.confirm(intent.id, phone=payment.phone, provider=payment.operator)
        return intent.id

    def _order(self, payment: Payment) -> str:
        return f"order-{business_date(self._plan.start_ms)}-{payment.number + 1}"

    def _follow(self, payment: Payment) -> None:
        """What becomes of a payment, and when that is known; a charge is answered within the call."""
        at_once = payment.way == CHARGE
        if payment.scenario == APPROVE and at_once:
            self.outcomes[SUCCEEDED] += 1
        elif payment.scenario == APPROVE:
            self._ring(payment, self._plan.pin_after_ms(payment), lambda: self._enter_pin(payment))
        elif payment.scenario == LATE:
            self._ring(payment, self._prompt_ms, lambda: self._note(payment, TIMEOUT))
            self._later(payment.at_ms + self._prompt_ms + LATE_S * 1000, self._came_late)
        elif payment.scenario == TIMEOUT:
            self._ring(payment, self._prompt_ms, lambda: self._note(payment, TIMEOUT, reported=True))
        else:
            reported = payment.scenario == UNKNOWN or self._plan.traffic.failures[payment.scenario].reported
            after_ms = 0 if at_once else ACTS_AFTER_S * 1000
            self._later(payment.at_ms + after_ms, lambda: self._note(payment, payment.scenario, reported=reported))

    def _ring(self, payment: Payment, for_ms: int, happen: Callable[[], None]) -> None:
        """A prompt is on the handset for so long, and then something happens."""

        def end() -> None:
            self._ringing.discard(payment.phone)
            happen()

        self._ringing.add(payment.phone)
        self._later(payment.at_ms + for_ms, end)

    def _enter_pin(self, payment: Payment) -> None:
        self._session.phone(payment.phone).enter_pin(SANDBOX_PIN)
        self.outcomes[SUCCEEDED] += 1

    def _came_late(self) -> None:
        self.outcomes[TIMEOUT] -= 1
        self.outcomes[LATE] += 1

    def _note(self, payment: Payment, scenario: str, *, reported: bool = False) -> None:
        self.outcomes[scenario] += 1
        if reported and self._notes:
            known = payment.number, payment.operator, payment.amount_minor, payment.phone, scenario
            self._notes.add(StatementInfo(self._now_ms, *known))

    def _refund(self, payment: Payment, paid: str) -> None:
        full = payment.refund_minor == payment.amount_minor
        if payment.way == CHARGE:
            self._session.client.refunds.create(charge=paid, amount=None if full else payment.refund_minor)
        else:
            amount = None if full else Money(payment.refund_minor, CURRENCY).major
            self._session.client.refunds.create(payment_intent=paid, amount=amount)
        self.refunds += 1

    def _pay_out(self) -> None:
        balance = self._session.client.balance.retrieve()
        available = next((each.amount for each in balance.available if each.currency == CURRENCY), Decimal(0))
        if available > 0:
            self._session.client.payouts.create(amount=available, currency=CURRENCY)
            self.payouts += 1
