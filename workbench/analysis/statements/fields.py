"""The fields of a statement, column by column: cells become values, and what is wrong with a row is said in words."""

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from fnmatch import translate
from functools import partial
from itertools import islice
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from workbench.analysis.frames import schema_of
from workbench.analysis.phone_key import PhoneKey
from workbench.analysis.shapes import STATEMENT_ROW
from workbench.analysis.statements.cells import (
    ABOVE,
    Amount,
    Amounts,
    Cell,
    Memo,
    MinorAmounts,
    Wrong,
    currencies_named,
    error_in,
    key_of,
    shown,
    text_of,
)
from workbench.analysis.statements.dates import DateColumn
from workbench.analysis.statements.dialect import Line
from workbench.analysis.statements.layouts import AMOUNTS, FOUND, Layout, heading_key
from workbench.analysis.statements.recognising import Found
from workbench.domain.masking import mask_numbers
from workbench.domain.phones import masked_number

_CODE: Final = re.compile("[A-Z]{3}")


def readers_of(layout: Layout, currency: str, key: PhoneKey) -> dict[str, Any]:
    """Name → reader, each remembering what it has read; only a party may hold an error of a spreadsheet.

    `money` gives by currency the readers of amounts, see `_readers_of_money`.
    """
    own = re.compile(translate(layout.own))
    party = re.compile("(.*?)".join(re.escape(part).replace(r"\*", ".*") for part in layout.party.split("{phone}", 1)))
    values: dict[str, Callable[[Cell], Any]] = {
        "side": _words({"CR": "in", "DR": "out", **layout.directions}),
        "status": _words(layout.statuses),
        "direction": _words(layout.directions),
        "type": _words(layout.types, otherwise="other"),
        "currency": lambda cell: _currency(cell, currency),
    }

    def phone(cell: Cell) -> tuple[str | None, str | None]:
        """The number masked, and its hash."""
        text = text_of(cell).strip()
        within = party.fullmatch(text)
        number = within[1] if within else text
        return masked_number(number), key.hash_of(number)

    return {
        **{name: Memo(_sound(read)) for name, read in values.items()},
        "phone": Memo(phone),
        "currencies": Memo(currencies_named),
        "words": Memo(lambda cells: ", ".join(filter(None, (text_of(cell).strip() for cell in cells))) or None),
        "money": Memo(partial(_readers_of_money, layout)),
        "own": Memo(lambda cell: bool(layout.own and own.fullmatch(text_of(cell).strip()))),
    }


def _readers_of_money(layout: Layout, currency: str) -> dict[str, Any]:
    """Name → reader of amounts in this currency; `amounts` is what reads them for the others."""
    amounts = (MinorAmounts if layout.is_minor else Amounts)(layout.decimal, layout.thousands, currency)
    values: dict[str, Callable[[Cell], Any]] = {
        "amount": _checked(amounts, lambda minor: minor <= 0, "not more than zero"),
        "signed": _checked(amounts, lambda minor: minor == 0, "zero"),
        "fee": _half(amounts, ("plain", layout.debits, "DR"), ()),
        "debit": _half(amounts, (layout.debits, "DR"), ("minus", "parentheses", "CR")),
        "credit": _half(amounts, ABOVE, ("minus", "parentheses", "DR")),
        "balance": amounts.read,
    }
    return {"amounts": amounts, **{name: Memo(_sound(read)) for name, read in values.items()}}


def _sound(read: Callable[[Cell], Any]) -> Callable[[Cell], Any]:
    return lambda cell: error_in(cell) or read(cell)


def _checked(amounts: Amounts, is_wrong: Callable[[int], bool], words: str) -> Callable[[Cell], int | Wrong]:
    """Amounts of which not every one is right; an empty cell is wrong."""

    def read(cell: Cell) -> int | Wrong:
        minor = amounts.read(cell)
        if minor is None:
            return Wrong("is missing")
        return Wrong(f"{shown(cell)} is {words}") if isinstance(minor, int) and is_wrong(minor) else minor

    return read


