"""The tables of the ledger and of a merchant's records: columns, types, amounts, pages; through both doors."""

from datetime import UTC, date, datetime, timedelta
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

from tests.conftest import Shop
from workbench import PaymentsClient, Workbench
from workbench.analysis import shapes
from workbench.analysis.frames import money
from workbench.analysis.shapes import Columns
from workbench.analysis.tables import Tables
from workbench.domain.phones import OPERATORS
from workbench.errors import LedgerRefused, UnexpectedResponse
from workbench.session import SandboxControl

FLOAT, BANK = "operator:mtn:float", "bank:settlement"
OF_LEDGER = {"accounts": shapes.ACCOUNTS, "entries": shapes.ENTRIES, "postings": shapes.POSTINGS}
OF_MERCHANT = {
    "payments": shapes.PAYMENTS, "charges": shapes.CHARGES, "refunds": shapes.REFUNDS, "payouts": shapes.PAYOUTS,
    "events": shapes.EVENTS, "deliveries": shapes.DELIVERIES,
}  # fmt: skip


PAGED = ("entries", "postings", "movements")


def columns_of(made: pd.DataFrame) -> Columns:
    return {str(name): str(kind) for name, kind in made.dtypes.items()}


def tables_of(shop: Shop) -> Tables:
    """The tables of this shop, as its own bench would have them."""
    client = PaymentsClient(shop.bench.base_url, shop.key, http=shop.bench.http)
    return Tables(client, SandboxControl(client))


def told(shop: Shop, *amounts_minor: int) -> None:
    """Payments, a refund, a payout and two nights."""
    for minor in amounts_minor:
        shop.charge(minor)
    shop.to_midnight()
    shop.post("/v1/payouts", {"amount": 100, "currency": "ZMW", "destination": "main, account"})
    shop.to_midnight()


class TestTheLedger:
    def test_a_table_has_the_declared_columns_and_types(self, shop: Shop):
        shop.charge()
        with Workbench(seed=7) as empty:
            for name, columns in OF_LEDGER.items():
                for ledger, is_empty in ((empty.ledger, True), (shop.bench.ledger, False)):
                    made = getattr(ledger, name)
                    assert (columns_of(made), made.empty) == (columns, is_empty)
            for account in ("operator:zamtel:float", "suspense:bank", "income:merchant_fee"):
                rows = empty.ledger.statement_of(account)
                assert (columns_of(rows), rows.empty) == (shapes.LEDGER_MOVEMENT, True)

    def test_no_two_movements_of_an_account_have_one_key_and_credits_of_a_night_are_one_to_the_bank(self, shop: Shop):
        before = shop.bench.ledger.entries["number"].max() if len(shop.bench.ledger.entries) else 0
        told(shop, 20_000, 30_000)
        charge = shop.charge(channel="airtel")
        shop.post("/v1/refunds", {"charge": shop.charge(10_000)})
        shop.charge()
        shop.to_midnight()
        shop.to_midnight()
        for account in (FLOAT, BANK):
            rows = shop.bench.ledger.statement_of(account)
            new = rows[rows["number"] > before]
            assert len(new) > 2
            assert new["key"].notna().all()
            assert new["key"].is_unique
        night = rows[(rows["kind"] == "sweep_credited") & (rows["occurred_at"] == rows["occurred_at"].max())]
        assert len(night) >= 2
        assert set(night["batch"]) == {f"STL{night['business_date'].iloc[0]:%Y%m%d}"}
        assert night["key"].tolist() == night["entry"].tolist()
        # What the operator knows a payment by stands in each table.
        tables = (shop.bench.ledger.entries, shop.bench.ledger.postings)
        known_as = {each for made in tables for each in made.loc[made["payment"] == charge, "external_reference"]}
        rows = shop.bench.ledger.statement_of("operator:airtel:float")
        assert set(rows.loc[rows["payment"] == charge, "key"]) == known_as
        assert [each[:2] for each in known_as] == ["MP"]

    def test_a_statement_runs_to_the_balance_of_its_account(self, shop: Shop):
        told(shop, 20_000, 30_000)
        accounts = shop.bench.ledger.accounts.set_index("account")["balance_minor"]
        for account, balance in accounts.items():
            rows = shop.bench.ledger.statement_of(str(account))
            assert columns_of(rows) == shapes.LEDGER_MOVEMENT
            signs = rows["direction"].map({"in": 1, "out": -1}).astype("int64")
            signed = signs * rows["amount_minor"] - rows["fee_minor"]
            assert signed.cumsum().tolist() == rows["balance_minor"].tolist()
            assert int(signed.sum()) == balance
            assert (rows["amount_minor"] > 0).all()
        moved = pa.concat_tables(shop.bench.ledger.movements()).to_pandas()
        assert {FLOAT, BANK} <= set(moved["account"]) <= {BANK, *(f"operator:{name}:float" for name in OPERATORS)}
        for account, part in moved.groupby("account"):
            assert part["entry"].tolist() == shop.bench.ledger.statement_of(str(account))["entry"].tolist()

    def test_an_account_that_is_named_twice_is_one(self, shop: Shop):
        shop.charge()
        once, twice = (shop.read(f"/sandbox/ledger/movements?account={FLOAT}{also}") for also in ("", f",{FLOAT}"))
        assert once == twice

    def test_an_account_that_is_none_is_refused_by_name(self, shop: Shop):
        told(shop, 20_000)
        known = r"no account 'operator:nobody:float'.*ledger\.accounts.*bank:settlement"
        with pytest.raises(LedgerRefused, match=known):
            shop.bench.ledger.statement_of("operator:nobody:float")
        with pytest.raises(LedgerRefused, match="'nope'"):
            list(shop.bench.ledger.movements(FLOAT, "nope"))


