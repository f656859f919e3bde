"""Deliveries: each attempt at them, what has become a dead letter, and sending again."""

from typing import Final

from workbench.domain import wire
from workbench.domain.webhooks import DEAD_LETTER, DELIVERED, PENDING
from workbench.lab.parts.attempts import attempts_of, deliveries_grid, delivery_cells
from workbench.lab.parts.pages import NEWEST, PagedSection
from workbench.lab.parts.part import Message, Values
from workbench.lab.parts.words import counted
from workbench.lab.views import GOOD, PLAIN, WARN, Action, Actions, Field, Form, Note, Row, Section

_FILTERS: Final = {"": "all", PENDING: "on their way", DELIVERED: "delivered", DEAD_LETTER: "dead letters"}
_PATH: Final = "/v1/deliveries"
_OUTCOMES: Final = {
    DELIVERED: ("Sent again, and delivered.", GOOD),
    PENDING: ("Sent again, and not taken: it is tried again later.", WARN),
}
"""What came of sending a delivery again, as far as that is known, by its status."""


class DeliveriesSection(PagedSection[wire.Delivery]):
    """The deliveries, newest first, of one status or of all; one of them unfolded."""

    id = "deliveries"
    handlers = ("show", "follow", "unfold", "replay", "replay_all", "turn")
    group = "deliveries"
    _status = ""

    def section(self) -> Section:
        """What is to be seen now."""
        now_s = self._now_s()
        rows = [self._row(each, now_s) for each in self._pages.rows(status=self._status or None)]
        dead = self._looking.deliveries.list(status=DEAD_LETTER, limit=1).data
        grid = deliveries_grid(f"Deliveries: {_FILTERS[self._status]}", rows)
        items = (self._form(), *_dead_letters(has_some=bool(dead)), grid, *self._pages.buttons("Deliveries"))
        return Section(self.id, "Developers: deliveries", items, wide=True)

    def show(self, on: str, values: Values) -> Message:
        """Of one status."""
        self._status = values.get("status", on)
        self._pages.turn(NEWEST)
        query = {"status": self._status} if self._status else {}
        return Message(f"Shown: {_FILTERS.get(self._status, '')}.", code=self._code("GET", _PATH, query=query))

    def follow(self, _on: str, values: Values) -> None:
        """Of the status that was just chosen."""
        if values.get("status", "") in _FILTERS:
            self._status = values["status"]
            self._pages.turn(NEWEST)

    def replay(self, on: str, _values: Values) -> Message:
        """Send one again."""
        self._pay.deliveries.replay(on)
        status = self._looking.deliveries.retrieve(on).status
        text, tone = _OUTCOMES.get(status, ("Sent again.", PLAIN))
        return Message(text, tone, self._code("POST", f"{_PATH}/{on}/replay"))

    def replay_all(self, _on: str, _values: Values) -> Message:
        """Send every dead letter again whose endpoint is enabled."""
        sent = self._pay.deliveries.replay_dead_letters()
        code = self._code("POST", "/v1/dead_letters/replay")
        if not sent.data:
            return Message("No dead letter has an endpoint that is enabled: enable it first.", WARN, code)
        return Message(f"{counted(len(sent.data), 'dead letter')} sent again.", code=code)

    def _form(self) -> Form:
        status = Field("status", "Status", self._status, "select", tuple(_FILTERS.items()))
        show = Action("show", "Show", primary=True)
        return Form("filter", "Which deliveries", (status,), (show,), follow=True, row=True)

    def _row(self, delivery: wire.Delivery, now_s: int) -> Row:
        is_open = delivery.id == self._open
        unfold = Action("unfold", "Attempts", delivery.id, expanded="yes" if is_open else "no")
        beneath = attempts_of(delivery, now_s) if is_open else ()
        actions = (unfold, Action("replay", "Replay", delivery.id))
        return Row(delivery.id, delivery_cells(delivery, now_s), actions, beneath=beneath)


def _dead_letters(*, has_some: bool) -> tuple[Note | Actions, ...]:
    if not has_some:
        return (Note("There are no dead letters."),)
    question = "Every dead letter whose endpoint is enabled is sent again. Replay all?"
    again = Action("replay_all", "Replay all dead letters", confirm=question)
    return (Note("There are dead letters: events that were given up.", WARN), Actions("Dead letters", (again,)))
