"""Reads the user's own ledger, from a file, a table or a database query, into the columns LEDGER."""

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from datetime import date, timedelta
from functools import cached_property, partial
from importlib import import_module
from itertools import islice
from pathlib import Path
from types import ModuleType
from typing import Any, Final, TypeGuard
from urllib.parse import parse_qsl, urlsplit

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from workbench.analysis.files import PARQUET
from workbench.analysis.frames import compact, in_one_piece, releasing, typed, with_column
from workbench.analysis.phone_key import key_from
from workbench.analysis.shapes import DIRECTIONS, LEDGER_MOVEMENT, Columns
from workbench.analysis.statements.cells import (
    Body,
    Cell,
    CellColumn,
    CellRows,
    Mask,
    Whole,
    codes_of,
    distinct_rows,
    file_refusal,
    mask_of,
    number_in,
    text_of,
)
from workbench.analysis.statements.csv_files import cell_rows_of, digest_of
from workbench.analysis.statements.dates import ABSENT, DateFormat
from workbench.analysis.statements.fields import ISO_DATES, read_rows
from workbench.analysis.statements.layouts import (
    AMOUNTS,
    KINDS,
    LAYOUTS,
    LEDGER_FIELDS,
    SWAPPED,
    Layout,
    heading_key,
    tried_layouts,
)
from workbench.analysis.statements.preamble import declared
from workbench.analysis.statements.recognising import RecognisedFile, recognised
from workbench.analysis.statements.statement import (
    effects_of,
    follow,
    made_keys,
    newest_first,
    reasons_in,
    refuse_other_than_text,
    remarks_on,
    whole_of,
)
from workbench.domain.masking import mask
from workbench.domain.moments import DAY_MS
from workbench.domain.money import decimals_of
from workbench.errors import StatementRefused
from workbench.extras import how_to_install
from workbench.text.render import DisplayTable, Tabular, pairs, table
from workbench.visible import pasted

LEDGER: Columns = {**LEDGER_MOVEMENT, "balance_minor": "Int64", "phone_hash": "string", "description": "string"}
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
    ("description", "text", "none", "Order 81, Banda", "shown as the narrative of a break that only the ledger has"),
)  # fmt: skip
"""The columns of a ledger without a layout: (name, content, assumption if it is missing, example, meaning)."""
_ALIKE: Final = {
    **{name: name for name in ("account", "key", "batch", "direction", "currency", "status", "phone", "description")},
    **{name: name for name in LEDGER_FIELDS}, "moment": "occurred_at", "day": "business_date",
}  # fmt: skip
"""Field → its column in a ledger without a layout; amounts are in `amount_minor`, or in major units in `amount`."""


def ledger_columns() -> DisplayTable:
    """A table of a ledger's columns: the content of each, what is assumed if it is missing, and an example."""
    return table("The columns of a ledger", ("column", "holds", "without it", "example", "meaning"), _COLUMNS)


@dataclass(frozen=True, repr=False, eq=False)
class OwnLedger(Tabular):
    """A ledger that was read from a file, a query or a table."""

    name: str
    """The name of the file or query, without its folder, or the class of the table."""
    sha256: str | None
    """The SHA-256 of the file; None for a query or a table."""
    layout: str
    table: pa.Table
    """`rows` as an Arrow table, in which columns with few distinct texts are dictionaries."""
    account_names: Mapping[str, str]
    """Account → the file's word for it, if the layout has `accounts`."""
    layout_sha256: str | None = None
    query_sha256: str | None = None
    """The SHA-256 of the query's text; None for a file or a table."""
    zeros: tuple[int, ...] = ()
    """The lines, or rows of a table, that move nothing because their amounts are zero; they were left out."""
    cut_numbers: int = 0
    """The number of rows whose customer's number shows too few digits to be compared."""
    unit: str = "line"
    """What messages call a row: `line` of a file, or `row` of a table."""

    @cached_property
    def rows(self) -> pd.DataFrame:
        """The ledger's rows in order, with the columns LEDGER."""
        return typed([self.table], LEDGER)

    @property
    def accounts(self) -> tuple[str, ...]:
        """The accounts that have rows."""
        return tuple(sorted(self.table["account"].unique().to_pylist()))

    @property
    def remarks(self) -> list[str]:
        """Sentences on rows that were left out, and on customers' numbers that cannot be compared."""
        return remarks_on(self.zeros, self.cut_numbers, self.unit)

    def _table(self) -> DisplayTable:
        rows, days = len(self.table), pc.min_max(self.table["business_date"]).as_py()
        facts = {"layout": self.layout, "accounts": ", ".join(self.accounts) or "none", "rows": f"{rows:,}"}
        facts["period"] = f"{days['min']} to {days['max']}" if rows else "no rows"
        return pairs(self.name, {**facts, "sha256": self.sha256 or "of no file"})


