"""`workbench simulate`, `reconcile` and `layout`: a month of statements, a ledger compared with them, their layouts."""

import os
import shlex
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import date
from decimal import Decimal, InvalidOperation
from importlib.util import find_spec
from pathlib import Path
from shutil import which
from typing import TYPE_CHECKING, Any, Final

import click

from workbench.commands import FILE, FOLDER, PATH, PLACE, said_as_options, show
from workbench.domain.money import ISO_4217, ZMW, decimals_of
from workbench.errors import ReconcileRefused, StatementRefused
from workbench.extras import how_to_install
from workbench.text.render import Table, terminal_width
from workbench.visible import pasted, visible

if TYPE_CHECKING:
    from workbench.analysis.reconcile import CarryForward, Reconciliation, Tolerance
    from workbench.analysis.statements import Check, Ledger, Statement

_LAYOUTS_HELP: Final = "A folder of layouts (.toml files), tried before the shipped ones."


@click.command()
@click.option(
    "--payments", type=int, metavar="N", required=True, help="The number of payments that customers try to make."
)
@click.option("--days", type=int, metavar="N", default=30, show_default=True, help="The number of days.")
@click.option("--seed", metavar="TEXT", help="The same seed gives the same folder, byte for byte.")
@click.option(
    "--out",
    type=PATH,
    metavar="FOLDER",
    required=True,
    help="An empty or new folder for ledger.parquet, statements/ and answers.csv.",
)
@click.option(
    "--breaks",
    multiple=True,
    metavar="KIND=N",
    help="Plant N breaks of this kind and none of other kinds, though the traffic may still cause breaks. all=N "
    "plants N breaks of every kind, all=0 plants none. By default, a few breaks of every kind are planted. May be "
    "repeated.",
)
def simulate(payments: int, days: int, seed: str | None, out: Path, breaks: tuple[str, ...]) -> None:
    """Simulate a month: a ledger and its statements.

    A merchant's payments run through a sandbox, which writes the ledger and what operators and bank would export.

    The kinds of breaks are timing, payout_unpaid, batch_mismatch, date_mismatch, missing_in_statement,
    missing_in_ledger, invalid_row, duplicate_in_statement, duplicate_in_ledger, ambiguous, currency_mismatch,
    status_mismatch, direction_mismatch, amount_mismatch, fee_mismatch, wrong_reference, reversed_unmatched and
    late_success. answers.csv lists all breaks, planted or not.

    Exit status 0 when the folder is written, 2 when it cannot be written.
    """
    from workbench.analysis.simulate import breaks_from
    from workbench.bench import Workbench

    planted = breaks_from(breaks) if breaks else None
    began = time.monotonic()
    with Workbench(seed=seed) as bench:
        made = bench.simulate(payments=payments, days=days, seed=seed, out=out, breaks=planted, show_progress=True)
    took_s = time.monotonic() - began
    show(made)
    click.echo(f"{payments / took_s:,.0f} payments a second, {took_s:.1f} s in all.", err=True)


Say = Callable[[str], None]
Option = Any
"""The value of an option that reconcile() takes in Python too, by the same name."""

_TABLE: Final = ".parquet"
_HAVE_ALL: Final = (".csv", ".xlsx", _TABLE)
"""Endings of files that list every break; a page lists only the largest."""
_TOLERANCES: Final = {"amount": "amount_minor", "fee": "fee_minor"}
"""Word of `--tolerance` → the field of Tolerance that it sets, in minor units; the option gives major units."""
_SPARK_IS_SET_UP: Final = frozenset({"SPARK_HOME", "SPARK_CONF_DIR", "SPARK_REMOTE"})
_SPARK_ALONE: Final[dict[str, Any]] = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.log.level": "ERROR",
    "spark.sql.shuffle.partitions": str(os.cpu_count() or 1),  # two hundred, its default, is for a cluster
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}
"""Settings of Spark on this machine: nobody else can reach Spark, and Spark prints nothing on standard error."""


