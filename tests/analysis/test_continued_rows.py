"""Statements copied from a PDF: a narrative that goes on in lines of its own belongs to the row above them."""

from pathlib import Path

import pandas as pd

from workbench import draft_layout, read_ledger, read_statement, reconcile
from workbench.analysis.statements import Check, Layout

LINES = """Date,Reference,Description,Debit,Credit,Balance
13/10/2026,A1,TRANSFER FROM,,500.00,500.00
14/10/2026,A2,SETTLEMENT OF,,300.00,800.00
,,MTN COLLECTIONS,,,
,,REF 771204,,,
15/10/2026,A3,CHARGE,20.00,,780.00
16/10/2026,A4,RENT,100.00,,680.00
,,OCTOBER,,,
"""
COLUMNS = {
    "moment": "Date", "key": "Reference", "description": "Description", "debit": "Debit", "credit": "Credit",
    "balance": "Balance",
}  # fmt: skip
NARRATIVES = ["TRANSFER FROM", "SETTLEMENT OF MTN COLLECTIONS REF 771204", "CHARGE", "RENT OCTOBER"]
SAID = "Lines 4, 5, 8 have a narrative alone: it was added to the row above."


def written(folder: Path, text: str = LINES) -> Path:
    (folder / "bank.csv").write_text(text, "utf-8")
    return folder / "bank.csv"


def test_a_narrative_in_lines_of_its_own_is_joined_to_the_row_above_and_that_is_said(tmp_path: Path):
    layout = Layout("bank", COLUMNS, ("%d/%m/%Y",), account="bank:settlement", key_pattern="REF (?P<related>[0-9]+)")
    statement = read_statement(written(tmp_path), layout=layout)
    assert statement.rows["description"].tolist() == NARRATIVES
    assert statement.rows["line"].tolist() == [2, 3, 6, 7]
    assert statement.rows["related"].tolist()[1] == "771204", "a pattern sees the whole narrative"
    assert statement.rows["problem"].isna().all()
    assert (statement.joined, statement.continued) == ((4, 5, 8), SAID)
    assert statement.follows == "agrees in every row"
    ours = pd.DataFrame([{"account": "bank:settlement", "key": "A1", "occurred_at": "2026-10-13", "amount": "500.00"}])
    assert f"bank.csv: {SAID}" in reconcile(ours, statement).notes


def test_the_draft_takes_none_of_them_for_a_total_and_reads_them_all(tmp_path: Path):
    draft = draft_layout(written(tmp_path, LINES + "Total,,,120.00,800.00,\n"))
    assert draft.declared["footers"] == ["Total"]
    assert SAID in Check(draft.statement()).text()
    assert draft.statement().rows["description"].tolist() == NARRATIVES
    assert f"# {SAID}" in draft.toml


def test_a_line_that_is_a_total_or_stands_first_is_joined_to_nothing(tmp_path: Path):
    first, *rest = LINES.splitlines(keepends=True)
    layout = Layout("bank", COLUMNS, ("%d/%m/%Y",), account="bank:settlement", footers=("Closing",))
    statement = read_statement(
        written(tmp_path, "".join([first, ",,ALONE,,,\n", *rest, ",,Closing balance,,,\n"])), layout=layout
    )
    assert statement.joined == (5, 6, 9)
    assert statement.rows["line"].tolist() == [2, 3, 4, 7, 8]
    assert statement.rows["problem"].notna().tolist() == [True, *[False] * 4]


def test_a_ledger_is_read_so_too(tmp_path: Path):
    layout = Layout("books", COLUMNS, ("%d/%m/%Y",))
    books = read_ledger(written(tmp_path), layout=layout, account="bank:settlement")
    assert books.rows["key"].tolist() == ["A1", "A2", "A3", "A4"]
    assert books.rows["direction"].tolist() == ["out", "out", "in", "in"]
