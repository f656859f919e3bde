"""What a request must keep before its fields are looked at: size, media type, version, query, scenario."""

import msgspec

from workbench.domain import wire
from workbench.domain.query import query_from
from workbench.domain.reading import json_from, struct_from
from workbench.errors import ApiError, InvalidRequest, PayloadTooLarge, UnsupportedMediaType, field_problem
from workbench.sandbox.messages import JSON, MAX_BODY_BYTES, Request
from workbench.sandbox.operations import Operation
from workbench.sandbox.store import Transaction


def body_of(tx: Transaction, request: Request, operation: Operation, shape: type[msgspec.Struct]) -> msgspec.Struct:
    """The body as the struct that the operation reads.

    Raises InvalidRequest or UnsupportedMediaType with what is wrong.
    """
    if not request.body and operation.body_optional:
        return shape()
    _check_form(request, operation)
    return struct_from(json_from(request.body), shape, unknown=tx.gaps.unknown_fields)


def check_size(request: Request, operation: Operation) -> None:
    """Raises PayloadTooLarge: a body over the limit, whether the operation reads one or not."""
    if len(request.body) > MAX_BODY_BYTES:
        raise _of_body(operation, PayloadTooLarge(f"The body is over {MAX_BODY_BYTES} bytes."))


def _of_body(operation: Operation, error: ApiError) -> ApiError:
    """Where the interface documents 400 for whatever is wrong with the body, it is 400."""
    return InvalidRequest(error.message, code=error.code) if operation.plain_400 else error


def _check_form(request: Request, operation: Operation) -> None:
    if not request.body:
        raise InvalidRequest("The body is empty; it must be a JSON object.", code="body_missing")
    given = request.headers.get("Content-Type", "")
    media_type, _, parameters = given.partition(";")
    charset = parameters.strip().lower().removeprefix("charset=").strip('"')
    if media_type.strip().lower() != JSON or (parameters.strip() and charset != "utf-8"):
        message = f"Content-Type must be {JSON}, not {given[:60] or 'missing'}."
        raise _of_body(operation, UnsupportedMediaType(message, param="Content-Type"))


def name_field(error: ApiError, operation: Operation) -> None:
    """Let an error about one field say which, and list it where it is of the body, as those about several do."""
    if isinstance(error, InvalidRequest) and error.param:
        name = error.param.rpartition(".")[2]
        error.say(error.message if name in error.message else f"{name}: {error.message}")
    fields = operation.body.__struct_fields__ if operation.body else ()
    if error.param and error.param.partition(".")[0] in fields and not error.problems:
        error.problems = (field_problem(error.param, error.message),)


def check_version(tx: Transaction, request: Request) -> None:
    """Raises InvalidRequest: a version that there is not."""
    asked = request.headers.get("Api-Version", wire.API_VERSION)
    if asked != wire.API_VERSION and tx.gaps.version_header == "api_version":
        raise InvalidRequest(
            f"There is no version {asked[:40]!r}; the current one is {wire.API_VERSION}.",
            code="version_unknown",
            param="Api-Version",
        )


def query_of(tx: Transaction, request: Request, shape: type[msgspec.Struct]) -> msgspec.Struct:
    """The query as the struct that the operation reads. Raises InvalidRequest."""
    return query_from(request.query, shape, unknown=tx.gaps.unknown_fields)


def scenario_of(request: Request, operation: Operation) -> str | None:
    """What the call asks to go wrong.

    Raises InvalidRequest: what cannot be asked for here. Ignored, it would let the test of a decline
    pass as a success.
    """
    asked = request.headers.get("Sandbox-Scenario")
    if asked is None or asked in operation.scenarios:
        return asked
    offered = ", ".join(operation.scenarios)
    raise InvalidRequest(
        f"Sandbox-Scenario {asked[:40]!r} is not offered here.",
        code="scenario_unknown",
        param="Sandbox-Scenario",
        hint=f"Offered are {offered}." if offered else "This operation takes none.",
    )