@releasing()
def read_ledger(  # noqa: PLR0913  what is read, and what it does not say itself
    source: object,
    *,
    query: str | Path | None = None,
    layout: str | Path | Layout | None = None,
    account: str | None = None,
    date_format: str | None = None,
    currency: str | None = None,
    phone_key: str | Path | bytes | None = None,
) -> OwnLedger:
    """Read a ledger of your own, for `reconcile`.

    `source` is the path of a `.csv`, `.xlsx` or `.parquet` file, a DataFrame of pandas or Polars, an Arrow table, or
    the address of a database with `query`, the path of a `.sql` file or the query itself. A source with the column
    names of `ledger_columns()` needs no `layout`; the smallest has four:

        account,key,occurred_at,amount
        operator:mtn:float,7712345678,2026-10-30 08:15:00,150.00
        operator:mtn:float,7712345680,2026-10-31 17:40:00,-60.00

    A `layout` is written like that of a statement, and may have the further fields of a ledger; its `debit` is incoming
    money, as in books. Amounts are in major units (150.00), or in whole minor units (15000) in columns called
    `…_minor`; the layout's `units` replaces this rule. A float counts as its shortest decimal, as printed, and is
    refused if that has more decimals than its currency. Times without a zone are in Lusaka time, or in the layout's
    `utc_offset_hours`. If all moments of a table are midnights, they are read as days. `account`, `date_format`,
    `currency` and `phone_key` are as for `read_statement`.

    An address is `postgresql://user@host/database`, its password in PGPASSWORD, or `sqlite:///path`. The query runs in
    a read-only transaction of its own.

    Raises StatementRefused: the ledger cannot be read without guessing. One row that cannot be read is enough; the
    message has each reason with the number of its rows and the first of them.
    """
    refuse_other_than_text(account=account, date_format=date_format, currency=currency)
    name, digest, content = _content(source, query)
    file_sha256, query_sha256 = (digest, None) if query is None else (None, digest)
    key, is_file = key_from(phone_key), isinstance(content, Path)
    unit = "line" if is_file else "row"
    chosen = None if layout is None else tried_layouts(layout)[0]
    file, dates = _recognised_file(content, chosen) if is_file else _recognised_table(name, content, chosen)
    formats = [date_format] if date_format else dates
    by_row = "account" in file.places
    preamble, _, account, whole_currency = declared(file, account, currency, by_row=by_row)
    read = read_rows(file, formats, whole_currency, key, account, is_ledger=True)
    rows, local, is_opening = read.table, read.local, read.is_opening
    groups, codes = distinct_rows([CellColumn.from_arrow(rows[name]) for name in ("account", "currency")])
    codes = _corrected_codes(groups, codes, is_opening) if is_opening.any() else codes
    by_account = with_column(rows.select(_FOLLOWED), "account", pa.array(codes)).take(np.argsort(codes, kind="stable"))
    is_turned, _ = newest_first(local, partial(follow, by_account, preamble))
    del by_account
    places = np.arange(local.size)[:: -1 if is_turned else 1]
    openings: dict[int, int] = {}
    if is_opening.any():
        stated, openings = _stated_balances(rows, is_opening, codes, places)
        rows = with_column(rows, "balance_minor", pc.coalesce(rows["balance_minor"], stated))
        rows = rows.filter(pa.array(~is_opening))
        local, places, codes = (values[~is_opening] for values in (local, places, codes))
    if read.problems:
        raise _unreadable(file, unit, len(rows), read.problems)
    if preamble.opening_minor is not None:
        named = currency or preamble.currency
        openings = _declared_opening(file, groups, preamble.opening_minor, whole_currency, named)
    if file.layout.makes_keys:
        rows = with_column(rows, "key", made_keys(rows, newest_first=is_turned))
    words = file.layout.accounts
    called = {name: " / ".join(word for word, other in words.items() if other == name) for name in words.values()}
    table = _ledger(rows, local, places, codes, [openings.get(code) for code in range(len(groups))])
    hashes = file.layout.sha256, query_sha256
    return OwnLedger(name, file_sha256, file.layout.name, table, called, *hashes, read.zeros, read.cut_numbers, unit)


