"""`workbench run` on notebooks with exercises, on notebooks that are none, and on a kernel that dies at its start."""

import json
import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook

from workbench import resources

LIMIT_S = 120
SHIPPED = "01_create_an_intent"
SETUP = "from decimal import Decimal\nfrom workbench import Workbench, exercises\nbench = Workbench(seed=7)"
BLANK = '# Your code goes here.\n\nexercises.check("exact_amount", bench)'


class Run(NamedTuple):
    """One `workbench run`: how it ended, what it said, what it wrote."""

    status: int
    said: str
    out: Path

    def printed(self, name: str, tag: str = "exercise") -> str:
        """What the cells with this tag print."""
        cells = nbformat.read(self.out / f"{name}.ipynb", as_version=4).cells
        tagged = [cell for cell in cells if tag in cell.metadata.get("tags", ())]
        return "".join(output.get("text", "") for cell in tagged for output in cell.outputs)


@pytest.fixture(scope="module")
def run(command: str) -> Callable[..., Run]:
    def start(out: Path, *arguments: str | Path, **variables: str) -> Run:
        done = subprocess.run(  # noqa: S603  our own command
            [command, "run", *map(str, arguments), "--out", str(out)],
            capture_output=True, text=True, check=False, timeout=LIMIT_S, env={**os.environ, **variables},
        )  # fmt: skip
        return Run(done.returncode, done.stdout + done.stderr, out)

    return start


def write(folder: Path, name: str, setup: str, exercise: str) -> Path:
    """A notebook of two cells, the second an exercise's."""
    cells = [new_code_cell(setup, id="setup"), new_code_cell(exercise, id="task", metadata={"tags": ["exercise"]})]
    path = folder / f"{name}.ipynb"
    nbformat.write(new_notebook(cells=cells), path)
    return path


