"""Requests and responses, independent of any web framework; the formats of errors; the log lines of a served sandbox.

`workbench serve` writes a line to standard error about each request, and about each attempt to deliver an event.
"""

import logging
import os
import re
import select
import sys
import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress
from http import HTTPStatus
from typing import Any, Final, NamedTuple
from urllib.parse import quote, unquote

import msgspec

from workbench.domain.gaps import Gaps
from workbench.domain.masking import mask, mask_beginning, shortened
from workbench.domain.moments import rfc3339
from workbench.domain.webhooks import DEAD_LETTER, DELIVERED, ENABLED
from workbench.domain.wire.keys_and_events import PlantError
from workbench.domain.wire.ledger_and_trace import UNSEEN
from workbench.errors import ApiError
from workbench.sandbox.store import Transaction
from workbench.sandbox.store.transaction import DELIVER
from workbench.visible import visible

_LOG = logging.getLogger(__name__)
MAX_BODY_BYTES: Final = 1 << 20
MAX_READ_BYTES: Final = 32 * MAX_BODY_BYTES
"""The most bytes that are read of a body over the size limit, before the request is refused."""
_UNESCAPED_IN_PATH: Final = "/:@!$&'()*+,;="
"""Characters, besides letters and digits, that need no escape in the path of a URI (RFC 3986 §3.3)."""
JSON: Final = "application/json"
_MOST: Final = 300
"""The most characters of a text from outside in a log line: a pipe takes up to 4,096 bytes without splitting a line."""
UNSEEN_KEY: Final = UNSEEN.lower()
_GOOD, _ODD, _BAD = "\x1b[32m", "\x1b[33m", "\x1b[31m"
_FAILURES: Final = {4: _ODD, 5: _BAD}
"""First digit of a failed request's status → the colour of its line: 4 for the client's faults, 5 for the service's."""


def log_fault(message: str, error: BaseException) -> None:
    """Logs `message`, a clause such as "a request failed", with the masked traceback of `error`."""
    _LOG.error("%s", visible(mask("".join([message, ": ", *traceback.format_exception(error)])), lines=True))


class InForce(NamedTuple):
    """The choices that public pages show: the values of the register, and the operations marked as deprecated."""

    gaps: Gaps
    deprecated: frozenset[str] = frozenset()


class Arrived(msgspec.Struct, frozen=True):
    """A request as a socket or an in-process client delivers it, before any check."""

    method: str
    target: bytes
    """Path and query, percent-encoded bytes."""
    headers: Mapping[str, str]
    """Values by header names in lower case, as `headers_in` makes them."""
    body: bytes = b""
    fault: ApiError | None = None
    """The error for a request that did not arrive completely; None if it did."""


class Answer(msgspec.Struct, frozen=True):
    """A response in the form in which a transport sends it: status, headers and body."""

    status: int
    headers: list[tuple[str, str]]
    body: bytes


class Request(msgspec.Struct, frozen=True):
    """A parsed request; `headers` has the headers that the sandbox uses, under their usual names."""

    method: str
    path: str
    target: str = ""
    """Path and query, each parameter decoded."""
    query: Mapping[str, str | list[str]] = {}
    """Parameters by name; a repeated parameter has a list of values."""
    headers: Mapping[str, str] = {}
    body: bytes = b""
    path_params: Mapping[str, str] = {}
    body_struct: msgspec.Struct | None = None
    """The body as a struct, if the sandbox itself made the request; else None."""
    live: bool = False
    """True if a header or the query holds a live key."""


class Response(msgspec.Struct, frozen=True):
    """A response to a request, before a transport sends it."""

    status: int
    content_type: str
    body: bytes
    headers: Mapping[str, str] = {}
    payment: str | None = None
    """The id of the intent or charge that the call concerned; None for other calls."""
    kept: bytes | None = None
    """The body to keep for an idempotency key, if it differs from `body`: secrets are shown once and not kept."""
    is_slow: bool = False
    """True if the scenario `slow` delays the response."""
    relied: tuple[str, ...] = ()
    """Rows of the register on which this response relied, but not every response of the operation."""
    make_body: Callable[[], bytes] | None = None
    """Makes the body of a page outside of any transaction, because it takes long; `body` is empty until then."""


def _problem_members(error: ApiError, request_id: str, path: str) -> dict[str, Any]:
    """The members of an error in the problem format (RFC 9457), with the documented `error` and `message` added."""
    members = {
        "type": f"/docs/errors#{error.code}",
        "title": error.title,
        "status": error.status,
        "detail": mask(str(error)),
        "instance": quote(mask(path).replace("•", "*"), safe=_UNESCAPED_IN_PATH),  # a URI has no bullets
        "code": error.code,
        "param": mask(error.param) if error.param else None,
        "errors": [{"pointer": mask(problem.pointer), "detail": mask(problem.detail)} for problem in error.problems],
        "request_id": request_id,
        "decline_code": error.decline_code,
        **error.facts,
        "error": error.status,
        "message": mask(str(error)),
    }
    return {name: value for name, value in members.items() if value not in (None, [])}


