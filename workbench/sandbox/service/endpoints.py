"""Webhook endpoints: where a merchant wants its events."""

from workbench.domain import wire
from workbench.domain.webhooks import Endpoint, check_filter
from workbench.errors import NotFound
from workbench.sandbox import encode
from workbench.sandbox.addresses import check_url
from workbench.sandbox.service.caller import Caller
from workbench.sandbox.store import Transaction

DELETED = "deleted"


def create(tx: Transaction, caller: Caller, body: wire.CreateWebhookEndpoint) -> wire.WebhookEndpoint:
    """POST /v1/webhook_endpoints: the answer holds the signing secret, once."""
    check_url(body.url)
    check_filter(body.enabled_events)
    identifier = tx.new_id("we")
    stored = tx.endpoints.add(
        Endpoint(
            id=identifier,
            seq=tx.next_seq(),
            account=caller.account,
            url=body.url,
            secret=tx.draws.webhook_secret(identifier, 1),
            enabled_events=tuple(body.enabled_events),
            created_ms=tx.now_ms,
        )
    )
    return encode.webhook_endpoint(stored, secret=True)


def delete(tx: Transaction, caller: Caller, *, endpoint_id: str) -> wire.Deleted:
    """DELETE /v1/webhook_endpoints/{id}: nothing more is sent there, what waits included."""
    stored = tx.endpoints.get(endpoint_id)
    if stored is None or stored.account != caller.account or stored.status == DELETED:
        raise NotFound(f"There is no webhook endpoint {endpoint_id[:60]!r}.", code="endpoint_not_found", param="id")
    tx.endpoints.put(stored, status=DELETED)
    return wire.Deleted(stored.id, "webhook_endpoint")
