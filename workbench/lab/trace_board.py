"""The trace as a board: a sequence diagram, a table, and each exchange to look into. It follows what happens."""

from bisect import bisect_left
from collections.abc import Iterator, Mapping
from typing import Any, Final

from workbench.domain.ledger import DEBIT
from workbench.domain.money import Money
from workbench.domain.wire.trace_rows import entry_of, screen_of, webhook_of
from workbench.lab import views
from workbench.lab.board import Board
from workbench.lab.sections import BoardSection, Download, Message, Values, counted, plural
from workbench.render import indented
from workbench.session import Session
from workbench.steps import LANES, short, step_of
from workbench.trace import KINDS, Exchange, PagedRows, Trace
from workbench.trace import PAGE as HELD
from workbench.trace.diagram import TIME, SequenceDiagram, clock_of, utc_of
from workbench.trace.inspector import message

PAGE: Final = 50
MOST_PAYMENTS: Final = 200
"""A list of more is none that anybody looks through; they are those of the latest rows."""
_ALL: Final = ""
_KINDS: Final = ((_ALL, "all"), *((kind, plural(kind)) for kind in KINDS))
_COLUMNS: Final = views.headings("seq", TIME, "kind", "what", "result", numeric=("seq",))
MOST_STEPS: Final = 500
"""Of a diagram."""
UNFOLDED: Final = 3
"""So many payments are unfolded until somebody chooses."""
DIAGRAM, TABLE = "diagram", "table"
_FORMS: Final = ((DIAGRAM, "Diagram"), (TABLE, "Table"))
_SAVED: Final = ("SVG", "PNG", "Mermaid")
_NO_PAYMENT: Final = "of no payment"
_SAYS: Final = "Sequence diagram: who told whom what, times in Lusaka"