def _half(amounts: Amounts, ordinary: Collection[str], reversed_: Collection[str]) -> Callable[[Cell], int | Wrong]:
    """Amounts of a column that is one side's: written in an ordinary way, or below zero for a reversal."""

    def read(cell: Cell) -> int | Wrong:
        found = amounts.styled(cell)
        if not isinstance(found, Amount):
            return 0 if found is None else found
        if found.style in ordinary or not found.minor:
            return found.minor
        if found.style in reversed_:
            return -found.minor
        return Wrong(f"{shown(cell)} is {'negative' if found.signed < 0 else 'not negative, as the layout requires'}")

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
IS_OPENING: Final = "is_opening"
OTHERWISE: Final = "otherwise"
PIECE: Final = schema_of(
    {name: kind for name, kind in STATEMENT_ROW.items() if name not in _OF_THE_FILE}
    | {IS_OPENING: "bool", OTHERWISE: "string"}
)
"""What a piece holds; the moments are decided for the whole file. An opening is no row: it tells a balance alone. What
is read as a reversal has in `otherwise` its type if it is none."""
_PIECE_ROWS: Final = 20_000


class Fields:
    """Some rows, cut into the columns of a layout, and what was found to be wrong with them."""

    def __init__(self, found: Found, readers: Mapping[str, Any], rows: Sequence[list[Cell]], currency: str) -> None:
        self.headings, self.negative = found.layout.columns, found.layout.negative
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
                self.blame(place, "the header is repeated here")
        self.currencies: list[str | None] = self.read("currency", absent=currency)
        # Where a row's own cannot be read, it is read as the file's.
        self._money = [readers["money"][each or currency] for each in self.currencies]
        self._moneys = [readers["money"][each] for each in {each or currency for each in self.currencies}]

    def blame(self, place: int, words: str, *, field: str = "") -> None:
        """Say what is wrong with a row, or with its cell of a field, by the heading of the column."""
        self._problems[place].append(f"{self.headings.get(field, field)} {words}" if field else words)

    def read(self, field: str, *, by: str = "", absent: object = None) -> list[Any]:
        """The values of a column, None where it is wrong; `absent` throughout where the file has no such column.

        They are read by the reader of that name, unless `by` names another.
        """
        if field not in self.cells:
            return [absent] * self.count
        name, cells = by or field, self.cells[field]
        of_money = name in ("signed", *AMOUNTS)
        readers = [each[name] for each in self._moneys] if of_money else [self.readers[name]]
        if len(readers) > 1:
            values = [each[name][cell] for each, cell in zip(self._money, cells, strict=True)]
        else:
            values = list(map(readers[0].__getitem__, cells))
        return self.sorted_out(field, values) if any(each.refused for each in readers) else values

    def each(self, *fields: str) -> Iterator[tuple[Cell, ...]]:
        """For each row its cells of these fields, empty where the file has no such column."""
        return zip(*(self.cells.get(field) or [""] * self.count for field in fields), strict=True)

    def texts(self, field: str) -> list[str | None]:
        """A column as it stands; None for what is empty."""
        if field not in self.cells:
            return [None] * self.count
        return [(cell if type(cell) is str else text_of(cell)) or None for cell in self.cells[field]]

    def names(self, field: str) -> list[str | None]:
        """A column of others' keys, trimmed; None for what is empty, and for an error, which is wrong."""
        names = [text and (error_in(text) or text.strip() or None) for text in self.texts(field)]
        return self.sorted_out(field, names)

    def numbers(self, directions: Sequence[str | None]) -> Sequence[Cell]:
        """The cells with customers' numbers: of a column, or of the party on the other side."""
        if "phone" in self.cells or not {"from", "to"} <= self.cells.keys():
            return self.cells.get("phone") or [""] * self.count
        sides = zip(directions, self.cells["from"], self.cells["to"], strict=True)
        return [taker if goes == "out" else sender if goes else "" for goes, sender, taker in sides]

    def balances(self) -> list[int | None]:
        """Below zero where the column beside says DR."""
        balances = self.read("balance")
        if "side" not in self.cells:
            return balances
        side, cells = self.readers["side"], self.cells["side"]
        # Nothing is on no side.
        sides = [side[cell] if balance else "in" for balance, cell in zip(balances, cells, strict=True)]
        pairs = zip(balances, self.sorted_out("side", sides), strict=True)
        return [balance if goes == "in" else goes and -abs(balance) for balance, goes in pairs]

    def compare_currencies(self) -> None:
        """Blame each amount that names another currency than its row's."""
        if not any(each["amounts"].names_currencies for each in self._moneys):
            return
        named = self.readers["currencies"]
        for field in self.cells.keys() & AMOUNTS:
            for place, (cell, currency) in enumerate(zip(self.cells[field], self.currencies, strict=True)):
                if currency and named[cell] and currency not in named[cell]:
                    self.blame(place, f"{shown(cell)} is not in {currency}, the row's currency", field=field)

    def openings(self, layout: Layout) -> list[bool]:
        """Which rows only tell a balance; one that has another amount as well is a movement.

        Where no column tells balances, the amount of such a row is one.
        """
        begins = tuple(heading_key(each) for each in layout.openings)
        if not begins:
            return [False] * self.count
        found = []
        rows = self.each("description", "balance", "amount", "debit", "credit")
        for money, (text, balance, *cells) in zip(self._money, rows, strict=True):
            told = money["balance"][balance]
            either = {told, -told} if isinstance(told, int) else {None}
            moved = {money["amounts"].read(cell) for cell in cells} - {None, 0} - either
            is_balance = not isinstance(told, Wrong) and ("balance" not in self.cells or not moved)
            found.append(heading_key(text_of(text)).startswith(begins) and is_balance)
        return found

    def sentences(self) -> list[str | None]:
        """For each row, everything that is wrong with it."""
        return ["; ".join(self._problems[place]) if place in self._problems else None for place in range(self.count)]

    def sorted_out(self, field: str, values: Sequence[Any]) -> list[Any]:
        """The values without those that are wrong, which is said of their rows."""
        for place, value in enumerate(values):
            if type(value) is Wrong:
                self.blame(place, value, field=field)
        return [None if type(value) is Wrong else value for value in values]


