"""The engines that run the rules: each loads tables, stores rows that several queries use, and returns Arrow tables.

The rules are SQL that both engines understand; this module has the SQL that differs. Building SQL text costs nothing,
while a DataFrame library plans each step, which takes longer than the step itself on few rows.
"""

import os
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import count
from pathlib import Path
from typing import Any
from weakref import finalize

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from workbench.analysis.frames import ARROW
from workbench.analysis.shapes import DAY, MOMENT, Columns

Frame = str
"""SQL for rows: the name of a table, or a SELECT in parentheses."""
Native = Any
"""A table or a session of a library that may not be installed: pandas, Polars, DuckDB or Spark."""
DUCKDB, SPARK = "duckdb", "spark"
_FEW_BYTES = 8_000_000
_NUMBERS = count(1)
NULL = "cast(null as string)"
"""SQL for a null text."""
UNIT = "\x1f"
"""The separator in a text that joins several values."""


def arrow_schema(shape: Columns) -> pa.Schema:
    """The Arrow schema of the columns, all of which may be null."""
    return pa.schema([(name, ARROW[kind]) for name, kind in shape.items()])


def column_list(names: Iterable[str]) -> str:
    """SQL for columns, separated by commas."""
    return ", ".join(f'"{name}"' for name in names)


def conform(frame: Frame, shape: Iterable[str], where: str = "", **computed: str) -> Frame:
    """SQL for the columns `shape` of the rows that meet `where`; `computed` is column → SQL for its values."""
    columns = ", ".join(f'{computed[name]} as "{name}"' if name in computed else f'"{name}"' for name in shape)
    return f"(select {columns} from {frame}{f' where {where}' if where else ''})"


def both(*frames: Frame) -> Frame:
    """SQL for the rows of one or more `frames` together, duplicates included; all frames have the same columns."""
    return f"({' union all '.join(f'select * from {frame}' for frame in frames)})"


def equality(names: Iterable[str]) -> str:
    """SQL for the condition that the rows `x` and `y` agree in these columns."""
    return " and ".join(f'x."{name}" = y."{name}"' for name in names)


def among(rows: Frame, others: Frame, names: Iterable[str]) -> Frame:
    """SQL for the rows that agree with a row of `others` in these columns."""
    return f"(select x.* from {rows} x semi join {others} y on {equality(names)})"


def apart(rows: Frame, others: Frame, names: Iterable[str]) -> Frame:
    """SQL for the rows that agree with no row of `others` in these columns."""
    return f"(select x.* from {rows} x anti join {others} y on {equality(names)})"


def shaped(shape: Columns, length: int, /, **values: object) -> pa.Table:
    """An Arrow table with the columns `shape`; `values` has a column, or one value for all rows; the rest is null."""
    columns = [
        value.cast(field.type)
        if isinstance(value := values.get(field.name), pa.Array | pa.ChunkedArray)
        else pa.repeat(pa.scalar(value, field.type), length)
        for field in arrow_schema(shape)
    ]
    return pa.Table.from_arrays(columns, schema=arrow_schema(shape))


def mapped(column: pa.ChunkedArray, convert: Callable[[Any], Any], kind: pa.DataType | None = None) -> pa.Array:
    """The column with `convert` called once for each distinct value; its results are text, or of the type `kind`."""
    values = column.combine_chunks().dictionary_encode()
    converted = pa.array([convert(value) for value in values.dictionary.to_pylist()], kind or pa.string())
    return converted.take(values.indices)


def texts_of(rows: pa.Table, names: Iterable[str]) -> pa.ChunkedArray:
    """Joins the columns of each row into one text; dates become numbers of days, a null becomes empty."""
    columns = (day_numbers(rows[name]).cast(pa.string()).fill_null("") for name in names)
    return pc.binary_join_element_wise(*columns, UNIT)


