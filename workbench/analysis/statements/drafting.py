"""A first draft of a layout, made from a file: what its rows prove is declared, and what they do not is a doubt."""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields, replace
from datetime import datetime
from fnmatch import fnmatchcase
from html import escape
from itertools import islice, pairwise
from pathlib import Path
from typing import Any, Final, NamedTuple

from workbench.analysis.shapes import DIRECTIONS, STATUSES
from workbench.analysis.statements.cells import Amounts, Cell, Wrong, refused, text_of
from workbench.analysis.statements.dates import DateFormat
from workbench.analysis.statements.dialect import CellRows, Line, cell_rows_of, digest_of, pair_of
from workbench.analysis.statements.layouts import FIELDS, SUFFIX, TYPES, Layout, heading_key, layout_from
from workbench.analysis.statements.recognising import HEADER_WITHIN, recognised
from workbench.analysis.statements.statement import Statement, read_statement, tried_layouts
from workbench.analysis.statements.writing import absent
from workbench.domain.masking import mask, shortened
from workbench.domain.moments import LUSAKA, moment
from workbench.domain.money import major_text
from workbench.domain.phones import mask_column
from workbench.errors import StatementRefused
from workbench.render import Column, Table, bundle, table
from workbench.visible import visible

_MOST_ROWS: Final = 50_000
"""So many rows are looked at; what the others have is seen when they are read."""
_MOST_WORDS: Final = 30
_LEAST_FIELDS: Final = 3
_NEARLY_ALL: Final = 0.9
_DELIMITERS: Final = ",;\t|"

_HEADINGS: Final[Mapping[str, str]] = {
    "key": "transaction id, transaction ref, transaction reference, receipt no, receipt number, id, txn id, trans id, "
    "financial transaction id, reference number, reference no, reference, cheque ref, ref, ref no, bank reference, "
    "cheque no, cheque number, trace id, journal no",
    "moment": "transaction date, txn date, trans date, completion time, date time, date and time, booked at, "
    "transaction date time, posting date, booking date, date, entry date, transaction time, value date, timestamp, "
    "created at, initiation time",
    "time": "time, txn time, transaction time",
    "direction": "credit debit, debit credit, cr dr, dr cr, d c, c d, direction, dc indicator, indicator, sign",
    "debit": "debit, dr, withdrawn, withdrawal, withdrawals, debit amount, amount debit, debits, money out, paid out",
    "credit": "credit, cr, paid in, deposit, deposits, credit amount, amount credit, credits, money in, lodgements",
    "amount": "amount, transaction amount, gross amount, txn amount, value",
    "fee": "fee, fees, charge, charges, service fee, transaction fee, service charge, transaction charge, commission",
    "balance": "balance, running balance, ledger balance, balance after, closing balance, account balance, "
    "book balance, available balance",
    "status": "transaction status, status, state, txn status, result",
    "type": "transaction type, type, reason type, txn type, trans type, category, service type",
    "description": "narrative, narration, description, details, particulars, transaction details, remarks, "
    "transaction description, note message, information, message, note, memo",
    "currency": "currency, ccy, currency code, curr",
    "phone": "customer msisdn, msisdn, phone, phone number, customer phone, mobile, mobile number, other party info, "
    "other party, counterparty, customer",
    "from": "from, sender msisdn, sender, from msisdn, payer, payer msisdn",
    "to": "to, receiver msisdn, receiver, recipient msisdn, recipient, to msisdn, payee, payee msisdn, beneficiary",
    "batch": "batch id, batch no, batch, settlement ref, settlement reference, settlement id",
    "related": "linked transaction id, original id, original transaction id, external transaction id, related ref, "
    "linked receipt no, external id, order id, merchant reference, customer reference, reference",
}
"""Field → the headings under which it is found, the likeliest first; signs and the currency's code are left out."""
_PARTS: Final = {
    "moment": "date", "balance": "balance", "debit": "debit|withdraw", "credit": "credit|deposit", "amount": "amount",
    "description": "narrat|descr|detail|particular", "key": "ref|receipt|trans.* id|voucher", "fee": "fee|charge",
    "status": "status",
}  # fmt: skip
"""Field → a part of a heading that nothing else explains."""
_SIGNS: Final = re.compile(r"[^a-z0-9]+")
_CODE: Final = re.compile(r" (?:zmw|kwacha|k)$")

