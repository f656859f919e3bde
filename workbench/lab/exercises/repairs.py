"""The repairs: broken functions that stand in the notebooks, called here once they were changed.

Each is tried in a sandbox of its own, so that the notebook's books and trace stay as they are.
"""

from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

from workbench.errors import ApiError
from workbench.lab.exercises.shape import Bench, Verdict, done, fresh, kwacha, wrong

_PHONE, _PAYING_PHONE, _REFUSING_PHONE, _UNDECIDED_PHONE = (
    "+260961234567", "+260960000001", "+260960000004", "+260960000012",
)  # fmt: skip

# start_here


def _only_when_paid(bench: Bench, may_leave: Callable[..., Any]) -> Iterator[Verdict]:
    with fresh(bench) as sandbox:
        for status, intent_id in _one_in_each_state(sandbox):
            seen = may_leave(sandbox.client, intent_id)
            if seen is not (status == "succeeded"):
                yield wrong(
                    f"The function is wrong about an intent that is {status}.",
                    seen=repr(seen), expected=repr(status == "succeeded"), at="status",
                )  # fmt: skip
    yield done("Only a paid plant leaves the shop.")


def _one_in_each_state(sandbox: Any) -> Iterator[tuple[str, str]]:  # noqa: ANN401  a Workbench, as of `fresh`
    """An intent's status and id, for every status that an intent may have."""
    pay, handset = sandbox.client, sandbox.phone(_PHONE)

    def new() -> str:
        return str(pay.payment_intents.create(amount=Decimal("35.50"), description="Fern").id)

    yield "requires_payment_method", new()
    waiting = new()
    pay.payment_intents.confirm(waiting, phone=_PHONE, provider="mtn")
    yield "requires_action", waiting
    handset.enter_pin("1234")
    yield "succeeded", waiting
    undecided = new()
    pay.payment_intents.confirm(undecided, phone=_UNDECIDED_PHONE, provider="mtn")
    sandbox.clock.advance(seconds=10)
    yield "processing", undecided
    given_up = new()
    pay.payment_intents.cancel(given_up)
    yield "canceled", given_up


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


def _handed_to_the_app(bench: Bench, for_the_app: Callable[..., Any]) -> Iterator[Verdict]:
    with fresh(bench) as sandbox:
        intent = sandbox.client.payment_intents.create(amount=Decimal("35.50"), description="Lily")
        given = for_the_app(intent, {"secret": sandbox.secret_key, "publishable": sandbox.publishable_key})
        if not isinstance(given, dict):
            yield wrong("The function should return a dict.", at="return")
        if any(sandbox.secret_key in str(each) for each in given.values()):
            yield wrong(
                "The app would get the secret key, and whoever has the app could take it out and use it.",
                seen="sk_test_••••", expected="pk_test_••••", at='secret"]',
            )  # fmt: skip
        if given.keys() != {"key", "id", "client_secret"}:
            yield wrong(
                "The app needs three members and no others.",
                seen=", ".join(given), expected="key, id, client_secret", at="return",
            )  # fmt: skip
        try:
            sandbox.client_with(given["key"]).payment_intents.confirm(
                given["id"], phone=_PHONE, provider="mtn", client_secret=given["client_secret"]
            )
        except ApiError as error:
            yield wrong(f"With this, the app cannot confirm the intent: {error}")
    yield done("The app can confirm this one intent, and nothing else.")


# confirm_with_ussd


def _unknown_is_not_failed(bench: Bench, collect: Callable[..., Any]) -> Iterator[Verdict]:
    with fresh(bench) as sandbox:
        for what, phone, right, at in (
            ("The customer approves.", _PAYING_PHONE, "paid", "return"),
            ("The customer presses cancel.", _REFUSING_PHONE, "failed", "return"),
            ("No answer comes, and the money may still move.", _UNDECIDED_PHONE, "unknown", 'return "failed"'),
        ):
            intent = sandbox.client.payment_intents.create(amount=Decimal("35.50"), description="Basil")
            seen = collect(sandbox.client, intent.id, phone, "mtn")
            if seen != right:
                yield wrong(f"{what} The function is wrong about it.", seen=repr(seen), expected=repr(right), at=at)
    yield done("A wait that times out is reported as unknown, and not as a failure.")


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


# certify_your_endpoint


# going_live


# tokens_and_plants


# your_own_notebooks
