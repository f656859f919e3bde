"""Bodies of payment intents, charges and refunds, of money that came late, of payouts and the balance."""

from collections.abc import Callable
from decimal import Decimal
from typing import Annotated

from msgspec import UNSET, Meta, UnsetType, field

from workbench.domain import payments
from workbench.domain.gaps import Gaps
from workbench.domain.ledger import LATE_STATES
from workbench.domain.money import ISO_4217, MAX_MAJOR_DIGITS, ZMW
from workbench.domain.wire.base import (
    AnyCurrency,
    ChargeId,
    CreatedObject,
    FieldSource,
    Int64,
    ListQuery,
    Live,
    LowerCurrency,
    MaskedPhone,
    Moment,
    OperatorId,
    OperatorName,
    Phone,
    Schema,
    Seconds,
    ShownLowerCurrency,
    ShownSecret,
    ShownUpperCurrency,
    UpperCurrency,
    View,
    by_register,
    is_id,
    meaning,
    parameter,
    required,
)

IntentId = Annotated[str, is_id("pi")]
TOO_MUCH_MAJOR = 10**MAX_MAJOR_DIGITS
"""Amounts must be below this number of major units."""
_MAJOR: Schema = {
    "exclusiveMinimum": 0,
    "exclusiveMaximum": TOO_MUCH_MAJOR,
    "multipleOf": Decimal("0.01"),
    "description": "Major units with at most two decimals: 150, 150.0 and 150.00 are the same amount.",
}


def major_amount(gaps: Gaps) -> Schema:
    """The schema of an amount in major units, with the decimals of the finest currency that the register allows."""
    if gaps.currencies == "zmw":
        return _MAJOR
    finest = max(currency.decimals for currency in ISO_4217.values())
    says = f"Major units with at most the currency's own number of decimals, {finest} of the finest."
    return _MAJOR | {"multipleOf": Decimal(f"1e-{finest}"), "description": says}


_SCALE = {"zmw": "two decimals", "iso4217": "with the currency's own number of decimals"}
MajorAmount = Annotated[Decimal, by_register(lambda gaps: {"description": f"Major units, {_SCALE[gaps.currencies]}."})]
MobileMoneyType = Annotated[str, meaning(const=payments.MOBILE_MONEY)]


def states_of(table: payments.Transitions | Callable[[Gaps], payments.Transitions]) -> Meta:
    """The schema of a state in a table of transitions; the table may depend on the register."""

    def rule(gaps: Gaps) -> Schema:
        transitions = table(gaps) if callable(table) else table
        return {"enum": [*dict.fromkeys([*(state for state, _ in transitions), *transitions.values()])]}

    return by_register(rule)


FailureCode = Annotated[str, meaning(enum=[*payments.FAILURES])]


def _bounded_amount(gaps: Gaps) -> Schema:
    least, most = payments.BOUNDS_MAJOR[gaps.amount_bounds]
    bounds: Schema = {"minimum": least, "maximum": most} if most else {"exclusiveMinimum": 0}
    schema = major_amount(gaps) | bounds
    if gaps.intent_amount_scale == "half_even":
        del schema["multipleOf"]
        schema["description"] = "Major units; what is finer than a minor unit is rounded half-even."
    return schema


def _method_types(gaps: Gaps) -> Schema:
    if gaps.payment_method_types == "only":
        return {"items": {"const": payments.MOBILE_MONEY}, "minItems": 1}
    return {"contains": {"const": payments.MOBILE_MONEY}, "description": f"Must include `{payments.MOBILE_MONEY}`."}


class CreatePaymentIntent(View):
    """A payment that a wallet confirms later (section 2.1 of the interface)."""

    __source__ = FieldSource("2.1", ("amount", "currency", "payment_method_types", "description"), gap="2.5")
    amount: Annotated[Decimal, by_register(_bounded_amount)]
    currency: UpperCurrency
    payment_method_types: Annotated[list[str], by_register(_method_types)]
    description: Annotated[str, meaning("Free text; the customer reads its beginning in the prompt.")] | None = None
    metadata: dict[str, str] = field(default_factory=dict)


