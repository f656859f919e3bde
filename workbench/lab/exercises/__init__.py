"""Exercises in the notebooks: questions before a run, tasks, hints, and checks of a learner's work."""

import json
import linecache
import os
import sys
import tomllib
from functools import cache
from pathlib import Path
from textwrap import fill

from workbench.errors import ExerciseNotDone
from workbench.lab.exercises import on_books, on_payments
from workbench.lab.exercises.judging import Cell, Exercise, verdict_on
from workbench.lab.exercises.predictions import compare, predict
from workbench.lab.exercises.verdicts import WIDTH, State, brief, tell
from workbench.resources import course, write_whole
from workbench.text.render import DisplayTable, is_live, table

__all__ = ["MUST_BE_DONE", "check", "compare", "hint", "predict", "report", "solution"]

MUST_BE_DONE = "WORKBENCH_EXERCISES_MUST_BE_DONE"
"""The environment variable that, if 1, makes the check of an undone exercise raise ExerciseNotDone."""
_hints_shown: dict[str, int] = {}
_STATES = {State.NOT_YET: "not begun", State.WRONG: "… tried", State.DONE: "✓ done"}

_ROWS = tomllib.loads(Path(__file__).with_name("exercises.toml").read_text("utf-8"))
_CHECKS = {**vars(on_payments), **vars(on_books)}
EXERCISES = tuple(
    Exercise(name, slug, check=_CHECKS[f"_{name}"], **row)
    for slug in course()
    for name, row in _ROWS.get(slug, {}).items()
)
"""The exercises in the order of the notebooks."""


def check(name: str, *arguments: object) -> None:
    """Prints whether an exercise is done; if not, what is missing and why.

    `arguments` are those in the exercise's cell: usually the bench, whose records the check examines, and sometimes
    an answer. An answer of `...` or None counts as not given yet.
    """
    exercise = _named(name)
    if exercise is None:
        _raise_where_it_must_be_done(f"There is no exercise {name!r}.")
        return
    file = sys._getframe(1).f_code.co_filename  # noqa: SLF001  where it was called
    cell = Cell("".join(linecache.getlines(file)))
    verdict = verdict_on(exercise, arguments, cell)
    progress().note(exercise.name, verdict.state)
    lines = [f"{verdict.state.heading}: {verdict.says}"]
    # An unchanged cell has nothing to show yet.
    if verdict.seen and not (verdict.state is State.NOT_YET and cell.is_as_in(exercise.written.cell)):
        lines += [f"  seen: {brief(verdict.seen)}", f"  expected: {verdict.expected}"]
    if line := cell.line_with(verdict.at):
        lines.append(f"  {line}")
    if verdict.state is not State.DONE:
        helps = "solution" if _hints_shown.get(exercise.name, 0) > len(exercise.hints) else "hint"
        lines.append(f'exercises.{helps}("{exercise.name}") helps.')
    tell(*lines, state=verdict.state)
    if verdict.state is not State.DONE:
        _raise_where_it_must_be_done(f"The exercise {exercise.name} is not done: {verdict.says}")


def hint(name: str) -> None:
    """Print one more hint with each call; the call after the last hint names the solution."""
    exercise = _named(name)
    if exercise is None:
        return
    number = _hints_shown[exercise.name] = min(_hints_shown.get(exercise.name, 0) + 1, len(exercise.hints) + 1)
    tell(f"The task: {exercise.written.task}")
    for place, text in enumerate(exercise.hints[:number], 1):
        tell(f"Hint {place} of {len(exercise.hints)}: {text}")
    if number > len(exercise.hints):
        tell(f'These are all. exercises.solution("{exercise.name}") shows the code.')


def solution(name: str) -> None:
    """Prints code that solves the exercise and needs nothing else. Paste the code above the check and run the cell."""
    exercise = _named(name)
    if exercise is not None:
        print(fill(f"# {exercise.written.task}", WIDTH, subsequent_indent="# "), exercise.solution, sep="\n")  # noqa: T201  for a cell


def report() -> DisplayTable:
    """Every exercise in the order of the notebooks, with its state: not begun, tried, or done."""
    states = progress().states()
    rows = [
        (course()[exercise.notebook].name, exercise.written.title, exercise.name,
         _STATES[states.get(exercise.name, State.NOT_YET)]) for exercise in EXERCISES
    ]  # fmt: skip
    done = sum(row[-1] == _STATES[State.DONE] for row in rows)
    return table(f"Exercises: {done} of {len(rows)} done", ("notebook", "exercise", "its name", "how far"), rows)


def _named(name: str) -> Exercise | None:
    """The exercise with this name; for an unknown name, prints the known ones and returns None."""
    exercise = next((exercise for exercise in EXERCISES if exercise.name == name), None)
    if exercise is None:
        names = ", ".join(exercise.name for exercise in EXERCISES)
        tell(f"There is no exercise {name!r}. There are: {names}.")
    return exercise


def _raise_where_it_must_be_done(message: str) -> None:
    if os.environ.get(MUST_BE_DONE) == "1":
        raise ExerciseNotDone(message)


FILE_VARIABLE = "WORKBENCH_PROGRESS"
_FOLDER = ".workbench"
_NAMES = {State.WRONG: "tried", State.DONE: "done"}
_STORED_STATES = {word: state for state, word in _NAMES.items()}


class Progress:
    """The state of each exercise by name, kept in a file or, if there is none, for the life of this process."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._in_memory: dict[str, State] = {}

    def states(self) -> dict[str, State]:
        """Name → state of the tried and done exercises, in this notebook or another."""
        return _merged(self._read(), self._in_memory)

    def note(self, name: str, state: State) -> None:
        """Stores the state of an exercise, in the file if there is one; a done exercise stays done."""
        if state is State.NOT_YET:
            return
        self._in_memory = _merged(self._in_memory, {name: state})
        stored = self._read()
        merged = _merged(stored, self._in_memory)
        if self._path is None or merged == stored:
            return
        words = {exercise: _NAMES[merged[exercise]] for exercise in sorted(merged)}
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            # Another notebook may read the file at this moment.
            write_whole(self._path, f"{json.dumps({'exercises': words}, indent=2)}\n".encode())
        except OSError as error:
            self._give_up("written", error)

    def _read(self) -> dict[str, State]:
        if self._path is None:
            return {}
        try:
            rows = json.loads(self._path.read_text("utf-8"))["exercises"]
            return {str(name): _STORED_STATES[word] for name, word in rows.items()}
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            return self._give_up("read", error)

    def _give_up(self, action: str, error: Exception) -> dict[str, State]:
        why = getattr(error, "strerror", None) or "it holds something else"
        problem = f"{self._path and self._path.name}, which keeps your progress, cannot be {action}: {why}."
        tell(f"{problem} From here on it is kept in this notebook alone.")
        self._path = None
        return {}


@cache
def progress() -> Progress:
    """The progress of the learner who runs this process."""
    named = os.environ.get(FILE_VARIABLE)
    if named:
        return Progress(Path(named))
    if not is_live():
        return Progress(None)
    # A kernel runs in its notebook's folder; the notebooks beside the course have a folder of their own.
    current = Path.cwd()
    folder = next((place for place in (current, current.parent) if (place / _FOLDER).is_dir()), current)
    return Progress(folder / _FOLDER / "progress.json")


def _merged(older: dict[str, State], newer: dict[str, State]) -> dict[str, State]:
    """The states `older`, updated by those in `newer`; an exercise that is done in either stays done."""
    return {**older, **newer, **{name: state for name, state in older.items() if state is State.DONE}}
