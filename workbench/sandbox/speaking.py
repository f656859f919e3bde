"""Messages of `workbench serve` on standard error: a line for each request and each attempt to deliver an event."""

import os
import select
import sys
from contextlib import suppress
from typing import Final
from urllib.parse import unquote

from workbench.domain.masking import mask_beginning, shortened
from workbench.domain.moments import rfc3339
from workbench.domain.webhooks import DEAD_LETTER, DELIVERED, ENABLED
from workbench.domain.wire.ledger_and_trace import UNSEEN
from workbench.sandbox.messages import Answer, Arrived
from workbench.sandbox.store import Transaction
from workbench.sandbox.store.transaction import DELIVER
from workbench.visible import visible

_MOST: Final = 300
"""The most characters shown of a foreign text: a line stays within what a pipe takes in one piece (4,096 bytes)."""
_UNSEEN: Final = UNSEEN.lower()
_GOOD, _ODD, _BAD = "\x1b[32m", "\x1b[33m", "\x1b[31m"
_FAILURES: Final = {4: _ODD, 5: _BAD}
"""First digit of a failure's status → its colour: 4 the client's, 5 the service's."""


class Speaker:
    """Writes lines to a file descriptor, each in one piece, so that the lines of several workers do not mix.

    A write never waits: lines for which a pipe that nobody reads has no room are counted, and the count written later.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._coloured = os.isatty(descriptor) and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
        self._unwritten = 0

    def write(self, line: str) -> None:
        """Write a line; an empty line is left out."""
        with suppress(OSError):  # whoever read is gone
            # Windows selects only sockets.
            if line and sys.platform != "win32" and not select.select((), (self._descriptor,), (), 0)[1]:
                self._unwritten += 1
            elif line:
                before = f"({self._unwritten:,} lines were not written: nobody read.)\n" if self._unwritten else ""
                self._unwritten = 0
                os.write(self._descriptor, f"{before}{line}\n".encode())

    def request(self, arrived: Arrived, answer: Answer, took_s: float) -> None:
        """Write the line about a request, except a GET or HEAD that leaves no trace or gets a file of the console."""
        is_unseen = _UNSEEN in arrived.headers or arrived.target.startswith(b"/console/")
        if is_unseen and arrived.method in ("GET", "HEAD"):
            return
        status, headers = answer.status, dict(answer.headers)
        shown = self._coloured_as(_FAILURES.get(status // 100, _GOOD), str(status))
        what = f"{_brief(arrived.method)} {_brief(unquote(arrived.target.decode('latin-1')))}".strip() or "no request"
        self.write(f"{what}  {shown}  {took_s * 1000:.1f} ms  {headers.get('request-id', '')}")

    def attempt(self, tx: Transaction, delivery_id: str, result: str) -> str:
        """The line about a delivery; empty if a reset has deleted the delivery.

        `result` is a status or why no response came, empty if nothing was sent.
        """
        if (message := tx.message(delivery_id)) is None:
            return ""  # the sandbox was reset meanwhile
        delivery, event, endpoint = message
        held = "held back" if endpoint.status == ENABLED else f"not sent: the endpoint is {endpoint.status}"
        job = tx.jobs.first(order="due_ms", ref=delivery.id, kind=DELIVER)
        follows = f"; attempt {delivery.attempts + 1} at {rfc3339(job.due_ms)}" if job else ""
        follows = "; dead letter" if delivery.status == DEAD_LETTER else follows
        colour = _GOOD if delivery.status == DELIVERED else _BAD if delivery.status == DEAD_LETTER else _ODD
        shown = self._coloured_as(colour, _brief(result) or held)
        return f"webhook {event.type} {event.id} to {_brief(endpoint.url)}  {shown}{follows}"

    def _coloured_as(self, colour: str, text: str) -> str:
        return f"{colour}{text}\x1b[0m" if self._coloured else text


def _brief(text: str) -> str:
    return shortened(visible(mask_beginning(text, _MOST + 1)), _MOST)
