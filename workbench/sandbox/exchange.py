"""One HTTP exchange from request to answer, in one transaction: who, again?, what, run, write down."""

import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import msgspec

from workbench.domain import wire
from workbench.domain.masking import mask
from workbench.domain.reading import json_from, struct_from
from workbench.errors import (
    ApiError,
    AuthenticationFailed,
    IdempotencyKeyReused,
    IllegalTransition,
    InvalidRequest,
    PayloadTooLarge,
    StateConflict,
    UnsupportedMediaType,
)
from workbench.sandbox import encode
from workbench.sandbox.credentials import caller_of, challenges, credential_in
from workbench.sandbox.operations import Operation
from workbench.sandbox.service.caller import Caller
from workbench.sandbox.store import Store, Transaction
from workbench.sandbox.store.records import Call, KeptAnswer

MAX_BODY_BYTES = 1 << 20
MAX_KEPT_TEXT = 20_000
_NOT_KEPT = "(not kept: it may hold a password)"
JSON = "application/json"
_MAX_KEPT_ID = 80
_KEY = re.compile(r'"([\x20-\x7e]{1,255})"|([\x21\x23-\x7e][\x20-\x7e]{0,254})')


@dataclass(frozen=True, kw_only=True)
class Request:
    """A request as it arrived; `headers` by their usual spelling, those that matter here alone."""

    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    path_params: Mapping[str, str] = field(default_factory=dict)
    live: bool = False
    """A live key stands somewhere in a header or the query."""

    @property
    def target(self) -> str:
        """Path and query, as they stand in the request line."""
        query = "&".join(f"{name}={value}" for name, value in self.query.items())
        return f"{self.path}?{query}" if query else self.path


class Answer(NamedTuple):
    """What goes back."""

    status: int
    content_type: str
    body: bytes
    headers: Mapping[str, str] = {}
    payment: str | None = None
    """The intent or charge that the call was about."""


class Exchanges:
    """Answers requests from one store."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def answer(self, request: Request, operation: Operation) -> Answer:
        """Run an operation; what it changes and its answer are one commit."""
        return self._answered(request, operation, lambda tx: _run(tx, request, operation))

    def refuse(self, request: Request, error: ApiError) -> Answer:
        """Answer what leads to no operation: an unknown path or method, our own failure."""

        def run(tx: Transaction) -> Answer:  # noqa: ARG001  the same shape as a run
            credential_in(request.headers.get("Authorization"), live=request.live)
            raise error

        return self._answered(request, None, run)

    def _answered(self, request: Request, operation: Operation | None, run: Callable[[Transaction], Answer]) -> Answer:
        traced = operation.traced if operation else not request.path.startswith("/sandbox")
        try:
            with self._store.transaction() as tx:
                seq = tx.next_seq() if traced else 0
                return _finished(tx, request, operation, run(_numbered(tx, traced)), seq)
        except IllegalTransition as error:
            refused: ApiError = StateConflict(error.message, param="status", **error.facts)
        except ApiError as error:
            refused = error
        with self._store.transaction() as tx:
            seq = tx.next_seq() if traced else 0
            answer = _problem(_numbered(tx, traced), request, operation, refused)
            return _finished(tx, request, operation, answer, seq)


def _numbered(tx: Transaction, traced: bool) -> Transaction:  # noqa: FBT001  which of two counters
    """What a person does on the panel is no request of the merchant's: events name no request for it."""
    tx.answer_id = tx.new_id("req" if traced else "ctl")
    tx.request_id = tx.answer_id if traced else None
    return tx


def _finished(tx: Transaction, request: Request, operation: Operation | None, answer: Answer, seq: int) -> Answer:
    own = {"Request-Id": tx.answer_id}
    if tx.gaps.version_header == "api_version":
        own["Api-Version"] = wire.API_VERSION
    answer = answer._replace(headers={**own, **answer.headers})
    if seq:
        _write_down(tx, request, operation, answer, seq)
    return answer


def _run(tx: Transaction, request: Request, operation: Operation) -> Answer:
    credential = credential_in(request.headers.get("Authorization"), live=request.live)
    caller = caller_of(tx, credential, operation)
    _check_version(tx, request)
    _check_scenario(request)
    tx.idempotency_key = _idempotency_key(request, operation, tx)
    # What a secret key was told is not told to a publishable one.
    rank = "publishable" if caller.kind == "publishable" else "secret"
    scope = f"{caller.account}\n{rank}\n{request.method}\n{request.path}\n{tx.idempotency_key}"
    if tx.idempotency_key is None:
        return _result(tx, request, operation, caller)
    if kept := _kept(tx, request, scope):
        return kept
    answer = _result(tx, request, operation, caller)
    tx.kept_answers.add(
        KeptAnswer(
            scope=scope,
            body_digest=_digest(request.body),
            status=answer.status,
            content_type=answer.content_type,
            body=answer.body.decode(),
            payment=answer.payment,
            at_ms=tx.now_ms,
        )
    )
    return answer


def _result(tx: Transaction, request: Request, operation: Operation, caller: Caller) -> Answer:
    arguments: list[Any] = [tx, caller]
    if operation.body is not None:
        arguments.append(_body(tx, request, operation, operation.body))
    query = {name: request.query[name] for name in operation.query if name in request.query}
    result = operation.run(*arguments, **request.path_params, **query)
    if isinstance(result, ApiError):
        return _problem(tx, request, operation, result)
    status = 201 if operation.creates and tx.gaps.success_status == "201_created" else 200
    headers = {"Cache-Control": "no-store"} if operation.no_store else {}
    return Answer(status, JSON, wire.to_json(result), headers, _payment_of(result))


