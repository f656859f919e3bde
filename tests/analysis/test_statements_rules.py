"""Dates that two formats read, balances that do not follow, layouts of one's own, and how a file becomes rows."""

import re
from dataclasses import replace
from datetime import date
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from workbench import draft_layout, reconcile
from workbench.analysis.statements import LAYOUTS, Layout, LayoutCheck, Statement, read_ledger, read_statement
from workbench.analysis.statements.cells import CellColumn
from workbench.analysis.statements.dates import ABSENT, DateFormat, dates_in
from workbench.domain.phones import mask_phone, phone_hash
from workbench.errors import StatementRefused

HEADER = "Id,Date,Status,Type,From,To,Amount,Fee,Balance"
DMY, MDY = "%d/%m/%Y %H:%M:%S", "%m/%d/%Y %H:%M:%S"
APRIL = date(2026, 4, 3)


def mtn(folder: Path, *dates: str) -> Path:
    """Failed rows of these days, at eight."""
    path = folder / "mtn.csv"
    rows = [f"{number},{day} 08:00:00,Failed,Payment,,FRI:shop/USER,1.00,0,0" for number, day in enumerate(dates)]
    path.write_text("\n".join([HEADER, *rows]), "utf-8")
    return path


@pytest.mark.parametrize("text", [
    "2026-01-05 08:00:00", "2026-01-05T08:00:00", "2026-01-05 08:00+00", "2026-01-05 08+00:00", "2026-01-05 080000.1",
    "2026-02-31 08:00:00", "2026-01-05 24:00:00", "2026-01-05 08:00:60", "1899-12-31 08:00:00", "3000-01-01 08:00:00",
])  # fmt: skip
def test_a_text_as_long_as_a_moment_is_read_as_the_format_reads_it(text: str):
    by = DateFormat("%Y-%m-%d %H:%M:%S")
    read = dates_in("mine.csv", [by], np.array([2]), CellColumn.from_cells([text]))
    assert read.local.tolist() == [ABSENT if by.read(text) is None else by.read(text)]


def test_the_format_that_reads_the_whole_column_is_taken(tmp_path: Path):
    for texts in (["2026-04-03"], ["03/04/2026", "13/04/2026"], ["04/03/2026", "04/13/2026"], ["3-Apr-2026"]):
        read = read_statement(mtn(tmp_path, *texts))
        assert read.rows["problem"].isna().all(), texts
        assert read.rows["business_date"].iloc[0] == APRIL, texts
    # One that reads the same either way is no doubt.
    assert read_statement(mtn(tmp_path, "05/05/2026")).period == (date(2026, 5, 5), date(2026, 5, 5))


def test_a_date_that_two_formats_read_is_refused_with_both_readings(tmp_path: Path):
    path = mtn(tmp_path, "05/05/2026", "03/04/2026", "03/05/2026", "rubbish")
    with pytest.raises(StatementRefused) as refused:
        read_statement(path)
    assert "03/04/2026 08:00:00 in line 3 is 3 April 2026 or 4 March 2026" in str(refused.value)
    assert f"date_format='{DMY}'" in str(refused.value)
    assert refused.value.facts["readings"] == ("3 April 2026", "4 March 2026")
    for passed, day in ((DMY, APRIL), (MDY, date(2026, 3, 4))):
        rows = read_statement(path, date_format=passed).rows
        assert rows["business_date"].tolist()[1] == day
        assert rows["problem"].notna().tolist() == [False, False, False, True]


def test_rows_far_below_decide_too_and_a_file_in_two_formats_is_refused(tmp_path: Path):
    days = ["03/04/2026"] * 20_001
    decided = read_statement(mtn(tmp_path, *days, "13/04/2026"))
    assert decided.rows["business_date"].iloc[0] == APRIL
    with pytest.raises(StatementRefused, match="3 April 2026 or 4 March 2026"):
        read_statement(mtn(tmp_path, *days))
    for path in (mtn(tmp_path, *["13/04/2026"] * 20_001, "04/14/2026"), mtn(tmp_path, "13/04/2026", "04/14/2026")):
        with pytest.raises(StatementRefused, match="more than one format"):
            read_statement(path)
    assert read_statement(path, date_format=MDY).rows["problem"].notna().tolist() == [True, False]


