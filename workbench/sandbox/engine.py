"""The running parts of one sandbox: the store, what is due, and the service as a WSGI application in Falcon."""

import secrets
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, suppress
from functools import partial
from typing import Any
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

import falcon
import msgspec

from workbench.domain import wire
from workbench.errors import ApiError, InvalidRequest, MethodNotAllowed, NotFound, StateConflict
from workbench.sandbox import control, operations, simulation, threaded
from workbench.sandbox.access import Hosts
from workbench.sandbox.delivery import Outbound
from workbench.sandbox.driver import Driver
from workbench.sandbox.exchange import Exchanges
from workbench.sandbox.messages import JSON, MAX_BODY_BYTES, NOT_WHOLE, Request, Response, log_fault
from workbench.sandbox.openapi.pages import PAGES
from workbench.sandbox.operations import Operation
from workbench.sandbox.service.checks import holds_live_key
from workbench.sandbox.store import Settings, Store
from workbench.sandbox.store.files import MERCHANT_ID

_TABLE = (*operations.OPERATIONS, *control.OPERATIONS)
_REGISTER = next(each for each in _TABLE if (each.method, each.path) == ("POST", "/v1/webhook_endpoints"))
_NOTED_HEADERS = (
    "Host", "Authorization", "Content-Type", "Idempotency-Key", "Api-Version", "Sandbox-Scenario", wire.UNSEEN,
)  # fmt: skip
_SLOW_S = 10
"""How long the scenario `slow` keeps an answer back."""


