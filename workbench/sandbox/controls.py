"""The operations under `/sandbox`, which no real service has; the clock, and the dashboard's searches."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from itertools import chain
from types import UnionType
from typing import Any, Final, TypeVar, get_args

from msgspec import UNSET, to_builtins
from msgspec.structs import asdict, replace

from workbench.domain.ledger import JournalEntry
from workbench.domain.masking import mask
from workbench.domain.moments import business_date, milliseconds_in, rfc3339
from workbench.domain.phones import mask_phone
from workbench.domain.webhooks import DEAD_LETTER, DROPPED, Attempt
from workbench.domain.wire import ledger_and_trace as traced
from workbench.domain.wire import sandbox_controls as wire
from workbench.domain.wire.base import MAX_AT_MS, FindQuery, Found, OfSandbox, Rows
from workbench.domain.wire.ledger_and_trace import TracePage, TraceQuery, TraceRow
from workbench.errors import InvalidRequest, NotFound, StateConflict, invalid
from workbench.sandbox import exchange, operations, service
from workbench.sandbox.operations import BEARER, Operation
from workbench.sandbox.provenance import relied_on
from workbench.sandbox.service import Caller, accounts, balances, books, check_known, handsets, view_of, webhooks
from workbench.sandbox.store import Transaction
from workbench.sandbox.store.journal import Journal
from workbench.sandbox.store.rows import Condition, Screen, StoredCall, StoredPayment, calls_named, payments_named
from workbench.sandbox.store.transaction import Filters, R, Table
from workbench.text.diagram import step_of
from workbench.text.snippets import snippet_of

W = TypeVar("W")
_SIMULATION: Final = re.compile("[0-9A-Za-z]{1,40}")
_UNITS_MS: Final = {"minutes": 60_000, "hours": 3_600_000, "days": 86_400_000}
_MAX_STATUS: Final = 99
_MOST_CHANGES: Final = 500
"""The most rows that are read for a page of changes."""


def clock(tx: Transaction, caller: Caller) -> wire.Clock:
    """GET /sandbox/clock: the clock's time and mode."""
    return wire.Clock(
        mode=tx.clock_mode(),
        now=rfc3339(tx.now_ms),
        now_ms=tx.now_ms,
        business_date=business_date(tx.now_ms),
        seq=tx.last("seq"),
    )


def advance(tx: Transaction, caller: Caller, body: wire.Advance) -> int:
    """POST /sandbox/clock/advance: advance the clock, up to the end of 2099; everything that falls due happens.

    Returns the milliseconds to advance by; the driver advances outside of a transaction.
    Raises InvalidRequest: no unit is named, or a value is negative, over ten years, or finer than a millisecond.
    Raises StateConflict: the clock would pass the end of 2099.
    """
    units = {name: value for name in body.__struct_fields__ if (value := getattr(body, name)) is not UNSET}
    if not units:
        message = f"Say by how much, in one or several of {', '.join(body.__struct_fields__)}."
        raise InvalidRequest(message, code="parameter_missing", param="seconds")
    seconds_ms = service.whole_ms(units.pop("seconds", Decimal()), wire.MAX_ADVANCE_S)
    by_ms = seconds_ms + sum(_UNITS_MS[name] * int(value) for name, value in units.items())
    if by_ms and tx.now_ms + by_ms > MAX_AT_MS:
        message = f"The clock is at {rfc3339(tx.now_ms)} and goes up to {rfc3339(MAX_AT_MS)}."
        raise StateConflict(message, code="moment_impossible")
    return by_ms


