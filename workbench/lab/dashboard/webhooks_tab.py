"""The dashboard's events, their deliveries with each attempt, and the endpoints."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from functools import cached_property
from typing import Final

from msgspec.structs import replace

from workbench.domain import wire
from workbench.domain.ids import short_id
from workbench.domain.masking import Secret, mask, shortened
from workbench.domain.moments import span
from workbench.domain.webhooks import (
    DEAD_LETTER,
    DELIVERED,
    DISABLED,
    ENABLED,
    FAULTS,
    PENDING,
    types_and_families,
    types_of,
)
from workbench.lab import views
from workbench.lab.dashboard.found import Filter, ListedSection, timed
from workbench.lab.sections import Message, PagedSection, Reveal, SessionSection, Values, counted, utc, when
from workbench.render import indented

_MAX_RESPONSE: Final = 300
"""So many characters are shown of a receiver's response."""
_DELIVERY_TEXTS: Final = {PENDING: "◷ on its way", DELIVERED: "✓ delivered", DEAD_LETTER: "✗ dead letter"}


def attempted(deliveries: Iterable[wire.Delivery], now_s: int) -> Iterator[views.Row]:
    """Each delivery without its id: its attempts, its event, and a button to send it again."""
    for each in deliveries:
        event = views.Actions("This delivery", (views.Action("go", "Event", f"events {each.event}"),))
        more = (*_attempts(each, now_s), event)
        again = views.Action("replay", "Replay", each.id)
        cells = (f"{each.event_type} to {_place(each)}", _status(each))
        yield views.Row(each.id, cells, (again,), more=more, more_label="Attempts")


class Replays(SessionSection):
    """Sends deliveries again."""

    def _on_replay(self, on: str, _values: Values) -> Message:
        self._pay.deliveries.replay(on)
        status = self._looking.deliveries.retrieve(on).status
        text, tone = _OUTCOMES.get(status, ("Sent again.", views.PLAIN))
        return Message(text, tone, self._code("POST", f"{_DELIVERIES}/{on}/replay"))


def _status(delivery: wire.Delivery) -> str:
    return _DELIVERY_TEXTS.get(delivery.status, delivery.status)


def _place(delivery: wire.Delivery) -> str:
    return delivery.url.partition("://")[2] or delivery.url


def _tried(delivery: wire.Delivery, now_s: int) -> str:
    """How often it was sent, and when it will be."""
    tried = counted(len(delivery.attempts), "attempt")
    if delivery.next_attempt_at is None:
        return tried
    return f"{tried}, next in {span(delivery.next_attempt_at - now_s)}"


def _attempts(delivery: wire.Delivery, now_s: int) -> tuple[views.Item, ...]:
    """Each attempt, and what follows."""
    rows = tuple(_attempt(each) for each in delivery.attempts)
    columns = views.headings("No.", "Time (Lusaka)", "Status", "Took", "Answer", numeric=("No.", "Took"))
    grid = views.Grid(f"Attempts at delivery {delivery.id}", columns, rows, "None yet.", cards=True)
    return grid, _next(delivery, now_s)


def _attempt(attempt: wire.DeliveryAttempt) -> views.Row:
    status = "none" if attempt.status_code is None else str(attempt.status_code)
    response = shortened(mask(attempt.answer.strip() or attempt.fault or "(empty)"), _MAX_RESPONSE)
    number = str(attempt.number)
    cells = (number, when(attempt.at), status, f"{attempt.latency_ms} ms", response)
    return views.Row(number, cells, hovers=("", utc(attempt.at)))


def _next(delivery: wire.Delivery, now_s: int) -> views.Note:
    if delivery.status == DELIVERED:
        return views.Note("Delivered.", views.GOOD)
    if delivery.status == DEAD_LETTER:
        return views.Note("Given up: a dead letter. Repair the receiver, then replay it.", views.BAD)
    if delivery.next_attempt_at is None:
        return views.Note("It is being sent.")
    left = span(delivery.next_attempt_at - now_s)
    return views.Note(f"The next attempt is due at {when(delivery.next_attempt_at)} in Lusaka, in {left}.")


_EVENTS_PATH: Final = "/v1/events"


