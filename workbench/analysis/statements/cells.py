"""Columns of cells, and readers that turn a cell into an amount, a key or another value, or say why it has none."""

import re
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from decimal import Decimal
from functools import partial
from types import MappingProxyType
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from workbench.analysis.frames import in_one_piece
from workbench.domain.masking import shortened
from workbench.domain.money import ZMW, decimals_of
from workbench.errors import StatementRefused

Cell = str | Decimal | datetime
"""A cell: text in a CSV file; in a workbook also an exact number, or a moment without a zone."""

MAX_DIGITS: Final = 13
"""The most digits of an amount before the decimal point, so that sums stay far within 64 bits.

Amounts in a currency with more than two decimals have fewer.
"""
_EXACT_DIGITS: Final = 15
"""The number of digits that a spreadsheet's number holds exactly."""
_USUAL_DECIMALS: Final = 2
"""Decimals that software writes for any currency: `15,000.00` in UGX, which has none, means 15,000."""
_SHOWN: Final = 40
LONGEST_KEY: Final = 32_767
"""The most characters of a key, as many as a workbook's cell holds; longer keys could fill the memory."""
_LIKE_AN_AMOUNT: Final = re.compile(r"[+-]?[0-9][0-9.,' \u00a0\u202f]*")
CUT_BY_SPREADSHEET: Final = re.compile(r"[0-9][.,][0-9]+[Ee]\+[0-9]+")
"""Matches a numeric key that a spreadsheet saved as a number, such as 7.71E+09; its last digits are lost."""
_ERRORS: Final = frozenset((
    "#BLOCKED!", "#BUSY!", "#CALC!", "#CONNECT!", "#DIV/0!", "#FIELD!", "#GETTING_DATA", "#N/A", "#NAME?", "#NULL!",
    "#NUM!", "#REF!", "#SPILL!", "#UNKNOWN!", "#VALUE!",
))  # fmt: skip
"""The error values of spreadsheet formulas, as text in a CSV file."""


class Wrong(str):
    """The reason why a cell has no value, worded to follow the name of its column."""

    __slots__ = ()


Whole = NDArray[np.int64]
Mask = NDArray[np.bool_]
Quick = Mapping[str, Callable[[pa.Array], tuple[pa.Array, Mask]]]
"""Kind of column (`text` or `number`) → fast reader of its distinct cells.

The reader returns a value for each cell, and a mask of the cells that it could read; the other values mean nothing.
"""
_SAMPLE_ROWS: Final = 1 << 13
_MANY_DIFFERENT: Final = 0.998