class MobileMoney(View):
    """The customer's wallet (section 2.2 of the interface)."""

    __source__ = FieldSource("2.2", ("phone", "provider"))
    phone: Phone
    provider: OperatorName


class MobileMoneyMethod(View):
    """The container of the customer's wallet (section 2.2 of the interface)."""

    __source__ = FieldSource("2.2", ("type", "mobile_money"))
    type: MobileMoneyType
    mobile_money: MobileMoney


class ConfirmPaymentIntent(View):
    """The wallet that is to pay an intent (section 2.2 of the interface)."""

    __source__ = FieldSource("2.2", ("payment_method",))
    __whole__ = required("payment_method", "client_secret", client_secret_on_confirm="always")  # noqa: S106  a choice
    payment_method: MobileMoneyMethod
    client_secret: Annotated[str, meaning("Needed with a publishable key; checked whenever you send it.")] | None = None


class CancelPaymentIntent(View):
    """The reason for canceling an intent, in the merchant's words.

    The interface does not show this object: it is assumed.
    """

    cancellation_reason: str | None = None


class ClientSecretQuery(View):
    """The client secret, which a call with a publishable key needs."""

    client_secret: (
        Annotated[str, parameter("The intent's secret: needed with a publishable key, checked whenever you send it.")]
        | None
    ) = None


class UssdPrompt(View):
    """The prompt that waits on a handset."""

    phone: MaskedPhone
    expires_at: Seconds


class NextAction(View):
    """The step that the payment waits for."""

    type: Annotated[str, meaning(const="ussd_prompt")]
    ussd_prompt: UssdPrompt


class PaymentError(View):
    """The reason why the last attempt failed."""

    __source__ = FieldSource(gap="2.5")
    code: FailureCode
    message: str
    charge: ChargeId | None = None


class ShownMobileMoney(MobileMoney):
    """The customer's wallet, its number masked (section 2.2 of the interface)."""

    __source__ = FieldSource(gap="2.5")
    __prints_as__ = "MobileMoney"
    phone: MaskedPhone
    provider: OperatorId


class ShownMethod(MobileMoneyMethod):
    """The container of the customer's wallet in a response (section 2.2 of the interface)."""

    __source__ = FieldSource(gap="2.5")
    __prints_as__ = "MobileMoneyMethod"
    type: MobileMoneyType
    mobile_money: ShownMobileMoney


class Suspense(View):
    """Money that arrived after its attempt had failed, and whether it is settled.

    The money waits until the provider credits it to the merchant, less the fee, or returns it to the customer. The
    interface does not show this object: it is assumed.
    """

    __source__ = FieldSource(gap="3")
    id: Annotated[str, is_id("je")]
    status: Annotated[str, meaning(enum=[*LATE_STATES])]
    amount: MajorAmount
    currency: ShownUpperCurrency
    since: Annotated[Seconds, meaning("When the money came; seconds since 1970, UTC.")]
    operator_reference: Annotated[str, meaning("The operator's name for the movement, which the customer sees too.")]
    charge: ChargeId
    phone: MaskedPhone
    payment_intent: IntentId | None = None
    settled_at: Seconds | None = None
    settled_by: Annotated[str, is_id("je")] | None = None
    object: Annotated[str, meaning(const="suspense")] = "suspense"
    livemode: Live = False


InSuspense = Annotated[list[Suspense], meaning("Money that came late, oldest first; left out if no money came late.")]


