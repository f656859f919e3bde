from collections import Counter
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.domain.ledger import (
    CHART,
    GENESIS,
    KIND_BY_CODE,
    RECIPES,
    SETTLEMENTS,
    TRACKED,
    JournalEntry,
    Posting,
    check_balanced,
    check_chain,
    mirrored,
    postings_for,
    refund_split,
    settlement_postings,
)  # fmt: skip
from workbench.errors import LedgerRefused

PARTIES = {"operator": "mtn", "merchant": "plants"}
OF_100 = {
    "gross": 10_000, "net": 9_750, "merchant_fee": 250, "operator_fee": 100, "owed": 9_750, "swept": 9_750,
    "short": 9_750, **refund_split(10_000, available_minor=6_000, pending_minor=3_000),
}  # fmt: skip
DR, CR = "debit", "credit"

# Each money event of 100.00 with fees 2.50 and 1.00, as the chart of accounts would have it.
EXPECTED: dict[str, list[tuple[str, int, int]]] = {
    "funds_secured": [(DR, 1100, 10_000), (DR, 5000, 100), (CR, 2000, 9_750), (CR, 4000, 250), (CR, 1100, 100)],
    "late_success": [(DR, 1100, 10_000), (DR, 5000, 100), (CR, 2900, 10_000), (CR, 1100, 100)],
    "suspense_settled": [(DR, 2900, 10_000), (CR, 2000, 9_750), (CR, 4000, 250)],
    "suspense_returned": [(DR, 2900, 10_000), (CR, 1100, 10_000)],
    "cleared": [(DR, 2000, 9_750), (CR, 2010, 9_750)],
    "receivable_recovered": [(DR, 2010, 9_750), (CR, 1310, 9_750)],
    "recovery_returned": [(DR, 1310, 9_750), (CR, 2010, 9_750)],
    "sweep_recalled": [(DR, 1100, 9_750), (CR, 1200, 9_750)],
    "swept": [(DR, 1200, 9_750), (CR, 1100, 9_750)],
    "sweep_credited": [(DR, 1010, 9_750), (CR, 1200, 9_750)],
    "payout_asked": [(DR, 2010, 10_000), (CR, 2020, 10_000)],
    "payout_paid": [(DR, 2020, 10_000), (CR, 1010, 10_000)],
    "payout_failed": [(DR, 2020, 10_000), (CR, 2010, 10_000)],
    "payout_returned": [(DR, 1010, 10_000), (CR, 2010, 10_000)],
    "refund_asked": [(DR, 2010, 6_000), (DR, 2000, 3_000), (DR, 1310, 1_000), (CR, 2100, 10_000)],
    "float_topped_up": [(DR, 1100, 9_750), (CR, 1010, 9_750)],
    "refund_sent": [(DR, 2100, 10_000), (CR, 1100, 10_000)],
    "unknown_credit": [(DR, 1100, 10_000), (CR, 2900, 10_000)],
    "unknown_debit": [(DR, 2900, 10_000), (CR, 1100, 10_000)],
}
ACCOUNTS = [
    (1010, "bank:settlement", DR), (1100, "operator:mtn:float", DR), (1200, "operator:mtn:in_transit", DR),
    (1310, "receivable:merchant:plants", DR), (2000, "merchant:plants:pending", CR),
    (2010, "merchant:plants:available", CR), (2020, "merchant:plants:payout", CR),
    (2100, "customer:refund_pending", CR), (2900, "suspense:mtn", CR), (4000, "income:merchant_fee", CR),
    (5000, "expense:operator_fee:mtn", DR), (5020, "expense:write_off", DR), (5030, "expense:rounding", DR),
]  # fmt: skip

MINOR = st.integers(1, 10**12)


@st.composite
def amounts(draw: st.DrawFn) -> dict[str, int]:
    gross = draw(MINOR)
    fee = draw(st.integers(0, gross - 1))
    one = st.integers(1, 10**12)
    return {
        "gross": gross, "net": gross - fee, "merchant_fee": fee, "operator_fee": draw(st.integers(0, gross)),
        "owed": draw(one), "swept": draw(one), "short": draw(one),
        **refund_split(gross, available_minor=draw(st.integers(0, gross)), pending_minor=draw(st.integers(0, gross))),
    }  # fmt: skip


