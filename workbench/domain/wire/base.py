"""What the structs on the wire share: their base, and what a field says beyond its type."""

from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import Annotated, Any, ClassVar, NamedTuple

import msgspec
from msgspec import UNSET, Meta, Struct

from workbench.domain.gaps import Gaps
from workbench.domain.masking import Secret, mask
from workbench.domain.moments import RFC3339
from workbench.domain.money import MAX_MAJOR_DIGITS, ZMW
from workbench.domain.payments import BOUNDS_MINOR, FAILURES, MOBILE_MONEY, UNITS_MINOR, Transitions
from workbench.domain.phones import OPERATORS
from workbench.domain.webhooks import EVENT_TYPES, HOST_NAME

Schema = dict[str, Any]
Rule = Callable[[Gaps], Schema]


def meaning(says: str = "", /, **schema: Any) -> Meta:  # noqa: ANN401  JSON is of any type
    """What replaces or joins the schema of a field, and what is said of it."""
    return Meta(extra_json_schema={**schema, **({"description": says} if says else {})})


def by_register(rule: Rule) -> Meta:
    """The same, where it depends on the register."""
    return Meta(extra={"rule": rule})


def parameter(says: str, **schema: Any) -> Meta:  # noqa: ANN401  JSON is of any type
    """What a parameter of a path or query is for, and what joins its schema."""
    return Meta(description=says, extra_json_schema=schema)


def only(value: object) -> Meta:
    """One value alone."""
    return meaning(const=value)


def one_of(values: Iterable[str]) -> Meta:
    """One of several values."""
    return meaning(enum=list(values))


def states(table: Transitions) -> Meta:
    """A state of a table of transitions."""
    return one_of(dict.fromkeys([*(state for state, _ in table), *table.values()]))


def is_id(prefix: str) -> Meta:
    """An identifier of a kind."""
    return meaning(pattern=f"^{prefix}_[0-9A-Za-z]{{24}}$")


def _any_case(words: Iterable[str]) -> str:
    """A pattern for words in any case: JSON Schema's patterns have no flag for that."""
    return "|".join("".join(f"[{c.upper()}{c.lower()}]" if c.isalpha() else c for c in word) for word in words)


_PREFIXES = "|".join(prefix for each in OPERATORS.values() for prefix in each.prefixes)
PHONE: Schema = {
    "pattern": rf"^\+260({_PREFIXES})[0-9]{{7}}$",
    "description": "E.164: +260, a prefix of an operator with wallets, seven digits.",
}
MOMENT: Schema = {
    "type": "string",
    "pattern": f"^({RFC3339.pattern})$",
    "description": "A moment with its zone (RFC 3339), to the millisecond.",
}
_NAMES = _any_case(name for each in OPERATORS.values() for name in (each.id, each.long_id))
_PORT = "(:([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5]))?"
_HOST = rf"({HOST_NAME.pattern}|127\.0\.0\.[1-9]|\[::1\])"
EVENT_NAMES = ["*", *dict.fromkeys(f"{each.partition('.')[0]}.*" for each in EVENT_TYPES), *EVENT_TYPES]
"""Types of events, and what stands for several."""
TOO_MUCH = 10**MAX_MAJOR_DIGITS
"""In major units."""


def _currency(documented: str) -> Rule:
    def rule(gaps: Gaps) -> Schema:
        if gaps.currency_case == "strict":
            return {"const": documented}
        return {"pattern": f"^{_any_case([ZMW.code])}$", "description": "ISO 4217; ZMW alone, in either case."}

    return rule


_MAJOR: Schema = {
    "exclusiveMinimum": 0,
    "exclusiveMaximum": TOO_MUCH,
    "multipleOf": Decimal("0.01"),
    "description": "Major units with at most two decimals: 150, 150.0 and 150.00 are one amount.",
}


