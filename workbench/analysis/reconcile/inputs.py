"""What is reconciled: a ledger, statements, and what an earlier run left open; loaded and told apart."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import pandas as pd

from workbench.analysis.reconcile.engines import DUCKDB, ENGINES, PANDAS, SPARK, Engine
from workbench.analysis.reconcile.sources import PATHS, THE_LEDGER, THE_STATEMENT, Source, source
from workbench.errors import ReconcileRefused


@runtime_checkable
class StatementFile(Protocol):
    """A statement as it was read from a file (`statements.Statement`): what it tells of itself, beside its rows."""

    name: str
    sha256: str
    account: str
    currency: str
    rows: pd.DataFrame
    opening_minor: int | None
    closing_minor: int | None
    period: Any
    """Its first and last day, or none, or a pair of none."""
    findings: pd.DataFrame
    """Where its running balance does not follow: line, expected_minor, found_minor."""


@dataclass(frozen=True)
class Inputs:
    """The tables as given."""

    ledger: Source
    statements: tuple[Source, ...]
    reported: Mapping[str, StatementFile]

    def engine(self, named: str | None) -> Engine:
        """The engine asked for; else Spark where a table is Spark's, else DuckDB.

        Raises ReconcileRefused: no such engine, or it is not installed.
        """
        sparks = [each.given for each in (self.ledger, *self.statements) if each.kind == SPARK]
        name = named or (SPARK if sparks else DUCKDB)
        if name not in ENGINES:
            raise ReconcileRefused(f"There is no engine {name!r}; there are {', '.join(ENGINES)}.")
        try:
            return ENGINES[SPARK](sparks[0].sparkSession) if name == SPARK and sparks else ENGINES[name]()
        except ImportError as problem:
            hint = "pip install 'mobile-money-workbench[spark]'" if name == SPARK else f"pip install {name}"
            raise ReconcileRefused(f"{name} is not installed.", hint=hint) from problem


def read_inputs(ledger: Any, statement: Any) -> Inputs:  # noqa: ANN401  any table
    """Recognise what was given.

    Raises ReconcileRefused: no table, no statement at all, or the same file twice.
    """
    given = list(statement) if isinstance(statement, list | tuple) else [statement]
    if not given:
        raise ReconcileRefused("There is no statement to reconcile with.")
    reported = [each for each in given if isinstance(each, StatementFile)]
    sources = [
        Source(PANDAS, each.rows, THE_STATEMENT) if isinstance(each, StatementFile) else source(each, THE_STATEMENT)
        for each in given
    ]
    _refuse_twice(reported, sources)
    return Inputs(source(ledger, THE_LEDGER), tuple(sources), {each.name: each for each in reported})


def _refuse_twice(reported: Sequence[StatementFile], sources: Sequence[Source]) -> None:
    hashes = Counter(each.sha256 for each in reported)
    names = Counter(each.name for each in reported) + Counter(
        str(path.resolve()) for each in sources if each.kind == PATHS for path in each.given
    )
    twice = [each.name for each in reported if hashes[each.sha256] > 1] or [name for name, n in names.items() if n > 1]
    if twice:
        raise ReconcileRefused(
            f"The same statement is given twice: {' and '.join(twice)}.",
            hint="Leave one of them out; two different files need two names.",
            names=twice,
        )
