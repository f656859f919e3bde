"""One HTTP exchange from request to response, in one transaction: its form, who, again?, what, run, write down."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from decimal import Decimal
from functools import lru_cache
from typing import Any, Final, NamedTuple, get_args, get_origin

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
from workbench.sandbox import idempotency, trace, views
from workbench.sandbox.access import caller_of, challenges, credential_in
from workbench.sandbox.messages import JSON, MAX_BODY_BYTES, Request, Response, log_fault
from workbench.sandbox.operations import Operation
from workbench.sandbox.service.attempts import take_fault
from workbench.sandbox.service.lists import Caller, Cause, Refused
from workbench.sandbox.store import Store, Transaction

_Rows = tuple[str, ...]
_READS: Final = ("GET", "HEAD")
_BEFORE: Mapping[str | None, Callable[[], ApiError]] = {
    scenarios.CONFLICT: lambda: StateConflict(
        "Another request with this key is being answered, as the scenario says.",
        code="idempotency_conflict",
        hint="Wait, and send the same again.",
    ),
    scenarios.SERVER_ERROR: lambda: ServiceFailed("The service failed before it did anything, as the scenario says."),
}
"""What a scenario responds with before anything is done."""


class _Call(NamedTuple):
    """One exchange: the id that its response carries, and its place in the trace.

    The place is None for what is not traced, and 0 for a read, which gets it when it is written.
    """

    request_id: str
    seq: int | None


class _KeptBody(msgspec.Struct):
    """What a kept response says of how it came about."""

    failure_code: str | None = None
    warnings: list[str] = []


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

    def show(self, page: Callable[[Request, Gaps], Response], request: Request) -> Response:
        """Answer what is for everybody, such as a document: numbered as all is, and no call of the merchant's."""
        try:
            with self._store.reading() as tx:
                response = page(request, tx.gaps)
                return _finished(tx, _numbered(tx, None, traced=False), request, None, response)
        except ApiError as error:
            return self.refuse(request, error)

    def new_request_id(self) -> str:
        """The number of a call that cannot be read, and so leads to no response of these."""
        with self._store.reading() as tx:
            return tx.new_read_id("req")

    def _begun(self, request: Request, *, traced: bool) -> AbstractContextManager[Transaction]:
        """What is not in the trace may show how far it goes: what waits to be written there is written before it."""
        reads_only = request.method in _READS and (traced or not self._store.calls_wait)
        return self._store.reading() if reads_only else self._store.transaction()

    def _answered(
        self, request: Request, operation: Operation | None, run: Callable[[Transaction, _Call], Response]
    ) -> Response:
        is_merchants = operation.traced if operation else not request.path.startswith("/sandbox")
        # What only looks may ask to be left out of the trace.
        traced = is_merchants and not (wire.UNSEEN in request.headers and request.method in ("GET", "HEAD"))
        try:
            with self._begun(request, traced=traced) as tx:
                call = _numbered(tx, operation, traced=traced)
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
        with self._begun(request, traced=traced) as tx:
            call = _numbered(tx, operation, traced=traced)
            response = _problem(tx, call, request, operation, refused)
            # A failure of ours is kept for its idempotency key, so that it is the same when it is asked for again.
            if operation and isinstance(refused, ServiceFailed) and (key := idempotency.key_of(tx, request, operation)):
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
        own["Api-Version"] = wire.API_VERSION
    succeeded = response.status < 300  # noqa: PLR2004  success
    if operation is not None:
        replayed = "Idempotent-Replayed" in response.headers
        own["Sandbox-Provenance"] = provenance(
            operation, response.status, response.content_type, response.relied, replayed
        )
        if operation.no_store and succeeded:
            own["Cache-Control"] = "no-store"
    response = response._replace(headers={**own, **response.headers}, is_slow=response.is_slow and succeeded)
    if call.seq is not None:
        trace.write_down(tx, request, operation, response, request_id=call.request_id, seq=call.seq)
    return response


def _run(tx: Transaction, call: _Call, request: Request, operation: Operation) -> Response:
    caller = caller_of(tx, request, operation)
    if len(request.body) > MAX_BODY_BYTES:
        raise _of_body(operation, PayloadTooLarge(f"The body is over {MAX_BODY_BYTES} bytes."))
    check_version(tx, request)
    asked = _scenario_of(request, operation)
    keyed = operation.needs_idempotency_key or "Idempotency-Key" in request.headers
    key = idempotency.key_of(tx, request, operation) if keyed else None
    # What a person does through `/sandbox` is no request of the merchant's: events name no request for it.
    caller = caller._replace(cause=Cause(None if call.seq is None else call.request_id, key), scenario=asked)
    return _once(tx, call, request, operation, caller)


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
    request = Request(operation.method, path, body=wire.to_json(body), path_params=path_params, made=made)
    return _once(tx, call, request, operation, caller._replace(cause=Cause(call.request_id, key)))