def _content(source: object, query: str | Path | None) -> tuple[str, str | None, Path | pa.Table]:
    """The name of a source, the SHA-256 of its file or query (None for a table in memory), and the file or table."""
    if is_address(source):
        if query is None:
            raise StatementRefused("A database needs a query.", hint="Pass query='ledger.sql', or the query itself.")
        name, sql = _sql(query)
        return name, hashlib.sha256(sql.encode()).hexdigest(), fetched(source, sql, name)
    if query is not None:
        raise StatementRefused("A query needs a database.", hint="Pass its address: postgresql://… or sqlite:///….")
    if isinstance(source, str | Path):
        path = Path(source)
        digest = digest_of(path)
        if path.suffix.lower() != PARQUET:
            return path.name, digest, path
        with _as_table(path.name):
            table = pq.read_table(path)
            # Reading checks no text: bytes that are not UTF-8 would be found when a text is taken out.
            table.validate(full=True)
            return path.name, digest, table
    name = f"{type(source).__module__.split('.')[0].lstrip('_')} {type(source).__name__}"
    if isinstance(source, pa.Table):
        return name, None, source
    frame: Any = source
    with _as_table(name):
        if isinstance(source, pd.DataFrame):
            return name, None, pa.Table.from_pandas(source, preserve_index=False)
        try:
            lazy = nw.from_native(frame).lazy()
        except TypeError:
            hint = "Pass a file's path, a DataFrame, an Arrow table, or a database's address with a query."
            raise StatementRefused(f"Give a ledger; {type(source).__name__} is not one.", hint=hint) from None
        return name, None, lazy.collect(backend="pyarrow").to_native()


def _sql(query: str | Path) -> tuple[str, str]:
    """The name and the text of a query."""
    if isinstance(query, str) and not query.lower().endswith(".sql"):
        return "query", query
    if not isinstance(query, str | Path):
        raise StatementRefused(f"Give query as text or as the path of a .sql file, not {query!r}.")
    path = Path(query)
    try:
        return path.name, path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not text in UTF-8"
        raise file_refusal(path.name, f"cannot be read: {why}.") from None


@contextmanager
def _as_table(name: str) -> Iterator[None]:
    """In the block, turns a failure to make an Arrow table of the source `name` into StatementRefused."""
    try:
        yield
    except (pa.ArrowException, OSError, ValueError, TypeError) as error:
        raise file_refusal(name, f"cannot be read as a table: {error}.") from None


def _recognised_file(path: Path, layout: Layout | None) -> tuple[RecognisedFile, Sequence[str]]:
    """A file with its header and layout recognised, and the formats of its moments.

    Without a `layout`, the file has the column names of `ledger_columns()`.
    """
    heads = ((way, islice(way.lines(), 1)) for way in cell_rows_of(path, [("utf-8", mark) for mark in ",;\t"]))
    headers = (([text_of(cell) for cell in cells], way.delimiter) for way, head in heads for _, cells in head)
    books = _books(layout) if layout else named_alike(path.name, headers)
    try:
        file = recognised(path, [books], named=True)
    except StatementRefused as wrong:
        if layout and "layouts" in wrong.facts:
            wrong.hint = "The layout of a ledger names the ledger's own headings; one with account, key, "
            wrong.hint += "occurred_at and amount needs none."
            wrong.say(wrong.message)
        raise
    return file, file.layout.dates


def _recognised_table(name: str, table: pa.Table, layout: Layout | None) -> tuple[RecognisedFile, Sequence[str]]:
    """A table as if it were a sheet with its header and layout recognised, and the formats of its moments.

    Without a `layout`, the table has the column names of `ledger_columns()`. Raises StatementRefused: a column is
    missing, two columns have one heading, or a column cannot be read.
    """
    headings = table.column_names
    books = _books(layout) if layout else named_alike(name, [(headings, None)])
    if lacking := books.lacking({*map(heading_key, headings)}):
        text = f"lacks {', '.join(lacking)}, which the layout {books.name} names; it has {', '.join(headings[:40])}."
        raise file_refusal(name, text, headings=tuple(headings))
    fields = {key: field for field, key in books.keys.items()}
    used = [(column, fields[key]) for column in table.schema if (key := heading_key(column.name)) in fields]
    header: list[Cell] = [column.name for column, _ in used]
    if len({field for _, field in used}) < len(used):
        raise file_refusal(name, f"has a column twice: {', '.join(map(text_of, header))}.", headings=tuple(headings))
    columns = [_column(name, column, table.column(column.name), field, books) for column, field in used]
    body, place = Body(np.arange(1, len(table) + 1), columns, {}), [field for _, field in used].index("moment")
    formats: Sequence[str] = books.dates
    # A column of times beside the days is read by the layout's formats.
    if columns[place].kind == "moment" and "time" not in fields.values():
        is_day = pa.types.is_date(used[place][0].type) or _are_days(columns[place], books)
        formats = ISO_DATES[1:] if is_day else ISO_DATES[:1]
    rows = CellRows(name, "table", None, lambda: iter(()), None, name, lambda *_: body)
    return RecognisedFile(rows, books, header, 0, ()), formats


