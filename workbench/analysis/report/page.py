"""The results of a reconciliation as one HTML page that needs no other file, and shows all without its script."""

import base64
import hashlib
import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pandas as pd

from workbench.analysis.break_codes import BREAK_CODES, has_key, partners_of
from workbench.analysis.files import written_whole
from workbench.analysis.frames import python_rows
from workbench.analysis.report import bank_reconciliation, captions, totals
from workbench.analysis.report.captions import counted
from workbench.analysis.report.totals import Reconciled
from workbench.analysis.shapes import DECIDED
from workbench.domain.masking import shortened
from workbench.domain.money import major_text
from workbench.text.render import sentence, templates
from workbench.visible import FORMULA, visible

if TYPE_CHECKING:
    from jinja2 import Template

MAX_LISTED: Final = 50
"""The most breaks of a code that the page lists, largest first; the workbook has all."""
_MAX_AT_ONCE: Final = 5_000
"""The most further breaks of a code that are decided at once."""
_MAX_LENGTH: Final = 600
"""The most characters that a cell of the page shows; the workbook has the rest."""


def write_page(result: Reconciled, path: Path | str) -> None:
    """Write the results as one self-contained HTML page.

    Raises ReportRefused: the file cannot be written.
    """
    with written_whole(Path(path)) as unfinished:
        unfinished.write_text(page(result), "utf-8")


def page(result: Reconciled) -> str:
    """The HTML of the page; the same results give the same text."""
    whole, result = result, totals.named(result)
    currencies = sorted({currency for (currency,) in python_rows(result.proof, "currency")})
    sections, script = list(_sections(whole)), _script()
    hashed = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return _template().render(
        headline=captions.headline(result),
        is_proven=captions.is_proven(result),
        shortfalls=captions.shortfalls(result),
        reconciliations=bank_reconciliation.tables(result),
        closed=captions.closed(result),
        notes=[*result.notes, *filter(None, [result.carry_forward.note])],
        accounts=captions.accounts(result),
        proof=captions.proof(result),
        sign_off=result.sign_off,
        script=script,
        # By this hash the page's policy allows this script, and no other.
        script_hash=f"sha256-{hashed}",
        sections=sections,
        others=_decided_elsewhere(whole, {row["id"] for section in sections for row in section["listed"]}),
        money=[
            {"currency": currency, "ages": captions.ageing(result, currency), "days": captions.days(result, currency)}
            for currency in currencies
        ],
        inputs=captions.inputs(result),
        amount_headings=_AMOUNT_HEADINGS,
        statements=[name or "" for side, name in python_rows(result.inputs, "side", "name") if side == "statement"],
    )


def _sections(result: Reconciled) -> Iterator[dict[str, Any]]:
    """For each code the number of breaks, the largest breaks to list, and what to do."""
    counts: Counter[str] = Counter()
    to_do: dict[str, str] = {}
    others, groups = _suggested(result), list(result.suggestions["breaks"])
    for total in totals.by_code(result):
        counts[total.code] += total.breaks
        to_do[total.code] = "" if total.is_decided else total.settlement
    sizes = result.breaks["variance_minor"].abs().sort_values(ascending=False, kind="stable")
    by_size = result.breaks.loc[sizes.index]
    largest = {code: by_size[by_size["code"] == code].head(MAX_LISTED) for code in counts}
    partners = partners_of(
        result.breaks, groups, [name for breaks in largest.values() for name in breaks["id"].dropna()]
    )
    for code, count in counts.items():
        told = python_rows(totals.settled(largest[code]), *_SHOWN)
        rows = [dict(zip(_SHOWN, row, strict=True)) for row in told]
        names = result.account_names
        listed = [_listed(row, others, partners, names.get(row["account"], row["account"])) for row in rows]
        yield {
            "code": code, "meaning": BREAK_CODES[code].meaning, "breaks": count, "listed": listed,
            "settlement": to_do[code], "rest": _rest(result.breaks[result.breaks["code"] == code], largest[code]),
        }  # fmt: skip


def _rest(found: pd.DataFrame, listed: pd.DataFrame) -> str:
    """The first of the open breaks that are not listed, as JSON: a decision about a whole code is about them too."""
    others = found[found["verdict"].isna() & ~found.index.isin(listed.index)].head(_MAX_AT_ONCE)
    return json.dumps([[text or "" for text in row] for row in python_rows(others, "id", "account", "key", "code")])


