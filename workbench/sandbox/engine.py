"""The running parts of one sandbox: the store, what is due, and the service that answers requests."""

import secrets
import threading
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import cache, lru_cache, partial
from http import HTTPStatus
from typing import cast
from urllib.parse import parse_qsl, unquote_to_bytes, urlsplit
from wsgiref.types import WSGIApplication

import httpx
import msgspec
from msgspec.structs import replace

from workbench.domain.gaps import Gaps
from workbench.domain.wire.base import to_json
from workbench.domain.wire.ledger_and_trace import UNSEEN
from workbench.domain.wire.sandbox_controls import DASHBOARD
from workbench.errors import ApiError, InvalidRequest, MethodNotAllowed, NotFound, StateConflict
from workbench.sandbox import controls, month, operations
from workbench.sandbox.access import Hosts, Origins, preflight, shared_with
from workbench.sandbox.addresses import NotLookedUp
from workbench.sandbox.console_door import Door
from workbench.sandbox.driver import Driver
from workbench.sandbox.exchange import Responder
from workbench.sandbox.messages import JSON, MAX_BODY_BYTES, Answer, Arrived, Request, Response
from workbench.sandbox.openapi.pages import PAGES, Page, entrance
from workbench.sandbox.operations import Operation
from workbench.sandbox.outbound import Outbound, Post, is_asgi, post_to_nobody, post_to_wsgi
from workbench.sandbox.service.request_fields import LIVE_KEY
from workbench.sandbox.speaking import Speaker
from workbench.sandbox.store import Settings, Store
from workbench.sandbox.store.database_files import MERCHANT_ID
from workbench.sandbox.store.transaction import UNWRITTEN
from workbench.watching import Watchers

_NOTED_HEADERS = {
    name.lower(): name
    for name in (
        "Host", "Authorization", "Content-Type", "Idempotency-Key", "Api-Version", "Sandbox-Scenario", UNSEEN,
    )
}  # fmt: skip
"""The headers that matter, by their names in lower case."""
_UNSEEN = UNSEEN.lower()
_PREFLIGHT = "access-control-request-method"
_MOST_DIGITS = 18
_SLOW_S = 10
"""Seconds by which the scenario `slow` delays a response."""


@lru_cache
def _lower(name: bytes) -> str:
    """A header's name in lower case; the same few come with every call."""
    return name.decode("latin-1").lower()


