"""What travels: one struct for each body, shared by the client and the API.

Fields that the interface shows carry the number of its section in their comment; the others are
assumed, as the register of gaps says. Amounts of intents are decimals in major units, amounts of
charges are whole numbers; `created` and `expires_at` are seconds since 1970, UTC.
"""

from decimal import Decimal
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType, field

from workbench.domain.masking import Secret, mask

API_VERSION = "1"

Int32 = Annotated[int, Meta(ge=-(2**31), le=2**31 - 1)]
Int64 = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]


_SECRETS = ("client_secret", "access_token", "refresh_token", "secret", "password")
_LINE = 100


class Shown(Struct):
    """A struct whose repr shows no secret and no whole number."""

    def __post_init__(self) -> None:
        for name in _SECRETS:
            if isinstance(value := getattr(self, name, None), str):
                setattr(self, name, Secret(value))

    def __repr__(self) -> str:
        fields = [
            f"{name}={value!r}"
            for name in self.__struct_fields__
            if (value := getattr(self, name)) not in (None, UNSET, [], {})
        ]
        line = f"{type(self).__name__}({', '.join(fields)})"
        if len(line) > _LINE:
            inner = ",\n".join(fields).replace("\n", "\n    ")
            line = f"{type(self).__name__}(\n    {inner},\n)"
        return mask(line)


def plain(value: object) -> str:
    """A secret as the text that travels; msgspec encodes no subclass of a string by itself."""
    if isinstance(value, Secret):
        return str(value)
    raise NotImplementedError(type(value).__name__)


_ENCODER = msgspec.json.Encoder(decimal_format="number", enc_hook=plain)


def to_json(value: object) -> bytes:
    """JSON bytes; decimals as numbers with all their digits, secrets whole."""
    return _ENCODER.encode(value)


# Requests


class CreatePaymentIntent(Shown):
    """Section 2.1."""

    amount: Decimal
    currency: str
    payment_method_types: list[str]
    description: str | None = None
    metadata: dict[str, str] = field(default_factory=dict)


class MobileMoney(Shown):
    """Section 2.2."""

    phone: str
    provider: str


class MobileMoneyMethod(Shown):
    """Section 2.2: the required container."""

    type: str
    mobile_money: MobileMoney


class ConfirmPaymentIntent(Shown):
    """Section 2.2."""

    payment_method: MobileMoneyMethod
    client_secret: str | None = None


class CreateCharge(Shown):
    """Section 2.3."""

    amount: Int64
    currency: str
    type: str
    channel: str
    phone: str
    reference: str | None = None
    metadata: dict[str, str] = field(default_factory=dict)


class NewPlant(Shown):
    """Section 2.4."""

    id: Int64
    name: str
    tag: str | UnsetType = UNSET


class TokenRequest(Shown):
    """Section 4, illustrative."""

    email: str
    password: str


class RefreshRequest(Shown):
    """Section 4, illustrative; empty when the bearer in the header is what is refreshed."""

    refresh_token: str | None = None


class CreateWebhookEndpoint(Shown):
    """Assumed."""

    url: str
    enabled_events: list[str] = field(default_factory=lambda: ["*"])


# Answers


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
    """Assumed; `secret` is there once, when the endpoint is created."""

    id: str
    url: str
    enabled_events: list[str]
    status: str
    object: str = "webhook_endpoint"
    secret: str | UnsetType = UNSET
    created: int = 0
    livemode: bool = False


class Deleted(Shown):
    """Assumed: what is left of an object that was removed."""

    id: str
    object: str
    deleted: bool = True


# Events


class EventData(Shown):
    """The object as it was when the event happened, and what changed."""

    object: dict[str, Any]
    previous_attributes: dict[str, Any] = field(default_factory=dict)


class EventRequest(Shown):
    """The request that caused the event; both None when no request did."""

    id: str | None = None
    idempotency_key: str | None = None


class Event(Shown):
    """The body of a webhook; its names and members are assumed (section 6)."""

    id: str
    type: str
    timestamp: str
    data: EventData
    request: EventRequest
    api_version: str = API_VERSION
    livemode: bool = False
