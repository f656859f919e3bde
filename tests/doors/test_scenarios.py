"""What can be asked to go wrong: by a header, by a script, by an outage; and how a sandbox is emptied."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest

from workbench import Workbench
from workbench.domain.scenarios import ASKABLE

if TYPE_CHECKING:
    from tests.conftest import Shop

NewNumber = Callable[..., str]
RETRYABLE = "requires_payment_method"
FAILED = ["charge.failed", "payment_intent.payment_failed"]
PAID = ["payment_intent.processing", "charge.succeeded", "payment_intent.succeeded"]
ENDS: dict[str, tuple[int, str, str | None, list[str]]] = {
    "approve": (5, "succeeded", None, PAID),
    "insufficient_funds": (5, RETRYABLE, "insufficient_funds", [PAID[0], *FAILED]),
    "wrong_pin": (5, RETRYABLE, "wrong_pin", FAILED),
    "declined_by_customer": (5, RETRYABLE, "declined_by_customer", FAILED),
    "prompt_timeout": (300, RETRYABLE, "prompt_timeout", FAILED),
    "limit_reached": (5, RETRYABLE, "limit_reached", [PAID[0], *FAILED]),
    "payer_not_found": (1, RETRYABLE, "payer_not_found", FAILED),
    "payer_busy": (1, RETRYABLE, "payer_busy", FAILED),
    "operator_unavailable": (1, RETRYABLE, "operator_unavailable", FAILED),
    "late_success": (360, RETRYABLE, "prompt_timeout", [*FAILED, "charge.late_success", "payment_intent.late_success"]),
    "duplicate_answer": (5, "succeeded", None, PAID),
    "operator_unknown": (5, "processing", None, PAID[:1]),
}
"""Scenario → after how many seconds, the intent's status, why, and what is told after it was asked."""
PENDING = ("prompt_timeout", "late_success", "operator_unknown")
POSTS: dict[str, Callable[["Shop"], tuple[str, object]]] = {
    "/v1/payment_intents": lambda _: (
        "/v1/payment_intents", {"amount": 1, "currency": "ZMW", "payment_method_types": ["mobile_money"]}),
    "confirm": lambda shop: (f"/v1/payment_intents/{shop.intent()}/confirm", {"payment_method": {
        "type": "mobile_money", "mobile_money": {"phone": shop.new_number(), "provider": "mtn"}}}),
    "cancel": lambda shop: (f"/v1/payment_intents/{shop.intent()}/cancel", {}),
    "/v1/charges": lambda shop: ("/v1/charges", {
        "amount": 100, "currency": "zmw", "type": "mobile_money", "channel": "mtn", "phone": shop.new_number()}),
    "/v1/refunds": lambda shop: ("/v1/refunds", {"charge": shop.charge()}),
    "/v1/payouts": lambda _: ("/v1/payouts", {"amount": 1, "currency": "ZMW"}),
    "/v1/webhook_endpoints": lambda _: ("/v1/webhook_endpoints", {"url": "http://127.0.0.1:9/hooks"}),
    "roll_secret": lambda shop: (f"/v1/webhook_endpoints/{endpoint(shop)}/roll_secret", None),
    "/v1/api_keys": lambda _: ("/v1/api_keys", {}),
    "roll": lambda shop: (f"/v1/api_keys/{shop.post('/v1/api_keys', {}).json()['id']}/roll", None),
    "replay_event": lambda shop: (f"/v1/events/{event(shop)}/replay", None),
    "replay_dead_letters": lambda _: ("/v1/dead_letters/replay", None),
}  # fmt: skip
"""Every POST that can be asked to fail → how to call it with success."""
BY_POST = pytest.mark.parametrize("post", POSTS)


def endpoint(shop: "Shop") -> str:
    return str(shop.post("/v1/webhook_endpoints", {"url": "http://127.0.0.1:9/hooks"}).json()["id"])


