"""Layouts: how operators and banks write their statements; the shipped layouts, and layouts in TOML files."""

import hashlib
import re
from collections import Counter
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, field, fields
from datetime import date
from functools import cache, cached_property, lru_cache
from pathlib import Path
from typing import Final, get_type_hints

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from workbench.analysis.rules import MatchRules, match_rules, refusal
from workbench.analysis.shapes import DIRECTIONS, STATUSES
from workbench.analysis.statements.dates import DateFormat
from workbench.domain.money import ZMW
from workbench.errors import StatementRefused
from workbench.resources import read_toml, wrong_kind

FIELDS: Final = (
    "key", "moment", "time", "status", "type", "description", "amount", "debit", "credit", "direction", "fee",
    "balance", "side", "currency", "phone", "from", "to", "batch", "related",
)  # fmt: skip
"""The fields that a column can hold."""
LEDGER_FIELDS: Final = ("account", "entry", "number", "kind", "payment", "reverses", "state", "day")
"""The further fields of a ledger's columns; `day` is the business date, if it is not that of the moment."""
PREAMBLE_FIELDS: Final = ("account", "currency", "first", "last", "opening", "closing")
"""The fields above the header, in the order of `Preamble`; `first` and `last` are the days of the period."""
TYPES: Final = ("payment", "refund", "reversal", "transfer", "payout", "fee", "other")
KINDS: Final = ("csv", "xlsx")
DEBITS: Final = ("plain", "minus", "parentheses")
NEGATIVE: Final = ("reversal", "debit")
FOUND: Final = ("key", "phone", "related")
"""The fields that a pattern may find in a description."""
CODE: Final = re.compile("[A-Z]{3}")
"""The code of a currency."""
SUFFIX: Final = ".toml"
_WAYS: Final = {
    "words": ("direction", "amount"), "columns": ("debit", "credit"), "parties": ("from", "to", "amount"),
    "sign": ("amount",),
}  # fmt: skip
"""Way to show the direction of a row → the columns that it needs; the first column decides on the way."""
AMOUNTS: Final = ("amount", "debit", "credit", "fee", "balance")
"""The fields that are read as amounts."""
_UNITS: Final = ("", "major", "minor")


@dataclass(frozen=True)
class Preamble:
    """The values above a statement's header, in the order of PREAMBLE_FIELDS; None stands for no line."""

    account: str | None = None
    currency: str | None = None
    first: date | None = None
    last: date | None = None
    opening_minor: int | None = None
    closing_minor: int | None = None


