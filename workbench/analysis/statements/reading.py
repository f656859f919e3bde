"""A file read: its layout recognised, every row kept, the dates decided, the balance checked."""

import itertools
from collections.abc import Iterator, Sequence
from datetime import date, datetime
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from workbench.analysis.frames import schema_of, typed
from workbench.analysis.shapes import STATEMENT_ROW
from workbench.analysis.statements.balances import checked
from workbench.analysis.statements.cells import Cell, text_of
from workbench.analysis.statements.dates import DateFormat
from workbench.analysis.statements.grids import Line, cell_rows_of, digest_of
from workbench.analysis.statements.known import LAYOUTS
from workbench.analysis.statements.layout_files import SUFFIX, layout_in
from workbench.analysis.statements.layouts import Layout, heading_key
from workbench.analysis.statements.moments import ABSENT, DateColumn
from workbench.analysis.statements.pieces import PIECE, FieldReader
from workbench.analysis.statements.preambles import Declared, declared_in
from workbench.analysis.statements.recognising import Found, recognised
from workbench.analysis.statements.statement import Statement
from workbench.domain.moments import DAY_MS
from workbench.errors import StatementRefused

_PIECE: Final = 20_000
_HOUR_MS: Final = 3_600_000
_LUSAKA_MS: Final = 2 * _HOUR_MS


def read_statement(
    path: str | Path,
    *,
    layout: str | Path | Layout | None = None,
    account: str | None = None,
    date_format: str | None = None,
    currency: str | None = None,
) -> Statement:
    """Read a statement from a `.csv` or `.xlsx` file.

    `layout` is a name of LAYOUTS, one of your own, or the path of a `.toml` file with one; without it, the
    layout is recognised from the headings. `account` is the ledger account, where the file and its layout do not
    say it; `date_format` (such as `%d/%m/%Y %H:%M:%S`) says which of several is meant. Rows that cannot be read
    are kept, with the reason in `problem`.

    Raises StatementRefused: the file cannot be read without guessing.
    """
    if not isinstance(path, str | Path):
        raise StatementRefused(f"The path of a statement's file is wanted, not {path!r}.")
    source = Path(path)
    digest = digest_of(source)
    layouts = _layouts(layout)
    found = recognised(source.name, cell_rows_of(source, layouts), layouts, named=layout is not None)
    text = declared_in(source.name, found.layout, found.above)
    whole = _Whole(
        source.name,
        _agreed(source.name, "account", account, text.account, found.layout.account),
        _agreed(source.name, "currency", currency and currency.strip().upper(), text.currency, found.layout.currency),
        found.layout,
    )
    formats = [DateFormat(date_format)] if date_format else [DateFormat(each) for each in found.layout.dates]
    dates = DateColumn(source.name, formats)
    reader = FieldReader(found, dates, whole.currency)
    pieces = list(_pieces(_without_footers(found, formats), reader))
    local, chosen = dates.decided()
    rows = _frame(whole, pieces, local, chosen)
    if currency or text.currency:
        _refuse_other_currency(whole, rows)
    return _statement(whole, digest, text, rows, local)


class _Whole(NamedTuple):
    """What holds for all rows."""

    name: str
    account: str
    currency: str
    layout: Layout


def _layouts(layout: str | Path | Layout | None) -> tuple[Layout, ...]:
    if isinstance(layout, Layout):
        return (layout,)
    if layout is None:
        return tuple(LAYOUTS.values())
    if not isinstance(layout, str | Path):
        raise StatementRefused(f"A layout is wanted, Layout(name=…, …) or its name, not a {type(layout).__name__}.")
    if Path(layout).suffix == SUFFIX:
        return (layout_in(Path(layout)),)
    if layout not in LAYOUTS:
        raise StatementRefused(
            f"{str(layout)!r} is not a layout; there are {', '.join(LAYOUTS)}, and those in {SUFFIX} files.",
            layout=str(layout),
            layouts=tuple(LAYOUTS),
        )
    return (LAYOUTS[str(layout)],)


