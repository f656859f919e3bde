"""One notebook executed in a process of its own: papermill, then the notebook cleaned and written."""

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import nbformat

from workbench.lab.exercises import MUST_BE_DONE
from workbench.runner.pages import write_page
from workbench.runner.quiet import papermill
from workbench.runner.solving import solved
from workbench.visible import visible

_CELL_TIMEOUT_S = 600
_RUN_METADATA = ("papermill", "execution", "widgets")
_INJECTED = "injected-parameters"
_ERROR_TAG = "papermill-error-cell-tag"
_UNEXPLAINED = "CellExecutionError: "


class Task(NamedTuple):
    """A notebook to execute, where to write, and its parameters."""

    notebook: Path
    out: Path
    parameters: dict[str, object]
    solutions: bool = False
    """Whether each exercise is done by its solution, and its check must pass."""

    @property
    def name(self) -> str:
        """The file's name without its ending."""
        return self.notebook.stem


class Failure(NamedTuple):
    """The first cell that failed, counted from 1 as on the page, or 0 for the notebook itself."""

    notebook: str
    cell: int
    source: str
    error: str
    traceback: str

    def __str__(self) -> str:
        if not self.cell:
            return visible(f"  notebook {self.notebook}\n  {self.error}", lines=True)
        source = "\n".join(f"    {line}" for line in self.source.splitlines())
        return visible(f"  notebook {self.notebook}, cell {self.cell}:\n{source}\n  {self.error}", lines=True)


class Timing(NamedTuple):
    """A code cell's first line and how long it took."""

    cell: int
    line: str
    seconds: float
    ran: bool


class Result(NamedTuple):
    """The outcome of one notebook."""

    name: str
    seconds: float
    timings: tuple[Timing, ...]
    failure: Failure | None

    @property
    def passed(self) -> bool:
        """Whether every cell ran."""
        return self.failure is None

    @property
    def cells(self) -> int:
        """How many code cells ran."""
        return sum(each.ran for each in self.timings)


def execute(task: Task) -> Result:
    """Execute a notebook; a failure is in the result, never raised."""
    started = time.monotonic()
    written = task.out / task.notebook.name
    written.unlink(missing_ok=True)
    failure = _run(task, written)
    timings: tuple[Timing, ...] = ()
    if written.is_file():
        try:
            node = nbformat.read(written, as_version=4)
            timings = tuple(_timings(node))
            failure = failure and _placed(failure, node)
            nbformat.write(_cleaned(node), written)
            write_page(node, written.with_suffix(".html"))
        except Exception as error:  # noqa: BLE001  what was executed is no notebook: this one failed, the rest run
            failure = failure or _failed(task, error)
    return Result(task.name, time.monotonic() - started, timings, failure)


def _run(task: Task, written: Path) -> Failure | None:
    for last in (False, True):
        try:
            _execute(task, written)
        except papermill().PapermillExecutionError as error:
            trace = papermill().exceptions.strip_color("\n".join(error.traceback))
            return Failure(task.name, 0, error.source, f"{error.ename}: {error.evalue}", trace)
        except Exception as error:  # noqa: BLE001  a dead kernel, a file that is no notebook: this one failed, the rest run
            if last or not _died_at_its_start(error, written):
                return _failed(task, error)
        else:
            return None
    return None


def _execute(task: Task, written: Path) -> None:
    # A check that does not pass raises in a run with the solutions. Else it prints, as for a person.
    os.environ[MUST_BE_DONE] = "1" if task.solutions else "0"
    papermill().execute_notebook(
        solved(nbformat.read(task.notebook, as_version=4)) if task.solutions else str(task.notebook),
        str(written),
        parameters=task.parameters,
        kernel_name="python3",
        language="python",
        cwd=str(task.notebook.parent),
        progress_bar=False,
        # Saved after each cell: a kernel that dies leaves its outputs, and which cell it was at.
        request_save_on_cell_execute=True,
        execution_timeout=_CELL_TIMEOUT_S,
        extra_arguments=["--log-level=CRITICAL", "--IPKernelApp.extra_extensions=workbench.asserts"],
    )


def _failed(task: Task, error: Exception) -> Failure:
    """The notebook itself failed; only the first paragraph, as a library's message may fill a page."""
    message = str(error).strip().partition("\n\n")[0]
    return Failure(task.name, 0, "", f"{type(error).__name__}: {message}", "")


def _died_at_its_start(error: Exception, written: Path) -> bool:
    """Whether a kernel died before its first cell: two that start at once may choose one port."""
    if not isinstance(error, RuntimeError) or not written.is_file():
        return False
    cells = nbformat.read(written, as_version=4).cells
    return not any(each.metadata.get("papermill", {}).get("start_time") for each in cells)


def _own_cells(node: nbformat.NotebookNode) -> list[nbformat.NotebookNode]:
    """The cells of the user's own file, without those that papermill added."""
    return [cell for cell in node.cells if not {_INJECTED, _ERROR_TAG} & set(cell.metadata.get("tags", ()))]


def _placed(failure: Failure, node: nbformat.NotebookNode) -> Failure:
    """The failure with its cell: the one that raised, or the last that began when the kernel died."""
    began = [
        (bool(cell.metadata.papermill.exception), place, cell.source, _last_on_stderr(cell))
        for place, cell in enumerate(_own_cells(node), start=1)
        if cell.cell_type == "code" and cell.metadata.get("papermill", {}).get("start_time")
    ]
    if not began:
        return failure
    raised, place, source, message = max(began)
    # A magic that refuses has no error output; its message is on stderr.
    error = message if raised and message and failure.error.startswith(_UNEXPLAINED) else failure.error
    return failure._replace(cell=place, source=source, error=error)


def _last_on_stderr(cell: nbformat.NotebookNode) -> str:
    lines = [line for output in cell.outputs if output.get("name") == "stderr" for line in output.text.splitlines()]
    return lines[-1] if lines else ""


def _timings(node: nbformat.NotebookNode) -> Iterator[Timing]:
    for place, cell in enumerate(_own_cells(node), start=1):
        if cell.cell_type == "code":
            line = next(iter(cell.source.strip().splitlines()), "")
            seconds = cell.metadata.get("papermill", {}).get("duration") or 0.0
            yield Timing(place, line, seconds, cell.execution_count is not None)


def _cleaned(node: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """The notebook without what differs from run to run, so that two runs are one file to the byte."""
    for part in (node, *node.cells):
        for name in _RUN_METADATA:
            part.metadata.pop(name, None)
    node.metadata.get("language_info", {}).pop("version", None)
    for place, cell in enumerate(node.cells):
        if not cell.metadata.get("tags", True):
            del cell.metadata["tags"]  # papermill puts an empty list where there was none
        if _INJECTED in cell.metadata.get("tags", ()):
            cell["id"] = _INJECTED
        if _ERROR_TAG in cell.metadata.get("tags", ()):
            cell["id"] = f"error-{place}"
        if cell.cell_type == "code":
            cell["outputs"] = _coalesced(cell.outputs)
    return node


def _coalesced(outputs: list[nbformat.NotebookNode]) -> list[nbformat.NotebookNode]:
    """Neighbouring pieces of one stream as one: where they are cut differs from run to run."""
    whole: list[nbformat.NotebookNode] = []
    for output in outputs:
        last = whole[-1] if whole else None
        if last and output.output_type == "stream" == last.output_type and output.name == last.name:
            last["text"] += output.text
        else:
            whole.append(output)
    return whole