_DAYS: Final = (
    "%d/%m/%Y", "%m/%d/%Y", "%Y/%m/%d", "%d-%m-%Y", "%m-%d-%Y", "%Y-%m-%d", "%d.%m.%Y", "%m.%d.%Y", "%d %m %Y",
    "%d-%b-%Y", "%d %b %Y", "%d/%b/%Y", "%b %d, %Y", "%b %d %Y", "%Y%m%d", "%d%b%Y", "%d/%m/%y", "%m/%d/%y",
    "%d-%m-%y", "%m-%d-%y", "%d.%m.%y", "%d-%b-%y", "%d %b %y",
)  # fmt: skip
_TIME: Final = re.compile(
    r"(?P<gap>[ T]?)[0-9]{1,2}:[0-9]{2}(?P<seconds>:[0-9]{2})?(?P<part>[.][0-9]+)?(?P<blank> ?)(?P<half>[ap]m)?"
    r"(?P<zone>Z|[+-][0-9]{2}:?[0-9]{2})?$",
    re.IGNORECASE,
)
_SEPARATORS: Final = ((".", ""), (".", ","), (",", ""), (",", "."), (",", " "), (".", " "), (".", "'"), (",", "'"))
_DIRECTIONS: Final = {
    "in": "cr, credit, c, in, deposit, received, incoming, +",
    "out": "dr, debit, d, out, withdrawal, sent, outgoing, -",
}
_STATUSES: Final = {
    "completed": "successful, success, completed, complete, ts, transaction success, transaction successful, "
    "processed, posted, booked, settled, paid, approved, ok",
    "failed": "failed, failure, tf, transaction failed, rejected, declined, cancelled, canceled, expired, error",
    "pending": "pending, in progress, initiated, processing, awaiting, ongoing, tip, unposted",
}
_TYPES: Final = (
    ("reversal", "revers"), ("refund", "refund"), ("fee", "fee|charge|commission|levy"),
    ("payout", "payout|disburs|b2c|withdraw|salary|bulk"), ("transfer", "sweep|settle|transfer|organi[sz]ation"),
    ("payment", "pay|collect|purchase|deposit|buy goods|c2b|cash ?in|sale"),
)  # fmt: skip
"""Type → what is in a word that means it; the first that is."""
_PREAMBLE: Final = {
    "currency": "currency, ccy, account currency",
    "first": "period from, from, from date, start date, statement from, date from",
    "last": "period to, to, to date, end date, statement to, date to",
    "opening": "opening balance, balance brought forward, balance b f",
    "closing": "closing balance, balance carried forward, balance c f",
}
_ACCOUNT: Final = re.compile(r"[a-z_]+(?::[a-z0-9_]+)+")
_OPENING: Final = re.compile(
    r"\W*(?:(?:opening|closing|brought forward|carried forward|previous|start(?:ing)?) bal(?:ance)?"
    r"|(?:bal(?:ance)?\.? *)?(?:[bc]/?f(?:wd)?\b|brought forward|carried forward))",
    re.IGNORECASE,
)
_REFERENCE: Final = re.compile(r"(?<![A-Z0-9])([A-Z]{2,4})([0-9][A-Z0-9.]{5,})(?![A-Z0-9])")
"""Something like `SW2610130001` in a narrative: letters that say whose it is, and the rest."""
_NUMBER: Final = re.compile(r"\+?[0-9*•]{9,15}")
_DIGITS: Final = re.compile(r"(?<![0-9A-Za-z])\+?[0-9]{9,15}(?![0-9A-Za-z])")

_DEFAULTS: Final = {each.name: each.default for each in fields(Layout)}
_ORDER: Final = (
    "account", "currency", "encoding", "delimiter", "dates", "utc_offset_hours", "decimal", "thousands", "debits",
    "openings", "footers", "key_pattern", "makes_keys", "own", "party", "preamble_date", "kinds", "optional", "ignored",
)  # fmt: skip
_TABLES: Final = ("columns", "directions", "statuses", "types", "preamble")
"""In this order a person reads a layout; it is TOML's too: tables come last."""


def plain(heading: str) -> str:
    """A heading without signs and the currency's code, as it is looked up."""
    return _CODE.sub("", _SIGNS.sub(" ", heading_key(heading)).strip())


def _listed(known: Mapping[str, str]) -> dict[str, str]:
    return {word: meaning for meaning, words in known.items() for word in words.split(", ")}


class Cut(NamedTuple):
    """A file, cut into cells, with the line that is like a header."""

    path: Path
    rows_of: CellRows
    encoding: str
    headings: tuple[str, ...]
    """As the file writes them, the second of a name as `Currency#2`; the blank ones at the end are left out."""
    line: int
    above: tuple[Line, ...]
    rows: tuple[Line, ...]
    """Those below the header; _MOST_ROWS of them at most."""

    def column(self, heading: str) -> list[tuple[int, Cell]]:
        """The line and the cell of each row; an empty text where a row is too short."""
        place = self.headings.index(heading)
        return [(line, cells[place] if place < len(cells) else "") for line, cells in self.rows]

    def texts(self, heading: str) -> list[tuple[int, str]]:
        """The line and the text of each cell that is not blank."""
        return [(line, text) for line, cell in self.column(heading) if (text := text_of(cell).strip())]


