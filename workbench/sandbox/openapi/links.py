"""What an answer leads to: which operations take an id that another one answers."""

from collections.abc import Mapping
from typing import Any, Final

_ID: Final = "$response.body#/id"

LINKS: Final[Mapping[str, Mapping[str, Mapping[str, Any]]]] = {
    "createPaymentIntent": {
        "confirm": {"operationId": "confirmPaymentIntent", "parameters": {"intent_id": _ID}},
        "retrieve": {"operationId": "retrievePaymentIntent", "parameters": {"intent_id": _ID}},
        "cancel": {"operationId": "cancelPaymentIntent", "parameters": {"intent_id": _ID}},
    },
    "confirmPaymentIntent": {
        "retrieve": {"operationId": "retrievePaymentIntent", "parameters": {"intent_id": _ID}},
        "cancel": {"operationId": "cancelPaymentIntent", "parameters": {"intent_id": _ID}},
        "charge": {
            "operationId": "retrieveCharge",
            "parameters": {"charge_id": "$response.body#/latest_charge"},
        },
    },
    "createCharge": {
        "retrieve": {"operationId": "retrieveCharge", "parameters": {"charge_id": _ID}},
        "refund": {"operationId": "createRefund", "requestBody": {"charge": _ID}},
        "refunds": {"operationId": "listRefunds", "parameters": {"charge": _ID}},
    },
    "createRefund": {"retrieve": {"operationId": "retrieveRefund", "parameters": {"refund_id": _ID}}},
    "createPayout": {"retrieve": {"operationId": "retrievePayout", "parameters": {"payout_id": _ID}}},
    "createWebhookEndpoint": {
        "retrieve": {"operationId": "retrieveWebhookEndpoint", "parameters": {"endpoint_id": _ID}},
        "update": {"operationId": "updateWebhookEndpoint", "parameters": {"endpoint_id": _ID}},
        "roll": {"operationId": "rollWebhookEndpointSecret", "parameters": {"endpoint_id": _ID}},
        "delete": {"operationId": "deleteWebhookEndpoint", "parameters": {"endpoint_id": _ID}},
    },
    "deleteWebhookEndpoint": {
        "gone": {"operationId": "retrieveWebhookEndpoint", "parameters": {"endpoint_id": _ID}},
    },
    "retrieveEvent": {"replay": {"operationId": "replayEvent", "parameters": {"event_id": _ID}}},
    "retrieveDelivery": {"replay": {"operationId": "replayDelivery", "parameters": {"delivery_id": _ID}}},
    "createApiKey": {
        "roll": {"operationId": "rollApiKey", "parameters": {"key_id": _ID}},
        "revoke": {"operationId": "revokeApiKey", "parameters": {"key_id": _ID}},
    },
    "issueToken": {
        "refresh": {
            "operationId": "refreshToken",
            "requestBody": {"refresh_token": "$response.body#/refresh_token"},
        },
    },
}
"""operationId → name of the link → where it leads."""
