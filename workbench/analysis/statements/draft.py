"""A draft of a layout, written as a TOML file with its proofs and doubts; and a check of how a layout reads a file."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from datetime import datetime
from decimal import Decimal
from itertools import chain, islice
from pathlib import Path
from typing import Any, Final, NamedTuple, Unpack

from workbench.analysis.frames import money
from workbench.analysis.rules import MatchRule
from workbench.analysis.statements.cells import Amounts, Cell, CellRows, Line, refused, text_of
from workbench.analysis.statements.dates import DateFormat
from workbench.analysis.statements.layouts import (
    FIELDS,
    HEADINGS,
    LABELS,
    LEDGER_FIELDS,
    SUFFIX,
    SWAPPED,
    Layout,
    layout_from,
    plain,
)
from workbench.analysis.statements.own_ledger import Ledger, read_ledger
from workbench.analysis.statements.preamble import pairs_of
from workbench.analysis.statements.statement import Reading, Statement, read_statement, reasons_in
from workbench.analysis.statements.writing import absent
from workbench.domain.masking import mask, mask_accounts, shortened
from workbench.domain.moments import LUSAKA
from workbench.domain.money import ISO_4217, ZMW
from workbench.errors import StatementRefused
from workbench.text.render import Column, Table, Tabular, table, wrapped
from workbench.visible import visible

MOST_ROWS: Final = 20_000
"""The most rows of a file that a draft looks at; `read_statement` reads them all."""
_SETTINGS: Final = [setting.name for setting in fields(Layout)]
_ORDER: Final = (
    "name", "account", "currency", "encoding", "delimiter", "dates", "sections", "utc_offset_hours", "units", "decimal",
    "thousands", "debits", "negative", "openings", "footers", "key_pattern", "makes_keys", "own", "party",
    "preamble_date", "kinds", "optional", "ignored", "match",
)  # fmt: skip
WORDS: Final = ("accounts", "directions", "statuses", "types")
_TABLES: Final = ("columns", *WORDS, "preamble")
"""The tables of a layout in the order in which a person reads them; TOML has them last."""
_OF_A_HEADING: Final = re.compile(r"\w\W+([A-Z]{3})\W*$")
_OF_AN_AMOUNT: Final = re.compile(r"(?=.*[0-9])[-+(]?(?:[0-9., ']+ )?([A-Z]{3})(?: [0-9., ']+)?\)?")
_A_CODE: Final = re.compile("([A-Za-z]{3})")
_CURRENCIES: Final = {*HEADINGS["currency"].split(", ")}


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
    currency: tuple[str, str] | None = None
    """The result of `named_currency`."""
    is_ledger: bool = False
    """True for the user's own books."""

    def column(self, heading: str) -> list[tuple[int, Cell]]:
        """The line of each row and its cell under a heading, empty in a short row; no rows for an unknown heading."""
        if not heading or heading not in self.headings:
            return []
        place = self.headings.index(heading)
        return [(line, cells[place] if place < len(cells) else "") for line, cells in self.rows]

    def texts(self, heading: str) -> list[tuple[int, str]]:
        """The line and the text of each filled cell under a heading."""
        return [(line, text) for line, cell in self.column(heading) if (text := text_of(cell).strip())]

    def labelled(self) -> Iterator[tuple[int, str, str, Cell]]:
        """Yields line, label, the label's meaning (empty if unknown) and value for each value above the header."""
        for line, cells in self.above:
            yield from ((line, label, LABELS.get(plain(label), ""), value) for label, value in pairs_of(cells))

    def amounts(self, decimal: str, thousands: str) -> Amounts:
        """A reader of amounts in the file's currency."""
        return Amounts(decimal, thousands, self.currency[0] if self.currency else ZMW.code)


