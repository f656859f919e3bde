"""Bad statements: each a refusal that says what is wrong, or a row that is kept with the reason."""

import zipfile
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import openpyxl
import pandas as pd
import pytest

from workbench.analysis.shapes import LEDGER_MOVEMENT, STATEMENT_ROW
from workbench.analysis.statements import LAYOUTS, read_statement, write_statement
from workbench.errors import StatementRefused, WorkbenchError

HEADER = "Id,Date,Status,Type,From,To,Amount,Fee,Balance"
GOOD = "001,2026-01-05 08:01:02,Successful,Payment,FRI:260961234567/MSISDN,FRI:shop/USER,100.00,1.00,99.00"
QUOTED = GOOD.replace("001", '"""Acme"" Ltd"')
AT = datetime(2026, 1, 5, 8, 1, 2)  # noqa: DTZ001  a workbook's moments have no zone

File = Callable[..., Path]


@pytest.fixture
def file(tmp_path: Path) -> File:
    def made(*lines: str, encoding: str = "utf-8") -> Path:
        path = tmp_path / "statement.csv"
        path.write_bytes("\n".join(lines).encode(encoding))
        return path

    return made


def with_cells(**cells: str) -> str:
    """The good row with other cells, by their headings."""
    made = dict(zip(HEADER.split(","), GOOD.split(","), strict=True)) | cells
    return ",".join(made.values())


PROBLEMS = [
    ({"Id": ""}, "Id is missing"),
    ({"Id": "  "}, "Id is missing"),
    ({"Id": "2.6E+11"}, "Id '2.6E+11' has lost digits: a spreadsheet made a number of it"),
    ({"Id": "#REF!"}, "Id holds the spreadsheet's error #REF!"),
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
    ({"Amount": "1.005"}, "Amount '1.005' has more decimals than ZMW, which has 2"),
    ({"Amount": "NaN"}, "Amount 'NaN' is not an amount"),
    ({"Amount": "1e5"}, "Amount '1e5' is not an amount"),
    ({"Amount": "٣.00"}, "is not an amount"),
    ({"Amount": "9" * 30}, "has more than 13 digits before the point"),
    ({"Fee": "-1.00"}, "Fee '-1.00' is negative"),
    ({"Fee": "free"}, "Fee 'free' is not an amount"),
    ({"Fee": "#DIV/0!"}, "Fee holds the spreadsheet's error #DIV/0!"),
    ({"Balance": "n/a"}, "Balance 'n/a' is not an amount"),
    ({"Amount": '"1,234.5O"'}, "Amount '1,234.5O' is not an amount"),
    ({"Amount": "-inf"}, "Amount '-inf' is not an amount"),
    ({"Amount": str(2**63)}, "has more than 13 digits before the point"),
    ({"Balance": str(-(2**63))}, "has more than 13 digits before the point"),
    ({"Fee": "٣"}, "Fee '٣' is not an amount"),
    ({"Id": "x" * 40_000}, "has more than 32,767 characters"),
    ({"Date": "0001-01-01 00:00:00"}, "is not a date"),
    ({"Date": "9999-12-31 23:59:59"}, "is not a date"),
    ({"Date": "2026-01-05 25:00:00"}, "is not a date"),
    ({"To": "FRI:other/SP"}, "neither From nor To is the account's own party"),
    ({"From": "FRI:shop/USER"}, "both From and To are the account's own party"),
    ({"Id": "", "Amount": "x", "Fee": "-1"}, "Id is missing; Amount 'x' is not an amount; Fee '-1' is negative"),
    ({"Balance": "1,2"}, "the row has 10 cells and the header 9"),
    ("001,2026-01-05 08:01:02,Successful", "the row has 3 cells and the header 9"),
]


def test_a_bad_row_is_kept_and_says_everything_that_is_wrong(file: File):
    rows = [row if isinstance(row, str) else with_cells(**row) for row, _ in PROBLEMS]
    read = read_statement(file(HEADER, *rows, GOOD)).rows
    assert read["line"].tolist() == [*range(2, len(PROBLEMS) + 3)]
    *found, good = read["problem"]
    for (row, problem), words in zip(PROBLEMS, found, strict=True):
        assert problem in str(words), row
    assert pd.isna(good)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_a_good_row_has_no_problem_and_an_empty_fee_is_none(file: File, encoding: str):
    lines = f"{HEADER},,", GOOD, with_cells(Fee="", Balance=""), "", ",,,,,,,,", "  "
    rows = read_statement(file(*lines, encoding=encoding)).rows
    assert rows["problem"].isna().all()
    assert rows["fee_minor"].tolist() == [100, 0]
    assert rows["key"].tolist() == ["001", "001"]


