"""T-accounts: nothing is lost between the postings and the two sides, and the balance stands where it belongs."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.domain.ledger import t_accounts

FLOAT, FEE = (1100, "operator:mtn:float"), (4000, "income:merchant_fee")


def posting(account: tuple[int, str], side: str, amount_minor: int, entry: str = "1") -> dict[str, Any]:
    code, name = account
    return {
        "code": code, "account": name, "side": side, "amount_minor": amount_minor, "currency": "ZMW", "entry": entry,
    }  # fmt: skip


def test_debits_stand_left_credits_right_and_accounts_by_their_code():
    fee, operator = posting(FEE, "credit", 375, "a"), posting(FLOAT, "debit", 125_000, "b")
    first, second = t_accounts([fee, operator, posting(FLOAT, "credit", 150, "c")])
    assert (first.code, first.account, first.currency) == (*FLOAT, "ZMW")
    assert [(side.entry, side.money.plain) for side in first.debits] == [("b", "1,250.00")]
    assert [(side.entry, side.money.plain) for side in first.credits] == [("c", "1.50")]
    assert first.balance == ("1,248.50", "")
    assert second.balance == ("", "3.75")


def test_no_postings_are_no_accounts():
    assert t_accounts([]) == []


@pytest.mark.parametrize(
    ("debit", "credit", "shown"), [(5, 5, ("0.00", "")), (6, 5, ("0.01", "")), (5, 6, ("", "0.01"))]
)
def test_the_balance_stands_on_the_larger_side(debit: int, credit: int, shown: tuple[str, str]):
    (account,) = t_accounts([posting(FLOAT, "debit", debit), posting(FLOAT, "credit", credit)])
    assert account.balance == shown


@given(
    st.lists(
        st.builds(
            posting, st.sampled_from([FLOAT, FEE]), st.sampled_from(["debit", "credit"]), st.integers(1, 10**12 - 1)
        )
    )
)
def test_nothing_is_lost(postings: list[dict[str, Any]]):
    accounts = t_accounts(postings)
    assert sum(len(each.debits) + len(each.credits) for each in accounts) == len(postings)
    signed = [row["amount_minor"] * (1 if row["side"] == "debit" else -1) for row in postings]
    assert sum(each.balance_minor for each in accounts) == sum(signed)
