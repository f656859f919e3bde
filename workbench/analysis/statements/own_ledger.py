"""Reads your own ledger into the shape LEDGER, from a file, a table or a query to a database."""

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import cached_property, partial
from itertools import islice
from pathlib import Path
from typing import Any, Final, NamedTuple

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from workbench.analysis.database import fetched, is_address
from workbench.analysis.files import PARQUET
from workbench.analysis.frames import compact, in_one_piece, releasing, typed, with_column
from workbench.analysis.phone_key import PhoneKey, key_from
from workbench.analysis.shapes import DIRECTIONS, LEDGER_MOVEMENT, Columns
from workbench.analysis.statements.arrow_cells import cells_in
from workbench.analysis.statements.cells import (
    Cell,
    Column,
    Mask,
    Quick,
    Whole,
    Wrong,
    codes_of,
    distinct_rows,
    key_of,
    mask_of,
    matched,
    quick_keys,
    refused,
    shown,
    text_of,
)
from workbench.analysis.statements.dates import ABSENT, DateFormat
from workbench.analysis.statements.dialect import cell_rows_of, declared_in, digest_of
from workbench.analysis.statements.layouts import LAYOUTS, LEDGER_FIELDS, Layout, heading_key
from workbench.analysis.statements.recognising import Found, recognised
from workbench.analysis.statements.statement import (
    agreed,
    effects_of,
    follow,
    made_keys,
    newest_first,
    passed_currency,
    read_rows,
    reasons_in,
    tried_layouts,
    whole_of,
)
from workbench.analysis.statements.vocabulary import SWAPPED
from workbench.domain.moments import DAY_MS, milliseconds
from workbench.domain.money import decimals_of
from workbench.errors import StatementRefused
from workbench.text.render import Table, Tabular, pairs, table

LEDGER: Columns = {**LEDGER_MOVEMENT, "balance_minor": "Int64", "phone_hash": "string"}
"""The columns of a ledger that `read_ledger` returns; an unknown balance is null."""
_COLUMNS: Final = (
    ("account", "text", "needed, or account='…'", "operator:mtn:float", "the account that the statement is of"),
    ("key", "text", "needed", "7712345678", "the transaction's id that the statement has too"),
    ("batch", "text", "none", "SW-20261031", "the key of the batch that the row is part of"),
    ("occurred_at", "moment", "needed, or business_date", "2026-10-31T08:15:00+02:00", "in Lusaka if it has no zone"),
    ("business_date", "day", "the day of occurred_at in Lusaka", "2026-10-31", "the day in the books"),
    ("direction", "in or out", "the sign of the amount", "in", "from where the account stands"),
    ("amount_minor", "whole number", "needed, or amount in kwacha: 150.00", "15000", "gross, in ngwee"),
    ("fee_minor", "whole number", "0; or fee in kwacha", "375", "lowers the balance too, in ngwee"),
    ("currency", "text", "currency='…', or ZMW", "ZMW", "three letters"),
    ("status", "completed, failed or pending", "completed", "completed", "only what is completed moves money"),
    ("phone", "text", "none", "+26096••••567", "the customer's number, in any spelling"),
    ("entry", "text", "the key, of further rows key#2", "JE-1042", "what the books call the row; each once"),
    ("number", "whole number", "follows from the moment", "1042", "the order of booking"),
    ("kind", "text", "none", "payout_paid", "a payout_paid that the statement lacks is payout_unpaid"),
    ("payment", "text", "none", "order-81", "your own name of the payment"),
    ("reverses", "text", "none", "JE-1040", "the entry that this one reverses"),
    ("state", "text", "none", "in_suspense", "in_suspense: late money that waits for a decision"),
    ("balance_minor", "whole number", "from another row's; without any, from the statement's opening balance",
     "115000", "the balance after the row, in ngwee"),
)  # fmt: skip
"""The columns of a ledger without a layout: name, what it holds, what is assumed without it, example, meaning."""
_ALIKE: Final = {
    **{name: name for name in ("account", "key", "batch", "direction", "currency", "status", "phone")},
    **{name: name for name in LEDGER_FIELDS}, "moment": "occurred_at", "day": "business_date",
}  # fmt: skip
"""Field → its column without a layout; columns of amounts are `amount_minor`, or `amount` in major units."""


