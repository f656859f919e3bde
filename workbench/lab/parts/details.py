"""The details of one row of the trace: an exchange to look into, a screen's text, an entry's sides, a webhook."""

from collections.abc import Callable, Mapping
from typing import Any

from workbench.domain.ledger import DEBIT
from workbench.domain.money import Money
from workbench.domain.wire.trace import entry_of, screen_of, webhook_of
from workbench.lab.views import Beside, Code, Facts, Fold, Grid, Item, Row, headings
from workbench.render import indented
from workbench.trace import Exchange
from workbench.trace.exchange import message


def exchange(looked_at: Exchange) -> tuple[Item, ...]:
    """Request and response side by side, how long it took, and the same call in code."""
    known = [("status", str(looked_at.status))]
    if looked_at.latency_ms is not None:
        known.append(("answered in", f"{looked_at.latency_ms} ms"))
    copies = (Code("curl", looked_at.curl), Code("httpx", looked_at.httpx), Code("Python", looked_at.python))
    return (
        Facts(tuple(known)),
        Beside((Code("Request", looked_at.request), Code("Answer", looked_at.response))),
        Fold("code", "The same call in curl, httpx and Python", copies),
    )


def details(row: Mapping[str, Any]) -> tuple[Item, ...]:
    """Of a row that is no call."""
    return _DETAILS[row["kind"]](row)


def _screen(row: Mapping[str, Any]) -> tuple[Item, ...]:
    screen = screen_of(row)
    pressed = (("pressed", screen.pressed),) if screen.pressed else ()
    return Facts((("handset", screen.phone), *pressed)), Code("Screen", screen.words)


def _entry(row: Mapping[str, Any]) -> tuple[Item, ...]:
    rows = []
    for place, (side, account, minor, currency) in enumerate(entry_of(row).postings):
        amount = Money(minor, currency).plain
        rows.append(
            Row(str(place), (account, amount if side == DEBIT else "", "" if side == DEBIT else amount, currency))
        )
    columns = headings("account", "debit", "credit", "currency", numeric=("debit", "credit"))
    return (Grid("Postings", columns, tuple(rows)),)


def _webhook(row: Mapping[str, Any]) -> tuple[Item, ...]:
    attempt = webhook_of(row)
    response = attempt.answer or attempt.fault or "(nothing)"
    sent = message("POST (the endpoint's URL) HTTP/1.1", attempt.headers, attempt.body)
    named = (("event", attempt.event), ("delivery", attempt.delivery), ("endpoint", attempt.endpoint))
    return Facts(named), Beside((Code("Message", sent), Code("Answer", indented(response))))


_DETAILS: Mapping[str, Callable[[Mapping[str, Any]], tuple[Item, ...]]] = {
    "screen": _screen,
    "entry": _entry,
    "webhook": _webhook,
}
