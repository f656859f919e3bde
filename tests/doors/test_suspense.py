"""Late money to its end: what waits is shown wherever its payment is, and is credited or returned once."""

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import httpx
import pandas as pd
import pytest

from tests.conftest import Shop, StoreFile, check_books, refusal
from workbench import Workbench
from workbench.analysis.reconcile import reconcile
from workbench.analysis.shapes import STATEMENT_ROW
from workbench.errors import InvalidRequest, NotFound

LATE, PHONE, FLOAT = "+260960000010", "+260961234567", "operator:mtn:float"
ENDS = {"credit": ("credited", "suspense_settled"), "return": ("returned", "suspense_returned")}
ROW = "confirm_with_money_in_suspense"


def late_intent(shop: Shop, intent: str | None = None) -> str:
    """An intent whose prompt expired, and whose money came a minute after."""
    intent = intent or shop.intent("87.35")
    assert shop.confirm(intent, shop.new_number(), Sandbox_Scenario="late_success").status_code == 200
    shop.advance(400)
    return intent


def settle(shop: Shop, item: str, how: str) -> httpx.Response:
    return shop.post(f"/sandbox/suspense/{item}/settle", {"how": how})


def items(shop: Shop, intent: str) -> list[dict[str, Any]]:
    return list(shop.read(f"/v1/payment_intents/{intent}").get("suspense", []))


def test_what_waits_is_shown_wherever_the_payment_is_and_nowhere_else(shop: Shop):
    intent, other = late_intent(shop), shop.paid_intent()
    shown = shop.read(f"/v1/payment_intents/{intent}")
    (item,) = shown["suspense"]
    entry = shop.entries_of(intent, "late_success")[0]
    (known_as,) = shop.entries_of(intent, "late_success", "external_reference")
    assert (item["id"], item["status"], item["operator_reference"]) == (entry, "waiting", known_as)
    assert (item["amount"], item["currency"], item["payment_intent"]) == (Decimal("87.35"), "ZMW", intent)
    assert (item["since"], item["settled_at"], item["settled_by"]) == (shown["created"] + 360, None, None)
    charge = shop.read(f"/v1/charges/{item['charge']}")
    assert (shown["status"], charge["status"]) == ("requires_payment_method", "failed")
    listed = {each["id"]: each for path in ("payment_intents", "charges") for each in shop.read(f"/v1/{path}")["data"]}
    assert [name for name, each in listed.items() if "suspense" in each] == [intent, charge["id"]]
    told = shop.read("/v1/events?type=payment_intent.late_success")["data"][0]["data"]["object"]
    balance = shop.read("/v1/balance")
    assert balance["suspense"] == [{"amount": Decimal("87.35"), "currency": "ZMW"}]
    for shown_there in (charge["suspense"], listed[intent]["suspense"], told["suspense"]):
        assert shown_there == [item]
    assert shop.read("/sandbox/suspense")["data"] == [item]
    assert shop.read("/sandbox/suspense?status=returned")["data"] == []
    assert refusal(shop.get("/sandbox/suspense?status=lost")) == (400, "parameter_invalid", "status")
    provenance = [
        shop.get(f"/v1/payment_intents{end}").headers["Sandbox-Provenance"] for end in ("", f"/{intent}", f"/{other}")
    ]
    assert ["late_success" in each for each in provenance] == [True, True, False]


def test_who_confirms_again_is_warned_until_the_money_went_back(shop: Shop):
    intent, warned = late_intent(shop), []
    came = datetime.fromtimestamp(items(shop, intent)[0]["since"], UTC)
    for how in ("credit", "return"):
        answer = shop.confirm(intent, shop.new_number(), Sandbox_Scenario="late_success")
        warned.append(answer.json()["warnings"])
        shop.advance(400)
        assert settle(shop, items(shop, intent)[-2]["id"], "credit").is_success == (how == "credit")
        settle(shop, items(shop, intent)[-1]["id"], "return")
    ((first,), (second,)) = warned
    assert first.startswith(f"K87.35 of an earlier attempt waits in suspense: it came at {came:%Y-%m-%dT%H:%M:%S}")
    assert "was credited to you from suspense" in second
    assert ROW in answer.headers["Sandbox-Provenance"]
    replayed = shop.confirm(intent, LATE, Idempotency_Key=f"again-{intent}")
    again = shop.confirm(intent, LATE, Idempotency_Key=f"again-{intent}")
    assert "Idempotent-Replayed" in again.headers
    assert [ROW in each.headers["Sandbox-Provenance"] for each in (replayed, again)] == [True, True]


