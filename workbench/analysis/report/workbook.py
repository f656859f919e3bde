"""The results as an Excel workbook: a cover with the reconciliation, and a sheet for each table."""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import pandas as pd
from xlsxwriter import Workbook
from xlsxwriter.exceptions import XlsxWriterException
from xlsxwriter.format import Format
from xlsxwriter.utility import xl_col_to_name
from xlsxwriter.worksheet import Worksheet

from workbench.analysis.break_codes import VERDICTS, has_key
from workbench.analysis.files import MAX_TEXT, NUMBER_FORMATS, written_whole
from workbench.analysis.frames import python_rows
from workbench.analysis.report import captions, totals
from workbench.analysis.report.captions import HEADINGS, PROOF_HEADINGS, heading, key_text
from workbench.analysis.report.totals import Balances, Reconciled
from workbench.domain.money import decimals_of, major
from workbench.errors import ReportRefused
from workbench.visible import begins_as_formula

COVER, BREAKS, SUGGESTIONS, CLOSED, MATCHES = "cover", "breaks", "suggestions", "closed", "matches"
FRAMES: Final = ("summary", "ageing", "proof", "inputs")
_HEADINGS: Final[Mapping[str, Mapping[str, str]]] = {"proof": PROOF_HEADINGS, SUGGESTIONS: {}}
READ: Final[Mapping[str, int]] = {
    "account": 13, "key": 16, "business_date": 11, "code": 14, "description": 19, "words": 10,
    "ledger_amount_minor": 11, "ledger_fee_minor": 8, "ledger_minor": 11, "statement_amount_minor": 11,
    "statement_fee_minor": 8, "statement_minor": 11, "variance_minor": 11, "currency": 8, "since_date": 11,
    "reason": 28, "verdict": 8, "partner": 12, "who": 9, "why": 14,
}  # fmt: skip
"""Columns of a break that people read, fill in and print → their widths in characters; other columns are hidden."""
_WRAPPED: Final = {"account", "key", "code", "description", "words", "reason", "why", "what to do", "owner"}
_COVER: Final = (52, 22, 14, 12, 14, 14, 8, 9, 9, 20)
"""The widths of the cover's columns, in characters; a sentence spans all columns."""
MAX_ROWS: Final = 1_048_576
"""The most rows of a sheet, including the row of headings."""
_LINE: Final = 15
_MOST_LINES: Final = 27
"""The most text lines of a row: a line is _LINE points high, and a row is at most 409 points high."""
_WIDEST: Final = 60
_NARROWEST: Final = 6
_MEASURED_ROWS: Final = 5_000
_CREATED: Final = datetime(2000, 1, 1, tzinfo=UTC)
"""A fixed time of creation, so that two runs over the same inputs write identical files."""
CUT_MARK: Final = " … (cut)"
_MAX_DIGITS: Final = 15
"""The most digits of a number that a spreadsheet stores exactly."""
_FIRST_DAY: Final = date(1900, 3, 1)
"""The first day that is written as a date. Earlier days are text, since spreadsheets count a 29 February 1900."""
Write = Callable[[Worksheet, int, int, Any, Any], str]
"""A function (sheet, row, column, value, currency) that writes the value and returns the text that the cell shows."""


