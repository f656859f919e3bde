"""Runs a reconciliation from the given tables to the result: reads both sides, applies the rules, builds the frames.

The rules are written once, as SQL that both DuckDB and Spark run.
"""

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from workbench.analysis.break_codes import MATCHED, has_key
from workbench.analysis.frames import day_number, frame, untyped, with_column
from workbench.analysis.match_rules import BY_KEY, KEY, USUAL_DAYS, WITHOUT_KEYS, MatchRules, by_account, rules_of
from workbench.analysis.phone_key import PhoneKey, key_from, refuse_another
from workbench.analysis.reconcile.carry_forward import (
    CarryForward,
    carried_rows,
    ledger_read,
    lines_told,
    met_since,
    refuse_settled,
    rows_ahead,
    rows_read,
    told_before,
    with_carried,
)
from workbench.analysis.reconcile.classify import LINE, Classified, classify, settled_later, settled_lines
from workbench.analysis.reconcile.decisions import (
    Input,
    Row,
    Rule,
    applied,
    carried_on,
    closed_breaks,
    decisions_in,
    groups_closed,
    ruled,
    rules_in,
)
from workbench.analysis.reconcile.engines import Engine, both, conform, listed, same
from workbench.analysis.reconcile.inputs import Inputs, numbered, read_inputs, rows_of, sha256_of, where
from workbench.analysis.reconcile.narratives import (
    descriptions,
    narrated,
    without_charges,
    without_late_bookings,
)
from workbench.analysis.reconcile.pairs import Open, breaks_of, broken_rows, open_pairs
from workbench.analysis.reconcile.proof import (
    Read,
    Totals,
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
from workbench.analysis.reconcile.result import Reconciliation, aside_of, matched_notes, notes_of
from workbench.analysis.reconcile.rules import (
    ANY_DAY,
    LEDGER,
    LEDGER_READ,
    ROW,
    SIDES,
    STATEMENT,
    STATEMENT_READ,
    TOLERATED,
    Allowed,
    Bounds,
    Frame,
    Native,
    Tolerance,
    check_whole,
)
from workbench.analysis.reconcile.suggestions import suggestions_of
from workbench.analysis.shapes import AHEAD, CARRIED, CLOSED, INPUTS, PROOF
from workbench.errors import ReconcileRefused


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
    told, *told_in = ([],) if decisions is None else decisions_in(decisions)
    decided = _decided(told, told_in, rules, match)
    carried = carry_forward or CarryForward()
    if isinstance(phone_key, str | Path):
        refuse_another(Path(phone_key), carried.rows["phone_hash"])
    key = key_from(phone_key)
    inputs = read_inputs(ledger, statement, phone_key)
    runs_on = inputs.engine(engine)
    try:
        today = as_of or inputs.ledger.as_of
        return _Run(
            inputs=inputs,
            engine=runs_on,
            tolerance=tolerance or Tolerance(),
            cut_off=cut_off,
            carried=carried,
            skips_settled=skip_settled,
            as_of=ANY_DAY if today is None else day_number(today),
            decided=decided,
            key=key,
        ).result()
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


def _decided(told: Sequence[Row], told_in: list[Input], rules: Path | str | None, match: object) -> _Decided:
    """The decisions `told`, and the rules of the file `rules`; for an account in both, `match` goes before the file.

    `told_in` has the files of the decisions.
    """
    own: Sequence[Rule] = ()
    declared: Mapping[str, MatchRules] = {}
    if rules is not None:
        own, file, declared = rules_in(rules)
        told_in = [*told_in, file]
    try:
        given = {} if match is None else by_account(match)
    except ValueError as error:
        raise ReconcileRefused(f"match {error}.") from None
    text = "\n".join(f"{name}: {', '.join(map(str, rules_of_account))}" for name, rules_of_account in given.items())
    mine = [Input("rules", "match", hashlib.sha256(text.encode()).hexdigest(), len(given))] if given else []
    both = {**given, **{name: rules_of_account for name, rules_of_account in declared.items() if name not in given}}
    return _Decided(told, own, [*told_in, *mine], both)


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
        closing = self._closing(read)
        bad = {side: sum(line["rows"] - line["good"] for line in counted) for side, counted in read.totals.items()}
        carried = not self.carried.is_first
        overlaps = carried or len(read.books) > len(read.accounts)
        classified = classify(self.engine, read.rows, bad, read.allowed, carried=carried, overlaps=overlaps)
        cut_after = {account: day - self.cut_off for account, day in closing.items()}
        found = open_pairs(
            self.engine, classified, read.everything, read.accounts, cut_after, self._bounds(read.allowed),
            {read.accounts.index(name): rules for name, rules in read.rules.items() if len(rules) > 1}, read.allowed,
            self.key, partial(descriptions, self.engine, self.inputs, read.carried, read.accounts),
        )  # fmt: skip
        again = told_again(self.engine, classified, read.accounts) if overlaps else []
        return self._result(read, closing, classified, found, again)

    def _read(self) -> Read:
        given = both(*(source.load(self.engine, STATEMENT_READ) for source in self.inputs.statements))
        statement = conform(given, STATEMENT_READ, **where(self.engine, self.inputs))
        theirs = self.engine.loaded(rows_of(statement, STATEMENT))
        new = totals(self.engine, theirs)
        if nameless := sorted({str(line["source"]) for line in new if line["account"] is None}):
            raise ReconcileRefused(f"Rows of {' and '.join(nameless)} do not name their account.")
        found = books(self.engine, theirs, new, self.inputs.reported, self.as_of)
        if not found:
            raise ReconcileRefused("The statement has no rows, so its account is unknown.")
        accounts = sorted({book.account for book in found})
        ledger = self.inputs.ledger.load(self.engine, LEDGER_READ)
        ours = self.engine.loaded(rows_of(ledger, LEDGER))
        every = totals(self.engine, ours)
        check_accounts(every, found)
        counted = [line for line in every if line["account"] in accounts]
        if len(counted) < len(every):
            ours = f"(select * from {ours} where account in ({', '.join(map(self.engine.text, accounts))}))"
        last: dict[str, int] = {}
        for line in counted:
            last[line["account"]] = max(last.get(line["account"], 0), line["last_no"] or 0)
        told = {line["account"] for line in counted if line["balances"]}
        closings = _closings(self.engine, ours, {account: last[account] for account in told})
        sums = {LEDGER: counted, STATEMENT: new}
        everything = numbered(self.engine, ours, accounts)
        rows = {LEDGER: everything, STATEMENT: numbered(self.engine, theirs, accounts)}
        # The statements are in the order of their days: the last one of an account ends last.
        ends = {book.account: book.last_day or 0 for book in found}
        mine = self.carried.of(accounts).judged_by(
            ends if self.as_of == ANY_DAY else dict.fromkeys(accounts, self.as_of)
        )
        rules = self._rules(accounts, new)
        said = [rules[name][0].days for name in accounts]
        apart = [USUAL_DAYS if many is None else many for many in said]
        allowed = Allowed(self.tolerance.amount_minor, self.tolerance.fee_minor, apart)
        read = ledger_read(self.engine, ours, mine, self.key)
        if not mine.is_first:
            sides = with_carried(self.engine, read, statement, mine)
            sums = {side: totals(self.engine, sides[side]) for side in SIDES}
            rows = {side: numbered(self.engine, sides[side], accounts) for side in SIDES}
            closed = numbered(self.engine, read.closed, accounts)
            rows[STATEMENT] = self._without_settled(rows[STATEMENT], closed, accounts, allowed, mine)
        return Read(accounts, rows, sums, found, closings, last, everything, read, rules, allowed, mine)

    def _rules(self, accounts: Sequence[str], counted: Totals) -> dict[str, MatchRules]:
        """The matching rules of each account: those given, else its layout's, else the default.

        Raises ReconcileRefused: two layouts of an account declare different rules.
        """
        rules = {}
        for account in accounts:
            in_layouts = {
                file.match for file in self.inputs.reported.values() if file.account == account and file.match
            }
            given = rules_of(account, self.decided.match)
            if len(in_layouts) > 1 and not given:
                text = f"The layouts of {account} declare different rules to match by."
                raise ReconcileRefused(text, hint="Give one list for the account, under [match] in the rules file.")
            lines, waiting = of_account(counted, account), self.carried.rows
            keys = waiting.loc[(waiting["account"] == account) & (waiting["side"] == STATEMENT), "key"]
            is_keyless = any(line["good"] for line in lines) and not any(line["keyed"] for line in lines)
            is_keyless = is_keyless and not any(map(has_key, keys.dropna()))
            rules[account] = given or next(iter(in_layouts), WITHOUT_KEYS if is_keyless else (BY_KEY,))
        return rules

    def _without_settled(
        self, theirs: Frame, closed: Frame, accounts: Sequence[str], allowed: Allowed, mine: CarryForward
    ) -> Frame:
        """The statement's rows, in which `was` is MATCHED for each line that an earlier run settled.

        Such a line agrees with one of the ledger's `closed` rows, or is in TOLD.
        Raises ReconcileRefused: there are such lines, and `skips_settled` is false.
        """
        ends = {name: mine.closed_of(name)["closing_date"] for name in mine.closed["account"]}
        told_until = mine.told.groupby("account")["business_date"].max().to_dict()
        until, within = (
            " or ".join(f"account = {accounts.index(name)} and day <= {day_number(day)}" for name, day in days.items())
            for days in ({name: max(day, told_until.get(name, day)) for name, day in ends.items()}, ends)
        )
        again = self.engine.keep(conform(theirs, ROW, f"was is null and not bad and ({until})"))
        if not len(self.engine.table(f"(select side from {again} limit 1)", {"side": "string"})):
            return theirs
        sides = {LEDGER: conform(closed, ROW, "not bad"), STATEMENT: conform(again, ROW, within)}
        found = classify(self.engine, sides, dict.fromkeys(SIDES, 0), allowed, carried=False, overlaps=True)
        lines = settled_lines(self.engine, found)
        if len(mine.told):
            told = told_before(self.engine, again, mine.told, accounts)
            lines = both(lines, f"(select {listed(LINE)}, 1 as lines from {told})")
        lines = self.engine.keep(f"(select {listed(LINE)}, max(lines) as lines from {lines} group by {listed(LINE)})")
        if not self.skips_settled:
            refuse_settled(self.engine, lines)
        marked = f"(select x.*, y.lines from {theirs} x left join {lines} y on {same(LINE)})"
        was = f"case when was is null and lines is not null then '{MATCHED}' else was end"
        return self.engine.keep(conform(marked, ROW, was=was))

    def _closing(self, read: Read) -> dict[str, int]:
        """The last day of each account: of its statements, else of what was closed before, else of the ledger."""
        made, otherwise = {}, self.as_of if self.as_of < ANY_DAY else 0
        for account in read.accounts:
            last = [book.last_day for book in read.books_of(account) if book.last_day is not None]
            if not last and (closed := self.carried.closed_of(account)):
                last = [day_number(closed["closing_date"])]
            days = [line["day"] for line in of_account(read.totals[LEDGER], account) if line["day"] is not None]
            made[account] = max(last or [day for day in days if day <= self.as_of], default=otherwise)
        return made

    def _bounds(self, allowed: Allowed) -> Bounds:
        """The days that a statement's rows may have: its period, longer at both ends by the days allowed between dates.

        A statement from which rows were carried forward has no first day: these rows may be older than its period.
        """
        # Old lines may still be open under the name of an earlier statement.
        known = set(self.carried.rows["statement"])
        periods, slack = {}, max(allowed.days)
        for name, file in self.inputs.reported.items():
            first, last = period_of(file)
            if first is not None and last is not None:
                last = min(last, limit_of(file, self.as_of))
                periods[name] = (-ANY_DAY if name in known else first - slack, last + slack)
        return Bounds(periods, self.as_of)

    def _result(
        self, read: Read, closing: Mapping[str, int], classified: Classified, found: Open, again: Totals
    ) -> Reconciliation:
        found = without_late_bookings(found, read.carried)
        expected_in = {name: ", ".join(sorted({book.source for book in read.books_of(name)})) for name in closing}
        is_tolerated = pc.equal(found.pairs["code"], TOLERATED)
        let_pass = found.pairs.filter(is_tolerated)
        if len(let_pass):
            found = found._replace(pairs=found.pairs.filter(pc.invert(is_tolerated)))
        rows = narrated(self.engine, self.inputs, broken_rows(found), read.carried)
        found, rows = without_charges(found, rows, self.decided.rules)
        breaks, places = breaks_of(found, rows, closing, expected_in)
        explained = _summed(pa.array(breaks["account"]), pa.array(breaks["variance_minor"]))
        tolerated = _summed(let_pass["account"], pc.subtract(let_pass["l_signed"], let_pass["s_signed"]))
        lines = [
            proof_line(name, read, again, explained[name], tolerated[name], self.carried.closed_of(name))
            for name in sorted(closing)
        ]
        books = self.inputs.ledger.read_from
        names = books.account_names if books else {}
        # A decision table that a person filled in has the names of accounts that people are shown.
        accounts = {name: account for account, name in names.items()}
        told = [
            {**row, "account": accounts.get(row["account"] or "", row["account"])} for row in self.decided.decisions
        ]
        shown, decisions = applied(ruled(breaks, self.decided.rules), told, self.carried.decisions, closing)
        met = met_since(read.carried.rows, rows)
        groups = groups_closed(shown)
        done = groups.notna()
        rows = rows.append_column("group", pa.array(groups, pa.string()).take(pc.index_in(rows["place"], places)))
        gone, rows = rows.filter(pc.is_valid(rows["group"])), rows.filter(pc.is_null(rows["group"]))
        kept = carried_on(decisions, shown.loc[done, "id"], self.carried.decisions)
        opened, proof = shown[~done].reset_index(drop=True), frame(lines, PROOF)
        return Reconciliation(
            breaks=opened,
            decisions=decisions,
            proof=proof,
            carry_forward=self._carry(
                read, closing, rows, lines, kept, self._lines_told(read, classified, closing, found, gone)
            ),
            closed=closed_breaks(shown[done], met, decisions, found.settled),
            aside=aside_of(met, rows, gone),
            told_again=sum(line["rows"] for line in again),
            notes=(
                *matched_notes(read.rules, found.settled, names),
                *notes_of(self.inputs, self.carried, closing, self.key, found.unsure, read.ledger.late),
            ),
            matched_by=dict(Counter(sorted(rule for rule in found.settled["rule"].to_pylist() if rule != KEY))),
            account_names=names,
            rows_read={side: sum(line["rows"] for line in read.totals[side]) for side in SIDES},
            engine=self.engine.name,
            _summary=partial(summary_of, read.totals, again, rows),
            _matches=partial(matches_of, self.engine, classified, read.accounts, found.settled, gone),
            _suggestions=partial(suggestions_of, opened, proof),
            _inputs=partial(_inputs, self.inputs, read, self.carried, self.decided),
            _close=self.engine.close,
        )

    def _lines_told(
        self, read: Read, classified: Classified, closing: Mapping[str, int], found: Open, gone: pa.Table
    ) -> pd.DataFrame:
        """The statement lines (TOLD) that are settled, so that the next run counts no repeat of them in another file.

        They are the earlier runs' lines; those that a rule matched (`found`) or people decided to zero (`gone`); and
        lines that agree, but are dated after the last day of their account, in `closing`.
        """
        # Most statements end with their period: only of the others are lines read.
        ends = {
            read.accounts.index(line["account"]): closing[line["account"]]
            for line in read.totals[STATEMENT] if (line["day"] or 0) > closing[line["account"]]
        }  # fmt: skip
        later = settled_later(self.engine, classified, ends)
        names = pa.array(read.accounts, pa.string()).take(later["account"])
        return lines_told(read.carried, found.settled, gone, with_column(later, "account", names))

    def _carry(
        self,
        read: Read,
        closing: Mapping[str, int],
        rows: pa.Table,
        proof: Sequence[Mapping[str, Any]],
        decisions: pd.DataFrame,
        told: pd.DataFrame,
    ) -> CarryForward:
        closed = [
            {
                **line,
                "closing_date": closing[line["account"]],
                "last_number": read.last_numbers.get(line["account"]),
                "brought_minor": line["brought_minor"] + line["tolerated_minor"] + line["unexplained_minor"],
            }
            for line in proof
        ]
        # Read only if the ledger has later rows: most ledgers end with their statements.
        later = any((line["day"] or 0) > closing[line["account"]] for line in read.totals[LEDGER])
        ahead = frame([], AHEAD)
        if later or not self.carried.ahead.empty:
            ahead = rows_ahead(self.engine, read.everything, rows, read.accounts, closing)
        kept, unkeyed = carried_rows(rows, closing)
        known = rows_read(self.engine, read.ledger, ahead, kept, closing)
        made = CarryForward(kept, frame(closed, CLOSED), ahead, decisions, known, told, unkeyed=unkeyed)
        # Accounts that are not reconciled this time keep their carry-forward.
        others = [name for name in self.carried.closed["account"] if name not in closing]
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
