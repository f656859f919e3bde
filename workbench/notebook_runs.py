"""Runs notebooks headlessly, in parallel, with parameters and solutions; writes pages and a report of failures."""

import os
import re
import signal
import textwrap
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from decimal import Decimal, InvalidOperation
from itertools import chain, groupby
from mimetypes import guess_type
from multiprocessing import active_children, get_context
from operator import itemgetter
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, Final, NamedTuple
from urllib.parse import unquote
from xml.etree import ElementTree as ET

from workbench.domain.masking import xml_text
from workbench.errors import RunRefused
from workbench.lab.exercises import EXERCISES, MUST_BE_DONE
from workbench.notebook_files import nbformat
from workbench.text.render import PERSONS, DisplayColumn, DisplayTable, data_url, offline_page, table
from workbench.visible import visible

_TRUTH = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
_READ: Mapping[str, Callable[[str], object]] = {
    "int": int, "float": float, "bool": lambda text: _TRUTH[text.lower()], "Decimal": lambda text: str(Decimal(text)),
}  # fmt: skip
"""Declared type → the function that parses a parameter's text; parameters of other types stay texts."""
_EXERCISE = "exercise"
_CHECK = re.compile(r'^exercises\.check\(\s*"(\w+)"', re.MULTILINE)
_CELL_TIMEOUT_S = 600
_RUN_METADATA = ("papermill", "execution", "widgets")
_INJECTED = "injected-parameters"
_ERROR_TAG = "papermill-error-cell-tag"
_MAY_RAISE = "raises-exception"
"""Jupyter's tag for a cell that may raise; papermill still runs the rest, and then reports the error."""
_UNEXPLAINED = "CellExecutionError: "


def _typed(notebooks: Sequence[Path], parameters: Mapping[str, str]) -> dict[Path, dict[str, object]]:
    """Notebook → the `parameters` that the notebook declares, as values of the declared types.

    Raises RunRefused: no notebook declares a name, or a text is not of the declared type.
    """
    declared = {path: _declared(path) if parameters else {} for path in notebooks}
    known = {name for names in declared.values() for name in names}
    if parameters and not known:
        names = ", ".join(path.name for path in notebooks)
        message = f"No cell of {names} is tagged parameters and assigns a name, so -p has nothing to set."
        raise RunRefused(message, hint="Tag the cell that assigns the parameters.")
    if unknown := sorted(set(parameters) - known):
        message = f"No notebook takes a parameter {', '.join(unknown)}; they take {', '.join(sorted(known))}."
        raise RunRefused(message, unknown=unknown)
    return {
        path: {name: _read(name, text, names[name]) for name, text in parameters.items() if name in names}
        for path, names in declared.items()
    }


def _declared(notebook: Path) -> dict[str, str]:
    """Name → type of the parameters in the cell tagged `parameters`, as papermill reads them."""
    from papermill.translators import PythonTranslator

    # A notebook or a cell that cannot be read, by whatever error, fails when it is run.
    with suppress(Exception):
        cells = nbformat.read(notebook, as_version=4).cells
        cell = next(cell for cell in cells if _has_tag(cell, "parameters"))
        return {parameter.name: parameter.inferred_type_name for parameter in PythonTranslator.inspect(cell)}
    return {}


def _read(name: str, text: str, kind: str) -> object:
    try:
        return _READ.get(kind, str)(text)
    except (ValueError, KeyError, InvalidOperation):
        raise RunRefused(f"The parameter {name} takes a value of type {kind}, not {text!r}.", name=name) from None


