"""Ledgers of one's own: files, tables and databases as shops have them, read to the same rows or refused by name."""

import os
import re
import shutil
import sqlite3
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from hashlib import sha256
from importlib.util import find_spec
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import duckdb
import openpyxl
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.analysis import files
from workbench.analysis.frames import frame
from workbench.analysis.reconcile import reconcile
from workbench.analysis.shapes import LEDGER_MOVEMENT
from workbench.analysis.statements import Layout, ledger_columns, own_ledger, read_ledger, read_statement
from workbench.analysis.statements.own_ledger import LEDGER
from workbench.cli import app
from workbench.errors import StatementRefused

needs_driver = pytest.mark.skipif(find_spec("adbc_driver_sqlite") is None, reason="the extra `sql` is not installed")
STATEMENT = """\
Id,Date,Status,Type,From,To,Amount,Fee,Balance
7712345678,2026-10-30 08:15:00,Successful,Payment,FRI:260961234567/MSISDN,FRI:shop/USER,150.00,0,5150.00
7712345679,2026-10-30 09:02:11,Successful,Payment,FRI:260961234568/MSISDN,FRI:shop/USER,85.50,0,5235.50
7712345680,2026-10-31 17:40:00,Successful,Refund,FRI:shop/USER,FRI:260961234567/MSISDN,60.00,0,5175.50
7712345681,2026-10-31 18:05:37,Successful,Payment,FRI:260961234569/MSISDN,FRI:shop/USER,1200.00,0,6375.50
"""
SMALLEST = """\
account,key,occurred_at,amount
operator:mtn:float,7712345678,2026-10-30 08:15:00,150.00
operator:mtn:float,7712345679,2026-10-30 09:02:11,85.50
operator:mtn:float,7712345680,2026-10-31 17:40:00,-60.00
operator:mtn:float,7712345681,2026-10-31 18:05:37,1200.00
"""
"""Amounts are in kwacha, and one below zero goes out."""
TEXTS = pd.read_csv(StringIO(SMALLEST), dtype="string")
MOMENTS = pd.to_datetime(TEXTS["occurred_at"])
EXACT = TEXTS.assign(amount=TEXTS["amount"].map(Decimal), occurred_at=MOMENTS)
MINOR = TEXTS.drop(columns="amount").assign(
    amount_minor=[15_000, 8_550, -6_000, 120_000], occurred_at=MOMENTS.dt.tz_localize("Africa/Lusaka")
)


def csv_of(folder: Path, text: str, name: str = "books.csv", encoding: str = "utf-8") -> Path:
    path = folder / name
    path.write_text(text, encoding)
    return path


def workbook_of(folder: Path) -> Path:
    book = openpyxl.Workbook()
    for row in (EXACT.columns, *EXACT.itertuples(index=False)):
        book.active.append([cell.to_pydatetime() if isinstance(cell, pd.Timestamp) else cell for cell in row])
    book.save(folder / "books.xlsx")
    return folder / "books.xlsx"


def parquet_of(folder: Path, rows: pd.DataFrame) -> Path:
    rows.to_parquet(folder / "books.parquet")
    return folder / "books.parquet"


def iso(suffix: str, hours: int) -> Callable[[datetime], str]:
    return lambda at: f"{at - timedelta(hours=hours):%Y-%m-%dT%H:%M:%S}{suffix}"


SOURCES: dict[str, Callable[[Path], Any]] = {
    "csv": lambda folder: csv_of(folder, SMALLEST),
    "csv of a spreadsheet": lambda folder: csv_of(folder, SMALLEST.replace(",", ";"), encoding="utf-8-sig"),
    "csv in UTF-16": lambda folder: csv_of(folder, SMALLEST.replace(",", "\t"), encoding="utf-16"),
    "xlsx": workbook_of,
    "parquet": lambda folder: parquet_of(folder, MINOR),
    "pandas of texts": lambda _: TEXTS,
    "pandas of decimals": lambda _: EXACT,
    "pandas of ngwee": lambda _: MINOR,
    "a key with decimals": lambda _: EXACT.assign(key=[Decimal(f"{key}.00") for key in TEXTS["key"]]),
    "moments in UTC": lambda _: TEXTS.assign(occurred_at=MOMENTS.map(iso("Z", 2))),
    "moments with a zone": lambda _: TEXTS.assign(occurred_at=MOMENTS.map(iso(".000000+05:00", -3))),
    "polars": lambda _: pl.from_pandas(EXACT),
    "arrow": lambda _: pa.Table.from_pandas(MINOR.assign(account=MINOR["account"].astype("category"))),
    "duckdb": lambda _: duckdb.from_arrow(pa.Table.from_pandas(EXACT)),
}


@pytest.mark.parametrize("kind", SOURCES)
def test_the_smallest_ledger_is_the_same_rows_from_wherever_it_comes_and_agrees(kind: str, tmp_path: Path):
    given = SOURCES[kind](tmp_path)
    ledger = read_ledger(given)
    assert dict(ledger.rows.dtypes.astype(str)) == dict(LEDGER)
    pd.testing.assert_frame_equal(ledger.rows, read_ledger(TEXTS).rows)
    assert ledger.rows["amount_minor"].tolist() == [15_000, 8_550, 6_000, 120_000]
    assert ledger.rows["direction"].tolist() == ["in", "in", "out", "in"]
    assert ledger.rows["occurred_at"][0] == datetime(2026, 10, 30, 6, 15, tzinfo=UTC)
    assert ledger.rows["number"].is_monotonic_increasing
    is_file = isinstance(given, Path)
    assert not is_file or ledger.name == given.name
    assert ledger.sha256 == (sha256(given.read_bytes()).hexdigest() if is_file else None)


def test_each_column_is_documented_and_its_example_is_read():
    rows = ledger_columns().rows
    assert [name for name, *_ in rows] == [*LEDGER_MOVEMENT, "description"]
    example = pd.DataFrame({name: [text] for name, _, _, text, _ in rows})
    read = read_ledger(example).rows.iloc[0]
    assert read["occurred_at"] == datetime(2026, 10, 31, 6, 15, tzinfo=UTC)
    assert read["phone"] == "+26096••••567"
    left = [name for name in example if name not in {"occurred_at", "phone"}]
    assert [str(read[name]) for name in left] == example[left].iloc[0].tolist()
    # What is not needed may be left out, one column by one.
    for name, _, otherwise, *_ in rows:
        if not otherwise.startswith("needed"):
            assert len(read_ledger(example.drop(columns=name)).rows) == 1, name


