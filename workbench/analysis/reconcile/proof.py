"""Computes totals, the frames of matches and of the summary, and the proof that the breaks explain the balances."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from workbench.analysis.break_codes import CODES, MATCHED, MOST_MINOR, TIMING, TOLD_AGAIN
from workbench.analysis.frames import day_number, day_of, frame, schema_of, typed, with_column
from workbench.analysis.phone_key import PhoneKey
from workbench.analysis.reconcile.carry_forward import GIVE_THE_KEY, OLDER, CarryForward, LedgerRead, rows_named
from workbench.analysis.reconcile.classify import BOTH_SIDES, Allowed, Classified
from workbench.analysis.reconcile.decisions import Decided
from workbench.analysis.reconcile.engines import NULL, Frame, SqlEngine, both, column_list, conform
from workbench.analysis.reconcile.inputs import ANY_DAY, LEDGER, OF_SIDE, PREFIX, ROW, STATEMENT, Inputs
from workbench.analysis.report.captions import counted
from workbench.analysis.rules import MatchRules
from workbench.analysis.shapes import EXACT, MADE_UP_PREFIX, MATCH, NOTHING_PROVEN, SUMMARY, WORKED_OUT, Columns
from workbench.analysis.statements.statement import Statement
from workbench.domain.money import money_text
from workbench.errors import ReconcileRefused

Totals = Sequence[Mapping[str, Any]]
"""Counts of rows and sums of their effects on the balance, by account, statement, currency and day.

`signed` sums the effects, `value` their absolute values, in minor units. `good` counts the usable rows; only these set
a closing date. `keyed` counts rows with a key from the file, `moving` those that move money.
"""
_COUNTED: Final = {
    "rows": "count(*)", "value": "sum(abs(signed))", "signed": "sum(signed)",
    "first_no": 'min("no")', "last_no": 'max("no")', "good": "count(case when not bad then day end)",
    "balances": "count(balance_minor)", "keyed": f"count(case when key not like '{MADE_UP_PREFIX}%' then 1 end)",
    "moving": "count(case when signed <> 0 then 1 end)", "amounts": "count(amount)",
}  # fmt: skip


def totals(engine: SqlEngine, rows: Frame, counts: Iterable[str] = _COUNTED) -> Totals:
    """The Totals of the rows of one side, with these `counts`, which are names in _COUNTED."""
    sums = ", ".join(f'cast({_COUNTED[name]} as bigint) as "{name}"' for name in counts)
    by = {name: ROW[name] for name in ("account", "source", "currency", "day")}
    grouped = f"(select {column_list(by)}, {sums} from {rows} group by {column_list(by)})"
    return engine.rows(grouped, {**by, **dict.fromkeys(counts, "int64")})


def of_account(lines: Totals, account: str) -> Totals:
    """The lines of one account."""
    return [line for line in lines if line["account"] == account]


def _own(lines: Totals, currency: str | None) -> Totals:
    """The lines that count in the balances of an account in `currency`: those in it, and those that name none."""
    return [line for line in lines if line["currency"] in {None, currency}]


class Book(NamedTuple):
    """A statement of an account. Days count from 1970, balances are in minor units, and None means unknown."""

    account: str
    source: str
    lines: Totals
    file: Statement | None
    """The statement that was read from a file; None for a table."""
    first_day: int | None
    last_day: int | None
    opening: int | None
    closing: int | None

    def sum(self, name: str) -> int:
        """The sum of a column of Totals over the statement, such as `rows`, `good` (usable rows) or `signed`.

        `signed` is the sum of the effects on the balance, in minor units.
        """
        return _sum(self.lines, name)

    @property
    def currencies(self) -> list[str]:
        """The currencies of the statement's rows; if there are none, the currency that its file declares."""
        return sorted(_currencies(self.lines)) or ([self.file.currency] if self.file else [])


