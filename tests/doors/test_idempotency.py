"""Idempotency keys on every POST: the same answer again, nothing done twice, and no secret kept."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.conftest import Shop
    from workbench import Workbench

INTENT = {"amount": 1, "currency": "ZMW", "payment_method_types": ["mobile_money"]}
HOOK = {"url": "http://127.0.0.1:9/hooks"}


def method_on(phone: str) -> dict[str, object]:
    return {"payment_method": {"type": "mobile_money", "mobile_money": {"phone": phone, "provider": "mtn"}}}


def hook(shop: "Shop") -> str:
    return str(shop.post("/v1/webhook_endpoints", HOOK).json()["id"])


def event(shop: "Shop") -> str:
    shop.intent()
    return str(shop.read("/v1/events")["data"][0]["id"])


def delivery(shop: "Shop") -> str:
    hook(shop)
    shop.intent()
    return str(shop.read("/v1/deliveries")["data"][0]["id"])


# Each POST → its path and two bodies.
POSTS: dict[str, Callable[["Shop"], tuple[str, object, object]]] = {
    "payment_intents": lambda _: ("/v1/payment_intents", INTENT, {**INTENT, "amount": 2}),
    "confirm": lambda shop: (
        f"/v1/payment_intents/{shop.intent()}/confirm", method_on("+260961111111"), method_on("+260962222222")),
    "cancel": lambda shop: (
        f"/v1/payment_intents/{shop.intent()}/cancel", {}, {"cancellation_reason": "out of stock"}),
    "charges": lambda shop: ("/v1/charges", *(
        {"amount": minor, "currency": "zmw", "type": "mobile_money", "channel": "mtn", "phone": shop.new_number()}
        for minor in (1, 2))),
    "refunds": lambda shop: ("/v1/refunds", *({"charge": shop.charge(), "amount": minor} for minor in (1, 2))),
    "payouts": lambda _: ("/v1/payouts", {"amount": 1, "currency": "ZMW"}, {"amount": 2, "currency": "ZMW"}),
    "webhook_endpoints": lambda _: ("/v1/webhook_endpoints", HOOK, {**HOOK, "enabled_events": ["charge.*"]}),
    "roll_secret": lambda shop: (f"/v1/webhook_endpoints/{hook(shop)}/roll_secret", None, {}),
    "replay_event": lambda shop: (f"/v1/events/{event(shop)}/replay", None, {}),
    "replay_delivery": lambda shop: (f"/v1/deliveries/{delivery(shop)}/replay", None, {}),
    "replay_dead_letters": lambda _: ("/v1/dead_letters/replay", None, {}),
    "api_keys": lambda _: ("/v1/api_keys", {"kind": "secret"}, {"kind": "publishable"}),
    "roll": lambda shop: (f"/v1/api_keys/{shop.post('/v1/api_keys').json()['id']}/roll", None, {}),
}  # fmt: skip
ONCE = {"webhook_endpoints": "secret", "roll_secret": "secret", "api_keys": "value", "roll": "value"}
"""What is shown once: kept nowhere, it is missing when the answer is given again."""
BY_POST = pytest.mark.parametrize("post", POSTS)


def counts(shop: "Shop") -> list[int]:
    names = ("payment_intents", "charges", "refunds", "payouts", "events", "webhook_endpoints", "api_keys")
    return [len(shop.read(f"/v1/{name}?limit=100")["data"]) for name in names]


def prepared(shop: "Shop", post: str) -> tuple[str, object, object]:
    shop.charge(10_000)
    shop.to_midnight()
    shop.advance(1)
    return POSTS[post](shop)


def send(shop: "Shop", path: str, body: object, key: str = "k") -> Any:  # noqa: ANN401  an httpx response
    return shop.post(path, body, Idempotency_Key=key)


@BY_POST
def test_the_same_again_gives_the_same_answer_and_changes_nothing(shop: "Shop", post: str):
    path, body, _ = prepared(shop, post)
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
    assert (counts(shop), len(shop.read("/sandbox/ledger/entries")["data"])) == (after, entries)


@BY_POST
def test_another_body_is_refused(shop: "Shop", post: str):
    path, body, other = prepared(shop, post)
    assert send(shop, path, body).status_code == 200
    before = counts(shop)
    refused = send(shop, path, other)
    assert (refused.status_code, refused.json()["code"]) == (422, "idempotency_key_reused")
    assert refused.json()["param"] == "Idempotency-Key"
    assert counts(shop) == before


@pytest.mark.parametrize("post", ["payment_intents", "charges", "refunds", "payouts", "webhook_endpoints", "api_keys"])
def test_a_day_later_it_is_a_new_request(shop: "Shop", post: str):
    path, body, _ = prepared(shop, post)
    first = send(shop, path, body).json()["id"]
    shop.advance(86_400)
    again = send(shop, path, body)
    assert (again.status_code, "Idempotent-Replayed" in again.headers) == (200, False)
    assert again.json()["id"] != first


@pytest.mark.parametrize(
    ("key", "again"),
    [("a b", '"a b"'), ("k" * 255, f'"{"k" * 255}"'), ('"a, b"', '"a, b"'), (r'"a\"b"', 'a"b'), (r'"a\\b"', "a\\b")],
    ids=range(5),
)
def test_a_key_in_quotes_is_the_one_without(shop: "Shop", key: str, again: str):
    assert [send(shop, "/v1/payment_intents", INTENT, each).status_code for each in (key, again)] == [200, 200]
    assert counts(shop)[0] == 1


def test_the_same_json_written_another_way_is_another_body(shop: "Shop"):
    assert send(shop, "/v1/payment_intents", INTENT).status_code == 200
    assert send(shop, "/v1/payment_intents", dict(reversed(INTENT.items()))).status_code == 422


def test_two_keys_are_none(served_bench: "Workbench"):
    """Over a socket; in process the client's transport keeps the last of two headers."""
    headers = [("Authorization", f"Bearer {served_bench.secret_key!s}"), *[("Idempotency-Key", each) for each in "ab"]]
    refused = served_bench.http.post("/v1/payment_intents", json=INTENT, headers=headers)
    assert (refused.status_code, refused.json()["code"]) == (400, "idempotency_key_invalid")


def test_what_was_refused_is_not_kept(shop: "Shop"):
    """A balance that did not reach may reach tomorrow."""
    shop.charge(10_000)
    body = {"amount": 1, "currency": "ZMW"}
    assert send(shop, "/v1/payouts", body).status_code == 409
    shop.to_midnight()
    shop.advance(1)
    assert send(shop, "/v1/payouts", body).status_code == 200


def test_no_secret_that_is_shown_once_is_in_a_kept_answer(shop: "Shop"):
    secrets = [send(shop, path, body).json() for path, body in (("/v1/api_keys", {}), ("/v1/webhook_endpoints", HOOK))]
    told = [send(shop, path, body).text for path, body in (("/v1/api_keys", {}), ("/v1/webhook_endpoints", HOOK))]
    for made, text in zip(secrets, told, strict=True):
        assert (made.get("value") or made.get("secret")) not in text
    # Whoever lost the first answer has the id, and rolls.
    key = secrets[0]["id"]
    assert shop.post(f"/v1/api_keys/{key}/roll").json()["value"]
