"""What an exercise is, how a try is judged, and what its check can ask of a bench."""

import inspect
import json
import sysconfig
import traceback
from collections.abc import Callable, Iterable, Iterator
from enum import Enum
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, ParamSpec, Protocol

from workbench.errors import ServiceUnreachable

if TYPE_CHECKING:
    import httpx
    import pandas as pd

    from workbench.client import PaymentsClient
    from workbench.control import Clock, Operator
    from workbench.domain.masking import Secret
    from workbench.domain.wire import Charge, PaymentIntent
    from workbench.domain.wire.trace_rows import TracedCall
    from workbench.handset import Phone
    from workbench.receiver import Receiver
    from workbench.trace import Trace


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


MTN_FLOAT = "operator:mtn:float"


class Bench(Protocol):
    """What checks ask of a Workbench, which stands above them."""

    http: "httpx.Client"
    base_url: str
    secret_key: "Secret"
    client: "PaymentsClient"
    clock: "Clock"
    operator: "Operator"
    receiver: "Receiver"
    receiver_url: str
    trace: "Trace"
    ledger: Any
    """DataFrames of the analysis, which the Lab does not know; so are `tables`."""
    tables: Any
    looking: "Callable[[], PaymentsClient]"
    """A client whose reading leaves no trace."""
    phone: "Callable[[str], Phone]"


class Reconciled(Protocol):
    """What checks ask of a reconciliation, which the Lab does not know either."""

    breaks: "pd.DataFrame"
    proof: "pd.DataFrame"


def kwacha(minor: int) -> str:
    """An amount for a sentence: 123450 is K1,234.50."""
    from workbench.domain.money import Money

    return f"K{Money(minor).plain}"


def intents_for(bench: Bench, description: str) -> "list[PaymentIntent]":
    """The intents with this description, however its letters are written; the newest last."""
    expected = description.casefold()
    found = [each for each in bench.looking().payment_intents.each() if str(each.description).casefold() == expected]
    return found[::-1]


def attempts_at(bench: Bench, intent_id: str) -> "list[Charge]":
    """The charges of an intent, the newest last."""
    return [each for each in bench.looking().charges.each() if each.payment_intent == intent_id][::-1]


def tries(bench: Bench, description: str) -> "list[tuple[PaymentIntent, list[Charge]]]":
    """The intents with this description and the attempts at each; the newest last."""
    return [(each, attempts_at(bench, each.id)) for each in intents_for(bench, description)]


def failures(attempts: "Iterable[Charge]") -> list[str | None]:
    """What each attempt failed with; None for one that has not."""
    return [each.failure_code for each in attempts]


def charges_for(bench: Bench, reference: str) -> "list[Charge]":
    """The charges with this reference, the newest last."""
    return [each for each in bench.looking().charges.each() if each.reference == reference][::-1]


def calls_to(bench: Bench, target: str) -> "list[TracedCall]":
    """The calls of a method and path, such as `POST /v1/charges`, as they went over the wire."""
    from workbench.domain.wire.trace_rows import CALL, call_of

    calls = [call_of(row) for row in bench.trace if row["kind"] == CALL]
    return [each for each in calls if each.target == target]


def json_of(text: str) -> dict[str, Any]:
    """The object that a body holds; an empty one where it holds none."""
    try:
        read = json.loads(text)
    except ValueError:
        return {}
    return read if isinstance(read, dict) else {}


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
