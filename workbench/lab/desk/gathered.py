"""What a desk has gathered of the sandbox: the payments, the one that is looked at, and the rows of its trace."""

import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

from workbench.domain import wire
from workbench.domain.ids import short_id
from workbench.domain.money import ISO_4217, money_from_integer, money_from_major, money_text
from workbench.domain.phones import OFFERED, e164_of, mask_phone
from workbench.domain.reading import json_from
from workbench.domain.wire.trace_rows import call_of, webhook_of
from workbench.errors import WorkbenchError
from workbench.lab.sections import BoardSection, Message
from workbench.lab.views import BAD, WARN
from workbench.receiver import Arrival
from workbench.render import indented
from workbench.session import Session
from workbench.trace import TraceReader, rows_of

TraceRow: TypeAlias = Mapping[str, Any]
Rows: TypeAlias = Sequence[TraceRow]
LATEST = ""
"""The choice of the payment that was made last, whichever that is."""
_MOST_SHOWN = 50
_MOST_READ = 20_000
_CREATING = ("POST /v1/payment_intents", "POST /v1/charges")
_LINE = 64
_STRING = r'"(?:[^"\\]|\\.)*"'
_INNERMOST = re.compile(rf'(?<=: )(?:\[(?:[^"\[\]{{}}]|{_STRING})*\]|\{{(?:[^"\[\]{{}}]|{_STRING})*\}})')
"""A member's list or object that holds no other, strings skipped whole."""
_BREAK = re.compile(r"\n *")


def short_path(path: str) -> str:
    """A path with the ids in it shortened."""
    return "/".join(short_id(each) for each in path.split("/"))


class Payment(NamedTuple):
    """An intent, or a charge made in one call."""

    id: str
    money: str
    at: str
    status: str = ""
    failure: str = ""
    phone: str = ""
    """Masked, as the service shows it."""


NOBODY = Payment("", "", "")
"""What is looked at before anything was asked for."""


def news(payment: Payment, *, is_verified: bool) -> Message | None:
    """The message about a payment that has come to an end; None while it has not."""
    if payment.status == "succeeded":
        webhook = ", and its webhook has come, its signature verified" if is_verified else ""
        return Message(f"Paid: {payment.money} is booked in the ledger{webhook}.")
    if payment.status == "canceled":
        return Message(f"{payment.money} was canceled.", WARN)
    return Message(f"Not paid: {payment.failure.replace('_', ' ')}.", BAD) if payment.failure else None