def ledger_columns() -> Table:
    """A table of a ledger's columns: what each holds, what is assumed without it, and an example."""
    return table("The columns of a ledger", ("column", "holds", "without it", "example", "meaning"), _COLUMNS)


@dataclass(frozen=True, repr=False, eq=False)
class Ledger(Tabular):
    """A ledger that was read from a file, a query or a table."""

    name: str
    """The name of the file or query without its folder, or the kind of table."""
    sha256: str | None
    """The SHA-256 of the file, or of the query's text; None for a table."""
    layout: str
    table: pa.Table
    """`rows` as Arrow has them; columns of few different texts are dictionaries."""
    account_names: Mapping[str, str]
    """Account → the file's words for it, if the layout has `accounts`."""
    layout_sha256: str | None = None

    @cached_property
    def rows(self) -> pd.DataFrame:
        """The ledger's rows in their order, with the columns of LEDGER."""
        return typed([self.table], LEDGER)

    @property
    def accounts(self) -> tuple[str, ...]:
        """The accounts that have rows."""
        return tuple(sorted(self.table["account"].unique().to_pylist()))

    def _table(self) -> Table:
        rows, days = len(self.table), pc.min_max(self.table["business_date"]).as_py()
        told = {"layout": self.layout, "accounts": ", ".join(self.accounts) or "none", "rows": f"{rows:,}"}
        told["period"] = f"{days['min']} to {days['max']}" if rows else "no rows"
        return pairs(self.name, {**told, "sha256": self.sha256 or "of no file"})


@releasing
def read_ledger(  # noqa: PLR0913  what is read, and what it does not say itself
    source: object,
    *,
    query: str | Path | None = None,
    layout: str | Path | Layout | None = None,
    account: str | None = None,
    date_format: str | None = None,
    currency: str | None = None,
    phone_key: str | Path | bytes | None = None,
) -> Ledger:
    """Read a ledger of your own, for `reconcile`.

    `source` is the path of a `.csv`, `.xlsx` or `.parquet` file, a DataFrame of pandas or Polars, an Arrow table, or
    the address of a database with `query`, the path of a `.sql` file or the query itself. A source with the column
    names of `ledger_columns()` needs no `layout`; the smallest has four:

        account,key,occurred_at,amount
        operator:mtn:float,7712345678,2026-10-30 08:15:00,150.00
        operator:mtn:float,7712345680,2026-10-31 17:40:00,-60.00

    A `layout` is one of a statement, with the further fields of a ledger; its `debit` is what comes in, as in books.
    Amounts are in major units (150.00), or in whole minor units (15000) in columns called `…_minor`; the layout's
    `units` replaces this rule. A float is taken by its shortest decimal, as it is printed, and refused if this has more
    decimals than its currency. Times without a zone are Lusaka's, or of the layout's `utc_offset_hours`. `account`,
    `date_format`, `currency` and `phone_key` are as for `read_statement`.

    The carry-forward goes by the rows' `number`, such as the id that a database counts up. Without numbers, the next
    run does not read a row that is booked after the closing date and dated before it.

    An address is `postgresql://user@host/database`, its password in PGPASSWORD, or `sqlite:///path`. The query is run
    alone, in a transaction that only reads.

    Raises StatementRefused: the ledger cannot be read without guessing. One row that cannot be read is enough; the
    message has each reason with its number of rows and the first of them.
    """
    taken, key = _taken(source, query), key_from(phone_key)
    found, formats = taken.found(layout)
    return _read(taken, found, [date_format] if date_format else formats, account, currency, key)


_DATES: Final = ("%Y-%m-%d %H:%M:%S", "%Y-%m-%d")
_Header = tuple[Sequence[str], str | None]
"""Headings, and the delimiter between them."""


