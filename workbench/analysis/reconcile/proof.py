"""What agrees and what that proves: totals, matches, the summary, and the balances explained by the breaks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Any, NamedTuple

import narwhals.stable.v2 as nw
import pandas as pd
import pyarrow as pa

from workbench.analysis.breaks import CODES, MATCHED
from workbench.analysis.frames import day_number, frame, in_pandas, schema_of, typed
from workbench.analysis.reconcile.classify import PREFIX, Classified, both_sides, sums_agree, widened
from workbench.analysis.reconcile.engines import Engine, conform
from workbench.analysis.reconcile.inputs import StatementFile, named, nothing, unreadable
from workbench.analysis.reconcile.rules import LEDGER, MATCH_RULES, NUMBER, STATEMENT, TOLERATED, WORD, Frame, Shape
from workbench.analysis.shapes import AGEING, EXACT, MATCH, SUMMARY
from workbench.domain.money import money_text
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
    ends = _balances_at_the_ends(engine, loaded, counted)
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


def _balances_at_the_ends(
    engine: Engine, loaded: Frame, counted: pd.DataFrame
) -> dict[tuple[Any, Any], tuple[int | None, int | None]]:
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


_AGREED: Shape = {
    **dict.fromkeys(("rule", "group", "side", "statement", "entry", "key", "currency"), WORD),
    **dict.fromkeys(("account", "line", "signed", "amount_off", "fee_off", "days_off"), NUMBER),
}
_SORTED = ["account", "group", "side", "statement", "line", "entry", "key"]


def matches_of(engine: Engine, classified: Classified, accounts: Sequence[str]) -> pd.DataFrame:
    """The frame MATCH, in an order that depends on nothing but its rows."""
    agreed = [*_agreed_pairs(engine, classified.compared), _agreed_groups(engine, classified.special)]
    found = named(engine.collect(nw.concat(agreed)), accounts)
    columns = {name: found["signed" if name == "signed_minor" else name] for name in MATCH if name != "differences"}
    columns["differences"] = pa.array(_differences(found), pa.string())
    made = typed([pa.table(columns).cast(schema_of(MATCH))], MATCH)
    made["rule"] = made["rule"].cat.set_categories(list(MATCH_RULES))
    return made.sort_values(_SORTED, kind="stable", ignore_index=True)


def _agreed_pairs(engine: Engine, compared: Frame) -> list[Frame]:
    found = widened(engine, compared.filter(nw.col("code").is_null() | (nw.col("code") == TOLERATED)))
    agreed = found.with_columns(both=both_sides())
    made = []
    for side, prefix in PREFIX.items():
        mine = agreed.filter(~nw.col(f"{prefix}no").is_null())
        made.append(
            conform(
                engine,
                mine,
                _AGREED,
                rule=nw.when(nw.col("both")).then(nw.lit("key")).otherwise(nw.lit("nothing_moved")),
                group=nw.col("g"),
                side=nw.lit(side),
                statement=nw.col("s_source") if side == STATEMENT else nothing("g"),
                line=nw.col("s_no") if side == STATEMENT else nothing("l_no"),
                entry=nw.col("l_entry") if side == LEDGER else nothing("g"),
                key=nw.col(f"{prefix}key"),
                currency=nw.col(f"{prefix}currency"),
                signed=nw.col(f"{prefix}signed"),
                amount_off=nw.col("s_amount") - nw.col("l_amount"),
                fee_off=nw.col("s_fee") - nw.col("l_fee"),
                days_off=nw.col("s_day") - nw.col("l_day"),
            )
        )
    return made


def _agreed_groups(engine: Engine, special: Frame) -> Frame:
    agreed = special.filter((nw.col("batches") > 0) & sums_agree()).with_columns(s_n=nw.col("n") - nw.col("l_n"))
    rule = (
        nw.when((nw.col("l_n") == 0) | (nw.col("s_n") == 0)).then(nw.lit("nets_to_zero"))
        .when((nw.col("l_n") == 1) & (nw.col("s_n") == 1)).then(nw.lit("key"))
        .when(nw.col("l_n") == 1).then(nw.lit("one_to_many"))
        .when(nw.col("s_n") == 1).then(nw.lit("many_to_one"))
        .otherwise(nw.lit("many_to_many"))
    )  # fmt: skip
    ours = nw.col("side") == LEDGER
    return conform(
        engine,
        agreed,
        _AGREED,
        rule=rule,
        group=nw.col("g"),
        statement=nw.when(~ours).then(nw.col("source")).otherwise(nothing("source")),
        line=nw.when(~ours).then(nw.col("no")).otherwise(nothing("no")),
        entry=nw.when(ours).then(nw.col("entry")).otherwise(nothing("entry")),
        **dict.fromkeys(("amount_off", "fee_off", "days_off"), nothing("no")),
    )


def _differences(found: pa.Table) -> Sequence[str | None]:
    """Text is built only where a row differs at all."""
    names = ("amount_off", "fee_off", "days_off")
    offs = zip(*(found[name].fill_null(0).to_pylist() for name in names), found["currency"].to_pylist(), strict=True)
    return [_apart(*off) if any(off[:3]) else None for off in offs]


def _apart(amount: int, fee: int, days: int, currency: str) -> str:
    parts = [f"{name} {money_text(off, currency)}" for name, off in (("amount", amount), ("fee", fee)) if off]
    return "; ".join([*parts, *([f"{days} day{'s' if abs(days) > 1 else ''}"] if days else [])])


_NO_DAY, _NO_CURRENCY = -(2**40), ""
_BY = ["account", "day", "code", "currency"]
_COUNTS = ["ledger_rows", "statement_rows", "ledger_value_minor", "statement_value_minor"]


def summary_of(read: dict[str, pd.DataFrame], rows: pd.DataFrame, breaks: pd.DataFrame) -> pd.DataFrame:
    """The frame SUMMARY: `read` are the totals of both sides, `rows` the rows that are part of breaks."""
    parts = []
    for side in (LEDGER, STATEMENT):
        total = _keyed(read[side]).groupby(["account", "day", "currency"])[["rows", "value"]].sum().reset_index()
        mine = _keyed(rows[rows["side"] == side])
        broken = mine.assign(rows=1, value=mine["signed"].abs()).groupby(_BY)[["rows", "value"]].sum().reset_index()
        rest = broken.assign(rows=-broken["rows"], value=-broken["value"])
        both = pd.concat([total, rest[total.columns]]).assign(code=MATCHED)
        names = {"rows": f"{side}_rows", "value": f"{side}_value_minor"}
        parts.append(pd.concat([both, broken]).rename(columns=names))
    variance = breaks[["account", "code", "currency", "variance_minor"]].astype(
        {"code": "string", "currency": "string"}
    )
    days = breaks["business_date"].astype("int32[pyarrow]").astype("Int64")
    parts.append(_keyed(variance.assign(day=days)))
    whole = pd.concat(parts, ignore_index=True).astype({"code": "string", "day": "Int64"})
    counts = [*_COUNTS, "variance_minor"]
    for name in counts:
        whole[name] = whole[name].fillna(0).astype("int64")
    made = whole.groupby(_BY)[counts].sum().reset_index()
    # A day on which every row is part of a break has nothing matched.
    made = made[(made["code"] != MATCHED) | (made["ledger_rows"] + made["statement_rows"] > 0)]
    made = made.sort_values(_BY, ignore_index=True)
    records: list[dict[Any, Any]] = [
        {**row, "business_date": None if row["day"] == _NO_DAY else row["day"], "currency": row["currency"] or None}
        for row in made.to_dict("records")
    ]
    result = frame(records, SUMMARY)
    result["code"] = result["code"].cat.set_categories([MATCHED, *CODES])
    return result


def _keyed(rows: pd.DataFrame) -> pd.DataFrame:
    """The same rows with words for what is missing: nulls are no keys to group by."""
    return rows.assign(day=rows["day"].fillna(_NO_DAY), currency=rows["currency"].fillna(_NO_CURRENCY))


def ageing_of(breaks: pd.DataFrame) -> pd.DataFrame:
    """The frame AGEING: the breaks of each bucket, oldest last."""
    grouped = breaks.groupby(["account", "currency", "code", "bucket"], observed=True, dropna=False)
    made = grouped.agg(breaks=("rows", "size"), rows=("rows", "sum"), variance_minor=("variance_minor", "sum"))
    made = made.reset_index().sort_values(["account", "currency", "code", "bucket"], ignore_index=True)
    kept = {name: kind for name, kind in AGEING.items() if name not in {"code", "bucket"}}
    return made[list(AGEING)].astype(kept)


@dataclass(frozen=True)
class Sums:
    """What the rows of an account add up to, in minor units."""

    ledger_closing: int | None
    ledger: int
    """All ledger rows read, what was carried included."""
    statement: int
    """The rows of this run's files."""
    carried: int
    """The statement rows carried."""
    told_twice: int
    breaks: int
    tolerated: int


