"""What is written in a layout is what is read from it: every layout, both kinds of file."""

import csv
import tempfile
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from itertools import product
from pathlib import Path

import openpyxl
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from workbench.analysis.shapes import STATEMENT_ROW
from workbench.analysis.statements import LAYOUTS, Layout, Preamble, read_statement, statement_writer, write_statement
from workbench.domain.masking import mask_numbers
from workbench.domain.phones import mask_phone
from workbench.errors import StatementRefused

MANY = settings.get_current_profile_name() != "workbench"
"""Each layout is tried with a few examples by default, and with many by any other profile of Hypothesis."""
EVERY = [(name, kind) for name in LAYOUTS for kind in ("csv", "xlsx")]
FIRST = datetime(2026, 1, 1, tzinfo=UTC)
ANY_CHARACTER = st.characters(
    codec="utf-8", exclude_categories=("Cc", "Cs", "Zl", "Zp"), exclude_characters="\ufffe\uffff"
)
WORDS = st.text(ANY_CHARACTER, max_size=30) | st.sampled_from(
    ["=1+1", "@SUM(A1)", '"', 'a "b";c,d', "two\nlines", " x "]
)
KEYS = st.from_regex(r"[0-9A-Za-z_.-]{1,24}", fullmatch=True).filter(lambda key: "e+" not in key.lower())
PHONES = st.builds(
    lambda prefix, end: mask_phone(f"+260{prefix}{end:07}"),
    st.sampled_from(["96", "97", "95"]),
    st.integers(0, 9_999_999),
)
MINOR = st.integers(1, 10**13 - 1)
FIELDS = {
    "key": KEYS,
    "batch": st.none() | KEYS,
    "occurred_at": st.integers(0, 40_000_000).map(lambda seconds: FIRST + timedelta(seconds=seconds)),
    "direction": st.sampled_from(["in", "out"]),
    "amount_minor": MINOR,
    "fee_minor": st.just(0) | MINOR,
    "currency": st.sampled_from(["ZMW", "USD", "UGX", "KWD", "CLF"]),
    "status": st.sampled_from(["completed", "failed", "pending"]),
    "phone": st.none() | PHONES,
    "type": st.sampled_from(["payment", "refund", "reversal", "transfer", "payout", "fee", "other"]),
    "related": st.none() | KEYS,
    "description": st.none() | WORDS,
    "balance_minor": st.none() | st.integers(1 - 10**13, 10**13 - 1),
}


ABSENT = {"status": "completed", "type": "other", "fee_minor": 0}
"""What a row is where the file has no such column."""


def told(layout: Layout, row: dict[str, object]) -> dict[str, object]:
    """What of a row a file of this layout can hold: no word that it has not, no time, fee or party without a column."""
    columns = {*layout.columns, "phone"} if "from" in layout.columns else {*layout.columns}
    is_reversal = layout.direction_by == "columns" and "type" not in columns and row["type"] == "reversal"
    known = {"status": layout.statuses.values(), "type": ("reversal",) if is_reversal else layout.types.values()}
    made = {
        field: value
        if field.removesuffix("_minor") in columns and value in known.get(field, [value])
        else ABSENT.get(field)
        for field, value in row.items()
    }
    if is_reversal:
        made["type"] = "reversal"
    kept = {name: row[name] for name in ("direction", "amount_minor", "balance_minor")}
    kept["occurred_at"] = row["occurred_at"] if "%H" in layout.dates[0] else None
    kept["currency"] = row["currency"] if "currency" in columns else layout.currency
    # What looks like a customer's number in free text is masked as it is read.
    return {**made, **kept, "description": mask_numbers(str(made["description"] or "")) or None}


def row(**more: object) -> dict[str, object]:
    made = {
        "key": "0001", "batch": None, "occurred_at": datetime(2026, 1, 5, 6, 1, 2, tzinfo=UTC), "direction": "in",
        "amount_minor": 12_345, "fee_minor": 5, "currency": "ZMW", "status": "completed", "phone": "+26096••••567",
        "type": "payment", "related": None, "description": "Monstera", "balance_minor": 12_340,
    }  # fmt: skip
    return {**made, **more}


