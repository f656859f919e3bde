"""One HTTP exchange from request to response, in one transaction: its form, who, again?, what, run, write down."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, suppress
from decimal import Decimal
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from workbench.domain import scenarios
from workbench.domain.reading import json_from, query_from, struct_from
from workbench.domain.wire.base import to_json, without_once
from workbench.domain.wire.endpoints_and_events import API_VERSION
from workbench.domain.wire.intents_and_charges import Charge, PaymentIntent
from workbench.domain.wire.refunds_and_payouts import Payout, Refund
from workbench.domain.wire.trace_rows import UNSEEN
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
from workbench.sandbox import control, deprecation, idempotency, rate_limit, trace, views
from workbench.sandbox.access import caller_of, challenges, credential_in
from workbench.sandbox.messages import JSON, MAX_BODY_BYTES, InForce, Request, Response, log_fault
from workbench.sandbox.operations import Operation
from workbench.sandbox.provenance import TRIGGERED, Rows, provenance, refused_by, relied_by, touched_by
from workbench.sandbox.service.attempts import take_fault
from workbench.sandbox.service.lists import Caller, Cause, Refused
from workbench.sandbox.store import NotNow, Store, Transaction
from workbench.sandbox.store.transaction import UNWRITTEN

_READS: Final = ("GET", "HEAD")
_BEFORE: Mapping[str | None, Callable[[], ApiError]] = {
    scenarios.CONFLICT: lambda: StateConflict(
        "Another request with this key is in progress, as the scenario asks.",
        code="idempotency_conflict",
        hint="Wait, then send the same request again.",
    ),
    scenarios.SERVER_ERROR: lambda: ServiceFailed("The service failed before it did anything, as the scenario asks."),
}
"""What a scenario responds with before anything is done."""


class _Call(msgspec.Struct, frozen=True):
    """One exchange: the id that its response carries, and its place in the trace.

    The place is None for what is not traced, and 0 for a read, which gets it when it is written.
    """

    request_id: str
    seq: int | None


class _KeptBody(msgspec.Struct):
    """What a kept response says of how it came about."""

    failure_code: str | None = None
    warnings: list[str] = []
    currency: str | None = None
    suspense: list[msgspec.Raw] = []


class Exchanges:
    """Answers requests from one store.

    `raise_bugs` lets an unexpected exception out to the caller, as in process a notebook wants its
    traceback; served, it is logged and the response is a 500.
    """

    def __init__(self, store: Store, *, raise_bugs: bool) -> None:
        self._store = store
        self._raise_bugs = raise_bugs

    def respond(self, request: Request, operation: Operation) -> Response:
        """Run an operation; what it changes and its response are one commit."""
        for each in self._store.before_reset if operation is control.RESET else ():
            each()
        return self._answered(request, operation, lambda tx, call: _run(tx, call, request, operation))

    def refuse(
        self, request: Request, error: ApiError, operation: Operation | None = None, *, whoever: bool = False
    ) -> Response:
        """Answer what is refused outside of an operation, or leads to none, such as an unknown path or method.

        `whoever` is for what may not come in, or did not come whole: who sends it is not looked at.
        """

        def run(tx: Transaction, call: _Call) -> Response:  # noqa: ARG001  the same shape as a run
            if not whoever:
                credential_in(request)
            raise error

        return self._answered(request, operation, run)

    def show(self, page: Callable[[Request, InForce], Response], request: Request) -> Response:
        """Answer what is for everybody, such as a document: numbered as all is, and no call of the merchant's."""
        try:
            with self._store.reading() as tx:
                response = page(request, InForce(tx.gaps, deprecation.marked(tx)))
                return _finished(tx, _numbered(tx, None, traced=False), request, None, response)
        except ApiError as error:
            return self.refuse(request, error)

    def unreadable(self, error: ApiError) -> Response:
        """Answer what is no request of HTTP: numbered as all is, and in no trace."""
        with self._store.reading() as tx:
            call, request = _Call(tx.new_read_id("req"), None), Request("", "/")
            return _finished(tx, call, request, None, _problem(tx, call, request, None, error))

    def _begun(self, request: Request, *, traced: bool) -> AbstractContextManager[Transaction]:
        """What is not in the trace may show how far it goes: what waits to be written there is written before it."""
        if request.method not in _READS or (traced and self._store.gaps.rate_limit != "none"):
            return self._store.transaction()
        if not traced:
            with suppress(*UNWRITTEN):
                self._store.write_calls()
        return self._store.reading()

    def _answered(
        self, request: Request, operation: Operation | None, run: Callable[[Transaction, _Call], Response]
    ) -> Response:
        is_merchants = operation.traced if operation else not request.path.startswith("/sandbox")
        # What only looks may ask to be left out of the trace.
        traced = is_merchants and not (UNSEEN in request.headers and request.method in ("GET", "HEAD"))
        try:
            with self._begun(request, traced=traced) as tx:
                call = _numbered(tx, operation, traced=traced)
                return _finished(tx, call, request, operation, run(tx, call))
        except IllegalTransition as error:
            refused: ApiError = StateConflict(error.message, param="status", **error.facts)
        except ApiError as error:
            refused = error
        except NotNow:
            raise
        except Exception as error:
            if self._raise_bugs:
                raise
            log_fault(f"{request.method} {request.path} failed", error)
            refused = ServiceFailed("The sandbox failed; see its log.")
        # All that the operation did is undone; that it was refused is a command of its own, or waits for the next.
        unwritten = isinstance(refused, UNWRITTEN)
        with self._store.reading() if unwritten else self._begun(request, traced=traced) as tx:
            call = _numbered(tx, operation, traced=traced)
            response = _problem(tx, call, request, operation, refused)
            # A failure of ours is kept for its idempotency key, so that it is the same when it is asked for again.
            keeps = operation and isinstance(refused, ServiceFailed) and not unwritten
            if operation and keeps and (key := idempotency.key_of(tx, request, operation)):
                scope = idempotency.scope_of(request, caller_of(tx, request, operation), key)
                idempotency.keep(tx, request, scope, response)
            return _finished(tx, call, request, operation, response)


