"""The bodies and queries of the service, as structs: requests, responses and events."""

import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Annotated, Any, ClassVar, Final, Generic, TypeVar

from msgspec import UNSET, Meta, UnsetType, field

from workbench.domain.gaps import Gaps
from workbench.domain.ids import ACTIVE, KEY_PREFIXES, REVOKED, ROLLED
from workbench.domain.money import ZMW
from workbench.domain.payments import (
    CHARGE_TRANSITIONS,
    INTENT_TRANSITIONS,
    MOBILE_MONEY,
    PAYOUT_TRANSITIONS,
    REFUND_TRANSITIONS,
)
from workbench.domain.webhooks import DEAD_LETTER, DELIVERED, DISABLED, ENABLED, EVENT_TYPES, PENDING
from workbench.domain.wire.base import (
    EVENT_NAMES,
    MOMENT,
    PHONE,
    TOO_MUCH,
    ChargeAmount,
    ChargeId,
    DateTime,
    EndpointId,
    EventFilter,
    EventId,
    FailureCode,
    Int32,
    Int64,
    IntentAmount,
    IntentId,
    Live,
    LowerCurrency,
    MajorAmount,
    MaskedPhone,
    MethodTypes,
    MobileMoneyType,
    NeverNegative,
    OperatorId,
    OperatorName,
    PayoutAmount,
    Phone,
    Positive,
    Schema,
    Seconds,
    Source,
    UpperCurrency,
    Url,
    View,
    Zmw,
    by_register,
    is_id,
    meaning,
    one_of,
    only,
    operator_that,
    parameter,
    states,
)

EMAIL: Final = re.compile(r"[^@\x00-\x20\x7f]+@[^@\x00-\x20\x7f]+")
"""Spelled so that it means the same as a pattern of JSON Schema."""


class CreatePaymentIntent(View):
    """Section 2.1."""

    __source__: ClassVar[Source] = Source(
        "2.1", ("amount", "currency", "payment_method_types", "description"), gap="2.5"
    )
    amount: IntentAmount
    currency: UpperCurrency
    payment_method_types: MethodTypes
    description: Annotated[str, meaning("Free text; the customer reads its beginning in the prompt.")] | None = None
    metadata: dict[str, str] = field(default_factory=dict)


class MobileMoney(View):
    """Section 2.2."""

    __source__: ClassVar[Source] = Source("2.2", ("phone", "provider"))
    phone: Phone
    provider: OperatorName


class MobileMoneyMethod(View):
    """Section 2.2: the required container."""

    __source__: ClassVar[Source] = Source("2.2", ("type", "mobile_money"))
    type: MobileMoneyType
    mobile_money: MobileMoney


def _needs_client_secret(gaps: Gaps) -> dict[str, Any]:
    is_needed = gaps.client_secret_on_confirm == "always"  # noqa: S105  a choice of the register
    return {"required": ["payment_method", "client_secret"]} if is_needed else {}


class ConfirmPaymentIntent(View):
    """Section 2.2."""

    __source__: ClassVar[Source] = Source("2.2", ("payment_method",))
    __whole__ = _needs_client_secret
    payment_method: MobileMoneyMethod
    client_secret: Annotated[str, meaning("Needed with a publishable key; checked whenever it is sent.")] | None = None


def _needs_reference(gaps: Gaps) -> dict[str, Any]:
    shown = ["amount", "currency", "type", "channel", "phone", "reference"]
    return {"required": shown} if gaps.required_fields == "with_reference" else {}


class CreateCharge(View):
    """Section 2.3."""

    __source__: ClassVar[Source] = Source(
        "2.3", ("amount", "currency", "type", "channel", "phone", "reference"), gap="2.5"
    )
    __whole__ = _needs_reference
    amount: Annotated[Int64, ChargeAmount]
    currency: LowerCurrency
    type: MobileMoneyType
    channel: OperatorName
    phone: Phone
    reference: Annotated[str, meaning("The merchant's own reference for the order.")] | None = None
    metadata: dict[str, str] = field(default_factory=dict)


class NewPlant(View):
    """Section 2.4."""

    __source__: ClassVar[Source] = Source("2.4", ("id", "name", "tag"))
    id: Annotated[Int64, meaning("Identification number of the plant.", format="int64")]
    name: Annotated[str, meaning("Name of the plant.")]
    tag: Annotated[str, meaning("Tag that specifies the type.")] | UnsetType = UNSET


