"""Where an entry comes from: its charge, its customer, the id it is known by, and whether it waits for a decision."""

from typing import Final

from workbench.domain import payments
from workbench.domain.ledger import JournalEntry
from workbench.domain.movements import IN_SUSPENSE, LATE, POSTED
from workbench.domain.payments import Charge
from workbench.domain.phones import mask_phone
from workbench.domain.references import reference
from workbench.sandbox.store import Transaction

_OF_CUSTOMERS: Final = ("funds_secured", LATE, "refund_asked", "refund_sent")
"""Entries by which a customer's money moves; what a refund needs of the bank is about the same payment."""

_DECISIONS: Final = ("suspense_settled", "suspense_returned")


def known_as(tx: Transaction, entry: JournalEntry) -> str | None:
    """The external reference of an entry, or for a reversal without one that of what it reverses."""
    if entry.external_reference is None and entry.reverses is not None:
        reversed_one = tx.journal.get(entry.reverses)
        return reversed_one.external_reference if reversed_one else None
    return entry.external_reference


def phone_of(tx: Transaction, entry: JournalEntry) -> str | None:
    """The customer's number, masked; None where there is no customer."""
    first = _first(tx, entry)
    charge = charge_of(tx, first) if first.kind in _OF_CUSTOMERS else None
    return mask_phone(charge.phone) if charge else None


def state_of(tx: Transaction, entry: JournalEntry) -> str:
    """Whether late money still waits for a decision."""
    if entry.kind != LATE:
        return POSTED
    answered = any(each.reverses or each.kind in _DECISIONS for each in tx.journal.answers_to(entry.id))
    return POSTED if answered else IN_SUSPENSE


def charge_of(tx: Transaction, entry: JournalEntry) -> Charge | None:
    """The attempt that an entry is about.

    Of several attempts at one intent it is the one that the entry's reference was made for, else the one that was paid.
    """
    if entry.payment is None:
        return None
    tried = tx.charges.all(payment_intent=entry.payment) or tx.charges.all(id=entry.payment)
    known = (
        each for each in tried if reference(each.provider, entry.occurred_ms, seq=each.seq) == entry.external_reference
    )
    paid = (each for each in tried if each.status == payments.SUCCEEDED)
    return next(known, None) or next(paid, None)


def _first(tx: Transaction, entry: JournalEntry) -> JournalEntry:
    """The entry at the beginning of a line of reversals and settlements."""
    while (before := entry.reverses or entry.settles) and (found := tx.journal.get(before)):
        entry = found
    return entry
