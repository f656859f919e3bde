"""The OpenAPI 3.1 document, from the tables that route: operations, their responses and refusals, webhooks.

`document.toml` has its texts. `examples.json` holds the responses and events of a seeded run, secrets masked; a test
repeats the run and compares.
"""

import re
import tomllib
from collections.abc import Iterable, Iterator
from functools import cache
from http import HTTPStatus
from importlib.resources import files
from typing import Final

import msgspec

from workbench.domain import scenarios
from workbench.domain.catalogue import CODES
from workbench.domain.gaps import PAGE, Gaps
from workbench.domain.webhooks import TOLD_AS
from workbench.domain.wire.accounts_and_keys import PlantError
from workbench.domain.wire.base import PATHS, ListQuery, Source, to_json
from workbench.domain.wire.endpoints_and_events import API_VERSION, MEDIA_TYPES, Event
from workbench.errors import FieldProblem, RateLimited, ServiceUnavailable, StorageFull
from workbench.sandbox import controls, operations
from workbench.sandbox.idempotency import KEY
from workbench.sandbox.messages import ERROR_FORMATS, JSON
from workbench.sandbox.openapi import schemas
from workbench.sandbox.openapi.schemas import TEXT, Schema
from workbench.sandbox.operations import ANY_POST, Operation
from workbench.sandbox.service.webhooks import PAYLOADS

_UNREQUESTED: Final = (Event, PlantError)
"""Structs of bodies that no operation responds with: a webhook's, and the documented error's."""
_SCENARIO: Final = "Makes the operator or the service produce this scenario in this call, to test a failure. Here: "
EXAMPLES: Final = "examples.json"
_SHAPES_BY_DEFAULT: Final = {operation.id: operation.response for operation in operations.OPERATIONS}
_SHAPES: Final = {"problem": "Problem", "plain": "PlantError", "envelope": "Envelope"}
"""Choice of `error_format` → the component of an error."""
_ALWAYS: Final = ("Request-Id", "Sandbox-Provenance", "Api-Version")
_EVENTS_OF_RUN: Final = (Gaps().event_types, Gaps().event_payload)


@cache
def parts() -> Schema:
    """The texts and examples of the description, from `document.toml`."""
    text = files(__package__).joinpath("document.toml").read_text("utf-8")
    return tomllib.loads(text.replace("{version}", API_VERSION).replace("{page}", PAGE))


def _in_force(name: str, gaps: Gaps) -> dict[str, Schema]:
    """Name → part, for the parts of a table of `document.toml` that this register switches on.

    A part is off if the row of the register in its `needs` has the value `none`.
    """
    return {key: part for key, part in parts()[name].items() if getattr(gaps, part.get("needs", ""), "") != "none"}


@cache
def examples_of_run() -> dict[str, Schema]:
    """The responses of the seeded run by operation, and its events by type."""
    return msgspec.json.decode(files(__package__).joinpath(EXAMPLES).read_bytes(), type=dict[str, Schema])


def document(gaps: Gaps, deprecated: frozenset[str] = frozenset()) -> Schema:
    """The whole description of a sandbox with this register; `deprecated` are the ids of deprecated operations."""
    table = (*(row for row in operations.in_force(gaps) if not row.gone), *controls.OPERATIONS)
    paths: Schema = {}
    for row in table:
        paths.setdefault(row.path, {})[row.method.lower()] = _described_operation(row, gaps, deprecated)
    whole = {
        **parts()["whole"],
        "tags": [{"name": group["name"], "description": group["says"]} for group in parts()["groups"]],
        "paths": paths,
        "webhooks": {
            event_type: {"post": _described_webhook(happens, event_type, gaps)}
            for happens, event_type in TOLD_AS[gaps.event_types].items()
        },
        "components": {
            "securitySchemes": parts()["security"],
            "schemas": {
                **schemas.of_requests([row.body for row in table if row.body is not None], gaps),
                **schemas.of_responses(table, _UNREQUESTED, gaps),
                **_error_components(gaps),
            },
            "responses": _refusal_components(gaps),
            "headers": _header_components(gaps),
        },
    }
    # Turns bounds, which are decimals in the domain, into numbers of JSON.
    return msgspec.json.decode(to_json(whole), type=Schema)


