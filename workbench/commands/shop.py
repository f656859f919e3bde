"""`workbench each`, `certify` and `check-live`: the tests, the exam and the checklist of a shop in any language."""

import os
import shutil
import signal
import sys
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path
from secrets import token_bytes
from typing import TYPE_CHECKING, Any

import click

from workbench.alternatives import AlternativeRuns, CommandRun, switched_rows
from workbench.commands import FILE, PATH, PORT, gaps_option, show, show_page
from workbench.commands.service import laid_out, write_out
from workbench.errors import ExamRefused
from workbench.text.render import terminal_width
from workbench.visible import visible

if TYPE_CHECKING:
    from workbench.domain.signs import Value


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
    help="After this time, end a run with every process that it started, and count it as failed. The default is ten "
    "minutes for the first run; for every other run it is ten times the first run's time, plus ten seconds.",
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
    rows = _chosen(names, section)
    if webhook and not webhook.startswith("/"):
        raise click.UsageError("--webhook is a path on the port in PORT, such as /webhooks.")
    if " " in command[0] and shutil.which(command[0]) is None:
        raise click.UsageError("Give COMMAND as words, such as: -- npm test; a line of the shell is: -- sh -c 'LINE'")
    if junit and jobs > 1:
        raise click.UsageError("--junit is one place for all runs: use WORKBENCH_JUNIT in the command, or --jobs 1.")

    def ended(run: CommandRun, number: int, total: int) -> None:
        came = "" if run.passed else f": {len(run.failed)} failed" if run.failed else f": {run.why}"
        click.echo(f"{number:>3}/{total} {run.took_s:6.1f} s  {run.switched}{came}", err=True)

    result, status = AlternativeRuns(command, rows, webhook, junit, limit_s, jobs), 128 + signal.SIGINT
    try:
        result.run(ended)
        status = 1 if result.failed_runs else 0
    except KeyboardInterrupt:
        if result.first is None:
            sys.exit(status)
    if as_json:
        click.echo(laid_out(result.as_record()))
    else:
        show(result.table(), *result.sentences())
    sys.exit(status)


def _chosen(names: tuple[str, ...], section: str | None) -> dict[str, list["Value"]]:
    """Row of the register → the alternatives to run under, chosen by `--row` and `--section`; section 2 holds 2.5.

    Raises UsageError: there is no such section, a row does not have the value, or no chosen row has an alternative.
    """
    from workbench.domain.gaps import REGISTER, gaps_named, written

    choices = [(name.strip(), value.strip()) for name, _, value in (text.partition("=") for text in names)]
    chosen = gaps_named([name for name, _ in choices])
    if section is not None:
        sections = sorted({number for row in REGISTER for number in (row.section, row.section.partition(".")[0])})
        if section not in sections:
            raise click.UsageError(f"The register has no section {section!r}; it has {', '.join(sections)}.")
        chosen = tuple(row for row in chosen if section in (row.section, row.section.partition(".")[0]))
    rows = {row.name: [*row.alternatives] for row in chosen if row.alternatives}
    for name, values in rows.items():
        if written_values := {value for row, value in choices if row == name and value}:
            rows[name] = [value for value in values if written(value) in written_values]
            if len(rows[name]) < len(written_values):
                raise click.UsageError(f"{name} can be switched to {', '.join(map(written, values))}.")
    if not rows:
        raise click.UsageError("None of the chosen rows has an alternative.")
    return rows


