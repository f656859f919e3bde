"""Bad statements: each a refusal that says what is wrong, or a row that is kept with the reason."""

import zipfile
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import openpyxl
import pytest
from click.testing import CliRunner

from workbench.analysis.shapes import LEDGER_MOVEMENT, STATEMENT_ROW
from workbench.analysis.statements import LAYOUTS, Layout, read_statement, write_statement
from workbench.cli import app
from workbench.errors import StatementRefused, WorkbenchError

HEADER = "Id,Date,Status,Type,From,To,Amount,Fee,Balance"
GOOD = "001,2026-01-05 08:01:02,Successful,Payment,FRI:260961234567/MSISDN,FRI:shop/USER,100.00,1.00,99.00"
AIRTEL = "Transaction ID,Transaction Date,Description,Status,Transaction Amount,Credit/Debit,Fee,Balance"

File = Callable[..., Path]


@pytest.fixture
def file(tmp_path: Path) -> File:
    def made(*lines: str, name: str = "statement.csv", encoding: str = "utf-8") -> Path:
        path = tmp_path / name
        path.write_bytes("\n".join(lines).encode(encoding))
        return path

    return made


def with_cells(**cells: str) -> str:
    """The good row with other cells, by their headings."""
    made = dict(zip(HEADER.split(","), GOOD.split(","), strict=True)) | cells
    return ",".join(made.values())


def problem_of(path: Path, **options: str) -> str:
    read = read_statement(path, **options)
    assert len(read.rows) == 1
    return str(read.rows["problem"].iloc[0])


@pytest.mark.parametrize(
    ("cells", "problem"),
    [
        ({"Id": ""}, "Id is missing"),
        ({"Id": "  "}, "Id is missing"),
        ({"Id": "2.6E+11"}, "Id '2.6E+11' is a number whose digits a spreadsheet has not kept"),
        ({"Date": ""}, "Date is missing"),
        ({"Date": "yesterday"}, "Date 'yesterday' is not a date written as %Y-%m-%d %H:%M:%S or"),
        ({"Date": "2026-02-30 08:00:00"}, "is not a date"),
        ({"Status": "Lost"}, "Status 'Lost' is none of Successful, Completed, Failed, Pending"),
        ({"Status": ""}, "Status is missing"),
        ({"Amount": ""}, "Amount is missing"),
        ({"Amount": "0.00"}, "Amount '0.00' is not more than zero"),
        ({"Amount": "-5.00"}, "Amount '-5.00' is not more than zero"),
        ({"Amount": "many"}, "Amount 'many' is not an amount"),
        ({"Amount": '"1,234.00"'}, "Amount '1,234.00' is not written as the layout declares: decimals after '.'"),
        ({"Amount": "1.005"}, "Amount '1.005' is finer than 0.01"),
        ({"Amount": "NaN"}, "Amount 'NaN' is not an amount"),
        ({"Amount": "1e5"}, "Amount '1e5' is not an amount"),
        ({"Amount": "٣.00"}, "is not an amount"),
        ({"Amount": "9" * 30}, "has more than 13 digits before the point"),
        ({"Fee": "-1.00"}, "Fee '-1.00' is negative"),
        ({"Fee": "free"}, "Fee 'free' is not an amount"),
        ({"Balance": "n/a"}, "Balance 'n/a' is not an amount"),
        ({"To": "FRI:other/SP"}, "of From and To, neither is the account's own party"),
        ({"From": "FRI:shop/USER"}, "of From and To, both are the account's own party"),
        ({"Id": "", "Amount": "x", "Fee": "-1"}, "Id is missing; Amount 'x' is not an amount; Fee '-1' is negative"),
        ({"Balance": "1,2"}, "the row has 10 cells and the header 9"),
    ],
)
def test_a_bad_row_is_kept_and_says_everything_that_is_wrong(cells: dict[str, str], problem: str, file: File):
    assert problem in problem_of(file(HEADER, with_cells(**cells)))


def test_a_row_cut_short_is_kept(file: File):
    assert "the row has 3 cells and the header 9" in problem_of(file(HEADER, "001,2026-01-05 08:01:02,Successful"))


def test_the_header_again_in_the_middle_is_a_bad_row(file: File):
    read = read_statement(file(HEADER, GOOD, HEADER, GOOD))
    assert read.rows["line"].tolist() == [2, 3, 4]
    again = read.rows["problem"].str.startswith("the header stands here again").fillna(value=False)
    assert again.tolist() == [False, True, False]


