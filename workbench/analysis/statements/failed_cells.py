"""Cells of a workbook that hold an error, such as `#DIV/0!`: the reader of workbooks gives them as empty."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Final
from xml.etree.ElementTree import Element, iterparse
from zipfile import ZipFile

Failed = Mapping[int, Mapping[int, str]]
"""The number of a row → the number of a column, both from 1 → the error."""

_MARKED: Final = re.compile(rb"""\st\s*=\s*["']e["']""")
_BLOCK: Final = 1 << 20
_SPLIT: Final = re.compile("([A-Z]+)([0-9]+)")
_RELATION: Final = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"


def failed_cells(path: Path, sheet: str) -> Failed:
    """The cells of a sheet that hold an error; none where the file is a workbook of another build than .xlsx."""
    with ZipFile(path) as book:
        part = _part_of(book, sheet)
        if part is None:
            return {}
        with book.open(part) as file:
            # Cheap to look for, and found in few workbooks; only those are parsed once more.
            if not _is_marked(file):
                return {}
        found: defaultdict[int, dict[int, str]] = defaultdict(dict)
        with book.open(part) as file:
            for row, column, error in _errors(file):
                found[row][column] = error
        return found


def _part_of(book: ZipFile, sheet: str) -> str | None:
    """Where in the archive a sheet is."""
    names = set(book.namelist())
    if not {"xl/workbook.xml", "xl/_rels/workbook.xml.rels"} <= names:
        return None
    sheets = {each.get("name"): each.get(_RELATION) for each in _elements(book, "xl/workbook.xml", "sheet")}
    parts = {
        each.get("Id"): each.get("Target") for each in _elements(book, "xl/_rels/workbook.xml.rels", "Relationship")
    }
    target = parts.get(sheets.get(sheet)) or ""
    part = target.removeprefix("/") if target.startswith("/") else f"xl/{target}"
    return part if part in names else None


def _elements(book: ZipFile, part: str, tag: str) -> list[Element]:
    with book.open(part) as file:
        return [each for _, each in iterparse(file) if _tag(each) == tag]  # noqa: S314  the other reader has taken this file


def _is_marked(file: IO[bytes]) -> bool:
    rest = b""
    while block := file.read(_BLOCK):
        if _MARKED.search(rest + block):
            return True
        rest = block[-32:]
    return False


def _errors(file: IO[bytes]) -> Iterator[tuple[int, int, str]]:
    """Row, column and error of each. A row or a cell that does not say where it is follows the one before."""
    row = column = 0
    for event, each in iterparse(file, events=("start", "end")):  # noqa: S314  the other reader has taken this file
        tag = _tag(each)
        if tag == "row":
            if event == "start":
                row, column = int(each.get("r") or row + 1), 0
            else:
                each.clear()
        elif tag == "c" and event == "end":
            column = _column(each.get("r")) or column + 1
            if each.get("t") == "e":
                yield row, column, next((part.text or "" for part in each if _tag(part) == "v"), "").strip()


def _tag(element: Element) -> str:
    return element.tag.rpartition("}")[2]


def _column(reference: str | None) -> int:
    """The number of the column in `AB12`."""
    found = _SPLIT.fullmatch(reference or "")
    number = 0
    for letter in found[1] if found else "":
        number = number * 26 + ord(letter) - ord("A") + 1
    return number