def cut(path: Path) -> Cut:
    """The one way to cut a file of which a line is most like a header.

    Raises StatementRefused: it cannot be read at all, or no line has the headings of a statement.
    """
    digest_of(path)
    encoding = _encoding_of(path)
    stub = Layout(name=path.name, columns={"key": "k", "moment": "m", "amount": "a"}, dates=("%Y-%m-%d",))
    ways = cell_rows_of(path, [replace(stub, delimiter=mark, encoding=encoding) for mark in _DELIMITERS])
    likest: tuple[int, int, CellRows, Line, tuple[Line, ...]] | None = None
    failure: StatementRefused | None = None
    for way in ways:
        head: list[Line] = []
        try:
            head.extend(islice(way.lines(), HEADER_WITHIN))
        except StatementRefused as wrong:
            failure = failure or wrong
        for place, (line, cells) in enumerate(head):
            found = len(assigned(headings_of(cells)))
            if found > (likest[0] if likest else _LEAST_FIELDS - 1):
                likest = found, -line, way, (line, cells), tuple(head[:place])
    if likest is None:
        raise failure or refused(
            path.name,
            f"has no header that is known: in none of its first {HEADER_WITHIN} lines are there headings of a date, "
            "an amount and a reference.",
            hint="Write the layout by hand; notebook 12 has one.",
        )
    _, _, way, (line, cells), above = likest
    rows = tuple(islice((each for each in way.lines() if each[0] > line), _MOST_ROWS))
    return Cut(path, way, encoding, headings_of(cells), line, above, rows)


def _encoding_of(path: Path) -> str:
    """UTF-8 if the whole file is; else what Windows writes. A mark in the file goes before it."""
    for encoding in ("utf-8", "cp1252"):
        try:
            with path.open(encoding=encoding, newline="") as handle:
                while handle.read(1 << 20):
                    pass
        except UnicodeError:
            continue
        return encoding
    return "latin-1"


def headings_of(cells: Sequence[Cell]) -> tuple[str, ...]:
    """The headings in a line, the second of a name as `Currency#2`; the blank ones at the end are left out."""
    texts = [" ".join(text_of(cell).split()) for cell in cells]
    while texts and not texts[-1]:
        texts.pop()
    seen: Counter[str] = Counter()
    made = []
    for text in texts:
        seen[heading_key(text)] += bool(text)
        count = seen[heading_key(text)]
        made.append(f"{text}#{count}" if count > 1 else text)
    return tuple(made)


def assigned(headings: Sequence[str]) -> dict[str, str]:
    """Field → the heading under which it likely stands."""
    left = {plain(heading): heading for heading in reversed(headings) if heading}
    found: dict[str, str] = {}
    for name, words in _HEADINGS.items():
        word = next((each for each in words.split(", ") if each in left), None)
        if word is not None:
            found[name] = left.pop(word)
    return found


class Draft:
    """A layout in the making: `declared` as a TOML file has it, what proves it, and what is doubted.

    It shows itself as that file; in JupyterLab as a table to edit. `use` and `declare` do the same from a script.
    """

    def __init__(self, file: Cut) -> None:
        self.file = file
        self.declared: dict[str, Any] = {"columns": {}}
        self.proofs: dict[str, str] = {}
        """Where in the layout, such as `dates` or `statuses.TS` → what stands behind it as a comment."""
        self.doubts: dict[str, list[str]] = {}
        """Where in the layout → what a person has to decide, a line each."""
        self.above: list[str] = []
        self.moving: list[int] = []
        """The lines of rows that are movements."""

    def doubt(self, where: str, text: str) -> None:
        """Leave something to be decided."""
        self.doubts.setdefault(where, []).append(text)

    def use(self, heading: str, field: str | None) -> None:
        """Read the column under this heading as `field`, one of FIELDS; None ignores it.

        Raises StatementRefused: the file has no such column, or there is no such field.
        """
        if heading not in self.file.headings or (field is not None and field not in FIELDS):
            text = f"{heading!r} as {field!r} cannot be read: it has {', '.join(self.file.headings)}"
            raise refused(
                self.file.path.name, f"has no such column or field; {text}; and fields are {', '.join(FIELDS)}."
            )
        columns = self.declared["columns"]
        for name in [name for name, found in columns.items() if heading == found or name == field]:
            del columns[name]
            self.doubts.pop(f"columns.{name}", None)
        if field is not None:
            columns[field] = heading
        self.declared["ignored"] = [each for each in self.file.headings if each and each not in columns.values()]

    def declare(self, **settings: Any) -> None:  # noqa: ANN401  the settings of a layout are of several types
        """Set settings of `Layout` by name; None takes one out, and its doubts are settled.

        Raises StatementRefused: there is no such setting.
        """
        for name, value in settings.items():
            if name not in _DEFAULTS:
                raise StatementRefused(f"A layout has no {name}; it has {', '.join(_DEFAULTS)}.", setting=name)
            self.declared.pop(name, None)
            if value is not None:
                self.declared[name] = value
            for each in [name, *(each for each in self.proofs.keys() | self.doubts if each.startswith(f"{name}."))]:
                self.proofs.pop(each, None)
                self.doubts.pop(each, None)

    @property
    def layout(self) -> Layout:
        """What the draft declares. Raises StatementRefused: it cannot be used yet, and why."""
        return layout_from(self.toml, self.file.path.stem, self.file.path.name)

    @property
    def toml(self) -> str:
        """The layout as a file, in the order in which a person reads it."""
        lines = [*map(_comment, self.above)]
        for name in _ORDER:
            lines += self._setting(name, name, self.declared.get(name))
        for name in _TABLES:
            values = self.declared.get(name, {})
            rows = [line for key, value in values.items() for line in self._setting(f"{name}.{key}", key, value)]
            loose = [f"# ? {_comment(each)[2:]}" for each in self.doubts.get(name, ())]
            if values or loose:
                lines += ["", f"[{name}]" if values else f"# [{name}]", *rows, *loose]
        return "\n".join(lines) + "\n"

    def _setting(self, where: str, key: str, value: object) -> Iterator[str]:
        for doubt in self.doubts.get(where, ()):
            yield f"# ? {_comment(doubt)[2:]}"
        if value or value is False:
            proof = self.proofs.get(where)
            yield f"{_key(key)} = {_value(value)}" + (f"  {_comment(proof)}" if proof else "")

    def statement(self) -> Statement:
        """The file, read so. Raises StatementRefused: see `read_statement`."""
        return read_as(self.file.path, self.layout)

    def check(self) -> "Check":
        """The first rows as they would be read, and what is wrong with others."""
        return Check(self.statement())

    def __repr__(self) -> str:
        return self.toml

    def write(self, path: str | Path, *, replace: bool = False) -> None:
        """Write the layout to a `.toml` file, over one that is there only with `replace`.

        Raises StatementRefused: it is there, it ends otherwise, or it cannot be written.
        """
        target = Path(path)
        if target.suffix != SUFFIX:
            raise refused(str(path), f"ends otherwise: a layout is a {SUFFIX} file.")
        try:
            with target.open("w" if replace else "x", encoding="utf-8", newline="\n") as handle:
                handle.write(self.toml)
        except FileExistsError:
            raise refused(str(path), "is there already.", hint="Give another name, or ask to replace it.") from None
        except OSError as wrong:
            raise refused(str(path), f"cannot be written: {wrong.strerror}.") from None


