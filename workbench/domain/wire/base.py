"""The base classes of bodies and queries, their conversion to JSON, the types of their fields, and pages of lists."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final, Generic, NamedTuple, TypeAlias, TypeVar, cast

import msgspec
from msgspec import UNSET, Meta, Struct, defstruct

from workbench.domain.gaps import Gaps
from workbench.domain.masking import Secret, mask
from workbench.domain.moments import RFC3339
from workbench.domain.money import OFFERED
from workbench.domain.phones import OFFERED as OPERATORS_OFFERED
from workbench.domain.phones import Operator

Schema = dict[str, Any]
Rule = Callable[[Gaps], Schema]


def meaning(says: str = "", /, **schema: object) -> Meta:
    """The description `says` of a field, if not empty, and schema keywords that override or extend its type's."""
    return Meta(extra_json_schema={**schema, **({"description": says} if says else {})})


def by_register(rule: Rule) -> Meta:
    """The schema of a field that depends on the register; `rule` makes it from the register's values."""
    return Meta(extra={"rule": rule})


def required(*names: str, **choices: str) -> Rule:
    """A rule that requires the fields `names` if the register has all values in `choices` (row → value)."""
    return lambda gaps: {"required": [*names]} if all(getattr(gaps, row) == choices[row] for row in choices) else {}


def parameter(says: str, **schema: object) -> Meta:
    """The description `says` of a parameter, and schema keywords that extend those of its type."""
    return Meta(description=says, extra_json_schema=schema)


SECRETS = (
    "client_secret", "access_token", "token", "refresh_token", "secret", "password", "value", "secret_key",
    "publishable_key",
)  # fmt: skip
"""Fields that contain a secret."""
if TYPE_CHECKING:
    ShownSecret: TypeAlias = str
    """A secret in a response: text where the service writes it, a `Secret` where a client has read it."""
else:
    ShownSecret = Secret
_LINE = 100


class FieldSource(NamedTuple):
    """The source of a struct's fields: a section of the interface documents the fields in `shows`.

    All other fields are assumed, as an open question of the section `gap`; if `gap` is empty, only a sandbox has them.
    """

    section: str = ""
    shows: tuple[str, ...] = ()
    gap: str = "4"


class View(Struct):
    """A struct whose repr masks phone numbers, secrets, and everything that looks like a secret."""

    __source__: ClassVar[FieldSource] = FieldSource()
    __whole__: ClassVar[Schema | Rule] = {}
    """The schema of the struct as a whole; a field that it requires is never null."""
    __prints_as__: ClassVar[str | None] = None

    def _shown_fields(self) -> list[str]:
        """`name=value` for each field that is not empty."""
        values = {name: getattr(self, name) for name in self.__struct_fields__}
        values |= {name: Secret(values[name]) for name in SECRETS if isinstance(values.get(name), str)}
        return [f"{name}={value!r}" for name, value in values.items() if value not in (None, UNSET, [], {})]

    def __repr__(self) -> str:
        fields, name = self._shown_fields(), self.__prints_as__ or type(self).__name__
        line = f"{name}({', '.join(fields)})"
        if len(line) > _LINE:
            inner = ",\n".join(fields).replace("\n", "\n    ")
            line = f"{name}(\n    {inner},\n)"
        return mask(line)


class OfSandbox(View):
    """The base of bodies that only a sandbox has."""

    __source__ = FieldSource(gap="")


def without_once(shown: object) -> object:
    """The body without the key or secret that a response shows only once."""
    once = {name: UNSET for name in ("secret", "value") if hasattr(shown, name)}
    return msgspec.structs.replace(shown, **once) if once and isinstance(shown, Struct) else shown


def secret_text(value: object) -> str:
    """A secret as plain text for JSON, since msgspec does not encode subclasses of str."""
    if isinstance(value, Secret):
        return str(value)
    raise NotImplementedError(type(value).__name__)


to_json = msgspec.json.Encoder(decimal_format="number", enc_hook=secret_text).encode
"""Encodes a value as JSON bytes; decimals as numbers with all their digits, secrets unmasked."""

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
    """The schema of an identifier with this prefix."""
    return meaning(pattern=f"^{prefix}_[0-9A-Za-z]{{24}}$")