@dataclass(frozen=True)
class Layout:
    """The way a file is written. Give a layout of your own to `read_statement(layout=…)`.

    The columns decide how the direction of a row is read: by `direction` (words, see `directions`), by `debit` and
    `credit`, by `from` and `to` (see `own`), or else by the sign of `amount`.

    name: what messages call it.
    columns: field (one of FIELDS, of a ledger also of LEDGER_FIELDS) → the heading of its column. Headings are compared
    without case and double spaces; the second of two equal headings is `Currency#2`. `time` is a time of day beside a
    day in `moment`, and `dates` are then of both with a blank between; without its time a row has a day alone. `side`
    is a column of CR or DR beside the balance.
    key_pattern: a regular expression (RE2's, at most 500 characters; other groups are `(?:…)`) that is looked for in
    the description, on one line; its group `key` is the row's key, `phone` the customer's number, `related` another
    row's key or an order's number. A value that it finds goes before that of a column.
    makes_keys: whether a row without a key gets a key made from its cells; otherwise such a row cannot be used.
    debits: how an ordinary debit is written in a column of debits: `plain`, `minus` or `parentheses`. A debit below
    zero in another style is a reversal, and so is a credit below zero, unless the balance proves otherwise. A fee may
    be written as debits are.
    negative: what a debit below zero is if no balance proves it, `reversal` or `debit`.
    openings: how the description of a row begins that only states a balance, such as the balance brought forward; such
    a row is no movement, and left out.
    dates: the formats in which `moment` may stand, in local time; one holds for a whole file. Files are written in the
    first.
    account: the ledger account that the statement is of, unless the file or the caller says another.
    currency: of the file, if neither a column nor the preamble says it. Amounts have as many decimals as their
    currency has in ISO 4217: 150.00 of ZMW, 15,000 of UGX, 15.500 of KWD. Zeros beyond them, as in 15,000.00 of UGX,
    are read; other digits are not.
    units: what amounts are in, also those above the header: `major` (150.00) or `minor` (15000). Without this setting,
    they are minor units if the headings of all amounts end in `_minor`.
    accounts: word in the column `account` → the ledger account; by default the column has the accounts themselves.
    sections: whether the account stands in the first column of a line of its own above its rows, as QuickBooks writes a
    general ledger. Totals, and lines without an amount, are left out.
    optional: fields whose column a file may lack.
    ignored: further headings, of columns that are not read.
    kinds: the kinds of file, `csv` and `xlsx`.
    delimiter: of CSV files.
    encoding: of CSV files that are not UTF-8 and have no byte order mark. They are written as UTF-8.
    decimal, thousands: the separators in amounts; `thousands` is none by default. A sign, parentheses, CR or DR and
    a currency are read wherever they stand.
    directions: word → `in` or `out` of the account. Of several words for one value, files are written with the first;
    the same holds for `statuses` and `types`.
    own: how the account's own party is written, `*` standing for anything: `FRI:*/USER`.
    party: how a customer's number is written, `*` standing for anything: `FRI:{phone}/MSISDN`, `{phone} - *`.
    statuses: word → `completed`, `failed` or `pending`; without a column `status`, every row is completed.
    types: word → one of TYPES; any other word means `other`.
    preamble: field (one of PREAMBLE_FIELDS) → its label, in lines above the header: label, then value. Where `first`
    and `last` have one label, its value has both days.
    preamble_date: the format of the period's days, or a list of possible formats; the first is written.
    footers: how lines of totals below the rows begin; they are left out.
    utc_offset_hours: of the times in the file; Lusaka's by default.
    match: the rules by which the account's rows are matched, in their order, such as
    `[{ on = ["key"] }, { on = ["key in narrative"] }, { on = ["amount"], days = 3 }]`: see `match_rules`. By default
    rows match by key or, if the statement has no keys, by amount within two days.

    Raises StatementRefused: a field, word or format that does not exist, or too few columns to read a row.
    """

    name: str
    columns: Mapping[str, str]
    dates: tuple[str, ...]
    account: str | None = None
    currency: str = ZMW.code
    key_pattern: str = ""
    makes_keys: bool = False
    debits: str = "plain"
    negative: str = ""
    openings: tuple[str, ...] = ()
    units: str = ""
    accounts: Mapping[str, str] = field(default_factory=dict)
    sections: bool = False
    optional: frozenset[str] = frozenset()
    ignored: tuple[str, ...] = ()
    kinds: tuple[str, ...] = KINDS
    delimiter: str = ","
    encoding: str = "utf-8"
    decimal: str = "."
    thousands: str = ""
    directions: Mapping[str, str] = field(default_factory=dict)
    own: str = ""
    party: str = "{phone}"
    statuses: Mapping[str, str] = field(default_factory=lambda: {status: status for status in STATUSES})
    types: Mapping[str, str] = field(default_factory=lambda: {kind: kind for kind in TYPES})
    preamble: Mapping[str, str] = field(default_factory=dict)
    preamble_date: str | tuple[str, ...] = "%Y-%m-%d"
    footers: tuple[str, ...] = ()
    utc_offset_hours: int = 2
    match: MatchRules = ()

    @property
    def sha256(self) -> str:
        """SHA-256 of everything that the layout declares, whether a file, the package or a caller gave it."""
        declared = msgspec.to_builtins(self, order="deterministic")
        # A layout without rules has the hash that it had before there were any.
        known = {name: value for name, value in declared.items() if name != "match" or value}
        return hashlib.sha256(msgspec.json.encode(known)).hexdigest()

    def __post_init__(self) -> None:
        try:
            object.__setattr__(self, "match", match_rules(self.match))
        except ValueError as error:
            self._demand(holds=False, otherwise=f"match {error}")
        for what, found, known in (
            ("field", self.columns, FIELDS + LEDGER_FIELDS),
            ("optional field", self.optional, tuple(self.columns)),
            ("field of the preamble", self.preamble, PREAMBLE_FIELDS),
            ("kind of file", self.kinds, KINDS),
            ("direction", self.directions.values(), DIRECTIONS),
            ("status", self.statuses.values(), STATUSES),
            ("type", self.types.values(), TYPES),
            ("way to write debits", (self.debits,), DEBITS),
            ("meaning of negative", filter(None, (self.negative,)), NEGATIVE),
            ("group of key_pattern", self.groups, FOUND),
        ):
            unknown = [name for name in found if name not in known]
            self._demand(not unknown, f"{what} {', '.join(unknown)} does not exist; there are {', '.join(known)}")
        self._demand(not isinstance(self.dates, str), "dates is a list of formats: ('%d.%m.%Y',), with a comma")
        self._demand(self.groups or not self.key_pattern, f"key_pattern has no group {', '.join(FOUND)}: (?P<key>…)")
        needed = {"moment", *_WAYS[self.direction_by]}
        needed |= {"description"} if self.groups else set()
        needed |= set() if self.makes_keys or "key" in self.groups else {"key"}
        missing = sorted(needed - (self.columns.keys() - self.optional))
        self._demand(not missing, f"no column is declared for {', '.join(missing)}")
        self._demand(self.direction_by != "words" or self.directions, "no words are declared for the direction")
        self._demand(self.direction_by != "parties" or self.own, "own is not declared, so the direction is unknown")
        self._demand("{phone}" in self.party, "party has no {phone}")
        twice = sorted(key for key, count in Counter(self.known_headings).items() if count > 1)
        self._demand(not twice, f"the heading {', '.join(twice)} is declared twice")
        self._demand(self.dates and self.preamble_dates, "no date format is declared")
        self._demand(CODE.fullmatch(self.currency), f"currency is three capital letters, not {self.currency!r}")
        for name in ("openings", "footers"):
            self._demand(
                "" not in map(str.strip, getattr(self, name)), f"{name} has an empty text, which begins all rows"
            )
        self._demand(self.units in _UNITS, f"units are {' or '.join(_UNITS[1:])}, not {self.units!r}")
        mixed = self.units or len({*map(_is_minor, self._amounts)}) <= 1
        self._demand(mixed, f"some of {', '.join(self._amounts)} end in _minor and some do not: set units")
        for pattern in (*self.dates, *self.preamble_dates):
            parted = DateFormat(pattern).is_parted or pattern in self.preamble_dates
            self._demand(parted or "time" not in self.columns, f"{pattern} is not a day, a space and a time with hours")
        self._demand(len(self.delimiter) == len(self.decimal) == 1, "delimiter and decimal are one character each")
        self._demand(len(self.thousands) <= 1, "thousands is one character, or none")
        self._demand(self.decimal != self.thousands, "decimal and thousands are the same character")
        try:
            "".encode(self.encoding)
        except LookupError:
            self._demand(holds=False, otherwise=f"there is no encoding {self.encoding}")

    @property
    def direction_by(self) -> str:
        """The way in which the layout shows the direction of a row: `words`, `columns`, `parties` or `sign`."""
        return next(way for way, (first, *_) in _WAYS.items() if first in self.columns or way == "sign")

    @cached_property
    def groups(self) -> list[str]:
        """The names of the groups of `key_pattern`; a name may be there several times."""
        if not self.key_pattern:
            return []
        why = refusal(self.key_pattern)
        self._demand(not why, f"key_pattern {why}")
        try:
            return [group.name for group in pc.extract_regex(pa.array([""]), self.key_pattern).type]
        except pa.ArrowInvalid as error:
            self._demand(holds=False, otherwise=f"key_pattern: {str(error).splitlines()[0]}")
            raise

    @property
    def preamble_dates(self) -> tuple[str, ...]:
        """The formats of `preamble_date`."""
        return (self.preamble_date,) if isinstance(self.preamble_date, str) else tuple(self.preamble_date)

    @property
    def keys(self) -> dict[str, str]:
        """Field → heading in the form of `heading_key`."""
        return {name: heading_key(heading) for name, heading in self.columns.items()}

    @property
    def known_headings(self) -> list[str]:
        """The headings of all columns, also of ignored ones, in the form of `heading_key`."""
        return [*self.keys.values(), *map(heading_key, self.ignored)]

    @property
    def is_minor(self) -> bool:
        """True if amounts are whole minor units."""
        return self.units == "minor" or (not self.units and any(map(_is_minor, self._amounts)))

    @property
    def _amounts(self) -> list[str]:
        return [self.columns[name] for name in AMOUNTS if name in self.columns]

    def lacking(self, present: Container[str]) -> list[str]:
        """The required headings that are missing among `present`, which are in the form of `heading_key`."""
        required = {name: key for name, key in self.keys.items() if name not in self.optional}
        return [self.columns[name] for name, key in required.items() if key not in present]

    def _demand(self, holds: object, otherwise: str) -> None:
        if not holds:
            raise StatementRefused(f"The layout {self.name!r} cannot be used: {otherwise}.", layout=self.name)


