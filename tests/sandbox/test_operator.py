from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any, NamedTuple

import pytest
from httpx import Response

from workbench import Workbench
from workbench.domain.gaps import Gaps
from workbench.domain.scenarios import SCENARIOS, TEST_NUMBERS, pin_is_right, scenario_on
from workbench.domain.wire import PaymentIntent
from workbench.errors import PaymentDeclined, StateConflict

Rows = Callable[[str], list[tuple[Any, ...]]]

PAID = ["payment_intent.processing", "charge.succeeded", "payment_intent.succeeded"]
REFUSED = ["payment_intent.processing", "charge.failed", "payment_intent.payment_failed"]
FAILED = ["charge.failed", "payment_intent.payment_failed"]
ASKED = ["payment_intent.created", "payment_intent.requires_action"]
LATE = ["charge.late_success", "payment_intent.late_success"]
RETRYABLE = "requires_payment_method"
PROMPT = "Pay ZMW 150.00"
POSTED = [
    ("debit", 1100, "operator:{}:float", 15_000),
    ("debit", 5000, "expense:operator_fee:{}", 150),
    ("credit", 2000, "merchant:plants:pending", 14_625),
    ("credit", 4000, "income:merchant_fee", 375),
    ("credit", 1100, "operator:{}:float", 150),
]
IN_SUSPENSE = [
    ("debit", 1100, "operator:{}:float", 15_000),
    ("debit", 5000, "expense:operator_fee:{}", 150),
    ("credit", 2900, "suspense:{}", 15_000),
    ("credit", 1100, "operator:{}:float", 150),
]
OPERATORS = {"+26096": "mtn", "+26097": "airtel", "+26095": "zamtel"}
BY_OPERATOR = pytest.mark.parametrize(("prefix", "operator"), OPERATORS.items(), ids=OPERATORS.values())


class Row(NamedTuple):
    """What a test number does with an intent: when, and how it ends."""

    after_s: Decimal
    status: str
    failure: str | None
    events: list[str]
    screens: list[str]
    posted: Sequence[tuple[str, int, str, int]] = ()
    hold_ends: bool = True


WRONG = ["Wrong PIN. Tries left: 2", "Wrong PIN. Tries left: 1", "Not paid."]
EXPIRES = Row(Decimal(300), RETRYABLE, "prompt_timeout", FAILED, [PROMPT, "The request has expired."])
APPROVES = Row(Decimal(5), "succeeded", None, PAID, [PROMPT, "Approved."], POSTED)
BROKE = Row(Decimal(5), RETRYABLE, "insufficient_funds", REFUSED, [PROMPT, "Not paid."])
# What no prompt is sent for, the customer never sees.
BUSY = Row(Decimal(1), RETRYABLE, "payer_busy", FAILED, [])
DOWN = Row(Decimal(1), RETRYABLE, "operator_unavailable", FAILED, [])
INTENTS = {
    "0000001": APPROVES,
    "0000002": BROKE,
    "0000003": Row(Decimal(5), RETRYABLE, "wrong_pin", FAILED, [PROMPT, *WRONG]),
    "0000004": Row(Decimal(5), RETRYABLE, "declined_by_customer", FAILED, [PROMPT, "Canceled."]),
    "0000005": EXPIRES,
    "0000006": Row(Decimal(5), RETRYABLE, "limit_reached", REFUSED, [PROMPT, "Not paid."]),
    "0000007": Row(Decimal(1), RETRYABLE, "payer_not_found", FAILED, []),
    "0000008": BUSY,
    "0000009": DOWN,
    "0000010": EXPIRES,
    "0000011": APPROVES,
    "0000012": Row(Decimal(5), "processing", None, PAID[:1], [PROMPT, "Approved."], hold_ends=False),
    "0000013": BROKE,
}
"""Ending → what the first attempt on it comes to."""
BY_INTENT = pytest.mark.parametrize("ending", INTENTS)

