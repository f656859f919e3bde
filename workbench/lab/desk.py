"""The desk: ask for a payment, pay it on the handset, and see what it comes to, on one screen."""

import secrets
from contextlib import suppress

from workbench.errors import WorkbenchError
from workbench.lab.board import Board
from workbench.lab.parts.handset import HandsetPart
from workbench.lab.parts.ledger import LedgerPart
from workbench.lab.parts.part import Said
from workbench.lab.parts.payment import PaymentPart, news
from workbench.lab.parts.request import AnswerPart, RequestPart
from workbench.lab.parts.seen import NOBODY, Seen
from workbench.lab.parts.webhooks import WebhooksPart, verified_at
from workbench.session import Session


class Desk(Board):
    """`do` presses its buttons from a script: `desk.do("request", "send", amount="20.00")`."""

    def __init__(self, session: Session) -> None:
        self._seen = seen = Seen(session)
        self._known = ("", "", "")
        request = RequestPart(session, seen, _Keys(seen, is_served=session.is_served))
        super().__init__(
            "Desk",
            (
                request,
                HandsetPart(session, seen, request),
                PaymentPart(session, seen),
                AnswerPart(request),
                WebhooksPart(session, seen),
                LedgerPart(seen),
            ),
            session.watch,
            name="desk",
            read=self._look,
            slot=lambda number: session.phone(number).widget,
        )

    def do(self, part: str, name: str, on: str = "", **values: str) -> Said | None:
        """Press a button: what a click does, for a script. An error of the service is said, not raised."""
        said = super().do(part, name, on, **values)
        with suppress(WorkbenchError):
            self._look()
        return said

    def _look(self) -> None:
        """Read, and say what has become of the payment that is looked at."""
        self._seen.read()
        payment = self._seen.payment or NOBODY
        now = (payment.id, payment.status, verified_at(self._seen.rows, self._seen.arrivals))
        before, self._known = self._known, now
        if before != now and before[0] == payment.id and (said := news(payment, is_verified=bool(now[2]))):
            self.say(said)


class _Keys:
    """Idempotency keys: in this process the same in every run, over a served sandbox nobody else's."""

    def __init__(self, seen: Seen, *, is_served: bool) -> None:
        self._seen = seen
        self._is_served = is_served
        self._used: set[str] = set()

    def __call__(self) -> str:
        name = f"desk-{secrets.token_hex(4) if self._is_served else self._seen.seq()}"
        key = next(
            each for each in (name, *(f"{name}-{n}" for n in range(2, len(self._used) + 3))) if each not in self._used
        )
        self._used.add(key)
        return key