def read_as(path: Path, layout: Layout, **options: Any) -> Statement:  # noqa: ANN401  the options of `read_statement`
    """The statement in a file; where nothing says whose it is, that is no reason not to look at it."""
    told = layout if layout.account or options.get("account") else replace(layout, account=_NOT_TOLD)
    return read_statement(path, layout=told, **options)


def checked(path: str | Path, **options: Any) -> "Check":  # noqa: ANN401  the options of `read_statement`
    """How a file is read by the layout that is named or recognised; by a draft, where there is none.

    Raises StatementRefused: see `read_statement`.
    """
    source = Path(path)
    digest_of(source)
    tried = tried_layouts(options.pop("layout", None), options.pop("layouts", None) or ())
    try:
        layout = recognised(source.name, cell_rows_of(source, tried), tried, named=len(tried) == 1).layout
    except StatementRefused as wrong:
        if len(tried) == 1 or "headings" not in wrong.facts:
            raise
        layout = draft_layout(source).layout
    return Check(read_as(source, layout, **options))


_NOT_TOLD: Final = "(not told)"
_SHOWN: Final = 10
_REASONS: Final = 5


class Check:
    """Ten rows as a layout reads them, and what it says of the others; shows itself as text and as HTML."""

    def __init__(self, statement: Statement) -> None:
        self.statement = statement

    @property
    def is_sound(self) -> bool:
        """Whether every row can be used, and the balance follows where it is told."""
        return (
            bool(len(self.statement.rows))
            and not self.statement.rows["problem"].notna().any()
            and self.statement.findings.empty
        )

    def _table(self) -> Table:
        rows = self.statement.rows.head(_SHOWN)
        columns = [Column(each, each in _AMOUNTS) for each in ("line", "when", "way", *_AMOUNTS_SHOWN, *_SHOWN_TEXTS)]
        return table(
            f"{self.statement.name}, read as {self.statement.layout}", columns, map(_row, rows.to_dict("records"))
        )

    def __str__(self) -> str:
        reasons = self.reasons()
        return "\n\n".join(
            [str(self._table()), *([str(reasons)] if reasons.rows else []), "\n".join(summary(self.statement))]
        )

    __repr__ = __str__

    def reasons(self) -> Table:
        """Why rows cannot be used: the commonest reasons, each with its first line."""
        bad = self.statement.rows.dropna(subset=["problem"])
        counts: Counter[str] = Counter()
        first: dict[str, str] = {}
        for line, problem in zip(bad["line"], bad["problem"], strict=True):
            for why in map(mask, str(problem).split("; ")):
                counts[why] += 1
                first.setdefault(why, str(line))
        rows = [(first[why], f"{count:,}", why) for why, count in counts.most_common(_REASONS)]
        columns = [Column("first line", numeric=True), Column("rows", numeric=True), Column("why")]
        return table("Unreadable, the commonest reasons", columns, rows)

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        said = "".join(f"<p>{escape(visible(each))}</p>" for each in summary(self.statement))
        reasons = self.reasons()
        return bundle(str(self), self._table().html() + (reasons.html() if reasons.rows else "") + said)


