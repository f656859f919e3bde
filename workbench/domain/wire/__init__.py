"""What travels: one struct for each body and query, shared by the client and the API.

Fields that the interface shows are marked as documented in its OpenAPI description; the others are
assumed, as the register of gaps says.
"""

import re
from collections.abc import Callable, Hashable, Iterator, Mapping
from decimal import Decimal
from functools import cache
from typing import Annotated, Any, Final, Generic, TypeVar, cast

import msgspec
from msgspec import UNSET, Meta, UnsetType, defstruct, field

from workbench.domain import payments
from workbench.domain.gaps import Gaps
from workbench.domain.ids import ACTIVE, KEY_PREFIXES, REVOKED, ROLLED
from workbench.domain.ledger import SETTLED_AS, WAITING
from workbench.domain.money import ISO_4217, MAX_MAJOR_DIGITS, ZMW
from workbench.domain.webhooks import (
    DEAD_LETTER,
    DELIVERED,
    DISABLED,
    ENABLED,
    HOST_NAME,
    PENDING,
    types_and_families,
    types_of,
)
from workbench.domain.wire import base
from workbench.domain.wire.base import Schema, WithSecrets, by_register, is_id, meaning, required
from workbench.domain.wire.base import Source as Source
from workbench.domain.wire.base import View as View
from workbench.domain.wire.base import plain as plain
from workbench.domain.wire.base import to_json as to_json
from workbench.domain.wire.base import without_once as without_once
from workbench.domain.wire.control import PAYMENT_STATES as PAYMENT_STATES
from workbench.domain.wire.control import Clock as Clock
from workbench.domain.wire.control import FaultyEndpoint as FaultyEndpoint
from workbench.domain.wire.control import Found as Found
from workbench.domain.wire.control import Handset as Handset
from workbench.domain.wire.control import LedgerAccount as LedgerAccount
from workbench.domain.wire.control import LedgerEntry as LedgerEntry
from workbench.domain.wire.control import LedgerMovement as LedgerMovement
from workbench.domain.wire.control import LedgerPosting as LedgerPosting
from workbench.domain.wire.control import LedgerVerified as LedgerVerified
from workbench.domain.wire.control import LoggedRequest as LoggedRequest
from workbench.domain.wire.control import OperatorState as OperatorState
from workbench.domain.wire.control import Page as Page
from workbench.domain.wire.control import Payment as Payment
from workbench.domain.wire.control import PaymentEvent as PaymentEvent
from workbench.domain.wire.control import Rows as Rows
from workbench.domain.wire.control import Scripted as Scripted
from workbench.domain.wire.control import WasReset as WasReset
from workbench.domain.wire.trace_rows import KINDS
from workbench.domain.wire.trace_rows import TracePage as TracePage
from workbench.domain.wire.trace_rows import TraceRow as TraceRow
from workbench.domain.wire.trace_rows import TraceStep as TraceStep

T = TypeVar("T")
API_VERSION = "1"
UNSEEN: Final = "Sandbox-Unseen"
"""The header of a GET that leaves no trace: whoever only looks changes nothing, not even the next number."""
DASHBOARD: Final = "/sandbox/dashboard"
"""Where a sandbox's dashboard finds the operations that the interface does not offer: `/v1/refunds` below here."""
ENDPOINTS: Final = "/v1/webhook_endpoints"
EMAIL: Final = re.compile(r"[^@\x00-\x20\x7f]+@[^@\x00-\x20\x7f]+")
"""Spelled so that it means the same as a pattern of JSON Schema."""
_DELIVERIES = [PENDING, DELIVERED, DEAD_LETTER]
_SIGNING = "What its messages are signed with; there once, when it is created or rolled."
_SCALE = {"zmw": "two decimals", "iso4217": "with the currency's own number of decimals"}
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


