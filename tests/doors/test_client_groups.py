"""Every group of the client's calls against a real sandbox, through both doors, with an account of its own."""

from decimal import Decimal
from typing import TYPE_CHECKING

import pytest

from workbench import PaymentsClient
from workbench.errors import AuthenticationFailed, InvalidRequest, NotFound

if TYPE_CHECKING:
    from tests.conftest import Shop


@pytest.fixture
def pay(shop: "Shop") -> PaymentsClient:
    """A client with the key of the test's own merchant."""
    return shop.bench.client_with(shop.key)


def test_intents_are_created_canceled_listed_and_paged(pay: PaymentsClient):
    made = [pay.payment_intents.create(amount=Decimal(number)).id for number in range(1, 4)]
    gone = pay.payment_intents.cancel(made[0], cancellation_reason="out of stock")
    assert (gone.status, gone.cancellation_reason) == ("canceled", "out of stock")
    page = pay.payment_intents.list(limit=2)
    assert ([each.id for each in page.data], page.has_more) == ([made[2], made[1]], True)
    rest = pay.payment_intents.list(limit=2, starting_after=made[1])
    assert ([each.id for each in rest.data], rest.has_more) == ([made[0]], False)
    assert [each.id for each in pay.payment_intents.list(ending_before=made[1]).data] == [made[2]]


def test_a_charge_is_refunded_and_paid_out(shop: "Shop", pay: PaymentsClient):
    charge = pay.charges.create(amount=10_000, channel="mtn", phone=shop.new_number(), idempotency_key="order-1")
    refund = pay.refunds.create(charge=charge.id, amount=1_000, reason="one pot was broken")
    assert (refund.status, refund.amount, pay.refunds.retrieve(refund.id).charge) == ("pending", 1_000, charge.id)
    assert [each.id for each in pay.refunds.each(charge=charge.id)] == [refund.id]
    assert list(pay.refunds.each(charge="ch_other")) == list(pay.refunds.list(charge="ch_other").data) == []
    shop.to_midnight()
    assert [each.amount for each in pay.balance.retrieve().available] == [Decimal("87.50")]
    payout = pay.payouts.create(amount=Decimal("80.00"), destination="current account", idempotency_key="week-1")
    assert (payout.status, payout.amount, pay.payouts.list().data[0].id) == ("pending", Decimal("80.00"), payout.id)


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


def test_a_filter_that_there_is_not_is_no_argument(pay: PaymentsClient):
    for group, name in (("events", "typ"), ("deliveries", "stauts"), ("refunds", "chagre"), ("api_keys", "url")):
        for method in ("list", "each"):
            with pytest.raises(TypeError, match=name):
                getattr(getattr(pay, group), method)(**{name: "charge.*"})


def test_keys_are_made_rolled_and_revoked(shop: "Shop", pay: PaymentsClient):
    spare = pay.api_keys.create()
    fresh = shop.bench.client_with(str(pay.api_keys.roll(spare.id).value))
    newest = next(pay.api_keys.each())
    assert (newest.status, fresh.balance.retrieve().object) == ("active", "balance")
    assert pay.api_keys.revoke(newest.id).status == "revoked"
    with pytest.raises(AuthenticationFailed):
        fresh.balance.retrieve()


def test_endpoints_events_and_deliveries_are_changed_found_and_sent_again(shop: "Shop", pay: PaymentsClient):
    endpoint = pay.webhook_endpoints.create(url="http://127.0.0.1:1/", enabled_events=["payout.*"])
    changed = pay.webhook_endpoints.update(endpoint.id, enabled_events=["*"])
    assert (changed.enabled_events, changed.status) == (["*"], "enabled")
    rolled = pay.webhook_endpoints.roll_secret(endpoint.id)
    assert rolled.secret != endpoint.secret
    assert rolled.secret_overlap_until is not None
    charge = pay.charges.create(amount=10_000, channel="mtn", phone=shop.new_number(), idempotency_key="order-2")
    [event] = pay.events.list(type="charge.*").data
    assert (event.type, event.data.object["id"]) == ("charge.succeeded", charge.id)
    assert list(pay.events.each(type="charge.failed")) == []
    [delivery] = pay.deliveries.each(event=event.id)
    assert [each.id for each in pay.deliveries.list(status="pending,dead_letter", event=event.id).data] == [delivery.id]
    assert (delivery.endpoint, delivery.status) == (endpoint.id, "pending")
    shop.advance(days=4)
    assert pay.deliveries.retrieve(delivery.id).status == "dead_letter"
    assert pay.deliveries.replay(delivery.id).status == "pending"
    assert [each.event for each in pay.events.replay(event.id).data] == [event.id]
    shop.advance(days=4)
    assert pay.webhook_endpoints.update(endpoint.id, status="enabled").status == "enabled"
    assert {each.status for each in pay.deliveries.replay_dead_letters().data} == {"pending"}
    shop.advance(60)
    assert pay.webhook_endpoints.retrieve(endpoint.id).status == "enabled", "its five days begin anew"
    assert pay.webhook_endpoints.delete(endpoint.id).deleted
    with pytest.raises(NotFound):
        pay.webhook_endpoints.retrieve(endpoint.id)
