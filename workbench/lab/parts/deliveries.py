"""Deliveries: each attempt at them, what has become a dead letter, and sending again."""

from typing import ClassVar, Final

from workbench.domain import wire
from workbench.domain.webhooks import DEAD_LETTER, DELIVERED, PENDING
from workbench.lab.parts import attempts
from workbench.lab.parts.pages import Pages
from workbench.lab.parts.part import BoardSection, Handler, Message, Values
from workbench.lab.parts.source import Source
from workbench.lab.parts.words import counted
from workbench.lab.views import PLAIN, WARN, Action, Actions, Field, Form, Note, Row, Section

_STATES: Final = (("", "all"), (PENDING, "on their way"), (DELIVERED, "delivered"), (DEAD_LETTER, "dead letters"))
_PATH: Final = "/v1/deliveries"


class DeliveriesSection(BoardSection):
    """The deliveries, newest first, of one status or of all; one of them unfolded."""

    id = "deliveries"

    def __init__(self, source: Source) -> None:
        self._source = source
        self._pages = Pages[wire.Delivery](lambda: source.looking.deliveries)
        self._status = ""
        self._open = ""

    def section(self) -> Section:
        """What is to be seen now."""
        now_s = self._source.control.clock().now_ms // 1000
        rows = [self._row(each, now_s) for each in self._pages.rows(status=self._status or None)]
        dead = self._source.looking.deliveries.list(status=DEAD_LETTER, limit=1)
        shown = dict(_STATES)[self._status]
        grid = attempts.grid(f"Deliveries: {shown}", rows)
        return Section(
            self.id,
            "Developers: deliveries",
            (self._filter(), *_dead(has_some=bool(dead.data)), grid, *self._pages.buttons("Deliveries")),
            wide=True,
        )

    def show(self, on: str, values: Values) -> Message:
        """Of one status."""
        self._status = values.get("status", on)
        self._pages.turn("newest")
        query = {"status": self._status} if self._status else {}
        return Message(
            f"Shown: {dict(_STATES).get(self._status, '')}.", code=self._source.code("GET", _PATH, query=query)
        )

    def follow(self, on: str, values: Values) -> None:
        """Of the status that was just chosen."""
        if values.get("status", "") in dict(_STATES):
            self._status = values["status"]
            self._pages.turn("newest")

    def unfold(self, on: str, values: Values) -> None:
        """Show the attempts at one, or fold them up."""
        self._open = "" if on == self._open else on

    def replay(self, on: str, values: Values) -> Message:
        """Send one again."""
        self._source.pay.deliveries.replay(on)
        return Message(
            *_replay_outcome(self._source.looking.deliveries.retrieve(on)),
            self._source.code("POST", f"{_PATH}/{on}/replay"),
        )

    def replay_all(self, on: str, values: Values) -> Message:
        """Send every dead letter again whose endpoint is enabled."""
        sent = self._source.pay.deliveries.replay_dead_letters()
        code = self._source.code("POST", "/v1/dead_letters/replay")
        if not sent.data:
            return Message("No dead letter has an endpoint that is enabled: enable it first.", WARN, code)
        return Message(f"{counted(len(sent.data), 'dead letter')} sent again.", code=code)

    def turn(self, on: str, values: Values) -> None:
        """Another page."""
        self._pages.turn(on)

    def _filter(self) -> Form:
        status = Field("status", "Status", self._status, "select", _STATES)
        return Form(
            "filter", "Which deliveries", (status,), (Action("show", "Show", primary=True),), follow=True, row=True
        )

    def _row(self, delivery: wire.Delivery, now_s: int) -> Row:
        is_open = delivery.id == self._open
        return Row(
            delivery.id,
            attempts.cells(delivery, now_s),
            (
                Action("unfold", "Attempts", delivery.id, expanded="yes" if is_open else "no"),
                attempts.replay(delivery),
            ),
            beneath=attempts.attempts(delivery, now_s) if is_open else (),
        )

    handlers: ClassVar[dict[str, Handler]] = {
        "show": show, "follow": follow, "unfold": unfold, "replay": replay, "replay_all": replay_all, "turn": turn,
    }  # fmt: skip


def _dead(*, has_some: bool) -> tuple[Note | Actions, ...]:
    if not has_some:
        return (Note("There are no dead letters."),)
    question = "Every dead letter whose endpoint is enabled is sent again. Replay all?"
    again = Action("replay_all", "Replay all dead letters", confirm=question)
    return (Note("There are dead letters: events that were given up.", WARN), Actions("Dead letters", (again,)))


def _replay_outcome(delivery: wire.Delivery) -> tuple[str, str]:
    """What came of sending it again, as far as that is known."""
    says = {
        DELIVERED: ("Sent again, and delivered.", "good"),
        PENDING: ("Sent again, and not taken: it is tried again later.", WARN),
    }
    return says.get(delivery.status, ("Sent again.", PLAIN))
