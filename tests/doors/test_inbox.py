"""What operators text to a handset, through both doors: it agrees with what happened to the money."""

from typing import Any

from tests.conftest import Shop


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


def entries(shop: Shop, kind: str, payment: str, name: str = "external_reference") -> list[str]:
    rows = shop.read("/sandbox/ledger/entries")["data"]
    return [each[name] for each in rows if (each["kind"], each["payment"]) == (kind, payment)]


def test_a_payment_is_told_with_the_reference_by_which_the_ledger_knows_it(shop: Shop):
    """What each scenario is told with is in sandbox/test_operator.py."""
    for prefix in ("96", "97", "95"):
        phone = shop.new_number(prefix)
        intent_id = prompt(shop, phone)
        press(shop, phone, "0000")
        assert inbox(shop, phone) == []
        press(shop, phone, "1234")
        (known_as,) = entries(shop, "funds_secured", intent_id)
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
    assert [each[2] for each in before] == entries(shop, "funds_secured", intent_id)


def test_each_piece_that_is_refunded_is_told_when_it_was_sent_and_late_money_to_the_one_whose_it_was(shop: Shop):
    phone, late, other = (shop.new_number() for _ in range(3))
    charge = shop.charge(10_000, phone)
    for minor, more in ((2_500, {}), (1_000, {}), (100, {"Sandbox_Scenario": "limit_reached"})):
        assert shop.post("/v1/refunds", {"charge": charge, "amount": minor}, **more).is_success
    assert inbox(shop, phone, "kind") == [("paid",)]
    shop.advance(10)
    told = inbox(shop, phone, "kind", "amount_minor")
    assert told == [("paid", 10_000), ("returned", 2_500), ("returned", 1_000)]
    sent = entries(shop, "refund_sent", charge)
    assert inbox(shop, phone, "transaction")[1:] == [(known_as,) for known_as in sent]
    intent_id = prompt(shop, late, Sandbox_Scenario="late_success")
    shop.advance(400)
    assert shop.confirm(intent_id, other, Sandbox_Scenario="late_success").is_success
    shop.advance(400)
    first, _ = entries(shop, "late_success", intent_id, "id")
    assert shop.post("/sandbox/ledger/entries", {"recipe": "suspense_returned", "entry": first}).is_success
    assert (inbox(shop, late, "kind"), inbox(shop, other, "kind")) == ([("paid",), ("returned",)], [("paid",)])
