from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.domain import payments
from workbench.domain.gaps import Gaps
from workbench.domain.payments import Fees, Transitions, fees_of, next_state
from workbench.errors import IllegalTransition

INTENT_EVENTS = ("confirm", "cancel", "pin_accepted", "attempt_failed", "funds_secured", "", "succeeded", "Confirm")
MONEY_EVENTS = ("sent", "failed", "paid", "returned", "funds_secured", "cancel", "", "Sent")
TABLES = {
    "intent": (payments.INTENT_TRANSITIONS, INTENT_EVENTS, {
        "requires_payment_method": {"confirm": "requires_action", "cancel": "canceled"},
        "requires_action": {"pin_accepted": "processing", "attempt_failed": "requires_payment_method",
                            "cancel": "canceled"},
        "processing": {"funds_secured": "succeeded", "attempt_failed": "requires_payment_method"},
        "succeeded": {}, "canceled": {},
    }),
    "charge": (payments.CHARGE_TRANSITIONS, INTENT_EVENTS, {
        "pending": {"funds_secured": "succeeded", "attempt_failed": "failed"}, "succeeded": {}, "failed": {},
    }),
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
