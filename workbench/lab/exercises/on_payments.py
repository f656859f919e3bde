"""Checks of the notebooks on intents, keys and prompts."""

import json
from collections.abc import Callable, Iterator
from decimal import Decimal
from http import HTTPStatus
from typing import Any

from workbench.lab.exercises.functions import brief
from workbench.lab.exercises.looking import Sale, charges, json_of, sale_of
from workbench.lab.exercises.shape import SOMEBODY, Bench, Verdict, done, fresh, kwacha, number_of, same, wrong


@sale_of("Fern", is_sold_once=True)
def _second_payment(bench: Bench, fern: Sale) -> Iterator[Verdict]:
    if fern.intent.amount != Decimal("35.50"):
        yield wrong("The amount of the Fern is not its price.", f"K{fern.intent.amount:,.2f}", "K35.50", "amount=")
    yield from fern.unpaid()
    phone = str(fern.attempts[-1].phone)
    customers = {str(charge.phone) for charge in charges(bench) if charge not in fern.of_plant}
    if customers and phone not in customers:
        says = "Another customer has paid for the Fern. Sell it to the customer of step 2."
        yield wrong(says, phone, " or ".join(sorted(customers)), "phone=")
    yield done("The Fern is paid, K35.50, and the ledger has an entry for it.")


@sale_of("Basil", is_sold_once=True)
def _second_try(_: Bench, basil: Sale) -> Iterator[Verdict]:
    yield from basil.never_met("wrong_pin")
    if "wrong_pin" not in basil.codes and basil.attempts and basil.intent.status != "requires_action":
        says = "No attempt at the Basil has failed with wrong_pin: enter a wrong PIN three times in a row."
        yield wrong(says, ", ".join(basil.codes), "wrong_pin, succeeded", ".enter_pin(")
    yield from basil.unpaid()
    if len(numbers := {str(charge.phone) for charge in basil.attempts}) > 1:
        says = "Another customer has tried again. Create a new intent, and confirm it twice on the same number."
        yield wrong(says, ", ".join(sorted(numbers)), "one number", "phone=")
    yield done(f"One intent, {len(basil.attempts)} attempts: wrong_pin, and then paid.")


@sale_of("Lily", is_sold_once=True)
def _from_the_app(bench: Bench, lily: Sale) -> Iterator[Verdict]:
    target = f"/{lily.intent.id}/confirm "
    confirms = [exchange for exchange in bench.trace.exchanges if target in exchange.request]
    accepted = [exchange.request for exchange in confirms if exchange.status == HTTPStatus.OK]
    if confirms and not accepted:
        body = confirms[-1].response.partition("\n\n")[2]
        says = f"The confirm was rejected: {json_of(body).get('message') or body}"
        yield wrong(says, str(confirms[-1].status), "200", ".confirm(")
    keys = [request.partition("Authorization: ")[2].partition("\n")[0] for request in accepted]
    if foreign := [key for key in keys if "pk_test" not in key]:
        key = "an access token" if "at_" in foreign[-1] else "the secret key"
        says = f"The intent was confirmed with {key}, which an app must not hold. Confirm a new intent with app."
        yield wrong(says, foreign[-1], "Bearer pk_test_••••", ".confirm(")
    yield from lily.unpaid()
    yield done("Created by the shop, confirmed by the app with a publishable key, and paid by the customer.")


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


def _one_in_each_state(sandbox: Bench) -> Iterator[tuple[str, str]]:
    """Yields the id of an intent in each status, with its history in words where the status does not show it."""
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
    "approve": ("The customer approves.", "paid"),
    "declined_by_customer": ("The customer presses cancel.", "failed"),
    "operator_unknown": ("No answer comes, and the money may still move.", "unknown"),
    "prompt_timeout": ("The prompt is still open, and the customer may yet pay.", "unknown"),
}
"""Scenario → its course in words, and the value that the function should return."""


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
            if not (seen == "failed" and status == "requires_payment_method"):
                says = f"{what} The function returns {brief(repr(seen))} while the intent is {status}."
                yield from same(seen, right, says, f"return {json.dumps(seen)}" if isinstance(seen, str) else "return")
            prompts = sum(charge.payment_intent == intent.id for charge in pay.charges.each())
            says = f"{what} The function sends {prompts} prompts: it should ask the customer once."
            yield from same(prompts, 1, says, ".confirm(")
    yield done("A wait that times out is reported as unknown, and not as a failure.")
