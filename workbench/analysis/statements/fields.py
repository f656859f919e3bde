"""Reads the fields of a statement column by column: cells become values, and problems of a row become sentences."""

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import timedelta
from fnmatch import translate
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from workbench.analysis.phone_key import PhoneKey
from workbench.analysis.statements.cells import (
    ABOVE,
    Amount,
    Amounts,
    Cell,
    Column,
    Mask,
    Quick,
    Wrong,
    all_hold,
    currencies_named,
    distinct_rows,
    error_in,
    key_of,
    mask_of,
    matched,
    quick_keys,
    shown,
    spread,
    text_of,
)
from workbench.analysis.statements.dates import DateFormat, Dates, dates_in
from workbench.analysis.statements.dialect import Body
from workbench.analysis.statements.layouts import AMOUNTS, CODE, FOUND, Layout, heading_key
from workbench.analysis.statements.recognising import Found
from workbench.domain.masking import mask_numbers
from workbench.domain.phones import COUNTRY_CODE, MARK, masked_number

_WILD: Final = re.compile(r"[*?\[].*[*?\]]|[*?\[\]]")
"""The wildcards of a party, from the first to the last, with the text between them."""


def readers_of(layout: Layout, currency: str) -> dict[str, Any]:
    """Field → the reader of its cells; `amounts` → the reader of the currency's amounts.

    Only `number` and `own`, which read a party, accept a cell that holds a spreadsheet's error such as `#N/A`.
    """
    own = re.compile(translate(layout.own))
    party = re.compile("(.*?)".join(re.escape(part).replace(r"\*", ".*") for part in layout.party.split("{phone}", 1)))
    amounts = Amounts(layout.decimal, layout.thousands, currency, is_minor=layout.is_minor)
    values: dict[str, Callable[[Cell], Any]] = {
        "side": _words({"CR": "in", "DR": "out", **layout.directions}),
        "status": _words(layout.statuses),
        "direction": _words(layout.directions),
        "type": _words(layout.types, otherwise="other"),
        "currency": lambda cell: _currency(cell, currency),
        "amount": _checked(amounts, lambda minor: minor <= 0, "not more than zero"),
        "signed": _checked(amounts, lambda minor: minor == 0, "zero"),
        "fee": _half(amounts, ("plain", layout.debits, "DR"), ()),
        "debit": _half(amounts, (layout.debits, "DR"), ("minus", "parentheses", "CR")),
        "credit": _half(amounts, ABOVE, ("minus", "parentheses", "DR")),
        "balance": amounts.read,
    }

    def number(cell: Cell) -> str:
        """A party's number as it is written."""
        text = text_of(cell).strip()
        within = party.fullmatch(text)
        return within[1] if within else text

    return {
        **{name: _sound(read) for name, read in values.items()},
        "amounts": amounts,
        "number": number,
        "own": lambda cell: bool(layout.own and own.fullmatch(text_of(cell).strip())),
    }


def _plain_party(party: str) -> str:
    """A pattern for a party with an unmasked Zambian mobile number; its group `digits` is the number's nine digits.

    `party` is the layout's, such as `FRI:{phone}/MSISDN`, with `*` for anything. The pattern is empty if a `*` before
    `{phone}`, or a `*` or a digit right beside it, leaves open where the number begins or ends.
    """
    before, after = party.split("{phone}", 1)
    if "*" in before or before[-1:].isdigit() or after[:1] == "*" or after[:1].isdigit():
        return ""
    ends = ".*".join(map(re.escape, after.split("*")))
    return rf"^{re.escape(before)}(?:(?:(?:00|\+)?2600?|0)?)(?P<digits>[579][0-9]{{8}}){ends}$"


def _sound(read: Callable[[Cell], Any]) -> Callable[[Cell], Any]:
    return lambda cell: error_in(cell) or read(cell)


def _checked(amounts: Amounts, is_wrong: Callable[[int], bool], words: str) -> Callable[[Cell], int | Wrong]:
    """A reader of amounts that refuses an empty cell, and an amount that `is_wrong`, with these `words`."""

    def read(cell: Cell) -> int | Wrong:
        minor = amounts.read(cell)
        if minor is None:
            return Wrong("is missing")
        return Wrong(f"{shown(cell)} is {words}") if isinstance(minor, int) and is_wrong(minor) else minor

    return read


