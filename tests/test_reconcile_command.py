"""`workbench reconcile`: what it prints, writes and ends with, as a person or a script runs it."""

import csv
import json
import os
import pty
import re
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import openpyxl
import pandas as pd
import pytest
from click.testing import CliRunner, Result

from workbench.analysis import files
from workbench.analysis.reconcile import reconcile as reconciled
from workbench.analysis.report.outputs import write_breaks
from workbench.analysis.shapes import BREAK, CARRIED, LEDGER_MOVEMENT
from workbench.analysis.statements import LAYOUTS, read_statement, write_statement
from workbench.cli import app
from workbench.errors import ReportRefused

LIMIT_S = 120
ACCOUNT = "operator:mtn:float"
START = datetime(2026, 1, 5, 8, 0, tzinfo=UTC)

Rows = list[dict[str, Any]]


def movement(place: int, **more: Any) -> dict[str, Any]:  # noqa: ANN401  cells are of any type
    """The same movement for either side: 100.00 and some coming in, a fee of 1.00."""
    moment = START + timedelta(hours=place)
    return {
        "account": ACCOUNT, "key": f"10000{place:05}", "batch": None, "occurred_at": moment,
        "business_date": moment.date(), "direction": "in", "amount_minor": 10_000 + place, "fee_minor": 100,
        "currency": "ZMW", "status": "completed", "phone": f"+26096••••{place:03}",
    } | more  # fmt: skip


class Case(NamedTuple):
    """Files to reconcile."""

    folder: Path

    @property
    def ledger(self) -> str:
        return str(self.folder / "ledger.parquet")

    @property
    def statement(self) -> str:
        return str(self.folder / "mtn.csv")


def framed(rows: Rows, columns: dict[str, str]) -> pd.DataFrame:
    made = {name: pd.Series([row.get(name) for row in rows], dtype="object") for name in columns}
    return pd.DataFrame({name: series.astype(columns[name]) for name, series in made.items()})


def written(folder: Path, ledger: Rows, statement: Rows) -> Case:
    """A ledger and an operator's file of it, each with its running balance."""
    balance = 0
    booked = []
    for number, row in enumerate(ledger, start=1):
        balance += row["amount_minor"] - row["fee_minor"]
        booked.append(
            row | {"entry": f"je_{number}", "number": number, "kind": "funds_secured", "state": "posted",
                   "balance_minor": balance}
        )  # fmt: skip
    balance = 0
    told = []
    for line, row in enumerate(statement, start=2):
        balance += row["amount_minor"] - row["fee_minor"]
        told.append(row | {"statement": "mtn.csv", "line": line, "type": "payment", "balance_minor": balance})
    files.write(framed(booked, dict(LEDGER_MOVEMENT)), folder / "ledger.parquet", LEDGER_MOVEMENT)
    write_statement(told, folder / "mtn.csv", LAYOUTS["mtn"])
    return Case(folder)


@pytest.fixture
def clean(tmp_path: Path) -> Case:
    return written(tmp_path, [movement(place) for place in range(90)], [movement(place) for place in range(90)])


@pytest.fixture
def broken(tmp_path: Path) -> Case:
    """One that the statement lacks, one that the ledger lacks, and one of another amount."""
    ledger = [movement(place) for place in range(90) if place != 7]
    statement = [
        movement(place, **({"amount_minor": 9_000} if place == 5 else {})) for place in range(90) if place != 3
    ]
    return written(tmp_path, ledger, statement)


BREAKS = [
    ("mtn.csv", "", "1000000003", "missing_in_statement"),
    ("mtn.csv", "6", "1000000005", "amount_mismatch"),
    ("mtn.csv", "8", "1000000007", "missing_in_ledger"),
]


Run = Callable[..., Result]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run it in an empty folder; what is not refused on purpose fails the test."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return lambda *arguments: CliRunner(catch_exceptions=False).invoke(app, ["reconcile", *arguments])


