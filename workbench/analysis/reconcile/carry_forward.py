"""The carry-forward of a run: open rows, the last day of each closed account, and the ledger rows that were read."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from workbench.analysis import files
from workbench.analysis.break_codes import DUPLICATE
from workbench.analysis.frames import arranged, arrow_table, day_number, frame, python_rows, typed, untyped, with_column
from workbench.analysis.phone_key import HASH_SEPARATOR, PhoneKey, key_from
from workbench.analysis.reconcile.engines import (
    Frame,
    SqlEngine,
    among,
    apart,
    both,
    column_list,
    conform,
    equality,
    mapped,
    texts_of,
)
from workbench.analysis.reconcile.inputs import (
    LEDGER,
    LEDGER_READ,
    OWN,
    ROW,
    SHARED,
    SIDES,
    STATEMENT,
    STATEMENT_READ,
    dated,
    side_rows,
)
from workbench.analysis.report.captions import counted
from workbench.analysis.shapes import AHEAD, CARRIED, CLOSED, COMPLETED, DAY, DECISION, READ, SIGNED, TOLD, Columns
from workbench.domain.moments import DAY_MS, LUSAKA_MS
from workbench.domain.money import money_text
from workbench.domain.phones import mask_column
from workbench.errors import ReconcileRefused
from workbench.text.render import DisplayColumn, DisplayTable, Tabular, table

_OURS = {own: our for names in (SHARED, *OWN.values()) for our, own in names.items()} | {"since_date": "since"}
"""Column name in CARRIED → its name in the rows of breaks, if the two differ."""
_LOST: Final = "lost" + HASH_SEPARATOR
"""Stands in for the hash of a carried number whose hash is missing; it equals the hash of no number."""
_NEVER_WHOLE: Final = ""
"""The hash that is carried for a number that was masked in every input."""
_COUNTED = (
    DisplayColumn(name, numeric=True) for name in ("open in the ledger", "on the statement", "statement's balance")
)
_COLUMNS: Sequence[str | DisplayColumn] = ["account", "gone through to", *_COUNTED]
GIVE_THE_KEY: Final = "Use one key in every run: --phone-key FILE (phone_key in Python)."
TOO_LATE: Final = "the day of the reconciliation"
"""The end of the problem text of a row that is dated after `as_of`; in a later run the date may be valid."""
_RUN_AGAIN: Final = "To keep them, run again with --decisions and --reviewed-by."
_CARRY_TO: Final = "Name the folder that --carry-to wrote in an earlier run."
KEPT: Final[Mapping[str, Columns]] = {
    "rows": CARRIED, "closed": CLOSED, "ahead": AHEAD, "decisions": DECISION, "read": READ, "told": TOLD,
    "signed": SIGNED,
}  # fmt: skip
"""The tables that one run leaves for the next."""
_LATER: Final = ("decisions", "read", "told", "signed")
"""Tables of KEPT that earlier versions of the program did not write."""


@dataclass(frozen=True, repr=False)
class CarryForward(Tabular):
    """The tables of KEPT, which one run leaves for the next.

    `rows` are open, `closed` has each account's last day, `ahead` the matched ledger rows after that day, `read` the
    ledger rows read so far, `told` the settled statement lines, and `signed` the signatures.

    Customers' numbers are masked, also in rows of an earlier version of the program that did not mask them. Before the
    first run the tables are empty. Raises ReconcileRefused: a table lacks a column.
    """

    rows: pd.DataFrame = field(default_factory=lambda: frame([], CARRIED))
    closed: pd.DataFrame = field(default_factory=lambda: frame([], CLOSED))
    ahead: pd.DataFrame = field(default_factory=lambda: frame([], AHEAD))
    decisions: pd.DataFrame = field(default_factory=lambda: frame([], DECISION))
    read: pd.DataFrame = field(default_factory=lambda: frame([], READ))
    told: pd.DataFrame = field(default_factory=lambda: frame([], TOLD))
    signed: pd.DataFrame = field(default_factory=lambda: frame([], SIGNED))
    unkeyed: int = field(default=0, kw_only=True)
    """The number of open rows whose customer's number was known unmasked, but whose hash no later run can compare."""

    def __post_init__(self) -> None:
        for kept, columns in KEPT.items():
            missing = [name for name in columns if name not in getattr(self, kept).columns]
            if missing:
                raise ReconcileRefused(f"What is carried forward has no {', '.join(missing)} in its {kept}.")
        phones = self.rows["phone"]
        if phones.notna().any():
            masked = phones.map({phone: mask_column(phone) for phone in phones.dropna().unique()}).astype(phones.dtype)
            object.__setattr__(self, "rows", self.rows.assign(phone=masked))

    @classmethod
    def load(cls, folder: str | Path) -> "CarryForward":
        """Read the tables that `save`, or `--carry-to`, wrote.

        Raises ReconcileRefused: there is no such folder, or a table is missing or damaged.
        """
        place = Path(folder)
        if not place.is_dir():
            raise ReconcileRefused(f"There is no folder {place} to carry forward from.", hint=_CARRY_TO)
        paths = {name: place / f"{name}{files.PARQUET}" for name in KEPT}
        expected = {name: path for name, path in paths.items() if name not in _LATER or path.exists()}
        if lacking := [path.name for path in expected.values() if not path.is_file()]:
            raise ReconcileRefused(f"{place} is not a carry-forward: it has no {', '.join(lacking)}.", hint=_CARRY_TO)
        try:
            tables: dict[str, Any] = {name: files.read(path, KEPT[name]) for name, path in expected.items()}
            return cls(**tables)
        except (OSError, ValueError) as error:
            why = (error.strerror if isinstance(error, OSError) else None) or error
            raise ReconcileRefused(f"{place} is not a carry-forward: {why}", hint=_CARRY_TO) from None

    def save(self, folder: str | Path) -> None:
        """Write the tables into a folder, as Parquet. Raises ReportRefused: they cannot be written."""
        for name, shape in KEPT.items():
            with files.written_whole(Path(folder) / f"{name}{files.PARQUET}", makes_folder=True) as path:
                files.write(getattr(self, name), path, shape)

    def lost_words(self, folder: str | Path) -> str:
        """A warning if `save` would overwrite more decisions, or replace a reviewed carry-forward by an unreviewed one.

        Empty if there is nothing to warn of, or if the carry-forward in the folder is of an earlier period.
        """
        paths = {name: Path(folder) / f"{name}{files.PARQUET}" for name in ("closed", "decisions", "signed")}
        try:
            tables: dict[str, Any] = {name: files.read(at, KEPT[name]) for name, at in paths.items() if at.exists()}
        except (OSError, ValueError):
            return ""
        before = CarryForward(**tables)
        many, fewer = (counted(len(kept.decisions), "decision") for kept in (before, self))
        by, now = (sorted({*kept.signed["reviewed_by"].dropna()} - {""}) for kept in (before, self))
        ends = self.ends
        is_later = any(ends.get(account, day) > day for account, day in before.ends.items())
        if is_later or (len(before.decisions) <= len(self.decisions) and (now or not by)):
            return ""
        reviewed = (f", reviewed by {' and '.join(names)}" if names else ", not reviewed" for names in (by, now))
        replaced, new = (f"{text}{more}" for text, more in zip((many, fewer), reviewed, strict=True))
        return f"{folder} held a period with {replaced}, and is overwritten by this run with {new}. {_RUN_AGAIN}"

    @property
    def is_first(self) -> bool:
        """True if no run came before."""
        return self.closed.empty

    def of(self, accounts: Sequence[str]) -> "CarryForward":
        """The carry-forward of some accounts, without decisions."""
        mine = {name: getattr(self, name) for name in KEPT if name != "decisions"}
        return CarryForward(**{name: kept[kept["account"].isin(accounts)] for name, kept in mine.items()})

    def judged_by(self, ends: Mapping[str, int]) -> "CarryForward":
        """Returns the carry-forward without the problems of rows whose date was too late, if this run reaches the date.

        `ends` is account → the last day of this run, counted from 1970.
        """
        late = self.rows[self.rows["problem"].str.endswith(TOO_LATE).fillna(value=False)]
        dated = zip(late.index, python_rows(late, "account", "business_date"), strict=True)
        come = [place for place, (account, day) in dated if day_number(day) <= ends[account]]
        if not come:
            return self
        rows = self.rows.copy()
        rows.loc[come, "problem"] = pd.NA
        return replace(self, rows=rows)

    def and_of(self, others: "CarryForward") -> "CarryForward":
        """This carry-forward combined with that of other accounts."""
        both = {name: [getattr(part, name) for part in (self, others)] for name in KEPT}
        return CarryForward(
            *(pd.concat(kept, ignore_index=True).astype(dict(KEPT[name])) for name, kept in both.items()),
            unkeyed=self.unkeyed,
        )

    @property
    def ends(self) -> dict[str, int]:
        """Account → its last closed day, counted from 1970."""
        return {name: day_number(day) for name, day in python_rows(self.closed, "account", "closing_date")}

    def closed_of(self, account: str) -> Mapping[str, Any]:
        """The account's row in the table `closed` (columns CLOSED); empty if no run has closed the account."""
        mine = self.closed[self.closed["account"] == account]
        return {} if mine.empty else {str(name): value for name, value in mine.iloc[0].items()}

    @property
    def note(self) -> str:
        """A sentence about customers' numbers that the next run cannot compare; empty if it can compare all."""
        return unkeyed_words(self.unkeyed)

    def _table(self) -> DisplayTable:
        waiting = self.rows.groupby(["account", "side"], observed=True).size().to_dict()
        rows = []
        for line in self.closed.to_dict("records"):
            open_rows = [f"{waiting.get((line['account'], side), 0):,}" for side in SIDES]
            balance = money_text(line["statement_minor"], line["currency"])
            rows.append((line["account"], f"{line['closing_date']}", *open_rows, balance))
        caption = f"Carried forward: {counted(len(self.rows), 'open row')}. {self.note}"
        return table(caption.rstrip(". "), _COLUMNS, rows)


