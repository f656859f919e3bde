"""The payment that is looked at: which one, how far it has come, and when what happened."""

from workbench.domain.ids import short_id
from workbench.lab.parts.part import BoardSection, Message, Values
from workbench.lab.parts.seen import LATEST, Gathered, Payment
from workbench.lab.parts.timeline import steps, timeline
from workbench.lab.parts.webhooks import verified_at
from workbench.lab.parts.words import lusaka
from workbench.lab.views import BAD, WARN, Action, Actions, Code, Facts, Field, Form, Item, Section
from workbench.session import Session
from workbench.snippets import snippet

_SPANS = (("10", "Let 10 seconds pass"), ("300", "Let 5 minutes pass"))


class PaymentSection(BoardSection):
    """The choice of a payment, its steps and its timeline."""

    id = "payment"
    handlers = ("follow", "wait")

    def __init__(self, session: Session, gathered: Gathered) -> None:
        self._session = session
        self._gathered = gathered

    def section(self) -> Section:
        """Of the latest payment, unless another was chosen."""
        gathered, payment = self._gathered, self._gathered.payment
        verified = verified_at(gathered.rows, gathered.arrivals)
        items: list[Item] = [self._choice()] if gathered.payments else []
        items.append(steps(gathered.rows, payment.status, payment.failure, verified))
        items += [_facts(payment)] if payment.id else []
        items.append(timeline(gathered.rows))
        items.append(Actions("Clock", tuple(Action("wait", label, span) for span, label in _SPANS)))
        return Section(self.id, "Payment", tuple(items))

    def follow(self, _on: str, values: Values) -> None:
        """Another payment was chosen."""
        chosen = values.get("payment", LATEST)
        self._gathered.chosen = chosen if chosen in {each.id for each in self._gathered.payments} else LATEST
        self._gathered.read()

    def wait(self, on: str, _values: Values) -> Message:
        """Move the clock: what falls due on the way happens."""
        seconds = int(on) if on in dict(_SPANS) else int(_SPANS[0][0])
        self._session.clock.advance(seconds)
        same = snippet("POST", "/sandbox/clock/advance", {"seconds": seconds}, base_url=self._session.base_url)
        return Message(f"{seconds} seconds have passed.", code=(Code("Python", same.python), Code("curl", same.curl)))

    def _choice(self) -> Form:
        options = [(each.id, _label(each)) for each in self._gathered.payments]
        latest = (LATEST, f"the latest: {options[0][1]}")
        field = Field("payment", "Payment looked at", self._gathered.chosen, "select", (latest, *options))
        return Form("choice", "Which payment", (field,), follow=True)


def news(payment: Payment, *, is_verified: bool) -> Message | None:
    """The message about a payment that has come to an end; None while it has not."""
    if payment.status == "succeeded":
        webhook = ", and its webhook has come, its signature verified" if is_verified else ""
        return Message(f"Paid: {payment.money} is booked in the ledger{webhook}.")
    if payment.status == "canceled":
        return Message(f"{payment.money} was canceled.", WARN)
    return Message(f"Not paid: {payment.failure.replace('_', ' ')}.", BAD) if payment.failure else None


def _label(payment: Payment) -> str:
    return f"{payment.money or 'an amount'} at {lusaka(payment.at)[1]}, {short_id(payment.id)}"


def _facts(payment: Payment) -> Facts:
    facts = {
        "Payment": payment.id,
        "Amount": payment.money,
        "Status": payment.status.replace("_", " "),
        "Failed for": payment.failure.replace("_", " "),
        "Number": payment.phone,
    }
    return Facts(tuple((name, value) for name, value in facts.items() if value))
