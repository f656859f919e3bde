"""The service over HTTP: a WSGI application in Falcon, routed by the tables of operations."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any
from wsgiref.types import WSGIApplication

import falcon
import msgspec

from workbench.domain import wire
from workbench.errors import ApiError, InvalidRequest, MethodNotAllowed, NotFound, StateConflict
from workbench.sandbox import control, operations
from workbench.sandbox.driver import Driver
from workbench.sandbox.exchange import Exchanges
from workbench.sandbox.hosts import Hosts
from workbench.sandbox.messages import MAX_BODY_BYTES, NOT_WHOLE, Request, Response
from workbench.sandbox.openapi.pages import PAGES, Page
from workbench.sandbox.operations import Operation
from workbench.sandbox.service.checks import holds_live_key

_TABLE = (*operations.OPERATIONS, *control.OPERATIONS)
_NOTED_HEADERS = (
    "Host", "Authorization", "Content-Type", "Idempotency-Key", "Api-Version", "Sandbox-Scenario", wire.UNSEEN,
)  # fmt: skip
_SLOW_S = 10
"""How long the scenario `slow` keeps an answer back."""


def build(exchanges: Exchanges, driver: Driver, hosts: Hosts) -> WSGIApplication:
    """The application, which answers by the names of `hosts` alone. `wsgi.input` holds the whole body."""
    app = falcon.App(middleware=_Door(exchanges, hosts))
    app.req_options.strip_url_path_trailing_slash = False
    paths = {operation.path: _Resource(exchanges, driver) for operation in _TABLE}
    for operation in _TABLE:
        paths[operation.path].add(operation)
    for path, resource in paths.items():
        app.add_route(path, resource)
    for path, page in PAGES.items():
        app.add_route(path, _Page(exchanges, page))
    app.add_error_handler(falcon.HTTPError, _router_handler(exchanges))
    app.add_error_handler(Exception, _raise)
    return app


class _Door:
    """Who may not come in is turned away before a path is looked for; a method that it does not offer, after that."""

    def __init__(self, exchanges: Exchanges, hosts: Hosts) -> None:
        self._exchanges = exchanges
        self._hosts = hosts

    def process_request(self, req: falcon.Request, resp: falcon.Response) -> None:
        try:
            self._hosts.check(req.get_header("Host"), req.get_header("Origin"))
            if not_whole := req.env.get(NOT_WHOLE):
                raise not_whole
        except ApiError as error:
            _write(resp, self._exchanges.turn_away(_request_of(req, {}), error))
            resp.complete = True

    def process_resource(
        self,
        req: falcon.Request,
        resp: falcon.Response,  # noqa: ARG002  Falcon's signature
        resource: Any,  # noqa: ANN401  Falcon's signature
        params: dict[str, str],  # noqa: ARG002  Falcon's signature
    ) -> None:
        if req.method not in resource.methods:
            raise falcon.HTTPMethodNotAllowed(resource.methods)


class _Resource:
    """One path; Falcon finds the responders of its methods by name. HEAD is GET, whose body Falcon leaves out."""

    def __init__(self, exchanges: Exchanges, driver: Driver) -> None:
        self._exchanges = exchanges
        self._driver = driver
        self.methods: list[str] = []

    def add(self, operation: Operation) -> None:
        for method in (operation.method, "HEAD") if operation.method == "GET" else (operation.method,):
            self.methods.append(method)
            setattr(self, f"on_{method.lower()}", self._responder(operation))

    def _responder(self, operation: Operation) -> Callable[..., None]:
        def respond(req: falcon.Request, resp: falcon.Response, **path_params: str) -> None:
            request = _request_of(req, path_params)
            _write(resp, self._response(request, operation))

        return respond

    def _response(self, request: Request, operation: Operation) -> Response:
        response = self._exchanges.respond(request, operation)
        if response.is_slow:
            # From within a delivery that moves the clock, no time can be let go by.
            with suppress(StateConflict):
                self._driver.pass_time(_SLOW_S)
        if operation is not control.ADVANCE or response.status != 200:  # noqa: PLR2004  OK
            return response
        # What is due is run outside of the transaction that read by how much to move.
        try:
            self._driver.advance(msgspec.json.decode(response.body, type=int))
        except StateConflict as error:
            return self._exchanges.refuse(request, error, operation)
        return self._exchanges.respond(request, control.CLOCK)


class _Page:
    """A page or document for everybody."""

    methods = ("GET", "HEAD")

    def __init__(self, exchanges: Exchanges, page: Page) -> None:
        self._exchanges = exchanges
        self._page = page

    def on_get(self, req: falcon.Request, resp: falcon.Response, **path_params: str) -> None:
        _write(resp, self._exchanges.show(_request_of(req, path_params), self._page))

    on_head = on_get


def _request_of(req: falcon.Request, path_params: dict[str, str]) -> Request:
    headers = {name: value for name in _NOTED_HEADERS if (value := req.get_header(name)) is not None}
    return Request(
        method=req.method,
        path=req.path,
        query=req.params,
        headers=headers,
        body=_body_of(req),
        path_params=path_params,
        live=any(map(holds_live_key, (*req.headers.values(), req.query_string))),
    )


def _body_of(req: falcon.Request) -> bytes:
    """The body, up to one byte over the limit; one in chunks tells no length."""
    length = MAX_BODY_BYTES + 1 if req.content_length is None else req.content_length
    body: bytes = req.env["wsgi.input"].read(min(length, MAX_BODY_BYTES + 1))
    return body


def _write(resp: falcon.Response, response: Response) -> None:
    resp.status = response.status
    resp.content_type = response.content_type
    resp.data = response.body
    for name, value in response.headers.items():
        resp.set_header(name, value)


_Handler = Callable[[falcon.Request, falcon.Response, Exception, dict[str, str]], None]


def _router_handler(exchanges: Exchanges) -> _Handler:
    """What Falcon refuses before an operation is found: unknown paths, other methods, unreadable requests."""

    def handle(req: falcon.Request, resp: falcon.Response, error: Exception, params: dict[str, str]) -> None:
        _write(resp, exchanges.refuse(_request_of(req, params), _as_ours(req, error)))

    return handle


def _as_ours(req: falcon.Request, error: Exception) -> ApiError:
    if isinstance(error, falcon.HTTPMethodNotAllowed):
        allowed = dict(error.headers or {})["Allow"]
        return MethodNotAllowed(f"{req.method} is not offered on this path, which takes {allowed}.", allow=allowed)
    if isinstance(error, falcon.HTTPNotFound):
        return NotFound("There is no such path; /docs shows those that there are.", code="path_not_found")
    return InvalidRequest(f"The request cannot be read: {getattr(error, 'title', error)}.")


def _raise(req: falcon.Request, resp: falcon.Response, error: Exception, params: dict[str, str]) -> None:  # noqa: ARG001  Falcon's signature
    raise error
