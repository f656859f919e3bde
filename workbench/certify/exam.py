"""Makes the payments of an exam, sends their events, genuine and forged, and keeps the responses."""

import json
import secrets
import socket
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import count
from typing import Any, Final, NamedTuple, TypeAlias
from urllib.parse import urlsplit

import msgspec

from workbench.domain.gaps import written
from workbench.domain.payments import REQUIRES_PAYMENT_METHOD
from workbench.domain.signatures import SCHEMES, headers_for
from workbench.domain.wire.base import to_json
from workbench.domain.wire.sandbox_controls import DASHBOARD
from workbench.errors import ExamRefused, InvalidRequest, SignatureRefused, WorkbenchError
from workbench.sandbox.outbound import Outbound, Reply, is_localhost, is_loopback, split
from workbench.session import Session

_CONNECT_S: Final = 1.0
_PATIENCE_S: Final = 5
"""The exam waits this many seconds beyond the limit, because a late response is another fault than no response."""
PAID: Final = "paid"
_AMOUNT: Final = Decimal("87.35")
_CUSTOMERS: Final = {
    "paid": ("+260960000001", 6, ("succeeded", "successful")),
    "failed": ("+260960000002", 6, ("failed",)),
    "late": ("+260960000010", 61, ("late_success",)),
}
"""Outcome → a customer's phone, the seconds to wait, and endings of the last event's type under any `event_types`.

The customers approve after five seconds, have too little money, or approve a minute after the prompt has expired.
"""


class NotExamined(Exception):
    """A check cannot be made, for the reason in the message."""


class NoAnswer(Exception):
    """A response did not come in time; the check's other messages would wait as long."""


def check_secret(secret: str, scheme: str) -> None:
    """Checks a secret's form. Raises ExamRefused: the scheme does not accept the secret."""
    try:
        SCHEMES[scheme].key(secret)
    except SignatureRefused as refused:
        raise ExamRefused(refused.message, hint="It is not shown here.") from None


def switched_text(rows: Mapping[str, Any]) -> str:
    """Rows of the register with their values, as text: `name = value`, separated by commas."""
    return ", ".join(f"{name} = {written(value)}" for name, value in rows.items())


class Event(NamedTuple):
    """An event, and the bytes that the exam sends for it."""

    id: str
    type: str
    body: bytes

    @classmethod
    def read(cls, body: bytes) -> "Event":
        """Reads an event from its bytes."""
        members = json.loads(body)
        return cls(members["id"], members["type"], body)

    def altered(self, new_id: str, *, object_members: dict[str, Any] | None = None, **members: object) -> "Event":
        """A copy of this event with the id `new_id`.

        `members` of its body and `object_members` of its object are changed or added.
        """
        changed = {**json.loads(self.body, parse_float=Decimal), "id": new_id, **members}
        if object_members is not None:
            data = changed["data"]
            changed["data"] = {**data, "object": {**data["object"], **object_members}}
        return Event.read(to_json(changed))

    def about(self, ids: tuple[str, ...], others: tuple[str, ...], new_id: str) -> "Event":
        """This event about another payment, with the id `new_id`.

        Each id in `ids` becomes the id at the same place in `others`.
        """
        body = self.body
        for own_id, other_id in zip((self.id, *ids), (new_id, *others), strict=False):
            body = body.replace(own_id.encode(), other_id.encode())
        return Event.read(body)


class Payment(NamedTuple):
    """A payment and its events in order; `ids` are the ids of the intent and its charge, or only of the charge."""

    ids: tuple[str, ...]
    events: list[Event]

    @property
    def success(self) -> Event:
        """The last event, which reports that the payment succeeded."""
        return self.events[-1]


