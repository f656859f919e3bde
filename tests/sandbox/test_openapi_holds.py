"""The description against what the sandbox does: real answers fit their schemas, and the two agree on what is valid."""

import json
import re
import sqlite3
from base64 import b64encode
from collections.abc import Callable, Iterator
from decimal import Decimal
from functools import cache, cached_property, partial
from pathlib import Path
from typing import Any

import httpx
import pytest
from jsonschema import Draft202012Validator, validators

from tests.conftest import method_on as method_of
from workbench import Workbench
from workbench.domain.catalogue import CODES
from workbench.domain.gaps import REGISTER
from workbench.domain.masking import mask
from workbench.domain.webhooks import EVENT_TYPES
from workbench.domain.wire.base import View
from workbench.domain.wire.sandbox_controls import DASHBOARD
from workbench.sandbox import controls, exchange, operations
from workbench.sandbox.exchange import Responder
from workbench.sandbox.messages import Request
from workbench.sandbox.openapi import document as description

Schema = dict[str, Any]

TABLE = (*operations.OPERATIONS, *controls.OPERATIONS)
HOST = "http://merchant.localhost"
REQUESTS = description.parts()["requests"]
EXAMPLES = Path(description.__file__).with_name(description.EXAMPLES)
PHONE = "+260961000001"
"""An unlisted number: a handset that waits for a person."""


class Story:
    """Calls as a backend makes them, each kept with its answer."""

    def __init__(self, bench: Workbench) -> None:
        self.bench = bench
        self.seen: list[tuple[operations.Operation, httpx.Response]] = []
        self._keys = 0
        gaps = bench._engine.store.gaps  # type: ignore[union-attr]  # noqa: SLF001  it is in process
        table = (*(row for row in operations.in_force(gaps) if not row.gone), *controls.OPERATIONS)
        self.routes = [(row, re.compile(re.sub(r"\{\w+\}", "[^/]+", row.path))) for row in table]

    @cached_property
    def document(self) -> Schema:
        return self.bench.http.get("/openapi.json").json()

    def call(self, method: str, path: str, body: object = None, **headers: str) -> Any:  # noqa: ANN401  JSON is of any type
        self._keys += 1
        if method == "POST" and path.startswith("/v1") and "auth" not in path:
            headers = {"Idempotency-Key": f"key-{self._keys}", **headers}
        basic = path.startswith("/v1/charges") and method == "POST"
        key = headers.pop("key", str(self.bench.secret_key))
        auth = httpx.BasicAuth(key, "") if basic else None
        bearer = {} if basic else {"Authorization": f"Bearer {key}"}
        content = body if body is None or isinstance(body, bytes) else json.dumps(body)
        typed = {} if body is None else {"Content-Type": "application/json"}
        response = self.bench.http.request(
            method, path, content=content, headers={**typed, **bearer, **headers}, auth=auth
        )
        row = next(
            row for row, route in self.routes if row.method == method and route.fullmatch(path.partition("?")[0])
        )
        self.seen.append((row, response))
        return response.json()

    def get(self, path: str) -> Any:  # noqa: ANN401  JSON is of any type
        return self.call("GET", path)

    def post(self, path: str, body: object = None, **headers: str) -> Any:  # noqa: ANN401  JSON is of any type
        return self.call("POST", path, body, **headers)

    def break_down(self, row: operations.Operation, fault: Exception) -> None:
        """The operation fails in a way of its own, as served: in process a bug is raised."""

        def bug(*_: object, **__: object) -> None:
            raise fault

        key, own = str(self.bench.secret_key), f"{row.path} {fault}"
        auth = f"Basic {b64encode(f'{key}:'.encode()).decode()}" if row.schemes == operations.BASIC else f"Bearer {key}"
        request = Request(
            method=row.method, path=at(row), path_params=ids_of(row),
            headers={"Authorization": auth, "Content-Type": "application/json", "Idempotency-Key": own},
            body=b"" if row.body is None else json.dumps(example(row)).encode(),
        )  # fmt: skip
        store = self.bench._engine.store  # type: ignore[union-attr]  # noqa: SLF001  it is in process
        answer = Responder(store, raise_bugs=False).respond(request, row._replace(run=bug))
        headers = {**answer.headers, "Content-Type": answer.content_type}
        self.seen.append((row, httpx.Response(answer.status, headers=headers, content=answer.body)))

    def errors(self, schema: Schema | str, body: Any) -> list[str]:  # noqa: ANN401  JSON is of any type
        """What is wrong with a body by a schema of the description, or the component of a name."""
        schema = {"$ref": f"#/components/schemas/{schema}"} if isinstance(schema, str) else schema
        validator = Draft202012Validator({**schema, "components": self.document["components"]})
        return [f"{list(error.path)}: {error.message}" for error in validator.iter_errors(body)]

    def answer_of(self, row: operations.Operation, response: httpx.Response) -> Schema:
        """What the description says of this answer; a reference is followed."""
        responses = self.document["paths"][row.path][row.method.lower()]["responses"]
        found = responses[str(response.status_code)]
        if "$ref" in found:
            found = self.document["components"]["responses"][found["$ref"].rpartition("/")[2]]
        return found


def by_sqlite(code: int) -> sqlite3.Error:
    """An error as SQLite raises it."""
    error = sqlite3.OperationalError("as SQLite words it")
    error.sqlite_errorcode = code
    return error


def body_of(name: str, **others: object) -> dict[str, Any]:
    """The first example of a struct, with other values."""
    shown = next(iter(REQUESTS[name].values()))
    return {**shown["value"], **others}


def example(row: operations.Operation) -> dict[str, Any] | None:
    """A body that the operation takes."""
    return body_of(row.body.__name__) if row.body else None


