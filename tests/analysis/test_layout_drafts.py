"""A layout drafted from a file: for the shapes in which operators and banks export, the draft alone reads it."""
# The lines of the files are as long as their operators write them.
# ruff: noqa: E501

import csv
import io
import re
import tomllib
from pathlib import Path

import openpyxl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench import draft_layout, read_statement
from workbench.analysis.statements import Draft, Statement
from workbench.analysis.statements.draft import toml_value
from workbench.errors import StatementRefused

MTN = """\
Id,External Transaction Id,Date,Status,Type,Provider Category,Information,Note/Message,From,From Name,From Handler Name,To,To Name,To Handler Name,Initiated By,On Behalf Of,Amount,Currency,Fee,Currency,Discount,Currency,Promotion,Currency,Coupon,Currency,Balance,Currency
18123456701,ord-1,2026-10-01 08:15:02,Successful,Payment,,,"Order 1
two pots",FRI:260961234567/MSISDN,Mary Banda,,FRI:plants.shop/USER,Plants,,260961234567,,150.00,ZMW,2.25,ZMW,,ZMW,,ZMW,,ZMW,1147.75,ZMW
18123456702,ord-2,2026-10-02 09:00:00,Failed,Payment,,TARGET_AUTHORIZATION_ERROR,,FRI:260967654321/MSISDN,John Phiri,,FRI:plants.shop/USER,Plants,,260967654321,,80.00,ZMW,0.00,ZMW,,ZMW,,ZMW,,ZMW,1147.75,ZMW
18123456703,ord-3,2026-10-13 10:30:00,Successful,Transfer,,,Refund order 1,FRI:plants.shop/USER,Plants,,FRI:260961234567/MSISDN,Mary Banda,,plants,,50.00,ZMW,1.00,ZMW,,ZMW,,ZMW,,ZMW,1096.75,ZMW
18123456704,ord-4,2026-10-14 11:45:10,Successful,Payment,,,Order 4,FRI:260761112223/MSISDN,Ruth Zulu,,FRI:plants.shop/USER,Plants,,260761112223,,200.00,ZMW,3.00,ZMW,,ZMW,,ZMW,,ZMW,1293.75,ZMW
"""
M_PESA = """\
Organization Name,Plants Limited,,,,,,,,,,,
Time Period,From 01-10-2026 To 31-10-2026,,,,,,,,,,,
,,,,,,,,,,,,
Receipt No.,Completion Time,Initiation Time,Details,Transaction Status,Paid In,Withdrawn,Balance,Balance Confirmed,Reason Type,Other Party Info,Linked Transaction ID,A/C No.
SJ15QWER71,14-10-2026 16:20:11,14-10-2026 16:20:05,Pay Bill from 2547****0111 - JANE Acc. order4,Completed,"1,500.00",,"11,350.00",true,Pay Bill Online,2547****0111 - JANE,,order4
SJ15QWER70,13-10-2026 11:05:00,13-10-2026 11:05:00,Organization settlement,Completed,,"-5,000.00","9,850.00",true,Organization Settlement,888555 - Bank,,
SJ05QWER69,02-10-2026 09:10:00,02-10-2026 09:09:58,Pay Bill Charge,Completed,,-150.00,"14,850.00",true,Pay Bill Charge,2547****0222 - ALI,SJ05QWER68,
SJ05QWER68,02-10-2026 09:10:00,02-10-2026 09:09:58,Pay Bill from 2547****0222 - ALI Acc. order2,Completed,"15,000.00",,"15,000.00",true,Pay Bill Online,2547****0222 - ALI,,order2
,,,,,,,,,,,,
Totals,,,,,"16,500.00","-5,150.00",,,,,,
"""
AIRTEL = """\
Airtel Money Merchant Statement
Merchant Name:,Café Plants
MSISDN:,260971234567
Period:,01/10/2026 - 31/10/2026
Opening Balance:,"10,000.00"

S/N,Transaction ID,Date & Time,Transaction Type,Sender MSISDN,Receiver MSISDN,Reference,Status,Dr,Cr,Charges,Balance,
1,MP261001.0815.A00001,01/10/2026 08:15:02,Merchant Payment,260977000111,260971234567,ord-1,TS,,"1,500.00",15.00,"11,485.00",
2,MP261002.0900.A00002,02/10/2026 09:00:00,Merchant Payment,0977000222,0971234567,ord-2,TF,,80.00,0.00,"11,485.00",
3,MP261013.1030.A00003,13/10/2026 10:30:00,Refund,971234567,977000111,ord-1,TS,500.00,,5.00,"10,980.00",
4,MP261014.1145.A00004,14/10/2026 11:45:10,Merchant Payment,260 97 700 0333,260971234567,ord-4,TS,,200.00,2.00,"11,178.00",
Total,,,,,,,,580.00,"1,780.00",22.00,,
"""
ZANACO = """\
Account Number:,0123456789101
Account Name:,PLANTS LIMITED
Currency:,ZMW
From 01 OCT 2026 To 31 OCT 2026

Txn Date,Value Date,Narrative,Cheque/Ref,Debit,Credit,Balance
31 OCT 2026,31 OCT 2026,MONTHLY CHARGE,,75.00,,"14,025.00 CR"
14 OCT 2026,14 OCT 2026,"MTN MOMO SETTLEMENT
SW2610130001 PLANTS LIMITED",FT26287001,,"4,000.00","14,100.00 CR"
13 OCT 2026,13 OCT 2026,CHEQUE 000123 RENT,000123,"12,000.00",,"10,100.00 CR"
02 OCT 2026,02 OCT 2026,"AIRTEL SWEEP
SW2610010002 PLANTS LIMITED",FT26275002,,"2,100.00","22,100.00 CR"
01 OCT 2026,01 OCT 2026,BALANCE B/F,,,,"20,000.00 CR"
"""
STANBIC = """\
Value Date;Narrative;Reference;Debit;Credit;Running Balance
01.10.2026;Opening balance;;;;20 000,00
02.10.2026;AIRTEL SWEEP SW2610010002;FT26275002;;2 100,00;22 100,00
13.10.2026;RENT OCTOBER;CHQ000123;-12 000,00;;10 100,00
14.10.2026;MTN MOMO SETTLEMENT SW2610130001;FT26287001;;4 000,50;14 100,50
15.10.2026;RENT OCTOBER REVERSED;CHQ000123R;(1 200,00);;15 300,50
31.10.2026;MONTHLY CHARGE;CHG202610;-75,00;;15 225,50
"""
FNB = """\
Date,Description,Reference,Service Fee,Amount,Balance
02/10/2026,AIRTEL SWEEP,FT26275002,0.00,"2,100.00Cr","22,100.00Cr"
13/10/2026,RENT OCTOBER,CHQ000123,5.00,"12,000.00Dr","10,095.00Cr"
14/10/2026,MTN MOMO SETTLEMENT,FT26287001,0.00,"4,000.50Cr","14,095.50Cr"
31/10/2026,MONTHLY CHARGE,CHG202610,0.00,75.00Dr,"14,020.50Cr"
"""
SHAPES = {"mtn": MTN, "m_pesa": M_PESA, "airtel": AIRTEL, "zanaco": ZANACO, "stanbic": STANBIC, "fnb": FNB}
READ = {
    "mtn": "18123456701 +15000-225 payment; 18123456702 +8000-0 payment; 18123456703 -5000-100 transfer; "
    "18123456704 +20000-300 payment",
    "m_pesa": "SJ15QWER71 +150000-0 payment; SJ15QWER70 -500000-0 transfer; SJ05QWER69 -15000-0 fee; "
    "SJ05QWER68 +1500000-0 payment",
    "airtel": "MP261001.0815.A00001 +150000-1500 payment; MP261002.0900.A00002 +8000-0 payment; "
    "MP261013.1030.A00003 -50000-500 refund; MP261014.1145.A00004 +20000-200 payment",
    "zanaco": "made -7500-0 other; FT26287001 +400000-0 other; 000123 -1200000-0 other; FT26275002 +210000-0 other",
    "stanbic": "FT26275002 +210000-0 other; CHQ000123 -1200000-0 other; FT26287001 +400050-0 other; "
    "CHQ000123R +120000-0 reversal; CHG202610 -7500-0 other",
    "fnb": "FT26275002 +210000-0 other; CHQ000123 -1200000-500 other; FT26287001 +400050-0 other; "
    "CHG202610 -7500-0 other",
}  # fmt: skip
"""What each says, row by row: key, signed amount, fee, type."""
WAYS = ("utf-8", "utf-8-sig", "utf-16", "cp1252", "newest first", "oldest first", ";", "\t", "|", "xlsx")


