"""Differences settled through the panel: which entry each recipe posts, what it refuses, and that it can be undone."""

import json
from collections.abc import Callable
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

from tests.conftest import Shop, refusal
from workbench import Workbench
from workbench.domain.ledger import SETTLEMENTS
from workbench.domain.moments import rfc3339
from workbench.errors import LedgerRefused, StateConflict

FLOAT, BANK = "operator:mtn:float", "bank:settlement"
TOLD = sorted(name for name, row in SETTLEMENTS.items() if not row.takes_entry)
Settle = Callable[..., Any]


@pytest.fixture
def settle(shop: Shop) -> Settle:
    return lambda **body: shop.post("/sandbox/ledger/entries", body)


@pytest.fixture
def unknown(shop: Shop) -> str:
    """A reference that no test used before."""
    return f"unknown-{shop.new_number()[4:]}"


def told(reference: str, recipe: str = "unknown_credit", **others: object) -> dict[str, object]:
    return {"recipe": recipe, "amount_minor": 10_000, "account": FLOAT, "reference": reference, **others}


def movements(bench: Workbench, **equals: str) -> list[tuple[str, str, str | None, str, int, int]]:
    """(kind, key is the entry's, batch, direction, amount, fee) of the tracked accounts' rows that equal these."""
    rows = [row for page in bench.ledger.movements() for row in page.to_pylist()]
    return [
        (row["kind"], row["key"] == row["entry"], row["batch"], row["direction"], row["amount_minor"], row["fee_minor"])
        for row in rows
        if all(row[name] == value for name, value in equals.items())
    ]


def paid_late(shop: Shop) -> tuple[str, str]:
    """A charge whose money came after it had failed, and the entry of that."""
    charge = shop.charge(phone="+260960000010")
    shop.advance(600)
    assert shop.status(f"/v1/charges/{charge}") == "failed"
    return charge, shop.entries_of(charge, "late_success")[0]


def paid_out(shop: Shop, **more: str) -> str:
    """A payout of K100.00 that the bank made in the last night."""
    shop.charge(20_000)
    shop.to_midnight()
    payout = shop.post("/v1/payouts", {"amount": 100, "currency": "ZMW"}, **more).json()["id"]
    shop.to_midnight()
    return str(payout)


class TestWhatIsTold:
    def test_one_is_posted_as_a_part_of_what_the_statement_tells(self, shop: Shop, settle: Settle, unknown: str):
        """What each recipe posts is in domain/test_ledger.py."""
        made = settle(**told(unknown, fee_minor=100)).json()
        assert (made["kind"], made["external_reference"]) == ("unknown_credit", unknown)
        assert (made["description"], made["payment"], made["settles"]) == (f"{unknown}: unknown credit", None, None)
        assert movements(shop.bench, batch=unknown) == [("unknown_credit", True, unknown, "in", 10_000, 100)]

    def test_what_cannot_be_is_refused_and_nothing_is_posted(self, shop: Shop, settle: Settle, unknown: str):
        before = len(shop.read("/sandbox/ledger/entries")["data"])
        for wrong, said in (
            ({"recipe": "undone"}, (400, "recipe_unknown", "recipe")),
            ({"account": "operator:vodafone:float"}, (400, "account_unknown", "account")),
            ({"account": "merchant:plants:pending"}, (400, "account_unknown", "account")),
            ({"reference": ""}, (400, "parameter_missing", "reference")),
            ({"amount_minor": 0}, (400, "amount_not_positive", "amount_minor")),
            ({"recipe": "fee_raised", "fee_minor": 1}, (400, "parameter_invalid", "fee_minor")),
            ({"entry": "je_0"}, (404, "entry_not_found", "entry")),
            ({"currency": "USD"}, (400, "currency_unsupported", "currency")),
            ({"occurred_at": "05/01/2026"}, (400, "parameter_invalid", "occurred_at")),
            ({"occurred_at": "2099-01-01T00:00:00Z"}, (409, "moment_impossible", "occurred_at")),
        ):
            assert refusal(settle(**{**told(unknown), **wrong})) == said
        assert len(shop.read("/sandbox/ledger/entries")["data"]) == before

    def test_the_same_twice_is_refused(self, settle: Settle, unknown: str):
        for recipe in TOLD:
            body = told(unknown, recipe)
            first = settle(**body).json()
            assert refusal(settle(**body)) == (409, "already_settled", "entry")
            assert settle(**{**body, "account": BANK}).status_code == 200, "another account differs by itself"
            assert settle(recipe="reversed", entry=first["id"]).status_code == 200
            assert settle(**body).status_code == 200, "what was undone is open again"

    def test_two_lines_of_one_id_are_told_apart_by_their_words(self, settle: Settle, unknown: str):
        assert settle(**told(unknown, description="mtn.csv, line 7")).json()["description"] == "mtn.csv, line 7"
        assert settle(**told(unknown, description="mtn.csv, line 8")).status_code == 200
        assert refusal(settle(**told(unknown, description="mtn.csv, line 8"))) == (409, "already_settled", "entry")
        assert refusal(settle(**told(unknown))) == (409, "already_settled", "entry")

    def test_it_occurs_now_at_the_latest(self, shop: Shop, settle: Settle, unknown: str):
        """A statement of tomorrow cannot have been read today, not even by a millisecond where the clock stands."""
        for ahead_ms in (1, 1_000) if shop.bench.clock.mode == "manual" else (60_000,):
            later = rfc3339(shop.bench.clock.now_ms + ahead_ms)
            assert refusal(settle(**told(unknown, occurred_at=later))) == (409, "moment_impossible", "occurred_at")
        now = rfc3339(shop.bench.clock.now_ms)
        assert settle(**told(unknown, occurred_at=now)).json()["occurred_at"] == now

    def test_it_may_have_occurred_before(self, shop: Shop, settle: Settle, unknown: str):
        shop.advance(days=2)
        now_ms = shop.bench.clock.now_ms
        before = rfc3339(now_ms - 86_400_000)
        made = settle(**told(unknown, occurred_at=before)).json()
        assert made["occurred_at"] == before
        assert made["recorded_at"] > before
        shop.advance(1)

        def suspense(**bounds: Any) -> int:  # noqa: ANN401  moments
            trial = shop.bench.ledger.trial_balance(**bounds)
            return int(trial.loc[trial["account"] == "suspense:mtn", "credit_minor"].sum())

        occurred = shop.bench.clock.now - timedelta(hours=12)
        assert suspense() == suspense(as_of=shop.bench.clock.now)
        assert suspense(as_of=occurred) - suspense(as_of=occurred, known_at=occurred) == 10_000


