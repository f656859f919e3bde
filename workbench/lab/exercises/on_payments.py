"""Checks for the notebooks on intents, keys and prompts, on failures and retries, and on a backend of one's own."""

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import datetime
from decimal import Decimal
from functools import partial
from http import HTTPStatus
from itertools import pairwise, product
from typing import Any

from workbench.lab.exercises.judging import Fault
from workbench.lab.exercises.verdicts import (
    SOMEBODY,
    Bench,
    Sale,
    Verdict,
    brief,
    charges,
    done,
    fresh,
    json_of,
    kwacha,
    not_yet,
    number_of,
    sale_of,
    unequal,
    wrong,
)


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
        for intent_id, history in _one_in_each_state(sandbox):
            status, returned = retrieve(intent_id).status, may_leave(sandbox.client, intent_id)
            says = f"The function changes an intent that is {status}. It should only look."
            yield from unequal(retrieve(intent_id).status, status, says, "pay.")
            says = f"The function returns {brief(repr(returned))} for an intent that is {status}{history}."
            is_paid = status == "succeeded"
            # A function that returns nothing says no.
            yield from unequal(returned if is_paid or returned is not None else False, is_paid, says, "status")
    yield done("Only a paid plant leaves the shop.")


def _one_in_each_state(sandbox: Bench) -> Iterator[tuple[str, str]]:
    """Yields the id of an intent in each status, with its history in words if the status does not show it."""
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
            yield from unequal(int(intent.amount * 100), minor, says, "amount=", kwacha)
            says = f"The amount is right, and the intent of order {number} has another {{}} than before."
            yield from unequal(intent.metadata, {"order": number}, says.format("metadata"), "metadata=")
            yield from unequal(intent.description, "Orchid", says.format("description"), "description=")
            count_now = len([*sandbox.client.payment_intents.each()])
            yield from unequal(count_now, count, "The function has created two intents for one order.", ".create(")
    yield done("8735 ngwee are K87.35, and 5 ngwee are K0.05.")


_COURSES = {
    "approve": ("The customer approves.", "paid"),
    "declined_by_customer": ("The customer presses cancel.", "failed"),
    "operator_unknown": ("No answer comes, and the money may still move.", "unknown"),
    "prompt_timeout": ("The prompt is still open, and the customer may yet pay.", "unknown"),
}
"""Scenario → its course in words, and the value that the learner's function should return."""


def _unknown_is_not_failed(bench: Bench, collect: Callable[..., Any]) -> Iterator[Verdict]:
    with fresh(bench) as sandbox:
        pay = sandbox.client
        for scenario, (course, right) in _COURSES.items():
            intent = pay.payment_intents.create(amount=Decimal("35.50"), description="Basil")
            returned = collect(pay, intent.id, number_of(scenario), "mtn")
            status = pay.payment_intents.retrieve(intent.id).status
            if status == "canceled":
                says = f"{course} The function cancels the payment instead of reporting what it knows."
                yield wrong(says, status, "an open payment", ".cancel(")
            # "failed" is right if the function waited until the attempt had failed; late money may still come.
            if not (returned == "failed" and status == "requires_payment_method"):
                says = f"{course} The function returns {brief(repr(returned))} while the intent is {status}."
                at = f"return {json.dumps(returned)}" if isinstance(returned, str) else "return"
                yield from unequal(returned, right, says, at)
            prompts = sum(charge.payment_intent == intent.id for charge in pay.charges.each())
            says = f"{course} The function sends {prompts} prompts: it should ask the customer once."
            yield from unequal(prompts, 1, says, ".confirm(")
    yield done("A wait that times out is reported as unknown, and not as a failure.")


_DOWN, _OUTAGE_S = "operator_unavailable", 300


