"""The OpenAPI 3.1 document, from the tables that route."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, get_type_hints

import msgspec

from workbench.domain import scenarios, wire
from workbench.domain.gaps import Gaps
from workbench.domain.interface import PAGE
from workbench.domain.webhooks import TOLD_AS
from workbench.sandbox import control, operations
from workbench.sandbox.idempotency import KEY
from workbench.sandbox.messages import JSON
from workbench.sandbox.openapi import examples, responses, schemas
from workbench.sandbox.operations import ANY_POST, Operation

Schema = dict[str, Any]

_ABOUT: Final = """A sandbox of a mobile-money payment service in Zambia. No real money, no real customer.

- **Keys.** Use `sk_test_…` on a server and `pk_test_…` in a checkout. Intents and plants take a bearer token; charges
  take HTTP Basic, with the key as user name and no password; assumed operations take either. A live key is rejected.
- **Errors** are `application/problem+json`; [/docs/errors](/docs/errors) explains each code.
- **Before an operation is looked up**: a foreign name in `Host` gets 421, no or several `Host` headers 400, and a
  page of another `Origin` 403, unless `--allow-origin` lets it call what a publishable key may call. A body that takes
  longer than ten seconds gets 408, and an incomplete one 400.
- **Methods.** HEAD returns what GET does, without the body. Methods that are not described here, such as OPTIONS, get
  405 with `Allow`.
- **Request-Id** is in every response, also to what is no request of HTTP, and names the call in the trace.
- **Watching.** A GET with the header `Sandbox-Unseen` leaves no trace and uses no number, so watching changes nothing.
- **Failures** on demand: by [test numbers](/docs/test-numbers) or the `Sandbox-Scenario` header.
- **Examples** of responses and events come from one run with the register of gaps at its defaults; secrets are masked.
- **Provenance.** `x-provenance` says what the interface shows (`documented`), what it leaves open and this sandbox
  chose (`assumed`), and what no real service has (`sandbox`); `x-section` names the section of the
  [interface](/docs/interface). The header `Sandbox-Provenance` says the same for one response, by its status and media
  type, with the rows of the register that it relied on: `assumed; gaps="declined_status error_format"`.
