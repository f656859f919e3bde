"""The dashboard's payments and events."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Final, NamedTuple

from msgspec import UNSET

from workbench.domain import wire
from workbench.domain.ids import short_id
from workbench.domain.masking import mask
from workbench.domain.moments import LUSAKA, RFC3339, milliseconds, rfc3339
from workbench.domain.webhooks import EVENT_TYPES
from workbench.errors import InvalidRequest, NotFound
from workbench.lab import views
from workbench.lab.dashboard.webhooks_tab import attempts_of, deliveries_grid, delivery_cells
from workbench.lab.sections import Message, PagedSection, Values, counted, when
from workbench.render import indented

_FAILED, _STATUS_TEXTS = "requires_payment_method", {"succeeded": "✓ succeeded", "canceled": "✗ canceled"}


class PaymentsSection(PagedSection[wire.PaymentIntent]):
    """The balance and the payment intents, newest first."""

    id, title, wide = "payments", "Payments", True
    group = "payment_intents"
    page_size = 10

    def _items(self) -> Iterator[views.Item]:
        balance = self._looking.balance.retrieve()
        sums = (balance.available, balance.pending, balance.owed)
        names = ("Available to pay out", "Pending, cleared at night", "Owed")
        yield views.Facts(tuple(zip(names, map(_sum, sums), strict=True)))
        columns = views.headings("Payment", "Amount", "Status", "Phone", "Made (Lusaka)", numeric=("Amount",))
        yield views.Grid("Payment intents, newest first", columns, tuple(map(_row, self._rows())), cards=True)
        yield from self._buttons("Payments")


def _row(intent: wire.PaymentIntent) -> views.Row:
    amount = "" if intent.amount is UNSET else f"{intent.amount:,.2f} {intent.currency}"
    method = intent.payment_method
    phone = method.mobile_money.phone if isinstance(method, wire.MobileMoneyMethod) else "-"
    made = "" if intent.created is UNSET else when(intent.created)
    return views.Row(intent.id, (intent.id, amount, _status(intent), phone, made))


def _status(intent: wire.PaymentIntent) -> str:
    error = intent.last_payment_error
    if intent.status == _FAILED and isinstance(error, wire.PaymentError):
        return f"✗ failed: {error.code}"
    return _STATUS_TEXTS.get(intent.status, intent.status.replace("_", " "))


def _sum(amounts: Sequence[wire.Amount]) -> str:
    return ", ".join(f"{each.amount:,.2f} {each.currency}" for each in amounts) or "0.00"


_PATH: Final = "/v1/events"
_FAMILIES: Final = tuple(dict.fromkeys(f"{each.partition('.')[0]}.*" for each in EVENT_TYPES))
_TYPES: Final = (("", "all types"), *((each, each) for each in (*_FAMILIES, *EVENT_TYPES)))
_NO_MOMENT: Final = "A moment in Lusaka, such as 2026-01-05 or 2026-01-05 08:30."
_MAX_SEARCH: Final = 100


class EventFilter(NamedTuple):
    """What events are filtered by, as it was typed."""

    type: str = ""
    since: str = ""
    search: str = ""

    @property
    def query(self) -> dict[str, str]:
        """The same as the parameters of the list. Raises ValueError, OverflowError: no moment."""
        since = _in_lusaka(self.since.strip()) if self.since.strip() else ""
        parameters = {"type": self.type, "created_since": since, "search": self.search.strip()[:_MAX_SEARCH]}
        return {name: value for name, value in parameters.items() if value}


class EventsSection(PagedSection[wire.Event]):
    """A page of events, newest first, as they are filtered; one of them unfolded."""

    id, title, wide = "events", "Developers: events", True
    group = "events"
    _filter = EventFilter()

    def _items(self) -> Iterator[views.Item]:
        query, error = self._query()
        yield self._form(error)
        try:
            yield self._found(query)
            yield from self._buttons("Events")
        except InvalidRequest as refused:
            # The filter can still be changed.
            yield views.Note(str(refused), views.BAD)

    def _on_search(self, on: str, values: Values) -> Message:
        self._on_follow(on, values)
        query, error = self._query()
        if error:
            return Message(error, views.BAD)
        found = len(self._rows(**query))
        more = ", and there are more" if self._has_more else ""
        return Message(f"{counted(found, 'event')} found{more}.", code=self._code("GET", _PATH, query=query))

    def _on_follow(self, _on: str, values: Values) -> None:
        event_filter = EventFilter(**{name: values.get(name, "") for name in EventFilter._fields})
        if event_filter != self._filter:
            self._filter = event_filter
            self._after = []

    def _on_clear(self, on: str, _values: Values) -> Message:
        self._on_follow(on, {})
        return Message("All events are shown.", code=self._code("GET", _PATH))

    def _on_replay(self, on: str, _values: Values) -> Message:
        """Send one again to every endpoint whose filter it passes."""
        sent = self._pay.events.replay(on)
        code = self._code("POST", f"{_PATH}/{on}/replay")
        if not sent.data:
            return Message("No endpoint that is enabled wants it.", views.WARN, code)
        return Message(f"Sent again to {counted(len(sent.data), 'endpoint')}.", code=code)

    def _on_replay_one(self, on: str, _values: Values) -> Message:
        self._pay.deliveries.replay(on)
        return Message("Sent again.", code=self._code("POST", f"/v1/deliveries/{on}/replay"))

    def _found(self, query: dict[str, str]) -> views.Grid:
        rows = tuple(self._row(each) for each in self._rows(**query))
        columns = views.headings("Event", "Type", "Payment", "Time (Lusaka)")
        caption = f"Events{', as filtered' if query else ''}, newest first"
        return views.Grid(caption, columns, rows, "None found." if query else "None yet.")

    def _query(self) -> tuple[dict[str, str], str]:
        """The parameters of the list, and what is wrong with the filter."""
        try:
            return self._filter.query, ""
        except (ValueError, OverflowError):
            return self._filter._replace(since="").query, _NO_MOMENT

    def _form(self, error: str) -> views.Form:
        fields = (
            views.Field(
                "search", "Search", self._filter.search, "search", hint="An id, a reference, a number's last digits"
            ),
            views.Field("type", "Type", self._filter.type, "select", _TYPES),
            views.Field("since", "Since (Lusaka)", self._filter.since, hint="Such as 2026-01-05 08:30", error=error),
        )
        buttons = (views.Action("search", "Search", primary=True), views.Action("clear", "Clear"))
        return views.Form("filter", "Which events", fields, buttons, follow=True, row=True)

    def _row(self, event: wire.Event) -> views.Row:
        is_open = event.id == self._open
        unfold = views.Action("unfold", "Details", event.id, expanded="yes" if is_open else "no")
        at = when(datetime.fromisoformat(event.timestamp).timestamp())
        cells = (short_id(event.id), event.type, short_id(_payment(event)), at)
        return views.Row(event.id, cells, (unfold,), beneath=self._details(event) if is_open else ())

    def _details(self, event: wire.Event) -> tuple[views.Item, ...]:
        try:
            sent = self._looking.deliveries.list(event=event.id, limit=100).data
        except NotFound:
            sent = []
        now_s = self._now_s()
        rows = [_delivery(each, now_s) for each in sent]
        caused_by = ("Caused by the call", event.request.id or "none")
        return (
            views.Facts((("Event", event.id), ("Payment", _payment(event)), caused_by)),
            views.Code("Payload, numbers masked", mask(indented(wire.to_json(event).decode()))),
            deliveries_grid("Sent to", rows) if rows else views.Note("It was sent nowhere: no endpoint wanted it."),
            views.Actions("This event", (views.Action("replay", "Replay to every endpoint", event.id),)),
        )


def _in_lusaka(text: str) -> str:
    """A moment in Lusaka, or in the zone that it names, as the service takes it; ValueError or OverflowError: none."""
    at = datetime.fromisoformat(text)
    taken = rfc3339(milliseconds(at if at.tzinfo else at.replace(tzinfo=LUSAKA)))
    if not RFC3339.fullmatch(taken):
        raise ValueError(_NO_MOMENT)
    return taken


def _payment(event: wire.Event) -> str:
    """The payment that an event's object belongs to, or is."""
    about = event.data.object
    return str(about.get("payment_intent") or about.get("charge") or about.get("id", "-"))


def _delivery(delivery: wire.Delivery, now_s: int) -> views.Row:
    replay = (views.Action("replay_one", "Replay", delivery.id),)
    more = attempts_of(delivery, now_s)
    return views.Row(delivery.id, delivery_cells(delivery, now_s), replay, more=more, more_label="Attempts")