@sale_of("Sage")
def _patience(bench: Bench, sage: Sale) -> Iterator[Verdict]:
    if not sage.attempts:
        yield from sage.unpaid()
    yield from sage.never_met(_DOWN)
    failed = [charge for charge in sage.attempts if charge.failure_code == _DOWN]
    if not failed:
        says = "The operator was not down when you tried: begin the outage first, and take a new intent."
        yield wrong(says, ", ".join(sage.codes), f"{_DOWN}, succeeded", "attempt(")
    # A script and a test number fail one customer with the same code, while the operator is up.
    of_operator = [outage for outage in bench.operator.outages if outage.provider == failed[-1].provider]
    outages = [outage for outage in of_operator if outage.covers(failed[-1].created)]
    if not outages:
        says = "This attempt failed and the operator was not down: a script or a test number fails one customer alone."
        mend = "With bench.operator.outage, begin the outage first, and take a new intent."
        yield wrong(f"{says} {mend}", "no outage", f"an outage of {_OUTAGE_S} seconds", "phone=")
    length_s, says = int(outages[-1].seconds), "The outage has another length."
    yield from unequal(length_s, _OUTAGE_S, says, "outage(", "{} seconds".format)
    if sage.codes[-1] == _DOWN and sage.intent.status != "canceled":
        says = "The last attempt has met the outage. Let the whole outage pass, and confirm the same intent again."
        yield not_yet(says, f"failed with {_DOWN}: {len(failed)}", "succeeded", "advance(")
    yield from sage.unpaid()
    if outages[-1].covers(sage.attempts[-1].created):
        says = "The Sage was paid while the outage should have lasted: let time pass, and do not end the outage."
        yield wrong(says, "paid during the outage", "paid after it", "outage(")
    yield done(f"One intent, {len(sage.attempts)} attempts, paid once the operator was back.")


@sale_of("Rose")
def _lost_and_found(bench: Bench, rose: Sale) -> Iterator[Verdict]:
    from workbench.domain.wire.ledger_and_trace import webhook_of

    yield from rose.unpaid()
    shops = {endpoint.id for endpoint in bench.looking().webhook_endpoints.each() if endpoint.url == bench.receiver_url}
    deliveries = [
        (row["result"], datetime.fromisoformat(row["at"]))
        for row in bench.trace.for_(rose.intent.id)
        if row["kind"] == "webhook" and row["what"] == "payment_intent.succeeded" and webhook_of(row).endpoint in shops
    ]
    if not deliveries:
        yield not_yet("The shop was not told of the Rose: its endpoint has to be there and enabled when it is sold.")
    has_arrived = [result.startswith("2") for result, _ in deliveries]
    is_found, failed = True in has_arrived, [*has_arrived, True].index(True)
    schedule = next(row["value"] for row in bench.gaps if row["name"] == "retry_schedule_s")
    actual, expected = f"{failed} failed attempts", f"{len(schedule)}"
    if not failed:
        says = "The shop was told of the Rose while its database was up. Sell another while it is down."
        yield wrong(says, "the first attempt arrived", f"{expected} failed attempts", "sell(")
    if not deliveries[0][0].startswith("5"):
        says = "The receiver refused the message, and its handler was not called: leave the secrets as they are."
        yield wrong(says, deliveries[0][0], "500, attempt 1", "secrets")
    if failed < len(schedule) and is_found:
        says = "An attempt has reached the shop, before it was a dead letter. Keep the database down."
        yield wrong(says, actual, expected, "advance(")
    if failed < len(schedule):
        yield not_yet("The message is no dead letter yet: let more time pass.", actual, expected, "advance(")
    took_s = (deliveries[min(failed, len(deliveries) - 1)][1] - deliveries[0][1]).total_seconds()
    if took_s < sum(schedule) / 2:
        says = "You have replayed the message while the service still retried it. Let time pass, with another Rose."
        yield wrong(says, f"{actual} in {took_s / 3600:.0f} hours", "about three days", "replay")
    if not is_found:
        yield not_yet("It is a dead letter. Bring the database back, and have it replayed.")
    yield done("Lost as a dead letter, replayed, and taken by the shop.")


_REFUSED = "declined_by_customer"


def _refused_order(bench: Bench, mint: dict[str, Any]) -> Iterator[Verdict]:
    known = {intent.id: intent for intent in bench.looking().payment_intents.each()}
    if not isinstance(mint, dict) or not {"number", "status", "reason"} <= {*mint} or mint.get("intent") not in known:
        says = "mint is not the order as shop.shown returns it, with its number, intent, status and reason."
        yield wrong(says, brief(mint), "a dict", "mint =")
    yield from unequal(mint.get("plant"), "Mint", "mint holds an order of another plant.", "buy(", str)
    attempts = charges(bench, payment_intent=mint["intent"])
    if not attempts:
        yield not_yet("The shop has asked nobody for the money of this order.")
    others = {intent.id for intent in known.values() if intent.description in ("Mint", None)} - {mint["intent"]}
    if others & _intents_touched_since(bench, mint["intent"]):
        says = "Two prompts for a Mint were on the phone at once, so the customer could pay twice. Cancel every prompt "
        mend = "with bench.phone(phone).cancel(), then order once."
        yield wrong(f"{says}{mend}", "2 intents at once", "1 intent", "buy(")
    if attempts[-1].status == "pending":
        yield not_yet("The prompt is still on the customer's phone. Refuse the payment there.")
    came = attempts[-1].failure_code or "paid"
    yield from unequal(came, _REFUSED, "The customer did not refuse this payment.", "phone", str)
    if (mint["status"], mint["reason"]) == ("open", ""):
        says = "mint is the order as it was before the shop heard of the refusal. Let the webhook arrive, and read the "
        yield wrong(f"{says}order again.", "no reason", _REFUSED, "mint =")
    says = "This is not what the shop knows of the order."
    yield from unequal(f"{mint['status']}, {mint['reason']}", f"open, {_REFUSED}", says, "mint =", str)
    yield done("The customer refused, a webhook told the shop, and the order is open with its reason.")


