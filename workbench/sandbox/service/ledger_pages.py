"""The ledger read back, page by page: balances, entries, postings and movements; an entry posted once more."""

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeVar

from msgspec.structs import asdict

from workbench.domain.ledger import TRACKED, JournalEntry, key_and_batch, movements_of
from workbench.domain.moments import business_date, milliseconds_in, rfc3339
from workbench.domain.wire import BalancesQuery, EntriesQuery, MovementsQuery, PathEntry, control
from workbench.errors import LedgerRefused, StateConflict
from workbench.sandbox.service import clearing, settling
from workbench.sandbox.service.lists import Caller
from workbench.sandbox.store import Transaction

R = TypeVar("R", bound=control.OfSandbox)


def accounts(tx: Transaction, caller: Caller, *, query: BalancesQuery) -> control.Rows[control.LedgerAccount]:
    """GET /sandbox/ledger/accounts: every account with postings, with its sums in minor units.

    With `as_of` and `known_at`: of what had occurred and been recorded by then.
    Raises InvalidRequest: no moment with its zone.
    """
    as_of = None if query.as_of is None else milliseconds_in(query.as_of, param="as_of")
    known = None if query.known_at is None else milliseconds_in(query.known_at, param="known_at")
    return control.Rows([control.LedgerAccount(*each) for each in tx.journal.sums(as_of_ms=as_of, known_ms=known)])


def entries(tx: Transaction, caller: Caller, *, query: EntriesQuery) -> control.Page[control.LedgerEntry]:
    """GET /sandbox/ledger/entries: the entries, oldest first, a page of them or all."""
    return _page(tx.journal.page(query.after), query.limit, lambda each: [_shown(each)])


def postings(tx: Transaction, caller: Caller, *, query: EntriesQuery) -> control.Page[control.LedgerPosting]:
    """GET /sandbox/ledger/postings: the postings in the order of their entries, by page or all."""

    def rows(entry: JournalEntry) -> Iterator[control.LedgerPosting]:
        lines = ({"line": line, **asdict(each)} for line, each in enumerate(entry.postings, start=1))
        return _rows(control.LedgerPosting, entry, lines)

    return _page(tx.journal.page(query.after), query.limit, rows)


def movements(tx: Transaction, caller: Caller, *, query: MovementsQuery) -> control.Page[control.LedgerMovement]:
    """GET /sandbox/ledger/movements: the movements of some accounts, as a statement shows them.

    In the order of the entries, by page or all.
    """
    wanted = list(TRACKED if query.account is None else dict.fromkeys(query.account.split(",")))

    def rows(entry: JournalEntry) -> Iterator[control.LedgerMovement]:
        return itertools.chain.from_iterable(_movements(tx, entry, account) for account in wanted)

    return _page(tx.journal.page(query.after, wanted), query.limit, rows)


def settle(tx: Transaction, caller: Caller, body: control.Settle) -> control.LedgerEntry:
    """POST /sandbox/ledger/entries: settle a difference from a statement with an ordinary entry.

    The recipe decides which entry. It can be reversed like any other.
    Raises InvalidRequest, NotFound or StateConflict: see `settling.settle`.
    """
    return _shown(settling.settle(tx, body))


def repeat(tx: Transaction, caller: Caller, *, entry_id: PathEntry) -> control.LedgerEntry:
    """POST /sandbox/ledger/entries/{entry_id}/repeat: post an entry a second time: a fault for reconciliation to find.

    Raises NotFound: no such entry. Raises StateConflict: nobody else knows its movement by an id, or it answers
    another entry.
    """
    entry = settling.found(tx, entry_id, param="entry_id")
    if entry.external_reference is None or entry.reverses or entry.settles:
        message = f"{entry.id} is of the kind {entry.kind}, which cannot be reported twice."
        raise StateConflict(message, code="entry_unsuitable", param="entry_id", current=entry.kind)
    clearing.expect(tx)
    # As if its movement had been learnt of twice.
    words, known_as = f"{entry.description}: once more", entry.external_reference
    return _shown(tx.post(entry.kind, entry.postings, description=words, payment=entry.payment, reference=known_as))


def verify(tx: Transaction, caller: Caller) -> control.LedgerVerified:
    """GET /sandbox/ledger/verify: check the chain of entries from the first, and return its head."""
    try:
        number, head = tx.journal.verify()
    except LedgerRefused as error:
        return control.LedgerVerified(holds=False, message=error.message, **error.facts)
    return control.LedgerVerified(holds=True, entries=number, head=head)


def _page(
    found: Iterator[JournalEntry], limit: int | None, rows: Callable[[JournalEntry], Iterable[R]]
) -> control.Page[R]:
    """The rows of at most so many entries, and whether there are more."""
    entries = list(itertools.islice(found, limit))
    return control.Page([row for each in entries for row in rows(each)], has_more=next(found, None) is not None)


def _rows(shape: type[R], entry: JournalEntry, parts: Iterable[Mapping[str, Any]]) -> Iterator[R]:
    """A row for each part of an entry: what it has of itself, and else of the entry."""
    whole = {
        **asdict(entry),
        "entry": entry.id,
        "occurred_at": rfc3339(entry.occurred_ms),
        "recorded_at": rfc3339(entry.recorded_ms),
        "business_date": business_date(entry.occurred_ms),
    }
    for part in parts:
        row = {**whole, **part}
        yield shape(**{name: row[name] for name in shape.__struct_fields__})


def _shown(entry: JournalEntry) -> control.LedgerEntry:
    return next(_rows(control.LedgerEntry, entry, [{}]))


def _movements(tx: Transaction, entry: JournalEntry, account: str) -> Iterator[control.LedgerMovement]:
    made = tuple(movements_of(entry.postings, account))
    if not made:
        return iter(())
    key, batch = key_and_batch(entry, settling.known_as(tx, entry))
    of_all = {"account": account, "key": key, "batch": batch, "status": "completed"}
    of_all |= {"phone": settling.phone_of(tx, entry), "state": settling.state_of(tx, entry)}
    return _rows(control.LedgerMovement, entry, ({**of_all, **each._asdict()} for each in made))