def solved(node: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """The notebook, changed in place: in each exercise's cell, the solution replaces the code above the check.

    An exercise's cell is tagged `exercise` and ends with `exercises.check("its_name", …)`.
    Raises RunRefused: no check at the beginning of a line, or the check of an unknown exercise.
    """
    codes = {exercise.name: exercise.solution for exercise in EXERCISES}
    for cell in node.cells:
        if _has_tag(cell, _EXERCISE):
            check = _CHECK.search(cell.source)
            if check is None or check[1] not in codes:
                named = f"of {check[1]!r}, which is no exercise" if check else "of no exercise"
                raise RunRefused(f"A cell tagged {_EXERCISE} has the check {named}:\n{cell.source}")
            cell["source"] = f"{codes[check[1]]}\n{cell.source[check.start() :]}"
    return node


class Task(NamedTuple):
    """A notebook to execute, where to write the result, and its parameters."""

    notebook: Path
    out: Path
    parameters: dict[str, object]
    solutions: bool
    """True if the solutions are inserted into the exercises; every check must then pass."""

    @property
    def name(self) -> str:
        """The file's name without its extension."""
        return self.notebook.stem


class CellFailure(NamedTuple):
    """The first cell that failed, counted from 1 as on the page; 0 if the notebook itself failed."""

    notebook: str
    cell: int
    source: str
    error: str
    traceback: str

    def __str__(self) -> str:
        if not self.cell:
            return visible(f"  notebook {self.notebook}\n  {self.error}", lines=True)
        source = textwrap.indent(self.source, "    ", lambda _: True)
        return visible(f"  notebook {self.notebook}, cell {self.cell}:\n{source}\n  {self.error}", lines=True)


class Timing(NamedTuple):
    """The first line of a code cell, and how many seconds the cell took."""

    cell: int
    line: str
    seconds: float
    ran: bool


class Result(NamedTuple):
    """The result of one notebook."""

    name: str
    seconds: float
    timings: tuple[Timing, ...]
    failure: CellFailure | None

    @property
    def passed(self) -> bool:
        """True if every cell ran."""
        return self.failure is None

    @property
    def outcome(self) -> str:
        """The result in one word."""
        return "ok" if self.passed else "FAILED"

    def __str__(self) -> str:
        ran = sum(timing.ran for timing in self.timings)
        summary = visible(f"{self.name}: {ran} cells in {self.seconds:.1f} s")
        return f"{self.outcome:<6}  {summary}" if self.passed else f"{self.outcome}  {summary}\n{self.failure}"


def execute(task: Task) -> Result:
    """Executes a notebook; a failure is in the result and never raised."""
    started = time.monotonic()
    written = task.out / task.notebook.name
    page = written.with_suffix(".html")
    for earlier in (written, page):
        earlier.unlink(missing_ok=True)
    failure = _run(task, written)
    timings: tuple[Timing, ...] = ()
    if written.is_file():
        try:
            node = nbformat.read(written, as_version=4)
            timings = tuple(_timings(node))
            failure = failure and _placed(failure, node)
            nbformat.write(_cleaned(node), written)
            write_notebook_page(node, page, folder=task.notebook.parent)
        except Exception as error:  # noqa: BLE001  what was executed is no notebook: this one failed, the rest run
            failure = failure or _failed(task, error)
    return Result(task.name, time.monotonic() - started, timings, failure)


def _run(task: Task, written: Path) -> CellFailure | None:
    """Executes a notebook into the file `written`; returns its failure, or None. `_placed` adds the cell to it."""
    from papermill import execute_notebook
    from papermill.exceptions import PapermillExecutionError, strip_color

    # A check that does not pass raises in a run with the solutions. Else it prints, as for a person.
    os.environ[MUST_BE_DONE] = "1" if task.solutions else "0"
    for may_repeat in (True, False):
        try:
            execute_notebook(
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
            break
        except PapermillExecutionError as error:
            trace = strip_color("\n".join(error.traceback))
            return CellFailure(task.name, 0, error.source, f"{error.ename}: {error.evalue}", trace)
        except Exception as error:  # noqa: BLE001  a dead kernel, a file that is no notebook: the rest run
            if not (may_repeat and _died_at_its_start(error, written)):
                return _failed(task, error)
    return None


def _failed(task: Task, error: Exception) -> CellFailure:
    """A failure of the notebook itself, with only the message's first paragraph, since some messages fill a page."""
    message = str(error).strip().partition("\n\n")[0]
    return CellFailure(task.name, 0, "", f"{type(error).__name__}: {message}", "")


def _died_at_its_start(error: Exception, written: Path) -> bool:
    """True if the kernel died before its first cell, as when two kernels that start at once choose the same port."""
    if not isinstance(error, RuntimeError) or not written.is_file():
        return False
    cells = nbformat.read(written, as_version=4).cells
    return not any(cell.metadata.get("papermill", {}).get("start_time") for cell in cells)


def _own_code(node: nbformat.NotebookNode) -> Iterator[tuple[int, nbformat.NotebookNode]]:
    """Yields (number, code cell); numbers count the cells of the user's file from 1, without papermill's own."""
    own = (cell for cell in node.cells if not _has_tag(cell, _INJECTED, _ERROR_TAG))
    return ((place, cell) for place, cell in enumerate(own, start=1) if cell.cell_type == "code")


def _has_tag(cell: nbformat.NotebookNode, *tags: str) -> bool:
    return not {*tags}.isdisjoint(cell.metadata.get("tags", ()))


def _placed(failure: CellFailure, node: nbformat.NotebookNode) -> CellFailure | None:
    """The failure with its cell: the one that raised, or the last one started when the kernel died.

    If only cells that may raise have raised, removes papermill's notes about the failure from `node` and returns None.
    """
    raising = [cell for _, cell in _own_code(node) if any(output.output_type == "error" for output in cell.outputs)]
    if failure.source and raising and all(_has_tag(cell, _MAY_RAISE) for cell in raising):
        node.cells = [cell for cell in node.cells if not _has_tag(cell, _ERROR_TAG)]
        return None
    began = [
        (bool(cell.metadata.papermill.exception), place, cell)
        for place, cell in _own_code(node)
        if cell.metadata.get("papermill", {}).get("start_time")
    ]
    if not began:
        return failure
    raised, place, cell = max(began, key=itemgetter(0, 1))
    # A magic that refuses has no error output; its message is on stderr.
    written = [line for output in cell.outputs if output.get("name") == "stderr" for line in output.text.splitlines()]
    error = written[-1] if raised and written and failure.error.startswith(_UNEXPLAINED) else failure.error
    return failure._replace(cell=place, source=cell.source, error=error)


def _timings(node: nbformat.NotebookNode) -> Iterator[Timing]:
    for place, cell in _own_code(node):
        line = next(iter(cell.source.strip().splitlines()), "")
        seconds = cell.metadata.get("papermill", {}).get("duration") or 0.0
        yield Timing(place, line, seconds, cell.execution_count is not None)


def _cleaned(node: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """The notebook, changed in place: without metadata that differs from run to run.

    Two runs then write the same bytes.
    """
    for part in (node, *node.cells):
        for name in _RUN_METADATA:
            part.metadata.pop(name, None)
    node.metadata.get("language_info", {}).pop("version", None)
    for place, cell in enumerate(node.cells):
        if not cell.metadata.get("tags", True):
            del cell.metadata["tags"]  # papermill puts an empty list where there was none
        if _has_tag(cell, _INJECTED):
            cell["id"] = _INJECTED
        if _has_tag(cell, _ERROR_TAG):
            cell["id"] = f"error-{place}"
        if cell.cell_type == "code":
            cell["outputs"] = _coalesced(cell.outputs)
    return node


def _coalesced(outputs: list[nbformat.NotebookNode]) -> list[nbformat.NotebookNode]:
    """Joins adjacent outputs of one stream, in place, since a stream is split at different points in each run."""
    whole: list[nbformat.NotebookNode] = []
    for output in outputs:
        if whole and output.output_type == "stream" and whole[-1].get("name") == output.name:
            whole[-1]["text"] += output.text
        else:
            whole.append(output)
    return whole


def write_junit(results: Sequence[Result], path: Path) -> None:
    """Writes results to `path` in JUnit's XML: a suite per notebook, a case per code cell, times in seconds."""
    root = ET.Element("testsuites", name="notebooks")
    root.extend(map(_suite, results))
    ET.indent(root)
    ET.ElementTree(root).write(path, encoding="utf-8", xml_declaration=True)


def _suite(result: Result) -> ET.Element:
    suite, failure = ET.Element("testsuite", name=result.name, time=f"{result.seconds:.3f}"), result.failure
    cases = {f"cell {timing.cell}: {timing.line}": timing for timing in result.timings}
    if failure and all(failure.cell != timing.cell for timing in result.timings):
        cases["notebook"] = Timing(failure.cell, "", result.seconds, ran=True)
    for name, timing in cases.items():
        case = ET.SubElement(
            suite, "testcase", classname=result.name, name=xml_text(name), time=f"{timing.seconds:.3f}"
        )
        if failure and failure.cell == timing.cell:
            element = ET.SubElement(case, "failure", message=xml_text(failure.error))
            element.text = xml_text(f"{failure}\n\n{failure.traceback}")
        elif not timing.ran:
            ET.SubElement(case, "skipped", message="a cell before it failed")
    suite.set("tests", str(len(suite)))
    suite.set("failures", str(len(suite.findall("testcase/failure"))))
    suite.set("skipped", str(len(suite.findall("testcase/skipped"))))
    return suite


def run_notebooks(
    notebooks: Sequence[Path], *, parameters: Mapping[str, str], out: Path, jobs: int, solutions: bool
) -> list[Result]:
    """Executes `notebooks`, `jobs` at a time; the results are in the order of the notebooks.

    Each executed notebook (`.ipynb`), its self-contained page (`.html`) and `junit.xml` are written to `out`.
    `parameters` has texts, which are converted to the types that the notebook's parameters cell declares. `solutions`
    inserts the solutions of exercises; a check that does not pass is then a failure.

    Raises RunRefused: a missing notebook, a parameter that no notebook declares, or a folder that cannot be written.
    """
    tasks = _tasks(notebooks, parameters, out, solutions=solutions)
    names = [task.name for task in tasks]
    try:
        out.mkdir(parents=True, exist_ok=True)
        # Better refused now than after the first notebook.
        with TemporaryFile(dir=out):
            pass
    except OSError as error:
        raise RunRefused(f"Nothing can be written to {out}: {error.strerror}.", hint="Name another --out.") from None
    results: list[Result] = []
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(stderr=True, highlight=False)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    try:
        with Progress(*columns, console=console, transient=True) as progress:
            bar = progress.add_task(_running(tasks, results, jobs), total=len(tasks))
            for result in _executed(tasks, jobs):
                results.append(result)
                progress.update(bar, advance=1, description=_running(tasks, results, jobs))
                # At a terminal the progress says it already.
                if not (result.passed and console.is_terminal):
                    console.print(str(result), markup=False, soft_wrap=True)
    finally:
        results.sort(key=lambda result: names.index(result.name))
        ended = {result.name for result in results}
        unfinished = [_not_run(name, "The run was interrupted before this notebook ended.") for name in names]
        write_junit([*results, *(result for result in unfinished if result.name not in ended)], out / "junit.xml")
    return results


def _not_run(name: str, why: str) -> Result:
    """The failure of a notebook none of whose cells is known to have run."""
    return Result(name, 0, (), CellFailure(name, 0, "", why, ""))


def _running(tasks: Sequence[Task], results: Sequence[Result], jobs: int) -> str:
    """The names of the running tasks for the progress line; tasks start in their order."""
    ended = {result.name for result in results}
    names = [task.name for task in tasks if task.name not in ended][:jobs]
    return f"Running {visible(', '.join(names))}" if names else "Writing junit.xml"


def run_summary(results: Sequence[Result], out: Path) -> tuple[DisplayTable, str]:
    """A table of notebooks with results, times and pages; and a line that counts passed and failed notebooks."""
    rows, passed = [], sum(result.passed for result in results)
    for result in results:
        page = out / f"{result.name}.html"
        rows.append((result.name, result.outcome, f"{result.seconds:.1f} s", str(page) if page.is_file() else "none"))
    overview = table("", ("Notebook", "Result", DisplayColumn("Time", numeric=True), "Page"), rows)
    return overview, f"{passed} passed, {len(results) - passed} failed; see {visible(str(out))}"


def _executed(tasks: list[Task], jobs: int) -> Iterator[Result]:
    pool = ProcessPoolExecutor(min(jobs, len(tasks)), mp_context=get_context("spawn"), initializer=_prepare_worker)
    running = {pool.submit(execute, task): task for task in tasks}
    try:
        for done in as_completed(running):
            try:
                result = done.result()
            except BrokenProcessPool:
                result = _not_run(running[done].name, "The process that ran it was killed.")
            yield result
    except KeyboardInterrupt:
        # A worker would first finish its notebook; its kernel ends with it.
        for worker in active_children():
            worker.terminate()
        raise RunRefused("Interrupted; finished notebooks were written.") from None
    finally:
        pool.shutdown(cancel_futures=True)


def _prepare_worker() -> None:
    """Sets the environment that the kernels inherit, and leaves Ctrl-C to the parent process, which ends the run."""
    os.environ["PYTHONHASHSEED"] = "0"  # hashes of strings decide the order of sets: two runs print the same
    for variable in PERSONS:  # set in a notebook that starts a run, and no person looks at the run
        os.environ.pop(variable, None)
    os.environ.pop("WORKBENCH_PROGRESS", None)  # a run neither reads nor changes somebody's progress
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _tasks(notebooks: Sequence[Path], parameters: Mapping[str, str], out: Path, *, solutions: bool) -> list[Task]:
    missing = [str(path) for path in notebooks if not path.is_file() or path.suffix != ".ipynb"]
    if missing or not notebooks:
        raise RunRefused(f"No notebook (.ipynb) is at {', '.join(missing) or 'any of these'}.", missing=missing)
    names = [path.stem for path in notebooks]
    if twice := {name for name in names if names.count(name) > 1}:
        raise RunRefused(f"Two notebooks are named {', '.join(sorted(twice))}: run them with two --out.")
    if any(path.resolve() == (out / path.name).resolve() for path in notebooks):
        raise RunRefused(f"{out} is the notebooks' own folder, and they are never overwritten: name another --out.")
    values = _typed(notebooks, parameters)
    return [Task(path.resolve(), out.resolve(), values[path], solutions) for path in notebooks]


HIDDEN: Final = "hide-input"
"""The tag of a code cell whose code is collapsed, on the page and in JupyterLab, as in Jupyter Book."""
_PARAMETERS: Final = ("parameters", "injected-parameters")
_PRIORITY: Final = ["text/html", "image/svg+xml", "image/png", "text/markdown", "text/plain"]
"""The media types of an output that a page shows, the preferred first; a widget is shown as its HTML or text."""
_NEXT: Final = re.compile(r'href="(?:\.\./|more/)?([\w-]+)\.ipynb(#[^"]*)?"')
"""A link to another notebook, whose page is next to this one."""
_IMAGE: Final = re.compile(r'(<img\b[^>]*? src=)"(?!\w+:)([^"]+)"')
_WRITTEN: Final = re.compile(r"(<pre\b[^>]*>)(.*?)(?=</pre>)", re.DOTALL)
_ALIGNED: Final = re.compile(r"\S {2,}[^\s#]|\t|[\u2500-\u257f]")
"""Matches a line of text in columns: it has a gap that is not before a comment, or a box-drawing line."""
_LONG: Final = re.compile(r"<td\b([^>]*>(?=[^<]*[^<\s]{20}))")
_DRAWN: Final = frozenset(
    ["svg", "title", "desc", "style", "rect", "circle", "line", "polyline", "polygon", "text", "g"]
)
_ACTS: Final = re.compile(r"\s(?:on\w+|[\w:]*href)=|url\(|@import", re.IGNORECASE)


def write_notebook_page(node: nbformat.NotebookNode, path: Path, *, folder: Path) -> None:
    """Writes a notebook's HTML page; embeds the image files below `folder` to which the notebook refers."""
    from jinja2 import PackageLoader
    from nbconvert import HTMLExporter
    from traitlets.config import Config

    exporter = HTMLExporter(
        config=Config(NbConvertBase={"display_data_priority": _PRIORITY}),
        extra_loaders=[PackageLoader("workbench")],
        template_file="notebook.html.j2",
        preprocessors=[_with_folds],
        filters={"only_drawn": _only_drawn, "unwrapped": unwrapped},
    )
    body, _ = exporter.from_notebook_node(node, resources={"metadata": {"name": path.stem}})
    # An empty heading, as in the corner of a DataFrame, becomes a plain cell.
    body = body.replace("<th></th>", "<td></td>")
    body = _IMAGE.sub(lambda match: f'{match[1]}"{_embedded(folder, match[2])}"', body)
    body = _NEXT.sub(r'href="\1.html\2"', body)
    title = node.metadata.get("title", path.stem)
    # The outputs of cells may need scripts of their own, and pictures from elsewhere.
    path.write_text(offline_page(title, "Notebook", body, sheets=["notebook.css"], is_bound=False), "utf-8")


def _embedded(folder: Path, source: str) -> str:
    """The `src` of an image in HTML: a data URL if `source` is a file below `folder`, else `source` unchanged."""
    # nbconvert could embed images too, but would write the HTML anew, with every tag closed.
    file, kind = folder / unquote(source), guess_type(source)[0] or ""
    if not kind.startswith("image/") or not file.is_file():
        return source
    return data_url(file.read_bytes(), kind)


def _only_drawn(svg: str) -> bool:
    """True if an SVG is the workbench's own, which suits light and dark pages: only shapes and text, no scripts."""
    return 'class="wb-drawn"' in svg and {*re.findall(r"<(\w+)", svg)} <= _DRAWN and not _ACTS.search(svg)


def unwrapped(html: str) -> str:
    """The HTML of a cell's output, marked for CSS: lines in columns as `aligned`, long cells as `data-long`."""
    marked = _WRITTEN.sub(lambda match: f"{match[1]}{_marked(match[2])}", html)
    return _LONG.sub(r"<td data-long\1", marked)


def _marked(text: str) -> str:
    # Colours may begin in one line and end in another.
    lines = [text] if "<" in text else text.splitlines(keepends=True)
    runs = ((is_aligned, "".join(run)) for is_aligned, run in groupby(lines, lambda line: bool(_ALIGNED.search(line))))
    return "".join(f'<span class="aligned">{run}</span>' if is_aligned else run for is_aligned, run in runs)


def _with_folds(node: nbformat.NotebookNode, resources: dict[str, Any]) -> tuple[nbformat.NotebookNode, dict[str, Any]]:
    """Marks cells with collapsed code in their metadata: `fold` is the caption, `failed` is True if the cell raised."""
    is_setup = False
    for cell in node.cells:
        tags = cell.metadata.get("tags", ())
        # Set-up: the cell with the parameters, and the code directly below it.
        is_setup = cell.cell_type == "code" and (is_setup or not {*_PARAMETERS}.isdisjoint(tags))
        if cell.cell_type == "code" and (is_setup or HIDDEN in tags):
            cell.metadata["fold"] = _summary(cell, tags, is_setup=is_setup)
            cell.metadata["failed"] = any(output.output_type == "error" for output in cell.outputs)
    return node, resources


def _summary(cell: nbformat.NotebookNode, tags: list[str], *, is_setup: bool) -> str:
    first = next(iter(cell.source.strip().splitlines()), "")
    if first.startswith("# "):
        return first.removeprefix("# ")
    if is_setup:
        return "Set-up" if {*_PARAMETERS}.isdisjoint(tags) else "Parameters"
    shown = {*chain.from_iterable(output.get("data", ()) for output in cell.outputs)}
    is_plot = any(media_type.startswith("image/") for media_type in shown)
    return "Code of the plot" if is_plot else "Checks for automated runs"