class PaymentIntent(View):
    """A payment that a wallet pays once the merchant has confirmed the intent.

    Section 2.1 of the interface shows id and client_secret; the rest is assumed.
    """

    __source__ = FieldSource("2.1", ("id", "client_secret"), gap="2.5")
    id: IntentId
    client_secret: Annotated[ShownSecret, meaning("Used to confirm the intent; not in events.")] | UnsetType = UNSET
    object: Annotated[str, meaning(const="payment_intent")] | UnsetType = "payment_intent"
    amount: MajorAmount | UnsetType = UNSET
    currency: ShownUpperCurrency | UnsetType = UNSET
    status: Annotated[str, states_of(payments.intent_transitions)] = ""
    description: str | UnsetType | None = UNSET
    payment_method_types: list[str] | UnsetType = UNSET
    payment_method: ShownMethod | UnsetType | None = UNSET
    next_action: NextAction | UnsetType | None = UNSET
    last_payment_error: PaymentError | UnsetType | None = UNSET
    latest_charge: ChargeId | UnsetType | None = UNSET
    metadata: dict[str, str] | UnsetType = UNSET
    warnings: list[str] | UnsetType = UNSET
    suspense: InSuspense | UnsetType = UNSET
    canceled_at: Seconds | UnsetType | None = UNSET
    cancellation_reason: str | UnsetType | None = UNSET
    created: Seconds | UnsetType = UNSET
    livemode: Live | UnsetType = False


class AcceptedIntent(View):
    """The response to a confirmation if the service only acknowledges the request."""

    __source__ = FieldSource("2.1", ("id",))
    id: IntentId
    status: Annotated[str, states_of(payments.intent_transitions)]