@pytest.mark.parametrize("how", ENDS)
def test_it_is_credited_or_returned_once_by_any_of_its_names(shop: Shop, how: str):
    status, recipe = ENDS[how]
    for name in ("id", "charge", "payment_intent"):
        intent = late_intent(shop)
        (item,) = items(shop, intent)
        before = shop.balance()[0]
        settled = settle(shop, item[name], how).json()
        assert (settled["status"], settled["settled_by"]) == (status, shop.entries_of(intent, recipe)[0])
        assert shop.events()[-1] == f"suspense.{status}"
        event = shop.read("/v1/events?limit=1")["data"][0]
        now = shop.read(f"/v1/payment_intents/{intent}")
        assert now["suspense"] == [event["data"]["object"]] == shop.read(f"/v1/charges/{item['charge']}")["suspense"]
        assert event["data"]["previous_attributes"] == {"status": "waiting"}
        assert (now["status"], "suspense" in shop.read("/v1/balance")) == ("requires_payment_method", False)
        # 2.5 % of 87.35 is 2.18, as of any payment; what goes back goes whole.
        assert shop.balance()[0] - before == (8_517 if how == "credit" else 0)
        for again in ENDS:
            refused = settle(shop, item[name], again)
            assert refusal(refused) == (409, "already_settled", "entry")
            assert settled["settled_by"] in refused.json()["detail"]
    assert len(shop.entries_of(intent, recipe)) == 1


def test_what_is_settled_from_a_break_is_told_too_and_waits_again_when_that_is_reversed(shop: Shop):
    intent = late_intent(shop)
    entry = items(shop, intent)[0]["id"]
    made = shop.post("/sandbox/ledger/entries", {"recipe": "suspense_settled", "entry": entry}).json()["id"]
    assert (shop.events()[-1], items(shop, intent)[0]["settled_by"]) == ("suspense.credited", made)
    shop.post("/sandbox/ledger/entries", {"recipe": "reversed", "entry": made})
    assert (items(shop, intent)[0]["status"], shop.events()[-1]) == ("waiting", "suspense.credited")
    assert settle(shop, intent, "return").json()["status"] == "returned"
    # Of what is reversed itself nothing came.
    wrong = late_intent(shop)
    entry = items(shop, wrong)[0]["id"]
    shop.post("/sandbox/ledger/entries", {"recipe": "reversed", "entry": entry})
    assert "suspense" not in shop.read(f"/v1/payment_intents/{wrong}")
    again = shop.post("/sandbox/ledger/entries", {"recipe": "suspense_settled", "entry": entry})
    assert refusal(again) == (409, "already_settled", "entry")


def test_an_event_about_it_is_found_by_the_number_that_paid(shop: Shop):
    shop.confirm(intent := shop.intent(), phone := shop.new_number(), Sandbox_Scenario="late_success")
    shop.advance(400)
    settle(shop, intent, "credit")
    found = shop.read(f"/v1/events?search={phone[-9:]}&limit=100")["data"]
    assert [each["type"] for each in found[:2]] == ["suspense.credited", "payment_intent.late_success"]
    assert shop.read("/v1/events?type=suspense.*")["data"] == found[:1]


