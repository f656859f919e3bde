"""`workbench layout` drafts and checks the layout of a statement; options name layouts for statements."""

import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from workbench.commands import FILE, FOLDER, said_as_options, show
from workbench.errors import StatementRefused
from workbench.visible import pasted, visible

if TYPE_CHECKING:
    from workbench.analysis.statements import Check

LAYOUTS_HELP: Final = "A folder of layouts (.toml files), tried before the shipped ones."


@click.command()
@click.argument("file", type=FILE)
@click.option("--out", type=FILE, metavar="LAYOUT.toml", help="Write the draft to this file instead of printing it.")
@click.option("--replace", is_flag=True, help="Overwrite an existing layout.")
@click.option("--check", is_flag=True, help="Show how ten rows are read, and which rows are wrong.")
@click.option("--ledger", is_flag=True, help="FILE is your own ledger, in which a debit is money that comes in.")
@click.option("--layout", metavar="LAYOUT", help="With --check: the layout, a name or a .toml file.")
@click.option("--layouts", metavar="FOLDER", type=FOLDER, help=LAYOUTS_HELP)
@click.option("--account", metavar="NAME", help="With --check: the ledger account, if the file does not name it.")
@click.option("--date-format", metavar="FORMAT", help="With --check: how the file writes dates, if that is unclear.")
def layout(file: Path, out: Path | None, *, replace: bool, check: bool, ledger: bool, **reading: Any) -> None:  # noqa: ANN401  --layout to --date-format
    """Draft or check the layout of FILE, a statement or a ledger.

    The draft declares what the rows prove, and names the row that proves it. What the rows leave open is a comment
    that begins with "# ?": decide it yourself. --check reads FILE with the layout that --layout names. Without
    --layout, the command takes the layout that fits the headings of FILE, or else the draft.

    Exit status 0 when the draft is written, or when every row can be read and the balances agree; 1 when a row of a
    statement cannot be read or a balance does not agree; 2 when the file, or a row of a ledger, cannot be read.
    """
    from workbench.analysis.statements import checked, draft_layout

    given = [f"--{name.replace('_', '-')}" for name, value in reading.items() if value is not None]
    if check and (out or replace):
        raise click.UsageError("--check writes nothing: use it without --out and --replace.")
    if replace and out is None:
        raise click.UsageError("--replace needs --out.")
    if not check and given:
        raise click.UsageError(f"{' and '.join(given)} {'is' if len(given) == 1 else 'are'} for --check.")
    if check and ledger:
        _check_ledger(file, **reading)
        return
    if check:
        with ends_with_next(file), said_as_options():
            try:
                found = checked(file, **reading)
            except StatementRefused as wrong:
                if wrong.facts.get("readings"):
                    first, second = wrong.facts["formats"]
                    command = next_step("layout", file, "--check", *_given(reading), "--date-format", first)
                    wrong.hint = f"{command} (or {shlex.quote(second)})"
                    wrong.say(wrong.message)
                raise
        show(found)
        click.echo(_after(file, found, reading))
        sys.exit(0 if found.is_sound else 1)
    draft = draft_layout(file, ledger=ledger)
    if out is None:
        click.echo(draft.toml, nl=False)
        return
    draft.write(out, replace=replace)
    doubts = draft.toml.count("\n# ?")
    checks = f", with {doubts} doubt{'s' * (doubts > 1)} to decide" if doubts else ""
    click.echo(f"Written: {visible(str(out))}{checks}.")
    click.echo(next_step("layout", *["--ledger"] * ledger, "--check", file, "--layout", out))


def _check_ledger(file: Path, *, layout: str | None, layouts: Path | None, **reading: Any) -> None:  # noqa: ANN401  the others
    """Shows a ledger as it is read. Raises StatementRefused: a row cannot be read."""
    from workbench.analysis.statements import draft_layout, read_ledger

    if layouts is not None:
        raise click.UsageError("--layouts is for statements: name the ledger's layout with --layout.")
    with said_as_options(ledger=True):
        show(read_ledger(file, layout=layout or draft_layout(file, ledger=True).layout, **reading))
    if layout is None:
        click.echo(next_step("layout", "--ledger", file, "--out", f"{file.stem}.toml"))
    else:
        click.echo(next_step("reconcile", file, "STATEMENT", "--ledger-layout", layout))