def test_a_number_is_masked_however_it_is_written(file: File):
    own = [
        "FRI:260961234567/MSISDN", "FRI:+260961234567/MSISDN", "260961234567", "+260 96 1234567", "0961234567",
        "961234567", "26096****567",
    ]  # fmt: skip
    foreign = ["FRI:254961234567/MSISDN", "+254 96 1234567", "2549****4567"]
    others = ["FRI:bank/SP", ""]
    read = read_statement(file(HEADER, *(with_cells(From=written) for written in [*own, *foreign, *others])))
    phones = [phone if isinstance(phone, str) else None for phone in read.rows["phone"]]
    assert phones == ["+26096••••567"] * len(own) + ["+•••••••••567"] * len(foreign) + [None] * len(others)
    # Whole numbers are told apart by a hash, however they are written; of the last of each only a part is known.
    hashes = [hashed if isinstance(hashed, str) else None for hashed in read.rows["phone_hash"]]
    assert [len(set(each)) for each in (hashes[:6], hashes[7:9])] == [1, 1]
    assert [hashes[place] for place in (6, 9, 10, 11)] == [None] * 4
    assert None not in hashes[:6] + hashes[7:9]
    assert hashes[0] != hashes[7]


def test_another_currency_is_kept_as_it_is_and_long_texts_and_formulas_stay_text(file: File):
    texts = [*("=cmd|' /C calc'!A0" + "x" * length for length in (10_000, 200_000)), "@SUM(A1)", "x"]
    lines = (f"{GOOD},{currency},{text}" for currency, text in zip(("usd", "", "zmk", "kwacha"), texts, strict=True))
    rows = read_statement(file(HEADER + ",Currency,Message", *lines)).rows
    assert rows["currency"].tolist()[:3] == ["USD", "ZMW", "ZMK"]
    assert rows["problem"].notna().tolist() == [False, False, False, True]
    assert rows["description"].tolist() == texts


OLE = bytes.fromhex("d0cf11e0a1b11ae1")


