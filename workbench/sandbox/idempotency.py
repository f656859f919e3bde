"""Idempotency keys: the first response to a key is kept in the commit of its changes, and replayed.

A secret that is shown once is not kept, so a replayed response lacks the secret. A merchant who lost
the first response has the id from the replay, and rolls the key or secret.
"""

import hashlib
import re
from collections.abc import Mapping

from workbench.errors import ApiError, IdempotencyKeyReused, InvalidRequest, StateConflict
from workbench.sandbox.messages import Request, Response
from workbench.sandbox.operations import Operation
from workbench.sandbox.service import Caller
from workbench.sandbox.store import Transaction
from workbench.sandbox.store.rows import KeptResponse

_ERRORS = 400
_CONFLICT = 409
"""The status that is never kept, so that the same request may come again."""
_REUSED: Mapping[int, type[ApiError]] = {422: IdempotencyKeyReused, 409: StateConflict, 400: InvalidRequest}
"""Choice of `reused_key_status` → the error for a key that came with another body."""
KEY = re.compile(
    r'"((?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\["\\]){1,255})"|([\x21\x23-\x2b\x2d-\x7e][\x20-\x2b\x2d-\x7e]{0,254})'
)
"""A key in quotes (RFC 8941 §3.3.3) or bare. A bare key has no comma: servers join repeated headers with commas."""
_ESCAPED = re.compile(r"\\(.)")


def key_sent(tx: Transaction, request: Request, operation: Operation) -> str | None:
    """The idempotency key of a request, or None; also None if the operation ignores keys.

    Raises InvalidRequest: the operation requires a key and there is none, or the header is not a key.
    """
    given = request.headers.get("Idempotency-Key")
    if given is None or not operation.takes_keys:
        if operation.needs_idempotency_key and tx.gaps.idempotency_required == "charges":
            message = "The header Idempotency-Key is required, so that a repeated request does not charge twice."
            raise InvalidRequest(message, code="idempotency_key_missing", param="Idempotency-Key")
        return None
    parts = KEY.fullmatch(given)
    if parts is None:
        message = "Idempotency-Key must be one key of 1 to 255 printable ASCII characters."
        hint = "Put a key with a comma in quotes; send the header once."
        raise InvalidRequest(message, code="idempotency_key_invalid", param="Idempotency-Key", hint=hint)
    return parts[2] or _ESCAPED.sub(r"\1", parts[1])


def scope_of(request: Request, caller: Caller, key: str) -> str:
    """A key with the scope in which the key is unique, as text.

    It has five lines: account, `publishable` or else `secret`, method, path and key.
    """
    rank = "publishable" if caller.kind == "publishable" else "secret"
    return f"{caller.account}\n{rank}\n{request.method}\n{request.path}\n{key}"


def recalled(tx: Transaction, request: Request, scope: str) -> Response | None:
    """The response that is kept for a scope, marked as replayed, or None.

    Raises the error of `reused_key_status`: the key was used with another body.
    """
    kept = _kept_for(tx, scope)
    if kept is None:
        return None
    if kept.body_digest != _body_digest(request.body):
        refuse, code = _REUSED[tx.gaps.reused_key_status], IdempotencyKeyReused.default_code
        message = "This Idempotency-Key was used before with another body."
        raise refuse(message, code=code, param="Idempotency-Key", hint="Use a new key.")
    return Response(kept.status, kept.content_type, kept.body.encode(), {"Idempotent-Replayed": "true"}, kept.payment)


def keep(tx: Transaction, request: Request, scope: str, response: Response) -> None:
    """Keep the first response of a scope, except a 409, and other errors if the register keeps none."""
    if response.status == _CONFLICT or (response.status >= _ERRORS and tx.gaps.idempotency_keeps_errors == "none"):
        return
    if _kept_for(tx, scope) is not None:
        return  # the first response stays
    tx.kept_responses.add(
        KeptResponse(
            scope=scope,
            body_digest=_body_digest(request.body),
            status=response.status,
            content_type=response.content_type,
            body=(response.body if response.kept is None else response.kept).decode(),
            payment=response.payment,
            at_ms=tx.now_ms,
        )
    )


def _kept_for(tx: Transaction, scope: str) -> KeptResponse | None:
    """The response kept for a scope, or None; an expired response is deleted."""
    kept = tx.kept_responses.get(scope)
    if kept is not None and tx.now_ms >= kept.at_ms + tx.gaps.idempotency_retention_s * 1000:
        tx.kept_responses.remove(kept)
        return None
    return kept


def _body_digest(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()
