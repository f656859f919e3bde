"""`Workbench`: a sandbox to work at, in this process or served, and everything one does with it."""

from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Self

from workbench.closing import Closing
from workbench.control import GapRows
from workbench.domain.gaps import Gaps
from workbench.domain.masking import Secret, mask
from workbench.domain.moments import milliseconds
from workbench.domain.webhooks import EVENT_TYPES
from workbench.errors import ServeRefused, WorkbenchError
from workbench.handset import Phone
from workbench.receiver import Receiver
from workbench.render import Widget
from workbench.session import Session
from workbench.snippets import IN_PROCESS_URL
from workbench.trace import Trace, rows_of
from workbench.watching import Watchers

if TYPE_CHECKING:
    import pandas as pd

    from workbench.analysis.ledger import Ledger
    from workbench.analysis.simulate import Simulation, Traffic
    from workbench.analysis.tables import Tables
    from workbench.lab.dashboard import Dashboard
    from workbench.lab.desk import Desk
    from workbench.sandbox.engine import Engine

MERCHANT_HOST = "merchant.localhost"
RECEIVER_URL = f"http://{MERCHANT_HOST}/webhooks"


class Served(Closing):
    """A sandbox of this process on a port. Use it as a context manager, or `close` it."""

    def __init__(self, base_url: str, secret_key: Secret, publishable_key: Secret, serving: ExitStack) -> None:
        self.base_url = base_url
        self.secret_key = secret_key
        self.publishable_key = publishable_key
        self._serving = serving

    def close(self) -> None:
        """Finish the calls in flight and free the port; the sandbox itself stays."""
        self._serving.close()

    def __repr__(self) -> str:
        return f"Served({self.base_url!r}, {self.secret_key!r}, {self.publishable_key!r})"