class _Reconcile(click.Command):
    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Reads `--excel` as `--excel=any`: the word after `--excel` is a file, not a locale."""
        return super().parse_args(ctx, [f"{word}=any" if word == "--excel" else word for word in args])


def _given_day(_: click.Context, __: click.Parameter, text: str | None) -> date | None:
    """The day of `--as-of`. Raises BadParameter: not a day in ISO 8601."""
    try:
        return None if text is None else date.fromisoformat(text)
    except ValueError:
        raise click.BadParameter(f"{text!r} is not a day, such as 2026-01-31.") from None


def _csv(_: click.Context, __: click.Parameter, path: Path | None) -> Path | None:
    """The path of `--journal`. Raises BadParameter: it does not end in .csv."""
    if path is not None and path.suffix.lower() != ".csv":
        raise click.BadParameter(f"{path} does not end in .csv.")
    return path


def _account_codes(_: click.Context, __: click.Parameter, given: Sequence[str]) -> dict[str, str]:
    """Account → the account's code in the books. Raises BadParameter: not NAME=CODE."""
    parts = {text: text.rpartition("=") for text in given}
    if wrong := [text for text, (name, _, code) in parts.items() if not (name and code)]:
        raise click.BadParameter(f"{wrong[0]!r} is not NAME=CODE, such as charges=7901.")
    return {name: code for name, _, code in parts.values()}