class TokenRequest(View):
    """Section 4, illustrative."""

    __source__: ClassVar[Source] = Source("4", ("email", "password"))
    email: Annotated[str, meaning("Any e-mail address.", pattern=f"^{EMAIL.pattern}$")]
    password: Annotated[str, meaning("Any; the password `wrong` is wrong.", minLength=1)]


def _names_the_pair(gaps: Gaps) -> dict[str, Any]:  # noqa: ARG001  one signature
    """Without a bearer in the header, which this operation does not ask for, the body is what names the pair."""
    return {"required": ["refresh_token"]}


class RefreshRequest(View):
    """Section 4, illustrative; empty when the bearer in the header is what is refreshed."""

    __whole__ = _names_the_pair
    refresh_token: str | None = None


class CreateWebhookEndpoint(View):
    """Assumed."""

    __source__: ClassVar[Source] = Source(gap="6")
    url: Url
    enabled_events: EventFilter = field(default_factory=lambda: ["*"])


class UpdateWebhookEndpoint(View):
    """Assumed: what is left out stays as it is; `status` is enabled or disabled."""

    __source__: ClassVar[Source] = Source(gap="6")
    url: Url | None = None
    enabled_events: EventFilter | None = None
    status: Annotated[str, one_of([ENABLED, DISABLED])] | None = None


class CancelPaymentIntent(View):
    """Assumed."""

    cancellation_reason: str | None = None


def _of_one(gaps: Gaps) -> dict[str, Any]:  # noqa: ARG001  one signature
    """Of a charge or of an intent, each with its unit."""
    of_charge = {"charge": {"type": "string"}, "payment_intent": {"type": "null"}, "amount": {"multipleOf": 1}}
    of_intent = {
        "payment_intent": {"type": "string"},
        "charge": {"type": "null"},
        "amount": {"multipleOf": Decimal("0.01"), "exclusiveMaximum": TOO_MUCH},
    }
    return {
        "oneOf": [
            {"required": ["charge"], "properties": of_charge},
            {"required": ["payment_intent"], "properties": of_intent},
        ]
    }


class CreateRefund(View):
    """Assumed: of a charge or of an intent; `amount` in the unit of what it refunds, all that is left without it."""

    __whole__ = _of_one
    charge: str | None = None
    payment_intent: str | None = None
    amount: Annotated[Decimal, meaning(exclusiveMinimum=0)] | None = None
    reason: str | None = None
    metadata: dict[str, str] = field(default_factory=dict)


class CreatePayout(View):
    """Assumed: `amount` in major units, `destination` is the merchant's own name for an account."""

    amount: PayoutAmount
    currency: UpperCurrency
    destination: str | None = None
    metadata: dict[str, str] = field(default_factory=dict)


class CreateApiKey(View):
    """Assumed: `kind` is secret or publishable."""

    __source__: ClassVar[Source] = Source(gap="5")
    kind: Annotated[str, one_of(KEY_PREFIXES)] = "secret"


T = TypeVar("T")


class List(View, Generic[T]):
    """A page of a list, newest first, to go through as it is; `has_more` tells whether there are rows beyond it."""

    __source__: ClassVar[Source] = Source(relies=("pagination",))
    url: str
    has_more: bool
    data: list[T]
    object: str = "list"

    def __len__(self) -> int:
        return len(self.data)

    def __iter__(self) -> Iterator[T]:
        return iter(self.data)

    def __getitem__(self, place: int) -> T:
        return self.data[place]

    def _told(self) -> list[str]:
        return [f"count={len(self)}", *super()._told(), *(["data=[]"] if not self.data else [])]


class UssdPrompt(View):
    """The prompt that waits on a handset."""

    phone: MaskedPhone
    expires_at: Seconds


class NextAction(View):
    """What has to happen before the payment goes on."""

    type: Annotated[str, only("ussd_prompt")]
    ussd_prompt: UssdPrompt


class PaymentError(View):
    """Why the last attempt failed."""

    __source__: ClassVar[Source] = Source(gap="2.5")
    code: FailureCode
    message: str
    charge: ChargeId | None = None


class ShownMobileMoney(MobileMoney):
    """Section 2.2."""

    __source__: ClassVar[Source] = Source(gap="2.5")
    __prints_as__: ClassVar[str | None] = "MobileMoney"
    phone: MaskedPhone
    provider: OperatorId


class ShownMethod(MobileMoneyMethod):
    """Section 2.2: the required container."""

    __source__: ClassVar[Source] = Source(gap="2.5")
    __prints_as__: ClassVar[str | None] = "MobileMoneyMethod"
    type: MobileMoneyType
    mobile_money: ShownMobileMoney


