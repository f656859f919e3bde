"""Compares a ledger with the statements of an operator or a bank for the same accounts.

A run reads both sides, applies the rules, and builds the frames of the result. The rules are written once, as SQL that
both DuckDB and Spark run.

>>> reconcile("ledger.parquet", "statement.parquet").breaks  # doctest: +SKIP
"""

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from workbench.analysis.break_codes import BUCKETS, CODES, MATCHED, TIMING, has_key
from workbench.analysis.frames import day_number, day_of, frame, untyped
from workbench.analysis.phone_key import OF, PhoneKey, key_from, refuse_another
from workbench.analysis.reconcile.breaks import (
    Bounds,
    Open,
    breaks_of,
    broken_rows,
    descriptions,
    narrated,
    open_pairs,
    without_charges,
    without_late_bookings,
)
from workbench.analysis.reconcile.carry_forward import (
    GIVE_THE_KEY,
    CarryForward,
    carried_rows,
    ledger_read,
    lines_told,
    met_since,
    refuse_settled,
    rows_ahead,
    rows_named,
    rows_open,
    rows_read,
    told_before,
)
from workbench.analysis.reconcile.classify import (
    LINE,
    TOLERATED,
    Allowed,
    Classified,
    Tolerance,
    check_whole,
    classify,
    settled_later,
    settled_lines,
)
from workbench.analysis.reconcile.decisions import (
    APPLIED,
    DecisionTable,
    Row,
    Signatures,
    applied,
    carried_on,
    closed_breaks,
    decisions_in,
    groups_closed,
    is_open,
    sign_off,
)
from workbench.analysis.reconcile.engines import Engine, Frame, Native, both, conform, listed, same
from workbench.analysis.reconcile.inputs import (
    ANY_DAY,
    LEDGER,
    LEDGER_READ,
    ROW,
    SIDES,
    STATEMENT,
    STATEMENT_READ,
    Inputs,
    dated,
    read_inputs,
    rows_of,
    sha256_of,
    where,
)
from workbench.analysis.reconcile.proof import (
    Book,
    Read,
    Totals,
    aside_of,
    books,
    check_accounts,
    known,
    limit_of,
    matches_of,
    of_account,
    period_of,
    proof_line,
    summary_of,
    told_again,
    totals,
)
from workbench.analysis.reconcile.suggestions import suggestions_of
from workbench.analysis.report import captions
from workbench.analysis.report.totals import Reconciled
from workbench.analysis.report.totals import by_account as sums_by_account
from workbench.analysis.rules import (
    AMOUNT,
    BY_KEY,
    KEY,
    USUAL_DAYS,
    WITHOUT_KEYS,
    Input,
    MatchRules,
    Rule,
    by_account,
    ruled,
    rules_in,
    rules_of,
)
from workbench.analysis.shapes import AHEAD, CARRIED, CLOSED, INPUTS, PROOF
from workbench.analysis.statements.statement import Statement
from workbench.domain.moments import LUSAKA
from workbench.errors import ReconcileRefused

if TYPE_CHECKING:
    # Figures need matplotlib, which takes its time to load.
    from workbench.analysis.report.figures import Figures

__all__ = ["BUCKETS", "CODES", "CarryForward", "Reconciliation", "Tolerance", "reconcile"]


