"""What recorded traffic says of the register, from recordings of a sandbox with some of its rows switched."""

import base64
import inspect
import json
import re
import time
import tracemalloc
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import INTENT, Caller, bearer, charge_of, invoke, method_on
from workbench import Workbench
from workbench.domain.gaps import REGISTER, Gaps, written
from workbench.domain.signs import Other, Value
from workbench.errors import TrafficRefused
from workbench.resources import read_toml
from workbench.traffic import evidence
from workbench.traffic.evidence import TOGETHER, Evidence, fit
from workbench.traffic.har import About, recorded

SWITCHED: dict[str, Value] = {
    "success_status": "201_created", "charge_amount_unit": "major", "operator_ids": "long", "error_format": "envelope",
    "event_types": "collection", "signature_scheme": "stripe", "pagination": "page", "prompt_timeout_s": 180,
    "declined_status": "200",
}  # fmt: skip
HIDDEN = {gap.name: [each for each in gap.alternatives if {None, each} & {*gap.unseen}] for gap in REGISTER}
SEEN = [{gap.name: each} for gap in REGISTER for each in gap.alternatives if each not in HIDDEN[gap.name]]
UNSEEN = [{name: values[at] for name, values in HIDDEN.items() if at < len(values)} for at in range(2)]
"""Alternatives that traffic does not show: the first of each row, and the second."""
DAY_S = 86_400
AMOUNTS = (10.005, 10.015, 10.0151, 0.01, 0.99, 1.00, 20_000.00, 20_000.01, 9_999_999_999.99)


Json: TypeAlias = Any
"""What a response holds."""


