"""What a page that shows a sandbox reads: what changed, handsets, keys, a payment's steps, a request as code."""

from collections.abc import Callable
from typing import Any
from wsgiref.types import StartResponse, WSGIEnvironment

import pytest

from tests.doors.conftest import Wire
from workbench import Workbench


def changes(wire: Wire, after: int | None = None) -> dict[str, Any]:
    response = wire.get("/sandbox/changes" if after is None else f"/sandbox/changes?after={after}")
    assert response.status_code == 200, response.text
    return response.json()


def of_kind(page: dict[str, Any], kind: str) -> list[str]:
    return [each["id"] for each in page["data"] if each["kind"] == kind]


@pytest.fixture
def own(new_number: Callable[..., str]) -> Wire:
    """A sandbox that nobody else uses, for what changes all of it."""
    with Workbench(seed=7) as bench:
        assert bench.receiver.secrets
        yield Wire(bench, new_number)


class TestChanges:
    def test_from_now_on_there_is_nothing_until_something_happens(self, wire: Wire):
        begun = changes(wire)
        assert (begun["data"], begun["has_more"], begun["reset"]) == ([], False, False)
        assert begun["last_seq"] == wire.get("/sandbox/clock").json()["seq"]
        intent, phone = wire.prompt()
        page = changes(wire, begun["last_seq"])
        assert of_kind(page, "payment") == [intent]
        assert of_kind(page, "prompt") == [phone]
        assert of_kind(page, "entry") == []
        assert page["last_seq"] > begun["last_seq"]
        assert of_kind(changes(wire, page["last_seq"]), "payment") == []

    def test_each_object_stands_there_once_at_the_place_of_what_happened_last(self, wire: Wire):
        since = changes(wire)["last_seq"]
        paid = wire.paid()
        rows = changes(wire, since)["data"]
        assert len({(each["kind"], each["id"]) for each in rows}) == len(rows)
        assert [each["seq"] for each in rows] == sorted(each["seq"] for each in rows)
        trace = [each for each in wire.trace(since) if each["payment"] == paid]
        assert {each["id"]: each["seq"] for each in rows}[paid] >= trace[-1]["seq"]
        found = {kind: {*of_kind({"data": rows}, kind)} for kind in ("entry", "delivery", "request")}
        assert found["entry"] >= {each["id"] for each in wire.entries(paid)}
        deliveries = wire.get(f"/sandbox/payments/{paid}").json()["deliveries"]
        assert found["delivery"] >= {each["id"] for each in deliveries} != set()
        sent = [row for row in trace if row["kind"] == "call"]
        assert found["request"] >= {row["detail"]["response"]["headers"]["Request-Id"] for row in sent}

    def test_what_is_done_to_a_payment_later_tells_of_it(self, wire: Wire):
        paid = wire.paid()
        charge = wire.get(f"/sandbox/payments/{paid}").json()["payment"]["charge"]
        delivery = wire.get(f"/sandbox/payments/{paid}").json()["deliveries"][0]["id"]
        since = changes(wire)["last_seq"]
        assert wire.post("/v1/refunds", wire.written({"charge": f'"{charge}"'}), wire.bearer).status_code == 200
        page = changes(wire, since)
        assert of_kind(page, "payment") == [paid]
        assert wire.post(f"/v1/deliveries/{delivery}/replay", b"", wire.bearer).status_code == 200
        page = changes(wire, page["last_seq"])
        assert delivery in of_kind(page, "delivery")
        assert paid in of_kind(page, "payment")

    def test_a_delivery_that_is_sent_again_is_told_before_it_has_arrived(self, new_number: Callable[..., str]):
        told, since = list[dict[str, Any]](), list[int]()

        def shop(_: WSGIEnvironment, start_response: StartResponse) -> list[bytes]:
            told.extend(changes(wire, since[0])["data"] if since else [])
            start_response("200 OK", [])
            return []

        with Workbench(seed=7, webhooks=shop, webhook_url="http://testserver/hooks") as bench:
            wire = Wire(bench, new_number)
            wire.charge()
            delivery = bench.client.deliveries.list().data[0].id
            since.append(changes(wire)["last_seq"])
            bench.client.deliveries.replay(delivery)
            assert ("delivery", delivery) in {(each["kind"], each["id"]) for each in told}

    def test_of_many_there_are_pages_that_miss_none(self, own: Wire):
        made = [own.charge().json()["id"] for _ in range(90)]
        seen, after, pages = list[tuple[str, str]](), 0, 0
        while True:
            page = changes(own, after)
            seen += [(each["kind"], each["id"]) for each in page["data"]]
            after, pages = page["last_seq"], pages + 1
            if not page["has_more"]:
                break
        assert pages > 1
        assert {*made} == {name for kind, name in seen if kind == "payment"}
        assert after == own.get("/sandbox/clock").json()["seq"]

    def test_the_clock_is_told_until_the_next_thing_happens(self, own: Wire):
        since = changes(own)["last_seq"]
        own.bench.clock.advance(hours=1)
        assert of_kind(changes(own, since), "clock") == ["clock"]
        own.intent()
        later = changes(own, since)["last_seq"]
        assert of_kind(changes(own, later), "clock") == []
        assert of_kind(changes(own), "clock") == []

    def test_a_reset_says_so_once_and_so_does_a_place_that_is_ahead(self, own: Wire):
        own.paid()
        since = changes(own)["last_seq"]
        own.bench.reset()
        page = changes(own, since)
        assert (page["data"], page["reset"]) == ([], True)
        assert changes(own, page["last_seq"])["reset"] is False
        ahead = changes(own, page["last_seq"] + 1)
        assert (ahead["data"], ahead["reset"], ahead["last_seq"]) == ([], True, page["last_seq"])
        intent = own.intent().json()["id"]
        assert of_kind(changes(own, page["last_seq"]), "payment") == [intent]

    def test_in_process_it_is_answered_by_page_whatever_is_accepted(self, own: Wire):
        response = own.get("/sandbox/changes", {**own.bearer, "Accept": "text/event-stream"})
        assert response.headers["content-type"] == "application/json"


