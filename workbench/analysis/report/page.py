"""The results of a reconciliation as one HTML page that needs nothing from anywhere: no script, no other file."""

import base64
from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Final, NamedTuple

from workbench.analysis.breaks import BREAK_CODES
from workbench.analysis.frames import python_rows
from workbench.analysis.report import tables, totals
from workbench.analysis.report.figures import Figures
from workbench.analysis.report.source import Reconciled
from workbench.analysis.report.whole import written_whole
from workbench.analysis.report.words import counted, headline, is_proven, proofs
from workbench.domain.money import major_text
from workbench.render import Picture, Table, shortened
from workbench.visible import visible

MAX_LISTED: Final = 50
"""So many breaks of a code are listed, the largest; the workbook has all."""
_MAX_WORDS: Final = 600
"""A cell of the page shows so many characters; the workbook has the rest."""


class Listed(NamedTuple):
    """A break as the page shows it: everything is text."""

    where: str
    key: str
    more: str
    date: str
    ledger: str
    statement: str
    variance: str
    age: str
    reason: str
    settlement: str


class Section(NamedTuple):
    """The breaks of one code: the largest of them, and how many there are."""

    code: str
    meaning: str
    breaks: int
    listed: list[Listed]


class Money(NamedTuple):
    """What is shown for the accounts in one currency."""

    currency: str
    ages: Table
    days: Table
    ageing: Picture
    daily: Picture


def write_page(result: Reconciled, path: Path | str) -> None:
    """Write the results as one self-contained HTML page.

    Raises ReportRefused: the file cannot be written.
    """
    with written_whole(Path(path)) as unfinished:
        unfinished.write_text(page(result), "utf-8")


def page(result: Reconciled) -> str:
    """The HTML of the page; the same results give the same text."""
    figures = Figures(result)
    currencies = sorted({each for (each,) in python_rows(result.proof, "currency")})
    return str(
        _template().render(
            headline=headline(result),
            is_proven=is_proven(result),
            proofs=proofs(result),
            accounts=tables.accounts(result),
            proof=tables.proof(result),
            codes=tables.codes(result),
            sections=list(_sections(result)),
            money=[_money(result, figures, each) for each in currencies],
            rates=figures.match_rate(),
            inputs=tables.inputs(result),
            statements=[name or "" for side, name in python_rows(result.inputs, "side", "name") if side == "statement"],
        )
    )


def _money(result: Reconciled, figures: Figures, currency: str) -> Money:
    return Money(
        currency,
        tables.ageing(result, currency),
        tables.days(result, currency),
        figures.ageing(currency),
        figures.daily_variance(currency),
    )


def _sections(result: Reconciled) -> Iterable[Section]:
    """The breaks of each code, the largest variances first."""
    counts: dict[str, int] = {}
    for each in totals.by_code(result):
        counts[each.code] = counts.get(each.code, 0) + each.breaks
    for code, count in counts.items():
        found = result.breaks[result.breaks["code"] == code]
        size = found["variance_minor"].abs()
        largest = found.loc[size.sort_values(ascending=False, kind="stable").index[:MAX_LISTED]]
        yield Section(code, BREAK_CODES[code].meaning, count, [_listed(*row) for row in python_rows(largest, *_SHOWN)])


_SHOWN: Final = (
    "statement", "line", "account", "key", "entry", "phone", "business_date", "currency", "ledger_minor",
    "statement_minor", "variance_minor", "age_days", "rows", "reason", "settlement",
)  # fmt: skip


def _listed(*cells: Any) -> Listed:  # noqa: ANN401  cells of many types, in the order above
    row: dict[str, Any] = dict(zip(_SHOWN, cells, strict=True))
    place = "" if row["line"] is None else f", line {row['line']}"
    currency = row["currency"]
    more = [row["account"], row["entry"], row["phone"], f"{row['rows']} rows" if row["rows"] > 1 else ""]
    return Listed(
        where=shortened(row["statement"] or "", _MAX_WORDS) + place,
        key=shortened(row["key"] or "no key", _MAX_WORDS),
        more=" · ".join(shortened(each, _MAX_WORDS) for each in more if each),
        date="" if row["business_date"] is None else row["business_date"].isoformat(),
        ledger="" if row["ledger_minor"] is None else major_text(row["ledger_minor"], currency),
        statement="" if row["statement_minor"] is None else major_text(row["statement_minor"], currency),
        variance=major_text(row["variance_minor"], currency, signed=True),
        age="" if row["age_days"] is None else counted(row["age_days"], "day"),
        reason=shortened(row["reason"] or "", _MAX_WORDS),
        settlement=shortened(row["settlement"] or "", _MAX_WORDS),
    )


def _data_url(picture: Picture) -> str:
    return f"data:image/png;base64,{base64.b64encode(picture.png).decode()}"


def _shown(value: Any) -> Any:  # noqa: ANN401  whatever the template names
    """What is put into the page, its own markup left alone."""
    return visible(value) if type(value) is str else value


@cache
def _template() -> Any:  # noqa: ANN401  loaded when it is first used
    from jinja2 import DictLoader, Environment, StrictUndefined

    text = files(__package__).joinpath("templates", "page.html").read_text("utf-8")
    environment = Environment(
        loader=DictLoader({"page.html": text}),
        autoescape=True,
        finalize=_shown,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["data_url"] = _data_url
    return environment.get_template("page.html")