class _Taken(NamedTuple):
    """A source before its layout is known: a file that is cut into cells, or an Arrow table."""

    name: str
    sha256: str | None
    content: Path | pa.Table

    @property
    def row(self) -> str:
        """The word before a row's number in messages."""
        return "line" if isinstance(self.content, Path) else "row"

    def found(self, layout: str | Path | Layout | None) -> tuple[Found, Sequence[str]]:
        """The source with its layout and header, and the formats of its moments. Raises StatementRefused: none fits."""
        chosen = None if layout is None else tried_layouts(layout)[0]
        if isinstance(self.content, Path):
            books = _books(chosen) if chosen else _named_alike(self.name, self._headers(self.content))
            try:
                found = recognised(self.content, [books], named=True)
            except StatementRefused as wrong:
                if chosen and "layouts" in wrong.facts:
                    wrong.hint = "The layout of a ledger names the ledger's own headings; one with account, key, "
                    wrong.hint += "occurred_at and amount needs none."
                    wrong.say(wrong.message)
                raise
            return found, found.layout.dates
        headings = self.content.column_names
        books = _books(chosen) if chosen else _named_alike(self.name, [(headings, None)])
        if lacking := books.lacking({*map(heading_key, headings)}):
            text = (
                f"lacks {', '.join(lacking)}, which the layout {books.name} names; it has {', '.join(headings[:40])}."
            )
            raise refused(self.name, text, headings=tuple(headings))
        return cells_in(self.name, self.content, books)

    @staticmethod
    def _headers(path: Path) -> Iterator[_Header]:
        """Yields the first line of a file as each reading cuts it, and the delimiter of the reading."""
        for reading in cell_rows_of(path, [("utf-8", mark) for mark in ",;\t"]):
            for _, cells in islice(reading.lines(), 1):
                yield [text_of(cell) for cell in cells], reading.delimiter


def _taken(source: object, query: str | Path | None) -> _Taken:
    if is_address(source):
        if query is None:
            raise StatementRefused("A database needs a query.", hint="Pass query='ledger.sql', or the query itself.")
        name, sql = _sql(query)
        return _Taken(name, hashlib.sha256(sql.encode()).hexdigest(), fetched(source, sql, name))
    if query is not None:
        raise StatementRefused("A query needs a database.", hint="Pass its address: postgresql://… or sqlite:///….")
    if isinstance(source, str | Path):
        path = Path(source)
        digest = digest_of(path)
        is_parquet = path.suffix.lower() == PARQUET
        return _Taken(path.name, digest, _arrow(path.name, lambda: pq.read_table(path)) if is_parquet else path)
    name = f"{type(source).__module__.split('.')[0].lstrip('_')} {type(source).__name__}"
    if isinstance(source, pa.Table):
        return _Taken(name, None, source)
    if isinstance(source, pd.DataFrame):
        return _Taken(name, None, _arrow(name, lambda: pa.Table.from_pandas(source, preserve_index=False)))
    frame: Any = source
    try:
        lazy = nw.from_native(frame).lazy()
    except TypeError:
        hint = "Pass a file's path, a DataFrame, an Arrow table, or a database's address with a query."
        raise StatementRefused(f"Give a ledger; {type(source).__name__} is not one.", hint=hint) from None
    return _Taken(name, None, _arrow(name, lambda: lazy.collect(backend="pyarrow").to_native()))


def _sql(query: str | Path) -> tuple[str, str]:
    """The name and the text of a query."""
    if isinstance(query, str) and not query.lower().endswith(".sql"):
        return "query", query
    path = Path(query)
    try:
        return path.name, path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not text in UTF-8"
        raise refused(path.name, f"cannot be read: {why}.") from None


def _arrow(name: str, made: Callable[[], pa.Table]) -> pa.Table:
    try:
        return made()
    except (pa.ArrowException, OSError, ValueError, TypeError) as error:
        raise refused(name, f"cannot be read as a table: {error}.") from None


def _named_alike(name: str, headers: Iterable[_Header]) -> Layout:
    """The layout of a table with the column names of `ledger_columns()`, by the first of `headers` that has enough.

    Raises StatementRefused: every header lacks a key, a moment or an amount.
    """
    shown_headings: Sequence[str] = ()
    for header, mark in headers:
        headings = {*map(heading_key, header)}
        columns = {field: column for field, column in _ALIKE.items() if column in headings}
        for called in ("amount", "fee", "balance", "amount_minor", "fee_minor", "balance_minor"):
            columns |= {called.removesuffix("_minor"): called} if called in headings else {}
        if "moment" not in columns and "day" in columns:
            columns["moment"] = columns.pop("day")
        if {"key", "moment", "amount"} <= columns.keys():
            words = dict(zip(DIRECTIONS, DIRECTIONS, strict=True))
            return Layout(name="ledger", columns=columns, dates=_DATES, directions=words, delimiter=mark or ",")
        shown_headings = header if len(header) > len(shown_headings) else shown_headings
    headings = {*map(heading_key, shown_headings)}
    is_statement = any(not layout.lacking(headings) for layout in LAYOUTS.values())
    raise refused(
        name,
        "does not have the columns of a ledger, of which account, key, occurred_at and amount are needed; it has "
        f"{', '.join(heading[:40] for heading in shown_headings[:40]) or 'none'}.",
        hint="These are the columns of a statement: give the ledger first, then the statements."
        if is_statement
        else "Name its columns so, or declare them: layout='mine.toml'. ledger_columns() shows them all.",
        headings=tuple(shown_headings),
    )