def _envelope_members(error: ApiError, request_id: str, path: str) -> dict[str, Any]:
    """The members of an error in Stripe's format: all are within `error`, and the documented status is left out."""
    members = {
        "type": re.sub(r"(?<!^)([A-Z])", r"_\1", type(error).__name__).lower(),
        "code": error.code,
        "message": mask(str(error)),
        "param": mask(error.param) if error.param else None,
        "decline_code": error.decline_code,
        "doc_url": f"/docs/errors#{error.code}",
        "request_id": request_id,
        **error.facts,
    }
    return {"error": {name: value for name, value in members.items() if value is not None}}


ERROR_FORMATS: Mapping[str, tuple[str, Callable[[ApiError, str, str], object]]] = {
    "problem": ("application/problem+json", _problem_members),
    # The one error that the interface documents.
    "plain": ("application/json", lambda error, *_: PlantError(error.status, mask(str(error)))),
    "envelope": ("application/json", _envelope_members),
}
"""Value of the register's `error_format` → the media type of an error, and the function that makes its members."""


class Speaker:
    """Writes log lines to a file descriptor, each with one system call, so that lines of several workers do not mix.

    A write never blocks. If a pipe is full because nobody reads it, lines are dropped, and their number is written
    later.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._coloured = os.isatty(descriptor) and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
        self._unwritten = 0

    def write(self, line: str) -> None:
        """Writes a line, unless it is empty; a line for which the pipe has no room is dropped and counted.

        Raises no OSError.
        """
        with suppress(OSError):  # whoever read is gone
            # Windows selects only sockets.
            if line and sys.platform != "win32" and not select.select((), (self._descriptor,), (), 0)[1]:
                self._unwritten += 1
            elif line:
                before = f"({self._unwritten:,} lines were not written: nobody read.)\n" if self._unwritten else ""
                self._unwritten = 0
                os.write(self._descriptor, f"{before}{line}\n".encode())

    def request(self, arrived: Arrived, answer: Answer, took_s: float) -> None:
        """Writes the line about a request, except for a GET or HEAD that is untraced or for a file of the console."""
        is_unseen = UNSEEN_KEY in arrived.headers or arrived.target.startswith(b"/console/")
        if is_unseen and arrived.method in ("GET", "HEAD"):
            return
        status, headers = answer.status, dict(answer.headers)
        shown = self._coloured_as(_FAILURES.get(status // 100, _GOOD), str(status))
        line = f"{_brief(arrived.method)} {_brief(unquote(arrived.target.decode('latin-1')))}".strip() or "no request"
        line = f"{line}  {shown}  {took_s * 1000:.1f} ms  {headers.get('request-id', '')}"
        if arrived.method == "OPTIONS" and status == HTTPStatus.FORBIDDEN:
            line += f"  for what a publishable key may do: --allow-origin {_brief(arrived.headers.get('origin', ''))}"
        self.write(line)

    def attempt(self, tx: Transaction, delivery_id: str, result: str) -> str:
        """Returns the line about an attempt at a delivery; empty if a reset has deleted the delivery.

        `result` is the receiver's HTTP status, or the reason why no response came; empty if nothing was sent.
        """
        if (message := tx.message(delivery_id)) is None:
            return ""  # the sandbox was reset meanwhile
        delivery, event, endpoint = message
        reason = "held back" if endpoint.status == ENABLED else f"not sent: the endpoint is {endpoint.status}"
        job = tx.jobs.first(order="due_ms", ref=delivery.id, kind=DELIVER)
        follows = f"; attempt {delivery.attempts + 1} at {rfc3339(job.due_ms)}" if job else ""
        follows = "; dead letter" if delivery.status == DEAD_LETTER else follows
        colour = _GOOD if delivery.status == DELIVERED else _BAD if delivery.status == DEAD_LETTER else _ODD
        shown = self._coloured_as(colour, _brief(result) or reason)
        return f"webhook {event.type} {event.id} to {_brief(endpoint.url)}  {shown}{follows}"

    def _coloured_as(self, colour: str, text: str) -> str:
        return f"{colour}{text}\x1b[0m" if self._coloured else text


def _brief(text: str) -> str:
    return shortened(visible(mask_beginning(text, _MOST + 1)), _MOST)
