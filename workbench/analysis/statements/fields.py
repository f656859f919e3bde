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
    """Name → reader, each remembering what it has read."""
    amounts = Amounts(layout.decimal, layout.thousands)
    not_negative = _checked(amounts, lambda minor: minor < 0, "negative", empty=0)
    own = re.compile(translate(layout.own))
    return {
        "amount": _sound(_checked(amounts, lambda minor: minor <= 0, "not more than zero")),
        "signed": _sound(_checked(amounts, lambda minor: minor == 0, "zero")),
        "half": _sound(not_negative),
        "fee": _sound(not_negative),
        "balance": _sound(amounts.read),
        "status": _sound(_words(layout.statuses)),
        "direction": _sound(_words(layout.directions)),
        "type": _sound(_words(layout.types, otherwise="other")),
        "currency": _sound(lambda cell: _currency(cell, currency)),
        "phone": Memo(_phone_in(layout.party)),
        "own": Memo(lambda cell: bool(layout.own and own.fullmatch(text_of(cell).strip()))),
    }


def _sound(read: Callable[[Cell], Any]) -> Memo[Cell, Any]:
    """A reader that takes no error of a spreadsheet for a value."""

    def sound(cell: Cell) -> Any:  # noqa: ANN401  what the reader gives
        return error_in(cell) or read(cell)

    return Memo(sound)


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


def _phone_in(party: str) -> Callable[[Cell], str | None]:
    """The masked number in a party as the layout writes it, or bare."""
    before, after = party.split("{phone}", 1)

    def read(cell: Cell) -> str | None:
        text = text_of(cell).strip()
        return masked_number(text.removeprefix(before).removesuffix(after))

    return read


_OF_THE_FILE: Final = {"statement", "account", "occurred_at", "business_date"}
PIECE: Final = schema_of({name: kind for name, kind in STATEMENT_ROW.items() if name not in _OF_THE_FILE})
"""What a piece holds; the moments are decided for the whole file."""


class Fields:
    """Some rows, cut into the columns of a layout, and what was found to be wrong with them."""

    def __init__(self, layout: Layout, cells: Mapping[str, Sequence[Cell]], count: int) -> None:
        self.layout = layout
        self.cells = cells
        self.count = count
        self._problems: defaultdict[int, list[str]] = defaultdict(list)

    def blame(self, place: int, words: str, *, field: str = "") -> None:
        """Say what is wrong with a row, or with its cell of a field, by the heading of the column."""
        self._problems[place].append(f"{self.layout.columns[field]} {words}" if field else words)

    def read(self, field: str, reader: Memo[Cell, Any], *, absent: object = None) -> list[Any]:
        """The values of a column, None where it is wrong; `absent` throughout where the file has no such column."""
        if field not in self.cells:
            return [absent] * self.count
        values = list(map(reader.__getitem__, self.cells[field]))
        if reader.refused:
            self._sort_out(field, values)
        return values

    def keys(self) -> list[str | None]:
        """The keys; a missing one is wrong."""
        keys = [key_of(cell) or Wrong("is missing") for cell in self.cells["key"]]
        self._sort_out("key", keys)
        return list(keys)

    def texts(self, field: str) -> list[str | None]:
        """A column as it stands; None for what is empty."""
        if field not in self.cells:
            return [None] * self.count
        return [(cell if type(cell) is str else text_of(cell)) or None for cell in self.cells[field]]

    def names(self, field: str) -> list[str | None]:
        """A column of others' keys, trimmed; None for what is empty, and for an error, which is wrong."""
        names = [text and (error_in(text) or text.strip() or None) for text in self.texts(field)]
        self._sort_out(field, names)
        return names

    def sentences(self) -> list[str | None]:
        """For each row, everything that is wrong with it."""
        return ["; ".join(self._problems[place]) if place in self._problems else None for place in range(self.count)]

    def _sort_out(self, field: str, values: list[Any]) -> None:
        for place, value in enumerate(values):
            if type(value) is Wrong:
                self.blame(place, value, field=field)
                values[place] = None