def _described_operation(operation: Operation, gaps: Gaps, deprecated: frozenset[str]) -> Schema:
    # The docstring of `run` has the path before the summary.
    first, _, rest = (operation.says or (operation.run.__doc__ or "").partition(": ")[2]).partition("\n")
    paragraphs = (" ".join(part.split()).partition("Raises ")[0].strip() for part in rest.split("\n\n"))
    everywhere = operation.schemes and gaps.auth_schemes != "as_documented"
    schemes = operations.EITHER if everywhere else operation.schemes
    groups = (part["name"] for part in parts()["groups"] if operation.path.startswith(tuple(part["paths"])))
    described: Schema = {
        "operationId": operation.id,
        "summary": first[:1].upper() + first[1:],
        "description": "\n\n".join(filter(None, paragraphs)),
        "deprecated": operation.id in deprecated,
        "tags": [next(groups)],
        "security": [{f"{scheme.lower()}Auth": []} for scheme in schemes],
        "parameters": [*_parameters(operation, gaps)],
        "requestBody": _request_body(operation),
        "responses": _responses(operation, gaps),
        **schemas.of_operation(operation),
    }
    return {name: value for name, value in described.items() if value or name == "security"}


def _request_body(operation: Operation) -> Schema:
    if operation.body is None:
        return {}
    name = operation.body.__name__
    content = {"schema": schemas.reference_to(name), "examples": parts()["requests"][name]}
    # A refresh may leave out the body only with a bearer in the header, which is not described.
    optional = operation.body_optional and operation.schemes != operations.NO_KEY
    return {"required": not optional, "content": {JSON: content}}


def _parameters(operation: Operation, gaps: Gaps) -> Iterator[Schema]:
    """The parameters of a request: in its path, its query and its headers."""
    source = schemas.of_operation(operation)
    for name in re.findall(r"{(\w+)}", operation.path):
        says, schema = schemas.of_annotation(PATHS[name], gaps)
        yield _parameter("path", name, says, TEXT | schema, source, required=True)
    for name, says, schema in schemas.of_query(operation.query, gaps) if operation.query else ():
        yield _parameter("query", name, says, schema, source)
    if operation.takes_keys:
        yield _idempotency_key(operation, gaps)
    if operation.scenarios:
        offered = [*dict.fromkeys(operation.scenarios)]
        of_operator = any(name in scenarios.SCENARIOS or name not in ANY_POST for name in offered)
        says = _SCENARIO + ("the operator's answers." if of_operator else "faults of the service.")
        yield _parameter("header", "Sandbox-Scenario", says, TEXT | {"enum": offered}, schemas.open_in(""))
    if gaps.version_header == "api_version":
        version = TEXT | {"enum": [API_VERSION]}
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
        "schema": schema | {key: value for key, value in source.items() if key == "externalDocs"},
        **{key: value for key, value in source.items() if key != "externalDocs"},
    }