CHARGES = {
    "0000001": ("succeeded", None, ["charge.succeeded"]),
    "0000002": ("failed", "insufficient_funds", ["charge.failed"]),
    "0000003": ("failed", "wrong_pin", ["charge.failed"]),
    "0000004": ("failed", "declined_by_customer", ["charge.failed"]),
    "0000006": ("failed", "limit_reached", ["charge.failed"]),
    "0000007": ("failed", "payer_not_found", ["charge.failed"]),
    "0000008": ("failed", "payer_busy", ["charge.failed"]),
    "0000009": ("failed", "operator_unavailable", ["charge.failed"]),
    "0000011": ("succeeded", None, ["charge.succeeded"]),
    "0000013": ("failed", "insufficient_funds", ["charge.failed"]),
    "1234567": ("succeeded", None, ["charge.succeeded"]),
}
"""Ending → status, decline code and events of a charge that is answered within the call."""
OPEN_CHARGES = {
    "0000005": (300, ["charge.failed"], []),
    "0000010": (360, ["charge.failed", "charge.late_success"], IN_SUSPENSE),
}
"""Ending → when nothing more comes of a charge that is pending at first, what was told by then, what was posted."""


def types(bench: Workbench) -> list[str]:
    return [event.type for event in bench.receiver.events]


def confirmed(bench: Workbench, phone: str, provider: str = "mtn") -> str:
    intent = bench.client.payment_intents.create(amount=Decimal("150.00"), description="Monstera")
    bench.client.payment_intents.confirm(intent.id, phone=phone, provider=provider)
    return intent.id


def postings(rows: Rows) -> list[tuple[Any, ...]]:
    """What the payments posted; the nights only move it on."""
    return rows(
        "SELECT side, code, account, amount_minor FROM posting JOIN entry ON id = entry "
        "WHERE payment IS NOT NULL ORDER BY number, line"
    )


def still_due(rows: Rows) -> list[tuple[Any, ...]]:
    return rows("SELECT kind FROM job WHERE kind <> 'night'")


def screens(rows: Rows) -> list[str]:
    return [next(line for line in words.split("\n")[1:]) for (words,) in rows("SELECT words FROM screen ORDER BY seq")]


def holds(rows: Rows) -> list[tuple[Any, ...]]:
    return rows("SELECT change, amount_minor FROM hold ORDER BY seq")


def of_operator(operator: str, lines: Sequence[tuple[str, int, str, int]] = POSTED) -> list[tuple[Any, ...]]:
    return [(side, code, account.format(operator), minor) for side, code, account, minor in lines]


def failure_of(intent: PaymentIntent) -> str | None:
    return intent.last_payment_error.code if intent.last_payment_error else None


# Intents


@BY_OPERATOR
@BY_INTENT
def test_a_confirmed_intent_on_each_test_number(bench: Workbench, rows: Rows, ending: str, prefix: str, operator: str):
    row = INTENTS[ending]
    intent_id = confirmed(bench, prefix + ending, operator)
    retrieve = bench.client.payment_intents.retrieve
    assert retrieve(intent_id).status == "requires_action"
    assert holds(rows) == [("opened", 15_000)]

    bench.clock.advance(row.after_s - Decimal("0.001"))
    assert retrieve(intent_id).status == "requires_action"
    assert types(bench) == ASKED

    bench.clock.advance(Decimal("0.001"))
    intent = retrieve(intent_id)
    assert intent.status == row.status
    assert types(bench) == ASKED + row.events
    assert failure_of(intent) == row.failure
    assert holds(rows) == [("opened", 15_000), ("ended", 15_000)][: 1 + row.hold_ends]
    assert still_due(rows) == ([("late_money",)] if ending == "0000010" else [])
    assert postings(rows) == of_operator(operator, row.posted)
    assert screens(rows) == row.screens
    told = [each.data.object.get("status") for each in bench.receiver.events if each.type.startswith("payment_intent")]
    assert told[:2] == [RETRYABLE, "requires_action"]
    assert told[-1] == row.status


@BY_INTENT
def test_nothing_more_comes_of_an_attempt_that_has_ended(bench: Workbench, rows: Rows, ending: str):
    confirmed(bench, f"+26096{ending}")
    bench.clock.advance(360)
    before = (types(bench), holds(rows), postings(rows), rows("SELECT * FROM screen"))
    bench.clock.advance(days=10)
    assert (types(bench), holds(rows), postings(rows), rows("SELECT * FROM screen")) == before
    # Nights too come to an end when there is nothing more to move.
    assert rows("SELECT * FROM job") == []


# The columns of attempts that are made again