class TestEntries:
    def test_late_money_goes_back_under_the_id_that_is_told_or_one_of_the_operators(self, shop: Shop, settle: Settle):
        for told_id in ({"reference": "given-back"}, {}):
            charge, late = paid_late(shop)
            known_as = settle(recipe="suspense_returned", entry=late, **told_id).json()["external_reference"]
            assert known_as == "given-back" if told_id else known_as.startswith("4")
            first, *_, second = movements(shop.bench, payment=charge)
            assert first == ("late_success", False, None, "in", 10_000, 100)
            assert second[-3:] == ("out", 10_000, 0)
            assert not told_id or second[:3] == ("suspense_returned", True, "given-back")

    def test_late_money_waits_until_it_is_decided(self, shop: Shop, settle: Settle, unknown: str):
        charge, late = paid_late(shop)

        def state() -> str:
            rows = shop.bench.ledger.statement_of(FLOAT)
            rows = rows[(rows["payment"] == charge) & (rows["kind"] == "late_success")]
            assert rows["phone"].tolist() == ["+26096••••010"]
            return str(rows["state"].iloc[0])

        assert state() == "in_suspense"
        assert settle(**told(unknown, "redated", fee_minor=100, entry=late)).json()["settles"] == late
        assert state() == "in_suspense", "another date decides nothing"
        made = settle(recipe="suspense_settled", entry=late).json()
        assert settle(recipe="reversed", entry=late).status_code == 409
        assert state() == "posted"
        settle(recipe="reversed", entry=made["id"])
        assert state() == "in_suspense"

    def test_a_payout_that_the_bank_returns_is_available_again_once(self, shop: Shop, settle: Settle):
        settled = paid_out(shop, Sandbox_Scenario="bank_returned")
        paid, available = shop.entries_of(settled, "payout_paid")[0], shop.balance()[1]
        made = settle(recipe="payout_returned", entry=paid).json()
        assert (made["settles"], made["external_reference"]) == (paid, settled)
        assert shop.balance()[1] == available + 10_000
        assert (shop.status(f"/v1/payouts/{settled}"), shop.events()[-1]) == ("failed", "payout.failed")
        returned = paid_out(shop, Sandbox_Scenario="bank_returned")
        shop.advance(days=3)
        for payout in (settled, returned):
            kinds = [row[:3] for row in movements(shop.bench, payment=payout)]
            own = (True, payout) if payout == settled else (False, None)
            assert kinds == [("payout_paid", False, None), ("payout_returned", *own)]
            answer = settle(recipe="payout_returned", entry=shop.entries_of(payout, "payout_paid")[0])
            assert refusal(answer) == (409, "already_settled", "entry")

    def test_any_entry_is_reversed_once(self, shop: Shop, settle: Settle):
        charge = shop.charge()
        secured = shop.entries_of(charge, "funds_secured")[0]
        made = settle(recipe="reversed", entry=secured, description="Never received").json()
        known_as = next(row for row in shop.read("/sandbox/ledger/entries")["data"] if row["id"] == secured)
        assert (made["kind"], made["reverses"], made["settles"]) == ("reversed", secured, None)
        assert made["external_reference"] == known_as["external_reference"]
        assert shop.balance() == (0, 0, 0)
        assert refusal(settle(recipe="reversed", entry=secured)) == (409, "already_settled", "entry")
        again = settle(recipe="reversed", entry=made["id"]).json()
        assert shop.balance() == (9_750, 0, 0)
        assert refusal(settle(recipe="reversed", entry=secured)) == (409, "already_settled", "entry")
        assert movements(shop.bench, payment=charge) == [
            ("funds_secured", False, None, "in", 10_000, 100),
            ("reversed", True, made["external_reference"], "out", 9_900, 0),
            ("reversed", True, again["external_reference"], "in", 10_000, 100),
        ]

    def test_a_wrong_reference_is_put_right_by_two_entries(self, shop: Shop, settle: Settle, unknown: str):
        charge = shop.charge()
        secured = shop.entries_of(charge, "funds_secured")[0]
        assert settle(recipe="reversed", entry=secured).status_code == 200
        assert settle(recipe="reposted", entry=secured, reference=unknown).status_code == 200
        assert movements(shop.bench, batch=unknown) == [("reposted", True, unknown, "in", 10_000, 100)]
        phones = shop.bench.ledger.statement_of(FLOAT).query("payment == @charge")["phone"]
        assert phones.notna().all()
        assert len(set(phones)) == 1
        assert shop.balance() == (9_750, 0, 0)
        assert refusal(settle(recipe="reposted", entry=secured, reference="x")) == (409, "already_settled", "entry")

    def test_an_entry_must_be_named_be_there_and_be_of_a_kind_that_the_recipe_settles(self, shop: Shop, settle: Settle):
        secured = shop.entries_of(shop.charge(), "funds_secured")[0]
        for recipe in sorted(set(SETTLEMENTS) - set(TOLD)):
            assert refusal(settle(recipe=recipe)) == (400, "parameter_missing", "entry")
            assert refusal(settle(recipe=recipe, entry="je_0")) == (404, "entry_not_found", "entry")
            if SETTLEMENTS[recipe].entry_kinds is not None:
                answer = settle(recipe=recipe, entry=secured)
                assert refusal(answer) == (409, "entry_unsuitable", "entry")
                assert answer.json()["current"] == "funds_secured"

    def test_nothing_is_undone_before_it_happened_and_a_day_alone_is_no_moment_before(
        self, shop: Shop, settle: Settle, unknown: str
    ):
        """A statement that tells days alone puts a movement at the beginning of its day."""
        shop.to_midnight()
        day = rfc3339(shop.bench.clock.now_ms)
        shop.advance(3_600)
        secured = shop.entries_of(shop.charge(), "funds_secured")[0]
        again = settle(recipe="reposted", entry=secured, reference=unknown, occurred_at=day).json()
        assert again["occurred_at"] == day
        before = rfc3339(shop.bench.clock.now_ms - 86_400_000)
        refused = refusal(settle(recipe="reversed", entry=secured, occurred_at=before))
        assert refused == (409, "moment_impossible", "occurred_at")
        made = settle(recipe="reversed", entry=secured, occurred_at=day).json()
        entries = {row["id"]: row["occurred_at"] for row in shop.read("/sandbox/ledger/entries")["data"]}
        assert made["occurred_at"] == entries[secured]


