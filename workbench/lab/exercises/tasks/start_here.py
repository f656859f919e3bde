"""Notebook 0: a payment of one's own."""

from decimal import Decimal

from workbench.lab.exercises.facts import Bench, attempts_at, intents_for
from workbench.lab.exercises.shape import Exercise, Verdict, done, not_yet, wrong

_FERN_PRICE = Decimal("35.50")
_NEXT_STEPS = {
    "requires_payment_method": "The intent for the Fern is there, and no phone has rung yet: confirm it.",
    "requires_action": "A prompt for the Fern waits on the phone. Enter the PIN 1234 on it.",
    "processing": "The operator is at work on the Fern.",
    "canceled": "The intent for the Fern was cancelled: make another.",
}


def _second_payment(bench: Bench) -> Verdict:
    found = intents_for(bench, "Fern")
    if not found:
        return not_yet("No intent with the description Fern is there.")
    intent = found[-1]
    if intent.amount != _FERN_PRICE:
        return wrong(f"The Fern is offered for {intent.amount} kwacha, and it costs {_FERN_PRICE}.")
    attempts = attempts_at(bench, intent.id)
    if intent.status == "requires_payment_method" and attempts:
        return not_yet(
            f"The last attempt at the Fern has failed with {attempts[-1].failure_code}. Confirm the same intent again, "
            "and enter the PIN."
        )
    if intent.status != "succeeded":
        return not_yet(_NEXT_STEPS.get(intent.status, f"The intent for the Fern is {intent.status}."))
    others = {each.phone for each in bench.looking().charges.each() if each.payment_intent not in {i.id for i in found}}
    if others and attempts[-1].phone not in others:
        return wrong(
            f"With {attempts[-1].phone}, another customer has paid for the Fern. Sell it to the one of before."
        )
    return done(f"The Fern is paid, K{_FERN_PRICE}, and the ledger has an entry for it.")


SECOND_PAYMENT = Exercise(
    name="second_payment",
    notebook="00_start_here",
    title="A payment of your own",
    task="Sell a Fern for K35.50 to the same customer: make the intent with the description Fern, confirm it, and "
    "enter the PIN.",
    hints=(
        'Steps 1 to 3 are all it takes. The amount is a Decimal of a text, the description "Fern".',
        (
            "pay.payment_intents.create, then pay.payment_intents.confirm with its id, phone and provider. Then the"
            ' phone shows the prompt: press the keys, or call bench.phone(phone).enter_pin("1234").'
        ),
    ),
    solution="""\
fern = pay.payment_intents.create(amount=Decimal("35.50"), currency="ZMW", description="Fern")
pay.payment_intents.confirm(fern.id, phone=phone, provider=provider)
bench.phone(phone).enter_pin("1234")
""",
    check=_second_payment,
)
