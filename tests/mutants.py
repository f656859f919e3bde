"""Mutants of the package: small mistakes, each with the tests that must notice it, made one at a time in a copy.

python -m tests.mutants [--only TEXT …] [--folder FOLDER …] [--jobs N]

The table is `mutants.toml`. The copy is thrown away; this checkout stays as it is.
"""

import argparse
import compileall
import os
import queue
import shutil
import signal
import subprocess
import sys
import tempfile
import tomllib
from collections import Counter
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).resolve().parents[1]
TABLE: Final = Path(__file__).with_suffix(".toml")
_COPIED = ("workbench", "tests", "notebooks", "fixtures", "README.md", "pyproject.toml")
_PYTEST = ("-m", "pytest", "-p", "no:nbval", "-p", "no:schemathesis", "-p", "no:cacheprovider", "-o",
           "addopts=--import-mode=importlib", "-q", "-n", "0", "--thorough")  # fmt: skip
_LIMIT_S = 60
"""A mutant may never come to an end. A test named in the table takes a few seconds."""
_LIMIT_OF_ALL_S = 900
"""Of the tests of all rows, which are run once as the package is."""
KILLED, SURVIVED, UNTRIED = "killed", "SURVIVED", "NOT TRIED"
_OUTCOMES = {0: SURVIVED, 1: KILLED, None: f"{KILLED} (it did not end)"}
"""pytest's exit status, None if it was stopped → the outcome; by any other status no test has run to its end."""


class Mutant(NamedTuple):
    """One row of the table: a mistake in one place of one file, and the tests that fail by it."""

    file: str
    """Below the package."""
    was: str
    """Source text that stands in the file once."""
    becomes: str
    hurts: str
    """What a user would meet, in words."""
    tests: list[str]
    """Node ids below `tests/`, or files."""

    @property
    def folder(self) -> str:
        """Where the file stands below the package; `.` for the package itself."""
        return Path(self.file).parent.as_posix()

    def applied(self, source: str) -> str:
        """The source with the mistake. Raises ValueError: its text is not there, or more than once."""
        if (times := source.count(self.was)) != 1:
            raise ValueError(f"{self.file} has {self.was!r} {times} times; it must be there once.")
        return source.replace(self.was, self.becomes)


def table(path: Path = TABLE) -> list[Mutant]:
    """The rows of a table."""
    return [Mutant(**row) for row in tomllib.loads(path.read_text("utf-8"))["mutant"]]


class Copy:
    """The package and its tests in a folder of their own."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.printed = ""
        """What pytest has said last."""
        for name in _COPIED:
            (shutil.copytree if (ROOT / name).is_dir() else shutil.copy2)(ROOT / name, folder / name)
        compileall.compile_dir(folder / "workbench", quiet=2)

    def tested(self, tests: Iterable[str], *options: str, limit_s: int = _LIMIT_S) -> int | None:
        """The exit status of pytest over these tests; None if it had to be stopped."""
        # What is compiled of a mutant would be taken for the original again: both may be of one size and second.
        own = {"PYTHONPATH": str(self._folder), "PYTHONDONTWRITEBYTECODE": "1"}
        process = subprocess.Popen(  # noqa: S603  this interpreter, and tests of the table
            [sys.executable, *_PYTEST, *options, *(f"tests/{each}" for each in tests)],
            cwd=self._folder, env={**os.environ, **own}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            start_new_session=True,
        )  # fmt: skip
        with process:
            try:
                self.printed = process.communicate(timeout=limit_s)[0]
            except subprocess.TimeoutExpired:
                # With whatever its tests have started.
                os.killpg(process.pid, signal.SIGKILL)
                return None
        return process.returncode

    def outcome(self, mutant: Mutant) -> str:
        """What became of a mutant; the copy is as it was again."""
        path = self._folder / "workbench" / mutant.file
        original = path.read_text("utf-8")
        try:
            path.write_text(mutant.applied(original), "utf-8")
            return _OUTCOMES.get(self.tested(mutant.tests, "-x"), UNTRIED)
        finally:
            shutil.copy2(ROOT / "workbench" / mutant.file, path)


def chosen(rows: Iterable[Mutant], texts: Sequence[str], folders: Sequence[str]) -> list[Mutant]:
    """The rows that hold one of the texts anywhere, in one of the folders or below it; all where none is named."""
    return [
        row
        for row in rows
        if (not texts or any(text in "\n".join([*row[:4], *row.tests]) for text in texts))
        and (not folders or any(row.folder == each or row.folder.startswith(f"{each}/") for each in folders))
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    """Try the rows that are asked for; 1 if a mutant survives, 2 if the tests fail without any."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", default=[], metavar="TEXT", help="rows that hold one of these texts")
    parser.add_argument("--folder", nargs="+", default=[], help="rows of these folders of the package; . is its top")
    parser.add_argument("--jobs", type=int, default=1, help="how many are tried side by side, each in a copy")
    parser.add_argument("--table", type=Path, default=TABLE, help="another table")
    asked = parser.parse_args(arguments)
    rows = chosen(table(asked.table), asked.only, [each.strip("/") for each in asked.folder])
    if not rows:
        parser.error("no mutant of the table is asked for")
    with tempfile.TemporaryDirectory() as own:
        copies: queue.SimpleQueue[Copy] = queue.SimpleQueue()
        for number in range(asked.jobs):
            folder = Path(own, str(number))
            folder.mkdir()
            copies.put(Copy(folder))
        first = copies.get()
        if first.tested(sorted({test for row in rows for test in row.tests}), limit_s=_LIMIT_OF_ALL_S) != 0:
            print(first.printed, "The tests fail without a mutant.", sep="\n", file=sys.stderr)  # noqa: T201  why nothing is tried
            return 2
        copies.put(first)

        def tried(row: Mutant) -> str:
            copy = copies.get()
            try:
                return copy.outcome(row)
            finally:
                copies.put(copy)

        outcomes: Counter[str] = Counter()
        with ThreadPoolExecutor(asked.jobs) as pool:
            for row, outcome in zip(rows, pool.map(tried, rows), strict=True):
                outcomes[outcome] += 1
                line = f"{outcome}  {row.file}: {row.was.strip()} → {row.becomes.strip()}"
                print(line, flush=True)  # noqa: T201  how far it is
    print(", ".join(f"{count} {outcome}" for outcome, count in outcomes.items()))  # noqa: T201  its answer
    return int(any(each in outcomes for each in (SURVIVED, UNTRIED)))


if __name__ == "__main__":
    sys.exit(main())
