"""Layouts: how operators and banks write their statements. Shipped ones, those in TOML files, and usual headings."""

import hashlib
import re
import unicodedata
from collections import Counter
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field, fields
from datetime import date
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Final, get_type_hints

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from workbench.analysis.rules import MatchRules, match_rules, refusal
from workbench.analysis.shapes import DIRECTIONS, STATUSES
from workbench.analysis.statements.dates import DateFormat
from workbench.domain.money import ISO_4217, ZMW
from workbench.errors import StatementRefused
from workbench.resources import read_toml, wrong_kind

FIELDS: Final = (
    "key", "moment", "time", "status", "type", "description", "amount", "debit", "credit", "direction", "fee",
    "balance", "side", "currency", "phone", "from", "to", "batch", "related",
)  # fmt: skip
"""The fields of a statement that a column can hold."""
LEDGER_FIELDS: Final = ("account", "entry", "number", "kind", "payment", "reverses", "state", "day")
"""The further fields of a ledger; `day` is the business date, if it differs from the date of the moment."""
PREAMBLE_FIELDS: Final = ("account", "currency", "first", "last", "opening", "closing")
"""The fields above the header, in the order of `Preamble`; `first` and `last` are the first and last day."""
TYPES: Final = ("payment", "refund", "reversal", "transfer", "payout", "fee", "other")
KINDS: Final = ("csv", "xlsx")
DEBITS: Final = ("plain", "minus", "parentheses")
NEGATIVE: Final = ("reversal", "debit")
IN_TEXTS: Final = ("key", "phone", "related")
"""The fields that a pattern may find in a description."""
CODE: Final = re.compile("[A-Z]{3}")
"""The code of a currency."""
SUFFIX: Final = ".toml"
_WAYS: Final = {
    "words": ("direction", "amount"), "columns": ("debit", "credit"), "parties": ("from", "to", "amount"),
    "sign": ("amount",),
}  # fmt: skip
"""Sign of a row's direction → the fields that it needs. The first sign whose first field has a column is used."""
AMOUNTS: Final = ("amount", "debit", "credit", "fee", "balance")
"""The fields that are read as amounts."""
SWAPPED: Final = {"debit": "credit", "credit": "debit"}
"""Debit → credit, and credit → debit: incoming money is a credit on a statement and a debit in the books."""
_UNITS: Final = ("", "major", "minor")


@dataclass(frozen=True)
class Preamble:
    """The values above a statement's header, in the order of PREAMBLE_FIELDS; None for a missing value."""

    account: str | None = None
    currency: str | None = None
    first: date | None = None
    last: date | None = None
    opening_minor: int | None = None
    closing_minor: int | None = None


