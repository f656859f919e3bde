"""The ledger and the statements of a run: recognised by their class, checked, and converted to the same columns."""

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import cached_property
from glob import glob, has_magic
from pathlib import Path
from typing import Any, Final, NamedTuple

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from workbench.analysis.break_codes import DAYS, MOST_MINOR
from workbench.analysis.files import CSV
from workbench.analysis.frames import ARROW as ARROW_TYPES
from workbench.analysis.frames import schema_of
from workbench.analysis.reconcile.engines import DUCKDB, ENGINES, NULL, SPARK, Frame, Native, SqlEngine, both, conform
from workbench.analysis.shapes import (
    COMPLETED,
    DAY,
    DIRECTIONS,
    LEDGER_MOVEMENT,
    MOMENT,
    STATEMENT_ROW,
    STATUSES,
    Columns,
)
from workbench.analysis.statements.own_ledger import OwnLedger, named_alike, read_ledger
from workbench.analysis.statements.statement import Statement, read_statement
from workbench.domain.moments import DAY_MS
from workbench.errors import ReconcileRefused, StatementRefused
from workbench.extras import how_to_install

PATHS, ARROW = "paths", "arrow"
LEDGER: Final = "ledger"
STATEMENT: Final = "statement"
SIDES: Final = (LEDGER, STATEMENT)
PREFIX: Final = {LEDGER: "l_", STATEMENT: "s_"}
"""The prefix of each side's columns in a pair."""
GROUP: Final = ["account", "g"]
"""Columns in which the rows of one movement, or of one batch, agree."""
OPTIONAL: Columns = {"phone_hash": "string"}
"""Columns that a table of either side may lack; they are null if missing."""
LEDGER_READ, STATEMENT_READ = (
    {**{name: kind for name, kind in columns.items() if name not in {"payment", "description", "words"}}, **OPTIONAL}
    for columns in (LEDGER_MOVEMENT, STATEMENT_ROW)
)
"""The columns that are read from the ledger, and from a statement."""
ROW: Columns = dict.fromkeys(
    ("side", "account", "g", "key", "batch", "source", "no", "at", "order", "day", "direction", "amount", "fee",
     "currency", "status", "phone", "phone_hash", "bad", "signed", "entry", "kind", "refers", "state", "problem",
     "was"), "string"
) | {
    "bad": "bool",
    **dict.fromkeys(("no", "at", "order", "day", "amount", "fee", "signed", "balance_minor"), "int64"),
}  # fmt: skip
"""The columns of a row of either side.

`g` is the group: the batch, else the key. `source` and `no` are the statement and its line; a ledger row has no source,
and its `no` is the entry's number. `order` is `at`, or midnight of `day` if `at` is null. `bad` marks a row that no
rule can use. `kind` is the ledger's kind or the statement's type, `refers` names the payment that a reversal reverses,
and `was` is the code that an earlier run gave the row.
"""
OF_SIDE: Final = tuple(
    name for name in ROW if name not in {"side", "account", "g", "bad", "order", "was", "balance_minor"}
)
"""The columns of ROW that a pair has twice, as `l_…` and `s_…`."""
ANY_DAY: Final = 10**9
"""Stands for no limit of dates: a number of days that is larger than that of any date."""

_FITS: Mapping[pa.DataType, tuple[str, Callable[[Any], bool]]] = {
    ARROW_TYPES["string"]: ("text", lambda kind: kind in (nw.String, nw.Categorical, nw.Enum)),
    ARROW_TYPES["int64"]: ("a whole number", lambda kind: kind.is_integer()),
    ARROW_TYPES[MOMENT]: (
        "a moment with its time zone", lambda kind: isinstance(kind, nw.Datetime) and kind.time_zone is not None
    ),
    ARROW_TYPES[DAY]: ("a date", lambda kind: kind == nw.Date),
}  # fmt: skip
"""Type that the rules need → its name, and a function that is true for column types that can be read as this type."""


class Side(NamedTuple):
    """The columns of a side, and texts for errors.

    `called` is the side's name in a sentence. `columns_from` and `file_from` tell where to get a table or a file with
    the columns. `first` begins the list of inputs that an error suggests. `nth` follows the name of a table in a list
    of statements: a blank and its number.
    """

    called: str
    columns_from: str
    file_from: str
    first: str
    columns: Columns
    nth: str = ""


