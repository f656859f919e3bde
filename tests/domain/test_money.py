import math
from collections import Counter
from collections.abc import Callable
from decimal import ROUND_HALF_EVEN, Decimal, localcontext
from fractions import Fraction
from functools import partial

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from workbench.domain import money
from workbench.domain.money import (
    ISO_4217,
    ZMW,
    Money,
    currency_named,
    major_text,
    money_from_integer,
    money_from_major,
    rounded,
)
from workbench.errors import InvalidRequest

MOST_MINOR = 999_999_999_999
AMOUNTS_MINOR = st.integers(1, MOST_MINOR)


@given(AMOUNTS_MINOR, st.integers(0, 6), st.sampled_from(sorted(ISO_4217)))
@example(MOST_MINOR, 0, "ZMW")
def test_major_units_are_exact_in_each_currency_and_back_the_same_whatever_zeros_follow(
    minor: int, zeros: int, code: str
):
    currency = ISO_4217[code]
    minor = min(minor, 10 ** (10 + currency.decimals) - 1)
    major = Money(minor, code).major
    scale = 10**currency.decimals
    assert (Fraction(major), major.as_tuple().exponent) == (Fraction(minor, scale), -currency.decimals)
    for spelled in (
        major,
        major * Decimal(f"1.{'0' * zeros}"),
        major.normalize(),
        Decimal(f"{minor}E-{currency.decimals}"),
    ):
        assert money_from_major(spelled, currency) == Money(minor, code)
    assert money_from_integer(minor, currency, units_minor=1) == Money(minor, code)


def refusal(read: Callable[[], object]) -> tuple[str, str | None]:
    with pytest.raises(InvalidRequest) as refused:
        read()
    return refused.value.code, refused.value.param


def test_what_is_not_finite_is_no_amount():
    for text in ("NaN", "sNaN", "Infinity", "-Infinity"):
        assert refusal(partial(money_from_major, Decimal(text), ZMW)) == ("amount_not_finite", "amount"), text


@given(AMOUNTS_MINOR, st.integers(3, 380))
def test_a_fraction_of_a_ngwee_is_never_rounded_away(minor: int, decimals: int):
    finer = Decimal(f"{Money(minor).major}{'0' * (decimals - 3)}1")
    assert refusal(lambda: money_from_major(finer, ZMW)) == ("amount_too_precise", "amount")


def test_whole_numbers_go_to_the_same_limit_in_ngwee_and_in_kwacha():
    for amount, units_minor in ((MOST_MINOR, 1), (MOST_MINOR // 100, 100)):
        assert money_from_integer(amount, ZMW, units_minor=units_minor) == Money(amount * units_minor)
        above = partial(money_from_integer, amount + 1, ZMW, units_minor=units_minor)
        assert refusal(above) == ("amount_too_large", "amount")


def test_the_codes_of_iso_4217_have_their_own_decimals():
    by_decimals = Counter(each.decimals for each in ISO_4217.values())
    assert by_decimals == {0: 17, 2: 139, 3: 7, 4: 2}
    assert [str(Money(1_234_567, code)) for code in ("JPY", "USD", "KWD", "CLF")] == [
        "JPY 1,234,567", "USD 12,345.67", "KWD 1,234.567", "CLF 123.4567",
    ]  # fmt: skip
    assert {code: row.code for code, row in ISO_4217.items()} == {code: code for code in ISO_4217}
    assert len({row.numeric for row in ISO_4217.values()}) == len(ISO_4217)
    assert currency_named("jpy", ISO_4217).decimals == 0
    assert refusal(lambda: currency_named("XAU", ISO_4217)) == ("currency_unsupported", "currency")


@given(st.decimals(0, 10**9, allow_nan=False, places=6), st.sampled_from(["ZMW", "JPY", "KWD"]))
@example(Decimal("1.005"), "ZMW")
@example(Decimal("1.015"), "ZMW")
@example(Decimal("1e-999999"), "ZMW")
@example(Decimal("0.5"), "JPY")
@example(Decimal("1.5"), "JPY")
def test_half_even_is_what_decimal_makes_of_it(amount: Decimal, code: str):
    with localcontext(prec=60):
        nearest = amount.quantize(Decimal(f"1e-{ISO_4217[code].decimals}"), ROUND_HALF_EVEN)
    if nearest:
        assert str(rounded(amount, ISO_4217[code])) == str(nearest)
    else:
        assert refusal(lambda: rounded(amount, ISO_4217[code])) == ("amount_not_positive", "amount")


@given(AMOUNTS_MINOR, st.integers(0, 10_000))
@example(19, 250)
@example(20, 250)
@example(49, 100)
@example(50, 100)
@example(150, 100)
def test_a_share_is_the_exact_fraction_rounded_half_up(minor: int, basis_points: int):
    exact = Fraction(minor * basis_points, 10_000)
    assert money.share(minor, basis_points) == math.floor(exact + Fraction(1, 2))


def test_an_amount_is_read_with_its_currency_in_a_sentence_and_with_a_sign_where_it_is_the_point():
    assert [str(Money(minor)) for minor in (1, 15_000, 123_456_789)] == ["K0.01", "K150.00", "K1,234,567.89"]
    texts = {
        (123_450, "ZMW"): "K1,234.50", (-5, "ZMW"): "-K0.05", (0, "ZMW"): "K0.00", (300, "USD"): "USD 3.00",
        (300, None): "3.00", (None, "ZMW"): "nothing", (300, "JPY"): "JPY 300", (300, "XXX"): "XXX 3.00",
    }  # fmt: skip
    assert {asked: money.money_text(*asked) for asked in texts} == texts
    assert money.money_text(5, "ZMW", signed=True) == "+K0.05"
    assert [money.money_text(-300, code) for code in ("ZMW", "USD", "JPY")] == ["-K3.00", "-USD 3.00", "-JPY 300"]
    assert [major_text(minor, signed=True) for minor in (123_450, 0, -1)] == ["+1,234.50", "0.00", "-0.01"]
    assert major_text(123_450) == Money(123_450, "ZMW").plain == "1,234.50"
