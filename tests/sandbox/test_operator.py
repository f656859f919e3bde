from collections import defaultdict
from collections.abc import Callable, Sequence
from decimal import Decimal
from itertools import count, product
from typing import Any, NamedTuple

import pytest
from httpx import Response

from workbench import Workbench
from workbench.domain.gaps import Gaps
from workbench.domain.scenarios import SCENARIOS, TEST_NUMBERS, pin_is_right, scenario_on
from workbench.domain.wire import PaymentIntent
from workbench.errors import PaymentDeclined, StateConflict

Rows = Callable[[str], list[tuple[Any, ...]]]
Line = tuple[str, int, str, int]

PAID = ["payment_intent.processing", "charge.succeeded", "payment_intent.succeeded"]
REFUSED = ["payment_intent.processing", "charge.failed", "payment_intent.payment_failed"]
FAILED = ["charge.failed", "payment_intent.payment_failed"]
ASKED = ["payment_intent.created", "payment_intent.requires_action"]
LATE = ["charge.late_success", "payment_intent.late_success"]
RETRYABLE = "requires_payment_method"
PROMPT = "Pay ZMW 150.00"
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
    """What a test number does with an intent: when, and how it ends."""

    after_s: Decimal
    status: str
    failure: str | None
    events: list[str]
    screens: list[str]
    posted: Sequence[Line] = ()
    hold_ends: bool = True


WRONG = ["Wrong PIN. Tries left: 2", "Wrong PIN. Tries left: 1", "Not paid."]
EXPIRES = Row(Decimal(300), RETRYABLE, "prompt_timeout", FAILED, [PROMPT, "The request has expired."])
APPROVES = Row(Decimal(5), "succeeded", None, PAID, [PROMPT, "Approved."], POSTED)
BROKE = Row(Decimal(5), RETRYABLE, "insufficient_funds", REFUSED, [PROMPT, "Not paid."])
# What no prompt is sent for, the customer never sees.
BUSY = Row(Decimal(1), RETRYABLE, "payer_busy", FAILED, [])
DOWN = Row(Decimal(1), RETRYABLE, "operator_unavailable", FAILED, [])
INTENTS = {
    "0000001": APPROVES, "0000002": BROKE, "0000005": EXPIRES, "0000008": BUSY, "0000009": DOWN,
    "0000010": EXPIRES, "0000011": APPROVES, "0000013": BROKE,
    "0000003": Row(Decimal(5), RETRYABLE, "wrong_pin", FAILED, [PROMPT, *WRONG]),
    "0000004": Row(Decimal(5), RETRYABLE, "declined_by_customer", FAILED, [PROMPT, "Canceled."]),
    "0000006": Row(Decimal(5), RETRYABLE, "limit_reached", REFUSED, [PROMPT, "Not paid."]),
    "0000007": Row(Decimal(1), RETRYABLE, "payer_not_found", FAILED, []),
    "0000012": Row(Decimal(5), "processing", None, PAID[:1], [PROMPT, "Approved."], hold_ends=False),
}  # fmt: skip
"""Ending → what the first attempt on it comes to."""

CHARGES = {
    **dict.fromkeys(["0000001", "0000011", "1234567"]),
    "0000002": "insufficient_funds", "0000003": "wrong_pin", "0000004": "declined_by_customer",
    "0000006": "limit_reached", "0000007": "payer_not_found", "0000008": "payer_busy",
    "0000009": "operator_unavailable", "0000013": "insufficient_funds",
}  # fmt: skip
"""Ending → decline code of a charge that is answered within the call, None for one that is paid."""
EXPIRING = {"0000005": (["charge.failed"], ()), "0000010": (["charge.failed", "charge.late_success"], IN_SUSPENSE)}
"""Ending → what is told of a charge that is pending at first, and what is posted in the end."""
PHONE = "+260961234567"
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


def made(bench: Workbench) -> str:
    return bench.client.payment_intents.create(amount=Decimal("150.00"), description="Monstera").id