@pytest.mark.parametrize(("name", "kind"), EVERY)
@settings(max_examples=30 if MANY else 5, deadline=None)
@given(rows=st.lists(st.fixed_dictionaries(FIELDS), max_size=8))
@example(rows=[row(description="paid from 0500000000")])
def test_what_is_written_is_read(name: str, kind: str, rows: list[dict[str, object]]):
    # Of four formats two may read the same column: the one that was written is named.
    layout = LAYOUTS[name]
    days = [(row["occurred_at"] + timedelta(hours=2)).date() for row in rows]  # type: ignore[operator]  a datetime
    rows = [told(layout, row) for row in rows]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"statement.{kind}"
        with statement_writer(path, layout) as writer:
            lines = [writer.write({**row, "business_date": day}) for row, day in zip(rows, days, strict=True)]
        read = read_statement(path, date_format=layout.dates[0])
    assert read.layout == name
    assert {column: str(kind) for column, kind in read.rows.dtypes.items()} == dict(STATEMENT_ROW)
    assert read.rows["problem"].isna().all()
    assert read.rows["line"].tolist() == lines
    found = [
        {field: None if pd.isna(value) else value for field, value in row._asdict().items() if field in FIELDS}
        for row in read.rows.itertuples()
    ]
    # An empty text is an empty cell.
    assert found == rows
    assert read.rows["business_date"].tolist() == days


def test_the_preamble_is_read_and_holds_for_the_file(tmp_path: Path):
    days = date(2026, 1, 1), date(2026, 1, 31)
    preamble = Preamble("bank:settlement", "ZMW", *days, 0, 12_340)
    major, minor = LAYOUTS["aggregator"], replace(LAYOUTS["aggregator"], units="minor")
    for name, layout in product(("aggregator.csv", "aggregator.xlsx"), (major, minor)):
        write_statement([row()], tmp_path / name, layout, preamble=preamble)
        read = read_statement(tmp_path / name, layout=layout)
        assert read.rows["amount_minor"].tolist() == [12_345]
        assert (read.account, read.currency, read.period) == ("bank:settlement", "ZMW", days)
        assert (read.opening_minor, read.closing_minor, len(read.findings)) == (0, 12_340, 0)
        assert read.rows["line"].tolist() == [9]


def test_a_line_is_where_a_row_begins_in_the_file_and_numbers_are_written_as_operators_do(tmp_path: Path):
    path = tmp_path / "mtn.csv"
    rows = [row(key=str(number), description=text) for number, text in enumerate(("a\nb\r\nc", "d", ""))]
    assert write_statement(rows, path, LAYOUTS["mtn"]) == 3
    assert read_statement(path).rows["line"].tolist() == [2, 5, 6]
    assert path.read_text("utf-8").splitlines()[4].startswith("1,2026-01-05 08:01:02,Successful,Payment,")
    assert "FRI:26096****567/MSISDN" in path.read_text("utf-8")


def test_a_heading_that_stands_again_is_written_without_its_number(tmp_path: Path):
    layout = replace(LAYOUTS["mtn"], columns={**LAYOUTS["mtn"].columns, "currency": "Type#2"})
    write_statement([row()], tmp_path / "mtn.csv", layout)
    assert (tmp_path / "mtn.csv").read_text("utf-8").partition("\n")[0].split(",").count("Type") == 2
    (read,) = read_statement(tmp_path / "mtn.csv", layout=layout).rows.to_dict("records")
    assert (read["type"], read["currency"]) == ("payment", "ZMW")


