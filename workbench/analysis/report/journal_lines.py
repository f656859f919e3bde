"""Journal lines for decided breaks: one balanced entry for each, in a general form and as three programs import it.

The columns are those of the vendors' own pages: "Import audit trail transactions" of Sage 50 Accounts (Sage
Knowledgebase, UK), "Enter multiple manual journals using an import template" (Xero Central), and "Import journal
entries" of QuickBooks Online (QuickBooks Help, Intuit). Xero's page says how many lines a file may have, and asks for
the name of a tax rate: "Tax Exempt" is there from the start and cannot be deleted ("Default tax rates" of the American
edition; the global one has it too). In the United Kingdom the like is called "No VAT", in Australia "BAS Excluded".
"""

import csv
import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Final, NamedTuple

import pandas as pd

from workbench.analysis.break_codes import BOOKS, VERDICTS
from workbench.analysis.files import CSV, written_whole
from workbench.analysis.frames import frame, python_rows
from workbench.analysis.report.bank_reconciliation import item_of
from workbench.analysis.report.totals import Reconciled, named
from workbench.analysis.shapes import JOURNAL
from workbench.domain.money import major
from workbench.errors import ReportRefused
from workbench.visible import begins_as_formula

CHARGES, ROUNDING, SUSPENSE, WRITTEN_OFF = "charges", "rounding", "suspense", "written off"
AGAINST: Final[Mapping[str, tuple[str, int]]] = {
    "fee_raised": (CHARGES, -1), "fee_lowered": (CHARGES, 1), "rounded_up": (ROUNDING, 1),
    "rounded_down": (ROUNDING, -1),
}  # fmt: skip
"""The recipe of a proposal → the account that its entry is posted against, and the sign of its effect on the books.

What other recipes book goes against suspense.
"""
_WRITE_OFF: Final = "write_off"
_BOOKED: Final = ("accept", "expected")
"""The verdicts that are booked where the books have to change; a break that is written off is always booked."""
_JUDGED: Final = ("verdict", "code", "side", "variance_minor", "proposal", "key")
_READ: Final = (*_JUDGED, "id", "account", "currency", "business_date", "why")


def journal(result: Reconciled, accounts: Mapping[str, str] | None = None, on: date | None = None) -> pd.DataFrame:
    """The entries for decided breaks, in the shape JOURNAL, in whole minor units.

    A break that is written off, or is accepted or expected and changes the books, is posted to the account that was
    reconciled, under the break's key and on its date. Its other line goes against `charges`, `rounding`, `suspense` or
    `written off`; a difference of both the amount and the fee has a line for each. `accounts` has the codes of your
    books for any of these accounts; `on` is the day of all entries, such as a day of the open period. A break has no
    line if it moves nothing, has no key, waits for the other side, or no entry settles it.
    """
    codes, rows = accounts or {}, []
    for *judged, name, account, currency, day, why in python_rows(named(result).breaks, *_READ):
        if _without_entry(*judged):
            continue
        verdict, code, _, variance, proposal, key = judged
        against = {WRITTEN_OFF: variance} if verdict == _WRITE_OFF else _against(proposal, variance)
        told = f"{VERDICTS.get(verdict, verdict)}{f': {why}' if why else ''}"
        line = {"entry": name, "date": on or day, "currency": currency, "reference": key,
                "narrative": f"{code} {name} {told}"}  # fmt: skip
        # The ledger has too much where the variance is positive: the account is credited.
        for posted, minor in ((account, -variance), *against.items()):
            debit, credit = max(minor, 0), max(-minor, 0)
            rows.append({**line, "account": codes.get(posted, posted), "debit_minor": debit, "credit_minor": credit})
    return frame(rows, JOURNAL)


def _against(proposal: str, variance: int) -> Mapping[str, int]:
    """The accounts that a proposal (JSON) is posted against, each with its part of the variance."""
    parts = Counter[str]()
    for body in json.loads(proposal):
        if body["recipe"] in AGAINST:
            account, sign = AGAINST[body["recipe"]]
            parts[account] -= sign * body["amount_minor"]
    parts[SUSPENSE] = variance - parts.total()
    return {account: minor for account, minor in parts.items() if minor}


def _without_entry(
    verdict: str | None, code: str, side: str, variance: int, proposal: str | None, key: str | None
) -> str | None:
    """The reason for which a break has no journal entry, in words that follow a count; None if it has an entry."""
    reasons = {
        "undecided": verdict is None,
        "without an amount": not variance,
        "ignored, matched or tolerated": verdict not in {_WRITE_OFF, *_BOOKED},
        "for the other side to book": verdict in _BOOKED and item_of(code, side)[1] != BOOKS,
        "that no known entry settles": not proposal,
        "without a key": not key,
    }
    return next((reason for reason, holds in reasons.items() if holds), None)