class Shop:
    """An application that answers webhooks with one status, whatever they say."""

    status = 200

    def __call__(self, _: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        start(f"{self.status} So", [])
        return [b""]


class Tour(Caller):
    """Calls that show, together, what calls and webhooks can show; a refusal is as good as an answer."""

    def __init__(self, bench: Workbench, shop: Shop) -> None:
        super().__init__(bench, str(bench.secret_key))
        self.shop, self.number, self.later = shop, 1_000_000, bench.clock.advance

    def phone(self, prefix: str = "96") -> str:
        self.number += 1
        return f"+260{prefix}{self.number}"

    def charge(self, headers: dict[str, str] | None = None, **fields: object) -> None:
        body = {**charge_of(self.phone(), 15_000), "reference": "order", **fields}
        self.post("/v1/charges", {name: each for name, each in body.items() if each}, **headers or {})

    def intent(self, **fields: object) -> Json:
        return self.post("/v1/payment_intents", {**INTENT, **fields}).json()

    def confirm(self, intent: dict[str, Any], phone: str = "", provider: str = "mtn", **headers: str) -> None:
        path = f"/v1/payment_intents/{intent['id']}/confirm"
        self.post(path, method_on(phone or self.phone(), provider), **headers)

    def payments(self) -> None:
        for fields in ({}, {"currency": "zmw"}, {"currency": "EUR"}, {"payment_method_types": ["mobile_money", "card"]},
                       {"color": "green"}, *({"amount": amount} for amount in AMOUNTS)):  # fmt: skip
            self.intent(**fields)
        paid = self.intent()
        phone = self.phone()
        self.confirm(paid, phone)
        self.post(f"/sandbox/phones/{phone}/input", {"text": "1234"})
        self.get(f"/v1/payment_intents/{paid['id']}")
        self.confirm(self.intent(), f"0{self.phone()[4:]}")
        for prefix in ("98", "78", "58", "79"):
            self.confirm(self.intent(), self.phone(prefix), "zed")
        self.confirm(self.intent(), self.phone("97"))
        failed = self.intent()
        self.confirm(failed, Sandbox_Scenario="insufficient_funds")
        self.later(60)
        self.get(f"/v1/payment_intents/{failed['id']}")
        late = self.intent()
        self.confirm(late, Sandbox_Scenario="late_success")
        self.later(1_500)
        self.get(f"/v1/payment_intents/{late['id']}")
        self.confirm(late)

    def charges(self) -> None:
        self.charge(reference=None)
        self.charge(channel="airtel")
        for prefix, channel in (("97", "airtel"), ("95", "zamtel")):
            self.charge(channel=channel, phone=self.phone(prefix), currency="ZMW")
            self.charge(channel=channel, phone=self.phone(prefix))
        for _ in range(2):
            declined = {"Idempotency-Key": "declined", "Sandbox-Scenario": "insufficient_funds"}
            self.charge(declined, phone="+260961111111")
        self.charge({"Idempotency-Key": "kept"}, phone="+260961111112")
        self.charge({"Idempotency-Key": "kept"}, phone="+260961111113")
        body, basic = charge_of(self.phone()), (self.key, "")
        self.bench.http.post("/v1/charges", json={**body, "reference": "o"}, auth=basic)
        self.bench.http.post("/v1/charges", json=body, headers={**bearer(self.bench), "Idempotency-Key": "bearer"})
        self.charge({"Sandbox-Scenario": "approve"})
        self.charge({"Sandbox-Scenario": "prompt_timeout"})
        self.later(1_000)
        self.get("/v1/charges")

    def access(self) -> None:
        asked = [(email, "greenhouse") for email in ("one@shop.example", "two@shop.example")]
        for email, password in [*asked, *([(self.bench.email, str(self.bench.password))] if self.bench.email else [])]:
            token = self.bench.http.post("/v1/auth/token", json={"email": email, "password": password}).json()
        held = token.get("data", token)
        value = held.get("access_token") or held.get("token")
        self.get("/v1/balance", key=value)
        self.post("/v1/auth/refresh", key=value)
        intent = self.intent()
        body = {**method_on(self.phone()), "client_secret": intent["client_secret"]}
        publishable, own_intent = str(self.bench.publishable_key), f"/v1/payment_intents/{intent['id']}"
        self.get(f"{own_intent}?client_secret={intent['client_secret']}", key=publishable)
        self.get(own_intent, Api_Version="2")
        self.post(f"{own_intent}/confirm", body, key=publishable)
        key = self.post("/v1/api_keys", {"kind": "secret"}).json()
        if "id" in key:
            newer = self.post(f"/v1/api_keys/{key['id']}/roll").json()
            self.call("DELETE", f"/v1/api_keys/{newer['id']}")
            self.get("/v1/balance", key=newer["value"])
        self.get("/v1/api_keys?limit=100")
        self.bench.http.get("/v1/payment_intents", auth=(self.key, ""))
        self.bench.control.deprecate("listRefunds", sunset_at="2030-01-01T00:00:00Z")
        self.get("/v1/refunds")

    def events(self) -> None:
        self.post("/v1/payouts", {"amount": 10, "currency": "ZMW"})
        for row in self.get("/v1/events").json().get("data", [])[:1]:
            self.post(f"/v1/events/{row['id']}/replay")
        self.out_of_order()
        for status, wait_s in ((204, 3 * DAY_S), (503, 4 * DAY_S + 20_000), (502, 3 * DAY_S)):
            self.shop.status = status
            self.charge()
            self.later(wait_s)
            self.shop.status = 200
            self.charge()
        other = Shop()
        other.status = 500
        if self.get("/v1/webhook_endpoints").status_code == 200:
            self.bench.deliver_to(other, "http://other.example/webhooks")
            self.charge()
            self.later(3 * DAY_S)
            self.charge()
            self.later(3 * DAY_S)
            self.charge()
        self.shop.status = 410
        self.charge()
        self.later(4_000)
        self.get("/v1/webhook_endpoints")

    def out_of_order(self) -> None:
        intent, phone = self.intent(), self.phone()
        self.shop.status = 500
        self.confirm(intent, phone)
        self.later(2)
        self.shop.status = 200
        self.post(f"/sandbox/phones/{phone}/input", {"text": "1234"})
        self.later(DAY_S)

    def kept(self) -> None:
        for wait_s in (100, *(kept + near for kept in (21_600, DAY_S, 30 * DAY_S) for near in (-30, 30))):
            key = {"Idempotency-Key": f"kept-for-{wait_s}"}
            self.charge(key, phone="+260961111114")
            self.later(wait_s)
            self.charge(key, phone="+260961111114")


def recording(file: Path, gaps: dict[str, Any] | None = None) -> Path:
    shop = Shop()
    with Workbench(seed=7, gaps=gaps, webhooks=shop) as bench:
        tour = Tour(bench, shop)
        for part in (tour.payments, tour.charges, tour.access, tour.kept, tour.events):
            part()
        bench.trace.save(file)
    return file


def partly(found: Evidence) -> dict[str, Value]:
    """The rows of which a part of one value was seen, and nothing else."""
    return {
        each.gap.name: value
        for each in found.findings
        for value in each.shown
        if each.result == "open" and not isinstance(value, Other)
    }


def switched(found: Evidence) -> dict[str, Value]:
    return Gaps.chosen({**found.values, **partly(found)}).changed()


@pytest.fixture(scope="module")
def default(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return recording(tmp_path_factory.mktemp("default") / "default.har")


@pytest.fixture(scope="module")
def several(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return recording(tmp_path_factory.mktemp("several") / "several.har", SWITCHED)


def contradicted(found: Evidence) -> list[Any]:
    return [each for each in found.findings if each.result == "contradicted"]


def foreign(found: Evidence) -> list[Any]:
    return [each for each in found.findings if any(isinstance(value, Other) for value in each.shown)]


PARTLY = {
    "currencies", "delivery_retry_after", "delivery_success", "endpoint_disable_after_s", "event_types",
    "extra_endpoints", "idempotency_keeps_errors", "key_revocation", "operator_mismatch", "required_fields",
    "token_credentials",
}  # fmt: skip
"""What the tour cannot show in whole: all currencies, statuses, events, operations and errors."""


def test_of_a_sandbox_at_its_defaults_nothing_is_switched_and_what_can_be_is_shown(default: Path):
    found = fit(default)
    assert (switched(found), contradicted(found), foreign(found)) == ({}, [], [])
    unseen = {gap.name for gap in REGISTER if {None, gap.default} & {*gap.unseen}}
    assert {each.gap.name for each in found.findings if not each.shown} == unseen
    assert {*partly(found)} == PARTLY


def test_several_rows_are_found_and_none_is_invented(several: Path):
    found = fit(several)
    assert (switched(found), contradicted(found), foreign(found)) == (SWITCHED, [], [])
    assert fit(several.parent).toml == found.toml


@pytest.mark.thorough
@pytest.mark.parametrize("values", [*SEEN, *UNSEEN], ids=str)
def test_an_alternative_is_found_alone_where_traffic_shows_it(values: dict[str, Value], tmp_path: Path):
    found = fit(recording(tmp_path / "one.har", values))
    assert (switched(found), contradicted(found), foreign(found)) == (values if values in SEEN else {}, [], [])


# What it says, and the ways to ask


def test_the_command_writes_the_rows_and_a_letter_that_asks_to_confirm_them(several: Path, tmp_path: Path):
    rows, letter = tmp_path / "rows.toml", tmp_path / "letter.md"
    table = invoke("fit", several, "--out", rows, "--letter", letter)
    assert table.exit_code == 0
    assert [line for line in table.stdout.splitlines() if len(line) > 80] == []
    assert "major (several.har #" in table.stdout
    assert Gaps.chosen(read_toml(rows.read_bytes())).changed() == SWITCHED
    asked = letter.read_text()
    assert "- We saw: major units: 150 is 150.00 ZMW. Is that right?" in asked
    assert "We assume: 2.5 % half-up" in asked
    assert len(asked.partition("## Appendix")[0].split()) <= 700
    with Workbench(seed=7, gaps=fit(several).values) as bench:
        assert {row["name"]: row["value"] for row in bench.gaps if row.is_changed} == SWITCHED


def entry(method: str, url: str, status: int, asked: object, body: object, **headers: str) -> dict[str, Any]:
    sent = [{"name": name.replace("_", "-"), "value": value} for name, value in headers.items()]
    return {
        "startedDateTime": "2026-01-05T06:00:00Z",
        "request": {"method": method, "url": url, "headers": sent, "postData": {"text": json.dumps(asked)}},
        "response": {"status": status, "headers": [], "content": {"text": json.dumps(body)}},
    }


def saved(file: Path, *entries: dict[str, Any]) -> Path:
    file.write_text(json.dumps({"log": {"version": "1.2", "entries": entries}}), "utf-8-sig")  # as some proxies save it
    return file


CHARGES = "https://live.example/pay/v1/charges"


def test_two_values_of_a_row_contradict_each_other_and_a_foreign_one_is_told(tmp_path: Path):
    answers = [{"id": f"c{each}", "status": "succeeded", "channel": name, "provider": name}
               for each, name in enumerate(("mtn", "MTN_MOMO_ZMB"))]  # fmt: skip
    hook = entry(
        "POST", "https://shop.example/in", 200, {"event": "payment.done", "charge": {}}, {}, x_pay_signature="a1"
    )
    file = saved(
        tmp_path / "a.har", *[entry("POST", CHARGES, 200, {"phone": "+260961234567"}, each) for each in answers], hook
    )
    found = {each.gap.name: each for each in fit(file).findings}
    assert (found["operator_ids"].result, [*found["operator_ids"].shown]) == ("contradicted", ["short", "long"])
    assert found["operator_ids"].value is None
    assert [*found["event_types"].shown] == [Other("payment.done")]
    assert [*found["signature_scheme"].shown] == [Other("the header x-pay-signature")]
    told = fit(file).toml
    assert '# operator_ids = "short"  # a.har #1: contradicted' in told
    assert '# event_types = "payment.done"  # a.har #3: none of ours' in told
    assert "none of ours: payment.done" in invoke("fit", file).stdout
    assert {"operator_ids", "event_types"}.isdisjoint(read_toml(told.encode()))
    assert fit(file).seen["event_types"] == "payment.done. Is that right?"
    assert fit(file).seen["operator_ids"].endswith("Which is right?")


INTENTS = CHARGES.replace("charges", "payment_intents")
PHONE = "+260961234567"
HOOK = {"webhook-id": "e", "webhook-timestamp": "1767592800", "webhook-signature": "v1,c2lnbmF0dXJl"}


def asked(status: int, told: object = None, url: str = INTENTS, **fields: object) -> dict[str, Any]:
    body = told if told is not None else {"id": "x", **fields} if status < 300 else {"message": f"wrong: {[*fields]}"}
    return entry("POST", url, status, fields, body, Authorization="Bearer sk_test_a")


def charged(status: int, amount: int) -> dict[str, Any]:
    return asked(status, None, CHARGES, amount=amount)


def charged_for(intent_amount: int, amount: int) -> list[dict[str, Any]]:
    """An intent and its charge, whose amounts show the unit of charges."""
    charge = {"id": "c", "payment_intent": "x", "amount": amount}
    return [asked(200, {"id": "x"}, amount=intent_amount), asked(200, charge, CHARGES, phone=PHONE)]


def at(moment: str, made: dict[str, Any], **answers: str) -> dict[str, Any]:
    """An exchange at a moment of January 2026, with headers of its response."""
    made["response"]["headers"] = [{"name": each.replace("_", "-"), "value": value} for each, value in answers.items()]
    return {**made, "startedDateTime": f"2026-01-{moment}Z"}


def hook(status: int, time: str, name: str = "charge.succeeded", **answers: str) -> dict[str, Any]:
    told = {"id": "e", "type": name, "data": {}}
    return at(f"05T{time}", entry("POST", "https://shop.example/in", status, told, {}, **HOOK), **answers)


def with_key(moment: str, status: int = 200, **answers: str) -> dict[str, Any]:
    told = {"amount": 100, "phone": PHONE}
    return at(moment, entry("POST", CHARGES, status, told, {"id": "c"}, Idempotency_Key="k"), **answers)


IN_PART: dict[str, tuple[str, Value, list[dict[str, Any]]]] = {
    "0.50 is rejected": ("amount_bounds", "1_to_20000", [asked(400, amount=0.5)]),
    "0.50 is accepted": ("amount_bounds", "none", [asked(200, amount=0.5)]),
    "30000.00 is rejected": ("amount_bounds", "1_to_20000", [asked(200, amount=1), asked(400, amount=30_000)]),
    "0.49 is rejected": ("amount_bounds", "1_to_20000", [charged(400, 49), charged(200, 2_000_000)]),
    "0.48 is accepted": ("amount_bounds", "none", [charged(200, 48), *charged_for(2, 200)]),
    "30001.00 is accepted": ("amount_bounds", "none", [charged(200, 30_001), *charged_for(2, 2)]),
    "EUR is accepted": ("currencies", "iso4217", [asked(200, currency="EUR", amount=5)]),
    "EUR is rejected": ("currencies", "zmw", [asked(400, currency="EUR", amount=5)]),
    "zmw for an intent is rejected": ("currency_case", "strict", [asked(400, currency="zmw", amount=5)]),
    "a charge without a reference is rejected": (
        "required_fields", "with_reference", [asked(400, {"message": "reference"}, CHARGES, amount=5)]),
    "MTN_MOMO_ZMB": ("operator_ids", "long", [asked(200, {"id": "c", "provider": "MTN_MOMO_ZMB"}, CHARGES)]),
    "a 98 is accepted": ("zed_mobile", "zed", [asked(200, None, CHARGES, phone="+260981234567", channel="zed")]),
    "more than two decimals are accepted": (
        "intent_amount_scale", "half_even", [asked(200, {"id": "x", "amount": 10.01}, amount=10.0067)]),
    "half a ngwee goes up": (
        "intent_amount_scale", "half_even", [asked(200, {"id": "x", "amount": 10.02}, amount=10.015)]),
    "a number of another operator is accepted": (
        "operator_mismatch", "accepted", [asked(200, None, CHARGES, phone=PHONE, channel="airtel", provider="airtel")]),
    "the intent, without a prompt": (
        "confirm_response", "intent", [asked(200, {"id": "x", "client_secret": "s"}, f"{INTENTS}/x/confirm")]),
    "an object error": ("error_format", "envelope", [asked(400, {"error": {"reason": "no"}}, amount=5)]),
    "GET /v1/balance is rejected": (
        "extra_endpoints", "absent", [entry("GET", CHARGES.replace("charges", "balance"), 404, {}, {})]),
    "charge.succeeded": ("event_types", "by_object", [hook(200, "06:00:00")]),
    "collection.failed": ("event_types", "collection", [hook(200, "06:00:00", "collection.failed")]),
    "waits of 1800 s": (
        "retry_schedule_s", (0, *(1800,) * 48),
        [hook(500, "06:00:00"), hook(200, "06:30:00", idempotent_replayed="true"), hook(200, "09:30:00")]),
    "204 is retried": ("delivery_success", "200_201_202", [hook(204, "06:00:00"), hook(200, "06:00:05")]),
    "Retry-After": (
        "delivery_retry_after", "honoured", [hook(502, "06:00:00", retry_after="100"), hook(200, "06:01:50")]),
    "an endpoint is disabled": (
        "endpoint_disable_after_s", 432_000, [hook(200, "06:00:00", "webhook_endpoint.disabled")]),
    "a rolled key works on for some time": (
        "key_rotation", "overlap", [asked(200, {"id": "k", "works_until": 9, "created": 3}, "https://a.example/v1/api_keys/k/roll")]),
    "401 key_revoked": ("key_revocation", "at_once", [asked(401, {"code": "key_revoked"})]),
    "the API registers one": (
        "endpoint_registration", "api", [asked(200, None, "https://a.example/v1/webhook_endpoints")]),
    "two accounts are let in": (
        "token_credentials", "any",
        [asked(200, None, "https://a.example/v1/auth/token", email=f"{name}@a.example") for name in "ab"]),
    "a payout that no request made": ("payouts", "daily", [hook(200, "06:00:00", "payout.created")]),
    "known after 100000 s": (
        "idempotency_retention_s", 2_592_000,
        [with_key("05T00:00:00"), with_key("06T03:46:40", idempotent_replayed="true")]),
    "forgotten after 43200 s": (
        "idempotency_retention_s", 21_600, [with_key("05T00:00:00"), with_key("05T12:00:00")]),
    "in no response": ("version_header", "none", [asked(200, amount=5)]),
}  # fmt: skip
"""What some exchanges show → the row, the value that says more, and the exchanges."""


@pytest.mark.parametrize("seen", IN_PART)
def test_what_shows_a_part_of_a_value_does_not_show_the_value(seen: str, tmp_path: Path):
    name, value, exchanges = IN_PART[seen]
    file = saved(tmp_path / "a.har", *exchanges)
    (found,) = [each for each in fit(file).findings if each.gap.name == name]
    (told,) = found.says
    assert (found.result, found.value, [*found.shown]) == ("open", None, [value])
    assert told[0] == f"{seen}: consistent with {written(value)}, not shown"
    assert name not in read_toml(fit(file).toml.encode())
    assert seen in fit(file).seen[name]


def made_at(time: str, event_id: str = "e", came: str = "06:00:00", status: int = 200) -> dict[str, Any]:
    """An event that was made at this time, and came at 06:00:00 or later."""
    about = {"timestamp": f"2026-01-05T{time}Z", "data": {"object": {"id": "c"}}}
    event = {"id": event_id, "type": "charge.succeeded", **about}
    return at(f"05T{came}", entry("POST", "https://shop.example/in", status, event, {}, **HOOK))


MADE_S = 1_767_592_800
"""2026-01-05 06:00:00 UTC."""
TIMED = {"prompt_timeout_s", "lateness", "ordering"}


def refreshed(length: str) -> dict[str, Any]:
    """A refresh whose request was not saved, of a length."""
    url = "https://live.example/v1/auth/refresh"
    refresh = entry("POST", url, 200, {}, {"access_token": "a"}, Authorization="Bearer a", Content_Length=length)
    del refresh["request"]["postData"]
    return refresh


REPLAY = at("05T06:01:00", entry("POST", "https://live.example/v1/events/e/replay", 200, {}, {"data": []}))
MOVED = {"id": "c", "channel": "mtn", "provider": "airtel"}
SHOWN: dict[str, tuple[str, Value | Other | None, list[dict[str, Any]]]] = {
    "an amount that is rounded in no known way": (
        "intent_amount_scale", Other("10.015 becomes 10.01"),
        [asked(200, {"id": "x", "amount": 10.01}, amount=10.015)]),
    "an amount of two decimals": ("intent_amount_scale", None, [asked(200, {"id": "x", "amount": 1.05}, amount=1.05)]),
    "a charge of 0.50 or of 50.00": ("amount_bounds", None, [charged(200, 50)]),
    "the bounds of charges": ("amount_bounds", "1_to_20000", [
        *(charged(200, amount) for amount in (100, 2_000_000)), *(charged(400, amount) for amount in (99, 2_000_001))]),
    "a refused negative amount": ("amount_bounds", None, [asked(422, amount=-5), charged(400, -500)]),
    "an accepted negative amount": ("amount_bounds", Other("-5.00 is accepted"), [asked(200, amount=-5)]),
    "bounds of no value": (
        "amount_bounds", Other("0.50 is accepted, 30000.00 is rejected"),
        [asked(200, amount=0.5), asked(400, amount=30_000)]),
    "a channel of the number's operator": (
        "channel_and_provider", Other("channel mtn and provider airtel for airtel and a number of mtn"),
        [asked(200, None, CHARGES, phone=PHONE, channel="airtel")
         | {"response": entry("", "", 200, {}, MOVED)["response"]}]),
    "an error of another form": (
        "error_format", Other("members errors"), [asked(400, {"errors": [{"reason": "no"}]}, amount=5)]),
    "an event of another form": ("event_payload", Other("members id, type, data"), [hook(200, "06:00:00")]),
    "a 429 without a policy": ("rate_limit", Other("429, with no policy told"), [asked(429)]),
    "a policy of ours": (
        "rate_limit", "100_per_60", [at("05T06:00:00", asked(200), ratelimit_policy='"a";q=100;w=60')]),
    "another policy": (
        "rate_limit", Other('"a";q=5;w=1'), [at("05T06:00:00", asked(429), ratelimit_policy='"a";q=5;w=1')]),
    "a state that is added": ("intent_states", "failed", [asked(200, {"id": "x", "status": "failed"})]),
    "a state that stands for it": ("intent_states", "retryable", [
        asked(200, {"id": "x", "status": "requires_payment_method", "last_payment_error": {"code": "wrong_pin"}})]),
    "a state of both": ("intent_states", None, [asked(200, {"id": "x", "status": "requires_payment_method"})]),
    "a foreign state": ("intent_states", Other("the state on_hold"), [asked(200, {"id": "x", "status": "on_hold"})]),
    "an event that came late": ("lateness", "thirty_seconds", [made_at("05:59:30")]),
    "an event that came before it was made": ("lateness", None, [made_at("06:00:20")]),
    "an event of a clock that was moved": ("lateness", "at_once", [
        at("05T06:00:00", asked(200, {"id": "x", "created": MADE_S})), made_at("06:00:00"), made_at("06:01:00")]),
    "a charge that waited": ("charge_wait", "answered", [asked(200, {"id": "c", "status": "succeeded"}, CHARGES)]),
    "a charge that is pending for ever": ("charge_wait", None, [asked(200, {"id": "c", "status": "pending"}, CHARGES)]),
    "a pending charge that is asked for again": (
        "charge_wait", None, [asked(200, {"id": "c", "status": "pending"}, CHARGES)] * 2),
    "a receiver's own 429": ("rate_limit", None, [hook(429, "06:00:00")]),
    "a receiver's own headers": (
        "deprecation", None, [hook(200, "06:00:00", deprecation="@1", sunset="Mon, 05 Jan 2026 06:00:00 GMT")]),
    "a replay after a 410": ("delivery_gone", None, [hook(410, "06:00:00"), REPLAY, hook(200, "06:01:01")]),
    "a replay after a 500": ("retry_schedule_s", None, [
        hook(500, "06:00:00"), REPLAY, hook(200, "06:01:01"), at("09T06:00:00", asked(200))]),
    "a replay after a younger event": ("ordering", None, [
        made_at("06:00:00", status=500), made_at("06:00:01", "younger", "06:00:01"), REPLAY,
        made_at("06:00:00", came="06:01:01")]),
    "a charge whose response was not saved": ("charge_wait", None, [asked(200, ["no", "body"], CHARGES)]),
    "a refresh without a body": ("refresh_request", "body_or_header", [refreshed("0")]),
    "a refresh whose body was not saved": ("refresh_request", None, [refreshed("42")]),
    "an intent that shows no amount, and its charge": ("charge_amount_unit", "minor", [
        asked(200, {"id": "pi"}, amount=87.35),
        entry("GET", f"{CHARGES}/c", 200, {}, {"id": "c", "payment_intent": "pi", "amount": 8735})]),
    "a call that was refused the second time": (
        "idempotency_retention_s", None, [with_key("05T06:00:00"), with_key("05T06:00:02", 503)]),
}  # fmt: skip
"""Some exchanges → the row, and what they show of it: a value, what fits no value, or nothing."""


@pytest.mark.parametrize("exchanges", SHOWN)
def test_what_exchanges_show_of_a_row_is_told_as_it_is(exchanges: str, tmp_path: Path):
    row, shown, entries = SHOWN[exchanges]
    (found,) = [each for each in fit(saved(tmp_path / "a.har", *entries)).findings if each.gap.name == row]
    assert [*found.shown] == [shown] * (shown is not None)
    assert found.value == (None if isinstance(shown, Other) else shown)


def test_the_difference_of_two_clocks_shows_no_row(tmp_path: Path):
    at_once = made_at("06:00:00")
    for apart_s in (0, 90, -90):
        created = MADE_S - apart_s
        prompt = {"ussd_prompt": {"expires_at": created + 60}}
        made = at("05T06:00:00", asked(201, {"id": "pi", "created": created}))
        confirmed = at("05T06:00:00", asked(200, {"id": "pi", "next_action": prompt}, f"{INTENTS}/pi/confirm"))
        found = fit(saved(tmp_path / "a.har", made, confirmed, at_once))
        times = {"prompt_timeout_s": 60, "lateness": "at_once"} if apart_s == 0 else {}
        shown = {each.gap.name for each in found.findings if each.shown}
        assert {name: value for name, value in found.values.items() if name in TIMED} == times
        assert shown & TIMED == {*times}
        note = "The service's and the recorder's clocks are 1 min 30 s apart."
        assert [note in " ".join(text.split()) for text in (repr(found), found.toml)] == [apart_s != 0] * 2


def test_an_event_that_comes_a_year_late_shows_only_that_two_clocks_differ(tmp_path: Path):
    file = saved(tmp_path / "a.har", made_at("06:00:00") | {"startedDateTime": "2027-01-05T06:00:00Z"})
    assert "clocks are 365 d apart" in fit(file).toml
    assert not {each.gap.name for each in fit(file).findings if each.shown} & TIMED


def test_a_comment_with_a_value_seen_in_part_is_toml_without_its_mark(tmp_path: Path):
    charge = {"id": "c", "status": "succeeded", "channel": "mtn", "provider": "mtn"}
    told = fit(saved(tmp_path / "a.har", asked(200, charge, CHARGES, phone=PHONE))).toml
    line = next(line for line in told.splitlines() if "operator_ids" in line)
    assert line == '# operator_ids = "short"  # a.har #1: mtn: consistent with short, not shown'
    values = read_toml(told.replace(line, line.removeprefix("# ")).encode())
    assert Gaps.chosen(values).operator_ids == values["operator_ids"] == "short"


def of_any(_method: str, _url: str) -> About:
    return "", (), None


SECRETS = ("sk_live_51ABCDEF", "+260961234567", "0961234567", "eyJhbGciOi", "s3cret-value", "Zm9vOmJhcg0000", "sid=abc")


def test_secrets_and_numbers_are_masked_before_anything_looks(tmp_path: Path):
    asked = {"phone": SECRETS[1], "note": SECRETS[2], "password": SECRETS[4], "refresh_token": SECRETS[3]}
    body = {"token": SECRETS[3], "data": {"signing_secret": SECRETS[4]}, "status": SECRETS[0], "api_key": SECRETS[4]}
    heads = {
        "Authorization": f"Bearer {SECRETS[0]}",
        "Cookie": SECRETS[6],
        "X_Api_Key": SECRETS[4],
        "Proxy_Authorization": f"Basic {SECRETS[5]}",
    }
    url = f"https://shop:{SECRETS[4]}@live.example/v1/charges?phone={SECRETS[2]}&api_key={SECRETS[4]}"
    form = entry("POST", url, 200, {}, {})
    form["request"]["postData"]["text"] = f"grant=a&client_secret={SECRETS[4]}&phone={SECRETS[2]}"
    file = saved(tmp_path / "a.har", entry("POST", url, 200, asked, body, **heads), form)
    read, posted = recorded(file, of_any)
    told = repr((vars(read), vars(posted)))
    assert [each for each in SECRETS if each in told] == []
    assert posted.request.text == "grant=a&client_secret=••••&phone=096••••567"
    assert "Bearer sk_" in told
    shown = repr(fit(file)) + fit(file).toml + invoke("fit", file).stdout
    assert [each for each in SECRETS if each in shown] == []


FORM = "application/x-www-form-urlencoded; charset=UTF-8"


@pytest.mark.parametrize(
    ("media_type", "sent", "read"),
    [
        (FORM, 'client%5Fsecret=a b"#c&grant=a', "client%5Fsecret=••••&grant=a"),
        (FORM, "grant=a&pin=1234&a=b", "grant=a&pin=••••&a=b"),
        (FORM, '{"client_secret": "a&b"}', '{"client_secret": "••••"}'),
        (None, "access_token=abc&scope=a", "access_token=••••&scope=a"),
        ("text/html", "<a href='https://a.example/?a=b&id_token=abc#jwt=abc'>", "<a href='https://a.example/?a=b&id_token=••••#jwt=••••"),
        ("text/plain", "a sentence = of words & token signs", "a sentence = of words & token signs"),
    ],
)  # fmt: skip
def test_a_form_is_read_as_a_server_reads_it(tmp_path: Path, media_type: str | None, sent: str, read: str):
    posted = entry("POST", "https://live.example/?pin=1234", 200, {}, {})
    posted["request"]["postData"] = {"text": sent, "mimeType": media_type}
    (found,) = recorded(saved(tmp_path / "a.har", posted), of_any)
    assert found.request.text.startswith(read)
    assert found.url == "https://live.example/?pin=••••"


@pytest.mark.parametrize(
    ("media_type", "piece"),
    [
        *((FORM, piece) for piece in ("&", "&secret=", "#=")),
        *(
            ("text/plain", piece)
            for piece in ("?", "?" * 59 + "token", "?jwt", "&secret=", '"secret', "\\", "0961234567 ")
        ),
    ],
)
def test_no_text_stalls_the_reader(tmp_path: Path, media_type: str, piece: str):
    def taken_s(text: str) -> float:
        posted = entry("POST", "https://live.example/", 200, {}, {})
        posted["request"]["postData"] = {"text": text, "mimeType": media_type}
        file = saved(tmp_path / "a.har", posted)
        times = []
        for _ in range(3):
            began = time.process_time()
            assert len([*recorded(file, of_any)]) == 1
            times.append(time.process_time() - began)
        return min(times)

    short, long = (taken_s((piece * size)[:size]) for size in (32_000, 256_000))
    # Eight times as long a text: a search that begins anew at each character takes 64 times as long.
    assert long < 24 * max(short, 0.001)
    assert short < 300 * max(taken_s("grant=a "), 0.0001)


def as_browsers_save(entry: dict[str, Any]) -> None:
    heads = [{"name": ":authority", "value": "live.example"}, {"name": "x-none", "value": None}]
    entry["request"] |= {"httpVersion": "http/2.0", "headers": [*heads, *entry["request"]["headers"]]}
    entry |= {"_priority": "High", "pageref": "page_1"}
    content = entry["response"]["content"]
    content |= {"text": base64.b64encode(content["text"].encode()).decode(), "encoding": "base64"}


def without_requests(entry: dict[str, Any]) -> None:
    size = len(entry["request"].pop("postData", {"text": ""})["text"])
    entry["request"]["headers"].append({"name": "content-length", "value": str(size)})


def without_responses(entry: dict[str, Any]) -> None:
    entry["response"]["content"] = {"size": 0, "mimeType": "x-unknown"}


def altered(file: Path, alter: Callable[[dict[str, Any]], None], source: Path) -> Evidence:
    entries = json.loads(source.read_text())["log"]["entries"]
    for each in entries:
        alter(each)
    return fit(saved(file, *entries))


def test_what_browsers_add_changes_nothing(several: Path, tmp_path: Path):
    assert altered(tmp_path / several.name, as_browsers_save, several) == fit(several)


@pytest.mark.parametrize(
    ("alter", "hidden"),
    [
        (without_requests, {"unknown_fields", "client_secret_on_confirm"}),
        (without_responses, {"intent_fields", "pagination"}),
    ],
)
def test_a_body_that_was_not_saved_shows_nothing(
    alter: Callable[[dict[str, Any]], None], hidden: set[str], several: Path, tmp_path: Path
):
    whole = {each.gap.name: [*each.shown] for each in fit(several).findings}
    found = altered(tmp_path / several.name, alter, several)
    assert [each.gap.name for each in found.findings if not {*each.shown} <= {*whole[each.gap.name]}] == []
    assert hidden.isdisjoint(found.values)


def test_of_many_small_exchanges_the_first_are_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("workbench.traffic.evidence.MOST_TEXT", 20_000)
    charge = entry("POST", CHARGES, 200, {}, {"id": "c", "status": "succeeded"})
    found = fit(saved(tmp_path / "a.har", *[charge] * 50))
    assert (found.read, found.left_out) == (5, True)
    assert "there were more" in " ".join(repr(found).split())


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "is empty"),
        ("not JSON at all", "is not JSON"),
        ('{"log": {"version": "1.2", "entries": [{"request": {"method": "GET", "url"', "cut off"),
        ('{"data": []}', "bench.trace.save('trace.har')"),
        ('{"log": {"entries": "none"}}', "not a HAR"),
        ('{"log": {"entries": []}}', "Nothing of this interface"),
        ("[" * 100_000, "not a HAR"),
        ('{"a": ' + "[" * 100_000, "not a HAR"),
    ],
)
def test_what_is_no_recording_is_refused_with_what_to_do(text: str, told: str, tmp_path: Path):
    file = tmp_path / "x.har"
    file.write_text(text)
    done = invoke("fit", file)
    assert (done.exit_code, told in done.stderr, "Traceback" in done.stderr) == (2, True, False)


