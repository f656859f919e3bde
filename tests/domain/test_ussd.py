from itertools import product

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.domain import ussd
from workbench.domain.ussd import FAILURE_OF, TRANSITIONS, Receipt, UssdSession, after, check_pin, judged_pin
from workbench.errors import IllegalTransition, InvalidRequest

ANSWERED = {
    "right_pin": "approved", "right_pin_refused": "refused", "wrong_pin": "wrong_pin", "last_wrong_pin": "blocked",
    "cancel": "canceled", "ignore": "ignored", "timeout": "expired", "withdraw": "withdrawn",
}  # fmt: skip
EXPECTED = {
    "enter_pin": ANSWERED,
    "wrong_pin": ANSWERED,
    "ignored": {"timeout": "expired", "withdraw": "withdrawn"},
    "expired": {"late_pin": "approved"},
    "unsent": {"reject": "rejected", "withdraw": "recalled"},
}
ENDED = {"approved", "refused", "blocked", "canceled", "withdrawn", "rejected", "recalled"}
SCREENS, INPUTS = {*EXPECTED, *ENDED}, (*ANSWERED, "late_pin", "reject", "", "approve")
UNSEEN = {"unsent", "rejected", "recalled"}
"""No prompt reached the handset."""


def session(screen: str = "enter_pin", **more: object) -> UssdSession:
    made = UssdSession(
        id="ussd_1", seq=1, charge="ch_1", phone="+260961234567", operator="MTN MoMo", merchant="PLANT STORE",
        amount_minor=15_000, currency="ZMW", reference="Monstera", tries_left=3, expires_ms=300_000, scenario="person",
        screen=screen,
    )  # fmt: skip
    return msgspec.structs.replace(made, **more)


def test_every_screen_and_every_input_of_which_a_wrong_pin_alone_costs_a_try():
    for screen, given_input in product(SCREENS, INPUTS):
        allowed = EXPECTED.get(screen, {})
        if given_input in allowed:
            left = 3 - (given_input in ("wrong_pin", "last_wrong_pin"))
            found = after(session(screen), given_input)
            assert (found.screen, found.tries_left) == (allowed[given_input], left)
            continue
        with pytest.raises(IllegalTransition) as refused:
            after(session(screen), given_input)
        facts = refused.value.facts
        assert (facts["state"], facts["event"], set(facts["allowed"])) == (screen, given_input, set(allowed))
    assert len(TRANSITIONS) == sum(map(len, EXPECTED.values()))
    assert set(ussd.OPEN_SCREENS) == {"enter_pin", "wrong_pin"}


def test_each_end_without_money_has_its_failure_but_for_those_that_carry_the_operators_reason():
    assert FAILURE_OF == {
        "blocked": "wrong_pin", "canceled": "declined_by_customer", "expired": "prompt_timeout",
        "withdrawn": "canceled_by_merchant", "recalled": "canceled_by_merchant",
    }  # fmt: skip


def test_which_input_a_pin_is():
    for right, refusal, tries_left, judged in (
        (True, None, 1, "right_pin"), (True, "insufficient_funds", 3, "right_pin_refused"),
        (False, None, 2, "wrong_pin"), (False, "insufficient_funds", 1, "last_wrong_pin"),
    ):  # fmt: skip
        assert judged_pin(session(tries_left=tries_left), right=right, refusal=refusal) == judged


PAY, ASK = "MTN MoMo\nPay K150.00\nto PLANT STORE\n", "Enter PIN to approve:"


def test_the_words_on_each_screen_that_a_customer_sees():
    for screen, more, shown in (
        ("enter_pin", {}, f"{PAY}Ref: Monstera\n{ASK}"),
        ("enter_pin", {"reference": None}, f"{PAY}{ASK}"),
        ("enter_pin", {"reference": "{tries}"}, f"{PAY}Ref: {{tries}}\n{ASK}"),
        ("wrong_pin", {"tries_left": 2}, f"MTN MoMo\nWrong PIN. Tries left: 2{PAY[8:]}Ref: Monstera\n{ASK}"),
        ("approved", {}, "MTN MoMo\nApproved.\nK150.00 paid\nto PLANT STORE."),
        ("refused", {"reason": "The wallet is empty."}, "MTN MoMo\nNot paid.\nThe wallet is empty."),
        ("blocked", {}, "MTN MoMo\nNot paid.\nWrong PIN too often."),
        ("canceled", {}, "MTN MoMo\nCanceled.\nNothing was paid."),
        ("ignored", {}, "(the prompt was left unanswered)"),
        ("expired", {}, "MTN MoMo\nThe request has expired.\nNothing was paid."),
        ("withdrawn", {}, "MTN MoMo\nPLANT STORE has canceled the request.\nNothing was paid."),
    ):
        assert ussd.screen_text(session(screen, **more)) == shown
    assert set(ussd.SCREEN_TEXTS) == SCREENS - UNSEEN
    assert set(ussd.HIDDEN_SCREENS) == UNSEEN
    assert ussd.IDLE_TEXT == "(no message)"


def test_what_could_be_no_pin_is_refused_without_repeating_it():
    for pin in ("0000", "12345"):
        check_pin(pin, len(pin))
    for text, length in (
        *((text, 4) for text in ("", "123", "12a4", "1234\n", "١٢٣٤", "-123", "²234")),
        ("1234", 5),
        ("12345", 4),
    ):
        with pytest.raises(
            InvalidRequest, match=f"A PIN has {length} digits; you typed {len(text) or 'none'}"
        ) as refused:
            check_pin(text, length)
        assert (refused.value.code, refused.value.param) == ("pin_invalid", "text")
        assert len(text) <= 1 or text not in str(refused.value)


AT_MS = 1_767_592_860_000
"""2026-01-05, 08:01 in Lusaka."""


def test_of_a_payment_and_a_failure_the_receipt_tells_and_of_every_other_screen_there_is_none():
    says = {
        "approved": "K150.00 paid to PLANT STORE. For: Monstera. Transaction 4000000012.",
        "refused": "K150.00 to PLANT STORE was not paid. For: Monstera. The wallet is empty.",
        "blocked": "K150.00 to PLANT STORE was not paid. For: Monstera. The PIN was wrong too often.",
    }
    for screen in SCREENS:
        ended = session(screen, reason="The wallet is empty." if screen == "refused" else None)
        found = ussd.receipt_of(ended, seq=7, at_ms=AT_MS, transaction="4000000012")
        assert (found and ussd.receipt_text(found)) == (f"05/01/2026 08:01: {says[screen]}" if found else None)
        assert (found is not None) == (screen in says)
        assert found is None or (found.transaction is None) == (screen != "approved")


def test_money_that_came_back_is_told_with_its_own_amount():
    paid = session("approved", reference=None)
    back = Receipt(paid, "returned", 9, AT_MS, 5, "X")
    assert ussd.receipt_text(back) == "05/01/2026 08:01: K0.05 received back from PLANT STORE. Transaction X."


@given(st.text(max_size=300))
def test_any_reference_is_one_short_line(reference: str):
    line = ussd.reference_line(reference)
    assert len(line.splitlines()) <= 1
    assert len(line) <= ussd.MAX_REFERENCE