def named_alike(name: str, headers: Iterable[tuple[Sequence[str], str | None]], *, makes_keys: bool = False) -> Layout:
    """A layout made for the first header in `headers` that has the needed column names of `ledger_columns()`.

    `headers` has pairs of the headings and the delimiter between them, None for a table. `makes_keys` is the layout's.
    Raises StatementRefused: every header lacks a moment, an amount or, without `makes_keys`, a key, or a header has an
    amount in both units; `name` is the source in the message.
    """
    needed = {"moment", "amount"} if makes_keys else {"key", "moment", "amount"}
    shown_headings: Sequence[str] = ()
    for header, mark in headers:
        headings = {*map(heading_key, header)}
        columns = {field: column for field, column in _ALIKE.items() if column in headings}
        for field in ("amount", "fee", "balance"):
            called = [heading for heading in (field, f"{field}_minor") if heading in headings]
            if len(called) > 1:
                hint = "Leave one of them out: the two may differ."
                raise file_refusal(name, f"has both {' and '.join(called)}.", hint=hint, headings=tuple(header))
            columns |= {field: called[0]} if called else {}
        if "moment" not in columns and "day" in columns:
            columns["moment"] = columns.pop("day")
        if needed <= columns.keys():
            words = dict(zip(DIRECTIONS, DIRECTIONS, strict=True))
            return Layout("ledger", columns, ISO_DATES, directions=words, delimiter=mark or ",", makes_keys=makes_keys)
        shown_headings = header if len(header) > len(shown_headings) else shown_headings
    headings = {*map(heading_key, shown_headings)}
    is_statement = any(not layout.lacking(headings) for layout in LAYOUTS.values())
    file = pasted(Path(name)) if Path(name).suffix[1:].lower() in KINDS else "FILE"
    raise file_refusal(
        name,
        "does not have the columns of a ledger, of which account, key, occurred_at and amount are needed; it has "
        f"{', '.join(heading[:40] for heading in shown_headings[:40]) or 'none'}.",
        hint="These are the columns of a statement: give the ledger first, then the statements."
        if is_statement
        else f"Name its columns so, or draft a layout: workbench layout --ledger {file} --out mine.toml; then "
        "layout='mine.toml'. ledger_columns() shows them all.",
        headings=tuple(shown_headings),
    )


def _books(layout: Layout) -> Layout:
    """The layout with debit and credit exchanged, since incoming money is a debit in the books."""
    return replace(layout, columns={SWAPPED.get(name, name): heading for name, heading in layout.columns.items()})


_AS_NUMERIC: Final = (
    "in PostgreSQL CAST({0} AS NUMERIC), in SQLite CAST(round({0} * 100) AS INTEGER) AS {0}_minor, in pandas text from "
    "the beginning (dtype=str) or df['{0}'].astype(str)"
)


def _column(name: str, field: pa.Field, values: pa.ChunkedArray, holds: str, layout: Layout) -> CellColumn:
    """Converts an Arrow column into cells like those of a sheet: texts, exact numbers or local moments.

    `holds` is the column's field in the layout, such as `amount`. Raises StatementRefused: a float that is no amount,
    integers that may be in major or minor units, or an unknown type.
    """
    if values.null_count == len(values):
        return CellColumn.from_arrow(pa.nulls(len(values), pa.string()))
    types, is_numeric, kind = pa.types, False, field.type
    if isinstance(kind, pa.BaseExtensionType) and types.is_string(kind.storage_type):
        # PostgreSQL's NUMERIC comes as its exact text.
        is_numeric = getattr(kind, "type_name", "") == "numeric"
        values, kind = values.cast(kind.storage_type), kind.storage_type
    if types.is_dictionary(kind):
        values, kind = values.cast(kind.value_type), kind.value_type
    if unfit := _unfit(field, kind, layout, is_money=holds in AMOUNTS):
        raise file_refusal(name, unfit[0], hint=unfit[1], column=field.name)
    if types.is_timestamp(kind) or types.is_date(kind):
        return CellColumn.from_arrow(_moments(name, values, timedelta(hours=layout.utc_offset_hours)))
    if types.is_time(kind) or isinstance(kind, pa.UuidType):
        return CellColumn.from_arrow(_texts(values, str))
    if types.is_floating(kind):
        values = pc.if_else(pc.is_nan(values), None, values)
    # Arrow writes floats of 16 bits with the digits of a wider float.
    is_half = kind == pa.float16()
    texts = _texts(values, lambda value: str(np.float16(value))) if is_half else values.cast(pa.string())
    if holds in AMOUNTS:
        return CellColumn.from_arrow(texts, is_number=is_numeric or types.is_decimal(kind) or types.is_floating(kind))
    if is_numeric or types.is_decimal(kind):
        texts = _texts(texts, lambda value: text_of(number_in(value)))
    return CellColumn.from_arrow(texts)


def _texts(values: pa.ChunkedArray, write: Callable[[Any], str]) -> pa.Array:
    return pa.array([None if value is None else write(value) for value in values.to_pylist()], pa.string())


