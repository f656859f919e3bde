"""What operations and their groups are called in the description."""

import re
from collections.abc import Mapping
from typing import Any, Final

from workbench.sandbox.operations import Operation

_RUNS: Final[Mapping[str, str]] = {
    "intents.create": "createPaymentIntent",
    "intents.listed": "listPaymentIntents",
    "intents.retrieve": "retrievePaymentIntent",
    "intents.confirm": "confirmPaymentIntent",
    "intents.cancel": "cancelPaymentIntent",
    "charges.create": "createCharge",
    "charges.listed": "listCharges",
    "charges.retrieve": "retrieveCharge",
    "refunds.create": "createRefund",
    "refunds.listed": "listRefunds",
    "refunds.retrieve": "retrieveRefund",
    "payouts.create": "createPayout",
    "payouts.listed": "listPayouts",
    "payouts.retrieve": "retrievePayout",
    "payouts.balance": "retrieveBalance",
    "deliveries.events": "listEvents",
    "deliveries.event": "retrieveEvent",
    "deliveries.replay_event": "replayEvent",
    "endpoints.create": "createWebhookEndpoint",
    "endpoints.listed": "listWebhookEndpoints",
    "endpoints.retrieve": "retrieveWebhookEndpoint",
    "endpoints.update": "updateWebhookEndpoint",
    "endpoints.delete": "deleteWebhookEndpoint",
    "endpoints.roll_secret": "rollWebhookEndpointSecret",
    "deliveries.listed": "listDeliveries",
    "deliveries.retrieve": "retrieveDelivery",
    "deliveries.replay": "replayDelivery",
    "deliveries.replay_dead_letters": "replayDeadLetters",
    "keys.listed": "listApiKeys",
    "keys.create": "createApiKey",
    "keys.roll": "rollApiKey",
    "keys.revoke": "revokeApiKey",
    "plants.create": "createPlant",
    "tokens.issue": "issueToken",
    "tokens.refresh": "refreshToken",
}
"""Module and function that run → operationId, as a generated client would call its method."""

_OF_PANEL: Final = (
    "The control plane, which no real service has: clock, handsets, operators, ledger, trace. It belongs to whoever "
    "runs the sandbox: every secret key of it sees, and resets, what there is of all its accounts."
)

_TAGS: Final[Mapping[str, tuple[str, str]]] = {
    "/v1/payment_intents": ("Payment intents", "An attempt to be paid: created, then confirmed with a wallet."),
    "/v1/charges": ("Charges", "The one-call alternative, and what each attempt came to."),
    "/v1/refunds": ("Refunds", "Money of a charge given back."),
    "/v1/payouts": ("Payouts", "Cleared money sent to the merchant's bank."),
    "/v1/balance": ("Payouts", ""),
    "/v1/webhook_endpoints": ("Webhooks", "Where events go, what has happened, and how it was delivered."),
    "/v1/events": ("Webhooks", ""),
    "/v1/deliveries": ("Webhooks", ""),
    "/v1/dead_letters": ("Webhooks", ""),
    "/v1/api_keys": ("Keys", "The merchant's test keys, and the illustrative bearer tokens."),
    "/v1/auth": ("Keys", ""),
    "/plants": ("Plants", "The sample plant store."),
    "/sandbox": (
        "Sandbox",
        _OF_PANEL,
    ),
}
"""Beginning of a path → the group of its operations and what it is about."""


def operation_id(operation: Operation) -> str:
    """The operationId: listed above, else from the module and function that run."""
    function = f"{operation.run.__module__.rpartition('.')[2]}.{operation.run.__name__}"
    words = [word for word in re.split(r"[._]", f"sandbox.{operation.run.__name__}") if word]
    return _RUNS.get(function) or words[0] + "".join(word.capitalize() for word in words[1:])


def tag(operation: Operation) -> str:
    """The group that an operation stands in."""
    return next(name for path, (name, _) in _TAGS.items() if operation.path.startswith(path))


def tags() -> list[dict[str, Any]]:
    """The groups, each once, in the order of the tables."""
    return [{"name": name, "description": says} for name, says in _TAGS.values() if says]


def words(operation: Operation) -> tuple[str, str]:
    """Summary and description, from the docstring of what runs."""
    first, _, rest = (operation.run.__doc__ or "").partition("\n")
    says = first.partition(": ")[2]
    paragraphs = (" ".join(part.split()) for part in rest.split("\n\n"))
    told = [part.partition("Raises ")[0].strip() for part in paragraphs]
    return says[:1].upper() + says[1:], "\n\n".join(part for part in told if part)
