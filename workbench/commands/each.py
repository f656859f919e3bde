"""`workbench each`: any command, such as your tests, under every alternative to what the sandbox assumes."""

import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from workbench.commands import PATH, show
from workbench.commands.service import laid_out

if TYPE_CHECKING:
    from workbench.domain.signs import Value
    from workbench.under_alternatives import Run


@click.command(context_settings={"allow_interspersed_args": False})
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
@click.option(
    "--row",
    "names",
    multiple=True,
    metavar="NAME[=VALUE]",
    help="Switch only this row, or only to this value, written as in the result. May be repeated.",
)
@click.option("--section", metavar="NUMBER", help="Switch only rows of this section of the interface, such as 2.5.")
@click.option(
    "--jobs",
    type=click.IntRange(1, 64),
    metavar="N",
    default=1,
    show_default=True,
    help="How many runs go side by side.",
)
@click.option(
    "--junit",
    type=PATH,
    metavar="PATH",
    help="The file to which your command writes a JUnit report, or a folder of such files, so that the result names "
    "the tests that fail. Not needed if the command writes to the path in WORKBENCH_JUNIT.",
)
@click.option(
    "--webhook",
    metavar="PATH",
    default="/webhooks",
    show_default=True,
    help="Where your shop takes webhooks, on the port in PORT: every event is sent there, signed with "
    "PAYMENTS_WEBHOOK_SECRET. An empty PATH registers nothing.",
)
@click.option(
    "--timeout",
    "limit_s",
    type=click.FloatRange(min=0, min_open=True),
    metavar="SECONDS",
    help="End a run with all its children after this time, and count it as failed. The default is ten minutes for the "
    "first run; for every other run it is ten times the first run's time, plus ten seconds.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON, with the output of each failed run.")
def each(  # noqa: PLR0913  one argument per option, handed over by name
    *,
    command: tuple[str, ...],
    names: tuple[str, ...],
    section: str | None,
    jobs: int,
    junit: Path | None,
    webhook: str,
    limit_s: float | None,
    as_json: bool,
) -> None:
    """Run your tests once under every alternative of the register.

    COMMAND is what runs them, in any language, such as: workbench each -- npm test

    The register lists what the sandbox assumes, as `workbench gaps` shows it. The first run has nothing switched, and
    must pass. Every other run has a sandbox that follows one alternative; rows that the first run did not rely on are
    left out. The result names what fails.

    The environment of a run has PAYMENTS_BASE_URL, PAYMENTS_SECRET_KEY, PAYMENTS_PUBLISHABLE_KEY and
    PAYMENTS_WEBHOOK_SECRET; PORT, a free port for your shop; WORKBENCH_RUN_FOLDER, an empty folder; and
    WORKBENCH_JUNIT, a path for a JUnit report of the tests. pytest writes the report by itself. With another test
    runner, put the path into the command, such as: workbench each -- sh -c 'phpunit --log-junit "$WORKBENCH_JUNIT"'

    Standard error has a line for each run; standard output has the result, a table.

    Exit status 0 when nothing fails under an alternative, 1 when something does, 2 when the first run fails or cannot
    start, 130 after Ctrl-C.
    """
    from workbench.process import ended_when_asked
    from workbench.under_alternatives import Each, Plan

    rows = _switched(names, section)
    if webhook and not webhook.startswith("/"):
        raise click.UsageError("--webhook is a path on the port in PORT, such as /webhooks.")
    if " " in command[0]:
        raise click.UsageError("Give COMMAND as words, such as: -- npm test; a line of the shell is: -- sh -c 'LINE'")
    if junit and jobs > 1:
        raise click.UsageError("--junit is one place for all runs: use WORKBENCH_JUNIT in the command, or --jobs 1.")

    def ended(run: "Run", number: int, of: int) -> None:
        came = "" if run.passed else f": {len(run.failed)} failed" if run.failed else f": {run.why}"
        click.echo(f"{number:>3}/{of} {run.took_s:6.1f} s  {run.switched}{came}", err=True)

    result, status = Each(Plan(command, webhook, junit, limit_s, jobs), rows), 128 + signal.SIGINT
    try:
        with ended_when_asked():
            result.run(ended)
        status = 1 if result.depends else 0
    except KeyboardInterrupt:
        if result.first is None:
            sys.exit(status)
    if as_json:
        click.echo(laid_out(result.as_record()))
    else:
        show(result.table(), *result.sentences())
    sys.exit(status)


def _switched(names: tuple[str, ...], section: str | None) -> dict[str, list["Value"]]:
    """Row → the values to switch it to, as `--row` and `--section` choose them."""
    from workbench.domain.gaps import Gaps, rows_named, written
    from workbench.register import GapRows

    asked = [(name.strip(), value.strip()) for name, _, value in (text.partition("=") for text in names)]
    rows = {row.name: [*row.alternatives] for row in rows_named([name for name, _ in asked]) if row.alternatives}
    if section is not None:
        chosen = {row["name"] for row in GapRows(Gaps().as_records()).section(section)}
        rows = {name: values for name, values in rows.items() if name in chosen}
    for name, values in rows.items():
        if wanted := {value for row, value in asked if row == name and value}:
            rows[name] = [value for value in values if written(value) in wanted]
            if len(rows[name]) < len(wanted):
                raise click.UsageError(f"{name} can be switched to {', '.join(map(written, values))}.")
    return rows
