"""Which layout a file has, and where its header stands: told by the headings, never by the file's name."""

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from workbench.analysis.statements.cells import Cell, error_in, text_of
from workbench.analysis.statements.grids import CsvGrid, Grid, Line
from workbench.analysis.statements.layouts import Layout, heading_key
from workbench.errors import StatementRefused

_HEADER_WITHIN: Final = 50
"""The header is looked for in so many lines."""


class Found(NamedTuple):
    """A file whose layout is known."""

    grid: Grid
    layout: Layout
    header: list[Cell]
    """Its cells as they stand, blank ones at the end left out."""
    line: int
    above: tuple[Line, ...]

    def rows(self) -> Iterator[Line]:
        """The lines below the header."""
        columns = {heading_key(heading) for heading in self.layout.columns.values()}
        places = [place for place, heading in enumerate(_headings(self.header)) if heading in columns]
        return (line for line in self.grid.lines() if line[0] > self.line and not _is_stray(line[1], places))


def recognised(name: str, grids: Sequence[Grid], layouts: Iterable[Layout], *, named: bool) -> Found:
    """The one layout and the one header that fit.

    A layout that is `named` by the caller may have further columns in the file; to be recognised, all
    must be known to it. Raises StatementRefused: no layout fits, or several, or a heading stands twice.
    """
    layouts = tuple(layouts)
    heads = [(grid, list(itertools.islice(grid.lines(), _HEADER_WITHIN))) for grid in grids]
    blank = [not head for _, head in heads]
    # A line of delimiters alone is blank to the reading that has this delimiter; of several sheets one may be.
    if all(blank) or (any(blank) and isinstance(grids[0], CsvGrid)):
        raise StatementRefused(f"{name} is empty.", file=name)
    fits = [found for grid, head in heads for layout in layouts if (found := _header(grid, head, layout, named=named))]
    if not fits:
        raise _unknown(name, heads, layouts)
    if len(fits) > 1:
        said = "; ".join(f"{found.layout.name} ({found.grid.says}, line {found.line})" for found in fits)
        raise StatementRefused(
            f"{name} can be read in several ways: {said}.",
            hint="Name the layout: layout='…'. Of several sheets, keep one.",
            file=name,
            layouts=tuple(found.layout.name for found in fits),
        )
    _check(name, fits[0])
    return fits[0]


def _header(grid: Grid, head: list[Line], layout: Layout, *, named: bool) -> Found | None:
    """The first line that has the headings of a layout."""
    if not grid.takes(layout):
        return None
    required = {heading_key(heading) for heading in layout.required.values()}
    known = {heading_key(heading) for heading in (*layout.columns.values(), *layout.ignored)}
    for place, (line, cells) in enumerate(head):
        headings = _headings(cells)
        present = set(headings) - {""}
        if required <= present and (named or present <= known):
            return Found(grid, layout, cells[: len(headings)], line, tuple(head[:place]))
    return None


def _is_stray(cells: list[Cell], places: Sequence[int]) -> bool:
    """Whether a line has nothing but errors, in columns that are ignored: a formula that was filled down too far."""
    width = len(cells)
    if any(place < width and cells[place] != "" for place in places):
        return False
    return all(cell == "" or error_in(cell) for cell in cells)


def _headings(cells: list[Cell]) -> tuple[str, ...]:
    made = [heading_key(text_of(cell)) for cell in cells]
    while made and not made[-1]:
        made.pop()
    return tuple(made)


def _check(name: str, found: Found) -> None:
    columns = {heading_key(heading) for heading in found.layout.columns.values()}
    headings = _headings(found.header)
    twice = sorted({heading for heading in headings if headings.count(heading) > 1} & columns)
    if twice:
        raise StatementRefused(
            f"{name} has the heading {', '.join(map(repr, twice))} more than once in line {found.line}.",
            file=name,
            line=found.line,
            headings=headings,
        )
    for line, cells in found.above:
        # A label and its value, a title: what has as many cells as a row may be one, and none is dropped.
        if len([cell for cell in cells if cell != ""]) >= len(found.layout.required):
            raise StatementRefused(
                f"{name} has a row above its header, in line {line}.", file=name, line=line, header=found.line
            )


def _unknown(name: str, heads: list[tuple[Grid, list[Line]]], layouts: tuple[Layout, ...]) -> StatementRefused:
    """Says the headings found, in the line most like a header, and what parts them from the nearest layout."""
    best, near, line = 0, layouts[0], _first(heads)
    for grid, head in heads:
        for layout in (layout for layout in layouts if grid.takes(layout)):
            known = {heading_key(heading) for heading in layout.columns.values()}
            for each in head:
                score = len(known.intersection(_headings(each[1])))
                if score > best:
                    best, near, line = score, layout, each
    headings = tuple(text_of(cell).strip() for cell in line[1] if cell != "")
    return StatementRefused(
        f"{name} has none of the layouts known ({', '.join(layout.name for layout in layouts)}). "
        f"The headings found in line {line[0]}: {', '.join(text[:40] for text in headings[:40])}."
        + (f" {_why_not(near, headings)}" if best else ""),
        hint="Declare its columns: layout=Layout(name=…, columns={'key': …}, dates=(…)).",
        file=name,
        headings=headings,
        layouts=tuple(layout.name for layout in layouts),
    )


def _first(heads: list[tuple[Grid, list[Line]]]) -> Line:
    """The first line of the file, as the way that cuts it into most cells has it."""
    return max((head[0] for _, head in heads if head), key=lambda line: len(line[1]))


def _why_not(layout: Layout, headings: Sequence[str]) -> str:
    """What stands between these headings and the layout nearest to them."""
    present = {heading_key(heading) for heading in headings}
    known = {heading_key(heading) for heading in (*layout.columns.values(), *layout.ignored)}
    lacking = [heading for heading in layout.required.values() if heading_key(heading) not in present]
    extra = [heading for heading in headings if heading_key(heading) not in known]
    parts = [
        f"lacks {', '.join(lacking)}" if lacking else "",
        f"has besides {', '.join(text[:40] for text in extra)}" if extra else "",
    ]
    return f"For {layout.name} it {' and '.join(filter(None, parts))}."
