"""What changed, object by object, after a place in the order of all that happened: so that a page need not ask again.

Every change has a row with a `seq` of its own, but for the clock's: those rows are read, and nothing is written down.
"""

from collections.abc import Iterator
from typing import Final

from workbench.domain import wire
from workbench.domain.wire import control
from workbench.sandbox import trace
from workbench.sandbox.service.lists import Caller
from workbench.sandbox.store import Transaction
from workbench.sandbox.store.transaction import MOVED, RESET

_MOST: Final = 500
"""Rows that are read for one page."""
_KINDS: Final = {
    "call": "request", "screen": "prompt", "entry": "entry", "delivery": "delivery", "attempt": "delivery",
    "job": "delivery",
}  # fmt: skip
"""Table → the kind of the object that a row of it changes beside its payment."""
_PAYMENTS: Final = ("pi_", "ch_")


def changes(tx: Transaction, caller: Caller, *, query: wire.ChangesQuery) -> control.Changes:  # noqa: ARG001  one signature
    """GET /sandbox/changes: what changed after a `seq`, in order, each object once; without `after`, from now on.

    A served sandbox sends the same rows as they come, as Server-Sent Events, to whoever accepts `text/event-stream`:
    one message a row, its id the row's `seq`; `Last-Event-ID` goes on from there, and after a reset comes an event
    `reset`.
    """
    last = tx.last("seq")
    after = last if query.after is None else query.after
    if not tx.last(RESET) <= after <= last:
        return control.Changes([], last, reset=True)
    found = tx.changed(after, _MOST + 1)
    has_more = len(found) > _MOST
    latest: dict[tuple[str, str], int] = {}
    for seq, table, identifier, about in found[:_MOST]:
        for each in _objects(tx, table, identifier, about):
            latest.pop(each, None)
            latest[each] = seq
    rows = [control.Change(seq, *each) for each, seq in latest.items()]
    if has_more:
        return control.Changes(rows, found[_MOST - 1][0], has_more=True)
    # The clock moves without a `seq`: until the next thing happens, whoever asks is told again.
    if query.after is not None and tx.last(MOVED) >= after:
        rows.append(control.Change(last, "clock", "clock"))
    return control.Changes(rows, last)


def _objects(tx: Transaction, table: str, identifier: str, about: str | None) -> Iterator[tuple[str, str]]:
    """The kinds and ids of what a row of a table changes."""
    kind = _KINDS.get(table)
    if kind == "delivery":
        delivery = tx.deliveries.get(identifier)
        event = tx.events.get(delivery.event) if delivery else None
        about = event.object_id if event else None
    # Most jobs are no deliveries.
    if kind and (table != "job" or about):
        yield kind, identifier
    payment = trace.payment_of(tx, about) if about else ""
    if payment.startswith(_PAYMENTS):
        yield "payment", payment
