"""Splits a file into cells: CSV by Arrow or the csv module, with its encoding and delimiter; sheets by `workbooks`."""

import codecs
import csv
import hashlib
import io
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from itertools import islice
from pathlib import Path
from typing import IO, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.csv
from numpy.typing import NDArray

from workbench.analysis.frames import release_unused
from workbench.analysis.statements.cells import (
    Body,
    Cell,
    CellColumn,
    CellRows,
    Line,
    Whole,
    all_hold,
    file_refusal,
    is_odd,
)
from workbench.analysis.statements.workbooks import EXPORT_AGAIN, sheets_in
from workbench.errors import StatementRefused

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
"""First bytes of a file that is no statement → what the file is, and what to do."""
_HEAD: Final = 4096
_MANY_BYTES: Final = 1 << 20
_AT_A_TIME: Final = 1 << 17
"""The number of bytes to check in one step: larger blocks would not fit into the processor's cache."""
_LONGEST_CELL: Final = 1 << 20
"""The most characters of a cell; by default the csv module takes 131,072."""


_QUOTE, _LINE_FEED, _RETURN = b'"\n\r'
_ASCII: Final = 128
_BLOCK_BYTES: Final = 4 * _LONGEST_CELL
_LEAST_BETWEEN: Final = 3
"""Arrow splits a large file only if delimiters, quotes and line breaks are at most one in this many bytes."""
_MANY_ODD: Final = 1_000
"""The most rows with more or fewer cells than the header in a file that Arrow splits."""
_MOST_COLUMNS: Final = 1_000
"""The most columns of a file that Arrow splits; each column takes memory."""
_SAMPLE_ROWS: Final = 100


def _csv_columns(path: Path, encoding: str, delimiter: str, after: int, width: int) -> Body | None:
    """The rows after line `after`, split by Arrow into `width` columns.

    None if the csv module might split them differently or refuse them. Arrow accepts a quote that stays open or is
    followed by text, so all quotes are checked first. A UTF-8 file is read block by block; a file in another encoding
    is decoded whole.
    """
    odd: dict[int, str] = {}

    def is_kept(row: pyarrow.csv.InvalidRow) -> str:
        odd[row.number - 1] = row.text
        return "skip" if len(odd) <= _MANY_ODD else "error"

    try:
        sample = islice((cells for line, cells in _csv_lines(path, encoding, delimiter) if line > after), _SAMPLE_ROWS)
        ((count, _),) = Counter(map(len, sample)).most_common(1) or [(0, 0)]
        if not width <= count <= _MOST_COLUMNS:
            return None
        is_utf_8, names = encoding.startswith("utf-8"), [str(nth) for nth in range(count)]
        with pa.OSFile(str(path)) if is_utf_8 else io.BytesIO(path.read_bytes().decode(encoding).encode()) as file:
            lines, begins, has_breaks = _rows_in(file, delimiter, after)
            release_unused()
            file.seek(begins)
            cut = pyarrow.csv.read_csv(
                file,
                pyarrow.csv.ReadOptions(column_names=names, block_size=_BLOCK_BYTES, use_threads=False),
                pyarrow.csv.ParseOptions(
                    delimiter=delimiter, newlines_in_values=has_breaks, invalid_row_handler=is_kept
                ),
                pyarrow.csv.ConvertOptions(column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=False),
            ).columns
        rows: dict[int, list[Cell]] = {
            place: [*next(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True))]
            for place, text in odd.items()
        }
    except (pa.ArrowException, csv.Error, UnicodeError, StatementRefused):
        return None
    if len(cut[0]) + len(rows) != len(lines):
        return None
    # Each column of Arrow is freed when it has become a Column.
    columns = [CellColumn.from_arrow(cut.pop(0)) for _ in names]
    if rows:
        is_other = np.isin(np.arange(len(lines)), [*rows])
        padded = zip(*([*cells, *[""] * (count - len(cells))] for cells in rows.values()), strict=False)
        # Each odd row first gets its place and the cells of another row, and then its own cells.
        wide = [column.only(np.cumsum(~is_other) - 1) for column in columns]
        columns = [
            column.replaced(is_other, CellColumn.from_cells(cells)) for column, cells in zip(wide, padded, strict=False)
        ]
    whole = Body(lines, columns, rows)
    beyond = {int(place) for column in columns[width:] for place in np.flatnonzero(~column.has(""))}
    is_blank = all_hold(column.where_blank() for column in columns)
    full_rows = {place: whole.row(place) for place in sorted({*rows, *beyond})}
    kept = {place: cells for place, cells in full_rows.items() if is_odd(cells, width)}
    return Body(lines, columns[:width], kept).only(~is_blank)


