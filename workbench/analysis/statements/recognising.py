"""Recognises the layout of a file by its headings, or says why no layout fits."""

from collections import Counter
from collections.abc import Container, Iterable, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Final, NamedTuple

from workbench.analysis.statements.cells import Cell, CellRows, Line, file_refusal, text_of
from workbench.analysis.statements.csv_files import cell_rows_of
from workbench.analysis.statements.layouts import LAYOUTS, Layout, heading_key
from workbench.analysis.statements.workbooks import EXPORT_AGAIN
from workbench.errors import StatementRefused
from workbench.visible import pasted

HEADER_WITHIN: Final = 50
"""The number of first lines in which the header is looked for."""
_OF_A_LEDGER: Final = "These are the columns of a ledger: give the ledger first, then the statements."
_LEDGERS_OWN: Final = {"account", "key", "occurred_at"}


class Head(NamedTuple):
    """The first lines of a file, cut into cells by one encoding and delimiter, up to the failure to cut one, if any."""

    cell_rows: CellRows
    lines: list[Line]
    failure: StatementRefused | None = None

    @property
    def is_cut(self) -> bool:
        """True if a line has several cells; if none has, the delimiter is probably not the file's."""
        return any(len(cells) > 1 for _, cells in self.lines)


class RecognisedFile(NamedTuple):
    """A file whose layout is known."""

    cell_rows: CellRows
    layout: Layout
    header: list[Cell]
    """The header's cells, without blank ones at the end."""
    line: int
    above: tuple[Line, ...]

    @property
    def places(self) -> dict[str, int]:
        """Field → the index of its column, for the fields that the file has."""
        headings = headings_of(self.header, self.layout.known_headings)
        places = {name: headings.index(key) for name, key in self.layout.keys.items() if key in headings}
        return {**places, "account": 0} if self.layout.sections else places


def recognised(path: Path, layouts: Iterable[Layout], *, named: bool) -> RecognisedFile:
    """The file with its header and the only layout that fits.

    If the caller `named` the layout, the file may have further columns; otherwise the layout must know all columns.
    Raises StatementRefused: no layout fits, or several, a heading stands twice, a row stands above the header, or the
    file cannot be cut into cells.
    """
    name, layouts = path.name, tuple(layouts)
    sources = cell_rows_of(path, [(layout.encoding, layout.delimiter) for layout in layouts])
    heads = [*map(head_of, sources)]
    blank = [not head.lines and not head.failure for head in heads]
    # A line of delimiters alone is blank to the reading that has this delimiter; of several sheets one may be.
    if all(blank) or (any(blank) and sources[0].kind == "csv"):
        raise file_refusal(name, "is empty.", hint=EXPORT_AGAIN)
    # A reading that fails below the header of its layout is the right one; reading its rows raises the failure.
    fits = [file for head in heads for layout in layouts if (file := _header(head, layout, named=named))]
    if not fits:
        raise _failure(heads, layouts, named=named) or _unknown(path, heads, layouts)
    # A layout that the caller gives goes before a shipped one with the same headings.
    fits = [file for file in fits if LAYOUTS.get(file.layout.name) is not file.layout] or fits
    if len(fits) > 1:
        text = "; ".join(f"{file.layout.name} ({file.cell_rows.says}, line {file.line})" for file in fits)
        raise file_refusal(
            name,
            f"can be read in several ways: {text}.",
            hint="Name the layout: layout='…'. Of several sheets, keep one.",
            layouts=tuple(file.layout.name for file in fits),
        )
    _check(name, fits[0])
    return fits[0]


def head_of(cell_rows: CellRows) -> Head:
    """Reads the first HEADER_WITHIN lines that are not blank, each split into cells.

    Reading stops at an error, such as an undecodable byte or an open quote; the result then has the error as `failure`.
    """
    lines: list[Line] = []
    try:
        lines.extend(islice(cell_rows.lines(), HEADER_WITHIN))
    except StatementRefused as failure:
        return Head(cell_rows, lines, failure)
    return Head(cell_rows, lines)


def _header(head: Head, layout: Layout, *, named: bool) -> RecognisedFile | None:
    """The file with its header, the first line that has the layout's headings; None without such a line.

    A header may have further headings only if the layout is `named`.
    """
    if head.cell_rows.kind not in layout.kinds or head.cell_rows.delimiter not in (None, layout.delimiter):
        return None
    if head.cell_rows.encoding not in (None, layout.encoding):
        return None
    known = layout.known_headings
    for place, (line, cells) in enumerate(head.lines):
        headings = headings_of(cells, known)
        present = set(headings) - {""}
        if not layout.lacking(present) and (named or present.issubset(known)):
            return RecognisedFile(head.cell_rows, layout, cells[: len(headings)], line, tuple(head.lines[:place]))
    return None


