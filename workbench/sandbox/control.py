"""The table of operations under `/sandbox`: what no real service has."""

import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from msgspec import UNSET

from workbench.domain import wire
from workbench.domain.moments import business_date, rfc3339
from workbench.domain.wire import control as shapes
from workbench.errors import InvalidRequest, StateConflict
from workbench.sandbox import deprecation, looking, rate_limit, trace
from workbench.sandbox.operations import BEARER, Operation
from workbench.sandbox.service import (
    attempts,
    charges,
    checks,
    endpoints,
    keys,
    ledger_pages,
    phones,
    settling,
    suspense,
)
from workbench.sandbox.service.lists import Caller
from workbench.sandbox.store import Transaction

_SIMULATION = re.compile("[0-9A-Za-z]{1,40}")
_UNITS_MS = {"minutes": 60_000, "hours": 3_600_000, "days": 86_400_000}


def clock(tx: Transaction, caller: Caller) -> shapes.Clock:
    """GET /sandbox/clock: the clock's time and kind."""
    return shapes.Clock(
        mode=tx.clock_mode(),
        now=rfc3339(tx.now_ms),
        now_ms=tx.now_ms,
        business_date=business_date(tx.now_ms),
        seq=tx.last("seq"),
    )


def advance(tx: Transaction, caller: Caller, body: shapes.Advance) -> int:
    """POST /sandbox/clock/advance: advance the clock, up to the end of 2099; everything that falls due happens.

    Returns the milliseconds to advance by; the driver advances outside of a transaction.
    Raises InvalidRequest: no unit is named, or one negative, over ten years, or finer than a millisecond.
    Raises StateConflict: it would be later than any moment that a request can name.
    """
    moved = {name: each for name in body.__struct_fields__ if (each := getattr(body, name)) is not UNSET}
    if not moved:
        message = f"Say by how much, in one or several of {', '.join(body.__struct_fields__)}."
        raise InvalidRequest(message, code="parameter_missing", param="seconds")
    seconds_ms = checks.whole_ms(moved.pop("seconds", Decimal()), shapes.MAX_ADVANCE_S)
    by_ms = seconds_ms + sum(_UNITS_MS[name] * int(each) for name, each in moved.items())
    if by_ms and tx.now_ms + by_ms > shapes.MAX_AT_MS:
        message = f"The clock is at {rfc3339(tx.now_ms)} and goes up to {rfc3339(shapes.MAX_AT_MS)}."
        raise StateConflict(message, code="moment_impossible")
    return by_ms


def gaps(tx: Transaction, caller: Caller) -> shapes.Rows[dict[str, Any]]:
    """GET /sandbox/gaps: the register of what the interface leaves open, with the values in force."""
    return shapes.Rows(tx.gaps.as_records())


def ask_operator(tx: Transaction, caller: Caller, body: shapes.OperatorQuery) -> wire.Charge:
    """POST /sandbox/operator/query: ask the operator for the outcome of a charge that it never reported."""
    return attempts.settled_by_query(tx, charges.found(tx, caller, body.charge, param="charge"))


def reset(tx: Transaction, caller: Caller) -> shapes.WasReset:
    """POST /sandbox/reset: delete all payments, events and entries; keys, endpoints and clock stay.

    This is for every account of the sandbox, so one call restarts a test with several merchants.
    """
    tx.forget()
    rate_limit.forget(tx)
    deprecation.forget(tx)
    return shapes.WasReset([each.id for each in tx.endpoints.all(account=caller.account, status="enabled")])


def simulate(tx: Transaction, caller: Caller, body: shapes.Simulate) -> shapes.Simulated:
    """POST /sandbox/simulation: run the commands of a simulated month at their moments, for at most a second.

    Each is one commit, and what falls due before it happens first. The response tells from where to go on: those that
    are done already are not done again. Raises StateConflict: the cursor is ahead of what is done. Raises
    InvalidRequest: too many commands, one that there is not, or a simulation without a name.
    """
    if not _SIMULATION.fullmatch(body.simulation):
        raise InvalidRequest("simulation is 1 to 40 letters and digits.", code="parameter_invalid", param="simulation")
    unknown = {each.what for each in body.commands} - {*shapes.SIMULATED}
    if unknown or len(body.commands) > shapes.MAX_COMMANDS:
        message = f"commands are at most {shapes.MAX_COMMANDS}, each one of {', '.join(shapes.SIMULATED)}."
        raise InvalidRequest(message, code="parameter_invalid", param="commands")
    done = tx.last(counted(body))
    if body.cursor > done:
        message = f"{done} commands of this simulation are done, which is before the cursor."
        raise StateConflict(message, code="cursor_ahead", param="cursor", current=str(done))
    return shapes.Simulated(body.simulation, cursor=done, done=done - body.cursor)


