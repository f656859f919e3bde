"""What stands in one cell: amounts, numbers of phones, keys. Texts become values here, or words why not."""

import re
from collections.abc import Callable
from datetime import datetime
from decimal import Decimal
from typing import Final, NamedTuple, TypeVar

from workbench.domain.masking import shortened
from workbench.domain.money import ZMW, decimals_of
from workbench.errors import StatementRefused

Cell = str | Decimal | datetime
"""A cell of a CSV file is text; one of a workbook may be a number (exact) or a moment (local) as well."""

Value = TypeVar("Value")
From = TypeVar("From")
MAX_DIGITS: Final = 13
"""Amounts and balances have at most so many digits before the point, fewer where a currency has more than two
decimals: sums stay far within 64 bits."""
_EXACT_DIGITS: Final = 15
"""A spreadsheet's number holds so many digits exactly."""
_USUAL_DECIMALS: Final = 2
"""Software writes so many in any currency: `15,000.00` of UGX, which has none, is 15,000."""
_SHOWN: Final = 40
LONGEST_KEY: Final = 32_767
"""As many as a cell of a workbook holds; a key goes through every step, and many of more fill the memory."""
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


class Amount(NamedTuple):
    """An amount as it is written: its minor units without a sign, and how it says on which side of zero it is."""

    minor: int
    style: str
    """`plain`, `minus`, `parentheses`, `CR` or `DR`; `minus` for a workbook's number below zero."""

    @property
    def signed(self) -> int:
        """Below zero for what is on the debit side."""
        return self.minor if self.style in ABOVE else -self.minor


ABOVE: Final = ("plain", "CR")
_STYLES: Final = {
    "0": "plain", "+0": "plain", "0+": "plain", "-0": "minus", "0-": "minus", "(0)": "parentheses",
    "0CR": "CR", "+0CR": "CR", "0DR": "DR", "+0DR": "DR",
}  # fmt: skip
"""A 0 in the place of the digits → the style: a text that says twice on which side it is, says nothing."""
_PART: Final = re.compile(
    r"(?P<digits>[0-9](?:[0-9.,'\s]*[0-9])?)|(?P<word>[A-Za-z$£€]+)\.?|(?P<sign>[-+()])|\s+|(?P<other>.)", re.DOTALL
)
_SYMBOLS: Final = {"K": ("ZMW", "MWK"), "ZK": ("ZMW",), "KSH": ("KES",), "$": ("USD",), "US$": ("USD",)}
_CURRENCY: Final = re.compile("[A-Z]{3}")
_LONGEST_AMOUNT: Final = 64
_NOTHING: Final = frozenset("-\u2013\u2014")
"""How accountants write that there is no amount."""