def ids_of(row: operations.Operation) -> dict[str, str]:
    """What stands in the operation's path: ids that there are not."""
    return {name: PHONE if name == "phone" else "none" for name in re.findall(r"\{(\w+)\}", row.path)}


def at(row: operations.Operation) -> str:
    return row.path.format(**ids_of(row))


def play_intents(story: Story) -> None:
    intent = story.post("/v1/payment_intents", body_of("CreatePaymentIntent"))
    path = f"/v1/payment_intents/{intent['id']}"
    story.post(f"{path}/confirm", body_of("ConfirmPaymentIntent"))
    story.get(path)
    story.post("/sandbox/clock/advance", {"seconds": 60})
    story.post(f"{path}/cancel", {})
    failing = story.post("/v1/payment_intents", body_of("CreatePaymentIntent", amount=20.5))
    story.post(f"/v1/payment_intents/{failing['id']}/confirm", method_of("+260960000002"))
    story.post("/sandbox/clock/advance", {"seconds": 60})
    story.post(f"/v1/payment_intents/{failing['id']}/cancel", body_of("CancelPaymentIntent"))
    late = story.post("/v1/payment_intents", body_of("CreatePaymentIntent"))
    story.post(f"/v1/payment_intents/{late['id']}/confirm", method_of("+260960000010"))
    story.post("/sandbox/clock/advance", {"seconds": 600})
    for given, body in (("input", {"text": "1234"}), ("cancel", None), ("ignore", None)):
        asked = story.post("/v1/payment_intents", body_of("CreatePaymentIntent"))
        story.post(f"/v1/payment_intents/{asked['id']}/confirm", method_of(PHONE))
        story.get(f"/sandbox/phones/{PHONE}")
        story.post(f"/sandbox/phones/{PHONE}/{given}", body)
    story.get("/v1/payment_intents?limit=3")
    new = story.post("/v1/payment_intents", body_of("CreatePaymentIntent"))
    story.get(f"/sandbox/payments/{new['id']}")
    story.get("/sandbox/payments/pi_none")
    story.get("/sandbox/payments?status=failed,new&provider=mtn&min_minor=1&max_minor=9000&since=2026-01-05T06:00:00Z")
    sent = story.get("/sandbox/requests?limit=1&method=POST&status=2&search=payment")["data"][0]["id"]
    story.get(f"/sandbox/requests/{sent}")
    story.get(f"/sandbox/requests/{sent}/code?base_url=http://127.0.0.1:4242")
    story.get("/sandbox/requests/req_none/code")
    story.get("/sandbox/requests/req_none")
    story.get("/sandbox/requests?status=")


def play_charges(story: Story) -> None:
    charge = story.post("/v1/charges", body_of("CreateCharge"))
    story.get(f"/v1/charges/{charge['id']}")
    story.get("/v1/charges")
    story.post("/v1/charges", body_of("CreateCharge"), **{"Sandbox-Scenario": "wrong_pin"})
    story.post("/v1/charges", body_of("CreateCharge"), **{"Sandbox-Scenario": "server_error"})
    story.post("/v1/charges", body_of("CreateCharge"), **{"Sandbox-Scenario": "conflict"})
    story.post("/v1/charges", body_of("CreateCharge", phone="+260960000005"))
    unknown = story.post("/v1/charges", body_of("CreateCharge"), **{"Sandbox-Scenario": "operator_unknown"})
    story.post("/sandbox/operator/query", {"charge": unknown["id"]})
    story.post("/sandbox/operator/query", {"charge": unknown["id"]})
    late = story.post("/v1/charges", body_of("CreateCharge"), **{"Sandbox-Scenario": "late_success"})
    story.post("/sandbox/clock/advance", {"seconds": 600})
    story.get(f"/v1/charges/{late['id']}")
    story.get("/v1/balance")
    story.get("/sandbox/suspense?status=waiting")
    story.post(f"/sandbox/suspense/{late['id']}/settle", {"how": "credit"})
    story.post(f"/sandbox/suspense/{late['id']}/settle", {"how": "return"})
    again = story.post("/v1/charges", body_of("CreateCharge"), **{"Sandbox-Scenario": "late_success"})
    story.post("/sandbox/clock/advance", {"seconds": 600})
    story.post(f"/sandbox/suspense/{again['id']}/settle", {"how": "return"})
    refund = story.post("/v1/refunds", {"charge": charge["id"], "amount": 100})
    story.post("/v1/refunds", {"charge": charge["id"]}, **{"Sandbox-Scenario": "limit_reached"})
    story.post("/sandbox/clock/advance", {"seconds": 2 * 86_400})
    story.get(f"/v1/refunds/{refund['id']}")
    story.get("/v1/refunds")
    story.get("/v1/balance")
    payout = story.post("/v1/payouts", {"amount": 1.25, "currency": "ZMW"})
    story.post("/v1/payouts", {"amount": 1, "currency": "ZMW"}, **{"Sandbox-Scenario": "bank_refused"})
    story.post("/v1/payouts", {"amount": 9_000_000, "currency": "ZMW"})
    story.post("/sandbox/clock/advance", {"seconds": 2 * 86_400})
    story.get(f"/v1/payouts/{payout['id']}")
    story.get("/v1/payouts")


