"""Reads the rows of a file into the columns STATEMENT_ROW, with the problems of each row as a sentence."""

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from fnmatch import translate
from functools import partial
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from workbench.analysis.frames import compact, release_unused
from workbench.analysis.phone_key import PhoneKey
from workbench.analysis.shapes import STATEMENT_ROW
from workbench.analysis.statements.cells import (
    ABOVE,
    BELOW,
    QUICK_KEYS,
    AmountCell,
    Amounts,
    Body,
    Cell,
    CellColumn,
    Mask,
    Quick,
    Whole,
    Wrong,
    all_hold,
    currencies_named,
    distinct_rows,
    error_in,
    key_of,
    mask_of,
    matched,
    quoted,
    spread,
    text_of,
)
from workbench.analysis.statements.dates import ABSENT, ISO_MOMENT, DateFormat, dates_in
from workbench.analysis.statements.layouts import (
    AMOUNTS,
    CODE,
    IN_TEXTS,
    LEDGER_FIELDS,
    OPENING,
    PAGE,
    Layout,
    heading_key,
)
from workbench.analysis.statements.recognising import RecognisedFile
from workbench.domain.masking import mask_numbers
from workbench.domain.moments import DAY_MS, LUSAKA_MS, milliseconds
from workbench.domain.phones import COUNTRY_CODE, MARK, is_cut_short, masked_number

_WILD: Final = re.compile(r"[*?\[].*[*?\]]|[*?\[\]]")
"""Matches the wildcards in a layout's `party`, from the first to the last, with the text between them."""
_INTEGER: Final = re.compile(r"-?[0-9]{1,18}")
Reader = Callable[[Cell], Any]
"""A function from a cell to its value, to None for an empty cell, or to Wrong."""