def event(shop: "Shop") -> str:
    shop.intent()
    return str(shop.read("/v1/events")["data"][0]["id"])


def funded(shop: "Shop") -> None:
    shop.charge(10_000)
    shop.to_midnight()
    shop.advance(1)


def left_behind(shop: "Shop") -> list[int]:
    """How much there is of everything that a POST could have made."""
    paths = ("payment_intents", "charges", "refunds", "payouts", "events", "webhook_endpoints", "api_keys")
    return [len(shop.read(f"/v1/{path}?limit=100")["data"]) for path in paths]


def test_every_scenario_of_an_operator_has_its_row_here():
    assert set(ENDS) == set(ASKABLE)


class TestAPayment:
    @pytest.mark.parametrize("scenario", ENDS)
    def test_confirmed(self, shop: "Shop", scenario: str):
        after_s, status, failure, told = ENDS[scenario]
        intent = shop.intent()
        answer = shop.confirm(intent, shop.new_number(), Sandbox_Scenario=scenario)
        assert (answer.status_code, answer.json()["status"]) == (200, "requires_action")
        shop.advance(after_s)
        found = shop.read(f"/v1/payment_intents/{intent}")
        assert found["status"] == status
        assert (found["last_payment_error"] or {}).get("code") == failure
        assert shop.events() == ["payment_intent.created", "payment_intent.requires_action", *told]

    @pytest.mark.parametrize("scenario", ENDS)
    def test_charged(self, shop: "Shop", scenario: str):
        _, _, failure, _ = ENDS[scenario]
        body = POSTS["/v1/charges"](shop)[1]
        answer = shop.post("/v1/charges", body, Sandbox_Scenario=scenario)
        if scenario in PENDING:
            assert (answer.status_code, answer.json()["status"]) == (200, "pending")
        elif failure is None:
            assert (answer.status_code, answer.json()["status"]) == (200, "succeeded")
        else:
            declined = answer.json()
            assert (answer.status_code, declined["decline_code"]) == (402, failure)
            named = shop.read(f"/v1/charges/{declined['charge']}")
            assert (named["status"], named["failure_code"]) == ("failed", failure)
            assert named["failure_message"] in declined["detail"]

    def test_the_header_goes_before_the_number(self, shop: "Shop"):
        charge = shop.charge(phone="+260960000002", Sandbox_Scenario="approve")
        assert shop.status(f"/v1/charges/{charge}") == "succeeded"


