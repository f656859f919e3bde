"""Recognises the layout of a file by its headings, reads the labels above the header, and finds the rows below it."""

from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from datetime import date, datetime
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from workbench.analysis.statements.cells import (
    Amounts,
    Body,
    Cell,
    CellRows,
    Column,
    Line,
    Wrong,
    all_hold,
    currencies_named,
    error_in,
    refused,
    shown,
    text_of,
)
from workbench.analysis.statements.dates import DateFormat
from workbench.analysis.statements.dialect import cell_rows_of
from workbench.analysis.statements.layouts import CODE, LAYOUTS, PREAMBLE_FIELDS, Layout, Preamble, heading_key
from workbench.analysis.statements.workbooks import EXPORT_AGAIN
from workbench.domain.moments import moment
from workbench.domain.money import ISO_4217
from workbench.errors import StatementRefused
from workbench.visible import pasted

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
    """What the lines above the header say, the line of the closing balance or 0, the account, and the currency.

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
