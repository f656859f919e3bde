"""Finds a file's header, and reads the columns below it as days, amounts and words."""

import re
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from decimal import Decimal
from functools import cached_property, partial
from itertools import islice, pairwise, takewhile
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workbench.analysis.statements.cells import (
    Amount,
    Amounts,
    Cell,
    CellRows,
    Line,
    currencies_named,
    refused,
    text_of,
)
from workbench.analysis.statements.csv_files import cell_rows_of, digest_of
from workbench.analysis.statements.dates import DateFormat
from workbench.analysis.statements.layouts import AMOUNTS, HEADINGS, LABELS, LEDGER_HEADINGS, heading_key, plain
from workbench.analysis.statements.preamble import pairs_of
from workbench.analysis.statements.recognising import HEADER_WITHIN, head_of, headings_of
from workbench.domain.moments import milliseconds
from workbench.domain.money import ISO_4217, ZMW
from workbench.domain.phones import masked_number
from workbench.errors import StatementRefused

MOST_ROWS: Final = 20_000
"""The most rows of a file that a draft looks at, half of them at its end; `read_statement` reads them all."""
NEARLY_ALL: Final = 0.9
SEPARATORS: Final = ((".", ""), (".", ","), (",", ""), (",", "."), (",", " "), (".", " "), (".", "'"), (",", "'"))
DAYS: Final = (
    "%d/%m/%Y", "%m/%d/%Y", "%Y/%m/%d", "%d-%m-%Y", "%m-%d-%Y", "%Y-%m-%d", "%d.%m.%Y", "%m.%d.%Y", "%d %m %Y",
    "%d-%b-%Y", "%d %b %Y", "%d/%b/%Y", "%b %d, %Y", "%b %d %Y", "%Y%m%d", "%d%b%Y", "%d/%m/%y", "%m/%d/%y",
    "%d-%m-%y", "%m-%d-%y", "%d.%m.%y", "%d-%b-%y", "%d %b %y",
)  # fmt: skip
_TIME: Final = re.compile(
    r"(?P<gap>[ T]?)[0-9]{1,2}:[0-9]{2}(?P<seconds>:[0-9]{2})?(?P<part>[.][0-9]+)?(?P<blank> ?)(?P<half>[ap]m)?"
    r"(?P<zone>Z|[+-][0-9]{2}:?[0-9]{2})?$",
    re.IGNORECASE,
)
_MIDNIGHT: Final = re.compile("[ T]00:00(?::00(?:[.]0+)?)?$")
_LIKE_A_DATE: Final = re.compile(r"[0-9]{1,4}[-/. ]?(?:[0-9]{1,2}|[A-Za-z]{3,9})[-/. ]?,? ?[0-9]{2,4}(?![0-9.,])")
_OF_A_HEADING: Final = re.compile(r"\w\W+([A-Z]{3})\W*$")
_OF_AN_AMOUNT: Final = re.compile(r"(?=.*[0-9])[-+(]?(?:[0-9., ']+ )?[A-Z$]{2,3} ?(?:[0-9., ']+)?\)?")
_SAMPLE: Final = 500
_HALF: Final = 0.5
_LEAST_FIELDS: Final = 3


class Money(NamedTuple):
    """A column read as amounts: arrays of minor units, 0 for a cell without an amount."""

    values: NDArray[np.int64]
    """The amounts; below zero on the debit side."""
    debits: NDArray[np.int64]
    """The amounts as debits: above zero in the commonest style, below zero in another style."""
    told: NDArray[np.bool_]
    """A mask of the cells that are amounts."""
    marked: int
    """The number of cells that look like money: a workbook's numbers, and texts with more than digits."""

    @classmethod
    def of(cls, cells: Collection[Cell], by: Amounts) -> "Money":
        """The column of these cells as `by` reads them."""
        amounts = [read if isinstance(read, Amount) else Amount(0, "") for read in map(by.styled, cells)]
        is_marked = [isinstance(cell, Decimal) or not text_of(cell).strip().isdigit() for cell in cells]
        told = np.array([bool(amount.style) for amount in amounts], bool)
        values = np.array([amount.signed for amount in amounts], np.int64)
        styles = np.array([amount.style for amount in amounts], str)
        usual = Counter(styles[values != 0].tolist()).most_common(1)
        debits = np.where(styles == (usual[0][0] if usual else "plain"), np.abs(values), -np.abs(values))
        return cls(values, debits, told, int((told & np.array(is_marked, bool)).sum()))