ChargeId = Annotated[str, is_id("ch")]


def requested_currency(case: Callable[[str], str]) -> Meta:
    """The schema of a currency in a request: in upper, lower or mixed case.

    If the register is strict, only the case to which `case` (`str.upper` or `str.lower`) converts it is valid.
    """

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
    """The schema of a currency in the case to which `case` (`str.upper` or `str.lower`) converts it."""
    codes = [case(code) for code in OFFERED[gaps.currencies]]
    return {"const": codes[0]} if len(codes) == 1 else {"enum": codes}


def upper_or_lower_currency(gaps: Gaps) -> Schema:
    """The schema of a currency in a response, in either case.

    The schema is a pattern, since an enum would name every currency twice.
    """
    codes = [case(code) for case in (str.upper, str.lower) for code in OFFERED[gaps.currencies]]
    return {"pattern": f"^({'|'.join(codes)})$"}


def _any_case(words: Iterable[str]) -> str:
    """A pattern for words in any case; patterns of JSON Schema have no flag for that."""
    return "|".join("".join(f"[{c.upper()}{c.lower()}]" if c.isalpha() else c for c in word) for word in words)


UpperCurrency = Annotated[str, requested_currency(str.upper)]
LowerCurrency = Annotated[str, requested_currency(str.lower)]
ShownUpperCurrency = Annotated[str, by_register(lambda gaps: shown_currency(gaps, str.upper))]
ShownLowerCurrency = Annotated[str, by_register(lambda gaps: shown_currency(gaps, str.lower))]
AnyCurrency = Annotated[str, by_register(upper_or_lower_currency)]
_COUNTRY: Mapping[str, str] = {"e164": r"\+260", "national": r"(\+260|0)"}
"""Value of `phone_format` → a pattern for the beginning of a number."""


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
    """The schema of an operator's identifier in a response."""
    return {
        "enum": [operator.id if gaps.operator_ids == "short" else operator.long_id for operator in _operators(gaps)]
    }


Phone = Annotated[str, by_register(_phone)]
MaskedPhone = Annotated[str, meaning("The customer's number, masked.", pattern=r"^\+260[0-9]{2}•{4}[0-9]{3}$")]
OperatorName = Annotated[str, by_register(_operator_name)]
OperatorId = Annotated[str, by_register(_operator_id)]
_MOMENT = "A moment with its zone (RFC 3339), to the millisecond."
Moment = Annotated[str, meaning(_MOMENT, pattern=f"^({RFC3339.pattern})$")]


class CreatedObject(View, kw_only=True):
    """The base of created objects; these two fields come last in JSON."""

    created: Seconds = 0
    livemode: Live = False


def comma_separated(says: str, **items: object) -> Meta:
    """The description of a filter that takes several values, separated by commas; `items` has the schema of a value."""
    return parameter(f"{says}, separated by commas.", type="array", items={"type": "string", **items}, minItems=1)


MAX_AT_MS: Final = 4_102_444_799_999
"""The last millisecond of 2099, the latest moment in a request."""
PATHS: Final[Mapping[str, Any]] = {
    "intent_id": parameter("The intent's id.", pattern="^pi_[0-9A-Za-z]+$"),
    "charge_id": parameter("The charge's id.", pattern="^ch_[0-9A-Za-z]+$"),
    "refund_id": parameter("The refund's id.", pattern="^re_[0-9A-Za-z]+$"),
    "payout_id": parameter("The payout's id.", pattern="^po_[0-9A-Za-z]+$"),
    "event_id": parameter("The event's id.", pattern="^evt_[0-9A-Za-z]+$"),
    "endpoint_id": parameter("The webhook endpoint's id.", pattern="^we_[0-9A-Za-z]+$"),
    "delivery_id": parameter("The delivery's id.", pattern="^del_[0-9A-Za-z]+$"),
    "key_id": parameter("The key's id, not the key.", pattern="^key_[0-9A-Za-z]+$"),
    "entry_id": parameter("The ledger entry's id.", pattern="^je_[0-9A-Za-z]+$"),
    "payment_id": parameter("The id of an intent, or of a charge without an intent.", pattern="^(pi|ch)_[0-9A-Za-z]+$"),
    "request_id": parameter("The Request-Id of a response.", pattern="^[a-z]+_[0-9A-Za-z]+$"),
    "operation_id": parameter("An operationId, such as `createCharge`.", pattern="^[A-Za-z]+$"),
    "item": parameter("The id of the late entry, or of its charge or intent.", pattern="^(je|ch|pi)_[0-9A-Za-z]+$"),
    "phone": Annotated[Phone, parameter("The customer's number.")],
}
"""Name of a path parameter → its description and schema."""


