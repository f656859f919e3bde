"""The ledger of a payment: its entries, and the T-accounts that they post to."""

from collections.abc import Iterator, Sequence
from typing import Final

from msgspec.structs import asdict

from workbench import svg
from workbench.domain.ledger import CREDIT, DEBIT, TAccount, t_accounts
from workbench.domain.masking import shortened
from workbench.domain.money import money_text
from workbench.domain.wire.ledger_and_trace import LedgerEntry, LedgerPosting
from workbench.render import Column, table
from workbench.svg import Drawing
from workbench.visible import visible

_HALF: Final = 318


def accounts_of(payment: str, entries: Sequence[LedgerEntry], postings: Sequence[LedgerPosting]) -> Drawing:
    """The entries of a payment, and the accounts that they post to, two in a row."""
    title = f"The ledger of {svg.shown_as(payment, 60)}"
    lines = [f"#{entry.number} {entry.kind}: {svg.shown_as(entry.description)}" for entry in entries]
    lines = lines or ["No entry names it."]
    accounts = t_accounts({**asdict(posting), "entry": f"#{posting.number}"} for posting in postings)
    parts = [svg.text(svg.EDGE, 50 + 20 * place, shortened(line, 100), svg.INK) for place, line in enumerate(lines)]
    y = 64 + 20 * len(lines)
    for pair in (accounts[place : place + 2] for place in range(0, len(accounts), 2)):
        for account, x in zip(pair, (svg.EDGE, svg.WIDTH - svg.EDGE - _HALF), strict=False):
            parts += _t_account(account, x, y)
        y += 70 + 20 * max(map(_lines_of, pair))
    for total in (sums := list(_sums(postings))):
        parts.append(svg.text(svg.EDGE, y + 8, total, svg.INK, font_weight=600))
        y += 20
    columns = ("account", "entry", Column("debit", numeric=True), Column("credit", numeric=True))
    says = table("", columns, (row for account in accounts for row in _account_rows(account)))
    return svg.drawing(title, "\n".join([title, *lines, *([str(says)] if accounts else []), *sums]), y + 8, parts)


def _named(account: TAccount) -> str:
    return visible(f"{account.code} {account.account} ({account.currency})")


def _account_rows(account: TAccount) -> Iterator[tuple[str, str, str, str]]:
    """An account in the text: its postings, and its balance."""
    name = _named(account)
    yield from ((name, posting.entry, posting.money.plain, "") for posting in account.debits)
    yield from ((name, posting.entry, "", posting.money.plain) for posting in account.credits)
    yield (name, "balance", *account.balance)


def _lines_of(account: TAccount) -> int:
    return max(len(account.debits), len(account.credits))


def _t_account(account: TAccount, x: int, y: int) -> Iterator[str]:
    """Debits left, credits right, and the balance below on the side where it stands."""
    middle, end, bottom = x + _HALF / 2, x + _HALF, y + 30 + 20 * _lines_of(account)
    yield svg.text(x, y + 12, _named(account), svg.INK, font_weight=600)
    yield svg.line(x, y + 22, end, y + 22, svg.INK)
    yield svg.line(middle, y + 22, middle, bottom + 22, svg.INK)
    yield svg.line(x, bottom, end, bottom, svg.RULE)
    for side, left, right in ((account.debits, x, middle - 12), (account.credits, middle + 12, end)):
        for place, posting in enumerate(side):
            down = y + 40 + 20 * place
            yield svg.text(left, down, posting.entry, svg.FAINT)
            yield svg.text(right, down, posting.money.plain, svg.INK, text_anchor="end")
    for words, right in zip(account.balance, (middle - 12, end), strict=True):
        yield svg.text(right, bottom + 17, words, svg.INK, text_anchor="end", font_weight=600)


def _sums(postings: Sequence[LedgerPosting]) -> Iterator[str]:
    for currency in dict.fromkeys(posting.currency for posting in postings):
        debits, credits_ = (
            sum(posting.amount_minor for posting in postings if (posting.currency, posting.side) == (currency, side))
            for side in (DEBIT, CREDIT)
        )
        yield f"Debits {money_text(debits, currency)} = credits {money_text(credits_, currency)}"
