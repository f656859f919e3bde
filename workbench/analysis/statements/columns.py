"""Finds the column of each field by headings and cells: days by parsing, money by the running balance."""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from decimal import Decimal
from functools import cached_property, partial
from itertools import pairwise, permutations, product
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workbench.analysis.statements.cells import Amount, Cell, text_of
from workbench.analysis.statements.dates import DateFormat
from workbench.analysis.statements.draft import Cut, Draft
from workbench.analysis.statements.layouts import (
    AMOUNTS,
    DIRECTION_WORDS,
    HEADING_PARTS,
    HEADINGS,
    LEDGER_HEADINGS,
    STATUS_WORDS,
    SWAPPED,
    heading_key,
    plain,
)
from workbench.domain.moments import milliseconds
from workbench.domain.phones import masked_number
from workbench.errors import StatementRefused

NEARLY_ALL: Final = 0.9
SEPARATORS: Final = ((".", ""), (".", ","), (",", ""), (",", "."), (",", " "), (".", " "), (".", "'"), (",", "'"))
DAYS: Final = (
    "%d/%m/%Y", "%m/%d/%Y", "%Y/%m/%d", "%d-%m-%Y", "%m-%d-%Y", "%Y-%m-%d", "%d.%m.%Y", "%m.%d.%Y", "%d %m %Y",
    "%d-%b-%Y", "%d %b %Y", "%d/%b/%Y", "%b %d, %Y", "%b %d %Y", "%Y%m%d", "%d%b%Y", "%d/%m/%y", "%m/%d/%y",
    "%d-%m-%y", "%m-%d-%y", "%d.%m.%y", "%d-%b-%y", "%d %b %y",
)  # fmt: skip
TIME: Final = re.compile(
    r"(?P<gap>[ T]?)[0-9]{1,2}:[0-9]{2}(?P<seconds>:[0-9]{2})?(?P<part>[.][0-9]+)?(?P<blank> ?)(?P<half>[ap]m)?"
    r"(?P<zone>Z|[+-][0-9]{2}:?[0-9]{2})?$",
    re.IGNORECASE,
)
_MIDNIGHT: Final = re.compile("[ T]00:00(?::00(?:[.]0+)?)?$")
_LIKE_A_DATE: Final = re.compile(r"[0-9]{1,4}[-/. ]?(?:[0-9]{1,2}|[A-Za-z]{3,9})[-/. ]?,? ?[0-9]{2,4}(?![0-9.,])")
_LIKE_AN_AMOUNT: Final = re.compile(r"[^0-9A-Z]{0,4}[0-9][0-9 ,.'\u00a0]*[.,][0-9]{2}[^0-9]{0,4}")
_CODE: Final = re.compile(r"(?=\S*[0-9])[A-Za-z0-9./-]+")
_SAMPLE: Final = 500
_HALF: Final = 0.5
_LEAST_LETTERS: Final = 3
_MOST_SIDES: Final = 6
_MOST_MONEY: Final = 8


def is_date(cell: Cell) -> bool:
    """True for a moment, and for text that begins like a date."""
    return isinstance(cell, datetime) or _LIKE_A_DATE.match(text_of(cell).strip()) is not None


def is_amount(cell: Cell) -> bool:
    """True for text with two decimals, as only money has, and for a workbook's number."""
    return isinstance(cell, Decimal) or _LIKE_AN_AMOUNT.fullmatch(text_of(cell).strip()) is not None


def readings_of(texts: Iterable[tuple[int, str]]) -> dict[DateFormat, dict[int, int]]:
    """Format → line or place → milliseconds, for each format of a day with each format of a time in the texts.

    `texts` are pairs of a line or place and a text; a format lacks the texts that it cannot read. A midnight that a
    spreadsheet put after every day becomes fixed text of the format.
    """
    days = [(place, text) for place, text in texts if re.search("[0-9]", text)]
    midnights = [found[0] for _, text in days if (found := _MIDNIGHT.search(text))]
    times = dict.fromkeys(midnights if len(midnights) == len(days) else (time_of(text) for _, text in days))
    made: dict[DateFormat, dict[int, int]] = {}
    for pattern in (day + time for day in DAYS for time in times):
        with suppress(StatementRefused):
            by = DateFormat(pattern)
            made[by] = {place: at for place, text in days if (at := by.read(text)) is not None}
    return made