def _books(layout: Layout) -> Layout:
    """The layout with debit and credit exchanged: in books a debit is what comes in."""
    return replace(layout, columns={SWAPPED.get(name, name): heading for name, heading in layout.columns.items()})


_FOLLOWED: Final = ("line", "account", "direction", "amount_minor", "fee_minor", "status", "balance_minor")
"""The columns by which a running balance is followed; the others would take time and memory to be put in order."""


def _read(
    taken: _Taken, found: Found, formats: Sequence[str], account: str | None, currency: str | None, key: PhoneKey
) -> Ledger:
    """The ledger with all its rows. Raises StatementRefused: a row cannot be read."""
    name, layout = taken.name, found.layout
    passed = passed_currency(currency)
    said, _ = declared_in(name, layout, found.above, passed)
    if "account" not in found.places:
        account = agreed(name, "account", account, said.account, layout.account)
    elif account:
        raise refused(name, f"names the account of each row, but {account!r} was passed too.")
    whole_currency = agreed(name, "currency", passed, said.currency, layout.currency)
    same, by_day = {"statement": name, "account": account or ""}, tuple(formats) == _DATES
    offset = timedelta(hours=layout.utc_offset_hours) if by_day else None
    read = read_rows(found, formats, whole_currency, key, same, offset)
    rows, local, is_opening = read.table, read.local, read.is_opening
    cells = {field: read.body.columns[place] for field, place in found.places.items() if field in LEDGER_FIELDS}
    readers = _readers_of(layout)
    accounts = cells["account"].read(*readers["account"])[0] if "account" in cells else rows["account"]
    pairs, codes = distinct_rows((Column.of(accounts), Column.of(rows["currency"])))
    codes = _of_one_currency(pairs, codes, is_opening) if is_opening.any() else codes
    by_account = with_column(rows.select(_FOLLOWED), "account", pa.array(codes)).take(np.argsort(codes, kind="stable"))
    is_turned, _ = newest_first(local, partial(follow, by_account, said))
    del by_account
    places = np.arange(local.size)[:: -1 if is_turned else 1]
    openings: dict[int, int] = {}
    if is_opening.any():
        stated, openings = _stated(rows, is_opening, codes, places)
        rows = with_column(rows, "balance_minor", pc.coalesce(rows["balance_minor"], stated))
        rows, local, places = rows.filter(pa.array(~is_opening)), local[~is_opening], places[~is_opening]
        codes = codes[~is_opening]
    made: dict[str, pa.Array] = {}
    problems: list[tuple[int, str]] = []
    for field, column in cells.items():
        made[field], bad = column.only(~is_opening).read(*readers.get(field, (key_of, pa.string(), quick_keys)))
        problems += [(rows["line"][row].as_py(), f"{layout.columns.get(field, field)} {why}") for row, why in bad]
    _refuse_unreadable(taken, rows, problems)
    if said.opening_minor is not None:
        named = {of for of, _ in pairs}
        if len(named) > 1:
            text = f"has an opening balance above its header, and the rows of {len(named):,} accounts below."
            raise refused(name, text, hint="Remove opening from the layout: it does not say whose balance this is.")
        is_only = len(pairs) == 1 and not (passed or said.currency)
        openings = {
            code: said.opening_minor
            for code, (_, of) in enumerate(pairs)
            if of == whole_currency or (is_only and decimals_of(text_of(of)) == decimals_of(whole_currency))
        }
    # The cells take as much memory as what was read of them.
    del read, cells
    if layout.makes_keys:
        rows = with_column(rows, "account", made.get("account", rows["account"]))
        rows = with_column(rows, "key", made_keys(rows, newest_first=is_turned))
    called: dict[str, str] = {}
    for word, account in layout.accounts.items():
        called[account] = f"{called[account]} / {word}" if account in called else word
    table = _ledger(rows, made, local, places, codes, [openings.get(code) for code in range(len(pairs))])
    return Ledger(name, taken.sha256, layout.name, table, called, layout.sha256)


