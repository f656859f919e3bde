"""The results of a reconciliation as one HTML page that needs no other file, and shows all without its script."""

import base64
import hashlib
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
from workbench.analysis.report.workbook import BLANKS, FORMULA_SIGNS
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
            proofs=[*captions.notes(result), *captions.proofs(result)],
            accounts=captions.accounts(result),
            proof=captions.proof(result),
            picture=captions.picture(result),
            codes=captions.codes(result),
            sign_off=getattr(result, "sign_off", None),
            script=_script(),
            script_hash=_hashed(_script()),
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


_AMOUNTS: Final = tuple(f"{side}_{what}minor" for side in ("ledger", "statement") for what in ("amount_", "fee_", ""))
_DECISION: Final = ("verdict", "partner", "who", "when", "why")
_SHOWN: Final = (
    "id", "statement", "line", "account", "key", "entry", "phone", "business_date", "currency", *_AMOUNTS,
    "variance_minor", "age_days", "since_date", "rows", "description", "words", "reason", "settlement", "rule",
    *_DECISION,
)  # fmt: skip


def _listed(row: Mapping[str, Any]) -> dict[str, Any]:
    """A break as the page shows it: everything is text. `data` is what the script goes by, whole."""
    currency, day, since = (row[name] for name in ("currency", "business_date", "since_date"))
    amounts = ["" if row[name] is None else major_text(row[name], currency) for name in _AMOUNTS]
    more = [row["account"], row["entry"], row["phone"], f"{row['rows']} rows" if row["rows"] > 1 else ""]
    said = [f"\u201c{row['description']}\u201d" if row["description"] else "", row["words"]]
    data = {name: str(row[name] or "") for name in ("id", "account", "key", *_DECISION)}
    return {
        "data": {**data, "since": "new" if since is None else "carried"},
        "where": _short(row["statement"]) + ("" if row["line"] is None else f", line {row['line']}"),
        "key": _short(row["key"] or "no key"),
        "more": " · ".join(_short(each) for each in more if each),
        "date": "" if day is None else day.isoformat(),
        "since": "new" if since is None else f"carried since {since.isoformat()}",
        "amounts": [*amounts, major_text(row["variance_minor"], currency, signed=True)],
        "age": "" if row["age_days"] is None else counted(row["age_days"], "day"),
        "said": " · ".join(_short(each) for each in said if each),
        "decision": _short(_decided(row)),
        **{name: _short(row[name]) for name in ("reason", "settlement")},
    }


def _decided(row: Mapping[str, Any]) -> str:
    """The verdict about a break: whose it is, and why."""
    if not row["verdict"]:
        return ""
    whose = row["who"] or row["rule"]
    text = str(row["verdict"]).replace("_", " ") + (f" by {whose}" if whose else "")
    return f"{text}: {row['why']}" if row["why"] else text


def _short(text: str | None) -> str:
    return shortened(text or "", _MAX_LENGTH, counts_mark=False)


def _data_url(picture: Picture) -> str:
    return f"data:image/png;base64,{base64.b64encode(picture.png).decode()}"


def _shown(value: Any) -> Any:  # noqa: ANN401  whatever the template names
    """What is put into the page, its own markup left alone."""
    return visible(value) if type(value) is str else value


@cache
def _script() -> str:
    """What filters, and hands decisions over: with what begins a formula as every other output knows it."""
    text = files(__package__).joinpath("templates", "page.js").read_text("utf-8")
    return text.replace("__BLANKS__", BLANKS).replace("__SIGNS__", FORMULA_SIGNS)


def _hashed(script: str) -> str:
    """By which the page's policy allows this script, and no other."""
    return f"sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}"


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
