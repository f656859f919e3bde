"""One attempt to move money: its scenario, the hold, the prompt, the customer, the operator, the outcome."""

from workbench.domain import ledger, payments, scenarios, ussd, wire
from workbench.domain.ledger import JournalEntry
from workbench.domain.payments import Charge, PaymentIntent, charge_transitions, intent_transitions, next_state
from workbench.domain.phones import OFFERED, Msisdn, e164_of, operator_named, operator_of
from workbench.domain.references import reference
from workbench.domain.scenarios import SCENARIOS, Scenario
from workbench.domain.ussd import UssdSession
from workbench.domain.wire import control
from workbench.errors import InvalidRequest, StateConflict
from workbench.sandbox import views
from workbench.sandbox.service import checks, clearing, suspense
from workbench.sandbox.service.deliveries import emit
from workbench.sandbox.service.lists import BY_ITSELF, Caller, Cause
from workbench.sandbox.store import Transaction
from workbench.sandbox.store.records import Hold, Outage, Screen, Script

ACTS = "customer_acts"
PROMPT_TIMEOUT = "prompt_timeout"
LATE_MONEY = "late_money"
OF_LATE = "after its prompt had expired"
"""What the warning of a payment that late money paid says, by which it is known."""


def hold(tx: Transaction, charge: Charge, change: str = "opened") -> None:
    """Record one end of a hold."""
    tx.holds.add(
        Hold(seq=tx.next_seq(), at_ms=tx.now_ms, charge=charge.id, change=change, amount_minor=charge.amount_minor)
    )


def secure_funds(tx: Transaction, cause: Cause, charge: Charge, *, moved_ms: int | None = None) -> None:
    """The operator says that the money is there, and that it moved at a moment, now unless it says another.

    Said again, it changes nothing.
    """
    now = tx.charges.get(charge.id)
    if now is None or now.status != payments.PENDING:
        return
    hold(tx, charge, "ended")
    _post_secured(tx, charge, tx.now_ms if moved_ms is None else moved_ms)
    _move_charge(tx, cause, charge, "funds_secured", "charge.succeeded")
    _move_intent_of(tx, cause, charge, "funds_secured", "payment_intent.succeeded")


def _post_secured(tx: Transaction, charge: Charge, moved_ms: int) -> None:
    """The money of an attempt is the merchant's, less the fees."""
    fees = payments.fees_of(charge.amount_minor, tx.gaps, charge.currency)
    amounts = {
        "gross": charge.amount_minor,
        "net": charge.amount_minor - fees.merchant_minor,
        "merchant_fee": fees.merchant_minor,
        "operator_fee": fees.operator_minor,
    }
    known_as = reference(charge.provider, moved_ms, seq=charge.seq)
    post(tx, charge, "funds_secured", amounts, f"{charge.money} received through {charge.provider}", known_as)
    clearing.expect(tx)


def settled_by_query(tx: Transaction, charge: Charge) -> wire.Charge:
    """The operator is asked about a charge that it never told of: the money had moved.

    Raises StateConflict: the charge does not wait for an answer.
    """
    session = tx.sessions.first(charge=charge.id)
    if charge.status != payments.PENDING or session is None or session.screen != ussd.APPROVED:
        message = f"The charge is {charge.status} and is not waiting for the operator's answer."
        raise StateConflict(message, code="nothing_to_ask", param="charge", current=charge.status)
    # The operator knows the movement by an id of the moment at which the customer agreed, and texted them that.
    last = tx.screens.first(order="seq DESC", phone=charge.phone, charge=charge.id)
    secure_funds(tx, BY_ITSELF, charge, moved_ms=last.at_ms if last else None)
    return views.charge(tx.charges.get(charge.id) or charge, tx.gaps)


def fail(tx: Transaction, cause: Cause, charge: Charge, code: str) -> None:
    """The attempt has failed; a canceled intent stays canceled."""
    hold(tx, charge, "ended")
    ended = "prompt_expired" if code == scenarios.TIMEOUT else "attempt_failed"
    _move_charge(tx, cause, charge, ended, "charge.failed", failure_code=code)
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
) -> wire.PaymentIntent:
    """Take an intent along its table, with `changes`, and tell of it; its view."""
    before = intent.status
    moved = tx.intents.put(intent, status=next_state(intent_transitions(tx.gaps), before, event), **changes)
    shown = views.payment_intent(moved, tx.gaps, prompt, suspense.of_intent(tx, intent))
    emit(tx, cause, intent.account, event_type, shown, before={"status": before})
    return shown


