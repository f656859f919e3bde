"""Instructions counted by valgrind, which a busy machine does not change: a yardstick to hold a change against.

    python -m tests.benchmarks.instructions in_process TIMES
    python -m tests.benchmarks.instructions served PORT FOLDER

Callgrind counts this program, which says at the beginning and at the end of each kind of work that it is there.
"""

import gc
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from itertools import count, cycle
from pathlib import Path

import httpx

from tests.benchmarks.in_process import FLOOR, INTENT, PATH, create, kinds_of_calls
from tests.benchmarks.measuring import OURS, Results, Sample, Size
from tests.benchmarks.served import started
from workbench import Workbench
from workbench.cli import app
from workbench.sandbox import connections

GROWTH = 1.05
"""A ratio to the floor may be so many times the stored one."""
_ROOT = Path(__file__).resolve().parents[2]
_READS = ("retrieve", "list", "served_retrieve")
"""What is written of these into the trace is written with the next command."""
_LIFE_S = 900
_AGAIN_S = 20


def instructions(size: Size, results: Results) -> None:
    """Each kind of call, by the instructions of the process that does it: for a served one, the server's."""
    if shutil.which("valgrind") is None:
        results.missing[OURS] = "valgrind is not on this machine"
        return
    for _ in range(size.rounds):
        with ThreadPoolExecutor() as side_by_side:
            counting = [side_by_side.submit(each, size.operations) for each in (_in_process, _served)]
            counted = {name: sample for one in counting for name, sample in one.result().items()}
        for name, sample in counted.items():
            commands = counted["served_create" if name.startswith("served") else "create"]
            after = commands.instructions // commands.operations if name in _READS else 0
            who = FLOOR if name == "floor" else OURS
            results.samples[name, who].append(sample._replace(instructions=sample.instructions - after))


def grown(measured: Mapping, stored: Mapping) -> list[str]:
    """The kinds of work whose ratio to the floor is more than it may be in each round, each with both ratios."""
    then, now = (
        {row["work"]: min(row["instructions"]["rounds"]) for row in each["rows"]} for each in (stored, measured)
    )
    ratios = {work: (now[work] / now["floor"], then[work] / then["floor"]) for work in now.keys() & then.keys()}
    return [
        f"{work}: {ratio:.3f} times the floor, {before:.3f} stored"
        for work, (ratio, before) in sorted(ratios.items())
        if ratio > before * GROWTH
    ]


def _command(out: Path, *arguments: str) -> list[str]:
    """This program under callgrind, which writes what it has counted wherever libc's `getpriority` is called."""
    return [
        "env", "PYTHONHASHSEED=0", f"PYTHONPATH={_ROOT}", "valgrind", "--quiet", "--tool=callgrind",
        "--dump-before=getpriority", f"--callgrind-out-file={out}", sys.executable, "-m", __spec__.name, *arguments,
    ]  # fmt: skip


def _mark(*_: object) -> None:
    """Begin or end a kind of work; nothing else in this program asks for it."""
    os.getpriority(os.PRIO_PROCESS, 0)


def _samples(out: Path, operations: Mapping[str, int]) -> dict[str, Sample]:
    """What was counted between the two marks of each kind of work; a part of the file's name is the mark's number."""
    counted = {
        int(each.suffix[1:]): next(int(line.split()[1]) for line in each.open() if line.startswith("summary:"))
        for each in out.parent.glob(f"{out.name}.*")
    }
    return {
        name: Sample(times, instructions=counted[2 * place])
        for place, (name, times) in enumerate(operations.items(), 1)
    }


def _in_process(times: int) -> dict[str, Sample]:
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "counted"
        done = subprocess.run(_command(out, "in_process", str(times)), capture_output=True, check=True, timeout=_LIFE_S)  # noqa: S603  our own program
        return _samples(out, json.loads(done.stdout))


def _served(times: int) -> dict[str, Sample]:
    """One request after another over one connection: what is answered together would depend on the machine."""
    with tempfile.TemporaryDirectory() as folder, Workbench(seed=7) as same:
        out, headers = Path(folder) / "counted", {"Authorization": f"Bearer {same.secret_key}"}
        numbers = count(1)

        def mark() -> None:
            written, until = Path(f"{out}.{next(numbers)}"), time.monotonic() + _LIFE_S
            while not written.exists() and time.monotonic() < until:
                # A signal just before the loop sleeps waits for its next tick, which is switched off: another wakes it.
                server.process.send_signal(signal.SIGUSR1)
                again = time.monotonic() + _AGAIN_S
                while not written.exists() and time.monotonic() < again:
                    time.sleep(0.02)

        with ExitStack() as stack:
            server = stack.enter_context(started(lambda port: _command(out, "served", port, folder), Path(folder)))
            typed = {**headers, "Content-Type": "application/json"}
            http = stack.enter_context(
                httpx.Client(base_url=server.url, headers=typed, trust_env=False, timeout=_LIFE_S)
            )

            def command() -> str:
                return str(http.post(PATH, content=INTENT).raise_for_status().json()["id"])

            path = f"{PATH}/{command()}"
            retrieve = lambda: http.get(path).raise_for_status()  # noqa: E731  beside the other
            done = _done({"served_create": (1, command), "served_retrieve": (1, retrieve)}, times, mark, command)
        return _samples(out, done)


def _done(
    work: Mapping[str, tuple[int, Callable[[], object]]],
    times: int,
    mark: Callable[[], object],
    command: Callable[[], object],
) -> dict[str, int]:
    """Do each kind of work between two marks, and return how often; a quarter of that more comes before them."""
    operations = {name: -(-times // each) for name, (each, _) in work.items()}
    for name, (_, do) in work.items():
        for _ in range(-(-operations[name] // 4)):
            do()
        command()
        gc.collect()
        mark()
        for _ in range(operations[name]):
            do()
        if name in _READS:
            command()
        mark()
    return operations


def _count_in_process(times: int) -> None:
    with kinds_of_calls() as (quiet, _, work):
        print(json.dumps(_done(work, times, _mark, partial(create, quiet))))  # noqa: T201  its answer


def _count_served(port: str, folder: str) -> None:
    # How many ticks pass during a request depends on the machine.
    connections._TICK_S = _LIFE_S  # noqa: SLF001  see above
    begins = cycle((True, False))

    def mark(*_: object) -> None:
        # Where the collector's great round falls depends on all that came before; it comes before what is counted.
        if next(begins):
            gc.collect()
        _mark()

    signal.signal(signal.SIGUSR1, mark)
    app(["serve", "--port", port, "--store", f"{folder}/store.db", "--seed", "7", "--quiet"])


if __name__ == "__main__":
    if sys.argv[1] == "served":
        _count_served(*sys.argv[2:])
    else:
        _count_in_process(int(sys.argv[2]))