class EventsSection(ListedSection[wire.Event], Replays):
    """A page of events, newest first, as they are filtered; one of them opened."""

    id, title, wide = "events", "Developers: events", True
    group = "events"
    noun = "event"

    @cached_property
    def filters(self) -> tuple[Filter, ...]:
        """The types and families are those that this sandbox has."""
        _all, *named = types_and_families(types_of(self._session.untraced.in_force()["event_types"]))
        return (
            ("search", "Id, reference, last digits of the number", "search", ()),
            ("type", "Type", "select", (("", "all types"), *((each, each) for each in named))),
            ("created_since", "From", "date", ()),
        )

    def _grid(self, caption: str, rows: Iterable[wire.Event]) -> views.Grid:
        columns = views.headings("Event", "Type", "Payment", "Time (Lusaka)")
        return views.Grid(caption, columns, tuple(map(_row, rows)))

    def _on_replay_event(self, on: str, _values: Values) -> Message:
        sent = self._pay.events.replay(on)
        code = self._code("POST", f"{_EVENTS_PATH}/{on}/replay")
        if not sent.data:
            return Message("No endpoint that is enabled wants it.", views.WARN, code)
        return Message(f"Sent again to {counted(len(sent.data), 'endpoint')}.", code=code)

    def _drawer(self, opened: str) -> views.Drawer:
        event = self._looking.events.retrieve(opened)
        sent = self._looking.deliveries.list(event=event.id, limit=100).data
        rows = [*attempted(sent, self._now_s())]
        links = [views.Action("replay_event", "Replay to every endpoint", event.id)]
        links += [views.Action("go", "Payment", f"payments {_payment(event)}")]
        if event.request.id:
            links += [views.Action("go", "Request that caused it", f"requests {event.request.id}")]
        columns = views.headings("Sent to", "Status", pills=("Status",))
        items = (
            views.Facts((("Payment", _payment(event)), ("Caused by", event.request.id or "no request"))),
            views.Actions("This event", tuple(links)),
            views.Grid("Deliveries", columns, tuple(rows), "It was sent nowhere: no endpoint wanted it."),
            views.Code("Payload, numbers masked", mask(indented(wire.to_json(event).decode()))),
        )
        states = {each.status for each in sent}
        worst = next((each for each in (DEAD_LETTER, PENDING, DELIVERED) if each in states), "")
        status = _DELIVERY_TEXTS.get(worst, "○ sent nowhere")
        return views.Drawer(event.id, event.type, status, items, views.Action("unfold", "Close", event.id))


def _row(event: wire.Event) -> views.Row:
    at_s = int(datetime.fromisoformat(event.timestamp).timestamp())
    return timed(event.id, (short_id(event.id), event.type, short_id(_payment(event))), at_s)


def _payment(event: wire.Event) -> str:
    """The payment that an event's object belongs to, or is."""
    about = event.data.object
    return str(about.get("payment_intent") or about.get("charge") or about.get("id", "-"))


_DELIVERIES: Final = "/v1/deliveries"
_COLUMNS: Final = views.headings(
    "Delivery", "Event", "Status", "Sent to", "Attempts", "Created (Lusaka)", pills=("Status",)
)
_STATUSES: Final = (("", "any"), *((each, text[2:]) for each, text in _DELIVERY_TEXTS.items()))
_OUTCOMES: Final = {
    DELIVERED: ("Sent again, and delivered.", views.GOOD),
    PENDING: ("Sent again, and not taken: it is tried again later.", views.WARN),
}
"""What came of sending a delivery again, as far as that is known, by its status."""
_ALL_AGAIN: Final = "Every dead letter whose endpoint is enabled is sent again. Replay all?"
_DEAD_LETTERS: Final = views.Beside(
    (
        views.Note("There are dead letters: events that were given up.", views.WARN),
        views.Actions("Dead letters", (views.Action("replay_all", "Replay all dead letters", confirm=_ALL_AGAIN),)),
    )
)


