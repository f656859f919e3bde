"""The desk: ask for a payment, pay it on the handset, and see what it comes to, on one screen."""

import secrets
from collections.abc import Callable
from typing import TYPE_CHECKING

from workbench.lab.board import Board
from workbench.lab.parts.handset import HandsetPart
from workbench.lab.parts.ledger import LedgerPart
from workbench.lab.parts.payment import PaymentPart
from workbench.lab.parts.request import AnswerPart, RequestPart
from workbench.lab.parts.seen import Seen
from workbench.lab.parts.webhooks import WebhooksPart
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
        seen = Seen(bench.looking(), receiver, numbers)
        request = RequestPart(bench, seen, _Keys(seen, is_served=is_served))
        super().__init__(
            "Desk",
            (
                request,
                HandsetPart(bench, seen, request),
                AnswerPart(request),
                PaymentPart(bench, seen),
                WebhooksPart(bench, seen),
                LedgerPart(seen),
            ),
            bench.watch,
            name="desk",
            read=seen.read,
            slot=lambda number: bench.phone(number).widget,
        )


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