class TestOutcome:
    def test_clean_books_end_with_0(self, run: Run, clean: Case):
        done = run(clean.ledger, clean.statement)
        assert (done.exit_code, done.stderr) == (0, "")
        assert done.stdout.startswith("Nothing to settle. The proof holds to the last ngwee.\n")
        assert "Breaks by code" not in done.stdout

    def test_a_layout_of_ones_own_stands_in_a_file(self, run: Run, clean: Case, tmp_path: Path):
        (tmp_path / "mine.toml").write_text(
            'account = "operator:mtn:float"\ndates = ["%d.%m.%Y"]\ndelimiter = ";"\ndecimal = ","\n'
            '[columns]\nkey = "Ref"\nmoment = "Day"\namount = "In"\nfee = "Cost"\n'
        )
        lines = [
            f"{row['key']};{row['business_date']:%d.%m.%Y};100,{row['amount_minor'] - 10_000:02};1,00"
            for row in (movement(place) for place in range(90))
        ]
        (tmp_path / "mine.csv").write_text("\n".join(["Ref;Day;In;Cost", *lines]))
        done = run(clean.ledger, str(tmp_path / "mine.csv"), "--layout", str(tmp_path / "mine.toml"))
        assert (done.exit_code, done.stderr) == (0, ""), done.stdout
        unknown = run(clean.ledger, str(tmp_path / "mine.csv"))
        assert unknown.exit_code == 2
        assert ".toml" in unknown.stderr

    def test_breaks_end_with_1_and_are_summed(self, run: Run, broken: Case):
        done = run(broken.ledger, broken.statement)
        assert (done.exit_code, done.stderr) == (1, "")
        assert done.stdout.startswith("3 breaks to settle. The proof holds to the last ngwee.\n")
        for code in ("missing_in_statement", "missing_in_ledger", "amount_mismatch"):
            assert code in done.stdout
        assert "+99.03" in done.stdout  # 100.03 less the fee, which the ledger alone has

    def test_what_may_still_follow_is_no_break(self, run: Run, tmp_path: Path):
        both = [movement(place) for place in range(90)]
        case = written(tmp_path, [*both, movement(90)], both)
        done = run(case.ledger, case.statement)
        assert done.exit_code == 0
        assert done.stdout.startswith("Nothing to settle, and 1 movement within the cut-off that may still follow.")
        assert run(case.ledger, case.statement, "--cut-off", "0").exit_code == 1

    def test_a_tolerance_is_taken_in_kwacha(self, run: Run, tmp_path: Path):
        ledger = [movement(place) for place in range(5)]
        case = written(tmp_path, ledger, [movement(0, amount_minor=10_050), *ledger[1:]])
        for value, status in (("0.49", 1), ("0.50", 0)):
            assert run(case.ledger, case.statement, "--tolerance", "amount", value).exit_code == status


