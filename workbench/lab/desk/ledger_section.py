"""The ledger of the payment, as T-accounts."""

from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import Any

from workbench.domain import wire
from workbench.domain.ledger import Side, TAccount, t_accounts
from workbench.domain.money import Money
from workbench.domain.wire.trace_rows import entry_of
from workbench.lab.sections import BoardSection, Gathered, Rows
from workbench.lab.views import BAD, GOOD, Beside, Grid, Item, Note, Row, Section, headings

_NOTHING = "No entry yet: money is booked when the customer has paid."
_MEANINGS: Mapping[int, str] = {
    1010: "money at the bank",
    1100: "money at the operator",
    1200: "on its way to the bank",
    1310: "what the merchant owes",
    2000: "the merchant's, not cleared yet",
    2010: "the merchant's, to be paid out",
    2020: "the merchant's, being paid out",
    2100: "owed to the customer",
    2900: "nobody's yet",
    4000: "the service's fee",
    5000: "the operator's fee",
    5020: "written off",
    5030: "rounding",
}


class LedgerSection(BoardSection):
    """The accounts that a payment was booked to."""

    id = "ledger"

    def __init__(self, gathered: Gathered) -> None:
        self._gathered = gathered

    def section(self) -> Section:
        """One T-account for each."""
        return Section(self.id, "Ledger", ledger(self._gathered.rows, self._gathered.accounts))


def ledger(rows: Rows, accounts: Sequence[wire.LedgerAccount]) -> tuple[Item, ...]:
    """The entries among a payment's rows as T-accounts; `accounts` has the code and the balance of each."""
    codes = {each.account: each.code for each in accounts}
    balances = {(each.account, each.currency): each.debit_minor - each.credit_minor for each in accounts}
    postings = [
        {
            "entry": str(row["result"]).replace("_", " "),
            "code": codes.get(account, 0),
            "account": account,
            "side": side,
            "amount_minor": amount_minor,
            "currency": code,
        }
        for row in rows
        if row["kind"] == "entry"
        for side, account, amount_minor, code in entry_of(row).postings
    ]
    if not postings:
        return (Note(_NOTHING),)
    return (_proof(postings), Beside(tuple(_grid(each, balances) for each in t_accounts(postings))))


def _proof(postings: Sequence[Mapping[str, Any]]) -> Note:
    """That debits equal credits, in each currency."""
    sums = {row["currency"]: {"debit": 0, "credit": 0} for row in postings}
    for row in postings:
        sums[row["currency"]][row["side"]] += row["amount_minor"]
    text = "; ".join(
        f"debits {Money(each['debit'], code)}, credits {Money(each['credit'], code)}"
        for code, each in sorted(sums.items())
    )
    if all(each["debit"] == each["credit"] for each in sums.values()):
        return Note(f"Debits equal credits: {text}.", GOOD)
    return Note(f"It does not balance: {text}.", BAD)


def _grid(account: TAccount, balances: Mapping[tuple[str, str], int]) -> Grid:
    pairs = zip_longest(account.debits, account.credits)
    rows = [Row(f"{place}", _cells(*pair)) for place, pair in enumerate(pairs)]
    rows.append(Row("balance", ("balance", *account.balance)))
    in_all = balances.get((account.account, account.currency), account.balance_minor)
    if in_all != account.balance_minor:
        shown = Money(abs(in_all), account.currency).plain
        rows.append(Row("all", ("of all payments", *((shown, "") if in_all >= 0 else ("", shown)))))
    meaning = f" — {_MEANINGS[account.code]}" if account.code in _MEANINGS else ""
    caption = f"{account.code} {account.account}{meaning} ({account.currency})"
    return Grid(caption, headings("entry", "debit", "credit", numeric=("debit", "credit")), tuple(rows))


def _cells(debit: Side | None, credit: Side | None) -> tuple[str, str, str]:
    entry = (debit or credit or Side("", Money(0))).entry
    return entry, debit.money.plain if debit else "", credit.money.plain if credit else ""
