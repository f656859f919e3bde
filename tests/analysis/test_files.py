"""Every table to a file and back: nothing is lost, whatever stands in it; and the same with its money to be read."""

import csv
from datetime import date
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from workbench.analysis import files, shapes
from workbench.analysis.frames import frame, money
from workbench.analysis.shapes import DAY, MOMENT, Columns
from workbench.domain.moments import moment

TABLES: dict[str, Columns] = {
    name: value for name, value in vars(shapes).items() if isinstance(value, dict) and name[0].isupper()
}
MANY = settings.get_current_profile_name() != "workbench"
"""Each table is tried with a few examples by default, and with many by any other profile of Hypothesis."""
ENDINGS = (".parquet", ".csv")
AWKWARD = ["", " ", "007", "1e5", "NA", "null", "nan", "-", "1,234.50", 'say "so"', "two\nlines", "a\r\nb", "\ttab",
           "=1+1", "é", "ñ", "中文", "🌱", "'", '"', "\\", "True", "2026-01-05"]  # fmt: skip
TEXT = st.one_of(st.sampled_from(AWKWARD), st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")))
SIXTY_FOUR = st.one_of(st.sampled_from([-(2**63), 2**63 - 1, 0, -1]), st.integers(-(2**63), 2**63 - 1))
CELLS: dict[str, st.SearchStrategy[Any]] = {
    "string": st.none() | TEXT,
    "category": st.none() | TEXT,
    "int64": SIXTY_FOUR,
    "Int64": st.none() | SIXTY_FOUR,
    "bool": st.booleans(),
    MOMENT: st.none() | st.integers(0, 4 * 10**12).map(moment),
    DAY: st.none() | st.dates(date(1900, 1, 1), date(2099, 12, 31)),
}  # fmt: skip


def rows_of(columns: Columns) -> st.SearchStrategy[list[dict[str, Any]]]:
    return st.lists(st.fixed_dictionaries({name: CELLS[kind] for name, kind in columns.items()}), max_size=3)


def test_every_empty_table_comes_back_with_its_types_and_no_column_is_a_float(tmp_path: Path):
    assert {"ENTRIES", "PAYMENTS", "LEDGER_MOVEMENT", "STATEMENT_ROW", "MATCH", "BREAK", "ANSWER"} <= set(TABLES)
    assert {kind for columns in TABLES.values() for kind in columns.values()} == set(CELLS)
    for (name, columns), ending in product(TABLES.items(), ENDINGS):
        empty, path = frame([], columns), tmp_path / f"{name}{ending}"
        files.write(empty, path, columns)
        back = files.read(path, columns)
        pd.testing.assert_frame_equal(back, empty)
        assert {column: str(kind) for column, kind in back.dtypes.items()} == dict(columns)


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("name", ["ENTRIES", "STATEMENT_ROW", "BREAK", "DELIVERIES", "PROOF"])
@settings(deadline=None, max_examples=25 if MANY else 4, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_what_is_written_is_read(tmp_path: Path, name: str, ending: str, data: st.DataObject):
    columns, path = TABLES[name], tmp_path / f"table{ending}"
    rows = data.draw(rows_of(columns))
    whole = frame(rows, columns)
    files.write(whole, path, columns)
    back = files.read(path, columns)
    pd.testing.assert_frame_equal(back, whole)
    for column in columns:
        assert back[column].isna().tolist() == [row[column] is None for row in rows]


def test_a_csv_tells_an_empty_text_from_none_and_any_reader_takes_it(tmp_path: Path):
    columns = {"key": "string", "note": "string", "amount_minor": "int64"}
    rows = [{"key": "007", "note": None, "amount_minor": 15_000}, {"key": "", "note": "a, b", "amount_minor": -1}]
    path = tmp_path / "t.csv"
    files.write(frame(rows, columns), path, columns)
    assert path.read_text("utf-8") == '"key","note","amount_minor"\n"007",,15000\n"","a, b",-1\n'
    with path.open(newline="", encoding="utf-8") as text:
        assert next(csv.DictReader(text)) == {"key": "007", "note": "", "amount_minor": "15000"}


def test_a_parquet_file_with_a_column_of_another_kind_is_refused(tmp_path: Path):
    path = tmp_path / "t.parquet"
    pd.DataFrame({"key": [["k"]]}).to_parquet(path)
    with pytest.raises(ValueError, match=r"t\.parquet is no table of these columns: Unsupported cast from list"):
        files.read(path, {"key": "string"})


@pytest.mark.parametrize("name", ["t.xlsx", "t", "t.csv.gz"])
def test_another_ending_is_refused(tmp_path: Path, name: str):
    for refused in (partial(files.write, frame([], shapes.ENTRIES)), files.read):
        with pytest.raises(ValueError, match=r"ends in neither \.parquet nor \.csv"):
            refused(tmp_path / name, shapes.ENTRIES)


@pytest.mark.parametrize("ending", ENDINGS)
def test_what_is_no_such_table_is_refused_by_its_name(tmp_path: Path, ending: str):
    path = tmp_path / f"other{ending}"
    files.write(frame([{"key": "a"}], {"key": "string"}), path, {"key": "string"})
    with pytest.raises(ValueError, match=f"other{ending} is no table of these columns"):
        files.read(path, {"id": "string", "amount_minor": "int64"})
    for content in (b"", b"\xff\xfe", b"PAR1", b'"amount_minor"\n"1,50"\n', b'"amount_minor"\n\n'):
        path.write_bytes(content)
        with pytest.raises(ValueError, match=f"other{ending} is"):
            files.read(path, {"amount_minor": "int64"})


def test_a_column_that_is_missing_and_an_amount_that_is_no_whole_number_are_refused(tmp_path: Path):
    with pytest.raises(ValueError, match="no column key"):
        files.write(pd.DataFrame({"id": ["a"]}), tmp_path / "t.csv", {"id": "string", "key": "string"})
    columns = {"amount_minor": "int64"}
    for wrong in ([1.5], [None], ["1.50"], [2**63]):
        with pytest.raises((ValueError, TypeError)):
            files.write(pd.DataFrame({"amount_minor": wrong}), tmp_path / "t.csv", columns)


LEDGER_HEADER = "account,occurred_at,business_date,amount_minor"
LEDGER_ROW = "bank:settlement,2026-01-05T08:00:00Z,2026-01-05,10000"


def by_hand(old: str = "", new: str = "") -> list[str]:
    return [LEDGER_HEADER, LEDGER_ROW.replace(old, new) if old else LEDGER_ROW]


@pytest.mark.parametrize(
    ("lines", "text"),
    [
        ([], "it is empty"),
        ([LEDGER_HEADER.replace("amount_minor", "amount"), LEDGER_ROW], "no column amount_minor; it has account, occ"),
        ([LEDGER_HEADER.replace("amount_minor", "amount")], "no column amount_minor; it has account, occ"),
        ([each.replace(",", ";") for each in by_hand()], "separated by semicolons"),
        (by_hand("10000", '"10,000"'), "line 2, amount_minor: '10,000' is not a whole number"),
        (by_hand("10000", "100.00"), "amounts are in minor units"),
        (by_hand("10000"), "line 2, amount_minor: '' is not a whole number"),
        (by_hand("2026-01-05,", "05/01/2026,"), "'05/01/2026' is not a day written as 2026-"),
        (by_hand("T08:00:00Z", " 08:00:00"), "is not a moment with its zone"),
        ([*by_hand(), "", "bank:settlement"], "line 4 has 1 cells and the header 4"),
        (by_hand("bank", "b\xe4nk"), "not text in UTF-8"),
    ],
)
def test_what_was_written_by_hand_is_refused_with_the_line_and_what_belongs_there(
    lines: list[str], text: str, tmp_path: Path
):
    columns = {name: shapes.LEDGER_MOVEMENT[name] for name in LEDGER_HEADER.split(",")}
    path = tmp_path / "ledger.csv"
    path.write_bytes("\n".join(lines).encode("latin-1"))
    with pytest.raises(ValueError, match=r"ledger\.csv is no table of these columns: ") as refused:
        files.read(path, columns)
    assert text in str(refused.value)


MONEY = {"account": "string", "amount_minor": "int64", "variance_minor": "Int64", "currency": "category"}


def row(amount_minor: int, variance_minor: int | None = None, currency: str | None = "ZMW") -> dict[str, object]:
    return {"account": "a", "amount_minor": amount_minor, "variance_minor": variance_minor, "currency": currency}


def test_amounts_are_shown_in_major_units_and_the_table_stays():
    rows = frame([row(15_000, -1), row(123_450), row(2**63 - 1, -(2**63), "USD"), row(5, 0, None)], MONEY)
    rows = rows.iloc[[2, 0, 1, 3]]
    before = rows.copy()
    shown = money(rows)
    assert list(shown.columns) == list(money(frame([], MONEY)).columns) == ["account", "amount", "variance", "currency"]
    assert shown["amount"].to_dict() == {2: "92,233,720,368,547,758.07", 0: "150.00", 1: "1,234.50", 3: "0.05"}
    assert shown["variance"].fillna("none").tolist() == ["-92,233,720,368,547,758.08", "-0.01", "none", "0.00"]
    assert str(shown["amount"].dtype) == "string"
    pd.testing.assert_frame_equal(rows, before)
    assert money(rows[["amount_minor"]])["amount"].tolist() == shown["amount"].tolist()
    assert money(rows[["account"]])["account"].tolist() == ["a"] * 4


@pytest.mark.parametrize("values", [[], ["b", "a", None, "b"], [None]])
def test_categories_stand_in_the_order_of_the_alphabet(values: list[str | None]):
    made = frame([{"state": each} for each in values], {"state": "category"})["state"]
    assert made.cat.categories.tolist() == sorted({each for each in values if each})
    assert [None if pd.isna(each) else each for each in made] == values