def headings_of(cells: Sequence[Cell], known: Container[str] | None = None) -> tuple[str, ...]:
    """The headings in a line, the second of a name as `Currency#2`, without blank ones at the end.

    If `known` is given, they are in the form of `heading_key`, and get a `#2` only if `known` has the heading with it.
    """
    headings = [" ".join(text_of(cell).split()) for cell in cells]
    while headings and not headings[-1]:
        headings.pop()
    times: Counter[str] = Counter()
    for place, text in enumerate(headings):
        heading = heading_key(text)
        times[heading] += bool(heading)
        numbered = f"{text}#{times[heading]}"
        if known is not None:
            headings[place] = numbered if (numbered := heading_key(numbered)) in known else heading
        elif times[heading] > 1:
            headings[place] = numbered
    return tuple(headings)


def _check(name: str, file: RecognisedFile) -> None:
    """Raises StatementRefused: a heading that is read stands twice, or a row stands above the header."""
    headings = headings_of(file.header, file.layout.known_headings)
    twice = sorted({heading for heading in file.layout.keys.values() if headings.count(heading) > 1})
    if twice:
        text = f"has the heading {', '.join(map(repr, twice))} more than once in line {file.line}."
        hint = "Rename or remove the others: the layout does not say which of them is meant."
        raise file_refusal(name, text, hint=hint, line=file.line, headings=headings)
    labels = {*map(heading_key, file.layout.preamble.values())}
    for line, cells in file.above:
        # Above the header stand labels and titles. A line with as many cells as a row may be a row, and is not dropped.
        filled = [heading_key(text_of(cell)).removesuffix(":") for cell in cells if cell != ""]
        if len(filled) >= len(file.layout.columns) - len(file.layout.optional) and labels.isdisjoint(filled):
            text = f"has a row above its header, in line {line}."
            raise file_refusal(name, text, hint="Move the header to the top.", line=line, header=file.line)


def _failure(heads: Sequence[Head], layouts: tuple[Layout, ...], *, named: bool) -> StatementRefused | None:
    """Explains why no layout fits, if the reason is that the file cannot be cut into cells; None for another reason.

    If every encoding and delimiter that gives several cells fails, that failure is the reason. Otherwise the reason is
    the failure of the encoding and delimiter of the layout that has the file's headings. `named` is true for a layout
    that the caller named.
    """
    if not any(head.is_cut and not head.failure for head in heads):
        is_unread = not any(head.lines for head in heads)
        if failures := [head.failure for head in heads if head.failure and (head.is_cut or is_unread)]:
            return failures[0]
    readings = {(head.cell_rows.encoding, head.cell_rows.delimiter): head.failure for head in reversed(heads)}
    of_headings = (
        layout for head in heads for layout in layouts
        if _header(head, replace(layout, encoding=head.cell_rows.encoding or layout.encoding), named=named)
    )  # fmt: skip
    layout = next(of_headings, None)
    return readings.get((layout.encoding, layout.delimiter)) if layout else None


def _unknown(path: Path, heads: Sequence[Head], layouts: tuple[Layout, ...]) -> StatementRefused:
    """The refusal of a file that fits no layout: its likely headings, and their differences from the nearest layout."""
    others: list[Head] = []
    if heads[0].cell_rows.kind == "csv":
        # A file with a delimiter that no layout has was cut into one column: other delimiters are tried.
        encoding = heads[0].cell_rows.encoding or "utf-8"
        others = [*map(head_of, cell_rows_of(path, [(encoding, mark) for mark in ",;\t|"]))]
    tried = [
        (len({*map(heading_key, _texts(cells))} & {*layout.keys.values()}), layout.delimiter == delimiter, line, cells,
         delimiter, layout)
        for head in (*heads, *others) for delimiter in [head.cell_rows.delimiter]
        for line, cells in head.lines for layout in layouts
    ]  # fmt: skip
    likeness, _, line, cells, delimiter, near = max(tried, key=lambda attempt: attempt[:2])
    if not likeness:
        # The first line of the file, as the reading with most cells has it.
        line, cells = max((head.lines[0] for head in heads if head.lines), key=lambda line: len(line[1]))
    headings = _texts(cells)
    return file_refusal(
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
    """The differences between a header and `layout`, as a sentence. `delimiter` is the file's; None in a sheet."""
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
