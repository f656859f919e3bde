"""A statement that was read: layout recognised, every row kept, dates decided, the running balance checked."""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from workbench.analysis.frames import schema_of, typed
from workbench.analysis.shapes import STATEMENT_ROW
from workbench.analysis.statements.cells import Cell, text_of
from workbench.analysis.statements.dates import ABSENT, DateColumn, DateFormat
from workbench.analysis.statements.dialect import Declared, Line, cell_rows_of, declared_in, digest_of
from workbench.analysis.statements.fields import PIECE, FieldReader
from workbench.analysis.statements.layouts import LAYOUTS, SUFFIX, Layout, heading_key, layout_in
from workbench.analysis.statements.recognising import Found, recognised
from workbench.domain.moments import DAY_MS
from workbench.domain.money import major_text
from workbench.errors import StatementRefused
from workbench.render import Table, bundle, pairs

_SHOWN_FINDINGS: Final = 3


@dataclass(frozen=True, repr=False, eq=False)
class Statement:
    """One file of an operator or a bank, brought to the shape that all have."""

    name: str
    """Of the file, without its folder."""
    sha256: str
    layout: str
    account: str
    """The ledger account that it is the other side of."""
    currency: str
    rows: pd.DataFrame
    """Columns as `analysis.shapes.STATEMENT_ROW` declares them: a row for each of the file, bad ones too."""
    opening_minor: int | None
    """Declared, or told by the first balance; None where the file says neither."""
    closing_minor: int | None
    period: tuple[date, date] | None
    """First and last business day, declared or of the rows; None where there is neither."""
    findings: pd.DataFrame
    """Where the running balance does not follow: `line`, `expected_minor`, `found_minor`."""

    def __repr__(self) -> str:
        return str(self._table())

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        table = self._table()
        return bundle(str(table), table.html())

    def _table(self) -> Table:
        invalid = int(self.rows["problem"].notna().sum())
        return pairs(
            self.name,
            {
                "layout": self.layout,
                "account": self.account,
                "period": " to ".join(map(str, self.period)) if self.period else "no rows",
                "rows": f"{len(self.rows):,}" + (f", of which {invalid:,} invalid" if invalid else ""),
                "opening balance": self._money(self.opening_minor),
                "closing balance": self._money(self.closing_minor),
                "running balance": self._follows(),
                "sha256": self.sha256,
            },
        )

    def _follows(self) -> str:
        if self.findings.empty:
            return "follows, row by row" if self.rows["balance_minor"].notna().any() else "not told"
        lines = [str(line) for line in self.findings["line"].head(_SHOWN_FINDINGS)]
        more = ", …" if len(self.findings) > _SHOWN_FINDINGS else ""
        return f"does not follow in {len(self.findings):,} of its lines: {', '.join(lines)}{more}"

    def _money(self, minor: int | None) -> str:
        return "not told" if minor is None else f"{self.currency} {major_text(minor, self.currency)}"


FINDING: Final = {"line": "int64", "expected_minor": "int64", "found_minor": "int64"}
"""`line` is where the balance stands that does not follow."""

Whole = NDArray[np.int64]


class Running(NamedTuple):
    """What the rows say of the balance; None where they say nothing."""

    opening_minor: int | None
    closing_minor: int | None
    findings: pd.DataFrame


def checked(rows: pd.DataFrame, *, opening: int | None, closing: tuple[int, int] | None, newest_first: bool) -> Running:
    """Go through rows of STATEMENT_ROW in their order, or from the last where the newest stands first.

    `opening` is what the file declares, `closing` its line and what it declares. Between two balances
    stands what the rows between them do; where one of these cannot be read, nothing is said.
    """
    rows = rows.iloc[::-1] if newest_first else rows
    effects, known = effects_of(rows)
    has_balance = rows["balance_minor"].notna().to_numpy(dtype=bool)
    moved, unknown = np.cumsum(effects), np.cumsum(~known)
    points = np.array(
        [
            rows["line"].to_numpy(dtype=np.int64)[has_balance],
            rows["balance_minor"].dropna().to_numpy(dtype=np.int64),
            moved[has_balance],
            unknown[has_balance],
        ]
    )
    ends = (moved[-1], unknown[-1]) if len(rows) else (0, 0)
    before = np.empty((4, 0), np.int64) if opening is None else np.array([[0], [opening], [0], [0]])
    after = np.empty((4, 0), np.int64) if closing is None else np.array([[each] for each in (*closing, *ends)])
    return Running(
        _first(points) if opening is None else opening,
        _last(points, *ends) if closing is None else closing[1],
        _findings(np.concatenate([before, points, after], axis=1)),
    )


def _findings(points: Whole) -> pd.DataFrame:
    """Where one balance does not follow from the one before; of each its line, itself, and what led to it."""
    lines, balances, moved, unknown = points
    expected = balances[:-1] + np.diff(moved)
    wrong = (expected != balances[1:]) & (np.diff(unknown) == 0)
    found = {"line": lines[1:][wrong], "expected_minor": expected[wrong], "found_minor": balances[1:][wrong]}
    return pd.DataFrame(found).astype(FINDING)


def _first(points: Whole) -> int | None:
    """The balance before the first row, from the first that is told."""
    if not points.size or points[3, 0]:
        return None
    return int(points[1, 0] - points[2, 0])


def _last(points: Whole, moved: int, unknown: int) -> int | None:
    """The balance after the last row, from the last that is told."""
    if not points.size or points[3, -1] != unknown:
        return None
    return int(points[1, -1] + moved - points[2, -1])


def effects_of(rows: pd.DataFrame) -> tuple[Whole, NDArray[np.bool_]]:
    """What each row does to the account, signed, and whether that is known."""
    moved: Any = rows["status"] == "completed"
    complete = rows[["direction", "amount_minor", "fee_minor", "status"]].notna().all(axis=1).to_numpy(dtype=bool)
    amounts = rows["amount_minor"].fillna(0).to_numpy(dtype=np.int64)
    fees = rows["fee_minor"].fillna(0).to_numpy(dtype=np.int64)
    signed = np.where((rows["direction"] == "in").to_numpy(dtype=bool), amounts, -amounts) - fees
    effects = np.where(complete & moved.to_numpy(dtype=bool), signed, np.int64(0))
    still = rows["status"].isin(["failed", "pending"]).to_numpy(dtype=bool)
    return effects, complete | still


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
