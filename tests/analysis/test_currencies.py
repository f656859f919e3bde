"""Amounts have the decimals of their currency: read, written, drafted, reconciled and reported."""

from contextlib import chdir
from decimal import Decimal
from pathlib import Path

import openpyxl
import pandas as pd
import pytest
from click.testing import CliRunner

from tests.analysis.test_reconcile import ledger_of, movement, statement_of
from workbench.analysis.frames import money
from workbench.analysis.reconcile import reconcile
from workbench.analysis.statements import Layout, draft_layout, read_ledger, read_statement
from workbench.cli import app
from workbench.errors import StatementRefused

LAYOUT = """\
account = "operator:mtn:float"
currency = "UGX"
dates = ["%Y-%m-%d"]
thousands = ","

[columns]
key = "Reference"
moment = "Date"
amount = "Amount"
balance = "Balance"

[preamble]
opening = "Opening"
"""
ROWS = 'Opening,"100,000"\nReference,Date,Amount,Balance\n7001,2026-10-01,"15,000","115,000"\n'
SHILLINGS = f"{ROWS}7002,2026-10-02,-500.00,114500\n"
LEDGER = (
    "account,key,occurred_at,amount,currency,balance\n"
    "operator:mtn:float,7001,2026-10-01,15000,UGX,115000\noperator:mtn:float,7002,2026-10-02,-600,UGX,114400\n"
)
DINARS = "Reference,Date,Amount (KWD),Balance (KWD)\n1,2026-10-13,15.500,115.500\n2,2026-10-14,-6.125,109.375\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in {"uganda.toml": LAYOUT, "mtn.csv": SHILLINGS, "ledger.csv": LEDGER, "kwd.csv": DINARS}.items():
        (tmp_path / name).write_text(text, "utf-8")
    return tmp_path


def test_a_currency_without_decimals_is_read_in_whole_units_with_zeros_behind_the_point_or_without(folder: Path):
    read = read_statement(folder / "mtn.csv", layout=folder / "uganda.toml")
    assert (read.opening_minor, read.closing_minor) == (100_000, 114_500)
    assert read.rows["amount_minor"].tolist() == [15_000, 500]
    assert read.findings.empty
    assert "UGX 114,500" in repr(read)


@pytest.mark.parametrize("text", ["99.50", "99.5", "15.000", "0.01"])
def test_more_decimals_than_the_currency_has_are_refused_by_name(folder: Path, text: str):
    (folder / "mtn.csv").write_text(f"{ROWS}7002,2026-10-02,{text},115100\n", "utf-8")
    read = read_statement(folder / "mtn.csv", layout=folder / "uganda.toml")
    assert read.rows["problem"].tolist()[1] == f"Amount '{text}' has more decimals than UGX, which has none"
    (folder / "ledger.csv").write_text(LEDGER.replace("15000", text), "utf-8")
    with pytest.raises(StatementRefused, match="has more decimals than UGX, which has none"):
        read_ledger(folder / "ledger.csv")
    (folder / "mtn.csv").write_text(f'Opening,"{text}"\n{ROWS.partition(chr(10))[2]}', "utf-8")
    with pytest.raises(StatementRefused, match=r"line 1: Opening '.*' has more decimals than UGX"):
        read_statement(folder / "mtn.csv", layout=folder / "uganda.toml")