def confirm(bench: Workbench, intent_id: str, phone: str) -> str:
    bench.client.payment_intents.confirm(intent_id, phone=phone, provider=OPERATORS[phone[:6]])
    return intent_id


def confirmed(bench: Workbench, phone: str) -> str:
    return confirm(bench, made(bench), phone)


def charged(bench: Workbench, phone: str, minor: int = 15_000, **more: Any) -> tuple[str, str | None]:  # noqa: ANN401  a charge's fields
    """The id and the decline code of a charge."""
    more["idempotency_key"] = f"order-{next(ORDERS)}"
    try:
        charge = bench.client.charges.create(amount=minor, channel="mtn", phone=phone, **more)
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
    key = {"Authorization": f"Bearer {bench.secret_key!s}"}
    return bench.http.post("/sandbox/operator/query", json={"charge": charge_id}, headers=key)


def press(bench: Workbench, number: str, pressed: Sequence[str | int]):
    for each in pressed:
        if isinstance(each, int):
            bench.clock.advance(each)
        elif each in ("cancel", "ignore"):
            getattr(bench.phone(number), each)()
        else:
            bench.phone(number).enter_pin(each)


def move_to(bench: Workbench, at_s: Decimal | float, began_ms: int = 1_767_592_800_000):
    """So many seconds after the sandbox began, or another moment."""
    bench.clock.advance(Decimal(str(at_s)) - Decimal(bench.clock.now_ms - began_ms) / 1000)


# Intents


def test_a_confirmed_intent_on_each_test_number_of_each_operator(bench: Workbench, rows: Rows):
    payments = {
        confirmed(bench, prefix + ending): (ending, operator, row)
        for (ending, row), (prefix, operator) in product(INTENTS.items(), OPERATORS.items())
    }
    for at_s in (0, 0.999, 1, 4.999, 5, 299.999, 300, 359.999, 360, 10 * 86_400):
        move_to(bench, at_s)
        found = seen(bench, rows)
        intents = {each.id: each for each in bench.client.payment_intents.list(limit=100)}
        for identifier, (ending, operator, row) in payments.items():
            acted, late = at_s >= row.after_s, ending == "0000010" and at_s >= 360
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
            if acted and at_s in (1, 5, 360) and ending != "0000012":
                answer = query(bench, str(intents[identifier].latest_charge))
                assert (answer.status_code, answer.json()["code"]) == (409, "nothing_to_ask"), ending
        assert (still_due(rows) == [("late_money",)] * 3) == (300 <= at_s < 360)
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


def test_there_is_nothing_to_ask_while_a_prompt_waits(bench: Workbench):
    for ending in {*INTENTS, "1234567"} - {"0000012"}:
        intent = bench.client.payment_intents.retrieve(confirmed(bench, f"+26096{ending}"))
        answer = query(bench, str(intent.latest_charge))
        assert (answer.status_code, answer.json()["code"]) == (409, "nothing_to_ask")


# Attempts that are made again


AGAIN = {
    "0000002": [(Decimal(10), BROKE), (Decimal(20), BROKE)],
    "0000008": [(Decimal(10), APPROVES)],
    "0000009": [(Decimal(10), DOWN), (Decimal("599.999"), DOWN), (Decimal("601.5"), APPROVES)],
    "0000010": [(Decimal(400), EXPIRES)],
    "0000013": [(Decimal(10), APPROVES)],
}
"""Ending → further attempts of the same intent on the same number, so many seconds after the first."""


