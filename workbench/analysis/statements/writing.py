"""Writes statements in the format of an operator's or bank's export, row by row, so that memory does not grow."""

import csv
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import astuple
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from itertools import count
from pathlib import Path
from typing import IO, Any, Final

import pandas as pd
import xlsxwriter

from workbench.analysis.files import MAX_TEXT, NUMBER_FORMATS
from workbench.analysis.statements.cells import Amounts
from workbench.analysis.statements.dates import DateFormat
from workbench.analysis.statements.layouts import PREAMBLE_FIELDS, Layout, Preamble
from workbench.domain.money import major
from workbench.errors import StatementRefused

Row = Mapping[str, Any]
Written = str | Decimal
"""A cell's text, or its amount: in minor units if the layout says so, else in major units with all decimals."""
_OWN_NAME: Final = "merchant"
_ANY_NAME: Final = "CUSTOMER"
_TEXTS: Final = ("key", "description", "currency", "batch", "related")
_CREATED: Final = datetime(2026, 1, 1, tzinfo=UTC)
"""The time of creation in every workbook, so that equal rows give identical bytes."""
_BREAK: Final = re.compile("\r\n?|\n")
_REPEATED: Final = re.compile("#[0-9]+$")
"""Matches the number that a layout adds to a repeated heading: `Currency#2` is written as `Currency`."""
_OPTIONS: Final = {"constant_memory": True, "strings_to_formulas": False, "strings_to_urls": False}


def absent(value: Any) -> bool:  # noqa: ANN401  a cell of any type
    """True for None and for a missing value of a DataFrame."""
    return bool(pd.isna(value))


class StatementWriter:
    """Writes rows with the columns STATEMENT_ROW one by one; `statement_writer` makes it."""

    def __init__(self, layout: Layout, sink: "Sink", *, date_format: str | None, preamble: Preamble) -> None:
        self._layout, self._sink = layout, sink
        self._dates = DateFormat(date_format or layout.dates[0])
        self._zone = timezone(timedelta(hours=layout.utc_offset_hours))
        words = {"status": layout.statuses, "type": layout.types, "direction": layout.directions}
        # Of several words for a value the first is written.
        self._words = {
            name: {value: word for word, value in reversed([*meanings.items()])} for name, meanings in words.items()
        }
        day = DateFormat(layout.preamble_dates[0])
        declared: dict[str, Any] = dict(zip(PREAMBLE_FIELDS, astuple(preamble), strict=True))
        for name in ("opening", "closing"):
            if (minor := declared[name]) is not None:
                declared[name] = self._amount(minor, preamble.currency or layout.currency)
        for label in dict.fromkeys(layout.preamble.values()):
            values = [declared[name] for name, other in layout.preamble.items() if other == label]
            texts = [day.write(value) if isinstance(value, date) else value for value in values if value is not None]
            if texts:
                # Of a period under one label both days stand in the cell.
                sink([label, texts[0] if len(texts) == 1 else " - ".join(map(str, texts))])
        if layout.preamble:
            sink([])
        sink([_REPEATED.sub("", heading) for heading in layout.columns.values()])

    def write(self, row: Row, *, cells: Mapping[str, str] | None = None) -> int:
        """Writes a row, and returns its line number in the file.

        `cells` (field → text) replaces values of the row without conversion, to make faulty rows. The text of `amount`
        is written under debit or credit if the layout has these columns. Raises StatementRefused: the layout has no
        word for a value, or a text is too long for a workbook.
        """
        has = {name: value for name, value in row.items() if not absent(value)}
        texts = {
            **{name: str(has.get(name, "")) for name in _TEXTS},
            **{name: self._word(name, has.get(name, "")) for name in self._words},
            **self._moment(has.get("business_date"), has.get("occurred_at")),
            **self._amounts(has),
            **self._parties(has),
            **(cells or {}),
        }
        if cells and "amount" in cells:
            texts |= {name: cells["amount"] for name in ("debit", "credit") if texts[name] != ""}
        return self._sink([texts[name] for name in self._layout.columns])

    def _word(self, name: str, value: str) -> str:
        if value and name in self._layout.columns and value not in self._words[name]:
            text = f"The layout {self._layout.name!r} has no word for the {name} {value!r}."
            raise StatementRefused(text, layout=self._layout.name, field=name, value=value)
        return self._words[name].get(value, "")

    def _moment(self, day: date | None, at: datetime | None) -> dict[str, str]:
        local = at and at.astimezone(self._zone)
        if "time" in self._layout.columns:
            whole = local or (datetime.combine(day, time()) if day else None)
            first, second = self._dates.day_and_time(whole) if whole else ("", "")
            return {"moment": first, "time": second if at else ""}
        when = local or (None if self._dates.has_time else day)
        return {"moment": self._dates.write(when) if when else ""}

    def _amount(self, minor: int, currency: str) -> Decimal:
        return Decimal(minor) if self._layout.is_minor else major(minor, currency)

    def _amounts(self, row: Row) -> dict[str, Written]:
        """Field → its cell; without a column of types, a reversed credit is a negative credit, and so for debits."""
        layout, code, goes = self._layout, row.get("currency", self._layout.currency), row.get("direction")
        amount, fee, balance = (
            self._amount(int(row[name]), code) if name in row else ""
            for name in ("amount_minor", "fee_minor", "balance_minor")
        )
        below = amount.copy_negate() if isinstance(amount, Decimal) and amount else amount
        cells: dict[str, Written] = {"debit": "", "credit": "", "fee": fee, "balance": balance}
        cells["amount"] = below if layout.direction_by == "sign" and goes == "out" else amount
        cells["side"] = "" if isinstance(balance, str) else "DR" if balance < 0 else "CR"
        if isinstance(amount, Decimal) and goes:
            bracketed = f"({Amounts(layout.decimal, layout.thousands).write(amount)})"
            is_reversal = row.get("type") == "reversal" and "type" not in layout.columns
            if is_reversal and goes == "in":
                cells["debit"] = bracketed if layout.debits == "minus" else below
            elif goes == "out" and not is_reversal:
                cells["debit"] = {"plain": amount, "minus": below, "parentheses": bracketed}[layout.debits]
            else:
                cells["credit"] = below if is_reversal else amount
        return cells

    def _parties(self, has: Row) -> dict[str, str]:
        # As operators write them: no plus, and stars where a number is masked.
        number = has["phone"].lstrip("+").replace("•", "*") if "phone" in has else ""
        party = number and self._layout.party.replace("*", _ANY_NAME).format(phone=number)
        own, goes = self._layout.own.replace("*", _OWN_NAME), has.get("direction", "")
        return {
            "phone": party,
            "from": {"in": party, "out": own}.get(goes, ""),
            "to": {"in": own, "out": party}.get(goes, ""),
        }


