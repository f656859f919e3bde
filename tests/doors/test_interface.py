"""Every fact that the interface shows, section by section, on the wire and through both doors."""

import base64
import hashlib
import hmac
import itertools
import json
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import httpx
import pytest
from standardwebhooks import Webhook

from tests.doors.conftest import Wire, method
from workbench import Workbench, verify
from workbench.merchant.receiver import Arrival, Event

pytestmark = pytest.mark.socket

Exact = Callable[[httpx.Response], dict[str, Any]]
NewNumber = Callable[..., str]

CREDENTIALS = b'{"email": "ada@example.com", "password": "green"}'
INT32 = range(-(2**31), 2**31)
CHARGE_FIELDS = {"id": str, "status": str, "amount": int, "currency": str, "channel": str, "provider": str}
RETRY_SCHEDULE_S = (5, 300, 1800, 7200, 18000, 36000, 50400, 72000, 86400)


def content(response: httpx.Response) -> tuple[int, str]:
    return response.status_code, response.headers["content-type"]


def arrived(wire: Wire, object_id: str) -> list[Arrival]:
    """The webhooks about one object, in the order of their arrival."""
    return [each for each in wire.bench.receiver.arrivals if json.loads(each.body)["data"]["object"]["id"] == object_id]


class TestSection2Resources:
    def test_each_intent_is_created_from_the_four_shown_fields_with_its_own_id_and_client_secret(self, wire: Wire):
        one, other = wire.intent().json(), wire.intent().json()
        assert (one["currency"], one["payment_method_types"]) == ("ZMW", ["mobile_money"])
        for name in ("id", "client_secret"):
            assert type(one[name]) is str
            assert one[name]
            assert one[name] != other[name]

    def test_the_amount_of_an_intent_is_a_decimal_number(self, wire: Wire, exact: Exact):
        for amount in ("150", "150.0", "150.00", "0.01", "19.9", "9999999999.99"):
            echoed = exact(wire.intent(amount=amount))["amount"]
            assert type(echoed) is Decimal
            assert echoed == Decimal(amount)

    def test_the_description_is_free_text(self, wire: Wire):
        text = "Monstera “Deliciosa” №1 — 🌿"
        assert wire.intent(description=json.dumps(text)).json()["description"] == text

    def test_an_intent_is_confirmed_with_type_phone_and_provider_by_the_secret_key_alone(self, wire: Wire):
        for prefix, provider in (("96", "mtn"), ("97", "airtel"), ("95", "zamtel")):
            intent_id, phone = wire.intent().json()["id"], wire.new_number(prefix)
            response = wire.confirm(intent_id, phone, provider)
            assert response.status_code == 200
            assert response.json()["payment_method"]["mobile_money"]["provider"] == provider

    def test_a_charge_answers_the_six_shown_fields_and_echoes_the_six_that_were_asked(self, wire: Wire):
        response = wire.charge(reference='"order-77"')
        assert content(response) == (200, "application/json")
        charge = response.json()
        assert {name: type(charge[name]) for name in CHARGE_FIELDS} == CHARGE_FIELDS
        asked = {"amount": 15_000, "currency": "zmw", "channel": "mtn", "reference": "order-77"}
        assert {**charge, "status": "succeeded", **asked, "provider": "mtn"} == charge

    def test_a_plant_is_answered_without_the_id_that_was_sent_and_its_tag_is_optional(self, wire: Wire):
        assert wire.plant(id="7").json() == {"name": "Monstera", "tag": "climber"}
        assert wire.plant(tag=None).json() == {"name": "Monstera"}

    def test_a_new_plant_needs_its_id_and_name(self, wire: Wire):
        for field in ("id", "name"):
            response = wire.plant(**{field: None})
            assert response.status_code == 400
            assert field in response.json()["message"]

    def test_the_id_of_a_plant_is_an_int64(self, wire: Wire):
        numbers = {-(2**63): 200, 2**63 - 1: 200, 0: 200, -(2**63) - 1: 400, 2**63: 400, 10**30: 400}
        assert {number: wire.plant(id=str(number)).status_code for number in numbers} == numbers


