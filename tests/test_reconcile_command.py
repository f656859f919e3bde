"""`workbench reconcile`: what it prints, writes and ends with, as a person or a script runs it."""

import csv
import json
import re
import shlex
from contextlib import chdir
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import openpyxl
import pandas as pd
import pytest
from click.testing import CliRunner, Result

from tests.test_terminal import shown
from workbench.analysis import files
from workbench.analysis.break_codes import settlement_of
from workbench.analysis.frames import frame, python_rows
from workbench.analysis.reconcile import reconcile
from workbench.analysis.shapes import BREAK, CARRIED, LEDGER_MOVEMENT, Columns
from workbench.analysis.statements import LAYOUTS, read_statement, write_statement
from workbench.cli import app

START = datetime(2026, 1, 5, 8, 0, tzinfo=UTC)
OUTS = ("b.csv", "b.HTML", "b.xlsx", "b.parquet")

Rows = list[dict[str, Any]]


def movement(place: int, **more: Any) -> dict[str, Any]:  # noqa: ANN401  cells are of any type
    """The same movement for either side: 100.00 and some coming in, a fee of 1.00."""
    moment = START + timedelta(hours=place)
    return {
        "account": "operator:mtn:float", "key": f"10000{place:05}", "batch": None, "occurred_at": moment,
        "business_date": moment.date(), "direction": "in", "amount_minor": 10_000 + place, "fee_minor": 100,
        "currency": "ZMW", "status": "completed", "phone": f"+26096••••{place:03}",
    } | more  # fmt: skip


BOTH = [movement(place) for place in range(90)]


class Case(NamedTuple):
    """Files to reconcile, and a folder to run in."""

    folder: Path

    @property
    def ledger(self) -> str:
        return str(self.folder / "ledger.parquet")

    @property
    def statement(self) -> str:
        return str(self.folder / "mtn.csv")

    @property
    def here(self) -> Path:
        return self.folder / "here"

    def run(self, *options: str) -> Result:
        """What is not refused on purpose fails the test."""
        return self.run_with(self.ledger, self.statement, *options)

    def run_with(self, *arguments: str) -> Result:
        with chdir(self.here):
            return CliRunner(catch_exceptions=False).invoke(app, ["reconcile", *arguments])

    def breaks(self, name: str = "b.csv", encoding: str = "utf-8") -> list[dict[str, str]]:
        with (self.here / name).open(newline="", encoding=encoding) as file:
            return list(csv.DictReader(file))


def out(*names: str) -> list[str]:
    return [part for name in names for part in ("--out", name)]


def balanced(rows: Rows) -> Rows:
    """The rows with the balance that runs with them."""
    balance, made = 0, []
    for row in rows:
        balance += row["amount_minor"] - row["fee_minor"]
        made.append(row | {"balance_minor": balance})
    return made


def filled(rows: Rows, columns: Columns) -> pd.DataFrame:
    """What a row leaves out is missing."""
    return frame([dict.fromkeys(columns) | row for row in rows], columns)


def written(folder: Path, ledger: Rows = BOTH, statement: Rows = BOTH) -> Case:
    """A ledger and an operator's file of it."""
    (folder / "here").mkdir()
    entry = {"kind": "funds_secured", "state": "posted"}
    booked = [row | entry | {"entry": f"je_{n}", "number": n} for n, row in enumerate(balanced(ledger), start=1)]
    reported = [row | {"line": line, "type": "payment"} for line, row in enumerate(balanced(statement), start=2)]
    files.write(filled(booked, LEDGER_MOVEMENT), folder / "ledger.parquet", LEDGER_MOVEMENT)
    write_statement(reported, folder / "mtn.csv", LAYOUTS["mtn"])
    return Case(folder)


def with_breaks(folder: Path) -> Case:
    """One that the statement lacks, one that the ledger lacks, and one of another amount."""
    other = [row | {"amount_minor": 9_000} if row is BOTH[5] else row for row in BOTH if row is not BOTH[3]]
    return written(folder, [row for row in BOTH if row is not BOTH[7]], other)


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> tuple[Case, Result]:
    """One run with every output; what it wrote is only looked at."""
    case = with_breaks(tmp_path_factory.mktemp("done"))
    return case, case.run(*out(*OUTS), "--carry-to", "kept/january")


BREAKS = [
    ("mtn.csv", "", "1000000003", "missing_in_statement"),
    ("mtn.csv", "6", "1000000005", "amount_mismatch"),
    ("mtn.csv", "8", "1000000007", "missing_in_ledger"),
]