THE_LEDGER: Final = Side(
    "The ledger",
    "`bench.ledger`, `bench.ledger.statement_of(account)` and a `ledger.parquet` have them. Read a ledger of "
    "your own with read_ledger() first, which needs only four columns; ledger_columns() shows all.",
    "Read a ledger of your own with read_ledger() first.",
    "`bench.ledger`, what read_ledger() gives, ",
    {**LEDGER_MOVEMENT, **OPTIONAL, "description": "string"},
)
THE_STATEMENT: Final = Side(
    "The statement",
    "Name the columns of a table account, occurred_at and amount, and key where the rows have keys; or save it as "
    ".csv or .xlsx, and draft a layout: workbench layout FILE --out mine.toml.",
    "Read a statement that an operator exported with read_statement() first.",
    "what read_statement() gives, ",
    STATEMENT_ROW,
)
_WHOLE: Final = (
    "Money cannot be a float: give minor units as integers, with frame.astype({'amount_minor': 'int64'}) where they "
    "are whole. read_ledger() reads major units from a column `amount`."
)
_OF_A_STATEMENT: Final = (("account",), ("occurred_at", "business_date"), ("amount", "amount_minor"))
"""The columns that a table of a statement needs; one of those in parentheses is enough."""
_READ_HERE: Final = (CSV, ".xlsx")


@dataclass(frozen=True)
class InputTable:
    """An input; `kind` is `paths`, `arrow` (pandas and Polars too), `duckdb` or `spark`, and tells what `native` is."""

    kind: str
    native: Native
    side: Side
    name: str
    """The file's name without its folder, the number of files, or the library and class of the table."""
    sha256: str | None = None
    """SHA-256 of the file that `read_statement` or `read_ledger` read; None for others, see `hashed`."""
    read_from: OwnLedger | None = None
    """The ledger from which the rows come, if read_ledger() read it; else None."""
    as_of: date | None = None
    """The business date by the sandbox's clock, for a ledger of a sandbox; else None."""
    head: str | None = None
    """The hash of the last entry of the chain, for a ledger of a sandbox; else None."""

    def load(self, engine: SqlEngine, shape: Columns) -> Frame:
        """Loads the columns `shape` as a frame of the engine; a missing OPTIONAL column is null.

        Raises ReconcileRefused: a column is missing or of another type, or the table cannot be read.
        """
        schema = self._schema
        present = {name: kind for name, kind in shape.items() if name in schema or name not in OPTIONAL}
        if not self.is_read:
            self._check(present, schema)
        try:
            if self.kind == PATHS:
                loaded = engine.paths(self.native, present)
            elif self.kind == engine.name:
                loaded = engine.own(self.native, present)
            else:
                loaded = engine.arrow(self.arrow(present), present)
        except (pa.ArrowException, OSError) as problem:
            raise ReconcileRefused(f"{self.side.called} cannot be read: {problem}") from problem
        absent = dict.fromkeys(shape.keys() - present, NULL)
        return conform(loaded, shape, **absent) if absent else loaded

    @property
    def is_read(self) -> bool:
        """True for a table that read_statement() or read_ledger() made: it has all columns, in their types."""
        return self.sha256 is not None or self.read_from is not None

    def _check(self, shape: Columns, schema: Mapping[str, Any]) -> None:
        """Raises ReconcileRefused naming every column that is missing or of another type."""
        missing = [name for name in shape if name not in schema]
        if missing:
            text = f"{self.side.called} has no column {', '.join(missing)}."
            raise ReconcileRefused(text, hint=self.side.columns_from, missing=missing)
        # A column of nothing but nulls has no type of its own, and holds nothing wrong.
        known = {name: kind for name, kind in shape.items() if schema[name] != nw.Unknown}
        fits = {name: _FITS[ARROW_TYPES[kind]] for name, kind in known.items()}
        wrong = {name: called for name, (called, is_fit) in fits.items() if not is_fit(schema[name])}
        if wrong:
            text = "; ".join(f"{name} is {schema[name]} instead of {called}" for name, called in wrong.items())
            hint = _WHOLE if any(name.endswith("_minor") for name in wrong) else self.side.file_from
            text = f"{self.side.called} has columns of another type: {text}."
            raise ReconcileRefused(text, hint=hint, wrong=tuple(wrong))

    @cached_property
    def _schema(self) -> Mapping[str, Any]:
        """Column → type, read without rows where possible; the first of several files counts.

        Raises ReconcileRefused: the file cannot be read as Parquet.
        """
        if self.is_read:
            return dict(zip(self.native.column_names, self.native.schema.types, strict=True))
        if self.kind != PATHS:
            return dict(nw.from_native(self.native).collect_schema())
        try:
            return dict(nw.from_native(pq.read_schema(self.native[0]).empty_table()).collect_schema())
        except (pa.ArrowException, OSError) as problem:
            why = "may not be read by you" if isinstance(problem, PermissionError) else "is not a Parquet file"
            raise ReconcileRefused(f"{self.native[0].name} {why}.", hint=self.side.file_from) from problem

    def has_text(self, name: str) -> bool:
        """True if the table has a text column of this name; in a ledger from `read_ledger`, one with a value."""
        if self.is_read:
            return not self.read_from or self.native[name].null_count < len(self.native)
        return _FITS[ARROW_TYPES["string"]][1](self._schema.get(name))

    def arrow(self, shape: Iterable[str]) -> pa.Table:
        """The columns of `shape` as an Arrow table."""
        if isinstance(self.native, pa.Table):
            return self.native.select([*shape])
        return nw.from_native(self.native).lazy().select(*shape).collect("pyarrow").to_native()

    @property
    def hashed(self) -> str | None:
        """SHA-256 of the files' bytes, one file after another, or of a table's rows; None for a table of Spark's."""
        if self.sha256 or self.kind == SPARK:
            return self.sha256
        if self.kind != PATHS:
            shape = LEDGER_READ if self.side is THE_LEDGER else STATEMENT_READ
            # Without the hashes of customers' numbers, which depend on the run's key.
            names = (name for name in shape if name in self._schema and name != "phone_hash")
            return sha256_of(self.arrow(names))
        digest = hashlib.sha256()
        for path in self.native:
            with path.open("rb") as file:
                hashlib.file_digest(file, lambda: digest)
        return digest.hexdigest()

    @property
    def statements(self) -> list[str]:
        """The names of the statements: those in the column `statement`, or the `name` of a file or of files.

        A table without this column is one statement, named `statement`.
        """
        if self.sha256 or self.kind == PATHS:
            return [self.name]
        named = self.has_text("statement")
        return self.arrow(["statement"])["statement"].unique().to_pylist() if named else ["statement"]


