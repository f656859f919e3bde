"""`Workbench`: a sandbox to work at, in this process or served, and everything one does with it."""

from collections.abc import Iterable, Mapping
from contextlib import ExitStack, suppress
from datetime import datetime
from pathlib import Path
from typing import Self

import httpx

from workbench.analysis.access import ForAnalysts
from workbench.calls import checked_text, host_of, segment
from workbench.client import PaymentsClient
from workbench.closing import Closing
from workbench.control import Clock, GapRows, Operator, SandboxControl
from workbench.domain.gaps import Gaps
from workbench.domain.masking import Secret, mask
from workbench.domain.moments import milliseconds
from workbench.domain.webhooks import EVENT_TYPES
from workbench.errors import (
    InvalidRequest,
    ServeRefused,
    ServiceUnreachable,
    WorkbenchError,
)
from workbench.handset import Phone
from workbench.in_process import InProcess, Served
from workbench.lab.access import ForTheLab
from workbench.latency import Latencies
from workbench.receiver import Receiver
from workbench.snippets import IN_PROCESS_URL
from workbench.trace import Trace, TraceContext
from workbench.watching import Watchers

_TIMEOUT = httpx.Timeout(5, read=120)
"""Seconds; moving the clock waits for every receiver that is called on the way."""
MERCHANT_HOST = "merchant.localhost"
RECEIVER_URL = f"http://{MERCHANT_HOST}/webhooks"


