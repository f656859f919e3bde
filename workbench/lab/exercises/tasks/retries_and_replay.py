"""Notebook 8: lost for four days, and found."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from workbench.lab.exercises.facts import Bench, intents_for
from workbench.lab.exercises.shape import Exercise, Verdict, best_of, done, first_verdict, not_yet, wrong

if TYPE_CHECKING:
    from workbench.domain.wire import PaymentIntent

_MAX_ATTEMPTS = 10
"""After so many without success a delivery is a dead letter."""


def _lost_and_found(bench: Bench) -> Verdict:
    verdict = best_of(_of_rose(bench, each) for each in intents_for(bench, "Rose"))
    return verdict or not_yet("No Rose has been sold.")


@first_verdict
def _of_rose(bench: Bench, intent: "PaymentIntent") -> Iterator[Verdict]:
    from workbench.domain.wire.trace import webhook_of

    if intent.status != "succeeded":
        yield not_yet("The customer has not paid for the Rose.")
    shops = {each.id for each in bench.looking().webhook_endpoints.each() if each.url == bench.receiver_url}
    has_arrived = [
        row["result"].startswith("2")
        for row in bench.trace.for_(intent.id)
        if row["kind"] == "webhook" and row["what"] == "payment_intent.succeeded" and webhook_of(row).endpoint in shops
    ]
    failed = has_arrived.index(True) if True in has_arrived else len(has_arrived)
    if not has_arrived:
        yield not_yet("The shop was not told of the Rose: its endpoint has to be there and enabled when it is sold.")
    if has_arrived[0]:
        yield wrong("The shop was told of the Rose while its database was up. Sell another while it is down.")
    if failed < _MAX_ATTEMPTS and True in has_arrived:
        yield wrong(f"Attempt {failed + 1} has reached the shop, before it was a dead letter. Keep the database down.")
    if failed < _MAX_ATTEMPTS:
        yield not_yet(f"{failed} attempts to tell the shop have failed. After the tenth it is a dead letter.")
    if True not in has_arrived:
        yield not_yet("It is a dead letter. Bring the database back, and have it replayed.")
    yield done("Lost as a dead letter, replayed, and taken by the shop.")


LOST_AND_FOUND = Exercise(
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
)