def test_each_row_is_read_by_its_own_currency_and_that_above_the_header_holds_for_balances_above_it(tmp_path: Path):
    columns = {"key": "Id", "moment": "Date", "amount": "Amount", "currency": "Currency"}
    layout = Layout(name="own", columns=columns, dates=("%Y-%m-%d",), account="bank:settlement",
                    preamble={"opening": "Opening", "currency": "In"})  # fmt: skip
    path = tmp_path / "all.csv"
    rows = (("ZMW", "1.50"), ("UGX", "150"), ("KWD", "1.500"), ("XXX", "1.50"), ("zmw", "1.505"), ("KWD", "0.0005"))
    lines = [f"{number},2026-10-01,{amount},{code}" for number, (code, amount) in enumerate(rows)]
    path.write_text("\n".join(["Opening,20.000", "In,KWD", "Id,Date,Amount,Currency", *lines]), "utf-8")
    read = read_statement(path, layout=layout)
    assert read.opening_minor == 20_000
    assert read.rows["amount_minor"].tolist()[:4] == [150, 150, 1_500, 150]
    assert read.rows["problem"].tolist()[4:] == [
        "Amount '1.505' has more decimals than ZMW, which has 2",
        "Amount '0.0005' has more decimals than KWD, which has 3",
    ]  # fmt: skip
    assert money(read.rows)["amount"].tolist()[:4] == ["1.50", "150", "1.500", "1.50"]


@pytest.mark.parametrize(
    "text",
    [
        DINARS,
        DINARS.replace(" (KWD)", "").replace("15.5", "KWD 15.5").replace("-6.1", "KWD -6.1"),
        "Currency:,KWD\n" + DINARS.replace(" (KWD)", ""),
        DINARS.replace(" (KWD)", "").replace("\n", ",KWD\n").replace("Balance,KWD", "Balance,Currency"),
    ],
    ids=["heading", "amounts", "above", "column"],
)
def test_a_draft_takes_three_digits_for_thousands_only_where_the_named_currency_has_fewer(folder: Path, text: str):
    (folder / "kwd.csv").write_text(text, "utf-8")
    draft = draft_layout(folder / "kwd.csv")
    read = draft.statement()
    assert (read.rows["amount_minor"].tolist(), read.closing_minor) == ([15_500, 6_125], 109_375)
    assert set(read.rows["currency"]) == {"KWD"}
    (folder / "kwd.csv").write_text(text.replace("KWD", "ZMW"), "utf-8")
    assert draft_layout(folder / "kwd.csv").statement().rows["amount_minor"].tolist() == [1_550_000, 612_500]


@pytest.mark.thorough
def test_every_report_writes_amounts_with_the_currencys_decimals(folder: Path):
    command = ["reconcile", "ledger.csv", "mtn.csv", "--layout", "uganda.toml"]
    with chdir(folder):
        outs = ["--out", "page.html", "--out", "book.xlsx"]
        done = CliRunner(catch_exceptions=False).invoke(app, [*command, *outs])
        assert "The proof holds to the last minor unit." in done.output
        assert "-600 ≠ -500 UGX" in done.output
        tolerated = CliRunner(catch_exceptions=False).invoke(app, [*command, "--tolerance", "amount", "100"])
        assert tolerated.exit_code == 0, tolerated.output
        finer = CliRunner(catch_exceptions=False).invoke(app, [*command, "--tolerance", "amount", "99.5"])
        assert "'99.5' is not a whole number from 0 up" in finer.output
    assert "UGX 600 gross in the ledger and UGX 500 gross on the statement: UGX 100 apart" in (
        (folder / "page.html").read_text("utf-8")
    )
    sheet = openpyxl.load_workbook(folder / "book.xlsx")["breaks"]
    places = {cell.value: cell.column for cell in sheet[1]}
    cell = sheet.cell(2, places["ledger net"])
    assert (Decimal(str(cell.value)), cell.number_format) == (Decimal(-600), "#,##0")


def test_a_currency_that_is_passed_holds_for_balances_above_the_header_of_a_ledger_too(tmp_path: Path):
    columns = {"key": "Id", "moment": "Date", "amount": "Amount"}
    layout = Layout(name="own", columns=columns, dates=("%Y-%m-%d",), preamble={"opening": "Opening"})
    (tmp_path / "books.csv").write_text("Opening,20.000\nId,Date,Amount\n1,2026-10-01,1.500\n", "utf-8")
    read = read_ledger(tmp_path / "books.csv", layout=layout, account="bank:settlement", currency="kwd")
    assert read.rows[["amount_minor", "balance_minor"]].to_numpy().tolist() == [[1_500, 21_500]]


