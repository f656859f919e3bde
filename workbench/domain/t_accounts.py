"""T-accounts, worked out: each account's debits, credits and balance, from rows of postings."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from workbench.domain.ledger import DEBIT
from workbench.domain.money import Money


class Side(NamedTuple):
    """One posting: which entry it is of, and its amount."""

    entry: str
    money: Money


class TAccount(NamedTuple):
    """An account and what stands on either side of it, in order."""

    code: int
    account: str
    currency: str
    debits: tuple[Side, ...]
    credits: tuple[Side, ...]

    @property
    def balance_minor(self) -> int:
        """Debits less credits."""
        return _sum(self.debits) - _sum(self.credits)

    @property
    def balance(self) -> tuple[str, str]:
        """The balance as it is shown, on the side where it stands; the other is empty."""
        shown = Money(abs(self.balance_minor), self.currency).plain
        return (shown, "") if self.balance_minor >= 0 else ("", shown)


def t_accounts(postings: Iterable[Mapping[str, Any]]) -> list[TAccount]:
    """Every account posted to, by its code and name.

    Rows have `account`, `code`, `side`, `amount_minor`, `currency`, and `entry`: what the entry is shown as.
    """
    sides: dict[tuple[int, str, str], tuple[list[Side], list[Side]]] = {}
    for row in postings:
        debits, credits_ = sides.setdefault((row["code"], row["account"], row["currency"]), ([], []))
        side = Side(str(row["entry"]), Money(row["amount_minor"], row["currency"]))
        (debits if row["side"] == DEBIT else credits_).append(side)
    return [TAccount(*key, tuple(debits), tuple(credits_)) for key, (debits, credits_) in sorted(sides.items())]


def _sum(sides: Iterable[Side]) -> int:
    return sum(side.money.amount_minor for side in sides)
