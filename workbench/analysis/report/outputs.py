"""Files of a reconciliation for other programs: the breaks as a table, and decided breaks as lines of a journal.

`write_results` chooses the writer by a file's ending.

The journal has one balanced entry for each decided break, in a general form and as three programs import it. The
columns are those that the vendors document: "Import audit trail transactions" of Sage 50 Accounts (Sage Knowledgebase,
UK), "Enter multiple manual journals using an import template" (Xero Central), and "Import journal entries" of
QuickBooks Online (QuickBooks Help, Intuit). Xero's page says how many lines a file may have, and asks for the name of a
tax rate: "Tax Exempt" exists in every new organisation and cannot be deleted ("Default tax rates", American edition;
the global edition has it too). The British edition calls such a rate "No VAT", the Australian one "BAS Excluded".
"""

import csv
import difflib
import io
import json
import re
import sys
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import date
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, Final

import pandas as pd

from workbench.analysis import files
from workbench.analysis.break_codes import BOOKS, TO_BOOK, UNKNOWN, WRITE_OFF, WRONG_REFERENCE
from workbench.analysis.frames import frame
from workbench.analysis.report import captions, totals
from workbench.analysis.report.page import write_page
from workbench.analysis.report.totals import Reconciled
from workbench.analysis.report.workbook import write_workbook
from workbench.analysis.shapes import BREAK, JOURNAL, SUGGESTION, Columns
from workbench.domain.money import major
from workbench.errors import ReportRefused
from workbench.visible import BLANKS, FORMULA_SIGNS, armed, begins_as_formula

XLSX, HTML = ".xlsx", ".html"
_BEGINS_AGAIN: Final = re.compile(rf"([;\t\r\n][\"{BLANKS}]*)([{FORMULA_SIGNS}]?)")
"""Matches the places in a text where a spreadsheet may begin a new cell; group 2 is a sign that begins a formula.

A spreadsheet that separates cells by semicolons, as in much of Europe, splits texts at semicolons even in quotes. The
pattern takes a run of blanks at once: a search that starts anew at each blank would be slow.
"""
_TEXTS: Final = ("string", "category")


def check_paths(outs: Sequence[Path], inputs: Collection[Path], journal: Path | None = None) -> None:
    """Checks the paths `outs` and `journal` (None for no journal) before the work begins; `inputs` are not overwritten.

    Raises ReportRefused: an ending is unknown, a folder is missing, a path is named twice, or a path is an input.
    """
    if journal is not None:
        _check_journal(journal)
        outs = [*outs, journal]
    read, endings = {path.resolve() for path in inputs}, (XLSX, HTML, files.CSV, files.PARQUET)
    for index, out in enumerate(outs):
        if out.suffix.lower() not in endings:
            known = ", ".join(endings)
            raise ReportRefused(f"{out} ends in {out.suffix or 'nothing'}; results are written to {known}.")
        if not out.parent.is_dir():
            raise ReportRefused(f"{out} cannot be written: there is no folder {out.parent}.")
        if out.is_dir() or out.resolve() in read:
            raise ReportRefused(f"{out} cannot be written: it is {'a folder' if out.is_dir() else 'an input'}.")
        if out.resolve() in {path.resolve() for path in outs[:index]}:
            raise ReportRefused(f"{out} is named twice.")
        if _is_table(out) and out != journal and _beside(out).resolve() in {*read, *map(Path.resolve, outs)}:
            raise ReportRefused(f"{_beside(out)} cannot be written twice: the suggestions of {out} go there.")


def write_results(result: Reconciled, out: Path, *, excel: bool = False, matches: bool = False) -> list[Path]:
    """Writes the results to a file, in the format of its ending, and returns the paths of the written files.

    With `matches`, a workbook also has every matched row. A .csv or .parquet file has the columns BREAK, amounts in
    whole minor units, and text exactly as in the input, even if a spreadsheet would run it as a formula; suggestions go
    into a second file beside it, `…-suggestions`. With `excel`, a .csv file begins with a UTF-8 mark, and text that a
    spreadsheet would run begins with an apostrophe; such a file is for people, not for programs. Raises ReportRefused:
    a file cannot be written.
    """
    if not _is_table(out):
        if out.suffix.lower() == XLSX:
            write_workbook(result, out, matches=matches)
        else:
            write_page(result, out)
        return [out]
    is_marked, beside = excel and is_csv(out), _beside(out)
    tables = [(out, totals.with_withdrawals(result.breaks, result.decisions), BREAK)]
    # What an earlier run left there would be taken for this one's.
    if len(result.suggestions) or beside.exists():
        tables.append((beside, result.suggestions, SUGGESTION))
    for path, rows, shape in tables:
        with files.written_whole(path) as unfinished:
            files.write(_armed_cells(rows, shape) if is_marked else rows, unfinished, shape, marked=is_marked)
    return [path for path, *_ in tables]


