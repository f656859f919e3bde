"""The merchant's server-side client: the interface of the service over HTTP, and nothing else.

The service has SDKs for web, Android and iOS and none for a backend; this is that client, for the
sandbox and for the real service alike. Amounts of intents are Decimals in kwacha, amounts of charges
whole numbers; no float is accepted.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from types import TracebackType
from typing import Self

import httpx

from workbench.calls import Calls, segment
from workbench.domain import wire
from workbench.domain.payments import CANCELED, REQUIRES_PAYMENT_METHOD, SUCCEEDED
from workbench.errors import (
    InvalidRequest,
    WaitExpired,
)


class PaymentsClient:
    """`payment_intents`, `charges`, `plants`, `auth` and `webhook_endpoints` of one account.

    `secret_key` may also be a publishable key or an access token: it is sent as it is. The documented
    hosts of charges and plants differ from that of intents; `charges_url` and `plants_url` default to
    `base_url`. `http` is the httpx client to send with; one is made, and closed, when none is given.
    Raises LiveKeyRefused for a live key unless `allow_live`.
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
        self.base_url = base_url.rstrip("/")
        self.charges_url = (charges_url or base_url).rstrip("/")
        self.plants_url = (plants_url or base_url).rstrip("/")
        self.payment_intents = PaymentIntents(self)
        self.charges = Charges(self)
        self.plants = Plants(self)
        self.auth = Auth(self)
        self.webhook_endpoints = WebhookEndpoints(self)

    def wait(self, intent_id: str, *, timeout_s: float = 330.0, poll_s: float = 5.0) -> wire.PaymentIntent:
        """Poll an intent until its attempt has ended, one way or the other.

        Raises WaitExpired after `timeout_s` seconds of polling, and at once if it was never confirmed.
        """
        waited_s = 0.0
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
            if waited_s >= timeout_s:
                raise WaitExpired(f"{intent_id} is still {intent.status} after {waited_s:g} s.", status=intent.status)
            self._sleep(poll_s)
            waited_s += poll_s

    def close(self) -> None:
        """Close the httpx client, if it was made here."""
        if self._owned:
            self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"PaymentsClient({self.base_url!r}, {self.calls.key!r})"


class _Resource:
    def __init__(self, client: PaymentsClient) -> None:
        self._client = client


class PaymentIntents(_Resource):
    """Sections 2.1 and 2.2."""

    def create(
        self,
        *,
        amount: Decimal | int,
        currency: str = "ZMW",
        payment_method_types: Sequence[str] = ("mobile_money",),
        description: str | None = None,
        metadata: Mapping[str, str] | None = None,
        idempotency_key: str | None = None,
    ) -> wire.PaymentIntent:
        """Register an attempt to be paid; `amount` is in kwacha, at most two decimals.

        >>> pay.payment_intents.create(amount=Decimal("150.00"), currency="ZMW")  # doctest: +SKIP
        """
        body = {
            "amount": _exact(amount),
            "currency": currency,
            "payment_method_types": list(payment_method_types),
            "description": description,
            "metadata": metadata,
        }
        url = f"{self._client.base_url}/v1/payment_intents"
        return self._client.calls.send("POST", url, wire.PaymentIntent, body=body, headers=_keyed(idempotency_key))

    def confirm(
        self,
        intent_id: str,
        *,
        phone: str,
        provider: str,
        client_secret: str | None = None,
        idempotency_key: str | None = None,
    ) -> wire.PaymentIntent:
        """Send the prompt to the customer's phone, `+260` and nine digits.

        `client_secret` is needed where the client holds a publishable key.
        """
        method = {"type": "mobile_money", "mobile_money": {"phone": phone, "provider": provider}}
        body = {"payment_method": method, "client_secret": client_secret}
        url = f"{self._client.base_url}/v1/payment_intents/{segment(intent_id)}/confirm"
        return self._client.calls.send("POST", url, wire.PaymentIntent, body=body, headers=_keyed(idempotency_key))

    def retrieve(self, intent_id: str, *, client_secret: str | None = None) -> wire.PaymentIntent:
        """The intent as it is now."""
        query = {"client_secret": client_secret} if client_secret else None
        url = f"{self._client.base_url}/v1/payment_intents/{segment(intent_id)}"
        return self._client.calls.send("GET", url, wire.PaymentIntent, query=query)


