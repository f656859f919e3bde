"""The fields of a statement, column by column: cells become values, and what is wrong with a row is said in words."""

import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from fnmatch import translate
from typing import Any, Final

import pyarrow as pa

from workbench.analysis.frames import schema_of
from workbench.analysis.shapes import STATEMENT_ROW
from workbench.analysis.statements.cells import Amounts, Cell, Memo, Wrong, error_in, key_of, shown, text_of
from workbench.analysis.statements.dates import DateColumn
from workbench.analysis.statements.layouts import Layout, heading_key
from workbench.analysis.statements.recognising import Found
from workbench.domain.phones import masked_number

_CODE: Final = re.compile("[A-Z]{3}")


def readers_of(layout: Layout, currency: str) -> dict[str, Memo[Cell, Any]]:
    """Name → reader, each remembering what it has read; only a party may hold an error of a spreadsheet."""
    amounts = Amounts(layout.decimal, layout.thousands)
    not_negative = _checked(amounts, lambda minor: minor < 0, "negative", empty=0)
    own = re.compile(translate(layout.own))
    before, after = layout.party.split("{phone}", 1)
    values: dict[str, Callable[[Cell], Any]] = {
        "amount": _checked(amounts, lambda minor: minor <= 0, "not more than zero"),
        "signed": _checked(amounts, lambda minor: minor == 0, "zero"),
        "half": not_negative,
        "fee": not_negative,
        "balance": amounts.read,
        "status": _words(layout.statuses),
        "direction": _words(layout.directions),
        "type": _words(layout.types, otherwise="other"),
        "currency": lambda cell: _currency(cell, currency),
    }
    return {
        **{name: Memo(_sound(read)) for name, read in values.items()},
        "phone": Memo(lambda cell: masked_number(text_of(cell).strip().removeprefix(before).removesuffix(after))),
        "own": Memo(lambda cell: bool(layout.own and own.fullmatch(text_of(cell).strip()))),
    }


def _sound(read: Callable[[Cell], Any]) -> Callable[[Cell], Any]:
    """The same, but for errors: they are no value."""
    return lambda cell: error_in(cell) or read(cell)


def _checked(
    amounts: Amounts, is_wrong: Callable[[int], bool], words: str, *, empty: int | None = None
) -> Callable[[Cell], int | Wrong]:
    """Amounts of which not every one is right; an empty cell means `empty`, or is wrong."""

    def read(cell: Cell) -> int | Wrong:
        minor = amounts.read(cell)
        if minor is None:
            return Wrong("is missing") if empty is None else empty
        if isinstance(minor, Wrong):
            return minor
        return Wrong(f"{shown(cell)} is {words}") if is_wrong(minor) else minor

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


class Fields:
    """Some rows, cut into the columns of a layout, and what was found to be wrong with them."""

    def __init__(
        self, layout: Layout, readers: Mapping[str, Memo[Cell, Any]], cells: Mapping[str, Sequence[Cell]], count: int
    ) -> None:
        self.layout = layout
        self.readers = readers
        self.cells = cells
        self.count = count
        self._problems: defaultdict[int, list[str]] = defaultdict(list)

    def blame(self, place: int, words: str, *, field: str = "") -> None:
        """Say what is wrong with a row, or with its cell of a field, by the heading of the column."""
        self._problems[place].append(f"{self.layout.columns[field]} {words}" if field else words)

    def read(self, field: str, *, by: str = "", absent: object = None) -> list[Any]:
        """The values of a column, None where it is wrong; `absent` throughout where the file has no such column.

        They are read by the reader of that name, unless `by` names another.
        """
        if field not in self.cells:
            return [absent] * self.count
        reader = self.readers[by or field]
        values = list(map(reader.__getitem__, self.cells[field]))
        return self._sorted_out(field, values) if reader.refused else values

    def keys(self) -> list[str | None]:
        """The keys; a missing one is wrong."""
        return self._sorted_out("key", [key_of(cell) or Wrong("is missing") for cell in self.cells["key"]])

    def texts(self, field: str) -> list[str | None]:
        """A column as it stands; None for what is empty."""
        if field not in self.cells:
            return [None] * self.count
        return [(cell if type(cell) is str else text_of(cell)) or None for cell in self.cells[field]]

    def names(self, field: str) -> list[str | None]:
        """A column of others' keys, trimmed; None for what is empty, and for an error, which is wrong."""
        names = [text and (error_in(text) or text.strip() or None) for text in self.texts(field)]
        return self._sorted_out(field, names)

    def sentences(self) -> list[str | None]:
        """For each row, everything that is wrong with it."""
        return ["; ".join(self._problems[place]) if place in self._problems else None for place in range(self.count)]

    def _sorted_out(self, field: str, values: Sequence[Any]) -> list[Any]:
        """The values without those that are wrong, which is said of their rows."""
        for place, value in enumerate(values):
            if type(value) is Wrong:
                self.blame(place, value, field=field)
        return [None if type(value) is Wrong else value for value in values]


