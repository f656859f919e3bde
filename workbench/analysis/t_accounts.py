"""T-accounts: an account as it is drawn by hand, debits left, credits right, the balance below."""

from html import escape
from itertools import zip_longest
from typing import Any

from workbench.domain.t_accounts import Side, TAccount, t_accounts
from workbench.render import bundle
from workbench.visible import visible

_HALF = 18


class TAccounts:
    """Every account posted to, from rows of postings (`account`, `side`, `amount_minor`, `currency`, `number`)."""

    def __init__(self, postings: list[dict[str, Any]]) -> None:
        self._accounts = t_accounts({**row, "entry": f"#{row['number']}"} for row in postings)

    def __repr__(self) -> str:
        return "\n\n".join(map(_text, self._accounts)) or "(no postings yet)"

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        return bundle(repr(self), "".join(map(_html, self._accounts)))


def _cells(account: TAccount) -> list[tuple[str, str]]:
    """Pairs of debit and credit cells."""
    return list(zip_longest(map(_cell, account.debits), map(_cell, account.credits), fillvalue=""))


def _title(account: TAccount) -> str:
    return visible(f"{account.code} {account.account} ({account.currency})")


def _cell(side: Side) -> str:
    return f"{side.entry}  {side.money.plain}"


def _text(account: TAccount) -> str:
    left, right = account.balance
    lines = [f"{a:>{_HALF}} │{b:>{_HALF}}".rstrip() for a, b in _cells(account)]
    rule, title = "─" * _HALF, _title(account)
    total = f"{left:>{_HALF}} │{right:>{_HALF}}"
    return "\n".join([title, f"{rule}─┬{rule}", *lines, f"{rule}─┼{rule}", total.rstrip()])


def _html(account: TAccount) -> str:
    left, right = account.balance
    number = ' style="text-align:right;min-width:8em"'
    body = "".join(f"<tr><td{number}>{a}</td><td{number}>{b}</td></tr>" for a, b in _cells(account))
    foot = f"<tr><th{number}>{left}</th><th{number}>{right}</th></tr>"
    return (
        '<table style="display:inline-table;margin:0 1.5em 1em 0;vertical-align:top">'
        f'<caption style="white-space:nowrap">{escape(_title(account))}</caption>'
        '<thead><tr><th scope="col">Debit</th><th scope="col">Credit</th></tr></thead>'
        f"<tbody>{body}</tbody><tfoot>{foot}</tfoot></table>"
    )
