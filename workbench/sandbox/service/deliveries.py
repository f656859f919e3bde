"""Events and their deliveries: written in the commit of what they tell, read back, and sent again."""

from collections.abc import Iterator
from itertools import count, takewhile
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
DROP = "drop"
KEPT_MS = 30 * 86_400_000
"""How long a dead letter is kept where it is dropped."""
STATES = (webhooks.PENDING, webhooks.DELIVERED, webhooks.DEAD_LETTER)
DELIVER = "deliver"
HELD_BACK_MS = 10_000
"""How much later every other event comes where disorder was asked for."""
_KEPT = Condition("status <> ?", (webhooks.DROPPED,))
Told = wire.PaymentIntent | wire.Charge | wire.Refund | wire.Payout | wire.Suspense | wire.WebhookEndpoint


def emit(
    tx: Transaction, cause: Cause, account: str, event_type: str, shown: Told, *, before: dict[str, Any] | None = None
) -> None:
    """Record that something happened to `shown`; `before` holds the values that it changed from.

    An event goes to every endpoint: it holds no client secret.
    """
    told_as = webhooks.TOLD_AS[tx.gaps.event_types].get(event_type)
    if told_as is None:
        return
    if isinstance(shown, wire.PaymentIntent):
        shown = msgspec.structs.replace(shown, client_secret=UNSET)
    made = tx.made("evt", account)
    event = wire.Event(
        id=made["id"],
        type=told_as,
        timestamp=rfc3339(tx.now_ms),
        data=wire.EventData(cast("dict[str, Any]", shown), before or {}),
        request=wire.EventRequest(cause.request_id, cause.idempotency_key),
    )
    body = wire.to_json(views.PAYLOADS[tx.gaps.event_payload](event, shown.id)).decode()
    stored = tx.events.add(StoredEvent(**made, type=told_as, object_id=shown.id, body=body))
    for endpoint in tx.endpoints.all(account=account):
        if endpoint.wants(told_as):
            new_delivery(tx, stored, endpoint)


def new_delivery(tx: Transaction, event: StoredEvent, endpoint: Endpoint) -> Delivery:
    """Put an event on its way to an endpoint, now; every other one later where it asked for disorder."""
    delivery = tx.deliveries.add(Delivery(**tx.made("del", event.account), event=event.id, endpoint=endpoint.id))
    held_back = OUT_OF_ORDER in endpoint.faults and tx.count_up(f"to {endpoint.id}") % 2
    tx.schedule(DELIVER, delivery.id, in_ms=HELD_BACK_MS if held_back else 0)
    return delivery


def settled(tx: Transaction, delivery: Delivery) -> None:
    """What follows when a delivery is over, delivered or a dead letter: what was held behind it goes now."""
    if tx.gaps.dead_letter == "dropped" and delivery.status == webhooks.DEAD_LETTER:
        tx.schedule(DROP, delivery.id, in_ms=KEPT_MS)
    if tx.gaps.ordering == "per_object" and (held := _under_way(tx, delivery, newer_than=0)):
        job = tx.jobs.first(order="due_ms", ref=held.id, kind=DELIVER)
        # What has been tried keeps to its schedule.
        if job is not None and held.attempts == held.spent:
            tx.jobs.put(job, due_ms=tx.now_ms)


def held_until_ms(tx: Transaction, delivery: Delivery) -> int | None:
    """When the one is tried next that this one has to follow: of an earlier event of its object, to its endpoint.

    None where it may go.
    """
    if tx.gaps.ordering != "per_object":
        return None
    before = _under_way(tx, delivery, older_than=delivery.seq)
    job = tx.jobs.first(order="due_ms", ref=before.id, kind=DELIVER) if before else None
    return job.due_ms if job else None