def time_of(text: str) -> str:
    """The format of the time at the end of a text; empty if the text has no time."""
    found = TIME.search(text)
    if not found:
        return ""
    hour, half = ("%I", f"{found['blank']}%p") if found["half"] else ("%H", "")
    finer = (":%S" if found["seconds"] else "") + (".%f" if found["part"] else "")
    return f"{found['gap']}{hour}:%M{finer}{half}{'%z' if found['zone'] else ''}"


def in_order(moments: Sequence[int], *, newest_first: bool | None = None) -> bool:
    """True if the moments are sorted as `newest_first` says; None accepts either order."""
    ways = (False, True) if newest_first is None else (newest_first,)
    return any(all(a >= b if way else a <= b for a, b in pairwise(moments)) for way in ways)


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


class _Money(NamedTuple):
    """A column read as amounts."""

    values: NDArray[np.int64]
    """Signed minor units, 0 for a cell without an amount."""
    told: NDArray[np.bool_]
    """A mask of the cells that are amounts."""
    debits: NDArray[np.int64]
    """The values as debits: an amount in the commonest style is above zero, an amount in another style below."""
    with_decimals: int
    """The number of cells that are text with two decimals, which only money has, or a workbook's number."""

    @classmethod
    def of(cls, cells: Sequence[Cell], read: Sequence[object]) -> "_Money":
        """The column of these cells; `read` has an Amount for each cell that is one."""
        amounts = [cell if isinstance(cell, Amount) else Amount(0, "") for cell in read]
        styles = Counter(amount.style for amount in amounts if amount.minor)
        usual = max(styles, key=styles.__getitem__, default="plain")
        return cls(
            np.array([amount.signed for amount in amounts], np.int64),
            np.array([isinstance(cell, Amount) for cell in read], bool),
            np.array([amount.minor if amount.style == usual else -amount.minor for amount in amounts], np.int64),
            sum(map(is_amount, cells)),
        )


class Proof(NamedTuple):
    """Columns that explain a balance, and the lines whose balance is the one before plus the row's effect."""

    columns: dict[str, str]
    """Field → heading."""
    lines: tuple[int, ...]
    of: int
    """The number of lines whose balance was compared."""
    newest_first: bool
    moves: NDArray[np.int64]
    """The effect of each row on the balance."""
    agreed: int
    """The number of these columns that the headings suggest too."""
    rank: tuple[int, bool, bool]

    @property
    def weight(self) -> tuple[int | tuple[int, bool, bool], ...]:
        """The sort key of proofs, greatest for the best; a proof that explains few rows comes last."""
        holds = bool(self.lines) and len(self.lines) >= NEARLY_ALL * self.of
        return holds, len(self.lines), self.agreed, self.rank


class Sample:
    """The first rows of a file that have a day, column by column."""

    def __init__(self, file: Cut) -> None:
        self.headings = [name for name in file.headings if name and (not file.rows or file.texts(name))]
        head = file._replace(rows=file.rows[:_SAMPLE])
        days = {name: found for name in self.headings if (found := _days([cell for _, cell in head.column(name)]))}
        dated = sorted({place for readings in days.values() for read in readings for place in read})
        self.file = head._replace(rows=tuple(head.rows[place] for place in dated))
        self.lines = [line for line, _ in self.file.rows]
        self.days = {name: [[*read.values()] for read in readings] for name, readings in days.items()}
        """Heading → its moments as each of the likeliest formats reads them."""
        columns = {name: [cell for _, cell in self.file.column(name)] for name in self.headings}
        self.cells: dict[str, list[Cell]] = {**columns, "": [""] * len(dated)}
        self.texts = {name: [text for _, text in self.file.texts(name)] for name in self.headings}
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
        if not self.lines or field not in ("moment", *AMOUNTS):
            return True
        if field == "moment":
            return heading in self.days or not self.days
        return heading not in self.days and self.share(partial(re.search, "[0-9]"), heading) >= _HALF

    @cached_property
    def money(self) -> dict[str, _Money]:
        """Heading → its amounts, for columns that can be amounts, by the separators that read most cells."""
        likely = [h for h in self.headings if h not in self.days and self.share(masked_number, h) <= 1 - NEARLY_ALL]
        best: dict[str, list[Any]] = {}
        most = -1
        for marks in SEPARATORS:
            amounts, count = self.file.amounts(*marks), 0
            read: dict[str, list[Any]] = {}
            for name in likely:
                cells = [amounts.styled(cell) for cell in self.cells[name]]
                told = [isinstance(cell, Amount) for cell in cells if cell is not None]
                if told and sum(told) >= NEARLY_ALL * len(told):
                    read[name], count = cells, count + sum(told)
            if count > most:
                best, most = read, count
        return {name: _Money.of(self.cells[name], cells) for name, cells in best.items()}


