"""The table: what is measured, beside what, and what it is to be; made of the raw rows."""

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from tests.benchmarks.in_process import FLOOR
from tests.benchmarks.measuring import OURS
from tests.benchmarks.peers import APP
from tests.benchmarks.reconciling import SQL
from tests.benchmarks.served import LOOP
from workbench.resources import guide_paths

ROOT = Path(__file__).resolve().parents[2]
ROWS = ROOT / "fixtures" / "benchmarks"
PAGE = guide_paths()["speed"]
BEGIN, END = "<!-- made by: python -m tests.benchmarks --page -->\n", "<!-- to here -->\n"
_CPU, _WALL, _RATE, _CPU_RATE, _CALLS = "CPU", "time", "each second", "each CPU second", "calls of httpx alone (CPU)"
_COUNT = "instructions"
_RATES = (_RATE, _CPU_RATE)
_HEAD = ["Work", "Measured in", "Workbench (quartiles)", "To compare", "Ratio", "Aim", ""]
_FIRST = "the first"

Record = Mapping[str, Any]
"""The raw rows of one benchmark."""


class Line(NamedTuple):
    """A line: a kind of work, the figure that tells it, and its aim."""

    benchmark: str
    work: str
    says: str
    figure: str
    sign: str = ""
    aim: float = 0
    """As a ratio to `over`; without one, in seconds, or so many in one."""
    over: str = ""
    floor: str = ""
    """The work of `over`, where it is not the same."""


_CALLS_TO = {
    "create": "Create a payment, in process",
    "create_webhook": "Create, with its webhook sent and verified",
    "payment": "Whole payment: create, confirm, PIN, retrieve",
    "payment_webhooks": "Whole payment, with its five webhooks",
    "retrieve": "Retrieve a payment, in process",
    "list": "List 100 payments, in process",
    "served_create": "Create, served, durable file, one worker",
    "served_retrieve": "Retrieve, served",
}
_AIMS = {"create": 2.8, "create_webhook": 5.8, "payment": 16.5, "payment_webhooks": 30, "retrieve": 2.5, "list": 12}
LINES = (
    *(Line("calls", work, _CALLS_TO[work], _CPU, "≤", aim, FLOOR, "floor") for work, aim in _AIMS.items()),
    *(Line("instructions", work, says, _COUNT, over=FLOOR, floor="floor") for work, says in _CALLS_TO.items()),
    Line("opening", "opening", "`Workbench()` and close, once loaded", _CPU, "≤", 0.010),
    Line("press", "press", "PIN pressed on the handset, the kernel's part", _WALL, "≤", 0.010),
    Line("simulate", "simulate_each", "Simulated payments", _CPU_RATE, "≥", 1000),
    Line("simulate", "simulate", "Simulated month of 2,000 payments", _WALL, "≤", 3),
    Line("growth", "growth", "Whole payment, with five webhooks, after", _CALLS, "≤", 1.2, _FIRST, "floor"),
    Line("growth", "simulated", "Simulated payment, up to", _CPU, over=_FIRST),
    Line("served", "served_create", "Create, served, 8 connections", _CPU_RATE, "≥", 0.55, APP),
    Line("served", "served_create_64", "Create, served, 64 connections", _CPU_RATE, "≥", 0.55, APP),
    Line("served", "served_retrieve", "Retrieve, served, 8 connections", _CPU_RATE, "≥", 0.4, APP),
    Line("served", "served_retrieve_64", "Retrieve, served, 64 connections", _CPU_RATE, "≥", 0.3, APP),
    Line("served", "served_list", "List 100, served, 8 connections", _RATE, "≥", 400),
    Line("webhooks", "webhooks", "Signed webhooks to a local receiver, served", _CPU_RATE, over=LOOP),
    Line("reconcile", "reconcile_10000", "Reconcile 10,000 rows of Parquet", _CPU, "≤", 0.5),
    Line("reconcile", "reconcile_1000000", "Reconcile 1,000,000 rows of Parquet", _CPU, "≤", 1.2, SQL),
    Line("reconcile_many", "reconcile_10000000", "Reconcile 10,000,000 rows of Parquet", _CPU, "≤", 1.2, SQL),
    Line("files", "files_10000", "From two CSV files of 10,000 rows to the page", _CPU, "≤", 1),
    Line("files", "files_1000000", "From two CSV files of 1,000,000 rows to the page", _CPU, "≤", 5, SQL),
    Line("notebooks", "explore_a_month", "Notebook *Explore a month*, headlessly", _WALL, "≤", 5),
    Line("notebooks", "reconcile_and_settle", "Notebook *Reconcile, settle, decide*, headlessly", _WALL, "≤", 5),
)