def day_numbers(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column of dates as days since 1970; any other column as it is."""
    return column.cast(pa.int32()).cast(pa.int64()) if pa.types.is_date(column.type) else column


@lru_cache(1)
def _database(process: int) -> duckdb.DuckDBPyConnection:  # noqa: ARG001  no process works with the threads of another
    """The DuckDB database in memory of the process with this id; DuckDB writes what does not fit to temporary files."""
    return duckdb.connect(
        config={
            "temp_directory": tempfile.gettempdir(),
            "preserve_insertion_order": "false",
            # The system gets back the memory that a step has freed.
            "allocator_flush_threshold": "16MB",
            "allocator_background_threads": "true",
            # Nothing is ever fetched from a network.
            "autoinstall_known_extensions": "false",
        }
    )


class SqlEngine:
    """DuckDB: loads tables into its own connection, runs SQL, and returns the rows. `_Spark` overrides what differs."""

    name = DUCKDB
    failures: tuple[type[Exception], ...] = (duckdb.Error, pa.ArrowException)
    """The exceptions raised for a file that is damaged inside, or for a number that is too large for its type."""
    # A moment to the nanosecond is of a type that `epoch_ms` does not take.
    _MILLISECONDS = 'epoch_ms(cast("{0}" as timestamptz))'
    """SQL for the moment in the column `{0}` as milliseconds since 1970."""
    _DAYS = "cast(\"{0}\" - date '1970-01-01' as bigint)"
    """SQL for the date in the column `{0}` as days since 1970."""
    SHA256 = "sha256({0})"
    """SQL for the SHA-256 of the text `{0}`, in hexadecimal digits."""
    WITHOUT = "regexp_replace({0}, {1}, '', 'g')"
    """SQL for the text `{0}` without the parts that match the pattern `{1}`."""
    _account = "cast(account as string)"
    """SQL for an account's name."""

    def __init__(self) -> None:
        self._connection = _database(os.getpid()).cursor()
        self._loaded_bytes = 0

    def paths(self, paths: Sequence[Path], shape: Columns) -> Frame:
        """Loads Parquet files as one frame with the columns `shape`."""
        self._loaded_bytes += sum(path.stat().st_size for path in paths)
        return self._read(f"read_parquet([{', '.join(self.text(str(path)) for path in paths)}])", shape)

    def own(self, native: Native, shape: Columns) -> Frame:
        """Loads a table of the engine's own class as a frame with the columns `shape`."""
        # A relation belongs to its own connection: it is streamed into a table of this one.
        self._loaded_bytes += _FEW_BYTES
        return self.keep(self._registered(native.select(*shape).to_arrow_reader(), shape))

    def arrow(self, table: pa.Table, shape: Columns) -> Frame:
        """Loads an Arrow table as a frame with the columns `shape`."""
        self._loaded_bytes += table.nbytes
        return self._registered(table.select(list(shape)), shape)

    def _registered(self, source: pa.Table | pa.RecordBatchReader, shape: Columns) -> Frame:
        name = f"rows_{next(_NUMBERS)}"
        self._connection.register(name, source)
        return self._read(name, shape)

    def of_accounts(self, frame: Frame, accounts: Sequence[str]) -> Frame:
        """SQL for the rows of these accounts.

        From then on the engine stores account names as an enum, which compares as fast as numbers.
        """
        if self._account == SqlEngine._account:
            kind, names = f"accounts_{next(_NUMBERS)}", ", ".join(map(self.text, accounts))
            self._connection.execute(f"create temp type {kind} as enum ({names})")
            # A name outside the enum becomes null, so rows of other accounts are dropped.
            self._account = f"try_cast(account as {kind})"
        known = f"(select * replace ({self._account} as account) from {frame})"
        return f"(select * from {known} where account is not null)"

    def text(self, value: str) -> str:
        """The SQL literal of a text."""
        doubled = value.replace("'", "''")
        return f"'{doubled}'"

    def loaded(self, frame: Frame) -> Frame:
        """The frame of a side, which many queries read; its rows are stored once, unless too much data was loaded."""
        return self.keep(frame) if self._loaded_bytes < _FEW_BYTES else frame

    def keep(self, frame: Frame) -> Frame:
        """Runs the frame's SQL once, stores the rows, and returns the name of their table."""
        name = f"rows_{next(_NUMBERS)}"
        self._connection.execute(f"create temp table {name} as select * from {frame}").fetchall()
        return name

    def table(self, frame: Frame, shape: Columns) -> pa.Table:
        """The rows of a frame as an Arrow table of this shape."""
        return self._collect(f"select {column_list(shape)} from {frame}").cast(arrow_schema(shape))

    def rows(self, frame: Frame, shape: Columns) -> list[dict[str, Any]]:
        """The rows of a frame as dictionaries with the columns `shape`."""
        rows: list[dict[str, Any]] = self.table(frame, shape).to_pylist()
        return rows

    def _collect(self, query: str) -> pa.Table:
        return self._connection.sql(query).to_arrow_table()

    def _read(self, source: str, shape: Columns) -> Frame:
        """SQL for the columns `shape` of `source` (a table's name, or SQL), with the types that the rules need.

        Moments become milliseconds, and dates days, since 1970.
        """
        kinds = {
            ARROW["string"]: 'cast("{0}" as string)',
            ARROW["int64"]: 'cast("{0}" as bigint)',
            ARROW["bool"]: 'cast("{0}" as boolean)',
            ARROW[MOMENT]: self._MILLISECONDS,
            ARROW[DAY]: self._DAYS,
        }
        columns = {name: kinds[ARROW[kind]].format(name) for name, kind in shape.items()}
        return conform(source, shape, **columns | {"account": self._account})

    def close(self) -> None:
        """Release the stored rows."""
        self._connection.close()


class _Spark(SqlEngine):
    """Spark: loads tables as temporary views in the session of the given DataFrames; its executors run the SQL."""

    name = SPARK
    failures = (pa.ArrowException,)
    _MILLISECONDS = 'unix_millis(cast("{0}" as timestamp))'
    _DAYS = 'cast(unix_date(cast("{0}" as date)) as bigint)'
    SHA256 = "sha2({0}, 256)"
    WITHOUT = "regexp_replace({0}, {1}, '')"

    def __init__(self, session: Native = None) -> None:
        if session is None:
            from pyspark.sql import SparkSession

            session = SparkSession.builder.getOrCreate()
        self._session = session
        self._views: list[str] = []
        self._dropped = finalize(self, _drop, session, self._views)
        self._dropped.atexit = False

    def paths(self, paths: Sequence[Path], shape: Columns) -> Frame:
        return self.own(self._session.read.parquet(*map(str, paths)), shape)

    def own(self, native: Native, shape: Columns) -> Frame:
        return self._read(self._view(native), shape)

    def arrow(self, table: pa.Table, shape: Columns) -> Frame:
        # Spark knows moments to the microsecond alone, and no unsigned numbers.
        columns = {name: pc.cast(table[name], ARROW[kind], safe=kind != MOMENT) for name, kind in shape.items()}
        # PySpark reads no row behind an empty piece of a table.
        return self.own(self._session.createDataFrame(pa.table(columns).combine_chunks()), shape)

    def of_accounts(self, frame: Frame, accounts: Sequence[str]) -> Frame:
        return f"(select * from {frame} where account in ({', '.join(map(self.text, accounts))}))"

    def loaded(self, frame: Frame) -> Frame:
        return frame

    def text(self, value: str) -> str:
        units = value.encode("utf-16-be")
        escaped = "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))
        return f"'{escaped}'"

    def keep(self, frame: Frame) -> Frame:
        # A checkpoint on the executors drops the plan that led to the rows, so that no plan grows without end. The
        # executors drop the checkpoint with its frame.
        return self._view(self._run(f"select * from {frame}").localCheckpoint())

    def _view(self, native: Native) -> Frame:
        self._views.append(name := f"workbench_rows_{next(_NUMBERS)}")
        native.createOrReplaceTempView(name)
        return name

    def _run(self, query: str) -> Native:
        # No literal has a quotation mark of this kind: see `text`.
        return self._session.sql(query.replace('"', "`"))

    def _collect(self, query: str) -> pa.Table:
        return self._run(query).toArrow()

    def close(self) -> None:
        self._dropped()


def _drop(session: Native, views: Sequence[str]) -> None:
    for name in views:
        session.catalog.dropTempView(name)


ENGINES: Mapping[str, Callable[..., SqlEngine]] = {DUCKDB: SqlEngine, SPARK: _Spark}
