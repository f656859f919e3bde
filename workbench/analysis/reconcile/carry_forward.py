"""What one run carries forward to the next: the open rows, and how far each account was gone through."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from operator import or_
from typing import Any, Final

import narwhals.stable.v2 as nw
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from workbench.analysis.breaks import DUPLICATE
from workbench.analysis.frames import arranged, day_number, frame, typed, untyped
from workbench.analysis.phone_key import OF, key_from
from workbench.analysis.reconcile.engines import Engine
from workbench.analysis.reconcile.inputs import OWN, SHARED, nothing, rows_of
from workbench.analysis.reconcile.pairs import mapped
from workbench.analysis.reconcile.rules import LEDGER, LEDGER_READ, SIDES, STATEMENT, STATEMENT_READ, Frame, Shape
from workbench.analysis.shapes import AHEAD, CARRIED, CLOSED, DECISION, Columns
from workbench.domain.money import money_text
from workbench.domain.phones import mask_column
from workbench.errors import ReconcileRefused
from workbench.render import Column, Table, Tabular, table

_OURS = {own: our for names in (SHARED, *OWN.values()) for our, own in names.items()} | {"since_date": "since"}
"""The name of a column that is carried → the row's."""
_WAS: Shape = {"was": nw.String}
_LOST: Final = "lost" + OF
"""Stands for the hash of a number that was carried forward without one."""
_NEVER_WHOLE: Final = ""
"""Is carried for the hash of a number of which only a part was ever known."""
_NUMERIC = ("open in the ledger", "on the statement", "statement's balance")
_COLUMNS: Sequence[str | Column] = ["account", "gone through to", *(Column(name, numeric=True) for name in _NUMERIC)]
GIVE_THE_KEY: Final = "Use one key in every run: --phone-key FILE (phone_key in Python)."
KEPT: Final[Mapping[str, Columns]] = {
    "rows": CARRIED, "closed": CLOSED, "ahead": AHEAD, "decisions": DECISION,
}  # fmt: skip
"""The tables that one run leaves for the next."""


@dataclass(frozen=True, repr=False)
class CarryForward(Tabular):
    """The tables of KEPT: the open rows, the accounts that were closed, what was matched ahead of that, and decisions.

    Customers' numbers are masked in it, those of rows that an earlier version kept whole too. Before the first run
    there is nothing in it.
    """

    rows: pd.DataFrame = field(default_factory=lambda: frame([], CARRIED))
    closed: pd.DataFrame = field(default_factory=lambda: frame([], CLOSED))
    ahead: pd.DataFrame = field(default_factory=lambda: frame([], AHEAD))
    decisions: pd.DataFrame = field(default_factory=lambda: frame([], DECISION))
    unkeyed: int = field(default=0, kw_only=True)
    """How many open rows have a number that was known whole, and that no later run can compare."""

    def __post_init__(self) -> None:
        for kept, columns in KEPT.items():
            missing = [name for name in columns if name not in getattr(self, kept).columns]
            if missing:
                raise ReconcileRefused(f"What is carried forward has no {', '.join(missing)} in its {kept}.")
        phones = self.rows["phone"]
        masked = phones.map({each: mask_column(each) for each in phones.dropna().unique()}).astype(phones.dtype)
        object.__setattr__(self, "rows", self.rows.assign(phone=masked))

    @property
    def is_first(self) -> bool:
        """Whether there was no run before."""
        return self.closed.empty

    def of(self, accounts: Sequence[str]) -> "CarryForward":
        """The rows of some accounts."""
        return CarryForward(*(each[each["account"].isin(accounts)] for each in (self.rows, self.closed, self.ahead)))

    def and_of(self, others: "CarryForward") -> "CarryForward":
        """This, and what was kept of other accounts."""
        both = {name: [getattr(each, name) for each in (self, others)] for name in KEPT}
        return CarryForward(
            *(pd.concat(each, ignore_index=True).astype(dict(KEPT[name])) for name, each in both.items()),
            unkeyed=self.unkeyed,
        )

    def closed_of(self, account: str) -> Mapping[str, Any]:
        """What the account was left with, or nothing of it."""
        mine = self.closed[self.closed["account"] == account]
        return {} if mine.empty else {str(name): value for name, value in mine.iloc[0].items()}

    def closing_of(self, accounts: Sequence[str]) -> Mapping[int, int]:
        """The place of each account that was closed, and its closing day."""
        days = zip(self.closed["account"], self.closed["closing_date"], strict=True)
        return {accounts.index(account): day_number(day) for account, day in days}

    @property
    def note(self) -> str:
        """What is lost on the way, in a sentence; empty where nothing is."""
        if not self.unkeyed:
            return ""
        rows = "row" if self.unkeyed == 1 else "rows"
        return f"The next run cannot compare the customers' numbers of {self.unkeyed:,} open {rows}. {GIVE_THE_KEY}"

    def _table(self) -> Table:
        counted = self.rows.groupby(["account", "side"], observed=True).size().to_dict()
        rows = []
        for line in self.closed.to_dict("records"):
            left = [f"{counted.get((line['account'], side), 0):,}" for side in SIDES]
            balance = money_text(line["statement_minor"], line["currency"])
            rows.append((line["account"], f"{line['closing_date']}", *left, balance))
        open_rows = f"{len(self.rows):,} open row{'' if len(self.rows) == 1 else 's'}"
        return table(f"Carried forward: {open_rows}. {self.note}".rstrip(". "), _COLUMNS, rows)