def test_days_begin_in_lusaka_and_hours_may_be_of_twelve(tmp_path: Path):
    path = mtn(tmp_path, "2026-01-05")
    day = path.read_text().replace("08:00:00", "{}")
    for text, options, at in (
        ("00:30:00", {}, "2026-01-04T22:30:00+00:00"),
        ("12:30 am", {"date_format": "%Y-%m-%d %I:%M %p"}, "2026-01-04T22:30:00+00:00"),
        ("12:30 PM", {"date_format": "%Y-%m-%d %I:%M %p"}, "2026-01-05T10:30:00+00:00"),
    ):
        path.write_text(day.format(text))
        (row,) = read_statement(path, **options).rows.itertuples()
        assert (row.occurred_at.isoformat(), row.business_date) == (at, date(2026, 1, 5)), text
    path.write_text(day.format("13:30 PM"))
    assert read_statement(path, date_format="%Y-%m-%d %I:%M %p").rows["problem"].notna().all()


CELLS = {
    "%Y": ("2026", "1899", "1900", "2999", "3000", "026"), "%y": ("26", "70", "6"), "%m": ("02", "12", "13", "00", "2"),
    "%b": ("Feb", "DEC", "Sept", "Mai"), "%d": ("01", "28", "29", "31", "32", "00", "5"), "%H": ("00", "23", "24", "8"),
    "%M": ("59", "60"), "%S": ("00", "60", "5"),
}  # fmt: skip


@pytest.mark.parametrize(
    "pattern", [MDY, "%d-%b-%Y %H:%M", "%Y%m%d", "%d/%m/%y", "%y-%m-%dT%H:%M", "%b %d, %Y", "%Y %H/%d.%m"]
)
def test_a_column_of_dates_is_read_as_its_cells_one_by_one(pattern: str):
    by, used = DateFormat(pattern), re.findall("%.", pattern)
    bare = re.sub("%.", "{}", pattern)
    texts = [bare.format(*cells) for cells in product(*(CELLS[each] for each in used))]
    texts += ["", "x", f"{texts[0]}0", f"{texts[0]}\n.", texts[0].replace("0", "\u0660")]
    one_by_one = [by.read(text) for text in texts]
    read = dates_in("mine.csv", [by], np.arange(len(texts)), CellColumn.from_arrow(pa.array(texts)))
    assert [None if at == ABSENT else at for at in read.local.tolist()] == one_by_one
    assert None in one_by_one
    assert one_by_one[0] is not None


def test_a_format_that_is_none_is_refused(tmp_path: Path):
    for pattern in ("%d/%m", "%Y-%m-%d %Z", "%d/%d/%m/%Y", "%Y %d/%m/%y", "%m %d-%b-%Y", "rubbish", "%Y-%m",
                    "%Y-%m-%d %I:%M"):  # fmt: skip
        with pytest.raises(StatementRefused, match="is not a date format"):
            read_statement(mtn(tmp_path, "2026-01-05"), date_format=pattern)


OWN = Layout(
    name="corner_bank", account="bank:settlement", dates=("%d.%m.%Y",),
    columns={"key": "Ref", "moment": "Day", "debit": "Out", "credit": "In", "balance": "Saldo", "description": "Text"},
    delimiter="\t", encoding="latin-1", decimal=",", thousands=".",
    preamble={"opening": "Vortrag", "closing": "Endsaldo"}, footers=("Summe",),
)  # fmt: skip
CORNER = "Ref|Day|Out|In|Saldo|Text"
ROWS = ["A1|05.01.2026||10,00|10,00|", "A2|06.01.2026|4,00||6,00|", "A3|07.01.2026||1,00|7,00|"]


