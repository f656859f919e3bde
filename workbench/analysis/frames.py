"""Converts records into Arrow tables and DataFrames with declared columns and types, and back."""

import ctypes
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import date, timedelta
from functools import lru_cache
from numbers import Integral
from typing import Any, Final

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from workbench.analysis.shapes import DAY, MOMENT, Columns
from workbench.domain.money import ZMW, major_text

ARROW: Final[Mapping[str, pa.DataType]] = {
    "string": pa.string(),
    "category": pa.string(),
    "int64": pa.int64(),
    "Int64": pa.int64(),
    "bool": pa.bool_(),
    MOMENT: pa.timestamp("ms", "UTC"),
    DAY: pa.date32(),
}
"""pandas type → Arrow type. A category becomes text, since a part of a table need not have all categories."""

_EXACT, _FULL = ("int64", "Int64", "bool"), ("int64", "bool")
"""_EXACT: types of columns that pandas must not convert before Arrow does. _FULL: types of columns without nulls."""
_FEW_TEXTS = ("statement", "account", "words", "phone", "phone_hash")
_MOST_IN_A_DICTIONARY: Final = 1 << 18
"""The most texts in a dictionary: a reader of a table in chunks gets the whole dictionary with each chunk."""
_MUCH_BYTES: Final = 1 << 24
"""Peak memory of Arrow, in bytes, below which nothing is released: releasing would take longer than reading did."""
_BATCH_ROWS = 20_000
"""The most rows that exist as Python objects at a time; a table may have ten million."""


def schema_of(columns: Columns) -> pa.Schema:
    """The columns as an Arrow schema; columns of int64 or bool hold no nulls."""
    return pa.schema([pa.field(name, ARROW[kind], nullable=kind not in _FULL) for name, kind in columns.items()])


def arrow_table(rows: Iterable[Mapping[str, Any]], columns: Columns) -> pa.Table:
    """Converts records to an Arrow table with these columns; without records, the table has no rows.

    A moment may be ISO 8601 text or milliseconds since 1970. A day may be ISO 8601 text or days since 1970.
    """
    records = list(rows)
    schema = schema_of(columns)
    arrays = [_array([row[field.name] for row in records], field.type) for field in schema]
    return pa.Table.from_arrays(arrays, schema=schema)


def arranged(arrays: Mapping[str, pa.Array | pa.ChunkedArray], columns: Columns) -> pa.Table:
    """Combines `arrays` (name → column) into an Arrow table with these columns and types.

    Moments may be integers of milliseconds since 1970, and days integers of days since 1970.
    """
    schema = schema_of(columns)
    whole = {field.name: arrays[field.name] for field in schema}
    days = {name: whole[name].cast(pa.int32()) for name, kind in columns.items() if kind == DAY}
    return pa.table(whole | days).cast(schema)


def frame(rows: Iterable[Mapping[str, Any]], columns: Columns) -> pd.DataFrame:
    """Converts records to a DataFrame with exactly these columns and types; without records, it has no rows."""
    records = list(rows)
    return typed([arrow_table(records, columns)], columns) if records else _empty(tuple(columns.items())).copy()


@lru_cache
def _empty(columns: tuple[tuple[str, str], ...]) -> pd.DataFrame:
    return typed([], dict(columns))


def typed(pages: Iterable[pa.Table], columns: Columns) -> pd.DataFrame:
    """Arrow tables with the same columns, concatenated into a DataFrame with exactly these columns and types."""
    schema = schema_of(columns)
    unread = [dict(zip(page.column_names, page.columns, strict=True)) for page in pages]
    del pages  # each column is freed when it is done

    def whole(field: pa.Field) -> pa.ChunkedArray:
        # In one piece: a column in pieces keeps empty pieces, and after an empty piece PySpark reads no row.
        chunks = [chunk for page in unread for chunk in page.pop(field.name).cast(field.type).chunks if len(chunk)]
        return pa.chunked_array([in_one_piece(pa.chunked_array(chunks, field.type))])

    return pd.DataFrame({field.name: _column(whole(field), columns[field.name]) for field in schema})