@dataclass
class Run:
    """The state of one reconciliation: its inputs and settings, then fields that its steps fill in."""

    inputs: Inputs
    engine: SqlEngine
    brought: CarryForward
    """The carry-forward of all accounts."""
    decided: Decided
    key: PhoneKey
    as_of: int
    """The day of the reconciliation, counted from 1970; ANY_DAY if the caller gave none."""
    cut_off: int
    books: Sequence[Book] = field(init=False)
    accounts: Sequence[str] = field(init=False)
    currencies: Mapping[str, str | None] = field(init=False)
    """Account → its currency; rows of another currency are not in its balances."""
    everything: Frame = field(init=False)
    """All ledger rows of this run's accounts, also those that an earlier run closed."""
    rows: dict[str, Frame] = field(init=False)
    totals: Mapping[str, Totals] = field(init=False)
    closings: Mapping[str, int | None] = field(init=False)
    """Account → the ledger's last balance, in minor units; None if unknown."""
    last_numbers: Mapping[str, int] = field(init=False)
    """Account → the number of the ledger's last entry."""
    carried: CarryForward = field(init=False)
    """The carry-forward of this run's accounts."""
    rules: Mapping[str, MatchRules] = field(init=False)
    """Account → the rules by which its rows are matched."""
    allowed: Allowed = field(init=False)
    ledger: LedgerRead = field(init=False)
    closing: Mapping[str, int] = field(init=False)
    """Account → the day on which its books close, counted from 1970."""
    ledger_limits: Mapping[str, int] = field(init=False)
    """Account → the last day that a ledger row may have; only accounts with a later row whose year is mistyped."""
    classified: Classified = field(init=False)
    repeated: Totals = field(init=False)
    """Totals of repeated statement lines, which do not count."""
    changed: Sequence[Mapping[str, Any]] = ()
    """Lines that an earlier run settled with another amount or fee: pairs (columns COMPARED) with the closed row."""

    def books_of(self, account: str) -> list[Book]:
        """The statements of an account, in order of their days."""
        return [book for book in self.books if book.account == account]

    def begins_earlier(self, account: str) -> bool:
        """True if the ledger has a row dated before the account's first statement."""
        first = self.books_of(account)[0].first_day
        days = [line["day"] for line in of_account(self.totals[LEDGER], account)]
        return first is not None and any(day is not None and day < first for day in days)

    @property
    def begins(self) -> dict[str, int]:
        """Account → the first day of its period, counted from 1970; only accounts that no earlier run closed.

        Without days in the file, the period begins with the month of its first row: what the books have earlier in that
        month may be missing on the statement. A table that is not from a file does not say when its period begins.
        """
        first = sorted((begins_on(book), book.account) for book in self.books if book.file and book.first_day)
        return {name: day for day, name in reversed(first) if name not in self.carried.ends}

    @property
    def ends(self) -> dict[str, int]:
        """Account → the day on which its books close, or that of the earlier close if it is later."""
        return {account: max(day, self.carried.ends.get(account, day)) for account, day in self.closing.items()}

    def ends_before(self, side: str) -> dict[str, int]:
        """Account → its closing day, counted from 1970; only accounts that have later rows on this `side`."""
        lines = self.totals[side]
        return {at: self.closing[at] for line in lines if (line["day"] or 0) > self.closing[at := line["account"]]}


_BALANCE: Columns = {name: ROW[name] for name in ("account", "source", "no", "order", "signed", "balance_minor")}


def last_day(run: Run, account: str) -> int:
    """The last day of an account, counted from 1970: that of its statements, else `as_of`, else of the earlier close.

    `as_of` never counts for less than the earlier close. In a first run, the ledger's last day up to `as_of` comes
    before `as_of`; without any of these days, the last day is 0.
    """
    last = [book.last_day for book in run.books_of(account) if book.last_day is not None]
    if not last and account in run.carried.ends:
        before = run.carried.ends[account]
        return before if run.as_of == ANY_DAY else max(before, run.as_of)
    days = [line["day"] for line in of_account(run.totals[LEDGER], account) if line["day"] is not None]
    otherwise = run.as_of if run.as_of < ANY_DAY else 0
    return max(last or [day for day in days if day <= run.as_of], default=otherwise)


def closings(run: Run) -> tuple[dict[str, int | None], dict[str, int]]:
    """Account → the ledger's last balance in the account's currency, or None; and account → its last entry's number."""
    last: dict[str, int] = {}
    with_balances: dict[str, int] = {}
    for name in run.accounts:
        lines = of_account(run.totals[LEDGER], name)
        last |= {name: _last_no(lines)} if lines else {}
        own = _own(lines, run.currencies[name])
        with_balances |= {name: _last_no(own)} if any(line["balances"] for line in own) else {}
    if not with_balances:
        return {}, last
    ends = " or ".join(f'account = {run.engine.text(name)} and "no" = {no}' for name, no in with_balances.items())
    rows = run.engine.rows(f"(select * from {run.everything} where {ends})", _BALANCE)
    return {row["account"]: row["balance_minor"] for row in rows if _known(row["balance_minor"])}, last