def named_currency(file: Cut) -> tuple[str, str] | None:
    """The only currency named in headings, cells or lines above the header, and its place; None for none or several."""
    told = [(found[1], f"heading {name!r}") for name in file.headings if (found := _OF_A_HEADING.search(name))]
    for name in file.headings:
        pattern = _A_CODE if plain(name) in _CURRENCIES else _OF_AN_AMOUNT
        texts = [(pattern.fullmatch(text), f"line {line} {text!r}") for line, text in file.texts(name)]
        told += [(found[1], where) for found, where in texts if found]
    values = [(line, text_of(value)) for line, _, meaning, value in file.labelled() if meaning == "currency"]
    told += [(text.strip(), f"line {line} {text!r}") for line, text in values]
    named = {code.upper(): where for code, where in reversed(told) if code.upper() in ISO_4217}
    return next(iter(named.items())) if len(named) == 1 else None


class Draft:
    """A draft of a layout: the settings `declared`, their proofs and the open doubts. Its repr is the TOML file.

    Columns have the fields of a statement. In a ledger a debit comes in, so that its TOML file has `debit` and `credit`
    the other way round.
    """

    def __init__(self, file: Cut) -> None:
        self.file = file
        self.declared: dict[str, Any] = {"columns": {}}
        self.proofs: dict[str, str] = {}
        """Place in the layout, such as `dates` or `statuses.TS` → the comment behind it."""
        self.doubts: dict[str, list[str]] = {}
        """Place in the layout → what a person has to decide, one text for each doubt."""
        self.above: list[str] = []
        """The first lines of the TOML file, on how this draft reads the file; empty after the draft has changed."""
        self.readings: Mapping[DateFormat, Mapping[int, int]] = {}
        """Format → line → milliseconds, for all formats that were tried."""
        self.moving: set[int] = set()
        """The lines of rows that are movements."""
        self.directions: dict[str, str] = {}
        """A word → the direction that the balance gives it."""
        self.newest_first: bool | None = None
        """True if the balance proves that the newest row stands first; None if it proves no order."""

    @property
    def columns(self) -> dict[str, str]:
        """Field → the heading of its column."""
        return dict(self.declared["columns"])

    @property
    def names_accounts(self) -> bool:
        """True if the file names the account of each row."""
        return "account" in self.declared["columns"] or "sections" in self.declared

    def cells(self, field: str) -> list[tuple[int, Cell]]:
        """The line and the cell of each row in the column of a field; empty if the field has no column."""
        return self.file.column(self.declared["columns"].get(field, ""))

    def texts(self, field: str) -> list[tuple[int, str]]:
        """The line and the text of each filled cell in the column of a field."""
        return self.file.texts(self.declared["columns"].get(field, ""))

    def moments(self) -> list[tuple[int, Cell]]:
        """The line and the moment of each row: a text of its day and time, or a workbook's own moment."""
        times = [text_of(cell).strip() for _, cell in self.cells("time")] or [""] * len(self.file.rows)
        pairs = zip(self.cells("moment"), times, strict=False)
        joined = ((line, cell, f"{text_of(cell).strip()} {time}".strip()) for (line, cell), time in pairs)
        return [(line, cell if isinstance(cell, datetime) else text) for line, cell, text in joined]

    def put(self, columns: Mapping[str, str]) -> None:
        """Declare these columns, field → heading, and no others; ignore the other headings."""
        self.above = []
        self.declared["columns"] = {name: columns[name] for name in (*LEDGER_FIELDS, *FIELDS) if name in columns}
        self.declared["ignored"] = [name for name in self.file.headings if name and name not in columns.values()]

    def found(self, name: str, value: object, proof: str = "") -> None:
        """Declare a setting that the file shows, with its proof; None leaves the default."""
        if value is not None:
            self.declared[name] = value
            self.proofs[name] = proof

    def doubt(self, where: str, text: str) -> None:
        """Add a doubt about a place in the layout, for a person to decide."""
        self.doubts.setdefault(where, []).append(text)

    def declare(self, **settings: object) -> None:
        """Set settings of `Layout` by name, and settle their doubts; None removes a setting.

        Raises StatementRefused: there is no such setting.
        """
        for name, value in settings.items():
            if name not in _SETTINGS:
                raise StatementRefused(f"A layout has no {name}; it has {', '.join(_SETTINGS)}.", setting=name)
            self.declared.pop(name, None)
            if value is not None:
                self.declared[name] = value
            self.above = []
            self.proofs.pop(name, None)
            self.doubts.pop(name, None)

    @property
    def layout(self) -> Layout:
        """The declared layout. Raises StatementRefused: it cannot be used yet."""
        return layout_from(self.toml.encode(), self.file.path.stem, self.file.path.name)

    @property
    def toml(self) -> str:
        """The layout as a file, in the order in which a person reads it."""
        lines = [f"# {masked(text)}" for text in self.above]
        for name in _ORDER:
            lines += self._setting(name, name, self.declared.get(name))
        for name in _TABLES:
            values = self.declared.get(name, {})
            sides = SWAPPED if name == "columns" and self.file.is_ledger else {}
            named = ((f"{name}.{key}", sides.get(key, key), value) for key, value in values.items())
            rows = [line for entry in named for line in self._setting(*entry)]
            loose = [f"# ? {masked(doubt)}" for doubt in self.doubts.get(name, ())]
            if values or loose:
                lines += ["", f"[{name}]" if values else f"# [{name}]", *rows, *loose]
        return "\n".join(lines) + "\n"

    def _setting(self, where: str, key: str, value: object) -> Iterator[str]:
        for doubt in self.doubts.get(where, ()):
            yield f"# ? {masked(doubt)}"
        is_declared = bool(value) or type(value) is int
        if is_declared or where.startswith(WORDS):
            proof = self.proofs.get(where)
            named = key if re.fullmatch("[A-Za-z0-9_-]+", key) else toml_value(key)
            line = f"{named} = {toml_value(value)}" + (f"  # {masked(proof)}" if proof else "")
            # A word without a meaning stands as a comment.
            yield line if is_declared else f"# ? {line}"

    def statement(self) -> Statement:
        """The file, read by this draft. Raises StatementRefused: see `read_statement`."""
        return read_as(self.file.path, self.layout)

    def ledger(self) -> Ledger:
        """The file, read by this draft. Raises StatementRefused: see `read_ledger`."""
        return read_ledger(self.file.path, layout=self.layout, account=None if self.names_accounts else NOT_TOLD)

    def to_decide(self) -> list[str]:
        """The doubts with their places in the layout, masked."""
        doubts = [(where, text) for where, texts in self.doubts.items() for text in texts]
        return [masked(text if text.startswith(where) else f"{where}: {text}") for where, text in doubts]

    def __repr__(self) -> str:
        return self.toml

    def write(self, path: str | Path, *, replace: bool = False) -> None:
        """Write the layout to a `.toml` file; only with `replace` over an existing file.

        Raises StatementRefused: the file exists, has another ending, or cannot be written.
        """
        target = Path(path)
        if target.suffix != SUFFIX:
            raise refused(str(path), f"is not a layout: its name must end in {SUFFIX}.")
        try:
            with target.open("w" if replace else "x", encoding="utf-8", newline="\n") as handle:
                handle.write(self.toml)
        except FileExistsError:
            raise refused(str(path), "already exists.", hint="Give another name, or replace it.") from None
        except OSError as wrong:
            raise refused(str(path), f"cannot be written: {wrong.strerror}.") from None