class Cells:
    """The cell formats of a workbook, and functions that write a value in the format of its column."""

    def __init__(self, book: Workbook) -> None:
        def look(num_format: str, **more: object) -> Format:
            return book.add_format({"num_format": num_format, "valign": "top", **more})

        self.heading = book.add_format(
            {"bold": True, "bottom": 1, "valign": "top", "text_wrap": True, "num_format": "@"}
        )
        self.title, self.verdict, self.sentence = (
            book.add_format({"valign": "top", "text_wrap": True, "num_format": "@", "quote_prefix": True, **more})
            for more in ({"bold": True, "font_size": 16}, {"bold": True, "font_size": 12}, {})
        )
        self.label = book.add_format({"bold": True})
        self.indented = book.add_format({"indent": 1})
        self.signature = book.add_format({"bottom": 1, "num_format": "@"})
        self.totals = [book.add_format({"num_format": pattern, "bold": True, "top": 1}) for pattern in NUMBER_FORMATS]
        self._plain = look("@")
        self._wrapped = look("@", text_wrap=True)
        # With the prefix the cell stays text even when somebody goes into it and leaves it again.
        self._hostile = look("@", quote_prefix=True)
        self._muted = look("@", text_wrap=True, italic=True, font_color="#595959")
        self._number = look("0")
        self.amounts = [look(pattern) for pattern in NUMBER_FORMATS]
        self._date = look("yyyy-mm-dd", align="left")

    def writer(self, name: str, values: "pd.Series[Any]") -> Write:
        """The function that writes the cells of the column `name`, chosen by the name and the type of its `values`."""
        if name.endswith("_minor"):
            return self._money
        if (is_bool := pd.api.types.is_bool_dtype(values)) or pd.api.types.is_integer_dtype(values):
            return partial(self._plainly, self._plain if is_bool else self._number)
        if str(values.dtype).startswith("date32"):
            return self._dated
        return self._key if name == "key" else partial(self._text, is_long=name in _WRAPPED)

    def _money(self, sheet: Worksheet, row: int, column: int, value: int, currency: str | None) -> str:
        # A Decimal is written digit by digit; the float of a spreadsheet begins when it is opened.
        sheet.write_number(row, column, _exact(major(value, currency), value), self.amounts[decimals_of(currency)])
        return f"{value:,}."

    def _plainly(self, look: Format, sheet: Worksheet, row: int, column: int, value: int, _: object) -> str:
        _exact(Decimal(value), value)
        sheet.write(row, column, value, look)
        return str(value)

    def _dated(self, sheet: Worksheet, row: int, column: int, value: date, currency: object) -> str:
        if value < _FIRST_DAY:
            return self._text(sheet, row, column, value.isoformat(), currency)
        sheet.write_datetime(row, column, value, self._date)
        return value.isoformat()

    def _text(self, sheet: Worksheet, row: int, column: int, value: object, _: object, *, is_long: bool = False) -> str:
        text, plain = cut(str(value)), self._wrapped if is_long else self._plain
        sheet.write_string(row, column, text, self._hostile if begins_as_formula(text) else plain)
        return text

    def _key(self, sheet: Worksheet, row: int, column: int, value: str, currency: object) -> str:
        if has_key(value):
            return self._text(sheet, row, column, value, currency, is_long=True)
        sheet.write_string(row, column, key_text(value), self._muted)
        return key_text(value)


def cut(text: str) -> str:
    """The text, cut to the length that a cell holds; a cut text ends in CUT_MARK."""
    if len(text) <= MAX_TEXT // 2 or len(text.encode("utf-16-le")) <= 2 * MAX_TEXT:
        return text
    kept = text.encode("utf-16-le")[: 2 * (MAX_TEXT - len(CUT_MARK))]
    return kept.decode("utf-16-le", "ignore") + CUT_MARK


def _exact(number: Decimal, units: int) -> Decimal:
    if abs(units) >= 10**_MAX_DIGITS:
        raise ReportRefused(
            f"{number:,} has more than {_MAX_DIGITS} digits, and a spreadsheet would round it.",
            hint="Write the breaks to a .csv or .parquet file, which hold every digit.",
        )
    return number


def write_workbook(result: Reconciled, path: Path | str, *, matches: bool = False) -> None:
    """Writes a cover, breaks, summary, ageing, proof and inputs to .xlsx; also suggestions and closed breaks, if any.

    The breaks have columns for verdict, partner, owner and comment, filled in for decided breaks. With `matches`, a
    sheet has every matched row. Amounts are in major units of the currency beside them. Raises ReportRefused: a figure
    has more than 15 digits, or the file cannot be written.
    """
    result = totals.named(result)
    with written_whole(Path(path)) as unfinished, TemporaryDirectory() as rows_so_far:
        book = Workbook(str(unfinished), {"constant_memory": True, "tmpdir": rows_so_far})
        book.use_zip64()
        book.set_properties({"title": "Reconciliation", "created": _CREATED})
        try:
            cells = Cells(book)
            _write_cover(book.add_worksheet(COVER), result, cells)
            hidden = [name for name in result.breaks.columns if name not in READ and name != "proposal"]
            breaks = totals.with_withdrawals(totals.settled(result.breaks), result.decisions)[[*READ, *hidden]]
            for sheet in _write_frame(book, BREAKS, breaks, cells, list(READ.values())):
                _fold(sheet, len(hidden))
            optional = [name for name in (SUGGESTIONS, CLOSED) if len(getattr(result, name))]
            for name in (*optional, *FRAMES, *[MATCHES][: int(matches)]):
                _write_frame(book, name, getattr(result, name), cells)
        finally:
            # After a refusal too: the book closes the files that it has open.
            try:
                book.close()
            except XlsxWriterException as error:
                raise ReportRefused(f"The workbook cannot be written: {error}.") from None