@dataclass(frozen=True)
class Layout:
    """The format of a statement or ledger file. Give a layout of your own to `read_statement(layout=…)`.

    The columns decide how the direction of a row is read: by `direction` (words, see `directions`), by `debit` and
    `credit`, by `from` and `to` (see `own`), or else by the sign of `amount`.

    name: what messages call it.
    columns: field (one of FIELDS, of a ledger also of LEDGER_FIELDS) → the heading of its column. Headings are compared
    without case and double spaces; the second of two equal headings is `Currency#2`. If `moment` has only a day, `time`
    is the column with the time of day, and `dates` are formats of the day, a blank and the time; a row with an empty
    time then has only its day. `side` is a column of CR or DR beside the balance.
    key_pattern: a regular expression (RE2's, at most 500 characters; other groups are `(?:…)`) that is searched in the
    description, on one line; its group `key` is the row's key, `phone` the customer's number, `related` another row's
    key or an order's number. A value that it finds replaces that of the column.
    makes_keys: whether a row without a key gets a key made from its cells; otherwise such a row cannot be used.
    debits: how an ordinary debit is written in a column of debits: `plain`, `minus` or `parentheses`. A debit below
    zero in another style is a reversal, and so is a credit below zero, unless the balance proves otherwise. A fee may
    be written as debits are.
    negative: the meaning of a debit below zero, `reversal` or `debit`, in rows where no balance proves the meaning.
    openings: beginnings of the description of rows that only state a balance, such as the balance brought forward;
    these rows are no movements and are left out.
    dates: the possible formats of `moment`, in local time; one applies to a whole file. Files are written in the first.
    account: the ledger account of the statement, unless the file or the caller names another.
    currency: the currency of the file, if neither a column nor the preamble names it. Amounts have as many decimals as
    their currency has in ISO 4217: 150.00 of ZMW, 15,000 of UGX, 15.500 of KWD. Further decimals are accepted only if
    they are zeros, as in 15,000.00 of UGX.
    units: the unit of amounts, also of those above the header: `major` (150.00) or `minor` (15000). Without this
    setting, they are minor units if the headings of all amounts end in `_minor`.
    accounts: word in the column `account` → the ledger account; by default the column contains the accounts.
    sections: whether the account stands in the first column of a line of its own above its rows, as QuickBooks writes a
    general ledger. Totals, and lines without an amount, are left out.
    optional: fields whose column a file may lack.
    ignored: headings of columns that are not read, except for those that `columns` names.
    kinds: the kinds of file, `csv` and `xlsx`.
    delimiter: the delimiter of CSV files.
    encoding: the encoding of CSV files that are not UTF-8 and have no byte order mark. Files are written as UTF-8.
    decimal, thousands: the separators in amounts; `thousands` is none by default. A sign, parentheses, CR or DR and a
    currency may stand before or behind the digits.
    directions: word → `in` or `out` of the account. Of several words for one value, files are written with the first;
    the same holds for `statuses` and `types`.
    own: the pattern of the account's own party, in which `*` stands for any text: `FRI:*/USER`.
    party: the pattern of a customer's number, in which `*` stands for any text: `FRI:{phone}/MSISDN`, `{phone} - *`.
    statuses: word → `completed`, `failed` or `pending`; without a column `status`, every row is completed.
    types: word → one of TYPES; any other word means `other`.
    preamble: field (one of PREAMBLE_FIELDS) → its label, in lines above the header: label, then value. If `first` and
    `last` have one label, its value contains both days.
    preamble_date: the format of the period's days, or a list of possible formats; the first is written.
    footers: beginnings of the lines of totals below the rows, which are left out.
    utc_offset_hours: the offset from UTC of the times in the file; by default that of Lusaka.
    match: the rules by which the account's rows are matched, in their order, such as
    `[{ on = ["key"] }, { on = ["key in narrative"] }, { on = ["amount"], days = 3 }]`. See `match_rules`. By default
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
        """SHA-256 of all settings of the layout, independent of where the layout comes from."""
        declared = msgspec.to_builtins(self, order="deterministic")
        # A layout without rules has the hash that it had before there were any.
        known = {name: value for name, value in declared.items() if name != "match" or value}
        return hashlib.sha256(msgspec.json.encode(known)).hexdigest()

    def __post_init__(self) -> None:
        try:
            object.__setattr__(self, "match", match_rules(self.match))
        except ValueError as error:
            self._demand(holds=False, otherwise=f"match {error}")
        for kind, names, known in (
            ("field", self.columns, FIELDS + LEDGER_FIELDS),
            ("optional field", self.optional, tuple(self.columns)),
            ("field of the preamble", self.preamble, PREAMBLE_FIELDS),
            ("kind of file", self.kinds, KINDS),
            ("direction", self.directions.values(), DIRECTIONS),
            ("status", self.statuses.values(), STATUSES),
            ("type", self.types.values(), TYPES),
            ("way to write debits", (self.debits,), DEBITS),
            ("meaning of negative", filter(None, (self.negative,)), NEGATIVE),
            ("group of key_pattern", self.groups, IN_TEXTS),
        ):
            unknown = [name for name in names if name not in known]
            self._demand(not unknown, f"{kind} {', '.join(unknown)} does not exist; there are {', '.join(known)}")
        self._demand(not isinstance(self.dates, str), "dates is a list of formats: ('%d.%m.%Y',), with a comma")
        self._demand(self.groups or not self.key_pattern, f"key_pattern has no group {', '.join(IN_TEXTS)}: (?P<key>…)")
        needed = {"moment", *_WAYS[self.direction_by]}
        needed |= {"description"} if self.groups else set()
        needed |= set() if self.makes_keys or "key" in self.groups else {"key"}
        missing = sorted(needed - (self.columns.keys() - self.optional))
        self._demand(not missing, f"no column is declared for {', '.join(missing)}")
        self._demand(self.direction_by != "words" or self.directions, "no words are declared for the direction")
        self._demand(self.direction_by != "parties" or self.own, "own is not declared, so the direction is unknown")
        self._demand("{phone}" in self.party, "party has no {phone}")
        twice = sorted(key for key, count in Counter(self.keys.values()).items() if count > 1)
        self._demand(not twice, f"the heading {', '.join(twice)} is declared twice")
        self._demand(self.dates and self.preamble_dates, "no date format is declared")
        self._demand(CODE.fullmatch(self.currency), f"currency is three capital letters, not {self.currency!r}")
        for name in ("openings", "footers"):
            begins = [*map(str.strip, getattr(self, name))]
            self._demand("" not in begins, f"{name} has an empty text, which begins all rows")
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
        """The sign of a row's direction: `words`, `columns` (debit and credit), `parties` or the amount's `sign`."""
        return next(way for way, (first, *_) in _WAYS.items() if first in self.columns or way == "sign")

    @cached_property
    def groups(self) -> list[str]:
        """The names of the groups of `key_pattern`; a name may occur several times."""
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
        """The required headings that are not in `present`, which has headings in the form of `heading_key`."""
        required = {name: key for name, key in self.keys.items() if name not in self.optional}
        return [self.columns[name] for name, key in required.items() if key not in present]

    def _demand(self, holds: object, otherwise: str) -> None:
        if not holds:
            raise StatementRefused(f"The layout {self.name!r} cannot be used: {otherwise}.", layout=self.name)


def _is_minor(heading: str) -> bool:
    return heading_key(heading).endswith("_minor")


@lru_cache(maxsize=2048)  # asked of the same cells by each layout that a file may be in
def heading_key(heading: str) -> str:
    """A heading, or a word in a cell, in the form in which they are compared: lower case, single spaces."""
    return " ".join(heading.split()).casefold()


SHIPPED: Final = (
    "mtn", "airtel", "airtel_signed", "zamtel", "aggregator", "mtn_portal", "airtel_merchant", "mpesa", "zanaco",
    "stanbic", "fnb",
)  # fmt: skip
"""The names of the layouts in this package; each is a TOML file that users can copy and change."""


def layout_in(path: Path) -> Layout:
    """The layout in a TOML file: its keys are the parameters of `Layout`. By default, `name` is the file's name.

    Raises StatementRefused: the file cannot be read, has an unknown key, or its settings are no valid layout.
    """
    try:
        return layout_from(path.read_bytes(), path.stem, path.name)
    except OSError as error:
        text = f"The layout {path.name} cannot be read: {error.strerror}."
        raise StatementRefused(text, file=path.name) from error
    except ValueError as error:
        raise StatementRefused(f"The layout {path.name} {error}.", file=path.name) from error


def layout_from(content: bytes, name: str, file: str) -> Layout:
    """The layout in TOML bytes, by default called `name`; messages call the file `file`.

    Raises StatementRefused: the settings are no valid layout. Raises ValueError: `content` is not TOML.
    """
    declared = {"name": name, **read_toml(content)}
    kinds = get_type_hints(Layout)
    for key, value in declared.items():
        # A table has texts for its words or fields; a setting with another value was meant for the layout.
        within = value if isinstance(value, dict) else {}
        if below := [name for name in within if name in kinds and not isinstance(within[name], str)]:
            names = " and ".join(below)
            belong = f"{names} belong{'s' * (len(below) == 1)} above [{key}]"
            why = f"{belong}, since what stands below is part of that table"
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


LAYOUTS: Final[Mapping[str, Layout]] = {
    name: layout_in(Path(__file__).with_name("shipped") / f"{name}{SUFFIX}") for name in SHIPPED
}
"""Name → shipped layout. If the caller names no layout, a file is recognised as one of these."""


def tried_layouts(
    layout: str | Path | Layout | None, layouts: str | Path | Iterable[Layout | str | Path] = ()
) -> tuple[Layout, ...]:
    """The layouts to try: only `layout` if it is given, else the shipped ones and `layouts`.

    Raises StatementRefused: no layout has that name, two given layouts share a name, a folder has no layout, or an
    argument is of another type.
    """
    if isinstance(layout, Layout):
        return (layout,)
    if not isinstance(layout, str | Path | None):
        raise StatementRefused(f"Give a layout, Layout(name=…, …) or its name, not a {type(layout).__name__}.")
    if layout is not None and Path(layout).suffix == SUFFIX:
        return (layout_in(Path(layout)),)
    if isinstance(layouts, str | Path):
        folder, layouts = layouts, sorted(Path(layouts).glob(f"*{SUFFIX}"))
        if not layouts:
            raise StatementRefused(f"{folder} is not a folder of layouts: it has no {SUFFIX} file in it.")
    layouts = [*layouts] if isinstance(layouts, Iterable) else [layouts]
    if wrong := [item for item in layouts if not isinstance(item, Layout | str | Path)]:
        raise StatementRefused(f"Give layouts as a folder, or as a list of layouts and their files, not {wrong[0]!r}.")
    own = [item if isinstance(item, Layout) else layout_in(Path(item)) for item in layouts]
    twice = [name for name, count in Counter(item.name for item in own).items() if count > 1]
    if twice:
        text = f"Two layouts are named {', '.join(twice)}: rename one."
        raise StatementRefused(text, layouts=tuple(twice))
    known = {**LAYOUTS, **{item.name: item for item in own}}
    if layout is None:
        return tuple(known.values())
    if layout not in known:
        text = f"{str(layout)!r} is not a layout; there are {', '.join(known)}, and those in {SUFFIX} files."
        raise StatementRefused(text, layout=str(layout), layouts=tuple(known))
    return (known[str(layout)],)


_DEBIT: Final = "debit, dr, debit amount, amount debit, debits, soll, montant debit, debito, debitos"
_CREDIT: Final = "credit, cr, credit amount, amount credit, credits, haben, montant credit, credito, creditos"
_GOES_OUT: Final = (
    "withdrawn, withdrawal, withdrawals, withdrawal amount, withdrawal amt, money out, paid out, lastschrift, "
    "belastung, ausgaben, saida, saidas"
)
_COMES_IN: Final = (
    "paid in, deposit, deposits, deposit amount, deposit amt, money in, lodgements, gutschrift, einnahmen, "
    "entrada, entradas"
)
HEADINGS: Final[Mapping[str, str]] = {
    "key": "transaction id, transaction ref, transaction reference, receipt no, receipt number, id, txn id, trans id, "
    "financial transaction id, reference number, reference no, reference, cheque ref, ref, ref no, bank reference, "
    "cheque no, cheque number, chq no, chq number, chq ref, trace id, journal no, "
    "referenz, belegnummer, transaktionsnummer, numero de reference, n de piece, n documento, documento",
    "moment": "transaction date, txn date, trans date, completion time, date time, date and time, booked at, "
    "transaction date time, posting date, booking date, date, entry date, transaction time, value date, timestamp, "
    "created at, initiation time, day, "
    "buchungstag, buchungsdatum, datum, date operation, date d operation, date comptable, "
    "data, data movimento, data mov, data lancamento, tarehe, wertstellung, valuta",
    "time": "time, txn time, trans time, transaction time, posting time",
    "direction": "credit debit, debit credit, cr dr, dr cr, d c, c d, direction, dc indicator, indicator, sign",
    "debit": f"{_DEBIT}, {_GOES_OUT}",
    "credit": f"{_CREDIT}, {_COMES_IN}",
    "amount": "amount, transaction amount, gross amount, txn amount, value, "
    "umsatz, montant, valor, montante, quantia, kiasi",
    "fee": "fee, fees, charge, charges, service fee, transaction fee, service charge, transaction charge, commission, "
    "gebuhr, gebuhren, entgelt, frais, taxa, comissao, ada",
    "balance": "balance, running balance, ledger balance, balance after, closing balance, account balance, "
    "book balance, available balance, "
    "saldo, kontostand, solde, saldo contabilistico, saldo disponivel, salio",
    "status": "transaction status, status, state, txn status, result",
    "type": "transaction type, type, reason type, txn type, trans type, category, service type",
    "description": "narrative, narration, description, details, particulars, transaction details, remarks, "
    "transaction description, note message, information, message, note, memo, memo description, text, "
    "verwendungszweck, buchungstext, libelle, descricao, descritivo, historico, maelezo",
    "currency": "currency, ccy, currency code, curr, wahrung, devise, moeda",
    "phone": "customer msisdn, msisdn, phone, phone number, customer phone, mobile, mobile number, other party info, "
    "other party, counterparty, customer",
    "from": "from, sender msisdn, sender, from msisdn, payer, payer msisdn",
    "to": "to, receiver msisdn, receiver, recipient msisdn, recipient, to msisdn, payee, payee msisdn, beneficiary",
    "batch": "batch id, batch no, batch, settlement ref, settlement reference, settlement id",
    "related": "linked transaction id, original id, original transaction id, external transaction id, related ref, "
    "linked receipt no, external id, order id, merchant reference, customer reference, reference",
}
"""Field → headings that usually mean it, joined by commas in the form of `plain`, the likeliest first."""
LEDGER_HEADINGS: Final[Mapping[str, str]] = {
    "account": "account, account name, account full name, distribution account, ledger account, gl account, nominal, "
    "nominal account, konto, compte, conta",
    "entry": "entry, entry no, entry number, journal entry, je no, trans no, trans",
    **{name: words for name, words in HEADINGS.items() if name != "type"},
    "key": f"num, {HEADINGS['key']}, doc no, document no, voucher no",
    "debit": f"{_CREDIT}, {_GOES_OUT}",
    "credit": f"{_DEBIT}, {_COMES_IN}",
}
"""Field → headings that usually mean it in a ledger, where incoming money is a debit."""
_SIGNS: Final = re.compile(r"[^a-z0-9]+")
_CODE: Final = re.compile(rf" (?:kwacha|k|{'|'.join(ISO_4217).lower()})$")

_DIRECTION_WORDS: Final = {
    "in": "cr, credit, c, in, deposit, received, incoming, +",
    "out": "dr, debit, d, out, withdrawal, sent, outgoing, -",
}
_STATUS_WORDS: Final = {
    "completed": "successful, success, completed, complete, ts, transaction success, transaction successful, "
    "processed, posted, booked, settled, paid, approved, ok",
    "failed": "failed, failure, tf, transaction failed, rejected, declined, cancelled, canceled, expired, error",
    "pending": "pending, in progress, initiated, processing, awaiting, ongoing, tip, unposted",
}
TYPE_PARTS: Final = (
    ("reversal", "revers"), ("refund", "refund"), ("fee", "fee|charge|commission|levy"),
    ("payout", "payout|disburs|b2c|withdraw|salary|bulk"), ("transfer", "sweep|settle|transfer|organi[sz]ation"),
    ("payment", "pay|collect|purchase|deposit|buy goods|c2b|cash ?in|sale"),
)  # fmt: skip
"""Pairs of a type and a pattern of the words that mean it; the first matching pattern decides."""
CHARGE: Final = r"(?i)\b(?:fees?|charges?|commissions?|levy|excise|maintenance)\b"
"""A pattern that matches in the narrative of a bank's charge."""
INTEREST: Final = r"(?i)\binterest\b"
"""A pattern that matches in the narrative of interest."""
OPENING: Final = re.compile(
    r"\W*(?:(?:opening|closing|brought forward|carried forward|previous|start(?:ing)?|beginning|final) bal(?:ance)?"
    r"(?!\w* (?:equity|adjustment|offset))"
    r"|(?:bal(?:ance)?\.? *)?(?:[bc]/?f(?:wd)?\b|brought forward|carried forward)"
    r"|saldovortrag|(?:anfangs|end|schlu(?:ss|ß)|alter |neuer )saldo|(?:alter |neuer )kontostand"
    r"|(?:ancien|nouveau) solde|solde (?:initial|final|pr[eé]c[eé]dent|ant[eé]rieur|report[eé])|report (?:à|a) nouveau"
    r"|saldo (?:anterior|inicial|final|atual|actual|transportado|em)|salio (?:anzia|la awali))",
    re.IGNORECASE,
)
"""Matches the beginning of the narrative of a row that only states a balance.

It does not match the names of accounts, such as Opening Balance Equity.
"""
PAGE: Final = (
    r"(?i)^\W*(?:page|seite|p[aá]gina|ukurasa)(?:\W*(?:number|no|nr))?\W*[0-9]+"
    r"(?:\s*(?:of|von|de|sur|ya|/)\s*[0-9]+)?\W*$"
)
"""A pattern that matches a page number, such as `Page 2 of 3` or `Page No. 2`, and nothing else in the text."""
TOTAL: Final = re.compile(r"\W*(?:sub-?)?(?:grand )?(?:totals?|totaux|totais|summen?|gesamt|jumla)\b", re.IGNORECASE)
_LABELS: Final = {
    "currency": "currency, ccy, account currency",
    "period": "period, time period, statement period, date range, transaction period, report period",
    "first": "period from, from, from date, start date, statement from, date from",
    "last": "period to, to, to date, end date, statement to, date to",
    "number": "account no, account number, account, a c no, acc no, acct no, iban, merchant msisdn, "
    "organization short code, short code, till number, kontonummer, konto, numero de compte, n de compte, compte, "
    "numero da conta, numero de conta, n da conta, no da conta, conta, akaunti",
    "opening": "opening balance, balance brought forward, balance b f",
    "closing": "closing balance, balance carried forward, balance c f",
}


def plain(heading: str) -> str:
    """A heading as it is looked up in HEADINGS: lower case, without signs, accents and the currency's code."""
    letters = unicodedata.normalize("NFKD", heading_key(heading))
    plain_letters = "".join(letter for letter in letters if not unicodedata.combining(letter))
    return _CODE.sub("", _SIGNS.sub(" ", plain_letters).strip())


def _listed(known: Mapping[str, str]) -> dict[str, str]:
    """Turns meaning → words (joined by commas) into word → meaning."""
    return {word: meaning for meaning, words in known.items() for word in words.split(", ")}


DIRECTION_WORDS, STATUS_WORDS, LABELS = map(_listed, (_DIRECTION_WORDS, _STATUS_WORDS, _LABELS))
"""Word → its meaning: a direction (`in` or `out`), a status, or a field above the header."""
