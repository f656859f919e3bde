"""Tables of any kind that a reconciliation takes, recognised, checked, and given to an engine."""

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from glob import glob, has_magic
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol, runtime_checkable

import narwhals.stable.v2 as nw
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from workbench.analysis.frames import schema_of
from workbench.analysis.reconcile.columns import DATE, INSTANT, TEXT, WHOLE, Frame, Kinds
from workbench.analysis.reconcile.engines import DUCKDB, PANDAS, POLARS, SPARK, Engine
from workbench.analysis.shapes import LEDGER_MOVEMENT
from workbench.errors import ReconcileRefused

PATHS, ARROW = "paths", "arrow"

_FITS: Mapping[str, Callable[[Any], bool]] = {
    TEXT: lambda kind: kind in (nw.String, nw.Categorical, nw.Enum),
    WHOLE: lambda kind: kind.is_integer(),
    INSTANT: lambda kind: isinstance(kind, nw.Datetime) and kind.time_zone is not None,
    DATE: lambda kind: kind == nw.Date,
}


class Side(NamedTuple):
    """What messages say of the table of a side: its name, where its columns come from, and what else may be given."""

    called: str
    columns_from: str
    file_from: str
    first: str


THE_LEDGER: Final = Side(
    "The ledger",
    "`bench.ledger` has them, and so have `bench.ledger.statement_of(account)` and a `ledger.parquet`; they are "
    "declared in workbench.analysis.shapes as LEDGER_MOVEMENT.",
    "A ledger in CSV is read with its types by workbench.analysis.files.read(path, LEDGER_MOVEMENT).",
    "`bench.ledger`, ",
)
THE_STATEMENT: Final = Side(
    "The statement",
    "An operator's file is read with read_statement(); the columns are declared in workbench.analysis.shapes as "
    "STATEMENT_ROW.",
    "A statement as an operator exports it is read with read_statement() first.",
    "what read_statement() gives, ",
)


@dataclass(frozen=True)
class Source:
    """A table as it was given: `kind` is the engine whose own it is, or `arrow` or `paths`."""

    kind: str
    given: Any
    side: Side

    def load(self, engine: Engine, kinds: Kinds) -> Frame:
        """The columns of `kinds` as a frame of the engine.

        Raises ReconcileRefused: a column is missing or of another type, or the table cannot be read.
        """
        _check_columns(self.schema(kinds), kinds, self.side)
        try:
            if self.kind == PATHS:
                return engine.paths(self.given, kinds)
            if self.kind == engine.name:
                return engine.own(self.given, kinds)
            return engine.arrow(self.arrow(kinds), kinds)
        except (pa.ArrowException, OSError) as problem:
            raise ReconcileRefused(f"{self.side.called} cannot be read: {problem}") from problem

    def schema(self, kinds: Kinds) -> Mapping[str, Any]:
        """Column → type, without reading rows where that can be helped."""
        if self.kind == PATHS:
            try:
                return _schema(pq.read_schema(self.given[0]).empty_table())
            except (pa.ArrowException, OSError) as problem:
                raise ReconcileRefused(
                    f"{self.given[0].name} is no Parquet file: {problem}",
                    hint=self.side.file_from,
                ) from problem
        if self.kind == PANDAS:
            here = self.given[[name for name in kinds if name in self.given.columns]]
            # The type of a column tells what is in it, but for `object`.
            is_typed = all(str(kind) != "object" for kind in here.dtypes)
            return _schema(self._from_pandas(here.head(0) if is_typed else here))
        return _schema(self.given)

    def arrow(self, kinds: Kinds) -> pa.Table:
        """The columns of `kinds` as an Arrow table."""
        if self.kind == ARROW:
            return self.given.select(list(kinds))
        if self.kind == PANDAS:
            return self._from_pandas(self.given[list(kinds)])
        if self.kind == POLARS:
            return self.given.lazy().select(list(kinds)).collect().to_arrow()
        if self.kind == DUCKDB:
            return self.given.select(*kinds).to_arrow_table()
        return self.given.select(*kinds).toArrow()

    def _from_pandas(self, frame: pd.DataFrame) -> pa.Table:
        try:
            return pa.Table.from_pandas(frame, preserve_index=False)
        except pa.ArrowException as problem:
            raise ReconcileRefused(f"{self.side.called} has a column of mixed types: {problem}") from problem

    @property
    def hashed(self) -> str | None:
        """SHA-256 of the bytes of the files, one after another; null where there are none."""
        if self.kind != PATHS:
            return None
        digest = hashlib.sha256()
        for path in self.given:
            with path.open("rb") as file:
                while block := file.read(1 << 20):
                    digest.update(block)
        return digest.hexdigest()

    @property
    def name(self) -> str:
        """The name of the file, without its folder, or the kind of table."""
        if self.kind != PATHS:
            return f"{type(self.given).__module__.split('.')[0].lstrip('_')} {type(self.given).__name__}"
        return self.given[0].name if len(self.given) == 1 else f"{len(self.given)} files"


