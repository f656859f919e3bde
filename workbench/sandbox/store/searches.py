"""What can be searched for: conditions on rows that are no equality of a column."""

import re
from typing import Final

from workbench.sandbox.store.table import Condition

_ESCAPE: Final = str.maketrans({each: f"\\{each}" for each in "\\%_"})
_BETWEEN_DIGITS: Final = re.compile(r"[\s()+./-]")
_BEFORE_WHOLE: Final = re.compile(r"^(?:(?:00)?260|0)(?=[0-9]{9}$)")
"""What stands before the nine digits of a whole number, however it is written."""
_FEWEST_DIGITS: Final = 3
_SAME_PAYMENT: Final = """OR object_id IN (
    SELECT id FROM charge WHERE phone LIKE ? UNION SELECT payment_intent FROM charge WHERE phone LIKE ?
    UNION SELECT refund.id FROM refund JOIN charge ON charge.id = refund.charge WHERE charge.phone LIKE ?
)"""


def since(at_ms: int) -> Condition:
    """Made at this moment or later."""
    return Condition("created_ms >= ?", (at_ms,))


def about(text: str) -> Condition:
    """Events in whose body a text stands, in either case; of digits, also those of a number that ends so."""
    body = "%" + text.strip().translate(_ESCAPE) + "%"
    digits = _BEFORE_WHOLE.sub("", _BETWEEN_DIGITS.sub("", text))
    is_number = digits.isascii() and digits.isdecimal() and len(digits) >= _FEWEST_DIGITS
    phone = (f"%{digits}",) * 3 if is_number else ()
    return Condition(f"(body LIKE ? ESCAPE '\\' {_SAME_PAYMENT if is_number else ''})", (body, *phone))
