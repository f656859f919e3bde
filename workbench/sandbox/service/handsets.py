"""Handsets and operators: a phone's screen and messages, inputs on it, scripts of scenarios, and outages."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from workbench.domain import scenarios, ussd
from workbench.domain.ids import reference
from workbench.domain.ledger import DEBIT
from workbench.domain.moments import rfc3339
from workbench.domain.payments import PENDING, SUCCEEDED, StoredCharge
from workbench.domain.phones import OFFERED, Msisdn, operator_named, operator_of
from workbench.domain.ussd import Receipt, UssdSession
from workbench.domain.wire import payments_and_payouts
from workbench.domain.wire import sandbox_controls as wire
from workbench.domain.wire.base import Rows
from workbench.errors import ApiError, StateConflict, invalid
from workbench.sandbox.service import BY_ITSELF, Caller, Cause, check_known, payments, read_phone, whole_ms
from workbench.sandbox.store import Transaction
from workbench.sandbox.store.rows import StoredOutage

_LATEST = 200
"""The number of latest prompts from which `list_phones` takes the handsets."""
_REFUND_SENT, _LATE_MONEY_RETURNED = "refund_sent", "suspense_returned"


def show_phone(tx: Transaction, caller: Caller, *, phone: str) -> wire.Handset:
    """GET /sandbox/phones/{phone}: the screen of a customer's phone."""
    number = read_phone(tx.gaps, phone)
    return _handset(number, _sessions(tx, number))


def list_phones(tx: Transaction, caller: Caller, *, query: wire.PhonesQuery) -> Rows[wire.Handset]:
    """GET /sandbox/phones: the handsets on which a prompt waits, then the handsets used last; twenty at most.

    The handset of `payment`, if named, comes first.
    """
    payment = tx.payments.first(id=query.payment, account=caller.account) if query.payment else None
    waiting = tx.sessions.page(_LATEST, ended_seq=None, screen=ussd.OPEN_SCREENS)
    latest = tx.sessions.page(_LATEST)
    phones = dict.fromkeys(shown.phone for shown in (payment, *waiting, *latest) if shown and shown.phone)
    numbers = [Msisdn(phone, operator_of(phone)) for phone in phones][:20]
    return Rows([_handset(number, _sessions(tx, number)) for number in numbers])


def enter(tx: Transaction, caller: Caller, body: wire.Input, *, phone: str) -> wire.Handset | ApiError:
    """POST /sandbox/phones/{phone}/input: enter a PIN."""
    return _pressed(tx, phone, partial(payments.enter_pin, text=body.text))


def cancel(tx: Transaction, caller: Caller, *, phone: str) -> wire.Handset | ApiError:
    """POST /sandbox/phones/{phone}/cancel: the customer cancels the open prompt, and its charge fails.

    Refused if the prompt has expired; the sandbox then closes it. Raises StateConflict: no prompt is open.
    """
    return _pressed(tx, phone, partial(payments.press, event="cancel"))


def ignore(tx: Transaction, caller: Caller, *, phone: str) -> wire.Handset | ApiError:
    """POST /sandbox/phones/{phone}/ignore: the customer leaves the open prompt unanswered.

    The charge waits until the prompt expires. Refused if it has expired; the sandbox then closes it. Raises
    StateConflict: no prompt is open.
    """
    return _pressed(tx, phone, partial(payments.press, event="ignore"))


def _pressed(
    tx: Transaction, phone: str, press: Callable[[Transaction, Cause, UssdSession], UssdSession]
) -> wire.Handset | ApiError:
    """The handset after `press` has applied an input to its open prompt; an error if the prompt had expired.

    Raises StateConflict: no prompt is open.
    """
    number = read_phone(tx.gaps, phone)
    sessions = _sessions(tx, number)
    session = next((candidate for candidate in sessions if candidate.screen in ussd.OPEN_SCREENS), None)
    if session is None:
        message = "No prompt waits for an answer on this handset."
        raise StateConflict(message, code="no_prompt", param="phone", current="idle")
    if session.expires_ms > tx.now_ms:
        after = press(tx, BY_ITSELF, session)
        prompts = [after if prompt is session else prompt for prompt in sessions]
        return _handset(number, [prompt for prompt in prompts if prompt.ended_seq is None] or [after])
    # The prompt expired before its time-out was run: it is closed here, and that is committed.
    payments.press(tx, BY_ITSELF, session, "timeout")
    return StateConflict("The prompt has expired.", code="prompt_expired", param="phone", current=ussd.EXPIRED)


def _sessions(tx: Transaction, number: Msisdn) -> list[UssdSession]:
    """The open prompts of a number, oldest first, including ignored ones; if none is open, the last one to end."""
    waiting = tx.sessions.all(phone=number.e164, ended_seq=None, screen=ussd.SHOWN)
    last = None if waiting else tx.sessions.first("ended_seq DESC", phone=number.e164, screen=ussd.SHOWN)
    return [last] if last else waiting