class DeliveriesSection(ListedSection[wire.Delivery], Replays):
    """The deliveries, newest first, of one status or of all; one of them opened."""

    id, title, wide = "deliveries", "Developers: deliveries", True
    group = "deliveries"
    noun = "delivery"
    filters = (("status", "Status", "select", _STATUSES),)

    def _list(self, query: Mapping[str, str]) -> Iterator[views.Item]:
        if self._looking.deliveries.list(status=DEAD_LETTER, limit=1).data:
            yield _DEAD_LETTERS
        yield from super()._list(query)

    def _grid(self, caption: str, rows: Iterable[wire.Delivery]) -> views.Grid:
        now_s = self._now_s()
        return views.Grid(caption, _COLUMNS, tuple(self._row(each, now_s) for each in rows))

    def _on_replay_all(self, _on: str, _values: Values) -> Message:
        sent = self._pay.deliveries.replay_dead_letters()
        code = self._code("POST", "/v1/dead_letters/replay")
        if not sent.data:
            return Message("No dead letter has an endpoint that is enabled: enable it first.", views.WARN, code)
        return Message(f"{counted(len(sent.data), 'dead letter')} sent again.", code=code)

    def _row(self, delivery: wire.Delivery, now_s: int) -> views.Row:
        cells = (short_id(delivery.id), delivery.event_type, _status(delivery), _place(delivery))
        made = timed(delivery.id, (*cells, _tried(delivery, now_s)), delivery.created)
        again = (views.Action("replay", "Replay", delivery.id),) if delivery.status != DELIVERED else ()
        return replace(made, actions=again)

    def _drawer(self, opened: str) -> views.Drawer:
        delivery = self._looking.deliveries.retrieve(opened)
        links = (
            views.Action("replay", "Replay", opened),
            views.Action("go", "Event", f"events {delivery.event}"),
        )
        items = (
            views.Facts((("Sent to", delivery.url), ("Event", delivery.event))),
            views.Actions("This delivery", links),
            *_attempts(delivery, self._now_s()),
        )
        return views.Drawer(
            opened, delivery.event_type, _status(delivery), items, views.Action("unfold", "Close", opened)
        )


_ENDPOINTS: Final = "/v1/webhook_endpoints"
_STATUS_TEXTS: Final = {ENABLED: "✓ enabled", DISABLED: "⏸ paused"}
_HINT: Final = "* for all, or types and families, separated by commas: charge.*, refund.failed"
_FAULT_LABELS: Final = {"duplicate": "Deliver everything twice", "out_of_order": "Deliver out of order"}
_HAND_OVER: Final = "bench.receiver.secrets.append({}.secret)"
"""What makes the bench's own receiver know the new secret."""
_PAUSED: Final = (
    "Paused: nothing is sent there. What waits becomes a dead letter when it is due; what happens meanwhile is sent "
    "nowhere, and can be replayed from the events once it is enabled."
)
_ENABLED: Final = "Enabled: events go there from now on; dead letters can be replayed."
_URL: Final = views.Field("url", "URL", hint="Of this machine, such as http://127.0.0.1:8000/webhooks")
_EVENTS: Final = views.Field("events", "Events", "*", hint=_HINT)
_ADD: Final = views.Action("add", "Add endpoint", primary=True)
_NEW: Final = views.Form("new", "A new endpoint", (_URL, _EVENTS), (_ADD,), row=True)


