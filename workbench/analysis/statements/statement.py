"""A statement that was read: its rows, what the file says of itself, and where its balance does not follow."""

from dataclasses import dataclass
from datetime import date
from typing import Final

import pandas as pd

from workbench.domain.money import major_text
from workbench.render import Table, bundle, pairs

_SHOWN_FINDINGS: Final = 3


@dataclass(frozen=True, repr=False, eq=False)
class Statement:
    """One file of an operator or a bank, brought to the shape that all have."""

    name: str
    """Of the file, without its folder."""
    sha256: str
    layout: str
    account: str
    """The ledger account that it is the other side of."""
    currency: str
    rows: pd.DataFrame
    """Columns as `analysis.shapes.STATEMENT_ROW` declares them: a row for each of the file, bad ones too."""
    opening_minor: int | None
    """Declared, or told by the first balance; None where the file says neither."""
    closing_minor: int | None
    period: tuple[date, date] | None
    """First and last business day, declared or of the rows; None where there is neither."""
    findings: pd.DataFrame
    """Where the running balance does not follow: `line`, `expected_minor`, `found_minor`."""

    def __repr__(self) -> str:
        return str(self._table())

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        table = self._table()
        return bundle(str(table), table.html())

    def _table(self) -> Table:
        invalid = int(self.rows["problem"].notna().sum())
        return pairs(
            self.name,
            {
                "layout": self.layout,
                "account": self.account,
                "period": " to ".join(map(str, self.period)) if self.period else "no rows",
                "rows": f"{len(self.rows):,}" + (f", of which {invalid:,} invalid" if invalid else ""),
                "opening balance": self._money(self.opening_minor),
                "closing balance": self._money(self.closing_minor),
                "running balance": self._follows(),
                "sha256": self.sha256,
            },
        )

    def _follows(self) -> str:
        if self.findings.empty:
            return "follows, row by row" if self.rows["balance_minor"].notna().any() else "not told"
        lines = [str(line) for line in self.findings["line"].head(_SHOWN_FINDINGS)]
        more = ", …" if len(self.findings) > _SHOWN_FINDINGS else ""
        return f"does not follow in {len(self.findings):,} of its lines: {', '.join(lines)}{more}"

    def _money(self, minor: int | None) -> str:
        return "not told" if minor is None else f"{self.currency} {major_text(minor, self.currency)}"