class TestFiles:
    def test_the_breaks_as_csv_and_parquet(self, run: Run, broken: Case):
        done = run(broken.ledger, broken.statement, "--out", "b.csv", "--out", "b.parquet")
        here = broken.folder / "here"
        with (here / "b.csv").open(newline="", encoding="utf-8") as file:
            found = list(csv.DictReader(file))
        assert sorted((row["statement"], row["line"], row["key"], row["code"]) for row in found) == sorted(BREAKS)
        assert list(found[0]) == list(BREAK)
        table = files.read(here / "b.parquet", BREAK)
        assert [str(each) for each in table["variance_minor"]] == [row["variance_minor"] for row in found]
        assert done.stdout.endswith("Written: b.csv, b.parquet\n")

    def test_workbook_and_page(self, run: Run, broken: Case):
        assert run(broken.ledger, broken.statement, "--out", "b.xlsx", "--out", "b.HTML").exit_code == 1
        book = openpyxl.load_workbook(broken.folder / "here" / "b.xlsx")
        assert {book["breaks"].cell(row, 4).value for row in (2, 3, 4)} == {each[2] for each in BREAKS}
        assert book["matches"].max_row == 1 + 2 * 87
        book.close()
        page = (broken.folder / "here" / "b.HTML").read_text("utf-8")
        assert all(key in page for _, _, key, _ in BREAKS)

    def test_two_runs_write_the_same_bytes(self, run: Run, broken: Case):
        made = []
        for name in ("a", "b"):
            outs = [f"{name}{ending}" for ending in (".xlsx", ".html", ".csv", ".parquet")]
            run(broken.ledger, broken.statement, *(part for out in outs for part in ("--out", out)))
            made.append([(broken.folder / "here" / out).read_bytes() for out in outs])
        assert made[0] == made[1]

    def test_what_is_open_is_carried_to_the_next_run(self, run: Run, broken: Case):
        assert run(broken.ledger, broken.statement, "--carry-to", "kept/january").exit_code == 1
        done = run(broken.ledger, broken.statement, "--carry-forward", "kept/january")
        assert done.exit_code == 2, "the same statement again is no next one"
        assert "told again: mtn.csv" in done.output
        assert {each.name for each in (broken.folder / "here" / "kept" / "january").iterdir()} == {
            "rows.parquet", "closed.parquet", "ahead.parquet",
        }  # fmt: skip

    def test_a_row_that_cannot_be_used_is_told_with_its_reason(self, run: Run, clean: Case):
        statement = Path(clean.statement)
        statement.write_text(statement.read_text("utf-8").replace("Successful", "SUCCESS"), "utf-8")
        done = run(clean.ledger, clean.statement)
        assert done.exit_code == 1
        assert "Status 'SUCCESS' is none of Successful" in done.stdout
        assert "--out breaks.csv" in done.stdout

    def test_a_ledger_may_be_csv(self, run: Run, broken: Case):
        ledger = broken.folder / "ledger.csv"
        files.write(files.read(broken.ledger, LEDGER_MOVEMENT), ledger, LEDGER_MOVEMENT)
        done = run(str(ledger), broken.statement)
        assert done.stdout == run(broken.ledger, broken.statement).stdout
        assert done.exit_code == 1


SPELLINGS = [
    "+260961234567", "260961234567", "0961234567", "961234567", "+260 96 123 4567", "096-123-4567", "00260961234567",
    "+254712345678", "0211-123-4567",
]  # fmt: skip
"""How a merchant's own books may write a customer's number; the last two are no Zambian mobile number."""


def digits(text: str) -> str:
    return "".join(each for each in text if each.isdigit())


