"""The results of a reconciliation as one self-contained HTML page, which is complete without its script."""

import json
import re
from base64 import b64encode
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from workbench.analysis.break_codes import BREAK_CODES, KEYLESS, has_key, partners_of
from workbench.analysis.files import written_whole
from workbench.analysis.frames import python_rows
from workbench.analysis.report import captions, totals
from workbench.analysis.report.captions import counted, signed_text
from workbench.analysis.report.totals import Reconciled
from workbench.analysis.shapes import DECIDED
from workbench.domain.masking import shortened
from workbench.domain.money import major_text
from workbench.text.render import sentence, templates
from workbench.visible import FORMULA, visible

if TYPE_CHECKING:
    from jinja2 import Template

MAX_LISTED: Final = 50
"""The most breaks of a code that the page lists, the largest first; the workbook has all breaks."""
_MAX_AT_ONCE: Final = 5_000
"""The most breaks that one control decides together: the breaks of a code that the page does not list."""
_MAX_LENGTH: Final = 600
"""The most characters that a cell of the page shows; the workbook shows the whole text."""
_MAX_LABEL: Final = 60
"""The most characters of a narrative that stands for a break without a key."""
_SIGNED: Final = re.compile(r"(?<![^\s(])[-+][^\s<)]+")
_NET: Final = ("ledger_minor", "statement_minor")
_PARTS: Final = tuple(f"{side}_{part}_minor" for side in ("ledger", "statement") for part in ("amount", "fee"))
_IN_REST: Final = ("id", "account", "key", "code", "description", "side", "variance_minor", "currency")
_IN_DECISION: Final = ("id", "account", "key", "verdict", "partner", "who", "when", "why")
_TABLES: Final = (
    captions.headline, captions.is_proven, captions.reconciliations, captions.closed, captions.account_rows,
    captions.proof, captions.inputs,
)  # fmt: skip
"""Functions of a result; the template has the return value of each as a variable with the function's name."""


def write_page(result: Reconciled, path: Path | str) -> None:
    """Writes the results as one self-contained HTML page. Raises ReportRefused: the file cannot be written."""
    with written_whole(Path(path)) as unfinished:
        unfinished.write_text(page(result), "utf-8")


def page(result: Reconciled) -> str:
    """The HTML of the page; equal results give equal text."""
    shown, sections = totals.named(result), [*_sections(result)]
    listed = {row["id"] for section in sections for row in section["listed"]}
    currencies = sorted({currency for (currency,) in python_rows(result.proof, "currency")})
    return _template().render(
        {make.__name__: make(shown) for make in _TABLES},
        notes=[*result.notes, *filter(None, [result.carry_note])],
        sign_off=result.sign_off,
        sections=sections,
        # The downloaded file has the decisions about breaks that the page does not list, too.
        others=_json(
            row for row in python_rows(result.decisions, *DECIDED)
            if listed.isdisjoint({row[0], *(row[2] or "").split("; ")})
        ),
        money=[
            (currency, *(captions.variances(shown, currency, by) for by in ("bucket", "business_date")))
            for currency in currencies
        ],
        amount_headings=[captions.heading(name) for name in (*_NET, "variance_minor")],
        statements=[name or "" for side, name in python_rows(result.inputs, "side", "name") if side == "statement"],
    )  # fmt: skip


def _json(rows: Iterable[Sequence[str | None]]) -> str:
    return json.dumps([[text or "" for text in row] for row in rows])


def _sections(result: Reconciled) -> Iterator[dict[str, Any]]:
    """Yields a section for each code: the number of breaks, the largest breaks, and the advice on settling them."""
    counts: Counter[str] = Counter()
    to_do: dict[str, str] = {}
    for total in totals.sums_by_code(result):
        counts[total.code] += total.breaks
        to_do[total.code] = "" if total.is_decided else total.settlement
    breaks, suggested = result.breaks, _suggested(result)
    by_size = breaks.loc[breaks["variance_minor"].abs().sort_values(ascending=False, kind="stable").index]
    largest = {code: by_size[by_size["code"] == code].head(MAX_LISTED) for code in counts}
    ids = [name for rows in largest.values() for name in rows["id"].dropna()]
    partners = partners_of(breaks, result.suggestions["breaks"], ids)
    for code, count in counts.items():
        rows = captions.records(totals.with_withdrawals(totals.settled(largest[code]), result.decisions))
        # A decision about a whole code is about its open breaks that are not listed, too.
        is_unlisted = (breaks["code"] == code) & breaks["verdict"].isna() & ~breaks.index.isin(largest[code].index)
        rest = [
            (*row, _label(row[2], narrative), "" if side == "both" else signed_text(minor, currency))
            for *row, narrative, side, minor, currency in python_rows(breaks[is_unlisted].head(_MAX_AT_ONCE), *_IN_REST)
        ]
        yield {
            "code": code, "meaning": BREAK_CODES[code].meaning, "breaks": count, "settlement": to_do[code],
            "listed": [_listed(row, result.account_names, suggested, partners) for row in rows], "rest": _json(rest),
        }  # fmt: skip


