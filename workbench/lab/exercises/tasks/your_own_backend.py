"""Notebook 10: what the shop knows of an order that the customer refused."""

from collections.abc import Iterator
from typing import Any

from workbench.lab.exercises.facts import Bench, attempts_at
from workbench.lab.exercises.shape import Exercise, Verdict, done, first_verdict, not_yet, wrong

_REFUSED = "declined_by_customer"


def _is_intent(bench: Bench, name: object) -> bool:
    return any(each.id == name for each in bench.looking().payment_intents.each())


@first_verdict
def _refused_order(bench: Bench, mint: dict[str, Any]) -> Iterator[Verdict]:
    if (
        not isinstance(mint, dict)
        or not isinstance(mint.get("status"), str)
        or not _is_intent(bench, mint.get("intent"))
    ):
        yield wrong("The answer should be the order as the shop answers with it: its intent, its status and the rest.")
    if mint.get("plant", "Mint") != "Mint":
        yield wrong(f"This is the order of a {mint['plant']}. Order a Mint, and read that one.")
    attempts = attempts_at(bench, mint["intent"])
    if not attempts:
        yield not_yet("The shop has asked nobody for the money yet.")
    last = attempts[-1]
    if last.status == "pending":
        yield not_yet("The prompt is on the customer's phone. Refuse the payment there.")
    if last.failure_code != _REFUSED:
        yield wrong(f"The customer did not refuse: the charge is {last.status} ({last.failure_code or 'paid'}).")
    if mint["status"] == "open":
        yield wrong("The customer has refused, and this is the order as it was before. Ask the shop for it again.")
    if _REFUSED not in mint["status"]:
        yield wrong(f"The shop says {mint['status']!r} of an order that the customer has refused.")
    yield done("Refused on the phone, told by webhook, and the order is open with its reason.")


REFUSED_ORDER = Exercise(
    name="refused_order",
    notebook="10_your_own_backend",
    title="An order that the customer refuses",
    task="Order a Mint at the shop, refuse the payment on the customer's phone, and then read the order at the "
    "shop again. Put what the shop says into mint.",
    hints=(
        'buy("Mint") orders it. bench.phone(phone).cancel() is the key that refuses.',
        "bench.clock.advance(0) waits until the webhook has been delivered.",
        'browse(f"/orders/{number}") reads an order; the number stands in what buy has returned.',
    ),
    solution="""\
mint = buy("Mint")
bench.phone(phone).cancel()
bench.clock.advance(0)
mint = browse(f"/orders/{mint['number']}")
""",
    check=_refused_order,
)
