"""Keys and accounts: shown masked, made, rolled, revoked; what is one merchant's is no other's."""

from pathlib import Path

import pytest

from tests.conftest import INTENT, Shop, method_on, refusal
from workbench import Workbench
from workbench.errors import AuthenticationFailed, LiveKeyRefused, StoreRefused

PUBLISHED = ("publishable", "active")


class TestKeys:
    @pytest.mark.parametrize("kind", ["secret", "publishable"])
    def test_one_more_is_listed_masked_and_works_beside_the_others(self, shop: Shop, kind: str):
        made = shop.post("/v1/api_keys", {"kind": kind} if kind == "publishable" else None)
        body = made.json()
        assert (body["kind"], body["status"], made.headers["Cache-Control"]) == (kind, "active", "no-store")
        assert body["value"].startswith({"secret": "sk_test_", "publishable": "pk_test_"}[kind])
        found = shop.read("/v1/api_keys")["data"]
        assert [(each["kind"], each["status"]) for each in found[1:]] == [PUBLISHED, ("secret", "active")]
        masked = [f"{each[:8]}••••{each[-4:]}" for each in (body["value"], shop.publishable, shop.key)]
        assert [each["masked"] for each in found] == masked
        assert not any("value" in each for each in found)
        intent = shop.post("/v1/payment_intents", INTENT).json()
        path = f"/v1/payment_intents/{intent['id']}?client_secret={intent['client_secret']}"
        for key in (body["value"], shop.key):
            assert shop.get(path, key=key).status_code == 200
        trace = shop.get("/sandbox/trace").text
        assert not [each for each in (body["value"], shop.key, shop.publishable) if each in trace]

    @pytest.mark.parametrize("kind", ["secret", "publishable"])
    def test_a_rolled_key_ends_at_once(self, shop: Shop, kind: str):
        old = {"secret": shop.key, "publishable": shop.publishable}[kind]
        found = next(each for each in shop.read("/v1/api_keys")["data"] if each["kind"] == kind)
        new = shop.post(f"/v1/api_keys/{found['id']}/roll").json()
        assert (new["kind"], new["status"]) == (kind, "active")
        refused = shop.get("/v1/balance", key=old)
        assert refusal(refused)[:2] == (401, "key_rolled")
        assert "WWW-Authenticate" in refused.headers
        if kind == "secret":
            shop.key = new["value"]
        assert shop.get("/v1/balance", key=new["value"]).status_code == (200 if kind == "secret" else 403)
        statuses = {each["id"]: each["status"] for each in shop.read("/v1/api_keys")["data"]}
        assert (statuses[found["id"]], statuses[new["id"]]) == ("rolled", "active")
        assert refusal(shop.post(f"/v1/api_keys/{found['id']}/roll"))[:2] == (409, "key_not_active")
        assert refusal(shop.call("DELETE", f"/v1/api_keys/{found['id']}"))[:2] == (409, "key_not_active")

    def test_a_revoked_key_ends_at_once_and_the_last_secret_key_stays(self, shop: Shop):
        own, app = shop.read("/v1/api_keys")["data"][::-1]
        assert refusal(shop.call("DELETE", f"/v1/api_keys/{own['id']}"))[:2] == (409, "key_is_last")
        assert shop.call("DELETE", f"/v1/api_keys/{app['id']}").status_code == 200
        more = shop.post("/v1/api_keys").json()
        revoked = shop.call("DELETE", f"/v1/api_keys/{own['id']}", key=more["value"])
        assert (revoked.status_code, revoked.json()["status"]) == (200, "revoked")
        assert "value" not in revoked.json()
        assert refusal(shop.get("/v1/balance"))[:2] == (401, "key_revoked")
        assert refusal(shop.post("/v1/charges", {}))[:2] == (401, "key_revoked")
        assert refusal(shop.call("DELETE", f"/v1/api_keys/{more['id']}", key=more["value"]))[:2] == (409, "key_is_last")


def test_a_bench_goes_over_to_a_key_of_its_sandbox_and_to_no_other():
    with Workbench(seed=7) as bench:
        pay, held = bench.client, bench.secret_key
        made = pay.api_keys.create(kind="secret").value
        rows = len(bench.trace)
        for wrong in (f"{held}x", "sk_test_bad", "nonsense"):
            with pytest.raises(AuthenticationFailed, match="does not belong to this sandbox"):
                bench.use_key(wrong)
        with pytest.raises(LiveKeyRefused):
            bench.use_key("sk_live_bad")
        assert (bench.secret_key, len(bench.trace)) == (held, rows)
        (old,) = [each for each in pay.api_keys.each() if each.masked.endswith(held[-4:])]
        bench.use_key(made)
        pay.api_keys.roll(old.id)
        assert bench.secret_key == made
        with pytest.raises(AuthenticationFailed, match="use_key"):
            bench.use_key(held)
        assert pay.balance.retrieve()