class Gathered:
    """What was read of the sandbox. `chosen` is an id, or LATEST; `numbers` are those typed here, by payment."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._client = session.looking()
        self._control = session.untraced
        self._reader = TraceReader(
            lambda seq: rows_of(self._control.trace(seq)),
            # Of a month of traffic, its last hours.
            first=lambda: max(0, self.seq() - _MOST_READ),
        )
        self.chosen = LATEST
        self.numbers: dict[str, str] = {}
        self.payments: tuple[Payment, ...] = ()
        self.payment = NOBODY
        self.rows: Rows = ()
        self.accounts: list[wire.LedgerAccount] = []
        self.deliveries: dict[str, wire.Delivery] = {}

    @cached_property
    def unit_minor(self) -> int:
        """What one unit of a charge's amount is worth in minor units: 1, or 100 where the register says so."""
        return 100 if self._control.in_force().get("charge_amount_unit") == "major" else 1

    @cached_property
    def providers(self) -> tuple[tuple[str, str], ...]:
        """The operators of the service: identifier and name."""
        offered = OFFERED[self._control.in_force().get("zed_mobile", "refused")]
        return tuple((each.id, each.name) for each in offered.values())

    @property
    def arrivals(self) -> list[Arrival]:
        """What has reached this bench's receiver."""
        receiver = self._session.started
        return list(receiver.arrivals) if receiver else []

    @property
    def number(self) -> str:
        """The number of the payment that is looked at, whole, if somebody here has typed it; else empty."""
        typed = self.numbers.get(self.payment.id)
        same = [each for each in self._session.numbers if mask_phone(e164_of(each, "national")) == self.payment.phone]
        return typed or next(iter(same), "")

    def seq(self) -> int:
        """How far the sandbox has come."""
        return self._control.clock().seq

    def calls_since(self, seq: int) -> Rows:
        """The calls that pay, after this place."""
        rows = rows_of(self._control.trace(seq))
        return [row for row in rows if row["kind"] == "call" and row["what"].startswith("POST /v1/")]

    def choose(self, name: str) -> None:
        """Look at a payment; where it is the latest, at whichever will be the latest later."""
        self.chosen = LATEST
        self.read()
        if self.payment.id != name:
            self.chosen = name
            self.read()

    def read(self) -> None:
        """Ask for what is new. Raises ServiceUnreachable: no response."""
        self._reader.read()
        by_payment: dict[str, list[TraceRow]] = {}
        for row in self._reader.rows:
            if row["payment"]:
                by_payment.setdefault(row["payment"], []).append(row)
        names = [name for name, rows in by_payment.items() if name[:3] in {"pi_", "ch_"} and any(map(_creates, rows))]
        calls = {name: next(filter(_creates, by_payment[name])) for name in names[: -_MOST_SHOWN - 1 : -1]}
        self.payments = tuple(Payment(name, self._money(call), call["at"]) for name, call in calls.items())
        found = [each for each in self.payments if each.id == self.chosen] or self.payments
        self.payment = self._now(found[0]) if found else NOBODY
        self.rows = by_payment.get(self.payment.id, [])
        self.accounts = self._control.accounts() if self.rows else []
        self.deliveries = self._delivered()

    def _money(self, call: TraceRow) -> str:
        """What the call that created a payment has of its amount."""
        is_charge = call["what"].startswith("POST /v1/charges")
        sides = call_of(call)
        for text in (sides.response.body, sides.request.body):
            body = object_in(text)
            try:
                amount, code = body["amount"], ISO_4217[body["currency"].upper()]
                if is_charge:
                    unit_minor = 1 if self.unit_minor == 1 else 10**code.decimals
                    money = money_from_integer(amount, code, units_minor=unit_minor)
                else:
                    money = money_from_major(amount, code)
                return money_text(money.amount_minor, money.currency)
            except (WorkbenchError, KeyError, TypeError, AttributeError):
                continue
        return ""

    def _now(self, payment: Payment) -> Payment:
        """With what only its object has, where the service offers that."""
        try:
            if not payment.id.startswith("pi_"):
                charge = self._client.charges.retrieve(payment.id)
                return payment._replace(status=charge.status, failure=charge.failure_code or "", phone=charge.phone)
            intent = self._client.payment_intents.retrieve(payment.id)
        except WorkbenchError:
            return payment
        error, method = intent.last_payment_error, intent.payment_method
        failure, phone = error.code if error else "", method.mobile_money.phone if method else ""
        return payment._replace(status=intent.status, failure=failure, phone=phone)

    def _delivered(self) -> dict[str, wire.Delivery]:
        """Each by its id: of a payment that is long past, none is on the first page of a list."""
        named = dict.fromkeys(webhook_of(row).delivery for row in self.rows if row["kind"] == "webhook")
        try:
            return {name: self._client.deliveries.retrieve(name) for name in named}
        except WorkbenchError:
            return {}


def _creates(row: TraceRow) -> bool:
    """Whether this is the call that created a payment, not one that only read it."""
    return row["kind"] == "call" and str(row["what"]).startswith(_CREATING)


def object_in(text: str) -> dict[str, Any]:
    """The JSON object that a text holds; an empty one where it holds none."""
    try:
        body = json_from(text.encode())
    except WorkbenchError:
        return {}
    return body if isinstance(body, dict) else {}


def pretty(text: str) -> str:
    """JSON laid out for reading, every number as it was written; anything else as it is."""
    laid_out = indented(text)
    # A list or an object without another in it stands on one line, where it fits. What is no JSON came back itself.
    return text if laid_out is text else _INNERMOST.sub(_on_one_line, laid_out)


def _on_one_line(found: re.Match[str]) -> str:
    inside = _BREAK.sub(" ", found[0][1:-1]).strip()
    line = f"{found[0][0]}{inside}{found[0][-1]}"
    return line if len(line) <= _LINE else found[0]


class DeskSection(BoardSection):
    """A section that shows what was gathered, and acts with the session."""

    def __init__(self, session: Session, gathered: Gathered) -> None:
        self._session = session
        self._gathered = gathered
