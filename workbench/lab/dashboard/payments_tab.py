"""The dashboard's payments: the list, all there is of one of them, and the money that came late."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal, InvalidOperation
from typing import Any, Final

from workbench.domain import wire
from workbench.domain.ledger import DEBIT, WAITING
from workbench.domain.masking import mask
from workbench.domain.money import ISO_4217, ZMW, Money, major_text, money_text
from workbench.domain.payments import FAILURES
from workbench.domain.phones import EVERY_OPERATOR
from workbench.domain.wire.trace_rows import CALL, ENTRY, call_of, entry_of
from workbench.errors import NotFound
from workbench.lab import views
from workbench.lab.board import Board
from workbench.lab.dashboard.found import OF_TIME, FoundSection, Opens, timed
from workbench.lab.dashboard.webhooks_tab import Replays, attempted
from workbench.lab.sections import STATES, Message, Values, counted, fact_at, when
from workbench.lab.trace_board import payment_board
from workbench.render import Widget, indented
from workbench.steps import short, step_of
from workbench.trace import rows_of
from workbench.trace.diagram import SequenceDiagram, clock_of, utc_of

NAMES: Final = {each.id: each.name for each in EVERY_OPERATOR.values()}
_ANY: Final = ("", "any")
_STATUS_CHOICES: Final = (_ANY, *((state, text[2:]) for state, text in STATES.items()))
_OPERATORS: Final = (_ANY, *NAMES.items())
_AMOUNTS: Final = {"min_minor": "K from", "max_minor": "K to"}
_NO_AMOUNT: Final = "An amount, such as 87.35."
_LARGEST_MINOR: Final = 10**12
_COLUMNS: Final = views.headings(
    "Payment", "Amount", "Status", "Description", "Customer", "Created (Lusaka)", numeric=("Amount",), pills=("Status",)
)
_TABS: Final = {"timeline": "Timeline", "ledger": "Ledger", "webhooks": "Webhooks", "json": "JSON", "trace": "Trace"}
_DAY, _WIDEST = len("2026-01-05"), 46
_SIGNS: Final = {"call": "→", "screen": "☎", "entry": "≡", "webhook": "✉"}


class PaymentsSection(Replays, FoundSection[wire.Payment]):
    """The balance and the payments, newest first; of one of them, all there is."""

    id, title, wide = "payments", "Payments", True
    noun = "payment"
    columns = (
        "id", "created_lusaka", "amount", "refunded", "currency", "status", "description", "phone", "operator",
        "charge", "failure_code",
    )  # fmt: skip
    filters = (
        ("search", "Id, description, last digits of the number", "search", ()),
        ("status", "Status", "select", _STATUS_CHOICES),
        ("provider", "Operator", "select", _OPERATORS),
        *OF_TIME,
        *((name, label, "number", ()) for name, label in _AMOUNTS.items()),
    )

    _traced: tuple[str, Board] | None = None
    """The payment whose trace was looked through last, and the board of it."""

    def _items(self) -> Iterator[views.Item]:
        balance = self._looking.balance.retrieve()
        sums = (balance.available, balance.pending, balance.owed)
        names = ("Available to pay out", "Pending, cleared at night", "Owed")
        yield views.Facts(tuple(zip(names, map(_sum, sums), strict=True)))
        yield from super()._items()

    def _read(self, query: Mapping[str, str]) -> wire.Found[wire.Payment]:
        return self._session.untraced.payments(**query)

    def _asked(self, name: str, kind: str, text: str) -> str:
        return _minor(text) if name in _AMOUNTS else super()._asked(name, kind, text)

    def _grid(self, caption: str, rows: Iterable[wire.Payment]) -> views.Grid:
        return views.Grid(caption, _COLUMNS, tuple(map(_row, rows)))

    def _line(self, row: wire.Payment) -> tuple[object, ...]:
        sums = (Money(each, row.currency).major for each in (row.amount_minor, row.refunded_minor))
        return (
            row.id, when(row.created), *sums, row.currency, row.state, row.description, row.phone, row.provider,
            row.charge, row.failure_code,
        )  # fmt: skip

    def _drawer(self, opened: str) -> views.Drawer:
        details = self._session.untraced.payment(opened)
        payment = details.payment
        tab = self._tab if self._tab in _TABS else "timeline"
        items = (
            *self._overview(details),
            views.Menu("Of this payment", tuple(_TABS.items()), tab, do="tab"),
            *getattr(self, f"_{tab}")(details),
        )
        return views.Drawer(opened, _money(payment), _status(payment), items, views.Action("unfold", "Close", opened))

    def _overview(self, details: wire.PaymentDetails) -> Iterator[views.Item]:
        payment = details.payment
        facts: list[views.Fact] = [("Description", payment.description or ""), ("Customer", _customer(payment))]
        facts += [("Charge", payment.charge or ""), fact_at("Created", payment.created)]
        if payment.failure_code:
            facts += [("Why it failed", FAILURES.get(payment.failure_code, payment.failure_code))]
        if payment.refunded_minor:
            under_way = ", under way" * _is_sending(details)
            facts += [("Refunded", f"{money_text(payment.refunded_minor, payment.currency)}{under_way}")]
        yield views.Facts(tuple(each for each in facts if each[1]))
        left = Money(payment.amount_minor - payment.refunded_minor, payment.currency)
        if payment.state in ("succeeded", "part_refunded"):
            digits, whole = (text(left.amount_minor, left.currency) for text in (major_text, money_text))
            ask = f"{whole.replace(digits, '{amount}')} goes back to the customer. Refund it?"
            refund = views.Action("refund", "Refund", payment.id, primary=True, confirm=ask)
            label, most = f"Amount in {left.currency}", f"At most {whole}"
            amount = views.Field("amount", label, str(left.major), "number", hint=most)
            form = views.Form(f"refund-{payment.id}", f"Refund of {payment.id}", (amount,), (refund,), row=True)
            yield views.Fold("refund", "Refund", (form,))

    def _timeline(self, details: wire.PaymentDetails) -> Iterator[views.Item]:
        rows = []
        for row in rows_of(details.trace):
            step = step_of(row)
            name = call_of(row).response.headers.get("Request-Id", "") if step.kind == CALL else ""
            leads = (views.Action("go", "Request", f"requests {name}"),) if name else ()
            # The day is said where it is another than that of the payment.
            at = clock_of(step.at).removeprefix(when(details.payment.created)[:_DAY]).strip()
            said = f"{_SIGNS[step.kind]} {short(row['what'], _WIDEST)}"
            result = f"{'✗ ' * step.is_bad}{row['result']}"
            rows.append(views.Row(str(row["seq"]), (said, result, at), leads, hovers=("", "", utc_of(step.at))))
        columns = views.headings("What", "Result", "Lusaka")
        yield views.Grid(f"{len(rows)} steps, oldest first", columns, tuple(rows))

    def _ledger(self, details: wire.PaymentDetails) -> Iterator[views.Item]:
        columns = views.headings("Account", "Debit", "Credit", numeric=("Debit", "Credit"))
        entries = [row for row in rows_of(details.trace) if row["kind"] == ENTRY]
        for row in entries:
            rows = []
            for place, (side, account, minor, currency) in enumerate(entry_of(row).postings):
                amount = money_text(minor, currency)
                rows.append(views.Row(f"{place}", (account, *((amount, "") if side == DEBIT else ("", amount)))))
            yield views.Grid(f"{row['what']}, {clock_of(row['at'])}", columns, tuple(rows))
        if not entries:
            yield views.Note("No money has moved.")

    def _webhooks(self, details: wire.PaymentDetails) -> Iterator[views.Item]:
        sent = {each.event for each in details.deliveries}
        rows = [*attempted(details.deliveries, self._now_s())]
        rows += [views.Row(each.id, (each.type, "nowhere")) for each in details.events if each.id not in sent]
        columns = views.headings("Event, and where to", "Status", pills=("Status",))
        yield views.Grid(f"{len(details.events)} events and their deliveries", columns, tuple(rows), "None.")

    def _json(self, details: wire.PaymentDetails) -> Iterator[views.Item]:
        payment = details.payment.id
        group = self._looking.payment_intents if payment.startswith("pi_") else self._looking.charges
        text = mask(indented(wire.to_json(group.retrieve(payment)).decode()))
        yield views.Code("JSON, masked", text)

    def _trace(self, details: wire.PaymentDetails) -> Iterator[views.Item]:
        code = views.Code("The same in Python", f'bench.trace.for_("{details.payment.id}")')
        drawn = SequenceDiagram(rows_of(details.trace)).svg
        yield views.Slot(details.payment.id, "Trace", (views.Picture(drawn, "Sequence diagram of this payment"),))
        yield code

    def trace_of(self, payment: str) -> Widget:
        """The trace of a payment, to look through; the same one for as long as no other is looked at."""
        if self._traced is None or self._traced[0] != payment:
            self._traced = payment, payment_board(payment, self._session)
        return self._traced[1].widget

    def _on_refund(self, on: str, values: Values) -> Message:
        payment = self._session.untraced.payment(on).payment
        try:
            minor = int(_minor(values.get("amount", "")))
        except ValueError as error:
            return Message(str(error), views.BAD)
        amount = Money(minor, payment.currency)
        body: dict[str, Any] = {"charge": on, "amount": minor}
        if on.startswith("pi_"):
            body = {"payment_intent": on, "amount": amount.major}
        self._pay.refunds.create(**body)
        text = f"{money_text(minor, payment.currency)} goes back to the customer."
        return Message(text, code=self._code("POST", "/v1/refunds", body))


class SuspenseSection(Opens):
    """Money that came after its attempt had failed, newest first: credited to the merchant, or returned."""

    id, title, wide = "suspense", "Suspense", True

    def _items(self) -> Iterator[views.Item]:
        yield views.Note(
            "Money that came after its payment had failed. Credit or return it here, as the provider does."
        )
        late = tuple(map(_late_row, reversed(self._session.untraced.suspense())))
        caption = f"{counted(len(late), 'late sum')}, newest first"
        yield self._split(
            views.Grid(caption, _LATE, late, "None came late.", cards=True, opens="unfold", opened=self._open)
        )

    def _drawer(self, opened: str) -> views.Drawer:
        late = next((each for each in self._session.untraced.suspense() if each.id == opened), None)
        if late is None:
            raise NotFound(f"There is no late sum {opened!r}.", code="suspense_not_found", param="id")
        paid = _paid(late)
        facts: list[views.Fact] = [("Customer", late.phone), ("Operator's reference", late.operator_reference)]
        facts += [("Payment", paid), fact_at("Came", late.since)]
        facts += [fact_at("Settled", late.settled_at)] if late.settled_at else []
        ways = [views.Action("settle", label, f"{how} {opened}", confirm=ask) for how, (label, ask) in _WAYS.items()]
        leads = views.Action("go", "Payment", f"payments {paid}")
        items = (
            views.Facts(tuple(facts)),
            views.Actions("This sum", (leads, *(ways if late.settled_by is None else ()))),
        )
        title, close = _major(late.amount, late.currency), views.Action("unfold", "Close", opened)
        return views.Drawer(opened, title, _late_status(late), items, close)

    def waits(self) -> int:
        """How many sums wait."""
        return sum(each.status == WAITING for each in self._session.untraced.suspense())

    def _on_settle(self, on: str, _values: Values) -> Message:
        how, _, item = on.partition(" ")
        settled = self._session.operator.settle(item, how)
        code = self._code("POST", f"/sandbox/suspense/{item}/settle", {"how": how})
        return Message(f"{_major(settled['amount'], settled['currency'])} was {settled['status']}.", code=code)


_WAYS: Final = {
    "credit": ("Credit to merchant", "You get the money, less the fee. Credit it?"),
    "return": ("Return to customer", "The customer gets the money back. Return it?"),
}
_LATE_STATUSES: Final = {WAITING: "◷ waiting", "credited": "✓ credited", "returned": "↩ returned"}
_LATE: Final = views.headings(
    "Payment", "Amount", "Status", "Customer", "Operator's reference", "Came (Lusaka)",
    numeric=("Amount",), pills=("Status",),
)  # fmt: skip


def _late_row(late: wire.Suspense) -> views.Row:
    amount, status = _major(late.amount, late.currency), _late_status(late)
    return timed(late.id, (_paid(late), amount, status, late.phone, late.operator_reference), late.since)


def _late_status(late: wire.Suspense) -> str:
    return _LATE_STATUSES.get(late.status, late.status)


def _paid(late: wire.Suspense) -> str:
    return late.payment_intent or late.charge


def _row(payment: wire.Payment) -> views.Row:
    cells = (payment.id, _money(payment), _status(payment), payment.description or "", _customer(payment))
    return timed(payment.id, cells, payment.created)


def _status(payment: wire.Payment) -> str:
    why = f": {payment.failure_code}" if payment.state == "failed" and payment.failure_code else ""
    return f"{STATES[payment.state]}{why}"


def _is_sending(details: wire.PaymentDetails) -> bool:
    """Whether the operator has yet to send a refund of the payment."""
    entries = Counter(row["result"] for row in rows_of(details.trace) if row["kind"] == ENTRY)
    return entries["refund_asked"] > entries["refund_sent"] + entries["refund_failed"]


def _customer(payment: wire.Payment) -> str:
    return f"{payment.phone} {NAMES.get(payment.provider or '', payment.provider)}" if payment.phone else ""


def _money(payment: wire.Payment) -> str:
    return money_text(payment.amount_minor, payment.currency)


def _major(amount: Decimal, currency: str) -> str:
    return money_text(int(amount * 10 ** ISO_4217.get(currency, ZMW).decimals), currency)


def _sum(amounts: Iterable[wire.Amount]) -> str:
    return ", ".join(_major(each.amount, each.currency) for each in amounts) or money_text(0, ZMW.code)


def _minor(text: str) -> str:
    """An amount that somebody typed, in minor units. Raises ValueError: none, or finer than a ngwee."""
    try:
        minor = Decimal(text.strip().removeprefix("K").replace(",", "")) * 10**ZMW.decimals
    except InvalidOperation:
        raise ValueError(_NO_AMOUNT) from None
    if not minor.is_finite() or minor != int(minor) or not 0 <= minor < _LARGEST_MINOR:
        raise ValueError(_NO_AMOUNT)
    return str(int(minor))