def proof_line(
    account: str, currency: str | None, books: Sequence[Book], sums: Sums, before: Mapping[str, Any]
) -> dict[str, Any]:
    """One account: a row of PROOF. `before` is what an earlier run left of it (CLOSED), or empty."""
    brought = int(before.get("brought_minor", 0))
    opening, closing = _stated(books, sums, before)
    ledger = sums.ledger_closing if sums.ledger_closing is not None else opening - sums.carried + brought + sums.ledger
    moved = sums.statement - sums.told_twice
    statement = opening + moved if closing is None else closing
    gap = statement - opening - moved
    difference = ledger - statement
    line = {
        "account": account,
        "currency": currency,
        "ledger_minor": ledger,
        "statement_minor": statement,
        "difference_minor": difference,
        "breaks_minor": sums.breaks,
        "tolerated_minor": sums.tolerated,
        "brought_minor": brought,
        "opening_minor": (ledger - sums.ledger) - (opening - sums.carried) - brought,
        "gap_minor": gap,
        "unexplained_minor": difference - sums.breaks - sums.tolerated - brought,
    }
    jumps = [(book.source, jump) for book in books for jump in book.jumps]
    line["holds"] = not (line["unexplained_minor"] or line["opening_minor"] or gap or jumps)
    line["note"] = _note(line, jumps, worked_out=closing is None)
    return line


