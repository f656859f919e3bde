"""One attempt to move money: a hold, a prompt, the customer's answer, and what follows from it.

Intents and charges share this; a charge with a `payment_intent` moves its intent along.
"""

from workbench.domain import ledger, payments, ussd
from workbench.domain.money import Money
from workbench.domain.payments import CHARGE_TRANSITIONS, INTENT_TRANSITIONS, Charge, PaymentIntent
from workbench.domain.phones import OPERATORS, Msisdn, msisdn_from
from workbench.domain.transitions import next_state
from workbench.domain.ussd import UssdSession
from workbench.sandbox import encode, operator
from workbench.sandbox.service.events import emit
from workbench.sandbox.store import Transaction
from workbench.sandbox.store.records import Hold, Screen

CUSTOMER_ACTS = "customer_acts"
PROMPT_TIMEOUT = "prompt_timeout"


def begin(tx: Transaction, charge: Charge, merchant: str, reference: str | None) -> UssdSession:
    """Hold the amount and send the prompt; its time-out is due from now on."""
    tx.holds.add(_hold(tx, charge, "opened"))
    session = tx.sessions.add(
        UssdSession(
            id=tx.new_id("ussd"),
            seq=tx.next_seq(),
            charge=charge.id,
            phone=charge.phone,
            operator=OPERATORS[charge.provider].name,
            merchant=merchant,
            amount_minor=charge.amount_minor,
            currency=charge.currency,
            reference=reference,
            tries_left=tx.gaps.pin_attempts,
            expires_ms=tx.now_ms + tx.gaps.prompt_timeout_s * 1000,
        )
    )
    _show(tx, session, None)
    tx.schedule(PROMPT_TIMEOUT, session.id, in_ms=tx.gaps.prompt_timeout_s * 1000)
    return session


def enter_pin(tx: Transaction, session: UssdSession, text: str) -> UssdSession:
    """A PIN comes from the handset; it is judged and forgotten."""
    phone = _msisdn(session)
    ussd.check_pin(text, phone.operator.pin_length)
    wallet = operator.wallet_of(phone)
    given = ussd.judged_pin(session, right=operator.pin_is_right(text), refusal=wallet.refusal)
    return _press(tx, session, given, pressed="•" * len(text), refusal=wallet.refusal)


def press(tx: Transaction, session: UssdSession, given: str) -> UssdSession:
    """`cancel`, `ignore` or `timeout` comes from the handset or the clock."""
    return _press(tx, session, given, pressed=given, refusal=None)


def customer_acts(tx: Transaction, session: UssdSession) -> None:
    """A test number does what its row says, through the same inputs as a person."""
    for pressed in operator.wallet_of(_msisdn(session)).presses:
        if session.screen not in ussd.OPEN:
            return
        session = press(tx, session, "cancel") if pressed == operator.CANCEL else enter_pin(tx, session, pressed)


def _press(tx: Transaction, session: UssdSession, given: str, *, pressed: str, refusal: str | None) -> UssdSession:
    reason = payments.FAILURES[refusal] if given == "right_pin_refused" and refusal else None
    session = ussd.after(session, given, reason=reason)
    _show(tx, session, pressed)
    if session.screen in (*ussd.OPEN, ussd.IGNORED):
        return tx.sessions.put(session)
    session = tx.sessions.put(session, ended_seq=tx.next_seq())
    tx.unschedule(session.id)
    charge = tx.charges.get(session.charge)
    if charge is not None:
        _settle(tx, charge, session.screen, refusal)
    return session


def _settle(tx: Transaction, charge: Charge, screen: str, refusal: str | None) -> None:
    if screen in (ussd.APPROVED, ussd.REFUSED):
        _move_intent(tx, charge, "pin_accepted", "payment_intent.processing")
    if screen == ussd.APPROVED:
        _secure_funds(tx, charge)
    else:
        _fail(tx, charge, refusal if screen == ussd.REFUSED and refusal else ussd.FAILURE_OF[screen])


def _secure_funds(tx: Transaction, charge: Charge) -> None:
    fees = payments.fees_of(charge.amount_minor, tx.gaps)
    amounts = {
        "gross": charge.amount_minor,
        "net": charge.amount_minor - fees.merchant_minor,
        "merchant_fee": fees.merchant_minor,
        "operator_fee": fees.operator_minor,
    }
    postings = ledger.postings_for(
        "funds_secured", amounts, charge.currency, operator=charge.provider, merchant=charge.account
    )
    tx.holds.add(_hold(tx, charge, "ended"))
    tx.post(
        "funds_secured",
        postings,
        description=f"{Money(charge.amount_minor, charge.currency)} received through {charge.provider}",
        payment=charge.payment_intent or charge.id,
    )
    _move_charge(tx, charge, "funds_secured", "charge.succeeded")
    _move_intent(tx, charge, "funds_secured", "payment_intent.succeeded")


def _fail(tx: Transaction, charge: Charge, code: str) -> None:
    tx.holds.add(_hold(tx, charge, "ended"))
    _move_charge(tx, charge, "attempt_failed", "charge.failed", failure_code=code)
    _move_intent(tx, charge, "attempt_failed", "payment_intent.payment_failed", failure_code=code)


def _move_charge(
    tx: Transaction, charge: Charge, event: str, event_type: str, *, failure_code: str | None = None
) -> None:
    before = charge.status
    moved = tx.charges.put(charge, status=next_state(CHARGE_TRANSITIONS, before, event), failure_code=failure_code)
    emit(tx, charge.account, event_type, encode.charge(moved, tx.gaps), before={"status": before})


def _move_intent(
    tx: Transaction, charge: Charge, event: str, event_type: str, *, failure_code: str | None = None
) -> None:
    intent = tx.intents.get(charge.payment_intent) if charge.payment_intent else None
    if intent is not None:
        move_intent(tx, intent, event, event_type, failure_code=failure_code)


def move_intent(
    tx: Transaction,
    intent: PaymentIntent,
    event: str,
    event_type: str,
    *,
    failure_code: str | None = None,
    prompt: UssdSession | None = None,
) -> PaymentIntent:
    """Take an intent along its table and tell of it."""
    before = intent.status
    moved = tx.intents.put(intent, status=next_state(INTENT_TRANSITIONS, before, event), failure_code=failure_code)
    shown = encode.payment_intent(moved, tx.gaps, prompt=prompt, secret=False)
    emit(tx, intent.account, event_type, shown, before={"status": before})
    return moved


def _hold(tx: Transaction, charge: Charge, change: str) -> Hold:
    return Hold(seq=tx.next_seq(), at_ms=tx.now_ms, charge=charge.id, change=change, amount_minor=charge.amount_minor)


def _show(tx: Transaction, session: UssdSession, pressed: str | None) -> None:
    tx.screens.add(
        Screen(
            seq=tx.next_seq(),
            at_ms=tx.now_ms,
            session=session.id,
            charge=session.charge,
            phone=session.phone,
            pressed=pressed,
            words=ussd.words(session),
        )
    )


def _msisdn(session: UssdSession) -> Msisdn:
    return msisdn_from(session.phone, param="phone")
