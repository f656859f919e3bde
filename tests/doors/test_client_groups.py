"""What the client's groups make of a real sandbox, through both doors; their requests are in lab/test_snippets.py."""

from decimal import Decimal
from typing import TYPE_CHECKING

import pytest

from workbench import PaymentsClient
from workbench.errors import InvalidRequest

if TYPE_CHECKING:
    from tests.conftest import Shop


@pytest.fixture
def pay(shop: "Shop") -> PaymentsClient:
    """A client with the key of the test's own merchant."""
    return shop.bench.client_with(shop.key)


def test_a_part_of_a_charge_is_an_int_as_the_charge_is_and_one_of_an_intent_in_kwacha(
    shop: "Shop", pay: PaymentsClient
):
    charge = pay.charges.create(amount=10_000, channel="mtn", phone=shop.new_number(), idempotency_key="order-3")
    for amount in (Decimal("10.00"), Decimal(10), 10.0, True):
        with pytest.raises(InvalidRequest, match=r"ngwee.*as an int") as refused:
            pay.refunds.create(charge=charge.id, amount=amount)
        assert refused.value.code == "amount_not_exact"
    intent = shop.paid_intent("100.00")
    with pytest.raises(InvalidRequest, match=r'Decimal\("150.00"\)'):
        pay.refunds.create(payment_intent=intent, amount=10.0)
    assert list(pay.refunds.each()) == []
    assert pay.refunds.create(payment_intent=intent, amount=Decimal("10.00")).amount == 10
    refund = pay.refunds.create(charge=charge.id, amount=1_000)
    assert [each.id for each in pay.refunds.each(charge=charge.id)] == [refund.id]


def test_a_filter_that_there_is_not_is_no_argument(pay: PaymentsClient):
    for group, name in (("events", "typ"), ("deliveries", "stauts"), ("refunds", "chagre"), ("api_keys", "url")):
        for method in ("list", "each"):
            with pytest.raises(TypeError, match=name):
                getattr(getattr(pay, group), method)(**{name: "charge.*"})


def test_events_and_deliveries_are_found_and_sent_again(shop: "Shop", pay: PaymentsClient):
    endpoint = pay.webhook_endpoints.create(url="http://127.0.0.1:1/")
    charge = shop.charge()
    [event] = pay.events.list(type="charge.*").data
    assert (event.type, event.data.object["id"]) == ("charge.succeeded", charge)
    [delivery] = pay.deliveries.each(event=event.id)
    assert [each.id for each in pay.deliveries.list(status="pending,dead_letter", event=event.id).data] == [delivery.id]
    shop.advance(days=4)
    assert pay.deliveries.retrieve(delivery.id).status == "dead_letter"
    assert pay.deliveries.replay(delivery.id).status == "pending"
    assert [each.event for each in pay.events.replay(event.id).data] == [event.id]
    shop.advance(days=4)
    assert pay.webhook_endpoints.update(endpoint.id, status="enabled").status == "enabled"
    assert {each.status for each in pay.deliveries.replay_dead_letters().data} == {"pending"}
    shop.advance(60)
    assert pay.webhook_endpoints.retrieve(endpoint.id).status == "enabled", "its five days begin anew"
