"""Statements written as an operator or a bank would export them: a row at a time, so memory does not grow.

What a row says is written; nothing is worked out. A value that the row lacks leaves its cell empty.
"""

import csv
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any, Final, Protocol

import xlsxwriter

from workbench.analysis.statements.cells import Amounts
from workbench.analysis.statements.dates import DateFormat
from workbench.analysis.statements.layouts import Layout
from workbench.errors import StatementRefused

_LONGEST_CELL: Final = 32_767
_CREATED: Final = datetime(2026, 1, 1, tzinfo=UTC)
"""What a workbook says of its making: the same rows are the same bytes."""
_OWN_NAME: Final = "merchant"
_BREAK: Final = re.compile("\r\n?|\n")
_OPTIONS: Final = {"constant_memory": True, "strings_to_formulas": False, "strings_to_urls": False}


@dataclass(frozen=True)
class Preamble:
    """What stands above the header; of what is None, no line is written."""

    account: str | None = None
    currency: str | None = None
    first: date | None = None
    last: date | None = None
    opening_minor: int | None = None
    closing_minor: int | None = None


class _Sink(Protocol):
    """Where lines of cells go."""

    def line(self, cells: Iterable[str | Decimal]) -> int:
        """Write one line; the number at which it stands."""


class StatementWriter:
    """Writes rows of STATEMENT_ROW one by one; made by `statement_writer`."""

    def __init__(self, layout: Layout, sink: _Sink, *, date_format: str | None, preamble: Preamble) -> None:
        self._layout = layout
        self._sink = sink
        self._amounts = Amounts(layout.decimal, layout.thousands)
        self._dates = DateFormat(date_format or layout.dates[0])
        self._zone = timezone(timedelta(hours=layout.utc_offset_hours))
        self._words = {
            "status": _first_words(layout.statuses),
            "type": _first_words(layout.types),
            "direction": _first_words(layout.directions),
        }
        for line in self._preamble(preamble):
            sink.line(line)
        sink.line(layout.columns.values())

    def write(self, row: Mapping[str, Any], *, cells: Mapping[str, str] | None = None) -> int:
        """Write a row; the line at which it stands in the file.

        `cells` (field → text) are written as they are instead of what the row says: for bad rows.
        Raises StatementRefused: a word that the layout has no word for, or a text too long for a workbook.
        """
        made = {**self._cells(row), **(cells or {})}
        return self._sink.line(made.get(name, "") for name in self._layout.columns)

    def _cells(self, row: Mapping[str, Any]) -> dict[str, str | Decimal]:
        made: dict[str, str | Decimal] = {
            "key": _text(row.get("key")),
            "moment": self._moment(row),
            "description": _text(row.get("description")),
            "currency": _text(row.get("currency")),
            "phone": self._party(row),
            "batch": _text(row.get("batch")),
            "related": _text(row.get("related")),
            "fee": self._amount(row.get("fee_minor")),
            "balance": self._amount(row.get("balance_minor")),
            **{name: self._word(name, row.get(name)) for name in self._words if name in self._layout.columns},
        }
        return made | self._movement(row)

    def _movement(self, row: Mapping[str, Any]) -> dict[str, str | Decimal]:
        """The amount and, in whichever way the layout tells it, the direction."""
        amount: Any = row.get("amount_minor")
        direction = _text(row.get("direction"))
        out = direction == "out"
        by = self._layout.direction_by
        if by == "columns":
            return {"debit" if out else "credit": self._amount(amount)}
        if by == "sign":
            return {"amount": self._amount(-amount if out and not absent(amount) else amount)}
        made = {"amount": self._amount(amount)}
        if by == "parties" and direction:
            own = self._layout.own.replace("*", _OWN_NAME)
            made |= dict(zip(("from", "to"), (own, self._party(row)) if out else (self._party(row), own), strict=True))
        return made

    def _amount(self, minor: Any) -> str | Decimal:  # noqa: ANN401  a cell of a frame
        return "" if absent(minor) else Decimal(int(minor)).scaleb(-2)

    def _moment(self, row: Mapping[str, Any]) -> str:
        at: Any = row.get("occurred_at")
        day: Any = row.get("business_date")
        if not absent(at):
            return self._dates.write(at.astimezone(self._zone))
        return self._dates.write(day) if not absent(day) and not self._dates.has_time else ""

    def _party(self, row: Mapping[str, Any]) -> str:
        phone = _text(row.get("phone"))
        # As operators write them: no plus, and stars where a number is masked.
        return self._layout.party.format(phone=phone.lstrip("+").replace("•", "*")) if phone else ""

    def _word(self, field: str, value: Any) -> str:  # noqa: ANN401  a cell of a frame
        word = _text(value)
        if word and word not in self._words[field]:
            raise StatementRefused(
                f"The layout {self._layout.name!r} has no word for the {field} {word!r}.",
                layout=self._layout.name,
                field=field,
                value=word,
            )
        return self._words[field][word] if word else ""

    def _preamble(self, preamble: Preamble) -> Iterator[list[str | Decimal]]:
        day = DateFormat(self._layout.preamble_date)
        said: dict[str, str | Decimal] = {
            "account": preamble.account or "",
            "currency": preamble.currency or "",
            "first": day.write(preamble.first) if preamble.first else "",
            "last": day.write(preamble.last) if preamble.last else "",
            "opening": self._amount(preamble.opening_minor),
            "closing": self._amount(preamble.closing_minor),
        }
        for name, label in self._layout.preamble.items():
            if said[name] != "":
                yield [label, said[name]]
        if self._layout.preamble:
            yield []


