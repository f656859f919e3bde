"""`Workbench`: a sandbox in this process or served, with its client, clock, phones, trace and tables."""

from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Self
from urllib.parse import urlsplit

from workbench.alternatives import report_opening, switched_rows
from workbench.domain.gaps import PAGE, Gaps
from workbench.domain.masking import Secret, mask
from workbench.domain.moments import milliseconds
from workbench.domain.webhooks import types_of
from workbench.domain.wire.base import Rows
from workbench.domain.wire.keys_and_events import FaultyEndpoint
from workbench.domain.wire.sandbox_controls import ReliedRow, WasReset
from workbench.errors import ServeRefused, WorkbenchError
from workbench.extras import extras_named
from workbench.merchant.calls import checked_text, segments
from workbench.merchant.receiver import Receiver
from workbench.register import GapRows
from workbench.resources import Closing
from workbench.session import Phone, Session
from workbench.text.render import is_docked
from workbench.text.snippets import IN_PROCESS_URL
from workbench.traffic.trace import PagedRows, Trace
from workbench.watching import Watchers

if TYPE_CHECKING:
    import pandas as pd

    from workbench.analysis.simulate import Simulation, Traffic
    from workbench.analysis.tables import Ledger, Tables
    from workbench.lab.console_widget import Console
    from workbench.pictures import Pictures
    from workbench.sandbox.engine import Engine
    from workbench.sandbox.store import Settings

APP_URL = "http://testserver/webhooks"
"""The default URL of a merchant's application that runs in this process."""
MERCHANT_HOST = "merchant.localhost"
RECEIVER_URL = f"http://{MERCHANT_HOST}/webhooks"


class Served(Closing):
    """A sandbox of this process, served on a port until `close` or the end of a `with` block."""

    def __init__(self, base_url: str, secret_key: Secret, publishable_key: Secret, serving: ExitStack) -> None:
        self.base_url = base_url
        self.secret_key = secret_key
        self.publishable_key = publishable_key
        self._serving = serving

    def close(self) -> None:
        """Finish the calls in flight and free the port; the sandbox itself stays open."""
        self._serving.close()

    def __repr__(self) -> str:
        return f"Served({self.base_url!r}, {self.secret_key!r}, {self.publishable_key!r})"


def _settings(
    seed: int | str | None, store: str | Path | None, start: datetime | None, gaps: Mapping[str, object] | None
) -> "Settings":
    from workbench.sandbox.store import Settings

    if start is not None and (not isinstance(start, datetime) or start.tzinfo is None):
        message = f"start must be an aware datetime, such as datetime(2026, 1, 5, 6, tzinfo=UTC), not {start!r}"
        raise ValueError(message)
    if not isinstance(seed, int | str | None):
        message = f"seed must be an int or a string, not {seed!r}"
        raise TypeError(message)
    return Settings(
        path=None if store is None else Path(store), seed=None if seed is None else str(seed),
        start_ms=None if start is None else milliseconds(start), gaps=Gaps.chosen(switched_rows(gaps)),
    )  # fmt: skip


