"""The first glance: what is the merchant's, and the latest payments."""

from collections.abc import Sequence

from msgspec import UNSET

from workbench.domain import wire
from workbench.lab.parts.pages import PagedSection
from workbench.lab.parts.words import when
from workbench.lab.views import Facts, Grid, Row, Section, headings

_FAILED, _STATUS_TEXTS = "requires_payment_method", {"succeeded": "✓ succeeded", "canceled": "✗ canceled"}


class PaymentsSection(PagedSection[wire.PaymentIntent]):
    """The balance and the payment intents, newest first."""

    id = "payments"
    handlers = ("turn",)
    group = "payment_intents"
    page_size = 10

    def section(self) -> Section:
        """What is to be seen now."""
        balance = self._looking.balance.retrieve()
        sums = (
            ("Available to pay out", _sum(balance.available)),
            ("Pending, cleared at night", _sum(balance.pending)),
            ("Owed", _sum(balance.owed)),
        )
        columns = headings("Payment", "Amount", "Status", "Phone", "Made (Lusaka)", numeric=("Amount",))
        grid = Grid("Payment intents, newest first", columns, tuple(map(_row, self._pages.rows())), cards=True)
        return Section(self.id, "Payments", (Facts(sums), grid, *self._pages.buttons("Payments")), wide=True)


def _row(intent: wire.PaymentIntent) -> Row:
    amount = "" if intent.amount is UNSET else f"{intent.amount:,.2f} {intent.currency}"
    method = intent.payment_method
    phone = method.mobile_money.phone if isinstance(method, wire.MobileMoneyMethod) else "-"
    made = "" if intent.created is UNSET else when(intent.created)
    return Row(intent.id, (intent.id, amount, _status(intent), phone, made))


def _status(intent: wire.PaymentIntent) -> str:
    error = intent.last_payment_error
    if intent.status == _FAILED and isinstance(error, wire.PaymentError):
        return f"✗ failed: {error.code}"
    return _STATUS_TEXTS.get(intent.status, intent.status.replace("_", " "))


def _sum(amounts: Sequence[wire.Amount]) -> str:
    return ", ".join(f"{each.amount:,.2f} {each.currency}" for each in amounts) or "0.00"