def _moments(name: str, column: pa.ChunkedArray, offset: timedelta) -> pa.ChunkedArray:
    """The days or moments of a column as local moments; those with a zone are moved by `offset`.

    Raises StatementRefused: a day or a moment is outside of the years 1 to 9999.
    """
    if pa.types.is_date(column.type):
        local = column.cast(pa.date32())
    else:
        utc = column.cast(pa.timestamp("us", column.type.tz), safe=False).cast(pa.timestamp("us"))
        local = pc.add(utc, pa.scalar(offset, pa.duration("us"))) if column.type.tz else utc
    days, (first, last) = local.cast(pa.date32()), (pa.scalar(day, pa.date32()) for day in (date.min, date.max))
    place = pc.index(pc.or_(pc.less(days, first), pc.greater(days, last)), value=True).as_py()
    if place >= 0:
        text = f"has a date that does not exist, from row {place + 1} on."
        raise file_refusal(name, text, hint="PostgreSQL's infinity, or a year beyond 9999? Leave it out.")
    return local.cast(pa.timestamp("us"))


def _are_days(column: CellColumn, layout: Layout) -> bool:
    """True if a column of moments holds only dates: all are midnight, and the layout has a format without a time."""
    moments, formats = column.different, map(DateFormat, layout.dates)
    is_midnight = pc.equal(moments, pc.floor_temporal(moments, unit="day"))
    return pc.all(is_midnight).as_py() and not all(by.has_time for by in formats)


def _unfit(field: pa.Field, kind: pa.DataType, layout: Layout, *, is_money: bool) -> tuple[str, str] | None:
    """The reason why a column cannot be read, and a hint at the remedy; None if it can be read.

    `is_money` is true for a column of amounts.
    """
    called, types = field.name, pa.types
    numeric = _AS_NUMERIC.format(called)
    if types.is_floating(kind) and not is_money:
        hint = (
            f"Give it as text, df['{called}'].astype('Int64').astype(str) in pandas: a float does not keep every digit."
        )
        return f"has floats in {called}, and no float holds a key.", hint
    if is_money and (field.metadata or {}).get(b"POSTGRESQL:type") == b"money":
        return f"has the type money in {called}, whose unit the server sets.", f"Write CAST({called} AS NUMERIC)."
    if is_money and types.is_integer(kind) and not layout.units and not layout.is_minor:
        hint = f"If they are ngwee, name it {called}_minor; if kwacha, write {numeric}."
        return f"has whole numbers in {called}, which may be kwacha or ngwee.", hint
    tests = (types.is_string, types.is_large_string, types.is_string_view, types.is_integer, types.is_boolean,
             types.is_decimal, types.is_timestamp, types.is_date, types.is_time, types.is_floating)  # fmt: skip
    if not isinstance(kind, pa.UuidType) and not any(test(kind) for test in tests):
        return f"has the type {kind} in {called}; only text, numbers and moments can be read.", ""
    return None


_FOLLOWED: Final = ("line", "account", "currency", "direction", "amount_minor", "fee_minor", "status", "balance_minor")
"""The columns that are needed to check a running balance; sorting more would take time and memory."""


def _corrected_codes(pairs: Sequence[tuple[Cell, ...]], codes: Whole, is_opening: Mask) -> Whole:
    """Returns the `codes` of the rows, with those of opening rows corrected; a code is an index in `pairs`.

    `pairs` has (account, currency). An opening row often does not name its currency. It then gets the code of its
    account's other rows, if they all have the same currency, and this currency has as many decimals as the one assumed
    for the opening row.
    """
    used = set(np.unique(codes[~is_opening]).tolist())
    counts = Counter(pairs[code][0] for code in used)
    alike = [(account, decimals_of(text_of(currency or ""))) for account, currency in pairs]
    only = {alike[code]: code for code in used if counts[pairs[code][0]] == 1}
    return np.array([code if code in used else only.get(alike[code], code) for code in range(len(pairs))])[codes]


def _stated_balances(rows: pa.Table, is_opening: Mask, codes: Whole, places: Whole) -> tuple[pa.Array, dict[int, int]]:
    """Assigns the balance in each opening row to the movement before it or, if there is none, to the account.

    Returns the balance of each row, null where no opening row states it, and code → opening balance. `codes` has a code
    for each row, equal for rows of one account and currency; `places` numbers the rows from the oldest.
    """
    by = np.lexsort((places, codes))
    before = np.maximum.accumulate(np.where(is_opening[by], -1, np.arange(len(by))))
    follows = (before >= 0) & (codes[by[before]] == codes[by])
    is_stated = (is_opening & mask_of(rows["balance_minor"].is_valid()))[by]
    balances, stated = whole_of(rows, "balance_minor")[by], np.full(len(codes), ABSENT)
    stated[by[before[is_stated & follows]]] = balances[is_stated & follows]
    begins = is_stated & ~follows
    openings = dict(zip(codes[by][begins].tolist(), balances[begins].tolist(), strict=True))
    return pa.array(stated, mask=stated == ABSENT), openings


