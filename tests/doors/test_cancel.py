"""Canceling an intent, in each of its states."""

import pytest

from tests.conftest import Shop
from workbench.errors import StateConflict

ASKED = ["payment_intent.created", "payment_intent.requires_action"]
WITHDRAWN = ["charge.failed", "payment_intent.canceled"]


def cancel(shop: Shop, intent: str, **body: str):
    return shop.post(f"/v1/payment_intents/{intent}/cancel", body or None)


def test_before_it_is_confirmed(shop: Shop):
    answer = cancel(shop, shop.intent(), cancellation_reason="out of stock")
    body = answer.json()
    assert (answer.status_code, body["status"], body["cancellation_reason"]) == (200, "canceled", "out of stock")
    assert body["canceled_at"] >= body["created"]
    assert shop.events() == ["payment_intent.created", "payment_intent.canceled"]
    told = shop.read("/v1/events")["data"][0]["data"]
    assert told["object"]["status"] == "canceled"
    assert told["previous_attributes"] == {"status": "requires_payment_method"}


def test_an_open_prompt_is_withdrawn_and_one_that_was_put_away_too(shop: Shop):
    phone = shop.new_number()
    handset = shop.bench.phone(phone)
    for put_away in (False, True):
        intent = shop.intent()
        shop.confirm(intent, phone)
        if put_away:
            handset.ignore()
        body = cancel(shop, intent).json()
        assert (body["status"], body["next_action"], body["last_payment_error"]) == ("canceled", None, None)
        charge = shop.read(f"/v1/charges/{body['latest_charge']}")
        assert (charge["status"], charge["failure_code"]) == ("failed", "canceled_by_merchant")
        assert handset.screen == "MTN MoMo\nSHOP has canceled the request.\nNothing was paid."
        with pytest.raises(StateConflict, match="No prompt waits"):
            handset.enter_pin("1234")
        shop.advance(400)
        assert shop.entries(intent) == []
    assert shop.events() == 2 * (ASKED + WITHDRAWN)


def test_before_a_number_acts_or_the_operator_refuses_nothing_more_comes_of_it(shop: Shop):
    for ending in ("0000001", "0000005", "0000010", "0000012"):
        intent = shop.intent()
        shop.confirm(intent, f"+26096{ending}")
        assert cancel(shop, intent).status_code == 200
    for scenario in ("payer_not_found", "payer_busy", "operator_unavailable"):
        intent, phone = shop.intent(), shop.new_number()
        shop.confirm(intent, phone, Sandbox_Scenario=scenario)
        assert cancel(shop, intent).status_code == 200
        assert shop.bench.phone(phone).screen == "(no message)", "no prompt was there to withdraw"
    shop.advance(400)
    assert shop.events() == 7 * (ASKED + WITHDRAWN)
    assert shop.balance() == (0, 0, 0)


def asked_on(shop: Shop, ending: str) -> str:
    """An intent, confirmed on a test number five seconds ago."""
    intent = shop.intent()
    shop.confirm(intent, f"+26096{ending}")
    shop.advance(5)
    return intent


def test_after_a_failed_attempt_and_where_it_is_too_late(shop: Shop):
    failed = asked_on(shop, "0000004")
    body = cancel(shop, failed).json()
    assert (body["status"], body["last_payment_error"]["code"]) == ("canceled", "declined_by_customer")
    late = {"processing": asked_on(shop, "0000012"), "succeeded": asked_on(shop, "0000001"), "canceled": failed}
    before = shop.events()
    for status, intent in late.items():
        for refused in (cancel(shop, intent), shop.confirm(intent, shop.new_number())):
            assert (refused.status_code, refused.json()["current"]) == (409, status)
            assert refused.json()["param"] == "status"
    assert shop.events() == before


def test_money_that_comes_late_to_a_canceled_intent_is_told_of(shop: Shop):
    intent = shop.intent()
    shop.confirm(intent, "+260960000010")
    shop.advance(300)
    assert cancel(shop, intent).status_code == 200
    shop.advance(60)
    assert shop.status(f"/v1/payment_intents/{intent}") == "canceled"
    assert shop.events()[-3:] == ["payment_intent.canceled", "charge.late_success", "payment_intent.late_success"]
    assert [kind for kind, _ in shop.entries(intent)] == ["late_success"]
