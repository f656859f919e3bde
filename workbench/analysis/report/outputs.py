"""Writes results to files by their endings: a workbook, a page, or the table of breaks."""

import csv
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Final, NamedTuple

import pandas as pd

from workbench.analysis import files
from workbench.analysis.frames import python_rows
from workbench.analysis.report import totals
from workbench.analysis.report.captions import HEADINGS, heading
from workbench.analysis.report.page import write_page
from workbench.analysis.report.totals import Reconciled
from workbench.analysis.report.workbook import write_workbook
from workbench.analysis.shapes import BREAK, SUGGESTION, Columns
from workbench.domain.money import major
from workbench.errors import ReportRefused
from workbench.visible import BLANKS, FORMULA_SIGNS, begins_as_formula

_BEGINS_AGAIN: Final = re.compile(rf"([;\t\r\n][\"{BLANKS}]*)([{FORMULA_SIGNS}]?)")
"""Where a cell may begin inside a text: if semicolons part cells, as in much of Europe, quotes in the middle of a line
keep nothing together. The pattern takes a run of blanks at once, or it would search from each blank to the end."""
_TEXTS: Final = ("string", "category")
_NOT_KEPT: Final = re.compile("0[0-9]+|[0-9]{16,}|[0-9]+[eE][0-9]+|[0-9]{1,4}(?:[-/.][0-9]{1,4}){1,2}")
"""Digits that a spreadsheet turns into another number, or a date: it drops a zero in front or the sixteenth digit."""
ANY: Final = "any"
"""The locale of any spreadsheet: whole minor units and days as 2026-01-31, between commas."""


class Locale(NamedTuple):
    """The delimiter, the decimal mark and the day format that spreadsheets of a country read."""

    delimiter: str
    decimal: str
    day: str


_BRITISH: Final = Locale(",", ".", "%d/%m/%Y")
_CONTINENTAL: Final = Locale(";", ",", "%d/%m/%Y")
LOCALES: Final[Mapping[str, Locale]] = {
    **dict.fromkeys(("en-ZM", "en-GB", "en-KE", "en-TZ", "en-UG", "en-MW", "en-BW"), _BRITISH),
    "en-US": Locale(",", ".", "%m/%d/%Y"),
    "en-ZA": Locale(";", ",", "%Y/%m/%d"),
    "de-DE": Locale(";", ",", "%d.%m.%Y"),
    **dict.fromkeys(("fr-FR", "fr-CD", "pt-PT", "pt-MZ", "pt-AO"), _CONTINENTAL),
}
"""The locales by name, as in Windows, whose settings Excel uses."""


def write_breaks(result: Reconciled, path: Path | str, *, excel: str | None = None) -> None:
    """Write the breaks to a .csv or .parquet file: every column of BREAK, amounts in whole minor units.

    Text is written as it was found, even if a spreadsheet would run it. With `excel` a .csv file begins with a UTF-8
    mark, and has an apostrophe before text that would be run; such a file is for people, not for programs. With one of
    LOCALES it also has that locale's delimiter, amounts in major units and days, the workbook's headings, an apostrophe
    before digits that would be changed, and no `proposal`; with ANY it has none of these.
    Raises ReportRefused: the file cannot be written, `excel` is given for another file than .csv, or no such locale.
    """
    target = Path(path)
    if excel and not is_csv(target):
        raise ReportRefused(f"{target} cannot be written with excel: only .csv files can.")
    if excel not in {None, ANY, *LOCALES}:
        raise ReportRefused(f"There is no locale {excel!r}; there are {', '.join(LOCALES)}.")
    local = LOCALES.get(excel or ANY)
    if local:
        result = totals.named(result)
    _write_frame(totals.settled(result.breaks) if local else result.breaks, BREAK, target, excel)


def _write_frame(frame: pd.DataFrame, shape: Columns, path: Path, excel: str | None) -> None:
    with files.written_whole(path) as unfinished:
        if local := LOCALES.get(excel or ANY):
            _write_local(frame, shape, unfinished, local)
        else:
            files.write(_disarmed(frame, shape) if excel else frame, unfinished, shape, marked=bool(excel))


