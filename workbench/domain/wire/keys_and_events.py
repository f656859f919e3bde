"""Bodies of API keys, tokens and accounts, of webhook endpoints, events and deliveries, and of the sample API."""

import re
from collections.abc import Hashable, Mapping
from typing import Annotated, Any, Final

from msgspec import UNSET, Meta, UnsetType, field

from workbench.domain import webhooks
from workbench.domain.gaps import Gaps
from workbench.domain.ids import ACTIVE, KEY_PREFIXES, REVOKED, ROLLED
from workbench.domain.webhooks import TEST_MESSAGES
from workbench.domain.wire.base import (
    MAX_AT_MS,
    CreatedObject,
    DateTime,
    FieldSource,
    Int64,
    List,
    ListQuery,
    Live,
    Moment,
    NeverNegative,
    OfSandbox,
    Positive,
    Schema,
    Seconds,
    ShownSecret,
    View,
    by_register,
    comma_separated,
    is_id,
    meaning,
    parameter,
    required,
)
from workbench.domain.wire.payments_and_payouts import Charge, PaymentIntent, Payout, Refund

API_VERSION = "1"
ENDPOINTS: Final = "/v1/webhook_endpoints"
MEDIA_TYPES: Final = {"envelope": "application/json", "cloudevents": "application/cloudevents+json"}
"""Value of `event_payload` → the media type of a message."""
EMAIL: Final = re.compile(r"[^@\x00-\x20\x7f]+@[^@\x00-\x20\x7f]+")
"""Matches an e-mail address; JSON Schema interprets the pattern in the same way."""

BEARER: Final = "Bearer"


def _login_field(if_any: str) -> Meta:
    """The description of a login's e-mail address or password: `if_any` if the register accepts almost any.

    If the register accepts only one login, the description says where the sandbox shows it.
    """
    says = {
        "any": if_any,
        "one_account": "The e-mail address, or the password, that the sandbox printed when it started.",
    }
    return by_register(lambda gaps: {"description": says[gaps.token_credentials]})


class TokenRequest(View):
    """The e-mail address and the password that get a bearer token (section 4 of the interface, illustrative)."""

    __source__ = FieldSource("4", ("email", "password"))
    email: Annotated[str, meaning(pattern=f"^{EMAIL.pattern}$"), _login_field("Any e-mail address.")]
    password: Annotated[str, meaning(minLength=1), _login_field("Any password except `wrong`.")]


class RefreshRequest(View):
    """A refresh token (section 4 of the interface, illustrative).

    Empty if the bearer token in the header is to be refreshed.
    """

    # Without a bearer in the header, which this operation does not ask for, the body is what names the pair.
    __whole__ = required("refresh_token")
    refresh_token: str | None = None


class Token(View):
    """A bearer token for 86,400 s, as section 4 of the interface describes it.

    The names of the fields are assumed (RFC 6749 §5.1).
    """

    access_token: Annotated[ShownSecret, meaning("Sent as `Authorization: Bearer` for 86400 seconds.")]
    refresh_token: Annotated[ShownSecret, meaning("Works once, for one new pair of tokens.")]
    token_type: Annotated[str, meaning(const=BEARER)] = BEARER
    expires_in: Annotated[int, meaning(const=86_400)] = 86_400


class NamedToken(View):
    """A `Token` with the access token in `token`."""

    token: Annotated[ShownSecret, meaning("Sent as `Authorization: Bearer` for 86400 seconds.")]
    refresh_token: Annotated[ShownSecret, meaning("Works once, for one new pair of tokens.")]
    token_type: Annotated[str, meaning(const=BEARER)] = BEARER
    expires_in: Annotated[int, meaning(const=86_400)] = 86_400


class WrappedToken(View):
    """A `Token` with all fields in `data`."""

    data: NamedToken