@dataclass(frozen=True, eq=False)
class Cut:
    """A file cut into cells, with its likeliest header."""

    path: Path
    rows_of: CellRows
    headings: tuple[str, ...]
    """The headings as written, the second of a name as `Currency#2`, without blank ones at the end."""
    line: int
    above: tuple[Line, ...]
    is_ledger: bool
    """True for the user's own books."""
    rows: tuple[Line, ...] = ()
    """The rows below the header; of more than MOST_ROWS the first and the last ones."""
    filled: tuple[str, ...] = ()
    """The headings of columns with any text; without rows, all headings that are not blank."""
    currency: tuple[str, str] | None = None
    """The only currency that the file names, and its place; None for none or several."""

    def column(self, heading: str) -> dict[int, Cell]:
        """Line → the cell of its row under a heading, empty in a short row and under an empty heading."""
        place = (*self.headings, "").index(heading)
        return {line: cells[place] if heading and place < len(cells) else "" for line, cells in self.rows}

    def texts(self, heading: str) -> dict[int, str]:
        """Line → the text of its row's cell under a heading, for cells that are not blank."""
        return {line: text for line, cell in self.column(heading).items() if (text := text_of(cell).strip())}

    @cached_property
    def words(self) -> dict[str, list[str]]:
        """Heading → the text of each row's cell in the form of `heading_key`."""
        columns = {name: self.column(name).values() for name in {*self.headings, ""}}
        return {name: [heading_key(text_of(cell)) for cell in cells] for name, cells in columns.items()}

    @cached_property
    def days(self) -> dict[str, list[dict[int, int]]]:
        """Heading → line → milliseconds as each of the likeliest formats reads its cells.

        Only columns are there of whose filled cells at least half are days.
        """
        made = {}
        for name in self.filled:
            read = readings_of(self.column(name)).values()
            most = max(map(len, read))
            if most >= max(1, _HALF * len(self.texts(name))):
                made[name] = [reading for reading in read if len(reading) == most]
        return made

    @cached_property
    def money(self) -> dict[str, Money]:
        """Heading → its amounts, for columns that can be amounts, by the separators that read most cells."""
        likely = [name for name in self.filled if name not in self.days]
        likely = [name for name in likely if self.share(masked_number, name) <= 1 - NEARLY_ALL]
        tried = [
            {name: Money.of(self.column(name).values(), self.amounts(*marks)) for name in likely}
            for marks in SEPARATORS
        ]
        made = [
            {
                name: money
                for name, money in read.items()
                if money.told.sum() >= max(1, NEARLY_ALL * len(self.texts(name)))
            }
            for read in tried
        ]
        return max(made, key=lambda read: sum(money.told.sum() for money in read.values()))

    @cached_property
    def sample(self) -> "Cut":
        """The file with only those of its first _SAMPLE rows that have a day."""
        head = replace(self, rows=self.rows[:_SAMPLE])
        dated = {line for readings in head.days.values() for read in readings for line in read}
        return replace(head, rows=tuple(row for row in head.rows if row[0] in dated))

    def labelled(self) -> Iterator[tuple[int, str, str, Cell]]:
        """Yields line, label, the label's meaning (empty if unknown) and value for each value above the header."""
        for line, cells in self.above:
            yield from ((line, label, LABELS.get(plain(label), ""), value) for label, value in pairs_of(cells))

    def amounts(self, decimal: str, thousands: str) -> Amounts:
        """A reader of amounts in the file's currency."""
        return Amounts(decimal, thousands, self.currency[0] if self.currency else ZMW.code)

    def says_only(self, words: Collection[str], heading: str) -> bool:
        """True if a column has words, and only these."""
        return bool(found := {*self.words[heading]} - {""}) and found <= {*words}

    def share(self, kind: Callable[[str], object], heading: str) -> float:
        """The share of a column's filled cells that are of a kind, from 0 to 1."""
        texts = self.texts(heading)
        return sum(map(bool, map(kind, texts.values()))) / max(1, len(texts))

    def fits(self, field: str, heading: str) -> bool:
        """True if the cells of a column can hold a field; without rows any column can."""
        if not self.rows or field not in ("moment", "time", *AMOUNTS):
            return True
        if field == "time":
            return all(map(_TIME.match, self.texts(heading).values()))
        if field == "moment":
            return heading in self.days or not self.days
        return heading not in self.days and self.share(partial(re.search, "[0-9]"), heading) >= _HALF


