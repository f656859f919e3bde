"""Events: written in the commit of what they tell of, and put on their way to every endpoint."""

from decimal import Decimal
from typing import Any

import msgspec

from workbench.domain import wire
from workbench.domain.moments import rfc3339
from workbench.domain.webhooks import OUT_OF_ORDER, Delivery, Endpoint, StoredEvent
from workbench.sandbox.service.caller import Cause
from workbench.sandbox.store import Transaction

DELIVER = "deliver"
HELD_BACK_MS = 10_000
"""How much later every other event comes where disorder was asked for."""
Told = wire.PaymentIntent | wire.Charge | wire.Refund | wire.Payout | wire.WebhookEndpoint


def emit(
    tx: Transaction,
    cause: Cause,
    account: str,
    event_type: str,
    shown: Told,
    *,
    before: dict[str, Any] | None = None,
) -> None:
    """Record that something happened to `shown`; `before` holds the values that it changed from."""
    event = wire.Event(
        id=tx.new_id("evt"),
        type=event_type,
        timestamp=rfc3339(tx.now_ms),
        data=wire.EventData(msgspec.to_builtins(shown, builtin_types=_KEPT, enc_hook=wire.plain), before or {}),
        request=wire.EventRequest(cause.request_id, cause.idempotency_key),
    )
    stored = tx.events.add(
        StoredEvent(
            id=event.id,
            seq=tx.next_seq(),
            account=account,
            type=event_type,
            object_id=shown.id,
            body=wire.to_json(event).decode(),
            created_ms=tx.now_ms,
        )
    )
    for endpoint in tx.endpoints.all(account=account):
        if endpoint.wants(event_type):
            new_delivery(tx, stored, endpoint)


def new_delivery(tx: Transaction, event: StoredEvent, endpoint: Endpoint) -> Delivery:
    """Put an event on its way to an endpoint, now; every other one later where it asked for disorder."""
    delivery = tx.deliveries.add(
        Delivery(
            id=tx.new_id("del"),
            seq=tx.next_seq(),
            account=event.account,
            event=event.id,
            endpoint=endpoint.id,
            created_ms=tx.now_ms,
        )
    )
    held_back = OUT_OF_ORDER in endpoint.faults and tx.count_up(f"to {endpoint.id}") % 2
    tx.schedule(DELIVER, delivery.id, in_ms=HELD_BACK_MS if held_back else 0)
    return delivery


_KEPT = (Decimal,)