class CreateApiKey(View):
    """The kind of a new key, secret or publishable. The interface does not show this object: it is assumed."""

    __source__ = FieldSource(gap="5")
    kind: Annotated[str, meaning(enum=[*KEY_PREFIXES])] = "secret"


class ApiKey(CreatedObject):
    """An API key: `masked` identifies it in lists; `value` is shown once, when the key is created or rolled.

    The interface does not show this object: it is assumed.
    """

    __source__ = FieldSource(gap="5")
    id: Annotated[str, is_id("key")]
    kind: Annotated[str, meaning(enum=[*KEY_PREFIXES])]
    status: Annotated[str, meaning(enum=[ACTIVE, ROLLED, REVOKED])]
    masked: str
    value: Annotated[ShownSecret, meaning("The key itself; shown once, when it is created or rolled.")] | UnsetType = (
        UNSET
    )
    object: Annotated[str, meaning(const="api_key")] = "api_key"
    works_until: (
        Annotated[Seconds, meaning("When a rolled key stops working, if old keys still work for a while.")] | UnsetType
    ) = UNSET


MAX_NAME: Final = 40


class NewAccount(OfSandbox):
    """Another merchant in the same sandbox; `name` is what a customer reads in the prompt."""

    name: Annotated[str, meaning(minLength=1, maxLength=MAX_NAME, pattern=r"[^\s\x1c-\x1f\x85]")]


class NewAccountKeys(OfSandbox):
    """A new merchant's keys, shown this once."""

    id: Annotated[str, is_id("acct")]
    name: str
    secret_key: ShownSecret
    publishable_key: ShownSecret
    object: Annotated[str, meaning(const="account")] = "account"


class MerchantKeys(OfSandbox):
    """The merchant's oldest active keys; the publishable key is empty if the last one was revoked."""

    secret_key: ShownSecret
    publishable_key: ShownSecret
    object: Annotated[str, meaning(const="keys")] = "keys"


class NewPlant(View):
    """A new plant of the sample API (section 2.4 of the interface)."""

    __source__ = FieldSource("2.4", ("id", "name", "tag"))
    id: Annotated[Int64, meaning("Identification number of the plant.", format="int64")]
    name: Annotated[str, meaning("Name of the plant.")]
    tag: Annotated[str, meaning("Tag that specifies the type.")] | UnsetType = UNSET


class Plant(View):
    """A plant of the sample API, without the id that the request gave it (section 2.4 of the interface)."""

    __source__ = FieldSource("2.4", ("name", "tag"))
    name: Annotated[str, meaning("Name of the plant.")]
    tag: Annotated[str, meaning("Tag that specifies the type.")] | UnsetType = UNSET


class PlantError(View):
    """The error of the sample API (section 2.4 of the interface)."""

    __source__ = FieldSource("2.4", ("error", "message"))
    error: Annotated[int, Meta(ge=-(2**31), le=2**31 - 1), meaning("Error code.", format="int32")]
    message: Annotated[str, meaning("Error text.")]


EndpointId = Annotated[str, is_id("we")]
EventId = Annotated[str, is_id("evt")]
SHOWN_STATES = [webhooks.PENDING, webhooks.DELIVERED, webhooks.DEAD_LETTER]
_SIGNING = "The secret that signs the messages; shown once, when the endpoint is created or its secret is rolled."
_HOST = rf"({webhooks.HOST_NAME.pattern}|127\.0\.0\.[1-9]|\[::1\])"
_PORT = "(:([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5]))?"
_URL = (
    "http or https, to a name or to this machine's loopback. A public address in digits is taken too, a private one "
    "refused; a name is looked up at each attempt."
)
Url = Annotated[str, meaning(_URL, pattern=rf"^https?://{_HOST}{_PORT}([/?#][!-~]*)?$")]


def _event_types(gaps: Gaps) -> Schema:
    return {"enum": [*webhooks.types_of(gaps.event_types)]}


