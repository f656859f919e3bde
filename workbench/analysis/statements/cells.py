"""What stands in one cell: amounts, numbers of phones, keys. Texts become values here, or words why not."""

import re
from collections.abc import Callable
from datetime import datetime
from decimal import Decimal
from typing import Final, TypeVar

from workbench.domain.masking import shortened
from workbench.errors import StatementRefused

Cell = str | Decimal | datetime
"""A cell of a CSV file is text; one of a workbook may be a number (exact) or a moment (local) as well."""

Value = TypeVar("Value")
From = TypeVar("From")
MAX_DIGITS: Final = 13
"""Amounts and balances have at most so many digits before the point: sums stay far within 64 bits."""
_EXACT_DIGITS: Final = 15
"""A spreadsheet's number holds so many digits exactly."""
_DECIMALS: Final = 2
_SHOWN: Final = 40
_REMEMBERED: Final = 50_000
_LIKE_AN_AMOUNT: Final = re.compile(r"[+-]?[0-9][0-9.,' \u00a0\u202f]*")
_TURNED_INTO_A_NUMBER: Final = re.compile(r"[0-9][.,][0-9]+[Ee]\+[0-9]+")
_ERRORS: Final = frozenset((
    "#BLOCKED!", "#BUSY!", "#CALC!", "#CONNECT!", "#DIV/0!", "#FIELD!", "#GETTING_DATA", "#N/A", "#NAME?", "#NULL!",
    "#NUM!", "#REF!", "#SPILL!", "#UNKNOWN!", "#VALUE!",
))  # fmt: skip
"""As a spreadsheet writes them; in what it saves as CSV, they are this text."""


class Wrong(str):
    """Why a cell has no value, to be read after the name of its column."""

    __slots__ = ()


class Memo(dict[From, Value]):
    """A function that remembers its answers, so many at most; `memo[cell]` is a look-up in C."""

    def __init__(self, answer: Callable[[From], Value]) -> None:
        super().__init__()
        self._answer = answer
        self.refused = False
        """Whether any answer ever was Wrong: only then must they be looked for."""

    def __missing__(self, asked: From) -> Value:
        if len(self) >= _REMEMBERED:
            self.clear()
        found = self[asked] = self._answer(asked)
        self.refused = self.refused or type(found) is Wrong
        return found


def refused(name: str, why: str, *, hint: str = "", **facts: object) -> StatementRefused:
    """The refusal of a file: a sentence that begins with its name."""
    return StatementRefused(f"{name} {why}", hint=hint, file=name, **facts)


def error_in(cell: Cell) -> Wrong | None:
    """Words for a cell that holds a spreadsheet's error, such as `#DIV/0!`, instead of a value."""
    if type(cell) is not str or "#" not in cell:
        return None
    text = cell.strip()
    return Wrong(f"holds the spreadsheet's error {text}") if text in _ERRORS else None


def shown(cell: Cell) -> str:
    """The beginning of a cell, as it is quoted in words."""
    return repr(shortened(text_of(cell), _SHOWN, counts_mark=False))


def text_of(cell: Cell) -> str:
    """A cell as text; a whole number has no point."""
    if isinstance(cell, Decimal):
        return str(int(cell)) if cell == cell.to_integral_value() else format(cell, "f")
    return cell if isinstance(cell, str) else cell.isoformat(sep=" ")


class Amounts:
    """Reads and writes amounts in minor units, the way a layout declares."""

    def __init__(self, decimal: str, thousands: str) -> None:
        self._decimal = decimal
        # A space is written as several characters; they mean the same.
        separator = "[ \u00a0\u202f]" if thousands == " " else re.escape(thousands)
        whole = rf"[0-9]+|[0-9]{{1,3}}(?:{separator}[0-9]{{3}})+" if thousands else "[0-9]+"
        self._regex = re.compile(rf"([+-]?)({whole})(?:{re.escape(decimal)}([0-9]{{1,2}}))?")

    def read(self, cell: Cell) -> int | Wrong | None:
        """Whole minor units, exactly; None for an empty cell, words for what is no amount."""
        if isinstance(cell, Decimal):
            return _whole(cell)
        text = cell.strip() if isinstance(cell, str) else str(cell)
        if not text:
            return None
        found = self._regex.fullmatch(text)
        if found is None:
            return self._why_not(text)
        sign, whole, part = found.groups()
        if not whole.isdecimal():
            whole = "".join(filter(str.isdecimal, whole))
        if len(whole.lstrip("0")) > MAX_DIGITS:
            return Wrong(f"{shown(text)} has more than {MAX_DIGITS} digits before the point")
        minor = int(whole + (part or "").ljust(_DECIMALS, "0"))
        return -minor if sign == "-" else minor

    def write(self, minor: int) -> str:
        """`1234.50`, with the layout's point and no separators of thousands."""
        whole, part = divmod(abs(minor), 10**_DECIMALS)
        return f"{'-' if minor < 0 else ''}{whole}{self._decimal}{part:0{_DECIMALS}}"

    def _why_not(self, text: str) -> Wrong:
        if not _LIKE_AN_AMOUNT.fullmatch(text):
            return Wrong(f"{shown(text)} is not an amount")
        _, point, part = text.rpartition(self._decimal)
        if point and part.isdigit() and len(part) > _DECIMALS:
            return Wrong(f"{shown(text)} is finer than 0.01")
        return Wrong(f"{shown(text)} is not written as the layout declares: decimals after {self._decimal!r}")


class MinorAmounts(Amounts):
    """Reads amounts that are written in minor units: whole numbers."""

    def read(self, cell: Cell) -> int | Wrong | None:
        """Whole minor units; None for an empty cell, words for what is none."""
        found = super().read(cell)
        if not isinstance(found, int):
            return found
        minor, rest = divmod(found, 10**_DECIMALS)
        has_point = isinstance(cell, str) and self._decimal in cell
        return Wrong(f"{shown(cell)} is no whole number of minor units") if rest or has_point else minor


def _whole(number: Decimal) -> int | Wrong:
    """A workbook's number in minor units."""
    if number and number.adjusted() >= MAX_DIGITS:
        return Wrong(f"{number} has more than {MAX_DIGITS} digits before the point")
    # Exact: the shortest text of a workbook's number has 17 digits at most.
    minor = number.scaleb(_DECIMALS)
    if minor != minor.to_integral_value():
        return Wrong(f"{number} is finer than 0.01")
    return int(minor)


def key_of(cell: Cell) -> str | Wrong | None:
    """A transaction's id as text, trimmed, leading zeros kept; None for an empty cell."""
    if error := error_in(cell):
        return error
    text = text_of(cell).strip()
    if isinstance(cell, Decimal):
        is_cut = cell != cell.to_integral_value() or cell.adjusted() >= _EXACT_DIGITS
    else:
        is_cut = _TURNED_INTO_A_NUMBER.fullmatch(text) is not None
    return Wrong(f"{shown(text)} is a number whose digits a spreadsheet has not kept") if is_cut else text or None
