"""The merchant's server-side client: it uses only the service's HTTP interface."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from decimal import Decimal
from typing import Any, Final, Generic, Protocol, TypeVar, Unpack

import httpx
from msgspec import Struct

from workbench.domain.masking import Secret
from workbench.domain.payments import CANCELED, FAILED, PENDING, REQUIRES_PAYMENT_METHOD, SUCCEEDED
from workbench.domain.wire.base import List, NumberedList
from workbench.domain.wire.keys_and_events import ApiKey, Deleted, Delivery, Event, Plant, Token, WebhookEndpoint
from workbench.domain.wire.payments_and_payouts import Balance, Charge, PaymentIntent, Payout, Refund
from workbench.domain.wire.sandbox_controls import DASHBOARD
from workbench.errors import InvalidRequest, RateLimited, UnexpectedResponse, WaitExpired, WorkbenchError, invalid
from workbench.merchant.calls import Calls, RequestParts, checked_text, host_of, segments
from workbench.resources import Closing


class Identified(Protocol):
    """An object with an id."""

    id: str


T = TypeVar("T", bound=Identified)
Shape = TypeVar("Shape")
Payment = TypeVar("Payment", PaymentIntent, Charge)
_CURSORS: Final = {"starting_after", "ending_before"}
_STANDS: Final = (
    "The sandbox's clock stands still, and nothing falls due: move it with bench.clock.advance, or with "
    "POST /sandbox/clock/advance."
)


class Group:
    """A group of calls to paths below `_version` and `_path`; `_host` names the client's attribute with the host."""

    _host = "base_url"
    _version = "/v1"
    _path: str
    _is_on_dashboards = False
    """True if the interface does not show the group, so that a sandbox may offer it only on its dashboard."""

    def __init__(self, client: "PaymentsClient") -> None:
        self._client = client
        if self._is_on_dashboards and self._path.startswith(client.on_dashboard):
            self._version = DASHBOARD

    def _send(
        self,
        method: str,
        shape: type[Shape],
        *identifiers: str,
        idempotency_key: str | None = None,
        **parts: Unpack[RequestParts],
    ) -> Shape:
        if idempotency_key is not None:
            key = checked_text("idempotency_key", idempotency_key, such_as="order-1")
            parts["headers"] = {"Idempotency-Key": key}
        url = f"{getattr(self._client, self._host)}{self._version}{self._path}{segments(*identifiers)}"
        return self._client.send(method, url, shape, **parts)


class Listed(Group, Generic[T]):
    """A group whose objects, of the type `_shape`, can be listed.

    Each filter is a named argument, so that Python rejects a misspelt filter.
    """

    _shape: type[T]
    _is_on_dashboards = True

    def list(
        self,
        *,
        limit: int = 10,
        starting_after: str | None = None,
        ending_before: str | None = None,
        page: int | None = None,
    ) -> List[T]:
        """A page of `limit` objects, 1 to 100, newest first: older than `starting_after`, newer than `ending_before`.

        Both are ids of objects. A service with numbered pages takes the number `page`, from 1, instead. Raises
        InvalidRequest: ids are given to a service with numbered pages, or a number to one without.
        """
        return self._listed(limit, page, starting_after=starting_after, ending_before=ending_before)

    def each(self) -> Iterator[T]:
        """Yields every object, newest first, page by page; objects created meanwhile are left out."""
        return self._every()

    def _listed(self, limit: int, page: int | None, **parameters: str | None) -> List[T]:
        query = {name: checked_text(name, value) for name, value in parameters.items() if value is not None}
        numbered = self._client.pagination == "page"
        misplaced = _CURSORS & query.keys() if numbered else {"page"} if page is not None else set()
        if misplaced:
            name = min(misplaced)
            paging = "numbers of pages, `page`" if numbered else "the ids of rows, `starting_after`"
            raise invalid(f"{name} does not work here: this service pages its lists by {paging}.", name)
        shape: Any = self._shape
        if not numbered:
            return self._send("GET", List[shape], query={"limit": str(limit), **query})
        place = {"page": str(page or 1), "per_page": str(limit)}
        listed = self._send("GET", NumberedList[shape], query=place | query)
        return List(listed.url, listed.page * listed.per_page < listed.total, listed.data)

    def _every(self, **filters: str | None) -> Iterator[T]:
        """Yields the rows of all pages, by the last id or by number; drops repeated rows if numbered pages shift."""
        after: str | None = None
        number = 1 if self._client.pagination == "page" else None
        yielded = set[str]()
        while True:
            page = self._listed(100, number, starting_after=after, **filters)
            yield from (row for row in page.data if row.id not in yielded)
            if not page.has_more:
                return
            if number is None:
                after = page.data[-1].id
            else:
                number += 1
                yielded.update(row.id for row in page.data)


