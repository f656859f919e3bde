"""Webhooks: endpoints, events, deliveries and replays; an event is stored in the same commit as what it reports."""

import time
from collections.abc import Callable, Iterator, Mapping
from copy import copy
from datetime import UTC
from email.utils import parsedate_to_datetime
from itertools import count, takewhile
from typing import Any, Final, NamedTuple, TypeVar, cast
from urllib.parse import urlsplit

import msgspec
from msgspec import UNSET, Raw

from workbench.domain import webhooks
from workbench.domain.moments import milliseconds_in, rfc3339
from workbench.domain.signatures import SCHEMES, headers_for, id_in
from workbench.domain.webhooks import Endpoint, StoredDelivery, StoredEvent
from workbench.domain.wire import keys_and_events as wire
from workbench.domain.wire.base import List, Rows, to_json
from workbench.domain.wire.payments_and_payouts import Charge, PaymentIntent, Payout, Refund, Suspense
from workbench.errors import NotFound, StateConflict, invalid
from workbench.sandbox.outbound import Reply, check_url
from workbench.sandbox.service import BY_ITSELF, Caller, Cause, EveryFault, Listed, Resource, check_known, view_of
from workbench.sandbox.store import Transaction
from workbench.sandbox.store.rows import Condition, Job, events_about
from workbench.sandbox.store.transaction import DELIVER

DROP = "drop"
KEPT_MS: Final = 30 * 86_400_000
"""Milliseconds for which a dead letter is kept, before it is dropped."""
HELD_BACK_MS: Final = 10_000
"""Milliseconds by which a delivery is delayed so that it arrives out of order."""
LATE_MS: Final = 30_000
_MOST_DIGITS: Final = 9
"""The most digits of a Retry-After in seconds, which are thirty years; longer numbers are ignored."""
OVERLAP_MS: Final = 86_400_000
"""Milliseconds after a roll during which messages are signed with the old secret too."""
_NOT_DELETED: Final = (webhooks.ENABLED, webhooks.DISABLED)
S = TypeVar("S", PaymentIntent, Charge, Refund, Payout, Suspense, wire.WebhookEndpoint)
"""The type of an object that events are about."""


def emit(
    tx: Transaction, cause: Cause, account: str, happens: str, shown: S, *, before: dict[str, Any] | None = None
) -> S:
    """Stores an event about the object `shown`, if the register sends events of its type; returns `shown`.

    `happens` is the type, one of `webhooks.EVENT_TYPES`; the register may send it by another name. `before` has the
    values of changed fields before the change. The event goes to every endpoint of the account whose filters take its
    type, so it must not contain a client secret.
    """
    event_type = webhooks.SENT_AS[tx.gaps.event_types].get(happens)
    if event_type is None:
        return shown
    data: object = shown
    if isinstance(shown, PaymentIntent):
        data = public = copy(shown)
        public.client_secret = UNSET
    event_id = tx.new_id("evt")
    event = wire.Event(
        id=event_id,
        type=event_type,
        timestamp=rfc3339(tx.now_ms),
        data=wire.EventData(cast("dict[str, Any]", data), before or {}),
        request=wire.EventRequest(cause.request_id, cause.idempotency_key),
    )
    body = to_json(PAYLOADS[tx.gaps.event_payload](event, shown.id)).decode()
    stored = tx.events.create(id=event_id, account=account, type=event_type, object_id=shown.id, body=body)
    for endpoint in _receiving_endpoints(tx, stored):
        _deliver(tx, stored, endpoint)
    return shown


def _receiving_endpoints(tx: Transaction, event: StoredEvent) -> list[Endpoint]:
    """The enabled endpoints of the event's account whose filters accept its type."""
    enabled = tx.endpoints.all(account=event.account, status=webhooks.ENABLED)
    return [endpoint for endpoint in enabled if webhooks.takes(endpoint.enabled_events, event.type)]


