"""The bodies of requests.

Amounts of intents, refunds of intents and payouts are decimals in major units, amounts of charges whole numbers.
"""

from decimal import Decimal

from msgspec import UNSET, UnsetType, field

from workbench.domain.wire.shown import Int64, Shown


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


class UpdateWebhookEndpoint(Shown):
    """Assumed: what is left out stays as it is; `status` is enabled or disabled."""

    url: str | None = None
    enabled_events: list[str] | None = None
    status: str | None = None


class CancelPaymentIntent(Shown):
    """Assumed."""

    cancellation_reason: str | None = None


class CreateRefund(Shown):
    """Assumed: of a charge or of an intent; `amount` in the unit of what it refunds, all that is left without it."""

    charge: str | None = None
    payment_intent: str | None = None
    amount: Decimal | None = None
    reason: str | None = None
    metadata: dict[str, str] = field(default_factory=dict)


class CreatePayout(Shown):
    """Assumed: `amount` in major units, `destination` is the merchant's own name for an account."""

    amount: Decimal
    currency: str
    destination: str | None = None
    metadata: dict[str, str] = field(default_factory=dict)


class CreateApiKey(Shown):
    """Assumed: `kind` is secret or publishable."""

    kind: str = "secret"
