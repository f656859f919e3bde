"""Cuts a file into cells, recognises its layout by the headings, and reads the labels above them and the rows below."""

import codecs
import csv
import hashlib
import io
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime
from functools import partial
from itertools import islice
from pathlib import Path
from typing import IO, Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.csv
from numpy.typing import NDArray

from workbench.analysis.frames import release_unused
from workbench.analysis.statements.cells import (
    Amounts,
    Body,
    Cell,
    CellRows,
    Column,
    Line,
    Whole,
    Wrong,
    all_hold,
    currencies_named,
    error_in,
    is_odd,
    refused,
    shown,
    text_of,
)
from workbench.analysis.statements.dates import DateFormat
from workbench.analysis.statements.layouts import CODE, LAYOUTS, PREAMBLE_FIELDS, Layout, Preamble, heading_key
from workbench.analysis.statements.workbooks import EXPORT_AGAIN, sheets_in
from workbench.domain.moments import moment
from workbench.domain.money import ISO_4217
from workbench.errors import StatementRefused
from workbench.visible import pasted

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
_HEAD: Final = 4096
_BLOCK: Final = 1 << 20
_LONGEST_CELL: Final = 1 << 20
"""The most characters of a cell; by default the csv module takes 131,072."""


_QUOTE, _LINE_FEED, _RETURN = b'"\n\r'
_ASCII: Final = 128
_BLOCK_BYTES: Final = 4 * _LONGEST_CELL
_LEAST_BETWEEN: Final = 3
"""The least mean number of characters per delimiter, quote or line break in a large file that Arrow cuts."""
_MANY_ODD: Final = 1_000
"""The most rows of another width in a file that Arrow cuts."""
_MOST_COLUMNS: Final = 1_000
"""The most columns of a file that Arrow cuts: each takes memory of its own."""
_SAMPLE_ROWS: Final = 100


