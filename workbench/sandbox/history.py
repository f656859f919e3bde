"""The trace: what has happened, read back for the panel in one order."""

from collections.abc import Iterator
from typing import Any

from workbench.domain.masking import mask
from workbench.domain.moments import rfc3339
from workbench.domain.webhooks import DEAD_LETTER
from workbench.domain.wire import TraceQuery, panel
from workbench.sandbox.service.caller import Caller
from workbench.sandbox.store import Transaction


def trace(tx: Transaction, caller: Caller, *, query: TraceQuery) -> panel.Rows[panel.TraceRow]:  # noqa: ARG001  one signature
    """GET /sandbox/trace: calls, screens, entries and webhooks after a `seq`, in order."""
    after = query.since
    rows = [*_calls(tx, after), *_screens(tx, after), *_entries(tx, after), *_webhooks(tx, after)]
    return panel.Rows(sorted(rows, key=lambda row: row.seq))


def _calls(tx: Transaction, after: int) -> Iterator[panel.TraceRow]:
    for each in tx.calls.after(after):
        detail = {
            "request": {"headers": each.request_headers, "body": each.request_body},
            "response": {"status": each.status, "headers": each.response_headers, "body": each.response_body},
        }
        what = f"{each.method} {each.path}"
        yield _row(each.seq, each.at_ms, "call", each.payment, what, str(each.status), {**detail, "target": what})


def _screens(tx: Transaction, after: int) -> Iterator[panel.TraceRow]:
    for each in tx.screens.after(after):
        what = " / ".join(each.words.split("\n"))
        pressed = f"pressed {each.pressed}" if each.pressed else "prompt"
        detail = {"phone": mask(each.phone), "pressed": each.pressed, "words": mask(each.words)}
        yield _row(each.seq, each.at_ms, "screen", _payment(tx, each.charge), what, pressed, detail)


def _entries(tx: Transaction, after: int) -> Iterator[panel.TraceRow]:
    for each in tx.journal.entries(after_seq=after):
        lines = [[line.side, line.account, line.amount_minor, line.currency] for line in each.postings]
        yield _row(each.seq, each.recorded_ms, "entry", each.payment, each.description, each.kind, {"postings": lines})


def _webhooks(tx: Transaction, after: int) -> Iterator[panel.TraceRow]:
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
        detail = {
            "event": event.id,
            "endpoint": delivery.endpoint,
            "delivery": delivery.id,
            "headers": each.headers,
            "body": mask(event.body),
            "answer": each.answer,
            "fault": each.fault,
        }
        yield _row(each.seq, each.at_ms, "webhook", _payment(tx, event.object_id), event.type, result, detail)


def _payment(tx: Transaction, object_id: str) -> str:
    """What a charge, refund or event is about: the intent, where there is one, else the charge."""
    refund = tx.refunds.get(object_id)
    charge = tx.charges.get(refund.charge if refund else object_id)
    return (charge.payment_intent or charge.id) if charge else object_id


def _row(  # noqa: PLR0913, PLR0917  the columns of a trace
    seq: int, at_ms: int, kind: str, payment: str | None, what: str, result: str, detail: dict[str, Any]
) -> panel.TraceRow:
    # A merchant's own texts stand on screens and in entries: a description may hold a key.
    return panel.TraceRow(seq, rfc3339(at_ms), kind, payment, mask(what), result, detail)
