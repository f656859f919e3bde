"""A simulation's memory does not grow with its payments: what happened is in the store and in files."""

import subprocess
import sys
from pathlib import Path

import pytest

LIMIT_S = 3_000
ROOM_MB = 20
"""What caches take until they are full. With webhooks kept, each thousand payments more took 14."""
SCRIPT = """
import resource, sys
from workbench import Workbench

with Workbench(seed=1) as bench:
    bench.simulate(payments=int(sys.argv[1]), days=10, seed=1, out=sys.argv[2])
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // (1024 if sys.platform == "linux" else 1024**2))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="peaks are told by POSIX alone")
def test_four_times_the_payments_take_no_more_memory(pytestconfig: pytest.Config, tmp_path: Path):
    payments = pytestconfig.getoption("--payments")
    if payments is None:
        pytest.skip("asked for with --payments N: fewer than a thousand payments would show nothing")
    peaks_mb = []
    for number in (payments, 4 * payments):
        arguments = [sys.executable, "-c", SCRIPT, str(number), str(tmp_path / str(number))]
        done = subprocess.run(arguments, capture_output=True, text=True, check=True, timeout=LIMIT_S)  # noqa: S603  our own script
        peaks_mb.append(int(done.stdout))
    fewer, more = peaks_mb
    assert more - fewer < ROOM_MB, f"{fewer} MB for {payments} payments, {more} MB for {4 * payments}"
