"""A merchant's money: pending until it clears, in suspense if it came late, and available until it is paid out."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from msgspec import UNSET

from workbench.domain import ledger, payments, scenarios
from workbench.domain.ids import reference
from workbench.domain.ledger import LATE, LATE_STATES, SETTLED_AS, SUSPENSE, WAITING, AccountKind, JournalEntry
from workbench.domain.moments import day_start_ms, rfc3339
from workbench.domain.money import OFFERED, ZMW, Money, currency_named, money_from_major
from workbench.domain.payments import PAYOUT_TRANSITIONS, StoredCharge, StoredPayout, next_state
from workbench.domain.phones import EVERY_OPERATOR, mask_phone
from workbench.domain.wire import payments_and_payouts as wire
from workbench.domain.wire.base import Rows
from workbench.domain.wire.payments_and_payouts import Amount, Suspense, SuspenseQuery
from workbench.errors import NotFound, StateConflict
from workbench.sandbox import service
from workbench.sandbox.service import BY_ITSELF, Caller, Resource, view_of
from workbench.sandbox.service.webhooks import emit
from workbench.sandbox.store import Transaction

CLEARING = "night"
_FLOATS: Final = tuple(ledger.FLOAT.name.format(operator=operator) for operator in EVERY_OPERATOR)


def expect_clearing(tx: Transaction) -> None:
    """Schedules the clearing at the next midnight; if the register clears money at once, also clears it now."""
    if tx.gaps.clearing == "immediate":
        for currency in currencies(tx):
            _clear_currency(tx, currency)
    if tx.jobs.first(ref=CLEARING) is None:
        tx.schedule(CLEARING, CLEARING, in_ms=day_start_ms(tx.now_ms, days_on=1) - tx.now_ms)


def clear_and_sweep(tx: Transaction) -> bool:
    """Clears every merchant's pending money and sweeps money received before today from every float.

    The bank first credits the money that was swept the night before. True if any money moved.
    """
    moved = False
    for currency in currencies(tx):
        for operator in EVERY_OPERATOR:
            swept = Money(balance_of(tx, ledger.IN_TRANSIT, currency, operator=operator), currency)
            words, credit = f"credited by the bank from {operator}", reference("credit", tx.now_ms)
            moved |= _move(tx, "sweep_credited", "swept", swept, words, reference=credit, operator=operator)
        moved |= _clear_currency(tx, currency)
        for operator in EVERY_OPERATOR:
            received = Money(_balance_before_today(tx, ledger.FLOAT, currency, operator=operator), currency)
            words, sweep = f"swept from {operator} to the bank", reference("sweep", tx.now_ms, operator=operator)
            moved |= _move(tx, "swept", "swept", received, words, reference=sweep, operator=operator)
    return moved


def _move(tx: Transaction, recipe: str, part: str, money: Money, words: str, **more: str) -> bool:
    """Books `money`, if above zero, as the amount `part` of a recipe; True if booked.

    The description is the money, followed by `words`; `more` has further arguments of `Transaction.book`.
    """
    if money.amount_minor > 0:
        tx.book(recipe, {part: money.amount_minor}, money.currency, f"{money} {words}", **more)
    return money.amount_minor > 0


def currencies(tx: Transaction) -> list[str]:
    """The codes of the kwacha and of all other currencies that operators have held."""
    return [ZMW.code, *(code for code in tx.journal.currencies(_FLOATS) if code != ZMW.code)]


def balance_of(
    tx: Transaction, kind: AccountKind, currency: str, before_day_ms: int | None = None, /, **party: str
) -> int:
    """The balance of an account on its normal side, in minor units; `party` is `operator` or `merchant`.

    With `before_day_ms`, the balance at the beginning of that day.
    """
    net = tx.journal.balance(kind.name.format(**party), currency, before_day_ms=before_day_ms)
    return net if kind.normal_side == ledger.DEBIT else -net


def _balance_before_today(tx: Transaction, kind: AccountKind, currency: str, **party: str) -> int:
    """The balance of an account at the start of the day, or its present balance if that is less, in minor units.

    It is less if refunds have exceeded receipts today.
    """
    at_midnight = balance_of(tx, kind, currency, day_start_ms(tx.now_ms), **party)
    return min(at_midnight, balance_of(tx, kind, currency, **party))


def _pending_two_days_old(tx: Transaction, merchant: str, currency: str) -> int:
    """A merchant's pending money without the credits of today and yesterday, in minor units; may be negative.

    Debits use up the oldest money first.
    """
    account = ledger.MERCHANT_PENDING.name.format(merchant=merchant)
    young = tx.journal.credits_since(account, currency, day_start_ms(tx.now_ms, days_on=-1))
    return balance_of(tx, ledger.MERCHANT_PENDING, currency, merchant=merchant) - young


_RIPE: Final[Mapping[str, Callable[[Transaction, str, str], int]]] = {
    "immediate": lambda tx, merchant, currency: balance_of(tx, ledger.MERCHANT_PENDING, currency, merchant=merchant),
    "next_day": lambda tx, merchant, currency: _balance_before_today(
        tx, ledger.MERCHANT_PENDING, currency, merchant=merchant
    ),
    "t_plus_2": _pending_two_days_old,
}
"""Value of the register's `clearing` → a function that gives a merchant's money that clears now, in minor units."""


def _clear_currency(tx: Transaction, currency: str) -> bool:
    """Clears every merchant's pending money in a currency, and takes debts of merchants from their available money.

    True if any money moved, or waits for a later night.
    """
    moved = False
    for merchant in (account.id for account in tx.accounts.all(order="id")):
        ripe = Money(_RIPE[tx.gaps.clearing](tx, merchant, currency), currency)
        moved |= _move(tx, "cleared", "net", ripe, "cleared", merchant=merchant)
        kinds = (ledger.RECEIVABLE, ledger.MERCHANT_AVAILABLE)
        owed = Money(min(balance_of(tx, kind, currency, merchant=merchant) for kind in kinds), currency)
        moved |= _move(tx, "receivable_recovered", "owed", owed, "taken of what was owed", merchant=merchant)
        if tx.gaps.clearing == "t_plus_2":
            moved |= balance_of(tx, ledger.MERCHANT_PENDING, currency, merchant=merchant) > 0
    return moved


PAYOUT_RETURN = "payout_returned"


def _payout_view(_: Transaction, stored: StoredPayout) -> wire.Payout:
    return view_of(wire.Payout, stored, amount=stored.money.major)


PAYOUTS = Resource("payout", "/v1/payouts", lambda tx: tx.payouts, _payout_view, code="payout_not_found")
_AVAILABLE: Final[Mapping[str, str]] = {
    "immediate": "Received money is available at once.",
    "next_day": "Money received today becomes available at midnight in Lusaka.",
    "t_plus_2": "Money received today becomes available at midnight in Lusaka in two days.",
}
"""Value of the register's `clearing` → the hint that tells when money becomes available."""


