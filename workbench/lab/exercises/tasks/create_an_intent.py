"""Notebook 1: an amount to the ngwee, and what a shop writes beside it."""

from decimal import Decimal

from workbench.lab.exercises.facts import Bench, intents_for
from workbench.lab.exercises.shape import Exercise, Verdict, done, not_yet, wrong

_ORCHID_PRICE = Decimal("87.35")
_ORDER = "A-17"


def _exact_amount(bench: Bench) -> Verdict:
    found = intents_for(bench, "Orchid")
    if not found:
        return not_yet("No intent with the description Orchid is there.")
    intent = found[-1]
    if intent.status == "canceled":
        return not_yet("The intent for the Orchid was cancelled: make another.")
    if intent.amount == _ORCHID_PRICE * 100:
        return wrong(f"The Orchid is offered for K{intent.amount:,}: the amount of an intent counts kwacha, not ngwee.")
    if intent.amount != _ORCHID_PRICE:
        return wrong(f"The Orchid is offered for K{intent.amount:,}, and it costs K{_ORCHID_PRICE}.")
    if intent.metadata != {"order": _ORDER}:
        return wrong(f"The amount is right. The metadata is {intent.metadata}, where order alone should be {_ORDER}.")
    return done(f"K{_ORCHID_PRICE} to the ngwee, for order {_ORDER}.")


EXACT_AMOUNT = Exercise(
    name="exact_amount",
    notebook="01_create_an_intent",
    title="An amount to the ngwee",
    task="Create an intent of K87.35 with the description Orchid. Your shop calls this order A-17: write that into "
    "the intent's metadata, under the name order.",
    hints=(
        "It is the call of step 1 with another amount, and metadata beside the description.",
        'A Decimal made from a text is exact: Decimal("87.35").',
        'metadata is a dictionary of texts: metadata={"order": "A-17"}.',
    ),
    solution="""\
orchid = pay.payment_intents.create(
    amount=Decimal("87.35"), currency="ZMW", description="Orchid", metadata={"order": "A-17"}
)
""",
    check=_exact_amount,
)