def _half(amounts: Amounts, ordinary: Collection[str], reversed_: Collection[str]) -> Callable[[Cell], int | Wrong]:
    """A reader of debits, credits or fees: an amount in a reversed style is below zero, other styles are refused."""

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
    """A reader of declared words; any other word means `otherwise`, or is Wrong if that is None."""
    values = {heading_key(word): value for word, value in words.items()}

    def read(cell: Cell) -> str | Wrong:
        text = text_of(cell)
        value = values.get(heading_key(text), otherwise)
        if value is None:
            return Wrong(f"{shown(text)} is none of {', '.join(words)}" if text.strip() else "is missing")
        return value

    return read


def _currency(cell: Cell, otherwise: str) -> str | Wrong:
    """The code of three letters in a cell, known or not; `otherwise` for an empty cell, words for any other text."""
    text = text_of(cell).strip().upper() or otherwise
    return text if CODE.fullmatch(text) else Wrong(f"{shown(cell)} is not a currency")


_BATCH_ROWS: Final = 50_000
"""The number of phone numbers that are Python objects at a time."""
_MAY_HAVE_A_NUMBER: Final = r"(?s)0.{0,2}[5-79]|\+|%2|FRI:|002|254[17]"
_MANY_DIGITS: Final = r"(?:\p{Nd}[^\p{Nd}]*){8}"
"""A text with a customer's number matches this pattern and _MAY_HAVE_A_NUMBER; see `mask_numbers`."""
Made = dict[str, Any]


