"""The fields of a statement, column by column: cells become values, and what is wrong with a row is said in words."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from fnmatch import translate
from itertools import islice
from typing import Any, Final

import pyarrow as pa

from workbench.analysis.frames import schema_of
from workbench.analysis.shapes import STATEMENT_ROW
from workbench.analysis.statements.cells import (
    Amounts,
    Cell,
    Memo,
    MinorAmounts,
    Wrong,
    error_in,
    key_of,
    shown,
    text_of,
)
from workbench.analysis.statements.dates import DateColumn
from workbench.analysis.statements.dialect import Line
from workbench.analysis.statements.layouts import Layout, heading_key
from workbench.analysis.statements.recognising import Found
from workbench.domain.phones import masked_number

_CODE: Final = re.compile("[A-Z]{3}")


def readers_of(layout: Layout, currency: str) -> dict[str, Memo[Cell, Any]]:
    """Name → reader, each remembering what it has read; only a party may hold an error of a spreadsheet."""
    amounts = (MinorAmounts if layout.is_minor else Amounts)(layout.decimal, layout.thousands)
    own = re.compile(translate(layout.own))
    before, after = layout.party.split("{phone}", 1)
    values: dict[str, Callable[[Cell], Any]] = {
        "amount": _checked(amounts, lambda minor: minor <= 0, "not more than zero"),
        "signed": _checked(amounts, lambda minor: minor == 0, "zero"),
        **dict.fromkeys(("half", "fee"), _checked(amounts, lambda minor: minor < 0, "negative", empty=0)),
        "balance": amounts.read,
        "status": _words(layout.statuses),
        "direction": _words(layout.directions),
        "type": _words(layout.types, otherwise="other"),
        "currency": lambda cell: _currency(cell, currency),
    }

    def sound(read: Callable[[Cell], Any]) -> Callable[[Cell], Any]:
        return lambda cell: error_in(cell) or read(cell)

    return {
        **{name: Memo(sound(read)) for name, read in values.items()},
        "phone": Memo(lambda cell: masked_number(text_of(cell).strip().removeprefix(before).removesuffix(after))),
        "own": Memo(lambda cell: bool(layout.own and own.fullmatch(text_of(cell).strip()))),
    }


def _checked(
    amounts: Amounts, is_wrong: Callable[[int], bool], words: str, *, empty: int | None = None
) -> Callable[[Cell], int | Wrong]:
    """Amounts of which not every one is right; an empty cell means `empty`, or is wrong."""

    def read(cell: Cell) -> int | Wrong:
        minor = amounts.read(cell)
        if minor is None:
            return Wrong("is missing") if empty is None else empty
        return Wrong(f"{shown(cell)} is {words}") if isinstance(minor, int) and is_wrong(minor) else minor

    return read


def _words(words: Mapping[str, str], *, otherwise: str | None = None) -> Callable[[Cell], str | Wrong]:
    """Words as they are compared; one that is not declared means `otherwise`, or is wrong."""
    values = {heading_key(word): value for word, value in words.items()}

    def read(cell: Cell) -> str | Wrong:
        text = text_of(cell)
        value = values.get(heading_key(text), otherwise)
        if value is None:
            return Wrong(f"{shown(text)} is none of {', '.join(words)}" if text.strip() else "is missing")
        return value

    return read


def _currency(cell: Cell, otherwise: str) -> str | Wrong:
    """Any code of three letters: whether it is the account's is for the reconciliation to say."""
    text = text_of(cell).strip().upper() or otherwise
    return text if _CODE.fullmatch(text) else Wrong(f"{shown(cell)} is not a currency")


_OF_THE_FILE: Final = {"statement", "account", "occurred_at", "business_date"}
PIECE: Final = schema_of({name: kind for name, kind in STATEMENT_ROW.items() if name not in _OF_THE_FILE})
"""What a piece holds; the moments are decided for the whole file."""
_PIECE_ROWS: Final = 20_000


