"""Handles one HTTP request in one transaction.

It checks the request's caller, rate limit and form, replays a kept response, runs the operation and records the
exchange.

**Idempotency.** The first response to an idempotency key is stored in the commit of its changes, and replayed. Secrets
that are shown once are not stored, so a replayed response lacks them. A merchant who lost the first response takes the
id from the replay, and rolls the key or secret.

**Rate limit.** Each response says how many calls of its account are left (draft-ietf-httpapi-ratelimit-headers-11). A
window begins with the first call after the previous window has ended, by the sandbox's clock. Every response of an
operation that takes an API key counts, except a 429.
"""

import hashlib
import re
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, suppress
from decimal import Decimal
from functools import lru_cache, partial
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from workbench.domain import scenarios
from workbench.domain.masking import mask, mask_beginnings
from workbench.domain.reading import body_from, json_from, query_from
from workbench.domain.wire.base import to_json, without_once
from workbench.domain.wire.keys_and_events import API_VERSION
from workbench.domain.wire.ledger_and_trace import UNSEEN
from workbench.domain.wire.payments_and_payouts import Charge, PaymentIntent, Payout, Refund
from workbench.errors import (
    ApiError,
    AuthenticationFailed,
    IdempotencyKeyReused,
    IllegalTransition,
    InvalidRequest,
    PayloadTooLarge,
    RateLimited,
    ServiceFailed,
    StateConflict,
    UnsupportedMediaType,
    field_problem,
)
from workbench.sandbox.access import caller_of, challenges, credential_in
from workbench.sandbox.messages import ERROR_FORMATS, JSON, MAX_BODY_BYTES, InForce, Request, Response, log_fault
from workbench.sandbox.operations import ERRORS, MARKS, Operation, deprecated_in, deprecation_headers
from workbench.sandbox.provenance import TRIGGERED, Rows, provenance, refused_by, relied_by, touched_by
from workbench.sandbox.service import Caller, Cause
from workbench.sandbox.service.payments import with_script
from workbench.sandbox.store import NotNow, Store, Transaction
from workbench.sandbox.store.rows import KeptResponse, StoredCall
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
"""Scenario → the error that is returned instead of running the operation."""
_MAX_KEPT_TEXT: Final = 20_000
_MAX_KEPT_ID: Final = 80
_NOT_KEPT: Final = "(not kept: it may hold a password)"
_REUSED: Final[Mapping[int, type[ApiError]]] = {422: IdempotencyKeyReused, 409: StateConflict, 400: InvalidRequest}
"""Value of the register's `reused_key_status` → the error for a key that is sent again with another body."""
KEY: Final = re.compile(
    r'"((?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\["\\]){1,255})"|([\x21\x23-\x2b\x2d-\x7e][\x20-\x2b\x2d-\x7e]{0,254})'
)
"""A key in quotes (RFC 8941 §3.3.3) or bare; a bare key has no comma, since servers join repeated headers by commas."""
_ESCAPED: Final = re.compile(r"\\(.)")
_CALLS, _WINDOW = "calls of {}", "window of {}"
"""The names of an account's counters: of the calls in its window, and of the moment when the window began."""
_QUOTAS: Final = {"100_per_60": (100, 60)}
"""Value of the register's `rate_limit` → how many calls an account may make in how many seconds.

Under `none`, which is missing here, nothing is counted.
"""