def _last_no(lines: Totals) -> int:
    return max(line["last_no"] or 0 for line in lines)


def books(run: Run, loaded: Frame, counted: Totals) -> list[Book]:
    """Every statement as a Book, by account and then in the order of days; none ends after `as_of`.

    `loaded` has the statements' rows, and `counted` their Totals.
    """
    reported = run.inputs.reported
    groups: dict[tuple[str, str], list[Any]] = {(file.account, name): [] for name, file in reported.items()}
    for line in counted:
        groups.setdefault((line["account"], line["source"]), []).append(line)
    stated = {name: (file.opening_minor, file.closing_minor) for name, file in reported.items()}
    nothing = None, None
    silent = {
        key: own for key, lines in groups.items()
        if None in stated.get(key[1], nothing) and (own := _own(lines, _statement_currency(run, counted, key[0])))
    }  # fmt: skip
    ends = _balances_at_the_ends(run.engine, loaded, silent)
    statements = []
    for (account, name), lines in groups.items():
        file = reported.get(name)
        days = _days(lines, file, limit_of(file, run.as_of))
        balances = zip(stated.get(name, nothing), ends.get((account, name), nothing), strict=True)
        opening, closing = (worked_out if printed is None else printed for printed, worked_out in balances)
        statements.append(Book(account, name, lines, file, *days, opening, closing))
    return sorted(statements, key=lambda book: (book.account, book.last_day or 0, book.first_day or 0, book.source))


def _sum(lines: Totals, name: str) -> int:
    return sum(line[name] for line in lines)


def _currencies(lines: Totals) -> set[str]:
    return {line["currency"] for line in lines} - {None}


def period_of(file: Statement | None) -> tuple[int | None, int | None]:
    """The first and the last day of a statement, counted from 1970.

    The declared days, else the days of its usable rows, else None. Both are None for a statement that is not from a
    file.
    """
    days = (file.period if file else None) or (None, None)
    first, last = (None if day is None else day_number(day) for day in days)
    return first, last


_YEAR = 366
_ENOUGH = 3
"""A lone late row counts as mistyped only in a file of at least this many rows: of fewer, any may be the wrong one."""


def before_gap(days: Iterable[int], most: int) -> int | None:
    """The last but one of the days on which a file has rows, if the last one follows after a wide gap; otherwise None.

    A gap is wide if it exceeds `most` days and the span of all earlier days. Days count from 1970.
    """
    ordered = sorted(days)
    if not ordered[1:]:
        return None
    first, before, last = ordered[0], *ordered[-2:]
    return before if last - before > max(most, before - first) else None


def before_mistyped(days: Mapping[int, int]) -> int | None:
    """The last day but one, if the year of the last day is mistyped; else None. `days` is day → number of rows.

    The last row's year counts as mistyped if the row is alone on its day, and follows the other rows by over a year and
    by more days than the other rows span.
    """
    before = before_gap(days, _YEAR)
    is_lone = before is not None and days[max(days)] == 1 and sum(days.values()) >= _ENOUGH
    return before if is_lone else None


def ledger_limits(rows: Totals, closing: Mapping[str, int]) -> dict[str, int]:
    """Account → the last day that a ledger row may have, for accounts with a later row whose year is mistyped.

    `rows` are the Totals of the whole ledger, and `closing` is account → its closing day, which is never mistyped.
    """
    days: defaultdict[str, Counter[int]] = defaultdict(Counter)
    for line in rows:
        if line["day"] is not None:
            days[line["account"]][line["day"]] += line["rows"]
    limits = {account: before_mistyped(days[account]) for account in closing}
    return {account: max(before, closing[account]) for account, before in limits.items() if before is not None}


def limit_of(file: Statement | None, as_of: int) -> int:
    """The last day on which a file may close books, counted from 1970: `as_of`, or the day before a mistyped year.

    If the caller gave `as_of`, the limit is `as_of`.
    """
    before = None if file is None or as_of < ANY_DAY else before_mistyped(file.days)
    if file is None or before is None or period_of(file)[1] not in {None, max(file.days)}:
        return as_of
    return before


