"""The rows of a trace as steps: who sent what to whom, and the response."""

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
_CODE = re.compile(r'"(?:decline_code|code|status)":"([\w.]+)"')
_ASKING = " Enter PIN to approve:"
_BY_THE_SERVICE = ("timeout", "withdraw")
"""What nobody pressed."""


class Step(NamedTuple):
    """One arrow, and the response's arrow if one came."""

    at: str
    """The moment, UTC, to the second."""
    kind: str
    source: str
    target: str
    label: str
    response: str = ""
    is_bad: bool = False
    """Refused, failed or without a response."""


def steps_of(rows: Iterable[dict[str, Any]]) -> list[Step]:
    """The steps of some rows, in their order."""
    return [_OF_KIND[row["kind"]](row) for row in rows]


def _call(row: dict[str, Any]) -> Step:
    response = call_of(row).response
    status, code = response.status, _CODE.search(response.body)
    result = f"{status} {code[1]}" if code else str(status)
    return _step(row, MERCHANT, SERVICE, row["what"], result, is_bad=status not in _OK)


def _screen(row: dict[str, Any]) -> Step:
    screen = screen_of(row)
    lines, pressed = screen.words.split("\n"), screen.pressed
    text = " ".join(lines[1:] or lines).removesuffix(_ASKING)
    if pressed is None or pressed in _BY_THE_SERVICE:
        return _step(row, SERVICE, PHONE, text)
    if pressed == "ignore":
        return _step(row, PHONE, SERVICE, text)
    return _step(row, PHONE, SERVICE, f"PIN {pressed}" if "•" in pressed else pressed, text)


def _entry(row: dict[str, Any]) -> Step:
    return _step(row, SERVICE, LEDGER, row["what"])


def _webhook(row: dict[str, Any]) -> Step:
    return _step(row, SERVICE, RECEIVER, row["what"], row["result"], is_bad=not row["result"].startswith("2"))


_OF_KIND = {"call": _call, "screen": _screen, "entry": _entry, "webhook": _webhook}


def _step(
    row: dict[str, Any], source: str, target: str, label: str, response: str = "", *, is_bad: bool = False
) -> Step:
    label, response = (short(visible(" ".join(each.split())), LONGEST) for each in (label, response))
    return Step(clock_of(row["at"]), row["kind"], source, target, label, response, is_bad)