def texts_of(path: Path) -> list[str]:
    """Every text of a file that was written."""
    if path.suffix == ".parquet":
        return list(map(str, pd.read_parquet(path).to_numpy().ravel().tolist()))
    if path.suffix != ".xlsx":
        return [path.read_text("utf-8")]
    book = openpyxl.load_workbook(path)
    cells = [str(cell) for sheet in book for row in sheet.iter_rows(values_only=True) for cell in row]
    book.close()
    return cells


class TestOutcome:
    def test_clean_books_end_with_0(self, tmp_path: Path):
        done = written(tmp_path).run()
        assert (done.exit_code, done.stderr) == (0, ""), done.stdout
        assert done.stdout.startswith("Nothing to settle. The proof holds")
        assert "what to do" not in done.stdout

    def test_breaks_end_with_1_and_are_summed_net_of_fees(self, done: tuple[Case, Result]):
        _, result = done
        assert (result.exit_code, result.stderr) == (1, "")
        assert result.stdout.startswith("3 breaks to settle. The proof holds to the last ngwee.\n")
        assert all(code in result.stdout for *_, code in BREAKS)
        assert "+99.03" in result.stdout  # 100.03 less the fee, which the ledger alone has
        assert "by net value  net variance" in result.stdout
        assert "Breaks by what to do, net of fees" in result.stdout
        assert all(settlement_of(code, "operator:mtn:float") in result.stdout for *_, code in BREAKS)
        assert f"Written: {', '.join(OUTS)}" in result.stdout

    @pytest.mark.thorough
    def test_what_may_still_follow_is_no_break_and_a_tolerance_is_taken_in_kwacha(self, tmp_path: Path):
        case = written(tmp_path, [*BOTH, movement(90)], [movement(0, amount_minor=10_050), *BOTH[1:]])
        done = case.run("--tolerance", "amount", "0.50")
        assert done.exit_code == 0
        assert done.stdout.startswith("Nothing to settle, and 1 movement within the cut-off that may still follow.")
        assert case.run("--tolerance", "amount", "0.49").exit_code == 1
        assert case.run("--tolerance", "amount", "0.50", "--cut-off", "0").exit_code == 1

    @pytest.mark.parametrize("options", [(), ("--as-of", "2026-10-31")], ids=["", "as of the closing date"])
    def test_rows_of_the_ledger_after_the_closing_date_are_left_for_the_next_period(
        self, tmp_path: Path, options: tuple[str, ...]
    ):
        (tmp_path / "here").mkdir()
        months = ["w,A1,2026-10-05,100.00\nw,A2,2026-10-31,50.00", "w,A3,2026-11-02,7000.00\nw,A4,2026-11-15,9000.00"]
        ledger = tmp_path / "b.csv"
        ledger.write_text("\n".join(["account,key,occurred_at,amount", *months]), "utf-8")
        for number, month in enumerate(months):
            cells = [line.split(",") for line in month.splitlines()]
            rows = pd.DataFrame(cells, columns=["account", "key", "occurred_at", "amount"], dtype="string")
            rows.to_parquet(tmp_path / f"{number}.parquet")
        first, second = (
            Case(tmp_path).run_with(str(ledger), str(tmp_path / f"{number}.parquet"), *more)
            for number, more in enumerate([(*options, "--carry-to", "kept"), ("--carry-forward", "kept")])
        )
        for done, day, closing in ((first, "2026-10-31", "150.00"), (second, "2026-11-15", "16,150.00")):
            assert (done.exit_code, done.stderr) == (0, "")
            assert done.stdout.startswith("Nothing to settle. The proof holds")
            assert f"Reconciliation of w at {day}, in ZMW: both adjusted balances agree" in done.stdout
            assert re.findall(r"(?:Balance|balance) per books +([\d,.]+)", done.stdout) == [closing] * 2
        later = "w: 2 rows of the ledger are dated after the closing date, 2026-10-31, up to 2026-11-15"
        assert f"{later}, and left for the next period." in first.stdout
        assert "next period" not in second.stdout


SHOP = Path(__file__).parent.parent / "fixtures"


