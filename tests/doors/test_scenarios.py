"""What can be asked to go wrong: by a header, by a script, by an outage; and how a sandbox is emptied."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.conftest import INTENT, Shop, charge_of
from workbench import Workbench

RETRYABLE = "requires_payment_method"


def test_what_is_slow_takes_ten_seconds_of_the_clock_in_which_what_is_due_happens_and_a_refusal_none():
    """In a handler the clock is being moved already, so it is not moved once more."""
    with Workbench(seed=7) as bench:
        key = {"Authorization": f"Bearer {bench.secret_key!s}", "Sandbox-Scenario": "slow"}
        answers = []

        @bench.receiver.on("charge.succeeded")
        def call_back(event: Any) -> None:  # noqa: ANN401  a webhook
            answers.append(bench.http.post(f"/v1/events/{event.id}/replay", headers=key).status_code)

        before = bench.clock.now_ms
        assert bench.http.post("/v1/payment_intents", json={}, headers=key).status_code == 400
        assert bench.clock.now_ms == before
        paid = bench.client.payment_intents.create(amount=1)
        bench.client.payment_intents.confirm(paid.id, phone="+260960000001", provider="mtn")
        answer = bench.http.post("/v1/payment_intents", json=INTENT, headers=key)
        assert (answer.status_code, answer.json()["created"] * 1000) == (200, before)
        assert bench.clock.now_ms == before + 10_000
        assert bench.client.payment_intents.retrieve(paid.id).status == "succeeded"
        assert answers == [200]
        bench.operator.script("+260961234567", ["slow"])
        for passed in (10_000, 0):
            before = bench.clock.now_ms
            bench.client.charges.create(amount=1, channel="mtn", phone="+260961234567", idempotency_key=f"{before}")
            assert bench.clock.now_ms == before + passed


def test_a_replayed_response_is_as_slow_as_it_is_asked_to_be(shop: Shop):
    goes_on_ms = 0 if shop.bench.clock.mode == "manual" else 5_000
    for scenario, passed_ms in (("slow", 10_000), ("slow", 10_000), ("", 0)):
        more = {"Sandbox_Scenario": scenario} if scenario else {}
        before_ms = shop.bench.clock.now_ms
        assert shop.post("/v1/payment_intents", INTENT, Idempotency_Key="order-1", **more).status_code == 200
        assert passed_ms <= shop.bench.clock.now_ms - before_ms <= passed_ms + goes_on_ms
    assert len(shop.read("/v1/payment_intents")["data"]) == 1


def script(shop: Shop, phone: str, *answers: str) -> Any:  # noqa: ANN401  an httpx response
    return shop.post("/sandbox/operator/script", {"phone": phone, "answers": list(answers)})


def outage(shop: Shop, provider: str, seconds: float) -> Any:  # noqa: ANN401  an httpx response
    return shop.post("/sandbox/operator/outage", {"provider": provider, "seconds": seconds})


def declined(shop: Shop, phone: str, **more: str) -> str | None:
    return shop.read(f"/v1/charges/{shop.charge(phone=phone, **more)}")["failure_code"]


class TestAScript:
    def test_answers_come_in_order_and_run_out_and_another_script_replaces_it(self, shop: Shop):
        phone = shop.new_number()
        answers = ["limit_reached", "approve", "payer_busy"]
        told = script(shop, phone, *answers)
        assert told.json() == {"phone": phone, "answers": answers, "object": "operator_script"}
        assert [declined(shop, phone) for _ in range(5)] == ["limit_reached", None, "payer_busy", None, None]
        script(shop, phone, *["limit_reached"] * 3)
        script(shop, phone, "wrong_pin", "payer_busy")
        assert declined(shop, phone) == "wrong_pin"
        assert script(shop, phone).json()["answers"] == []
        assert declined(shop, phone) is None

    def test_it_is_the_numbers_own_before_a_test_number_and_waits_behind_a_header_and_an_outage(self, shop: Shop):
        script(shop, "+260970000002", "approve")
        assert declined(shop, "+260960000002") == "insufficient_funds"
        assert [declined(shop, "+260970000002") for _ in range(2)] == [None, "insufficient_funds"]
        assert declined(shop, "+260960000002", Sandbox_Scenario="approve") is None
        for answer, code in (("server_error", 500), ("limit_reached", 402)):
            phone = shop.new_number("95")
            script(shop, phone, answer)
            assert declined(shop, phone, Sandbox_Scenario="approve") is None
            outage(shop, "zamtel", 10)
            assert declined(shop, phone) == "operator_unavailable"
            outage(shop, "zamtel", 0)
            body = charge_of(phone, channel="zamtel")
            assert [shop.post("/v1/charges", body).status_code for _ in range(2)] == [code, 200]

    def test_a_charge_runs_into_its_faults_and_one_that_is_refused_uses_none_up(self, shop: Shop):
        phone = shop.new_number()
        script(shop, phone, "conflict", "server_error", "server_error_after", "limit_reached", "slow")
        came, made = [], []
        for amount in (100, 100, -1, 100, 100, 100, 100):
            answer = shop.post("/v1/charges", charge_of(phone, amount))
            came.append((answer.status_code, answer.json().get("code", "succeeded")))
            made.append(len(shop.read("/v1/charges")["data"]))
        assert came == [
            (409, "idempotency_conflict"), (500, "service_failed"), (400, "amount_not_positive"),
            (500, "service_failed"), (402, "payment_declined"), (200, "succeeded"), (200, "succeeded"),
        ]  # fmt: skip
        assert made == [0, 0, 0, 1, 2, 3, 4]

    def test_an_intent_takes_from_a_script_too(self, shop: Shop):
        phone, intent = shop.new_number(), shop.intent()
        script(shop, phone, "server_error", "conflict", "insufficient_funds", "server_error_after", "approve")
        rings = "requires_action"
        for code, then in ((500, RETRYABLE), (409, RETRYABLE), (200, rings), (500, rings)):
            shop.advance(5)  # in which the answer came to what it says
            assert shop.status(f"/v1/payment_intents/{intent}") == RETRYABLE
            assert shop.confirm(intent, phone).status_code == code
            assert shop.status(f"/v1/payment_intents/{intent}") == then

    def test_a_scripted_failure_is_kept_for_its_key_and_a_conflict_is_not(self, shop: Shop):
        phone = shop.new_number()
        script(shop, phone, "conflict", "server_error", "server_error_after")
        body = charge_of(phone)
        came = [shop.post("/v1/charges", body, Idempotency_Key=key) for key in ("a", "a", "a", "b", "b", "c")]
        replayed = ["Idempotent-Replayed" in each.headers for each in came]
        assert [each.status_code for each in came] == [409, 500, 500, 500, 500, 200]
        assert replayed == [False, False, True, False, True, False]
        assert len(shop.read("/v1/charges")["data"]) == 2


class TestAnOutage:
    def down(self, shop: Shop) -> dict[str, int | None]:
        return {each["provider"]: each["down_until"] for each in shop.bench.operator.states()}

    def test_it_lasts_its_time(self, shop: Shop):
        now_s = shop.read("/sandbox/clock")["now_ms"] // 1000
        told = outage(shop, "ZAMTEL_ZMB", 120).json()
        assert told["provider"] == "zamtel"
        assert now_s + 120 <= told["down_until"] <= now_s + 125
        assert self.down(shop) == {"mtn": None, "airtel": None, "zamtel": told["down_until"]}
        zamtel, mtn = shop.new_number("95"), shop.new_number("96")
        assert (declined(shop, zamtel), declined(shop, mtn)) == ("operator_unavailable", None)
        intent = shop.intent()
        shop.confirm(intent, zamtel)
        shop.advance(1)
        assert shop.read(f"/v1/payment_intents/{intent}")["last_payment_error"]["code"] == "operator_unavailable"
        shop.advance(119)
        assert declined(shop, zamtel) is None
        assert {*self.down(shop).values()} == {None}

    def test_it_is_replaced_and_ended_early(self, shop: Shop):
        phone = shop.new_number("95")
        operator = shop.bench.operator
        operator.outage("zamtel", 1_000).outage("zamtel", 100)
        shop.advance(100)
        assert declined(shop, phone) is None
        operator.outage("zamtel", 1_000).outage("zamtel", 0)
        assert self.down(shop)["zamtel"] is None
        assert declined(shop, phone) is None


class TestReset:
    @pytest.fixture
    def shop(self, new_number: Callable[[], str]) -> Iterator[Shop]:
        """In a sandbox of its own, as the served one of the session is not this test's to empty."""
        with Workbench(seed=7) as bench:
            yield Shop(bench, new_number)

    def test_what_stays_and_what_goes(self, shop: Shop):
        refund = shop.post("/v1/refunds", {"charge": shop.charge()}, Sandbox_Scenario="limit_reached").json()
        shop.advance(10)
        intent = shop.paid_intent()
        hook = shop.post("/v1/webhook_endpoints", {"url": "http://127.0.0.1:9/hooks"}).json()["id"]
        shop.post("/sandbox/operator/script", {"phone": "+260961234567", "answers": ["limit_reached"]})
        shop.post("/sandbox/operator/outage", {"provider": "mtn", "seconds": 1_000})
        first = shop.post("/v1/payment_intents", INTENT, Idempotency_Key="k").json()["id"]
        ids = {each["id"] for each in shop.read("/v1/events?limit=100")["data"]} | {intent, first, refund["id"]}
        waiting, other = shop.new_number(), type(shop)(shop.bench, shop.new_number)
        shop.confirm(shop.intent(), waiting)
        other.charge()
        now_ms = shop.read("/sandbox/clock")["now_ms"]

        was = shop.post("/sandbox/reset")
        assert (was.status_code, was.json()["endpoints"], was.json()["object"]) == (200, [hook], "reset")
        for path in ("payment_intents", "charges", "refunds", "payouts", "events", "deliveries"):
            assert shop.read(f"/v1/{path}")["data"] == []
        assert shop.read("/sandbox/ledger/entries")["data"] == []
        empty = {"holds": True, "entries": 0, "head": "0" * 64, "object": "ledger"}
        assert shop.read("/sandbox/ledger/verify") == empty
        assert shop.balance() == (0, 0, 0)
        assert other.read("/v1/charges")["data"] == [], "one call empties it for everybody"
        (says,) = [each["description"] for each in shop.read("/openapi.json")["tags"] if each["name"] == "Sandbox"]
        assert "all its accounts" in says
        assert shop.read(f"/sandbox/phones/{waiting}")["state"] == "idle"
        assert [each["id"] for each in shop.read("/v1/webhook_endpoints")["data"]] == [hook]
        assert len(shop.read("/v1/api_keys")["data"]) == 2
        assert now_ms <= shop.read("/sandbox/clock")["now_ms"] < now_ms + 60_000

        again = shop.post("/v1/payment_intents", INTENT, Idempotency_Key="k")
        assert "Idempotent-Replayed" not in again.headers
        charge = shop.charge(phone="+260961234567")
        assert shop.status(f"/v1/charges/{charge}") == "succeeded"
        assert not ids & {again.json()["id"], charge, *(each["id"] for each in shop.read("/v1/events")["data"])}
        assert shop.read("/sandbox/ledger/verify")["entries"] == 1
        events = shop.events()
        shop.advance(400)
        assert shop.events() == events, "nothing falls due of the prompt that is gone"
