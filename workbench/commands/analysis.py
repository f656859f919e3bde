"""`workbench simulate`, `reconcile` and `layout`: simulate a month, compare a ledger with statements, draft layouts."""

import json
import re
import shlex
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import date
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from workbench.commands import FILE, FOLDER, PATH, PLACE, said_as_options, show
from workbench.domain.money import ISO_4217, ZMW, decimals_of
from workbench.errors import StatementRefused
from workbench.text.render import terminal_width
from workbench.visible import pasted, visible

if TYPE_CHECKING:
    from workbench.analysis.reconcile import Reconciliation, Tolerance
    from workbench.analysis.statements import LayoutCheck, OwnLedger, Statement

_LAYOUTS_HELP: Final = "A folder of layouts (.toml files), tried before the shipped ones."


def _by_name(form: str) -> Callable[[click.Context, click.Parameter, Sequence[str]], dict[str, str]]:
    """A callback that parses texts NAME=VALUE as a mapping.

    `form` describes such a text in messages. Raises BadParameter: another form, or a name is given twice.
    """

    def read(_: click.Context, __: click.Parameter, texts: Sequence[str]) -> dict[str, str]:
        parts = {text: text.rpartition("=") for text in texts}
        if wrong := [text for text, (name, _, value) in parts.items() if not (name and value)]:
            raise click.BadParameter(f"{wrong[0]!r} is not {form}.")
        if twice := [name for name, many in Counter(name for name, *_ in parts.values()).items() if many > 1]:
            raise click.BadParameter(f"{twice[0]} is given twice.")
        return {name: value for name, _, value in parts.values()}

    return read


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
    callback=_by_name("KIND=NUMBER, such as amount_mismatch=3"),
    help="Plant N breaks of this kind and none of other kinds, though the traffic may still cause breaks. all=N "
    "plants N breaks of every kind, all=0 plants none. By default, a few breaks of every kind are planted. May be "
    "repeated.",
)
def simulate(payments: int, days: int, seed: str | None, out: Path, breaks: Mapping[str, str]) -> None:
    """Simulate a month: a ledger and its statements.

    A merchant's payments run through a sandbox, which writes the ledger and what operators and bank would export.

    The kinds of breaks are timing, payout_unpaid, batch_mismatch, date_mismatch, missing_in_statement,
    missing_in_ledger, invalid_row, duplicate_in_statement, duplicate_in_ledger, ambiguous, currency_mismatch,
    status_mismatch, direction_mismatch, amount_mismatch, fee_mismatch, wrong_reference, reversed_unmatched and
    late_success. answers.csv lists all breaks, planted or not.

    Exit status 0 when the folder is written, 2 when it cannot be written.
    """
    from workbench.bench import Workbench

    is_number = re.compile("[0-9]{1,7}").fullmatch
    planted: dict[str, Any] = {kind: int(text) if is_number(text) else text for kind, text in breaks.items()}
    began = time.monotonic()
    with Workbench(seed=seed) as bench:
        folder = bench.simulate(
            payments=payments, days=days, seed=seed, out=out, breaks=planted or None, show_progress=True
        )
    took_s = time.monotonic() - began
    show(folder)
    click.echo(f"{payments / took_s:,.0f} payments a second, {took_s:.1f} s in all.", err=True)


Option = Any
"""The value of a command-line option that the Python function reconcile() takes as an argument of the same name."""

_TABLE: Final = ".parquet"
_WITH_EVERY_BREAK: Final = (".csv", ".xlsx", _TABLE)
"""Extensions of files that list every break; a page lists only the largest."""
_TOLERANCES: Final = {"amount": "amount_minor", "fee": "fee_minor"}
"""Word in `--tolerance`, whose value is in major units → the field of Tolerance that it sets, in minor units."""
_RULES_INSTEAD: Final = {
    "days": '[{{ on = ["key"], days = {} }}]',
    "minutes": '[{{ on = ["key"] }}, {{ on = ["amount", "phone"], minutes = {} }}]',
}
"""Former word in `--tolerance` → the rules that have the same effect; `{}` is the word's value."""
_WRITE_RULES: Final = (
    "{} is a rule now. Write match = {} in the layout, or the same after an account's name under [match] in the file "
    "of --rules."
)


