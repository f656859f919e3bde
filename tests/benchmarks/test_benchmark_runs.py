"""The benchmark itself, tiny: it runs, and what it is measured against finds the same breaks."""

import csv
import subprocess
import sys
from pathlib import Path

RUN = Path(__file__).with_name("run.py")


def test_all_find_the_same_breaks(tmp_path: Path):
    raw = tmp_path / "raw.csv"
    arguments = ["--rows", "20000", "--runs", "1", "--contenders", "ours,sql,pandas", "--out", str(raw)]
    done = subprocess.run([sys.executable, str(RUN), *arguments], check=False, capture_output=True, text=True)  # noqa: S603  our own script
    assert done.returncode == 0, done.stderr
    with raw.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["contender"] for row in rows] == ["ours", "sql", "pandas"]
    assert len({row["breaks"] for row in rows}) == 1
    assert int(rows[0]["breaks"]) > 100
