"""Reads the trace: calls, screens, entries and webhooks in one order."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from workbench.domain.ledger import JournalEntry
from workbench.domain.masking import mask
from workbench.domain.moments import rfc3339
from workbench.domain.phones import mask_phone
from workbench.domain.webhooks import DEAD_LETTER, DROPPED, Attempt
from workbench.domain.wire import ledger_and_trace as rows
from workbench.domain.wire.base import OfSandbox
from workbench.domain.wire.ledger_and_trace import TracePage, TraceQuery, TraceRow
from workbench.sandbox.service.lists import Caller
from workbench.sandbox.service.request_fields import check_known
from workbench.sandbox.store import Transaction
from workbench.sandbox.store.journal import Journal
from workbench.sandbox.store.records import Screen, StoredCall
from workbench.sandbox.store.transaction import Table

_KINDS: Mapping[type[OfSandbox], str] = {detail: kind for kind, detail in rows.DETAILS.items()}


def trace(tx: Transaction, caller: Caller, *, query: TraceQuery) -> TracePage:
    """GET /sandbox/trace: calls, screens, entries and webhooks after a `seq`, in order, a page of them.

    Raises InvalidRequest: no such kind.
    """
    kinds = tuple(query.kind.split(",")) if query.kind else rows.KINDS
    check_known(kinds, rows.KINDS, "is no kind of row; they are", param="kind")
    is_latest, most = query.latest is not None, query.latest or query.limit
    if query.payment is not None:
        about = payment_of(tx, query.payment)
        found = rows_of_payment(tx, about, events_of(tx, about))
        found = [row for row in found if row.kind in kinds and row.seq > query.since]
        end = max(0, len(found) - query.skip)
        page = found[max(0, end - most) : end] if is_latest else found[query.skip :][:most]
        return TracePage(page, len(found) > query.skip + most, len(found) if is_latest else None)
    there: Mapping[str, Table[Any] | Journal] = {
        rows.CALL: tx.calls, rows.SCREEN: tx.screens, rows.ENTRY: tx.journal, rows.WEBHOOK: tx.attempts,
    }  # fmt: skip
    tables = {kind: there[kind] for kind in rows.KINDS if kind in kinds}
    # One row more than asked for shows that there are more.
    places = tx.places([table.name for table in tables.values()], query.since, most + 1, query.skip, latest=is_latest)
    total = sum(table.count() for table in tables.values()) if is_latest else None
    shown = places[-most:] if is_latest else places[:most]
    if not shown:
        return TracePage([], total=total)
    read: dict[str, Any] = {kind: table.between(shown[0], shown[-1]) for kind, table in tables.items()}
    return TracePage(_in_order(tx, *(read.get(kind, ()) for kind in rows.KINDS)), len(places) > most, total)


def events_of(tx: Transaction, payment: str) -> tuple[str, ...]:
    """The ids of the events about a payment, which is named by its intent, or by a charge or payout alone."""
    charges = _ids(tx.charges.all(payment_intent=payment)) or (payment,)
    entries = _ids(tx.journal.of_payment(payment))
    return _ids(tx.events.all(object_id=(payment, *charges, *_ids(tx.refunds.all(charge=charges)), *entries)))


def rows_of_payment(tx: Transaction, payment: str, events: Sequence[str]) -> list[TraceRow]:
    """The rows of one payment, with the attempts at its events, in order."""
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
    found = (map(call, calls), _screen_rows(tx, screens), _entry_rows(entries), _webhook_rows(tx, attempts))
    return sorted(chain.from_iterable(found), key=lambda row: row.seq)


def call(kept: StoredCall) -> TraceRow:
    """The trace's row of a call."""
    what = f"{kept.method} {kept.path}"
    request = rows.TracedRequest(kept.request_headers, kept.request_body)
    response = rows.TracedResponse(kept.status, kept.response_headers, kept.response_body)
    detail = rows.TracedCall(request, response, what)
    return _trace_row(kept.seq, kept.at_ms, kept.payment, what, str(kept.status), detail)


def _screen_rows(tx: Transaction, screens: Iterable[Screen]) -> Iterator[TraceRow]:
    for screen in screens:
        words = mask(screen.words)
        pressed = f"pressed {screen.pressed}" if screen.pressed else "prompt"
        detail = rows.TracedScreen(mask_phone(screen.phone), screen.pressed, words)
        yield _trace_row(
            screen.seq, screen.at_ms, payment_of(tx, screen.charge), " / ".join(words.split("\n")), pressed, detail
        )


def _entry_rows(entries: Iterable[JournalEntry]) -> Iterator[TraceRow]:
    for entry in entries:
        lines = [
            rows.TracedPosting(posting.side, posting.account, posting.amount_minor, posting.currency)
            for posting in entry.postings
        ]
        detail = rows.TracedEntry(lines)
        # A merchant's own texts stand on screens and in entries: a description may hold a key.
        yield _trace_row(entry.seq, entry.recorded_ms, entry.payment, mask(entry.description), entry.kind, detail)


def _webhook_rows(tx: Transaction, attempts: Iterable[Attempt]) -> Iterator[TraceRow]:
    attempts = [*attempts]
    deliveries = {row.id: row for row in tx.deliveries.all(id=tuple({row.delivery for row in attempts}))}
    events = {row.id: row for row in tx.events.all(id=tuple({row.event for row in deliveries.values()}))}
    for attempt in attempts:
        delivery = deliveries.get(attempt.delivery)
        event = events.get(delivery.event) if delivery else None
        if delivery is None or event is None:
            continue
        result = str(attempt.status_code) if attempt.status_code else "no answer"
        if attempt.number > 1:
            result += f", attempt {attempt.number}"
        if delivery.status in (DEAD_LETTER, DROPPED) and attempt.number == delivery.attempts:
            result += ", dead letter"
        detail = rows.TracedWebhook(
            event.id, delivery.endpoint, delivery.id, attempt.headers, mask(event.body), attempt.answer, attempt.fault
        )
        yield _trace_row(attempt.seq, attempt.at_ms, payment_of(tx, event.object_id), event.type, result, detail)


def payment_of(tx: Transaction, object_id: str) -> str:
    """The payment of a charge, refund or late money: the intent, else the charge; any other id stays as it is."""
    if object_id.startswith("je_") and (late := tx.journal.get(object_id)) and late.payment:
        return late.payment
    refund = tx.refunds.get(object_id) if object_id.startswith("re_") else None
    charge = None if object_id.startswith("pi_") else tx.charges.get(refund.charge if refund else object_id)
    return (charge.payment_intent or charge.id) if charge else object_id


def _trace_row(seq: int, at_ms: int, payment: str | None, what: str, result: str, detail: OfSandbox) -> TraceRow:
    return TraceRow(seq, rfc3339(at_ms), _KINDS[type(detail)], payment, what, result, detail)