def _cloud_event(event: wire.Event, subject: str) -> wire.CloudEvent:
    """An event in CloudEvents 1.0; other members of its envelope become extensions, null ones are omitted."""
    caused = {"requestid": event.request.id, "idempotencykey": event.request.idempotency_key}
    return view_of(
        wire.CloudEvent,
        event,
        specversion="1.0",
        source="/v1",
        subject=subject,
        time=event.timestamp,
        datacontenttype="application/json",
        apiversion=event.api_version,
        **{name: value for name, value in caused.items() if value is not None},
    )


PAYLOADS: Final[Mapping[str, Callable[[wire.Event, str], object]]] = {
    "envelope": lambda event, _: event,
    "cloudevents": _cloud_event,
}
"""Value of the register's `event_payload` → a function from an event and its object's id to the body of a message."""


def _deliver(tx: Transaction, event: StoredEvent, endpoint: Endpoint) -> StoredDelivery:
    """Schedules the delivery of an event to an endpoint: now, or later.

    The register can delay deliveries, and `out_of_order`, in the register or among the endpoint's faults, delays some.
    """
    is_swapped = webhooks.OUT_OF_ORDER in endpoint.faults and tx.count_up(f"to {endpoint.id}") % 2
    is_swapped = is_swapped or (tx.gaps.ordering == webhooks.OUT_OF_ORDER and event.type.endswith(webhooks.UNDECIDED))
    late_ms = LATE_MS if tx.gaps.lateness == "thirty_seconds" else 0
    return tx.deliver(event, endpoint, in_ms=late_ms + (HELD_BACK_MS if is_swapped else 0))


def _after_end(tx: Transaction, delivery: StoredDelivery) -> None:
    """For a delivery that has ended: schedules the drop of a dead letter, and makes the next waiting delivery due."""
    if tx.gaps.dead_letter == "dropped" and delivery.status == webhooks.DEAD_LETTER:
        tx.schedule(DROP, delivery.id, in_ms=KEPT_MS)
    if tx.gaps.ordering == "per_object" and (following := _pending_beside(tx, delivery, newer_than=0)):
        job = tx.jobs.first(order="due_ms", ref=following.id, kind=DELIVER)
        # A delivery that has been tried keeps to its schedule.
        if job is not None and following.attempts == following.spent:
            tx.jobs.put(job, due_ms=tx.now_ms)


def _held_until_ms(tx: Transaction, delivery: StoredDelivery) -> int | None:
    """The due moment, in milliseconds since 1970, of an earlier delivery for which this one must wait; else None.

    Only deliveries for the same object and endpoint wait for each other.
    """
    if tx.gaps.ordering != "per_object":
        return None
    before = _pending_beside(tx, delivery, older_than=delivery.seq)
    job = tx.jobs.first(order="due_ms", ref=before.id, kind=DELIVER) if before else None
    return job.due_ms if job else None


def _pending_beside(
    tx: Transaction, delivery: StoredDelivery, *, older_than: int | None = None, newer_than: int | None = None
) -> StoredDelivery | None:
    """The pending delivery for the same object and endpoint with the highest `seq` below `older_than`, or None.

    With `newer_than` alone, the one with the lowest `seq` above `newer_than`; with neither, the one with the highest
    `seq`.
    """
    of_object = Condition(
        "EXISTS (SELECT 1 FROM event WHERE event.id = delivery.event AND event.object_id = ?)",
        (tx.events[delivery.event].object_id,),
    )
    equals = {"status": webhooks.PENDING, "endpoint": delivery.endpoint}
    rows = tx.deliveries.page(1, older_than=older_than, newer_than=newer_than, also=[of_object], **equals)
    return rows[0] if rows else None


def drop(tx: Transaction, delivery_id: str) -> None:
    """Drops a dead letter, unless the register now keeps dead letters. A replay deletes the job that would drop it."""
    if tx.gaps.dead_letter == "dropped":
        tx.deliveries.put(tx.deliveries[delivery_id], status=webhooks.DROPPED)


