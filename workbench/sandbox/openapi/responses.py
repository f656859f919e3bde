"""What an operation responds with: its success, and every refusal that it can come to, each with an example.

`examples.json` holds the responses and events of a seeded run, secrets masked; a test runs it again and compares.
"""

import tomllib
from functools import cache
from http import HTTPStatus
from importlib.resources import files
from typing import Final

import msgspec

from workbench.domain import wire
from workbench.domain.catalogue import CODES
from workbench.domain.gaps import Gaps
from workbench.domain.webhooks import TOLD_AS
from workbench.domain.wire import Source
from workbench.errors import FieldProblem, RateLimited, ServiceUnavailable, StorageFull
from workbench.sandbox import views
from workbench.sandbox.messages import JSON
from workbench.sandbox.openapi import schemas
from workbench.sandbox.openapi.schemas import TEXT, Schema
from workbench.sandbox.operations import OPERATIONS, Operation

EXAMPLES: Final = "examples.json"
_SHAPES_BY_DEFAULT: Final = {each.id: each.response for each in OPERATIONS}
_SHAPES: Final = {"problem": "Problem", "plain": "PlantError", "envelope": "Envelope"}
"""The component of an error, by `error_format`."""
_EVENTS_OF_RUN: Final = (Gaps().event_types, Gaps().event_payload)
_IN_ENVELOPE: Final = (
    "code", "message", "param", "decline_code", "request_id", "charge", "current", "attempted", "state", "event",
    "allowed", "allow", "retry_after_s",
)  # fmt: skip


@cache
def parts() -> Schema:
    """The parts of the description that are texts and examples."""
    return tomllib.loads(files(__package__).joinpath("document.toml").read_text("utf-8"))


def parts_in_force(name: str, gaps: Gaps) -> dict[str, Schema]:
    """The parts of a kind that a register has."""
    return {key: part for key, part in parts()[name].items() if getattr(gaps, part.get("needs", ""), "") != "none"}


@cache
def examples_of_run() -> dict[str, Schema]:
    """The responses of the seeded run by operation, and its events by type."""
    return msgspec.json.decode(files(__package__).joinpath(EXAMPLES).read_bytes(), type=dict[str, Schema])


def responses(operation: Operation, gaps: Gaps) -> Schema:
    """The responses of an operation by status."""
    found = {str(operation.success): _success(operation, gaps)}
    for status in refusals(operation, gaps):
        plain = operation.plain_400 and status == 400  # noqa: PLR2004  the one documented status
        found[str(status)] = {"$ref": f"#/components/responses/{'Plant' if plain else ''}Refusal{status}"}
    return found


def refusals(operation: Operation, gaps: Gaps) -> list[int]:
    """The statuses of every refusal that an operation can come to."""
    # A cursor may name no row.
    is_paged = operation.query is not None and issubclass(operation.query, wire.ListQuery)
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
    found = {
        400,
        401,
        500,
        ServiceUnavailable.status,
        *operation.refuses,
        *(status for status, is_one in comes if is_one),
    }
    # A customer who is waited for declines after the response.
    declines = gaps.declined_status == "402" and gaps.charge_wait == "answered"
    return sorted(found - (set() if declines else {402}))


def _counts(operation: Operation) -> bool:
    """A rate limit counts the merchant's calls with a key."""
    return operation.traced and bool(operation.schemes)


def components(gaps: Gaps) -> Schema:
    """The refusals as components: one for each status, and the documented 400 of the plant store."""
    found = {
        f"Refusal{status}": _refusal(status, part, gaps) for status, part in parts_in_force("refusals", gaps).items()
    }
    plant = parts()["plant"]
    content = {"schema": schemas.reference("PlantError"), "example": plant["example"]}
    return found | {"PlantRefusal400": _response(plant["means"], _headers(400), JSON, content, gaps)}


def headers(gaps: Gaps) -> Schema:
    """The headers of responses as components."""
    return {
        name: {
            "description": part["says"],
            "required": not part.get("sometimes"),
            "schema": TEXT | {"pattern": part["pattern"].replace("{version}", wire.API_VERSION)},
        }
        for name, part in parts_in_force("headers", gaps).items()
    }


