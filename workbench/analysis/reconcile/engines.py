"""The engines that run the rules: each loads a table, keeps what is needed twice, and hands over Arrow.

The rules are narwhals expressions; only what narwhals cannot say alike for all of them stands here.
"""

import tempfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb
import narwhals.stable.v2 as nw
import pyarrow as pa
import pyarrow.compute as pc

from workbench.analysis.reconcile.rules import Frame, Shape

DUCKDB, SPARK = "duckdb", "spark"
_FEW_BYTES = 8_000_000
_ARROW = {nw.Int64: pa.int64(), nw.String: pa.string(), nw.Boolean: pa.bool_()}


def arrow_schema(shape: Shape) -> pa.Schema:
    """The shape as Arrow has it."""
    return pa.schema([(name, _ARROW[kind]) for name, kind in shape.items()])


class Engine(ABC):
    """What a set of rules needs of the thing that runs them."""

    name: str
    failures: tuple[type[Exception], ...] = (pa.ArrowException,)
    """What it raises over a file that is damaged further down, or a number that its type does not hold."""

    def conform(self, frame: Frame, shape: Shape, **made: nw.Expr) -> Frame:
        """The columns of `shape`, in order and of its types; those in `made` are worked out from the frame's.

        One step: DuckDB asks its binder about each, which for small tables takes longer than the rows.
        """
        whole = self._whole(frame) - made.keys()
        given = {name: made.get(name, nw.col(name)) for name in shape}
        is_cast = {name for name, kind in shape.items() if kind is nw.Int64} - whole
        return frame.select(**{name: each.cast(nw.Int64) if name in is_cast else each for name, each in given.items()})

    def _whole(self, frame: Frame) -> set[str]:  # noqa: ARG002  of Spark's frames each answer is a call
        """The columns that are known to be whole numbers of 64 bits, so that nothing casts them again."""
        return set()

    @abstractmethod
    def paths(self, paths: Sequence[Path], shape: Shape) -> Frame:
        """Parquet files as one frame of the columns of `shape`."""

    @abstractmethod
    def own(self, native: Any, shape: Shape) -> Frame:  # noqa: ANN401  the engine's own class, which may not be installed
        """A table of the engine's own class."""

    @abstractmethod
    def arrow(self, table: pa.Table, shape: Shape) -> Frame:
        """An Arrow table."""

    @abstractmethod
    def collect(self, frame: Frame) -> pa.Table:
        """The rows, here."""

    def table(self, frame: Frame, shape: Shape, **made: nw.Expr) -> pa.Table:
        """The rows in this shape, here."""
        return self.collect(self.conform(frame, shape, **made)).cast(arrow_schema(shape))

    def rows(self, frame: Frame, shape: Shape, **made: nw.Expr) -> list[dict[str, Any]]:
        """The same, as Python has them."""
        found: list[dict[str, Any]] = self.table(frame, shape, **made).to_pylist()
        return found

    def has_rows(self, frame: Frame) -> bool:
        """True if there is any row."""
        return bool(self.collect(frame.head(1)).num_rows)

    @abstractmethod
    def hashed(self, frame: Frame, shape: Shape, secret: str) -> Frame:
        """The rows with 64 bits of the hash of `secret` and their column `hash` in place of this text."""

    @abstractmethod
    def keep(self, frame: Frame) -> Frame:
        """The same rows, worked out once however often they are used."""

    def named(self, frame: Frame) -> Frame:
        """The same rows; what they are made of is told to the engine once, however often they are used."""
        return frame

    def loaded(self, frame: Frame) -> Frame:
        """The rows of a side, which are used often; kept where the tables are so small that this costs less."""
        return frame

    def close(self) -> None:  # noqa: B027  Spark's session is another's
        """Let go of what was kept."""


