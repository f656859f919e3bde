"""The merchant's side of a webhook: verify, dedupe, handle. Copy it into your own backend.

This file, `domain/signatures.py`, `errors.py` and `visible.py` need nothing but the standard library. `Receiver` is a
WSGI application: it runs in process under the sandbox's clock, and on a real port under any WSGI server. The order
matters: first it checks the signature of the received bytes, before anything parses them. For a message that it has
handled before, it returns 200 and does nothing else. If a handler raises, it returns 500, so that the service sends the
message again.
"""

import atexit
import difflib
import inspect
import json
import logging
import re
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, MutableSet
from contextlib import contextmanager
from decimal import Decimal
from itertools import product
from typing import Any, NamedTuple
from wsgiref.simple_server import WSGIRequestHandler, make_server
from wsgiref.types import StartResponse, WSGIEnvironment

from workbench.domain.signatures import SCHEMES, STANDARD, verify
from workbench.errors import SignatureRefused
from workbench.visible import visible

MAX_BODY_BYTES = 1 << 20
MAX_ARRIVALS = 1000
MAX_EVENTS = 10_000
_POLL_S = 0.05
"""Seconds within which `listen` ends after its block."""
_STATUS = {200: "200 OK", 400: "400 Bad Request", 405: "405 Method Not Allowed", 413: "413 Content Too Large",
           500: "500 Internal Server Error"}  # fmt: skip
_SIGNED_IN = frozenset(
    f"HTTP_{name.upper().replace('-', '_')}" for scheme in SCHEMES.values() for name in scheme.headers
)
"""The headers of all schemes under their WSGI names, so that a message signed by another scheme is recognised."""
_NAME = re.compile(r"\*|[a-z_]+\.(\*|[a-z_.]+)")
_LENGTH = re.compile("[0-9]{1,19}")
_JSON = json.JSONDecoder(parse_float=Decimal)
_LOG = logging.getLogger(__name__)
# Without a handler of yours nothing is printed: a traceback would land in a notebook's output.
_LOG.addHandler(logging.NullHandler())


class EventData(NamedTuple):
    """The object as of the event, and the previous values of its changed attributes."""

    object: dict[str, Any]
    previous_attributes: dict[str, Any]


class Event(NamedTuple):
    """The body of a webhook, whose format is the service's own or CloudEvents 1.0; decimal numbers are Decimals."""

    id: str
    type: str
    timestamp: str
    data: EventData


class Arrival(NamedTuple):
    """A request to the receiver: the verdict on it, and the message, so that you can try it again by hand."""

    status: int
    """The HTTP status of the response."""
    verdict: str
    """`accepted`, `duplicate`, `refused` or `failed`."""
    reason: str
    """Why the message was refused or failed; the event's type if it was accepted, the message's id if a duplicate."""
    body: bytes
    headers: dict[str, str]
    error: Exception | None = None
    """The exception that the handler raised, with its traceback; None if it raised none."""

    @property
    def raw(self) -> str:
        """The message's headers and body as text."""
        head = "\n".join(f"{name}: {value}" for name, value in self.headers.items())
        return f"{head}\n\n{self.body.decode('utf-8', 'replace')}"


Handler = Callable[[Event], object]


class ReceivedEvents(list[Event]):
    """The accepted events, each once, in order of arrival; `dropped` counts older events that were discarded."""

    dropped = 0

    def __repr__(self) -> str:
        width = max((len(event.type) for event in self), default=0)
        rows = [
            visible(f"{event.timestamp}  {event.type:<{width}}  {event.data.object.get('id', '')}") for event in self
        ]
        older = f" ({self.dropped:,} older ones were dropped)" if self.dropped else ""
        return "\n".join([f"Webhooks received, each signature verified{older}:", *(rows or ["(none yet)"])])


