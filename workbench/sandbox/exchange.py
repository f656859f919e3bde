"""One HTTP exchange from request to response, in one transaction: its form, who, again?, what, run, write down."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import msgspec

from workbench.domain import scenarios, wire
from workbench.domain.gaps import Gaps
from workbench.domain.reading import json_from, query_from, struct_from
from workbench.errors import (
    ApiError,
    AuthenticationFailed,
    IllegalTransition,
    InvalidRequest,
    PayloadTooLarge,
    ServiceFailed,
    StateConflict,
    UnsupportedMediaType,
    field_problem,
)
from workbench.sandbox import idempotency, provenance, trace, views
from workbench.sandbox.credentials import caller_of, challenges, credential_in
from workbench.sandbox.messages import JSON, MAX_BODY_BYTES, Request, Response, log_fault
from workbench.sandbox.operations import Operation
from workbench.sandbox.service.attempts import take_fault
from workbench.sandbox.service.lists import Caller, Cause, Refused
from workbench.sandbox.store import Store, Transaction


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


class _Call(NamedTuple):
    """The numbers of one exchange: the id that its answer carries, and its place in the trace, 0 for none."""

    request_id: str
    seq: int


class Exchanges:
    """Answers requests from one store.

    `raise_bugs` lets an unexpected exception out to the caller, as in process a notebook wants its
    traceback; served, it is logged and answered as a 500.
    """

    def __init__(self, store: Store, *, raise_bugs: bool) -> None:
        self._store = store
        self._raise_bugs = raise_bugs

    def respond(self, request: Request, operation: Operation) -> Response:
        """Run an operation; what it changes and its answer are one commit."""
        return self._answered(request, operation, lambda tx, call: _run(tx, call, request, operation))

    def refuse(self, request: Request, error: ApiError, operation: Operation | None = None) -> Response:
        """Answer what is refused outside of an operation, or leads to none, such as an unknown path or method."""

        def run(tx: Transaction, call: _Call) -> Response:  # noqa: ARG001  the same shape as a run
            credential_in(request.headers.get("Authorization"), live=request.live)
            raise error

        return self._answered(request, operation, run)

    def turn_away(self, request: Request, error: ApiError) -> Response:
        """Answer what may not come in, or did not come whole, whoever sends it."""

        def run(tx: Transaction, call: _Call) -> Response:  # noqa: ARG001  the same shape as a run
            raise error

        return self._answered(request, None, run)

    def show(self, request: Request, page: Callable[[Request, Gaps], Response]) -> Response:
        """Answer what is for everybody, such as a document: numbered as all is, and no call of the merchant's."""
        try:
            with self._store.transaction() as tx:
                response = page(request, tx.gaps)
                return _finished(tx, _numbered(tx, traced=False), request, None, response)
        except ApiError as error:
            return self.refuse(request, error)

    def new_request_id(self) -> str:
        """The number of a call that cannot be read, and so leads to no answer of these."""
        with self._store.transaction() as tx:
            return tx.new_id("req")

    def _answered(
        self, request: Request, operation: Operation | None, run: Callable[[Transaction, _Call], Response]
    ) -> Response:
        is_merchants = operation.traced if operation else not request.path.startswith("/sandbox")
        traced = is_merchants and not request.is_unseen
        try:
            with self._store.transaction() as tx:
                call = _numbered(tx, traced=traced)
                return _finished(tx, call, request, operation, run(tx, call))
        except IllegalTransition as error:
            refused: ApiError = StateConflict(error.message, param="status", **error.facts)
        except ApiError as error:
            refused = error
        except Exception as error:
            if self._raise_bugs:
                raise
            log_fault(f"{request.method} {request.path} failed", error)
            refused = ServiceFailed("The sandbox failed; see its log.")
        # All that the operation did is undone; that it was refused is a command of its own.
        with self._store.transaction() as tx:
            call = _numbered(tx, traced=traced)
            response = _problem(tx, call, request, operation, refused)
            if operation and isinstance(refused, ServiceFailed):
                _keep_failure(tx, request, operation, response)
            return _finished(tx, call, request, operation, response)


def _numbered(tx: Transaction, *, traced: bool) -> _Call:
    seq = tx.next_seq() if traced else 0
    return _Call(tx.new_id("req" if traced else "ctl"), seq)


def _finished(
    tx: Transaction, call: _Call, request: Request, operation: Operation | None, response: Response
) -> Response:
    own = {"Request-Id": call.request_id}
    if tx.gaps.version_header == "api_version":
        own["Api-Version"] = wire.API_VERSION
    if operation is not None:
        replayed = "Idempotent-Replayed" in response.headers
        own[provenance.HEADER] = provenance.header_of(
            operation, response.status, response.content_type, response.relied, replayed=replayed
        )
    succeeded = response.status < 300  # noqa: PLR2004  success
    if operation is not None and operation.no_store and succeeded:
        own["Cache-Control"] = "no-store"
    response = response._replace(headers={**own, **response.headers}, is_slow=response.is_slow and succeeded)
    if call.seq:
        trace.write_down(tx, request, operation, response, request_id=call.request_id, seq=call.seq)
    return response