def _of_one_currency(pairs: Sequence[tuple[Cell, ...]], codes: Whole, is_opening: Mask) -> Whole:
    """The codes of the rows; an opening row takes the code of its account's other rows if they have one currency.

    The currency must have as many decimals as that of the opening row, whose own cell of currency is often empty.
    `pairs` has the account and the currency of each code.
    """
    used = set(np.unique(codes[~is_opening]).tolist())
    counts = Counter(pairs[code][0] for code in used)
    alike = [(of, decimals_of(text_of(currency or ""))) for of, currency in pairs]
    only = {alike[code]: code for code in used if counts[pairs[code][0]] == 1}
    return np.array([code if code in used else only.get(alike[code], code) for code in range(len(pairs))])[codes]


def _stated(rows: pa.Table, is_opening: Mask, codes: Whole, places: Whole) -> tuple[pa.Array, dict[int, int]]:
    """The balance after each row that an opening row states, null elsewhere; and the opening balances by code.

    An opening row states the balance after the row of its code that comes before it, in the order of `places`; without
    one it states the opening balance.
    """
    by = np.lexsort((places, codes))
    before = np.maximum.accumulate(np.where(is_opening[by], -1, np.arange(len(by))))
    follows = (before >= 0) & (codes[by[before]] == codes[by])
    is_told = (is_opening & mask_of(rows["balance_minor"].is_valid()))[by]
    balances, stated = whole_of(rows, "balance_minor")[by], np.full(len(codes), ABSENT)
    stated[by[before[is_told & follows]]] = balances[is_told & follows]
    begins = is_told & ~follows
    openings = dict(zip(codes[by][begins].tolist(), balances[begins].tolist(), strict=True))
    return pa.array(stated, mask=stated == ABSENT), openings


_INTEGER: Final = re.compile(r"-?[0-9]{1,18}")