SHOP = Layout(
    name="shop",
    columns={
        "number": "id", "key": "Ref", "moment": "Created", "amount": "Amount", "status": "State", "account": "Provider",
        "phone": "Msisdn",
    },
    dates=("%d/%m/%Y %H:%M",), statuses={"Paid": "completed", "Void": "failed"}, thousands=",",
    accounts={"MTN": "operator:mtn:float", "Airtel": "operator:airtel:float"},
)  # fmt: skip
SHOP_CSV = """\
id,Created,Ref,Amount,State,Provider,Msisdn,Till
7,31/10/2026 10:00,A1,"1,500.00",Paid,mtn,0961234567,2
8,31/10/2026 10:05,A1,-500.00,paid,MTN,0961234567,2
9,01/11/2026 23:59,B1,20.00,Void,Airtel,0971234567,1
"""


def test_a_layout_declares_what_the_columns_and_their_words_mean(tmp_path: Path):
    rows = read_ledger(csv_of(tmp_path, SHOP_CSV), layout=SHOP).rows
    told = ["account", "key", "entry", "number", "direction", "amount_minor", "fee_minor", "status", "currency"]
    assert rows[told].to_numpy().tolist() == [
        ["operator:mtn:float", "A1", "A1", 7, "in", 150_000, 0, "completed", "ZMW"],
        ["operator:mtn:float", "A1", "A1#2", 8, "out", 50_000, 0, "completed", "ZMW"],
        ["operator:airtel:float", "B1", "B1", 9, "in", 2_000, 0, "failed", "ZMW"],
    ]
    assert rows["balance_minor"].isna().all()


@pytest.mark.parametrize("day", [date(2026, 10, 31), datetime(2026, 10, 31), "31/10/2026"])  # noqa: DTZ001  no zone
def test_a_table_has_its_days_and_times_in_two_columns(day: object):
    columns = {"key": "key", "moment": "day", "time": "time", "amount": "amount"}
    layout = Layout(name="shop", columns=columns, dates=("%d/%m/%Y %I:%M %p",), account="a")
    given = pa.table({"key": ["k1", "k2"], "day": [day] * 2, "time": ["08:01 PM", ""], "amount": ["1.00"] * 2})
    rows = read_ledger(given, layout=layout).rows
    assert rows["occurred_at"][0] == datetime(2026, 10, 31, 18, 1, tzinfo=UTC)
    assert rows["occurred_at"].isna().tolist() == [False, True]


BOOKS = Layout(
    name="books", dates=("%Y-%m-%d",), account="bank:settlement", preamble={"opening": "Opening balance"},
    columns={"key": "Reference", "moment": "Date", "debit": "Debit", "credit": "Credit", "balance": "Balance",
             "type": "Type"},
    types={"Withdrawal": "payout"},
)  # fmt: skip


@pytest.mark.parametrize("step", [1, -1], ids=["oldest first", "newest first"])
@pytest.mark.parametrize(
    ("told", "above"), [(("", "85.00", ""), ""), (("", "", "60.00"), ""), (("", "", ""), "Opening balance,50.00\n")]
)
def test_in_books_a_debit_comes_in_and_the_balance_goes_on_from_what_is_told(
    told: tuple[str, ...], above: str, step: int, tmp_path: Path
):
    lines = [f"2026-10-31,{key},{halves},{balance},{kind}" for (key, halves, kind), balance in zip(
        (("a", "10.00,", ""), ("b", "25.00,", ""), ("c", ",25.00", "withdrawal")), told, strict=True)]  # fmt: skip
    lines = [line.replace("-31", f"-{29 + place}") for place, line in enumerate(lines)]
    text = f"{above}Date,Reference,Debit,Credit,Balance,Type\n" + "\n".join(lines[::step])
    rows = read_ledger(csv_of(tmp_path, text), layout=BOOKS).rows.sort_values("number")
    assert rows["key"].tolist() == ["a", "b", "c"]
    assert rows["direction"].tolist() == ["in", "in", "out"]
    assert rows["balance_minor"].tolist() == [6_000, 8_500, 6_000]
    assert rows["kind"].tolist()[2] == "payout_paid"


@pytest.mark.parametrize("balances", [True, False])
@pytest.mark.parametrize("step", [1, -1], ids=["oldest first", "newest first"])
def test_the_opening_row_of_an_account_is_its_opening_balance_and_no_movement(
    step: int, tmp_path: Path, *, balances: bool
):
    names = {"account": "Account", "key": "Key", "moment": "Date", "amount": "Amount", "description": "Details"}
    columns = {**names, "balance": "Balance"} if balances else names
    layout = Layout(name="books", dates=("%Y-%m-%d",), columns=columns, openings=("Opening balance", "Balance b/f"))
    told = [("bank:a,,2026-01-01", "1000.00", "Opening balance"), ("bank:b,,2026-01-01", "-10.00", "Balance b/f")]
    begins = [f"{begin},,{text},{tells}" if balances else f"{begin},{tells},{text}" for begin, tells, text in told]
    moves = ["bank:a,k1,2026-01-02,50.00,Sale", "bank:b,k2,2026-01-03,-5.00,Charge"]
    lines = [*begins, *(f"{line}," if balances else line for line in moves)][::step]
    rows = read_ledger(csv_of(tmp_path, "\n".join([",".join(columns.values()), *lines])), layout=layout, currency="ZMW")
    found = rows.rows.sort_values("key")[["account", "key", "amount_minor", "balance_minor"]]
    assert found.to_numpy().tolist() == [["bank:a", "k1", 5_000, 105_000], ["bank:b", "k2", 500, -1_500]]


@pytest.mark.parametrize("step", [1, -1], ids=["oldest first", "newest first"])
@pytest.mark.parametrize("day", [30, 31], ids=["back-dated", "of one day"])
def test_the_rows_of_a_day_are_ordered_by_the_balance_of_each_account(day: int, step: int, tmp_path: Path):
    lines = ["a,A1,2026-10-31,100.00,100.00", "b,B1,2026-10-31,50.00,50.00", "a,A2,2026-10-31,10.00,110.00",
             f"b,B2,2026-10-{day},-20.00,30.00"]  # fmt: skip
    text = "\n".join(["account,key,occurred_at,amount,balance", *lines[::step]])
    rows = read_ledger(csv_of(tmp_path, text)).rows.sort_values("number")
    assert rows["key"].tolist() == (["A1", "B1", "A2", "B2"] if day == 31 else ["B2", "A1", "B1", "A2"])