def create_payout(tx: Transaction, caller: Caller, body: wire.CreatePayout) -> wire.Payout:
    """POST /v1/payouts: send available money to the merchant's bank; paid at the coming midnight."""
    with service.EveryFault() as every:
        every.read(currency_named, body.currency, OFFERED[tx.gaps.currencies])
        money = every.read(money_from_major, body.amount, service.currency_or_kwacha(body.currency))
    available = balance_of(tx, ledger.MERCHANT_AVAILABLE, money.currency, merchant=caller.account)
    if money.amount_minor > available:
        message = f"{money} is more than the {Money(max(0, available), money.currency)} that is available."
        raise StateConflict(message, code="balance_insufficient", param="amount", hint=_AVAILABLE[tx.gaps.clearing])
    scenario = caller.scenario if caller.scenario in scenarios.PAYOUT_SCENARIOS else None
    return _request_payout(tx, caller, money, destination=body.destination, scenario=scenario, metadata=body.metadata)


def _request_payout(tx: Transaction, caller: Caller, money: Money, **more: object) -> wire.Payout:
    """Creates a payout of available money, with the columns `more`, emits its event, and returns its view."""
    payout = tx.payouts.create(account=caller.account, amount_minor=money.amount_minor, currency=money.currency, **more)
    _post_payout(tx, payout, "payout_asked", f"{money} to be paid out")
    expect_clearing(tx)
    return emit(tx, caller.cause, caller.account, "payout.created", _payout_view(tx, payout))