class EndpointsSection(PagedSection[wire.WebhookEndpoint]):
    """The endpoints, newest first. The bench's own receiver is handed the secrets that it needs."""

    id, title, wide = "endpoints", "Developers: webhook endpoints", True
    group = "webhook_endpoints"

    def _items(self) -> Iterator[views.Item]:
        faults = {each.id: each.faults for each in self._session.untraced.delivery_faults()}
        rows = tuple(self._row(each, faults.get(each.id, [])) for each in self._rows())
        columns = views.headings("URL", "Events", "Status", "Signing secret", pills=("Status",))
        yield views.Grid("Endpoints", columns, rows, "None: events go nowhere.")
        yield from (*self._buttons("Endpoints"), _NEW)

    def _on_add(self, _on: str, values: Values) -> Message:
        url, types = _filled_in(values)
        made = self._pay.webhook_endpoints.create(url=url, enabled_events=types)
        also = self._handed_over(made)
        return Message(
            f"Added: events go to {url}. Copy the signing secret now, it is shown this once.{also}",
            code=self._code("POST", _ENDPOINTS, {"url": url, "enabled_events": types}),
            reveal=_reveal(made),
        )

    def _on_save(self, on: str, values: Values) -> Message:
        url, types = _filled_in(values)
        self._pay.webhook_endpoints.update(on, url=url, enabled_events=types)
        return Message("Saved.", code=self._code("PATCH", f"{_ENDPOINTS}/{on}", {"url": url, "enabled_events": types}))

    def _on_pause(self, on: str, _values: Values) -> Message:
        return self._set_status(on, DISABLED, _PAUSED)

    def _on_enable(self, on: str, _values: Values) -> Message:
        return self._set_status(on, ENABLED, _ENABLED)

    def _on_roll(self, on: str, _values: Values) -> Message:
        made = self._pay.webhook_endpoints.roll_secret(on)
        until = f" Until {when(made.secret_overlap_until)} messages are signed with the one before too."
        return Message(
            f"Rolled.{until} Copy the new secret now, it is shown this once.{self._handed_over(made)}",
            code=self._code(
                "POST", f"{_ENDPOINTS}/{on}/roll_secret", python=_HAND_OVER if self._is_own(made) else "{}"
            ),
            reveal=_reveal(made),
        )

    def _on_delete(self, on: str, _values: Values) -> Message:
        self._pay.webhook_endpoints.delete(on)
        return Message("Deleted: nothing more is sent there.", code=self._code("DELETE", f"{_ENDPOINTS}/{on}"))

    def _on_misbehave(self, on: str, values: Values) -> Message:
        faults = [each for each in FAULTS if values.get(each)]
        self._session.control.set_delivery_faults(on, faults)
        labels = " and ".join(_FAULT_LABELS[each].lower() for each in faults)
        text = f"From now on: {labels}." if faults else "Deliveries behave again."
        return Message(text, code=self._code("POST", f"/sandbox/webhook_endpoints/{on}/faults", {"faults": faults}))

    def _set_status(self, on: str, status: str, text: str) -> Message:
        self._pay.webhook_endpoints.update(on, status=status)
        return Message(text, code=self._code("PATCH", f"{_ENDPOINTS}/{on}", {"status": status}))

    def _handed_over(self, made: wire.WebhookEndpoint) -> str:
        """The bench's own receiver verifies with the new secret too."""
        if not self._is_own(made):
            return ""
        self._session.receiver.secrets.append(Secret(made.secret))
        return " The bench's own receiver has it already."

    def _is_own(self, endpoint: wire.WebhookEndpoint) -> bool:
        return endpoint.url == self._session.receiver_url

    def _row(self, endpoint: wire.WebhookEndpoint, faults: list[str]) -> views.Row:
        status = [_STATUS_TEXTS.get(endpoint.status, endpoint.status), *(each.replace("_", " ") for each in faults)]
        secret = "two, for a while" if endpoint.secret_overlap_until else "whsec_••••"
        cells = (endpoint.url, ", ".join(endpoint.enabled_events), ", ".join(status), secret)
        manage = _manage(endpoint, faults, is_own=self._is_own(endpoint))
        return views.Row(endpoint.id, cells, more=manage, more_label="Manage")


def _manage(endpoint: wire.WebhookEndpoint, faults: list[str], *, is_own: bool) -> tuple[views.Item, ...]:
    until, own = endpoint.secret_overlap_until, "this bench's own receiver, bench.receiver"
    facts = [("Id", endpoint.id), ("Made (Lusaka)", when(endpoint.created))]
    facts += [("Signed with both secrets until", when(until))] if until else []
    facts += [("It is", own)] if is_own else []
    fields = (
        views.Field("url", "URL", endpoint.url),
        views.Field("events", "Events", ", ".join(endpoint.enabled_events), hint=_HINT),
    )
    checks = tuple(views.Field(each, _FAULT_LABELS[each], "yes" if each in faults else "", "check") for each in FAULTS)
    save = views.Action("save", "Save", endpoint.id, primary=True)
    misbehave = views.Action("misbehave", "Set faults", endpoint.id)
    switch, label = ("pause", "Pause") if endpoint.status == ENABLED else ("enable", "Enable")
    roll = "A new secret; for a day the old one signs too. Roll it?"
    deaf = " The bench's own receiver would hear nothing more." if is_own else ""
    actions = (
        views.Action(switch, label, endpoint.id),
        views.Action("roll", "Roll secret", endpoint.id, confirm=roll),
        views.Action("delete", "Delete", endpoint.id, confirm=f"Nothing more is sent there.{deaf} Delete it?"),
    )
    return (
        views.Facts(tuple(facts)),
        views.Form(f"edit-{endpoint.id}", "Address and filter", fields, (save,), row=True),
        views.Form(f"faults-{endpoint.id}", "To test a receiver", checks, (misbehave,), row=True),
        views.Actions("This endpoint", actions),
    )


def _filled_in(values: Values) -> tuple[str, list[str]]:
    types = [each.strip() for each in values.get("events", "").split(",") if each.strip()]
    return values.get("url", "").strip(), types


def _reveal(endpoint: wire.WebhookEndpoint) -> Reveal:
    return Reveal("Signing secret", str(endpoint.secret))