@pytest.mark.parametrize("step", [1, -1], ids=["oldest first", "newest first"])
def test_a_day_without_a_time_is_booked_after_the_row_before_it(step: int, tmp_path: Path):
    lines = ["a,A1,2026-10-30T10:00:00,5.00,5.00", "a,A2,2026-10-31,100.00,105.00",
             "a,A3,2026-10-31T09:00:00,10.00,115.00", "b,B1,2026-10-31T17:00:00,7.00,7.00",
             "a,A4,2026-10-31,20.00,135.00"]  # fmt: skip
    ledger = csv_of(tmp_path, "\n".join(["account,key,occurred_at,amount,balance", *lines[::step]]))
    told = [(line.split(",")[1], line.split(",")[2][:10], line.split(",")[3]) for line in lines if line[0] == "a"]
    statement = pd.DataFrame(told, columns=["key", "occurred_at", "amount"], dtype="string").assign(account="a")
    result = reconcile(ledger, statement)
    assert result.breaks.empty
    assert result.proof[["ledger_minor", "statement_minor", "holds"]].to_numpy().tolist() == [[13_500, 13_500, True]]


@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_row_that_only_states_a_balance_states_it_for_its_place(place: int, tmp_path: Path):
    columns = {"key": "Key", "moment": "Day", "amount": "Amount", "description": "Text"}
    layout = Layout("books", columns, ("%Y-%m-%d",), account="bank:a", openings=("Balance",))
    lines = ["k1,2026-01-02,5.00,Sale", "k2,2026-01-02,2.00,Sale"]
    lines.insert(place, f",,{('10.00', '15.00', '17.00')[place]},Balance")
    text = "\n".join(["Key,Day,Amount,Text", *lines])
    rows = read_ledger(csv_of(tmp_path, text), layout=layout).rows.sort_values("number")
    assert rows[["key", "balance_minor"]].to_numpy().tolist() == [["k1", 1_500], ["k2", 1_700]]


@pytest.mark.parametrize(
    ("rows_in", "expected"), [(["USD"], [1_100]), (["USD", "EUR"], [None, None]), (["UGX"], [None])]
)
def test_an_opening_row_without_a_currency_is_of_its_accounts_only_one(
    rows_in: list[str], expected: list[int | None], tmp_path: Path
):
    columns = {"account": "Account", "key": "Key", "moment": "Day", "amount": "Amount", "currency": "Ccy",
               "description": "Text"}  # fmt: skip
    layout = Layout("books", columns, ("%Y-%m-%d",), openings=("Balance",))
    lines = [f"a,k{nth},2026-01-02,1.00,{currency},x" for nth, currency in enumerate(rows_in)]
    text = "\n".join(["Account,Key,Day,Amount,Ccy,Text", "a,,,10.00,,Balance", *lines])
    rows = read_ledger(csv_of(tmp_path, text), layout=layout).rows
    assert [None if pd.isna(balance) else balance for balance in rows["balance_minor"]] == expected


def test_a_day_may_stand_among_moments(tmp_path: Path):
    text = "account,key,occurred_at,amount\na,k1,2026-10-30T23:15:00Z,1.00\na,k2,2026-10-31,2.00\n"
    rows = read_ledger(csv_of(tmp_path, text)).rows
    assert rows["business_date"].astype(str).tolist() == ["2026-10-31"] * 2


def test_a_word_with_a_semicolon_is_refused_in_one_reason(tmp_path: Path):
    columns = {"account": "Account", "key": "Key", "moment": "Day", "amount": "Amount"}
    layout = Layout("books", columns, ("%Y-%m-%d",), accounts={"MTN": "a"})
    path = csv_of(tmp_path, "Account,Key,Day,Amount\nA; B,k1,2026-01-02,1.00\n")
    with pytest.raises(StatementRefused, match=r"Account 'A; B' is none of MTN \(1 row, line 2\)"):
        read_ledger(path, layout=layout)


def test_a_balance_that_is_not_told_follows_from_the_one_before(tmp_path: Path):
    rows = ("k1,2026-10-29,1.00,1.00", "k2,2026-10-30,2.00,", "k3,2026-10-31,3.00,60.00", "k4,2026-10-31,4.00,")
    text = "\n".join(["key,occurred_at,amount,balance", *rows])
    assert read_ledger(csv_of(tmp_path, text), account="a").rows["balance_minor"].tolist() == [100, 300, 6_000, 6_400]


def test_a_made_key_is_the_same_whatever_the_rows_of_other_accounts(tmp_path: Path):
    columns = {"account": "Account", "moment": "Day", "amount": "Amount", "description": "Text"}
    layout = Layout(name="books", dates=("%Y-%m-%d",), columns=columns, makes_keys=True)
    lines = [f"{account},2026-10-31,-5.00,Fee" for account in ("a", "b", "a", "b")]
    keys = [
        read_ledger(csv_of(tmp_path, "\n".join(["Account,Day,Amount,Text", *some])), layout=layout).rows["key"].tolist()
        for some in (lines, lines[1::2])
    ]
    assert keys[0][:2] == [keys[1][0]] * 2
    assert keys[0][2:] == [keys[1][1]] * 2
    assert keys[1][0] != keys[1][1]


def test_an_opening_balance_above_the_header_is_of_one_account_and_currency(tmp_path: Path):
    columns = {"account": "Account", "key": "Key", "moment": "Day", "amount": "Amount", "currency": "Ccy"}
    layout = Layout(name="books", dates=("%Y-%m-%d",), preamble={"opening": "Opening"}, columns=columns)
    above = "Opening,50.00\nAccount,Key,Day,Amount,Ccy\na,k1,2026-10-30,1.00,ZMW\n"
    rows = read_ledger(csv_of(tmp_path, f"{above}a,k2,2026-10-31,2.00,USD\n"), layout=layout).rows
    assert rows["balance_minor"].fillna(0).tolist() == [5_100, 0]
    rows = read_ledger(csv_of(tmp_path, above.replace("ZMW", "USD")), layout=layout).rows
    assert rows["balance_minor"].tolist() == [5_100]
    with pytest.raises(StatementRefused, match="an opening balance above its header, and the rows of 2 accounts"):
        read_ledger(csv_of(tmp_path, f"{above}b,k2,2026-10-31,2.00,ZMW\n"), layout=layout)


MOVES = st.lists(
    st.tuples(
        st.sampled_from(["operator:mtn:float", "bank:settlement"]), st.integers(1, 10**12), st.integers(0, 10**6),
        st.sampled_from(["in", "out"]), st.sampled_from(["completed", "failed", "pending"]),
        st.datetimes(datetime(2020, 1, 1), datetime(2030, 1, 1)), st.booleans(),  # noqa: DTZ001  made aware below
    ),
    min_size=1, max_size=8,
)  # fmt: skip