class Target:
    """An endpoint on this machine's loopback, called as the sandbox calls endpoints.

    A response may take `patience_s` seconds.
    Raises ExamRefused: the URL is not on this machine, or is not plain HTTP.
    """

    def __init__(self, url: str, *, patience_s: int = 20) -> None:
        try:
            self.host, self.port = split(url)
        except InvalidRequest:
            self.host = ""
        if not self.host or not url.lower().startswith("http:"):
            message = f"{url!r} is not a plain http:// address."
            raise ExamRefused(message, hint="For example http://127.0.0.1:8000/webhooks.")
        if not is_loopback(self.host):
            message = f"{self.host} is not this machine's loopback, and the exam sends what is wrong on purpose."
            raise ExamRefused(message, hint="Start the endpoint on this machine and name it by 127.0.0.1 or localhost.")
        self.url = self._called = url
        self.patience_s = patience_s
        self._outbound = Outbound()

    def listens(self) -> bool:
        """True if a program takes connections at the URL. Chooses the IPv4 or the IPv6 address of `localhost`."""
        if not is_localhost(self.host):
            return self._connects(self.host)
        # Node may listen at localhost on IPv6 only.
        is_ipv6 = not self._connects("127.0.0.1")
        self._called = urlsplit(self.url)._replace(netloc=f"[::1]:{self.port}").geturl() if is_ipv6 else self.url
        return not is_ipv6 or self._connects("::1")

    def _connects(self, address: str) -> bool:
        try:
            with socket.create_connection((address, self.port), timeout=_CONNECT_S):
                return True
        except OSError as error:
            # A program that closes each connection at once listens too.
            return isinstance(error, ConnectionResetError)

    def post(self, body: bytes, headers: dict[str, str]) -> Reply:
        """Sends one POST without following redirects; a failure is in the Reply's `fault`, not raised."""
        sent = {"Content-Type": "application/json", **headers}
        return self._outbound.send(self._called, sent, body, self.patience_s)


class Exchange(NamedTuple):
    """A message with a short label, and the response to it."""

    label: str
    reply: Reply
    body: bytes = b""


class ShopOrder(NamedTuple):
    """The number of times that the shop fulfilled a payment's order, and the order's status if the shop gives it."""

    fulfilled: int
    status: str | None = None


def total(orders: Iterable[int | ShopOrder]) -> ShopOrder:
    """Adds up the orders of one payment; the status is `paid` only if no order has another status."""
    read = [order if isinstance(order, ShopOrder) else ShopOrder(order) for order in orders]
    statuses = sorted((order.status for order in read if order.status), key=PAID.__eq__)
    return ShopOrder(sum(order.fulfilled for order in read), statuses[0] if statuses else None)


Orders: TypeAlias = Callable[[], Mapping[str, int | ShopOrder]]