def of_the_shop(
    folder: Path, *options: str, changed: tuple[str, str] = ("", "")
) -> tuple[Result, list[dict[str, str]]]:
    """The month of the documentation, something in the operator's file changed."""
    mtn, bank = folder / "mtn_portal.csv", SHOP / "statements" / "zanaco.csv"
    mtn.write_text((SHOP / "statements" / mtn.name).read_text("utf-8").replace(*changed), "utf-8")
    layouts = ("--ledger-layout", str(SHOP / "books/books.toml"), "--layout", f"{bank}={SHOP / 'books/bank.toml'}")
    with chdir(folder):
        given = ["reconcile", str(SHOP / "books/books.csv"), str(mtn), str(bank), *layouts, *out("b.csv"), *options]
        done = CliRunner(env={"COLUMNS": "120"}, catch_exceptions=False).invoke(app, given)
    with (folder / "b.csv").open(newline="", encoding="utf-8") as file:
        return done, list(csv.DictReader(file))


BANK = (
    "Currency,ZMW\nTxn Date,Value Date,Narrative,Cheque/Ref,Debit,Credit,Balance\n04 MAY 2026,,Sale,A1,,100.00,100.00"
)
AIRTEL = (
    "Transaction ID,Transaction Date,Description,Status,Transaction Amount,Credit/Debit,Fee,Balance,Transaction Type\n"
    "A1,04-May-2026 09:00:00,Sale,Completed,100.00,CR,0,100.00,Payment"
)
ON_THE_CLOSING_DAY = {
    ("bank:settlement", BANK): {
        "31 MAY 2026,,Ledger fee May,,25.00,,75.00": "missing_in_ledger",
        "31 MAY 2026,,CREDIT INTEREST,,,1.20,76.20": "missing_in_ledger",
        "31 MAY 2026,,Debit interest,,1.20,,75.00": "missing_in_ledger",
        "31 MAY 2026,,CHEQUE BOOK,,30.00,,45.00": "missing_in_ledger",  # a rule says that it is a fee
        "31 MAY 2026,,Coffee beans,C1,10.00,,35.00": "timing",
        "31 MAY 2026,,Fee refunded,,,5.00,40.00": "timing",
    },
    ("operator:airtel:float", AIRTEL): {
        "A2,31-May-2026 20:00:00,Services of May,Completed,3.00,DR,0,97.00,Charge": "missing_in_ledger",
        "A3,31-May-2026 20:00:00,School fees,Completed,2.00,DR,0,95.00,Payment": "timing",
    },
}
"""What the statement alone has on its last day, and the code."""


def of_may(folder: Path, account: str, *lines: str) -> tuple[Result, dict[str, str]]:
    """A month whose books have its first row, and each other row's code by its narrative."""
    (folder / "books.csv").write_text(f"account,key,occurred_at,amount\n{account},A1,2026-05-04 09:00:00,100.00\n")
    (folder / "may.csv").write_text("\n".join(lines))
    (folder / "rules.toml").write_text('[[rule]]\nname = "cheques"\nnarrative = "CHEQUE"\nkind = "fee"\n')
    with chdir(folder):
        given = ["reconcile", "books.csv", "may.csv", "--rules", "rules.toml", *out("b.csv")]
        done = CliRunner(catch_exceptions=False).invoke(app, given)
    rows = csv.DictReader((folder / "b.csv").read_text("utf-8").splitlines())
    return done, {row["description"]: row["code"] for row in rows}


@pytest.mark.parametrize(("account", "first"), ON_THE_CLOSING_DAY)
def test_a_charge_or_interest_of_the_closing_day_is_a_break_and_never_waited_for(
    account: str, first: str, tmp_path: Path
):
    rows = ON_THE_CLOSING_DAY[account, first]
    done, codes = of_may(tmp_path, account, first, *rows)
    assert done.exit_code == 1, done.output
    assert codes == {row.split(",")[2]: code for row, code in rows.items()}


def test_a_monthly_fee_alone_ends_with_1(tmp_path: Path):
    done, codes = of_may(tmp_path, "bank:settlement", BANK, "31 MAY 2026,,Ledger fee May,,25.00,,75.00")
    assert (done.exit_code, codes) == (1, {"Ledger fee May": "missing_in_ledger"})
    assert done.stdout.startswith("1 break to settle. The proof holds")


