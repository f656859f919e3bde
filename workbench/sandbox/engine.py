"""The running parts of one sandbox, put together: the store, what is due, and the application."""

import secrets
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from wsgiref.types import WSGIApplication

import msgspec

from workbench.domain import wire
from workbench.errors import InvalidRequest
from workbench.sandbox import api, messages, threaded
from workbench.sandbox.driver import Driver
from workbench.sandbox.exchange import Exchanges
from workbench.sandbox.hosts import Hosts
from workbench.sandbox.messages import JSON, Request
from workbench.sandbox.operations import OPERATIONS
from workbench.sandbox.outbound import Outbound
from workbench.sandbox.store import Settings, Store
from workbench.sandbox.store.files import MERCHANT_ID

_REGISTER = next(each for each in OPERATIONS if (each.method, each.path) == ("POST", "/v1/webhook_endpoints"))


class Engine:
    """A sandbox over one store. `mounted` are merchants' applications in this process, by host."""

    def __init__(
        self, settings: Settings, *, mounted: Mapping[str, WSGIApplication] | None = None, raise_bugs: bool
    ) -> None:
        self.store = Store(settings, new_seed=lambda: secrets.token_hex(32))
        self._outbound = Outbound(mounted)
        self._driver = Driver(self.store, self._outbound, raise_bugs=raise_bugs)
        self._exchanges = Exchanges(self.store, raise_bugs=raise_bugs)
        self.app = api.build(self._exchanges, self._driver, Hosts())

    def app_to_serve(self, hosts: Hosts) -> WSGIApplication:
        """The application for a real port: a bug is logged, masked, and answered as a 500."""
        return messages.guarded(api.build(Exchanges(self.store, raise_bugs=False), self._driver, hosts))

    def listening(
        self, port: int, *, allow_hosts: Iterable[str], after_each: Callable[[], object]
    ) -> AbstractContextManager[str]:
        """Answer on a port of this machine's loopback too while the block runs; its base URL.

        `allow_hosts` are names to answer by beside the loopback's own. `after_each` is called after each answer,
        when what the call made due has been done.
        Raises ServeRefused: what is allowed is no name of a host. Raises PortTaken: something listens there.
        """
        hosts = Hosts(allow_hosts)

        def done() -> None:
            self.run_due()
            after_each()

        return threaded.listening(
            self.app_to_serve(hosts), port=port, after_each=done, new_request_id=self._exchanges.new_request_id
        )

    def signing_secret(self, url: str) -> str | None:
        """The secret of the endpoint that a kept store has for a URL."""
        with self.store.transaction() as tx:
            endpoint = tx.endpoints.first(order="seq", url=url, status="enabled", account=MERCHANT_ID)
        return endpoint.secret if endpoint else None

    def registered(self, url: str) -> str:
        """The signing secret of the endpoint for a URL: the store's own, or one that is registered now.

        Raises InvalidRequest: this URL may not be called.
        """
        return self.signing_secret(url) or self._register(url)

    def _register(self, url: str) -> str:
        """Through the operation itself, so that the URL is checked and the trace tells of it."""
        headers = {"Authorization": f"Bearer {self.store.key('secret')}", "Content-Type": JSON}
        body = wire.to_json({"url": url})
        request = Request(method=_REGISTER.method, path=_REGISTER.path, headers=headers, body=body)
        response = msgspec.json.decode(self._exchanges.respond(request, _REGISTER).body)
        if "secret" not in response:
            raise InvalidRequest(
                response.get("detail") or response["message"], code=response.get("code", ""), param="url"
            )
        return str(response["secret"])

    def run_due(self) -> None:
        """Run what is due now."""
        self._driver.run_due()

    def close(self) -> None:
        """Let go of every file and connection."""
        self._outbound.close()
        self._driver.close()
        self.store.close()