def _csv_columns(path: Path, encoding: str, delimiter: str, after: int, width: int) -> Body | None:
    """The rows below line `after` as Arrow cuts them, in `width` columns.

    None if the csv module might cut them in another way or refuse them. Arrow accepts a quote that stays open or is
    followed by text, so all quotes are checked before. A file in UTF-8 is read a block at a time; a file in another
    encoding is decoded whole.
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
        with path.open("rb") if is_utf_8 else io.BytesIO(path.read_bytes().decode(encoding).encode()) as file:
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
    columns = [Column.of(cut.pop(0)) for _ in names]
    if rows:
        is_other = np.isin(np.arange(len(lines)), [*rows])
        padded = zip(*([*cells, *[""] * (count - len(cells))] for cells in rows.values()), strict=False)
        # Each odd row first gets its place and the cells of another row, and then its own cells.
        wide = [column.only(np.cumsum(~is_other) - 1) for column in columns]
        columns = [
            column.replaced(is_other, Column.of_cells(cells)) for column, cells in zip(wide, padded, strict=False)
        ]
    whole = Body(lines, columns, rows)
    beyond = {int(place) for column in columns[width:] for place in np.flatnonzero(~column.has(""))}
    is_blank = all_hold(column.where_blank() for column in columns)
    made = {place: whole.row(place) for place in sorted({*rows, *beyond})}
    kept = {place: cells for place, cells in made.items() if is_odd(cells, width)}
    return Body(lines, columns[:width], kept).only(~is_blank)


def _rows_in(file: IO[bytes], delimiter: str, after: int) -> tuple[Whole, int, bool]:
    """The lines of the rows below line `after` that are not empty, the byte of the first, and if cells have breaks.

    Raises csv.Error: only the csv module can read the file.
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
    """Yields the ends of rows from byte `at` on, block by block: memory holds numbers of rows, not characters.

    A block yields three arrays with an item for each end: its byte, the number of line breaks up to it, and True if a
    return comes before it. The last end is that of the file. `mark` is the delimiter's byte. Raises csv.Error: quotes,
    line ends or other characters leave a doubt.
    """
    quotes = breaks = marks = returns = 0
    block, before = file.read(_BLOCK_BYTES), b"\n"
    while block:
        following = file.read(_BLOCK_BYTES)
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
        if mark >= _ASCII or not inner.all() or quotes + breaks + marks > max(at // _LEAST_BETWEEN, _BLOCK):
            raise csv.Error
        block, before = following, block[-1:]
    if quotes % 2 or returns:
        raise csv.Error
    yield tuple(np.array([value]) for value in (at, breaks, False))


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
        return [*sheets_in(path)]
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


HEADER_WITHIN: Final = 50
"""The number of first lines in which the header is looked for."""
_OF_A_LEDGER: Final = "These are the columns of a ledger: give the ledger first, then the statements."
_LEDGERS_OWN: Final = {"account", "key", "occurred_at"}


class Head(NamedTuple):
    """The first lines of a file as one reading cuts them, and the failure that ended the reading."""

    cell_rows: CellRows
    lines: list[Line]
    failure: StatementRefused | None = None

    @property
    def is_cut(self) -> bool:
        """True if a line has several cells: a delimiter that gives one column is not the file's."""
        return any(len(cells) > 1 for _, cells in self.lines)


class Found(NamedTuple):
    """A file whose layout is known."""

    cell_rows: CellRows
    layout: Layout
    header: list[Cell]
    """The header's cells, without blank ones at the end."""
    line: int
    above: tuple[Line, ...]

    @property
    def places(self) -> dict[str, int]:
        """Field → the place of its column, for the fields that the file has."""
        headings = headings_of(self.header, self.layout.known_headings)
        places = {name: headings.index(key) for name, key in self.layout.keys.items() if key in headings}
        return {**places, "account": 0} if self.layout.sections else places

    def body(self) -> tuple[Body, list[int]]:
        """The rows below the header, and the lines of a narrative alone, which were joined to the rows above."""
        places, layout = self.places, self.layout
        body = self.cell_rows.body(self.line, len(self.header))
        # An error of a formula outside of these columns makes no row.
        is_stray = all_hold(body.columns[place].has("") for place in places.values())
        for place in np.flatnonzero(is_stray).tolist():
            is_stray[place] = all(cell == "" or error_in(cell) for cell in body.row(place))
        body = body.only(~is_stray)
        if layout.sections:
            body = _of_sections(body, [places[name] for name in ("amount", "debit", "credit") if name in places])
        if "description" not in places:
            return body, []
        ends = tuple(map(heading_key, (*layout.footers, *layout.openings)))
        return _continued(body, places["description"], ends)


def _of_sections(body: Body, moves: Iterable[int]) -> Body:
    """The rows with an amount in the columns `moves`, each with the account of its section in its first cell."""
    titles, *others = body.columns
    texts = ["", *(text_of(cell).strip() for cell in titles.cells())]
    codes = np.append(0, titles.codes + 1)
    is_row = np.array([not text for text in texts])[codes]
    above = np.maximum.accumulate(np.where(is_row, 0, np.arange(len(is_row))))
    account = Column(texts, codes[above][1:])
    is_moved = np.any([~body.columns[place].has("") for place in moves], axis=0)
    return Body(body.lines, [account, *others], body.odd).only(is_row[1:] & is_moved)


def _continued(body: Body, narrative: int, ends: tuple[str, ...]) -> tuple[Body, list[int]]:
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
        is_joined[place] = place and is_alone and text and not heading_key(text).startswith(ends)
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


def recognised(path: Path, layouts: Iterable[Layout], *, named: bool) -> Found:
    """The file with its header and the only layout that fits.

    With a layout `named` by the caller the file may have further columns; otherwise the layout must know all columns.
    Raises StatementRefused: no layout fits, or several, a heading stands twice, a row stands above the header, or the
    file cannot be cut into cells.
    """
    name, layouts = path.name, tuple(layouts)
    sources = cell_rows_of(path, [(layout.encoding, layout.delimiter) for layout in layouts])
    heads = [*map(head_of, sources)]
    blank = [not head.lines and not head.failure for head in heads]
    # A line of delimiters alone is blank to the reading that has this delimiter; of several sheets one may be.
    if all(blank) or (any(blank) and sources[0].kind == "csv"):
        raise refused(name, "is empty.", hint=EXPORT_AGAIN)
    # A reading that fails below the header of its layout is the right one; reading its rows raises the failure.
    fits = [found for head in heads for layout in layouts if (found := _header(head, layout, named=named))]
    if not fits:
        raise _unreadable(heads) or _misread(heads, layouts, named=named) or _unknown(path, heads, layouts)
    # A layout that the caller gives goes before a shipped one with the same headings.
    fits = [found for found in fits if LAYOUTS.get(found.layout.name) is not found.layout] or fits
    if len(fits) > 1:
        text = "; ".join(f"{found.layout.name} ({found.cell_rows.says}, line {found.line})" for found in fits)
        raise refused(
            name,
            f"can be read in several ways: {text}.",
            hint="Name the layout: layout='…'. Of several sheets, keep one.",
            layouts=tuple(found.layout.name for found in fits),
        )
    _check(name, fits[0])
    return fits[0]


def head_of(cell_rows: CellRows) -> Head:
    """The first HEADER_WITHIN lines, as far as they can be cut."""
    lines: list[Line] = []
    try:
        lines.extend(islice(cell_rows.lines(), HEADER_WITHIN))
    except StatementRefused as failure:
        return Head(cell_rows, lines, failure)
    return Head(cell_rows, lines)


def _header(head: Head, layout: Layout, *, named: bool, encoding: str | None = None) -> Found | None:
    """The file with its header, the first line that has the layout's headings; None without such a line.

    A header may have further headings only if the layout is `named`. `encoding` replaces the layout's own.
    """
    if head.cell_rows.kind not in layout.kinds or head.cell_rows.delimiter not in (None, layout.delimiter):
        return None
    if head.cell_rows.encoding not in (None, encoding or layout.encoding):
        return None
    known = layout.known_headings
    for place, (line, cells) in enumerate(head.lines):
        headings = headings_of(cells, known)
        present = set(headings) - {""}
        if not layout.lacking(present) and (named or present.issubset(known)):
            return Found(head.cell_rows, layout, cells[: len(headings)], line, tuple(head.lines[:place]))
    return None


def headings_of(cells: Sequence[Cell], known: Container[str] | None = None) -> tuple[str, ...]:
    """The headings in a line, the second of a name as `Currency#2`, without blank ones at the end.

    With `known`, headings are in the form in which they are compared, and numbered only if `known` has the number.
    """
    made = [" ".join(text_of(cell).split()) for cell in cells]
    while made and not made[-1]:
        made.pop()
    times: Counter[str] = Counter()
    for place, text in enumerate(made):
        heading = heading_key(text)
        times[heading] += bool(heading)
        numbered = f"{text}#{times[heading]}"
        if known is not None:
            made[place] = numbered if (numbered := heading_key(numbered)) in known else heading
        elif times[heading] > 1:
            made[place] = numbered
    return tuple(made)


def _check(name: str, found: Found) -> None:
    """Raises StatementRefused: a heading that is read stands twice, or a row stands above the header."""
    headings = headings_of(found.header, found.layout.known_headings)
    twice = sorted({heading for heading in found.layout.keys.values() if headings.count(heading) > 1})
    if twice:
        text = f"has the heading {', '.join(map(repr, twice))} more than once in line {found.line}."
        hint = "Rename or remove the others: the layout does not say which of them is meant."
        raise refused(name, text, hint=hint, line=found.line, headings=headings)
    labels = {*map(heading_key, found.layout.preamble.values())}
    for line, cells in found.above:
        # Above the header stand labels and titles. A line with as many cells as a row may be a row, and is not dropped.
        filled = [heading_key(text_of(cell)).removesuffix(":") for cell in cells if cell != ""]
        if len(filled) >= len(found.layout.columns) - len(found.layout.optional) and labels.isdisjoint(filled):
            text = f"has a row above its header, in line {line}."
            raise refused(name, text, hint="Move the header to the top.", line=line, header=found.line)


def _unreadable(heads: Sequence[Head]) -> StatementRefused | None:
    """The failure to cut the file into cells; None if a reading without a failure has lines of several cells."""
    if any(head.is_cut and not head.failure for head in heads):
        return None
    is_unread = not any(head.lines for head in heads)
    return next((head.failure for head in heads if head.failure and (head.is_cut or is_unread)), None)


def _misread(heads: Sequence[Head], layouts: tuple[Layout, ...], *, named: bool) -> StatementRefused | None:
    """The failure to read a file in the encoding of the layout whose headings it has; None otherwise."""
    for head in heads:
        for layout in layouts:
            if _header(head, layout, named=named, encoding=head.cell_rows.encoding):
                meant = (layout.encoding, layout.delimiter)
                readings = {(other.cell_rows.encoding, other.cell_rows.delimiter): other for other in reversed(heads)}
                return readings[meant].failure if meant in readings else None
    return None


def _unknown(path: Path, heads: Sequence[Head], layouts: tuple[Layout, ...]) -> StatementRefused:
    """The refusal with the headings in the likeliest header, and their differences from the nearest layout."""
    tried, others = [], list[Head]()
    if heads[0].cell_rows.kind == "csv":
        # A file with a delimiter that no layout has was cut into one column: other delimiters are tried.
        encoding = heads[0].cell_rows.encoding or "utf-8"
        others = [*map(head_of, cell_rows_of(path, [(encoding, mark) for mark in ",;\t|"]))]
    for head in (*heads, *others):
        delimiter = head.cell_rows.delimiter
        for line, cells in head.lines:
            headings = _texts(cells)
            compared = {*map(heading_key, headings)}
            for layout in layouts:
                likeness = len(compared.intersection(layout.keys.values()))
                tried.append((likeness, layout.delimiter == delimiter, line, headings, delimiter, layout))
    likeness, _, line, headings, delimiter, near = max(tried, key=lambda attempt: attempt[:2])
    if not likeness:
        # The first line of the file, as the reading with most cells has it.
        line, cells = max((head.lines[0] for head in heads if head.lines), key=lambda line: len(line[1]))
        headings = _texts(cells)
    return refused(
        path.name,
        f"fits none of the known layouts ({', '.join(layout.name for layout in layouts)}). "
        f"The headings found in line {line}: {', '.join(text[:40] for text in headings[:40])}."
        + (f" {_why_not(near, headings, delimiter)}" if likeness else ""),
        hint=_OF_A_LEDGER
        if set(map(heading_key, headings)) >= _LEDGERS_OWN
        else f"A first draft of its layout: workbench layout {pasted(Path(path.name))} --out mine.toml, or "
        "draft_layout(…) in Python; then layout='mine.toml'.",
        headings=headings,
        layouts=tuple(layout.name for layout in layouts),
    )


def _texts(cells: Sequence[Cell]) -> tuple[str, ...]:
    return tuple(text_of(cell).strip() for cell in cells if cell != "")


def _why_not(layout: Layout, headings: Sequence[str], delimiter: str | None) -> str:
    """The differences between a header and the layout nearest to it."""
    lacking = layout.lacking({*map(heading_key, headings)})
    extra = [heading[:40] for heading in headings if heading_key(heading) not in layout.known_headings]
    parts = [f"lacks {', '.join(lacking)}"] if lacking else []
    parts += [f"also has {', '.join(extra)}"] if extra else []
    if delimiter and delimiter != layout.delimiter:
        whose = f"LAYOUTS[{layout.name!r}]" if LAYOUTS.get(layout.name) is layout else layout.name
        parts.append(
            f"has {delimiter!r} between its cells and not {layout.delimiter!r}: "
            f"pass layout=dataclasses.replace({whose}, delimiter={delimiter!r}), "
            "and if its decimals stand after a comma, decimal=','"
        )
    return f"Compared with {layout.name}, it {' and '.join(parts)}."


_ENDS: Final = {"first": 0, "last": -1}
"""Field → the place of its day in a value that has both days."""
_WANTED: Final = {"currency": "a currency's code", "opening": "an amount", "closing": "an amount"}


def declared(
    found: Found, account: str | None, currency: str | None, *, by_row: bool = False
) -> tuple[Preamble, int, str, str]:
    """Values of the lines above the header, the line of the closing balance or 0, the account, and the currency.

    `account` and `currency` are the caller's; `by_row` says that each row names its account, which is empty then. A
    line has labels, each before its value: `Label,value`, `Label:,value` or `Label: value`.

    Raises StatementRefused: a value that is no day, code or amount, a label with two different values, a balance in
    another currency than the file's, a period that ends before it begins, or a caller that says otherwise.
    """
    name, layout = found.cell_rows.name, found.layout
    passed = currency and currency.strip().upper()
    if passed and not CODE.fullmatch(passed):
        raise StatementRefused(f"A currency is a code of three letters, such as ZMW, not {currency!r}.")
    said, closing_line = _preamble(name, layout, found.above, passed)
    if by_row and account:
        raise refused(name, f"names the account of each row, but {account!r} was passed too.")
    account = "" if by_row else _agreed(name, "account", account, said.account, layout.account)
    return said, closing_line, account, _agreed(name, "currency", passed, said.currency, layout.currency)


def _agreed(name: str, what: str, passed: str | None, told: str | None, otherwise: str | None) -> str:
    """The caller's value, else the file's, else the layout's."""
    if passed and told and passed != told:
        text = f"declares the {what} {told!r}, but {passed!r} was passed."
        raise refused(name, text, passed=passed, found=told)
    value = passed or told or otherwise
    if value is None:
        raise refused(name, f"does not name its {what}.", hint=f"Pass {what}='…'.", lacks=what)
    return value


def _preamble(name: str, layout: Layout, above: Sequence[Line], currency: str | None) -> tuple[Preamble, int]:
    """The values of the labels above the header, and the line of the closing balance, or 0 without one."""
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
    read_all = Preamble(*(made.get(field, (0, None))[1] for field in PREAMBLE_FIELDS))
    if named and of_file not in named:
        raise refused(name, f"has balances in {' or '.join(sorted(named))} above its header, and is in {of_file}.")
    if read_all.first and read_all.last and read_all.first > read_all.last:
        text = f"has a period that ends on {read_all.last}, before it begins on {read_all.first}."
        raise refused(name, text, hint=f"Days are read as {' or '.join(layout.preamble_dates)}.")
    return read_all, made.get("closing", (0, None))[0]


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