class TestForAPerson:
    """What an analyst reads, with the accounts as the shop calls them."""

    @pytest.mark.thorough
    def test_the_open_breaks_are_on_the_terminal_by_what_to_do_and_whom_to_ask(self, tmp_path: Path):
        done, rows = of_the_shop(tmp_path, "--rules", str(SHOP / "books/rules.toml"), *out("b.xlsx", "b.html"))
        is_open = {row["id"]: row for row in rows if not row["verdict"]}
        assert is_open.keys() == {*re.findall("^b[a-z2-7]{11}(?= )", done.stdout, re.MULTILINE)}
        places = [done.stdout.index(text) for text in (
            "amount_mismatch: Ask the operator which amount is right",
            "26100100824  +289.31 ≠ +217.31 ZMW   2 days  Monstera",
            "missing_in_statement: Ask the bank; if the money", "+2,911.00 ZMW  17 days  POS SETTLEMENT MERCHANT 00417",
        )]  # fmt: skip
        assert places == sorted(places)
        assert {row["settlement"] for row in is_open.values()} >= {
            "Ask the bank; if the money never moved, write it off, which reverses the entry."
        }
        page = (tmp_path / "b.html").read_text("utf-8")
        cells = {*texts_of(tmp_path / "b.xlsx")}
        assert {"MTN wallet", "Bank", "Expected by the rule 'bank charges'", "no key in the file"} <= cells
        assert "<strong>Expected by the rule &#39;bank charges&#39;</strong>" in page
        assert page.count("Find out whose money it is") == 1, "once above the table of its code"
        for text in (done.stdout, re.sub('data-(key|account)="[^"]*"', "", page)):
            assert re.findall("made-|operator:mtn|\u2212", text) == []

    @pytest.mark.thorough
    def test_suggestions_have_a_sheet_and_a_file_where_there_are_any(self, tmp_path: Path):
        done, rows = of_the_shop(tmp_path, *out("b.xlsx"))
        with (tmp_path / "b-suggestions.csv").open(newline="", encoding="utf-8") as file:
            (row,) = csv.DictReader(file)
        assert {each["key"] for each in rows if each["id"] in row["breaks"].split("; ")} == {"771298", "771289"}
        assert "Written: b.csv, b-suggestions.csv, b.xlsx" in done.stdout
        book = openpyxl.load_workbook(tmp_path / "b.xlsx")
        assert [each[5] for each in book["suggestions"].iter_rows(values_only=True)] == ["why", row["why"]]
        book.close()
        clean = written(tmp_path)
        clean.run(*out("clean.csv", "clean.xlsx"))
        assert sorted(each.name for each in clean.here.iterdir()) == ["clean.csv", "clean.xlsx"]
        assert "suggestions" not in openpyxl.load_workbook(clean.here / "clean.xlsx").sheetnames
        taken = clean.run_with(clean.ledger, clean.statement, *out("b.csv", "b-suggestions.csv"))
        assert (taken.exit_code, "cannot be written twice" in taken.stderr) == (2, True)

    @pytest.mark.parametrize(
        ("outs", "where"), [([], ": --out breaks.csv writes them all"), (["b.csv"], " in b-suggestions.csv")]
    )
    def test_of_many_suggestions_the_first_are_shown_and_the_file_with_all_is_named(
        self, outs: list[str], where: str, tmp_path: Path
    ):
        ours = [row | {"phone": None} for row in BOTH[:7]]
        case = written(tmp_path, ours, [row | {"key": f"9{row['key'][1:]}"} for row in ours])
        assert re.search(f"^- and [0-9]+ more{where}$", case.run(*out(*outs)).stdout, re.MULTILINE)

    @pytest.mark.thorough
    def test_what_does_not_add_up_is_said_with_by_how_much(self, tmp_path: Path):
        done, _ = of_the_shop(tmp_path, changed=("3699.97", "3689.97"))
        said = " ".join(done.stdout.split())
        assert "The proof does not hold for MTN wallet." in said
        assert "it does not prove: +K10.00 is not explained; the running balance of mtn_portal.csv" in said
        assert "Not explained: books less statement, both adjusted 10.00" in said
        assert "in line 40: K3,699.97 expected, K3,689.97 found" in said

    def test_a_hint_names_options_and_not_what_is_passed_in_python(self, tmp_path: Path):
        odd, case = tmp_path / "odd.csv", written(tmp_path)
        odd.write_text("Foo;Bar\n1;2\n")
        for ledger, statement, hint in (
            (str(odd), case.statement, f"layout --ledger {odd} --out mine.toml; then --ledger-layout mine.toml."),
            (case.ledger, str(odd), f"workbench layout {odd} --out mine.toml; then --layout mine.toml."),
            ("sqlite:///x.db", case.statement, "Pass --query ledger.sql."),
        ):
            done = case.run_with(ledger, statement)
            assert (done.exit_code, hint in done.stderr, re.findall(r"\w='|\(\)|Python", done.stderr)) == (2, True, [])

    @pytest.mark.thorough
    def test_of_many_breaks_some_of_each_code_are_listed_as_wide_as_the_terminal(self, tmp_path: Path):
        missing = [row for row in BOTH if row is not BOTH[3]]
        other = [row | {"amount_minor": 50_000} for row in missing[:30]]
        case = written(tmp_path, BOTH, [row | {"description": "A long narrative " * 9} for row in other + missing[30:]])
        given = ("reconcile", case.ledger, case.statement, *out("b.html", "b.csv"))
        for width, most, text in zip((120, 100), (1, 3), shown(case.here, *given, widths=(100,)), strict=True):
            lines = text.splitlines()
            first = next(place for place, line in enumerate(lines) if line.startswith("break "))
            listed = lines[first : lines.index("and 11 more in b.csv")]
            codes = [line.partition(":")[0] for line in listed if ": " in line]
            assert codes == ["amount_mismatch", "missing_in_statement"]
            assert len([line for line in listed if "operator:mtn" in line]) == 20
            assert len(listed) <= 2 + 2 + most * 20
            assert max(map(len, listed)) <= width


