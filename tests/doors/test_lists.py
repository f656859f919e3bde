"""Lists: pages by a cursor that is a row, newest first, whatever arrives meanwhile; what is filtered and searched."""

import pytest

from tests.conftest import Shop
from workbench import PaymentsClient, Workbench

LISTS = ("payment_intents", "charges", "refunds", "payouts", "events", "webhook_endpoints", "deliveries", "api_keys")


def fill(shop: Shop, count: int) -> None:
    """So many rows and more of every list."""
    for number in range(count):
        shop.post("/v1/webhook_endpoints", {"url": "http://127.0.0.1:9/hooks", "enabled_events": ["refund.created"]})
        shop.intent()
        shop.post("/v1/refunds", {"charge": shop.charge(10_000), "amount": 1 + number})
        shop.post("/v1/api_keys", {})
    shop.to_midnight()
    shop.advance(1)
    for _ in range(count):
        assert shop.post("/v1/payouts", {"amount": 1, "currency": "ZMW"}).status_code == 200


def ids(page: dict[str, list[dict[str, str]]]) -> list[str]:
    return [each["id"] for each in page["data"]]


def test_each_list_is_newest_first_and_its_pages_make_the_whole_which_an_empty_one_is(shop: Shop):
    for name in LISTS:
        found = shop.read(f"/v1/{name}")
        assert (found["object"], found["url"], found["has_more"]) == ("list", f"/v1/{name}", False)
        assert len(found["data"]) == (2 if name == "api_keys" else 0)
    fill(shop, 4)
    for name in LISTS:
        whole = shop.read(f"/v1/{name}?limit=100")
        every = ids(whole)
        assert (whole["has_more"], len(set(every))) == (False, len(every))
        assert len(every) >= 4
        created = [each.get("created") or each["timestamp"] for each in whole["data"]]
        assert created == sorted(created, reverse=True)
        assert ids(shop.read(f"/v1/{name}")) == every[:10]
        # All lists page alike, so that each limit is tried with one of them.
        rest = (1, len(every) - 1, len(every), len(every) + 1) if name == "payment_intents" else ()
        for limit in (2, *rest):
            for place in range(len(every)):
                older = shop.read(f"/v1/{name}?limit={limit}&starting_after={every[place]}")
                assert ids(older) == every[place + 1 : place + 1 + limit]
                assert older["has_more"] == (place + 1 + limit < len(every))
                newer = shop.read(f"/v1/{name}?limit={limit}&ending_before={every[place]}")
                assert ids(newer) == every[max(0, place - limit) : place]
                assert newer["has_more"] == (place > limit)


def test_a_page_that_is_none_and_a_cursor_of_another_list_or_account(shop: Shop):
    other = Shop(shop.bench, shop.new_number)
    fill(other, 1)
    elsewhere = dict(zip(LISTS, [*LISTS[1:], LISTS[0]], strict=True))
    for name in LISTS:
        for limit in ("0", "101", "-1", "ten", "1.5", "99999999999999999999"):
            refused = shop.get(f"/v1/{name}?limit={limit}")
            assert (refused.status_code, refused.json()["param"]) == (400, "limit")
        assert shop.get(f"/v1/{name}?limit=1&limit=2").json()["code"] == "parameter_repeated"
        theirs, of_another_list = (ids(other.read(f"/v1/{each}"))[0] for each in (name, elsewhere[name]))
        for caller, cursor in ((shop, "x"), (shop, theirs), (other, of_another_list)):
            for param in ("starting_after", "ending_before"):
                refused = caller.get(f"/v1/{name}?{param}={cursor}").json()
                assert (refused["status"], refused["code"], refused["param"]) == (404, "cursor_unknown", param)