def _write_cover(sheet: Worksheet, result: Reconciled, cells: Cells) -> None:
    """Writes the cover: the result, the reconciliation of each account, the work to do, and the signatures."""
    for column, width in enumerate(_COVER):
        sheet.set_column(column, column, width)
    names = [name or "" for side, name in python_rows(result.inputs, "side", "name") if side == "statement"]
    texts = [(f"Reconciliation: {', '.join(names)}", cells.title), (captions.headline(result), cells.verdict)]
    texts += [(note, cells.sentence) for note in result.notes]
    for row, (sentence, look) in enumerate(texts):
        _write_across(sheet, row, sentence, look)
    row = len(texts)
    for account in totals.balances(result):
        _write_across(sheet, row + 1, account.caption, cells.verdict)
        row = _write_balances(sheet, row + 2, account, cells)
    row = _write_to_do(sheet, row + 1, result, cells) + 1
    _write_across(sheet, row, result.sign_off, cells.sentence)
    signed = result.signatures
    for label, who, day in (("Prepared by", *signed[:2]), ("Reviewed by", *signed[2:])):
        row += 2
        for column, text in enumerate((label, who, "on", day)):
            sheet.write_string(row, column, cut(text), cells.label if column in {0, 2} else cells.signature)
    _set_print_layout(sheet)
    sheet.activate()


