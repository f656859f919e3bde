"""Results into files, each by its ending: a workbook, a page, or the table of breaks."""

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Final

from workbench.analysis import files
from workbench.analysis.report.page import write_page
from workbench.analysis.report.source import Reconciled
from workbench.analysis.report.whole import written_whole
from workbench.analysis.report.workbook import write_workbook
from workbench.analysis.shapes import BREAK
from workbench.errors import ReportRefused


def write_breaks(result: Reconciled, path: Path | str) -> None:
    """Write the breaks to a .csv or .parquet file: every column of BREAK, amounts in whole minor units.

    Text is written as it was found: a spreadsheet would run some of it, so people are given the workbook.
    Raises ReportRefused: the file cannot be written.
    """
    with written_whole(Path(path)) as unfinished:
        files.write(result.breaks, unfinished, BREAK)


WRITERS: Final[Mapping[str, Callable[[Reconciled, Path], None]]] = {
    ".xlsx": write_workbook,
    ".html": write_page,
    ".csv": write_breaks,
    ".parquet": write_breaks,
}
"""Ending → what writes it."""


def check(outs: Sequence[Path], inputs: Collection[Path]) -> None:
    """Look at where results are to go before there are any.

    Raises ReportRefused: an ending that is not known, a folder that is not there, one file for two
    results, or a file that is an input.
    """
    read = {each.resolve() for each in inputs}
    for place, out in enumerate(outs):
        if out.suffix.lower() not in WRITERS:
            raise ReportRefused(
                f"{out} ends in {out.suffix or 'nothing'}; results are written to {', '.join(WRITERS)}."
            )
        if not out.parent.is_dir():
            raise ReportRefused(f"{out} cannot be written: there is no folder {out.parent}.")
        if out.is_dir() or out.resolve() in read:
            raise ReportRefused(f"{out} cannot be written: it is {'a folder' if out.is_dir() else 'an input'}.")
        if out.resolve() in {each.resolve() for each in outs[:place]}:
            raise ReportRefused(f"{out} is named twice.")


def write(result: Reconciled, out: Path) -> None:
    """Write the results to a file, as its ending says. Raises ReportRefused: it cannot be written."""
    WRITERS[out.suffix.lower()](result, out)