_SHOWN_TEXTS: Final = ("key", "phone", "type", "status", "words", "description")
_AMOUNTS_SHOWN: Final = ("amount", "fee", "balance")
_LONGEST: Final = 40


def _row(row: Mapping[Any, Any]) -> tuple[str, ...]:
    def text(name: str) -> str:
        return "" if absent(row[name]) else shortened(mask(str(row[name])), _LONGEST)

    def money(name: str) -> str:
        return (
            "" if absent(row[f"{name}_minor"]) else major_text(int(row[f"{name}_minor"]), str(row["currency"] or "ZMW"))
        )

    when = "" if absent(row["occurred_at"]) else f"{row['occurred_at'].tz_convert(LUSAKA):%Y-%m-%d %H:%M:%S}"
    return (
        str(row["line"]),
        when or text("business_date"),
        text("direction"),
        *map(money, _AMOUNTS_SHOWN),
        *map(text, _SHOWN_TEXTS),
    )


def summary(statement: Statement) -> list[str]:
    """How many rows there are, of which days, how many cannot be used, and whether the balance follows."""
    bad = int(statement.rows["problem"].notna().sum())
    days = " to ".join(map(str, statement.period)) if statement.period else "no day"
    account = "" if statement.account != _NOT_TOLD else "; the account is not told"
    return [
        f"{len(statement.rows):,} rows, {days}, {bad:,} unreadable{account}.",
        f"The running balance {statement.follows}.",
    ]


def _comment(text: str) -> str:
    """A line of comment: numbers of customers are masked, and nothing in it steers a terminal."""
    return "# " + visible(_DIGITS.sub(lambda found: mask_column(found[0]), mask(text)))


def _key(key: str) -> str:
    return key if re.fullmatch("[A-Za-z0-9_-]+", key) else _value(key)


def _value(value: object) -> str:
    if isinstance(value, str):
        # TOML's own escapes, which JSON's are but beyond 16 bits.
        return "".join(each if each.isprintable() else f"\\U{ord(each):08x}" for each in _quoted(value))
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_value, value))}]"
    return json.dumps(value)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _cutting(draft: Draft) -> None:
    """How the file is cut; its mark, or a sheet, says the rest."""
    file = draft.file
    marked = file.rows_of.says.split(",")[0] not in ("utf-8", file.encoding)
    if file.rows_of.delimiter is not None:
        draft.declared |= {"encoding": file.encoding} if file.encoding != "utf-8" and not marked else {}
        draft.declared |= {"delimiter": file.rows_of.delimiter} if file.rows_of.delimiter != "," else {}


def _columns(draft: Draft) -> None:
    """Each field by its heading; of several headings for one, the first that has anything in its column."""
    file = draft.file
    filled = [each for each in file.headings if each and (not file.rows or file.texts(each))]
    found = assigned(filled) | {}
    left = [each for each in filled if each not in found.values()]
    for name, part in _PARTS.items():
        of_kind = (each for each in left if re.search(part, plain(each)))
        needless = (
            name in found
            or (name in ("debit", "credit") and "amount" in found)
            or (name == "amount" and "debit" in found)
        )
        if not needless and (heading := next(of_kind, None)):
            found[name] = heading
            left.remove(heading)
            draft.doubt(f"columns.{name}", "by a part of its heading alone")
    if {"debit", "credit"} <= found.keys():
        # A column CR/DR beside the two is that of the balance.
        found.pop("direction", None)
        found.pop("amount", None)
    if not _is_time(draft, found.get("time")):
        found.pop("time", None)
    kinds = _listed(_DIRECTIONS)
    if "direction" not in found and "amount" in found and "type" in found:
        words = {heading_key(text) for _, text in file.texts(found["type"])}
        if words and words <= kinds.keys():
            found["direction"] = found.pop("type")
    columns = {name: found[name] for name in _HEADINGS if name in found}
    if "moment" not in columns:
        draft.doubt("columns", "moment = the heading of the day, or of the moment, of a row")
    draft.declared["columns"] = columns
    draft.declared["ignored"] = [each for each in file.headings if each and each not in columns.values()]


def _is_time(draft: Draft, heading: str | None) -> bool:
    texts = draft.file.texts(heading) if heading else []
    return bool(texts) and all(_TIME.match(text) for _, text in texts)


