"""Webhook endpoints: where a merchant wants its events, and what they are signed with."""

from workbench.domain import webhooks, wire
from workbench.domain.signatures import SCHEMES
from workbench.domain.webhooks import Endpoint, OldSecret, check_filter, types_of
from workbench.domain.wire import control
from workbench.errors import InvalidRequest, StateConflict
from workbench.sandbox import views
from workbench.sandbox.addresses import check_url
from workbench.sandbox.service import checks, lists
from workbench.sandbox.service.lists import Caller
from workbench.sandbox.store import Transaction

URL = wire.ENDPOINTS
OVERLAP_MS = 86_400_000
"""How long after a roll messages are signed with the secrets before as well."""
_KEPT = (webhooks.ENABLED, webhooks.DISABLED)


def create(tx: Transaction, caller: Caller, body: wire.CreateWebhookEndpoint) -> wire.WebhookEndpoint:
    """POST /v1/webhook_endpoints: register an endpoint; the response holds its signing secret, once."""
    if tx.gaps.endpoint_registration == "dashboard" and tx.endpoints.count(account=caller.account, status=_KEPT):
        message = "The dashboard allows one endpoint, and it exists already."
        hint = "Change its URL, or delete it first."
        raise StateConflict(message, code="endpoint_exists", param="url", hint=hint)
    with checks.EveryFault() as every:
        every.read(check_url, body.url, tx.mounted_hosts, private=tx.private_receivers)
        every.read(check_filter, body.enabled_events, types_of(tx.gaps.event_types))
    made = tx.made("we", caller.account)
    secret = tx.draws.webhook_secret(made["id"], 1, scheme=tx.gaps.signature_scheme)
    stored = tx.endpoints.add(Endpoint(**made, url=body.url, secret=secret, enabled_events=tuple(body.enabled_events)))
    return views.webhook_endpoint(stored, tx.now_ms, secret=True)


def retrieve(tx: Transaction, caller: Caller, *, endpoint_id: wire.PathEndpoint) -> wire.WebhookEndpoint:
    """GET /v1/webhook_endpoints/{endpoint_id}: an endpoint, without its secret."""
    return views.webhook_endpoint(found(tx, caller, endpoint_id), tx.now_ms)


def listed(tx: Transaction, caller: Caller, *, query: wire.ListQuery) -> lists.Listed[wire.WebhookEndpoint]:
    """GET /v1/webhook_endpoints: the endpoints, newest first."""
    return lists.page(
        caller, tx.endpoints, query, URL, lambda each: views.webhook_endpoint(each, tx.now_ms), status=_KEPT
    )


def update(
    tx: Transaction, caller: Caller, body: wire.UpdateWebhookEndpoint, *, endpoint_id: wire.PathEndpoint
) -> wire.WebhookEndpoint:
    """PATCH /v1/webhook_endpoints/{endpoint_id}: change an endpoint's URL or filter, or enable it again."""
    stored = found(tx, caller, endpoint_id)
    if body.url is not None:
        check_url(body.url, tx.mounted_hosts, private=tx.private_receivers)
        stored = tx.endpoints.put(stored, url=body.url)
    if body.enabled_events is not None:
        check_filter(body.enabled_events, types_of(tx.gaps.event_types))
        stored = tx.endpoints.put(stored, enabled_events=tuple(body.enabled_events))
    if body.status is not None:
        if body.status not in _KEPT:
            raise InvalidRequest(f"status is {' or '.join(_KEPT)}.", code="parameter_invalid", param="status")
        stored = tx.endpoints.put(stored, status=body.status, failing_since_ms=None)
    return views.webhook_endpoint(stored, tx.now_ms)


def roll_secret(tx: Transaction, caller: Caller, *, endpoint_id: wire.PathEndpoint) -> wire.WebhookEndpoint:
    """POST /v1/webhook_endpoints/{endpoint_id}/roll_secret: roll the signing secret, shown once."""
    stored, scheme = found(tx, caller, endpoint_id), tx.gaps.signature_scheme
    signing_on = (OldSecret(stored.secret, tx.now_ms + OVERLAP_MS), *stored.overlapping(tx.now_ms))
    rolled = tx.endpoints.put(
        stored,
        secret=tx.draws.webhook_secret(stored.id, stored.rolls + 2, scheme=scheme),
        rolls=stored.rolls + 1,
        old_secrets=signing_on if SCHEMES[scheme].has_room else (),
    )
    return views.webhook_endpoint(rolled, tx.now_ms, secret=True)


def delete(tx: Transaction, caller: Caller, *, endpoint_id: wire.PathEndpoint) -> wire.Deleted:
    """DELETE /v1/webhook_endpoints/{endpoint_id}: delete an endpoint; nothing more is sent there."""
    stored = tx.endpoints.put(found(tx, caller, endpoint_id), status=webhooks.DELETED)
    return wire.Deleted(stored.id, "webhook_endpoint")


def delivery_faults(
    tx: Transaction, caller: Caller, body: control.DeliveryFaults, *, endpoint_id: wire.PathEndpoint
) -> control.FaultyEndpoint:
    """POST /sandbox/webhook_endpoints/{endpoint_id}/faults: deliver twice or out of order, to test a receiver."""
    checks.check_known(body.faults, webhooks.FAULTS, "is no fault; they are", param="faults")
    stored = tx.endpoints.put(found(tx, caller, endpoint_id), faults=tuple(body.faults))
    return control.FaultyEndpoint(stored.id, list(stored.faults))


def endpoints_faults(tx: Transaction, caller: Caller) -> control.Rows[control.FaultyEndpoint]:
    """GET /sandbox/webhook_endpoints: how deliveries to each endpoint misbehave, newest first."""
    kept = tx.endpoints.all(order="seq DESC", account=caller.account, status=_KEPT)
    return control.Rows([control.FaultyEndpoint(each.id, list(each.faults)) for each in kept])


def found(tx: Transaction, caller: Caller, endpoint_id: str) -> Endpoint:
    """The caller's endpoint of this id. Raises NotFound: there is none, or it was deleted."""
    return checks.found(caller, tx.endpoints, endpoint_id, "webhook endpoint", code="endpoint_not_found", status=_KEPT)