@click.command(cls=_Reconcile)
@click.argument("given", metavar="[LEDGER] STATEMENT...", nargs=-1, required=True, type=PLACE)
@click.option(
    "--ledger",
    "named",
    metavar="LEDGER",
    type=PLACE,
    help="The ledger, a file or a database's address. All arguments are then statements.",
)
@click.option(
    "--query",
    type=FILE,
    help="A .sql file with the query that selects the ledger from the database; it must only read.",
)
@click.option("--ledger-layout", metavar="FILE", help="A .toml file with the ledger's layout, if its columns need one.")
@click.option(
    "--out",
    "outs",
    multiple=True,
    metavar="FILE",
    type=PATH,
    help="Write the results here: .xlsx the workbook, .html the page, .csv or .parquet the breaks. May be repeated.",
)
@click.option(
    "--excel",
    metavar="[=LOCALE]",
    help="Write .csv for a spreadsheet: with a UTF-8 mark, and an apostrophe before text that would run as a formula. "
    "With a locale, such as --excel=en-ZM or --excel=de-DE, amounts are in major units, and numbers, dates and "
    "separators are written for that country. Without --excel, .csv holds each text as it came.",
)
@click.option(
    "--engine",
    type=click.Choice(["duckdb", "spark"]),
    default="duckdb",
    show_default=True,
    help="The engine: duckdb on this machine, or spark.",
)
@click.option(
    "--layout",
    "layouts_given",
    multiple=True,
    metavar="[STATEMENT=]LAYOUT",
    help="The layout of one STATEMENT or of all, a name or a .toml file; by default it is recognised. May be repeated.",
)
@click.option("--layouts", metavar="FOLDER", type=FOLDER, help=_LAYOUTS_HELP)
@click.option(
    "--account",
    "accounts_given",
    multiple=True,
    metavar="[STATEMENT=]NAME",
    help="The ledger account of one STATEMENT or of all, if they do not name it. May be repeated.",
)
@click.option(
    "--date-format", metavar="FORMAT", help="How the statements write dates, such as %d/%m/%Y, if that is unclear."
)
@click.option(
    "--tolerance",
    "tolerances",
    nargs=2,
    multiple=True,
    metavar="WHAT VALUE",
    help="How far the amount, or the fee, of two rows with one key may differ, such as: fee 0.50. May be repeated.",
)
@click.option(
    "--phone-key",
    metavar="FILE",
    type=PATH,
    help="The key for comparing masked phone numbers; created if the file does not exist. Use the same key in every "
    "run, and do not keep it beside what is carried forward.",
)
@click.option(
    "--cut-off",
    type=click.IntRange(0),
    metavar="N",
    default=1,
    show_default=True,
    help="A row of the last N days, the closing date included, may still follow on the side that lacks it.",
)
@click.option(
    "--as-of",
    metavar="DATE",
    callback=_given_day,
    help="The day of the reconciliation. A row of a later day does not move the closing date; if the row has no "
    "partner, it is reported as invalid.",
)
@click.option(
    "--carry-forward", "brought", metavar="FOLDER", type=FOLDER, help="What an earlier run saved with --carry-to."
)
@click.option("--skip-settled", is_flag=True, help="Skip the statements' lines that the earlier run matched.")
@click.option("--carry-to", "kept", metavar="FOLDER", type=FOLDER, help="Save what is open for the next run.")
@click.option(
    "--decisions",
    type=FILE,
    help="What people decided about breaks: decisions.csv, or the .csv or .xlsx of --out with verdict, owner and "
    "comment filled in.",
)
@click.option(
    "--rules",
    type=FILE,
    help="Your rules, a .toml file: which charges are expected and, under [match], how an account's rows are matched.",
)
@click.option(
    "--journal",
    metavar="FILE",
    type=PATH,
    callback=_csv,
    help="Write journal lines to this .csv file: one balanced entry for each decided break that changes the books.",
)
@click.option(
    "--journal-form",
    type=click.Choice(["general", "sage", "xero", "quickbooks"]),
    default="general",
    show_default=True,
    help="The program that imports the journal.",
)
@click.option(
    "--journal-account",
    "journal_accounts",
    multiple=True,
    metavar="NAME=CODE",
    callback=_account_codes,
    help="What your books call an account of the journal: a reconciled account, charges, rounding, suspense or "
    "'written off'. May be repeated.",
)
@click.option("--with-matches", is_flag=True, help="Write every row that agrees into the workbook too.")
@click.option("--prepared-by", metavar="NAME", default="", help="Who prepared the reconciliation, for the sign-off.")
@click.option("--reviewed-by", metavar="NAME", default="", help="Who reviewed the reconciliation: another person.")
def reconcile(  # noqa: PLR0913  one argument per option
    *,
    given: tuple[str, ...],
    named: str | None,
    query: Path | None,
    ledger_layout: str | None,
    outs: tuple[Path, ...],
    excel: str | None,
    tolerances: tuple[tuple[str, str], ...],
    brought: Path | None,
    kept: Path | None,
    journal: Path | None,
    journal_form: str,
    journal_accounts: Mapping[str, str],
    with_matches: bool,
    prepared_by: str,
    reviewed_by: str,
    layouts_given: tuple[str, ...],
    layouts: Path | None,
    accounts_given: tuple[str, ...],
    date_format: str | None,
    **options: Option,
) -> None:
    """Compare a ledger with statements.

    Each STATEMENT is a file (.csv, .xlsx or .parquet). LEDGER is such a file of your books or, with --query, the
    address of your database: postgresql://user@host/database, its password in PGPASSWORD, or sqlite:///path. LEDGER
    needs the columns account, key, occurred_at and amount; --ledger-layout declares columns with other names.

    Every row of both sides ends in a match or a break. The command prints the summary and the proof: the breaks
    add up to the ledger's closing balance less the statement's.

    Exit status 0 when only timing differences and decided breaks are left, 1 when other breaks are open or the proof
    does not hold, 2 when the input cannot be used.
    """
    from workbench.analysis.phone_key import refuse_another, refuse_within
    from workbench.analysis.reconcile import CarryForward
    from workbench.analysis.reconcile import reconcile as run
    from workbench.analysis.reconcile.decisions import closing_words, stale_words
    from workbench.analysis.report import outputs
    from workbench.analysis.report.captions import counted, is_proven
    from workbench.analysis.statements.own_ledger import is_address

    # A tolerance that is wrong in every currency is refused before files are read.
    _tolerance(tolerances, [max(ISO_4217, key=decimals_of)])
    ledger, statements = _sides(given, named)
    ours = () if is_address(ledger) else (Path(ledger),)
    phone_key, others = options["phone_key"], [options[name] for name in ("decisions", "rules", "phone_key")]
    outputs.check([*outs, *filter(None, [journal])], [*ours, *statements, *filter(None, others)])
    carried = None if brought is None else CarryForward.load(brought)
    if phone_key is not None:
        refuse_within(phone_key, [path for path in (brought, kept) if path is not None])
        refuse_another(phone_key, () if carried is None else carried.rows["phone_hash"])
    texts = [out for out in outs if outputs.is_csv(out)]
    if excel and not texts:
        raise click.UsageError("--excel is only for --out *.csv; a workbook does not need it.")
    if excel not in {None, outputs.ANY, *outputs.LOCALES}:
        raise click.BadParameter(f"{excel!r} is none of {', '.join(outputs.LOCALES)}.", param_hint="--excel")
    layout_of = _named_for("layout", layouts_given, statements)
    account_of = _named_for("account", accounts_given, statements)
    usual = {"date_format": date_format, "layouts": layouts or (), "phone_key": phone_key}
    with _spark(options["engine"]), _progress() as say:
        read = [
            _statement(path, say, {"layout": layout_of[path], "account": account_of[path], **usual})
            for path in statements
        ]
        say("Reading the ledger")
        books = _ledger(ledger, query, ledger_layout, phone_key)
        say("Reconciling")
        result = run(
            books,
            read,
            tolerance=_tolerance(tolerances, {getattr(statement, "currency", ZMW.code) for statement in read}),
            carry_forward=carried,
            **options,
        )
        result = result.sign(prepared_by=prepared_by, reviewed_by=reviewed_by)
        # The journal comes first: it refuses unknown names of accounts before any other file is written.
        entries = journal and outputs.write_journal(result, journal, journal_form, accounts=journal_accounts)
        written = []
        for out in outs:
            say(f"Writing {out.name}")
            written += outputs.write(result, out, excel=excel, matches=with_matches)
        lost = "" if kept is None else _carried_to(kept, result.carry_forward)
    notes = [
        result.carry_forward.note if kept is not None else "",
        outputs.journal_note(result, journal_form, journal_accounts) if journal else "",
    ]
    _report(result, [*result.notes, *filter(None, notes)], [*written, *(entries or ()), *([kept] if kept else [])])
    if lost:
        click.echo(visible(lost), err=True)
    if texts and not excel and (many := outputs.formulas(result)):
        names = " and ".join(out.name for out in texts)
        warning = f"{names} has {counted(many, 'cell')} that a spreadsheet would run as formulas: "
        click.echo(warning + "do not open the file in a spreadsheet, or write it with --excel.", err=True)
    is_done = result.is_decided and is_proven(result)
    closing = closing_words(result.decided) if is_done else ""
    for text in filter(None, (stale_words(result.decisions), result.sign_off, closing)):
        show("\n" + visible(text))
    result.close()
    sys.exit(0 if is_done else 1)


