"""Settling: a difference from somebody else's books is answered by an ordinary entry, traced to its charge."""

from collections.abc import Callable, Mapping
from typing import Final

from workbench.domain import ledger, payments, wire
from workbench.domain.ledger import (
    IN_SUSPENSE,
    LATE,
    POSTED,
    ROUNDING,
    SETTLED_AS,
    SETTLEMENTS,
    SUSPENSE,
    TRACKED,
    WRITE_OFF,
    JournalEntry,
    Posting,
    Settlement,
    mirrored,
)
from workbench.domain.moments import business_date, milliseconds_in
from workbench.domain.phones import mask_phone
from workbench.domain.references import reference
from workbench.domain.wire.control import SETTLED_BY, Settle, SettleSuspense
from workbench.errors import InvalidRequest, NotFound, StateConflict
from workbench.sandbox.service import checks, clearing, payouts, refunds, suspense
from workbench.sandbox.service.lists import Caller
from workbench.sandbox.store import Transaction

_OF_CUSTOMERS: Final = ("funds_secured", LATE, "refund_asked", "refund_sent")
"""Entries by which a customer's money moves; what a refund needs of the bank is about the same payment."""

REVERSED, REPOSTED, RETURNED = "reversed", "reposted", "payout_returned"
_UNDONE_BY: Final = (*SETTLED_AS, RETURNED)
"""What settles an entry once: after one of these there is nothing left of it to settle or to reverse."""
_SHARED: Final = {WRITE_OFF.name, ROUNDING.name}
"""Accounts that settlements of every account are posted to."""


def known_as(tx: Transaction, entry: JournalEntry) -> str | None:
    """The external reference of an entry, or for a reversal without one that of what it reverses."""
    if entry.external_reference is None and entry.reverses is not None:
        reversed_one = tx.journal.get(entry.reverses)
        return reversed_one.external_reference if reversed_one else None
    return entry.external_reference


def phone_of(tx: Transaction, entry: JournalEntry) -> str | None:
    """The customer's number, masked; None where there is no customer."""
    # From the beginning of a line of reversals and settlements.
    while (before := entry.reverses or entry.settles) and (earlier := tx.journal.get(before)):
        entry = earlier
    charge = suspense.charge_of(tx, entry) if entry.kind in _OF_CUSTOMERS else None
    return mask_phone(charge.phone) if charge else None


def state_of(tx: Transaction, entry: JournalEntry) -> str:
    """Whether late money still waits for a decision."""
    if entry.kind != LATE:
        return POSTED
    answered = any(each.reverses or each.kind in SETTLED_AS for each in tx.journal.answers_to(entry.id))
    return POSTED if answered else IN_SUSPENSE


Settled = tuple[tuple[Posting, ...], str | None]
"""The postings of an entry that settles another, and the id by which the other side knows it."""


def settle(tx: Transaction, body: Settle) -> JournalEntry:
    """Post the entry that settles a difference.

    Raises InvalidRequest: no such recipe, account or moment, or an amount or field that the recipe does not
    take. Raises NotFound: no such entry. Raises StateConflict: settled already, not of the kind that the
    recipe settles, or at a moment before what it settles or still to come.
    """
    says = "settles nothing; the recipes are"
    checks.check_known([body.recipe], SETTLEMENTS, says, param="recipe", code="recipe_unknown")
    row = SETTLEMENTS[body.recipe]
    currency = checks.read_currency(tx.gaps, body.currency, str.upper).code
    occurred_ms = tx.now_ms if body.occurred_at is None else milliseconds_in(body.occurred_at, param="occurred_at")
    posted = (
        _of_entry(tx, body, row, occurred_ms) if row.takes_entry else _as_told(tx, body, row, currency, occurred_ms)
    )
    clearing.expect(tx)
    if posted.kind in SETTLED_AS:
        suspense.tell(tx, found(tx, posted.settles or ""))
    return posted


