"""The menu of a board that shows one section at a time."""

from workbench.lab.parts.part import BoardSection, Message, Values
from workbench.lab.views import PLAIN, Menu, Section


class MenuSection(BoardSection):
    """What there is to see, by id and label, and what is chosen."""

    id = "menu"
    handlers = ("show",)

    def __init__(self, label: str, choices: tuple[tuple[str, str], ...]) -> None:
        self._label = label
        self._choices = choices
        self.chosen = choices[0][0]

    def section(self) -> Section:
        """The menu."""
        return Section(self.id, "", (Menu(self._label, self._choices, self.chosen),), wide=True)

    def show(self, on: str, _values: Values) -> Message:
        """Choose; the message about something else goes."""
        if on in dict(self._choices):
            self.chosen = on
        return Message("", PLAIN)