def note(result: Reconciled) -> str:
    """Counts decided breaks without a journal entry, by reason, and references that a spreadsheet would run."""
    decided = [*python_rows(result.breaks[result.breaks["verdict"].notna()], *_JUDGED)]
    reasons = Counter(_without_entry(*row) for row in decided)
    booked = [row[-1] for row in decided if not _without_entry(*row)]
    left = ", ".join(f"{count:,} {reason}" for reason, count in reasons.items() if reason)
    risky = sum(map(begins_as_formula, booked))
    told = {
        f"Decided breaks that have no entry in the journal: {left}.": left,
        f"Import the journal, and do not open it in a spreadsheet, which would run {risky:,} of its references.": risky,
    }
    return " ".join(text for text, is_so in told.items() if is_so)


class Entry(NamedTuple):
    """A line of JOURNAL, its amounts as text in major units; either debit or credit is empty."""

    entry: str
    date: date
    account: str
    debit: str
    credit: str
    currency: str
    narrative: str
    reference: str

    @property
    def amount(self) -> str:
        """The amount without its side."""
        return self.debit or self.credit


class Form(NamedTuple):
    """The headings under which a program imports lines, a line's cells, and the most lines that one file may have."""

    headings: Sequence[str]
    cells: Callable[[Entry], Sequence[str]]
    most: int | None = None


def _british(day: date) -> str:
    return day.strftime("%d/%m/%Y")


FORMS: Final[Mapping[str, Form]] = {
    "general": Form(
        ("date", "account", "debit", "credit", "currency", "narrative", "reference"),
        lambda line: (line.date.isoformat(), *line[2:]),
    ),
    # Journals have no customer or supplier, and T9 is the tax code of what VAT does not touch.
    "sage": Form(
        ("Type", "Account Reference", "Nominal A/C Ref", "Department Code", "Date", "Reference", "Details",
         "Net Amount", "Tax Code", "Tax Amount"),
        lambda line: ("JD" if line.debit else "JC", "", line.account, "0", _british(line.date), line.reference[:30],
                      line.narrative[:60], line.amount, "T9", "0.00"),
    ),
    # Rows of one narration and date are one journal; a credit is below zero.
    "xero": Form(
        ("*Narration", "*Date", "Description", "*AccountCode", "*TaxRate", "*Amount"),
        lambda line: (line.narrative, _british(line.date), line.reference, line.account, "Tax Exempt",
                      line.debit or f"-{line.credit}"),
        300,
    ),
    "quickbooks": Form(
        ("Journal No.", "Journal Date", "Account Name", "Description", "Debits", "Credits"),
        lambda line: (line.entry, _british(line.date), line.account, f"{line.reference} {line.narrative}", line.debit,
                      line.credit),
    ),
}  # fmt: skip
"""Forms by name. Amounts are in major units with a point, days as 2026-01-31 in general and as 31/01/2026 elsewhere."""


def write_journal(
    result: Reconciled,
    path: Path | str,
    form: str = "general",
    *,
    accounts: Mapping[str, str] | None = None,
    on: date | None = None,
) -> list[Path]:
    """Write the lines of `journal` to a .csv file in one of FORMS, and return the paths of the written files.

    If the program takes fewer lines in one file, further entries go into files beside it: `journal-2.csv` follows
    `journal.csv`. Texts are exact, since they are imported: a spreadsheet may run a text that begins as a formula does.
    Raises ReportRefused: there is no such form, the file is no .csv or cannot be written, or a form without a column
    for the currency (all but the general form) would mix currencies.
    """
    if Path(path).suffix.lower() != CSV:
        raise ReportRefused(f"A journal is a .csv file, and {Path(path).name} is not one.")
    if form not in FORMS:
        raise ReportRefused(f"There is no form {form!r} of a journal; there are {', '.join(FORMS)}.")
    lines = journal(result, accounts, on)
    currencies = sorted(lines["currency"].dropna().unique())
    if len(currencies) > 1 and form != "general":
        raise ReportRefused(f"A journal for {form} has one currency, and these entries are in {', '.join(currencies)}.")
    headings, cells, most = FORMS[form]
    parts: list[list[Sequence[str]]] = [[]]
    for _, entry in groupby(python_rows(lines, *JOURNAL), itemgetter(0)):
        rows = []
        for name, day, account, debit, credit, currency, *texts in entry:
            debit_, credit_ = (f"{major(minor, currency):f}" if minor else "" for minor in (debit, credit))
            rows.append(cells(Entry(name, day, account, debit_, credit_, currency, *texts)))
        if most and len(parts[-1]) + len(rows) > most:
            parts.append([])
        parts[-1] += rows
    whole, paths = Path(path), []
    for part, rows in enumerate(parts, start=1):
        paths.append(whole if part == 1 else whole.with_stem(f"{whole.stem}-{part}"))
        with written_whole(paths[-1]) as unfinished, unfinished.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([headings, *rows])
    return paths