class Amounts:
    """Reads and writes amounts of a currency in minor units, the way a layout declares."""

    def __init__(self, decimal: str, thousands: str, currency: str = ZMW.code) -> None:
        self._decimal = decimal
        self._currency = currency
        self._decimals = decimals_of(currency)
        self._most_digits = MAX_DIGITS - max(0, self._decimals - _USUAL_DECIMALS)
        self.names_currencies = False
        """Whether any amount ever named a currency: only then must they be compared with the rows'."""
        # A space is written as several characters; they mean the same.
        separator = "[ \u00a0\u2009\u202f]" if thousands == " " else re.escape(thousands)
        whole = rf"[0-9]+|[0-9]{{1,3}}(?:{separator}[0-9]{{3}})+" if thousands else "[0-9]+"
        self._regex = re.compile(rf"([+-]?)({whole})(?:{re.escape(decimal)}([0-9]+))?")

    def read(self, cell: Cell) -> int | Wrong | None:
        """Whole minor units, exactly, below zero for DR; None for an empty cell, words for what is no amount."""
        found = self.styled(cell)
        return found.signed if isinstance(found, Amount) else found

    def styled(self, cell: Cell) -> Amount | Wrong | None:
        """The same, with how it is written."""
        if isinstance(cell, Decimal):
            minor = self._whole(cell)
            return minor if isinstance(minor, Wrong) else Amount(abs(minor), "minus" if minor < 0 else "plain")
        text = cell.strip() if isinstance(cell, str) else str(cell)
        if not text or text in _NOTHING:
            return None
        found, style = self._regex.fullmatch(text), ""
        if found is None:
            digits, style = self._undressed(text)
            if not (digits and style) or not (found := self._regex.fullmatch(digits)):
                return self._why_not(text, digits, style)
        sign, whole, part = found.groups()
        if not whole.isdecimal():
            whole = "".join(filter(str.isdecimal, whole))
        if len(whole.lstrip("0")) > self._most_digits:
            return Wrong(f"{shown(text)} has more than {self._most_digits} digits before the point")
        part = part or ""
        # Three digits behind a mark may be thousands: they are decimals only where the currency has three.
        if len(part) > max(self._decimals, _USUAL_DECIMALS) or part[self._decimals :].strip("0"):
            return self._too_fine(text)
        return Amount(
            int(whole + part[: self._decimals].ljust(self._decimals, "0")),
            style or ("minus" if sign == "-" else "plain"),
        )

    def _undressed(self, text: str) -> tuple[str, str]:
        """The digits of a text, and its style; empty where a word is neither a currency nor CR or DR, or too many."""
        if len(text) > _LONGEST_AMOUNT:
            return "", ""
        parts = [
            (each.lastgroup, each[each.lastgroup])
            for each in _PART.finditer(text.replace("\u2212", "-"))
            if each.lastgroup
        ]
        words = [text.upper() for kind, text in parts if kind == "word"]
        digits = [text for kind, text in parts if kind == "digits"]
        named = [word for word in words if word not in ("CR", "DR")]
        if len(digits) != 1 or len(named) > 1 or any(kind == "other" for kind, _ in parts):
            return "", ""
        if named and not (named[0] in _SYMBOLS or _CURRENCY.fullmatch(named[0])):
            return "", ""
        self.names_currencies = self.names_currencies or bool(named)
        shape = "".join("0" if kind == "digits" else part.upper() for kind, part in parts if part.upper() not in named)
        return digits[0], _STYLES.get(shape, "")

    def write(self, amount: Decimal) -> str:
        """`1234.50`, with the layout's point and no separators of thousands."""
        return f"{amount:f}".replace(".", self._decimal)

    def _whole(self, number: Decimal) -> int | Wrong:
        """A workbook's number in minor units."""
        if number and number.adjusted() >= self._most_digits:
            return Wrong(f"{number} has more than {self._most_digits} digits before the point")
        # Exact: the shortest text of a workbook's number has 17 digits at most.
        minor = number.scaleb(self._decimals)
        return int(minor) if minor == minor.to_integral_value() else self._too_fine(str(number))

    def _too_fine(self, text: str) -> Wrong:
        return Wrong(f"{shown(text)} has more decimals than {self._currency}, which has {self._decimals or 'none'}")

    def _why_not(self, text: str, digits: str, style: str) -> Wrong:
        if not _LIKE_AN_AMOUNT.fullmatch(digits or text):
            return Wrong(f"{shown(text)} is not an amount")
        if digits and not style:
            return Wrong(f"{shown(text)} has no clear sign")
        return Wrong(f"{shown(text)} is not written as the layout declares: decimals after {self._decimal!r}")


class MinorAmounts(Amounts):
    """Reads amounts that are written in minor units: whole numbers, whatever the currency."""

    def __init__(self, decimal: str, thousands: str, currency: str = ZMW.code) -> None:
        super().__init__(decimal, thousands, currency)
        self._decimals = 0

    def styled(self, cell: Cell) -> Amount | Wrong | None:
        """Whole minor units, and how they are written; None for an empty cell, words for what is none."""
        found = super().styled(cell)
        has_point = isinstance(cell, str) and self._decimal in cell
        return self._too_fine(text_of(cell)) if has_point and isinstance(found, Amount) else found

    def _too_fine(self, text: str) -> Wrong:
        return Wrong(f"{shown(text)} is not a whole number of minor units")


def currencies_named(cell: Cell) -> tuple[str, ...]:
    """The currencies that an amount may be in by its own words; none where it names none."""
    words = [found["word"].upper() for found in _PART.finditer(cell) if found["word"]] if type(cell) is str else []
    named = [_SYMBOLS.get(word, (word,)) for word in words if word not in ("CR", "DR")]
    return named[0] if named else ()


def key_of(cell: Cell) -> str | Wrong | None:
    """A transaction's id as text, trimmed, leading zeros kept; None for an empty cell."""
    if error := error_in(cell):
        return error
    text = text_of(cell).strip()
    if isinstance(cell, Decimal):
        is_cut = cell != cell.to_integral_value() or cell.adjusted() >= _EXACT_DIGITS
    else:
        is_cut = _TURNED_INTO_A_NUMBER.fullmatch(text) is not None
    if len(text) > LONGEST_KEY:
        return Wrong(f"{shown(text)} has more than {LONGEST_KEY:,} characters")
    return Wrong(f"{shown(text)} has lost digits: a spreadsheet made a number of it") if is_cut else text or None