class _Call(msgspec.Struct):
    """A request in progress; its id, number, caller and key scope are set while it is handled.

    If the call fails, a second transaction records the error, for this caller and scope, under a new number.
    """

    request: Request
    operation: Operation | None
    is_traced: bool
    id: str = ""
    """The Request-Id of the response."""
    seq: int | None = None
    """The call's `seq` in the trace; None if the call is not traced, 0 for a read until the trace is written."""
    caller: Caller | None = None
    """None until the credential is accepted."""
    scope: str | None = None
    """The scope in which the idempotency key is unique: account, `publishable` or else `secret`, method, path and key,
    a line each; None without a key."""

    def number(self, tx: Transaction) -> None:
        """Sets the call's id and its `seq` in the trace, taking them from this transaction."""
        kind = "req" if self.is_traced else self.operation.untraced_id if self.operation else "ctl"
        reads = self.operation is not None and self.operation.method in _READS
        self.id, self.seq = tx.number_call(kind, reads=reads, traced=self.is_traced)

    @property
    def uses_quota(self) -> bool:
        """True if the call counts towards its account's rate limit: it is traced, and did not ask to be left out."""
        return self.seq is not None and UNSEEN not in self.request.headers


class _KeptBody(msgspec.Struct):
    """The members of a stored response's body that show on which rows of the register the response relied."""

    failure_code: str | None = None
    warnings: list[str] = []
    currency: str | None = None
    suspense: list[msgspec.Raw] = []


class Responder:
    """Handles requests with the data of one store.

    With `raise_bugs`, an unexpected exception is raised to the caller, so that a notebook shows its traceback. A served
    sandbox logs the exception and responds with a 500.
    """

    def __init__(self, store: Store, *, raise_bugs: bool) -> None:
        self.store = store
        self._raise_bugs = raise_bugs

    def respond(self, request: Request, operation: Operation) -> Response:
        """Runs an operation and returns its response; the changes and the response are in one commit."""
        return self._answer(request, operation, lambda tx, call: _check_and_run(tx, call, operation))

    def refuse(
        self, request: Request, error: ApiError, operation: Operation | None = None, *, checks_key: bool = True
    ) -> Response:
        """Returns the error for a request that runs no operation, such as one to an unknown path.

        With `checks_key`, the error for a live or unreadable key comes first; False is for a refused host or an
        incomplete request.
        """

        def run(_tx: Transaction, _call: _Call) -> Response:
            if checks_key:
                credential_in(request)
            raise error

        return self._answer(request, operation, run)

    def show(self, page: Callable[[Request, InForce], Response], request: Request) -> Response:
        """Returns a page that needs no key, such as a document. The response has a Request-Id and is not traced."""
        try:
            with self.store.reading() as tx:
                response = page(request, InForce(tx.gaps, deprecated_in(tx)))
                call = _Call(request, None, is_traced=False)
                call.number(tx)
                return _finish(tx, call, response)
        except ApiError as error:
            return self.refuse(request, error)

    def unreadable(self, error: ApiError) -> Response:
        """Returns the error for bytes that are not an HTTP request, or for a request that the server does not handle.

        The response has a Request-Id and is not traced.
        """
        with self.store.reading() as tx:
            call = _Call(Request("", "/"), None, is_traced=False, id=tx.new_read_id("req"))
            return _finish(tx, call, _error_response(tx, call, error))

    def _begun(self, request: Request, *, traced: bool) -> AbstractContextManager[Transaction]:
        """The transaction for a request; for an untraced read, the calls that wait for the trace are written first."""
        if request.method not in _READS or (traced and self.store.gaps.rate_limit != "none"):
            return self.store.transaction()
        if not traced:
            with suppress(*UNWRITTEN):
                self.store.write_calls()
        return self.store.reading()

    def _answer(
        self, request: Request, operation: Operation | None, run: Callable[[Transaction, _Call], Response]
    ) -> Response:
        is_merchants = operation.traced if operation else not request.path.startswith("/sandbox")
        # A read may ask to be left out of the trace.
        traced = is_merchants and not (UNSEEN in request.headers and request.method in _READS)
        call = _Call(request, operation, traced)
        try:
            with self._begun(request, traced=traced) as tx:
                call.number(tx)
                return _finish(tx, call, run(tx, call))
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
        # The operation's changes are undone. A second transaction traces the refusal, or leaves it to the next command.
        unwritten = isinstance(refused, UNWRITTEN)
        with self.store.reading() if unwritten else self._begun(request, traced=traced) as tx:
            call.number(tx)
            response = _error_response(tx, call, refused)
            # The service's own failure is kept for the idempotency key, so that a repeated request gets it again.
            if call.scope is not None and isinstance(refused, ServiceFailed) and not unwritten:
                _keep(tx, call, call.scope, response)
            return _finish(tx, call, response)