def _event_names(gaps: Gaps) -> Schema:
    """The schema of the names that a filter accepts: `*`, families and types of events."""
    types = webhooks.types_of(gaps.event_types)
    return {"enum": ["*", *dict.fromkeys(webhooks.names_of(event_type)[1] for event_type in types), *types]}


EventFilter = Annotated[list[str], by_register(lambda gaps: {"items": _event_names(gaps), "minItems": 1})]


class CreateWebhookEndpoint(View):
    """A URL that receives events, and the events that it receives.

    The interface does not show this object: it is assumed.
    """

    __source__ = FieldSource(gap="6")
    url: Url
    enabled_events: EventFilter = field(default_factory=lambda: ["*"])


class UpdateWebhookEndpoint(View):
    """Changes of an endpoint; an omitted field keeps its value, `status` is enabled or disabled.

    The interface does not show this object: it is assumed.
    """

    __source__ = FieldSource(gap="6")
    url: Url | None = None
    enabled_events: EventFilter | None = None
    status: Annotated[str, meaning(enum=[webhooks.ENABLED, webhooks.DISABLED])] | None = None


class WebhookEndpoint(CreatedObject):
    """A URL that receives events; `secret` is shown once, when the endpoint is created or its secret is rolled.

    Until `secret_overlap_until` older secrets sign messages too. The interface does not show this object: it is
    assumed.
    """

    __source__ = FieldSource(gap="6")
    id: EndpointId
    url: str
    enabled_events: list[str]
    status: Annotated[str, meaning(enum=[webhooks.ENABLED, webhooks.DISABLED])]
    object: Annotated[str, meaning(const="webhook_endpoint")] = "webhook_endpoint"
    secret: Annotated[ShownSecret, meaning(_SIGNING)] | UnsetType = UNSET
    secret_overlap_until: Seconds | None = None


class Deleted(View):
    """Confirms that an object was deleted. The interface does not show this object: it is assumed."""

    id: str
    object: str
    deleted: Annotated[bool, meaning(const=True)] = True


class EventData(View):
    """The object as it was when the event happened, and what changed."""

    __source__ = FieldSource(gap="6")
    object: dict[str, Any]
    """A dict when a client reads it; the service writes it from the object's struct."""
    previous_attributes: dict[str, Any] = field(default_factory=dict)


class EventRequest(View):
    """The request that caused the event; both fields are None if no request caused the event."""

    __source__ = FieldSource(gap="6")
    id: str | None = None
    idempotency_key: str | None = None


class Event(View):
    """The body of a webhook; its names and members are assumed, as section 6 of the interface leaves them open."""

    __source__ = FieldSource(gap="6")
    id: EventId
    type: Annotated[str, by_register(_event_types)]
    timestamp: DateTime
    data: EventData
    request: EventRequest
    api_version: Annotated[str, meaning(const=API_VERSION)] = API_VERSION
    livemode: Live = False


class CloudEvent(View):
    """The body of a webhook as CloudEvents 1.0 in structured mode, if the register's `event_payload` says so.

    Members that CloudEvents does not define are extension attributes; `data` is the same as in an `Event`.
    """

    __source__ = Event.__source__
    specversion: Annotated[str, meaning(const="1.0")]
    id: EventId
    source: Annotated[str, meaning("This service.", format="uri-reference")]
    type: Annotated[str, by_register(_event_types)]
    subject: Annotated[str, meaning("The id of the object that the event is about.")]
    time: DateTime
    datacontenttype: Annotated[str, meaning(const="application/json")]
    data: EventData
    apiversion: Annotated[str, meaning(const=API_VERSION)]
    livemode: Live
    requestid: str | UnsetType = UNSET
    idempotencykey: str | UnsetType = UNSET

    @property
    def timestamp(self) -> str:
        """The moment of the event, under the name that `Event` uses."""
        return self.time

    @property
    def request(self) -> EventRequest:
        """The request that caused the event, under the name that `Event` uses."""
        return EventRequest(self.requestid or None, self.idempotencykey or None)