def _declared_opening(
    file: RecognisedFile, groups: Sequence[tuple[Cell, ...]], minor: int, currency: str, named: str | None
) -> dict[int, int]:
    """Index in `groups` → `minor`, the opening balance above the header, for the groups to which it belongs.

    `groups` has (account, currency). The balance belongs to the group in `currency`. `named` is the currency that the
    caller or the file names; if it is None, `currency` is only the layout's, and a single group in another currency
    with as many decimals gets the balance. Raises StatementRefused: there are rows of several accounts.
    """
    if len(accounts := {account for account, _ in groups}) > 1:
        text = f"has an opening balance above its header, and the rows of {len(accounts):,} accounts below."
        hint = "Remove opening from the layout: it does not say whose balance this is."
        raise file_refusal(file.cell_rows.name, text, hint=hint)
    is_only, decimals = len(groups) == 1 and not named, decimals_of(currency)
    return {
        code: minor
        for code, (_, other) in enumerate(groups)
        if other == currency or (is_only and decimals_of(text_of(other)) == decimals)
    }


_MOST_REASONS: Final = 20
_HINTS: Final = {
    "account '": "Name each account under [accounts] in the layout. For a line that is no account, such as a beginning "
    "balance, give the words with which it begins: openings = ['Beginning Balance'].",
    " is none of ": "Words of your own are declared in a layout: statuses = {Paid = 'completed'}, or in the query.",
    " has more decimals than ": "Round what was worked out, and check its sum: df['amount'].round(2) in pandas or "
    "Polars, CAST(round(amount, 2) AS NUMERIC(18, 2)) in SQL, with as many decimals as the currency has.",
}
"""Words in a reason → a hint at the remedy."""
_WITHOUT_KEYS: Final = "A layout with makes_keys = true makes the key of such a row from its other cells."


def _unreadable(file: RecognisedFile, called: str, count: int, problems: Sequence[tuple[int, str]]) -> StatementRefused:
    """The exception for rows with a problem; its message has each reason, the number of its rows and the first of them.

    `problems` has pairs of a number and a reason; `called` says what is numbered, `line` or `row`. `count` is the
    number of all rows.
    """
    reasons, layout = reasons_in(problems), file.layout
    listed = [
        f"{why} ({count:,} row{'s' * (count > 1)}, {'the first is ' * (count > 1)}{called} {first})"
        for why, (first, count) in islice(reasons.items(), _MOST_REASONS)
    ]
    listed += [f"and {len(reasons) - _MOST_REASONS:,} more reasons"] if len(reasons) > _MOST_REASONS else []
    many = len({line for line, _ in problems})
    hints = [text for words, text in _HINTS.items() if any(words in why for why in reasons)]
    hints += [_WITHOUT_KEYS] if f"{layout.columns.get('key', 'key')} is missing" in reasons else []
    return file_refusal(
        file.cell_rows.name,
        f"has {many:,} of {count:,} rows that cannot be read: {'; '.join(listed)}.",
        hint=next(iter(hints), ""),
        rows=many,
        first=min(line for line, _ in problems),
    )


_IN_A_MILLISECOND: Final = 1_000_000
"""The most rows of a millisecond: a row's number is its milliseconds times this, plus its rank in the millisecond."""


def _ledger(rows: pa.Table, local: Whole, places: Whole, codes: Whole, openings: Sequence[Any]) -> pa.Table:
    """The rows with the columns LEDGER, with defaults for missing columns. `places` numbers the rows from the oldest.

    `codes` has a code for each row, equal for rows of one account and currency; `openings` has the opening balance of
    each code, None if it is unknown.
    """
    present, nothing = set(rows.column_names), pa.nulls(len(rows), pa.string())
    columns: dict[str, Any] = {name: in_one_piece(rows[name]) if name in present else nothing for name in LEDGER}
    if "kind" not in present:
        columns["kind"] = pc.if_else(pc.equal(rows["type"], "payout"), "payout_paid", None)
    # In the order of the moments, then of the rows: a row has the same number in each file that has it.
    booked_at = _moments_of_booking(local, mask_of(columns["occurred_at"].is_null()), places, codes)
    number = booked_at * _IN_A_MILLISECOND + _nth(booked_at, np.argsort(places))
    if "number" in present:
        number = rows["number"].to_numpy()
    booked = np.lexsort((places, number))
    if "entry" not in present:
        nth = _nth(codes_of([CellColumn.from_arrow(columns[name]) for name in ("account", "key")]), booked) + 1
        columns["entry"] = columns["key"]
        if (nth > 1).any():
            texts = columns["key"].cast(pa.string()), pa.array(nth).cast(pa.string())
            numbered = pc.binary_join_element_wise(*texts, "#")
            columns["entry"] = pc.if_else(pa.array(nth == 1), columns["key"], numbered)
    columns |= {"number": pa.array(number), "balance_minor": _balances(rows, codes, booked, openings)}
    return compact(columns, LEDGER)