class Retrieved(Listed[T]):
    """A group whose objects can be listed, and retrieved one by one."""

    def retrieve(self, identifier: str) -> T:
        """The current object with this id. Raises NotFound: there is none."""
        return self._send("GET", self._shape, identifier)


def exact(amount: Decimal | int, *, is_whole: bool = False) -> Decimal | int:
    """Returns `amount`, an int or, unless `is_whole`, a finite Decimal. Raises InvalidRequest: any other value."""
    if isinstance(amount, int) and not isinstance(amount, bool):
        return amount
    if is_whole:
        wanted = "a whole number of the charge's unit (ngwee in the sandbox), as an int"
    elif not isinstance(amount, Decimal):
        wanted = 'a Decimal, such as Decimal("150.00"), or an int'
    elif amount.is_finite():
        return amount
    else:
        wanted = "a finite amount"
    message = f"amount must be {wanted}, not {type(amount).__name__} ({amount!r})."
    raise InvalidRequest(message, code="amount_not_exact", param="amount")


def checked_names(name: str, values: Sequence[str], such_as: str) -> list[str]:
    """Returns `values` as a list; an error calls them `name`, and shows the example `such_as`.

    Raises InvalidRequest: a single string, or a value that is not iterable.
    """
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise invalid(f'{name} must be a list, such as ["{such_as}"], not {values!r}.', name)
    return [*values]


class _AnyToken(Struct):
    """A token response, with the token under any of its possible names, since the interface does not show the name."""

    access_token: str = ""
    token: str = ""
    data: "_AnyToken | None" = None
    refresh_token: str = ""

    def read(self) -> Token:
        """The pair of tokens. Raises UnexpectedResponse: no field contains a token."""
        if self.data is not None:
            return self.data.read()
        if not (access := self.access_token or self.token):
            raise UnexpectedResponse("The service's response has no token: no access_token, token or data.token.")
        return Token(Secret(access), Secret(self.refresh_token))


class Auth(Group):
    """Bearer tokens for an e-mail address and a password, as outlined in section 4 of the interface.

    The interface does not define which field of the response has the token: the client tries all possible names.
    """

    _path = "/auth"

    def token(self, *, email: str, password: str) -> Token:
        """Get a bearer token, valid for 86,400 seconds."""
        return self._send("POST", _AnyToken, "token", body={"email": email, "password": password}, key="").read()

    def refresh(self, refresh_token: str) -> Token:
        """Exchange a refresh token for a new pair; the old pair becomes invalid."""
        body = {"refresh_token": checked_text("refresh_token", refresh_token)}
        return self._send("POST", _AnyToken, "refresh", body=body, key="").read()


class ApiKeys(Listed[ApiKey]):
    """Test keys; lists show them masked, and only `create` and `roll` return a value.

    The interface does not show these calls: they are assumed.
    """

    _path, _shape = "/api_keys", ApiKey

    def create(self, kind: str = "secret") -> ApiKey:
        """Create a key, `secret` or `publishable`; only this response shows its `value`."""
        return self._send("POST", ApiKey, body={"kind": kind})

    def roll(self, key_id: str) -> ApiKey:
        """Replace a key and return the new one with its `value`.

        The old key stops working at once, or a day later if the register lets keys overlap.
        """
        return self._send("POST", ApiKey, key_id, "roll")

    def revoke(self, key_id: str) -> ApiKey:
        """Revoke a key at once. Raises StateConflict for the last secret key."""
        return self._send("DELETE", ApiKey, key_id)


class MerchantBalance(Group):
    """The merchant's balance: pending money, available money and debt."""

    _path, _is_on_dashboards = "/balance", True

    def retrieve(self) -> Balance:
        """The current balance."""
        return self._send("GET", Balance)


class Payouts(Retrieved[Payout]):
    """Payouts: send available money to the merchant's bank, and read or list payouts."""

    _path, _shape = "/payouts", Payout

    def create(
        self,
        *,
        amount: Decimal | int,
        currency: str = "ZMW",
        destination: str | None = None,
        metadata: Mapping[str, str] | None = None,
        idempotency_key: str | None = None,
    ) -> Payout:
        """Pay out `amount`, in major units of the currency, at the coming midnight.

        `destination` is your name for a bank account, `metadata` has texts of your own. Without an `idempotency_key`, a
        repeated call pays out again. Raises StateConflict: more than is available.
        """
        body = {"amount": exact(amount), "currency": currency, "destination": destination, "metadata": metadata}
        return self._send("POST", Payout, idempotency_key=idempotency_key, body=body)


