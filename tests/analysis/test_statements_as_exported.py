"""The layouts that ship, on files as operators and banks export them; amounts, dates and keys as these are written."""

import itertools
import re
from dataclasses import replace
from datetime import date
from pathlib import Path

import pandas as pd
import pytest
import xlsxwriter

from workbench.analysis import statements
from workbench.analysis.statements import LAYOUTS, Layout, Statement, read_statement
from workbench.analysis.statements.cells import Amounts
from workbench.analysis.statements.layouts import SHIPPED
from workbench.errors import StatementRefused

EXPORTED = Path(__file__).parents[2] / "fixtures" / "statements"
OF_THE_FILE = ["statement", "line"]
# Rows, opening and closing balance, those with a made key, the sum of what came in, the days.
TOLD = {
    "mtn_portal": (38, 250_000, 369_997, 0, 901_100, ("2026-10-26", "2026-10-31")),
    "airtel_merchant": (14, 120_000, 888_519, 0, 933_350, ("2026-10-30", "2026-10-31")),
    "mpesa": (21, 0, 860_868, 0, 1_186_800, ("2026-10-30", "2026-10-31")),
    "zanaco": (19, 1_845_000, 1_160_659, 12, 1_937_659, ("2026-10-01", "2026-10-31")),
    "stanbic": (10, 1_250_075, -5_285, 4, 2_922_550, ("2026-10-02", "2026-10-31")),
    "fnb": (7, 500_000, -344_700, 3, 2_113_550, ("2026-10-02", "2026-10-30")),
}


def text_of(name: str) -> str:
    return (EXPORTED / f"{name}.csv").read_text("utf-8")


def same(read: Statement) -> pd.DataFrame:
    rows = read.rows.drop(columns=OF_THE_FILE)
    # Line breaks within quotes are the file's own.
    return rows.assign(description=rows["description"].str.replace("\r\n", "\n"))


@pytest.mark.parametrize("name", TOLD)
def test_it_is_recognised_and_read_with_its_balances_keys_and_days_in_either_encoding(name: str, tmp_path: Path):
    told = read_statement(EXPORTED / f"{name}.csv")
    is_made = told.rows["key"].str.startswith("made-")
    came = int(told.rows["amount_minor"][(told.rows["direction"] == "in") & (told.rows["status"] == "completed")].sum())
    assert told.layout == name
    assert (told.findings.empty, told.rows["problem"].isna().all()) == (True, True)
    assert (len(told.rows), told.opening_minor, told.closing_minor, int(is_made.sum()), came) == TOLD[name][:-1]
    assert told.period is not None
    assert tuple(map(str, told.period)) == TOLD[name][-1]
    assert told.rows["key"].notna().all()
    assert told.rows["key"][is_made].is_unique
    # A spreadsheet saves it in the code page of its machine.
    (tmp_path / "other.csv").write_bytes(text_of(name).encode("cp1252"))
    pd.testing.assert_frame_equal(same(read_statement(tmp_path / "other.csv")), same(told))


def test_what_the_rows_of_each_say():
    rows = {name: read_statement(EXPORTED / f"{name}.csv").rows.set_index("key") for name in TOLD}
    portal = rows["mtn_portal"][rows["mtn_portal"]["type"] == "refund"].iloc[0]
    assert (portal["direction"], portal["related"], portal["phone"][:8]) == ("out", "order-1010", "+26096••")
    assert portal["description"].splitlines() == ["Half of it came back:", "one pot was broken"]
    assert portal["words"] == "Refund, Successful"
    assert rows["airtel_merchant"]["words"].iloc[7] == "Merchant Payment, TF"
    assert rows["airtel_merchant"]["status"].iloc[7] == "failed"
    assert set(rows["airtel_merchant"]["phone"].dropna()) == {"+26097••••567", "+26097••••321", "+26097••••011"}
    payment, charge = rows["mpesa"].iloc[0], rows["mpesa"].iloc[1]
    assert payment.name == charge.name
    assert (payment["direction"], payment["phone"], charge["direction"], charge["type"]) == (
        "in", "+•••••••••100", "out", "fee",
    )  # fmt: skip
    assert rows["mpesa"]["currency"].unique().tolist() == ["KES"]
    assert payment["occurred_at"].isoformat() == "2026-10-30T06:54:00+00:00"
    back = rows["stanbic"].iloc[4]
    assert (back["direction"], back["amount_minor"], back["type"]) == ("in", 2_500, "reversal")
    assert rows["zanaco"]["words"].isna().all()
    assert rows["zanaco"]["balance_minor"].min() == -149_450
    assert rows["fnb"].loc["CH0412", ["direction", "fee_minor"]].tolist() == ["out", 1_250]