def test_another_services_recording_a_folder_of_nothing_and_no_file_are_refused(tmp_path: Path):
    saved(tmp_path / "other.har", entry("GET", "https://weather.example/v2/rain", 200, {}, {"mm": 3}),
                  entry("POST", "https://weather.example/v2/login", 200, {"type": "a.b"}, {}))  # fmt: skip
    (tmp_path / "empty").mkdir()
    places = {"other.har": "Nothing of this interface", "none.har": "cannot be read", "empty": "no .har file"}
    for place, told in places.items():
        with pytest.raises(TrafficRefused, match=told):
            fit(tmp_path / place)
    assert invoke("fit", "--out", "rows.toml").exit_code == 2


def test_every_row_has_a_sign_or_a_reason_in_its_entry():
    for gap in REGISTER:
        assert {*gap.unseen} <= {None, gap.default, *gap.alternatives}, gap.name
        assert bool(gap.sign or gap.together) is (None not in gap.unseen), gap.name
    assert {*TOGETHER} == {gap.together for gap in REGISTER} - {""}


def test_beside_the_entry_a_row_is_named_only_by_the_function_that_its_entry_names():
    named = {*re.findall(r'"(\w+)"', inspect.getsource(evidence))} & {gap.name for gap in REGISTER}
    assert named == {gap.name for gap in REGISTER if gap.together}


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(max_size=5)
    | st.sampled_from(["1e9999", "0.001", "2026-01-01"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["id", "object", "data"]), inner),
    max_leaves=4,
)


