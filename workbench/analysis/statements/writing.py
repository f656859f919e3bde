"""Statements written as an operator or a bank would export them: a row at a time, so memory does not grow."""

import csv
import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import astuple
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import IO, Any, Final

import xlsxwriter

from workbench.analysis.files import NUMBER_FORMATS
from workbench.analysis.statements.cells import Amounts
from workbench.analysis.statements.dates import DateFormat
from workbench.analysis.statements.layouts import PREAMBLE_FIELDS, Layout, Preamble
from workbench.domain.money import major
from workbench.errors import StatementRefused

Row = Mapping[str, Any]
Written = str | Decimal
"""A text, or an amount in major units with its currency's decimals."""
_OWN_NAME: Final = "merchant"
_ANY_NAME: Final = "CUSTOMER"
_TEXTS: Final = ("key", "description", "currency", "batch", "related")
_AMOUNTS: Final = ("amount_minor", "fee_minor", "balance_minor")
_LONGEST_CELL: Final = 32_767
_CREATED: Final = datetime(2026, 1, 1, tzinfo=UTC)
"""What a workbook says of its making: the same rows are the same bytes."""
_BREAK: Final = re.compile("\r\n?|\n")
_OPTIONS: Final = {"constant_memory": True, "strings_to_formulas": False, "strings_to_urls": False}


def absent(value: object) -> bool:
    """Whether a cell is empty: None, or a frame's own way to say so."""
    if type(value) in (str, int):
        return False
    return value is None or not isinstance(value == value, bool) or value != value  # noqa: PLR0124  NaT differs from itself, NA says neither


def _cells_of(layout: Layout, date_format: str | None) -> Callable[[Row], dict[str, Written]]:
    """From a row of STATEMENT_ROW to field → what is written; a value that the row lacks leaves its cell empty."""
    own = layout.own.replace("*", _OWN_NAME)
    dates, amounts = DateFormat(date_format or layout.dates[0]), Amounts(layout.decimal, layout.thousands)
    zone = timezone(timedelta(hours=layout.utc_offset_hours))
    words = {"status": layout.statuses, "type": layout.types, "direction": layout.directions}
    # Of several words for a value the first is written.
    first = {name: {value: word for word, value in reversed(list(known.items()))} for name, known in words.items()}

    def word(name: str, value: str) -> str:
        if value and name in layout.columns and value not in first[name]:
            text = f"The layout {layout.name!r} has no word for the {name} {value!r}."
            raise StatementRefused(text, layout=layout.name, field=name, value=value)
        return first[name].get(value, "")

    def moments(has: Row) -> dict[str, str]:
        day, at = has.get("business_date"), has.get("occurred_at")
        if "time" in layout.columns:
            whole = datetime.combine(day, time()) if at is None and day else at and at.astimezone(zone)
            first, second = dates.day_and_time(whole) if whole else ("", "")
            return {"moment": first, "time": "" if at is None else second}
        if at is not None:
            return {"moment": dates.write(at.astimezone(zone))}
        return {"moment": dates.write(day) if day and not dates.has_time else ""}

    def cells(row: Row) -> dict[str, Written]:
        has = {name: value for name, value in row.items() if not absent(value)}
        code = has.get("currency", layout.currency)
        amount, fee, balance = (major(int(has[name]), code) if name in has else "" for name in _AMOUNTS)
        # As operators write them: no plus, and stars where a number is masked.
        number = has["phone"].lstrip("+").replace("•", "*") if "phone" in has else ""
        party = number and layout.party.replace("*", _ANY_NAME).format(phone=number)
        goes = has.get("direction", "")
        is_less = layout.direction_by == "sign" and goes == "out"
        return {
            **{name: str(has.get(name, "")) for name in _TEXTS},
            **{name: word(name, str(has.get(name, ""))) for name in words},
            **moments(has),
            "phone": party,
            "from": {"in": party, "out": own}.get(goes, ""),
            "to": {"in": own, "out": party}.get(goes, ""),
            "amount": _negated(amount) if is_less else amount,
            **_halves(layout, has, amount, amounts),
            "side": "" if isinstance(balance, str) else "DR" if balance < 0 else "CR",
            "fee": fee,
            "balance": balance,
        }

    return cells


def _negated(amount: Written) -> Written:
    """The other side of zero, digit by digit; nothing stays nothing."""
    return amount.copy_negate() if isinstance(amount, Decimal) and amount else amount


def _halves(layout: Layout, has: Row, amount: Written, amounts: Amounts) -> dict[str, Written]:
    """Debit and credit. Without a column of types, a reversal stands below zero in the other one."""
    goes = has.get("direction", "")
    if isinstance(amount, str) or not goes:
        return {"debit": "", "credit": ""}
    below = _negated(amount)
    styles: dict[str, Written] = {"plain": amount, "minus": below, "parentheses": f"({amounts.write(amount)})"}
    if has.get("type") != "reversal" or "type" in layout.columns:
        return {"debit": styles[layout.debits], "credit": ""} if goes == "out" else {"debit": "", "credit": amount}
    other = styles["parentheses" if layout.debits == "minus" else "minus"]
    return {"debit": other, "credit": ""} if goes == "in" else {"debit": "", "credit": below}


Sink = Callable[[Sequence[Written]], int]
"""Writes a line; the number at which it stands in the file."""