@dataclass(eq=False, repr=False)
class Exam:
    """Makes payments, sends their events genuine and forged, and keeps the responses until the check is judged.

    The first fields are the arguments of `certify`. Raises ExamRefused: the URL is not on this machine, or the secret
    is invalid.
    """

    session: Session
    url: str
    secret: str
    checkout: Callable[[str], object] | None = None
    orders: Orders | None = None
    printed: Callable[[], str] = str
    restart: Callable[[], object] | None = None
    limit_s: int | None = None
    first: Payment = field(init=False)
    """The payment of the first check."""
    yesterday: Payment = field(init=False)
    """A payment of a day ago; the exam has sent none of its events yet."""
    known: dict[str, int | ShopOrder] = field(default_factory=dict)
    """The shop's orders before its restart."""
    exchanges: list[Exchange] = field(default_factory=list)
    """The exchanges of the current check."""
    slowest: Exchange = field(init=False)
    """The slowest response to a genuine message."""
    waited_ms: int = 0

    def __post_init__(self) -> None:
        register = self.session.control.gaps()
        self.rows = {row["name"]: row["value"] for row in register}
        self.switched = {row["name"]: row["value"] for row in register if row["value"] != row["default"]}
        self.limit_ms = 1000 * (self.limit_s or int(self.rows["delivery_timeout_s"]))
        self.target = Target(self.url, patience_s=self.limit_ms // 1000 + _PATIENCE_S)
        self.scheme = self.rows["signature_scheme"]
        check_secret(self.secret, self.scheme)
        self.way, self.slowest = SCHEMES[self.scheme], Exchange("", Reply(None))
        # Lists and events may be reserved for the dashboard.
        self._client = self.session.acting
        # A shop may remember the ids of earlier exams.
        self._new_ids = map(f"evt_exam{secrets.token_hex(4)}{{:04}}".format, count(1))

    def new_id(self) -> str:
        """A new event id."""
        return next(self._new_ids)

    def made(self, outcome: str = "paid", **asked: Any) -> Payment:  # noqa: ANN401  the fields of its intent
        """Makes a payment with an outcome of `_CUSTOMERS`; without a checkout, its intent has the fields `asked`.

        Raises NotExamined: the payment came to another outcome, or the checkout created none.
        """
        phone, seconds, ending = _CUSTOMERS[outcome]
        intents = self.session.client.payment_intents
        if self.checkout is None:
            payment = intents.create(**{"amount": _AMOUNT, **asked}).id
        else:
            payment = self._checked_out(self.checkout, phone)
        if payment.startswith("pi_"):
            intent = self._client.payment_intents.retrieve(payment)
            if intent.status == REQUIRES_PAYMENT_METHOD:
                intents.confirm(payment, phone=phone, provider="mtn", client_secret=intent.client_secret or None)
        self.session.clock.advance(seconds + (self.rows["prompt_timeout_s"] if outcome == "late" else 0))
        charges = [charge.id for charge in self._client.charges.list() if charge.payment_intent == payment]
        events = self._events(payment)
        if not events or not events[-1].type.endswith(ending):
            came = events[-1].type if events else "no event"
            why = switched_text(self.switched) or "let --checkout use that number"
            raise NotExamined(f"the payment of the customer {phone} came to {came}: {why}")
        return Payment((payment, *charges[:1]), events)

    def refunded(self) -> tuple[Payment, Sequence[Event]]:
        """Makes a payment, refunds it in full, and returns both the payment and the refund's events.

        Raises NotExamined: the payment has another outcome, or the sandbox has no events of refunds.
        """
        payment = self.made()
        self._client.refunds.create(charge=payment.ids[-1])
        self.session.clock.advance(_CUSTOMERS["paid"][1])
        events = self._events(payment.ids[0])[len(payment.events) :]
        if not events:
            raise NotExamined(f"no event tells of a refund: {switched_text(self.switched)}")
        return payment, events

    def _checked_out(self, checkout: Callable[[str], object], phone: str) -> str:
        """The id of the intent that the shop's checkout created, or else of the charge.

        Raises, if there is no new payment, the WorkbenchError of the checkout, or else NotExamined.
        """
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
        response = self.session.http.get(
            f"{DASHBOARD if '/events'.startswith(self.session.on_dashboard) else '/v1'}/events",
            params={"search": payment, "limit": "100"},
            headers={"Authorization": f"Bearer {self.session.secret_key!s}"},
        )
        listed = msgspec.json.decode(response.content, type=dict[str, msgspec.Raw])["data"]
        return [Event.read(bytes(body)) for body in reversed(msgspec.json.decode(listed, type=list[msgspec.Raw]))]

    def signed(self, event: Event, *, away_s: int = 0, secret: str = "", also: tuple[str, ...] = ()) -> dict[str, str]:
        """The headers of an event, signed for the moment `away_s` seconds from now.

        The signatures are by `secret`, by default the exam's own, and by each secret in `also`.
        """
        at_s = int(time.time()) + away_s
        return headers_for(secret or self.secret, event.id, at_s, event.body, also=also, scheme=self.scheme)

    def send(self, label: str, body: bytes, headers: dict[str, str]) -> None:
        """Sends one message unchanged and notes the exchange."""
        self.note(Exchange(label, self.target.post(body, headers), body))

    def deliver_payment(self, payment: Payment, *, backwards: bool = False) -> Payment:
        """Delivers a payment's events and returns the payment.

        With `backwards`, the last event goes first, and rejected events are sent a second time.
        """
        self.deliver(payment.events[:: -1 if backwards else 1], again=backwards)
        return payment

    def deliver(self, events: Sequence[Event], *, again: bool = False, at_once: bool = False) -> None:
        """Sends genuine events one after the other, or all at the same moment.

        With `again`, rejected events are sent once more after all other events, as the service would do.
        """
        sent = len(self.exchanges)
        exchanges: Iterable[Exchange] = map(self._delivered, events)
        if at_once:
            with ThreadPoolExecutor(len(events)) as threads:
                exchanges = list(threads.map(self._delivered, events))
        for exchange in exchanges:
            if exchange.reply.latency_ms >= self.slowest.reply.latency_ms:
                self.slowest = exchange
            self.note(exchange)
        for place, event in enumerate(events if again else (), start=sent):
            if not is_accepted(self.exchanges[place].reply):
                self.exchanges[place] = self._delivered(event)

    def _delivered(self, event: Event) -> Exchange:
        return Exchange(event.type, self.target.post(event.body, self.signed(event)), event.body)

    def note(self, exchange: Exchange) -> None:
        """Keeps an exchange for the check. Raises NoAnswer: no response came in `patience_s` seconds."""
        self.exchanges.append(exchange)
        self.waited_ms += exchange.reply.latency_ms
        if exchange.reply.status_code is None and exchange.reply.latency_ms >= self.target.patience_s * 1000:
            raise NoAnswer


def is_accepted(reply: Reply) -> bool:
    """True if the response is any 2xx."""
    return reply.status_code in range(200, 300)