_NET: Final = ("ledger_minor", "statement_minor")
_PARTS: Final = tuple(f"{side}_{what}_minor" for side in ("ledger", "statement") for what in ("amount", "fee"))
_AMOUNT_HEADINGS: Final = tuple(captions.heading(name) for name in (*_NET, "variance_minor"))
_DECISION: Final = ("verdict", "partner", "who", "when", "why")
_SHOWN: Final = (
    "id", "statement", "line", "account", "key", "entry", "phone", "business_date", "currency", *_NET, *_PARTS,
    "variance_minor", "age_days", "since_date", "rows", "description", "words", "reason", "settlement",
    *_DECISION,
)  # fmt: skip


def _suggested(result: Reconciled) -> dict[str, str]:
    """The id of a break → sentences on the breaks, named by their keys, that may be one movement with it."""
    keys = {name: key for name, key in python_rows(result.breaks, "id", "key") if has_key(key)}
    found: dict[str, list[str]] = defaultdict(list)
    for breaks, why in python_rows(result.suggestions, "breaks", "why"):
        ids = breaks.split("; ")
        for break_id in ids:
            others = ", ".join(keys.get(other, other) for other in ids if other != break_id)
            found[break_id].append(f"Perhaps one movement with {others}: {why}" if others else why)
    return {name: " ".join(texts) for name, texts in found.items()}


def _listed(
    row: Mapping[str, Any], others: Mapping[str, str], partners: Mapping[str, list[str]], called: str
) -> dict[str, Any]:
    """A break as the page shows it: everything is text. `data` has the uncut texts for the script.

    `others` has the sentences and `partners` the candidates of each break's id; `called` is the account's shown name.
    """
    currency, day, since = (row[name] for name in ("currency", "business_date", "since_date"))
    amounts = ["" if row[name] is None else major_text(row[name], currency) for name in _NET]
    parts = [f"{captions.heading(name)} {major_text(row[name], currency)}" for name in _PARTS if row[name] is not None]
    more = [called, row["entry"], row["phone"], f"{row['rows']} rows" if row["rows"] > 1 else ""]
    said = [f"\u201c{row['description']}\u201d" if row["description"] else "", row["words"]]
    data = {name: str(row[name] or "") for name in ("id", "account", "key", *_DECISION)}
    if called != row["account"]:
        data["account-called"] = called
    return {
        "data": {
            **data,
            "since": "new" if since is None else "carried",
            "partners": " | ".join(partners.get(row["id"], ())),
        },
        "id": row["id"] or "",
        "where": _short(row["statement"]) + ("" if row["line"] is None else f", line {row['line']}"),
        "key": _short(row["key"]) if has_key(row["key"]) else "",
        "more": " · ".join(_short(value) for value in more if value),
        "gross": ", ".join(parts),
        "date": "" if day is None else day.isoformat(),
        "since": "new" if since is None else f"carried since {since.isoformat()}",
        "amounts": [*amounts, major_text(row["variance_minor"], currency, signed=True)],
        "age": "" if row["age_days"] is None else counted(row["age_days"], "day"),
        "said": " · ".join(_short(text) for text in said if text),
        "is_decided": row["verdict"] is not None,
        "suggested": _short(others.get(row["id"])),
        **{name: _short(row[name]) for name in ("reason", "settlement")},
    }


def _decided_elsewhere(result: Reconciled, listed: set[str]) -> str:
    """The decisions about breaks that the page does not list, as JSON: the downloaded file has them too."""
    texts = [[text or "" for text in row] for row in python_rows(result.decisions, *DECIDED)]
    return json.dumps([row for row in texts if listed.isdisjoint({row[0], *row[2].split("; ")})])


def _short(text: str | None) -> str:
    return shortened(text or "", _MAX_LENGTH, counts_mark=False)


def _sentence(text: str) -> str:
    """A sentence as HTML, in which no line ends behind the sign of an amount, or within an option."""
    return _SIGNED.sub(r'<span class="whole">\g<0></span>', sentence(text))


_SIGNED: Final = re.compile(r"(?<![^\s(])[-+][^\s<)]+")


def _shown(value: object) -> object:
    """Makes a value visible for the page; markup stays as it is."""
    return visible(value) if type(value) is str else value


@cache
def _script() -> str:
    """The page's script, with the signs that begin a formula in every output."""
    text = files(__package__).joinpath("templates", "page.js").read_text("utf-8")
    return text.replace("__FORMULA__", FORMULA)


@cache
def _template() -> "Template":
    environment = templates(__package__, finalize=_shown)
    environment.filters["sentence"] = _sentence
    return environment.get_template("page.html")