@runtime_checkable
class Movements(Protocol):
    """The ledger of a Workbench, which is read page by page."""

    def movements(self, *accounts: str) -> Iterator[pa.Table]:
        """The rows of some accounts, or of all that somebody else keeps books of too."""


def source(given: Any, side: Side) -> Source:  # noqa: ANN401  any table is the point
    """What `given` is. Raises ReconcileRefused: no table, or a path where nothing is."""
    if isinstance(given, str | Path):
        return Source(PATHS, _files(Path(given), side), side)
    if isinstance(given, pd.DataFrame):
        return Source(PANDAS, given, side)
    if isinstance(given, pa.Table):
        return Source(ARROW, given, side)
    root, name = type(given).__module__.partition(".")[0].lstrip("_"), type(given).__name__
    known = {("polars", "DataFrame"): POLARS, ("polars", "LazyFrame"): POLARS, ("duckdb", "DuckDBPyRelation"): DUCKDB}
    kind = SPARK if (root, name) == ("pyspark", "DataFrame") else known.get((root, name))
    if kind is None and isinstance(given, Movements) and side is THE_LEDGER:
        return Source(ARROW, pa.concat_tables([schema_of(LEDGER_MOVEMENT).empty_table(), *given.movements()]), side)
    if kind is None:
        raise ReconcileRefused(
            f"{side.called} is a {type(given).__name__}, which is no table that can be reconciled.",
            hint=f"Give {side.first}a DataFrame of pandas, Polars or PySpark, an Arrow table, a DuckDB "
            "relation or Parquet's path.",
        )
    return Source(kind, given, side)


def _check_columns(schema: Mapping[str, Any], kinds: Kinds, side: Side) -> None:
    """Raises ReconcileRefused naming every column that is missing or of another type."""
    missing = [name for name in kinds if name not in schema]
    if missing:
        raise ReconcileRefused(
            f"{side.called} has no column {', '.join(missing)}.", hint=side.columns_from, missing=missing
        )
    wrong = {name: schema[name] for name, kind in kinds.items() if not _fits(schema[name], kind)}
    if wrong:
        text = "; ".join(f"{name} is {kind}, where {kinds[name]} belongs" for name, kind in wrong.items())
        raise ReconcileRefused(
            f"{side.called} has columns of another type: {text}.",
            hint="No float holds money: give minor units as integers."
            if any(name.endswith("_minor") for name in wrong)
            else side.file_from,
            wrong=tuple(wrong),
        )


def _fits(found: Any, kind: str) -> bool:  # noqa: ANN401  a type of narwhals
    # A column of nothing but nulls has no type of its own, and holds nothing wrong.
    return found == nw.Unknown or _FITS[kind](found)


def _schema(native: Any) -> Mapping[str, Any]:  # noqa: ANN401  any table
    return dict(nw.from_native(native).collect_schema())


def _files(path: Path, side: Side) -> list[Path]:
    # A file may be called `ledger[1].parquet`.
    if has_magic(str(path)) and not path.exists():
        found = sorted(Path(name) for name in glob(str(path), recursive=True))  # noqa: PTH207  an absolute pattern
    else:
        found = sorted(path.rglob("*.parquet")) if path.is_dir() else [path]
    there = [each for each in found if each.is_file()]
    if not there:
        raise ReconcileRefused(f"{side.called}: no file is at {path}.")
    return there
