"""Splits the sheets of a workbook into cells, after an inspection that refuses too large grids and finds errors.

The reader makes a grid from A1 to the last cell. A single stray cell at XFD1048576 would need hundreds of gigabytes and
end the interpreter without an exception. The reader also takes a cell with an error, such as `#DIV/0!`, for an empty
one.
"""

import re
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from copy import copy
from datetime import date, datetime, time
from decimal import Decimal
from functools import partial
from math import isfinite
from pathlib import Path
from posixpath import join, normpath
from typing import Final
from xml.parsers import expat
from zipfile import BadZipFile, ZipFile, ZipInfo

import python_calamine
from xlsxwriter.utility import xl_col_to_name

from workbench.analysis.statements.cells import Cell, CellRows, Line, file_refusal
from workbench.errors import StatementRefused

_Handler = Callable[..., None]
Failed = Mapping[int, Mapping[int, str]]
"""Row number → column number, both from 1 → the error in the cell."""

MOST_CELLS: Final = 1_048_576 * 16
"""The most cells of a grid, including empty ones: all rows of a sheet by sixteen columns, half a gigabyte."""
_ALWAYS: Final = 1 << 26
_TIMES: Final = 100
_AT_MOST: Final = 1 << 31
"""The most bytes of any file after unpacking: 2 GiB, more than a full grid needs.

A small file has a lower limit: 64 MiB or a hundred times its packed size, whichever is more. Real files stay below it.
"""
_BLOCK: Final = 1 << 20
EXPORT_AGAIN: Final = "Export it again."
_DAMAGES: Final = (
    python_calamine.CalamineError, BadZipFile, expat.ExpatError, zlib.error, OSError, EOFError, ValueError,
    RuntimeError,
)  # fmt: skip
"""Exceptions for damaged files; RuntimeError for parts that are encrypted or compressed by another method."""
_TAG: Final = 64
"""The number of bytes of a tag that suffice to recognise a cell."""
_MAIN: Final = "/officeDocument"
_USUAL_MAIN: Final = "xl/workbook.xml"
_TEXTS: Final = "/sharedStrings"
_DECLARING: Final = "a part of it declares a document type, which none needs"

# One search over the bytes is ten times as fast as a parser, and whatever it does not know is left to the parser.
_NOT_NEAR: Final = re.compile(
    rb"""<c(?!\ r="[A-P](?:[0-9]{1,6}|10[0-4][0-9]{4})"[\s/>])[\s/>]"""  # a cell, and not one of A to P
    rb"""|<[^\s<>:/]+:c[\s/>]""",  # a cell whose name has a prefix
    re.VERBOSE,
)
_ERROR: Final = re.compile(rb"""\st\s*=\s*["']e["']""")
_DECLARES: Final = re.compile(rb"<!(?!--|\[CDATA\[)")
_REFERENCE: Final = re.compile("([A-Za-z]{1,9})([0-9]{1,12})")


def inspected(path: Path) -> dict[str, Failed]:
    """Name of a sheet → its cells with errors.

    Raises StatementRefused: the grid or the unpacked file would be too large, or the workbook is not .xlsx. Raises
    BadZipFile, ExpatError, ValueError or OSError: the file is damaged.
    """
    with ZipFile(path) as book:
        members = {member.filename.lower(): member for member in book.infolist()}
        if len(members) < len(book.infolist()):
            raise BadZipFile("a part is in it twice")
        if {"xl/workbook.bin", "mimetype"} & members.keys():
            raise file_refusal(path.name, "is a workbook, but not .xlsx.", hint="Save it as .xlsx or .csv.")
        return _Inspection(path, book, members).failed()


