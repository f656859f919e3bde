"""Cuts CSV files and the sheets of workbooks into numbered rows of cells, and reads the labels above the header."""

import codecs
import csv
import hashlib
import io
import zlib
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime, time
from decimal import Decimal
from functools import partial
from math import isfinite
from pathlib import Path
from typing import IO, Any, Final, NamedTuple
from xml.parsers.expat import ExpatError
from zipfile import BadZipFile

import numpy as np
import pyarrow as pa
import pyarrow.csv
import python_calamine
from numpy.typing import NDArray

from workbench.analysis.frames import release_unused
from workbench.analysis.statements.cells import (
    Amounts,
    Cell,
    Column,
    Whole,
    Wrong,
    all_hold,
    currencies_named,
    error_in,
    refused,
    shown,
    text_of,
)
from workbench.analysis.statements.dates import DateFormat
from workbench.analysis.statements.layouts import CODE, PREAMBLE_FIELDS, Layout, Preamble, heading_key
from workbench.analysis.statements.workbooks import MOST_CELLS, Failed, inspected
from workbench.domain.moments import moment
from workbench.domain.money import ISO_4217
from workbench.errors import StatementRefused

Line = tuple[int, list[Cell]]
"""The number of a line, from 1 in its file or sheet, and its cells."""
_ZIP: Final = b"PK\x03\x04"
_OLD_OFFICE: Final = bytes.fromhex("d0cf11e0a1b11ae1")
_ENCRYPTED: Final = "EncryptedPackage".encode("utf-16-le")
_MARKS: Final = {b"\xef\xbb\xbf": "utf-8-sig", b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}
_UTF_32: Final = (b"\xff\xfe\x00\x00", b"\x00\x00\xfe\xff")
_PAGE = "a web page or XML", "Open it in a spreadsheet, and save it as .xlsx or .csv."
_OTHERS: Final[Mapping[bytes, tuple[str, str]]] = {
    **dict.fromkeys((b"<!doctype", b"<html", b"<table", b"<?xml"), _PAGE),
    b"%pdf": ("a PDF", "Ask for the statement as .csv or .xlsx: a printed page does not show where its columns are."),
    b"\x1f\x8b": ("packed", "Unpack it first."),
}
"""The first bytes of a file that cannot be read as a statement → what the file is, and what to do."""
EXPORT_AGAIN: Final = "Export it again."
_HEAD: Final = 4096
_BLOCK: Final = 1 << 20
_DAMAGES: Final = (
    python_calamine.CalamineError, BadZipFile, ExpatError, zlib.error, OSError, EOFError, ValueError, RuntimeError,
)  # fmt: skip
"""The exceptions of reading a damaged file; RuntimeError for parts that are encrypted or packed in another way."""
_LONGEST_CELL: Final = 1 << 20
"""The most characters of a cell; by default the csv module takes 131,072."""


class CellRows(NamedTuple):
    """One way to cut a file into cells."""

    says: str
    """The name of this way in messages, such as `sheet 'October'`."""
    kind: str
    """The kind of file, one of `layouts.KINDS`."""
    delimiter: str | None
    """The character between two cells; None in a sheet."""
    lines: Callable[[], Iterator[Line]]
    """Returns the lines that have anything in them, from the first again at each call."""
    encoding: str | None = None
    """The encoding that a layout must have to use this way; None if the file shows its own."""
    name: str = ""
    """The file's name."""
    columns: Callable[[int, int], "Body | None"] | None = None
    """Turns the lines below a line number into columns, for a width in cells, all at once; None, or a result of None,
    if the lines must be read one by one."""

    def body(self, after: int, width: int) -> "Body":
        """The lines below line `after` as `width` columns."""
        made = self.columns(after, width) if self.columns else None
        return made or _cut((line for line in self.lines() if line[0] > after), width)


