"""The handset: the screens and inputs of a USSD session, and the operator's messages after the session."""

from collections.abc import Mapping
from typing import Final, NamedTuple

import msgspec

from workbench.domain.masking import shortened
from workbench.domain.moments import LUSAKA, moment
from workbench.domain.money import Money
from workbench.domain.payments import FAILURES, Transitions, next_state
from workbench.errors import InvalidRequest

ENTER_PIN: Final = "enter_pin"
WRONG_PIN: Final = "wrong_pin"
APPROVED: Final = "approved"
REFUSED: Final = "refused"
BLOCKED: Final = "blocked"
CANCELED: Final = "canceled"
IGNORED: Final = "ignored"
EXPIRED: Final = "expired"
WITHDRAWN: Final = "withdrawn"
UNSENT: Final = "unsent"
REJECTED: Final = "rejected"
RECALLED: Final = "recalled"

OPEN_SCREENS = (ENTER_PIN, WRONG_PIN)
"""The screens that wait for an input."""
HIDDEN_SCREENS = (UNSENT, REJECTED, RECALLED)
"""Screens of prompts that the handset never shows: the operator is about to reject, has rejected or has recalled it."""

TRANSITIONS: Transitions = {
    (screen, event): after
    for screen in OPEN_SCREENS
    for event, after in (
        ("right_pin", APPROVED),
        ("right_pin_refused", REFUSED),
        ("wrong_pin", WRONG_PIN),
        ("last_wrong_pin", BLOCKED),
        ("cancel", CANCELED),
        ("ignore", IGNORED),
        ("timeout", EXPIRED),
        ("withdraw", WITHDRAWN),
    )
} | {
    (IGNORED, "timeout"): EXPIRED,
    (IGNORED, "withdraw"): WITHDRAWN,
    (EXPIRED, "late_pin"): APPROVED,
    (UNSENT, "reject"): REJECTED,
    (UNSENT, "withdraw"): RECALLED,
}
"""(screen, event) → next screen. An ignored prompt expires or is withdrawn; a PIN may still come after the expiry."""

FAILURE_OF: Mapping[str, str] = {
    BLOCKED: "wrong_pin",
    CANCELED: "declined_by_customer",
    EXPIRED: "prompt_timeout",
    WITHDRAWN: "canceled_by_merchant",
    RECALLED: "canceled_by_merchant",
}
"""Screen on which a session ends → the operator's failure code; REFUSED and REJECTED carry their own reason."""

SCREEN_TEXTS: Mapping[str, str] = {
    ENTER_PIN: "{operator}\nPay {amount}\nto {merchant}\n{reference}Enter PIN to approve:",
    WRONG_PIN: (
        "{operator}\nWrong PIN. Tries left: {tries}\nPay {amount}\nto {merchant}\n{reference}Enter PIN to approve:"
    ),
    APPROVED: "{operator}\nApproved.\n{amount} paid\nto {merchant}.",
    REFUSED: "{operator}\nNot paid.\n{reason}",
    BLOCKED: "{operator}\nNot paid.\nWrong PIN too often.",
    CANCELED: "{operator}\nCanceled.\nNothing was paid.",
    IGNORED: "(the prompt was left unanswered)",
    EXPIRED: "{operator}\nThe request has expired.\nNothing was paid.",
    WITHDRAWN: "{operator}\n{merchant} has canceled the request.\nNothing was paid.",
}
SHOWN: Final = tuple(SCREEN_TEXTS)
IDLE_TEXT: Final = "(no message)"
MAX_REFERENCE: Final = 40


class UssdSession(msgspec.Struct, frozen=True, kw_only=True):
    """A prompt on a handset; the stored row never contains a PIN."""

    id: str
    seq: int
    charge: str
    phone: str
    operator: str
    merchant: str
    amount_minor: int
    currency: str
    reference: str | None
    tries_left: int
    expires_ms: int
    scenario: str
    """The name of the attempt's scenario."""
    screen: str = ENTER_PIN
    reason: str | None = None
    ended_seq: int | None = None


