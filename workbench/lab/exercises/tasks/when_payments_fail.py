"""Notebook 7: patience with an operator that is down."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from workbench.lab.exercises.facts import Bench, failures, tries
from workbench.lab.exercises.shape import Exercise, Verdict, best_of, done, first_verdict, not_yet, wrong

if TYPE_CHECKING:
    from workbench.control import Outage
    from workbench.domain.wire import Charge, PaymentIntent

_DOWN, _OUTAGE_S = "operator_unavailable", 300


def _patience(bench: Bench) -> Verdict:
    found = tries(bench, "Sage")
    codes_met = {code for _, attempts in found for code in failures(attempts)}
    verdict = best_of(_of_sage(intent, attempts, codes_met, bench.operator.outages) for intent, attempts in found)
    return verdict or not_yet("No intent with the description Sage is there.")


@first_verdict
def _of_sage(
    intent: "PaymentIntent", attempts: "list[Charge]", codes_met: set[str | None], outages: "list[Outage]"
) -> Iterator[Verdict]:
    if not attempts:
        yield not_yet("The intent for the Sage is there, and not confirmed.")
    failed = next((each for each in attempts if each.failure_code == _DOWN), None)
    if failed is None:
        if _DOWN in codes_met and intent.status == "succeeded":
            yield wrong("One intent has met the outage, and another intent was paid. One intent should see both.")
        yield wrong("The operator was not down when you tried: begin the outage first, and take a new intent.")
        return
    # A script and a test number fail one customer with the same code, while the operator is up.
    met = next((each for each in outages if each.provider == failed.provider and each.covers(failed.created)), None)
    if met is None:
        yield wrong(
            "This attempt failed and the operator was not down: a script or a test number fails one customer alone. "
            "With bench.operator.outage, begin the outage first, and take a new intent."
        )
        return
    if met.seconds != _OUTAGE_S:
        yield wrong(f"The outage was to last {_OUTAGE_S} seconds, and this one was begun for {met.seconds}.")
    if intent.status != "succeeded":
        yield not_yet("The first attempt has met the outage. Let time pass, and confirm the same intent again.")
    if met.covers(attempts[-1].created):
        yield wrong("It was paid while the outage should have lasted: let time pass instead of ending it.")
    yield done(f"One intent, {len(attempts)} attempts, paid once the operator was back.")


PATIENCE = Exercise(
    name="patience",
    notebook="07_when_payments_fail",
    title="An outage of five minutes",
    task="Let the operator be down for 300 seconds. Sell a Sage (that is the description) while it is, see the "
    "attempt fail, and bring the same intent to success when the operator is back.",
    hints=(
        "Step 9 has bench.operator.outage.",
        'attempt(intent_id, prefix + "0000001") confirms on a number that pays by itself, and waits.',
        "Between two attempts bench.clock.advance(seconds=300) lets the outage pass.",
    ),
    solution="""\
sage = pay.payment_intents.create(amount=Decimal(amount), description="Sage")
bench.operator.outage(provider, seconds=300)
attempt(sage.id, prefix + "0000001")
bench.clock.advance(seconds=300)
attempt(sage.id, prefix + "0000001")
""",
    check=_patience,
)
