"""Every POST: the same key gets the same answer, nothing is done twice, no secret is kept, and what it may run into."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.conftest import INTENT, Shop, charge_of, method_on
from tests.doors.conftest import Wire

HOOK = {"url": "http://127.0.0.1:9/hooks", "enabled_events": ["payout.failed"]}
"""Of an event that does not happen here: nothing is tried again and again at every step of the clock."""


def hook(shop: Shop) -> str:
    return str(shop.post("/v1/webhook_endpoints", HOOK).json()["id"])


def event(shop: Shop) -> str:
    shop.intent()
    return str(shop.read("/v1/events")["data"][0]["id"])


def delivery(shop: Shop) -> str:
    shop.post("/v1/webhook_endpoints", {**HOOK, "enabled_events": ["payment_intent.created"]})
    shop.intent()
    return str(shop.read("/v1/deliveries")["data"][0]["id"])


# Each POST → its path and two bodies.
POSTS: dict[str, Callable[[Shop], tuple[str, object, object]]] = {
    "payment_intents": lambda _: ("/v1/payment_intents", INTENT, {**INTENT, "amount": 2}),
    "confirm": lambda shop: (
        f"/v1/payment_intents/{shop.intent()}/confirm", method_on("+260961111111"), method_on("+260962222222")),
    "cancel": lambda shop: (
        f"/v1/payment_intents/{shop.intent()}/cancel", {}, {"cancellation_reason": "out of stock"}),
    "charges": lambda shop: ("/v1/charges", *(charge_of(shop.new_number(), minor) for minor in (1, 2))),
    "refunds": lambda shop: ("/v1/refunds", *({"charge": shop.charge(), "amount": minor} for minor in (1, 2))),
    "payouts": lambda _: ("/v1/payouts", {"amount": 1, "currency": "ZMW"}, {"amount": 2, "currency": "ZMW"}),
    "webhook_endpoints": lambda _: ("/v1/webhook_endpoints", HOOK, {**HOOK, "enabled_events": ["charge.failed"]}),
    "roll_secret": lambda shop: (f"/v1/webhook_endpoints/{hook(shop)}/roll_secret", None, {}),
    "replay_event": lambda shop: (f"/v1/events/{event(shop)}/replay", None, {}),
    "replay_dead_letters": lambda _: ("/v1/dead_letters/replay", None, {}),
    "api_keys": lambda _: ("/v1/api_keys", {"kind": "secret"}, {"kind": "publishable"}),
    "roll": lambda shop: (f"/v1/api_keys/{shop.post('/v1/api_keys').json()['id']}/roll", None, {}),
    "replay_delivery": lambda shop: (f"/v1/deliveries/{delivery(shop)}/replay", None, {}),
}  # fmt: skip
ONCE = {"webhook_endpoints": "secret", "roll_secret": "secret", "api_keys": "value", "roll": "value"}
"""What is shown once: kept nowhere, it is missing when the answer is given again."""
UNNUMBERED = ("roll_secret", "replay_event", "replay_delivery", "replay_dead_letters")
"""What makes nothing that is counted."""


def counts(shop: Shop) -> list[int]:
    """What a POST makes is told by an event, but for endpoints and keys."""
    names = ("events", "webhook_endpoints", "api_keys")
    return [len(shop.read(f"/v1/{name}?limit=100")["data"]) for name in names]


def prepared(shop: Shop) -> None:
    """With money to pay out and to refund."""
    shop.charge(10_000)
    shop.to_midnight()
    shop.advance(1)


def send(shop: Shop, path: str, body: object, key: str = "k", **more: str) -> Any:  # noqa: ANN401  an httpx response
    return shop.post(path, body, Idempotency_Key=key, **more)


@pytest.mark.parametrize("post", POSTS)
def test_every_post(shop: Shop, post: str):
    prepared(shop)
    the_same_again_gives_the_same_answer_and_changes_nothing(shop, post)
    failed = (500, "service_failed")
    a_fault(shop, post, "conflict", (409, "idempotency_conflict"), kept=False, changes=False)
    a_fault(shop, post, "server_error", failed, kept=True, changes=False)
    a_fault(shop, post, "server_error_after", failed, kept=True, changes=True)
    an_unknown_scenario_is_refused(shop, post)


def the_same_again_gives_the_same_answer_and_changes_nothing(shop: Shop, post: str) -> None:
    path, body, other = POSTS[post](shop)
    first = send(shop, path, body)
    assert (first.status_code, "Idempotent-Replayed" in first.headers) == (200, False), first.text
    after, entries = counts(shop), len(shop.read("/sandbox/ledger/entries")["data"])
    again = send(shop, path, body)
    assert (again.status_code, again.headers["Idempotent-Replayed"]) == (200, "true")
    assert again.headers["Content-Type"] == first.headers["Content-Type"]
    if post in ONCE:
        assert ONCE[post] in first.json()
        assert first.headers["Cache-Control"] == again.headers["Cache-Control"] == "no-store"
        assert again.json() == {name: value for name, value in first.json().items() if name != ONCE[post]}
    else:
        assert again.content == first.content
    refused = send(shop, path, other)
    assert (refused.status_code, refused.json()["code"]) == (422, "idempotency_key_reused")
    assert refused.json()["param"] == "Idempotency-Key"
    assert (counts(shop), len(shop.read("/sandbox/ledger/entries")["data"])) == (after, entries)


def a_fault(shop: Shop, post: str, scenario: str, said: tuple[int, str], *, kept: bool, changes: bool) -> None:
    path, body, _ = POSTS[post](shop)
    before = counts(shop)
    failed = send(shop, path, body, scenario, Sandbox_Scenario=scenario)
    assert (failed.status_code, failed.json()["code"]) == said
    after = counts(shop)
    assert (after != before) == (changes and post not in UNNUMBERED)
    again = send(shop, path, body, scenario)
    assert ("Idempotent-Replayed" in again.headers) == kept
    if not kept:
        assert again.status_code == 200
        return
    assert (again.status_code, again.content) == (failed.status_code, failed.content)
    assert counts(shop) == after
    if not changes:
        assert send(shop, path, body, "another").status_code == 200


def an_unknown_scenario_is_refused(shop: Shop, post: str) -> None:
    path, body, _ = POSTS[post](shop)
    before = counts(shop)
    for asked in ("", "Approve", "nothing_of_the_kind", "bank_refused" if post != "payouts" else "approve"):
        refused = shop.post(path, body, Sandbox_Scenario=asked)
        assert (refused.status_code, refused.json()["code"]) == (400, "scenario_unknown"), asked
        assert "conflict" in refused.json()["detail"]
    assert counts(shop) == before


def test_where_no_scenario_is_offered_it_is_refused(shop: Shop):
    for asked in (
        "GET /v1/payment_intents", "GET /v1/balance", "GET /sandbox/clock", "POST /plants",
        "DELETE /v1/webhook_endpoints/we_x", "PATCH /v1/webhook_endpoints/we_x", "POST /sandbox/reset",
        "POST /v1/auth/token",
    ):  # fmt: skip
        for scenario in ("server_error", "approve"):
            refused = shop.call(*asked.split(), Sandbox_Scenario=scenario)
            assert (refused.status_code, refused.json().get("code", "scenario_unknown")) == (400, "scenario_unknown")
            assert "takes none" in refused.json()["message"]


def test_a_key_is_up_to_255_printable_characters_in_quotes_or_not(shop: Shop):
    for key, again in (
        ("a b", '"a b"'), ("k" * 255, f'"{"k" * 255}"'), ('"a, b"', '"a, b"'), (r'"a\"b"', 'a"b'),
        (r'"a\\b"', "a\\b"), ("~!", "~!"),
    ):  # fmt: skip
        first, second = (send(shop, "/v1/payment_intents", INTENT, each) for each in (key, again))
        assert (first.status_code, second.content) == (200, first.content), key
        assert "Idempotent-Replayed" not in first.headers


def test_a_replay_tells_a_publishable_key_nothing_and_an_event_names_the_key_as_it_was_sent(shop: Shop):
    intent, charge = shop.intent(), shop.charge(Idempotency_Key="0971234567")
    event = next(each for each in shop.read("/v1/events")["data"] if each["data"]["object"]["id"] == charge)
    assert event["request"]["idempotency_key"] == "0971234567"
    path, body = f"/v1/payment_intents/{intent}/confirm", method_on("+260961111111")
    assert send(shop, path, body).json()["client_secret"]
    assert shop.call("POST", path, body, key=shop.publishable, Idempotency_Key="k").status_code == 403


def test_the_same_json_written_another_way_is_another_body_and_on_another_path_it_is_another_key(shop: Shop):
    made = send(shop, "/v1/payment_intents", INTENT)
    assert send(shop, "/v1/payment_intents", dict(reversed(INTENT.items()))).status_code == 422
    confirming = f"/v1/payment_intents/{made.json()['id']}/confirm"
    assert send(shop, confirming, method_on("+260961111111")).json()["status"] == "requires_action"


def test_two_keys_or_one_that_is_not_ascii_are_none(wire: Wire):
    for keys in ([b"a", b"b"], ["Bäume".encode()]):
        headers = [*wire.bearer.items(), *(("Idempotency-Key", key) for key in keys)]
        refused = wire.bench.http.post("/v1/payment_intents", json=INTENT, headers=headers)
        assert (refused.status_code, refused.json()["code"]) == (400, "idempotency_key_invalid")


def test_what_was_refused_is_not_kept_and_a_failure_that_was_forgotten_is_kept_again(shop: Shop):
    """A balance that did not reach may reach tomorrow."""
    shop.charge(10_000)
    body = {"amount": 1, "currency": "ZMW"}
    for refused, status in (({**body, "amount": 0}, 400), (body, 409)):
        assert send(shop, "/v1/payouts", refused).status_code == status
    shop.to_midnight()
    for _ in range(2):
        assert send(shop, "/v1/payment_intents", INTENT, Sandbox_Scenario="server_error").status_code == 500
        shop.advance(86_400)
    assert send(shop, "/v1/payouts", body).status_code == 200