def changes(tx: Transaction, caller: Caller, *, query: wire.ChangesQuery) -> wire.Changes:
    """GET /sandbox/changes: what changed after a `seq`, in order, each object once; without `after`, from now on.

    To a client that accepts `text/event-stream`, a served sandbox sends the same rows as Server-Sent Events as they
    occur: one message for each row, whose id is the row's `seq`. `Last-Event-ID` continues from there. After a reset,
    an event `reset` is sent.
    """
    # Every change but the clock's has a row with a `seq`, which is read here. A stream repeats this read.
    last = tx.last("seq")
    after = last if query.after is None else query.after
    if not tx.last("reset") <= after <= last:
        return wire.Changes([], last, reset=True)
    changed, latest = tx.changed(after, _MOST_CHANGES + 1), dict[tuple[str, str], int]()
    for seq, kind, name, about in changed[:_MOST_CHANGES]:
        payment = payment_of(tx, about or "")
        for change in (kind, name), ("payment" if payment.startswith(("pi_", "ch_")) else "", payment):
            if change[0]:
                latest.pop(change, None)
                latest[change] = seq
    rows = [wire.Change(seq, *change) for change, seq in latest.items()]
    if len(changed) > _MOST_CHANGES:
        return wire.Changes(rows, changed[_MOST_CHANGES - 1][0], has_more=True)
    # The clock moves without a `seq`: its change is repeated until the next thing happens.
    if query.after is not None and tx.last("moved") >= after:
        rows.append(wire.Change(last, "clock", "clock"))
    return wire.Changes(rows, last)


def read_register(tx: Transaction, caller: Caller) -> Rows[dict[str, Any]]:
    """GET /sandbox/gaps: the register of what the interface leaves open, with the current values."""
    return Rows(tx.gaps.as_records())


def gaps_used(tx: Transaction, caller: Caller) -> Rows[wire.ReliedRow]:
    """GET /sandbox/gaps/used: the rows of the register on which calls and events since the last reset have relied."""
    return Rows([wire.ReliedRow(name, used_by) for name, used_by in relied_on(whole_trace(tx, caller)).items()])


def whole_trace(tx: Transaction, caller: Caller) -> Iterator[TraceRow]:
    """The rows of GET /sandbox/trace since the last reset, in the form that goes over the wire."""
    page = TracePage([], has_more=True)
    while page.has_more:
        since = page.data[-1].seq if page.data else 0
        page = trace(tx, caller, query=TraceQuery(since=since))
        yield from (replace(row, detail=to_builtins(row.detail)) for row in page.data)


def scenarios(tx: Transaction, caller: Caller) -> wire.OfferedScenarios:
    """GET /sandbox/scenarios: the scenarios that a payment can be given, and the operators to pay through."""
    return wire.OfferedScenarios.from_register(tx.gaps)


def reset(tx: Transaction, caller: Caller) -> wire.WasReset:
    """POST /sandbox/reset: delete all payments, events and entries; keys, endpoints and clock stay.

    A reset covers every account of the sandbox, so one call restarts a test with several merchants.
    """
    tx.forget()
    exchange.forget_calls(tx)
    operations.forget_marks(tx)
    return wire.WasReset([endpoint.id for endpoint in tx.endpoints.all(account=caller.account, status="enabled")])


def run_simulation(tx: Transaction, caller: Caller, body: wire.Simulate) -> wire.Simulated:
    """POST /sandbox/simulation: run the commands of a simulated month at their moments, for at most a second.

    What falls due before a command happens first. The response has the number of commands that are done, and the cursor
    for the next call; a command that is sent again is not run again. Raises StateConflict: the cursor is ahead of what
    is done. Raises InvalidRequest: too many commands, an unknown command, or a simulation without a name.
    """
    if not _SIMULATION.fullmatch(body.simulation):
        raise invalid("simulation is 1 to 40 letters and digits.", "simulation")
    unknown = {command.what for command in body.commands} - {*wire.SIMULATED}
    if unknown or len(body.commands) > wire.MAX_COMMANDS:
        raise invalid(f"commands are at most {wire.MAX_COMMANDS}, each one of {', '.join(wire.SIMULATED)}.", "commands")
    done = tx.last(counter_of(body))
    if body.cursor > done:
        message = f"{done} commands of this simulation are done, which is before the cursor."
        raise StateConflict(message, code="cursor_ahead", param="cursor", current=str(done))
    return wire.Simulated(body.simulation, cursor=done, done=done - body.cursor)