class CellColumn:
    """A column of a file: its distinct cells, and for each row the index of its cell among them.

    If hardly any cell repeats, the column holds the cells of all rows in order instead.
    """

    def __init__(self, different: Sequence[Cell] | pa.Array, codes: NDArray[Any], *, is_number: bool = False) -> None:
        if not isinstance(different, pa.Array) and all(type(cell) is str for cell in different):
            with suppress(UnicodeEncodeError):  # half of a pair that UTF-16 has
                different = pa.array(different, pa.string())
        self.different: Any = different
        """The distinct cells, of which some may repeat: an Arrow array of texts or moments with null for an empty cell,
        or a list of other cells."""
        self.codes: NDArray[np.intp] = codes
        self._is_number = is_number
        """True if the texts of `different` stand for exact numbers, so that the cells are decimals."""

    @classmethod
    def from_arrow(cls, values: pa.Array | pa.ChunkedArray, *, is_number: bool = False) -> "CellColumn":
        """Makes a column of an Arrow array of texts, of moments or, if `is_number`, of exact numbers as texts."""
        whole = in_one_piece(values)
        if pa.types.is_dictionary(whole.type):
            if not whole.null_count:
                return cls(whole.dictionary, whole.indices.to_numpy())
            whole = whole.cast(whole.type.value_type)
        head = whole[:_SAMPLE_ROWS]
        if len(whole) > len(head) and pc.count_distinct(head).as_py() > _MANY_DIFFERENT * _SAMPLE_ROWS:
            return cls(whole, np.arange(len(whole), dtype=np.int32), is_number=is_number)
        coded = whole.dictionary_encode(null_encoding="encode")
        return cls(coded.dictionary, coded.indices.to_numpy(), is_number=is_number)

    @classmethod
    def from_cells(cls, cells: Iterable[Cell]) -> "CellColumn":
        """Makes a column of these cells, one for each row."""
        known: dict[Cell, int] = {}
        codes = np.fromiter((known.setdefault(cell, len(known)) for cell in cells), np.int32)
        return cls([*known], codes)

    def cells(self, places: Sequence[int] | NDArray[Any] | None = None) -> list[Cell]:
        """The distinct cells; with `places`, only those at these indices."""
        if not isinstance(self.different, pa.Array):
            return [*self.different] if places is None else [self.different[place] for place in places]
        values = (self.different if places is None else self.different.take(pa.array(places, pa.int64()))).to_pylist()
        return ["" if cell is None else number_in(cell) if self._is_number else cell for cell in values]

    def row(self, place: int) -> Cell:
        """The cell of the row with the index `place`."""
        return self.cells([self.codes[place]])[0]

    @property
    def kind(self) -> str:
        """The kind of all cells: `text`, `number`, `moment`, or `mixed`."""
        if not isinstance(self.different, pa.Array):
            return "mixed"
        if pa.types.is_timestamp(self.different.type):
            return "moment"
        return "number" if self._is_number else "text"

    @property
    def texts(self) -> pa.Array | None:
        """The distinct cells as an Arrow array of texts; None if any is not text."""
        return self.different if self.kind == "text" else None

    def where(self, holds: Callable[[Cell], bool], like: str = "") -> Mask:
        """A mask of the rows for whose cell `holds` returns True.

        If `like` is given, texts that do not match this regular expression are False without a call.
        """
        is_held = np.ones(len(self.different), bool)
        if like and self.texts is not None:
            is_held = matched(self.texts, like)
        places = np.flatnonzero(is_held)
        is_held[places] = [holds(cell) for cell in self.cells(places)]
        return is_held[self.codes]

    def where_blank(self) -> Mask:
        """A mask of the rows whose cell is blank."""
        if self.texts is None:
            return self.where(lambda cell: isinstance(cell, str) and not cell.strip())
        is_blank = pc.equal(pc.utf8_trim_whitespace(self.texts), "").fill_null(fill_value=True)
        return mask_of(is_blank)[self.codes]

    def has(self, cell: Cell) -> Mask:
        """A mask of the rows with this cell."""
        if self.texts is None or not isinstance(cell, str):
            return self.where(lambda other: other == cell)
        return mask_of(pc.equal(self.texts, cell).fill_null(cell == ""))[self.codes]

    def replaced(self, where: Mask, other: "CellColumn") -> "CellColumn":
        """A copy in which the rows of the mask `where` have the cells of `other`, a column of only these rows."""
        codes = self.codes.astype(np.int64)
        codes[where] = len(self.different) + other.codes
        if self.kind == other.kind == "text":
            return CellColumn(pa.concat_arrays([self.different, other.different]), codes)
        both = CellColumn.from_cells([*self.cells(), *other.cells()])
        return CellColumn(both.different, both.codes[codes])

    def only(self, rows: NDArray[Any]) -> "CellColumn":
        """The column with only these rows, given as a mask or as indices."""
        return CellColumn(self.different, self.codes[rows], is_number=self._is_number)

    def coded(self) -> Whole:
        """An integer from 0 for each row; rows with equal cells have equal integers."""
        if self.kind == "mixed":
            return self.codes.astype(np.int64)
        places: Whole = self.different.dictionary_encode(null_encoding="encode").indices.to_numpy().astype(np.int64)
        return places[self.codes]

    def thinned(self) -> "CellColumn":
        """The column without distinct cells that no row uses."""
        used, codes = np.unique(self.codes, return_inverse=True)
        different = self.cells(used) if self.kind == "mixed" else self.different.take(pa.array(used))
        return CellColumn(different, codes, is_number=self._is_number)

    def read(
        self, read: Callable[[Any], Any], kind: pa.DataType, quick: Quick = MappingProxyType({})
    ) -> tuple[pa.Array, list[tuple[int, "Wrong"]]]:
        """The value of each row, null for an empty or wrong cell; and (index of row, reason) for the wrong cells.

        Each distinct cell is read once: plain texts and numbers by `quick`, all others by `read`.
        """
        read_quickly, is_slow = quick.get(self.kind), np.ones(len(self.different), bool)
        if read_quickly:
            plain, is_plain = read_quickly(self.different)
            is_slow = ~is_plain
        slow = np.flatnonzero(is_slow)
        results = [read(cell) for cell in self.cells(slow)] if len(slow) else []
        wrong = {place: why for place, why in zip(slow.tolist(), results, strict=True) if type(why) is Wrong}
        values = pa.array([None if type(result) is Wrong else result for result in results], kind)
        if read_quickly:
            values = pc.replace_with_mask(plain.cast(kind), pa.array(is_slow), values)
        rows = np.flatnonzero(np.isin(self.codes, [*wrong])) if wrong else slow[:0]
        bad = [(row, wrong[code]) for row, code in zip(rows.tolist(), self.codes[rows].tolist(), strict=True)]
        return spread(values, self.codes), bad


