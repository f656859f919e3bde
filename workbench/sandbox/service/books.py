"""Reads the ledger page by page, and settles its differences from a statement by posting ordinary entries."""

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any, Final, TypeVar

from msgspec.structs import asdict

from workbench.domain import ledger
from workbench.domain.ids import reference
from workbench.domain.ledger import SETTLED_AS, SETTLEMENTS, TRACKED, JournalEntry, Posting
from workbench.domain.moments import business_date, milliseconds_in, rfc3339
from workbench.domain.payments import fees_of
from workbench.domain.phones import mask_phone
from workbench.domain.wire import ledger_and_trace as wire
from workbench.domain.wire.base import OfSandbox, Page, Rows
from workbench.domain.wire.payments_and_payouts import BalancesQuery, Suspense
from workbench.errors import InvalidRequest, LedgerRefused, NotFound, StateConflict, invalid
from workbench.sandbox.service import Caller, balances, check_known, payments, read_currency
from workbench.sandbox.store import Transaction

R = TypeVar("R", bound=OfSandbox)
_OF_CUSTOMERS: Final = ("funds_secured", ledger.LATE, "refund_asked", "refund_sent")
"""Kinds of entries that move a customer's money, unlike the bank's entries about the same payment."""
_REVERSED, _REPOSTED, _RETURNED = "reversed", "reposted", "payout_returned"
_UNDONE_BY: Final = (*SETTLED_AS, _RETURNED)
"""Recipes that settle a whole entry: after one, the entry can be reposted, but not settled again or reversed."""
_SHARED: Final = {ledger.WRITE_OFF.name, ledger.ROUNDING.name}
"""Accounts to which settlements of every account are posted."""


def ledger_accounts(tx: Transaction, caller: Caller, *, query: BalancesQuery) -> Rows[wire.LedgerAccount]:
    """GET /sandbox/ledger/accounts: all accounts with postings, with their sums in minor units.

    With `as_of` and `known_at`, only what had occurred and been recorded by then counts.
    Raises InvalidRequest: one of them is not a moment with its zone.
    """
    as_of = None if query.as_of is None else milliseconds_in(query.as_of, param="as_of")
    known = None if query.known_at is None else milliseconds_in(query.known_at, param="known_at")
    return Rows([wire.LedgerAccount(*sums) for sums in tx.journal.sums(as_of_ms=as_of, known_ms=known)])


def entries(tx: Transaction, caller: Caller, *, query: wire.EntriesQuery) -> Page[wire.LedgerEntry]:
    """GET /sandbox/ledger/entries: the entries, oldest first; all of them or a page."""
    return _cut_page(tx.journal.page(query.after), query.limit, partial(_rows_of_entry, wire.LedgerEntry))


def postings(tx: Transaction, caller: Caller, *, query: wire.EntriesQuery) -> Page[wire.LedgerPosting]:
    """GET /sandbox/ledger/postings: the postings in the order of their entries; all of them or a page."""

    def rows(entry: JournalEntry) -> Iterator[wire.LedgerPosting]:
        lines = ({"line": line, **asdict(posting)} for line, posting in enumerate(entry.postings, start=1))
        return _rows_of_entry(wire.LedgerPosting, entry, lines)

    return _cut_page(tx.journal.page(query.after), query.limit, rows)


def movements(tx: Transaction, caller: Caller, *, query: wire.MovementsQuery) -> Page[wire.LedgerMovement]:
    """GET /sandbox/ledger/movements: the movements of some accounts, as a statement shows them.

    They are in the order of the entries; all of them or a page.
    """
    filters = list(TRACKED if query.account is None else dict.fromkeys(query.account.split(",")))

    def rows(entry: JournalEntry) -> Iterator[wire.LedgerMovement]:
        key, batch = ledger.key_and_batch(entry)
        shared = {"key": key, "batch": batch, "status": "completed"}
        shared |= {"phone": _phone_of(tx, entry), "state": _state_of(tx, entry)}
        parts = (
            {**shared, "account": account, **movement._asdict()}
            for account in filters
            for movement in ledger.movements_of(entry.postings, account)
        )
        return _rows_of_entry(wire.LedgerMovement, entry, parts)

    return _cut_page(tx.journal.page(query.after, filters), query.limit, rows)


