"""Events and their deliveries: written in the commit of what they tell, read back, and sent again."""

from typing import Any, cast

import msgspec
from msgspec import UNSET

from workbench.domain import webhooks, wire
from workbench.domain.moments import milliseconds_in, rfc3339
from workbench.domain.webhooks import OUT_OF_ORDER, Delivery, Endpoint, StoredEvent
from workbench.errors import StateConflict
from workbench.sandbox import views
from workbench.sandbox.service import checks, lists
from workbench.sandbox.service.lists import Caller, Cause
from workbench.sandbox.store import Transaction, transaction
from workbench.sandbox.store.table import Condition

URL = "/v1/deliveries"
EVENTS_URL = "/v1/events"
STATES = (webhooks.PENDING, webhooks.DELIVERED, webhooks.DEAD_LETTER)
DELIVER = "deliver"
HELD_BACK_MS = 10_000
"""How much later every other event comes where disorder was asked for."""
Told = wire.PaymentIntent | wire.Charge | wire.Refund | wire.Payout | wire.WebhookEndpoint


def emit(
    tx: Transaction, cause: Cause, account: str, event_type: str, shown: Told, *, before: dict[str, Any] | None = None
) -> None:
    """Record that something happened to `shown`; `before` holds the values that it changed from.

    An event goes to every endpoint: it holds no client secret.
    """
    if isinstance(shown, wire.PaymentIntent):
        shown = msgspec.structs.replace(shown, client_secret=UNSET)
    made = tx.made("evt", account)
    event = wire.Event(
        id=made["id"],
        type=event_type,
        timestamp=rfc3339(tx.now_ms),
        data=wire.EventData(cast("dict[str, Any]", shown), before or {}),
        request=wire.EventRequest(cause.request_id, cause.idempotency_key),
    )
    body = wire.to_json(event).decode()
    stored = tx.events.add(StoredEvent(**made, type=event_type, object_id=shown.id, body=body))
    for endpoint in tx.endpoints.all(account=account):
        if endpoint.wants(event_type):
            new_delivery(tx, stored, endpoint)


def new_delivery(tx: Transaction, event: StoredEvent, endpoint: Endpoint) -> Delivery:
    """Put an event on its way to an endpoint, now; every other one later where it asked for disorder."""
    delivery = tx.deliveries.add(Delivery(**tx.made("del", event.account), event=event.id, endpoint=endpoint.id))
    held_back = OUT_OF_ORDER in endpoint.faults and tx.count_up(f"to {endpoint.id}") % 2
    tx.schedule(DELIVER, delivery.id, in_ms=HELD_BACK_MS if held_back else 0)
    return delivery


def event(tx: Transaction, caller: Caller, *, event_id: wire.PathEvent) -> msgspec.Raw:
    """GET /v1/events/{event_id}: an event, to the byte as it is sent."""
    return _sent(_event(tx, caller, event_id))


def events(tx: Transaction, caller: Caller, *, query: wire.EventsQuery) -> wire.List[msgspec.Raw]:
    """GET /v1/events: the events, newest first: of one type or family, from a moment on, in which a text stands."""
    equals, also = dict[str, tuple[str, ...]](), list[Condition]()
    if query.type is not None:
        webhooks.check_filter([query.type], param="type")
        equals["type"] = webhooks.types_named(query.type)
    if query.created_since is not None:
        also.append(transaction.since(milliseconds_in(query.created_since, param="created_since")))
    if query.search is not None:
        also.append(transaction.about(query.search))
    return lists.page(caller, tx.events, query, EVENTS_URL, _sent, also, **equals)


def retrieve(tx: Transaction, caller: Caller, *, delivery_id: wire.PathDelivery) -> wire.Delivery:
    """GET /v1/deliveries/{delivery_id}: a delivery and each attempt at it."""
    return _shown(tx, _found(tx, caller, delivery_id))