def test_what_only_the_ledger_has_is_told_apart_by_its_own_text(tmp_path: Path):
    (tmp_path / "books.csv").write_text(
        "Ref,Day,Amount,Details\nR1,05/01/2026,1250.00,Rent of 0961234567\nR2,05/01/2026,1250.00,Rent of Phiri\n"
    )
    (tmp_path / "books.toml").write_text(
        'name = "books"\ndates = ["%d/%m/%Y"]\naccount = "operator:mtn:float"\n[columns]\nkey = "Ref"\n'
        'moment = "Day"\namount = "Amount"\ndescription = "Details"\n'
    )
    case = written(tmp_path, statement=BOTH[:60:59])
    options = (*out(*OUTS), "--carry-to", "kept", "--ledger-layout", str(tmp_path / "books.toml"))
    done = case.run_with(str(tmp_path / "books.csv"), case.statement, *options)
    narratives = {"R1": "Rent of 096••••567", "R2": "Rent of Phiri"}
    for text in narratives.values():
        assert text in done.stdout
        assert all(any(text in cell for cell in texts_of(case.here / name)) for name in OUTS)
    kept = files.read(case.here / "kept" / "rows.parquet", CARRIED)
    assert narratives.items() <= dict(python_rows(kept, "key", "description")).items()


class TestFiles:
    def test_the_breaks_as_csv_and_parquet_with_gross_and_net_in_the_reason(self, done: tuple[Case, Result]):
        case, _ = done
        found = case.breaks()
        assert sorted((row["statement"], row["line"], row["key"], row["code"]) for row in found) == sorted(BREAKS)
        assert list(found[0]) == list(BREAK)
        table = files.read(case.here / "b.parquet", BREAK)
        assert [str(each) for each in table["variance_minor"]] == [row["variance_minor"] for row in found]
        by_code = {row["code"]: row for row in found}
        row, missing = by_code["amount_mismatch"], by_code["missing_in_statement"]
        assert row["reason"] == (
            "1000000005 is K100.05 gross in the ledger and K90.00 gross on the statement: K10.05 apart; "
            "with fees of K1.00 and K1.00 that is K99.05 net and K89.00 net."
        )
        assert (row["ledger_minor"], row["statement_minor"], row["variance_minor"]) == ("9905", "8900", "1005")
        assert "K99.03 net" in missing["reason"]
        assert missing["ledger_minor"] == "9903"

    @pytest.mark.thorough
    def test_what_is_open_is_carried_to_the_next_run(self, done: tuple[Case, Result]):
        case, _ = done
        again = case.run("--carry-forward", "kept/january")
        assert again.exit_code == 2, "the same statement again is no next one"
        assert "reported again: mtn.csv" in again.output
        skipped = case.run("--carry-forward", "kept/january", "--skip-settled")
        assert (skipped.exit_code, " repeated in overlapping files" in skipped.output) == (1, True)
        kept = {each.name for each in (case.here / "kept" / "january").iterdir()}
        assert kept == {
            "rows.parquet",
            "closed.parquet",
            "ahead.parquet",
            "decisions.parquet",
            "read.parquet",
            "told.parquet",
            "signed.parquet",
        }