@click.command()
@click.argument("url")
@click.option("--secret-env", metavar="NAME", help="The environment variable that holds the endpoint's signing secret.")
@click.option(
    "--cmd",
    metavar="LINE",
    help="A command that starts your shop; the exam restarts it once, and ends it afterwards. Its environment has "
    "PAYMENTS_BASE_URL, PAYMENTS_SECRET_KEY, PAYMENTS_PUBLISHABLE_KEY, PORT (that of URL) and PAYMENTS_WEBHOOK_SECRET, "
    "a new secret unless you give yours.",
)
@click.option(
    "--checkout",
    metavar="LINE",
    help="A command that makes your shop create one payment for the customer whose number is in "
    "PAYMENTS_CUSTOMER_PHONE (its provider is mtn), such as: python checkout.py",
)
@click.option(
    "--orders",
    metavar="LINE",
    help="A command that prints one line of JSON for each order, with how often it was fulfilled: "
    '{"payment": "pi_…", "fulfilled": 1, "status": "paid"}. Without the status, the exam cannot tell whether '
    "a late event makes a paid order unpaid.",
)
@click.option(
    "--report",
    "reports",
    type=FILE,
    multiple=True,
    help="Write the report to this file too: .html, .json, .xml (JUnit) or .txt; may be repeated.",
)
@gaps_option
@click.option(
    "--seed",
    metavar="TEXT",
    help="Make the sandbox's keys the same each time; `workbench serve --seed TEXT` prints them.",
)
@click.option(
    "--port",
    type=PORT,
    metavar="N",
    default=0,
    help="The sandbox's port; a free one by default. With --checkout but without --cmd, give the port and --seed, so "
    "that your running shop knows address and keys.",
)
def certify(  # noqa: PLR0913  one argument per option, handed over by name
    *,
    url: str,
    secret_env: str | None,
    cmd: str | None,
    checkout: str | None,
    orders: str | None,
    reports: tuple[Path, ...],
    rows: dict[str, Any] | None,
    seed: str | None,
    port: int,
) -> None:
    """Examine the webhook endpoint at URL, on this machine.

    The exam serves a sandbox and sends the endpoint messages that are genuine, forged, late, repeated and out of order.
    --cmd starts your shop. Without it, start the shop yourself and give its signing secret with --secret-env. --cmd,
    --checkout and --orders are shell commands, which all get the variables that --cmd lists.
    Without --orders the exam cannot tell how often an order was fulfilled; without --checkout it makes the payments
    itself. --gaps switches rows of the register, for the sandbox and for the exam. Each check is printed when it ends;
    Ctrl-C ends the exam and writes what is known.

    Exit status 0 when no examined check fails, 1 when one fails, 2 when the exam cannot run, 130 after Ctrl-C.
    """
    from workbench.bench import Workbench
    from workbench.certify import DAY_S, Interrupted, report
    from workbench.certify import certify as examined
    from workbench.certify.checks import check_secret
    from workbench.certify.shop import PHONE, Target, output_of, read_orders, running
    from workbench.domain.gaps import Gaps
    from workbench.domain.signatures import SCHEMES

    for path in reports:
        report.form_of(path)
    target, rows = Target(url), switched_rows(rows)
    if not secret_env and cmd is None:
        raise click.UsageError("Give the endpoint's signing secret with --secret-env, or start the shop with --cmd.")
    scheme = Gaps.chosen(rows).signature_scheme
    secret = os.environ.get(secret_env, "").strip() if secret_env else SCHEMES[scheme].new_secret(token_bytes(32))
    if not secret:
        raise ExamRefused(f"The environment variable {visible(str(secret_env))} is not set.")
    check_secret(secret, scheme)
    with ExitStack() as stack:
        # Events of yesterday are dated a day before the rest, which is dated now.
        yesterday = datetime.now(UTC) - timedelta(seconds=DAY_S)
        bench = stack.enter_context(Workbench(seed=seed, start=yesterday, gaps=rows))
        served = stack.enter_context(bench.serve(port))
        environment = {
            "PAYMENTS_BASE_URL": served.base_url,
            "PAYMENTS_SECRET_KEY": str(served.secret_key),
            "PAYMENTS_PUBLISHABLE_KEY": str(served.publishable_key),
            "PAYMENTS_WEBHOOK_SECRET": secret,
            "PORT": str(target.port),
        }
        arguments: dict[str, Any] = {"ended": lambda row: click.echo(row.line(terminal_width()))}
        if cmd:
            shop = stack.enter_context(running(cmd, environment, target))
            arguments |= {"printed": shop.printed, "restart": shop.restart}
        if checkout:
            arguments["checkout"] = lambda phone: output_of("--checkout", checkout, {**environment, PHONE: phone})
        if orders:
            arguments["orders"] = lambda: read_orders(output_of("--orders", orders, environment))
        status = None
        try:
            result = examined(bench, url, secret, **arguments)
        except Interrupted as interrupted:
            result, status = interrupted.report, 128 + signal.SIGINT
    click.echo(f"\n{result.ending(terminal_width())}")
    for path in reports:
        result.write(path)
    sys.exit(status or (0 if result.passes else 1))


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
    from workbench.going_live import checklist, read_exam, read_trace
    from workbench.register import letter
    from workbench.sandbox.provenance import relied_on

    if out is not None and out.suffix not in {".md", ".html"}:
        raise click.BadParameter(f"{out} ends in neither .md nor .html.", param_hint="--out")
    trace = read_trace(*traces) if traces else None
    items = checklist(rows, read_exam(exam) if exam else None, trace)
    if letter_file:
        used = relied_on(trace or ())
        open_rows = (row for row in Gaps.chosen(rows).as_records() if row["name"] in items.guessed)
        write_out(letter_file, letter({**row, "used_by": used.get(row["name"], ())} for row in open_rows))
    if out is None:
        show_page(items.markdown())
    else:
        write_out(out, items.html() if out.suffix == ".html" else items.markdown())
        click.echo(f"{items.summary}.")
    sys.exit(1 if items.open else 0)
