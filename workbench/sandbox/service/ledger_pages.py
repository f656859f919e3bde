"""The ledger read back, page by page: balances, entries, postings and movements; an entry posted once more."""

import itertools
from collections.abc import Iterator

from workbench.domain.ledger import TRACKED, JournalEntry, key_and_batch, movements_of
from workbench.domain.moments import business_date, milliseconds_in, rfc3339
from workbench.domain.wire import BalancesQuery, EntriesQuery, MovementsQuery, PathEntry, control
from workbench.errors import LedgerRefused, NotFound, StateConflict
from workbench.sandbox.service import clearing, settling
from workbench.sandbox.service.lists import Caller
from workbench.sandbox.store import Transaction


def _once_more(tx: Transaction, entry_id: str) -> JournalEntry:
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
    clearing.expect(tx)
    return tx.post(
        entry.kind,
        entry.postings,
        description=f"{entry.description}: once more",
        payment=entry.payment,
        reference=entry.external_reference,
    )


def accounts(tx: Transaction, caller: Caller, *, query: BalancesQuery) -> control.Rows[control.LedgerAccount]:  # noqa: ARG001  one signature
    """GET /sandbox/ledger/accounts: every account posted to, with its sums in minor units.

    Of what had occurred by `as_of` and was recorded by `known_at`, where they are given.
    Raises InvalidRequest: no moment with its zone.
    """
    as_of = None if query.as_of is None else milliseconds_in(query.as_of, param="as_of")
    known = None if query.known_at is None else milliseconds_in(query.known_at, param="known_at")
    return control.Rows([control.LedgerAccount(*each) for each in tx.journal.sums(as_of_ms=as_of, known_ms=known)])


def entries(tx: Transaction, caller: Caller, *, query: EntriesQuery) -> control.Page[control.LedgerEntry]:  # noqa: ARG001  one signature
    """GET /sandbox/ledger/entries: the entries, oldest first, a page of them or all."""
    found, has_more = _page(tx.journal.page(query.after), query.limit)
    return control.Page([_shown(each) for each in found], has_more=has_more)


def postings(tx: Transaction, caller: Caller, *, query: EntriesQuery) -> control.Page[control.LedgerPosting]:  # noqa: ARG001  one signature
    """GET /sandbox/ledger/postings: the postings in the order of their entries, of a page of entries or of all."""
    found, has_more = _page(tx.journal.page(query.after), query.limit)
    return control.Page([row for each in found for row in _postings(each)], has_more=has_more)


def movements(tx: Transaction, caller: Caller, *, query: MovementsQuery) -> control.Page[control.LedgerMovement]:  # noqa: ARG001  one signature
    """GET /sandbox/ledger/movements: what entries did to some accounts, as a statement would tell it.

    In the order of the entries, of a page of those that post to the accounts or of all.
    """
    wanted = list(TRACKED) if query.account is None else query.account.split(",")
    found, has_more = _page(tx.journal.page(query.after, wanted), query.limit)
    rows = [row for each in found for account in wanted for row in _movements(tx, each, account)]
    return control.Page(rows, has_more=has_more)


def settle(tx: Transaction, caller: Caller, body: control.Settle) -> control.LedgerEntry:  # noqa: ARG001  one signature
    """POST /sandbox/ledger/entries: settle a difference from a statement by an ordinary entry.

    Which one says the recipe. Each can be reversed, as any entry.
    Raises InvalidRequest, NotFound or StateConflict: see `settling.settle`.
    """
    return _shown(settling.settle(tx, body))


def repeat(tx: Transaction, caller: Caller, *, entry_id: PathEntry) -> control.LedgerEntry:  # noqa: ARG001  one signature
    """POST /sandbox/ledger/entries/{entry_id}/repeat: post an entry once more, a fault to find by reconciling.

    Raises NotFound or StateConflict: see `_once_more`.
    """
    return _shown(_once_more(tx, entry_id))


def verify(tx: Transaction, caller: Caller) -> control.LedgerVerified:  # noqa: ARG001  one signature
    """GET /sandbox/ledger/verify: the chain checked from its first entry; its head."""
    try:
        number, head = tx.journal.verify()
    except LedgerRefused as error:
        return control.LedgerVerified(holds=False, message=error.message, **error.facts)
    return control.LedgerVerified(holds=True, entries=number, head=head)


def _page(found: Iterator[JournalEntry], limit: int | None) -> tuple[list[JournalEntry], bool]:
    """At most so many entries, and whether there are more."""
    rows = list(itertools.islice(found, limit))
    return rows, next(found, None) is not None


def _shown(entry: JournalEntry) -> control.LedgerEntry:
    return control.LedgerEntry(
        id=entry.id,
        seq=entry.seq,
        number=entry.number,
        kind=entry.kind,
        description=entry.description,
        payment=entry.payment,
        reverses=entry.reverses,
        occurred_at=rfc3339(entry.occurred_ms),
        recorded_at=rfc3339(entry.recorded_ms),
        business_date=business_date(entry.occurred_ms),
        external_reference=entry.external_reference,
        settles=entry.settles,
        prev_hash=entry.prev_hash,
        hash=entry.hash,
    )


def _postings(entry: JournalEntry) -> Iterator[control.LedgerPosting]:
    for line, each in enumerate(entry.postings, start=1):
        yield control.LedgerPosting(
            entry=entry.id,
            number=entry.number,
            line=line,
            kind=entry.kind,
            payment=entry.payment,
            occurred_at=rfc3339(entry.occurred_ms),
            business_date=business_date(entry.occurred_ms),
            account=each.account,
            code=each.code,
            side=each.side,
            amount_minor=each.amount_minor,
            currency=each.currency,
            external_reference=entry.external_reference,
        )


def _movements(tx: Transaction, entry: JournalEntry, account: str) -> Iterator[control.LedgerMovement]:
    made = tuple(movements_of(entry.postings, account))
    if not made:
        return
    key, batch = key_and_batch(entry, settling.known_as(tx, entry))
    phone, state = settling.phone_of(tx, entry), settling.state_of(tx, entry)
    for each in made:
        yield control.LedgerMovement(
            entry=entry.id,
            number=entry.number,
            kind=entry.kind,
            payment=entry.payment,
            reverses=entry.reverses,
            account=account,
            key=key,
            batch=batch,
            occurred_at=rfc3339(entry.occurred_ms),
            business_date=business_date(entry.occurred_ms),
            direction=each.direction,
            amount_minor=each.amount_minor,
            fee_minor=each.fee_minor,
            currency=each.currency,
            status="completed",
            phone=phone,
            state=state,
        )
