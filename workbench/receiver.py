"""The merchant's side of a webhook: verify, dedupe, handle. Copy it into your own backend.

`Receiver` is a WSGI application, so it runs in process under the sandbox's clock and on a real port
under any WSGI server. The order is what matters: the signature is checked on the bytes that arrived,
before anything parses them; a message that came before is answered 200 and not handled again; what
the handler raises is answered 500, so that the service sends the message again.
"""

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple
from wsgiref.simple_server import WSGIRequestHandler, make_server
from wsgiref.types import StartResponse, WSGIEnvironment

import msgspec

from workbench.domain import webhooks
from workbench.domain.masking import Secret, mask
from workbench.domain.wire import Event
from workbench.errors import SignatureRefused
from workbench.render import Table, bundle, table

MAX_BODY_BYTES = 1 << 20
_STATUS = {200: "200 OK", 400: "400 Bad Request", 405: "405 Method Not Allowed", 413: "413 Content Too Large",
           500: "500 Internal Server Error"}  # fmt: skip

Handler = Callable[[Event], object]


class Arrival(NamedTuple):
    """One request that reached the receiver: its verdict, and the message to try again by hand."""

    verdict: str
    """accepted, duplicate, refused or failed."""
    reason: str
    body: bytes
    headers: dict[str, str]

    @property
    def raw(self) -> str:
        """The message as it came over the wire, numbers masked."""
        head = "\n".join(f"{name}: {value}" for name, value in self.headers.items())
        return mask(f"{head}\n\n{self.body.decode('utf-8', 'replace')}")


class Events(list[Event]):
    """The events that were accepted, once each, in the order of their arrival."""

    def __repr__(self) -> str:
        return str(self._table())

    def _table(self) -> Table:
        rows = [(each.timestamp, each.type, str(each.data.object.get("id", ""))) for each in self]
        return table("Webhooks received, each signature verified", ("timestamp", "type", "object"), rows)

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        made = self._table()
        return bundle(str(made), made.html())


class Receiver:
    """A webhook endpoint as a WSGI application.

    `secrets` are the endpoint's signing secrets (two while one is being rolled), `now` gives seconds
    since 1970, `tolerance_s` is how old or early a message may be. `seen` holds the ids of messages
    handled before: hand in something durable in production.
    """

    def __init__(
        self,
        secrets: Iterable[str] = (),
        *,
        now: Callable[[], float] = time.time,
        tolerance_s: int = 300,
        seen: set[str] | None = None,
    ) -> None:
        self.secrets = [Secret(each) for each in secrets]
        self.events = Events()
        self.arrivals: list[Arrival] = []
        self._now = now
        self._tolerance_s = tolerance_s
        self._seen = set() if seen is None else seen
        self._handlers: dict[str, list[Handler]] = {}
        self._turn = threading.RLock()

    def on(self, event_type: str) -> Callable[[Handler], Handler]:
        """Decorate a function that handles events of a type; `*` takes all.

        >>> @receiver.on("payment_intent.succeeded")  # doctest: +SKIP
        ... def ship(event): ...
        """

        def register(handler: Handler) -> Handler:
            handlers = self._handlers.setdefault(event_type, [])
            # A cell that is run twice replaces its handler instead of handling everything twice.
            handlers[:] = [each for each in handlers if _name(each) != _name(handler)]
            handlers.append(handler)
            return handler

        return register

    def receive(self, body: bytes, headers: dict[str, str]) -> int:
        """Take one message; the HTTP status to answer."""
        with self._turn:
            try:
                message_id = webhooks.verify(
                    body, headers, self.secrets, now_s=int(self._now()), tolerance_s=self._tolerance_s
                )
                event = msgspec.json.decode(body, type=Event)
            except SignatureRefused as error:
                return self._note(400, "refused", error.reason, body, headers)
            except msgspec.MsgspecError:
                return self._note(400, "refused", "body_not_an_event", body, headers)
            if message_id in self._seen:
                return self._note(200, "duplicate", message_id, body, headers)
            return self._handle(message_id, event, body, headers)

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> list[bytes]:
        """The WSGI application."""
        status, answer = self._answer(environ)
        start_response(_STATUS[status], [("Content-Type", "text/plain"), ("Content-Length", str(len(answer)))])
        return [answer]

    @contextmanager
    def listen(self, port: int = 0) -> Iterator[str]:
        """Answer on a real port of this machine's loopback while the block runs; its URL.

        Port 0 takes a free one. For a test or a notebook; in production use a WSGI server.
        """
        server = make_server("127.0.0.1", port, self, handler_class=_Quiet)
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/webhooks"
        finally:
            server.shutdown()
            server.server_close()
            thread.join()

    def __repr__(self) -> str:
        refused = sum(each.verdict == "refused" for each in self.arrivals)
        return f"Receiver({len(self.events)} events accepted, {refused} of {len(self.arrivals)} arrivals refused)"

    def _answer(self, environ: WSGIEnvironment) -> tuple[int, bytes]:
        if environ["REQUEST_METHOD"] != "POST":
            return 405, b"POST webhooks here."
        length = environ.get("CONTENT_LENGTH") or "0"
        if not length.isdigit() or int(length) > MAX_BODY_BYTES:
            return 413, b"too large"
        body = environ["wsgi.input"].read(int(length))
        headers = {
            name.removeprefix("HTTP_").replace("_", "-").lower(): value
            for name, value in environ.items()
            if name.startswith("HTTP_WEBHOOK_")
        }
        status = self.receive(body, headers)
        return status, self.arrivals[-1].verdict.encode()

    def _handle(self, message_id: str, event: Event, body: bytes, headers: dict[str, str]) -> int:
        try:
            for handler in (*self._handlers.get(event.type, ()), *self._handlers.get("*", ())):
                handler(event)
        except Exception as error:  # noqa: BLE001  whatever the merchant's code raises, the service must try again
            return self._note(500, "failed", mask(f"{type(error).__name__}: {error}"), body, headers)
        # Only now: a handler that failed sees the message again.
        self._seen.add(message_id)
        self.events.append(event)
        return self._note(200, "accepted", event.type, body, headers)

    def _note(self, status: int, verdict: str, reason: str, body: bytes, headers: dict[str, str]) -> int:
        self.arrivals.append(Arrival(verdict, reason, body, headers))
        return status


class _Quiet(WSGIRequestHandler):
    """No line on standard error for each request: it would land in a notebook's output."""

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002, ANN401  the base class's signature
        del format, args


def _name(handler: Handler) -> str:
    return str(getattr(handler, "__qualname__", id(handler)))
