"""The trace: each call written down with its secrets masked, and what has happened read back in one order."""

from collections.abc import Iterator, Mapping
from functools import lru_cache

from workbench.domain.masking import mask, mask_beginning, mask_values
from workbench.domain.moments import rfc3339
from workbench.domain.reading import json_from
from workbench.domain.webhooks import DEAD_LETTER
from workbench.domain.wire import TraceQuery, TraceRow, control
from workbench.domain.wire import trace_rows as rows
from workbench.errors import InvalidRequest
from workbench.sandbox.messages import Request, Response
from workbench.sandbox.operations import Operation
from workbench.sandbox.service.lists import Caller
from workbench.sandbox.store import Transaction
from workbench.sandbox.store.records import Call

MAX_KEPT_TEXT = 20_000
_MAX_KEPT_ID = 80
_KINDS: Mapping[type[control.OfSandbox], str] = {
    rows.TracedCall: rows.CALL, rows.TracedScreen: rows.SCREEN, rows.TracedEntry: rows.ENTRY,
    rows.TracedWebhook: rows.WEBHOOK,
}  # fmt: skip
_NOT_KEPT = "(not kept: it may hold a password)"


def write_down(
    tx: Transaction, request: Request, operation: Operation | None, response: Response, *, request_id: str, seq: int
) -> None:
    """Record an exchange at its place in the order of all that happened."""
    named = request.path_params.get("intent_id") or request.path_params.get("charge_id")
    tx.trace(
        Call(
            id=request_id,
            seq=seq,
            at_ms=tx.now_ms,
            method=request.method,
            path=mask(request.target)[:MAX_KEPT_TEXT],
            payment=response.payment or (mask(named)[:_MAX_KEPT_ID] if named else None),
            request_headers={name: _kept_header(value) for name, value in request.headers.items()},
            request_body=_kept_request(request, operation),
            status=response.status,
            response_headers={"Content-Type": response.content_type, **response.headers},
            response_body=_kept_text(response.body),
        )
    )


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


@lru_cache(maxsize=64)
def _kept_header(value: str) -> str:
    """A header's value masked; most come again with every call."""
    return mask_values({"": value})[""]


def _kept_text(body: bytes) -> str:
    return mask_beginning(body.decode("utf-8", "replace"), MAX_KEPT_TEXT)


def trace(tx: Transaction, caller: Caller, *, query: TraceQuery) -> control.Rows[TraceRow]:  # noqa: ARG001  one signature
    """GET /sandbox/trace: calls, screens, entries and webhooks after a `seq`, in order."""
    found = [row for read in (_calls, _screens, _entries, _webhooks) for row in read(tx, query.since)]
    return control.Rows(sorted(found, key=lambda row: row.seq))


def _calls(tx: Transaction, after: int) -> Iterator[TraceRow]:
    for each in tx.calls.after(after):
        what = f"{each.method} {each.path}"
        request = rows.TracedRequest(each.request_headers, each.request_body)
        response = rows.TracedResponse(each.status, each.response_headers, each.response_body)
        detail = rows.TracedCall(request, response, what)
        yield _row(each.seq, each.at_ms, each.payment, what, str(each.status), detail)


def _screens(tx: Transaction, after: int) -> Iterator[TraceRow]:
    for each in tx.screens.after(after):
        what = " / ".join(each.words.split("\n"))
        pressed = f"pressed {each.pressed}" if each.pressed else "prompt"
        detail = rows.TracedScreen(mask(each.phone), each.pressed, mask(each.words))
        yield _row(each.seq, each.at_ms, _payment(tx, each.charge), what, pressed, detail)


def _entries(tx: Transaction, after: int) -> Iterator[TraceRow]:
    for entry in tx.journal.entries(after_seq=after):
        lines = [
            rows.TracedPosting(each.side, each.account, each.amount_minor, each.currency) for each in entry.postings
        ]
        detail = rows.TracedEntry(lines)
        yield _row(entry.seq, entry.recorded_ms, entry.payment, entry.description, entry.kind, detail)


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
        detail = rows.TracedWebhook(
            event.id, delivery.endpoint, delivery.id, each.headers, mask(event.body), each.answer, each.fault
        )
        yield _row(each.seq, each.at_ms, _payment(tx, event.object_id), event.type, result, detail)


def _payment(tx: Transaction, object_id: str) -> str:
    """What a charge, refund or event is about: the intent, where there is one, else the charge."""
    refund = tx.refunds.get(object_id)
    charge = tx.charges.get(refund.charge if refund else object_id)
    return (charge.payment_intent or charge.id) if charge else object_id


def _row(seq: int, at_ms: int, payment: str | None, what: str, result: str, detail: control.OfSandbox) -> TraceRow:
    # A merchant's own texts stand on screens and in entries: a description may hold a key.
    return TraceRow(seq, rfc3339(at_ms), _KINDS[type(detail)], payment, mask(what), result, detail)
