"""Turns an Arrow table into the cells of a workbook, so that a ledger in a database is read as one in a file."""

from collections.abc import Callable, Sequence
from datetime import date, timedelta
from decimal import Decimal
from math import isnan
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from workbench.analysis.statements.cells import Cell, Column, refused, text_of
from workbench.analysis.statements.dialect import Body, CellRows
from workbench.analysis.statements.layouts import AMOUNTS, Layout, heading_key
from workbench.analysis.statements.recognising import Found

_AS_NUMERIC: Final = (
    "in PostgreSQL CAST({0} AS NUMERIC), in SQLite CAST(round({0} * 100) AS INTEGER) AS {0}_minor, in pandas text from "
    "the beginning (dtype=str) or df['{0}'].astype(str)"
)
_To = Callable[[Any], Cell] | None
_DAY_US: Final = 86_400_000_000
_DAYS: Final = tuple((day - date(1970, 1, 1)).days for day in (date.min, date.max))
"""The first and the last day of Python's calendar, in days since 1970."""


def cells_in(name: str, given: pa.Table, layout: Layout) -> tuple[Found, Sequence[str]]:
    """The table as if it were a sheet that `layout` had recognised, and the formats that read its moments.

    `name` stands for the table in messages.
    Raises StatementRefused: two columns of one heading, or a column that cannot be read.
    """
    fields = {key: field for field, key in layout.keys.items()}
    used = [(column, fields[key]) for column in given.schema if (key := heading_key(column.name)) in fields]
    header: list[Cell] = [column.name for column, _ in used]
    if len({field for _, field in used}) < len(used):
        text = f"has a column twice: {', '.join(column.name for column, _ in used)}."
        raise refused(name, text, headings=tuple(given.column_names))
    made = [_cells_of(name, column, given.column(column.name), field, layout) for column, field in used]
    body = Body(np.arange(1, len(given) + 1), [Column.of(*cells) for cells in made], {})
    kinds = {field: column.type for column, field in used}
    formats: Sequence[str] = layout.dates
    # A column of times beside the days is read by the layout's formats.
    if pa.types.is_date(kinds["moment"]) and "time" not in kinds:
        formats = ["%Y-%m-%d"]
    elif pa.types.is_timestamp(kinds["moment"]) and "time" not in kinds:
        formats = ["%Y-%m-%d %H:%M:%S"]
    rows = CellRows(name, "table", None, lambda: iter(()), None, name, lambda *_: body)
    return Found(rows, layout, header, 0, ()), formats


def _cells_of(
    name: str, field: pa.Field, column: pa.ChunkedArray, what: str, layout: Layout
) -> tuple[pa.ChunkedArray, _To]:
    """The values of a column, and the function that turns a value into a cell; None if the values are texts.

    `what` is the field of the layout that the column holds.
    Raises StatementRefused: a float that is no amount, whole numbers that may be kwacha or ngwee, or an unknown type.
    """
    if column.null_count == len(column):
        return pa.chunked_array([pa.nulls(len(column), pa.string())]), None
    is_money, is_numeric, kind = what in AMOUNTS, False, field.type
    if isinstance(kind, pa.BaseExtensionType) and pa.types.is_string(kind.storage_type):
        # PostgreSQL's NUMERIC comes as its exact text.
        is_numeric = getattr(kind, "type_name", "") == "numeric"
        column, kind = column.cast(kind.storage_type), kind.storage_type
    if pa.types.is_dictionary(kind):
        column, kind = column.cast(kind.value_type), kind.value_type
    if unfit := _unfit(field, kind, layout, is_money=is_money):
        raise refused(name, unfit[0], hint=unfit[1], column=field.name)
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        return _moments(name, column, timedelta(hours=layout.utc_offset_hours)), lambda moment: moment
    if pa.types.is_decimal(kind) or is_numeric:
        return column, _exact if is_money else lambda value: text_of(_exact(value))
    if pa.types.is_floating(kind):
        precision = kind.to_pandas_dtype()
        # A float of 32 bits has another shortest decimal than the float of 64 bits with the same value.
        return column, lambda value: "" if isnan(value) else _exact(str(precision(value)))
    return _texts(column, kind)


def _texts(column: pa.ChunkedArray, kind: pa.DataType) -> tuple[pa.ChunkedArray, _To]:
    """A column as text, and the function that turns its values into text; None if the values are texts."""
    if pa.types.is_boolean(kind):
        return pc.if_else(column, "true", "false"), None
    if pa.types.is_integer(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return column.cast(pa.string()), None
    if isinstance(kind, pa.UuidType):
        return pa.chunked_array([[value and str(value) for value in column.to_pylist()]], pa.string()), None
    return column, None if pa.types.is_string(kind) else str


def _moments(name: str, column: pa.ChunkedArray, offset: timedelta) -> pa.ChunkedArray:
    """Days or moments as local moments, moved by `offset` if they have a zone. Raises StatementRefused: no such day."""
    kind = column.type
    if pa.types.is_date(kind):
        _refuse_beyond(name, column.cast(pa.date32()).cast(pa.int32()), 1)
        return column.cast(pa.timestamp("us"))
    utc = column.cast(pa.timestamp("us", kind.tz), safe=False).cast(pa.timestamp("us"))
    local = pc.add(utc, pa.scalar(offset, pa.duration("us"))) if kind.tz else utc
    _refuse_beyond(name, local.cast(pa.int64()), _DAY_US)
    return local


def _refuse_beyond(name: str, numbers: pa.ChunkedArray, per_day: int) -> None:
    """Raises StatementRefused: a day or a moment is not in the years 1 to 9999.

    `numbers` count from 1970, `per_day` of them to a day: 1 for days, more for moments.
    """
    first, last = _DAYS
    is_beyond = pc.or_(pc.less(numbers, first * per_day), pc.greater_equal(numbers, (last + 1) * per_day))
    place = pc.index(is_beyond, value=True).as_py()
    if place >= 0:
        text = f"has a date that does not exist, from row {place + 1} on."
        raise refused(name, text, hint="PostgreSQL's infinity, or a year beyond 9999? Leave it out.")


def _unfit(field: pa.Field, kind: pa.DataType, layout: Layout, *, is_money: bool) -> tuple[str, str] | None:
    """The reason why a column cannot be read, and a hint what to write instead; None if it can be read."""
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


def _exact(value: Decimal | str) -> Cell:
    """A decimal, or a text that is a number, as an exact number; other text, such as `nan`, stays text."""
    return Decimal(value) if isinstance(value, Decimal) or value[-1].isdigit() else value
