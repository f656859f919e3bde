"""The table of operations under `/sandbox`: what no real service has."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import msgspec

from workbench.domain import wire
from workbench.domain.gaps import REGISTER
from workbench.domain.moments import business_date, rfc3339
from workbench.errors import InvalidRequest, StateConflict
from workbench.sandbox import history
from workbench.sandbox.operations import BEARER, Operation
from workbench.sandbox.service import phones
from workbench.sandbox.service.caller import Caller
from workbench.sandbox.store import Transaction

_MAX_ADVANCE_S = 10 * 366 * 86_400


class Input(wire.Shown):
    """What is typed on a handset; not kept anywhere."""

    text: str

    def __repr__(self) -> str:
        return f"Input({'•' * len(self.text)})"


class Advance(wire.Shown):
    """By how much the clock moves."""

    seconds: Decimal


def clock(tx: Transaction, caller: Caller) -> dict[str, Any]:  # noqa: ARG001  one signature
    """GET /sandbox/clock."""
    return {
        "object": "clock",
        "mode": tx.clock_mode(),
        "now": rfc3339(tx.now_ms),
        "now_ms": tx.now_ms,
        "business_date": business_date(tx.now_ms),
    }


def advance(tx: Transaction, caller: Caller, body: Advance) -> int:  # noqa: ARG001  one signature
    """POST /sandbox/clock/advance: the milliseconds to move by, which is done outside of a transaction.

    Raises InvalidRequest: negative, over ten years, or finer than a millisecond.
    """
    in_bounds = body.seconds.is_finite() and 0 <= body.seconds <= _MAX_ADVANCE_S
    if not in_bounds or body.seconds * 1000 != int(body.seconds * 1000):
        raise InvalidRequest(
            f"seconds is from 0 to {_MAX_ADVANCE_S}, in whole milliseconds.", code="parameter_invalid", param="seconds"
        )
    return int(body.seconds * 1000)


def show_phone(tx: Transaction, caller: Caller, *, phone: str) -> dict[str, Any]:  # noqa: ARG001  one signature
    """GET /sandbox/phones/{phone}."""
    return phones.show(tx, phone)


def enter(tx: Transaction, caller: Caller, body: Input, *, phone: str) -> dict[str, Any] | StateConflict:  # noqa: ARG001  one signature
    """POST /sandbox/phones/{phone}/input."""
    return phones.enter(tx, phone, body.text)


def cancel(tx: Transaction, caller: Caller, *, phone: str) -> dict[str, Any] | StateConflict:  # noqa: ARG001  one signature
    """POST /sandbox/phones/{phone}/cancel."""
    return phones.press(tx, phone, "cancel")


def ignore(tx: Transaction, caller: Caller, *, phone: str) -> dict[str, Any] | StateConflict:  # noqa: ARG001  one signature
    """POST /sandbox/phones/{phone}/ignore."""
    return phones.press(tx, phone, "ignore")


def gaps(tx: Transaction, caller: Caller) -> dict[str, Any]:  # noqa: ARG001  one signature
    """GET /sandbox/gaps."""
    rows = [{**each.as_record(), "value": getattr(tx.gaps, each.name)} for each in REGISTER]
    return {"object": "list", "data": rows}


def _of_panel(
    method: str,
    path: str,
    run: Callable[..., Any],
    body: type[msgspec.Struct] | None = None,
    query: tuple[str, ...] = (),
) -> Operation:
    return Operation(method, f"/sandbox/{path}", BEARER, run, body, "sandbox", query=query, traced=False)


CLOCK = _of_panel("GET", "clock", clock)
ADVANCE = _of_panel("POST", "clock/advance", advance, Advance)

OPERATIONS: tuple[Operation, ...] = (
    CLOCK,
    ADVANCE,
    _of_panel("GET", "phones/{phone}", show_phone),
    _of_panel("POST", "phones/{phone}/input", enter, Input),
    _of_panel("POST", "phones/{phone}/cancel", cancel),
    _of_panel("POST", "phones/{phone}/ignore", ignore),
    _of_panel("GET", "ledger/accounts", history.accounts),
    _of_panel("GET", "ledger/entries", history.entries),
    _of_panel("GET", "ledger/postings", history.postings),
    _of_panel("GET", "ledger/verify", history.verify),
    _of_panel("GET", "trace", history.trace, query=("since",)),
    _of_panel("GET", "gaps", gaps),
)