_MOVING: Columns = {
    **dict.fromkeys(("account", "entry", "key", "hash", "was"), "string"),
    **dict.fromkeys(("no", "day", "nth"), "int64"), "is_new": "bool",
}  # fmt: skip
"""Columns of ledger rows that move money; `nth` counts the rows of an account with equal hashes, see _numbered.

`is_new` is false for rows that an earlier run left open.
"""
_READ: Columns = {name: _MOVING[name] for name in ("account", "hash", "nth", "key", "day")}
_NAMED_ENTRY: Columns = {name: _MOVING[name] for name in ("account", "entry")}
_BEGINS: Columns = {name: _MOVING[name] for name in ("account", "day")}
_ENTRY, _HASHED = ["account", "entry"], ["account", "hash"]
_SAME, _NTH, _PLACE = [*_ENTRY, "hash"], [*_HASHED, "nth"], [*_ENTRY, "no"]
_NAMED: Final = 5
_DAY: Final = f"day * {DAY_MS}"
_MIDNIGHT: Final = f"({_DAY} - {LUSAKA_MS})"
OLDER, OTHER_KEY = "older", "other key"
"""Reasons why it is unknown which rows of an account were read earlier.

OLDER: an earlier version of the program kept no hashes. OTHER_KEY: the hashes were made with another key.
"""