def counted(body: shapes.Simulate) -> str:
    """The counter of the commands of a simulation."""
    return f"simulated {body.simulation}"


def _row(method: str, path: str, run: Callable[..., Any], response: Any, **more: Any) -> Operation:  # noqa: ANN401  a type, generic ones too, and the columns that differ
    """A row; the operation is named for the function that it runs."""
    named = "sandbox" + "".join(word.capitalize() for word in run.__name__.split("_"))
    return Operation(named, method, f"/sandbox/{path}", BEARER, run, response, "sandbox", traced=False, **more)


CLOCK = _row("GET", "clock", clock, shapes.Clock)
ADVANCE = _row("POST", "clock/advance", advance, shapes.Clock, body=shapes.Advance, refuses=(409,))
SIMULATE = _row(
    "POST", "simulation", simulate, shapes.Simulated, body=shapes.Simulate, refuses=(404, 409), untraced_id="sim"
)

# fmt: off
OPERATIONS: tuple[Operation, ...] = (
    CLOCK,
    ADVANCE,
    _row("GET", "phones/{phone}", phones.show_phone, shapes.Handset),
    _row("GET", "phones/{phone}/messages", phones.read_messages, shapes.Rows[shapes.Message]),
    _row("POST", "phones/{phone}/input", phones.enter, shapes.Handset, body=shapes.Input, refuses=(409,)),
    _row("POST", "phones/{phone}/cancel", phones.cancel, shapes.Handset, refuses=(409,)),
    _row("POST", "phones/{phone}/ignore", phones.ignore, shapes.Handset, refuses=(409,)),
    _row("GET", "operator", attempts.operators, shapes.Rows[shapes.OperatorState]),
    _row("POST", "operator/script", attempts.script, shapes.Scripted, body=shapes.Script),
    _row("POST", "operator/outage", attempts.outage, shapes.OperatorState, body=shapes.Outage),
    _row("POST", "operator/query", ask_operator, wire.Charge, body=shapes.OperatorQuery, refuses=(404, 409)),
    _row("POST", "operations/{operation_id}/deprecation", deprecation.deprecate, shapes.Deprecated,
         body=shapes.Deprecate, body_optional=True, refuses=(409,)),
    _row("POST", "accounts", keys.new_account, shapes.NewAccountKeys, body=shapes.NewAccount, no_store=True),
    _row("GET", "webhook_endpoints", endpoints.endpoints_faults, shapes.Rows[shapes.FaultyEndpoint]),
    _row("POST", "webhook_endpoints/{endpoint_id}/faults", endpoints.delivery_faults, shapes.FaultyEndpoint,
         body=shapes.DeliveryFaults),
    _row("GET", "ledger/accounts", ledger_pages.accounts, shapes.Rows[shapes.LedgerAccount], query=wire.BalancesQuery),
    _row("GET", "ledger/entries", ledger_pages.entries, shapes.Page[shapes.LedgerEntry], query=wire.EntriesQuery),
    _row("POST", "ledger/entries", ledger_pages.settle, shapes.LedgerEntry, body=shapes.Settle, refuses=(404, 409)),
    _row("POST", "ledger/entries/{entry_id}/repeat", ledger_pages.repeat, shapes.LedgerEntry, refuses=(409,)),
    _row("GET", "ledger/postings", ledger_pages.postings, shapes.Page[shapes.LedgerPosting], query=wire.EntriesQuery),
    _row("GET", "ledger/movements", ledger_pages.movements, shapes.Page[shapes.LedgerMovement],
         query=wire.MovementsQuery),
    _row("GET", "ledger/verify", ledger_pages.verify, shapes.LedgerVerified),
    _row("GET", "suspense", suspense.list_suspense, shapes.Rows[wire.Suspense], query=wire.SuspenseQuery),
    _row("POST", "suspense/{item}/settle", settling.settle_suspense, wire.Suspense, body=shapes.SettleSuspense,
         refuses=(404, 409)),
    _row("GET", "payments", looking.payments, shapes.Found[shapes.Payment], query=wire.PaymentsQuery),
    _row("GET", "payments/{payment_id}", looking.payment, wire.PaymentDetails),
    _row("GET", "requests", looking.requests, shapes.Found[shapes.LoggedRequest], query=wire.RequestsQuery),
    _row("GET", "requests/{request_id}", looking.request, wire.TraceRow),
    _row("GET", "trace", trace.trace, wire.TracePage, query=wire.TraceQuery),
    _row("GET", "gaps", gaps, shapes.Rows[dict[str, Any]]),
    SIMULATE,
    _row("POST", "reset", reset, shapes.WasReset),
)
# fmt: on