def test_recognition_is_never_in_doubt_between_two_that_ship():
    """No header has all that two of them demand and nothing that one does not know."""
    folder = Path(statements.__file__).with_name("shipped")
    assert sorted(path.stem for path in folder.iterdir()) == sorted(SHIPPED)
    demanded = {
        name: {key for field, key in each.keys.items() if field not in each.optional} for name, each in LAYOUTS.items()
    }
    for one, other in itertools.combinations(LAYOUTS, 2):
        known = {*LAYOUTS[one].known_headings} & {*LAYOUTS[other].known_headings}
        assert not demanded[one] | demanded[other] <= known, (one, other)


AMOUNTS = {
    "5": 500, "+5.00": 500, "-5.00": -500, "\u22125.00": -500, "5.00-": -500, "(1,234.50)": -123_450,
    "1,234.50Cr": 123_450, "1,234.50 DR.": -123_450, "1,234.50 dr": -123_450, "ZMW 1,234.50": 123_450,
    "K1,234.50": 123_450, "-K5": -500, "K-5": -500, "(ZMW 5.00)": -500, "5.00 ZMW CR": 500, "-": None, " \u2013 ": None,
    "1,234.5O": "is not an amount", "1e5": "is not an amount", "5 kwacha": "is not an amount",
    "ZMW": "is not an amount",
    "5 ZMW USD": "is not an amount", "5.00 CR DR": "has no clear sign", "-5.00 DR": "has no clear sign",
    "(5.00": "has no clear sign", "1.234,50": "not written as the layout declares",
    "12,34.00": "not written as the layout declares", "K1.005": "more decimals than ZMW",
    f"K{'9' * 14}": "more than 13 digits", f"K1{' ' * 70}1": "is not an amount",
}  # fmt: skip


def test_an_amount_says_its_side_in_any_of_the_usual_ways_and_once():
    for text, minor in AMOUNTS.items():
        read = Amounts(".", ",").read(text)
        assert (minor in str(read)) if isinstance(minor, str) else read == minor, text
    for text in ("1 234,50", "1\u00a0234,50", "1\u202f234,50", "ZMW 1\u00a0234,50", "1\u2009234,50 CR"):
        assert Amounts(",", " ").read(text) == 123_450, text


MINE = Layout(
    name="mine", account="bank:settlement", dates=("%d/%m/%Y",), thousands=",", makes_keys=True,
    columns={"moment": "Day", "description": "Text", "debit": "Out", "credit": "In", "balance": "Saldo"},
)  # fmt: skip


def mine(folder: Path, *lines: str, header: str = "Day|Text|Out|In|Saldo", **other: object) -> Statement:
    path = folder / "mine.csv"
    path.write_text("\n".join(line.replace("|", "\t") for line in (header, *lines)), "utf-8")
    return read_statement(path, layout=replace(MINE, delimiter="\t", **other))  # type: ignore[arg-type]  settings of a layout


