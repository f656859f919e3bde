"""Conditions of a search: rows made since a moment, or that hold a text, a telephone number or an id."""

import re
from typing import Final, NamedTuple

_ESCAPE: Final = str.maketrans({each: f"\\{each}" for each in "\\%_"})
_BETWEEN_DIGITS: Final = re.compile(r"[\s()+./-]")
_BEFORE_WHOLE: Final = re.compile(r"^(?:(?:00)?260|0)(?=[0-9]{9}$)")
"""Prefix before the nine digits of a whole number: 260, 00260 or 0."""
_FEWEST_DIGITS: Final = 3
_NAMES_CALLS: Final = re.compile(r"(req|pi|ch)_[0-9A-Za-z]+")
_MOST_HEADERS: Final = 5_000
"""The number of latest calls whose headers are searched: each call is a page of the file, without an index."""
_SAME_PAYMENT: Final = """OR object_id IN (
    SELECT id FROM charge WHERE phone LIKE ? UNION SELECT payment_intent FROM charge WHERE phone LIKE ?
    UNION SELECT refund.id FROM refund JOIN charge ON charge.id = refund.charge WHERE charge.phone LIKE ?
    UNION SELECT id FROM entry WHERE kind = 'late_success' AND payment IN (
        SELECT id FROM charge WHERE phone LIKE ? UNION SELECT payment_intent FROM charge WHERE phone LIKE ?
    )
)"""


class Condition(NamedTuple):
    """An SQL condition that a query adds to its filters of columns, and the values for the condition's placeholders."""

    sql: str
    values: tuple[str | int, ...]


def since(at_ms: int) -> Condition:
    """Rows created at this moment or later."""
    return Condition("created_ms >= ?", (at_ms,))


def about(text: str) -> Condition:
    """Events whose body contains the text, in upper or lower case.

    Three digits or more also find the events about payments by a phone whose number ends in them.
    """
    ends = _ends_of_number(text)
    phone = ends * _SAME_PAYMENT.count("?")
    return Condition(f"(body LIKE ? ESCAPE '\\' {_SAME_PAYMENT if ends else ''})", (_pattern_within(text), *phone))


def holds(text: str, *columns: str, phone: str = "") -> Condition:
    """Rows with the text in one of these columns, in upper or lower case.

    `phone` names a column of numbers: rows whose number ends in the text's three digits or more are found too.
    """
    terms = [f"{column} LIKE ? ESCAPE '\\'" for column in columns]
    ends = _ends_of_number(text) if phone else ()
    terms += [f"{phone} LIKE ?"] * len(ends)
    return Condition(f"({' OR '.join(terms)})", (*[_pattern_within(text)] * len(columns), *ends))


def called(text: str) -> Condition:
    """Calls with this id or payment.

    A text of another form finds calls with it in their path or, for the latest calls, in their headers; case counts.
    """
    if _NAMES_CALLS.fullmatch(text):
        return Condition("(id = ? OR payment = ?)", (text, text))
    recent = f"seq > coalesce((SELECT seq FROM call ORDER BY seq DESC LIMIT 1 OFFSET {_MOST_HEADERS}), -1)"
    # Case counts: a search that ignores case would take four times as long.
    return Condition(f"(instr(path, ?) OR {recent} AND instr(request_headers, ?))", (text, text))


def _pattern_within(text: str) -> str:
    return "%" + text.strip().translate(_ESCAPE) + "%"


def _ends_of_number(text: str) -> tuple[str, ...]:
    """A LIKE pattern for numbers that end in the digits of the text, in one of the ways to write a number.

    Empty if the text has fewer than three digits, or anything else than a number's characters.
    """
    digits = _BEFORE_WHOLE.sub("", _BETWEEN_DIGITS.sub("", text))
    return (f"%{digits}",) if digits.isascii() and digits.isdecimal() and len(digits) >= _FEWEST_DIGITS else ()