@dataclass(frozen=True)
class LedgerRead:
    """Today's ledger, compared with the rows that earlier runs read.

    `moving` returns a frame of the rows that move money (columns _MOVING). `unsettled` has the rows that this run
    compares (columns ROW), and `closed` the rows that earlier runs closed. `late` (columns READ) has rows that were
    booked after their date was closed, and `missing` (columns READ) rows that were read earlier and are now missing or
    changed. `unknown` is account → OLDER or OTHER_KEY, for accounts in which rows read earlier cannot be recognised.
    `begins` is account → the first day in today's ledger, for accounts that are not in `unknown`; it is empty if no row
    is missing. `key_id` is the id of the key that made the hashes.
    """

    moving: Callable[[], Frame]
    unsettled: Frame
    closed: Frame
    key_id: str
    late: pd.DataFrame
    missing: pd.DataFrame
    unknown: Mapping[str, str]
    begins: Mapping[str, int]


def ledger_read(engine: SqlEngine, ours: Frame, carried: CarryForward, key: PhoneKey) -> LedgerRead:
    """Separates ledger rows that an earlier run read from rows that were booked since, back-dated rows included.

    `ours` has today's ledger (columns ROW), `carried` is the earlier run's carry-forward. `key` makes the hashes.
    """
    heads = carried.read[carried.read["nth"] == 0].set_index("account")["hash"].to_dict()
    # Books that began without a key go on without one: the rows read have no other hashes.
    is_keyed = key.id != key_from(None).id and "" not in heads.values()
    key_id, secret = (key.id, key.of_rows) if is_keyed else ("", "")
    none = frame([], READ)
    if carried.is_first:
        nothing = f"(select * from {ours} where false)"

        def hashed() -> Frame:
            # To hash every row takes as long as to compare it, and only the carry-forward needs the hashes.
            return _numbered(engine, engine.keep(_moving(engine, ours, secret)))

        return LedgerRead(hashed, ours, nothing, key_id, none, none, {}, {})
    differ = [account for account in carried.closed["account"] if heads.get(account) != key_id]
    unknown = {account: OTHER_KEY if account in heads else OLDER for account in differ}
    is_unknown = f"account in ({', '.join(map(engine.text, differ)) or 'null'})"
    carried_open = engine.keep(rows_open(engine, carried, LEDGER))
    moving, waiting = (engine.keep(_moving(engine, source, secret)) for source in (ours, carried_open))
    # Where books do not name their entries, a row that was booked since may have the name that an open row had.
    few = among(moving, waiting, _HASHED)
    latest, earlier = (
        _numbered(engine, engine.keep(apart(mine, other, _SAME))) for mine, other in ((few, waiting), (waiting, few))
    )
    renamed = (
        f"(select x.account, x.entry, x.hash, y.entry as now from {earlier} x join {latest} y on {equality(_NTH)})"
    )
    renamed = engine.keep(renamed)
    still = conform(among(few, waiting, _SAME), _SAME), f"(select account, now, hash from {renamed})"
    opened = engine.keep(f"(select distinct {column_list(_SAME)} from {both(*still)})")
    ranked = f"(select x.*, y.hash as known from {moving} x left join {opened} y on {equality(_SAME)})"
    moving = _numbered(engine, engine.keep(conform(ranked, _MOVING, is_new="known is null")))
    read = untyped(carried.read[(carried.read["nth"] > 0) & ~carried.read["account"].isin(differ)], READ)
    then = engine.keep(engine.arrow(read.rename_columns(list(_READ)), {**_READ, "day": DAY}))
    then = _rehashed(engine, then, ours, secret)
    known = f"(select * from {moving} where not coalesce({is_unknown}, false))"
    gone = apart(among(known, then, _NTH), opened, _SAME)
    named = f"(select x.*, y.now from {carried_open} x left join {renamed} y on {equality(_ENTRY)})"
    open_rows = conform(named, ROW, entry="coalesce(now, entry)")
    codes = engine.keep(f"(select account, entry, min(was) as was from {open_rows} group by account, entry)")
    # For rows that move nothing, and accounts whose rows read are unknown, the date and the number decide.
    others = f"(select * from {ours} where signed = 0 or coalesce({is_unknown}, false))"
    before = apart(f"(select * from {others} where {_closed_before(engine, carried.closed)})", codes, _ENTRY)
    ahead = among(others, engine.arrow(untyped(carried.ahead, AHEAD), _NAMED_ENTRY), _ENTRY)
    settled = engine.keep(both(*(f"(select {column_list(_PLACE)} from {source})" for source in (gone, before, ahead))))
    new = apart(ours, settled, _PLACE)
    new = f"(select x.*, y.was as named from {new} x left join {codes} y on {equality(_ENTRY)})"
    new = conform(new, ROW, was="named")
    # Today's ledger has the present state of an open row; only rows that it lacks come from the carry-forward.
    # A duplicate after the earlier close, which that run has carried, stood in no balance: it is gone without a trace.
    is_after = f"coalesce({dated(engine, carried.ends, '>')}, false)"
    absent = apart(f"(select * from {open_rows} where not {is_after})", new, _ENTRY)
    late = f"(select * from {apart(known, then, _NTH)} where {dated(engine, carried.ends)})"
    missing = _as_read(engine, apart(then, known, _NTH))
    begins = f"(select account, min(day) as day from {known} group by account)"
    return LedgerRead(
        moving=lambda: moving,
        unsettled=engine.keep(both(new, absent)),
        closed=among(ours, settled, _PLACE),
        key_id=key_id,
        late=typed([_as_read(engine, late)], READ),
        missing=typed([missing], READ),
        unknown=unknown,
        begins={row["account"]: row["day"] for row in engine.rows(begins, _BEGINS)} if len(missing) else {},
    )


