"""The short tables of a reconciliation, for a terminal and for the page: accounts, codes, ages, proof, inputs."""

from collections.abc import Mapping
from typing import Any

from workbench.analysis.breaks import INVALID
from workbench.analysis.frames import python_rows
from workbench.analysis.report import totals
from workbench.analysis.report.source import Reconciled
from workbench.analysis.report.workbook import PROOF_HEADINGS, heading
from workbench.domain.masking import shortened
from workbench.domain.money import major_text
from workbench.render import Column, Table, percent, table

_FEW = 5
_REASON = 200
_CLOSINGS = ("ledger_minor", "statement_minor")


def _numbers(*headings: str) -> list[str | Column]:
    return [Column(each, numeric=True) for each in headings]


def accounts(result: Reconciled) -> Table:
    """How much of each account agrees, counting the rows of both sides."""
    columns = [
        "account", *_numbers("ledger rows", "statement rows", "matched", "timing", "in breaks"),
        *_numbers("matched by count", "by net value", "net variance"), "currency",
    ]  # fmt: skip
    made = [
        (
            each.account, f"{each.ledger_rows:,}", f"{each.statement_rows:,}", f"{each.matched_rows:,}",
            f"{each.timing_rows:,}", f"{each.all_rows - each.matched_rows - each.timing_rows:,}",
            percent(each.matched_rows, each.all_rows), percent(each.matched_minor, each.value_minor),
            major_text(each.variance_minor, each.currency, signed=True), each.currency,
        ) for each in totals.by_account(result)
    ]  # fmt: skip
    return table("Rows of each account on both sides, and how many of them agree", columns, made)


def codes(result: Reconciled) -> Table:
    """How many breaks there are of each code, and by how much they move the balances apart."""
    columns = ["code", *_numbers("breaks", "rows", "ledger has more", "statement has more", "variance"), "currency"]
    made = [
        (
            each.code, f"{each.breaks:,}", f"{each.rows:,}", major_text(each.up_minor, each.currency, signed=True),
            major_text(each.down_minor, each.currency, signed=True),
            major_text(each.up_minor + each.down_minor, each.currency, signed=True), each.currency,
        ) for each in totals.by_code(result)
    ]  # fmt: skip
    return table("Breaks by code, net of fees", columns, made)


def unusable(result: Reconciled) -> Table:
    """The first rows that cannot be used, each with the reason."""
    bad = result.breaks[result.breaks["code"] == INVALID]
    rows = python_rows(bad.head(_FEW), "side", "statement", "line", "entry", "reason")
    made = [
        (
            side if side == "ledger" else file,
            f"{line or entry or ''}",
            shortened(" ".join(reason.split()), _REASON, counts_mark=False),
        )
        for side, file, line, entry, reason in rows
    ]
    more = f", the first {_FEW} of {len(bad):,}" if len(bad) > _FEW else ""
    return table(f"Rows that cannot be used{more}", ["of", "line or entry", "reason"], made)


def ageing(result: Reconciled, currency: str) -> Table:
    """How old the breaks are, for the accounts in one currency."""
    return _nets("Breaks by age", "age in days", totals.by_bucket(result, currency), currency)


def days(result: Reconciled, currency: str) -> Table:
    """How far the sides are apart on each business date, for the accounts in one currency."""
    return _nets("Breaks by business date", "business date", totals.by_day(result, currency), currency)


def _nets(caption: str, heading: str, found: Mapping[Any, totals.Net], currency: str) -> Table:
    columns = [heading, *_numbers("breaks", "ledger has more", "statement has more")]
    made = [
        (str(name), f"{net.breaks:,}", *(major_text(minor, currency, signed=True) for minor in net[1:]))
        for name, net in found.items()
    ]
    return table(f"{caption}, net of fees, in {currency}", columns, made)


def proof(result: Reconciled) -> Table:
    """Ledger closing less statement closing, and what it is made of; what is zero everywhere is left out."""
    always = (*_CLOSINGS, "difference_minor", "breaks_minor", "unexplained_minor")
    names = [
        str(name) for name in result.proof.columns
        if str(name).endswith("_minor") and (name in always or result.proof[name].any())
    ]  # fmt: skip
    columns = ["account", *_numbers(*(heading(name, PROOF_HEADINGS) for name in names)), "currency", "holds"]
    signed = [name not in _CLOSINGS for name in names]
    made = [
        (account, *(major_text(minor, currency, signed=sign) for sign, minor in zip(signed, minors, strict=True)),
         currency, "yes" if holds else "no")
        for account, currency, holds, *minors in python_rows(result.proof, "account", "currency", "holds", *names)
    ]  # fmt: skip
    return table("Proof: closing balances and what sets them apart", columns, made)


def inputs(result: Reconciled) -> Table:
    """What was compared, each file with the hash of its bytes."""
    columns = ["side", "name", *_numbers("rows"), "account", "from", "to", "SHA-256"]
    names = ("side", "name", "rows", "account", "first_date", "last_date", "sha256")
    made = [
        (side, name or "", f"{count:,}", account or "", *("" if day is None else day.isoformat() for day in period),
         sha256 or "not a file")
        for side, name, count, account, *period, sha256 in python_rows(result.inputs, *names)
    ]  # fmt: skip
    return table("What was compared", columns, made)