class PaymentIntent(View):
    """Section 2.1: id and client_secret are shown, the rest is assumed."""

    __source__: ClassVar[Source] = Source(
        "2.1",
        ("id", "client_secret"),
        gap="2.5",
        relies=("currency_case", "intent_fields", "intent_states", "operator_ids"),
    )
    id: IntentId
    client_secret: Annotated[str, meaning("Used to confirm the intent; not in events.")] | UnsetType = UNSET
    object: Annotated[str, only("payment_intent")] | UnsetType = "payment_intent"
    amount: MajorAmount | UnsetType = UNSET
    currency: Zmw | UnsetType = UNSET
    status: Annotated[str, states(INTENT_TRANSITIONS)] = ""
    description: str | UnsetType | None = UNSET
    payment_method_types: list[str] | UnsetType = UNSET
    payment_method: ShownMethod | UnsetType | None = UNSET
    next_action: NextAction | UnsetType | None = UNSET
    last_payment_error: PaymentError | UnsetType | None = UNSET
    latest_charge: ChargeId | UnsetType | None = UNSET
    metadata: dict[str, str] | UnsetType = UNSET
    warnings: list[str] | UnsetType = UNSET
    canceled_at: Seconds | UnsetType | None = UNSET
    cancellation_reason: str | UnsetType | None = UNSET
    created: Seconds | UnsetType = UNSET
    livemode: Live | UnsetType = False


def _least_of_charge(gaps: Gaps) -> Schema:
    return {"minimum": 1, "description": f"In {gaps.charge_amount_unit} units."}


class Charge(View):
    """Section 2.3: id, status, amount, currency, channel and provider are shown, the rest is assumed."""

    __source__: ClassVar[Source] = Source(
        "2.3",
        ("id", "status", "amount", "currency", "channel", "provider"),
        gap="2.5",
        relies=("channel_and_provider", "charge_amount_unit", "charge_states", "currency_case", "operator_ids"),
    )
    id: ChargeId
    status: Annotated[str, states(CHARGE_TRANSITIONS)]
    amount: Annotated[int, by_register(_least_of_charge)]
    currency: Annotated[str, only(ZMW.code.lower())]
    channel: Annotated[str, operator_that("The operator that the merchant asked for.")]
    provider: Annotated[str, operator_that("The operator that moved the money.")]
    object: Annotated[str, only("charge")] = "charge"
    type: MobileMoneyType = MOBILE_MONEY
    phone: MaskedPhone = ""
    reference: str | None = None
    payment_intent: IntentId | None = None
    failure_code: FailureCode | None = None
    failure_message: str | None = None
    amount_refunded: NeverNegative = 0
    refunded: bool = False
    metadata: dict[str, str] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    created: Seconds = 0
    livemode: Live = False


class Plant(View):
    """Section 2.4."""

    __source__: ClassVar[Source] = Source("2.4", ("name", "tag"))
    name: Annotated[str, meaning("Name of the plant.")]
    tag: Annotated[str, meaning("Tag that specifies the type.")] | UnsetType = UNSET


class PlantError(View):
    """Section 2.4, Error."""

    __source__: ClassVar[Source] = Source("2.4", ("error", "message"))
    error: Annotated[Int32, meaning("Error code.", format="int32")]
    message: Annotated[str, meaning("Error text.")]


class Token(View):
    """Section 4: a bearer token for 86,400 s; the names of the fields are assumed (RFC 6749 §5.1)."""

    __source__: ClassVar[Source] = Source(relies=("token_field",))
    access_token: Annotated[str, meaning("Sent as `Authorization: Bearer` for 86400 seconds.")]
    refresh_token: Annotated[str, meaning("Good for one new pair.")]
    token_type: Annotated[str, only("Bearer")] = "Bearer"  # noqa: S105  the scheme's name
    expires_in: Annotated[int, only(86_400)] = 86_400


class WebhookEndpoint(View):
    """Assumed; `secret` is there once, when the endpoint is created or its secret rolled.

    Until `secret_overlap_until` messages are signed with a secret before as well.
    """

    __source__: ClassVar[Source] = Source(gap="6", relies=("endpoint_registration",))
    id: EndpointId
    url: str
    enabled_events: list[str]
    status: Annotated[str, one_of([ENABLED, DISABLED])]
    object: Annotated[str, only("webhook_endpoint")] = "webhook_endpoint"
    secret: (
        Annotated[str, meaning("What its messages are signed with; there once, when it is created or rolled.")]
        | UnsetType
    ) = UNSET
    secret_overlap_until: Seconds | None = None
    created: Seconds = 0
    livemode: Live = False