class TestPhones:
    """A merchant's own ledger may hold whole numbers: nothing that is shown or written does."""

    @pytest.fixture
    def phoned(self, tmp_path: Path) -> Case:
        """Breaks of the ledger alone, and one under another reference, each with a whole number."""
        ledger = [movement(place, phone=phone) for place, phone in enumerate(SPELLINGS)]
        other = movement(20, phone="+26096••••567")
        return written(tmp_path, [*ledger, movement(20, phone=SPELLINGS[0])], [other | {"key": "1999999999"}])

    def test_no_whole_number_is_shown_or_written(self, run: Run, phoned: Case):
        names = ["b.csv", "b.html", "b.xlsx", "b.parquet"]
        outs = [part for name in names for part in ("--out", name)]
        done = run(phoned.ledger, phoned.statement, *outs, "--carry-to", "kept")
        assert done.exit_code == 1
        here = phoned.folder / "here"
        shown = [done.output, *((here / name).read_text("utf-8") for name in names[:2])]
        book = openpyxl.load_workbook(here / "b.xlsx")
        shown += [str(cell) for sheet in book for row in sheet.iter_rows(values_only=True) for cell in row]
        book.close()
        for path in (here / "b.parquet", *(here / "kept").iterdir()):
            shown += map(str, pd.read_parquet(path).to_numpy().ravel().tolist())
        whole = [digits(each)[-7:] for each in SPELLINGS]
        assert [text for text in shown for each in whole if each in digits(text) and len(text) < 100] == []
        assert [each for text in shown for each in SPELLINGS if each in text] == []
        assert "+26096••••567" in shown[1]
        assert "+26096••••567" in shown[2]

    def test_one_movement_under_two_references_is_still_found(self, run: Run, phoned: Case):
        run(phoned.ledger, phoned.statement, "--out", "b.csv")
        with (phoned.folder / "here" / "b.csv").open(newline="", encoding="utf-8") as file:
            found = {row["key"]: row for row in csv.DictReader(file)}
        assert found["1999999999"]["code"] == "wrong_reference"
        recipes = [body["recipe"] for body in json.loads(found["1999999999"]["proposal"])]
        assert recipes == ["reversed", "reposted"]

    def test_what_an_earlier_run_kept_whole_is_not_handed_on_whole(self, run: Run, phoned: Case):
        run(phoned.ledger, phoned.statement, "--carry-to", "kept")
        kept = phoned.folder / "here" / "kept" / "rows.parquet"
        files.write(files.read(kept, CARRIED).assign(phone=SPELLINGS[0]), kept, CARRIED)
        Path(phoned.statement).unlink()
        later = movement(24 * 3, key="1888888888", type="payment", line=2, balance_minor=None)
        write_statement([later], phoned.folder / "next.csv", LAYOUTS["mtn"])
        done = run(phoned.ledger, str(phoned.folder / "next.csv"), "--carry-forward", "kept", "--carry-to", "again")
        assert done.exit_code == 1, done.output
        again = files.read(phoned.folder / "here" / "again" / "rows.parquet", CARRIED)
        assert len(again)
        assert [each for each in again["phone"].dropna() if "1234" in each] == []


class TestGrossAndNet:
    """Sentences tell the amounts that a person looks for, tables what moves the balance: each says which it is."""

    def test_a_sentence_says_gross_fee_and_net_and_ends_in_the_tables_figures(self, run: Run, broken: Case):
        run(broken.ledger, broken.statement, "--out", "b.csv")
        by_code = {row["code"]: row for row in table(broken.folder / "here" / "b.csv")}
        row = by_code["amount_mismatch"]
        assert row["reason"] == (
            "1000000005 is K100.05 gross in the ledger and K90.00 gross on the statement: K10.05 apart; "
            "with fees of K1.00 and K1.00 that is K99.05 net and K89.00 net."
        )
        assert (row["ledger_minor"], row["statement_minor"], row["variance_minor"]) == ("9905", "8900", "1005")
        assert "K99.03 net" in by_code["missing_in_statement"]["reason"]
        assert by_code["missing_in_statement"]["ledger_minor"] == "9903"

    def test_terminal_page_and_workbook_name_what_is_net(self, run: Run, broken: Case):
        done = run(broken.ledger, broken.statement, "--out", "b.html", "--out", "b.xlsx")
        assert "by net value  net variance" in done.stdout
        assert "Breaks by code, net of fees" in done.stdout
        page = (broken.folder / "here" / "b.html").read_text("utf-8")
        assert all(f">{side}, net</th>" in page for side in ("ledger", "statement"))
        assert "its fee included" in page
        book = openpyxl.load_workbook(broken.folder / "here" / "b.xlsx")
        headings = {name: [cell.value for cell in book[name][1]] for name in ("breaks", "matches", "summary", "proof")}
        book.close()
        assert {"ledger net", "statement net", "net variance"} <= set(headings["breaks"])
        assert "net, signed" in headings["matches"]
        assert {"ledger net value", "statement net value", "net variance"} <= set(headings["summary"])
        assert {"ledger closing", "statement closing"} <= set(headings["proof"])

    def test_so_does_the_result_in_a_notebook(self, broken: Case):
        ledger = files.read(broken.ledger, LEDGER_MOVEMENT)
        with reconciled(ledger, read_statement(broken.statement)) as result:
            assert "net value matched" in repr(result)
            assert "net value matched" in result._repr_html_()


