"""Where each field and operation comes from: shown by the interface, assumed in a gap of it, or the sandbox's own.

One table. What is not in `DOCUMENTED` is an assumption of ours, or the panel's.
"""

from collections.abc import Mapping
from typing import Any, Final

from workbench.domain.wire import panel
from workbench.sandbox.operations import Operation

DOCUMENTED: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = {
    "CreatePaymentIntent": ("2.1", ("amount", "currency", "payment_method_types", "description")),
    "PaymentIntent": ("2.1", ("id", "client_secret")),
    "ConfirmPaymentIntent": ("2.2", ("payment_method",)),
    "MobileMoneyMethod": ("2.2", ("type", "mobile_money")),
    "MobileMoney": ("2.2", ("phone", "provider")),
    "CreateCharge": ("2.3", ("amount", "currency", "type", "channel", "phone", "reference")),
    "Charge": ("2.3", ("id", "status", "amount", "currency", "channel", "provider")),
    "NewPlant": ("2.4", ("id", "name", "tag")),
    "Plant": ("2.4", ("name", "tag")),
    "PlantError": ("2.4", ("error", "message")),
    "TokenRequest": ("4", ("email", "password")),
}
"""Struct → the section of the interface, and the fields that it shows."""

GAP_OF: Final[Mapping[str, str]] = {
    "CreatePaymentIntent": "2.5",
    "CancelPaymentIntent": "4",
    "ConfirmPaymentIntent": "4",
    "CreateCharge": "2.5",
    "PaymentIntent": "2.5",
    "ShownMethod": "2.5",
    "ShownMobileMoney": "2.5",
    "NextAction": "4",
    "UssdPrompt": "4",
    "PaymentError": "2.5",
    "Charge": "2.5",
    "Problem": "7",
    "FieldProblem": "7",
    "WebhookEndpoint": "6",
    "WebhookEndpointList": "6",
    "CreateWebhookEndpoint": "6",
    "UpdateWebhookEndpoint": "6",
    "Event": "6",
    "EventData": "6",
    "EventRequest": "6",
    "EventList": "6",
    "Delivery": "6",
    "DeliveryAttempt": "6",
    "DeliveryList": "6",
    "ApiKey": "5",
    "ApiKeyList": "5",
    "CreateApiKey": "5",
}
"""Component → the section of the interface that leaves it open, where that is not section 4: other endpoints."""

_ENDPOINTS_NOT_SHOWN: Final = "4"
_GAP_OF_PATH: Final = (("/v1/events", "6"), ("/v1/webhook_endpoints", "6"), ("/v1/deliveries", "6"),
                       ("/v1/dead_letters", "6"), ("/v1/api_keys", "5"))  # fmt: skip
_OF_PANEL: Final = {
    *(name for name in vars(panel) if name[0].isupper()), "LedgerAccountRows", "LedgerEntryPage",
    "LedgerPostingPage", "LedgerMovementPage", "TraceRowRows", "MessageRows", "GapRows",
    "OperatorStateRows", "FaultyEndpointRows", "TraceQuery", "BalancesQuery",
    "EntriesQuery", "MovementsQuery",
}  # fmt: skip

Mark = dict[str, str]


def mark(schema: dict[str, Any], name: str) -> None:
    """Write on each field of a component where it comes from."""
    for field, described in schema["properties"].items():
        described.update(of_field(name, field))


def of_field(name: str, field: str) -> Mark:
    """Where a field of a component comes from."""
    section, shown = DOCUMENTED.get(name, ("", ()))
    if field in shown:
        return documented(section)
    return sandbox() if name in _OF_PANEL else assumed(GAP_OF.get(name, _ENDPOINTS_NOT_SHOWN))


def of_operation(operation: Operation) -> Mark:
    """Where an operation comes from; a documented one may stand in several sections."""
    if operation.source == "sandbox":
        return sandbox()
    if operation.source != "assumed":
        return documented(operation.source)
    found = (section for path, section in _GAP_OF_PATH if operation.path.startswith(path))
    return assumed(next(found, _ENDPOINTS_NOT_SHOWN))


def documented(section: str) -> Mark:
    """What the interface shows."""
    return {"x-provenance": "documented", "x-section": section}


def assumed(section: str) -> Mark:
    """What the interface leaves open; the section that does."""
    return {"x-provenance": "assumed", "x-section": section}


def sandbox() -> Mark:
    """What no real service has."""
    return {"x-provenance": "sandbox"}
