"""What travels: one struct for each body and query, shared by the client and the API.

Fields that the interface shows are marked as documented in its OpenAPI description; the others are
assumed, as the register of gaps says.
"""

import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Annotated, Any, ClassVar, Final, Generic, TypeVar

from msgspec import UNSET, Meta, UnsetType, field

from workbench.domain import payments
from workbench.domain.gaps import Gaps
from workbench.domain.ids import ACTIVE, KEY_PREFIXES, REVOKED, ROLLED
from workbench.domain.money import MAX_MAJOR_DIGITS, ZMW
from workbench.domain.phones import OPERATORS
from workbench.domain.webhooks import DEAD_LETTER, DELIVERED, DISABLED, ENABLED, EVENT_TYPES, HOST_NAME, PENDING
from workbench.domain.wire import base
from workbench.domain.wire.base import Schema, WithSecrets, by_register, is_id, kwacha, meaning, required
from workbench.domain.wire.base import Source as Source
from workbench.domain.wire.base import View as View
from workbench.domain.wire.base import plain as plain
from workbench.domain.wire.base import to_json as to_json
from workbench.domain.wire.base import without_once as without_once
from workbench.domain.wire.control import Clock as Clock
from workbench.domain.wire.control import FaultyEndpoint as FaultyEndpoint
from workbench.domain.wire.control import Handset as Handset
from workbench.domain.wire.control import LedgerAccount as LedgerAccount
from workbench.domain.wire.control import LedgerEntry as LedgerEntry
from workbench.domain.wire.control import LedgerMovement as LedgerMovement
from workbench.domain.wire.control import LedgerPosting as LedgerPosting
from workbench.domain.wire.control import LedgerVerified as LedgerVerified
from workbench.domain.wire.control import OperatorState as OperatorState
from workbench.domain.wire.control import Page as Page
from workbench.domain.wire.control import Rows as Rows
from workbench.domain.wire.control import Scripted as Scripted
from workbench.domain.wire.control import WasReset as WasReset
from workbench.domain.wire.trace_rows import TraceRow as TraceRow

T = TypeVar("T")
API_VERSION = "1"
UNSEEN: Final = "Sandbox-Unseen"
"""The header of a GET that leaves no trace: whoever only looks changes nothing, not even the next number."""
EMAIL: Final = re.compile(r"[^@\x00-\x20\x7f]+@[^@\x00-\x20\x7f]+")
"""Spelled so that it means the same as a pattern of JSON Schema."""
_EVENT_NAMES = ["*", *dict.fromkeys(f"{each.partition('.')[0]}.*" for each in EVENT_TYPES), *EVENT_TYPES]
"""Types of events, and what stands for several."""
_DELIVERIES = [PENDING, DELIVERED, DEAD_LETTER]
_SIGNING = "What its messages are signed with; there once, when it is created or rolled."
_TOO_MUCH = 10**MAX_MAJOR_DIGITS
"""In major units."""
_MAJOR: Schema = {
    "exclusiveMinimum": 0,
    "exclusiveMaximum": _TOO_MUCH,
    "multipleOf": Decimal("0.01"),
    "description": "Major units with at most two decimals: 150, 150.0 and 150.00 are one amount.",
}
_HOST = rf"({HOST_NAME.pattern}|127\.0\.0\.[1-9]|\[::1\])"
_PORT = "(:([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5]))?"


def _states(table: payments.Transitions) -> Meta:
    """A state of a table of transitions."""
    return meaning(enum=[*dict.fromkeys([*(state for state, _ in table), *table.values()])])


def _operator_id(gaps: Gaps) -> Schema:
    return {"enum": [each.id if gaps.operator_ids == "short" else each.long_id for each in OPERATORS.values()]}


OperatorId = Annotated[str, by_register(_operator_id)]
MobileMoneyType = Annotated[str, meaning(const=payments.MOBILE_MONEY)]
EventFilter = Annotated[list[str], meaning(items={"enum": _EVENT_NAMES}, minItems=1)]
_URL = (
    "http or https, to a name or to this machine's loopback. A public address in digits is taken too, a private one "
    "refused; a name is looked up again at each attempt."
)
Url = Annotated[str, meaning(_URL, pattern=rf"^https?://{_HOST}{_PORT}([/?#][!-~]*)?$")]
IntentId = Annotated[str, is_id("pi")]
EventId = Annotated[str, is_id("evt")]
FailureCode = Annotated[str, meaning(enum=[*payments.FAILURES])]
Live = Annotated[bool, meaning("A sandbox holds nothing live.", const=False)]
MajorAmount = Annotated[Decimal, meaning("Major units, two decimals.")]
Zmw = Annotated[str, meaning(const=ZMW.code)]
Int64 = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]