@settings(max_examples=10)
@given(MOVES, st.sampled_from([".csv", ".parquet", ""]))
def test_a_whole_ledger_is_read_as_it_is_and_its_balances_follow_from_any_that_is_told(
    tmp_path_factory: pytest.TempPathFactory, moves: list[tuple[Any, ...]], ending: str
):
    balances: dict[str, int] = {}
    made = []
    for place, (account, amount, fee, direction, status, at, _) in enumerate(moves):
        moved = (amount if direction == "in" else -amount) - fee if status == "completed" else 0
        balances[account] = balances.get(account, 777) + moved
        made.append({
            "account": account, "key": f"k{place}", "batch": None, "occurred_at": at.replace(tzinfo=UTC),
            "business_date": at.date(), "direction": direction, "amount_minor": amount, "fee_minor": fee,
            "currency": "ZMW", "status": status, "phone": None, "entry": f"e{place}", "number": place,
            "kind": "payment", "payment": None, "reverses": None, "state": None, "balance_minor": balances[account],
        })  # fmt: skip
    whole = frame(made, LEDGER_MOVEMENT)
    source: Any = whole
    if ending:
        source = tmp_path_factory.mktemp("whole") / f"ledger{ending}"
        files.write(whole, source, LEDGER_MOVEMENT)
    read = read_ledger(source).rows
    pd.testing.assert_frame_equal(read[list(LEDGER_MOVEMENT)].astype(dict(LEDGER_MOVEMENT)), whole)
    keeps = [keep for *_, keep in moves]
    some = whole.assign(balance_minor=whole["balance_minor"].astype("Int64").where(keeps))
    known = whole["account"].isin(set(whole["account"][keeps]))
    expected = whole["balance_minor"].astype("Int64").where(known)
    assert read_ledger(some).rows["balance_minor"].tolist() == expected.tolist()


def test_every_row_that_cannot_be_read_is_counted_under_its_reason(tmp_path: Path):
    lines = ["9,31/10/2026 10:00,C1,20.00,CR,MTN,,", "10,31/10/2026 10:00,C2,1O.00,Settled,Zamtel,,",
             "x,31/10/2026 10:00,,5.00,CR,MTN,,"]  # fmt: skip
    with pytest.raises(StatementRefused) as refused:
        read_ledger(csv_of(tmp_path, SHOP_CSV + "\n".join(lines)), layout=SHOP)
    text = str(refused.value)
    for expected in (
        "books.csv has 3 of 6 rows that cannot be read",
        "State 'CR' is none of Paid, Void (2 rows, the first is line 5)",
        "State 'Settled' is none of Paid, Void (1 row, line 6)",
        "Amount '1O.00' is not an amount (1 row, line 6)",
        "Provider 'Zamtel' is none of MTN, Airtel (1 row, line 6)",
        "Ref is missing (1 row, line 7)",
        "id 'x' is not a whole number (1 row, line 7)",
        "statuses = {Paid = 'completed'}",
    ):
        assert expected in text, expected