def test_a_day_alone_has_no_time_in_a_column_of_its_own(tmp_path: Path):
    layout = replace(LAYOUTS["mtn"], columns={**LAYOUTS["mtn"].columns, "time": "Time"}, dates=("%Y-%m-%d %H:%M:%S",))
    rows = [row(), row(key="0002", occurred_at=None, business_date=date(2026, 1, 6))]
    write_statement(rows, tmp_path / "mtn.csv", layout)
    read = read_statement(tmp_path / "mtn.csv", layout=layout).rows
    assert read["occurred_at"].notna().tolist() == [True, False]
    assert read["business_date"].tolist() == [date(2026, 1, 5), date(2026, 1, 6)]


def test_money_in_a_workbook_is_exact_to_the_last_digit_and_a_formula_stays_text(tmp_path: Path):
    path = tmp_path / "airtel.xlsx"
    write_statement([row(amount_minor=999_999_999_999_999, description="=1+1")], path, LAYOUTS["airtel"])
    cells = [cell for line in openpyxl.load_workbook(path).active.iter_rows(min_row=2) for cell in line]
    assert {("=1+1", "s"), (9_999_999_999_999.99, "n")} <= {(cell.value, cell.data_type) for cell in cells}
    assert read_statement(path).rows["amount_minor"].tolist() == [999_999_999_999_999]


@pytest.mark.parametrize(
    ("name", "more", "words"),
    [
        *((name, {}, "csv or xlsx") for name in ("mtn.ods", "mtn", "mtn.xls")),
        ("mtn.csv", {"status": "lost"}, "no word for the status 'lost'"),
        ("mtn.xlsx", {"description": "x" * 32_768}, "holds 32767 characters; this text has 32768"),
    ],
)
def test_what_has_no_place_in_a_file_is_not_written(name: str, more: dict[str, object], words: str, tmp_path: Path):
    with pytest.raises(StatementRefused, match=words):
        write_statement([row(**more)], tmp_path / name, LAYOUTS["mtn"])


# A carriage return alone is a line break for the csv module, and a NUL no text.
ANY_TEXT = st.text(
    st.sampled_from("\",;|\t\n\r' =") | st.characters(codec="utf-8", exclude_characters="\0"), max_size=12
)


PLAIN = [name for name, each in LAYOUTS.items() if not (each.preamble or each.openings)]


@pytest.mark.thorough
@settings(max_examples=300 if MANY else 30, deadline=None)
@given(
    name=st.sampled_from(PLAIN),
    delimiter=st.sampled_from([None, ",", ";", "\t", "|"]),
    texts=st.lists(ANY_TEXT, min_size=1, max_size=4),
)
# A row that begins with a quote is of the delimiter that reads it.
@example(name="mtn", delimiter=None, texts=['"Acme" Ltd', 'a";"b', '";'])
def test_what_the_csv_module_writes_is_read_whatever_its_first_cells_hold(
    name: str, delimiter: str | None, texts: list[str]
):
    """Recognised by its headings, as it is; or named, with another delimiter."""
    own = LAYOUTS[name] if delimiter is None else replace(LAYOUTS[name], delimiter=delimiter)
    assert described(own, texts, named=delimiter is not None) == [text or None for text in texts]


def described(layout: Layout, texts: list[str], *, named: bool) -> list[str | None]:
    """The descriptions that are read from a file which has them first in each row, so that a row begins with any."""
    with tempfile.TemporaryDirectory() as folder:
        plain, path = Path(folder) / "plain.csv", Path(folder) / "statement.csv"
        write_statement([row(key=f"{place:04}") for place in range(len(texts))], plain, layout)
        with plain.open(newline="", encoding="utf-8") as file:
            header, *rows = csv.reader(file, delimiter=layout.delimiter)
        place = header.index(layout.columns["description"])
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, delimiter=layout.delimiter)
            for first, cells in zip([header[place], *texts], [header, *rows], strict=True):
                writer.writerow([first, *cells[:place], *cells[place + 1 :]])
        read = read_statement(path, layout=layout if named else None, date_format=layout.dates[0]).rows
    assert read["problem"].isna().all()
    return [None if pd.isna(text) else text for text in read["description"]]