class Again(NamedTuple):
    """A further attempt of the same intent on the same number, so many seconds after the first."""

    at_s: Decimal
    row: Row


AGAIN = {
    "0000002": [Again(Decimal(10), BROKE), Again(Decimal(20), BROKE)],
    "0000008": [Again(Decimal(10), APPROVES)],
    "0000009": [Again(Decimal(10), DOWN), Again(Decimal("599.999"), DOWN), Again(Decimal("601.5"), APPROVES)],
    "0000010": [Again(Decimal(400), EXPIRES)],
    "0000013": [Again(Decimal(10), APPROVES)],
}


@BY_OPERATOR
@pytest.mark.parametrize("ending", AGAIN)
def test_a_number_confirmed_again(bench: Workbench, rows: Rows, ending: str, prefix: str, operator: str):
    intent_id, start_ms = confirmed(bench, prefix + ending, operator), bench.clock.now_ms
    expected, seen = [*ASKED, *INTENTS[ending].events, *(LATE if ending == "0000010" else [])], INTENTS[ending].screens
    for again in AGAIN[ending]:
        bench.clock.advance(Decimal(start_ms - bench.clock.now_ms) / 1000 + again.at_s)
        bench.client.payment_intents.confirm(intent_id, phone=prefix + ending, provider=operator)
        bench.clock.advance(again.row.after_s - Decimal("0.001"))
        assert bench.client.payment_intents.retrieve(intent_id).status == "requires_action"
        bench.clock.advance(Decimal("0.001"))
        intent = bench.client.payment_intents.retrieve(intent_id)
        assert (intent.status, failure_of(intent)) == (again.row.status, again.row.failure)
        expected += ["payment_intent.requires_action", *again.row.events]
        assert types(bench) == expected
        seen = [*seen, *(["Approved."] if ending == "0000010" else []), *again.row.screens]
        assert screens(rows) == seen
    attempts = 1 + len(AGAIN[ending])
    assert [change for change, _ in holds(rows)] == ["opened", "ended"] * attempts
    assert rows("SELECT count(*) FROM charge WHERE payment_intent IS NOT NULL") == [(attempts,)]
    if AGAIN[ending][-1].row is APPROVES:
        assert postings(rows) == of_operator(operator)


def test_the_operator_is_up_again_600_seconds_after_the_first_attempt(bench: Workbench):
    first = confirmed(bench, "+260960000009")
    bench.clock.advance(600)
    other = confirmed(bench, "+260960000009")
    bench.clock.advance(5)
    statuses = [bench.client.payment_intents.retrieve(each).status for each in (first, other)]
    assert statuses == [RETRYABLE, "succeeded"]


@pytest.mark.parametrize(("ending", "first"), [("0000008", "payer_busy"), ("0000013", "insufficient_funds")])
def test_attempts_are_counted_for_each_intent(bench: Workbench, ending: str, first: str):
    intents = [confirmed(bench, f"+26096{ending}") for _ in range(2)]
    bench.clock.advance(5)
    assert [failure_of(bench.client.payment_intents.retrieve(each)) for each in intents] == [first, first]


@pytest.mark.parametrize(("ending", "first"), [("0000008", "payer_busy"), ("0000013", "insufficient_funds")])
def test_attempts_of_charges_are_counted_for_each_number_and_reference(bench: Workbench, ending: str, first: str):
    made: list[str] = []
    for number, (prefix, reference) in enumerate(
        [("96", "a"), ("96", "b"), ("97", "a"), ("96", None), ("96", "a"), ("96", None), ("96", "a")]
    ):
        try:
            charge = bench.client.charges.create(
                amount=100, channel="mtn", phone=f"+260{prefix}{ending}", idempotency_key=f"{number}",
                reference=reference,
            )  # fmt: skip
            made.append(charge.status)
        except PaymentDeclined as declined:
            made.append(str(declined.decline_code))
    assert made == [first] * 4 + ["succeeded"] * 3