def cut(path: Path, *, ledger: bool = False) -> Cut:
    """Cut a file into cells by the delimiter that gives the likeliest header; at most MOST_ROWS rows are kept.

    With `ledger`, headings are compared with those usual in a ledger, else in a statement. Raises StatementRefused: the
    file cannot be read, or has no line like a header.
    """
    digest_of(path)
    heads = [*map(head_of, cell_rows_of(path, [("cp1252", mark) for mark in ",;\t|"]))]
    likest, found = (0, 0), None
    for head in heads:
        for place, (line, cells) in enumerate(head.lines):
            headings = headings_of(cells)
            known = len(assigned(headings, LEDGER_HEADINGS if ledger else HEADINGS))
            # Unknown headings count by the rows below them; a line above them may have a day, too.
            below = head.lines[place + 1 : place + 1 + _LEAST_FIELDS]
            count = 0 if _is_row(cells) else sum(1 for _ in takewhile(lambda row: _is_row(row[1]), below))
            like = known if known >= _LEAST_FIELDS else min(count, _LEAST_FIELDS - 1), len(headings)
            if like[0] and like > likest:
                likest, found = like, Cut(path, head.cell_rows, headings, line, (*head.lines[:place],), ledger)
    if found is None:
        hint = "Put a line of headings above the rows: A,B,C… will do, since the cells tell what stands below."
        why = f"none of its first {HEADER_WITHIN} lines has headings that are known, or a row with a date below it"
        unread = all(head.failure for head in heads) and heads[0].failure
        raise unread or refused(path.name, f"has no header: {why}.", hint=hint)
    rows = (row for row in found.rows_of.lines() if row[0] > found.line)
    found = replace(found, rows=(*islice(rows, MOST_ROWS // 2), *deque(rows, MOST_ROWS // 2)))
    filled = [name for name in found.headings if name and (found.texts(name) or not found.rows)]
    return replace(found, filled=(*filled,), currency=_named_currency(found))


def _named_currency(file: Cut) -> tuple[str, str] | None:
    """The only currency named in headings, cells or lines above the header, and its place; None for none or several."""
    told = [(code[1], f"heading {name!r}") for name in file.headings if (code := _OF_A_HEADING.search(name))]
    for name in file.headings:
        of_column = plain(name) in HEADINGS["currency"].split(", ")
        texts = [(line, text) for line, text in file.texts(name).items() if of_column or _OF_AN_AMOUNT.fullmatch(text)]
        codes = [(currencies_named(text), f"line {line} {text!r}") for line, text in texts]
        told += [(code[0], where) for code, where in codes if len(code) == 1]
    values = [(line, text_of(value).strip()) for line, _, meaning, value in file.labelled() if meaning == "currency"]
    told += [(text, f"line {line} {text!r}") for line, text in values]
    named = {code.upper(): where for code, where in reversed(told) if code.upper() in ISO_4217}
    return next(iter(named.items())) if len(named) == 1 else None


def assigned(
    headings: Sequence[str], known: Mapping[str, str], fits: Callable[[str, str], bool] = lambda *_: True
) -> dict[str, str]:
    """Field → its likely heading by the words of `known`; `fits` says whether a column can hold a field."""
    left = {plain(heading): heading for heading in reversed(headings) if heading}
    found: dict[str, str] = {}
    for name, words in known.items():
        word = next((word for word in words.split(", ") if word in left and fits(name, left[word])), None)
        if word is not None:
            found[name] = left.pop(word)
    return found


def _is_row(cells: Sequence[Cell]) -> bool:
    """True for a line with an amount and a day, which is a moment or a text that begins like a date."""
    is_date = [isinstance(cell, datetime) or bool(_LIKE_A_DATE.match(text_of(cell).strip())) for cell in cells]
    others = [cell for place, cell in enumerate(cells) if True in is_date and place != is_date.index(True)]
    return any(isinstance(Amounts(*marks).styled(cell), Amount) for marks in SEPARATORS for cell in others)


def readings_of(cells: Mapping[int, Cell]) -> dict[str, dict[int, int]]:
    """Format → line → milliseconds of the cells that the format reads; it reads a workbook's own moments too.

    Every format of a day is combined with every format of a time in the texts. If all texts with a date end in a
    midnight, as spreadsheets add it to days, the formats have the midnight as fixed text and no time.
    """
    own = {line: milliseconds(at.replace(tzinfo=UTC)) for line, at in cells.items() if isinstance(at, datetime)}
    texts = {line: cell.strip() for line, cell in cells.items() if isinstance(cell, str)}
    days = {line: text for line, text in texts.items() if _LIKE_A_DATE.search(text)}
    midnights = [found[0] for found in map(_MIDNIGHT.search, days.values()) if found]
    times = dict.fromkeys(midnights if len(midnights) == len(days) else map(time_of, days.values()))
    made = {DAYS[0]: own}
    for pattern in (day + time for day in DAYS for time in times):
        with suppress(StatementRefused):
            by = DateFormat(pattern)
            made[pattern] = own | {line: at for line, text in days.items() if (at := by.read(text)) is not None}
    return made


def time_of(text: str) -> str:
    """The format of the time at the end of a text; empty if the text has no time."""
    found = _TIME.search(text)
    if not found:
        return ""
    hour, half = ("%I", f"{found['blank']}%p") if found["half"] else ("%H", "")
    finer = (":%S" if found["seconds"] else "") + (".%f" if found["part"] else "")
    return f"{found['gap']}{hour}:%M{finer}{half}{'%z' if found['zone'] else ''}"


def in_order(moments: Sequence[int], *, newest_first: bool | None = None) -> bool:
    """True if the moments are sorted: the newest first if `newest_first`, the oldest first if it is False.

    None accepts either order.
    """
    ways = (False, True) if newest_first is None else (newest_first,)
    return any(all(a >= b if way else a <= b for a, b in pairwise(moments)) for way in ways)