def _carried_to(folder: Path, carried: "CarryForward") -> str:
    """Saves the carry-forward, and returns a sentence on the decisions or the review that it overwrites."""
    lost = carried.lost_words(folder)
    carried.save(folder)
    return lost


def _report(result: "Reconciliation", notes: Sequence[str], written: Sequence[Path]) -> None:
    from workbench.analysis.report import captions
    from workbench.analysis.report.totals import named

    called, file = named(result), next((path for path in written if path.suffix.lower() in _HAVE_ALL), None)
    tables = captions.first(called, terminal_width(), file)
    said = [captions.headline(called), *captions.shortfalls(called), *notes]
    unusable = captions.unusable(result)
    parts: list[str | Table] = [*map(visible, said), *tables]
    suggested = next((path for path in written if path.suffix.lower() == ".xlsx" or "-suggestions" in path.stem), None)
    if proposed := captions.proposed(result.suggestions, suggested):
        parts.append("\n- ".join(["May be one movement; a person decides:", *map(visible, proposed)]))
    if unusable.rows:
        parts.append(unusable)
    if written:
        parts.append("Written: " + visible(", ".join(map(str, written))))
    elif unusable.rows or not result.is_clean:
        parts.append("Each break with its reason: --out breaks.csv, or .xlsx, or .html")
    show(*parts)


