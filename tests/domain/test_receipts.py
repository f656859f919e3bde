import string

from hypothesis import given
from hypothesis import strategies as st

from workbench.domain import ussd
from workbench.domain.ussd import (
    RECEIPT_KINDS,
    RECEIPT_TEXTS,
    Receipt,
    UssdSession,
    receipt_of,
    receipt_of_return,
    receipt_text,
)

AT_MS = 1_767_592_860_000
"""2026-01-05, 08:01 in Lusaka."""


def session(screen: str, **more: object) -> UssdSession:
    made: dict[str, object] = {
        "id": "ussd_1", "seq": 1, "charge": "ch_1", "phone": "+260961234567", "operator": "MTN MoMo",
        "merchant": "PLANT STORE", "amount_minor": 15_000, "currency": "ZMW", "reference": "Monstera",
        "tries_left": 3, "expires_ms": 300_000, "scenario": "person", "screen": screen,
        "reason": "The wallet holds less than the amount." if screen == ussd.REFUSED else None,
    }  # fmt: skip
    return UssdSession(**{**made, **more})  # type: ignore[arg-type]  each of its own type


def told(screen: str, **more: object) -> Receipt:
    found = receipt_of(session(screen, **more), seq=7, at_ms=AT_MS, transaction="4000000012")
    assert found is not None
    return found


def test_a_payment_is_told_with_its_amount_merchant_moment_and_the_operators_reference():
    assert receipt_text(told(ussd.APPROVED)) == (
        "05/01/2026 08:01: ZMW 150.00 paid to PLANT STORE. For: Monstera. Transaction 4000000012."
    )


def test_a_failure_is_told_with_its_reason_and_no_transaction_and_of_every_other_screen_nothing():
    says = {ussd.REFUSED: "The wallet holds less than the amount.", ussd.BLOCKED: "The PIN was wrong too often."}
    for screen, reason in says.items():
        receipt = told(screen)
        text = receipt_text(receipt)
        assert text == f"05/01/2026 08:01: ZMW 150.00 to PLANT STORE was not paid. For: Monstera. {reason}"
        assert receipt.transaction is None
    for screen in {*ussd.SCREEN_TEXTS, *ussd.HIDDEN} - {ussd.APPROVED, *says}:
        assert receipt_of(session(screen), seq=7, at_ms=AT_MS, transaction="4000000012") is None


def test_money_that_came_back_is_told_with_its_own_amount():
    back = receipt_of_return(
        session(ussd.APPROVED, reference=None), seq=9, at_ms=AT_MS, amount_minor=5, transaction="X"
    )
    assert receipt_text(back) == "05/01/2026 08:01: ZMW 0.05 received back from PLANT STORE. Transaction X."


def test_every_kind_has_a_text():
    assert {*RECEIPT_KINDS.values(), ussd.RETURNED} == set(RECEIPT_TEXTS)


@given(
    screen=st.sampled_from(sorted(RECEIPT_KINDS)),
    amount_minor=st.integers(1, 10**12 - 1),
    merchant=st.text(string.ascii_letters, min_size=1, max_size=40),
    reference=st.none() | st.text(max_size=300),
    at_ms=st.integers(0, 4_000_000_000_000),
)
def test_any_message_is_one_short_line_that_names_amount_and_merchant(
    screen: str, amount_minor: int, merchant: str, reference: str | None, at_ms: int
):
    one = session(screen, amount_minor=amount_minor, merchant=merchant, reference=reference)
    found = receipt_of(one, seq=1, at_ms=at_ms, transaction="MP260105.0801.00000042")
    assert found is not None
    text = receipt_text(found)
    assert len(text.splitlines()) == 1
    assert merchant in text
    assert f"{amount_minor // 100:,}.{amount_minor % 100:02d}" in text
    assert "None" not in text.replace(merchant, "").replace(reference or "", "")
