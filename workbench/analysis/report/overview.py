"""The overview of a result in a notebook and at a terminal: reconciliation, to do, closed, how to go on."""

from pathlib import Path
from typing import Final

from workbench.analysis.report import bank_reconciliation, captions, totals
from workbench.analysis.report.captions import counted
from workbench.analysis.report.totals import Reconciled
from workbench.text.render import Table, sentence
from workbench.visible import visible

_GO_ON: Final = (
    'Go on with result.breaks, result.matches and result.proof (tables), result.report("page.html"), '
    'result.to_excel("book.xlsx"), and result.carry_forward for the next run. '
    "Decide with result.decide(), or on the page."
)


def text(result: Reconciled) -> str:
    """The overview as text, for a terminal and a log."""
    return "\n\n".join(visible(block) if isinstance(block, str) else block.text() for block in _blocks(result))


def html(result: Reconciled) -> str:
    """The overview as HTML, for a notebook: paragraphs and captioned tables, without a script."""
    return "".join(f"<p>{sentence(block)}</p>" if isinstance(block, str) else block.html() for block in _blocks(result))


def first(result: Reconciled, width: int | None = None, file: Path | None = None) -> list[Table]:
    """The first tables of every output: the reconciliation of each account, the breaks to settle and those closed.

    Narratives fill a terminal of `width`; `file` has the breaks that are not listed.
    """
    tables = [captions.open_breaks(result, width, file), captions.closed(result)]
    return [*bank_reconciliation.tables(result), *(table for table in tables if table.rows)]


def _blocks(given: Reconciled) -> list[str | Table]:
    result = totals.named(given)
    details = (captions.accounts(result), captions.codes(result))
    many = len(result.suggestions)
    found = [f"{counted(many, 'suggestion')} to look at: result.suggestions"][: min(many, 1)]
    return [
        captions.headline(result), *result.notes, *first(result), *(table for table in details if table.rows),
        *filter(None, [result.carry_forward.note]), *found, result.sign_off, _GO_ON,
    ]  # fmt: skip