class TestPages:
    def test_pages_follow_one_another_and_never_cut_an_entry(self, shop: Shop):
        told(shop, 20_000, 30_000, 40_000)
        nothing = {"data": [], "has_more": False, "object": "list"}
        for rows in PAGED:
            whole = shop.read(f"/sandbox/ledger/{rows}")
            found: list[Any] = []
            page = {"has_more": True}
            while page["has_more"]:
                after = found[-1]["number"] if found else 0
                page = shop.read(f"/sandbox/ledger/{rows}?after={after}&limit=7")
                assert 0 < len({row["number"] for row in page["data"]}) <= 7
                found += page["data"]
            assert (found, whole["has_more"]) == (whole["data"], False)
            for behind in (found[-1]["number"], 2**63 - 1):
                assert shop.read(f"/sandbox/ledger/{rows}?after={behind}&limit=1") == nothing

    def test_what_is_no_page_or_moment_is_refused(self, shop: Shop):
        pages = ("limit=0", "limit=10001", "limit=-1", "limit=a", "after=-1", "after=x", "limit=1&limit=2", "limit=")
        texts = ("yesterday", "", "2026-01-05", "2026-02-30T00:00:00Z")
        moments = [f"{name}={text}" for name in ("as_of", "known_at") for text in texts]
        for rows, queries in {**dict.fromkeys(PAGED, pages), "accounts": moments}.items():
            for query in queries:
                answer = shop.get(f"/sandbox/ledger/{rows}?{query}")
                assert (answer.status_code, answer.json()["param"]) == (400, query.partition("=")[0]), (rows, query)


class TestMoments:
    def test_a_trial_balance_balances_at_any_moment_a_moment_is_included_and_a_day_is_whole(self, shop: Shop):
        told(shop, 20_000, 30_000)
        shop.advance(1)
        shop.charge(12_345)
        ledger = shop.bench.ledger
        entry = ledger.entries.iloc[-1]
        moment, day = entry["occurred_at"].to_pydatetime(), entry["business_date"]
        for hours in (0, 1, 24, 30, 72):
            trial = ledger.trial_balance(as_of=moment - timedelta(hours=hours))
            assert columns_of(trial) == shapes.TRIAL_BALANCE
            assert int(trial["debit_minor"].sum()) == int(trial["credit_minor"].sum())
        pd.testing.assert_frame_equal(ledger.trial_balance(), ledger.trial_balance(as_of=shop.bench.clock.now))
        assert ledger.trial_balance(as_of=datetime(2000, 1, 1, tzinfo=UTC)).empty

        def fees(bound: datetime | date) -> int:
            trial = ledger.trial_balance(as_of=bound)
            return int(trial.loc[trial["code"] == 4000, "credit_minor"].sum())

        at, before = fees(moment), fees(moment - timedelta(milliseconds=1))
        assert at - before == 309
        assert fees(day) == at
        assert fees(day - timedelta(days=1)) == before

    def test_what_happens_at_midnight_in_lusaka_is_of_the_day_that_begins(self, shop: Shop):
        shop.charge(12_345)
        shop.to_midnight()
        entry = shop.bench.ledger.entries.iloc[-1]
        assert entry["occurred_at"].time() == datetime(2026, 1, 5, 22, tzinfo=UTC).time()
        day, ledger = entry["business_date"], shop.bench.ledger
        assert day > entry["occurred_at"].date()
        before = ledger.trial_balance(as_of=entry["occurred_at"].to_pydatetime() - timedelta(milliseconds=1))
        pd.testing.assert_frame_equal(ledger.trial_balance(as_of=day - timedelta(days=1)), before)
        assert not ledger.trial_balance(as_of=day).equals(before)

    def test_a_day_or_a_moment_may_be_text(self, shop: Shop):
        shop.charge(12_345)
        shop.to_midnight()
        ledger = shop.bench.ledger
        day, at = ledger.entries.iloc[-1][["business_date", "occurred_at"]]
        for given, text in ((day, day.isoformat()), (at.to_pydatetime(), at.isoformat())):
            pd.testing.assert_frame_equal(ledger.trial_balance(as_of=text), ledger.trial_balance(as_of=given))
        before = (day - timedelta(days=1)).isoformat()
        assert not ledger.trial_balance(as_of=before).equals(ledger.trial_balance(as_of=day.isoformat()))

    def test_a_moment_needs_its_zone(self, bench: Workbench):
        with pytest.raises(ValueError, match="A moment needs a time zone"):
            bench.ledger.trial_balance(as_of=datetime(2026, 1, 5))  # noqa: DTZ001  the point
        with pytest.raises(ValueError, match="A moment needs a time zone"):
            bench.ledger.trial_balance(as_of="2026-01-05T08:00:00")
        with pytest.raises(ValueError, match="'yesterday' is neither a day nor a moment: write \"2026-01-05\""):
            bench.ledger.trial_balance(known_at="yesterday")
        with pytest.raises(TypeError, match=r"such as date.2026, 1, 5., not 5"):
            bench.ledger.trial_balance(known_at=5)


