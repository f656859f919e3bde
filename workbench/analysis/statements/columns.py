"""Finds a file's header, reads its columns as days, amounts and words, and finds the columns that explain a balance."""

import re
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from decimal import Decimal
from functools import cached_property, partial
from itertools import islice, pairwise, permutations, product, takewhile
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workbench.analysis.statements.cells import (
    AmountCell,
    Amounts,
    Cell,
    CellRows,
    Line,
    currencies_named,
    file_refusal,
    text_of,
)
from workbench.analysis.statements.csv_files import cell_rows_of, digest_of
from workbench.analysis.statements.dates import DateFormat
from workbench.analysis.statements.layouts import (
    AMOUNTS,
    DIRECTION_WORDS,
    HEADINGS,
    LABELS,
    LEDGER_HEADINGS,
    PAGE,
    STATUS_WORDS,
    heading_key,
    plain,
)
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
_MOST_SIDES: Final = 6


class MoneyColumn(NamedTuple):
    """A column read as amounts: arrays of minor units, 0 for a cell without an amount."""

    values: NDArray[np.int64]
    """The amounts; below zero on the debit side."""
    debits: NDArray[np.int64]
    """The amounts if the column holds debits: those in the commonest style are above zero, others below."""
    is_amount: NDArray[np.bool_]
    """A mask of the cells that are amounts."""
    marked: int
    """The number of cells that look like money: a workbook's numbers, and texts with more than digits."""
    styles: Counter[str]
    """The number of amounts in each style, zeros left out."""

    @classmethod
    def from_cells(cls, cells: Collection[Cell], by: Amounts) -> "MoneyColumn":
        """Makes a column of these cells, one for each row, as `by` reads them."""
        amounts = [read if isinstance(read, AmountCell) else AmountCell(0, "") for read in map(by.styled, cells)]
        styles = Counter(amount.style for amount in amounts if amount.minor)
        usual = max(styles, key=styles.__getitem__, default="plain")
        is_marked = [isinstance(cell, Decimal) or not text_of(cell).strip().isdigit() for cell in cells]
        is_amount = np.array([bool(amount.style) for amount in amounts], bool)
        return cls(
            np.array([amount.signed for amount in amounts], np.int64),
            np.array([amount.minor if amount.style == usual else -amount.minor for amount in amounts], np.int64),
            is_amount,
            int((is_amount & np.array(is_marked, bool)).sum()),
            styles,
        )


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
    """The only currency that the file names, and where, such as `heading 'Amount ZMW'`; None for none or several."""

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
        """Heading → one mapping for each of the likeliest date formats: line → milliseconds as the format reads a cell.

        It has only columns in which at least half of the filled cells are days.
        """
        likeliest = {}
        for name in self.filled:
            read = readings_of(self.column(name)).values()
            most = max(map(len, read))
            if most >= max(1, _HALF * len(self.texts(name))):
                likeliest[name] = [reading for reading in read if len(reading) == most]
        return likeliest

    @cached_property
    def money(self) -> dict[str, MoneyColumn]:
        """Heading → its amounts, for columns that can be amounts, by the separators that read most cells."""
        likely = [name for name in self.filled if name not in self.days]
        likely = [name for name in likely if self.share(masked_number, name) <= 1 - NEARLY_ALL]
        tried = [
            {name: MoneyColumn.from_cells(self.column(name).values(), self.amounts(*marks)) for name in likely}
            for marks in SEPARATORS
        ]
        enough = [
            {
                name: money
                for name, money in read.items()
                if money.is_amount.sum() >= max(1, NEARLY_ALL * len(self.texts(name)))
            }
            for read in tried
        ]
        return max(enough, key=lambda read: sum(money.is_amount.sum() for money in read.values()))

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
        """True if a column has any text, and every text is in `words`; blank cells do not count."""
        return bool(own_words := {*self.words[heading]} - {""}) and own_words <= {*words}

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