def _moving(engine: SqlEngine, rows: Frame, secret: str) -> Frame:
    """SQL for the ledger rows that move money, each with a hash of its identifying fields, keyed by `secret`."""
    # A row without a day is dated before every other.
    columns = {"hash": _hash(engine, secret), "day": "coalesce(day, 0)", "nth": "cast(0 as bigint)"}
    return conform(rows, _MOVING, "signed <> 0", **columns, is_new="false")


def _hash(engine: SqlEngine, secret: str, moment: str = f'coalesce(nullif("at", {_MIDNIGHT}), {_DAY}, 0)') -> str:
    """SQL for a row's hash. With the default `moment`, a day and its midnight in Lusaka give the same hash.

    `read_ledger` reads a midnight in a DataFrame as a day or as a moment, depending on the other rows.
    """
    numbers = [f"cast({number} as string)" for number in (moment, "signed")]
    texts = ("account", "coalesce(key, '')", *numbers, "coalesce(currency, '')")
    digest = engine.SHA256.format(f"{engine.text(secret)} || {' || chr(31) || '.join(texts)}")
    return f"substr({digest}, 1, 16)"


def _rehashed(engine: SqlEngine, read: Frame, ours: Frame, secret: str) -> Frame:
    """SQL for the rows read earlier (columns _READ), with the hashes that today's ledger `ours` gives them.

    An earlier version of the program hashed a midnight as a moment, and not as its day.
    """
    hashes = {"hash": _hash(engine, secret), "former": _hash(engine, secret, '"at"')}
    midnights = conform(ours, ["account", *hashes], f'signed <> 0 and "at" = {_MIDNIGHT}', **hashes)
    renewed = engine.keep(f"(select distinct * from {midnights})")
    hashes_of = f"(select account, former as hash, hash as now from {renewed})"
    known = f"(select x.*, y.now from {read} x join {hashes_of} y on {equality(_HASHED)})"
    return engine.keep(both(apart(read, hashes_of, _HASHED), conform(known, _READ, hash="now")))