def seconds_asked(retry_after: str, now_s: int) -> int | None:
    """Seconds from `now_s` to wait by a Retry-After, a number or a date (RFC 9110 §10.2.3); None if it is neither."""
    if not retry_after:
        return None
    if retry_after.isascii() and retry_after.isdigit():
        return int(retry_after) if len(retry_after) <= _MOST_DIGITS else None
    try:
        until = parsedate_to_datetime(retry_after)
    except (ValueError, TypeError, OverflowError):
        return None
    # An HTTP-date is in UTC, whether it says so or not.
    return max(0, int(until.replace(tzinfo=until.tzinfo or UTC).timestamp()) - now_s)


class Sending(NamedTuple):
    """The message of an attempt and its receiver, read in the transaction that begins the attempt."""

    job: Job
    delivery: StoredDelivery
    url: str
    headers: dict[str, str]
    body: bytes
    timeout_s: int
    by_sandbox_clock: bool


def sending_for(tx: Transaction, job: Job) -> Sending | None:
    """Prepares the message of a due delivery.

    None if the delivery must wait, if its endpoint is not enabled, or if a reset deleted the delivery.
    """
    if (message := tx.message(job.ref)) is None:
        return None  # the sandbox was reset meanwhile
    delivery, event, endpoint = message
    if endpoint.status != webhooks.ENABLED:
        _after_end(tx, tx.deliveries.put(delivery, status=webhooks.DEAD_LETTER))
        tx.jobs.remove(job)
        return None
    if (until_ms := _held_until_ms(tx, delivery)) is not None:
        # Of two jobs due at one moment, the new job comes later, by its new place in the order.
        tx.jobs.remove(job)
        tx.schedule(DELIVER, delivery.id, in_ms=max(0, until_ms - tx.now_ms))
        return None
    by_sandbox_clock = urlsplit(endpoint.url).hostname in tx.hosts_by_its_clock
    stamp_s = _receivers_now_s(tx, by_sandbox_clock=by_sandbox_clock)
    body = event.body.encode()
    also = [old.secret for old in endpoint.overlapping(tx.now_ms)]
    scheme = tx.gaps.signature_scheme
    # The body tells its own payload: it may be older than the register in force.
    payload = "cloudevents" if event.body.startswith('{"specversion"') else "envelope"
    headers = {
        "Content-Type": wire.MEDIA_TYPES[payload],
        **headers_for(endpoint.secret, event.id, stamp_s, body, also=also, scheme=scheme),
    }
    return Sending(job, delivery, endpoint.url, headers, body, tx.gaps.delivery_timeout_s, by_sandbox_clock)


def _receivers_now_s(tx: Transaction, *, by_sandbox_clock: bool) -> int:
    """The moment by the receiver's clock, in seconds since 1970.

    With `by_sandbox_clock`, it is the sandbox's; otherwise that of this machine, where a merchant's receiver runs.
    """
    return tx.now_ms // 1000 if by_sandbox_clock else int(time.time())


def record(tx: Transaction, sending: Sending, reply: Reply) -> None:
    """Records the result of an attempt, and schedules the next attempt if another is due."""
    if (message := tx.message(sending.delivery.id)) is None:
        return  # the sandbox was reset meanwhile
    delivery, _, endpoint = message
    number = delivery.attempts + 1
    tx.attempts.create(
        delivery=delivery.id,
        number=number,
        # By the sandbox's clock no latency is recorded, so that two runs record the same.
        latency_ms=0 if sending.by_sandbox_clock else reply.latency_ms,
        status_code=reply.status_code,
        answer=reply.answer,
        fault=reply.fault,
        # An id, a moment and signatures, which need no masking.
        headers=sending.headers,
    )
    if not tx.jobs.remove(sending.job):
        # Replayed meanwhile: the job of the replay decides.
        tx.deliveries.put(delivery, attempts=number)
        return
    asked_s = seconds_asked(reply.retry_after, _receivers_now_s(tx, by_sandbox_clock=sending.by_sandbox_clock))
    outcome = webhooks.outcome_of(
        number - delivery.spent,
        reply.status_code,
        asked_s,
        lambda bound: tx.draws.below(bound, "jitter", sending.delivery.id, number),
        tx.gaps,
    )
    delivery = tx.deliveries.put(delivery, status=outcome.status, attempts=number)
    is_doubled = tx.gaps.repeats == webhooks.DUPLICATE or webhooks.DUPLICATE in endpoint.faults
    if outcome.wait_ms is not None:
        tx.schedule(DELIVER, delivery.id, in_ms=outcome.wait_ms)
    elif is_doubled and outcome.status == webhooks.DELIVERED and number == delivery.spent + 1:
        tx.schedule(DELIVER, delivery.id)
    if outcome.status != webhooks.PENDING:
        _after_end(tx, delivery)
    _note_failing(tx, endpoint, outcome)