def _under_way(
    tx: Transaction, delivery: Delivery, *, older_than: int | None = None, newer_than: int | None = None
) -> Delivery | None:
    """A delivery of an event of the same object to the same endpoint that is not over: one before, or the first."""
    stored = tx.events.get(delivery.event)
    of_object = Condition(
        "EXISTS (SELECT 1 FROM event WHERE event.id = delivery.event AND event.object_id = ?)",
        (stored.object_id if stored else "",),
    )
    found = tx.deliveries.page(
        1,
        older_than=older_than,
        newer_than=newer_than,
        also=[of_object],
        status=webhooks.PENDING,
        endpoint=delivery.endpoint,
    )
    return found[0] if found else None


def drop(tx: Transaction, delivery_id: str) -> None:
    """Keep a dead letter no longer; one that is sent again has lost this job. A store may be opened to keep them."""
    delivery = tx.deliveries.get(delivery_id)
    if delivery is not None and tx.gaps.dead_letter == "dropped":
        tx.deliveries.put(delivery, status=webhooks.DROPPED)


def event(tx: Transaction, caller: Caller, *, event_id: wire.PathEvent) -> msgspec.Raw:
    """GET /v1/events/{event_id}: an event, byte for byte as it is sent."""
    return _sent(_event(tx, caller, event_id))


def events(tx: Transaction, caller: Caller, *, query: wire.EventsQuery) -> lists.Listed[msgspec.Raw]:
    """GET /v1/events: the events, newest first, by type or family, start moment and text."""
    equals, also = dict[str, tuple[str, ...]](), list[Condition]()
    if query.type is not None:
        types = webhooks.types_of(tx.gaps.event_types)
        webhooks.check_filter([query.type], types, param="type")
        equals["type"] = webhooks.types_named(query.type, types)
    if query.created_since is not None:
        also.append(transaction.since(milliseconds_in(query.created_since, param="created_since")))
    if query.search is not None:
        also.append(transaction.about(query.search))
    return lists.page(caller, tx.events, query, EVENTS_URL, _sent, also, **equals)


def retrieve(tx: Transaction, caller: Caller, *, delivery_id: wire.PathDelivery) -> wire.Delivery:
    """GET /v1/deliveries/{delivery_id}: a delivery and each attempt at it."""
    return _shown(tx, _found(tx, caller, delivery_id))


def listed(tx: Transaction, caller: Caller, *, query: wire.DeliveriesQuery) -> lists.Listed[wire.Delivery]:
    """GET /v1/deliveries: the deliveries, newest first, by state, event or endpoint."""
    status = None if query.status is None else tuple(query.status.split(","))
    checks.check_known(status or (), STATES, "is no state of a delivery; they are", param="status")
    asked = {"status": status, "event": query.event, "endpoint": query.endpoint}
    equals = {name: value for name, value in asked.items() if value is not None}
    return lists.page(caller, tx.deliveries, query, URL, lambda each: _shown(tx, each), [_KEPT], **equals)


def of_events(tx: Transaction, events: tuple[str, ...]) -> list[wire.Delivery]:
    """The deliveries of some events, in order."""
    return [_shown(tx, each) for each in tx.deliveries.all(event=events) if each.status != webhooks.DROPPED]


def replay(tx: Transaction, caller: Caller, *, delivery_id: wire.PathDelivery) -> wire.Delivery:
    """POST /v1/deliveries/{delivery_id}/replay: send an event to an endpoint again: same id and body, new signature.

    With `replay` switched to new_id, it is a new delivery with a new id: receivers that dedupe by id handle it again.
    """
    delivery = _found(tx, caller, delivery_id)
    endpoint = tx.endpoints.get(delivery.endpoint)
    if endpoint is None or endpoint.status != webhooks.ENABLED:
        message = f"The endpoint is {endpoint.status if endpoint else webhooks.DELETED}."
        hint = "Enable it first: PATCH its status."
        raise StateConflict(message, code="endpoint_not_enabled", param="endpoint", hint=hint)
    return _shown(tx, _again(tx, delivery))


