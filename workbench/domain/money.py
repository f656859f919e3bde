"""Money: integers of minor units with a currency. Floats never hold an amount."""

from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Final, NamedTuple

import msgspec

from workbench.errors import InvalidRequest

MAX_MAJOR_DIGITS = 10
"""The most digits of an amount before the decimal point; the largest amount is 9,999,999,999.99."""


class Currency(NamedTuple):
    """A row of ISO 4217."""

    code: str
    numeric: int
    decimals: int
    minor_unit: str = "minor unit"


ZMW = Currency("ZMW", 967, 2, "ngwee")
CURRENCIES = {ZMW.code: ZMW}
_ISO_4217: Final = (
    (
        "BIF108 CLP152 DJF262 GNF324 ISK352 JPY392 KMF174 KRW410 PYG600 RWF646 UGX800 UYI940 VND704 VUV548 XAF950 "
        "XOF952 XPF953"
    ),
    "",
    (
        "AED784 AFN971 ALL008 AMD051 AOA973 ARS032 AUD036 AWG533 AZN944 BAM977 BBD052 BDT050 BMD060 BND096 BOB068 "
        "BOV984 BRL986 BSD044 BTN064 BWP072 BYN933 BZD084 CAD124 CDF976 CHE947 CHF756 CHW948 CNY156 COP170 COU970 "
        "CRC188 CUP192 CVE132 CZK203 DKK208 DOP214 DZD012 EGP818 ERN232 ETB230 EUR978 FJD242 FKP238 GBP826 GEL981 "
        "GHS936 GIP292 GMD270 GTQ320 GYD328 HKD344 HNL340 HTG332 HUF348 IDR360 ILS376 INR356 IRR364 JMD388 KES404 "
        "KGS417 KHR116 KPW408 KYD136 KZT398 LAK418 LBP422 LKR144 LRD430 LSL426 MAD504 MDL498 MGA969 MKD807 MMK104 "
        "MNT496 MOP446 MRU929 MUR480 MVR462 MWK454 MXN484 MXV979 MYR458 MZN943 NAD516 NGN566 NIO558 NOK578 NPR524 "
        "NZD554 PAB590 PEN604 PGK598 PHP608 PKR586 PLN985 QAR634 RON946 RSD941 RUB643 SAR682 SBD090 SCR690 SDG938 "
        "SEK752 SGD702 SHP654 SLE925 SOS706 SRD968 SSP728 STN930 SVC222 SYP760 SZL748 THB764 TJS972 TMT934 TOP776 "
        "TRY949 TTD780 TWD901 TZS834 UAH980 USD840 USN997 UYU858 UZS860 VED926 VES928 WST882 XAD396 XCD951 XCG532 "
        "YER886 ZAR710 ZWG924"
    ),
    "BHD048 IQD368 JOD400 KWD414 LYD434 OMR512 TND788",
    "CLF990 UYW927",
)
"""ISO 4217, list one of SIX as published on 2026-01-01: codes with their numbers, by their number of decimals.

The list lacks ZMW, which is defined above, and codes without a minor unit: metals, bonds, drawing rights, tests.
"""
ISO_4217: Final[Mapping[str, Currency]] = CURRENCIES | {
    code[:3]: Currency(code[:3], int(code[3:]), decimals)
    for decimals, codes in enumerate(_ISO_4217)
    for code in codes.split()
}
OFFERED: Final[Mapping[str, Mapping[str, Currency]]] = {"zmw": CURRENCIES, "iso4217": ISO_4217}
"""Value of the register's `currencies` → (code → currency) for the currencies that the service accepts."""
RETIRED = {"ZMK": "ZMK was replaced by ZMW on 1 January 2013 (1000 ZMK = 1 ZMW)"}


class Money(msgspec.Struct, frozen=True, order=True):
    """An amount; `amount_minor` is in the currency's minor unit: 15000 is 150.00 ZMW."""

    amount_minor: int
    currency: str = ZMW.code

    @property
    def major(self) -> Decimal:
        """The amount in major units, exact, with the currency's number of decimals."""
        return major(self.amount_minor, self.currency)

    @property
    def plain(self) -> str:
        """The amount in major units without its currency, for display: `1,250.00`."""
        return major_text(self.amount_minor, self.currency)

    def __str__(self) -> str:
        """The amount with its currency: `K1,250.00`, `USD 3.00`, `JPY 300`; a minus sign comes first."""
        return money_text(self.amount_minor, self.currency)


def decimals_of(currency: str | None) -> int:
    """The number of decimals of a currency; two for a code that is not in ISO 4217, and for None."""
    return ISO_4217.get(currency or "", ZMW).decimals


def major(amount_minor: int, currency: str | None = ZMW.code) -> Decimal:
    """The amount in major units, exact, with the currency's number of decimals; two for a `currency` of None."""
    # Written, not divided: arithmetic on Decimals rounds to 28 digits.
    return Decimal(f"{amount_minor}e-{decimals_of(currency)}")


