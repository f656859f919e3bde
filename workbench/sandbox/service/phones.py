"""The handsets: what one shows, and what a person presses on it."""

from typing import Any

from workbench.domain import ussd
from workbench.domain.phones import msisdn_from
from workbench.domain.ussd import UssdSession
from workbench.errors import StateConflict
from workbench.sandbox.service import attempts
from workbench.sandbox.store import Transaction


def show(tx: Transaction, phone: str) -> dict[str, Any]:
    """The prompt that waits on a handset, else how the last one ended, else nothing."""
    number = msisdn_from(phone, param="phone")
    waiting = tx.open_session(number.e164)
    session = waiting or tx.last_session(number.e164)
    queued = [each for each in tx.sessions.all(phone=number.e164) if each.ended_seq is None and each != waiting]
    return {
        "object": "phone",
        "phone": number.e164,
        "operator": number.operator.id,
        "screen": ussd.words(session) if session else ussd.IDLE_WORDS,
        "state": session.screen if session else "idle",
        "waiting": waiting is not None and waiting.screen in ussd.OPEN,
        "tries_left": waiting.tries_left if waiting else None,
        "expires_at": waiting.expires_ms // 1000 if waiting else None,
        "queued": len(queued),
    }


def enter(tx: Transaction, phone: str, text: str) -> dict[str, Any]:
    """A PIN is typed and sent."""
    attempts.enter_pin(tx, _waiting(tx, phone), text)
    return show(tx, phone)


def press(tx: Transaction, phone: str, given: str) -> dict[str, Any]:
    """`cancel` is pressed, or the prompt is left unanswered (`ignore`)."""
    attempts.press(tx, _waiting(tx, phone), given)
    return show(tx, phone)


def _waiting(tx: Transaction, phone: str) -> UssdSession:
    number = msisdn_from(phone, param="phone")
    session = tx.open_session(number.e164)
    if session is None or session.screen not in ussd.OPEN:
        raise StateConflict(
            "No prompt waits for an answer on this handset.", code="no_prompt", param="phone", current="idle"
        )
    return session