class _DuckDB(Engine):
    """A database in memory, of its own; what does not fit goes to temporary files."""

    name = DUCKDB
    failures = (duckdb.Error, pa.ArrowException)
    _READ: Mapping[Any, str] = {
        nw.String: 'CAST("{0}" AS VARCHAR) AS "{0}"',
        nw.Int64: 'CAST("{0}" AS BIGINT) AS "{0}"',
        nw.Boolean: 'CAST("{0}" AS BOOLEAN) AS "{0}"',
        # A moment to the nanosecond is of a type that `epoch_ms` does not take.
        nw.Datetime: 'epoch_ms(CAST("{0}" AS TIMESTAMPTZ)) AS "{0}"',
        nw.Date: 'CAST("{0}" - DATE \'1970-01-01\' AS BIGINT) AS "{0}"',
    }

    def __init__(self) -> None:
        self._connection = duckdb.connect(
            config={
                "temp_directory": tempfile.gettempdir(),
                "preserve_insertion_order": "false",
                # Nothing is ever fetched from a network.
                "autoinstall_known_extensions": "false",
            }
        )
        self._named = 0
        self._loaded_bytes = 0

    def paths(self, paths: Sequence[Path], shape: Shape) -> Frame:
        self._loaded_bytes += sum(path.stat().st_size for path in paths)
        return self._read(self._connection.read_parquet([str(path) for path in paths]), shape)

    def own(self, native: Any, shape: Shape) -> Frame:  # noqa: ANN401  a relation; annotated as its protocol is
        # A relation belongs to its own connection: it is streamed into a table of this one.
        self._loaded_bytes += _FEW_BYTES
        chosen = native.select(*shape)
        return self.keep(self._read(self._connection.from_arrow(chosen.to_arrow_reader()), shape))

    def arrow(self, table: pa.Table, shape: Shape) -> Frame:
        self._loaded_bytes += table.nbytes
        return self._read(self._connection.from_arrow(table.select(list(shape))), shape)

    def _read(self, relation: duckdb.DuckDBPyRelation, shape: Shape) -> Frame:
        return _lazy(relation.project(", ".join(self._READ[kind].format(name) for name, kind in shape.items())))

    def _whole(self, frame: Frame) -> set[str]:
        native = nw.to_native(frame)
        return {name for name, kind in zip(native.columns, native.types, strict=True) if kind == "BIGINT"}

    def hashed(self, frame: Frame, shape: Shape, secret: str) -> Frame:
        made = f"* REPLACE (substr(sha256('{secret}' || hash), 1, 16) AS hash)"
        return _lazy(nw.to_native(self.conform(frame, shape)).project(made))

    def named(self, frame: Frame) -> Frame:
        name = self._name()
        nw.to_native(frame).create_view(name)
        return _lazy(self._connection.view(name))

    def loaded(self, frame: Frame) -> Frame:
        # Each step is bound down to the files: of few rows that takes longer than the rows.
        return self.keep(frame) if self._loaded_bytes < _FEW_BYTES else self.named(frame)

    def keep(self, frame: Frame) -> Frame:
        name = self._name()
        nw.to_native(frame).create(name)
        return _lazy(self._connection.table(name))

    def _name(self) -> str:
        self._named += 1
        return f"rows_{self._named}"

    def collect(self, frame: Frame) -> pa.Table:
        return nw.to_native(frame).to_arrow_table()

    def close(self) -> None:
        self._connection.close()


class _Spark(Engine):
    """The session of the DataFrames given: the work stays with its executors."""

    name = SPARK

    def __init__(self, session: Any = None) -> None:  # noqa: ANN401  Spark may not be installed
        if session is None:
            from pyspark.sql import SparkSession

            session = SparkSession.builder.getOrCreate()
        self._session = session

    def paths(self, paths: Sequence[Path], shape: Shape) -> Frame:
        return self.own(self._session.read.parquet(*map(str, paths)), shape)

    def own(self, native: Any, shape: Shape) -> Frame:  # noqa: ANN401  Spark may not be installed
        from pyspark.sql import functions as sf

        read: Mapping[Any, Callable[[str], Any]] = {
            nw.String: lambda name: sf.col(name).cast("string"),
            nw.Int64: lambda name: sf.col(name).cast("long"),
            nw.Boolean: lambda name: sf.col(name).cast("boolean"),
            nw.Datetime: lambda name: sf.unix_millis(sf.col(name).cast("timestamp")),
            nw.Date: lambda name: sf.unix_date(sf.col(name).cast("date")).cast("long"),
        }
        return _lazy(native.select(*(read[kind](name).alias(name) for name, kind in shape.items())))

    def arrow(self, table: pa.Table, shape: Shape) -> Frame:
        made = _plain(table, shape)
        if not made.num_rows:
            kinds = {nw.String: "string", nw.Boolean: "boolean"}
            fields = (f"`{name}` {kinds.get(kind, 'long')}" for name, kind in shape.items())
            return _lazy(self._session.createDataFrame([], ", ".join(fields)))
        # Of a table in pieces PySpark reads no row behind an empty piece.
        return _lazy(self._session.createDataFrame(made.combine_chunks()))

    def hashed(self, frame: Frame, shape: Shape, secret: str) -> Frame:
        from pyspark.sql import functions as sf

        text = sf.concat(sf.lit(secret), sf.col("hash"))
        native = nw.to_native(self.conform(frame, shape))
        return _lazy(native.withColumn("hash", sf.substring(sf.sha2(text, 256), 1, 16)))

    def keep(self, frame: Frame) -> Frame:
        # A checkpoint on the executors: what led to the rows is forgotten, so that no plan grows without end. They
        # forget it with the frame that it belongs to.
        return _lazy(nw.to_native(frame).localCheckpoint())

    def collect(self, frame: Frame) -> pa.Table:
        return nw.to_native(frame).toArrow()


ENGINES: Mapping[str, Callable[..., Engine]] = {DUCKDB: _DuckDB, SPARK: _Spark}


def _lazy(native: Any) -> Frame:  # noqa: ANN401  any engine's table
    """An engine's own table as narwhals sees it."""
    made: Frame = nw.from_native(native).lazy()
    return made


def _plain(table: pa.Table, shape: Shape) -> pa.Table:
    """An Arrow table of plain types alone: no dictionaries, no moments, no dates."""
    made = {}
    for name, kind in shape.items():
        column = table[name]
        if kind is nw.Datetime:
            column = pc.cast(column, pa.timestamp("ms", "UTC"), safe=False)
        elif kind is nw.Date:
            column = pc.cast(pc.cast(column, pa.date32()), pa.int32())
        made[name] = pc.cast(column, _ARROW.get(kind, pa.int64()))
    return pa.table(made)