def check_pin(text: str, length: int) -> None:
    """Raises InvalidRequest unless `text` has `length` digits; a refused input does not count as a wrong PIN.

    The customer reads the error's message on the phone; the message never repeats the input.
    """
    is_digits = text.isascii() and text.isdigit()
    if is_digits and len(text) == length:
        return
    typed = f"{len(text)}" if is_digits else f"{len(text)} characters, not all of them digits" if text else "none"
    raise InvalidRequest(f"A PIN has {length} digits; you typed {typed}.", code="pin_invalid", param="text")


def judged_pin(session: UssdSession, *, right: bool, refusal: str | None) -> str:
    """The event in TRANSITIONS for a right or wrong PIN; `refusal` is why the wallet refuses a right one, or None."""
    if right:
        return "right_pin" if refusal is None else "right_pin_refused"
    return "wrong_pin" if session.tries_left > 1 else "last_wrong_pin"


def after(session: UssdSession, event: str, *, reason: str | None = None) -> UssdSession:
    """The session after `event`, a name in TRANSITIONS; `reason` is why no money moves, or None.

    Raises IllegalTransition: the session's screen does not take this event.
    """
    screen = next_state(TRANSITIONS, session.screen, event)
    tries = session.tries_left - (event in ("wrong_pin", "last_wrong_pin"))
    return msgspec.structs.replace(session, screen=screen, tries_left=tries, reason=reason)


def reference_line(reference: str) -> str:
    """A reference as one line of at most MAX_REFERENCE characters, since a USSD message holds only 182."""
    return shortened(" ".join(reference.split()), MAX_REFERENCE)


def screen_text(session: UssdSession) -> str:
    """The text on the handset, worded like an operator's."""
    return SCREEN_TEXTS[session.screen].format(
        operator=session.operator,
        amount=Money(session.amount_minor, session.currency),
        merchant=session.merchant,
        reference=f"Ref: {reference_line(session.reference)}\n" if session.reference else "",
        tries=session.tries_left,
        reason=session.reason,
    )


PAID: Final = "paid"
NOT_PAID: Final = "not_paid"
RETURNED: Final = "returned"

RECEIPT_KINDS: Mapping[str, str] = {APPROVED: PAID, REFUSED: NOT_PAID, BLOCKED: NOT_PAID}
"""Last screen of a prompt → the kind of its receipt.

After other screens there is no receipt: the customer pressed cancel, never saw a prompt, or read everything on the
screen.
"""

RECEIPT_TEXTS: Mapping[str, str] = {
    PAID: "{when}: {amount} paid to {merchant}.{about} Transaction {transaction}.",
    NOT_PAID: "{when}: {amount} to {merchant} was not paid.{about} {reason}",
    RETURNED: "{when}: {amount} received back from {merchant}.{about} Transaction {transaction}.",
}


class Receipt(NamedTuple):
    """An operator's message about a session. `seq` is its position in the trace, `at_ms` milliseconds since 1970.

    `transaction` is the operator's own reference, None if no money moved.
    """

    session: UssdSession
    kind: str
    seq: int
    at_ms: int
    amount_minor: int
    transaction: str | None = None
    reason: str | None = None


def receipt_of(session: UssdSession, *, seq: int, at_ms: int, transaction: str) -> Receipt | None:
    """The receipt of a prompt that ended at `at_ms`; None if its last screen gives no receipt.

    `transaction` is the operator's reference, used if money moved.
    """
    kind = RECEIPT_KINDS.get(session.screen)
    if kind is None:
        return None
    if kind == PAID:
        return Receipt(session, kind, seq, at_ms, session.amount_minor, transaction=transaction)
    code = FAILURE_OF.get(session.screen)
    reason = FAILURES[code] if code else session.reason
    return Receipt(session, kind, seq, at_ms, session.amount_minor, reason=reason)


def receipt_text(receipt: Receipt) -> str:
    """The text of the message, with the time of day in Lusaka."""
    about = receipt.session
    return RECEIPT_TEXTS[receipt.kind].format(
        when=moment(receipt.at_ms).astimezone(LUSAKA).strftime("%d/%m/%Y %H:%M"),
        amount=Money(receipt.amount_minor, about.currency),
        merchant=about.merchant,
        about=f" For: {reference_line(about.reference)}." if about.reference else "",
        transaction=receipt.transaction,
        reason=receipt.reason,
    )