def _given(reading: Mapping[str, Any]) -> list[object]:
    return [word for name, value in reading.items() if value for word in (f"--{name.replace('_', '-')}", value)]


def next_step(*words: object) -> str:
    """A line with the next command, quoted for the shell."""
    return f"Next: workbench {visible(' '.join(map(pasted, words)))}"


@contextmanager
def ends_with_next(file: Path) -> Iterator[None]:
    """Adds to the block's StatementRefused the command that drafts a layout of `file`.

    A refusal that names such a command, or a file without a header to draft from, gets none.
    """
    from workbench.analysis.statements.drafting import cut

    try:
        yield
    except StatementRefused as wrong:
        wrong.hint = wrong.hint.replace(f"layout {pasted(Path(file.name))} ", f"layout {pasted(file)} ")
        if "workbench layout" not in wrong.hint:
            with suppress(StatementRefused):
                cut(file)
                wrong.hint = f"{wrong.hint} {next_step('layout', file)}".strip()
        wrong.say(wrong.message)
        raise


def _after(file: Path, found: "Check", reading: Mapping[str, Any]) -> str:
    """A line with the next command: write a draft, check a corrected layout again, or use a sound layout."""
    if found.is_drafted:
        return next_step("layout", file, "--out", f"{file.stem}.toml")
    if not found.is_sound:
        return f"{next_step('layout', file, '--check', *_given(reading))}, after you fix the layout"
    return next_step("reconcile", "LEDGER", file, *_given(reading))


def named_for(what: str, named: Sequence[str], statements: Sequence[Path]) -> dict[Path, str | None]:
    """Statement → its layout or account, named as STATEMENT=… or for all statements; None if none is named."""
    made: dict[Path, str | None] = {}
    bare: list[str] = []
    for text in named:
        path, value = _parted(what, text, statements)
        if path is None:
            bare.append(value)
        elif made.setdefault(path, value) != value:
            raise click.UsageError(f"{path} has two {what}s, {made[path]} and {value}.")
    if len({*bare}) > 1:
        given = " and ".join(bare)
        text = f"--{what} {given} cannot each apply to all statements: write --{what} STATEMENT={what.upper()}."
        raise click.UsageError(text)
    found = {path: made.get(path, bare[0] if bare else None) for path in statements}
    tables = [path for path in statements if path.suffix.lower() == ".parquet"]
    # A value for all statements may meet a table among them, but not tables alone.
    if useless := [path for path in tables if path in made or (bare and len(tables) == len(statements))]:
        why = f"{useless[0]} is a table whose columns are already named"
        raise click.UsageError(f"--{what} {found[useless[0]]}: {why}{', account too' * (what == 'account')}.")
    return found


def _parted(what: str, text: str, statements: Sequence[Path]) -> tuple[Path | None, str]:
    """The statement before a `=`, or None, and the value; a statement's name and a value may contain `=`.

    Raises UsageError: several statements have the name, or a text with `=` names neither a statement nor a file.
    """
    parts = text.split("=")
    for end in range(len(parts) - 1, 0, -1):
        name = "=".join(parts[:end])
        found = {path for path in statements if path == Path(name)}
        found = found or {path for path in statements if path.name == name}
        if len(found) > 1:
            raise click.UsageError(f"--{what} {text}: several statements are called {name}; name one with its folder.")
        if found:
            return found.pop(), "=".join(parts[end:])
    if len(parts) > 1 and not Path(text).exists():
        given = ", ".join(map(str, statements))
        raise click.UsageError(f"--{what} {text} names none of the statements; they are {given}.")
    return None, text
