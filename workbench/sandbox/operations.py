"""The table of operations under `/v1` and `/plants`: all that the service offers, on one screen."""

from collections.abc import Callable
from typing import Any, Final, NamedTuple

import msgspec

from workbench.domain import scenarios, wire
from workbench.sandbox.service import charges, deliveries, endpoints, intents, keys, payouts, plants, refunds, tokens

BEARER: Final = ("Bearer",)
BASIC: Final = ("Basic",)
EITHER: Final = ("Bearer", "Basic")
NO_KEY: Final = ()

ANY_POST: Final = scenarios.FAULTS
"""What every POST can be asked to run into by the Sandbox-Scenario header."""
PAYMENT: Final = scenarios.SCRIPTABLE


def _of_charge(body: wire.CreateCharge) -> str:
    return body.phone


def _of_confirm(body: wire.ConfirmPaymentIntent) -> str:
    return body.payment_method.mobile_money.phone


class Operation(NamedTuple):
    """One row: what is routed, who may call, what runs, what it answers, what it reads, and where it comes from.

    What it does is said by the docstring of `run`, after the path.
    """

    method: str
    path: str
    schemes: tuple[str, ...]
    run: Callable[..., Any]
    answer: Any
    """The struct of the answer's body, for the description."""
    source: str
    """The sections of the interface that show it, or `assumed`."""
    body: type[msgspec.Struct] | None = None
    query: type[msgspec.Struct] | None = None
    publishable: bool = False
    """A publishable key may call it."""
    creates: bool = False
    needs_idempotency_key: bool = False
    body_optional: bool = False
    scenarios: tuple[str, ...] = ()
    """What can be asked to go wrong."""
    refuses: tuple[int, ...] = ()
    """The statuses of refusals that come from what it runs alone: 402 declined, 404 named in the body, 409 state."""
    phone: Callable[[Any], str] | None = None
    """The number in the body on which a script may make the call go wrong."""
    plain_400: bool = False
    """What is wrong with the body is answered as the documented Error, not as a problem."""
    no_store: bool = False
    """The answer holds a token or key: no cache may keep it."""
    traced: bool = True