def play_chosen(story: Story) -> None:
    """Payments as far as no choice of the register forbids them."""
    foreign = {"currency": "JPY"} if '"JPY"' in json.dumps(story.document) else {}
    intent = story.post("/v1/payment_intents", body_of("CreatePaymentIntent", amount=87.35))
    story.post(f"/v1/payment_intents/{intent['id']}/confirm", method_of("+260960000010"))
    charge = story.post("/v1/charges", body_of("CreateCharge", **foreign))
    story.post("/v1/charges", body_of("CreateCharge", phone="+260960000005"))
    for channel, phone in (("zed", "+260980000002"), ("mtn", "0960000001")):
        story.post("/v1/charges", body_of("CreateCharge", channel=channel, phone=phone))
        story.get(f"/sandbox/phones/{phone}")
    for seconds in (300, 60):
        story.post("/sandbox/clock/advance", {"seconds": seconds})
        paid = story.get(f"/v1/payment_intents/{intent['id']}")
        story.get(f"/v1/charges/{paid['latest_charge']}")
    story.post("/v1/refunds", {"charge": charge["id"], "amount": 1})
    story.post("/v1/refunds", {"payment_intent": intent["id"], "amount": 0.35})
    story.post("/sandbox/clock/advance", {"seconds": 3 * 86_400})
    for path in ("payment_intents", "charges", "refunds", "balance", "payouts"):
        story.get(f"/v1/{path}")
    story.get("/sandbox/operator")


def play_webhooks(story: Story) -> None:
    # The merchant's own receiver, which refuses what is signed with this other endpoint's secret.
    endpoint = story.post("/v1/webhook_endpoints", body_of("CreateWebhookEndpoint", url=f"{HOST}/elsewhere"))
    path = f"/v1/webhook_endpoints/{endpoint['id']}"
    story.get(path)
    story.get("/v1/webhook_endpoints")
    story.call("PATCH", path, body_of("UpdateWebhookEndpoint"))
    story.post(f"{path}/roll_secret")
    story.post(f"/sandbox/webhook_endpoints/{endpoint['id']}/faults", body_of("DeliveryFaults"))
    story.post("/sandbox/sign", body_of("Sign"))
    events = story.get("/v1/events?limit=100&type=*")
    story.get("/v1/events?created_since=2026-01-05T06:00:00Z&search=charge")
    story.get("/sandbox/webhook_endpoints")
    event = events["data"][0]["id"]
    story.get(f"/v1/events/{event}")
    delivery = story.post(f"/v1/events/{event}/replay")["data"][0]["id"]
    story.post("/sandbox/clock/advance", {"seconds": 6 * 86_400})
    story.get(f"/v1/deliveries/{delivery}")
    story.get("/v1/deliveries?status=pending,delivered,dead_letter")
    story.post("/v1/payment_intents", body_of("CreatePaymentIntent"))
    story.post("/sandbox/clock/advance", {"seconds": 1})  # what has failed for six days is disabled
    story.post(f"/v1/deliveries/{delivery}/replay")
    story.call("PATCH", path, {"status": "enabled"})
    story.post(f"/v1/deliveries/{delivery}/replay")
    story.post("/v1/dead_letters/replay")
    story.call("DELETE", path)
    story.get(path)


def play_keys(story: Story) -> None:
    key = story.post("/v1/api_keys", {"kind": "secret"})
    rolled = story.post(f"/v1/api_keys/{key['id']}/roll")
    story.call("DELETE", f"/v1/api_keys/{rolled['id']}")
    story.call("DELETE", f"/v1/api_keys/{rolled['id']}")
    story.get("/v1/api_keys")
    story.call("GET", "/v1/balance", key=str(story.bench.publishable_key))
    token = story.post("/v1/auth/token", body_of("TokenRequest"))
    story.post("/v1/auth/refresh", {"refresh_token": token["refresh_token"]})
    story.post("/v1/auth/token", body_of("TokenRequest", password="wrong"))
    story.post("/plants", body_of("NewPlant"))
    story.post("/plants", {"id": "one"})


def play_panel(story: Story) -> None:
    for path in (
        "clock", "ledger/accounts", "ledger/entries", "ledger/postings", "ledger/verify", "trace", "gaps", "gaps/used",
        "phones", "keys", "scenarios", "changes?after=1", "changes", "changes?after=1000000",
    ):  # fmt: skip
        story.get(f"/sandbox/{path}")
    story.get("/sandbox/ledger/accounts?as_of=2026-01-05T06:00:00Z&known_at=2026-01-05T08:00:00.123%2B02:00")
    story.get("/sandbox/ledger/movements?after=1&limit=2&account=operator:mtn:float,bank:settlement")
    settled = story.post("/sandbox/ledger/entries", body_of("Settle"))
    story.post("/sandbox/ledger/entries", body_of("Settle"))
    story.post("/sandbox/ledger/entries", {"recipe": "reversed", "entry": settled["id"]})
    story.post("/sandbox/ledger/entries", {"recipe": "reversed"})
    story.post(f"/sandbox/ledger/entries/{settled['id']}/repeat")
    story.post("/sandbox/operator/script", body_of("Script"))
    story.post("/sandbox/operator/outage", body_of("Outage"))
    story.get("/sandbox/operator")
    story.post("/sandbox/operator/outage", body_of("Outage", seconds=0))
    story.post("/sandbox/accounts", body_of("NewAccount"))
    ends = "/sandbox/operations/{}/deprecation"
    story.post(ends.format("createCharge"), body_of("Deprecate"))
    story.post(ends.format("retrieveBalance"), body_of("Deprecate"))
    story.get("/v1/balance")
    story.post(ends.format("createCharge"), body_of("Deprecate", sunset_at="2025-12-31T22:00:00Z"))
    story.post(f"/sandbox/phones/{PHONE}/cancel")
    story.get(f"/sandbox/phones/{PHONE}/messages")
    scripted = {"at_ms": 0, "what": "script", "phone": PHONE, "scenario": "approve"}
    story.post("/sandbox/simulation", body_of("Simulate", commands=[scripted]))