def _days(cells: Sequence[Cell]) -> list[dict[int, int]]:
    """For each of the likeliest formats: place of a cell → its milliseconds, for the cells that it reads.

    Empty if they read less than half of the filled cells.
    """
    own = {place: at.replace(tzinfo=UTC) for place, at in enumerate(cells) if isinstance(at, datetime)}
    moments = {place: milliseconds(at) for place, at in own.items()}
    texts = [(place, cell.strip()) for place, cell in enumerate(cells) if isinstance(cell, str) and cell.strip()]
    read: list[dict[int, int]] = []
    if any(_LIKE_A_DATE.match(text) or text[:1].isalpha() for _, text in texts):
        read = [*readings_of(texts).values()]
    most = max(map(len, read), default=0)
    if not most + len(moments) or most + len(moments) < _HALF * sum(cell != "" for cell in cells):
        return []
    return [moments | reading for reading in read if len(reading) == most] or [moments]


_Way = tuple[dict[str, str], NDArray[np.int64], Sequence[object], bool]
"""Columns (field → heading) that may move the balance, the size of each row's move, the word of each row for its
direction, and True if the columns alone show the direction. Without words the sizes are signed."""


def _ways(sample: Sample, found: Mapping[str, str]) -> Iterator[_Way]:
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


def _proofs(
    sample: Sample, found: Mapping[str, str], idle: NDArray[np.bool_], fee: str | None = None
) -> Iterator[Proof]:
    """Yields a proof for each of `_ways` with each candidate for the balance, in the orders that the days allow.

    `found` is field → heading as known so far, `idle` marks rows that move no balance, and `fee` is the heading of the
    fees that lower it.
    """
    money, lines = sample.money, np.array(sample.lines)
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
        step = -1 if newest_first else 1
        at = np.flatnonzero(balance.told[::step])
        changes = np.diff(values[::step][at])
        moved = np.zeros(len(values), np.int64)
        moved[at[1:]] = changes
        # A word has the sign of most changes that are as large as the word's rows.
        votes: Counter[object] = Counter()
        for word, size, change in zip(words, sizes.tolist(), (moved[::step] + less).tolist(), strict=False):
            votes[word] += (change == size) - (change == -size) if size else 0
        signed = sizes * np.array([np.sign(votes[word]) for word in words] or 1, np.int64)
        moves = np.where(idle, 0, signed - less)
        expected = np.diff(np.cumsum(moves[::step])[at])
        counts = ((changes != 0) | (expected != 0)) & (of_account[::step][at][1:] == of_account[::step][at][:-1])
        proven = lines[::step][at[1:][counts & (changes == expected)]]
        columns = {**way, "balance": name, **({"side": side} if side else {}), **({"fee": fee} if fee else {})}
        agreed = sum(found.get(field) == heading for field, heading in columns.items())
        rank = sum(money[heading].with_decimals for heading in columns.values() if heading in money), tells, bool(side)
        yield Proof(columns, (*proven.tolist(),), int(counts.sum()), newest_first, moves, agreed, rank)


_Score = Callable[[Sample, str], float]
_WAY: Final = frozenset(("amount", "debit", "credit", "direction", "from", "to"))
_INSTEAD: Final = {
    "debit": {"amount"}, "credit": {"amount"}, "amount": {"debit"}, "direction": {"debit", "from"},
    "phone": {"from", "to"},
}  # fmt: skip
"""Field → the fields that make it needless once they are found."""


def put_columns(draft: Draft) -> None:
    """Declare the column of each field.

    It is found by its heading, if its cells fit, by the balance, by a part of its heading, or by its cells alone.
    """
    file = draft.file
    sample = Sample(file)
    known = LEDGER_HEADINGS if file.is_ledger else HEADINGS
    found = assigned(sample.headings, sample.fits, known)
    # A month without a debit has an empty column of debits.
    empty = assigned([name for name in file.headings if name not in sample.headings], known=known)
    for side in SWAPPED:
        if side in empty and side not in found:
            found[side] = empty[side]
            sample.money[empty[side]] = _Money.of([], [None] * len(sample.lines))
    _prove(draft, sample, found)
    by_part = {name: partial(_has_part, name) for name in HEADING_PARTS}
    for scores, why in ((by_part, "by a part of its heading alone"), (_SCORES, "by its cells alone")):
        _one_of_two(draft, sample, found)
        for name, likely in scores.items():
            left = [heading for heading in sample.headings if heading not in found.values()]
            best = max(left, key=partial(likely, sample), default="")
            if best and likely(sample, best) > 0 and name not in found and not found.keys() & _INSTEAD.get(name, set()):
                found[name] = best
                draft.doubt(f"columns.{name}", why)
    _settle_ways(file, sample, found)
    draft.doubts = {where: doubts for where, doubts in draft.doubts.items() if where.partition(".")[2] in found}
    draft.put(found)


