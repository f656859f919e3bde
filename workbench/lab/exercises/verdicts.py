"""Verdicts of checks, messages to learners, and searches for sales and charges on a bench."""

import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import Enum
from functools import partial
from itertools import chain
from textwrap import fill
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias
from weakref import WeakKeyDictionary

from workbench.domain.scenarios import SCENARIOS
from workbench.text.render import bundle, sentence
from workbench.visible import visible

if TYPE_CHECKING:
    from workbench.domain.wire.payments_and_payouts import Charge, PaymentIntent

WIDTH = 76
"""The width of a message in characters; beside a docked handset, a notebook shows such lines without wrapping."""
Bench: TypeAlias = Any
"""A Workbench; its class is in a higher layer, which this module cannot import."""


class State(Enum):
    """The state of an exercise or a prediction, with a colour that is legible on white and on black."""

    NOT_YET = ("Not done yet", "…", "#5f6368")
    WRONG = ("Not right yet", "✗", "#b3261e")
    DONE = ("Done", "✓", "#2e7d32")

    def __init__(self, heading: str, sign: str, colour: str) -> None:
        self.heading, self.sign, self.colour = heading, sign, colour


def html_of(lines: Sequence[str], state: State) -> str:
    """Lines of prose as HTML, with the sign and the colour of the state."""
    badge = f'<span style="background:{state.colour};color:#fff;padding:0 .4em;border-radius:.3em">{state.sign}</span>'
    style = f"border-left:4px solid {state.colour};padding:.1em .8em;overflow-wrap:anywhere"
    text = sentence("\n".join(lines))
    return f'<div style="{style}">{badge} {text}</div>'


def tell(*lines: str, state: State | None = None) -> None:
    """Shows lines of prose below a cell, in the colour of a state; without a state or a notebook, prints them."""
    filled = partial(fill, width=WIDTH, break_long_words=False, break_on_hyphens=False)
    text = "\n".join(filled(visible(line, lines=True)) for line in lines)
    ipython = sys.modules.get("IPython")
    if state and ipython and ipython.get_ipython():
        ipython.display.display(bundle(text, html_of(lines, state)), raw=True)
    else:
        print(text)  # noqa: T201  for a cell


class Verdict(NamedTuple):
    """The result of a check, as a sentence to the learner."""

    state: State
    says: str
    seen: str = ""
    """The value that the check found, such as K3,550.00."""
    expected: str = ""
    """The value that the check expects."""
    at: str = ""
    """Part of the faulty line, such as `amount=`; the message quotes the last line of the cell with this part."""


not_yet, wrong, done = (partial(Verdict, state) for state in State)
"""Functions from a sentence to a Verdict: what is missing; what is wrong and why; what the check found done."""


def unequal(
    actual: object, expected: object, says: str, at: str, text: Callable[[Any], str] = repr
) -> Iterator[Verdict]:
    """Yields a `wrong` verdict with the sentence `says` if the values or their types differ, as True and 1 do.

    `at` is as in Verdict; `text` is a function that writes a value as text.
    """
    if type(actual) is not type(expected) or actual != expected:
        yield wrong(says, text(actual), text(expected), at)


_ADDRESS = re.compile(r" at 0x[0-9a-f]+")


def brief(value: object) -> str:
    """A value as one line of text, cut to 160 characters."""
    text = value if isinstance(value, str) else repr(value)
    text = " ".join(_ADDRESS.sub("", text).split())
    return text if len(text) <= 160 else f"{text[:150]} …"  # noqa: PLR2004  two lines of a cell


def fresh(bench: Bench, **options: object) -> Bench:
    """A new Workbench with a fixed seed and `options`, so that a check leaves the notebook's sandbox unchanged."""
    return type(bench)(seed="a try", **options)


SOMEBODY = "+260961234567"
"""A number without a scenario: its prompt for an intent waits for a person, and a direct charge is paid at once."""


def number_of(scenario: str) -> str:
    """The test number that triggers a scenario."""
    return f"+26096{SCENARIOS[scenario].numbers[0].ending}"


def kwacha(minor: int) -> str:
    """An amount in minor units as text for a sentence: 123450 is K1,234.50."""
    # Imported here, so that the exercises alone load little.
    from workbench.domain.money import ZMW, money_text

    return money_text(minor, ZMW.code)


def charges(bench: Bench, **fields: str) -> "list[Charge]":
    """Charges whose fields have these values, the newest last; `payment_intent` selects the attempts at an intent."""
    every = bench.looking().charges.each()
    return [charge for charge in every if all(getattr(charge, name) == value for name, value in fields.items())][::-1]