class FieldReader:
    """Reads the pieces of one file: the layout's columns, at the places where the header has them."""

    def __init__(self, found: Found, dates: DateColumn, currency: str) -> None:
        self._found = found
        self._places = found.places
        self._dates = dates
        self._currency = currency
        self._readers = readers_of(found.layout, currency)

    def read(self, lines: Sequence[int], rows: Sequence[list[Cell]]) -> pa.Table:
        """The rows as a table of PIECE, one for each row."""
        layout, width = self._found.layout, len(self._found.header)
        even = (row if len(row) == width else [*row[:width], *[""] * (width - len(row))] for row in rows)
        columns = list(zip(*even, strict=True))
        cells = {name: columns[place] for name, place in self._places.items()}
        fields = Fields(layout, self._readers, cells, len(rows))
        for place, row in enumerate(rows):
            if len(row) < width or (len(row) > width and any(cell != "" for cell in row[width:])):
                fields.blame(place, f"the row has {len(row)} cells and the header {width}")
            elif row == self._found.header:
                fields.blame(place, "the header stands here again")
        made: dict[str, Any] = {"line": lines, "key": fields.keys()}
        for place, why in self._dates.add(lines, cells["moment"]):
            fields.blame(place, why, field="moment")
        made |= _WAYS[layout.direction_by](fields) | {
            "fee_minor": fields.read("fee", absent=0),
            "balance_minor": fields.read("balance"),
            "status": fields.read("status", absent="completed"),
            "currency": fields.read("currency", absent=self._currency),
            "type": fields.read("type", absent="other"),
            "batch": fields.names("batch"),
            "related": fields.names("related"),
            "description": fields.texts("description"),
        }
        made.setdefault("phone", fields.read("phone"))
        made["problem"] = fields.sentences()
        return pa.table({name: made[name] for name in PIECE.names}, schema=PIECE)


Made = dict[str, list[Any]]


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
    made: Made = {"direction": [None] * fields.count, "amount_minor": [None] * fields.count}
    pairs = zip(fields.read("debit", by="half"), fields.read("credit", by="half"), strict=True)
    both = f"{fields.layout.columns['debit']} and {fields.layout.columns['credit']}"
    for place, (debit, credit) in enumerate(pairs):
        if debit and credit:
            fields.blame(place, f"{both} are both filled")
        elif debit or credit:
            made["direction"][place] = "out" if debit else "in"
            made["amount_minor"][place] = debit or credit
        elif debit == credit == 0:
            # A cell that cannot be read is None, and has been told of.
            fields.blame(place, f"neither {both} has an amount above zero")
    return made


def _by_parties(fields: Fields) -> Made:
    """One of the two is the account's own party; the other is the customer."""
    own, phone = fields.readers["own"], fields.readers["phone"]
    made: Made = {"direction": [None] * fields.count, "phone": [None] * fields.count}
    headings = f"{fields.layout.columns['from']} and {fields.layout.columns['to']}"
    for place, (sender, taker) in enumerate(zip(fields.cells["from"], fields.cells["to"], strict=True)):
        sends = own[sender]
        if sends == own[taker]:
            fields.blame(place, f"of {headings}, {'both are' if sends else 'neither is'} the account's own party")
            continue
        made["direction"][place] = "out" if sends else "in"
        made["phone"][place] = phone[taker if sends else sender]
    return {**made, "amount_minor": fields.read("amount")}


_WAYS: Final = {"words": _by_words, "sign": _by_sign, "columns": _by_columns, "parties": _by_parties}
