"""An exercise's check carried out: whatever a person hands over, the answer is a verdict."""

import inspect

from workbench.errors import ServiceUnreachable
from workbench.lab.exercises.shape import Exercise, Verdict, not_yet, wrong


def verdict_on(exercise: Exercise, given: tuple[object, ...]) -> Verdict:
    """What becomes of an answer; nothing that goes wrong in a check, or in a person's code, is raised."""
    if any(each is None or each is ... for each in given):
        return not_yet("Your answer still stands open.")
    wanted = inspect.signature(exercise.check)
    try:
        wanted.bind(*given)
    except TypeError:
        names = ", ".join([f'"{exercise.name}"', *wanted.parameters])
        return wrong(f"The check is written exercises.check({names}).")
    try:
        return exercise.check(*given)
    except ServiceUnreachable:
        return not_yet("The sandbox does not answer; it may be closed. Run the notebook from its first cell.")
    except Exception as error:  # noqa: BLE001  whatever was handed over is a person's first try
        return wrong(f"The check came to an end at {type(error).__name__}: {error}")