def _once(tx: Transaction, call: _Call, request: Request, operation: Operation, caller: Caller) -> Response:
    """The response: to a key that was sent before, the one that is kept."""
    key = caller.cause.idempotency_key
    if key is None:
        return _result(tx, call, request, operation, caller)
    scope = idempotency.scope_of(request, caller, key)
    if kept := idempotency.recalled(tx, request, scope):
        body = msgspec.json.decode(kept.body, type=_KeptBody)
        return kept._replace(relied=_relied_by(operation, body), is_slow=caller.scenario == scenarios.SLOW)
    response = _result(tx, call, request, operation, caller)
    idempotency.keep(tx, request, scope, response)
    return response


def check_version(tx: Transaction, request: Request) -> None:
    """Raises InvalidRequest: a version that there is not."""
    asked = request.headers.get("Api-Version", wire.API_VERSION)
    if asked != wire.API_VERSION and tx.gaps.version_header == "api_version":
        message = f"There is no version {asked[:40]!r}; the current one is {wire.API_VERSION}."
        raise InvalidRequest(message, code="version_unknown", param="Api-Version")


def _scenario_of(request: Request, operation: Operation) -> str | None:
    """What the call asks to go wrong; what cannot be asked for, if ignored, would let the test of a decline pass."""
    asked = request.headers.get("Sandbox-Scenario")
    if asked is None or asked in operation.scenarios:
        return asked
    offered = ", ".join(operation.scenarios)
    hint = f"Offered are {offered}." if offered else "This operation takes none."
    message = f"Sandbox-Scenario {asked[:40]!r} is not offered here."
    raise InvalidRequest(message, code="scenario_unknown", param="Sandbox-Scenario", hint=hint)


def _result(tx: Transaction, call: _Call, request: Request, operation: Operation, caller: Caller) -> Response:
    body = _body_of(tx, request, operation)
    if operation.phone is not None:
        caller = caller._replace(scenario=take_fault(tx, operation.phone(body), asked=caller.scenario))
    if caller.scenario in _BEFORE:
        # Answered, not raised: that a script's answer is used up must be committed.
        return _problem(tx, call, request, operation, _BEFORE[caller.scenario]())
    named: dict[str, Any] = dict(request.path_params)
    if operation.query is not None:
        named["query"] = query_from(request.query, operation.query, unknown=tx.gaps.unknown_fields)
    arguments = (tx, caller) if body is None else (tx, caller, body)
    result = operation.run(*arguments, **named)
    if caller.scenario == scenarios.SERVER_ERROR_AFTER:
        failure = ServiceFailed("The service failed after it had done what was asked, as the scenario says.")
        return _problem(tx, call, request, operation, failure)._replace(payment=_payment_of(result))
    if isinstance(result, Refused):
        return _problem(tx, call, request, operation, result.error)
    status = 201 if operation.creates and tx.gaps.success_status == "201_created" else 200
    kept = wire.to_json(wire.without_once(result)) if operation.no_store else None
    is_slow, relied = caller.scenario == scenarios.SLOW, _relied_by(operation, result)
    return Response(status, JSON, wire.to_json(result), {}, _payment_of(result), kept, is_slow, relied)


def _body_of(tx: Transaction, request: Request, operation: Operation) -> msgspec.Struct | None:
    """The body as the struct that the operation reads."""
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
    return struct_from(json_from(request.body), operation.body, unknown=tx.gaps.unknown_fields)


def _of_body(operation: Operation, error: ApiError) -> ApiError:
    """Where the interface documents 400 for whatever is wrong with the body, it is 400."""
    return InvalidRequest(error.message, code=error.code) if operation.plain_400 else error


def _problem(tx: Transaction, call: _Call, request: Request, operation: Operation | None, error: ApiError) -> Response:
    headers = {"WWW-Authenticate": challenges(operation)} if isinstance(error, AuthenticationFailed) else {}
    if allowed := error.facts.get("allow"):
        headers["Allow"] = allowed
    error_format = tx.gaps.error_format
    relied: _Rows = ()
    if operation is not None:
        _name_field(error, operation)
        struct = operation.body.__name__ if operation.body else ""
        relied = OF_CODE.get(error.code, ()) + OF_CODE_HERE.get((struct, error.code), ())
        if operation.plain_400 and isinstance(error, InvalidRequest):
            error_format = "plain"
    media_type, members = views.ERROR_FORMATS[error_format]
    body = wire.to_json(members(error, call.request_id, request.path))
    return Response(error.status, media_type, body, headers, error.facts.get("charge"), relied=relied)


def _name_field(error: ApiError, operation: Operation) -> None:
    """Let an error about one field say which, and list it where it is of the body, as those about several do."""
    if isinstance(error, InvalidRequest) and error.param:
        name = error.param.rpartition(".")[2]
        error.say(error.message if name in error.message else f"{name}: {error.message}")
    fields = operation.body.__struct_fields__ if operation.body else ()
    if error.param and error.param.partition(".")[0] in fields and not error.problems:
        error.problems = (field_problem(error.param, error.message),)


