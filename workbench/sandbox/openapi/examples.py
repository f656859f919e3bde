"""Bodies to show and to try: requests that work as they stand, and answers and events as they look.

Those of `examples.json` are what a seeded run answered, secrets masked; a test runs it again and compares.
"""

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any, Final

import msgspec

from workbench.domain import wire
from workbench.domain.catalogue import CODES
from workbench.domain.gaps import Gaps
from workbench.domain.webhooks import TOLD_AS
from workbench.errors import FieldProblem
from workbench.sandbox import views

Example = dict[str, Any]
FILE: Final = "examples.json"
_OF_EVENTS: Final = ("listEvents", "retrieveEvent")
_AS_IN_THE_RUN: Final = (Gaps().event_types, Gaps().event_payload)

_PHONE: Final = "+260960000001"
_INTENT: Final = "pi_000000000000000000000001"
_CHARGE: Final = "ch_000000000000000000000001"
_REQUEST: Final = "req_000000000000000000000001"


def _confirmed(phone: str, provider: str) -> Example:
    return {"payment_method": {"type": "mobile_money", "mobile_money": {"phone": phone, "provider": provider}}}


REQUESTS: Final[Mapping[str, Mapping[str, tuple[str, Example]]]] = {
    "CreatePaymentIntent": {"monstera": ("150.00 ZMW", {
        "amount": 150, "currency": "ZMW", "payment_method_types": ["mobile_money"], "description": "Monstera",
    })},
    "ConfirmPaymentIntent": {
        "approves": ("Approved after 5 s, by itself", _confirmed(_PHONE, "mtn")),
        "insufficient": ("The wallet holds too little", _confirmed("+260970000002", "airtel")),
    },
    "CancelPaymentIntent": {"reason": ("With a reason", {"cancellation_reason": "requested_by_customer"})},
    "CreateCharge": {"succeeds": ("150.00 ZMW, in ngwee", {
        "amount": 15000, "currency": "zmw", "type": "mobile_money", "channel": "mtn", "phone": _PHONE,
        "reference": "order-1",
    })},
    "CreateRefund": {
        "all": ("All that is left of a charge", {"charge": _CHARGE}),
        "part": ("20.00 ZMW of an intent", {"payment_intent": _INTENT, "amount": 20}),
    },
    "CreatePayout": {"to_bank": ("100.00 ZMW", {"amount": 100, "currency": "ZMW", "destination": "main account"})},
    "CreateWebhookEndpoint": {
        "all": ("Everything, to this machine", {"url": "http://127.0.0.1:8000/webhooks", "enabled_events": ["*"]}),
    },
    "UpdateWebhookEndpoint": {"enable": ("On again", {"status": "enabled"})},
    "CreateApiKey": {"secret": ("Another secret key", {"kind": "secret"})},
    "NewPlant": {"monstera": ("A plant", {"id": 1, "name": "Monstera", "tag": "climber"})},
    "TokenRequest": {"any": ("Any address and password", {"email": "shop@example.com", "password": "greenhouse"})},
    "RefreshRequest": {"pair": ("By the refresh token", {"refresh_token": "the refresh token"})},
    "Advance": {"day": ("A day", {"seconds": 86_400}), "days": ("Three days and an hour", {"days": 3, "hours": 1})},
    "Input": {"pin": ("The right PIN", {"text": "1234"})},
    "Script": {"twice": ("Declined, then approved", {"phone": _PHONE, "answers": ["insufficient_funds", "approve"]})},
    "Simulate": {"charge": ("A charge, an hour after the sandbox began", {
        "simulation": "january", "cursor": 0, "commands": [{
            "at_ms": 1_767_596_400_000, "what": "charge", "order": "order-1", "phone": _PHONE, "provider": "mtn",
            "amount_minor": 15000,
        }],
    })},
    "Outage": {"ten_minutes": ("Ten minutes", {"provider": "airtel", "seconds": 600})},
    "OperatorQuery": {"charge": ("What became of it", {"charge": _CHARGE})},
    "Deprecate": {"year": ("It ends with the year", {
        "deprecated_at": "2026-01-05T00:00:00Z", "sunset_at": "2026-12-31T22:00:00Z",
    })},
    "NewAccount": {"second": ("A second merchant", {"name": "Second shop"})},
    "Settle": {
        "credit": ("Money on a statement that the ledger does not know", {
            "recipe": "unknown_credit", "amount_minor": 15000, "fee_minor": 150, "account": "operator:mtn:float",
            "reference": "4000000042", "description": "On the statement alone",
        }),
        "undo": ("An entry that was wrong", {"recipe": "reversed", "entry": "je_000000000000000000000001"}),
    },
    "SettleSuspense": {"credit": ("To the merchant", {"how": "credit"}), "back": ("Back", {"how": "return"})},
    "DeliveryFaults": {"both": ("Twice and out of order", {"faults": ["duplicate", "out_of_order"]})},
}  # fmt: skip
"""Struct → name → what it shows, and the body."""