def verify_ledger(tx: Transaction, caller: Caller) -> wire.LedgerVerified:
    """GET /sandbox/ledger/verify: check the chain of entries, and return the number and the hash of the last entry."""
    try:
        number, head = tx.journal.verify()
    except LedgerRefused as error:
        return wire.LedgerVerified(holds=False, message=error.message, **error.facts)
    return wire.LedgerVerified(holds=True, entries=number, head=head)


def _cut_page(
    entries: Iterator[JournalEntry], limit: int | None, rows: Callable[[JournalEntry], Iterable[R]]
) -> Page[R]:
    """The rows of at most `limit` entries (None: of all), and True if more entries follow."""
    shown = list(itertools.islice(entries, limit))
    return Page([row for entry in shown for row in rows(entry)], has_more=next(entries, None) is not None)


def _rows_of_entry(shape: type[R], entry: JournalEntry, parts: Iterable[Mapping[str, Any]] = ({},)) -> Iterator[R]:
    """Yields a struct of type `shape` for each of `parts`; by default one for the entry as a whole.

    Each field comes from the part or, if the part lacks it, from the entry.
    """
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


def _phone_of(tx: Transaction, entry: JournalEntry) -> str | None:
    """The masked number of the customer whom an entry concerns; None if it concerns none."""
    # Go back to the first of a line of reversals and settlements.
    while before := entry.reverses or entry.settles:
        entry = tx.journal[before]
    charge = balances.charge_of(tx, entry) if entry.kind in _OF_CUSTOMERS else None
    return mask_phone(charge.phone) if charge else None


def _state_of(tx: Transaction, entry: JournalEntry) -> str:
    """The state of an entry: `in_suspense` if it is late money that is neither settled nor reversed, else `posted`."""
    if entry.kind != ledger.LATE:
        return ledger.POSTED
    answered = any(answer.reverses or answer.kind in SETTLED_AS for answer in tx.journal.answers_to(entry.id))
    return ledger.POSTED if answered else ledger.IN_SUSPENSE


def repeat(tx: Transaction, caller: Caller, *, entry_id: str) -> wire.LedgerEntry:
    """POST /sandbox/ledger/entries/{entry_id}/repeat: post an entry a second time: a fault for reconciliation to find.

    Raises NotFound: no such entry. Raises StateConflict: the entry has no external reference, or it reverses or settles
    another entry.
    """
    entry = _find_entry(tx, entry_id, param="entry_id")
    if entry.external_reference is None or entry.reverses or entry.settles:
        message = f"{entry.id} is of the kind {entry.kind}, which cannot be reported twice."
        raise StateConflict(message, code="entry_unsuitable", param="entry_id", current=entry.kind)
    balances.expect_clearing(tx)
    # As if the service had learnt of the movement twice.
    words, known_as = f"{entry.description}: once more", entry.external_reference
    posted = tx.post(entry.kind, entry.postings, description=words, payment=entry.payment, reference=known_as)
    return next(_rows_of_entry(wire.LedgerEntry, posted))


def settle(tx: Transaction, caller: Caller, body: wire.Settle) -> wire.LedgerEntry:
    """POST /sandbox/ledger/entries: settle a difference from a statement by posting an ordinary entry.

    The recipe decides what is posted. The new entry can be reversed like any other.
    Raises InvalidRequest: no such recipe, account or moment, or an amount or field that the recipe does not
    take. Raises NotFound: no such entry. Raises StateConflict: the difference was settled before; the recipe does not
    settle this kind of entry; or the moment is before the entry to settle, or in the future.
    """
    return next(_rows_of_entry(wire.LedgerEntry, _post_settlement(tx, body)))


def settle_suspense(tx: Transaction, caller: Caller, body: wire.SettleSuspense, *, item: str) -> Suspense:
    """POST /sandbox/suspense/{item}/settle: credit late money to the merchant, or return it to the customer.

    The merchant is credited with the money less the usual fee. Money that is returned moves out of the operator's
    float. Raises InvalidRequest: `how` is neither of the two. Raises NotFound: no late money has this id. Raises
    StateConflict: the money is already settled, or several late amounts wait.
    """
    check_known([body.how], wire.SETTLED_BY, "is no way to settle late money; they are", param="how")
    late = balances.late_money_named(tx, caller, item)
    settled = _post_settlement(tx, wire.Settle(recipe=wire.SETTLED_BY[body.how], entry=late.entry.id))
    return late._replace(settled=settled).view


