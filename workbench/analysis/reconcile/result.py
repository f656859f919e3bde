"""What a reconciliation found: frames with declared columns, and how it shows itself."""

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from workbench.analysis.breaks import TIMING
from workbench.analysis.reconcile.carry_forward import CarryForward
from workbench.analysis.reconcile.suggestions import suggestions_of
from workbench.analysis.shapes import EXACT
from workbench.closing import Closing
from workbench.domain.money import money_text
from workbench.render import Column, Table, percent, table

if TYPE_CHECKING:
    # Figures need matplotlib, which takes its time to load.
    from workbench.analysis.report import Figures


@dataclass(frozen=True, repr=False, eq=False)
class Reconciliation(Closing):
    """A ledger held against statements. Every row of both is in `matches` or is part of a break.

    Amounts are minor units with their currency beside them; the columns are declared in `analysis.shapes`.
    Use it as a context manager, or `close` it, to let go of what the engine holds.
    """

    breaks: pd.DataFrame
    """BREAK: what does not agree, with the reason in words and the entries that would settle it."""
    summary: pd.DataFrame
    """SUMMARY: rows and value by account, day and code."""
    ageing: pd.DataFrame
    """AGEING: the breaks by how old they are."""
    proof: pd.DataFrame
    """PROOF: ledger closing less statement closing, explained, an account a row."""
    carry_forward: CarryForward
    """Give it to the next run."""
    rows_read: dict[str, int]
    """How many rows each side has, `ledger` and `statement`; what was carried is counted too."""
    engine: str
    """What ran the rules."""
    notes: tuple[str, ...]
    """What could not be compared, in sentences."""
    _matches: Callable[[], pd.DataFrame] = field(repr=False)
    _inputs: Callable[[], pd.DataFrame] = field(repr=False)
    _close: Callable[[], None] = field(repr=False)

    @cached_property
    def matches(self) -> pd.DataFrame:
        """MATCH: every row that agrees, with the rule; worked out when it is first asked for."""
        return self._matches()

    @cached_property
    def suggestions(self) -> pd.DataFrame:
        """SUGGESTION: open breaks that may be one movement, proposed and not taken; worked out when asked for."""
        return suggestions_of(self.breaks)

    @cached_property
    def inputs(self) -> pd.DataFrame:
        """INPUTS: what was read, with the hashes of files."""
        return self._inputs()

    @property
    def is_clean(self) -> bool:
        """Nothing is open but what the next days will bring."""
        return bool((self.breaks["code"] == TIMING).all())

    @property
    def rates(self) -> pd.DataFrame:
        """For each account the share of its rows that matched, and of their net value: from 0 to 1."""
        total, matched = self._counted()
        share = matched / total.where(total > 0)
        return share.fillna(1.0).rename(columns={"rows": "by_count", "value": "by_value"}).reset_index()

    @property
    def figures(self) -> "Figures":
        """Pictures for a notebook: `ageing()`, `daily_variance()` and `match_rate()`."""
        from workbench.analysis.report import Figures

        return Figures(self)

    def to_excel(self, path: Path | str, *, moment: datetime | None = None) -> None:
        """Write a workbook: summary, matches, breaks, ageing, proof and inputs, amounts as numbers in kwacha.

        The same results are the same bytes; `moment`, if given, is noted as when it was made.
        Raises ReportRefused: a figure has more than 15 digits, or the file cannot be written.
        """
        from workbench.analysis.report import write_workbook

        write_workbook(self, path, moment=moment)

    def report(self, path: Path | str) -> None:
        """Write one HTML page that needs nothing else. Raises ReportRefused: the file cannot be written."""
        from workbench.analysis.report import write_page

        write_page(self, path)

    def close(self) -> None:
        """Let go of what the engine holds; ask for `matches` before."""
        self._close()

    def _counted(self) -> tuple[pd.DataFrame, pd.DataFrame]:
        """`rows` and `value` of both sides by account: all of them, and those that matched."""
        counted = self.summary.assign(
            rows=self.summary["ledger_rows"] + self.summary["statement_rows"],
            value=self.summary["ledger_value_minor"] + self.summary["statement_value_minor"],
        )
        total = counted.groupby("account")[["rows", "value"]].sum()
        matched = counted[counted["code"] == "matched"].groupby("account")[["rows", "value"]].sum()
        return total, matched.reindex(total.index, fill_value=0)

    def _table(self) -> Table:
        total, matched = self._counted()
        rows = [
            (
                line["account"],
                *(percent(int(matched[name][line["account"]]), int(total[name][line["account"]])) for name in total),
                str(int((self.breaks["account"] == line["account"]).sum())),
                money_text(line["difference_minor"], line["currency"]),
                money_text(line["breaks_minor"], line["currency"]),
                _proven(line),
            )
            for line in self.proof.to_dict("records")
        ]
        read = f"{self.rows_read['ledger']:,} ledger rows and {self.rows_read['statement']:,} statement rows"
        columns = [Column(name, numeric=name not in {"account", "proof"}) for name in _HEADINGS]
        return table(f"{read}: {'clean' if self.is_clean else f'{len(self.breaks):,} breaks'}", columns, rows)

    def __repr__(self) -> str:
        return str(self._table())

    def _repr_html_(self) -> str:
        return self._table().html()


def _proven(line: Mapping[Hashable, Any]) -> str:
    text = "holds" if line["holds"] else "does not hold"
    return text if line["note"] == EXACT else f"{text}: {line['note']}"


_HEADINGS = ("account", "rows matched", "net value matched", "breaks", "ledger − statement", "sum of breaks", "proof")  # noqa: RUF001  a minus
