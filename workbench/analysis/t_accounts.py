"""T-accounts: an account as it is drawn by hand, debits left, credits right, the balance below."""

from html import escape
from itertools import zip_longest
from typing import Any

from workbench.domain.ledger import DEBIT
from workbench.domain.money import Money
from workbench.render import bundle

_HALF = 18


class TAccounts:
    """Every account posted to, from rows of postings (`account`, `side`, `amount_minor`, `currency`, `number`)."""

    def __init__(self, postings: list[dict[str, Any]]) -> None:
        self._accounts: dict[tuple[int, str, str], list[dict[str, Any]]] = {}
        for row in sorted(postings, key=lambda row: (row["code"], row["account"], row["currency"])):
            self._accounts.setdefault((row["code"], row["account"], row["currency"]), []).append(row)

    def __repr__(self) -> str:
        return "\n\n".join(_text(*key, rows) for key, rows in self._accounts.items()) or "(no postings yet)"

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        return bundle(repr(self), "".join(_html(*key, rows) for key, rows in self._accounts.items()))


def _columns(rows: list[dict[str, Any]]) -> tuple[list[tuple[str, str]], str, str]:
    """Pairs of debit and credit cells, then the balance on its side."""
    sides: tuple[list[str], list[str]] = ([], [])
    balance = 0
    for row in rows:
        is_debit = row["side"] == DEBIT
        amount = f"{Money(row['amount_minor'], row['currency']).major:,}"
        sides[0 if is_debit else 1].append(f"#{row['number']}  {amount}")
        balance += row["amount_minor"] if is_debit else -row["amount_minor"]
    shown = f"{Money(abs(balance), rows[0]['currency']).major:,}"
    left, right = (shown, "") if balance >= 0 else ("", shown)
    return list(zip_longest(*sides, fillvalue="")), left, right


def _text(code: int, account: str, currency: str, rows: list[dict[str, Any]]) -> str:
    cells, left, right = _columns(rows)
    lines = [f"{a:>{_HALF}} │{b:>{_HALF}}".rstrip() for a, b in cells]
    rule, title = "─" * _HALF, f"{code} {account} ({currency})"
    total = f"{left:>{_HALF}} │{right:>{_HALF}}"
    return "\n".join([title, f"{rule}─┬{rule}", *lines, f"{rule}─┼{rule}", total.rstrip()])


def _html(code: int, account: str, currency: str, rows: list[dict[str, Any]]) -> str:
    cells, left, right = _columns(rows)
    number = ' style="text-align:right;min-width:8em"'
    body = "".join(f"<tr><td{number}>{a}</td><td{number}>{b}</td></tr>" for a, b in cells)
    foot = f"<tr><th{number}>{left}</th><th{number}>{right}</th></tr>"
    return (
        '<table style="display:inline-table;margin:0 1.5em 1em 0;vertical-align:top">'
        f'<caption style="white-space:nowrap">{code} {escape(account)} ({escape(currency)})</caption>'
        '<thead><tr><th scope="col">Debit</th><th scope="col">Credit</th></tr></thead>'
        f"<tbody>{body}</tbody><tfoot>{foot}</tfoot></table>"
    )