def test_a_number_confirmed_again(bench: Workbench, rows: Rows):
    for ending, again in AGAIN.items():
        began_ms = bench.clock.now_ms
        payments = {confirmed(bench, prefix + ending): (prefix, operator) for prefix, operator in OPERATORS.items()}
        late = ending == "0000010"
        events, screens = [*ASKED, *INTENTS[ending].events, *(LATE * late)], INTENTS[ending].screens
        for at_s, row in again:
            move_to(bench, at_s, began_ms)
            for identifier, (prefix, _) in payments.items():
                confirm(bench, identifier, prefix + ending)
            bench.clock.advance(row.after_s - Decimal("0.001"))
            assert {now(bench, each) for each in payments} == {("requires_action", None)}
            bench.clock.advance(Decimal("0.001"))
            assert {now(bench, each) for each in payments} == {(row.status, row.failure)}
            events = [*events, "payment_intent.requires_action", *row.events]
            screens = [*screens, *(["Approved."] * late), *row.screens]
            found = seen(bench, rows)
            assert [(found[each].events, found[each].screens) for each in payments] == [(events, screens)] * 3
        for identifier, (_, operator) in payments.items():
            assert found[identifier].holds == [OPENED, ENDED] * (1 + len(again))
            assert not row.posted or found[identifier].posted == of_operator(operator)
    attempts = sum(3 * (1 + len(again)) for again in AGAIN.values())
    assert rows("SELECT count(*) FROM charge WHERE payment_intent IS NOT NULL") == [(attempts,)]


def test_the_operator_is_up_again_600_seconds_after_the_first_attempt(bench: Workbench):
    first = confirmed(bench, "+260960000009")
    charges: dict[str, list[str | None]] = defaultdict(list)
    for at_s in (0, 300, 599, 600):
        move_to(bench, at_s)
        for prefix in ("+26076", "+26097", "+26095"):
            charges[prefix].append(charged(bench, f"{prefix}0000009")[1])
    assert [*charges.values()] == [["operator_unavailable"] * 3 + [None]] * 3
    other = confirmed(bench, "+260960000009")
    bench.clock.advance(5)
    assert [now(bench, each)[0] for each in (first, other)] == [RETRYABLE, "succeeded"]


@pytest.mark.parametrize(("ending", "first"), [("0000008", "payer_busy"), ("0000013", "insufficient_funds")])
def test_attempts_are_counted_for_each_intent_or_number_and_reference(bench: Workbench, ending: str, first: str):
    intents = [confirmed(bench, f"+26096{ending}") for _ in range(2)]
    bench.clock.advance(5)
    assert [now(bench, each)[1] for each in intents] == [first, first]
    made = [("76", "a"), ("76", "b"), ("97", "a"), ("76", None), ("76", "a"), ("76", None), ("76", "a")]
    codes = [charged(bench, f"+260{prefix}{ending}", reference=reference)[1] for prefix, reference in made]
    assert codes == [first] * 4 + [None] * 3


RETRIED = [ending for ending, row in INTENTS.items() if row.failure and ending != "0000010"]


def test_a_failed_attempt_can_be_made_again_on_another_number(bench: Workbench, rows: Rows):
    for ending in RETRIED:
        intent_id = confirmed(bench, f"+26096{ending}")
        bench.clock.advance(INTENTS[ending].after_s)
        confirm(bench, intent_id, "+260960000001")
        bench.clock.advance(5)
        assert now(bench, intent_id) == ("succeeded", None)
        found = seen(bench, rows)[intent_id]
        assert found.events == [*ASKED, *INTENTS[ending].events, "payment_intent.requires_action", *PAID]
        assert (found.holds, found.posted) == ([OPENED, ENDED] * 2, of_operator("mtn"))
    assert rows("SELECT status FROM charge ORDER BY seq") == [("failed",), ("succeeded",)] * len(RETRIED)


def test_an_intent_that_is_under_way_or_paid_takes_no_second_attempt(bench: Workbench, rows: Rows):
    intent_id = confirmed(bench, "+260960000001")
    for status in ("requires_action", "succeeded"):
        with pytest.raises(StateConflict) as refused:
            confirm(bench, intent_id, "+260960000001")
        assert refused.value.facts["current"] == status
        bench.clock.advance(5)
    assert len(rows("SELECT * FROM charge")) == 1


# A person who acts before the number does