def request_daily_payouts(tx: Transaction) -> bool:
    """Requests a payout of all available money if the register pays out daily; True if any was available."""
    requested = False
    for account in tx.accounts.all(order="id") if tx.gaps.payouts == "daily" else ():
        for currency in currencies(tx):
            available = balance_of(tx, ledger.MERCHANT_AVAILABLE, currency, merchant=account.id)
            if available > 0:
                _request_payout(tx, service.NOBODY._replace(account=account.id), Money(available, currency))
                requested = True
    return requested


def balance(tx: Transaction, caller: Caller) -> wire.Balance:
    """GET /v1/balance: the merchant's pending money, the money available for payouts, and the merchant's debts."""

    def amounts(kind: AccountKind) -> list[wire.Amount]:
        return [
            wire.Amount(Money(balance_of(tx, kind, code, merchant=caller.account), code).major, code)
            for code in currencies(tx)
        ]

    return wire.Balance(
        pending=amounts(ledger.MERCHANT_PENDING),
        available=amounts(ledger.MERCHANT_AVAILABLE),
        owed=amounts(ledger.RECEIVABLE),
        suspense=balances_in_suspense(tx, caller) or UNSET,
    )


def pay_payouts_due(tx: Transaction) -> bool:
    """Pays, or fails, the payouts requested before today; True if there were any."""
    midnight_ms = day_start_ms(tx.now_ms)
    due = [payout for payout in tx.payouts.all(status=payments.PENDING) if payout.created_ms < midnight_ms]
    for payout in due:
        if payout.scenario == scenarios.BANK_REFUSED:
            _post_payout(tx, payout, "payout_failed", f"{payout.money} refused by the bank")
            _move_payout(tx, payout, "failed", "payout.failed", scenarios.BANK_REFUSED)
            continue
        _post_payout(tx, payout, "payout_paid", f"{payout.money} paid out", payout.id)
        _move_payout(tx, payout, "paid", "payout.paid", None)
        if payout.scenario == scenarios.BANK_RETURNED:
            tx.schedule(PAYOUT_RETURN, payout.id, in_ms=scenarios.BANK_RETURNS_S * 1000)
    return bool(due)


def return_payout(tx: Transaction, payout_id: str) -> None:
    """Returns a payout to the merchant, as when the bank sends it back; does nothing unless the payout is paid."""
    payout = tx.payouts[payout_id]
    if payout.status == payments.PAID:
        returned = reference("return", tx.now_ms, seq=payout.seq)
        _post_payout(tx, payout, "payout_returned", f"{payout.money} returned by the bank", returned)
        returned_payout(tx, payout_id)
        expect_clearing(tx)


def returned_payout(tx: Transaction, payout_id: str) -> StoredPayout:
    """Marks a paid payout as returned and emits its event; returns the payout as it was before.

    A return by the bank that is scheduled for later then does nothing. Raises StateConflict: the payout is not paid.
    """
    payout = tx.payouts[payout_id]
    if payout.status != payments.PAID:
        message = f"The payout is {payout.status}; only a paid one can be returned."
        raise StateConflict(message, code="already_settled", param="entry", current=payout.status)
    _move_payout(tx, payout, "returned", "payout.failed", scenarios.BANK_RETURNED)
    return payout


def _move_payout(tx: Transaction, payout: StoredPayout, event: str, event_type: str, code: str | None) -> None:
    moved = tx.payouts.put(payout, status=next_state(PAYOUT_TRANSITIONS, payout.status, event), failure_code=code)
    emit(tx, BY_ITSELF, payout.account, event_type, _payout_view(tx, moved), before={"status": payout.status})


