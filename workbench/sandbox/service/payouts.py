"""Payouts send available money to the merchant's bank; the balance shows that money."""

from collections.abc import Mapping
from typing import Final

from msgspec import UNSET

from workbench.domain import ledger, payments, scenarios
from workbench.domain.ledger import AccountKind
from workbench.domain.moments import day_start_ms
from workbench.domain.money import OFFERED, Money, currency_named, money_from_major
from workbench.domain.payments import PAYOUT_TRANSITIONS, Payout, next_state
from workbench.domain.references import reference
from workbench.domain.wire import payments_and_payouts as wire
from workbench.errors import StateConflict
from workbench.sandbox.service import clearing, lists, request_fields, suspense
from workbench.sandbox.service.lists import BY_ITSELF, Caller, Resource, view_of
from workbench.sandbox.service.webhooks import emit
from workbench.sandbox.store import Transaction

RETURN = "payout_returned"


def _payout_view(_: Transaction, stored: Payout) -> wire.Payout:
    return view_of(wire.Payout, stored, amount=stored.money.major)


PAYOUTS = Resource("payout", "/v1/payouts", lambda tx: tx.payouts, _payout_view, code="payout_not_found")
_AVAILABLE: Final[Mapping[str, str]] = {
    "immediate": "Received money is available at once.",
    "next_day": "Money received today becomes available at midnight in Lusaka.",
    "t_plus_2": "Money received today becomes available at midnight in Lusaka in two days.",
}
"""Choice of `clearing` → the hint that says when money becomes available."""


def create_payout(tx: Transaction, caller: Caller, body: wire.CreatePayout) -> wire.Payout:
    """POST /v1/payouts: send available money to the merchant's bank; paid at the coming midnight."""
    with request_fields.EveryFault() as every:
        every.read(currency_named, body.currency, OFFERED[tx.gaps.currencies])
        money = every.read(money_from_major, body.amount, request_fields.currency_or_kwacha(body.currency))
    available = clearing.balance_of(tx, ledger.MERCHANT_AVAILABLE, money.currency, merchant=caller.account)
    if money.amount_minor > available:
        message = f"{money} is more than the {Money(max(0, available), money.currency)} that is available."
        raise StateConflict(message, code="balance_insufficient", param="amount", hint=_AVAILABLE[tx.gaps.clearing])
    scenario = caller.scenario if caller.scenario in scenarios.OF_PAYOUTS else None
    return _ask(tx, caller, money, destination=body.destination, scenario=scenario, metadata=body.metadata)


def _ask(tx: Transaction, caller: Caller, money: Money, **more: object) -> wire.Payout:
    """Create a payout of available money, with `more` columns, send its event, and return its view."""
    payout = tx.payouts.create(account=caller.account, amount_minor=money.amount_minor, currency=money.currency, **more)
    _post_payout(tx, payout, "payout_asked", f"{money} to be paid out")
    clearing.expect(tx)
    return emit(tx, caller.cause, caller.account, "payout.created", _payout_view(tx, payout))


def ask_daily(tx: Transaction) -> bool:
    """Request a payout of all available money, if the register makes payouts daily. True if there was any."""
    asked = False
    for account in tx.accounts.all(order="id") if tx.gaps.payouts == "daily" else ():
        for currency in clearing.currencies(tx):
            available = clearing.balance_of(tx, ledger.MERCHANT_AVAILABLE, currency, merchant=account.id)
            if available > 0:
                _ask(tx, lists.NOBODY._replace(account=account.id), Money(available, currency))
                asked = True
    return asked


def balance(tx: Transaction, caller: Caller) -> wire.Balance:
    """GET /v1/balance: what is pending, what is available for payouts, and what the merchant owes."""

    def amounts(kind: AccountKind) -> list[wire.Amount]:
        return [
            wire.Amount(Money(clearing.balance_of(tx, kind, code, merchant=caller.account), code).major, code)
            for code in clearing.currencies(tx)
        ]

    return wire.Balance(
        pending=amounts(ledger.MERCHANT_PENDING),
        available=amounts(ledger.MERCHANT_AVAILABLE),
        owed=amounts(ledger.RECEIVABLE),
        suspense=suspense.balances_in_suspense(tx, caller) or UNSET,
    )


def pay_those_due(tx: Transaction) -> bool:
    """Pay, or fail, the payouts that were asked for before today; True if there was any."""
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
            tx.schedule(RETURN, payout.id, in_ms=scenarios.BANK_RETURNS_S * 1000)
    return bool(due)


def give_back(tx: Transaction, payout_id: str) -> None:
    """Return a payout to the merchant, as the bank gives it back; does nothing unless the payout is paid."""
    payout = tx.payouts.get(payout_id)
    if payout is not None and payout.status == payments.PAID:
        returned = reference("return", tx.now_ms, seq=payout.seq)
        _post_payout(tx, payout, "payout_returned", f"{payout.money} returned by the bank", returned)
        move_back(tx, payout)
        clearing.expect(tx)


def paid(tx: Transaction, payout_id: str) -> Payout:
    """The payout of this id, which must be paid. Raises StateConflict: the payout is gone or not paid."""
    payout = tx.payouts.get(payout_id)
    if payout is None or payout.status != payments.PAID:
        status = payout.status if payout else ""
        message = f"The payout is {status or 'gone'}; only a paid one can be returned."
        raise StateConflict(message, code="already_settled", param="entry", current=status)
    return payout


def move_back(tx: Transaction, payout: Payout) -> None:
    """Mark a payout as returned; a return by the bank that is still due then changes nothing."""
    _move_payout(tx, payout, "returned", "payout.failed", scenarios.BANK_RETURNED)


def _move_payout(tx: Transaction, payout: Payout, event: str, event_type: str, code: str | None) -> None:
    moved = tx.payouts.put(payout, status=next_state(PAYOUT_TRANSITIONS, payout.status, event), failure_code=code)
    emit(tx, BY_ITSELF, payout.account, event_type, _payout_view(tx, moved), before={"status": payout.status})


def _post_payout(tx: Transaction, payout: Payout, recipe: str, description: str, known_as: str | None = None) -> None:
    amounts, parties = {"gross": payout.amount_minor}, {"merchant": payout.account}
    tx.book(recipe, amounts, payout.currency, description, payment=payout.id, reference=known_as, **parties)