Line = tuple[int, list[Cell]]
"""The number of a line, from 1 in its file or sheet, and its cells."""


class CellRows(NamedTuple):
    """A file as split into cells: a sheet of a workbook, or a CSV file read with one encoding and delimiter."""

    says: str
    """Names the sheet, or the encoding and delimiter, in messages: `sheet 'October'`."""
    kind: str
    """The kind of file, one of `layouts.KINDS`."""
    delimiter: str | None
    """The character between two cells of a CSV file; None for a sheet."""
    lines: Callable[[], Iterator[Line]]
    """Returns the lines that are not blank; each call begins again with the first."""
    encoding: str | None = None
    """The encoding that a layout must declare to use this reading; None if the file shows its own."""
    name: str = ""
    """The file's name."""
    columns: Callable[[int, int], "Body | None"] | None = None
    """A function of a line number and a number of columns: returns the lines after that line, split into columns.

    `columns`, or its result, is None if the lines must be read one by one.
    """

    def body(self, after: int, width: int) -> "Body":
        """The lines after line `after` as `width` columns."""
        if self.columns and (body := self.columns(after, width)):
            return body
        numbers = array("q")
        odd: dict[int, list[Cell]] = {}
        different: list[dict[Cell, int]] = [{} for _ in range(width)]
        codes = [array("i") for _ in range(width)]
        for place, (number, cells) in enumerate(line for line in self.lines() if line[0] > after):
            numbers.append(number)
            if is_odd(cells, width):
                odd[place] = cells
            padded = [*cells[:width], *[""] * (width - len(cells))] if len(cells) != width else cells
            for known, into, cell in zip(different, codes, padded, strict=True):
                into.append(known.setdefault(cell, len(known)))
        pairs = zip(different, codes, strict=True)
        columns = [CellColumn([*known], np.array(into, np.int32)) for known, into in pairs]
        return Body(np.array(numbers, np.int64), columns, odd)


class Body(NamedTuple):
    """The rows of a file, as columns."""

    lines: Whole
    """The line number of each row."""
    columns: list[CellColumn]
    odd: dict[int, list[Cell]]
    """Index of a row → all its cells, for rows with more or fewer cells than the header."""

    def row(self, place: int) -> list[Cell]:
        """The cells of the row with the index `place`."""
        return self.odd.get(place) or [column.row(place) for column in self.columns]

    def only(self, rows: NDArray[np.bool_]) -> "Body":
        """The body with only the rows of the mask."""
        if rows.all():
            return self
        now = np.cumsum(rows) - 1
        odd = {int(now[place]): cells for place, cells in self.odd.items() if rows[place]}
        return Body(self.lines[rows], [column.only(rows) for column in self.columns], odd)


def is_odd(cells: Sequence[Cell], width: int) -> bool:
    """True for a row with fewer cells than the header, or with filled cells beyond it."""
    return len(cells) < width or any(cell != "" for cell in cells[width:])


def spread(values: pa.Array, codes: NDArray[Any]) -> pa.Array:
    """The value of each row; `codes` has the index of the row's value in `values`.

    Texts become a dictionary array, unless `values` has one text for each row, in the order of the rows.
    """
    if len(values) == len(codes) and (codes == np.arange(len(codes))).all():
        return values
    if not pa.types.is_string(values.type):
        return values.take(pa.array(codes))
    coded = values.dictionary_encode()
    return pa.DictionaryArray.from_arrays(coded.indices.take(pa.array(codes)), coded.dictionary)


def all_hold(masks: Iterable[Mask]) -> Mask:
    """A mask of the rows that are True in all masks. As soon as no such row is left, further masks are not consumed."""
    holds = np.zeros(0, bool)
    for nth, mask in enumerate(masks):
        holds = holds & mask if nth else mask
        if not holds.any():
            break
    return holds