def _is_table(out: Path) -> bool:
    return out.suffix.lower() in {files.CSV, files.PARQUET}


def is_csv(out: Path) -> bool:
    """True for a path that ends in .csv, in upper or lower case."""
    return out.suffix.lower() == files.CSV


def _beside(out: Path) -> Path:
    return out.with_name(f"{out.stem}-suggestions{out.suffix}")


def formula_warning(result: Reconciled, outs: Sequence[Path]) -> str:
    """Warns of cells that a spreadsheet would run in `outs`, .csv files written without `excel`; empty if none is."""
    tables = ((result.breaks, BREAK), (result.suggestions, SUGGESTION)) if outs else ()
    texts = [
        table[name].dropna().astype("string") for table, shape in tables for name, kind in shape.items()
        if kind in _TEXTS
    ]  # fmt: skip
    many = sum(text != _quoted(text) for column in texts for text in column)
    subject = f"{' and '.join(out.name for out in outs)} has {captions.counted(many, 'cell')}"
    advice = "do not open the file in a spreadsheet, or write it with --excel."
    return f"{subject} that a spreadsheet would run as formulas: {advice}" if many else ""


def _armed_cells(frame: pd.DataFrame, shape: Columns) -> pd.DataFrame:
    """The rows, with an apostrophe before every text that a spreadsheet would run as a formula: see _quoted."""
    kinds = {name: kind for name, kind in shape.items() if kind in _TEXTS}
    texts = {name: frame[name].astype("string").map(_quoted, na_action="ignore") for name in kinds}
    return frame.assign(**texts).astype(kinds)


def _quoted(text: str) -> str:
    kept = _BEGINS_AGAIN.sub(lambda match: f"{match[1]}'{match[2]}" if match[2] else match[1], text)
    return f"'{kept}" if begins_as_formula(text) else kept


CHARGES, INTEREST, ROUNDING, SUSPENSE, WRITTEN_OFF = "charges", "interest", "rounding", "suspense", "written off"
AGAINST: Final[Mapping[str, tuple[str, int]]] = {
    "fee_raised": (CHARGES, -1), "fee_lowered": (CHARGES, 1), "rounded_up": (ROUNDING, 1),
    "rounded_down": (ROUNDING, -1),
}  # fmt: skip
"""Recipe of a proposed entry → its opposite account, and the sign of the entry's effect on the reconciled account.

The opposite account of all other recipes is suspense; if a rule gives the kind `interest`, it is interest.
"""


def journal(result: Reconciled, accounts: Mapping[str, str] | None = None, on: date | None = None) -> pd.DataFrame:
    """The journal lines (columns JOURNAL) for decided breaks, in whole minor units.

    A break that is written off, or is accepted or expected and changes the books, is posted to the account that was
    reconciled, under the break's key and on its date. The opposite line is posted to `charges`, `interest`, `rounding`,
    `suspense` or `written off`; an amount and its fee have a line each. `accounts` has the codes of your books for any
    of these accounts. `on` is the date of all entries, such as a day of the open period; by default each entry has the
    date of its break. A break has no lines if it moves no money, has no key, waits for the other side, or no entry
    settles it. Raises ReportRefused: `accounts` names an account to which no entry is posted.
    """
    codes, rows = accounts or {}, []
    known = [*totals.named(result).proof["account"], CHARGES, INTEREST, ROUNDING, SUSPENSE, WRITTEN_OFF]
    if odd := [name for name in codes if name not in known]:
        near = difflib.get_close_matches(odd[0], known, n=1)
        hint = f"{f'Did you mean {near[0]}? ' if near else ''}The names are {', '.join(known)}."
        raise ReportRefused(f"No account of the journal is called {odd[0]!r}.", hint=hint)
    for row in _decided(totals.named(result)):
        if _without_entry(row):
            continue
        decision = totals.in_words(row["verdict"], None, row["why"] or row["rule"])
        text = " ".join((row["description"] or "").split()) or row["code"]
        line = {"entry": row["id"], "date": on or row["business_date"], "currency": row["currency"],
                "narrative": armed(f"{text} ({decision})")}  # fmt: skip
        for posted, reference, minor in _lines(row):
            debit, credit = max(minor, 0), max(-minor, 0)
            amounts = {"debit_minor": debit, "credit_minor": credit, "reference": reference}
            rows.append({**line, "account": codes.get(posted, posted), **amounts})
    return frame(rows, JOURNAL)