T = TypeVar("T")


class Listing(Generic[T]):
    """A page of a list, with iteration, indexing and `len`."""

    __slots__ = ()
    data: list[T]

    def __len__(self) -> int:
        return len(self.data)

    def __iter__(self) -> Iterator[T]:
        return iter(self.data)

    def __getitem__(self, place: int) -> T:
        return self.data[place]


class List(View, Listing[T], Generic[T]):
    """A page of a list, newest first, to loop over; `has_more` is true if more rows follow."""

    url: str
    has_more: bool
    data: list[T]
    object: str = "list"

    def _shown_fields(self) -> list[str]:
        return [f"count={len(self)}", *super()._shown_fields(), *(["data=[]"] if not self.data else [])]


class NumberedList(View, Listing[T], Generic[T]):
    """A page of a list by its number, newest first; `total` counts the rows of all pages."""

    url: str
    data: list[T]
    page: Positive
    per_page: Positive
    total: NeverNegative
    object: str = "list"


class Rows(View, Generic[T]):
    """All rows at once, in order."""

    data: list[T]
    object: str = "list"


class Page(View, Generic[T]):
    """Rows of the ledger, in order: entries, postings or movements; `has_more` is true if further entries follow."""

    data: list[T]
    has_more: bool = False
    object: str = "list"


class Found(View, Generic[T]):
    """A page of search results, newest first, from row `first` (counted from 1) of `total`."""

    data: list[T]
    first: NeverNegative = 1
    total: NeverNegative = 0
    object: str = "list"


class ListQuery(View):
    """Asks for `limit` rows, newest first: older than `starting_after`, newer than `ending_before`, or both."""

    limit: Annotated[int, Meta(ge=1, le=100, description="How many rows at most.")] = 10
    starting_after: Annotated[str, parameter("The id of a row: only older rows.")] | None = None
    ending_before: (
        Annotated[str, parameter("The id of a row: only newer rows; with `starting_after`, the rows between.")] | None
    ) = None


class NumberedQuery(View):
    """Asks for a page by its number, newest first; new rows shift the pages."""

    page: Annotated[int, Meta(ge=1, le=2**31 - 1, description="The page's number, from 1.")] = 1
    per_page: Annotated[int, Meta(ge=1, le=100, description="How many rows at most.")] = 10


@cache
def numbered_query(query: type[ListQuery]) -> type[NumberedQuery]:
    """The query of the same list, with the same filters, for pages by number."""
    filters = [column for column in msgspec.structs.fields(query) if column.name not in ListQuery.__struct_fields__]
    more = {"__doc__": query.__doc__, "__module__": __name__}
    columns = [(column.name, column.type, column.default) for column in filters]
    numbered = defstruct(f"Numbered{query.__name__}", columns, bases=(NumberedQuery,), namespace=more)
    return cast("type[NumberedQuery]", numbered)


class FindQuery(View):
    """Asks for a page of search results, newest first."""

    limit: Annotated[int, Meta(ge=1, le=1000, description="How many rows at most.")] = 25
    older_than: Annotated[Seq, parameter("The `seq` of a row: only older rows.")] | None = None
    search: (
        Annotated[str, Meta(min_length=1, max_length=100, description="Only rows that contain this text.")] | None
    ) = None
    since: Annotated[Moment, parameter("Only rows of this moment or later.")] | None = None
    until: Annotated[Moment, parameter("Only rows before this moment.")] | None = None