def _numbered(tx: Transaction, operation: Operation | None, *, traced: bool) -> _Call:
    kind = "req" if traced else operation.untraced_id if operation else "ctl"
    seq = None if not traced else 0 if tx.reads_only else tx.next_seq()
    is_read = tx.reads_only or (operation is not None and operation.method in _READS)
    return _Call(tx.new_read_id(kind) if is_read else tx.new_id(kind), seq)


def _finished(
    tx: Transaction, call: _Call, request: Request, operation: Operation | None, response: Response
) -> Response:
    own = {"Request-Id": call.request_id}
    if tx.gaps.version_header == "api_version":
        own["Api-Version"] = API_VERSION
    succeeded = response.status < 300  # noqa: PLR2004  success
    if operation is not None:
        replayed, relied = "Idempotent-Replayed" in response.headers, response.relied
        if operation.traced and (ends := deprecation.headers(tx, operation.id)):
            own, relied = own | ends, (*relied, "deprecation")
        own["Sandbox-Provenance"] = provenance(operation, response.status, response.content_type, relied, replayed)
        if operation.no_store and succeeded:
            own["Cache-Control"] = "no-store"
        if tx.gaps.rate_limit != "none" and _counts(call, request) and not tx.reads_only:
            own |= _counted(tx, request, operation, response.status)
    response = replace(response, headers={**own, **response.headers}, is_slow=response.is_slow and succeeded)
    if call.seq is not None:
        trace.write_down(tx, request, operation, response, request_id=call.request_id, seq=call.seq)
    return response


def _counts(call: _Call, request: Request) -> bool:
    """Whether a call uses up one of those that an account may make: a merchant's, and none of the bench's own."""
    return call.seq is not None and UNSEEN not in request.headers


def _counted(tx: Transaction, request: Request, operation: Operation, status: int) -> dict[str, str]:
    """The call counted, where its account is known, and what its response tells of those that are left."""
    try:
        account = caller_of(tx, request, operation).account
    except ApiError:
        return {}
    return rate_limit.counted(tx, account, status) if account else {}