def sha256_of(*tables: pa.Table) -> str:
    """SHA-256 of the rows of tables; the same rows give the same hash in every library."""
    digest = hashlib.sha256()
    for name, column in ((name, table[name]) for table in tables for name in table.column_names):
        kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
        # Libraries use different types for text.
        plain = column.cast(pa.large_string() if kind in {pa.string(), pa.string_view()} else kind).combine_chunks()
        # First the places of nulls, then all other values: the bytes under a null may be any.
        for part in (plain.is_valid().cast(pa.uint8()), plain.drop_null()):
            batch = pa.record_batch([part], [name])
            digest.update(batch.schema.serialize())
            digest.update(batch.serialize())
    return digest.hexdigest()


_LIBRARIES: Final = {
    ("pyarrow", "Table"): ARROW, ("polars", "DataFrame"): ARROW, ("polars", "LazyFrame"): ARROW,
    ("duckdb", "DuckDBPyRelation"): DUCKDB, ("pyspark", "DataFrame"): SPARK,
}  # fmt: skip
"""Library and class of a table → the `kind` of its InputTable; names are compared, so no library needs to be loaded."""


def input_table(native: Native, side: Side) -> InputTable:
    """Makes the InputTable of a table or a path, by its class.

    Raises ReconcileRefused: it is no table, a column has mixed types, or there is no file at the path.
    """
    if isinstance(native, str | Path):
        paths = _files(Path(native), side)
        return InputTable(PATHS, paths, side, paths[0].name if len(paths) == 1 else f"{len(paths)} files")
    if isinstance(native, OwnLedger) and side is THE_LEDGER:
        return InputTable(ARROW, native.table, side, native.name, native.sha256, native)
    if isinstance(native, Statement) and side is not THE_LEDGER:
        return InputTable(ARROW, native.table, side, native.name, native.sha256)
    library, called = type(native).__module__.partition(".")[0].lstrip("_"), type(native).__name__
    name = f"{library} {called}{side.nth}"
    if isinstance(native, pd.DataFrame):
        # A shop's own payment may be of any type, and is never read.
        known = native[[name for name in native.columns if name in side.columns and name != "payment"]]
        try:
            return InputTable(ARROW, pa.Table.from_pandas(known, preserve_index=False), side, name)
        except pa.ArrowException as problem:
            raise ReconcileRefused(f"{side.called} has a column of mixed types: {problem}") from problem
    if (library, called) == ("workbench", "Ledger") and side is THE_LEDGER:
        pages = pa.concat_tables([schema_of(LEDGER_MOVEMENT).empty_table(), *native.movements()])
        return InputTable(ARROW, pages, side, "pyarrow Table", as_of=native.business_date, head=native.head)
    if (library, called) not in _LIBRARIES:
        text = f"{side.called} is a {called}, which is not a table that can be reconciled."
        hint = f"Give {side.first}a DataFrame of pandas, Polars or PySpark, an Arrow table, a DuckDB relation or "
        raise ReconcileRefused(text, hint=f"{hint}Parquet's path.")
    return InputTable(_LIBRARIES[library, called], native, side, name)