def _rows_in(file: IO[bytes], delimiter: str, after: int) -> tuple[Whole, int, bool]:
    """The line numbers of the rows after line `after`, without empty rows; and the byte at which the first row begins.

    The third value is True if a cell has a line break. Raises csv.Error: only the csv module can read the file.
    """
    begins = len(codecs.BOM_UTF8) * (file.read(len(codecs.BOM_UTF8)) == codecs.BOM_UTF8)
    file.seek(begins)
    ends, breaks, returns = map(np.concatenate, zip(*_ends(file, ord(delimiter), begins), strict=True))
    starts, lines = np.append(begins, ends[:-1] + 1), np.append(1, 1 + breaks[:-1])
    sizes = ends - starts
    is_row = (lines > after) & (sizes > returns)
    if sizes.max() > _LONGEST_CELL or not is_row.any():
        raise csv.Error
    return lines[is_row], int(starts[is_row][0]), len(ends) <= breaks[-1]


def _ends(file: IO[bytes], mark: int, at: int) -> Iterator[tuple[NDArray[Any], ...]]:
    """Yields the ends of rows from byte `at` on, block by block, so that memory holds numbers and not characters.

    For each block, yields three arrays with an item for each end: its byte, the number of line breaks up to it, and
    True if a carriage return precedes it. The last end is that of the file. `mark` is the delimiter's byte. Raises
    csv.Error: quotes, line ends or other characters are ambiguous.
    """
    quotes = breaks = marks = returns = 0
    block, before = file.read(_AT_A_TIME), b"\n"
    while block:
        following = file.read(_AT_A_TIME)
        # With the character before the block and the one after it, or a line feed at an end of the file.
        octets = np.frombuffer(before + block + (following[:1] or b"\n"), np.uint8)
        inner, is_open = octets[1:-1], quotes % 2
        quoted, broken = (1 + np.flatnonzero(inner == sign) for sign in (_QUOTE, _LINE_FEED))
        quotes, marks = quotes + len(quoted), marks + int(np.count_nonzero(inner == mark))
        returns += int(np.count_nonzero(inner == _RETURN) - np.count_nonzero(octets[broken - 1] == _RETURN))
        ends = broken
        if quoted.size or is_open:
            opens, closes = quoted[is_open::2], quoted[1 - is_open :: 2]
            is_right = np.isin(octets[closes + 1], (mark, _LINE_FEED, _RETURN, _QUOTE)).all()
            if not is_right or not np.isin(octets[opens - 1], (mark, _LINE_FEED, _QUOTE)).all():
                raise csv.Error
            ends = broken[(np.searchsorted(quoted, broken) + is_open) % 2 == 0]
        yield at + ends - 1, breaks + np.searchsorted(broken, ends, "right"), octets[ends - 1] == _RETURN
        breaks, at = breaks + len(broken), at + len(inner)
        # Each row and each cell takes memory; a file of little else is read line by line.
        if mark >= _ASCII or not inner.all() or quotes + breaks + marks > max(at // _LEAST_BETWEEN, _MANY_BYTES):
            raise csv.Error
        block, before = following, block[-1:]
    if quotes % 2 or returns:
        raise csv.Error
    yield tuple(np.array([value]) for value in (at, breaks, False))


def _csv_lines(path: Path, encoding: str, delimiter: str) -> Iterator[Line]:
    """Yields the lines of a file that are not blank, as the csv module reads them in strict mode.

    Raises StatementRefused: the encoding is wrong, a cell is too long, or a quote stays open, which would hide rows.
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
            raise file_refusal(
                path.name, f"cannot be split into cells at line {begins}: {why}.", hint=hint, line=begins
            ) from wrong
        except UnicodeError as wrong:
            raise _wrong_encoding(path, encoding, begins) from wrong


def digest_of(path: Path) -> str:
    """The SHA-256 of a file. Raises StatementRefused: it does not exist, is a folder, cannot be read, or is empty."""
    try:
        if path.is_dir():
            raise file_refusal(path.name, "is a folder; name a file.")
        with path.open("rb") as handle:
            digest = hashlib.file_digest(handle, "sha256").hexdigest()
            size = handle.tell()
    except OSError as wrong:
        why = "there is no such file" if isinstance(wrong, FileNotFoundError) else wrong.strerror
        raise file_refusal(
            path.name, f"cannot be read: {why}.", hint="Check its name, and that you may open it."
        ) from wrong
    if not size:
        raise file_refusal(path.name, "is empty.", hint=EXPORT_AGAIN)
    return digest


def cell_rows_of(path: Path, ways: Iterable[tuple[str, str]]) -> list[CellRows]:
    """A file as split into cells in every possible way: each sheet, or CSV by each pair in `ways`.

    The content decides whether a file is a workbook or CSV, not its name. `ways` has pairs of encoding and delimiter to
    try for CSV; if the file shows its encoding, that one is used.
    Raises StatementRefused: an old, encrypted or damaged workbook, or a file that is not text.
    """
    with path.open("rb") as handle:
        head = handle.read(_HEAD)
    if head.startswith(_ZIP):
        return [*sheets_in(path)]
    if head.startswith(_OLD_OFFICE):
        if _ENCRYPTED in path.read_bytes():
            raise file_refusal(path.name, "is encrypted.", hint="Open it with its password and save it without one.")
        raise file_refusal(path.name, "is a workbook of a format older than .xlsx.", hint="Save it as .xlsx or .csv.")
    for mark, (kind, hint) in _OTHERS.items():
        if head.lstrip().lower().startswith(mark):
            raise file_refusal(path.name, f"is {kind}, whatever its name says.", hint=hint)
    if head.startswith(_UTF_32) or (b"\0" in head and not head.startswith(tuple(_MARKS))):
        text = "is not text in UTF-8 or UTF-16 (with a byte order mark), and not an .xlsx workbook."
        raise file_refusal(path.name, text, hint=f"{EXPORT_AGAIN[:-1]}, as .csv in UTF-8 or as .xlsx.")
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
    """`utf-8` if the whole file decodes as UTF-8, which text in other encodings hardly ever does; else None."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        with path.open("rb") as handle:
            while block := handle.read(_AT_A_TIME):
                decoder.decode(block)
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return None
    return "utf-8"


def _wrong_encoding(path: Path, encoding: str, after: int) -> StatementRefused:
    """The exception for a file that is not in `encoding`.

    It names the first line that is not UTF-8 or, for another encoding, the line number `after`.
    """
    line = after
    if encoding.startswith("utf-8"):
        with path.open("rb") as handle:
            others = (number for number, raw in enumerate(handle, 1) if raw.decode(errors="ignore").encode() != raw)
            line = next(others, after)
    return file_refusal(
        path.name,
        f"is not text in {encoding}: line {line} has other bytes.",
        hint="Save it as UTF-8, or declare its encoding in the layout: encoding='latin-1'.",
        line=line,
        encoding=encoding,
    )
