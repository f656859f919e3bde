"""T-accounts: each account's debits, credits and balance, from rows of postings."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from workbench.domain.ledger import DEBIT
from workbench.domain.money import Money


class Side(NamedTuple):
    """One posting: its entry and its amount."""

    entry: str
    money: Money


class TAccount(NamedTuple):
    """An account and the postings on either side of it, in order."""

    code: int
    account: str
    currency: str
    debits: tuple[Side, ...]
    credits: tuple[Side, ...]

    @property
    def balance_minor(self) -> int:
        """Debits less credits."""
        debits, credits_ = (sum(each.money.amount_minor for each in side) for side in (self.debits, self.credits))
        return debits - credits_

    @property
    def balance(self) -> tuple[str, str]:
        """The balance for reading, on the side where it stands; the other is empty."""
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
