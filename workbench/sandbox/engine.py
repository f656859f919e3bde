"""The running parts of one sandbox, put together: the store, what is due, and the application."""

import secrets
from collections.abc import Mapping
from wsgiref.types import WSGIApplication

from workbench.sandbox import api
from workbench.sandbox.driver import Driver
from workbench.sandbox.exchange import Exchanges
from workbench.sandbox.outbound import Outbound
from workbench.sandbox.store import Settings, Store
from workbench.sandbox.store.files import MERCHANT_ID


class Engine:
    """A sandbox over one store. `mounted` are merchants' applications in this process, by host."""

    def __init__(
        self, settings: Settings, *, mounted: Mapping[str, WSGIApplication] | None = None, raise_bugs: bool
    ) -> None:
        self.store = Store(settings, new_seed=lambda: secrets.token_hex(32))
        self._outbound = Outbound(mounted)
        self._driver = Driver(self.store, self._outbound)
        self.app = api.build(Exchanges(self.store, raise_bugs=raise_bugs), self._driver)

    def signing_secret(self, url: str) -> str | None:
        """The secret of the endpoint that a kept store has for a URL."""
        with self.store.transaction() as tx:
            endpoint = tx.endpoints.first(order="seq", url=url, status="enabled", account=MERCHANT_ID)
        return endpoint.secret if endpoint else None

    def run_due(self) -> None:
        """Run what is due now."""
        self._driver.run_due()

    def close(self) -> None:
        """Let go of every file and connection."""
        self._outbound.close()
        self._driver.close()
        self.store.close()