SPELLINGS = [
    "+260961234567", "260961234567", "0961234567", "961234567", "+260 96 123 4567", "096-123-4567", "00260961234567",
    "+254712345678", "0211-123-4567",
]  # fmt: skip
"""How a merchant's own books may write a customer's number; the last two are no Zambian mobile number."""


def digits(text: str) -> str:
    return "".join(each for each in text if each.isdigit())


@pytest.mark.thorough
def test_a_ledger_may_hold_whole_numbers_and_nothing_that_is_shown_or_kept_does(tmp_path: Path):
    ledger = [movement(place, phone=phone) for place, phone in enumerate(SPELLINGS)]
    other = movement(20, phone="+26096••••567", key="1999999999")
    case = written(tmp_path, [*ledger, movement(20, phone=SPELLINGS[0])], [other])
    done = case.run(*out(*OUTS), "--carry-to", "kept")
    assert done.exit_code == 1
    written_ = [*(case.here / name for name in OUTS), *(case.here / "kept").iterdir()]
    shown = [done.output, *(text for path in written_ for text in texts_of(path))]
    whole = [digits(each)[-7:] for each in SPELLINGS]
    assert [text for text in shown for each in whole if each in digits(text) and len(text) < 100] == []
    assert [each for text in shown for each in SPELLINGS if each in text] == []
    assert all("+26096••••567" in (case.here / name).read_text("utf-8") for name in OUTS[:2])
    # One movement under two references is still found.
    found = {row["key"]: row for row in case.breaks()}
    assert found["1999999999"]["code"] == "wrong_reference"
    assert [body["recipe"] for body in json.loads(found["1999999999"]["proposal"])] == ["reversed", "reposted"]
    # What an earlier version kept whole is not handed on whole.
    kept = case.here / "kept" / "rows.parquet"
    files.write(files.read(kept, CARRIED).assign(phone=SPELLINGS[0]), kept, CARRIED)
    later = movement(24 * 3, key="1888888888", type="payment", line=2, balance_minor=None)
    write_statement([later], tmp_path / "next.csv", LAYOUTS["mtn"])
    carry = ("--carry-forward", "kept", "--carry-to", "again")
    assert case.run_with(case.ledger, str(tmp_path / "next.csv"), *carry).exit_code == 1
    again = files.read(case.here / "again" / "rows.parquet", CARRIED)
    assert len(again)
    assert [each for each in again["phone"].dropna() if "1234" in each] == []


RUN_BY_A_SPREADSHEET = [
    "=cmd|' /C calc'!A0", "+1+cmd|' /C calc'!A0", "-2+3", "@SUM(A1:A9)", "\t=1", "\r=1", "  =1+1",
    "\u00a0=1", "\ufeff=1", "\uff1d1+1", "\uff0b1+1", "\uff0d1+1", "\uff20A1", "=A1\n=A2", "%x", "|x", "+", "-", "-5x",
    "+A1",
]  # fmt: skip
AGAIN_AT_A_SEPARATOR = ["x;=1+1;", 'x";"=1+1', "x\t+1+1", "x\n@A1", "x; \uff1d1", "x\r\n-A1"]
HARMLESS = [
    "-5", "+260961234567", "+26096••••567", "-1,234.50", "a=b", "1+1", "K1-2", "x; y", '"quoted"', "'=1", "{}",
    "\u2013", "• -",
]  # fmt: skip