def _run(tx: Transaction, call: _Call, request: Request, operation: Operation) -> Response:
    caller = caller_of(tx, request, operation)
    if tx.gaps.rate_limit != "none" and caller.account and _counts(call, request):
        rate_limit.check(tx, caller.account)
    if len(request.body) > MAX_BODY_BYTES:
        raise _of_body(operation, PayloadTooLarge(f"The body is over {MAX_BODY_BYTES} bytes."))
    check_version(tx, request)
    asked = _scenario_of(request, operation)
    keyed = operation.needs_idempotency_key or "Idempotency-Key" in request.headers
    key = idempotency.key_of(tx, request, operation) if keyed else None
    # What a person does through `/sandbox` is no request of the merchant's: events name no request for it.
    caller = caller._replace(cause=Cause(None if call.seq is None else call.request_id, key), scenario=asked)
    response = _once(tx, call, request, operation, caller)
    return replace(response, relied=(*response.relied, *caller.relied)) if caller.relied else response


def within(
    tx: Transaction,
    caller: Caller,
    operation: Operation,
    body: Mapping[str, object],
    key: str | None = None,
    **path_params: str,
) -> Response:
    """What a call of the merchant's comes to that the sandbox makes itself, as part of a command.

    It is numbered as any, and leaves no row in the log of calls: there was none.
    """
    call = _numbered(tx, operation, traced=True)
    path, made = operation.path.format(**path_params), None
    if operation.body is not None:
        made = msgspec.convert(body, operation.body, builtin_types=(Decimal,))
    request = Request(operation.method, path, body=to_json(body), path_params=path_params, made=made)
    return _once(tx, call, request, operation, caller._replace(cause=Cause(call.request_id, key)))


def _once(tx: Transaction, call: _Call, request: Request, operation: Operation, caller: Caller) -> Response:
    """The response: to a key that was sent before, the one that is kept."""
    key = caller.cause.idempotency_key
    if key is None:
        return _result(tx, call, request, operation, caller)
    scope = idempotency.scope_of(request, caller, key)
    if kept := idempotency.recalled(tx, request, scope):
        body = msgspec.json.decode(kept.body, type=_KeptBody)
        return replace(kept, relied=relied_by(operation, body), is_slow=caller.scenario == scenarios.SLOW)
    response = _result(tx, call, request, operation, caller)
    idempotency.keep(tx, request, scope, response)
    return response


def check_version(tx: Transaction, request: Request) -> None:
    """Raises InvalidRequest: a version that there is not."""
    asked = request.headers.get("Api-Version", API_VERSION)
    if asked != API_VERSION and tx.gaps.version_header == "api_version":
        message = f"There is no version {asked[:40]!r}; the current one is {API_VERSION}."
        raise InvalidRequest(message, code="version_unknown", param="Api-Version")


def _scenario_of(request: Request, operation: Operation) -> str | None:
    """What the call asks to go wrong; what cannot be asked for, if ignored, would let the test of a decline pass."""
    asked = request.headers.get("Sandbox-Scenario")
    if asked is None or asked in operation.scenarios:
        return asked
    offered = ", ".join(operation.scenarios)
    hint = f"This operation takes {offered}." if offered else "This operation takes none."
    message = f"Sandbox-Scenario {asked[:40]!r} is not offered here."
    raise InvalidRequest(message, code="scenario_unknown", param="Sandbox-Scenario", hint=hint)