def _days(lines: Totals, file: Statement | None, as_of: int) -> tuple[int | None, int | None]:
    """The first and the last day of a statement, from its file or its rows, at most `as_of`; None if unknown."""
    good = [line["day"] for line in lines if line["good"] and line["day"] is not None]
    in_time = [day for day in good if day <= as_of]
    first, last = period_of(file)
    is_declared = last is not None and last != max(good, default=None)
    last = last if is_declared else max(in_time, default=None)
    first = min(in_time, default=None) if first is None else first
    return first, last if last is None else min(last, as_of)


def begins_on(book: Book) -> int:
    """The day on which the period of a statement with rows begins, counted from 1970."""
    rows = min((line["day"] for line in book.lines if line["good"] and line["day"] is not None), default=None)
    first = book.first_day or 0
    # A file whose days begin with its first row may state none.
    return day_number(day_of(first).replace(day=1)) if first == rows else first


def _balances_at_the_ends(
    engine: SqlEngine, loaded: Frame, groups: Mapping[tuple[str, str], Totals]
) -> dict[tuple[str, str], tuple[int | None, int | None]]:
    """(Account, statement) → the balances before and after its rows, from its running balance; None if unknown."""
    if not any(line["balances"] for lines in groups.values() for line in lines):
        return {}
    spans = {
        key: (min(line["first_no"] for line in lines), max(line["last_no"] for line in lines))
        for key, lines in groups.items()
    }
    wanted = " or ".join(
        f'source = {engine.text(name)} and "no" in ({first}, {last})' for (_, name), (first, last) in spans.items()
    )
    rows = engine.rows(f"(select * from {loaded} where {wanted})", _BALANCE)
    at = {(row["account"], row["source"], row["no"]): row for row in rows if _known(row["balance_minor"])}
    return {
        key: _end_balances(at.get((*key, first)), at.get((*key, last)), _sum(groups[key], "signed"))
        for key, (first, last) in spans.items()
    }


def _known(balance: int | None) -> bool:
    """True for a balance that is given and is not too large for an account."""
    return balance is not None and abs(balance) <= 1000 * MOST_MINOR


def _end_balances(
    first: Mapping[str, Any] | None, last: Mapping[str, Any] | None, moved: int
) -> tuple[int | None, int | None]:
    """The balance before a statement's earliest row and after its latest; None where it is unknown.

    `first` and `last` are the file's first and last row, None if the row has no balance; `moved` is the sum of the
    effects of all rows.
    """
    opening = first["balance_minor"] - first["signed"] if first else None
    closing = last["balance_minor"] if last else None
    if not (first and last and opening is not None and first["order"] > last["order"]):
        return opening, closing
    # Some operators print the newest row first; with others an old row comes late, and the balances tell that.
    turned = last["balance_minor"] - last["signed"], first["balance_minor"]
    is_late = opening + moved == closing and turned[0] + moved != turned[1]
    return (opening, closing) if is_late else turned


def account_currencies(run: Run, ledger: Totals) -> dict[str, str | None]:
    """Account → its currency: that of its statements' rows (_statement_currency), else the one that a file declares.

    If there is neither, that of the earlier close, or the commonest of the ledger's rows, whose totals are `ledger`.
    Raises ReconcileRefused: the earlier run closed the account in another currency.
    """
    found: dict[str, str | None] = {}
    for account in run.accounts:
        mine = run.books_of(account)
        declared = (currency for book in mine for currency in book.currencies)
        before = run.brought.closed_of(account).get("currency")
        rows = _statement_currency(run, [line for book in mine for line in book.lines], account)
        found[account] = currency = rows or next(declared, None) or before or _commonest(ledger, account)
        if before not in {None, currency}:
            text = f"The earlier run closed {account} in {before}, and {mine[-1].source} is in {currency}."
            raise ReconcileRefused(text, account=account)
    return found


