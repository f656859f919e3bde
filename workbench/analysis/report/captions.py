"""Turns a reconciliation into sentences and small tables for a terminal, a notebook and the HTML page."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import pandas as pd

from workbench.analysis.break_codes import BREAK_CODES, BUCKETS, CODES, INVALID, TIMING, TOLD_AGAIN, has_key
from workbench.analysis.frames import python_rows
from workbench.analysis.report import totals
from workbench.analysis.report.totals import Reconciled
from workbench.analysis.shapes import NOTHING_PROVEN, WORKED_OUT
from workbench.domain.masking import shortened
from workbench.domain.money import ZMW, major_text
from workbench.text.render import DisplayColumn, DisplayTable, percent, sentence, table
from workbench.visible import visible

_FEW, _LISTED = 5, 20
"""The most unusable rows and suggestions (_FEW), and the most breaks to settle (_LISTED), that a text lists."""
_REASON, _KEY = 200, 24
"""The most characters of a reason and of a key that a table shows."""
_NARRATIVE, _NARROW, _PIPED = 60, 16, 120
"""The least width of a narrative on a terminal and without one, and the width of a line without one, in characters."""
_CLOSINGS: Final = ("ledger_minor", "statement_minor")
_GO_ON: Final = (
    'Go on with result.breaks, result.matches and result.proof (tables), result.report("page.html"), '
    'result.to_excel("book.xlsx"), and result.carry_forward for the next run. '
    "Decide with result.decide(), or on the page."
)
HEADINGS: Final[Mapping[str, str]] = {
    "business_date": "business date",
    "age_days": "age in days",
    "sha256": "SHA-256",
    "since_date": "carried since",
    "description": "narrative",
    "words": "the file's own words",
    "who": "owner",
    "when": "when (UTC)",
    "why": "comment",
    "statement": "statement file",
    "ledger_amount_minor": "ledger gross",
    "statement_amount_minor": "statement gross",
    "ledger_minor": "ledger net",
    "statement_minor": "statement net",
    "variance_minor": "net variance",
    "ledger_value_minor": "ledger net value",
    "statement_value_minor": "statement net value",
    "moved_minor": "moved on both sides, unsigned",
    "signed_minor": "net, signed",
}
"""Column name → heading, where it is not the name without `_minor` and underscores. Net amounts are after the fee."""
PROOF_HEADINGS: Final[Mapping[str, str]] = {
    "ledger_minor": "ledger closing",
    "statement_minor": "statement closing",
    "brought_minor": "from earlier runs",
    "opening_minor": "openings differ by",
    "gap_minor": "gap in the file's balances",
}
"""Column name → heading in the table of the proof, where it is not the name without `_minor` and underscores."""


signed_text: Final = partial(major_text, signed=True)
"""Formats an amount in minor units, with its currency, in major units with its sign."""


def heading(name: str, headings: Mapping[str, str] = HEADINGS) -> str:
    """The heading of the column `name`: its entry in `headings`, else the name without `_minor` and underscores."""
    return headings.get(name, name.removesuffix("_minor").replace("_", " "))


def records(rows: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """Yields each row as a dictionary from column to Python value."""
    names = [*map(str, rows.columns)]
    return (dict(zip(names, row, strict=True)) for row in python_rows(rows, *names))


def is_proven(result: Reconciled) -> bool:
    """True if the proof holds for every account, and more than half of the rows of every file could be used."""
    return bool(result.proof["holds"].all()) and not unreadable(result)


def unreadable(result: Reconciled) -> list[str]:
    """A sentence for each file of which half of the rows or more cannot be used."""
    bad = result.breaks[result.breaks["code"] == INVALID].sort_values("line", kind="stable")
    begins = BREAK_CODES[INVALID].reason.partition("{")[0]
    sentences, names = [], ("side", "name", "sha256", "rows", "unreadable_rows")
    # Asking for inputs hashes them, which is needless if every row can be used.
    for side, name, sha256, rows, count in python_rows(result.inputs, *names) if len(bad) else ():
        rows_of_file = bad[(bad["side"] == side) & ((bad["statement"] == name) | (side == "ledger"))]
        if count and 2 * count >= rows and len(rows_of_file):
            called = name if sha256 or side != "ledger" else "the ledger"
            reason = _in_short(rows_of_file["reason"].iloc[0]).removeprefix(begins)
            text = f"{count:,} of {rows:,} rows of {called} cannot be read: check the layout."
            sentences.append(f"{text} First reason: {reason}")
    return sentences


def _in_short(reason: str) -> str:
    return shortened(" ".join(reason.split()), _REASON, counts_mark=False)


def counted(number: int, singular: str, plural: str = "") -> str:
    """The number with its noun: `1 break`, `2 breaks`. `plural` is by default `singular` followed by s."""
    return f"{number:,} {singular if number == 1 else plural or singular + 's'}"


def headline(result: Reconciled) -> str:
    """The result in one or two sentences; sentences about unreadable files and empty statements come first."""
    notes = [note for (note,) in python_rows(result.proof, "note")]
    blank = [f"{note}." for note in notes if note and note.endswith(NOTHING_PROVEN)]
    codes = [code for code, verdict in python_rows(result.breaks, "code", "verdict") if verdict is None]
    # Breaks that a decision closed in this period are decided too; a match by a rule or a key is no decision.
    waiting, closed_ = codes.count(TIMING), int(result.closed["rule"].isna().sum())
    decided = len(result.breaks) - len(codes) + closed_
    to_settle = len(codes) - waiting
    text = f"{counted(to_settle, 'break')} to settle" if to_settle else "Nothing to settle"
    if waiting:
        text += f", {'' if decided else 'and '}{counted(waiting, 'movement')} within the cut-off that may still follow"
    if decided:
        text += f", and {counted(decided, 'break is', 'breaks are')} decided"
        text += f", {closed_:,} of them closed" if closed_ else ""
    if again := sum(
        count for code, count in python_rows(result.summary, "code", "statement_rows") if code == TOLD_AGAIN
    ):
        text += f". {counted(again, 'line')} repeated in overlapping files, or settled before, counted once"
    return " ".join([*unreadable(result), *blank, f"{text}.", _proof_in_short(result)])


def _proof_in_short(result: Reconciled) -> str:
    rows = [*python_rows(result.proof, "account", "currency", "holds", "note")]
    if not rows:
        return "There is no account to prove."
    if failing := [account for account, _, holds, _ in rows if not holds]:
        return f"The proof does not hold for {', '.join(failing)}."
    noted = [account for account, _, _, note in rows if note and note.endswith(WORKED_OUT)]
    only = f", for {', '.join(noted)} against a closing balance worked out from the rows" if noted else ""
    unit = ZMW.minor_unit if {currency for _, currency, *_ in rows} <= {ZMW.code} else "minor unit"
    return f"The proof holds to the last {unit}{only}."


def _numbers(*headings: str) -> list[str | DisplayColumn]:
    """Headings of right-aligned columns."""
    return [DisplayColumn(text, numeric=True) for text in headings]


def reconciliations(result: Reconciled) -> list[DisplayTable]:
    """One table for each account: its reconciliation, from both balances to the adjusted balances."""
    columns = ["balance or item", *_numbers("items", "amount")]
    return [
        table(account.caption, columns, [
            (line.text, f"{line.items:,}" if line.items else "",
             major_text(line.minor, account.currency, signed=line.items is not None)) for line in account.lines
        ]) for account in totals.balances(result)
    ]  # fmt: skip


def account_rows(result: Reconciled) -> DisplayTable:
    """A table of accounts: numbers of rows on both sides, shares of matched rows by number and value, and variance.

    If the shares leave rows out, the caption says which.
    """
    columns = [
        "account", *_numbers("ledger rows", "statement rows", "matched", "timing", "in breaks"),
        *_numbers("matched by count", "by net value", "net variance"), "currency",
    ]  # fmt: skip
    rows = []
    for name, currency, ledger, statement, matched, timing, variance, *shares in totals.sums_by_account(result):
        counts = [f"{count:,}" for count in (ledger, statement, matched, timing, ledger + statement - matched - timing)]
        rows.append((name, *counts, *(percent(*share) for share in shares), signed_text(variance, currency), currency))
    apart = (
        "; rows of closed breaks and of earlier periods do not count in the percentages" if len(result.aside) else ""
    )
    return table(f"Rows of each account on both sides, and how many of them agree{apart}", columns, rows)


def open_breaks(result: Reconciled, width: int | None, file: Path | None = None) -> DisplayTable:
    """A table of the largest breaks of each code, grouped by advice.

    Decided breaks, breaks of the code `timing` and unusable rows (see `unusable`) are left out. `width` is the
    terminal's width in characters; None without a terminal. If the table is too long for all breaks, its last line
    names `file` as the file with all breaks; None if no file has been written.
    """
    is_left_out = result.breaks["code"].isin([TIMING, INVALID])
    to_settle = result.breaks[result.breaks["verdict"].isna() & ~is_left_out]
    largest = to_settle.loc[to_settle["variance_minor"].abs().sort_values(ascending=False, kind="stable").index]
    # A few of each code, and not all of one.
    first = largest.groupby("code", observed=True).cumcount().sort_values(kind="stable").index[:_LISTED]
    rows = [*records(largest.loc[first])]
    rows.sort(key=lambda row: (CODES.index(row["code"]), row["settlement"] or ""))
    cells = [
        (row["id"] or "", row["account"], shortened(key_text(row["key"]), _KEY), _moved(row), _days(row["age_days"]))
        for row in rows
    ]
    columns = ["break", "account", "key", *_numbers("amount, net", "age")]
    room = (width or _PIPED) - len(str(table("", columns, cells)).splitlines()[1]) - 2
    widest = max(room, _NARRATIVE if width else _NARROW)
    titles = [f"{row['code']}: {row['settlement']}" for row in rows]
    titles = ["" if title == before else title for before, title in pairwise(["", *titles])]
    texts = [shortened(" ".join((row["description"] or "").split()), widest) for row in rows]
    bad = int((result.breaks["verdict"].isna() & (result.breaks["code"] == INVALID)).sum())
    caption = f"{f'{len(to_settle):,} of ' if bad else ''}{counted(len(to_settle) + bad, 'break')} to settle"
    apart = f"; {counted(bad, 'row')} that cannot be used {'is' if bad == 1 else 'are'} listed apart" if bad else ""
    listed = table(
        f"{caption}, by what to do; where both sides have it, ledger ≠ statement{apart}",
        [*columns, "narrative"],
        [(*cell, text) for cell, text in zip(cells, texts, strict=True)],
    )
    return replace(listed, titles=(*titles, *_line_on_more(len(to_settle) - len(rows), file)))


def _moved(row: Mapping[str, Any]) -> str:
    """A break's signed net amount as text; two amounts joined by ≠ if both sides have the row.

    The amounts are gross if only the fees differ.
    """
    sides = [(row[f"{side}_minor"], row[f"{side}_fee_minor"] or 0) for side in ("ledger", "statement")]
    (ours, our_fee), (theirs, their_fee) = sides
    is_gross = ours == theirs and our_fee != their_fee
    texts = dict.fromkeys(
        signed_text(net + fee * is_gross, row["currency"])
        + (f" less fee {major_text(fee, row['currency'])}" if is_gross and fee else "")
        for net, fee in sides if net is not None
    )  # fmt: skip
    return f"{' ≠ '.join(texts)} {row['currency'] or ''}".rstrip()


def key_text(key: str | None) -> str:
    """The key as it is shown, or `no key in the file` for a missing or made-up key."""
    return str(key) if has_key(key) else "no key in the file"


def codes(result: Reconciled) -> DisplayTable:
    """A table with a row for each code and currency: breaks, positive, negative and net variances, and decisions."""
    columns = [
        "code", *_numbers("breaks", "rows", "ledger has more", "statement has more", "variance"), "currency",
        *_numbers("oldest"), "decided",
    ]  # fmt: skip
    code_rows = [
        (
            code.code, f"{code.breaks:,}", f"{code.rows:,}",
            *(major_text(minor, code.currency) for minor in (code.up_minor, -code.down_minor)),
            signed_text(code.net_minor, code.currency), code.currency, _days(code.oldest_days), decided(code),
        ) for code in totals.sums_by_code(result)
    ]  # fmt: skip
    return table("Breaks by what to do, net of fees", columns, code_rows)


def decided(code: totals.CodeSums) -> str:
    """Says how many breaks of a code are decided, and by whom: `1 of 2 decided by Accounts`. Empty if none is."""
    if not code.decided:
        return ""
    many = "" if code.is_decided else f"{code.decided:,} of {code.breaks:,} "
    text = f"{many}decided{f' by {code.who}' if code.who else ''}"
    return text[0].upper() + text[1:]


def _days(days: int | None) -> str:
    return "" if days is None else counted(days, "day")


def closed(result: Reconciled) -> DisplayTable:
    """A table of the breaks that this period closed, each with the match or the decision that closed it."""
    rows = []
    names = ("account", "key", "code", "variance_minor", "currency", "rule", "verdict", "who", "why")
    for account, key, code, variance, currency, rule, verdict, who, why in python_rows(result.closed, *names):
        how = totals.in_words(verdict, who, why) if verdict else totals.in_words("match", rule, why)
        rows.append((account, key_text(key), code, signed_text(variance, currency), currency, how))
    return table("Closed in this period", ["account", "key", "was", *_numbers("variance"), "currency", "how"], rows)


def unusable(result: Reconciled) -> DisplayTable:
    """A table of the first unusable rows, each with the reason."""
    bad = result.breaks[result.breaks["code"] == INVALID]
    first = python_rows(bad.head(_FEW), "side", "statement", "line", "entry", "reason")
    rows = [
        (side if side == "ledger" else file, f"{line or entry or ''}", _in_short(reason))
        for side, file, line, entry, reason in first
    ]
    more = f", the first {_FEW} of {len(bad):,}" if len(bad) > _FEW else ""
    return table(f"Rows that cannot be used{more}", ["of", "line or entry", "reason"], rows)


def proposed(suggestions: pd.DataFrame, file: Path | None = None) -> list[str]:
    """The reasons of the first `suggestions` (columns SUGGESTION), and a line with the number of the others.

    The line names `file` as the file with all suggestions; None if no file has been written.
    """
    return [*suggestions["why"].head(_FEW).tolist(), *_line_on_more(len(suggestions) - _FEW, file)]


def _line_on_more(more: int, file: Path | None) -> list[str]:
    """One line: `more` rows are not listed, and `file` (or the option to write one) has all. Empty if `more` is 0."""
    where = f" in {file}" if file else ": --out breaks.csv writes them all"
    return [f"and {more:,} more{where}"] if more > 0 else []


def variances(result: Reconciled, currency: str, by: str) -> DisplayTable:
    """A table of variances by age (`by` is `bucket`) or by `business_date`, for the accounts in one currency.

    Breaks in another currency than their account's, and breaks without a date, are left out.
    """
    order, unit = ("age", "age in days") if by == "bucket" else ("business date", "business date")
    own, minors = dict(python_rows(result.proof, "account", "currency")), defaultdict[Any, list[int]](list)
    for account, key, minor in python_rows(totals.in_own_currency(result.breaks, own), "account", by, "variance_minor"):
        if own.get(account) == currency and key is not None:
            minors[key].append(minor)
    rows = []
    for key in [key for key in BUCKETS if key in minors] if by == "bucket" else sorted(minors):
        up, down = totals.by_sign(minors[key])
        rows.append((str(key), f"{len(minors[key]):,}", major_text(up, currency), major_text(-down, currency)))
    columns = [unit, *_numbers("breaks", "ledger has more", "statement has more")]
    return table(f"Breaks by {order}, net of fees, in {currency}", columns, rows)


def proof(result: Reconciled) -> DisplayTable:
    """A table of closing balances, their difference and its parts; most parts are left out if 0 in all accounts."""
    always = (*_CLOSINGS, "difference_minor", "breaks_minor", "unexplained_minor")
    names = [
        str(name) for name in result.proof.columns
        if str(name).endswith("_minor") and (name in always or result.proof[name].any())
    ]  # fmt: skip
    columns = ["account", *_numbers(*(heading(name, PROOF_HEADINGS) for name in names)), "currency", "holds"]
    rows = [
        (row["account"], *(major_text(row[name], row["currency"], signed=name not in _CLOSINGS) for name in names),
         row["currency"], "yes" if row["holds"] else "no") for row in records(result.proof)
    ]  # fmt: skip
    return table("Proof: closing balances and what sets them apart", columns, rows)


def inputs(result: Reconciled) -> DisplayTable:
    """A table of the inputs, each with its hash, or `not a file` if it has none."""
    columns = ["side", "name", *_numbers("rows"), "account", "from", "to", "SHA-256"]
    names = ("side", "name", "rows", "account", "first_date", "last_date", "sha256")
    input_rows = [
        (side, name or "", f"{count:,}", account or "", *("" if day is None else day.isoformat() for day in period),
         sha256 or "not a file")
        for side, name, count, account, *period, sha256 in python_rows(result.inputs, *names)
    ]  # fmt: skip
    return table("What was compared", columns, input_rows)


def overview(
    reconciled: Reconciled, notes: Iterable[str], *, width: int | None = None, file: Path | None = None
) -> list[str | DisplayTable]:
    """The report's parts: headline, notes, reconciliations, breaks to settle, closed breaks, sums by account and code.

    Accounts have their names in the user's books. `notes` are sentences. `width` and `file` are as for `open_breaks`.
    """
    result = totals.named(reconciled)
    tables = [open_breaks(result, width, file), closed(result), account_rows(result), codes(result)]
    return [headline(result), *notes, *reconciliations(result), *(table for table in tables if table.rows)]


def overview_text(result: Reconciled) -> str:
    """The overview as text for a terminal or a log."""
    return "\n\n".join(visible(block) if isinstance(block, str) else block.text() for block in _blocks(result))


def overview_html(result: Reconciled) -> str:
    """The overview as HTML for a notebook: paragraphs and captioned tables, without a script."""
    blocks = _blocks(result)
    return "".join(f"<p>{sentence(block)}</p>" if isinstance(block, str) else block.html() for block in blocks)


def _blocks(result: Reconciled) -> list[str | DisplayTable]:
    many = len(result.suggestions)
    to_look_at = f"{counted(many, 'suggestion')} to look at: result.suggestions" if many else ""
    ends = filter(None, (result.carry_note, to_look_at, result.sign_off, _GO_ON))
    return [*overview(result, result.notes), *ends]