class Charges(_Resource):
    """Section 2.3."""

    def create(  # noqa: PLR0913  the fields of the request
        self,
        *,
        amount: int,
        channel: str,
        phone: str,
        idempotency_key: str,
        currency: str = "zmw",
        reference: str | None = None,
        metadata: Mapping[str, str] | None = None,
    ) -> wire.Charge:
        """Ask a customer for money in one call; `amount` is a whole number (ngwee in the sandbox).

        `idempotency_key` is yours to choose and to keep: the same key with the same body never
        charges twice. An order's number is a good one.
        Raises PaymentDeclined; `facts["charge"]` names the charge.
        """
        if isinstance(amount, bool) or not isinstance(amount, int):
            raise _not_exact(amount, "a whole number, as an int")
        body = {
            "amount": amount,
            "currency": currency,
            "type": "mobile_money",
            "channel": channel,
            "phone": phone,
            "reference": reference,
            "metadata": metadata,
        }
        url = f"{self._client.charges_url}/v1/charges"
        return self._client.calls.send("POST", url, wire.Charge, body=body, headers=_keyed(idempotency_key), basic=True)

    def retrieve(self, charge_id: str) -> wire.Charge:
        """The charge as it is now."""
        url = f"{self._client.charges_url}/v1/charges/{segment(charge_id)}"
        return self._client.calls.send("GET", url, wire.Charge, basic=True)


class Plants(_Resource):
    """Section 2.4, the sample plant store."""

    def create(self, *, id: int, name: str, tag: str | None = None, token: str | None = None) -> wire.Plant:  # noqa: A002  the field's name
        """Add a plant; `token` is a bearer to use in place of the key."""
        body = {"id": id, "name": name, "tag": tag}
        return self._client.calls.send("POST", f"{self._client.plants_url}/plants", wire.Plant, body=body, key=token)


class Auth(_Resource):
    """Section 4, the illustrative token flow."""

    def token(self, *, email: str, password: str) -> wire.Token:
        """A bearer token, good for 86,400 seconds."""
        url = f"{self._client.base_url}/v1/auth/token"
        return self._client.calls.send("POST", url, wire.Token, body={"email": email, "password": password}, key="")

    def refresh(self, refresh_token: str) -> wire.Token:
        """A new pair for the old, which ends."""
        url = f"{self._client.base_url}/v1/auth/refresh"
        return self._client.calls.send("POST", url, wire.Token, body={"refresh_token": refresh_token}, key="")


class WebhookEndpoints(_Resource):
    """Where events go; assumed, as the interface does not show how an endpoint is registered."""

    def delete(self, endpoint_id: str) -> wire.Deleted:
        """Remove an endpoint: nothing more is sent there."""
        url = f"{self._client.base_url}/v1/webhook_endpoints/{segment(endpoint_id)}"
        return self._client.calls.send("DELETE", url, wire.Deleted)

    def create(self, *, url: str, enabled_events: Sequence[str] = ("*",)) -> wire.WebhookEndpoint:
        """Register an endpoint; the answer holds its signing secret, this once."""
        body = {"url": url, "enabled_events": list(enabled_events)}
        return self._client.calls.send(
            "POST", f"{self._client.base_url}/v1/webhook_endpoints", wire.WebhookEndpoint, body=body
        )


def _exact(amount: Decimal | int) -> Decimal | int:
    if isinstance(amount, bool) or not isinstance(amount, Decimal | int):
        raise _not_exact(amount, 'a Decimal, such as Decimal("150.00"), or an int')
    if isinstance(amount, Decimal) and not amount.is_finite():
        raise _not_exact(amount, "a finite amount")
    return amount


def _not_exact(amount: object, wanted: str) -> InvalidRequest:
    return InvalidRequest(
        f"amount must be {wanted}, not {type(amount).__name__} ({amount!r}).", code="amount_not_exact", param="amount"
    )


def _keyed(idempotency_key: str | None) -> dict[str, str]:
    return {} if idempotency_key is None else {"Idempotency-Key": idempotency_key}
