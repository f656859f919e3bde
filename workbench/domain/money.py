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
        return f"{self.major:,}"

    def __str__(self) -> str:
        return f"{self.currency} {self.plain}"


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
