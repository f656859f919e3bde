"""What an operation reads beside its body: path, query, headers."""

from collections.abc import Mapping
from typing import Any, Final

from workbench.domain import scenarios, wire
from workbench.domain.gaps import Gaps
from workbench.domain.webhooks import DEAD_LETTER, DELIVERED, PENDING
from workbench.sandbox.idempotency import KEY
from workbench.sandbox.openapi import provenance, rules
from workbench.sandbox.operations import ANY_POST, Operation

Schema = dict[str, Any]

_PATH: Final[Mapping[str, tuple[Schema, str]]] = {
    "intent_id": ({"pattern": "^pi_[0-9A-Za-z]+$"}, "The intent's id."),
    "charge_id": ({"pattern": "^ch_[0-9A-Za-z]+$"}, "The charge's id."),
    "refund_id": ({"pattern": "^re_[0-9A-Za-z]+$"}, "The refund's id."),
    "payout_id": ({"pattern": "^po_[0-9A-Za-z]+$"}, "The payout's id."),
    "event_id": ({"pattern": "^evt_[0-9A-Za-z]+$"}, "The event's id."),
    "endpoint_id": ({"pattern": "^we_[0-9A-Za-z]+$"}, "The webhook endpoint's id."),
    "delivery_id": ({"pattern": "^del_[0-9A-Za-z]+$"}, "The delivery's id."),
    "key_id": ({"pattern": "^key_[0-9A-Za-z]+$"}, "The key's id, not the key."),
    "entry_id": ({"pattern": "^je_[0-9A-Za-z]+$"}, "The ledger entry's id."),
    "phone": (rules.PHONE, "The customer's number."),
}
_QUERY: Final[Mapping[str, tuple[Schema, str]]] = {
    "client_secret": ({"type": "string"}, "The intent's; needed with a publishable key, checked whenever sent."),
    "limit": ({}, "How many rows at most."),
    "starting_after": ({"type": "string"}, "The id of a row: those older than it."),
    "ending_before": (
        {"type": "string"},
        "The id of a row: those newer than it; with `starting_after`, those between.",
    ),
    "charge": ({"type": "string"}, "Those of this charge."),
    "type": ({"type": "string", "enum": rules.EVENT_NAMES}, "Those of this type, or of a family."),
    "created_since": (rules.MOMENT, "Those of this moment and later."),
    "search": (
        {},
        "Those in whose payload this text stands; of three digits and more, also those of a number that ends so.",
    ),
    "status": (
        {
            "type": "array",
            "items": {"type": "string", "enum": [PENDING, DELIVERED, DEAD_LETTER]},
            "minItems": 1,
        },
        "Those in one of these states, separated by commas.",
    ),
    "event": ({"type": "string"}, "Those of this event."),
    "endpoint": ({"type": "string"}, "Those to this endpoint."),
    "since": ({}, "What came after this `seq`."),
    "after": ({}, "The number of an entry: those that follow it."),
    "account": (
        {"type": "array", "items": {"type": "string", "pattern": "^[a-z0-9_:]+$"}, "minItems": 1},
        "Those on these accounts, separated by commas.",
    ),
    "as_of": (rules.MOMENT, "What had occurred by this moment."),
    "known_at": (rules.MOMENT, "What was recorded by this moment."),
}
"""Name → what replaces the schema of its struct, and what it is for."""

_SCENARIO = "What the operator or the service is asked to do with this call, so that a failure can be tested. Here: "


def parameters(operation: Operation, queries: Mapping[str, Schema], gaps: Gaps) -> list[Schema]:
    """The parameters of an operation; `queries` are the schemas of query structs by name."""
    return [*_of_path(operation), *_of_query(operation, queries), *_of_headers(operation, gaps)]


def takes_keys(operation: Operation) -> bool:
    """Whether an idempotency key counts here."""
    return operation.method == "POST" and bool(operation.schemes) and operation.traced


def _of_path(operation: Operation) -> list[Schema]:
    names = [part[1:-1] for part in operation.path.split("/") if part.startswith("{")]
    return [
        {
            "name": name,
            "in": "path",
            "required": True,
            "description": _PATH[name][1],
            "schema": {"type": "string", **_PATH[name][0]},
            **provenance.of_operation(operation),
        }
        for name in names
    ]


def _of_query(operation: Operation, queries: Mapping[str, Schema]) -> list[Schema]:
    if operation.query is None:
        return []
    return [
        {
            "name": name,
            "in": "query",
            "description": _QUERY[name][1],
            **({"style": "form", "explode": False} if _QUERY[name][0].get("type") == "array" else {}),
            "schema": _QUERY[name][0] or _never_null(schema),
            **provenance.of_operation(operation),
        }
        for name, schema in queries[operation.query.__name__]["properties"].items()
    ]


def _never_null(schema: Schema) -> Schema:
    """The schema of a parameter, which is left out where a field would be null."""
    kept = {key: value for key, value in schema.items() if not key.startswith("x-")}
    return {**kept, "type": next(each for each in kept["type"] if each != "null")} if "null" in kept["type"] else kept


def _of_headers(operation: Operation, gaps: Gaps) -> list[Schema]:
    headers = []
    if takes_keys(operation):
        headers.append(_key(operation, gaps))
    if operation.scenarios:
        offered = [*dict.fromkeys(operation.scenarios)]
        failures = [each for each in offered if each in scenarios.SCENARIOS or each not in ANY_POST]
        says = "the operator's answers" if failures else "faults of the service"
        schema = {"type": "string", "enum": offered}
        headers.append(_header("Sandbox-Scenario", _SCENARIO + says + ".", schema, provenance.sandbox()))
    if gaps.version_header == "api_version":
        schema = {"type": "string", "enum": [wire.API_VERSION]}
        headers.append(_header("Api-Version", "The version asked for.", schema, provenance.assumed("9")))
    return headers


def _key(operation: Operation, gaps: Gaps) -> Schema:
    needed = operation.needs_idempotency_key and gaps.idempotency_required == "charges"
    shown = provenance.documented("2.3") if operation.needs_idempotency_key else provenance.assumed("8")
    says = (
        "One key of 1 to 255 printable ASCII characters, in quotes, or bare and without a comma. Within "
        f"{gaps.idempotency_retention_s} s the same body, to the byte, gets the first answer again, with "
        "`Idempotent-Replayed: true`; another one, such as the same JSON written another way, is refused."
    )
    if operation.no_store:
        says += " A key or secret that is shown once is not kept: the answer that is given again is without it."
    schema = {"type": "string", "pattern": f"^({KEY.pattern})$"}
    return {**_header("Idempotency-Key", says, schema, shown), **({"required": True} if needed else {})}


def _header(name: str, says: str, schema: Schema, shown: Mapping[str, str]) -> Schema:
    return {"name": name, "in": "header", "description": says, "schema": schema, **shown}