@pytest.fixture(scope="module")
def notebooks(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """A shipped notebook, and others each named for what its exercise is."""
    folder = tmp_path_factory.mktemp("exercises")
    shipped = next(each for each in resources.notebooks() if each.stem == SHIPPED)
    return [
        shipped,
        write(folder, "elsewhere", f"{SETUP}\npay = Workbench(seed=8).client", BLANK),
        write(folder, "unknown", SETUP, BLANK.replace("exact_amount", "no_such")),
        write(folder, "unchecked", SETUP, "# Your code goes here."),
    ]


def document(**changes: object) -> dict[str, Any]:
    """A notebook as JSON, and what is wrong with its one cell."""
    cell = {"cell_type": "code", "id": "a", "metadata": {}, "source": "1", "outputs": [], "execution_count": None}
    changed = {name: value for name, value in {**cell, **changes}.items() if value is not ...}
    return {"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [changed]}


NO_NOTEBOOKS = {
    "bad_id": document(id="a b c"),
    "no_source": document(source=...),
    "no_cells": {"nbformat": 4, "nbformat_minor": 5, "metadata": {}},
}


@pytest.fixture(scope="module")
def blank(run: Callable[..., Run], notebooks: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Run:
    """The first two, among files that are no notebooks; a person's own progress is told to the run, and not for it."""
    folder = tmp_path_factory.mktemp("invalid")
    for name, fault in NO_NOTEBOOKS.items():
        (folder / f"{name}.ipynb").write_text(json.dumps(fault))
    others = [folder / f"{name}.ipynb" for name in NO_NOTEBOOKS]
    kept = tmp_path_factory.mktemp("kept") / "progress.json"
    done = run(
        tmp_path_factory.mktemp("blank"), *notebooks[:2], *others, WORKBENCH_PROGRESS=str(kept), JPY_SESSION_NAME="x"
    )
    assert list(kept.parent.iterdir()) == []
    return done


class TestBlank:
    def test_what_is_not_done_is_no_error(self, blank: Run):
        assert "ok      elsewhere" in blank.said
        assert blank.printed("elsewhere").startswith("Not done yet: No intent with the description Orchid")

    def test_a_shipped_notebook_is_committed_as_it_is_written(self, blank: Run, notebooks: list[Path]):
        assert (blank.out / notebooks[0].name).read_bytes() == notebooks[0].read_bytes()

    def test_no_progress_is_kept_beside_the_notebooks(self, blank: Run, notebooks: list[Path]):
        assert "ok      elsewhere" in blank.said
        assert not (notebooks[1].parent / ".workbench").exists()

    def test_a_crash_names_the_line_of_the_cell(self, run: Callable[..., Run], tmp_path: Path):
        crash = (
            "def charge_surely(client, order):\n    price = order['amount']\n    return price / 0\n\n"
            'exercises.check("charge_surely", bench, charge_surely)'
        )
        done = run(tmp_path / "out", write(tmp_path, "crash", SETUP, crash))
        said = " ".join(done.printed("crash").split())
        assert "ZeroDivisionError: division by zero, in line 3 of charge_surely: return price / 0 exercises" in said


class TestNoNotebook:
    @pytest.mark.parametrize("name", NO_NOTEBOOKS)
    def test_it_is_a_failed_result_that_names_it(self, blank: Run, name: str):
        assert f"FAILED  {name}: " in blank.said
        assert f"  notebook {name}\n" in blank.said

    def test_the_rest_runs_and_no_traceback_is_shown(self, blank: Run):
        assert "2 passed, 3 failed" in blank.said
        assert "Traceback" not in blank.said


@pytest.fixture(scope="module")
def solved(run: Callable[..., Run], notebooks: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Run:
    return run(tmp_path_factory.mktemp("solved"), *notebooks, "--solutions")


class TestSolutions:
    def test_a_shipped_notebook_says_that_each_exercise_is_done(self, solved: Run):
        assert f"ok      {SHIPPED}" in solved.said
        assert re.findall(r"^[A-Z][a-z ]+(?=: )", solved.printed(SHIPPED), re.MULTILINE) == ["Done"]

    def test_the_notebook_that_is_written_holds_the_solution(self, solved: Run):
        assert 'Decimal("87.35")' in (solved.out / f"{SHIPPED}.ipynb").read_text().replace("\\", "")

    @pytest.mark.parametrize(
        ("name", "words"),
        [
            (
                "elsewhere",
                "ExerciseNotDone: The exercise exact_amount is not done: No intent with",
            ),
            ("unknown", "RunRefused: A cell tagged exercise has the check of 'no_such', which is no exercise"),
            ("unchecked", "RunRefused: A cell tagged exercise has the check of no exercise"),
        ],
    )
    def test_an_exercise_that_is_not_done_fails_its_notebook(self, solved: Run, name: str, words: str):
        assert solved.status == 1
        assert f"notebook {name}" in solved.said
        assert words in solved.said
        assert "Traceback" not in solved.said


DIES = """
import os, pathlib, sys
died = pathlib.Path({folder!r})
if "ipykernel_launcher" in sys.orig_argv and len(list(died.iterdir())) < 3:
    (died / str(os.getpid())).touch()
    os._exit(1)
"""
"""A `sitecustomize` that ends three kernels at their start, as when two that start at once choose one port."""


@pytest.mark.thorough
def test_a_kernel_that_dies_at_its_start_is_started_once_more(run: Callable[..., Run], tmp_path: Path):
    died = tmp_path / "died"
    died.mkdir()
    (tmp_path / "sitecustomize.py").write_text(DIES.format(folder=str(died)))
    for name in ("twice", "once"):
        nbformat.write(new_notebook(cells=[new_code_cell("print('here')")]), tmp_path / f"{name}.ipynb")
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    both = (tmp_path / "twice.ipynb", tmp_path / "once.ipynb")
    done = run(tmp_path / "out", *both, "--jobs", "1", PYTHONPATH=path)
    assert len(list(died.iterdir())) == 3
    assert "notebook twice\n  RuntimeError: Kernel died" in done.said
    assert "ok      once: 1 cells" in done.said
