"""How the cells of each field are written in one layout: functions from a row to a cell."""

from collections.abc import Callable, Mapping
from datetime import timedelta, timezone
from functools import partial
from typing import Any, Final

from workbench.analysis.statements.dates import DateFormat
from workbench.analysis.statements.layouts import Layout
from workbench.errors import StatementRefused

Row = Mapping[str, Any]
Minor = int
Written = str | Minor
"""A text, or an amount in minor units."""
_OWN_NAME: Final = "merchant"
_TEXTS: Final = ("key", "description", "currency", "batch", "related")


def writers_of(layout: Layout, date_format: str | None) -> dict[str, Callable[[Row], Written]]:
    """Field → what to write of a row of STATEMENT_ROW; a value that the row lacks leaves its cell empty."""
    party = _party(layout)
    amount = _signed if layout.direction_by == "sign" else _amount("amount_minor")
    own = layout.own.replace("*", _OWN_NAME)
    return {
        **{name: partial(_text, name) for name in _TEXTS},
        "moment": _moment(layout, date_format),
        "status": _word(layout, "status", layout.statuses),
        "type": _word(layout, "type", layout.types),
        "direction": _word(layout, "direction", layout.directions),
        "phone": party,
        "from": _either("out", lambda _: own, party),
        "to": _either("in", lambda _: own, party),
        "amount": amount,
        "debit": _either("out", amount, lambda _: ""),
        "credit": _either("in", amount, lambda _: ""),
        "fee": _amount("fee_minor"),
        "balance": _amount("balance_minor"),
    }


def absent(value: object) -> bool:
    """Whether a cell is empty: None, or a frame's own way to say so."""
    if type(value) in (str, int):
        return False
    return value is None or not isinstance(value == value, bool) or value != value  # noqa: PLR0124  NaT differs from itself, NA says neither


def _text(name: str, row: Row) -> str:
    value = row.get(name)
    return "" if absent(value) else str(value)


def _amount(name: str) -> Callable[[Row], Written]:
    def write(row: Row) -> Written:
        minor: Any = row.get(name)
        return "" if absent(minor) else int(minor)

    return write


def _signed(row: Row) -> Written:
    minor = row.get("amount_minor")
    if minor is None or absent(minor):
        return ""
    return -int(minor) if row.get("direction") == "out" else int(minor)


def _either(
    direction: str, then: Callable[[Row], Written], otherwise: Callable[[Row], Written]
) -> Callable[[Row], Written]:
    """What is written where the row has this direction, or the other one; nothing where it has none."""

    def write(row: Row) -> Written:
        found = row.get("direction")
        return "" if absent(found) else (then if found == direction else otherwise)(row)

    return write


def _moment(layout: Layout, date_format: str | None) -> Callable[[Row], str]:
    dates = DateFormat(date_format or layout.dates[0])
    zone = timezone(timedelta(hours=layout.utc_offset_hours))

    def write(row: Row) -> str:
        at: Any = row.get("occurred_at")
        day: Any = row.get("business_date")
        if not absent(at):
            return dates.write(at.astimezone(zone))
        return dates.write(day) if not absent(day) and not dates.has_time else ""

    return write


def _party(layout: Layout) -> Callable[[Row], str]:
    def write(row: Row) -> str:
        phone = row.get("phone")
        # As operators write them: no plus, and stars where a number is masked.
        return "" if phone is None or absent(phone) else layout.party.format(phone=phone.lstrip("+").replace("•", "*"))

    return write


def _word(layout: Layout, field: str, words: Mapping[str, str]) -> Callable[[Row], str]:
    """The first of the layout's words for a value."""
    first: dict[str, str] = {}
    for word, value in words.items():
        first.setdefault(value, word)

    def write(row: Row) -> str:
        value = _text(field, row)
        if value and value not in first:
            raise StatementRefused(
                f"The layout {layout.name!r} has no word for the {field} {value!r}.",
                layout=layout.name,
                field=field,
                value=value,
            )
        return first.get(value, "")

    return write