class TestTheMerchant:
    def test_a_table_has_the_declared_columns_and_types(self, shop: Shop):
        tables = tables_of(shop)
        for name, columns in OF_MERCHANT.items():
            made = getattr(tables, name)
            assert (columns_of(made), made.empty) == (columns, True)
        shop.paid_intent("20.50")
        told(shop, 20_000)
        shop.post("/v1/refunds", {"charge": shop.charge(), "amount": 500})
        shop.post("/v1/webhook_endpoints", {"url": "http://127.0.0.1:9/", "enabled_events": ["*"]})
        shop.charge()
        shop.advance(10)
        for name, columns in OF_MERCHANT.items():
            made = getattr(tables, name)
            assert (columns_of(made), made.empty) == (columns, False)
            assert made["id"].is_unique
            assert made["created_at"].is_monotonic_increasing
            days = made["created_at"].dt.tz_convert("Africa/Lusaka").dt.date
            assert made["business_date"].tolist() == days.tolist()

    def test_amounts_are_minor_units_whatever_the_wire_counts_in(self, shop: Shop):
        intent = shop.paid_intent("20.55")
        charge = shop.charge(15_001)
        shop.post("/v1/refunds", {"payment_intent": intent, "amount": 1.05})
        shop.post("/v1/refunds", {"charge": charge, "amount": 105})
        shop.to_midnight()
        assert shop.post("/v1/payouts", {"amount": 100.01, "currency": "ZMW"}).status_code == 200
        tables = tables_of(shop)
        assert tables.payments["amount_minor"].tolist() == [2_055]
        assert tables.charges[["amount_minor", "refunded_minor"]].to_numpy().tolist() == [[2_055, 105], [15_001, 105]]
        assert tables.refunds["amount_minor"].tolist() == [105, 105]
        assert tables.payouts["amount_minor"].tolist() == [10_001]
        for name in ("payments", "charges", "refunds", "payouts"):
            assert set(getattr(tables, name)["currency"]) == {"ZMW"}
        assert money(tables.charges)["amount"].tolist() == ["20.55", "150.01"]

    def test_why_a_payment_failed_and_how_a_delivery_went(self, shop: Shop):
        shop.post("/v1/webhook_endpoints", {"url": "http://127.0.0.1:9/", "enabled_events": ["*"]})
        intent = shop.intent()
        shop.confirm(intent, "+260960000002")
        shop.advance(10)
        why = ["insufficient_funds", "+26096••••002", "mtn"]
        charges = tables_of(shop).charges[["status", "failure_code", "phone", "provider"]]
        assert charges.to_numpy().tolist() == [["failed", *why]]
        shop.post(f"/v1/payment_intents/{intent}/cancel", {"cancellation_reason": "gone"})
        row = tables_of(shop).payments.iloc[0]
        assert row[["status", "failure_code", "phone", "provider", "cancellation_reason"]].tolist() == [
            "canceled", *why, "gone",
        ]  # fmt: skip
        assert row["canceled_at"] >= row["created_at"]
        shop.advance(10)
        event = tables_of(shop).events.iloc[-1]
        told = event[["type", "object", "object_id", "status"]].tolist()
        assert told == ["payment_intent.canceled", "payment_intent", intent, "canceled"]
        row = tables_of(shop).deliveries.iloc[-1]
        assert row[["event", "event_type", "status", "attempts"]].tolist() == [event["id"], told[0], "pending", 2]
        assert row["last_fault"]
        assert pd.isna(row["last_status_code"])
        assert row["created_at"] <= row["last_attempt_at"] < row["next_attempt_at"]

    def test_more_rows_than_a_page_are_read(self, shop: Shop):
        ids = [shop.intent() for _ in range(103)]
        assert tables_of(shop).payments["id"].tolist() == ids


class TestTheBench:
    def test_intents_that_tell_no_amount_are_refused_with_the_reason(self):
        with Workbench(seed=7, gaps={"intent_fields": "minimal"}) as bench:
            bench.client.payment_intents.create(amount=5)
            with pytest.raises(UnexpectedResponse, match="intent_fields"):
                _ = bench.tables.payments
