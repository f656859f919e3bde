"""Notebook 7: patience with an operator that is down."""

from typing import TYPE_CHECKING

from workbench.lab.exercises.facts import most_tried
from workbench.lab.exercises.shape import Exercise, Verdict, done, not_yet, wrong

if TYPE_CHECKING:
    from workbench.bench import Workbench


def _patience(bench: "Workbench") -> Verdict:
    found = most_tried(bench, "Sage")
    if found is None:
        return not_yet("No intent with the description Sage is there.")
    intent, codes = found
    if not codes:
        return not_yet("The intent for the Sage is there, and not confirmed.")
    if "operator_unavailable" not in codes:
        return wrong("The operator was not down when you tried: begin the outage first, and take a new intent.")
    if intent.status != "succeeded":
        return not_yet("The first attempt has met the outage. Let time pass, and confirm the same intent again.")
    return done(f"One intent, {len(codes)} attempts, paid once the operator was back.")


EXERCISES = (
    Exercise(
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
    ),
)