def test_the_handset_that_rings_is_the_first_then_come_those_used_last_but_that_of_a_payment_before_all(own: Wire):
    assert own.get("/sandbox/phones").json()["data"] == []
    _, ringing = own.prompt()
    (first, oldest), *others = [own.prompt() for _ in range(21)]
    paid = [oldest, *(phone for _, phone in others)]
    for phone in paid:
        own.pin(phone)
    rows = own.get("/sandbox/phones").json()["data"]
    assert [each["phone"] for each in rows] == [ringing, *paid[::-1]][:20]
    assert [each["waiting"] for each in rows] == [True, *[False] * 19]
    assert rows[0] == own.get(f"/sandbox/phones/{ringing}").json()
    of_payment = own.get(f"/sandbox/phones?payment={first}").json()["data"]
    assert [each["phone"] for each in of_payment] == [oldest, ringing, *paid[:1:-1]][:20]


def test_the_keys_are_those_of_whoever_asks_and_no_cache_keeps_them(wire: Wire):
    response = wire.get("/sandbox/keys")
    shown = {"secret_key": str(wire.bench.secret_key), "publishable_key": str(wire.bench.publishable_key)}
    assert response.json() == {**shown, "object": "keys"}
    assert response.headers["cache-control"] == "no-store"
    other = wire.post("/sandbox/accounts", b'{"name": "OTHER"}', wire.bearer).json()
    assert other["secret_key"] != shown["secret_key"]
    assert wire.get("/sandbox/keys", {"Authorization": f"Bearer {other['secret_key']}"}).json() == {
        **{name: other[name] for name in shown}, "object": "keys",
    }  # fmt: skip
    assert wire.get("/sandbox/keys", wire.publishable).status_code == 403