def _call(looked_at: Exchange) -> tuple[views.Item, ...]:
    known = [("status", str(looked_at.status))]
    if looked_at.latency_ms is not None:
        known.append(("answered in", f"{looked_at.latency_ms} ms"))
    texts = {"curl": looked_at.curl, "httpx": looked_at.httpx, "Python": looked_at.python}
    return (
        views.Facts(tuple(known)),
        views.Beside((views.Code("Request", looked_at.request), views.Code("Response", looked_at.response))),
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
    return views.Facts(named), views.Beside((views.Code("Message", sent), views.Code("Response", indented(response))))


_DETAILS = {"screen": _screen, "entry": _entry, "webhook": _webhook}
"""Of a row that is no call."""


class TraceSection(BoardSection):
    """Rows of one payment or of all, of one kind or of all: as a diagram, payment by payment, or as a table, in order.

    The latest page moves on with what happens, until it is paused. An older one stays, and so does one with a row that
    is looked into.
    """

    id, title, wide = "trace", "What happened", True

    def __init__(self, trace: Trace) -> None:
        self._payment = _ALL
        self._kind = _ALL
        self._form = DIAGRAM
        self._end: int | None = None
        """How many of the rows that were chosen come before the end of the page; None for the latest page."""
        self._known = 0
        """How many there were when the page was held."""
        self._looks = 0
        """How often other rows were chosen: a diagram of others is looked at from its start."""
        self._folded: dict[str, bool] = {}
        """The payments that somebody folded up, or unfolded."""
        self.grow(trace)

    def grow(self, trace: Trace) -> None:
        """Show this trace from now on: the one before with what came since, or after a reset another."""
        self._trace = trace
        self._payments = tuple(dict.fromkeys(row["payment"] for row in reversed(trace[-HELD:]) if row["payment"]))

    def _items(self) -> Iterator[views.Item]:
        chosen = self._chosen()
        shown, last = self._page(chosen), self._last(chosen)
        yield views.Menu("How it is shown", _FORMS, self._form)
        yield self._choice()
        held = self._end is not None
        news = f"{len(chosen) - self._known:,} new, show" if len(chosen) > self._known else "Follow again"
        follow = views.Action("newest", news, primary=True) if held else views.Action("pause", "Pause")
        following = (follow,) if self._trace.grows or held else ()
        if self._form == DIAGRAM and len(shown):
            bands = self._bands(shown)
            fold = views.Action("fold", "Fold all" if any(each.arrows for each in bands) else "Unfold all")
            save = tuple(views.Action("save", each, each) for each in _SAVED)
            yield views.Actions("The trace", (*following, *((fold,) if len(bands) > 1 else ()), *save))
            yield views.Split((views.Sequence(_SAYS, LANES, bands, held, self._looks),), self._drawer(shown))
        else:
            yield from (views.Actions("The trace", following),) if following else ()
            yield views.Grid("Trace, in order, secrets masked", _COLUMNS, tuple(self._rows(shown)))
        if len(chosen) > self._size:
            newer = views.Action("turn", "Newer", "newer", off="These are the newest." if last >= len(chosen) else "")
            older = views.Action("turn", "Older", "older", off="These are the oldest." if last <= self._size else "")
            yield views.Actions("Pages of the trace", (newer, older))

    @property
    def _size(self) -> int:
        return MOST_STEPS if self._form == DIAGRAM else PAGE

    def _on_follow(self, _on: str, values: Values) -> None:
        self._payment = values.get("payment", _ALL) if values.get("payment") in self._payments else _ALL
        self._kind = values.get("of_kind", _ALL) if values.get("of_kind") in KINDS else _ALL
        self._end = None
        self._looks += 1

    def _on_show(self, on: str, _values: Values) -> None:
        self._form = on if on in dict(_FORMS) else DIAGRAM
        self._end = None

    def _on_pause(self, _on: str, _values: Values) -> None:
        self._hold(len(self._chosen()))

    def _on_newest(self, _on: str, _values: Values) -> None:
        self._end = None
        self._open = ""

    def _on_turn(self, on: str, _values: Values) -> None:
        self._open = ""
        self._looks += 1
        chosen = self._chosen()
        last = self._last(chosen)
        end = last + self._size if on != "older" else last - self._size if last > self._size else last
        self._end = None
        if end < len(chosen):
            self._hold(end)

    def _on_open(self, on: str, values: Values) -> None:
        self._on_unfold(on, values)

    def _on_close(self, _on: str, _values: Values) -> None:
        self._open = ""

    def _on_fold(self, on: str, _values: Values) -> None:
        bands = self._bands(self._page(self._chosen()))
        found = {each.id: bool(each.arrows) for each in bands if each.id == on or not on}
        # All of them are folded up while any is unfolded.
        self._folded |= dict.fromkeys(found, any(found.values()))

    def _on_save(self, on: str, _values: Values) -> Message | None:
        drawn = SequenceDiagram([*self._page(self._chosen())], MOST_STEPS)
        if on == "Mermaid":
            text = "Copy it from below into a Markdown cell, which draws it."
            return Message(text, code=(views.Code("Mermaid", f"```mermaid\n{drawn.mermaid}```"),))
        name = f"{self._payment or 'trace'}.{on.lower()}"
        return Message(f"{name}: {drawn.note or 'all steps'}.", download=Download(name, drawn.svg))

    def _chosen(self) -> Trace:
        trace = self._trace.for_(self._payment) if self._payment else self._trace
        return trace.only(self._kind) if self._kind else trace

    def _page(self, chosen: Trace) -> Trace:
        last = self._last(chosen)
        return chosen[max(0, last - self._size) : last]

    def _hold(self, end: int) -> None:
        self._end, self._known = end, len(self._chosen())

    def _last(self, chosen: Trace) -> int:
        """How many rows come before the end of the page that is shown."""
        if self._end is None and self._open:
            place = bisect_left(chosen, int(self._open), key=lambda row: row["seq"])
            if place < len(chosen) - self._size and str(chosen[place]["seq"]) == self._open:
                self._hold(place + self._size)
        if self._end is not None and self._end > len(chosen):
            self._end = None
        return len(chosen) if self._end is None else self._end

    def _choice(self) -> views.Form:
        listed = tuple(dict.fromkeys((*self._payments[:MOST_PAYMENTS], *filter(None, [self._payment]))))
        payments = ((_ALL, "all of this trace"), *((each, each) for each in listed))
        payment = views.Field("payment", "Payment", self._payment, "select", payments)
        kind = views.Field("of_kind", "Kind", self._kind, "select", _KINDS)
        fields = (payment, kind) if self._payment or len(self._payments) > 1 else (kind,)
        return views.Form("choice", "Which rows", fields, follow=True, row=True)

    def _bands(self, shown: Trace) -> tuple[views.Band, ...]:
        """A band a payment, in the order in which they began; the latest are unfolded."""
        rows: dict[str, list[dict[str, Any]]] = {}
        for row in shown:
            rows.setdefault(row["payment"] or _NO_PAYMENT, []).append(row)
        latest = {*list(rows)[-UNFOLDED:]}
        return tuple(self._band(each, rows[each], folded=self._folded.get(each, each not in latest)) for each in rows)

    def _band(self, name: str, rows: list[dict[str, Any]], *, folded: bool) -> views.Band:
        steps = () if folded else tuple(map(self._arrow, rows))
        last = step_of(rows[-1])
        ended = f"last {last.at[11:]}: {'✗ ' * last.is_bad}{last.label}"
        label = f"{short(name)}, {counted(len(rows), 'step')}, {ended}"
        return views.Band(name, views.Action("fold", label, name, expanded="no" if folded else "yes"), steps)

    def _arrow(self, row: dict[str, Any]) -> views.Arrow:
        step, place = step_of(row), str(row["seq"])
        ends = LANES.index(step.source), LANES.index(step.target)
        opened = place == self._open
        return views.Arrow(
            place,
            clock_of(step.at)[11:],
            utc_of(step.at),
            step.kind,
            *ends,
            step.label,
            step.response,
            step.is_bad,
            opened,
        )

    def _drawer(self, shown: Trace) -> views.Drawer | None:
        place = next((place for place, row in enumerate(shown) if str(row["seq"]) == self._open), None)
        if place is None:
            return None
        row = shown[place]
        step = step_of(row)
        status = f"{'✗' if step.is_bad else '✓'} {step.response or step.kind}"
        times = (TIME, clock_of(step.at)), ("time (UTC)", utc_of(step.at)[:19])
        items = (views.Facts(times), *_beneath(shown[place : place + 1]))
        identifier = row["payment"] or f"seq {self._open}"
        return views.Drawer(identifier, step.label, status, items, views.Action("close", "Close"), row=self._open)

    def _rows(self, shown: Trace) -> Iterator[views.Row]:
        for place, texts in enumerate(shown.as_dicts()):
            identifier = str(shown[place]["seq"])
            beneath = _beneath(shown[place : place + 1]) if identifier == self._open else ()
            look, utc = self._unfolds("Look", identifier), utc_of(shown[place]["at"])
            yield views.Row(identifier, tuple(texts.values()), (look,), beneath=beneath, hovers=("", utc))


def _beneath(one: Trace) -> tuple[views.Item, ...]:
    """What there is to see of a trace of one row."""
    (row,) = one
    return _DETAILS[row["kind"]](row) if row["kind"] in _DETAILS else _call(one.exchanges[0])


def trace_board(trace: Trace, session: Session) -> Board:
    """A board of what was chosen in `trace`, now and as it grows in this session.

    Rows that were picked by their places, such as `trace[-5:]`, stay as they are.
    """
    section = TraceSection(trace)
    if not trace.grows:
        return Board("Trace", (section,), lambda _callback: lambda: None, name="trace")

    def read() -> None:
        nonlocal trace
        before, trace = trace, trace.grown()
        if trace is not before:
            section.grow(trace)

    return Board("Trace", (section,), session.watch, name="trace", read=read)


def payment_board(payment: str, session: Session) -> Board:
    """A board of all that happened to one payment. Only its rows are read, however long the whole trace is."""
    rows = PagedRows(session.untraced.trace_page, {"payment": payment})
    return trace_board(Trace(rows, session.trace_context), session)