class Receiver:
    """A webhook endpoint as a WSGI application.

    `secrets` has the endpoint's signing secrets (two while one is being rolled); `scheme` is a name in `SCHEMES`. `now`
    returns seconds since 1970, `tolerance_s` is how many seconds old or early a message may be. `seen` has the ids of
    messages handled before: in production, pass a durable set that all your processes share. `types` has the known
    types of events: `on` refuses others. Without `types`, `on` checks only the form of a name. `events` keeps the
    newest 10,000 events, and `arrivals` the last 1000 requests; `seen` finds duplicates of dropped events too. The
    receiver handles one message at a time, and the service waits 15 s for a response, so let handlers queue long work.
    """

    def __init__(
        self,
        secrets: Iterable[str] = (),
        *,
        now: Callable[[], float] = time.time,
        tolerance_s: int = 300,
        seen: MutableSet[str] | None = None,
        types: Iterable[str] = (),
        scheme: str = STANDARD,
    ) -> None:
        if scheme not in SCHEMES:
            raise ValueError(f"scheme is {' or '.join(map(repr, SCHEMES))}, not {scheme!r}")
        self.secrets = [secrets] if isinstance(secrets, str) else list(secrets)
        self.scheme = scheme
        self.events = ReceivedEvents()
        self.arrivals: deque[Arrival] = deque(maxlen=MAX_ARRIVALS)
        self._now = now
        self._tolerance_s = tolerance_s
        self._seen: MutableSet[str] = set() if seen is None else seen
        self._types = frozenset(types)
        self._handlers: list[tuple[str, Handler]] = []
        self._lock = threading.RLock()

    def on(self, *event_types: str) -> Callable[[Handler], Handler]:
        """Decorate a function that handles events of these types; `charge.*` means a family, `*` all events.

        >>> @receiver.on("payment_intent.succeeded")  # doctest: +SKIP
        ... def ship(event): ...

        Raises TypeError for a coroutine function, which would not be awaited, and if no type is named. Raises
        ValueError for a name that no event has.
        """
        if not event_types or not all(isinstance(event_type, str) for event_type in event_types):
            raise TypeError('name the types to handle: @receiver.on("charge.succeeded"), or @receiver.on("*") for all')
        for event_type in event_types:
            self._check(event_type)

        def register(handler: Handler) -> Handler:
            if inspect.iscoroutinefunction(handler):
                raise TypeError(f"{handler.__qualname__} is async; a handler here is a plain function")
            # A cell that is run twice replaces its handler instead of handling everything twice.
            self._handlers = [handled for handled in self._handlers if not _same(handled[1], handler)]
            self._handlers += [(event_type, handler) for event_type in event_types]
            return handler

        return register

    def handlers(self, event_type: str) -> list[Handler]:
        """The handlers for an event of this type, each once: first for the type, then for its family, then for `*`."""
        wanted = (event_type, f"{event_type.partition('.')[0]}.*", "*")
        handlers: list[Handler] = []
        for name, (handled, handler) in product(wanted, self._handlers):
            if handled == name and handler not in handlers:
                handlers.append(handler)
        return handlers

    def receive(self, body: bytes, headers: dict[str, str]) -> int:
        """Handle one message, and return the HTTP status of the response."""
        return self._take(body, headers).status

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> list[bytes]:
        """Handles a WSGI request; the response's status is 200, 400, 405, 413 or 500."""
        status, text = self._respond(environ)
        headers = [("Content-Type", "text/plain"), ("Content-Length", str(len(text)))]
        headers += [] if environ["REQUEST_METHOD"] == "POST" else [("Allow", "POST")]
        start_response(_STATUS[status], headers)
        return [text]

    @contextmanager
    def listen(self, port: int = 0) -> Iterator[str]:
        """Serve on a port of this machine's loopback while the block runs; yields the endpoint's URL.

        Port 0 takes a free port. For tests and notebooks; in production, use a WSGI server.
        """
        server = make_server("127.0.0.1", port, self, handler_class=_Quiet)
        thread = threading.Thread(target=server.serve_forever, args=(_POLL_S,), daemon=True)
        thread.start()
        # If a script ends inside the block, Python would wait for the thread for ever.
        atexit.register(server.shutdown)
        try:
            yield f"http://127.0.0.1:{server.server_port}/webhooks"
        finally:
            atexit.unregister(server.shutdown)
            server.shutdown()
            server.server_close()
            thread.join()

    def __repr__(self) -> str:
        verdicts = [arrival.verdict for arrival in self.arrivals]
        counts = ", ".join(
            f"{verdicts.count(verdict)} {verdict}" for verdict in ("accepted", "duplicate", "refused", "failed")
        )
        return f"Receiver({counts})"

    def _check(self, event_type: str) -> None:
        """Raises ValueError: no event has this type, so a handler for it would never run."""
        known = {"*", *self._types, *(f"{event_type.partition('.')[0]}.*" for event_type in self._types)}
        if event_type in known or (not self._types and _NAME.fullmatch(event_type)):
            return
        near = difflib.get_close_matches(event_type, known, n=1)
        hint = f"did you mean {near[0]!r}?" if near else "a type is such as 'charge.succeeded', 'charge.*' or '*'"
        raise ValueError(f"no event is named {event_type!r}: {hint}")

    def _respond(self, environ: WSGIEnvironment) -> tuple[int, bytes]:
        if environ["REQUEST_METHOD"] != "POST":
            return 405, b"POST webhooks here."
        body = _body(environ)
        if body is None:
            return 413, b"too large"
        headers = {
            name.removeprefix("HTTP_").replace("_", "-").lower(): value
            for name, value in environ.items()
            if name in _SIGNED_IN
        }
        arrival = self._take(body, headers)
        return arrival.status, arrival.verdict.encode()

    def _take(self, body: bytes, headers: dict[str, str]) -> Arrival:
        with self._lock:
            arrival = self._judge(body, headers)
            self.arrivals.append(arrival)
            return arrival

    def _judge(self, body: bytes, headers: dict[str, str]) -> Arrival:
        try:
            message_id = verify(
                body, headers, self.secrets, now_s=int(self._now()), tolerance_s=self._tolerance_s, scheme=self.scheme
            )
            event = _event(body)
        except SignatureRefused as refused:
            return Arrival(400, "refused", refused.reason, body, headers)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError, ArithmeticError):
            return Arrival(400, "refused", "body_not_an_event", body, headers)
        if message_id in self._seen:
            return Arrival(200, "duplicate", message_id, body, headers)
        try:
            for handler in self.handlers(event.type):
                handler(event)
        except Exception as error:  # noqa: BLE001  whatever the merchant's code raises, the service must try again
            _LOG.exception("the handler of %s failed", visible(event.type))
            return Arrival(500, "failed", f"{type(error).__name__}: {error}", body, headers, error)
        # Noted only now: after a handler failed, the message must be handled again.
        self._seen.add(message_id)
        self.events.append(event)
        if len(self.events) > MAX_EVENTS:
            del self.events[0]
            self.events.dropped += 1
        return Arrival(200, "accepted", event.type, body, headers)


