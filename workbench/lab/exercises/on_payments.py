"""Checks of the notebooks on intents, keys and prompts."""

import json
from collections.abc import Callable, Iterator
from decimal import Decimal
from http import HTTPStatus
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

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
    from workbench.domain.wire.intents_and_charges import Charge, PaymentIntent

_Judge = Callable[["PaymentIntent", "list[Charge]", "set[str | None]"], Iterator[Verdict]]
_sold: "WeakKeyDictionary[Any, tuple[set[str], bool]]" = WeakKeyDictionary()
"""By bench: the paid intents that the last check saw, and whether too many of them were new."""


def _sold_once(bench: Bench, name: str, judge: _Judge) -> Iterator[Verdict]:
    """The best sale of this plant, unless the customer has paid for two since the last check.

    A cell that is run again sells another plant, so only new intents count.
    """
    known, too_many = _sold.get(bench, (set[str](), False))
    new = {each.id for each in intents(bench, name) if each.status == "succeeded"} - known
    too_many = len(new) > 1 or (too_many and not new)
    _sold[bench] = known | new, too_many
    if too_many:
        says = f"The customer has paid twice: two intents for one {name}. Create one intent, and run the cell again."
        yield wrong(says, f"{len(new) or 'several'} intents that are paid", "one intent that is paid", ".create(")
    yield from best_sale(bench, name, judge)


_NEXT_STEPS = {
    "requires_payment_method": "The intent for the {} is there, and no prompt was sent yet: confirm it.",
    "requires_action": "A prompt for the {} waits on the phone. Enter the PIN 1234 on it.",
    "canceled": "The intent for the {} was canceled: create another.",
}


def _unpaid(name: str, intent: "PaymentIntent", attempts: "list[Charge]") -> Iterator[Verdict]:
    """What is missing before the customer has paid for this plant."""
    if intent.status == "requires_payment_method" and attempts:
        code = attempts[-1].failure_code
        yield not_yet(f"The last attempt at the {name} has failed with {code}. Confirm the same intent again and pay.")
    if intent.status != "succeeded":
        yield not_yet(_NEXT_STEPS.get(intent.status, f"The intent for the {{}} is {intent.status}.").format(name))


def _second_payment(bench: Bench) -> Iterator[Verdict]:
    def judge(intent: "PaymentIntent", attempts: "list[Charge]", _: set[str | None]) -> Iterator[Verdict]:
        if intent.amount != Decimal("35.50"):
            says = "The amount of the Fern is not its price."
            yield wrong(says, f"K{intent.amount:,.2f}", "K35.50", "amount=")
        yield from _unpaid("Fern", intent, attempts)
        ferns = {each.id for each in intents(bench, "Fern")}
        others = {str(each.phone) for each in bench.looking().charges.each() if each.payment_intent not in ferns}
        if others and attempts[-1].phone not in others:
            says = "Another customer has paid for the Fern. Sell it to the customer of step 2."
            yield wrong(says, str(attempts[-1].phone), " or ".join(sorted(others)), "phone=")
        yield done("The Fern is paid, K35.50, and the ledger has an entry for it.")

    yield from _sold_once(bench, "Fern", judge)


def _second_try(bench: Bench) -> Iterator[Verdict]:
    def judge(intent: "PaymentIntent", attempts: "list[Charge]", met: set[str | None]) -> Iterator[Verdict]:
        codes = [each.failure_code for each in attempts]
        if "wrong_pin" not in codes and "wrong_pin" in met:
            says = "One intent has failed with wrong_pin, and another was created. One intent should see both attempts."
            yield wrong(says, "two intents", "one intent, confirmed twice", ".create(")
        if "wrong_pin" not in codes and attempts and intent.status != "requires_action":
            says = "No attempt at the Basil has failed with wrong_pin: enter a wrong PIN three times in a row."
            yield wrong(says, ", ".join(each or intent.status for each in codes), "wrong_pin, succeeded", ".enter_pin(")
        yield from _unpaid("Basil", intent, attempts)
        if len(numbers := {str(each.phone) for each in attempts}) > 1:
            says = "Another customer has tried again. Create a new intent, and confirm it twice on the same number."
            yield wrong(says, ", ".join(sorted(numbers)), "one number", "phone=")
        yield done(f"One intent, {len(codes)} attempts: wrong_pin, and then paid.")

    yield from _sold_once(bench, "Basil", judge)


def _from_the_app(bench: Bench) -> Iterator[Verdict]:
    def judge(intent: "PaymentIntent", attempts: "list[Charge]", _: set[str | None]) -> Iterator[Verdict]:
        target = f"POST /v1/payment_intents/{intent.id}/confirm"
        confirms = [each for each in calls_of(bench) if each.target == target]
        accepted = [each.request for each in confirms if each.response.status == HTTPStatus.OK]
        if confirms and not accepted:
            response = confirms[-1].response
            says = f"The confirm was rejected: {json_of(response.body).get('message') or response.body}"
            yield wrong(says, str(response.status), "200", ".confirm(")
        keys = [each.headers["Authorization"] for each in accepted]
        if foreign := [each for each in keys if "pk_test" not in each]:
            key = "an access token" if "at_" in foreign[-1] else "the secret key"
            says = f"It was confirmed with {key}, which an app must not hold. Create another, and confirm it with app."
            yield wrong(says, foreign[-1], "Bearer pk_test_••••", ".confirm(")
        yield from _unpaid("Lily", intent, attempts)
        yield done("Created by the shop, confirmed by the app with a publishable key, and paid by the customer.")

    yield from _sold_once(bench, "Lily", judge)