REFUSED: dict[str, tuple[Any, dict[str, Any], str]] = {
    "finer floats": (TEXTS.assign(amount=[1.5, 0.1 + 0.2, 1.0, 2.0]), {},
                     r"amount '0.30000000000000004' has more.*1 row, row 2.*df\['amount'\].round\(2\)"),
    "an endless float": (TEXTS.assign(amount=[1.5, float("inf"), 1.0, 2.0]), {}, "'inf' is not an amount"),
    "no amount": (TEXTS.assign(amount=[1.5, float("nan"), 1.0, 2.0]), {}, "amount is missing .1 row, row 2"),
    "a float as key": (TEXTS.assign(key=[1.0, 2.0, None, 4.0]), {}, r"floats in key.*df\['key'\]\.astype"),
    "kwacha or ngwee": (MINOR.rename(columns={"amount_minor": "amount"}), {}, "or ngwee.*name it amount_minor; if"),
    "parts of a ngwee": (TEXTS.rename(columns={"amount": "amount_minor"}), {}, "'150.00' is not a whole number of"),
    "finer": (TEXTS.assign(amount="1.505"), {}, "more decimals than ZMW, which has 2"),
    "nan": (TEXTS.assign(amount="nan"), {}, "'nan' is not an amount"),
    "units of two kinds": (TEXTS.assign(fee_minor="1"), {}, "some of amount, fee_minor end in _minor.*set units"),
    "other units": (TEXTS, {"layout": "units.toml"}, "units are major or minor, not 'cents'"),
    "a status": (TEXTS.assign(status="Paid"), {}, r"'Paid' is none of completed.*4 rows, the first is row 1"),
    "a direction": (TEXTS.assign(direction=["in", "CR", "in", "in"]), {}, r"direction 'CR' is none of in, out .1 row"),
    "two columns": (pa.table([["k"], ["k"], ["2026-01-01"], ["1"]], ["key", "key", "occurred_at", "amount"]), {},
                    "a column twice"),
    "another date": (TEXTS.assign(occurred_at="31/10/2026"), {}, "is not a date"),
    **{f"no text as {name}": (TEXTS, {name: 5}, f"Give {name} as text, not 5")
       for name in ("account", "date_format", "currency")},
    **{f"as a query {query!r}": ("sqlite:///books.db", {"query": query}, "Give query as text or as the path of a .sql")
       for query in (5, b"SELECT 1", ["q.sql"])},
    "no account": (TEXTS.drop(columns="account"), {}, "does not name its account"),
    "accounts twice": (TEXTS, {"account": "bank:settlement"}, "names the account of each row"),
    "a missing key": (TEXTS.assign(key=["a", None, "b", "c"]), {}, "key is missing .1 row, row 2.*makes_keys = true"),
    "a missing account": (TEXTS.assign(account=["a", "", "a", "a"]), {}, "account is missing .1 row, row 2"),
    "other columns": (TEXTS[["account", "amount"]], {}, "does not have the columns of a ledger.*ledger_columns"),
    "a layout's columns": (TEXTS, {"layout": SHOP}, "lacks id, Ref, Created.*it has account, key"),
    "a list": (TEXTS.assign(phone=[[1]] * 4), {}, "list<item: int64> in phone"),
    "mixed": (TEXTS.assign(amount=[1, "a", object(), 2]), {}, "cannot be read as a table"),
    "nothing": (3, {}, "Give a ledger; int is not one"),
    "a query of no database": (TEXTS, {"query": "SELECT 1"}, "A query needs a database"),
    "no query": ("sqlite:///books.db", {}, "needs a query"),
    "another database": ("mysql://u:unspoken@h", {"query": "SELECT 1"}, "no driver for the address mysql://…; there"),
    "a query that is not there": ("sqlite:///b.db", {"query": "none.sql"}, "none.sql cannot be read: No such file"),
    "infinity": (pa.table({**{n: TEXTS[n] for n in ("account", "key", "amount")},
                           "occurred_at": pa.array([2**62] * 4, pa.timestamp("us"))}), {}, "a date that does not"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_would_need_a_guess_is_refused(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    Path("units.toml").write_text(
        'units = "cents"\ndates = ["%Y"]\ncolumns = {key = "key", moment = "occurred_at", amount = "amount"}\n'
    )
    source, options, expected = REFUSED[name]
    with pytest.raises(StatementRefused, match=expected):
        read_ledger(source, **options)


def test_makes_keys_is_named_where_keys_are_missing_and_not_where_another_column_ends_in_the_same_word():
    columns = {"key": "id", "account": "Paid id", "moment": "Day", "amount": "Amount"}
    row = {"id": "1", "Paid id": "a", "Day": "2026-10-30", "Amount": "1.00"}
    for column, names_it in (("id", True), ("Paid id", False)):
        with pytest.raises(StatementRefused) as refused:
            read_ledger(pd.DataFrame([row | {column: ""}]), layout=Layout("own", columns, dates=("%Y-%m-%d",)))
        assert f"{column} is missing" in str(refused.value)
        assert ("makes_keys" in str(refused.value)) is names_it


def test_a_parquet_file_whose_texts_are_not_utf_8_is_refused(tmp_path: Path):
    path = tmp_path / "books.parquet"
    TEXTS.assign(key="wxyz").to_parquet(path, compression=None)
    path.write_bytes(path.read_bytes().replace(b"wxyz", b"\xff\xfe\xff\xfe"))
    with pytest.raises(StatementRefused, match=r"books\.parquet cannot be read as a table"):
        read_ledger(path)


# A database of the shop's own: a table of payments, in PostgreSQL and in SQLite.

PAYMENTS = [
    (7, "2026-10-30 08:15:00+02", "150.00", "paid", "7712345678"),
    (8, "2026-10-30 09:02:11+02", "85.50", "paid", "7712345679"),
    (9, "2026-10-31 17:40:00+02", "-60.00", "refunded", "7712345680"),
    (10, "2026-10-31 18:05:37+02", "1200.00", "paid", "7712345681"),
    (11, "2026-10-31 18:06:00+02", "12.00", "failed", None),
]  # fmt: skip
SELECTED = """-- the shop's payments; those that reached the operator
SELECT 'operator:mtn:float' AS account, ref AS key, {moment} AS occurred_at, {amount},
       CASE WHEN status IN ('paid', 'refunded') THEN 'completed' ELSE status END AS status, id AS number
FROM payments WHERE ref IS NOT NULL;  -- ';' is no statement
"""
POSTGRESQL = SELECTED.format(moment="created_at", amount="amount")
SQLITE = SELECTED.format(moment="created_at", amount="CAST(round(amount * 100) AS INTEGER) AS amount_minor")
SECRETS = ("clerk", "unspoken", "sockets")


@pytest.fixture(scope="module")
def postgresql(request: pytest.FixtureRequest) -> Iterator[str]:
    """The address of a cluster of this test's own, on a socket in a folder that only it knows."""
    places = [*sorted(Path("/usr/lib/postgresql").glob("*/bin")), *os.environ["PATH"].split(os.pathsep)]
    initdb = shutil.which("initdb", path=os.pathsep.join(map(str, places)))
    if initdb is None or find_spec("adbc_driver_postgresql") is None:
        text = "there is no PostgreSQL" if initdb is None else "the extra `sql` is not installed"
        (pytest.fail if request.config.getoption("--require-postgresql") else pytest.skip)(text)
    from adbc_driver_postgresql import dbapi

    with TemporaryDirectory(prefix="sockets") as folder:
        is_root = os.geteuid() == 0
        as_nobody: dict[str, Any] = {"user": "nobody", "group": "nogroup", "extra_groups": []} if is_root else {}
        if is_root:
            shutil.chown(folder, "nobody", "nogroup")
        calls: dict[str, Any] = {"timeout": 60, "cwd": folder, "stdout": subprocess.DEVNULL, **as_nobody}
        made = ["-D", f"{folder}/data"]
        new, control = (
            ["-U", "clerk", "-A", "trust", "-E", "UTF8", "--no-locale", "-N"],
            Path(initdb).with_name("pg_ctl"),
        )
        subprocess.run([initdb, *made, *new], check=True, **calls)  # noqa: S603  PostgreSQL's own
        options = f"-k {folder} -c listen_addresses= -c fsync=off"
        start = [*made, "-w", "-l", f"{folder}/log", "-o", options, "start"]
        subprocess.run([control, *start], check=True, **calls)  # noqa: S603  the same
        try:
            address = f"postgresql:///postgres?host={folder}&user=clerk"
            with closing(dbapi.connect(address, autocommit=True)) as link, closing(link.cursor()) as cursor:
                columns = "id bigint, created_at timestamptz, amount numeric(12, 2), status text, ref text"
                cursor.execute(f"CREATE TABLE payments ({columns})")
                values = "$1, $2::text::timestamptz, $3::text::numeric, $4, $5"
                cursor.executemany(f"INSERT INTO payments VALUES ({values})", PAYMENTS)  # noqa: S608  written above
            yield address
        finally:
            subprocess.run([control, *made, "-m", "immediate", "stop"], check=True, **calls)  # noqa: S603  the same


@pytest.fixture
def sqlite(tmp_path: Path) -> str:
    with closing(sqlite3.connect(tmp_path / "the shop.db")) as database, database:
        database.execute("CREATE TABLE payments (id INTEGER, created_at TEXT, amount NUMERIC, status TEXT, ref TEXT)")
        database.executemany("INSERT INTO payments VALUES (?, ?, ?, ?, ?)", PAYMENTS)
    return f"sqlite:///{tmp_path / 'the shop.db'}"


def test_units_of_a_layout_decide_what_a_name_does_not():
    given = pd.DataFrame({"account": ["a"], "key": ["k"], "occurred_at": ["2026-01-01"], "amount": [1500]})
    columns = {name: name for name in ("account", "key", "amount")} | {"moment": "occurred_at"}
    for units, minor in (("minor", 1_500), ("major", 150_000)):
        layout = Layout(name="mine", columns=columns, dates=("%Y-%m-%d",), units=units)
        assert read_ledger(given, layout=layout).rows["amount_minor"].tolist() == [minor]


@pytest.fixture(params=["postgresql", pytest.param("sqlite", marks=needs_driver)])
def shop(request: pytest.FixtureRequest) -> tuple[str, str]:
    """The address of a shop's database, and its query."""
    query = {"postgresql": POSTGRESQL, "sqlite": SQLITE}[request.param]
    return request.getfixturevalue(request.param), query


def told_of(error: BaseException) -> str:
    """All that a person or a log gets to see of an error."""
    facts = getattr(error, "facts", {})
    return f"{''.join(traceback.format_exception(error))} {error!r} {facts} {getattr(error, 'hint', '')}"


@pytest.mark.thorough
def test_a_query_selects_the_same_ledger(shop: tuple[str, str], tmp_path: Path):
    address, sql = shop
    query = csv_of(tmp_path, sql, "shop.sql")
    ledger = read_ledger(address, query=query)
    told = [name for name in LEDGER if name != "number"]
    pd.testing.assert_frame_equal(ledger.rows[told], read_ledger(TEXTS).rows[told])
    assert ledger.rows["number"].tolist() == [7, 8, 9, 10]
    digest = sha256(sql.encode()).hexdigest()
    assert (ledger.name, ledger.sha256, ledger.query_sha256) == ("shop.sql", None, digest)
    pd.testing.assert_frame_equal(read_ledger(address, query=sql).rows, ledger.rows)


def test_the_command_takes_a_database_as_an_option_or_first(shop: tuple[str, str], tmp_path: Path):
    query, statement = (
        str(csv_of(tmp_path, text, name)) for text, name in ((shop[1], "shop.sql"), (STATEMENT, "m.csv"))
    )
    kept = tmp_path / "kept"
    for arguments in (["--ledger", shop[0], statement], [shop[0], statement]):
        options = ["--query", query, "--carry-to", str(kept), "--out", str(tmp_path / "b.html")]
        done = CliRunner(catch_exceptions=False).invoke(app, ["reconcile", *arguments, *options])
        assert (done.exit_code, done.stderr) == (0, "")
        written = [path.read_bytes() for path in (*kept.iterdir(), tmp_path / "b.html")]
        assert not [name for name in SECRETS for text in (done.stdout.encode(), *written) if name.encode() in text]


@needs_driver
def test_the_sign_off_hashes_the_rows_of_a_query_and_its_text(sqlite: str, tmp_path: Path):
    query, statement = csv_of(tmp_path, SQLITE, "shop.sql"), csv_of(tmp_path, STATEMENT, "mtn.csv")

    def hashes() -> tuple[str, ...]:
        arguments = [sqlite, str(statement), "--query", str(query)]
        done = CliRunner(catch_exceptions=False).invoke(app, ["reconcile", *arguments])
        (hashed,) = re.findall(r"SHA-256 of rows of shop\.sql (\w+), shop\.sql (\w+)", done.stdout)
        return tuple(hashed)

    before = hashes()
    assert (hashes(), before[1]) == (before, sha256(SQLITE.encode()).hexdigest()[:12])
    with closing(sqlite3.connect(sqlite.removeprefix("sqlite:///"))) as database, database:
        database.execute("UPDATE payments SET amount = amount + 1")
    after = hashes()
    assert (after[0] != before[0], after[1]) == (True, before[1])


WRITES = (
    "DELETE FROM payments", "UPDATE payments SET amount = 0", "DROP TABLE payments", "ATTACH 'new.db' AS new",
    "COMMIT", "SET TRANSACTION READ WRITE", "SELECT 1; DELETE FROM payments", "SELECT ';'; DROP TABLE payments --",
    "WITH gone AS (DELETE FROM payments RETURNING 1) SELECT * FROM gone", "SELECT 1 INTO more", "PRAGMA x = 2",
    "WITH a AS (SELECT 1) DELETE FROM payments", "/* SELECT */ DELETE FROM payments", "", "-- SELECT 1", ";",
)  # fmt: skip


@pytest.mark.thorough
@pytest.mark.parametrize("lets_all_through", [False, True], ids=["by its words", "by the database"])
def test_a_query_only_reads(
    shop: tuple[str, str], lets_all_through: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    address, sql = shop
    with monkeypatch.context() as patched:
        if lets_all_through:
            patched.setattr(own_ledger, "_one_query", lambda text, _: text)
        for write in WRITES:
            # What is not committed is gone anyway: that it was not tried at all is what the database says.
            said = r"fails.*read-?only.* must only read" if lets_all_through and write.startswith("DELETE") else ""
            with pytest.raises(StatementRefused) as refused:
                read_ledger(address, query=write)
            assert re.search(said, str(refused.value))
            assert not [name for name in SECRETS if name in told_of(refused.value)]
    assert len(read_ledger(address, query=sql).rows) == 4
    assert lets_all_through or not list(tmp_path.glob("new.db"))


FAILS = {
    "SELECT ref AS key,\n       nope FROM payments":
        ("line 2, column 8: column .nope. does not exist", "no such column: nope"),
    "SELECT 1 FROM orders": ("line 1, column 15: relation .orders. does not exist", "no such table: orders"),
    "SELECT 1 FRO": ("does not have the columns", "does not have the columns"),
    "SELECT (1": ("syntax error at end of input", "incomplete input"),
    "SELECT CAST('0961234567x' AS integer)": ("invalid input syntax for .*: .096••••567x", "does not have the columns"),
    "SELECT 1 / 0": ("query fails: division by zero", "does not have the columns"),
}  # fmt: skip


def test_what_the_database_says_is_said_with_its_place_in_the_query(shop: tuple[str, str]):
    for sql, expected in FAILS.items():
        with pytest.raises(StatementRefused, match=expected[shop[0].startswith("sqlite")]):
            read_ledger(shop[0], query=sql)


TYPES = {
    "1234567890123.45::numeric(38, 2)": 123_456_789_012_345, "-0.10::numeric": 10, "150.1000::numeric": 15_010,
    "150::numeric": 15_000, "CAST(150.1::float8 AS NUMERIC)": 15_010, "'150.10'::text": 15_010,
    "12345678901234.00::numeric": "more than 13 digits", "'NaN'::numeric": "'nan' is not an amount",
    "0.001::numeric": "more decimals than ZMW", "150.1::float8": 15_010, "150.1::real": 15_010,
    "150.10::money": "the type money", "150::bigint": "kwacha or ngwee", "NULL::numeric": "amount is missing",
}  # fmt: skip


@pytest.mark.thorough
def test_numbers_of_postgresql_are_taken_exactly_or_not_at_all(postgresql: str):
    for written, expected in TYPES.items():
        query = (
            "SELECT 'a'::char(9) AS account, '8f14e45f-ceea-467f-a8f8-2b9a3c5d1e00'::uuid AS key, "
            f"'2026-10-31 23:30'::timestamp AS occurred_at, {written} AS amount, true AS state"
        )
        if isinstance(expected, str):
            with pytest.raises(StatementRefused, match=expected):
                read_ledger(postgresql, query=query)
            continue
        row = read_ledger(postgresql, query=query).rows.iloc[0]
        assert (row["amount_minor"], row["account"], row["state"]) == (expected, "a", "true"), written
        assert (row["occurred_at"], row["key"][:8]) == (datetime(2026, 10, 31, 21, 30, tzinfo=UTC), "8f14e45f")


@settings(max_examples=10)
@given(st.integers(-(10**15) + 1, 10**15 - 1).filter(bool))
def test_a_float_of_money_is_read_by_its_shortest_decimal(minor: int):
    amount = float(Decimal(minor).scaleb(-2))
    for given_, column in (({"amount": amount}, "amount"), ({"amount_minor": float(minor)}, "amount_minor")):
        table = TEXTS.drop(columns="amount").assign(**given_)[["account", "key", "occurred_at", column]]
        read = read_ledger(table).rows
        assert {*read["amount_minor"]} == {abs(minor)}
        assert {*read["direction"]} == {"in" if minor > 0 else "out"}


@needs_driver
def test_sqlite_tells_no_types_and_is_read_whole_before_any_is_taken(sqlite: str):
    numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000)"
    rows = f"{numbers} SELECT 'a' AS account, i AS key, "
    late = (
        f"{rows} '2026-01-01' AS occurred_at, 5 AS amount_minor, CASE WHEN i > 2000 THEN 'x' || i END AS batch FROM n"
    )
    read = read_ledger(sqlite, query=late).rows
    assert (len(read), read["batch"].count(), read["batch"].iloc[-1]) == (3000, 1000, "x3000")
    mixed = f"{rows} '2026-01-01' AS occurred_at, CASE WHEN i > 2000 THEN 1.5 ELSE 1 END AS amount FROM n"
    assert read_ledger(sqlite, query=mixed).rows["amount_minor"].value_counts().to_dict() == {100: 2000, 150: 1000}


def test_nothing_of_an_address_in_postgresql_is_told(postgresql: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    there = postgresql.partition("?host=")[2].partition("&")[0]
    for address, expected in {
        "postgresql://clerk:unspoken@127.0.0.1/sockets": "contains a password.*PGPASSWORD",
        "postgresql://clerk@127.0.0.1/sockets?password=unspoken": "contains a password",
        "postgresql://clerk@127.0.0.1/sockets?sslpassword=unspoken": "contains a password",
        "postgresql://clerk@127.0.0.1:1/sockets": "cannot be reached",
        "postgresql://clerk@[unspoken/sockets": "cannot be read",
        "postgresql://clerk@127.0.0.1:unspoken/sockets": "has an address that cannot be used",
        "postgresql://clerk@127.0.0.1/sockets?unspoken=1": "has an address that cannot be used",
        "postgresql://clerk@sockets.invalid/unspoken": "on a host that is not found",
        f"postgresql:///postgres?host={there}&user=unspoken": "does not know this user",
        f"postgresql:///unspoken?host={there}&user=clerk": "is not on this server",
        "oracle://clerk:unspoken@sockets/x": "no driver for the address oracle",
        f"sqlite:///{tmp_path}/sockets/unspoken.db": "There is no database unspoken.db",
    }.items():
        with pytest.raises(StatementRefused, match=expected) as refused:
            read_ledger(address, query="SELECT 1")
        names = ["clerk", "sockets"] if address.startswith("sqlite") else SECRETS
        assert not [name for name in names if name in told_of(refused.value).replace(__file__, "")], address
    monkeypatch.setitem(sys.modules, "adbc_driver_postgresql.dbapi", None)
    with pytest.raises(StatementRefused, match=r"not installed.*pip install '\.\[sql\]'"):
        read_ledger(postgresql, query="SELECT 1")


def test_the_command_says_what_is_wrong_with_a_ledger_and_reads_one_in_a_layout_of_its_own(tmp_path: Path):
    statement = csv_of(tmp_path, STATEMENT, "mtn.csv")
    text = SMALLEST.replace("account,key,occurred_at,amount", "Wallet,Ref,When,Kwacha")
    books = csv_of(tmp_path, text.replace("operator:mtn:float", "MTN"))
    layout = csv_of(
        tmp_path,
        'dates = ["%Y-%m-%d %H:%M:%S"]\n'
        'columns = {account = "Wallet", key = "Ref", moment = "When", amount = "Kwacha"}\n'
        'accounts = {MTN = "operator:mtn:float"}',
        "books.toml",
    )
    for arguments, status, expected in (
        ([books, statement, "--ledger-layout", layout], 0, "Nothing to settle"),
        (["--ledger", books, statement, "--ledger-layout", layout], 0, "Nothing to settle"),
        ([books, statement], 2, "does not have the columns of a ledger"),
        ([books, statement, "--ledger-layout", "mtn"], 2, "names the ledger's own headings"),
        (
            [books, csv_of(tmp_path, SMALLEST, "own.csv"), "--ledger-layout", layout],
            2,
            "columns of a ledger: give the ledger first",
        ),
        ([statement, statement], 2, "give the ledger first, then the statements"),
        (["--ledger", books], 2, "STATEMENT...'"),
        ([books], 2, "STATEMENT...'"),
        ([books, statement, "--query", layout], 2, "A query needs a database"),
        ([books, "postgresql://clerk:unspoken@sockets"], 2, "A database holds the ledger: name it first"),
        (["postgresql://clerk:unspoken@sockets/x", statement, "--query", layout], 2, "is not a query"),
    ):
        done = CliRunner(catch_exceptions=False).invoke(app, ["reconcile", *map(str, arguments)])
        assert (done.exit_code, expected in done.output) == (status, True), done.output
        assert not [name for name in SECRETS if name in done.output]


def test_what_the_statement_alone_had_before_is_no_part_of_what_the_ledger_opens_with(tmp_path: Path):
    """A ledger without balances: where it ends follows from the statement's opening, less what only that has."""
    lines = STATEMENT.splitlines(keepends=True)
    first, second = (csv_of(tmp_path, lines[0] + "".join(part), name) for part, name in
                     ((lines[1:3], "first.csv"), (lines[3:], "second.csv")))  # fmt: skip
    # The ledger never books the payment of 85.50.
    booked = [line for line in SMALLEST.splitlines(keepends=True) if "7712345679" not in line]
    begun, all_of_it = (csv_of(tmp_path, "".join(part), f"{len(part)}.csv") for part in (booked[:2], booked))
    before = reconcile(read_ledger(begun), read_statement(first)).carry_forward
    later = reconcile(read_ledger(all_of_it), read_statement(second), carry_forward=before)
    names = ["ledger_minor", "statement_minor", "breaks_minor", "opening_minor", "unexplained_minor", "holds"]
    assert later.proof[names].to_numpy().tolist() == [[637_550 - 8_550, 637_550, -8_550, 0, 0, True]]
    assert later.inputs["sha256"][0] == sha256(all_of_it.read_bytes()).hexdigest()


GENERAL_LEDGER = """\
Account,Date,Num,Memo,Debit,Credit,Balance
Bank,,,,,,
Beginning Balance,,,,,,100.00
,02/10/2026,S1,Deposit,50.00,,150.00
,03/10/2026,C1,Void: Water,,0.00,150.00
,04/10/2026,C2,Void: Rent,0.00,0.00,150.00
,05/10/2026,C3,Power,,20.00,130.00
"""
OF_A_BANK = {"moment": "Date", "description": "Text", "debit": "Out", "credit": "In", "balance": "Balance"}
FROM_A_BANK = """\
Date,Text,Out,In,Balance
02/10/2026,Deposit,,50.00,150.00
03/10/2026,Balance enquiry,0.00,,150.00
05/10/2026,Power,20.00,,130.00
"""


def test_a_row_of_zero_moves_nothing_on_either_side_and_is_counted(tmp_path: Path):
    columns = {"account": "Account", "moment": "Date", "key": "Num", "description": "Memo", "debit": "Debit"}
    columns |= {"credit": "Credit", "balance": "Balance"}
    books = Layout("books", columns, ("%d/%m/%Y",), sections=True, openings=("Beginning Balance",))
    bank = Layout("bank", OF_A_BANK, ("%d/%m/%Y",), account="Bank", makes_keys=True)

    def read(ours: str, theirs: str) -> Any:  # noqa: ANN401  either side as read
        ledger = read_ledger(csv_of(tmp_path, ours), layout=books)
        return ledger, read_statement(csv_of(tmp_path, theirs, "bank.csv"), layout=bank)

    ledger, statement = read(GENERAL_LEDGER, FROM_A_BANK)
    assert ledger.rows["key"].tolist() == ["S1", "C3"]
    assert (ledger.rows["balance_minor"].tolist(), statement.follows) == ([15_000, 13_000], "agrees in every row")
    result = reconcile(ledger, statement)
    assert (result.is_clean, result.proof["holds"].tolist()) == (True, [True])
    assert "books.csv: 2 rows of zero move nothing: lines 5, 6." in result.notes
    assert "bank.csv: 1 row of zero moves nothing: line 3." in result.notes
    # The balance of such a row is compared; a row without any amount, or with another fault, stays one.
    _, wrong = read(GENERAL_LEDGER, FROM_A_BANK.replace("0.00,,150.00", "0.00,,151.00"))
    assert wrong.findings["line"].tolist() == [3, 4]
    for old, new in (("enquiry,0.00", "enquiry,-"), ("03/10/2026", "33/10/2026"), ("150.00\n05", "many\n05")):
        _, bad = read(GENERAL_LEDGER, FROM_A_BANK.replace(old, new))
        assert bad.rows["problem"].notna().tolist() == [False, True, False], new
    with pytest.raises(StatementRefused, match="neither Credit nor Debit"):
        read(GENERAL_LEDGER.replace(",0.00,0.00,", ",-,,"), FROM_A_BANK)


@pytest.mark.parametrize("amount", ["0.00", "0", "-0.00", "(0.00)"])
def test_a_signed_amount_of_zero_moves_nothing_but_its_fee_does(amount: str, tmp_path: Path):
    text = f"{SMALLEST}operator:mtn:float,9,2026-10-31 19:00:00,{amount}\n"
    ledger = read_ledger(csv_of(tmp_path, text))
    assert (len(ledger.rows), ledger.remarks) == (4, ["1 row of zero moves nothing: line 6."])
    rows = [f"{line},{fee}" for line, fee in zip(text.splitlines(), ["fee", "", "", "", "", "1.00"], strict=True)]
    with pytest.raises(StatementRefused, match=re.escape(f"amount '{amount}' is zero")):
        read_ledger(csv_of(tmp_path, "\n".join(rows)))


def test_numbers_of_too_few_digits_are_counted(tmp_path: Path):
    payers = ["26097••••567", "097*****67", "xxxxxxxxx4", "XXXXXXX567", "Banda", "", "**********"]
    rows = [f"K{nth},02/10/2026,{payer},5.00" for nth, payer in enumerate(payers)]
    path = csv_of(tmp_path, "\n".join(["Id,Date,Payer,Amount", *rows]), "mtn.csv")
    columns = {"key": "Id", "moment": "Date", "phone": "Payer", "amount": "Amount"}
    statement = read_statement(path, layout=Layout("mtn", columns, ("%d/%m/%Y",), account="w"))
    needed = "too few digits to compare: the operator's prefix and the last three are needed."
    assert statement.remarks == [f"3 customers' numbers show {needed}"]
    books = pd.DataFrame({"account": "w", "key": ["K0"], "occurred_at": "2026-10-02", "amount": "5.00"})
    result = reconcile(books.assign(phone="097*****67"), statement)
    assert f"pandas DataFrame: 1 customer's number shows {needed}" in result.notes


@pytest.mark.parametrize(("currency", "decimals"), [("ZMW", 2), ("KWD", 3)])
def test_minor_units_have_as_many_digits_as_major_units_with_their_decimals(currency: str, decimals: int):
    row = {"account": ["a"], "key": ["k"], "occurred_at": ["2026-01-01"], "currency": [currency]}
    whole = "9" * (15 - decimals)
    for amount in ({"amount": [f"{whole}.{'9' * decimals}"]}, {"amount_minor": ["9" * 15]}):
        assert read_ledger(pd.DataFrame(row | amount)).rows["amount_minor"].tolist() == [10**15 - 1]
    for amount, why in (
        ({"amount": [f"1{whole}"]}, rf"more than {len(whole)} digits before the point \("),
        ({"amount_minor": ["1" + "9" * 15]}, r"more than 15 digits \("),
    ):
        with pytest.raises(StatementRefused, match=why):
            read_ledger(pd.DataFrame(row | amount))