def matched(texts: pa.Array, pattern: str) -> Mask:
    """A mask of the texts in which a regular expression matches anywhere."""
    return mask_of(pc.match_substring_regex(texts, pattern))


def mask_of(holds: pa.Array | pa.ChunkedArray) -> Mask:
    """Converts Arrow booleans to a mask; null becomes False."""
    return np.asarray(holds.fill_null(fill_value=False), bool)


def codes_of(columns: Sequence[CellColumn]) -> Whole:
    """An integer for each row; rows with equal cells in all these columns have equal integers."""
    codes, *others = [column.coded() for column in columns]
    for other in others:
        codes = _numbered(codes * (other.max(initial=0) + 1) + other)
    return codes


def _numbered(values: Whole) -> Whole:
    """A number from 0 for each value, in the order in which different values occur first."""
    numbers: Whole = pa.array(values).dictionary_encode().indices.to_numpy().astype(np.int64)
    return numbers


def distinct_rows(columns: Sequence[CellColumn]) -> tuple[list[tuple[Cell, ...]], NDArray[Any]]:
    """The distinct rows of these columns, and for each row its index among them."""
    codes = _numbered(codes_of(columns))
    first = np.empty(codes.max(initial=-1) + 1, np.int64)
    # Of several rows with one number, the last to be assigned stays: the first row.
    first[codes[::-1]] = np.arange(len(codes))[::-1]
    return [*zip(*(column.cells(column.codes[first]) for column in columns), strict=True)], codes


def file_refusal(name: str, why: str, *, hint: str = "", **facts: object) -> StatementRefused:
    """Makes the exception that refuses the file `name`; its message is the name and `why`.

    `hint` tells a person what to do; `facts` are values for programs.
    """
    return StatementRefused(f"{name} {why}", hint=hint, file=name, **facts)


def number_in(text: str) -> Cell:
    """The exact number in a text from Arrow; any other text, such as `nan`, is returned unchanged."""
    if not text[-1:].isdigit():
        return text
    # Arrow writes 1e+15 for a float that is 1000000000000000.0 in Python.
    return Decimal(repr(float(text)) if "e" in text else text)


def error_in(cell: Cell) -> Wrong | None:
    """The reason why a cell with a spreadsheet error, such as `#DIV/0!`, has no value; None for any other cell."""
    if type(cell) is not str or "#" not in cell:
        return None
    text = cell.strip()
    return Wrong(f"holds the spreadsheet's error {text}") if text in _ERRORS else None


def quoted(cell: Cell) -> str:
    """The first characters of a cell in quotes, for a message."""
    return repr(shortened(text_of(cell), _SHOWN, counts_mark=False))


def text_of(cell: Cell) -> str:
    """A cell as text; whole numbers have no decimal point."""
    if isinstance(cell, Decimal):
        return str(int(cell)) if cell == cell.to_integral_value() else format(cell, "f")
    return cell if isinstance(cell, str) else cell.isoformat(sep=" ")


class AmountCell(NamedTuple):
    """An amount as written: its minor units without a sign, and the style, which shows whether it is below zero."""

    minor: int
    style: str
    """`plain`, `minus`, `parentheses`, `CR` or `DR`; `minus` for a workbook's number below zero."""

    @property
    def signed(self) -> int:
        """The minor units; negative for a debit."""
        return self.minor if self.style in ABOVE else -self.minor


ABOVE, BELOW = ("plain", "CR"), ("minus", "parentheses", "DR")
"""The styles of positive amounts (ABOVE) and of negative ones (BELOW)."""
_STYLES: Final = {
    "0": "plain", "+0": "plain", "0+": "plain", "-0": "minus", "0-": "minus", "(0)": "parentheses",
    "0CR": "CR", "+0CR": "CR", "0DR": "DR", "+0DR": "DR",
}  # fmt: skip
"""An amount's text with `0` for its digits → the style; a text with two signs is not listed."""
_PART: Final = re.compile(
    r"(?P<digits>[0-9](?:[0-9.,'\s]*[0-9])?)|(?P<word>[A-Za-z$£€]+)\.?|(?P<sign>[-+()])|\s+|(?P<other>.)", re.DOTALL
)
_SYMBOLS: Final = {"K": ("ZMW", "MWK"), "ZK": ("ZMW",), "KSH": ("KES",), "$": ("USD",), "US$": ("USD",)}
_CURRENCY: Final = re.compile("[A-Z]{3}")
_LONGEST_AMOUNT: Final = 64
_NOTHING: Final = frozenset("-\u2013\u2014")
"""The dashes that mean no amount."""