def rows_of(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text), delimiter=";" if text is STANBIC else ","))


def is_dated(row: list[str]) -> bool:
    return len(row) > 5 and any(re.match(r"\d{2,4}[-/. ](\d\d|[A-Z]{3})[-/. ]\d\d", cell) for cell in row[:3])


def saved(folder: Path, name: str, way: str) -> Path:
    """The file of a shape, written in one of the WAYS."""
    rows = rows_of(SHAPES[name])
    days = [row for row in rows if is_dated(row)]
    if way in WAYS[4:6]:
        first, last = rows.index(days[0]), rows.index(days[-1]) + 1
        is_newest = name in ("m_pesa", "zanaco")
        rows[first:last] = days if is_newest == (way == "newest first") else days[::-1]
    path = folder / f"{name}.{'xlsx' if way == 'xlsx' else 'csv'}"
    if way == "xlsx":
        book = openpyxl.Workbook()
        for row in rows:
            book.active.append(row)
        book.save(path)
        return path
    mark = way if way in WAYS[6:9] else ";" if name == "stanbic" else ","
    written = io.StringIO()
    csv.writer(written, delimiter=mark).writerows(rows)
    path.write_bytes(written.getvalue().encode(way if way in WAYS[:4] else "cp1252"))
    return path


def told(statement: Statement) -> str:
    rows = statement.rows
    keys = rows["key"].str.replace(r"^made-.*", "made", regex=True)
    signs = rows["direction"].astype("string").map({"in": "+", "out": "-"})
    each = zip(keys, signs, rows["amount_minor"], rows["fee_minor"], rows["type"], strict=True)
    return "; ".join(f"{key} {sign}{amount}-{fee} {kind}" for key, sign, amount, fee, kind in each)