RUN_BY_A_SPREADSHEET = [
    "=cmd|' /C calc'!A0", "+1+cmd|' /C calc'!A0", "-2+3", "@SUM(A1:A9)", "\t=1", "\r=1", "  =1+1",
    "\u00a0=1", "\ufeff=1", "\uff1d1+1", "\uff0b1+1", "\uff0d1+1", "\uff20A1", "=A1\n=A2", "%x", "|x", "+", "-", "-5x",
    "+A1",
]  # fmt: skip
AGAIN_AT_A_SEPARATOR = ["x;=1+1;", 'x";"=1+1', "x\t+1+1", "x\n@A1", "x; \uff1d1", "x\r\n-A1"]
HARMLESS = [
    "-5",
    "+260961234567",
    "+26096••••567",
    "-1,234.50",
    "a=b",
    "1+1",
    "K1-2",
    "x; y",
    '"quoted"',
    "'=1",
    "{}",
    "\u2013",
    "• -",
]


def hostile(folder: Path, texts: list[str]) -> Case:
    """A month in whose ledger each text is the key of a row that the statement lacks, and so stands in a break."""
    rows = [movement(place) for place in range(90)]
    return written(folder, [*rows, *(movement(place, key=text) for place, text in enumerate(texts))], rows)


def table(path: Path, encoding: str = "utf-8") -> list[dict[str, str]]:
    with path.open(newline="", encoding=encoding) as file:
        return list(csv.DictReader(file))


def keys(path: Path, encoding: str = "utf-8") -> list[str]:
    return sorted(row["key"] for row in table(path, encoding))