def in_one_piece(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """The column as one array; copies only if the column has several chunks."""
    if isinstance(column, pa.Array):
        return column
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def compact(source: pa.Table | Mapping[str, pa.Array], columns: Columns) -> pa.Table:
    """The columns of `source` in less memory: repeated texts become dictionaries, empty columns share one array."""
    schema = schema_of(columns)
    arrays: dict[str, pa.Array | pa.ChunkedArray] = {}
    nothing = pa.nulls(len(source[schema.names[0]]), pa.string())
    for name, kind in columns.items():
        column, wanted = in_one_piece(source[name]), schema.field(name).type
        if column.type == wanted and (kind == "category" or name in _FEW_TEXTS):
            column = column.dictionary_encode()
        if wanted == nothing.type and column.null_count == len(column):
            arrays[name] = nothing
        elif pa.types.is_dictionary(column.type) and len(column.dictionary) <= _MOST_IN_A_DICTIONARY:
            arrays[name] = column
        else:
            arrays[name] = column.cast(wanted)
    return pa.table(arrays)


def with_column(table: pa.Table, name: str, column: pa.Array | pa.ChunkedArray) -> pa.Table:
    """The table with `column` in place of the column of that name, or as its last column."""
    if name in table.column_names:
        return table.set_column(table.column_names.index(name), name, column)
    return table.append_column(name, column)


def release_unused() -> None:
    """Returns to the operating system the memory that Arrow no longer uses but would keep.

    Does nothing unless Arrow has held 16 MiB or more at some time in this process.
    """
    pool = pa.default_memory_pool()
    if (pool.max_memory() or 0) < _MUCH_BYTES:
        return
    pool.release_unused()
    if trim := getattr(ctypes.CDLL(None), "malloc_trim", None) if os.name == "posix" else None:
        trim(0)


@contextmanager
def releasing() -> Iterator[None]:
    """Calls `release_unused` when the block ends, also if it raises."""
    try:
        yield
    finally:
        release_unused()


def _column(values: pa.ChunkedArray, kind: str) -> Any:  # noqa: ANN401  an array of pandas or NumPy
    if kind == "category":
        names = pc.unique(values).drop_null().sort()
        codes = pc.index_in(values, names).fill_null(-1).to_numpy()
        return pd.Categorical.from_codes(codes, categories=names.to_pylist())
    if kind in _FULL:
        return values.combine_chunks().to_numpy(zero_copy_only=False)
    dtype: Any = pd.api.types.pandas_dtype(kind)
    return dtype.__from_arrow__(values)


def python_rows(rows: pd.DataFrame, *names: str) -> Iterator[tuple[Any, ...]]:
    """Yields the named columns of each row as Python values: integers stay integers, a missing value is None."""
    for start in range(0, len(rows), _BATCH_ROWS):
        batch = (rows[name].iloc[start : start + _BATCH_ROWS] for name in names)
        yield from zip(*(pa.array(column, from_pandas=True).to_pylist() for column in batch), strict=True)


def day_number(day: object) -> int:
    """The number of days from 1970-01-01 to a date."""
    return int(pa.scalar(day, pa.date32()).cast(pa.int32()).as_py())


def day_of(number: int) -> date:
    """The date that is `number` days after 1970-01-01."""
    return date(1970, 1, 1) + timedelta(days=number)


def untyped(rows: pd.DataFrame, columns: Columns) -> pa.Table:
    """A DataFrame of these columns as an Arrow table: the inverse of `typed`.

    Raises ValueError: a column is missing, or holds a value that does not fit its type.
    """
    schema = schema_of(columns)
    missing = [name for name in columns if name not in rows]
    if missing:
        raise ValueError(f"The table has no column {', '.join(missing)}.")
    if rows.empty:
        return schema.empty_table()
    # Whole numbers as they are: pandas would cut what stands behind a point.
    plain = {name: "string" if kind == "category" else kind for name, kind in columns.items() if kind not in _EXACT}
    texts = rows.astype(plain)
    arrays = [pa.array(texts[field.name], field.type, from_pandas=True) for field in schema]
    empty = [field.name for field, array in zip(schema, arrays, strict=True) if array.null_count and not field.nullable]
    if empty:
        raise ValueError(f"{', '.join(empty)} must hold a value in each row.")
    return pa.Table.from_arrays(arrays, schema=schema)


def money(rows: pd.DataFrame) -> pd.DataFrame:
    """A copy of a table for reading: every column `…_minor` becomes text in major units, and its name loses `_minor`.

    The column `currency` decides the number of decimals; a table without it is in ZMW. 15000 of ZMW is "150.00", 123450
    "1,234.50"; 15000 of UGX, which has no decimals, is "15,000". Calculate with the original table.
    """
    shown = rows.copy()
    currencies = rows["currency"] if "currency" in rows else [ZMW.code] * len(rows)
    for name in [name for name in rows.columns if str(name).endswith("_minor")]:
        texts = [
            None if pd.isna(amount) else major_text(int(amount), None if pd.isna(code) else str(code))
            for amount, code in zip(rows[name], currencies, strict=True)
        ]
        shown[name] = pd.Series(texts, index=rows.index, dtype="string")
    return shown.rename(columns=lambda name: str(name).removesuffix("_minor"))


def _array(values: list[Any], wanted: pa.DataType) -> pa.Array:
    parsed_as = wanted
    if any(isinstance(value, str) for value in values):
        parsed_as = pa.string()
    elif pa.types.is_temporal(wanted) and any(isinstance(value, Integral) for value in values):
        parsed_as = pa.int32() if pa.types.is_date32(wanted) else pa.int64()
    return pa.array(values, parsed_as).cast(wanted)