def _write_across(sheet: Worksheet, row: int, text: str, look: Format) -> None:
    """Writes a sentence over all columns of the cover, and sets the row's height, which merged cells require."""
    shown = cut(text)
    sheet.set_row(row, (15 * look.font_size / 11 + 2) * -(-len(shown) * look.font_size // (11 * sum(_COVER))))
    sheet.merge_range(row, 0, row, len(_COVER) - 1, "", look)
    sheet.write_string(row, 0, shown, look)


def _write_balances(sheet: Worksheet, row: int, account: Balances, cells: Cells) -> int:
    """Writes an account's reconciliation with formulas for adjusted balances and difference; returns the next row."""
    adjusted, decimals = list[str](), decimals_of(account.currency)

    def write_sum(text: str, formula: str, minor: int) -> None:
        sheet.write_string(row, 0, text, cells.label)
        sheet.write_formula(row, 2, formula, cells.totals[decimals], float(major(minor, account.currency)))

    for *lines, last in account.sides:
        first = row + 1
        for line in lines:
            sheet.write_string(row, 0, line.text, cells.label if line.items is None else cells.indented)
            if line.items:
                sheet.write_number(row, 1, line.items)
            sheet.write_number(row, 2, _exact(major(line.minor, account.currency), line.minor), cells.amounts[decimals])
            row += 1
        write_sum(last.text, f"=SUM(C{first}:C{row})", last.minor)
        row += 1
        adjusted.append(f"C{row}")
    formula = f"=ROUND({adjusted[1]}-{adjusted[0]},{decimals})"
    write_sum("Difference: books less statement, both adjusted", formula, account.unexplained_minor)
    return row + 1


def _write_to_do(sheet: Worksheet, row: int, result: Reconciled, cells: Cells) -> int:
    """Writes the open work by code, with net variances as sums over the sheet of breaks; returns the next row."""
    codes = totals.sums_by_code(result)
    to_do = pd.DataFrame(
        [
            (captions.decided(total) if total.is_decided else total.settlement, total.code, total.net_minor,
             total.currency, total.up_minor, -total.down_minor, total.breaks, total.oldest_days, total.decided,
             total.who)
            for total in codes
        ],
        columns=["what to do", "code", "variance_minor", "currency", "ledger has more_minor",
                 "statement has more_minor", "breaks", "oldest, in days", "decided", "owner"],
    )  # fmt: skip
    summed_by = ("variance_minor", "code", "currency")
    letters = (xl_col_to_name(list(READ).index(name)) for name in summed_by)
    sums, code_column, currency_column = (f"{BREAKS}!${letter}:${letter}" for letter in letters)

    def net(sheet: Worksheet, row: int, column: int, value: int, currency: str | None) -> str:
        formula = f"=SUMIFS({sums},{code_column},B{row + 1},{currency_column},D{row + 1})"
        sheet.write_formula(row, column, formula, cells.amounts[decimals_of(currency)], float(major(value, currency)))
        return ""

    # SUMIFS finds nothing by an empty criterion, and misses breaks that go on in another sheet.
    summed = {"variance_minor": net} if len(result.breaks) < MAX_ROWS and all(total.currency for total in codes) else {}
    to_do = to_do.astype({"oldest, in days": "Int64"})
    _write_table(sheet, to_do, cells, HEADINGS, row, _COVER, **summed)
    return row + len(codes) + 1


def _write_frame(
    book: Workbook, name: str, frame: pd.DataFrame, cells: Cells, fixed: Sequence[int] = ()
) -> list[Worksheet]:
    """Writes a frame to as many sheets as its rows need; returns the sheets.

    `fixed` has the columns' widths in characters; if empty, the widths fit the first rows.
    """
    room, sheets = MAX_ROWS - 1, []
    for number, start in enumerate(range(0, max(len(frame), 1), room), start=1):
        sheet, rows = book.add_worksheet(name if number == 1 else f"{name} {number}"), frame.iloc[start : start + room]
        widths = _write_table(sheet, rows, cells, _HEADINGS.get(name, HEADINGS), 0, fixed)
        for column, width in enumerate(fixed or widths):
            sheet.set_column(column, column, min(max(width, _NARROWEST), _WIDEST))
        sheet.freeze_panes(1, 0)
        sheet.autofilter(0, 0, len(rows), max(len(rows.columns) - 1, 0))
        # Numbers of transactions are text here, and meant to be.
        sheet.ignore_errors({"number_stored_as_text": f"A1:XFD{MAX_ROWS}"})
        sheet.repeat_rows(0)
        _set_print_layout(sheet)
        sheets.append(sheet)
    return sheets


def _set_print_layout(sheet: Worksheet) -> None:
    """Sets a sheet to print on A4 landscape, one page wide."""
    sheet.set_landscape()
    sheet.set_paper(9)
    sheet.fit_to_pages(1, 0)
    sheet.set_margins(left=0.4, right=0.4, top=0.5, bottom=0.6)
    sheet.set_footer("&L&A&RPage &P of &N")


def _fold(sheet: Worksheet, hidden_columns: int) -> None:
    """Hides the `hidden_columns` after those in READ, and offers the verdicts as a list."""
    first = len(READ)
    sheet.set_column(first, first + hidden_columns - 1, 12, None, {"level": 1, "hidden": True})
    sheet.set_column(first + hidden_columns, first + hidden_columns, None, None, {"collapsed": True})
    sheet.freeze_panes(1, 2)
    column = list(READ).index("verdict")
    # What people and rules have decided stays, whatever the list offers.
    sheet.data_validation(1, column, MAX_ROWS - 1, column, {"validate": "list", "source": [*VERDICTS, "open"]})


def _write_table(
    sheet: Worksheet, frame: pd.DataFrame, cells: Cells, columns: Mapping[str, str], at: int, fixed: Sequence[int],
    **instead: Write,
) -> list[int]:  # fmt: skip
    """Writes headings and rows from the row `at` on; returns the columns' widths, which fit the first rows.

    `columns` is column → heading. If `fixed` has the columns' widths, each row is made as high as its texts need.
    `instead` is column → a function that writes its cells, in place of the usual function for the type.
    """
    names = [str(name) for name in frame.columns]
    headings = [heading(name, columns) for name in names]
    _make_high(sheet, at, headings, fixed)
    for column, text in enumerate(headings):
        sheet.write_string(at, column, text, cells.heading)
    writers = [instead.get(name) or cells.writer(name, frame[name]) for name in names]
    widths = [len(text) + 3 for text in headings]
    currency = names.index("currency") if "currency" in names else None
    for row, values in enumerate(python_rows(frame, *names), start=at + 1):
        code = None if currency is None else values[currency]
        shown = [
            "" if value is None else write(sheet, row, column, value, code)
            for column, (value, write) in enumerate(zip(values, writers, strict=True))
        ]
        _make_high(sheet, row, shown, fixed)
        if row <= at + _MEASURED_ROWS:
            widths = [max(width, len(text) + 1) for width, text in zip(widths, shown, strict=True)]
    return widths


def _make_high(sheet: Worksheet, row: int, texts: Sequence[str], widths: Sequence[int]) -> None:
    """Makes a row as high as its texts need in columns of these `widths`; without widths the row stays unchanged."""
    if widths:
        # A line holds somewhat less than the width, since words are kept whole.
        high = max(-(-len(text) * 8 // (7 * width)) for text, width in zip(texts, widths, strict=False))
        sheet.set_row(row, _LINE * min(max(high, 1), _MOST_LINES))
