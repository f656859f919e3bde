"""What an operation answers: its success, and every refusal that it can come to."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final

from workbench.domain import wire
from workbench.domain.catalogue import CODES
from workbench.domain.gaps import Gaps
from workbench.domain.wire import Source
from workbench.errors import RateLimited, ServiceUnavailable, StorageFull
from workbench.sandbox import views
from workbench.sandbox.messages import JSON
from workbench.sandbox.openapi import examples, schemas
from workbench.sandbox.operations import OPERATIONS, Operation

Schema = dict[str, Any]
_SHAPES_BY_DEFAULT: Final = {each.id: each.response for each in OPERATIONS}
_SHAPES: Final = {"problem": "Problem", "plain": "PlantError", "envelope": "Envelope"}
"""The component of an error, by `error_format`."""

_RETRY_AFTER: Final = {"type": "integer", "minimum": 1, "description": "Seconds until calls are accepted again."}
_BASIC_WORDS: Final[Mapping[int, str]] = {
    400: "The request is not valid; the same request will never succeed.",
    401: "No valid key or token.",
    402: "The customer or the operator said no; the charge that failed is named.",
    403: "A valid key that may not do this.",
    404: "There is no such object.",
    405: "The path does not accept this method; `Allow` lists those that it accepts.",
    409: "The object's current state does not allow this.",
    413: "The body is over 1 MiB.",
    415: "The body is not JSON.",
    422: "The idempotency key came with another body before.",
    429: "The account has made as many calls as it may for now; `Retry-After` tells when it may again.",
    500: "The service failed; what it had done is undone, unless a scenario says otherwise.",
    503: "The sandbox's file cannot be written now; nothing was done, and no idempotency key is used up.",
    507: "The disk is full; nothing was done, and no idempotency key is used up.",
}


def responses(operation: Operation, response: str, gaps: Gaps) -> Schema:
    """The responses by status; `answer` is the component of the success."""
    found = {str(operation.success): _success(operation, response, gaps)}
    for status in refusals(operation, gaps):
        plain = operation.plain_400 and status == 400  # noqa: PLR2004  the one documented status
        found[str(status)] = {"$ref": f"#/components/responses/{'Plant' if plain else ''}Refusal{status}"}
    return found


def refusals(operation: Operation, gaps: Gaps) -> list[int]:
    """The statuses of every refusal that an operation can come to."""
    found = {400, 401, 500, ServiceUnavailable.status, *operation.refuses}
    # A cursor may name no row.
    is_paged = operation.query is not None and issubclass(operation.query, wire.ListQuery)
    for status, comes in (
        (403, bool(operation.schemes)),
        (404, "_id}" in operation.path or is_paged),
        (409, bool(operation.scenarios)),
        (413, not operation.plain_400),
        (415, operation.body is not None and not operation.plain_400),
        (gaps.reused_key_status, operation.takes_keys),
        (RateLimited.status, _is_limited(operation, gaps)),
        (StorageFull.status, operation.method != "GET" or _is_limited(operation, gaps)),
    ):
        found |= {status} if comes else set()
    # A customer who is waited for declines after the response.
    declines = gaps.declined_status == "402" and gaps.charge_wait == "answered"
    return sorted(found - (set() if declines else {402}))


def _is_limited(operation: Operation, gaps: Gaps) -> bool:
    """Whether calls of it count: those of the merchant's, with a key."""
    return gaps.rate_limit != "none" and operation.traced and bool(operation.schemes)


def _statuses(gaps: Gaps) -> list[int]:
    """Those of all refusals."""
    return [each for each in _BASIC_WORDS if each != RateLimited.status or gaps.rate_limit != "none"]


def components(gaps: Gaps) -> Schema:
    """The refusals as components: one for each status, and the documented 400 of the plant store."""
    found = {f"Refusal{status}": _refusal(status, gaps) for status in _statuses(gaps)}
    found["PlantRefusal400"] = {
        "description": "What is wrong with the body.",
        "headers": _headers(400, gaps),
        "content": {JSON: {"schema": schemas.reference("PlantError"), "example": examples.PLANT_ERROR}},
    }
    return found


