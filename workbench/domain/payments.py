"""Payments: their states and transitions, failures and advice on them, stored rows, bounds and fees."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

import msgspec

from workbench.domain import money
from workbench.domain.gaps import Gaps
from workbench.domain.money import ISO_4217, ZMW, Money
from workbench.errors import IllegalTransition

Transitions = Mapping[tuple[str, str], str]


def next_state(transitions: Transitions, state: str, event: str) -> str:
    """The state after `event`. Raises IllegalTransition, which lists the events that `state` allows."""
    try:
        return transitions[state, event]
    except KeyError:
        allowed = tuple(event for (start, event) in transitions if start == state)
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
EXPIRED: Final = "expired"
PAID: Final = "paid"
MOBILE_MONEY: Final = "mobile_money"

LATE_FUNDS: Final = "late_funds"
"""The event of money that comes after its prompt expired. In states without it, the money goes into suspense."""


def intent_transitions(gaps: Gaps) -> Transitions:
    """The transitions of intents under the choices in `gaps`: (state, event) → next state. Other pairs are refused.

    An intent in `processing` does not take late money, since another attempt may already have paid it.
    """
    ends = gaps.intent_states == "failed"
    after_failure = FAILED if ends else REQUIRES_PAYMENT_METHOD
    takes_late = {"suspense": (), "succeeds": (FAILED,) if ends else (REQUIRES_PAYMENT_METHOD, REQUIRES_ACTION)}
    return {
        (REQUIRES_PAYMENT_METHOD, "confirm"): REQUIRES_ACTION,
        (REQUIRES_PAYMENT_METHOD, "cancel"): CANCELED,
        (REQUIRES_ACTION, "pin_accepted"): PROCESSING,
        (REQUIRES_ACTION, "attempt_failed"): after_failure,
        (REQUIRES_ACTION, "cancel"): CANCELED,
        (PROCESSING, "funds_secured"): SUCCEEDED,
        (PROCESSING, "attempt_failed"): after_failure,
        **{(state, LATE_FUNDS): SUCCEEDED for state in takes_late[gaps.late_success]},
    }


def charge_transitions(gaps: Gaps) -> Transitions:
    """The transitions of charges under the choices in `gaps`: (state, event) → next state. Other pairs are refused."""
    after_timeout = {"three": FAILED, "expired": EXPIRED}[gaps.charge_states]
    takes_late = {"suspense": (), "succeeds": (after_timeout,)}
    return {
        (PENDING, "funds_secured"): SUCCEEDED,
        (PENDING, "attempt_failed"): FAILED,
        (PENDING, "prompt_expired"): after_timeout,
        **{(state, LATE_FUNDS): SUCCEEDED for state in takes_late[gaps.late_success]},
    }


REFUND_TRANSITIONS: Transitions = {(PENDING, "sent"): SUCCEEDED, (PENDING, "failed"): FAILED}
PAYOUT_TRANSITIONS: Transitions = {(PENDING, "paid"): PAID, (PENDING, "failed"): FAILED, (PAID, "returned"): FAILED}

FAILURES: Mapping[str, str] = {
    "insufficient_funds": "The wallet holds less than the amount.",
    "wrong_pin": "The PIN was wrong too often.",
    "declined_by_customer": "The customer pressed cancel.",
    "prompt_timeout": "The customer did not answer in time.",
    "limit_reached": "The wallet's limit is reached.",
    "payer_not_found": "There is no wallet on this number.",
    "payer_busy": "Another prompt is open on this number.",
    "operator_unavailable": "The operator is down.",
    "operator_unknown": "The operator did not answer; the money may or may not have moved.",
    "canceled_by_merchant": "The merchant canceled the payment before the customer answered.",
    "bank_refused": "The bank did not take the payout.",
    "bank_returned": "The bank took the payout and returned it.",
}
"""Our failure code → what went wrong, as a sentence for people."""


class Advice(NamedTuple):
    """The next step after a failed or undecided payment."""

    shop: str
    """Advice for the shop's program."""
    customer: str
    """Advice for the customer, in the words of the shop's staff."""


