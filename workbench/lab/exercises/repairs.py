"""The repairs: broken functions that stand in the notebooks, called here once they were changed.

Each is tried in a sandbox of its own, so that the notebook's books and trace stay as they are.
"""

from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

from workbench.errors import AuthenticationFailed
from workbench.lab.exercises.shape import Bench, Verdict, done, fresh, kwacha, wrong

# start_here


# how_mobile_money_works


# create_an_intent


def _priced_in_ngwee(bench: Bench, order: Callable[..., Any]) -> Iterator[Verdict]:
    with fresh(bench) as sandbox:
        for minor in (8_735, 5, 120_000):
            intent = order(sandbox.client, minor, "A-17")
            if getattr(intent, "object", None) != "payment_intent":
                yield wrong("The function should return the intent.", at="return")
            if intent.amount != Decimal(minor) / 100:
                yield wrong(
                    "An intent counts kwacha, and the shop's price is in ngwee.",
                    seen=kwacha(int(intent.amount * 100)), expected=kwacha(minor), at="amount=",
                )  # fmt: skip
            if intent.metadata != {"order": "A-17"}:
                yield wrong("The order's number is gone.", seen=str(intent.metadata), expected="{'order': 'A-17'}")
    yield done("8735 ngwee are K87.35, and 5 ngwee are K0.05.")


# keys


# confirm_with_ussd


# read_the_ledger


# after_the_payment


# verify_webhooks


# charge_in_one_call


# when_payments_fail


# retries_dead_letters_and_replay


# idempotency


# your_own_backend


# for_support_staff


# explore_a_month


# reconcile_a_statement


# settle_and_decide


# when_the_data_outgrows_the_laptop


# what_is_not_documented

_GUESSES: tuple[dict[str, object], ...] = (
    {},
    {"confirm_response": "accepted"},
    {"confirm_response": "accepted", "prompt_timeout_s": 180},
)


def _either_way(bench: Bench, prompt_closes: Callable[..., Any]) -> Iterator[Verdict]:
    for gaps in _GUESSES:
        with fresh(bench, gaps=gaps) as sandbox:
            intent = sandbox.client.payment_intents.create(amount=5)
            told = prompt_closes(sandbox.client, intent.id, "+260961234567", "mtn")
            action = sandbox.client.payment_intents.retrieve(intent.id).next_action
            if not action:
                yield wrong("No prompt is on the customer's phone: the function should confirm the intent.")
            if told != action.ussd_prompt.expires_at:
                yield wrong(
                    f"Under {gaps or 'the defaults'} the prompt closes at another moment.",
                    seen=str(told), expected=str(action.ussd_prompt.expires_at), at="return",
                )  # fmt: skip
    yield done("It works whatever the response to confirm contains, and however long a prompt waits.")


# certify_your_endpoint

_NOW_S = 1_767_592_800
_SIGNED = (
    ("A message of this second", str(_NOW_S), True), ("A message from 299 s ago", str(_NOW_S - 299), True),
    ("A message from 299 s ahead", str(_NOW_S + 299), True), ("A message from an hour ago", str(_NOW_S - 3600), False),
    ("A message from an hour ahead", str(_NOW_S + 3600), False), ("A header that is missing", None, False),
    ("A header that makes no sense", "soon", False),
)  # fmt: skip


def _fresh_both_ways(is_fresh: Callable[..., object]) -> Iterator[Verdict]:
    for title, timestamp, expected in _SIGNED:
        if (seen := bool(is_fresh(timestamp, _NOW_S))) is not expected:
            does = "is accepted" if seen else "is refused"
            yield wrong(f"{title} {does}.", seen=str(seen), expected=str(expected), at="return")
    yield done("Old messages and messages from the future are refused, and a clock may be off by some minutes.")


# going_live


def _alert_that_fires(bench: Bench, stale: Callable[..., Any]) -> Iterator[Verdict]:
    with fresh(bench) as sandbox:
        pay = sandbox.client
        lost, paid, failed, unasked = (pay.payment_intents.create(amount=5).id for _ in range(4))
        for each, ending in ((lost, 12), (paid, 1), (failed, 2)):
            pay.payment_intents.confirm(each, phone=f"+26096{ending:07}", provider="mtn")
        sandbox.clock.advance(minutes=20)
        recent = pay.payment_intents.create(amount=5).id
        pay.payment_intents.confirm(recent, phone="+260970000012", provider="airtel")
        sandbox.clock.advance(minutes=1)
        named = list(stale(pay, sandbox.clock.now_ms // 1000))
        quiet = {paid: "has succeeded", failed: "has failed", unasked: "nobody confirmed", recent: "is a minute old"}
        for why in (quiet[each] for each in named if each in quiet):
            yield wrong(f"The alert names a payment that {why}.", seen=f"{len(named)} payments", expected="1", at="if")
        if named != [lost]:
            yield wrong(
                "An operator has not answered for 21 minutes, and the alert does not name that payment.",
                seen=str(named), expected=str([lost]), at="if",
            )  # fmt: skip
    yield done("The alert names the payment that is still undecided after 10 minutes, and no other.")


# tokens_and_plants


def _second_day(bench: Bench, read_intent: Callable[..., Any]) -> Iterator[Verdict]:
    with fresh(bench) as sandbox:
        intent = sandbox.client.payment_intents.create(amount=5)
        token = sandbox.client.auth.token(email="shop@example.com", password="x")  # noqa: S106  any will do here
        tokens = {"access": token.access_token, "refresh": token.refresh_token}
        for day in (1, 2, 3):
            try:
                seen = read_intent(sandbox, tokens, intent.id)
            except AuthenticationFailed as error:
                yield wrong(f"On day {day} the person has to sign in again: {error}", at="auth.refresh(")
                return
            if getattr(seen, "id", None) != intent.id:
                yield wrong("The function should return the intent.", at="return")
            refreshed = sum("/v1/auth/refresh" in each.request for each in sandbox.trace.exchanges)
            if refreshed >= day:
                yield wrong(
                    f"On day {day} the token was refreshed although it was valid.",
                    seen=f"{refreshed} refreshes", expected=str(day - 1), at="auth.refresh(",
                )  # fmt: skip
            sandbox.clock.advance(days=1)
    yield done("Signed in once, the person reads the intent on three days.")


# your_own_notebooks


def _night(nightly: Callable[..., object], status: int) -> tuple[object, list[str]]:
    """What a night returns in which the run ends with this exit status, and what it called."""
    calls: list[str] = []

    def run() -> int:
        calls.append("run")
        return status

    return nightly(run, lambda: calls.append("keep_pages")), calls


def _pages_kept(nightly: Callable[..., object]) -> Iterator[Verdict]:
    for status in (0, 1):
        seen, calls = _night(nightly, status)
        if calls != ["run", "keep_pages"]:
            outcome = "a notebook has failed" if status else "all have passed"
            yield wrong(
                f"Called in the night in which {outcome}:", seen=", ".join(calls), expected="run, keep_pages", at="keep"
            )
        if seen != status:
            yield wrong("A CI server goes by the exit status.", seen=str(seen), expected=str(status), at="return")
    yield done("The pages are kept each night, and the exit status says whether all notebooks passed.")