class Workbench(Session):
    """A sandbox in this process: manual clock, throw-away store, webhooks to `receiver`.

    `seed` makes it repeatable: one seed gives the same trace, to the byte. `store` is a file to keep it in;
    opened again, its clock goes on from where it stood. `start` is the clock's first moment, an aware
    datetime (2026-01-05 06:00 UTC unless it is given). `gaps` switches rows of the register; they are not kept in the
    file. Raises StoreRefused: not a store, or one of another seed or start. Raises GapRefused: no such row.
    It is only an HTTP client of `/v1` and `/sandbox`, so `Workbench.connect` gives the same over a
    served one. Use it as a context manager, or `close` it.
    """

    _engine: "Engine | None" = None
    """The sandbox itself, where it is of this process."""
    _desk: "Desk | None" = None
    _dashboard: "Dashboard | None" = None

    def __init__(
        self,
        seed: int | str | None = None,
        store: str | Path | None = None,
        start: datetime | None = None,
        gaps: Mapping[str, object] | None = None,
    ) -> None:
        # The server's half takes a quarter of a second to load, which `connect` does without.
        from workbench.sandbox.engine import Engine, InProcess
        from workbench.sandbox.store import Settings

        if start is not None and (not isinstance(start, datetime) or start.tzinfo is None):
            message = f"start must be an aware datetime, such as datetime(2026, 1, 5, 6, tzinfo=UTC), not {start!r}"
            raise ValueError(message)
        if not isinstance(seed, int | str | None):
            message = f"seed must be an int or a string, not {seed!r}"
            raise TypeError(message)
        choices = Gaps.chosen(gaps)
        receiver = Receiver(
            now=lambda: engine.store.now_ms() / 1000, tolerance_s=choices.signature_tolerance_s, types=EVENT_TYPES
        )
        engine = Engine(
            Settings(
                path=None if store is None else Path(store),
                seed=None if seed is None else str(seed),
                start_ms=None if start is None else milliseconds(start),
                gaps=choices,
            ),
            mounted={MERCHANT_HOST: receiver},
            raise_bugs=True,
        )
        watchers = Watchers()
        super().__init__(
            IN_PROCESS_URL,
            engine.store.key("secret"),
            engine.store.key("publishable"),
            transport=InProcess(engine, watchers),
            watchers=watchers,
        )
        self._engine, self.started, self.receiver_url = engine, receiver, RECEIVER_URL
        self.closing.callback(engine.close)
        # The watchers stop before the store is closed, not in the middle of reading it.
        self.closing.callback(watchers.close)
        # A store that is opened again knows the endpoint; registering it twice would deliver twice.
        secret = engine.signing_secret(RECEIVER_URL) or self.client.webhook_endpoints.create(url=RECEIVER_URL).secret
        receiver.secrets.append(Secret(secret))

    @classmethod
    def connect(cls, base_url: str, secret_key: str, publishable_key: str = "") -> Self:
        """The same over a sandbox that is served at `base_url`.

        `publishable_key` is needed by what uses it alone, such as `client_with(bench.publishable_key)`.
        Raises ServiceUnreachable: nothing answers there. Raises AuthenticationFailed: not this sandbox's key.
        Raises UnexpectedResponse: what answers is no sandbox. Raises LiveKeyRefused: a live key.
        """
        bench = cls.__new__(cls)
        Session.__init__(bench, base_url, secret_key, publishable_key)
        try:
            bench.control.check()
        except WorkbenchError:
            bench.close()
            raise
        return bench

    def serve(self, port: int = 0, *, allow_hosts: Iterable[str] = ()) -> Served:
        """Answer over real HTTP too, on a port of this machine's loopback.

        A backend on this machine and this notebook then see one ledger, one clock, which moves when
        it is advanced, and one receiver. Port 0 takes a free one. Until `close`, or the end of the block
        that takes the result; each call opens a port of its own. What a call makes due is run once it
        has been answered. `allow_hosts` are names to answer by beside 127.0.0.1, [::1], localhost and *.localhost,
        such as a proxy's: a request with another one in `Host`, or from a page of another `Origin`, is refused.
        Raises PortTaken: something listens there. Raises ServeRefused: no such port or name, or a Workbench that is
        connected or closed.
        """
        if self.http.is_closed:
            raise ServeRefused("This Workbench is closed.")
        if self._engine is None:
            raise ServeRefused(f"This Workbench is connected to a sandbox that is served already: {self.base_url}.")
        serving = self.closing.enter_context(ExitStack())
        base_url = serving.enter_context(
            self._engine.listening(port, allow_hosts=allow_hosts, after_each=self.watchers.notify)
        )
        return Served(base_url, self.secret_key, self.publishable_key, serving)

    @property
    def trace(self) -> Trace:
        """Every call, screen, entry and webhook so far, in order."""
        return Trace(rows_of(self.control.trace()), self.trace_context, self._trace_widget)

    @property
    def gaps(self) -> GapRows:
        """The register of what the interface does not show, each row a dict with the `value` in force."""
        return GapRows(self.control.gaps())

    def delivery_faults(self, *faults: str, endpoint: str | None = None) -> None:
        """Make deliveries `duplicate`, `out_of_order`, both, or with neither named well-behaved again.

        They are those to `endpoint`, an id, or to every endpoint.
        """
        named = [each.id for each in self.client.webhook_endpoints.each()] if endpoint is None else [endpoint]
        for each in named:
            self.control.set_delivery_faults(each, list(faults))

    def reset(self) -> None:
        """Forget all payments, events and entries; keys, webhook endpoints and the clock stay.

        What `receiver` keeps stays too: it is the merchant's, who knows of no reset.
        """
        self.control.reset()

    # For analysts: what begins when payments were made. pandas is loaded when it is first used.

    @property
    def ledger(self) -> "Ledger":
        """The double-entry ledger, as DataFrames and T-accounts."""
        from workbench.analysis.ledger import Ledger

        return Ledger(self.control)

    @property
    def tables(self) -> "Tables":
        """Payments, charges, refunds, payouts, events and deliveries, as DataFrames."""
        from workbench.analysis.tables import Tables

        return Tables(self.client, self.control)

    def settle(self, item: object) -> "pd.DataFrame":
        """Post the entries that a break proposes: `item` is a row of `result.breaks`; they can be reversed.

        Raises LedgerRefused: it proposes none. Raises StateConflict: it was settled before.
        """
        from workbench.analysis.ledger import settle

        return settle(self.control, item)

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
        """Drive a month of a merchant's life through this sandbox, from the coming midnight in Lusaka on.

        `payments` customers pay over `days` days; some fail, are refunded, arrive late; nights clear and
        sweep, and payouts are asked for weekly. The clock ends at the last millisecond of the last day. With
        `out`, an empty or new folder, it then holds `ledger.parquet`, `statements/` as each operator and the
        bank would export theirs, and `answers.csv`. `breaks` is how many of each kind are planted in them
        (`{"amount_mismatch": 3}`, `all` for every kind), besides those that happen by themselves; by default
        some of each. One `seed` on one sandbox is one folder, byte for byte; without one it follows from the
        sandbox's own. `traffic` sets shares and rates. No webhooks are sent for what happens meanwhile.
        Raises SimulationRefused: a size, break, folder or sandbox with which that cannot be.
        """
        from workbench.analysis.simulate import simulate

        return simulate(
            self,
            payments=payments,
            days=days,
            seed=seed,
            out=out,
            breaks=breaks,
            traffic=traffic,
            show_progress=show_progress,
        )

    # To look at: each thing is there once, however often it is shown. Widgets are loaded when they are shown.

    def desk(self) -> "Desk":
        """The desk: a payment asked for, paid on the handset and followed to its webhooks, on one screen.

        One for each bench. Over a served sandbox it starts no receiver by itself; there is a button for that.
        """
        if self._desk is None:
            from workbench.lab.desk import Desk

            self._desk = Desk(self)
        return self._desk

    def dashboard(self) -> "Dashboard":
        """The merchant dashboard: payments, keys, webhook endpoints, events, deliveries, the clock, outages.

        Live in JupyterLab, text and HTML elsewhere.
        """
        if self._dashboard is None:
            from workbench.lab.dashboard import Dashboard

            self._dashboard = Dashboard(self)
        return self._dashboard

    def _trace_widget(self, trace: Trace) -> Widget:
        """The trace to look through, which follows what happens."""
        from workbench.lab.trace_board import trace_board

        return trace_board(trace, self).widget

    def phone_widget(self, phone: Phone) -> Widget:
        """The handset to touch, kept up to date until the bench is closed."""
        from workbench.lab.phone import PhoneWidget

        widget = PhoneWidget(phone, self)
        self.watch(widget.refresh)
        self.closing.callback(widget.end)
        return widget

    def __repr__(self) -> str:
        return f"Workbench({self.base_url!r}, {mask(str(self.secret_key))!r})"
