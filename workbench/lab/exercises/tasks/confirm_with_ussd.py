"""Notebook 2: one order, one intent, two attempts."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from workbench.lab.exercises.facts import Bench, failures, tries
from workbench.lab.exercises.shape import Exercise, Verdict, best_of, done, first_verdict, not_yet, wrong

if TYPE_CHECKING:
    from workbench.domain.wire import Charge, PaymentIntent


def _second_try(bench: Bench) -> Verdict:
    found = tries(bench, "Basil")
    codes_met = {code for _, attempts in found for code in failures(attempts)}
    verdict = best_of(_of_basil(intent, attempts, codes_met) for intent, attempts in found)
    return verdict or not_yet("No intent with the description Basil is there.")


@first_verdict
def _of_basil(intent: "PaymentIntent", attempts: "list[Charge]", codes_met: set[str | None]) -> Iterator[Verdict]:
    codes = failures(attempts)
    if not codes:
        yield not_yet("The intent for the Basil is there, and not confirmed.")
    if intent.status == "requires_action":
        yield not_yet("A prompt is open on the phone: it waits for a PIN.")
    if "wrong_pin" not in codes and "wrong_pin" in codes_met:
        yield wrong("One intent has failed with wrong_pin, and another intent was paid. One intent should see both.")
    if "wrong_pin" not in codes:
        yield wrong("No attempt at the Basil has failed with wrong_pin: three wrong PINs are needed, one by one.")
    if intent.status != "succeeded":
        yield not_yet("The first attempt has failed with wrong_pin, as it should. Now confirm the same intent again.")
    numbers = {each.phone for each in attempts}
    if len(numbers) > 1:
        yield wrong(f"The attempts were on {len(numbers)} numbers. The same customer tries again: take a new intent.")
    yield done(f"One intent, {len(codes)} attempts: wrong_pin, and then paid.")


SECOND_TRY = Exercise(
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
)