def with_carried(engine: Engine, ledger: Frame, statement: Frame, carried: CarryForward) -> Mapping[str, Frame]:
    """The rows of both sides as they are loaded, without what was gone through, and with what was left open.

    The column `was` has the code that an open row was given then, and null for every other row.
    """
    left = _open(engine, carried, LEDGER, {**_WAS, **LEDGER_READ})
    was = left.group_by("account", "entry").agg(was=nw.col("was").min())
    later = ledger.join(_ahead(engine, carried), on=["account", "entry"], how="anti")
    marked = later.join(was, on=["account", "entry"], how="left")
    again = marked.filter(~_gone(carried.closed) | ~nw.col("was").is_null())
    # What became of an open row since stands in the ledger of today; only what is not in it comes from before.
    absent = left.join(ledger.select("account", "entry"), on=["account", "entry"], how="anti")
    reported = _open(engine, carried, STATEMENT, {**_WAS, **STATEMENT_READ})
    new = statement.with_columns(was=nothing("account"))
    both = {
        LEDGER: nw.concat([each.select(*LEDGER_READ, *_WAS) for each in (again, absent)]),
        STATEMENT: nw.concat([each.select(*STATEMENT_READ, *_WAS) for each in (new, reported)]),
    }
    return {side: engine.keep(rows_of(engine, each, side, carried=True)) for side, each in both.items()}


def _ahead(engine: Engine, carried: CarryForward) -> Frame:
    return engine.arrow(untyped(carried.ahead, AHEAD), {"account": nw.String, "entry": nw.String})


def rows_ahead(
    engine: Engine, ledger: Frame, broken: pa.Table, accounts: Sequence[str], closing: Mapping[str, int]
) -> pd.DataFrame:
    """The rows of the ledger after the closing date that are not open, in the shape AHEAD.

    `ledger` has the places of `accounts` for names, and `broken` are the rows that are part of breaks.
    """
    ends = [(nw.col("account") == accounts.index(account)) & (nw.col("day") > day) for account, day in closing.items()]
    later = ledger.filter(reduce(or_, ends)).filter(~nw.col("entry").is_null())
    found = engine.table(later, {"account": nw.Int64, "entry": nw.String, "day": nw.Int64})
    names = pa.array(accounts, pa.string()).take(found["account"])
    rows = arranged({"account": names, "entry": found["entry"], "business_date": found["day"]}, AHEAD)
    opened = broken.filter(pc.equal(broken["side"], LEDGER))
    left = rows.join(opened.select(["account", "entry"]), ["account", "entry"], join_type="left anti")
    return typed([left.sort_by([(name, "ascending") for name in ("account", "business_date", "entry")])], AHEAD)


def settled_entries(engine: Engine, ledger: Frame, carried: CarryForward) -> Frame:
    """What was matched before: the ledger's rows that were gone through and are not open."""
    opened = _open(engine, carried, LEDGER, LEDGER_READ).select("account", "entry")
    matched = ledger.filter(_gone(carried.closed)).join(opened, on=["account", "entry"], how="anti")
    ahead = ledger.join(_ahead(engine, carried), on=["account", "entry"], how="semi")
    return rows_of(engine, nw.concat([matched, ahead]), LEDGER)