PLANT_ERROR: Final[Example] = {"error": 400, "message": "name is required."}
_MEMBERS: Final[Mapping[int, tuple[str, str, Example]]] = {
    400: ("parameter_missing", "currency is required.",
          {"param": "currency", "problems": (FieldProblem("/currency", "is required"),)}),
    401: ("key_invalid", "The key does not belong to this sandbox.", {}),
    402: ("payment_declined", "The wallet holds less than the amount.",
          {"decline_code": "insufficient_funds", "charge": _CHARGE}),
    403: ("key_not_allowed", "A publishable key may only confirm and retrieve one intent.", {}),
    404: ("intent_not_found", "There is no payment intent 'pi_0'.", {"param": "id"}),
    405: ("method_not_allowed", "PUT is not offered on this path, which takes GET, POST.", {}),
    409: ("state_conflict", "status is succeeded, which does not allow cancel.",
          {"param": "status", "current": "succeeded"}),
    413: ("body_too_large", "The body is over 1048576 bytes.", {}),
    415: ("media_type_unsupported", "Content-Type must be application/json, not text/plain.",
          {"param": "Content-Type"}),
    422: ("idempotency_key_reused", "This Idempotency-Key was used before with another body.",
          {"param": "Idempotency-Key"}),
    429: ("rate_limited", "The account has made 100 calls in 60 s, and may make no more.", {"retry_after_s": 42}),
    500: ("service_failed", "The service failed before it did anything, as the scenario asks.", {}),
    503: ("storage_locked", "The sandbox's store cannot be written: database is locked.", {}),
    507: ("storage_full", "The sandbox's store cannot be written: database or disk is full.", {}),
}  # fmt: skip


@cache
def of_a_run() -> dict[str, Example]:
    """What was answered in the run, by operation, and the events by their type."""
    return msgspec.json.decode(files(__package__).joinpath(FILE).read_bytes(), type=dict[str, Example])


def answer(operation: str, gaps: Gaps) -> Example:
    """What an operation answered in the run; an event in the form that the register gives it."""
    shown = of_a_run()[operation]
    if operation not in _OF_EVENTS or (gaps.event_types, gaps.event_payload) == _AS_IN_THE_RUN:
        return shown
    told = event("charge.succeeded", gaps)
    return {**shown, "data": [told]} if "data" in shown and "has_more" in shown else told


def event(happens: str, gaps: Gaps) -> Example:
    """An event of the run, written by what writes those of the service."""
    shown = of_a_run()[happens]
    if (gaps.event_types, gaps.event_payload) == _AS_IN_THE_RUN:
        return shown
    told = msgspec.convert({**shown, "type": TOLD_AS[gaps.event_types][happens]}, wire.Event)
    written: Example = msgspec.to_builtins(views.PAYLOADS[gaps.event_payload](told, shown["data"]["object"]["id"]))
    return written


def refusal(status: int, gaps: Gaps) -> Example:
    """An error of this status, written by what writes those of the service."""
    code, detail, others = _MEMBERS[status]
    _, members = views.ERROR_FORMATS[gaps.error_format]
    error = CODES[code].kind(detail, code=code, **others)
    written: Example = msgspec.to_builtins(members(error, _REQUEST, "/v1/payment_intents"))
    return written