def settle_suspense(tx: Transaction, caller: Caller, body: SettleSuspense, *, item: wire.PathSuspense) -> wire.Suspense:
    """POST /sandbox/suspense/{item}/settle: credit late money to the merchant, or return it to the customer.

    Credited money is less the usual fee; returned money is a movement of the operator.
    Raises InvalidRequest: neither. Raises NotFound: none of this name. Raises StateConflict: settled before, or several
    wait.
    """
    checks.check_known([body.how], SETTLED_BY, "is no way to settle late money; they are", param="how")
    late = suspense.named(tx, caller, item)
    recipe = SETTLED_BY[body.how]
    if recipe == "suspense_returned":
        refunds.top_up(tx, late.charge, late.money.amount_minor, late.entry.seq)
    return late._replace(settled=settle(tx, Settle(recipe=recipe, entry=late.entry.id))).view


def _as_told(tx: Transaction, body: Settle, row: Settlement, currency: str, occurred_ms: int) -> JournalEntry:
    """The amounts and the account are what the body says."""
    account, known_as = _told(body, row)
    about = None if body.entry is None else found(tx, body.entry).id
    amounts = {"amount": body.amount_minor, "fee": body.fee_minor}
    postings = ledger.settlement_postings(body.recipe, amounts, currency, account)
    if any(_is_same(each, body, postings) for each in tx.journal.known_as(known_as)):
        raise _settled_already(f"{known_as} was settled so before", body.recipe)
    _check_moment(tx, occurred_ms, None)
    return tx.post(
        body.recipe,
        postings,
        description=body.description or f"{known_as}: {body.recipe.replace('_', ' ')}",
        payment=None,
        reference=known_as,
        settles=about,
        occurred_ms=occurred_ms,
    )