class _Inspection:
    """The inspection of a workbook's ZIP archive: unpacks at most `_left` more bytes, reads a part at most twice."""

    def __init__(self, path: Path, book: ZipFile, members: Mapping[str, ZipInfo]) -> None:
        self._name = path.name
        self._book = book
        self._members = members
        self._bound = min(max(_ALWAYS, _TIMES * path.stat().st_size), _AT_MOST)
        self._left = 2 * self._bound

    def failed(self) -> dict[str, Failed]:
        """Name of a sheet → its cells with errors."""
        if sum(member.file_size for member in self._members.values()) > self._bound:
            raise self._bomb()
        mains = {part for kind, _, part in self._relations("_rels/.rels", "") if kind.endswith(_MAIN)} | {_USUAL_MAIN}
        sheets = [sheet for main in sorted(mains & self._members.keys()) for sheet in self._sheets(main)]
        if len({part for _, part in sheets}) < len(sheets):
            raise self._malformed("two of its sheets are one part of the file")
        # The reader has its own rules for paths: every part with the file name of a sheet's part is inspected.
        read = {_file(part) for _, part in sheets}
        unknown = [part for part in self._members if _file(part) in read and not self._is_near(part)]
        named = {part: f"its sheet {sheet!r}" for sheet, part in sheets if sheet}
        cells = {part: self._cells(part, named.get(part, f"its part {part}")) for part in unknown}
        return {sheet: cells[part] for sheet, part in sheets if sheet and part in cells}

    def _blocks(self, part: str) -> Iterator[bytes]:
        info = copy(self._members[part])
        # The reader goes on to the end of what is packed, whatever size the file's own directory gives.
        info.file_size = 2 * _AT_MOST
        with self._book.open(info) as file:
            while block := file.read(_BLOCK):
                self._left -= len(block)
                if self._left < 0:
                    raise self._bomb()
                yield block

    def _is_near(self, part: str) -> bool:
        """True if the bytes of a part show that all its cells are in the columns A to P and none has an error."""
        near, pending, cells = True, b"", 0
        for block in self._blocks(part):
            # The whole tags; of the last tag, which may go on in the next block, as much as shows what it is.
            data = pending + block
            last = max(data.rfind(b"<"), 0)
            whole, pending = data[:last], data[last:] if len(data) - last < _BLOCK else data[last : last + _TAG]
            cells += whole.count(b"<c") + whole.count(b":c") + whole.count(b"<si")
            if cells > MOST_CELLS:
                raise self._too_large(f"its part {part} has more than {MOST_CELLS:,} cells or texts")
            if _DECLARES.search(whole):
                raise self._malformed(_DECLARING)
            # A search for the quoted letter alone is many times faster, and few workbooks have it.
            has_error = (b'"e"' in whole or b"'e'" in whole) and _ERROR.search(whole)
            near = near and not (has_error or _NOT_NEAR.search(whole))
        return near

    def _cells(self, part: str, label: str) -> Failed:
        """Parses a part, `label` in messages; returns its cells with errors. Raises StatementRefused: too large a grid.

        A cell with a format and no value does not extend the grid. This method ignores the dimension that the sheet
        declares, and so does the reader: programs make it too large or too small.
        """
        failed: defaultdict[int, dict[int, str]] = defaultdict(dict)
        place, lowest, rightmost = (0, 0, ""), (0, ""), (0, "")
        row = column = 0
        is_error = in_value = False

        def begin(tag: str, attributes: Mapping[str, str]) -> None:
            nonlocal place, lowest, rightmost, row, column, is_error, in_value
            # A row or a cell without a place follows the row or cell before.
            match _local(tag):
                case "row":
                    row, column = int(attributes.get("r") or row + 1), 0
                case "c":
                    place = _place(attributes.get("r"), row, column + 1)
                    column, is_error = place[1], attributes.get("t") == "e"
                case "v" | "is":
                    lowest = max(lowest, (place[0], place[2]), key=lambda far: far[0])
                    rightmost = max(rightmost, (place[1], place[2]), key=lambda far: far[0])
                    in_value = is_error

        def end(tag: str) -> None:
            nonlocal in_value
            in_value = in_value and _local(tag) not in {"v", "is"}

        def text(text: str) -> None:
            if in_value and text.strip():
                failed[place[0]][place[1]] = failed[place[0]].get(place[1], "") + text.strip()

        self._parse(part, begin, end, text)
        count = lowest[0] * rightmost[0]
        if count > MOST_CELLS:
            far = " and ".join(dict.fromkeys((lowest[1], rightmost[1])))
            raise self._too_large(
                f"{label} goes from A1 to {far}, {count:,} cells with the empty ones, "
                f"and at most {MOST_CELLS:,} are read",
                f"If {far} is a stray cell, delete it; or save the sheet as .csv.",
            )
        return failed

    def _sheets(self, main: str) -> list[tuple[str, str]]:
        """(name, part) of each sheet; an empty name stands for the part with the texts of all sheets.

        `main` is the part that lists the sheets, usually `xl/workbook.xml`.
        """
        folder, _, file = main.rpartition("/")
        relations = self._relations(join(folder, "_rels", f"{file}.rels"), folder)
        sheets = [("", part) for kind, _, part in relations if kind.endswith(_TEXTS)]
        for sheet in self._elements(main, "sheet"):
            keys = {value for name, value in sheet.items() if name.endswith(":id")}
            sheets += [(sheet.get("name", ""), part) for _, key, part in relations if key in keys]
        return sheets

    def _relations(self, part: str, folder: str) -> list[tuple[str, str, str]]:
        """(kind, key, target) of each relationship in a part; empty if the part does not exist."""
        relations: list[tuple[str, str, str]] = []
        for relation in self._elements(part, "Relationship") if part in self._members else ():
            target = relation.get("Target", "").lower()
            # Some write `xl/worksheets/sheet1.xml` where `worksheets/sheet1.xml` is meant, and the reader takes it.
            named = target if folder and target.startswith(f"{folder}/") else join("/", folder, target)
            relations.append((relation.get("Type", ""), relation.get("Id", ""), normpath(named).lstrip("/")))
        return relations

    def _elements(self, part: str, name: str) -> list[Mapping[str, str]]:
        """The attributes of each element with that name in the part."""
        elements: list[Mapping[str, str]] = []
        self._parse(part, lambda tag, attributes: elements.append(attributes) if _local(tag) == name else None)
        return elements

    def _parse(self, part: str, begin: _Handler, end: _Handler | None = None, text: _Handler | None = None) -> None:
        def declared(*_: object) -> None:
            raise self._malformed(_DECLARING)

        parser = expat.ParserCreate()
        parser.buffer_text = True
        parser.StartElementHandler = begin
        parser.EndElementHandler = end
        parser.CharacterDataHandler = text
        parser.StartDoctypeDeclHandler = declared
        for block in self._blocks(part):
            parser.Parse(block)
        parser.Parse(b"", True)  # noqa: FBT003  it takes no names

    def _bomb(self) -> StatementRefused:
        text = f"unpacks to more than {self._bound:,} bytes, which no statement does."
        return file_refusal(self._name, text, hint="Export it again, or save the sheet as .csv.")

    def _malformed(self, why: str) -> StatementRefused:
        return file_refusal(self._name, f"is no workbook that can be read: {why}.", hint="Export it again.")

    def _too_large(self, why: str, hint: str = "Save the sheet as .csv.") -> StatementRefused:
        return file_refusal(self._name, f"is too large for a grid: {why}.", hint=hint)