def corner(folder: Path, *lines: str) -> Statement:
    path = folder / "corner.csv"
    path.write_text("\n".join(line.replace("|", "\t") for line in lines), "latin-1")
    return read_statement(path, layout=OWN)


def test_a_layout_of_ones_own_is_a_table(tmp_path: Path):
    read = corner(
        tmp_path,
        "Kontoauszug der Café-Bank", "Vortrag:|1.000,00", "Endsaldo: 1.150,50", CORNER,
        "A1|05.01.2026||200,00|1.200,00|é", "A2|06.01.2026|49,50|0,00|1.150,50|", "Summe||49,50|200,00||",
    )  # fmt: skip
    assert read.rows["problem"].isna().all()
    assert read.rows["direction"].tolist() == ["in", "out"]
    assert read.rows["amount_minor"].tolist() == [20_000, 4_950]
    assert read.rows["status"].tolist() == ["completed", "completed"]
    # A day without a time is no moment.
    assert read.rows["occurred_at"].isna().all()
    assert read.rows["business_date"].tolist() == [date(2026, 1, 5), date(2026, 1, 6)]
    assert (read.opening_minor, read.closing_minor, len(read.findings)) == (100_000, 115_050, 0)
    assert "corner_bank" in repr(read)
    assert "agrees" in read._repr_mimebundle_()["text/html"]


def test_a_line_of_totals_is_one_at_the_end_and_without_a_date(tmp_path: Path):
    read = corner(tmp_path, CORNER, "Summe||1,00||", ROWS[0], "Summe|1|||", "Summe|2|||")
    assert read.rows["line"].tolist() == [2, 3]
    assert read.rows["problem"].notna().tolist() == [True, False]
    for key in ("Summe", "SUMMER-SALE-7"):
        read = corner(tmp_path, CORNER, *ROWS, f"{key}|08.01.2026||1,00|8,00|", "Summe||4,00|12,00||")
        assert read.rows["key"].tolist() == ["A1", "A2", "A3", key]
        assert read.closing_minor == 800


def test_one_of_debit_and_credit_is_filled(tmp_path: Path):
    rows = {
        "1,00|1,00": "Out and In are both filled",
        "|-": "neither Out nor In has an amount above zero",
        "1,0x|": "Out '1,0x' is not an amount",
        "|1,0x": "In '1,0x' is not an amount",
    }
    read = corner(tmp_path, CORNER, *(f"A1|05.01.2026|{amounts}||" for amounts in rows))
    assert read.rows["problem"].tolist() == [*rows.values()]


@pytest.mark.parametrize(
    ("lines", "findings", "ends"),
    [
        # A balance that does not follow, and the one after it, which follows from what it should be.
        ([CORNER, ROWS[0], "A2|06.01.2026|4,00||5,00|", ROWS[2]], [[3, 600, 500], [4, 600, 700]], (0, 700)),
        # The newest row may stand first, and two be of a day.
        ([CORNER, ROWS[2], ROWS[1].replace("06.01", "05.01"), ROWS[0]], [], (0, 700)),
        # A row that cannot be read stops the check until the next balance, and at an end there is none to tell of.
        ([CORNER, ROWS[0], "A2|06.01.2026|4,0x||6,00|", "A3|07.01.2026||1,00|7,01|"], [[4, 700, 701]], (0, 701)),
        ([CORNER, "A1|05.01.2026||1O,00|10,00|", "A2|06.01.2026|4,0x|||"], [], (None, None)),
        # A missing balance is stepped over.
        ([CORNER, ROWS[0], "A2|06.01.2026|4,00|||", ROWS[2]], [], (0, 700)),
        ([CORNER, ROWS[0], "A2|06.01.2026|4,01|||", ROWS[2]], [[4, 699, 700]], (0, 700)),
        # Declared balances are checked against the rows.
        (["Vortrag|1,00", "Endsaldo|8,00", CORNER, *ROWS], [[4, 1_100, 1_000], [2, 700, 800]], (100, 800)),
    ],
)
def test_a_balance_that_does_not_follow_is_a_finding(
    lines: list[str], findings: list[list[int]], ends: tuple[int | None, int | None], tmp_path: Path
):
    read = corner(tmp_path, *lines)
    assert read.findings.to_numpy().tolist() == findings
    assert (read.opening_minor, read.closing_minor) == ends
    assert read.rows["problem"].notna().sum() == sum("0x" in line or "1O" in line for line in lines), "others are good"
    where = ", ".join(str(line) for line, *_ in findings)
    many = f"{len(findings)} line{'s' * (len(findings) > 1)}"
    assert not findings or f"does not agree in {many}: {where}" in repr(read)