class Workbench(Closing, ForAnalysts, ForTheLab):
    """A sandbox in this process: manual clock, throw-away store, webhooks to `receiver`.

    `seed` makes it repeatable: one seed is one history, to the byte. `store` is a file to keep it in;
    opened again, its clock goes on from where it stood. `start` is the clock's first moment, an aware
    datetime (2026-01-05 06:00 UTC unless it is given). `gaps` switches rows of the register; they are not kept in the
    file. Raises StoreRefused: not a store, or one of another seed or start. Raises GapRefused: no such row.
    It is only an HTTP client of `/v1` and `/sandbox`, so `Workbench.connect` gives the same over a
    served one. Use it as a context manager, or `close` it.
    """

    def __init__(
        self,
        seed: int | str | None = None,
        store: str | Path | None = None,
        start: datetime | None = None,
        gaps: Mapping[str, object] | None = None,
    ) -> None:
        # The server's half takes a quarter of a second to load, which `connect` does without.
        from workbench.sandbox.engine import Engine
        from workbench.sandbox.store import Settings

        if start is not None and (not isinstance(start, datetime) or start.tzinfo is None):
            message = f"start must be an aware datetime, such as datetime(2026, 1, 5, 6, tzinfo=UTC), not {start!r}"
            raise ValueError(message)
        if not isinstance(seed, int | str | None):
            message = f"seed must be an int or a string, not {seed!r}"
            raise TypeError(message)
        choices = Gaps.chosen(gaps)
        receiver = Receiver(now=self._now_s, tolerance_s=choices.signature_tolerance_s, types=EVENT_TYPES)
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
        self._watchers = Watchers()
        transport = InProcess(engine, after_each=self._watchers.tell, is_watching=self._watchers.is_watching)
        self._open(IN_PROCESS_URL, engine.store.key("secret"), engine.store.key("publishable"), transport)
        self._closing.callback(engine.close)
        # Whoever watches stops before the store is closed, not in the middle of reading it.
        self._closing.callback(self._watchers.close)
        self._receiver: Receiver | None = receiver
        self.receiver_url = RECEIVER_URL
        """Where `receiver` is registered; empty until it is."""
        self._engine: Engine | None = engine
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
        bench._receiver, bench._engine = None, None  # noqa: SLF001  another way to make the same object
        bench.receiver_url = ""
        bench._watchers = Watchers(bench._position)  # noqa: SLF001  the same
        bench._open(base_url, secret_key, publishable_key, None)  # noqa: SLF001  the same
        try:
            bench._control.check()  # noqa: SLF001  the same
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
        serving = self._closing.enter_context(ExitStack())
        base_url = serving.enter_context(
            self._engine.listening(port, allow_hosts=allow_hosts, after_each=self._watchers.tell)
        )
        return Served(base_url, self.secret_key, self.publishable_key, serving)

    def _open(
        self, base_url: str, secret_key: str, publishable_key: str, transport: httpx.BaseTransport | None
    ) -> None:
        base_url = host_of(base_url)
        self._closing = ExitStack()
        self._phones: dict[str, Phone] = {}
        self._phone_widgets = {}
        self.http = self._closing.enter_context(
            httpx.Client(base_url=base_url, transport=transport, timeout=_TIMEOUT, trust_env=False)
        )
        """A bare httpx client of the sandbox, without credentials, to see the wire with."""
        self._closing.enter_context(self._watchers)
        self._seen = TraceContext(base_url, Latencies())
        self._seen.latencies.watch(self.http)
        self.base_url = base_url
        self.secret_key = Secret(secret_key)
        self.publishable_key = Secret(publishable_key)
        self.client = PaymentsClient(base_url, secret_key, http=self.http, sleep=self._sleep)
        """The merchant's client, holding the test secret key."""
        self._control = SandboxControl(PaymentsClient(base_url, secret_key, http=self.http))
        self.clock = Clock(self._control)
        """The sandbox's clock."""
        self.operator = Operator(self._control)
        """The operators: `script` what becomes of the next payments, `outage`, `query`."""

    def use_key(self, key: str) -> None:
        """Call with another key from now on: the secret one after it was rolled, or the publishable one.

        What was made from the bench before, such as a client by `client_with`, holds what it held.
        Raises AuthenticationFailed: no key of this sandbox; the bench keeps the one it has. Raises LiveKeyRefused: a
        live key.
        """
        tried = self.client_with(key)
        if key.startswith("pk_"):
            self.publishable_key = Secret(key)
            return
        tried.calls.always = self.looking().calls.always
        SandboxControl(tried).check()
        for each in (self.client, self._control.client, self.looking()):
            each.calls.hold(key)
        self.secret_key = Secret(key)

    def client_with(self, key: str) -> PaymentsClient:
        """A client that holds another key or token, such as the publishable one.

        Raises InvalidRequest: no key, as where `connect` was not told the publishable one.
        """
        if key == "":
            message = "There is no key to hold: hand the publishable key to Workbench.connect, as its third argument."
            raise InvalidRequest(message, code="parameter_invalid", param="key")
        return PaymentsClient(self.base_url, key, http=self.http, sleep=self._sleep)

    def phone(self, number: str) -> Phone:
        """The handset with this number, `+260` and nine digits."""
        number = checked_text("number", number, such_as="+260961234567")
        if number not in self._phones:
            self._phones[number] = Phone(self._control, number, widget=self._phone_widget)
        return self._phones[number]

    @property
    def receiver(self) -> Receiver:
        """The merchant's webhook endpoint.

        In process it has been registered since the start. Over a served sandbox the first use starts
        one on a free port of this machine and registers it, until `close`; events from then on arrive there.
        """
        if self._receiver is None:
            self._receiver = Receiver(types=EVENT_TYPES)
            url = self._closing.enter_context(self._receiver.listen())
            endpoint = self.client.webhook_endpoints.create(url=url)
            self.receiver_url = url
            self._receiver.secrets.append(Secret(endpoint.secret))
            self._closing.callback(self._forget_endpoint, endpoint.id)
        return self._receiver

    @property
    def trace(self) -> Trace:
        """Every call, screen, entry and webhook so far, in order."""
        return Trace(self._control.rows("trace"), self._seen, self._trace_widget)

    @property
    def gaps(self) -> GapRows:
        """The register of what the interface does not show, each row a dict with the `value` in force."""
        return GapRows(self._control.rows("gaps"))

    def delivery_faults(self, *faults: str, endpoint: str | None = None) -> None:
        """Make deliveries `duplicate`, `out_of_order`, both, or with neither named well-behaved again.

        They are those to `endpoint`, an id, or to every endpoint.
        """
        named = [each.id for each in self.client.webhook_endpoints.each()] if endpoint is None else [endpoint]
        for each in named:
            self._control.post(f"webhook_endpoints/{segment(each)}/faults", {"faults": list(faults)})

    def reset(self) -> None:
        """Forget all payments, events and entries; keys, webhook endpoints and the clock stay.

        What `receiver` keeps stays too: it is the merchant's, who knows of no reset.
        """
        self._control.post("reset")

    def close(self) -> None:
        """Close everything; a throw-away store is gone."""
        self._closing.close()

    def __repr__(self) -> str:
        return f"Workbench({self.base_url!r}, {mask(str(self.secret_key))!r})"

    def _forget_endpoint(self, endpoint_id: str) -> None:
        # The sandbox may have ended before; then there is nothing to forget.
        with suppress(ServiceUnreachable):
            self.client.webhook_endpoints.delete(endpoint_id)

    def _sleep(self, seconds: float) -> None:
        self.clock.advance(seconds)

    def _position(self) -> tuple[object, ...]:
        """How far a sandbox has come; a running clock that goes on is no news."""
        clock = self._control.get("clock")
        return (clock["seq"], clock["now_ms"] if clock["mode"] == "manual" else None)

    def _now_s(self) -> float:
        return self.clock.now_ms / 1000