def headers(gaps: Gaps) -> Schema:
    """The headers of answers as components."""
    found = {
        "Request-Id": _header("Names this request in the trace and the log.", r"^(req|ctl|sim)_[0-9A-Za-z]{24}$"),
        "Api-Version": _header("The version that answered.", f"^{wire.API_VERSION}$"),
        "Sandbox-Provenance": _header(
            "Where this answer comes from: `documented` where the interface shows its status and media type, with the "
            "sections of the operation; else `assumed`, or `sandbox` for what no real service has. `gaps` are the rows "
            "of the register that its status, media type and body relied on.",
            r'^(documented; sections="[0-9., ]+"|assumed|sandbox)(; gaps="[a-z_]+( [a-z_]+)*")?$',
        ),
        "WWW-Authenticate": _header("What the operation takes (RFC 9110).", "^(Bearer|Basic) realm="),
        "Allow": _header("The methods that the path takes.", "^[A-Z]+(, [A-Z]+)*$"),
        "Idempotent-Replayed": _header("There when this is the first answer again.", "^true$", required=False),
        "Cache-Control": _header("The answer holds a secret.", "^no-store$"),
    }
    if gaps.deprecation == "headers":
        found |= _END_HEADERS
    if gaps.rate_limit != "none":
        found |= _LIMIT_HEADERS
    if gaps.version_header != "api_version":
        del found["Api-Version"]
    return found


def _header(says: str, pattern: str, *, required: bool = True) -> Schema:
    return {"description": says, "required": required, "schema": schemas.TEXT | {"pattern": pattern}}


_END_HEADERS: Final = {
    "Deprecation": _header("Since when the operation is deprecated (RFC 9745).", "^@-?[0-9]+$", required=False),
    "Sunset": _header("When the operation will be gone (RFC 8594).", "^[A-Z][a-z]{2}, .* GMT$", required=False),
}
_LIMIT_HEADERS: Final = {
    "RateLimit-Policy": _header(
        "How many calls (`q`) an account may make in how many seconds (`w`); draft-ietf-httpapi-ratelimit-headers-11.",
        '^"default";q=[0-9]+;w=[0-9]+$',
    ),
    "RateLimit": _header(
        "How many calls are left (`r`) for how many seconds (`t`); draft-ietf-httpapi-ratelimit-headers-11.",
        '^"default";r=[0-9]+;t=[0-9]+$',
    ),
    "Retry-After": _header("In how many seconds the same may be sent again.", "^[1-9][0-9]*$"),
}


def shapes(gaps: Gaps) -> Schema:
    """The components of errors: those of the format in force."""
    if gaps.error_format == "plain":
        return {}
    problem = _problem(gaps)
    if gaps.error_format == "envelope":
        return {"Envelope": _envelope(problem["properties"])}
    fields = {"pointer": schemas.TEXT | {"format": "json-pointer"}, "detail": schemas.TEXT}
    field = {"type": "object", "title": "FieldProblem", "properties": fields, "required": [*fields]}
    return {"Problem": problem, "FieldProblem": schemas.mark(field, Source(gap="7"))}


def _envelope(members: Schema) -> Schema:
    """Stripe's shape: all members in `error`."""
    inner = ("code", "message", "param", "decline_code", "request_id", "charge", "current", "attempted")
    within = {
        "type": schemas.TEXT | {"description": "The kind of error."} | schemas.open_in("7"),
        "doc_url": schemas.TEXT | {"format": "uri-reference"} | schemas.open_in("7"),
        **{
            name: members[name]
            for name in (*inner, "state", "event", "allowed", "allow", "retry_after_s")
            if name in members
        },
    }
    required = ["type", "code", "message", "doc_url", "request_id"]
    error = {"type": "object", "properties": within, "required": required, **schemas.open_in("7")}
    return {"type": "object", "title": "Envelope", "properties": {"error": error}, "required": ["error"]}


