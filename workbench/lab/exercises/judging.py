"""An exercise's check carried out: whatever a person hands over, the answer is a verdict."""

import inspect
import sysconfig
import traceback
from pathlib import Path

from workbench.errors import ServiceUnreachable
from workbench.lab.exercises.shape import Exercise, Verdict, not_yet, wrong

_OF_OTHERS = (
    str(Path(__file__).parents[2]),
    *(sysconfig.get_paths()[name] for name in ("stdlib", "purelib", "platlib")),
    "<frozen ",
)
"""Where code stands that no learner has written."""


def line_of(error: BaseException) -> str:
    """Where in a person's own code an error arose, to end a sentence with; empty where it did not pass through any."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [each for each in frames if not each.filename.startswith(_OF_OTHERS)]
    if not own:
        return ""
    line = f": {own[-1].line}" if own[-1].line else ""
    return f", in line {own[-1].lineno} of {own[-1].name}{line}"


def verdict_on(exercise: Exercise, given: tuple[object, ...]) -> Verdict:
    """What becomes of an answer; nothing that goes wrong in a check, or in a person's code, is raised."""
    if any(each is None or each is ... for each in given):
        return not_yet("Your answer still stands open.")
    signature = inspect.signature(exercise.check)
    try:
        signature.bind(*given)
    except TypeError:
        names = ", ".join([f'"{exercise.name}"', *signature.parameters])
        return wrong(f"The check is written exercises.check({names}).")
    try:
        return exercise.check(*given)
    except ServiceUnreachable:
        return not_yet("The sandbox does not answer; it may be closed. Run the notebook from its first cell.")
    except Exception as error:  # noqa: BLE001  whatever was handed over is a person's first try
        place = line_of(error)
        what = f"{type(error).__name__}: {error}{place}"
        return wrong(f"Your code came to an end at {what}" if place else f"The check came to an end at {what}")