def _finish(tx: Transaction, call: _Call, response: Response) -> Response:
    """Adds the headers that every response has, records the call in the trace, and returns the response."""
    operation = call.operation
    own = {"Request-Id": call.id}
    if tx.gaps.version_header == "api_version":
        own["Api-Version"] = API_VERSION
    succeeded = response.status < ERRORS
    if operation is not None:
        replayed, relied = "Idempotent-Replayed" in response.headers, response.relied
        if operation.traced and tx.last(MARKS) and (ends := deprecation_headers(tx, operation.id)):
            own, relied = own | ends, (*relied, "deprecation")
        own["Sandbox-Provenance"] = provenance(operation, response.status, response.content_type, relied, replayed)
        if operation.no_store and succeeded:
            own["Cache-Control"] = "no-store"
        if tx.gaps.rate_limit in _QUOTAS and call.uses_quota and not tx.reads_only:
            own |= _count_call(tx, call, operation, response.status)
    response = replace(response, headers={**own, **response.headers}, is_slow=response.is_slow and succeeded)
    if call.seq is not None:
        _write_down(tx, call, call.seq, response)
    return response


def _write_down(tx: Transaction, call: _Call, seq: int, response: Response) -> None:
    """Records a call and its response in the trace, masked; a read's call waits for the next command."""
    request = call.request
    named = request.path_params.get("intent_id") or request.path_params.get("charge_id")
    bodies = _kept_request(request, call.operation), response.body.decode("utf-8", "replace")
    request_body, response_body = mask_beginnings(bodies, _MAX_KEPT_TEXT)
    record = tx.later.append if tx.reads_only else tx.calls.add
    record(
        StoredCall(
            id=call.id,
            seq=seq,
            at_ms=tx.now_ms,
            method=request.method,
            path=_masked_text(request.target)[:_MAX_KEPT_TEXT],
            payment=response.payment or (mask(named)[:_MAX_KEPT_ID] if named else None),
            request_headers={name: _masked_text(value) for name, value in request.headers.items()},
            request_body=request_body,
            status=response.status,
            response_headers={"Content-Type": response.content_type, **response.headers},
            response_body=response_body,
        )
    )


def _kept_request(request: Request, operation: Operation | None) -> str:
    """The request's body for the trace; a body that may hold a password is kept only if it is flat JSON.

    In flat JSON, masking finds the password. A body may hold one if the `operation` takes no key; None stands for an
    unknown operation.
    """
    if operation is not None and not operation.schemes and request.body:
        try:
            fields = json_from(request.body)
        except InvalidRequest:
            return _NOT_KEPT
        if not isinstance(fields, dict) or any(isinstance(field, list | dict) for field in fields.values()):
            return _NOT_KEPT
    return request.body.decode("utf-8", "replace")


@lru_cache(maxsize=64)
def _masked_text(text: str) -> str:
    """A path or a header's value, masked; cached, since most values occur in every call."""
    return mask(text)


def _count_call(tx: Transaction, call: _Call, operation: Operation, status: int) -> dict[str, str]:
    """Counts the call, unless its `status` is 429; returns the rate-limit headers, none if its account is unknown."""
    try:
        account = (call.caller or caller_of(tx, call.request, operation)).account
    except ApiError:
        return {}
    if not account:
        return {}
    limit, window_s, calls_left, ends_s = _window(tx, account)
    is_refused = status == RateLimited.status
    if not is_refused:
        if calls_left == limit:
            tx.note(_WINDOW.format(account), tx.now_ms)
        calls_left -= 1
        tx.note(_CALLS.format(account), limit - calls_left)
    headers = {
        "RateLimit-Policy": f'"default";q={limit};w={window_s}',
        "RateLimit": f'"default";r={calls_left};t={ends_s}',
    }
    return headers | ({"Retry-After": str(ends_s)} if is_refused else {})


