"""How something is measured: samples taken in turn, by CPU and by the wall clock, and what is kept of them."""

import gc
import os
import platform
import sqlite3
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from statistics import median, quantiles
from typing import Any, NamedTuple

OURS = "Workbench"
_PACKAGES = ("httpx", "msgspec", "httptools", "duckdb", "narwhals", "pandas", "pyarrow")


class Size(NamedTuple):
    """How much is measured; as it stands, in some minutes."""

    rounds: int = 5
    operations: int = 100
    simulated: int = 2_000
    payments: int = 10_000
    rows: tuple[int, ...] = (10_000, 1_000_000)
    load_s: float = 1.0
    notebooks: tuple[str, ...] = ("explore_a_month", "reconcile_and_settle")
    peers: Path | None = None
    """Where other people's programs are set up; None leaves them out."""
    large_rows: tuple[int, ...] = (10_000_000,)

    @property
    def few(self) -> int:
        """The rounds of what takes seconds."""
        return min(self.rounds, 3)


class Sample(NamedTuple):
    """What so many operations took together."""

    operations: int
    cpu_s: float = 0
    wall_s: float = 0
    instructions: int = 0
    """Where they were counted, and the time is of no account."""


def timed(operations: int, do: Callable[[], object]) -> Sample:
    """Do it so often in this process; the CPU time is that of all its threads."""
    gc.collect()
    cpu_s, wall_s = time.process_time(), time.perf_counter()
    for _ in range(operations):
        do()
    return Sample(operations, time.process_time() - cpu_s, time.perf_counter() - wall_s)


class Results:
    """The samples of one benchmark by (work, who), who is missing and why, and what it ran on."""

    def __init__(self) -> None:
        self.samples: defaultdict[tuple[str, str], list[Sample]] = defaultdict(list)
        self.missing: dict[str, str] = {}
        self.machine = _machine()
        self.versions = {"SQLite": sqlite3.sqlite_version, **{name: version(name) for name in _PACKAGES}}

    def in_turn(self, rounds: int, contenders: Mapping[tuple[str, str], Callable[[], Sample]]) -> None:
        """A sample of each contender a round, so that what else the machine does befalls all alike.

        Of several rounds one more comes first and does not count: things are loaded and compiled in it.
        """
        for counts in (*([False] if rounds > 1 else []), *[True] * rounds):
            for name, take in contenders.items():
                sample = take()
                if counts:
                    self.samples[name].append(sample)

    def as_record(self, name: str, command: str) -> dict[str, Any]:
        """All of it as JSON types; `cpu_ms`, `wall_ms` and `instructions` are for one operation."""
        rows = [
            {"work": work, "who": who, "operations": [each.operations for each in samples], **_figures(samples)}
            for (work, who), samples in self.samples.items()
        ]
        head = {"benchmark": name, "command": command, "machine": self.machine, "versions": self.versions}
        return {**head, "rows": rows, "missing": self.missing}


def _figures(samples: Sequence[Sample]) -> dict[str, Any]:
    if samples[0].instructions:
        return {"instructions": _spread([each.instructions / each.operations for each in samples])}
    return {
        "cpu_ms": _spread([each.cpu_s * 1000 / each.operations for each in samples]),
        "wall_ms": _spread([each.wall_s * 1000 / each.operations for each in samples]),
    }


def _spread(rounds: list[float]) -> dict[str, Any]:
    """The median and the quartiles, and each round as it was."""
    low, _, high = quantiles(rounds, method="inclusive") if len(rounds) > 1 else rounds * 3
    figures = {"median": median(rounds), "low": low, "high": high}
    return {**{name: round(value, 4) for name, value in figures.items()}, "rounds": [round(each, 4) for each in rounds]}


def _machine() -> dict[str, Any]:
    """What it was measured on, and how busy that was; nothing that names the machine or a place on it."""
    processors = Path("/proc/cpuinfo")
    lines = processors.read_text().splitlines() if processors.exists() else []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return {
        "cpu": models[0] if models else platform.machine(),
        "cores": os.cpu_count(),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30),
        "os": platform.freedesktop_os_release()["PRETTY_NAME"]
        if Path("/etc/os-release").exists()
        else platform.system(),
        "python": platform.python_version(),
        "load": round(os.getloadavg()[0], 1),
        "day": time.strftime("%Y-%m-%d", time.gmtime()),
    }
