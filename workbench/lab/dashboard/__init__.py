"""The dashboard: what a merchant sees of payments, events, deliveries, endpoints, keys and the sandbox."""

from collections.abc import Iterator
from typing import Final

from msgspec.structs import replace

from workbench.lab.board import Board
from workbench.lab.dashboard.payments_tab import EventsSection, PaymentsSection
from workbench.lab.dashboard.settings_tab import ClockSection, KeysSection, OperatorsSection
from workbench.lab.dashboard.webhooks_tab import DeliveriesSection, EndpointsSection
from workbench.lab.sections import BoardSection, Message, SessionSection, Values
from workbench.lab.views import PLAIN, Actions, Beside, Fold, Form, Item, Menu, Section
from workbench.session import Session


class MenuSection(BoardSection):
    """What there is to see, by id and label, and what is chosen."""

    id, wide = "menu", True

    def __init__(self, label: str, choices: tuple[tuple[str, str], ...]) -> None:
        self._label = label
        self._choices = choices
        self.chosen = choices[0][0]

    def _items(self) -> Iterator[Item]:
        yield Menu(self._label, self._choices, self.chosen)

    def _on_show(self, on: str, _values: Values) -> Message:
        if on in dict(self._choices):
            self.chosen = on
        return Message("", PLAIN)


_SECTIONS: Final[dict[type[SessionSection], str]] = {
    PaymentsSection: "Payments",
    KeysSection: "API keys",
    EndpointsSection: "Webhook endpoints",
    EventsSection: "Events",
    DeliveriesSection: "Deliveries",
    OperatorsSection: "Operators",
}
"""What can be chosen in the menu, and its label there."""


class Dashboard(Board):
    """All of it as text and HTML; live, the clock and what is chosen, so that only this is asked for."""

    def __init__(self, session: Session) -> None:
        self._menu = MenuSection("Dashboard", tuple((each.id, label) for each, label in _SECTIONS.items()))
        self._always = (ClockSection(session), self._menu)
        self._chosen = tuple(each(session) for each in _SECTIONS)
        super().__init__("Merchant dashboard", (*self._always, *self._chosen), session.watch)

    def sections(self) -> tuple[Section, ...]:
        """All of it, without what can only be pressed or filled in."""
        kept = (each for each in super().sections() if each.id != self._menu.id)
        return tuple(replace(each, items=_readable(each.items)) for each in kept)

    def live_sections(self) -> tuple[Section, ...]:
        """The clock, the menu and what is chosen in it."""
        chosen = [each for each in self._chosen if each.id == self._menu.chosen]
        return tuple(each.section() for each in (*self._always, *chosen))


def _readable(items: tuple[Item, ...]) -> tuple[Item, ...]:
    kept = (Beside(_readable(each.items)) if isinstance(each, Beside) else each for each in items)
    return tuple(each for each in kept if not isinstance(each, Actions | Fold | Form | Menu))
