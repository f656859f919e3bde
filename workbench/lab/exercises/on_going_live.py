"""Checks of the notebooks on what is not documented, the exam, and of those beside the course."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from workbench.errors import AuthenticationFailed
from workbench.lab.exercises.functions import brief, line_of
from workbench.lab.exercises.shape import SOMEBODY, Bench, Verdict, calls_of, done, fresh, same, wrong

if TYPE_CHECKING:
    from workbench.domain.wire.trace_rows import TracedCall


def _passes_the_exam(repaired: Any, report: Any) -> Iterator[Verdict]:  # noqa: ANN401  whatever was handed over
    rows = getattr(report, "rows", None)
    if not isinstance(rows, tuple) or not rows:
        yield wrong(
            "The answer should be the report of an exam, as examined(shop) gives it back.",
            seen=type(report).__name__, expected="a report", at="report =",
        )  # fmt: skip
        return
    verdicts = {each.title: each.verdict for each in rows}
    if failed := [title for title, verdict in verdicts.items() if verdict == "failed"]:
        yield wrong(
            f"The shop fails {len(failed)} of {len(rows)} checks, the first of them: {failed[0]}.",
            seen=next(each.came for each in rows if each.verdict == "failed"),
            expected=next(each.expected for each in rows if each.verdict == "failed"), at="examined(",
        )  # fmt: skip
    if left_out := [each.title for each in rows if each.came == "--orders would examine it"]:
        yield wrong(
            f"The exam left {len(left_out)} of {len(rows)} checks out, the first of them: {left_out[0]}. "
            "Let it count the orders.",
            seen=f"{len(left_out)} not examined", expected="none", at="examined(",
        )  # fmt: skip
    arrivals = getattr(getattr(repaired, "receiver", None), "arrivals", None)
    if not arrivals:
        yield wrong(
            "This report is of another shop: no message has reached repaired.",
            seen=type(repaired).__name__ if arrivals is None else "0 messages",
            expected="an examined Shop",
            at="repaired",
        )
    if not repaired.receiver.handlers("plant.watered"):
        yield wrong(
            'All checks are passed by a shop that files nothing: its handler of "*" is gone.',
            seen="no handler", expected='@repaired.receiver.on("*")', at="repaired =",
        )  # fmt: skip
    if all(_is_empty(each) for each in repaired.receiver.handlers("plant.watered")):
        yield wrong(
            'All checks are passed by a shop that files nothing: its handler of "*" does nothing.',
            seen="an empty function", expected="a function that files the event", at="def ",
        )  # fmt: skip
    yield done(f"All {[*verdicts.values()].count('passed')} checks are passed, orders included.")


def _is_empty(handler: object) -> bool:
    """Whether a function names nothing in its code, so that an event cannot be filed by it."""
    code = getattr(handler, "__code__", None)
    return code is not None and not (code.co_names or code.co_freevars)


_GUESSES: tuple[dict[str, object], ...] = (
    {},
    {"confirm_response": "accepted"},
    {"confirm_response": "accepted", "prompt_timeout_s": 180},
)


def _either_way(bench: Bench, prompt_closes: Callable[..., Any]) -> Iterator[Verdict]:
    for gaps in _GUESSES:
        with fresh(bench, gaps=gaps) as sandbox:
            intent = sandbox.client.payment_intents.create(amount=5)
            try:
                told = prompt_closes(sandbox.client, intent.id, SOMEBODY, "mtn")
            except (AttributeError, TypeError) as error:
                if not gaps or not line_of(error):
                    raise
                yield wrong(
                    f"Where the response to confirm has the id and the status alone, your code stopped{line_of(error)}",
                    seen="no next_action in the response", expected="when the prompt closes", at=".confirm(",
                )  # fmt: skip
                return
            action = sandbox.client.payment_intents.retrieve(intent.id).next_action
            if not action:
                yield wrong(
                    "No prompt is on the customer's phone: the function should confirm the intent.",
                    seen="no prompt", expected="a prompt", at="def ",
                )  # fmt: skip
            says = f"Under {gaps or 'the defaults'} the prompt closes at another moment."
            yield from same(told, action.ussd_prompt.expires_at, says, "return", brief)
    yield done("It works whatever the response to confirm contains, and however long a prompt waits.")


def _second_day(bench: Bench, read_intent: Callable[..., Any]) -> Iterator[Verdict]:
    with fresh(bench) as sandbox:
        intent = sandbox.client.payment_intents.create(amount=5)
        token = sandbox.client.auth.token(email="shop@example.com", password="x")  # noqa: S106  any will do here
        tokens = {"access": token.access_token, "refresh": token.refresh_token}
        for day in (1, 2, 3):
            try:
                seen = read_intent(sandbox, tokens, intent.id)
            except AuthenticationFailed as error:
                yield wrong(
                    f"On day {day} the person has to sign in again: {error}",
                    seen="AuthenticationFailed", expected="the intent", at="auth.refresh(",
                )  # fmt: skip
                return
            if getattr(seen, "id", None) != intent.id:
                yield wrong("The function should return the intent.", brief(seen), "the intent", "return")
            yield from _of_calls(calls_of(sandbox), intent.id, day)
            sandbox.clock.advance(days=1)
    yield done("Signed in once, the person reads the intent on three days.")


def _of_calls(calls: "list[TracedCall]", intent_id: str, day: int) -> Iterator[Verdict]:
    """What is wrong with how the intent was read, however often by then."""
    refreshed = sum("/v1/auth/refresh" in each.target for each in calls)
    if refreshed >= day:
        yield wrong(
            f"On day {day} the token was refreshed although it was valid.",
            seen=f"{refreshed} refreshes", expected=str(day - 1), at="auth.refresh(",
        )  # fmt: skip
    if sum("/v1/auth/token" in each.target for each in calls) > 1:
        yield wrong(
            f"On day {day} the function has signed in anew, and a program should keep no password.",
            seen="auth.token", expected="auth.refresh", at="auth.token(",
        )  # fmt: skip
    held = [each.request.headers["Authorization"] for each in calls if each.target.endswith(intent_id)]
    if any("at_" not in each for each in held):
        yield wrong(
            f"On day {day} the intent was read with the secret key, not with the person's token.",
            seen=held[-1], expected="Bearer at_••••", at="bench.client.payment_intents",
        )  # fmt: skip


def _night(nightly: Callable[..., object], status: int) -> tuple[object, list[str]]:
    """What a night returns in which the run ends with this exit status, and what it called."""
    calls: list[str] = []

    def run() -> int:
        calls.append("run")
        return status

    return nightly(run, lambda: calls.append("keep_pages")), calls


def _pages_kept(nightly: Callable[..., object]) -> Iterator[Verdict]:
    for status, outcome in enumerate(("all have passed", "a notebook has failed", "a notebook could not be run")):
        seen, calls = _night(nightly, status)
        if calls != ["run", "keep_pages"]:
            yield wrong(
                f"Called in the night in which {outcome}:",
                seen=", ".join(calls) or "nothing", expected="run, keep_pages", at="keep",
            )  # fmt: skip
        yield from same(seen, status, f"A CI server goes by the exit status, and in this night {outcome}.", "return")
    yield done("The pages are kept each night, and the exit status says whether all notebooks passed.")
