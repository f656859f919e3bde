"""What checks look up on a bench: intents, charges and calls."""

import json
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from workbench.lab.exercises.shape import Bench, State, Verdict, not_yet, same

if TYPE_CHECKING:
    from workbench.domain.wire.intents_and_charges import Charge, PaymentIntent


def intents(bench: Bench, description: str) -> "list[PaymentIntent]":
    """Those with this description, however its letters are written; the newest last."""
    expected = description.casefold()
    found = [each for each in bench.looking().payment_intents.each() if str(each.description).casefold() == expected]
    return found[::-1]


def none_yet(bench: Bench, description: str) -> Verdict:
    """What is said where no intent has this description: the newest may have been meant."""
    newest = next(iter(bench.looking().payment_intents.each()), None)
    seen = f"the newest has {newest.description!r}" if newest else "no intent"
    says = f"No intent with the description {description} is there."
    return not_yet(says, seen=seen, expected=repr(description), at="description=")


def charges(bench: Bench, **fields: str) -> "list[Charge]":
    """Those with these fields, the newest last; `payment_intent` finds the attempts at an intent."""
    every = bench.looking().charges.each()
    return [each for each in every if all(getattr(each, name) == value for name, value in fields.items())][::-1]


def best_of(tries: Iterable[Iterator[Verdict]], none_yet: Verdict) -> Iterator[Verdict]:
    """Of several tries the one that is right, else the newest, which is the last."""
    verdicts = [next(each) for each in tries]
    yield from [each for each in verdicts if each.state is State.DONE] or verdicts[-1:]
    yield none_yet


def best_sale(
    bench: Bench, description: str, judge: "Callable[[PaymentIntent, list[Charge], set[str | None]], Iterator[Verdict]]"
) -> Iterator[Verdict]:
    """The best of the intents with this description, judged by its attempts and by what failed in any of them.

    A cell that is run again makes another, and any of them counts.
    """
    found = [(each, charges(bench, payment_intent=each.id)) for each in intents(bench, description)]
    codes_met = {charge.failure_code for _, attempts in found for charge in attempts}

    def judged(intent: "PaymentIntent", attempts: "list[Charge]") -> Iterator[Verdict]:
        yield from same(intent.description, description, "The description is written differently.", "description=")
        yield from judge(intent, attempts, codes_met)

    yield from best_of((judged(*each) for each in found), none_yet(bench, description))


def json_of(text: str) -> dict[str, Any]:
    """The object that a body holds; an empty one where it holds none."""
    try:
        read = json.loads(text)
    except ValueError:
        return {}
    return read if isinstance(read, dict) else {}