def _moments_of_booking(local: Whole, are_days: Mask, places: Whole, codes: Whole) -> Whole:
    """The moments `local`, in milliseconds; a row with a day alone gets the latest one before it on its day.

    `are_days` marks the rows with a day alone; before other rows of its day, such a row stays at midnight. `places`
    numbers the rows from the oldest, and `codes` has a code for each row, equal for rows of one account and currency.
    """
    if not are_days.any() or are_days.all():
        return local
    order = np.argsort(places)
    latest = pd.Series(local[order]).groupby([codes[order], local[order] // DAY_MS]).cummax()
    booked_at = local.copy()
    booked_at[order] = np.where(are_days[order], latest, local[order])
    return booked_at


def _nth(codes: Whole, order: Whole) -> Whole:
    """The rank of each row, from 0, among the rows with the same code, in the sequence `order` (indices of rows)."""
    nth = np.zeros_like(order)
    several = order[pd.Series(codes).duplicated(keep=False).to_numpy()[order]]
    nth[several] = pd.Series(codes[several]).groupby(codes[several], sort=False).cumcount()
    return nth


def _balances(rows: pa.Table, codes: Whole, order: Whole, openings: Sequence[Any]) -> pa.Array:
    """The balance after each row, null if it is unknown.

    A missing balance is computed from the last known balance of the same account and currency, else from the next one,
    else from the opening balance. `codes` has a code for each row, equal for rows of one account and currency;
    `openings` has the opening balance of each code, None if it is unknown. `order` has the rows' indices in the order
    of booking.
    """
    if rows["balance_minor"].null_count == len(rows) and not any(opening is not None for opening in openings):
        return pa.nulls(len(rows), pa.int64())
    stated: pd.Series = rows["balance_minor"].to_pandas(types_mapper={pa.int64(): pd.Int64Dtype()}.get).iloc[order]
    by = pd.Series(codes).iloc[order]
    moved = pd.Series(effects_of(rows)[0]).iloc[order].groupby(by).cumsum()
    known = (stated - moved).groupby(by)
    opening = pd.Series(openings, dtype="Int64").reindex(by).set_axis(by.index)
    begins = known.ffill().fillna(known.bfill()).fillna(opening)
    return pa.array(stated.fillna(moved + begins).sort_index(), pa.int64())


_ADDRESS: Final = re.compile(r"[A-Za-z][\w+.-]+://")
_DRIVERS: Final = {"postgresql": "postgresql", "postgres": "postgresql", "sqlite": "sqlite"}
"""Scheme of an address, the part before `://` → the driver."""
_ROWS_AT_ONCE: Final = str(1 << 24)
"""The rows of a batch: more than any result has.

SQLite's columns have no type, and the driver takes the types from the first batch: it must hold all rows.
"""
_PATIENCE_S: Final = 10
_OPENS_WITH: Final = ("SELECT", "WITH", "VALUES")
_UNREAD: Final = re.compile(
    r"""(?P<comment>--[^\n]*|/\*.*?\*/)|'(?:[^']|'')*'|"(?:[^"]|"")*"|\$(?P<tag>\w*)\$.*?\$(?P=tag)\$""", re.DOTALL
)
"""Matches comments and quoted text, which contain no keywords of the query."""
_SENT_AS: Final = "COPY ("
"""Text that the PostgreSQL driver puts before the query; the server may count positions from its beginning."""
_SQLITE_MESSAGE: Final = re.compile(r"query: ([^\n]+)")
_CONNECTION_FAULTS: Final[Mapping[str, tuple[str, str]]] = {
    "password|no pg_hba": (
        "does not let this user in",
        "The user stands in the address, and the password in the environment: PGPASSWORD.",
    ),
    "role .* does not exist": ("does not know this user", "The user stands in the address, or in PGUSER."),
    "database .* does not exist": ("is not on this server", "Its name is what follows the host: postgresql://…/NAME."),
    "translate host name": ("is on a host that is not found", "Is its name right, and is there a network?"),
    "invalid|missing": ("has an address that cannot be used", "postgresql://user@host:5432/name, for example."),
    "": ("cannot be reached", "Is it running, and does it take connections from this machine?"),
}
"""Pattern of a driver's message → our message, and what to do. The driver's own message reveals user and host."""


def is_address(text: object) -> TypeGuard[str]:
    """True for text in the form of a database address, with a scheme and `://`."""
    return isinstance(text, str) and _ADDRESS.match(text) is not None


def fetched(address: str, sql: str, name: str) -> pa.Table:
    """The result of a query as an Arrow table; messages call the query `name`.

    `address` is `postgresql://user@host/database` or `sqlite:///path` (`sqlite:////path` from the root). The query runs
    alone and read-only. Raises StatementRefused: the address has a password, the driver or database does not exist, or
    the text is not exactly one query, writes, or fails.
    """
    scheme = address.partition(":")[0].lower()
    if scheme not in _DRIVERS:
        known = ", ".join(f"{name}://" for name in _DRIVERS)
        text = f"There is no driver for the address {scheme}://…; there are {known}."
        raise StatementRefused(text, drivers=tuple(_DRIVERS))
    checked, driver = _one_query(sql, name), _DRIVERS[scheme]
    try:
        adbc = import_module(f"adbc_driver_{driver}.dbapi")
    except ImportError:
        raise StatementRefused(f"The driver for {driver} is not installed.", hint=how_to_install("sql")) from None
    fetch = _from_sqlite if driver == "sqlite" else _from_postgresql
    # What a driver raises may have the user, the host and the path in it, and goes no further.
    return fetch(adbc, address, checked, name)


def _one_query(sql: str, name: str) -> str:
    """The query with its comments blanked, so that positions stay the same, and without a semicolon at its end.

    Raises StatementRefused: the text is no query, or several statements.
    """
    plain = _UNREAD.sub(lambda part: re.sub(r"[^\n]", " ", part[0]) if part["comment"] else part[0], sql)
    ended = plain.rstrip().removesuffix(";").rstrip()
    first = re.match(r"[\s(]*(\w*)", ended)
    if first is None or first[1].upper() not in _OPENS_WITH:
        begins = f"it begins with {first[1][:40]}" if first and first[1] else "there is none in it"
        hint = f"A query begins with {' or '.join(_OPENS_WITH)}, and must only read."
        raise StatementRefused(f"{name} is not a query: {begins}.", hint=hint, file=name)
    if ";" in _UNREAD.sub("", ended):
        raise StatementRefused(f"{name} has several statements.", hint="Keep the one query of the ledger.", file=name)
    return ended


def _from_postgresql(adbc: ModuleType, address: str, sql: str, name: str) -> pa.Table:
    try:
        parts = urlsplit(address)
        has_password = parts.password is not None or any("password" in key for key, _ in parse_qsl(parts.query))
    except ValueError:
        hint = _CONNECTION_FAULTS["invalid|missing"][1]
        raise StatementRefused("The address of the database cannot be read.", hint=hint) from None
    if has_password:
        raise StatementRefused(
            "The address of the database contains a password, which others can read.",
            hint="Remove it, and set PGPASSWORD in the environment.",
        )
    waits = "" if "connect_timeout" in parts.query else f"{'&' if parts.query else '?'}connect_timeout={_PATIENCE_S}"
    try:
        connection = adbc.connect(address + waits)
    except adbc.Error as error:
        why, hint = next(words for pattern, words in _CONNECTION_FAULTS.items() if re.search(pattern, str(error)))
        raise StatementRefused(f"The database {why}.", hint=hint) from None
    with closing(connection), closing(connection.cursor()) as cursor:
        try:
            cursor.execute("SET TRANSACTION READ ONLY")
            cursor.execute(sql)
            return cursor.fetch_record_batch().read_all()
        except (adbc.Error, OSError, pa.ArrowException) as error:
            raise _failed(name, *_postgresql_message(error, sql)) from None


def _postgresql_message(error: Exception, sql: str) -> tuple[str, str]:
    """The server's message without the address; and words for the position in the query, if the message has one."""
    details = {key.decode(): value.decode(errors="replace") for key, value in getattr(error, "details", None) or ()}
    before_it = len(_SENT_AS) if f"Query was: {_SENT_AS}" in str(error) else 0
    place = int(details.get("PG_DIAG_STATEMENT_POSITION", 0)) - before_it
    before = sql[: place - 1].split("\n") if place > 0 else []
    where = f", at line {len(before)}, column {len(before[-1]) + 1}" if before else ""
    return details.get("PG_DIAG_MESSAGE_PRIMARY", "the server's answer ended early"), where


def _from_sqlite(adbc: ModuleType, address: str, sql: str, name: str) -> pa.Table:
    path = Path(address.partition(":")[2].removeprefix("///"))
    if not path.is_file():
        hint = "sqlite:///books.db is a file of this folder, sqlite:////srv/books.db one from the root."
        raise StatementRefused(f"There is no database {path.name or 'there'}.", hint=hint)
    read_only, options = f"{path.resolve().as_uri()}?mode=ro", {"adbc.sqlite.query.batch_rows": _ROWS_AT_ONCE}
    try:
        with closing(adbc.connect(read_only)) as link, closing(link.cursor(adbc_stmt_kwargs=options)) as cursor:
            cursor.execute(sql)
            return cursor.fetch_record_batch().read_all()
    except (adbc.Error, OSError, pa.ArrowException) as error:
        match = _SQLITE_MESSAGE.search(str(error))
        raise _failed(name, match[1] if match else "the file cannot be read as a database") from None


def _failed(name: str, message: str, where: str = "") -> StatementRefused:
    hint = "A query of the ledger must only read." if re.search("read-?only", message) else ""
    return StatementRefused(f"{name} fails{where}: {mask(message)}.", hint=hint, file=name)