class TestWhatEveryPostMayRunInto:
    @BY_POST
    def test_a_conflict_changes_nothing_and_is_not_kept(self, shop: "Shop", post: str):
        funded(shop)
        path, body = POSTS[post](shop)
        before = left_behind(shop)
        refused = shop.post(path, body, Sandbox_Scenario="conflict", Idempotency_Key="k")
        assert (refused.status_code, refused.json()["code"]) == (409, "idempotency_conflict")
        assert left_behind(shop) == before
        again = shop.post(path, body, Idempotency_Key="k")
        assert (again.status_code, "Idempotent-Replayed" in again.headers) == (200, False)

    @BY_POST
    def test_a_failure_before_the_effect_is_kept_and_changes_nothing(self, shop: "Shop", post: str):
        funded(shop)
        path, body = POSTS[post](shop)
        before = left_behind(shop)
        failed = shop.post(path, body, Sandbox_Scenario="server_error", Idempotency_Key="k")
        assert (failed.status_code, failed.json()["code"]) == (500, "service_failed")
        replayed = shop.post(path, body, Idempotency_Key="k")
        assert (replayed.status_code, replayed.headers["Idempotent-Replayed"]) == (500, "true")
        assert replayed.content == failed.content
        assert left_behind(shop) == before
        assert shop.post(path, body, Idempotency_Key="another").status_code == 200

    @BY_POST
    def test_a_failure_after_the_effect_leaves_it_and_is_kept(self, shop: "Shop", post: str):
        funded(shop)
        path, body = POSTS[post](shop)
        before = left_behind(shop)
        failed = shop.post(path, body, Sandbox_Scenario="server_error_after", Idempotency_Key="k")
        assert failed.status_code == 500
        after = left_behind(shop)
        assert (after != before) == (post not in ("roll_secret", "replay_event", "replay_dead_letters"))
        replayed = shop.post(path, body, Idempotency_Key="k")
        assert (replayed.status_code, replayed.headers["Idempotent-Replayed"]) == (500, "true")
        assert replayed.content == failed.content
        assert left_behind(shop) == after

    def test_a_failure_that_was_kept_and_forgotten_can_be_kept_again(self, shop: "Shop"):
        path, body = POSTS["/v1/payment_intents"](shop)
        for _ in range(2):
            assert shop.post(path, body, Idempotency_Key="k", Sandbox_Scenario="server_error").status_code == 500
            shop.advance(86_400)
        assert shop.post(path, body, Idempotency_Key="k").status_code == 200

    @pytest.mark.parametrize("post", sorted({*POSTS} - {"/v1/webhook_endpoints"}))
    def test_an_unknown_name_is_refused(self, shop: "Shop", post: str):
        funded(shop)
        path, body = POSTS[post](shop)
        before = left_behind(shop)
        for asked in ("", "Approve", "nothing_of_the_kind", "bank_refused" if post != "/v1/payouts" else "approve"):
            refused = shop.post(path, body, Sandbox_Scenario=asked)
            assert (refused.status_code, refused.json()["code"]) == (400, "scenario_unknown"), asked
            assert "conflict" in refused.json()["detail"]
        assert left_behind(shop) == before

    @pytest.mark.parametrize(
        ("method", "path"),
        [
            ("GET", "/v1/payment_intents"), ("GET", "/v1/balance"), ("GET", "/sandbox/clock"), ("POST", "/plants"),
            ("DELETE", "/v1/webhook_endpoints/we_x"), ("PATCH", "/v1/webhook_endpoints/we_x"),
            ("POST", "/sandbox/reset"), ("POST", "/v1/auth/token"),
        ],
    )  # fmt: skip
    @pytest.mark.parametrize("scenario", ["server_error", "approve"])
    def test_where_none_is_offered_it_is_refused(self, shop: "Shop", method: str, path: str, scenario: str):
        refused = shop.call(method, path, Sandbox_Scenario=scenario)
        assert (refused.status_code, refused.json().get("code", "scenario_unknown")) == (400, "scenario_unknown")
        assert "takes none" in refused.json()["message"]


class TestSlow:
    def test_in_process_ten_seconds_go_by_and_what_is_due_happens(self):
        with Workbench(seed=7) as bench:
            key = {"Authorization": f"Bearer {bench.secret_key!s}"}
            before = bench.clock.now_ms
            paid = bench.client.payment_intents.create(amount=1)
            bench.client.payment_intents.confirm(paid.id, phone="+260960000001", provider="mtn")
            body = {"amount": 1, "currency": "ZMW", "payment_method_types": ["mobile_money"]}
            answer = bench.http.post("/v1/payment_intents", json=body, headers={**key, "Sandbox-Scenario": "slow"})
            assert answer.status_code == 200
            assert bench.clock.now_ms == before + 10_000
            assert bench.client.payment_intents.retrieve(paid.id).status == "succeeded"
            assert answer.json()["created"] * 1000 == before

    def test_a_script_can_ask_for_it(self):
        with Workbench(seed=7) as bench:
            bench.operator.script("+260961234567", ["slow"])
            for passed in (10_000, 0):
                before = bench.clock.now_ms
                key = f"after {before}"
                bench.client.charges.create(amount=1, channel="mtn", phone="+260961234567", idempotency_key=key)
                assert bench.clock.now_ms == before + passed

    def test_one_that_is_refused_is_not_slow(self):
        with Workbench(seed=7) as bench:
            before = bench.clock.now_ms
            key = {"Authorization": f"Bearer {bench.secret_key!s}", "Sandbox-Scenario": "slow"}
            assert bench.http.post("/v1/payment_intents", json={}, headers=key).status_code == 400
            assert bench.clock.now_ms == before

    def test_a_handler_may_call_slowly(self):
        """The clock is being moved already, so it is not moved once more."""
        with Workbench(seed=7) as bench:
            answers = []
            key = {"Authorization": f"Bearer {bench.secret_key!s}", "Sandbox-Scenario": "slow"}

            @bench.receiver.on("charge.succeeded")
            def call_back(event: Any) -> None:  # noqa: ANN401  a webhook
                path = f"/v1/events/{event.id}/replay"
                answers.append(bench.http.post(path, headers=key).status_code)

            bench.client.charges.create(amount=1, channel="mtn", phone="+260960000001", idempotency_key="k")
            bench.clock.advance(1)
            assert answers == [200]


