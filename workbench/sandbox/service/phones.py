"""The handsets: what one shows, what a person presses on it, and the operator's messages in its inbox."""

from collections.abc import Callable, Iterator, Sequence

from workbench.domain import ussd, wire
from workbench.domain.ledger import DEBIT, JournalEntry
from workbench.domain.moments import rfc3339
from workbench.domain.payments import SUCCEEDED, Charge
from workbench.domain.phones import Msisdn
from workbench.domain.references import reference
from workbench.domain.ussd import Receipt, UssdSession
from workbench.domain.wire import control
from workbench.errors import StateConflict
from workbench.sandbox.service import attempts, checks
from workbench.sandbox.service.lists import BY_ITSELF, Caller, Refused
from workbench.sandbox.store import Transaction

REFUND_SENT, LATE_MONEY_RETURNED = "refund_sent", "suspense_returned"


def show_phone(tx: Transaction, caller: Caller, *, phone: wire.PathPhone) -> control.Handset:
    """GET /sandbox/phones/{phone}: what a customer's phone shows."""
    number = checks.read_phone(tx.gaps, phone)
    return _handset(number, _sessions(tx, number))


def _handset(number: Msisdn, there: Sequence[UssdSession]) -> control.Handset:
    """What it shows of these: the prompt that waits, else how the last one ended, else nothing."""
    prompts = [each for each in there if each.screen in ussd.OPEN]
    waiting = prompts[0] if prompts else None
    session = waiting or next(iter(there), None)
    return control.Handset(
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


def enter(tx: Transaction, caller: Caller, body: control.Input, *, phone: wire.PathPhone) -> control.Handset | Refused:
    """POST /sandbox/phones/{phone}/input: enter a PIN."""
    return _acted(tx, phone, lambda session: attempts.enter_pin(tx, BY_ITSELF, session, body.text))


def cancel(tx: Transaction, caller: Caller, *, phone: wire.PathPhone) -> control.Handset | Refused:
    """POST /sandbox/phones/{phone}/cancel: the customer cancels."""
    return _acted(tx, phone, lambda session: attempts.press(tx, BY_ITSELF, session, "cancel"))


def ignore(tx: Transaction, caller: Caller, *, phone: wire.PathPhone) -> control.Handset | Refused:
    """POST /sandbox/phones/{phone}/ignore: the customer puts the phone away."""
    return _acted(tx, phone, lambda session: attempts.press(tx, BY_ITSELF, session, "ignore"))


def _sessions(tx: Transaction, number: Msisdn) -> list[UssdSession]:
    """Those that a handset shows: what has not ended, as several queue, the oldest first; else what ended last."""
    waiting = tx.sessions.all(phone=number.e164, ended_seq=None, screen=ussd.SHOWN)
    last = None if waiting else tx.sessions.first("ended_seq DESC", phone=number.e164, screen=ussd.SHOWN)
    return [last] if last else waiting


def _acted(tx: Transaction, phone: str, act: Callable[[UssdSession], UssdSession]) -> control.Handset | Refused:
    """What the handset shows after a person acted on the prompt that waits there."""
    number = checks.read_phone(tx.gaps, phone)
    there = _sessions(tx, number)
    session = next((each for each in there if each.screen in ussd.OPEN), None)
    if session is None:
        raise StateConflict(
            "No prompt waits for an answer on this handset.", code="no_prompt", param="phone", current="idle"
        )
    if session.expires_ms > tx.now_ms:
        acted = act(session)
        left = [acted if each is session else each for each in there]
        return _handset(number, [each for each in left if each.ended_seq is None] or [acted])
    # The time was up before whoever closes prompts came to this one: it is closed here, and that is kept.
    attempts.press(tx, BY_ITSELF, session, "timeout")
    return Refused(StateConflict("The prompt has expired.", code="prompt_expired", param="phone", current=ussd.EXPIRED))


def read_messages(tx: Transaction, caller: Caller, *, phone: wire.PathPhone) -> control.Rows[control.Message]:
    """GET /sandbox/phones/{phone}/messages: the text messages of operators to a customer, oldest first."""
    number = checks.read_phone(tx.gaps, phone)
    # Of each prompt its last screen: that is where and when it ended.
    last = {each.charge: each for each in tx.screens.all(phone=number.e164)}
    meaning: list[Receipt] = []
    for screen in last.values():
        session, charge = tx.sessions.get(screen.session), tx.charges.get(screen.charge)
        if session is None or charge is None:
            continue
        known_as = reference(charge.provider, screen.at_ms, seq=charge.seq)
        receipt = ussd.receipt_of(session, seq=screen.seq, at_ms=screen.at_ms, transaction=known_as)
        if receipt is not None:
            meaning += [receipt, *_returns(tx, session, charge, known_as)]
    return control.Rows([_shown(each) for each in sorted(meaning, key=lambda each: each.seq)])


def _returns(tx: Transaction, session: UssdSession, charge: Charge, known_as: str) -> Iterator[Receipt]:
    """Money of a charge that came back to the wallet."""
    for entry in tx.journal.of_payment(charge.payment_intent or charge.id, (REFUND_SENT, LATE_MONEY_RETURNED)):
        if _is_of(tx, entry, charge, known_as):
            yield ussd.receipt_of_return(
                session,
                seq=entry.seq,
                at_ms=entry.recorded_ms,
                amount_minor=sum(each.amount_minor for each in entry.postings if each.side == DEBIT),
                transaction=entry.external_reference or "",
            )


def _is_of(tx: Transaction, entry: JournalEntry, charge: Charge, known_as: str) -> bool:
    """Whether an entry is about this attempt, of the several that an intent may have had."""
    if entry.kind == REFUND_SENT:
        return charge.status == SUCCEEDED
    settled = tx.journal.get(entry.settles) if entry.settles else None
    return settled is not None and settled.external_reference == known_as


def _shown(receipt: Receipt) -> control.Message:
    return control.Message(
        seq=receipt.seq,
        at=rfc3339(receipt.at_ms),
        kind=receipt.kind,
        sender=receipt.session.operator,
        text=ussd.receipt_text(receipt),
        amount_minor=receipt.amount_minor,
        currency=receipt.session.currency,
        merchant=receipt.session.merchant,
        transaction=receipt.transaction,
    )
