"""Sends an exam's genuine and forged messages, and keeps the responses until the check is judged."""

import secrets
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final, NamedTuple

from workbench.certify.purchases import Payment, Payments
from workbench.certify.sending import Event, Target
from workbench.domain.signatures import SCHEMES, headers_for
from workbench.sandbox.outbound import Reply

_BURST_S: Final = 30


class Exchange(NamedTuple):
    """A message with a short label, and the response to it."""

    label: str
    reply: Reply
    body: bytes = b""


class NoAnswer(Exception):
    """A response did not come in time; the check's other messages would wait as long."""


class Exam:
    """Sends the checks' messages: `secret` signs them in `scheme`, a row of `SCHEMES`; `payments` makes payments."""

    first: Payment
    """The payment of the first check."""
    yesterday: Payment
    """A payment of a day ago; the exam has sent none of its events yet."""

    def __init__(
        self, target: Target, secret: str, scheme: str, payments: Payments, restart: Callable[[], object] | None = None
    ) -> None:
        self.secret = secret
        self.scheme = scheme
        self.way = SCHEMES[scheme]
        self.payments = payments
        self.restart = restart
        self.exchanges: list[Exchange] = []
        """The exchanges of the current check."""
        self.target = target
        self.slowest = Exchange("", Reply(None))
        """The slowest response to a genuine message."""
        self.waited_ms = 0
        self._id_prefix = f"evt_exam{secrets.token_hex(4)}"
        self._id_count = 0

    def new_id(self) -> str:
        """A new event id, which differs from those of earlier exams, because a shop may remember them."""
        self._id_count += 1
        return f"{self._id_prefix}{self._id_count:04}"

    def signed(self, event: Event, *, away_s: int = 0, secret: str = "", also: tuple[str, ...] = ()) -> dict[str, str]:
        """Signs an event `away_s` seconds from now, with another `secret` if given, and with the secrets `also`."""
        at_s = int(time.time()) + away_s
        return headers_for(secret or self.secret, event.id, at_s, event.body, also=also, scheme=self.scheme)

    def sent_s(self, headers: dict[str, str]) -> int | None:
        """The signed timestamp in seconds since 1970; None if the scheme has no timestamp."""
        return self.way.read(headers).sent_s

    def send(self, label: str, body: bytes, headers: dict[str, str]) -> None:
        """Sends one message unchanged and notes the exchange."""
        self._note(Exchange(label, self.target.post(body, headers), body))

    def deliver_payment(self, payment: Payment, *, backwards: bool = False) -> Payment:
        """Delivers a payment's events and returns the payment.

        With `backwards`, the last event goes first, and rejected events are sent a second time.
        """
        self.deliver(payment.events[:: -1 if backwards else 1], again=backwards)
        return payment

    def deliver(self, events: Sequence[Event], *, again: bool = False, at_once: bool = False) -> None:
        """Sends genuine events one after the other, or all at the same moment.

        With `again`, rejected events are sent once more after all the others, as the service would do.
        """
        sent = len(self.exchanges)
        exchanges: Iterable[Exchange] = map(self._delivered, events)
        if at_once:
            with ThreadPoolExecutor(len(events)) as threads:
                exchanges = list(threads.map(self._delivered, events))
        for exchange in exchanges:
            self._note(exchange, genuine=True)
        for place, event in enumerate(events if again else (), start=sent):
            if not is_accepted(self.exchanges[place].reply):
                self.exchanges[place] = self._delivered(event)

    def burst(self, events: Iterable[Event]) -> None:
        """Sends many events one after the other, for at most 30 seconds."""
        until = time.monotonic() + _BURST_S
        for event in events:
            if time.monotonic() > until:
                self._note(Exchange("the rest", Reply(None, fault=f"{_BURST_S} s are up")))
                return
            self.deliver([event])

    def look_at_the_slowest(self) -> None:
        """Notes the slowest response to a genuine message, so that the check judges it."""
        self._note(self.slowest)

    def _delivered(self, event: Event) -> Exchange:
        return Exchange(event.type, self.target.post(event.body, self.signed(event)), event.body)

    def _note(self, exchange: Exchange, *, genuine: bool = False) -> None:
        self.exchanges.append(exchange)
        self.waited_ms += exchange.reply.latency_ms
        if genuine and exchange.reply.latency_ms >= self.slowest.reply.latency_ms:
            self.slowest = exchange
        if exchange.reply.status_code is None and exchange.reply.latency_ms >= self.target.patience_s * 1000:
            raise NoAnswer


def is_accepted(reply: Reply) -> bool:
    """True if the response is any 2xx."""
    return reply.status_code in range(200, 300)