class TestSection3States:
    def test_confirming_sends_a_ussd_prompt_that_asks_for_the_pin(self, wire: Wire):
        intent, phone = wire.intent(amount="150.00").json(), wire.new_number()
        assert wire.get(f"/sandbox/phones/{phone}").json()["waiting"] is False
        wire.confirm(intent["id"], phone, client_secret=intent["client_secret"])
        shown = wire.get(f"/sandbox/phones/{phone}").json()
        assert shown["waiting"] is True
        assert "K150.00" in shown["screen"]
        assert "PIN" in shown["screen"]

    def test_nothing_is_secured_before_the_pin(self, wire: Wire):
        intent_id, _ = wire.prompt()
        wire.bench.clock.advance(0)
        assert wire.status(intent_id) != "succeeded"
        assert wire.entries(intent_id) == []
        assert "payment_intent.succeeded" not in wire.types(intent_id)

    def test_after_the_pin_the_funds_are_secured_and_then_a_webhook_is_sent(self, wire: Wire):
        intent_id, phone = wire.prompt()
        wire.pin(phone)
        wire.bench.clock.advance(0)
        assert wire.status(intent_id) == "succeeded"
        kinds = [(row["kind"], row["what"]) for row in wire.trace() if row["payment"] == intent_id]
        entry = next(place for place, (kind, _) in enumerate(kinds) if kind == "entry")
        pin = next(place for place, (kind, what) in enumerate(kinds) if kind == "screen" and "Approved" in what)
        assert pin < entry < kinds.index(("webhook", "payment_intent.succeeded"))

    def test_the_ledger_takes_100_as_97_50_and_2_50_and_1_for_the_operator(self, wire: Wire):
        for payment in (wire.paid("100.00"), wire.charge(amount="10000").json()["id"]):
            assert wire.postings(payment) == {
                ("operator:mtn:float", "debit"): 10_000,
                ("operator:mtn:float", "credit"): 100,
                ("expense:operator_fee:mtn", "debit"): 100,
                ("merchant:plants:pending", "credit"): 9_750,
                ("income:merchant_fee", "credit"): 250,
            }

    def test_a_payment_is_one_entry_whose_debits_equal_its_credits(self, wire: Wire):
        payment = wire.paid("19.99")
        sums = wire.postings(payment)
        debits = sum(amount for (_, side), amount in sums.items() if side == "debit")
        assert len(wire.entries(payment)) == 1
        assert debits == sum(sums.values()) - debits


class TestSection4Endpoints:
    def test_each_shown_operation_is_a_post_that_answers_200_in_json(self, wire: Wire):
        made = wire.intent().json()
        confirmed = wire.confirm(made["id"], wire.new_number(), client_secret=made["client_secret"])
        for path, response in {
            "/v1/payment_intents": wire.intent(),
            "/v1/payment_intents/{id}/confirm": confirmed,
            "/v1/charges": wire.charge(),
            "/plants": wire.plant(),
            "/v1/auth/token": wire.post("/v1/auth/token", CREDENTIALS, {}),
        }.items():
            assert content(response) == (200, "application/json")
            assert response.request.method == "POST"
            assert response.request.url.path.startswith(path.partition("{")[0])

    def test_the_client_secret_is_a_means_of_confirming(self, wire: Wire):
        intent, phone = wire.intent().json(), wire.new_number()
        body = {"client_secret": json.dumps(intent["client_secret"]), "payment_method": method(f'"{phone}"')}
        response = wire.post(f"/v1/payment_intents/{intent['id']}/confirm", wire.written(body), wire.publishable)
        assert response.status_code == 200

    def test_a_refresh_is_a_post_that_answers_a_new_bearer_token(self, wire: Wire):
        token = wire.post("/v1/auth/token", CREDENTIALS, {}).json()
        body = wire.written({"refresh_token": json.dumps(token["refresh_token"])})
        fresh = wire.post("/v1/auth/refresh", body, {})
        assert content(fresh) == (200, "application/json")
        assert fresh.json()["access_token"] != token["access_token"]