def aggregated(folder: Path, *above: str) -> Path:
    path, header = folder / "aggregator.csv", ",".join(LAYOUTS["aggregator"].columns.values())
    row = "T1,,2026/01/08 00:00:00,x,Settlement,Booked,CR,5.00,0.00,5.00,ZMW,,"
    path.write_text("\n".join([*above, header, row]))
    return path


def test_what_is_declared_above_the_rows_is_one_thing_and_fits_what_is_passed_and_the_rows(tmp_path: Path):
    for above, words in (
        (["Vortrag|many"], "line 1: Vortrag 'many' is not an amount"),
        (["Vortrag|1,00", "Vortrag|2,00"], "two values for Vortrag"),
    ):
        with pytest.raises(StatementRefused, match=words):
            corner(tmp_path, *above, CORNER, *ROWS)
    for above, passed, words in (
        (["Account,bank:x"], {"account": "bank:y"}, "declares the account 'bank:x', but 'bank:y' was passed"),
        (["Currency,USD"], {}, "was declared to be in USD, but its rows are in ZMW"),
        ([], {"currency": "zmk"}, "was declared to be in ZMK"),
        ([], {"currency": "kwacha"}, "a code of three letters, such as ZMW, not 'kwacha'"),
        (["Period From,2026-01-31", "Period To,2026-01-06"], {}, "ends on 2026-01-06, before it begins on 2026-01-31"),
        (["Period From,31.1.2026"], {}, "Period From '31.1.2026' is not a day written as %Y-%m-%d"),
    ):
        with pytest.raises(StatementRefused, match=words):
            read_statement(aggregated(tmp_path, *above), **passed)
    read = read_statement(aggregated(tmp_path, "Account,bank:settlement"), account="bank:settlement", currency="zmw")
    assert (read.account, read.currency) == ("bank:settlement", "ZMW")


COLUMNS = {"key": "Ref", "moment": "Day", "amount": "A"}


@pytest.mark.parametrize(
    ("declared", "words"),
    [
        ({"columns": {"key": "Ref"}}, "no column is declared for amount, moment"),
        ({"columns": {**COLUMNS, "moment": "Ref"}}, "declared twice"),
        ({"columns": {"key": "Ref", "when": "Day"}}, "field when does not exist"),
        ({"dates": ()}, "no date format"),
        ({"dates": ("%q",)}, "is not a date format"),
        ({"statuses": {"ok": "done"}}, "status done does not exist"),
        ({"kinds": ("pdf",)}, "kind of file pdf"),
        ({"decimal": ",", "thousands": ","}, "the same character"),
        ({"columns": {**COLUMNS, "direction": "D"}}, "no words are declared"),
        ({"currency": "ugx"}, "currency is three capital letters, not 'ugx'"),
        ({"key_pattern": "REF [0-9]+"}, "key_pattern has no group key, phone, related"),
        ({"key_pattern": "(?P<ref>[0-9]+)"}, "group of key_pattern ref does not exist"),
        ({"key_pattern": "(REF )(?P<key>[0-9]+)"}, "unnamed groups"),
        ({"key_pattern": "(?P<key>a)"}, "no column is declared for descr"),
        ({"columns": {"moment": "Day", "amount": "A"}}, "no column is declared for key"),
        ({"debits": "red"}, "way to write debits red does not exist"),
        ({"encoding": "cp9999"}, "there is no encoding cp9999"),
        ({"dates": "%d.%m.%Y"}, "dates is a list"),
        *(({name: ("Total", " ")}, f"{name} has an empty text") for name in ("openings", "footers")),
        ({"columns": {**COLUMNS, "from": "F", "to": "T"}}, "own is not declared"),
    ],
)
def test_a_layout_that_cannot_work_says_so_when_it_is_made(declared: dict[str, object], words: str):
    with pytest.raises(StatementRefused, match=words):
        Layout(**{"name": "x", "columns": COLUMNS, "dates": ("%Y-%m-%d",), **declared})  # type: ignore[arg-type]  what is wrong is the point


