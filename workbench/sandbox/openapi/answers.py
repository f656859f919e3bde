"""What is known of the values in answers, as JSON Schema: one row for each field, by component and name."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from workbench.domain import receipts, ussd, wire
from workbench.domain.gaps import Gaps
from workbench.domain.money import ZMW
from workbench.domain.payments import (
    CHARGE_TRANSITIONS,
    FAILURES,
    INTENT_TRANSITIONS,
    PAYOUT_TRANSITIONS,
    REFUND_TRANSITIONS,
)
from workbench.domain.phones import OPERATORS
from workbench.domain.transitions import Transitions
from workbench.domain.webhooks import DEAD_LETTER, DELIVERED, DISABLED, ENABLED, EVENT_TYPES, FAULTS, PENDING
from workbench.sandbox import operator
from workbench.sandbox.service.keys import ACTIVE, REVOKED, ROLLED
from workbench.sandbox.service.rules import MOBILE_MONEY
from workbench.sandbox.store.creation import KEY_PREFIXES

Schema = dict[str, Any]
Rule = Callable[[Gaps], Schema]

NAMES: Final[Mapping[str, str]] = {"MobileMoneyMethod": "ShownMethod", "MobileMoney": "ShownMobileMoney"}
"""Structs that requests hold too, where they are less free: in answers they have names of their own."""

SET_IN_FULL: Final[Mapping[str, tuple[str, ...]]] = {
    "PaymentIntent": (
        "object", "amount", "currency", "description", "payment_method_types", "payment_method", "next_action",
        "last_payment_error", "latest_charge", "metadata", "warnings", "canceled_at", "cancellation_reason",
        "created", "livemode",
    ),
}  # fmt: skip
"""Fields that can be unset by type and are set where the register asks for all of them."""


def _always(schema: Schema) -> Rule:
    return lambda gaps: schema  # noqa: ARG005  a rule that no gap changes


def _one_of(values: Iterable[str]) -> Rule:
    return _always({"enum": list(values)})


def _states(table: Transitions) -> Rule:
    return _one_of(dict.fromkeys([*(state for state, _ in table), *table.values()]))


def _id(prefix: str) -> Rule:
    return _always({"pattern": f"^{prefix}_[0-9A-Za-z]{{24}}$"})


def _const(value: str) -> Rule:
    return _always({"const": value})


def _operator(gaps: Gaps) -> Schema:
    return {"enum": [each.id if gaps.operator_ids == "short" else each.long_id for each in OPERATORS.values()]}


def _says(text: str) -> Rule:
    return _always({"description": text})


_MASKED: Rule = _always({"pattern": r"^\+260[0-9]{2}•{4}[0-9]{3}$", "description": "Masked: it stays the customer's."})
_SECONDS = _says("Seconds since 1970, UTC.")
_UPPER, _LOWER = _const(ZMW.code), _const(ZMW.code.lower())
_FAILURE = _one_of(FAILURES)
_LIVE = _always({"const": False, "description": "A sandbox holds nothing live."})
_COMMON: Mapping[str, Rule] = {"created": _SECONDS, "livemode": _LIVE}
_NEVER_NEGATIVE = _always({"minimum": 0})

RULES: Mapping[str, Mapping[str, Rule]] = {
    "PaymentIntent": {
        "id": _id("pi"),
        "client_secret": _says("Used to confirm the intent; not in events."),
        "object": _const("payment_intent"),
        "amount": _says("Major units, two decimals."),
        "currency": _UPPER,
        "status": _states(INTENT_TRANSITIONS),
        "latest_charge": _id("ch"),
        "canceled_at": _SECONDS,
        **_COMMON,
    },
    "Charge": {
        "id": _id("ch"),
        "object": _const("charge"),
        "status": _states(CHARGE_TRANSITIONS),
        "currency": _LOWER,
        "channel": lambda gaps: {**_operator(gaps), "description": "The operator that the merchant asked for."},
        "provider": lambda gaps: {**_operator(gaps), "description": "The operator that moved the money."},
        "type": _const(MOBILE_MONEY),
        "phone": _MASKED,
        "payment_intent": _id("pi"),
        "failure_code": _FAILURE,
        "amount": lambda gaps: {"minimum": 1, "description": f"In {gaps.charge_amount_unit} units."},
        "amount_refunded": _NEVER_NEGATIVE,
        **_COMMON,
    },
    "Refund": {
        "id": _id("re"),
        "object": _const("refund"),
        "status": _states(REFUND_TRANSITIONS),
        "amount": _says("In the unit of what was named: a charge or an intent."),
        "currency": _one_of([ZMW.code, ZMW.code.lower()]),
        "charge": _id("ch"),
        "payment_intent": _id("pi"),
        "failure_code": _FAILURE,
        **_COMMON,
    },
    "Payout": {
        "id": _id("po"),
        "object": _const("payout"),
        "status": _states(PAYOUT_TRANSITIONS),
        "amount": _says("Major units, two decimals."),
        "currency": _UPPER,
        "failure_code": _FAILURE,
        **_COMMON,
    },
    "Balance": {"object": _const("balance"), "livemode": _LIVE},
    "Amount": {"amount": _says("Major units, two decimals."), "currency": _UPPER},
    "ShownMethod": {"type": _const(MOBILE_MONEY)},
    "ShownMobileMoney": {"phone": _MASKED, "provider": _operator},
    "NextAction": {"type": _const("ussd_prompt")},
    "UssdPrompt": {"phone": _MASKED, "expires_at": _SECONDS},
    "PaymentError": {"code": _FAILURE, "charge": _id("ch")},
    "Plant": {
        "name": _says("Name of the plant."),
        "tag": _says("Tag that specifies the type."),
    },
    "PlantError": {
        "error": _always({"format": "int32", "description": "Error code."}),
        "message": _says("Error text."),
    },
    "Token": {
        "access_token": _says("Sent as `Authorization: Bearer` for 86400 seconds."),
        "refresh_token": _says("Good for one new pair."),
        "token_type": _const("Bearer"),
        "expires_in": _always({"const": 86_400}),
    },
    "WebhookEndpoint": {
        "id": _id("we"),
        "object": _const("webhook_endpoint"),
        "status": _one_of([ENABLED, DISABLED]),
        "secret": _says("What its messages are signed with; there once, when it is created or rolled."),
        "secret_overlap_until": _SECONDS,
        **_COMMON,
    },
    "Deleted": {"deleted": _always({"const": True})},
    "Delivery": {
        "id": _id("del"),
        "object": _const("delivery"),
        "status": _one_of([PENDING, DELIVERED, DEAD_LETTER]),
        "event": _id("evt"),
        "endpoint": _id("we"),
        "next_attempt_at": _SECONDS,
        **_COMMON,
    },
    "DeliveryAttempt": {"number": _always({"minimum": 1}), "at": _SECONDS, "latency_ms": _NEVER_NEGATIVE},
    "Event": {
        "id": _id("evt"),
        "type": _one_of(EVENT_TYPES),
        "timestamp": _always({"format": "date-time"}),
        "api_version": _const(wire.API_VERSION),
        "livemode": _LIVE,
    },
    "ApiKey": {
        "id": _id("key"),
        "object": _const("api_key"),
        "kind": _one_of(KEY_PREFIXES),
        "status": _one_of([ACTIVE, ROLLED, REVOKED]),
        "value": _says("The key itself; there once, when it is created or rolled."),
        **_COMMON,
    },
    "Clock": {
        "object": _const("clock"),
        "mode": _one_of(["manual", "running"]),
        "now": _always({"format": "date-time"}),
        "business_date": _always({"format": "date", "description": "In Lusaka."}),
    },
    "Handset": {
        "object": _const("phone"),
        "operator": _one_of(OPERATORS),
        "state": _one_of(["idle", *dict.fromkeys(ussd.SCREEN_TEXTS)]),
        "tries_left": _always({"minimum": 1}),
        "expires_at": _SECONDS,
        "queued": _NEVER_NEGATIVE,
        "charge": _id("ch"),
    },
    "Message": {
        "object": _const("message"),
        "at": _always({"format": "date-time"}),
        "kind": _one_of(receipts.RECEIPT_TEXTS),
        "amount_minor": _always({"minimum": 1}),
    },
    "Scripted": {
        "object": _const("operator_script"),
        "answers": _always({"items": {"enum": list(operator.SCRIPTABLE)}}),
    },
    "OperatorState": {"object": _const("operator"), "provider": _one_of(OPERATORS), "down_until": _SECONDS},
    "NewAccountKeys": {"id": _id("acct"), "object": _const("account")},
    "FaultyEndpoint": {"id": _id("we"), "faults": _always({"items": {"enum": list(FAULTS)}})},
    "LedgerMovement": {
        "direction": _one_of(["in", "out"]),
        "amount_minor": _always({"minimum": 1}),
        "fee_minor": _NEVER_NEGATIVE,
        "status": _const("completed"),
        "state": _one_of(["posted", "in_suspense"]),
        "phone": _MASKED,
    },
    "LedgerPosting": {"side": _one_of(["debit", "credit"]), "amount_minor": _always({"minimum": 1})},
    "TraceRow": {
        "kind": _one_of(["call", "screen", "entry", "webhook"]),
        "at": _always({"format": "date-time"}),
    },
    "WasReset": {"object": _const("reset")},
}
"""Component → field → what its schema says beyond its type."""
