"""Webhook endpoints: where a merchant wants its events."""

from workbench.domain import wire
from workbench.domain.webhooks import Endpoint
from workbench.sandbox import encode
from workbench.sandbox.addresses import check_url
from workbench.sandbox.service.caller import Caller
from workbench.sandbox.store import Transaction


def create(tx: Transaction, caller: Caller, body: wire.CreateWebhookEndpoint) -> wire.WebhookEndpoint:
    """POST /v1/webhook_endpoints: the answer holds the signing secret, once."""
    check_url(body.url)
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
