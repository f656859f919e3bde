from collections import Counter

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.domain.ledger import (
    GENESIS,
    IN,
    OUT,
    RECIPES,
    SETTLEMENTS,
    TRACKED,
    JournalEntry,
    Movement,
    Posting,
    key_and_batch,
    mirrored,
    movements_of,
    postings_for,
    settlement_postings,
)  # fmt: skip

FLOAT, BANK = "operator:mtn:float", "bank:settlement"
PARTIES = {"operator": "mtn", "merchant": "plants"}
OF_100 = {"gross": 10_000, "net": 9_750, "merchant_fee": 250, "operator_fee": 100, "swept": 9_900, "short": 500}
TOLD = sorted(name for name, row in SETTLEMENTS.items() if not row.takes_entry)


def moved(postings: tuple[Posting, ...], account: str = FLOAT) -> list[tuple[str, int, int]]:
    return [(each.direction, each.amount_minor, each.fee_minor) for each in movements_of(postings, account)]


def test_a_movement_takes_its_fee_in_either_direction():
    assert Movement(IN, 10_000, 100, "ZMW").signed_minor == 9_900
    assert Movement(OUT, 10_000, 100, "ZMW").signed_minor == -10_100


EVENTS = {
    FLOAT: {
        "funds_secured": [(IN, 10_000, 100)], "late_success": [(IN, 10_000, 100)],
        "suspense_returned": [(OUT, 10_000, 0)], "swept": [(OUT, 9_900, 0)], "sweep_recalled": [(IN, 9_900, 0)],
        "float_topped_up": [(IN, 500, 0)], "refund_sent": [(OUT, 10_000, 0)], "cleared": [],
    },
    BANK: {
        "sweep_credited": [(IN, 9_900, 0)], "float_topped_up": [(OUT, 500, 0)], "payout_paid": [(OUT, 10_000, 0)],
        "payout_returned": [(IN, 10_000, 0)],
    },
    # Accounts of which nobody else keeps books: money comes in on their normal side, and fees are not theirs.
    "merchant:plants:pending": {"funds_secured": [(IN, 9_750, 0)], "cleared": [(OUT, 9_750, 0)]},
    "income:merchant_fee": {"funds_secured": [(IN, 250, 0)]},
    "expense:operator_fee:mtn": {"funds_secured": [(IN, 100, 0)]},
}  # fmt: skip


@pytest.mark.parametrize("account", EVENTS)
def test_what_a_money_event_does_to_an_account(account: str):
    made = {recipe: moved(postings_for(recipe, OF_100, "ZMW", **PARTIES), account) for recipe in EVENTS[account]}
    assert made == EVENTS[account]


@pytest.mark.parametrize("account", [FLOAT, BANK])
def test_what_a_settlement_does_to_the_account_that_differs(account: str):
    for recipe, amount, fee, expected in (
        ("unknown_credit", 10_000, 100, [(IN, 10_000, 100)]), ("unknown_credit", 10_000, 0, [(IN, 10_000, 0)]),
        ("unknown_credit", 100, 100, [(IN, 100, 100)]), ("unknown_debit", 10_000, 100, [(OUT, 10_000, 100)]),
        ("fee_raised", 7, 0, [(OUT, 7, 0)]), ("fee_lowered", 7, 0, [(IN, 7, 0)]), ("rounded_up", 1, 0, [(IN, 1, 0)]),
        ("rounded_down", 1, 0, [(OUT, 1, 0)]), ("redated", 10_000, 0, [(IN, 10_000, 0), (OUT, 10_000, 0)]),
        ("redated", 10_000, 100, [(IN, 10_100, 0), (OUT, 10_100, 0)]), ("written_off", 10_000, 0, []),
    ):  # fmt: skip
        assert moved(settlement_postings(recipe, {"amount": amount, "fee": fee}, "ZMW", account), account) == expected


def test_a_reversal_takes_back_what_came_and_its_fee_in_one():
    made = postings_for("funds_secured", OF_100, "ZMW", **PARTIES)
    assert moved(mirrored(made)) == [(OUT, 9_900, 0)]
    assert moved(mirrored(settlement_postings("fee_raised", {"amount": 7, "fee": 0}, "ZMW", FLOAT))) == [(IN, 7, 0)]


def test_each_currency_is_a_movement_of_its_own():
    dollars = tuple(
        msgspec.structs.replace(each, currency="USD") for each in postings_for("swept", OF_100, "ZMW", **PARTIES)
    )
    both = postings_for("funds_secured", OF_100, "ZMW", **PARTIES) + dollars
    assert list(movements_of(both, FLOAT)) == [Movement(IN, 10_000, 100, "ZMW"), Movement(OUT, 9_900, 0, "USD")]


@given(
    st.sampled_from(TOLD),
    st.integers(1, 10**12),
    st.integers(0, 10**12),
    st.sampled_from(sorted(TRACKED)),
    st.booleans(),
)
def test_movements_add_up_to_what_was_posted(recipe: str, amount: int, fee: int, account: str, mirror: bool):  # noqa: FBT001  drawn
    made = settlement_postings(recipe, {"amount": amount, "fee": fee}, "ZMW", account)
    postings = mirrored(made) if mirror else made
    told = list(movements_of(postings, account))
    posted: Counter[str] = Counter()
    for each in postings:
        posted[each.account] += each.signed_minor
    assert sum(each.signed_minor for each in told) == posted[account]
    assert all(each.amount_minor > 0 and each.fee_minor >= 0 for each in told)


# Keys


def entry(kind: str, **columns: str) -> JournalEntry:
    return JournalEntry(
        id="je_1", seq=1, number=1, kind=kind, description="", payment=None, occurred_ms=0, recorded_ms=0,
        postings=(), prev_hash=GENESIS, **{"reverses": None, **columns},
    )  # fmt: skip


def test_what_is_a_movement_of_its_own_is_known_by_its_reference_and_a_part_by_its_whole():
    for kind in ("funds_secured", "refund_sent", "swept", "payout_paid", "payout_returned"):
        assert key_and_batch(entry(kind), "4000000042") == ("4000000042", None)
        assert key_and_batch(entry(kind), None) == (None, None)
    for kind in ("sweep_credited", *TOLD):
        assert key_and_batch(entry(kind), "STL20260105") == ("je_1", "STL20260105")


@pytest.mark.parametrize(
    ("kind", "column"),
    [
        ("refund_failed", "reverses"), ("reversed", "reverses"), ("reposted", "settles"),
        ("payout_returned", "settles"), ("suspense_returned", "settles"),
    ],
)  # fmt: skip
def test_what_answers_another_entry_is_a_part(kind: str, column: str):
    made = entry(kind, **{column: "je_0"})
    assert key_and_batch(made, "4000000042") == ("je_1", "4000000042")
    assert key_and_batch(made, None) == ("je_1", None)


def test_recipes_and_settlements_that_share_a_name_settle_an_entry_or_are_told():
    assert set(RECIPES) & set(SETTLEMENTS) == {
        "suspense_settled", "suspense_returned", "payout_returned", "unknown_credit", "unknown_debit",
    }  # fmt: skip
