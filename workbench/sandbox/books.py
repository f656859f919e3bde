"""The ledger, read back for the panel: balances, entries, postings and movements, page by page; settling."""

import itertools
from collections.abc import Iterator

from workbench.domain.ledger import TRACKED, JournalEntry
from workbench.domain.moments import business_date, milliseconds_in, rfc3339
from workbench.domain.movements import key_and_batch, movements_of
from workbench.domain.wire import BalancesQuery, EntriesQuery, MovementsQuery, PathEntry, panel
from workbench.errors import LedgerRefused
from workbench.sandbox.service import origins, repeating, settling
from workbench.sandbox.service.caller import Caller
from workbench.sandbox.store import Transaction


def accounts(tx: Transaction, caller: Caller, *, query: BalancesQuery) -> panel.Rows[panel.LedgerAccount]:  # noqa: ARG001  one signature
    """GET /sandbox/ledger/accounts: every account posted to, with its sums in minor units.

    Of what had occurred by `as_of` and was recorded by `known_at`, where they are given.
    Raises InvalidRequest: no moment with its zone.
    """
    as_of = None if query.as_of is None else milliseconds_in(query.as_of, param="as_of")
    known = None if query.known_at is None else milliseconds_in(query.known_at, param="known_at")
    return panel.Rows([panel.LedgerAccount(*each) for each in tx.journal.sums(as_of_ms=as_of, known_ms=known)])


def entries(tx: Transaction, caller: Caller, *, query: EntriesQuery) -> panel.Page[panel.LedgerEntry]:  # noqa: ARG001  one signature
    """GET /sandbox/ledger/entries: the entries, oldest first, a page of them or all."""
    found, has_more = _page(tx.journal.page(query.after), query.limit)
    return panel.Page([_shown(each) for each in found], has_more=has_more)


def postings(tx: Transaction, caller: Caller, *, query: EntriesQuery) -> panel.Page[panel.LedgerPosting]:  # noqa: ARG001  one signature
    """GET /sandbox/ledger/postings: the postings in the order of their entries, of a page of entries or of all."""
    found, has_more = _page(tx.journal.page(query.after), query.limit)
    return panel.Page([row for each in found for row in _postings(each)], has_more=has_more)


def movements(tx: Transaction, caller: Caller, *, query: MovementsQuery) -> panel.Page[panel.LedgerMovement]:  # noqa: ARG001  one signature
    """GET /sandbox/ledger/movements: what entries did to some accounts, as a statement would tell it.

    In the order of the entries, of a page of those that post to the accounts or of all.
    """
    wanted = list(TRACKED) if query.account is None else query.account.split(",")
    found, has_more = _page(tx.journal.page(query.after, wanted), query.limit)
    rows = [row for each in found for account in wanted for row in _movements(tx, each, account)]
    return panel.Page(rows, has_more=has_more)


def settle(tx: Transaction, caller: Caller, body: panel.Settle) -> panel.LedgerEntry:  # noqa: ARG001  one signature
    """POST /sandbox/ledger/entries: settle a difference from a statement by an ordinary entry.

    Which one says the recipe. Each can be reversed, as any entry.
    Raises InvalidRequest, NotFound or StateConflict: see `settling.settle`.
    """
    return _shown(settling.settle(tx, body))


def repeat(tx: Transaction, caller: Caller, *, entry_id: PathEntry) -> panel.LedgerEntry:  # noqa: ARG001  one signature
    """POST /sandbox/ledger/entries/{entry_id}/repeat: post an entry once more, a fault to find by reconciling.

    Raises NotFound or StateConflict: see `repeating.repeat`.
    """
    return _shown(repeating.repeat(tx, entry_id))


def verify(tx: Transaction, caller: Caller) -> panel.LedgerVerified:  # noqa: ARG001  one signature
    """GET /sandbox/ledger/verify: the chain checked from its first entry; its head."""
    try:
        number, head = tx.journal.verify()
    except LedgerRefused as error:
        return panel.LedgerVerified(holds=False, message=error.message, **error.facts)
    return panel.LedgerVerified(holds=True, entries=number, head=head)


def _page(found: Iterator[JournalEntry], limit: int | None) -> tuple[list[JournalEntry], bool]:
    """At most so many entries, and whether there are more."""
    rows = list(itertools.islice(found, limit))
    return rows, next(found, None) is not None


def _shown(entry: JournalEntry) -> panel.LedgerEntry:
    return panel.LedgerEntry(
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


def _postings(entry: JournalEntry) -> Iterator[panel.LedgerPosting]:
    for line, each in enumerate(entry.postings, start=1):
        yield panel.LedgerPosting(
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


def _movements(tx: Transaction, entry: JournalEntry, account: str) -> Iterator[panel.LedgerMovement]:
    made = tuple(movements_of(entry.postings, account))
    if not made:
        return
    key, batch = key_and_batch(entry, origins.known_as(tx, entry))
    phone, state = origins.phone_of(tx, entry), origins.state_of(tx, entry)
    for each in made:
        yield panel.LedgerMovement(
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
