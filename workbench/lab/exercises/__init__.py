"""Exercises in the notebooks: questions before a run, tasks, hints, and checks of what a person has done."""

import json
import os
import sys
import tomllib
from functools import cache
from pathlib import Path
from textwrap import fill

from workbench.errors import ExerciseNotDone
from workbench.lab.exercises import on_books, on_payments, repairs
from workbench.lab.exercises.predictions import compare, predict
from workbench.lab.exercises.shape import Cell, Exercise, State, verdict_on
from workbench.render import Table, is_live, table
from workbench.resources import course, notebook_name, write_whole
from workbench.visible import visible

__all__ = ["MUST_BE_DONE", "check", "compare", "hint", "predict", "report", "solution"]

FILE_VARIABLE = "WORKBENCH_PROGRESS"
MUST_BE_DONE = "WORKBENCH_EXERCISES_MUST_BE_DONE"
"""Set to 1, a check that is not done raises ExerciseNotDone."""
_BESIDE_THE_NOTEBOOKS = Path(".workbench") / "progress.json"
_NAMES = {State.WRONG: "tried", State.DONE: "done"}
_KEPT_STATES = {word: state for state, word in _NAMES.items()}
_STATES = {State.NOT_YET: "not begun", State.WRONG: "tried", State.DONE: "✓ done"}
_WIDTH = 100
_hints_shown: dict[str, int] = {}

_ROWS = tomllib.loads(Path(__file__).with_name("exercises.toml").read_text("utf-8"))
_CHECKS = {**vars(on_payments), **vars(on_books), **vars(repairs)}
EXERCISES = tuple(
    Exercise(name, check=_CHECKS[f"_{name}"], **row)
    for name, row in sorted(_ROWS.items(), key=lambda each: course()[each[1]["notebook"]].number)
)
"""In the order of the notebooks."""


class Progress:
    """How far each exercise is, by its name; without a file only as long as this process lives."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._here: dict[str, State] = {}

    def states(self) -> dict[str, State]:
        """Those that were tried or done, here or in another notebook."""
        return _further(self._read(), self._here)

    def note(self, name: str, state: State) -> None:
        """Keep how far an exercise has come. What was done once stays done."""
        if state is State.NOT_YET:
            return
        self._here = _further(self._here, {name: state})
        kept = self._read()
        together = _further(kept, self._here)
        if self._path is None or together == kept:
            return
        words = {each: _NAMES[together[each]] for each in sorted(together)}
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            # Another notebook may read it in this moment.
            write_whole(self._path, f"{json.dumps({'exercises': words}, indent=2)}\n".encode())
        except OSError as error:
            self._give_up("written", error)

    def _read(self) -> dict[str, State]:
        if self._path is None:
            return {}
        try:
            rows = json.loads(self._path.read_text("utf-8"))["exercises"]
            return {str(name): _KEPT_STATES[word] for name, word in rows.items()}
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            return self._give_up("read", error)

    def _give_up(self, what: str, error: Exception) -> dict[str, State]:
        why = getattr(error, "strerror", None) or "it holds something else"
        problem = f"{self._path and self._path.name}, which keeps your progress, cannot be {what}: {why}."
        print(f"{problem} From here on it is kept in this notebook alone.")  # noqa: T201  for a cell
        self._path = None
        return {}


@cache
def progress() -> Progress:
    """The progress of the person who runs this process."""
    named = os.environ.get(FILE_VARIABLE)
    if named:
        return Progress(Path(named))
    return Progress(_BESIDE_THE_NOTEBOOKS.absolute() if is_live() else None)


def _further(one: dict[str, State], other: dict[str, State]) -> dict[str, State]:
    """What is done in either is done."""
    return {**one, **other, **{name: state for name, state in one.items() if state is State.DONE}}


def check(name: str, *given: object) -> None:
    """Print whether an exercise is done, and if not, what is missing and why.

    `given` is what the exercise's own line hands over: mostly the bench, on which it looks at what really happened,
    and sometimes an answer. An answer of `...` or None is not given yet.
    """
    exercise = _named(name)
    if exercise is None:
        _raise_where_it_must_be_done(f"There is no exercise {name!r}.")
        return
    cell = Cell.of_file(sys._getframe(1).f_code.co_filename)  # noqa: SLF001  where it was called
    verdict = verdict_on(exercise, given, cell)
    progress().note(exercise.name, verdict.state)
    _print(f"{verdict.state.value}: {verdict.says}")
    if verdict.seen:
        _print(f"  seen: {verdict.seen}", f"  expected: {verdict.expected}")
    if line := cell.line_with(verdict.at):
        _print(f"  {line}")
    if verdict.state is not State.DONE:
        _print(f'exercises.hint("{exercise.name}") helps.')
        _raise_where_it_must_be_done(f"The exercise {exercise.name} is not done: {verdict.says}")


def hint(name: str) -> None:
    """Print the hints up to the next: each call tells more, and after the last, where the solution is."""
    exercise = _named(name)
    if exercise is None:
        return
    number = _hints_shown[exercise.name] = min(_hints_shown.get(exercise.name, 0) + 1, len(exercise.hints) + 1)
    _print(f"The task: {exercise.task}")
    for place, each in enumerate(exercise.hints[:number], 1):
        _print(f"Hint {place} of {len(exercise.hints)}: {each}")
    if number > len(exercise.hints):
        _print(f'These are all. exercises.solution("{exercise.name}") shows the code.')


def solution(name: str) -> None:
    """Print code that does it. It stands for itself: put it above the check and run the cell."""
    exercise = _named(name)
    if exercise is not None:
        print(fill(f"# {exercise.task}", _WIDTH, subsequent_indent="# "), exercise.solution, sep="\n")  # noqa: T201  for a cell


def report() -> Table:
    """Every exercise by notebook, and how far it is: not begun, tried, or done."""
    states = progress().states()
    rows = [
        (notebook_name(each.notebook), each.title, each.name, _STATES[states.get(each.name, State.NOT_YET)])
        for each in EXERCISES
    ]
    done = sum(states.get(each.name) is State.DONE for each in EXERCISES)
    caption = f"Exercises: {done} of {len(EXERCISES)} done"
    return table(caption, ("notebook", "exercise", "its name", "how far"), rows)


def _named(name: str) -> Exercise | None:
    """The exercise, or None after saying which there are."""
    found = next((each for each in EXERCISES if each.name == name), None)
    if found is None:
        names = ", ".join(each.name for each in EXERCISES)
        _print(f"There is no exercise {name!r}. There are: {names}.")
    return found


def _print(*lines: str) -> None:
    for line in lines:
        print(fill(visible(line, lines=True), _WIDTH, break_long_words=False, break_on_hyphens=False))  # noqa: T201  for a cell


def _raise_where_it_must_be_done(message: str) -> None:
    if os.environ.get(MUST_BE_DONE) == "1":
        raise ExerciseNotDone(message)
