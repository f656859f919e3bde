"""The results of a reconciliation as a workbook to hand over: a sheet for each frame, numbers that can be summed.

Nothing in it is a formula: every text of the inputs is written as text. The same results give the same bytes.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import pandas as pd
from xlsxwriter import Workbook
from xlsxwriter.exceptions import XlsxWriterException
from xlsxwriter.worksheet import Worksheet

from workbench.analysis.frames import python_rows
from workbench.analysis.report.cells import HEADINGS, PROOF_HEADINGS, Cells, Write, heading
from workbench.analysis.report.source import Reconciled
from workbench.analysis.report.whole import written_whole
from workbench.errors import ReportRefused

SHEETS: Final = ("summary", "matches", "breaks", "ageing", "proof", "inputs")
MAX_ROWS: Final = 1_048_576
"""A sheet has so many rows, the heading's among them."""
_WIDEST: Final = 60
_NARROWEST: Final = 6
_MEASURED_ROWS: Final = 5_000
_CREATED: Final = datetime(2000, 1, 1, tzinfo=UTC)
"""Any fixed moment: two runs over the same inputs are the same file."""


def write_workbook(result: Reconciled, path: Path | str, *, moment: datetime | None = None) -> None:
    """Write summary, matches, breaks, ageing, proof and inputs to an .xlsx file.

    Amounts are in major units of the currency beside them. `moment`, if given, is noted as when it was made.
    Raises ReportRefused: a figure has more than 15 digits, or the file cannot be written.
    """
    with written_whole(Path(path)) as unfinished, TemporaryDirectory() as rows_so_far:
        book = Workbook(str(unfinished), {"constant_memory": True, "tmpdir": rows_so_far})
        book.use_zip64()
        book.set_properties({"title": "Reconciliation", "created": moment or _CREATED})
        try:
            cells = Cells(book)
            for name in SHEETS:
                _write_frame(book, name, getattr(result, name), cells)
        finally:
            _close(book)


def _close(book: Workbook) -> None:
    """Write it out, after a refusal too: that closes what it has open."""
    try:
        book.close()
    except XlsxWriterException as error:
        raise ReportRefused(f"The workbook cannot be written: {error}.") from None


def _write_frame(book: Workbook, name: str, frame: pd.DataFrame, cells: Cells) -> None:
    """A frame on one sheet, or on as many as its rows need."""
    room = MAX_ROWS - 1
    for number, start in enumerate(range(0, max(len(frame), 1), room), start=1):
        sheet = book.add_worksheet(name if number == 1 else f"{name} {number}")
        names = PROOF_HEADINGS if name == "proof" else HEADINGS
        _write_sheet(sheet, frame.iloc[start : start + room], cells, names)


def _write_sheet(sheet: Worksheet, frame: pd.DataFrame, cells: Cells, called: Mapping[str, str]) -> None:
    names = list(frame.columns)
    headings = [heading(each, called) for each in names]
    for column, words in enumerate(headings):
        sheet.write_string(0, column, words, cells.heading)
    writers = [cells.writer(each, frame.dtypes[each]) for each in names]
    widths = _write_rows(sheet, frame, writers, [len(words) + 3 for words in headings])
    for column, width in enumerate(widths):
        sheet.set_column(column, column, min(max(width, _NARROWEST), _WIDEST))
    last = max(len(names) - 1, 0)
    sheet.freeze_panes(1, 0)
    sheet.autofilter(0, 0, len(frame), last)
    # Numbers of transactions are text here, and meant to be.
    sheet.ignore_errors({"number_stored_as_text": f"A1:XFD{MAX_ROWS}"})
    sheet.repeat_rows(0)
    sheet.set_landscape()
    sheet.set_paper(9)
    sheet.fit_to_pages(1, 0)
    sheet.set_footer("&L&A&RPage &P of &N")


def _write_rows(sheet: Worksheet, frame: pd.DataFrame, writers: Sequence[Write], widths: list[int]) -> list[int]:
    """Write the rows below the heading; how wide each column is, going by the first of them."""
    names = list(frame.columns)
    currency = names.index("currency") if "currency" in names else None
    for row, cells in enumerate(python_rows(frame, *names), start=1):
        code = None if currency is None else cells[currency]
        shown = [
            "" if value is None else write(sheet, row, column, value, code)
            for column, (value, write) in enumerate(zip(cells, writers, strict=True))
        ]
        if row <= _MEASURED_ROWS:
            widths = [max(width, len(text) + 1) for width, text in zip(widths, shown, strict=True)]
    return widths