@pytest.fixture(scope="module")
def story() -> Iterator[Story]:
    with Workbench(seed=7) as bench:
        told = Story(bench)
        assert bench.receiver.secrets  # it takes what is sent, so that some deliveries arrive
        for play in (play_intents, play_charges, play_webhooks, play_keys, play_panel):
            play(told)
        told.events = [each for event_type in EVENT_TYPES for each in told.get(f"/v1/events?type={event_type}")["data"]]
        told.post("/sandbox/reset")
        yield told


def shown(response: httpx.Response) -> Any:  # noqa: ANN401  JSON is of any type
    """An answer as an example: of a list one row, secrets masked, the receiver on a port as merchants have it."""
    body = response.json()
    if body.get("object") == "code":
        return body  # it has names in the place of keys, which would be masked
    return as_example({**body, "data": body["data"][:1]} if body.get("object") == "list" else body)


def as_example(value: Any) -> Any:  # noqa: ANN401  JSON is of any type
    if isinstance(value, dict):
        return {name: as_example(each) for name, each in value.items()}
    if isinstance(value, list):
        return [as_example(each) for each in value]
    return mask(value).replace(HOST, "http://127.0.0.1:8000") if isinstance(value, str) else value


def examples_of(story: Story) -> dict[str, Any]:
    """What `examples.json` is to hold, one a line: the first success of each operation, the last event of each type."""
    answers = {row.id: shown(response) for row, response in story.seen[::-1] if response.is_success}
    events = {
        event["type"]: event
        for row, response in story.seen
        if row.path == "/v1/events" and "type=" in str(response.url)
        for event in shown(response)["data"]
    }
    return dict(sorted(answers.items())) | events


def assert_described(story: Story) -> None:
    """Every answer has a status, a type, a body and headers that are described, and no member besides."""
    for row, response in story.seen:
        where = f"{row.method} {row.path} {response.status_code}"
        answer = story.answer_of(row, response)
        assert response.headers["Content-Type"] in answer["content"], where
        schema = answer["content"][response.headers["Content-Type"]]["schema"]
        assert story.errors(schema, response.json()) == [], where
        members = story.document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]["properties"]
        assert response.json().keys() <= members.keys(), where
        assert (response.headers.get("Cache-Control") == "no-store") == (row.no_store and response.is_success), where
        for name, header in answer["headers"].items():
            described = story.document["components"]["headers"][header["$ref"].rpartition("/")[2]]
            value = response.headers.get(name)
            assert value is not None or not described["required"], f"{where} {name}"
            assert value is None or re.fullmatch(described["schema"]["pattern"].strip("^$") + ".*", value)


CHOSEN = [
    {"charge_wait": "accepted", "charge_states": "expired", "late_success": "succeeds", "currencies": "iso4217",
     "charge_amount_unit": "major", "zed_mobile": "zed", "operator_ids": "long", "payouts": "daily"},
    pytest.param({
        "charge_wait": "interactive", "intent_states": "failed", "phone_format": "national", "currency_case": "strict",
        "fee_on_refund": "returned", "clearing": "immediate", "success_status": "201_created",
    }, marks=pytest.mark.thorough),
]  # fmt: skip


class TestRealAnswers:
    def test_every_operation_succeeded_and_each_answer_is_as_it_is_described(self, story: Story):
        assert {row for row, response in story.seen if response.is_success} == {*TABLE}
        assert_described(story)
        charge = next(r.json() for row, r in story.seen if row.path == "/v1/charges" and r.status_code == 200)
        for wrong in ({"status": "paid"}, {"amount": "15000"}, {"currency": "ZMW"}, {"phone": PHONE}, {"id": "1"}):
            assert story.errors("Charge", {**charge, **wrong}), wrong

    @pytest.mark.parametrize("gaps", CHOSEN)
    def test_answers_are_as_described_whatever_is_chosen_of_payments(self, gaps: dict[str, str]):
        with Workbench(seed=7, gaps=gaps) as bench:
            story = Story(bench)
            play_chosen(story)
            assert {row.id for row, response in story.seen if response.is_success} >= {"createCharge", "createRefund"}
            assert_described(story)

    def test_events_are_as_the_webhooks_say(self, story: Story):
        for event in story.events:
            content = story.document["webhooks"][event["type"]]["post"]["requestBody"]["content"]
            assert story.errors(content["application/json"]["schema"], event) == [], event["type"]
        assert {event["type"] for event in story.events} == set(EVENT_TYPES)

    def test_the_examples_are_what_this_run_answers(self, story: Story, pytestconfig: pytest.Config):
        lines = [f'"{name}": {json.dumps(each, ensure_ascii=False)}' for name, each in examples_of(story).items()]
        now = "{\n" + ",\n".join(lines) + "\n}\n"
        if pytestconfig.getoption("--renew"):
            EXAMPLES.write_text(now, "utf-8")
        assert EXAMPLES.read_text("utf-8") == now, "pytest --renew writes them anew"

    def test_the_examples_of_answers_events_and_requests_fit_too(self, story: Story):
        answers = [each for item in story.document["paths"].values() for each in item.values()]
        contents = [content for each in answers for content in each["responses"]["200"]["content"].values()]
        for response in story.document["components"]["responses"].values():
            contents += response["content"].values()
        for webhook in story.document["webhooks"].values():
            contents += webhook["post"]["requestBody"]["content"].values()
        assert len(contents) > len(TABLE) + len(EVENT_TYPES)
        for content in contents:
            assert story.errors(content["schema"], content["example"]) == []
        assert {*REQUESTS} == {row.body.__name__ for row in TABLE if row.body}
        for name, shown in REQUESTS.items():
            for each in shown.values():
                assert story.errors(name, each["value"]) == [], name


LIVE_KEY = "sk" + "_live_" + "x" * 24
MOST_BYTES = 10_000
"""As large as a body may be here: masking a real one that is too large takes a while, and each operation gets one."""