def _one_of_two(draft: Draft, sample: Sample, found: dict[str, str]) -> None:
    """Take two columns as debit and credit if each row fills exactly one of them and `found` has no other way.

    The draft doubts which of them is the debit, unless a heading or amounts below zero show it.
    """
    money = sample.money
    if "amount" in found or {"debit", "credit"} <= found.keys():
        return
    told = {name: column.values != 0 for name, column in money.items()}
    pairs = [
        (a, b) for a, b in permutations(money, 2)
        if (told[a] ^ told[b]).all() and told[a].any() and told[b].any()
        and all(found.get(name, heading) == heading for name, heading in (("debit", a), ("credit", b)))
    ]  # fmt: skip
    if pairs:
        # Amounts below zero go out.
        debit, credit = min(pairs, key=lambda pair: money[pair[0]].values.sum() > 0)
        is_known = "debit" in found or "credit" in found
        found |= {"debit": debit, "credit": credit}
        if not (is_known or (money[debit].values < 0).any()):
            text = f"each row fills {debit!r} or {credit!r}; nothing proves which of them goes out"
            draft.doubt("columns.debit", text)


def _settle_ways(file: Cut, sample: Sample, found: dict[str, str]) -> None:
    """Remove columns from `found` until one way to show the direction is left."""
    money = sample.money.get(found.get("amount", ""))
    if {"debit", "credit"} <= found.keys():
        # A column CR/DR beside the two is that of the balance.
        if side := found.pop("direction", None):
            found.setdefault("side", side)
        found.pop("amount", None)
    elif money and (money.values < 0).any():
        found.pop("direction", None)
    if not all(TIME.match(text) for _, text in file.texts(found.get("time", ""))):
        del found["time"]
    if "amount" in found and "direction" not in found and sample.says_only(DIRECTION_WORDS, found.get("type", "")):
        found["direction"] = found.pop("type")
    for name in () if {"from", "to"} <= found.keys() else ("from", "to"):
        found.pop(name, None)


def _prove(draft: Draft, sample: Sample, found: dict[str, str]) -> None:
    """Put into `found` the columns of money that the balance proves, in place of those that headings suggest.

    The draft gets the proof, the doubts about it, the directions of words, and the order of the rows.
    """
    status = next((name for name in sample.headings if sample.says_only(STATUS_WORDS, name)), "")
    # Failed and pending rows move no balance.
    words = sample.said[found.get("status", status)]
    idle = np.array([STATUS_WORDS.get(word, "completed") != "completed" for word in words], bool)
    tried = [*_proofs(sample, found, idle)]
    is_few = len(sample.money) <= _MOST_MONEY
    fees = [h for h, money in sample.money.items() if h == found.get("fee") or (is_few and (money.values >= 0).all())]
    best = max(tried, key=lambda proof: proof.weight, default=None)
    if best is None or len(best.lines) < best.of:
        tried += [proof for fee in fees for proof in _proofs(sample, found, idle, fee)]
        best = max(tried, key=lambda proof: proof.weight, default=None)
    if best is None or not best.weight[0]:
        return
    is_known = all(found.get(name) == heading for name, heading in best.columns.items())
    if len(best.lines) == 1 and not is_known and best.agreed < len(best.columns) - 1:
        draft.doubt("columns.balance", "one row alone shows it")
    for name in () if is_known else [*found]:
        taken = found[name] in best.columns.values() or name in _WAY or name in ("balance", "side")
        if taken and best.columns.get(name) != found[name]:
            del found[name]
    found |= best.columns
    alike = [proof for proof in tried if (proof.weight[:2], proof.rank) == (best.weight[:2], best.rank)]
    others = [proof for proof in alike if proof.columns != best.columns]
    for other in [proof for proof in others if not is_known or proof.agreed == best.agreed][:1]:
        named = ", ".join(f"{name} = {heading!r}" for name, heading in other.columns.items())
        draft.doubt("columns.balance", f"it follows as well with {named}")
    if not is_known:
        draft.proofs["columns.balance"] = _in_words(sample, best)
    signed = best.columns.keys() & {"amount", "direction", "from"} == {"amount"}
    values = sample.money[best.columns["amount"]].values if signed else best.moves
    if (values < 0).any() and (np.sign(values) * np.sign(best.moves) < 0).any():
        text = "the balance falls where this is above zero, and no layout can say so: reverse its signs in the file"
        draft.doubt("columns.amount", text)
    orders = {proof.newest_first for proof in tried if (proof.columns, proof.weight) == (best.columns, best.weight)}
    if "direction" in best.columns:
        moved = zip(sample.said[best.columns["direction"]], best.moves.tolist(), strict=True)
        draft.directions = {word: "in" if move > 0 else "out" for word, move in moved if move}
    draft.newest_first = best.newest_first if len(orders) == 1 else None


