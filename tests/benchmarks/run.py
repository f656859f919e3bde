"""Time and memory of a reconciliation against the same by hand; each run is a process of its own.

    python tests/benchmarks/run.py --rows 1000000 --runs 3 --out raw.csv

The raw rows go to the file, with the machine beside them; the medians and ratios are printed. A library that
wants an older pandas may have an environment of its own: `--datacompy-python PATH`.
"""

import argparse
import csv
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path

HERE = Path(__file__).parent
CLASSIFIED = {"ours", "sql", "pandas"}
COLUMNS = ["contender", "rows", "run", "seconds", "peak_mb", "breaks", "machine", "python"]
SHARED = ["account", "key", "direction", "amount_minor", "fee_minor", "currency", "status", "business_date", "phone"]
Found = Mapping[str, int]
"""Code → breaks."""
Contender = Callable[[Path, Path], Found]


def ours() -> Contender:
    from workbench.analysis.reconcile import reconcile

    return lambda *tables: counted(reconcile(*tables).breaks["code"])


def sql() -> Contender:
    from by_sql import reconcile_by_sql

    return lambda *tables: counted(reconcile_by_sql(*tables)["code"])


def pandas() -> Contender:
    from by_pandas import reconcile_by_pandas

    return lambda *tables: counted(reconcile_by_pandas(*tables)["code"])


def datacompy() -> Contender:
    import datacompy as library
    import pandas as pd

    def run(*tables: Path) -> Found:
        left, right = (pd.read_parquet(path, columns=SHARED) for path in tables)
        compared = library.PandasCompare(left, right, join_columns=["account", "key"], cast_column_names_lower=False)
        alone = len(compared.df1_unq_rows) + len(compared.df2_unq_rows)
        return {"only in one": alone, "unequal": len(compared.all_mismatch())}

    return run


CONTENDERS = {each.__name__: each for each in (ours, sql, pandas, datacompy)}


def counted(codes: object) -> Found:
    """How many breaks of each code."""
    return {str(code): int(n) for code, n in codes.value_counts().items() if n}


def peak_mb() -> int:
    """The most memory that this process has had, in megabytes."""
    status = Path("/proc/self/status")
    if status.exists():
        # What getrusage tells begins with what the parent had when it forked; this does not.
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) // 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def one(name: str, ledger: Path, statement: Path) -> None:
    """Run one contender once, in this process, and print what it took as JSON."""
    # Loading a library is not what is measured.
    run = CONTENDERS[name]()
    began = time.perf_counter()
    found = run(ledger, statement)
    seconds = time.perf_counter() - began
    print(json.dumps({"seconds": round(seconds, 3), "peak_mb": peak_mb(), "found": dict(sorted(found.items()))}))  # noqa: T201  its answer


def measured(contender: str, python: str, tables: tuple[Path, Path]) -> dict:
    """What one run of one contender took."""
    # The child finds the package where this process does.
    paths = {"PYTHONPATH": os.pathsep.join([str(HERE), *sys.path[1:]])} if python == sys.executable else {}
    done = subprocess.run(  # noqa: S603  this very file
        [python, __file__, "--one", contender, *map(str, tables)], check=True, capture_output=True, text=True,
        env=os.environ | paths,
    )  # fmt: skip
    return json.loads(done.stdout.strip().splitlines()[-1])


def benchmark(rows: int, runs: int, contenders: list[str], datacompy_python: str, folder: Path) -> list[dict]:
    """The raw rows. Fails if two that classify find other breaks."""
    from tables import write_tables

    tables = write_tables(folder, rows)
    machine = f"{platform.machine()}, {os.cpu_count()} cores"
    raw, found = [], {}
    for run in range(1, runs + 1):
        for contender in contenders:
            took = measured(contender, datacompy_python if contender == "datacompy" else sys.executable, tables)
            found[contender] = took.pop("found")
            breaks, python = sum(found[contender].values()), platform.python_version()
            here = {"breaks": breaks, "machine": machine, "python": python}
            raw.append({"contender": contender, "rows": rows, "run": run, **took, **here})
    if len({json.dumps(each) for name, each in found.items() if name in CLASSIFIED}) > 1:
        raise SystemExit(f"They find other breaks: {found}")
    return raw


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--contenders", default="ours,sql,pandas,datacompy")
    parser.add_argument("--datacompy-python", default=sys.executable)
    parser.add_argument("--out", type=Path, default=Path("benchmark.csv"))
    parser.add_argument("--one", nargs=3, metavar=("NAME", "LEDGER", "STATEMENT"), help="what it starts for each run")
    asked = parser.parse_args()
    if asked.one:
        one(asked.one[0], *map(Path, asked.one[1:]))
        return
    with tempfile.TemporaryDirectory() as folder:
        raw = benchmark(asked.rows, asked.runs, asked.contenders.split(","), asked.datacompy_python, Path(folder))
    new = not asked.out.exists()
    with asked.out.open("a", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS)
        if new:
            writer.writeheader()
        writer.writerows(raw)
    medians = {
        name: [statistics.median(row[figure] for row in raw if row["contender"] == name) for figure in COLUMNS[3:5]]
        for name in dict.fromkeys(row["contender"] for row in raw)
    }
    for name, (seconds, peak) in medians.items():
        ratio = medians["ours"][0] / seconds
        print(f"{name:10} {seconds:8.2f} s {peak:8.0f} MB   ours takes {ratio:.2f} of it")  # noqa: T201  its answer


if __name__ == "__main__":
    main()
