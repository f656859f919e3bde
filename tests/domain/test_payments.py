from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.domain.gaps import Gaps
from workbench.domain.payments import (
    CHARGE_TRANSITIONS,
    FAILURES,
    INTENT_TRANSITIONS,
    PAYOUT_TRANSITIONS,
    REFUND_TRANSITIONS,
    Fees,
    Transitions,
    fees_of,
    next_state,
)
from workbench.errors import IllegalTransition

INTENT_STATES = ("requires_payment_method", "requires_action", "processing", "succeeded", "canceled")
CHARGE_STATES = ("pending", "succeeded", "failed")
REFUND_STATES = ("pending", "succeeded", "failed")
PAYOUT_STATES = ("pending", "paid", "failed")
MONEY_EVENTS = ("sent", "failed", "paid", "returned", "funds_secured", "cancel", "", "Sent")
EVENTS = ("confirm", "cancel", "pin_accepted", "attempt_failed", "funds_secured", "", "succeeded", "Confirm")

INTENT = {
    "requires_payment_method": {"confirm": "requires_action", "cancel": "canceled"},
    "requires_action": {
        "pin_accepted": "processing",
        "attempt_failed": "requires_payment_method",
        "cancel": "canceled",
    },
    "processing": {"funds_secured": "succeeded", "attempt_failed": "requires_payment_method"},
    "succeeded": {},
    "canceled": {},
}
REFUND = {"pending": {"sent": "succeeded", "failed": "failed"}, "succeeded": {}, "failed": {}}
PAYOUT = {"pending": {"paid": "paid", "failed": "failed"}, "paid": {"returned": "failed"}, "failed": {}}
CHARGE = {"pending": {"funds_secured": "succeeded", "attempt_failed": "failed"}, "succeeded": {}, "failed": {}}


def reached_from(start: str, transitions: Transitions) -> set[str]:
    found, fresh = {start}, [start]
    while fresh:
        state = fresh.pop()
        later = {after for (before, _), after in transitions.items() if before == state} - found
        found |= later
        fresh += later
    return found


@pytest.mark.parametrize(
    ("transitions", "expected", "events"),
    [
        (INTENT_TRANSITIONS, INTENT, EVENTS), (CHARGE_TRANSITIONS, CHARGE, EVENTS),
        (REFUND_TRANSITIONS, REFUND, MONEY_EVENTS), (PAYOUT_TRANSITIONS, PAYOUT, MONEY_EVENTS),
    ],
    ids=["intent", "charge", "refund", "payout"],
)  # fmt: skip
def test_every_state_and_every_event(
    transitions: Transitions, expected: dict[str, dict[str, str]], events: tuple[str, ...]
):
    for state, event in product(expected, events):
        if event in expected[state]:
            assert next_state(transitions, state, event) == expected[state][event]
            continue
        with pytest.raises(IllegalTransition) as refused:
            next_state(transitions, state, event)
        facts = refused.value.facts
        assert (facts["state"], facts["event"], set(facts["allowed"])) == (state, event, set(expected[state]))
        assert all(allowed in str(refused.value) for allowed in expected[state])


@pytest.mark.parametrize(
    ("transitions", "first", "states", "terminal"),
    [
        (INTENT_TRANSITIONS, "requires_payment_method", INTENT_STATES, {"succeeded", "canceled"}),
        (CHARGE_TRANSITIONS, "pending", CHARGE_STATES, {"succeeded", "failed"}),
        (REFUND_TRANSITIONS, "pending", REFUND_STATES, {"succeeded", "failed"}),
        (PAYOUT_TRANSITIONS, "pending", PAYOUT_STATES, {"failed"}),
    ],
    ids=["intent", "charge", "refund", "payout"],
)
def test_every_state_is_reached_and_can_come_to_an_end(
    transitions: Transitions, first: str, states: tuple[str, ...], terminal: set[str]
):
    assert reached_from(first, transitions) == set(states)
    assert set(states) - {before for before, _ in transitions} == terminal
    assert all(reached_from(state, transitions) & terminal for state in states)


def test_a_failed_attempt_can_be_tried_again():
    assert "succeeded" in reached_from("requires_payment_method", INTENT_TRANSITIONS)
    assert next_state(INTENT_TRANSITIONS, "requires_action", "attempt_failed") == "requires_payment_method"


def test_every_failure_has_its_words():
    assert set(FAILURES) == {
        "insufficient_funds", "wrong_pin", "declined_by_customer", "prompt_timeout", "limit_reached",
        "payer_not_found", "payer_busy", "operator_unavailable", "operator_unknown", "canceled_by_merchant",
        "bank_refused", "bank_returned",
    }  # fmt: skip
    assert all(words.endswith(".") for words in FAILURES.values())


def test_fees():
    for choices, gross, merchant, operator in (
        ({}, 10_000, 250, 100), ({}, 15_000, 375, 150), ({}, 1, 1, 0), ({}, 50, 1, 1), ({}, 60, 2, 1),
        ({"merchant_fee": "none"}, 10_000, 0, 100), ({"merchant_fee": "flat_1.00"}, 10_000, 100, 100),
        ({"merchant_fee": "flat_1.00"}, 40, 40, 0), ({"operator_fee": "none"}, 10_000, 250, 0),
    ):  # fmt: skip
        assert fees_of(gross, Gaps.chosen(choices)) == Fees(merchant, operator)


@given(st.integers(1, 10**12), st.sampled_from(["2.5%", "none", "flat_1.00"]), st.sampled_from(["1.0%", "none"]))
def test_fees_never_exceed_what_was_paid(gross: int, merchant_fee: str, operator_fee: str):
    fees = fees_of(gross, Gaps.chosen({"merchant_fee": merchant_fee, "operator_fee": operator_fee}))
    assert 0 <= fees.merchant_minor <= gross
    assert 0 <= fees.operator_minor <= gross
