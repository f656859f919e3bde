"""What is reconciled: a ledger, statements, and what an earlier run left open; loaded and told apart."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, NamedTuple, Protocol, runtime_checkable

import narwhals.stable.v2 as nw
import pandas as pd

from workbench.analysis.reconcile.columns import LEDGER_READ, STATEMENT_READ, Frame
from workbench.analysis.reconcile.engines import DUCKDB, ENGINES, PANDAS, SPARK, Engine, spark_of
from workbench.analysis.reconcile.sources import LEDGER_CALLED, PATHS, STATEMENT_CALLED, Source, source
from workbench.errors import ReconcileRefused


@runtime_checkable
class StatementFile(Protocol):
    """A statement as it was read from a file."""

    @property
    def name(self) -> str:
        """The file's name, without its folder."""

    @property
    def sha256(self) -> str:
        """Of the file's bytes."""

    @property
    def account(self) -> str:
        """The account it is a statement of."""

    @property
    def currency(self) -> str:
        """The currency of that account."""

    @property
    def rows(self) -> pd.DataFrame:
        """Its rows, in the shape STATEMENT_ROW."""

    @property
    def opening_minor(self) -> int | None:
        """The balance before its first row, if it tells."""

    @property
    def closing_minor(self) -> int | None:
        """The balance after its last row, if it tells."""

    @property
    def period(self) -> Any:  # noqa: ANN401  two dates, or none, or a pair of none
        """The first and last day that it says it covers, if it does."""

    @property
    def findings(self) -> pd.DataFrame:
        """Where its running balance does not follow: line, expected_minor, found_minor."""


class Jump(NamedTuple):
    """A line whose running balance does not follow from the one before; minor units."""

    line: int
    expected_minor: int
    found_minor: int


@dataclass(frozen=True)
class Told:
    """What a statement tells of itself, beside its rows."""

    name: str
    account: str
    currency: str
    sha256: str
    opening_minor: int | None
    closing_minor: int | None
    last_day: date | None
    jumps: tuple[Jump, ...] = ()


@dataclass(frozen=True)
class Inputs:
    """The tables as given."""

    ledger: Source
    statements: tuple[Source, ...]
    told: Mapping[str, Told]

    def engine(self, named: str | None) -> Engine:
        """The engine asked for; else Spark where a table is Spark's, else DuckDB.

        Raises ReconcileRefused: no such engine, or it is not installed.
        """
        sparks = [each.given for each in (self.ledger, *self.statements) if each.kind == SPARK]
        name = named or (SPARK if sparks else DUCKDB)
        if name not in ENGINES:
            raise ReconcileRefused(f"There is no engine {name!r}; there are {', '.join(ENGINES)}.")
        try:
            return spark_of(sparks[0].sparkSession) if name == SPARK and sparks else ENGINES[name]()
        except ImportError as problem:
            hint = "pip install 'mobile-money-workbench[spark]'" if name == SPARK else f"pip install {name}"
            raise ReconcileRefused(f"{name} is not installed.", hint=hint) from problem


def read_inputs(ledger: Any, statement: Any) -> Inputs:  # noqa: ANN401  any table
    """Recognise what was given.

    Raises ReconcileRefused: no table, no statement at all, or the same file twice.
    """
    given = _listed(statement)
    if not given:
        raise ReconcileRefused("There is no statement to reconcile with.")
    told = [_told(each) for each in given if isinstance(each, StatementFile)]
    sources = [_source(each) for each in given]
    _refuse_twice(told, sources)
    return Inputs(source(ledger, LEDGER_CALLED), tuple(sources), {each.name: each for each in told})


def load_ledger(engine: Engine, inputs: Inputs) -> Frame:
    """Every row of the ledger that was given."""
    return inputs.ledger.load(engine, LEDGER_READ)


def load_statements(engine: Engine, inputs: Inputs) -> Frame:
    """Every row of every statement, under each other."""
    return nw.concat([each.load(engine, STATEMENT_READ) for each in inputs.statements])


def _listed(statement: Any) -> Sequence[Any]:  # noqa: ANN401  any table, or several
    several = isinstance(statement, Iterable) and isinstance(statement, list | tuple)
    return list(statement) if several else [statement]


def _told(given: StatementFile) -> Told:
    last = given.period[1] if given.period else None
    jumps = tuple(
        Jump(int(row["line"]), int(row["expected_minor"]), int(row["found_minor"]))
        for row in given.findings.to_dict("records")
    )
    return Told(
        given.name,
        given.account,
        given.currency,
        given.sha256,
        given.opening_minor,
        given.closing_minor,
        last,
        jumps,
    )


def _source(given: Any) -> Source:  # noqa: ANN401  any table
    if isinstance(given, StatementFile):
        return Source(PANDAS, given.rows, STATEMENT_CALLED)
    return source(given, STATEMENT_CALLED)


def _refuse_twice(told: Sequence[Told], sources: Sequence[Source]) -> None:
    hashes = Counter(each.sha256 for each in told)
    names = Counter(each.name for each in told) + Counter(
        str(path.resolve()) for each in sources if each.kind == PATHS for path in each.given
    )
    twice = [each.name for each in told if hashes[each.sha256] > 1] or [name for name, n in names.items() if n > 1]
    if twice:
        raise ReconcileRefused(
            f"The same statement is given twice: {' and '.join(twice)}.",
            hint="Leave one of them out; two different files need two names.",
            names=twice,
        )
