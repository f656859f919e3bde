"""The result of a reconciliation: frames with declared columns, and its views as text and HTML."""

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from workbench.analysis.breaks import TIMING
from workbench.analysis.frames import frame
from workbench.analysis.reconcile.carry_forward import CarryForward
from workbench.analysis.reconcile.decisions import APPLIED, Signatures, is_open, sign_off
from workbench.analysis.reconcile.proof import ageing_of
from workbench.analysis.reconcile.suggestions import suggestions_of
from workbench.analysis.report.totals import by_account
from workbench.analysis.shapes import CLOSED_BREAK
from workbench.closing import Closing
from workbench.domain.moments import LUSAKA

if TYPE_CHECKING:
    # Figures need matplotlib, which takes its time to load.
    from workbench.analysis.reconcile.deciding import DecisionTable
    from workbench.analysis.report.figures import Figures


@dataclass(frozen=True, repr=False, eq=False)
class Reconciliation(Closing):
    """A ledger held against statements. Every row of both is in `matches` or is part of a break.

    Amounts are minor units with their currency beside them; the columns are declared in `analysis.shapes`.
    Use it as a context manager, or `close` it, to let go of what the engine holds.
    """

    breaks: pd.DataFrame
    """BREAK: what does not agree, with the reason in words and the entries that would settle it."""
    decisions: pd.DataFrame
    """DECISION: what people have decided, given or carried forward, and what became of it."""
    proof: pd.DataFrame
    """PROOF: ledger closing less statement closing, explained, an account a row."""
    carry_forward: CarryForward
    """Give it to the next run."""
    rows_read: dict[str, int]
    """Rows of each side, `ledger` and `statement`; rows that were brought forward are counted too."""
    told_again: int
    """The number of statement lines that overlapping files repeat; they count once."""
    engine: str
    """The engine that ran the rules: `duckdb` or `spark`."""
    notes: tuple[str, ...]
    """Sentences about what could not be compared."""
    account_names: Mapping[str, str]
    """Account → what one's own books call it, where their layout says that; people are shown this name."""
    _summary: Callable[[], pd.DataFrame] = field(repr=False)
    _matches: Callable[[], pd.DataFrame] = field(repr=False)
    _inputs: Callable[[], pd.DataFrame] = field(repr=False)
    _close: Callable[[], None] = field(repr=False)
    closed: pd.DataFrame = field(default_factory=lambda: frame([], CLOSED_BREAK))
    """CLOSED_BREAK: what was decided to zero, and what earlier runs left open and this period closed."""
    aside: pd.DataFrame = field(default_factory=pd.DataFrame, repr=False)
    """The rows of each account that no rate counts: of earlier periods, or decided to zero."""
    matched_by: Mapping[str, int] = field(default_factory=dict)
    """Rule → how many pairs it matched without a common key; by key every other match is."""
    signatures: Signatures = field(default_factory=Signatures)
    """Who prepared it and who reviewed it."""

    @cached_property
    def summary(self) -> pd.DataFrame:
        """SUMMARY: rows and value by account, day and code; worked out when it is first asked for."""
        return self._summary()

    @cached_property
    def ageing(self) -> pd.DataFrame:
        """AGEING: the breaks by how old they are; worked out when it is first asked for."""
        return ageing_of(self.breaks)

    @cached_property
    def matches(self) -> pd.DataFrame:
        """MATCH: every row that agrees, with the rule; worked out when it is first asked for."""
        return self._matches()

    @cached_property
    def suggestions(self) -> pd.DataFrame:
        """SUGGESTION: open breaks that may be one movement, proposed and not taken; worked out when asked for."""
        return suggestions_of(self.breaks, self.proof)

    @cached_property
    def inputs(self) -> pd.DataFrame:
        """INPUTS: what was read, with the hashes of files."""
        return self._inputs()

    @property
    def is_clean(self) -> bool:
        """Nothing is open but what the next days will bring."""
        return bool((self.breaks["code"] == TIMING).all())

    @property
    def is_decided(self) -> bool:
        """Nothing is open but what the next days will bring, and what a person or a rule has decided."""
        return not is_open(self.breaks).any()

    @property
    def sign_off(self) -> str:
        """Who decided what, the SHA-256 of inputs, layouts, decisions and rules, and who prepared and reviewed it."""
        return sign_off(self.decided, self.decisions, self.inputs, self.signatures)

    @property
    def decided(self) -> pd.DataFrame:
        """The breaks that a person or a rule has decided, those that are closed by it too."""
        names, applied = ["id", "variance_minor", "verdict", "who", "rule"], self.decisions["state"] == APPLIED
        closed = self.closed[self.closed["id"].isin(self.decisions.loc[applied, "break"]) | self.closed["rule"].isna()]
        open_ = self.breaks[self.breaks["verdict"].notna()]
        return pd.concat([each[names].astype({"rule": "string"}) for each in (open_, closed)], ignore_index=True)

    def sign(self, *, prepared_by: str = "", reviewed_by: str = "", on: date | None = None) -> "Reconciliation":
        """Returns the result signed by its preparer, its reviewer or both, `on` a day: today by default.

        Raises ReconcileRefused: one person would review what the same person prepared.

        >>> result.sign(prepared_by="Ann").sign(reviewed_by="Ben").to_excel("january.xlsx")  # doctest: +SKIP
        """
        today = on or datetime.now(LUSAKA).date()
        return replace(self, signatures=self.signatures.signed(prepared_by, reviewed_by, today))

    def decide(self, path: Path | str = "decisions.csv", *, who: str = "") -> "DecisionTable":
        """The open breaks to decide in: a table in JupyterLab, and `decide(id, verdict, why=…)` for a script.

        `who` decides; `path` is the file that is written, and read with `reconcile(decisions=path)`.
        Raises ReconcileRefused: the file is there, and cannot be used.
        """
        from workbench.analysis.reconcile.deciding import DecisionTable

        return DecisionTable(self.breaks, Path(path), who, self.suggestions)

    @property
    def rates(self) -> pd.DataFrame:
        """For each account the share of this period's rows that matched, and of their net value: from 0 to 1."""
        sums: dict[str, Counter[str]] = defaultdict(Counter)
        for each in by_account(self):
            sums[each.account].update(rows=each.of_period[1], matched=each.of_period[0])
            sums[each.account].update(value=each.value_of_period[1], agreed=each.value_of_period[0])
        made = [
            (account, each["matched"] / each["rows"] if each["rows"] else 1.0,
             each["agreed"] / each["value"] if each["value"] else 1.0) for account, each in sums.items()
        ]  # fmt: skip
        return pd.DataFrame(made, columns=["account", "by_count", "by_value"])

    @property
    def figures(self) -> "Figures":
        """Pictures for a notebook: `ageing()`."""
        from workbench.analysis.report.figures import Figures

        return Figures(self)

    def to_excel(self, path: Path | str, *, moment: datetime | None = None, matches: bool = False) -> None:
        """Write a workbook: the reconciliation and what to do, then breaks, summary, ageing, proof and inputs.

        Suggestions and what this period closed follow where there are any, and with `matches` every row that agrees.
        Amounts are numbers in major units, and their totals formulas.

        The same results are the same bytes; `moment`, if given, is noted as when it was made.
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
        from workbench.analysis.report import journal

        if path is not None:
            journal.write_journal(self, path, form, accounts=accounts, on=on)
        return journal.journal(self, accounts, on)

    def report(self, path: Path | str) -> None:
        """Write one HTML page that needs nothing else. Raises ReportRefused: the file cannot be written."""
        from workbench.analysis.report.page import write_page

        write_page(self, path)

    def close(self) -> None:
        """Let go of what the engine holds; ask for `matches` before."""
        self._close()

    def __repr__(self) -> str:
        from workbench.analysis.report import overview

        return overview.text(self)

    def _repr_html_(self) -> str:
        from workbench.analysis.report import overview

        return overview.html(self)