def net_of(postings: tuple[Posting, ...]) -> Counter[tuple[str, str]]:
    sums: Counter[tuple[str, str]] = Counter()
    for each in postings:
        sums[each.account, each.currency] += each.signed_minor
    return Counter({account: total for account, total in sums.items() if total})


def entry(number: int, postings: tuple[Posting, ...], prev_hash: str) -> JournalEntry:
    return JournalEntry(
        id=f"je_{number}", seq=10 * number, number=number, kind="funds_secured", payment="pi_1", reverses=None,
        description="ZMW 100.00 received through mtn", occurred_ms=1_000, recorded_ms=2_000, postings=postings,
        prev_hash=prev_hash,
    ).sealed()  # fmt: skip


def chain_of(length: int) -> list[JournalEntry]:
    made: list[JournalEntry] = []
    for number in range(1, length + 1):
        postings = postings_for("funds_secured", OF_100, "ZMW", **PARTIES)
        made.append(entry(number, postings, made[-1].hash if made else GENESIS))
    return made


# The chart and the recipes


def test_the_chart_of_accounts():
    assert [(kind.code, kind.name.format(**PARTIES), kind.normal_side) for kind in CHART] == ACCOUNTS
    assert list(KIND_BY_CODE) == [code for code, _, _ in ACCOUNTS]


def test_what_each_money_event_posts():
    names = {code: name for code, name, _ in ACCOUNTS}
    made = {recipe: postings_for(recipe, OF_100, "ZMW", **PARTIES) for recipe in RECIPES}
    assert {
        recipe: [(each.side, each.code, each.amount_minor) for each in postings] for recipe, postings in made.items()
    } == EXPECTED
    for each in (each for postings in made.values() for each in postings):
        assert (each.account, each.currency) == (names[each.code], "ZMW")


@given(made=amounts())
def test_every_recipe_balances_for_any_amounts_and_a_mirror_undoes_it(made: dict[str, int]):
    for recipe in RECIPES:
        postings = postings_for(recipe, made, "ZMW", **PARTIES)
        assert sum(each.signed_minor for each in postings) == 0
        assert all(each.amount_minor > 0 for each in postings)
        check_balanced(mirrored(postings))
        assert mirrored(mirrored(postings)) == postings
        assert mirrored(postings) != postings
        assert net_of(postings + mirrored(postings)) == Counter()


@pytest.mark.parametrize(
    ("recipe", "zero", "left"),
    [
        ("funds_secured", {"operator_fee": 0}, [1100, 2000, 4000]),
        ("funds_secured", {"merchant_fee": 0, "net": 10_000}, [1100, 5000, 2000, 1100]),
        ("funds_secured", {"net": 0, "merchant_fee": 10_000, "operator_fee": 0}, [1100, 4000]),
        ("refund_asked", {"from_available": 10_000, "from_pending": 0, "from_receivable": 0}, [2010, 2100]),
        ("refund_asked", {"from_available": 0, "from_pending": 0, "from_receivable": 10_000}, [1310, 2100]),
    ],
)
def test_a_posting_of_zero_is_left_out(recipe: str, zero: dict[str, int], left: list[int]):
    assert [each.code for each in postings_for(recipe, {**OF_100, **zero}, "ZMW", **PARTIES)] == left


@pytest.mark.parametrize(
    ("recipe", "wrong"),
    [
        ("funds_secured", {"net": 9_749}), ("funds_secured", {"merchant_fee": 0}), ("suspense_settled", {"gross": 1}),
        ("refund_asked", {"from_receivable": 0}), ("cleared", {"net": 0}), ("cleared", {"net": -1}),
        ("payout_paid", {"gross": -10_000}),
    ],
)  # fmt: skip
def test_amounts_that_do_not_balance_are_refused(recipe: str, wrong: dict[str, int]):
    with pytest.raises(LedgerRefused):
        postings_for(recipe, {**OF_100, **wrong}, "ZMW", **PARTIES)


# Settling

