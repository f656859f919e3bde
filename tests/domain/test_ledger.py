"""The ledger: what is posted, what it moves on an account, the chain of entries, and the T-accounts that show it."""

from collections import Counter
from itertools import chain, product
from typing import Any

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from workbench.domain import ledger
from workbench.domain.ledger import IN, OUT, RECIPES, SETTLEMENTS, TRACKED, JournalEntry, Movement, Posting, mirrored
from workbench.errors import LedgerRefused

PARTIES = {"operator": "mtn", "merchant": "plants"}
FLOAT, BANK = "operator:mtn:float", "bank:settlement"
DR, CR = "debit", "credit"
REFUND = ledger.refund_split(10_000, available_minor=6_000, pending_minor=3_000)
OF_100 = {
    "gross": 10_000, "net": 9_750, "merchant_fee": 250, "operator_fee": 100, "owed": 700, "swept": 9_900,
    "short": 500, **REFUND,
}  # fmt: skip

# Each money event of 100.00 with fees 2.50 and 1.00, as the chart of accounts would have it.
EXPECTED: dict[str, list[tuple[str, int, int]]] = {
    "funds_secured": [(DR, 1100, 10_000), (DR, 5000, 100), (CR, 2000, 9_750), (CR, 4000, 250), (CR, 1100, 100)],
    "late_success": [(DR, 1100, 10_000), (DR, 5000, 100), (CR, 2900, 10_000), (CR, 1100, 100)],
    "suspense_settled": [(DR, 2900, 10_000), (CR, 2000, 9_750), (CR, 4000, 250)],
    "suspense_returned": [(DR, 2900, 10_000), (CR, 1100, 10_000)],
    "cleared": [(DR, 2000, 9_750), (CR, 2010, 9_750)],
    "receivable_recovered": [(DR, 2010, 700), (CR, 1310, 700)],
    "recovery_returned": [(DR, 1310, 700), (CR, 2010, 700)],
    "sweep_recalled": [(DR, 1100, 9_900), (CR, 1200, 9_900)],
    "swept": [(DR, 1200, 9_900), (CR, 1100, 9_900)],
    "sweep_credited": [(DR, 1010, 9_900), (CR, 1200, 9_900)],
    "payout_asked": [(DR, 2010, 10_000), (CR, 2020, 10_000)],
    "payout_paid": [(DR, 2020, 10_000), (CR, 1010, 10_000)],
    "payout_failed": [(DR, 2020, 10_000), (CR, 2010, 10_000)],
    "payout_returned": [(DR, 1010, 10_000), (CR, 2010, 10_000)],
    "refund_asked": [(DR, 2010, 6_000), (DR, 2000, 3_000), (DR, 1310, 1_000), (CR, 2100, 10_000)],
    "float_topped_up": [(DR, 1100, 500), (CR, 1010, 500)],
    "refund_sent": [(DR, 2100, 10_000), (CR, 1100, 10_000)],
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
    fee, operator_fee, available, pending = (draw(st.integers(0, most)) for most in (gross - 1, gross, gross, gross))
    return {
        "gross": gross, "net": gross - fee, "merchant_fee": fee, "operator_fee": operator_fee,
        "owed": draw(MINOR), "swept": draw(MINOR), "short": draw(MINOR),
        **ledger.refund_split(gross, available_minor=available, pending_minor=pending),
    }  # fmt: skip


def net_of(postings: tuple[Posting, ...]) -> Counter[tuple[str, str]]:
    sums: Counter[tuple[str, str]] = Counter()
    for each in postings:
        sums[each.account, each.currency] += each.signed_minor
    return Counter({account: total for account, total in sums.items() if total})


def posted(recipe: str, **other: int) -> tuple[Posting, ...]:
    return ledger.postings_for(recipe, {**OF_100, **other}, "ZMW", **PARTIES)


def settled(recipe: str, amount: int, fee: int, account: str = FLOAT) -> tuple[Posting, ...]:
    return ledger.settlement_postings(recipe, {"amount": amount, "fee": fee}, "ZMW", account)


def test_the_chart_of_accounts():
    assert [(kind.code, kind.name.format(**PARTIES), kind.normal_side) for kind in ledger.CHART] == ACCOUNTS
    assert list(ledger.KIND_BY_CODE) == [code for code, _, _ in ACCOUNTS]
    assert [*TRACKED] == ["operator:mtn:float", "operator:airtel:float", "operator:zamtel:float", "bank:settlement"]


def test_what_each_money_event_posts():
    names = {code: name for code, name, _ in ACCOUNTS}
    made = {recipe: posted(recipe) for recipe in RECIPES}
    sides = {recipe: [(each.side, each.code, each.amount_minor) for each in made[recipe]] for recipe in made}
    assert sides == EXPECTED
    assert all((each.account, each.currency) == (names[each.code], "ZMW") for each in chain(*made.values()))


@given(made=amounts())
def test_every_recipe_balances_for_any_amounts_and_a_mirror_undoes_it(made: dict[str, int]):
    for recipe in RECIPES:
        postings = posted(recipe, **made)
        assert sum(each.signed_minor for each in postings) == 0
        assert all(each.amount_minor > 0 for each in postings)
        assert net_of(postings + mirrored(postings)) == Counter() != net_of(postings)


def test_a_posting_of_zero_is_left_out_and_amounts_that_do_not_balance_are_refused():
    for recipe, zero, left in (
        ("funds_secured", {"operator_fee": 0}, [1100, 2000, 4000]),
        ("funds_secured", {"net": 0, "merchant_fee": 10_000, "operator_fee": 0}, [1100, 4000]),
        ("refund_asked", {"from_available": 0, "from_pending": 0, "from_receivable": 10_000}, [1310, 2100]),
    ):
        assert [each.code for each in posted(recipe, **zero)] == left
    for recipe, wrong in (
        ("funds_secured", {"net": 9_749}),
        ("refund_asked", {"from_receivable": 0}),
        ("cleared", {"net": 0}),
        ("cleared", {"net": -1}),
    ):
        with pytest.raises(LedgerRefused):
            posted(recipe, **wrong)


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
    assert {name: row.entry_kinds for name, row in SETTLEMENTS.items() if row.takes_entry} == {
        "reversed": None, "reposted": None, "suspense_settled": ("late_success",),
        "suspense_returned": ("late_success",), "payout_returned": ("payout_paid",),
    }  # fmt: skip


@pytest.mark.parametrize(("party", "account", "differing"), [("mtn", FLOAT, 1100), ("bank", BANK, 1010)])
def test_what_each_settlement_posts(party: str, account: str, differing: int):
    names = {0: account, 2900: f"suspense:{party}", 5000: f"expense:operator_fee:{party}", 5020: "expense:write_off",
             5030: "expense:rounding"}  # fmt: skip
    for recipe, lines in SETTLED.items():
        made = settled(recipe, 10_000, 100, account)
        assert [(each.side, each.account, each.code, each.amount_minor, each.currency) for each in made] == [
            (side, names[code], code or differing, amount, "ZMW") for side, code, amount in lines
        ]


def line(side: str, amount_minor: int, currency: str = "ZMW") -> Posting:
    return Posting(BANK, 1010, side, amount_minor, currency)


def test_an_entry_balances_in_each_of_its_currencies():
    ledger.check_balanced((line(DR, 1), line(CR, 1), line(DR, 5, "USD"), line(CR, 5, "USD")))
    for postings in (
        (), (line(DR, 1),), (line(DR, 1), line(CR, 2)), (line(DR, 1), line(DR, 1)), (line(DR, 0), line(CR, 0)),
        (line(DR, 1), line(CR, 1, "USD")), (line(DR, 1), line(CR, 1), line(DR, 1, "USD"), line(CR, 2, "USD")),
        (line(DR, -1), line(CR, -1)), (line(DR, 1), line(DR, -1)),
    ):  # fmt: skip
        with pytest.raises(LedgerRefused):
            ledger.check_balanced(postings)


@given(MINOR, st.integers(-(10**12), 10**12), st.integers(-(10**12), 10**12))
@example(100, 60, 30)
@example(100, -50, 30)
@example(100, 50, -30)
def test_a_refund_reaches_for_the_next_only_when_the_one_before_is_empty(gross: int, available: int, pending: int):
    split = ledger.refund_split(gross, available_minor=available, pending_minor=pending)
    parts = [split[name] for name in ("from_available", "from_pending", "from_receivable")]
    assert sum(parts) == split["gross"] == gross
    assert all(part >= 0 for part in parts)
    assert parts[0] <= max(0, available)
    assert parts[1] <= max(0, pending)
    assert not parts[1] or parts[0] == max(0, available)
    assert not parts[2] or parts[:2] == [max(0, available), max(0, pending)]


def moved(postings: tuple[Posting, ...], account: str = FLOAT) -> list[tuple[str, int, int]]:
    return [(each.direction, each.amount_minor, each.fee_minor) for each in ledger.movements_of(postings, account)]


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


def test_what_a_money_event_or_a_settlement_does_to_an_account():
    for account, events in EVENTS.items():
        assert {recipe: moved(posted(recipe), account) for recipe in events} == events
    for account, (recipe, amount, fee, expected) in product((FLOAT, BANK), (
        ("unknown_credit", 10_000, 100, [(IN, 10_000, 100)]), ("unknown_credit", 100, 100, [(IN, 100, 100)]),
        ("unknown_debit", 10_000, 100, [(OUT, 10_000, 100)]), ("fee_raised", 7, 0, [(OUT, 7, 0)]),
        ("fee_lowered", 7, 0, [(IN, 7, 0)]), ("redated", 10_000, 0, [(IN, 10_000, 0), (OUT, 10_000, 0)]),
        ("redated", 10_000, 100, [(IN, 10_100, 0), (OUT, 10_100, 0)]), ("written_off", 10_000, 0, []),
    )):  # fmt: skip
        assert moved(settled(recipe, amount, fee, account), account) == expected
    # A reversal gives amount and fee back in one; each currency is a movement of its own.
    assert moved(mirrored(posted("funds_secured"))) == [(OUT, 9_900, 0)]
    dollars = tuple(msgspec.structs.replace(each, currency="USD") for each in posted("swept"))
    movements = list(ledger.movements_of(posted("funds_secured") + dollars, FLOAT))
    assert movements == [Movement(IN, 10_000, 100, "ZMW"), Movement(OUT, 9_900, 0, "USD")]


@given(st.sampled_from(sorted(SETTLED)), MINOR, st.integers(0, 10**12), st.sampled_from(sorted(TRACKED)))
def test_movements_add_up_to_what_was_posted(recipe: str, amount: int, fee: int, account: str):
    made = settled(recipe, amount, fee, account)
    for postings in (made, mirrored(made)):
        movements = list(ledger.movements_of(postings, account))
        assert sum(each.signed_minor for each in movements) == net_of(postings)[account, "ZMW"]
        assert all(each.amount_minor > 0 and each.fee_minor >= 0 for each in movements)


def entry(number: int = 1, prev_hash: str = ledger.GENESIS, **columns: Any) -> JournalEntry:  # noqa: ANN401  as each is
    made: dict[str, Any] = {
        "id": f"je_{number}", "seq": 10 * number, "kind": "funds_secured", "payment": "pi_1", "reverses": None,
        "description": "K100.00 received through mtn", "occurred_ms": 1_000, "recorded_ms": 2_000, "postings": (),
    }  # fmt: skip
    return JournalEntry(number=number, prev_hash=prev_hash, **{**made, **columns}).sealed()


def test_what_is_a_movement_of_its_own_is_known_by_its_reference_and_a_part_by_its_whole():
    for kind in ("funds_secured", "payout_returned"):
        assert ledger.key_and_batch(entry(kind=kind, external_reference="4000000042")) == ("4000000042", None)
        assert ledger.key_and_batch(entry(kind=kind)) == (None, None)
    for kind in ("sweep_credited", *SETTLED):
        assert ledger.key_and_batch(entry(kind=kind, external_reference="STL20260105")) == ("je_1", "STL20260105")
    # What answers another entry is a part.
    for kind, column in (("refund_failed", "reverses"), ("payout_returned", "settles"), ("reposted", "settles")):
        part = entry(kind=kind, external_reference="4000000042", **{column: "je_0"})
        assert ledger.key_and_batch(part) == ("je_1", "4000000042")


CHAIN: list[JournalEntry] = []
for number in range(1, 7):
    CHAIN.append(entry(number, CHAIN[-1].hash if CHAIN else ledger.GENESIS, postings=posted("funds_secured")))

changed = msgspec.structs.replace


def broken_at(entries: list[JournalEntry]) -> tuple[str, int]:
    """The entry that is named, and its place."""
    with pytest.raises(LedgerRefused) as refused:
        ledger.check_chain(tuple(entries))
    assert refused.value.facts["entry"] in str(refused.value)
    return refused.value.facts["entry"], refused.value.facts["place"]


def test_a_chain_that_was_not_touched_holds():
    assert ledger.check_chain(()) == ledger.GENESIS
    assert ledger.check_chain(tuple(CHAIN)) == CHAIN[-1].hash
    assert ledger.check_chain(CHAIN[2:], start=CHAIN[1].hash, before=2) == CHAIN[-1].hash


def other(value: object) -> Any:  # noqa: ANN401  of the type of `value`
    if isinstance(value, int):
        return value + 1
    return "je_other" if value is None else f"{value}x"


ENTRY_FIELDS = [name for name in JournalEntry.__struct_fields__ if name != "postings"]


@given(st.integers(0, 5), st.sampled_from(ENTRY_FIELDS), st.integers(0, 4), st.sampled_from(Posting.__struct_fields__))
def test_any_field_changed_breaks_the_chain_there(place: int, field: str, row: int, of_posting: str):
    sealed = CHAIN[place]
    postings = [*sealed.postings]
    postings[row] = changed(postings[row], **{of_posting: other(getattr(postings[row], of_posting))})
    for column, value in ((field, other(getattr(sealed, field))), ("postings", tuple(postings))):
        touched = changed(sealed, **{column: value})
        assert broken_at([*CHAIN[:place], touched, *CHAIN[place + 1 :]]) == (touched.id, place + 1)


ONE, TWO, THREE, *REST = CHAIN
TURNED = changed(THREE, postings=mirrored(THREE.postings))


def test_the_first_entry_that_does_not_follow_is_named():
    for entries, at in (
        ([TWO, THREE, *REST], ("je_2", 1)),
        ([changed(ONE, number=7).sealed(), TWO, THREE, *REST], ("je_1", 1)),
        ([ONE, TWO, *REST], ("je_4", 3)),
        ([ONE, TWO, TWO, THREE, *REST], ("je_2", 3)),
        ([ONE, TWO, TURNED.sealed(), *REST], ("je_4", 4)),
    ):
        assert broken_at(entries) == at


OF_FLOAT, OF_FEE = (1100, FLOAT), (4000, "income:merchant_fee")


def posting(account: tuple[int, str], side: str, amount_minor: int, entry: str = "1") -> dict[str, Any]:
    code, name = account
    return {
        "code": code, "account": name, "side": side, "amount_minor": amount_minor, "currency": "ZMW", "entry": entry,
    }  # fmt: skip


def test_debits_stand_left_credits_right_accounts_by_their_code_and_the_balance_on_the_larger_side():
    fee, operator = posting(OF_FEE, "credit", 375, "a"), posting(OF_FLOAT, "debit", 125_000, "b")
    first, second = ledger.t_accounts([fee, operator, posting(OF_FLOAT, "credit", 150, "c")])
    assert (first.code, first.account, first.currency) == (*OF_FLOAT, "ZMW")
    assert [(side.entry, side.money.plain) for side in first.debits] == [("b", "1,250.00")]
    assert [(side.entry, side.money.plain) for side in first.credits] == [("c", "1.50")]
    assert first.balance == ("1,248.50", "")
    assert second.balance == ("", "3.75")
    (even,) = ledger.t_accounts([posting(OF_FLOAT, side, 5) for side in (DR, CR)])
    assert even.balance == ("0.00", "")
