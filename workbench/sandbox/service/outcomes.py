"""What becomes of an attempt: the hold ends, the ledger is posted to, charge and intent move, events tell of it."""

from workbench.domain import ledger, payments, ussd, wire
from workbench.domain.money import Money
from workbench.domain.payments import CHARGE_TRANSITIONS, INTENT_TRANSITIONS, Charge, PaymentIntent
from workbench.domain.references import reference
from workbench.domain.transitions import next_state
from workbench.domain.ussd import UssdSession
from workbench.errors import StateConflict
from workbench.sandbox import encode
from workbench.sandbox.service import nights
from workbench.sandbox.service.caller import BY_ITSELF, Cause
from workbench.sandbox.service.events import emit
from workbench.sandbox.store import Transaction
from workbench.sandbox.store.records import Hold


def hold(tx: Transaction, charge: Charge, change: str = "opened") -> None:
    """Record one end of a hold."""
    tx.holds.add(
        Hold(seq=tx.next_seq(), at_ms=tx.now_ms, charge=charge.id, change=change, amount_minor=charge.amount_minor)
    )


def pin_accepted(tx: Transaction, cause: Cause, charge: Charge) -> None:
    """The customer has agreed; the operator has not answered yet."""
    _move_intent_of(tx, cause, charge, "pin_accepted", "payment_intent.processing")


def secure_funds(tx: Transaction, cause: Cause, charge: Charge, *, moved_ms: int | None = None) -> None:
    """The operator says that the money is there, and that it moved at a moment, now unless it says another.

    Said again, it changes nothing.
    """
    now = tx.charges.get(charge.id)
    if now is None or now.status != payments.PENDING:
        return
    fees = payments.fees_of(charge.amount_minor, tx.gaps)
    amounts = {
        "gross": charge.amount_minor,
        "net": charge.amount_minor - fees.merchant_minor,
        "merchant_fee": fees.merchant_minor,
        "operator_fee": fees.operator_minor,
    }
    hold(tx, charge, "ended")
    _post(tx, charge, "funds_secured", amounts, f"{_money(charge)} received through {charge.provider}", moved_ms)
    nights.expect(tx)
    _move_charge(tx, cause, charge, "funds_secured", "charge.succeeded")
    _move_intent_of(tx, cause, charge, "funds_secured", "payment_intent.succeeded")


def settled_by_query(tx: Transaction, charge: Charge) -> wire.Charge:
    """The operator is asked about a charge that it never told of: the money had moved.

    Raises StateConflict: the charge does not wait for an answer.
    """
    session = tx.sessions.first(charge=charge.id)
    if charge.status != payments.PENDING or session is None or session.screen != ussd.APPROVED:
        raise StateConflict(
            f"The charge is {charge.status} and waits for no answer of the operator.",
            code="nothing_to_ask",
            param="charge",
            current=charge.status,
        )
    # The operator knows the movement by an id of the moment at which the customer agreed, and texted them that.
    last = tx.screens.first(order="seq DESC", phone=charge.phone, charge=charge.id)
    secure_funds(tx, BY_ITSELF, charge, moved_ms=last.at_ms if last else None)
    return encode.charge(tx.charges.get(charge.id) or charge, tx.gaps)


def late_success(tx: Transaction, cause: Cause, charge: Charge) -> None:
    """The money arrives although the attempt has failed: it waits in suspense, the payment stays as it is."""
    fees = payments.fees_of(charge.amount_minor, tx.gaps)
    amounts = {"gross": charge.amount_minor, "operator_fee": fees.operator_minor}
    _post(tx, charge, "late_success", amounts, f"{_money(charge)} arrived late through {charge.provider}")
    nights.expect(tx)
    emit(tx, cause, charge.account, "charge.late_success", encode.charge(charge, tx.gaps))
    if intent := tx.intents.get(charge.payment_intent) if charge.payment_intent else None:
        shown = encode.payment_intent(intent, tx.gaps, secret=False)
        emit(tx, cause, charge.account, "payment_intent.late_success", shown)


def fail(tx: Transaction, cause: Cause, charge: Charge, code: str) -> None:
    """The attempt has failed; a canceled intent stays canceled."""
    hold(tx, charge, "ended")
    _move_charge(tx, cause, charge, "attempt_failed", "charge.failed", failure_code=code)
    if code != "canceled_by_merchant":
        _move_intent_of(tx, cause, charge, "attempt_failed", "payment_intent.payment_failed", failure_code=code)


def move_intent(
    tx: Transaction,
    cause: Cause,
    intent: PaymentIntent,
    event: str,
    event_type: str,
    *,
    prompt: UssdSession | None = None,
    **changes: str | int | None,
) -> PaymentIntent:
    """Take an intent along its table, with `changes`, and tell of it."""
    before = intent.status
    moved = tx.intents.put(intent, status=next_state(INTENT_TRANSITIONS, before, event), **changes)
    shown = encode.payment_intent(moved, tx.gaps, prompt=prompt, secret=False)
    emit(tx, cause, intent.account, event_type, shown, before={"status": before})
    return moved


def _move_intent_of(
    tx: Transaction, cause: Cause, charge: Charge, event: str, event_type: str, *, failure_code: str | None = None
) -> None:
    intent = tx.intents.get(charge.payment_intent) if charge.payment_intent else None
    if intent is not None:
        move_intent(tx, cause, intent, event, event_type, failure_code=failure_code)


def _move_charge(
    tx: Transaction, cause: Cause, charge: Charge, event: str, event_type: str, *, failure_code: str | None = None
) -> None:
    before = charge.status
    moved = tx.charges.put(charge, status=next_state(CHARGE_TRANSITIONS, before, event), failure_code=failure_code)
    emit(tx, cause, charge.account, event_type, encode.charge(moved, tx.gaps), before={"status": before})


def _post(
    tx: Transaction, charge: Charge, recipe: str, amounts: dict[str, int], description: str, moved_ms: int | None = None
) -> None:
    postings = ledger.postings_for(recipe, amounts, charge.currency, operator=charge.provider, merchant=charge.account)
    tx.post(
        recipe,
        postings,
        description=description,
        payment=charge.payment_intent or charge.id,
        reference=reference(charge.provider, tx.now_ms if moved_ms is None else moved_ms, seq=charge.seq),
    )


def _money(charge: Charge) -> Money:
    return Money(charge.amount_minor, charge.currency)