class FieldReader:
    """Reads the pieces of one file: the layout's columns, at the places where the header has them."""

    def __init__(self, found: Found, dates: DateColumn, currency: str) -> None:
        self._layout = found.layout
        self._header = found.header
        self._places = found.places
        self._dates = dates
        self._currency = currency
        self._readers = readers_of(found.layout, currency)

    def read(self, lines: Sequence[int], rows: Sequence[list[Cell]]) -> pa.Table:
        """The rows as a table of PIECE, one for each row."""
        columns = list(zip(*(self._even(row) for row in rows), strict=True))
        fields = Fields(self._layout, {name: columns[place] for name, place in self._places.items()}, len(rows))
        self._check_rows(rows, fields)
        made: dict[str, Any] = {"line": lines, "key": fields.keys()}
        for place, why in self._dates.add(lines, fields.cells["moment"]):
            fields.blame(place, why, field="moment")
        made |= _WAYS[self._layout.direction_by](fields, self._readers)
        made |= {
            "fee_minor": fields.read("fee", self._readers["fee"], absent=0),
            "balance_minor": fields.read("balance", self._readers["balance"]),
            "status": fields.read("status", self._readers["status"], absent="completed"),
            "currency": fields.read("currency", self._readers["currency"], absent=self._currency),
            "type": fields.read("type", self._readers["type"], absent="other"),
            "batch": fields.names("batch"),
            "related": fields.names("related"),
            "description": fields.texts("description"),
        }
        made.setdefault("phone", fields.read("phone", self._readers["phone"]))
        made["problem"] = fields.sentences()
        return pa.table({name: made[name] for name in PIECE.names}, schema=PIECE)

    def _even(self, row: list[Cell]) -> list[Cell]:
        """A row of as many cells as the header has."""
        width = len(self._header)
        return row if len(row) == width else [*row[:width], *[""] * (width - len(row))]

    def _check_rows(self, rows: Sequence[list[Cell]], fields: Fields) -> None:
        width = len(self._header)
        for place, row in enumerate(rows):
            if len(row) < width or (len(row) > width and any(cell != "" for cell in row[width:])):
                fields.blame(place, f"the row has {len(row)} cells and the header {width}")
            elif row == self._header:
                fields.blame(place, "the header stands here again")


Made = dict[str, list[Any]]


def _by_words(fields: Fields, readers: Mapping[str, Memo[Cell, Any]]) -> Made:
    return {
        "direction": fields.read("direction", readers["direction"]),
        "amount_minor": fields.read("amount", readers["amount"]),
    }


def _by_sign(fields: Fields, readers: Mapping[str, Memo[Cell, Any]]) -> Made:
    signed = fields.read("amount", readers["signed"])
    return {
        "direction": [None if minor is None else "in" if minor > 0 else "out" for minor in signed],
        "amount_minor": [None if minor is None else abs(minor) for minor in signed],
    }


def _by_columns(fields: Fields, readers: Mapping[str, Memo[Cell, Any]]) -> Made:
    """Exactly one of the two is filled; zero is not."""
    made: Made = {"direction": [None] * fields.count, "amount_minor": [None] * fields.count}
    pairs = zip(fields.read("debit", readers["half"]), fields.read("credit", readers["half"]), strict=True)
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


def _by_parties(fields: Fields, readers: Mapping[str, Memo[Cell, Any]]) -> Made:
    """One of the two is the account's own party; the other is the customer."""
    own, phone = readers["own"], readers["phone"]
    made: Made = {"direction": [None] * fields.count, "phone": [None] * fields.count}
    headings = f"{fields.layout.columns['from']} and {fields.layout.columns['to']}"
    for place, (sender, taker) in enumerate(zip(fields.cells["from"], fields.cells["to"], strict=True)):
        sends = own[sender]
        if sends == own[taker]:
            fields.blame(place, f"of {headings}, {'both are' if sends else 'neither is'} the account's own party")
            continue
        made["direction"][place] = "out" if sends else "in"
        made["phone"][place] = phone[taker if sends else sender]
    return {**made, "amount_minor": fields.read("amount", readers["amount"])}


_WAYS: Final = {"words": _by_words, "sign": _by_sign, "columns": _by_columns, "parties": _by_parties}
