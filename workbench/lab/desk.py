"""The desk: ask for a payment, pay it on the handset, and see what it comes to, on one screen."""

import secrets
from contextlib import suppress
from itertools import chain, count

from workbench.errors import WorkbenchError
from workbench.lab.board import Board
from workbench.lab.parts.handset import HandsetSection
from workbench.lab.parts.ledger import LedgerSection
from workbench.lab.parts.part import Message
from workbench.lab.parts.payment import PaymentSection, news
from workbench.lab.parts.request import RequestSection, ResponseSection
from workbench.lab.parts.seen import Gathered
from workbench.lab.parts.webhooks import WebhooksSection, verified_at
from workbench.session import Session


class Desk(Board):
    """`do` presses its buttons from a script: `desk.do("request", "send", amount="20.00")`."""

    def __init__(self, session: Session) -> None:
        self._gathered = gathered = Gathered(session)
        self._known = ("", "", "")
        request = RequestSection(session, gathered, _Keys(gathered, is_served=session.is_served))
        sections = (
            request,
            HandsetSection(session, gathered, request),
            PaymentSection(session, gathered),
            ResponseSection(request),
            WebhooksSection(session, gathered),
            LedgerSection(gathered),
        )
        super().__init__(
            "Desk",
            sections,
            session.watch,
            name="desk",
            read=self._look,
            slot=lambda number: session.phone(number).widget,
        )

    def do(self, section: str, name: str, on: str = "", **values: str) -> Message | None:
        """Press a button: what a click does, for a script. An error of the service is a message, not raised."""
        message = super().do(section, name, on, **values)
        with suppress(WorkbenchError):
            self._look()
        return message

    def _look(self) -> None:
        """Read, and report what has become of the payment that is looked at."""
        self._gathered.read()
        payment = self._gathered.payment
        now = (payment.id, payment.status, verified_at(self._gathered.rows, self._gathered.arrivals))
        before, self._known = self._known, now
        if before != now and before[0] == payment.id and (message := news(payment, is_verified=bool(now[2]))):
            self.say(message)


class _Keys:
    """Idempotency keys: in this process the same in every run, over a served sandbox nobody else's."""

    def __init__(self, gathered: Gathered, *, is_served: bool) -> None:
        self._gathered = gathered
        self._is_served = is_served
        self._used: set[str] = set()

    def __call__(self) -> str:
        name = f"desk-{secrets.token_hex(4) if self._is_served else self._gathered.seq()}"
        names = chain([name], (f"{name}-{number}" for number in count(2)))
        key = next(each for each in names if each not in self._used)
        self._used.add(key)
        return key
