"""Checks of the notebooks on intents, keys and prompts."""

import json
from collections.abc import Callable, Iterator
from decimal import Decimal
from functools import partial
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from workbench.lab.exercises.functions import brief
from workbench.lab.exercises.looking import best_sale, intents, json_of
from workbench.lab.exercises.shape import (
    SOMEBODY,
    Bench,
    Verdict,
    calls_of,
    done,
    fresh,
    kwacha,
    not_yet,
    number_of,
    same,
    wrong,
)

if TYPE_CHECKING:
    from workbench.domain.wire import Charge, PaymentIntent
    from workbench.domain.wire.trace_rows import TracedCall


def _calls_to(bench: Bench, target: str) -> "list[TracedCall]":
    """The calls of a method and path, such as `POST /v1/charges`."""
    return [each for each in calls_of(bench) if each.target == target]


def _reason(call: "TracedCall") -> str:
    """Why the service refused a call, in its own words."""
    return str(json_of(call.response.body).get("message") or call.response.body)


_FERN_PRICE = Decimal("35.50")


_NEXT_STEPS = {
    "requires_payment_method": "The intent for the Fern is there, and no prompt was sent yet: confirm it.",
    "requires_action": "A prompt for the Fern waits on the phone. Enter the PIN 1234 on it.",
    "processing": "The operator is still processing the payment for the Fern.",
    "canceled": "The intent for the Fern was canceled: create another.",
}


def _second_payment(bench: Bench) -> Iterator[Verdict]:
    yield from best_sale(bench, "Fern", partial(_of_fern, bench))


def _of_fern(bench: Bench, intent: "PaymentIntent", attempts: "list[Charge]", _: set[str | None]) -> Iterator[Verdict]:
    if intent.amount != _FERN_PRICE:
        yield wrong(
            "The amount of the Fern is not its price.",
            seen=_of_intent(intent), expected=f"K{_FERN_PRICE}", at="amount=",
        )  # fmt: skip
    if intent.status == "requires_payment_method" and attempts:
        yield not_yet(
            f"The last attempt at the Fern has failed with {attempts[-1].failure_code}. Confirm the same intent again, "
            "and enter the PIN."
        )
    if intent.status != "succeeded":
        yield not_yet(_NEXT_STEPS.get(intent.status, f"The intent for the Fern is {intent.status}."))
    ferns = {each.id for each in intents(bench, "Fern")}
    others = {each.phone for each in bench.looking().charges.each() if each.payment_intent not in ferns}
    if others and attempts[-1].phone not in others:
        yield wrong(
            "Another customer has paid for the Fern. Sell it to the customer of step 2.",
            seen=str(attempts[-1].phone), expected=" or ".join(sorted(map(str, others))), at="phone=",
        )  # fmt: skip
    yield done(f"The Fern is paid, K{_FERN_PRICE}, and the ledger has an entry for it.")


def _of_intent(intent: "PaymentIntent") -> str:
    """Its amount for a sentence, which may have been chosen freely."""
    return f"K{intent.amount:,.2f}"


def _second_try(bench: Bench) -> Iterator[Verdict]:
    yield from best_sale(bench, "Basil", _of_basil)


def _of_basil(intent: "PaymentIntent", attempts: "list[Charge]", codes_met: set[str | None]) -> Iterator[Verdict]:
    codes = [each.failure_code for each in attempts]
    if not codes:
        yield not_yet("The intent for the Basil is there, and not confirmed.")
    if intent.status == "requires_action":
        yield not_yet("A prompt is open on the phone: it waits for a PIN.")
    if "wrong_pin" not in codes and "wrong_pin" in codes_met:
        yield wrong(
            "One intent has failed with wrong_pin, and another intent was paid. One intent should see both.",
            seen="two intents", expected="one intent, confirmed twice", at=".create(",
        )  # fmt: skip
    if "wrong_pin" not in codes:
        yield wrong(
            "No attempt at the Basil has failed with wrong_pin: enter a wrong PIN three times, one after another.",
            seen=", ".join(code or "no failure" for code in codes), expected="wrong_pin, no failure", at=".enter_pin(",
        )  # fmt: skip
    if intent.status != "succeeded":
        yield not_yet("The first attempt has failed with wrong_pin, as it should. Now confirm the same intent again.")
    numbers = {each.phone for each in attempts}
    if len(numbers) > 1:
        yield wrong(
            "Another customer has tried again. Create a new intent, and confirm it twice on the same number.",
            seen=", ".join(sorted(map(str, numbers))), expected="one number", at="phone=",
        )  # fmt: skip
    yield done(f"One intent, {len(codes)} attempts: wrong_pin, and then paid.")


def _from_the_app(bench: Bench) -> Iterator[Verdict]:
    yield from best_sale(bench, "Lily", partial(_of_the_app, bench))


