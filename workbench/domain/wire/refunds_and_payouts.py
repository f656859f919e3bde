"""Bodies of refunds, payouts and the balance."""

from decimal import Decimal
from typing import Annotated

from msgspec import UNSET, UnsetType, field

from workbench.domain import payments
from workbench.domain.gaps import Gaps
from workbench.domain.wire.base import Schema, View, by_register, meaning, parameter
from workbench.domain.wire.field_types import (
    TOO_MUCH_MAJOR,
    AnyCurrency,
    ChargeId,
    FailureCode,
    IntentId,
    Live,
    Made,
    MajorAmount,
    Moment,
    ShownUpperCurrency,
    UpperCurrency,
    is_id,
    major_amount,
    states_of,
)
from workbench.domain.wire.paging import ListQuery


def _refunded(one: str, other: str, **amount: object) -> Schema:
    """The schema of a refund of `one`, a charge or an intent, that does not name the `other`."""
    properties = {one: {"type": "string"}, other: {"type": "null"}, "amount": amount}
    return {"required": [one], "properties": properties}


def _of_one(gaps: Gaps) -> Schema:
    """A refund of a charge, in whole units, or of an intent, in major units."""
    of_charge = _refunded("charge", "payment_intent", multipleOf=1)
    finest = major_amount(gaps)["multipleOf"]
    of_intent = _refunded("payment_intent", "charge", multipleOf=finest, exclusiveMaximum=TOO_MUCH_MAJOR)
    return {"oneOf": [of_charge, of_intent]}


class CreateRefund(View):
    """Assumed: refunds a charge or an intent; `amount` in its unit, by default everything not refunded yet."""

    __whole__ = _of_one
    charge: str | None = None
    payment_intent: str | None = None
    amount: Annotated[Decimal, meaning(exclusiveMinimum=0)] | None = None
    reason: str | None = None
    metadata: dict[str, str] = field(default_factory=dict)


class Refund(Made):
    """Assumed; `amount` is in the unit of its charge or intent; pending until the operator has sent the money back."""

    id: Annotated[str, is_id("re")]
    status: Annotated[str, states_of(payments.REFUND_TRANSITIONS)]
    amount: Annotated[Decimal, meaning("In the unit of what was named: a charge or an intent.")]
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

    charge: Annotated[str, parameter("Those of this charge.")] | None = None


class CreatePayout(View):
    """Assumed: `amount` in major units, `destination` is the merchant's own name for an account."""

    amount: Annotated[Decimal, by_register(major_amount)]
    currency: UpperCurrency
    destination: str | None = None
    metadata: dict[str, str] = field(default_factory=dict)


class Payout(Made):
    """Assumed; pending until the night's clearing pays it, then paid or failed."""

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
    """Assumed: the merchant's money that is not cleared yet, money that can be paid out, and the merchant's debt.

    `suspense` is late money that waits, gross; it is nobody's yet, and left out if none waits.
    """

    pending: list[Amount]
    available: list[Amount]
    owed: list[Amount]
    suspense: list[Amount] | UnsetType = UNSET
    object: Annotated[str, meaning(const="balance")] = "balance"
    livemode: Live = False


class BalancesQuery(View):
    """Asks for balances of entries that occurred by `as_of` and were recorded by `known_at`, moments of RFC 3339."""

    as_of: Annotated[Moment, parameter("What had occurred by this moment.")] | None = None
    known_at: Annotated[Moment, parameter("What was recorded by this moment.")] | None = None
