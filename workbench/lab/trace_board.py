"""The trace as a board: a sequence diagram, a table, and each exchange to look into. It follows what happens."""

from bisect import bisect_left
from collections.abc import Iterator, Mapping
from typing import Any, Final

from workbench.domain.ledger import DEBIT
from workbench.domain.money import Money
from workbench.domain.wire.trace_rows import entry_of, screen_of, webhook_of
from workbench.lab import views
from workbench.lab.board import Board
from workbench.lab.sections import BoardSection, Values
from workbench.render import indented
from workbench.session import Session
from workbench.trace import KINDS, Exchange, Trace, TraceReader, rows_of
from workbench.trace.inspector import message

PAGE: Final = 50
MOST_PAYMENTS: Final = 200
"""A list of more is none that anybody looks through."""
_ALL: Final = ""
_KINDS: Final = ((_ALL, "all"), *((kind, f"{kind}s" if kind != "entry" else "entries") for kind in KINDS))
_COLUMNS: Final = views.headings("seq", "moment (UTC)", "kind", "what", "result", numeric=("seq",))
_SAYS: Final = "Sequence diagram: who told whom what. The table beneath tells the same."


def _call(looked_at: Exchange) -> tuple[views.Item, ...]:
    known = [("status", str(looked_at.status))]
    if looked_at.latency_ms is not None:
        known.append(("answered in", f"{looked_at.latency_ms} ms"))
    texts = {"curl": looked_at.curl, "httpx": looked_at.httpx, "Python": looked_at.python}
    return (
        views.Facts(tuple(known)),
        views.Beside((views.Code("Request", looked_at.request), views.Code("Answer", looked_at.response))),
        views.Fold("code", "The same call in curl, httpx and Python", tuple(map(views.Code, texts, texts.values()))),
    )


def _screen(row: Mapping[str, Any]) -> tuple[views.Item, ...]:
    screen = screen_of(row)
    pressed = (("pressed", screen.pressed),) if screen.pressed else ()
    return views.Facts((("handset", screen.phone), *pressed)), views.Code("Screen", screen.words)


def _entry(row: Mapping[str, Any]) -> tuple[views.Item, ...]:
    rows = []
    for place, (side, account, minor, currency) in enumerate(entry_of(row).postings):
        amount = Money(minor, currency).plain
        sides = (amount, "") if side == DEBIT else ("", amount)
        rows.append(views.Row(str(place), (account, *sides, currency)))
    columns = views.headings("account", "debit", "credit", "currency", numeric=("debit", "credit"))
    return (views.Grid("Postings", columns, tuple(rows)),)


def _webhook(row: Mapping[str, Any]) -> tuple[views.Item, ...]:
    attempt = webhook_of(row)
    response = attempt.answer or attempt.fault or "(nothing)"
    sent = message("POST (the endpoint's URL) HTTP/1.1", attempt.headers, attempt.body)
    named = (("event", attempt.event), ("delivery", attempt.delivery), ("endpoint", attempt.endpoint))
    return views.Facts(named), views.Beside((views.Code("Message", sent), views.Code("Answer", indented(response))))


_DETAILS = {"screen": _screen, "entry": _entry, "webhook": _webhook}
"""Of a row that is no call."""


class TraceSection(BoardSection):
    """Rows of one payment or of all, of one kind or of all; the latest page first, in the order in which they came.

    The latest page moves on with what happens. An older one stays, and so does one with a row that is looked into.
    """

    id, title, wide = "trace", "What happened", True

    def __init__(self, trace: Trace) -> None:
        self._payment = _ALL
        self._kind = _ALL
        self._end: int | None = None
        """How many of the rows that were chosen come before the end of the page; None for the latest page."""
        self.grow(trace)

    def grow(self, trace: Trace) -> None:
        """Show this trace from now on: the one before with what came since, or after a reset another."""
        self._trace = trace
        self._payments = tuple(dict.fromkeys(row["payment"] for row in reversed(trace) if row["payment"]))

    def _items(self) -> Iterator[views.Item]:
        chosen = self._chosen()
        last = self._last(chosen)
        shown = chosen[max(0, last - PAGE) : last]
        yield self._choice()
        if len(shown):
            yield views.Fold("diagram", "Who told whom what", (views.Picture(shown.sequence.svg, _SAYS),), open=True)
        yield views.Grid("Trace, in order, secrets masked", _COLUMNS, tuple(self._rows(shown)))
        if len(chosen) > PAGE:
            newer = views.Action("turn", "Newer", "newer", off="These are the newest." if last >= len(chosen) else "")
            older = views.Action("turn", "Older", "older", off="These are the oldest." if last <= PAGE else "")
            yield views.Actions("Pages of the trace", (newer, older))

    def _on_follow(self, _on: str, values: Values) -> None:
        self._payment = values.get("payment", _ALL) if values.get("payment") in self._payments else _ALL
        self._kind = values.get("of_kind", _ALL) if values.get("of_kind") in KINDS else _ALL
        self._end = None

    def _on_turn(self, on: str, _values: Values) -> None:
        self._open = ""
        chosen = self._chosen()
        last = self._last(chosen)
        end = last + PAGE if on != "older" else last - PAGE if last > PAGE else last
        self._end = end if end < len(chosen) else None

    def _chosen(self) -> Trace:
        trace = self._trace.for_(self._payment) if self._payment else self._trace
        return trace.only(self._kind) if self._kind else trace

    def _last(self, chosen: Trace) -> int:
        """How many rows come before the end of the page that is shown."""
        if self._end is None and self._open:
            place = bisect_left(chosen, int(self._open), key=lambda row: row["seq"])
            if place < len(chosen) - PAGE and str(chosen[place]["seq"]) == self._open:
                self._end = place + PAGE
        if self._end is not None and self._end >= len(chosen):
            self._end = None
        return len(chosen) if self._end is None else self._end

    def _choice(self) -> views.Form:
        listed = tuple(dict.fromkeys((*self._payments[:MOST_PAYMENTS], *filter(None, [self._payment]))))
        payments = ((_ALL, "all of this trace"), *((each, each) for each in listed))
        fields = (
            views.Field("payment", "Payment", self._payment, "select", payments),
            views.Field("of_kind", "Kind", self._kind, "select", _KINDS),
        )
        return views.Form("choice", "Which rows", fields, follow=True, row=True)

    def _rows(self, shown: Trace) -> Iterator[views.Row]:
        for place, texts in enumerate(shown.as_dicts()):
            identifier = str(shown[place]["seq"])
            beneath = _beneath(shown[place : place + 1]) if identifier == self._open else ()
            yield views.Row(identifier, tuple(texts.values()), (self._unfolds("Look", identifier),), beneath=beneath)


def _beneath(one: Trace) -> tuple[views.Item, ...]:
    """What there is to see of a trace of one row."""
    (row,) = one
    return _DETAILS[row["kind"]](row) if row["kind"] in _DETAILS else _call(one.exchanges[0])


def trace_board(trace: Trace, session: Session) -> Board:
    """A board of what was chosen in `trace`, now and as it grows in this session.

    Rows that were picked by their places, such as `trace[-5:]`, stay as they are.
    """
    section = TraceSection(trace)
    if trace.whole is None:
        return Board("Trace", (section,), lambda _callback: lambda: None, name="trace")
    reader = TraceReader(lambda seq: rows_of(session.untraced.trace(seq)), trace.whole)

    def read() -> None:
        before = reader.rows
        reader.read()
        if len(reader.rows) != len(before) or reader.rows[-1:] != before[-1:]:
            section.grow(trace.among(reader.rows))

    return Board("Trace", (section,), session.watch, name="trace", read=read)
