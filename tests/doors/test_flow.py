"""What a merchant and a customer see of a payment: prompt, handset, texts, tokens, waiting, the clock, canceling."""

import json
import time
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from tests.conftest import Shop
from tests.doors.conftest import Wire
from workbench import PaymentsClient, Workbench
from workbench.domain.phones import mask_phone
from workbench.domain.wire.payments_and_payouts import PaymentIntent
from workbench.errors import AuthenticationFailed, StateConflict, WaitExpired

NewNumber = Callable[..., str]


def confirmed(bench: Workbench, phone: str, description: str = "Monstera") -> PaymentIntent:
    intent = bench.client.payment_intents.create(amount=Decimal("150.00"), description=description)
    return bench.client.payment_intents.confirm(intent.id, phone=phone, provider="mtn")


def test_the_answer_to_confirm_says_what_comes_next_and_masks_the_number(bench: Workbench, new_number: NewNumber):
    phone = new_number()
    intent = confirmed(bench, phone)
    masked = f"{phone[:6]}••••{phone[-3:]}"
    assert (intent.status, intent.next_action.type) == ("requires_action", "ussd_prompt")
    assert 298 <= intent.next_action.ussd_prompt.expires_at - bench.clock.now_ms / 1000 <= 300
    assert intent.payment_method.mobile_money.phone == intent.next_action.ussd_prompt.phone == masked


def test_a_token_is_refreshed_once_and_replaced(bench: Workbench):
    auth, plant = bench.client.auth, {"id": 1, "name": "Monstera"}
    old = auth.token(email="ada@example.com", password="green")
    new = auth.refresh(old.refresh_token)
    holder = bench.client_with(new.access_token)
    assert holder.plants.create(**plant).name == "Monstera"
    with pytest.raises(AuthenticationFailed, match="replaced"):
        bench.client_with(old.access_token).plants.create(**plant)
    with pytest.raises(AuthenticationFailed, match="used before"):
        auth.refresh(old.refresh_token)


def test_a_handset_shows_itself_as_text_and_html(bench: Workbench, new_number: NewNumber):
    number = new_number()
    phone = bench.phone(number)
    assert "no prompt waits" in repr(phone)
    for description in ("<b>Fern & Co</b>", "Monstera"):
        confirmed(bench, number, description)
    assert all(each in repr(phone) for each in ("3 tries left", "1 more behind it"))
    shown = phone._repr_mimebundle_()  # what Jupyter calls
    assert "<b>Fern & Co</b>" in shown["text/plain"]
    assert "&lt;b&gt;Fern &amp; Co&lt;/b&gt;" in shown["text/html"]
    assert "<b>" not in shown["text/html"]
    assert f'aria-label="Phone {mask_phone(number)}, MTN MoMo"' in shown["text/html"]


def test_wait_moves_the_clock_until_the_payment_has_ended_well_or_not_or_its_limit_is_reached(
    bench: Workbench, new_number: NewNumber
):
    assert bench.client.wait(confirmed(bench, "+260960000001").id).status == "succeeded"
    assert bench.client.wait(confirmed(bench, "+260960000005").id).last_payment_error.code == "prompt_timeout"
    intent, before_ms = confirmed(bench, new_number()), bench.clock.now_ms
    with pytest.raises(WaitExpired, match="still requires_action after 60 s") as expired:
        bench.client.wait(intent.id, timeout_s=60, poll_s=30)
    assert expired.value.facts["status"] == "requires_action"
    assert bench.clock.now_ms >= before_ms + 60_000


def test_over_http_wait_keeps_to_its_limit_where_the_clock_stands_still_and_a_connected_bench_moves_it():
    with Workbench(seed=7) as here, here.serve() as served:
        intent = confirmed(here, "+260960000001")
        with PaymentsClient(served.base_url, str(served.secret_key)) as pay:
            started = time.monotonic()
            with pytest.raises(WaitExpired, match=r"after 0\.4 s\. The sandbox's clock stands still.*clock/advance"):
                pay.wait(intent.id, timeout_s=0.4, poll_s=0.3)
            assert time.monotonic() - started >= 0.4
        with Workbench.connect(served.base_url, str(served.secret_key)) as bench:
            assert bench.client.wait(intent.id).status == "succeeded"


class TestAdvanceOverHttp:
    def test_each_unit_is_taken_and_all_add_up(self, wire: Wire):
        for body, seconds in (
            ({"seconds": 1.5}, 1.5), ({"minutes": 2}, 120), ({"days": 0}, 0),
            ({"days": 1, "hours": 1, "minutes": 1, "seconds": 1}, 90_061),
        ):  # fmt: skip
            before_ms = wire.bench.clock.now_ms
            answer = wire.post("/sandbox/clock/advance", json.dumps(body).encode(), wire.bearer)
            assert answer.status_code == 200, answer.text
            assert seconds * 1000 <= answer.json()["now_ms"] - before_ms < seconds * 1000 + 5_000

    def test_the_clock_goes_up_to_the_last_moment_that_a_request_can_name(self):
        with Workbench(seed=7, start=datetime(2099, 12, 31, 23, tzinfo=UTC)) as bench:
            with pytest.raises(StateConflict, match=r"goes up to 2099-12-31T23:59:59.999Z") as refused:
                bench.clock.advance(hours=1)
            assert refused.value.code == "moment_impossible"
            bench.clock.advance(Decimal("3599.999"))
            (created,) = bench.client.events.list(search=bench.client.payment_intents.create(amount=Decimal(1)).id)
            assert bench.client.events.list(created_since=created.timestamp).data == [created]