def test_an_own_layout_that_does_not_fit_or_says_no_account_is_not_looked_for_among_those_known(tmp_path: Path):
    path = tmp_path / "own.csv"
    path.write_text("Ref;Day;A\nA1;2026-01-05;-1,50\n")
    own = Layout("own", COLUMNS, ("%Y-%m-%d",))
    with pytest.raises(StatementRefused, match=r"replace\(own, delimiter=';'\)"):
        read_statement(path, layout=own)
    fitting = replace(own, delimiter=";", decimal=",")
    with pytest.raises(StatementRefused, match="does not name its account"):
        read_statement(path, layout=fitting)
    read = read_statement(path, layout=fitting, account="bank:settlement", currency="USD")
    assert (read.rows["direction"].iloc[0], read.rows["amount_minor"].iloc[0]) == ("out", 150)
    assert (read.currency, read.rows["currency"].iloc[0]) == ("USD", "USD")


IN_A_FILE = """
account = "bank:settlement"
dates = ["%d.%m.%Y"]
decimal = ","
delimiter = ";"
optional = ["balance"]
footers = ["Summe"]
columns = {key = "Ref", moment = "Day", amount = "Betrag", status = "S", balance = "Saldo"}
statuses = {ok = "completed", offen = "pending"}
"""


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("dates = [", r"corner\.toml is not TOML: Invalid value \(at end of document\)\."),
        (IN_A_FILE.replace("Ref", "R\udce9f"), r"corner\.toml is not text in UTF-8\."),
        ('dates = ["%Y"]', "lacks columns"),
        ("delimeter = ';'\n" + IN_A_FILE, "has delimeter, which no layout has"),
        ("utc_offset_hours = '2'\n" + IN_A_FILE, "utc_offset_hours takes a whole number, not a text"),
        (IN_A_FILE.replace('["%d.%m.%Y"]', '"%d.%m.%Y"'), "dates takes a list, not a text"),
        (IN_A_FILE.replace('"Betrag"', "7"), "columns takes a text, not a whole number"),
        (IN_A_FILE.replace("completed", "done"), "status done does not exist"),
        ('dates = ["%Y-%m-%d"]\n[columns]\nkey = "R"\nmatch = [{ on = ["amount"] }]', r"belongs above \[columns\]"),
        ('[columns]\nkey = "R"\nmatch = [{ on = ["amount"] }]', r"has match in it: match belongs above \[columns\]"),
        ('[columns]\nkey = "R"\ndates = ["%Y"]\nignored = ["S"]', r"dates and ignored belong above \[columns\]"),
    ],
)
def test_a_layout_in_a_file_that_makes_none_says_why(text: str, words: str, tmp_path: Path):
    declared = tmp_path / "corner.toml"
    with pytest.raises(StatementRefused, match="cannot be read: No such file"):
        read_statement(mtn(tmp_path), layout=declared)
    declared.write_text(text, "utf-8", "surrogateescape")
    with pytest.raises(StatementRefused, match=words):
        read_statement(mtn(tmp_path), layout=declared)


# A file that is cut into columns at once is read as one that is cut line by line.

