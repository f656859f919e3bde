"""The result of a reconciliation: frames with declared columns, and its views as text and HTML."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from workbench.analysis.breaks import TIMING
from workbench.analysis.reconcile.carry_forward import CarryForward
from workbench.analysis.reconcile.decisions import APPLIED, Signatures, is_open, sign_off
from workbench.analysis.report import captions
from workbench.analysis.report.totals import Reconciled, by_account
from workbench.domain.moments import LUSAKA

if TYPE_CHECKING:
    # Figures need matplotlib, which takes its time to load.
    from workbench.analysis.reconcile.deciding import DecisionTable
    from workbench.analysis.report.figures import Figures


@dataclass(frozen=True, repr=False, eq=False)
class Reconciliation(Reconciled):
    """A ledger held against statements. Every row of both is in `matches` or is part of a break.

    Amounts are minor units with their currency beside them; the columns are declared in `analysis.shapes`.
    Use it as a context manager, or `close` it, to let go of what the engine holds.
    """

    carry_forward: CarryForward
    """Give it to the next run."""
    signatures: Signatures = field(default_factory=Signatures)
    """The preparer and the reviewer, each with the day."""

    @property
    def headline(self) -> str:
        """The outcome in one or two sentences."""
        return captions.headline(self)

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
        return pd.concat([part[names].astype({"rule": "string"}) for part in (open_, closed)], ignore_index=True)

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

    def __repr__(self) -> str:
        from workbench.analysis.report import overview

        return overview.text(self)

    def _repr_html_(self) -> str:
        from workbench.analysis.report import overview

        return overview.html(self)
