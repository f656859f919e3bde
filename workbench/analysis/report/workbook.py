"""The results of a reconciliation as a workbook to hand over: a cover, and each frame as numbers that can be summed."""

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

from workbench.analysis.breaks import has_key
from workbench.analysis.files import NUMBER_FORMATS, written_whole
from workbench.analysis.frames import python_rows
from workbench.analysis.report import captions, totals
from workbench.analysis.report.captions import HEADINGS, PROOF_HEADINGS, heading
from workbench.analysis.report.totals import Reconciled
from workbench.domain.money import decimals_of, major
from workbench.errors import ReportRefused
from workbench.visible import begins_as_formula

COVER, BREAKS, SUGGESTIONS, PROPOSALS = "cover", "breaks", "suggestions", "proposals"
FRAMES: Final = ("summary", "matches", "ageing", "proof", "inputs")
_HEADINGS: Final[Mapping[str, Mapping[str, str]]] = {"proof": PROOF_HEADINGS, SUGGESTIONS: {}}
PROPOSED: Final = ("id", "account", "key", "code", "entry", "statement", "line", "proposal")
"""What is hidden from people: the entries that would settle a break, as JSON for programs, and which break that is."""
READ: Final[Mapping[str, int]] = {
    "account": 14, "key": 16, "business_date": 11, "code": 15, "description": 22, "words": 10,
    "ledger_amount_minor": 11, "ledger_fee_minor": 8, "ledger_minor": 11, "statement_amount_minor": 11,
    "statement_fee_minor": 9, "statement_minor": 11, "variance_minor": 11, "currency": 8, "since_date": 11,
    "reason": 32, "verdict": 8, "who": 10, "why": 16,
}  # fmt: skip
"""What a person reads, fills in and prints of a break, with the width of the column; the others are folded away."""
_WRAPPED: Final = {"account", "key", "code", "description", "words", "reason", "why", "what to do", "owner"}
_COVER: Final = (44, 24, 14, 9, 22, 18, 8, 12, 9, 20)
"""The widths of its columns, of which a sentence takes all."""
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
        self.title, self.verdict, self.sentence = (
            book.add_format({"valign": "top", "text_wrap": True, "num_format": "@", "quote_prefix": True, **more})
            for more in ({"bold": True, "font_size": 16}, {"bold": True, "font_size": 12}, {})
        )
        self._plain = look("@")
        self._wrapped = look("@", text_wrap=True)
        # With the prefix it stays text even when somebody goes into the cell and leaves it again.
        self._hostile = look("@", quote_prefix=True)
        self._muted = look("@", text_wrap=True, italic=True, font_color="#595959")
        self._number = look("0")
        self._amounts = [look(each) for each in NUMBER_FORMATS]
        self._date = look("yyyy-mm-dd", align="left")

    def writer(self, name: str, kind: Any) -> Write:  # noqa: ANN401  pandas has types of many classes
        """How the values of a column of this name and type are written."""
        if name.endswith("_minor"):
            return self._money
        if pd.api.types.is_bool_dtype(kind):
            return self._yes_or_no
        if pd.api.types.is_integer_dtype(kind):
            return self._whole
        if str(kind).startswith("date32"):
            return self._dated
        if name == "key":
            return self._key
        return self._long if name in _WRAPPED else self._text

    def _money(self, sheet: Worksheet, row: int, column: int, value: int, currency: str | None) -> str:
        # A Decimal is written digit by digit; the float of a spreadsheet begins when it is opened.
        look = self._amounts[decimals_of(currency)]
        sheet.write_number(row, column, _held(major(value, currency), value), look)
        return f"{value:,}."

    def _whole(self, sheet: Worksheet, row: int, column: int, value: int, _: object) -> str:
        sheet.write_number(row, column, _held(Decimal(value), value), self._number)
        return str(value)

    def _yes_or_no(self, sheet: Worksheet, row: int, column: int, value: object, _: object) -> str:
        sheet.write_boolean(row, column, value, self._plain)
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

    def _key(self, sheet: Worksheet, row: int, column: int, value: str, _: object) -> str:
        if has_key(value):
            return self._text(sheet, row, column, value, _, is_long=True)
        sheet.write_string(row, column, captions.key_text(value), self._muted)
        return captions.key_text(value)

    def _long(self, *cell: Any) -> str:  # noqa: ANN401  as above
        return self._text(*cell, is_long=True)