def test_below_zero_otherwise_than_debits_are_is_a_reversal(tmp_path: Path):
    for debits, out, back, wrong in (
        ("plain", ("5.00", "5.00 DR"), ("-5.00", "(5.00)", "5.00-", "5.00Cr"), ()),
        ("minus", ("-5.00", "5.00-", "5.00 DR"), ("(5.00)", "5.00 CR"), ("5.00",)),
        ("parentheses", ("(5.00)",), ("-5.00",), ("5.00",)),
    ):
        texts = (*out, *back, *wrong)
        rows = mine(tmp_path, *(f"05/01/2026|x|{text}||" for text in texts), debits=debits).rows
        told = [
            [None if pd.isna(each) else each for each in pair]
            for pair in zip(rows["direction"], rows["type"], strict=True)
        ]
        assert told == [["out", "other"]] * len(out) + [["in", "reversal"]] * len(back) + [[None, "other"]] * len(wrong)
        assert rows["problem"].notna().sum() == len(wrong), debits
    rows = mine(tmp_path, "05/01/2026|x||5.00|", "05/01/2026|x||-5.00|").rows
    assert [*zip(rows["direction"], rows["type"], strict=True)] == [("in", "other"), ("out", "reversal")]


TURNED = ("05/01/2026|a||2,000.00|2,000.00", "06/01/2026|b|(1,250.50)||749.50", "07/01/2026|c|-49.50||700.00",
          "08/01/2026|d|(100.00)||800.00", "09/01/2026|e|300.00||500.00")  # fmt: skip
AS_PROVEN = [("in", "other"), ("out", "other"), ("out", "other"), ("in", "reversal"), ("out", "other")]


def told_of(read: Statement) -> list[tuple[str, str]]:
    return [*zip(read.rows["direction"], read.rows["type"], strict=True)]


@pytest.mark.parametrize("negative", ["", "debit", "reversal"])
@pytest.mark.parametrize("step", [1, -1])
def test_a_debit_below_zero_is_what_the_balance_proves(tmp_path: Path, negative: str, step: int):
    read = mine(tmp_path, *TURNED[::step], negative=negative)
    assert told_of(read)[::step] == AS_PROVEN
    assert (read.findings.empty, read.opening_minor, read.closing_minor) == (True, 0, 50_000)
    # On one day, where the days tell no order either.
    same = mine(tmp_path, *(f"05/01/2026{line[10:]}" for line in TURNED[::step]), negative=negative)
    assert told_of(same)[::step] == AS_PROVEN
    assert same.findings.empty


def test_a_debit_below_zero_as_large_as_its_fee_is_what_the_balance_proves(tmp_path: Path):
    columns = {**MINE.columns, "fee": "Fee"}
    lines = ("05/01/2026|a||100.00|0.00|100.00", "06/01/2026|b|-5.00||5.00|90.00")
    read = mine(tmp_path, *lines, header="Day|Text|Out|In|Fee|Saldo", columns=columns)
    assert told_of(read) == [("in", "other"), ("out", "other")]
    assert (read.findings.empty, read.closing_minor) == (True, 9_000)


def test_where_no_balance_proves_a_debit_below_zero_the_layout_says_it(tmp_path: Path):
    columns = {name: heading for name, heading in MINE.columns.items() if name != "balance"}
    lines = [line.rpartition("|")[0] for line in TURNED]
    for negative, back in (("", ("in", "reversal")), ("reversal", ("in", "reversal")), ("debit", ("out", "other"))):
        read = mine(tmp_path, *lines, header="Day|Text|Out|In", columns=columns, negative=negative)
        assert told_of(read) == [("in", "other"), back, back, back, ("out", "other")], negative
    with pytest.raises(StatementRefused, match="meaning of negative maybe does not exist; there are reversal, debit"):
        replace(MINE, negative="maybe")
    # All of them, which without a word for it is not supposed.
    only = mine(tmp_path, lines[1], header="Day|Text|Out|In", columns=columns, negative="debit")
    assert told_of(only) == [("out", "other")]