def _intents_touched_since(bench: Bench, intent_id: str) -> set[str | None]:
    """The ids of intents with a pending charge, or with an event after the creation of this intent."""
    since = {charge.payment_intent for charge in charges(bench, status="pending")}
    for event in bench.looking().events.each():  # the newest first
        about = event.data.object
        if event.type == "payment_intent.created" and about["id"] == intent_id:
            break
        since |= {about["id"], about.get("payment_intent")}
    return since


_ATTEMPTS, _HOUR_S = 5, 3600
_ASKED_AGAIN_AFTER = ("payer_busy", "operator_unavailable")


def _scripts() -> Iterator[tuple[tuple[str, ...], int, str]]:
    """Yields (outcomes of successive attempts, the number of attempts that are worth making, the reason)."""
    from workbench.domain.payments import FAILURES

    final = {code: f"After {code}, it should not ask again. {why}" for code, why in FAILURES.items()}
    final = {code: says for code, says in final.items() if code not in _ASKED_AGAIN_AFTER}
    yield from (((code, "succeeded"), 1, says) for code, says in final.items())
    yield ("succeeded", "succeeded"), 1, "The customer has paid at the first attempt."
    yield ("payer_busy", "succeeded"), 2, "The handset was busy, and the next attempt would have been paid."
    yield (*_ASKED_AGAIN_AFTER[::-1], "succeeded"), 3, "The operator was down and would have been back."
    for before in _ASKED_AGAIN_AFTER:
        for code, says in final.items():
            yield (before, code, "succeeded"), 2, f"The second attempt ended with {code}, after {before}. {says}"
        yield (*(before,) * 4, "succeeded"), _ATTEMPTS, "The fifth attempt would have been paid."
        yield (before,) * (_ATTEMPTS + 1), _ATTEMPTS, f"Every attempt ends with {before}."


def _lets_go(collect: Callable[..., Any]) -> Iterator[Verdict]:
    for script, expected, fault in _scripts():
        outcomes: list[str] = []
        waits: list[tuple[int, Any]] = []  # after how many attempts, and for how long

        def attempt(outcomes: list[str] = outcomes, script: tuple[str, ...] = script) -> str:
            if len(outcomes) > _ATTEMPTS:
                raise Fault("")  # it passes a learner's `except Exception`
            outcomes.append(script[min(len(outcomes), len(script) - 1)])
            return outcomes[-1]

        def wait(seconds: object, outcomes: list[str] = outcomes, waits: list[tuple[int, Any]] = waits) -> None:
            if len(waits) > _ATTEMPTS:
                raise Fault("")
            waits.append((len(outcomes), seconds))

        returned: object = None
        with suppress(Fault):
            returned = collect(attempt, wait)
        if len(outcomes) != expected:
            often = f"more than {_ATTEMPTS}" if len(outcomes) > _ATTEMPTS else str(len(outcomes))
            says = fault if outcomes else "The function makes no attempt."
            yield wrong(says, f"{often} attempts", str(expected), "while" if outcomes else "def ")
        if [after for after, _ in waits] != [*range(1, expected)]:
            says = "There should be one pause between two attempts, and none before the first or after the last."
            yield wrong(says, f"{len(waits)} calls of wait, {expected} attempts", f"{expected - 1} calls", "wait(")
        yield from unequal(returned, outcomes[-1], "The function should return the last outcome.", "return")
        yield from _of_pauses([seconds for _, seconds in waits])
    yield done("One prompt for whoever refused, and five attempts at most while the operator is the reason.")