"""
_UNREQUESTED: Final = (wire.Event, wire.PlantError)
"""Answers that no operation names: what webhooks carry, and the documented error."""
_OF_PANEL: Final = (
    "What only a sandbox has: clock, handsets, operators, ledger, trace. Every secret key of the sandbox sees and "
    "resets the data of all its accounts."
)

_TAGS: Final[Mapping[str, tuple[str, str]]] = {
    "/v1/payment_intents": ("Payment intents", "A payment in two calls: created, then confirmed with a wallet."),
    "/v1/charges": ("Charges", "Payments in one call, and the outcome of each attempt."),
    "/v1/refunds": ("Refunds", "Refunds of charges."),
    "/v1/payouts": ("Payouts", "Cleared money sent to the merchant's bank."),
    "/v1/balance": ("Payouts", ""),
    "/v1/webhook_endpoints": ("Webhooks", "Webhook endpoints, events and their deliveries."),
    "/v1/events": ("Webhooks", ""),
    "/v1/deliveries": ("Webhooks", ""),
    "/v1/dead_letters": ("Webhooks", ""),
    "/v1/api_keys": ("Keys", "The merchant's test keys, and the illustrative bearer tokens."),
    "/v1/auth": ("Keys", ""),
    "/plants": ("Plants", "The sample plant store."),
    "/sandbox": ("Sandbox", _OF_PANEL),
}
"""Beginning of a path → the group of its operations and what it is about."""
# Generators of clients write a file for each group, and in a group with operations webhooks would take their place.
_SENT: Final = ("Events", "What the sandbox sends to your webhook endpoint.")
_SCENARIO = "Makes the operator or the service produce this scenario in this call, to test a failure. Here: "
_HEADERS: Final[Mapping[str, tuple[tuple[str, str, str], ...]]] = {
    "standard_webhooks": (
        ("webhook-id", "^evt_[0-9A-Za-z]{24}$", "The event's id, the same over retries: dedupe on it."),
        ("webhook-timestamp", "^[0-9]+$", "When this attempt was signed, seconds since 1970, UTC."),
        ("webhook-signature", "^v1,[A-Za-z0-9+/]+=*( v1,[A-Za-z0-9+/]+=*)*$",
         "HMAC-SHA256 of `id.timestamp.body`, base64; several while a secret is being rolled."),
    ),
    "stripe": (
        ("Stripe-Signature", "^t=[0-9]+(,v1=[0-9a-f]{64})+$",
         "When this attempt was signed, and HMAC-SHA256 of `t.body`, hex; several while a secret is being rolled."),
    ),
    "github": (("X-Hub-Signature-256", "^sha256=[0-9a-f]{64}$", "HMAC-SHA256 of the body, hex."),),
}  # fmt: skip
"""What a message is signed with, by `signature_scheme`."""


_DROPPED: Final = {"kept": "", "dropped": " It is kept for 30 days."}
"""What becomes of a dead letter, by `dead_letter`."""


def document(gaps: Gaps, deprecated: frozenset[str] = frozenset()) -> Schema:
    """The whole description, of a sandbox with this register; `deprecated` are the operations that are marked so."""
    table = (*(row for row in operations.in_force(gaps) if not row.gone), *control.OPERATIONS)
    bodies = schemas.requests([row.body for row in table if row.body is not None], gaps)
    shown = schemas.shown(table, _UNREQUESTED, gaps)
    paths: Schema = {}
    for row in table:
        paths.setdefault(row.path, {})[row.method.lower()] = _operation(row, gaps, deprecated)
    whole = {
        "openapi": "3.1.0",
        "info": {
            "title": "Mobile-money payments, sandbox",
            "version": wire.API_VERSION,
            "summary": "Payment intents, charges, webhooks; and a control plane for tests.",
            "description": _ABOUT,
        },
        "externalDocs": {"url": PAGE, "description": "The interface, section by section."},
        "servers": [{"url": "/", "description": "This sandbox."}],
        "tags": [{"name": name, "description": says} for name, says in (*_TAGS.values(), _SENT) if says],
        "paths": paths,
        "webhooks": {
            told_as: {"post": _webhook(happens, told_as, gaps)}
            for happens, told_as in TOLD_AS[gaps.event_types].items()
        },
        "components": {
            "securitySchemes": {
                "bearerAuth": {"type": "http", "scheme": "bearer", "description": "A test key or an access token."},
                "basicAuth": {
                    "type": "http",
                    "scheme": "basic",
                    "description": "The secret key as user name; the password stays empty.",
                },
            },
            "schemas": {**bodies, **shown, **responses.shapes(gaps)},
            "responses": responses.components(gaps),
            "headers": responses.headers(gaps),
        },
    }
    # Bounds as the numbers of JSON, which the domain holds as decimals.
    return msgspec.json.decode(wire.to_json(whole), type=Schema)


def _operation(operation: Operation, gaps: Gaps, deprecated: frozenset[str]) -> Schema:
    summary, description = _words(operation)
    everywhere = operation.schemes and gaps.auth_schemes != "as_documented"
    schemes = operations.EITHER if everywhere else operation.schemes
    described: Schema = {
        "operationId": operation.id,
        "summary": summary,
        "description": description,
        "deprecated": operation.id in deprecated,
        "tags": [next(tag for path, (tag, _) in _TAGS.items() if operation.path.startswith(path))],
        "security": [{f"{scheme.lower()}Auth": []} for scheme in schemes],
        "parameters": [*_of_path(operation, gaps), *_of_query(operation, gaps), *_of_headers(operation, gaps)],
        "requestBody": _body(operation),
        "responses": responses.responses(operation, schemas.of_type(operation.response), gaps),
        **schemas.of_operation(operation),
    }
    return {name: value for name, value in described.items() if value or name == "security"}


def _body(operation: Operation) -> Schema:
    if operation.body is None:
        return {}
    name = operation.body.__name__
    shown = {key: {"summary": says, "value": value} for key, (says, value) in examples.REQUESTS[name].items()}
    # A body that may be left out is left out with a bearer in the header, which a described refresh has not.
    optional = operation.body_optional and operation.schemes != operations.NO_KEY
    return {"required": not optional, "content": {JSON: {"schema": schemas.reference(name), "examples": shown}}}


def _words(operation: Operation) -> tuple[str, str]:
    """Summary and description, from the docstring of what runs."""
    first, _, rest = (operation.run.__doc__ or "").partition("\n")
    says = first.partition(": ")[2]
    paragraphs = (" ".join(part.split()) for part in rest.split("\n\n"))
    meaning = [part.partition("Raises ")[0].strip() for part in paragraphs]
    return says[:1].upper() + says[1:], "\n\n".join(part for part in meaning if part)


def _of_path(operation: Operation, gaps: Gaps) -> Iterator[Schema]:
    """What stands in the path, by the types of what runs."""
    kinds = get_type_hints(operation.run, include_extras=True)
    for name in re.findall(r"{(\w+)}", operation.path):
        says, schema = schemas.said(kinds[name], gaps)
        yield _parameter("path", name, says, schemas.TEXT | schema, schemas.of_operation(operation), required=True)


def _of_query(operation: Operation, gaps: Gaps) -> Iterator[Schema]:
    for name, says, schema in schemas.parameters(operation.query, gaps) if operation.query else ():
        yield _parameter("query", name, says, schema, schemas.of_operation(operation))


def _of_headers(operation: Operation, gaps: Gaps) -> Iterator[Schema]:
    if operation.takes_keys:
        yield _key(operation, gaps)
    if operation.scenarios:
        offered = [*dict.fromkeys(operation.scenarios)]
        failures = [each for each in offered if each in scenarios.SCENARIOS or each not in ANY_POST]
        says = "the operator's answers" if failures else "faults of the service"
        yield _parameter(
            "header", "Sandbox-Scenario", f"{_SCENARIO}{says}.", schemas.TEXT | {"enum": offered}, schemas.open_in("")
        )
    if gaps.version_header == "api_version":
        schema = schemas.TEXT | {"enum": [wire.API_VERSION]}
        yield _parameter("header", "Api-Version", "The version asked for.", schema, schemas.open_in("9"))


def _key(operation: Operation, gaps: Gaps) -> Schema:
    needed = operation.needs_idempotency_key and gaps.idempotency_required == "charges"
    shown = schemas.documented("2.3") if operation.needs_idempotency_key else schemas.open_in("8")
    says = (
        "One key of 1 to 255 printable ASCII characters, in quotes, or bare and without a comma. Within "
        f"{gaps.idempotency_retention_s} s the same body, to the byte, gets the first response again, with "
        "`Idempotent-Replayed: true`; another one, such as the same JSON written another way, is refused."
    )
    if operation.no_store:
        says += " A key or secret that is shown once is not kept: the answer that is given again is without it."
    key = _parameter("header", "Idempotency-Key", says, schemas.TEXT | {"pattern": f"^({KEY.pattern})$"}, shown)
    return key | ({"required": True} if needed else {})


def _parameter(place: str, name: str, says: str, schema: Schema, shown: Schema, *, required: bool = False) -> Schema:
    needed = {"required": True} if required else {}
    listed = {"style": "form", "explode": False} if schema["type"] == "array" else {}
    # A parameter has no link of its own; its schema may.
    schema |= {name: each for name, each in shown.items() if name == "externalDocs"}
    told = {name: each for name, each in shown.items() if name != "externalDocs"}
    return {"name": name, "in": place, **needed, "description": says, **listed, "schema": schema, **told}


def _webhook(happens: str, event_type: str, gaps: Gaps) -> Schema:
    family, _, happened = event_type.partition(".")
    words = event_type.replace(".", "_").split("_")
    held = schemas.reference("".join(word.capitalize() for word in happens.partition(".")[0].split("_")))
    told = {"type": {"const": event_type}, "data": {"properties": {"object": held}}}
    content = {
        "schema": {"allOf": [schemas.reference("Event"), {"properties": told}]},
        "example": examples.event(happens, gaps),
    }
    return {
        "operationId": "on" + "".join(word.capitalize() for word in words),
        "summary": f"{family.replace('_', ' ').capitalize()}: {happened.replace('_', ' ')}",
        "tags": [_SENT[0]],
        "security": [],
        "parameters": [
            _parameter("header", name, says, schemas.TEXT | {"pattern": pattern}, schemas.open_in("6"), required=True)
            for name, pattern, says in _HEADERS[gaps.signature_scheme]
        ],
        "requestBody": {"required": True, "content": {wire.MEDIA_TYPES[gaps.event_payload]: content}},
        "responses": _receipts(gaps),
        **schemas.open_in("6"),
    }


def _receipts(gaps: Gaps) -> Schema:
    taken = "2XX" if gaps.delivery_success == "2xx" else "200"
    gone = "The endpoint is disabled." if gaps.delivery_gone == "disables" else "Sent again, as after any failure."
    waits = ", ".join(str(each) for each in gaps.retry_schedule_s)
    return {
        taken: {"description": f"Received, when it comes within {gaps.delivery_timeout_s} s. The body is not read."},
        "410": {"description": gone},
        "default": {
            "description": f"Sent again, seconds after the attempt before: {waits}; then it is a dead letter."
            f"{_DROPPED[gaps.dead_letter]}"
        },
    }