def _file(part: str) -> str:
    return part.replace("\\", "/").rpartition("/")[2]


def _local(tag: str) -> str:
    return tag.rpartition(":")[2]


def _place(reference: str | None, row: int, column: int) -> tuple[int, int, str]:
    """Row and column of a cell, from 1, and its reference, such as `B7`; without a reference, `row` and `column`.

    Raises ValueError: the reference is not a cell's.
    """
    if reference is None:
        return row, column, f"{xl_col_to_name(column - 1)}{row}"
    match = _REFERENCE.fullmatch(reference)
    if not match:
        raise ValueError(f"{reference[:20]!r} is not a cell")
    number = 0
    for letter in match[1].upper():
        number = number * 26 + ord(letter) - ord("A") + 1
    return int(match[2]), number, reference


def sheets_in(path: Path) -> Iterator[CellRows]:
    """Yields the sheets of a workbook. Raises StatementRefused: it is not .xlsx, too large, or damaged."""
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
                raise file_refusal(
                    path.name,
                    f"is too large: its sheets have {cells:,} cells, empty ones included, "
                    f"and at most {MOST_CELLS:,} are read.",
                    hint="Keep the sheet with the rows, or save it as .csv.",
                )
            lines = partial(_sheet_lines, sheet, failed.get(sheet.name, {}))
            yield CellRows(f"sheet {sheet.name!r}", "xlsx", None, lines, name=path.name)
    except _DAMAGES as wrong:
        # A ValueError is ours, and says where; the others speak of the insides of a zip file.
        why = f" ({wrong})" if type(wrong) is ValueError else ""
        text = f"cannot be opened as a workbook: it is damaged or incomplete{why}."
        raise file_refusal(path.name, text, hint=EXPORT_AGAIN) from wrong


def _sheet_lines(sheet: python_calamine.CalamineSheet, failed: Failed) -> Iterator[Line]:
    """Yields a sheet's rows that are not blank, with the results of formulas, and with the errors in `failed`."""
    # The sheet begins with its first column that has anything in it.
    _, first = sheet.start or (0, 0)
    for number, row in enumerate(sheet.iter_rows(), 1):
        cells = [value if type(value) is str else _cell(value) for value in row]
        for column, error in failed.get(number, {}).items():
            cells[column - 1 - first] = error
        if any(cell != "" and (type(cell) is not str or cell.strip()) for cell in cells):
            yield number, cells


def _cell(value: object) -> Cell:
    """A workbook's value as a cell: a number as its shortest decimal, a day as its midnight, others as text."""
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, float | int) and isfinite(value):
        return Decimal(repr(value))
    if isinstance(value, datetime):
        return value
    if isinstance(value, date):
        return datetime.combine(value, time())
    return str(value)
