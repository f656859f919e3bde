"""`PaymentsClient`: one client over all groups of calls, and waiting for a payment to settle."""

import math
import time
from collections.abc import Callable
from typing import Final

import httpx

from workbench.calls import Calls, host_of
from workbench.client.access import ApiKeys, Auth
from workbench.client.money import Balance, Payouts
from workbench.client.payments import Charges, PaymentIntents, Refunds
from workbench.client.plants import Plants
from workbench.client.webhooks import Deliveries, Events, WebhookEndpoints
from workbench.closing import Closing
from workbench.domain import wire
from workbench.domain.payments import CANCELED, REQUIRES_PAYMENT_METHOD, SUCCEEDED
from workbench.errors import InvalidRequest, WaitExpired, WorkbenchError

_STANDS: Final = (
    "The sandbox's clock stands still, and nothing falls due: move it with bench.clock.advance, or with "
    "POST /sandbox/clock/advance."
)


class PaymentsClient(Closing):
    """`payment_intents`, `charges`, `refunds`, `payouts`, `webhook_endpoints` and the rest of one account.

    `secret_key` may also be a publishable key or an access token: it is sent as it is. The documented
    hosts of charges and plants differ from that of intents; `charges_url` and `plants_url` default to
    `base_url`. All three go without /v1: the client writes the paths. `http` is the httpx client to send
    with; one is made, and closed, when none is given.
    Raises LiveKeyRefused for a live key unless `allow_live`, InvalidRequest for what is no such URL.
    """

    def __init__(  # noqa: PLR0913  one argument per part of the interface that differs by deployment
        self,
        base_url: str,
        secret_key: str,
        *,
        charges_url: str | None = None,
        plants_url: str | None = None,
        http: httpx.Client | None = None,
        allow_live: bool = False,
        sleep: Callable[[float], object] = time.sleep,
    ) -> None:
        self._owned = http is None
        self._http = http or httpx.Client()
        self.calls = Calls(secret_key, self._http, allow_live=allow_live)
        self._sleep = sleep
        self.base_url = host_of(base_url)
        self.charges_url = host_of(charges_url, "charges_url") if charges_url else self.base_url
        self.plants_url = host_of(plants_url, "plants_url") if plants_url else self.base_url
        self.payment_intents = PaymentIntents(self)
        self.charges = Charges(self)
        self.refunds = Refunds(self)
        self.payouts = Payouts(self)
        self.balance = Balance(self)
        self.events = Events(self)
        self.webhook_endpoints = WebhookEndpoints(self)
        self.deliveries = Deliveries(self)
        self.api_keys = ApiKeys(self)
        self.auth = Auth(self)
        self.plants = Plants(self)

    def wait(self, intent_id: str, *, timeout_s: float = 330.0, poll_s: float = 5.0) -> wire.PaymentIntent:
        """Poll an intent until its attempt has ended, one way or the other.

        Nobody answered is not yet nobody paid: after `prompt_timeout`, no new prompt until ten minutes after
        the last one, and none at all once late money has come. A wait that runs out decides nothing.
        Raises WaitExpired after `timeout_s` seconds, those of polling and those of its answers, and at once if it was
        never confirmed. Raises InvalidRequest: seconds in which it could not end.
        """
        _check_spans(timeout_s=timeout_s, poll_s=poll_s)
        started, slept_s = time.monotonic(), 0.0
        while True:
            intent = self.payment_intents.retrieve(intent_id)
            if intent.status in (SUCCEEDED, CANCELED) or (
                intent.status == REQUIRES_PAYMENT_METHOD and intent.last_payment_error
            ):
                return intent
            if intent.status == REQUIRES_PAYMENT_METHOD:
                raise WaitExpired(
                    f"{intent_id} has not been confirmed: there is nothing to wait for.", status=intent.status
                )
            passed_s = time.monotonic() - started
            left_s = timeout_s - max(slept_s, passed_s)
            if left_s <= 0:
                hint = self._why_it_stands(passed_s, timeout_s)
                message = f"{intent_id} is still {intent.status} after {timeout_s:g} s."
                raise WaitExpired(message, hint=hint, status=intent.status)
            self._sleep(min(poll_s, left_s))
            slept_s += min(poll_s, left_s)

    def _why_it_stands(self, passed_s: float, timeout_s: float) -> str:
        """Where real time was let pass at a sandbox whose clock does not go by it: that it stands still."""
        if passed_s < timeout_s or not self.calls.is_sandbox:
            return ""
        try:
            clock = self.calls.send("GET", f"{self.base_url}/sandbox/clock", dict[str, object])
        except WorkbenchError:
            return ""
        return _STANDS if clock.get("mode") == "manual" else ""

    def close(self) -> None:
        """Close the httpx client, if it was made here."""
        if self._owned:
            self._http.close()

    def __repr__(self) -> str:
        return f"PaymentsClient({self.base_url!r}, {self.calls.key!r})"


def _check_spans(*, timeout_s: float, poll_s: float) -> None:
    """Raises InvalidRequest: a limit below zero, or polls between which no time passes."""
    for name, value, holds, wanted in (
        ("timeout_s", timeout_s, timeout_s >= 0, "not negative"),
        ("poll_s", poll_s, poll_s > 0, "more than zero"),
    ):
        if not holds or math.isnan(value):
            raise InvalidRequest(f"{name} must be {wanted}, not {value!r}.", code="parameter_invalid", param=name)
