"""Compares a ledger with the statements of an operator or a bank for the same accounts.

A run reads both sides, applies the rules, and builds the frames of the result. The rules exist once, as SQL for both
DuckDB and Spark.

>>> reconcile("ledger.parquet", "statement.parquet").breaks  # doctest: +SKIP
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from fnmatch import fnmatchcase
from functools import cache, cached_property, partial
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from workbench.analysis.break_codes import BUCKETS, CODES, MATCHED, TIMING, has_key
from workbench.analysis.frames import day_number, day_of, frame, python_rows, untyped
from workbench.analysis.phone_key import HASH_SEPARATOR, key_from, refuse_another
from workbench.analysis.reconcile import carry_forward as carrying  # parameters of `reconcile` have the modules' names
from workbench.analysis.reconcile import decisions as deciding
from workbench.analysis.reconcile import proof
from workbench.analysis.reconcile.breaks import Broken, breaks_of, summed
from workbench.analysis.reconcile.carry_forward import CarryForward
from workbench.analysis.reconcile.classify import LINE, Allowed, Tolerance, check_whole, classify
from workbench.analysis.reconcile.engines import DUCKDB, Frame, Native, both, column_list, conform, equality, mapped
from workbench.analysis.reconcile.inputs import (
    ANY_DAY,
    LEDGER,
    PREFIX,
    ROW,
    SIDES,
    STATEMENT,
    dated,
    read_inputs,
    sha256_of,
)
from workbench.analysis.reconcile.proof import Run
from workbench.analysis.reconcile.suggestions import suggestions_of
from workbench.analysis.report import captions
from workbench.analysis.report.totals import Reconciled, in_own_currency, sums_by_account
from workbench.analysis.rules import AMOUNT, BY_KEY, KEY, USUAL_DAYS, WITHOUT_KEYS, MatchRules, rules_of, unknown_kinds
from workbench.analysis.shapes import AHEAD, CARRIED, CLOSED, INPUTS, PROOF, SIGNED
from workbench.analysis.statements.statement import Statement
from workbench.domain.moments import LUSAKA
from workbench.domain.money import money_text
from workbench.errors import ReconcileRefused

__all__ = ["BUCKETS", "CODES", "CarryForward", "Reconciliation", "Tolerance", "reconcile"]


@dataclass(frozen=True, repr=False, eq=False)
class Reconciliation(Reconciled):
    """A ledger compared with statements. Every row of either side is in `matches` or part of a break.

    Only ledger rows without a partner that are dated after the closing date are neither; `notes` count them.

    Amounts are minor units with their currency beside them; the columns are declared in `analysis.shapes`.
    Use it as a context manager, or `close` it, to release the rows that the engine holds.
    """

    _carry_forward: Callable[[], CarryForward] = field(repr=False, kw_only=True)
    signatures: deciding.Signatures = field(default_factory=deciding.Signatures)
    """The preparer and the reviewer, each with the day."""

    @cached_property
    def carry_forward(self) -> CarryForward:
        """The open rows and the closing days that the next run starts from; computed on first use."""
        carried, signatures = self._carry_forward(), self.signatures._asdict()
        if not any(self.signatures):
            return carried
        signed = frame([{"account": account, **signatures} for account in self.proof["account"]], SIGNED)
        others = carried.signed[~carried.signed["account"].isin(self.proof["account"])]
        return replace(carried, signed=pd.concat([signed, others], ignore_index=True).astype(dict(SIGNED)))

    @property
    def headline(self) -> str:
        """The result in one or two sentences."""
        return captions.headline(self)

    @property
    def is_clean(self) -> bool:
        """True if every open break is `timing`: its other row may follow in the next days."""
        return bool((self.breaks["code"] == TIMING).all())

    @property
    def is_decided(self) -> bool:
        """True if every open break is `timing`, or decided by a person or a rule."""
        return not deciding.is_open(self.breaks).any()

    @property
    def sign_off(self) -> str:
        """Text to sign off: who decided what, the SHA-256 of inputs, layouts, decisions and rules, and who signed."""
        return deciding.sign_off(self.decided, self.decisions, self.inputs, self.signatures)

    @property
    def decided(self) -> pd.DataFrame:
        """The id, currency, variance_minor, verdict, who and rule of each break that a person or a rule has decided.

        The frame has open breaks and breaks that this period closed, by the decision or because their rows now match.
        """
        names = ["id", "currency", "variance_minor", "verdict", "who", "rule"]
        decided = (part[part["verdict"].notna()] for part in (self.breaks, self.closed))
        return pd.concat([part[names].astype({"rule": "string"}) for part in decided], ignore_index=True)

    def sign(self, *, prepared_by: str = "", reviewed_by: str = "", on: date | None = None) -> "Reconciliation":
        """Returns the result signed by the preparer, the reviewer or both, on the day `on` (default: today).

        Raises ReconcileRefused: preparer and reviewer are the same person.
        """
        signatures = self.signatures.signed(prepared_by, reviewed_by, on or datetime.now(LUSAKA).date())
        return replace(self, signatures=signatures)

    def decide(self, path: Path | str = "decisions.csv", *, who: str = "") -> deciding.DecisionTable:
        """A table for deciding the open breaks in JupyterLab; in a script, call its `decide(id, verdict, why=…)`.

        `who` is the person who decides. Decisions are written to `path`; a later `reconcile(decisions=path)` reads
        them. Raises ReconcileRefused: `path` does not end in .csv, or the file exists and cannot be used.
        """
        return deciding.DecisionTable(self.breaks, Path(path), who, self.suggestions)

    @property
    def rates(self) -> pd.DataFrame:
        """The share of each account's rows of this period that match, `by_count` and `by_value` (net), from 0 to 1.

        The values are of the rows in the account's currency.
        """
        counts, own = ["matched", "rows", "agreed", "value"], dict(python_rows(self.proof, "account", "currency"))
        records = [
            (
                line.account,
                *line.of_period,
                *(line.value_of_period if line.currency in {"", own[line.account]} else (0, 0)),
            )
            for line in sums_by_account(self)
        ]
        sums = pd.DataFrame(records, columns=["account", *counts]).groupby("account", as_index=False).sum()
        parts = {"by_count": ("matched", "rows"), "by_value": ("agreed", "value")}
        shares = {name: (sums[part] / sums[whole]).fillna(1.0) for name, (part, whole) in parts.items()}
        return sums[["account"]].assign(**shares)

    def to_excel(self, path: Path | str, *, matches: bool = False) -> None:
        """Write a workbook: the reconciliation with the next steps, then breaks, summary, ageing, proof and inputs.

        Suggestions and closed breaks follow if there are any; with `matches`, also every matched row. Amounts are
        numbers in major units, and their totals formulas. Equal results give identical bytes. Raises ReportRefused: a
        figure has more than 15 digits, or the file cannot be written.
        """
        from workbench.analysis.report.workbook import write_workbook

        write_workbook(self, path, matches=matches)

    def journal(
        self, path: Path | str | None = None, form: str = "general", *, accounts: Mapping[str, str] | None = None,
        on: date | None = None,
    ) -> pd.DataFrame:  # fmt: skip
        """The lines (columns JOURNAL) of a balanced entry for each decision that changes the books.

        With `path`, they are also written to a .csv file. `form` is `general`, `sage`, `xero` or `quickbooks`;
        `accounts` gives the codes of your books, such as `{"charges": "7901"}`; `on` is the date of all entries, by
        default the date of each break. Raises ReportRefused: there is no such form or account, or the file cannot be
        written.
        """
        from workbench.analysis.report import outputs

        if path is not None:
            outputs.write_journal(self, path, form, accounts=accounts, on=on)
        return outputs.journal(self, accounts, on)

    def report(self, path: Path | str) -> None:
        """Write one HTML page that needs no other file. Raises ReportRefused: the file cannot be written."""
        from workbench.analysis.report.page import write_page

        write_page(self, path)

    def __repr__(self) -> str:
        return captions.overview_text(self)

    def _repr_html_(self) -> str:
        return captions.overview_html(self)


def reconcile(  # noqa: PLR0913  each has a default, and is given by name
    ledger: Native,
    statement: Native,
    *,
    tolerance: Tolerance | None = None,
    cut_off: int = 1,
    carry_forward: CarryForward | str | Path | None = None,
    as_of: date | None = None,
    skip_settled: bool = False,
    engine: str | None = None,
    decisions: Path | str | pd.DataFrame | None = None,
    rules: Path | str | None = None,
    match: object = None,
    phone_key: str | Path | bytes | None = None,
) -> Reconciliation:
    """Compare a ledger with statements. Every row of both sides ends in a match or a break.

    Only a ledger row without a partner that is dated after the closing date does not: the next run reads it again.

    Tables may be DataFrames of pandas, Polars or PySpark, Arrow tables, DuckDB relations, or paths (or patterns) of
    Parquet. A table needs the four columns account, key, occurred_at and amount, or all columns of its side, which
    `analysis.shapes` declares. A column `phone_hash` has hashes of masked numbers; a ledger's column `description` is
    shown as the narrative of breaks that only the ledger has.

    ledger: a table with four columns or with those of LEDGER_MOVEMENT, a .csv or .xlsx file for `read_ledger`, what
    `read_ledger` returns, or `bench.ledger`. Only the rows of the statements' accounts are compared.
    statement: a table with four columns or with those of STATEMENT_ROW, a .csv or .xlsx file for `read_statement`,
    what `read_statement` returns, or a list of such statements.
    tolerance: how far both sides may differ in amount and fee.
    cut_off: a row without a partner is `timing` if it is dated within this many days up to the closing date.
    carry_forward: the carry-forward of an earlier result, or the folder into which its `save` wrote. Statement lines
    that the earlier run settled are refused, or left out if `skip_settled`.
    as_of: the day of the reconciliation; for `bench.ledger` the default is the day of the sandbox's clock. A statement
    row of a later day does not move the closing date. A statement row without a partner is invalid if it is dated after
    `as_of`, or outside of the period that its file states. Without `as_of`, a row without a partner is also invalid if
    it alone is over a year later than all other rows of its file: its year may be mistyped. A ledger row is invalid
    only for such a year, with or without `as_of`. A later run takes an invalid row as valid if it finds a partner for
    the row, or if the row was only dated after `as_of` and that day has come.
    engine: `duckdb` or `spark`; the default is `spark` if an input is a Spark table, else `duckdb`.
    decisions: people's decisions about breaks: `decisions.csv`, a file or a frame of breaks with verdicts, or a frame
    (columns DECIDED). Decisions that were carried forward count too. Decisions change no figure.
    rules: a TOML file of your own rules. A `[[rule]]` changes no figure; `[match]` says how rows are matched.
    match: the rules by which rows are matched: a list such as `[{"on": ["key"]}, {"on": ["amount"], "days": 3}]` for
    every account, or a mapping of account names, in which `*` stands for anything, to such lists. `match` overrides
    `[match]` in `rules`, which overrides a layout's rules.
    phone_key: the key of these books, or the file that holds it, which is created if missing. Customers' numbers are
    hashed under the key, so that the next run can compare the masked numbers that are carried forward. Give the same
    key in each period; without a key, numbers are compared within one run.

    Raises ReconcileRefused, with the reason: the inputs cannot be compared. Raises StatementRefused: a file cannot be
    read. Raises PhoneKeyRefused: `phone_key` is no key, or a key would be created though carried numbers are hashed
    under another.

    >>> reconcile("ledger.parquet", "statement.parquet").breaks  # doctest: +SKIP
    """
    if not isinstance(tolerance, Tolerance | None):
        raise ReconcileRefused(f"{tolerance!r} is not a Tolerance.", hint="Tolerance(amount_minor=1), for example.")
    if isinstance(carry_forward, str | Path):
        carry_forward = CarryForward.load(carry_forward)
    if not isinstance(carry_forward, CarryForward | None):
        hint = "Pass the `carry_forward` of an earlier result, or the folder into which it was saved."
        raise ReconcileRefused(f"{carry_forward!r} is not a CarryForward.", hint=hint)
    if as_of is not None and (not isinstance(as_of, date) or isinstance(as_of, datetime)):
        raise ReconcileRefused(f"{as_of!r} is not a day.", hint="as_of=date(2026, 1, 31), for example.")
    check_whole("cut_off", cut_off, "reconcile()")
    decided = deciding.decided_by(decisions, rules, match)
    brought = carry_forward or CarryForward()
    if isinstance(phone_key, str | Path):
        refuse_another(Path(phone_key), brought.rows["phone_hash"])
    key = key_from(phone_key)
    inputs = read_inputs(ledger, statement, phone_key)
    runs_on = inputs.engine(engine)
    today = as_of or inputs.ledger.as_of
    until = ANY_DAY if today is None else day_number(today)
    try:
        run = Run(inputs, runs_on, brought, decided, key, until, cut_off)
        _read(run, tolerance or Tolerance(), skips_settled=skip_settled)
        bad = {side: sum(line["rows"] - line["good"] for line in counted) for side, counted in run.totals.items()}
        carried = not brought.is_first
        overlaps = carried or len(run.books) > len(run.accounts)
        allowed = run.allowed._replace(ends={name: run.ends[name] for name in run.ends_before(LEDGER)})
        run.classified = classify(runs_on, run.rows, bad, allowed, carried=carried, overlaps=overlaps)
        broken = breaks_of(run)
        lines = f"(select * from {run.classified.special} where told_again)"
        run.repeated = proof.totals(runs_on, lines, ("rows", "value", "signed", "moving")) if overlaps else []
        return _result(run, broken)
    except BaseException as problem:
        runs_on.close()
        if isinstance(problem, runs_on.failures):
            names = " and ".join(table.name for table in (inputs.ledger, *inputs.statements))
            text = f"{names} cannot be compared: {str(problem).strip().splitlines()[0]}."
            hint = "A file may be damaged: export it again. Or a number or a sum is too large for 64 bits."
            raise ReconcileRefused(text, hint=hint) from problem
        raise


def _read(run: Run, tolerance: Tolerance, *, skips_settled: bool) -> None:
    """Loads both sides of the run, counts them, and finds the accounts, their closing days and their rules.

    With `skips_settled`, statement lines that an earlier run settled are left out; otherwise they are refused.
    """
    engine = run.engine
    theirs = engine.loaded(run.inputs.statement_rows(engine))
    new = proof.totals(engine, theirs)
    if nameless := sorted({str(line["source"]) for line in new if line["account"] is None}):
        raise ReconcileRefused(f"Rows of {' and '.join(nameless)} do not name their account.")
    run.books = proof.books(run, theirs, new)
    if not run.books:
        raise ReconcileRefused("The statement has no rows, so its account is unknown.")
    # The statements are in the order of their days: the last one of an account ends last.
    ends = {book.account: book.last_day or 0 for book in run.books}
    run.accounts = sorted(ends)
    ours = engine.loaded(run.inputs.ledger_rows(engine))
    every = proof.totals(engine, ours)
    proof.check_accounts(every, run.books)
    run.currencies = proof.account_currencies(run, every)
    run.everything, theirs = (engine.of_accounts(rows, run.accounts) for rows in (ours, theirs))
    run.rows = {LEDGER: run.everything, STATEMENT: theirs}
    run.totals = {LEDGER: [line for line in every if line["account"] in ends], STATEMENT: new}
    run.closings, run.last_numbers = proof.closings(run)
    run.carried = run.brought.of(run.accounts).judged_by(
        ends if run.as_of == ANY_DAY else dict.fromkeys(run.accounts, run.as_of)
    )
    run.rules = _rules(run)
    days = {name: USUAL_DAYS if rules[0].days is None else rules[0].days for name, rules in run.rules.items()}
    named = " ".join(f"when {engine.text(name)} then {most}" for name, most in days.items())
    most = max(days.values())
    apart = f"case account {named} end" if len({*days.values()}) > 1 else f"{most}"
    windows = {name: [rule for rule in rules if rule.has_window] for name, rules in run.rules.items()}
    by_amount = {name: any(rule.nearest for rule in rules) for name, rules in windows.items() if rules}
    run.allowed = Allowed(tolerance.amount_minor, tolerance.fee_minor, apart, most, by_amount, {})
    run.ledger = carrying.ledger_read(engine, run.everything, run.carried, run.key)
    if not run.carried.is_first:
        theirs = engine.keep(both(theirs, carrying.rows_open(engine, run.carried, STATEMENT)))
        run.rows = {LEDGER: run.ledger.unsettled, STATEMENT: theirs}
        run.totals = {side: proof.totals(engine, run.rows[side]) for side in SIDES}
        run.rows[STATEMENT] = _marked_settled(run, theirs, skips_settled=skips_settled)
    run.closing = {account: proof.last_day(run, account) for account in run.accounts}
    run.ledger_limits = proof.ledger_limits(every, run.closing)


def _rules(run: Run) -> dict[str, MatchRules]:
    """The matching rules of each account: those given, else its layout's, else the default.

    Raises ReconcileRefused: two layouts of an account declare different rules.
    """
    rules, waiting = {}, run.brought.rows[run.brought.rows["side"] == STATEMENT]
    for account in run.accounts:
        in_layouts = {file.match for file in run.inputs.reported.values() if file.account == account and file.match}
        declared = rules_of(account, run.decided.match)
        if len(in_layouts) > 1 and not declared:
            text = f"The layouts of {account} declare different rules to match by."
            raise ReconcileRefused(text, hint="Give one list for the account, under [match] in the rules file.")
        lines = proof.of_account(run.totals[STATEMENT], account)
        carried = waiting.loc[waiting["account"] == account, "key"].dropna()
        has_keys = any(line["keyed"] for line in lines) or any(map(has_key, carried))
        is_keyless = any(line["good"] for line in lines) and not has_keys
        rules[account] = declared or next(iter(in_layouts), WITHOUT_KEYS if is_keyless else (BY_KEY,))
    return rules


def _marked_settled(run: Run, theirs: Frame, *, skips_settled: bool) -> Frame:
    """The rows `theirs`, with `was` set to `matched` in each line that an earlier run settled: such lines do not count.

    A settled line agrees with a ledger row that is closed, or the carry-forward lists it (columns TOLD). Raises
    ReconcileRefused: there are settled lines, and `skips_settled` is false.
    """
    engine, ends, settled = run.engine, run.carried.ends, run.carried.told
    last = settled.groupby("account")["business_date"].max().map(day_number).to_dict()
    until = dated(engine, {name: max(day, last.get(name, day)) for name, day in ends.items()})
    new = engine.keep(conform(theirs, ROW, f"was is null and ({until})"))
    if not len(engine.table(f"(select side from {new} limit 1)", {"side": "string"})):
        return theirs
    theirs_good = conform(new, ROW, f"not bad and ({dated(engine, ends)})")
    sides = {LEDGER: conform(run.ledger.closed, ROW, "not bad"), STATEMENT: theirs_good}
    classified = classify(engine, sides, dict.fromkeys(SIDES, 0), run.allowed, carried=False, overlaps=True)
    differ = pc.is_in(classified.opened["code"], pa.array(["amount_mismatch", "fee_mismatch"]))
    run.changed = classified.opened.filter(differ).to_pylist()
    lines = classified.settled_lines()
    if len(settled):
        before = carrying.settled_before(engine, new, settled)
        lines = both(lines, f"(select {column_list(LINE)}, 1 as lines from {before})")
    lines = engine.keep(f"(select {column_list(LINE)}, max(lines) as lines from {lines} group by {column_list(LINE)})")
    if not skips_settled:
        carrying.refuse_settled(engine, lines)
    marked = f"(select x.*, y.lines from {theirs} x left join {lines} y on {equality(LINE)})"
    code = f"case when was is null and lines is not null then '{MATCHED}' else was end"
    return engine.keep(conform(marked, ROW, was=code))


def _result(run: Run, broken: Broken) -> Reconciliation:
    """Builds the frames of the result: applies the decisions to the breaks, proves the balances, carries forward."""
    own = in_own_currency(broken.breaks, run.currencies)
    explained = summed(pa.array(own["account"]), pa.array(own["variance_minor"]))
    foreign = proof.foreign_rows(run, broken.rows)
    before, after = (proof.own_sums(run, part) for part in (broken.before_period, broken.after_period))
    lines = [
        proof.proof_line(name, run, explained[name], broken.tolerated[name], foreign[name], before[name], after[name])
        for name in run.accounts
    ]
    books = run.inputs.ledger.read_from
    names = books.account_names if books else {}
    # A decision table that a person filled in has the names of accounts that people are shown.
    accounts = {name: account for account, name in names.items()}
    current = [{**row, "account": accounts.get(row["account"] or "", row["account"])} for row in run.decided.decisions]
    decisions_before = run.brought.decisions
    shown, decisions = deciding.applied(broken.breaks, run.decided.rules, current, decisions_before, run.accounts)
    now_matched = carrying.matched_since(run.carried.rows, broken.rows)
    groups = deciding.groups_closed(shown)
    done = groups.notna()
    rows = broken.rows.append_column("group", pa.array(groups, pa.string()).take(broken.rows["place"]))
    gone, rows = rows.filter(pc.is_valid(rows["group"])), rows.filter(pc.is_null(rows["group"]))
    in_breaks = rows.filter(pc.is_valid(rows["place"]))
    first = mapped(rows["account"], run.begins.get, pa.int64())
    is_before = pc.fill_null(pc.and_(pc.is_null(rows["place"]), pc.less(rows["day"], first)), fill_value=False)
    opened, proven = shown[~done].reset_index(drop=True), frame(lines, PROOF)
    kept = deciding.carried_on(decisions, shown.loc[done, "id"], run.brought.decisions)
    by_rule = Counter(sorted(rule for _, rule in broken.matched.elements() if rule != KEY))
    later = run.classified.settled_later(run.engine, run.ends_before(STATEMENT))
    settled = carrying.lines_settled(run.carried, broken.settled, gone, later)
    waiting = carrying.carried_rows(rows.filter(pc.invert(is_before)), run.closing)
    carried = cache(partial(_carried, run, rows, lines, kept, settled, waiting))
    # What `read_ledger` read stays as it is. Any other ledger may change, or end with its session.
    if books is None or run.engine.name != DUCKDB:
        carried()

    def close() -> None:
        # The next period needs the carry-forward, which nobody can work out without the engine's rows.
        try:
            carried()
        finally:
            run.engine.close()

    return Reconciliation(
        breaks=opened,
        decisions=decisions,
        proof=proven,
        _carry_forward=carried,
        carry_note=carrying.unkeyed_words(waiting[1]),
        closed=deciding.closed_breaks(shown[done], now_matched, decisions, broken.settled),
        aside=proof.aside_of(now_matched, in_breaks, gone),
        told_again=sum(line["rows"] for line in run.repeated),
        notes=(
            *_notes(run, broken, lines),
            *unknown_kinds(shown, run.decided.rules),
            *deciding.replaced_words(shown, current, run.brought.decisions),
        ),
        matched_by=dict(by_rule),
        account_names=names,
        rows_read={side: sum(line["rows"] for line in run.totals[side]) for side in SIDES},
        engine=run.engine.name,
        _summary=partial(proof.summary_of, run, rows),
        _matches=partial(proof.matches_of, run, broken.settled, gone),
        _suggestions=partial(suggestions_of, opened, proven, run.rules),
        _inputs=partial(_inputs, run),
        _close=close,
    )


def _carried(
    run: Run, rows: pa.Table, lines: Sequence[Mapping[str, Any]], decisions: pd.DataFrame, settled: pd.DataFrame,
    opened: tuple[pd.DataFrame, int],
) -> CarryForward:  # fmt: skip
    """Builds the carry-forward; `rows` are the rows of open breaks, `lines` the rows of the proof.

    `decisions` has the decisions for the next run (columns DECISION), `settled` the settled statement lines (columns
    TOLD). `opened` has the open rows (columns CARRIED), and the number of those whose customer's number the next run
    cannot compare.
    """
    kept, unkeyed = opened
    closed = [
        {
            **line,
            "closing_date": run.closing[line["account"]],
            "last_number": run.last_numbers.get(line["account"]),
            "brought_minor": line["brought_minor"] + line["tolerated_minor"] + line["unexplained_minor"],
        }
        for line in lines
    ]
    # Read only if a side has later rows: most ledgers and statements end together.
    ahead = frame([], AHEAD)
    if run.ends_before(LEDGER) or not run.brought.ahead.empty:
        ahead = carrying.rows_ahead(run.engine, run.everything, rows, run.closing)
    known = carrying.rows_read(run.engine, run.ledger, ahead, kept, run.closing)
    carried = CarryForward(kept, frame(closed, CLOSED), ahead, decisions, known, settled, unkeyed=unkeyed)
    # Accounts that are not reconciled this time keep their carry-forward.
    others = [name for name in run.brought.closed["account"] if name not in run.closing]
    return carried.and_of(run.brought.of(others)) if others else carried


def _inputs(run: Run) -> pd.DataFrame:
    """A frame (columns INPUTS) of the run's ledger, statements, carry-forward, layouts, decisions and rules."""
    inputs, carried = run.inputs, run.brought
    counted, good = (sum(line[name] for line in run.totals[LEDGER]) for name in ("rows", "good"))
    none, books = (None, None, None), inputs.ledger.read_from
    query = books and books.query_sha256
    name = f"rows of {inputs.ledger.name}" if query else inputs.ledger.name
    rows: list[tuple[Any, ...]] = [(LEDGER, name, inputs.ledger.hashed, counted, *none, counted - good)]
    rows += [(LEDGER, inputs.ledger.name, query, 1, *none, None)] if query else []
    hashes = {name: source.hashed for source in inputs.statements for name in source.statements}
    only = next(iter(hashes.values())) if len(hashes) == 1 else None
    for book in run.books:
        reported = inputs.reported.get(book.source)
        hashed = reported.sha256 if reported else hashes.get(book.source, only)
        days = book.first_day, book.last_day
        rows.append(
            (STATEMENT, book.source, hashed, book.sum("rows"), book.account, *days, book.sum("rows") - book.sum("good"))
        )
    if not carried.is_first:
        # The open rows and the closings; without the hashes of numbers, which depend on a key.
        opened = untyped(carried.rows, CARRIED).drop_columns("phone_hash")
        hashed = sha256_of(opened, untyped(carried.closed, CLOSED))
        rows.append((LEDGER, "carried forward", hashed, len(carried.rows), *none, None))
    if inputs.ledger.head:
        rows.append((LEDGER, "head of the sandbox's chain of entries", inputs.ledger.head, counted, *none, None))
    layouts = {file.layout: file.layout_sha256 for file in (books, *inputs.reported.values()) if file}
    rows += [("layout", name, hashed, 1, *none, None) for name, hashed in layouts.items() if hashed]
    rows += [(*source, *none, None) for source in run.decided.inputs]
    return frame((dict(zip(INPUTS, row, strict=True)) for row in rows), INPUTS)


