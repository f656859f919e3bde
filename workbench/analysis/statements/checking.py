"""A check of how a layout reads a statement: its first rows, why others cannot be read, and the running balance."""

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from itertools import chain, islice
from pathlib import Path
from typing import Any, Final, Unpack

from workbench.analysis.frames import money
from workbench.analysis.statements.csv_files import digest_of
from workbench.analysis.statements.draft import draft_layout, masked, read_as, summary
from workbench.analysis.statements.layouts import Layout, tried_layouts
from workbench.analysis.statements.recognising import recognised
from workbench.analysis.statements.statement import Reading, Statement, reasons_in
from workbench.analysis.statements.writing import absent
from workbench.domain.masking import mask, shortened
from workbench.domain.moments import LUSAKA
from workbench.errors import StatementRefused
from workbench.text.render import DisplayColumn, DisplayTable, Tabular, table, wrapped
from workbench.visible import visible

_SHOWN: Final = 10
_REASONS: Final = 5
_AMOUNTS: Final = ("amount", "fee", "balance")
_TEXTS: Final = ("key", "phone", "type", "status", "words", "description")
_LONGEST: Final = 40
_NOTHING: Final = ("", *(format(Decimal(f"0e-{decimals}"), "f") for decimals in range(5)))
_WIDTH: Final = 80


class LayoutCheck(Tabular):
    """The first ten rows as a layout reads them, and the problems of all rows.

    `doubts` are the open doubts of a draft; pass None for a layout that was no draft.
    """

    def __init__(self, statement: Statement, doubts: Sequence[str] | None = None) -> None:
        self.statement = statement
        self.is_drafted = doubts is not None
        self.doubts = tuple(doubts or ())

    @property
    def is_sound(self) -> bool:
        """True if there are rows, all can be used, and the running balance, if there is one, agrees in every row."""
        rows = self.statement.rows
        return len(rows) > 0 and bool(rows["problem"].isna().all()) and self.statement.findings.empty

    def reasons(self) -> dict[str, tuple[int, int]]:
        """Reason why rows cannot be used → first line and number of rows, for the five commonest reasons."""
        bad = self.statement.rows.dropna(subset=["problem"])
        problems = zip(bad["line"].tolist(), bad["problem"].map(str), strict=True)
        reasons = reasons_in((line, mask(why)) for line, whys in problems for why in whys.split("; "))
        return dict(islice(reasons.items(), _REASONS))

    def text(self, width: int | None = None) -> str:
        """The check as text, in lines of at most `width` characters, 80 by default."""
        width = width or _WIDTH
        reasons = [
            f"{why} ({f'line {line}' if count == 1 else f'{count:,} rows, the first in line {line}'})"
            for why, (line, count) in self.reasons().items()
        ]
        listed = (("Rows that cannot be read, by the most frequent reason:", reasons), ("To decide:", self.doubts))
        parts = ["\n- ".join([title, *map(visible, lines)]) for title, lines in listed if lines]
        parts.append("\n".join(summary(self.statement)))
        return "\n\n".join([self._table().text(width), *(wrapped(part, width) for part in parts)])

    def _table(self) -> DisplayTable:
        """The first rows, in the columns that have anything in them."""
        rows = [*map(_row, money(self.statement.rows.head(_SHOWN)).to_dict("records"))]
        filled = [name for name in dict.fromkeys(chain(*rows)) if any(row[name] not in _NOTHING for row in rows)]
        columns = [DisplayColumn(name, name in _AMOUNTS) for name in filled]
        caption = f"{self.statement.name}, read as {self.statement.layout}"
        return table(caption, columns, [[row[name] for name in filled] for row in rows])


def _row(row: Mapping[Any, Any]) -> dict[str, Any]:
    """Heading → a row's cell: an amount as in `row`, any other value as text with customers' numbers masked."""

    def text(name: str) -> str:
        return "" if absent(row[name]) else shortened(" ".join(mask(str(row[name])).split()), _LONGEST)

    when = "" if absent(row["occurred_at"]) else f"{row['occurred_at'].tz_convert(LUSAKA):%Y-%m-%d %H:%M:%S}"
    cells = {"line": str(row["line"]), "when": when or text("business_date"), "way": text("direction")}
    amounts = {name: "" if absent(row[name]) else row[name] for name in _AMOUNTS}
    return cells | amounts | {name: text(name) for name in _TEXTS}


def checked(
    path: str | Path,
    *,
    layout: str | Path | Layout | None = None,
    layouts: str | Path | Iterable[Layout | str | Path] | None = None,
    **options: Unpack[Reading],
) -> LayoutCheck:
    """Check how the named or recognised layout reads a file; if no layout is recognised, check a draft.

    `layout`, `layouts` and `options` are as for `read_statement`, and so are the errors.
    """
    source = Path(path)
    digest_of(source)
    try:
        known = recognised(source, tried_layouts(layout, layouts or ()), named=layout is not None).layout
    except StatementRefused as wrong:
        if layout is not None or "headings" not in wrong.facts:
            raise
        draft = draft_layout(source)
        statement = read_as(source, draft.layout, **options)
        # The caller's options settle the doubts about the settings that they override.
        settled = {"dates" if name == "date_format" else name for name, value in options.items() if value}
        pairs = [(where, text) for where, texts in draft.doubts.items() if where not in settled for text in texts]
        doubts = [masked(text if text.startswith(where) else f"{where}: {text}") for where, text in pairs]
        return LayoutCheck(statement, doubts)
    return LayoutCheck(read_as(source, known, **options))