PERSON_FIRST = {
    # pressed → what comes of each number
    "cancel": dict.fromkeys(["0000001", "0000005", "0000010", "0000011", "0000012"], "declined_by_customer"),
    "1234": {
        "0000001": None, "0000002": "insufficient_funds", "0000003": None, "0000004": None, "0000005": None,
        "0000006": "limit_reached", "0000010": None, "0000011": None, "0000013": "insufficient_funds",
    },
}  # fmt: skip


@pytest.mark.parametrize("pressed", PERSON_FIRST)
def test_a_person_may_act_before_the_number(bench: Workbench, rows: Rows, pressed: str):
    expected = {confirmed(bench, f"+26096{ending}"): failure for ending, failure in PERSON_FIRST[pressed].items()}
    bench.clock.advance(2)
    for ending in PERSON_FIRST[pressed]:
        press(bench, f"+26096{ending}", [pressed])
    for wait_s in (0, 600):
        bench.clock.advance(wait_s)
        for intent_id, failure in expected.items():
            assert now(bench, intent_id) == (RETRYABLE if failure else "succeeded", failure)
    found = seen(bench, rows)
    for intent_id, failure in expected.items():
        assert (found[intent_id].holds, len(found[intent_id].posted)) == ([OPENED, ENDED], 0 if failure else 5)
    assert still_due(rows) == []


def test_after_a_wrong_pin_of_a_person_the_number_acts_and_not_on_a_prompt_put_away(bench: Workbench, rows: Rows):
    wrong, ignored = confirmed(bench, "+260960000001"), confirmed(bench, "+260970000001")
    press(bench, "+260960000001", ["0000"])
    press(bench, "+260970000001", ["ignore", 5])
    assert [now(bench, each)[0] for each in (wrong, ignored)] == ["succeeded", "requires_action"]
    assert seen(bench, rows)[wrong].screens == [PROMPT, "Wrong PIN. Tries left: 2", "Approved."]
    bench.clock.advance(295)
    assert now(bench, ignored)[1] == "prompt_timeout"


def test_a_number_that_gets_no_prompt_shows_none(bench: Workbench):
    phones = [bench.phone(f"+260960000{ending}") for ending in ("007", "008", "009")]
    for phone in phones:
        confirmed(bench, str(phone.number))
    for wait_s in (0, 1):
        bench.clock.advance(wait_s)
        for phone in phones:
            assert (phone.waiting, phone.screen) == (False, "(no message)")
            with pytest.raises(StateConflict, match="No prompt waits"):
                phone.enter_pin("1234")


# Charges


def test_a_charge_on_each_test_number_of_each_operator(bench: Workbench, rows: Rows):
    charges = {}
    for (ending, code), (prefix, operator) in product(CHARGES.items(), OPERATORS.items()):
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


def test_a_charge_that_is_pending_at_first(bench: Workbench, rows: Rows):
    charges = {
        charged(bench, prefix + ending)[0]: (ending, operator)
        for ending, (prefix, operator) in product(EXPIRING, OPERATORS.items())
    }
    for at_s in (0, 299.999, 300, 360, 86_400):
        move_to(bench, at_s)
        found = seen(bench, rows)
        for charge_id, (ending, operator) in charges.items():
            events, posted = EXPIRING[ending]
            expired, ended = at_s >= 300, at_s >= 360
            charge = bench.client.charges.retrieve(charge_id)
            assert (charge.status, charge.failure_code) == (
                ("failed", "prompt_timeout") if expired else ("pending", None)
            )
            assert found[charge_id].events == ["charge.pending", *(events if ended else events[:expired])]
            assert found[charge_id].holds == [OPENED, ENDED][: 1 + expired]
            assert found[charge_id].posted == of_operator(operator, posted if ended else ())


def test_the_money_moves_through_the_operator_of_the_number(bench: Workbench, rows: Rows):
    charge = bench.client.charges.create(amount=15_000, channel="airtel", phone=PHONE, idempotency_key="order-1")
    assert (charge.channel, charge.provider) == ("airtel", "mtn")
    assert len(charge.warnings) == 1
    assert seen(bench, rows)[charge.id].posted == of_operator("mtn")