def _post_settlement(tx: Transaction, body: wire.Settle) -> JournalEntry:
    says = "settles nothing; the recipes are"
    check_known([body.recipe], SETTLEMENTS, says, param="recipe", code="recipe_unknown")
    row = SETTLEMENTS[body.recipe]
    currency = read_currency(tx.gaps, body.currency, str.upper).code
    occurred_ms = tx.now_ms if body.occurred_at is None else milliseconds_in(body.occurred_at, param="occurred_at")
    if row.takes_entry:
        posted = _settled_entry(tx, body, row, occurred_ms)
    else:
        posted = _settled_amount(tx, body, row, currency, occurred_ms)
    balances.expect_clearing(tx)
    if posted.kind in SETTLED_AS and posted.settles:
        balances.emit_settled(tx, tx.journal[posted.settles])
    return posted


def _settled_amount(
    tx: Transaction, body: wire.Settle, row: ledger.Settlement, currency: str, occurred_ms: int
) -> JournalEntry:
    """Posts and returns the entry that settles a difference, with the account and amounts of the body.

    `row` describes the recipe. Raises InvalidRequest: no account with statements, no reference, no amount, or a fee
    that the recipe does not take. Raises NotFound: no such entry. Raises StateConflict: the difference was settled
    before, or the moment is in the future.
    """
    if body.account is None or body.account not in TRACKED:
        message = f"account must be one of which an operator or bank issues statements: {', '.join(TRACKED)}."
        raise InvalidRequest(message, code="account_unknown", param="account")
    if not body.reference:
        message = "reference is required: the id by which the other side knows the movement."
        raise InvalidRequest(message, code="parameter_missing", param="reference")
    if not body.amount_minor:
        raise InvalidRequest("amount_minor is not more than zero.", code="amount_not_positive", param="amount_minor")
    if body.fee_minor and not row.takes_fee:
        raise invalid(f"{body.recipe} takes no fee_minor: the amount is the fee, or there is none.", "fee_minor")
    about = None if body.entry is None else _find_entry(tx, body.entry).id
    amounts = {"amount": body.amount_minor, "fee": body.fee_minor}
    lines = ledger.settlement_postings(body.recipe, amounts, currency, body.account)
    # Settlements of one difference, whatever the fee, share the account that differs, or its keeper's suspense.
    meaning = {posting.account for posting in lines} - _SHARED
    for before in tx.journal.known_as(body.reference):
        # Another description is another difference with the same id.
        is_same = before.description == body.description or not body.description
        if before.kind == body.recipe and is_same and meaning & {posting.account for posting in before.postings}:
            raise _settled_already(f"{body.reference} was settled so before", body.recipe)
    _check_moment(tx, occurred_ms, None)
    return tx.post(
        body.recipe,
        lines,
        description=body.description or f"{body.reference}: {body.recipe.replace('_', ' ')}",
        payment=None,
        reference=body.reference,
        settles=about,
        occurred_ms=occurred_ms,
    )


def _settled_entry(tx: Transaction, body: wire.Settle, row: ledger.Settlement, occurred_ms: int) -> JournalEntry:
    if body.entry is None:
        raise InvalidRequest("entry is required: the entry to settle.", code="parameter_missing", param="entry")
    entry = _find_entry(tx, body.entry)
    if row.entry_kinds is not None and entry.kind not in row.entry_kinds:
        message = f"{entry.id} is of the kind {entry.kind}; {body.recipe} settles {' or '.join(row.entry_kinds)}."
        raise StateConflict(message, code="entry_unsuitable", param="entry", current=entry.kind)
    _check_open(tx, entry, body)
    undoes, repeats = body.recipe == _REVERSED, body.recipe == _REPOSTED
    # A repost may occur before the entry; a reversal or an answer comes after it. An earlier moment on the entry's own
    # day, as of a statement with dates alone, becomes the entry's moment.
    if not repeats and business_date(occurred_ms) == business_date(entry.occurred_ms):
        occurred_ms = max(occurred_ms, entry.occurred_ms)
    _check_moment(tx, occurred_ms, None if repeats else entry.occurred_ms)
    lines, known_as = _SETTLING_POSTINGS[body.recipe](tx, entry)
    return tx.post(
        body.recipe,
        lines,
        description=body.description or f"{entry.description}: {body.recipe.replace('_', ' ')}",
        payment=entry.payment,
        reference=body.reference or known_as,
        reverses=entry.id if undoes else None,
        settles=None if undoes else entry.id,
        occurred_ms=occurred_ms,
    )