class TestTheOperator:
    def script(self, shop: "Shop", phone: str, *answers: str) -> Any:  # noqa: ANN401  an httpx response
        return shop.post("/sandbox/operator/script", {"phone": phone, "answers": list(answers)})

    def declined(self, shop: "Shop", phone: str) -> str | None:
        return shop.read(f"/v1/charges/{shop.charge(phone=phone)}")["failure_code"]

    def test_answers_come_in_order_and_run_out(self, shop: "Shop"):
        phone = shop.new_number()
        told = self.script(shop, phone, "limit_reached", "approve", "payer_busy")
        assert told.json() == {
            "phone": phone, "answers": ["limit_reached", "approve", "payer_busy"], "object": "operator_script",
        }  # fmt: skip
        came = [self.declined(shop, phone) for _ in range(5)]
        assert came == ["limit_reached", None, "payer_busy", None, None]

    def test_a_script_replaces_the_one_before_and_an_empty_one_forgets_it(self, shop: "Shop"):
        phone = shop.new_number()
        self.script(shop, phone, *["limit_reached"] * 3)
        self.script(shop, phone, "wrong_pin", "payer_busy")
        assert self.declined(shop, phone) == "wrong_pin"
        assert self.script(shop, phone).json()["answers"] == []
        assert self.declined(shop, phone) is None

    def test_it_is_the_number_s_own_and_goes_before_a_test_number(self, shop: "Shop"):
        self.script(shop, "+260970000002", "approve")
        assert self.declined(shop, "+260960000002") == "insufficient_funds"
        assert [self.declined(shop, "+260970000002") for _ in range(2)] == [None, "insufficient_funds"]

    def test_an_intent_takes_from_it_too(self, shop: "Shop"):
        phone, intent = shop.new_number(), shop.intent()
        self.script(shop, phone, "insufficient_funds", "approve")
        for status in (RETRYABLE, "succeeded"):
            assert shop.confirm(intent, phone).status_code == 200
            shop.advance(5)
            assert shop.status(f"/v1/payment_intents/{intent}") == status

    def test_a_header_uses_no_answer_up(self, shop: "Shop"):
        phone = shop.new_number()
        self.script(shop, phone, "limit_reached")
        shop.charge(phone=phone, Sandbox_Scenario="approve")
        assert self.declined(shop, phone) == "limit_reached"

    @pytest.mark.parametrize(
        ("body", "code", "param"),
        [
            ({"phone": "0961234567", "answers": []}, "phone_invalid", "phone"),
            ({"phone": "+260981234567", "answers": []}, "phone_without_wallet", "phone"),
            ({"phone": "+260961234567", "answers": ["approve", "person"]}, "scenario_unknown", "answers"),
            ({"phone": "+260961234567", "answers": ["bank_refused"]}, "scenario_unknown", "answers"),
            ({"phone": "+260961234567", "answers": ["approve"] * 101}, "parameter_invalid", "answers"),
            ({"phone": "+260961234567"}, "parameter_missing", "answers"),
        ],
        ids=range(6),
    )
    def test_a_script_that_is_none(self, shop: "Shop", body: object, code: str, param: str):
        refused = shop.post("/sandbox/operator/script", body)
        assert (refused.status_code, refused.json()["code"], refused.json()["param"]) == (400, code, param)

    def test_a_charge_runs_into_a_scripted_fault_and_the_script_goes_on(self, shop: "Shop"):
        phone = shop.new_number()
        self.script(shop, phone, "conflict", "server_error", "server_error_after", "limit_reached", "slow")
        body = {"amount": 100, "currency": "zmw", "type": "mobile_money", "channel": "mtn", "phone": phone}
        came, made = [], []
        for _ in range(6):
            answer = shop.post("/v1/charges", body)
            came.append((answer.status_code, answer.json().get("code", "succeeded")))
            made.append(len(shop.read("/v1/charges")["data"]))
        assert came == [
            (409, "idempotency_conflict"), (500, "service_failed"), (500, "service_failed"),
            (402, "payment_declined"), (200, "succeeded"), (200, "succeeded"),
        ]  # fmt: skip
        assert made == [0, 0, 1, 2, 3, 4]
        newest_first = [each["failure_code"] for each in shop.read("/v1/charges")["data"]]
        assert newest_first == [None, None, "limit_reached", None]

    def test_a_confirm_runs_into_a_scripted_fault(self, shop: "Shop"):
        phone, intent = shop.new_number(), shop.intent()
        self.script(shop, phone, "server_error", "conflict", "server_error_after")
        waits, rings = "requires_payment_method", "requires_action"
        for status, then in ((500, waits), (409, waits), (500, rings)):
            assert shop.confirm(intent, phone).status_code == status
            assert shop.status(f"/v1/payment_intents/{intent}") == then

    def test_a_scripted_failure_is_kept_for_its_key_and_a_conflict_is_not(self, shop: "Shop"):
        phone = shop.new_number()
        self.script(shop, phone, "conflict", "server_error", "server_error_after")
        body = {"amount": 100, "currency": "zmw", "type": "mobile_money", "channel": "mtn", "phone": phone}
        came = [shop.post("/v1/charges", body, Idempotency_Key=key) for key in ("a", "a", "a", "b", "b", "c")]
        replayed = ["Idempotent-Replayed" in each.headers for each in came]
        assert [each.status_code for each in came] == [409, 500, 500, 500, 500, 200]
        assert replayed == [False, False, True, False, True, False]
        assert len(shop.read("/v1/charges")["data"]) == 2

    def test_a_request_that_is_refused_uses_no_fault_up(self, shop: "Shop"):
        phone = shop.new_number()
        self.script(shop, phone, "server_error_after")
        body = {"amount": -1, "currency": "zmw", "type": "mobile_money", "channel": "mtn", "phone": phone}
        assert shop.post("/v1/charges", body).status_code == 400
        assert shop.post("/v1/charges", {**body, "amount": 100}).status_code == 500

    def test_a_scripted_fault_waits_behind_a_header_and_an_outage(self, shop: "Shop"):
        phone = shop.new_number("95")
        self.script(shop, phone, "server_error")
        assert shop.charge(phone=phone, Sandbox_Scenario="approve")
        self.outage(shop, "zamtel", 10)
        assert self.declined(shop, phone) == "operator_unavailable"
        self.outage(shop, "zamtel", 0)
        body = {"amount": 100, "currency": "zmw", "type": "mobile_money", "channel": "zamtel", "phone": phone}
        assert [shop.post("/v1/charges", body).status_code for _ in range(2)] == [500, 200]

    def test_no_script_is_heard_where_the_header_alone_counts(self):
        with Workbench(seed=7, gaps={"failure_triggers": "header"}) as bench:
            bench.operator.script("+260961234567", ["server_error"])
            paid = bench.client.charges.create(amount=1, channel="mtn", phone="+260961234567", idempotency_key="k")
            assert paid.status == "succeeded"

    def outage(self, shop: "Shop", provider: str, seconds: float) -> Any:  # noqa: ANN401  an httpx response
        return shop.post("/sandbox/operator/outage", {"provider": provider, "seconds": seconds})

    def test_an_outage_lasts_its_time(self, shop: "Shop"):
        now_s = shop.read("/sandbox/clock")["now_ms"] // 1000
        told = self.outage(shop, "ZAMTEL_ZMB", 120).json()
        assert told["provider"] == "zamtel"
        assert now_s + 120 <= told["down_until"] <= now_s + 125
        zamtel, mtn = shop.new_number("95"), shop.new_number("96")
        assert (self.declined(shop, zamtel), self.declined(shop, mtn)) == ("operator_unavailable", None)
        intent = shop.intent()
        shop.confirm(intent, zamtel)
        shop.advance(1)
        assert shop.read(f"/v1/payment_intents/{intent}")["last_payment_error"]["code"] == "operator_unavailable"
        shop.advance(119)
        assert self.declined(shop, zamtel) is None

    def test_an_outage_is_replaced_and_ended_early(self, shop: "Shop"):
        phone = shop.new_number("95")
        self.outage(shop, "zamtel", 1_000)
        self.outage(shop, "zamtel", 100)
        shop.advance(100)
        assert self.declined(shop, phone) is None
        self.outage(shop, "zamtel", 1_000)
        assert self.outage(shop, "zamtel", 0).json()["down_until"] is None
        assert self.declined(shop, phone) is None

    def test_a_script_waits_behind_an_outage(self, shop: "Shop"):
        phone = shop.new_number("95")
        self.script(shop, phone, "limit_reached")
        self.outage(shop, "zamtel", 10)
        assert self.declined(shop, phone) == "operator_unavailable"
        self.outage(shop, "zamtel", 0)
        assert self.declined(shop, phone) == "limit_reached"

    @pytest.mark.parametrize(
        ("provider", "seconds", "param"),
        [("vodafone", 1, "provider"), ("mtn", -1, "seconds"), ("mtn", 1e9, "seconds"), ("mtn", 0.0001, "seconds")],
    )
    def test_an_outage_that_is_none(self, shop: "Shop", provider: str, seconds: float, param: str):
        refused = self.outage(shop, provider, seconds)
        assert (refused.status_code, refused.json()["param"]) == (400, param)

    def test_the_operator_tells_when_it_is_asked(self, shop: "Shop"):
        charge = shop.charge(phone="+260960000012")
        assert shop.status(f"/v1/charges/{charge}") == "pending"
        told = shop.post("/sandbox/operator/query", {"charge": charge})
        assert (told.status_code, told.json()["status"], told.json()["id"]) == (200, "succeeded", charge)
        again = shop.post("/sandbox/operator/query", {"charge": charge})
        assert (again.status_code, again.json()["code"], again.json()["current"]) == (
            409,
            "nothing_to_ask",
            "succeeded",
        )
        unknown = shop.post("/sandbox/operator/query", {"charge": "ch_x"})
        assert (unknown.status_code, unknown.json()["param"]) == (404, "charge")