def _body(tx: Transaction, request: Request, operation: Operation, shape: type[msgspec.Struct]) -> msgspec.Struct:
    if not request.body and operation.body_optional:
        return shape()
    try:
        _check_form(request)
        return struct_from(json_from(request.body), shape, unknown=tx.gaps.unknown_fields)
    except (PayloadTooLarge, UnsupportedMediaType) as error:
        # Where the interface documents 400 for whatever is wrong with the body, it is 400.
        raise (InvalidRequest(error.message, code=error.code) if operation.plain_400 else error) from None


def _check_form(request: Request) -> None:
    if len(request.body) > MAX_BODY_BYTES:
        raise PayloadTooLarge(f"The body is over {MAX_BODY_BYTES} bytes.")
    if not request.body:
        raise InvalidRequest("The body is empty; it must be a JSON object.", code="body_missing")
    given = request.headers.get("Content-Type", "")
    media_type, _, parameters = given.partition(";")
    charset = parameters.strip().lower().removeprefix("charset=").strip('"')
    if media_type.strip().lower() != JSON or (parameters.strip() and charset != "utf-8"):
        raise UnsupportedMediaType(f"Content-Type must be {JSON}, not {given[:60] or 'missing'}.", param="Content-Type")


def _check_version(tx: Transaction, request: Request) -> None:
    asked = request.headers.get("Api-Version", wire.API_VERSION)
    if asked != wire.API_VERSION and tx.gaps.version_header == "api_version":
        raise InvalidRequest(
            f"There is no version {asked[:40]!r}; the current one is {wire.API_VERSION}.",
            code="version_unknown",
            param="Api-Version",
        )


def _check_scenario(request: Request) -> None:
    """A scenario that is ignored would let the test of a decline pass as a success."""
    if "Sandbox-Scenario" in request.headers:
        raise InvalidRequest(
            "Sandbox-Scenario is not offered yet.",
            code="scenario_not_offered",
            param="Sandbox-Scenario",
            hint="Use a test number.",
        )


def _idempotency_key(request: Request, operation: Operation, tx: Transaction) -> str | None:
    given = request.headers.get("Idempotency-Key")
    # An answer that no cache may keep is not kept here either: it holds a token.
    # Nor is what a person does on the panel: doing it twice is meant.
    if request.method != "POST" or given is None or operation.no_store or not operation.traced:
        if operation.needs_idempotency_key and tx.gaps.idempotency_required == "charges":
            raise InvalidRequest(
                "The header Idempotency-Key is required, so that a repeated request does not charge twice.",
                code="idempotency_key_missing",
                param="Idempotency-Key",
            )
        return None
    found = _KEY.fullmatch(given)
    if found is None:
        raise InvalidRequest(
            "Idempotency-Key must be 1 to 255 printable ASCII characters.",
            code="idempotency_key_invalid",
            param="Idempotency-Key",
        )
    return found[1] or found[2]


def _kept(tx: Transaction, request: Request, scope: str) -> Answer | None:
    kept = tx.kept_answers.get(scope)
    if kept is None:
        return None
    if tx.now_ms >= kept.at_ms + tx.gaps.idempotency_retention_s * 1000:
        tx.kept_answers.remove(kept)
        return None
    if kept.body_digest != _digest(request.body):
        raise IdempotencyKeyReused(
            "This Idempotency-Key came with another body before.", param="Idempotency-Key", hint="Use a new key."
        )
    return Answer(kept.status, kept.content_type, kept.body.encode(), {"Idempotent-Replayed": "true"}, kept.payment)


def _problem(tx: Transaction, request: Request, operation: Operation | None, error: ApiError) -> Answer:
    headers = {"WWW-Authenticate": challenges(operation)} if isinstance(error, AuthenticationFailed) else {}
    if allowed := error.facts.get("allow"):
        headers["Allow"] = allowed
    documented = operation is not None and operation.plain_400 and isinstance(error, InvalidRequest)
    media_type, members = encode.ERROR_FORMATS["plain" if documented else tx.gaps.error_format]
    body = wire.to_json(members(error, tx.answer_id, request.path))
    return Answer(error.status, media_type, body, headers, error.facts.get("charge"))


def _payment_of(result: object) -> str | None:
    if isinstance(result, wire.Charge):
        return result.payment_intent or result.id
    return result.id if isinstance(result, wire.PaymentIntent) else None


def _write_down(tx: Transaction, request: Request, operation: Operation | None, answer: Answer, seq: int) -> None:
    tx.calls.add(
        Call(
            id=tx.answer_id,
            seq=seq,
            at_ms=tx.now_ms,
            method=request.method,
            path=mask(request.target)[:MAX_KEPT_TEXT],
            payment=answer.payment or _named(request),
            request_headers={name: mask(value) for name, value in request.headers.items()},
            request_body=_kept_request(request, operation),
            status=answer.status,
            response_headers={"Content-Type": answer.content_type, **answer.headers},
            response_body=_kept_text(answer.body),
        )
    )


def _named(request: Request) -> str | None:
    named = request.path_params.get("intent_id") or request.path_params.get("charge_id")
    return mask(named)[:_MAX_KEPT_ID] if named else None


def _kept_request(request: Request, operation: Operation | None) -> str:
    """The body for the trace; where it should hold a password, only in the form in which that can be found."""
    if operation is not None and operation.no_store and request.body:
        try:
            fields = json_from(request.body)
        except InvalidRequest:
            return _NOT_KEPT
        if not isinstance(fields, dict) or any(isinstance(each, list | dict) for each in fields.values()):
            return _NOT_KEPT
    return _kept_text(request.body)


def _kept_text(body: bytes) -> str:
    return mask(body.decode("utf-8", "replace"))[:MAX_KEPT_TEXT]


def _digest(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()
