"""Rows of the store that are no domain structs, and conditions for searching rows."""

import re
from typing import Final, NamedTuple

import msgspec

from workbench.domain.payments import Stored, StoredAmount


class StoredAccount(msgspec.Struct, frozen=True, kw_only=True):
    """A merchant; customers see `name` in the prompt."""

    id: str
    name: str


class StoredKey(Stored, frozen=True, kw_only=True):
    """An API key, stored as a digest; `kind` is secret or publishable, `status` is active, rolled or revoked."""

    digest: str
    kind: str
    masked: str
    status: str = "active"


class TokenPair(msgspec.Struct, frozen=True, kw_only=True):
    """A bearer token and its refresh token, stored as digests."""

    id: str
    seq: int
    account: str
    access_digest: str
    refresh_digest: str
    issued_ms: int
    retired: int = 0


class Screen(msgspec.Struct, frozen=True, kw_only=True):
    """A screen of a handset, and the input that led to it."""

    seq: int
    at_ms: int
    session: str
    charge: str
    phone: str
    pressed: str | None
    words: str


class Hold(msgspec.Struct, frozen=True, kw_only=True):
    """The beginning or the end of a hold on a charge's amount; `change` is `opened` or `ended`."""

    seq: int
    at_ms: int
    charge: str
    change: str
    amount_minor: int


class StoredScript(msgspec.Struct, frozen=True, kw_only=True):
    """The scenario for a future attempt on a number; scenarios are used in the order of `seq`."""

    seq: int
    phone: str
    scenario: str


class StoredOutage(msgspec.Struct, frozen=True, kw_only=True):
    """An operator's outage and its end."""

    provider: str
    until_ms: int


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """A job: its kind, its object and the moment when it is due."""

    seq: int
    due_ms: int
    kind: str
    ref: str
    claimed: int = 0


class KeptResponse(msgspec.Struct, frozen=True, kw_only=True):
    """The stored first response for an idempotency key."""

    scope: str
    body_digest: str
    status: int
    content_type: str
    body: str
    payment: str | None
    at_ms: int


class StoredPayment(StoredAmount, frozen=True, kw_only=True):
    """An intent, or a charge without one: a row of the SQL view `payment`; `state` is in `wire.PAYMENT_STATES`."""

    refunded_minor: int
    description: str | None
    phone: str | None
    provider: str | None
    charge: str | None
    state: str


class StoredCall(msgspec.Struct, frozen=True, kw_only=True):
    """One HTTP exchange, masked."""

    id: str
    seq: int
    at_ms: int
    method: str
    path: str
    payment: str | None
    request_headers: dict[str, str]
    request_body: str
    status: int
    response_headers: dict[str, str]
    response_body: str


_ESCAPE: Final = str.maketrans({sign: f"\\{sign}" for sign in "\\%_"})
_BETWEEN_DIGITS: Final = re.compile(r"[\s()+./-]")
_BEFORE_WHOLE: Final = re.compile(r"^(?:(?:00)?260|0)(?=[0-9]{9}$)")
"""Prefix before the nine digits of a complete phone number: 260, 00260 or 0."""
_FEWEST_DIGITS: Final = 3
_NAMES_CALLS: Final = re.compile(r"(req|pi|ch)_[0-9A-Za-z]+")
_MOST_HEADERS: Final = 5_000
"""The number of latest calls whose headers are searched; there is no index, and each call is a page of the file."""
_SAME_PAYMENT: Final = """OR object_id IN (
    SELECT id FROM charge WHERE phone LIKE ? UNION SELECT payment_intent FROM charge WHERE phone LIKE ?
    UNION SELECT refund.id FROM refund JOIN charge ON charge.id = refund.charge WHERE charge.phone LIKE ?
    UNION SELECT id FROM entry WHERE kind = 'late_success' AND payment IN (
        SELECT id FROM charge WHERE phone LIKE ? UNION SELECT payment_intent FROM charge WHERE phone LIKE ?
    )
)"""


class Condition(NamedTuple):
    """An SQL condition that is added to a query's column filters, with the values for its placeholders."""

    sql: str
    values: tuple[str | int, ...]


def events_about(text: str) -> Condition:
    """Events whose body contains the text, in upper or lower case.

    Three digits or more also find the events about payments by a phone whose number ends in them.
    """
    ends = _ends_of_number(text)
    phone = ends * _SAME_PAYMENT.count("?")
    return Condition(f"(body LIKE ? ESCAPE '\\' {_SAME_PAYMENT if ends else ''})", (_pattern_within(text), *phone))


def payments_named(text: str) -> Condition:
    """Payments whose id, charge or description contains the text, in upper or lower case.

    Three digits or more also find the payments by a phone whose number ends in them.
    """
    ends = _ends_of_number(text)
    terms = [f"{column} LIKE ? ESCAPE '\\'" for column in ("id", "charge", "description")]
    where = " OR ".join([*terms, *["phone LIKE ?"] * len(ends)])
    return Condition(f"({where})", (*[_pattern_within(text)] * len(terms), *ends))


def calls_named(text: str) -> Condition:
    """Calls with this id or payment.

    Any other text finds calls that contain it in their path or, among the latest calls, in their headers; case counts.
    """
    if _NAMES_CALLS.fullmatch(text):
        return Condition("(id = ? OR payment = ?)", (text, text))
    recent = f"seq > coalesce((SELECT seq FROM call ORDER BY seq DESC LIMIT 1 OFFSET {_MOST_HEADERS}), -1)"
    # Case counts: a search that ignores case would take four times as long.
    return Condition(f"(instr(path, ?) OR {recent} AND instr(request_headers, ?))", (text, text))


def _pattern_within(text: str) -> str:
    return "%" + text.strip().translate(_ESCAPE) + "%"


def _ends_of_number(text: str) -> tuple[str, ...]:
    """A tuple with a LIKE pattern for numbers that end in the digits of the text, which may have a prefix or spaces.

    Empty if the text has fewer than three digits, or characters that do not belong to a number.
    """
    digits = _BEFORE_WHOLE.sub("", _BETWEEN_DIGITS.sub("", text))
    return (f"%{digits}",) if digits.isascii() and digits.isdecimal() and len(digits) >= _FEWEST_DIGITS else ()
