"""The result of a reconciliation: frames with declared columns, notes, and reports."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from workbench.analysis.break_codes import TIMING
from workbench.analysis.frames import day_of
from workbench.analysis.match_rules import AMOUNT, WITHOUT_KEYS, MatchRules
from workbench.analysis.phone_key import OF, PhoneKey
from workbench.analysis.reconcile.carry_forward import GIVE_THE_KEY, CarryForward, rows_named
from workbench.analysis.reconcile.decisions import APPLIED, Signatures, is_open, sign_off
from workbench.analysis.reconcile.inputs import Inputs
from workbench.analysis.report import captions
from workbench.analysis.report.totals import Reconciled, by_account
from workbench.analysis.statements.statement import Statement
from workbench.domain.moments import LUSAKA

if TYPE_CHECKING:
    # Figures need matplotlib, which takes its time to load.
    from workbench.analysis.reconcile.deciding import DecisionTable
    from workbench.analysis.report.figures import Figures


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

    def decide(self, path: Path | str = "decisions.csv", *, who: str = "") -> "DecisionTable":
        """A table to decide the open breaks in JupyterLab; a script calls its `decide(id, verdict, why=…)`.

        `who` decides; `path` is the file that is written, and read with `reconcile(decisions=path)`.
        Raises ReconcileRefused: `path` does not end in .csv, or the file exists and cannot be used.
        """
        from workbench.analysis.reconcile.deciding import DecisionTable

        return DecisionTable(self.breaks, Path(path), who, self.suggestions)

    @property
    def rates(self) -> pd.DataFrame:
        """For each account the matched shares of this period's rows and of their net value, from 0 to 1."""
        counts = ["matched", "rows", "agreed", "value"]
        made = [(line.account, *line.of_period, *line.value_of_period) for line in by_account(self)]
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
        from workbench.analysis.report import outputs

        if path is not None:
            outputs.write_journal(self, path, form, accounts=accounts, on=on)
        return outputs.journal(self, accounts, on)

    def report(self, path: Path | str) -> None:
        """Write one HTML page that needs no other file. Raises ReportRefused: the file cannot be written."""
        from workbench.analysis.report.page import write_page

        write_page(self, path)

    def __repr__(self) -> str:
        from workbench.analysis.report import captions

        return captions.text(self)

    def _repr_html_(self) -> str:
        from workbench.analysis.report import captions

        return captions.html(self)


def aside_of(met: pa.Table, rows: pa.Table, gone: pa.Table) -> pd.DataFrame:
    """The rows of each account that the rates leave out: those of earlier periods, and those decided to zero (`gone`).

    The columns are account, currency, and the counts and values of all these rows and of the matched ones. `rows` are
    part of breaks; `met` were carried forward and have matched.
    """
    waiting, by = rows.filter(pc.is_valid(rows["since"])), ["account", "currency"]
    parts = []
    for part, moved, matched in ((met, "moved", 1), (waiting, "signed", 0), (gone, "signed", 1)):
        value = pc.abs(part[moved])
        counts = {"rows": pa.repeat(1, len(part)), "matched_rows": pa.repeat(matched, len(part))}
        counts |= {"value": value, "matched_value": pc.multiply(value, matched)}
        parts.append(pa.table({name: part[name] for name in by} | counts))
    sums = pa.concat_tables(parts).group_by(by, use_threads=False).aggregate([(name, "sum") for name in counts])
    named = sums.rename_columns([name.removesuffix("_sum") for name in sums.column_names])
    made: pd.DataFrame = named.sort_by([(name, "ascending") for name in by]).to_pandas()
    return made


_FAR = 31
"""A gap before a file's last day is noted if it is of more days than this, and of more than all other days span."""


def notes_of(
    inputs: Inputs, carried: CarryForward, closing: Mapping[str, int], key: PhoneKey, unsure: int, late: pd.DataFrame
) -> tuple[str, ...]:
    """The notes in their order; `closing` is account → last day, `late` the rows booked after their date was closed.

    `unsure` counts the rows whose customers' numbers cannot be compared; `key` is the key that hashes such numbers.
    """
    far = [note for file in inputs.reported.values() for note in _far(file, closing)]
    return (
        *far,
        *(f"{file.name}: {file.continued}" for file in inputs.reported.values() if file.continued),
        *_unopened(inputs, carried, closing),
        *_booked_after(inputs, carried, late),
        *_phones(carried, key, unsure),
    )


def matched_notes(rules: Mapping[str, MatchRules], settled: pa.Table, names: Mapping[str, str]) -> Iterator[str]:
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