@dataclass(frozen=True, repr=False, eq=False)
class Reconciliation(Reconciled):
    """A ledger compared with statements. Every row of both is in `matches` or is part of a break.

    Amounts are minor units with their currency beside them; the columns are declared in `analysis.shapes`.
    Use it as a context manager, or `close` it, to let go of what the engine holds.
    """

    carry_forward: CarryForward
    """The open rows and closings that the next run takes."""
    signatures: Signatures = field(default_factory=Signatures)
    """The preparer and the reviewer, each with the day."""

    @property
    def headline(self) -> str:
        """The outcome in one or two sentences."""
        return captions.headline(self)

    @property
    def is_clean(self) -> bool:
        """True if all open breaks are `timing`: the next days may bring the other row."""
        return bool((self.breaks["code"] == TIMING).all())

    @property
    def is_decided(self) -> bool:
        """True if every open break is `timing`, or decided by a person or a rule."""
        return not is_open(self.breaks).any()

    @property
    def sign_off(self) -> str:
        """A text: who decided what, the SHA-256 of inputs, layouts, decisions and rules, preparer and reviewer."""
        return sign_off(self.decided, self.decisions, self.inputs, self.signatures)

    @property
    def decided(self) -> pd.DataFrame:
        """The breaks that a person or a rule has decided, also those that the decision has closed."""
        names, applied = ["id", "variance_minor", "verdict", "who", "rule"], self.decisions["state"] == APPLIED
        closed = self.closed[self.closed["id"].isin(self.decisions.loc[applied, "break"]) | self.closed["rule"].isna()]
        open_ = self.breaks[self.breaks["verdict"].notna()]
        return pd.concat([part[names].astype({"rule": "string"}) for part in (open_, closed)], ignore_index=True)

    def sign(self, *, prepared_by: str = "", reviewed_by: str = "", on: date | None = None) -> "Reconciliation":
        """Returns the result signed by its preparer, its reviewer or both, `on` a day: today by default.

        Raises ReconcileRefused: one person would review what the same person prepared.

        >>> result.sign(prepared_by="Ann").sign(reviewed_by="Ben").to_excel("january.xlsx")  # doctest: +SKIP
        """
        today = on or datetime.now(LUSAKA).date()
        return replace(self, signatures=self.signatures.signed(prepared_by, reviewed_by, today))

    def decide(self, path: Path | str = "decisions.csv", *, who: str = "") -> DecisionTable:
        """A table to decide the open breaks in JupyterLab; a script calls its `decide(id, verdict, why=…)`.

        `who` decides; `path` is the file that is written, and read with `reconcile(decisions=path)`.
        Raises ReconcileRefused: `path` does not end in .csv, or the file exists and cannot be used.
        """
        return DecisionTable(self.breaks, Path(path), who, self.suggestions)

    @property
    def rates(self) -> pd.DataFrame:
        """For each account the matched shares of this period's rows and of their net value, from 0 to 1."""
        counts = ["matched", "rows", "agreed", "value"]
        made = [(line.account, *line.of_period, *line.value_of_period) for line in sums_by_account(self)]
        sums = pd.DataFrame(made, columns=["account", *counts]).groupby("account", as_index=False).sum()
        parts = {"by_count": ("matched", "rows"), "by_value": ("agreed", "value")}
        shares = {name: (sums[part] / sums[whole]).fillna(1.0) for name, (part, whole) in parts.items()}
        return sums[["account"]].assign(**shares)

    @property
    def figures(self) -> "Figures":
        """Pictures for a notebook: `ageing()`."""
        from workbench.analysis.report.figures import Figures

        return Figures(self)

    def to_excel(self, path: Path | str, *, moment: datetime | None = None, matches: bool = False) -> None:
        """Write a workbook: the reconciliation and what to do, then breaks, summary, ageing, proof and inputs.

        Suggestions and closed breaks follow if there are any, and with `matches` every row that agrees.
        Amounts are numbers in major units, and their totals formulas.

        The same results are the same bytes; `moment`, if given, is noted as the moment when the workbook was made.
        Raises ReportRefused: a figure has more than 15 digits, or the file cannot be written.
        """
        from workbench.analysis.report.workbook import write_workbook

        write_workbook(self, path, moment=moment, matches=matches)

    def journal(
        self, path: Path | str | None = None, form: str = "general", *, accounts: Mapping[str, str] | None = None,
        on: date | None = None,
    ) -> pd.DataFrame:  # fmt: skip
        """JOURNAL: a balanced entry for each decision that changes the books; with `path`, written as a .csv file too.

        `form` is `general`, `sage`, `xero` or `quickbooks`; `accounts` gives the codes of your books, such as
        `{"charges": "7901"}`, and `on` the day of all entries instead of each break's own.
        Raises ReportRefused: there is no such form, or the file cannot be written in it.
        """
        from workbench.analysis.report import journal_lines

        if path is not None:
            journal_lines.write_journal(self, path, form, accounts=accounts, on=on)
        return journal_lines.journal(self, accounts, on)

    def report(self, path: Path | str) -> None:
        """Write one HTML page that needs no other file. Raises ReportRefused: the file cannot be written."""
        from workbench.analysis.report.page import write_page

        write_page(self, path)

    def __repr__(self) -> str:
        from workbench.analysis.report import overview

        return overview.text(self)

    def _repr_html_(self) -> str:
        from workbench.analysis.report import overview

        return overview.html(self)


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

    Tables may be DataFrames of pandas, Polars or PySpark, Arrow tables, DuckDB relations, or paths (or patterns) of
    Parquet. A table needs the four columns account, key, occurred_at and amount, or all columns of its side, which
    `analysis.shapes` declares. A column `phone_hash` goes with masked numbers.

    ledger: a table with four columns or with those of LEDGER_MOVEMENT, a .csv or .xlsx file for `read_ledger`, what
    `read_ledger` returns, or `bench.ledger`. Only the rows of the statements' accounts are compared.
    statement: a table with four columns or with those of STATEMENT_ROW, a .csv or .xlsx file for `read_statement`,
    what `read_statement` returns, or a list of such statements.
    tolerance: how far both sides may differ in amount and fee.
    cut_off: the number of last days that are not yet settled.
    carry_forward: the carry-forward of an earlier result, or the folder into which its `save` wrote. Statement lines
    that the earlier run settled are refused, or left out if `skip_settled`.
    as_of: the day of the reconciliation; for `bench.ledger` the default is the day of the sandbox's clock. A row of a
    later day does not move the closing date. A row without a partner is invalid if it is dated later, or outside of
    the period that its file states; without `as_of`, also if it is the one line of a file that is over a year later
    than all others, as a mistyped year is. A later run uses a row that was dated after `as_of`, once its day has come.
    engine: `duckdb` (the default, but for Spark's tables) or `spark`.
    decisions: people's decisions about breaks: `decisions.csv`, a file or a frame of breaks with verdicts, or a frame
    (DECIDED). Decisions that were carried forward count too. Decisions change no figure.
    rules: a TOML file of your own rules. A `[[rule]]` changes no figure; `[match]` says how rows are matched.
    match: the rules by which rows are matched: a list such as `[{"on": ["key"]}, {"on": ["amount"], "days": 3}]` for
    every account, or a mapping of account names, in which `*` stands for anything, to such lists. It goes before
    `[match]` in `rules`, and `[match]` before a layout's rules.
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
        raise ReconcileRefused(
            f"{carry_forward!r} is not a CarryForward.",
            hint="Pass the `carry_forward` of an earlier result, or the folder into which it was saved.",
        )
    if as_of is not None and (not isinstance(as_of, date) or isinstance(as_of, datetime)):
        raise ReconcileRefused(f"{as_of!r} is not a day.", hint="as_of=date(2026, 1, 31), for example.")
    check_whole("cut_off", cut_off, "reconcile()")
    decided = _decided(decisions, rules, match)
    carried = carry_forward or CarryForward()
    if isinstance(phone_key, str | Path):
        refuse_another(Path(phone_key), carried.rows["phone_hash"])
    key = key_from(phone_key)
    inputs = read_inputs(ledger, statement, phone_key)
    runs_on = inputs.engine(engine)
    today = as_of or inputs.ledger.as_of
    until = ANY_DAY if today is None else day_number(today)
    try:
        run = _Run(inputs, runs_on, tolerance or Tolerance(), cut_off, carried, skip_settled, until, decided, key)
        return run.result()
    except BaseException as problem:
        runs_on.close()
        if isinstance(problem, runs_on.failures):
            names = " and ".join(table.name for table in (inputs.ledger, *inputs.statements))
            text = f"{names} cannot be compared: {str(problem).strip().splitlines()[0]}."
            hint = "A file may be damaged: export it again. Or a number or a sum is too large for 64 bits."
            raise ReconcileRefused(text, hint=hint) from problem
        raise


class _Decided(NamedTuple):
    """Decisions of people, rules, and the files that they come from."""

    decisions: Sequence[Row]
    rules: Sequence[Rule]
    inputs: Sequence[Input]
    match: Mapping[str, MatchRules]
    """Account → the rules that match its rows, in place of its layout's."""


def _decided(decisions: Path | str | pd.DataFrame | None, rules: Path | str | None, match: object) -> _Decided:
    """The decisions, and the rules of the file `rules`; for an account in both, `match` goes before the file."""
    told, *inputs = ([],) if decisions is None else decisions_in(decisions)
    own: Sequence[Rule] = ()
    declared: Mapping[str, MatchRules] = {}
    if rules is not None:
        own, file, declared = rules_in(rules)
        inputs.append(file)
    try:
        given = {} if match is None else by_account(match)
    except ValueError as error:
        raise ReconcileRefused(f"match {error}.") from None
    text = "\n".join(f"{name}: {', '.join(map(str, rules_of_account))}" for name, rules_of_account in given.items())
    mine = [Input("rules", "match", hashlib.sha256(text.encode()).hexdigest(), len(given))] if given else []
    others = {name: rules_of_account for name, rules_of_account in declared.items() if name not in given}
    return _Decided(told, own, [*inputs, *mine], {**given, **others})


@dataclass
class _Run:
    inputs: Inputs
    engine: Engine
    tolerance: Tolerance
    cut_off: int
    carried: CarryForward
    skips_settled: bool
    as_of: int
    """ANY_DAY if no day is given."""
    decided: _Decided
    key: PhoneKey

    def result(self) -> Reconciliation:
        read = self._read()
        bad = {side: sum(line["rows"] - line["good"] for line in counted) for side, counted in read.totals.items()}
        carried = not self.carried.is_first
        overlaps = carried or len(read.books) > len(read.accounts)
        classified = classify(self.engine, read.rows, bad, read.allowed, carried=carried, overlaps=overlaps)
        cut_after = {account: day - self.cut_off for account, day in read.closing.items()}
        found = open_pairs(
            self.engine, classified, read.everything, cut_after, self._bounds(read.allowed),
            {name: rules for name, rules in read.rules.items() if len(rules) > 1}, read.allowed, self.key,
            partial(descriptions, self.engine, self.inputs, read.carried),
        )  # fmt: skip
        again = told_again(self.engine, classified) if overlaps else []
        return self._result(read, classified, found, again)

    def _read(self) -> Read:
        engine = self.engine
        given = both(*(source.load(engine, STATEMENT_READ) for source in self.inputs.statements))
        theirs = engine.loaded(rows_of(conform(given, STATEMENT_READ, **where(engine, self.inputs)), STATEMENT))
        new = totals(engine, theirs)
        if nameless := sorted({str(line["source"]) for line in new if line["account"] is None}):
            raise ReconcileRefused(f"Rows of {' and '.join(nameless)} do not name their account.")
        found = books(engine, theirs, new, self.inputs.reported, self.as_of)
        if not found:
            raise ReconcileRefused("The statement has no rows, so its account is unknown.")
        accounts = sorted({book.account for book in found})
        ours = engine.loaded(rows_of(self.inputs.ledger.load(engine, LEDGER_READ), LEDGER))
        every = totals(engine, ours)
        check_accounts(every, found)
        ours, theirs = (engine.of_accounts(rows, accounts) for rows in (ours, theirs))
        rows = {LEDGER: ours, STATEMENT: theirs}
        sums = {LEDGER: [line for line in every if line["account"] in accounts], STATEMENT: new}
        last: dict[str, int] = {}
        for line in sums[LEDGER]:
            last[line["account"]] = max(last.get(line["account"], 0), line["last_no"] or 0)
        told = {line["account"] for line in sums[LEDGER] if line["balances"]}
        closings = _closings(engine, ours, {account: last[account] for account in told})
        # The statements are in the order of their days: the last one of an account ends last.
        ends = {book.account: book.last_day or 0 for book in found}
        mine = self.carried.of(accounts).judged_by(
            ends if self.as_of == ANY_DAY else dict.fromkeys(accounts, self.as_of)
        )
        rules = self._rules(accounts, new)
        days = {name: USUAL_DAYS if of[0].days is None else of[0].days for name, of in rules.items()}
        named = " ".join(f"when {engine.text(name)} then {most}" for name, most in days.items())
        apart = f"case account {named} end" if len({*days.values()}) > 1 else f"{max(days.values())}"
        allowed = Allowed(self.tolerance.amount_minor, self.tolerance.fee_minor, apart, max(days.values()))
        read = ledger_read(engine, ours, mine, self.key)
        if not mine.is_first:
            rows = {LEDGER: read.again, STATEMENT: engine.keep(both(theirs, rows_open(engine, mine, STATEMENT)))}
            sums = {side: totals(engine, rows[side]) for side in SIDES}
            rows[STATEMENT] = self._without_settled(rows[STATEMENT], read.closed, allowed, mine)
        closing = self._closing(found, sums[LEDGER])
        return Read(accounts, rows, sums, found, closings, last, ours, read, rules, allowed, mine, closing)

    def _rules(self, accounts: Sequence[str], counted: Totals) -> dict[str, MatchRules]:
        """The matching rules of each account: those given, else its layout's, else the default.

        Raises ReconcileRefused: two layouts of an account declare different rules.
        """
        rules, waiting = {}, self.carried.rows[self.carried.rows["side"] == STATEMENT]
        for account in accounts:
            in_layouts = {
                file.match for file in self.inputs.reported.values() if file.account == account and file.match
            }
            given = rules_of(account, self.decided.match)
            if len(in_layouts) > 1 and not given:
                text = f"The layouts of {account} declare different rules to match by."
                raise ReconcileRefused(text, hint="Give one list for the account, under [match] in the rules file.")
            good, keyed = (any(line[name] for line in of_account(counted, account)) for name in ("good", "keyed"))
            is_keyless = good and not (
                keyed or any(map(has_key, waiting.loc[waiting["account"] == account, "key"].dropna()))
            )
            rules[account] = given or next(iter(in_layouts), WITHOUT_KEYS if is_keyless else (BY_KEY,))
        return rules

    def _without_settled(self, theirs: Frame, closed: Frame, allowed: Allowed, mine: CarryForward) -> Frame:
        """The statement's rows, in which `was` is MATCHED for each line that an earlier run settled.

        Such a line agrees with one of the ledger's `closed` rows, or is in TOLD.
        Raises ReconcileRefused: there are such lines, and `skips_settled` is false.
        """
        ends, told = mine.ends, mine.told.groupby("account")["business_date"].max().map(day_number).to_dict()
        until = dated(self.engine, {name: max(day, told.get(name, day)) for name, day in ends.items()})
        again = self.engine.keep(conform(theirs, ROW, f"was is null and not bad and ({until})"))
        if not len(self.engine.table(f"(select side from {again} limit 1)", {"side": "string"})):
            return theirs
        sides = {LEDGER: conform(closed, ROW, "not bad"), STATEMENT: conform(again, ROW, dated(self.engine, ends))}
        found = classify(self.engine, sides, dict.fromkeys(SIDES, 0), allowed, carried=False, overlaps=True)
        lines = settled_lines(self.engine, found)
        if len(mine.told):
            lines = both(
                lines, f"(select {listed(LINE)}, 1 as lines from {told_before(self.engine, again, mine.told)})"
            )
        lines = self.engine.keep(f"(select {listed(LINE)}, max(lines) as lines from {lines} group by {listed(LINE)})")
        if not self.skips_settled:
            refuse_settled(self.engine, lines)
        marked = f"(select x.*, y.lines from {theirs} x left join {lines} y on {same(LINE)})"
        was = f"case when was is null and lines is not null then '{MATCHED}' else was end"
        return self.engine.keep(conform(marked, ROW, was=was))

    def _closing(self, found: Sequence[Book], ledger: Totals) -> dict[str, int]:
        """The last day of each account: of its statements, else of what was closed before, else of the ledger."""
        made, otherwise = {}, self.as_of if self.as_of < ANY_DAY else 0
        for account in sorted({book.account for book in found}):
            last = [book.last_day for book in found if book.account == account and book.last_day is not None]
            last = last or [day for name, day in self.carried.ends.items() if name == account]
            days = [line["day"] for line in of_account(ledger, account) if line["day"] is not None]
            made[account] = max(last or [day for day in days if day <= self.as_of], default=otherwise)
        return made

    def _bounds(self, allowed: Allowed) -> Bounds:
        """The days that a statement's rows may have: its period, longer at both ends by the days allowed between dates.

        A statement from which rows were carried forward has no first day: these rows may be older than its period.
        """
        # Old lines may still be open under the name of an earlier statement.
        known = set(self.carried.rows["statement"])
        periods, slack = {}, allowed.most_days
        for name, file in self.inputs.reported.items():
            first, last = period_of(file)
            if first is not None and last is not None:
                last = min(last, limit_of(file, self.as_of))
                periods[name] = (-ANY_DAY if name in known else first - slack, last + slack)
        return Bounds(periods, self.as_of)

    def _result(self, read: Read, classified: Classified, found: Open, again: Totals) -> Reconciliation:
        found = without_late_bookings(found, read.carried)
        is_tolerated = pc.equal(found.pairs["code"], TOLERATED)
        let_pass = found.pairs.filter(is_tolerated)
        if len(let_pass):
            found = found._replace(pairs=found.pairs.filter(pc.invert(is_tolerated)))
        rows = narrated(self.engine, self.inputs, broken_rows(found), read.carried)
        found, rows = without_charges(found, rows, self.decided.rules)
        breaks, places = breaks_of(found, rows, read)
        explained = _summed(pa.array(breaks["account"]), pa.array(breaks["variance_minor"]))
        tolerated = _summed(let_pass["account"], pc.subtract(let_pass["l_signed"], let_pass["s_signed"]))
        lines = [proof_line(name, read, again, explained[name], tolerated[name]) for name in read.accounts]
        books = self.inputs.ledger.read_from
        names = books.account_names if books else {}
        # A decision table that a person filled in has the names of accounts that people are shown.
        accounts = {name: account for account, name in names.items()}
        told = [
            {**row, "account": accounts.get(row["account"] or "", row["account"])} for row in self.decided.decisions
        ]
        shown, decisions = applied(ruled(breaks, self.decided.rules), told, self.carried.decisions, read.accounts)
        met = met_since(read.carried.rows, rows)
        groups = groups_closed(shown)
        done = groups.notna()
        rows = rows.append_column("group", pa.array(groups, pa.string()).take(pc.index_in(rows["place"], places)))
        gone, rows = rows.filter(pc.is_valid(rows["group"])), rows.filter(pc.is_null(rows["group"]))
        opened, proof = shown[~done].reset_index(drop=True), frame(lines, PROOF)
        kept = carried_on(decisions, shown.loc[done, "id"], self.carried.decisions)
        by_rule = Counter(sorted(rule for rule in found.settled["rule"].to_pylist() if rule != KEY))
        return Reconciliation(
            breaks=opened,
            decisions=decisions,
            proof=proof,
            carry_forward=self._carry(read, rows, lines, kept, self._lines_told(read, classified, found, gone)),
            closed=closed_breaks(shown[done], met, decisions, found.settled),
            aside=aside_of(met, rows, gone),
            told_again=sum(line["rows"] for line in again),
            notes=(
                *_matched(read.rules, found.settled, names),
                *_notes(self.inputs, self.carried, read, self.key, found.unsure),
            ),
            matched_by=dict(by_rule),
            account_names=names,
            rows_read={side: sum(line["rows"] for line in read.totals[side]) for side in SIDES},
            engine=self.engine.name,
            _summary=partial(summary_of, read.totals, again, rows),
            _matches=partial(matches_of, self.engine, classified, found.settled, gone),
            _suggestions=partial(suggestions_of, opened, proof),
            _inputs=partial(_inputs, self.inputs, read, self.carried, self.decided),
            _close=self.engine.close,
        )

    def _lines_told(self, read: Read, classified: Classified, found: Open, gone: pa.Table) -> pd.DataFrame:
        """The statement lines (TOLD) that are settled, so that the next run counts no repeat of them in another file.

        They are the earlier runs' lines; those that a rule matched (`found`) or people decided to zero (`gone`); and
        lines that agree, but are dated after the last day of their account.
        """
        # Most statements end with their period: only of the others are lines read.
        later = settled_later(self.engine, classified, read.ends_before(STATEMENT))
        return lines_told(read.carried, found.settled, gone, later)

    def _carry(
        self,
        read: Read,
        rows: pa.Table,
        proof: Sequence[Mapping[str, Any]],
        decisions: pd.DataFrame,
        told: pd.DataFrame,
    ) -> CarryForward:
        closed = [
            {
                **line,
                "closing_date": read.closing[line["account"]],
                "last_number": read.last_numbers.get(line["account"]),
                "brought_minor": line["brought_minor"] + line["tolerated_minor"] + line["unexplained_minor"],
            }
            for line in proof
        ]
        # Read only if the ledger has later rows: most ledgers end with their statements.
        ahead = frame([], AHEAD)
        if read.ends_before(LEDGER) or not self.carried.ahead.empty:
            ahead = rows_ahead(self.engine, read.everything, rows, read.closing)
        kept, unkeyed = carried_rows(rows, read.closing)
        known = rows_read(self.engine, read.ledger, ahead, kept, read.closing)
        made = CarryForward(kept, frame(closed, CLOSED), ahead, decisions, known, told, unkeyed=unkeyed)
        # Accounts that are not reconciled this time keep their carry-forward.
        others = [name for name in self.carried.closed["account"] if name not in read.closing]
        return made.and_of(self.carried.of(others)) if others else made


def _summed(accounts: pa.ChunkedArray, amounts: pa.ChunkedArray) -> Counter[str]:
    """Account → the sum of its amounts."""
    sums = pa.table({"account": accounts, "amount": amounts}).group_by("account").aggregate([("amount", "sum")])
    return Counter(dict(zip(sums["account"].to_pylist(), sums["amount_sum"].to_pylist(), strict=True)))


def _closings(engine: Engine, ledger: Frame, last: Mapping[str, int]) -> dict[str, int | None]:
    """Account → the balance after its last entry, whose number is in `last`; without accounts that have no balance."""
    if not last:
        return {}
    ends = " or ".join(f'account = {engine.text(account)} and "no" = {number}' for account, number in last.items())
    found = engine.rows(f"(select * from {ledger} where {ends})", {"account": "string", "balance_minor": "int64"})
    return {row["account"]: row["balance_minor"] for row in found if known(row["balance_minor"])}


def _inputs(inputs: Inputs, read: Read, carried: CarryForward, decided: _Decided) -> pd.DataFrame:
    """The frame INPUTS: ledger, statements, carry-forward, layouts, decisions and rules."""
    counted, good = (sum(line[name] for line in read.totals[LEDGER]) for name in ("rows", "good"))
    none = (None, None, None)
    rows: list[tuple[Any, ...]] = [(LEDGER, inputs.ledger.name, inputs.ledger.hashed, counted, *none, counted - good)]
    hashes = {name: source.hashed for source in inputs.statements for name in source.statements}
    only = next(iter(hashes.values())) if len(hashes) == 1 else None
    for book in read.books:
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
    layouts = {file.layout: file.layout_sha256 for file in (inputs.ledger.read_from, *inputs.reported.values()) if file}
    rows += [("layout", name, hashed, 1, *none, None) for name, hashed in layouts.items() if hashed]
    rows += [(*source, *none, None) for source in decided.inputs]
    return frame((dict(zip(INPUTS, row, strict=True)) for row in rows), INPUTS)


_FAR = 31
"""A gap before a file's last day is noted if it is of more days than this, and of more than all other days span."""


def _notes(inputs: Inputs, carried: CarryForward, read: Read, key: PhoneKey, unsure: int) -> Iterator[str]:
    """Yields the notes in their order.

    `unsure` counts the rows whose customers' numbers cannot be compared; `key` is the key that hashes such numbers.
    """
    for file in inputs.reported.values():
        yield from _far(file, read.closing)
    yield from (f"{file.name}: {file.continued}" for file in inputs.reported.values() if file.continued)
    yield from _unopened(inputs, carried, read.closing)
    yield from _booked_after(inputs, carried, read.ledger.late)
    yield from _phones(carried, key, unsure)


def _matched(rules: Mapping[str, MatchRules], settled: pa.Table, names: Mapping[str, str]) -> Iterator[str]:
    """Yields a note for each account whose rules matched pairs without a key: the number of pairs by each rule.

    `settled` has the pairs that rules matched, `names` the books' names of accounts. An account whose statement has no
    keys has a note even without such pairs.
    """
    counted = Counter(zip(settled["account"].to_pylist(), settled["rule"].to_pylist(), strict=True))
    for account, declared in rules.items():
        told = [
            f"{many:,} by {rule.name}{' alone' if rule.on == (AMOUNT,) else ''}"
            for rule in declared[1:] if (many := counted[account, rule.name])
        ]  # fmt: skip
        called = names.get(account, account)
        if declared == WITHOUT_KEYS:
            many = counted[account, declared[-1].name]
            yield (
                f"The statement of {called} has no keys, so its rows are matched by {declared[-1].name} alone: "
                f"{captions.counted(many, 'pair')}. Another rule is declared with match, in its layout."
            )
        elif told:
            yield f"Pairs of {called} that were matched without a common key: {', '.join(told)}."


def _far(file: Statement, closing: Mapping[str, int]) -> Iterator[str]:
    """Warns if the books close on a lone day long after all others: its year may be mistyped."""
    told = file.days
    days = sorted(told)
    if len(days) > 1 and closing.get(file.account) == days[-1]:
        first, before, last = days[0], *days[-2:]
        if last - before > max(_FAR, before - first):
            yield (
                f"{file.account} closes on {day_of(last)} because of {told[last]:,} of {sum(told.values()):,} rows of "
                f"{file.name}; the day before that is {day_of(before)}. Check the year; with --as-of {day_of(before)} "
                "(as_of) these rows close nothing."
            )


def _unopened(inputs: Inputs, carried: CarryForward, closing: Mapping[str, int]) -> Iterator[str]:
    """Warns of accounts for which your own books give no balance: they open with the statement's."""
    books = inputs.ledger.read_from
    if books is None or not carried.is_first:
        return
    told = books.table["account"].filter(books.table["balance_minor"].is_valid()).unique().to_pylist()
    if silent := sorted(books.account_names.get(account, account) for account in {*closing}.difference(told)):
        yield (
            f"{books.name} has no balance for {' and '.join(silent)}: the statement's opening balance is used, so the "
            "proof covers only the movements. To compare the openings, add a column balance or balance_minor."
        )


def _booked_after(inputs: Inputs, carried: CarryForward, late: pd.DataFrame) -> Iterator[str]:
    """Notes the ledger rows that were booked after a close but are dated before it."""
    books = inputs.ledger.read_from
    for account, rows in ((str(name), rows) for name, rows in late.groupby("account", observed=True)):
        called = books.account_names.get(account, account) if books else account
        many = captions.counted(len(rows), "row of the ledger is", "rows of the ledger are")
        close = carried.closed_of(account)["closing_date"]
        yield f"{called}: {many} booked after the close of {close}, and read now: {rows_named(rows)}."


def _phones(carried: CarryForward, key: PhoneKey, unsure: int) -> Iterator[str]:
    """Notes a new key, and customers' numbers that could not be compared."""
    if key.made:
        yield f"{key.made} did not exist; it is a new key for customers' numbers. Give it in every later run."
    hashes: list[str] = carried.rows["phone_hash"].dropna().tolist()
    other = sum(bool(hashed) and not hashed.startswith(key.id + OF) for hashed in hashes)
    if other:
        rows = captions.counted(other, "row")
        text = f"The customers' numbers of {rows} brought forward cannot be compared: another key was used"
        yield f"{text} then. {GIVE_THE_KEY}"
    elif unsure:
        rows = captions.counted(unsure, "open row")
        yield f"{rows} may match by the customer's number, but the numbers cannot be compared. {GIVE_THE_KEY}"