Sink = Callable[[Sequence[Written]], int]
"""A function that writes a line and returns its number in the file."""


def _csv_sink(handle: IO[str], layout: Layout) -> Sink:
    """A function that writes lines as CSV, with amounts in the style of the layout."""
    # Lines end as in the format's own description; then a line break within a cell is quoted, too.
    writer = csv.writer(handle, delimiter=layout.delimiter)
    amounts = Amounts(layout.decimal, layout.thousands)
    lines = 0

    def line(cells: Sequence[Written]) -> int:
        nonlocal lines
        texts = [cell if isinstance(cell, str) else amounts.write(cell) for cell in cells]
        writer.writerow(texts)
        breaks = sum(len(_BREAK.findall(text)) for text in texts if not text.isprintable())
        lines += 1 + breaks
        return lines - breaks

    return line


def _xlsx_sink(book: xlsxwriter.Workbook) -> Sink:
    """A function that writes lines to a sheet: text as text, even if it begins like a formula; amounts as numbers."""
    book.set_properties({"created": _CREATED})
    sheet, numbers = book.add_worksheet("Statement"), count()
    looks = [book.add_format({"num_format": number_format}) for number_format in NUMBER_FORMATS]

    def line(cells: Sequence[Written]) -> int:
        number = next(numbers)
        for place, cell in enumerate(cells):
            if not isinstance(cell, str):
                # A Decimal is written digit by digit; no float is made of it.
                sheet.write_number(number, place, cell, looks[-int(cell.as_tuple().exponent)])
            elif len(cell) > MAX_TEXT:
                text = f"A cell of a workbook holds {MAX_TEXT} characters; this text has {len(cell)}."
                raise StatementRefused(text, length=len(cell))
            elif cell:
                sheet.write_string(number, place, cell)
        return number + 1

    return line


@contextmanager
def statement_writer(
    path: str | Path, layout: Layout, *, date_format: str | None = None, preamble: Preamble | None = None
) -> Iterator[StatementWriter]:
    """Yields a writer of a .csv or .xlsx file, by its ending, and closes the file at the end of the block.

    `date_format` is a strptime format, by default the layout's first; `preamble` has the values above the header, by
    default none. Raises StatementRefused: another ending, or a kind of file that the layout does not allow.
    """
    path = Path(path)
    kind = path.suffix.lower().removeprefix(".")
    if kind not in layout.kinds:
        text = f"The layout {layout.name!r} is written as {' or '.join(layout.kinds)}, not {path.name!r}."
        raise StatementRefused(text, file=path.name, kinds=layout.kinds)
    with ExitStack() as closing:
        if kind == "csv":
            sink = _csv_sink(closing.enter_context(path.open("w", encoding="utf-8", newline="")), layout)
        else:
            sink = _xlsx_sink(closing.enter_context(xlsxwriter.Workbook(path, _OPTIONS)))
        yield StatementWriter(layout, sink, date_format=date_format, preamble=preamble or Preamble())


def write_statement(
    rows: Iterable[Row], path: str | Path, layout: Layout, *, date_format: str | None = None,
    preamble: Preamble | None = None,
) -> int:  # fmt: skip
    """Writes rows of STATEMENT_ROW to a file in this layout, and returns the number of rows.

    Rows are consumed one at a time. Times have the precision of the format. `date_format` and `preamble`, and the
    errors, are as for `statement_writer`.
    """
    with statement_writer(path, layout, date_format=date_format, preamble=preamble) as writer:
        return sum(writer.write(row) > 0 for row in rows)
