"""A running sandbox: its store, the driver of its due jobs, the application that handles requests, and its login.

A browser logs in to the console with the code in the printed link, which works once, and then with a cookie.
"""

import base64
import hmac
import multiprocessing
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
from workbench.domain.ids import Draws
from workbench.domain.webhooks import ENABLED, Endpoint
from workbench.domain.wire.keys_and_events import CreateWebhookEndpoint
from workbench.domain.wire.ledger_and_trace import UNSEEN
from workbench.domain.wire.sandbox_controls import DASHBOARD
from workbench.errors import ApiError, InvalidRequest, MethodNotAllowed, NotFound, StateConflict
from workbench.sandbox import controls, month, operations
from workbench.sandbox.access import Admitted, preflight, shared_with
from workbench.sandbox.driver import Driver
from workbench.sandbox.exchange import Responder
from workbench.sandbox.messages import MAX_BODY_BYTES, UNSEEN_KEY, Answer, Arrived, InForce, Request, Response, Speaker
from workbench.sandbox.openapi import pages
from workbench.sandbox.openapi.pages import PAGES, Page
from workbench.sandbox.operations import Operation
from workbench.sandbox.outbound import Outbound, Post, is_asgi, post_to_nobody, post_to_wsgi
from workbench.sandbox.service import LIVE_KEY, Caller, webhooks
from workbench.sandbox.store import MERCHANT_ID, Settings, Store, Transaction
from workbench.sandbox.store.transaction import UNWRITTEN
from workbench.watching import Watchers

_NOTED_HEADERS = {
    name.lower(): name
    for name in (
        "Host", "Authorization", "Content-Type", "Idempotency-Key", "Api-Version", "Sandbox-Scenario", UNSEEN,
    )
}  # fmt: skip
"""Lower-case name → usual name, for each header that a Request has."""
_PREFLIGHT = "access-control-request-method"
_MOST_DIGITS = 18
"""A Content-Length with more digits is over any limit, and Python refuses to parse very long numbers."""
_SLOW_S = 10
"""Seconds by which the scenario `slow` delays a response."""


class Engine:
    """A sandbox with its store. `speaker` writes a log line for each delivery, and for each request over a port.

    With `raise_bugs`, an unexpected exception is raised to the caller in this process; otherwise it is logged.
    """

    def __init__(self, settings: Settings, *, raise_bugs: bool, speaker: Speaker | None = None) -> None:
        self.store = Store(settings, new_seed=lambda: secrets.token_hex(32))
        self._outbound = Outbound(private=settings.private_receivers)
        self._driver = Driver(self.store, self._outbound, raise_bugs=raise_bugs, speaker=speaker)
        self.speaker = speaker
        self.app = Application(Responder(self.store, raise_bugs=raise_bugs), self._driver, Admitted())

    def app_to_serve(self, admitted: Admitted, door: "Door | None" = None) -> "Application":
        """The application for a network port, which logs an unexpected exception, masked, and responds with a 500.

        `door` logs browsers in to the console; None means that nobody can log in.
        """
        if door is not None:
            door.store, door.speaker = self.store, self.speaker
        return Application(Responder(self.store, raise_bugs=False), self._driver, admitted, door)

    def mount(self, url: str, app: object, *, by_sandbox_clock: bool = False) -> None:
        """Routes the webhooks for a URL's host to an application of this process; if `app` is None, delivery fails.

        `app` is a WSGI or ASGI application. With `by_sandbox_clock`, messages carry the time of the sandbox's clock, as
        the workbench's own application expects; otherwise this machine's. Raises TypeError: `app` is neither. Raises
        ServeRefused: the ASGI application did not start.
        """
        host = urlsplit(url).hostname or ""
        self._outbound.mount(host, *_post_and_end_of(app))
        if by_sandbox_clock:
            self.store.hosts_by_its_clock.add(host)

    def signing_secret(self, url: str) -> str | None:
        """The signing secret of the merchant's enabled endpoint with this URL; None if there is none."""
        with self.store.transaction() as tx:
            endpoint = _endpoint_for(tx, url)
        return endpoint.secret if endpoint else None

    def registered(self, url: str) -> str:
        """The signing secret of the endpoint with this URL; registers the endpoint if there is none.

        Raises InvalidRequest: this URL may not be called. Raises StateConflict: no further endpoint is allowed.
        """
        # In one command: of two processes that start at once, the second finds the endpoint of the first.
        with self.store.transaction() as tx:
            known = _endpoint_for(tx, url)
            endpoint = known or webhooks.create_endpoint(tx, Caller("secret", MERCHANT_ID), CreateWebhookEndpoint(url))
        return str(endpoint.secret)

    def run_due(self) -> None:
        """Runs the jobs that are due now; a job that cannot be written stays due."""
        with suppress(*UNWRITTEN):
            self._driver.run_due()

    def close(self, *, patience_s: float | None = None) -> None:
        """Closes every file and connection, once the driver has finished.

        Waits for the driver up to `patience_s` seconds (None: without limit).
        """
        self._driver.close(patience_s)
        self._outbound.close()
        self.store.close()