class Fields:
    """The rows of a file in the columns of a layout, and their problems."""

    def __init__(self, found: Found, body: Body, key: PhoneKey, currency: str) -> None:
        self.layout, self.headings, self.negative = found.layout, found.layout.columns, found.layout.negative
        self.readers = readers_of(found.layout, currency)
        self._key = key
        self.count = len(body.lines)
        self.cells = {name: body.columns[place] for name, place in found.places.items()}
        self._problems: defaultdict[int, list[str]] = defaultdict(list)
        width = len(found.header)
        for place, cells in body.odd.items():
            self.blame(place, f"the row has {len(cells)} cells and the header {width}")
        is_header = all_hold(column.has(cell) for column, cell in zip(body.columns, found.header, strict=True))
        for place in np.flatnonzero(is_header).tolist():
            if place not in body.odd:
                self.blame(place, "the header is repeated here")
        self.currencies = self.read("currency", pa.string(), absent=currency)
        # A row without a readable currency is read in the file's.
        coded = self.currencies.fill_null(currency).dictionary_encode()
        self._money = [readers_of(found.layout, code) for code in coded.dictionary.to_pylist()]
        codes = coded.indices.to_numpy()
        # The rows of each currency, in their order.
        self._rows_of = np.split(np.argsort(codes, kind="stable"), np.cumsum(np.bincount(codes))[:-1])

    def blame(self, place: int, words: str, *, field: str = "") -> None:
        """Add a problem of a row, or of its cell under the field's heading."""
        self._problems[place].append(f"{self.headings.get(field, field)} {words}" if field else words)

    def read(
        self,
        field: str,
        kind: pa.DataType,
        *,
        by: Callable[[Cell], Any] | None = None,
        quick: Quick | None = None,
        absent: object = None,
    ) -> pa.Array:
        """The values of a column, null where a cell is wrong; `absent` throughout if the file has no such column.

        `by` reads a cell instead of the field's own reader, and `quick` the plain cells at once.
        """
        if field not in self.cells:
            return self.all_are(absent, kind)
        values, bad = self.cells[field].read(by or self.readers[field], kind, quick)
        self._blame_cells(field, bad)
        return values

    def all_are(self, value: object, kind: pa.DataType) -> pa.Array:
        """A column with one value throughout."""
        return spread(pa.array([value], kind), np.zeros(self.count, np.int32))

    def _blame_cells(self, field: str, bad: Iterable[tuple[int, str]]) -> None:
        for place, why in bad:
            self.blame(place, why, field=field)

    def money(self, field: str, *, by: str = "", absent: int | None = None) -> pa.Array:
        """The minor units of a column, null where a cell is wrong; `absent` throughout if the file has no such column.

        `by` names a reader of `readers_of` that is used instead of the column's own.
        """
        if field not in self.cells:
            return self.all_are(absent, pa.int64())
        parts, column = [], self.cells[field]
        for readers, rows in zip(self._money, self._rows_of, strict=False):
            read = readers[by or field]
            part = column if len(self._money) == 1 else column.only(rows).thinned()
            amounts = readers["amounts"]
            values, bad = part.read(read, pa.int64(), amounts.quick(read), amounts.quick(read, exact=True))
            parts.append(values)
            self._blame_cells(field, [(int(rows[place]), why) for place, why in bad])
        if len(parts) == 1:
            return parts[0]
        # The values stand by currency; they go back into the order of the rows.
        places = np.argsort(np.concatenate([np.empty(0, np.int64), *self._rows_of]))
        return pa.concat_arrays([pa.array([], pa.int64()), *parts]).take(pa.array(places))

    def references(self, field: str) -> pa.Array:
        """The keys by which a column names other rows or batches; null for an empty cell.

        A spreadsheet's error is null too, and a problem of its row.
        """
        return self.read(
            field, pa.string(), by=lambda cell: error_in(cell) or text_of(cell).strip() or None, quick=quick_keys
        )

    def descriptions(self) -> pa.Array:
        """The descriptions, with customers' numbers masked."""

        def quick(texts: pa.Array) -> tuple[pa.Array, Mask]:
            may = matched(texts, _MAY_HAVE_A_NUMBER) & matched(texts, _MANY_DIGITS)
            return texts, ~may & mask_of(pc.not_equal(texts, ""))

        return self.read("description", pa.string(), by=lambda cell: mask_numbers(text_of(cell)) or None, quick=quick)

    def keys(self) -> Made:
        """The columns `key`, `related`, `phone` and `description`, by name.

        Keys and related keys are what the layout's `key_pattern` finds in the description, or else what their columns
        have; phones are only what the pattern finds.
        """
        layout, found = self.layout, dict.fromkeys(FOUND, self.all_are(None, pa.string()))
        if layout.groups:
            on_a_line = self.read("description", pa.string(), by=lambda cell: " ".join(text_of(cell).split()) or None)
            fields = pc.extract_regex(on_a_line.cast(pa.string()), layout.key_pattern).flatten()
            for name, values in zip(layout.groups, fields, strict=True):
                found[name] = pc.coalesce(found[name], pc.if_else(pc.equal(values, ""), None, values))
        missing = None if layout.makes_keys else Wrong("is missing")
        column = self.cells.get("key") or Column([""], np.zeros(self.count, np.int32))
        keys, bad = column.read(lambda cell: key_of(cell) or missing, pa.string(), quick_keys)
        is_told = found["key"].is_valid().to_numpy(zero_copy_only=False)
        self._blame_cells("key", [(row, why) for row, why in bad if not is_told[row]])
        related = pc.coalesce(found["related"], self.references("related"))
        made = {"key": pc.coalesce(found["key"], keys), "related": related}
        return {**made, "phone": found["phone"], "description": self.descriptions()}

    def phones(self, found: pa.Array, directions: pa.Array) -> list[pa.Array]:
        """Two columns: customers' numbers, masked, and their hashes.

        A number is `found` in the description, or else stands in the column `phone`. Without such a column it is the
        other party's, which is the sender or the receiver by the row's direction.
        """
        numbers = [self.all_are(None, pa.string())] * 2
        if "phone" in self.cells:
            numbers = self._numbers(self.cells["phone"])
        elif {"from", "to"} <= self.cells.keys():
            comes, goes = (mask_of(pc.equal(directions, way)) for way in ("in", "out"))
            nobody = Column([""], np.zeros(self.count, np.int32))
            sent = nobody.replaced(goes, self.cells["to"].only(goes))
            numbers = self._numbers(sent.replaced(comes, self.cells["from"].only(comes)))
        if found.null_count == len(found):
            return numbers
        of_texts = self._numbers(Column.of(found))
        return [pc.if_else(found.is_valid(), *pair) for pair in zip(of_texts, numbers, strict=True)]

    def _numbers(self, column: Column) -> list[pa.Array]:
        """Two columns: the numbers in a column of parties, masked, and their hashes."""
        number, plain, texts = self.readers["number"], _plain_party(self.layout.party), column.texts
        others = [lambda cell: masked_number(number(cell)), lambda cell: self._key.hash_of(number(cell))]
        if not plain or texts is None:
            return [column.read(read, pa.string())[0] for read in others]
        digits = pc.extract_regex(texts, plain).flatten()[0]
        is_plain = mask_of(digits.is_valid())
        begins, ends = (pc.utf8_slice_codeunits(digits, *span) for span in ((0, 2), (6, 9)))
        told = digits.drop_null()
        batches = (told[start : start + _BATCH_ROWS].to_pylist() for start in range(0, len(told), _BATCH_ROWS))
        arrays = (pa.array(self._key.hashes_of(batch), pa.string()) for batch in batches)
        hashes = pa.concat_arrays([pa.array([], pa.string()), *arrays])
        made = [
            pc.binary_join_element_wise(COUNTRY_CODE, begins, MARK, ends, ""),
            hashes.take(pa.array(np.cumsum(is_plain) - 1, mask=~is_plain)),
        ]

        def done(values: pa.Array) -> Quick:
            return lambda _: (values, is_plain)

        return [column.read(read, pa.string(), done(known))[0] for read, known in zip(others, made, strict=True)]

    def balances(self) -> pa.Array:
        """Signed balances; DR is negative."""
        balances = self.money("balance")
        if "side" not in self.cells:
            return balances
        # A balance of zero has no side.
        is_some = pc.coalesce(pc.not_equal(balances, 0), pa.scalar(value=False))
        sides, bad = self.cells["side"].read(self.readers["side"], pa.string())
        tells = mask_of(is_some)
        self._blame_cells("side", [(row, why) for row, why in bad if tells[row]])
        sides = pc.if_else(is_some, sides, "in")
        return pc.if_else(pc.equal(sides, "in"), balances, pc.negate(pc.abs(balances)))

    def compare_currencies(self) -> None:
        """Add a problem for every amount in another currency than its row's."""
        if not any(readers["amounts"].names_currencies for readers in self._money):
            return
        currencies = self.currencies.to_pylist()
        for field in [name for name in self.cells if name in AMOUNTS]:
            column = self.cells[field]
            named = [*map(currencies_named, column.cells())]
            for place in np.flatnonzero(np.array([*map(bool, named)])[column.codes]).tolist():
                if currencies[place] and currencies[place] not in named[column.codes[place]]:
                    words = f"{shown(column.row(place))} is not in {currencies[place]}, the row's currency"
                    self.blame(place, words, field=field)

    def openings(self) -> Mask:
        """Marks rows that only state a balance; a row with another amount as well is a movement.

        Without a column of balances, the amount of such a row is the balance.
        """
        begins = tuple(map(heading_key, self.layout.openings))
        is_opening = np.zeros(self.count, bool)
        if not begins or "description" not in self.cells:
            return is_opening
        tells = self.cells["description"].where(lambda cell: heading_key(text_of(cell)).startswith(begins))
        for readers, rows in zip(self._money, self._rows_of, strict=False):
            for place in rows[tells[rows]].tolist():
                balance, *cells = (
                    self.cells[name].row(place) if name in self.cells else ""
                    for name in ("balance", "amount", "debit", "credit")
                )
                told = readers["balance"](balance)
                either = {told, -told} if isinstance(told, int) else {None}
                moved = {readers["amounts"].read(cell) for cell in cells} - {None, 0} - either
                is_opening[place] = not isinstance(told, Wrong) and ("balance" not in self.cells or not moved)
        return is_opening

    def words(self) -> pa.Array:
        """The type and the status of each row as written, with a comma between."""
        columns = [self.cells[name] for name in ("type", "status") if name in self.cells]
        if not columns:
            return self.all_are(None, pa.string())
        rows, codes = distinct_rows(columns)
        said = [", ".join(filter(None, (text_of(cell).strip() for cell in row))) or None for row in rows]
        return spread(pa.array(said, pa.string()), codes)

    def sentences(self) -> pa.Array:
        """The problems of each row as one text; null for a row without a problem."""
        said = [None, *("; ".join(words) for words in self._problems.values())]
        codes = np.zeros(self.count, np.int64)
        codes[[*self._problems]] = np.arange(1, len(said))
        return spread(pa.array(said, pa.string()), codes)


