"""What the workbench costs, beside floors and other people's programs: measures, prints a table, writes raw rows.

python -m tests.benchmarks [NAME…]
python -m tests.benchmarks --instructions
"""

import argparse
import json
import platform
import shlex
import signal
import sys
import tempfile
import time
from pathlib import Path

from tests.benchmarks import in_process, instructions, reconciling, served, table
from tests.benchmarks.measuring import Results, Size

BENCHMARKS = {
    "calls": in_process.calls,
    "instructions": instructions.instructions,
    "opening": in_process.opening,
    "press": in_process.press,
    "simulate": in_process.simulate,
    "growth": in_process.growth,
    "served": served.served,
    "webhooks": served.webhooks,
    "reconcile": reconciling.reconciling,
    "reconcile_many": reconciling.reconciling_many,
    "files": reconciling.files,
    "notebooks": in_process.notebooks,
}
ROUNDS = 3
"""So often are instructions counted before they count as grown: another thread's work can only add to a count."""
USUAL = Size()
TINY = Size(1, 2, 20, 20, (10_000,), 0.05, ("intents_and_keys",), large_rows=(10_000,))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"{', '.join(BENCHMARKS)}; all unless named")
    parser.add_argument("--rounds", type=int, default=USUAL.rounds, help="how often each is measured, in turn")
    parser.add_argument("--payments", type=int, default=USUAL.payments, help="how large a store `growth` fills")
    parser.add_argument("--rows", type=int, nargs="+", default=USUAL.rows, help="the sizes that `reconcile` compares")
    parser.add_argument("--peers", type=Path, help="keep other people's programs in this folder")
    parser.add_argument("--no-peers", action="store_true", help="leave out what is fetched")
    parser.add_argument("--tiny", action="store_true", help="as little as possible, without peers: does it run?")
    parser.add_argument("--out", type=Path, default=table.ROWS, help="the folder for the raw rows")
    parser.add_argument(
        "--instructions", action="store_true", help="count instructions once, write nothing, fail where they have grown"
    )
    parser.add_argument("--page", action="store_true", help="measure nothing; write the stored rows into the page")
    asked = parser.parse_args()
    if unknown := {*asked.names} - {*BENCHMARKS}:
        parser.error(f"no benchmark is named {', '.join(sorted(unknown))}")
    if asked.page:
        table.PAGE.write_text(table.with_figures(table.PAGE.read_text("utf-8")), "utf-8")
        return
    if asked.instructions:
        sys.exit(_grown(asked.out))
    # Asked to end, it ends what it has started.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("terminated"))
    with tempfile.TemporaryDirectory() as own:
        peers = None if asked.no_peers else (asked.peers or Path(own)).resolve()
        given = Size(rounds=asked.rounds, payments=asked.payments, rows=tuple(asked.rows), peers=peers)
        measure(asked.names or [*BENCHMARKS], TINY if asked.tiny else given, asked.out)


def _file_of(name: str) -> str:
    """The file of a benchmark's raw rows; instructions differ by the version of Python, and each has a file."""
    return f"{name}_{'.'.join(platform.python_version_tuple()[:2])}.json" if name == "instructions" else f"{name}.json"


def _grown(stored: Path) -> str | None:
    """Print the instructions that are counted now; what to fail with, where a ratio has grown over the stored one."""
    results, kept = Results(), stored / _file_of("instructions")
    grown: list[str] = []
    for _ in range(ROUNDS):
        instructions.instructions(USUAL._replace(rounds=1), results)
        measured = results.as_record("instructions", "")
        comparable = not results.missing and kept.exists()
        grown = instructions.grown(measured, json.loads(kept.read_text("utf-8"))) if comparable else []
        if not grown:
            break
    print(table.table({"instructions": measured}), end="")  # noqa: T201  its answer
    if not comparable:
        print("Nothing to compare: no valgrind here, or no stored rows of this Python.")  # noqa: T201  its answer
    return "\n".join(grown) or None


def measure(names: list[str], size: Size, out: Path) -> None:
    """Run these benchmarks one after another, write the rows of each, and print their table."""
    out.mkdir(parents=True, exist_ok=True)
    # The command as it was given, but for folders of this machine.
    told = [each for each in sys.argv[1:] if "/" not in each and each not in {"--peers", "--out"}]
    command, records = shlex.join(["python", "-m", "tests.benchmarks", *told]), {}
    for name in names:
        began, results = time.monotonic(), Results()
        BENCHMARKS[name](size, results)
        records[name] = results.as_record(name, command)
        text = json.dumps(records[name], ensure_ascii=False).replace('{"work"', '\n {"work"')
        (out / _file_of(name)).write_text(f"{text}\n", "utf-8")
        print(f"{name}: {time.monotonic() - began:.0f} s", file=sys.stderr)  # noqa: T201  how far it is
    print(table.table(records), end="")  # noqa: T201  its answer


if __name__ == "__main__":
    main()
