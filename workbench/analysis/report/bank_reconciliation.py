"""The reconciliation of each account as accountants write it: two balances, their items by kind, two adjusted balances.

An item adjusts the side that has to change. What the books have and the statement has not yet, and errors of the
operator or the bank, adjust the statement; what is not booked, or booked wrongly, adjusts the books.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

import pandas as pd

from workbench.analysis.break_codes import BOOKS, BREAK_CODES, STATEMENT, Item, in_books
from workbench.analysis.frames import python_rows
from workbench.analysis.report.totals import Reconciled
from workbench.analysis.shapes import EXACT
from workbench.domain.money import major_text, money_text
from workbench.text.render import Column, Table, table

_MISSING: Final[Mapping[str, Item]] = {
    STATEMENT: Item("receipts in the books, not yet on the statement", "outstanding payments"),
    BOOKS: Item("receipts on the statement, not in the books", "payments on the statement, not in the books"),
}
_CHARGES: Final = in_books("charges not booked")


def item_of(code: str, side: str) -> tuple[Item, str]:
    """The item of a break by its code and the `side` of its row, and the balance it adjusts: STATEMENT or BOOKS."""
    lacks = STATEMENT if side == "ledger" else BOOKS
    item = BREAK_CODES[code].item or _MISSING[lacks]
    return item, item.adjusts or lacks


class Line(NamedTuple):
    """A line of the reconciliation of one account: a balance, or `items` of one kind; minor units, signed."""

    account: str
    currency: str
    text: str
    minor: int
    items: int | None = None

    @property
    def is_item(self) -> bool:
        """True for an item between a balance and the adjusted balance."""
        return self.items is not None


def lines(result: Reconciled) -> Iterator[list[Line]]:
    """The lines of each account: from either balance through its items to the adjusted balance."""
    sums: dict[str, dict[str, Counter[str]]] = {}
    counts: Counter[tuple[str, str, str]] = Counter()
    for account, code, side, variance, proposal in _items(result.breaks):
        if not variance:
            continue
        item, adjusts = item_of(code, side)
        if item is _MISSING[BOOKS] and proposal and '"fee_raised"' in proposal and '"unknown_' not in proposal:
            item = _CHARGES
        minor = variance if adjusts == STATEMENT else -variance
        text = item.plus if minor > 0 else item.less or item.plus
        sums.setdefault(account, {}).setdefault(adjusts, Counter())[text] += minor
        counts[account, adjusts, text] += 1
    for row in python_rows(result.proof, "account", "currency", *_PROOF):
        account, currency, ledger, statement, tolerated, brought, unexplained = row
        mine = sums.get(account, {})
        rest = {
            STATEMENT: (statement, "open items of earlier runs", brought),
            BOOKS: (ledger, "differences within the tolerance", -tolerated),
        }
        made = []
        for side, (balance, text, minor) in rest.items():
            items = [(text, minor, counts[account, side, text]) for text, minor in mine.get(side, Counter()).items()]
            items += [(text, minor, 0)] if minor else []
            items.sort(key=lambda item: (item[1] < 0, -abs(item[1])))
            made.append(Line(account, currency, f"Balance per {side}", balance))
            made += [
                Line(account, currency, f"{'plus' if minor > 0 else 'less'} {text}", minor, count)
                for text, minor, count in items
            ]
            adjusted = balance + sum(minor for _, minor, _ in items)
            made.append(Line(account, currency, f"Adjusted balance per {side}", adjusted))
        if unexplained:
            made.append(Line(account, currency, "Not explained: books less statement, both adjusted", unexplained))
        yield made


def _items(found: pd.DataFrame) -> Iterator[tuple[str, str, str, int, str | None]]:
    """The account, code, side, variance and proposal of each item.

    Breaks that a person matched are one item with the sum of their variances: an error in the books, if they are of
    both sides.
    """
    groups: dict[tuple[str, Any], list[list[Any]]] = {}
    names = ("id", "partner", "verdict", "account", "code", "side", "variance_minor", "proposal")
    for place, (name, partner, verdict, account, *told) in enumerate(python_rows(found, *names)):
        group = frozenset([name, *(partner or "").split("; ")]) if verdict == "match" else place
        groups.setdefault((account, group), []).append(told)
    for (account, _), rows in groups.items():
        code, side, _, proposal = rows[0]
        if len({row[1] for row in rows}) > 1:
            code, side, proposal = "amount_mismatch", "both", None
        yield account, code, side, sum(row[2] for row in rows), proposal


_PROOF: Final = ("ledger_minor", "statement_minor", "tolerated_minor", "brought_minor", "unexplained_minor")


def captioned(result: Reconciled) -> Iterator[tuple[str, list[Line]]]:
    """For each account a sentence (account, day, and whether the reconciliation proves) and the lines."""
    days: dict[str, Any] = {}
    for account, day in python_rows(result.inputs, "account", "last_date"):
        if account and day:
            days[account] = max(day, days.get(account, day))
    facts = python_rows(result.proof, "account", "currency", "unexplained_minor", "holds", "note")
    for (account, currency, unexplained, holds, note), mine in zip(facts, lines(result), strict=True):
        at = f" at {days[account]}" if account in days else ""
        apart = f"{money_text(unexplained, currency, signed=True)} is not explained" if unexplained else ""
        why = "; ".join(filter(None, [apart, note]))
        proven = f"both adjusted balances agree{f', and it holds: {note}' if note not in {None, EXACT} else ''}"
        verdict = proven if holds else f"it does not prove: {why}"
        yield f"Reconciliation of {account}{at}, in {currency}: {verdict}", mine


def tables(result: Reconciled) -> list[Table]:
    """The reconciliation of each account as a table."""
    columns: list[str | Column] = ["balance or item", Column("items", numeric=True), Column("amount", numeric=True)]
    made = []
    for caption, mine in captioned(result):
        rows = [
            (
                row.text,
                f"{row.items:,}" if row.items else "",
                major_text(row.minor, row.currency, signed=row.is_item),
            )
            for row in mine
        ]
        made.append(table(caption, columns, rows))
    return made