class Plants(Group):
    """The calls of the sample plant store (section 2.4 of the interface)."""

    _host, _version, _path = "plants_url", "", "/plants"

    def create(self, *, id: int, name: str, tag: str | None = None, token: str | None = None) -> Plant:
        """Add a plant to the sample store's catalogue; you choose its `id`, a number, and `tag`, its type.

        `token` is a bearer token to send instead of the key.
        """
        return self._send("POST", Plant, body={"id": id, "name": name, "tag": tag}, key=token)


class PaymentIntents(Retrieved[PaymentIntent]):
    """Payment intents: create one, then confirm it to send the prompt to the customer's phone.

    Sections 2.1 and 2.2 of the interface show these two calls; listing and canceling are assumed.
    """

    _path, _shape = "/payment_intents", PaymentIntent

    def create(
        self,
        *,
        amount: Decimal | int,
        currency: str = "ZMW",
        payment_method_types: Sequence[str] = ("mobile_money",),
        description: str | None = None,
        metadata: Mapping[str, str] | None = None,
        idempotency_key: str | None = None,
    ) -> PaymentIntent:
        """Create an intent to be paid; `amount` is in kwacha, with at most two decimals.

        The customer's prompt shows `description`. Without an `idempotency_key`, a repeated call creates another intent.

        >>> pay.payment_intents.create(amount=Decimal("150.00"), currency="ZMW")  # doctest: +SKIP
        """
        body = {
            "amount": exact(amount),
            "currency": currency,
            "payment_method_types": checked_names("payment_method_types", payment_method_types, "mobile_money"),
            "description": description,
            "metadata": metadata,
        }
        return self._send("POST", PaymentIntent, body=body, idempotency_key=idempotency_key)

    def confirm(
        self,
        intent_id: str,
        *,
        phone: str,
        provider: str,
        client_secret: str | None = None,
        idempotency_key: str | None = None,
    ) -> PaymentIntent:
        """Send the prompt to the customer's phone, `+260` and nine digits; `provider` is the operator, such as `mtn`.

        `client_secret` is required if the client has a publishable key. With an `idempotency_key`, a repeated call
        sends no second prompt.
        """
        method = {"type": "mobile_money", "mobile_money": {"phone": phone, "provider": provider}}
        body = {"payment_method": method, "client_secret": client_secret}
        return self._send("POST", PaymentIntent, intent_id, "confirm", idempotency_key=idempotency_key, body=body)

    def retrieve(self, intent_id: str, *, client_secret: str | None = None) -> PaymentIntent:
        """The current intent; `client_secret` is required if the client has a publishable key."""
        query = {"client_secret": checked_text("client_secret", client_secret)} if client_secret else None
        return self._send("GET", PaymentIntent, intent_id, query=query)

    def cancel(
        self, intent_id: str, *, cancellation_reason: str | None = None, idempotency_key: str | None = None
    ) -> PaymentIntent:
        """Cancel an intent, and withdraw an open prompt; `cancellation_reason` is a text of your own.

        Raises StateConflict if the intent is paid or being paid.
        """
        body = {"cancellation_reason": cancellation_reason}
        return self._send("POST", PaymentIntent, intent_id, "cancel", idempotency_key=idempotency_key, body=body)


class Charges(Retrieved[Charge]):
    """Charges: ask a customer for money in one call, and retrieve or list charges.

    Section 2.3 of the interface shows the call; listing is assumed.
    """

    _host, _path, _shape = "charges_url", "/charges", Charge

    def create(  # noqa: PLR0913  the fields of the request
        self,
        *,
        amount: int,
        channel: str,
        phone: str,
        idempotency_key: str,
        currency: str = "zmw",
        type: str = "mobile_money",
        reference: str | None = None,
        metadata: Mapping[str, str] | None = None,
    ) -> Charge:
        """Ask a customer for money in one call; `amount` is a whole number, in the sandbox of ngwee.

        `channel` is the operator, such as `mtn`, and `phone` the customer's number, `+260` and nine digits. Choose and
        store the `idempotency_key`: the same key with the same body never charges twice. An order number is a good key.
        If the service does not wait for the customer, the charge is `pending`: see `PaymentsClient.wait_charge`. Raises
        PaymentDeclined: the charge failed; `facts["charge"]` names the charge.
        """
        payer = {"type": type, "channel": channel, "phone": phone, "reference": reference, "metadata": metadata}
        body = {"amount": exact(amount, is_whole=True), "currency": currency, **payer}
        return self._send("POST", Charge, idempotency_key=idempotency_key, basic=True, body=body)

    def retrieve(self, charge_id: str) -> Charge:
        """The current charge."""
        return self._send("GET", Charge, charge_id, basic=True)


