"""The calls of the trace: each exchange written down, its secrets masked before they are stored."""

from workbench.domain.masking import mask
from workbench.domain.reading import json_from
from workbench.errors import InvalidRequest
from workbench.sandbox.messages import Request, Response
from workbench.sandbox.operations import Operation
from workbench.sandbox.store import Transaction
from workbench.sandbox.store.records import Call

MAX_KEPT_TEXT = 20_000
_MAX_KEPT_ID = 80
_NOT_KEPT = "(not kept: it may hold a password)"


def write_down(
    tx: Transaction, request: Request, operation: Operation | None, response: Response, *, request_id: str, seq: int
) -> None:
    """Record an exchange at its place in the order of all that happened."""
    tx.calls.add(
        Call(
            id=request_id,
            seq=seq,
            at_ms=tx.now_ms,
            method=request.method,
            path=mask(request.target)[:MAX_KEPT_TEXT],
            payment=response.payment or _named(request),
            request_headers={name: mask(value) for name, value in request.headers.items()},
            request_body=_kept_request(request, operation),
            status=response.status,
            response_headers={"Content-Type": response.content_type, **response.headers},
            response_body=_kept_text(response.body),
        )
    )


def _named(request: Request) -> str | None:
    named = request.path_params.get("intent_id") or request.path_params.get("charge_id")
    return mask(named)[:_MAX_KEPT_ID] if named else None


def _kept_request(request: Request, operation: Operation | None) -> str:
    """The body for the trace; where it should hold a password, only in the form in which that can be found."""
    if operation is not None and not operation.schemes and request.body:
        try:
            fields = json_from(request.body)
        except InvalidRequest:
            return _NOT_KEPT
        if not isinstance(fields, dict) or any(isinstance(each, list | dict) for each in fields.values()):
            return _NOT_KEPT
    return _kept_text(request.body)


def _kept_text(body: bytes) -> str:
    return mask(body.decode("utf-8", "replace"))[:MAX_KEPT_TEXT]