def _endpoint_for(tx: Transaction, url: str) -> Endpoint | None:
    return tx.endpoints.first(order="seq", url=url, status=ENABLED, account=MERCHANT_ID)


def _post_and_end_of(app: object) -> tuple[Post, Callable[[], object]]:
    """Two functions, to post to an application and to shut it down. Starts the application if it is ASGI."""
    if app is None:
        return post_to_nobody, lambda: None
    if not is_asgi(app):
        return partial(post_to_wsgi, cast("WSGIApplication", app)), lambda: None
    from workbench.sandbox.asgi import Asgi, ASGIApplication  # asyncio takes a while to load

    started = Asgi(cast("ASGIApplication", app))
    return started.post, started.close


class InProcess(httpx.BaseTransport):
    """Calls the application in this process, then runs due jobs: webhooks arrive before the script's next line.

    Then it notifies `watchers`. A GET or HEAD that asks not to be traced, or that comes from a watcher, neither runs
    jobs nor notifies anybody.
    """

    def __init__(self, engine: Engine, watchers: Watchers) -> None:
        self._engine = engine
        self._watchers = watchers

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Returns the response to a request, after running the jobs that the request made due."""
        headers = headers_in(request.headers.raw)
        answer = self._engine.app.respond(Arrived(request.method, request.url.raw_path, headers, request.read()))
        only_looks = request.method in ("GET", "HEAD") and (UNSEEN_KEY in headers or self._watchers.is_watching())
        if not only_looks:
            self._engine.run_due()
            self._watchers.notify()
        return httpx.Response(answer.status, headers=answer.headers, stream=httpx.ByteStream(answer.body))


class Door:
    """The console login of a server, shared by all its workers: codes and cookie are derived from one secret."""

    store: Store
    speaker: Speaker | None

    def __init__(self, base_url: str, port: int) -> None:
        self._draws, self._base_url = Draws(secrets.token_hex(32)), base_url
        self._used = multiprocessing.get_context("spawn").Value("L")
        # A browser sends the cookie to all ports of this machine.
        self._cookie = f"workbench_{port}={self._draws.token('cookie')}"

    @property
    def link(self) -> str:
        """The next address that logs a browser in, once; its code has 24 letters and digits, about 142 bits."""
        return f"{self._base_url}/?code={self._draws.token('code', self._used.value)}"

    def page(self, arrived: Arrived, request: Request, choices: InForce) -> Response:
        """GET /: the console, for a request with the cookie, or with a code, which is exchanged for the cookie.

        Any other request gets a page with a field for a code.
        """
        code = request.query.get("code") if arrived.method == "GET" else None
        was_let_in, headers = self._was_let_in(arrived.headers), {"Location": "/", **pages.ONCE}
        if code is None:
            return pages.of_console(request, choices) if was_let_in else pages.entrance(request, choices, 200)
        if not was_let_in:
            with self._used.get_lock():
                if not hmac.compare_digest(str(code).encode(), self.link.partition("=")[2].encode()):
                    return pages.entrance(request, choices, 403)
                self._used.value += 1
            headers["Set-Cookie"] = f"{self._cookie}; Path=/; HttpOnly; SameSite=Strict"
            if self.speaker:
                self.speaker.write(f"The console's next link: {self.link}")
        return Response(303, "text/plain", b"", headers)

    def let_in(self, arrived: Arrived, request: Request, operation: Operation) -> Request:
        """The request; with the secret key added, if the console's page sent it with the cookie and without a key.

        Other pages on this machine send the cookie too, so the page's origin is checked: in `Origin`, or for a GET or
        HEAD in `Sec-Fetch-Site`.
        """
        headers, origin = arrived.headers, arrived.headers.get("origin", "")
        is_own = origin.lower().removeprefix("https").removeprefix("http") == f"://{headers.get('host', '').lower()}"
        if not origin and arrived.method in {"GET", "HEAD"}:
            is_own = headers.get("sec-fetch-site") == "same-origin"
        if "authorization" in headers or not (operation.schemes and is_own and self._was_let_in(headers)):
            return request
        scheme, value = operation.schemes[0], self.store.key("secret")
        value = base64.b64encode(f"{value}:".encode()).decode() if scheme == "Basic" else value
        return replace(request, headers={**request.headers, "Authorization": f"{scheme} {value}"})

    def _was_let_in(self, headers: Mapping[str, str]) -> bool:
        sent = headers.get("cookie", "").split(";")
        return any(hmac.compare_digest(cookie.strip().encode(), self._cookie.encode()) for cookie in sent)


_Finish = Callable[[], Response]
"""A function that finishes a waiting request outside of a transaction, and returns the response."""


class Application:
    """The HTTP service of a sandbox.

    `admitted` has the host names to accept, and the pages that may call publishable-key operations. `door` logs
    browsers in to the console.
    """

    def __init__(self, responder: Responder, driver: Driver, admitted: Admitted, door: Door | None = None) -> None:
        self._responder = responder
        self._driver = driver
        self._admitted = admitted
        self._door = door
        self._gaps = responder.store.gaps
        self._paths = _paths(self._gaps)
        self._making = threading.Lock()

    def respond(self, arrived: Arrived) -> Answer:
        """Returns the response to a request, however long it takes."""
        begun = self.begin(arrived)
        return begun if isinstance(begun, Answer) else begun()

    def begin(self, arrived: Arrived) -> Answer | Callable[[], Answer]:
        """Returns the response or, for a request that has to wait, a function that waits and returns the response.

        Pages of an allowed origin get the CORS headers, and a response to their preflight.
        """
        request, methods, fault = _request_of(arrived, self._paths)
        handler, origin = methods.get(request.method), arrived.headers.get("origin")
        reads: str | None = None
        # If a publishable key may do nothing, no page may do anything.
        if origin and self._gaps.publishable_key != "nothing":
            wanted = methods.get(arrived.headers.get(_PREFLIGHT, "")) if request.method == "OPTIONS" else handler
            if self._admitted.lets(wanted, origin):
                reads, origin = origin, None
                handler = partial(preflight, wanted) if handler is None else handler
        try:
            self._admitted.check(arrived.headers.get("host"), origin)
            if fault is not None:
                raise fault
        except ApiError as error:
            # If the path has the operation, the refusal is one of its responses.
            operation = handler if isinstance(handler, Operation) else None
            begun: Response | _Finish = self._responder.refuse(request, error, operation, checks_key=False)
        else:
            begun = self._begun(arrived, request, methods, handler)
        if isinstance(begun, Response):
            return _answer(arrived, begun, reads)
        return lambda: _answer(arrived, begun(), reads)

    def unreadable(self, error: ApiError) -> Answer:
        """The response to bytes that are not an HTTP request, or to a request that the server does not handle."""
        return _answer(Arrived("", b"", {}), self._responder.unreadable(error))

    def _begun(
        self, arrived: Arrived, request: Request, methods: "_Methods", handler: "Operation | Page | None"
    ) -> Response | _Finish:
        """Runs the operation or makes the page `handler`; for None, returns the error for an unknown path or method.

        A _Finish is returned if the caller has to wait: it ends the request outside of a transaction.
        `methods` are the path's methods, which the refusal lists.
        """
        if isinstance(handler, Operation):
            if handler.gone:
                message = (
                    f"The service does not offer this operation, because of {handler.gone[0]} in the register of gaps."
                )
                hint = f"The sandbox's own dashboard has it, below {DASHBOARD}."
                return self._responder.refuse(request, NotFound(message, code="path_not_found", hint=hint), handler)
            return self._run(handler, self._door.let_in(arrived, request, handler) if self._door else request)
        if handler is None:
            return self._responder.refuse(request, _not_offered(request, methods))
        page = partial(self._door.page, arrived) if self._door and handler is pages.entrance else handler
        shown = self._responder.show(page, request)
        return shown if shown.make_body is None else partial(self._page_with_body, shown, shown.make_body)

    def _page_with_body(self, shown: Response, make: Callable[[], bytes]) -> Response:
        """The page `shown`, with the body that `make` returns.

        Only one body is made at a time, so requests that waited find it cached.
        """
        with self._making:
            return replace(shown, body=make())

    def _run(self, operation: Operation, request: Request) -> Response | _Finish:
        for prepare in self._responder.store.before_reset if operation is controls.RESET else ():
            prepare()
        response = self._responder.respond(request, operation)
        if response.is_slow:
            return partial(self._slow, response)
        if operation in (controls.ADVANCE, controls.SIMULATE) and response.status == HTTPStatus.OK:
            return partial(self._drive, operation, request, response)
        return response

    def _slow(self, response: Response) -> Response:
        # Time cannot go by in a call from within a delivery that moves the clock, nor while nothing can be written.
        with suppress(StateConflict, *UNWRITTEN):
            self._driver.pass_time(_SLOW_S)
        return response

    def _drive(self, operation: Operation, request: Request, response: Response) -> Response:
        """Advances the clock or runs a simulation's commands, outside of a transaction; returns the response to send.

        `response` is the operation's own; that of an advance holds the milliseconds to advance by.
        """
        try:
            if operation is controls.SIMULATE:
                return self._responder.respond(month.run_commands(self._driver, request), operation)
            self._driver.advance(msgspec.json.decode(response.body, type=int))
        except ApiError as error:
            return self._responder.refuse(request, error, operation)
        return self._responder.respond(request, controls.CLOCK)


def _answer(arrived: Arrived, response: Response, reads: str | None = None) -> Answer:
    """The response in the form to send. If `reads` is an origin, its pages may read the response (CORS)."""
    headers = [("content-type", response.content_type)]
    headers += [(name.lower(), value) for name, value in response.headers.items()]
    headers += shared_with(reads) if reads else ()
    headers.append(("content-length", str(len(response.body))))
    return Answer(response.status, headers, b"" if arrived.method == "HEAD" else response.body)


_Methods = dict[str, Operation | Page]
_Paths = Mapping[tuple[str | None, ...], tuple[str, _Methods]]


@cache
def _paths(gaps: Gaps) -> _Paths:
    """The routes with this register: a path's segments → (name of its parameter, method → operation or page).

    None stands for the segment of the parameter; the name is empty if the path has none.
    """
    table = (*operations.in_force(gaps), *controls.OPERATIONS)
    rows = [(row.path, row.method, row) for row in table] + [(path, "GET", page) for path, page in PAGES.items()]
    paths: dict[tuple[str | None, ...], tuple[str, _Methods]] = {}
    for path, method, handler in rows:
        segments = path[1:].split("/")
        field = next((segment[1:-1] for segment in segments if segment.startswith("{")), "")
        key = tuple(None if segment.startswith("{") else segment for segment in segments)
        _, methods = paths.setdefault(key, (field, {}))
        methods[method] = handler
        if method == "GET":
            methods["HEAD"] = handler
    return paths


def _methods_at(paths: _Paths, path: str) -> tuple[_Methods, dict[str, str]]:
    """Method → operation or page at a path, and the path's parameter (name → value); both empty for an unknown path."""
    segments = tuple(path.lstrip("/").split("/"))
    if segments in paths:
        return paths[segments][1], {}
    for place, segment in enumerate(segments):
        if route := paths.get((*segments[:place], None, *segments[place + 1 :])):
            return route[1], {route[0]: segment}
    return {}, {}


