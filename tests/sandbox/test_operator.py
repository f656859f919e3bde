from collections import defaultdict
from collections.abc import Callable, Sequence
from decimal import Decimal
from itertools import count, product
from typing import Any, NamedTuple

import pytest
from httpx import Response

from tests.conftest import bearer, method_on
from tests.sandbox.conftest import Sandbox
from workbench import Workbench
from workbench.domain.scenarios import ASKABLE, PERSON, SANDBOX_PIN, SCENARIOS, scenario_on
from workbench.domain.wire.payments_and_payouts import PaymentIntent
from workbench.errors import PaymentDeclined

Rows = Callable[[str], list[tuple[Any, ...]]]
Line = tuple[str, int, str, int]

PAID = ["payment_intent.processing", "charge.succeeded", "payment_intent.succeeded"]
REFUSED = ["payment_intent.processing", "charge.failed", "payment_intent.payment_failed"]
FAILED = ["charge.failed", "payment_intent.payment_failed"]
ASKED = ["payment_intent.created", "payment_intent.requires_action"]
LATE = ["charge.late_success", "payment_intent.late_success"]
RETRYABLE = "requires_payment_method"
PROMPT = "Pay K150.00"
POSTED = [
    ("debit", 1100, "operator:{}:float", 15_000), ("debit", 5000, "expense:operator_fee:{}", 150),
    ("credit", 2000, "merchant:plants:pending", 14_625), ("credit", 4000, "income:merchant_fee", 375),
    ("credit", 1100, "operator:{}:float", 150),
]  # fmt: skip
IN_SUSPENSE = [
    ("debit", 1100, "operator:{}:float", 15_000), ("debit", 5000, "expense:operator_fee:{}", 150),
    ("credit", 2900, "suspense:{}", 15_000), ("credit", 1100, "operator:{}:float", 150),
]  # fmt: skip
OPERATORS = {"+26096": "mtn", "+26097": "airtel", "+26095": "zamtel"}


class Row(NamedTuple):
    """What a scenario does with an intent: when, how it ends, and what the customer is texted of it."""

    after_s: Decimal
    status: str
    failure: str | None
    events: list[str]
    screens: list[str]
    posted: Sequence[Line] = ()
    hold_ends: bool = True
    texted: str = ""


WRONG = ["Wrong PIN. Tries left: 2", "Wrong PIN. Tries left: 1", "Not paid."]
EXPIRES = Row(Decimal(300), RETRYABLE, "prompt_timeout", FAILED, [PROMPT, "The request has expired."])
APPROVES = Row(Decimal(5), "succeeded", None, PAID, [PROMPT, "Approved."], POSTED, texted="paid")
BROKE = Row(Decimal(5), RETRYABLE, "insufficient_funds", REFUSED, [PROMPT, "Not paid."], texted="not_paid")
# What no prompt is sent for, the customer never sees.
BUSY = Row(Decimal(1), RETRYABLE, "payer_busy", FAILED, [])
DOWN = Row(Decimal(1), RETRYABLE, "operator_unavailable", FAILED, [])
OUTCOMES = {
    ("approve", "0000001"): APPROVES, ("duplicate_answer", "0000011"): APPROVES,
    ("insufficient_funds", "0000002"): BROKE, ("insufficient_funds", "0000013"): BROKE,
    ("prompt_timeout", "0000005"): EXPIRES, ("late_success", "0000010"): EXPIRES._replace(texted="paid"),
    ("payer_busy", "0000008"): BUSY, ("operator_unavailable", "0000009"): DOWN,
    ("wrong_pin", "0000003"): Row(Decimal(5), RETRYABLE, "wrong_pin", FAILED, [PROMPT, *WRONG], texted="not_paid"),
    ("declined_by_customer", "0000004"): Row(
        Decimal(5), RETRYABLE, "declined_by_customer", FAILED, [PROMPT, "Canceled."]),
    ("limit_reached", "0000006"): BROKE._replace(failure="limit_reached"),
    ("payer_not_found", "0000007"): BUSY._replace(failure="payer_not_found"),
    ("operator_unknown", "0000012"): Row(
        Decimal(5), "processing", None, PAID[:1], [PROMPT, "Approved."], hold_ends=False, texted="paid"),
}  # fmt: skip
"""Scenario and its test number → what the first attempt on it comes to, or one that is asked to come to it."""
LATE_ON, UNKNOWN_ON = "0000010", "0000012"
CHARGES = {
    ending: row.failure for (_, ending), row in OUTCOMES.items() if ending not in ("0000005", LATE_ON, UNKNOWN_ON)
}
"""Ending → decline code of a charge that is answered within the call, None for one that is paid."""
ORDERS = count(1)
OPENED, ENDED = ("opened", 15_000), ("ended", 15_000)