class Body(NamedTuple):
    """The rows of a file as columns."""

    lines: Whole
    """The line of each row."""
    columns: list[Column]
    odd: dict[int, list[Cell]]
    """The place of a row → all its cells, if it has more or fewer than the header."""

    def row(self, place: int) -> list[Cell]:
        """The cells of a row."""
        return self.odd.get(place) or [column.row(place) for column in self.columns]

    def only(self, rows: NDArray[np.bool_]) -> "Body":
        """The body with only the rows of this mask."""
        if rows.all():
            return self
        now = np.cumsum(rows) - 1
        odd = {int(now[place]): cells for place, cells in self.odd.items() if rows[place]}
        return Body(self.lines[rows], [column.only(rows) for column in self.columns], odd)


def _cut(lines: Iterable[Line], width: int) -> Body:
    """Turns lines into `width` columns; a row that is shorter, or has further filled cells, is odd."""
    numbers = array("q")
    odd: dict[int, list[Cell]] = {}
    seen: list[dict[Cell, int]] = [{} for _ in range(width)]
    codes = [array("i") for _ in range(width)]
    for place, (number, cells) in enumerate(lines):
        numbers.append(number)
        if len(cells) < width or any(cell != "" for cell in cells[width:]):
            odd[place] = cells
        padded = [*cells[:width], *[""] * (width - len(cells))] if len(cells) != width else cells
        for known, into, cell in zip(seen, codes, padded, strict=True):
            into.append(known.setdefault(cell, len(known)))
    made = [Column([*known], np.array(into, np.int32)) for known, into in zip(seen, codes, strict=True)]
    return Body(np.array(numbers, np.int64), made, odd)


_QUOTE, _LINE_FEED, _RETURN = b'"\n\r'
_ASCII: Final = 128
_BLOCK_BYTES: Final = 4 * _LONGEST_CELL
_LEAST_BETWEEN: Final = 3
"""The least mean number of characters per delimiter, quote or line break in a large file that Arrow cuts."""
_MANY_ODD: Final = 1_000
"""The most rows of another width in a file that Arrow cuts."""
_MOST_COLUMNS: Final = 1_000
"""The most columns of a file that Arrow cuts: each takes memory of its own."""


def _csv_columns(path: Path, encoding: str, delimiter: str, after: int, width: int) -> Body | None:
    """The rows below line `after` as Arrow cuts them, in `width` columns.

    None if the csv module might cut them in another way or refuse them. Arrow accepts a quote that stays open or is
    followed by text, so all quotes are checked before. A file in UTF-8 is read a block at a time; a file in another
    encoding is decoded whole.
    """
    try:
        is_utf_8 = encoding.startswith("utf-8")
        with path.open("rb") if is_utf_8 else io.BytesIO(path.read_bytes().decode(encoding).encode()) as file:
            rows = _rows_in(file, delimiter, after)
            if not len(rows.starts) or rows.widths.max(initial=0) < width:
                return None
            release_unused(len(rows.starts))
            count = int(np.bincount(rows.widths).argmax())
            is_odd = rows.widths != count
            if not width <= count <= _MOST_COLUMNS or is_odd.sum() > _MANY_ODD:
                return None
            odd: dict[int, list[Cell]] = {}
            for place in np.flatnonzero(is_odd).tolist():
                file.seek(int(rows.starts[place]))
                text = file.read(int(rows.stops[place] - rows.starts[place])).decode()
                odd[place] = [*next(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True))]
            file.seek(int(rows.starts[0]))
            columns = _arrow_columns(file, count, delimiter, has_breaks=rows.has_breaks)
    except (pa.ArrowException, csv.Error, UnicodeError):
        return None
    if len(columns[0]) != np.count_nonzero(~is_odd):
        return None
    if odd:
        padded = zip(*([*cells, *[""] * (count - len(cells))] for cells in odd.values()), strict=False)
        # Each odd row first gets its place and the cells of another row, and then its own cells.
        wide = [column.only(np.cumsum(~is_odd) - 1) for column in columns]
        columns = [column.replaced(is_odd, Column.of_cells(cells)) for column, cells in zip(wide, padded, strict=False)]
    whole = Body(rows.lines, columns, {place: cells for place, cells in odd.items() if len(cells) != count})
    beyond = {int(place) for column in columns[width:] for place in np.flatnonzero(~column.has(""))}
    is_blank = all_hold(column.where_blank() for column in columns)
    made = {place: whole.row(place) for place in sorted({*odd, *beyond})}
    kept = {
        place: cells for place, cells in made.items() if len(cells) < width or any(cell != "" for cell in cells[width:])
    }
    return Body(rows.lines, columns[:width], kept).only(~is_blank)