class TestSection5Authentication:
    def test_test_keys_have_their_prefix(self, bench: Workbench):
        assert str(bench.secret_key).startswith("sk_test_")
        assert str(bench.publishable_key).startswith("pk_test_")

    def test_a_live_key_is_refused_and_nothing_live_is_touched(self, wire: Wire):
        before = wire.entries()
        for key in ("sk" + "_live_" + "x" * 24, "sk" + "_live" + "x" * 24):
            basic = {**wire.user(key), "Idempotency-Key": wire.new_key()}
            for path, headers in (("payment_intents", {"Authorization": f"Bearer {key}"}), ("charges", basic)):
                response = wire.post(f"/v1/{path}", b"{}", headers)
                assert (response.status_code, response.json()["code"]) == (401, "live_key_in_sandbox")
                assert "nothing live was touched" in response.json()["message"]
                assert key not in response.text
        assert wire.entries() == before

    def test_the_plant_sample_takes_a_bearer(self, wire: Wire):
        assert wire.post("/plants", b'{"id": 1, "name": "Monstera"}', wire.bearer).status_code == 200
        assert wire.post("/plants", b'{"id": 1, "name": "Monstera"}', wire.basic).status_code == 401
        assert wire.post("/plants", b'{"id": 1, "name": "Monstera"}', {}).status_code == 401

    def test_email_and_password_give_a_bearer_token(self, wire: Wire):
        token = wire.post("/v1/auth/token", CREDENTIALS, {}).json()
        assert (token["token_type"], token["expires_in"]) == ("Bearer", 86_400)
        headers = {"Authorization": f"Bearer {token['access_token']}"}
        assert wire.post("/plants", b'{"id": 1, "name": "Monstera"}', headers).status_code == 200
        assert wire.post("/v1/payment_intents", wire.intent().request.content, headers).status_code == 200


class TestSection6Events:
    def test_the_publishable_key_is_for_the_client_side(self, wire: Wire):
        assert wire.post("/v1/payment_intents", wire.intent().request.content, wire.publishable).status_code == 403

    def test_a_webhook_comes_after_the_pin_without_the_client_secret(self, wire: Wire):
        messages = arrived(wire, wire.paid())
        assert json.loads(messages[-1].body)["type"] == "payment_intent.succeeded"
        assert not any(b"client_secret" in each.body for each in messages)

    def test_the_signature_is_hmac_sha256_as_our_verify_and_the_published_library_have_it(self, wire: Wire):
        message, secrets = arrived(wire, wire.paid())[-1], wire.bench.receiver.secrets
        message_id, sent_s = message.headers["webhook-id"], int(message.headers["webhook-timestamp"])
        key = base64.b64decode(secrets[0].removeprefix("whsec_"))
        signed = f"{message_id}.{sent_s}.".encode() + message.body
        expected = "v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
        assert message.headers["webhook-signature"] == expected
        assert (
            Webhook(secrets[0]).sign(message_id, datetime.fromtimestamp(sent_s, UTC), message.body.decode()) == expected
        )
        assert verify(message.body, message.headers, secrets, now_s=sent_s) == message_id

    def test_a_failed_delivery_is_retried_with_backoff_and_then_given_up_as_undeliverable(self, wire: Wire):
        intent, receiver = wire.intent().json(), wire.bench.receiver
        intent_id = intent["id"]
        wire.bench.clock.advance(0)

        @receiver.on("payment_intent.requires_action")
        def refuse(event: Event) -> None:
            assert event.data.object["id"] != intent_id, "not today"

        wire.confirm(intent_id, wire.new_number(), client_secret=intent["client_secret"])
        wire.bench.clock.advance(days=4)
        wanted = ("webhook", "payment_intent.requires_action", intent_id)
        attempts = [row for row in wire.trace() if (row["kind"], row["what"], row["payment"]) == wanted]
        assert [row["result"][:3] for row in attempts] == ["500"] * 10
        moments = [datetime.fromisoformat(row["at"]) for row in attempts]
        waits_s = [(later - one).total_seconds() for one, later in itertools.pairwise(moments)]
        for wait_s, planned_s in zip(waits_s, RETRY_SCHEDULE_S, strict=True):
            assert 0.8 * planned_s <= wait_s <= 1.2 * planned_s + 1

        wire.bench.clock.advance(days=10)
        same = [each for each in arrived(wire, intent_id) if each.verdict == "failed"]
        assert len(same) == 10
        assert len({(each.headers["webhook-id"], each.body) for each in same}) == 1