class Amounts:
    """Reads a currency's amounts as minor units, and writes them, with the separators of a layout.

    With `is_minor`, the cells hold whole minor units in every currency.
    """

    def __init__(self, decimal: str, thousands: str, currency: str = ZMW.code, *, is_minor: bool = False) -> None:
        self._decimal = decimal
        self._currency = currency
        self._is_minor = is_minor
        self._decimals = 0 if is_minor else decimals_of(currency)
        decimals = decimals_of(currency)
        self._most_digits = MAX_DIGITS - max(0, decimals - _USUAL_DECIMALS) + decimals * is_minor
        self._too_long = f"has more than {self._most_digits} digits{'' if is_minor else ' before the point'}"
        self.names_currencies = False
        """True once an amount has named a currency: only then are currencies compared with the rows'."""
        # Several characters are written as a space, and mean the same.
        separator = "[ \u00a0\u2009\u202f]" if thousands == " " else re.escape(thousands)
        whole = rf"[0-9]+|[0-9]{{1,3}}(?:{separator}[0-9]{{3}})+" if thousands else "[0-9]+"
        self._regex = re.compile(rf"([+-]?)({whole})(?:{re.escape(decimal)}([0-9]+))?")
        self._thousands = thousands

    def read(self, cell: Cell) -> int | Wrong | None:
        """The exact minor units, negative for a debit; None for an empty cell, Wrong for any other text."""
        amount = self.styled(cell)
        return amount.signed if isinstance(amount, AmountCell) else amount

    def styled(self, cell: Cell) -> AmountCell | Wrong | None:
        """The amount with its style; None for an empty cell, Wrong for any other text."""
        if isinstance(cell, Decimal):
            whole = self._whole(cell)
            return whole if isinstance(whole, Wrong) else AmountCell(abs(whole), "minus" if whole < 0 else "plain")
        text = cell.strip() if isinstance(cell, str) else str(cell)
        if not text or text in _NOTHING:
            return None
        match, style = self._regex.fullmatch(text), ""
        if match is None:
            digits, style = self._digits_and_style(text)
            if not (digits and style) or not (match := self._regex.fullmatch(digits)):
                return self._why_not(text, digits, style)
        sign, grouped, part = match.groups("")
        digits = "".join(filter(str.isdecimal, grouped))
        if len(digits.lstrip("0")) > self._most_digits:
            return Wrong(f"{quoted(text)} {self._too_long}")
        # Three digits behind a mark may be thousands: they are decimals only where the currency has three.
        is_too_fine = len(part) > max(self._decimals, _USUAL_DECIMALS) or part[self._decimals :].strip("0")
        if is_too_fine or (self._is_minor and self._decimal in text):
            return self._too_fine(text)
        minor = int(digits + part[: self._decimals].ljust(self._decimals, "0"))
        return AmountCell(minor, style or ("minus" if sign == "-" else "plain"))

    def quick(self, read: Callable[[Cell], Any]) -> Quick:
        """Fast readers of plain amounts: texts in the format of the layout, and exact numbers.

        `read` is the slow reader. Its results for the texts `1` and `-1` show which sign it gives to positive and to
        negative amounts; the fast readers give the same. If `read` refuses `1` or `-1`, the fast readers leave all
        amounts with that sign to `read`.
        """
        major = 10**self._decimals
        above, below = ({major: 1, -major: -1}.get(read(text), 0) for text in ("1", "-1"))
        zeros = rf"(\.[0-9]{{{self._decimals}}})0+$" if self._decimals else r"()\.0+$"

        def read_plain(point: str, thousands: str, texts: pa.Array) -> tuple[pa.Array, Mask]:
            part = rf"(?:{re.escape(point)}[0-9]{{1,{self._decimals}}})?" if self._decimals else ""
            most = (self._most_digits - 1) // 3
            grouped = rf"|[0-9]{{1,3}}(?:{re.escape(thousands)}[0-9]{{3}}){{1,{most - 1}}}" if thousands else ""
            is_plain = matched(texts, rf"^-?(?:[0-9]{{1,{self._most_digits}}}{grouped}){part}$")
            plain = pc.if_else(pa.array(is_plain), texts, "0")
            if thousands:
                plain = pc.replace_substring(plain, thousands, "")
            if point != ".":
                plain = pc.replace_substring(plain, point, ".")
            whole = plain.cast(pa.decimal128(18, self._decimals))
            # Arrow stores a decimal as an integer of 128 bits; these amounts need the lower 64.
            minor = np.frombuffer(whole.buffers()[1], np.int64)[::2][: len(texts)]
            sign = np.where(minor > 0, above, below)
            return pa.array(np.abs(minor) * sign), is_plain & (minor != 0) & (sign != 0)

        return {
            "text": partial(read_plain, self._decimal, self._thousands),
            "number": lambda numbers: read_plain(".", "", pc.replace_substring_regex(numbers, zeros, r"\1")),
        }

    def _digits_and_style(self, text: str) -> tuple[str, str]:
        """The digits of an amount, and the style that writes its sign, a value of `_STYLES`.

        The style is empty if the sign is unclear; both are empty if the text is no amount.
        """
        if len(text) > _LONGEST_AMOUNT:
            return "", ""
        matches = _PART.finditer(text.replace("\u2212", "-"))
        parts = [(match.lastgroup, match[match.lastgroup]) for match in matches if match.lastgroup]
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
        """The text of an amount in major units, `1234.50`, with the layout's point and no separators of thousands."""
        return f"{amount:f}".replace(".", self._decimal)

    def _whole(self, number: Decimal) -> int | Wrong:
        """A workbook's number in minor units; Wrong if it has too many digits or decimals."""
        if number and number.adjusted() >= self._most_digits:
            return Wrong(f"{number} {self._too_long}")
        # Exact: the shortest text of a workbook's number has 17 digits at most.
        minor = number.scaleb(self._decimals)
        return int(minor) if minor == minor.to_integral_value() else self._too_fine(str(number))

    def _too_fine(self, text: str) -> Wrong:
        if self._is_minor:
            return Wrong(f"{quoted(text)} is not a whole number of minor units")
        return Wrong(f"{quoted(text)} has more decimals than {self._currency}, which has {self._decimals or 'none'}")

    def _why_not(self, text: str, digits: str, style: str) -> Wrong:
        if not _LIKE_AN_AMOUNT.fullmatch(digits or text):
            return Wrong(f"{quoted(text)} is not an amount")
        if digits and not style:
            return Wrong(f"{quoted(text)} has no clear sign")
        return Wrong(f"{quoted(text)} is not written as the layout declares: decimals after {self._decimal!r}")