class TestForASpreadsheet:
    """A spreadsheet runs what begins as a formula does, and takes bytes without a mark for its own code page."""

    def test_it_gets_a_mark_and_an_apostrophe_before_what_it_would_run(self, run: Run, tmp_path: Path):
        texts = [*RUN_BY_A_SPREADSHEET, *HARMLESS]
        case = hostile(tmp_path, texts)
        done = run(case.ledger, case.statement, "--out", "b.csv", "--excel")
        assert (done.exit_code, done.stderr) == (1, "")
        content = (tmp_path / "here" / "b.csv").read_bytes()
        assert content.startswith(b'\xef\xbb\xbf"statement"')
        safe = [
            text.replace("\n=", "\n'=").replace("\t=", "\t'=").replace("\r=", "\r'=") for text in RUN_BY_A_SPREADSHEET
        ]
        assert keys(tmp_path / "here" / "b.csv", "utf-8-sig") == sorted([*(f"'{text}" for text in safe), *HARMLESS])

    def test_a_cell_does_not_begin_again_where_a_semicolon_parts_cells(self, run: Run, tmp_path: Path):
        case = hostile(tmp_path, AGAIN_AT_A_SEPARATOR)
        run(case.ledger, case.statement, "--out", "b.csv", "--excel")
        whole = (tmp_path / "here" / "b.csv").read_text("utf-8-sig")
        for cell in re.split(r"[;\t\r\n]", whole):
            assert cell.lstrip(' "')[:1] not in set("=+-@\uff1d\uff0b\uff0d\uff20"), cell

    def test_numbers_stay_numbers(self, run: Run, broken: Case):
        for name, more in (("exact.csv", []), ("excel.csv", ["--excel"])):
            run(broken.ledger, broken.statement, "--out", name, *more)
        exact, excel = (
            (broken.folder / "here" / name).read_text(encoding)
            for name, encoding in (("exact.csv", "utf-8"), ("excel.csv", "utf-8-sig"))
        )
        assert exact == excel
        assert ",-" in exact

    def test_without_it_the_file_is_exact_and_a_line_says_what_is_in_it(self, run: Run, tmp_path: Path):
        texts = [*RUN_BY_A_SPREADSHEET, *AGAIN_AT_A_SEPARATOR, *HARMLESS]
        case = hostile(tmp_path, texts)
        done = run(case.ledger, case.statement, "--out", "b.csv", "--out", "b.parquet")
        run(case.ledger, case.statement, "--out", "excel.csv", "--excel")
        here = tmp_path / "here"
        assert keys(here / "b.csv") == sorted(texts)
        pairs = zip(table(here / "b.csv"), table(here / "excel.csv", "utf-8-sig"), strict=True)
        many = sum(exact[name] != other[name] for exact, other in pairs for name in exact)
        assert many >= len(RUN_BY_A_SPREADSHEET) + len(AGAIN_AT_A_SEPARATOR)
        (said,) = done.stderr.splitlines()
        assert said.startswith(f"b.csv has {many} cells that a spreadsheet would run as formulas")
        assert "--excel" in said
        assert done.stdout.endswith("Written: b.csv, b.parquet\n")

    def test_nothing_is_said_where_there_is_nothing_to_run(self, run: Run, broken: Case):
        done = run(broken.ledger, broken.statement, "--out", "b.csv")
        assert (done.exit_code, done.stderr) == (1, "")

    def test_it_is_for_csv_alone(self, run: Run, broken: Case):
        done = run(broken.ledger, broken.statement, "--out", "b.xlsx", "--excel")
        assert (done.exit_code, done.stdout) == (2, "")
        assert "--out *.csv" in done.stderr
        result = SimpleNamespace(breaks=framed([], dict(BREAK)))
        with pytest.raises(ReportRefused, match=r"\.csv"):
            write_breaks(result, broken.folder / "b.parquet", excel=True)

    def test_it_is_read_back_as_a_table(self, run: Run, broken: Case):
        run(broken.ledger, broken.statement, "--out", "b.csv", "--excel")
        assert len(files.read(broken.folder / "here" / "b.csv", BREAK)) == 3

    def test_ledger_statements_and_answers_stay_exact(self, tmp_path: Path):
        done = CliRunner(catch_exceptions=False).invoke(
            app, ["simulate", "--payments", "20", "--days", "2", "--seed", "7", "--out", str(tmp_path / "month")]
        )
        assert done.exit_code == 0
        for path in (tmp_path / "month").rglob("*.csv"):
            assert not path.read_bytes().startswith(b"\xef\xbb\xbf")


UNUSABLE = {
    "no such ledger": (["nowhere.parquet", "{statement}"], "nowhere.parquet"),
    "no such statement": (["{ledger}", "nowhere.csv"], "nowhere.csv"),
    "an ending": (["{ledger}", "{statement}", "--out", "b.pdf"], ".xlsx, .html, .csv, .parquet"),
    "no ending": (["{ledger}", "{statement}", "--out", "b"], "ends in nothing"),
    "no such folder": (["{ledger}", "{statement}", "--out", "nowhere/b.csv"], "no folder"),
    "over an input": (["{ledger}", "{statement}", "--out", "{statement}"], "an input"),
    "twice": (["{ledger}", "{statement}", "--out", "b.csv", "--out", "./b.csv"], "named twice"),
    "the same statement": (["{ledger}", "{statement}", "{statement}"], "mtn.csv"),
    "a statement as ledger": (["{statement}", "{statement}"], "ledger"),
    "no parquet": (["{text}", "{statement}"], "text.parquet"),
    "a ledger as statement": (["{ledger}", "{ledger}"], "column"),
    "the two changed round": (["{statement}", "{ledger}"], "The ledger comes first"),
    "a ledger that is not there": (["nowhere.csv", "{statement}"], "there is no file nowhere.csv"),
    "a layout": (["{ledger}", "{statement}", "--layout", "mtm"], "mtm"),
    "another account": (["{ledger}", "{statement}", "--account", "nobody"], "nobody"),
    "a date format": (["{ledger}", "{statement}", "--date-format", "%q"], "%q"),
    "a tolerance": (["{ledger}", "{statement}", "--tolerance", "time", "1"], "amount, fee, days"),
    "half a ngwee": (["{ledger}", "{statement}", "--tolerance", "fee", "0.005"], "0.005"),
    "no number": (["{ledger}", "{statement}", "--tolerance", "amount", "NaN"], "NaN"),
    "half a day": (["{ledger}", "{statement}", "--tolerance", "days", "0.5"], "0.5"),
    "a cut-off": (["{ledger}", "{statement}", "--cut-off", "-1"], "--cut-off"),
    "nothing carried": (["{ledger}", "{statement}", "--carry-forward", "nowhere"], "--carry-to"),
    "an engine": (["{ledger}", "{statement}", "--engine", "abacus"], "duckdb"),
    "no statement": (["{ledger}"], "STATEMENT"),
}


