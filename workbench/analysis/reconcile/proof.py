"""The proof: ledger closing less statement closing is the sum of the breaks, or it says what is left over."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from workbench.analysis.reconcile.totals import Book, Jump
from workbench.analysis.shapes import EXACT
from workbench.domain.money import money_text


@dataclass(frozen=True)
class Sums:
    """What the rows of an account add up to, in minor units."""

    ledger_closing: int | None
    ledger: int
    """All ledger rows read, what was carried included."""
    statement: int
    """The rows of this run's files."""
    carried: int
    """The statement rows carried."""
    told_twice: int
    breaks: int
    tolerated: int


def proof_line(
    account: str, currency: str | None, books: Sequence[Book], sums: Sums, before: Mapping[str, Any]
) -> dict[str, Any]:
    """One account: a row of PROOF. `before` is what an earlier run left of it (CLOSED), or empty."""
    brought = int(before.get("brought_minor", 0))
    opening, closing = _stated(books, sums, before)
    ledger = sums.ledger_closing if sums.ledger_closing is not None else opening - sums.carried + brought + sums.ledger
    moved = sums.statement - sums.told_twice
    statement = opening + moved if closing is None else closing
    gap = statement - opening - moved
    difference = ledger - statement
    line = {
        "account": account,
        "currency": currency,
        "ledger_minor": ledger,
        "statement_minor": statement,
        "difference_minor": difference,
        "breaks_minor": sums.breaks,
        "tolerated_minor": sums.tolerated,
        "brought_minor": brought,
        "opening_minor": (ledger - sums.ledger) - (opening - sums.carried) - brought,
        "gap_minor": gap,
        "unexplained_minor": difference - sums.breaks - sums.tolerated - brought,
    }
    jumps = [(book.source, jump) for book in books for jump in book.jumps]
    line["holds"] = not (line["unexplained_minor"] or line["opening_minor"] or gap or jumps)
    line["note"] = _note(line, jumps, worked_out=closing is None)
    return line


def _stated(books: Sequence[Book], sums: Sums, before: Mapping[str, Any]) -> tuple[int, int | None]:
    """The statement's balance before its first row, and after its last one if the file tells it."""
    opening = int(before["statement_minor"]) if before else books[0].opening
    if opening is None:
        # The file does not tell: it is taken to have begun where the ledger did.
        opening = 0 if sums.ledger_closing is None else sums.ledger_closing - sums.ledger
    return opening, books[-1].closing


def _note(line: Mapping[str, Any], jumps: Sequence[tuple[str, Jump]], *, worked_out: bool) -> str:
    text = []
    if jumps:
        name, jump = jumps[0]
        expected, found = (money_text(each, line["currency"]) for each in (jump.expected_minor, jump.found_minor))
        more = f", and in {len(jumps) - 1} more" if len(jumps) > 1 else ""
        where = f"the running balance of {name} does not follow in line {jump.line}{more}"
        text.append(f"{where}: {expected} expected, {found} found")
    opening, gap = (money_text(line[name], line["currency"]) for name in ("opening_minor", "gap_minor"))
    if line["opening_minor"]:
        text.append(f"the opening balances differ by {opening}")
    if line["gap_minor"]:
        text.append(f"the statement's balances jump by {gap} beyond its rows")
    if worked_out:
        text.append("the statement gives no closing balance: it is worked out from its rows")
    return "; ".join(text) or EXACT
