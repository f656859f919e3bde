"""Finds a file's header and the column of each field: by headings, by cells, and by the running balance as a proof."""

import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from functools import cached_property, partial
from itertools import islice, pairwise, permutations, product, takewhile
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
from workbench.analysis.statements.layouts import (
    AMOUNTS,
    DIRECTION_WORDS,
    HEADINGS,
    LABELS,
    LEDGER_HEADINGS,
    STATUS_WORDS,
    SWAPPED,
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
"""The most rows of a file that a draft looks at; `read_statement` reads them all."""
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
_LIKE_A_CODE: Final = re.compile(r"(?=\S*[0-9])[A-Za-z0-9./-]+")
_OF_A_HEADING: Final = re.compile(r"\w\W+([A-Z]{3})\W*$")
_OF_AN_AMOUNT: Final = re.compile(r"(?=.*[0-9])[-+(]?(?:[0-9., ']+ )?[A-Z$]{2,3} ?(?:[0-9., ']+)?\)?")
_SAMPLE: Final = 500
_HALF: Final = 0.5
_LEAST_FIELDS: Final = 3
_LEAST_LETTERS: Final = 3
_MOST_SIDES: Final = 6


class Cut(NamedTuple):
    """A file cut into cells, with its likeliest header."""

    path: Path
    rows_of: CellRows
    headings: tuple[str, ...]
    """The headings as written, the second of a name as `Currency#2`, without blank ones at the end."""
    line: int
    above: tuple[Line, ...]
    rows: tuple[Line, ...]
    """The rows below the header, at most MOST_ROWS."""
    is_ledger: bool
    """True for the user's own books."""
    currency: tuple[str, str] | None = None
    """The only currency that the file names, and its place; None for none or several."""

    def column(self, heading: str) -> dict[int, Cell]:
        """Line → the cell of its row under a heading, empty in a short row; no rows for an unknown heading."""
        if not heading or heading not in self.headings:
            return {}
        place = self.headings.index(heading)
        return {line: cells[place] if place < len(cells) else "" for line, cells in self.rows}

    def texts(self, heading: str) -> dict[int, str]:
        """Line → the text of its row's cell under a heading, for cells that are filled."""
        return {line: text for line, cell in self.column(heading).items() if (text := text_of(cell).strip())}

    def labelled(self) -> Iterator[tuple[int, str, str, Cell]]:
        """Yields line, label, the label's meaning (empty if unknown) and value for each value above the header."""
        for line, cells in self.above:
            yield from ((line, label, LABELS.get(plain(label), ""), value) for label, value in pairs_of(cells))

    def amounts(self, decimal: str, thousands: str) -> Amounts:
        """A reader of amounts in the file's currency."""
        return Amounts(decimal, thousands, self.currency[0] if self.currency else ZMW.code)


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
            known = len(assigned(headings, known=LEDGER_HEADINGS if ledger else HEADINGS))
            # Unknown headings count by the rows below them; a line above them may have a day, too.
            below = head.lines[place + 1 : place + 1 + _LEAST_FIELDS]
            count = 0 if _is_row(cells) else sum(1 for _ in takewhile(lambda row: _is_row(row[1]), below))
            like = known if known >= _LEAST_FIELDS else min(count, _LEAST_FIELDS - 1), len(headings)
            if like[0] and like > likest:
                likest, found = like, Cut(path, head.cell_rows, headings, line, (*head.lines[:place],), (), ledger)
    if found is None:
        hint = "Put a line of headings above the rows: A,B,C… will do, since the cells tell what stands below."
        why = f"none of its first {HEADER_WITHIN} lines has headings that are known, or a row with a date below it"
        unread = all(head.failure for head in heads) and heads[0].failure
        raise unread or refused(path.name, f"has no header: {why}.", hint=hint)
    rows = islice((row for row in found.rows_of.lines() if row[0] > found.line), MOST_ROWS)
    found = found._replace(rows=(*rows,))
    return found._replace(currency=_named_currency(found))


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
    headings: Sequence[str],
    fits: Callable[[str, str], bool] = lambda *_: True,
    known: Mapping[str, str] = HEADINGS,
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
    """True for a line with a day and an amount."""
    day = next((place for place, cell in enumerate(cells) if _is_date(cell)), None)
    others = [cell for place, cell in enumerate(cells) if place != day]
    amounts = (Amounts(*marks).styled(cell) for marks in SEPARATORS for cell in others)
    return day is not None and any(isinstance(amount, Amount) for amount in amounts)


def _is_date(cell: Cell) -> bool:
    """True for a moment, and for text that begins like a date."""
    return isinstance(cell, datetime) or _LIKE_A_DATE.match(text_of(cell).strip()) is not None


def readings_of(texts: Mapping[int, str]) -> dict[DateFormat, dict[int, int]]:
    """Format → line → milliseconds, for every format of a day combined with every format of a time in the texts.

    A format lacks the lines whose text it cannot read; texts without a digit are left out. If all other texts end in a
    midnight, as spreadsheets add it to days, the formats have the midnight as fixed text and no time.
    """
    days = {line: text for line, text in texts.items() if re.search("[0-9]", text)}
    midnights = [found[0] for found in map(_MIDNIGHT.search, days.values()) if found]
    times = dict.fromkeys(midnights if len(midnights) == len(days) else map(time_of, days.values()))
    made: dict[DateFormat, dict[int, int]] = {}
    for pattern in (day + time for day in DAYS for time in times):
        with suppress(StatementRefused):
            by = DateFormat(pattern)
            made[by] = {line: at for line, text in days.items() if (at := by.read(text)) is not None}
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


class _Money(NamedTuple):
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
    def of(cls, cells: Sequence[Cell], read: Sequence[object]) -> "_Money":
        """The column of these cells; `read` has an Amount for each cell that is one."""
        amounts = [cell if isinstance(cell, Amount) else Amount(0, "") for cell in read]
        styles = Counter(amount.style for amount in amounts if amount.minor)
        usual = max(styles, key=styles.__getitem__, default="plain")
        is_marked = [isinstance(cell, Decimal) or not text_of(cell).strip().isdigit() for cell in cells]
        return cls(
            np.array([amount.signed for amount in amounts], np.int64),
            np.array([amount.minor if amount.style == usual else -amount.minor for amount in amounts], np.int64),
            np.array([bool(amount.style) for amount in amounts], bool),
            sum(bool(amount.style) and marked for amount, marked in zip(amounts, is_marked, strict=False)),
        )


class _Sample:
    """The first rows of a file that have a day, column by column."""

    def __init__(self, file: Cut) -> None:
        self.headings = [name for name in file.headings if name and (not file.rows or file.texts(name))]
        head = file._replace(rows=file.rows[:_SAMPLE])
        days = {name: found for name in self.headings if (found := _days(head.column(name)))}
        dated = {line for readings in days.values() for read in readings for line in read}
        self.file = head._replace(rows=tuple(row for row in head.rows if row[0] in dated))
        self.lines = sorted(dated)
        self.days = {name: [[*read.values()] for read in readings] for name, readings in days.items()}
        """Heading → its moments as each of the likeliest formats reads them."""
        columns = {name: [*self.file.column(name).values()] for name in self.headings}
        self.cells: dict[str, list[Cell]] = {"": [""] * len(dated), **columns}
        self.texts = {name: [*self.file.texts(name).values()] for name in self.headings}
        """Heading → the cells that are not blank, as text."""
        self.said = {name: [heading_key(text_of(cell)) for cell in cells] for name, cells in self.cells.items()}
        """Heading → the text of each row's cell in the form of `heading_key`."""

    def says_only(self, words: Collection[str], heading: str) -> bool:
        """True if a column has words, and only these."""
        return bool(found := {*self.said[heading]} - {""}) and found <= {*words}

    def share(self, kind: Callable[[str], object], heading: str) -> float:
        """The share of a column's filled cells that are of a kind, from 0 to 1."""
        return sum(map(bool, map(kind, self.texts[heading]))) / max(1, len(self.texts[heading]))

    def fits(self, field: str, heading: str) -> bool:
        """True if the cells of a column can hold a field; without rows any column can."""
        if not self.lines or field not in ("moment", "time", *AMOUNTS):
            return True
        if field == "time":
            return all(map(_TIME.match, self.texts[heading]))
        if field == "moment":
            return heading in self.days or not self.days
        return heading not in self.days and self.share(partial(re.search, "[0-9]"), heading) >= _HALF

    @cached_property
    def money(self) -> dict[str, _Money]:
        """Heading → its amounts, for columns that can be amounts, by the separators that read most cells."""
        likely = [h for h in self.headings if h not in self.days and self.share(masked_number, h) <= 1 - NEARLY_ALL]
        best: dict[str, _Money] = {}
        for marks in SEPARATORS:
            amounts, made = self.file.amounts(*marks), dict[str, _Money]()
            for name in likely:
                money = _Money.of(self.cells[name], [amounts.styled(cell) for cell in self.cells[name]])
                if money.told.any() and money.told.sum() >= NEARLY_ALL * len(self.texts[name]):
                    made[name] = money
            if sum(money.told.sum() for money in made.values()) > sum(money.told.sum() for money in best.values()):
                best = made
        return best


def _days(cells: Mapping[int, Cell]) -> list[dict[int, int]]:
    """For each of the likeliest formats: line → milliseconds, for the cells that it reads and a workbook's moments.

    Empty if they are less than half of the filled cells.
    """
    own = {line: milliseconds(at.replace(tzinfo=UTC)) for line, at in cells.items() if isinstance(at, datetime)}
    texts = {line: cell.strip() for line, cell in cells.items() if isinstance(cell, str) and cell.strip()}
    is_likely = any(_LIKE_A_DATE.match(text) or text[:1].isalpha() for text in texts.values())
    read = [*readings_of(texts).values()] if is_likely else []
    most = max(map(len, read), default=0)
    if not most + len(own) or most + len(own) < _HALF * sum(cell != "" for cell in cells.values()):
        return []
    return [own | reading for reading in read if len(reading) == most] or [own]


@dataclass
class Columns:
    """The columns of a file, and how far its rows prove them."""

    found: dict[str, str]
    """Field → heading."""
    doubts: dict[str, list[str]] = field(default_factory=dict)
    """Place in the layout, such as `columns.key` → what a person has to decide."""
    proof: str = ""
    """The sum that proves the balance, and the number of such rows."""
    directions: dict[str, str] = field(default_factory=dict)
    """A word → the direction that the balance gives it."""
    newest_first: bool | None = None
    """True if the balance proves that the newest row comes first; None if it proves no order."""

    def doubt(self, where: str, text: str) -> None:
        """Adds a doubt about a place in the layout."""
        self.doubts.setdefault(where, []).append(text)


def columns_of(file: Cut) -> Columns:
    """Finds the column of each field by its heading, if its cells fit, else by the balance, or else by its cells."""
    sample = _Sample(file)
    known = LEDGER_HEADINGS if file.is_ledger else HEADINGS
    columns = Columns(assigned(sample.headings, sample.fits, known))
    found = columns.found
    # A month without a debit has an empty column of debits.
    empty = assigned([name for name in file.headings if name not in sample.headings], known=known)
    for side in SWAPPED:
        if side in empty and side not in found:
            found[side] = empty[side]
            sample.money[empty[side]] = _Money.of([], [None] * len(sample.lines))
            sample.cells[empty[side]] = sample.cells[""]
    _prove(columns, sample)
    _one_of_two(columns, sample)
    for name, likely in _SCORES.items():
        left = [heading for heading in sample.headings if heading not in found.values()]
        best = max(left, key=partial(likely, sample), default="")
        if best and likely(sample, best) > 0 and name not in found and not found.keys() & _INSTEAD.get(name, set()):
            found[name] = best
            columns.doubt(f"columns.{name}", "by its cells alone")
    _settle_ways(sample, found)
    columns.doubts = {
        where: doubts for where, doubts in columns.doubts.items() if where.partition(".")[2] in {"", *found}
    }
    return columns


_WAY: Final = frozenset(("amount", "debit", "credit", "direction", "from", "to"))
_INSTEAD: Final = {"amount": {"debit"}, "direction": {"debit", "from"}, "phone": {"from", "to"}}
"""Field → the fields that, once found, make it needless."""


def _one_of_two(columns: Columns, sample: _Sample) -> None:
    """Takes two columns as debit and credit if each row fills exactly one of them and no other way is found.

    Changes `columns` in place. Adds a doubt about which is the debit, unless a heading or amounts below zero show it.
    """
    found, money = columns.found, sample.money
    if "amount" in found or {"debit", "credit"} <= found.keys():
        return
    told = {name: column.values != 0 for name, column in money.items()}
    pairs = [
        (a, b) for a, b in permutations(money, 2)
        if (told[a] ^ told[b]).all() and told[a].any() and told[b].any()
        and (found.get("debit", a), found.get("credit", b)) == (a, b)
    ]  # fmt: skip
    if pairs:
        # Amounts below zero go out.
        debit, credit = min(pairs, key=lambda pair: money[pair[0]].values.sum() > 0)
        if not (found.keys() & {"debit", "credit"} or (money[debit].values < 0).any()):
            text = f"each row fills {debit!r} or {credit!r}; nothing proves which of them goes out"
            columns.doubt("columns.debit", text)
        found |= {"debit": debit, "credit": credit}


def _settle_ways(sample: _Sample, found: dict[str, str]) -> None:
    """Changes `found` (column → heading) in place until only one way to show the direction is left.

    Removes or renames columns: amount, direction, debit and credit, from and to, type.
    """
    money = sample.money.get(found.get("amount", ""))
    if {"debit", "credit"} <= found.keys():
        # A column CR/DR beside the two is that of the balance.
        if side := found.pop("direction", None):
            found.setdefault("side", side)
        found.pop("amount", None)
    elif money and (money.values < 0).any():
        found.pop("direction", None)
    if "amount" in found and "direction" not in found and sample.says_only(DIRECTION_WORDS, found.get("type", "")):
        found["direction"] = found.pop("type")
    for name in () if {"from", "to"} <= found.keys() else ("from", "to"):
        found.pop(name, None)


class _Proof(NamedTuple):
    """Columns that explain a balance, and the rows whose balance is the balance before plus the row's effect."""

    columns: dict[str, str]
    """Field → heading."""
    steps: list[tuple[int, int]]
    """The place of the row with the balance before, and of the row whose balance follows from it."""
    of: int
    """The number of rows whose balance was compared, without rows that move nothing."""
    newest_first: bool
    moves: NDArray[np.int64]
    """The effect of each row on the balance."""
    explains: tuple[bool, int]
    """True if nearly all rows are explained, and their number."""
    agreed: int
    """The number of these columns that the headings suggest too."""
    rank: tuple[int, bool, bool]
    """The sort key of proofs that explain as much, greatest for the best."""

    @property
    def between(self) -> NDArray[np.bool_]:
        """True for each row between two balances that agree; the oldest balance proves nothing about its own row."""
        told = np.zeros(len(self.moves), bool)
        for before, place in self.steps:
            told[min(before + 1, place) : max(before, place + 1)] = True
        return told


_Way = tuple[dict[str, str], NDArray[np.int64], Sequence[object], bool]
"""Columns (field → heading) that may move the balance, the size of each row's move, the word of each row for its
direction, and True if the columns alone show the direction. Without words the sizes are signed."""


def _ways(sample: _Sample, found: Mapping[str, str]) -> Iterator[_Way]:
    """Yields candidate columns that may move the balance: debit and credit, or an amount.

    The direction of an amount is its sign, the word or the parties beside it, or what the balance shows.
    """
    money = sample.money
    for debit, credit in permutations(money, 2):
        out, into = money[debit], money[credit]
        # A line of totals may fill both columns.
        if ((out.values != 0) & (into.values != 0)).sum() <= 1 and (out.values.any() or into.values.any()):
            for debits in (out.debits, np.abs(out.debits)) if (out.debits < 0).any() else (out.debits,):
                yield {"debit": debit, "credit": credit}, into.values - debits, (), True
    most = min(_MOST_SIDES, len(sample.lines) // 2)
    others = {name: {*sample.said[name]} - {""} for name in sample.headings if name not in {*money, *sample.days}}
    sides = [
        name for name, words in others.items()
        if words and not words <= STATUS_WORDS.keys() and (words <= DIRECTION_WORDS.keys() or 1 < len(words) <= most)
    ]  # fmt: skip
    parties = {name: found[name] for name in ("from", "to") if {"from", "to"} <= found.keys()}
    for name, amount in money.items():
        yield {"amount": name}, amount.values, (), True
        sizes = np.abs(amount.values)
        for side in () if (amount.values < 0).any() else sides:
            yield {"amount": name, "direction": side}, sizes, sample.said[side], True
        # Each row has a word of its own.
        yield {"amount": name, **parties}, sizes, range(len(sizes)), bool(parties)


def _proofs(sample: _Sample, found: Mapping[str, str], idle: NDArray[np.bool_], fee: str | None) -> Iterator[_Proof]:
    """Yields a proof for each of `_ways` with each candidate for the balance, in the orders that the days allow.

    `found` is field → heading as known so far, `idle` marks rows that move no balance, and `fee` is the heading of the
    fees that lower it.
    """
    money = sample.money
    less = np.abs(money[fee].values) if fee else np.int64(0)
    of_account = np.array([text_of(cell) for cell in sample.cells[found.get("account", "")]])
    # In books a balance beside which DR stands is not below zero.
    sides = [h for h in sample.headings if not sample.file.is_ledger and sample.says_only(("cr", "dr"), h)]
    moments = sample.days.get(found.get("moment") or next(iter(sample.days), ""), [])
    orders = [way for way in (False, True) if any(in_order(read, newest_first=way) for read in moments)]
    ways = product(_ways(sample, found), money, ["", *sides], orders or [False, True])
    for (way, sizes, words, tells), name, side, newest_first in ways:
        balance = money[name]
        if name in {*way.values(), fee} or side in way.values() or balance.told.sum() <= 1:
            continue
        is_below = np.array([word == "dr" for word in sample.said[side]], bool)
        values = np.where(is_below, -np.abs(balance.values), balance.values) if side else balance.values
        # The places of the rows with a balance, the oldest first.
        at = np.flatnonzero(balance.told)[:: -1 if newest_first else 1]
        changes = np.diff(values[at])
        moved = np.zeros(len(values), np.int64)
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
        agreed = sum(found.get(field) == heading for field, heading in columns.items())
        rank = sum(money[heading].marked for heading in columns.values() if heading in money), tells, bool(side)
        of, explained = int(counts.sum()), len(steps)
        explains = explained >= NEARLY_ALL * of > 0, explained
        yield _Proof(columns, steps, of, newest_first, moves, explains, agreed, rank)


def _proofs_tried(sample: _Sample, found: Mapping[str, str]) -> list[_Proof]:
    """All proofs, the best first; those with a fee too, if no proof without a fee explains every row."""
    status = next((name for name in sample.headings if sample.says_only(STATUS_WORDS, name)), "")
    # Failed and pending rows move no balance.
    words = sample.said[found.get("status", status)]
    idle = np.array([STATUS_WORDS.get(word, "completed") != "completed" for word in words], bool)
    tried: list[_Proof] = []
    for fee in dict.fromkeys((None, found.get("fee"))):
        if not tried or len(tried[0].steps) < tried[0].of:
            proofs = [*tried, *_proofs(sample, found, idle, fee)]
            tried = sorted(proofs, key=lambda proof: (proof.explains, proof.agreed, proof.rank), reverse=True)
    return tried


def _prove(columns: Columns, sample: _Sample) -> None:
    """Changes `columns` in place: the columns of money that the balance proves replace those that headings suggest."""
    found = columns.found
    tried = _proofs_tried(sample, found)
    if not tried or not tried[0].explains[0]:
        return
    best = tried[0]
    is_known = best.columns.items() <= found.items()
    alike = [proof for proof in tried if (proof.explains, proof.rank) == (best.explains, best.rank)]
    others = [proof for proof in alike if proof.columns != best.columns]
    if len(best.steps) == 1 and not is_known and best.agreed < len(best.columns) - 1:
        columns.doubt("columns.balance", "one row alone shows it")
    for other in [proof for proof in others if not is_known or proof.agreed == best.agreed][:1]:
        named = ", ".join(f"{name} = {heading!r}" for name, heading in other.columns.items())
        columns.doubt("columns.balance", f"it follows as well with {named}")
    orders = {proof.newest_first for proof in alike if (proof.columns, proof.agreed) == (best.columns, best.agreed)}
    columns.newest_first = best.newest_first if len(orders) == 1 else None
    if not is_known:
        columns.proof = _in_words(sample, best)
        for name, heading in [*found.items()]:
            if heading in best.columns.values() or name in (*_WAY, "balance", "side"):
                del found[name]
        found |= best.columns
    moves, signed = best.moves, best.columns.keys() & {"amount", "direction", "from"} == {"amount"}
    values = sample.money[best.columns["amount"]].values if signed else moves
    if (values < 0).any() and (values * np.sign(moves) < 0).any():
        text = "the balance falls where this is above zero, and no layout can say so: reverse its signs in the file"
        columns.doubt("columns.amount", text)
    fee = found.get("fee")
    if fee and "fee" not in best.columns and sample.money[fee].values[best.between & (moves != 0)].any():
        columns.doubt("columns", f"fee = {json.dumps(found.pop('fee'))}  # the balance follows without it alone")
    moved = zip(sample.said[best.columns.get("direction", "")], moves.tolist(), strict=True)
    columns.directions = {word: "in" if move > 0 else "out" for word, move in moved if word and move}


def _in_words(sample: _Sample, proof: _Proof) -> str:
    """The sum in the first row that proves a balance, as text, and the number of such rows."""
    before, place = proof.steps[0]

    def said(name: str, at: int) -> str:
        return text_of(sample.cells[proof.columns.get(name, "")][at]).strip()

    comes = {"credit": True, "amount": proof.moves[place] > 0}
    parts = [
        f"{'+' if comes.get(name) else '-'} {text.strip('+-')}"
        for name in ("debit", "credit", "amount", "fee") if (text := said(name, place))
    ]  # fmt: skip
    was, comes_to = (
        f"{said('balance', at)} {said('side', at)}".strip() + f" in line {sample.lines[at]}" for at in (before, place)
    )
    return f"{was} {' '.join(parts)} = {comes_to}, and so in {len(proof.steps)} of {proof.of} rows"


_Score = Callable[[_Sample, str], float]


def _by_share(kind: Callable[[str], object], sample: _Sample, heading: str) -> float:
    """The share of cells of a kind under a heading; a share below NEARLY_ALL counts as 0."""
    share = sample.share(kind, heading)
    return share if share >= NEARLY_ALL else 0


def _like_keys(sample: _Sample, heading: str) -> float:
    """The share of codes among the cells, times the share of different texts.

    0 for days, amounts, and a column that only counts its rows.
    """
    texts = sample.texts[heading]
    if texts and all(re.fullmatch("[0-9]+", text) for text in texts):
        counts = [*map(int, texts)]
        is_other = min(counts) <= 1 and {abs(b - a) for a, b in pairwise(counts)} <= {1}
    else:
        is_other = heading in sample.days or (heading in sample.money and sample.money[heading].marked > 0)
    codes = _by_share(_LIKE_A_CODE.fullmatch, sample, heading)
    return 0 if is_other else codes * len({*texts}) / max(1, len(sample.lines))


def _like_money(sample: _Sample, heading: str) -> float:
    """A score: the number of amounts with more than digits, plus twice the negative ones, times the nonzero share.

    Counts and keys are plain digits, and a column of fees has zeros.
    """
    money = sample.money.get(heading)
    return float((money.marked + 2 * (money.values < 0).sum()) * (money.values != 0).mean()) if money else 0


def _like_narrative(sample: _Sample, heading: str) -> float:
    """The mean number of letters in a filled cell; 0 for dates, for few letters, or if most cells repeat."""
    texts = sample.texts[heading]
    letters = sum(sum(map(str.isalpha, text)) for text in texts) / max(1, len(texts))
    is_free = heading not in sample.days and 2 * len({*texts}) >= len(texts)
    return letters if is_free and letters >= _LEAST_LETTERS else 0


_SCORES: Final[dict[str, _Score]] = {
    "moment": lambda sample, heading: max(
        (len(days) * (1 + in_order(days)) for days in sample.days.get(heading, [])), default=0
    ),
    "status": lambda sample, heading: sample.says_only(STATUS_WORDS, heading),
    "amount": _like_money,
    "direction": lambda sample, heading: sample.says_only(DIRECTION_WORDS, heading),
    "phone": partial(_by_share, masked_number),
    "key": _like_keys,
    "description": _like_narrative,
}
"""Field → the score of a column by its cells; the highest above 0 is taken."""