def check_accounts(ledger: Totals, books: Sequence[Book]) -> None:
    """Raises ReconcileRefused: the ledger lacks a statement's account or its currency, or no side names a currency.

    A statement that moves no money may have an account that the ledger lacks.
    """
    for book in books:
        mine = of_account(ledger, book.account)
        currencies = sorted(_currencies(mine))
        if not currencies and not book.currencies:
            text = f"Neither the ledger nor {book.source} names the currency of {book.account}."
            raise ReconcileRefused(text, account=book.account)
        if not mine and not book.sum("value"):
            # Without movements on either side nothing contradicts: nobody paid by this operator in the month.
            continue
        if not mine:
            in_ledger = sorted({line["account"] for line in ledger} - {None})
            text = f"The ledger has no row of {book.account}, the account of {book.source}."
            hint = f"It has {', '.join(in_ledger)}. If the statement is of one of these, name it"
            hint += ": --account, or account='…' to read_statement or in its layout." if book.file else " in `account`."
            raise ReconcileRefused(text, hint=hint if in_ledger else "It has no row at all.", account=book.account)
        if currencies and book.currencies and not set(book.currencies) & set(currencies):
            theirs, ours = " and ".join(book.currencies), " and ".join(currencies)
            text = f"{book.source} is in {theirs}, the ledger's {book.account} in {ours}."
            raise ReconcileRefused(text, account=book.account, currencies=currencies)


_OFF = ("amount", "fee", "day")
_AGREED: Columns = {
    **dict.fromkeys(("rule", "account", "group", "side", "statement", "entry", "key", "currency"), "string"),
    **dict.fromkeys(("line", "signed", *(f"{name}_off" for name in _OFF)), "int64"),
}
_RULES = ["key", "one_to_many", "many_to_one", "many_to_many", "nets_to_zero", "nothing_moved", "decided", TOLD_AGAIN]
_SORTED = ["account", "group", "side", "statement", "line", "entry", "key", "rule", "currency", "signed_minor"]
_NO_NUMBER = "cast(null as bigint)"
_STANDS = {"statement": "source", "line": "no"}


def matches_of(run: Run, settled: pa.Table, decided: pa.Table) -> pd.DataFrame:
    """The frame of matched rows (columns MATCH), in an order that depends only on the rows.

    `settled` has the pairs that rules matched, as in `breaks.Broken`; `decided` has the rows that decisions closed.
    """
    engine, classified = run.engine, run.classified
    by_key = f"case when {BOTH_SIDES} then 'key' else 'nothing_moved' end"
    several = f"""case when told_again then '{TOLD_AGAIN}' when l_n = 0 or n = l_n then 'nets_to_zero'
        when n = 2 then 'key' when l_n = 1 then 'one_to_many' when n - l_n = 1 then 'many_to_one'
        else 'many_to_many' end"""
    pair = "case when pair = '' then g else g || ' ' || pair end"
    pairs = {f"{side}{name}": ROW[name] for side in PREFIX.values() for name in OF_SIDE}
    by_rule = engine.arrow(settled, {"account": "string", **pairs, "rule": "string", "group": "string"})
    names = ("account", "side", "key", "entry", "currency", "signed", "source", "no")
    by_person = engine.arrow(decided, {**{name: ROW[name] for name in names}, "group": "string"})
    row = {name: f"case when side = '{STATEMENT}' then \"{own}\" end" for name, own in _STANDS.items()}
    row |= {f"{name}_off": _NO_NUMBER for name in _OFF}
    rows = engine.table(both(
        *_rows_of_pairs(classified.agreed, rule=by_key, group=pair),
        conform(classified.special, _AGREED, "agrees or told_again", rule=several, group="g", **row),
        *_rows_of_pairs(by_rule, rule="rule", group='"group"'),
        conform(by_person, _AGREED, rule="'decided'", **row),
    ), _AGREED)  # fmt: skip
    columns = {name: rows["signed" if name == "signed_minor" else name] for name in MATCH if name != "differences"}
    columns["differences"] = pa.array(_differences(rows), pa.string())
    matches = typed([pa.table(columns).cast(schema_of(MATCH))], MATCH)
    matches["rule"] = matches["rule"].cat.set_categories([*_RULES, *sorted({*settled["rule"].to_pylist()} - {*_RULES})])
    return matches.sort_values(_SORTED, kind="stable", ignore_index=True)


def _rows_of_pairs(pairs: Frame, **more: str) -> list[Frame]:
    """For each side, SQL for its rows of the pairs (columns _AGREED); `more` has the SQL of `rule` and `group`."""
    apart = {f"{name}_off": f"s_{name} - l_{name}" for name in _OFF}
    own = {
        LEDGER: {"entry": "l_entry", "statement": NULL, "line": _NO_NUMBER},
        STATEMENT: {"entry": NULL, "statement": "s_source", "line": "s_no"},
    }
    return [
        conform(pairs, _AGREED, f"{prefix}no is not null", **apart, **more, **own[side], side=f"'{side}'",
                **{name: f"{prefix}{name}" for name in ("key", "currency", "signed")})
        for side, prefix in PREFIX.items()
    ]  # fmt: skip