def _intent_of(tx: Transaction, charge: Charge) -> PaymentIntent | None:
    return tx.intents.get(charge.payment_intent) if charge.payment_intent else None


def _move_intent_of(
    tx: Transaction, cause: Cause, charge: Charge, event: str, event_type: str, *, failure_code: str | None = None
) -> None:
    if intent := _intent_of(tx, charge):
        move_intent(tx, cause, intent, event, event_type, failure_code=failure_code)


def _move_charge(
    tx: Transaction,
    cause: Cause,
    charge: Charge,
    event: str,
    event_type: str,
    *,
    failure_code: str | None = None,
    **changes: tuple[str, ...],
) -> None:
    before = charge.status
    status = next_state(charge_transitions(tx.gaps), before, event)
    moved = tx.charges.put(charge, status=status, failure_code=failure_code, **changes)
    emit(tx, cause, charge.account, event_type, views.charge(moved, tx.gaps), before={"status": before})


def post(
    tx: Transaction, charge: Charge, recipe: str, amounts: dict[str, int], description: str, known_as: str | None = None
) -> JournalEntry:
    """Append an entry about a charge: money of its merchant, at its operator."""
    postings = ledger.postings_for(recipe, amounts, charge.currency, operator=charge.provider, merchant=charge.account)
    payment = charge.payment_intent or charge.id
    return tx.post(recipe, postings, description=description, payment=payment, reference=known_as)


def scenario_for(tx: Transaction, charge: Charge, phone: Msisdn, *, asked: str | None) -> str:
    """The name of the scenario of a charge that has just been stored; `asked` is what its call asks for."""
    if asked in scenarios.ASKABLE:
        return asked
    if tx.gaps.failure_triggers == "header":
        return scenarios.PERSON
    if _down_until_ms(tx, charge.provider):
        return scenarios.UNAVAILABLE
    # One answer of a script for each call: a fault of the service that was asked for is that call's.
    if asked is None and (scripted := tx.scripts.first(order="seq", phone=charge.phone)):
        tx.scripts.remove(scripted)
        return scripted.scenario
    if phone.ending not in scenarios.TEST_NUMBERS:
        return scenarios.PERSON
    first = tx.charges.first(order="seq", account=charge.account, phone=charge.phone)
    since_first_ms = tx.now_ms - (first or charge).created_ms
    return scenarios.scenario_on(phone.ending, attempt=_attempt(tx, charge), since_first_ms=since_first_ms)


def take_fault(tx: Transaction, number: str, *, asked: str | None) -> str | None:
    """What a call on a number asks to go wrong, or else the fault that its script has next, which is used up."""
    number = e164_of(number, tx.gaps.phone_format)
    scripted = tx.scripts.first(order="seq", phone=number)
    if scripted is None or scripted.scenario not in scenarios.FAULTS:
        return asked
    is_heard = asked is None and tx.gaps.failure_triggers != "header"
    if is_heard and not _down_until_ms(tx, operator_of(number).id):
        tx.scripts.remove(scripted)
        return scripted.scenario
    return asked


def _attempt(tx: Transaction, charge: Charge) -> int:
    """Attempts are counted for each intent; those of charges for each phone and reference.

    So are those of intents that end with their first one: for each phone and description.
    """
    if (intent := _intent_of(tx, charge)) and tx.gaps.intent_states == "failed":
        others = (_intent_of(tx, each) for each in tx.charges.all(account=charge.account, phone=charge.phone))
        return sum(each is not None and each.description == intent.description for each in others)
    if intent:
        return tx.charges.count(payment_intent=intent.id)
    return tx.charges.count(account=charge.account, phone=charge.phone, reference=charge.reference, payment_intent=None)


def _down_until_ms(tx: Transaction, provider: str) -> int | None:
    outage = tx.outages.get(provider)
    return outage.until_ms if outage and tx.now_ms < outage.until_ms else None


def script(tx: Transaction, caller: Caller, body: control.Script) -> control.Scripted:
    """POST /sandbox/operator/script: script the outcomes of the next attempts on a number, in order."""
    phone = checks.read_phone(tx.gaps, body.phone).e164
    says = "cannot be scripted; these can be:"
    checks.check_known(body.answers, scenarios.SCRIPTABLE, says, param="answers", code="scenario_unknown")
    if len(body.answers) > control.MAX_ANSWERS:
        raise InvalidRequest(f"answers are at most {control.MAX_ANSWERS}.", code="parameter_invalid", param="answers")
    for each in tx.scripts.all(phone=phone):
        tx.scripts.remove(each)
    for response in body.answers:
        tx.scripts.add(Script(seq=tx.next_seq(), phone=phone, scenario=response))
    return control.Scripted(phone, body.answers)


