"""A fault of the books, to try out a reconciliation with: an entry stands in the ledger twice."""

from workbench.domain.ledger import JournalEntry
from workbench.errors import NotFound, StateConflict
from workbench.sandbox.service import nights
from workbench.sandbox.store import Transaction


def repeat(tx: Transaction, entry_id: str) -> JournalEntry:
    """Post an entry once more, now, as if its movement had been learnt of twice: same kind, payment and reference.

    Raises NotFound: no such entry. Raises StateConflict: nobody else knows its movement by an id, or it
    answers another entry.
    """
    entry = tx.journal.get(entry_id)
    if entry is None:
        raise NotFound(f"There is no entry {entry_id[:60]!r}.", code="entry_not_found", param="entry_id")
    if entry.external_reference is None or entry.reverses or entry.settles:
        raise StateConflict(
            f"{entry.id} is of the kind {entry.kind}, which nobody could learn of twice.",
            code="entry_unsuitable",
            param="entry_id",
            current=entry.kind,
        )
    nights.expect(tx)
    return tx.post(
        entry.kind,
        entry.postings,
        description=f"{entry.description}: once more",
        payment=entry.payment,
        reference=entry.external_reference,
    )
