"""The commands of `workbench`. Slow imports are postponed until a command runs."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import click

from workbench.errors import StatementRefused
from workbench.resources import read_toml
from workbench.text.render import LONGEST, Tabular, terminal_width, wrapped
from workbench.visible import pasted

PATH: Final = click.Path(path_type=Path)
FILE: Final = click.Path(path_type=Path, dir_okay=False)
PLACE: Final = click.Path(path_type=str, dir_okay=False)
"""A file's path, or a database address, which a pathlib path would alter."""
PORT: Final = click.IntRange(0, 65_535)
FOLDER: Final = click.Path(path_type=Path, file_okay=False)


def _rows_in(_ctx: click.Context, _option: click.Parameter, path: Path | None) -> dict[str, Any] | None:
    from workbench.domain.gaps import REGISTER

    if path is None:
        return None
    try:
        rows = read_toml(path.read_bytes())
    except (OSError, ValueError) as error:
        fault = f"cannot be read: {error.strerror}" if isinstance(error, OSError) else error
        raise click.BadParameter(f"{path} {fault}.", param_hint="--gaps") from None
    known = {row.name for row in REGISTER}
    if tables := [name for name, value in rows.items() if isinstance(value, dict) and name not in known]:
        message = f"{path} has a table [{tables[0]}]; put rows at the top level, such as: prompt_timeout_s = 60"
        raise click.BadParameter(message, param_hint="--gaps")
    return rows


gaps_option: Final = click.option(
    "--gaps",
    "rows",
    type=FILE,
    callback=_rows_in,
    help="A TOML file with rows of the register, such as: prompt_timeout_s = 60.",
)


def show(*paragraphs: str | Tabular) -> None:
    """Prints tables and sentences with empty lines between them, wrapped to the terminal's width."""
    width = terminal_width()
    most = width and min(width, LONGEST)
    texts = [wrapped(part, most) if isinstance(part, str) else part.text(width) for part in paragraphs]
    click.echo("\n\n".join(filter(None, texts)))


def show_page(markdown: str) -> None:
    """Prints a page in Markdown; on a terminal, with tables in columns, wrapped lines, and links as commands."""
    from workbench.sandbox.openapi.markdown import in_lines

    width = terminal_width(only_of_terminal=True)
    click.echo(in_lines(markdown, width, _reached_by) if width else markdown, nl=False)


def _reached_by(href: str) -> str | None:
    """The command that prints the page at a link's address `href`; a web address as it is; None for any other."""
    from workbench import resources

    path = Path(href.partition("#")[0])
    if path.suffix == ".md" and path.stem in {*resources.guide_paths(), resources.interface_path().stem}:
        return f"`workbench docs {path.stem}`"
    return href if "://" in href else None


_IN_PYTHON: Final = (
    (r", or draft_layout\(…\) in Python|, or the query itself| ledger_columns\(\) shows them all\.", ""),
    (
        r"pass layout=dataclasses\.replace.*? decimal=','",
        "draft one of your own with workbench layout, and name it with --layout",
    ),
    (r"\bquery='([^']*)'", r"--query \1"),
)
_OF_A_LEDGER: Final = (
    (r"\blayout='([^']*)'", r"--ledger-layout \1"),
    (r"\bdate_format='([^']*)'", r'dates = ["\1"] in the --ledger-layout'),
    (r"Pass account='…', or write (.*) in its layout", r"Write \1 in the --ledger-layout"),
)
_OF_A_STATEMENT: Final = (
    (r"\blayout='([^']*)'", r"--layout \1"),
    (r"\bdate_format='([^']*)'", r"--date-format \1"),
    (r"\baccount='…'", "--account NAME"),
)


@contextmanager
def said_as_options(file: str | Path, *, ledger: bool = False) -> Iterator[None]:
    """In the block, adapts the message of a StatementRefused about `file` to the command line.

    The message then has the file's path, and names options instead of Python arguments: those for the ledger, if
    `ledger`, otherwise those for a statement.
    """
    try:
        yield
    except StatementRefused as wrong:
        texts = [wrong.message, wrong.hint]
        for pattern, instead in (*_IN_PYTHON, *(_OF_A_LEDGER if ledger else _OF_A_STATEMENT)):
            texts = [re.sub(pattern, instead, text) for text in texts]
        path = Path(file)
        wrong.hint = texts[1].replace(f" {pasted(Path(path.name))} --out ", f" {pasted(path)} --out ")
        wrong.say(texts[0])
        raise