def _is_minor(heading: str) -> bool:
    return heading_key(heading).endswith("_minor")


@lru_cache(maxsize=2048)  # asked of the same cells by each layout that a file may be in
def heading_key(heading: str) -> str:
    """A heading, or a word of a cell, in the form in which it is compared: in small letters, with single spaces."""
    return " ".join(heading.split()).casefold()


SHIPPED: Final = (
    "mtn", "airtel", "airtel_signed", "zamtel", "aggregator", "mtn_portal", "airtel_merchant", "mpesa", "zanaco",
    "stanbic", "fnb",
)  # fmt: skip
"""The layouts of this package, a file for each; a user may copy and change a file."""


@cache
def _shipped(name: str) -> "Layout":
    return layout_in(Path(__file__).with_name("shipped") / f"{name}{SUFFIX}")


class _Layouts(Mapping[str, "Layout"]):
    """The shipped layouts by name; a layout is read when it is first asked for."""

    def __getitem__(self, name: str) -> "Layout":
        if name not in SHIPPED:
            raise KeyError(name)
        return _shipped(name)

    def __iter__(self) -> Iterator[str]:
        return iter(SHIPPED)

    def __len__(self) -> int:
        return len(SHIPPED)


LAYOUTS: Final[Mapping[str, Layout]] = _Layouts()
"""Name → layout; a file is recognised as one of these."""