class Fields:
    """Some rows, cut into the columns of a layout, and what was found to be wrong with them."""

    def __init__(self, found: Found, readers: Mapping[str, Memo[Cell, Any]], rows: Sequence[list[Cell]]) -> None:
        self.headings = found.layout.columns
        self.readers = readers
        self.count = len(rows)
        self._problems: defaultdict[int, list[str]] = defaultdict(list)
        width = len(found.header)
        even = (row if len(row) == width else [*row[:width], *[""] * (width - len(row))] for row in rows)
        columns = list(zip(*even, strict=True))
        self.cells = {name: columns[place] for name, place in found.places.items()}
        for place, row in enumerate(rows):
            if len(row) < width or (len(row) > width and any(cell != "" for cell in row[width:])):
                self.blame(place, f"the row has {len(row)} cells and the header {width}")
            elif row == found.header:
                self.blame(place, "the header stands here again")

    def blame(self, place: int, words: str, *, field: str = "") -> None:
        """Say what is wrong with a row, or with its cell of a field, by the heading of the column."""
        self._problems[place].append(f"{self.headings[field]} {words}" if field else words)

    def read(self, field: str, *, by: str = "", absent: object = None) -> list[Any]:
        """The values of a column, None where it is wrong; `absent` throughout where the file has no such column.

        They are read by the reader of that name, unless `by` names another.
        """
        if field not in self.cells:
            return [absent] * self.count
        reader = self.readers[by or field]
        values = list(map(reader.__getitem__, self.cells[field]))
        return self.sorted_out(field, values) if reader.refused else values

    def texts(self, field: str) -> list[str | None]:
        """A column as it stands; None for what is empty."""
        if field not in self.cells:
            return [None] * self.count
        return [(cell if type(cell) is str else text_of(cell)) or None for cell in self.cells[field]]

    def names(self, field: str) -> list[str | None]:
        """A column of others' keys, trimmed; None for what is empty, and for an error, which is wrong."""
        names = [text and (error_in(text) or text.strip() or None) for text in self.texts(field)]
        return self.sorted_out(field, names)

    def sentences(self) -> list[str | None]:
        """For each row, everything that is wrong with it."""
        return ["; ".join(self._problems[place]) if place in self._problems else None for place in range(self.count)]

    def sorted_out(self, field: str, values: Sequence[Any]) -> list[Any]:
        """The values without those that are wrong, which is said of their rows."""
        for place, value in enumerate(values):
            if type(value) is Wrong:
                self.blame(place, value, field=field)
        return [None if type(value) is Wrong else value for value in values]


def pieces_of(lines: Iterator[Line], found: Found, dates: DateColumn, currency: str) -> Iterator[pa.Table]:
    """The rows of a file as tables of PIECE, one after the other; their moments go into `dates`."""
    readers = readers_of(found.layout, currency)
    while piece := list(islice(lines, _PIECE_ROWS)):
        numbers, rows = zip(*piece, strict=True)
        fields = Fields(found, readers, rows)
        made: Made = {"line": numbers}
        made["key"] = fields.sorted_out("key", [key_of(cell) or Wrong("is missing") for cell in fields.cells["key"]])
        for place, why in dates.add(numbers, fields.cells["moment"]):
            fields.blame(place, why, field="moment")
        made |= _WAYS[found.layout.direction_by](fields) | {
            "fee_minor": fields.read("fee", absent=0),
            "balance_minor": fields.read("balance"),
            "status": fields.read("status", absent="completed"),
            "currency": fields.read("currency", absent=currency),
            "type": fields.read("type", absent="other"),
            "batch": fields.names("batch"),
            "related": fields.names("related"),
            "description": fields.texts("description"),
            "words": [None] * fields.count,
            "phone_hash": [None] * fields.count,
        }
        made.setdefault("phone", fields.read("phone"))
        made["problem"] = fields.sentences()
        yield pa.table({name: made[name] for name in PIECE.names}, schema=PIECE)


Made = dict[str, Sequence[Any]]


def _by_words(fields: Fields) -> Made:
    return {"direction": fields.read("direction"), "amount_minor": fields.read("amount")}


def _by_sign(fields: Fields) -> Made:
    signed = fields.read("amount", by="signed")
    return {
        "direction": [None if minor is None else "in" if minor > 0 else "out" for minor in signed],
        "amount_minor": [None if minor is None else abs(minor) for minor in signed],
    }


def _by_columns(fields: Fields) -> Made:
    """Exactly one of the two is filled; zero is not."""
    directions: list[Any] = [None] * fields.count
    amounts: list[Any] = [None] * fields.count
    pairs = zip(fields.read("debit", by="half"), fields.read("credit", by="half"), strict=True)
    both = f"{fields.headings['debit']} and {fields.headings['credit']}"
    for place, (debit, credit) in enumerate(pairs):
        if debit and credit:
            fields.blame(place, f"{both} are both filled")
        elif debit or credit:
            directions[place], amounts[place] = "out" if debit else "in", debit or credit
        elif debit == credit == 0:
            # A cell that cannot be read is None, and has been told of.
            fields.blame(place, f"neither {both} has an amount above zero")
    return {"direction": directions, "amount_minor": amounts}


def _by_parties(fields: Fields) -> Made:
    """One of the two is the account's own party; the other is the customer."""
    own, phone = fields.readers["own"], fields.readers["phone"]
    directions: list[Any] = [None] * fields.count
    phones: list[Any] = [None] * fields.count
    both = f"{fields.headings['from']} and {fields.headings['to']}"
    for place, (sender, taker) in enumerate(zip(fields.cells["from"], fields.cells["to"], strict=True)):
        sends = own[sender]
        if sends == own[taker]:
            fields.blame(place, f"of {both}, {'both are' if sends else 'neither is'} the account's own party")
            continue
        directions[place], phones[place] = "out" if sends else "in", phone[taker if sends else sender]
    return {"direction": directions, "phone": phones, "amount_minor": fields.read("amount")}


_WAYS: Final = {"words": _by_words, "sign": _by_sign, "columns": _by_columns, "parties": _by_parties}