def _states(table: payments.Transitions | Callable[[Gaps], payments.Transitions]) -> Meta:
    """A state of a table of transitions, which may depend on the register."""

    def rule(gaps: Gaps) -> Schema:
        found = table(gaps) if callable(table) else table
        return {"enum": [*dict.fromkeys([*(state for state, _ in found), *found.values()])]}

    return by_register(rule)


def _event_types(gaps: Gaps) -> Schema:
    return {"enum": [*types_of(gaps.event_types)]}


def _event_names(gaps: Gaps) -> Schema:
    """Types of events, and what stands for several."""
    return {"enum": [*types_and_families(types_of(gaps.event_types))]}


OperatorId = Annotated[str, by_register(base.operator_id)]
MobileMoneyType = Annotated[str, meaning(const=payments.MOBILE_MONEY)]
EventFilter = Annotated[list[str], by_register(lambda gaps: {"items": _event_names(gaps), "minItems": 1})]
_URL = (
    "http or https, to a name or to this machine's loopback. A public address in digits is taken too, a private one "
    "refused; a name is looked up again at each attempt."
)
Url = Annotated[str, meaning(_URL, pattern=rf"^https?://{_HOST}{_PORT}([/?#][!-~]*)?$")]
IntentId = Annotated[str, is_id("pi")]
EventId = Annotated[str, is_id("evt")]
FailureCode = Annotated[str, meaning(enum=[*payments.FAILURES])]
Live = Annotated[bool, meaning("A sandbox holds nothing live.", const=False)]
MajorAmount = Annotated[Decimal, by_register(lambda gaps: {"description": f"Major units, {_SCALE[gaps.currencies]}."})]
UpperCurrency = Annotated[str, by_register(lambda gaps: base.shown_currency(gaps, str.upper))]
LowerCurrency = Annotated[str, by_register(lambda gaps: base.shown_currency(gaps, str.lower))]
AnyCurrency = Annotated[str, by_register(base.upper_or_lower_currency)]
Int64 = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]


# What is sent


def _bounded_amount(gaps: Gaps) -> Schema:
    least, most = payments.BOUNDS_MAJOR[gaps.amount_bounds]
    bounds: Schema = {"minimum": least, "maximum": most} if most else {"exclusiveMinimum": 0}
    found = _major(gaps) | bounds
    if gaps.intent_amount_scale == "half_even":
        del found["multipleOf"]
        found["description"] = "Major units; what is finer than a minor unit is rounded half-even."
    return found


