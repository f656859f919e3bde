"""What the interface shows holds under every alternative to what it does not; what does not is listed, test by test."""

import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from workbench.pytest_plugin import variations

ROOT = Path(__file__).resolve().parents[2]
TABLE = Path(__file__).with_name("alternatives.txt")
"""Row = value, or several where it takes them together → the tests that see it. Each asserts what is switched."""
INTERFACE = "tests/doors/test_interface.py"
"""Of all tests these alone assert what the interface shows, and little else; other files hold our own choices."""
# One process: which combinations explain a failure depends on what is known by then.
OPTIONS = (
    "-q", "--tb=no", "-pno:nbval", "-pno:schemathesis", "-pno:xdist", "-oaddopts=--import-mode=importlib",
    "--workbench-gaps=all", "-kin_process",
)  # fmt: skip
DEPENDS = "your code depends on "
MOST_CORE_S = 600
"""Five minutes of two cores."""
LIMIT_S = 3000


def table(lines: list[str]) -> Iterator[str]:
    for line in lines:
        switched, _, tests = line.removeprefix(DEPENDS).partition(": ")
        yield switched
        yield from (f"    {test.removesuffix('[in_process]').partition('::')[2]}" for test in tests.split(", "))


def core_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@pytest.mark.thorough
def test_only_tests_of_what_is_switched_differ(pytestconfig: pytest.Config):
    before_s = core_s()
    line = [sys.executable, "-m", "pytest", INTERFACE, *OPTIONS]
    done = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, check=False, timeout=LIMIT_S)  # noqa: S603  ours
    said = (
        done.stdout.partition("what your code depends on")[2].partition("====\n")[2].partition("====")[0].splitlines()
    )
    *found, counted = [each for each in said if each]
    assert counted.endswith(f"; variations beside the defaults: {len(variations('all')) - 1}."), done.stdout[-2000:]
    # Nothing failed with the defaults, and no failure is left without a reason.
    assert [each for each in found if not each.startswith(DEPENDS)] == []
    if pytestconfig.getoption("--renew"):
        TABLE.write_text("\n".join([*table(found), ""]))
    assert [*table(found)] == TABLE.read_text().splitlines()
    assert core_s() - before_s < MOST_CORE_S