def cut_file(path: Path, *, ledger: bool = False) -> Cut:
    """Cut a file into cells by the delimiter that gives the likeliest header; at most MOST_ROWS rows are kept.

    With `ledger`, headings are compared with those usual in a ledger, else in a statement. Raises StatementRefused: the
    file cannot be read, or has no line like a header.
    """
    digest_of(path)
    heads = [*map(head_of, cell_rows_of(path, [("cp1252", mark) for mark in ",;\t|"]))]
    likest, file = (0, 0), None
    for head in heads:
        for place, (line, cells) in enumerate(head.lines):
            headings = headings_of(cells)
            known = len(assigned(headings, LEDGER_HEADINGS if ledger else HEADINGS))
            # Unknown headings count by the rows below them; a line above them may have a day, too.
            below = head.lines[place + 1 : place + 1 + _LEAST_FIELDS]
            count = 0 if _is_row(cells) else sum(1 for _ in takewhile(lambda row: _is_row(row[1]), below))
            like = known if known >= _LEAST_FIELDS else min(count, _LEAST_FIELDS - 1), len(headings)
            if like[0] and like > likest:
                likest, file = like, Cut(path, head.cell_rows, headings, line, (*head.lines[:place],), ledger)
    if file is None:
        hint = "Put a line of headings above the rows: A,B,C… will do, since the cells tell what stands below."
        why = f"none of its first {HEADER_WITHIN} lines has headings that are known, or a row with a date below it"
        unread = all(head.failure for head in heads) and heads[0].failure
        raise unread or file_refusal(path.name, f"has no header: {why}.", hint=hint)
    rows = (row for row in file.rows_of.lines() if row[0] > file.line)
    shown = (*islice(rows, MOST_ROWS // 2), *deque(rows, MOST_ROWS // 2))
    keys = [*map(heading_key, file.headings)]
    own = (row for row in shown if [*map(heading_key, headings_of(row[1]))] != keys)
    file = replace(file, rows=tuple(row for row in own if ledger or not _is_page(row[1])))
    filled = [name for name in file.headings if name and (file.texts(name) or not file.rows)]
    return replace(file, filled=(*filled,), currency=_named_currency(file))


def _is_page(cells: Sequence[Cell]) -> bool:
    """True for a line with nothing but a page number."""
    texts = [text for cell in cells if (text := text_of(cell).strip())]
    return len(texts) == 1 and re.search(PAGE, texts[0]) is not None


def _named_currency(file: Cut) -> tuple[str, str] | None:
    """The only currency named in headings, cells or lines above the header, and where; None for none or several."""
    named = [(code[1], f"heading {name!r}") for name in file.headings if (code := _OF_A_HEADING.search(name))]
    for name in file.headings:
        of_column = plain(name) in HEADINGS["currency"].split(", ")
        texts = [(line, text) for line, text in file.texts(name).items() if of_column or _OF_AN_AMOUNT.fullmatch(text)]
        codes = [(currencies_named(text), f"line {line} {text!r}") for line, text in texts]
        named += [(code[0], where) for code, where in codes if len(code) == 1]
    values = [(line, text_of(value).strip()) for line, _, meaning, value in file.labelled() if meaning == "currency"]
    named += [(text, f"line {line} {text!r}") for line, text in values]
    currencies = {code.upper(): where for code, where in reversed(named) if code.upper() in ISO_4217}
    return next(iter(currencies.items())) if len(currencies) == 1 else None


def assigned(
    headings: Sequence[str], known: Mapping[str, str], fits: Callable[[str, str], bool] = lambda *_: True
) -> dict[str, str]:
    """Field → its likely heading; each heading is used once.

    `known` is field → the words that mean it, as in HEADINGS; `fits(field, heading)` is true if the column can hold it.
    """
    unused = {plain(heading): heading for heading in reversed(headings) if heading}
    columns: dict[str, str] = {}
    for name, words in known.items():
        word = next((word for word in words.split(", ") if word in unused and fits(name, unused[word])), None)
        if word is not None:
            columns[name] = unused.pop(word)
    return columns


def _is_row(cells: Sequence[Cell]) -> bool:
    """True for a line with a day (a workbook's moment, or a text that begins like a date) and an amount."""
    is_date = [isinstance(cell, datetime) or bool(_LIKE_A_DATE.match(text_of(cell).strip())) for cell in cells]
    others = [cell for place, cell in enumerate(cells) if True in is_date and place != is_date.index(True)]
    return any(isinstance(Amounts(*marks).styled(cell), AmountCell) for marks in SEPARATORS for cell in others)


def readings_of(cells: Mapping[int, Cell]) -> dict[str, dict[int, int]]:
    """Format → line → milliseconds since 1970, for the cells that the format reads.

    Every format reads a workbook's own moments. The formats combine each of DAYS with each format of a time in the
    texts. If all texts with a date end in a midnight, as spreadsheets add it to days, the formats have the midnight as
    fixed text and no time.
    """
    own = {line: milliseconds(at.replace(tzinfo=UTC)) for line, at in cells.items() if isinstance(at, datetime)}
    texts = {line: cell.strip() for line, cell in cells.items() if isinstance(cell, str)}
    days = {line: text for line, text in texts.items() if _LIKE_A_DATE.search(text)}
    midnights = [match[0] for match in map(_MIDNIGHT.search, days.values()) if match]
    times = dict.fromkeys(midnights if len(midnights) == len(days) else map(time_of, days.values()))
    readings = {DAYS[0]: own}
    for pattern in (day + time for day in DAYS for time in times):
        with suppress(StatementRefused):
            by = DateFormat(pattern)
            readings[pattern] = own | {line: at for line, text in days.items() if (at := by.read(text)) is not None}
    return readings


def time_of(text: str) -> str:
    """The format of the time at the end of a text, with the gap before it, such as ` %H:%M`; empty without a time."""
    match = _TIME.search(text)
    if not match:
        return ""
    hour, half = ("%I", f"{match['blank']}%p") if match["half"] else ("%H", "")
    finer = (":%S" if match["seconds"] else "") + (".%f" if match["part"] else "")
    return f"{match['gap']}{hour}:%M{finer}{half}{'%z' if match['zone'] else ''}"


def in_order(moments: Sequence[int], *, newest_first: bool | None = None) -> bool:
    """True if the moments are sorted: newest first, or oldest first if `newest_first` is False; either way for None."""
    ways = (False, True) if newest_first is None else (newest_first,)
    return any(all(a >= b if way else a <= b for a, b in pairwise(moments)) for way in ways)


class Proof(NamedTuple):
    """Columns that explain a balance, and the rows whose balance is the balance before plus the row's effect."""

    columns: dict[str, str]
    """Field → heading."""
    steps: list[tuple[int, int]]
    """Pairs of indices: a row with a balance, and the next row with one, whose balance follows from the first."""
    compared: int
    """The number of rows whose balance was compared, without rows that move nothing."""
    newest_first: bool
    moves: NDArray[np.int64]
    """The effect of each row on the balance."""
    explains: tuple[bool, int]
    """True if nearly all compared rows are explained, and the number of explained rows."""
    agreed: int
    """The number of these columns that the headings suggest too."""
    rank: tuple[int, bool, bool]
    """The sort key among proofs that explain equally many rows; the greatest is the best."""

    def in_words(self, sample: Cut) -> str:
        """The first explained row as a sum, `100.00 in line 2 - 5.00 = 95.00 in line 3`, and the count of such rows."""
        before, place = self.steps[0]
        lines = [line for line, _ in sample.rows]

        def text_at(name: str, at: int) -> str:
            return sample.texts(self.columns.get(name, "")).get(lines[at], "")

        signs = {"debit": "-", "credit": "+", "amount": "+" if self.moves[place] > 0 else "-", "fee": "-"}
        parts = [f"{sign} {text.strip('+-')}" for name, sign in signs.items() if (text := text_at(name, place))]
        first, second = (
            f"{text_at('balance', at)} {text_at('side', at)}".strip() + f" in line {lines[at]}"
            for at in (before, place)
        )
        return f"{first} {' '.join(parts)} = {second}, and so in {len(self.steps)} of {self.compared} rows"


_Way = tuple[dict[str, str], NDArray[np.int64], Sequence[object], bool]
"""Columns (field → heading) that may move the balance, the size of each row's effect on it, each row's word for its
direction, and True if the columns alone show the direction. If there are no words, the sizes are signed."""


def _ways(sample: Cut, columns: Mapping[str, str]) -> Iterator[_Way]:
    """Yields the ways in which columns may move the balance: as debit and credit, or as an amount.

    The direction of an amount is its sign, the word or the parties beside it, or what the balance shows. `columns` is
    field → heading as known so far.
    """
    money = sample.money
    for debit, credit in permutations(money, 2):
        out, into = money[debit], money[credit]
        # A line of totals may fill both columns.
        if ((out.values != 0) & (into.values != 0)).sum() <= 1 and (out.values.any() or into.values.any()):
            ways = (out.debits, np.abs(out.debits)) if (out.debits < 0).any() else (out.debits,)
            yield from (({"debit": debit, "credit": credit}, into.values - debits, (), True) for debits in ways)
    most = min(_MOST_SIDES, len(sample.rows) // 2)
    others = {name: {*sample.words[name]} - {""} for name in sample.filled if name not in {*money, *sample.days}}
    sides = [
        name for name, words in others.items()
        if words and not words <= STATUS_WORDS.keys() and (words <= DIRECTION_WORDS.keys() or 1 < len(words) <= most)
    ]  # fmt: skip
    parties = {name: columns[name] for name in ("from", "to") if {"from", "to"} <= columns.keys()}
    for name, amount in money.items():
        yield {"amount": name}, amount.values, (), True
        sizes = np.abs(amount.values)
        for side in () if (amount.values < 0).any() else sides:
            yield {"amount": name, "direction": side}, sizes, sample.words[side], True
        # Each row has a word of its own.
        yield {"amount": name, **parties}, sizes, range(len(sizes)), bool(parties)


def proofs_of(sample: Cut, known: Mapping[str, str], fee: str | None) -> Iterator[Proof]:
    """Yields a proof, good or bad, for each choice of columns that may move a balance and of the column of balances.

    Each choice is tried in the orders of rows that the days allow. `known` is field → heading as known so far, and
    `fee` the heading of the fees that lower the balance.
    """
    money, count = sample.money, len(sample.rows)
    status = next((name for name in sample.filled if sample.says_only(STATUS_WORDS, name)), "")
    # Failed and pending rows move no balance.
    states = sample.words[known.get("status", status)]
    idle = np.array([STATUS_WORDS.get(state, "completed") != "completed" for state in states], bool)
    less = np.abs(money[fee].values) if fee else np.int64(0)
    of_account = np.array(sample.words[known.get("account", "")])
    # In books a balance beside which DR stands is not below zero.
    sides = [h for h in sample.filled if not sample.is_ledger and sample.says_only(("cr", "dr"), h)]
    days = sample.days.get(known.get("moment") or next(iter(sample.days), ""), [])
    orders = [way for way in (False, True) if any(in_order([*read.values()], newest_first=way) for read in days)]
    ways = product(_ways(sample, known), money, ["", *sides], orders or [False, True])
    for (way, sizes, words, tells), name, side, newest_first in ways:
        balance = money[name]
        if name in {*way.values(), fee} or side in way.values() or balance.is_amount.sum() <= 1:
            continue
        is_below = np.array([word == "dr" for word in sample.words[side]], bool)
        values = np.where(is_below, -np.abs(balance.values), balance.values) if side else balance.values
        # The places of the rows with a balance, the oldest first.
        at = np.flatnonzero(balance.is_amount)[:: -1 if newest_first else 1]
        changes = np.diff(values[at])
        moved = np.zeros(count, np.int64)
        moved[at[1:]] = changes
        # A word has the sign of most changes that are as large as the word's rows.
        votes: Counter[object] = Counter()
        for word, size, change in zip(words, sizes.tolist(), (moved + less).tolist(), strict=False):
            votes[word] += (change == size) - (change == -size) if size else 0
        signed = sizes * np.array([np.sign(votes[word]) for word in words] or 1, np.int64)
        moves = np.where(idle, 0, signed - less)
        sums = np.cumsum(moves[::-1])[::-1] if newest_first else np.cumsum(moves)
        expected = np.diff(sums[at])
        counts = ((changes != 0) | (expected != 0)) & (of_account[at][1:] == of_account[at][:-1])
        steps = [(int(at[nth]), int(at[nth + 1])) for nth in np.flatnonzero(counts & (changes == expected))]
        columns = {**way, "balance": name, **({"side": side} if side else {}), **({"fee": fee} if fee else {})}
        agreed = sum(known.get(field) == heading for field, heading in columns.items())
        rank = sum(money[heading].marked for heading in columns.values() if heading in money), tells, bool(side)
        explains = len(steps) >= NEARLY_ALL * counts.sum() > 0, len(steps)
        yield Proof(columns, steps, int(counts.sum()), newest_first, moves, explains, agreed, rank)
