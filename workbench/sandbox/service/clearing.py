"""Clearing at midnight in Lusaka: pending money becomes available, floats are swept to the bank, payouts are paid."""

from collections.abc import Callable, Mapping
from typing import Final

from workbench.domain import ledger
from workbench.domain.ledger import AccountKind
from workbench.domain.moments import day_start_ms
from workbench.domain.money import ZMW, Money
from workbench.domain.phones import EVERY_OPERATOR
from workbench.domain.references import reference
from workbench.sandbox.store import Transaction

CLEARING = "night"
_FLOATS: Final = tuple(ledger.FLOAT.name.format(operator=operator) for operator in EVERY_OPERATOR)


def expect(tx: Transaction) -> None:
    """Schedule the clearing at the coming midnight; if money is cleared at once, clear it now."""
    if tx.gaps.clearing == "immediate":
        for currency in currencies(tx):
            _clear_currency(tx, currency)
    if tx.jobs.first(ref=CLEARING) is None:
        tx.schedule(CLEARING, CLEARING, in_ms=day_start_ms(tx.now_ms, days_on=1) - tx.now_ms)


def clear_and_sweep(tx: Transaction) -> bool:
    """Clear every merchant's pending money, and sweep the money of before today from every float; True if any moved.

    The bank first credits the money that was swept the night before.
    """
    midnight_ms = day_start_ms(tx.now_ms)
    moved = False
    for currency in currencies(tx):
        for operator in EVERY_OPERATOR:
            in_transit = balance_of(tx, ledger.IN_TRANSIT, currency, operator=operator)
            if in_transit > 0:
                words = f"{Money(in_transit, currency)} credited by the bank from {operator}"
                credit = reference("credit", tx.now_ms)
                tx.book("sweep_credited", {"swept": in_transit}, currency, words, reference=credit, operator=operator)
                moved = True
        moved |= _clear_currency(tx, currency)
        for operator in EVERY_OPERATOR:
            bounds = (midnight_ms, None)
            held = min(
                balance_of(tx, ledger.FLOAT, currency, before_day_ms=bound, operator=operator) for bound in bounds
            )
            if held > 0:
                words = f"{Money(held, currency)} swept from {operator} to the bank"
                sweep = reference("sweep", tx.now_ms, operator=operator)
                tx.book("swept", {"swept": held}, currency, words, reference=sweep, operator=operator)
                moved = True
    return moved


def currencies(tx: Transaction) -> list[str]:
    """The codes of the kwacha and of every other currency that operators have held."""
    return [ZMW.code, *(code for code in tx.journal.currencies(_FLOATS) if code != ZMW.code)]


def balance_of(
    tx: Transaction, kind: AccountKind, currency: str, *, before_day_ms: int | None = None, **party: str
) -> int:
    """The balance of an account on its normal side, in minor units; `party` is `operator` or `merchant`."""
    net = tx.journal.balance(kind.name.format(**party), currency, before_day_ms=before_day_ms)
    return net if kind.normal_side == ledger.DEBIT else -net


def _of_days_before(tx: Transaction, merchant: str, currency: str) -> int:
    """A merchant's pending money at the start of the day or now, whichever is less, in minor units.

    It is less now if refunds took more than came in.
    """
    bounds = (day_start_ms(tx.now_ms), None)
    return min(
        balance_of(tx, ledger.MERCHANT_PENDING, currency, before_day_ms=bound, merchant=merchant) for bound in bounds
    )


def _of_two_days_before(tx: Transaction, merchant: str, currency: str) -> int:
    """A merchant's pending money less the credits of today and yesterday, in minor units; it may be below zero.

    Debits take the oldest money first.
    """
    account = ledger.MERCHANT_PENDING.name.format(merchant=merchant)
    young = tx.journal.credits_since(account, currency, day_start_ms(tx.now_ms, days_on=-1))
    return balance_of(tx, ledger.MERCHANT_PENDING, currency, merchant=merchant) - young


_RIPE: Final[Mapping[str, Callable[[Transaction, str, str], int]]] = {
    "immediate": lambda tx, merchant, currency: balance_of(tx, ledger.MERCHANT_PENDING, currency, merchant=merchant),
    "next_day": _of_days_before,
    "t_plus_2": _of_two_days_before,
}
"""Choice of `clearing` → a merchant's pending money that becomes available now, in minor units."""


def _clear_currency(tx: Transaction, currency: str) -> bool:
    """Clear every merchant's pending money in a currency, and take what a merchant owes from the available money.

    True if any money was moved, or waits for a later night.
    """
    moved = False
    for merchant in (account.id for account in tx.accounts.all(order="id")):
        net = max(0, _RIPE[tx.gaps.clearing](tx, merchant, currency))
        if net:
            tx.book("cleared", {"net": net}, currency, f"{Money(net, currency)} cleared", merchant=merchant)
        owed = min(
            balance_of(tx, ledger.RECEIVABLE, currency, merchant=merchant),
            balance_of(tx, ledger.MERCHANT_AVAILABLE, currency, merchant=merchant),
        )
        if owed > 0:
            words = f"{Money(owed, currency)} taken of what was owed"
            tx.book("receivable_recovered", {"owed": owed}, currency, words, merchant=merchant)
        moved |= bool(net) or owed > 0
        if tx.gaps.clearing == "t_plus_2":
            moved |= balance_of(tx, ledger.MERCHANT_PENDING, currency, merchant=merchant) > 0
    return moved
