"""Deliveries as tables: where an event is going, how far it has come, and each attempt."""

from collections.abc import Sequence
from typing import Final

from workbench.domain import wire
from workbench.domain.ids import short_id
from workbench.domain.masking import mask, shortened
from workbench.domain.webhooks import DEAD_LETTER, DELIVERED, PENDING
from workbench.lab.parts.words import counted, span, when
from workbench.lab.views import BAD, GOOD, Grid, Item, Note, Row, headings

_MAX_RESPONSE: Final = 300
"""So many characters are shown of a receiver's response."""
STATUS_TEXTS: Final = {PENDING: "on its way", DELIVERED: "✓ delivered", DEAD_LETTER: "✗ dead letter"}


def deliveries_grid(caption: str, rows: Sequence[Row]) -> Grid:
    """A table of deliveries."""
    return Grid(caption, headings("Delivery", "Event, and where to", "Status"), tuple(rows), "None.", cards=True)


def delivery_cells(delivery: wire.Delivery, now_s: int) -> tuple[str, ...]:
    """A delivery's cells in that table."""
    status = [STATUS_TEXTS.get(delivery.status, delivery.status)]
    if delivery.status != DELIVERED or len(delivery.attempts) > 1:
        status.append(counted(len(delivery.attempts), "attempt"))
    if delivery.next_attempt_at is not None:
        status.append(f"next in {span(delivery.next_attempt_at - now_s)}")
    place = delivery.url.partition("://")[2] or delivery.url
    return (short_id(delivery.id), f"{delivery.event_type} to {place}", ", ".join(status))


def attempts_of(delivery: wire.Delivery, now_s: int) -> tuple[Item, ...]:
    """Each attempt, and what follows."""
    rows = tuple(_attempt(each) for each in delivery.attempts)
    columns = headings("No.", "Time (Lusaka)", "Status", "Took", "Answer", numeric=("No.", "Took"))
    return (Grid(f"Attempts at delivery {delivery.id}", columns, rows, "None yet.", cards=True), _next(delivery, now_s))


def _attempt(attempt: wire.DeliveryAttempt) -> Row:
    status = "none" if attempt.status_code is None else str(attempt.status_code)
    response = shortened(mask(attempt.answer.strip() or attempt.fault or "(empty)"), _MAX_RESPONSE)
    number = str(attempt.number)
    return Row(number, (number, when(attempt.at), status, f"{attempt.latency_ms} ms", response))


def _next(delivery: wire.Delivery, now_s: int) -> Note:
    if delivery.status == DELIVERED:
        return Note("Delivered.", GOOD)
    if delivery.status == DEAD_LETTER:
        return Note("Given up: a dead letter. Mend the receiver, then replay it.", BAD)
    if delivery.next_attempt_at is None:
        return Note("It is being sent.")
    left = span(delivery.next_attempt_at - now_s)
    return Note(f"The next attempt is due at {when(delivery.next_attempt_at)} in Lusaka, in {left}.")