def _post_payout(
    tx: Transaction, payout: StoredPayout, recipe: str, description: str, known_as: str | None = None
) -> None:
    amounts, parties = {"gross": payout.amount_minor}, {"merchant": payout.account}
    tx.book(recipe, amounts, payout.currency, description, payment=payout.id, reference=known_as, **parties)


_PAID_BEFORE: Final = {WAITING: "waits in suspense", "credited": "was credited to you from suspense"}
"""State of late money with which the customer has paid → its words in a warning. Returned money does not count."""


class Late(NamedTuple):
    """Late money: the entry that booked it, the attempt that it paid, and the entry that settled it; None if open."""

    entry: JournalEntry
    charge: StoredCharge
    settled: JournalEntry | None

    @property
    def status(self) -> str:
        """`waiting`, `credited` or `returned`."""
        return SETTLED_AS[self.settled.kind] if self.settled else WAITING

    @property
    def money(self) -> Money:
        """The gross amount of the late money."""
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
    """Late money of all attempts at an intent, or of a charge without an intent, oldest first."""
    return [*_late_money_in(tx, tx.journal.of_payment(payment, (LATE,)))]


def balances_in_suspense(tx: Transaction, caller: Caller) -> list[Amount]:
    """The merchant's late money that waits in suspense: one amount in major units for each currency."""
    waits = Counter[str]()
    for late in _of_merchant(tx, caller):
        if late.status == WAITING:
            waits[late.money.currency] += late.money.amount_minor
    return [Amount(Money(minor, currency).major, currency) for currency, minor in sorted(waits.items())]


def paid_already(tx: Transaction, sums: Iterable[Late]) -> tuple[str, ...]:
    """A warning for each of `sums`, the late money of an intent, unless it was returned to the customer.

    Raises StateConflict: the customer has paid, and the register refuses to confirm the intent again.
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
    """GET /sandbox/suspense: late money of the merchant's customers, oldest first; optionally only in one state."""
    statuses = () if query.status is None else (query.status,)
    service.check_known(statuses, LATE_STATES, "is no state of late money; they are", param="status")
    return Rows([late.view for late in _of_merchant(tx, caller) if query.status in {None, late.status}])


def emit_settled(tx: Transaction, entry: JournalEntry) -> None:
    """Emits the event that late money, which `entry` booked, was credited or returned."""
    for late in _late_money_in(tx, [entry]):
        emit(tx, BY_ITSELF, late.charge.account, f"suspense.{late.status}", late.view, before={"status": WAITING})


def charge_of(tx: Transaction, entry: JournalEntry) -> StoredCharge | None:
    """The attempt that an entry about a payment concerns, or None.

    The entry's external reference identifies the attempt. If it fits none, the result is the paid attempt.
    """
    tried = tx.charges.all(payment_intent=entry.payment) or tx.charges.all(id=entry.payment)
    known = (
        attempt
        for attempt in tried
        if reference(attempt.provider, entry.occurred_ms, seq=attempt.seq) == entry.external_reference
    )
    paid = (attempt for attempt in tried if attempt.status == payments.SUCCEEDED)
    return next(known, None) or next(paid, None)


def late_money_named(tx: Transaction, caller: Caller, item: str) -> Late:
    """The caller's late money with the id of an entry, charge or intent: the amount that waits, else the latest one.

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
    every = _late_money_in(tx, tx.journal.late() if tx.journal.came_late else ())
    return (late for late in every if late.charge.account == caller.account)


def _late_money_in(tx: Transaction, entries: Iterable[JournalEntry]) -> Iterator[Late]:
    """Yields the late money that these entries booked, except for reversed entries."""
    for entry in entries:
        answers = {answer.kind: answer for answer in tx.journal.answers_to(entry.id)}
        charge = charge_of(tx, entry)
        if charge is not None and not any(answer.reverses for answer in answers.values()):
            settled = next((answers[recipe] for recipe in SETTLED_AS if recipe in answers), None)
            yield Late(entry, charge, settled)