_FAR = 31
"""A note warns if the gap before a file's last day exceeds this many days, and also the span of all earlier days."""


def _notes(run: Run, broken: Broken, lines: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yields the notes of the result: on matches without a key, dates, balances, rows booked late, customers' numbers.

    `lines` are the rows of the proof.
    """
    books, closing, files = run.inputs.ledger.read_from, run.closing, run.inputs.reported.values()
    names = books.account_names if books else {}
    yield from _matched(run.rules, broken.matched, names)
    ruled_for = dict.fromkeys([*run.decided.match, *(rule.account for rule in run.decided.rules if rule.account)])
    if idle := [name for name in ruled_for if not any(fnmatchcase(account, name) for account in run.accounts)]:
        yield f"No account here is named {' or '.join(idle)}, as a rule says; there are {', '.join(run.accounts)}."
    for file in files:
        yield from _far(file, closing.get(file.account))
    yield from (f"{file.name}: {remark}" for file in (books, *files) if file for remark in file.remarks)
    yield from run.inputs.remarks
    if books and run.brought.is_first:
        with_balance = books.table["account"].filter(books.table["balance_minor"].is_valid()).unique().to_pylist()
        if silent := sorted(names.get(account, account) for account in {*closing}.difference(with_balance)):
            yield (
                f"{books.name} has no balance for {' and '.join(silent)}: the statement's opening balance is used, so "
                "the proof covers only the movements. To compare the openings, add a column balance or balance_minor."
            )
    differ = [line["account"] for line in lines if line["opening_minor"] and run.begins_earlier(line["account"])]
    if differ and run.brought.is_first:
        yield (
            f"The ledger of {' and '.join(names.get(account, account) for account in differ)} begins before the "
            "statement, and the opening balances differ. Was an earlier period saved? Give its folder: --carry-forward "
            "FOLDER (carry_forward in Python)."
        )
    yield from _of_the_opening(run, broken.before_period, names)
    for account, rows in ((str(name), rows) for name, rows in run.ledger.late.groupby("account", observed=True)):
        many = captions.counted(len(rows), "row of the ledger is", "rows of the ledger are")
        close, first = run.brought.closed_of(account)["closing_date"], carrying.rows_named(rows)
        yield f"{names.get(account, account)}: {many} booked after the close of {close}, and read now: {first}."
    yield from _changed(run.changed, names)
    yield from _without_days(run, names)
    yield from _left_for_the_next(broken.after_period, closing, names)
    if run.key.created:
        yield f"{run.key.created} did not exist; it is a new key for customers' numbers. Give it in every later run."
    hashes: list[str] = run.brought.rows["phone_hash"].dropna().tolist()
    if other := sum(bool(hashed) and not hashed.startswith(run.key.id + HASH_SEPARATOR) for hashed in hashes):
        text = f"The customers' numbers of {captions.counted(other, 'row')} brought forward cannot be compared"
        yield f"{text}: another key was used then. {carrying.GIVE_THE_KEY}"
    elif broken.unsure:
        text = f"{captions.counted(broken.unsure, 'open row')} may match by the customer's number"
        yield f"{text}, but the numbers cannot be compared. {carrying.GIVE_THE_KEY}"


def _changed(pairs: Sequence[Mapping[str, Any]], names: Mapping[str, str]) -> Iterator[str]:
    """Yields a note for each of `pairs` (see Run.changed); `names` is account → its name in the user's books."""
    for pair in pairs:
        then, now = (money_text(pair[f"{prefix}signed"], pair[f"{prefix}currency"]) for prefix in PREFIX.values())
        account, key = names.get(pair["account"], pair["account"]), captions.key_text(pair["s_key"])
        text = f"{account}: {key} is closed in the books at {then} net, and {pair['s_source']} now has it at {now} net"
        yield f"{text}: ask the operator, and book no more than the difference."


def _without_days(run: Run, names: Mapping[str, str]) -> Iterator[str]:
    """Yields a note for each account whose closing date nobody states: no statement, and no `as_of`.

    `names` is account → its name in the user's books.
    """
    for account in run.accounts if run.as_of == ANY_DAY else ():
        if all(book.last_day is None for book in run.books_of(account)) and run.closing[account]:
            yield (
                f"No statement of {names.get(account, account)} states its days or has a usable row, so the books "
                f"close on {day_of(run.closing[account])}. If the period ends later, state its last day: --as-of DATE "
                "(as_of in Python), or the label of `last` under [preamble] in the layout."
            )


def _of_the_opening(run: Run, rows: pa.Table, names: Mapping[str, str]) -> Iterator[str]:
    """Yields a note for each account with ledger rows before its first statement: their number, sum and last day.

    `names` is account → its name in the user's books.
    """
    sums = proof.own_sums(run, rows)
    by_account = rows.group_by("account").aggregate([("day", "count"), ("day", "max")]).sort_by("account")
    columns = (by_account[name].to_pylist() for name in ("account", "day_count", "day_max"))
    for account, many, last in zip(*columns, strict=True):
        moved = money_text(sums[account], run.currencies[account])
        yield (
            f"The ledger of {names.get(account, account)} begins before the statement: "
            f"{captions.counted(many, 'row')} without a partner, up to {day_of(last)}, with a sum of {moved}, "
            f"{'counts' if many == 1 else 'count'} in the opening balance of {day_of(run.begins[account])}, and not as "
            "missing on the statement. Was an earlier period saved? Give its folder: --carry-forward FOLDER "
            "(carry_forward in Python)."
        )


def _left_for_the_next(rows: pa.Table, closing: Mapping[str, int], names: Mapping[str, str]) -> Iterator[str]:
    """Yields a note for each account with ledger rows after the period: their number, and the last of their days.

    `closing` is account → its closing day; `names` is account → its name in the user's books.
    """
    by_account = rows.group_by("account").aggregate([("day", "count"), ("day", "max")]).sort_by("account")
    columns = (by_account[name].to_pylist() for name in ("account", "day_count", "day_max"))
    for account, many, last in zip(*columns, strict=True):
        are = captions.counted(many, "row of the ledger is", "rows of the ledger are")
        dates = f"dated after the closing date, {day_of(closing[account])}, up to {day_of(last)}"
        yield f"{names.get(account, account)}: {are} {dates}, and left for the next period."


def _matched(
    rules: Mapping[str, MatchRules], matched: Counter[tuple[str, str]], names: Mapping[str, str]
) -> Iterator[str]:
    """Yields a note for each account whose rules matched pairs without a key: the number of pairs by each rule.

    `matched` counts the pairs by account and rule; `names` is account → its name in the user's books. An account whose
    statement has no keys, and for which no rules are declared, has a note even without such pairs.
    """
    for account, declared in rules.items():
        pairs = [
            f"{many:,} by {rule.name}{' alone' if rule.on == (AMOUNT,) else ''}"
            for rule in declared[1:] if (many := matched[account, rule.name])
        ]  # fmt: skip
        called = names.get(account, account)
        # The default itself: rules that somebody declared need no hint on how to declare them.
        if declared is WITHOUT_KEYS:
            many = matched[account, declared[-1].name]
            yield (
                f"The statement of {called} has no keys, so its rows are matched by {declared[-1].name} alone: "
                f"{captions.counted(many, 'pair')}. Another rule is declared with match, in its layout."
            )
        elif pairs:
            yield f"Pairs of {called} that were matched without a common key: {', '.join(pairs)}."


def _far(file: Statement, closing: int | None) -> Iterator[str]:
    """Yields a warning if the books close on a file's last day, long after its other days: its year may be mistyped.

    `closing` is the account's closing day, counted from 1970; None if the account has none.
    """
    before, days = proof.before_gap(file.days, _FAR), file.days
    if before is not None and closing == (last := max(days)):
        yield (
            f"{file.account} closes on {day_of(last)} because of {days[last]:,} of {sum(days.values()):,} rows of "
            f"{file.name}; the day before that is {day_of(before)}. Check the year; with --as-of {day_of(before)} "
            "(as_of) these rows close nothing."
        )