def _refuse_pair_by(_: click.Context, __: click.Parameter, fields: str | None) -> None:
    """Refuses the former option `--pair-by`: BadParameter names the rules that have the same effect."""
    if fields is not None:
        from workbench.analysis.rules import AMOUNT, FIELDS, USUAL_DAYS

        names = {AMOUNT, *(name.strip() for name in fields.split(","))}
        on, window = json.dumps([name for name in FIELDS if name in names]), f"days = {USUAL_DAYS}"
        rules = f'[{{ on = ["key"] }}, {{ on = {on}, {"minutes = 15" if "time" in names else window} }}]'
        raise click.BadParameter(_WRITE_RULES.format("This", rules))


def _date_of_as_of(_: click.Context, __: click.Parameter, text: str | None) -> date | None:
    """The date of `--as-of`; None without the option. Raises BadParameter: not a date in ISO 8601."""
    try:
        return None if text is None else date.fromisoformat(text)
    except ValueError:
        raise click.BadParameter(f"{text!r} is not a day, such as 2026-01-31.") from None


@click.command()
@click.argument("inputs", metavar="[LEDGER] STATEMENT...", nargs=-1, required=True, type=PLACE)
@click.option(
    "--ledger",
    "ledger_named",
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
    is_flag=True,
    help="Write .csv for a spreadsheet: with a UTF-8 mark, and an apostrophe before text that would run as a formula. "
    "Without --excel, .csv holds each text as it came. In the workbook, .xlsx, amounts are in major units, for "
    "spreadsheets of any country.",
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
@click.option("--pair-by", hidden=True, expose_value=False, callback=_refuse_pair_by)
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
    callback=_date_of_as_of,
    help="The day of the reconciliation. A statement's line of a later day does not move the closing date; if the line "
    "has no partner, it is reported as invalid.",
)
@click.option(
    "--carry-forward", "carry_from", metavar="FOLDER", type=FOLDER, help="What an earlier run saved with --carry-to."
)
@click.option("--skip-settled", is_flag=True, help="Skip the statements' lines that the earlier run matched.")
@click.option("--carry-to", "carry_to", metavar="FOLDER", type=FOLDER, help="Save what is open for the next run.")
@click.option(
    "--decisions",
    type=FILE,
    help="What people decided about breaks: decisions.csv, or what --out wrote with verdict, who and why filled in "
    "(.csv), or verdict, owner and comment (.xlsx).",
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
    callback=_by_name("NAME=CODE, such as charges=7901"),
    help="What your books call an account of the journal: a reconciled account, charges, interest, rounding, suspense "
    "or 'written off'. May be repeated.",
)
@click.option("--with-matches", is_flag=True, help="Write every row that agrees into the workbook too.")
@click.option("--prepared-by", metavar="NAME", default="", help="Who prepared the reconciliation, for the sign-off.")
@click.option("--reviewed-by", metavar="NAME", default="", help="Who reviewed the reconciliation: another person.")
def reconcile(  # noqa: PLR0913  one argument per option
    *,
    inputs: tuple[str, ...],
    ledger_named: str | None,
    query: Path | None,
    ledger_layout: str | None,
    outs: tuple[Path, ...],
    excel: bool,
    tolerances: tuple[tuple[str, str], ...],
    carry_from: Path | None,
    carry_to: Path | None,
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

    Every row of both sides ends in a match or a break; a ledger row after the closing date may wait for the next
    period. The command prints the summary and the proof: the breaks add up to the ledger's closing balance less the
    statement's.

    Exit status 0 when only timing differences and decided breaks are left, 1 when other breaks are open or the proof
    does not hold, 2 when the input cannot be used.
    """
    from rich.console import Console

    from workbench.analysis.phone_key import refuse_another, refuse_within
    from workbench.analysis.reconcile import CarryForward
    from workbench.analysis.reconcile import reconcile as run
    from workbench.analysis.reconcile.decisions import closing_words, stale_words
    from workbench.analysis.report import outputs
    from workbench.analysis.report.captions import is_proven
    from workbench.analysis.statements.own_ledger import is_address

    # A tolerance that is wrong in every currency is refused before files are read.
    _tolerance(tolerances, [max(ISO_4217, key=decimals_of)])
    ledger_place, statements = _sides(inputs, ledger_named)
    ledger_file = () if is_address(ledger_place) else (Path(ledger_place),)
    phone_key, others = options["phone_key"], [options[name] for name in ("decisions", "rules", "phone_key")]
    outputs.check_paths(outs, [*ledger_file, *statements, *filter(None, others)], journal)
    if carry_from and carry_to and carry_from.resolve() == carry_to.resolve():
        message = f"--carry-to {carry_to} would overwrite the period before: give each period its own folder."
        raise click.UsageError(message)
    carried = None if carry_from is None else CarryForward.load(carry_from)
    if phone_key is not None:
        refuse_within(phone_key, [path for path in (carry_from, carry_to) if path is not None])
        refuse_another(phone_key, () if carried is None else carried.rows["phone_hash"])
    texts = [out for out in outs if outputs.is_csv(out)]
    if excel and not texts:
        raise click.UsageError("--excel is only for --out *.csv; a workbook does not need it.")
    layout_of = _value_by_statement("layout", layouts_given, statements)
    account_of = _value_by_statement("account", accounts_given, statements)
    reading = {"date_format": date_format, "layouts": layouts or (), "phone_key": phone_key}
    # Without a terminal the status shows nothing.
    with Console(stderr=True).status("Reading") as status:
        sources = list["Statement | Path"]()
        for path in statements:
            status.update(visible(f"Reading {path.name}"))
            sources.append(_statement(path, {"layout": layout_of[path], "account": account_of[path], **reading}))
        status.update("Reading the ledger")
        books = _ledger(ledger_place, query, ledger_layout, phone_key)
        status.update("Reconciling")
        result = run(
            books,
            sources,
            tolerance=_tolerance(tolerances, {getattr(statement, "currency", ZMW.code) for statement in sources}),
            carry_forward=carried,
            **options,
        )
        result = result.sign(prepared_by=prepared_by, reviewed_by=reviewed_by)
        # The journal comes first: it refuses unknown names of accounts before any other file is written.
        entries = outputs.write_journal(result, journal, journal_form, accounts=journal_accounts) if journal else []
        written = list[Path]()
        for out in outs:
            status.update(visible(f"Writing {out.name}"))
            written += outputs.write_results(result, out, excel=excel, matches=with_matches)
        lost = "" if carry_to is None else result.carry_forward.lost_words(carry_to)
        if carry_to is not None:
            result.carry_forward.save(carry_to)
    notes = [
        result.carry_note if carry_to is not None else "",
        outputs.journal_note(result, journal_form, journal_accounts) if journal else "",
    ]
    _report(result, [*result.notes, *filter(None, notes)], [*written, *entries, *filter(None, [carry_to])])
    for warning in filter(None, (lost, "" if excel else outputs.formula_warning(result, texts))):
        click.echo(visible(warning), err=True)
    is_done = result.is_decided and is_proven(result)
    closing = closing_words(result.decided, result.breaks) if is_done else ""
    for text in filter(None, (stale_words(result.decisions), result.sign_off, closing)):
        show("\n" + visible(text))
    sys.exit(0 if is_done else 1)


def _report(result: "Reconciliation", notes: Sequence[str], written: Sequence[Path]) -> None:
    from workbench.analysis.report import captions

    file = next((path for path in written if path.suffix.lower() in _WITH_EVERY_BREAK), None)
    overview = captions.overview(result, notes, width=terminal_width(), file=file)
    parts = [visible(part) if isinstance(part, str) else part for part in overview]
    suggested = next((path for path in written if path.suffix.lower() == ".xlsx" or "-suggestions" in path.stem), None)
    if proposed := captions.proposed(result.suggestions, suggested):
        parts.append("\n- ".join(["May be one movement; a person decides:", *map(visible, proposed)]))
    if (unusable := captions.unusable(result)).rows:
        parts.append(unusable)
    if written:
        parts.append("Written: " + visible(", ".join(map(str, written))))
    elif unusable.rows or not result.is_clean:
        parts.append("Each break with its reason: --out breaks.csv, or .xlsx, or .html")
    show(*parts)


def _statement(path: Path, options: Mapping[str, Any]) -> "Statement | Path":
    """The statement in a file, read with the `options` of `read_statement`; for a Parquet file only the path.

    The engine itself reads Parquet.
    """
    from workbench.analysis.statements import read_statement

    if path.suffix.lower() == _TABLE:
        return path

    def hint(wrong: StatementRefused) -> str:
        if wrong.facts.get("lacks"):
            return f"Name it: --{wrong.facts['lacks']} {shlex.quote(f'{path}=NAME')}."
        if options["layout"] and "headings" in wrong.facts:
            other = shlex.quote(f"{path}=LAYOUT")
            return f"Name another for this file, --layout {other}, or none, and it is recognised."
        return wrong.hint

    with _with_next_command(path, hint):
        return read_statement(path, **options)


def _sides(inputs: Sequence[str], ledger_named: str | None) -> tuple[str, tuple[Path, ...]]:
    """The ledger's path or address, and the statements' paths.

    The ledger is `ledger_named` or, for None, the first of `inputs`; the other `inputs` are statements. Raises
    UsageError: there is no statement, or a statement is a database address.
    """
    from workbench.analysis.statements.own_ledger import is_address

    ledger, *others = inputs if ledger_named is None else (ledger_named, *inputs)
    if not others:
        raise click.UsageError("Missing argument 'STATEMENT...'.")
    if any(map(is_address, others)):
        raise click.UsageError("A statement is a file. A database holds the ledger: name it first, or with --ledger.")
    return ledger, tuple(map(Path, others))


def _ledger(place: str, query: Path | None, layout: str | None, key: Path | None) -> "OwnLedger | Path":
    """The ledger in the file or database `place`; the others are arguments of `read_ledger` (`key` is `phone_key`).

    For a Parquet table with all required columns, and no query or layout, only the path: the engine reads just those
    columns.
    """
    from workbench.analysis.reconcile.inputs import LEDGER_READ, OPTIONAL
    from workbench.analysis.statements import read_ledger

    if query is None and layout is None and Path(place).suffix.lower() == _TABLE:
        import pyarrow.parquet as pq

        with suppress(OSError, ValueError):
            if LEDGER_READ.keys() - OPTIONAL <= set(pq.read_schema(place).names):
                return Path(place)
    with said_as_options(place, ledger=True):
        return read_ledger(place, query=query, layout=layout, phone_key=key)


def _tolerance(tolerances: Sequence[tuple[str, str]], currencies: Iterable[str]) -> "Tolerance":
    from workbench.analysis.reconcile import Tolerance

    decimals = {*map(decimals_of, currencies)}
    values: dict[str, int] = {}
    for name, value in tolerances:
        if name in _RULES_INSTEAD:
            rules = _RULES_INSTEAD[name].format(_whole_number_of(value, 0))
            raise click.BadParameter(_WRITE_RULES.format(name, rules), param_hint="--tolerance")
        if name not in _TOLERANCES:
            raise click.BadParameter(f"{name!r} is none of {', '.join(_TOLERANCES)}.", param_hint="--tolerance")
        if len(decimals) > 1:
            text = f"The statements' currencies differ in their decimals; reconcile them one by one to tolerate {name}."
            raise click.BadParameter(text, param_hint="--tolerance")
        values[_TOLERANCES[name]] = _whole_number_of(value, max(decimals))
    return Tolerance(**values)


def _whole_number_of(text: str, decimals: int) -> int:
    """The number in a text with at most `decimals` decimals, as an integer in units of the last decimal.

    Raises BadParameter: any other text, or a negative number.
    """
    with suppress(InvalidOperation):
        number = Decimal(text).scaleb(decimals)
        if number.is_finite() and number >= 0 and number == number.to_integral_value():
            return int(number)
    kind = "an amount in the statements' currency, such as 0.50" if decimals else "a whole number from 0 up"
    raise click.BadParameter(f"{text!r} is not {kind}.", param_hint="--tolerance")


@click.command()
@click.argument("file", type=FILE)
@click.option("--out", type=FILE, metavar="LAYOUT.toml", help="Write the draft to this file instead of printing it.")
@click.option("--check", is_flag=True, help="Show how ten rows are read, and which rows are wrong.")
@click.option("--ledger", is_flag=True, help="FILE is your own ledger, in which a debit is money that comes in.")
@click.option("--layout", metavar="LAYOUT", help="With --check: the layout, a name or a .toml file.")
@click.option("--layouts", metavar="FOLDER", type=FOLDER, help=_LAYOUTS_HELP)
@click.option("--account", metavar="NAME", help="With --check: the ledger account, if the file does not name it.")
@click.option("--date-format", metavar="FORMAT", help="With --check: how the file writes dates, if that is unclear.")
def layout(file: Path, out: Path | None, *, check: bool, ledger: bool, **reading: Any) -> None:  # noqa: ANN401  --layout to --date-format
    """Draft or check the layout of FILE, a statement or a ledger.

    The draft declares what the rows prove, and names the row that proves it. What the rows leave open is a comment
    that begins with "# ?": decide it yourself. --check reads FILE with the layout that --layout names. Without
    --layout, the command takes the layout that fits the headings of FILE, or else the draft.

    Exit status 0 when the draft is written, or when every row can be read and the balances agree; 1 when a row of a
    statement cannot be read or a balance does not agree; 2 when the file, or a row of a ledger, cannot be read.
    """
    from workbench.analysis.statements import checked, draft_layout

    options = [str(word) for word in _option_words(reading)[::2]]
    if check and out:
        raise click.UsageError("--check writes nothing: use it without --out.")
    if not check and options:
        raise click.UsageError(f"{' and '.join(options)} {'is' if len(options) == 1 else 'are'} for --check.")
    if check and ledger:
        _check_ledger(file, **reading)
        return
    if check:

        def hint(wrong: StatementRefused) -> str:
            if not wrong.facts.get("readings"):
                return wrong.hint
            first, second = wrong.facts["formats"]
            command = _next_command("layout", file, "--check", *_option_words(reading), "--date-format", first)
            return f"{command} (or {shlex.quote(second)})"

        with _with_next_command(file, hint):
            check_result = checked(file, **reading)
        show(check_result)
        click.echo(_next_after_check(file, check_result, reading))
        sys.exit(0 if check_result.is_sound else 1)
    draft = draft_layout(file, ledger=ledger)
    if out is None:
        click.echo(draft.toml, nl=False)
        return
    draft.write(out)
    doubts = draft.toml.count("\n# ?")
    checks = f", with {doubts} doubt{'s' * (doubts > 1)} to decide" if doubts else ""
    click.echo(f"Written: {visible(str(out))}{checks}.")
    click.echo(_next_command("layout", *["--ledger"] * ledger, "--check", file, "--layout", out))


def _check_ledger(file: Path, *, layout: str | None, layouts: Path | None, **reading: Any) -> None:  # noqa: ANN401  the others
    """Shows a ledger as read with `layout` or, for None, by its own columns, else with a drafted layout.

    Prints the next command. Raises StatementRefused: a row cannot be read. Raises UsageError: `layouts` is not None.
    """
    from workbench.analysis.statements import draft_layout, read_ledger

    if layouts is not None:
        raise click.UsageError("--layouts is for statements: name the ledger's layout with --layout.")
    draft = _next_command("layout", "--ledger", file, "--out", f"{file.stem}.toml")
    after = _next_command("reconcile", file, "STATEMENT", *["--ledger-layout", layout] * bool(layout))
    with said_as_options(file):
        try:
            ledger = read_ledger(file, layout=layout, **reading)
        except StatementRefused as wrong:
            # Only a file without the columns of a ledger has its headings in the refusal.
            if layout is not None or "headings" not in wrong.facts:
                wrong.hint = wrong.hint or draft
                raise
            ledger, after = read_ledger(file, layout=draft_layout(file, ledger=True).layout, **reading), draft
        show(ledger)
    click.echo(after)


def _option_words(reading: Mapping[str, Any]) -> list[object]:
    return [word for name, value in reading.items() if value for word in (f"--{name.replace('_', '-')}", value)]


def _next_command(*words: object) -> str:
    """A line with the next command, quoted for the shell."""
    return f"Next: workbench {visible(' '.join(map(pasted, words)))}"


@contextmanager
def _with_next_command(file: Path, hint: Callable[[StatementRefused], str]) -> Iterator[None]:
    """In the block, replaces a StatementRefused's hint by the result of `hint` and the command that drafts a layout.

    The command is left out if the hint already has it, or if the file has no header from which to draft.
    """
    from workbench.analysis.statements.columns import cut_file

    try:
        with said_as_options(file):
            yield
    except StatementRefused as wrong:
        wrong.hint = hint(wrong)
        if "workbench layout" not in wrong.hint:
            with suppress(StatementRefused):
                cut_file(file)
                wrong.hint = f"{wrong.hint} {_next_command('layout', file)}".strip()
        wrong.say(wrong.message)
        raise


def _next_after_check(file: Path, check: "LayoutCheck", reading: Mapping[str, Any]) -> str:
    """A line with the next command: write a draft, check a corrected layout again, or use a valid layout."""
    if check.is_drafted:
        return _next_command("layout", file, "--out", f"{file.stem}.toml")
    if not check.is_sound:
        return f"{_next_command('layout', file, '--check', *_option_words(reading))}, after you fix the layout"
    return _next_command("reconcile", "LEDGER", file, *_option_words(reading))


def _value_by_statement(option: str, texts: Sequence[str], statements: Sequence[Path]) -> dict[Path, str | None]:
    """Statement → its value of an option (`layout` or `account`); `texts` are STATEMENT=VALUE, or a VALUE for all.

    None for a statement without a value, and for a .parquet table. Raises UsageError: two values for one statement or
    for all, or a value that only tables could use.
    """
    value_of: dict[Path, str | None] = {}
    values_for_all: list[str] = []
    for text in texts:
        path, value = _statement_and_value(option, text, statements)
        if path is None:
            values_for_all.append(value)
        elif value_of.setdefault(path, value) != value:
            raise click.UsageError(f"{path} has two {option}s, {value_of[path]} and {value}.")
    if len({*values_for_all}) > 1:
        quoted = " and ".join(values_for_all)
        text = f"--{option} {quoted} cannot each apply to all statements: write --{option} STATEMENT={option.upper()}."
        raise click.UsageError(text)
    values = {path: value_of.get(path, values_for_all[0] if values_for_all else None) for path in statements}
    tables = [path for path in statements if path.suffix.lower() == ".parquet"]
    # A value for all statements skips tables among them; if all are tables, the value is useless.
    if useless := [path for path in tables if path in value_of or (values_for_all and len(tables) == len(statements))]:
        why = f"{useless[0]} is a table whose columns are already named"
        raise click.UsageError(f"--{option} {values[useless[0]]}: {why}{', account too' * (option == 'account')}.")
    return values


def _statement_and_value(option: str, text: str, statements: Sequence[Path]) -> tuple[Path | None, str]:
    """Splits STATEMENT=VALUE, a `text` of the option `option`; the statement is None if there is only a value.

    Raises UsageError: several statements have the name, or a text with `=` names neither a statement nor a file.
    """
    parts = text.split("=")
    for end in range(len(parts) - 1, 0, -1):
        name = "=".join(parts[:end])
        paths = {path for path in statements if path == Path(name)}
        paths = paths or {path for path in statements if path.name == name}
        if len(paths) > 1:
            message = f"--{option} {text}: several statements are called {name}; name one with its folder."
            raise click.UsageError(message)
        if paths:
            return paths.pop(), "=".join(parts[end:])
    if len(parts) > 1 and not Path(text).exists():
        names = ", ".join(map(str, statements))
        raise click.UsageError(f"--{option} {text} names none of the statements; they are {names}.")
    return None, text