def _told(body: Settle, row: Settlement) -> tuple[str, str]:
    """The account and the reference of a body that tells its amounts.

    Raises InvalidRequest: one is missing or cannot be.
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
        message = f"{body.recipe} takes no fee_minor: the amount is the fee, or there is none."
        raise InvalidRequest(message, code="parameter_invalid", param="fee_minor")
    return body.account, body.reference


def _is_same(before: JournalEntry, body: Settle, postings: tuple[Posting, ...]) -> bool:
    """Whether an entry settled what a body would settle; what differs in its words is another thing of the same id."""
    words = before.description == body.description or not body.description
    meaning = {each.account for each in before.postings} & {each.account for each in postings}
    # Whatever the fee: both post to the account that differs, or to the suspense of who keeps its books.
    return before.kind == body.recipe and words and bool(meaning - _SHARED)


def _of_entry(tx: Transaction, body: Settle, row: Settlement, occurred_ms: int) -> JournalEntry:
    """The amounts follow from the entry that is settled."""
    if body.entry is None:
        raise InvalidRequest("entry is required: the entry to settle.", code="parameter_missing", param="entry")
    entry = found(tx, body.entry)
    if row.of is not None and entry.kind not in row.of:
        message = f"{entry.id} is of the kind {entry.kind}; {body.recipe} settles {' or '.join(row.of)}."
        raise StateConflict(message, code="entry_unsuitable", param="entry", current=entry.kind)
    _check_open(tx, entry, body)
    # What is told anew may have been earlier; what undoes or answers an entry comes after it.
    repeats = body.recipe == REPOSTED
    occurred_ms = occurred_ms if repeats else _not_before(entry, occurred_ms)
    _check_moment(tx, occurred_ms, None if repeats else entry.occurred_ms)
    postings, other_sides_id = _MADE[body.recipe](tx, entry)
    if body.recipe == RETURNED:
        payouts.move_back(tx, entry.payment or "")
    undoes = body.recipe == REVERSED
    return tx.post(
        body.recipe,
        postings,
        description=body.description or f"{entry.description}: {body.recipe.replace('_', ' ')}",
        payment=entry.payment,
        reference=body.reference or other_sides_id,
        reverses=entry.id if undoes else None,
        settles=None if undoes else entry.id,
        occurred_ms=occurred_ms,
    )


def _check_open(tx: Transaction, entry: JournalEntry, body: Settle) -> None:
    """Raises StateConflict where the entry was settled before, or was reversed."""
    if body.recipe == REVERSED and (before := tx.journal.reversal_of(entry.id)):
        # Also where that was reversed in turn: an entry is reversed once.
        raise _settled_already(f"{entry.id} was reversed by {before.id}", before.kind)
    for each in tx.journal.answers_to(entry.id):
        is_undone = each.reverses is not None and body.recipe != REPOSTED
        is_settled = each.kind in _UNDONE_BY and body.recipe != REPOSTED
        if is_undone or is_settled or each.kind == body.recipe == REPOSTED:
            raise _settled_already(f"{entry.id} was answered by {each.id} ({each.kind})", each.kind)


def found(tx: Transaction, entry_id: str, *, param: str = "entry") -> JournalEntry:
    """The entry of this id. Raises NotFound."""
    entry = tx.journal.get(entry_id)
    if entry is None:
        raise NotFound(f"There is no entry {entry_id[:60]!r}.", code="entry_not_found", param=param)
    return entry


def _not_before(entry: JournalEntry, occurred_ms: int) -> int:
    """A moment on the entry's own day that lies before it, as of a statement that tells days alone, is the entry's."""
    same_day = business_date(occurred_ms) == business_date(entry.occurred_ms)
    return max(occurred_ms, entry.occurred_ms) if same_day else occurred_ms


def _settled_already(message: str, current: str) -> StateConflict:
    return StateConflict(f"{message}.", code="already_settled", param="entry", current=current)


def _check_moment(tx: Transaction, occurred_ms: int, first_ms: int | None) -> None:
    """Raises StateConflict: the moment lies before `first_ms`, or is still to come."""
    is_early = first_ms is not None and occurred_ms < first_ms
    if is_early or occurred_ms > tx.now_ms:
        message = "occurred_at is before what it settles." if is_early else "occurred_at is in the future."
        raise StateConflict(message, code="moment_impossible", param="occurred_at")


def _to_merchant(tx: Transaction, entry: JournalEntry) -> Settled:
    """Late money is the merchant's after all, less the fee that it would have paid."""
    suspended, operator = _suspended(entry)
    charge = suspense.charge_of(tx, entry)
    fee = payments.fees_of(suspended.amount_minor, tx.gaps, suspended.currency).merchant_minor
    amounts = {"gross": suspended.amount_minor, "net": suspended.amount_minor - fee, "merchant_fee": fee}
    merchant = charge.account if charge else ""
    made = ledger.postings_for("suspense_settled", amounts, suspended.currency, operator=operator, merchant=merchant)
    return made, entry.external_reference


def _to_customer(tx: Transaction, entry: JournalEntry) -> Settled:
    """Late money goes back: the operator knows that as a movement of its own."""
    suspended, operator = _suspended(entry)
    amounts = {"gross": suspended.amount_minor}
    made = ledger.postings_for("suspense_returned", amounts, suspended.currency, operator=operator)
    return made, reference(operator, tx.now_ms, seq=tx.next_seq())


def _from_bank(tx: Transaction, entry: JournalEntry) -> Settled:
    """A payout that the bank never made is available again."""
    payout = payouts.paid(tx, entry.payment or "")
    made = ledger.postings_for(RETURNED, {"gross": payout.amount_minor}, payout.currency, merchant=payout.account)
    return made, entry.external_reference


def _suspended(entry: JournalEntry) -> tuple[Posting, str]:
    """The posting by which late money came into suspense, and the operator that it came through."""
    posting = next(each for each in entry.postings if each.code == SUSPENSE.code)
    return posting, posting.account.removeprefix(SUSPENSE.name.format(operator=""))


_MADE: Final[Mapping[str, Callable[[Transaction, JournalEntry], Settled]]] = {
    REVERSED: lambda tx, entry: (mirrored(entry.postings), known_as(tx, entry)),
    REPOSTED: lambda tx, entry: (entry.postings, known_as(tx, entry)),
    "suspense_settled": _to_merchant,
    "suspense_returned": _to_customer,
    RETURNED: _from_bank,
}
"""Recipe → what it posts for the entry that it settles."""
