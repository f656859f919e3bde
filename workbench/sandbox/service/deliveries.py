"""Events and their deliveries, read back; dead letters, and what is sent again."""

import msgspec

from workbench.domain import webhooks, wire
from workbench.domain.moments import milliseconds_in
from workbench.domain.webhooks import Delivery, Endpoint, StoredEvent
from workbench.errors import InvalidRequest, NotFound, StateConflict
from workbench.sandbox import encode
from workbench.sandbox.service import lists
from workbench.sandbox.service.caller import Caller
from workbench.sandbox.service.events import DELIVER, new_delivery
from workbench.sandbox.store import Transaction, searches
from workbench.sandbox.store.table import Condition

URL = "/v1/deliveries"
EVENTS_URL = "/v1/events"
STATES = (webhooks.PENDING, webhooks.DELIVERED, webhooks.DEAD_LETTER)


def event(tx: Transaction, caller: Caller, *, event_id: wire.PathEvent) -> msgspec.Raw:
    """GET /v1/events/{event_id}: an event, to the byte as it is sent."""
    return msgspec.Raw(_event(tx, caller, event_id).body.encode())


def events(tx: Transaction, caller: Caller, *, query: wire.EventsQuery) -> wire.List[msgspec.Raw]:
    """GET /v1/events: the events, newest first: of one type or family, from a moment on, in which a text stands."""
    equals, also = dict[str, tuple[str, ...]](), list[Condition]()
    if query.type is not None:
        webhooks.check_filter([query.type], param="type")
        equals["type"] = webhooks.types_named(query.type)
    if query.created_since is not None:
        also.append(searches.since(milliseconds_in(query.created_since, param="created_since")))
    if query.search is not None:
        also.append(searches.about(query.search))

    def shown(stored: StoredEvent) -> msgspec.Raw:
        return msgspec.Raw(stored.body.encode())

    return lists.page(caller, tx.events, query, EVENTS_URL, shown, also, **equals)


def retrieve(tx: Transaction, caller: Caller, *, delivery_id: wire.PathDelivery) -> wire.Delivery:
    """GET /v1/deliveries/{delivery_id}: a delivery and each attempt at it."""
    return _shown(tx, _found(tx, caller, delivery_id))


def listed(tx: Transaction, caller: Caller, *, query: wire.DeliveriesQuery) -> wire.List[wire.Delivery]:
    """GET /v1/deliveries: the deliveries, newest first, in some states, of one event or to one endpoint."""
    equals: dict[str, str | tuple[str, ...]] = {}
    if query.status is not None:
        equals["status"] = _states(query.status)
    if query.event is not None:
        equals["event"] = query.event
    if query.endpoint is not None:
        equals["endpoint"] = query.endpoint
    return lists.page(caller, tx.deliveries, query, URL, lambda each: _shown(tx, each), **equals)


def replay(tx: Transaction, caller: Caller, *, delivery_id: wire.PathDelivery) -> wire.Delivery:
    """POST /v1/deliveries/{delivery_id}/replay: send an event to an endpoint again: same id and body, new signature."""
    delivery = _found(tx, caller, delivery_id)
    endpoint = tx.endpoints.get(delivery.endpoint)
    if endpoint is None or endpoint.status != webhooks.ENABLED:
        raise StateConflict(
            f"The endpoint is {endpoint.status if endpoint else webhooks.DELETED}.",
            code="endpoint_not_enabled",
            param="endpoint",
            hint="Enable it first: PATCH its status.",
        )
    return _shown(tx, _again(tx, delivery))


def replay_event(tx: Transaction, caller: Caller, *, event_id: wire.PathEvent) -> wire.List[wire.Delivery]:
    """POST /v1/events/{event_id}/replay: send an event again to every enabled endpoint that wants it."""
    stored = _event(tx, caller, event_id)
    wanting = [each for each in tx.endpoints.all(account=caller.account) if each.wants(stored.type)]
    sent = [_again(tx, _delivery_to(tx, stored, endpoint)) for endpoint in wanting]
    return _all(tx, f"{EVENTS_URL}/{stored.id}/replay", sent)


def replay_dead_letters(tx: Transaction, caller: Caller) -> wire.List[wire.Delivery]:
    """POST /v1/dead_letters/replay: send every dead letter again whose endpoint is enabled."""
    enabled = {each.id for each in tx.endpoints.all(account=caller.account, status=webhooks.ENABLED)}
    dead = tx.deliveries.all(account=caller.account, status=webhooks.DEAD_LETTER)
    sent = [_again(tx, each) for each in dead if each.endpoint in enabled]
    return _all(tx, "/v1/dead_letters/replay", sent)


def _again(tx: Transaction, delivery: Delivery) -> Delivery:
    """Due now, with the whole schedule before it; one that waits for its next attempt is not doubled."""
    tx.unschedule(delivery.id)
    tx.schedule(DELIVER, delivery.id)
    return tx.deliveries.put(delivery, status=webhooks.PENDING, spent=delivery.attempts)


def _delivery_to(tx: Transaction, stored: StoredEvent, endpoint: Endpoint) -> Delivery:
    return tx.deliveries.first(event=stored.id, endpoint=endpoint.id) or new_delivery(tx, stored, endpoint)


def _all(tx: Transaction, url: str, deliveries: list[Delivery]) -> wire.List[wire.Delivery]:
    return wire.List(url=url, has_more=False, data=[_shown(tx, each) for each in deliveries])


def _shown(tx: Transaction, delivery: Delivery) -> wire.Delivery:
    job = tx.jobs.first(order="due_ms", ref=delivery.id)
    return encode.delivery(
        delivery,
        tx.events.get(delivery.event),
        tx.endpoints.get(delivery.endpoint),
        tx.attempts.all(delivery=delivery.id),
        next_ms=job.due_ms if job else None,
    )


def _states(text: str) -> tuple[str, ...]:
    asked = tuple(text.split(","))
    if unknown := [each for each in asked if each not in STATES]:
        raise InvalidRequest(
            f"{unknown[0][:40]!r} is no state of a delivery; they are {', '.join(STATES)}.",
            code="parameter_invalid",
            param="status",
        )
    return asked


def _event(tx: Transaction, caller: Caller, event_id: str) -> StoredEvent:
    stored = tx.events.first(id=event_id, account=caller.account)
    if stored is None:
        raise NotFound(f"There is no event {event_id[:60]!r}.", code="event_not_found", param="id")
    return stored


def _found(tx: Transaction, caller: Caller, delivery_id: str) -> Delivery:
    stored = tx.deliveries.first(id=delivery_id, account=caller.account)
    if stored is None:
        raise NotFound(f"There is no delivery {delivery_id[:60]!r}.", code="delivery_not_found", param="id")
    return stored
