"""`workbench simulate`: a month of traffic in a sandbox of its own, and its statements."""

import time
from pathlib import Path

import click


@click.command()
@click.option("--payments", type=int, required=True, help="How many payments customers try to make.")
@click.option("--days", type=int, default=30, show_default=True, help="Over how many days.")
@click.option("--seed", metavar="TEXT", help="One seed is one folder, byte for byte; without it, one is drawn.")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    required=True,
    help="An empty or new folder for ledger.parquet, statements/ and answers.csv.",
)
@click.option(
    "--breaks",
    multiple=True,
    metavar="KIND=N",
    help="Plant so many breaks of a kind, and none that is not named; may be repeated. all=N is for every kind, "
    "all=0 for none. By default some of each, as far as there are rows for them.",
)
def simulate(payments: int, days: int, seed: str | None, out: Path, breaks: tuple[str, ...]) -> None:
    """Drive a month of a merchant's life through a sandbox, and write what each side tells of it.

    The kinds of breaks are timing, payout_unpaid, batch_mismatch, date_mismatch, missing_in_statement,
    missing_in_ledger, invalid_row, duplicate_in_statement, duplicate_in_ledger, ambiguous, currency_mismatch,
    status_mismatch, direction_mismatch, amount_mismatch, fee_mismatch, wrong_reference, reversed_unmatched and
    late_success. Some happen by themselves; answers.csv has them all.

    Exit status 0 when the folder is written, 2 when it cannot be as asked.
    """
    from workbench.analysis.simulate import breaks_from
    from workbench.bench import Workbench

    planted = breaks_from(breaks) if breaks else None
    began = time.monotonic()
    with Workbench(seed=seed) as bench:
        made = bench.simulate(payments=payments, days=days, seed=seed, out=out, breaks=planted, show_progress=True)
    took_s = time.monotonic() - began
    click.echo(made)
    click.echo(f"{payments / took_s:,.0f} payments a second, {took_s:.1f} s in all.", err=True)