def _handset(number: Msisdn, sessions: Sequence[UssdSession]) -> wire.Handset:
    """The handset of a number; it shows the first open prompt of `sessions`, else the last screen of the first session.

    Without sessions the handset is idle.
    """
    prompts = [prompt for prompt in sessions if prompt.screen in ussd.OPEN_SCREENS]
    waiting = prompts[0] if prompts else None
    session = waiting or next(iter(sessions), None)
    return wire.Handset(
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


def read_messages(tx: Transaction, caller: Caller, *, phone: str) -> Rows[wire.Message]:
    """GET /sandbox/phones/{phone}/messages: the text messages of operators to a customer, oldest first."""
    number = read_phone(tx.gaps, phone)
    # The last screen of a prompt is where and when the prompt ended.
    last = {screen.charge: screen for screen in tx.screens.all(phone=number.e164)}
    receipts: list[Receipt] = []
    for screen in last.values():
        session, charge = tx.sessions[screen.session], tx.charges[screen.charge]
        known_as = reference(charge.provider, screen.at_ms, seq=charge.seq)
        receipt = ussd.receipt_of(session, seq=screen.seq, at_ms=screen.at_ms, transaction=known_as)
        if receipt is not None:
            receipts += [receipt, *_returns(tx, session, charge, known_as)]
    return Rows([_text_message(receipt) for receipt in sorted(receipts, key=lambda receipt: receipt.seq)])


def _returns(tx: Transaction, session: UssdSession, charge: StoredCharge, known_as: str) -> Iterator[Receipt]:
    """Yields receipts for money of one attempt that was returned to the wallet: refunds, and late money.

    `known_as` is the operator's reference of the attempt, which distinguishes its late money from that of other
    attempts.
    """
    for entry in tx.journal.of_payment(charge.payment_intent or charge.id, (_REFUND_SENT, _LATE_MONEY_RETURNED)):
        is_late_money = entry.settles and tx.journal[entry.settles].external_reference == known_as
        is_refund = entry.kind == _REFUND_SENT and charge.status == SUCCEEDED
        if is_refund or is_late_money:
            amount_minor = sum(posting.amount_minor for posting in entry.postings if posting.side == DEBIT)
            yield Receipt(session, ussd.RETURNED, entry.seq, entry.recorded_ms, amount_minor, entry.external_reference)


def _text_message(receipt: Receipt) -> wire.Message:
    return wire.Message(
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


def operators(tx: Transaction, caller: Caller) -> Rows[wire.OperatorState]:
    """GET /sandbox/operator: each operator, with the end of its outage."""
    return Rows([_operator(tx, operator) for operator in OFFERED[tx.gaps.zed_mobile]])


def outage(tx: Transaction, caller: Caller, body: wire.Outage) -> wire.OperatorState:
    """POST /sandbox/operator/outage: take an operator down for some seconds from now; 0 ends the outage."""
    for_ms = whole_ms(body.seconds, wire.MAX_OUTAGE_S)
    provider = operator_named(body.provider, param="provider", zed=tx.gaps.zed_mobile).id
    if before := tx.outages.get(provider):
        tx.outages.remove(before)
    if for_ms:
        tx.outages.add(StoredOutage(provider=provider, until_ms=tx.now_ms + for_ms))
    return _operator(tx, provider)


def _operator(tx: Transaction, provider: str) -> wire.OperatorState:
    ends_ms = payments.down_until_ms(tx, provider)
    return wire.OperatorState(provider, ends_ms and ends_ms // 1000)


def script(tx: Transaction, caller: Caller, body: wire.Script) -> wire.Scripted:
    """POST /sandbox/operator/script: script the outcomes of the next attempts on a number, in order."""
    phone = read_phone(tx.gaps, body.phone).e164
    says = "cannot be scripted; these can be:"
    check_known(body.answers, scenarios.SCRIPTABLE, says, param="answers", code="scenario_unknown")
    if len(body.answers) > wire.MAX_ANSWERS:
        raise invalid(f"answers are at most {wire.MAX_ANSWERS}.", "answers")
    for scripted in tx.scripts.all(phone=phone):
        tx.scripts.remove(scripted)
    for scenario in body.answers:
        tx.scripts.create(phone=phone, scenario=scenario)
    return wire.Scripted(phone, body.answers)


def ask_operator(tx: Transaction, caller: Caller, body: wire.OperatorQuery) -> payments_and_payouts.Charge:
    """POST /sandbox/operator/query: ask the operator for the outcome of a charge that it never reported."""
    charge = payments.CHARGES.find(tx, caller, body.charge, param="charge")
    session = tx.sessions.first(charge=charge.id)
    if charge.status != PENDING or session is None or session.screen != ussd.APPROVED:
        message = f"The charge is {charge.status} and is not waiting for the operator's answer."
        raise StateConflict(message, code="nothing_to_ask", param="charge", current=charge.status)
    # The operator made the movement's id, which it texted to the customer, when the customer agreed.
    last = tx.screens.first(order="seq DESC", phone=charge.phone, charge=charge.id)
    payments.secure_funds(tx, BY_ITSELF, charge, moved_ms=last.at_ms if last else None)
    return payments.charge_view(tx, tx.charges[charge.id])
