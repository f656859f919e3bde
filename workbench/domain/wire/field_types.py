"""Types of fields that several bodies share: money, moments, identifiers, numbers and operators."""

from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from typing import Annotated, Any, Final

from msgspec import Meta

from workbench.domain import payments
from workbench.domain.gaps import Gaps
from workbench.domain.moments import RFC3339
from workbench.domain.money import ISO_4217, MAX_MAJOR_DIGITS, OFFERED
from workbench.domain.phones import OFFERED as OPERATORS_OFFERED
from workbench.domain.phones import Operator
from workbench.domain.wire.base import Schema, View, by_register, meaning, parameter

Int64 = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
Minor = Annotated[int, Meta(ge=0, le=10**12 - 1)]
"""Minor units; at most ten digits before the point."""
Seq = Annotated[int, Meta(ge=0, le=2**63 - 1)]
Seconds = Annotated[int, meaning("Seconds since 1970, UTC.")]
DateTime = Annotated[str, meaning(format="date-time")]
NeverNegative = Annotated[int, meaning(minimum=0)]
Positive = Annotated[int, meaning(minimum=1)]
Live = Annotated[bool, meaning("A sandbox holds nothing live.", const=False)]


def is_id(prefix: str) -> Meta:
    """An identifier with this prefix."""
    return meaning(pattern=f"^{prefix}_[0-9A-Za-z]{{24}}$")


IntentId = Annotated[str, is_id("pi")]
ChargeId = Annotated[str, is_id("ch")]
EndpointId = Annotated[str, is_id("we")]
EventId = Annotated[str, is_id("evt")]


def taken_currency(case: Callable[[str], str]) -> Meta:
    """A currency in a request: in either case, or in the case that the interface shows."""

    def rule(gaps: Gaps) -> Schema:
        if gaps.currency_case == "strict":
            return shown_currency(gaps, case)
        says = "ZMW alone" if gaps.currencies == "zmw" else "any that has a minor unit"
        pattern = _any_case(OFFERED[gaps.currencies])
        # One word needs no group.
        pattern = f"({pattern})" if "|" in pattern else pattern
        return {"pattern": f"^{pattern}$", "description": f"ISO 4217; {says}, in either case."}

    return by_register(rule)


def shown_currency(gaps: Gaps, case: Callable[[str], str]) -> Schema:
    """A currency in a response, in one case."""
    codes = [case(code) for code in OFFERED[gaps.currencies]]
    return {"const": codes[0]} if len(codes) == 1 else {"enum": codes}


def upper_or_lower_currency(gaps: Gaps) -> Schema:
    """A currency in a response, in either case: a pattern, since an enum would name every currency twice."""
    codes = [case(code) for case in (str.upper, str.lower) for code in OFFERED[gaps.currencies]]
    return {"pattern": f"^({'|'.join(codes)})$"}


def _any_case(words: Iterable[str]) -> str:
    """A pattern for words in any case: JSON Schema's patterns have no flag for that."""
    return "|".join("".join(f"[{c.upper()}{c.lower()}]" if c.isalpha() else c for c in word) for word in words)


UpperCurrency = Annotated[str, taken_currency(str.upper)]
LowerCurrency = Annotated[str, taken_currency(str.lower)]
ShownUpperCurrency = Annotated[str, by_register(lambda gaps: shown_currency(gaps, str.upper))]
ShownLowerCurrency = Annotated[str, by_register(lambda gaps: shown_currency(gaps, str.lower))]
AnyCurrency = Annotated[str, by_register(upper_or_lower_currency)]
TOO_MUCH_MAJOR = 10**MAX_MAJOR_DIGITS
"""Amounts are below this number of major units."""
_MAJOR: Schema = {
    "exclusiveMinimum": 0,
    "exclusiveMaximum": TOO_MUCH_MAJOR,
    "multipleOf": Decimal("0.01"),
    "description": "Major units with at most two decimals: 150, 150.0 and 150.00 are one amount.",
}


def major_amount(gaps: Gaps) -> Schema:
    """An amount in major units, as fine as the finest currency has it."""
    if gaps.currencies == "zmw":
        return _MAJOR
    finest = max(currency.decimals for currency in ISO_4217.values())
    says = f"Major units with at most the currency's own number of decimals, {finest} of the finest."
    return _MAJOR | {"multipleOf": Decimal(f"1e-{finest}"), "description": says}


_SCALE = {"zmw": "two decimals", "iso4217": "with the currency's own number of decimals"}
MajorAmount = Annotated[Decimal, by_register(lambda gaps: {"description": f"Major units, {_SCALE[gaps.currencies]}."})]
_COUNTRY: Mapping[str, str] = {"e164": r"\+260", "national": r"(\+260|0)"}
"""The beginning of a number, by `phone_format`."""