def _described_webhook(happens: str, event_type: str, gaps: Gaps) -> Schema:
    family, _, happened = event_type.partition(".")
    words = event_type.replace(".", "_").split("_")
    held = schemas.reference_to("".join(word.capitalize() for word in happens.partition(".")[0].split("_")))
    members = {"type": {"const": event_type}, "data": {"properties": {"object": held}}}
    content = {
        "schema": {"allOf": [schemas.reference_to("Event"), {"properties": members}]},
        "example": _example_event(happens, gaps),
    }
    waits = ", ".join(str(wait_s) for wait_s in gaps.retry_schedule_s)
    kept = " It is kept for 30 days." if gaps.dead_letter == "dropped" else ""
    source = schemas.open_in("6")
    return {
        "operationId": "on" + "".join(word.capitalize() for word in words),
        "summary": f"{family.replace('_', ' ').capitalize()}: {happened.replace('_', ' ')}",
        "tags": [parts()["groups"][-1]["name"]],
        "security": [],
        "parameters": [
            _parameter("header", part["name"], part["says"], TEXT | {"pattern": part["pattern"]}, source, required=True)
            for part in parts()["signatures"][gaps.signature_scheme]
        ],
        "requestBody": {"required": True, "content": {MEDIA_TYPES[gaps.event_payload]: content}},
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


def _responses(operation: Operation, gaps: Gaps) -> Schema:
    """The responses of an operation by status."""
    by_status = {str(operation.success): _success(operation, gaps)}
    for status in _refusals(operation, gaps):
        plain = operation.plain_400 and status == HTTPStatus.BAD_REQUEST
        by_status[str(status)] = {"$ref": f"#/components/responses/{'Plant' if plain else ''}Refusal{status}"}
    return by_status


def _refusals(operation: Operation, gaps: Gaps) -> list[int]:
    """The sorted statuses of all refusals that an operation can respond with."""
    # A cursor may name no row.
    is_paged = operation.query is not None and issubclass(operation.query, ListQuery)
    is_limited = gaps.rate_limit != "none" and _counts(operation)
    comes = (
        (403, bool(operation.schemes)),
        (404, "_id}" in operation.path or is_paged),
        (409, bool(operation.scenarios)),
        (413, not operation.plain_400),
        (415, operation.body is not None and not operation.plain_400),
        (gaps.reused_key_status, operation.takes_keys),
        (RateLimited.status, is_limited),
        (StorageFull.status, operation.method != "GET" or is_limited),
    )
    statuses = {400, 401, 500, ServiceUnavailable.status, *operation.refuses}
    statuses |= {status for status, is_one in comes if is_one}
    # If a charge does not wait for the customer, a decline comes after the response.
    declines = gaps.declined_status == "402" and gaps.charge_wait == "answered"
    return sorted(statuses - (set() if declines else {402}))


def _counts(operation: Operation) -> bool:
    """True if a rate limit counts the operation: a merchant's call with a key."""
    return operation.traced and bool(operation.schemes)


def _refusal_components(gaps: Gaps) -> Schema:
    """The refusals as components: one for each status, and the documented 400 of the plant store."""
    refused = _in_force("refusals", gaps)
    plant = parts()["plant"]
    content = {"schema": schemas.reference_to("PlantError"), "example": plant["example"]}
    components = {f"Refusal{status}": _refusal_response(status, part, gaps) for status, part in refused.items()}
    return components | {"PlantRefusal400": _response(plant["means"], _ALWAYS, JSON, content, gaps)}


def _header_components(gaps: Gaps) -> Schema:
    """The headers of responses as components."""
    return {
        name: {
            "description": part["says"],
            "required": not part.get("sometimes"),
            "schema": TEXT | {"pattern": part["pattern"]},
        }
        for name, part in _in_force("headers", gaps).items()
    }


def _error_components(gaps: Gaps) -> Schema:
    """The components of errors in the format in force."""
    if gaps.error_format == "plain":
        return {}
    members = {
        name: TEXT | {key: value for key, value in part.items() if key != "needs"}
        for name, part in _in_force("problem", gaps).items()
    }
    members["status"]["enum"] = [int(status) for status in _in_force("refusals", gaps)]
    members["code"]["enum"] = [*CODES]
    problem = {
        "type": "object",
        "title": "Problem",
        "description": "An error by RFC 9457, with the two documented members beside.",
        "properties": members,
        "required": ["type", "title", "status", "detail", "instance", "code", "request_id", "error", "message"],
    }
    schemas.mark(problem, Source(gap="7"))
    if gaps.error_format == "problem":
        fields = {"pointer": TEXT | {"format": "json-pointer"}, "detail": TEXT}
        field = {"type": "object", "title": "FieldProblem", "properties": fields, "required": [*fields]}
        return {"Problem": problem, "FieldProblem": schemas.mark(field, Source(gap="7"))}
    # Stripe's shape has all members in `error`.
    within: Schema = {
        "type": TEXT | {"description": "The kind of error."} | schemas.open_in("7"),
        "doc_url": TEXT | {"format": "uri-reference"} | schemas.open_in("7"),
        **{name: members[name] for name in parts()["envelope"]["members"] if name in members},
    }
    required = parts()["envelope"]["required"]
    error = {"type": "object", "properties": within, "required": required, **schemas.open_in("7")}
    return {"Envelope": {"type": "object", "title": "Envelope", "properties": {"error": error}, "required": ["error"]}}


def _success(operation: Operation, gaps: Gaps) -> Schema:
    names = [*_ALWAYS]
    names += ["Idempotent-Replayed"] if operation.takes_keys else []
    names += ["Cache-Control"] if operation.no_store else []
    names += ["Deprecation", "Sunset"] if operation.source != "sandbox" else []
    names += ["RateLimit-Policy", "RateLimit"] if _counts(operation) else []
    content = {"schema": schemas.reference_to(schemas.of_type(operation.response))}
    # There are examples only for the defaults.
    if _SHAPES_BY_DEFAULT.get(operation.id, operation.response) == operation.response:
        content["example"] = _example(operation.id, gaps)
    links = {
        link.name: {"operationId": link.leads_to, "parameters": {link.takes: f"$response.body#/{link.gives}"}}
        for link in operation.links
    }
    return _response("Done.", names, JSON, content, gaps) | ({"links": links} if links else {})


def _refusal_response(status: str, part: Schema, gaps: Gaps) -> Schema:
    media_type, members = ERROR_FORMATS[gaps.error_format]
    facts = part.get("facts", {})
    if "problems" in facts:
        facts = {**facts, "problems": tuple(FieldProblem(*problem) for problem in facts["problems"])}
    error = CODES[part["code"]].kind(part["detail"], code=part["code"], **facts)
    example = msgspec.to_builtins(members(error, "req_000000000000000000000001", "/v1/payment_intents"))
    content = {"schema": schemas.reference_to(_SHAPES[gaps.error_format]), "example": example}
    says = f"{HTTPStatus(int(status)).phrase}. {part['means']}"
    # A 405 is the response of no operation.
    names = [name for name in _ALWAYS if status != "405" or name != "Sandbox-Provenance"]
    return _response(says, [*names, *part.get("headers", ())], media_type, content, gaps)


def _response(says: str, names: Iterable[str], media_type: str, content: Schema, gaps: Gaps) -> Schema:
    there = _in_force("headers", gaps)
    referred = {name: {"$ref": f"#/components/headers/{name}"} for name in names if name in there}
    return {"description": says, "headers": referred, "content": {media_type: content}}


def _example(operation: str, gaps: Gaps) -> Schema:
    """The response of an operation in the seeded run; events have the form that the register chooses."""
    shown = examples_of_run()[operation]
    if operation not in ("listEvents", "retrieveEvent") or (gaps.event_types, gaps.event_payload) == _EVENTS_OF_RUN:
        return shown
    another = _example_event("charge.succeeded", gaps)
    return {**shown, "data": [another]} if operation == "listEvents" else another


def _example_event(happens: str, gaps: Gaps) -> Schema:
    """An event of the seeded run, in the form that the register chooses."""
    shown = examples_of_run()[happens]
    event = msgspec.convert({**shown, "type": TOLD_AS[gaps.event_types][happens]}, Event)
    payload: Schema = msgspec.to_builtins(PAYLOADS[gaps.event_payload](event, shown["data"]["object"]["id"]))
    return payload