def _bounded_amount(gaps: Gaps) -> Schema:
    least, most = BOUNDS_MINOR[gaps.amount_bounds]
    whole = gaps.charge_amount_unit == "major"
    bounds: Schema = {"minimum": least // 100, "maximum": (most or 0) // 100} if most else {"exclusiveMinimum": 0}
    return {
        **_MAJOR,
        **bounds,
        **({"multipleOf": 1, "description": "Major units, whole ones here."} if whole else {}),
    }


def _whole_amount(gaps: Gaps) -> Schema:
    unit = UNITS_MINOR[gaps.charge_amount_unit]
    least, most = BOUNDS_MINOR[gaps.amount_bounds]
    says = {"minor": "Minor units: 15000 is 150.00 ZMW.", "major": "Major units: 150 is 150.00 ZMW."}
    return {
        "minimum": -(-least // unit),
        "maximum": (most or TOO_MUCH * 100 - 1) // unit,
        "description": says[gaps.charge_amount_unit],
    }


def _method_types(gaps: Gaps) -> Schema:
    if gaps.payment_method_types == "only":
        return {"items": {"const": MOBILE_MONEY}, "minItems": 1}
    return {"contains": {"const": MOBILE_MONEY}, "description": f"Must include `{MOBILE_MONEY}`."}


def _operator_id(gaps: Gaps) -> Schema:
    return {"enum": [each.id if gaps.operator_ids == "short" else each.long_id for each in OPERATORS.values()]}


def operator_that(says: str) -> Meta:
    """The operator of a charge, by the identifier in force, and which one it is."""
    return by_register(lambda gaps: {**_operator_id(gaps), "description": says})


# What is sent
Phone = Annotated[str, meaning(**PHONE)]
OperatorName = Annotated[
    str,
    meaning(
        "A mobile network operator: mtn, airtel or zamtel, or its long identifier, in any case.",
        pattern=f"^({_NAMES})$",
    ),
]
MobileMoneyType = Annotated[str, only(MOBILE_MONEY)]
UpperCurrency = Annotated[str, by_register(_currency(ZMW.code))]
LowerCurrency = Annotated[str, by_register(_currency(ZMW.code.lower()))]
IntentAmount = Annotated[Decimal, by_register(_bounded_amount)]
ChargeAmount = by_register(_whole_amount)
PayoutAmount = Annotated[Decimal, meaning(**_MAJOR)]
MethodTypes = Annotated[list[str], by_register(_method_types)]
EventFilter = Annotated[list[str], meaning(items={"enum": EVENT_NAMES}, minItems=1)]
Url = Annotated[
    str,
    meaning(
        "http or https, to a name or to this machine's loopback. A public address in digits is taken "
        "too, a private one refused; a name is looked up again at each attempt.",
        pattern=rf"^https?://{_HOST}{_PORT}([/?#][!-~]*)?$",
    ),
]

# What comes back
IntentId = Annotated[str, is_id("pi")]
ChargeId = Annotated[str, is_id("ch")]
EventId = Annotated[str, is_id("evt")]
EndpointId = Annotated[str, is_id("we")]
Seconds = Annotated[int, meaning("Seconds since 1970, UTC.")]
DateTime = Annotated[str, meaning(format="date-time")]
Live = Annotated[bool, meaning("A sandbox holds nothing live.", const=False)]
MaskedPhone = Annotated[str, meaning("Masked: it stays the customer's.", pattern=r"^\+260[0-9]{2}•{4}[0-9]{3}$")]
OperatorId = Annotated[str, by_register(_operator_id)]
FailureCode = Annotated[str, one_of(FAILURES)]
MajorAmount = Annotated[Decimal, meaning("Major units, two decimals.")]
Zmw = Annotated[str, only(ZMW.code)]
NeverNegative = Annotated[int, meaning(minimum=0)]
Positive = Annotated[int, meaning(minimum=1)]


Int32 = Annotated[int, Meta(ge=-(2**31), le=2**31 - 1)]
Int64 = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]


_SECRETS = (
    "client_secret", "access_token", "refresh_token", "secret", "password", "value", "secret_key", "publishable_key",
)  # fmt: skip
_LINE = 100


class Source(NamedTuple):
    """Where the fields of a struct come from: `shows` are those that a section of the interface shows.

    The others are assumed in a gap of the section `gap`, or the sandbox's own where there is none.
    """

    section: str = ""
    shows: tuple[str, ...] = ()
    gap: str = "4"
    relies: tuple[str, ...] = ()
    """Rows of the register that settle the members of such a body."""


class View(Struct):
    """A struct whose repr shows no secret and no whole number."""

    __source__: ClassVar[Source] = Source()
    __whole__: ClassVar[Callable[[Gaps], dict[str, Any]] | None] = None
    """What the description says of the struct as a whole, by the register; a field that it requires is never null."""
    __prints_as__: ClassVar[str | None] = None

    def __post_init__(self) -> None:
        for name in _SECRETS:
            if isinstance(value := getattr(self, name, None), str):
                setattr(self, name, Secret(value))

    def _told(self) -> list[str]:
        """The fields that say something."""
        return [
            f"{name}={value!r}"
            for name in self.__struct_fields__
            if (value := getattr(self, name)) not in (None, UNSET, [], {})
        ]

    def __repr__(self) -> str:
        fields, name = self._told(), self.__prints_as__ or type(self).__name__
        line = f"{name}({', '.join(fields)})"
        if len(line) > _LINE:
            inner = ",\n".join(fields).replace("\n", "\n    ")
            line = f"{name}(\n    {inner},\n)"
        return mask(line)


def without_once(shown: object) -> object:
    """A body without the key or secret that it shows this once."""
    once = {name: UNSET for name in ("secret", "value") if hasattr(shown, name)}
    return msgspec.structs.replace(shown, **once) if once and isinstance(shown, Struct) else shown


def plain(value: object) -> str:
    """A secret as the text that travels; msgspec encodes no subclass of a string by itself."""
    if isinstance(value, Secret):
        return str(value)
    raise NotImplementedError(type(value).__name__)


_ENCODER = msgspec.json.Encoder(decimal_format="number", enc_hook=plain)


def to_json(value: object) -> bytes:
    """JSON bytes; decimals as numbers with all their digits, secrets whole."""
    return _ENCODER.encode(value)
