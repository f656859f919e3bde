"""The OpenAPI 3.1 document, from the tables that route."""

import re
from collections.abc import Iterator
from typing import Final

import msgspec

from workbench.domain import scenarios, wire
from workbench.domain.gaps import Gaps
from workbench.domain.interface import PAGE
from workbench.domain.webhooks import TOLD_AS
from workbench.sandbox import control, operations
from workbench.sandbox.idempotency import KEY
from workbench.sandbox.messages import JSON
from workbench.sandbox.openapi import responses, schemas
from workbench.sandbox.openapi.responses import parts
from workbench.sandbox.openapi.schemas import TEXT, Schema
from workbench.sandbox.operations import ANY_POST, Operation

_UNREQUESTED: Final = (wire.Event, wire.PlantError)
"""Bodies that no operation responds with: what webhooks carry, and the documented error."""
_SCENARIO: Final = "Makes the operator or the service produce this scenario in this call, to test a failure. Here: "


def document(gaps: Gaps, deprecated: frozenset[str] = frozenset()) -> Schema:
    """The whole description of a sandbox with this register; `deprecated` are the operations that are marked so."""
    table = (*(row for row in operations.in_force(gaps) if not row.gone), *control.OPERATIONS)
    paths: Schema = {}
    for row in table:
        paths.setdefault(row.path, {})[row.method.lower()] = _operation(row, gaps, deprecated)
    whole = {
        "openapi": "3.1.0",
        "info": {
            "title": "Mobile-money payments, sandbox",
            "version": wire.API_VERSION,
            "summary": "Payment intents, charges, webhooks; and a control plane for tests.",
            "description": parts()["about"],
        },
        "externalDocs": {"url": PAGE, "description": "The interface, section by section."},
        "servers": [{"url": "/", "description": "This sandbox."}],
        "tags": [{"name": group["name"], "description": group["says"]} for group in parts()["groups"]],
        "paths": paths,
        "webhooks": {
            told_as: {"post": _webhook(happens, told_as, gaps)}
            for happens, told_as in TOLD_AS[gaps.event_types].items()
        },
        "components": {
            "securitySchemes": parts()["security"],
            "schemas": {
                **schemas.of_requests([row.body for row in table if row.body is not None], gaps),
                **schemas.of_responses(table, _UNREQUESTED, gaps),
                **responses.shapes(gaps),
            },
            "responses": responses.components(gaps),
            "headers": responses.headers(gaps),
        },
    }
    # Bounds as the numbers of JSON, which the domain holds as decimals.
    return msgspec.json.decode(wire.to_json(whole), type=Schema)


def _operation(operation: Operation, gaps: Gaps, deprecated: frozenset[str]) -> Schema:
    # The docstring of what runs has the path before the summary.
    first, _, rest = (operation.says or (operation.run.__doc__ or "").partition(": ")[2]).partition("\n")
    paragraphs = (" ".join(part.split()).partition("Raises ")[0].strip() for part in rest.split("\n\n"))
    everywhere = operation.schemes and gaps.auth_schemes != "as_documented"
    schemes = operations.EITHER if everywhere else operation.schemes
    groups = (each["name"] for each in parts()["groups"] if operation.path.startswith(tuple(each["paths"])))
    described: Schema = {
        "operationId": operation.id,
        "summary": first[:1].upper() + first[1:],
        "description": "\n\n".join(filter(None, paragraphs)),
        "deprecated": operation.id in deprecated,
        "tags": [next(groups)],
        "security": [{f"{scheme.lower()}Auth": []} for scheme in schemes],
        "parameters": [*_parameters(operation, gaps)],
        "requestBody": _body(operation),
        "responses": responses.responses(operation, gaps),
        **schemas.of_operation(operation),
    }
    return {name: value for name, value in described.items() if value or name == "security"}


def _body(operation: Operation) -> Schema:
    if operation.body is None:
        return {}
    name = operation.body.__name__
    content = {"schema": schemas.reference(name), "examples": parts()["requests"][name]}
    # A body that may be left out is left out with a bearer in the header, which a described refresh has not.
    optional = operation.body_optional and operation.schemes != operations.NO_KEY
    return {"required": not optional, "content": {JSON: content}}