def _result(tx: Transaction, call: _Call, request: Request, operation: Operation, caller: Caller) -> Response:
    ignored: list[str] = []
    body = _body_of(tx, request, operation, ignored)
    touched = touched_by(tx.gaps, caller, operation, body)
    asked = caller.scenario
    if operation.phone is not None:
        caller = caller._replace(scenario=take_fault(tx, operation.phone(body), asked=asked))
        touched += TRIGGERED if caller.scenario != asked else ()
    if caller.scenario in _BEFORE:
        # Answered, not raised: that a script's answer is used up must be committed.
        fault = _problem(tx, call, request, operation, _BEFORE[caller.scenario]())
        return replace(fault, relied=fault.relied + touched)
    named: dict[str, Any] = dict(request.path_params)
    if operation.query is not None:
        named["query"] = query_from(request.query, operation.query, unknown=tx.gaps.unknown_fields, ignored=ignored)
    touched += ("unknown_fields",) if ignored else ()
    arguments = (tx, caller) if body is None else (tx, caller, body)
    result = operation.run(*arguments, **named)
    if caller.scenario == scenarios.SERVER_ERROR_AFTER:
        failure = ServiceFailed("The service failed after it had done what was asked, as the scenario asks.")
        return replace(_problem(tx, call, request, operation, failure), payment=_payment_of(result))
    if isinstance(result, Refused):
        refused = _problem(tx, call, request, operation, result.error)
        triggered = TRIGGERED if operation.phone is not None and asked is None else ()
        return replace(refused, relied=refused.relied + touched + triggered)
    shown = result if operation.shown is None else operation.shown(result)
    kept = to_json(without_once(shown)) if operation.no_store else None
    is_slow, relied = caller.scenario == scenarios.SLOW, touched + relied_by(operation, result, body)
    return Response(operation.success, JSON, to_json(shown), {}, _payment_of(result), kept, is_slow, relied)


def _body_of(tx: Transaction, request: Request, operation: Operation, ignored: list[str]) -> msgspec.Struct | None:
    """The body as the struct that the operation reads; the names of fields that it does not are added to `ignored`."""
    if operation.body is None or request.made is not None:
        return request.made
    if not request.body:
        if operation.body_optional:
            return operation.body()
        raise InvalidRequest("The body is empty; it must be a JSON object.", code="body_missing")
    given = request.headers.get("Content-Type", "")
    media_type, _, parameters = given.partition(";")
    charset = parameters.strip().lower().removeprefix("charset=").strip('"')
    if media_type.strip().lower() != JSON or (parameters.strip() and charset != "utf-8"):
        message = f"Content-Type must be {JSON}, not {given[:60] or 'missing'}."
        raise _of_body(operation, UnsupportedMediaType(message, param="Content-Type"))
    return struct_from(json_from(request.body), operation.body, unknown=tx.gaps.unknown_fields, ignored=ignored)


def _of_body(operation: Operation, error: ApiError) -> ApiError:
    """Where the interface documents 400 for whatever is wrong with the body, it is 400."""
    return InvalidRequest(error.message, code=error.code) if operation.plain_400 else error


def _problem(tx: Transaction, call: _Call, request: Request, operation: Operation | None, error: ApiError) -> Response:
    headers = {"WWW-Authenticate": challenges(operation)} if isinstance(error, AuthenticationFailed) else {}
    if allowed := error.facts.get("allow"):
        headers["Allow"] = allowed
    error_format = tx.gaps.error_format
    relied: Rows = ()
    if operation is not None:
        _name_field(error, operation)
        relied = refused_by(operation, error.code)
        if operation.plain_400 and isinstance(error, InvalidRequest):
            error_format = "plain"
    media_type, members = views.ERROR_FORMATS[error_format]
    body = to_json(members(error, call.request_id, request.path))
    return Response(error.status, media_type, body, headers, error.facts.get("charge"), relied=relied)


def _name_field(error: ApiError, operation: Operation) -> None:
    """Let an error about one field say which, and list it where it is of the body, as those about several do.

    What a handset says about a PIN, a customer reads, who knows of no field.
    """
    if isinstance(error, InvalidRequest) and error.param and error.code != "pin_invalid":
        name = error.param.rpartition(".")[2]
        error.say(error.message if name in error.message else f"{name}: {error.message}")
    fields = operation.body.__struct_fields__ if operation.body else ()
    if error.param and error.param.partition(".")[0] in fields and not error.problems:
        error.problems = (field_problem(error.param, error.message),)


def _payment_of(result: object) -> str | None:
    if isinstance(result, Charge | Refund):
        return result.payment_intent or (result.charge if isinstance(result, Refund) else result.id)
    return result.id if isinstance(result, PaymentIntent | Payout) else None