def _suggested(result: Reconciled) -> dict[str, str]:
    """Break id → a text that names, by key, the other breaks that may be one movement with this break, and why."""
    keys = {name: key for name, key in python_rows(result.breaks, "id", "key") if has_key(key)}
    sentences: dict[str, list[str]] = defaultdict(list)
    for breaks, why in python_rows(result.suggestions, "breaks", "why"):
        ids = breaks.split("; ")
        for break_id in ids:
            others = ", ".join(keys.get(other, other) for other in ids if other != break_id)
            sentences[break_id].append(f"Perhaps one movement with {others}: {why}" if others else why)
    return {name: " ".join(texts) for name, texts in sentences.items()}


def _listed(
    row: Mapping[str, Any], names: Mapping[str, str], suggested: Mapping[str, str], partners: Mapping[str, list[str]]
) -> dict[str, Any]:
    """A break as the values of the template, mostly shortened texts; `data` has the whole texts for the script.

    `row` is the break as column → value. `names` is account → its name in the user's books, `suggested` is break id →
    text of its suggestions, `partners` is break id → ids of the breaks with which a person may match it.
    """
    currency, day, since = (row[name] for name in ("currency", "business_date", "since_date"))
    account, shown_name = row["account"], names.get(row["account"], row["account"])
    amounts = ["" if row[name] is None else major_text(row[name], currency) for name in _NET]
    amounts.append(signed_text(row["variance_minor"], currency))
    parts = [f"{captions.heading(name)} {major_text(row[name], currency)}" for name in _PARTS if row[name] is not None]
    more = [shown_name, row["entry"], row["phone"], f"{row['rows']} rows" if row["rows"] > 1 else ""]
    own_words = [f"\u201c{row['description']}\u201d" if row["description"] else "", row["words"]]
    return {
        "data": {
            **{name: str(row[name] or "") for name in _IN_DECISION},
            **({} if shown_name == account else {"account-called": shown_name}),
            "side": row["side"],
            "amount": amounts[-1],
            "label": _label(row["key"], row["description"]),
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
        "amounts": amounts,
        "age": "" if row["age_days"] is None else counted(row["age_days"], "day"),
        "own_words": " · ".join(_short(text) for text in own_words if text),
        "is_decided": row["verdict"] not in {None, "open"},
        "suggested": _short(suggested.get(row["id"])),
        **{name: _short(row[name]) for name in ("reason", "settlement")},
    }


def _label(key: str | None, description: str | None) -> str:
    """A name for a break without a key: its narrative `description`, else KEYLESS. Empty if the break has a key."""
    return "" if has_key(key) else shortened(description or "", _MAX_LABEL) or KEYLESS


def _short(text: str | None) -> str:
    return shortened(text or "", _MAX_LENGTH, counts_mark=False)


def _sentence(text: str) -> str:
    """A sentence as HTML that browsers break neither after an amount's sign nor within a command-line option."""
    return _SIGNED.sub(r'<span class="whole">\g<0></span>', sentence(text))


def _shown(value: object) -> object:
    """A text with its invisible characters made visible; any other value, such as markup, unchanged."""
    return visible(value) if type(value) is str else value


@cache
def _template() -> "Template":
    """The page's template, with its script; the script gets the signs that begin a formula in a spreadsheet."""
    environment = templates(__package__, finalize=_shown)
    environment.filters["sentence"] = _sentence
    script = files(__package__).joinpath("templates", "page.js").read_text("utf-8").replace("__FORMULA__", FORMULA)
    # By this hash the page's policy allows this script, and no other.
    hashed = b64encode(sha256(script.encode()).digest()).decode()
    environment.globals |= {"script": script, "script_hash": f"sha256-{hashed}"}
    return environment.get_template("page.html")