def _differences(rows: pa.Table) -> Iterator[str | None]:
    """Yields a text for each row with the differences in amount, fee and days, statement less ledger; None if equal."""
    offs = (rows[f"{name}_off"].fill_null(0).to_pylist() for name in _OFF)
    for amount, fee, days, currency in zip(*offs, rows["currency"].to_pylist(), strict=True):
        parts = [f"{name} {money_text(off, currency)}" for name, off in (("amount", amount), ("fee", fee)) if off]
        parts += [f"{days} day{'s' if abs(days) > 1 else ''}"] if days else []
        yield "; ".join(parts) or None


def summary_of(run: Run, rows: pa.Table) -> pd.DataFrame:
    """The summary (columns SUMMARY) of both sides and of repeated lines.

    `rows` are the rows of breaks, and the ledger rows after the period (without a `place`), which are left out.
    """
    by, counts = ("account", "business_date", "code", "currency"), tuple(SUMMARY)[4:]
    groups: dict[tuple[Any, ...], dict[str, int]] = defaultdict(lambda: dict.fromkeys(counts, 0))

    def count(line: Mapping[str, Any], code: str, side: str, sign: int = 1) -> None:
        group, signed = groups[line["account"], line["day"], code, line["currency"]], sign * line["signed"]
        group[f"{side}_rows"] += sign * line["rows"]
        group[f"{side}_value_minor"] += signed
        group["variance_minor"] += signed if side == LEDGER else -signed
        group["moved_minor"] += sign * line["value"]

    for side, lines in run.totals.items():
        for line in lines:
            count(line, MATCHED, side)
    for line in run.repeated:
        count(line, MATCHED, STATEMENT, -1)
        count({**line, "signed": 0, "value": 0}, TOLD_AGAIN, STATEMENT)
    code = pc.if_else(pc.is_valid(rows["place"]), rows["code"], None)
    valued = with_column(rows, "code", code).append_column("value", pc.abs(rows["signed"]))
    grouped = valued.group_by(["account", "day", "code", "currency", "side"])
    sums = grouped.aggregate([([], "count_all"), ("signed", "sum"), ("value", "sum")])
    names = {"count_all": "rows", "signed_sum": "signed", "value_sum": "value"}
    for line in sums.rename_columns(names).to_pylist():
        count(line, MATCHED, line["side"], -1)
        if line["code"]:
            count(line, line["code"], line["side"])
    # Null sorts first. A day on which every row is part of a break has no line for matched rows.
    records = [
        {**dict(zip(by, key, strict=True)), **groups[key]}
        for key in sorted(groups, key=lambda key: [(part is not None, part) for part in key])
        if key[2] != MATCHED or groups[key]["ledger_rows"] + groups[key]["statement_rows"] > 0
    ]
    result = frame(records, SUMMARY)
    result["code"] = result["code"].cat.set_categories([MATCHED, TOLD_AGAIN, *CODES])
    return result


def foreign_rows(run: Run, rows: pa.Table) -> Counter[str]:
    """Account → the number of the `rows` that move another currency than the account's, but for `timing` breaks."""
    own = pa.array([run.currencies[account] for account in rows["account"].to_pylist()], pa.string())
    is_foreign = pc.and_(pc.not_equal(rows["currency"], own), pc.not_equal(rows["signed"], 0))
    is_explained = pc.or_(pc.not_equal(rows["code"], TIMING), pc.is_null(rows["place"]))
    return Counter(rows.filter(pc.and_(is_foreign, is_explained))["account"].to_pylist())


def own_sums(run: Run, rows: pa.Table) -> Counter[str]:
    """Account → the sum of the `rows` in the account's currency, in minor units."""
    sums = Counter[str]()
    for account, currency, signed in zip(
        *(rows[name].to_pylist() for name in ("account", "currency", "signed")), strict=True
    ):
        sums[account] += signed if currency == run.currencies[account] else 0
    return sums


