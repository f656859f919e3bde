"""The running parts of one sandbox: the store, what is due, and the service as a WSGI application."""

import io
import secrets
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, suppress
from functools import cache, partial
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qsl, unquote_to_bytes, urlsplit
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

import httpx
import msgspec

from workbench.domain import wire
from workbench.domain.gaps import Gaps
from workbench.errors import ApiError, InvalidRequest, MethodNotAllowed, NotFound, StateConflict
from workbench.sandbox import control, month, operations, threaded
from workbench.sandbox.access import Hosts, Origins, preflight, shared_with
from workbench.sandbox.delivery import Outbound
from workbench.sandbox.driver import Driver
from workbench.sandbox.exchange import Exchanges
from workbench.sandbox.messages import (
    JSON,
    MAX_BODY_BYTES,
    NOT_WHOLE,
    Request,
    Response,
    add_headers,
    environ_key,
    length_in,
    log_fault,
)
from workbench.sandbox.mounted import Mounted, Nobody, Wsgi, is_asgi
from workbench.sandbox.openapi.pages import PAGES, Page
from workbench.sandbox.operations import Operation
from workbench.sandbox.service.checks import holds_live_key
from workbench.sandbox.speaking import Speaker
from workbench.sandbox.store import Settings, Store
from workbench.sandbox.store.files import MERCHANT_ID
from workbench.sandbox.store.transaction import UNWRITTEN
from workbench.watching import Watchers

Apps = Mapping[str, WSGIApplication]
_NOTED_HEADERS = {
    environ_key(name): name
    for name in (
        "Host", "Authorization", "Content-Type", "Idempotency-Key", "Api-Version", "Sandbox-Scenario", wire.UNSEEN,
    )
}  # fmt: skip
"""Where they stand in an environment of WSGI → the headers that matter."""
_UNSEEN = environ_key(wire.UNSEEN)
_HEADERS = ("HTTP_", "CONTENT_")
"""What headers begin with in an environment."""
_PREFLIGHT = "HTTP_ACCESS_CONTROL_REQUEST_METHOD"
_SLOW_S = 10
"""How long the scenario `slow` keeps an answer back."""