def _whole_amount(gaps: Gaps) -> Schema:
    least, most = payments.BOUNDS_MAJOR[gaps.amount_bounds]
    unit = payments.unit_minor(gaps, ZMW.code)
    says = {"minor": "Minor units: 15000 is 150.00 ZMW.", "major": "Major units: 150 is 150.00 ZMW."}
    return {
        "minimum": max(1, least * 100 // unit),
        "maximum": ((most or 0) * 100 or TOO_MUCH_MAJOR * 100 - 1) // unit,
        "description": says[gaps.charge_amount_unit],
    }


class CreateCharge(View):
    """A payment in a single call (section 2.3 of the interface)."""

    __source__ = FieldSource("2.3", ("amount", "currency", "type", "channel", "phone", "reference"), gap="2.5")
    __whole__ = required(*__source__.shows, required_fields="with_reference")
    amount: Annotated[Int64, by_register(_whole_amount)]
    currency: LowerCurrency
    type: MobileMoneyType
    channel: OperatorName
    phone: Phone
    reference: Annotated[str, meaning("The merchant's own reference for the order.")] | None = None
    metadata: dict[str, str] = field(default_factory=dict)


def _charge_amount(gaps: Gaps) -> Schema:
    """The schema of a charge's amount in minor units, an integer; or in major units, a number.

    In major units, the amount of an intent's charge may have decimals.
    """
    says = f"In {gaps.charge_amount_unit} units."
    if gaps.charge_amount_unit == "minor":
        return {"type": "integer", "minimum": 1, "description": says}
    says = f"{says} With decimals if an intent's amount has decimals."
    return {"type": "number", "exclusiveMinimum": 0, "description": says}


class Charge(CreatedObject):
    """One attempt to collect money from a customer.

    Section 2.3 of the interface shows id, status, amount, currency, channel and provider; the rest is assumed.
    """

    __source__ = FieldSource("2.3", ("id", "status", "amount", "currency", "channel", "provider"), gap="2.5")
    id: ChargeId
    status: Annotated[str, states_of(payments.charge_transitions)]
    amount: Annotated[int | Decimal, by_register(_charge_amount)]
    currency: ShownLowerCurrency
    channel: Annotated[OperatorId, meaning("The operator that the merchant asked for.")]
    provider: Annotated[OperatorId, meaning("The operator that moved the money.")]
    object: Annotated[str, meaning(const="charge")] = "charge"
    type: MobileMoneyType = payments.MOBILE_MONEY
    phone: MaskedPhone = ""
    reference: str | None = None
    payment_intent: IntentId | None = None
    failure_code: FailureCode | None = None
    failure_message: str | None = None
    amount_refunded: Annotated[
        int | Decimal,
        by_register(lambda gaps: {"type": "integer" if gaps.charge_amount_unit == "minor" else "number", "minimum": 0}),
    ] = 0
    refunded: bool = False
    metadata: dict[str, str] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    suspense: InSuspense | UnsetType = UNSET


class SuspenseQuery(View):
    """Filters late money by its state."""

    status: Annotated[str, parameter("Only rows in this state.", enum=[*LATE_STATES])] | None = None


def _refunded(named: str, absent: str, **amount: object) -> Schema:
    """The schema of a refund request with the field `named` (`charge` or `payment_intent`) and without `absent`.

    `amount` has keywords of the amount's schema.
    """
    properties = {named: {"type": "string"}, absent: {"type": "null"}, "amount": amount}
    return {"required": [named], "properties": properties}


def _charge_or_intent(gaps: Gaps) -> Schema:
    """The schema of a refund request: for a charge in whole units, or for an intent in major units."""
    of_charge = _refunded("charge", "payment_intent", multipleOf=1)
    finest = major_amount(gaps)["multipleOf"]
    of_intent = _refunded("payment_intent", "charge", multipleOf=finest, exclusiveMaximum=TOO_MUCH_MAJOR)
    return {"oneOf": [of_charge, of_intent]}


class CreateRefund(View):
    """The refund of a charge or an intent.

    `amount` is in the unit of the charge or intent, and by default all that is not refunded yet. The interface does not
    show this object: it is assumed.
    """

    __whole__ = _charge_or_intent
    charge: str | None = None
    payment_intent: str | None = None
    amount: Annotated[Decimal, meaning(exclusiveMinimum=0)] | None = None
    reason: str | None = None
    metadata: dict[str, str] = field(default_factory=dict)


class Refund(CreatedObject):
    """Money that goes back to a customer's wallet; pending until the operator has sent it.

    `amount` is in the unit of the refund's charge or intent. The interface does not show this object: it is assumed.
    """

    id: Annotated[str, is_id("re")]
    status: Annotated[str, states_of(payments.REFUND_TRANSITIONS)]
    amount: Annotated[Decimal, meaning("In the unit of the charge or the intent that the request named.")]
    currency: AnyCurrency
    charge: ChargeId
    payment_intent: IntentId | None = None
    object: Annotated[str, meaning(const="refund")] = "refund"
    reason: str | None = None
    failure_code: FailureCode | None = None
    failure_message: str | None = None
    metadata: dict[str, str] = field(default_factory=dict)


class RefundsQuery(ListQuery):
    """Filters refunds by charge."""

    charge: Annotated[str, parameter("Only refunds of this charge.")] | None = None


class CreatePayout(View):
    """The `amount`, in major units, to pay to the merchant's bank; `destination` is the merchant's name for an account.

    The interface does not show this object: it is assumed.
    """

    amount: Annotated[Decimal, by_register(major_amount)]
    currency: UpperCurrency
    destination: str | None = None
    metadata: dict[str, str] = field(default_factory=dict)


class Payout(CreatedObject):
    """Money on its way to the merchant's bank: pending until the night's clearing pays it, then paid or failed.

    The interface does not show this object: it is assumed.
    """

    id: Annotated[str, is_id("po")]
    status: Annotated[str, states_of(payments.PAYOUT_TRANSITIONS)]
    amount: MajorAmount
    currency: ShownUpperCurrency
    object: Annotated[str, meaning(const="payout")] = "payout"
    destination: str | None = None
    failure_code: FailureCode | None = None
    failure_message: str | None = None
    metadata: dict[str, str] = field(default_factory=dict)


class Amount(View):
    """An amount in major units."""

    amount: MajorAmount
    currency: ShownUpperCurrency


class Balance(View):
    """The merchant's balance: money not cleared yet, money that can be paid out, and the merchant's debt.

    `suspense` is late money that waits, gross. This money belongs to nobody yet; the field is left out if no money
    waits. The interface does not show this object: it is assumed.
    """

    pending: list[Amount]
    available: list[Amount]
    owed: list[Amount]
    suspense: list[Amount] | UnsetType = UNSET
    object: Annotated[str, meaning(const="balance")] = "balance"
    livemode: Live = False


class BalancesQuery(View):
    """Asks for balances of entries that occurred by `as_of` and were recorded by `known_at`, moments of RFC 3339."""

    as_of: Annotated[Moment, parameter("Only entries that had occurred by this moment.")] | None = None
    known_at: Annotated[Moment, parameter("Only entries that were recorded by this moment.")] | None = None