def _only_when_paid(bench: Bench, may_leave: Callable[..., Any]) -> Iterator[Verdict]:
    with fresh(bench) as sandbox:
        retrieve = sandbox.client.payment_intents.retrieve
        for intent_id, what in _one_in_each_state(sandbox):
            status, seen = retrieve(intent_id).status, may_leave(sandbox.client, intent_id)
            says = f"The function changes an intent that is {status}. It should only look."
            yield from same(retrieve(intent_id).status, status, says, "pay.")
            says = f"The function returns {brief(repr(seen))} for an intent that is {status}{what}."
            is_paid = status == "succeeded"
            # What returns nothing says no.
            yield from same(seen if is_paid or seen is not None else False, is_paid, says, "status")
    yield done("Only a paid plant leaves the shop.")


def _one_in_each_state(sandbox: Any) -> Iterator[tuple[str, str]]:  # noqa: ANN401  a Workbench, as of `fresh`
    """The id of an intent in each status, and what came before where the status does not tell."""
    pay, handset = sandbox.client.payment_intents, sandbox.phone(SOMEBODY)
    new, waiting, undecided, given_up, refused = [
        pay.create(amount=Decimal("35.50"), description="Fern").id for _ in range(5)
    ]
    yield new, ""
    pay.confirm(waiting, phone=SOMEBODY, provider="mtn")
    yield waiting, ""
    handset.enter_pin("1234")
    yield waiting, ""
    pay.confirm(undecided, phone=number_of("operator_unknown"), provider="mtn")
    sandbox.clock.advance(seconds=10)
    yield undecided, ""
    pay.cancel(given_up)
    yield given_up, ""
    for key in ("cancel", ""):
        pay.confirm(refused, phone=SOMEBODY, provider="mtn")
        handset.cancel() if key else handset.enter_pin("1234")
        yield refused, " after the customer has pressed cancel" + ("" if key else " and tried again")


def _priced_in_ngwee(bench: Bench, order: Callable[..., Any]) -> Iterator[Verdict]:
    with fresh(bench) as sandbox:
        for count, (minor, number) in enumerate(((8_735, "A-17"), (5, "A-18"), (120_000, "B-1")), 1):
            intent = order(sandbox.client, minor, number)
            if getattr(intent, "object", None) != "payment_intent":
                yield wrong("The function should return the intent.", brief(intent), "a PaymentIntent", "return")
            says = f"The function charges {kwacha(int(intent.amount * 100))} for a price of {minor} ngwee."
            yield from same(int(intent.amount * 100), minor, says, "amount=", kwacha)
            says = f"The amount is right, and the intent of order {number} has another {{}} than before."
            yield from same(intent.metadata, {"order": number}, says.format("metadata"), "metadata=")
            yield from same(intent.description, "Orchid", says.format("description"), "description=")
            made = len([*sandbox.client.payment_intents.each()])
            yield from same(made, count, "The function has created two intents for one order.", ".create(")
    yield done("8735 ngwee are K87.35, and 5 ngwee are K0.05.")


_ASKED = {
    "approve": ("The customer approves.", ["paid"]),
    "declined_by_customer": ("The customer presses cancel.", ["failed"]),
    "operator_unknown": ("No answer comes, and the money may still move.", ["unknown"]),
    "prompt_timeout": ("The prompt is still open, and the customer may yet pay.", ["unknown"]),
}
"""By scenario: what happens, and what may be returned."""


def _unknown_is_not_failed(bench: Bench, collect: Callable[..., Any]) -> Iterator[Verdict]:
    with fresh(bench) as sandbox:
        pay = sandbox.client
        for scenario, (what, right) in _ASKED.items():
            intent = pay.payment_intents.create(amount=Decimal("35.50"), description="Basil")
            seen = collect(pay, intent.id, number_of(scenario), "mtn")
            status = pay.payment_intents.retrieve(intent.id).status
            if status == "canceled":
                says = f"{what} The function cancels the payment instead of reporting what it knows."
                yield wrong(says, status, "an open payment", ".cancel(")
            # Of a function that waits longer: that attempt has failed, and late money may still come.
            may_be = [*right, "failed"] if status == "requires_payment_method" else right
            if seen not in may_be:
                says = f"{what} The function returns {brief(repr(seen))} while the intent is {status}."
                yield from same(
                    seen, right[0], says, f"return {json.dumps(seen)}" if isinstance(seen, str) else "return"
                )
            prompts = sum(each.payment_intent == intent.id for each in pay.charges.each())
            says = f"{what} The function sends {prompts} prompts: it should ask the customer once."
            yield from same(prompts, 1, says, ".confirm(")
    yield done("A wait that times out is reported as unknown, and not as a failure.")