def _dates(draft: Draft) -> None:
    """The formats that read most rows; of those that read fewer, the row that shows it."""
    columns = draft.declared["columns"]
    if "moment" not in columns:
        return
    cells = draft.file.column(columns["moment"])
    moments = [cell for _, cell in cells if isinstance(cell, datetime)]
    if moments:
        has_time = any((each.hour, each.minute, each.second) != (0, 0, 0) for each in moments)
        draft.declare(dates=["%Y-%m-%d %H:%M:%S" if has_time else "%Y-%m-%d"])
        draft.proofs["dates"] = "the sheet has moments of its own; a text is read so"
        return
    texts = draft.file.texts(columns["moment"])
    counts = {each.pattern: sum(each.read(text) is not None for _, text in texts) for each in _formats(texts)}
    most = max(counts.values(), default=0)
    if not most:
        draft.doubt(
            "dates", f"no known format reads {columns['moment']}: {', '.join(repr(text) for _, text in texts[:3])}"
        )
        draft.declare(dates=["%Y-%m-%d"])
        return
    best = [DateFormat(pattern) for pattern, count in counts.items() if count == most]
    read = [[at for _, text in texts if (at := each.read(text)) is not None] for each in best]
    different = [0, *(place for place in range(1, len(best)) if read[place] != read[0])]
    kept = [best[place] for place in different]
    draft.declare(dates=[each.pattern for each in kept])
    if len(kept) == 1:
        others = [DateFormat(pattern) for pattern, count in counts.items() if 0 < count < most]
        draft.proofs["dates"] = _proof(kept[0], others, texts)
        return
    draft.doubt("dates", "no row decides between these: keep one, or the file that is read has to decide")
    for place in sorted(different, key=lambda each: not _in_order(read[each])):
        first, last = (f"{moment(at).date()}" for at in (min(read[place]), max(read[place])))
        order = ", and its rows are in order: likely this" if _in_order(read[place]) else ", its rows in no order"
        draft.doubt("dates", f"dates = [{_value(best[place].pattern)}]  # reads {first} to {last}{order}")


def _formats(texts: Sequence[tuple[int, str]]) -> list[DateFormat]:
    """Every day with each way in which a time stands behind it, as far as the reader knows it."""
    times: dict[str, None] = {}
    for _, text in texts:
        found = _TIME.search(text)
        if not found:
            times[""] = None
            continue
        half = f"{found['blank']}%p" if found["half"] else ""
        times[
            f"{found['gap']}{'%I' if half else '%H'}:%M{':%S' if found['seconds'] else ''}"
            f"{'.%f' if found['part'] else ''}{half}{'%z' if found['zone'] else ''}"
        ] = None
    made = []
    for day in _DAYS:
        for time in times:
            with suppress(StatementRefused):
                made.append(DateFormat(day + time))
    return made


def _proof(chosen: DateFormat, others: Sequence[DateFormat], texts: Sequence[tuple[int, str]]) -> str:
    """The first row that the chosen format reads and another does not."""
    for other in others:
        for line, text in texts:
            if chosen.read(text) is not None and other.read(text) is None:
                day_first, month_first = (each.pattern.find("%d") < each.pattern.find("%m") for each in (chosen, other))
                if day_first != month_first:
                    return f"line {line} {text!r} can only be {'day' if day_first else 'month'} first"
                return f"line {line} {text!r} is not {other.pattern}"
    return ""


def _in_order(moments: Sequence[int]) -> bool:
    pairs = list(pairwise(moments))
    return all(a <= b for a, b in pairs) or all(a >= b for a, b in pairs)


_AMOUNTS: Final = ("amount", "debit", "credit", "fee", "balance")


def _amounts(draft: Draft) -> None:
    """The separators that read most amounts; and how a debit is written in a column of its own."""
    columns = draft.declared["columns"]
    texts = [each for name in _AMOUNTS if name in columns for each in draft.file.texts(columns[name])]

    def read(decimal: str, thousands: str) -> int:
        amounts = Amounts(decimal, thousands)
        return sum(not isinstance(amounts.read(text), Wrong) for _, text in texts)

    counts = {pair: read(*pair) for pair in _SEPARATORS}
    decimal, thousands = max(counts, key=counts.__getitem__)
    simple = Amounts(*_SEPARATORS[0])
    proof = next((f"line {line} {text!r}" for line, text in texts if isinstance(simple.read(text), Wrong)), "")
    for name, value, default in (("decimal", decimal, "."), ("thousands", thousands, "")):
        if value != default:
            draft.declared[name], draft.proofs[name] = value, proof
    if unread := len(texts) - counts[decimal, thousands]:
        amounts = Amounts(decimal, thousands)
        line, text = next((line, text) for line, text in texts if isinstance(amounts.read(text), Wrong))
        draft.doubt("decimal", f"{unread} of {len(texts)} amounts are not read, such as line {line} {text!r}")
    if "debit" not in columns:
        return
    debits = draft.file.texts(columns["debit"])
    ways = Counter(
        "parentheses" if text.startswith("(") else "minus" if "-" in text or "\u2212" in text else "plain"
        for _, text in debits
        if re.search("[1-9]", text)
    )
    if ways and (way := ways.most_common(1)[0][0]) != "plain":
        draft.declared["debits"] = way
        draft.proofs["debits"] = f"{ways[way]} of {ways.total()}; another is a reversal"