def _read(native: Native, side: Side, phone_key: str | Path | bytes | None = None) -> Native:
    """Reads a .csv or .xlsx file, or a table that _is_unread is true for; returns any other input unchanged.

    Raises StatementRefused: the file or table cannot be read; the message names a function call that helps. Raises
    ReconcileRefused: two columns of a table have one heading.
    """
    is_file = isinstance(native, str | Path) and Path(native).suffix.lower() in _READ_HERE
    headings = [] if is_file else _headings(native, side)
    if isinstance(native, OwnLedger | Statement) or not (is_file or _is_unread(headings, side)):
        return native
    is_statement, nth = side is not THE_LEDGER, "" if isinstance(native, str | Path) else side.nth
    reads: Callable[..., Any] = read_statement if is_file and is_statement else read_ledger
    options: dict[str, Any] = {"phone_key": phone_key}
    try:
        if is_statement and not is_file:
            # A bank's rows often have no key.
            name = Path(native).name if isinstance(native, str | Path) else type(native).__name__
            options["layout"] = named_alike(name, [(headings, None)], makes_keys=True)
        result = reads(native, **options)
    except StatementRefused as wrong:
        wrong.hint = wrong.hint.replace("Pass ", f"Read it first with {reads.__name__}(), and pass ")
        name = wrong.facts.get("file", "")
        wrong.say(wrong.message.replace(name, f"{name}{nth}", 1))
        raise
    return replace(result, name=f"{result.name}{nth}") if nth else result


def _rows_of_statement(read: OwnLedger) -> pd.DataFrame:
    """The rows of a statement's table that `read_ledger` read, numbered as in the table."""
    rows = read.rows.rename(columns={"kind": "type", "reverses": "related"})
    lines = np.setdiff1d(np.arange(1, len(rows) + len(read.zeros) + 1), read.zeros)
    return rows.assign(statement=read.name, line=lines, problem=None).astype({"problem": "string"})


def _headings(native: Native, side: Side) -> list[str]:
    """The headings of a table or of a Parquet file; none if it is neither.

    Raises ReconcileRefused: two columns of a table have one heading.
    """
    try:
        if isinstance(native, str | Path):
            return [*pq.read_schema(native).names]
        return [*nw.from_native(native).lazy().collect_schema().names()]
    except nw.exceptions.DuplicateError as error:
        twice = ", ".join(re.findall("'(.+)'", str(error)))
        text = f"{side.called} has the column {twice} more than once."
        raise ReconcileRefused(text, hint="Rename or remove the others.") from None
    except (TypeError, pa.ArrowException, OSError):
        return []


def _is_unread(headings: Collection[str], side: Side) -> bool:
    """True for a table with the columns that read_ledger() needs, but not all that only a ledger or statement has."""
    if side is THE_LEDGER:
        return {"account", "key"} <= {*headings} and not {*headings} >= _OF_THE_WORKBENCH
    has_rows = not any({*either}.isdisjoint(headings) for either in _OF_A_STATEMENT)
    return has_rows and "statement" not in headings and not {*headings} >= _OF_THE_WORKBENCH