def _problem(gaps: Gaps) -> Schema:
    """The members of a problem (RFC 9457), with the documented `error` and `message`."""
    members: dict[str, Schema] = {
        "type": {"format": "uri-reference", "description": "Where the code is explained: `/docs/errors#code`."},
        "title": {},
        "status": {"type": "integer", "enum": _statuses(gaps)},
        "detail": {"description": "What is wrong, for a person."},
        "instance": {"format": "uri-reference", "description": "The path."},
        "code": {"enum": [*CODES], "description": "What is wrong, for a program."},
        "param": {"description": "The field or header."},
        "errors": _listed(schemas.reference("FieldProblem"), "Every field that is wrong."),
        "request_id": {},
        "decline_code": {"description": "Why the money did not move."},
        "charge": {"description": "The charge that was declined."},
        "current": {"description": "The state that does not take this."},
        "attempted": {"description": "What the state does not take."},
        "state": {"description": "As `current`."},
        "event": {"description": "As `attempted`."},
        "allowed": _listed(schemas.TEXT, "What the state takes."),
        "allow": {"description": "The methods that the path takes."},
        **({"retry_after_s": _RETRY_AFTER} if gaps.rate_limit != "none" else {}),
        "error": {"type": "integer", "format": "int32", "description": "The status again."},
        "message": {"description": "The detail again."},
    }
    schema = {
        "type": "object",
        "title": "Problem",
        "description": "An error by RFC 9457, with the two documented members beside.",
        "properties": {name: schemas.TEXT | member for name, member in members.items()},
        "required": ["type", "title", "status", "detail", "instance", "code", "request_id", "error", "message"],
    }
    return schemas.mark(schema, Source(gap="7"))


def _listed(items: Schema, says: str) -> Schema:
    return {"type": "array", "items": items, "description": says}


def _success(operation: Operation, response: str, gaps: Gaps) -> Schema:
    versions = gaps.version_header == "api_version"
    told = {"Api-Version": versions, "Idempotent-Replayed": operation.takes_keys, "Cache-Control": operation.no_store}
    names = ["Request-Id", "Sandbox-Provenance", *(name for name, is_there in told.items() if is_there)]
    names += [*_END_HEADERS] if gaps.deprecation == "headers" and operation.source != "sandbox" else []
    names += ["RateLimit-Policy", "RateLimit"] if _is_limited(operation, gaps) else []
    content = {"schema": schemas.reference(response)}
    # The examples are those of the defaults.
    if _SHAPES_BY_DEFAULT.get(operation.id, operation.response) == operation.response:
        content["example"] = examples.answer(operation.id, gaps)
    done: Schema = {"description": "Done.", "headers": _named(names), "content": {JSON: content}}
    links = {
        link.name: {"operationId": link.leads_to, "parameters": {link.takes: f"$response.body#/{link.gives}"}}
        for link in operation.links
    }
    return {**done, "links": links} if links else done


def _refusal(status: int, gaps: Gaps) -> Schema:
    media_type, _ = views.ERROR_FORMATS[gaps.error_format]
    shape, says = schemas.reference(_SHAPES[gaps.error_format]), f"{HTTPStatus(status).phrase}. {_BASIC_WORDS[status]}"
    content = {media_type: {"schema": shape, "example": examples.refusal(status, gaps)}}
    return {"description": says, "headers": _headers(status, gaps), "content": content}


def _headers(status: int, gaps: Gaps) -> Schema:
    limits = ["RateLimit-Policy", "RateLimit", "Retry-After"]
    of_status = {401: ["WWW-Authenticate"], 405: ["Allow"], 429: limits}.get(status, [])
    kept = ["Idempotent-Replayed"] if status in (402, 409, 500) else []
    version = ["Api-Version"] if gaps.version_header == "api_version" else []
    # A method that is not described leads to no operation.
    source = [] if status == 405 else ["Sandbox-Provenance"]  # noqa: PLR2004  the one status of no operation
    return _named(["Request-Id", *source, *version, *of_status, *kept])


def _named(names: list[str]) -> Schema:
    return {name: {"$ref": f"#/components/headers/{name}"} for name in names}