class TestUnusable:
    @pytest.mark.parametrize("name", UNUSABLE)
    def test_it_ends_with_2_and_says_why(self, run: Run, broken: Case, name: str):
        arguments, said = UNUSABLE[name]
        text = broken.folder / "text.parquet"
        text.write_text("no table")
        given = {"ledger": broken.ledger, "statement": broken.statement, "text": str(text)}
        done = run(*(each.format(**given) for each in arguments))
        assert (done.exit_code, done.stdout) == (2, "")
        assert said in done.stderr
        assert done.stderr.splitlines()[-1].startswith("Error: ")
        assert list((broken.folder / "here").iterdir()) == []

    @pytest.mark.parametrize("content", ["", "Id,Date\n", "\xff\xfe\x00"], ids=["empty", "other headings", "no text"])
    def test_a_statement_that_is_none(self, run: Run, broken: Case, content: str):
        (broken.folder / "mtn.csv").write_text(content, "latin-1")
        done = run(broken.ledger, broken.statement)
        assert (done.exit_code, done.stdout) == (2, "")
        assert "mtn.csv" in done.stderr

    def test_spark_that_is_not_installed_is_named_with_what_installs_it(
        self, run: Run, broken: Case, monkeypatch: pytest.MonkeyPatch
    ):
        monkeypatch.setitem(sys.modules, "pyspark", None)
        done = run(broken.ledger, broken.statement, "--engine", "spark")
        assert (done.exit_code, done.stdout) == (2, "")
        assert "mobile-money-workbench[spark]" in done.stderr


class TestProcess:
    """The installed command, as a process of its own."""

    def test_it_ends_with_its_status(self, command: str, broken: Case):
        for layout, status in (("mtn", 1), ("none", 2)):
            done = subprocess.run(  # noqa: S603  our own command
                [command, "reconcile", broken.ledger, broken.statement, "--layout", layout],
                capture_output=True, text=True, check=False, timeout=LIMIT_S,
            )  # fmt: skip
            assert done.returncode == status
            assert (done.stderr == "") == (status == 1)

    def test_what_is_being_done_is_told_to_a_terminal(self, command: str, broken: Case):
        main, theirs = pty.openpty()
        done = subprocess.run(  # noqa: S603  our own command
            [command, "reconcile", broken.ledger, broken.statement],
            stdout=subprocess.PIPE, stderr=theirs, env=os.environ | {"TERM": "xterm"}, check=False, timeout=LIMIT_S,
        )  # fmt: skip
        os.close(theirs)
        shown = os.read(main, 100_000).decode()
        os.close(main)
        assert done.returncode == 1
        assert "Reconciling" in shown
        assert b"Reconciling" not in done.stdout

    def test_help_loads_nothing_that_works_with_tables(self):
        code = "import json, sys, workbench.cli; print(json.dumps(sorted(sys.modules)))"
        done = subprocess.run(  # noqa: S603  this interpreter
            [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=LIMIT_S
        )
        assert not {"pandas", "duckdb", "pyarrow", "matplotlib", "narwhals"} & set(json.loads(done.stdout))
