"""`workbench check-live`: what is left to do before going live."""

import sys
from pathlib import Path
from typing import Any

import click

from workbench.commands import FILE, gaps_option, show_page
from workbench.commands.service import write_out


@click.command("check-live")
@gaps_option
@click.option("--exam", type=FILE, help="The report of `workbench certify … --report REPORT.json`.")
@click.option(
    "--trace",
    "traces",
    multiple=True,
    type=FILE,
    help='The trace of your tests, as GET /sandbox/trace or bench.trace.save("trace.har") in Python gives it. '
    "Repeat the option for each page of a trace. Assumptions that the tests did not rely on are then not listed as "
    "open.",
)
@click.option(
    "--out", type=FILE, help="Write the list to this .md or .html file; without --out, it is printed as Markdown."
)
@click.option(
    "--letter", "letter_file", type=FILE, help="Write a letter to the provider about the open rows to this file."
)
def check_live(
    rows: dict[str, Any] | None, exam: Path | None, traces: tuple[Path, ...], out: Path | None, letter_file: Path | None
) -> None:
    """List what is left to do before real money moves.

    The list has forty items or fewer: what to change, ask, fix and watch, each with the evidence that ticks it off.
    What can cost money comes first. --gaps names the rows that your provider has answered, even those whose default is
    right; every other row counts as an assumption. The command works offline. What the files cannot show is marked "by
    hand".

    Exit status 0 when nothing is open, 1 when something is, 2 when a file is rejected.
    """
    from workbench.domain.gaps import Gaps
    from workbench.domain.reliance import relied_on
    from workbench.going_live import checklist, read_exam, read_trace
    from workbench.register import letter

    if out is not None and out.suffix not in {".md", ".html"}:
        raise click.BadParameter(f"{out} ends in neither .md nor .html.", param_hint="--out")
    trace = read_trace(*traces) if traces else None
    items = checklist(rows, read_exam(exam) if exam else None, trace)
    if letter_file:
        used = relied_on(trace or ())
        asked = (row for row in Gaps.chosen(rows).as_records() if row["name"] in items.guessed)
        write_out(letter_file, letter({**row, "used_by": used.get(row["name"], ())} for row in asked))
    if out is None:
        show_page(items.markdown())
    else:
        write_out(out, items.html() if out.suffix == ".html" else items.markdown())
        click.echo(f"{items.summary}.")
    sys.exit(1 if items.open else 0)