def major_text(amount_minor: int, currency: str | None = ZMW.code, *, signed: bool = False) -> str:
    """The amount in major units as text: `1,234.50`, or `+1,234.50` if `signed`.

    Two decimals for a `currency` of None.
    """
    sign = "+" if signed and amount_minor > 0 else ""
    return f"{sign}{major(amount_minor, currency):,}"


def money_text(amount_minor: int | None, currency: str | None, *, signed: bool = False) -> str:
    """Money in a sentence, with its currency's decimals: `K1,234.50`, `USD 3.00`, `JPY 300`.

    The word `nothing` for an amount of None; without a currency the number alone, with two decimals. With `signed`, a
    positive amount has a plus: `+K1,234.50`.
    """
    if amount_minor is None:
        return "nothing"
    plain = major_text(amount_minor, currency, signed=signed)
    # The minus is a hyphen: a spreadsheet reads a copied amount with it, and every console shows it.
    digits = plain.lstrip("+-")
    before = "K" if currency == ZMW.code else f"{currency} " if currency else ""
    return f"{plain.removesuffix(digits)}{before}{digits}"


def currency_named(text: str, offered: Mapping[str, Currency] = CURRENCIES) -> Currency:
    """The currency in `offered` that `text` names, in upper or lower case.

    Raises InvalidRequest: a retired or unsupported code, which the message names.
    """
    code = text.upper()
    if code in RETIRED:
        raise InvalidRequest(f"{RETIRED[code]}; send ZMW.", code="currency_retired", param="currency")
    if code not in offered:
        known = ", ".join(offered) if len(offered) == 1 else "the codes of ISO 4217"
        raise InvalidRequest(
            f"{text[:20]!r} is not a currency of this service, which takes {known}.",
            code="currency_unsupported",
            param="currency",
        )
    return offered[code]


def rounded(amount: Decimal, currency: Currency) -> Decimal:
    """The amount rounded to the currency's minor unit, half to even.

    Raises InvalidRequest: not a finite number, not positive, too large, or rounded to zero.
    """
    check_size(amount, MAX_MAJOR_DIGITS)
    # The first digit's power of ten shows that an amount is too small, before a Fraction of 1e-999999 is built.
    near = Fraction(amount) * 10**currency.decimals if amount.adjusted() >= -currency.decimals - 1 else Fraction(0)
    minor = round(near)
    if not minor:
        message = f"{amount} rounds to nothing: the least is one {currency.minor_unit}."
        raise InvalidRequest(message, code="amount_not_positive", param="amount")
    return Decimal(f"{minor}e-{currency.decimals}")


def money_from_major(amount: Decimal, currency: Currency) -> Money:
    """Money from an amount in major units: `150`, `150.0` and `150.00` give the same Money.

    Raises InvalidRequest: not a finite number, not positive, too large, or finer than a minor unit.
    """
    check_size(amount, MAX_MAJOR_DIGITS)
    # A ratio is exact; arithmetic on Decimals rounds to 28 digits. The first digit's power of ten shows
    # that an amount is finer than any minor unit, before the ratio of 1e-999999 is built.
    is_finer = amount.adjusted() < -currency.decimals
    numerator, denominator = (0, 1) if is_finer else amount.as_integer_ratio()
    minor, remainder = divmod(numerator * 10**currency.decimals, denominator)
    if is_finer or remainder:
        raise InvalidRequest(
            f"{amount} has more decimals than {currency.code} has: "
            f"{currency.decimals} at most, the last being one {currency.minor_unit}.",
            code="amount_too_precise",
            param="amount",
        )
    return Money(minor, currency.code)


def money_from_integer(amount: int, currency: Currency, *, units_minor: int) -> Money:
    """Money from a number of units, each worth `units_minor` minor units: 1, or as many as one major unit has.

    Raises InvalidRequest: not positive or too large.
    """
    check_size(Decimal(amount), MAX_MAJOR_DIGITS + currency.decimals)
    money = Money(amount * units_minor, currency.code)
    check_size(money.major, MAX_MAJOR_DIGITS)
    return money


def check_size(amount: Decimal, digits: int) -> None:
    """Raises InvalidRequest: not a finite number, not positive, or more than `digits` digits before the point."""
    if not amount.is_finite():
        raise InvalidRequest(f"{amount} is not an amount.", code="amount_not_finite", param="amount")
    # adjusted() is the power of ten of the first digit: it shows the size of 1e400 without building the number.
    if amount and amount.adjusted() >= digits:
        raise InvalidRequest(
            f"The amount has more than {digits} digits before the point.", code="amount_too_large", param="amount"
        )
    if amount <= 0:
        raise InvalidRequest(f"{amount} is not more than zero.", code="amount_not_positive", param="amount")


def share(amount_minor: int, basis_points: int) -> int:
    """A share of an amount in minor units, in `basis_points` (ten-thousandths), rounded half up."""
    return (amount_minor * basis_points + 5_000) // 10_000