def readers_of(layout: Layout, currency: str) -> dict[str, Any]:
    """Field → the reader of its cells; `amounts` → the reader of amounts in `currency`, an `Amounts`.

    `signed` reads an amount with its sign, `party` the number in a party's cell, and `own` returns True for the
    account's own party. A spreadsheet error such as `#N/A` makes a cell wrong, except in descriptions and parties.
    """
    own = re.compile(translate(layout.own))
    party = re.compile("(.*?)".join(re.escape(part).replace(r"\*", ".*") for part in layout.party.split("{phone}", 1)))
    amounts = Amounts(layout.decimal, layout.thousands, currency, is_minor=layout.is_minor)
    values: dict[str, Reader] = {
        "side": _words({"CR": "in", "DR": "out", **layout.directions}),
        "status": _words(layout.statuses),
        "direction": _words(layout.directions),
        "type": _words(layout.types, otherwise="other"),
        "currency": partial(_currency, currency),
        "amount": _amount(amounts, ABOVE, zero="not more than zero"),
        "signed": _amount(amounts, ABOVE, BELOW, zero="zero"),
        "fee": _amount(amounts, ("plain", layout.debits, "DR")),
        "debit": _amount(amounts, (layout.debits, "DR"), ("minus", "parentheses", "CR")),
        "credit": _amount(amounts, ABOVE, BELOW),
        "balance": amounts.read,
        # The keys by which a column names other rows or batches.
        **dict.fromkeys(("related", "batch"), lambda cell: text_of(cell).strip() or None),
    }
    of_ledgers: dict[str, Reader] = {
        **dict.fromkeys(LEDGER_FIELDS, key_of),
        "account": partial(_account, layout, {heading_key(word): name for word, name in layout.accounts.items()}),
        "number": _integer,
        "day": partial(_day, [*map(DateFormat, layout.preamble_dates)]),
    }

    def number_of(cell: Cell) -> str:
        """The number within a party's cell, as the file writes it; the whole cell if the pattern does not fit."""
        text = text_of(cell).strip()
        within = party.fullmatch(text)
        return within[1] if within else text

    return {
        **{name: lambda cell, read=read: error_in(cell) or read(cell) for name, read in values.items()},
        **of_ledgers,
        "description": lambda cell: mask_numbers(text_of(cell)) or None,
        "amounts": amounts,
        "party": number_of,
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


def _amount(amounts: Amounts, plus: Collection[str], minus: Collection[str] = (), *, zero: str = "") -> Reader:
    """A reader of amounts; the style of a cell (see AmountCell), such as `plain` or `DR`, decides the sign.

    An amount in one of the styles `plus` is positive, in one of `minus` negative; in any other style it is wrong. A
    zero or an empty cell is 0, unless `zero` is a text such as `not more than zero`: then an empty cell is wrong, and
    a zero is wrong with this text as the reason.
    """

    def read(cell: Cell) -> int | Wrong:
        amount = amounts.styled(cell)
        if not isinstance(amount, AmountCell):
            return amount or (Wrong("is missing") if zero else 0)
        if zero and not (amount.minor and amount.style in (*plus, *minus)):
            return Wrong(f"{quoted(cell)} is {zero}")
        if amount.style in plus or not amount.minor:
            return amount.minor
        if amount.style in minus:
            return -amount.minor
        return Wrong(f"{quoted(cell)} is {'negative' if amount.signed < 0 else 'not negative, as the layout requires'}")

    return read


def _words(words: Mapping[str, str], *, otherwise: str | None = None) -> Reader:
    """A reader of declared words; any other word gives `otherwise`, or is Wrong if that is None."""
    values = {heading_key(word): value for word, value in words.items()}

    def read(cell: Cell) -> str | Wrong:
        text = text_of(cell)
        value = values.get(heading_key(text), otherwise)
        if value is None:
            return Wrong(f"{quoted(text)} is none of {', '.join(words)}" if text.strip() else "is missing")
        return value

    return read


def _currency(otherwise: str, cell: Cell) -> str | Wrong:
    """The three-letter code in a cell, known or not; `otherwise` for an empty cell, Wrong for any other text."""
    text = text_of(cell).strip().upper() or otherwise
    return text if CODE.fullmatch(text) else Wrong(f"{quoted(cell)} is not a currency")


def _account(layout: Layout, known: Mapping[str, str], cell: Cell) -> str | Wrong:
    """The account that a cell names; `known` is the layout's word → account.

    If `known` is empty, the cell's own text is the account. Wrong if the cell is empty, or its text is not in `known`.
    """
    text = key_of(cell) or Wrong("is missing")
    if isinstance(text, Wrong) or not known:
        return text
    return known.get(heading_key(text), Wrong(f"{quoted(text)} is none of {', '.join(layout.accounts)}"))


def _day(formats: Sequence[DateFormat], cell: Cell) -> int | Wrong:
    """The day in a cell, in days since 1970; Wrong if no format reads it, or two formats read different days."""
    if isinstance(cell, datetime):
        return milliseconds(cell.replace(tzinfo=UTC)) // DAY_MS
    read = {at // DAY_MS for by in formats if (at := by.read(text_of(cell).strip())) is not None}
    why = "is written in two ways" if read else "is not a day written as"
    return read.pop() if len(read) == 1 else Wrong(f"{quoted(cell)} {why} {' or '.join(by.pattern for by in formats)}")


def _integer(cell: Cell) -> int | Wrong:
    text = text_of(cell).strip()
    if _INTEGER.fullmatch(text):
        return int(text)
    return Wrong(f"{quoted(cell)} is not a whole number" if text else "is missing")


def _plain_integers(texts: pa.Array) -> tuple[pa.Array, Mask]:
    is_plain = matched(texts, f"^(?:{_INTEGER.pattern})$")
    return pc.if_else(pa.array(is_plain), texts, "0").cast(pa.int64()), is_plain


def _plain_descriptions(texts: pa.Array) -> tuple[pa.Array, Mask]:
    may_have_a_number = matched(texts, _MAY_HAVE_A_NUMBER) & matched(texts, _MANY_DIGITS)
    return texts, ~may_have_a_number & mask_of(pc.not_equal(texts, ""))


_QUICK: Final[Mapping[str, Quick]] = {
    **dict.fromkeys((*IN_TEXTS, *LEDGER_FIELDS, "batch"), QUICK_KEYS),
    "account": {},
    "day": {},
    "number": {"text": _plain_integers},
    "description": {"text": _plain_descriptions},
}
"""Field → fast readers of its plain cells. Cells of other fields are read one by one."""
_HIDES: Final = "[*xX#•]"
"""A cell with hidden digits matches this pattern."""
_MOVED: Final = ("amount", "debit", "credit")
"""The fields of the amount that a row moves."""
_KINDS: Final = {"number": pa.int64(), "day": pa.int32()}
"""Field → Arrow type of its values. Fields not listed are text."""
_BATCH_ROWS: Final = 50_000
"""The most phone numbers that exist as Python objects at a time."""
_MAY_HAVE_A_NUMBER: Final = r"(?s)0.{0,2}[5-79]|\+|%2|FRI:|002|254[17]"
_MANY_DIGITS: Final = r"(?:\p{Nd}[^\p{Nd}]*){8}"
"""A text with a customer's number matches this pattern and _MAY_HAVE_A_NUMBER; see `mask_numbers`."""
ArrowColumns = dict[str, Any]
"""Name of a column → its values, an Arrow array."""


def _problems_where(holds: Mask, words: str) -> list[tuple[int, str]]:
    """A pair (index, `words`) for each row in the mask."""
    return [(place, words) for place in np.flatnonzero(holds).tolist()]


class _Fields:
    """The rows of a file by the fields of a layout, and the problems found in them."""

    def __init__(self, file: RecognisedFile, body: Body, key: PhoneKey, currency: str) -> None:
        self.layout, self.headings = file.layout, file.layout.columns
        self.readers = readers_of(file.layout, currency)
        self._key = key
        self.count = len(body.lines)
        self.cells = {name: body.columns[place] for name, place in file.places.items()}
        self.problems: defaultdict[int, list[str]] = defaultdict(list)
        """Index of a row → its problems."""
        self.is_cut = np.zeros(self.count, bool)
        """A mask of rows with a customer's number that shows too few digits; `phones` fills it."""
        self._odd = body.odd
        width = len(file.header)
        self.blame((at, f"the row has {len(cells)} cells and the header {width}") for at, cells in body.odd.items())
        self.blame(_problems_where(_repeats_header(file, body), "the header is repeated here"))
        self.currencies = self.read("currency", absent=currency)
        # A row without a readable currency is read in the file's.
        coded = self.currencies.fill_null(currency).dictionary_encode()
        codes, names = coded.indices.to_numpy(), coded.dictionary.to_pylist()
        rows_of = np.split(np.argsort(codes, kind="stable"), np.cumsum(np.bincount(codes))[:-1])
        self._money = [(readers_of(self.layout, name), rows) for name, rows in zip(names, rows_of, strict=False)]
        """The readers of each currency, and its rows in their order."""

    def blame(self, bad: Iterable[tuple[int, str]], field: str = "") -> None:
        """Adds problems, pairs of a row's index and a reason; a reason begins with the heading of `field`, if given."""
        called = f"{self.headings.get(field, field)} " if field else ""
        for place, words in bad:
            self.problems[place].append(called + words)

    def read(self, field: str, *, absent: object = None) -> pa.Array:
        """The texts of a field, null where a cell is wrong; if the file has no such column, `absent` in every row."""
        if field not in self.cells:
            return self.all_are(absent)
        values, bad = self.values(field)
        self.blame(bad, field)
        return values

    def values(self, field: str) -> tuple[pa.Array, list[tuple[int, Wrong]]]:
        """The values of a column that the file has, null where a cell is wrong; and the wrong cells, by row index."""
        return self.cells[field].read(self.readers[field], _KINDS.get(field, pa.string()), _QUICK.get(field, {}))

    def all_are(self, value: object, kind: pa.DataType | None = None) -> pa.Array:
        """A column that repeats one value in every row; its Arrow type is `kind`, by default text."""
        return spread(pa.array([value], kind or pa.string()), np.zeros(self.count, np.int32))

    def money(self, field: str, *, by: str = "", absent: int | None = None) -> pa.Array:
        """The amounts of a field in minor units, null where a cell is wrong; `absent` if the file has no such column.

        `by` names another reader of `readers_of` to use.
        """
        if field not in self.cells:
            return self.all_are(absent, pa.int64())
        column, minor, is_read = self.cells[field], np.zeros(self.count, np.int64), np.zeros(self.count, bool)
        for readers, rows in self._money:
            read = readers[by or field]
            part = column if len(rows) == self.count else column.only(rows).thinned()
            values, bad = part.read(read, pa.int64(), readers["amounts"].quick(read))
            minor[rows], is_read[rows] = values.fill_null(0), mask_of(values.is_valid())
            self.blame(((int(rows[place]), why) for place, why in bad), field)
        # The cells of a row that is cut short, or has too many, may stand in other columns.
        is_read[[*self._odd]] = False
        return pa.array(minor, mask=~is_read)

    def keys(self) -> ArrowColumns:
        """The columns `key`, `related`, `phone` and `description`, by name.

        Keys and related keys are what the layout's `key_pattern` finds in the description, else the cells of their
        columns; phones are only what the pattern finds.
        """
        layout, matches, absent = self.layout, dict[str, pa.Array](), self.all_are(None)
        if layout.groups:
            on_a_line, _ = self.cells["description"].read(lambda cell: " ".join(text_of(cell).split()), pa.string())
            fields = pc.extract_regex(on_a_line.cast(pa.string()), layout.key_pattern).flatten()
            for name, values in zip(layout.groups, fields, strict=True):
                matches[name] = pc.coalesce(matches.get(name, absent), pc.if_else(pc.equal(values, ""), None, values))
        missing = None if layout.makes_keys else Wrong("is missing")
        column = self.cells.get("key") or self._empty_column
        keys, bad = column.read(lambda cell: key_of(cell) or missing, pa.string(), QUICK_KEYS)
        has_match = mask_of(matches.get("key", absent).is_valid())
        self.blame(((row, why) for row, why in bad if not has_match[row]), "key")
        columns = {"key": keys.cast(pa.string()), "phone": absent}
        columns |= {name: self.read(name) for name in ("related", "description")}
        return columns | {name: pc.coalesce(values, columns[name]) for name, values in matches.items()}

    @property
    def _empty_column(self) -> CellColumn:
        return CellColumn([""], np.zeros(self.count, np.int32))

    def phones(self, in_texts: pa.Array, directions: pa.Array) -> list[pa.Array]:
        """Two columns: customers' masked numbers, and their hashes.

        `in_texts` has the numbers found in the descriptions. For any other row, the column `phone` has the number. If
        there is no such column, it is the number of the other party: the sender of incoming money, or the receiver.
        """
        numbers = [self.all_are(None)] * 2
        if "phone" in self.cells:
            numbers = self._numbers(self.cells["phone"])
        elif {"from", "to"} <= self.cells.keys():
            comes, goes = (mask_of(pc.equal(directions, way)) for way in ("in", "out"))
            sent = self._empty_column.replaced(goes, self.cells["to"].only(goes))
            numbers = self._numbers(sent.replaced(comes, self.cells["from"].only(comes)))
        if in_texts.null_count == len(in_texts):
            return numbers
        of_texts = self._numbers(CellColumn.from_arrow(in_texts))
        return [pc.if_else(in_texts.is_valid(), *pair) for pair in zip(of_texts, numbers, strict=True)]

    def _numbers(self, column: CellColumn) -> list[pa.Array]:
        """Numbers as by `_masked_and_hashed`; marks the rows whose number shows too few digits in `is_cut`."""
        numbers = self._masked_and_hashed(column)
        unread = np.flatnonzero(mask_of(numbers[0].is_null()))
        number = self.readers["party"]
        self.is_cut[unread] |= column.only(unread).thinned().where(lambda cell: is_cut_short(number(cell)), _HIDES)
        return numbers

    def _masked_and_hashed(self, column: CellColumn) -> list[pa.Array]:
        """Two columns, from a column of parties: the masked phone numbers, and hashes of the unmasked phone numbers."""
        number, plain = self.readers["party"], _plain_party(self.layout.party)
        readers = [lambda cell: masked_number(number(cell)), lambda cell: self._key.hash_of(number(cell))]
        if not plain or column.texts is None:
            return [column.read(read, pa.string())[0] for read in readers]
        coded = pc.extract_regex(column.texts, plain).flatten()[0].dictionary_encode()
        digits, others = coded.dictionary, mask_of(coded.is_null())
        begins, ends = (pc.utf8_slice_codeunits(digits, *span) for span in ((0, 2), (6, 9)))
        batches = (digits[start : start + _BATCH_ROWS] for start in range(0, len(digits), _BATCH_ROWS))
        known = [
            pc.binary_join_element_wise(COUNTRY_CODE, begins, MARK, ends, ""),
            pa.concat_arrays([pa.array([], pa.string()), *map(self._key.hashes_of, batches)]),
        ]
        # All other cells follow the plain numbers.
        places = np.where(others, len(digits) + np.cumsum(others) - 1, coded.indices.fill_null(0)).astype(np.int32)
        places = places[column.codes]
        cells = column.cells(np.flatnonzero(others))
        unusual = [pa.array([*map(read, cells)], pa.string()) for read in readers]
        values = [pa.concat_arrays(both) for both in zip(known, unusual, strict=True)]
        # Different numbers have different hashes: no equal ones are looked for.
        is_whole = unusual[1].null_count == len(unusual[1])
        of_numbers = pa.DictionaryArray.from_arrays(pa.array(places, mask=places >= len(digits)), known[1])
        return [spread(values[0], places), of_numbers if is_whole else spread(values[1], places)]

    def balances(self) -> pa.Array:
        """The balances in minor units, negative if DR stands in the column `side`; null where a cell is wrong."""
        balances = self.money("balance")
        if "side" not in self.cells:
            return balances
        # A balance of zero has no side.
        is_some = pc.coalesce(pc.not_equal(balances, 0), pa.scalar(value=False))
        sides, bad = self.cells["side"].read(self.readers["side"], pa.string())
        tells = mask_of(is_some)
        self.blame(((row, why) for row, why in bad if tells[row]), "side")
        sides = pc.if_else(is_some, sides, "in")
        return pc.if_else(pc.equal(sides, "in"), balances, pc.negate(pc.abs(balances)))

    def compare_currencies(self) -> None:
        """Adds a problem for every amount in another currency than its row."""
        if not any(readers["amounts"].names_currencies for readers, _ in self._money):
            return
        currencies = self.currencies.to_pylist()
        for field in [name for name in self.cells if name in AMOUNTS]:
            column = self.cells[field]
            named = [*map(currencies_named, column.cells())]
            for place in np.flatnonzero(np.array([*map(bool, named)])[column.codes]).tolist():
                if currencies[place] and currencies[place] not in named[column.codes[place]]:
                    words = f"{quoted(column.row(place))} is not in {currencies[place]}, the row's currency"
                    self.blame([(place, words)], field)

    def openings(self) -> Mask:
        """A mask of rows that only state a balance; a row that also has an amount is a movement.

        Without a column of balances, the amount of such a row is the balance.
        """
        begins = tuple(map(heading_key, self.layout.openings))
        is_opening = np.zeros(self.count, bool)
        if not begins or "description" not in self.cells:
            return is_opening
        tells = self.cells["description"].where(lambda cell: heading_key(text_of(cell)).startswith(begins))
        for readers, rows in self._money:
            for place in rows[tells[rows]].tolist():
                balance, *cells = (
                    self.cells[name].row(place) if name in self.cells else "" for name in ("balance", *_MOVED)
                )
                balance_minor = readers["balance"](balance)
                either = {balance_minor, -balance_minor} if isinstance(balance_minor, int) else {None}
                moved = {readers["amounts"].read(cell) for cell in cells} - {None, 0} - either
                is_opening[place] = not isinstance(balance_minor, Wrong) and ("balance" not in self.cells or not moved)
        return is_opening

    def zeros(self, amounts: pa.Array) -> Mask:
        """A mask of rows whose amounts are zero or empty, one at least written, without a fee or another problem.

        `amounts` are the rows' amounts as read: null for a zero.
        """
        is_zero, unread = np.zeros(self.count, bool), mask_of(amounts.is_null())
        for readers, rows in self._money:
            read = readers["amounts"].read
            for place in rows[unread[rows]].tolist():
                moved = {read(self.cells[name].row(place)) for name in _MOVED if name in self.cells}
                fee = read(self.cells["fee"].row(place)) if "fee" in self.cells else 0
                moves_nothing = 0 in moved and moved <= {0, None} and fee in (0, None)
                is_zero[place] = moves_nothing and len(self.problems[place]) == 1
        return is_zero

    def words(self) -> pa.Array:
        """The type and the status of each row as written, joined by a comma."""
        columns = [self.cells[name] for name in ("type", "status") if name in self.cells]
        if not columns:
            return self.all_are(None)
        rows, codes = distinct_rows(columns)
        texts = [", ".join(filter(None, (text_of(cell).strip() for cell in row))) or None for row in rows]
        return spread(pa.array(texts, pa.string()), codes)

    def sentences(self) -> pa.Array:
        """The problems of each row as one text; null for a row without a problem."""
        sentences = [None, *("; ".join(words) for words in self.problems.values())]
        codes = np.zeros(self.count, np.int64)
        codes[[*self.problems]] = np.arange(1, len(sentences))
        return spread(pa.array(sentences, pa.string()), codes)


def _by_sign(fields: _Fields) -> ArrowColumns:
    signed = fields.money("amount", by="signed")
    return {"direction": pc.if_else(pc.greater(signed, 0), "in", "out"), "amount_minor": pc.abs(signed)}


def _by_columns(fields: _Fields) -> ArrowColumns:
    """Direction and amount by debit or credit, whichever is not zero; a negative amount is a supposed reversal."""
    debits = fields.money("debit", absent=0)
    amounts = pc.unique(debits.drop_null()).to_numpy()
    if (amounts < 0).any() and not (amounts > 0).any() and not fields.layout.negative and "balance" not in fields.cells:
        words = "is negative like every debit here, and no balance shows the side: set negative in the layout"
        fields.blame(_problems_where(debits.fill_null(0).to_numpy() != 0, words), "debit")
        debits = pc.if_else(pc.equal(debits, 0), debits, None)
    credits_ = fields.money("credit", absent=0)
    both, neither = (word.join(fields.headings[name] for name in ("debit", "credit")) for word in (" and ", " nor "))
    debit, credit = (column.fill_null(0).to_numpy() for column in (debits, credits_))
    is_read = pc.and_(debits.is_valid(), credits_.is_valid()).to_numpy(zero_copy_only=False)
    fields.blame(_problems_where((debit != 0) & (credit != 0), f"{both} are both filled"))
    # A cell that cannot be read is null, and has its problem already.
    is_neither = (debit == 0) & (credit == 0) & is_read
    fields.blame(_problems_where(is_neither, f"neither {neither} has an amount above zero"))
    is_one = (debit != 0) ^ (credit != 0)
    signed = np.where(credit != 0, credit, -debit)
    direction = pc.if_else(pa.array(signed > 0, mask=~is_one), "in", "out")
    is_reversal = pa.array(is_one & (np.where(debit != 0, debit, credit) < 0))
    return {"direction": direction, "amount_minor": pa.array(np.abs(signed), mask=~is_one), "is_reversal": is_reversal}


def _by_parties(fields: _Fields) -> ArrowColumns:
    """Amount and direction: money goes out if the sender is the account's own party, and in if the receiver is."""
    like = "(?s)" + ".*".join(map(re.escape, _WILD.split(fields.layout.own)))
    sends, takes = (fields.cells[name].where(fields.readers["own"], like) for name in ("from", "to"))
    both, neither = (word.join(fields.headings[name] for name in ("from", "to")) for word in (" and ", " nor "))
    fields.blame(_problems_where(sends & takes, f"both {both} are the account's own party"))
    fields.blame(_problems_where(~sends & ~takes, f"neither {neither} is the account's own party"))
    direction = pc.if_else(pa.array(sends, mask=sends == takes), "out", "in")
    return {"direction": direction, "amount_minor": fields.money("amount")}


_WAYS: Final[dict[str, Callable[[_Fields], ArrowColumns]]] = {
    "words": lambda fields: {"direction": fields.read("direction"), "amount_minor": fields.money("amount")},
    "sign": _by_sign, "columns": _by_columns, "parties": _by_parties,
}  # fmt: skip
_NO_MOVEMENT: Final = {"direction": "in", "amount_minor": 0, "fee_minor": 0, "status": "completed"}
ISO_DATES: Final = (ISO_MOMENT, "%Y-%m-%d")
_HOUR_MS: Final = 3_600_000


class FileRows(NamedTuple):
    """The rows of a file as its layout reads them."""

    table: pa.Table
    """The rows with the columns STATEMENT_ROW, then those columns of a ledger that the file has."""
    problems: list[tuple[int, str]]
    """(line, reason) for each problem of a ledger's rows that are no opening rows. Empty for a statement."""
    local: Whole
    """The local milliseconds since 1970 of each row; ABSENT for a bad date."""
    is_opening: Mask
    """A mask of rows that only state a balance, or move nothing because their amounts are zero."""
    otherwise: pa.Array
    """For a supposed reversal, the type that it has if it turns out to be an ordinary row; null for other rows."""
    joined: tuple[int, ...]
    """The lines that were joined to the rows above them."""
    of_pages: tuple[int, ...]
    """The lines that belong to a statement's pages: page numbers, repeated headers and balances carried forward."""
    zeros: tuple[int, ...]
    """The lines of rows that move nothing because their amounts are zero."""
    cut_numbers: int
    """The number of rows whose customer's number shows too few digits to be compared."""


def read_rows(
    file: RecognisedFile,
    formats: Sequence[str],
    currency: str,
    key: PhoneKey,
    account: str,
    *,
    is_ledger: bool = False,
) -> FileRows:
    """The rows of a file as its layout reads them; they are on `account`, and in `currency` unless they name another.

    `formats` are the possible formats of dates, and `key` hashes customers' numbers. If `is_ledger`, the further fields
    of a ledger are read too, and if the formats are ISO_DATES, every ISO 8601 moment.
    """
    layout, by = file.layout, [*map(DateFormat, formats)]
    body, joined, of_pages = _body_of(file, currency, is_paged=not is_ledger)
    release_unused()
    body = _without_footers(file, body, by)
    is_forward = _forwards(file, body, currency) & (not is_ledger)
    fields = _Fields(file, body, key, currency)
    columns: ArrowColumns = {"line": pa.array(body.lines), **fields.keys()}
    offset_ms, times = layout.utc_offset_hours * _HOUR_MS, fields.cells.get("time")
    iso = timedelta(milliseconds=offset_ms) if is_ledger and tuple(formats) == ISO_DATES else None
    dates = dates_in(file.cell_rows.name, by, body.lines, fields.cells["moment"], times, iso)
    fields.blame(dates.bad, "moment")
    columns |= _WAYS[layout.direction_by](fields)
    columns["phone"], columns["phone_hash"] = fields.phones(columns["phone"], columns["direction"])
    is_cut = fields.is_cut & mask_of(columns["phone"].is_null())
    columns |= {
        "fee_minor": fields.money("fee", absent=0),
        "balance_minor": fields.balances(),
        "status": fields.read("status", absent="completed"),
        "currency": fields.currencies,
        "batch": fields.read("batch"),
        "words": fields.words(),
    }
    types, is_reversal = fields.read("type", absent="other"), columns.pop("is_reversal", False)
    columns["type"] = pc.if_else(is_reversal, "reversal", types)
    fields.compare_currencies()
    is_opening = fields.openings() | is_forward
    is_zero = fields.zeros(columns["amount_minor"]) & ~is_opening
    if is_opening.any() and "balance" not in fields.cells:
        amounts = columns["amount_minor"]
        signed = pc.if_else(pc.equal(columns["direction"], "in"), amounts, pc.negate(amounts))
        columns["balance_minor"] = pc.if_else(pa.array(is_opening), signed, None)
    is_opening |= is_zero
    if is_opening.any():
        where = pa.array(is_opening)
        for name, nothing in _NO_MOVEMENT.items():
            columns[name] = pc.if_else(where, nothing, columns[name])
    columns["problem"] = fields.sentences()
    problems, of_ledger = [], ArrowColumns()
    if is_ledger:
        problems = [(row, why) for row in sorted(fields.problems) for why in fields.problems[row]]
        for name in [name for name in LEDGER_FIELDS if name in fields.cells]:
            of_ledger[name], bad = fields.values(name)
            problems += [(row, f"{layout.columns.get(name, name)} {why}") for row, why in bad]
        problems = [(int(body.lines[row]), why) for row, why in problems if not is_opening[row]]
    release_unused()
    absent = dates.local == ABSENT
    utc = dates.local - (0 if dates.by.has_zone else offset_ms)
    days = pa.array((utc + LUSAKA_MS) // DAY_MS, pa.int64(), mask=absent)
    columns |= {"statement": fields.all_are(file.cell_rows.name), "account": fields.all_are(account)}
    columns["business_date"] = of_ledger.pop("day", days.cast(pa.int32())).cast(pa.date32())
    # A day without a time is not a moment.
    columns["occurred_at"] = pa.array(utc, pa.timestamp("ms", "UTC"), mask=absent | dates.are_days)
    otherwise = pc.if_else(is_reversal, types, None)
    table = compact(columns | {"account": of_ledger.pop("account", columns["account"])}, STATEMENT_ROW)
    for name, values in of_ledger.items():
        table = table.append_column(name, values)
    of_pages = sorted([*of_pages, *body.lines[is_forward].tolist()])
    zeros = tuple(body.lines[is_zero].tolist())
    is_cut &= ~is_opening
    return FileRows(
        table, problems, dates.local, is_opening, otherwise, tuple(joined), tuple(of_pages), zeros, int(is_cut.sum())
    )


def _body_of(file: RecognisedFile, currency: str, *, is_paged: bool) -> tuple[Body, list[int], list[int]]:
    """The rows below the header, the numbers of the lines with only a narrative, and those of `_of_pages`.

    Narratives are joined to the rows above them. If `is_paged`, the lines of `_of_pages` are left out, else they stay.
    """
    places, layout = file.places, file.layout
    body = file.cell_rows.body(file.line, len(file.header))
    # An error of a formula outside of these columns makes no row.
    is_stray = all_hold(body.columns[place].has("") for place in places.values())
    for place in np.flatnonzero(is_stray).tolist():
        is_stray[place] = all(cell == "" or error_in(cell) for cell in body.row(place))
    body = body.only(~is_stray)
    is_of_page = _of_pages(file, body) & is_paged
    of_pages, body = body.lines[is_of_page].tolist(), body.only(~is_of_page)
    ends = tuple(map(heading_key, (*layout.footers, *layout.openings)))
    if layout.sections:
        moves = [places[name] for name in ("amount", "debit", "credit") if name in places]
        body = _of_sections(body, moves, ends, {*map(heading_key, layout.accounts)})
    if "description" not in places:
        return body, [], of_pages
    is_forward = _forwards(file, body, currency) & is_paged
    return *_continued(body, places["description"], ends, is_forward), of_pages


def _repeats_header(file: RecognisedFile, body: Body) -> Mask:
    """A mask of the lines that repeat the header cell by cell, in any letter case."""

    def is_heading(key: str, cell: Cell) -> bool:
        return heading_key(text_of(cell)) == key

    keys = [heading_key(text_of(title)) for title in file.header]
    # The pattern is of a heading's first word, and is fast in a column of a million cells.
    begins = [rf"(?i)^\s*{re.escape(key.partition(' ')[0]) or '$'}" for key in keys]
    is_header = all_hold(
        column.where(partial(is_heading, key), begin)
        for column, key, begin in zip(body.columns, keys, begins, strict=True)
    )
    is_header[[*body.odd]] = False
    return is_header


def _of_pages(file: RecognisedFile, body: Body) -> Mask:
    """A mask of the lines with nothing but a page number, and of those that repeat the header, in any letter case."""
    amounts = Amounts(file.layout.decimal, file.layout.thousands)
    money = [file.places[name] for name in AMOUNTS if name in file.places]
    is_header = _repeats_header(file, body)
    # A row has an amount, even if the headings are numbers.
    is_header &= not any(isinstance(amounts.styled(file.header[place]), AmountCell) for place in money)
    filled = np.zeros(len(body.lines), int)
    for place in (*money, file.places["moment"]):
        filled += ~body.columns[place].where_blank()
        if filled.min(initial=2) > 1:
            break
    is_number = filled <= 1
    bare = np.flatnonzero(is_number)
    columns = [column.only(bare).thinned() for column in body.columns]
    hits = [column.where(lambda cell: re.search(PAGE, text_of(cell)) is not None, PAGE) for column in columns]
    is_number[bare] = np.any(hits, axis=0)
    for place in np.flatnonzero(is_number).tolist():
        is_number[place] = sum(text_of(cell).strip() != "" for cell in body.row(place)) == 1
    return is_header | is_number


def _forwards(file: RecognisedFile, body: Body, currency: str) -> Mask:
    """A mask of the rows with words such as `Carried forward` in place of a day, and with no amount but a balance."""
    amounts = readers_of(file.layout, currency)["amounts"]
    days, width = body.columns[file.places["moment"]], len(file.header)
    money = [(name, body.columns[file.places[name]]) for name in AMOUNTS if name in file.places]
    if days.kind == "moment":
        return np.zeros(len(body.lines), bool)
    is_forward = days.where(lambda cell: isinstance(cell, str) and bool(OPENING.match(cell)), "^[^0-9A-Za-z]*[A-Za-z]")
    for place in np.flatnonzero(is_forward).tolist():
        read = {name: amounts.read(column.row(place)) for name, column in money}
        is_balance = not isinstance(read.pop("balance", None), Wrong) and {*read.values()} <= {None, 0}
        is_forward[place] = is_balance and not any(text_of(cell).strip() for cell in body.row(place)[width:])
    return is_forward


def _of_sections(body: Body, moves: Iterable[int], ends: tuple[str, ...], accounts: Container[str]) -> Body:
    """The rows with an amount in one of the columns `moves` (indices); their first cell becomes their account.

    An account stands in the first cell of a line above its rows. A first cell that begins with one of `ends` is a total
    or a balance and no account, unless it is one of `accounts`. Both are in the form of `heading_key`.
    """
    titles, *others = body.columns
    texts = ["", *(text_of(cell).strip() for cell in titles.cells())]
    codes = np.append(0, titles.codes + 1)
    is_row = np.array([not text for text in texts])[codes]
    keys = map(heading_key, texts)
    begins = np.array([bool(key) and (key in accounts or not key.startswith(ends)) for key in keys])[codes]
    above = np.maximum.accumulate(np.where(begins, np.arange(len(begins)), 0))
    account = CellColumn(texts, codes[above][1:])
    is_moved = np.any([~body.columns[place].has("") for place in moves], axis=0)
    return Body(body.lines, [account, *others], body.odd).only(is_row[1:] & is_moved)


def _continued(body: Body, narrative: int, ends: tuple[str, ...], is_forward: Mask) -> tuple[Body, list[int]]:
    """Joins each line with only a narrative to the row above it, as statements copied from a PDF require.

    `narrative` is the index of the column of narratives. A line that begins with one of `ends`, in the form of
    `heading_key`, is a total or a balance, and is not joined; nothing is joined to the rows `is_forward`, see
    `_forwards`. Returns the body, and the numbers of the joined lines.
    """
    others = [column for place, column in enumerate(body.columns) if place != narrative]
    is_joined = all_hold(column.where_blank() for column in others) if others else np.zeros(len(body.lines), bool)
    column, odd = body.columns[narrative], dict(body.odd)
    narratives: dict[int, str] = {}
    for place in np.flatnonzero(is_joined).tolist():
        cells = body.row(place)
        text = text_of(column.row(place)).strip()
        is_alone = all(nth == narrative or not text_of(cell).strip() for nth, cell in enumerate(cells))
        is_joined[place] = is_alone and text and not heading_key(text).startswith(ends)
    above = np.maximum.accumulate(np.where(is_joined | is_forward, -1, np.arange(len(is_joined))))
    is_joined &= above >= 0
    for row, place in zip(above[is_joined].tolist(), np.flatnonzero(is_joined).tolist(), strict=True):
        text = text_of(column.row(place)).strip()
        narratives[row] = f"{narratives.get(row, text_of(column.row(row)).strip())} {text}".strip()
        if row in odd:
            odd[row] = [*odd[row], *[""] * (narrative + 1 - len(odd[row]))]
    if not narratives:
        return body, []
    odd = {place: cells for place, cells in odd.items() if len(cells) != len(body.columns)}
    where = np.isin(np.arange(len(body.lines)), [*narratives])
    columns = [*body.columns]
    columns[narrative] = column.replaced(where, CellColumn.from_cells(narratives.values()))
    return Body(body.lines, columns, odd).only(~is_joined), body.lines[is_joined].tolist()


def _without_footers(file: RecognisedFile, body: Body, formats: Sequence[DateFormat]) -> Body:
    """The rows without the lines of totals at the end. A line of totals elsewhere, or with a date, stays a row."""
    footers = tuple(heading_key(footer) for footer in file.layout.footers)
    places = [file.places[name] for name in ("moment", "time") if name in file.places]
    count = len(body.lines)
    while footers and count:
        cells = body.row(count - 1)
        when = [cells[place] for place in places if place < len(cells)]
        text = " ".join(text_of(cell).strip() for cell in when)
        is_text = not any(isinstance(cell, datetime) for cell in when) and all(by.read(text) is None for by in formats)
        # A key may begin as a total does.
        begins = heading_key(next((text_of(cell) for cell in cells if cell != ""), ""))
        if not (is_text and begins.startswith(footers)):
            break
        count -= 1
    return body.only(np.arange(len(body.lines)) < count)
