"""Refunds: money of a charge goes back to its customer, in one piece or several."""

from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Final

from workbench.domain import ledger, payments, scenarios
from workbench.domain.ledger import JournalEntry
from workbench.domain.money import ISO_4217, MAX_MAJOR_DIGITS, Money, check_size, money_from_integer, money_from_major
from workbench.domain.payments import REFUND_TRANSITIONS, Charge, Refund, next_state
from workbench.domain.references import reference
from workbench.domain.wire import payments_and_payouts as wire
from workbench.errors import InvalidRequest, StateConflict
from workbench.sandbox.service import clearing
from workbench.sandbox.service.lists import BY_ITSELF, Caller, Listed, Resource, view_of
from workbench.sandbox.service.payments import CHARGES, INTENTS, charge_view, in_units, post
from workbench.sandbox.service.webhooks import emit
from workbench.sandbox.store import Transaction

SENT = "refund_sent"


def _refund_view(tx: Transaction, stored: Refund) -> wire.Refund:
    """A refund's view; the amount is in the unit of the intent or of the charge that the request named."""
    if stored.of_intent:
        return view_of(wire.Refund, stored, amount=stored.money.major)
    amount = Decimal(in_units(stored.money, tx.gaps))
    return view_of(wire.Refund, stored, amount=amount, currency=stored.currency.lower())


REFUNDS = Resource("refund", "/v1/refunds", lambda tx: tx.refunds, _refund_view, code="refund_not_found")


def create_refund(tx: Transaction, caller: Caller, body: wire.CreateRefund) -> wire.Refund:
    """POST /v1/refunds: refund a charge; pending until the operator has sent the money."""
    charge = _charge_of(tx, caller, body)
    if charge.status != payments.SUCCEEDED:
        message = f"The charge is {charge.status}; only a succeeded one can be refunded."
        raise StateConflict(message, code="charge_not_refundable", param="charge", current=charge.status)
    amount_minor = _amount_to_refund(tx, charge, body)
    available, pending = (
        clearing.balance_of(tx, kind, charge.currency, merchant=charge.account)
        for kind in (ledger.MERCHANT_AVAILABLE, ledger.MERCHANT_PENDING)
    )
    fee = _FEES[tx.gaps.fee_on_refund](tx, charge, amount_minor)
    split = ledger.refund_split(amount_minor, available_minor=available, pending_minor=pending, fee_minor=fee)
    words = f"{Money(amount_minor, charge.currency)} to be refunded"
    entry = post(tx, charge, "refund_asked", split, words)
    refund = tx.refunds.create(
        account=caller.account,
        charge=charge.id,
        of_intent=int(body.payment_intent is not None),
        payment_intent=charge.payment_intent,
        amount_minor=amount_minor,
        currency=charge.currency,
        entry=entry.id,
        reason=body.reason,
        scenario=caller.scenario if caller.scenario in scenarios.OF_REFUNDS else None,
        metadata=body.metadata,
    )
    tx.charges.put(charge, refunded_minor=charge.refunded_minor + amount_minor)
    tx.schedule(SENT, refund.id, in_ms=scenarios.REFUND_SENT_S * 1000)
    return emit(tx, caller.cause, caller.account, "refund.created", _refund_view(tx, refund))


def list_refunds(tx: Transaction, caller: Caller, *, query: wire.RefundsQuery) -> Listed[wire.Refund]:
    """GET /v1/refunds: the refunds, newest first; of one charge, if named."""
    equals = {} if query.charge is None else {"charge": query.charge}
    return REFUNDS.page(tx, caller, query=query, **equals)


def send(tx: Transaction, refund_id: str) -> None:
    """Complete a refund that the operator has sent to the wallet, or fail it as its scenario says."""
    refund = tx.refunds.get(refund_id)
    charge = tx.charges.get(refund.charge) if refund else None
    if refund is None or charge is None or refund.status != payments.PENDING:
        return
    if refund.scenario is not None:
        _fail_refund(tx, refund, charge, refund.scenario)
        return
    top_up(tx, charge, refund.amount_minor, refund.seq)
    sent = reference(charge.provider, tx.now_ms, seq=refund.seq)
    words = f"{refund.money} sent back to the customer"
    post(tx, charge, "refund_sent", {"gross": refund.amount_minor}, words, sent)
    _move_refund(tx, refund, "sent", "refund.succeeded")
    emit(tx, BY_ITSELF, charge.account, "charge.refunded", charge_view(tx, charge))


def _fail_refund(tx: Transaction, refund: Refund, charge: Charge, code: str) -> None:
    tx.reverse(refund.entry, "refund_failed", description=f"{refund.money} could not be sent back")
    # Money that a clearing took from the merchant for this refund is available again.
    over = -clearing.balance_of(tx, ledger.RECEIVABLE, charge.currency, merchant=charge.account)
    if over > 0:
        words = f"{Money(over, charge.currency)} given back, taken for what was not owed"
        post(tx, charge, "recovery_returned", {"owed": over}, words)
    tx.charges.put(charge, refunded_minor=charge.refunded_minor - refund.amount_minor)
    _move_refund(tx, refund, "failed", "refund.failed", code)
    clearing.expect(tx)


