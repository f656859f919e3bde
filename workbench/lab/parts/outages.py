"""Operator outages: which mobile network operator is down, until when; taken down and brought up again."""

from decimal import Decimal, InvalidOperation
from typing import Any, ClassVar, Final

from workbench.domain import wire
from workbench.domain.phones import OPERATORS
from workbench.lab.parts.part import BoardSection, Handler, Message, Values
from workbench.lab.parts.source import Source
from workbench.lab.parts.words import span, when
from workbench.lab.views import BAD, Action, Field, Form, Grid, Note, Row, Section, headings

_PATH: Final = "/sandbox/operator/outage"
_NAMES: Final = {each.id: each.name for each in OPERATORS.values()}
_MINUTE_S: Final = 60


class OperatorsSection(BoardSection):
    """Each operator, and until when it is down."""

    id = "operators"

    def __init__(self, source: Source) -> None:
        self._source = source

    def section(self) -> Section:
        """What is to be seen now."""
        now_s = self._source.control.clock().now_ms // 1000
        rows = tuple(_row(each, now_s) for each in self._source.control.operators())
        fields = (
            Field("provider", "Operator", "mtn", "select", tuple(_NAMES.items())),
            Field("minutes", "For how many minutes", "10", "number"),
        )
        return Section(
            self.id,
            "Sandbox: operators",
            (
                Grid(
                    "Mobile network operators", headings("Operator", "Status", "Down until (Lusaka)"), rows, cards=True
                ),
                Form("outage", "An outage", fields, (Action("start", "Start outage", primary=True),), row=True),
                Note("While an operator is down, payments by its wallets fail with operator_unavailable."),
            ),
            wide=True,
        )

    def start(self, on: str, values: Values) -> Message:
        """Take one down."""
        provider, minutes = values.get("provider", ""), _number(values.get("minutes", ""))
        if minutes is None:
            return Message("For how many minutes? A number above 0.", BAD)
        seconds = int(minutes * _MINUTE_S)
        self._source.session.operator.outage(provider, seconds)
        return Message(
            f"{_NAMES.get(provider, provider)} is down for {span(seconds)}.", code=self._code(provider, seconds)
        )

    def end(self, on: str, values: Values) -> Message:
        """Bring it up again."""
        self._source.session.operator.outage(on, 0)
        return Message(f"{_NAMES.get(on, on)} is up again.", code=self._code(on, 0))

    def _code(self, provider: str, seconds: int) -> tuple[Any, ...]:
        return self._source.code("POST", _PATH, {"provider": provider, "seconds": seconds})

    handlers: ClassVar[dict[str, Handler]] = {"start": start, "end": end}


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