def test_a_payments_steps_are_those_of_its_diagram(wire: Wire):
    paid = wire.paid()
    details = wire.get(f"/sandbox/payments/{paid}").json()
    steps = details["steps"]
    assert [each["seq"] for each in steps] == [each["seq"] for each in details["trace"]]
    drawn = wire.bench.trace.for_(paid).sequence.steps
    keys = ("at", "kind", "from", "to", "label", "response", "is_bad")
    assert [tuple(each[key] for key in keys) for each in steps] == [
        (each.at, each.kind, each.source, each.target, each.label, each.response, each.is_bad) for each in drawn
    ][: len(steps)]
    assert {"from": "payment service", "to": "ledger"}.items() <= next(e for e in steps if e["kind"] == "entry").items()


def test_a_request_is_shown_as_code_with_names_for_its_keys(wire: Wire):
    charge = wire.charge()
    path = f"/sandbox/requests/{charge.headers['request-id']}/code"
    code = wire.get(path).json()
    same = next(each for each in wire.bench.trace.exchanges[::-1] if charge.headers["request-id"] in each.response)
    assert (code["python"], "$BASE_URL/v1/charges" in code["curl"]) == (same.python, True)
    assert "pay.charges.create(" in code["python"]
    assert '-u "$SECRET_KEY:"' in code["curl"]
    assert "fetch(`${BASE_URL}/v1/charges`" in code["javascript"]
    assert str(wire.bench.secret_key) not in str(code)
    placed = wire.get(f"{path}?base_url=http://127.0.0.1:4242").json()
    assert "curl -X POST http://127.0.0.1:4242/v1/charges" in placed["curl"]
    assert wire.get("/sandbox/requests/req_none/code").json()["code"] == "request_not_found"


def test_payments_are_found_filtered_and_paged(own: Wire):
    """Each filter alone and with others; a page is those older than the last row of the one before."""
    pay = own.bench.client
    made = [pay.payment_intents.create(amount=10 + number, description=f"Order {number} of 40%") for number in range(6)]
    for number, intent in enumerate(made[:4]):
        phone, provider = (f"+26096123400{number}", "mtn") if number % 2 else (f"+26097123400{number}", "airtel")
        pay.payment_intents.confirm(intent.id, phone=phone, provider=provider)
        handset = own.bench.phone(phone)
        handset.enter_pin("1234") if number < 2 else handset.cancel()
        own.bench.clock.advance(days=1)
    alone = pay.charges.create(
        amount=5_000, channel="mtn", phone="+260961234008", idempotency_key="o", reference="Fern"
    )

    def found(**query: object) -> list[str]:
        page = own.bench.http.get("/sandbox/payments", params=query, headers=own.bearer)  # type: ignore[arg-type]  numbers too
        assert page.status_code == 200, page.text
        return [each["id"] for each in page.json()["data"]]

    assert found() == [alone.id, *(each.id for each in reversed(made))]
    first = own.get("/sandbox/payments?limit=3").json()
    second = own.get(f"/sandbox/payments?limit=4&older_than={first['data'][-1]['seq']}").json()
    assert [each["id"] for each in (*first["data"], *second["data"])] == found()
    for query, ids in (
        ({"search": made[5].id}, [made[5].id]), ({"search": "order 4 OF"}, [made[4].id]), ({"search": "%order"}, []),
        ({"search": "002"}, [made[2].id]), ({"search": "fern"}, [alone.id]), ({"search": alone.id}, [alone.id]),
        ({"status": "failed"}, [made[3].id, made[2].id]),
        ({"status": "succeeded", "provider": "airtel"}, [made[0].id]),
        ({"min_minor": 1400, "max_minor": 1500}, [made[5].id, made[4].id]),
        ({"since": "2026-01-09T00:00:00+02:00"}, [alone.id]),
        ({"until": "2026-01-06T00:00:00+02:00", "search": "008"}, []),
        ({"until": "2026-01-06T00:00:00+02:00", "search": "order 4 of"}, [made[4].id]),
    ):  # fmt: skip
        assert (query, found(**query)) == (query, ids)