NAMES = {"mtn": "operator:mtn:float", "bank": "bank:settlement"}
SETTLED: dict[str, list[tuple[str, int, int]]] = {
    "unknown_credit": [(DR, 0, 10_000), (DR, 5000, 100), (CR, 2900, 10_000), (CR, 0, 100)],
    "unknown_debit": [(DR, 2900, 10_000), (DR, 5000, 100), (CR, 0, 10_000), (CR, 0, 100)],
    "fee_raised": [(DR, 5000, 10_000), (CR, 0, 10_000)],
    "fee_lowered": [(DR, 0, 10_000), (CR, 5000, 10_000)],
    "rounded_up": [(DR, 0, 10_000), (CR, 5030, 10_000)],
    "rounded_down": [(DR, 5030, 10_000), (CR, 0, 10_000)],
    "written_off": [(DR, 5020, 10_000), (CR, 2900, 10_000)],
    "redated": [(DR, 0, 10_000), (DR, 0, 100), (CR, 0, 10_000), (CR, 0, 100)],
}
"""0 stands for the account that differs."""


def test_every_settlement_tells_its_amounts_or_takes_an_entry():
    assert {name for name, row in SETTLEMENTS.items() if not row.takes_entry} == set(SETTLED)
    assert [name for name, row in SETTLEMENTS.items() if row.takes_fee] == [
        "unknown_credit",
        "unknown_debit",
        "redated",
    ]
    assert {name: row.of for name, row in SETTLEMENTS.items() if row.takes_entry} == {
        "reversed": None, "reposted": None, "suspense_settled": ("late_success",),
        "suspense_returned": ("late_success",), "payout_returned": ("payout_paid",),
    }  # fmt: skip


@pytest.mark.parametrize(("party", "account"), NAMES.items())
def test_what_each_settlement_posts(party: str, account: str):
    names = {0: account, 2900: f"suspense:{party}", 5000: f"expense:operator_fee:{party}", 5020: "expense:write_off",
             5030: "expense:rounding"}  # fmt: skip
    told = {"mtn": 1100, "bank": 1010}[party]
    for recipe, lines in SETTLED.items():
        postings = settlement_postings(recipe, {"amount": 10_000, "fee": 100}, "ZMW", account)
        assert [(each.side, each.account, each.code, each.amount_minor, each.currency) for each in postings] == [
            (side, names[code], code or told, amount, "ZMW") for side, code, amount in lines
        ]
    for amount in (0, -1):
        with pytest.raises(LedgerRefused):
            settlement_postings("unknown_credit", {"amount": amount, "fee": 0}, "ZMW", account)


def test_the_accounts_that_somebody_else_keeps_books_of():
    assert [*TRACKED] == ["operator:mtn:float", "operator:airtel:float", "operator:zamtel:float", "bank:settlement"]


# Balance and reversal


def line(side: str, amount_minor: int, currency: str = "ZMW") -> Posting:
    return Posting("bank:settlement", 1010, side, amount_minor, currency)


UNBALANCED = {
    "none": (), "one": (line(DR, 1),), "sums differ": (line(DR, 1), line(CR, 2)),
    "one side": (line(DR, 1), line(DR, 1)), "two currencies": (line(DR, 1), line(CR, 1, "USD")),
    "zero": (line(DR, 0), line(CR, 0)),
    "one of two": (line(DR, 1), line(CR, 1), line(DR, 1, "USD"), line(CR, 2, "USD")),
    "negative": (line(DR, -1), line(CR, -1)), "disguised": (line(DR, 1), line(DR, -1)),
}  # fmt: skip


@pytest.mark.parametrize("postings", UNBALANCED.values(), ids=UNBALANCED)
def test_an_entry_that_does_not_balance_is_refused(postings: tuple[Posting, ...]):
    with pytest.raises(LedgerRefused):
        check_balanced(postings)


def test_an_entry_may_hold_two_currencies_that_each_balance():
    check_balanced((line(DR, 1), line(CR, 1), line(DR, 5, "USD"), line(CR, 5, "USD")))


# Refunds


@pytest.mark.parametrize(
    ("available", "pending", "taken"),
    [
        (100, 100, (100, 0, 0)), (60, 100, (60, 40, 0)), (60, 30, (60, 30, 10)), (0, 0, (0, 0, 100)),
        (-50, 30, (0, 30, 70)), (50, -30, (50, 0, 50)),
    ],
)  # fmt: skip
def test_where_a_refund_is_taken_from(available: int, pending: int, taken: tuple[int, int, int]):
    split = refund_split(100, available_minor=available, pending_minor=pending)
    assert (split["from_available"], split["from_pending"], split["from_receivable"]) == taken
    assert split["gross"] == 100


