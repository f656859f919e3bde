"""Payments to examine an endpoint with: made by the shop's own checkout, or by the exam, and the events of each."""

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any, Final, NamedTuple

import msgspec

from workbench.certify.sending import Event
from workbench.domain.payments import REQUIRES_PAYMENT_METHOD
from workbench.domain.wire.console_rows import DASHBOARD
from workbench.errors import WorkbenchError
from workbench.session import Session

PAYS: Final = "+260960000001"
"""A customer who approves after five seconds."""
HAS_TOO_LITTLE: Final = "+260960000002"
PAYS_LATE: Final = "+260960000010"
"""Approves a minute after the prompt has expired."""
_ANSWERED_S: Final = 6
LATE_S: Final = 61
"""Seconds after the prompt has expired."""
_PAID: Final = ("succeeded", "successful")
"""Endings of the last event's type, under either value of the row `event_types`."""
_AMOUNT: Final = Decimal("87.35")


class NotExamined(Exception):
    """A check cannot be made here; says why."""


class Payment(NamedTuple):
    """A payment: `ids` are the intent's and its charge's, or the charge's alone; its events in order."""

    ids: tuple[str, ...]
    events: list[Event]

    @property
    def success(self) -> Event:
        """The last event, which says that it is paid."""
        return self.events[-1]

    def respelt(self) -> "Payment":
        """This payment with its events in bytes that no library writes."""
        return self._replace(events=[each.respelt() for each in self.events])


class _Raw(msgspec.Struct):
    data: list[msgspec.Raw]


class Payments:
    """Makes payments. `checkout` makes the shop create one, for the customer with a number.

    `rows` are those of the register in force, and `switched` those that are not at their default, as a text.
    """

    def __init__(
        self, session: Session, checkout: Callable[[str], object] | None, rows: Mapping[str, Any], switched: str
    ) -> None:
        self._session = session
        # Lists and events may be the dashboard's alone.
        self._client = session.acting
        self._checkout = checkout
        self._rows = rows
        self._switched = switched

    def paid(self, amount: Decimal = _AMOUNT, description: str | None = None) -> Payment:
        """Makes a payment that succeeds. Raises NotExamined."""
        return self._made(PAYS, _ANSWERED_S, _PAID, amount, description)

    def failed(self) -> Payment:
        """Makes a payment whose customer has too little. Raises NotExamined."""
        return self._made(HAS_TOO_LITTLE, _ANSWERED_S, ("failed",))

    def late(self) -> Payment:
        """Makes a payment whose money arrives after the prompt has expired. Raises NotExamined."""
        return self._made(PAYS_LATE, self._rows["prompt_timeout_s"] + LATE_S, ("late_success",))

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
        if self._checkout is None:
            made = self._session.client.payment_intents.create(amount=amount, description=description).id
        else:
            made = self._checked_out(self._checkout, phone)
        if made.startswith("pi_"):
            self._confirm(made, phone)
        self._session.clock.advance(seconds)
        charge = next((each.id for each in self._client.charges.list() if each.payment_intent == made), None)
        events = self._events(made)
        if not events or not events[-1].type.endswith(ending):
            came = events[-1].type if events else "no event"
            why = self._switched or "let --checkout use that number"
            raise NotExamined(f"the payment of the customer {phone} came to {came}: {why}")
        return Payment((made,) if charge is None else (made, charge), events)

    def _confirm(self, intent: str, phone: str) -> None:
        intents = self._session.client.payment_intents
        found = self._client.payment_intents.retrieve(intent)
        if found.status == REQUIRES_PAYMENT_METHOD:
            intents.confirm(intent, phone=phone, provider="mtn", client_secret=found.client_secret or None)

    def _checked_out(self, checkout: Callable[[str], object], phone: str) -> str:
        """The intent that the shop has created, or else the charge."""
        known = self._ids()
        broke: WorkbenchError | None = None
        try:
            checkout(phone)
        except WorkbenchError as error:
            # A checkout may well fail with a payment that is declined at once.
            broke = error
        for each in self._ids():
            if each not in known:
                return each
        raise broke or NotExamined("the checkout created no payment in this sandbox: does it call PAYMENTS_BASE_URL?")

    def _ids(self) -> list[str]:
        """The latest intents, and after them the latest charges."""
        client = self._client
        return [each.id for group in (client.payment_intents, client.charges) for each in group.list(limit=100)]

    def _events(self, payment: str) -> list[Event]:
        """The events about a payment, oldest first, to the byte as they are sent."""
        response = self._session.http.get(
            f"{DASHBOARD if self._session.is_on_dashboard('') else '/v1'}/events",
            params={"search": payment, "limit": "100"},
            headers={"Authorization": f"Bearer {self._session.secret_key!s}"},
        )
        return [Event.read(bytes(each)) for each in msgspec.json.decode(response.content, type=_Raw).data][::-1]