def _readers_of(layout: Layout) -> Mapping[str, tuple[Callable[[Cell], Any], pa.DataType, Quick | None]]:
    """Field that only a ledger has → the reader of its cells, the type, and the reader of plain cells at once."""
    accounts = {heading_key(word): account for word, account in layout.accounts.items()}
    days = [*map(DateFormat, layout.preamble_dates)]

    def account(cell: Cell) -> str | Wrong:
        text = key_of(cell) or Wrong("is missing")
        if isinstance(text, Wrong) or not accounts:
            return text
        return accounts.get(heading_key(text), Wrong(f"{shown(text)} is none of {', '.join(layout.accounts)}"))

    def day(cell: Cell) -> int | Wrong:
        if isinstance(cell, datetime):
            return milliseconds(cell.replace(tzinfo=UTC)) // DAY_MS
        read = {at // DAY_MS for by in days if (at := by.read(text_of(cell).strip())) is not None}
        why = "is written in two ways" if read else "is not a day written as"
        return read.pop() if len(read) == 1 else Wrong(f"{shown(cell)} {why} {' or '.join(layout.preamble_dates)}")

    return {
        "account": (account, pa.string(), None),
        "number": (_integer, pa.int64(), _quick_integers),
        "day": (day, pa.int32(), None),
    }


def _integer(cell: Cell) -> int | Wrong:
    text = text_of(cell).strip()
    if _INTEGER.fullmatch(text):
        return int(text)
    return Wrong(f"{shown(cell)} is not a whole number" if text else "is missing")


def _quick_integers(texts: pa.Array) -> tuple[pa.Array, Mask]:
    is_plain = matched(texts, f"^(?:{_INTEGER.pattern})$")
    return pc.if_else(pa.array(is_plain), texts, "0").cast(pa.int64()), is_plain


_MOST_REASONS: Final = 20
_HINTS: Final = {
    " is none of ": "Words of your own are declared in a layout: statuses = {Paid = 'completed'}, or in the query.",
    " has more decimals than ": "Round what was worked out, and check its sum: df['amount'].round(2) in pandas or "
    "Polars, CAST(round(amount, 2) AS NUMERIC(18, 2)) in SQL, with as many decimals as the currency has.",
}
"""Words of a reason → what to do."""


def _refuse_unreadable(taken: _Taken, rows: pa.Table, problems: Sequence[tuple[int, str]]) -> None:
    """Raises StatementRefused: rows have a problem. The message has each reason, its number of rows and the first."""
    bad = rows.select(["line", "problem"]).filter(rows["problem"].is_valid()).to_pydict()
    said = [(line, why) for line, whys in zip(*bad.values(), strict=True) for why in whys.split("; ")]
    said += problems
    if not said:
        return
    reasons = reasons_in(said)
    listed = [
        f"{why} ({count:,} row{'s' * (count > 1)}, {'the first is ' * (count > 1)}{taken.row} {first})"
        for why, (first, count) in islice(reasons.items(), _MOST_REASONS)
    ]
    listed += [f"and {len(reasons) - _MOST_REASONS:,} more reasons"] if len(reasons) > _MOST_REASONS else []
    many = len({line for line, _ in said})
    raise refused(
        taken.name,
        f"has {many:,} of {len(rows):,} rows that cannot be read: {'; '.join(listed)}.",
        hint=next((hint for words, hint in _HINTS.items() if any(words in why for why in reasons)), ""),
        rows=many,
        first=min(line for line, _ in said),
    )


_TEXTS: Final = ("account", "entry", "kind", "payment", "reverses", "state")
_IN_A_MILLISECOND: Final = 1_000_000
"""The numbers that are kept free for the rows of one millisecond."""


def _ledger(
    rows: pa.Table, made: Mapping[str, pa.Array], local: Whole, places: Whole, codes: Whole, openings: Sequence[Any]
) -> pa.Table:
    """The rows in the shape LEDGER, with defaults for missing columns. `places` number the rows from the oldest.

    Rows of one account and currency have one of the `codes`; `openings` has the opening balance of each code, or None.
    """
    columns: dict[str, Any] = dict.fromkeys(_TEXTS, pa.nulls(len(rows), pa.string()))
    columns |= {name: in_one_piece(rows[name]) for name in LEDGER if name in rows.column_names}
    columns |= {name: made[name] for name in _TEXTS if name in made}
    if "day" in made:
        columns["business_date"] = made["day"].cast(pa.date32())
    if "kind" not in made:
        columns["kind"] = pc.if_else(pc.equal(rows["type"], "payout"), "payout_paid", None)
    # In the order of the moments, then of the rows: a row has the same number in each file that has it.
    number = local * _IN_A_MILLISECOND + _nth(local, np.argsort(places))
    if "number" in made:
        number = made["number"].to_numpy()
    booked = np.lexsort((places, number))
    if "entry" not in made:
        nth = _nth(codes_of([Column.of(columns[name]) for name in ("account", "key")]), booked) + 1
        columns["entry"] = columns["key"]
        if (nth > 1).any():
            further = pc.binary_join_element_wise(
                columns["key"].cast(pa.string()), pa.array(nth).cast(pa.string()), "#"
            )
            columns["entry"] = pc.if_else(pa.array(nth == 1), columns["key"], further)
    columns["number"] = pa.array(number)
    columns["balance_minor"] = _balances(rows, codes, booked, openings)
    return compact(columns, LEDGER)


def _nth(codes: Whole, order: Whole) -> Whole:
    """The place of each row among those of its code, from 0, in this order."""
    by = order[np.argsort(codes[order], kind="stable")]
    begins = np.flatnonzero(np.diff(codes[by], prepend=ABSENT))
    nth = np.empty_like(by)
    nth[by] = np.arange(len(by)) - np.repeat(begins, np.diff(begins, append=len(by)))
    return nth


def _balances(rows: pa.Table, codes: Whole, order: Whole, openings: Sequence[Any]) -> pa.Array:
    """The balance after each row; `codes` tells the accounts and currencies apart, `order` is the order of booking.

    A balance follows from the last known one of its code, else from the next one, else from the code's opening balance
    in `openings`; without any of them it is null.
    """
    told: pd.Series = rows["balance_minor"].to_pandas(types_mapper={pa.int64(): pd.Int64Dtype()}.get).iloc[order]
    by = pd.Series(codes).iloc[order]
    moved = pd.Series(effects_of(rows)[0]).iloc[order].groupby(by).cumsum()
    known = (told - moved).groupby(by)
    opening = pd.Series(openings, dtype="Int64").reindex(by).set_axis(by.index)
    begins = known.ffill().fillna(known.bfill()).fillna(opening)
    return pa.array(told.fillna(moved + begins).sort_index(), pa.int64())