class Workbench(Session):
    """A sandbox in this process: manual clock, temporary store, webhooks to `receiver` or to your own application.

    `seed` makes the sandbox repeatable: the same seed gives the same trace, byte for byte. `store` is the file that
    keeps the sandbox; the clock of a reopened store continues where it stopped. `start` is the clock's first moment, an
    aware datetime (default: 2026-01-05 06:00 UTC). `gaps` maps rows of the register to values. The file does not store
    them, and they override the rows that `workbench each` sets for a run of tests. `webhooks` is your shop, a WSGI or
    ASGI application in this process, such as one of Flask, Django or FastAPI: the sandbox posts events to it at
    `webhook_url` without a port, signed with `webhook_secret`. If your shop needs that secret at its creation, give
    only `webhook_url`, then call `deliver_to(shop)`.

    Raises StoreRefused: `store` is no store, or has another seed or start. Raises GapRefused: no such row or value.
    Raises ValueError: a naive `start`. Raises TypeError and ServeRefused for `webhooks` as `deliver_to` does.

    A Workbench is only an HTTP client of `/v1` and `/sandbox`, so `Workbench.connect` can open one for a served sandbox
    too. Use a Workbench as a context manager, or `close` it.
    """

    _engine: "Engine | None" = None
    """The sandbox, if this process runs it; None if it is served elsewhere."""
    _own_receiver: Receiver
    """The receiver of a sandbox in this process; the property `receiver` registers it as an endpoint."""
    _console: "Console | None" = None

    def __init__(
        self,
        seed: int | str | None = None,
        store: str | Path | None = None,
        start: datetime | None = None,
        gaps: Mapping[str, object] | None = None,
        *,
        webhooks: object = None,
        webhook_url: str | None = None,
    ) -> None:
        # The server's half takes a quarter of a second to load, which `connect` does without.
        from workbench.sandbox.engine import Engine, InProcess

        settings = _settings(seed, store, start, gaps)
        choices = settings.gaps
        tolerance_s, types = choices.signature_tolerance_s, types_of(choices.event_types)
        engine = Engine(settings, raise_bugs=True)
        self._own_receiver = Receiver(
            now=engine.store.now_s, tolerance_s=tolerance_s, types=types, scheme=choices.signature_scheme
        )
        engine.mount(RECEIVER_URL, self._own_receiver, by_sandbox_clock=True)
        keys = engine.store.key("secret"), engine.store.key("publishable")
        watchers = Watchers()
        transport = InProcess(engine, watchers)
        super().__init__(IN_PROCESS_URL, *keys, transport=transport, watchers=watchers, in_force=choices.changed())
        self._engine = engine
        if account := engine.store.credentials:
            self.email, self.password = account[0], Secret(account[1])
        self.closing.callback(engine.close)
        # The watchers stop before the store is closed, not in the middle of reading it.
        self.closing.callback(watchers.close)
        self.closing.callback(report_opening(engine))
        if webhooks is None and webhook_url is None:
            self.started = self._begin_receiving()
        else:
            try:
                self._mount(webhooks, webhook_url or APP_URL)
            except BaseException:
                self.close()
                raise
        self._dock()

    @classmethod
    def connect(
        cls, base_url: str, secret_key: str, publishable_key: str = "", *, email: str = "", password: str = ""
    ) -> Self:
        """Open a workbench on a sandbox that is served at `base_url`.

        `publishable_key` is needed only by calls that use it, such as `client_with(bench.publishable_key)`; `email` and
        `password` are those of the sandbox's one account, if it has one (`token_credentials`). Raises
        ServiceUnreachable: nothing responds there. Raises AuthenticationFailed: the key is not of this sandbox. Raises
        UnexpectedResponse: the service is no sandbox. Raises LiveKeyRefused: a live key.
        """
        bench = cls.__new__(cls)
        Session.__init__(bench, base_url, secret_key, publishable_key)
        bench.email, bench.password = email, Secret(password)
        try:
            bench.control.check()
            bench.follow(bench.untraced.in_force())
        except WorkbenchError:
            bench.close()
            raise
        cls._dock(bench)
        return bench

    def serve(self, port: int = 0, *, allow_hosts: Iterable[str] = (), allow_origins: Iterable[str] = ()) -> Served:
        """Serve the sandbox over real HTTP too, on a port of this machine's loopback, until the result is closed.

        A backend on this machine and this notebook then share one ledger, one receiver and one clock, which moves only
        when it is advanced. Port 0 takes a free port; each call opens another port. The sandbox sends the response to a
        request, then runs the jobs that the request made due. `allow_hosts` are names to answer to besides 127.0.0.1,
        [::1], localhost and *.localhost, such as a proxy's; a request with another name in `Host`, or from a page of
        another `Origin`, is refused. `allow_origins` are your pages, such as http://localhost:3000: in a browser they
        may make the calls that a publishable key allows, and no others. Raises PortTaken: something listens there.
        Raises ServeRefused: no such port, name or origin, or a Workbench that is connected or closed.
        """
        self._check_open()
        if self._engine is None:
            raise ServeRefused(
                f"This Workbench is connected to a sandbox that is served already, at {self.base_url}.",
                hint="Give your shop bench.base_url and bench.secret_key.",
            )
        from workbench.sandbox.server import listening  # asyncio takes a while to load

        serving = self.closing.enter_context(ExitStack())
        answering = listening(
            self._engine, port, allow_hosts=allow_hosts, allow_origins=allow_origins, after_each=self.watchers.notify
        )
        return Served(serving.enter_context(answering), self.secret_key, self.publishable_key, serving)

    def deliver_to(self, app: object, url: str | None = None) -> None:
        """Post events to `app`, a WSGI or ASGI application in this process, at `url`, without a network port.

        `url` defaults to `webhook_url`; a new URL is registered, and `webhook_secret` then returns its secret. If only
        one endpoint is allowed, the application replaces `receiver`. Messages carry the time of this machine's clock,
        which your code reads. A WSGI application runs in the thread of the call that caused the event or moved the
        clock; an ASGI application runs, with its lifespan, on a loop of its own until `close`. Both may call the
        sandbox meanwhile. An exception of the application is logged and counts as a 500; the trace shows its traceback
        as the response. A response after more than `delivery_timeout_s` seconds of real time is ignored; only an ASGI
        application is stopped then. Raises TypeError: neither WSGI nor ASGI. Raises InvalidRequest: a URL that cannot
        be registered. Raises ServeRefused: the lifespan failed, the URL of `receiver`, or a Workbench that is connected
        or closed.
        """
        if app is None:
            message = "deliver_to takes a WSGI or ASGI application, not None"
            raise TypeError(message)
        self._mount(app, url or self.webhook_url or APP_URL)

    def _mount(self, app: object, url: str) -> None:
        """Registers a URL and mounts an application there; `app` is None if the application is mounted later."""
        if self._engine is None:
            raise ServeRefused(
                "A served sandbox sends webhooks to a URL.",
                hint="Start your shop on a port, and register it: bench.client.webhook_endpoints.create(url=…).",
            )
        self._check_open()
        if urlsplit(checked_text("url", url, such_as=APP_URL)).hostname == MERCHANT_HOST:
            raise ServeRefused(f"{MERCHANT_HOST} is the host of the Workbench's own receiver: name another host.")
        self._engine.mount(url, app)
        if not self._takes_the_receivers_place(self._engine, url):
            self._register(self._engine, url)
        self.webhook_url = url

    def _takes_the_receivers_place(self, engine: "Engine", url: str) -> bool:
        """Moves the endpoint of `receiver`, with its secret, to `url`, for the first application; True if it was moved.

        If a second endpoint is allowed, the receiver is registered again.
        """
        if self.webhook_url or self.started is None or engine.signing_secret(url):
            return False
        endpoints = self.looking().webhook_endpoints.each()
        own = [endpoint.id for endpoint in endpoints if endpoint.url == RECEIVER_URL]
        for endpoint_id in own:
            self.acting.webhook_endpoints.update(endpoint_id, url=url)
        self.started = None
        if own and self.in_force.get("endpoint_registration") != "dashboard":
            self.started = self._begin_receiving()
        return bool(own)

    def _register(self, engine: "Engine", url: str) -> str:
        """Returns the signing secret of a URL; registers the URL first unless a reopened store already has it."""
        return engine.signing_secret(url) or str(self.acting.webhook_endpoints.create(url=url).secret)

    def _begin_receiving(self) -> Receiver:
        if self._engine is None:
            return super()._begin_receiving()
        self._check_open()
        self.receiver_url = RECEIVER_URL
        self._own_receiver.secrets.append(Secret(self._register(self._engine, RECEIVER_URL)))
        return self._own_receiver

    @property
    def webhook_secret(self) -> Secret:
        """The secret that currently signs messages to your application or, if there is none, to `receiver`.

        The same seed gives the same secret. Raises ServeRefused: the Workbench is closed.
        """
        if not (self._engine and self.webhook_url):
            return super().webhook_secret
        self._check_open()
        secret = self._engine.signing_secret(self.webhook_url)
        return super().webhook_secret if secret is None else Secret(secret)

    def _check_open(self) -> None:
        if self.http.is_closed:
            raise ServeRefused("This Workbench is closed.")

    def _receivers_now_s(self) -> int | None:
        return self.clock.now_ms // 1000 if self._engine and not self.webhook_url else None

    @property
    def trace(self) -> Trace:
        """All calls, screens, entries and webhooks so far, in order; keeps the latest rows, reads others on demand."""
        return Trace(PagedRows(self.untraced.trace_page), self.base_url)

    @property
    def gaps(self) -> GapRows:
        """The register of questions that the interface leaves open; each row is a dict with its current `value`.

        `used` has the rows on which this run has relied; `questions()` writes a letter to the provider about them.
        """
        # In process there is no address to open the page at; the file is in the notebooks' folder.
        page = f"{self.base_url}{PAGE}" if self.is_served else "interface.md"
        return GapRows(self.control.gaps(), lambda: self.untraced.get("gaps/used", Rows[ReliedRow]).data, page)

    @property
    def pictures(self) -> "Pictures":
        """Pictures of this sandbox: its states, its retries, a webhook, a payment's ledger and the flow of money."""
        from workbench.pictures import Pictures

        return Pictures(self)

    def delivery_faults(self, *faults: str, endpoint: str | None = None) -> None:
        """Give deliveries the faults `duplicate` and `out_of_order`; without `faults`, remove all faults.

        `endpoint` is the id of an endpoint; by default, all endpoints are changed.
        """
        endpoint_ids = [row.id for row in self.acting.webhook_endpoints.each()] if endpoint is None else [endpoint]
        for endpoint_id in endpoint_ids:
            path = f"webhook_endpoints{segments(endpoint_id)}/faults"
            self.control.post(path, FaultyEndpoint, {"faults": faults})

    def reset(self) -> None:
        """Delete all payments, events and entries; keys, webhook endpoints and the clock stay.

        The messages in `receiver` stay too: a merchant would not know of the reset.
        """
        self.control.post("reset", WasReset)

    # For analysts, once there are payments. pandas is loaded at the first use.

    @property
    @extras_named()
    def ledger(self) -> "Ledger":
        """The double-entry ledger, as DataFrames and T-accounts."""
        from workbench.analysis.tables import Ledger

        return Ledger(self.control)

    @property
    @extras_named()
    def tables(self) -> "Tables":
        """Payments, charges, refunds, payouts, late money, events and deliveries, as DataFrames."""
        from workbench.analysis.tables import Tables

        return Tables(self.acting, self.control)

    @extras_named()
    def settle(self, item: object) -> "pd.DataFrame":
        """Post the entries that a break proposes; they can be reversed. `item` is a row of `result.breaks`.

        Returns the posted entries in the shape of `ledger.entries`. Raises LedgerRefused: the break proposes no entry.
        Raises StateConflict: the break was settled before.
        """
        from workbench.analysis.tables import settle_break

        return settle_break(self.control, item)

    @extras_named()
    def simulate(  # noqa: PLR0913  each sets another thing about the month
        self,
        *,
        payments: int,
        days: int = 30,
        seed: int | str | None = None,
        out: str | Path | None = None,
        breaks: Mapping[str, int] | None = None,
        traffic: "Traffic | None" = None,
        show_progress: bool = False,
    ) -> "Simulation":
        """Simulate a month of a merchant's payments in this sandbox, starting at the next midnight in Lusaka.

        `payments` payments are made over `days` days; some fail, are refunded or arrive late. Money is cleared and
        swept each night, and the merchant requests a payout each week. The clock ends at the last millisecond of the
        last day. `out` is an empty or new folder, which gets `ledger.parquet`, `statements/` as each operator and the
        bank would export them, and `answers.csv`; without `out`, nothing is written, and `breaks` are refused. `breaks`
        is kind → the number of breaks to plant (`{"amount_mismatch": 3}`, `all` for every kind), in addition to those
        that occur anyway; by default some of each. The same `seed` on the same sandbox gives the same folder, byte for
        byte; by default it is derived from the sandbox's seed. `traffic` sets shares and rates; with `show_progress`,
        standard error reports each tenth of the payments. During the simulation, the sandbox sends no webhooks. Raises
        SimulationRefused: a size, break, folder or sandbox that cannot be used.
        """
        from workbench.analysis.simulate import simulate

        return simulate(
            self, payments=payments, days=days, seed=seed,
            out=out, breaks=breaks, traffic=traffic, show_progress=show_progress,
        )  # fmt: skip

    # Displays: one console, and one handset a number, however often they are shown. Widgets are loaded when shown.

    @extras_named()
    def console(self) -> "Console":
        """The console: payments, ledger, webhooks, requests and the customer's phone, live in a cell of Jupyter.

        `workbench serve` shows the same page. As text, or after the kernel has ended, it is a static record.
        """
        if self._console is None:
            from workbench.lab.console_widget import Console

            self._console = Console(self)
        return self._console

    def phone(self, number: str) -> Phone:
        """The handset with this number, `+260` and nine digits; `workbench lab` shows handsets beside the notebook."""
        handset = super().phone(number)
        self._dock()
        return handset

    def _dock(self) -> None:
        if is_docked() and not self.http.is_closed:
            self.console().dock()

    def __repr__(self) -> str:
        return f"Workbench({self.base_url!r}, {mask(str(self.secret_key))!r})"