def _in_words(sample: Sample, proof: Proof) -> str:
    """The sum in the first row that proves a balance, as text, and the number of such rows."""
    first = proof.lines[0]
    texts = {name: dict(sample.file.texts(heading)) for name, heading in proof.columns.items()}
    told = [*texts["balance"]][:: -1 if proof.newest_first else 1]
    before = told[told.index(first) - 1]
    parts = []
    for name in ("debit", "credit", "amount", "fee"):
        text = texts.get(name, {}).get(first, "")
        comes = name == "credit" or (name == "amount" and proof.moves[sample.lines.index(first)] > 0)
        parts += [f"{'+' if comes else '-'} {text.strip('+-')}"] if text else []
    sides = texts.get("side", {})
    was, comes_to = (f"{texts['balance'][line]} {sides.get(line, '')}".strip() for line in (before, first))
    return (
        f"{was} in line {before} {' '.join(parts)} = {comes_to} in line {first}, "
        f"and so in {len(proof.lines)} of {proof.of} rows"
    )


def _has_part(name: str, sample: Sample, heading: str) -> float:
    part = HEADING_PARTS[SWAPPED.get(name, name) if sample.file.is_ledger else name]
    return sample.fits(name, heading) and re.search(part, plain(heading)) is not None


def _by_share(kind: Callable[[str], object], sample: Sample, heading: str) -> float:
    """The share of cells of a kind under a heading; a share below NEARLY_ALL counts as 0."""
    share = sample.share(kind, heading)
    return share if share >= NEARLY_ALL else 0


def _like_keys(sample: Sample, heading: str) -> float:
    """The share of codes times that of different texts; 0 for a column that only counts its rows."""
    texts = sample.texts[heading]
    counts = [int(text) for text in texts if re.fullmatch("[0-9]{1,6}", text)]
    if len(counts) == len(texts) > 0 and min(counts) <= 1 and {abs(b - a) for a, b in pairwise(counts)} <= {1}:
        return 0

    def is_code(text: str) -> bool:
        is_day = is_date(text) and not text.isdigit()
        return _CODE.fullmatch(text) is not None and not (is_amount(text) or is_day)

    return _by_share(is_code, sample, heading) * len({*texts}) / max(1, len(sample.lines))


def _like_money(sample: Sample, heading: str) -> float:
    """The number of amounts with decimals plus twice the number of negative ones: plain counts have neither."""
    money = sample.money.get(heading)
    return float(money.with_decimals + 2 * (money.values < 0).sum()) if money else 0


def _like_narrative(sample: Sample, heading: str) -> float:
    """The mean number of letters in a filled cell; 0 for dates, for few letters, or if most cells repeat."""
    texts = sample.texts[heading]
    letters = sum(sum(map(str.isalpha, text)) for text in texts) / max(1, len(texts))
    is_free = heading not in sample.days and 2 * len({*texts}) >= len(texts)
    return letters if is_free and letters >= _LEAST_LETTERS else 0


_SCORES: Final[dict[str, _Score]] = {
    "moment": lambda sample, heading: max(
        (len(days) * (1 + in_order(days)) for days in sample.days.get(heading, [])), default=0
    ),
    "time": partial(_by_share, TIME.fullmatch),
    "status": lambda sample, heading: sample.says_only(STATUS_WORDS, heading),
    "amount": _like_money,
    "direction": lambda sample, heading: sample.says_only(DIRECTION_WORDS, heading),
    "phone": partial(_by_share, masked_number),
    "key": _like_keys,
    "description": _like_narrative,
}
"""Field → the score of a column by its cells; the highest above 0 is taken."""
