"""The trace: what has happened, read back for the panel in one order."""

from collections.abc import Iterator

from workbench.domain.masking import mask
from workbench.domain.moments import rfc3339
from workbench.domain.webhooks import DEAD_LETTER
from workbench.domain.wire import TraceQuery, panel
from workbench.domain.wire.trace import (
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
from workbench.sandbox.service.caller import Caller
from workbench.sandbox.store import Transaction


def trace(tx: Transaction, caller: Caller, *, query: TraceQuery) -> panel.Rows[TraceRow]:  # noqa: ARG001  one signature
    """GET /sandbox/trace: calls, screens, entries and webhooks after a `seq`, in order."""
    after = query.since
    rows = [*_calls(tx, after), *_screens(tx, after), *_entries(tx, after), *_webhooks(tx, after)]
    return panel.Rows(sorted(rows, key=lambda row: row.seq))


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
    seq: int, at_ms: int, kind: str, payment: str | None, what: str, result: str, detail: panel.OfSandbox
) -> TraceRow:
    # A merchant's own texts stand on screens and in entries: a description may hold a key.
    return TraceRow(seq, rfc3339(at_ms), kind, payment, mask(what), result, detail)
