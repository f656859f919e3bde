"""What a desk has gathered of the sandbox: the payments, the one that is looked at, and the rows of its trace."""

import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, TypeAlias

from workbench.domain import wire
from workbench.domain.ids import short_id
from workbench.domain.money import money_text
from workbench.domain.phones import OFFERED, e164_of, mask_phone
from workbench.domain.reading import json_from
from workbench.errors import WorkbenchError
from workbench.lab.sections import BoardSection, Message
from workbench.lab.views import BAD, WARN
from workbench.receiver import Arrival
from workbench.render import indented
from workbench.session import Session
from workbench.trace import rows_of

TraceRow: TypeAlias = Mapping[str, Any]
Rows: TypeAlias = Sequence[TraceRow]
LATEST = ""
"""The choice of the payment that was made last, whichever that is."""
_MOST_SHOWN = 50
_LINE = 64
_STRING = r'"(?:[^"\\]|\\.)*"'
_INNERMOST = re.compile(rf'(?<=: )(?:\[(?:[^"\[\]{{}}]|{_STRING})*\]|\{{(?:[^"\[\]{{}}]|{_STRING})*\}})')
"""A member's list or object that holds no other, strings skipped whole."""
_BREAK = re.compile(r"\n *")


def short_path(path: str) -> str:
    """A path with the ids in it shortened."""
    return "/".join(short_id(each) for each in path.split("/"))


def money_of(payment: wire.Payment) -> str:
    """What was asked for: `K150.00`."""
    return money_text(payment.amount_minor, payment.currency)


def news(payment: wire.Payment, *, is_verified: bool) -> Message | None:
    """The message about a payment that has come to an end; None while it has not."""
    money = money_of(payment)
    if payment.refunded_minor:
        return Message(f"{money_text(payment.refunded_minor, payment.currency)} of {money} goes back to the customer.")
    if payment.state == "succeeded":
        return Message(f"Paid: {money} is booked in the ledger{', and its webhook is verified' * is_verified}.")
    if payment.state == "canceled":
        return Message(f"{money} was canceled.", WARN)
    return Message(f"Not paid: {why(payment)}.", BAD) if payment.state == "failed" else None


def why(payment: wire.Payment) -> str:
    """Why no money has moved; empty where it has, or may still."""
    return (payment.failure_code or "").replace("_", " ")


class Gathered:
    """What was read of the sandbox. `chosen` is an id, or LATEST; `numbers` are those typed here, by payment."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._control = session.untraced
        self.chosen = LATEST
        self.numbers: dict[str, str] = {}
        self._forget()

    def _forget(self) -> None:
        self.payments: list[wire.Payment] = []
        """The newest, and how many there are in all."""
        self.total = 0
        self.payment: wire.Payment | None = None
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
        if self.payment is None:
            return ""
        masked = self.payment.phone
        same = [each for each in self._session.numbers if mask_phone(e164_of(each, "national")) == masked]
        return self.numbers.get(self.payment.id) or next(iter(same), "")

    def seq(self) -> int:
        """How far the sandbox has come."""
        return self._control.clock().seq

    def calls_since(self, seq: int) -> Rows:
        """The calls that pay, after this place."""
        rows = rows_of(self._control.trace(seq, kind="call"))
        return [row for row in rows if row["what"].startswith("POST /v1/")]

    def choose(self, name: str) -> None:
        """Look at a payment; where it is the latest, or none, at whichever will be the latest later."""
        self.chosen = name
        self.read()
        if self.chosen not in {each.id for each in self.payments[1:]}:
            self.chosen = LATEST

    def read(self) -> None:
        """Ask for what is new. Raises ServiceUnreachable: no response."""
        found = self._control.payments(limit=str(_MOST_SHOWN))
        chosen = next((each for each in found.data if each.id == self.chosen), None)
        chosen = chosen or next(iter(found.data), None)
        if chosen is None:
            self._forget()
            return
        self.payments, self.total = found.data, found.total
        details = self._control.payment(chosen.id)
        self.payment, self.rows = details.payment, rows_of(details.trace)
        self.deliveries = {each.id: each for each in details.deliveries}
        self.accounts = self._control.accounts()


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