def masked(text: str) -> str:
    """A file's text as one line for people: long numbers are masked, and no character steers a terminal."""
    return visible(mask_accounts(text))


def toml_value(value: object) -> str:
    """The value of a setting as TOML writes it; invisible characters are written by their code."""
    if isinstance(value, str) and "\\" in value and value.isprintable() and "'" not in value:
        return f"'{value}'"
    if isinstance(value, str):
        # JSON's escapes are TOML's too, except beyond 16 bits.
        quoted = json.dumps(value, ensure_ascii=False)
        return "".join(letter if letter.isprintable() else f"\\U{ord(letter):08x}" for letter in quoted)
    if isinstance(value, list | tuple | frozenset):
        return f"[{', '.join(map(toml_value, value if isinstance(value, list | tuple) else sorted(value)))}]"
    if isinstance(value, Mapping):
        return f"{{ {', '.join(f'{name} = {toml_value(cell)}' for name, cell in value.items())} }}"
    return str(value) if isinstance(value, MatchRule) else json.dumps(value)


def read_as(path: Path, layout: Layout, **options: Unpack[Reading]) -> Statement:
    """The statement in a file; without a known account its account is NOT_TOLD."""
    told = layout if layout.account or options.get("account") else replace(layout, account=NOT_TOLD)
    return read_statement(path, layout=told, **options)