class Deleted(View):
    """Assumed: what is left of an object that was removed."""

    id: str
    object: str
    deleted: Annotated[bool, only(value=True)] = True


class Refund(View):
    """Assumed; `amount` is in the unit of what it refunds, pending until the operator has sent it back."""

    __source__: ClassVar[Source] = Source(relies=("charge_amount_unit", "currency_case"))
    id: Annotated[str, is_id("re")]
    status: Annotated[str, states(REFUND_TRANSITIONS)]
    amount: Annotated[Decimal, meaning("In the unit of what was named: a charge or an intent.")]
    currency: Annotated[str, one_of([ZMW.code, ZMW.code.lower()])]
    charge: ChargeId
    payment_intent: IntentId | None = None
    object: Annotated[str, only("refund")] = "refund"
    reason: str | None = None
    failure_code: FailureCode | None = None
    failure_message: str | None = None
    metadata: dict[str, str] = field(default_factory=dict)
    created: Seconds = 0
    livemode: Live = False


class Payout(View):
    """Assumed; pending until the night's clearing pays it, then paid or failed."""

    __source__: ClassVar[Source] = Source(relies=("payouts",))
    id: Annotated[str, is_id("po")]
    status: Annotated[str, states(PAYOUT_TRANSITIONS)]
    amount: MajorAmount
    currency: Zmw
    object: Annotated[str, only("payout")] = "payout"
    destination: str | None = None
    failure_code: FailureCode | None = None
    failure_message: str | None = None
    metadata: dict[str, str] = field(default_factory=dict)
    created: Seconds = 0
    livemode: Live = False


class Amount(View):
    """An amount in major units."""

    amount: MajorAmount
    currency: Zmw


class Balance(View):
    """Assumed: what is the merchant's and not cleared yet, what can be paid out, and what the merchant owes."""

    __source__: ClassVar[Source] = Source(relies=("clearing",))
    pending: list[Amount]
    available: list[Amount]
    owed: list[Amount]
    object: Annotated[str, only("balance")] = "balance"
    livemode: Live = False


class DeliveryAttempt(View):
    """One try; `status_code` is None when no answer came: `fault` says why. `answer` is its first 20,000 bytes."""

    __source__: ClassVar[Source] = Source(gap="6")
    number: Positive
    at: Seconds
    latency_ms: NeverNegative
    status_code: int | None
    fault: str | None
    answer: str


class Delivery(View):
    """Assumed: one event on its way to one endpoint: pending, delivered or dead_letter."""

    __source__: ClassVar[Source] = Source(gap="6", relies=("dead_letter", "retry_schedule_s"))
    id: Annotated[str, is_id("del")]
    status: Annotated[str, one_of([PENDING, DELIVERED, DEAD_LETTER])]
    event: EventId
    event_type: str
    endpoint: EndpointId
    url: str
    attempts: list[DeliveryAttempt]
    next_attempt_at: Seconds | None = None
    object: Annotated[str, only("delivery")] = "delivery"
    created: Seconds = 0
    livemode: Live = False


class ApiKey(View):
    """Assumed; `masked` tells keys apart, `value` is there once, when the key is created or rolled."""

    __source__: ClassVar[Source] = Source(gap="5")
    id: Annotated[str, is_id("key")]
    kind: Annotated[str, one_of(KEY_PREFIXES)]
    status: Annotated[str, one_of([ACTIVE, ROLLED, REVOKED])]
    masked: str
    value: Annotated[str, meaning("The key itself; there once, when it is created or rolled.")] | UnsetType = UNSET
    object: Annotated[str, only("api_key")] = "api_key"
    created: Seconds = 0
    livemode: Live = False


API_VERSION = "1"


class EventData(View):
    """The object as it was when the event happened, and what changed."""

    __source__: ClassVar[Source] = Source(gap="6")
    object: dict[str, Any]
    previous_attributes: dict[str, Any] = field(default_factory=dict)


class EventRequest(View):
    """The request that caused the event; both None when no request did."""

    __source__: ClassVar[Source] = Source(gap="6")
    id: str | None = None
    idempotency_key: str | None = None


class Event(View):
    """The body of a webhook; its names and members are assumed (section 6)."""

    __source__: ClassVar[Source] = Source(gap="6", relies=("event_payload", "event_types"))
    id: EventId
    type: Annotated[str, one_of(EVENT_TYPES)]
    timestamp: DateTime
    data: EventData
    request: EventRequest
    api_version: Annotated[str, only(API_VERSION)] = API_VERSION
    livemode: Live = False