def _arrow_columns(file: IO[bytes], count: int, delimiter: str, *, has_breaks: bool) -> list[Column]:
    """The columns of the rest of a file; rows with more or fewer than `count` cells are left out."""
    names = [str(nth) for nth in range(count)]
    cut = pyarrow.csv.read_csv(
        file,
        pyarrow.csv.ReadOptions(column_names=names, block_size=_BLOCK_BYTES, use_threads=False),
        pyarrow.csv.ParseOptions(
            delimiter=delimiter, newlines_in_values=has_breaks, invalid_row_handler=lambda _: "skip"
        ),
        pyarrow.csv.ConvertOptions(column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=False),
    ).columns
    # Each column of Arrow is freed when it has become a Column.
    return [Column.of(cut.pop(0)) for _ in names]


class _Rows(NamedTuple):
    """The rows of a CSV file: the bytes at which they begin and end, their lines, and their numbers of cells."""

    starts: Whole
    stops: Whole
    lines: Whole
    widths: Whole
    has_breaks: bool
    """True if a cell has a line break in it."""


def _rows_in(file: IO[bytes], delimiter: str, after: int) -> _Rows:
    """The rows below line `after` that are not empty. Raises csv.Error: only the csv module can read the file."""
    begins = len(codecs.BOM_UTF8) * (file.read(len(codecs.BOM_UTF8)) == codecs.BOM_UTF8)
    file.seek(begins)
    parts = zip(*_ends(file, ord(delimiter), begins), strict=True)
    ends, breaks, marks, returns = map(np.concatenate, parts)
    starts, lines = np.append(begins, ends[:-1] + 1), np.append(1, 1 + breaks[:-1])
    sizes = ends - starts
    if sizes.max() > _LONGEST_CELL:
        raise csv.Error
    is_row = (lines > after) & (sizes > returns)
    widths, has_breaks = 1 + np.diff(marks, prepend=0), len(ends) <= breaks[-1]
    return _Rows(starts[is_row], ends[is_row], lines[is_row], widths[is_row], has_breaks)