@BY_OPERATOR
def test_money_that_comes_late_waits_in_suspense(bench: Workbench, rows: Rows, prefix: str, operator: str):
    intent_id = confirmed(bench, f"{prefix}0000010", operator)
    bench.clock.advance(Decimal("359.999"))
    assert types(bench) == ASKED + FAILED
    assert postings(rows) == []
    bench.clock.advance(Decimal("0.001"))
    intent = bench.client.payment_intents.retrieve(intent_id)
    assert (intent.status, failure_of(intent)) == (RETRYABLE, "prompt_timeout")
    assert types(bench) == ASKED + FAILED + LATE
    assert bench.receiver.events[-1].data.object["status"] == RETRYABLE
    assert bench.receiver.events[-2].data.object["status"] == "failed"
    assert postings(rows) == of_operator(operator, IN_SUSPENSE)
    assert holds(rows) == [("opened", 15_000), ("ended", 15_000)]
    assert screens(rows) == [PROMPT, "The request has expired.", "Approved."]


@BY_OPERATOR
def test_an_answer_that_never_came_is_asked_for(bench: Workbench, rows: Rows, prefix: str, operator: str):
    intent_id = confirmed(bench, f"{prefix}0000012", operator)
    bench.clock.advance(days=3)
    intent = bench.client.payment_intents.retrieve(intent_id)
    assert intent.status == "processing"
    assert holds(rows) == [("opened", 15_000)]
    answer = query(bench, str(intent.latest_charge))
    assert (answer.status_code, answer.json()["status"]) == (200, "succeeded")
    assert bench.client.payment_intents.retrieve(intent_id).status == "succeeded"
    assert types(bench) == ASKED + PAID
    assert holds(rows) == [("opened", 15_000), ("ended", 15_000)]
    assert postings(rows) == of_operator(operator)
    again = query(bench, str(intent.latest_charge))
    assert (again.status_code, again.json()["code"]) == (409, "nothing_to_ask")


def query(bench: Workbench, charge_id: str) -> Response:
    key = {"Authorization": f"Bearer {bench.secret_key!s}"}
    return bench.http.post("/sandbox/operator/query", json={"charge": charge_id}, headers=key)


@pytest.mark.parametrize("ending", sorted({*INTENTS, "1234567"} - {"0000012"}))
def test_there_is_nothing_to_ask_of_any_other_number(bench: Workbench, ending: str):
    intent_id = confirmed(bench, f"+26096{ending}")
    for wait_s in (0, 5, 360):
        bench.clock.advance(wait_s)
        charge_id = bench.client.payment_intents.retrieve(intent_id).latest_charge
        answer = query(bench, str(charge_id))
        assert (answer.status_code, answer.json()["code"]) == (409, "nothing_to_ask")


# A person who acts before the number does

PERSON_FIRST = {
    # pressed → what comes of each number
    "cancel": dict.fromkeys(["0000001", "0000005", "0000010", "0000011", "0000012"], "declined_by_customer"),
    "1234": {
        "0000001": None, "0000002": "insufficient_funds", "0000003": None, "0000004": None, "0000005": None,
        "0000006": "limit_reached", "0000010": None, "0000011": None, "0000013": "insufficient_funds",
    },
}  # fmt: skip


@pytest.mark.parametrize(
    ("pressed", "ending", "failure"),
    [(pressed, ending, failure) for pressed, row in PERSON_FIRST.items() for ending, failure in row.items()],
)
def test_a_person_may_act_before_the_number(
    bench: Workbench, rows: Rows, pressed: str, ending: str, failure: str | None
):
    intent_id = confirmed(bench, f"+26096{ending}")
    bench.clock.advance(2)
    press(bench, f"+26096{ending}", [pressed])
    for wait_s in (0, 600):
        bench.clock.advance(wait_s)
        intent = bench.client.payment_intents.retrieve(intent_id)
        assert (intent.status, failure_of(intent)) == (RETRYABLE if failure else "succeeded", failure)
    assert holds(rows) == [("opened", 15_000), ("ended", 15_000)]
    assert len(postings(rows)) == (0 if failure else 5)
    assert still_due(rows) == []


def test_a_wrong_pin_of_a_person_leaves_the_number_to_act(bench: Workbench, rows: Rows):
    intent_id = confirmed(bench, "+260960000001")
    press(bench, "+260960000001", ["0000", 5])
    assert bench.client.payment_intents.retrieve(intent_id).status == "succeeded"
    assert screens(rows) == [PROMPT, "Wrong PIN. Tries left: 2", "Approved."]