def refuse_as_any(story: Story, row: operations.Operation) -> None:
    """What refuses an operation for what every request has: size, type, key, version, scenario."""
    path, body = at(row), example(row)
    send = partial(story.call, row.method, path)
    send(body, **{"Api-Version": "2"})
    send(body, **{"X-Note": LIVE_KEY})
    send(b"{" + b" " * MOST_BYTES)
    story.break_down(row, RuntimeError())
    story.break_down(row, by_sqlite(sqlite3.SQLITE_IOERR_WRITE))
    if row.method != "GET":
        story.break_down(row, by_sqlite(sqlite3.SQLITE_FULL))
    if row.schemes:
        send(body, key="sk_test_nobody")
        send(body, key=str(story.bench.publishable_key))
    if row.body:
        send(b"{")
        send(json.dumps(body).encode(), **{"Content-Type": "text/plain"})
    if "_id}" in row.path:
        send(body)
    if row.query and "starting_after" in row.query.__struct_fields__:
        story.get(f"{path}?starting_after=none")
    for scenario in row.scenarios:
        send(body, **{"Sandbox-Scenario": scenario})
    if row.takes_keys:
        fails = {"Sandbox-Scenario": "server_error"} if row.scenarios else {}
        send(body, **{"Idempotency-Key": f"two bodies {row.path}"}, **fails)
        send(json.dumps(body or {}, indent=1).encode(), **{"Idempotency-Key": f"two bodies {row.path}"})


def refuse_by_state(story: Story) -> None:
    """What refuses an operation for what there is, or is not: objects, their states, their secrets."""
    intent = story.post("/v1/payment_intents", body_of("CreatePaymentIntent"))
    path, publishable = f"/v1/payment_intents/{intent['id']}", str(story.bench.publishable_key)
    story.call("GET", path, key=publishable)
    story.post(f"{path}/confirm", body_of("ConfirmPaymentIntent"), key=publishable)
    charge = story.post("/v1/charges", body_of("CreateCharge"))
    story.post("/v1/refunds", {"charge": "none"})
    story.post("/sandbox/sign", {"body": "", "endpoint": "none"})
    story.post("/sandbox/operator/query", {"charge": "none"})
    story.post("/sandbox/operator/query", {"charge": charge["id"]})
    key = story.post("/v1/api_keys", {"kind": "secret"})["id"]
    story.call("DELETE", f"/v1/api_keys/{key}")
    story.call("DELETE", f"/v1/api_keys/{key}")
    for pressed, body in (("input", {"text": "1234"}), ("cancel", None), ("ignore", None)):
        story.post(f"/sandbox/phones/{PHONE}/{pressed}", body)
    story.post("/sandbox/operations/createCharge/deprecation", {"sunset_at": "2020-01-01T00:00:00Z"})
    story.post("/sandbox/ledger/entries", {"recipe": "reversed", "entry": "none"})
    first = story.get("/sandbox/ledger/entries?limit=1")["data"][0]["id"]
    mirrored = story.post("/sandbox/ledger/entries", {"recipe": "reversed", "entry": first})["id"]
    story.post("/sandbox/ledger/entries", {"recipe": "reversed", "entry": first})
    story.post(f"/sandbox/ledger/entries/{mirrored}/repeat")
    late = story.post("/v1/charges", body_of("CreateCharge"), **{"Sandbox-Scenario": "late_success"})
    story.post("/sandbox/clock/advance", {"seconds": 600})
    for item in ("none", late["id"], late["id"]):
        story.post(f"/sandbox/suspense/{item}/settle", {"how": "credit"})
    refund = {"at_ms": 0, "what": "refund", "order": "none", "phone": PHONE}
    for each in ({"commands": [refund]}, {"cursor": 9}):
        story.post("/sandbox/simulation", {"simulation": "none", **each})
    advance = partial(story.post, "/sandbox/clock/advance", {"seconds": 1})
    story.bench.receiver.on("payment_intent.created")(lambda _: advance())
    story.post("/v1/payment_intents", body_of("CreatePaymentIntent"))
    advance()


def described_refusals(story: Story, row: operations.Operation) -> set[tuple[str, str]]:
    """Status and media type of each refusal that an operation's description has."""
    components = story.document["components"]["responses"]
    return {
        (status, media_type)
        for status, each in story.document["paths"][row.path][row.method.lower()]["responses"].items()
        if status >= "400"
        for media_type in components[each["$ref"].rpartition("/")[2]]["content"]
    }


@pytest.mark.parametrize(
    ("payload", "scheme", "types"),
    [
        ("envelope", "stripe", "collection"),
        ("cloudevents", "github", "by_object"),
        ("cloudevents", "standard_webhooks", "collection"),
    ],
)
def test_events_are_sent_and_listed_as_described_whatever_their_form(payload: str, scheme: str, types: str):
    with Workbench(seed=10, gaps={"event_payload": payload, "signature_scheme": scheme, "event_types": types}) as bench:
        story = Story(bench)
        endpoint = story.post("/v1/webhook_endpoints", {"url": "http://merchant.localhost/none"})
        story.post(f"/v1/webhook_endpoints/{endpoint['id']}/roll_secret")
        assert all("signature_scheme" in rows_in(response) for _, response in story.seen)
        story.post("/v1/charges", body_of("CreateCharge"), **{"Idempotency-Key": "k"})
        listed = story.get("/v1/events")["data"]
        assert [story.get(f"/v1/events/{each['id']}") for each in listed] == listed
        assert_described(story)
        arrival = next(each for each in bench.receiver.arrivals if each.verdict == "accepted")
        ((told_as, webhook),) = [each for each in story.document["webhooks"].items() if each[0] == arrival.reason]
        ((media_type, content),) = webhook["post"]["requestBody"]["content"].items()
        for body in (json.loads(arrival.body), content["example"], *listed):
            assert story.errors(content["schema"], body) == []
            assert body["type"] == told_as
        headers = {each["name"]: each["schema"]["pattern"] for each in webhook["post"]["parameters"]}
        assert {name.lower() for name in headers} == {*arrival.headers}
        assert all(re.search(headers[name], arrival.headers[name.lower()]) for name in headers)
        assert bench.sign(b"{}").headers["Content-Type"] == media_type