def _operators(gaps: Gaps) -> Iterable[Operator]:
    return OPERATORS_OFFERED[gaps.zed_mobile].values()


def _phone(gaps: Gaps) -> Schema:
    prefixes = "|".join(prefix for operator in _operators(gaps) for prefix in operator.prefixes)
    also = " Or in national form, with 0 for +260." if gaps.phone_format == "national" else ""
    return {
        "pattern": f"^{_COUNTRY[gaps.phone_format]}({prefixes})[0-9]{{7}}$",
        "description": f"E.164: +260, a prefix of an operator with wallets, seven digits.{also}",
    }


def _operator_name(gaps: Gaps) -> Schema:
    *first, last = (operator.id for operator in _operators(gaps))
    names = _any_case(name for operator in _operators(gaps) for name in (operator.id, operator.long_id))
    says = f"{', '.join(first)} or {last}, or its long identifier, in any case."
    return {"pattern": f"^({names})$", "description": f"A mobile network operator: {says}"}


def _operator_id(gaps: Gaps) -> Schema:
    """An operator's identifier in a response."""
    return {
        "enum": [operator.id if gaps.operator_ids == "short" else operator.long_id for operator in _operators(gaps)]
    }


Phone = Annotated[str, by_register(_phone)]
MaskedPhone = Annotated[str, meaning("Masked: it stays the customer's.", pattern=r"^\+260[0-9]{2}•{4}[0-9]{3}$")]
OperatorName = Annotated[str, by_register(_operator_name)]
OperatorId = Annotated[str, by_register(_operator_id)]
_MOMENT = "A moment with its zone (RFC 3339), to the millisecond."
Moment = Annotated[str, meaning(_MOMENT, pattern=f"^({RFC3339.pattern})$")]


class Made(View, kw_only=True):
    """A created object; these fields stand last."""

    created: Seconds = 0
    livemode: Live = False


def states_of(table: payments.Transitions | Callable[[Gaps], payments.Transitions]) -> Meta:
    """A state of a table of transitions, which may depend on the register."""

    def rule(gaps: Gaps) -> Schema:
        transitions = table(gaps) if callable(table) else table
        return {"enum": [*dict.fromkeys([*(state for state, _ in transitions), *transitions.values()])]}

    return by_register(rule)


FailureCode = Annotated[str, meaning(enum=[*payments.FAILURES])]


def comma_separated(says: str, **items: object) -> Meta:
    """A filter that takes several values, separated by commas."""
    return parameter(f"{says}, separated by commas.", type="array", items={"type": "string", **items}, minItems=1)


def seconds_up_to(most: int) -> Meta:
    """Seconds as a decimal number, from 0 to `most`, as fine as milliseconds."""
    return meaning("In whole milliseconds.", minimum=0, maximum=most, multipleOf=Decimal("0.001"))


MAX_AT_MS: Final = 4_102_444_799_999
"""The last millisecond of 2099, the latest moment in a request."""
PATHS: Final[Mapping[str, Any]] = {
    "intent_id": Annotated[str, parameter("The intent's id.", pattern="^pi_[0-9A-Za-z]+$")],
    "charge_id": Annotated[str, parameter("The charge's id.", pattern="^ch_[0-9A-Za-z]+$")],
    "refund_id": Annotated[str, parameter("The refund's id.", pattern="^re_[0-9A-Za-z]+$")],
    "payout_id": Annotated[str, parameter("The payout's id.", pattern="^po_[0-9A-Za-z]+$")],
    "event_id": Annotated[str, parameter("The event's id.", pattern="^evt_[0-9A-Za-z]+$")],
    "endpoint_id": Annotated[str, parameter("The webhook endpoint's id.", pattern="^we_[0-9A-Za-z]+$")],
    "delivery_id": Annotated[str, parameter("The delivery's id.", pattern="^del_[0-9A-Za-z]+$")],
    "key_id": Annotated[str, parameter("The key's id, not the key.", pattern="^key_[0-9A-Za-z]+$")],
    "entry_id": Annotated[str, parameter("The ledger entry's id.", pattern="^je_[0-9A-Za-z]+$")],
    "payment_id": Annotated[
        str, parameter("An intent's id, or that of a charge without one.", pattern="^(pi|ch)_[0-9A-Za-z]+$")
    ],
    "request_id": Annotated[str, parameter("The Request-Id of a response.", pattern="^[a-z]+_[0-9A-Za-z]+$")],
    "operation_id": Annotated[str, parameter("An operationId, such as `createCharge`.", pattern="^[A-Za-z]+$")],
    "item": Annotated[
        str, parameter("The late entry's id, or that of its charge or intent.", pattern="^(je|ch|pi)_[0-9A-Za-z]+$")
    ],
    "phone": Annotated[Phone, parameter("The customer's number.")],
}
"""Parameters of paths by their names."""