class Refunds(Retrieved[Refund]):
    """Refunds of charges and intents; `list` and `each` take `charge`.

    The interface does not show these calls: they are assumed.
    """

    _path, _shape = "/refunds", Refund

    def list(
        self,
        *,
        limit: int = 10,
        starting_after: str | None = None,
        ending_before: str | None = None,
        page: int | None = None,
        charge: str | None = None,
    ) -> List[Refund]:
        """A page of refunds, newest first; with `charge`, the refunds of this charge.

        `limit` and the cursors are as for `Listed.list`.
        """
        return self._listed(limit, page, starting_after=starting_after, ending_before=ending_before, charge=charge)

    def each(self, *, charge: str | None = None) -> Iterator[Refund]:
        """Every refund, newest first; with `charge`, every refund of this charge."""
        return self._every(charge=charge)

    def create(
        self,
        *,
        charge: str | None = None,
        payment_intent: str | None = None,
        amount: Decimal | int | None = None,
        reason: str | None = None,
        metadata: Mapping[str, str] | None = None,
        idempotency_key: str | None = None,
    ) -> Refund:
        """Refund either a charge or an intent; without an `amount`, all that is left.

        `amount` is an int of ngwee for a charge, and in kwacha for an intent. Without an `idempotency_key` a repeated
        call refunds again. Raises InvalidRequest: more than is left, or not exact. Raises StateConflict: nothing was
        paid.
        """
        if amount is not None:
            amount = exact(amount, is_whole=charge is not None)
        payment = {"charge": charge, "payment_intent": payment_intent}
        body = {**payment, "amount": amount, "reason": reason, "metadata": metadata}
        return self._send("POST", Refund, idempotency_key=idempotency_key, body=body)


class WebhookEndpoints(Retrieved[WebhookEndpoint]):
    """URLs that receive events: register, change and list them.

    The interface does not show these calls: they are assumed.
    """

    _path, _shape = "/webhook_endpoints", WebhookEndpoint

    def create(self, *, url: str, enabled_events: Sequence[str] = ("*",)) -> WebhookEndpoint:
        """Register an endpoint for the types in `enabled_events`: a type, a family such as `charge.*`, or `*` for all.

        Only this response shows the endpoint's signing secret.
        """
        body = {"url": url, "enabled_events": checked_names("enabled_events", enabled_events, "charge.*")}
        return self._send("POST", WebhookEndpoint, body=body)

    def update(
        self,
        endpoint_id: str,
        *,
        url: str | None = None,
        enabled_events: Sequence[str] | None = None,
        status: str | None = None,
    ) -> WebhookEndpoint:
        """Change the given fields; None keeps a field. `status` is enabled or disabled."""
        wanted = None if enabled_events is None else checked_names("enabled_events", enabled_events, "charge.*")
        body = {"url": url, "enabled_events": wanted, "status": status}
        return self._send("PATCH", WebhookEndpoint, endpoint_id, body=body)

    def roll_secret(self, endpoint_id: str) -> WebhookEndpoint:
        """Replace the signing secret; only this response shows the new one.

        For a day the old secret signs messages too, if a message has room for two signatures.
        """
        return self._send("POST", WebhookEndpoint, endpoint_id, "roll_secret")

    def delete(self, endpoint_id: str) -> Deleted:
        """Delete an endpoint; no further events are sent to it."""
        return self._send("DELETE", Deleted, endpoint_id)