class Seen(NamedTuple):
    """What one payment left behind, in its order."""

    events: list[str]
    statuses: list[str]
    holds: list[tuple[str, int]]
    screens: list[str]
    posted: list[Line]


def seen(bench: Workbench, rows: Rows) -> dict[str, Seen]:
    """What each intent, or charge on its own, left behind; the nights only move it on."""
    found: dict[str, Seen] = defaultdict(lambda: Seen([], [], [], [], []))
    of = dict(rows("SELECT id, coalesce(payment_intent, id) FROM charge"))
    for event in bench.receiver.events:
        shown = event.data.object
        payment = found[shown.get("payment_intent") or shown["id"]]
        payment.events.append(event.type)
        if shown["id"] not in of or of[shown["id"]] == shown["id"]:
            payment.statuses.append(shown["status"])
    for charge, *hold in rows("SELECT charge, change, amount_minor FROM hold ORDER BY seq"):
        found[of[charge]].holds.append(tuple(hold))
    for charge, words in rows("SELECT charge, words FROM screen ORDER BY seq"):
        found[of[charge]].screens.append(words.partition("\n")[2].partition("\n")[0])
    for payment, *line in rows(
        "SELECT payment, side, code, account, amount_minor FROM posting JOIN entry ON id = entry "
        "WHERE payment IS NOT NULL ORDER BY number, line"
    ):
        found[payment].posted.append(tuple(line))
    return found


def confirm(bench: Workbench, intent_id: str, phone: str, scenario: str = "") -> str:
    headers = bearer(bench) | ({"Sandbox-Scenario": scenario} if scenario else {})
    path = f"/v1/payment_intents/{intent_id}/confirm"
    assert bench.http.post(path, json=method_on(phone, OPERATORS[phone[:6]]), headers=headers).is_success
    return intent_id


def confirmed(bench: Workbench, phone: str, scenario: str = "") -> str:
    return confirm(bench, bench.client.payment_intents.create(amount=Decimal("150.00")).id, phone, scenario)


def charged(bench: Workbench, phone: str, reference: str | None = None) -> tuple[str, str | None]:
    """The id and the decline code of a charge."""
    wanted = {"amount": 15_000, "channel": "mtn", "idempotency_key": f"order-{next(ORDERS)}", "reference": reference}
    try:
        charge = bench.client.charges.create(phone=phone, **wanted)
    except PaymentDeclined as declined:
        return declined.facts["charge"], declined.decline_code
    return charge.id, None


def now(bench: Workbench, intent_id: str) -> tuple[str, str | None]:
    """Status and failure of an intent."""
    return state(bench.client.payment_intents.retrieve(intent_id))


def state(intent: PaymentIntent) -> tuple[str, str | None]:
    return intent.status, intent.last_payment_error.code if intent.last_payment_error else None


def still_due(rows: Rows) -> list[tuple[Any, ...]]:
    return rows("SELECT kind FROM job WHERE kind <> 'night'")


def of_operator(operator: str, lines: Sequence[Line] = POSTED) -> list[Line]:
    return [(side, code, account.format(operator), minor) for side, code, account, minor in lines]


def query(bench: Workbench, charge_id: str) -> Response:
    return bench.http.post("/sandbox/operator/query", json={"charge": charge_id}, headers=bearer(bench))


def move_to(bench: Workbench, at_s: Decimal | float, began_ms: int = 1_767_592_800_000):
    """So many seconds after the sandbox began, or another moment."""
    bench.clock.advance(Decimal(str(at_s)) - Decimal(bench.clock.now_ms - began_ms) / 1000)