HEADINGS = "account,key,occurred_at,amount,currency"
DOLLARS = ("usd,U1,2026-10-02,100.00,USD", "usd,U2,2026-10-03,50.00,USD", "usd,U9,2026-10-31,1.00,USD")


def reconciled(folder: Path, ledger: tuple[str, ...], statement: tuple[str, ...], *more: str) -> tuple[int, str]:
    """The exit status and the output of the command over rows under HEADINGS."""
    (folder / "books.csv").write_text("\n".join([HEADINGS, *ledger]), "utf-8")
    (folder / "bank.csv").write_text("\n".join([HEADINGS, *statement]), "utf-8")
    rows = pd.read_csv(folder / "bank.csv", dtype=str)
    rows.to_parquet(folder / "bank.parquet")
    with chdir(folder):
        done = CliRunner(catch_exceptions=False).invoke(app, ["reconcile", "books.csv", "bank.parquet", *more])
    return done.exit_code, done.output


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("usd,Z1,2026-10-05,2600.00,ZMW", "1 ledger row of K2,600.00 stands"),
        ("usd,Z1,2026-10-05,700,UGX", "1 ledger row of UGX 700 stands"),
        ("usd,Z1,2026-10-31,2600.00,ZMW", "1 ledger row of K2,600.00 stands"),
    ],
    ids=["kwacha", "shillings", "on the closing day"],
)
def test_a_row_in_another_currency_is_in_no_balance_and_is_named(folder: Path, row: str, said: str):
    status, text = reconciled(folder, (*DOLLARS, row), DOLLARS)
    assert status == 1
    assert f"{said} in an account in USD and is not in these balances" in text
    balances = [line.split() for line in text.splitlines() if "alance per" in line]
    assert [(line[-2], line[-1]) for line in balances] == [
        ("statement", "151.00"), ("statement", "151.00"), ("books", "151.00"), ("books", "151.00"),
    ]  # fmt: skip


def test_a_row_in_another_currency_that_matches_is_in_no_proof(folder: Path):
    row = "usd,Z1,2026-10-05,2600.00,ZMW"
    status, text = reconciled(folder, (*DOLLARS, row), (*DOLLARS, row))
    assert status == 1
    assert (
        "1 ledger row of K2,600.00 and 1 statement row of K2,600.00 stand in an account in USD and are not in" in text
    )
    assert "Nothing to settle. The proof does not hold for usd." in text


def test_of_one_key_in_two_currencies_only_the_side_in_the_accounts_is_an_item(folder: Path):
    ledger = (DOLLARS[0], DOLLARS[1].replace("50.00,USD", "900.00,ZMW"), DOLLARS[2])
    status, text = reconciled(
        folder, ledger, DOLLARS, "--out", "breaks.csv", "--out", "book.xlsx", "--out", "page.html"
    )
    assert status == 1
    said = "1 ledger row of K900.00 stands in an account in USD and is not in these balances"
    assert f"both adjusted balances agree; {said}" in text
    table = [tuple(line.split("  ")[:1]) + tuple(line.split()[-1:]) for line in text.splitlines()]
    assert ("less rows that the other side has in another currency", "-50.00") in table
    assert [line[-1] for line in table if line[0].startswith("Adjusted")] == ["101.00", "101.00"]
    assert "≠ +" not in text
    [found] = pd.read_csv(folder / "breaks.csv").to_dict("records")
    figures = ("ledger_minor", "ledger_amount_minor", "statement_minor", "variance_minor", "currency")
    assert [None if pd.isna(found[name]) else found[name] for name in figures] == [None, None, 5_000, -5_000, "USD"]
    assert found["reason"] == (
        "U2 is K900.00 gross in the ledger and USD 50.00 gross on the statement, in another currency."
    )
    cover = openpyxl.load_workbook(folder / "book.xlsx")["cover"]
    assert -50 in [cell.value for cell in cover["C"]]
    decided = pd.read_csv(folder / "breaks.csv", dtype=str).assign(verdict="write_off", who="Desk", why="seen")
    decided.to_csv(folder / "decided.csv", index=False)
    _, text = reconciled(folder, ledger, DOLLARS, "--decisions", "decided.csv", "--journal", "journal.csv")
    assert "Decided breaks that have no entry in the journal: 1 that no known entry settles." in text
    assert len((folder / "journal.csv").read_text("utf-8").splitlines()) == 1