def test_an_exchange_in_the_trace_keeps_every_number_as_it_was_written(wire: Wire):
    made = {amount: wire.intent(amount=amount).json()["id"] for amount in ("150.00", "150.0", "150", "1.5e2")}
    trace = wire.bench.trace
    for amount, intent_id in made.items():
        call = trace.for_(intent_id).exchanges[0]
        assert f'"amount": {amount}' in call.request
        assert '"amount": 150.00' in call.response


def inbox(shop: Shop, phone: str, *names: str) -> list[tuple[Any, ...]]:
    """These fields of each message, oldest first."""
    return [tuple(each[name] for name in names) for each in shop.read(f"/sandbox/phones/{phone}/messages")["data"]]


def prompt(shop: Shop, phone: str, **more: str) -> str:
    intent_id = shop.intent()
    assert shop.confirm(intent_id, phone, **more).status_code == 200
    return intent_id


def press(shop: Shop, phone: str, *pins: str) -> None:
    for pin in pins:
        assert shop.post(f"/sandbox/phones/{phone}/input", {"text": pin}).status_code == 200


def test_a_payment_is_told_with_the_reference_by_which_the_ledger_knows_it(shop: Shop):
    """What each scenario is told with is in sandbox/test_operator.py."""
    for prefix in ("96", "97", "95"):
        phone = shop.new_number(prefix)
        intent_id = prompt(shop, phone)
        press(shop, phone, "0000")
        assert inbox(shop, phone) == []
        press(shop, phone, "1234")
        (known_as,) = shop.entries_of(intent_id, "funds_secured", "external_reference")
        told = inbox(shop, phone, "kind", "transaction", "amount_minor", "currency", "merchant")
        assert told == [("paid", known_as, 10_000, "ZMW", "SHOP")]
        ((text,),) = inbox(shop, phone, "text")
        assert "1234" not in text.replace(known_as, "")


def test_messages_stand_in_their_order_in_a_table_which_a_reset_empties(shop: Shop):
    phone = shop.new_number()
    prompt(shop, phone)
    press(shop, phone, "0000", "0000", "0000")
    shop.charge(10_000, phone)
    messages = shop.bench.phone(phone).messages
    assert [each["kind"] for each in messages] == ["not_paid", "paid"]
    assert "The PIN was wrong too often." in messages[0]["text"]
    assert all(each in repr(messages) for each in ("Messages, oldest first", messages[0]["text"]))
    assert "<caption>Messages, oldest first</caption>" in messages._repr_mimebundle_()["text/html"]
    if "sandbox.localhost" in shop.bench.base_url:  # the served store is shared by the session
        shop.bench.reset()
        assert inbox(shop, phone) == []


def test_money_that_the_operator_never_told_of_keeps_its_reference_when_it_is_asked(shop: Shop):
    phone = shop.new_number("97")
    intent_id = prompt(shop, phone, Sandbox_Scenario="operator_unknown")
    shop.advance(90)
    before = inbox(shop, phone, "kind", "text", "transaction")
    shop.advance(3_600)
    assert shop.post("/sandbox/operator/query", {"charge": shop.read("/v1/charges")["data"][0]["id"]}).is_success
    assert inbox(shop, phone, "kind", "text", "transaction") == before
    assert [each[2] for each in before] == shop.entries_of(intent_id, "funds_secured", "external_reference")


def test_each_piece_that_is_refunded_is_told_when_it_was_sent_and_late_money_to_the_one_whose_it_was(shop: Shop):
    phone, late, other = (shop.new_number() for _ in range(3))
    charge = shop.charge(10_000, phone)
    for minor, more in ((2_500, {}), (1_000, {}), (100, {"Sandbox_Scenario": "limit_reached"})):
        assert shop.post("/v1/refunds", {"charge": charge, "amount": minor}, **more).is_success
    assert inbox(shop, phone, "kind") == [("paid",)]
    shop.advance(10)
    told = inbox(shop, phone, "kind", "amount_minor")
    assert told == [("paid", 10_000), ("returned", 2_500), ("returned", 1_000)]
    sent = shop.entries_of(charge, "refund_sent", "external_reference")
    assert inbox(shop, phone, "transaction")[1:] == [(known_as,) for known_as in sent]
    intent_id = prompt(shop, late, Sandbox_Scenario="late_success")
    shop.advance(400)
    assert shop.confirm(intent_id, other, Sandbox_Scenario="late_success").is_success
    shop.advance(400)
    first, _ = shop.entries_of(intent_id, "late_success")
    assert shop.post("/sandbox/ledger/entries", {"recipe": "suspense_returned", "entry": first}).is_success
    assert (inbox(shop, late, "kind"), inbox(shop, other, "kind")) == ([("paid",), ("returned",)], [("paid",)])


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


def test_an_input_is_answered_with_what_the_handset_shows_then(wire: Wire):
    _, phone = wire.prompt()
    for _ in range(3):
        wire.confirm(wire.intent().json()["id"], phone)
    # The prompts queue: after one has ended the next is shown, and one that was put away stays there.
    for press in ("0000", "1234", "ignore", "cancel", "0000", "0000", "0000"):
        given = wire.pin(phone, press) if press.isdigit() else wire.press(phone, press)
        assert given.json() == wire.get(f"/sandbox/phones/{phone}").json(), press
    assert given.json()["state"] == "ignored"
