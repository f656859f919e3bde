"""The notebooks' exercises: check what was done, ask for a hint, see a solution, and how far one has come.

>>> from workbench import exercises
>>> exercises.check("exact_amount", bench)  # doctest: +SKIP
Done: K87.35 to the ngwee, for order A-17.

What an answer lacks is printed and never raised, so that a notebook runs on whatever is not done yet. A run that
must be right, `workbench run --solutions`, asks for the opposite by the variable `WORKBENCH_EXERCISES_MUST_BE_DONE`.
"""

import os
from textwrap import fill

from workbench.errors import ExerciseNotDone
from workbench.lab.exercises.judging import verdict_on
from workbench.lab.exercises.progress import progress
from workbench.lab.exercises.shape import DONE, Exercise, State
from workbench.lab.exercises.tasks import EXERCISES
from workbench.render import Table, table
from workbench.visible import visible

__all__ = ["MUST_BE_DONE", "check", "hint", "report", "solution"]

MUST_BE_DONE = "WORKBENCH_EXERCISES_MUST_BE_DONE"
"""Set to 1, a check that is not done raises ExerciseNotDone."""
_WIDTH = 100
_STATES = {State.NOT_YET: "not begun", State.WRONG: "tried", State.DONE: "✓ done"}
_hints_shown: dict[str, int] = {}


def check(name: str, *given: object) -> None:
    """Print whether an exercise is done, and if not, what is missing and why.

    `given` is what the exercise's own line hands over: mostly the bench, on which it looks at what really happened,
    and sometimes an answer. An answer of `...` or None is not given yet.
    """
    exercise = _named(name)
    if exercise is None:
        _raise_where_it_must_be_done(f"There is no exercise {name!r}.")
        return
    verdict = verdict_on(exercise, given)
    progress().note(exercise.name, verdict.state)
    lines = [f"{verdict.state.value}: {verdict.says}"]
    if verdict.state is not DONE:
        lines.append(f'exercises.hint("{exercise.name}") helps.')
    _print(*lines)
    if verdict.state is not DONE:
        _raise_where_it_must_be_done(f"The exercise {exercise.name} is not done: {verdict.says}")


def hint(name: str) -> None:
    """Print the next hint: each call tells more, and the last one where the solution is."""
    exercise = _named(name)
    if exercise is None:
        return
    number = _hints_shown.get(exercise.name, 0)
    _hints_shown[exercise.name] = number + 1
    if number == 0:
        _print(f"The task: {exercise.task}")
    if number < len(exercise.hints):
        _print(f"Hint {number + 1} of {len(exercise.hints)}: {exercise.hints[number]}")
    else:
        _print(f'That was the last one. exercises.solution("{exercise.name}") shows the code.')


def solution(name: str) -> None:
    """Print code that does it. It stands for itself: put it above the check and run the cell."""
    exercise = _named(name)
    if exercise is not None:
        print(fill(f"# {exercise.task}", _WIDTH, subsequent_indent="# "), exercise.solution, sep="\n")  # noqa: T201  for a cell


def report() -> Table:
    """Every exercise by notebook, and how far it is: not begun, tried, or done."""
    states = progress().states()
    rows = [(each.notebook, each.title, each.name, _STATES[states.get(each.name, State.NOT_YET)]) for each in EXERCISES]
    done = sum(states.get(each.name) is DONE for each in EXERCISES)
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