def proof_line(  # noqa: PLR0913, PLR0917  the sums of one account
    account: str, run: Run, explained: int, tolerated: int, foreign: int, before: int, after: int
) -> dict[str, Any]:
    """The proof of an account as a row with the columns PROOF.

    `explained` is the sum of the account's breaks, `tolerated` the sum of its differences within the tolerance, both in
    minor units of the account's currency. `foreign` counts the rows of breaks that move another currency: the proof
    does not hold if the account has more such rows, which match or are `timing`. `before` is the sum of the ledger rows
    before the period, which are part of the opening balance, and `after` of those after it, which the closing balance
    leaves out.
    """
    ends, closed, currency = run.closings.get(account), run.carried.closed_of(account), run.currencies[account]
    ends = None if ends is None else ends - after
    books = [book for book in run.books_of(account) if currency in book.currencies or not book.currencies]
    signed = {side: _sum(_own(of_account(lines, account), currency), "signed") for side, lines in run.totals.items()}
    signed[LEDGER] -= before + after
    in_files = sum(_sum(_own(book.lines, currency), "signed") for book in books)
    repeated = _sum(_own(of_account(run.repeated, account), currency), "signed")
    moved, carried = in_files - repeated, signed[STATEMENT] - in_files
    brought = int(closed.get("brought_minor", 0))
    opening = int(closed["statement_minor"]) if closed else books[0].opening
    if opening is None:
        # The statement has no opening balance: it is taken to open with the ledger's.
        opening = before if ends is None else ends - signed[LEDGER]
    ledger = opening - carried + brought + signed[LEDGER] if ends is None else ends
    closing = books[-1].closing
    statement = opening + moved if closing is None else closing
    gap = statement - opening - moved
    difference = ledger - statement
    line = {
        "account": account,
        "currency": currency,
        "ledger_minor": ledger,
        "statement_minor": statement,
        "difference_minor": difference,
        "breaks_minor": explained,
        "tolerated_minor": tolerated,
        "brought_minor": brought,
        "opening_minor": (ledger - signed[LEDGER]) - (opening - carried) - brought,
        "gap_minor": gap,
        "unexplained_minor": difference - explained - tolerated - brought,
    }
    jumps = [(book.source, jump) for book in books if book.file for jump in book.file.findings.to_dict("records")]
    names = " and ".join(book.source for book in books)
    blank = ""
    is_empty = not any(book.sum("rows") for book in books)
    if not any(book.sum("good") for book in books) and not (is_empty and closing is not None):
        blank = f"{names} has {'no rows' if is_empty else 'no row that can be read'} {NOTHING_PROVEN}"
    doubts, (others, text) = _doubts(account, run.ledger), _other_currencies(run, account)
    if closing is None and (unread := sum(book.sum("rows") - book.sum("amounts") for book in books)):
        doubts.append(
            f"{counted(unread, 'row')} of {names} without an amount that can be read, so nothing proves the end"
        )
    is_doubted = bool(doubts or blank or jumps or others > foreign)
    line["holds"] = not (line["unexplained_minor"] or line["opening_minor"] or gap or is_doubted)
    doubts += [text][: bool(others)]
    for file, rows in ((book.file, book.sum("rows")) for book in books if book.file and book.sum("balances")):
        # Of a single row nothing is to be compared.
        if 2 * file.followed < rows - 1:
            doubts.append(f"the running balance of {file.name} was compared in {file.followed} of {rows} rows")
    line["note"] = blank or _note(line, jumps, doubts, worked_out=closing is None)
    return line


def _doubts(account: str, ledger: LedgerRead) -> list[str]:
    """Sentences with reasons to doubt that the ledger continues from the balance of the earlier run."""
    if why := ledger.unknown.get(account):
        fault = "was of a version that did not note" if why == OLDER else "noted under another key"
        how = "reconcile the earlier periods again" if why == OLDER else GIVE_THE_KEY.rstrip(".").replace("U", "u", 1)
        return [
            f"the earlier run {fault} which rows of the ledger it read, so rows booked since are not told apart: {how}"
        ]
    missing = ledger.missing[ledger.missing["account"] == account]
    if missing.empty:
        return []
    rows, begins = counted(len(missing), "row"), ledger.begins.get(account)
    if begins is None or begins > day_number(missing["business_date"].max()):
        text = f"the ledger begins after {rows} read in an earlier run, and lacks them: {rows_named(missing)}"
        return [f"{text}: give the whole ledger in each period, from its first row, not the new rows alone"]
    return [f"the ledger lacks {rows} read in an earlier run, or has changed them: {rows_named(missing)}"]