ABOUT: Final[Mapping[str, type[View]]] = {
    "payment_intent": PaymentIntent, "charge": Charge, "refund": Refund, "payout": Payout,
    "webhook_endpoint": WebhookEndpoint,
}  # fmt: skip
"""First part of an event's type → the struct of its object."""
OTHER_FORM: Final[Mapping[Hashable, Hashable]] = {Event: CloudEvent, List[Event]: List[CloudEvent]}
"""Struct of a response → the struct of its other format; both have the same attributes."""
_SEARCH = "Only rows whose payload contains this text; three digits or more also find numbers that end with them."


class EventsQuery(ListQuery):
    """Filters events by type or family such as `charge.*`, by a first moment (RFC 3339), and by a text in them."""

    type: (
        Annotated[str, parameter("Only events of this type, or of this family of types."), by_register(_event_names)]
        | None
    ) = None
    created_since: Annotated[Moment, parameter("Only events of this moment or later.")] | None = None
    search: Annotated[str, Meta(min_length=1, max_length=100, description=_SEARCH)] | None = None


class DeliveryAttempt(View):
    """One attempt; if no response came, `status_code` is None and `fault` says why.

    `answer` is the first 20,000 bytes of the response.
    """

    __source__ = FieldSource(gap="6")
    number: Positive
    at: Seconds
    latency_ms: NeverNegative
    status_code: int | None
    fault: str | None
    answer: str


class Delivery(CreatedObject):
    """One event on its way to one endpoint: pending, delivered or dead_letter.

    The interface does not show this object: it is assumed.
    """

    __source__ = FieldSource(gap="6")
    id: Annotated[str, is_id("del")]
    status: Annotated[str, meaning(enum=SHOWN_STATES)]
    event: EventId
    event_type: str
    endpoint: EndpointId
    url: str
    attempts: list[DeliveryAttempt]
    next_attempt_at: Seconds | None = None
    object: Annotated[str, meaning(const="delivery")] = "delivery"


class DeliveriesQuery(ListQuery):
    """Filters deliveries by states, separated by commas, by event and by endpoint."""

    status: Annotated[str, comma_separated("Only deliveries in one of these states", enum=SHOWN_STATES)] | None = None
    event: Annotated[str, parameter("Only deliveries of this event.")] | None = None
    endpoint: Annotated[str, parameter("Only deliveries to this endpoint.")] | None = None


class DeliveryFaults(OfSandbox):
    """Faults of deliveries to an endpoint: `duplicate`, `out_of_order`, both or neither."""

    faults: Annotated[list[str], meaning(items={"enum": [*webhooks.FAULTS]})] = field(default_factory=list)


class FaultyEndpoint(OfSandbox):
    """An endpoint and the faults of deliveries to it."""

    id: EndpointId
    faults: Annotated[list[str], meaning(items={"enum": [*webhooks.FAULTS]})]
    object: str = "webhook_endpoint"


_SigningEndpoint = Annotated[
    EndpointId, meaning("The endpoint whose secret signs; by default the newest enabled endpoint.")
]
_SignedAt = Annotated[
    int, Meta(ge=0, le=MAX_AT_MS // 1000), meaning("Seconds since 1970; by default this machine's time.")
]


class Sign(OfSandbox):
    """A message to sign; `how` names its deliberate fault. The signatures of `right` and `several` have no fault."""

    body: Annotated[str, meaning("The text to sign, byte by byte.")]
    how: Annotated[str, meaning(enum=[*TEST_MESSAGES])] = "right"
    endpoint: _SigningEndpoint | None = None
    message_id: Annotated[str, meaning("By default the id in the body.")] | None = None
    timestamp: _SignedAt | None = None


class Signed(OfSandbox):
    """A message to post to your endpoint: the exact body, and its headers."""

    body: str
    headers: dict[str, str]
    object: Annotated[str, meaning(const="signed_message")] = "signed_message"
