"""Checks of the notebook on going live, and of the notebooks beside the course."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from workbench.errors import AuthenticationFailed
from workbench.lab.exercises.functions import brief, line_of
from workbench.lab.exercises.shape import Bench, Verdict, calls_of, done, fresh, same, wrong

if TYPE_CHECKING:
    from workbench.domain.wire.ledger_and_trace import TracedCall


_SUBJECTS = {"payment_intent": "orders", "charge": "orders", "refund": "orders", "payout": "bank"}
"""What the strict shop of the notebook files each event under."""


def _passes_the_exam(examined: Any, Repaired: Any) -> Iterator[Verdict]:  # noqa: ANN401, N803  whatever, a class
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
"""Rows that are switched, and the customer of that sandbox."""


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
            confirms = sum(call.target.endswith(f"{intent.id}/confirm") for call in calls_of(sandbox))
            says = f"{where}, your code sent {confirms} confirms."
            yield from same(confirms, 1, says, ".confirm(", brief)
            rung = " and ".join(number for _, _, number in _WAYS if sandbox.phone(number).waiting)
            says = f"{where}, the prompt is not on this customer's phone alone."
            yield from same(rung or "none", phone, says, "phone=", str)
            closes = sandbox.client.payment_intents.retrieve(intent.id).next_action.ussd_prompt.expires_at
            says = f"{where}, your function returned another moment than that at which the prompt closes."
            yield from same(seen, closes, says, "return", brief)
    yield done("It works whatever the response to the confirm contains, and however long a prompt waits.")


def _second_day(bench: Bench, read_intent: Callable[..., Any]) -> Iterator[Verdict]:
    with fresh(bench) as sandbox:
        intent = sandbox.client.payment_intents.create(amount=5)
        token = sandbox.client.auth.token(email="shop@example.com", password="x")  # noqa: S106  any will do here
        tokens = {"access": token.access_token, "refresh": token.refresh_token}
        retired = dict(tokens)
        for day in (1, 2, 3):
            try:
                seen = read_intent(sandbox, tokens, intent.id)
            except AuthenticationFailed as error:
                says = f"On day {day} the person has to sign in again: {error}"
                yield wrong(says, "AuthenticationFailed", "the intent", "auth.refresh(")
                return
            if getattr(seen, "id", None) != intent.id:
                yield wrong(
                    f"On day {day} the function did not return the intent.", brief(seen), "the intent", "return"
                )
            yield from _of_calls(calls_of(sandbox), intent.id, day)
            sandbox.clock.advance(days=1)
        with suppress(AuthenticationFailed):
            read_intent(sandbox, retired, intent.id)
            says = "With a refresh token that is refused, the person has to sign in again: raise the error."
            yield wrong(says, "no error", "AuthenticationFailed", "except")
    yield done("Signed in once, the person reads the intent on three days.")


def _of_calls(calls: "list[TracedCall]", intent_id: str, day: int) -> Iterator[Verdict]:
    """What is wrong with how the intent was read, however often by then."""
    refreshed = sum("/v1/auth/refresh" in call.target for call in calls)
    if refreshed >= day:
        says = f"On day {day} the function refreshed a token that was still valid."
        yield wrong(says, f"refreshes: {refreshed}", f"refreshes: {day - 1}", "auth.refresh(")
    if sum("/v1/auth/token" in call.target for call in calls) > 1:
        says = f"On day {day} the function has signed in anew, and a program should keep no password."
        yield wrong(says, "auth.token", "auth.refresh", "auth.token(")
    held = [call.request.headers["Authorization"] for call in calls if call.target.endswith(intent_id)]
    if any("at_" not in header for header in held):
        says = f"On day {day} the intent was read with the secret key, not with the person's token."
        yield wrong(says, held[-1], "Bearer at_••••", "bench.client.payment_intents")


def _pages_kept(nightly: Callable[..., object]) -> Iterator[Verdict]:
    for status, outcome in enumerate(("all passed", "a notebook failed", "a notebook could not be run")):
        calls: list[str] = []

        def run(status: int = status, calls: list[str] = calls) -> int:
            calls.append("run")
            return status

        seen = nightly(run, partial(calls.append, "keep_pages"))
        says = f"In a night in which {outcome}, your function called these:"
        yield from same(", ".join(calls) or "nothing", "run, keep_pages", says, "keep", str)
        says = f"In a night in which {outcome}, your function returned another exit status than run did."
        yield from same(seen, status, says, "return")
    yield done("The pages are kept each night, and the exit status says whether all notebooks passed.")