def _numbered(engine: SqlEngine, rows: Frame) -> Frame:
    """SQL for the rows with `nth`, which counts the rows of an account with equal hashes from 1.

    Open rows are counted first, then the others in the order of booking.
    """
    nth = 'row_number() over (partition by account, hash order by is_new, "no" nulls first, entry nulls first)'
    several = f"(select account, hash from {rows} group by account, hash having count(*) > 1)"
    # Few hashes are of several rows: only these are put in order.
    hashed = {name: _MOVING[name] for name in _HASHED}
    tied = engine.table(several, hashed)
    if not len(tied):
        return conform(rows, _MOVING, nth="1")
    few = engine.keep(engine.arrow(tied, hashed))
    parts = conform(apart(rows, few, _HASHED), _MOVING, nth="1"), conform(among(rows, few, _HASHED), _MOVING, nth=nth)
    return engine.keep(both(*parts))


def _as_read(engine: SqlEngine, *rows: Frame) -> pa.Table:
    """The rows as a table with the columns READ, sorted by contents."""
    joined = pa.concat_tables([engine.table(part, _READ) for part in rows])
    order = pc.sort_indices(joined, [(name, "ascending") for name in ("hash", "nth", "account")])
    columns = dict(zip(READ, joined.columns, strict=True))
    del joined
    # Each column is freed as it is sorted: there may be a million rows.
    return arranged({name: columns.pop(name).take(order) for name in READ}, READ)


