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
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
ONE = HERE / "one.py"
CLASSIFIED = {"ours", "sql", "pandas"}
COLUMNS = ["contender", "rows", "run", "seconds", "peak_mb", "breaks", "machine", "python"]


def measured(contender: str, python: str, tables: tuple[Path, Path]) -> dict:
    """What one run of one contender took."""
    # The child finds the package where this process does.
    environment = (
        {**os.environ, "PYTHONPATH": os.pathsep.join([str(HERE), *sys.path[1:]])} if python == sys.executable else None
    )
    done = subprocess.run(  # noqa: S603  this very file's neighbour
        [python, str(ONE), contender, *map(str, tables)], check=True, capture_output=True, text=True, env=environment
    )
    return json.loads(done.stdout.strip().splitlines()[-1])


def benchmark(rows: int, runs: int, contenders: list[str], datacompy_python: str, folder: Path) -> list[dict]:
    """The raw rows. Fails if two that classify find other breaks."""
    from tables import write_tables

    tables = write_tables(folder, rows)
    machine = f"{platform.machine()}, {os.cpu_count()} cores"
    raw, found = [], {}
    for run in range(1, runs + 1):
        for contender in contenders:
            python = datacompy_python if contender == "datacompy" else sys.executable
            took = measured(contender, python, tables)
            found[contender] = took["found"]
            raw.append(
                {
                    "contender": contender, "rows": rows, "run": run, "seconds": took["seconds"],
                    "peak_mb": took["peak_mb"], "breaks": sum(took["found"].values()), "machine": machine,
                    "python": platform.python_version(),
                }
            )  # fmt: skip
    classified = {json.dumps(each) for name, each in found.items() if name in CLASSIFIED}
    if len(classified) > 1:
        raise SystemExit(f"They find other breaks: {found}")
    return raw


def medians(raw: list[dict]) -> dict[str, tuple[float, float]]:
    """Contender → median seconds and peak memory."""
    names = dict.fromkeys(row["contender"] for row in raw)
    return {
        name: tuple(
            statistics.median(row[figure] for row in raw if row["contender"] == name)
            for figure in ("seconds", "peak_mb")
        )
        for name in names
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--contenders", default="ours,sql,pandas,datacompy")
    parser.add_argument("--datacompy-python", default=sys.executable)
    parser.add_argument("--out", type=Path, default=Path("benchmark.csv"))
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        raw = benchmark(asked.rows, asked.runs, asked.contenders.split(","), asked.datacompy_python, Path(folder))
    new = not asked.out.exists()
    with asked.out.open("a", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS)
        if new:
            writer.writeheader()
        writer.writerows(raw)
    middle = medians(raw)
    for name, (seconds, peak) in middle.items():
        ratio = middle["ours"][0] / seconds
        print(f"{name:10} {seconds:8.2f} s {peak:8.0f} MB   ours takes {ratio:.2f} of it")  # noqa: T201  its answer


if __name__ == "__main__":
    main()