AT_ONCE = Layout(
    name="mine",
    account="bank:settlement",
    dates=("%d/%m/%Y",),
    columns={"key": "Key", "moment": "Day", "amount": "Amount", "description": "Text"},
    footers=("Total",),
)
ODD_CELLS = st.sampled_from(
    ["", " ", "x", "é", "77", "05/01/2026", "31/02/2026", "1.50", "-2.00", "0", "Total", "#REF!", "5' pipe", "Key",
     '""', '" "', '"a,b"', '"two\nlines"', '"say ""hi"""', '"05/01/2026"', '"1.50"', '5" pipe', '"a" b', '"open']
)  # fmt: skip
GOOD_ROW = ["77", "05/01/2026", "1.50", '"two\nlines"']


DRAWN_ROWS = st.lists(st.just(GOOD_ROW) | st.lists(ODD_CELLS, min_size=1, max_size=6), max_size=8)


@pytest.mark.thorough
@given(rows=DRAWN_ROWS, ends=st.sampled_from(["\n", "\r\n"]))
@example(rows=[GOOD_ROW, ["Total", "1.50"]], ends="\n")
@example(rows=[GOOD_ROW, ["78", "05/01/2026"], GOOD_ROW, ["", "", "", "goes on"], [*GOOD_ROW, "more"]], ends="\n")
@example(rows=[[*GOOD_ROW, ""], [*GOOD_ROW, ""], GOOD_ROW], ends="\r\n")
@example(rows=[["", " ", "", ""], GOOD_ROW], ends="\n")
@example(rows=[GOOD_ROW, ['"a"" b', *GOOD_ROW[1:]], ['x"', *GOOD_ROW[1:]]], ends="\n")
def test_the_end_of_lines_makes_no_difference(
    tmp_path_factory: pytest.TempPathFactory, rows: list[list[str]], ends: str
):
    lines = ["Key,Day,Amount,Text", *map(",".join, rows)]
    # Lines that end as those of old Macs are cut one by one.
    at_once, one_by_one = (told_at_once(tmp_path_factory.getbasetemp(), end.join(lines)) for end in (ends, "\r"))
    assert at_once == one_by_one


def told_at_once(folder: Path, text: str) -> object:
    path = folder / "mine.csv"
    path.write_text(text, "utf-8", newline="")
    try:
        read = read_statement(path, layout=AT_ONCE)
    except StatementRefused as refusal:
        return str(refusal)
    return read.rows.astype("object").where(read.rows.notna(), None).to_dict("records"), read.joined, read.period


@pytest.mark.parametrize("key", [b"k" * 32, b"longer than one block of the hash: " * 3])
def test_a_number_has_one_mask_and_one_hash_however_it_is_spelled(key: bytes):
    spelled = ["0961234567", "961234567", "260961234567", "2600961234567", "+260961234567", "00260961234567",
               " 0961234567", "096 123 4567", "(096) 123-4567", "+260 96-123.4567"]  # fmt: skip
    others = ["0961234568", "+254712345678", "0961234", "x", ""]
    table = {"account": "a", "key": [*map(str, range(15))], "occurred_at": "2026-01-05", "amount": "1.00"}
    rows = read_ledger(pd.DataFrame({**table, "phone": spelled + others}), phone_key=key).rows
    hashes = [each if pd.isna(each) else each.partition(":")[2] for each in rows["phone_hash"]]
    assert [*rows["phone"][:10]] == [mask_phone("+260961234567")] * 10
    assert hashes[:10] == [phone_hash("0961234567", key)] * 10
    assert hashes[10:12] == [phone_hash(each, key) for each in others[:2]]
    assert rows["phone_hash"].isna().tolist() == [False] * 12 + [True] * 3


# Statements copied from a PDF: a narrative that goes on in lines of its own belongs to the row above them.

