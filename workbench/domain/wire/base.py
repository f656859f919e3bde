"""What the structs on the wire share: their base, and what a field says beyond its type."""

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Annotated, Any, ClassVar, NamedTuple

import msgspec
from msgspec import UNSET, Meta, Struct

from workbench.domain.gaps import Gaps
from workbench.domain.masking import Secret, mask
from workbench.domain.moments import RFC3339
from workbench.domain.money import OFFERED
from workbench.domain.phones import OFFERED as OPERATORS_OFFERED
from workbench.domain.phones import Operator

Schema = dict[str, Any]
Rule = Callable[[Gaps], Schema]


def meaning(says: str = "", /, **schema: Any) -> Meta:  # noqa: ANN401  JSON is of any type
    """What replaces or joins the schema of a field, and what is said of it."""
    return Meta(extra_json_schema={**schema, **({"description": says} if says else {})})


def by_register(rule: Rule) -> Meta:
    """The same, where it depends on the register."""
    return Meta(extra={"rule": rule})


def required(*names: str, **choices: str) -> Rule:
    """These fields of a struct as a whole, where the register has these choices."""
    return lambda gaps: {"required": [*names]} if all(getattr(gaps, row) == choices[row] for row in choices) else {}


def is_id(prefix: str) -> Meta:
    """An identifier of a kind."""
    return meaning(pattern=f"^{prefix}_[0-9A-Za-z]{{24}}$")


def taken_currency(case: Callable[[str], str]) -> Meta:
    """A currency that is taken: in either case, or in the one that the interface shows."""

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
    """A currency that is answered, in one case."""
    codes = [case(code) for code in OFFERED[gaps.currencies]]
    return {"const": codes[0]} if len(codes) == 1 else {"enum": codes}


def upper_or_lower_currency(gaps: Gaps) -> Schema:
    """A currency that is answered in either case, as a pattern: names in a client's enum have but one."""
    codes = [case(code) for case in (str.upper, str.lower) for code in OFFERED[gaps.currencies]]
    return {"pattern": f"^({'|'.join(codes)})$"}


def _any_case(words: Iterable[str]) -> str:
    """A pattern for words in any case: JSON Schema's patterns have no flag for that."""
    return "|".join("".join(f"[{c.upper()}{c.lower()}]" if c.isalpha() else c for c in word) for word in words)


_COUNTRY: Mapping[str, str] = {"e164": r"\+260", "national": r"(\+260|0)"}
"""What a number begins with, by `phone_format`."""


def _operators(gaps: Gaps) -> Iterable[Operator]:
    return OPERATORS_OFFERED[gaps.zed_mobile].values()


def _phone(gaps: Gaps) -> Schema:
    prefixes = "|".join(prefix for each in _operators(gaps) for prefix in each.prefixes)
    also = " Or in national form, with 0 for +260." if gaps.phone_format == "national" else ""
    return {
        "pattern": f"^{_COUNTRY[gaps.phone_format]}({prefixes})[0-9]{{7}}$",
        "description": f"E.164: +260, a prefix of an operator with wallets, seven digits.{also}",
    }


def _operator_name(gaps: Gaps) -> Schema:
    *first, last = (each.id for each in _operators(gaps))
    names = _any_case(name for each in _operators(gaps) for name in (each.id, each.long_id))
    says = f"{', '.join(first)} or {last}, or its long identifier, in any case."
    return {"pattern": f"^({names})$", "description": f"A mobile network operator: {says}"}


def operator_id(gaps: Gaps) -> Schema:
    """An operator's identifier as it is answered."""
    return {"enum": [each.id if gaps.operator_ids == "short" else each.long_id for each in _operators(gaps)]}


_MOMENT = "A moment with its zone (RFC 3339), to the millisecond."

# What is sent
Phone = Annotated[str, by_register(_phone)]
Moment = Annotated[str, meaning(_MOMENT, pattern=f"^({RFC3339.pattern})$")]
OperatorName = Annotated[str, by_register(_operator_name)]
UpperCurrency = Annotated[str, taken_currency(str.upper)]
LowerCurrency = Annotated[str, taken_currency(str.lower)]

# What comes back
ChargeId = Annotated[str, is_id("ch")]
EndpointId = Annotated[str, is_id("we")]
Seconds = Annotated[int, meaning("Seconds since 1970, UTC.")]
DateTime = Annotated[str, meaning(format="date-time")]
MaskedPhone = Annotated[str, meaning("Masked: it stays the customer's.", pattern=r"^\+260[0-9]{2}•{4}[0-9]{3}$")]
NeverNegative = Annotated[int, meaning(minimum=0)]
Positive = Annotated[int, meaning(minimum=1)]

SECRETS = (
    "client_secret", "access_token", "token", "refresh_token", "secret", "password", "value", "secret_key",
    "publishable_key",
)  # fmt: skip
"""Fields that hold a secret."""
_LINE = 100


class Source(NamedTuple):
    """Where the fields of a struct come from: `shows` are those that a section of the interface shows.

    The others are assumed in a gap of the section `gap`, or the sandbox's own where there is none.
    """

    section: str = ""
    shows: tuple[str, ...] = ()
    gap: str = "4"


class View(Struct):
    """A struct whose repr shows no whole number, and no secret by its form."""

    __source__: ClassVar[Source] = Source()
    __whole__: ClassVar[Schema | Rule] = {}
    """What the description says of the struct as a whole; a field that it requires is never null."""
    __prints_as__: ClassVar[str | None] = None

    def _told(self) -> list[str]:
        """The fields that say something."""
        told = {name: getattr(self, name) for name in self.__struct_fields__}
        return [f"{name}={value!r}" for name, value in told.items() if value not in (None, UNSET, [], {})]

    def __repr__(self) -> str:
        fields, name = self._told(), self.__prints_as__ or type(self).__name__
        line = f"{name}({', '.join(fields)})"
        if len(line) > _LINE:
            inner = ",\n".join(fields).replace("\n", "\n    ")
            line = f"{name}(\n    {inner},\n)"
        return mask(line)


class WithSecrets(View):
    """A view that has one of the fields that hold a secret, whatever its form."""

    def __post_init__(self) -> None:
        for name in _secrets_of(type(self)):
            if isinstance(value := getattr(self, name), str):
                setattr(self, name, Secret(value))


@cache
def _secrets_of(view: type[View]) -> tuple[str, ...]:
    return tuple(name for name in SECRETS if name in view.__struct_fields__)


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