def _figure(row: Record, figure: str, which: str = "median") -> float:
    """In seconds, or so many in one; of instructions, so many."""
    if figure == _COUNT:
        return row["instructions"][which]
    if figure not in _RATES:
        return row["wall_ms" if figure == _WALL else "cpu_ms"][which] / 1000
    # The slowest quarter has the longest times.
    turned = {"low": "high", "high": "low"}.get(which, which)
    took_ms = row["cpu_ms" if figure == _CPU_RATE else "wall_ms"][turned]
    # A small run of another process may take less CPU time than the system counts.
    return 1000 / took_ms if took_ms else math.inf


def _text(value: float, figure: str) -> str:
    if figure in _RATES:
        return f"{value:,.0f}/s"
    if figure == _CALLS:
        return f"{value:.3g}"
    if figure == _COUNT:
        return f"{value / 1e6:.3f} million"
    return f"{value * 1000:.3g} ms" if value < 1 else f"{value:.3g} s"


def _cells(line: Line, record: Record) -> list[str] | None:
    """A line's cells; None where it was not measured."""
    rows = {row["who"]: row for row in record["rows"] if row["work"] == line.work}
    if not rows:
        return None
    # Where a store grows nobody else is there: the last is compared with those before.
    who, mine = (OURS, rows.pop(OURS)) if OURS in rows else rows.popitem()
    floors = {row["who"]: row for row in record["rows"] if row["work"] == line.floor}
    others = floors if line.floor and line.over != _FIRST else rows
    to = next(iter(others.values())) if line.over == _FIRST else others.get(line.over)

    def figure(row: Record, which: str = "median") -> float:
        # The run is long and the machine is not always as fast: each size has a floor that was measured beside it.
        beside = _figure(floors[row["who"]], line.figure) if line.figure == _CALLS else 1
        return _figure(row, line.figure, which) / beside

    value = figure(mine)
    ratio = value / figure(to) if to else None
    low, high = (_text(figure(mine, which), line.figure) for which in ("low", "high"))
    return [
        line.says if who == OURS else f"{line.says} {who}",
        f"{_COUNT}, Python {record['machine']['python']}" if line.figure == _COUNT else line.figure,
        f"{_text(value, line.figure)} ({low} to {high})",
        ", ".join(f"{name} {_text(figure(row), line.figure)}" for name, row in others.items()),
        "" if ratio is None else f"{ratio:.3g} times",
        *_verdict(line, ratio if line.over else value),
    ]


def _verdict(line: Line, reached: float | None) -> tuple[str, str]:
    if not line.sign:
        return "", ""
    text = f"{line.sign} {line.aim:g} times" if line.over else f"{line.sign} {_text(line.aim, line.figure)}"
    if reached is None:
        return text, ""
    return text, "met" if (reached <= line.aim if line.sign == "≤" else reached >= line.aim) else "missed"


def table(records: Mapping[str, Record]) -> str:
    """All that was measured, as Markdown whose columns stand under one another, and below it what is missing."""
    measured = [
        _cells(line, record) for line in LINES for record in records.values() if record["benchmark"] == line.benchmark
    ]
    rows = [_HEAD, *(cells for cells in measured if cells)]
    widths = [max(len(row[place]) for row in rows) for place in range(len(_HEAD))]
    rows.insert(1, ["-" * width for width in widths])
    lines = [" | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]
    missing = [
        f"\nNot measured in `{name}`: {who} ({why}).\n"
        for name, record in records.items()
        for who, why in record["missing"].items()
    ]
    return "".join([*(f"| {line} |\n" for line in lines), *missing])


def with_figures(page: str, folder: Path = ROWS) -> str:
    """The page with the table of the stored rows between its two marks."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    records = {path.stem: json.loads(path.read_text("utf-8")) for path in sorted(folder.glob("*.json"))}
    machine = next(iter(records.values()))["machine"]
    versions = {name: version for each in records.values() for name, version in each["versions"].items()}
    days = sorted({each["machine"]["day"] for each in records.values()})
    told = (
        f"{machine['cpu']}, {machine['cores']} cores, {machine['memory_gib']} GiB; {machine['os']}, "
        f"Python {machine['python']}, {', '.join(f'{name} {version}' for name, version in versions.items())}; "
        f"{', '.join(days)}.\n"
    )
    return f"{before}{BEGIN}{told}\n{table(records)}{END}{after}"