def _stated(books: Sequence[Book], sums: Sums, before: Mapping[str, Any]) -> tuple[int, int | None]:
    """The statement's balance before its first row, and after its last one if the file tells it."""
    opening = int(before["statement_minor"]) if before else books[0].opening
    if opening is None:
        # The file does not tell: it is taken to have begun where the ledger did.
        opening = 0 if sums.ledger_closing is None else sums.ledger_closing - sums.ledger
    return opening, books[-1].closing


def _note(line: Mapping[str, Any], jumps: Sequence[tuple[str, Jump]], *, worked_out: bool) -> str:
    text = []
    if jumps:
        name, jump = jumps[0]
        expected, found = (money_text(each, line["currency"]) for each in (jump.expected_minor, jump.found_minor))
        more = f", and in {len(jumps) - 1} more" if len(jumps) > 1 else ""
        where = f"the running balance of {name} does not follow in line {jump.line}{more}"
        text.append(f"{where}: {expected} expected, {found} found")
    opening, gap = (money_text(line[name], line["currency"]) for name in ("opening_minor", "gap_minor"))
    if line["opening_minor"]:
        text.append(f"the opening balances differ by {opening}")
    if line["gap_minor"]:
        text.append(f"the statement's balances jump by {gap} beyond its rows")
    if worked_out:
        text.append("the statement gives no closing balance: it is worked out from its rows")
    return "; ".join(text) or EXACT
