"""What each side holds by account and day, and where its balances begin and end: a few rows of each input."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Any, NamedTuple

import narwhals.stable.v2 as nw
import pandas as pd

from workbench.analysis.frames import day_number, in_pandas
from workbench.analysis.reconcile.columns import NUMBER, WORD, Frame
from workbench.analysis.reconcile.engines import Engine, conform
from workbench.analysis.reconcile.inputs import StatementFile
from workbench.analysis.reconcile.rows import nothing, unreadable
from workbench.errors import ReconcileRefused

_KEYS = {"account": WORD, "source": WORD, "currency": WORD, "day": NUMBER}
_SUMMED = ("rows", "value", "signed", "first_no", "last_no", "good", "good_day")


def totals(engine: Engine, rows: Frame) -> pd.DataFrame:
    """Rows, gross and net effect, and the first and last number, by account, statement, currency and day.

    `good` are the rows that can be used, and `good_day` is the last day of one of them: a closing date is never
    told by one that cannot.
    """
    counted = (
        rows.with_columns(
            gross=nw.col("signed").abs(), good_day=nw.when(~unreadable()).then(nw.col("day")).otherwise(nothing("day"))
        )
        .group_by(*_KEYS)
        .agg(
            rows=nw.len(),
            value=nw.col("gross").sum(),
            signed=nw.col("signed").sum(),
            first_no=nw.col("no").min(),
            last_no=nw.col("no").max(),
            good=nw.col("good_day").count(),
            good_day=nw.col("good_day").max(),
        )
    )
    made = in_pandas(engine.collect(conform(engine, counted, {**_KEYS, **dict.fromkeys(_SUMMED, NUMBER)})))
    return made.sort_values(list(_KEYS)).reset_index(drop=True)


class Jump(NamedTuple):
    """A line whose running balance does not follow from the one before; minor units."""

    line: int
    expected_minor: int
    found_minor: int


@dataclass(frozen=True)
class Book:
    """One statement of one account: where it begins and ends. Balances are minor units, or null."""

    account: str
    source: str
    currencies: tuple[str, ...]
    """Those of its rows, or the one that it declares."""
    rows: int
    value: int
    """What its rows move, without their signs."""
    signed: int
    first_day: int | None
    last_day: int | None
    opening: int | None
    closing: int | None
    jumps: tuple[Jump, ...] = ()


def books(engine: Engine, loaded: Frame, counted: pd.DataFrame, reported: Mapping[str, StatementFile]) -> list[Book]:
    """Each statement of each account, in the order of their days."""
    ends = _ends(engine, loaded, counted)
    found = []
    for (account, name), group in counted.groupby(["account", "source"], dropna=False):
        says = reported.get(str(name))
        opening, closing = ends.get((account, name), (None, None))
        found.append(
            Book(
                account=str(account),
                source=str(name),
                currencies=tuple(sorted(set(group["currency"].dropna()))) or ((says.currency,) if says else ()),
                rows=int(group["rows"].sum()),
                value=int(group["value"].sum()),
                signed=int(group["signed"].sum()),
                first_day=_whole(group["day"].min()),
                last_day=_declared(says) or _whole(group["good_day"].max()),
                opening=says.opening_minor if says and says.opening_minor is not None else opening,
                closing=says.closing_minor if says and says.closing_minor is not None else closing,
                jumps=_jumps(says) if says else (),
            )
        )
    seen = {(book.account, book.source) for book in found}
    found += [
        Book(
            each.account, name, (each.currency,), 0, 0, 0, None, _declared(each), each.opening_minor, each.closing_minor
        )
        for name, each in reported.items()
        if (each.account, name) not in seen
    ]
    return sorted(found, key=lambda book: (book.account, book.last_day or 0, book.first_day or 0, book.source))


def _declared(says: StatementFile | None) -> int | None:
    """The last day that a statement says it covers."""
    last = says.period[1] if says and says.period else None
    return None if last is None else day_number(last)


def _jumps(says: StatementFile) -> tuple[Jump, ...]:
    return tuple(Jump(*(int(row[name]) for name in Jump._fields)) for row in says.findings.to_dict("records"))


def _whole(value: Any) -> int | None:  # noqa: ANN401  pandas' null or a number
    return None if pd.isna(value) else int(value)


def _ends(engine: Engine, loaded: Frame, counted: pd.DataFrame) -> dict[tuple[Any, Any], tuple[int | None, int | None]]:
    """The balances before the first and after the last row of each statement, from its own running balance."""
    spans = {
        (account, name): (int(group["first_no"].min()), int(group["last_no"].max()))
        for (account, name), group in counted.groupby(["account", "source"])
    }
    if not spans:
        return {}
    wanted = [
        (nw.col("source") == name) & ((nw.col("no") == first) | (nw.col("no") == last))
        for (_, name), (first, last) in spans.items()
    ]
    shape = {"account": WORD, "source": WORD, "no": NUMBER, "order": NUMBER, "signed": NUMBER, "balance_minor": NUMBER}
    rows = engine.collect(conform(engine, loaded.filter(reduce(or_, wanted)), shape)).to_pylist()
    reported = {(row["account"], row["source"], row["no"]): row for row in rows if row["balance_minor"] is not None}
    moved = counted.groupby(["account", "source"])["signed"].sum().to_dict()
    return {
        (account, name): _end_balances(
            reported.get((account, name, first)), reported.get((account, name, last)), int(moved[account, name])
        )
        for (account, name), (first, last) in spans.items()
    }


_End = Mapping[str, Any] | None


def _end_balances(first: _End, last: _End, moved: int) -> tuple[int | None, int | None]:
    """The balance before the earlier of two rows and after the later one; all rows together moved so much."""
    as_it_stands, turned = _between(first, last), _between(last, first)
    # Some operators print the newest row first; with others an old row comes late, and the balances tell that.
    if first and last and first["order"] > last["order"]:
        return as_it_stands if _follows(as_it_stands, moved) and not _follows(turned, moved) else turned
    return as_it_stands


def _between(first: _End, last: _End) -> tuple[int | None, int | None]:
    return (first["balance_minor"] - first["signed"] if first else None), (last["balance_minor"] if last else None)


def _follows(ends: tuple[int | None, int | None], moved: int) -> bool:
    opening, closing = ends
    return opening is not None and closing is not None and opening + moved == closing


def check_accounts(ledger: pd.DataFrame, found: Sequence[Book], in_ledger: Sequence[str]) -> None:
    """Raises ReconcileRefused: an account that the ledger does not have, has only in another currency, or in none."""
    for book in found:
        mine = ledger[ledger["account"] == book.account]
        currencies = sorted({str(each) for each in mine["currency"].dropna()})
        if not currencies and not book.currencies:
            raise ReconcileRefused(
                f"Neither the ledger nor {book.source} says in which currency {book.account} is.", account=book.account
            )
        if mine.empty and not book.value:
            # Nothing that moved on either side is no contradiction: a month in which nobody paid by this operator.
            continue
        if mine.empty:
            raise ReconcileRefused(
                f"The ledger has no row of {book.account}, of which {book.source} is a statement.",
                hint=f"It has {', '.join(in_ledger) or 'no row at all'}.",
                account=book.account,
            )
        if currencies and book.currencies and not set(book.currencies) & set(currencies):
            theirs, ours = " and ".join(book.currencies), " and ".join(currencies)
            raise ReconcileRefused(
                f"{book.source} is in {theirs}, the ledger's {book.account} in {ours}.",
                account=book.account,
                currencies=currencies,
            )
