"""The messages on a handset, read from what happened: how its prompts ended, and what money came back."""

from collections.abc import Iterator

from workbench.domain import receipts
from workbench.domain.ledger import DEBIT, JournalEntry
from workbench.domain.moments import rfc3339
from workbench.domain.payments import SUCCEEDED, Charge
from workbench.domain.phones import msisdn_from
from workbench.domain.receipts import Receipt
from workbench.domain.references import reference
from workbench.domain.ussd import UssdSession
from workbench.domain.wire import panel
from workbench.sandbox.store import Transaction

REFUND_SENT, LATE_MONEY_RETURNED = "refund_sent", "suspense_returned"


def messages(tx: Transaction, phone: str) -> panel.Rows[panel.Message]:
    """What operators have texted to a number, oldest first."""
    number = msisdn_from(phone, param="phone")
    # Of each prompt its last screen: that is where and when it ended.
    last = {each.charge: each for each in tx.screens.all(phone=number.e164)}
    meaning: list[Receipt] = []
    for screen in last.values():
        session, charge = tx.sessions.get(screen.session), tx.charges.get(screen.charge)
        if session is None or charge is None:
            continue
        known_as = reference(charge.provider, screen.at_ms, seq=charge.seq)
        receipt = receipts.receipt_of(session, seq=screen.seq, at_ms=screen.at_ms, transaction=known_as)
        if receipt is not None:
            meaning += [receipt, *_returns(tx, session, charge, known_as)]
    return panel.Rows([_shown(each) for each in sorted(meaning, key=lambda each: each.seq)])


def _returns(tx: Transaction, session: UssdSession, charge: Charge, known_as: str) -> Iterator[Receipt]:
    """Money of a charge that came back to the wallet."""
    for entry in tx.journal.of_payment(charge.payment_intent or charge.id, (REFUND_SENT, LATE_MONEY_RETURNED)):
        if _is_of(tx, entry, charge, known_as):
            yield receipts.receipt_of_return(
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


def _shown(receipt: Receipt) -> panel.Message:
    return panel.Message(
        seq=receipt.seq,
        at=rfc3339(receipt.at_ms),
        kind=receipt.kind,
        sender=receipt.operator,
        text=receipts.receipt_text(receipt),
        amount_minor=receipt.amount_minor,
        currency=receipt.currency,
        merchant=receipt.merchant,
        transaction=receipt.transaction,
    )