def _directions(draft: Draft) -> None:
    """The words of the direction; or whose party is the account's own."""
    columns = draft.declared["columns"]
    if "direction" in columns:
        _words(draft, "direction", "directions", lambda word: _listed(_DIRECTIONS).get(heading_key(word)))
    if not {"from", "to"} <= columns.keys():
        for name in ("from", "to"):
            columns.pop(name, None)
        return
    pairs = list(
        zip(
            *([text_of(cell).strip() for _, cell in draft.file.column(columns[name])] for name in ("from", "to")),
            strict=True,
        )
    )
    parties = Counter(party for pair in pairs for party in pair if party)
    common = [party for party, _ in parties.most_common(5)]
    tried = [re.sub("(?<=:)[^/]+(?=/USER)", "*", each) for each in common]
    for own in dict.fromkeys(tried):
        pattern = own.replace("[", "[[]")
        clear = sum(fnmatchcase(sender, pattern) != fnmatchcase(taker, pattern) for sender, taker in pairs)
        if pairs and clear >= _NEARLY_ALL * len(pairs):
            draft.declared["own"], draft.proofs["own"] = own, f"in {clear} of {len(pairs)} rows on one side alone"
            _party(draft, [each for each in parties if not fnmatchcase(each, pattern)])
            return
    draft.doubt("own", "own = how the account's own party is written; without it the sign of the amount tells")
    draft.declared["ignored"] += [columns.pop(name) for name in ("from", "to")]


def _party(draft: Draft, texts: Sequence[str]) -> None:
    """What stands around a customer's number, where it is the same in nearly all cells."""
    around = Counter(
        f"{text[: found.start()]}{{phone}}{text[found.end() :]}" for text in texts if (found := _NUMBER.search(text))
    )
    for party, count in around.most_common(1):
        if party != "{phone}" and count >= _NEARLY_ALL * around.total():
            draft.declared["party"] = party


def _statuses(draft: Draft) -> None:
    _words(draft, "status", "statuses", lambda word: _listed(_STATUSES).get(heading_key(word)))


def _types(draft: Draft) -> None:
    _words(
        draft, "type", "types", lambda word: next((kind for kind, part in _TYPES if re.search(part, plain(word))), None)
    )


def _words(draft: Draft, field: str, table: str, meaning: Callable[[str], str | None]) -> None:
    """The words of a column with how often they stand there; one that is not known is left to be filled in."""
    columns = draft.declared["columns"]
    if field not in columns:
        return
    counts = Counter(" ".join(text.split()) for _, text in draft.file.texts(columns[field]))
    if len(counts) > _MOST_WORDS:
        draft.doubt(f"columns.{field}", f"it has {len(counts)} different words, too many for a {field}")
        return
    known = {}
    for word, count in sorted(counts.items(), key=lambda each: (-each[1], each[0])):
        rows = f"{count} row" if count == 1 else f"{count:,} rows"
        if (value := meaning(word)) is not None:
            known[word] = value
            draft.proofs[f"{table}.{word}"] = rows
        else:
            draft.doubt(table, f'{_value(word)} = ""  # {rows}: one of {", ".join(_MEANINGS[table])}')
    draft.declared[table] = known


_MEANINGS: Final = {"statuses": STATUSES, "types": TYPES, "directions": DIRECTIONS}


def _lines(draft: Draft) -> None:
    """The lines of totals below the rows, and the rows that only tell a balance."""
    columns = draft.declared["columns"]
    if "moment" not in columns:
        return
    formats = [DateFormat(each) for each in draft.declared["dates"]]
    moments = [
        isinstance(cell, datetime) or any(each.read(text_of(cell).strip()) is not None for each in formats)
        for _, cell in draft.file.column(columns["moment"])
    ]
    places = [place for place, is_row in enumerate(moments) if is_row]
    draft.moving = [draft.file.rows[place][0] for place in places]
    footers = []
    for _, cells in draft.file.rows[places[-1] + 1 if places else 0 :]:
        words = _beginning(next(text_of(cell) for cell in cells if cell != ""))
        if words:
            footers.append(words)
    if footers:
        draft.declared["footers"] = list(dict.fromkeys(footers))
    if "description" not in columns:
        return
    texts = draft.file.column(columns["description"])
    openings = {}
    for place, (line, cell) in enumerate(texts):
        found = _OPENING.match(text_of(cell).strip())
        if found and (place not in range(1, len(texts) - 1) or not _moves(draft, place)):
            openings[found[0].strip()] = f"line {line}"
            draft.moving = [each for each in draft.moving if each != line]
    if openings:
        draft.declared["openings"] = list(openings)
        draft.proofs["openings"] = ", ".join(openings.values())


