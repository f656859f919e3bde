"""The bodies of answers; `created`, `expires_at` and their like are seconds since 1970, UTC."""

from collections.abc import Iterator
from decimal import Decimal
from typing import Generic, TypeVar

from msgspec import UNSET, UnsetType, field

from workbench.domain.wire.requests import MobileMoneyMethod
from workbench.domain.wire.shown import Int32, Shown

T = TypeVar("T")


class List(Shown, Generic[T]):
    """A page of a list, newest first, to go through as it is; `has_more` tells whether there are rows beyond it."""

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


class UssdPrompt(Shown):
    """The prompt that waits on a handset."""

    phone: str
    expires_at: int


class NextAction(Shown):
    """What has to happen before the payment goes on."""

    type: str
    ussd_prompt: UssdPrompt


class PaymentError(Shown):
    """Why the last attempt failed."""

    code: str
    message: str
    charge: str | None = None


class PaymentIntent(Shown):
    """Section 2.1: id and client_secret are shown, the rest is assumed."""

    id: str
    client_secret: str | UnsetType = UNSET
    object: str | UnsetType = "payment_intent"
    amount: Decimal | UnsetType = UNSET
    currency: str | UnsetType = UNSET
    status: str = ""
    description: str | UnsetType | None = UNSET
    payment_method_types: list[str] | UnsetType = UNSET
    payment_method: MobileMoneyMethod | UnsetType | None = UNSET
    next_action: NextAction | UnsetType | None = UNSET
    last_payment_error: PaymentError | UnsetType | None = UNSET
    latest_charge: str | UnsetType | None = UNSET
    metadata: dict[str, str] | UnsetType = UNSET
    warnings: list[str] | UnsetType = UNSET
    canceled_at: int | UnsetType | None = UNSET
    cancellation_reason: str | UnsetType | None = UNSET
    created: int | UnsetType = UNSET
    livemode: bool | UnsetType = False


class Charge(Shown):
    """Section 2.3: id, status, amount, currency, channel and provider are shown, the rest is assumed."""

    id: str
    status: str
    amount: int
    currency: str
    channel: str
    provider: str
    object: str = "charge"
    type: str = "mobile_money"
    phone: str = ""
    reference: str | None = None
    payment_intent: str | None = None
    failure_code: str | None = None
    failure_message: str | None = None
    amount_refunded: int = 0
    refunded: bool = False
    metadata: dict[str, str] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    created: int = 0
    livemode: bool = False


class Plant(Shown):
    """Section 2.4."""

    name: str
    tag: str | UnsetType = UNSET


class PlantError(Shown):
    """Section 2.4, Error."""

    error: Int32
    message: str


class Token(Shown):
    """Section 4: a bearer token for 86,400 s; the names of the fields are assumed (RFC 6749 §5.1)."""

    access_token: str
    refresh_token: str
    token_type: str = "Bearer"  # noqa: S105  the scheme's name
    expires_in: int = 86_400


class WebhookEndpoint(Shown):
    """Assumed; `secret` is there once, when the endpoint is created or its secret rolled.

    Until `secret_overlap_until` messages are signed with a secret before as well.
    """

    id: str
    url: str
    enabled_events: list[str]
    status: str
    object: str = "webhook_endpoint"
    secret: str | UnsetType = UNSET
    secret_overlap_until: int | None = None
    created: int = 0
    livemode: bool = False


class Deleted(Shown):
    """Assumed: what is left of an object that was removed."""

    id: str
    object: str
    deleted: bool = True


class Refund(Shown):
    """Assumed; `amount` is in the unit of what it refunds, pending until the operator has sent it back."""

    id: str
    status: str
    amount: Decimal
    currency: str
    charge: str
    payment_intent: str | None = None
    object: str = "refund"
    reason: str | None = None
    failure_code: str | None = None
    failure_message: str | None = None
    metadata: dict[str, str] = field(default_factory=dict)
    created: int = 0
    livemode: bool = False


class Payout(Shown):
    """Assumed; pending until the night's clearing pays it, then paid or failed."""

    id: str
    status: str
    amount: Decimal
    currency: str
    object: str = "payout"
    destination: str | None = None
    failure_code: str | None = None
    failure_message: str | None = None
    metadata: dict[str, str] = field(default_factory=dict)
    created: int = 0
    livemode: bool = False


class Amount(Shown):
    """An amount in major units."""

    amount: Decimal
    currency: str


class Balance(Shown):
    """Assumed: what is the merchant's and not cleared yet, what can be paid out, and what the merchant owes."""

    pending: list[Amount]
    available: list[Amount]
    owed: list[Amount]
    object: str = "balance"
    livemode: bool = False


class DeliveryAttempt(Shown):
    """One try; `status_code` is None when no answer came: `fault` says why. `answer` is its first 20,000 bytes."""

    number: int
    at: int
    latency_ms: int
    status_code: int | None
    fault: str | None
    answer: str


class Delivery(Shown):
    """Assumed: one event on its way to one endpoint: pending, delivered or dead_letter."""

    id: str
    status: str
    event: str
    event_type: str
    endpoint: str
    url: str
    attempts: list[DeliveryAttempt]
    next_attempt_at: int | None = None
    object: str = "delivery"
    created: int = 0
    livemode: bool = False


class ApiKey(Shown):
    """Assumed; `masked` tells keys apart, `value` is there once, when the key is created or rolled."""

    id: str
    kind: str
    status: str
    masked: str
    value: str | UnsetType = UNSET
    object: str = "api_key"
    created: int = 0
    livemode: bool = False