def currencies_named(cell: Cell) -> tuple[str, ...]:
    """The currencies that the word beside an amount may mean, as `K` may mean ZMW or MWK; empty if there is no word."""
    words = [part["word"].upper() for part in _PART.finditer(cell) if part["word"]] if type(cell) is str else []
    named = [_SYMBOLS.get(word, (word,)) for word in words if word not in ("CR", "DR")]
    return named[0] if named else ()


def _plain_keys(texts: pa.Array) -> tuple[pa.Array, Mask]:
    is_plain = mask_of(pc.and_(pc.ascii_is_alnum(texts), pc.less_equal(pc.binary_length(texts), _LONGEST_PLAIN_KEY)))
    # Most keys need no pattern, which takes six times as long.
    return texts, is_plain if is_plain.all() else matched(texts, f"^[0-9A-Za-z:_/-]{{1,{_LONGEST_PLAIN_KEY}}}$")


_LONGEST_PLAIN_KEY: Final = 200
QUICK_KEYS: Final[Quick] = {"text": _plain_keys}
"""A fast reader of plain keys: short texts of letters, digits and a few signs."""


def key_of(cell: Cell) -> str | Wrong | None:
    """A transaction id as trimmed text; None for an empty cell, Wrong for an id that is too long or has lost digits."""
    if error := error_in(cell):
        return error
    text = text_of(cell).strip()
    if isinstance(cell, Decimal):
        is_cut = cell != cell.to_integral_value() or cell.adjusted() >= _EXACT_DIGITS
    else:
        is_cut = CUT_BY_SPREADSHEET.fullmatch(text) is not None
    if len(text) > LONGEST_KEY:
        return Wrong(f"{quoted(text)} has more than {LONGEST_KEY:,} characters")
    return Wrong(f"{quoted(text)} has lost digits: a spreadsheet made a number of it") if is_cut else text or None
