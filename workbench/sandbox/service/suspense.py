"""Late money waits in suspense until it is credited to the merchant or returned to the customer.

The payment that the money came for was given up, and stays as it is.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from workbench.domain import payments
from workbench.domain.ledger import LATE, SETTLED_AS, SUSPENSE, WAITING, JournalEntry
from workbench.domain.moments import rfc3339
from workbench.domain.money import Money
from workbench.domain.payments import Charge
from workbench.domain.phones import mask_phone
from workbench.domain.references import reference
from workbench.domain.wire.base import Rows
from workbench.domain.wire.payments_and_payouts import Amount, Suspense, SuspenseQuery
from workbench.errors import NotFound, StateConflict
from workbench.sandbox.service import request_fields
from workbench.sandbox.service.lists import BY_ITSELF, Caller
from workbench.sandbox.service.webhooks import emit
from workbench.sandbox.store import Transaction

STATES: Final = (WAITING, *SETTLED_AS.values())
_PAID_BEFORE: Final = {WAITING: "waits in suspense", "credited": "was credited to you from suspense"}
"""State in which the customer has paid → its words in a warning; returned money is no payment."""


class Late(NamedTuple):
    """Late money: the entry that brought it, the attempt that it was for, and the entry that settled it, if any."""

    entry: JournalEntry
    charge: Charge
    settled: JournalEntry | None

    @property
    def status(self) -> str:
        """Waiting, credited or returned."""
        return SETTLED_AS[self.settled.kind] if self.settled else WAITING

    @property
    def money(self) -> Money:
        """The gross amount."""
        waits = next(posting for posting in self.entry.postings if posting.code == SUSPENSE.code)
        return Money(waits.amount_minor, waits.currency)

    @property
    def view(self) -> Suspense:
        """The view of the late money."""
        return Suspense(
            id=self.entry.id,
            status=self.status,
            amount=self.money.major,
            currency=self.money.currency,
            since=self.entry.occurred_ms // 1000,
            operator_reference=self.entry.external_reference or "",
            charge=self.charge.id,
            phone=mask_phone(self.charge.phone),
            payment_intent=self.charge.payment_intent,
            settled_at=self.settled.occurred_ms // 1000 if self.settled else None,
            settled_by=self.settled.id if self.settled else None,
        )


def late_money_of(tx: Transaction, payment: str) -> list[Late]:
    """Late money of all attempts at an intent, or of a charge without an intent; oldest first."""
    return [*_all(tx, tx.journal.of_payment(payment, (LATE,)))]


def balances_in_suspense(tx: Transaction, caller: Caller) -> list[Amount]:
    """Late money of a merchant that is in suspense, by currency."""
    waits = Counter[str]()
    for late in _of_merchant(tx, caller):
        if late.status == WAITING:
            waits[late.money.currency] += late.money.amount_minor
    return [Amount(Money(minor, currency).major, currency) for currency, minor in sorted(waits.items())]


def paid_already(tx: Transaction, sums: Iterable[Late]) -> tuple[str, ...]:
    """A warning for each late sum by which the customer has already paid the intent that is confirmed again.

    Raises StateConflict: the customer has paid, and the register refuses a further confirmation.
    """
    paid = [late for late in sums if late.status in _PAID_BEFORE]
    lines = tuple(
        f"{late.money} of an earlier attempt {_PAID_BEFORE[late.status]}: it came at "
        f"{rfc3339(late.entry.occurred_ms)} under the operator's reference {late.entry.external_reference}. "
        "If this one is paid too, the customer pays twice."
        for late in paid
    )
    if lines and tx.gaps.confirm_with_money_in_suspense == "refused":
        hint = "If the money was credited, deliver. If it is in suspense, have it credited or returned first."
        raise StateConflict(lines[0], code="money_in_suspense", param="suspense", hint=hint, current=paid[0].status)
    return lines


def list_suspense(tx: Transaction, caller: Caller, *, query: SuspenseQuery) -> Rows[Suspense]:
    """GET /sandbox/suspense: late money of the merchant's customers, oldest first; in one state, if named."""
    asked = () if query.status is None else (query.status,)
    request_fields.check_known(asked, STATES, "is no state of late money; they are", param="status")
    return Rows([late.view for late in _of_merchant(tx, caller) if query.status in {None, late.status}])


def emit_settled(tx: Transaction, entry: JournalEntry) -> None:
    """Send an event that the late money which an entry brought was credited or returned."""
    for late in _all(tx, [entry]):
        emit(tx, BY_ITSELF, late.charge.account, f"suspense.{late.status}", late.view, before={"status": WAITING})


def charge_of(tx: Transaction, entry: JournalEntry) -> Charge | None:
    """The attempt that an entry is about, or None.

    Of several attempts at an intent, the entry's reference names the attempt; else the paid attempt is meant.
    """
    if entry.payment is None:
        return None
    tried = tx.charges.all(payment_intent=entry.payment) or tx.charges.all(id=entry.payment)
    known = (
        attempt
        for attempt in tried
        if reference(attempt.provider, entry.occurred_ms, seq=attempt.seq) == entry.external_reference
    )
    paid = (attempt for attempt in tried if attempt.status == payments.SUCCEEDED)
    return next(known, None) or next(paid, None)


def late_money_named(tx: Transaction, caller: Caller, item: str) -> Late:
    """The caller's late money of an entry, a charge or an intent: the sum that waits, else the last that came.

    Raises NotFound: the caller has no such late money. Raises StateConflict: several late sums wait.
    """
    entry, charge = tx.journal.get(item), tx.charges.get(item)
    payment = entry.payment if entry else charge.payment_intent or charge.id if charge else item
    late = [late_sum for late_sum in late_money_of(tx, payment or "") if late_sum.charge.account == caller.account]
    named = [
        late_sum for late_sum in late if item in {late_sum.entry.id, late_sum.charge.id, late_sum.charge.payment_intent}
    ]
    if not named:
        message = f"No late money arrived for {item[:60]!r}."
        raise NotFound(message, code="suspense_not_found", param="item")
    waiting = [late_sum for late_sum in named if late_sum.status == WAITING]
    if len(waiting) > 1:
        names = " or ".join(late_sum.entry.id for late_sum in waiting)
        message = f"Several late sums are in suspense for {item}; name one: {names}."
        raise StateConflict(message, code="suspense_ambiguous", param="item", current=WAITING)
    return [*named, *waiting][-1]


def _of_merchant(tx: Transaction, caller: Caller) -> Iterator[Late]:
    every = _all(tx, tx.journal.late() if tx.journal.came_late else ())
    return (late for late in every if late.charge.account == caller.account)


def _all(tx: Transaction, entries: Iterable[JournalEntry]) -> Iterator[Late]:
    """Yields the late money that entries brought, without reversed entries."""
    for entry in entries:
        answers = {answer.kind: answer for answer in tx.journal.answers_to(entry.id)}
        charge = charge_of(tx, entry)
        if charge is not None and not any(answer.reverses for answer in answers.values()):
            settled = next((answers[recipe] for recipe in SETTLED_AS if recipe in answers), None)
            yield Late(entry, charge, settled)