def test_a_prompt_that_was_put_away_is_not_acted_upon(bench: Workbench):
    intent_id = confirmed(bench, "+260960000001")
    press(bench, "+260960000001", ["ignore", 5])
    assert bench.client.payment_intents.retrieve(intent_id).status == "requires_action"
    bench.clock.advance(295)
    assert failure_of(bench.client.payment_intents.retrieve(intent_id)) == "prompt_timeout"


@pytest.mark.parametrize("ending", ["0000007", "0000008", "0000009"])
def test_a_number_that_gets_no_prompt_shows_none(bench: Workbench, ending: str):
    confirmed(bench, f"+26096{ending}")
    for wait_s in (0, 1):
        bench.clock.advance(wait_s)
        phone = bench.phone(f"+26096{ending}")
        assert (phone.waiting, phone.screen) == (False, "(no message)")
        with pytest.raises(StateConflict, match="No prompt waits"):
            phone.enter_pin("1234")


RETRIED = [ending for ending, row in INTENTS.items() if row.failure and ending != "0000010"]


@pytest.mark.parametrize("ending", RETRIED)
def test_a_failed_attempt_can_be_made_again_on_another_number(bench: Workbench, rows: Rows, ending: str):
    row = INTENTS[ending]
    intent_id = confirmed(bench, f"+26096{ending}")
    bench.clock.advance(row.after_s)
    bench.client.payment_intents.confirm(intent_id, phone="+260960000001", provider="mtn")
    bench.clock.advance(5)
    intent = bench.client.payment_intents.retrieve(intent_id)
    assert (intent.status, intent.last_payment_error) == ("succeeded", None)
    assert types(bench) == [*ASKED, *row.events, "payment_intent.requires_action", *PAID]
    assert [change for change, _ in holds(rows)] == ["opened", "ended", "opened", "ended"]
    assert postings(rows) == of_operator("mtn")
    assert rows("SELECT status FROM charge ORDER BY seq") == [("failed",), ("succeeded",)]


@pytest.mark.parametrize("status", ["requires_action", "succeeded"])
def test_an_intent_that_is_under_way_or_paid_takes_no_second_attempt(bench: Workbench, rows: Rows, status: str):
    intent_id = confirmed(bench, "+260960000001")
    bench.clock.advance(5 if status == "succeeded" else 0)
    with pytest.raises(StateConflict) as refused:
        bench.client.payment_intents.confirm(intent_id, phone="+260960000001", provider="mtn")
    assert refused.value.facts["current"] == status
    assert len(rows("SELECT * FROM charge")) == 1


# Charges


@BY_OPERATOR
@pytest.mark.parametrize("ending", CHARGES)
def test_a_charge_on_each_test_number(bench: Workbench, rows: Rows, ending: str, prefix: str, operator: str):
    status, decline_code, events = CHARGES[ending]
    more = {"amount": 15_000, "channel": operator, "phone": prefix + ending, "idempotency_key": "order-1"}
    if decline_code is None:
        charge = bench.client.charges.create(**more)
        assert (charge.status, charge.amount, charge.currency) == (status, 15_000, "zmw")
        assert (charge.channel, charge.provider) == (operator, operator)
    else:
        with pytest.raises(PaymentDeclined) as declined:
            bench.client.charges.create(**more)
        assert declined.value.decline_code == decline_code
        charge = bench.client.charges.retrieve(declined.value.facts["charge"])
        assert (charge.status, charge.failure_code) == (status, decline_code)
    assert types(bench) == events
    assert holds(rows) == [("opened", 15_000), ("ended", 15_000)]
    assert postings(rows) == (of_operator(operator) if decline_code is None else [])
    bench.clock.advance(days=1)
    assert types(bench) == events


@BY_OPERATOR
@pytest.mark.parametrize("ending", OPEN_CHARGES)
def test_a_charge_that_is_pending_at_first(bench: Workbench, rows: Rows, ending: str, prefix: str, operator: str):
    until_s, events, posted = OPEN_CHARGES[ending]
    charge = bench.client.charges.create(
        amount=15_000, channel=operator, phone=prefix + ending, idempotency_key="order-1"
    )
    assert charge.status == "pending"
    assert holds(rows) == [("opened", 15_000)]
    bench.clock.advance(Decimal("299.999"))
    assert bench.client.charges.retrieve(charge.id).status == "pending"
    bench.clock.advance(Decimal("0.001"))
    charge = bench.client.charges.retrieve(charge.id)
    assert (charge.status, charge.failure_code) == ("failed", "prompt_timeout")
    assert types(bench) == ["charge.pending", "charge.failed"]
    assert holds(rows) == [("opened", 15_000), ("ended", 15_000)]
    bench.clock.advance(until_s - 300)
    assert bench.client.charges.retrieve(charge.id) == charge
    assert types(bench) == ["charge.pending", *events]
    assert postings(rows) == of_operator(operator, posted)


