"""The test clock: what moment it is in the sandbox, and moving it."""

from decimal import Decimal, InvalidOperation
from typing import Final

from workbench.domain.moments import moment
from workbench.lab.parts.part import Message, Values
from workbench.lab.parts.source import SessionSection
from workbench.lab.parts.words import when
from workbench.lab.views import BAD, Action, Actions, Beside, Facts, Field, Fold, Form, Item, Section

_UNITS: Final = {"seconds": 1, "minutes": 60, "hours": 3600, "days": 86_400}
_STEPS: Final = (("60", "+1 minute"), ("3600", "+1 hour"), ("86400", "+1 day"))
_OTHER: Final = Form(
    "span",
    "Another span",
    (
        Field("count", "By how much", "5", "number"),
        Field("unit", "Of what", "minutes", "select", tuple((each, each) for each in _UNITS)),
    ),
    (Action("move", "Move", primary=True),),
    row=True,
)


class ClockSection(SessionSection):
    """The moment in UTC and in Lusaka; steps of a minute, an hour and a day, and any other."""

    id = "clock"
    handlers = ("look", "advance", "move")

    def section(self) -> Section:
        """What is to be seen now."""
        now = self._session.untraced.clock()
        is_running = now.mode == "running"
        steps = [Action("advance", label, seconds) for seconds, label in _STEPS]
        look = [Action("look", "Look again")] if is_running else []
        move = Actions("Move the clock", (*steps, *look))
        items = (_moment(now.now_ms, is_running=is_running), move, Fold("other", "Another span", (_OTHER,)))
        return Section(self.id, "Test clock", (Beside(items),), wide=True)

    def look(self, _on: str, _values: Values) -> None:
        """What a running clock shows is drawn anew after every button."""

    def advance(self, on: str, _values: Values) -> Message:
        """Move by so many seconds."""
        return self._move(Decimal(on))

    def move(self, _on: str, values: Values) -> Message:
        """Move by what was filled in."""
        try:
            count = Decimal(values.get("count", "").strip() or "0")
        except InvalidOperation:
            return Message(f"{values['count'][:20]!r} is no number.", BAD)
        if not count.is_finite() or values.get("unit") not in _UNITS:
            return Message("By how many seconds, minutes, hours or days?", BAD)
        return self._move(count * _UNITS[values["unit"]])

    def _move(self, seconds: Decimal) -> Message:
        clock = self._session.clock.advance(seconds)
        exact = int(seconds) if seconds == int(seconds) else seconds
        code = self._code("POST", "/sandbox/clock/advance", {"seconds": exact})
        return Message(f"The clock was moved; in Lusaka it is {when(clock.now_ms // 1000)}.", code=code)


def _moment(now_ms: int, *, is_running: bool) -> Item:
    goes = "by itself; what is shown is when it was last looked at" if is_running else "only when it is moved"
    utc = moment(now_ms).strftime("%Y-%m-%d %H:%M:%S")
    return Facts((("Lusaka", when(now_ms // 1000)), ("UTC", utc), ("It goes", goes)))