def _of_the_app(bench: Bench, intent: "PaymentIntent", _: "list[Charge]", __: set[str | None]) -> Iterator[Verdict]:
    confirms = _calls_to(bench, f"POST /v1/payment_intents/{intent.id}/confirm")
    if not confirms:
        yield not_yet("The intent for the Lily is there, and not confirmed.")
    went_through = [each for each in confirms if each.response.status == HTTPStatus.OK]
    if not went_through:
        yield wrong(
            f"The confirm was rejected: {_reason(confirms[-1])}",
            seen=str(confirms[-1].response.status), expected="200", at=".confirm(",
        )  # fmt: skip
    held = [each.request.headers["Authorization"] for each in went_through]
    if any("pk_test" not in each for each in held):
        key = "an access token" if any("at_" in each for each in held) else "the secret key"
        yield wrong(
            f"It was confirmed with {key}, which an app must not hold. Create another, and confirm it with app.",
            seen=held[-1], expected="Bearer pk_test_••••", at=".confirm(",
        )  # fmt: skip
    if intent.status != "succeeded":
        yield not_yet(f"The app has confirmed it. It is {intent.status}: the customer has a PIN to enter.")
    yield done("Created by the shop, confirmed by the app with a publishable key, and paid by the customer.")


def _only_when_paid(bench: Bench, may_leave: Callable[..., Any]) -> Iterator[Verdict]:
    with fresh(bench) as sandbox:
        for status, intent_id in _one_in_each_state(sandbox):
            says = f"The function is wrong about an intent that is {status}."
            yield from same(may_leave(sandbox.client, intent_id), status == "succeeded", says, "status")
    yield done("Only a paid plant leaves the shop.")


def _one_in_each_state(sandbox: Any) -> Iterator[tuple[str, str]]:  # noqa: ANN401  a Workbench, as of `fresh`
    """An intent's status and id, for every status that an intent may have."""
    pay, handset = sandbox.client, sandbox.phone(SOMEBODY)

    def new() -> str:
        return str(pay.payment_intents.create(amount=Decimal("35.50"), description="Fern").id)

    yield "requires_payment_method", new()
    waiting = new()
    pay.payment_intents.confirm(waiting, phone=SOMEBODY, provider="mtn")
    yield "requires_action", waiting
    handset.enter_pin("1234")
    yield "succeeded", waiting
    undecided = new()
    pay.payment_intents.confirm(undecided, phone=number_of("operator_unknown"), provider="mtn")
    sandbox.clock.advance(seconds=10)
    yield "processing", undecided
    given_up = new()
    pay.payment_intents.cancel(given_up)
    yield "canceled", given_up


def _priced_in_ngwee(bench: Bench, order: Callable[..., Any]) -> Iterator[Verdict]:
    with fresh(bench) as sandbox:
        for minor, number in ((8_735, "A-17"), (5, "A-18"), (120_000, "B-1")):
            intent = order(sandbox.client, minor, number)
            if getattr(intent, "object", None) != "payment_intent":
                yield wrong(
                    "The function should return the intent.",
                    seen=brief(intent), expected="a PaymentIntent", at="return",
                )  # fmt: skip
            says = "An intent counts kwacha, and the shop's price is in ngwee."
            yield from same(int(intent.amount * 100), minor, says, "amount=", kwacha)
            says = f"The amount is right, and the intent of order {number} has another {{}} than before."
            yield from same(intent.metadata, {"order": number}, says.format("metadata"), "metadata=")
            yield from same(intent.description, "Orchid", says.format("description"), "description=")
    yield done("8735 ngwee are K87.35, and 5 ngwee are K0.05.")


_ASKED = {
    "approve": "The customer approves.",
    "declined_by_customer": "The customer presses cancel.",
    "operator_unknown": "No answer comes, and the money may still move.",
    "prompt_timeout": "The prompt is still open, and the customer may yet pay.",
}


_DECIDED = {"approve": "paid", "declined_by_customer": "failed"}


_OUTCOMES = {"succeeded": "paid", "requires_payment_method": "failed"}


def _unknown_is_not_failed(bench: Bench, collect: Callable[..., Any]) -> Iterator[Verdict]:
    with fresh(bench) as sandbox:
        for scenario, what in _ASKED.items():
            intent = sandbox.client.payment_intents.create(amount=Decimal("35.50"), description="Basil")
            seen = collect(sandbox.client, intent.id, number_of(scenario), "mtn")
            status = sandbox.client.payment_intents.retrieve(intent.id).status
            # Of a function that waits longer, a prompt without an answer may have failed.
            right = _DECIDED.get(scenario) or _OUTCOMES.get(status, "unknown")
            says = f"{what} The function returns while the intent is {status}, and is wrong about it."
            yield from same(seen, right, says, f"return {json.dumps(seen)}" if seen else "return")
    yield done("A wait that times out is reported as unknown, and not as a failure.")
