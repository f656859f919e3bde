"""One attempt to move money: a hold, a prompt, the customer's answer, the operator's, and what follows.

Intents and charges share this; a charge with a `payment_intent` moves its intent along.
"""

from workbench.domain import payments, scenarios, ussd
from workbench.domain.payments import Charge
from workbench.domain.phones import Msisdn, msisdn_from
from workbench.domain.scenarios import SCENARIOS, Scenario
from workbench.domain.ussd import UssdSession
from workbench.sandbox.service import outcomes
from workbench.sandbox.service.caller import BY_ITSELF, Caller, Cause
from workbench.sandbox.service.scenarios import scenario_for
from workbench.sandbox.store import Transaction
from workbench.sandbox.store.records import Screen

ACTS = "customer_acts"
PROMPT_TIMEOUT = "prompt_timeout"
LATE_MONEY = "late_money"


def begin(tx: Transaction, caller: Caller, charge: Charge, phone: Msisdn, reference: str | None) -> UssdSession:
    """Hold the amount and send the prompt; its time-out is due from now on."""
    outcomes.hold(tx, charge)
    scenario = scenario_for(tx, charge, phone, asked=caller.scenario)
    session = tx.sessions.add(
        UssdSession(
            id=tx.new_id("ussd"),
            seq=tx.next_seq(),
            charge=charge.id,
            phone=charge.phone,
            operator=phone.operator.name,
            merchant=caller.account_name,
            amount_minor=charge.amount_minor,
            currency=charge.currency,
            reference=reference,
            tries_left=tx.gaps.pin_attempts,
            expires_ms=tx.now_ms + tx.gaps.prompt_timeout_s * 1000,
            play=scenario,
            screen=ussd.UNSENT if SCENARIOS[scenario].rejection else ussd.ENTER_PIN,
        )
    )
    _show(tx, session, None)
    tx.schedule(PROMPT_TIMEOUT, session.id, in_ms=tx.gaps.prompt_timeout_s * 1000)
    return session


def let_act(tx: Transaction, session: UssdSession) -> None:
    """Make due what happens by itself, at its time."""
    scenario = _scenario(session)
    if scenario.by_itself and scenario.acts:
        tx.schedule(ACTS, session.id, in_ms=scenario.after_s * 1000)


def act(tx: Transaction, cause: Cause, session: UssdSession) -> None:
    """What the scenario says happens now, through the same inputs as a person's."""
    scenario = _scenario(session)
    if session.screen == ussd.UNSENT:
        press(tx, cause, session, "reject")
        return
    for pressed in scenario.presses:
        if session.screen not in ussd.OPEN:
            return
        session = (
            press(tx, cause, session, "cancel")
            if pressed == scenarios.CANCEL
            else enter_pin(tx, cause, session, pressed)
        )


def enter_pin(tx: Transaction, cause: Cause, session: UssdSession, text: str) -> UssdSession:
    """A PIN comes from the handset; it is judged and forgotten."""
    ussd.check_pin(text, _msisdn(session).operator.pin_length)
    given = ussd.judged_pin(session, right=scenarios.pin_is_right(text), refusal=_scenario(session).refusal)
    return _press(tx, cause, session, given, pressed="•" * len(text))


def press(tx: Transaction, cause: Cause, session: UssdSession, given: str) -> UssdSession:
    """`cancel` or `ignore` by the customer, `timeout` by the clock, `reject` by the operator or `withdraw` by us."""
    return _press(tx, cause, session, given, pressed=given)


def money_comes_late(tx: Transaction, session: UssdSession) -> None:
    """The customer's approval reaches the operator after the prompt has expired."""
    charge = tx.charges.get(session.charge)
    if session.screen != ussd.EXPIRED or charge is None:
        return
    session = ussd.after(session, "late_pin")
    _show(tx, session, "•" * _msisdn(session).operator.pin_length)
    tx.sessions.put(session)
    outcomes.late_success(tx, BY_ITSELF, charge)


def _press(tx: Transaction, cause: Cause, session: UssdSession, given: str, *, pressed: str) -> UssdSession:
    scenario = _scenario(session)
    refused = given == "right_pin_refused" and scenario.refusal
    reason = payments.FAILURES[refused] if refused else None
    session = ussd.after(session, given, reason=reason)
    _show(tx, session, pressed)
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
        outcomes.pin_accepted(tx, cause, charge)
    if session.screen == ussd.APPROVED:
        for _ in range(scenario.answers):
            outcomes.secure_funds(tx, cause, charge)
    else:
        own = {ussd.REFUSED: scenario.refusal, ussd.REJECTED: scenario.rejection}.get(session.screen)
        outcomes.fail(tx, cause, charge, own or ussd.FAILURE_OF[session.screen])


def _scenario(session: UssdSession) -> Scenario:
    return SCENARIOS[session.play]


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


def _msisdn(session: UssdSession) -> Msisdn:
    return msisdn_from(session.phone, param="phone")
