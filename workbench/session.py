"""One connection to a sandbox, which the Lab, the analysis and the simulation receive. `Workbench` is a session."""

from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from types import MappingProxyType
from typing import Final

import httpx

from workbench.control import Clock, Operator, Phone, SandboxControl
from workbench.domain.masking import Secret
from workbench.domain.signing import SignedMessage
from workbench.domain.webhooks import ENABLED, types_of
from workbench.domain.wire.base import to_json
from workbench.domain.wire.endpoints_and_events import ENDPOINTS
from workbench.domain.wire.ledger_and_trace import UNSEEN
from workbench.errors import AuthenticationFailed, NotFound, ServeRefused, ServiceUnreachable
from workbench.merchant.calls import Latencies, checked_text, host_of, ignore_cookies, invalid
from workbench.merchant.client import PaymentsClient
from workbench.merchant.receiver import Receiver
from workbench.resources import Closing
from workbench.traffic.trace import TraceContext
from workbench.watching import Watchers

_TIMEOUT = httpx.Timeout(5, read=120)
"""Limits in seconds; a call that moves the clock waits for every receiver that is called on the way."""


_QUIET: Final = {UNSEEN: "true"}


class Session(Closing):
    """A sandbox at `base_url`, called with the test secret key until `close`.

    `transport` leads to a sandbox in this process, whose calls notify `watchers`. Without `transport` the sandbox is
    served, and the session polls it for news.
    """

    def __init__(
        self,
        base_url: str,
        secret_key: str,
        publishable_key: str,
        *,
        transport: httpx.BaseTransport | None = None,
        watchers: Watchers | None = None,
        in_force: Mapping[str, object] = MappingProxyType({}),
    ) -> None:
        base_url = host_of(base_url)
        self.closing = ExitStack()
        """Resources that the session closes, the latest first."""
        self.http = self.closing.enter_context(
            httpx.Client(base_url=base_url, transport=transport, timeout=_TIMEOUT, trust_env=False)
        )
        """A bare httpx client of the sandbox, without credentials, to see the wire with."""
        ignore_cookies(self.http)  # a sandbox sets none
        self.watchers = watchers or Watchers(self._position)
        self.closing.callback(self.watchers.close)
        self.trace_context = TraceContext(base_url, Latencies())
        self.trace_context.latencies.watch(self.http)
        self.is_served = transport is None
        self.base_url = base_url
        self.secret_key = Secret(secret_key)
        """The key that calls are made with."""
        self.publishable_key = Secret(publishable_key)
        """The key of an app; empty if `connect` was not given a publishable key."""
        self.email, self.password = "", Secret("")
        """The e-mail address and password of the merchant's account, if `token_credentials` has one."""
        self.client = PaymentsClient(base_url, secret_key, http=self.http, sleep=self._sleep)
        """The merchant's client, holding the test secret key."""
        self.control = SandboxControl(self.client)
        self.untraced = SandboxControl(self.client.in_mode(_QUIET))
        """The control plane in quiet mode: calls notify no watcher and run nothing that is due."""
        self.follow(in_force)
        self.clock = Clock(self.control)
        """The sandbox's clock."""
        self.operator = Operator(self.control)
        """The operators: `script` the outcomes of the next payments, `outage`, `query`."""
        self.webhook_url = ""
        """The URL of the merchant's application in this process; empty without an application."""
        self.started: Receiver | None = None
        """The receiver; None until it is started."""
        self.receiver_url = ""
        """The URL of `receiver`; empty until the receiver is registered."""
        self._phones: dict[str, Phone] = {}

    def follow(self, in_force: Mapping[str, object]) -> None:
        """Adapt calls to the register's values: the paging of lists, and operations that the interface lacks."""
        self.in_force = in_force
        """Row of the register → its value; of a sandbox in this process, only values that are not the default."""
        self.client.pagination = str(in_force.get("pagination", "cursor"))
        self.on_dashboard: tuple[str, ...] = ()
        """Beginnings of the paths below `/v1` that the sandbox offers only on its dashboard."""
        if in_force.get("extra_endpoints") == "absent":
            self.on_dashboard = ("/",)
        elif in_force.get("endpoint_registration") == "dashboard":
            self.on_dashboard = (ENDPOINTS.removeprefix("/v1"),)
        self._quiet = self.client.in_mode(_QUIET, self.on_dashboard)
        is_whole = not self.on_dashboard and in_force.get("rate_limit", "none") == "none"
        self.acting = self.client if is_whole else self._quiet
        """The client for what the bench itself does: `client`, or the one that `looking` returns.

        The latter where the interface lacks operations, or limits the merchant's calls.
        """

    def looking(self) -> PaymentsClient:
        """A merchant's client whose reads leave no trace and do not count as calls: for repeated drawing."""
        return self._quiet

    def watch(self, callback: Callable[[], object]) -> Callable[[], None]:
        """Run `callback` soon after anything happens in the sandbox, in a thread of its own.

        Returns a function that ends the watch. An exception of the callback is logged.
        """
        return self.watchers.add(callback)

    def phone(self, number: str) -> Phone:
        """The handset with this number, `+260` and nine digits; each call returns the same handset."""
        number = checked_text("number", number, such_as="+260961234567")
        if number not in self._phones:
            self._phones[number] = Phone(self.control, number)
        return self._phones[number]

    def client_with(self, key: str) -> PaymentsClient:
        """A client that holds another key or token, such as the publishable key.

        Raises InvalidRequest: an empty key, such as a publishable key that `connect` was not given.
        """
        if key == "":
            message = "No publishable key is known: pass it to Workbench.connect as the third argument."
            raise invalid(message, "key")
        pagination = self.client.pagination
        return PaymentsClient(self.base_url, key, http=self.http, sleep=self._sleep, pagination=pagination)

    def use_key(self, key: str) -> None:
        """Call with another secret key from now on, such as a rolled one; a publishable key replaces `publishable_key`.

        Clients made before by `client_with` keep their key. Raises AuthenticationFailed: not a secret key of this
        sandbox; the session keeps its key. Raises LiveKeyRefused: a live key.
        """
        tried = self.client_with(key)
        if key.startswith("pk_"):
            self.publishable_key = Secret(key)
            return
        SandboxControl(tried.in_mode(_QUIET)).check()
        self.client.calls.hold(key)
        self.secret_key = Secret(key)

    @property
    def receiver(self) -> Receiver:
        """The merchant's webhook endpoint; the first use starts and registers it, on a free port, until `close`."""
        if self.started is None:
            rows = self.untraced.in_force()
            tolerance_s, types = rows["signature_tolerance_s"], types_of(rows["event_types"])
            self.started = Receiver(tolerance_s=tolerance_s, types=types, scheme=rows["signature_scheme"])
            url = self.closing.enter_context(self.started.listen())
            endpoint = self.acting.webhook_endpoints.create(url=url)
            self.receiver_url = url
            self.started.secrets.append(Secret(endpoint.secret))
            self.closing.callback(self._forget_endpoint, endpoint.id)
        return self.started

    @property
    def webhook_secret(self) -> Secret:
        """The secret that signs webhooks to `receiver`; the receiver is started if no endpoint is registered yet.

        Raises ServeRefused: your own endpoint is registered, and no receiver is started; its secret was shown once.
        """
        if self.is_served and self.started is None and (own := [*self._enabled_endpoints()]):
            raise ServeRefused(
                f"The secret of {own[0]} is in the response that registered it, and nowhere else.",
                hint="Keep the result of bench.client.webhook_endpoints.create(url=…), or make another secret with "
                "webhook_endpoints.roll_secret(id). To sign a message, bench.sign needs none.",
            )
        return Secret(self.receiver.secrets[-1])

    def _enabled_endpoints(self) -> dict[str, str]:
        """URL → id of the enabled endpoints, newest first."""
        return {
            endpoint.url: endpoint.id for endpoint in self._quiet.webhook_endpoints.each() if endpoint.status == ENABLED
        }

    def sign(
        self, body: object, how: str = "right", *, message_id: str | None = None, endpoint: str | None = None
    ) -> SignedMessage:
        """A message to send to your own endpoint, signed now with its secret in the scheme in force.

        `body` is text, bytes in UTF-8, or an object to write as JSON, such as an event of `client.events`. `how` is
        `right`, `several` (another signature before the right one), or wrong on purpose: `wrong_secret`, `stale`,
        `future`, `other_scheme`, `tampered`, `reserialised`, `unsigned`, `malformed`, `malformed_timestamp`.
        `message_id` defaults to the id in the body, which alone counts if the scheme has no header for an id.
        `endpoint` is an endpoint's id: by default that of `webhook_url`, else of the newest enabled endpoint, else of
        `receiver`. Raises InvalidRequest: a `how` that is unknown or that the scheme lacks, or bytes that are not
        UTF-8. Raises NotFound: no such endpoint.

        >>> body, headers = bench.sign({"id": "evt_1", "type": "charge.succeeded"}, "stale")  # doctest: +SKIP
        >>> shop.test_client().post("/webhooks", data=body, headers=headers)  # doctest: +SKIP
        """
        try:
            text = body if isinstance(body, str) else (body if isinstance(body, bytes) else to_json(body)).decode()
        except UnicodeDecodeError:
            raise invalid("A message is text in UTF-8.", "body") from None
        except NotImplementedError as error:
            raise invalid(f"A message is text, bytes or JSON, and {error} is none of them.", "body") from None
        enabled = self._enabled_endpoints()
        url = self.webhook_url or next((url for url in enabled if url != self.receiver_url), "")
        if not (endpoint or url):
            _ = self.receiver  # its first use registers it
        signing = endpoint or enabled.get(url)
        return self.untraced.sign(text, how, endpoint=signing, message_id=message_id, timestamp=self._receivers_now_s())

    def _receivers_now_s(self) -> int | None:
        """Seconds since 1970 by the receiving side's clock; None if that is this machine's clock."""
        return None

    def close(self) -> None:
        """Close everything that the session opened, the latest first."""
        self.closing.close()

    def _forget_endpoint(self, endpoint_id: str) -> None:
        # The sandbox may have ended before, the endpoint may be deleted, or the key replaced: nothing is left to do.
        with suppress(ServiceUnreachable, NotFound, AuthenticationFailed):
            self.acting.webhook_endpoints.delete(endpoint_id)

    def _sleep(self, seconds: float) -> None:
        self.clock.advance(seconds)

    def _position(self) -> tuple[object, ...]:
        """The sandbox's latest `seq`, and a manual clock's time; None for a running clock, whose time is no news."""
        clock = self.untraced.clock()
        return (clock.seq, clock.now_ms if clock.mode == "manual" else None)
