"""The rows of a trace as steps: who told whom what, and what came back."""

import re
from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from workbench.domain.wire.trace import call_of, screen_of
from workbench.trace.words import clock_of, short
from workbench.visible import visible

MERCHANT: Final = "your server"
SERVICE: Final = "payment service"
PHONE: Final = "customer's phone"
LEDGER: Final = "ledger"
RECEIVER: Final = "webhook receiver"
LANES: Final[tuple[str, ...]] = (MERCHANT, SERVICE, PHONE, LEDGER, RECEIVER)
"""From left to right."""
LONGEST: Final = 52
_OK: Final = range(200, 400)
_WORD = re.compile(r'"(?:decline_code|code|status)":"([\w.]+)"')
_ASKING = " Enter PIN to approve:"
_BY_THE_SERVICE = ("timeout", "withdraw")
"""What nobody pressed."""


class Step(NamedTuple):
    """One arrow, and the one that comes back, if any does."""

    at: str
    """The moment, UTC, to the second."""
    kind: str
    source: str
    target: str
    label: str
    answer: str = ""
    is_bad: bool = False
    """Refused, failed or not answered."""


def steps_of(rows: Iterable[dict[str, Any]]) -> list[Step]:
    """The steps of some rows, in their order."""
    return [_OF_KIND[row["kind"]](row) for row in rows]


def _call(row: dict[str, Any]) -> Step:
    response = call_of(row).response
    status, word = response.status, _WORD.search(response.body)
    answer = f"{status} {word[1]}" if word else str(status)
    return _step(row, MERCHANT, SERVICE, row["what"], answer, is_bad=status not in _OK)


def _screen(row: dict[str, Any]) -> Step:
    screen = screen_of(row)
    lines, pressed = screen.words.split("\n"), screen.pressed
    words = " ".join(lines[1:] or lines).removesuffix(_ASKING)
    if pressed is None or pressed in _BY_THE_SERVICE:
        return _step(row, SERVICE, PHONE, words)
    if pressed == "ignore":
        return _step(row, PHONE, SERVICE, words)
    return _step(row, PHONE, SERVICE, f"PIN {pressed}" if "•" in pressed else pressed, words)


def _entry(row: dict[str, Any]) -> Step:
    return _step(row, SERVICE, LEDGER, row["what"])


def _webhook(row: dict[str, Any]) -> Step:
    return _step(row, SERVICE, RECEIVER, row["what"], row["result"], is_bad=not row["result"].startswith("2"))


_OF_KIND = {"call": _call, "screen": _screen, "entry": _entry, "webhook": _webhook}


def _step(row: dict[str, Any], source: str, target: str, label: str, answer: str = "", *, is_bad: bool = False) -> Step:
    label, answer = (short(visible(" ".join(each.split())), LONGEST) for each in (label, answer))
    return Step(clock_of(row["at"]), row["kind"], source, target, label, answer, is_bad)
