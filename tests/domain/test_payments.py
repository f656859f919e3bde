from itertools import product
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.domain import payments
from workbench.domain.gaps import Gaps
from workbench.domain.payments import (
    Fees,
    Transitions,
    far_from_usual,
    fee_returned,
    fees_of,
    next_state,
    offer_again_s,
)
from workbench.errors import IllegalTransition

INTENT_EVENTS = ("confirm", "cancel", "pin_accepted", "attempt_failed", "prompt_expired", "funds_secured",
                 "late_funds", "", "succeeded", "Confirm")  # fmt: skip
MONEY_EVENTS = ("sent", "failed", "paid", "returned", "funds_secured", "cancel", "", "Sent")
INTENT = {
    "requires_payment_method": {"confirm": "requires_action", "cancel": "canceled"},
    "requires_action": {"pin_accepted": "processing", "attempt_failed": "requires_payment_method",
                        "cancel": "canceled"},
    "processing": {"funds_secured": "succeeded", "attempt_failed": "requires_payment_method"},
    "succeeded": {}, "canceled": {}, "failed": {},
}  # fmt: skip
CHARGE = {
    "pending": {"funds_secured": "succeeded", "attempt_failed": "failed", "prompt_expired": "failed"},
    "succeeded": {}, "failed": {}, "expired": {},
}  # fmt: skip


def changed(table: dict[str, dict[str, str]], **states: dict[str, str]) -> dict[str, dict[str, str]]:
    """A table with more, or with others, in some of its states."""
    return {state: takes | states.get(state, {}) for state, takes in table.items()}


def gaps(**choices: str) -> Gaps:
    return Gaps.chosen(choices)


LATE = {"late_funds": "succeeded"}
ENDS = {"attempt_failed": "failed"}
EXPIRES = {"prompt_expired": "expired"}
TABLES = {
    **{f"intent, {each}, {late}": (payments.intent_transitions(gaps(intent_states=each, late_success=late)),
                                   INTENT_EVENTS, expected)
       for (each, late), expected in {
           ("retryable", "suspense"): INTENT,
           ("retryable", "succeeds"): changed(INTENT, requires_payment_method=LATE, requires_action=LATE),
           ("failed", "suspense"): changed(INTENT, requires_action=ENDS, processing=ENDS),
           ("failed", "succeeds"): changed(INTENT, requires_action=ENDS, processing=ENDS, failed=LATE),
       }.items()},
    **{f"charge, {each}, {late}": (payments.charge_transitions(gaps(charge_states=each, late_success=late)),
                                   INTENT_EVENTS, expected)
       for (each, late), expected in {
           ("three", "suspense"): CHARGE,
           ("three", "succeeds"): changed(CHARGE, failed=LATE),
           ("expired", "suspense"): changed(CHARGE, pending=EXPIRES),
           ("expired", "succeeds"): changed(CHARGE, pending=EXPIRES, expired=LATE),
       }.items()},
    "refund": (payments.REFUND_TRANSITIONS, MONEY_EVENTS, {
        "pending": {"sent": "succeeded", "failed": "failed"}, "succeeded": {}, "failed": {},
    }),
    "payout": (payments.PAYOUT_TRANSITIONS, MONEY_EVENTS, {
        "pending": {"paid": "paid", "failed": "failed"}, "paid": {"returned": "failed"}, "failed": {},
    }),
}  # fmt: skip
"""Each table, events that it may be given, and what each state takes."""


@pytest.mark.parametrize(("transitions", "events", "expected"), TABLES.values(), ids=TABLES)
def test_every_state_and_every_event(
    transitions: Transitions, events: tuple[str, ...], expected: dict[str, dict[str, str]]
):
    for state, event in product(expected, events):
        if event in expected[state]:
            assert next_state(transitions, state, event) == expected[state][event]
            continue
        with pytest.raises(IllegalTransition) as refused:
            next_state(transitions, state, event)
        allowed = tuple(refused.value.facts["allowed"])
        assert refused.value.facts == {"state": state, "event": event, "allowed": allowed}
        assert set(allowed) == set(expected[state])
        assert str(refused.value).endswith(f"takes {', '.join(allowed) or 'nothing more'}.")
    assert len(transitions) == sum(map(len, expected.values()))


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


def test_a_flat_fee_is_one_of_the_currency():
    flat = Gaps.chosen({"merchant_fee": "flat_1.00"})
    assert [fees_of(10_000, flat, code).merchant_minor for code in ("JPY", "USD", "KWD")] == [1, 100, 1000]


@given(st.integers(1, 10**6), st.randoms(use_true_random=True))
def test_what_goes_back_of_a_fee_never_exceeds_it_and_is_all_of_it_once_all_is_refunded(amount: int, random: Random):
    fee = random.choice((0, amount, random.randint(0, amount)))
    stand: list[tuple[int, int]] = []
    while left := amount - sum(refund for refund, _ in stand):
        if stand and random.randrange(5) == 0:
            # A refund that fails is undone, whichever it is.
            stand.pop(random.randrange(len(stand)))
            continue
        asked = left if len(stand) > 8 else random.randint(1, left)
        returned = sum(part for _, part in stand)
        part = fee_returned(fee, amount_minor=amount, refunded_minor=amount - left + asked, returned_minor=returned)
        assert 0 <= part <= fee - returned
        stand.append((asked, part))
    assert sum(part for _, part in stand) == fee


def test_a_charge_is_held_against_the_median_of_twenty_at_most():
    usual = [10_000] * 11 + [1] * 4 + [10**9] * 5
    assert [far_from_usual(minor, usual) for minor in (200, 201, 499_999, 500_000)] == [10_000, None, None, 10_000]
    assert (far_from_usual(1, [100] * 3), far_from_usual(1, [100] * 2)) == (100, None), "of too few nothing is said"
    assert far_from_usual(1, [1] * 20) is None


def test_of_a_fee_nothing_is_taken_back_where_the_refunds_that_stand_were_rounded_up():
    # Of 4 on 8, refunds of 1 give back 1, 0, 1, 0 and 1; those of nothing have failed since.
    assert fee_returned(4, amount_minor=8, refunded_minor=4, returned_minor=3) == 0
    assert [fee_returned(4, amount_minor=8, refunded_minor=each, returned_minor=0) for each in range(1, 9)] == [
        1, 1, 2, 2, 3, 3, 4, 4,
    ]  # fmt: skip


@pytest.mark.parametrize(("prompt_s", "waits_s"), [(300, 600), (60, 120), (180, 360), (600, 1200)])
def test_a_shop_offers_a_new_prompt_when_twice_the_time_of_a_prompt_has_passed(prompt_s: int, waits_s: int):
    assert offer_again_s(Gaps.chosen({"prompt_timeout_s": prompt_s})) == waits_s