class Events(Retrieved[Event]):
    """Events about everything that happened; `list` and `each` take `type`, `created_since` and `search`."""

    _path, _shape = "/events", Event

    def list(  # noqa: PLR0913  the page, and the filters
        self,
        *,
        limit: int = 10,
        starting_after: str | None = None,
        ending_before: str | None = None,
        page: int | None = None,
        type: str | None = None,
        created_since: str | None = None,
        search: str | None = None,
    ) -> List[Event]:
        """A page of events, newest first; `limit` and the cursors are as for `Listed.list`.

        `type` is a type or a family such as `charge.*`, `created_since` the earliest moment, such as
        `2026-01-05T06:00:00Z`. `search` finds a text in events; digits also find phone numbers that end in them.
        """
        cursors = {"starting_after": starting_after, "ending_before": ending_before}
        return self._listed(limit, page, **cursors, type=type, created_since=created_since, search=search)

    def each(
        self, *, type: str | None = None, created_since: str | None = None, search: str | None = None
    ) -> Iterator[Event]:
        """Every event, newest first, filtered by `type`, `created_since` and `search` as for `list`."""
        return self._every(type=type, created_since=created_since, search=search)

    def replay(self, event_id: str) -> List[Delivery]:
        """Send an event again to every enabled endpoint that takes its type; returns the deliveries."""
        return self._send("POST", List[Delivery], event_id, "replay")


class Deliveries(Retrieved[Delivery]):
    """Deliveries of events to endpoints; `list` and `each` take `status`, `event` and `endpoint`."""

    _path, _shape = "/deliveries", Delivery

    def list(  # noqa: PLR0913  the page, and the filters
        self,
        *,
        limit: int = 10,
        starting_after: str | None = None,
        ending_before: str | None = None,
        page: int | None = None,
        status: str | None = None,
        event: str | None = None,
        endpoint: str | None = None,
    ) -> List[Delivery]:
        """A page of deliveries, newest first, by `status` (or several, with commas), `event` id and `endpoint` id.

        `limit` and the cursors are as for `Listed.list`.
        """
        cursors = {"starting_after": starting_after, "ending_before": ending_before}
        return self._listed(limit, page, **cursors, status=status, event=event, endpoint=endpoint)

    def each(
        self, *, status: str | None = None, event: str | None = None, endpoint: str | None = None
    ) -> Iterator[Delivery]:
        """Every delivery, newest first, filtered by `status`, `event` and `endpoint` as for `list`."""
        return self._every(status=status, event=event, endpoint=endpoint)

    def replay(self, delivery_id: str) -> Delivery:
        """Send a delivery again: the same body, a new timestamp and signature; the retries start over."""
        return self._send("POST", Delivery, delivery_id, "replay")

    def replay_dead_letters(self) -> List[Delivery]:
        """Resend every dead letter whose endpoint is enabled; returns the deliveries."""
        return self._client.send("POST", f"{self._client.base_url}{self._version}/dead_letters/replay", List[Delivery])


