"""Notebooks run headlessly: in parallel, with parameters, and with a report that names what failed."""

import os
import signal
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryFile

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from workbench.errors import RunRefused
from workbench.runner.execution import Failure, Result, Task, execute
from workbench.runner.junit import write_junit
from workbench.runner.parameters import typed
from workbench.visible import visible

__all__ = ["Result", "run"]

_SUMMARY = "{0.name}: {0.cells} cells in {0.seconds:.1f} s"


def run(
    notebooks: Sequence[Path],
    *,
    parameters: Mapping[str, str] | None = None,
    out: Path = Path("executed"),
    jobs: int = 2,
    solutions: bool = False,
) -> list[Result]:
    """Execute `notebooks`, `jobs` at a time; the results are in the order of the notebooks.

    `out` receives each executed notebook (`.ipynb`), its self-contained page (`.html`), and `junit.xml`.
    `parameters` are texts; each becomes the type that the notebook's parameters cell declares. `solutions` does the
    exercises; a check that does not pass then fails.
    Raises RunRefused: a missing notebook, a parameter that no notebook takes, or no folder to write to.
    """
    tasks = [each._replace(solutions=solutions) for each in _tasks(notebooks, parameters or {}, out)]
    names = [task.name for task in tasks]
    _make(out)
    results: list[Result] = []
    console = Console(stderr=True, highlight=False)
    try:
        with _progress(console) as progress:
            bar = progress.add_task("notebooks", total=len(tasks))
            for result in _executed(tasks, jobs):
                results.append(result)
                progress.advance(bar)
                _report(console, result)
    finally:
        results.sort(key=lambda each: names.index(each.name))
        write_junit(results, out / "junit.xml")
    failed = sum(not each.passed for each in results)
    console.print(f"{len(results) - failed} passed, {failed} failed; see {visible(str(out))}", markup=False)
    return results


def _executed(tasks: list[Task], jobs: int) -> Iterator[Result]:
    pool = ProcessPoolExecutor(min(jobs, len(tasks)), mp_context=get_context("spawn"), initializer=_prepare_worker)
    running = {pool.submit(execute, task): task for task in tasks}
    try:
        for done in as_completed(running):
            try:
                result = done.result()
            except BrokenProcessPool:
                name = running[done].name
                result = Result(name, 0, (), Failure(name, 0, "", "The process that ran it was killed.", ""))
            yield result
    except KeyboardInterrupt:
        raise RunRefused("Interrupted; what had ended is written.") from None
    finally:
        pool.shutdown(cancel_futures=True)


def _prepare_worker() -> None:
    """Set what the kernels inherit, and leave Ctrl-C to the parent, which ends the run."""
    os.environ["PYTHONHASHSEED"] = "0"  # hashes of strings decide the order of sets: two runs print the same
    os.environ.pop("JPY_SESSION_NAME", None)  # set in a notebook that starts a run, and no person looks at the run
    os.environ.pop("WORKBENCH_PROGRESS", None)  # a run neither reads nor changes somebody's progress
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _tasks(notebooks: Sequence[Path], parameters: Mapping[str, str], out: Path) -> list[Task]:
    missing = [str(each) for each in notebooks if not each.is_file() or each.suffix != ".ipynb"]
    if missing or not notebooks:
        raise RunRefused(f"No notebook (.ipynb) is at {', '.join(missing) or 'any of these'}.", missing=missing)
    names = [each.stem for each in notebooks]
    if twice := {each for each in names if names.count(each) > 1}:
        raise RunRefused(f"Two notebooks are named {', '.join(sorted(twice))}: run them with two --out.")
    if any(each.resolve() == (out / each.name).resolve() for each in notebooks):
        raise RunRefused(f"{out} holds the notebooks themselves, which are never written over: name another --out.")
    values = typed(notebooks, parameters)
    return [Task(each.resolve(), out.resolve(), values[each]) for each in notebooks]


def _make(out: Path) -> None:
    """Make the folder, and try to write in it: better refused now than after the first notebook."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=out):
            pass
    except OSError as error:
        raise RunRefused(f"Nothing can be written to {out}: {error.strerror}.", hint="Name another --out.") from None


def _progress(console: Console) -> Progress:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    return Progress(*columns, console=console, transient=True)


def _report(console: Console, result: Result) -> None:
    if result.failure is None:
        console.print(f"ok      {visible(_SUMMARY.format(result))}", markup=False)
    else:
        console.print(f"FAILED  {visible(_SUMMARY.format(result))}\n{result.failure}", markup=False, soft_wrap=True)