def _window(tx: Transaction, account: str) -> tuple[int, int, int, int]:
    """Returns (calls allowed, window in seconds, calls left, seconds until the window ends, rounded up)."""
    limit, window_s = _QUOTAS[tx.gaps.rate_limit]
    calls_made, ends_ms = tx.last(_CALLS.format(account)), tx.last(_WINDOW.format(account)) + window_s * 1000
    if not calls_made or tx.now_ms >= ends_ms:
        return limit, window_s, limit, window_s
    return limit, window_s, limit - calls_made, -((tx.now_ms - ends_ms) // 1000)


def forget_calls(tx: Transaction) -> None:
    """Resets the quota of every account."""
    if tx.gaps.rate_limit in _QUOTAS:
        for account in tx.accounts.all("id"):
            tx.note(_CALLS.format(account.id), 0)


def _check_and_run(tx: Transaction, call: _Call, operation: Operation) -> Response:
    request = call.request
    caller = call.caller = caller_of(tx, request, operation)
    if tx.gaps.rate_limit in _QUOTAS and caller.account and call.uses_quota:
        limit, window_s, calls_left, ends_s = _window(tx, caller.account)
        if calls_left == 0:
            message = f"The account has made {limit} calls in {window_s} s and may make no more for now."
            raise RateLimited(message, hint=f"Wait {ends_s} s, then send the same request again.", retry_after_s=ends_s)
    if len(request.body) > MAX_BODY_BYTES:
        raise _body_error(operation, PayloadTooLarge(f"The body is over {MAX_BODY_BYTES} bytes."))
    check_version(tx, request)
    scenario = _scenario_of(request, operation)
    keyed = operation.needs_idempotency_key or "Idempotency-Key" in request.headers
    key = _key_sent(tx, request, operation) if keyed else None
    # Actions through `/sandbox` are not merchant requests, so their events name no request.
    call.caller = caller._replace(cause=Cause(None if call.seq is None else call.id, key), scenario=scenario)
    response = _once(tx, call, operation, call.caller)
    return replace(response, relied=(*response.relied, *caller.relied)) if caller.relied else response


def call_within(
    tx: Transaction,
    caller: Caller,
    operation: Operation,
    body: Mapping[str, object],
    key: str | None = None,
    **path_params: str,
) -> Response:
    """Makes a call as the merchant in an open transaction; the call gets an id and a `seq`, but no row in the trace.

    `body` has the JSON members, `key` is the idempotency key, and `path_params` are the parameters in the path.
    """
    path, body_struct = operation.path.format(**path_params), None
    if operation.body is not None:
        body_struct = msgspec.convert(body, operation.body, builtin_types=(Decimal,))
    request = Request(operation.method, path, body=to_json(body), path_params=path_params, body_struct=body_struct)
    call = _Call(request, operation, is_traced=True)
    call.number(tx)
    return _once(tx, call, operation, caller._replace(cause=Cause(call.id, key)))


def _once(tx: Transaction, call: _Call, operation: Operation, caller: Caller) -> Response:
    """Runs an operation, or replays the response stored for its idempotency key; sets the `scope` of `call`.

    Raises the error of the register's `reused_key_status`: the key was used with another body.
    """
    key, request = caller.cause.idempotency_key, call.request
    if key is None:
        return _run_operation(tx, call, operation, caller)
    rank = "publishable" if caller.kind == "publishable" else "secret"
    call.scope = f"{caller.account}\n{rank}\n{request.method}\n{request.path}\n{key}"
    kept = _kept_for(tx, call.scope)
    if kept is None:
        response = _run_operation(tx, call, operation, caller)
        _keep(tx, call, call.scope, response)
        return response
    if kept.body_digest != hashlib.sha256(request.body).hexdigest():
        refuse, code = _REUSED[tx.gaps.reused_key_status], IdempotencyKeyReused.default_code
        message = "This Idempotency-Key was used before with another body."
        raise refuse(message, code=code, param="Idempotency-Key", hint="Use a new key.")
    body, replayed = kept.body.encode(), {"Idempotent-Replayed": "true"}
    relied = relied_by(operation, msgspec.json.decode(body, type=_KeptBody))
    is_slow = caller.scenario == scenarios.SLOW
    return Response(kept.status, kept.content_type, body, replayed, kept.payment, is_slow=is_slow, relied=relied)


def _keep(tx: Transaction, call: _Call, scope: str, response: Response) -> None:
    """Stores the response for a scope, unless there is one already; never a 409.

    If the register's `idempotency_keeps_errors` is `none`, no error is stored.
    """
    if response.status >= ERRORS and tx.gaps.idempotency_keeps_errors == "none":
        return
    # A conflict is never kept, so that the same request may come again; the first response stays.
    if response.status == StateConflict.status or _kept_for(tx, scope) is not None:
        return
    tx.kept_responses.add(
        KeptResponse(
            scope=scope,
            body_digest=hashlib.sha256(call.request.body).hexdigest(),
            status=response.status,
            content_type=response.content_type,
            body=(response.body if response.kept is None else response.kept).decode(),
            payment=response.payment,
            at_ms=tx.now_ms,
        )
    )


def _kept_for(tx: Transaction, scope: str) -> KeptResponse | None:
    """The response stored for a scope (account, operation and idempotency key), or None; deletes an expired one."""
    kept = tx.kept_responses.get(scope)
    if kept is not None and tx.now_ms >= kept.at_ms + tx.gaps.idempotency_retention_s * 1000:
        tx.kept_responses.remove(kept)
        return None
    return kept


def _key_sent(tx: Transaction, request: Request, operation: Operation) -> str | None:
    """The idempotency key of a request; None if it has none or the operation ignores keys.

    Raises InvalidRequest: the operation requires a key and there is none, or the header is not a key.
    """
    header = request.headers.get("Idempotency-Key")
    if header is None or not operation.takes_keys:
        if operation.needs_idempotency_key and tx.gaps.idempotency_required == "charges":
            message = "The header Idempotency-Key is required, so that a repeated request does not charge twice."
            raise InvalidRequest(message, code="idempotency_key_missing", param="Idempotency-Key")
        return None
    parts = KEY.fullmatch(header)
    if parts is None:
        message = "Idempotency-Key must be one key of 1 to 255 printable ASCII characters."
        hint = "Put a key with a comma in quotes; send the header once."
        raise InvalidRequest(message, code="idempotency_key_invalid", param="Idempotency-Key", hint=hint)
    return parts[2] or _ESCAPED.sub(r"\1", parts[1])


def check_version(tx: Transaction, request: Request) -> None:
    """Raises InvalidRequest: the register has the header Api-Version, and the request names an unknown version."""
    version = request.headers.get("Api-Version", API_VERSION)
    if version != API_VERSION and tx.gaps.version_header == "api_version":
        message = f"There is no version {version[:40]!r}; the current one is {API_VERSION}."
        raise InvalidRequest(message, code="version_unknown", param="Api-Version")


def _scenario_of(request: Request, operation: Operation) -> str | None:
    """The scenario that the header Sandbox-Scenario requests; None without the header.

    Raises InvalidRequest: the operation does not offer the scenario. Ignoring it would let a test pass without its
    failure.
    """
    scenario = request.headers.get("Sandbox-Scenario")
    if scenario is None or scenario in operation.scenarios:
        return scenario
    offered = ", ".join(operation.scenarios)
    hint = f"This operation takes {offered}." if offered else "This operation takes none."
    message = f"Sandbox-Scenario {scenario[:40]!r} is not offered here."
    raise InvalidRequest(message, code="scenario_unknown", param="Sandbox-Scenario", hint=hint)


def _run_operation(tx: Transaction, call: _Call, operation: Operation, caller: Caller) -> Response:
    ignored: list[str] = []
    body = _body_of(tx, call.request, operation, ignored)
    touched = partial(touched_by, tx.gaps, caller, operation, body)
    requested = caller.scenario
    also: Rows = ()
    if operation.phone is not None:
        caller = with_script(tx, caller, operation.phone(body))
        also = TRIGGERED if caller.scenario != requested else ()
    if caller.scenario in _BEFORE:
        # Returned, not raised, so that the commit records that the script's scenario is used up.
        fault = _error_response(tx, call, _BEFORE[caller.scenario]())
        return replace(fault, relied=fault.relied + touched() + also)
    named: dict[str, Any] = dict(call.request.path_params)
    if operation.query is not None:
        unknown = tx.gaps.unknown_fields
        named["query"] = query_from(call.request.query, operation.query, unknown=unknown, ignored=ignored)
    also += ("unknown_fields",) if ignored else ()
    arguments = (tx, caller) if body is None else (tx, caller, body)
    result = operation.run(*arguments, **named)
    if caller.scenario == scenarios.SERVER_ERROR_AFTER:
        failure = ServiceFailed("The service failed after it had done what was asked, as the scenario asks.")
        return replace(_error_response(tx, call, failure), payment=_payment_of(result))
    if isinstance(result, ApiError):
        refused = _error_response(tx, call, result)
        triggered = TRIGGERED if operation.phone is not None and requested is None else ()
        return replace(refused, relied=refused.relied + touched() + also + triggered)
    shown = result if operation.shown is None else operation.shown(result)
    kept = to_json(without_once(shown)) if operation.no_store else None
    is_slow, relied = caller.scenario == scenarios.SLOW, touched(result) + also
    return Response(operation.success, JSON, to_json(shown), {}, _payment_of(result), kept, is_slow, relied)


def _body_of(tx: Transaction, request: Request, operation: Operation, ignored: list[str]) -> msgspec.Struct | None:
    """The body as the operation's struct, None if it takes none; names of unknown fields are added to `ignored`.

    Raises InvalidRequest: the body is empty or does not fit. Raises UnsupportedMediaType: not JSON in UTF-8.
    """
    if operation.body is None or request.body_struct is not None:
        return request.body_struct
    if not request.body:
        if operation.body_optional:
            return operation.body()
        raise InvalidRequest("The body is empty; it must be a JSON object.", code="body_missing")
    content_type = request.headers.get("Content-Type", "")
    media_type, _, parameters = content_type.partition(";")
    charset = parameters.strip().lower().removeprefix("charset=").strip('"')
    if media_type.strip().lower() != JSON or (parameters.strip() and charset != "utf-8"):
        message = f"Content-Type must be {JSON}, not {content_type[:60] or 'missing'}."
        raise _body_error(operation, UnsupportedMediaType(message, param="Content-Type"))
    return body_from(request.body, operation.body, unknown=tx.gaps.unknown_fields, ignored=ignored)


def _body_error(operation: Operation, error: ApiError) -> ApiError:
    """The error, turned into a 400 if the interface documents 400 for every fault of this operation's body."""
    return InvalidRequest(error.message, code=error.code) if operation.plain_400 else error


def _error_response(tx: Transaction, call: _Call, error: ApiError) -> Response:
    operation = call.operation
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
    media_type, members = ERROR_FORMATS[error_format]
    body = to_json(members(error, call.id, call.request.path))
    return Response(error.status, media_type, body, headers, error.facts.get("charge"), relied=relied)


def _name_field(error: ApiError, operation: Operation) -> None:
    """Adds the field's name to an error's message, and lists a field of the body among the error's problems.

    The message about a wrong PIN stays unchanged: a customer reads it on the handset.
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