def _moves(draft: Draft, place: int) -> bool:
    columns, cells = draft.declared["columns"], draft.file.rows[place][1]
    places = [draft.file.headings.index(columns[name]) for name in ("amount", "debit", "credit") if name in columns]
    return any(each < len(cells) and re.search("[1-9]", text_of(cells[each])) for each in places)


def _beginning(text: str) -> str:
    """The words with which a line begins, without what changes from file to file."""
    return re.split(r"[:0-9]", text.strip())[0].strip()


def _keys(draft: Draft) -> None:
    """Whether each movement has a key of its own, and what the narrative would give instead."""
    columns, moving = draft.declared["columns"], set(draft.moving)
    texts = draft.file.texts(columns["key"]) if "key" in columns else []
    keys = [text for line, text in texts if line in moving]
    of_rows = f"of {len(moving)} rows"
    repeated = len(keys) - len(set(keys))
    if repeated:
        text = f"{repeated} {of_rows} have the key of another: they are compared together, or are told twice"
        draft.doubt("columns.key", text)
    if "description" in columns and (repeated or len(keys) < len(moving)):
        _narrated(draft, columns["description"], of_rows)
    if len(keys) < len(moving):
        draft.declared["makes_keys"] = True
        draft.proofs["makes_keys"] = f"{len(moving) - len(keys)} {of_rows} have no key: it is made of what they say"


def _narrated(draft: Draft, heading: str, of_rows: str) -> None:
    """References in the narrative, where they begin alike: the pattern that would find them."""
    found = [(line, each) for line, text in draft.file.texts(heading) for each in _REFERENCE.finditer(text)]
    for head, count in Counter(each[1] for _, each in found).most_common(1):
        alike = [(line, each) for line, each in found if each[1] == head]
        shortest, longest = (pick(len(each[2]) for _, each in alike) for pick in (min, max))
        kind = "[0-9]" if all(each[2].isdigit() for _, each in alike) else "[0-9A-Z.]"
        many = f"{shortest}" if shortest == longest else f"{shortest},{longest}"
        line, first = alike[0]
        text = f"would find {first[0]!r} in line {line}, and a key in {count} {of_rows}"
        draft.doubt("key_pattern", f"key_pattern = '(?P<key>{head}{kind}{{{many}}})'  # {text}")


def _preamble(draft: Draft) -> None:
    """The labels above the header that are known; whose values can be read."""
    known, labels = _listed(_PREAMBLE), {}
    amounts = Amounts(draft.declared.get("decimal", "."), draft.declared.get("thousands", ""))
    days: list[tuple[int, str]] = []
    for line, cells in draft.file.above:
        label, value = pair_of(cells)
        text = text_of(value).strip()
        name = known.get(plain(label))
        if name is None and _ACCOUNT.fullmatch(text):
            name = "account"
        if name is None or not text or name in labels:
            continue
        if name in ("first", "last"):
            days.append((line, text))
        elif name in ("opening", "closing") and isinstance(amounts.read(value), Wrong):
            draft.doubt("preamble", f"{name} = {_value(label)}  # its value, {text!r} in line {line}, is not read")
            continue
        labels[name] = label
    if days:
        reads = [each for each in _formats(days) if all(each.read(text) is not None for _, text in days)]
        like = {each.split(" ")[0] for each in draft.declared.get("dates", ())}
        reads.sort(key=lambda each: each.pattern not in like)
        if reads:
            draft.declared["preamble_date"] = reads[0].pattern
        else:
            draft.doubt("preamble", f"its days are not read: {', '.join(repr(text) for _, text in days)}")
            labels = {name: label for name, label in labels.items() if name not in ("first", "last")}
    draft.declared["preamble"] = labels
    if "account" not in labels:
        draft.doubt("account", 'account = "bank:settlement"  # or another: the ledger account that the statement is of')


def _read(draft: Draft) -> None:
    """What comes of it; where the balance follows only without the fees, these are in the amounts already."""
    try:
        statement = draft.statement()
    except StatementRefused as wrong:
        draft.above.append(f"? It is not read so: {wrong}")
        return
    columns = draft.declared["columns"]
    if len(statement.findings) and "fee" in columns:
        draft.use(columns["fee"], None)
        without = draft.statement()
        if len(without.findings) < len(statement.findings):
            statement = without
    draft.above.append(f"Read so: {' '.join(summary(statement))}")


_STEPS: Final = (_cutting, _columns, _dates, _amounts, _directions, _statuses, _types, _lines, _keys, _preamble, _read)


def draft_layout(path: str | Path) -> Draft:
    """A first draft of the layout in which a file is written.

    Raises StatementRefused: it cannot be read at all, or has no line like a header.

    >>> draft_layout("october.csv").write("zanaco.toml")  # doctest: +SKIP
    """
    draft = Draft(cut(Path(path)))
    for step in _STEPS:
        step(draft)
    return draft