def test_events_are_filtered_by_a_type_or_a_family_page_by_page(shop: Shop):
    shop.post("/v1/refunds", {"charge": shop.charge()})
    shop.paid_intent()
    every = shop.events()
    for wanted in ("charge.succeeded", "charge.*", "payment_intent.*", "refund.*", "payout.*", "*"):
        found: list[str] = []
        has_more, cursor = True, ""
        while has_more:
            data, has_more = map(shop.read(f"/v1/events?type={wanted}&limit=2{cursor}").get, ("data", "has_more"))
            found += [each["type"] for each in data]
            cursor = f"&starting_after={data[-1]['id']}" if data else ""
        assert found[::-1] == [each for each in every if wanted in ("*", each, f"{each.partition('.')[0]}.*")]
    for unknown in ("charge", "charge.", "charge.*.x", "Charge.succeeded", "**"):
        refused = shop.get(f"/v1/events?type={unknown}").json()
        assert (refused["code"], refused["param"]) == ("event_type_unknown", "type")


def test_deliveries_are_filtered_by_state_event_and_endpoint(shop: Shop):
    hooks = [shop.post("/v1/webhook_endpoints", {"url": "http://127.0.0.1:9/hooks"}).json()["id"] for _ in "ab"]
    shop.intent()
    shop.intent()
    shop.advance(0)
    events = ids(shop.read("/v1/events"))
    for hook in hooks:
        found = shop.read(f"/v1/deliveries?endpoint={hook}")["data"]
        assert [each["event"] for each in found] == events
    assert {each["endpoint"] for each in shop.read(f"/v1/deliveries?event={events[0]}")["data"]} == {*hooks}
    counts = {"": 4, "status=pending": 4, "status=pending,dead_letter": 4, "status=delivered,dead_letter": 0,
              f"status=pending&event={events[0]}&endpoint={hooks[0]}": 1}  # fmt: skip
    assert {query: len(ids(shop.read(f"/v1/deliveries?{query}"))) for query in counts} == counts
    for status in ("done", "pending,", "Pending"):
        refused = shop.get(f"/v1/deliveries?status={status}").json()
        assert (refused["code"], refused["param"]) == ("parameter_invalid", "status")


@pytest.fixture
def pay(shop: Shop) -> PaymentsClient:
    return shop.bench.client_with(shop.key)


def objects(found: object) -> set[str]:
    return {each.data.object["id"] for each in found}


def test_events_are_found_by_what_stands_in_them_and_by_the_last_digits_of_a_number(
    shop: Shop, pay: PaymentsClient, bench: Workbench
):
    number, intent, other = shop.new_number(), shop.intent(), shop.charge(20_000)
    pay.payment_intents.confirm(intent, phone=number, provider="mtn")
    bench.phone(number).enter_pin("1234")
    charge = pay.payment_intents.retrieve(intent).latest_charge
    refund = pay.refunds.create(charge=charge)
    bench.clock.advance(60)
    for spelling in (number, number[-4:], f"0{number[4:]}", f"{number[4:7]} {number[7:]}"):
        assert {intent, charge, refund.id} <= objects(pay.events.each(search=spelling)), spelling
    assert intent not in objects(pay.events.each(search=f"9{number[-6:]}"))
    assert objects(pay.events.each(search=other.upper())) == {other}
    (event, *_) = pay.events.list(search=other)
    assert [each.id for each in pay.events.list(search=event.id)] == [event.id]
    for nothing in ({"search": "%"}, {"search": "charge_succeeded"}, {"search": "ch_", "type": "charge.pending"}):
        assert not pay.events.list(**nothing).data


def test_events_are_found_from_a_moment_on_and_what_cannot_be_searched_for_is_refused(
    shop: Shop, pay: PaymentsClient, bench: Workbench
):
    before = shop.charge(10_000)
    bench.clock.advance(60)
    moment = bench.clock.now.isoformat(timespec="milliseconds")
    bench.clock.advance(60)
    after = shop.charge(10_000)
    assert objects(pay.events.each(created_since=moment)) & {before, after} == {after}
    for query in ("search=", f"search={'x' * 101}", "created_since=yesterday", "created_since=7"):
        answer = shop.get(f"/v1/events?{query}")
        assert (answer.status_code, answer.json()["param"]) == (400, query.partition("=")[0])