# What is sent


def _bounded_amount(gaps: Gaps) -> Schema:
    least, most = payments.BOUNDS_MINOR[gaps.amount_bounds]
    bounds: Schema = {"minimum": least // 100, "maximum": most // 100} if most else {"exclusiveMinimum": 0}
    whole = {"multipleOf": 1, "description": "Major units, whole ones here."}
    return _MAJOR | bounds | (whole if gaps.charge_amount_unit == "major" else {})


def _method_types(gaps: Gaps) -> Schema:
    if gaps.payment_method_types == "only":
        return {"items": {"const": payments.MOBILE_MONEY}, "minItems": 1}
    return {"contains": {"const": payments.MOBILE_MONEY}, "description": f"Must include `{payments.MOBILE_MONEY}`."}


class CreatePaymentIntent(View):
    """Section 2.1."""

    __source__ = Source("2.1", ("amount", "currency", "payment_method_types", "description"), gap="2.5")
    amount: Annotated[Decimal, by_register(_bounded_amount)]
    currency: base.UpperCurrency
    payment_method_types: Annotated[list[str], by_register(_method_types)]
    description: Annotated[str, meaning("Free text; the customer reads its beginning in the prompt.")] | None = None
    metadata: dict[str, str] = field(default_factory=dict)


class MobileMoney(View):
    """Section 2.2."""

    __source__ = Source("2.2", ("phone", "provider"))
    phone: base.Phone
    provider: base.OperatorName


class MobileMoneyMethod(View):
    """Section 2.2: the required container."""

    __source__ = Source("2.2", ("type", "mobile_money"))
    type: MobileMoneyType
    mobile_money: MobileMoney


class ConfirmPaymentIntent(WithSecrets):
    """Section 2.2."""

    __source__ = Source("2.2", ("payment_method",))
    __whole__ = required("payment_method", "client_secret", client_secret_on_confirm="always")  # noqa: S106  a choice
    payment_method: MobileMoneyMethod
    client_secret: Annotated[str, meaning("Needed with a publishable key; checked whenever it is sent.")] | None = None


def _whole_amount(gaps: Gaps) -> Schema:
    unit = payments.UNITS_MINOR[gaps.charge_amount_unit]
    least, most = payments.BOUNDS_MINOR[gaps.amount_bounds]
    says = {"minor": "Minor units: 15000 is 150.00 ZMW.", "major": "Major units: 150 is 150.00 ZMW."}
    return {
        "minimum": -(-least // unit),
        "maximum": (most or _TOO_MUCH * 100 - 1) // unit,
        "description": says[gaps.charge_amount_unit],
    }


class CreateCharge(View):
    """Section 2.3."""

    __source__ = Source("2.3", ("amount", "currency", "type", "channel", "phone", "reference"), gap="2.5")
    __whole__ = required(*__source__.shows, required_fields="with_reference")
    amount: Annotated[Int64, by_register(_whole_amount)]
    currency: Annotated[str, kwacha(ZMW.code.lower())]
    type: MobileMoneyType
    channel: base.OperatorName
    phone: base.Phone
    reference: Annotated[str, meaning("The merchant's own reference for the order.")] | None = None
    metadata: dict[str, str] = field(default_factory=dict)


class NewPlant(View):
    """Section 2.4."""

    __source__ = Source("2.4", ("id", "name", "tag"))
    id: Annotated[Int64, meaning("Identification number of the plant.", format="int64")]
    name: Annotated[str, meaning("Name of the plant.")]
    tag: Annotated[str, meaning("Tag that specifies the type.")] | UnsetType = UNSET


class TokenRequest(WithSecrets):
    """Section 4, illustrative."""

    __source__ = Source("4", ("email", "password"))
    email: Annotated[str, meaning("Any e-mail address.", pattern=f"^{EMAIL.pattern}$")]
    password: Annotated[str, meaning("Any; the password `wrong` is wrong.", minLength=1)]


class RefreshRequest(WithSecrets):
    """Section 4, illustrative; empty when the bearer in the header is what is refreshed."""

    # Without a bearer in the header, which this operation does not ask for, the body is what names the pair.
    __whole__ = required("refresh_token")
    refresh_token: str | None = None


class CreateWebhookEndpoint(View):
    """Assumed."""

    __source__ = Source(gap="6")
    url: Url
    enabled_events: EventFilter = field(default_factory=lambda: ["*"])


class UpdateWebhookEndpoint(View):
    """Assumed: what is left out stays as it is; `status` is enabled or disabled."""

    __source__ = Source(gap="6")
    url: Url | None = None
    enabled_events: EventFilter | None = None
    status: Annotated[str, meaning(enum=[ENABLED, DISABLED])] | None = None


class CancelPaymentIntent(View):
    """Assumed."""

    cancellation_reason: str | None = None


def _refunded(one: str, other: str, **amount: object) -> Schema:
    """What is refunded is of one of two, each with its unit."""
    properties = {one: {"type": "string"}, other: {"type": "null"}, "amount": amount}
    return {"required": [one], "properties": properties}


_OF_CHARGE = _refunded("charge", "payment_intent", multipleOf=1)
_OF_INTENT = _refunded("payment_intent", "charge", multipleOf=Decimal("0.01"), exclusiveMaximum=_TOO_MUCH)


class CreateRefund(View):
    """Assumed: of a charge or of an intent; `amount` in the unit of what it refunds, all that is left without it."""

    __whole__: ClassVar = {"oneOf": [_OF_CHARGE, _OF_INTENT]}
    charge: str | None = None
    payment_intent: str | None = None
    amount: Annotated[Decimal, meaning(exclusiveMinimum=0)] | None = None
    reason: str | None = None
    metadata: dict[str, str] = field(default_factory=dict)


class CreatePayout(View):
    """Assumed: `amount` in major units, `destination` is the merchant's own name for an account."""

    amount: Annotated[Decimal, meaning(**_MAJOR)]
    currency: base.UpperCurrency
    destination: str | None = None
    metadata: dict[str, str] = field(default_factory=dict)


class CreateApiKey(View):
    """Assumed: `kind` is secret or publishable."""

    __source__ = Source(gap="5")
    kind: Annotated[str, meaning(enum=[*KEY_PREFIXES])] = "secret"


class List(View, Generic[T]):
    """A page of a list, newest first, to go through as it is; `has_more` tells whether there are rows beyond it."""

    __source__ = Source(relies=("pagination",))
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

    phone: base.MaskedPhone
    expires_at: base.Seconds


class NextAction(View):
    """What has to happen before the payment goes on."""

    type: Annotated[str, meaning(const="ussd_prompt")]
    ussd_prompt: UssdPrompt


class PaymentError(View):
    """Why the last attempt failed."""

    __source__ = Source(gap="2.5")
    code: FailureCode
    message: str
    charge: base.ChargeId | None = None


class ShownMobileMoney(MobileMoney):
    """Section 2.2."""

    __source__ = Source(gap="2.5")
    __prints_as__ = "MobileMoney"
    phone: base.MaskedPhone
    provider: OperatorId


class ShownMethod(MobileMoneyMethod):
    """Section 2.2: the required container."""

    __source__ = Source(gap="2.5")
    __prints_as__ = "MobileMoneyMethod"
    type: MobileMoneyType
    mobile_money: ShownMobileMoney


class PaymentIntent(WithSecrets):
    """Section 2.1: id and client_secret are shown, the rest is assumed."""

    __source__ = Source(
        "2.1",
        ("id", "client_secret"),
        gap="2.5",
        relies=("currency_case", "intent_fields", "intent_states", "operator_ids"),
    )
    id: IntentId
    client_secret: Annotated[str, meaning("Used to confirm the intent; not in events.")] | UnsetType = UNSET
    object: Annotated[str, meaning(const="payment_intent")] | UnsetType = "payment_intent"
    amount: MajorAmount | UnsetType = UNSET
    currency: Zmw | UnsetType = UNSET
    status: Annotated[str, _states(payments.INTENT_TRANSITIONS)] = ""
    description: str | UnsetType | None = UNSET
    payment_method_types: list[str] | UnsetType = UNSET
    payment_method: ShownMethod | UnsetType | None = UNSET
    next_action: NextAction | UnsetType | None = UNSET
    last_payment_error: PaymentError | UnsetType | None = UNSET
    latest_charge: base.ChargeId | UnsetType | None = UNSET
    metadata: dict[str, str] | UnsetType = UNSET
    warnings: list[str] | UnsetType = UNSET
    canceled_at: base.Seconds | UnsetType | None = UNSET
    cancellation_reason: str | UnsetType | None = UNSET
    created: base.Seconds | UnsetType = UNSET
    livemode: Live | UnsetType = False


class Made(View, kw_only=True):
    """What was made, and when; the fields stand last."""

    created: base.Seconds = 0
    livemode: Live = False


class Charge(Made):
    """Section 2.3: id, status, amount, currency, channel and provider are shown, the rest is assumed."""

    __source__ = Source(
        "2.3",
        ("id", "status", "amount", "currency", "channel", "provider"),
        gap="2.5",
        relies=("channel_and_provider", "charge_amount_unit", "charge_states", "currency_case", "operator_ids"),
    )
    id: base.ChargeId
    status: Annotated[str, _states(payments.CHARGE_TRANSITIONS)]
    amount: Annotated[base.Positive, by_register(lambda gaps: {"description": f"In {gaps.charge_amount_unit} units."})]
    currency: Annotated[str, meaning(const=ZMW.code.lower())]
    channel: Annotated[OperatorId, meaning("The operator that the merchant asked for.")]
    provider: Annotated[OperatorId, meaning("The operator that moved the money.")]
    object: Annotated[str, meaning(const="charge")] = "charge"
    type: MobileMoneyType = payments.MOBILE_MONEY
    phone: base.MaskedPhone = ""
    reference: str | None = None
    payment_intent: IntentId | None = None
    failure_code: FailureCode | None = None
    failure_message: str | None = None
    amount_refunded: base.NeverNegative = 0
    refunded: bool = False
    metadata: dict[str, str] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)


class Plant(View):
    """Section 2.4."""

    __source__ = Source("2.4", ("name", "tag"))
    name: Annotated[str, meaning("Name of the plant.")]
    tag: Annotated[str, meaning("Tag that specifies the type.")] | UnsetType = UNSET


class PlantError(View):
    """Section 2.4, Error."""

    __source__ = Source("2.4", ("error", "message"))
    error: Annotated[int, Meta(ge=-(2**31), le=2**31 - 1), meaning("Error code.", format="int32")]
    message: Annotated[str, meaning("Error text.")]


class Token(WithSecrets):
    """Section 4: a bearer token for 86,400 s; the names of the fields are assumed (RFC 6749 §5.1)."""

    __source__ = Source(relies=("token_field",))
    access_token: Annotated[str, meaning("Sent as `Authorization: Bearer` for 86400 seconds.")]
    refresh_token: Annotated[str, meaning("Good for one new pair.")]
    token_type: Annotated[str, meaning(const="Bearer")] = "Bearer"  # noqa: S105  the scheme's name
    expires_in: Annotated[int, meaning(const=86_400)] = 86_400


class WebhookEndpoint(Made, WithSecrets):
    """Assumed; `secret` is there once, when the endpoint is created or its secret rolled.

    Until `secret_overlap_until` messages are signed with a secret before as well.
    """

    __source__ = Source(gap="6", relies=("endpoint_registration",))
    id: base.EndpointId
    url: str
    enabled_events: list[str]
    status: Annotated[str, meaning(enum=[ENABLED, DISABLED])]
    object: Annotated[str, meaning(const="webhook_endpoint")] = "webhook_endpoint"
    secret: Annotated[str, meaning(_SIGNING)] | UnsetType = UNSET
    secret_overlap_until: base.Seconds | None = None


class Deleted(View):
    """Assumed: what is left of an object that was removed."""

    id: str
    object: str
    deleted: Annotated[bool, meaning(const=True)] = True


class Refund(Made):
    """Assumed; `amount` is in the unit of what it refunds, pending until the operator has sent it back."""

    __source__ = Source(relies=("charge_amount_unit", "currency_case"))
    id: Annotated[str, is_id("re")]
    status: Annotated[str, _states(payments.REFUND_TRANSITIONS)]
    amount: Annotated[Decimal, meaning("In the unit of what was named: a charge or an intent.")]
    currency: Annotated[str, meaning(enum=[ZMW.code, ZMW.code.lower()])]
    charge: base.ChargeId
    payment_intent: IntentId | None = None
    object: Annotated[str, meaning(const="refund")] = "refund"
    reason: str | None = None
    failure_code: FailureCode | None = None
    failure_message: str | None = None
    metadata: dict[str, str] = field(default_factory=dict)


class Payout(Made):
    """Assumed; pending until the night's clearing pays it, then paid or failed."""

    __source__ = Source(relies=("payouts",))
    id: Annotated[str, is_id("po")]
    status: Annotated[str, _states(payments.PAYOUT_TRANSITIONS)]
    amount: MajorAmount
    currency: Zmw
    object: Annotated[str, meaning(const="payout")] = "payout"
    destination: str | None = None
    failure_code: FailureCode | None = None
    failure_message: str | None = None
    metadata: dict[str, str] = field(default_factory=dict)


class Amount(View):
    """An amount in major units."""

    amount: MajorAmount
    currency: Zmw


class Balance(View):
    """Assumed: what is the merchant's and not cleared yet, what can be paid out, and what the merchant owes."""

    __source__ = Source(relies=("clearing",))
    pending: list[Amount]
    available: list[Amount]
    owed: list[Amount]
    object: Annotated[str, meaning(const="balance")] = "balance"
    livemode: Live = False


class DeliveryAttempt(View):
    """One try; `status_code` is None when no answer came: `fault` says why. `answer` is its first 20,000 bytes."""

    __source__ = Source(gap="6")
    number: base.Positive
    at: base.Seconds
    latency_ms: base.NeverNegative
    status_code: int | None
    fault: str | None
    answer: str


class Delivery(Made):
    """Assumed: one event on its way to one endpoint: pending, delivered or dead_letter."""

    __source__ = Source(gap="6", relies=("dead_letter", "retry_schedule_s"))
    id: Annotated[str, is_id("del")]
    status: Annotated[str, meaning(enum=_DELIVERIES)]
    event: EventId
    event_type: str
    endpoint: base.EndpointId
    url: str
    attempts: list[DeliveryAttempt]
    next_attempt_at: base.Seconds | None = None
    object: Annotated[str, meaning(const="delivery")] = "delivery"


class ApiKey(Made, WithSecrets):
    """Assumed; `masked` tells keys apart, `value` is there once, when the key is created or rolled."""

    __source__ = Source(gap="5")
    id: Annotated[str, is_id("key")]
    kind: Annotated[str, meaning(enum=[*KEY_PREFIXES])]
    status: Annotated[str, meaning(enum=[ACTIVE, ROLLED, REVOKED])]
    masked: str
    value: Annotated[str, meaning("The key itself; there once, when it is created or rolled.")] | UnsetType = UNSET
    object: Annotated[str, meaning(const="api_key")] = "api_key"


class EventData(View):
    """The object as it was when the event happened, and what changed."""

    __source__ = Source(gap="6")
    object: dict[str, Any]
    """As it is read; what is written is the object's own struct."""
    previous_attributes: dict[str, Any] = field(default_factory=dict)


class EventRequest(View):
    """The request that caused the event; both None when no request did."""

    __source__ = Source(gap="6")
    id: str | None = None
    idempotency_key: str | None = None


class Event(View):
    """The body of a webhook; its names and members are assumed (section 6)."""

    __source__ = Source(gap="6", relies=("event_payload", "event_types"))
    id: EventId
    type: Annotated[str, meaning(enum=[*EVENT_TYPES])]
    timestamp: base.DateTime
    data: EventData
    request: EventRequest
    api_version: Annotated[str, meaning(const=API_VERSION)] = API_VERSION
    livemode: Live = False


# In a path and in a query


def parameter(says: str, **schema: Any) -> Meta:  # noqa: ANN401  JSON is of any type
    """What it is for, and what joins its schema."""
    return Meta(description=says, extra_json_schema=schema)


PathIntent = Annotated[str, parameter("The intent's id.", pattern="^pi_[0-9A-Za-z]+$")]
PathCharge = Annotated[str, parameter("The charge's id.", pattern="^ch_[0-9A-Za-z]+$")]
PathRefund = Annotated[str, parameter("The refund's id.", pattern="^re_[0-9A-Za-z]+$")]
PathPayout = Annotated[str, parameter("The payout's id.", pattern="^po_[0-9A-Za-z]+$")]
PathEvent = Annotated[str, parameter("The event's id.", pattern="^evt_[0-9A-Za-z]+$")]
PathEndpoint = Annotated[str, parameter("The webhook endpoint's id.", pattern="^we_[0-9A-Za-z]+$")]
PathDelivery = Annotated[str, parameter("The delivery's id.", pattern="^del_[0-9A-Za-z]+$")]
PathKey = Annotated[str, parameter("The key's id, not the key.", pattern="^key_[0-9A-Za-z]+$")]
PathEntry = Annotated[str, parameter("The ledger entry's id.", pattern="^je_[0-9A-Za-z]+$")]
PathPhone = Annotated[base.Phone, parameter("The customer's number.")]
Seq = Annotated[int, Meta(ge=0, le=2**63 - 1)]
_SEARCH = "Those in whose payload this text stands; of three digits and more, also those of a number that ends so."


def _several(says: str, **items: object) -> Meta:
    return parameter(f"{says}, separated by commas.", type="array", items={"type": "string", **items}, minItems=1)


class ClientSecretQuery(WithSecrets):
    """What a publishable key needs beside it."""

    client_secret: (
        Annotated[str, parameter("The intent's; needed with a publishable key, checked whenever sent.")] | None
    ) = None


class ListQuery(View):
    """A page, newest first: `limit` rows older than the id `starting_after`, newer than `ending_before`, or between."""

    limit: Annotated[int, Meta(ge=1, le=100, description="How many rows at most.")] = 10
    starting_after: Annotated[str, parameter("The id of a row: those older than it.")] | None = None
    ending_before: (
        Annotated[str, parameter("The id of a row: those newer than it; with `starting_after`, those between.")] | None
    ) = None


class RefundsQuery(ListQuery):
    """Those of one charge."""

    charge: Annotated[str, parameter("Those of this charge.")] | None = None


class EventsQuery(ListQuery):
    """Those of one type, or of a family such as `charge.*`; from a moment of RFC 3339 on; in which a text stands."""

    type: Annotated[str, parameter("Those of this type, or of a family.", enum=_EVENT_NAMES)] | None = None
    created_since: Annotated[base.Moment, parameter("Those of this moment and later.")] | None = None
    search: Annotated[str, Meta(min_length=1, max_length=100, description=_SEARCH)] | None = None


class DeliveriesQuery(ListQuery):
    """Those in one of several states, separated by commas, of one event, to one endpoint."""

    status: Annotated[str, _several("Those in one of these states", enum=_DELIVERIES)] | None = None
    event: Annotated[str, parameter("Those of this event.")] | None = None
    endpoint: Annotated[str, parameter("Those to this endpoint.")] | None = None


class BalancesQuery(View):
    """What had occurred by `as_of` and was recorded by `known_at`, moments of RFC 3339."""

    as_of: Annotated[base.Moment, parameter("What had occurred by this moment.")] | None = None
    known_at: Annotated[base.Moment, parameter("What was recorded by this moment.")] | None = None


class EntriesQuery(View):
    """Rows of the `limit` entries after the one of the number `after`; without a limit, of all of them."""

    after: Annotated[Seq, parameter("The number of an entry: those that follow it.")] = 0
    limit: Annotated[int, Meta(ge=1, le=10_000, description="How many rows at most.")] | None = None


class MovementsQuery(EntriesQuery):
    """Those of some accounts, separated by commas; without any, of those that somebody else keeps books of too."""

    account: Annotated[str, _several("Those on these accounts", pattern="^[a-z0-9_:]+$")] | None = None


class TraceQuery(View):
    """What came after a `seq`."""

    since: Annotated[Seq, parameter("What came after this `seq`.")] = 0
