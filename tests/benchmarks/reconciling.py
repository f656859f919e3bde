"""A reconciliation beside the same by SQL in DuckDB, and beside datacompy, which only compares; and one from files."""

import json
import subprocess
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

import duckdb

from tests.benchmarks.by_sql import reconcile_by_sql
from tests.benchmarks.measuring import OURS, Results, Sample, Size, timed
from tests.benchmarks.peers import DATACOMPY, PEERS, Absent, installed
from tests.benchmarks.tables import write_tables
from workbench import Workbench, read_statement, reconcile
from workbench.analysis.statements import read_ledger

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
    """A ledger and statements as CSV files of a simulated month: read, each cell checked, and reconciled."""
    with tempfile.TemporaryDirectory() as folder, Workbench(seed=7) as bench:
        month, ledger = Path(folder) / "month", Path(folder) / "ledger.csv"
        bench.simulate(payments=size.payments, out=month)
        duckdb.sql(f"COPY (FROM '{month / 'ledger.parquet'}') TO '{ledger}'")
        statements = sorted(month.glob("statements/*.csv"))

        def run() -> None:
            assert len(reconcile(read_ledger(ledger), [read_statement(each) for each in statements]).breaks)

        results.in_turn(size.few, {("files", OURS): partial(timed, 1, run)})


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