def test_several_are_named_each_and_nobody_settles_anothers(shop: Shop):
    intent = late_intent(shop, late_intent(shop))
    first, second = items(shop, intent)
    assert shop.read(f"/v1/charges/{second['charge']}")["suspense"] == [second]
    assert refusal(settle(shop, intent, "credit")) == (409, "suspense_ambiguous", "item")
    assert settle(shop, second["charge"], "return").json()["id"] == second["id"]
    assert settle(shop, intent, "credit").json()["id"] == first["id"]
    other = Shop(shop.bench, shop.new_number)
    for name in (intent, first["id"], first["charge"], "je_0"):
        assert refusal(settle(other, name, "return")) == (404, "suspense_not_found", "item")
    assert other.read("/sandbox/suspense")["data"] == []
    secured = shop.entries_of(shop.charge(), "funds_secured")[0]
    assert refusal(settle(shop, secured, "credit")) == (404, "suspense_not_found", "item")


def told(bench: Workbench, after: int, name: str) -> pd.DataFrame:
    """What the operator tells of the entries after a number, under its own ids."""
    rows = bench.ledger.statement_of(FLOAT).loc[lambda rows: rows["number"] > after]
    rows = rows.assign(key=rows["batch"].fillna(rows["key"]), statement=name, line=range(1, len(rows) + 1))
    return rows.reindex(columns=list(STATEMENT_ROW)).astype(dict(STATEMENT_ROW))


@pytest.mark.thorough
def test_settled_late_money_reconciles_with_the_operators_next_statement():
    with Workbench(seed=7) as bench:
        for name in "abc":
            bench.client.charges.create(amount=15_000, channel="mtn", phone=LATE, idempotency_key=name)
        bench.clock.advance(days=2)
        first = reconcile(bench.ledger.statement_of(FLOAT), told(bench, 0, "one.csv"))
        assert first.breaks["code"].tolist() == ["late_success"] * 3
        closed, waiting = int(bench.ledger.entries["number"].max()), bench.operator.suspense()
        assert bench.operator.settle(waiting[0]["id"], "credit")["status"] == "credited"
        assert bench.operator.settle(waiting[1]["charge"], "return")["status"] == "returned"
        bench.clock.advance(days=3)
        later = told(bench, closed, "two.csv")
        # It had all been swept: the float is filled before the operator pays out of it.
        assert later[["direction", "amount_minor"]].to_numpy().tolist() == [["in", 15_000], ["out", 15_000]]
        second = reconcile(bench.ledger.statement_of(FLOAT), later, carry_forward=first.carry_forward)
        assert second.breaks["key"].tolist() == [waiting[2]["operator_reference"]]
        assert second.proof["holds"].all()
        table = bench.tables.suspense
        assert table["status"].tolist() == ["credited", "returned", "waiting"]
        assert table["amount_minor"].tolist() == [15_000] * 3
        assert table["settled_at"].isna().tolist() == [False, False, True]
        kinds = [each["kind"] for each in bench.phone(LATE).messages]
        check_books(bench)
    assert kinds == ["paid"] * 3 + ["returned"]


def test_the_bench_refuses_what_is_no_way_to_settle():
    with Workbench(seed=7) as bench:
        with pytest.raises(InvalidRequest, match="no way to settle late money; they are credit, return"):
            bench.operator.settle("pi_0", "keep")
        with pytest.raises(NotFound, match="No late money arrived"):
            bench.operator.settle("pi_0", "credit")


def test_who_has_the_file_open_too_sees_it_and_after_a_reset_nobody_does(store: StoreFile):
    with Workbench(seed=7, store=store.path) as bench, Workbench(seed=7, store=store.path) as other:
        charge = bench.client.charges.create(amount=100, channel="mtn", phone=LATE, idempotency_key="a").id
        assert not other.client.charges.retrieve(charge).suspense
        bench.clock.advance(400)
        (item,) = other.client.charges.retrieve(charge).suspense
        other.operator.settle(charge, "return")
        assert [each["id"] for each in bench.operator.suspense() if each["status"] == "returned"] == [item.id]
        bench.reset()
        assert (bench.operator.suspense(), other.operator.suspense()) == ([], [])