def _run(tx: Transaction, call: _Call, request: Request, operation: Operation) -> Response:
    caller = _caller(tx, request, operation)
    check_size(request, operation)
    check_version(tx, request)
    asked = scenario_of(request, operation)
    key = idempotency.key_of(tx, request, operation)
    # What a person does on the panel is no request of the merchant's: events name no request for it.
    caller = caller._replace(cause=Cause(call.request_id, key) if call.seq else Cause(None, key), scenario=asked)
    if key is None:
        return _result(tx, call, request, operation, caller)
    scope = idempotency.scope_of(request, caller, key)
    if kept := idempotency.recalled(tx, request, scope):
        meaning = msgspec.json.decode(kept.body, type=_Told)
        return kept._replace(relied=provenance.of_result(operation, meaning), is_slow=asked == scenarios.SLOW)
    response = _result(tx, call, request, operation, caller)
    idempotency.keep(tx, request, scope, response)
    return response


class _Told(msgspec.Struct):
    """What a kept answer tells of how it came about."""

    failure_code: str | None = None
    warnings: list[str] = []


def _caller(tx: Transaction, request: Request, operation: Operation) -> Caller:
    return caller_of(tx, credential_in(request.headers.get("Authorization"), live=request.live), operation)


def _keep_failure(tx: Transaction, request: Request, operation: Operation, response: Response) -> None:
    """A failure of ours is kept for its idempotency key, so that it is the same when it is asked for again."""
    key = idempotency.key_of(tx, request, operation)
    if key is not None:
        idempotency.keep(tx, request, idempotency.scope_of(request, _caller(tx, request, operation), key), response)


def _result(tx: Transaction, call: _Call, request: Request, operation: Operation, caller: Caller) -> Response:
    body = None if operation.body is None else body_of(tx, request, operation, operation.body)
    if operation.phone is not None:
        caller = caller._replace(scenario=take_fault(tx, operation.phone(body), asked=caller.scenario))
    if caller.scenario in _BEFORE:
        # Answered, not raised: that a script's answer is used up must be committed.
        return _problem(tx, call, request, operation, _BEFORE[caller.scenario]())
    named: dict[str, Any] = dict(request.path_params)
    if operation.query is not None:
        named["query"] = query_of(tx, request, operation.query)
    arguments = (tx, caller) if body is None else (tx, caller, body)
    result = operation.run(*arguments, **named)
    if caller.scenario == scenarios.SERVER_ERROR_AFTER:
        failure = ServiceFailed("The service failed after it had done what was asked, as the scenario says.")
        return _problem(tx, call, request, operation, failure)._replace(payment=_payment_of(result))
    if isinstance(result, Refused):
        return _problem(tx, call, request, operation, result.error)
    status = 201 if operation.creates and tx.gaps.success_status == "201_created" else 200
    kept = wire.to_json(wire.without_once(result)) if operation.no_store else None
    relied = provenance.of_result(operation, result)
    is_slow = caller.scenario == scenarios.SLOW
    return Response(status, JSON, wire.to_json(result), {}, _payment_of(result), kept, is_slow, relied)


_BEFORE: Mapping[str | None, Callable[[], ApiError]] = {
    scenarios.CONFLICT: lambda: StateConflict(
        "Another request with this key is being answered, as the scenario says.",
        code="idempotency_conflict",
        hint="Wait, and send the same again.",
    ),
    scenarios.SERVER_ERROR: lambda: ServiceFailed("The service failed before it did anything, as the scenario says."),
}
"""What a scenario answers before anything is done."""


def _problem(tx: Transaction, call: _Call, request: Request, operation: Operation | None, error: ApiError) -> Response:
    headers = {"WWW-Authenticate": challenges(operation)} if isinstance(error, AuthenticationFailed) else {}
    if operation is not None:
        name_field(error, operation)
    if allowed := error.facts.get("allow"):
        headers["Allow"] = allowed
    documented = operation is not None and operation.plain_400 and isinstance(error, InvalidRequest)
    media_type, members = views.ERROR_FORMATS["plain" if documented else tx.gaps.error_format]
    body = wire.to_json(members(error, call.request_id, request.path))
    relied = provenance.of_error(operation, error.code) if operation else ()
    return Response(error.status, media_type, body, headers, error.facts.get("charge"), relied=relied)


def _payment_of(result: object) -> str | None:
    if isinstance(result, wire.Charge | wire.Refund):
        return result.payment_intent or (result.charge if isinstance(result, wire.Refund) else result.id)
    return result.id if isinstance(result, wire.PaymentIntent | wire.Payout) else None