def _write_local(frame: pd.DataFrame, shape: Columns, path: Path, locale: Locale) -> None:
    names = [name for name in shape if name != "proposal"]  # JSON is for programs
    currency = names.index("currency")

    def cell(name: str, value: str | int | date | None, code: str | None) -> str:
        if value is None:
            return ""
        if name.endswith("_minor") and isinstance(value, int):
            return f"{major(value, code):f}".replace(".", locale.decimal)
        if isinstance(value, date):
            return value.strftime(locale.day)
        return f"'{value}" if _NOT_KEPT.fullmatch(str(value)) and isinstance(value, str) else _quoted(str(value))

    with path.open("w", encoding="utf-8-sig", newline="") as file:
        made = csv.writer(file, delimiter=locale.delimiter)
        made.writerow(heading(name, HEADINGS if shape is BREAK else {}) for name in names)
        for row in python_rows(frame, *names):
            made.writerow(cell(name, value, row[currency]) for name, value in zip(names, row, strict=True))


def formulas(result: Reconciled) -> int:
    """Counts the cells of breaks and suggestions that a spreadsheet would run if it opened them as .csv files."""
    tables = ((result.breaks, BREAK), (result.suggestions, SUGGESTION))
    texts = [
        table[name].dropna().astype("string") for table, shape in tables for name, kind in shape.items()
        if kind in _TEXTS
    ]  # fmt: skip
    return sum(text != _quoted(text) for column in texts for text in column)


def _disarmed(frame: pd.DataFrame, shape: Columns) -> pd.DataFrame:
    """The rows, with an apostrophe wherever a cell would begin as a formula does: see _quoted."""
    kinds = {name: kind for name, kind in shape.items() if kind in _TEXTS}
    texts = {name: frame[name].astype("string").map(_quoted, na_action="ignore") for name in kinds}
    return frame.assign(**texts).astype(kinds)


def _quoted(text: str) -> str:
    kept = _BEGINS_AGAIN.sub(lambda found: f"{found[1]}'{found[2]}" if found[2] else found[1], text)
    return f"'{kept}" if begins_as_formula(text) else kept


WRITERS: Final[Mapping[str, Callable[[Reconciled, Path], None]]] = {
    ".xlsx": write_workbook,
    ".html": write_page,
    ".csv": write_breaks,
    ".parquet": write_breaks,
}
"""A file's ending → the function that writes the file."""


def check(outs: Sequence[Path], inputs: Collection[Path]) -> None:
    """Check the files to write before the work begins.

    Raises ReportRefused: an ending is unknown, a folder is missing, one file is named for two results, or a file is
    an input.
    """
    read = {path.resolve() for path in inputs}
    for out in outs:
        if WRITERS.get(out.suffix.lower()) is write_breaks and _beside(out).resolve() in {
            *read,
            *map(Path.resolve, outs),
        }:
            raise ReportRefused(f"{_beside(out)} cannot be written twice: the suggestions of {out} go there.")
    for place, out in enumerate(outs):
        if out.suffix.lower() not in WRITERS:
            known = ", ".join(WRITERS)
            raise ReportRefused(f"{out} ends in {out.suffix or 'nothing'}; results are written to {known}.")
        if not out.parent.is_dir():
            raise ReportRefused(f"{out} cannot be written: there is no folder {out.parent}.")
        if out.is_dir() or out.resolve() in read:
            raise ReportRefused(f"{out} cannot be written: it is {'a folder' if out.is_dir() else 'an input'}.")
        if out.resolve() in {path.resolve() for path in outs[:place]}:
            raise ReportRefused(f"{out} is named twice.")


def write(result: Reconciled, out: Path, *, excel: str | None = None, matches: bool = False) -> list[Path]:
    """Write the results to a file by its ending, and return the paths of the written files.

    `excel` is for .csv (see write_breaks), `matches` for .xlsx (see write_workbook).

    Suggestions go into a file of their own beside a table of breaks.
    Raises ReportRefused: a file cannot be written.
    """
    writer = WRITERS[out.suffix.lower()]
    if writer is not write_breaks:
        if writer is write_workbook:
            write_workbook(result, out, matches=matches)
        else:
            writer(result, out)
        return [out]
    excel = excel if is_csv(out) else None
    write_breaks(result, out, excel=excel)
    beside = _beside(out)
    # What an earlier run left there would be taken for this one's.
    if not len(result.suggestions) and not beside.exists():
        return [out]
    called = totals.named(result) if excel in LOCALES else result
    _write_frame(called.suggestions, SUGGESTION, beside, excel)
    return [out, beside]


def _beside(out: Path) -> Path:
    return out.with_name(f"{out.stem}-suggestions{out.suffix}")


def is_csv(out: Path) -> bool:
    """True for a file that a spreadsheet reads as text."""
    return out.suffix.lower() == files.CSV
