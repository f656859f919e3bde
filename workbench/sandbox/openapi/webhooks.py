"""The webhooks of the description: one for each type of event, as a receiver sees it."""

from typing import Any, Final

from workbench.domain.gaps import Gaps
from workbench.domain.webhooks import EVENT_TYPES
from workbench.sandbox.messages import JSON
from workbench.sandbox.openapi import examples, provenance, schemas

Schema = dict[str, Any]

_OBJECT_OF: Final = {
    "payment_intent": "PaymentIntent",
    "charge": "Charge",
    "refund": "Refund",
    "payout": "Payout",
    "webhook_endpoint": "WebhookEndpoint",
}
_HEADERS: Final = (
    ("webhook-id", {"pattern": "^evt_[0-9A-Za-z]{24}$"}, "The event's id, the same over retries: dedupe on it."),
    ("webhook-timestamp", {"pattern": "^[0-9]+$"}, "When this attempt was signed, seconds since 1970, UTC."),
    ("webhook-signature", {"pattern": "^v1,[A-Za-z0-9+/]+=*( v1,[A-Za-z0-9+/]+=*)*$"},
     "HMAC-SHA256 of `id.timestamp.body`, base64; several while a secret is being rolled."),
)  # fmt: skip


def webhooks(gaps: Gaps) -> dict[str, Schema]:
    """One entry for each type of event."""
    return {each: {"post": _webhook(each, gaps)} for each in EVENT_TYPES}


def _webhook(event_type: str, gaps: Gaps) -> Schema:
    family, _, happened = event_type.partition(".")
    told = schemas.reference(_OBJECT_OF[family])
    return {
        "operationId": "on" + "".join(word.capitalize() for word in event_type.replace(".", "_").split("_")),
        "summary": f"{family.replace('_', ' ').capitalize()}: {happened.replace('_', ' ')}",
        "tags": ["Webhooks"],
        "security": [],
        "parameters": [
            {
                "name": name,
                "in": "header",
                "required": True,
                "description": says,
                "schema": {"type": "string", **schema},
                **provenance.assumed("6"),
            }
            for name, schema, says in _HEADERS
        ],
        "requestBody": {
            "required": True,
            "content": {
                JSON: {
                    "schema": {
                        "allOf": [
                            schemas.reference("Event"),
                            {
                                "properties": {
                                    "type": {"const": event_type},
                                    "data": {"properties": {"object": told}},
                                }
                            },
                        ]
                    },
                    "example": examples.event(event_type),
                }
            },
        },
        "responses": _answers(gaps),
        **provenance.assumed("6"),
    }


def _answers(gaps: Gaps) -> Schema:
    taken = "2XX" if gaps.delivery_success == "2xx" else "200"
    gone = "The endpoint is disabled." if gaps.delivery_gone == "disables" else "Sent again, as after any failure."
    waits = ", ".join(str(each) for each in gaps.retry_schedule_s)
    return {
        taken: {"description": f"Received, when it comes within {gaps.delivery_timeout_s} s. The body is not read."},
        "410": {"description": gone},
        "default": {"description": f"Sent again, seconds after the attempt before: {waits}; then it is a dead letter."},
    }