def test_between_two_balances_and_beside_a_row_that_cannot_be_read(tmp_path: Path):
    whole = ("05/01/2026|a||20.00|20.00", "06/01/2026|b|(5.00)||", "06/01/2026|c|(1.00)||", "07/01/2026|d|4.00||10.00")
    assert told_of(mine(tmp_path, *whole))[1:3] == [("out", "other")] * 2
    for negative, back in (("reversal", ("in", "reversal")), ("debit", ("out", "other")), ("", ("in", "reversal"))):
        read = mine(tmp_path, whole[0], whole[1], "06/01/2026|c|?||", whole[3], negative=negative)
        assert told_of(read)[1] == back
    # Neither: the balance does not follow, and that is said.
    read = mine(tmp_path, whole[0], "06/01/2026|b|(5.00)||17.00")
    assert told_of(read)[1] == ("in", "reversal")
    assert len(read.findings) == 1


def test_an_amount_in_another_currency_than_its_row_is_wrong(tmp_path: Path):
    rows = mine(tmp_path, "05/01/2026|x|K5.00||ZMW 1.00", "05/01/2026|x|$5.00||", "05/01/2026|x||ZMK 5|").rows
    assert [str(each) for each in rows["problem"]] == [
        "<NA>", "Out '$5.00' is not in ZMW, the row's currency", "In 'ZMK 5' is not in ZMW, the row's currency",
    ]  # fmt: skip
    columns = {**MINE.columns, "currency": "Ccy"}
    lines = ("05/01/2026|x|$5.00|||USD", "05/01/2026|x|$5.00|||ZMW")
    read = mine(tmp_path, *lines, header="Day|Text|Out|In|Saldo|Ccy", columns=columns)
    assert read.rows["problem"].notna().tolist() == [False, True]


def test_cr_and_dr_stand_beside_the_balance(tmp_path: Path):
    lines = "05/01/2026|x||5.00|5.00|CR", "06/01/2026|x|8.00||3.00|Dr", "07/01/2026|x||1.00||", "08/01/2026|x|1||3|?"
    read = mine(tmp_path, *lines, header="Day|Text|Out|In|Saldo|S", columns={**MINE.columns, "side": "S"})
    assert [None if pd.isna(each) else each for each in read.rows["balance_minor"]] == [500, -300, None, None]
    assert read.rows["problem"].notna().tolist() == [False, False, False, True]
    assert read.findings.empty


@pytest.mark.parametrize(
    ("pattern", "text", "utc"),
    [
        ("%Y-%m-%d %H:%M:%S.%f", "2026-10-31 10:12:13.0457", "08:12:13.045"),
        ("%Y-%m-%dT%H:%M:%S.%f%z", "2026-10-31T00:12:13.5+05:30", "18:42:13.500"),
        ("%Y-%m-%dT%H:%M:%S%z", "2026-10-31T10:12:13Z", "10:12:13"),
        ("%Y-%m-%d %H:%M:%S %z", "2026-10-31 10:12:13 -0300", "13:12:13"),
        ("%d %b %Y %I:%M %p", "31 OCT 2026 03:04 pm", "13:04:00"),
        ("%d %b %y", "1 sept 26", None),
        ("%d %b %Y", "31 October 2026", None),
    ],
)
def test_moments_are_read_as_they_are_written(pattern: str, text: str, utc: str | None, tmp_path: Path):
    (at,) = mine(tmp_path, f"{text}|x||1.00|", dates=(pattern,)).rows["occurred_at"]
    assert pd.isna(at) if utc is None else at.isoformat(timespec="milliseconds").startswith(f"{at:%Y-%m-%d}T{utc}")


