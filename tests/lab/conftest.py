import linecache
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from workbench import Workbench
from workbench.lab.exercises import FILE_VARIABLE, MUST_BE_DONE
from workbench.text.render import PERSONS


@pytest.fixture(autouse=True)
def _nobody_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run without anybody, whose exercises may be left undone and which keeps no progress."""
    for name in (*PERSONS, FILE_VARIABLE, MUST_BE_DONE):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def bench() -> Iterator[Workbench]:
    """A sandbox in this process for one test; a file that is tried through both doors, or is slow, has its own."""
    with Workbench(seed=7) as bench:
        yield bench


@pytest.fixture
def said(capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Calls a function with these arguments, and returns on one line what it prints."""

    def said(call: Callable[..., object], *given: object) -> str:
        capsys.readouterr()
        call(*given)
        return " ".join(capsys.readouterr().out.split())

    return said


@pytest.fixture
def run_cell(said: Callable[..., str]) -> Callable[[str, dict[str, Any]], str]:
    """Runs a cell as a kernel does, under a name by which its lines are found, and returns what it prints."""

    def run_cell(source: str, names: dict[str, Any]) -> str:
        cell = "a cell"
        linecache.cache[cell] = (len(source), None, source.splitlines(keepends=True), cell)
        return said(lambda: exec(compile(source, cell, "exec"), names))  # noqa: S102  our own lines

    return run_cell