@pytest.mark.thorough
def test_an_intent_on_each_test_number_of_each_operator_and_asked_to_each_scenario(bench: Workbench, rows: Rows):
    payments, phones = {}, {}
    for ((scenario, ending), row), (prefix, operator) in product(OUTCOMES.items(), OPERATORS.items()):
        phones[f"{prefix}{ending}"] = row.texted
        payments[confirmed(bench, prefix + ending)] = (ending, operator, row)
        phones[f"{prefix}77{ending[2:]}"] = row.texted
        payments[confirmed(bench, f"{prefix}77{ending[2:]}", scenario)] = (ending, operator, row)
    for at_s in (0, 0.999, 1, 4.999, 5, 299.999, 300, 359.999, 360, 10 * 86_400):
        move_to(bench, at_s)
        found = seen(bench, rows)
        intents = {each.id: each for each in bench.client.payment_intents.list(limit=100)}
        for identifier, (ending, operator, row) in payments.items():
            acted, late = at_s >= row.after_s, ending == LATE_ON and at_s >= 360
            told = found[identifier]
            status, failure = (row.status, row.failure) if acted else ("requires_action", None)
            assert state(intents[identifier]) == (status, failure), (ending, at_s)
            assert told.events == ASKED + row.events * acted + LATE * late, (ending, at_s)
            assert told.statuses[:2] == [RETRYABLE, "requires_action"]
            assert told.statuses[-1] == status
            assert told.holds == [OPENED, ENDED][: 1 + (acted and row.hold_ends)]
            assert told.screens == (row.screens if acted else row.screens[:1]) + ["Approved."] * late, (ending, at_s)
            posted = IN_SUSPENSE if late else row.posted * acted
            assert told.posted == of_operator(operator, posted), (ending, at_s)
            if at_s in (0, 5, 360) and not (acted and ending == UNKNOWN_ON):
                answer = query(bench, str(intents[identifier].latest_charge))
                assert (answer.status_code, answer.json()["code"]) == (409, "nothing_to_ask"), ending
        assert (still_due(rows) == [("late_money",)] * 6) == (300 <= at_s < 360)
    assert {phone: "".join(each["kind"] for each in bench.phone(phone).messages) for phone in phones} == phones
    # Nights too come to an end when there is nothing more to move.
    assert rows("SELECT * FROM job") == []


def test_an_answer_that_never_came_is_asked_for(bench: Workbench, rows: Rows):
    intents = {operator: confirmed(bench, f"{prefix}0000012") for prefix, operator in OPERATORS.items()}
    charges = {operator: charged(bench, f"{prefix}0000012")[0] for prefix, operator in OPERATORS.items()}
    bench.clock.advance(days=3)
    for operator in OPERATORS.values():
        intent, charge = bench.client.payment_intents.retrieve(intents[operator]), charges[operator]
        assert (intent.status, bench.client.charges.retrieve(charge).status) == ("processing", "pending")
        assert {*seen(bench, rows)[intent.id].holds, *seen(bench, rows)[charge].holds} == {OPENED}
        for asked in (str(intent.latest_charge), charge):
            answer, again = query(bench, asked), query(bench, asked)
            assert (answer.status_code, answer.json()["status"]) == (200, "succeeded")
            assert (again.status_code, again.json()["code"]) == (409, "nothing_to_ask")
        assert now(bench, intent.id) == ("succeeded", None)
        told = seen(bench, rows)
        assert [told[each].events for each in (intent.id, charge)] == [
            ASKED + PAID, ["charge.pending", "charge.succeeded"],
        ]  # fmt: skip
        for each in (intent.id, charge):
            assert (told[each].holds, told[each].posted) == ([OPENED, ENDED], of_operator(operator))


def test_an_operator_that_is_down_is_up_again_to_the_millisecond(bench: Workbench):
    intent, began_ms = confirmed(bench, "+260960000009"), bench.clock.now_ms
    bench.clock.advance(1)
    assert now(bench, intent) == (RETRYABLE, "operator_unavailable")
    for at_s, takes_s, outcome in ((599, 1, (RETRYABLE, "operator_unavailable")), (600, 5, ("succeeded", None))):
        move_to(bench, at_s, began_ms)
        confirm(bench, intent, "+260960000009")
        bench.clock.advance(takes_s)
        assert now(bench, intent) == outcome


@pytest.mark.parametrize(("ending", "first"), [("0000008", "payer_busy"), ("0000013", "insufficient_funds")])
def test_attempts_are_counted_for_each_intent_or_number_and_reference(bench: Workbench, ending: str, first: str):
    intents = [confirmed(bench, f"+26096{ending}") for _ in range(2)]
    bench.clock.advance(5)
    assert [now(bench, each)[1] for each in intents] == [first, first]
    for each in intents:
        confirm(bench, each, f"+26096{ending}")
    bench.clock.advance(5)
    assert [now(bench, each) for each in intents] == [("succeeded", None)] * 2
    made = [("76", "a"), ("76", "b"), ("97", "a"), ("76", None), ("76", "a"), ("76", None), ("76", "a")]
    codes = [charged(bench, f"+260{prefix}{ending}", reference=reference)[1] for prefix, reference in made]
    assert codes == [first] * 4 + [None] * 3