# A person at the handset


PRESSED: list[tuple[list[str | int], str, str | None, list[str]]] = [
    *((pressed, "succeeded", None, PAID) for pressed in (["1234"], ["0000", "1234"], ["0000", "9999", "1234"],
                                                         [299, "1234"])),
    (["0000", "0000", "0000"], RETRYABLE, "wrong_pin", FAILED),
    *((pressed, RETRYABLE, "declined_by_customer", FAILED) for pressed in (["cancel"], ["0000", "cancel"])),
    *((pressed, "requires_action", None, []) for pressed in ([], ["0000"], ["ignore"])),
    *((pressed, RETRYABLE, "prompt_timeout", FAILED) for pressed in (["ignore", 300], ["0000", 300])),
]  # fmt: skip


def test_what_a_person_presses(bench: Workbench, rows: Rows):
    for number, (pressed, status, failure, after) in zip(count(1_000_001), PRESSED, strict=False):
        phone = f"+26096{number}"
        intent_id = confirmed(bench, phone)
        press(bench, phone, pressed)
        assert now(bench, intent_id) == (status, failure), pressed
        found = seen(bench, rows)[intent_id]
        assert found.events == ASKED + after
        assert found.holds == [OPENED, ENDED][: 1 if status == "requires_action" else 2]
        assert found.posted == (of_operator("mtn") if status == "succeeded" else [])


def test_a_handset_without_a_prompt_takes_nothing(bench: Workbench):
    ended: list[list[str | int]] = [[], ["1234"], ["cancel"], ["ignore"], [300], ["0000", "0000", "0000"]]
    for number, pressed in zip(count(1_000_001), ended, strict=False):
        phone = f"+26096{number}"
        if pressed:
            confirmed(bench, phone)
        press(bench, phone, pressed)
        for more in ("1234", "cancel", "ignore"):
            with pytest.raises(StateConflict) as refused:
                press(bench, phone, [more])
            assert refused.value.code == "no_prompt"


def test_prompts_on_one_handset_queue_and_each_has_its_own_time(bench: Workbench):
    for presses, statuses in (
        (("cancel", "1234"), [[RETRYABLE, "requires_action"], [RETRYABLE, "succeeded"]]),
        ((200, 100), [[RETRYABLE, "requires_action"], [RETRYABLE, RETRYABLE]]),
    ):
        first = confirmed(bench, PHONE)
        bench.clock.advance(100)
        second = confirmed(bench, PHONE)
        for pressed, expected in zip(presses, statuses, strict=True):
            press(bench, PHONE, [pressed])
            assert [now(bench, each)[0] for each in (first, second)] == expected


# As the register says


@pytest.mark.parametrize("timeout_s", [60, 180, 600])
def test_the_prompt_closes_and_pins_run_out_when_the_register_says(timeout_s: int):
    with Workbench(seed=7, gaps={"prompt_timeout_s": timeout_s, "pin_attempts": 1}) as bench:
        intent_id, tried = confirmed(bench, "+260960000005"), confirmed(bench, PHONE)
        press(bench, PHONE, ["0000"])
        assert now(bench, tried) == (RETRYABLE, "wrong_pin")
        bench.clock.advance(timeout_s - 1)
        assert now(bench, intent_id)[0] == "requires_action"
        bench.clock.advance(1)
        assert now(bench, intent_id)[0] == RETRYABLE


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
    assert {*INTENTS} == {*CHARGES, *EXPIRING, "0000012"} - {"1234567"} == {*TEST_NUMBERS}
    assert Gaps().prompt_timeout_s == INTENTS["0000005"].after_s


def test_a_number_that_is_not_listed_waits_for_a_person_and_every_pin_is_1234():
    for ending in ("0000000", "0000014", "1000001", "1234567"):
        assert SCENARIOS[scenario_on(ending, attempt=1, since_first_ms=0)].by_itself is False
    assert [pin for pin in ("1234", "0000", "4321", "") if pin_is_right(pin)] == ["1234"]
