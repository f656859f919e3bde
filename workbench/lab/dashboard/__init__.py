"""The dashboard: what a merchant sees of payments, events, deliveries, endpoints, keys and the sandbox."""

from collections.abc import Callable, Iterator
from typing import Any, Final

from msgspec.structs import replace

from workbench.errors import WorkbenchError
from workbench.lab import views
from workbench.lab.board import Board
from workbench.lab.dashboard.payments_tab import PaymentsSection, SuspenseSection
from workbench.lab.dashboard.requests_tab import RequestsSection
from workbench.lab.dashboard.settings_tab import ClockSection, KeysSection, OperatorsSection
from workbench.lab.dashboard.webhooks_tab import DeliveriesSection, EndpointsSection, EventsSection
from workbench.lab.sections import BoardSection, Message, SessionSection, Values
from workbench.lab.views import PLAIN, Actions, Beside, Fold, Form, Item, Menu, Section, Split
from workbench.session import Session

_SECTIONS: Final[dict[type[SessionSection], str]] = {
    PaymentsSection: "Payments",
    SuspenseSection: "Suspense",
    RequestsSection: "Requests",
    EventsSection: "Events",
    DeliveriesSection: "Deliveries",
    EndpointsSection: "Webhook endpoints",
    KeysSection: "API keys",
    OperatorsSection: "Operators",
}
"""What can be chosen in the menu, and its label there."""
_FOUND: Final = (PaymentsSection.id, RequestsSection.id, EventsSection.id)
"""Where one row can be looked for from elsewhere."""
_GO: Final = "go"


class MenuSection(BoardSection):
    """What can be chosen, and what is; how many sums wait in suspense."""

    id, wide = "menu", True
    chosen = PaymentsSection.id

    def __init__(self, waits: Callable[[], int]) -> None:
        self._waits = waits

    def _items(self) -> Iterator[Item]:
        labels = {each.id: label for each, label in _SECTIONS.items()}
        if waiting := self._waits():
            labels[SuspenseSection.id] += f" ({waiting})"
        yield Menu("Dashboard", tuple(labels.items()), self.chosen)

    def _on_show(self, on: str, _values: Values) -> Message:
        if on in {each.id for each in _SECTIONS}:
            self.chosen = on
        return Message("", PLAIN)


class Dashboard(Board):
    """All of it as text and HTML; live, the clock and what is chosen, so that only this is asked for."""

    def __init__(self, session: Session) -> None:
        self._chosen = tuple(each(session) for each in _SECTIONS)
        self._menu = MenuSection(lambda: self._section(SuspenseSection.id).waits())
        self._always = (ClockSection(session), self._menu)
        super().__init__(
            "Merchant dashboard",
            (*self._always, *self._chosen),
            session.watch,
            name="dashboard",
            slot=lambda payment: self._section(PaymentsSection.id).trace_of(payment),
        )

    def do(self, section: str, name: str, on: str = "", **values: str) -> Message | None:
        """Press a button: what a click does, for a script. An error of the service is a message, not raised.

        `go` leads to what another part of the dashboard has: `dashboard.do("menu", "go", "requests req_…")`.
        """
        part, _, identifier = on.partition(" ")
        if name != _GO or part not in _FOUND:
            return super().do(section, name, on, **values)
        with self._lock:
            self._section(part).find(identifier)
            self._menu.chosen = part
        return None

    def _section(self, part: str) -> Any:  # noqa: ANN401  one of several classes
        return next(each for each in self._chosen if each.id == part)

    def _leads(self, error: WorkbenchError) -> views.Action | None:
        """To the request that was refused, if it is one of the merchant's."""
        name = getattr(error, "request_id", None) or ""
        return views.Action(_GO, "Show the request", f"requests {name}") if name.startswith("req_") else None

    def sections(self) -> tuple[Section, ...]:
        """All of it, without what can only be pressed or filled in."""
        kept = (each for each in super().sections() if each.id != self._menu.id)
        return tuple(replace(each, items=_readable(each.items)) for each in kept)

    def live_sections(self) -> tuple[Section, ...]:
        """The clock, the menu and what is chosen in it."""
        chosen = [each for each in self._chosen if each.id == self._menu.chosen]
        return tuple(each.section() for each in (*self._always, *chosen))


def _readable(items: tuple[Item, ...]) -> tuple[Item, ...]:
    return tuple(_read(each) for each in items if not isinstance(each, Actions | Fold | Form | Menu))


def _read(item: Item) -> Item:
    if isinstance(item, Beside):
        return Beside(_readable(item.items))
    if isinstance(item, Split):
        drawer = item.drawer and replace(item.drawer, items=_readable(item.drawer.items))
        return Split(_readable(item.items), drawer)
    return item
