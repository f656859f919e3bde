"""One HTTP exchange from request to answer, in one transaction: who, again?, what, run, write down."""

from collections.abc import Callable
from typing import Any

from workbench.domain import wire
from workbench.errors import ApiError, AuthenticationFailed, IllegalTransition, InvalidRequest, StateConflict
from workbench.sandbox import encode, forms, idempotency, logbook
from workbench.sandbox.credentials import caller_of, challenges, credential_in
from workbench.sandbox.messages import JSON, Answer, Request
from workbench.sandbox.operations import Operation
from workbench.sandbox.service.caller import Caller
from workbench.sandbox.store import Store, Transaction


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
        logbook.write_down(tx, request, operation, answer, seq)
    return answer


def _run(tx: Transaction, request: Request, operation: Operation) -> Answer:
    credential = credential_in(request.headers.get("Authorization"), live=request.live)
    caller = caller_of(tx, credential, operation)
    forms.check_version(tx, request)
    forms.check_scenario(request)
    key = tx.idempotency_key = idempotency.key_of(tx, request, operation)
    if key is None:
        return _result(tx, request, operation, caller)
    scope = idempotency.scope_of(request, caller, key)
    if kept := idempotency.recalled(tx, request, scope):
        return kept
    answer = _result(tx, request, operation, caller)
    idempotency.keep(tx, request, scope, answer)
    return answer


def _result(tx: Transaction, request: Request, operation: Operation, caller: Caller) -> Answer:
    arguments: list[Any] = [tx, caller]
    if operation.body is not None:
        arguments.append(forms.body_of(tx, request, operation, operation.body))
    query = {name: request.query[name] for name in operation.query if name in request.query}
    result = operation.run(*arguments, **request.path_params, **query)
    if isinstance(result, ApiError):
        return _problem(tx, request, operation, result)
    status = 201 if operation.creates and tx.gaps.success_status == "201_created" else 200
    headers = {"Cache-Control": "no-store"} if operation.no_store else {}
    return Answer(status, JSON, wire.to_json(result), headers, _payment_of(result))


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
