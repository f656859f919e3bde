"""Operator outages: which mobile network operator is down, until when; taken down and brought up again."""

from decimal import Decimal, InvalidOperation
from typing import Final

from workbench.domain import wire
from workbench.domain.phones import OPERATORS
from workbench.lab.parts.part import Message, Values
from workbench.lab.parts.source import SessionSection
from workbench.lab.parts.words import span, when
from workbench.lab.views import BAD, Action, Field, Form, Grid, Item, Note, Row, Section, headings

_NAMES: Final = {each.id: each.name for each in OPERATORS.values()}
_MINUTE_S: Final = 60
_OUTAGE: Final = Form(
    "outage",
    "An outage",
    (
        Field("provider", "Operator", "mtn", "select", tuple(_NAMES.items())),
        Field("minutes", "For how many minutes", "10", "number"),
    ),
    (Action("start", "Start outage", primary=True),),
    row=True,
)
_NOTE: Final = Note("While an operator is down, payments by its wallets fail with operator_unavailable.")


class OperatorsSection(SessionSection):
    """Each operator, and until when it is down."""

    id = "operators"
    handlers = ("start", "end")

    def section(self) -> Section:
        """What is to be seen now."""
        now_s = self._now_s()
        rows = tuple(_row(each, now_s) for each in self._session.untraced.operators())
        columns = headings("Operator", "Status", "Down until (Lusaka)")
        grid = Grid("Mobile network operators", columns, rows, cards=True)
        return Section(self.id, "Sandbox: operators", (grid, _OUTAGE, _NOTE), wide=True)

    def start(self, _on: str, values: Values) -> Message:
        """Take one down."""
        provider, minutes = values.get("provider", ""), _number(values.get("minutes", ""))
        if minutes is None:
            return Message("For how many minutes? A number above 0.", BAD)
        seconds = int(minutes * _MINUTE_S)
        code = self._outage(provider, seconds)
        return Message(f"{_NAMES.get(provider, provider)} is down for {span(seconds)}.", code=code)

    def end(self, on: str, _values: Values) -> Message:
        """Bring it up again."""
        code = self._outage(on, 0)
        return Message(f"{_NAMES.get(on, on)} is up again.", code=code)

    def _outage(self, provider: str, seconds: int) -> tuple[Item, ...]:
        self._session.operator.outage(provider, seconds)
        return self._code("POST", "/sandbox/operator/outage", {"provider": provider, "seconds": seconds})


def _row(operator: wire.OperatorState, now_s: int) -> Row:
    name, until = _NAMES.get(operator.provider, operator.provider), operator.down_until
    if until is None:
        return Row(operator.provider, (name, "✓ up", "-"))
    again = Action("end", "End outage", operator.provider)
    return Row(operator.provider, (name, "✗ down", f"{when(until)}, for another {span(until - now_s)}"), (again,))


def _number(text: str) -> Decimal | None:
    """A span above zero; None for anything else."""
    try:
        number = Decimal(text.strip())
    except InvalidOperation:
        return None
    return number if number.is_finite() and number * _MINUTE_S >= 1 else None