class TestForASpreadsheet:
    """A spreadsheet runs what begins as a formula does, and takes bytes without a mark for its own code page."""

    @pytest.mark.thorough
    def test_it_gets_a_mark_and_an_apostrophe_before_what_it_would_run(self, tmp_path: Path):
        texts = [*RUN_BY_A_SPREADSHEET, *AGAIN_AT_A_SEPARATOR, *HARMLESS]
        # Each is the key of a row that the statement lacks, and so stands in a break.
        case = written(tmp_path, [*BOTH, *(movement(place, key=text) for place, text in enumerate(texts))], BOTH)
        done = case.run(*out("b.csv", "b.parquet"))
        excel = case.run(*out("excel.csv"), "--excel")
        assert (excel.exit_code, excel.stderr) == (1, "")
        assert (case.here / "excel.csv").read_bytes().startswith(b'\xef\xbb\xbf"id"')
        pairs = list(zip(case.breaks(), case.breaks("excel.csv", "utf-8-sig"), strict=True))
        assert sorted(exact["key"] for exact, _ in pairs) == sorted(texts), "without it the file is exact"
        became = {exact["key"]: other["key"] for exact, other in pairs}
        for text in RUN_BY_A_SPREADSHEET:
            assert became[text] == "'" + text.replace("\n=", "\n'=").replace("\t=", "\t'=").replace("\r=", "\r'=")
        assert [text for text in HARMLESS if became[text] != text] == []
        # A cell does not begin again where a semicolon parts cells.
        for text in AGAIN_AT_A_SEPARATOR:
            for cell in re.split(r"[;\t\r\n]", became[text]):
                assert cell.lstrip(' "')[:1] not in set("=+-@\uff1d\uff0b\uff0d\uff20"), cell
        many = sum(exact[name] != other[name] for exact, other in pairs for name in exact)
        assert many >= len(RUN_BY_A_SPREADSHEET) + len(AGAIN_AT_A_SEPARATOR)
        (said,) = done.stderr.splitlines()
        assert said.startswith(f"b.csv has {many} cells that a spreadsheet would run as formulas")
        assert "--excel" in said
        assert "\nWritten: b.csv, b.parquet\n" in done.stdout


UNUSABLE = {
    "no such ledger": ("nowhere.parquet {statement}", "nowhere.parquet"),
    "an ending": ("{ledger} {statement} --out b.pdf", ".xlsx, .html, .csv, .parquet"),
    "no ending": ("{ledger} {statement} --out b", "ends in nothing"),
    "a workbook for a spreadsheet": ("{ledger} {statement} --out b.xlsx --excel", "--out *.csv"),
    "no such folder": ("{ledger} {statement} --out nowhere/b.csv", "no folder"),
    "over an input": ("{ledger} {statement} --out {statement}", "an input"),
    "twice": ("{ledger} {statement} --out b.csv --out ./b.csv", "named twice"),
    "the same statement": ("{ledger} {statement} {statement}", "mtn.csv"),
    "a statement as ledger": ("{statement} {statement}", "ledger"),
    "no parquet": ("{text} {statement}", "text.parquet"),
    "a ledger as statement": ("{ledger} {ledger}", "column"),
    "the two changed round": ("{statement} {ledger}", "give the ledger first"),
    "a ledger that is not there": ("nowhere.csv {statement}", "nowhere.csv cannot be read: there is no such file"),
    "a layout": ("{ledger} {statement} --layout mtm", "mtm"),
    "another account": ("{ledger} {statement} --account nobody", "nobody"),
    "a date format": ("{ledger} {statement} --date-format %q", "%q"),
    "a tolerance": ("{ledger} {statement} --tolerance time 1", "none of amount, fee."),
    "half a ngwee": ("{ledger} {statement} --tolerance fee 0.005", "0.005"),
    "days": ("{ledger} {statement} --tolerance days 3", 'match = [{ on = ["key"], days = 3 }]'),
    "minutes": ("{ledger} {statement} --tolerance minutes 9", '["amount", "phone"], minutes = 9 }'),
    "fields": ("{ledger} {statement} --pair-by amount,day", '{ on = ["amount"], days = 1 }'),
    "more fields": (
        "{ledger} {statement} --pair-by 'phone, fee, time'", '{ on = ["amount", "phone", "fee"], minutes = 15 }]',
    ),
    "where a rule is written": ("{ledger} {statement} --pair-by phone", "under [match] in the file of"),
    "no day": ("{ledger} {statement} --as-of ''", "'' is not a day"),
    "a cut-off": ("{ledger} {statement} --cut-off -1", "--cut-off"),
    "over the period before": (
        "{ledger} {statement} --carry-forward . --carry-to ./", "give each period its own folder",
    ),
    "nothing carried": ("{ledger} {statement} --carry-forward nowhere", "--carry-to"),
    "a journal that is a workbook": ("{ledger} {statement} --journal j.xlsx", "A journal is a .csv file"),
    "a journal's account": ("{ledger} {statement} --journal j.csv --journal-account 7901", "NAME=CODE"),
    "a journal's account twice": (
        "{ledger} {statement} --journal j.csv --journal-account charges=1 --journal-account charges=2",
        "charges is given twice",
    ),
    "no statement": ("{ledger}", "STATEMENT"),
}  # fmt: skip
"""The arguments of the command, as a shell would cut them, and what it says."""


