"""What the interface shows holds under every alternative to what it does not; what does not is listed, test by test."""

import json
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from workbench.domain.gaps import REGISTER, written

ROOT = Path(__file__).resolve().parents[2]
TABLE = Path(__file__).with_name("alternatives.txt")
"""Row = value → the tests that see it. Each asserts what is switched."""
INTERFACE = "tests/doors/test_interface.py"
"""Of all tests these alone assert what the interface shows, and little else; other files hold our own choices."""
TESTS = (
    sys.executable, "-m", "pytest", INTERFACE, "-q", "--tb=no", "-pno:nbval", "-pno:schemathesis", "-pno:xdist",
    "-oaddopts=--import-mode=importlib", "-kin_process",
)  # fmt: skip
MOST_CORE_S = 600
"""Five minutes of two cores."""
LIMIT_S = 3000


def table(runs: list[dict[str, Any]]) -> Iterator[str]:
    for run in sorted(runs[1:], key=lambda run: run["row"]):
        if not run["passed"]:
            yield f"{run['row']} = {written(run['value'])}"
            yield from (f"    {test.removesuffix('[in_process]')}" for test in run["failed"])


def core_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@pytest.mark.thorough
def test_only_tests_of_what_is_switched_differ(pytestconfig: pytest.Config, command: str):
    before_s = core_s()
    line = [command, "each", "--json", "--jobs", "2", "--", *TESTS]
    done = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, check=False, timeout=LIMIT_S)  # noqa: S603  ours
    assert done.returncode == 1, done.stderr
    made = json.loads(done.stdout)
    # Each alternative was tried, but for rows that these tests do not reach.
    alternatives = {row.name: len(row.alternatives) for row in REGISTER}
    assert len(made["runs"]) - 1 == sum(alternatives.values()) - sum(alternatives[name] for name in made["skipped"])
    assert [run for run in made["runs"] if not run["passed"] and not run["failed"]] == []
    if pytestconfig.getoption("--renew"):
        TABLE.write_text("\n".join([*table(made["runs"]), ""]))
    assert [*table(made["runs"])] == TABLE.read_text().splitlines()
    assert core_s() - before_s < MOST_CORE_S
