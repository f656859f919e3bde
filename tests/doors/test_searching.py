"""Events found by a moment, by what stands in them and by the number that paid; and what the panel tells of."""

from typing import TYPE_CHECKING

import pytest

from workbench import PaymentsClient, Workbench

if TYPE_CHECKING:
    from tests.conftest import Shop


@pytest.fixture
def pay(shop: "Shop", bench: Workbench) -> PaymentsClient:
    return PaymentsClient(bench.base_url, shop.key, http=bench.http)


def objects(found: object) -> set[str]:
    return {each.data.object["id"] for each in found}


def test_events_are_found_by_what_stands_in_them(shop: "Shop", pay: PaymentsClient):
    first, second = shop.charge(10_000), shop.charge(20_000)
    assert objects(pay.events.list(search=first)) == {first}
    assert objects(pay.events.each(search=first.upper())) == {first}
    (event, *_) = pay.events.list(search=second)
    assert [each.id for each in pay.events.list(search=event.id)] == [event.id]
    assert not pay.events.list(search="%").data
    assert not pay.events.list(search="charge_succeeded").data
    assert pay.events.list(search="charge.succeeded", type="charge.pending").data == []
    page = pay.events.list(search="ch_", limit=1)
    assert page.has_more
    assert [each.id for each in page] != [each.id for each in pay.events.list(starting_after=page[0].id, search="ch_")]


def test_events_are_found_by_the_last_digits_of_a_number(shop: "Shop", pay: PaymentsClient, bench: Workbench):
    number = shop.new_number()
    intent = shop.intent()
    confirmed = pay.payment_intents.confirm(intent, phone=number, provider="mtn")
    bench.phone(number).enter_pin("1234")
    charge = pay.payment_intents.retrieve(intent).latest_charge
    refund = pay.refunds.create(charge=charge)
    bench.clock.advance(60)
    for spelling in (number, number[-4:], f"0{number[4:]}", f"{number[4:7]} {number[7:]}"):
        assert {intent, charge, refund.id} <= objects(pay.events.each(search=spelling)), spelling
    assert confirmed.id == intent
    assert intent not in objects(pay.events.each(search=f"9{number[-6:]}"))


def test_events_are_found_from_a_moment_on(shop: "Shop", pay: PaymentsClient, bench: Workbench):
    before = shop.charge(10_000)
    bench.clock.advance(60)
    moment = bench.clock.now.isoformat(timespec="milliseconds")
    bench.clock.advance(60)
    after = shop.charge(10_000)
    assert objects(pay.events.each(created_since=moment)) & {before, after} == {after}


def test_what_cannot_be_searched_for_is_refused(shop: "Shop"):
    for query in ("search=", f"search={'x' * 101}", "created_since=yesterday", "created_since=7"):
        answer = shop.get(f"/v1/events?{query}")
        assert (answer.status_code, answer.json()["param"]) == (400, query.partition("=")[0])


def test_which_operators_are_down(bench: Workbench):
    def down() -> dict[str, int | None]:
        return {each["provider"]: each["down_until"] for each in bench.operator.states()}

    assert down() == {"mtn": None, "airtel": None, "zamtel": None}
    bench.operator.outage("airtel", 90)
    now_s = bench.clock.now_ms // 1000
    assert abs((down()["airtel"] or 0) - now_s - 90) <= 1
    bench.clock.advance(91)
    assert down()["airtel"] is None
    bench.operator.outage("mtn", 60)
    bench.operator.outage("mtn", 0)
    assert down()["mtn"] is None


def test_how_deliveries_misbehave_is_told_to_whom_they_belong(bench: Workbench, shop: "Shop"):
    made = bench.client.webhook_endpoints.create(url="http://127.0.0.1:9/hooks")
    bench.delivery_faults("duplicate", endpoint=made.id)
    key = {"Authorization": f"Bearer {bench.secret_key}"}
    rows = bench.http.get("/sandbox/webhook_endpoints", headers=key).json()["data"]
    assert {"id": made.id, "faults": ["duplicate"], "object": "webhook_endpoint"} in rows
    assert made.id not in str(shop.read("/sandbox/webhook_endpoints"))
    bench.client.webhook_endpoints.delete(made.id)
    assert made.id not in bench.http.get("/sandbox/webhook_endpoints", headers=key).text