def layout_in(path: Path) -> Layout:
    """The layout in a TOML file: keys are the names of `Layout`, mappings are tables; by default `name` is the file's.

    Raises StatementRefused: the file cannot be read, has an unknown key, or makes no layout.
    """
    try:
        return layout_from(path.read_bytes(), path.stem, path.name)
    except OSError as error:
        text = f"The layout {path.name} cannot be read: {error.strerror}."
        raise StatementRefused(text, file=path.name) from error
    except ValueError as error:
        raise StatementRefused(f"The layout {path.name} {error}.", file=path.name) from error


def layout_from(content: bytes, name: str, file: str) -> Layout:
    """The layout in bytes of TOML, called `file` in messages. Raises StatementRefused, or ValueError: not TOML."""
    declared = {"name": name, **read_toml(content)}
    kinds = get_type_hints(Layout)
    for key, value in declared.items():
        # A table has texts for its words or fields; a setting with another value was meant for the layout.
        within = value if isinstance(value, dict) else {}
        if below := [name for name in within if name in kinds and not isinstance(within[name], str)]:
            names = " and ".join(below)
            why = (
                f"{names} belong{'s' * (len(below) == 1)} above [{key}], since what stands below is part of that table"
            )
            raise StatementRefused(f"In the layout {file}, {key} has {names} in it: {why}.", file=file)
    lacking = [name for name in ("columns", "dates") if name not in declared]
    unknown = [name for name in declared if name not in kinds]
    if lacking or unknown:
        text = f"lacks {', '.join(lacking)}" if lacking else f"has {', '.join(unknown)}, which no layout has"
        hint = f"A layout has {', '.join(field.name for field in fields(Layout))}."
        raise StatementRefused(f"The layout in {file} {text}.", hint=hint, file=file)
    for key, value in declared.items():
        try:
            declared[key] = value if key == "match" else msgspec.convert(value, kinds[key])
        except msgspec.ValidationError as error:
            raise StatementRefused(f"In the layout {file}, {key} {wrong_kind(error)}.", file=file) from None
    return Layout(**declared)