ADVICE: Mapping[str, Advice] = {
    "insufficient_funds": Advice(
        "Say so. Offer another try, or another wallet.",
        "Nothing was taken. You can add money and try again, or pay from another wallet.",
    ),
    "wrong_pin": Advice(
        "Let the customer start the next try.",
        "Nothing was taken. If your wallet is locked, your operator can reset the PIN. We cannot.",
    ),
    "declined_by_customer": Advice(
        "Keep the order. Send a new prompt only if the customer asks.",
        "Nothing was taken. Shall we send a new prompt?",
    ),
    "prompt_timeout": Advice(
        "Wait. Ten minutes after the last prompt, offer a new one.",
        "Nothing has arrived so far, but it may still come. We can try again ten minutes after the last prompt.",
    ),
    "limit_reached": Advice(
        "Offer another wallet, or another try tomorrow.",
        "Nothing was taken: your wallet's daily limit is reached. You can pay from another wallet, or tomorrow.",
    ),
    "payer_not_found": Advice(
        "Show the number, and ask for it again.",
        "No prompt was sent. Is this the number with the wallet?",
    ),
    "payer_busy": Advice(
        "Try again in a minute, a few times at most.",
        "No prompt was sent. Please finish the other prompt on your phone; we try again in a minute.",
    ),
    "operator_unavailable": Advice(
        "Try again, with growing pauses and a limit. Offer another operator.",
        "No prompt was sent: your operator is down. We try again, or you can pay from another operator's wallet.",
    ),
    "operator_unknown": Advice(
        "Wait, and never charge again. After a day, give the charge's id to the provider.",
        "We do not know yet whether the money has moved; we are asking. Please do not pay again.",
    ),
    "canceled_by_merchant": Advice(
        "Nothing: your program has canceled the payment.",
        "We canceled this payment before you answered.",
    ),
}
"""Failure code of a payment → advice. Failures of payouts have none, since no customer sees them."""


def offer_again_s(gaps: Gaps) -> int:
    """Seconds after the last prompt until a shop should offer a new one: twice the time for which a prompt waits.

    Until then, money for the last prompt may still come late, and the customer would pay twice.
    """
    return 2 * gaps.prompt_timeout_s


class Stored(msgspec.Struct, frozen=True, kw_only=True):
    """A stored row of the merchant `account`; `seq` is its position in the order of everything that happened.

    Times are milliseconds since 1970.
    """

    id: str
    seq: int
    account: str
    created_ms: int = 0


class StoredAmount(Stored, frozen=True, kw_only=True):
    """A stored row with an amount of money."""

    amount_minor: int
    currency: str
    failure_code: str | None = None

    @property
    def money(self) -> Money:
        """The amount as Money."""
        return Money(self.amount_minor, self.currency)


class StoredIntent(StoredAmount, frozen=True, kw_only=True):
    """The stored row of a payment intent."""

    client_secret: str
    status: str = REQUIRES_PAYMENT_METHOD
    description: str | None = None
    payment_method_types: tuple[str, ...] = ()
    phone: str | None = None
    provider: str | None = None
    latest_charge: str | None = None
    cancellation_reason: str | None = None
    canceled_ms: int | None = None
    metadata: dict[str, str] = {}
    warnings: tuple[str, ...] = ()


class StoredCharge(StoredAmount, frozen=True, kw_only=True):
    """The stored row of an attempt to move money, for an intent or without one."""

    channel: str
    provider: str
    phone: str
    status: str = PENDING
    reference: str | None = None
    payment_intent: str | None = None
    refunded_minor: int = 0
    """Minor units refunded or being refunded; failed refunds do not count."""
    metadata: dict[str, str] = {}
    warnings: tuple[str, ...] = ()


