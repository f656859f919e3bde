"""Checks of the notebook on going live."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from workbench.lab.exercises.functions import Given, brief, line_of
from workbench.lab.exercises.shape import Bench, Verdict, done, fresh, same, wrong

_SUBJECTS = {"payment_intent": "orders", "charge": "orders", "refund": "orders", "payout": "bank"}
"""Object of an event → the subject under which the notebook's strict shop files the event."""


def _passes_the_exam(examined: Given, Repaired: Given) -> Iterator[Verdict]:  # noqa: N803  a class
    if not (callable(examined) and callable(Repaired)):
        says = "Repaired should be a class, or a function, that takes a sandbox and returns a shop."
        yield wrong(says, type(Repaired).__name__, "class Repaired(Strict)", "Repaired =")
        return
    shops: list[Any] = []

    def kept(bench: Bench) -> object:
        shops.append(Repaired(bench))
        return shops[-1]

    rows = examined(kept).rows
    if failed := [row for row in rows if row.verdict == "failed"]:
        first = failed[0]
        says = f"The shop fails {len(failed)} of {len(rows)} checks, the first of them: {first.title}. {first.why}"
        yield wrong(says, first.came, first.expected, "class ")
    if left_out := [row.title for row in rows if row.came == "--orders would examine it"]:
        says = f"The exam left {len(left_out)} of {len(rows)} checks out, the first of them: {left_out[0]}."
        yield wrong(f"{says} Let it count the orders.", f"{len(left_out)} not examined", "none", "examined")
    files = getattr(shops[-1], "files", None)
    if not isinstance(files, Mapping):
        yield wrong("The shop has no files any more.", type(files).__name__, "files: event id → subject", "class ")
        return
    for event in shops[-1].receiver.events:
        subject = _SUBJECTS.get(event.type.partition(".")[0], "other")
        says = f"The shop has accepted an event of the type {event.type} and has not filed it under {subject!r}."
        yield from same(files.get(event.id, "not filed"), subject, says, "files")
    says = "The shop has more in its files than the events that it has accepted."
    yield from same(len(files), len(shops[-1].receiver.events), says, "files", str)
    passed = sum(row.verdict == "passed" for row in rows)
    yield done(f"All {passed} examined checks are passed, orders included, and each event is filed.")


_WAYS: tuple[tuple[dict[str, object], str, str], ...] = (
    ({}, "mtn", "+260961234567"),
    ({"confirm_response": "accepted"}, "airtel", "+260971234567"),
    ({"confirm_response": "accepted", "prompt_timeout_s": 180}, "zamtel", "+260951234567"),
)
"""Rows to switch in a sandbox, and its customer's operator and phone."""


def _either_way(bench: Bench, prompt_closes: Callable[..., Any]) -> Iterator[Verdict]:
    for gaps, operator, phone in _WAYS:
        where = f"With {', '.join(f'{name} = {value}' for name, value in gaps.items()) or 'the defaults'}"
        with fresh(bench, gaps=gaps) as sandbox:
            intent = sandbox.client.payment_intents.create(amount=5)
            try:
                seen = prompt_closes(sandbox.client, intent.id, phone, operator)
            except (AttributeError, TypeError) as error:
                if not gaps or not line_of(error):
                    raise
                says = f"{where}, the response to the confirm has only id and status. Your code stopped{line_of(error)}"
                yield wrong(says, "no next_action in the response", "when the prompt closes", ".confirm(")
                return
            confirms = sum(f"/{intent.id}/confirm " in exchange.request for exchange in sandbox.trace.exchanges)
            says = f"{where}, your code sent {confirms} confirms."
            yield from same(confirms, 1, says, ".confirm(", brief)
            rung = " and ".join(number for _, _, number in _WAYS if sandbox.phone(number).waiting)
            says = f"{where}, the prompt is not on this customer's phone alone."
            yield from same(rung or "none", phone, says, "phone=", str)
            closes = sandbox.client.payment_intents.retrieve(intent.id).next_action.ussd_prompt.expires_at
            says = f"{where}, your function did not return the moment at which the prompt closes."
            yield from same(seen, closes, says, "return", brief)
    yield done("It works whatever the response to the confirm contains, and however long a prompt waits.")