OTHERWISE = {"reused_key_status": 409, "error_format": "plain", "declined_status": "200"}
CHOICES = [pytest.param({}, id="default"), pytest.param(OTHERWISE, id="otherwise", marks=pytest.mark.thorough)]


@pytest.fixture(scope="module", params=CHOICES)
def refused(request: pytest.FixtureRequest) -> Iterator[Story]:
    """Each operation driven into each refusal that it can come to."""
    # Who finds the clock busy waits for the longest delivery that there can be: for a short one here.
    with (
        Workbench(seed=9, gaps={"delivery_timeout_s": 5, **request.param}) as bench,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setattr(exchange, "MAX_BODY_BYTES", MOST_BYTES)
        told = Story(bench)
        for row in TABLE:
            refuse_as_any(told, row)
        refuse_by_state(told)
        yield told


class TestRefusals:
    def test_what_an_operation_is_refused_with_is_what_its_description_says(self, refused: Story):
        for row in TABLE:
            answers = [each for called, each in refused.seen if (called.method, called.path) == (row.method, row.path)]
            seen = {(str(each.status_code), each.headers["Content-Type"]) for each in answers if each.is_error}
            assert seen == described_refusals(refused, row), row.id
        assert_described(refused)


ON_THE_WIRE: list[dict[str, Any]] = [
    {"confirm_response": "accepted", "pagination": "page", "token_field": "data.token", "key_rotation": "overlap"},
    {"extra_endpoints": "absent", "pagination": "page", "token_field": "token", "deprecation": "none"},
    {"endpoint_registration": "dashboard", "rate_limit": "100_per_60"},
]


@pytest.mark.parametrize("gaps", ON_THE_WIRE, ids=" ".join)
def test_what_is_answered_under_other_choices_is_described_as_it_is(gaps: dict[str, Any]):
    with Workbench(seed=11, gaps=gaps) as bench:
        story = Story(bench)
        there = DASHBOARD if "extra_endpoints" in gaps else "/v1"
        hooks = f"{DASHBOARD if 'endpoint_registration' in gaps else there}/webhook_endpoints"
        intent = story.post("/v1/payment_intents", body_of("CreatePaymentIntent"))
        story.post(f"/v1/payment_intents/{intent['id']}/confirm", body_of("ConfirmPaymentIntent"))
        key = story.post(f"{there}/api_keys", {})
        story.post(f"{there}/api_keys/{key['id']}/roll")
        for path in ("payment_intents", "events?type=charge.*", "deliveries", "api_keys", "balance"):
            story.get(f"{there}/{path}")
        story.get(f"{there}/events?{'per_page' if 'pagination' in gaps else 'limit'}=0")
        token = story.post("/v1/auth/token", body_of("TokenRequest"))
        story.post("/v1/auth/refresh", {"refresh_token": token.get("data", token)["refresh_token"]})
        endpoint = story.get(hooks)["data"][0]
        story.call("PATCH", f"{hooks}/{endpoint['id']}", {"status": "enabled"})
        story.post(hooks, body_of("CreateWebhookEndpoint"))
        for _ in range(100 if "rate_limit" in gaps else 0):
            story.get("/v1/balance")
        assert_described(story)
        statuses = {response.status_code for _, response in story.seen}
        assert ({202, 400} if "confirm_response" in gaps else {200, 400}) <= statuses
        assert (429 in statuses) == ("rate_limit" in gaps)
        assert (409 in statuses) == ("endpoint_registration" in gaps)
        described = {each["operationId"] for path in story.document["paths"].values() for each in path.values()}
        assert described == {row.id for row in TABLE}


# What the interface shows of answers, sections 2.3, 2.4 and 7: in all others the status or the media type is assumed.
SHOWN = {
    ("POST", "/v1/charges", 200, "application/json"): 'documented; sections="2.3, 4"',
    ("POST", "/plants", 200, "application/json"): 'documented; sections="2.4, 4"',
    ("POST", "/plants", 400, "application/json"): 'documented; sections="2.4, 4"',
}
ROWS = [gap.name for gap in REGISTER]


@cache
def played(**gaps: Any) -> Story:  # noqa: ANN401  as Workbench takes them
    """A story of charges that are paid, declined, sent again and refused, and of an intent; what it saw."""
    with Workbench(seed=10, gaps=gaps) as bench:
        story = Story(bench)
        for scenario in ({}, {"Sandbox-Scenario": "wrong_pin"}, {"Sandbox-Scenario": "server_error"}):
            for body in (body_of("CreateCharge"), body_of("CreateCharge"), body_of("CreateCharge", amount=1)):
                story.post("/v1/charges", body, **{"Idempotency-Key": f"key {scenario}"}, **scenario)
        story.post("/v1/charges", body_of("CreateCharge", channel="airtel"))
        intent = story.post("/v1/payment_intents", body_of("CreatePaymentIntent"))
        story.post(f"/v1/payment_intents/{intent['id']}/confirm", body_of("ConfirmPaymentIntent"))
        story.get("/v1/payment_intents/none")
        story.post("/v1/api_keys", {})
        story.post("/plants", body_of("NewPlant"))
        story.post("/plants", {})
        return story


def rows_in(response: httpx.Response) -> list[str]:
    """The rows of the register that an answer says it relied on."""
    found = re.search(r'gaps="([^"]*)"', response.headers["Sandbox-Provenance"])
    return found[1].split(" ") if found else []


class TestProvenanceOfAnswers:
    def test_documented_are_those_whose_status_and_media_type_are_shown(self, story: Story, refused: Story):
        for row, response in [*story.seen, *refused.seen]:
            answer = (row.method, row.path, response.status_code, response.headers["Content-Type"])
            said = response.headers["Sandbox-Provenance"].partition("; gaps")[0]
            assert said == SHOWN.get(answer, "sandbox" if row.source == "sandbox" else "assumed"), answer
            assert rows_in(response) == sorted({*ROWS} & {*rows_in(response)})
            # A status is open where no section shows it; a success of the sandbox's own operations leaves nothing open.
            assert ("success_status" in rows_in(response)) == (response.is_success and said == "assumed"), answer
            assert ("error_format" in rows_in(response)) == (response.is_error and answer not in SHOWN), answer
            assert ("extra_endpoints" in rows_in(response)) == (row.source == "assumed"), answer

    def test_all_that_the_tables_name_is_there(self):
        structs, ahead = set(), [View]
        while ahead:
            view = ahead.pop()
            structs.add(view.__name__)
            ahead += view.__subclasses__()
        there = {row.id for row in TABLE} | structs | {*CODES}
        there |= {f"{row.body.__name__} {code}" for row in TABLE if row.body for code in CODES}
        # Whether those of these kinds are there shows where they are produced.
        kinds = {"key", "member", "failure", "warning", "response", "call"}
        named = {thing for gap in REGISTER for thing in gap.relied}
        assert {thing for thing in named - there if thing.partition(" ")[0] not in kinds} == set()
        assert all(isinstance(gap.relied, tuple) for gap in REGISTER)

    def test_these_are_said_so(self):
        said = [response.headers["Sandbox-Provenance"] for _, response in played().seen]
        assert said[3:7] == [
            'assumed; gaps="charge_wait declined_status error_format"',
            'assumed; gaps="charge_wait declined_status error_format idempotency_keeps_errors idempotency_retention_s"',
            'assumed; gaps="error_format idempotency_retention_s reused_key_status"',
            'assumed; gaps="error_format"',
        ]
        assert said[14] == 'documented; sections="2.4, 4"'
        # Which members an intent has.
        assert "intent_fields" in rows_in(played().seen[10][1])

    def test_a_warning_and_a_decline_with_200_are_told_also_when_they_are_given_again(self):
        told = played(declined_status="200")
        paid, again, declined, declined_again, warned = (told.seen[place][1] for place in (0, 1, 3, 4, 9))
        assert {*rows_in(again)} - {*rows_in(paid)} == {"idempotency_retention_s"}
        assert {*rows_in(declined)} - {*rows_in(paid)} == {"declined_status"}
        assert {*rows_in(declined_again)} - {*rows_in(again)} == {"declined_status"}
        assert {*rows_in(warned)} - {*rows_in(paid)} == {"operator_mismatch"}


INTENT = body_of("CreatePaymentIntent")
CHARGE = body_of("CreateCharge", phone=PHONE)
HOOK = body_of("CreateWebhookEndpoint")
TOKEN = body_of("TokenRequest")
LONG_ID = "Airtel_OAPI_zmb"

AGREED: list[tuple[str, str, dict[str, Any]]] = [
    *(("/v1/payment_intents", "CreatePaymentIntent", {**INTENT, **change}) for change in (
        {}, {"amount": 0}, {"amount": 0.01}, {"amount": "150"}, {"amount": None}, {"amount": True},
        {"amount": 9_999_999_999}, {"amount": 10_000_000_000}, {"amount": 1.005}, {"amount": 19.99},
        {"currency": "zMw"}, {"currency": "USD"}, {"currency": "ZMK"},
        {"payment_method_types": []}, {"payment_method_types": ["card"]}, {"payment_method_types": [1]},
        {"payment_method_types": ["card", "mobile_money"]}, {"payment_method_types": "mobile_money"},
        {"description": None}, {"description": 1}, {"metadata": {"a": "b"}}, {"metadata": {"a": 1}},
        {"metadata": None}, {"metadata": []}, {"unknown": 1},
    )),
    *(("/v1/charges", "CreateCharge", {**CHARGE, **change}) for change in (
        {}, {"amount": 1}, {"amount": 0}, {"amount": 1.5}, {"amount": 15000.0}, {"amount": 999_999_999_999},
        {"amount": 1_000_000_000_000}, {"currency": "ZMW"}, {"type": "card"}, {"type": "Mobile_money"},
        {"channel": "MTN"}, {"channel": LONG_ID}, {"channel": "zed"}, {"channel": "mtn "}, {"channel": "mtnx"},
        {"phone": "0961000001"}, {"phone": "+260981000001"}, {"phone": "+26096100000"}, {"phone": "+2609610000011"},
        {"phone": "+260 961000001"}, {"phone": "+260751000001"}, {"reference": None}, {"reference": 5},
    )),
    *(("/v1/webhook_endpoints", "CreateWebhookEndpoint", {**HOOK, **change}) for change in (
        {}, {"url": "https://shop.example.com/hooks?a=b"}, {"url": "http://localhost:65535"}, {"url": "ftp://a.example"},
        {"url": "http://"}, {"url": "http://user@a.example/"}, {"url": "http://127.0.0.1:65536/"}, {"url": None},
        {"url": "http://a.example:0/"}, {"url": "http://10.0.0.1/"}, {"url": "http://[::1]:8000/"},
        {"url": "https://[::1]*"}, {"url": "http://a*b/"}, {"url": "http://a:/"}, {"url": "http://a:080/"},
        {"url": "http://1b/"}, {"url": "http://EXAMPLE.com./"}, {"url": "http://a.example/é"},
        {"enabled_events": []}, {"enabled_events": ["charge.*"]}, {"enabled_events": ["charge.paid"]},
        {"enabled_events": ["charge.succeeded", "*"]}, {"enabled_events": "*"}, {"enabled_events": None},
    )),
    *(("/v1/auth/token", "TokenRequest", {**TOKEN, **change}) for change in (
        {}, {"email": "a@b"}, {"email": "a"}, {"email": "a b@c"}, {"email": "é@ü"}, {"email": "a@b@c"},
        {"email": "a\u0085@b"}, {"password": ""}, {"password": " "}, {"password": 1},
    )),
    *(("/plants", "NewPlant", change) for change in (
        {"id": 1, "name": ""}, {"id": 1}, {"name": "a"}, {"id": 2**63, "name": "a"}, {"id": 2**63 - 1, "name": "a"},
        {"id": 1, "name": "a", "tag": None}, {"id": "1", "name": "a"}, {"id": True, "name": "a"},
    )),
    *(("/v1/payouts", "CreatePayout", {"amount": each, "currency": "ZMW"}) for each in (
        0, -1, 0.01, 0.001, 9_999_999_999.99, 10_000_000_000,
    )),
    *(("/v1/api_keys", "CreateApiKey", change) for change in ({}, {"kind": "publishable"}, {"kind": "live"})),
    *(("/sandbox/accounts", "NewAccount", {"name": each}) for each in ("a", "", "  ", "\t\x1c", "x" * 40, "x" * 41)),
    *(("/sandbox/clock/advance", "Advance", {"seconds": each}) for each in (0, -1, 1.5, 0.0005, 10**9, "1", None)),
    *(("/sandbox/clock/advance", "Advance", each) for each in (
        {}, {"days": 1}, {"days": 1.0}, {"days": 1.5}, {"days": -1}, {"days": 3660}, {"days": 3661}, {"minutes": None},
        {"hours": "1"}, {"days": 0, "hours": 1, "minutes": 2, "seconds": 0.5}, {"day": 1},
    )),
    *(("/sandbox/operator/outage", "Outage", {"provider": "mtn", "seconds": each}) for each in (0, -1, 10**7)),
    *(("/sandbox/operator/script", "Script", {"phone": PHONE, "answers": each}) for each in (
        [], ["approve"], ["person"], ["approve"] * 100, ["approve"] * 101, "approve",
    )),
]  # fmt: skip


def validity(story: Story) -> Callable[[str, str], bool]:
    """Whether a body is valid, decimals read as the sandbox reads them: among floats 19.99 is no multiple of 0.01."""
    document = json.loads(story.bench.http.get("/openapi.json").content, parse_float=Decimal)
    numbers = Draft202012Validator.TYPE_CHECKER.redefine_many({
        "number": lambda _, value: type(value) in {int, Decimal},
        "integer": lambda _, value: type(value) is int or (type(value) is Decimal and value == int(value)),
    })  # fmt: skip
    kind = validators.extend(Draft202012Validator, type_checker=numbers)

    def valid(name: str, body: str) -> bool:
        schema = {"$ref": f"#/components/schemas/{name}", "components": document["components"]}
        return kind(schema).is_valid(json.loads(body, parse_float=Decimal))

    return valid


ALL_OF_PAYMENTS = {"currencies": "iso4217", "phone_format": "national", "zed_mobile": "zed",
                   "intent_amount_scale": "half_even", "charge_amount_unit": "major"}  # fmt: skip
AGREED_THERE: list[tuple[str, str, dict[str, Any]]] = [
    *(("/v1/payment_intents", "CreatePaymentIntent", {**INTENT, **change}) for change in (
        {"amount": 87.35}, {"amount": 1.005}, {"amount": 0}, {"amount": 10_000_000_000}, {"currency": "uSd"},
        {"currency": "JPY"}, {"currency": "XAU"}, {"currency": "ZMK"}, {"currency": "ZMWX"}, {"currency": ""},
    )),
    *(("/v1/charges", "CreateCharge", {**CHARGE, **change}) for change in (
        {}, {"amount": 1.5}, {"amount": 9_999_999_999}, {"amount": 10_000_000_000}, {"currency": "kwd"},
        {"channel": "ZED"}, {"channel": "zed_mobile_zmb"}, {"channel": "zad"}, {"phone": "0961000001"},
        {"phone": "0981000001"}, {"phone": "+260791000001"}, {"phone": "961000001"}, {"phone": "0211000001"},
        {"phone": "00961000001"},
    )),
    *(("/sandbox/operator/outage", "Outage", {"provider": each, "seconds": 0}) for each in ("zed", "mtn", "zad")),
]  # fmt: skip


@pytest.mark.parametrize(
    ("gaps", "agreed"), [({}, AGREED), (ALL_OF_PAYMENTS, AGREED_THERE)], ids=["default", "where more is taken"]
)
def test_what_the_schema_takes_is_taken_and_what_it_does_not_is_refused(
    gaps: dict[str, str], agreed: list[tuple[str, str, dict[str, Any]]]
):
    with Workbench(seed=8, gaps=gaps) as bench:
        story = Story(bench)
        valid = validity(story)
        for path, name, body in agreed:
            story.post(path, body)
            _, response = story.seen[-1]
            # 409: a valid payout of more than there is.
            verdicts = {(200, True), (409, True), (400, False)}
            assert (response.status_code, valid(name, json.dumps(body))) in verdicts, (body, response.text)