def pieces_of(
    lines: Iterator[Line], found: Found, dates: DateColumn, currency: str, key: PhoneKey
) -> Iterator[pa.Table]:
    """The rows of a file as tables of PIECE, one after the other; their moments go into `dates`."""
    readers = readers_of(found.layout, currency, key)
    while piece := list(islice(lines, _PIECE_ROWS)):
        numbers, rows = zip(*piece, strict=True)
        fields = Fields(found, readers, rows, currency)
        made: Made = {"line": numbers, **_found_in(fields, found.layout)}
        for place, why in dates.add(numbers, fields.cells["moment"], fields.cells.get("time")):
            fields.blame(place, why, field="moment")
        made |= _WAYS[found.layout.direction_by](fields)
        phones = map(_first, made["phone"], fields.numbers(made["direction"]))
        made["phone"], made["phone_hash"] = zip(*map(readers["phone"].__getitem__, phones), strict=True)
        made |= {
            "fee_minor": fields.read("fee", absent=0),
            "balance_minor": fields.balances(),
            "status": fields.read("status", absent="completed"),
            "currency": fields.currencies,
            "batch": fields.names("batch"),
            "words": list(map(readers["words"].__getitem__, fields.each("type", "status"))),
        }
        types, is_reversal = (
            fields.read("type", absent="other"),
            made.pop("is_reversal", None) or [False] * fields.count,
        )
        made["type"] = _instead(is_reversal, "reversal", types)
        made[OTHERWISE] = [kind if back else None for kind, back in zip(types, is_reversal, strict=True)]
        fields.compare_currencies()
        made[IS_OPENING] = fields.openings(found.layout)
        if "balance" not in fields.cells:
            moved = zip(made[IS_OPENING], made["direction"], made["amount_minor"], strict=True)
            made["balance_minor"] = [
                (amount if goes == "in" else -amount) if tells and amount is not None else None
                for tells, goes, amount in moved
            ]
        for name, nothing in _NO_MOVEMENT.items():
            made[name] = _instead(made[IS_OPENING], nothing, made[name])
        made["problem"] = fields.sentences()
        yield pa.table({name: made[name] for name in PIECE.names}, schema=PIECE)