def outage(tx: Transaction, caller: Caller, body: control.Outage) -> control.OperatorState:
    """POST /sandbox/operator/outage: take an operator down for some seconds from now; 0 ends the outage."""
    for_ms = checks.whole_ms(body.seconds, control.MAX_OUTAGE_S)
    provider = operator_named(body.provider, param="provider", zed=tx.gaps.zed_mobile).id
    if before := tx.outages.get(provider):
        tx.outages.remove(before)
    if not for_ms:
        return control.OperatorState(provider, None)
    ends = tx.outages.add(Outage(provider=provider, until_ms=tx.now_ms + for_ms))
    return control.OperatorState(provider, ends.until_ms // 1000)


def operators(tx: Transaction, caller: Caller) -> control.Rows[control.OperatorState]:
    """GET /sandbox/operator: each operator, with the end of its outage."""
    until = {each: _down_until_ms(tx, each) for each in OFFERED[tx.gaps.zed_mobile]}
    return control.Rows([control.OperatorState(each, ends_ms and ends_ms // 1000) for each, ends_ms in until.items()])


def begin(tx: Transaction, caller: Caller, charge: Charge, phone: Msisdn, reference: str | None) -> UssdSession:
    """Hold the amount and send the prompt; its time-out is due from now on."""
    hold(tx, charge)
    merchant = tx.accounts.get(charge.account)
    scenario = scenario_for(tx, charge, phone, asked=caller.scenario)
    session = tx.sessions.add(
        UssdSession(
            **tx.numbered("ussd"),
            charge=charge.id,
            phone=charge.phone,
            operator=phone.operator.name,
            merchant=merchant.name if merchant else "",
            amount_minor=charge.amount_minor,
            currency=charge.currency,
            reference=reference,
            tries_left=tx.gaps.pin_attempts,
            expires_ms=tx.now_ms + tx.gaps.prompt_timeout_s * 1000,
            scenario=scenario,
            screen=ussd.UNSENT if SCENARIOS[scenario].rejection else ussd.ENTER_PIN,
        )
    )
    _show(tx, session, None)
    tx.schedule(PROMPT_TIMEOUT, session.id, in_ms=tx.gaps.prompt_timeout_s * 1000)
    return session


def let_act(tx: Transaction, session: UssdSession) -> None:
    """Make due what happens by itself, at its time."""
    scenario = SCENARIOS[session.scenario]
    if scenario.by_itself and scenario.acts:
        tx.schedule(ACTS, session.id, in_ms=scenario.after_s * 1000)


def act(tx: Transaction, cause: Cause, session: UssdSession) -> None:
    """What the scenario says happens now, through the same inputs as a person's."""
    if session.screen == ussd.UNSENT:
        press(tx, cause, session, "reject")
        return
    for pressed in SCENARIOS[session.scenario].presses:
        if session.screen not in ussd.OPEN:
            return
        session = (
            press(tx, cause, session, "cancel")
            if pressed == scenarios.CANCEL
            else enter_pin(tx, cause, session, pressed)
        )


def enter_pin(tx: Transaction, cause: Cause, session: UssdSession, text: str) -> UssdSession:
    """A PIN comes from the handset; it is judged and forgotten."""
    ussd.check_pin(text, _pin_length(session))
    given = ussd.judged_pin(session, right=scenarios.pin_is_right(text), refusal=SCENARIOS[session.scenario].refusal)
    return press(tx, cause, session, given, shown="•" * len(text))


def money_comes_late(tx: Transaction, session: UssdSession) -> None:
    """The customer's approval reaches the operator after the prompt has expired, and so does the money."""
    charge = tx.charges.get(session.charge)
    if session.screen != ussd.EXPIRED or charge is None:
        return
    session = ussd.after(session, "late_pin")
    _show(tx, session, "•" * _pin_length(session))
    tx.sessions.put(session)
    if _takes_late_funds(tx, charge):
        _pay_late(tx, charge)
        return
    # The attempt has failed: the money waits in suspense, the payment stays as it is.
    fees = payments.fees_of(charge.amount_minor, tx.gaps, charge.currency)
    amounts = {"gross": charge.amount_minor, "operator_fee": fees.operator_minor}
    known_as = reference(charge.provider, tx.now_ms, seq=charge.seq)
    post(tx, charge, "late_success", amounts, f"{charge.money} arrived late through {charge.provider}", known_as)
    clearing.expect(tx)
    shown_charge = views.charge(charge, tx.gaps, suspense.of_charge(tx, charge))
    emit(tx, BY_ITSELF, charge.account, "charge.late_success", shown_charge)
    if intent := _intent_of(tx, charge):
        shown = views.payment_intent(intent, tx.gaps, late=suspense.of_intent(tx, intent))
        emit(tx, BY_ITSELF, charge.account, "payment_intent.late_success", shown)


def _takes_late_funds(tx: Transaction, charge: Charge) -> bool:
    """Whether late money pays an attempt after all: nothing else has paid its intent, which was not canceled."""
    intent = _intent_of(tx, charge)
    by_intent = intent is None or (intent.status, payments.LATE_FUNDS) in intent_transitions(tx.gaps)
    return by_intent and (charge.status, payments.LATE_FUNDS) in charge_transitions(tx.gaps)


def _pay_late(tx: Transaction, charge: Charge) -> None:
    """Late money pays an attempt that had failed; another prompt that is open for the same intent is withdrawn."""
    warnings = (*charge.warnings, f"The money came {OF_LATE}.")
    if (intent := _intent_of(tx, charge)) and intent.status == payments.REQUIRES_ACTION and intent.latest_charge:
        other = tx.sessions.first(charge=intent.latest_charge)
        if other is not None and other.ended_seq is None:
            press(tx, BY_ITSELF, other, "withdraw")
    _post_secured(tx, charge, tx.now_ms)
    _move_charge(tx, BY_ITSELF, charge, payments.LATE_FUNDS, "charge.succeeded", warnings=warnings)
    if intent:
        # The intent is that of the attempt which paid it: a refund of it is one of that charge.
        paid_by = {"latest_charge": charge.id, "phone": charge.phone, "provider": charge.channel, "warnings": warnings}
        intent = tx.intents.put(intent, **paid_by)
        move_intent(tx, BY_ITSELF, intent, payments.LATE_FUNDS, "payment_intent.succeeded", failure_code=None)


def press(tx: Transaction, cause: Cause, session: UssdSession, given: str, *, shown: str | None = None) -> UssdSession:
    """`cancel` or `ignore` by the customer, `timeout` by the clock, `reject` by the operator or `withdraw` by us.

    `shown` is what stands for it on the record where that is another: of a PIN, its length.
    """
    scenario = SCENARIOS[session.scenario]
    refused = given == "right_pin_refused" and scenario.refusal
    session = ussd.after(session, given, reason=payments.FAILURES[refused] if refused else None)
    _show(tx, session, shown or given)
    if session.screen in (*ussd.OPEN, ussd.IGNORED):
        return tx.sessions.put(session)
    session = tx.sessions.put(session, ended_seq=tx.next_seq())
    tx.unschedule(session.id)
    if session.screen == ussd.EXPIRED and scenario.late:
        tx.schedule(LATE_MONEY, session.id, in_ms=scenarios.LATE_S * 1000)
    _settle(tx, cause, session, scenario)
    return session


def _settle(tx: Transaction, cause: Cause, session: UssdSession, scenario: Scenario) -> None:
    """What the operator answers, as often as it does: what comes again finds the charge settled."""
    charge = tx.charges.get(session.charge)
    if charge is None:
        return
    if session.screen in (ussd.APPROVED, ussd.REFUSED):
        _move_intent_of(tx, cause, charge, "pin_accepted", "payment_intent.processing")
    if session.screen == ussd.APPROVED:
        for _ in range(scenario.answers):
            secure_funds(tx, cause, charge)
    else:
        own = {ussd.REFUSED: scenario.refusal, ussd.REJECTED: scenario.rejection}.get(session.screen)
        fail(tx, cause, charge, own or ussd.FAILURE_OF[session.screen])


def _show(tx: Transaction, session: UssdSession, pressed: str | None) -> None:
    if session.screen in ussd.HIDDEN:
        return
    tx.screens.add(
        Screen(
            seq=tx.next_seq(),
            at_ms=tx.now_ms,
            session=session.id,
            charge=session.charge,
            phone=session.phone,
            pressed=pressed,
            words=ussd.screen_text(session),
        )
    )


def _pin_length(session: UssdSession) -> int:
    return operator_of(session.phone).pin_length
