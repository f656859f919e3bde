"""Canceling an intent, in each of its states."""

from typing import TYPE_CHECKING

import pytest

from workbench.errors import StateConflict

if TYPE_CHECKING:
    from tests.conftest import Shop

ASKED = ["payment_intent.created", "payment_intent.requires_action"]
WITHDRAWN = ["charge.failed", "payment_intent.canceled"]


def cancel(shop: "Shop", intent: str, **body: str):
    return shop.post(f"/v1/payment_intents/{intent}/cancel", body or None)


def holds(shop: "Shop", charge: str) -> tuple[str, str | None]:
    found = shop.read(f"/v1/charges/{charge}")
    return found["status"], found["failure_code"]


def test_before_it_is_confirmed(shop: "Shop"):
    intent = shop.intent()
    answer = cancel(shop, intent, cancellation_reason="out of stock")
    body = answer.json()
    assert (answer.status_code, body["status"], body["cancellation_reason"]) == (200, "canceled", "out of stock")
    assert body["canceled_at"] >= body["created"]
    assert shop.events() == ["payment_intent.created", "payment_intent.canceled"]
    told = shop.read("/v1/events")["data"][0]["data"]
    assert told["object"]["status"] == "canceled"
    assert told["previous_attributes"] == {"status": "requires_payment_method"}


def test_an_open_prompt_is_withdrawn(shop: "Shop"):
    intent, phone = shop.intent(), shop.new_number()
    shop.confirm(intent, phone)
    body = cancel(shop, intent).json()
    assert (body["status"], body["next_action"], body["last_payment_error"]) == ("canceled", None, None)
    assert holds(shop, body["latest_charge"]) == ("failed", "canceled_by_merchant")
    handset = shop.bench.phone(phone)
    assert not handset.waiting
    assert handset.screen == "MTN MoMo\nSHOP has canceled the request.\nNothing was paid."
    with pytest.raises(StateConflict, match="No prompt waits"):
        handset.enter_pin("1234")
    shop.advance(days=1)
    assert shop.events() == ASKED + WITHDRAWN
    assert shop.status(f"/v1/payment_intents/{intent}") == "canceled"
    assert shop.entries(intent) == []
    # One that was put away is withdrawn too.
    another = shop.intent()
    shop.confirm(another, phone)
    handset.ignore()
    assert cancel(shop, another).json()["status"] == "canceled"
    shop.advance(400)
    assert shop.events() == 2 * (ASKED + WITHDRAWN)


def test_before_a_number_acts_nothing_more_comes_of_it(shop: "Shop"):
    intents = [shop.intent() for _ in range(4)]
    for intent, ending in zip(intents, ("0000001", "0000005", "0000010", "0000012"), strict=True):
        shop.confirm(intent, f"+26096{ending}")
        assert cancel(shop, intent).status_code == 200
    before = shop.events()
    assert sorted(before) == sorted(4 * (ASKED + WITHDRAWN))
    shop.advance(400)
    assert shop.events() == before
    assert [shop.entries(intent) for intent in intents] == [[]] * 4


def test_before_the_operator_refuses_no_prompt_was_there_to_withdraw(shop: "Shop"):
    for scenario in ("payer_not_found", "payer_busy", "operator_unavailable"):
        intent, phone, before = shop.intent(), shop.new_number(), len(shop.events())
        shop.confirm(intent, phone, Sandbox_Scenario=scenario)
        body = cancel(shop, intent).json()
        assert body["status"] == "canceled"
        assert holds(shop, body["latest_charge"]) == ("failed", "canceled_by_merchant")
        assert shop.bench.phone(phone).screen == "(no message)"
        shop.advance(400)
        assert shop.events()[before:] == [ASKED[1], *WITHDRAWN]


def asked_on(shop: "Shop", ending: str) -> str:
    """An intent, confirmed on a test number five seconds ago."""
    intent = shop.intent()
    shop.confirm(intent, f"+26096{ending}")
    shop.advance(5)
    return intent


def test_after_a_failed_attempt(shop: "Shop"):
    body = cancel(shop, asked_on(shop, "0000004")).json()
    assert (body["status"], body["last_payment_error"]["code"]) == ("canceled", "declined_by_customer")
    assert shop.events()[-1] == "payment_intent.canceled"


def test_where_it_is_too_late(shop: "Shop"):
    canceled = shop.intent()
    cancel(shop, canceled)
    late = {"processing": asked_on(shop, "0000012"), "succeeded": asked_on(shop, "0000001"), "canceled": canceled}
    before = shop.events()
    for status, intent in late.items():
        for refused in (cancel(shop, intent), shop.confirm(intent, shop.new_number())):
            assert (refused.status_code, refused.json()["current"]) == (409, status)
            assert refused.json()["param"] == "status"
    assert shop.events() == before


def test_money_that_comes_late_to_a_canceled_intent_is_told_of(shop: "Shop"):
    intent = shop.intent()
    shop.confirm(intent, "+260960000010")
    shop.advance(300)
    assert cancel(shop, intent).status_code == 200
    shop.advance(60)
    assert shop.status(f"/v1/payment_intents/{intent}") == "canceled"
    assert shop.events()[-3:] == ["payment_intent.canceled", "charge.late_success", "payment_intent.late_success"]
    assert [kind for kind, _ in shop.entries(intent)] == ["late_success"]


def test_one_that_there_is_not_and_by_a_publishable_key(shop: "Shop"):
    refused = cancel(shop, "pi_x")
    assert (refused.status_code, refused.json()["code"]) == (404, "intent_not_found")
    refused = shop.call("POST", f"/v1/payment_intents/{shop.intent()}/cancel", key=shop.publishable)
    assert refused.status_code == 403