def fields_of(
    found: Found,
    body: Body,
    formats: Sequence[DateFormat],
    currency: str,
    key: PhoneKey,
    iso: timedelta | None = None,
) -> tuple[Made, Dates, Mask, pa.Array]:
    """The columns of STATEMENT_ROW that a file has, the dates of the rows, a mask and an array.

    The mask marks rows that only state a balance; the array has the type of a supposed reversal as an ordinary row.
    `iso` is the offset of local time, if moments of ISO 8601 are read too.
    """
    fields, layout = Fields(found, body, key, currency), found.layout
    made: Made = {"line": pa.array(body.lines), **fields.keys()}
    moments, times = fields.cells["moment"], fields.cells.get("time")
    dates = dates_in(found.cell_rows.name, formats, body.lines, moments, times, iso)
    for place, why in dates.bad:
        fields.blame(place, why, field="moment")
    made |= _WAYS[layout.direction_by](fields)
    made["phone"], made["phone_hash"] = fields.phones(made["phone"], made["direction"])
    made |= {
        "fee_minor": fields.money("fee", absent=0),
        "balance_minor": fields.balances(),
        "status": fields.read("status", pa.string(), absent="completed"),
        "currency": fields.currencies,
        "batch": fields.references("batch"),
        "words": fields.words(),
    }
    types, is_reversal = fields.read("type", pa.string(), absent="other"), made.pop("is_reversal", False)
    made["type"] = pc.if_else(is_reversal, "reversal", types)
    fields.compare_currencies()
    is_opening = fields.openings()
    if is_opening.any():
        where, amounts = pa.array(is_opening), made["amount_minor"]
        if "balance" not in fields.cells:
            signed = pc.if_else(pc.equal(made["direction"], "in"), amounts, pc.negate(amounts))
            made["balance_minor"] = pc.if_else(where, signed, None)
        for name, nothing in _NO_MOVEMENT.items():
            made[name] = pc.if_else(where, nothing, made[name])
    made["problem"] = fields.sentences()
    return made, dates, is_opening, pc.if_else(is_reversal, types, None)