UNSEEN: Final = "Sandbox-Unseen"
"""The header of a GET that leaves no trace: whoever only looks changes nothing, not even the next number."""

# In a path
PathIntent = Annotated[str, parameter("The intent's id.", pattern="^pi_[0-9A-Za-z]+$")]
PathCharge = Annotated[str, parameter("The charge's id.", pattern="^ch_[0-9A-Za-z]+$")]
PathRefund = Annotated[str, parameter("The refund's id.", pattern="^re_[0-9A-Za-z]+$")]
PathPayout = Annotated[str, parameter("The payout's id.", pattern="^po_[0-9A-Za-z]+$")]
PathEvent = Annotated[str, parameter("The event's id.", pattern="^evt_[0-9A-Za-z]+$")]
PathEndpoint = Annotated[str, parameter("The webhook endpoint's id.", pattern="^we_[0-9A-Za-z]+$")]
PathDelivery = Annotated[str, parameter("The delivery's id.", pattern="^del_[0-9A-Za-z]+$")]
PathKey = Annotated[str, parameter("The key's id, not the key.", pattern="^key_[0-9A-Za-z]+$")]
PathEntry = Annotated[str, parameter("The ledger entry's id.", pattern="^je_[0-9A-Za-z]+$")]
PathPhone = Annotated[str, parameter("The customer's number.", **PHONE)]

# In a query
Limit = Annotated[int, Meta(ge=1, le=100, description="How many rows at most.")]
EntryLimit = Annotated[int, Meta(ge=1, le=10_000, description="How many rows at most.")]
Seq = Annotated[int, Meta(ge=0, le=2**63 - 1)]
_Search = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=100,
        description="Those in whose payload this text stands; of three digits and more, also those of a number that "
        "ends so.",
    ),
]
_States = parameter(
    "Those in one of these states, separated by commas.",
    type="array",
    items={"type": "string", "enum": [PENDING, DELIVERED, DEAD_LETTER]},
    minItems=1,
)
_Accounts = parameter(
    "Those on these accounts, separated by commas.",
    type="array",
    items={"type": "string", "pattern": "^[a-z0-9_:]+$"},
    minItems=1,
)


class ClientSecretQuery(View):
    """What a publishable key needs beside it."""

    client_secret: (
        Annotated[str, parameter("The intent's; needed with a publishable key, checked whenever sent.")] | None
    ) = None


class ListQuery(View):
    """A page, newest first: `limit` rows older than the id `starting_after`, newer than `ending_before`, or between."""

    limit: Limit = 10
    starting_after: Annotated[str, parameter("The id of a row: those older than it.")] | None = None
    ending_before: (
        Annotated[str, parameter("The id of a row: those newer than it; with `starting_after`, those between.")] | None
    ) = None


class RefundsQuery(ListQuery):
    """Those of one charge."""

    charge: Annotated[str, parameter("Those of this charge.")] | None = None


class EventsQuery(ListQuery):
    """Those of one type, or of a family such as `charge.*`; from a moment of RFC 3339 on; in which a text stands."""

    type: Annotated[str, parameter("Those of this type, or of a family.", enum=EVENT_NAMES)] | None = None
    created_since: Annotated[str, parameter("Those of this moment and later.", **MOMENT)] | None = None
    search: _Search | None = None


class DeliveriesQuery(ListQuery):
    """Those in one of several states, separated by commas, of one event, to one endpoint."""

    status: Annotated[str, _States] | None = None
    event: Annotated[str, parameter("Those of this event.")] | None = None
    endpoint: Annotated[str, parameter("Those to this endpoint.")] | None = None


class BalancesQuery(View):
    """What had occurred by `as_of` and was recorded by `known_at`, moments of RFC 3339."""

    as_of: Annotated[str, parameter("What had occurred by this moment.", **MOMENT)] | None = None
    known_at: Annotated[str, parameter("What was recorded by this moment.", **MOMENT)] | None = None


class EntriesQuery(View):
    """Rows of the `limit` entries after the one of the number `after`; without a limit, of all of them."""

    after: Annotated[Seq, parameter("The number of an entry: those that follow it.")] = 0
    limit: EntryLimit | None = None


class MovementsQuery(EntriesQuery):
    """Those of some accounts, separated by commas; without any, of those that somebody else keeps books of too."""

    account: Annotated[str, _Accounts] | None = None


class TraceQuery(View):
    """What came after a `seq`."""

    since: Annotated[Seq, parameter("What came after this `seq`.")] = 0
