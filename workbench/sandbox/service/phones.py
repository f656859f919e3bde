"""The handsets: what one shows, and what a person presses on it."""

from workbench.domain import ussd
from workbench.domain.phones import msisdn_from
from workbench.domain.ussd import UssdSession
from workbench.domain.wire import panel
from workbench.errors import StateConflict
from workbench.sandbox.service import attempts
from workbench.sandbox.service.caller import BY_ITSELF, Refused
from workbench.sandbox.store import Transaction


def show(tx: Transaction, phone: str) -> panel.Handset:
    """The prompt that waits on a handset, else how the last one ended, else nothing."""
    number = msisdn_from(phone, param="phone")
    there = [each for each in tx.sessions.all(phone=number.e164, ended_seq=None) if each.screen not in ussd.HIDDEN]
    prompts = [each for each in there if each.screen in ussd.OPEN]
    waiting = prompts[0] if prompts else None
    session = waiting or next(iter(there), None) or tx.last_session(number.e164)
    return panel.Handset(
        phone=number.e164,
        operator=number.operator.id,
        screen=ussd.screen_text(session) if session else ussd.IDLE_TEXT,
        state=session.screen if session else "idle",
        waiting=waiting is not None,
        tries_left=waiting.tries_left if waiting else None,
        expires_at=waiting.expires_ms // 1000 if waiting else None,
        queued=len(prompts[1:]),
        charge=session.charge if session else None,
    )


def enter(tx: Transaction, phone: str, text: str) -> panel.Handset | Refused:
    """A PIN is typed and sent."""
    session = _waiting(tx, phone)
    if session.expires_ms <= tx.now_ms:
        return _too_late(tx, session)
    attempts.enter_pin(tx, BY_ITSELF, session, text)
    return show(tx, phone)


def press(tx: Transaction, phone: str, given: str) -> panel.Handset | Refused:
    """`cancel` is pressed, or the prompt is left unanswered (`ignore`)."""
    session = _waiting(tx, phone)
    if session.expires_ms <= tx.now_ms:
        return _too_late(tx, session)
    attempts.press(tx, BY_ITSELF, session, given)
    return show(tx, phone)


def _too_late(tx: Transaction, session: UssdSession) -> Refused:
    """The time was up before whoever closes prompts came to this one: it is closed here, and that is kept."""
    attempts.press(tx, BY_ITSELF, session, "timeout")
    return Refused(StateConflict("The prompt has expired.", code="prompt_expired", param="phone", current=ussd.EXPIRED))


def _waiting(tx: Transaction, phone: str) -> UssdSession:
    number = msisdn_from(phone, param="phone")
    session = tx.open_session(number.e164)
    if session is None:
        raise StateConflict(
            "No prompt waits for an answer on this handset.", code="no_prompt", param="phone", current="idle"
        )
    return session
