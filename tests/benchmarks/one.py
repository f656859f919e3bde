"""One contender, once, in this process: `one.py NAME LEDGER STATEMENT` prints what it took as JSON."""

import json
import resource
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

Found = Mapping[str, int]
"""Code → breaks."""


def ours(ledger: Path, statement: Path) -> tuple[Callable[[], Found], ...]:
    from workbench.analysis.reconcile import reconcile

    def run() -> Found:
        return counted(reconcile(ledger, statement).breaks["code"])

    return (run,)


def sql(ledger: Path, statement: Path) -> tuple[Callable[[], Found], ...]:
    from by_sql import reconcile_by_sql

    return (lambda: counted(reconcile_by_sql(ledger, statement)["code"]),)


def pandas(ledger: Path, statement: Path) -> tuple[Callable[[], Found], ...]:
    from by_pandas import reconcile_by_pandas

    return (lambda: counted(reconcile_by_pandas(ledger, statement)["code"]),)


def datacompy(ledger: Path, statement: Path) -> tuple[Callable[[], Found], ...]:
    import datacompy as library
    import pandas as pd

    def run() -> Found:
        shared = [
            "account",
            "key",
            "direction",
            "amount_minor",
            "fee_minor",
            "currency",
            "status",
            "business_date",
            "phone",
        ]
        left, right = (pd.read_parquet(path, columns=shared) for path in (ledger, statement))
        compared = library.PandasCompare(left, right, join_columns=["account", "key"], cast_column_names_lower=False)
        return {
            "only in one": len(compared.df1_unq_rows) + len(compared.df2_unq_rows),
            "unequal": len(compared.all_mismatch()),
        }

    return (run,)


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


def main() -> None:
    name, ledger, statement = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
    # Loading a library is not what is measured.
    (run,) = CONTENDERS[name](ledger, statement)
    began = time.perf_counter()
    found = run()
    seconds = time.perf_counter() - began
    print(json.dumps({"seconds": round(seconds, 3), "peak_mb": peak_mb(), "found": dict(sorted(found.items()))}))  # noqa: T201  its answer


if __name__ == "__main__":
    main()
