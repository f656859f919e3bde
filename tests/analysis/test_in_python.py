"""Reconciling from Python: four columns as a frame, files by their paths, a folder that a period left."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest

from workbench import CarryForward, read_ledger, reconcile
from workbench.analysis.reconcile.carry_forward import KEPT
from workbench.analysis.statements import Layout
from workbench.errors import ReconcileRefused, StatementRefused

ACCOUNT = "operator:mtn:float"
OURS = pd.DataFrame(
    {
        "account": ACCOUNT,
        "key": ["7001", "7002", "7003"],
        "occurred_at": ["2026-10-29 08:15:00", "2026-10-30 08:15:00", "2026-10-31 17:40:00"],
        "amount": ["150.00", "99.00", "-60.00"],
    }
)
THEIRS = OURS.drop(index=1)


def found(ledger: Any, statement: Any, **more: Any) -> list[tuple[str, str]]:  # noqa: ANN401  any table
    breaks = reconcile(ledger, statement, **more).breaks
    return list(zip(breaks["key"], breaks["code"].astype(str), strict=True))


def test_four_columns_are_enough_on_either_side_in_a_frame_and_in_a_file(tmp_path: Path):
    OURS.to_csv(tmp_path / "ledger.csv", index=False)
    THEIRS.to_parquet(tmp_path / "statement.parquet")
    minor = OURS.drop(columns="amount").assign(amount_minor=[15000, 9900, -6000])
    for ledger, statement in (
        (OURS, pl.from_pandas(THEIRS)),
        (minor, pl.from_pandas(THEIRS).to_arrow()),
        (str(tmp_path / "ledger.csv"), str(tmp_path / "statement.parquet")),
    ):
        assert found(ledger, statement) == [("7002", "missing_in_statement")]


def test_a_ledger_may_have_each_further_column_in_a_frame_and_in_a_file(tmp_path: Path):
    further: dict[str, Any] = {
        "batch": None, "direction": ["in", "in", "out"], "fee": "0", "currency": "ZMW", "status": "completed",
        "phone": "0961234567", "entry": ["E1", "E2", "E3"], "number": [1, 2, 3], "kind": None, "payment": "order",
        "reverses": None, "state": None, "description": "Order",
    }  # fmt: skip
    books = OURS.assign(amount=OURS["amount"].str.removeprefix("-"), **further)
    wanted = found(read_ledger(books), THEIRS)
    for place, name in enumerate(sorted(further.keys() - {"direction"})):
        few = OURS.assign(**{name: further[name]})
        few.to_parquet(tmp_path / "ledger.parquet")
        for ledger in ((few, pl.from_pandas(few), tmp_path / "ledger.parquet")[place % 3], books.drop(columns=name)):
            assert found(ledger, THEIRS) == wanted, name


def test_rows_of_a_statement_in_a_table_may_have_no_key(tmp_path: Path):
    for statement in (THEIRS.assign(key=None), THEIRS.assign(key=["", "7003"]), THEIRS.drop(columns="key")):
        statement.to_parquet(tmp_path / "bank.parquet")
        for given in (statement, tmp_path / "bank.parquet"):
            breaks = found(OURS, given)
            assert len(breaks) == (3 if "key" in statement and statement["key"].eq("7003").any() else 1)
            assert ("7002", "missing_in_statement") in breaks
    THEIRS.rename(columns={"amount": "Paid"}).to_parquet(tmp_path / "bank.parquet")
    with pytest.raises(ReconcileRefused, match=r"Name the columns.*workbench layout FILE --out mine\.toml"):
        reconcile(OURS, tmp_path / "bank.parquet")


def test_tables_in_a_list_have_numbers_and_rows_and_a_column_entry_is_a_banks_own():
    other = OURS.assign(account="operator:airtel:float", entry=[1, 1, 2])
    both = pd.concat([OURS, other.drop(columns="entry")])
    result = reconcile(both, [THEIRS, other.assign(amount=["0.00", "99.00", "-61.00"])])
    named = [f"pandas DataFrame {nth}" for nth in (1, 2)]
    assert sorted(result.inputs.query("side == 'statement'")["name"]) == named
    assert result.inputs["sha256"].is_unique
    differs = result.breaks.set_index("code").loc["amount_mismatch"]
    assert (differs["statement"], differs["line"]) == (named[1], 3), "the rows are numbered as in the table"
    assert f"{named[1]}: 1 row of zero moves nothing: row 1." in result.notes
    for wrong, why in (
        (other.assign(amount="x"), r"^pandas DataFrame 2 has 3 of 3 rows .* \(3 rows, the first is row 1\)"),
        (other.assign(statement="x"), "^Statement 2 has no column "),
        (other.assign(account="bank:x"), "the account of pandas DataFrame 2.* name it in `account`"),
    ):
        with pytest.raises((ReconcileRefused, StatementRefused), match=why):
            reconcile(both, [THEIRS, wrong])


def test_a_file_that_cannot_be_read_names_the_call_that_helps(tmp_path: Path):
    path = tmp_path / "bank.csv"
    path.write_text("Value date,Words,Moved\n2026-10-31,Rent,5.00\n")
    with pytest.raises(StatementRefused, match="layout"):
        reconcile(OURS, path)
    (tmp_path / "books.csv").write_text("key,occurred_at,amount\n7001,2026-10-31 08:00:00,5.00\n")
    with pytest.raises(StatementRefused, match=r"Read it first with read_ledger\(\), and pass account='…'"):
        reconcile(tmp_path / "books.csv", THEIRS)


@pytest.mark.parametrize("kind", ["float16", "float32", "float64"])
def test_a_float_of_money_enters_by_its_shortest_decimal(kind: str):
    books = OURS.assign(amount=pd.Series([0.1, -2.5, 7], dtype=kind))
    assert read_ledger(books).rows["amount_minor"].tolist() == [10, 250, 700]


@pytest.mark.thorough
def test_a_folder_that_was_saved_is_carried_on(tmp_path: Path):
    first = reconcile(OURS, THEIRS)
    first.carry_forward.save(tmp_path / "october")
    assert len(CarryForward.load(tmp_path / "october").rows) == 1
    later = THEIRS.iloc[:1].assign(key="7004", occurred_at="2026-11-02 08:00:00")
    books = pd.concat([OURS, later])
    for folder in (str(tmp_path / "october"), tmp_path / "october", first.carry_forward):
        assert found(books, later, carry_forward=folder) == [("7002", "missing_in_statement")]
    hashes = [
        reconcile(books, later, carry_forward=each).inputs.set_index("name").loc["carried forward", "sha256"]
        for each in (tmp_path / "october", first.carry_forward, reconcile(OURS, THEIRS.iloc[:1]).carry_forward)
    ]
    assert hashes[0] == hashes[1] != hashes[2], "what is carried stands in the sign-off, from a folder as from memory"
    with pytest.raises(ReconcileRefused, match="There is no folder"):
        reconcile(books, later, carry_forward=tmp_path / "september")
    (tmp_path / "october" / "rows.parquet").unlink()
    with pytest.raises(ReconcileRefused, match=r"is not a carry-forward: it has no rows\.parquet"):
        CarryForward.load(tmp_path / "october")


def test_a_result_that_is_closed_still_has_its_carry_forward():
    with reconcile(OURS, THEIRS) as closed:
        pass
    open_ = reconcile(OURS, THEIRS)
    for name in KEPT:
        pd.testing.assert_frame_equal(*(getattr(result.carry_forward, name) for result in (closed, open_)))


MIDNIGHTS: dict[str, Callable[[pd.DataFrame], Any]] = {
    "pandas": lambda rows: rows,
    "with a zone": lambda rows: rows.assign(occurred_at=rows["occurred_at"].dt.tz_localize("Africa/Lusaka")),
    "dates": lambda rows: rows.assign(occurred_at=rows["occurred_at"].dt.date),
    "polars": pl.from_pandas,
    "arrow": lambda rows: pl.from_pandas(rows).to_arrow(),
}


def test_a_frame_of_midnights_is_the_cash_book_of_days_that_a_file_was(tmp_path: Path):
    days = pd.concat([OURS, OURS.iloc[:1].assign(key="7004", occurred_at="2026-11-02")], ignore_index=True)
    days = days.assign(occurred_at=days["occurred_at"].str[:10])
    days.iloc[:3].to_csv(tmp_path / "books.csv", index=False)
    first = reconcile(tmp_path / "books.csv", THEIRS)
    for kind, frame_of in MIDNIGHTS.items():
        frame = frame_of(days.assign(occurred_at=pd.to_datetime(days["occurred_at"])))
        later = reconcile(frame, days.iloc[3:], carry_forward=first.carry_forward)
        assert later.breaks["id"].tolist() == first.breaks["id"].tolist(), kind
        assert not [note for note in later.notes if "booked after the close" in note]
        pd.testing.assert_frame_equal(read_ledger(frame).rows, read_ledger(days).rows)


def test_a_frame_in_which_one_moment_has_a_time_and_a_layout_of_times_keep_their_moments():
    moments = OURS.assign(occurred_at=pd.to_datetime(OURS["occurred_at"]).dt.floor("D"))
    timed = moments.assign(
        occurred_at=moments["occurred_at"].where(moments.index > 0, pd.Timestamp("2026-10-29 00:01"))
    )
    columns = {"account": "account", "key": "key", "moment": "occurred_at", "amount": "amount"}
    for rows, layout in ((timed, None), (moments, Layout("books", columns, ("%d/%m/%Y %H:%M",)))):
        assert read_ledger(rows, layout=layout).rows["occurred_at"].notna().all()
    assert read_ledger(moments).rows["occurred_at"].isna().all()


def test_numbers_in_files_are_hashed_under_the_key_of_the_run(tmp_path: Path):
    OURS.assign(phone="+260961234567").to_csv(tmp_path / "books.csv", index=False)
    key = tmp_path / "book.key"
    carried = [
        reconcile(books, THEIRS, phone_key=key).carry_forward.rows["phone_hash"].tolist()
        for books in (tmp_path / "books.csv", read_ledger(tmp_path / "books.csv", phone_key=key))
    ]
    assert carried[0] == carried[1] != [None]


def test_a_column_that_a_table_has_twice_or_in_both_units_is_refused_on_either_side():
    columns = [OURS[name] for name in OURS]
    twice, both = pd.concat([*columns, OURS["amount"]], axis=1), OURS.assign(amount_minor=1)
    for table, text in ((twice, "the column amount more than once"), (both, "has both amount and amount_minor")):
        for inputs in ((table, THEIRS), (OURS, table)):
            with pytest.raises((ReconcileRefused, StatementRefused), match=text):
                reconcile(*inputs)


def test_a_key_of_both_sides_is_paired_with_itself_before_one_with_other_zeros():
    day = {"account": "bank:settlement", "occurred_at": "2026-08-05"}
    ours = pd.DataFrame([{**day, "key": "712", "amount": "100.00"}])
    theirs = pd.DataFrame(
        [{**day, "key": key, "amount": amount} for key, amount in (("712", "200.00"), ("0712", "100.00"))]
    )
    assert found(ours, theirs) == [("712", "amount_mismatch"), ("0712", "timing")]