def _statement(path: Path, say: Say, options: Mapping[str, Any]) -> "Statement | Path":
    """The statement in a file; for a Parquet file its path, since the engine itself reads the file."""
    from workbench.analysis.statements import read_statement

    say(f"Reading {path.name}")
    if path.suffix.lower() == _TABLE:
        return path

    def hint(wrong: StatementRefused) -> str:
        if wrong.facts.get("lacks"):
            return f"Name it: --{wrong.facts['lacks']} {shlex.quote(f'{path}=NAME')}."
        if options["layout"] and "headings" in wrong.facts:
            other = shlex.quote(f"{path}=LAYOUT")
            return f"Name another for this file, --layout {other}, or none, and it is recognised."
        return wrong.hint

    with _ends_with_next(path, hint):
        return read_statement(path, **options)


def _sides(given: Sequence[str], named: str | None) -> tuple[str, tuple[Path, ...]]:
    """The ledger, which comes first in `given` unless `named` is the ledger, and the statements.

    Raises UsageError: no statement is given, or a statement is the address of a database.
    """
    from workbench.analysis.statements.own_ledger import is_address

    ledger, *others = given if named is None else (named, *given)
    if not others:
        raise click.UsageError("Missing argument 'STATEMENT...'.")
    if any(map(is_address, others)):
        raise click.UsageError("A statement is a file. A database holds the ledger: name it first, or with --ledger.")
    return ledger, tuple(map(Path, others))


def _ledger(place: str, query: Path | None, layout: str | None, key: Path | None) -> "Ledger | Path":
    """The ledger; for a Parquet table with all needed columns its path, since the engine reads only those columns."""
    from workbench.analysis.reconcile.inputs import LEDGER_READ, OPTIONAL
    from workbench.analysis.statements import read_ledger

    if query is None and layout is None and Path(place).suffix.lower() == _TABLE:
        import pyarrow.parquet as pq

        with suppress(OSError, ValueError):
            if LEDGER_READ.keys() - OPTIONAL <= set(pq.read_schema(place).names):
                return Path(place)
    with said_as_options(ledger=True):
        return read_ledger(place, query=query, layout=layout, phone_key=key)


def _tolerance(given: Sequence[tuple[str, str]], currencies: Iterable[str]) -> "Tolerance":
    from workbench.analysis.reconcile import Tolerance

    decimals = {*map(decimals_of, currencies)}
    values: dict[str, int] = {}
    for what, value in given:
        if what not in _TOLERANCES:
            text = f"{what!r} is none of {', '.join(_TOLERANCES)}. The rules of match say how many days rows are apart."
            raise click.BadParameter(text, param_hint="--tolerance")
        if len(decimals) > 1:
            text = f"The statements' currencies differ in their decimals; reconcile them one by one to tolerate {what}."
            raise click.BadParameter(text, param_hint="--tolerance")
        values[_TOLERANCES[what]] = _whole_number_of(value, max(decimals))
    return Tolerance(**values)


def _whole_number_of(text: str, decimals: int) -> int:
    """A number from 0 up with at most `decimals` decimals, in units of the last. Raises BadParameter: another text."""
    with suppress(InvalidOperation):
        number = Decimal(text).scaleb(decimals)
        if number.is_finite() and number >= 0 and number == number.to_integral_value():
            return int(number)
    kind = "an amount in the statements' currency, such as 0.50" if decimals else "a whole number from 0 up"
    raise click.BadParameter(f"{text!r} is not {kind}.", param_hint="--tolerance")


@contextmanager
def _spark(engine: str) -> Iterator[None]:
    """Opens a session of Spark while the block runs, if Spark is the engine.

    Raises ReconcileRefused: Spark is not installed, or this machine lacks Java for it.
    """
    if engine != "spark":
        yield
        return
    if find_spec("pyspark") is None:
        raise ReconcileRefused("Spark is not installed.", hint=how_to_install("spark"))
    if "JAVA_HOME" not in os.environ and which("java") is None:
        raise ReconcileRefused("Spark needs Java, and Java is not installed.", hint="Install one, or set JAVA_HOME.")
    from pyspark.sql import SparkSession

    # A Spark that somebody has set up stays as it is.
    options = {} if _SPARK_IS_SET_UP & os.environ.keys() else _SPARK_ALONE
    session = SparkSession.builder.config(map=options).getOrCreate()
    try:
        yield
    finally:
        session.stop()


