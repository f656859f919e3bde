"""Notebook 8: lost for four days, and found."""

from typing import TYPE_CHECKING

from workbench.lab.exercises.facts import intents_for
from workbench.lab.exercises.shape import Exercise, Verdict, done, not_yet, wrong

if TYPE_CHECKING:
    from workbench.bench import Workbench

_ATTEMPTS = 10
"""After so many without success a delivery is a dead letter."""


def _lost_and_found(bench: "Workbench") -> Verdict:
    found = intents_for(bench, "Rose")
    if not found:
        return not_yet("No Rose has been sold.")
    intent = found[-1]
    if intent.status != "succeeded":
        return not_yet("The customer has not paid for the Rose.")
    told = [
        row["result"]
        for row in bench.trace.for_(intent.id)
        if row["kind"] == "webhook" and row["what"] == "payment_intent.succeeded"
    ]
    arrived = told[-1].startswith("200")
    lost = len(told) - arrived >= _ATTEMPTS
    if arrived and not lost:
        return wrong("The shop was told of the Rose while its database was up. Sell another while it is down.")
    if not lost:
        return not_yet(f"{len(told)} attempts to tell the shop have failed. After the tenth it is a dead letter.")
    if not arrived:
        return not_yet("It is a dead letter. Bring the database back, and have it replayed.")
    return done("Lost as a dead letter, replayed, and taken by the shop.")


EXERCISES = (
    Exercise(
        name="lost_and_found",
        notebook="08_retries_dead_letters_and_replay",
        title="Lost for four days, and found",
        task='Sell a Rose, sell("Rose"), while the shop\'s database is down, let the message become a dead letter, and '
        "then get the shop to know of it.",
        hints=(
            "database_is_up is the switch.",
            "bench.clock.advance(days=4) is longer than ten attempts take.",
            "pay.deliveries.replay_dead_letters() sends every dead letter again. The database should be up by then.",
        ),
        solution="""\
database_is_up = False
sell("Rose")
bench.clock.advance(days=4)
database_is_up = True
pay.deliveries.replay_dead_letters()
""",
        check=_lost_and_found,
    ),
)