def reordered(text: str) -> list[str]:
    return sorted(text.split("; "))


@pytest.mark.parametrize(
    ("name", "way"),
    [
        pytest.param(name, way, marks=() if (row + column) % 3 == 0 else pytest.mark.thorough)
        for row, name in enumerate(SHAPES)
        for column, way in enumerate(WAYS)
    ],
)
def test_the_draft_alone_reads_each_shape_and_the_balance_follows(name: str, way: str, tmp_path: Path):
    path = saved(tmp_path, name, way)
    draft = draft_layout(path)
    draft.declare(account="bank:settlement")
    draft.write(tmp_path / "mine.toml")
    statement = read_statement(path, layout=tmp_path / "mine.toml")
    if way in WAYS[4:6]:
        assert reordered(told(statement)) == reordered(READ[name])
    else:
        assert told(statement) == READ[name]
    assert statement.rows["problem"].isna().all()
    assert statement.rows["balance_minor"].notna().any()
    assert statement.findings.empty
    assert read_statement(path, layouts=[tmp_path / "mine.toml"]).layout == "mine", "it is recognised again"


def drafted(folder: Path, text: str, name: str = "some.csv") -> Draft:
    (folder / name).write_text(text, "utf-8")
    return draft_layout(folder / name)


def lines_of(draft: Draft, part: str) -> list[str]:
    return [line for line in draft.toml.splitlines() if part in line]


PLAIN = "Date,Reference,Description,Debit,Credit,Balance\n"


