"""The table of operations under `/v1` and `/plants`: all that the service offers, on one screen."""

from collections.abc import Callable
from typing import Any, Final, NamedTuple

import msgspec

from workbench.domain import wire
from workbench.sandbox.service import charges, endpoints, intents, plants, tokens

BEARER: Final = ("Bearer",)
BASIC: Final = ("Basic",)
EITHER: Final = ("Bearer", "Basic")
NO_KEY: Final = ()


class Operation(NamedTuple):
    """One row: what is routed, who may call, what it reads, what runs, and where it comes from."""

    method: str
    path: str
    schemes: tuple[str, ...]
    run: Callable[..., Any]
    body: type[msgspec.Struct] | None
    source: str
    """The sections of the interface that show it, or `assumed`."""
    publishable: bool = False
    """A publishable key may call it."""
    creates: bool = False
    needs_idempotency_key: bool = False
    body_optional: bool = False
    query: tuple[str, ...] = ()
    plain_400: bool = False
    """What is wrong with the body is answered as the documented Error, not as a problem."""
    no_store: bool = False
    """The answer holds a token: no cache may keep it."""
    traced: bool = True


# fmt: off
OPERATIONS: tuple[Operation, ...] = (
    Operation("POST", "/v1/payment_intents", BEARER, intents.create, wire.CreatePaymentIntent, "2.1, 4",
              creates=True),
    Operation("GET", "/v1/payment_intents/{intent_id}", BEARER, intents.retrieve, None, "assumed",
              publishable=True, query=("client_secret",)),
    Operation("POST", "/v1/payment_intents/{intent_id}/confirm", BEARER, intents.confirm, wire.ConfirmPaymentIntent,
              "2.2, 4", publishable=True),
    Operation("POST", "/v1/charges", BASIC, charges.create, wire.CreateCharge, "2.3, 4",
              creates=True, needs_idempotency_key=True),
    Operation("GET", "/v1/charges/{charge_id}", EITHER, charges.retrieve, None, "assumed"),
    Operation("POST", "/plants", BEARER, plants.create, wire.NewPlant, "2.4, 4",
              plain_400=True),
    Operation("POST", "/v1/auth/token", NO_KEY, tokens.issue, wire.TokenRequest, "4, 5",
              no_store=True),
    Operation("POST", "/v1/auth/refresh", NO_KEY, tokens.refresh, wire.RefreshRequest, "4, 5",
              no_store=True, body_optional=True),
    Operation("POST", "/v1/webhook_endpoints", EITHER, endpoints.create, wire.CreateWebhookEndpoint, "assumed",
              creates=True),
    Operation("DELETE", "/v1/webhook_endpoints/{endpoint_id}", EITHER, endpoints.delete, None, "assumed"),
)
# fmt: on