def rows_read(
    engine: SqlEngine, ledger: LedgerRead, ahead: pd.DataFrame, kept: pd.DataFrame, closing: Mapping[str, int]
) -> pd.DataFrame:
    """The ledger rows that move money and that the next run skips, as a frame with the columns READ.

    - Rows dated up to their account's last day in `closing`.
    - If `ahead` (columns AHEAD) has rows, later rows of two kinds: of the entries in `ahead`, which matched early, and
      of the duplicates in `kept` (columns CARRIED), which are open.
    - Rows read earlier that today's ledger lacks; they stay until a ledger has them again.

    An account in `ledger.unknown` has no rows.
    """
    ends = {account: day for account, day in sorted(closing.items()) if account not in ledger.unknown}
    heads = [{**dict.fromkeys(READ), "account": name, "hash": ledger.key_id, "nth": 0} for name in ends]
    until, moving = dated(engine, ends), ledger.moving()
    read = [f"(select * from {moving} where {until})"]
    if len(ahead):
        mine = f"account in ({', '.join(map(engine.text, ends)) or 'null'}) and not ({until})"
        later = f"(select * from {moving} where {mine})"
        twice = kept[kept["code"] == DUPLICATE[LEDGER]]
        named = [untyped(entries.reindex(columns=list(AHEAD)), AHEAD) for entries in (ahead, twice)]
        names = engine.arrow(pa.concat_tables(named), _NAMED_ENTRY)
        # The next run numbers the open rows of a hash before the others: only how many were read is told.
        some = conform(among(later, names, _ENTRY), _MOVING, is_new="false")
        read.append(_numbered(engine, engine.keep(some)))

    def parts() -> Iterator[pa.Table]:
        yield arrow_table(heads, READ)
        yield _as_read(engine, *read)
        yield untyped(ledger.missing, READ)

    return typed(parts(), READ)


def rows_named(rows: pd.DataFrame) -> str:
    """A text that names the first of these `rows` (columns READ) by key and day, for a person to look up."""
    names = [
        f"{key or 'a row without a key'} of {day}"
        for key, day in python_rows(rows.sort_values(["business_date", "key"]).iloc[:_NAMED], "key", "business_date")
    ]
    more = [f"and {len(rows) - _NAMED:,} more"] if len(rows) > _NAMED else []
    return ", ".join([*names, *more])


def rows_ahead(engine: SqlEngine, ledger: Frame, broken: pa.Table, closing: Mapping[str, int]) -> pd.DataFrame:
    """The ledger rows dated after the closing date that are part of no break, with the columns AHEAD.

    `broken` are the rows that are part of breaks.
    """
    later = f"(select * from {ledger} where entry is not null and ({dated(engine, closing, '>')}))"
    entries = engine.table(later, {**_NAMED_ENTRY, "day": "int64"})
    rows = arranged(dict(zip(AHEAD, entries.columns, strict=True)), AHEAD)
    opened = broken.filter(pc.equal(broken["side"], LEDGER))
    unbroken = rows.join(opened.select(["account", "entry"]), ["account", "entry"], join_type="left anti")
    return typed([unbroken.sort_by([(name, "ascending") for name in ("account", "business_date", "entry")])], AHEAD)