def _of_pauses(waited: list[Any]) -> Iterator[Verdict]:
    """Yields a verdict if the pauses between attempts have wrong lengths."""
    wrong_wait = partial(wrong, seen=", ".join(f"{wait_s!r}" for wait_s in waited), at="wait(")
    if not all(isinstance(wait_s, int | float | Decimal) for wait_s in waited):
        yield wrong_wait("wait takes a number of seconds.", expected="a number such as 60")
    if not all(wait_s > 0 for wait_s in waited):
        yield wrong_wait("A pause lets no time pass: the next attempt meets the same trouble.", expected="above 0")
    if any(after < before for before, after in pairwise(waited)):
        yield wrong_wait("The pauses get shorter, so the operator gets more requests.", expected="no shorter ones")
    if sum(waited) > _HOUR_S:
        yield wrong_wait("The customer waits for more than an hour.", expected=f"{_HOUR_S} seconds in all at most")


def _of_two_payments(bench: Bench) -> tuple[list[Any], list[Any]]:
    """All events that a shop gets about two paid orders, and the events among them that report a payment."""
    with fresh(bench) as sandbox:
        for _ in range(2):
            intent = sandbox.client.payment_intents.create(amount=Decimal(150))
            sandbox.client.payment_intents.confirm(intent.id, phone=number_of("approve"), provider="mtn")
            sandbox.client.wait(intent.id)
        events = [*sandbox.receiver.events]
    return events, [event for event in events if event.type == "payment_intent.succeeded"]


def _remembered(bench: Bench, handle: Callable[..., Any]) -> Iterator[Verdict]:
    events, paid = _of_two_payments(bench)
    expected = [event.data.object["id"] for event in paid]
    handled: set[str] = set()
    is_up, came = False, "no error"
    refused: list[Any] = []
    shipped: list[Any] = []

    def ship(intent_id: object) -> None:
        (shipped if is_up else refused).append(intent_id)
        if not is_up:
            raise ConnectionError

    try:
        handle(paid[0], handled, ship)
    except Exception:  # once ship has refused, any error will do: the receiver responds 500 to it
        if not refused:
            raise
        came = "ConnectionError"
    if not refused:
        yield wrong("ship was not called for a paid order.", "no call", "1 call", "if event.type")
    if refused != expected[:1] * len(refused):
        says = "ship was called with something other than the order's id."
        yield wrong(says, brief(refused[0]), expected[0], "ship(")
    says = "ship has failed, and the function raised nothing: the service gets a 200 and does not send again."
    yield from unequal(came, "ConnectionError", says, "except", str)
    is_up = True
    handle(paid[0], handled, ship)
    if not shipped:
        says = "The event came again after ship had failed, and the function treated it as handled."
        yield wrong(says, "nothing shipped", "1 shipped", "handled.add")
    says = "One event is handled. handled should hold the id of this event, and nothing else."
    yield from unequal(", ".join(sorted(map(str, handled))) or "an empty set", paid[0].id, says, "handled", str)
    for event in (*events, *paid):
        handle(event, handled, ship)
    if shipped != expected:
        of_all = len(shipped) >= len(events)
        says = "Two orders were paid, and the service sent each event more than once."
        more, at = (" Only one type of event means that the order is paid.", "ship(") if of_all else ("", "handled")
        yield wrong(f"{says}{more}", f"{len(shipped)} shipped", "2 shipped", at)
    yield done("What failed is sent again and shipped, and what came twice is shipped once.")


_LEADS_TO = {
    "charge.failed": "open",
    "charge.late_success": "settle",
    "charge.succeeded": "paid",
    "refund.succeeded": "refunded",
}
"""Type of an event → the lowest status that an order may have after it, in ascending order of statuses."""


def _any_order(next_status: Callable[[str, str], Any]) -> Iterator[Verdict]:
    steps = [*_LEADS_TO.values()]
    for count in range(1, len(_LEADS_TO) + 2):
        for events in product(_LEADS_TO, repeat=count):  # some of them more than once
            status = "open"
            for event in events:
                status = next_status(status, event)
            expected = max((_LEADS_TO[event] for event in events), key=steps.index)
            yield from unequal(
                status, expected, f"The messages came in this order: {', '.join(events)}.", f'"{events[-1]}"'
            )
    for status in steps:
        says = f"An event that your function does not know changed the status of an order that was {status}."
        yield from unequal(next_status(status, "charge.blessed"), status, says, "return")
    yield done("The status depends on what the messages say, and not on their order or number.")