class Engine:
    """A sandbox over one store. `mounted` are merchants' applications in this process, by host."""

    def __init__(
        self, settings: Settings, *, mounted: Mapping[str, WSGIApplication] | None = None, raise_bugs: bool
    ) -> None:
        self.store = Store(settings, new_seed=lambda: secrets.token_hex(32))
        self._outbound = Outbound(mounted)
        self._driver = Driver(self.store, self._outbound, raise_bugs=raise_bugs)
        self._exchanges = Exchanges(self.store, raise_bugs=raise_bugs)
        self.app = _application(self._exchanges, self._driver, Hosts())

    def app_to_serve(self, hosts: Hosts) -> WSGIApplication:
        """The application for a real port: a bug is logged, masked, and answered as a 500."""
        app = _application(Exchanges(self.store, raise_bugs=False), self._driver, hosts)

        def guarded(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
            try:
                return app(environ, start_response)
            except Exception as error:  # noqa: BLE001  what not even a failure's answer survives, a server would write out
                log_fault("a request failed", error)
                start_response("500 Internal Server Error", [("Content-Type", "text/plain"), ("Content-Length", "0")])
                return [b""]

        return guarded

    def listening(
        self, port: int, *, allow_hosts: Iterable[str], after_each: Callable[[], object]
    ) -> AbstractContextManager[str]:
        """Answer on a port of this machine's loopback too while the block runs; its base URL.

        `allow_hosts` are names to answer by beside the loopback's own. `after_each` is called after each answer,
        when what the call made due has been done.
        Raises ServeRefused: what is allowed is no name of a host. Raises PortTaken: something listens there.
        """
        app = self.app_to_serve(Hosts(allow_hosts))

        def done() -> None:
            self.run_due()
            after_each()

        return threaded.listening(app, port=port, after_each=done, new_request_id=self._exchanges.new_request_id)

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
        body = wire.to_json({"url": url})
        request = Request(method=_REGISTER.method, path=_REGISTER.path, headers=headers, body=body)
        made = msgspec.json.decode(self._exchanges.respond(request, _REGISTER).body)
        if "secret" not in made:
            raise InvalidRequest(made.get("detail") or made["message"], code=made.get("code", ""), param="url")
        return str(made["secret"])

    def run_due(self) -> None:
        """Run what is due now."""
        self._driver.run_due()

    def close(self) -> None:
        """Let go of every file and connection."""
        self._outbound.close()
        self._driver.close()
        self.store.close()


def _application(exchanges: Exchanges, driver: Driver, hosts: Hosts) -> WSGIApplication:
    """What answers by the names of `hosts` alone, routed by the tables. `wsgi.input` holds the whole body."""
    resources: defaultdict[str, _Resource] = defaultdict(_Resource)
    for operation in _TABLE:
        resources[operation.path].add(operation.method, partial(_response, exchanges, driver, operation))
    for path, page in PAGES.items():
        resources[path].add("GET", partial(exchanges.show, page))

    def refuse(req: falcon.Request, resp: falcon.Response, error: Exception, params: dict[str, str]) -> None:
        """What Falcon refuses before an operation is found: unknown paths, other methods, unreadable requests."""
        _write(resp, exchanges.refuse(_request_of(req, params), _as_ours(req, error)))

    app = falcon.App(middleware=_Door(exchanges, hosts))
    app.req_options.strip_url_path_trailing_slash = False
    for path, resource in resources.items():
        app.add_route(path, resource)
    app.add_error_handler(falcon.HTTPError, refuse)
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
            _write(resp, self._exchanges.refuse(_request_of(req, {}), error, whoever=True))
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

    def __init__(self) -> None:
        self.methods: list[str] = []

    def add(self, method: str, response: Callable[[Request], Response]) -> None:
        def respond(req: falcon.Request, resp: falcon.Response, **path_params: str) -> None:
            _write(resp, response(_request_of(req, path_params)))

        for each in (method, "HEAD") if method == "GET" else (method,):
            self.methods.append(each)
            setattr(self, f"on_{each.lower()}", respond)


def _response(exchanges: Exchanges, driver: Driver, operation: Operation, request: Request) -> Response:
    response = exchanges.respond(request, operation)
    if response.is_slow:
        # From within a delivery that moves the clock, no time can be let go by.
        with suppress(StateConflict):
            driver.pass_time(_SLOW_S)
    if operation not in (control.ADVANCE, control.SIMULATE) or response.status != 200:  # noqa: PLR2004  OK
        return response
    # What is due is run outside of the transaction that read by how much to move, or what is to be done.
    try:
        if operation is control.SIMULATE:
            return exchanges.respond(simulation.done(driver, request), operation)
        driver.advance(msgspec.json.decode(response.body, type=int))
    except ApiError as error:
        return exchanges.refuse(request, error, operation)
    return exchanges.respond(request, control.CLOCK)


def _request_of(req: falcon.Request, path_params: dict[str, str]) -> Request:
    headers = {name: value for name in _NOTED_HEADERS if (value := req.get_header(name)) is not None}
    # The body, up to one byte over the limit; one in chunks tells no length.
    length = MAX_BODY_BYTES + 1 if req.content_length is None else req.content_length
    return Request(
        method=req.method,
        path=req.path,
        query=req.params,
        headers=headers,
        body=req.env["wsgi.input"].read(min(length, MAX_BODY_BYTES + 1)),
        path_params=path_params,
        live=holds_live_key("\n".join((*req.headers.values(), req.query_string))),
    )


def _write(resp: falcon.Response, response: Response) -> None:
    resp.status = response.status
    resp.content_type = response.content_type
    resp.data = response.body
    for name, value in response.headers.items():
        resp.set_header(name, value)


def _as_ours(req: falcon.Request, error: Exception) -> ApiError:
    if isinstance(error, falcon.HTTPMethodNotAllowed):
        allowed = dict(error.headers or {})["Allow"]
        return MethodNotAllowed(f"{req.method} is not offered on this path, which takes {allowed}.", allow=allowed)
    if isinstance(error, falcon.HTTPNotFound):
        return NotFound("There is no such path; /docs shows those that there are.", code="path_not_found")
    return InvalidRequest(f"The request cannot be read: {getattr(error, 'title', error)}.")


def _raise(req: falcon.Request, resp: falcon.Response, error: Exception, params: dict[str, str]) -> None:  # noqa: ARG001  Falcon's signature
    raise error
