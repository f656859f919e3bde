"""Makes the payments of an exam, by the shop's own checkout or directly, and reads their events."""

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any, Final, NamedTuple

import msgspec

from workbench.certify.sending import Event
from workbench.domain.payments import REQUIRES_PAYMENT_METHOD
from workbench.domain.wire.sandbox_controls import DASHBOARD
from workbench.errors import WorkbenchError
from workbench.session import Session

_PAYS: Final = "+260960000001"
"""The phone of a customer who approves after five seconds."""
_HAS_TOO_LITTLE: Final = "+260960000002"
_PAYS_LATE: Final = "+260960000010"
"""The phone of a customer who approves a minute after the prompt has expired."""
_ANSWERED_S: Final = 6
_LATE_S: Final = 61
"""Seconds after the prompt has expired."""
_PAID: Final = ("succeeded", "successful")
"""Endings of the last event's type, for both values of the row `event_types`."""
_AMOUNT: Final = Decimal("87.35")


class NotExamined(Exception):
    """A check cannot be made; the message says why."""


class Payment(NamedTuple):
    """A payment and its events in order; `ids` are those of the intent and its charge, or only of the charge."""

    ids: tuple[str, ...]
    events: list[Event]

    @property
    def success(self) -> Event:
        """The last event, which reports that the payment succeeded."""
        return self.events[-1]

    def respelt(self) -> "Payment":
        """This payment with its events in bytes that no library writes."""
        return self._replace(events=[event.respelt() for event in self.events])


class _RawEvents(msgspec.Struct):
    data: list[msgspec.Raw]


class Payments:
    """Makes payments. `checkout` makes the shop create a payment for the customer with a phone number.

    `rows` are the register's values in force; `switched` lists in words the rows that are not at their default.
    """

    def __init__(
        self, session: Session, checkout: Callable[[str], object] | None, rows: Mapping[str, Any], switched: str
    ) -> None:
        self._session = session
        # Lists and events may be reserved for the dashboard.
        self._client = session.acting
        self._checkout = checkout
        self._rows = rows
        self._switched = switched

    def paid(self, amount: Decimal = _AMOUNT, description: str | None = None) -> Payment:
        """Makes a payment that succeeds. Raises NotExamined."""
        return self._made(_PAYS, _ANSWERED_S, _PAID, amount, description)

    def failed(self) -> Payment:
        """Makes a payment whose customer has too little money. Raises NotExamined."""
        return self._made(_HAS_TOO_LITTLE, _ANSWERED_S, ("failed",))

    def late(self) -> Payment:
        """Makes a payment whose money arrives after the prompt has expired. Raises NotExamined."""
        return self._made(_PAYS_LATE, self._rows["prompt_timeout_s"] + _LATE_S, ("late_success",))

    def refunded(self) -> tuple[Payment, Sequence[Event]]:
        """Makes a payment, refunds it in full, and returns it with the refund's events. Raises NotExamined."""
        payment = self.paid()
        self._client.refunds.create(charge=payment.ids[-1])
        self._session.clock.advance(_ANSWERED_S)
        events = self._events(payment.ids[0])[len(payment.events) :]
        if not events:
            raise NotExamined(f"no event tells of a refund: {self._switched}")
        return payment, events

    def _made(
        self,
        phone: str,
        seconds: int,
        ending: tuple[str, ...],
        amount: Decimal = _AMOUNT,
        description: str | None = None,
    ) -> Payment:
        intents = self._session.client.payment_intents
        if self._checkout is None:
            payment = intents.create(amount=amount, description=description).id
        else:
            payment = self._checked_out(self._checkout, phone)
        if payment.startswith("pi_"):
            intent = self._client.payment_intents.retrieve(payment)
            if intent.status == REQUIRES_PAYMENT_METHOD:
                intents.confirm(payment, phone=phone, provider="mtn", client_secret=intent.client_secret or None)
        self._session.clock.advance(seconds)
        charges = self._client.charges.list()
        charge = next((charge.id for charge in charges if charge.payment_intent == payment), None)
        events = self._events(payment)
        if not events or not events[-1].type.endswith(ending):
            came = events[-1].type if events else "no event"
            why = self._switched or "let --checkout use that number"
            raise NotExamined(f"the payment of the customer {phone} came to {came}: {why}")
        return Payment((payment,) if charge is None else (payment, charge), events)

    def _checked_out(self, checkout: Callable[[str], object], phone: str) -> str:
        """The id of the intent that the shop created, otherwise of the charge. Raises NotExamined."""
        known = self._ids()
        broke: WorkbenchError | None = None
        try:
            checkout(phone)
        except WorkbenchError as error:
            # A checkout may fail because its payment is declined at once.
            broke = error
        for payment in self._ids():
            if payment not in known:
                return payment
        raise broke or NotExamined("the checkout created no payment in this sandbox: does it call PAYMENTS_BASE_URL?")

    def _ids(self) -> list[str]:
        """The ids of the latest intents, then of the latest charges."""
        client = self._client
        lists = (client.payment_intents.list(limit=100), client.charges.list(limit=100))
        return [payment.id for payments in lists for payment in payments]

    def _events(self, payment: str) -> list[Event]:
        """A payment's events, oldest first, with exactly the bytes that the sandbox sends."""
        response = self._session.http.get(
            f"{DASHBOARD if '/events'.startswith(self._session.on_dashboard) else '/v1'}/events",
            params={"search": payment, "limit": "100"},
            headers={"Authorization": f"Bearer {self._session.secret_key!s}"},
        )
        bodies = msgspec.json.decode(response.content, type=_RawEvents).data
        return [Event.read(bytes(body)) for body in reversed(bodies)]