def test_a_day_and_its_time_stand_in_two_columns(tmp_path: Path):
    columns = {**MINE.columns, "time": "At"}
    for pattern, times in (("%d/%m/%Y %H:%M:%S", ("08:01:02", "")), ("%d/%m/%Y %I:%M %p", ("08:01 am", ""))):
        lines = [f"05/01/2026|x||1.00||{time}" for time in (*times, "x")]
        head = "Day|Text|Out|In|Saldo|At"
        rows = mine(tmp_path, *lines, header=head, columns=columns, dates=(pattern,), footers=("Total",)).rows
        assert rows["business_date"].tolist()[:2] == [date(2026, 1, 5)] * 2
        assert rows["occurred_at"].notna().tolist() == [True, False, False]
        assert rows["occurred_at"].iloc[0].hour == 6
        assert rows["problem"].notna().tolist() == [False, False, True]
    with pytest.raises(StatementRefused, match="is not a day, a space and a time"):
        replace(MINE, columns=columns)
    with xlsxwriter.Workbook(tmp_path / "mine.xlsx") as book:
        sheet, day, hour = (
            book.add_worksheet(),
            book.add_format({"num_format": "d/m/yy"}),
            book.add_format({"num_format": "h:mm:ss"}),
        )
        sheet.write_row(0, 0, head.split("|"))
        sheet.write_row(1, 1, ["x", None, 1])
        sheet.write_number(1, 0, 46_027, day)
        sheet.write_number(1, 5, 0.25, hour)
    rows = read_statement(
        tmp_path / "mine.xlsx", layout=replace(MINE, columns=columns, dates=("%d/%m/%Y %H:%M:%S",))
    ).rows
    assert rows["occurred_at"].astype(str).tolist() == ["2026-01-05 04:00:00+00:00"]
    # A moment of a workbook has no zone, and none is supposed where each is to have its own.
    rows = read_statement(
        tmp_path / "mine.xlsx", layout=replace(MINE, dates=("%Y-%m-%dT%H:%M%z",), ignored=("At",))
    ).rows
    assert "is not a date written as" in rows["problem"].iloc[0]


def test_a_pattern_finds_keys_phones_and_orders_in_the_narrative(tmp_path: Path):
    lines = [
        "05/01/2026|SETTLEMENT REF A77 for order-5 by 0961234567||1.00|",
        '05/01/2026|"SETTLEMENT\nREF B78"||1.00|',
        "05/01/2026|POS 9 of 260961234567||1.00|",
    ]
    pattern = r"SETTLEMENT REF (?P<key>\w+)(?: for (?P<related>\S+) by (?P<phone>\d+))?|POS (?P<key>\d)"
    rows = mine(tmp_path, *lines, key_pattern=pattern).rows
    assert rows["key"].tolist() == ["A77", "B78", "9"]
    assert rows["related"].fillna("").tolist() == ["order-5", "", ""]
    assert rows["phone"].fillna("").tolist() == ["+26096••••567", "", ""]
    assert "961234567" not in rows["description"].str.cat(), "a number in the narrative is masked"
    # A column stays where the pattern finds nothing, and goes behind where it does.
    columns = {**MINE.columns, "key": "Ref"}
    lines = [f"{line}|R{number}" for number, line in enumerate([lines[0], "05/01/2026|y||1.00|"])]
    rows = mine(tmp_path, *lines, header="Day|Text|Out|In|Saldo|Ref", columns=columns, key_pattern=pattern).rows
    assert rows["key"].tolist() == ["A77", "R1"]
    # Without keys of its own making, a row in which nothing is found has none.
    rows = mine(tmp_path, "05/01/2026|y||1.00|", key_pattern=pattern, makes_keys=False).rows
    assert rows["problem"].tolist() == ["key is missing"]


def test_made_keys_are_those_of_another_export(tmp_path: Path):
    lines = [
        f"0{day}/01/2026|FEE {text}|{out}||"
        for day, text, out in ((5, "a", 1), (5, "a", 1), (5, "b", 1), (6, "a", 1), (6, "a", 2))
    ]
    keys = mine(tmp_path, *lines).rows["key"].tolist()
    assert len(set(keys)) == 5
    assert all(key.startswith("made-") for key in keys)
    later = (
        mine(tmp_path, "07/01/2026|FEE a|1||", *[line.replace("FEE ", "FEE  ") for line in lines[::-1]])
        .rows["key"]
        .tolist()
    )
    assert later[:0:-1] == keys
    assert later[0] not in keys
    bad = mine(tmp_path, "05/01/2026|FEE a|x||").rows
    assert bad["key"].isna().all(), "a row that cannot be read has no key"


