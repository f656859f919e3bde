"""The trace: each call written down with its secrets masked, and what has happened read back in one order."""

from collections.abc import Iterator

from workbench.domain.masking import mask
from workbench.domain.moments import rfc3339
from workbench.domain.reading import json_from
from workbench.domain.webhooks import DEAD_LETTER
from workbench.domain.wire import TraceQuery, control
from workbench.domain.wire.trace_rows import (
    CALL,
    ENTRY,
    SCREEN,
    WEBHOOK,
    TracedCall,
    TracedEntry,
    TracedPosting,
    TracedRequest,
    TracedResponse,
    TracedScreen,
    TracedWebhook,
    TraceRow,
)
from workbench.errors import InvalidRequest
from workbench.sandbox.messages import Request, Response
from workbench.sandbox.operations import Operation
from workbench.sandbox.service.lists import Caller
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


def trace(tx: Transaction, caller: Caller, *, query: TraceQuery) -> control.Rows[TraceRow]:  # noqa: ARG001  one signature
    """GET /sandbox/trace: calls, screens, entries and webhooks after a `seq`, in order."""
    after = query.since
    rows = [*_calls(tx, after), *_screens(tx, after), *_entries(tx, after), *_webhooks(tx, after)]
    return control.Rows(sorted(rows, key=lambda row: row.seq))


def _calls(tx: Transaction, after: int) -> Iterator[TraceRow]:
    for each in tx.calls.after(after):
        what = f"{each.method} {each.path}"
        request = TracedRequest(each.request_headers, each.request_body)
        response = TracedResponse(each.status, each.response_headers, each.response_body)
        detail = TracedCall(request, response, what)
        yield _row(each.seq, each.at_ms, CALL, each.payment, what, str(each.status), detail)


def _screens(tx: Transaction, after: int) -> Iterator[TraceRow]:
    for each in tx.screens.after(after):
        what = " / ".join(each.words.split("\n"))
        pressed = f"pressed {each.pressed}" if each.pressed else "prompt"
        detail = TracedScreen(mask(each.phone), each.pressed, mask(each.words))
        yield _row(each.seq, each.at_ms, SCREEN, _payment(tx, each.charge), what, pressed, detail)


def _entries(tx: Transaction, after: int) -> Iterator[TraceRow]:
    for each in tx.journal.entries(after_seq=after):
        lines = [TracedPosting(line.side, line.account, line.amount_minor, line.currency) for line in each.postings]
        yield _row(each.seq, each.recorded_ms, ENTRY, each.payment, each.description, each.kind, TracedEntry(lines))


def _webhooks(tx: Transaction, after: int) -> Iterator[TraceRow]:
    for each in tx.attempts.after(after):
        delivery = tx.deliveries.get(each.delivery)
        event = tx.events.get(delivery.event) if delivery else None
        if delivery is None or event is None:
            continue
        result = str(each.status_code) if each.status_code else "no answer"
        if each.number > 1:
            result += f", attempt {each.number}"
        if delivery.status == DEAD_LETTER and each.number == delivery.attempts:
            result += ", dead letter"
        detail = TracedWebhook(
            event=event.id,
            endpoint=delivery.endpoint,
            delivery=delivery.id,
            headers=each.headers,
            body=mask(event.body),
            answer=each.answer,
            fault=each.fault,
        )
        yield _row(each.seq, each.at_ms, WEBHOOK, _payment(tx, event.object_id), event.type, result, detail)


def _payment(tx: Transaction, object_id: str) -> str:
    """What a charge, refund or event is about: the intent, where there is one, else the charge."""
    refund = tx.refunds.get(object_id)
    charge = tx.charges.get(refund.charge if refund else object_id)
    return (charge.payment_intent or charge.id) if charge else object_id


def _row(  # noqa: PLR0913, PLR0917  the columns of a trace
    seq: int, at_ms: int, kind: str, payment: str | None, what: str, result: str, detail: control.OfSandbox
) -> TraceRow:
    # A merchant's own texts stand on screens and in entries: a description may hold a key.
    return TraceRow(seq, rfc3339(at_ms), kind, payment, mask(what), result, detail)