def _not_offered(request: Request, methods: _Methods) -> ApiError:
    offered = [name for name, handler in methods.items() if not (isinstance(handler, Operation) and handler.gone)]
    if not offered:
        return NotFound("There is no such path; /docs lists the paths.", code="path_not_found")
    allowed = ", ".join(offered)
    return MethodNotAllowed(f"{request.method} is not offered on this path, which takes {allowed}.", allow=allowed)


@lru_cache
def _lower(name: bytes) -> str:
    """A header's name in lower case; cached, since the same few names occur in every request."""
    return name.decode("latin-1").lower()


def headers_in(raw: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    """Headers by their names in lower case; the values of a repeated header are joined by commas."""
    headers: dict[str, str] = {}
    for name, value in raw:
        key, text = _lower(name), value.decode("latin-1").strip()
        headers[key] = f"{headers[key]},{text}" if key in headers else text
    return headers


def _request_of(arrived: Arrived, paths: _Paths) -> tuple[Request, _Methods, ApiError | None]:
    """The request, the path's operations and pages by method, and an error if it did not arrive completely."""
    raw_path, _, raw_query = arrived.target.partition(b"?")
    path = (unquote_to_bytes(raw_path) if b"%" in raw_path else raw_path).decode("utf-8", "replace") or "/"
    text = raw_query.decode("latin-1")
    pairs = parse_qsl(text, keep_blank_values=True) if text else []
    query: dict[str, str | list[str]] = {}
    for name, value in pairs:
        query[name] = [*query[name], value] if name in query else value
    methods, path_params = _methods_at(paths, path)
    headers, fault = arrived.headers, arrived.fault
    everywhere = "\n".join([text, *headers.values()])
    # One byte over the limit is enough to refuse the body for its length.
    length, limit = headers.get("content-length") or "", MAX_BODY_BYTES + 1
    if length and not (length.isascii() and length.isdigit()):
        fault, limit = fault or InvalidRequest("The request cannot be read: its Content-Length is not a number."), 0
    elif length and len(length) <= _MOST_DIGITS:
        limit = min(limit, int(length))
    request = Request(
        method=arrived.method,
        path=path,
        query=query,
        target=f"{path}?{'&'.join(map('='.join, pairs))}" if pairs else path,
        headers={name: headers[key] for key, name in _NOTED_HEADERS.items() if key in headers},
        body=arrived.body[:limit],
        path_params=path_params,
        # A live key in any header. To look for these letters first takes a twentieth of the time.
        live="k_live" in everywhere and LIVE_KEY.search(everywhere) is not None,
    )
    return request, methods, fault
