"""Exercises in the notebooks: questions before a run, tasks, hints, and checks of what a person has done."""

import linecache
import os
import sys
import tomllib
from pathlib import Path
from textwrap import fill

from workbench.errors import ExerciseNotDone
from workbench.lab.exercises import on_books, on_failures, on_going_live, on_payments, on_records
from workbench.lab.exercises.functions import brief
from workbench.lab.exercises.predictions import compare, predict
from workbench.lab.exercises.progress import progress
from workbench.lab.exercises.shape import WIDTH, Cell, Exercise, State, tell, verdict_on
from workbench.resources import course
from workbench.text.render import Table, table

__all__ = ["MUST_BE_DONE", "check", "compare", "hint", "predict", "report", "solution"]

MUST_BE_DONE = "WORKBENCH_EXERCISES_MUST_BE_DONE"
"""Set to 1, a check that is not done raises ExerciseNotDone."""
_hints_shown: dict[str, int] = {}
_STATES = {State.NOT_YET: "not begun", State.WRONG: "… tried", State.DONE: "✓ done"}

_ROWS = tomllib.loads(Path(__file__).with_name("exercises.toml").read_text("utf-8"))
_CHECKS = {**vars(on_payments), **vars(on_records), **vars(on_failures), **vars(on_books), **vars(on_going_live)}
EXERCISES = tuple(
    Exercise(name, slug, check=_CHECKS[f"_{name}"], **row)
    for slug in course()
    for name, row in _ROWS.get(slug, {}).items()
)
"""In the order of the notebooks."""


def check(name: str, *given: object) -> None:
    """Print whether an exercise is done, and if not, what is missing and why.

    `given` is what the exercise's own line hands over: mostly the bench, on which it looks at what really happened,
    and sometimes an answer. An answer of `...` or None is not given yet.
    """
    exercise = _named(name)
    if exercise is None:
        _raise_where_it_must_be_done(f"There is no exercise {name!r}.")
        return
    file = sys._getframe(1).f_code.co_filename  # noqa: SLF001  where it was called
    cell = Cell("".join(linecache.getlines(file)))
    verdict = verdict_on(exercise, given, cell)
    progress().note(exercise.name, verdict.state)
    lines = [f"{verdict.state.heading}: {verdict.says}"]
    # Of a cell in which nothing was done yet there is nothing to see.
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
    """Print the hints up to the next: each call tells more, and after the last, where the solution is."""
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
    """Print code that does it. It stands for itself: put it above the check and run the cell."""
    exercise = _named(name)
    if exercise is not None:
        print(fill(f"# {exercise.written.task}", WIDTH, subsequent_indent="# "), exercise.solution, sep="\n")  # noqa: T201  for a cell


def report() -> Table:
    """Every exercise in the order of the notebooks, and how far it is: not begun, tried, or done."""
    states = progress().states()
    rows = [
        (course()[exercise.notebook].name, exercise.written.title, exercise.name,
         _STATES[states.get(exercise.name, State.NOT_YET)]) for exercise in EXERCISES
    ]  # fmt: skip
    done = sum(row[-1] == _STATES[State.DONE] for row in rows)
    return table(f"Exercises: {done} of {len(rows)} done", ("notebook", "exercise", "its name", "how far"), rows)


def _named(name: str) -> Exercise | None:
    """The exercise, or None after saying which there are."""
    found = next((exercise for exercise in EXERCISES if exercise.name == name), None)
    if found is None:
        names = ", ".join(exercise.name for exercise in EXERCISES)
        tell(f"There is no exercise {name!r}. There are: {names}.")
    return found


def _raise_where_it_must_be_done(message: str) -> None:
    if os.environ.get(MUST_BE_DONE) == "1":
        raise ExerciseNotDone(message)