class PaymentsClient(Closing):
    """The groups of calls for one account: `payment_intents`, `charges`, `refunds`, `payouts`, and so on.

    `secret_key` may also be a publishable key or an access token: it is sent unchanged. The documented hosts of charges
    and plants differ from that of intents; `charges_url` and `plants_url` default to `base_url`. The three URLs have no
    /v1: the client adds the paths. `http` is the httpx client to use; by default this client creates one, and closes
    it. `pagination` is how the service pages its lists: by `cursor`, or by the number of a `page`. `sleep` is called to
    pause between polls, with a number of seconds. Raises LiveKeyRefused for a live key unless `allow_live`,
    InvalidRequest for a URL or a `pagination` that cannot be used.
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
        pagination: str = "cursor",
    ) -> None:
        self.owns_http = http is None
        self._http = http or httpx.Client()
        self.calls = Calls(secret_key, self._http, allow_live=allow_live)
        self._sleep = sleep
        if pagination not in ("cursor", "page"):
            raise invalid(f"pagination is 'cursor' or 'page', not {pagination!r}.", "pagination")
        self.pagination = pagination
        self.headers: Mapping[str, str] = {}
        """Headers that go with every request."""
        self.on_dashboard: tuple[str, ...] = ()
        """Beginnings of the paths of groups that are called on a sandbox's dashboard."""
        self.base_url = host_of(base_url)
        self.charges_url = host_of(charges_url, "charges_url") if charges_url else self.base_url
        self.plants_url = host_of(plants_url, "plants_url") if plants_url else self.base_url
        self.payment_intents = PaymentIntents(self)
        self.charges = Charges(self)
        self.refunds = Refunds(self)
        self.payouts = Payouts(self)
        self.balance = MerchantBalance(self)
        self.events = Events(self)
        self.webhook_endpoints = WebhookEndpoints(self)
        self.deliveries = Deliveries(self)
        self.api_keys = ApiKeys(self)
        self.auth = Auth(self)
        self.plants = Plants(self)

    def in_mode(self, headers: Mapping[str, str], on_dashboard: tuple[str, ...] = ()) -> "PaymentsClient":
        """A copy of this client, with the same key and connection, that sends `headers` with every request.

        Closing the copy leaves the connection open. Calls that the interface does not show go to the sandbox's
        dashboard if their path begins with one of `on_dashboard`.
        """
        other = copy(self)
        other.owns_http, other.headers, other.on_dashboard = False, headers, on_dashboard
        for name, group in vars(self).items():
            if isinstance(group, Group):
                setattr(other, name, type(group)(other))
        return other

    def send(self, method: str, url: str, shape: type[Shape], **parts: Unpack[RequestParts]) -> Shape:
        """Send one request with this client's key and headers; returns and raises as `Calls.send` does."""
        if self.headers:
            parts["headers"] = {**self.headers, **parts.get("headers", {})}
        return self.calls.send(method, url, shape, **parts)

    def wait(self, intent_id: str, *, timeout_s: float = 330.0, poll_s: float = 5.0) -> PaymentIntent:
        """Poll an intent every `poll_s` seconds until its attempt has ended, and return the intent.

        An unanswered prompt may still be paid: after `prompt_timeout`, send no new prompt until ten minutes after the
        last one, and none at all once late money has come. If the wait times out, the outcome is still unknown. After a
        429 the client pauses for as long as `Retry-After` says. Raises WaitExpired after `timeout_s` seconds, counted
        in pauses or in real time; also at once if the intent was never confirmed. Raises InvalidRequest: `timeout_s` is
        negative, or `poll_s` is not more than zero.
        """

        def has_ended(intent: PaymentIntent) -> bool:
            if intent.status == REQUIRES_PAYMENT_METHOD and not intent.last_payment_error:
                message = f"{intent_id} has not been confirmed, so there is nothing to wait for."
                raise WaitExpired(message, status=intent.status)
            return intent.status in (SUCCEEDED, CANCELED, FAILED, REQUIRES_PAYMENT_METHOD)

        return self._wait(intent_id, self.payment_intents.retrieve, has_ended, timeout_s, poll_s)

    def wait_charge(self, charge_id: str, *, timeout_s: float = 330.0, poll_s: float = 5.0) -> Charge:
        """Poll a charge every `poll_s` seconds until it is no longer pending; returns the charge.

        For a service that responds before the customer has answered. Raises WaitExpired, after `timeout_s` seconds, and
        InvalidRequest as `wait` does.
        """
        return self._wait(charge_id, self.charges.retrieve, lambda charge: charge.status != PENDING, timeout_s, poll_s)

    def _wait(
        self,
        identifier: str,
        retrieve: Callable[[str], Payment],
        has_ended: Callable[[Payment], bool],
        timeout_s: float,
        poll_s: float,
    ) -> Payment:
        if not timeout_s >= 0:
            raise invalid(f"timeout_s must be not negative, not {timeout_s!r}.", "timeout_s")
        if not poll_s > 0:
            raise invalid(f"poll_s must be more than zero, not {poll_s!r}.", "poll_s")
        started, slept_s, status = time.monotonic(), 0.0, "unknown"
        while True:
            pause_s = poll_s
            try:
                payment = retrieve(identifier)
            except RateLimited as limited:
                pause_s = max(poll_s, limited.facts.get("retry_after_s", poll_s))
            else:
                if has_ended(payment):
                    return payment
                status = payment.status
            passed_s = time.monotonic() - started
            left_s = timeout_s - max(slept_s, passed_s)
            if left_s <= 0:
                hint = self._clock_hint(passed_s, timeout_s)
                raise WaitExpired(f"{identifier} is still {status} after {timeout_s:g} s.", hint=hint, status=status)
            self._sleep(min(pause_s, left_s))
            slept_s += min(pause_s, left_s)

    def _clock_hint(self, passed_s: float, timeout_s: float) -> str:
        """A hint for an expired wait, if real time has passed while the sandbox's clock is manual; otherwise empty."""
        if passed_s < timeout_s or not self.calls.is_sandbox:
            return ""
        try:
            clock = self.send("GET", f"{self.base_url}/sandbox/clock", dict[str, object])
        except WorkbenchError:
            return ""
        return _STANDS if clock.get("mode") == "manual" else ""

    def close(self) -> None:
        """Close the httpx client, unless it was passed in."""
        if self.owns_http:
            self._http.close()

    def __repr__(self) -> str:
        return f"PaymentsClient({self.base_url!r}, {self.calls.key!r})"