class TestSection7Errors:
    def test_the_plant_sample_answers_400_with_an_error_and_a_message(self, wire: Wire):
        for body in (b'{"id": 1}', b'{"name": "Monstera"}', b'{"id": "1", "name": "a"}', b"{", b"[]"):
            response = wire.post("/plants", body, wire.bearer)
            assert content(response) == (400, "application/json")
            error = response.json()
            assert {name: type(each) for name, each in error.items()} == {"error": int, "message": str}
            assert error["error"] in INT32
            assert error["message"]

    def test_the_sandbox_produces_a_failure_on_demand(self, wire: Wire):
        response = wire.charge(phone='"+260960000002"')
        assert response.status_code == 402
        assert response.json()["decline_code"] == "insufficient_funds"

    def test_errors_of_payments_carry_the_documented_members_too(self, wire: Wire):
        error = wire.intent(amount="0").json()
        assert error["error"] == 400
        assert error["message"]


class TestSection8Limits:
    def test_a_bearer_token_lives_86400_seconds(self, wire: Wire):
        token = wire.post("/v1/auth/token", CREDENTIALS, {}).json()
        headers = {"Authorization": f"Bearer {token['access_token']}"}
        plant = b'{"id": 1, "name": "Monstera"}'
        wire.bench.clock.advance(86_390)
        assert wire.post("/plants", plant, headers).status_code == 200
        wire.bench.clock.advance(10)
        response = wire.post("/plants", plant, headers)
        assert (response.status_code, response.json()["code"]) == (401, "token_expired")


class TestSection9Versioning:
    def test_payments_are_under_v1_and_nowhere_else(self, wire: Wire):
        for path in ("/payment_intents", "/charges", "/v2/payment_intents", "/V1/charges"):
            assert wire.post(path, b"{}", wire.bearer).status_code == 404

    def test_the_plant_sample_describes_itself_and_asks_for_a_bearer_on_every_operation(self, wire: Wire):
        response = wire.get("/plants/openapi.json", {})
        assert content(response) == (200, "application/json")
        document = response.json()
        assert (document["openapi"], document["info"]["version"]) == ("3.1.0", "1.0.0")
        assert document["info"]["license"]["name"] == "MIT"
        assert document["servers"]
        scheme = document["components"]["securitySchemes"]["bearerAuth"]
        assert (scheme["type"], scheme["scheme"]) == ("http", "bearer")
        operations = [operation for methods in document["paths"].values() for operation in methods.values()]
        assert operations
        assert all(each.get("security", document["security"]) == [{"bearerAuth": []}] for each in operations)

    def test_its_description_shows_the_documented_fields(self, wire: Wire):
        document = wire.get("/plants/openapi.json", {}).json()
        schemas, create = document["components"]["schemas"], document["paths"]["/plants"]["post"]
        assert schemas["Plant"]["required"] == ["name"]
        types = {name: each["type"] for name, each in schemas["Plant"]["properties"].items()}
        assert types == {"name": "string", "tag": "string"}
        assert schemas["NewPlant"]["allOf"][1]["required"] == ["id"]
        assert schemas["NewPlant"]["allOf"][1]["properties"]["id"]["format"] == "int64"
        assert schemas["Error"]["required"] == ["error", "message"]
        code = schemas["Error"]["properties"]["error"]
        assert code == {"type": "integer", "format": "int32", "description": code["description"]}
        assert create["requestBody"]["required"] is True
        assert create["responses"].keys() >= {"200", "400"}
