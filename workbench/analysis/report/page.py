"""The results of a reconciliation as one HTML page that needs nothing from anywhere: no script, no other file."""

import base64
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from workbench.analysis.breaks import BREAK_CODES
from workbench.analysis.files import written_whole
from workbench.analysis.frames import python_rows
from workbench.analysis.report import captions, totals
from workbench.analysis.report.captions import counted
from workbench.analysis.report.figures import Figures
from workbench.analysis.report.totals import Reconciled
from workbench.domain.masking import shortened
from workbench.domain.money import major_text
from workbench.render import Picture
from workbench.visible import visible

MAX_LISTED: Final = 50
"""So many breaks of a code are listed, the largest; the workbook has all."""
_MAX_LENGTH: Final = 600
"""A cell of the page shows so many characters; the workbook has the rest."""


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
            headline=captions.headline(result),
            is_proven=captions.is_proven(result),
            proofs=captions.proofs(result),
            accounts=captions.accounts(result),
            proof=captions.proof(result),
            codes=captions.codes(result),
            sections=list(_sections(result)),
            money=[
                {
                    "currency": each,
                    "ages": captions.ageing(result, each),
                    "days": captions.days(result, each),
                    "ageing": figures.ageing(each),
                    "daily": figures.daily_variance(each),
                }
                for each in currencies
            ],
            rates=figures.match_rate(),
            inputs=captions.inputs(result),
            statements=[name or "" for side, name in python_rows(result.inputs, "side", "name") if side == "statement"],
        )
    )


def _sections(result: Reconciled) -> Iterator[dict[str, object]]:
    """The breaks of each code: how many there are, and the largest variances first."""
    counts: Counter[str] = Counter()
    for each in totals.by_code(result):
        counts[each.code] += each.breaks
    for code, count in counts.items():
        found = result.breaks[result.breaks["code"] == code]
        size = found["variance_minor"].abs()
        largest = found.loc[size.sort_values(ascending=False, kind="stable").index[:MAX_LISTED]]
        listed = [_listed(dict(zip(_SHOWN, row, strict=True))) for row in python_rows(largest, *_SHOWN)]
        yield {"code": code, "meaning": BREAK_CODES[code].meaning, "breaks": count, "listed": listed}


_SHOWN: Final = (
    "statement", "line", "account", "key", "entry", "phone", "business_date", "currency", "ledger_minor",
    "statement_minor", "variance_minor", "age_days", "rows", "reason", "settlement",
)  # fmt: skip


def _listed(row: Mapping[str, Any]) -> dict[str, str]:
    """A break as the page shows it: everything is text."""
    currency, day = row["currency"], row["business_date"]
    net = {side: row[f"{side}_minor"] for side in ("ledger", "statement")}
    more = [row["account"], row["entry"], row["phone"], f"{row['rows']} rows" if row["rows"] > 1 else ""]
    return {
        "where": _short(row["statement"]) + ("" if row["line"] is None else f", line {row['line']}"),
        "key": _short(row["key"] or "no key"),
        "more": " · ".join(_short(each) for each in more if each),
        "date": "" if day is None else day.isoformat(),
        **{side: "" if minor is None else major_text(minor, currency) for side, minor in net.items()},
        "variance": major_text(row["variance_minor"], currency, signed=True),
        "age": "" if row["age_days"] is None else counted(row["age_days"], "day"),
        **{name: _short(row[name]) for name in ("reason", "settlement")},
    }


def _short(text: str | None) -> str:
    return shortened(text or "", _MAX_LENGTH, counts_mark=False)


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
        loader=DictLoader({"page.html": text}), autoescape=True, finalize=_shown, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    environment.filters["data_url"] = _data_url
    return environment.get_template("page.html")