PERSON_FIRST = {
    # a PIN, or cancel → what comes of each number
    "": dict.fromkeys(["0000010", "0000011", "0000012"], "declined_by_customer"),
    "1234": {"0000006": "limit_reached", "0000010": None, "0000011": None, "0000013": "insufficient_funds"},
}
"""The numbers that the model of test_model.py has not."""


@pytest.mark.parametrize("pin", PERSON_FIRST)
def test_a_person_may_act_before_the_number(bench: Workbench, rows: Rows, pin: str):
    expected = {confirmed(bench, f"+26096{ending}"): failure for ending, failure in PERSON_FIRST[pin].items()}
    bench.clock.advance(2)
    for ending in PERSON_FIRST[pin]:
        handset = bench.phone(f"+26096{ending}")
        _ = handset.enter_pin(pin) if pin else handset.cancel()
    bench.clock.advance(600)
    found = seen(bench, rows)
    for intent_id, failure in expected.items():
        assert now(bench, intent_id) == (RETRYABLE if failure else "succeeded", failure)
        assert (found[intent_id].holds, len(found[intent_id].posted)) == ([OPENED, ENDED], 0 if failure else 5)
    assert still_due(rows) == []


def test_after_a_wrong_pin_of_a_person_the_number_acts_as_long_as_the_prompt_is_open(bench: Workbench):
    wrong, ignored = confirmed(bench, "+260960000003"), confirmed(bench, "+260970000001")
    bench.phone("+260960000003").enter_pin("0000")
    bench.phone("+260970000001").ignore()
    bench.clock.advance(5)
    assert [now(bench, each) for each in (wrong, ignored)] == [(RETRYABLE, "wrong_pin"), ("requires_action", None)]


def test_a_pin_after_the_time_is_up_moves_no_money_though_nobody_had_closed_the_prompt(sandbox: Sandbox):
    """A running clock passes the moment before whoever drives comes to it."""
    pay, phone = sandbox.client.payment_intents, "+260961234567"
    intent = pay.create(amount=10)
    pay.confirm(intent.id, phone=phone, provider="mtn")
    with sandbox.engine.store.transaction() as tx:
        tx.move_clock(tx.now_ms + 300_000)
    refused = sandbox.http.post(f"/sandbox/phones/{phone}/input", json={"text": "1234"})
    assert (refused.status_code, refused.json()["code"]) == (409, "prompt_expired")
    assert state(pay.retrieve(intent.id)) == (RETRYABLE, "prompt_timeout")
    with sandbox.engine.store.transaction() as tx:
        assert list(tx.journal.entries()) == []


def test_a_charge_on_each_test_number_of_each_operator(bench: Workbench, rows: Rows):
    charges = {}
    for (ending, code), (prefix, operator) in product([*CHARGES.items(), ("1234567", None)], OPERATORS.items()):
        charge_id, declined = charged(bench, prefix + ending)
        assert declined == code, ending
        charge = bench.client.charges.retrieve(charge_id)
        assert (charge.status, charge.failure_code) == ("failed" if code else "succeeded", code)
        assert (charge.amount, charge.currency, charge.channel, charge.provider) == (15_000, "zmw", "mtn", operator)
        charges[charge_id] = (["charge.failed" if code else "charge.succeeded"], [] if code else of_operator(operator))
    for _ in range(2):
        found = seen(bench, rows)
        assert {each: (found[each].events, found[each].posted) for each in charges} == charges
        assert {tuple(each.holds) for each in found.values()} == {(OPENED, ENDED)}
        bench.clock.advance(days=1)


def test_every_row_of_the_table_is_tried_here_each_number_on_one_and_others_wait_for_a_person():
    numbers = [(name, each.ending) for name, row in SCENARIOS.items() for each in row.numbers]
    assert sorted(numbers) == sorted(OUTCOMES)
    assert {name for name, _ in numbers} == {*ASKABLE} == {*SCENARIOS} - {PERSON}
    for ending in ("0000000", "0000014", "1234567"):
        assert scenario_on(ending, attempt=1, since_first_ms=0) == PERSON
    assert SANDBOX_PIN == "1234"