def _other_currencies(run: Run, account: str) -> tuple[int, str]:
    """The number of rows that move another currency than the account's, and a sentence with their sums."""
    own, sums = run.currencies[account], defaultdict[tuple[str, str], Counter[str]](Counter)
    for side, sign, lines in (*((side, 1, lines) for side, lines in run.totals.items()), (STATEMENT, -1, run.repeated)):
        for line in of_account(lines, account):
            if line["currency"] not in {None, own}:
                sums[side, line["currency"]].update({name: sign * line[name] for name in ("moving", "signed")})
    parts = [
        f"{counted(rows['moving'], f'{side} row')} of {money_text(rows['signed'], currency)}"
        for (side, currency), rows in sorted(sums.items()) if rows["moving"]
    ]  # fmt: skip
    many = sum(rows["moving"] for rows in sums.values())
    stand, are = ("stands", "is") if many == 1 else ("stand", "are")
    return many, f"{' and '.join(parts)} {stand} in an account in {own} and {are} not in these balances"


def _statement_currency(run: Run, counted: Totals, account: str) -> str | None:
    """The currency of an account's statement rows: that of the earlier close, if a row has it, else the commonest.

    None if the account has no rows in `counted`.
    """
    before = run.brought.closed_of(account).get("currency")
    return before if before in _currencies(of_account(counted, account)) else _commonest(counted, account)


def _commonest(counted: Totals, account: str) -> str | None:
    """The most frequent currency of the rows of an account; None if it has no rows."""
    rows: Counter[str] = Counter()
    for line in of_account(counted, account):
        rows[line["currency"]] += line["rows"]
    return max(sorted(rows.keys() - {None}), key=rows.__getitem__, default=None)


def _note(
    line: Mapping[str, Any], jumps: Sequence[tuple[str, dict[Any, Any]]], text: list[str], *, worked_out: bool
) -> str:
    """The note of an account: the sentences `text`, the first of `jumps`, the opening difference, and the gap.

    `line` is the row of the proof. A jump is the name of a statement and a row of its findings, where the running
    balance does not follow. With `worked_out`, the note says that the closing balance is computed. The new sentences
    are appended to `text` in place; without any sentence, the note is EXACT.
    """
    if jumps:
        name, jump = jumps[0]
        expected, found = (money_text(int(jump[f"{which}_minor"]), line["currency"]) for which in ("expected", "found"))
        more = f", and in {len(jumps) - 1} more" if len(jumps) > 1 else ""
        where = f"the running balance of {name} does not agree in line {jump['line']}{more}"
        text.append(f"{where}: {expected} expected, {found} found")
    opening, gap = (money_text(line[name], line["currency"]) for name in ("opening_minor", "gap_minor"))
    if line["opening_minor"]:
        text.append(f"the opening balances differ by {opening}")
    if line["gap_minor"]:
        text.append(f"the statement's balances jump by {gap} beyond its rows")
    if worked_out:
        text.append(WORKED_OUT)
    return "; ".join(text) or EXACT


def aside_of(now_matched: pa.Table, rows: pa.Table, decided: pa.Table) -> pd.DataFrame:
    """Counts, by account and currency, what the rates leave out: rows of earlier periods, and rows decisions closed.

    `rows` and `value` count all of them, `matched_rows` and `matched_value` those that match or that a decision closed.
    The argument `rows` has the rows of breaks, `now_matched` carried rows that match now, and `decided` rows that
    decisions closed.
    """
    waiting, by = rows.filter(pc.is_valid(rows["since"])), ["account", "currency"]
    parts = []
    for part, moved, matched in ((now_matched, "moved", 1), (waiting, "signed", 0), (decided, "signed", 1)):
        value = pc.abs(part[moved])
        counts = {"rows": pa.repeat(1, len(part)), "matched_rows": pa.repeat(matched, len(part))}
        counts |= {"value": value, "matched_value": pc.multiply(value, matched)}
        parts.append(pa.table({name: part[name] for name in by} | counts))
    sums = pa.concat_tables(parts).group_by(by, use_threads=False).aggregate([(name, "sum") for name in counts])
    named = sums.rename_columns([name.removesuffix("_sum") for name in sums.column_names])
    aside: pd.DataFrame = named.sort_by([(name, "ascending") for name in by]).to_pandas()
    return aside