class TestProofs:
    def test_the_row_that_decides_the_date_is_named_and_without_one_both_formats_stand(self, tmp_path: Path):
        text = PLAIN + "03/10/2026,A1,x,,5.00,5.00\n04/10/2026,A2,y,,5.00,10.00\n"
        draft = drafted(tmp_path, text)
        assert lines_of(draft, "dates = ") == [
            '# ? dates = ["%d/%m/%Y"]  # reads 2026-10-03 to 2026-10-04: choose this, day first is usual here',
            '# ? dates = ["%m/%d/%Y"]  # reads 2026-03-10 to 2026-04-10',
            'dates = ["%d/%m/%Y", "%m/%d/%Y"]',
        ]
        with pytest.raises(StatementRefused, match="no other date of the file decides it"):
            draft.statement()
        assert str(draft_layout(draft.file.path)) == str(draft)
        draft = drafted(tmp_path, text + "31/10/2026,A3,z,,5.00,15.00\n")
        assert lines_of(draft, "dates") == ["dates = [\"%d/%m/%Y\"]  # line 4 '31/10/2026' can only be day first"]
        draft = drafted(tmp_path, text + "10/31/2026,A3,z,,5.00,15.00\n")
        assert lines_of(draft, "dates") == ["dates = [\"%m/%d/%Y\"]  # line 4 '10/31/2026' can only be month first"]
        rows = "10/03/2026,A1,x,,5.00,5.00\n11/02/2026,A2,y,,5.00,10.00\n12/04/2026,A3,z,,5.00,15.00\n"
        assert [line.partition("reads ")[2] for line in lines_of(drafted(tmp_path, PLAIN + rows), "reads")] == [
            "2026-02-11 to 2026-04-12", "2026-10-03 to 2026-12-04: choose this, only so the rows are in order",
        ]  # fmt: skip

    def test_words_are_counted_and_what_is_not_known_is_left_open(self, tmp_path: Path):
        rows = [f"2026-10-{day:02},K{day},{word},5.00" for day, word in enumerate(["OK", "OK", "Zebra", "TF"], 10)]
        draft = drafted(tmp_path, "\n".join(["Date,Reference,Status,Amount", *rows]))
        assert lines_of(draft, "row")[-3:] == [
            'OK = "completed"  # 2 rows', 'TF = "failed"  # 1 row', '# ? Zebra = ""  # 1 row: completed, failed, pending',
        ]  # fmt: skip
        assert draft.statement().rows["problem"].notna().sum() == 1
        draft.declare(statuses={**draft.declared["statuses"], "Zebra": "pending"})
        assert draft.check().is_sound
        assert lines_of(draft, "Zebra")[0].startswith('Zebra = "pending"')

    def test_fees_that_the_amounts_hold_already_are_left_out(self, tmp_path: Path):
        rows = "2026-10-13,A1,x,2.00,,100.00,100.00\n2026-10-14,A2,y,2.00,52.00,,48.00\n"
        draft = drafted(tmp_path, "Date,Reference,Description,Fee,Debit,Credit,Balance\n" + rows)
        assert lines_of(draft, "fee =") == ['# ? fee = "Fee"  # the balance follows without it alone']
        assert draft.check().is_sound

    def test_what_is_missing_or_told_twice_is_said_with_what_the_narrative_would_give(self, tmp_path: Path):
        rows = [
            "2026-10-13,A1,SWEEP MP26100113,,5.00,5.00",
            "2026-10-14,A1,MP26100114 x,,5.00,10.00",
            "2026-10-15,,z,,5.00,15.00",
        ]
        draft = drafted(tmp_path, PLAIN + "\n".join(rows))
        assert lines_of(draft, "key_pattern") == [
            "# ? key_pattern = \"(?P<key>MP[0-9]{8})\"  # would find 'MP26100113' in line 2, and one in 2 of 3 rows"
        ]
        assert lines_of(draft, "makes_keys") == [
            "makes_keys = true  # 1 of 3 rows have no key: it is made of what they say"
        ]
        assert "1 of 3 rows have the key of another" in draft.toml
        draft.declare(key_pattern="(?P<key>MP[0-9]{8})")
        assert draft.statement().rows["key"].tolist()[:2] == ["MP26100113", "MP26100114"]

    def test_columns_are_told_by_their_cells_where_no_heading_is_known(self, tmp_path: Path):
        rows = "31.10.2026;1 500,00;0961234567;A-1\n30.10.2026;-20,50;0971234567;A-2\n"
        draft = drafted(tmp_path, "Tag;Betrag;Kunde;Beleg\n" + rows)
        assert draft.columns == {"key": "Beleg", "moment": "Tag", "amount": "Betrag", "phone": "Kunde"}
        assert len(lines_of(draft, "# ? by its cells alone")) == 4
        assert draft.check().is_sound


