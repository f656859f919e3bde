"""What has happened, read back for the panel: the ledger's tables and the trace."""

from collections.abc import Iterator
from typing import Any

from workbench.domain.masking import mask
from workbench.domain.moments import business_date, rfc3339
from workbench.domain.webhooks import DEAD_LETTER
from workbench.domain.wire import TraceQuery, panel
from workbench.errors import LedgerRefused
from workbench.sandbox.service.caller import Caller
from workbench.sandbox.store import Transaction


def accounts(tx: Transaction, caller: Caller) -> panel.Rows[panel.LedgerAccount]:  # noqa: ARG001  one signature
    """GET /sandbox/ledger/accounts: every account posted to, with its sums in minor units."""
    return panel.Rows([panel.LedgerAccount(*each) for each in tx.journal.sums()])


def entries(tx: Transaction, caller: Caller) -> panel.Rows[panel.LedgerEntry]:  # noqa: ARG001  one signature
    """GET /sandbox/ledger/entries: the entries, oldest first."""
    return panel.Rows(
        [
            panel.LedgerEntry(
                id=each.id,
                seq=each.seq,
                number=each.number,
                kind=each.kind,
                description=each.description,
                payment=each.payment,
                reverses=each.reverses,
                occurred_at=rfc3339(each.occurred_ms),
                recorded_at=rfc3339(each.recorded_ms),
                business_date=business_date(each.occurred_ms),
                prev_hash=each.prev_hash,
                hash=each.hash,
            )
            for each in tx.journal.entries()
        ]
    )


def postings(tx: Transaction, caller: Caller) -> panel.Rows[panel.LedgerPosting]:  # noqa: ARG001  one signature
    """GET /sandbox/ledger/postings: the postings, in the order of their entries."""
    return panel.Rows(
        [
            panel.LedgerPosting(
                entry=entry.id,
                number=entry.number,
                line=line,
                kind=entry.kind,
                payment=entry.payment,
                occurred_at=rfc3339(entry.occurred_ms),
                account=each.account,
                code=each.code,
                side=each.side,
                amount_minor=each.amount_minor,
                currency=each.currency,
            )
            for entry in tx.journal.entries()
            for line, each in enumerate(entry.postings, start=1)
        ]
    )


def verify(tx: Transaction, caller: Caller) -> panel.LedgerVerified:  # noqa: ARG001  one signature
    """GET /sandbox/ledger/verify: the chain checked from its first entry; its head."""
    try:
        number, head = tx.journal.verify()
    except LedgerRefused as error:
        return panel.LedgerVerified(holds=False, message=error.message, **error.facts)
    return panel.LedgerVerified(holds=True, entries=number, head=head)


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
        detail = {"phone": mask(each.phone), "pressed": each.pressed, "words": each.words}
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
    return panel.TraceRow(seq, rfc3339(at_ms), kind, payment, what, result, detail)
