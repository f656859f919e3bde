"""The results of a reconciliation as a workbook to hand over: a sheet for each frame, numbers that can be summed."""

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import pandas as pd
from xlsxwriter import Workbook
from xlsxwriter.exceptions import XlsxWriterException
from xlsxwriter.format import Format
from xlsxwriter.worksheet import Worksheet

from workbench.analysis.files import written_whole
from workbench.analysis.frames import python_rows
from workbench.analysis.report.captions import HEADINGS, PROOF_HEADINGS, heading
from workbench.analysis.report.totals import Reconciled
from workbench.domain.money import decimals_of
from workbench.errors import ReportRefused

SHEETS: Final = ("summary", "matches", "breaks", "ageing", "proof", "inputs")
MAX_ROWS: Final = 1_048_576
"""A sheet has so many rows, the heading's among them."""
_WIDEST: Final = 60
_NARROWEST: Final = 6
_MEASURED_ROWS: Final = 5_000
_CREATED: Final = datetime(2000, 1, 1, tzinfo=UTC)
"""Any fixed moment: two runs over the same inputs are the same file."""
MAX_TEXT: Final = 32_767
"""A cell holds so many units of UTF-16."""
CUT_MARK: Final = " … (cut)"
_MAX_DIGITS: Final = 15
"""A spreadsheet holds and shows so many digits of a number; the next one is lost."""
_FIRST_DAY: Final = date(1900, 3, 1)
"""Spreadsheets believe in a 29 February 1900: what is before is written as text."""
FORMULA_SIGNS: Final = r"=+\-@|%\uff1d\uff0b\uff0d\uff20"
"""With the wide ones, which are taken for the narrow ones."""
BLANKS: Final = r"\s\ufeff\u200b-\u200f\u2060"
_FORMULA: Final = re.compile(rf"[\t\r\n]|[{BLANKS}]*[{FORMULA_SIGNS}]")
Write = Callable[[Worksheet, int, int, Any, Any], str]
"""Write a value that is not None into a cell, given the value of the currency; what is shown of it."""


class Cells:
    """Writes the cells of a workbook, each with the look of its kind."""

    def __init__(self, book: Workbook) -> None:
        def look(num_format: str, **more: object) -> Format:
            return book.add_format({"num_format": num_format, "valign": "top", **more})

        self.heading = book.add_format(
            {"bold": True, "bottom": 1, "valign": "top", "text_wrap": True, "num_format": "@"}
        )
        self._plain = look("@")
        # With the prefix it stays text even when somebody goes into the cell and leaves it again.
        self._hostile = look("@", quote_prefix=True)
        self._number = look("0")
        self._amounts = {places: look("#,##0" + ("." + "0" * places if places else "")) for places in range(4)}
        self._date = look("yyyy-mm-dd", align="left")
        self._time = look("yyyy-mm-dd hh:mm:ss.000", align="left")

    def writer(self, name: str, kind: Any) -> Write:  # noqa: ANN401  pandas has types of many classes
        """How the values of a column of this name and type are written."""
        if name.endswith("_minor"):
            return self._money
        if pd.api.types.is_bool_dtype(kind):
            return self._yes_or_no
        if pd.api.types.is_integer_dtype(kind):
            return self._whole
        return self._dated if str(kind).startswith(("date32", "datetime64")) else self._text

    def _money(self, sheet: Worksheet, row: int, column: int, value: int, currency: str | None) -> str:
        places = decimals_of(currency)
        # A Decimal is written digit by digit; the float of a spreadsheet begins when it is opened.
        sheet.write_number(row, column, _held(Decimal(f"{value}e-{places}"), value), self._amounts[places])
        return f"{value:,}."

    def _whole(self, sheet: Worksheet, row: int, column: int, value: int, _: object) -> str:
        sheet.write_number(row, column, _held(Decimal(value), value), self._number)
        return str(value)

    def _yes_or_no(self, sheet: Worksheet, row: int, column: int, value: object, _: object) -> str:
        sheet.write_boolean(row, column, value, self._plain)
        return str(value)

    def _dated(self, sheet: Worksheet, row: int, column: int, value: date, currency: object) -> str:
        moment = value if isinstance(value, datetime) else None
        if (moment.date() if moment else value) < _FIRST_DAY:
            return self._text(sheet, row, column, value.isoformat(), currency)
        shown, look = (moment.replace(tzinfo=None), self._time) if moment else (value, self._date)
        sheet.write_datetime(row, column, shown, look)
        return value.isoformat()[:23]

    def _text(self, sheet: Worksheet, row: int, column: int, value: object, _: object) -> str:
        text = cut(str(value))
        sheet.write_string(row, column, text, self._hostile if begins_as_formula(text) else self._plain)
        return text


def cut(text: str) -> str:
    """Text as long as a cell can hold, marked where it is not whole."""
    if len(text) <= MAX_TEXT // 2 or len(text.encode("utf-16-le")) <= 2 * MAX_TEXT:
        return text
    kept = text.encode("utf-16-le")[: 2 * (MAX_TEXT - len(CUT_MARK))]
    return kept.decode("utf-16-le", "ignore") + CUT_MARK


def begins_as_formula(text: str) -> bool:
    """Whether a spreadsheet would take a text for a formula if somebody typed it, or opened it in a CSV file."""
    return _FORMULA.match(text) is not None


def _held(number: Decimal, units: int) -> Any:  # noqa: ANN401  xlsxwriter takes a Decimal and declares a float
    if abs(units) >= 10**_MAX_DIGITS:
        raise ReportRefused(
            f"{number:,} has more than {_MAX_DIGITS} digits, and a spreadsheet would lose the last.",
            hint="Write the breaks to a .csv or .parquet file, which hold every digit.",
        )
    return number


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
            # After a refusal too: that closes what it has open.
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
    for column, text in enumerate(headings):
        sheet.write_string(0, column, text, cells.heading)
    writers = [cells.writer(each, frame.dtypes[each]) for each in names]
    widths = _write_rows(sheet, frame, writers, [len(text) + 3 for text in headings])
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