def test_rows_that_only_tell_a_balance_are_no_rows_and_are_followed(tmp_path: Path):
    lines = ["|Balance b/f|||10.00", "05/01/2026|x||1.00|11.00", "|Balance b/f|||11.00", "06/01/2026|x||1.00|12.00"]
    for order in (lines, lines[::-1]):
        read = mine(tmp_path, *order, openings=("Balance b/f",))
        assert (len(read.rows), read.opening_minor, read.closing_minor) == (2, 1_000, 1_200)
        assert read.findings.empty
        assert read.rows["problem"].isna().all()
        assert read.follows == "agrees in every row"
    assert mine(tmp_path, lines[0].removesuffix("10.00"), *lines[1:], openings=("Balance b/f",)).followed == 2
    # What it brings forward may stand in a column of amounts as well.
    lines[0] = "|Balance b/f||10.00|10.00"
    assert len(mine(tmp_path, *lines, openings=("Balance b/f",)).rows) == 2
    # A balance that does not follow is found there too, one that cannot be read is a bad row, and a movement is one.
    lines[2] = "|Balance b/f|||11.01"
    assert mine(tmp_path, *lines, openings=("Balance b/f",)).findings["line"].tolist() == [4, 5]
    lines[2] = "|Balance b/f|||11.0x"
    assert mine(tmp_path, *lines, openings=("Balance b/f",)).rows["problem"].notna().tolist() == [False, True, False]
    lines[2] = "05/01/2026|Balance b/f fee|0.50||10.50"
    assert len(mine(tmp_path, *lines, openings=("Balance b/f",)).rows) == 3


def test_where_every_debit_is_below_zero_and_no_balance_tells_nothing_is_supposed(tmp_path: Path):
    columns = {name: heading for name, heading in MINE.columns.items() if name != "balance"}
    lines = ["05/01/2026|x|-5.00|", "05/01/2026|x||1.00", "05/01/2026|x|5.00|"]
    rows = mine(tmp_path, *lines[:2], header="Day|Text|Out|In", columns=columns).rows
    assert rows["problem"].notna().tolist() == [True, False]
    assert mine(tmp_path, *lines, header="Day|Text|Out|In", columns=columns).rows["type"].iloc[0] == "reversal"


@pytest.mark.parametrize(
    ("first", "last", "formats", "expected"),
    [
        ("1 Jan 2026", "31 Jan 2026", ("%d/%m/%Y", "%d %b %Y"), (date(2026, 1, 1), date(2026, 1, 31))),
        ("01/01/2026", "31 Jan 2026", ("%d/%m/%Y", "%d %b %Y"), (date(2026, 1, 1), date(2026, 1, 31))),
        # One format reads both days, so that the other is not meant.
        ("02/01/2026", "31/01/2026", ("%m/%d/%Y", "%d/%m/%Y"), (date(2026, 1, 2), date(2026, 1, 31))),
        ("02/01/2026", "05/01/2026", ("%m/%d/%Y", "%d/%m/%Y"), "is 2026-01-02 or 2026-02-01: keep one of them"),
        ("1.1.2026", "31/01/2026", ("%d/%m/%Y", "%d %b %Y"), "is not a day written as %d/%m/%Y or %d %b %Y"),
    ],
)
def test_days_above_the_header_may_be_written_otherwise_than_those_of_rows(
    tmp_path: Path, first: str, last: str, formats: tuple[str, ...], expected: object
):
    path, mine_toml = tmp_path / "mine.csv", tmp_path / "mine.toml"
    path.write_text(f"From,{first}\nTo,{last}\nDay,Text,In\n2026-01-05,x,1.00\n")
    mine_toml.write_text(
        'account = "bank:settlement"\ndates = ["%Y-%m-%d"]\nmakes_keys = true\n'
        f"preamble_date = {list(formats)!r}\n"
        '[columns]\nmoment = "Day"\ndescription = "Text"\namount = "In"\n[preamble]\nfirst = "From"\nlast = "To"\n'
    )
    if isinstance(expected, str):
        with pytest.raises(StatementRefused, match=re.escape(expected)):
            read_statement(path, layout=mine_toml)
        return
    assert read_statement(path, layout=mine_toml).period == expected