class TestSafety:
    def test_numbers_are_masked_in_comments_and_nothing_steers_a_terminal(self, tmp_path: Path):
        bad = "2026-10-13,A1,x,,0961234567 \x1b[2J,5.00\n" * 3
        draft = drafted(tmp_path, PLAIN + bad)
        assert "0961234567" not in draft.toml
        assert "\x1b" not in draft.toml
        assert "amounts are not read, such as line 2" in draft.toml

    @given(st.text(st.characters(exclude_categories=["Cs"])))
    def test_any_text_is_written_so_that_toml_reads_the_same(self, text: str):
        written = toml_value({"list": [text]}["list"])
        assert tomllib.loads(f"x = {written}")["x"] == [text]
        assert written.isprintable()

    def test_hostile_words_and_headings_make_a_file_that_loads(self, tmp_path: Path):
        text = 'Date,Reference,Status,Amount,"a""] = \\ #\n"\n2026-10-13,A1,"x"" = \n[columns]\x7f",5.00,1\n'
        draft = drafted(tmp_path, text)
        draft.declare(statuses=dict.fromkeys(draft.declared["statuses"], "completed"))
        assert draft.check().is_sound
        assert draft.layout.ignored == ('a"] = \\ #',)


class TestEditor:
    def test_what_is_chosen_changes_the_draft_and_a_headless_run_has_text(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ):
        draft = drafted(tmp_path, AIRTEL)
        assert set(draft._repr_mimebundle_()) == {"text/plain", "text/html"}
        monkeypatch.setenv("JPY_SESSION_NAME", "some.ipynb")
        assert "application/vnd.jupyter.widget-view+json" in draft._repr_mimebundle_()
        editor = draft.editor
        assert "MP261001.0815.A00001" in editor.preview.value
        assert "260977000111" not in str([each.value for each in editor.box.children[0].children])
        editor.fields["Charges"].value = ""
        assert "does not follow" in editor.preview.value
        editor.fields["S/N"].value = "fee"
        assert draft.columns["fee"] == "S/N"
        editor.fields["Charges"].value = "fee"
        assert editor.fields["S/N"].value == "", "a field is that of one column"
        assert "follows, row by row" in editor.preview.value
        editor.words["statuses"].value = "TS = completed\nTF = done"
        assert "status done does not exist" in editor.preview.value
        editor.words["statuses"].value = "TS = completed\nTF = failed"
        editor.settings["dates"].value = "%d/%m/%Y %H:%M:%S; %d/%m/%Y"
        editor.settings["account"].value = "operator:airtel:float"
        editor.settings["dates"].value = "%q"
        assert "is not a date format" in editor.preview.value
        editor.settings["dates"].value = "%d/%m/%Y %H:%M:%S"
        editor.path.value = str(tmp_path / "mine.toml")
        editor.save.click()
        assert editor.said.value.startswith("Written")
        assert read_statement(draft.file.path, layout=tmp_path / "mine.toml").account == "operator:airtel:float"
        editor.save.click()
        assert "is there already" in editor.said.value
        assert draft.layout.dates == ("%d/%m/%Y %H:%M:%S",)
        with pytest.raises(StatementRefused, match="has no column 'Nothing'"):
            draft.use("Nothing", "fee")
        with pytest.raises(StatementRefused, match="has no colour"):
            draft.declare(colour="red")