def lines_settled(carried: CarryForward, settled: pa.Table, gone: pa.Table, later: pa.Table) -> pd.DataFrame:
    """The statement lines (columns TOLD) that the next run must recognise as settled, in this run or earlier.

    Of this run: `settled` has the pairs that a rule matched, `gone` the rows that decisions closed, and `later` the
    lines that agree but are dated after the closing date.
    """
    decided = gone.filter(pc.equal(gone["side"], STATEMENT))
    settled = settled.filter(pc.is_valid(settled["s_no"]))
    of_rule, of_row = ("account", "s_key", "s_day", "s_signed"), ("account", "key", "day", "signed")
    new = [
        arranged(dict(zip(TOLD, part.select(names).columns, strict=True)), TOLD)
        for part, names in ((settled, of_rule), (decided, of_row), (later, of_row))
    ]
    lines = pa.concat_tables([untyped(carried.told, TOLD), *new])
    return typed([lines.sort_by([(name, "ascending") for name in TOLD])], TOLD)


def settled_before(engine: SqlEngine, lines: Frame, settled: pd.DataFrame) -> Frame:
    """SQL for those of `lines` (columns ROW) that `settled` (columns TOLD) lists, since earlier runs settled them.

    Of several equal lines in one file, only as many are returned as were settled.
    """
    shape = {"account": "string", "key": "string", "day": DAY, "signed": "int64"}
    known = engine.arrow(untyped(settled, TOLD).rename_columns(list(shape)), shape)
    known = f"(select {column_list(shape)}, count(*) as many from {known} group by {column_list(shape)})"
    nth = f'row_number() over (partition by {column_list(shape)}, source order by "no")'
    ranked = conform(lines, {**ROW, "nth": "int64"}, nth=nth)
    return f"(select x.* from {ranked} x join {known} y on {equality(shape)} and x.nth <= y.many)"


def refuse_settled(engine: SqlEngine, lines: Frame) -> None:
    """Raises ReconcileRefused, naming the files, if `lines` has lines: files repeat what earlier runs settled.

    A file repeats lines if an earlier run had it too, or if its period overlaps that of an earlier file.
    """
    by_file = f'(select source, cast(sum(lines) as bigint) as rows, min("no") as first from {lines} group by source)'
    repeated = engine.rows(by_file, {"source": "string", "rows": "int64", "first": "int64"})
    names = [
        f"{row['source']}, {counted(row['rows'], 'line')} from line {row['first']}"
        for row in sorted(repeated, key=lambda row: row["source"] or "")
    ]
    if names:
        text = f"These lines were already reconciled, and are reported again: {'; '.join(names)}."
        hint = "Use the next statement. If periods overlap, leave out the settled lines with skip_settled=True or "
        raise ReconcileRefused(text, hint=f"{hint}--skip-settled.")


def _closed_before(engine: SqlEngine, closed: pd.DataFrame) -> str:
    """SQL that is true for ledger rows in accounts of `closed` (columns CLOSED), up to its date and entry number."""
    gone = [
        f'account = {engine.text(name)} and coalesce(day, 0) <= {day_number(day)} and "no" <= {last}'
        for name, day, last in python_rows(closed, "account", "closing_date", "last_number") if last is not None
    ]  # fmt: skip
    return " or ".join(["false", *gone])


def rows_open(engine: SqlEngine, carried: CarryForward, side: str) -> Frame:
    """SQL for the carried open rows of one side (columns ROW); `was` is the code that the earlier run gave the row."""
    shape = {"was": "string", **(LEDGER_READ if side == LEDGER else STATEMENT_READ)}
    columns = {name: {**CARRIED, "was": "string"}.get(name, "Int64") for name in shape}
    mine = carried.rows[carried.rows["side"] == side].rename(columns={"code": "was"})
    # A masked number may have been whole: then it need not be the number that looks alike.
    hashed = mine["phone_hash"].where(mine["phone_hash"].notna() | mine["phone"].isna(), _LOST)
    mine = mine.assign(phone_hash=hashed.where(hashed != _NEVER_WHOLE))
    return side_rows(engine.arrow(untyped(mine.reindex(columns=list(columns)), columns), shape), side, carried=True)