class Engine:
    """A sandbox over one store. `mounted` are applications of this process by host, which go by its clock.

    `speaker` writes a line for each request to `app_to_serve` and each delivery.
    """

    def __init__(
        self, settings: Settings, *, mounted: Apps | None = None, raise_bugs: bool, speaker: Speaker | None = None
    ) -> None:
        self.store = Store(settings, new_seed=lambda: secrets.token_hex(32))
        self._outbound = Outbound(
            {host: Wsgi(app) for host, app in (mounted or {}).items()}, private=settings.private_receivers
        )
        self._driver = Driver(self.store, self._outbound, raise_bugs=raise_bugs, speaker=speaker)
        self._speaker = speaker
        self._exchanges = Exchanges(self.store, raise_bugs=raise_bugs)
        self._paths = _paths(settings.gaps)
        self.app = _Application(self._exchanges, self._driver, Hosts(), Origins(), self._paths)

    def app_to_serve(self, hosts: Hosts, origins: Origins) -> WSGIApplication:
        """The application for a real port: a bug is logged, masked, and answered as a 500."""
        # Where a publishable key may do nothing, no page may.
        pages = Origins() if self.store.gaps.publishable_key == "nothing" else origins
        app = _Application(Exchanges(self.store, raise_bugs=False), self._driver, hosts, pages, self._paths)
        if self._speaker:
            app.response_to = self._speaker.spoken(app.response_to)  # type: ignore[method-assign]  # of this one

        def guarded(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
            try:
                return app(environ, start_response)
            except Exception as error:  # noqa: BLE001  what not even a failure's answer survives, a server would write out
                log_fault("a request failed", error)
                start_response("500 Internal Server Error", [("Content-Type", "text/plain"), ("Content-Length", "0")])
                return [b""]

        return guarded

    def listening(
        self, port: int, *, allow_hosts: Iterable[str], allow_origins: Iterable[str], after_each: Callable[[], object]
    ) -> AbstractContextManager[str]:
        """Answer on a port of this machine's loopback too while the block runs; its base URL.

        `allow_hosts` are names to answer by beside the loopback's own, `allow_origins` those of pages that may call
        what a publishable key may. `after_each` is called after each answer, when what the call made due has been done.
        Raises ServeRefused: what is allowed is no name of a host, or no origin. Raises PortTaken: something listens
        there.
        """
        app = self.app_to_serve(Hosts(allow_hosts), Origins(allow_origins))

        def done() -> None:
            self.run_due()
            after_each()

        return threaded.listening(app, port=port, after_each=done, new_request_id=self._exchanges.new_request_id)

    def mount(self, url: str, app: object) -> None:
        """Let a merchant's WSGI or ASGI application answer for the host of a URL; None for one that is to come.

        Raises TypeError: neither. Raises ServeRefused: it did not start.
        """
        host = urlsplit(url).hostname or ""
        self._outbound.mount(host, Nobody() if app is None else _called(app))
        self.store.mounted_hosts.add(host)

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
        headers = {"Authorization": f"Bearer {self.store.key('secret')}", "Content-Type": JSON}
        # None of the calls that the merchant may make.
        headers |= {wire.UNSEEN: "true"} if self.store.gaps.rate_limit != "none" else {}
        body = wire.to_json({"url": url})
        offered = [each for each in operations.in_force(self.store.gaps) if not each.gone]
        register = next(each for each in offered if each.id == "createWebhookEndpoint")
        request = Request(register.method, register.path, register.path, headers=headers, body=body)
        made = msgspec.json.decode(self._exchanges.respond(request, register).body)
        if "secret" not in made:
            raise InvalidRequest(made.get("detail") or made["message"], code=made.get("code", ""), param="url")
        return str(made["secret"])

    def run_due(self) -> None:
        """Run what is due now; what cannot be written stays due."""
        with suppress(*UNWRITTEN):
            self._driver.run_due()

    def close(self) -> None:
        """Let go of every file and connection."""
        self._driver.close()
        self._outbound.close()
        self.store.close()


def _called(app: Any) -> Mounted:  # noqa: ANN401  whatever a merchant hands over
    """A merchant's application; an ASGI one is started."""
    if not is_asgi(app):
        return Wsgi(app)
    from workbench.sandbox.asgi import Asgi  # asyncio takes a while to load

    return Asgi(app)


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
        environ = _environ_of(request)
        status, headers, body = self._engine.app.respond(environ)
        is_unseen = _UNSEEN in environ or self._watchers.is_watching()
        if not (is_unseen and request.method in ("GET", "HEAD")):
            self._engine.run_due()
            self._watchers.notify()
        return httpx.Response(status, headers=headers, content=body)


def _environ_of(request: httpx.Request) -> WSGIEnvironment:
    """What the application reads of a request that came over no socket."""
    path, _, query = request.url.raw_path.partition(b"?")
    environ: WSGIEnvironment = {
        "REQUEST_METHOD": request.method,
        "PATH_INFO": unquote_to_bytes(path).decode("latin-1"),
        "QUERY_STRING": query.decode("latin-1"),
        "wsgi.input": io.BytesIO(request.read()),
    }
    add_headers(environ, request.headers.raw)
    return environ


class _Application:
    """The service over WSGI, which answers by the names of `hosts` alone. `wsgi.input` holds the whole body."""

    def __init__(self, exchanges: Exchanges, driver: Driver, hosts: Hosts, origins: Origins, paths: "_Paths") -> None:
        self._exchanges = exchanges
        self._driver = driver
        self._hosts = hosts
        self._origins = origins
        self._paths = paths

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> list[bytes]:
        status, headers, body = self.respond(environ)
        start_response(f"{status} {HTTPStatus(status).phrase}", headers)
        return [body]

    def respond(self, environ: WSGIEnvironment) -> tuple[int, list[tuple[str, str]], bytes]:
        """Status, headers and body of the response."""
        response = self.response_to(environ, *_request_of(environ, self._paths))
        headers = [("content-type", response.content_type)]
        headers += [(name.lower(), value) for name, value in response.headers.items()]
        headers.append(("content-length", str(len(response.body))))
        return response.status, headers, b"" if environ["REQUEST_METHOD"] == "HEAD" else response.body

    def response_to(self, environ: WSGIEnvironment, request: Request, methods: "_Methods") -> Response:
        """What is answered; a page of an origin that is let in may read it, also before it asks (a preflight)."""
        asked, origin = methods.get(request.method), environ.get("HTTP_ORIGIN")
        wanted = methods.get(environ.get(_PREFLIGHT, "")) if request.method == "OPTIONS" else asked
        if origin is None or not self._origins.lets(wanted, origin):
            return self._checked(environ, request, methods, asked, origin)
        page = partial(preflight, wanted) if asked is None else asked
        return shared_with(origin, self._checked(environ, request, methods, page, None))

    def _checked(
        self, environ: WSGIEnvironment, request: Request, methods: "_Methods", asked: "_Asked", origin: str | None
    ) -> Response:
        """Who may not come in is turned away first; a path or a method that there is not, after that."""
        operation = asked if isinstance(asked, Operation) else None
        try:
            self._hosts.check(environ.get("HTTP_HOST"), origin)
            if NOT_WHOLE in environ:
                raise environ[NOT_WHOLE]
        except ApiError as error:
            # A refusal where there is an operation is one of its responses.
            return self._exchanges.refuse(request, error, operation, whoever=True)
        if isinstance(asked, Operation):
            if asked.gone:
                return self._exchanges.refuse(request, _gone(asked), asked)
            return self._run(asked, request)
        if asked is None:
            return self._exchanges.refuse(request, _none(request, methods))
        return self._exchanges.show(asked, request)

    def _run(self, operation: Operation, request: Request) -> Response:
        response = self._exchanges.respond(request, operation)
        if response.is_slow:
            # From within a delivery that moves the clock, no time can be let go by.
            with suppress(StateConflict):
                self._driver.pass_time(_SLOW_S)
        if operation not in (control.ADVANCE, control.SIMULATE) or response.status != HTTPStatus.OK:
            return response
        # What is due is run outside of the transaction that read by how much to move, or what is to be done.
        try:
            if operation is control.SIMULATE:
                return self._exchanges.respond(month.done(self._driver, request), operation)
            self._driver.advance(msgspec.json.decode(response.body, type=int))
        except ApiError as error:
            return self._exchanges.refuse(request, error, operation)
        return self._exchanges.respond(request, control.CLOCK)


_Methods = dict[str, Operation | Page]
_Paths = Mapping[tuple[str | None, ...], tuple[str, _Methods]]
_Asked = Operation | Page | None


@cache
def _paths(gaps: Gaps) -> _Paths:
    """Each path by its segments, None in the place of its field: the field's name, and what there is by method."""
    table = (*operations.in_force(gaps), *control.OPERATIONS)
    rows = [(each.path, each.method, each) for each in table] + [(path, "GET", page) for path, page in PAGES.items()]
    paths: dict[tuple[str | None, ...], tuple[str, _Methods]] = {}
    for path, method, asked in rows:
        segments = path[1:].split("/")
        field = next((each[1:-1] for each in segments if each.startswith("{")), "")
        key = tuple(None if each.startswith("{") else each for each in segments)
        _, methods = paths.setdefault(key, (field, {}))
        methods[method] = asked
        if method == "GET":
            methods["HEAD"] = asked
    return paths


def _found(paths: _Paths, path: str) -> tuple[_Methods, dict[str, str]]:
    """What there is at a path by method, nothing if there is no such path, and what stands in its field."""
    segments = tuple(path.lstrip("/").split("/"))
    if segments in paths:
        return paths[segments][1], {}
    for place, segment in enumerate(segments):
        if there := paths.get((*segments[:place], None, *segments[place + 1 :])):
            return there[1], {there[0]: segment}
    return {}, {}


def _gone(operation: Operation) -> ApiError:
    """Why an assumed operation is not there."""
    message = f"The service does not offer this operation, because of {operation.gone[0]} in the register of gaps."
    return NotFound(message, code="path_not_found", hint=f"The sandbox's own dashboard has it, below {wire.DASHBOARD}.")


def _none(request: Request, methods: _Methods) -> ApiError:
    """Why there is nothing: no such path, or none for this method."""
    offered = [name for name, each in methods.items() if not (isinstance(each, Operation) and each.gone)]
    if not offered:
        return NotFound("There is no such path; /docs lists the paths.", code="path_not_found")
    allowed = ", ".join(offered)
    return MethodNotAllowed(f"{request.method} is not offered on this path, which takes {allowed}.", allow=allowed)


def _request_of(environ: WSGIEnvironment, paths: _Paths) -> tuple[Request, _Methods]:
    """The request, and what there is at its path by method."""
    path = environ["PATH_INFO"] or "/"
    if not path.isascii():
        path = path.encode("latin-1").decode("utf-8", "replace")
    text = environ.get("QUERY_STRING", "")
    pairs = parse_qsl(text, keep_blank_values=True) if text else []
    query: dict[str, str | list[str]] = {}
    for name, value in pairs:
        query[name] = [*query[name], value] if name in query else value
    methods, path_params = _found(paths, path)
    length = _length_of(environ)
    if length is None:
        message = "The request cannot be read: its Content-Length is not a number."
        environ.setdefault(NOT_WHOLE, InvalidRequest(message))
    request = Request(
        method=environ["REQUEST_METHOD"],
        path=path,
        query=query,
        target=f"{path}?{'&'.join(map('='.join, pairs))}" if pairs else path,
        headers={name: environ[key] for key, name in _NOTED_HEADERS.items() if key in environ},
        body=environ["wsgi.input"].read(length or 0),
        path_params=path_params,
        # In whatever header.
        live=holds_live_key("\n".join([text, *[environ[each] for each in environ if each.startswith(_HEADERS)]])),
    )
    return request, methods


def _length_of(environ: WSGIEnvironment) -> int | None:
    """How many bytes there are to read, at most one over the limit; None where its length is no number."""
    most = MAX_BODY_BYTES + 1
    # One in chunks tells no length.
    length = length_in(environ.get("CONTENT_LENGTH") or str(most))
    return None if length is None else min(length, most)
