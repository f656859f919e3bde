import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.analysis.frames import frame, money

COLUMNS = {"account": "string", "amount_minor": "int64", "variance_minor": "Int64", "currency": "category"}


def row(amount_minor: int, variance_minor: int | None = None, currency: str | None = "ZMW") -> dict[str, object]:
    return {"account": "a", "amount_minor": amount_minor, "variance_minor": variance_minor, "currency": currency}


def test_amounts_are_shown_in_major_units_and_the_table_stays():
    rows = frame([row(15_000, -1), row(123_450, None), row(2**63 - 1, -(2**63))], COLUMNS).iloc[[2, 0, 1]]
    before = rows.copy()
    shown = money(rows)
    assert list(shown.columns) == ["account", "amount", "variance", "currency"]
    assert shown["amount"].to_dict() == {2: "92,233,720,368,547,758.07", 0: "150.00", 1: "1,234.50"}
    assert shown["variance"].fillna("none").tolist() == ["-92,233,720,368,547,758.08", "-0.01", "none"]
    assert str(shown["amount"].dtype) == "string"
    pd.testing.assert_frame_equal(rows, before)


def test_a_table_without_a_currency_or_rows_or_amounts_is_shown_too():
    for rows in (
        frame([row(5)], COLUMNS)[["amount_minor"]],
        *(frame([row(5, 0, each)], COLUMNS) for each in (None, "USD")),
    ):
        assert money(rows)["amount"].tolist() == ["0.05"]
    assert list(money(frame([], COLUMNS)).columns) == ["account", "amount", "variance", "currency"]
    assert money(frame([row(5)], COLUMNS)[["account"]])["account"].tolist() == ["a"]


@given(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=5))
def test_what_is_shown_is_the_amount(amounts: list[int]):
    shown = money(frame([row(each) for each in amounts], COLUMNS))["amount"]
    assert [int(each.replace(",", "").replace(".", "")) for each in shown] == amounts


@pytest.mark.parametrize("values", [[], ["b", "a", None, "b"], [None]])
def test_categories_stand_in_the_order_of_the_alphabet(values: list[str | None]):
    made = frame([{"state": each} for each in values], {"state": "category"})["state"]
    assert made.cat.categories.tolist() == sorted({each for each in values if each})
    assert [None if pd.isna(each) else each for each in made] == values


def test_a_record_without_a_column_is_an_error():
    with pytest.raises(KeyError):
        frame([{"account": "a"}], COLUMNS)
