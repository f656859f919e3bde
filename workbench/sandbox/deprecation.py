"""Marks operations as deprecated, in the headers Deprecation (RFC 9745) and Sunset (RFC 8594).

A call of `/sandbox` marks an operation, to try a client's reaction; a reset forgets the marks.
"""

from email.utils import formatdate

from workbench.domain.moments import milliseconds_in, rfc3339
from workbench.domain.wire.sandbox_controls import Deprecate, Deprecated
from workbench.errors import NotFound, StateConflict
from workbench.sandbox.operations import OPERATIONS
from workbench.sandbox.service import Caller
from workbench.sandbox.store import Transaction

_SINCE, _SUNSET = "deprecated {}", "sunset {}"
"""The counters of an operation: when it is deprecated and when it is gone, in milliseconds since 1970, 0 for never."""
MARKS = "deprecations"
"""The counter of marks since the last reset: while it is 0, the marks themselves are not read."""


def deprecate(tx: Transaction, caller: Caller, body: Deprecate, *, operation_id: str) -> Deprecated:
    """POST /sandbox/operations/{operation_id}/deprecation: mark an operation as deprecated, or unmark it.

    The operation's responses and /openapi.json then say so. Raises NotFound: no such operation. Raises StateConflict:
    the operation would be gone before it is deprecated.
    """
    if operation_id not in {operation.id for operation in OPERATIONS}:
        raise NotFound(f"There is no operation {operation_id[:60]!r}.", code="operation_not_found", param="id")
    if not body.marked:
        _mark(tx, operation_id, 0, 0)
        return Deprecated(operation_id)
    since_ms = _moment_ms(body.deprecated_at, "deprecated_at") or tx.now_ms
    sunset_ms = _moment_ms(body.sunset_at, "sunset_at")
    if sunset_ms and sunset_ms < since_ms:
        message = "An operation is gone after it is deprecated, not before."
        raise StateConflict(message, code="moment_impossible", param="sunset_at")
    _mark(tx, operation_id, since_ms, sunset_ms)
    return Deprecated(operation_id, rfc3339(since_ms), rfc3339(sunset_ms) if sunset_ms else None)


def _moment_ms(moment: str | None, param: str) -> int:
    """A moment in milliseconds since 1970, 0 for None; the moment 0 itself is returned as 1."""
    return 0 if moment is None else milliseconds_in(moment, param=param) or 1


def headers(tx: Transaction, operation: str) -> dict[str, str]:
    """The headers Deprecation and Sunset of a marked operation; none if the register does not announce deprecation."""
    if not _is_shown(tx):
        return {}
    since_ms, sunset_ms = tx.last(_SINCE.format(operation)), tx.last(_SUNSET.format(operation))
    since = {"Deprecation": f"@{since_ms // 1000}"} if since_ms else {}
    return since | ({"Sunset": formatdate(sunset_ms // 1000, usegmt=True)} if sunset_ms else {})


def marked(tx: Transaction) -> frozenset[str]:
    """The ids of the operations marked as deprecated; none if the register does not announce deprecation."""
    marks = (operation.id for operation in OPERATIONS if tx.last(_SINCE.format(operation.id)))
    return frozenset(marks if _is_shown(tx) else ())


def _is_shown(tx: Transaction) -> bool:
    return bool(tx.last(MARKS)) and tx.gaps.deprecation != "none"


def forget_marks(tx: Transaction) -> None:
    """Unmark every operation."""
    if tx.last(MARKS):
        for operation in OPERATIONS:
            _mark(tx, operation.id, 0, 0)
        tx.note(MARKS, 0)


def _mark(tx: Transaction, operation: str, since_ms: int, sunset_ms: int) -> None:
    tx.count_up(MARKS)
    tx.note(_SINCE.format(operation), since_ms)
    tx.note(_SUNSET.format(operation), sunset_ms)