@BY_OPERATOR
def test_a_charge_that_no_answer_came_for(bench: Workbench, rows: Rows, prefix: str, operator: str):
    charge = bench.client.charges.create(
        amount=15_000, channel=operator, phone=f"{prefix}0000012", idempotency_key="order-1"
    )
    bench.clock.advance(days=2)
    assert bench.client.charges.retrieve(charge.id).status == charge.status == "pending"
    assert types(bench) == ["charge.pending"]
    assert holds(rows) == [("opened", 15_000)]
    assert query(bench, charge.id).json()["status"] == "succeeded"
    assert types(bench) == ["charge.pending", "charge.succeeded"]
    assert postings(rows) == of_operator(operator)


@pytest.mark.parametrize("prefix", OPERATORS)
def test_a_charge_on_an_operator_that_is_down_for_600_seconds(bench: Workbench, prefix: str):
    made = []
    for number, at_s in enumerate((0, 300, 599, 600)):
        bench.clock.advance(Decimal(at_s) - Decimal(bench.clock.now_ms - 1_767_592_800_000) / 1000)
        try:
            charge = bench.client.charges.create(
                amount=100, channel="mtn", phone=f"{prefix}0000009", idempotency_key=f"{number}"
            )
            made.append(charge.status)
        except PaymentDeclined as declined:
            made.append(str(declined.decline_code))
    assert made == ["operator_unavailable"] * 3 + ["succeeded"]


def test_the_money_moves_through_the_operator_of_the_number(bench: Workbench, rows: Rows):
    charge = bench.client.charges.create(
        amount=15_000, channel="airtel", phone="+260961234567", idempotency_key="order-1"
    )
    assert (charge.channel, charge.provider) == ("airtel", "mtn")
    assert len(charge.warnings) == 1
    assert postings(rows) == of_operator("mtn")


# A person at the handset

PHONE = "+260961234567"


@pytest.mark.parametrize(
    ("pressed", "status", "failure", "after"),
    [
        (["1234"], "succeeded", None, PAID),
        (["0000", "1234"], "succeeded", None, PAID),
        (["0000", "9999", "1234"], "succeeded", None, PAID),
        (["0000", "0000", "0000"], RETRYABLE, "wrong_pin", FAILED),
        (["cancel"], RETRYABLE, "declined_by_customer", FAILED),
        (["0000", "cancel"], RETRYABLE, "declined_by_customer", FAILED),
        ([], "requires_action", None, []),
        (["0000"], "requires_action", None, []),
        (["ignore"], "requires_action", None, []),
        (["ignore", 300], RETRYABLE, "prompt_timeout", FAILED),
        (["0000", 300], RETRYABLE, "prompt_timeout", FAILED),
        ([299, "1234"], "succeeded", None, PAID),
    ],
    ids=repr,
)
def test_what_a_person_presses(
    bench: Workbench, rows: Rows, pressed: list[str | int], status: str, failure: str | None, after: list[str]
):
    intent_id = confirmed(bench, PHONE)
    press(bench, PHONE, pressed)
    intent = bench.client.payment_intents.retrieve(intent_id)
    assert (intent.status, failure_of(intent)) == (status, failure)
    assert types(bench) == ASKED + after
    assert len(holds(rows)) == (1 if status == "requires_action" else 2)
    assert postings(rows) == (of_operator("mtn") if status == "succeeded" else [])


def press(bench: Workbench, number: str, pressed: list[str | int]):
    for each in pressed:
        if isinstance(each, int):
            bench.clock.advance(each)
        elif each in ("cancel", "ignore"):
            getattr(bench.phone(number), each)()
        else:
            bench.phone(number).enter_pin(each)