def _ends(file: IO[bytes], mark: int, at: int) -> Iterator[tuple[NDArray[Any], ...]]:
    """Yields the ends of rows from byte `at` on, block by block: memory holds numbers of rows, not characters.

    A block yields four arrays with an item for each end: its byte, the number of line breaks up to it, the number of
    delimiters up to it, and True if a return comes before it. The last end is that of the file. `mark` is the
    delimiter's byte. Raises csv.Error: quotes, line ends or other characters leave a doubt.
    """
    quotes = breaks = marks = returns = 0
    block, before = file.read(_BLOCK_BYTES), b"\n"
    while block:
        following = file.read(_BLOCK_BYTES)
        # With the character before the block and the one after it, or a line feed at an end of the file.
        octets = np.frombuffer(before + block + (following[:1] or b"\n"), np.uint8)
        inner, is_open = octets[1:-1], quotes % 2
        quoted, broken, marked = (1 + np.flatnonzero(inner == sign) for sign in (_QUOTE, _LINE_FEED, mark))
        quotes += len(quoted)
        returns += int(np.count_nonzero(inner == _RETURN) - np.count_nonzero(octets[broken - 1] == _RETURN))
        ends = broken
        if quoted.size or is_open:
            opens, closes = quoted[is_open::2], quoted[1 - is_open :: 2]
            is_right = np.isin(octets[closes + 1], (mark, _LINE_FEED, _RETURN, _QUOTE)).all()
            if not is_right or not np.isin(octets[opens - 1], (mark, _LINE_FEED, _QUOTE)).all():
                raise csv.Error
            ends, marked = (places[(np.searchsorted(quoted, places) + is_open) % 2 == 0] for places in (broken, marked))
        told = breaks + np.searchsorted(broken, ends, "right"), marks + np.searchsorted(marked, ends)
        yield at + ends - 1, *told, octets[ends - 1] == _RETURN
        breaks, marks, at = breaks + len(broken), marks + len(marked), at + len(inner)
        # Each row and each cell takes memory; a file of little else is read line by line.
        if mark >= _ASCII or not inner.all() or quotes + breaks + marks > max(at // _LEAST_BETWEEN, _BLOCK):
            raise csv.Error
        block, before = following, block[-1:]
    if quotes % 2 or returns:
        raise csv.Error
    yield tuple(np.array([value]) for value in (at, breaks, marks, False))


def _csv_lines(path: Path, encoding: str, delimiter: str) -> Iterator[Line]:
    """Yields the lines of a file that are not blank, as the csv module reads them strictly.

    Raises StatementRefused: another encoding, a cell that is too long, or an open quote, which would swallow rows.
    """
    # The limit is the whole process's: it is raised for every reader, which does no harm, and never lowered.
    csv.field_size_limit(max(csv.field_size_limit(), _LONGEST_CELL))
    with path.open(encoding=encoding, newline="") as handle:
        reader = csv.reader(handle, delimiter=delimiter, strict=True)
        begins = 1
        try:
            for cells in reader:
                if cells and (cells[0].strip() or any(map(str.strip, cells))):
                    yield begins, cells  # type: ignore[misc]  # a list of texts is one of cells that nobody adds to
                begins = reader.line_num + 1
        except csv.Error as wrong:
            # The csv module tells two reasons apart by their words alone.
            if "field limit" in str(wrong):
                why = f"a cell has more than {csv.field_size_limit():,} characters"
                hint = "Shorten it, or close the quote that was left open before it."
            else:
                why = str(wrong)
                hint = "A quote that is not closed, or followed by other text, makes it unclear where the row ends."
            raise refused(
                path.name, f"cannot be split into cells at line {begins}: {why}.", hint=hint, line=begins
            ) from wrong
        except UnicodeError as wrong:
            raise _wrong_encoding(path, encoding, begins) from wrong


def _sheet_lines(sheet: python_calamine.CalamineSheet, failed: Failed) -> Iterator[Line]:
    """Yields a sheet's rows that are not blank, with results of formulas and the errors in `failed`."""
    # The sheet begins with its first column that has anything in it.
    _, first = sheet.start or (0, 0)
    for number, row in enumerate(sheet.iter_rows(), 1):
        cells = [value if type(value) is str else _cell(value) for value in row]
        for column, error in failed.get(number, {}).items():
            cells[column - 1 - first] = error
        if any(cell != "" and (type(cell) is not str or cell.strip()) for cell in cells):
            yield number, cells


def digest_of(path: Path) -> str:
    """The SHA-256 of a file. Raises StatementRefused: no file, a folder, unreadable, or empty."""
    try:
        if path.is_dir():
            raise refused(path.name, "is a folder; name a file.")
        with path.open("rb") as handle:
            digest = hashlib.file_digest(handle, "sha256").hexdigest()
            size = handle.tell()
    except OSError as wrong:
        why = "there is no such file" if isinstance(wrong, FileNotFoundError) else wrong.strerror
        raise refused(path.name, f"cannot be read: {why}.", hint="Check its name, and that you may open it.") from wrong
    if not size:
        raise refused(path.name, "is empty.", hint=EXPORT_AGAIN)
    return digest


def cell_rows_of(path: Path, ways: Iterable[tuple[str, str]]) -> list[CellRows]:
    """Every way in which a file can be cut into cells, by its content and not its name.

    `ways` are pairs of encoding and delimiter for CSV; a file that shows its own encoding is read by that.

    Raises StatementRefused: an older, encrypted or damaged workbook, or a file that is not text.
    """
    with path.open("rb") as handle:
        head = handle.read(_HEAD)
    if head.startswith(_ZIP):
        return list(_sheets(path))
    if head.startswith(_OLD_OFFICE):
        if _ENCRYPTED in path.read_bytes():
            raise refused(path.name, "is encrypted.", hint="Open it with its password and save it without one.")
        raise refused(path.name, "is a workbook of a format older than .xlsx.", hint="Save it as .xlsx or .csv.")
    for mark, (what, hint) in _OTHERS.items():
        if head.lstrip().lower().startswith(mark):
            raise refused(path.name, f"is {what}, whatever its name says.", hint=hint)
    if head.startswith(_UTF_32) or (b"\0" in head and not head.startswith(tuple(_MARKS))):
        text = "is not text in UTF-8 or UTF-16 (with a byte order mark), and not an .xlsx workbook."
        raise refused(path.name, text, hint=f"{EXPORT_AGAIN[:-1]}, as .csv in UTF-8 or as .xlsx.")
    sure = next((encoding for mark, encoding in _MARKS.items() if head.startswith(mark)), None) or _utf_8(path)
    return [
        CellRows(
            f"{encoding}, delimiter {mark!r}",
            "csv",
            mark,
            partial(_csv_lines, path, encoding, mark),
            None if sure else encoding,
            path.name,
            partial(_csv_columns, path, encoding, mark),
        )
        for encoding, mark in dict.fromkeys((sure or encoding, mark) for encoding, mark in ways)
    ]


def _utf_8(path: Path) -> str | None:
    """`utf-8` if the whole file decodes as UTF-8, which text in another encoding hardly ever does; else None."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        with path.open("rb") as handle:
            while block := handle.read(_BLOCK):
                decoder.decode(block)
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return None
    return "utf-8"


def _sheets(path: Path) -> Iterator[CellRows]:
    try:
        failed = inspected(path)
        with path.open("rb") as file:
            # Given a path, the reader would go by its ending.
            book = python_calamine.CalamineWorkbook.from_filelike(file)
        cells = 0
        for number in range(len(book.sheet_names)):
            sheet = book.get_sheet_by_index(number)
            row, column = sheet.end or (-1, -1)
            cells += (row + 1) * (column + 1)
            if cells > MOST_CELLS:
                raise refused(
                    path.name,
                    f"is too large: its sheets have {cells:,} cells, empty ones included, "
                    f"and at most {MOST_CELLS:,} are read.",
                    hint="Keep the sheet with the rows, or save it as .csv.",
                )
            yield CellRows(
                f"sheet {sheet.name!r}",
                "xlsx",
                None,
                partial(_sheet_lines, sheet, failed.get(sheet.name, {})),
                name=path.name,
            )
    except _DAMAGES as wrong:
        # A ValueError is ours, and says where; the others speak of the insides of a zip file.
        why = f" ({wrong})" if type(wrong) is ValueError else ""
        text = f"cannot be opened as a workbook: it is damaged or incomplete{why}."
        raise refused(path.name, text, hint=EXPORT_AGAIN) from wrong


def _wrong_encoding(path: Path, encoding: str, after: int) -> StatementRefused:
    """The refusal of a file in another encoding; for UTF-8 it names the first wrong line, else line `after`."""
    line = after
    if encoding.startswith("utf-8"):
        with path.open("rb") as handle:
            others = (number for number, raw in enumerate(handle, 1) if raw.decode(errors="ignore").encode() != raw)
            line = next(others, after)
    return refused(
        path.name,
        f"is not text in {encoding}: line {line} has other bytes.",
        hint="Save it as UTF-8, or declare its encoding in the layout: encoding='latin-1'.",
        line=line,
        encoding=encoding,
    )


def without_strays(body: Body, told: Iterable[int]) -> Body:
    """Leaves out rows that are empty in the columns `told`, and elsewhere hold nothing but errors of formulas."""
    is_stray = all_hold(body.columns[place].has("") for place in told)
    for place in np.flatnonzero(is_stray).tolist():
        is_stray[place] = all(cell == "" or error_in(cell) for cell in body.row(place))
    return body.only(~is_stray)


def of_sections(body: Body, moves: Iterable[int]) -> Body:
    """The rows with an amount in the columns `moves`, each with the account of its section in its first cell."""
    titles, *others = body.columns
    texts = ["", *(text_of(cell).strip() for cell in titles.cells())]
    codes = np.append(0, titles.codes + 1)
    is_row = np.array([not text for text in texts])[codes]
    above = np.maximum.accumulate(np.where(is_row, 0, np.arange(len(is_row))))
    account = Column(texts, codes[above][1:])
    is_moved = np.any([~body.columns[place].has("") for place in moves], axis=0)
    return Body(body.lines, [account, *others], body.odd).only(is_row[1:] & is_moved)


def continued(body: Body, narrative: int, ends: Sequence[str]) -> tuple[Body, list[int]]:
    """Joins each line with a narrative alone to the row above it, as statements copied from a PDF need it.

    `narrative` is the place of its column; a line that begins with one of `ends` is a total or a balance, and stays.
    Returns the body, and the numbers of the joined lines.
    """
    others = [column for place, column in enumerate(body.columns) if place != narrative]
    is_joined = all_hold(column.where_blank() for column in others) if others else np.zeros(len(body.lines), bool)
    column, odd, above = body.columns[narrative], dict(body.odd), -1
    told: dict[int, str] = {}
    for place in np.flatnonzero(is_joined).tolist():
        cells = body.row(place)
        text = text_of(column.row(place)).strip()
        is_alone = all(nth == narrative or not text_of(cell).strip() for nth, cell in enumerate(cells))
        is_joined[place] = place and is_alone and text and not heading_key(text).startswith(tuple(ends))
        if not is_joined[place]:
            continue
        above = above if place and is_joined[place - 1] else place - 1
        told[above] = f"{told.get(above, text_of(column.row(above)).strip())} {text}".strip()
        if above in odd:
            odd[above] = [*odd[above], *[""] * (narrative + 1 - len(odd[above]))]
    if not told:
        return body, []
    odd = {place: cells for place, cells in odd.items() if len(cells) != len(body.columns)}
    where = np.isin(np.arange(len(body.lines)), [*told])
    columns = [*body.columns]
    columns[narrative] = column.replaced(where, Column.of_cells(told.values()))
    return Body(body.lines, columns, odd).only(~is_joined), body.lines[is_joined].tolist()


def _cell(value: object) -> Cell:
    """A workbook's value as a cell: a number by its shortest decimal, a day as its midnight, others as text."""
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, float | int) and isfinite(value):
        return Decimal(repr(value))
    if isinstance(value, datetime):
        return value
    if isinstance(value, date):
        return datetime.combine(value, time())
    return str(value)


