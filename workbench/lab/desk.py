"""The desk: ask for a payment, pay it on the handset, and see what it comes to, on one screen."""

import secrets
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from workbench.errors import WorkbenchError
from workbench.lab.board import Board
from workbench.lab.parts.handset import HandsetPart
from workbench.lab.parts.ledger import LedgerPart
from workbench.lab.parts.part import Said
from workbench.lab.parts.payment import PaymentPart, news
from workbench.lab.parts.request import AnswerPart, RequestPart
from workbench.lab.parts.seen import NOBODY, Seen
from workbench.lab.parts.webhooks import WebhooksPart, verified_at
from workbench.receiver import Receiver

if TYPE_CHECKING:
    from workbench.bench import Workbench


class Desk(Board):
    """`receiver` tells the bench's receiver if there is one, and starts none; `numbers` those of its handsets.

    `do` presses its buttons from a script: `desk.do("request", "send", amount="20.00")`.
    """

    def __init__(
        self,
        bench: "Workbench",
        receiver: Callable[[], Receiver | None],
        numbers: Callable[[], list[str]],
        *,
        is_served: bool,
    ) -> None:
        self._seen = seen = Seen(bench.looking(), receiver, numbers)
        self._known = ("", "", "")
        request = RequestPart(bench, seen, _Keys(seen, is_served=is_served))
        super().__init__(
            "Desk",
            (
                request,
                HandsetPart(bench, seen, request),
                PaymentPart(bench, seen),
                AnswerPart(request),
                WebhooksPart(bench, seen),
                LedgerPart(seen),
            ),
            bench.watch,
            name="desk",
            read=self._look,
            slot=lambda number: bench.phone(number).widget,
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