class StoredRefund(StoredAmount, frozen=True, kw_only=True):
    """The stored row of a refund of one charge. The ledger entry `entry` took the money from the merchant."""

    charge: str
    of_intent: int
    """1 if the request named the intent, whose amounts are decimals; 0 if it named the charge."""
    payment_intent: str | None
    entry: str
    status: str = PENDING
    reason: str | None = None
    scenario: str | None = None
    metadata: dict[str, str] = {}


class StoredPayout(StoredAmount, frozen=True, kw_only=True):
    """The stored row of money that is sent to the merchant's bank."""

    status: str = PENDING
    destination: str | None = None
    scenario: str | None = None
    metadata: dict[str, str] = {}


BOUNDS_MAJOR: Final[Mapping[str, tuple[int, int | None]]] = {"none": (0, None), "1_to_20000": (1, 20_000)}
"""Value of `amount_bounds` → smallest and largest amount in major units; 0 means one minor unit, None no limit."""


def unit_minor(gaps: Gaps, currency: str) -> int:
    """The number of minor units in one unit of a charge's amount: 1, or `one_minor(currency)` if the unit is major."""
    return 1 if gaps.charge_amount_unit == "minor" else one_minor(currency)


def one_minor(currency: str) -> int:
    """The number of minor units in one major unit of a currency: 100 for ZMW, 1 for JPY, 1000 for BHD."""
    return int(10 ** ISO_4217[currency].decimals)


class Fees(msgspec.Struct, frozen=True):
    """The service's and the operator's share of a payment, in minor units."""

    merchant_minor: int
    operator_minor: int


_MERCHANT_FEE: Mapping[str, Callable[[int, str], int]] = {
    "2.5%": lambda gross, _: max(1, money.share(gross, 250)),
    "none": lambda *_: 0,
    "flat_1.00": lambda gross, currency: min(one_minor(currency), gross),
}
_OPERATOR_FEE: Mapping[str, Callable[[int], int]] = {"1.0%": lambda gross: money.share(gross, 100), "none": lambda _: 0}


def fees_of(gross_minor: int, gaps: Gaps, currency: str = ZMW.code) -> Fees:
    """The fees on a payment of `gross_minor` in `currency`, by the choices in `gaps`; by default 2.5 % and 1 %."""
    return Fees(_MERCHANT_FEE[gaps.merchant_fee](gross_minor, currency), _OPERATOR_FEE[gaps.operator_fee](gross_minor))


def fee_returned(fee_minor: int, *, amount_minor: int, refunded_minor: int, returned_minor: int) -> int:
    """The part of the fee, in minor units, to return with a refund that brings the refunds to `refunded_minor`.

    It is the share of the fee for `refunded_minor` of the charge's `amount_minor`, rounded half up, less
    `returned_minor`, the parts returned earlier; at least 0. After a full refund the parts add up to the fee.
    """
    due = (2 * fee_minor * refunded_minor + amount_minor) // (2 * amount_minor)
    return max(0, due - returned_minor)


COMPARED_CHARGES: Final = 20
"""A charge's amount is compared with the median of up to this many earlier charges."""
_LEAST: Final = 3
"""The fewest earlier charges for which the median counts as the usual amount."""
_FAR: Final = 50
"""An amount that differs from the usual amount by this factor or more looks a hundred times too large or too small."""


def far_from_usual(amount_minor: int, before_minor: Sequence[int]) -> int | None:
    """The median of earlier charges if this amount looks a hundred times too large or too small; otherwise None.

    Such an amount is at least 50 times the median, or at most a fiftieth. With fewer than 3 earlier charges, the result
    is None.
    """
    if len(before_minor) < _LEAST:
        return None
    usual = sorted(before_minor)[len(before_minor) // 2]
    return usual if amount_minor >= _FAR * usual or usual >= _FAR * amount_minor else None