def counter_of(body: wire.Simulate) -> str:
    """The name of the counter that counts the finished commands of a simulation."""
    return f"simulated {body.simulation}"


def payments(tx: Transaction, caller: Caller, *, query: wire.PaymentsQuery) -> Found[wire.Payment]:
    """GET /sandbox/payments: search the intents, and the charges without an intent, newest first."""
    states = tuple(query.status.split(",")) if query.status else ()
    check_known(states, wire.PAYMENT_STATES, "is no state of a payment; they are", param="status")
    also = _time_conditions(query, "created_ms")
    if query.search is not None:
        also.append(payments_named(query.search))
    for sign, bound in ((">=", query.min_minor), ("<=", query.max_minor)):
        also += [] if bound is None else [Condition(f"amount_minor {sign} ?", (bound,))]
    equals = {"account": caller.account, "state": states or None, "provider": query.provider or None}
    return _found_page(tx.payments, query, _payment_view, also, **equals)


def payment(tx: Transaction, caller: Caller, *, payment_id: str) -> wire.PaymentDetails:
    """GET /sandbox/payments/{payment_id}: a payment, its events, their deliveries, and its rows in the trace."""
    kept = tx.payments.first(id=payment_id, account=caller.account)
    if kept is None:
        raise NotFound(f"There is no payment {payment_id[:60]!r}.", code="payment_not_found", param="id")
    ids = events_of(tx, kept.id)
    rows = rows_of_payment(tx, kept.id, ids)
    return wire.PaymentDetails(
        payment=_payment_view(kept),
        events=[wire.PaymentEvent(event.id, event.type, event.created_ms // 1000) for event in tx.events.all(id=ids)],
        deliveries=webhooks.deliveries_of(tx, ids),
        trace=rows,
        steps=[step_of(asdict(row)) for row in rows],
    )


def requests(tx: Transaction, caller: Caller, *, query: wire.RequestsQuery) -> Found[wire.LoggedRequest]:
    """GET /sandbox/requests: search the requests to the service, newest first."""
    also = _time_conditions(query, "at_ms")
    if query.search is not None:
        also.append(calls_named(query.search))
    if query.status is not None:
        first = query.status * 100
        also.append(Condition("status BETWEEN ? AND ?", (first, first + _MAX_STATUS)))
    return _found_page(tx.calls, query, _request_view, also, method=query.method or None)


def request(tx: Transaction, caller: Caller, *, request_id: str) -> TraceRow:
    """GET /sandbox/requests/{request_id}: a request and its response, masked."""
    kept = tx.calls.get(request_id)
    if kept is None:
        raise NotFound(f"No request {request_id[:60]!r} was kept.", code="request_not_found", param="id")
    return call(kept)


def show_code(tx: Transaction, caller: Caller, *, request_id: str, query: wire.CodeQuery) -> wire.Code:
    """GET /sandbox/requests/{request_id}/code: a request as curl, Python and JavaScript, without keys."""
    same = snippet_of(request(tx, caller, request_id=request_id).detail, query.base_url)
    return wire.Code(same.curl, same.python, same.javascript)


def _time_conditions(query: FindQuery, column: str) -> list[Condition]:
    edges = ((">=", "since", query.since), ("<", "until", query.until))
    return [
        Condition(f"{column} {sign} ?", (milliseconds_in(text, param=name),))
        for sign, name, text in edges
        if text is not None
    ]


def _found_page(
    table: Table[R], query: FindQuery, view: Callable[[R], W], also: Sequence[Condition], **equals: Filters
) -> Found[W]:
    """A page of the rows that meet `also` and `equals`, as their `view`, with the first row's number and the total.

    The page begins after the row whose `seq` is `query.older_than`, so new rows do not shift it.
    """
    equals = service.asked_for(equals)
    total = older = table.count(also, **equals)
    if query.older_than is not None:
        older = table.count([*also, Condition("seq < ?", (query.older_than,))], **equals)
    # If there is none, the rows are not searched: an index is enough to count.
    rows = table.page(query.limit, older_than=query.older_than, newer_than=None, also=also, **equals) if older else []
    return Found([view(row) for row in rows], total - older + 1, total)


def _payment_view(kept: StoredPayment) -> wire.Payment:
    phone = mask_phone(kept.phone) if kept.phone else None
    return view_of(wire.Payment, kept, phone=phone)


def _request_view(kept: StoredCall) -> wire.LoggedRequest:
    headers = {name.lower(): value for name, value in kept.request_headers.items()}
    key, idempotency_key = headers.get("authorization", ""), headers.get("idempotency-key")
    return view_of(wire.LoggedRequest, kept, at=rfc3339(kept.at_ms), key=key, idempotency_key=idempotency_key)


_KINDS: Mapping[type[OfSandbox], str] = {detail: kind for kind, detail in traced.DETAILS.items()}


def trace(tx: Transaction, caller: Caller, *, query: TraceQuery) -> TracePage:
    """GET /sandbox/trace: calls, screens, entries and webhooks after a `seq`, in order, as a page.

    Raises InvalidRequest: no such kind.
    """
    kinds = tuple(query.kind.split(",")) if query.kind else traced.KINDS
    check_known(kinds, traced.KINDS, "is no kind of row; they are", param="kind")
    is_latest, most = query.latest is not None, query.latest or query.limit
    if query.payment is not None:
        about = payment_of(tx, query.payment)
        rows = rows_of_payment(tx, about, events_of(tx, about))
        rows = [row for row in rows if row.kind in kinds and row.seq > query.since]
        end = max(0, len(rows) - query.skip)
        page = rows[max(0, end - most) : end] if is_latest else rows[query.skip :][:most]
        return TracePage(page, len(rows) > query.skip + most, len(rows) if is_latest else None)
    every_table: Mapping[str, Table[Any] | Journal] = {
        traced.CALL: tx.calls, traced.SCREEN: tx.screens, traced.ENTRY: tx.journal, traced.WEBHOOK: tx.attempts,
    }  # fmt: skip
    tables = {kind: every_table[kind] for kind in traced.KINDS if kind in kinds}
    # One row more than asked for shows that there are more.
    places = tx.places([table.name for table in tables.values()], query.since, most + 1, query.skip, latest=is_latest)
    total = sum(table.count() for table in tables.values()) if is_latest else None
    shown = places[-most:] if is_latest else places[:most]
    if not shown:
        return TracePage([], total=total)
    read: dict[str, Any] = {kind: table.between(shown[0], shown[-1]) for kind, table in tables.items()}
    return TracePage(_in_order(tx, *(read.get(kind, ()) for kind in traced.KINDS)), len(places) > most, total)


def events_of(tx: Transaction, payment: str) -> tuple[str, ...]:
    """The ids of the events about a payment, given by its intent, or by a charge or payout without one."""
    charges = _ids(tx.charges.all(payment_intent=payment)) or (payment,)
    entries = _ids(tx.journal.of_payment(payment))
    return _ids(tx.events.all(object_id=(payment, *charges, *_ids(tx.refunds.all(charge=charges)), *entries)))


def rows_of_payment(tx: Transaction, payment: str, events: Sequence[str]) -> list[TraceRow]:
    """The trace rows of one payment, in order, including delivery attempts of its `events`, given by their ids."""
    charges = _ids(tx.charges.all(payment_intent=payment)) or (payment,)
    sessions = _ids(tx.sessions.all(charge=charges))
    deliveries = _ids(tx.deliveries.all(event=tuple(events)))
    return _in_order(tx, tx.calls.all(payment=(payment, *charges)), tx.screens.all(session=sessions),
                     tx.journal.of_payment(payment), tx.attempts.all(delivery=deliveries))  # fmt: skip


def _ids(records: Iterable[Any]) -> tuple[str, ...]:
    return tuple(record.id for record in records)


def _in_order(
    tx: Transaction,
    calls: Iterable[StoredCall],
    screens: Iterable[Screen],
    entries: Iterable[JournalEntry],
    attempts: Iterable[Attempt],
) -> list[TraceRow]:
    rows = (map(call, calls), _screen_rows(tx, screens), _entry_rows(entries), _webhook_rows(tx, attempts))
    return sorted(chain.from_iterable(rows), key=lambda row: row.seq)


def call(kept: StoredCall) -> TraceRow:
    """The trace row of a call."""
    what = f"{kept.method} {kept.path}"
    request = traced.TracedRequest(kept.request_headers, kept.request_body)
    response = traced.TracedResponse(kept.status, kept.response_headers, kept.response_body)
    detail = traced.TracedCall(request, response, what)
    return _trace_row(kept.seq, kept.at_ms, kept.payment, what, str(kept.status), detail)


def _screen_rows(tx: Transaction, screens: Iterable[Screen]) -> Iterator[TraceRow]:
    for screen in screens:
        words = mask(screen.words)
        pressed = f"pressed {screen.pressed}" if screen.pressed else "prompt"
        detail = traced.TracedScreen(mask_phone(screen.phone), screen.pressed, words)
        yield _trace_row(
            screen.seq, screen.at_ms, payment_of(tx, screen.charge), " / ".join(words.split("\n")), pressed, detail
        )


def _entry_rows(entries: Iterable[JournalEntry]) -> Iterator[TraceRow]:
    for entry in entries:
        lines = [
            traced.TracedPosting(posting.side, posting.account, posting.amount_minor, posting.currency)
            for posting in entry.postings
        ]
        detail = traced.TracedEntry(lines)
        # A merchant's own texts stand on screens and in entries: a description may hold a key.
        yield _trace_row(entry.seq, entry.recorded_ms, entry.payment, mask(entry.description), entry.kind, detail)


def _webhook_rows(tx: Transaction, attempts: Iterable[Attempt]) -> Iterator[TraceRow]:
    attempts = [*attempts]
    deliveries = {row.id: row for row in tx.deliveries.all(id=tuple({row.delivery for row in attempts}))}
    events = {row.id: row for row in tx.events.all(id=tuple({row.event for row in deliveries.values()}))}
    for attempt in attempts:
        delivery = deliveries[attempt.delivery]
        event = events[delivery.event]
        result = str(attempt.status_code) if attempt.status_code else "no answer"
        if attempt.number > 1:
            result += f", attempt {attempt.number}"
        if delivery.status in (DEAD_LETTER, DROPPED) and attempt.number == delivery.attempts:
            result += ", dead letter"
        detail = traced.TracedWebhook(
            event.id, delivery.endpoint, delivery.id, attempt.headers, mask(event.body), attempt.answer, attempt.fault
        )
        yield _trace_row(attempt.seq, attempt.at_ms, payment_of(tx, event.object_id), event.type, result, detail)


def payment_of(tx: Transaction, object_id: str) -> str:
    """The intent of a charge, refund or late money, else the charge; any other id is returned unchanged."""
    if object_id.startswith("je_") and (late := tx.journal.get(object_id)) and late.payment:
        return late.payment
    refund = tx.refunds.get(object_id) if object_id.startswith("re_") else None
    charge = None if object_id.startswith("pi_") else tx.charges.get(refund.charge if refund else object_id)
    return (charge.payment_intent or charge.id) if charge else object_id


def _trace_row(seq: int, at_ms: int, payment: str | None, what: str, result: str, detail: OfSandbox) -> TraceRow:
    return TraceRow(seq, rfc3339(at_ms), _KINDS[type(detail)], payment, what, result, detail)


def _control(method: str, path: str, run: Callable[..., object], **more: object) -> Operation:
    """The table row of an operation. Its query, body and response, and by default its id, come from the function `run`.

    `more` has further columns of the row, or replaces the id or the response.
    """
    signature = {"query": None, "body": None, **run.__annotations__}
    columns: dict[str, Any] = {
        "id": "sandbox" + "".join(word.capitalize() for word in run.__name__.split("_")),
        "source": "sandbox",
        "schemes": BEARER,
        "traced": False,
        "query": signature["query"],
        "body": signature["body"],
        "response": signature["return"],
        **more,
    }
    if isinstance(columns["response"], UnionType):  # beside the response stands ApiError
        columns["response"] = get_args(columns["response"])[0]
    return Operation(method=method, path=f"/sandbox/{path}", run=run, **columns)


CLOCK = _control("GET", "clock", clock)
RESET = _control("POST", "reset", reset)
CHANGES = _control("GET", "changes", changes)
ADVANCE = _control("POST", "clock/advance", advance, response=wire.Clock, refuses=(409,))
SIMULATE = _control("POST", "simulation", run_simulation, id="sandboxSimulate", refuses=(404, 409), untraced_id="sim")

# fmt: off
OPERATIONS: tuple[Operation, ...] = (
    CLOCK,
    ADVANCE,
    CHANGES,
    _control("GET", "phones", handsets.list_phones),
    _control("GET", "phones/{phone}", handsets.show_phone),
    _control("GET", "phones/{phone}/messages", handsets.read_messages),
    _control("POST", "phones/{phone}/input", handsets.enter, refuses=(409,)),
    _control("POST", "phones/{phone}/cancel", handsets.cancel, refuses=(409,)),
    _control("POST", "phones/{phone}/ignore", handsets.ignore, refuses=(409,)),
    _control("GET", "operator", handsets.operators),
    _control("POST", "operator/script", handsets.script),
    _control("POST", "operator/outage", handsets.outage),
    _control("POST", "operator/query", handsets.ask_operator, refuses=(404, 409)),
    _control("POST", "operations/{operation_id}/deprecation", operations.deprecate,
             body_optional=True, refuses=(409,)),
    _control("GET", "keys", accounts.show_keys, no_store=True),
    _control("POST", "accounts", accounts.new_account, no_store=True),
    _control("GET", "webhook_endpoints", webhooks.endpoints_faults),
    _control("POST", "webhook_endpoints/{endpoint_id}/faults", webhooks.delivery_faults),
    _control("POST", "sign", webhooks.sign, refuses=(404,)),
    _control("GET", "ledger/accounts", books.ledger_accounts, id="sandboxAccounts"),
    _control("GET", "ledger/entries", books.entries),
    _control("POST", "ledger/entries", books.settle, refuses=(404, 409)),
    _control("POST", "ledger/entries/{entry_id}/repeat", books.repeat, refuses=(409,)),
    _control("GET", "ledger/postings", books.postings),
    _control("GET", "ledger/movements", books.movements),
    _control("GET", "ledger/verify", books.verify_ledger, id="sandboxVerify"),
    _control("GET", "suspense", balances.list_suspense),
    _control("POST", "suspense/{item}/settle", books.settle_suspense, refuses=(404, 409)),
    _control("GET", "payments", payments),
    _control("GET", "payments/{payment_id}", payment),
    _control("GET", "requests", requests),
    _control("GET", "requests/{request_id}", request),
    _control("GET", "requests/{request_id}/code", show_code),
    _control("GET", "trace", trace),
    _control("GET", "scenarios", scenarios),
    _control("GET", "gaps", read_register, id="sandboxGaps"),
    _control("GET", "gaps/used", gaps_used),
    SIMULATE,
    RESET,
)
# fmt: on