def replay_event(tx: Transaction, caller: Caller, *, event_id: wire.PathEvent) -> wire.List[wire.Delivery]:
    """POST /v1/events/{event_id}/replay: send an event again to every enabled endpoint that takes its type."""
    stored = _event(tx, caller, event_id)
    wanting = [each for each in tx.endpoints.all(account=caller.account) if each.wants(stored.type)]
    if tx.gaps.replay == "new_id":
        copy = _copied(tx, stored)
        return _list_of(tx, f"{EVENTS_URL}/{stored.id}/replay", [new_delivery(tx, copy, each) for each in wanting])
    there = [
        tx.deliveries.first(event=stored.id, endpoint=each.id) or new_delivery(tx, stored, each) for each in wanting
    ]
    return _list_of(tx, f"{EVENTS_URL}/{stored.id}/replay", [_again(tx, each) for each in there])


def replay_dead_letters(tx: Transaction, caller: Caller) -> wire.List[wire.Delivery]:
    """POST /v1/dead_letters/replay: send every dead letter again, if its endpoint is enabled."""
    enabled = {each.id for each in tx.endpoints.all(account=caller.account, status=webhooks.ENABLED)}
    dead = tx.deliveries.all(account=caller.account, status=webhooks.DEAD_LETTER)
    again = [each for each in dead if each.endpoint in enabled and not _went_again(tx, each)]
    return _list_of(tx, "/v1/dead_letters/replay", [_again(tx, each) for each in again])


def _again(tx: Transaction, delivery: Delivery) -> Delivery:
    """Due now, with the whole schedule before it; one that waits for its next attempt is not doubled.

    With a new id it is another event, and its delivery another one; the one before stays as it ended.
    """
    stored, endpoint = tx.events.get(delivery.event), tx.endpoints.get(delivery.endpoint)
    if tx.gaps.replay == "new_id" and stored is not None and endpoint is not None:
        return new_delivery(tx, _copied(tx, stored), endpoint)
    tx.unschedule(delivery.id)
    tx.schedule(DELIVER, delivery.id)
    return tx.deliveries.put(delivery, status=webhooks.PENDING, spent=delivery.attempts)


def _copies(tx: Transaction, event_id: str) -> Iterator[tuple[str, StoredEvent | None]]:
    """The ids that an event is sent again under, with what is there: without end, the first None is the next one."""
    for number in count(1):
        copy_id = f"evt_{tx.draws.token('replay', event_id, number)}"
        yield copy_id, tx.events.get(copy_id)


def _copied(tx: Transaction, stored: StoredEvent) -> StoredEvent:
    """The same event by a new id, which is the first in its body."""
    copy_id = next(copy_id for copy_id, there in _copies(tx, stored.id) if there is None)
    body = stored.body.replace(f'"id":"{stored.id}"', f'"id":"{copy_id}"', 1)
    return tx.events.add(
        msgspec.structs.replace(stored, id=copy_id, seq=tx.next_seq(), created_ms=tx.now_ms, body=body)
    )


def _went_again(tx: Transaction, delivery: Delivery) -> bool:
    """Whether a dead letter was sent again by a new id: then that delivery counts."""
    copies = takewhile(lambda copy: copy[1] is not None, _copies(tx, delivery.event))
    return any(tx.deliveries.first(event=copy_id, endpoint=delivery.endpoint) for copy_id, _ in copies)


def _list_of(tx: Transaction, url: str, deliveries: list[Delivery]) -> wire.List[wire.Delivery]:
    return wire.List(url=url, has_more=False, data=[_shown(tx, each) for each in deliveries])


def _shown(tx: Transaction, delivery: Delivery) -> wire.Delivery:
    job = tx.jobs.first(order="due_ms", ref=delivery.id, kind=DELIVER)
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
    return checks.found(caller, tx.deliveries, delivery_id, "delivery", code="delivery_not_found", status=STATES)
