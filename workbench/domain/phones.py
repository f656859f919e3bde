"""Zambian mobile numbers and their operators.

The prefixes are libphonenumber's (9.0.43); a test compares them with the installed version. They are data here because
`phonenumbers.carrier` takes a quarter of a second to load.
"""

import hmac
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Final, NamedTuple

from workbench.errors import InvalidRequest

COUNTRY_CODE = "+260"
GAPS = r"[ \u00a0\u2007\u2009\u202f()./\u2010-\u2015\u2212-]"
"""A pattern for a separator between digits: spaces and dashes of any width, brackets, points, slashes."""
_DROPPED = re.compile(GAPS + r"|['\t\r\n\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]")
"""Separators, apostrophes and invisible characters that spreadsheets and chats add to a number."""
HIDDEN = "•"
MARK = 4 * HIDDEN
"""Replaces the hidden part of a text."""
_STARS = re.compile("[*xX#]")
_COUNTRY = re.compile(r"^(?:(?:00|\+)?2600?|0)")
_MOBILE = re.compile(f"[579][0-9][0-9{HIDDEN}]{{4}}[0-9]{{3}}")
"""The nine digits of a Zambian mobile number; four of them may already be hidden, as in `96****567`."""
_FOREIGN = re.compile(rf"(?:(?:\+|00)(?=[1-9][0-9{HIDDEN}]{{7,14}}$)|(?=(?:27|2[1-9][0-9])[0-9{HIDDEN}]{{9}}$))"
                      rf"([0-9{HIDDEN}]+[0-9]{{3}})")  # fmt: skip
"""A foreign or fixed-line number with a leading plus or 00, or an African number without either."""
_HIDDEN_NUMBER = re.compile(rf"\+?(?=.{{8}})[0-9{HIDDEN}]*[0-9][0-9{HIDDEN}]*")
_E164 = re.compile(r"\+260[0-9]{9}")
_ALL_BUT_THREE = re.compile(r"[0-9](?=(?:[^0-9]*[0-9]){3})")
_NATIONAL = re.compile(r"0[0-9]{9}")
HASH_BYTES = 16


class Operator(NamedTuple):
    """A mobile network operator with wallets."""

    id: str
    name: str
    long_id: str
    """The identifier that aggregators use."""
    prefixes: tuple[str, ...]
    """The possible first two digits of a number after the country code."""
    pin_length: int = 4


OPERATORS = {
    operator.id: operator
    for operator in (
        Operator("mtn", "MTN MoMo", "MTN_MOMO_ZMB", ("96", "76", "56")),
        Operator("airtel", "Airtel Money", "AIRTEL_OAPI_ZMB", ("97", "77", "57")),
        Operator("zamtel", "Zamtel Money", "ZAMTEL_ZMB", ("95", "75", "55")),
    )
}
ZED = Operator("zed", "Zed Mobile", "ZED_MOBILE_ZMB", ("98", "78", "58", "79"))
"""An operator that is accepted only if the register's `zed_mobile` is `zed`.

The operator of the prefix 79 is unknown; it is counted here. The long identifier is invented, in the form of the
others.
"""
EVERY_OPERATOR: Final[Mapping[str, Operator]] = OPERATORS | {ZED.id: ZED}
"""Id → operator, for all operators that a stored payment may have."""
OFFERED: Final[Mapping[str, Mapping[str, Operator]]] = {"refused": OPERATORS, "zed": EVERY_OPERATOR}
"""Value of the register's `zed_mobile` → the operators that the service accepts."""
WITHOUT_WALLET = {"98": "Zed Mobile", "78": "Zed Mobile", "58": "Zed Mobile", "79": "operator not known"}
BY_PREFIX: Final = {
    choice: {prefix: operator for operator in offered.values() for prefix in operator.prefixes}
    for choice, offered in OFFERED.items()
}
BY_NAME: Final = {
    choice: {name.lower(): operator for operator in offered.values() for name in (operator.id, operator.long_id)}
    for choice, offered in OFFERED.items()
}


class Msisdn(NamedTuple):
    """A customer's number with a wallet, as E.164 text, and its operator."""

    e164: str
    operator: Operator


def mask_phone(e164: str) -> str:
    """The number with only its operator's prefix and last three digits visible, which distinguishes most customers."""
    return f"{e164[:6]}{MARK}{e164[-3:]}"


