"""What an exercise is, and the verdicts on an answer to it."""

from collections.abc import Callable, Iterable, Iterator
from enum import Enum
from functools import wraps
from typing import NamedTuple, ParamSpec

P = ParamSpec("P")


class State(Enum):
    """How far an exercise is; the value is what a check begins with."""

    NOT_YET = "Not done yet"
    WRONG = "Not right yet"
    DONE = "Done"


DONE = State.DONE


class Verdict(NamedTuple):
    """What a check found, in a sentence for the person who did it."""

    state: State
    says: str


def not_yet(says: str) -> Verdict:
    """Nothing to judge: what is missing."""
    return Verdict(State.NOT_YET, says)


def wrong(says: str) -> Verdict:
    """Something was done, and not what was asked: what it was, and why it is not that."""
    return Verdict(State.WRONG, says)


def done(says: str) -> Verdict:
    """It is right: what was found."""
    return Verdict(State.DONE, says)


def first_verdict(check: "Callable[P, Iterator[Verdict]]") -> "Callable[P, Verdict]":
    """A check that yields what applies: the first verdict counts, and nothing after it is looked at."""

    @wraps(check)
    def verdict(*given: P.args, **named: P.kwargs) -> Verdict:
        return next(check(*given, **named))

    return verdict


def best_of(verdicts: Iterable[Verdict]) -> Verdict | None:
    """Of several tries the one that is right, else the newest, which is the last; None where there is none."""
    verdict = None
    for verdict in verdicts:
        if verdict.state is DONE:
            return verdict
    return verdict


class Exercise(NamedTuple):
    """One thing to do in a notebook. The cell that it stands in is tagged `exercise` and ends with its check."""

    name: str
    notebook: str
    """The file's name without its ending."""
    title: str
    task: str
    """The text of the notebook, in one paragraph."""
    hints: tuple[str, ...]
    """From a nudge to nearly all of it."""
    solution: str
    """Code for the cell, above its check. It may be run twice."""
    check: Callable[..., Verdict]
    """Its arguments' names are those that a person reads when it was called with others."""
