"""Money: whole minor units with their currency. No float ever holds an amount."""

from decimal import Decimal
from fractions import Fraction
from typing import NamedTuple

import msgspec

from workbench.errors import InvalidRequest

MAX_MAJOR_DIGITS = 10
"""Amounts have at most ten digits before the point: 9,999,999,999.99."""


class Currency(NamedTuple):
    """A row of ISO 4217."""

    code: str
    numeric: int
    decimals: int
    minor_unit: str


ZMW = Currency("ZMW", 967, 2, "ngwee")
CURRENCIES = {ZMW.code: ZMW}
RETIRED = {"ZMK": "ZMK was replaced by ZMW on 1 January 2013 (1000 ZMK = 1 ZMW)"}


class Money(msgspec.Struct, frozen=True, order=True):
    """`amount_minor` is in the currency's minor unit: 15000 is 150.00 ZMW."""

    amount_minor: int
    currency: str = ZMW.code

    @property
    def major(self) -> Decimal:
        """The amount in major units, exact, with the currency's number of decimals."""
        # Written, not divided: arithmetic on Decimals rounds to 28 digits.
        return Decimal(f"{self.amount_minor}e-{CURRENCIES[self.currency].decimals}")

    @property
    def plain(self) -> str:
        """The amount without its currency, for reading: `1,250.00`."""
        return major_text(self.amount_minor, self.currency)

    def __str__(self) -> str:
        return f"{self.currency} {self.plain}"


def decimals_of(currency: str | None) -> int:
    """The number of decimals of a currency; two for one that the service does not have."""
    return CURRENCIES.get(currency or "", ZMW).decimals


def major_text(amount_minor: int, currency: str | None = ZMW.code, *, signed: bool = False) -> str:
    """Minor units as text in major units: `1,234.50`, or `+1,234.50` where the sign is the point."""
    sign = "+" if signed and amount_minor > 0 else ""
    return f"{sign}{Decimal(f'{amount_minor}e-{decimals_of(currency)}'):,}"


def money_text(amount_minor: int | None, currency: str | None) -> str:
    """An amount in a sentence: `K1,234.50`, `USD 3.00`, `nothing` for none; a minus stands first."""
    if amount_minor is None:
        return "nothing"
    sign = "−" if amount_minor < 0 else ""  # noqa: RUF001  a minus, not a hyphen
    before = "K" if currency == ZMW.code else f"{currency} " if currency else ""
    return f"{sign}{before}{major_text(abs(amount_minor), currency)}"


def currency_named(text: str) -> Currency:
    """The currency that `text` names, in either case.

    Raises InvalidRequest: a retired or unsupported code, by name.
    """
    code = text.upper()
    if code in RETIRED:
        raise InvalidRequest(f"{RETIRED[code]}; send ZMW.", code="currency_retired", param="currency")
    if code not in CURRENCIES:
        raise InvalidRequest(
            f"{text[:20]!r} is not a currency of this service, which takes {', '.join(CURRENCIES)}.",
            code="currency_unsupported",
            param="currency",
        )
    return CURRENCIES[code]


def money_from_major(amount: Decimal, currency: Currency) -> Money:
    """Money from an amount in major units: `150`, `150.0` and `150.00` are one amount.

    Raises InvalidRequest: not a finite number, not positive, too large, or finer than a minor unit.
    """
    check_size(amount, MAX_MAJOR_DIGITS)
    # A Fraction is exact; arithmetic on Decimals rounds to 28 digits. What is finer than any minor unit
    # is told by the power of ten of its first digit, before a Fraction of 1e-999999 is built.
    minor = Fraction(amount) * 10**currency.decimals if amount.adjusted() >= -currency.decimals else Fraction(1, 2)
    if minor.denominator != 1:
        raise InvalidRequest(
            f"{amount} has more decimals than {currency.code} has: "
            f"{currency.decimals} at most, the last being one {currency.minor_unit}.",
            code="amount_too_precise",
            param="amount",
        )
    return Money(minor.numerator, currency.code)


def money_from_integer(amount: int, currency: Currency, *, units_minor: int) -> Money:
    """Money from a whole number of units, each worth `units_minor` minor units (1 or 100).

    Raises InvalidRequest: not positive or too large.
    """
    check_size(Decimal(amount), MAX_MAJOR_DIGITS + currency.decimals)
    money = Money(amount * units_minor, currency.code)
    check_size(money.major, MAX_MAJOR_DIGITS)
    return money


def check_size(amount: Decimal, digits: int) -> None:
    """Raises InvalidRequest: not a finite number, not positive, or of more than `digits` before the point."""
    if not amount.is_finite():
        raise InvalidRequest(f"{amount} is not an amount.", code="amount_not_finite", param="amount")
    # adjusted() is the power of ten of the first digit: it tells the size of 1e400 without building it.
    if amount and amount.adjusted() >= digits:
        raise InvalidRequest(
            f"The amount has more than {digits} digits before the point.", code="amount_too_large", param="amount"
        )
    if amount <= 0:
        raise InvalidRequest(f"{amount} is not more than zero.", code="amount_not_positive", param="amount")


def share(amount_minor: int, basis_points: int) -> int:
    """`basis_points` ten-thousandths of an amount of minor units, rounded half up."""
    return (amount_minor * basis_points + 5_000) // 10_000
