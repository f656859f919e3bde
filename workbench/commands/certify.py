"""`workbench certify`: the exam for a webhook endpoint on this machine."""

import os
import signal
import sys
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import click

from workbench.alternatives import switched
from workbench.commands import FILE, PORT, gaps_option
from workbench.errors import ExamRefused
from workbench.text.render import terminal_width
from workbench.visible import visible


@click.command()
@click.argument("url")
@click.option("--secret-env", metavar="NAME", help="The environment variable that holds the endpoint's signing secret.")
@click.option("--secret-file", type=FILE, help="The file that holds the signing secret.")
@click.option(
    "--cmd",
    metavar="LINE",
    help="A command that starts your shop; the exam restarts it once, and ends it afterwards. Its environment has "
    "PAYMENTS_BASE_URL, PAYMENTS_SECRET_KEY, PAYMENTS_PUBLISHABLE_KEY and PAYMENTS_WEBHOOK_SECRET, a new "
    "secret unless you give yours.",
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
    secret_file: Path | None,
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
    --cmd starts your shop. Without it, start the shop yourself and give its signing secret with --secret-env or
    --secret-file. --cmd, --checkout and --orders are shell commands, which all get the variables that --cmd lists.
    Without --orders the exam cannot tell how often an order was fulfilled; without --checkout it makes the payments
    itself. --gaps switches rows of the register, for the sandbox and for the exam. Each check is printed when it ends;
    Ctrl-C ends the exam and writes what is known.

    Exit status 0 when no examined check fails, 1 when one fails, 2 when the exam cannot run, 130 after Ctrl-C.
    """
    from workbench.bench import Workbench
    from workbench.certify import report, run
    from workbench.certify.sending import Target
    from workbench.certify.shop import PHONE, output_of, read_orders, running
    from workbench.domain.gaps import Gaps

    for path in reports:
        report.form_of(path)
    target, secret = Target(url), _secret(secret_env, secret_file)
    if secret is None and cmd is None:
        raise click.UsageError(
            "Give the endpoint's signing secret with --secret-env or --secret-file, or start the shop with --cmd."
        )
    rows = switched(rows)
    scheme = Gaps.chosen(rows).signature_scheme
    secret = secret or run.new_secret(scheme)
    run.check_secret(secret, scheme)
    with ExitStack() as open_:
        # Events of yesterday are dated a day before the rest, which is dated now.
        yesterday = datetime.now(UTC) - timedelta(seconds=run.DAY_S)
        bench = open_.enter_context(Workbench(seed=seed, start=yesterday, gaps=rows))
        served = open_.enter_context(bench.serve(port))
        environment = {
            "PAYMENTS_BASE_URL": served.base_url,
            "PAYMENTS_SECRET_KEY": str(served.secret_key),
            "PAYMENTS_PUBLISHABLE_KEY": str(served.publishable_key),
            "PAYMENTS_WEBHOOK_SECRET": secret,
        }
        started = open_.enter_context(running(cmd, environment, target)) if cmd else None
        status = None
        try:
            result = run.certify(
                bench,
                url,
                secret,
                checkout=(lambda phone: output_of("--checkout", checkout, {**environment, PHONE: phone}))
                if checkout
                else None,
                orders=(lambda: read_orders(output_of("--orders", orders, environment))) if orders else None,
                printed=started.printed if started else str,
                restart=started.restart if started else None,
                ended=lambda row: click.echo(row.line(terminal_width())),
            )
        except run.Interrupted as interrupted:
            result, status = interrupted.report, 128 + signal.SIGINT
    click.echo(f"\n{result.ending(terminal_width())}")
    for path in reports:
        result.write(path)
    sys.exit(status or (0 if result.passes else 1))


def _secret(name: str | None, path: Path | None) -> str | None:
    """The secret that was named; never a part of a message."""
    if name and path:
        raise click.UsageError("Give either --secret-env or --secret-file, not both.")
    if name:
        if not (secret := os.environ.get(name, "").strip()):
            raise ExamRefused(f"The environment variable {visible(name)} is not set.")
        return secret
    try:
        return path.read_text("utf-8").strip() if path else None
    except (OSError, UnicodeError) as error:
        raise ExamRefused(f"{path} cannot be read: {getattr(error, 'strerror', None) or 'not UTF-8'}.") from None