@lru_cache(maxsize=1)  # A number is masked and hashed, one after the other; no others are remembered.
def international(text: str) -> str | None:
    """The number in a uniform format, `+260961234567` or `+254712345678`; None if the text is no number.

    A Zambian number may be written `+260…`, `00260…`, `260…`, `0…` or as nine digits, a foreign one `+…`, `00…` or,
    if African, without a prefix. Hidden digits become HIDDEN.
    """
    bare = _STARS.sub(HIDDEN, _DROPPED.sub("", text))
    national = _COUNTRY.sub("", bare)
    if _MOBILE.fullmatch(national):
        return COUNTRY_CODE + national
    foreign = _FOREIGN.fullmatch(bare)
    return foreign and f"+{foreign[1]}"


def is_cut_short(text: str) -> bool:
    """True for a number with hidden digits that shows too few: its prefix and last three are needed to compare it."""
    bare = _STARS.sub(HIDDEN, _DROPPED.sub("", text))
    return HIDDEN in bare and _HIDDEN_NUMBER.fullmatch(bare) is not None and international(text) is None


def masked_number(text: str) -> str | None:
    """The masked telephone number; of a foreign number, only the last three digits are visible.

    None if it is no number.
    """
    number = international(text)
    if number is None or not _MOBILE.fullmatch(number.removeprefix(COUNTRY_CODE)):
        return number and _ALL_BUT_THREE.sub(HIDDEN, number)
    return mask_phone(number)


def phone_hash(text: str, key: bytes) -> str | None:
    """A keyed hash of the number in `text`, in any format; None if it is no number, or digits are hidden."""
    number = international(text)
    if number is None or HIDDEN in number:
        return None
    return hmac.digest(key, number.encode(), "sha256")[:HASH_BYTES].hex()


def mask_column(text: str) -> str:
    """Masks a cell of a column of phone numbers: a number as `masked_number` does; of other text, the digits.

    The last three digits of other text stay visible, and so do all characters that are no digits.
    """
    return masked_number(text) or _ALL_BUT_THREE.sub(HIDDEN, text)


def e164_of(text: str) -> str:
    """A number in national format, converted to E.164; any other text unchanged."""
    return COUNTRY_CODE + text[1:] if _NATIONAL.fullmatch(text) else text


def msisdn_from(text: str, *, param: str, zed: str = "refused", form: str = "e164") -> Msisdn:
    """Reads a number in E.164, `+260` and nine digits; if `form` is `national`, also with 0 in place of `+260`.

    `param` is the field's name in the error; `zed` and `form` are the register's `zed_mobile` and `phone_format`.
    Raises InvalidRequest: another form, another country, or a number without a wallet.
    """
    text = e164_of(text) if form == "national" else text
    if not _E164.fullmatch(text):
        raise InvalidRequest(_why_not(text), code="phone_invalid", param=param)
    prefix, known = text[len(COUNTRY_CODE) : len(COUNTRY_CODE) + 2], BY_PREFIX[zed]
    if prefix not in known:
        owner = WITHOUT_WALLET.get(prefix, "not a mobile prefix")
        raise InvalidRequest(
            f"No wallet is known for numbers of {COUNTRY_CODE} {prefix} ({owner}); "
            f"known are {', '.join(sorted(known))}.",
            code="phone_without_wallet",
            param=param,
        )
    return Msisdn(text, known[prefix])


def operator_of(e164: str) -> Operator:
    """The operator of a number that `msisdn_from` accepted."""
    return BY_PREFIX[ZED.id][e164[len(COUNTRY_CODE) : len(COUNTRY_CODE) + 2]]


def operator_named(text: str, *, param: str, zed: str = "refused") -> Operator:
    """The operator with this short or long identifier, in upper or lower case.

    `param` is the field's name in the error; `zed` is the register's `zed_mobile`, `refused` or `zed`. Raises
    InvalidRequest: no such operator.
    """
    operator = BY_NAME[zed].get(text.lower())
    if operator is None:
        raise InvalidRequest(
            f"{text[:40]!r} is not an operator of this service; they are {', '.join(OFFERED[zed])}.",
            code="operator_unknown",
            param=param,
        )
    return operator


def _why_not(text: str) -> str:
    if _NATIONAL.fullmatch(text):
        return f"The number is in national form; send it as {COUNTRY_CODE} and the digits after the 0."
    if text.startswith(COUNTRY_CODE):
        return f"After {COUNTRY_CODE} come nine digits and nothing else."
    if text.startswith("+"):
        return f"The number is not Zambian: it must begin with {COUNTRY_CODE}."
    return f"The number must be in international form: {COUNTRY_CODE} and nine digits."