def _files(path: Path, side: Side) -> list[Path]:
    try:
        # A file may be called `ledger[1].parquet`.
        if has_magic(str(path)) and not path.exists():
            paths = sorted(Path(name) for name in glob(str(path), recursive=True))  # noqa: PTH207  an absolute pattern
        else:
            paths = sorted(path.rglob("*.parquet")) if path.is_dir() else [path]
        existing = [item for item in paths if item.is_file()]
    except OSError as problem:
        raise ReconcileRefused(f"{side.called} cannot be read: {path.name}: {problem.strerror}.") from problem
    if not existing:
        raise ReconcileRefused(f"{side.called}: there is no file {path}.")
    return existing


SHARED: Final = {"at": "occurred_at", "day": "business_date", "amount": "amount_minor", "fee": "fee_minor"}
"""Column name in ROW → column name in the tables of both sides, if the two differ."""
OWN: Final = {
    LEDGER: {"no": "number", "entry": "entry", "kind": "kind", "refers": "reverses", "state": "state"},
    STATEMENT: {"source": "statement", "no": "line", "kind": "type", "refers": "related", "problem": "problem"},
}
"""Side → (column name in ROW → column name in the side's table), for columns that SHARED does not name."""
_OF_THE_WORKBENCH: Final = {*OWN[LEDGER].values(), "business_date", "amount_minor"}
"""Columns that a ledger of the workbench has; a ledger of the user's own may have some of them."""
MISDATED: Final = "it is dated "
"""The beginning of the problem text of a row that is invalid only for its date; with a partner it is valid."""
_TOO_LARGE: Final = " or ".join(
    f"coalesce({name}, 0) not between {-MOST_MINOR} and {MOST_MINOR}" for name in ("amount", "fee")
)
"""SQL that is true if amount or fee exceeds MOST_MINOR; sums of such amounts might not fit into 64 bits."""
_DERIVED: Final = {
    "g": "coalesce(batch, key)",
    "order": f'coalesce("at", day * {DAY_MS}, 0)',
    # No rule can use the row: its key, or a field that every movement has, is missing or wrong.
    "bad": f"""key is null or amount is null or fee is null or currency is null or day is null
        or coalesce(amount < 0, false) or coalesce(fee < 0, false) or {_TOO_LARGE}
        or coalesce(problem not like '{MISDATED}%', false)
        or coalesce(direction, '') not in {DIRECTIONS} or coalesce(status, '') not in {STATUSES}""",
    # The row's effect on its account; 0 if it is not completed, or the effect is unknown.
    "signed": f"""case when {_TOO_LARGE} or coalesce(status, '') <> '{COMPLETED}'
            or coalesce(direction, '') not in {DIRECTIONS} then 0
        else coalesce(case direction when 'in' then amount else -amount end - coalesce(fee, 0), 0) end""",
}


def side_rows(frame: Frame, side: str, *, carried: bool = False) -> Frame:
    """SQL for the rows of one side with the columns ROW.

    `frame` has the columns of the side, as an engine loads them, and with `carried` also the column `was`, the break's
    id in the earlier run, which is null otherwise. An empty key, batch or currency becomes null, since many tables have
    an empty text in place of a null.
    """
    columns = {our: f'"{own}"' for our, own in (SHARED | OWN[side]).items()} | {"side": f"'{side}'"}
    # A day outside of DAYS counts as missing.
    columns["day"] = f"case when business_date between {DAYS[0]} and {DAYS[1]} then business_date end"
    columns |= {name: f"nullif({name}, '')" for name in ("key", "batch", "currency")}
    columns |= dict.fromkeys({"source", "entry", "state", "problem"}.difference(OWN[side]), NULL)
    columns |= {} if carried else {"was": NULL}
    plain = conform(frame, {name: kind for name, kind in ROW.items() if name not in _DERIVED}, **columns)
    return conform(plain, ROW, **_DERIVED)