def _major(gaps: Gaps) -> Schema:
    """An amount in major units, as fine as the finest currency has it."""
    if gaps.currencies == "zmw":
        return _MAJOR
    finest = max(each.decimals for each in ISO_4217.values())
    says = f"Major units with at most the currency's own number of decimals, {finest} of the finest."
    return _MAJOR | {"multipleOf": Decimal(f"1e-{finest}"), "description": says}


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
    least, most = payments.BOUNDS_MAJOR[gaps.amount_bounds]
    unit = payments.unit_minor(gaps, ZMW.code)
    says = {"minor": "Minor units: 15000 is 150.00 ZMW.", "major": "Major units: 150 is 150.00 ZMW."}
    return {
        "minimum": max(1, least * 100 // unit),
        "maximum": ((most or 0) * 100 or _TOO_MUCH * 100 - 1) // unit,
        "description": says[gaps.charge_amount_unit],
    }


class CreateCharge(View):
    """Section 2.3."""

    __source__ = Source("2.3", ("amount", "currency", "type", "channel", "phone", "reference"), gap="2.5")
    __whole__ = required(*__source__.shows, required_fields="with_reference")
    amount: Annotated[Int64, by_register(_whole_amount)]
    currency: base.LowerCurrency
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


def _who(anybody: str) -> Meta:
    """Who may sign in."""
    says = {"any": anybody, "one_account": "That of the account that was given when the sandbox started."}
    return by_register(lambda gaps: {"description": says[gaps.token_credentials]})


class TokenRequest(WithSecrets):
    """Section 4, illustrative."""

    __source__ = Source("4", ("email", "password"))
    email: Annotated[str, meaning(pattern=f"^{EMAIL.pattern}$"), _who("Any e-mail address.")]
    password: Annotated[str, meaning(minLength=1), _who("Any; the password `wrong` is wrong.")]


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


def _of_one(gaps: Gaps) -> Schema:
    """A charge, refunded in its whole units, or an intent, in major ones."""
    of_charge = _refunded("charge", "payment_intent", multipleOf=1)
    finest = _major(gaps)["multipleOf"]
    of_intent = _refunded("payment_intent", "charge", multipleOf=finest, exclusiveMaximum=_TOO_MUCH)
    return {"oneOf": [of_charge, of_intent]}


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

    amount: Annotated[Decimal, by_register(_major)]
    currency: base.UpperCurrency
    destination: str | None = None
    metadata: dict[str, str] = field(default_factory=dict)


class CreateApiKey(View):
    """Assumed: `kind` is secret or publishable."""

    __source__ = Source(gap="5")
    kind: Annotated[str, meaning(enum=[*KEY_PREFIXES])] = "secret"


class Listing(Generic[T]):
    """A page of a list, to go through as it is."""

    __slots__ = ()
    data: list[T]

    def __len__(self) -> int:
        return len(self.data)

    def __iter__(self) -> Iterator[T]:
        return iter(self.data)

    def __getitem__(self, place: int) -> T:
        return self.data[place]


class List(View, Listing[T], Generic[T]):
    """A page of a list, newest first, to go through as it is; `has_more` tells whether there are rows beyond it."""

    url: str
    has_more: bool
    data: list[T]
    object: str = "list"

    def _told(self) -> list[str]:
        return [f"count={len(self)}", *super()._told(), *(["data=[]"] if not self.data else [])]


class NumberedList(View, Listing[T], Generic[T]):
    """A page of a list by its number, newest first; `total` counts the rows of all pages."""

    url: str
    data: list[T]
    page: base.Positive
    per_page: base.Positive
    total: base.NeverNegative
    object: str = "list"


class UssdPrompt(View):
    """The prompt that waits on a handset."""

    phone: base.MaskedPhone
    expires_at: base.Seconds


class AcceptedIntent(View):
    """What a confirm answers where it tells no more than that it was taken."""

    __source__ = Source("2.1", ("id",))
    id: IntentId
    status: Annotated[str, _states(payments.intent_transitions)]


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


class Suspense(View):
    """Assumed: money that came after its attempt had failed, and what became of it.

    It waits until the provider's side credits it to the merchant, less the fee, or returns it to the customer.
    """

    __source__ = Source(gap="3")
    id: Annotated[str, is_id("je")]
    status: Annotated[str, meaning(enum=[WAITING, *SETTLED_AS.values()])]
    amount: MajorAmount
    currency: UpperCurrency
    since: Annotated[base.Seconds, meaning("When it came; seconds since 1970, UTC.")]
    operator_reference: Annotated[str, meaning("By which the operator, and its customer, know the movement.")]
    charge: base.ChargeId
    phone: base.MaskedPhone
    payment_intent: IntentId | None = None
    settled_at: base.Seconds | None = None
    settled_by: Annotated[str, is_id("je")] | None = None
    object: Annotated[str, meaning(const="suspense")] = "suspense"
    livemode: Live = False


InSuspense = Annotated[list[Suspense], meaning("Money that came late, oldest first; left out where none did.")]


class PaymentIntent(WithSecrets):
    """Section 2.1: id and client_secret are shown, the rest is assumed."""

    __source__ = Source(
        "2.1",
        ("id", "client_secret"),
        gap="2.5",
    )
    id: IntentId
    client_secret: Annotated[str, meaning("Used to confirm the intent; not in events.")] | UnsetType = UNSET
    object: Annotated[str, meaning(const="payment_intent")] | UnsetType = "payment_intent"
    amount: MajorAmount | UnsetType = UNSET
    currency: UpperCurrency | UnsetType = UNSET
    status: Annotated[str, _states(payments.intent_transitions)] = ""
    description: str | UnsetType | None = UNSET
    payment_method_types: list[str] | UnsetType = UNSET
    payment_method: ShownMethod | UnsetType | None = UNSET
    next_action: NextAction | UnsetType | None = UNSET
    last_payment_error: PaymentError | UnsetType | None = UNSET
    latest_charge: base.ChargeId | UnsetType | None = UNSET
    metadata: dict[str, str] | UnsetType = UNSET
    warnings: list[str] | UnsetType = UNSET
    suspense: InSuspense | UnsetType = UNSET
    canceled_at: base.Seconds | UnsetType | None = UNSET
    cancellation_reason: str | UnsetType | None = UNSET
    created: base.Seconds | UnsetType = UNSET
    livemode: Live | UnsetType = False


class Made(View, kw_only=True):
    """What was made, and when; the fields stand last."""

    created: base.Seconds = 0
    livemode: Live = False


def _told_amount(gaps: Gaps) -> Schema:
    """A whole number, but for what is not whole of an intent where charges count in major units."""
    said: Schema = {"minimum": 1, "description": f"In {gaps.charge_amount_unit} units."}
    if gaps.charge_amount_unit == "minor":
        return {"type": "integer", **said}
    says = f"{said['description']} With decimals where it is that of an intent which has them."
    return {"type": "number", "exclusiveMinimum": 0, "description": says}


def _told_refunded(gaps: Gaps) -> Schema:
    return {"type": "integer" if gaps.charge_amount_unit == "minor" else "number", "minimum": 0}


class Charge(Made):
    """Section 2.3: id, status, amount, currency, channel and provider are shown, the rest is assumed."""

    __source__ = Source(
        "2.3",
        ("id", "status", "amount", "currency", "channel", "provider"),
        gap="2.5",
    )
    id: base.ChargeId
    status: Annotated[str, _states(payments.charge_transitions)]
    amount: Annotated[int | Decimal, by_register(_told_amount)]
    currency: LowerCurrency
    channel: Annotated[OperatorId, meaning("The operator that the merchant asked for.")]
    provider: Annotated[OperatorId, meaning("The operator that moved the money.")]
    object: Annotated[str, meaning(const="charge")] = "charge"
    type: MobileMoneyType = payments.MOBILE_MONEY
    phone: base.MaskedPhone = ""
    reference: str | None = None
    payment_intent: IntentId | None = None
    failure_code: FailureCode | None = None
    failure_message: str | None = None
    amount_refunded: Annotated[int | Decimal, by_register(_told_refunded)] = 0
    refunded: bool = False
    metadata: dict[str, str] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    suspense: InSuspense | UnsetType = UNSET


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

    access_token: Annotated[str, meaning("Sent as `Authorization: Bearer` for 86400 seconds.")]
    refresh_token: Annotated[str, meaning("Good for one new pair.")]
    token_type: Annotated[str, meaning(const="Bearer")] = "Bearer"  # noqa: S105  the scheme's name
    expires_in: Annotated[int, meaning(const=86_400)] = 86_400


class NamedToken(WithSecrets):
    """The same, by the name `token`."""

    token: Annotated[str, meaning("Sent as `Authorization: Bearer` for 86400 seconds.")]
    refresh_token: Annotated[str, meaning("Good for one new pair.")]
    token_type: Annotated[str, meaning(const="Bearer")] = "Bearer"  # noqa: S105  the scheme's name
    expires_in: Annotated[int, meaning(const=86_400)] = 86_400


class WrappedToken(View):
    """The same, with all of it in `data`."""

    data: NamedToken


class WebhookEndpoint(Made, WithSecrets):
    """Assumed; `secret` is there once, when the endpoint is created or its secret rolled.

    Until `secret_overlap_until` messages are signed with a secret before as well.
    """

    __source__ = Source(gap="6")
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

    id: Annotated[str, is_id("re")]
    status: Annotated[str, _states(payments.REFUND_TRANSITIONS)]
    amount: Annotated[Decimal, meaning("In the unit of what was named: a charge or an intent.")]
    currency: AnyCurrency
    charge: base.ChargeId
    payment_intent: IntentId | None = None
    object: Annotated[str, meaning(const="refund")] = "refund"
    reason: str | None = None
    failure_code: FailureCode | None = None
    failure_message: str | None = None
    metadata: dict[str, str] = field(default_factory=dict)


class Payout(Made):
    """Assumed; pending until the night's clearing pays it, then paid or failed."""

    id: Annotated[str, is_id("po")]
    status: Annotated[str, _states(payments.PAYOUT_TRANSITIONS)]
    amount: MajorAmount
    currency: UpperCurrency
    object: Annotated[str, meaning(const="payout")] = "payout"
    destination: str | None = None
    failure_code: FailureCode | None = None
    failure_message: str | None = None
    metadata: dict[str, str] = field(default_factory=dict)


class Amount(View):
    """An amount in major units."""

    amount: MajorAmount
    currency: UpperCurrency


class Balance(View):
    """Assumed: what is the merchant's and not cleared yet, what can be paid out, and what the merchant owes.

    `suspense` is what came late and waits there, gross; it is nobody's yet, and left out where nothing waits.
    """

    pending: list[Amount]
    available: list[Amount]
    owed: list[Amount]
    suspense: list[Amount] | UnsetType = UNSET
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

    __source__ = Source(gap="6")
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
    works_until: Annotated[base.Seconds, meaning("A rolled key works until then, where old ones do.")] | UnsetType = (
        UNSET
    )


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


ABOUT: Final[Mapping[str, type[View]]] = {
    "payment_intent": PaymentIntent, "charge": Charge, "refund": Refund, "payout": Payout,
    "webhook_endpoint": WebhookEndpoint,
}  # fmt: skip
"""What the name of an event begins with → what it is about."""


class Event(View):
    """The body of a webhook; its names and members are assumed (section 6)."""

    __source__ = Source(gap="6")
    id: EventId
    type: Annotated[str, by_register(_event_types)]
    timestamp: base.DateTime
    data: EventData
    request: EventRequest
    api_version: Annotated[str, meaning(const=API_VERSION)] = API_VERSION
    livemode: Live = False


class CloudEvent(View):
    """The body of a webhook as CloudEvents 1.0 in structured mode, where the register says so.

    What our own envelope has beside are extension attributes; `data` is what it is there.
    """

    __source__ = Event.__source__
    specversion: Annotated[str, meaning(const="1.0")]
    id: EventId
    source: Annotated[str, meaning("This service.", format="uri-reference")]
    type: Annotated[str, by_register(_event_types)]
    subject: Annotated[str, meaning("The id of the object that it is about.")]
    time: base.DateTime
    datacontenttype: Annotated[str, meaning(const="application/json")]
    data: EventData
    apiversion: Annotated[str, meaning(const=API_VERSION)]
    livemode: Live
    requestid: str | UnsetType = UNSET
    idempotencykey: str | UnsetType = UNSET

    @property
    def timestamp(self) -> str:
        """When it happened."""
        return self.time

    @property
    def request(self) -> EventRequest:
        """The request that caused the event."""
        return EventRequest(self.requestid or None, self.idempotencykey or None)


MEDIA_TYPES: Final = {"envelope": "application/json", "cloudevents": "application/cloudevents+json"}
"""The media type of a message, by `event_payload`."""
OTHER_FORM: Final[Mapping[Hashable, Hashable]] = {Event: CloudEvent, List[Event]: List[CloudEvent]}
"""What an answer may be read as, where it is not as it is by default: both have the same names to read."""


# In a path and in a query


def parameter(says: str, **schema: Any) -> Meta:  # noqa: ANN401  JSON is of any type
    """What it is for, and what joins its schema."""
    return Meta(description=says, extra_json_schema=schema)


PATHS: Final[Mapping[str, Any]] = {
    "intent_id": Annotated[str, parameter("The intent's id.", pattern="^pi_[0-9A-Za-z]+$")],
    "charge_id": Annotated[str, parameter("The charge's id.", pattern="^ch_[0-9A-Za-z]+$")],
    "refund_id": Annotated[str, parameter("The refund's id.", pattern="^re_[0-9A-Za-z]+$")],
    "payout_id": Annotated[str, parameter("The payout's id.", pattern="^po_[0-9A-Za-z]+$")],
    "event_id": Annotated[str, parameter("The event's id.", pattern="^evt_[0-9A-Za-z]+$")],
    "endpoint_id": Annotated[str, parameter("The webhook endpoint's id.", pattern="^we_[0-9A-Za-z]+$")],
    "delivery_id": Annotated[str, parameter("The delivery's id.", pattern="^del_[0-9A-Za-z]+$")],
    "key_id": Annotated[str, parameter("The key's id, not the key.", pattern="^key_[0-9A-Za-z]+$")],
    "entry_id": Annotated[str, parameter("The ledger entry's id.", pattern="^je_[0-9A-Za-z]+$")],
    "payment_id": Annotated[
        str, parameter("An intent's id, or that of a charge without one.", pattern="^(pi|ch)_[0-9A-Za-z]+$")
    ],
    "request_id": Annotated[str, parameter("The Request-Id of a response.", pattern="^[a-z]+_[0-9A-Za-z]+$")],
    "operation_id": Annotated[str, parameter("An operationId, such as `createCharge`.", pattern="^[A-Za-z]+$")],
    "item": Annotated[
        str, parameter("The late entry's id, or that of its charge or intent.", pattern="^(je|ch|pi)_[0-9A-Za-z]+$")
    ],
    "phone": Annotated[base.Phone, parameter("The customer's number.")],
}
"""What stands in a path, by the name of its field."""
Seq = Annotated[int, Meta(ge=0, le=2**63 - 1)]
_SEARCH = "Only rows whose payload contains this text; three digits or more also find numbers that end with them."


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
    starting_after: Annotated[str, parameter("The id of a row: only rows older than it.")] | None = None
    ending_before: (
        Annotated[str, parameter("The id of a row: only newer rows; with `starting_after`, the rows between.")] | None
    ) = None


class NumberedQuery(View):
    """The page of this number, newest first; the pages move on as rows are added."""

    page: Annotated[int, Meta(ge=1, le=2**31 - 1, description="The page's number, from 1.")] = 1
    per_page: Annotated[int, Meta(ge=1, le=100, description="How many rows at most.")] = 10


@cache
def numbered(query: type[ListQuery]) -> type[NumberedQuery]:
    """The query of the same list, with the same filters, that names a page by its number."""
    filters = [each for each in msgspec.structs.fields(query) if each.name not in ListQuery.__struct_fields__]
    more = {"__doc__": query.__doc__, "__module__": __name__}
    columns = [(each.name, each.type, each.default) for each in filters]
    made = defstruct(f"Numbered{query.__name__}", columns, bases=(NumberedQuery,), namespace=more)
    return cast("type[NumberedQuery]", made)


class RefundsQuery(ListQuery):
    """Those of one charge."""

    charge: Annotated[str, parameter("Those of this charge.")] | None = None


class EventsQuery(ListQuery):
    """Those of one type, or of a family such as `charge.*`; from a moment of RFC 3339 on; in which a text stands."""

    type: Annotated[str, parameter("Those of this type, or of a family."), by_register(_event_names)] | None = None
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


class FindQuery(View):
    """A page of what was looked for, newest first."""

    limit: Annotated[int, Meta(ge=1, le=1000, description="How many rows at most.")] = 25
    older_than: Annotated[Seq, parameter("The `seq` of a row: only rows older than it.")] | None = None
    search: (
        Annotated[str, Meta(min_length=1, max_length=100, description="Those in which this text stands.")] | None
    ) = None
    since: Annotated[base.Moment, parameter("Those of this moment and later.")] | None = None
    until: Annotated[base.Moment, parameter("Those before this moment.")] | None = None


class PaymentsQuery(FindQuery):
    """Those by id, description, or a number's last digits; in some states, by operator, and between two amounts."""

    status: Annotated[str, _several("Those in one of these states", enum=PAYMENT_STATES)] | None = None
    provider: Annotated[str, parameter("Those by this operator.")] | None = None
    min_minor: Annotated[Seq, parameter("Those of this amount, in minor units, and more.")] | None = None
    max_minor: Annotated[Seq, parameter("Those of this amount, in minor units, and less.")] | None = None


class RequestsQuery(FindQuery):
    """Those by Request-Id, path, payment or idempotency key; by their method, and by the first digit of the status."""

    method: Annotated[str, parameter("Those of this method.")] | None = None
    status: Annotated[int, Meta(ge=1, le=5, description="Those whose status begins so.")] | None = None


class PhonesQuery(View):
    """Whose handset comes first."""

    payment: Annotated[str, parameter("The payment whose customer's handset comes first.")] | None = None


class CodeQuery(View):
    """Where the sandbox is, for the texts."""

    base_url: Annotated[str, Meta(max_length=200, description="Written instead of `$BASE_URL`.")] = ""


class ChangesQuery(View):
    """What changed after a `seq`."""

    after: Annotated[Seq, parameter("What changed after this `seq`; without it, from now on.")] | None = None


class PaymentDetails(View):
    """All there is of one payment; `steps` are the rows of its trace as arrows of a sequence diagram."""

    payment: Payment
    events: list[PaymentEvent]
    deliveries: list[Delivery]
    trace: list[TraceRow]
    steps: list[TraceStep]
    object: Annotated[str, meaning(const="payment_details")] = "payment_details"


class SuspenseQuery(View):
    """Those in one state."""

    status: Annotated[str, parameter("Those in this state.", enum=[WAITING, *SETTLED_AS.values()])] | None = None


class EntriesQuery(View):
    """Rows of the `limit` entries after the one of the number `after`; without a limit, of all of them."""

    after: Annotated[Seq, parameter("The number of an entry: only entries after it.")] = 0
    limit: Annotated[int, Meta(ge=1, le=10_000, description="How many rows at most.")] | None = None


class MovementsQuery(EntriesQuery):
    """Those of some accounts, separated by commas; without any, of those that somebody else keeps books of too."""

    account: Annotated[str, _several("Those on these accounts", pattern="^[a-z0-9_:]+$")] | None = None


class TraceQuery(View):
    """A page of what came after a `seq`, oldest first: the first rows, or the latest."""

    since: Annotated[Seq, parameter("What came after this `seq`.")] = 0
    limit: Annotated[int, Meta(ge=1, le=1_000, description="How many rows at most.")] = 1_000
    latest: (
        Annotated[int, Meta(ge=1, le=1_000, description="How many of the latest rows, in place of the first.")] | None
    ) = None
    skip: Annotated[Seq, parameter("How many rows to pass over: before the first, or after the latest.")] = 0
    kind: Annotated[str, _several("Those of these kinds", enum=[*KINDS])] | None = None
    payment: (
        Annotated[str, parameter("Those of one payment, by the id of its intent, charge or refund; or of one payout.")]
        | None
    ) = None