def shapes(gaps: Gaps) -> Schema:
    """The components of errors in the format in force."""
    if gaps.error_format == "plain":
        return {}
    members = {
        name: TEXT | {key: value for key, value in part.items() if key != "needs"}
        for name, part in parts_in_force("problem", gaps).items()
    }
    members["status"]["enum"] = [int(status) for status in parts_in_force("refusals", gaps)]
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
        **{name: members[name] for name in _IN_ENVELOPE if name in members},
    }
    required = ["type", "code", "message", "doc_url", "request_id"]
    error = {"type": "object", "properties": within, "required": required, **schemas.open_in("7")}
    return {"Envelope": {"type": "object", "title": "Envelope", "properties": {"error": error}, "required": ["error"]}}


def _success(operation: Operation, gaps: Gaps) -> Schema:
    names = ["Request-Id", "Sandbox-Provenance", "Api-Version"]
    names += ["Idempotent-Replayed"] if operation.takes_keys else []
    names += ["Cache-Control"] if operation.no_store else []
    names += ["Deprecation", "Sunset"] if operation.source != "sandbox" else []
    names += ["RateLimit-Policy", "RateLimit"] if _counts(operation) else []
    content = {"schema": schemas.reference(schemas.of_type(operation.response))}
    # The examples are those of the defaults.
    if _SHAPES_BY_DEFAULT.get(operation.id, operation.response) == operation.response:
        content["example"] = _example(operation.id, gaps)
    links = {
        link.name: {"operationId": link.leads_to, "parameters": {link.takes: f"$response.body#/{link.gives}"}}
        for link in operation.links
    }
    return _response("Done.", names, JSON, content, gaps) | ({"links": links} if links else {})


def _refusal(status: str, part: Schema, gaps: Gaps) -> Schema:
    media_type, members = views.ERROR_FORMATS[gaps.error_format]
    facts = part.get("facts", {})
    if "problems" in facts:
        facts = {**facts, "problems": tuple(FieldProblem(*each) for each in facts["problems"])}
    error = CODES[part["code"]].kind(part["detail"], code=part["code"], **facts)
    example = msgspec.to_builtins(members(error, "req_000000000000000000000001", "/v1/payment_intents"))
    content = {"schema": schemas.reference(_SHAPES[gaps.error_format]), "example": example}
    says = f"{HTTPStatus(int(status)).phrase}. {part['means']}"
    return _response(says, _headers(int(status)), media_type, content, gaps)


def _headers(status: int) -> list[str]:
    limits = ["RateLimit-Policy", "RateLimit", "Retry-After"]
    of_status = {401: ["WWW-Authenticate"], 405: ["Allow"], 429: limits}.get(status, [])
    kept = ["Idempotent-Replayed"] if status in (402, 409, 500) else []
    # A method that is not described leads to no operation.
    source = [] if status == 405 else ["Sandbox-Provenance"]  # noqa: PLR2004  the one status of no operation
    return ["Request-Id", *source, "Api-Version", *of_status, *kept]


def _response(says: str, names: list[str], media_type: str, content: Schema, gaps: Gaps) -> Schema:
    there = parts_in_force("headers", gaps)
    referred = {name: {"$ref": f"#/components/headers/{name}"} for name in names if name in there}
    return {"description": says, "headers": referred, "content": {media_type: content}}


def _example(operation: str, gaps: Gaps) -> Schema:
    """The response of an operation in the run; an event has the form that the register gives it."""
    shown = examples_of_run()[operation]
    if operation not in ("listEvents", "retrieveEvent") or (gaps.event_types, gaps.event_payload) == _EVENTS_OF_RUN:
        return shown
    another = event("charge.succeeded", gaps)
    return {**shown, "data": [another]} if operation == "listEvents" else another


def event(happens: str, gaps: Gaps) -> Schema:
    """An event of the run, written as the service writes it."""
    shown = examples_of_run()[happens]
    told = msgspec.convert({**shown, "type": TOLD_AS[gaps.event_types][happens]}, wire.Event)
    written: Schema = msgspec.to_builtins(views.PAYLOADS[gaps.event_payload](told, shown["data"]["object"]["id"]))
    return written