@pytest.mark.parametrize("pressed", [[], ["1234"], ["cancel"], ["ignore"], [300], ["0000", "0000", "0000"]], ids=repr)
@pytest.mark.parametrize("more", ["1234", "cancel", "ignore"])
def test_a_handset_without_a_prompt_takes_nothing(bench: Workbench, pressed: list[str | int], more: str):
    if pressed:
        confirmed(bench, PHONE)
    press(bench, PHONE, pressed)
    with pytest.raises(StateConflict) as refused:
        press(bench, PHONE, [more])
    assert refused.value.code == "no_prompt"


def test_prompts_on_one_handset_queue(bench: Workbench):
    first = confirmed(bench, PHONE)
    bench.clock.advance(100)
    second = confirmed(bench, PHONE)
    statuses = []
    for pressed in ("cancel", "1234"):
        press(bench, PHONE, [pressed])
        statuses.append([bench.client.payment_intents.retrieve(each).status for each in (first, second)])
    assert statuses == [[RETRYABLE, "requires_action"], [RETRYABLE, "succeeded"]]


def test_each_prompt_has_its_own_time(bench: Workbench):
    first = confirmed(bench, PHONE)
    bench.clock.advance(100)
    second = confirmed(bench, PHONE)
    bench.clock.advance(200)
    assert [bench.client.payment_intents.retrieve(each).status for each in (first, second)] == [
        RETRYABLE,
        "requires_action",
    ]
    bench.clock.advance(100)
    assert bench.client.payment_intents.retrieve(second).status == RETRYABLE


@pytest.mark.parametrize("timeout_s", [60, 180, 600])
def test_the_prompt_closes_when_the_register_says(timeout_s: int):
    with Workbench(seed=7, gaps={"prompt_timeout_s": timeout_s}) as bench:
        intent_id = confirmed(bench, "+260960000005")
        bench.clock.advance(timeout_s - 1)
        assert bench.client.payment_intents.retrieve(intent_id).status == "requires_action"
        bench.clock.advance(1)
        assert bench.client.payment_intents.retrieve(intent_id).status == RETRYABLE


def test_one_try_when_the_register_says():
    with Workbench(seed=7, gaps={"pin_attempts": 1}) as bench:
        intent_id = confirmed(bench, PHONE)
        press(bench, PHONE, ["0000"])
        assert bench.client.payment_intents.retrieve(intent_id).last_payment_error.code == "wrong_pin"


@pytest.mark.parametrize(
    ("choices", "posted"),
    [
        ({"operator_fee": "none"}, [(1100, 15_000), (2000, -14_625), (4000, -375)]),
        ({"merchant_fee": "none"}, [(1100, 14_850), (2000, -15_000), (5000, 150)]),
        ({"merchant_fee": "flat_1.00"}, [(1100, 14_850), (2000, -14_900), (4000, -100), (5000, 150)]),
        ({"merchant_fee": "none", "operator_fee": "none"}, [(1100, 15_000), (2000, -15_000)]),
    ],
    ids=repr,
)
def test_fees_as_the_register_says(choices: dict[str, object], posted: list[tuple[int, int]]):
    with Workbench(seed=7, gaps=choices) as bench:
        bench.client.charges.create(amount=15_000, channel="mtn", phone=PHONE, idempotency_key="order-1")
        accounts = bench.http.get(
            "/sandbox/ledger/accounts", headers={"Authorization": f"Bearer {bench.secret_key!s}"}
        ).json()["data"]
    assert [(each["code"], each["debit_minor"] - each["credit_minor"]) for each in accounts] == posted


# The table itself


def test_every_row_of_the_table_is_tried_here():
    assert {*INTENTS} == {*CHARGES, *OPEN_CHARGES, "0000012"} - {"1234567"} == {*TEST_NUMBERS}
    assert Gaps().prompt_timeout_s == INTENTS["0000005"].after_s


@pytest.mark.parametrize("ending", ["0000000", "0000014", "1000001", "1234567"])
def test_a_number_that_is_not_listed_waits_for_a_person(ending: str):
    assert SCENARIOS[scenario_on(ending, attempt=1, since_first_ms=0)].by_itself is False


@pytest.mark.parametrize(("pin", "right"), [("1234", True), ("0000", False), ("4321", False), ("", False)])
def test_every_pin_is_1234(pin: str, right: bool):  # noqa: FBT001  a table
    assert pin_is_right(pin) is right