def headers_in(raw: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    """Headers by their names in lower case; values of one name are joined by commas."""
    headers: dict[str, str] = {}
    for name, value in raw:
        key, text = _lower(name), value.decode("latin-1").strip()
        headers[key] = f"{headers[key]},{text}" if key in headers else text
    return headers


def length_in(text: str) -> int | None:
    """The bytes that a Content-Length announces; None if it is no number."""
    if not (text.isascii() and text.isdigit()):
        return None
    # So long a number Python does not read, and so much is more than any limit.
    return int(text) if len(text) <= _MOST_DIGITS else 10**_MOST_DIGITS


class Engine:
    """A sandbox over one store. `speaker` writes a line for each delivery, and for each request that is served."""

    def __init__(self, settings: Settings, *, raise_bugs: bool, speaker: Speaker | None = None) -> None:
        self.store = Store(settings, new_seed=lambda: secrets.token_hex(32))
        self._outbound = Outbound(private=settings.private_receivers)
        self._driver = Driver(self.store, self._outbound, raise_bugs=raise_bugs, speaker=speaker)
        self.speaker = speaker
        self._responder = Responder(self.store, raise_bugs=raise_bugs)
        self._paths = _paths(settings.gaps)
        self.app = Application(self._responder, self._driver, Hosts(), Origins(), self._paths)

    def app_to_serve(self, hosts: Hosts, origins: Origins, door: Door | None = None) -> "Application":
        """The application for a real port: a bug is logged, masked, and answered as a 500."""
        # Where a publishable key may do nothing, no page may.
        pages = Origins() if self.store.gaps.publishable_key == "nothing" else origins
        app = Application(Responder(self.store, raise_bugs=False), self._driver, hosts, pages, self._paths)
        if door is not None:
            app.door, door.store, door.speaker = door, self.store, self.speaker
        return app

    def mount(self, url: str, app: object, *, by_sandbox_clock: bool = False) -> None:
        """Let a WSGI or ASGI application of this process answer for the host of a URL; None for one that is to come.

        A merchant's reads this machine's clock, the workbench's own goes `by_sandbox_clock`.
        Raises TypeError: neither. Raises ServeRefused: it did not start.
        """
        host = urlsplit(url).hostname or ""
        self._outbound.mount(host, *_called(app))
        self.store.mounted_hosts[host] = by_sandbox_clock

    def signing_secret(self, url: str) -> str | None:
        """The secret of the endpoint that a kept store has for a URL."""
        with self.store.transaction() as tx:
            endpoint = tx.endpoints.first(order="seq", url=url, status="enabled", account=MERCHANT_ID)
        return endpoint.secret if endpoint else None

    def registered(self, url: str) -> str:
        """The signing secret of the endpoint for a URL: the store's own, or one that is registered now.

        It is registered through the operation itself, so that the URL is checked and the trace tells of it.
        Raises InvalidRequest: this URL may not be called.
        """
        if known := self.signing_secret(url):
            return known
        headers = {"host": "localhost", "authorization": f"Bearer {self.store.key('secret')}", "content-type": JSON}
        # None of the calls that the merchant may make.
        headers |= {_UNSEEN: "true"} if self.store.gaps.rate_limit != "none" else {}
        offered = [row for row in operations.in_force(self.store.gaps) if not row.gone]
        register = next(row for row in offered if row.id == "createWebhookEndpoint")
        arrived = Arrived(register.method, register.path.encode(), headers, to_json({"url": url}))
        made = msgspec.json.decode(self.app.respond(arrived).body)
        if "secret" not in made:
            raise InvalidRequest(made.get("detail") or made["message"], code=made.get("code", ""), param="url")
        return str(made["secret"])

    @property
    def is_due(self) -> bool:
        """True if a job is due now."""
        return self.store.clock_if_due() is not None

    def run_due(self) -> None:
        """Run what is due now; what cannot be written stays due."""
        with suppress(*UNWRITTEN):
            self._driver.run_due()

    def close(self, *, patience_s: float | None = None) -> None:
        """Let go of every file and connection, once whoever drives is done, or after so many seconds."""
        self._driver.close(patience_s)
        self._outbound.close()
        self.store.close()


def _called(app: object) -> tuple[Post, Callable[[], object]]:
    """An application, and what shuts it down; an ASGI one is started."""
    if app is None:
        return post_to_nobody, lambda: None
    if not is_asgi(app):
        return partial(post_to_wsgi, cast("WSGIApplication", app)), lambda: None
    from workbench.sandbox.asgi import Asgi, ASGIApplication  # asyncio takes a while to load

    started = Asgi(cast("ASGIApplication", app))
    return started.post, started.close


class InProcess(httpx.BaseTransport):
    """Calls the application here, then runs what the call made due: webhooks arrive before the next line.

    When that is done `watchers` are notified. Neither happens for a call that only looks: a GET that asks to leave no
    trace, or one of a watcher.
    """

    def __init__(self, engine: Engine, watchers: Watchers) -> None:
        self._engine = engine
        self._watchers = watchers

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Answer a request, with what it made due done."""
        headers = headers_in(request.headers.raw)
        answer = self._engine.app.respond(Arrived(request.method, request.url.raw_path, headers, request.read()))
        only_looks = request.method in ("GET", "HEAD") and (_UNSEEN in headers or self._watchers.is_watching())
        if not only_looks:
            self._engine.run_due()
            self._watchers.notify()
        return httpx.Response(answer.status, headers=answer.headers, stream=httpx.ByteStream(answer.body))


_Rest = Callable[[], Response]
"""The rest of a request that waits, outside of a transaction, for as long as it takes."""


class Application:
    """The service, which answers by the names of `hosts` alone."""

    def __init__(self, responder: Responder, driver: Driver, hosts: Hosts, origins: Origins, paths: "_Paths") -> None:
        self._responder = responder
        self._driver = driver
        self._hosts = hosts
        self._origins = origins
        self._paths = paths
        self.door: Door | None = None
        self._making = threading.Lock()

    def respond(self, arrived: Arrived) -> Answer:
        """The response, however long it takes."""
        begun = self.begin(arrived)
        return begun if isinstance(begun, Answer) else begun()

    def begin(self, arrived: Arrived) -> Answer | Callable[[], Answer]:
        """The response, or, for a request that waits, a function that waits and returns it."""
        begun = self._response(arrived)
        if isinstance(begun, Response):
            return _answer(arrived, begun)
        return lambda: _answer(arrived, begun())

    def unreadable(self, error: ApiError) -> Answer:
        """The response to bytes that are not an HTTP request."""
        return _answer(None, self._responder.unreadable(error))

    def _response(self, arrived: Arrived) -> Response | _Rest:
        """The response, readable by pages of an allowed origin; also the response to their preflight."""
        request, methods, fault = _request_of(arrived, self._paths)
        asked, origin = methods.get(request.method), arrived.headers.get("origin")
        wanted = methods.get(arrived.headers.get(_PREFLIGHT, "")) if request.method == "OPTIONS" else asked
        if origin is None or not self._origins.lets(wanted, origin):
            return self._checked(request, methods, asked, fault, arrived, origin)
        page = partial(preflight, wanted) if asked is None else asked
        begun = self._checked(request, methods, page, fault, arrived, None)
        return shared_with(origin, begun) if isinstance(begun, Response) else lambda: shared_with(origin, begun())

    def _checked(
        self,
        request: Request,
        methods: "_Methods",
        asked: "_Asked",
        fault: ApiError | None,
        arrived: Arrived,
        origin: str | None,
    ) -> Response | _Rest:
        """Refuses a caller from a host or page that may not call, then an unknown path or method."""
        operation = asked if isinstance(asked, Operation) else None
        try:
            self._hosts.check(arrived.headers.get("host"), origin)
            if fault is not None:
                raise fault
        except ApiError as error:
            # A refusal where there is an operation is one of its responses.
            return self._responder.refuse(request, error, operation, checks_key=False)
        if isinstance(asked, Operation):
            if asked.gone:
                message = (
                    f"The service does not offer this operation, because of {asked.gone[0]} in the register of gaps."
                )
                hint = f"The sandbox's own dashboard has it, below {DASHBOARD}."
                return self._responder.refuse(request, NotFound(message, code="path_not_found", hint=hint), asked)
            return self._run(asked, self.door.let_in(arrived, request, asked) if self.door else request)
        if asked is None:
            return self._responder.refuse(request, _not_offered(request, methods))
        page = partial(self.door.page, arrived) if self.door and asked is entrance else asked
        shown = self._responder.show(page, request)
        return shown if shown.made is None else partial(self._made, shown, shown.made)

    def _made(self, shown: Response, make: Callable[[], bytes]) -> Response:
        """A page with its body. One body is made at a time, and requests that waited get the same one."""
        with self._making:
            return replace(shown, body=make())

    def _run(self, operation: Operation, request: Request) -> Response | _Rest:
        try:
            response = self._responder.respond(request, operation)
        except NotLookedUp as asked:
            return partial(asked.then, partial(self._responder.respond, request, operation))
        if response.is_slow:
            return partial(self._slow, response)
        if operation in (controls.ADVANCE, controls.SIMULATE) and response.status == HTTPStatus.OK:
            return partial(self._drive, operation, request, response)
        return response

    def _slow(self, response: Response) -> Response:
        # From within a delivery that moves the clock, no time can be let go by.
        with suppress(StateConflict):
            self._driver.pass_time(_SLOW_S)
        return response

    def _drive(self, operation: Operation, request: Request, response: Response) -> Response:
        """Advance or simulate, outside of the transaction that read by how much, or what is to be done."""
        try:
            if operation is controls.SIMULATE:
                return self._responder.respond(month.done(self._driver, request), operation)
            self._driver.advance(msgspec.json.decode(response.body, type=int))
        except ApiError as error:
            return self._responder.refuse(request, error, operation)
        return self._responder.respond(request, controls.CLOCK)


def _answer(arrived: Arrived | None, response: Response) -> Answer:
    headers = [("content-type", response.content_type)]
    headers += [(name.lower(), value) for name, value in response.headers.items()]
    headers.append(("content-length", str(len(response.body))))
    return Answer(response.status, headers, b"" if arrived and arrived.method == "HEAD" else response.body)


_Methods = dict[str, Operation | Page]
_Paths = Mapping[tuple[str | None, ...], tuple[str, _Methods]]
_Asked = Operation | Page | None


@cache
def _paths(gaps: Gaps) -> _Paths:
    """Maps the segments of a path, None for its field, to the field's name and the operations or pages by method."""
    table = (*operations.in_force(gaps), *controls.OPERATIONS)
    rows = [(row.path, row.method, row) for row in table] + [(path, "GET", page) for path, page in PAGES.items()]
    paths: dict[tuple[str | None, ...], tuple[str, _Methods]] = {}
    for path, method, asked in rows:
        segments = path[1:].split("/")
        field = next((segment[1:-1] for segment in segments if segment.startswith("{")), "")
        key = tuple(None if segment.startswith("{") else segment for segment in segments)
        _, methods = paths.setdefault(key, (field, {}))
        methods[method] = asked
        if method == "GET":
            methods["HEAD"] = asked
    return paths


def _methods_at(paths: _Paths, path: str) -> tuple[_Methods, dict[str, str]]:
    """The operations and pages of a path by method, empty for an unknown path, and the value of its field."""
    segments = tuple(path.lstrip("/").split("/"))
    if segments in paths:
        return paths[segments][1], {}
    for place, segment in enumerate(segments):
        if there := paths.get((*segments[:place], None, *segments[place + 1 :])):
            return there[1], {there[0]: segment}
    return {}, {}


def _not_offered(request: Request, methods: _Methods) -> ApiError:
    offered = [name for name, there in methods.items() if not (isinstance(there, Operation) and there.gone)]
    if not offered:
        return NotFound("There is no such path; /docs lists the paths.", code="path_not_found")
    allowed = ", ".join(offered)
    return MethodNotAllowed(f"{request.method} is not offered on this path, which takes {allowed}.", allow=allowed)


def _request_of(arrived: Arrived, paths: _Paths) -> tuple[Request, _Methods, ApiError | None]:
    """The request, what there is at its path by method, and why it did not arrive whole."""
    raw, _, asked = arrived.target.partition(b"?")
    path = (unquote_to_bytes(raw) if b"%" in raw else raw).decode("utf-8", "replace") or "/"
    text = asked.decode("latin-1")
    pairs = parse_qsl(text, keep_blank_values=True) if text else []
    query: dict[str, str | list[str]] = {}
    for name, value in pairs:
        query[name] = [*query[name], value] if name in query else value
    methods, path_params = _methods_at(paths, path)
    headers, fault = arrived.headers, arrived.fault
    everywhere = "\n".join([text, *headers.values()])
    length = length_in(headers.get("content-length") or str(MAX_BODY_BYTES + 1))
    if length is None:
        fault = fault or InvalidRequest("The request cannot be read: its Content-Length is not a number.")
    request = Request(
        method=arrived.method,
        path=path,
        query=query,
        target=f"{path}?{'&'.join(map('='.join, pairs))}" if pairs else path,
        headers={name: headers[key] for key, name in _NOTED_HEADERS.items() if key in headers},
        # A body over the limit is refused for its length: one byte more tells it.
        body=arrived.body[: min(length or 0, MAX_BODY_BYTES + 1)],
        path_params=path_params,
        # In whatever header. To look for these letters first takes a twentieth of the time.
        live="k_live" in everywhere and LIVE_KEY.search(everywhere) is not None,
    )
    return request, methods, fault
