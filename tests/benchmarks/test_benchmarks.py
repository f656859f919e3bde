"""The benchmarks themselves: each runs, tiny; the table says what the rows do, and the documentation has that table."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.benchmarks import table
from tests.benchmarks.instructions import grown
from tests.benchmarks.peers import PEERS, Absent, installed

BY_HAND = ("httpx alone", "httpx loop by hand", "SQL by hand")


def ran(folder: Path, *names: str) -> str:
    """What it printed; the raw rows are in the folder."""
    command = [sys.executable, "-m", "tests.benchmarks", *names, "--tiny", "--out", str(folder)]
    done = subprocess.run(command, cwd=table.ROOT, check=False, capture_output=True, text=True, timeout=600)  # noqa: S603  our own command
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.thorough
def test_each_runs_and_only_other_peoples_programs_are_missing(tmp_path: Path):
    # Instructions have a run of their own, where valgrind is.
    lines = [line for line in table.LINES if line.benchmark not in {"notebooks", "instructions"}]
    names = list(dict.fromkeys(line.benchmark for line in lines))
    shown = ran(tmp_path, *names)
    larger = ("Reconcile 1,000,000 rows", "Reconcile 10,000,000 rows", "From two CSV files of 1,000,000", "Notebook")
    assert [line.says for line in lines if line.says not in shown and not line.says.startswith(larger)] == []
    assert [who for who in (*BY_HAND, *PEERS) if who not in shown] == []
    records = [json.loads((tmp_path / f"{name}.json").read_text("utf-8")) for name in names]
    assert {who for each in records for who in each["missing"]} == {*PEERS}
    assert all(min(row["wall_ms"]["rounds"]) > 0 for each in records for row in each["rows"])
    # The clock of a process goes in steps, of which the shortest rounds may take none.
    assert all(sum(sum(row["cpu_ms"]["rounds"]) for row in each["rows"]) > 0 for each in records)
    assert str(tmp_path) not in json.dumps(records)


def test_what_cannot_be_set_up_is_missing_with_a_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(Absent, match=r"^npm is not on this machine$"):
        installed("WireMock", tmp_path / "peers")
    for name in ("npm", "java"):
        (tmp_path / name).write_text("#!/bin/sh\nexit 1\n")
        (tmp_path / name).chmod(0o700)
    with pytest.raises(Absent, match=r"^npm could not install wiremock 3\.13\.2$"):
        installed("WireMock", tmp_path / "peers")


@pytest.mark.thorough
def test_a_notebook_is_timed_too(tmp_path: Path):
    ran(tmp_path, "notebooks")
    (row,) = json.loads((tmp_path / "notebooks.json").read_text("utf-8"))["rows"]
    assert (row["work"], row["operations"]) == ("intents_and_keys", [1])
    assert row["cpu_ms"]["median"] > 500


def row(work: str, who: str, ms: float) -> dict[str, Any]:
    spread = {"median": ms, "low": ms * 0.8, "high": ms * 1.25}
    return {"work": work, "who": who, "cpu_ms": spread, "wall_ms": spread}


@pytest.mark.parametrize(
    ("benchmark", "rows", "cells"),
    [
        ("calls", [("create", "Workbench", 3), ("floor", "httpx alone", 1)],
         ["CPU", "3 ms (2.4 ms to 3.75 ms)", "httpx alone 1 ms", "3 times", "≤ 2.8 times", "missed"]),
        ("calls", [("retrieve", "Workbench", 3), ("floor", "httpx alone", 1)],
         ["CPU", "3 ms (2.4 ms to 3.75 ms)", "httpx alone 1 ms", "3 times", "≤ 2.5 times", "missed"]),
        ("served", [("served_create", "Workbench", 2), ("served_create", "app by hand", 1)],
         ["each CPU second", "500/s (400/s to 625/s)", "app by hand 1,000/s", "0.5 times", "≥ 0.55 times", "missed"]),
        ("served", [("served_list", "Workbench", 2), ("served_list", "WireMock", 1)],
         ["each second", "500/s (400/s to 625/s)", "WireMock 1,000/s", "", "≥ 400/s", "met"]),
        ("growth", [(work, f"{held} payments", ms)
                    for held, beside, ours in ((10, 1, 10), (30, 2, 2), (99, 2, 22))
                    for work, ms in (("floor", beside), ("growth", ours))],
         ["calls of httpx alone (CPU)", "11 (8.8 to 13.8)", "10 payments 10, 30 payments 1", "1.1 times", "≤ 1.2 times",
          "met"]),
    ],
)  # fmt: skip
def test_a_line_tells_the_median_its_quartiles_the_ratio_and_the_aim(
    benchmark: str, rows: list[tuple[str, str, float]], cells: list[str]
):
    record = {"benchmark": benchmark, "rows": [row(*each) for each in rows], "missing": {"Prism": "left out"}}
    shown = table.table({benchmark: record})
    _, _, line, _, below = shown.split("\n", 4)
    assert [each.strip() for each in line.split("|")][2:-1] == cells
    assert below == f"Not measured in `{benchmark}`: Prism (left out).\n"


def counted(**works: list[int]) -> dict[str, Any]:
    return {"rows": [{"work": work, "instructions": {"rounds": rounds}} for work, rounds in works.items()]}


def test_a_ratio_to_the_floor_may_grow_by_a_twentieth_and_no_more_in_the_best_of_its_rounds():
    stored = counted(floor=[1_000], create=[2_000], retrieve=[1_500])
    assert grown(counted(floor=[2_000], create=[4_190], retrieve=[3_000], list=[9_999]), stored) == []
    assert grown(counted(floor=[1_000, 1_000], create=[2_110, 2_090], retrieve=[1_000]), stored) == []
    assert grown(counted(floor=[1_000], create=[2_110, 2_120], retrieve=[1_000]), stored) == [
        "create: 2.110 times the floor, 2.000 stored"
    ]


@pytest.mark.thorough
def test_where_nothing_counts_instructions_nothing_fails(tmp_path: Path):
    command = [sys.executable, "-m", "tests.benchmarks", "--instructions"]
    done = subprocess.run(  # noqa: S603  our own command
        command, cwd=table.ROOT, check=False, capture_output=True, text=True, env={"PATH": str(tmp_path)}, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert "valgrind is not on this machine" in done.stdout


def test_the_documentation_shows_the_stored_rows():
    page = table.PAGE.read_text("utf-8")
    assert table.BEGIN in page
    assert page == table.with_figures(page)
