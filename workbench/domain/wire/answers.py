"""The bodies of answers; `created`, `expires_at` and their like are seconds since 1970, UTC."""

from collections.abc import Iterator
from decimal import Decimal
from typing import Annotated, ClassVar, Generic, TypeVar

from msgspec import UNSET, UnsetType, field

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
from workbench.domain.webhooks import DEAD_LETTER, DELIVERED, DISABLED, ENABLED, PENDING
from workbench.domain.wire.fields import (
    ChargeId,
    EndpointId,
    EventId,
    FailureCode,
    IntentId,
    Live,
    MajorAmount,
    MaskedPhone,
    MobileMoneyType,
    NeverNegative,
    OperatorId,
    Positive,
    Schema,
    Seconds,
    Zmw,
    by_register,
    is_id,
    meaning,
    one_of,
    only,
    operator_that,
    states,
)
from workbench.domain.wire.requests import MobileMoney, MobileMoneyMethod
from workbench.domain.wire.shown import Int32, Source, View

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