def listed(tx: Transaction, caller: Caller, *, query: wire.DeliveriesQuery) -> wire.List[wire.Delivery]:
    """GET /v1/deliveries: the deliveries, newest first, in some states, of one event or to one endpoint."""
    status = None if query.status is None else tuple(query.status.split(","))
    checks.check_known(status or (), STATES, "is no state of a delivery; they are", param="status")
    asked = {"status": status, "event": query.event, "endpoint": query.endpoint}
    equals = {name: value for name, value in asked.items() if value is not None}
    return lists.page(caller, tx.deliveries, query, URL, lambda each: _shown(tx, each), **equals)


def replay(tx: Transaction, caller: Caller, *, delivery_id: wire.PathDelivery) -> wire.Delivery:
    """POST /v1/deliveries/{delivery_id}/replay: send an event to an endpoint again: same id and body, new signature."""
    delivery = _found(tx, caller, delivery_id)
    endpoint = tx.endpoints.get(delivery.endpoint)
    if endpoint is None or endpoint.status != webhooks.ENABLED:
        message = f"The endpoint is {endpoint.status if endpoint else webhooks.DELETED}."
        hint = "Enable it first: PATCH its status."
        raise StateConflict(message, code="endpoint_not_enabled", param="endpoint", hint=hint)
    return _shown(tx, _again(tx, delivery))


def replay_event(tx: Transaction, caller: Caller, *, event_id: wire.PathEvent) -> wire.List[wire.Delivery]:
    """POST /v1/events/{event_id}/replay: send an event again to every enabled endpoint that wants it."""
    stored = _event(tx, caller, event_id)
    wanting = [each for each in tx.endpoints.all(account=caller.account) if each.wants(stored.type)]
    there = [
        tx.deliveries.first(event=stored.id, endpoint=each.id) or new_delivery(tx, stored, each) for each in wanting
    ]
    return _all_again(tx, f"{EVENTS_URL}/{stored.id}/replay", there)


def replay_dead_letters(tx: Transaction, caller: Caller) -> wire.List[wire.Delivery]:
    """POST /v1/dead_letters/replay: send every dead letter again whose endpoint is enabled."""
    enabled = {each.id for each in tx.endpoints.all(account=caller.account, status=webhooks.ENABLED)}
    dead = tx.deliveries.all(account=caller.account, status=webhooks.DEAD_LETTER)
    return _all_again(tx, "/v1/dead_letters/replay", [each for each in dead if each.endpoint in enabled])


def _again(tx: Transaction, delivery: Delivery) -> Delivery:
    """Due now, with the whole schedule before it; one that waits for its next attempt is not doubled."""
    tx.unschedule(delivery.id)
    tx.schedule(DELIVER, delivery.id)
    return tx.deliveries.put(delivery, status=webhooks.PENDING, spent=delivery.attempts)


def _all_again(tx: Transaction, url: str, deliveries: list[Delivery]) -> wire.List[wire.Delivery]:
    return wire.List(url=url, has_more=False, data=[_shown(tx, _again(tx, each)) for each in deliveries])


def _shown(tx: Transaction, delivery: Delivery) -> wire.Delivery:
    job = tx.jobs.first(order="due_ms", ref=delivery.id)
    return views.delivery(
        delivery,
        tx.events.get(delivery.event),
        tx.endpoints.get(delivery.endpoint),
        tx.attempts.all(delivery=delivery.id),
        next_ms=job.due_ms if job else None,
    )


def _sent(event: StoredEvent) -> msgspec.Raw:
    return msgspec.Raw(event.body.encode())


def _event(tx: Transaction, caller: Caller, event_id: str) -> StoredEvent:
    return checks.found(caller, tx.events, event_id, "event", code="event_not_found")


def _found(tx: Transaction, caller: Caller, delivery_id: str) -> Delivery:
    return checks.found(caller, tx.deliveries, delivery_id, "delivery", code="delivery_not_found")