def cut(text: str) -> str:
    """Text as long as a cell can hold, marked where it is not whole."""
    if len(text) <= MAX_TEXT // 2 or len(text.encode("utf-16-le")) <= 2 * MAX_TEXT:
        return text
    kept = text.encode("utf-16-le")[: 2 * (MAX_TEXT - len(CUT_MARK))]
    return kept.decode("utf-16-le", "ignore") + CUT_MARK


def _held(number: Decimal, units: int) -> Any:  # noqa: ANN401  xlsxwriter takes a Decimal and declares a float
    if abs(units) >= 10**_MAX_DIGITS:
        raise ReportRefused(
            f"{number:,} has more than {_MAX_DIGITS} digits, and a spreadsheet would round it.",
            hint="Write the breaks to a .csv or .parquet file, which hold every digit.",
        )
    return number


def write_workbook(result: Reconciled, path: Path | str, *, moment: datetime | None = None) -> None:
    """Write a cover, and breaks, summary, matches, ageing, proof and inputs, to an .xlsx file; suggestions if any.

    The breaks have empty columns for owner and comment, filled where somebody has decided; the JSON of proposals
    stands on a sheet of its own, which is hidden.

    Amounts are in major units of the currency beside them. `moment`, if given, is noted as when it was made.
    Raises ReportRefused: a figure has more than 15 digits, or the file cannot be written.
    """
    result = totals.named(result)
    with written_whole(Path(path)) as unfinished, TemporaryDirectory() as rows_so_far:
        book = Workbook(str(unfinished), {"constant_memory": True, "tmpdir": rows_so_far})
        book.use_zip64()
        book.set_properties({"title": "Reconciliation", "created": moment or _CREATED})
        try:
            cells = Cells(book)
            _write_cover(book.add_worksheet(COVER), result, cells)
            rest = [name for name in result.breaks.columns if name not in READ and name != "proposal"]
            for sheet in _write_frame(book, BREAKS, totals.settled(result.breaks)[[*READ, *rest]], cells):
                _fold(sheet, len(rest))
            for name in (*[SUGGESTIONS][: len(result.suggestions)], *FRAMES):
                _write_frame(book, name, getattr(result, name), cells)
            proposed = result.breaks.loc[result.breaks["proposal"].notna(), list(PROPOSED)]
            for sheet in _write_frame(book, PROPOSALS, proposed, cells):
                sheet.hide()
        finally:
            # After a refusal too: that closes what it has open.
            try:
                book.close()
            except XlsxWriterException as error:
                raise ReportRefused(f"The workbook cannot be written: {error}.") from None


