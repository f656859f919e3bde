from collections.abc import Callable
from decimal import Decimal
from typing import Any, NamedTuple

import pytest

from workbench import Workbench
from workbench.domain.gaps import Gaps
from workbench.domain.phones import msisdn_from
from workbench.errors import InvalidRequest, PaymentDeclined, StateConflict
from workbench.sandbox.operator import TEST_NUMBERS, UNLISTED, pin_is_right, wallet_of

Rows = Callable[[str], list[tuple[Any, ...]]]

PAID = ["payment_intent.processing", "charge.succeeded", "payment_intent.succeeded"]
REFUSED = ["payment_intent.processing", "charge.failed", "payment_intent.payment_failed"]
FAILED = ["charge.failed", "payment_intent.payment_failed"]
ASKED = ["payment_intent.created", "payment_intent.requires_action"]
RETRYABLE = "requires_payment_method"
POSTED = [
    ("debit", 1100, "operator:{}:float", 15_000),
    ("debit", 5000, "expense:operator_fee:{}", 150),
    ("credit", 2000, "merchant:plants:pending", 14_625),
    ("credit", 4000, "income:merchant_fee", 375),
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


INTENTS = {
    "0000001": Row(Decimal(5), "succeeded", None, PAID, ["Approved."]),
    "0000002": Row(Decimal(5), RETRYABLE, "insufficient_funds", REFUSED, ["Not paid."]),
    "0000003": Row(
        Decimal(5),
        RETRYABLE,
        "wrong_pin",
        FAILED,
        ["Wrong PIN. Tries left: 2", "Wrong PIN. Tries left: 1", "Not paid."],
    ),
    "0000004": Row(Decimal(5), RETRYABLE, "declined_by_customer", FAILED, ["Canceled."]),
    "0000005": Row(Decimal(300), RETRYABLE, "prompt_timeout", FAILED, ["The request has expired."]),
    "0000006": Row(Decimal(5), RETRYABLE, "limit_reached", REFUSED, ["Not paid."]),
}
BY_INTENT = pytest.mark.parametrize("ending", INTENTS)

CHARGES = {
    "0000001": ("succeeded", None, ["charge.succeeded"]),
    "0000002": ("failed", "insufficient_funds", ["charge.failed"]),
    "0000003": ("failed", "wrong_pin", ["charge.failed"]),
    "0000004": ("failed", "declined_by_customer", ["charge.failed"]),
    "0000006": ("failed", "limit_reached", ["charge.failed"]),
    "1234567": ("succeeded", None, ["charge.succeeded"]),
}
"""Ending → status, decline code and events of a charge that is answered within the call."""


def types(bench: Workbench) -> list[str]:
    return [event.type for event in bench.receiver.events]


def confirmed(bench: Workbench, phone: str, provider: str = "mtn") -> str:
    intent = bench.client.payment_intents.create(amount=Decimal("150.00"), description="Monstera")
    bench.client.payment_intents.confirm(intent.id, phone=phone, provider=provider)
    return intent.id


def postings(rows: Rows) -> list[tuple[Any, ...]]:
    return rows("SELECT side, code, account, amount_minor FROM posting JOIN entry ON id = entry ORDER BY number, line")


def holds(rows: Rows) -> list[tuple[Any, ...]]:
    return rows("SELECT change, amount_minor FROM hold ORDER BY seq")


def of_operator(operator: str) -> list[tuple[Any, ...]]:
    return [(side, code, account.format(operator), minor) for side, code, account, minor in POSTED]


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
    assert (intent.last_payment_error.code if intent.last_payment_error else None) == row.failure
    assert holds(rows) == [("opened", 15_000), ("ended", 15_000)]
    assert rows("SELECT * FROM job") == []
    assert postings(rows) == (of_operator(operator) if row.failure is None else [])
    words = [each for (each,) in rows("SELECT words FROM screen ORDER BY seq")]
    assert [each.split("\n")[1] for each in words] == ["Pay ZMW 150.00", *row.screens]


@BY_INTENT
def test_nothing_more_comes_of_an_attempt_that_has_ended(bench: Workbench, rows: Rows, ending: str):
    confirmed(bench, f"+26096{ending}")
    bench.clock.advance(300)
    before = (types(bench), holds(rows), postings(rows), rows("SELECT * FROM screen"))
    bench.clock.advance(days=10)
    assert (types(bench), holds(rows), postings(rows), rows("SELECT * FROM screen")) == before
    assert rows("SELECT * FROM job") == []


@pytest.mark.parametrize("ending", [ending for ending, row in INTENTS.items() if row.failure])
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
def test_a_charge_that_is_never_answered_fails_at_300_seconds(bench: Workbench, rows: Rows, prefix: str, operator: str):
    charge = bench.client.charges.create(
        amount=15_000, channel=operator, phone=f"{prefix}0000005", idempotency_key="order-1"
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
    assert postings(rows) == []


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
    assert intent.status == status
    assert (intent.last_payment_error.code if intent.last_payment_error else None) == failure
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


@pytest.mark.parametrize("prefix", OPERATORS)
def test_a_test_number_is_the_same_on_every_operator(prefix: str):
    for ending, wallet in TEST_NUMBERS.items():
        assert wallet_of(msisdn_from(prefix + ending, param="phone")) is wallet
    assert wallet_of(msisdn_from(f"{prefix}1234567", param="phone")) is UNLISTED


def test_every_row_of_the_table_is_tried_here():
    assert {*INTENTS} == {*TEST_NUMBERS}
    assert Gaps().prompt_timeout_s == INTENTS["0000005"].after_s


@pytest.mark.parametrize("ending", [f"00000{number:02}" for number in range(7, 14)])
def test_a_test_number_that_is_not_offered_yet_passes_for_nothing(bench: Workbench, rows: Rows, ending: str):
    with pytest.raises(InvalidRequest) as refused:
        bench.client.charges.create(amount=15_000, channel="mtn", phone=f"+26096{ending}", idempotency_key="order-1")
    assert refused.value.param == "phone"
    with pytest.raises(InvalidRequest):
        confirmed(bench, f"+26096{ending}")
    assert rows("SELECT * FROM charge") == rows("SELECT * FROM hold") == []


@pytest.mark.parametrize(("pin", "right"), [("1234", True), ("0000", False), ("4321", False), ("", False)])
def test_every_pin_is_1234(pin: str, right: bool):  # noqa: FBT001  a table
    assert pin_is_right(pin) is right