_ENDS: Final = {"first": 0, "last": -1}
"""Field → the place of its day in a value that has both days."""
_WANTED: Final = {"currency": "a currency's code", "opening": "an amount", "closing": "an amount"}


def declared_in(name: str, layout: Layout, above: Sequence[Line], currency: str | None = None) -> tuple[Preamble, int]:
    """Reads the preamble, and returns it with the line of its closing balance, or 0 without one.

    A line has labels, each before its value: `Label,value`, `Label:,value` or `Label: value`. `currency` is the
    caller's. Raises StatementRefused: a value that is no day, code or amount, a label with two different values, a
    balance in another currency than the file's, or a period that ends before it begins.
    """
    labels = {field: heading_key(label) for field, label in layout.preamble.items()}
    made: dict[str, tuple[int, Any]] = {}
    named: set[str] = set()
    said = [
        (line, field, label, value)
        for line, cells in above
        for label, value in pairs_of(cells)
        for field in labels
        if labels[field] == heading_key(label) and value != ""
    ]
    # The currency first: the balances are read by its decimals, and may stand above it.
    told = next((code for _, field, _, value in said if field == "currency" and (code := code_in(value))), None)
    of_file = currency or told or layout.currency
    readers = _readers(layout, of_file, [(field, value) for _, field, _, value in said if field in _ENDS])
    for line, field, label, value in said:
        read = readers[field](value)
        if read is None or isinstance(read, Wrong):
            written = " or ".join(layout.preamble_dates)
            why = read or f"{shown(value)} is not {_WANTED.get(field, f'a day written as {written}')}"
            raise StatementRefused(f"{name}, line {line}: {label} {why}.", file=name, line=line, label=label)
        named.update(currencies_named(value) if field in ("opening", "closing") else ())
        if made.setdefault(field, (line, read))[1] != read:
            raise refused(name, f"has two values for {label}, the other in line {line}.", line=line)
    declared = Preamble(*(made.get(field, (0, None))[1] for field in PREAMBLE_FIELDS))
    if named and of_file not in named:
        raise refused(name, f"has balances in {' or '.join(sorted(named))} above its header, and is in {of_file}.")
    if declared.first and declared.last and declared.first > declared.last:
        text = f"has a period that ends on {declared.last}, before it begins on {declared.first}."
        raise refused(name, text, hint=f"Days are read as {' or '.join(layout.preamble_dates)}.")
    return declared, made.get("closing", (0, None))[0]