REFUSED: list[tuple[str | bytes, str]] = [
    (b"", "is empty"),
    (b"\xef\xbb\xbf", "is empty"),
    (b"\n \n,,,\n", "is empty"),
    (HEADER.encode("utf-16-le"), "is not text"),
    (HEADER.encode("utf-32"), "is not text"),
    (f"{HEADER}\n{GOOD}\nMo\xe9,".encode("latin-1"), "is not text in utf-8: line 3 has other bytes"),
    (f"{HEADER}\n{GOOD}\n".encode("utf-16")[:-1], "is not text in utf-16"),
    (f'{HEADER}\n{GOOD}\n"open,\n{GOOD}\n', "cannot be split into cells at line 3"),
    (f'{HEADER}\n"a"b,\n', "cannot be split into cells at line 2"),
    (f"{HEADER}\n{'x' * 1_100_000}", "at line 2: a cell has more than 1,048,576 characters"),
    (f'{HEADER}\n"open,\n{GOOD * 12_000}\n', "or close the quote that was left open before it"),
    (b"PK\x03\x04 and no more", "it is damaged or incomplete"),
    (OLE + bytes(500), "of a format older than .xlsx"),
    (OLE + "EncryptedPackage".encode("utf-16-le"), "is encrypted"),
    ("a,b\n1,2\n", "fits none of the known layouts (mtn, airtel, airtel_signed, zamtel, aggregator, "),
    (HEADER.replace("Fee,", ""), "Compared with mtn, it lacks Fee"),
    (f"{HEADER}\n{GOOD}".replace(",", ";"), "Compared with mtn, it has ';' between its cells and not ','"),
    (f"{HEADER}\n{GOOD}".replace(",", "|"), "replace(LAYOUTS['mtn'], delimiter='|')"),
    (",".join(LEDGER_MOVEMENT), "the columns of a ledger: give the ledger first"),
    ("Account,Key,Occurred_at,Amount", "the columns of a ledger: give the ledger first"),
    (f"{HEADER},Secret", "Compared with mtn, it also has Secret"),
    (f"{HEADER},FEE\n", "more than once"),
    (f"{GOOD}\n{HEADER}\n{GOOD}", "has a row above its header, in line 1"),
    # One delimiter that does not cut a file is no fault of the file: that which has the header is told of.
    (f'{HEADER}\n{QUOTED}\n"open,', "cannot be split into cells at line 3: "),
    ('When,What\n"open,2\n3,4', "cannot be split into cells at line 2"),
    ('When,What\n"""Acme"" Ltd",2', "headings found in line 1: When, What"),
    *((f"{HEADER}\n{QUOTED}".replace(",", mark), "between its cells and not ','") for mark in ";|\t"),
    (b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n1 0 obj\n<<>>\n", "is a PDF"),
    (b" \n<!DOCTYPE html><table><tr><td>Id</td></tr></table>", "is a web page or XML, whatever its name says"),
    (b"<?xml version='1.0'?><Workbook/>", "is a web page or XML"),
    (b"\x1f\x8b\x08" + bytes(20), "is packed, whatever its name says. Unpack it first"),
    (b"\x89PNG\r\n\x1a\n" + bytes(500), "is not text"),
    (bytes(range(256)) * 40, "is not text"),
    (HEADER.encode("cp500"), "line 1 has other bytes"),
    (f"{HEADER}\n{GOOD}".replace("100", "1\x0000"), "is not text"),
    (f"{HEADER}\n{GOOD}\n" + '"' + "x\n" * 600_000 + '"', "a cell has more than 1,048,576 characters"),
    (",".join(f"c{number}" for number in range(20_000)), "fits none of the known layouts"),
    ('[{"Id": 1}]', "fits none of the known layouts"),
    (f"{HEADER},Amount\n{GOOD},1", "has the heading 'amount' more than once"),
    (f"{HEADER}\n{GOOD.replace('2026-01-05', '05/01/2026')}", "is 5 January 2026 or 1 May 2026"),
    (
        "\n".join([HEADER, *(GOOD.replace("2026-01-05", day) for day in ("13/01/2026", "01/13/2026"))]),
        "has dates in more than one format: line 2 '13/01/2026 08:01:02'",
    ),
]


@pytest.mark.parametrize(("content", "words"), REFUSED)
def test_a_file_that_cannot_be_read_is_refused_in_words(content: str | bytes, words: str, tmp_path: Path):
    path = tmp_path / "statement.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(StatementRefused) as refused:
        read_statement(path)
    assert words in str(refused.value)
    assert refused.value.hint, "and what to do"
    assert refused.value.facts["file"] == "statement.csv"
    assert str(tmp_path) not in str(refused.value)
    assert isinstance(refused.value, WorkbenchError)


def test_no_file_no_path_no_layout_and_no_statement_are_refused(file: File, tmp_path: Path):
    path = file("When,What", "1,2")
    for source, layout, words in (
        (tmp_path / "none.csv", None, "there is no such file"),
        (tmp_path, None, "is a folder"),
        (None, None, "path of a statement's file, not None"),
        (path, {"name": "own"}, "not a dict"),
        (path, "mtm", "'mtm' is not a layout"),
        (path, "airtel", r"none of the known layouts \(airtel\)"),
    ):
        with pytest.raises(StatementRefused, match=words):
            read_statement(source, layout=layout)
    for layouts, words in ((5, "not 5"), ([LAYOUTS["mtn"], 5], "not 5"), ([b"x"], "not b'x'"), (None, "not None")):
        with pytest.raises(StatementRefused, match=f"Give layouts as a folder, or as a list .*, {words}"):
            read_statement(path, layouts=layouts)
    with pytest.raises(StatementRefused) as refused:
        read_statement(path)
    assert refused.value.facts["headings"] == ("When", "What")
    assert refused.value.facts["layouts"] == tuple(LAYOUTS)


def test_a_layout_that_is_named_may_have_more_columns(file: File):
    path = file(HEADER + ",Secret", GOOD + ",1", ",,,,,,,,,what stands there alone is no row to be lost")
    assert read_statement(path, layout="mtn").rows["problem"].isna().tolist() == [True, False]


def test_headers_alone_are_a_statement_without_rows(file: File):
    read = read_statement(file(HEADER))
    assert {name: str(kind) for name, kind in read.rows.dtypes.items()} == dict(STATEMENT_ROW)
    assert (len(read.rows), read.period, read.opening_minor, read.closing_minor) == (0, None, None, None)
    assert "no rows" in repr(read)
    assert "no day that can be read" in repr(read_statement(file(HEADER, with_cells(Date="x"))))


def test_a_workbook_cut_short_anywhere_and_a_zip_that_is_none_are_refused(tmp_path: Path):
    path = tmp_path / "statement.xlsx"
    write_statement([{"key": str(number), "status": "failed"} for number in range(50)], path, LAYOUTS["mtn"])
    content = path.read_bytes()
    for length in range(4, len(content), 97):
        path.write_bytes(content[:length])
        with pytest.raises(StatementRefused):
            read_statement(path)
    with zipfile.ZipFile(path, "w") as made:
        made.writestr("statement.csv", HEADER)
    with pytest.raises(StatementRefused, match="cannot be opened as a workbook"):
        read_statement(path)


def sheet(tmp_path: Path, *rows: list[object], sheets: int = 1) -> Path:
    book = openpyxl.Workbook()
    for made in [book.active, *(book.create_sheet() for _ in range(1, sheets))]:
        for each in rows:
            made.append(each)
    path = tmp_path / "statement.xlsx"
    book.save(path)
    return path


def test_numbers_and_moments_of_a_workbook_are_read_exactly_and_from_one_sheet(tmp_path: Path):
    good = [260105000000042, AT, "Successful", "Payment", 961234567, "FRI:shop/USER", 1234567890.15, 0, 1.1]
    rows = good, [*good[:6], 0.125, -1, 1], [1234567890123456, *good[1:]], [*good[:6], 10**14, True, 1]
    read = read_statement(sheet(tmp_path, HEADER.split(","), *rows)).rows
    assert read["key"].tolist()[:2] == ["260105000000042", "260105000000042"]
    assert read["amount_minor"].iloc[0] == 123_456_789_015
    assert read["phone"].iloc[0] == "+26096••••567"
    assert read["occurred_at"].astype(str).tolist() == ["2026-01-05 06:01:02+00:00"] * 4
    assert read["problem"].tolist()[1] == "Amount '0.125' has more decimals than ZMW, which has 2; Fee '-1' is negative"
    assert "has lost digits: a spreadsheet" in read["problem"].iloc[2]
    assert "has more than 13 digits before the point; Fee 'TRUE' is not an amount" in read["problem"].iloc[3]
    assert read["line"].tolist() == [2, 3, 4, 5]
    with pytest.raises(StatementRefused, match="in several ways"):
        read_statement(sheet(tmp_path, HEADER.split(","), sheets=2))


ERRORS = {
    "Id": "#REF!", "Date": "#VALUE!", "Status": "#N/A", "Type": "#NAME?", "Amount": "#DIV/0!", "Fee": "#NUM!",
    "Balance": "#REF!", "Currency": "#NULL!",
}  # fmt: skip


def test_an_error_of_a_spreadsheet_in_a_column_that_is_read_makes_a_bad_row(tmp_path: Path):
    header = [*HEADER.split(","), "Currency"]
    good = ["001", AT, "Successful", "Payment", 961234567, "FRI:shop/USER", 100, 1, 99, "ZMW"]
    wrong = [[*(dict(zip(header, good, strict=True)) | {heading: error}).values()] for heading, error in ERRORS.items()]
    rows = read_statement(sheet(tmp_path, header, good, *wrong, ["#REF!"] * 10, good)).rows
    assert rows["line"].tolist() == [*range(2, len(ERRORS) + 5)]
    first, *problems, others, last = rows["problem"]
    assert pd.isna([first, last]).all()
    for (heading, error), problem in zip(ERRORS.items(), problems, strict=True):
        assert heading in problem
        assert error in problem
    assert "Id holds the spreadsheet's error #REF!" in others
    # In a column that is ignored it is of no matter.
    beside = [None, *header[:-1], "Check"], [None, *good[:-1], "#DIV/0!"], [None] * 10 + ["#DIV/0!"]
    rows = read_statement(sheet(tmp_path, [], *beside), layout="mtn").rows
    assert rows["line"].tolist() == [3]
    assert rows["problem"].isna().all()