class _Quiet(WSGIRequestHandler):
    """Writes no log lines for requests, since they would appear in a notebook's output."""

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  the base class's signature
        del format, args


def _body(environ: WSGIEnvironment) -> bytes | None:
    """The body's bytes; None if there are more than MAX_BODY_BYTES, or Content-Length is not a number.

    A body without a Content-Length, such as a chunked one, is read if the WSGI server marks its end, else it is empty.
    """
    length = environ.get("CONTENT_LENGTH") or ""
    if not length and not environ.get("wsgi.input_terminated"):
        return b""
    wanted = int(length) if _LENGTH.fullmatch(length) else MAX_BODY_BYTES + 1
    if wanted > MAX_BODY_BYTES and length:
        return None
    body = bytes(environ["wsgi.input"].read(wanted))
    return body if len(body) <= MAX_BODY_BYTES else None


def _event(body: bytes) -> Event:
    read = _JSON.decode(body.decode(json.detect_encoding(body), "surrogatepass"))
    data = EventData(dict(read["data"]["object"]), dict(read["data"].get("previous_attributes") or {}))
    if not (isinstance(read["id"], str) and isinstance(read["type"], str)):
        raise TypeError
    return Event(read["id"], read["type"], str(read["time" if "specversion" in read else "timestamp"]), data)


def _same(first: Handler, second: Handler) -> bool:
    """True if two handlers are one function, or come from one cell that ran twice; lambdas have no names to compare."""
    names = [
        (getattr(handler, "__module__", ""), getattr(handler, "__qualname__", "<lambda>"))
        for handler in (first, second)
    ]
    return first is second or (names[0] == names[1] and "<lambda>" not in names[0][1])
