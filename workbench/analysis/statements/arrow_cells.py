"""An Arrow table as rows of the cells that a workbook would have, so that books in a database are read as a file is."""

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, time, timedelta
from decimal import Decimal
from math import isfinite, isnan
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from workbench.analysis.statements.cells import Cell, refused, text_of
from workbench.analysis.statements.dialect import CellRows, Line
from workbench.analysis.statements.layouts import AMOUNTS, Layout, heading_key
from workbench.analysis.statements.recognising import Found

_AS_NUMERIC: Final = (
    "in PostgreSQL CAST({0} AS NUMERIC), in SQLite CAST(round({0} * 100) AS INTEGER) AS {0}_minor, in pandas text from "
    "the beginning (dtype=str) or df['{0}'].astype(str)"
)
_ROWS_AT_ONCE: Final = 20_000
_To = Callable[[Any], Cell]


def cells_in(name: str, given: pa.Table, layout: Layout) -> tuple[Found, Sequence[str]]:
    """A table as rows of the cells that a workbook would have, and the formats of its moments."""
    fields = {key: field for field, key in layout.keys.items()}
    used = [each for each in given.schema if heading_key(each.name) in fields]
    if len({heading_key(each.name) for each in used}) < len(used):
        text = f"has a column twice: {', '.join(each.name for each in used)}."
        raise refused(name, text, headings=tuple(given.column_names))
    made = [_cells_of(name, each, given.column(each.name), fields[heading_key(each.name)], layout) for each in used]

    def lines() -> Iterator[Line]:
        number = 0
        for start in range(0, len(given), _ROWS_AT_ONCE):
            pieces = (_slice(name, column, start, to) for column, to in made)
            for number, cells in enumerate(zip(*pieces, strict=True), start + 1):
                yield number, list(cells)

    moments = given.schema.field(next(each.name for each in used if fields[heading_key(each.name)] == "moment")).type
    is_typed = pa.types.is_date(moments), pa.types.is_timestamp(moments)
    formats = next((each for each, holds in zip(("%Y-%m-%d", "%Y-%m-%d %H:%M:%S"), is_typed, strict=True) if holds), "")
    header: list[Cell] = [each.name for each in used]
    found = Found(CellRows(name, "table", None, lines), layout, header, 0, (), [])
    return found, [formats] if formats else layout.dates


def _slice(name: str, column: pa.ChunkedArray, start: int, to: _To) -> list[Cell]:
    try:
        values = column.slice(start, _ROWS_AT_ONCE).to_pylist()
        return values if to is _same and None not in values else ["" if each is None else to(each) for each in values]
    except (ValueError, OverflowError):
        text = f"has a date that does not exist, from row {start + 1} on."
        raise refused(name, text, hint="PostgreSQL's infinity, or a year beyond 9999? Leave it out.") from None


def _cells_of(
    name: str, field: pa.Field, column: pa.ChunkedArray, what: str, layout: Layout
) -> tuple[pa.ChunkedArray, _To]:
    """A column, and what makes cells of its values; a float of money is read once, by its shortest decimal.

    Raises StatementRefused: a float as key, whole numbers that may be kwacha or ngwee, or a type that no cell has.
    """
    if column.null_count == len(column):
        return column, text_of
    is_money, is_numeric, kind = what in AMOUNTS, False, field.type
    if isinstance(kind, pa.BaseExtensionType) and pa.types.is_string(kind.storage_type):
        # PostgreSQL's NUMERIC comes as its exact text.
        is_numeric = getattr(kind, "type_name", "") == "numeric"
        column, kind = column.cast(kind.storage_type), kind.storage_type
    if pa.types.is_dictionary(kind):
        column, kind = column.cast(kind.value_type), kind.value_type
    if unfit := _unfit(field, kind, layout, is_money=is_money):
        raise refused(name, unfit[0], hint=unfit[1], column=field.name)
    if pa.types.is_timestamp(kind):
        utc = column.cast(pa.timestamp("us", kind.tz), safe=False).cast(pa.timestamp("us"))
        local = pc.add(utc, pa.scalar(timedelta(hours=layout.utc_offset_hours), pa.duration("us")))
        return local if kind.tz else utc, _same
    if pa.types.is_date(kind):
        return column, lambda day: datetime.combine(day, time())
    if pa.types.is_decimal(kind) or is_numeric:
        return column, _decimal if is_money else _plain_number
    if pa.types.is_floating(kind):
        precision = kind.to_pandas_dtype()
        # By its shortest decimal: a float of 32 bits has another one than that of 64 with the same value.
        return column, lambda value: _shortest(precision(value))
    plain = _same if column.type in (pa.string(), pa.large_string(), pa.string_view()) else str
    return column, (lambda value: str(value).lower()) if pa.types.is_boolean(kind) else plain


def _unfit(field: pa.Field, kind: pa.DataType, layout: Layout, *, is_money: bool) -> tuple[str, str] | None:
    """Why no cell is made of a column, and what to write instead."""
    called, of = field.name, pa.types
    numeric = _AS_NUMERIC.format(called)
    if of.is_floating(kind) and not is_money:
        hint = (
            f"Give it as text, df['{called}'].astype('Int64').astype(str) in pandas: a float does not keep every digit."
        )
        return f"has floats in {called}, and no float holds a key.", hint
    if is_money and (field.metadata or {}).get(b"POSTGRESQL:type") == b"money":
        return f"has the type money in {called}, whose unit the server sets.", f"Write CAST({called} AS NUMERIC)."
    if is_money and of.is_integer(kind) and not layout.units and not layout.is_minor:
        hint = f"If they are ngwee, name it {called}_minor; if kwacha, write {numeric}."
        return f"has whole numbers in {called}, which may be kwacha or ngwee.", hint
    tests = (of.is_string, of.is_large_string, of.is_string_view, of.is_integer, of.is_boolean, of.is_decimal,
             of.is_timestamp, of.is_date, of.is_time, of.is_floating)  # fmt: skip
    if not isinstance(kind, pa.UuidType) and not any(test(kind) for test in tests):
        return f"has the type {kind} in {called}; only text, numbers and moments can be read.", ""
    return None


def _same(cell: Cell) -> Cell:
    return cell


def _decimal(value: Decimal | str) -> Cell:
    """An exact number; what is none, such as `nan`, is a text."""
    return Decimal(value) if isinstance(value, Decimal) or value[-1].isdigit() else value


def _shortest(number: Any) -> Cell:  # noqa: ANN401  a float of NumPy
    """A float as the number that it is printed as; none is an empty cell, and what has no end a text."""
    return Decimal(str(number)) if isfinite(number) else "" if isnan(number) else str(number)


def _plain_number(value: Decimal | str) -> Cell:
    return value if isinstance(value, str) else format(value, "f")