def best_of(tries: Iterable[Iterator[Verdict]], none_yet: Verdict) -> Iterator[Verdict]:
    """Yields the verdicts of successful tries or, if no try succeeded, the verdict of the last try; then `none_yet`.

    `tries` come oldest first; a try's first verdict is the verdict of the try. The caller takes only the first verdict
    yielded, so a learner gets `none_yet` only without a try.
    """
    verdicts = [next(verdict) for verdict in tries]
    yield from [verdict for verdict in verdicts if verdict.state is State.DONE] or verdicts[-1:]
    yield none_yet


_NEXT_STEPS = {
    "requires_payment_method": "The intent for the {} is there, and no prompt was sent yet: confirm it.",
    "requires_action": "A prompt for the {} waits on the phone. Enter the PIN 1234 on it.",
    "canceled": "The intent for the {} was canceled: create another.",
}


class Sale(NamedTuple):
    """An intent for a plant, with the attempts to pay it."""

    plant: str
    intent: "PaymentIntent"
    attempts: "list[Charge]"
    """The attempts at this intent, the newest last."""
    of_plant: "list[Charge]"
    """The attempts at every intent for this plant."""

    @property
    def codes(self) -> list[str]:
        """For each attempt its failure code or, if it has none, its status."""
        return [charge.failure_code or charge.status for charge in self.attempts]

    def unpaid(self) -> Iterator[Verdict]:
        """Yields a verdict if the description does not name the plant, or if the customer has not paid yet."""
        status, description = self.intent.status, self.intent.description
        yield from unequal(description, self.plant, "The description is written differently.", "description=")
        if status == "requires_payment_method" and self.attempts:
            says = f"The last attempt at the {self.plant} has failed with {self.codes[-1]}."
            yield not_yet(f"{says} Confirm the same intent again and pay.", status, "succeeded")
        if status != "succeeded":
            says = _NEXT_STEPS.get(status, f"The intent for the {{}} is {status}.").format(self.plant)
            yield not_yet(says, status, "succeeded")

    def never_met(self, code: str) -> Iterator[Verdict]:
        """Yields a verdict if this intent lacks a failure with `code`, and another intent for the plant has one."""
        if code not in self.codes and code in [charge.failure_code for charge in self.of_plant]:
            says = f"One intent has failed with {code}, and another was created. One intent should see both attempts."
            yield wrong(says, "two intents", "one intent, confirmed twice", ".create(")


_Judge: TypeAlias = Callable[[Bench, Sale], Iterator[Verdict]]
_sold: "WeakKeyDictionary[Any, dict[str, tuple[set[str], bool]]]" = WeakKeyDictionary()
"""Bench → plant → the paid intents that the last check saw, and True if several of them were new to it."""


def sale_of(plant: str, *, is_sold_once: bool = False) -> Callable[[_Judge], Callable[[Bench], Iterator[Verdict]]]:
    """A decorator that turns a judge of one sale of a plant into a check of all its sales; the best sale counts.

    A cell that is run again sells again; with `is_sold_once`, the check rejects a cell that sells two in one run.
    """
    return lambda judge: partial(_best_sale, judge, plant, is_sold_once)


def _best_sale(judge: _Judge, plant: str, is_sold_once: bool, bench: Bench) -> Iterator[Verdict]:  # noqa: FBT001  by partial
    every_intent = [*bench.looking().payment_intents.each()][::-1]
    intents = [intent for intent in every_intent if str(intent.description).casefold() == plant.casefold()]
    if is_sold_once:
        yield from _paid_twice(bench, plant, {intent.id for intent in intents if intent.status == "succeeded"})
    of_plant = {intent.id: charges(bench, payment_intent=intent.id) for intent in intents}
    every = [*chain(*of_plant.values())]
    newest = f"the newest has {every_intent[-1].description!r}" if every_intent else "no intent"
    none_yet = not_yet(f"No intent with the description {plant} is there.", newest, repr(plant), "description=")
    yield from best_of((judge(bench, Sale(plant, intent, of_plant[intent.id], every)) for intent in intents), none_yet)


def _paid_twice(bench: Bench, plant: str, paid: set[str]) -> Iterator[Verdict]:
    """Yields a verdict if the customer has paid two intents since the last check."""
    sold = _sold.setdefault(bench, {})
    known, too_many = sold.get(plant, (set[str](), False))
    new = paid - known
    too_many = len(new) > 1 or (too_many and not new)
    sold[plant] = known | new, too_many
    if too_many:
        says = f"The customer has paid twice: two intents for one {plant}. Create one intent, and run the cell again."
        yield wrong(says, f"{len(new) or 'several'} intents that are paid", "one intent that is paid", ".create(")


def json_of(text: str) -> dict[str, Any]:
    """The JSON object in a text; an empty dict if there is none."""
    try:
        value = json.loads(text)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}