CONTINUED = """Date,Reference,Description,Debit,Credit,Balance
13/10/2026,A1,TRANSFER FROM,,500.00,500.00
14/10/2026,A2,SETTLEMENT OF,,300.00,800.00
,,MTN COLLECTIONS,,,
,,REF 771204,,,
15/10/2026,A3,CHARGE,20.00,,780.00
16/10/2026,A4,RENT,100.00,,680.00
,,OCTOBER,,,
"""
OF_A_BANK = {
    "moment": "Date", "key": "Reference", "description": "Description", "debit": "Debit", "credit": "Credit",
    "balance": "Balance",
}  # fmt: skip
NARRATIVES = ["TRANSFER FROM", "SETTLEMENT OF MTN COLLECTIONS REF 771204", "CHARGE", "RENT OCTOBER"]
JOINED = "Lines 4, 5, 8 have a narrative alone: it was added to the row above."


def bank(folder: Path, text: str = CONTINUED) -> Path:
    (folder / "bank.csv").write_text(text, "utf-8")
    return folder / "bank.csv"


def test_a_narrative_in_lines_of_its_own_is_joined_to_the_row_above_and_that_is_said(tmp_path: Path):
    layout = Layout("bank", OF_A_BANK, ("%d/%m/%Y",), account="bank:settlement", key_pattern="REF (?P<related>[0-9]+)")
    statement = read_statement(bank(tmp_path), layout=layout)
    assert statement.rows["description"].tolist() == NARRATIVES
    assert statement.rows["line"].tolist() == [2, 3, 6, 7]
    assert statement.rows["related"].tolist()[1] == "771204", "a pattern sees the whole narrative"
    assert statement.rows["problem"].isna().all()
    assert (statement.joined, statement.remarks) == ((4, 5, 8), [JOINED])
    assert statement.follows == "agrees in every row"
    ours = pd.DataFrame([{"account": "bank:settlement", "key": "A1", "occurred_at": "2026-10-13", "amount": "500.00"}])
    assert f"bank.csv: {JOINED}" in reconcile(ours, statement).notes


PAGED = """Date,Reference,Description,Debit,Credit,Balance
13/10/2026,A1,TRANSFER FROM,,500.00,500.00
Carried forward,,,,,500.00
Page 1 of 2
DATE,REFERENCE,Description,debit,Credit,Balance
Brought forward,,,0.00,0.00,500.00
,,MTN COLLECTIONS,,,
15/10/2026,A3,CHARGE,20.00,,480.00
,,page 2/2,,,
,,,,,Page No. 2
"""


def test_what_belongs_to_a_page_is_no_row_and_is_said_but_a_line_with_an_amount_stays(tmp_path: Path):
    layout = Layout("bank", OF_A_BANK, ("%d/%m/%Y",), account="bank:settlement")
    statement = read_statement(bank(tmp_path, PAGED), layout=layout)
    assert statement.rows["description"].tolist() == ["TRANSFER FROM MTN COLLECTIONS", "CHARGE"]
    assert (statement.of_pages, statement.joined, statement.follows) == (
        (3, 4, 5, 6, 9, 10),
        (7,),
        "agrees in every row",
    )
    said = "Lines 3, 4, 5, … belong to a page: page numbers, repeated headers and balances carried forward are no rows."
    assert said in statement.remarks
    other = read_statement(bank(tmp_path, PAGED.replace("forward,,,,,500", "forward,,,,,501")), layout=layout)
    assert other.findings["line"].tolist() == [3, 6], "a balance that is carried forward must agree too"
    for line, old, new in (
        (3, "Carried forward,,,,,500.00", "Carried forward,,,,1.00,500.00"),
        (4, "Page 1 of 2", "Page 1 of 2,,,,7.00,"),
        (6, ",0.00,0.00,500.00", ",0.00,0.00,many"),
        (9, ",,page 2/2,,,", ",A9,page 2/2,,,"),
    ):
        rows = read_statement(bank(tmp_path, PAGED.replace(old, new)), layout=layout).rows
        assert rows["line"][rows["problem"].notna()].tolist() == [line], new
    numbers = replace(layout, columns=dict(zip(OF_A_BANK, "123456", strict=True)))
    assert read_statement(bank(tmp_path, "1,2,3,4,5,6\n1,2,3,4,5,6\n"), layout=numbers).rows["problem"].notna().all()
    with pytest.raises(StatementRefused, match="the header is repeated here"):
        read_ledger(bank(tmp_path, PAGED), layout=layout)
    assert "amounts are not read" not in draft_layout(tmp_path / "bank.csv").toml