def pairs_of(cells: list[Cell]) -> Iterator[tuple[str, Cell]]:
    """Yields the labels in a line, each with its value: both in one cell with a colon, or in two cells."""
    filled = [cell for cell in cells if cell != ""]
    if len(filled) == 1:
        label, _, value = text_of(filled[0]).partition(":")
        yield label, value.strip()
    for heading, cell in zip(filled[::2], filled[1::2], strict=False):
        yield text_of(heading).strip().removesuffix(":"), cell


def code_in(cell: Cell) -> str | None:
    """The code of a currency in a cell above the header; words may follow a known code, as in `ZMW (Kwacha)`."""
    text = text_of(cell).strip().upper()
    code = text[:3]
    return code if CODE.fullmatch(text) or (code in ISO_4217 and not text[3:4].isalnum()) else None


def _readers(layout: Layout, currency: str, ends: Sequence[tuple[str, Cell]]) -> dict[str, Callable[[Cell], Any]]:
    """Field of the preamble → the reader of its value.

    `ends` are the fields and values of the period's days. The formats that read all of these are used, or all formats
    if none does.
    """
    amounts = Amounts(layout.decimal, layout.thousands, currency, is_minor=layout.is_minor)
    is_one_cell = layout.preamble.get("first") == layout.preamble.get("last")

    def read(days: DateFormat, field: str, cell: Cell) -> date | None:
        if isinstance(cell, datetime):
            return cell.date()
        text = text_of(cell).strip()
        at = days.all_in(text) if is_one_cell else [days.read(text)]
        found = at[_ENDS[field]] if at else None
        return None if found is None else moment(found).date()

    formats = [*map(DateFormat, layout.preamble_dates)]
    formats = [date_format for date_format in formats if all(read(date_format, *end) for end in ends)] or formats

    def day(field: str, cell: Cell) -> date | Wrong | None:
        found = sorted({at for date_format in formats if (at := read(date_format, field, cell))})
        if len(found) > 1:
            return Wrong(f"{shown(cell)} is {' or '.join(map(str, found))}: keep one of them in preamble_date")
        return found[0] if found else None

    return {
        "account": lambda cell: text_of(cell).strip(),
        "currency": code_in,
        **{field: partial(day, field) for field in _ENDS},
        **dict.fromkeys(("opening", "closing"), amounts.read),
    }
