import math
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.domain.money import (
    CURRENCIES,
    ZMW,
    Money,
    currency_named,
    major_text,
    money_from_integer,
    money_from_major,
    money_text,
    share,
)  # fmt: skip
from workbench.errors import InvalidRequest

MOST_MINOR = 999_999_999_999
AMOUNTS_MINOR = st.integers(1, MOST_MINOR)


def test_the_one_currency_is_the_kwacha_of_iso_4217():
    assert {code: tuple(row) for code, row in CURRENCIES.items()} == {"ZMW": ("ZMW", 967, 2, "ngwee")}


@pytest.mark.parametrize(
    ("text", "minor"),
    [
        *((text, 15_000) for text in ("150", "150.0", "150.00", "150.000", "1.5E+2", "15E1", "+150", "0150.00")),
        ("0.01", 1), ("0.1", 10), ("1", 100), ("19.99", 1_999), ("9999999999.99", MOST_MINOR),
    ],
)  # fmt: skip
def test_major_units_become_ngwee_in_whatever_spelling(text: str, minor: int):
    assert money_from_major(Decimal(text), ZMW) == Money(minor, "ZMW")


@given(AMOUNTS_MINOR)
def test_major_and_back_is_the_same_money(minor: int):
    money = Money(minor)
    assert money_from_major(money.major, ZMW) == money
    assert money_from_integer(minor, ZMW, units_minor=1) == money


@given(AMOUNTS_MINOR, st.integers(0, 6))
def test_zeros_at_the_end_change_nothing(minor: int, zeros: int):
    padded = Decimal(f"{minor // 100}.{minor % 100:02d}{'0' * zeros}")
    assert money_from_major(padded, ZMW) == Money(minor)


@given(AMOUNTS_MINOR)
def test_the_major_amount_is_exact_and_has_two_decimals(minor: int):
    major = Money(minor).major
    assert Fraction(major) == Fraction(minor, 100)
    assert major.as_tuple().exponent == -2


def test_money_is_shown_with_its_currency():
    assert [str(Money(minor)) for minor in (1, 15_000, 123_456_789)] == ["ZMW 0.01", "ZMW 150.00", "ZMW 1,234,567.89"]


NO_AMOUNT = {
    "amount_not_positive": ["0", "0.00", "-0", "0E+50", "-0.01", "-150"],
    "amount_too_precise": ["0.001", "150.001", "1E-400", "1E-999999", "9999999999.999"],
    "amount_too_large": ["10000000000", "10000000000.001", "1e400", "1e999999", "-1e999999"],
    "amount_not_finite": ["NaN", "sNaN", "Infinity", "-Infinity"],
}


@pytest.mark.parametrize(("code", "text"), [(code, text) for code, texts in NO_AMOUNT.items() for text in texts])
def test_what_is_no_amount_is_refused_by_name(code: str, text: str):
    with pytest.raises(InvalidRequest) as refused:
        money_from_major(Decimal(text), ZMW)
    assert (refused.value.code, refused.value.param) == (code, "amount")


@given(AMOUNTS_MINOR, st.integers(3, 380))
def test_a_fraction_of_a_ngwee_is_never_rounded_away(minor: int, decimals: int):
    finer = Decimal(f"{minor // 100}.{minor % 100:02d}{'0' * (decimals - 3)}1")
    with pytest.raises(InvalidRequest) as refused:
        money_from_major(finer, ZMW)
    assert refused.value.code == "amount_too_precise"


def test_whole_numbers_are_of_the_unit_in_force():
    for amount, units_minor, minor in (
        (15_000, 1, 15_000), (150, 100, 15_000), (1, 1, 1), (MOST_MINOR, 1, MOST_MINOR),
        (9_999_999_999, 100, 999_999_999_900),
    ):  # fmt: skip
        assert money_from_integer(amount, ZMW, units_minor=units_minor) == Money(minor)
    for amount, units_minor, code in (
        (0, 1, "amount_not_positive"), (-1, 1, "amount_not_positive"), (0, 100, "amount_not_positive"),
        (MOST_MINOR + 1, 1, "amount_too_large"), (10_000_000_000, 100, "amount_too_large"),
        (2**63 - 1, 1, "amount_too_large"),
    ):  # fmt: skip
        with pytest.raises(InvalidRequest) as refused:
            money_from_integer(amount, ZMW, units_minor=units_minor)
        assert (refused.value.code, refused.value.param) == (code, "amount")


def test_the_kwacha_is_named_in_either_case_and_other_currencies_are_refused_by_name():
    assert all(currency_named(text) is ZMW for text in ("ZMW", "zmw", "Zmw"))
    for text, code, said in (
        ("ZMK", "currency_retired", "ZMK was replaced by ZMW"), ("zmk", "currency_retired", "ZMK was replaced by ZMW"),
        ("USD", "currency_unsupported", "'USD'"), ("", "currency_unsupported", "''"),
        (" ZMW", "currency_unsupported", "' ZMW'"), ("967", "currency_unsupported", "'967'"),
    ):  # fmt: skip
        with pytest.raises(InvalidRequest) as refused:
            currency_named(text)
        assert (refused.value.code, refused.value.param) == (code, "currency")
        assert said in str(refused.value)
        assert "ZMW" in str(refused.value)


def test_shares_are_rounded_half_up():
    taken = {
        (10_000, 250): 250, (10_000, 100): 100, (19, 250): 0, (20, 250): 1, (49, 100): 0, (50, 100): 1,
        (150, 100): 2,
    }  # fmt: skip
    assert {asked: share(*asked) for asked in taken} == taken


@given(AMOUNTS_MINOR, st.integers(0, 10_000))
def test_a_share_is_the_exact_fraction_rounded_half_up(minor: int, basis_points: int):
    exact = Fraction(minor * basis_points, 10_000)
    assert share(minor, basis_points) == math.floor(exact + Fraction(1, 2))
    assert abs(share(minor, basis_points) - exact) <= Fraction(1, 2)


@pytest.mark.parametrize(
    ("minor", "currency", "text"),
    [
        (123_450, "ZMW", "K1,234.50"), (-5, "ZMW", "\u2212K0.05"), (0, "ZMW", "K0.00"), (300, "USD", "USD 3.00"),
        (300, None, "3.00"), (None, "ZMW", "nothing"),
    ],
)  # fmt: skip
def test_an_amount_in_a_sentence(minor: int | None, currency: str | None, text: str):
    assert money_text(minor, currency) == text


def test_a_sign_is_shown_where_it_is_the_point():
    assert [major_text(minor, signed=True) for minor in (123_450, 0, -1)] == ["+1,234.50", "0.00", "-0.01"]
    assert major_text(123_450) == Money(123_450, "ZMW").plain == "1,234.50"