# fmt: off
OPERATIONS: tuple[Operation, ...] = (
    Operation("POST", "/v1/payment_intents", BEARER, intents.create, wire.PaymentIntent, "2.1, 4",
              body=wire.CreatePaymentIntent, creates=True, scenarios=ANY_POST),
    Operation("GET", "/v1/payment_intents", BEARER, intents.listed, wire.List[wire.PaymentIntent], "assumed",
              query=wire.ListQuery),
    Operation("GET", "/v1/payment_intents/{intent_id}", BEARER, intents.retrieve, wire.PaymentIntent, "assumed",
              query=wire.ClientSecretQuery, publishable=True),
    Operation("POST", "/v1/payment_intents/{intent_id}/confirm", BEARER, intents.confirm, wire.PaymentIntent, "2.2, 4",
              body=wire.ConfirmPaymentIntent, publishable=True, scenarios=PAYMENT, refuses=(409,), phone=_of_confirm),
    Operation("POST", "/v1/payment_intents/{intent_id}/cancel", BEARER, intents.cancel, wire.PaymentIntent, "assumed",
              body=wire.CancelPaymentIntent, body_optional=True, scenarios=ANY_POST, refuses=(409,)),
    Operation("POST", "/v1/charges", BASIC, charges.create, wire.Charge, "2.3, 4",
              body=wire.CreateCharge, creates=True, needs_idempotency_key=True, scenarios=PAYMENT, refuses=(402,),
              phone=_of_charge),
    Operation("GET", "/v1/charges", EITHER, charges.listed, wire.List[wire.Charge], "assumed", query=wire.ListQuery),
    Operation("GET", "/v1/charges/{charge_id}", EITHER, charges.retrieve, wire.Charge, "assumed"),
    Operation("POST", "/v1/refunds", EITHER, refunds.create, wire.Refund, "assumed",
              body=wire.CreateRefund, creates=True, scenarios=(*scenarios.OF_REFUNDS, *ANY_POST), refuses=(404, 409)),
    Operation("GET", "/v1/refunds", EITHER, refunds.listed, wire.List[wire.Refund], "assumed", query=wire.RefundsQuery),
    Operation("GET", "/v1/refunds/{refund_id}", EITHER, refunds.retrieve, wire.Refund, "assumed"),
    Operation("POST", "/v1/payouts", EITHER, payouts.create, wire.Payout, "assumed",
              body=wire.CreatePayout, creates=True, scenarios=(*scenarios.OF_PAYOUTS, *ANY_POST), refuses=(409,)),
    Operation("GET", "/v1/payouts", EITHER, payouts.listed, wire.List[wire.Payout], "assumed", query=wire.ListQuery),
    Operation("GET", "/v1/payouts/{payout_id}", EITHER, payouts.retrieve, wire.Payout, "assumed"),
    Operation("GET", "/v1/balance", EITHER, payouts.balance, wire.Balance, "assumed"),
    Operation("GET", "/v1/events", EITHER, deliveries.events, wire.List[wire.Event], "assumed",
              query=wire.EventsQuery),
    Operation("GET", "/v1/events/{event_id}", EITHER, deliveries.event, wire.Event, "assumed"),
    Operation("POST", "/v1/events/{event_id}/replay", EITHER, deliveries.replay_event, wire.List[wire.Delivery],
              "assumed", scenarios=ANY_POST),
    Operation("POST", "/v1/webhook_endpoints", EITHER, endpoints.create, wire.WebhookEndpoint, "assumed",
              body=wire.CreateWebhookEndpoint, creates=True, no_store=True, scenarios=ANY_POST),
    Operation("GET", "/v1/webhook_endpoints", EITHER, endpoints.listed, wire.List[wire.WebhookEndpoint], "assumed",
              query=wire.ListQuery),
    Operation("GET", "/v1/webhook_endpoints/{endpoint_id}", EITHER, endpoints.retrieve, wire.WebhookEndpoint,
              "assumed"),
    Operation("PATCH", "/v1/webhook_endpoints/{endpoint_id}", EITHER, endpoints.update, wire.WebhookEndpoint,
              "assumed", body=wire.UpdateWebhookEndpoint),
    Operation("DELETE", "/v1/webhook_endpoints/{endpoint_id}", EITHER, endpoints.delete, wire.Deleted, "assumed"),
    Operation("POST", "/v1/webhook_endpoints/{endpoint_id}/roll_secret", EITHER, endpoints.roll_secret,
              wire.WebhookEndpoint, "assumed", no_store=True, scenarios=ANY_POST),
    Operation("GET", "/v1/deliveries", EITHER, deliveries.listed, wire.List[wire.Delivery], "assumed",
              query=wire.DeliveriesQuery),
    Operation("GET", "/v1/deliveries/{delivery_id}", EITHER, deliveries.retrieve, wire.Delivery, "assumed"),
    Operation("POST", "/v1/deliveries/{delivery_id}/replay", EITHER, deliveries.replay, wire.Delivery, "assumed",
              scenarios=ANY_POST, refuses=(409,)),
    Operation("POST", "/v1/dead_letters/replay", EITHER, deliveries.replay_dead_letters, wire.List[wire.Delivery],
              "assumed", scenarios=ANY_POST),
    Operation("GET", "/v1/api_keys", EITHER, keys.listed, wire.List[wire.ApiKey], "assumed", query=wire.ListQuery),
    Operation("POST", "/v1/api_keys", EITHER, keys.create, wire.ApiKey, "assumed",
              body=wire.CreateApiKey, body_optional=True, creates=True, no_store=True, scenarios=ANY_POST),
    Operation("POST", "/v1/api_keys/{key_id}/roll", EITHER, keys.roll, wire.ApiKey, "assumed",
              no_store=True, scenarios=ANY_POST, refuses=(409,)),
    Operation("DELETE", "/v1/api_keys/{key_id}", EITHER, keys.revoke, wire.ApiKey, "assumed", refuses=(409,)),
    Operation("POST", "/plants", BEARER, plants.create, wire.Plant, "2.4, 4", body=wire.NewPlant, plain_400=True),
    Operation("POST", "/v1/auth/token", NO_KEY, tokens.issue, wire.Token, "4, 5",
              body=wire.TokenRequest, no_store=True),
    Operation("POST", "/v1/auth/refresh", NO_KEY, tokens.refresh, wire.Token, "4, 5",
              body=wire.RefreshRequest, no_store=True, body_optional=True),
)
# fmt: on