@given(MINOR, st.integers(-(10**12), 10**12), st.integers(-(10**12), 10**12))
def test_a_refund_reaches_for_the_next_only_when_the_one_before_is_empty(gross: int, available: int, pending: int):
    split = refund_split(gross, available_minor=available, pending_minor=pending)
    parts = [split[name] for name in ("from_available", "from_pending", "from_receivable")]
    assert sum(parts) == gross
    assert all(part >= 0 for part in parts)
    assert parts[0] <= max(0, available)
    assert parts[1] <= max(0, pending)
    assert not parts[1] or parts[0] == max(0, available)
    assert not parts[2] or parts[:2] == [max(0, available), max(0, pending)]


# The chain


def test_a_chain_that_was_not_touched_holds():
    entries = chain_of(5)
    assert check_chain(()) == GENESIS
    assert check_chain(tuple(entries)) == entries[-1].hash
    assert check_chain(entries[2:], start=entries[1].hash, before=2) == entries[-1].hash
    assert len({each.hash for each in entries}) == 5


def other(value: object) -> Any:  # noqa: ANN401  of the type of `value`
    if isinstance(value, int):
        return value + 1
    return "je_other" if value is None else f"{value}x"


ENTRY_FIELDS = [name for name in JournalEntry.__struct_fields__ if name != "postings"]


@given(st.integers(0, 5), st.sampled_from(ENTRY_FIELDS))
def test_any_field_changed_breaks_the_chain_there(place: int, field: str):
    entries = chain_of(6)
    sealed = entries[place]
    entries[place] = msgspec.structs.replace(sealed, **{field: other(getattr(sealed, field))})
    with pytest.raises(LedgerRefused) as refused:
        check_chain(tuple(entries))
    assert refused.value.facts["entry"] == entries[place].id
    assert refused.value.facts["place"] == place + 1


@given(st.integers(0, 5), st.integers(0, 4), st.sampled_from(Posting.__struct_fields__))
def test_any_field_of_a_posting_changed_breaks_the_chain_there(place: int, row: int, field: str):
    entries = chain_of(6)
    sealed = entries[place]
    changed = msgspec.structs.replace(sealed.postings[row], **{field: other(getattr(sealed.postings[row], field))})
    entries[place] = msgspec.structs.replace(
        sealed, postings=(*sealed.postings[:row], changed, *sealed.postings[row + 1 :])
    )
    with pytest.raises(LedgerRefused) as refused:
        check_chain(tuple(entries))
    assert refused.value.facts.get("entry") == sealed.id


BROKEN: dict[str, tuple[Callable[[list[JournalEntry]], list[JournalEntry]], str]] = {
    "first gone": (lambda entries: entries[1:], "je_2"),
    "another number": (lambda entries: [numbered(entries[0], 7), *entries[1:]], "je_1"),
    "one gone": (lambda entries: [*entries[:2], *entries[3:]], "je_4"),
    "two swapped": (lambda entries: [entries[1], entries[0], *entries[2:]], "je_2"),
    "one twice": (lambda entries: [*entries[:2], entries[1], *entries[2:]], "je_2"),
    "balanced change": (lambda entries: [*entries[:2], mirrored_in(entries[2]), *entries[3:]], "je_3"),
    "sealed again": (lambda entries: [*entries[:2], mirrored_in(entries[2]).sealed(), *entries[3:]], "je_4"),
}


@pytest.mark.parametrize("how", BROKEN)
def test_the_first_entry_that_does_not_follow_is_named(how: str):
    changed, at = BROKEN[how]
    with pytest.raises(LedgerRefused) as refused:
        check_chain(tuple(changed(chain_of(5))))
    assert refused.value.facts["entry"] == at
    assert at in str(refused.value)


def numbered(sealed: JournalEntry, number: int) -> JournalEntry:
    return msgspec.structs.replace(sealed, number=number).sealed()


def mirrored_in(sealed: JournalEntry) -> JournalEntry:
    return msgspec.structs.replace(sealed, postings=mirrored(sealed.postings))