def _write_cover(sheet: Worksheet, result: Reconciled, cells: Cells) -> None:
    """Verdict, proof in one picture, what to do and by whom."""
    names = [name or "" for side, name in python_rows(result.inputs, "side", "name") if side == "statement"]
    sentences = [*result.notes, *captions.proofs(result), result.sign_off]
    texts = [(f"Reconciliation: {', '.join(names)}", cells.title), (captions.headline(result), cells.verdict)]
    last = len(_COVER) - 1
    for row, (text, look) in enumerate([*texts, *((each, cells.sentence) for each in sentences)]):
        shown = cut(text)
        # What is merged is never made high enough by itself.
        sheet.set_row(row, (24 if look is cells.title else 16) * -(-len(shown) // sum(_COVER)))
        sheet.merge_range(row, 0, row, last, "", look)
        sheet.write_string(row, 0, shown, look)
    most = captions.most_of(parts := totals.parts_of(result))
    pictured = pd.DataFrame(
        [(*each[:1], each[2], each[3], each[1], captions.bar(each[3], most[each[0]])) for each in parts],
        columns=["account", "difference, made of", "net_minor", "currency", "in one picture"],
    )
    to_do = pd.DataFrame(
        [
            (captions.decided(each) if each.is_decided else each.settlement, each.code, each.net_minor, each.currency,
             each.up_minor, each.down_minor, each.breaks, each.oldest_days, each.decided, each.who)
            for each in totals.by_code(result)
        ],
        columns=["what to do", "code", "net_minor", "currency", "ledger has more_minor", "statement has more_minor",
                 "breaks", "oldest, in days", "decided", "owner"],
    )  # fmt: skip
    row = len(texts) + len(sentences) + 1
    for frame in (pictured, to_do.astype({"oldest, in days": "Int64"})):
        _write_table(sheet, frame, cells, HEADINGS, row)
        row += len(frame) + 2
    for column, width in enumerate(_COVER):
        sheet.set_column(column, column, width)
    _printed(sheet)
    sheet.activate()


def _write_frame(book: Workbook, name: str, frame: pd.DataFrame, cells: Cells) -> list[Worksheet]:
    """A frame on one sheet, or on as many as its rows need."""
    room, made = MAX_ROWS - 1, []
    for number, start in enumerate(range(0, max(len(frame), 1), room), start=1):
        sheet = book.add_worksheet(name if number == 1 else f"{name} {number}")
        _write_sheet(sheet, frame.iloc[start : start + room], cells, _HEADINGS.get(name, HEADINGS))
        made.append(sheet)
    return made


def _write_sheet(sheet: Worksheet, frame: pd.DataFrame, cells: Cells, called: Mapping[str, str]) -> None:
    for column, width in enumerate(_write_table(sheet, frame, cells, called)):
        sheet.set_column(column, column, min(max(width, _NARROWEST), _WIDEST))
    sheet.freeze_panes(1, 0)
    sheet.autofilter(0, 0, len(frame), max(len(frame.columns) - 1, 0))
    # Numbers of transactions are text here, and meant to be.
    sheet.ignore_errors({"number_stored_as_text": f"A1:XFD{MAX_ROWS}"})
    sheet.repeat_rows(0)
    _printed(sheet)


def _printed(sheet: Worksheet) -> None:
    """On A4 across, as wide as a page."""
    sheet.set_landscape()
    sheet.set_paper(9)
    sheet.fit_to_pages(1, 0)
    sheet.set_margins(left=0.4, right=0.4, top=0.5, bottom=0.6)
    sheet.set_footer("&L&A&RPage &P of &N")


def _fold(sheet: Worksheet, rest: int) -> None:
    """Show of the breaks what is read; the rest, behind it, is folded away, and unfolds at the margin."""
    for column, width in enumerate(READ.values()):
        sheet.set_column(column, column, width)
    first = len(READ)
    sheet.set_column(first, first + rest - 1, 12, None, {"level": 1, "hidden": True})
    sheet.set_column(first + rest, first + rest, None, None, {"collapsed": True})
    sheet.freeze_panes(1, 2)


def _write_table(
    sheet: Worksheet, frame: pd.DataFrame, cells: Cells, called: Mapping[str, str], at: int = 0
) -> list[int]:
    """Headings and rows from the row `at` on; how wide each column is."""
    headings = [heading(str(each), called) for each in frame.columns]
    for column, text in enumerate(headings):
        sheet.write_string(at, column, text, cells.heading)
    writers = [cells.writer(str(each), frame.dtypes[each]) for each in frame.columns]
    return _write_rows(sheet, frame, writers, [len(text) + 3 for text in headings], at + 1)


def _write_rows(
    sheet: Worksheet, frame: pd.DataFrame, writers: Sequence[Write], widths: list[int], first: int
) -> list[int]:
    """Write the rows from the row `first` on; how wide each column is, going by the first of them."""
    names = list(frame.columns)
    currency = names.index("currency") if "currency" in names else None
    for row, cells in enumerate(python_rows(frame, *names), start=first):
        code = None if currency is None else cells[currency]
        shown = [
            "" if value is None else write(sheet, row, column, value, code)
            for column, (value, write) in enumerate(zip(cells, writers, strict=True))
        ]
        if row < first + _MEASURED_ROWS:
            widths = [max(width, len(text) + 1) for width, text in zip(widths, shown, strict=True)]
    return widths