def refuse_settled(engine: Engine, lines: Frame) -> None:
    """Raises ReconcileRefused: a statement has again what was matched before: the same file, or periods overlap."""
    told = lines.group_by("source").agg(rows=nw.col("lines").sum(), first=nw.col("no").min())
    found = engine.rows(told, {"source": nw.String, "rows": nw.Int64, "first": nw.Int64})
    if found:
        text = "; ".join(
            f"{row['source']}, {row['rows']} line{'s' * (row['rows'] > 1)} from line {row['first']}"
            for row in sorted(found, key=lambda row: row["source"] or "")
        )
        raise ReconcileRefused(
            f"These lines were already reconciled, and are reported again: {text}.",
            hint="Use the next statement. If periods overlap, leave out the settled lines with skip_settled=True or "
            "--skip-settled.",
        )


def _gone(closed: pd.DataFrame) -> nw.Expr:
    """Rows both dated and numbered within what was gone through: what was booked since is read, however dated."""
    day = nw.col("business_date").fill_null(0)
    each = [
        (nw.col("account") == row["account"])
        & (day <= day_number(row["closing_date"]))
        & (nw.col("number") <= row["last_number"])
        for row in closed.to_dict("records")
        if not pd.isna(row["last_number"])
    ]
    return reduce(or_, each, nw.col("number") < nw.col("number"))


def _open(engine: Engine, carried: CarryForward, side: str, shape: Shape) -> Frame:
    """The open rows of a side, with these columns; `was` is the code that they have."""
    columns = {name: {**CARRIED, "was": "string"}.get(name, "Int64") for name in shape}
    mine = carried.rows[carried.rows["side"] == side].rename(columns={"code": "was"})
    # Masked, a number may have been whole: then it is not one that looks alike.
    hashed = mine["phone_hash"].where(mine["phone_hash"].notna() | mine["phone"].isna(), _LOST)
    mine = mine.assign(phone_hash=hashed.where(hashed != _NEVER_WHOLE))
    return engine.arrow(untyped(mine.reindex(columns=list(columns)), columns), shape)


def carried_rows(rows: pa.Table, closing: Mapping[str, int]) -> tuple[pd.DataFrame, int]:
    """Of the rows that are part of breaks those for the next run, in the shape CARRIED.

    Besides how many of them have a whole number that no later run can compare: its hash was under no key that is kept.
    A ledger row after the closing date is read again then, and is not carried. A further row of a duplicate always is,
    since its first row may not be read again.
    """
    ends = mapped(rows["account"], closing.__getitem__, pa.int64())
    rows = rows.set_column(rows.column_names.index("since"), "since", pc.coalesce(rows["since"], ends))
    is_later = pc.greater(rows["day"].fill_null(0), ends)
    is_read_again = pc.and_(is_later, pc.equal(rows["side"], LEDGER))
    is_duplicate = pc.equal(rows["code"], DUPLICATE[LEDGER])
    kept = rows.filter(pc.invert(pc.and_not(is_read_again, is_duplicate)))
    there = {name: _OURS.get(name, name) for name in CARRIED}
    columns = {name: kept[own] if own in kept.column_names else pa.nulls(len(kept)) for name, own in there.items()}
    for side, names in OWN.items():
        only = {*names.values()} - {"problem"}
        columns |= {name: pc.if_else(pc.equal(kept["side"], side), columns[name], None) for name in only}
    hashed = pc.if_else(pc.is_valid(kept["phone"]), kept["phone_hash"].fill_null(_NEVER_WHOLE), None)
    drawn, lost = (pc.starts_with(hashed, begin) for begin in (key_from(None).id + OF, _LOST))
    columns["phone_hash"] = pc.if_else(pc.or_(drawn, lost), None, hashed)
    made = typed([arranged(columns, CARRIED)], CARRIED)
    order = ["side", "account", "business_date", "statement", "line", "number", "key"]
    return made.sort_values(order, ignore_index=True), pc.sum(drawn).as_py() or 0
