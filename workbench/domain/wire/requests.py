"""The bodies of requests.

Amounts of intents, refunds of intents and payouts are decimals in major units, amounts of charges whole numbers.
"""

import re
from decimal import Decimal
from typing import Annotated, Any, ClassVar, Final

from msgspec import UNSET, UnsetType, field

from workbench.domain.gaps import Gaps
from workbench.domain.ids import KEY_PREFIXES
from workbench.domain.webhooks import DISABLED, ENABLED
from workbench.domain.wire.fields import (
    TOO_MUCH,
    ChargeAmount,
    EventFilter,
    IntentAmount,
    LowerCurrency,
    MethodTypes,
    MobileMoneyType,
    OperatorName,
    PayoutAmount,
    Phone,
    UpperCurrency,
    Url,
    meaning,
    one_of,
)
from workbench.domain.wire.shown import Int64, Source, View

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