def _lines(row: Mapping[str, Any]) -> list[tuple[str, str, int]]:
    """The account, the reference and the amount (positive for a debit) of each line that books a break.

    In the reconciled account, the gross amount and the fee have a line each, since the statement's row states both. A
    movement under a wrong reference is reversed, and booked again under the statement's reference.
    """
    account, key, bodies = row["account"], row["key"], json.loads(row["proposal"] or "[]")
    booked, stated, lines = row["ledger_minor"] or 0, row["statement_minor"], list[tuple[str, str, int]]()
    if row["code"] == WRONG_REFERENCE:
        lines, booked = [(account, bodies[0]["reference"], -booked)], 0
    fee = 0 if stated is None else (row["statement_fee_minor"] or 0) - bool(booked) * (row["ledger_fee_minor"] or 0)
    lines += [(account, key, (stated or 0) - booked + fee), (account, key, -fee)]
    parts, other_account = Counter[str](), SUSPENSE
    for body in bodies if row["verdict"] != WRITE_OFF else ():
        other_account = INTEREST if body.get("description", "").startswith(f"{INTEREST}: ") else other_account
        if body["recipe"] in AGAINST:
            against, sign = AGAINST[body["recipe"]]
            parts[against] -= sign * body["amount_minor"]
        elif body["recipe"] in UNKNOWN and not booked:
            parts[CHARGES] += body["fee_minor"]
    parts[WRITTEN_OFF if row["verdict"] == WRITE_OFF else other_account] = row["variance_minor"] - parts.total()
    return [line for line in (*lines, *((name, key, minor) for name, minor in parts.items())) if line[-1]]


def _decided(result: Reconciled) -> Iterator[dict[str, Any]]:
    return captions.records(result.breaks[result.breaks["verdict"].notna()])


def _without_entry(row: Mapping[str, Any]) -> str | None:
    """The reason why a decided break has no journal entry, as words that follow a number; None if it has an entry."""
    verdict = row["verdict"]
    # A write-off is booked for either balance, any other verdict only if the break adjusts the books' balance.
    waits = verdict in TO_BOOK and verdict != WRITE_OFF and totals.item_of(row["code"], row["side"])[1] != BOOKS
    reasons = {
        "without an amount": not _lines(row),
        "ignored, matched or tolerated": verdict not in TO_BOOK,
        "for the other side to book": waits,
        "that no known entry settles": not row["proposal"],
        "without a key": not row["key"],
    }
    return next((reason for reason, holds in reasons.items() if holds), None)


def journal_note(result: Reconciled, form: str = "general", accounts: Mapping[str, str] | None = None) -> str:
    """A note on decided breaks without a journal entry, by reason, and on references that begin like a formula.

    A spreadsheet would run such a reference. If `form` is that of an accounting program, such as `xero`, the note also
    lists the journal's accounts without a code in `accounts`. Empty if there is nothing to note.
    """
    decided = [*_decided(result)]
    reasons = Counter(map(_without_entry, decided))
    without_entry = ", ".join(f"{count:,} {reason}" for reason, count in reasons.items() if reason)
    risky = sum(begins_as_formula(row["key"]) for row in decided if not _without_entry(row))
    posted = dict.fromkeys(journal(result)["account"] if form != "general" else ())
    uncoded = totals.listed([name for name in posted if name not in (accounts or {})])
    sentences = {
        f"The journal has no code for {uncoded}: give each with --journal-account NAME=CODE.": uncoded,
        "Xero takes no manual journal on a bank account: make the reconciled account a current asset there, or give "
        "the code of a clearing account.": form == "xero" and posted,
        f"Decided breaks that have no entry in the journal: {without_entry}.": without_entry,
        f"Import the journal, and do not open it in a spreadsheet, which would run {risky:,} of its references.": risky,
    }
    return " ".join(text for text, is_so in sentences.items() if is_so)


FORMS: Final[Mapping[str, Mapping[str, str]]] = {
    "general": {
        "date": "{date}", "account": "{account}", "debit": "{debit}", "credit": "{credit}", "currency": "{currency}",
        "narrative": "{narrative} {entry}", "reference": "{reference}",
    },
    # Journals have no customer or supplier, and T9 is the tax code of what VAT does not touch.
    "sage": {
        "Type": "{type}", "Account Reference": "", "Nominal A/C Ref": "{account}", "Department Code": "0",
        "Date": "{date:%d/%m/%Y}", "Reference": "{reference:.30}", "Details": "{details} {entry}",
        "Net Amount": "{amount}", "Tax Code": "T9", "Tax Amount": "0.00",
    },
    # Rows of one narration and date are one journal, so it names the entry; a credit is below zero.
    "xero": {
        "*Narration": "{narrative} {entry}", "*Date": "{date:%d/%m/%Y}", "Description": "{reference}",
        "*AccountCode": "{account}", "*TaxRate": "Tax Exempt", "*Amount": "{signed}",
    },
    "quickbooks": {
        "Journal No.": "{entry}", "Journal Date": "{date:%d/%m/%Y}", "Account Name": "{account}",
        "Description": "{reference} {narrative}", "Debits": "{debit}", "Credits": "{credit}",
    },
}  # fmt: skip
"""Form → (heading under which the program imports a value → pattern of its cells).

Amounts are in major units with a decimal point. Dates are 2026-01-31 in the form `general`, 31/01/2026 in others.
"""
_DETAILS: Final = 45
"""The most characters of a narrative, beside the id of the break, in Sage's column `details`, which holds 60."""
_MOST: Final = {"xero": 300}
"""Form → the most lines that one file may have."""