@pytest.mark.thorough
@given(data=st.data())
def test_whatever_stands_in_a_body_is_looked_at_without_a_fault(data: st.DataObject, default: Path):
    entries = json.loads(default.read_text())["log"]["entries"][:50]
    for each in data.draw(st.lists(st.sampled_from(entries), min_size=2, max_size=4)):
        place = data.draw(st.sampled_from([each["response"]["content"], each["request"].get("postData", {})]))
        try:
            body = json.loads(place.get("text", ""))
        except ValueError:
            continue
        within, inner, name = body, body, ""
        while isinstance(inner, dict) and inner:
            within, name = inner, data.draw(st.sampled_from([*inner]))
            inner = within[name]
        within[name] = data.draw(JSON)
        place["text"] = json.dumps(body).replace('"1e9999"', "1e9999")
    file = default.with_name("changed.har")
    assert fit(saved(file, *entries)).read


@pytest.mark.thorough
def test_half_a_gigabyte_is_read_with_little_memory(tmp_path: Path):
    file, charge = (
        tmp_path / "large.har",
        json.dumps(entry("POST", CHARGES, 200, {}, {"id": "c", "status": "succeeded"})),
    )
    filler = json.dumps(entry("GET", "https://shop.example/film", 200, {}, "x" * 2**20))
    with file.open("w") as written:
        written.write('{"log": {"version": "1.2", "entries": [')
        for _ in range(500):
            written.write(f"{filler}, ")
        written.write(f"{charge}]}}}}")
    tracemalloc.start()
    found = fit(file)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (found.values["charge_wait"], found.read) == ("answered", 1)
    assert peak < 32 * 2**20