_NO_MOVEMENT: Final = {"direction": "in", "amount_minor": 0, "fee_minor": 0, "status": "completed"}


def _instead(where: Sequence[bool], value: object, values: Sequence[Any]) -> Sequence[Any]:
    """The values, and this one where it holds."""
    return [value if holds else each for holds, each in zip(where, values, strict=True)] if any(where) else values


def _found_in(fields: Fields, layout: Layout) -> "Made":
    """Keys, others' keys and phones: what the pattern finds in the descriptions, else what the columns hold."""
    descriptions = fields.texts("description")
    found: dict[str, list[str | None]] = {name: [None] * fields.count for name in FOUND}
    if layout.groups:
        on_a_line = pa.array([text and " ".join(text.split()) for text in descriptions], pa.string())
        for name, values in zip(layout.groups, pc.extract_regex(on_a_line, layout.key_pattern).flatten(), strict=True):
            found[name] = [had or value or None for had, value in zip(found[name], values.to_pylist(), strict=True)]
    missing = None if layout.makes_keys else Wrong("is missing")
    keys = [told or key_of(cell) or missing for told, (cell,) in zip(found["key"], fields.each("key"), strict=True)]
    return {
        "key": fields.sorted_out("key", keys),
        "related": list(map(_first, found["related"], fields.names("related"))),
        "phone": found["phone"],
        "description": [text and mask_numbers(text) for text in descriptions],
    }


def _first(found: str | None, otherwise: Any) -> Any:  # noqa: ANN401  a cell, or what was made of one
    """What was found, unless it is nothing."""
    return found or otherwise


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
    """Exactly one of the two is filled; zero is not. What is below zero takes back what the column tells of."""
    directions: list[Any] = [None] * fields.count
    amounts: list[Any] = [None] * fields.count
    is_reversal = [False] * fields.count
    debits = fields.read("debit")
    told = {debit > 0 for debit in debits if debit}
    if told == {False} and not fields.negative and "balance" not in fields.cells:
        words = Wrong("is negative like every debit here, and no balance shows the side: set negative in the layout")
        debits = fields.sorted_out("debit", [words if debit else debit for debit in debits])
    pairs = zip(debits, fields.read("credit"), strict=True)
    both, neither = (word.join(fields.headings[name] for name in ("debit", "credit")) for word in (" and ", " nor "))
    for place, (debit, credit) in enumerate(pairs):
        if debit and credit:
            fields.blame(place, f"{both} are both filled")
        elif debit or credit:
            signed = credit or -debit
            directions[place], amounts[place] = "in" if signed > 0 else "out", abs(signed)
            is_reversal[place] = (debit or credit) < 0
        elif debit == credit == 0:
            # A cell that cannot be read is None, and has been told of.
            fields.blame(place, f"neither {neither} has an amount above zero")
    return {"direction": directions, "amount_minor": amounts, "is_reversal": is_reversal}


def _by_parties(fields: Fields) -> Made:
    """One of the two is the account's own party; the other is the customer."""
    own = fields.readers["own"]
    directions: list[Any] = [None] * fields.count
    both, neither = (word.join(fields.headings[name] for name in ("from", "to")) for word in (" and ", " nor "))
    for place, (sender, taker) in enumerate(zip(fields.cells["from"], fields.cells["to"], strict=True)):
        sends = own[sender]
        if sends == own[taker]:
            which = f"both {both} are" if sends else f"neither {neither} is"
            fields.blame(place, f"{which} the account's own party")
        else:
            directions[place] = "out" if sends else "in"
    return {"direction": directions, "amount_minor": fields.read("amount")}


_WAYS: Final = {"words": _by_words, "sign": _by_sign, "columns": _by_columns, "parties": _by_parties}
