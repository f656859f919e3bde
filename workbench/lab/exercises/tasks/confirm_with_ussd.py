"""Notebook 2: one order, one intent, two attempts."""

from typing import TYPE_CHECKING

from workbench.lab.exercises.facts import most_tried
from workbench.lab.exercises.shape import Exercise, Verdict, done, not_yet, wrong

if TYPE_CHECKING:
    from workbench.bench import Workbench


def _second_try(bench: "Workbench") -> Verdict:
    found = most_tried(bench, "Basil")
    if found is None:
        return not_yet("No intent with the description Basil is there.")
    intent, codes = found
    if not codes:
        return not_yet("The intent for the Basil is there, and not confirmed.")
    if intent.status == "requires_action":
        return not_yet("A prompt is open on the phone: it waits for a PIN.")
    if "wrong_pin" not in codes:
        return wrong("No attempt at the Basil has failed with wrong_pin: three wrong PINs are needed, one by one.")
    if intent.status != "succeeded":
        return not_yet("The first attempt has failed with wrong_pin, as it should. Now confirm the same intent again.")
    return done(f"One intent, {len(codes)} attempts: wrong_pin, and then paid.")


EXERCISES = (
    Exercise(
        name="second_try",
        notebook="02_confirm_with_ussd",
        title="Three wrong PINs, and a second try",
        task="A customer buys a Basil (that is the description) and types a wrong PIN three times. Then the same "
        "customer tries again and pays. One intent should see both.",
        hints=(
            'handset.enter_pin("0000") is one wrong PIN. The third one ends the attempt.',
            "After a failed attempt the intent is back at requires_payment_method. Step 7 confirms it again.",
            "create, confirm, three wrong PINs, confirm with the same id, the right PIN.",
        ),
        solution="""\
basil = pay.payment_intents.create(amount=Decimal(amount), currency="ZMW", description="Basil")
pay.payment_intents.confirm(basil.id, phone=phone, provider=provider)
for _ in range(3):
    handset.enter_pin("0000")
pay.payment_intents.confirm(basil.id, phone=phone, provider=provider)
handset.enter_pin("1234")
""",
        check=_second_try,
    ),
)