def test_a_preamble_has_pairs_in_a_line_a_period_in_a_cell_and_one_currency(tmp_path: Path):
    path = tmp_path / "mine.csv"
    preamble = {"currency": "Ccy", "opening": "Start", "first": "Days", "last": "Days"}
    layout = replace(MINE, preamble=preamble, preamble_date="%d/%m/%Y")
    lines = (
        "Account,0012,Start:,K1.00,Ccy:,{}",
        "Days: from 1/1/2026 to 31/01/2026",
        "Day,Text,Out,In,Saldo",
        "05/01/2026,x,,1.00,2.00",
    )
    for said, words in (
        ("ZMW (Kwacha)", ""),
        ("USD", "has balances in MWK or ZMW above"),
        ("Kwacha", "not a currency's"),
        ("Not known", "not a currency's"),
    ):
        path.write_text("\n".join(lines).format(said))
        if words:
            with pytest.raises(StatementRefused, match=words):
                read_statement(path, layout=layout)
            continue
        read = read_statement(path, layout=layout)
        assert (read.currency, read.opening_minor, read.findings.empty) == ("ZMW", 100, True)
        assert read.period == (date(2026, 1, 1), date(2026, 1, 31))
        with pytest.raises(StatementRefused, match="is not a day written as %d/%m/%y"):
            read_statement(path, layout=replace(layout, preamble_date="%d/%m/%y"))


def test_a_file_that_is_not_utf_8_is_read_where_its_layout_says_how(tmp_path: Path):
    path = tmp_path / "mine.csv"
    path.write_bytes("Day,Text,Out,In,Saldo\n05/01/2026,Caf\u00e9,,1.00,\n".encode("cp1252"))
    with pytest.raises(StatementRefused, match="is not text in utf-8: line 2"):
        read_statement(path, layout=MINE)
    layout = replace(MINE, encoding="cp1252")
    assert read_statement(path, layout=layout).rows["description"].tolist() == ["Caf\u00e9"]
    path.write_bytes(path.read_bytes().replace(b"\xe9", b"\x81"))
    with pytest.raises(StatementRefused, match="is not text in cp1252"):
        read_statement(path, layout=layout)
    # Far below the header too, where the text before it could be of either.
    first, second, *others = text_of("stanbic").splitlines()
    path.write_bytes("\r\n".join([first, *[second] * 600, *others]).encode("cp1252"))
    assert read_statement(path).layout == "stanbic"


@pytest.mark.parametrize("year", [1900, 2062])
@pytest.mark.parametrize("place", [0, -1])
def test_one_day_of_another_year_does_not_turn_the_rows_round(place: int, year: int, tmp_path: Path):
    days, balance = ["31.10.2026"] * 4, 10_000
    days[place] = f"31.10.{year}"
    lines = []
    for number, day in enumerate(days):
        balance += 100 + number
        lines.append(f"{day};Cash deposit;F{number};;{1 + number / 100:.2f};{balance / 100:.2f}".replace(".", ","))
    lines = [line.replace(",", ".", 2) for line in lines]
    for is_turned in (False, True):
        told = "\n".join([text_of("stanbic").splitlines()[0], *lines[:: -1 if is_turned else 1]])
        (tmp_path / "bank.csv").write_text(told, "utf-8")
        read = read_statement(tmp_path / "bank.csv")
        assert (read.opening_minor, read.closing_minor, read.followed) == (10_000, 10_406, 4)
        assert read.findings.empty
