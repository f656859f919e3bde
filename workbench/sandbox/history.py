"""What has happened, read back for the panel: the ledger's tables and the trace."""

from collections.abc import Iterator
from typing import Any

from workbench.domain.masking import mask
from workbench.domain.moments import business_date, rfc3339
from workbench.domain.webhooks import DEAD_LETTER
from workbench.errors import InvalidRequest, LedgerRefused
from workbench.sandbox.service.caller import Caller
from workbench.sandbox.store import Transaction


def accounts(tx: Transaction, caller: Caller) -> dict[str, Any]:  # noqa: ARG001  one signature
    """GET /sandbox/ledger/accounts: every account posted to, with its sums in minor units."""
    return _list(
        [
            {"account": account, "code": code, "currency": currency, "debit_minor": debit, "credit_minor": credit}
            for account, code, currency, debit, credit in tx.journal.sums()
        ]
    )


def entries(tx: Transaction, caller: Caller) -> dict[str, Any]:  # noqa: ARG001  one signature
    """GET /sandbox/ledger/entries, oldest first."""
    return _list(
        [
            {
                "id": each.id,
                "seq": each.seq,
                "number": each.number,
                "kind": each.kind,
                "description": each.description,
                "payment": each.payment,
                "reverses": each.reverses,
                "occurred_at": rfc3339(each.occurred_ms),
                "recorded_at": rfc3339(each.recorded_ms),
                "business_date": business_date(each.occurred_ms),
                "prev_hash": each.prev_hash,
                "hash": each.hash,
            }
            for each in tx.journal.entries()
        ]
    )


def postings(tx: Transaction, caller: Caller) -> dict[str, Any]:  # noqa: ARG001  one signature
    """GET /sandbox/ledger/postings, in the order of their entries."""
    return _list(
        [
            {
                "entry": entry.id,
                "number": entry.number,
                "line": line,
                "kind": entry.kind,
                "payment": entry.payment,
                "occurred_at": rfc3339(entry.occurred_ms),
                "account": each.account,
                "code": each.code,
                "side": each.side,
                "amount_minor": each.amount_minor,
                "currency": each.currency,
            }
            for entry in tx.journal.entries()
            for line, each in enumerate(entry.postings, start=1)
        ]
    )


def verify(tx: Transaction, caller: Caller) -> dict[str, Any]:  # noqa: ARG001  one signature
    """GET /sandbox/ledger/verify: the chain checked from its first entry; its head."""
    try:
        number, head = tx.journal.verify()
    except LedgerRefused as error:
        return {"object": "ledger", "holds": False, "message": error.message, **error.facts}
    return {"object": "ledger", "holds": True, "entries": number, "head": head}


def trace(tx: Transaction, caller: Caller, *, since: str = "0") -> dict[str, Any]:  # noqa: ARG001  one signature
    """GET /sandbox/trace?since=: calls, screens, entries and webhooks after a `seq`, in order."""
    if not (since.isascii() and since.isdigit() and len(since) <= 18):  # noqa: PLR2004  fits an SQLite integer
        raise InvalidRequest("since is a whole number, the seq of a row.", code="parameter_invalid", param="since")
    after = int(since)
    rows = [*_calls(tx, after), *_screens(tx, after), *_entries(tx, after), *_webhooks(tx, after)]
    return _list(sorted(rows, key=lambda row: row["seq"]))


def _calls(tx: Transaction, after: int) -> Iterator[dict[str, Any]]:
    for each in tx.calls.after(after):
        detail = {
            "request": {"headers": each.request_headers, "body": each.request_body},
            "response": {"status": each.status, "headers": each.response_headers, "body": each.response_body},
        }
        what = f"{each.method} {each.path}"
        yield _row(each.seq, each.at_ms, "call", each.payment, what, str(each.status), {**detail, "target": what})


def _screens(tx: Transaction, after: int) -> Iterator[dict[str, Any]]:
    for each in tx.screens.after(after):
        what = " / ".join(each.words.split("\n"))
        pressed = f"pressed {each.pressed}" if each.pressed else "prompt"
        detail = {"phone": mask(each.phone), "pressed": each.pressed, "words": each.words}
        yield _row(each.seq, each.at_ms, "screen", _payment(tx, each.charge), what, pressed, detail)


def _entries(tx: Transaction, after: int) -> Iterator[dict[str, Any]]:
    for each in tx.journal.entries(after_seq=after):
        lines = [[line.side, line.account, line.amount_minor, line.currency] for line in each.postings]
        yield _row(each.seq, each.recorded_ms, "entry", each.payment, each.description, each.kind, {"postings": lines})


def _webhooks(tx: Transaction, after: int) -> Iterator[dict[str, Any]]:
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
    """What a charge or event is about: the intent, where there is one."""
    charge = tx.charges.get(object_id)
    return (charge.payment_intent if charge else None) or object_id


def _row(  # noqa: PLR0913, PLR0917  the columns of a trace
    seq: int, at_ms: int, kind: str, payment: str | None, what: str, result: str, detail: dict[str, Any]
) -> dict[str, Any]:
    return {
        "seq": seq,
        "at": rfc3339(at_ms),
        "kind": kind,
        "payment": payment,
        "what": what,
        "result": result,
        "detail": detail,
    }


def _list(rows: list[dict[str, Any]]) -> dict[str, Any]:
    return {"object": "list", "data": rows}