def test_a_good_row_has_no_problem_and_an_empty_fee_is_none(file: File):
    read = read_statement(file(HEADER, GOOD, with_cells(Fee="", Balance=""), "", ",,,,,,,,", "  "))
    assert read.rows["problem"].isna().all()
    assert read.rows["fee_minor"].tolist() == [100, 0]
    assert read.rows["phone"].tolist() == ["+26096••••567"] * 2
    assert read.rows["key"].tolist() == ["001", "001"]


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("FRI:260961234567/MSISDN", "+26096••••567"),
        ("FRI:+260961234567/MSISDN", "+26096••••567"),
        ("260961234567", "+26096••••567"),
        ("+260 96 1234567", "+26096••••567"),
        ("0961234567", "+26096••••567"),
        ("961234567", "+26096••••567"),
        ("26096****567", "+26096••••567"),
        ("FRI:bank/SP", None),
        ("254961234567", None),
        ("", None),
    ],
)
def test_a_number_is_masked_however_it_is_written(written: str, shown: str | None, file: File):
    phone = read_statement(file(HEADER, with_cells(From=written))).rows["phone"].iloc[0]
    assert (None if not isinstance(phone, str) else phone) == shown


def test_separators_of_thousands_are_read_where_the_layout_declares_them(file: File):
    begins = "05-Jan-2026 08:01:02,x,Failed"
    rows = (f'1,{begins},"1,234,567.80",Credit,"1,000",', f'2,{begins},"12,34.00",DR,,')
    read = read_statement(file(AIRTEL, *rows))
    assert read.rows["amount_minor"].tolist()[0] == 123_456_780
    assert read.rows["fee_minor"].tolist()[0] == 100_000
    assert "is not written as the layout declares" in read.rows["problem"].iloc[1]


def test_another_currency_is_kept_as_it_is(file: File):
    read = read_statement(file(HEADER + ",Currency", GOOD + ",usd", GOOD + ",", GOOD + ",zmk", GOOD + ",kwacha"))
    assert read.rows["currency"].tolist()[:3] == ["USD", "ZMW", "ZMK"]
    assert read.rows["problem"].notna().tolist() == [False, False, False, True]