@contextmanager
def _progress() -> Iterator[Say]:
    """Yields a function that shows a step to a person at a terminal; without a terminal the function shows nothing."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console

    with Console(stderr=True).status("Reading") as status:
        yield lambda text: status.update(visible(text))


@click.command()
@click.argument("file", type=FILE)
@click.option("--out", type=FILE, metavar="LAYOUT.toml", help="Write the draft to this file instead of printing it.")
@click.option("--replace", is_flag=True, help="Overwrite an existing layout.")
@click.option("--check", is_flag=True, help="Show how ten rows are read, and which rows are wrong.")
@click.option("--ledger", is_flag=True, help="FILE is your own ledger, in which a debit is money that comes in.")
@click.option("--layout", metavar="LAYOUT", help="With --check: the layout, a name or a .toml file.")
@click.option("--layouts", metavar="FOLDER", type=FOLDER, help=_LAYOUTS_HELP)
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

        def hint(wrong: StatementRefused) -> str:
            if not wrong.facts.get("readings"):
                return wrong.hint
            first, second = wrong.facts["formats"]
            command = _next_step("layout", file, "--check", *_given(reading), "--date-format", first)
            return f"{command} (or {shlex.quote(second)})"

        with _ends_with_next(file, hint):
            found = checked(file, **reading)
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
    click.echo(_next_step("layout", *["--ledger"] * ledger, "--check", file, "--layout", out))


def _check_ledger(file: Path, *, layout: str | None, layouts: Path | None, **reading: Any) -> None:  # noqa: ANN401  the others
    """Shows a ledger as it is read. Raises StatementRefused: a row cannot be read."""
    from workbench.analysis.statements import draft_layout, read_ledger

    if layouts is not None:
        raise click.UsageError("--layouts is for statements: name the ledger's layout with --layout.")
    with said_as_options(ledger=True):
        show(read_ledger(file, layout=layout or draft_layout(file, ledger=True).layout, **reading))
    if layout is None:
        click.echo(_next_step("layout", "--ledger", file, "--out", f"{file.stem}.toml"))
    else:
        click.echo(_next_step("reconcile", file, "STATEMENT", "--ledger-layout", layout))


def _given(reading: Mapping[str, Any]) -> list[object]:
    return [word for name, value in reading.items() if value for word in (f"--{name.replace('_', '-')}", value)]


def _next_step(*words: object) -> str:
    """A line with the next command, quoted for the shell."""
    return f"Next: workbench {visible(' '.join(map(pasted, words)))}"


@contextmanager
def _ends_with_next(file: Path, hint: Callable[[StatementRefused], str]) -> Iterator[None]:
    """Gives the block's StatementRefused this `hint`, and adds the command that drafts a layout of `file`.

    A refusal that names such a command, or a file without a header to draft from, gets none.
    """
    from workbench.analysis.statements.columns import cut

    try:
        with said_as_options():
            yield
    except StatementRefused as wrong:
        wrong.hint = hint(wrong).replace(f"layout {pasted(Path(file.name))} ", f"layout {pasted(file)} ")
        if "workbench layout" not in wrong.hint:
            with suppress(StatementRefused):
                cut(file)
                wrong.hint = f"{wrong.hint} {_next_step('layout', file)}".strip()
        wrong.say(wrong.message)
        raise


def _after(file: Path, found: "Check", reading: Mapping[str, Any]) -> str:
    """A line with the next command: write a draft, check a corrected layout again, or use a sound layout."""
    if found.is_drafted:
        return _next_step("layout", file, "--out", f"{file.stem}.toml")
    if not found.is_sound:
        return f"{_next_step('layout', file, '--check', *_given(reading))}, after you fix the layout"
    return _next_step("reconcile", "LEDGER", file, *_given(reading))


def _named_for(what: str, named: Sequence[str], statements: Sequence[Path]) -> dict[Path, str | None]:
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
    # A value for all statements skips tables among them; if all are tables, the value is useless.
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
