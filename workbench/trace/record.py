"""The record of a trace in an executed notebook: the sequence, the ledger, the phone's last screen, and a table."""

import re
from collections.abc import Sequence
from html import escape
from typing import Any, Final

from workbench import saved
from workbench.domain.ledger import CHART, DEBIT
from workbench.domain.money import money_text
from workbench.domain.wire.trace_rows import ENTRY, SCREEN, entry_of, screen_of
from workbench.render import Table
from workbench.saved import STYLE, Saved, TAccounts
from workbench.trace.diagram import MOST_ROWS, SequenceDiagram, clock_of, utc_of
from workbench.visible import visible

_CODES: Final = {re.compile(re.sub(r"{\w+}", "[^:]+", kind.name)): kind.code for kind in CHART}
Rows = Sequence[dict[str, Any]]


def record_of_trace(rows: Rows, steps: Table) -> Saved:
    """A record of the latest rows of a trace; `steps` is the table of the rows."""
    diagram, latest = SequenceDiagram(rows), [*rows[-MOST_ROWS:]]
    texts, came = [str(steps)], ""
    if entries := [row for row in latest if row["kind"] == ENTRY]:
        accounts, sums, named = _accounts(entries)
        texts.append(f"{sums}\n{named}\n\n{accounts!r}")
        came += f"<section><p>{sums}</p><div>{escape(named)}</div>{accounts.html}</section>"
    if screens := [row for row in latest if row["kind"] == SCREEN]:
        shown = _screen(screens[-1])
        texts.append(shown.text)
        came += f"<section><p>The phone</p>{shown.html}</section>"
    table = f"<details><summary>The rows as a table</summary>{steps.html()}</details>"
    html = f'<div class="wb-saved">{STYLE}{diagram.html}<div class="came">{came}</div>{table}</div>'
    return Saved("\n\n".join(texts), html)


def _accounts(entries: Rows) -> tuple[TAccounts, str, str]:
    """The accounts of some entries, the sums of both sides by currency, and the entries' names."""
    postings, sums = list[dict[str, Any]](), dict[str, list[int]]()
    for place, row in enumerate(entries, start=1):
        for side, account, minor, currency in entry_of(row).postings:
            code = next((code for name, code in _CODES.items() if name.fullmatch(account)), 0)
            posting = {"account": account, "code": code, "side": side, "amount_minor": minor, "currency": currency}
            postings.append({**posting, "number": place})
            sums.setdefault(currency, [0, 0])[side != DEBIT] += minor
    named = "; ".join(f"({place}) {visible(row['what'])}" for place, row in enumerate(entries, start=1))
    totals = ", ".join(
        f"debits {money_text(debits, currency)}, credits {money_text(credits_, currency)}"
        for currency, (debits, credits_) in sums.items()
    )
    return TAccounts(postings, entry="({})"), f"Ledger: {totals}", named


def _screen(row: dict[str, Any]) -> Saved:
    screen = screen_of(row)
    lines = [visible(line) for line in screen.words.split("\n")]
    status = f"{clock_of(row['at'])[11:]} in Lusaka"
    return saved.receipt(visible(screen.phone), lines[0], visible(screen.phone), lines, status, hover=utc_of(row["at"]))
