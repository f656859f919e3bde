"""A reconciliation beside the same by SQL in DuckDB, and beside datacompy, which only compares; and one from files."""

import json
import subprocess
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

from tests.benchmarks.by_sql import reconcile_by_sql
from tests.benchmarks.from_files import reconcile_files_by_sql, write_files
from tests.benchmarks.measuring import OURS, Results, Sample, Size, timed
from tests.benchmarks.peers import DATACOMPY, PEERS, Absent, installed
from tests.benchmarks.tables import write_tables
from workbench import read_ledger, read_statement, reconcile
from workbench.analysis.report.outputs import write_results

SQL = "SQL by hand"
_MANY = 100_000
_DATACOMPY = """
import json, sys, time
import datacompy, pandas
columns = "account key direction amount_minor fee_minor currency status business_date phone".split()
cpu_s, wall_s = time.process_time(), time.perf_counter()
tables = [pandas.read_parquet(path, columns=columns) for path in sys.argv[1:]]
made = datacompy.PandasCompare(*tables, join_columns=["account", "key"], cast_column_names_lower=False)
len(made.df1_unq_rows), len(made.df2_unq_rows), len(made.all_mismatch())
print(json.dumps([1, time.process_time() - cpu_s, time.perf_counter() - wall_s]))
"""
"""It wants another pandas than this environment's, so it is a program of its own; loading it is not measured."""


def reconciling_many(size: Size, results: Results) -> None:
    """Ten million rows on either side, once, and beside SQL alone, for the time that it takes."""
    reconciling(size._replace(rounds=1, rows=size.large_rows, peers=None), results)


def files(size: Size, results: Results) -> None:
    """A ledger and a statement as CSV files: read, each cell checked, reconciled, and written as a page."""
    found: dict[str, Counter[str]] = {}

    def ours(ledger: Path, statement: Path) -> None:
        result = reconcile(read_ledger(ledger), read_statement(statement))
        write_results(result, ledger.with_suffix(".html"))
        # By hand, each row of the ledger is hashed too.
        assert len(result.carry_forward.read)
        # Those of the last day are open by their time alone.
        found[OURS] = Counter(result.breaks["code"]) - Counter(timing=len(result.breaks))

    def by_hand(ledger: Path, statement: Path) -> None:
        found[SQL] = reconcile_files_by_sql(ledger, statement)

    for rows in size.rows:
        with tempfile.TemporaryDirectory() as folder:
            given = write_files(Path(folder), rows)
            takes = {
                (f"files_{rows}", who): partial(timed, 1, partial(run, *given))
                for who, run in ((OURS, ours), (SQL, by_hand))
            }
            results.in_turn(size.few if rows > _MANY else size.rounds, takes)
        # By hand nothing is timing: what is open since the last day is missing.
        assert Counter() != found[OURS] <= found[SQL], found


def reconciling(size: Size, results: Results) -> None:
    """So many rows on either side; all but datacompy must find the same breaks."""
    found: dict[str, Counter[str]] = {}
    contenders: dict[str, Callable[[Path, Path], Iterable[str]]] = {
        OURS: lambda *tables: reconcile(*tables).breaks["code"],
        SQL: lambda *tables: reconcile_by_sql(*tables)["code"],
    }

    def run(who: str, tables: tuple[Path, Path]) -> Sample:
        return timed(1, lambda: found.update({who: Counter(contenders[who](*tables))}))

    def compare(python: Path, tables: tuple[Path, Path]) -> Sample:
        command = [str(python), "-c", _DATACOMPY, *map(str, tables)]
        return Sample(*json.loads(subprocess.run(command, check=True, capture_output=True).stdout))  # noqa: S603  see above

    for rows in size.rows:
        with tempfile.TemporaryDirectory() as folder:
            tables = write_tables(Path(folder), rows)
            work = f"reconcile_{rows}"
            takes = {(work, who): partial(run, who, tables) for who in contenders}
            try:
                takes[work, DATACOMPY] = partial(compare, installed(DATACOMPY, size.peers) / "python", tables)
                results.versions[DATACOMPY] = PEERS[DATACOMPY].version
            except Absent as absent:
                results.missing[DATACOMPY] = str(absent)
            results.in_turn(size.few if rows > _MANY else size.rounds, takes)
        assert found[OURS] == found[SQL] != Counter(), found
