"""Events: written in the commit of what they tell of, and put on their way to every endpoint."""

from decimal import Decimal
from typing import Any

import msgspec

from workbench.domain import wire
from workbench.domain.moments import rfc3339
from workbench.domain.webhooks import Delivery, StoredEvent
from workbench.sandbox.store import Transaction

DELIVER = "deliver"


def emit(
    tx: Transaction,
    account: str,
    event_type: str,
    shown: wire.PaymentIntent | wire.Charge | wire.WebhookEndpoint,
    *,
    before: dict[str, Any] | None = None,
) -> None:
    """Record that something happened to `shown`; `before` holds the values that it changed from."""
    event = wire.Event(
        id=tx.new_id("evt"),
        type=event_type,
        timestamp=rfc3339(tx.now_ms),
        data=wire.EventData(msgspec.to_builtins(shown, builtin_types=_KEPT, enc_hook=wire.plain), before or {}),
        request=wire.EventRequest(tx.request_id, tx.idempotency_key),
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
            delivery = tx.deliveries.add(
                Delivery(id=tx.new_id("del"), seq=tx.next_seq(), event=stored.id, endpoint=endpoint.id)
            )
            tx.schedule(DELIVER, delivery.id)


_KEPT = (Decimal,)
