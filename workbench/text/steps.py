"""A row of the trace as a step of a sequence diagram: who sent what to whom, and the response."""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from workbench.domain.ids import with_short_ids
from workbench.domain.masking import shortened
from workbench.domain.wire.ledger_and_trace import TraceStep, call_of, screen_of
from workbench.visible import visible

MERCHANT, SERVICE, PHONE, LEDGER, RECEIVER = LANES = (
    "your server", "payment service", "customer's phone", "ledger", "webhook receiver",
)  # fmt: skip
"""The lanes of a sequence diagram, from left to right."""
WIDEST: Final = 64
LONGEST: Final = 52
_OK: Final = range(200, 400)
_CODE: Final = re.compile(r'"(?:decline_code|code|status)":"([\w.]+)"')
_ASKING: Final = " Enter PIN to approve:"
_BY_THE_SERVICE: Final = ("timeout", "withdraw")
"""Inputs of a prompt that the service gives, not the customer."""
Row = Mapping[str, Any]
"""A row of the trace: name of a field → value."""


def short(text: str, widest: int = WIDEST) -> str:
    """Text with short identifiers, cut to `widest` characters."""
    return shortened(with_short_ids(text), widest)


def step_of(row: Row) -> TraceStep:
    """A row of a trace as a step."""
    return _OF_KIND[row["kind"]](row)


def _call(row: Row) -> TraceStep:
    response = call_of(row).response
    status, code = response.status, _CODE.search(response.body)
    result = f"{status} {code[1]}" if code else str(status)
    return _step(row, MERCHANT, SERVICE, row["what"], result, is_bad=status not in _OK)


def _screen(row: Row) -> TraceStep:
    screen = screen_of(row)
    lines, pressed = screen.words.split("\n"), screen.pressed
    text = " ".join(lines[1:] or lines).removesuffix(_ASKING)
    if pressed is None or pressed in _BY_THE_SERVICE:
        return _step(row, SERVICE, PHONE, text)
    if pressed == "ignore":
        return _step(row, PHONE, SERVICE, text)
    return _step(row, PHONE, SERVICE, f"PIN {pressed}" if "•" in pressed else pressed, text)


_OF_KIND: Final[Mapping[str, Callable[[Row], TraceStep]]] = {
    "call": _call,
    "screen": _screen,
    "entry": lambda row: _step(row, SERVICE, LEDGER, row["what"]),
    "webhook": lambda row: _step(
        row, SERVICE, RECEIVER, row["what"], row["result"], is_bad=not row["result"].startswith("2")
    ),
}


def _step(row: Row, source: str, target: str, label: str, response: str = "", *, is_bad: bool = False) -> TraceStep:
    label, response = (short(visible(" ".join(text.split())), LONGEST) for text in (label, response))
    return TraceStep(row["seq"], row["at"], row["kind"], source, target, label, response, is_bad)
