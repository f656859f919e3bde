"""`workbench run`: notebooks executed headlessly, with a report."""

import os
import sys
from pathlib import Path

import click


@click.command()
@click.argument("notebooks", nargs=-1, type=click.Path(path_type=Path))
@click.option(
    "-p",
    "--parameter",
    "parameters",
    nargs=2,
    multiple=True,
    metavar="NAME VALUE",
    help="Set a parameter; may be repeated.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("executed"),
    show_default=True,
    help="Where the executed notebooks, their pages and junit.xml go.",
)
@click.option(
    "--jobs",
    type=click.IntRange(min=1),
    default=min(2, os.cpu_count() or 1),
    show_default=True,
    help="How many notebooks at a time.",
)
@click.option("--solutions", is_flag=True, help="Do the exercises in them; each check must say that it is done.")
def run(
    notebooks: tuple[Path, ...], parameters: tuple[tuple[str, str], ...], out: Path, jobs: int, *, solutions: bool
) -> None:
    """Execute NOTEBOOKS, or the shipped ones, from top to bottom.

    Exit status 0 when every cell ran, 1 when one failed, 2 when they cannot be run as asked or the run was
    interrupted.
    """
    from workbench import resources, runner

    chosen = list(notebooks) or resources.notebooks()
    results = runner.run(chosen, parameters=dict(parameters), out=out, jobs=jobs, solutions=solutions)
    sys.exit(0 if all(each.passed for each in results) else 1)