def test_a_store_is_opened_again_with_the_keys_that_are_active(tmp_path: Path):
    store = tmp_path / "store.db"
    with Workbench(seed=7, store=store) as bench:
        keys = bench.client.api_keys
        rolled = {each.kind: keys.roll(each.id).value for each in sorted(keys.each(), key=lambda each: each.kind)}
    for _ in range(2):
        with Workbench(store=store) as bench:
            assert {"publishable": bench.publishable_key, "secret": bench.secret_key} == rolled
            bench.client.charges.create(amount=1, channel="mtn", phone="+260960000001", idempotency_key="k")
            assert bench.receiver.arrivals or _ == 1
    with pytest.raises(StoreRefused, match="made with another seed"):
        Workbench(seed=8, store=store)
    with Workbench(store=store) as bench:
        (published,) = [each for each in bench.client.api_keys.each() if (each.kind, each.status) == PUBLISHED]
        bench.client.api_keys.revoke(published.id)
    with Workbench(store=store) as bench:
        assert str(bench.publishable_key) == ""
        assert {each.id: each.status for each in bench.client.api_keys.each()}[published.id] == "revoked"


class TestAnotherAccount:
    def test_its_name_is_what_a_customer_reads(self, shop: Shop):
        phone = shop.new_number()
        shop.confirm(shop.intent(), phone)
        assert "\nto SHOP\n" in shop.bench.phone(phone).screen
        for name in ("", "  ", "x" * 41):
            assert refusal(shop.post("/sandbox/accounts", {"name": name}))[:2] == (400, "parameter_invalid")

    def test_nothing_of_one_is_found_by_another(self, shop: Shop):
        intent = shop.paid_intent()
        charge = shop.read(f"/v1/payment_intents/{intent}")["latest_charge"]
        refund = shop.post("/v1/refunds", {"charge": charge, "amount": 1}).json()["id"]
        hook = shop.post("/v1/webhook_endpoints", {"url": "http://127.0.0.1:9/hooks"}).json()["id"]
        shop.charge()
        shop.to_midnight()
        shop.advance(1)
        payout = shop.post("/v1/payouts", {"amount": 1, "currency": "ZMW"}).json()["id"]
        event = shop.read("/v1/events")["data"][0]["id"]
        delivery = shop.read("/v1/deliveries")["data"][0]["id"]
        key = shop.read("/v1/api_keys")["data"][0]["id"]
        other, before = Shop(shop.bench, shop.new_number), shop.events()
        objects = (f"payment_intents/{intent}", f"charges/{charge}", f"refunds/{refund}", f"payouts/{payout}",
                   f"events/{event}", f"webhook_endpoints/{hook}", f"deliveries/{delivery}")  # fmt: skip
        for path, body in {
            **dict.fromkeys([f"GET /v1/{each}" for each in objects]),
            f"POST /v1/payment_intents/{intent}/confirm": method_on("+260961234567"),
            f"POST /v1/payment_intents/{intent}/cancel": None,
            "POST /v1/refunds": {"charge": charge},
            "POST /v1/refunds ": {"payment_intent": intent},
            **dict.fromkeys([f"POST /v1/{each}/replay" for each in (f"events/{event}", f"deliveries/{delivery}")]),
            f"PATCH /v1/webhook_endpoints/{hook}": {"status": "disabled"},
            f"POST /v1/webhook_endpoints/{hook}/roll_secret": None,
            f"POST /v1/api_keys/{key}/roll": None,
            **dict.fromkeys([f"DELETE /v1/{each}" for each in (f"webhook_endpoints/{hook}", f"api_keys/{key}")]),
            f"POST /sandbox/webhook_endpoints/{hook}/faults": {"faults": []},
            "POST /sandbox/operator/query": {"charge": charge},
        }.items():
            refused = other.call(*path.split(), body)
            assert refused.status_code == 404, (path, refused.text)
        for name in ("payment_intents", "charges", "refunds", "payouts", "events", "webhook_endpoints", "deliveries"):
            assert other.read(f"/v1/{name}")["data"] == []
        made = [each.post("/v1/payment_intents", INTENT, Idempotency_Key="k").json()["id"] for each in (shop, other)]
        assert made[0] != made[1], "the same idempotency key is another key"
        assert other.read(f"/v1/refunds?charge={charge}")["data"] == []
        assert other.read(f"/v1/deliveries?event={event}")["data"] == []
        assert other.post("/v1/dead_letters/replay").json()["data"] == []
        assert (other.balance(), len(other.read("/v1/api_keys")["data"])) == ((0, 0, 0), 2)
        assert shop.events() == [*before, "payment_intent.created"]
        assert shop.status(f"/v1/webhook_endpoints/{hook}") == "enabled"

    def test_events_go_to_its_own_endpoints_alone_and_a_token_is_the_first_merchants(self, shop: Shop):
        before = len(shop.bench.receiver.arrivals)
        theirs = shop.bench.client.webhook_endpoints.create(url="http://127.0.0.1:9/hooks", enabled_events=["payout.*"])
        assert theirs.id not in shop.get("/sandbox/webhook_endpoints").text
        intent = shop.paid_intent()
        shop.advance(0)
        assert len(shop.bench.receiver.arrivals) == before
        assert shop.read("/v1/deliveries")["data"] == []
        body = {"email": "a@example.com", "password": "open sesame"}
        token = shop.post("/v1/auth/token", body).json()["access_token"]
        assert shop.get(f"/v1/payment_intents/{intent}", key=token).status_code == 404