NOT_TOLD: Final = "(unknown)"
_SHOWN: Final = 10
_REASONS: Final = 5


class Check(Tabular):
    """The first ten rows as a layout reads them, and the problems of all rows.

    `doubts` are the open doubts of a draft; None for a layout.
    """

    def __init__(self, statement: Statement, doubts: Sequence[str] | None = None) -> None:
        self.statement = statement
        self.is_drafted = doubts is not None
        self.doubts = tuple(doubts or ())

    @property
    def is_sound(self) -> bool:
        """True if there are rows, all can be used, and the running balance follows if the file has one."""
        rows = self.statement.rows
        return len(rows) > 0 and bool(rows["problem"].isna().all()) and self.statement.findings.empty

    def _table(self) -> Table:
        """The first rows, in the columns that have anything in them."""
        rows = [*map(_row, money(self.statement.rows.head(_SHOWN)).to_dict("records"))]
        told = [name for name in dict.fromkeys(chain(*rows)) if any(row[name] not in _NOTHING for row in rows)]
        columns = [Column(name, name in _AMOUNTS_SHOWN) for name in told]
        caption = f"{self.statement.name}, read as {self.statement.layout}"
        return table(caption, columns, [[row[name] for name in told] for row in rows])

    def text(self, width: int | None = None) -> str:
        """The check as text, in lines of at most `width` characters, 80 by default."""
        width = width or _WIDTH
        reasons = [
            f"{why} ({f'line {line}' if count == 1 else f'{count:,} rows, the first in line {line}'})"
            for why, (line, count) in self.reasons().items()
        ]
        listed = (("Rows that cannot be read, by the most frequent reason:", reasons), ("To decide:", self.doubts))
        parts = ["\n- ".join([title, *map(visible, lines)]) for title, lines in listed if lines]
        parts.append("\n".join(summary(self.statement)))
        return "\n\n".join([self._table().text(width), *(wrapped(part, width) for part in parts)])

    def reasons(self) -> dict[str, tuple[int, int]]:
        """Reason why rows cannot be used → first line and number of rows, for the five commonest reasons."""
        bad = self.statement.rows.dropna(subset=["problem"])
        said = zip(bad["line"].tolist(), bad["problem"].map(str), strict=True)
        found = reasons_in((line, mask(why)) for line, whys in said for why in whys.split("; "))
        return dict(islice(found.items(), _REASONS))


_SHOWN_TEXTS: Final = ("key", "phone", "type", "status", "words", "description")
_AMOUNTS_SHOWN: Final = ("amount", "fee", "balance")
_LONGEST: Final = 40
_NOTHING: Final = ("", *(format(Decimal(f"0e-{decimals}"), "f") for decimals in range(5)))
_WIDTH: Final = 80


def _row(row: Mapping[Any, Any]) -> dict[str, str]:
    """Heading → the text of a row's cell, with numbers masked."""

    def text(name: str) -> str:
        return "" if absent(row[name]) else shortened(" ".join(mask(str(row[name])).split()), _LONGEST)

    when = "" if absent(row["occurred_at"]) else f"{row['occurred_at'].tz_convert(LUSAKA):%Y-%m-%d %H:%M:%S}"
    told = {"line": str(row["line"]), "when": when or text("business_date"), "way": text("direction")}
    amounts = {name: "" if absent(row[name]) else row[name] for name in _AMOUNTS_SHOWN}
    return told | amounts | {name: text(name) for name in _SHOWN_TEXTS}


def summary(statement: Statement) -> list[str]:
    """Sentences about the rows, their days, the unreadable ones, and the running balance."""
    bad = int(statement.rows["problem"].notna().sum())
    days = " to ".join(map(str, statement.period)) if statement.period else "no day"
    account = "" if statement.account != NOT_TOLD else "; the account is unknown"
    rows = f"{len(statement.rows):,} row{'s' * (len(statement.rows) != 1)}, {days}, {bad:,} unreadable{account}."
    return [rows, f"Running balance: {statement.follows}.", *filter(None, (statement.continued,))]