_LONGEST_ENTRY: Final = 5
"""The most lines of an entry: up to three in the reconciled account, and those of the opposite accounts."""


def write_journal(
    result: Reconciled,
    path: Path | str,
    form: str = "general",
    *,
    accounts: Mapping[str, str] | None = None,
    on: date | None = None,
) -> list[Path]:
    """Writes the lines of `journal` to a .csv file in one of FORMS, and returns the paths of the written files.

    `accounts` and `on` are as for `journal`. If the program accepts fewer lines in one file, the further entries go
    into files beside it: `journal-2.csv` follows `journal.csv`. Such files of an earlier, longer `journal.csv` are
    deleted. Texts are written exactly, since a program imports them: a spreadsheet may run a text that begins like a
    formula. Raises ReportRefused: there is no such form, the path is no .csv or cannot be written, or the form has no
    column for the currency (only `general` has one) and the lines have several currencies.
    """
    _check_journal(Path(path))
    if form not in FORMS:
        raise ReportRefused(f"There is no form {form!r} of a journal; there are {', '.join(FORMS)}.")
    lines = journal(result, accounts, on)
    currencies = sorted(lines["currency"].dropna().unique())
    if len(currencies) > 1 and form != "general":
        raise ReportRefused(f"A journal for {form} has one currency, and these entries are in {', '.join(currencies)}.")
    parts: list[list[list[str]]] = [[]]
    for _, entry in groupby(map(_in_major, captions.records(lines)), itemgetter("entry")):
        rows = [[pattern.format_map(line) for pattern in FORMS[form].values()] for line in entry]
        if len(parts[-1]) + len(rows) > _MOST.get(form, sys.maxsize):
            parts.append([])
        parts[-1] += rows
    whole, paths = Path(path), []
    earlier_parts = _further_parts(whole)
    for part, rows in enumerate(parts, start=1):
        paths.append(whole if part == 1 else whole.with_stem(f"{whole.stem}-{part}"))
        with files.written_whole(paths[-1]) as unfinished, unfinished.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([[*FORMS[form]], *rows])
    for earlier in earlier_parts:
        if earlier not in paths:
            try:
                earlier.unlink()
            except OSError as error:
                text = f"{earlier} is of an earlier journal and cannot be deleted: {error.strerror}."
                raise ReportRefused(text) from None
    return paths


def _further_parts(whole: Path) -> list[Path]:
    """The existing files `…-2.csv`, `…-3.csv` and so on that continue the journal in the file `whole`.

    A file is returned only if the file before it has no room for another entry. Otherwise it belongs to another
    journal, such as that of another month.
    """
    parts, most = [whole], {(*FORMS[form],): most for form, most in _MOST.items()}
    while True:
        after = whole.with_stem(f"{whole.stem}-{len(parts) + 1}")
        try:
            tables = [[*csv.reader(io.StringIO(file.read_text("utf-8")))] for file in (parts[-1], after)]
        except (OSError, ValueError, csv.Error):
            return parts[1:]
        (head, *rows), (then, *_) = ([*map(tuple, lines)] or [()] for lines in tables)
        if head != then or len(rows) <= most.get(head, sys.maxsize) - _LONGEST_ENTRY:
            return parts[1:]
        parts.append(after)


def _check_journal(path: Path) -> None:
    if not is_csv(path):
        raise ReportRefused(f"A journal is a .csv file, and {path.name} is not one.")


def _in_major(line: Mapping[str, Any]) -> dict[str, Any]:
    """A journal line as the values that the patterns in FORMS name, with amounts as text in major units.

    One of `debit` and `credit` is empty.
    """
    debit, credit = (
        f"{major(line[name], line['currency']):f}" if line[name] else "" for name in ("debit_minor", "credit_minor")
    )
    amounts = {"debit": debit, "credit": credit, "amount": debit or credit, "signed": debit or f"-{credit}"}
    details = line["narrative"]
    if len(details) > _DETAILS:
        kept = details[: _DETAILS - len("...)")]
        details = f"{kept.rpartition(' ')[0] or kept}..."
        details += ")" * (details.rfind("(") > details.rfind(")"))
    others = {"details": details, "currency": line["currency"] or "", "type": "JD" if debit else "JC"}
    return {**line, **amounts, **others}
