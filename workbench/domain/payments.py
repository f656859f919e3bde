"""Payments: their states and the transitions between them, operators, failures, bounds and fees."""

from collections.abc import Callable, Mapping
from typing import Final

import msgspec

from workbench.domain import money
from workbench.domain.gaps import Gaps
from workbench.errors import IllegalTransition

Transitions = Mapping[tuple[str, str], str]


def next_state(transitions: Transitions, state: str, event: str) -> str:
    """The state after `event`. Raises IllegalTransition with the events that `state` takes."""
    try:
        return transitions[state, event]
    except KeyError:
        allowed = tuple(each for (start, each) in transitions if start == state)
        raise IllegalTransition(
            f"{event} is not possible in state {state}, which takes {', '.join(allowed) or 'nothing more'}.",
            state=state,
            event=event,
            allowed=allowed,
        ) from None


REQUIRES_PAYMENT_METHOD: Final = "requires_payment_method"
REQUIRES_ACTION: Final = "requires_action"
PROCESSING: Final = "processing"
PENDING: Final = "pending"
SUCCEEDED: Final = "succeeded"
FAILED: Final = "failed"
CANCELED: Final = "canceled"
PAID: Final = "paid"
MOBILE_MONEY: Final = "mobile_money"

INTENT_TRANSITIONS: Transitions = {
    (REQUIRES_PAYMENT_METHOD, "confirm"): REQUIRES_ACTION,
    (REQUIRES_PAYMENT_METHOD, "cancel"): CANCELED,
    (REQUIRES_ACTION, "pin_accepted"): PROCESSING,
    (REQUIRES_ACTION, "attempt_failed"): REQUIRES_PAYMENT_METHOD,
    (REQUIRES_ACTION, "cancel"): CANCELED,
    (PROCESSING, "funds_secured"): SUCCEEDED,
    (PROCESSING, "attempt_failed"): REQUIRES_PAYMENT_METHOD,
}
"""(state, event) → state; anything else is refused."""

CHARGE_TRANSITIONS: Transitions = {(PENDING, "funds_secured"): SUCCEEDED, (PENDING, "attempt_failed"): FAILED}
REFUND_TRANSITIONS: Transitions = {(PENDING, "sent"): SUCCEEDED, (PENDING, "failed"): FAILED}
PAYOUT_TRANSITIONS: Transitions = {(PENDING, "paid"): PAID, (PENDING, "failed"): FAILED, (PAID, "returned"): FAILED}

FAILURES: Mapping[str, str] = {
    "insufficient_funds": "The wallet holds less than the amount.",
    "wrong_pin": "The PIN was wrong too often.",
    "declined_by_customer": "The customer pressed cancel.",
    "prompt_timeout": "The customer did not answer in time.",
    "limit_reached": "The wallet's daily or balance limit is reached.",
    "payer_not_found": "There is no wallet on this number.",
    "payer_busy": "Another prompt is open on this number.",
    "operator_unavailable": "The operator is down.",
    "operator_unknown": "The operator did not answer; the money may or may not have moved.",
    "canceled_by_merchant": "The merchant canceled the payment before the customer answered.",
    "bank_refused": "The bank did not take the payout.",
    "bank_returned": "The bank took the payout and returned it.",
}
"""Why money did not move: our code → what to tell a person."""


class Stored(msgspec.Struct, frozen=True, kw_only=True):
    """What the store keeps of a merchant: `seq` is its place among all that happened."""

    id: str
    seq: int
    account: str


class PaymentIntent(Stored, frozen=True, kw_only=True):
    """An in-flight attempt to be paid, as it is stored. Times are milliseconds since 1970."""

    client_secret: str
    amount_minor: int
    currency: str
    status: str = REQUIRES_PAYMENT_METHOD
    description: str | None = None
    payment_method_types: tuple[str, ...] = ()
    phone: str | None = None
    provider: str | None = None
    latest_charge: str | None = None
    failure_code: str | None = None
    cancellation_reason: str | None = None
    canceled_ms: int | None = None
    metadata: dict[str, str] = {}
    warnings: tuple[str, ...] = ()
    created_ms: int = 0


class Charge(Stored, frozen=True, kw_only=True):
    """One attempt to move the money, of an intent or on its own, as it is stored."""

    amount_minor: int
    currency: str
    channel: str
    provider: str
    phone: str
    status: str = PENDING
    reference: str | None = None
    payment_intent: str | None = None
    failure_code: str | None = None
    refunded_minor: int = 0
    """What was given back or is on its way, without failed refunds."""
    metadata: dict[str, str] = {}
    warnings: tuple[str, ...] = ()
    created_ms: int = 0


class Refund(Stored, frozen=True, kw_only=True):
    """Money given back of one charge, as it is stored. `entry` took it from the merchant."""

    charge: str
    of_intent: int
    """1 when the intent was named, whose amounts are decimals."""
    payment_intent: str | None
    amount_minor: int
    currency: str
    entry: str
    status: str = PENDING
    reason: str | None = None
    scenario: str | None = None
    failure_code: str | None = None
    metadata: dict[str, str] = {}
    created_ms: int = 0


class Payout(Stored, frozen=True, kw_only=True):
    """Money on its way to the merchant's bank, as it is stored."""

    amount_minor: int
    currency: str
    status: str = PENDING
    destination: str | None = None
    scenario: str | None = None
    failure_code: str | None = None
    metadata: dict[str, str] = {}
    created_ms: int = 0


UNITS_MINOR: Final[Mapping[str, int]] = {"minor": 1, "major": 100}
"""What one unit of a charge's whole amount is worth, by `charge_amount_unit`."""
BOUNDS_MINOR: Final[Mapping[str, tuple[int, int | None]]] = {"none": (1, None), "1_to_20000": (100, 2_000_000)}
"""The least and the most that is taken, by `amount_bounds`."""


class Fees(msgspec.Struct, frozen=True):
    """The service's and the operator's share of a payment, in minor units."""

    merchant_minor: int
    operator_minor: int


_MERCHANT_FEE: Mapping[str, Callable[[int], int]] = {
    "2.5%": lambda gross: max(1, money.share(gross, 250)),
    "none": lambda _: 0,
    "flat_1.00": lambda gross: min(100, gross),
}
_OPERATOR_FEE: Mapping[str, Callable[[int], int]] = {"1.0%": lambda gross: money.share(gross, 100), "none": lambda _: 0}


def fees_of(gross_minor: int, gaps: Gaps) -> Fees:
    """The fees on a payment of `gross_minor`: 2.50 and 1.00 of 100.00 by default."""
    return Fees(_MERCHANT_FEE[gaps.merchant_fee](gross_minor), _OPERATOR_FEE[gaps.operator_fee](gross_minor))