class _CsvSink:
    """Text, the amounts as the layout writes them."""

    def __init__(self, handle: Any, layout: Layout) -> None:  # noqa: ANN401  an open text file
        # Lines end as in the format's own description; then a line break within a cell is quoted, too.
        self._writer = csv.writer(handle, delimiter=layout.delimiter)
        self._amounts = Amounts(layout.decimal, layout.thousands)
        self._next = 1

    def line(self, cells: Iterable[str | Decimal]) -> int:
        texts = [self._amounts.write(int(cell.scaleb(2))) if isinstance(cell, Decimal) else cell for cell in cells]
        self._writer.writerow(texts)
        placed = self._next
        self._next += 1 + sum(len(_BREAK.findall(text)) for text in texts if not text.isprintable())
        return placed


class _XlsxSink:
    """Texts as texts, whatever they begin with, and amounts as numbers."""

    def __init__(self, sheet: Any, money: Any) -> None:  # noqa: ANN401  xlsxwriter's worksheet and format
        self._sheet = sheet
        self._money = money
        self._next = 0

    def line(self, cells: Iterable[str | Decimal]) -> int:
        for place, cell in enumerate(cells):
            if isinstance(cell, Decimal):
                # A Decimal is written digit by digit; no float is made of it.
                self._sheet.write_number(self._next, place, cell, self._money)
            elif len(cell) > _LONGEST_CELL:
                raise StatementRefused(
                    f"A cell of a workbook holds {_LONGEST_CELL} characters; this text has {len(cell)}.",
                    length=len(cell),
                )
            elif cell:
                self._sheet.write_string(self._next, place, cell)
        self._next += 1
        return self._next


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
        raise StatementRefused(
            f"The layout {layout.name!r} is written as {' or '.join(layout.kinds)}, not {path.name!r}.",
            file=path.name,
            kinds=layout.kinds,
        )
    preamble = preamble or Preamble()
    if kind == "csv":
        with path.open("w", encoding=layout.encoding, newline="") as handle:
            yield StatementWriter(layout, _CsvSink(handle, layout), date_format=date_format, preamble=preamble)
        return
    with xlsxwriter.Workbook(path, _OPTIONS) as book:
        book.set_properties({"created": _CREATED})
        sheet = book.add_worksheet("Statement")
        sink = _XlsxSink(sheet, book.add_format({"num_format": "#,##0.00"}))
        yield StatementWriter(layout, sink, date_format=date_format, preamble=preamble)


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
    count = 0
    with statement_writer(path, layout, date_format=date_format, preamble=preamble) as writer:
        for row in rows:
            writer.write(row)
            count += 1
    return count


def absent(value: object) -> bool:
    """Whether a cell is empty: None, or a frame's own way to say so."""
    return value is None or value != value or not isinstance(value == value, bool)  # noqa: PLR0124  NaN and NaT differ from themselves, NA says neither


def _text(value: object) -> str:
    return "" if absent(value) else str(value)


def _first_words(words: Mapping[str, str]) -> dict[str, str]:
    """Value → the first word for it."""
    made: dict[str, str] = {}
    for word, value in words.items():
        made.setdefault(value, word)
    return made
