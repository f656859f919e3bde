"""The sender of an exam: genuine messages and others, whose answers are kept until the check is judged."""

import secrets
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final, NamedTuple

from workbench.certify.payments import Payment, Payments
from workbench.certify.sending import Event, Target
from workbench.domain.signatures import SCHEMES, headers_for
from workbench.sandbox.delivery import Reply

_BURST_S: Final = 30


class Exchange(NamedTuple):
    """A message with a short label, and its answer."""

    label: str
    reply: Reply
    body: bytes = b""


class NoAnswer(Exception):
    """An answer did not come in time: what follows would wait as long."""


class Exam:
    """Sends for the checks: `secret` signs in `scheme`, a row of `SCHEMES`; `payments` makes payments."""

    first: Payment
    """The payment of the first check."""
    yesterday: Payment
    """A payment of a day ago, of which nothing was sent."""

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
        self._target = target
        self.slowest = Exchange("", Reply(None))
        """The slowest answer to a genuine message."""
        self.waited_ms = 0
        self._ids = f"evt_exam{secrets.token_hex(4)}"
        self._given = 0

    def new_id(self) -> str:
        """The id of an event that never was: a shop may remember those of earlier exams."""
        self._given += 1
        return f"{self._ids}{self._given:04}"

    def signed(self, event: Event, *, away_s: int = 0, secret: str = "", also: tuple[str, ...] = ()) -> dict[str, str]:
        """The headers of an event, signed `away_s` seconds from now; by another `secret`, and those of `also` too."""
        at_s = int(time.time()) + away_s
        return headers_for(secret or self.secret, event.id, at_s, event.body, also=also, scheme=self.scheme)

    def sent_s(self, headers: dict[str, str]) -> int | None:
        """When these headers say that they were signed, in seconds since 1970; None if the scheme has no timestamp."""
        return self.way.read(headers).sent_s

    def send(self, label: str, body: bytes, headers: dict[str, str]) -> None:
        """Send one message as it is."""
        self._note(Exchange(label, self.post(body, headers), body))

    def post(self, body: bytes, headers: dict[str, str]) -> Reply:
        """Send one message that belongs to no check."""
        return self._target.post(body, headers)

    def listens(self) -> bool:
        """True if the shop still takes connections."""
        return self._target.listens()

    def tell(self, payment: Payment, *, backwards: bool = False) -> Payment:
        """Deliver the events of a payment, which is handed back; `backwards` those not accepted a second time."""
        self.deliver(payment.events[:: -1 if backwards else 1], again=backwards)
        return payment

    def deliver(self, events: Sequence[Event], *, again: bool = False, at_once: bool = False) -> None:
        """Send genuine events, one after the other or all at the same moment.

        With `again`, those not accepted once more behind the others, as the service would.
        """
        sent = len(self.exchanges)
        exchanges: Iterable[Exchange] = map(self._delivered, events)
        if at_once:
            with ThreadPoolExecutor(len(events)) as threads:
                exchanges = list(threads.map(self._delivered, events))
        for each in exchanges:
            self._note(each, genuine=True)
        for place, event in enumerate(events if again else (), start=sent):
            if not is_accepted(self.exchanges[place].reply):
                self.exchanges[place] = self._delivered(event)

    def burst(self, events: Iterable[Event]) -> None:
        """Send many events, one after the other, for as long as that may take."""
        until = time.monotonic() + _BURST_S
        for event in events:
            if time.monotonic() > until:
                self._note(Exchange("the rest", Reply(None, fault=f"{_BURST_S} s are up")))
                return
            self.deliver([event])

    def look_at_the_slowest(self) -> None:
        """Judge the slowest answer to a genuine message."""
        self._note(self.slowest)

    def _delivered(self, event: Event) -> Exchange:
        return Exchange(event.type, self.post(event.body, self.signed(event)), event.body)

    def _note(self, exchange: Exchange, *, genuine: bool = False) -> None:
        self.exchanges.append(exchange)
        self.waited_ms += exchange.reply.latency_ms
        if genuine and exchange.reply.latency_ms >= self.slowest.reply.latency_ms:
            self.slowest = exchange
        if exchange.reply.status_code is None and exchange.reply.latency_ms >= self._target.patience_s * 1000:
            raise NoAnswer


def is_accepted(reply: Reply) -> bool:
    """True if an answer is any 2xx."""
    return reply.status_code in range(200, 300)