def _check_open(tx: Transaction, entry: JournalEntry, body: wire.Settle) -> None:
    if body.recipe == _REVERSED and (before := tx.journal.reversal_of(entry.id)):
        # Also if the reversal was reversed in turn: an entry is reversed once.
        raise _settled_already(f"{entry.id} was reversed by {before.id}", before.kind)
    for answer in tx.journal.answers_to(entry.id):
        is_undone = answer.reverses is not None or answer.kind in _UNDONE_BY
        if (answer.kind == _REPOSTED) if body.recipe == _REPOSTED else is_undone:
            raise _settled_already(f"{entry.id} was answered by {answer.id} ({answer.kind})", answer.kind)


def _find_entry(tx: Transaction, entry_id: str, *, param: str = "entry") -> JournalEntry:
    entry = tx.journal.get(entry_id)
    if entry is None:
        raise NotFound(f"There is no entry {entry_id[:60]!r}.", code="entry_not_found", param=param)
    return entry


def _settled_already(message: str, current: str) -> StateConflict:
    return StateConflict(f"{message}.", code="already_settled", param="entry", current=current)


def _check_moment(tx: Transaction, occurred_ms: int, first_ms: int | None) -> None:
    is_early = first_ms is not None and occurred_ms < first_ms
    if is_early or occurred_ms > tx.now_ms:
        message = "occurred_at is before what it settles." if is_early else "occurred_at is in the future."
        raise StateConflict(message, code="moment_impossible", param="occurred_at")


SettlingPostings = tuple[tuple[Posting, ...], str | None]
"""The postings of an entry that settles another entry, and the operator's or the bank's id for the movement."""


def _out_of_suspense(tx: Transaction, entry: JournalEntry, recipe: str) -> SettlingPostings:
    """Postings that credit late money to the merchant, less a payment's fee, or return it; and the operator's id.

    Before money is returned, tops up a float that holds too little.
    """
    late = next(posting for posting in entry.postings if posting.code == ledger.SUSPENSE.code)
    operator = late.account.removeprefix(ledger.SUSPENSE.name.format(operator=""))
    charge = balances.charge_of(tx, entry)
    fee = fees_of(late.amount_minor, tx.gaps, late.currency).merchant_minor
    amounts = {"gross": late.amount_minor, "net": late.amount_minor - fee, "merchant_fee": fee}
    parties = {"operator": operator, "merchant": charge.account if charge else ""}
    lines = ledger.postings_for(recipe, amounts, late.currency, **parties)
    is_movement = recipe == "suspense_returned"
    if is_movement and charge:
        # What was swept meanwhile is called back: an operator pays out no more than the float holds.
        payments.top_up(tx, charge, late.amount_minor, entry.seq)
    return lines, reference(operator, tx.now_ms, seq=tx.next_seq()) if is_movement else entry.external_reference


def _from_bank(tx: Transaction, entry: JournalEntry) -> SettlingPostings:
    """Marks the payout of an entry as returned, since the bank never made it.

    Returns the postings that make its money available again, and the entry's external reference.
    """
    payout = balances.returned_payout(tx, entry.payment or "")
    lines = ledger.postings_for(_RETURNED, {"gross": payout.amount_minor}, payout.currency, merchant=payout.account)
    return lines, entry.external_reference


_SETTLING_POSTINGS: Final[Mapping[str, Callable[[Transaction, JournalEntry], SettlingPostings]]] = {
    _REVERSED: lambda _, entry: (ledger.mirrored(entry.postings), entry.external_reference),
    _REPOSTED: lambda _, entry: (entry.postings, entry.external_reference),
    "suspense_settled": lambda tx, entry: _out_of_suspense(tx, entry, "suspense_settled"),
    "suspense_returned": lambda tx, entry: _out_of_suspense(tx, entry, "suspense_returned"),
    _RETURNED: _from_bank,
}
"""Recipe → the function that makes the settling postings and their id.

`_from_bank` also changes the payout, and `_out_of_suspense` may post a top-up of the float.
"""