@pytest.mark.parametrize("length", [10_000, 200_000])
def test_a_long_text_and_a_formula_stay_text(length: int, file: File):
    long = "=cmd|' /C calc'!A0" + "x" * length
    read = read_statement(file(HEADER + ",Message", f"{GOOD},{long}", f"{GOOD},@SUM(A1)"))
    assert read.rows["description"].tolist() == [long, "@SUM(A1)"]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_text_is_read_in_utf_8_and_utf_16(encoding: str, file: File):
    assert problem_of(file(HEADER, GOOD, encoding=encoding)) == "<NA>"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty"),
        (b"\xef\xbb\xbf", "is empty"),
        (b"\n \n,,,\n", "is empty"),
        (HEADER.encode("utf-16-le"), "is not text"),
        (HEADER.encode("utf-32"), "is not text"),
        (f"{HEADER}\n{GOOD}\nMo\xe9,".encode("latin-1"), "is not text in utf-8: line 3 has other bytes"),
        (f"{HEADER}\n{GOOD}\n".encode("utf-16")[:-1], "is not text in utf-16"),
        (f'{HEADER}\n{GOOD}\n"open,\n{GOOD}\n'.encode(), "cannot be cut into cells at line 3"),
        (f'{HEADER}\n"a"b,\n'.encode(), "cannot be cut into cells at line 2"),
        (f"{HEADER}\n{'x' * 1_100_000}".encode(), "at line 2: a cell has more than 1,048,576 characters"),
        (f'{HEADER}\n"open,\n{GOOD * 12_000}\n'.encode(), "or is a quote not closed, so that all that follows is one"),
        (b"PK\x03\x04 and no more", "cut short or damaged"),
        (bytes.fromhex("d0cf11e0a1b11ae1") + bytes(500), "of the kind before .xlsx"),
        (bytes.fromhex("d0cf11e0a1b11ae1") + "EncryptedPackage".encode("utf-16-le"), "is encrypted"),
        (b"a,b\n1,2\n", "has none of the layouts known (mtn, airtel, airtel_signed, zamtel, aggregator)"),
        (HEADER.replace("Fee,", "").encode(), "For mtn it lacks Fee"),
        (f"{HEADER}\n{GOOD}".replace(",", ";").encode(), "For mtn it has ';' between its cells and not ','"),
        (f"{HEADER}\n{GOOD}".replace(",", "|").encode(), "replace(LAYOUTS['mtn'], delimiter='|')"),
        (",".join(LEDGER_MOVEMENT).encode(), "the columns of a ledger: it comes first"),
        (f"{HEADER},Secret".encode(), "For mtn it has besides Secret"),
        (f"{HEADER},FEE\n".encode(), "more than once"),
        (f"{GOOD}\n{HEADER}\n{GOOD}".encode(), "has a row above its header, in line 1"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused_in_words(content: bytes, words: str, tmp_path: Path):
    path = tmp_path / "statement.csv"
    path.write_bytes(content)
    with pytest.raises(StatementRefused) as refused:
        read_statement(path)
    assert words in str(refused.value)
    assert refused.value.facts["file"] == "statement.csv"
    assert str(tmp_path) not in str(refused.value)
    assert isinstance(refused.value, WorkbenchError)


def test_no_file_and_a_folder_are_refused(tmp_path: Path):
    with pytest.raises(StatementRefused, match="there is no such file"):
        read_statement(tmp_path / "none.csv")
    with pytest.raises(StatementRefused, match="is a folder"):
        read_statement(tmp_path)


def test_what_is_no_path_and_no_layout_is_refused(file: File):
    with pytest.raises(StatementRefused, match="path of a statement's file is wanted, not None"):
        read_statement(None)
    with pytest.raises(StatementRefused, match="not a dict"):
        read_statement(file(HEADER, GOOD), layout={"name": "own"})
    with pytest.raises(StatementRefused, match="dates are several"):
        Layout(name="own", columns={"key": "Id", "moment": "Date", "amount": "Amount"}, dates="%d.%m.%Y")


def test_headers_alone_are_a_statement_without_rows(file: File):
    read = read_statement(file(HEADER))
    assert {name: str(kind) for name, kind in read.rows.dtypes.items()} == dict(STATEMENT_ROW)
    assert (len(read.rows), read.period, read.opening_minor, read.closing_minor) == (0, None, None, None)
    assert "no rows" in repr(read)


def test_a_workbook_cut_short_anywhere_is_refused(tmp_path: Path):
    whole = tmp_path / "whole.xlsx"
    rows = [{"key": str(number), "status": "failed"} for number in range(50)]
    write_statement(rows, whole, LAYOUTS["mtn"])
    content = whole.read_bytes()
    for length in range(4, len(content), 97):
        cut = tmp_path / "cut.xlsx"
        cut.write_bytes(content[:length])
        with pytest.raises(StatementRefused):
            read_statement(cut)


def test_a_zip_that_is_no_workbook_is_refused(tmp_path: Path):
    path = tmp_path / "statement.xlsx"
    with zipfile.ZipFile(path, "w") as made:
        made.writestr("statement.csv", HEADER)
    with pytest.raises(StatementRefused, match="no workbook"):
        read_statement(path)


def sheet(tmp_path: Path, *rows: list[object], sheets: int = 1) -> Path:
    book = openpyxl.Workbook()
    for number in range(sheets):
        made = book.active if number == 0 else book.create_sheet()
        for each in rows:
            made.append(each)
    path = tmp_path / "statement.xlsx"
    book.save(path)
    return path


def test_numbers_and_moments_of_a_workbook_are_read_exactly(tmp_path: Path):
    at = datetime(2026, 1, 5, 8, 1, 2)  # noqa: DTZ001  a workbook's moments have no zone
    good = [260105000000042, at, "Successful", "Payment", 961234567, "FRI:shop/USER", 1234567890.15, 0, 1.1]
    read = read_statement(
        sheet(tmp_path, HEADER.split(","), good, [*good[:6], 0.125, -1, 1], [12345678901234567890, *good[1:]])
    )
    assert read.rows["key"].tolist()[:2] == ["260105000000042", "260105000000042"]
    assert read.rows["amount_minor"].iloc[0] == 123_456_789_015
    assert read.rows["phone"].iloc[0] == "+26096••••567"
    assert read.rows["occurred_at"].iloc[0].isoformat() == "2026-01-05T06:01:02+00:00"
    assert read.rows["problem"].tolist()[1] == "Amount 0.125 is finer than 0.01; Fee '-1' is negative"
    assert "whose digits a spreadsheet has not kept" in read.rows["problem"].iloc[2]
    assert read.rows["line"].tolist() == [2, 3, 4]


class TestErrorsOfASpreadsheet:
    AT = datetime(2026, 1, 5, 8, 1, 2)  # noqa: DTZ001  a workbook's moments have no zone
    ROW = ("001", AT, "Successful", "Payment", 961234567, "FRI:shop/USER", 100, 1, 99)

    @pytest.mark.parametrize(
        ("heading", "error"),
        [
            ("Id", "#REF!"), ("Date", "#VALUE!"), ("Status", "#N/A"), ("Type", "#NAME?"), ("Amount", "#DIV/0!"),
            ("Fee", "#NUM!"), ("Balance", "#REF!"), ("Currency", "#NULL!"),
        ],
    )  # fmt: skip
    def test_one_in_a_column_that_is_read_makes_a_bad_row(self, heading: str, error: str, tmp_path: Path):
        header = [*HEADER.split(","), "Currency"]
        wrong = [error if name == heading else cell for name, cell in zip(header, (*self.ROW, "ZMW"), strict=True)]
        rows = read_statement(sheet(tmp_path, header, (*self.ROW, "ZMW"), wrong, (*self.ROW, "ZMW"))).rows
        assert rows["line"].tolist() == [2, 3, 4]
        assert rows["problem"].isna().tolist() == [True, False, True]
        assert heading in rows["problem"].iloc[1]
        assert error in rows["problem"].iloc[1]

    def test_a_row_of_nothing_else_is_kept_too(self, tmp_path: Path):
        rows = read_statement(sheet(tmp_path, HEADER.split(","), self.ROW, ["#REF!"] * 9)).rows
        assert "Id holds the spreadsheet's error #REF!" in rows["problem"].iloc[1]

    def test_one_in_a_column_that_is_ignored_is_of_no_matter(self, tmp_path: Path):
        path = sheet(
            tmp_path, [], [None, *HEADER.split(","), "Check"], [None, *self.ROW, "#DIV/0!"], [None] * 10 + ["#DIV/0!"]
        )
        rows = read_statement(path, layout="mtn").rows
        assert rows["line"].tolist() == [3]
        assert rows["problem"].isna().all()

    def test_saved_as_csv_they_are_the_same(self, file: File):
        assert problem_of(file(HEADER, with_cells(Id="#REF!"))) == "Id holds the spreadsheet's error #REF!"
        assert problem_of(file(HEADER, with_cells(Fee="#DIV/0!"))) == "Fee holds the spreadsheet's error #DIV/0!"


def test_two_sheets_with_rows_are_refused_as_one_would_be_lost(tmp_path: Path):
    with pytest.raises(StatementRefused, match="in several ways"):
        read_statement(sheet(tmp_path, HEADER.split(","), sheets=2))


def test_facts_tell_the_headings_found_and_the_layouts_known(file: File):
    with pytest.raises(StatementRefused) as refused:
        read_statement(file("When,What", "1,2"))
    assert refused.value.facts["headings"] == ("When", "What")
    assert refused.value.facts["layouts"] == tuple(LAYOUTS)


def test_a_layout_that_is_named_may_have_more_columns(file: File):
    path = file(HEADER + ",Secret", GOOD + ",1")
    assert problem_of(path, layout="mtn") == "<NA>"
    with pytest.raises(StatementRefused, match="'mtm' is not a layout"):
        read_statement(path, layout="mtm")
    with pytest.raises(StatementRefused, match="lacks Transaction ID"):
        read_statement(path, layout="airtel")


class TestQuotesAndDelimiters:
    """One delimiter that does not cut a file is no fault of the file."""

    def test_the_line_that_no_delimiter_cuts_is_told_of_the_one_that_has_the_header(self, file: File):
        path = file(HEADER, GOOD.replace("001", '"""Acme"" Ltd"'), '"open,', name="own.csv")
        with pytest.raises(StatementRefused, match=r"cannot be cut into cells at line 3: .*"):
            read_statement(path)

    @pytest.mark.parametrize("delimiter", ";|\t")
    def test_another_delimiter_is_named_though_others_do_not_cut_the_file(self, file: File, delimiter: str):
        with pytest.raises(StatementRefused, match="between its cells and not ','"):
            read_statement(file(HEADER.replace(",", delimiter), GOOD.replace("001", '"a"').replace(",", delimiter)))

    def test_an_unknown_header_is_told_though_another_delimiter_fails_on_the_way(self, file: File):
        with pytest.raises(StatementRefused, match="headings found in line 1: When, What"):
            read_statement(file("When,What", '"""Acme"" Ltd",2'))

    def test_an_unknown_header_above_a_quote_left_open_is_no_reason_to_guess(self, file: File):
        with pytest.raises(StatementRefused, match="cannot be cut into cells at line 2"):
            read_statement(file("When,What", '"open,2', "3,4"))

    def test_the_command_reads_it(self, file: File, tmp_path: Path):
        statement = file(HEADER, GOOD.replace("001", '"""Acme"" Ltd"'))
        done = CliRunner().invoke(app, ["reconcile", str(tmp_path / "none.parquet"), str(statement)])
        assert done.stderr.strip() == f"Error: The ledger: no file is at {tmp_path / 'none.parquet'}."