def unkeyed_words(rows: int) -> str:
    """A sentence saying that the next run cannot compare the customers' numbers of `rows` open rows; empty for 0."""
    words = f"The next run cannot compare the customers' numbers of {counted(rows, 'open row')}. {GIVE_THE_KEY}"
    return words if rows else ""


def carried_rows(rows: pa.Table, closing: Mapping[str, int]) -> tuple[pd.DataFrame, int]:
    """The rows of breaks that are carried forward (columns CARRIED), and how many of them have an unusable hash.

    A hash is unusable if it is of an unmasked number and was made with a random key that is not kept. A ledger row
    after the closing date is not carried, since the next run reads it again. A duplicate is always carried, since the
    row that it duplicates may not be read again; after the closing date, it is a row of the next period, and its
    `since_date` is null.
    """
    ends = mapped(rows["account"], closing.__getitem__, pa.int64())
    is_of_next = pc.and_(pc.greater(rows["day"].fill_null(0), ends), pc.equal(rows["side"], LEDGER))
    rows = with_column(rows, "since", pc.if_else(is_of_next, None, pc.coalesce(rows["since"], ends)))
    is_duplicate = pc.equal(rows["code"], DUPLICATE[LEDGER])
    kept = rows.filter(pc.invert(pc.and_not(is_of_next, is_duplicate)))
    columns = {name: kept[_OURS.get(name, name)] for name in CARRIED}
    for side, names in OWN.items():
        only = {*names.values()} - {"problem"}
        columns |= {name: pc.if_else(pc.equal(kept["side"], side), columns[name], None) for name in only}
    hashed = pc.if_else(pc.is_valid(kept["phone"]), kept["phone_hash"].fill_null(_NEVER_WHOLE), None)
    drawn, lost = (pc.starts_with(hashed, begin) for begin in (key_from(None).id + HASH_SEPARATOR, _LOST))
    columns["phone_hash"] = pc.if_else(pc.or_(drawn, lost), None, hashed)
    carried = typed([arranged(columns, CARRIED)], CARRIED)
    order = ["side", "account", "business_date", "statement", "line", "number", "key"]
    return carried.sort_values(order, ignore_index=True), pc.sum(drawn).as_py() or 0


_SAME_ROW: Mapping[str, str] = {
    **{name: name for name in ("side", "account", "key", "direction", "currency", "status")},
    "day": "business_date", "amount": "amount_minor", "fee": "fee_minor",
}  # fmt: skip
"""The columns by which a carried row is recognised among the open rows; its line may have changed."""


def matched_since(carried: pd.DataFrame, rows: pa.Table) -> pa.Table:
    """The rows of `carried` (columns CARRIED) that are not among `rows`, the rows of this run's breaks.

    Carried rows of this period, whose `since_date` is null, are left out. The added column `moved` is the row's effect
    on the balance, in minor units.
    """
    kept = untyped(carried, CARRIED)
    amount, fee = (kept[f"{name}_minor"].fill_null(0) for name in ("amount", "fee"))
    gross = pc.if_else(pc.equal(kept["direction"], "in"), amount, pc.negate(amount))
    moves = pc.and_(pc.equal(kept["status"], COMPLETED), pc.is_valid(kept["direction"]))
    moved = pc.if_else(pc.fill_null(moves, fill_value=False), pc.subtract(gross, fee), 0)
    kept = kept.append_column("moved", moved)
    # Of equal carried rows, as many are still open as `rows` has.
    opened, gone = Counter(texts_of(rows, _SAME_ROW).to_pylist()), []
    for text in texts_of(kept, _SAME_ROW.values()).to_pylist():
        gone.append(not opened[text])
        opened[text] -= opened[text] > 0
    return kept.filter(pc.and_(pa.array(gone, pa.bool_()), pc.is_valid(kept["since_date"])))
