"""The first glance: what is the merchant's, and the latest payments."""

from collections.abc import Sequence
from typing import ClassVar

from msgspec import UNSET

from workbench.domain import wire
from workbench.lab.parts.pages import Pages
from workbench.lab.parts.part import BoardSection, Handler, Values
from workbench.lab.parts.source import Source
from workbench.lab.parts.words import when
from workbench.lab.views import Facts, Grid, Row, Section, headings

_PAID, _FAILED, _ENDED = "succeeded", "requires_payment_method", "canceled"


class PaymentsSection(BoardSection):
    """The balance and the payment intents, newest first."""

    id = "payments"

    def __init__(self, source: Source) -> None:
        self._source = source
        self._pages = Pages[wire.PaymentIntent](lambda: source.looking.payment_intents, size=10)

    def section(self) -> Section:
        """What is to be seen now."""
        balance = self._source.looking.balance.retrieve()
        rows = tuple(_row(each) for each in self._pages.rows())
        columns = headings("Payment", "Amount", "Status", "Phone", "Made (Lusaka)", numeric=("Amount",))
        return Section(
            self.id,
            "Payments",
            (
                Facts((
                    ("Available to pay out", _sum(balance.available)),
                    ("Pending, cleared at night", _sum(balance.pending)),
                    ("Owed", _sum(balance.owed)),
                )),
                Grid("Payment intents, newest first", columns, rows, cards=True),
                *self._pages.buttons("Payments"),
            ),
            wide=True,
        )  # fmt: skip

    def turn(self, on: str, values: Values) -> None:
        """Another page."""
        self._pages.turn(on)

    handlers: ClassVar[dict[str, Handler]] = {"turn": turn}


def _row(intent: wire.PaymentIntent) -> Row:
    amount = "" if intent.amount is UNSET else f"{intent.amount:,.2f} {intent.currency}"
    method = intent.payment_method
    phone = method.mobile_money.phone if isinstance(method, wire.MobileMoneyMethod) else "-"
    made = "" if intent.created is UNSET else when(intent.created)
    return Row(intent.id, (intent.id, amount, _status(intent), phone, made))


def _status(intent: wire.PaymentIntent) -> str:
    error = intent.last_payment_error
    if intent.status == _PAID:
        return "✓ succeeded"
    if intent.status == _FAILED and isinstance(error, wire.PaymentError):
        return f"✗ failed: {error.code}"
    return {_ENDED: "✗ canceled"}.get(intent.status, intent.status.replace("_", " "))


def _sum(amounts: Sequence[wire.Amount]) -> str:
    return ", ".join(f"{each.amount:,.2f} {each.currency}" for each in amounts) or "0.00"
