"""Lists the changes after a `seq`, so that a page reloads only what has changed.

Every change but the clock's has a row with a `seq`: those rows are read. A stream is this read, asked again and again.
"""

from typing import Final

import msgspec

from workbench.domain.wire.console_rows import Change, Changes, ChangesQuery
from workbench.sandbox import trace
from workbench.sandbox.messages import Answer, Arrived
from workbench.sandbox.service.lists import Caller
from workbench.sandbox.store import Transaction

_MOST: Final = 500
"""Rows that are read for one page."""
_PATH: Final = b"/sandbox/changes"
_STREAM: Final = "text/event-stream"
_LAST: Final = "last-event-id"


def changes(tx: Transaction, caller: Caller, *, query: ChangesQuery) -> Changes:
    """GET /sandbox/changes: what changed after a `seq`, in order, each object once; without `after`, from now on.

    A served sandbox sends the same rows as they come, as Server-Sent Events, to whoever accepts `text/event-stream`:
    one message a row, its id the row's `seq`. `Last-Event-ID` goes on from there. After a reset comes an event `reset`.
    """
    last = tx.last("seq")
    after = last if query.after is None else query.after
    if not tx.last("reset") <= after <= last:
        return Changes([], last, reset=True)
    found, latest = tx.changed(after, _MOST + 1), dict[tuple[str, str], int]()
    for seq, kind, name, about in found[:_MOST]:
        payment = trace.payment_of(tx, about or "")
        for change in (kind, name), ("payment" if payment.startswith(("pi_", "ch_")) else "", payment):
            if change[0]:
                latest.pop(change, None)
                latest[change] = seq
    rows = [Change(seq, *change) for change, seq in latest.items()]
    if len(found) > _MOST:
        return Changes(rows, found[_MOST - 1][0], has_more=True)
    # The clock moves without a `seq`: until the next thing happens, whoever asks is told again.
    if query.after is not None and tx.last("moved") >= after:
        rows.append(Change(last, "clock", "clock"))
    return Changes(rows, last)


def is_stream(arrived: Arrived) -> bool:
    """True for a request that asks for changes as a stream."""
    is_there = arrived.method == "GET" and arrived.target.partition(b"?")[0] == _PATH
    return is_there and _STREAM in arrived.headers.get("accept", "")


def resumed(arrived: Arrived) -> Arrived:
    """A request for a stream that broke off, with the place in its query; any other as it is."""
    if _LAST not in arrived.headers or not is_stream(arrived):
        return arrived
    return msgspec.structs.replace(arrived, target=b"%s?after=%s" % (_PATH, arrived.headers[_LAST].encode()))


def streamed(arrived: Arrived, answer: Answer) -> tuple[Answer, Arrived, bool]:
    """A page as a part of a stream, the request for what comes next, and whether that is there already."""
    page = msgspec.json.decode(answer.body, type=Changes)
    headers = [header for header in answer.headers if header[0] not in {"content-type", "content-length"}]
    headers += [("content-type", _STREAM), ("cache-control", "no-store")]
    rest = msgspec.structs.replace(arrived, headers={**arrived.headers, _LAST: str(page.last_seq)})
    return Answer(answer.status, headers, page.as_events()), rest, page.has_more