class TestReset:
    @pytest.fixture(params=["in_process", "served"])
    def shop(
        self,
        request: pytest.FixtureRequest,
        serving: Any,  # noqa: ANN401  a fixture
        new_shop: Callable[[Workbench], "Shop"],
    ) -> "Iterator[Shop]":
        """In a sandbox of its own, as the served one of the session is not this test's to empty."""
        with ExitStack() as closing:
            if request.param == "served":
                server = closing.enter_context(serving("--port", "0", "--json"))
                bench = closing.enter_context(Workbench.connect(**server.address))
            else:
                bench = closing.enter_context(Workbench(seed=7))
            yield new_shop(bench)

    def test_what_stays_and_what_goes(self, shop: "Shop"):
        refund = shop.post("/v1/refunds", {"charge": shop.charge()}, Sandbox_Scenario="limit_reached").json()
        shop.advance(10)
        intent, hook = shop.paid_intent(), endpoint(shop)
        shop.post("/sandbox/operator/script", {"phone": "+260961234567", "answers": ["limit_reached"]})
        shop.post("/sandbox/operator/outage", {"provider": "mtn", "seconds": 1_000})
        body = POSTS["/v1/payment_intents"](shop)[1]
        first = shop.post("/v1/payment_intents", body, Idempotency_Key="k").json()["id"]
        ids = {each["id"] for each in shop.read("/v1/events?limit=100")["data"]} | {intent, first, refund["id"]}
        now_ms = shop.read("/sandbox/clock")["now_ms"]

        was = shop.post("/sandbox/reset")
        assert (was.status_code, was.json()["endpoints"], was.json()["object"]) == (200, [hook], "reset")
        for path in ("payment_intents", "charges", "refunds", "payouts", "events", "deliveries"):
            assert shop.read(f"/v1/{path}")["data"] == []
        assert shop.read("/sandbox/ledger/entries")["data"] == []
        assert shop.read("/sandbox/ledger/verify") == {
            "holds": True, "entries": 0, "head": "0" * 64, "object": "ledger",
        }  # fmt: skip
        assert shop.balance() == (0, 0, 0)
        assert [each["id"] for each in shop.read("/v1/webhook_endpoints")["data"]] == [hook]
        assert len(shop.read("/v1/api_keys")["data"]) == 2
        assert now_ms <= shop.read("/sandbox/clock")["now_ms"] < now_ms + 60_000

        again = shop.post("/v1/payment_intents", body, Idempotency_Key="k")
        assert "Idempotent-Replayed" not in again.headers
        charge = shop.charge(phone="+260961234567")
        assert shop.status(f"/v1/charges/{charge}") == "succeeded"
        assert not ids & {again.json()["id"], charge, *(each["id"] for each in shop.read("/v1/events")["data"])}
        assert shop.read("/sandbox/ledger/verify")["entries"] == 1

    def test_the_panel_is_of_all_accounts(self, shop: "Shop"):
        """It belongs to whoever runs the sandbox: one call empties it for everybody, and its page says so."""
        other = type(shop)(shop.bench, shop.new_number)
        other.charge()
        assert shop.read("/sandbox/ledger/verify")["entries"] == 1
        assert shop.post("/sandbox/reset").status_code == 200
        assert other.read("/v1/charges")["data"] == []
        (says,) = [each["description"] for each in shop.read("/openapi.json")["tags"] if each["name"] == "Sandbox"]
        assert "all its accounts" in says

    def test_a_prompt_is_gone_and_nothing_falls_due_of_it(self, shop: "Shop"):
        phone = shop.new_number()
        shop.confirm(shop.intent(), phone)
        shop.post("/sandbox/reset")
        assert shop.read(f"/sandbox/phones/{phone}")["state"] == "idle"
        shop.advance(days=5)
        assert shop.events() == []

    def test_a_delivery_that_is_under_way_is_let_go(self):
        with Workbench(seed=7) as bench:
            key = {"Authorization": f"Bearer {bench.secret_key!s}"}

            @bench.receiver.on("payment_intent.created")
            def empty(event: object) -> None:
                del event
                assert bench.http.post("/sandbox/reset", headers=key).status_code == 200

            bench.client.payment_intents.create(amount=1)
            bench.clock.advance(days=5)
            assert bench.http.get("/v1/deliveries", headers=key).json()["data"] == []
            assert len(bench.receiver.arrivals) == 1
            bench.client.charges.create(amount=1, channel="mtn", phone="+260960000001", idempotency_key="k")
            assert [each.type for each in bench.receiver.events][-1] == "charge.succeeded"