@pytest.mark.parametrize("newest_first", [False, True])
@pytest.mark.parametrize(
    ("changes", "repeated"),
    [
        ([("A1", 5, 15), ("A2", 10, 25), ("A2", 10, 25), ("A3", 1, 26)], (4,)),
        ([("A1", 5, 15), ("A2", 10, 25), ("A2", 10, 25), ("A2", 10, 25), ("A3", 1, 26)], (4, 5)),
        ([("A1", 5, 15), ("A2", 10, 25), ("A2", 10, 35), ("A3", 1, 36)], ()),
        # Each row has the closing balance of its day.
        ([("A1", 5, 10), ("A1", 5, 10), ("A3", 1, 11)], ()),
        ([("A0", 4, 4), ("A1", 5, 14), ("A1", 5, 14), ("A3", 1, 15)], ()),
        ([("A0", 4, 4), ("A1", 5, 9), ("A1", 5, 9), ("A1", -5, 9), ("A3", 1, 10)], ()),
        ([("A0", 0, 4), ("A0", 0, 4), ("A1", 5, 9)], ()),
    ],
)
def test_a_row_that_repeats_the_one_before_with_its_balance_counts_once_if_the_balances_prove_it(
    tmp_path: Path, changes: list[tuple[str, int, int]], repeated: tuple[int, ...], *, newest_first: bool
):
    rows = [f"{13 + int(key[1])}/10/2026,{key},SALE,0.00,{amount}.00,{balance}.00" for key, amount, balance in changes]
    text = "\n".join(["Date,Reference,Description,Debit,Credit,Balance", *rows[:: -1 if newest_first else 1]])
    layout = Layout("bank", OF_A_BANK, ("%d/%m/%Y",), account="bank:settlement")
    statement = read_statement(bank(tmp_path, text), layout=layout)
    assert statement.repeated == repeated
    moving = [line for line, (_, amount, _) in enumerate(changes[:: -1 if newest_first else 1], 2) if amount]
    assert statement.rows["line"].tolist() == [line for line in moving if line not in repeated]
    if repeated:
        assert statement.follows == "agrees in every row"
        said = "Line 4 repeats" if repeated == (4,) else "Lines 4, 5 repeat"
        assert statement.remarks == [f"{said} the row above, the balance too: such a row counts once."]


def test_the_draft_takes_none_of_them_for_a_total_and_reads_them_all(tmp_path: Path):
    draft = draft_layout(bank(tmp_path, CONTINUED + "Total,,,120.00,800.00,\n"))
    assert draft.declared["footers"] == ["Total"]
    assert JOINED in LayoutCheck(draft.statement()).text()
    assert draft.statement().rows["description"].tolist() == NARRATIVES
    assert f"# {JOINED}" in draft.toml


def test_a_line_that_is_a_total_or_stands_first_is_joined_to_nothing(tmp_path: Path):
    first, *rest = CONTINUED.splitlines(keepends=True)
    layout = Layout("bank", OF_A_BANK, ("%d/%m/%Y",), account="bank:settlement", footers=("Closing",))
    statement = read_statement(
        bank(tmp_path, "".join([first, ",,ALONE,,,\n", *rest, ",,Closing balance,,,\n"])), layout=layout
    )
    assert statement.joined == (5, 6, 9)
    assert statement.rows["line"].tolist() == [2, 3, 4, 7, 8]
    assert statement.rows["problem"].notna().tolist() == [True, *[False] * 4]