def test_a_batch_in_two_currencies_is_summed_in_the_accounts(folder: Path):
    rows = ("usd,P1,B1,2026-10-02,50.00,USD", "usd,P2,B1,2026-10-02,7.00,ZMW", "usd,P3,B1,2026-10-02,3.00,ZMW")
    (folder / "books.csv").write_text("\n".join([HEADINGS.replace("key", "key,batch"), *rows]), "utf-8")
    statement = [{"account": "usd", "key": "B1", "occurred_at": "2026-10-02", "amount": "51.00", "currency": "USD"}]
    result = reconcile(folder / "books.csv", pd.DataFrame(statement))
    [found] = result.breaks.to_dict("records")
    assert (found["code"], found["currency"], found["rows"]) == ("batch_mismatch", "USD", 4)
    assert (found["ledger_minor"], found["statement_minor"], found["variance_minor"]) == (5_000, 5_100, -100)
    assert "2 ledger rows of K10.00 stand in an account in USD" in result.proof["note"][0]


def test_a_statements_balance_does_not_count_a_row_in_another_currency(tmp_path: Path):
    layout = Layout(name="own", dates=("%Y-%m-%d",), account="w", columns={
        "key": "Id", "moment": "Date", "amount": "Amount", "currency": "Currency", "balance": "Balance",
    })  # fmt: skip
    path = tmp_path / "bank.csv"
    lines = ["1,2026-10-01,100.00,ZMW,1100.00", "2,2026-10-02,7.00,USD,1100.00", "3,2026-10-03,50.00,ZMW,1150.00"]
    path.write_text("\n".join(["Id,Date,Amount,Currency,Balance", *lines]), "utf-8")
    read = read_statement(path, layout=layout)
    assert (read.findings.empty, read.opening_minor, read.closing_minor) == (True, 100_000, 115_000)
    kept = [line.rpartition(",")[0] for line in (lines[0], lines[2])]
    (tmp_path / "books.csv").write_text(
        "\n".join(["key,occurred_at,amount,currency,account", *(f"{line},w" for line in kept)])
    )
    result = reconcile(tmp_path / "books.csv", read)
    assert result.breaks["code"].tolist() == ["missing_in_ledger"]
    assert result.proof["holds"].tolist() == [True]


@pytest.mark.parametrize(
    ("ours", "theirs", "settlement"),
    [
        ("USD", "ZMW", "Correct the ledger: reverse the entry, and book it in the account's currency."),
        ("ZMW", "USD", "Ask the operator for a corrected statement."),
        ("", "ZMW", ""),
        ("ZMW", "", ""),
    ],
)
def test_the_advice_names_the_side_with_the_wrong_currency_and_an_empty_text_is_none(
    ours: str, theirs: str, settlement: str
):
    both = [movement("A", 500), movement("C", 1)]
    rows = [[*both, movement("B", 70, currency=currency)] for currency in (ours, theirs)]
    breaks = reconcile(ledger_of(*rows[0]), statement_of(*rows[1], opening=None)).breaks.set_index("code")
    if settlement:
        assert breaks["settlement"].to_dict() == {"currency_mismatch": settlement}
    else:
        assert breaks.loc["invalid_row", "reason"] == "The row cannot be used: no currency."
