"""The menu of a board that shows one part at a time."""

from collections.abc import Sequence
from typing import ClassVar

from workbench.lab.parts.part import BoardSection, Handler, Message, Values
from workbench.lab.views import PLAIN, Menu, Section


class MenuSection(BoardSection):
    """What there is to see, by id and label, and what is chosen."""

    id = "menu"

    def __init__(self, label: str, choices: Sequence[tuple[str, str]]) -> None:
        self._label = label
        self._choices = tuple(choices)
        self.chosen = self._choices[0][0]

    def section(self) -> Section:
        """The menu."""
        return Section(self.id, "", (Menu(self._label, self._choices, self.chosen),), wide=True)

    def show(self, on: str, values: Values) -> Message:
        """Choose; what was said of something else is said no more."""
        if on in dict(self._choices):
            self.chosen = on
        return Message("", PLAIN)

    handlers: ClassVar[dict[str, Handler]] = {"show": show}
