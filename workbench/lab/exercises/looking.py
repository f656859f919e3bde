"""Looks up sales, intents and charges on a bench for checks to judge."""

import json
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias
from weakref import WeakKeyDictionary

from workbench.lab.exercises.shape import Bench, State, Verdict, not_yet, same, wrong

if TYPE_CHECKING:
    from workbench.domain.wire.payments_and_payouts import Charge, PaymentIntent


def charges(bench: Bench, **fields: str) -> "list[Charge]":
    """Charges with these values in their fields, the newest last; `payment_intent` finds the attempts at an intent."""
    every = bench.looking().charges.each()
    return [charge for charge in every if all(getattr(charge, name) == value for name, value in fields.items())][::-1]


def best_of(tries: Iterable[Iterator[Verdict]], none_yet: Verdict) -> Iterator[Verdict]:
    """Yields the verdicts on right tries, else on the last and newest try; then `none_yet`."""
    verdicts = [next(verdict) for verdict in tries]
    yield from [verdict for verdict in verdicts if verdict.state is State.DONE] or verdicts[-1:]
    yield none_yet


_NEXT_STEPS = {
    "requires_payment_method": "The intent for the {} is there, and no prompt was sent yet: confirm it.",
    "requires_action": "A prompt for the {} waits on the phone. Enter the PIN 1234 on it.",
    "canceled": "The intent for the {} was canceled: create another.",
}


class Sale(NamedTuple):
    """An intent for a plant, and the attempts to pay it."""

    plant: str
    intent: "PaymentIntent"
    attempts: "list[Charge]"
    """The attempts at this intent, the newest last."""
    of_plant: "list[Charge]"
    """The attempts at every intent for this plant."""

    @property
    def codes(self) -> list[str]:
        """The failure code of each attempt, or its status."""
        return [charge.failure_code or charge.status for charge in self.attempts]

    def unpaid(self) -> Iterator[Verdict]:
        """Yields a verdict if the customer has not paid yet."""
        status = self.intent.status
        yield from same(self.intent.description, self.plant, "The description is written differently.", "description=")
        if status == "requires_payment_method" and self.attempts:
            says = f"The last attempt at the {self.plant} has failed with {self.codes[-1]}."
            yield not_yet(f"{says} Confirm the same intent again and pay.", status, "succeeded")
        if status != "succeeded":
            says = _NEXT_STEPS.get(status, f"The intent for the {{}} is {status}.").format(self.plant)
            yield not_yet(says, status, "succeeded")

    def never_met(self, code: str) -> Iterator[Verdict]:
        """Yields a verdict if another intent for the plant has met a failure that this intent should have met."""
        if code not in self.codes and code in [charge.failure_code for charge in self.of_plant]:
            says = f"One intent has failed with {code}, and another was created. One intent should see both attempts."
            yield wrong(says, "two intents", "one intent, confirmed twice", ".create(")


_Judge: TypeAlias = Callable[[Bench, Sale], Iterator[Verdict]]
_sold: "WeakKeyDictionary[Any, dict[str, tuple[set[str], bool]]]" = WeakKeyDictionary()
"""Bench → plant → the paid intents that the last check saw, and True if several of them were new."""


def sale_of(plant: str, *, is_sold_once: bool = False) -> Callable[[_Judge], Callable[[Bench], Iterator[Verdict]]]:
    """A decorator that turns a judge of one sale of this plant into a check, in which the best sale counts.

    A cell may run again, and so sell again; with `is_sold_once`, the check rejects a cell that sold two in one run.
    """
    return lambda judge: partial(_best_sale, judge, plant, is_sold_once)


def _best_sale(judge: _Judge, plant: str, is_sold_once: bool, bench: Bench) -> Iterator[Verdict]:  # noqa: FBT001  by partial
    intents = [*bench.looking().payment_intents.each()][::-1]
    found = [intent for intent in intents if str(intent.description).casefold() == plant.casefold()]
    if is_sold_once:
        yield from _paid_twice(bench, plant, {intent.id for intent in found if intent.status == "succeeded"})
    of_plant = {intent.id: charges(bench, payment_intent=intent.id) for intent in found}
    every = [*chain(*of_plant.values())]
    newest = f"the newest has {intents[-1].description!r}" if intents else "no intent"
    none_yet = not_yet(f"No intent with the description {plant} is there.", newest, repr(plant), "description=")
    yield from best_of((judge(bench, Sale(plant, intent, of_plant[intent.id], every)) for intent in found), none_yet)


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
        read = json.loads(text)
    except ValueError:
        return {}
    return read if isinstance(read, dict) else {}