def _agreed(name: str, what: str, passed: str | None, declared: str | None, otherwise: str | None) -> str:
    """What the caller says, the file declares or the layout supposes, in this order."""
    if passed and declared and passed != declared:
        raise StatementRefused(
            f"{name} declares the {what} {declared!r}, and {passed!r} was passed.",
            file=name,
            passed=passed,
            found=declared,
        )
    value = passed or declared or otherwise
    if value is None:
        raise StatementRefused(f"{name} does not say which {what} it is of.", hint=f"Pass {what}='…'.", file=name)
    return value


def _refuse_other_currency(whole: _Whole, rows: pd.DataFrame) -> None:
    """Raises StatementRefused: no row is in the currency that the file, or the caller, says it is in."""
    found = sorted(rows["currency"].dropna().unique())
    if found and whole.currency not in found:
        raise StatementRefused(
            f"{whole.name} is said to be in {whole.currency}, and its rows are in {' and '.join(found)}.",
            file=whole.name,
            passed=whole.currency,
            found=tuple(found),
        )


def _pieces(rows: Iterator[Line], reader: FieldReader) -> Iterator[pa.Table]:
    while fields := list(itertools.islice(rows, _PIECE)):
        yield reader.read([line for line, _ in fields], [cells for _, cells in fields])


def _without_footers(found: Found, formats: Sequence[DateFormat]) -> Iterator[Line]:
    """The rows; lines of totals are left out at the end. Elsewhere, or with a date, they are rows like others."""
    footers = tuple(heading_key(footer) for footer in found.layout.footers)
    if not footers:
        yield from found.rows()
        return
    moments = found.places["moment"]
    held: list[Line] = []
    for line in found.rows():
        begins = heading_key(next(text_of(cell) for cell in line[1] if cell != ""))
        # A key may begin as a total does.
        if begins.startswith(footers) and not _has_date(line[1][moments : moments + 1], formats):
            held.append(line)
            continue
        yield from held
        held.clear()
        yield line


def _has_date(cells: Sequence[Cell], formats: Sequence[DateFormat]) -> bool:
    return any(
        isinstance(cell, datetime) or any(each.read(text_of(cell).strip()) is not None for each in formats)
        for cell in cells
    )


def _frame(whole: _Whole, pieces: Sequence[pa.Table], local: NDArray[np.int64], chosen: DateFormat) -> pd.DataFrame:
    """The pieces as one frame, with exactly the columns of STATEMENT_ROW."""
    table = pa.concat_tables([PIECE.empty_table(), *pieces])
    absent = local == ABSENT
    utc = local - whole.layout.utc_offset_hours * _HOUR_MS
    made: dict[str, Any] = {name: table[name] for name in PIECE.names}
    made |= {"statement": [whole.name] * len(table), "account": [whole.account] * len(table)}
    made["business_date"] = (
        pa.array((utc + _LUSAKA_MS) // DAY_MS, pa.int64(), mask=absent).cast(pa.int32()).cast(pa.date32())
    )
    # A day without a time is no moment.
    made["occurred_at"] = pa.array(utc, pa.timestamp("ms", "UTC"), mask=absent | (not chosen.has_time))
    return typed(
        [pa.table({name: made[name] for name in STATEMENT_ROW}, schema=schema_of(STATEMENT_ROW))], STATEMENT_ROW
    )


def _statement(whole: _Whole, digest: str, text: Declared, rows: pd.DataFrame, local: NDArray[np.int64]) -> Statement:
    read = local[local != ABSENT]
    newest_first = read.size > 1 and bool(np.all(np.diff(read) <= 0)) and read[0] > read[-1]
    running = checked(rows, opening=text.opening, closing=text.closing, newest_first=newest_first)
    return Statement(
        name=whole.name,
        sha256=digest,
        layout=whole.layout.name,
        account=whole.account,
        currency=whole.currency,
        rows=rows,
        opening_minor=running.opening_minor,
        closing_minor=running.closing_minor,
        period=_period(text, rows),
        findings=running.findings,
    )


def _period(text: Declared, rows: pd.DataFrame) -> tuple[date, date] | None:
    days = rows["business_date"].dropna()
    first = text.first or (days.min() if len(days) else None)
    last = text.last or (days.max() if len(days) else None)
    return (first, last) if first and last else None