def test_what_cannot_be_used_ends_with_2_and_says_why(tmp_path: Path):
    case = written(tmp_path)
    text = case.folder / "text.parquet"
    text.write_text("no table")
    given = {"ledger": case.ledger, "statement": case.statement, "text": str(text)}

    def refused(name: str, arguments: str, expected: str) -> None:
        done = case.run_with(*(each.format(**given) for each in shlex.split(arguments)))
        assert (done.exit_code, done.stdout) == (2, ""), name
        assert expected in done.stderr, name
        assert done.stderr.splitlines()[-1].startswith("Error: "), name
        assert "Reconciling" not in done.stderr, name
        assert list(case.here.iterdir()) == [], name

    for name, (arguments, expected) in UNUSABLE.items():
        refused(name, arguments, expected)
    for content in ("", "Id,Date\n", "\xff\xfe\x00"):
        Path(case.statement).write_text(content, "latin-1")
        refused(repr(content), "{ledger} {statement}", "mtn.csv")


def test_ledger_rows_before_the_first_statement_are_its_opening_balance_and_a_cut_line_proves_nothing(tmp_path: Path):
    """Books of 1,000.00 at the end of June and 495.00 more in July are 1,495.00, with balances or without."""
    layout = tmp_path / "s.toml"
    layout.write_text(
        'name = "s"\ndates = ["%Y-%m-%d"]\naccount = "operator:mtn:float"\ncurrency = "ZMW"\n'
        '[columns]\nkey = "Key"\nmoment = "Day"\namount = "Amount"\nbalance = "Balance"\n'
    )
    rows = [("501", "2026-05-02", 594, 594), ("601", "2026-06-30", 406, 1000), ("701", "2026-07-02", 495, 1495)]
    months = "Key,Day,Amount,Balance\n701,2026-07-02,495.00,1495.00\n"
    for name, text, holds in (("whole", months, True), ("cut", f"{months}702,2026-07-05,9", False)):
        statement = tmp_path / f"{name}.csv"
        statement.write_text(text)
        for balance in ("", ",balance"):
            lines = [
                f"{key},{day},{moved},operator:mtn:float" + f",{end}" * bool(balance) for key, day, moved, end in rows
            ]
            ledger = tmp_path / "ledger.csv"
            ledger.write_text("\n".join([f"key,occurred_at,amount,account{balance}", *lines, ""]))
            result = reconcile(str(ledger), read_statement(statement, layout=layout))
            (proven,) = result.proof.itertuples()
            assert (proven.ledger_minor, proven.statement_minor, proven.holds) == (149_500, 149_500, holds), proven.note
            assert [*result.breaks["code"]] == ["invalid_row"] * (not holds)
            (note,) = [note for note in result.notes if "begins before the statement: 2 rows" in note]
            assert "K1,000.00" in note
            assert "--carry-forward FOLDER" in note
            with ledger.open("a") as more:
                more.write(f"700,2026-07-01,5,operator:mtn:float{',1500' * bool(balance)}\n")
            later = reconcile(str(ledger), read_statement(statement, layout=layout))
            assert "missing_in_statement" in [*later.breaks["code"]], "the same month, though before the first row"
            assert result.carry_forward.rows["side"].isin(["statement"]).all()


def test_without_any_balance_the_ledger_rows_before_the_period_are_both_openings(tmp_path: Path):
    layout, statement, ledger = (tmp_path / name for name in ("s.toml", "july.csv", "books.csv"))
    layout.write_text(
        'name = "s"\ndates = ["%Y-%m-%d"]\naccount = "operator:mtn:float"\ncurrency = "ZMW"\n'
        '[columns]\nkey = "Key"\nmoment = "Day"\namount = "Amount"\n'
    )
    statement.write_text("Key,Day,Amount\n701,2026-07-02,495.00\n")
    ledger.write_text(
        "key,occurred_at,amount,account\n501,2026-06-30,1000.00,operator:mtn:float\n"
        "701,2026-07-02,495.00,operator:mtn:float\n801,2026-08-02,7.00,operator:mtn:float\n"
    )
    (proven,) = reconcile(str(ledger), read_statement(statement, layout=layout)).proof.itertuples()
    assert (proven.ledger_minor, proven.statement_minor, proven.opening_minor) == (149_500, 149_500, 0)