def forms(proposal: object) -> list[object]:
    return [{"proposal": proposal}, pd.Series({"code": "x", "proposal": proposal}), SimpleNamespace(proposal=proposal)]


class TestBreaks:
    def test_a_break_is_settled_as_it_proposes(self, shop: Shop, unknown: str):
        for number in range(3):
            reference = f"{unknown}-{number}"
            item = forms(json.dumps([told(reference)]))[number]
            made = shop.bench.settle(item)
            assert made["external_reference"].tolist() == [reference]
            assert made["number"].tolist() == shop.bench.ledger.entries["number"].tolist()[-1:]
            with pytest.raises(StateConflict, match="was settled so before"):
                shop.bench.settle(item)

    def test_each_entry_of_a_proposal_is_posted_and_after_a_stop_the_rest(self, shop: Shop, unknown: str):
        secured = shop.entries_of(shop.charge(), "funds_secured")[0]
        reversal, repeated = ({"recipe": recipe, "entry": secured} for recipe in ("reversed", "reposted"))
        bodies = [reversal, {**repeated, "reference": unknown}]
        shop.bench.settle({"proposal": json.dumps(bodies[:1])})
        assert shop.bench.settle({"proposal": json.dumps(bodies)})["kind"].tolist() == ["reposted"]
        with pytest.raises(StateConflict):
            shop.bench.settle({"proposal": json.dumps(bodies)})
        with pytest.raises(StateConflict, match="settles payout_paid"):
            shop.bench.settle({"proposal": json.dumps([{"recipe": "payout_returned", "entry": secured}])})

    def test_what_is_no_break_or_no_proposal_is_refused(self, bench: Workbench):
        nothing = [item for each in (None, pd.NA, float("nan")) for item in forms(each)]
        none = [{}, None, "reversed", pd.Series({"code": "timing"}), {"proposal": 7}]
        for item in (*nothing, *none):
            with pytest.raises(LedgerRefused, match="has no proposed entry"):
                bench.settle(item)
        for text in ("", "{", "reversed", "[{}", "{}", "[]", "7", "[7]"):
            with pytest.raises(LedgerRefused, match="no list of entries"):
                bench.settle({"proposal": text})