def _payment_of(result: object) -> str | None:
    if isinstance(result, wire.Charge | wire.Refund):
        return result.payment_intent or (result.charge if isinstance(result, wire.Refund) else result.id)
    return result.id if isinstance(result, wire.PaymentIntent | wire.Payout) else None


# Where a response comes from: shown by the interface, or assumed, and by which rows of the register. Tables alone
# decide: a row of the register stands beside the operation, the struct of a body or the code of an error that it
# settles. What is said is of status, media type and body; headers and the moment of an effect are not looked at.

_ERRORS: Final = 300
"""The first status that is no success."""
_OF_DECLINED: Final = 402

OF_CODE: Final[Mapping[str, _Rows]] = {
    **dict.fromkeys(("amount_not_positive", "amount_too_large", "amount_out_of_bounds"), ("amount_bounds",)),
    **dict.fromkeys(("currency_unsupported", "currency_retired"), ("currencies",)),
    **dict.fromkeys(("token_replaced", "refresh_token_invalid"), ("refresh_request",)),
    "phone_invalid": ("phone_format",), "phone_without_wallet": ("zed_mobile",),
    "operator_unknown": ("operator_ids",), "operator_mismatch": ("operator_mismatch",),
    "event_type_unknown": ("event_types",), "scenario_unknown": ("failure_triggers",),
    "version_unknown": ("version_header",), "idempotency_key_missing": ("idempotency_required",),
    "idempotency_key_reused": ("idempotency_retention_s", "reused_key_status"),
    "scheme_wrong": ("auth_schemes",), "key_rolled": ("key_rotation",), "key_revoked": ("key_revocation",),
    "credentials_wrong": ("token_credentials",), "key_not_allowed": ("access_token_use", "publishable_key"),
    "client_secret_missing": ("publishable_key",), "client_secret_wrong": ("client_secret_on_confirm",),
    "payment_declined": ("declined_status",), "cursor_unknown": ("pagination",),
    "balance_insufficient": ("payouts",), "prompt_expired": ("prompt_timeout_s",),
}  # fmt: skip
"""Code of an error → the rows without which it would be another response."""
OF_CODE_HERE: Final[Mapping[tuple[str, str], _Rows]] = {
    ("CreatePaymentIntent", "parameter_missing"): ("required_fields",),
    ("CreatePaymentIntent", "amount_too_precise"): ("intent_amount_scale",),
    ("ConfirmPaymentIntent", "parameter_missing"): ("client_secret_on_confirm", "required_fields"),
    ("CreateCharge", "parameter_missing"): ("required_fields",),
}
"""Struct of a request and code → rows that the code means for this body alone."""


@lru_cache(maxsize=4096)
def provenance(operation: Operation, status: int, media_type: str, relied: _Rows = (), replayed: bool = False) -> str:  # noqa: FBT001, FBT002  kept by place, which is quicker
    """The header Sandbox-Provenance: `documented` with its sections, `assumed` or `sandbox`, and the rows relied on.

    `relied` are those that this response alone relied on, and others of its kind do not.
    """
    shown, is_sandboxes = (status, media_type) in operation.shows, operation.source == "sandbox"
    said = f'documented; sections="{operation.source}"' if shown else "sandbox" if is_sandboxes else "assumed"
    rows = {*relied, *_rows(operation, status, shown=shown or is_sandboxes, replayed=replayed)}
    rows |= {"error_format"} if status >= _ERRORS and not shown else set()
    return f'{said}; gaps="{" ".join(sorted(rows))}"' if rows else said


def _relied_by(operation: Operation, result: object) -> _Rows:
    """The rows that this success relied on and others of its kind do not: declined, or with a warning."""
    declined = _OF_DECLINED in operation.refuses and getattr(result, "failure_code", None)
    warned = getattr(result, "warnings", None)
    return (("declined_status",) if declined else ()) + (("operator_mismatch",) if warned else ())


def _rows(operation: Operation, status: int, *, shown: bool, replayed: bool) -> Iterator[str]:
    if operation.source == "assumed":
        yield "extra_endpoints"
    if status == _OF_DECLINED:
        yield "declined_status"
    if status < _ERRORS:
        yield from () if shown else ("success_status",)
        yield from operation.relies
        yield from _of_response(operation.response)
    if replayed:
        yield "idempotency_retention_s"
        yield from () if status < _ERRORS else ("idempotency_keeps_errors",)


def _of_response(response: Any) -> Iterator[str]:  # noqa: ANN401  a type, generic ones too
    """The rows that settle the members of a body, and of the rows that it lists."""
    shape = get_origin(response) or response
    yield from shape.__source__.relies if issubclass(shape, wire.View) else ()
    for each in get_args(response):
        yield from _of_response(each)