def _move_refund(tx: Transaction, refund: Refund, event: str, event_type: str, code: str | None = None) -> None:
    moved = tx.refunds.put(refund, status=next_state(REFUND_TRANSITIONS, refund.status, event), failure_code=code)
    emit(tx, BY_ITSELF, refund.account, event_type, _refund_view(tx, moved), before={"status": refund.status})


def _charge_of(tx: Transaction, caller: Caller, body: wire.CreateRefund) -> Charge:
    if (body.charge is None) == (body.payment_intent is None):
        raise InvalidRequest("Send either charge or payment_intent.", code="parameter_missing", param="charge")
    if body.charge is not None:
        return CHARGES.find(tx, caller, body.charge, param="charge")
    intent = INTENTS.find(tx, caller, body.payment_intent or "", param="payment_intent")
    charge = tx.charges.get(intent.latest_charge) if intent.latest_charge else None
    if charge is None:
        message = f"The intent is {intent.status}: nothing was paid."
        raise StateConflict(message, code="charge_not_refundable", param="payment_intent", current=intent.status)
    return charge


def _amount_to_refund(tx: Transaction, charge: Charge, body: wire.CreateRefund) -> int:
    """The minor units to refund: the body's amount, in the unit of its intent or charge, or else all that is left.

    Raises StateConflict: nothing is left. Raises InvalidRequest: not an amount, or more than is left.
    """
    currency, left = ISO_4217[charge.currency], charge.amount_minor - charge.refunded_minor
    if body.amount is None:
        if not left:
            param = "charge" if body.charge else "payment_intent"
            message = "The charge is refunded in full."
            raise StateConflict(message, code="charge_not_refundable", param=param, current="refunded")
        return left
    if body.charge is None:
        money = money_from_major(body.amount, currency)
    else:
        # The size is checked before the amount becomes an integer: 1e999999 never should.
        check_size(body.amount, MAX_MAJOR_DIGITS + currency.decimals)
        if body.amount != body.amount.to_integral_value():
            message = "amount must be a whole number, like the amount of a charge."
            raise InvalidRequest(message, code="amount_too_precise", param="amount")
        units_minor = payments.unit_minor(tx.gaps, charge.currency)
        money = money_from_integer(int(body.amount), currency, units_minor=units_minor)
    if money.amount_minor > left:
        message = f"{Money(left, charge.currency)} of this charge can still be refunded, not {money}."
        raise InvalidRequest(message, code="refund_exceeds_charge", param="amount")
    return money.amount_minor


def _fee_returned(tx: Transaction, charge: Charge, amount_minor: int) -> int:
    """The part of the fee to return with a refund of `amount_minor`, beyond the parts already returned; minor units."""
    secured = next(tx.journal.of_payment(charge.payment_intent or charge.id, ("funds_secured",)), None)
    stands = (refund for refund in tx.refunds.all(charge=charge.id) if refund.status != payments.FAILED)
    entries = (tx.journal.get(refund.entry) for refund in stands)
    return payments.fee_returned(
        _fee_in(secured),
        amount_minor=charge.amount_minor,
        refunded_minor=charge.refunded_minor + amount_minor,
        returned_minor=sum(_fee_in(entry) for entry in entries),
    )


def _fee_in(entry: JournalEntry | None) -> int:
    postings = entry.postings if entry else ()
    return sum(posting.amount_minor for posting in postings if posting.code == ledger.MERCHANT_FEE.code)


_FEES: Final[Mapping[str, Callable[[Transaction, Charge, int], int]]] = {
    "kept": lambda *_: 0,
    "returned": _fee_returned,
}
"""Choice of `fee_on_refund` → the part of the fee to return with the next refund, in minor units."""


def top_up(tx: Transaction, charge: Charge, amount_minor: int, seq: int) -> None:
    """Give an operator the money to pay out: a sweep on its way is called back, and the bank fills the rest.

    `seq` is the place of the refund or late money to pay; the ids of these movements are made from it.
    """
    held, on_its_way = (
        max(0, clearing.balance_of(tx, kind, charge.currency, operator=charge.provider))
        for kind in (ledger.FLOAT, ledger.IN_TRANSIT)
    )
    short = max(0, amount_minor - held)
    recalled = min(short, on_its_way)
    if recalled:
        words = f"{Money(recalled, charge.currency)} called back to {charge.provider} on its way to the bank"
        recall = reference("recall", tx.now_ms, seq=seq)
        post(tx, charge, "sweep_recalled", {"swept": recalled}, words, recall)
    if short > recalled:
        words = f"{Money(short - recalled, charge.currency)} moved from the bank to {charge.provider}"
        from_bank = reference("top_up", tx.now_ms, seq=seq)
        post(tx, charge, "float_topped_up", {"short": short - recalled}, words, from_bank)