_NO_MOVEMENT: Final = {"direction": "in", "amount_minor": 0, "fee_minor": 0, "status": "completed"}


def _by_sign(fields: Fields) -> Made:
    signed = fields.money("amount", by="signed")
    return {"direction": pc.if_else(pc.greater(signed, 0), "in", "out"), "amount_minor": pc.abs(signed)}


def _by_columns(fields: Fields) -> Made:
    """Direction and amount by debit or credit, whichever is not zero; an amount below zero is a supposed reversal."""
    debits = fields.money("debit", absent=0)
    told = pc.unique(debits.drop_null()).to_numpy()
    if (told < 0).any() and not (told > 0).any() and not fields.negative and "balance" not in fields.cells:
        words = "is negative like every debit here, and no balance shows the side: set negative in the layout"
        for place in np.flatnonzero(debits.fill_null(0).to_numpy()).tolist():
            fields.blame(place, words, field="debit")
        debits = pc.if_else(pc.equal(debits, 0), debits, None)
    credits_ = fields.money("credit", absent=0)
    both, neither = (word.join(fields.headings[name] for name in ("debit", "credit")) for word in (" and ", " nor "))
    debit, credit = (column.fill_null(0).to_numpy() for column in (debits, credits_))
    is_read = pc.and_(debits.is_valid(), credits_.is_valid()).to_numpy(zero_copy_only=False)
    # A cell that cannot be read is null, and has its problem already.
    for places, words in (
        ((debit != 0) & (credit != 0), f"{both} are both filled"),
        ((debit == 0) & (credit == 0) & is_read, f"neither {neither} has an amount above zero"),
    ):
        for place in np.flatnonzero(places).tolist():
            fields.blame(place, words)
    is_one = (debit != 0) ^ (credit != 0)
    signed = np.where(credit != 0, credit, -debit)
    direction = pa.array(np.where(signed > 0, "in", "out"), mask=~is_one).cast(pa.string())
    is_reversal = pa.array(is_one & (np.where(debit != 0, debit, credit) < 0))
    return {"direction": direction, "amount_minor": pa.array(np.abs(signed), mask=~is_one), "is_reversal": is_reversal}


def _by_parties(fields: Fields) -> Made:
    """Amount, and direction by which of the two parties is the account's own; the other is the customer."""
    own = fields.layout.own
    begins, *_, ends = [*_WILD.split(own), ""] if _WILD.search(own) is None else _WILD.split(own)
    sends, takes = (fields.cells[name].where(fields.readers["own"], within=(begins, ends)) for name in ("from", "to"))
    both, neither = (word.join(fields.headings[name] for name in ("from", "to")) for word in (" and ", " nor "))
    for place in np.flatnonzero(sends == takes).tolist():
        which = f"both {both} are" if sends[place] else f"neither {neither} is"
        fields.blame(place, f"{which} the account's own party")
    direction = pa.array(np.where(sends, "out", "in"), mask=sends == takes).cast(pa.string())
    return {"direction": direction, "amount_minor": fields.money("amount")}


_WAYS: Final[dict[str, Callable[[Fields], Made]]] = {
    "words": lambda fields: {
        "direction": fields.read("direction", pa.string()), "amount_minor": fields.money("amount"),
    },
    "sign": _by_sign, "columns": _by_columns, "parties": _by_parties,
}  # fmt: skip