def _parameters(operation: Operation, gaps: Gaps) -> Iterator[Schema]:
    """The parameters of a request: in its path, its query and its headers."""
    source = schemas.of_operation(operation)
    for name in re.findall(r"{(\w+)}", operation.path):
        says, schema = schemas.of_annotation(wire.PATHS[name], gaps)
        yield _parameter("path", name, says, TEXT | schema, source, required=True)
    for name, says, schema in schemas.of_query(operation.query, gaps) if operation.query else ():
        yield _parameter("query", name, says, schema, source)
    if operation.takes_keys:
        yield _idempotency_key(operation, gaps)
    if operation.scenarios:
        offered = [*dict.fromkeys(operation.scenarios)]
        of_operator = any(each in scenarios.SCENARIOS or each not in ANY_POST for each in offered)
        says = _SCENARIO + ("the operator's answers." if of_operator else "faults of the service.")
        yield _parameter("header", "Sandbox-Scenario", says, TEXT | {"enum": offered}, schemas.open_in(""))
    if gaps.version_header == "api_version":
        version = TEXT | {"enum": [wire.API_VERSION]}
        yield _parameter("header", "Api-Version", "The version asked for.", version, schemas.open_in("9"))


def _idempotency_key(operation: Operation, gaps: Gaps) -> Schema:
    says = (
        "One key of 1 to 255 printable ASCII characters, in quotes, or bare and without a comma. Within "
        f"{gaps.idempotency_retention_s} s the same body, to the byte, gets the first response again, with "
        "`Idempotent-Replayed: true`; another one, such as the same JSON written another way, is refused."
    )
    if operation.no_store:
        says += " A key or secret that is shown once is not kept: the answer that is given again is without it."
    source = schemas.documented("2.3") if operation.needs_idempotency_key else schemas.open_in("8")
    key = _parameter("header", "Idempotency-Key", says, TEXT | {"pattern": f"^({KEY.pattern})$"}, source)
    is_required = operation.needs_idempotency_key and gaps.idempotency_required == "charges"
    return key | ({"required": True} if is_required else {})


def _parameter(place: str, name: str, says: str, schema: Schema, source: Schema, *, required: bool = False) -> Schema:
    return {
        "name": name,
        "in": place,
        **({"required": True} if required else {}),
        "description": says,
        **({"style": "form", "explode": False} if schema["type"] == "array" else {}),
        # A parameter has no link of its own; its schema may.
        "schema": schema | {name: each for name, each in source.items() if name == "externalDocs"},
        **{name: each for name, each in source.items() if name != "externalDocs"},
    }


def _webhook(happens: str, event_type: str, gaps: Gaps) -> Schema:
    family, _, happened = event_type.partition(".")
    words = event_type.replace(".", "_").split("_")
    held = schemas.reference("".join(word.capitalize() for word in happens.partition(".")[0].split("_")))
    members = {"type": {"const": event_type}, "data": {"properties": {"object": held}}}
    content = {
        "schema": {"allOf": [schemas.reference("Event"), {"properties": members}]},
        "example": responses.event(happens, gaps),
    }
    waits = ", ".join(str(each) for each in gaps.retry_schedule_s)
    kept = " It is kept for 30 days." if gaps.dead_letter == "dropped" else ""
    source = schemas.open_in("6")
    return {
        "operationId": "on" + "".join(word.capitalize() for word in words),
        "summary": f"{family.replace('_', ' ').capitalize()}: {happened.replace('_', ' ')}",
        "tags": [parts()["groups"][-1]["name"]],
        "security": [],
        "parameters": [
            _parameter("header", each["name"], each["says"], TEXT | {"pattern": each["pattern"]}, source, required=True)
            for each in parts()["signatures"][gaps.signature_scheme]
        ],
        "requestBody": {"required": True, "content": {wire.MEDIA_TYPES[gaps.event_payload]: content}},
        "responses": {
            "2XX" if gaps.delivery_success == "2xx" else "200": {
                "description": f"Received, when it comes within {gaps.delivery_timeout_s} s. The body is not read."
            },
            "410": {
                "description": "The endpoint is disabled."
                if gaps.delivery_gone == "disables"
                else "Sent again, as after any failure."
            },
            "default": {
                "description": f"Sent again, seconds after the attempt before: {waits}; then it is a dead letter.{kept}"
            },
        },
        **source,
    }