@dataclass(frozen=True)
class Inputs:
    """The input tables; `reported` is name → statement, for statements that were read from files.

    `remarks` are sentences on the rows of statements in other tables.
    """

    ledger: InputTable
    statements: tuple[InputTable, ...]
    reported: Mapping[str, Statement]
    remarks: Sequence[str]

    def statement_rows(self, engine: SqlEngine) -> Frame:
        """SQL for the rows of all statements, with the columns ROW."""
        loaded = both(*(source.load(engine, STATEMENT_READ) for source in self.statements))
        return side_rows(conform(loaded, STATEMENT_READ, **self.where(engine)), STATEMENT)

    def ledger_rows(self, engine: SqlEngine) -> Frame:
        """SQL for the rows of the ledger, with the columns ROW."""
        return side_rows(self.ledger.load(engine, LEDGER_READ), LEDGER)

    def where(self, engine: SqlEngine) -> dict[str, str]:
        """Column → SQL for a statement row's account, statement and line, with a default where a row has null."""
        names = {file.account for file in self.reported.values()}
        account = f"coalesce(account, {engine.text(names.pop())})" if len(names) == 1 else "account"
        return {"account": account, "statement": "coalesce(statement, 'statement')", "line": "coalesce(line, 0)"}

    def engine(self, named: str | None) -> SqlEngine:
        """The engine `duckdb` or `spark`; for None, Spark if an input is a Spark table, else DuckDB.

        Raises ReconcileRefused: there is no such engine, or it is not installed.
        """
        sparks = [table.native for table in (self.ledger, *self.statements) if table.kind == SPARK]
        name = named or (SPARK if sparks else DUCKDB)
        if name not in ENGINES:
            raise ReconcileRefused(f"There is no engine {name!r}; there are {', '.join(ENGINES)}.")
        try:
            return ENGINES[SPARK](sparks[0].sparkSession) if name == SPARK and sparks else ENGINES[name]()
        except ImportError as problem:
            extra = "analyst" if name == DUCKDB else name
            raise ReconcileRefused(f"{name} is not installed.", hint=how_to_install(extra)) from problem


def read_inputs(ledger: Native, statement: Native, phone_key: str | Path | bytes | None = None) -> Inputs:
    """Recognises the ledger and the statements, and reads those that are files.

    Customers' numbers in the files are hashed with `phone_key`. Raises ReconcileRefused: an input is no table, there is
    no statement, or a file is given twice. Raises StatementRefused: see _read.
    """
    listed = list(statement) if isinstance(statement, list | tuple) else [statement]
    if not listed:
        raise ReconcileRefused("There is no statement to reconcile with.")
    sides, tables, remarks = [THE_STATEMENT], list[Native](), list[str]()
    if len(listed) > 1:
        numbers = range(1, len(listed) + 1)
        sides = [THE_STATEMENT._replace(called=f"Statement {nth}", nth=f" {nth}") for nth in numbers]
    for native, side in zip(listed, sides, strict=True):
        table = _read(native, side, phone_key)
        if isinstance(table, OwnLedger) and table is not native:
            remarks += [f"{table.name}: {remark}" for remark in table.remarks]
            table = _rows_of_statement(table)
        tables.append(table)
    reported = [item for item in tables if isinstance(item, Statement)]
    sources = [input_table(item, side) for item, side in zip(tables, sides, strict=True)]
    hashes = Counter(file.sha256 for file in reported)
    names = Counter(file.name for file in reported) + Counter(
        str(path.resolve()) for table in sources if table.kind == PATHS for path in table.native
    )
    twice = [file.name for file in reported if hashes[file.sha256] > 1] or [name for name, n in names.items() if n > 1]
    if twice:
        hint = "Leave one of them out; two different files need two names."
        raise ReconcileRefused(f"The same statement was given twice: {' and '.join(twice)}.", hint=hint, names=twice)
    books = input_table(_read(ledger, THE_LEDGER, phone_key), THE_LEDGER)
    return Inputs(books, tuple(sources), {file.name: file for file in reported}, remarks)


def dated(engine: SqlEngine, ends: Mapping[str, int], compared: str = "<=") -> str:
    """SQL that is true for rows dated up to their account's last day in `ends`; after that day if `compared` is `>`."""
    days = (f"account = {engine.text(name)} and day {compared} {day}" for name, day in ends.items())
    return " or ".join(["false", *days])