def _note_failing(tx: Transaction, endpoint: Endpoint, outcome: webhooks.Outcome) -> None:
    """Records since when an endpoint has been failing; a success clears the record.

    Disables an endpoint that fails for too long, or responds that it is gone.
    """
    if outcome.status == webhooks.DELIVERED:
        if endpoint.failing_since_ms is not None:
            tx.endpoints.put(endpoint, failing_since_ms=None)
        return
    since_ms = tx.now_ms if endpoint.failing_since_ms is None else endpoint.failing_since_ms
    endpoint = tx.endpoints.put(endpoint, failing_since_ms=since_ms)
    patience_ms = tx.gaps.endpoint_disable_after_s * 1000
    too_long = patience_ms and tx.now_ms - since_ms >= patience_ms
    if (outcome.disables_endpoint or too_long) and endpoint.status == webhooks.ENABLED:
        disabled = _endpoint_view(tx, tx.endpoints.put(endpoint, status=webhooks.DISABLED))
        emit(tx, BY_ITSELF, endpoint.account, "webhook_endpoint.disabled", disabled)


def _endpoint_view(tx: Transaction, stored: Endpoint, *, secret: bool = False) -> wire.WebhookEndpoint:
    """The view of an endpoint; with `secret`, as after a roll, it includes the secret."""
    ends_ms = [old.until_ms for old in stored.overlapping(tx.now_ms)]
    return view_of(
        wire.WebhookEndpoint,
        stored,
        enabled_events=list(stored.enabled_events),
        secret=stored.secret if secret else UNSET,
        secret_overlap_until=max(ends_ms) // 1000 if ends_ms else None,
    )


