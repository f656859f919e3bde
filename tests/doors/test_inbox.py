"""What operators text to a handset, through both doors: it agrees with what happened to the money."""

from typing import Any

from tests.conftest import Shop


def inbox(shop: Shop, phone: str) -> list[dict[str, Any]]:
    return shop.read(f"/sandbox/phones/{phone}/messages")["data"]


def kinds(shop: Shop, phone: str) -> list[str]:
    return [each["kind"] for each in inbox(shop, phone)]


def prompt(shop: Shop, phone: str, **more: str) -> str:
    intent_id = shop.intent()
    assert shop.confirm(intent_id, phone, **more).status_code == 200
    return intent_id


def press(shop: Shop, phone: str, *pins: str) -> None:
    for pin in pins:
        assert shop.post(f"/sandbox/phones/{phone}/input", {"text": pin}).status_code == 200


def entries(shop: Shop, kind: str, payment: str) -> list[dict[str, Any]]:
    rows = shop.read("/sandbox/ledger/entries")["data"]
    return [each for each in rows if each["kind"] == kind and each["payment"] == payment]


def test_a_payment_is_told_with_the_reference_by_which_the_ledger_knows_it(shop: Shop):
    """What each scenario is told with is in test_scenarios.py."""
    for prefix in ("96", "97", "95"):
        phone = shop.new_number(prefix)
        intent_id = prompt(shop, phone)
        press(shop, phone, "0000")
        assert inbox(shop, phone) == []
        press(shop, phone, "1234")
        (message,) = inbox(shop, phone)
        (entry,) = entries(shop, "funds_secured", intent_id)
        assert (message["kind"], message["transaction"]) == ("paid", entry["external_reference"])
        assert (message["amount_minor"], message["currency"], message["merchant"]) == (10_000, "ZMW", "SHOP")
        assert "1234" not in message["text"].replace(message["transaction"], "")


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
    before = inbox(shop, phone)
    shop.advance(3_600)
    assert shop.post("/sandbox/operator/query", {"charge": shop.read("/v1/charges")["data"][0]["id"]}).is_success
    assert inbox(shop, phone) == before
    (entry,) = entries(shop, "funds_secured", intent_id)
    assert before[0]["transaction"] == entry["external_reference"]


def test_each_piece_that_is_refunded_is_told_when_it_was_sent(shop: Shop):
    phone = shop.new_number()
    charge = shop.charge(10_000, phone)
    for minor in (2_500, 1_000):
        assert shop.post("/v1/refunds", {"charge": charge, "amount": minor}).is_success
    assert shop.post("/v1/refunds", {"charge": charge, "amount": 100}, Sandbox_Scenario="limit_reached").is_success
    assert kinds(shop, phone) == ["paid"]
    shop.advance(10)
    told = inbox(shop, phone)
    assert [each["kind"] for each in told] == ["paid", "returned", "returned"]
    assert [each["amount_minor"] for each in told] == [10_000, 2_500, 1_000]
    sent = entries(shop, "refund_sent", charge)
    assert [each["transaction"] for each in told[1:]] == [each["external_reference"] for each in sent]


def test_late_money_that_is_given_back_is_told_to_the_one_whose_it_was(shop: Shop):
    late, other = shop.new_number(), shop.new_number()
    intent_id = prompt(shop, late, Sandbox_Scenario="late_success")
    shop.advance(400)
    assert shop.confirm(intent_id, other, Sandbox_Scenario="late_success").is_success
    shop.advance(400)
    first, _ = entries(shop, "late_success", intent_id)
    settled = shop.post("/sandbox/ledger/entries", {"recipe": "suspense_returned", "entry": first["id"]})
    assert settled.is_success, settled.text
    assert (kinds(shop, late), kinds(shop, other)) == (["paid", "returned"], ["paid"])
