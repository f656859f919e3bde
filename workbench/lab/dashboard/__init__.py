"""The dashboard: what a merchant sees of payments, events, deliveries, endpoints, keys and the sandbox."""

from collections.abc import Iterator, Sequence
from typing import Final

from msgspec import UNSET
from msgspec.structs import replace

from workbench.domain import wire
from workbench.lab import views
from workbench.lab.board import Board
from workbench.lab.dashboard.settings_tab import ClockSection, KeysSection, OperatorsSection
from workbench.lab.dashboard.webhooks_tab import DeliveriesSection, EndpointsSection, EventsSection
from workbench.lab.sections import BoardSection, Message, PagedSection, SessionSection, Values, when
from workbench.lab.views import PLAIN, Actions, Beside, Fold, Form, Item, Menu, Section
from workbench.session import Session

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


def _sum(amounts: Sequence[wire.Amount]) -> str:
    return ", ".join(f"{each.amount:,.2f} {each.currency}" for each in amounts) or "0.00"


def _row(intent: wire.PaymentIntent) -> views.Row:
    amount = "" if intent.amount is UNSET else f"{intent.amount:,.2f} {intent.currency}"
    method = intent.payment_method
    phone = method.mobile_money.phone if isinstance(method, wire.MobileMoneyMethod) else "-"
    made = "" if intent.created is UNSET else when(intent.created)
    status = _STATUS_TEXTS.get(intent.status, intent.status.replace("_", " "))
    error = intent.last_payment_error
    if intent.status == _FAILED and isinstance(error, wire.PaymentError):
        status = f"✗ failed: {error.code}"
    return views.Row(intent.id, (intent.id, amount, status, phone, made))


_SECTIONS: Final[dict[type[SessionSection], str]] = {
    PaymentsSection: "Payments",
    KeysSection: "API keys",
    EndpointsSection: "Webhook endpoints",
    EventsSection: "Events",
    DeliveriesSection: "Deliveries",
    OperatorsSection: "Operators",
}
"""What can be chosen in the menu, and its label there."""


class MenuSection(BoardSection):
    """What can be chosen, and what is."""

    id, wide = "menu", True
    chosen = PaymentsSection.id

    def _items(self) -> Iterator[Item]:
        yield Menu("Dashboard", tuple((each.id, label) for each, label in _SECTIONS.items()), self.chosen)

    def _on_show(self, on: str, _values: Values) -> Message:
        if on in {each.id for each in _SECTIONS}:
            self.chosen = on
        return Message("", PLAIN)


class Dashboard(Board):
    """All of it as text and HTML; live, the clock and what is chosen, so that only this is asked for."""

    def __init__(self, session: Session) -> None:
        self._menu = MenuSection()
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