def _delivery_view(tx: Transaction, stored: StoredDelivery) -> wire.Delivery:
    next_job = tx.jobs.first(order="due_ms", ref=stored.id, kind=DELIVER)
    attempts = tx.attempts.all(delivery=stored.id)
    return view_of(
        wire.Delivery,
        stored,
        event_type=tx.events[stored.event].type,
        url=tx.endpoints[stored.endpoint].url,
        attempts=[view_of(wire.DeliveryAttempt, attempt, at=attempt.at_ms // 1000) for attempt in attempts],
        # Rounded up, so that the attempt is due at this second.
        next_attempt_at=None if next_job is None else -(-next_job.due_ms // 1000),
    )


EVENTS = Resource(
    "event", "/v1/events", lambda tx: tx.events, lambda _, stored: Raw(stored.body.encode()), code="event_not_found"
)
DELIVERIES = Resource(
    "delivery",
    "/v1/deliveries",
    lambda tx: tx.deliveries,
    _delivery_view,
    code="delivery_not_found",
    gone=webhooks.DROPPED,
)
ENDPOINTS = Resource(
    "webhook endpoint",
    wire.ENDPOINTS,
    lambda tx: tx.endpoints,
    _endpoint_view,
    code="endpoint_not_found",
    gone=webhooks.DELETED,
)


def list_events(tx: Transaction, caller: Caller, *, query: wire.EventsQuery) -> Listed[msgspec.Raw]:
    """GET /v1/events: the events, newest first, by type or family, start moment and text."""
    types, also = None, list[Condition]()
    if query.type is not None:
        known = webhooks.types_of(tx.gaps.event_types)
        webhooks.check_filter([query.type], known, param="type")
        types = webhooks.types_named(query.type, known)
    if query.created_since is not None:
        since_ms = milliseconds_in(query.created_since, param="created_since")
        also.append(Condition("created_ms >= ?", (since_ms,)))
    if query.search is not None:
        also.append(events_about(query.search))
    return EVENTS.page(tx, caller, also, query=query, type=types)


def list_deliveries(tx: Transaction, caller: Caller, *, query: wire.DeliveriesQuery) -> Listed[wire.Delivery]:
    """GET /v1/deliveries: the deliveries, newest first, by state, event or endpoint."""
    status = None if query.status is None else tuple(query.status.split(","))
    check_known(status or (), wire.SHOWN_STATES, "is no state of a delivery; they are", param="status")
    return DELIVERIES.page(tx, caller, query=query, status=status, event=query.event, endpoint=query.endpoint)


def deliveries_of(tx: Transaction, events: tuple[str, ...]) -> list[wire.Delivery]:
    """The deliveries of some events, in order, without dropped deliveries."""
    kept = (delivery for delivery in tx.deliveries.all(event=events) if delivery.status != webhooks.DROPPED)
    return [_delivery_view(tx, delivery) for delivery in kept]


def replay_delivery(tx: Transaction, caller: Caller, *, delivery_id: str) -> wire.Delivery:
    """POST /v1/deliveries/{delivery_id}/replay: send an event to an endpoint again: same id and body, new signature.

    If the register's `replay` is new_id, a new delivery with a new event id is made, which receivers that dedupe by id
    handle again.
    """
    delivery = DELIVERIES.find(tx, caller, delivery_id)
    if (status := tx.endpoints[delivery.endpoint].status) != webhooks.ENABLED:
        hint = "Enable it first: PATCH its status."
        raise StateConflict(f"The endpoint is {status}.", code="endpoint_not_enabled", param="endpoint", hint=hint)
    return _delivery_view(tx, _send_again(tx, delivery))


def replay_event(tx: Transaction, caller: Caller, *, event_id: str) -> List[wire.Delivery]:
    """POST /v1/events/{event_id}/replay: send an event again to every enabled endpoint that takes its type."""
    stored = EVENTS.find(tx, caller, event_id)
    wanting = _receiving_endpoints(tx, stored)
    if tx.gaps.replay == "new_id":
        copy = _copied(tx, stored)
        sent = [_deliver(tx, copy, endpoint) for endpoint in wanting]
    else:
        before = [tx.deliveries.first(event=stored.id, endpoint=endpoint.id) for endpoint in wanting]
        first = [delivery or _deliver(tx, stored, endpoint) for delivery, endpoint in zip(before, wanting, strict=True)]
        sent = [_send_again(tx, delivery) for delivery in first]
    return _sent_again(tx, f"{EVENTS.url}/{stored.id}/replay", sent)


def replay_dead_letters(tx: Transaction, caller: Caller) -> List[wire.Delivery]:
    """POST /v1/dead_letters/replay: send the dead letters of enabled endpoints again.

    A dead letter that was already sent again as a copy of its event, under a new id, is left out.
    """
    enabled = {endpoint.id for endpoint in tx.endpoints.all(account=caller.account, status=webhooks.ENABLED)}
    dead = tx.deliveries.all(account=caller.account, status=webhooks.DEAD_LETTER)
    again = [delivery for delivery in dead if delivery.endpoint in enabled and not _was_replayed_as_copy(tx, delivery)]
    return _sent_again(tx, "/v1/dead_letters/replay", [_send_again(tx, delivery) for delivery in again])


def _sent_again(tx: Transaction, url: str, deliveries: list[StoredDelivery]) -> List[wire.Delivery]:
    return List(url=url, has_more=False, data=[_delivery_view(tx, delivery) for delivery in deliveries])


def _send_again(tx: Transaction, delivery: StoredDelivery) -> StoredDelivery:
    """Makes a delivery due now, starts its retry schedule again, and returns it.

    If the register's `replay` is `new_id`, instead makes and returns a new delivery of a copy of the event; the earlier
    delivery stays unchanged.
    """
    if tx.gaps.replay == "new_id":
        return _deliver(tx, _copied(tx, tx.events[delivery.event]), tx.endpoints[delivery.endpoint])
    tx.unschedule(delivery.id)
    tx.schedule(DELIVER, delivery.id)
    return tx.deliveries.put(delivery, status=webhooks.PENDING, spent=delivery.attempts)


def _copies(tx: Transaction, event_id: str) -> Iterator[tuple[str, StoredEvent | None]]:
    """Yields, without end, the ids for copies of an event, each with the stored copy; None if the id is free."""
    for number in count(1):
        copy_id = f"evt_{tx.draws.token('replay', event_id, number)}"
        yield copy_id, tx.events.get(copy_id)


def _copied(tx: Transaction, stored: StoredEvent) -> StoredEvent:
    """Stores and returns a copy of an event under a new id, which replaces the old id in the body."""
    copy_id = next(copy_id for copy_id, stored_copy in _copies(tx, stored.id) if stored_copy is None)
    body = stored.body.replace(f'"id":"{stored.id}"', f'"id":"{copy_id}"', 1)
    copy = msgspec.structs.replace(stored, id=copy_id, seq=tx.next_seq(), created_ms=tx.now_ms, body=body)
    return tx.events.add(copy)


def _was_replayed_as_copy(tx: Transaction, delivery: StoredDelivery) -> bool:
    """True if a dead letter was replaced by the delivery of a copy of its event under a new id."""
    copies = takewhile(lambda copy: copy[1] is not None, _copies(tx, delivery.event))
    return any(tx.deliveries.first(event=copy_id, endpoint=delivery.endpoint) for copy_id, _ in copies)


def create_endpoint(tx: Transaction, caller: Caller, body: wire.CreateWebhookEndpoint) -> wire.WebhookEndpoint:
    """POST /v1/webhook_endpoints: register an endpoint; the response holds its signing secret, once."""
    if tx.gaps.endpoint_registration == "dashboard" and tx.endpoints.count(account=caller.account, status=_NOT_DELETED):
        message = "The dashboard allows one endpoint, and it exists already."
        hint = "Change its URL, or delete it first."
        raise StateConflict(message, code="endpoint_exists", param="url", hint=hint)
    with EveryFault() as every:
        every.read(check_url, body.url, private=tx.private_receivers)
        every.read(webhooks.check_filter, body.enabled_events, webhooks.types_of(tx.gaps.event_types))
    endpoint_id = tx.new_id("we")
    stored = tx.endpoints.create(
        id=endpoint_id,
        account=caller.account,
        url=body.url,
        secret=tx.draws.webhook_secret(endpoint_id, 1, scheme=tx.gaps.signature_scheme),
        enabled_events=tuple(body.enabled_events),
    )
    return _endpoint_view(tx, stored, secret=True)


def update_endpoint(
    tx: Transaction, caller: Caller, body: wire.UpdateWebhookEndpoint, *, endpoint_id: str
) -> wire.WebhookEndpoint:
    """PATCH /v1/webhook_endpoints/{endpoint_id}: change an endpoint's URL or filter, or enable or disable it."""
    stored = ENDPOINTS.find(tx, caller, endpoint_id)
    if body.url is not None:
        check_url(body.url, private=tx.private_receivers)
        stored = tx.endpoints.put(stored, url=body.url)
    if body.enabled_events is not None:
        webhooks.check_filter(body.enabled_events, webhooks.types_of(tx.gaps.event_types))
        stored = tx.endpoints.put(stored, enabled_events=tuple(body.enabled_events))
    if body.status is not None:
        if body.status not in _NOT_DELETED:
            raise invalid(f"status is {' or '.join(_NOT_DELETED)}.", "status")
        stored = tx.endpoints.put(stored, status=body.status, failing_since_ms=None)
    return _endpoint_view(tx, stored)


def roll_endpoint_secret(tx: Transaction, caller: Caller, *, endpoint_id: str) -> wire.WebhookEndpoint:
    """POST /v1/webhook_endpoints/{endpoint_id}/roll_secret: roll the signing secret, shown once."""
    stored, scheme = ENDPOINTS.find(tx, caller, endpoint_id), tx.gaps.signature_scheme
    signing_on = (webhooks.OldSecret(stored.secret, tx.now_ms + OVERLAP_MS), *stored.overlapping(tx.now_ms))
    rolled = tx.endpoints.put(
        stored,
        secret=tx.draws.webhook_secret(stored.id, stored.rolls + 2, scheme=scheme),
        rolls=stored.rolls + 1,
        old_secrets=signing_on if SCHEMES[scheme].has_room else (),
    )
    return _endpoint_view(tx, rolled, secret=True)


def delete_endpoint(tx: Transaction, caller: Caller, *, endpoint_id: str) -> wire.Deleted:
    """DELETE /v1/webhook_endpoints/{endpoint_id}: delete an endpoint; no further events are sent to it."""
    stored = tx.endpoints.put(ENDPOINTS.find(tx, caller, endpoint_id), status=webhooks.DELETED)
    return wire.Deleted(stored.id, "webhook_endpoint")


def delivery_faults(
    tx: Transaction, caller: Caller, body: wire.DeliveryFaults, *, endpoint_id: str
) -> wire.FaultyEndpoint:
    """POST /sandbox/webhook_endpoints/{endpoint_id}/faults: deliver twice or out of order, to test a receiver."""
    check_known(body.faults, webhooks.FAULTS, "is no fault; they are", param="faults")
    stored = tx.endpoints.put(ENDPOINTS.find(tx, caller, endpoint_id), faults=tuple(body.faults))
    return wire.FaultyEndpoint(stored.id, list(stored.faults))


def endpoints_faults(tx: Transaction, caller: Caller) -> Rows[wire.FaultyEndpoint]:
    """GET /sandbox/webhook_endpoints: the delivery faults of each endpoint, newest endpoint first."""
    kept = tx.endpoints.all(order="seq DESC", account=caller.account, status=_NOT_DELETED)
    return Rows([wire.FaultyEndpoint(endpoint.id, list(endpoint.faults)) for endpoint in kept])


def sign(tx: Transaction, caller: Caller, body: wire.Sign) -> wire.Signed:
    """POST /sandbox/sign: sign a message as the service does, or wrongly on purpose, for you to post to an endpoint."""
    if body.endpoint is not None:
        endpoint = ENDPOINTS.find(tx, caller, body.endpoint, param="endpoint")
    elif newest := tx.endpoints.first(order="seq DESC", account=caller.account, status=webhooks.ENABLED):
        endpoint = newest
    else:
        message = "No endpoint is enabled, so there is no secret to sign with."
        hint = f"Register one: POST {ENDPOINTS.url}."
        raise NotFound(message, code="endpoint_not_found", param="endpoint", hint=hint)
    text = body.body.encode()
    signer = webhooks.Signer(
        secret=endpoint.secret,
        message_id=body.message_id or id_in(text) or "evt_signed_by_hand",
        now_s=int(time.time()) if body.timestamp is None else body.timestamp,
        scheme=tx.gaps.signature_scheme,
        tolerance_s=tx.gaps.signature_tolerance_s,
        media_type=wire.MEDIA_TYPES[tx.gaps.event_payload],
    )
    signed = webhooks.signed(signer, text, body.how)
    return wire.Signed(signed.body.decode(), signed.headers)