def _csv_sink(handle: IO[str], layout: Layout) -> Sink:
    """Text, the amounts as the layout writes them."""
    # Lines end as in the format's own description; then a line break within a cell is quoted, too.
    writer = csv.writer(handle, delimiter=layout.delimiter)
    amounts = Amounts(layout.decimal, layout.thousands)
    following = 1

    def line(cells: Sequence[Written]) -> int:
        nonlocal following
        texts = [cell if isinstance(cell, str) else amounts.write(cell) for cell in cells]
        writer.writerow(texts)
        placed = following
        following += 1 + sum(len(_BREAK.findall(text)) for text in texts if not text.isprintable())
        return placed

    return line


def _xlsx_sink(book: Any) -> Sink:  # noqa: ANN401  xlsxwriter's workbook
    """Texts as texts, whatever they begin with, and amounts as numbers with all their decimals."""
    sheet, numbers = book.add_worksheet("Statement"), itertools.count()
    looks = [book.add_format({"num_format": each}) for each in NUMBER_FORMATS]

    def line(cells: Sequence[Written]) -> int:
        number = next(numbers)
        for place, cell in enumerate(cells):
            if not isinstance(cell, str):
                # A Decimal is written digit by digit; no float is made of it.
                sheet.write_number(number, place, cell, looks[-int(cell.as_tuple().exponent)])
            elif len(cell) > _LONGEST_CELL:
                text = f"A cell of a workbook holds {_LONGEST_CELL} characters; this text has {len(cell)}."
                raise StatementRefused(text, length=len(cell))
            elif cell:
                sheet.write_string(number, place, cell)
        return number + 1

    return line


def _headings(layout: Layout) -> list[str]:
    """As a file has them: the second `Currency#2` is `Currency`. Raises StatementRefused: the first is not written."""
    made: list[str] = []
    for heading in layout.columns.values():
        name, mark, number = heading.rpartition("#")
        numbered = mark and number.isdecimal()
        if numbered and made.count(name) + 1 != int(number):
            text = f"The layout {layout.name!r} cannot be written: {heading} stands after others that are not read."
            raise StatementRefused(text, layout=layout.name, heading=heading)
        made.append(name if numbered else heading)
    return made


class StatementWriter:
    """Writes rows of STATEMENT_ROW one by one; made by `statement_writer`."""

    def __init__(self, layout: Layout, sink: Sink, *, date_format: str | None, preamble: Preamble) -> None:
        self._sink = sink
        self._fields = list(layout.columns)
        self._cells_of = _cells_of(layout, date_format)
        day = DateFormat(layout.preamble_dates[0])
        declared: dict[str, Any] = dict(zip(PREAMBLE_FIELDS, astuple(preamble), strict=True))
        for name in ("opening", "closing"):
            if declared[name] is not None:
                declared[name] = major(declared[name], preamble.currency or layout.currency)
        for label in dict.fromkeys(layout.preamble.values()):
            values = [declared[name] for name, other in layout.preamble.items() if other == label]
            told = [day.write(value) if isinstance(value, date) else value for value in values if value is not None]
            if told:
                # Of a period under one label both days stand in the cell.
                sink([label, told[0] if len(told) == 1 else " - ".join(map(str, told))])
        if layout.preamble:
            sink([])
        sink(_headings(layout))

    def write(self, row: Mapping[str, Any], *, cells: Mapping[str, str] | None = None) -> int:
        """Write a row; the line at which it stands in the file.

        `cells` (field → text) are written as they are instead of what the row says: for bad rows.
        Raises StatementRefused: a word that the layout has no word for, or a text too long for a workbook.
        """
        made = {**self._cells_of(row), **(cells or {})}
        return self._sink([made[name] for name in self._fields])


@contextmanager
def statement_writer(
    path: str | Path, layout: Layout, *, date_format: str | None = None, preamble: Preamble | None = None
) -> Iterator[StatementWriter]:
    """A writer of one file, closed at the end of the block; `.csv` or `.xlsx` by its ending.

    Raises StatementRefused: another ending, or a kind of file that the layout does not have.
    """
    path = Path(path)
    kind = path.suffix.lower().removeprefix(".")
    if kind not in layout.kinds:
        text = f"The layout {layout.name!r} is written as {' or '.join(layout.kinds)}, not {path.name!r}."
        raise StatementRefused(text, file=path.name, kinds=layout.kinds)
    made = partial(StatementWriter, layout, date_format=date_format, preamble=preamble or Preamble())
    if kind == "csv":
        with path.open("w", encoding="utf-8", newline="") as handle:
            yield made(_csv_sink(handle, layout))
        return
    with xlsxwriter.Workbook(path, _OPTIONS) as book:
        book.set_properties({"created": _CREATED})
        yield made(_xlsx_sink(book))


def write_statement(
    rows: Iterable[Mapping[str, Any]],
    path: str | Path,
    layout: Layout,
    *,
    date_format: str | None = None,
    preamble: Preamble | None = None,
) -> int:
    """Write rows of STATEMENT_ROW to a file as this layout writes them; the number of rows.

    Rows are taken one at a time, and times are written to the second. `preamble` is what a layout
    with a preamble has above its header. Raises StatementRefused: see `statement_writer`.
    """
    with statement_writer(path, layout, date_format=date_format, preamble=preamble) as writer:
        return sum(writer.write(row) > 0 for row in rows)
