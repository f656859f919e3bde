"""Converts JSON bodies and query strings into structs, and names every fault by its field."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from decimal import Decimal, InvalidOperation
from functools import cache
from typing import Any, NamedTuple, NoReturn, TypeVar, get_args

import msgspec
from msgspec import Struct

from workbench.domain.masking import SECRET_FIELDS
from workbench.errors import FieldProblem, InvalidRequest

NoneType = type(None)
MAX_DEPTH = 32
MAX_NUMBER_LENGTH = 400
_NEVER_SHOWN = (*SECRET_FIELDS, "text")
"""Fields whose values are never repeated in messages; `text` is a PIN that a customer types."""
_KINDS = (
    (NoneType, "null"), (bool, "a boolean"), (str, "a string"), (int | Decimal, "a number"), (list, "an array"),
    (dict, "an object"),
)  # fmt: skip
_WANTED: Mapping[object, str] = {
    str: "a string", int: "a whole number", Decimal: "a number", bool: "a boolean", NoneType: "null",
    list: "an array of strings", dict: "an object of strings",
}  # fmt: skip
_WORD_BITS = (32, 64)
_LONGEST_NAME = 80
_MISSING = "is required"
_TWICE = "stands more than once"
_SCALARS = (str, int, Decimal, bool, NoneType)
_WHOLE = re.compile("[0-9]{1,19}")
_NO_NUMBER = object()
"""Stands for a number that cannot be represented, until `_check_values` finds it and names its field."""

S = TypeVar("S", bound=Struct)


def json_from(body: bytes) -> object:
    """The JSON value in `body`; numbers with a point or exponent become Decimals.

    Raises InvalidRequest: not UTF-8, not JSON, a duplicate key, NaN or Infinity, a number of more
    than 400 digits, nesting deeper than 32, or half of a surrogate pair.
    """
    try:
        text = body.decode()
    except UnicodeDecodeError as error:
        raise InvalidRequest(
            f"The body is not UTF-8: byte {error.start} is 0x{body[error.start]:02x}.", code="body_not_utf8"
        ) from None
    try:
        value = _DECODER.decode(text)
    except json.JSONDecodeError as error:
        raise InvalidRequest(
            f"The body is not JSON: {error.msg.lower()} at line {error.lineno}, column {error.colno}.",
            code="body_not_json",
        ) from None
    except RecursionError:
        _too_deep()
    _check_values(value, texts="\\u" in text)
    return value


_Place = tuple[Any, str | int, object]
"""(place of the enclosing value, name or index in it, value); used to build the JSON pointer in an error."""


def _check_values(value: object, *, texts: bool) -> None:
    """Raises InvalidRequest: nested too deeply, or contains, at any depth, a number or text that cannot be represented.

    Visits the whole value once, ignored fields too, without recursion; checks texts and names only if `texts`.
    """
    level: list[_Place] = [(None, "", value)]
    depth, passed = 0, () if texts else _SCALARS
    while level:
        below: list[_Place] = []
        for place in level:
            value = place[2]
            if type(value) is dict:
                members: Iterable[tuple[str | int, object]] = value.items()
                for name in value if texts else ():
                    _check_scalar(name, place)
            elif type(value) is list:
                members = enumerate(value)
            else:
                _check_scalar(value, place)
                continue
            if depth == MAX_DEPTH:
                _too_deep()
            for name, child in members:
                if type(child) not in passed:
                    below.append((place, name, child))
        level, depth = below, depth + 1


def _pointer(place: _Place) -> str:
    parent, name, _ = place
    return f"{_pointer(parent)}/{_escape(str(name))}" if parent else ""


def _check_scalar(value: object, place: _Place) -> None:
    """Raises InvalidRequest: a number that cannot be represented, or half of a surrogate pair in a text or a name."""
    if value is _NO_NUMBER:
        says = f"is not a number: NaN, Infinity and more than {MAX_NUMBER_LENGTH} digits are refused"
        raise _refusal(_pointer(place), says, "is not a number", code="number_invalid")
    try:
        str(value).encode()
    except UnicodeEncodeError:
        raise _refusal(_pointer(place), "contains half of a surrogate pair", code="body_not_utf8") from None


def _refusal(pointer: str, says: str, *details: str, code: str) -> InvalidRequest:
    """The error for a value at a pointer, or for the whole body; every detail becomes a problem at that pointer."""
    param = pointer.removeprefix("/").replace("/", ".")
    problems = tuple(FieldProblem(pointer, detail) for detail in details)
    return InvalidRequest(f"{param or 'The body'} {says}.", code=code, param=param or None, problems=problems)


def _too_deep() -> NoReturn:
    raise InvalidRequest(f"The body is nested deeper than {MAX_DEPTH} levels.", code="body_too_deep")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1).encode("ascii", "backslashreplace").decode()[:80]
        raise InvalidRequest(f"{twice} occurs twice.", code="duplicate_key", param=twice)
    return members


def _decimal_number(text: str) -> object:
    try:
        return Decimal(text) if len(text) <= MAX_NUMBER_LENGTH else _NO_NUMBER
    except InvalidOperation:
        return _NO_NUMBER


_DECODER = json.JSONDecoder(
    object_pairs_hook=_object,
    parse_float=_decimal_number,
    parse_int=lambda text: int(text) if len(text) <= MAX_NUMBER_LENGTH else _NO_NUMBER,
    parse_constant=lambda _: _NO_NUMBER,
)


class _Field(NamedTuple):
    """A field of a struct, with its analysed type."""

    kind: Any
    takes: Mapping[object, str]
    """Accepted plain type → its name in a sentence; empty for a struct."""
    shape: type[Struct] | None
    """The struct of the field, or of the elements of its array; None for other fields."""
    is_required: bool


@cache
def _fields(shape: type[Struct]) -> Mapping[str, _Field]:
    return {
        field.encode_name: _Field(field.type, _taken_types(field.type), _struct_in(field.type), field.required)
        for field in msgspec.structs.fields(shape)
    }


def _taken_types(kind: object) -> dict[object, str]:
    base, metas = kind, getattr(kind, "__metadata__", ())
    # The plain type has neither members nor annotations.
    while (origin := getattr(base, "__origin__", None)) is not None:
        base = origin
    if base is int and (bounds := next((meta for meta in metas if meta.ge is not None), None)):
        bits = bounds.le.bit_length() + 1
        is_word = bits in _WORD_BITS and bounds.ge < 0
        return {int: f"a whole number {f'that fits {bits} bits' if is_word else f'from {bounds.ge} to {bounds.le}'}"}
    if base is list and _struct_in(kind):
        return {list: "an array of objects"}
    if base in _WANTED:
        return {base: _WANTED[base]}
    return {plain: name for member in get_args(kind) for plain, name in _taken_types(member).items()}


def _struct_in(kind: object) -> type[Struct] | None:
    if isinstance(kind, type) and issubclass(kind, Struct):
        return kind
    return next(filter(None, map(_struct_in, get_args(kind))), None)


def body_from(body: bytes, shape: type[S], *, unknown: str = "ignored", ignored: list[str] | None = None) -> S:
    """Converts the JSON object in `body` to the struct `shape`; `unknown` and `ignored` are as for `struct_from`.

    Raises InvalidRequest as `json_from` and `struct_from` do.
    """
    return struct_from(json_from(body), shape, unknown=unknown, ignored=ignored)


def struct_from(value: object, shape: type[S], *, unknown: str = "ignored", ignored: list[str] | None = None) -> S:
    """Converts the JSON object `value` to the struct `shape`; adds names of unknown fields to `ignored`, if given.

    If `unknown` is `refused` instead of `ignored`, unknown fields are faults. Raises InvalidRequest with every fault in
    `problems`, and the field of the first fault in `param`.
    """
    reader = _Reader(unknown, [] if ignored is None else ignored)
    struct = reader.struct(value, shape, "")
    if struct is None:
        pointer, detail = reader.problems[0]
        error = _refusal(pointer, detail, code="parameter_missing" if detail == _MISSING else "parameter_invalid")
        error.problems = tuple(reader.problems)
        raise error
    return struct


class _Reader:
    """Converts values to structs, and collects their faults in `problems`."""

    def __init__(self, unknown: str, ignored: list[str]) -> None:
        self.unknown = unknown
        self.ignored = ignored
        self.problems: list[FieldProblem] = []

    def struct(self, value: object, shape: type[S], pointer: str) -> S | None:
        """Converts `value` to a `shape`; None if it has a fault. `pointer` is the value's place in the body."""
        if not isinstance(value, dict):
            self.problems.append(FieldProblem(pointer, f"must be an object, not {_kind(value)}"))
            return None
        before, fields = len(self.problems), _fields(shape)
        struct = _converted(value, shape)
        read: dict[str, Any] = {}
        for name, field in fields.items() if struct is None else ():
            if name in value:
                read[name] = self._field(value[name], field, f"{pointer}/{name}")
            elif field.is_required:
                self.problems.append(FieldProblem(f"{pointer}/{name}", _MISSING))
        if surplus := [name for name in value if name not in fields]:
            self.ignored += surplus
            if self.unknown == "refused":
                self.problems += [FieldProblem(f"{pointer}/{_escape(name)}", "is not known") for name in surplus]
        if len(self.problems) > before:
            return None
        return shape(**read) if struct is None else struct

    def _field(self, value: object, field: _Field, pointer: str) -> object:
        if field.shape:
            if not field.takes:
                return self.struct(value, field.shape, pointer)
            if isinstance(value, list):
                return self._elements(value, field, field.shape, pointer)
        try:
            return msgspec.convert(_as_taken(value, field.takes), field.kind, builtin_types=(Decimal,))
        except msgspec.ValidationError:
            self.problems += _faults(value, field.takes, pointer)
            return None

    def _elements(self, values: list[Any], field: _Field, shape: type[Struct], pointer: str) -> object:
        names = _fields(shape).keys()
        # msgspec converts them all in one step, which is much faster, but drops unknown fields without a word.
        if not any(isinstance(value, dict) and value.keys() - names for value in values):
            with suppress(msgspec.ValidationError):
                return msgspec.convert(values, field.kind, builtin_types=(Decimal,))
        return [self.struct(value, shape, f"{pointer}/{place}") for place, value in enumerate(values)]


def _converted(value: dict[str, Any], shape: type[S]) -> S | None:
    """The struct, converted in one step; None if the shape has a struct as a field, or the value has a fault."""
    numbers = _number_fields(shape)
    if numbers is None:
        return None
    members = value | {name: _as_taken(value[name], takes) for name, takes in numbers.items() if name in value}
    try:
        return msgspec.convert(members, shape, builtin_types=(Decimal,))
    except msgspec.ValidationError:
        return None


@cache
def _number_fields(shape: type[Struct]) -> Mapping[str, Mapping[object, str]] | None:
    """Name of each field that may be a number → the plain types that it accepts, each with its name in a sentence.

    None if any field holds a struct, or an array of structs. Such a field is read by itself, since msgspec would drop
    the unknown fields within it.
    """
    fields = _fields(shape)
    if any(field.shape for field in fields.values()):
        return None
    return {name: field.takes for name, field in fields.items() if field.takes.keys() & {int, Decimal}}


def _as_taken(value: object, takes: Mapping[object, str]) -> object:
    """The value as a type of number that the field takes: 150 as a Decimal, 15000.0 as an int.

    Any other value is returned as it is.
    """
    if type(value) is int and Decimal in takes:
        return Decimal(value)
    if type(value) is Decimal and int in takes and value.adjusted() < MAX_NUMBER_LENGTH:
        return int(value) if value == value.to_integral_value() else value
    return value


def _faults(value: object, takes: Mapping[object, str], pointer: str) -> list[FieldProblem]:
    """Problems of a value that does not fit its field; `takes` has the field's types, `pointer` is its JSON pointer.

    In an object or array of strings, one problem for each member that is no string; for any other value, one problem.
    """
    members: Iterable[tuple[str | int, object]] = ()
    if isinstance(value, dict) and dict in takes:
        members = ((_escape(name[:_LONGEST_NAME]), member) for name, member in value.items())
    elif isinstance(value, list) and list in takes:
        members = enumerate(value)
    faults = [
        FieldProblem(f"{pointer}/{name}", f"must be {_WANTED[str]}, not {_kind(member)}")
        for name, member in members
        if not isinstance(member, str)
    ]
    if faults:
        return faults
    if type(value) is int and int in takes:
        return [FieldProblem(pointer, f"must be {takes[int]}, not {value!s:.40}")]
    hidden = pointer.rpartition("/")[2] in _NEVER_SHOWN
    return [FieldProblem(pointer, f"must be {' or '.join(takes.values())}, not {_kind(value, hidden=hidden)}")]


def _kind(value: object, *, hidden: bool = False) -> str:
    is_number = type(value) in (int, Decimal)
    shown = f" ({value!s:.40})" if is_number and not hidden else ""
    return next(name for kind, name in _KINDS if isinstance(value, kind)) + shown


def _escape(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")


def query_from(
    parameters: Mapping[str, str | Sequence[str]],
    shape: type[S],
    *,
    unknown: str = "ignored",
    ignored: list[str] | None = None,
) -> S:
    """Converts the parameters of a query to the struct `shape`; a repeated parameter has a sequence as its value.

    `unknown` and `ignored` are those of `struct_from`. Raises InvalidRequest: a parameter of the shape is repeated,
    missing or of the wrong type, or a parameter is unknown and `unknown` is `refused`.
    """
    fields = _fields(shape)
    read: dict[str, object] = dict(parameters)
    for name, value in parameters.items():
        if name in fields and not isinstance(value, str):
            raise _refusal(f"/{name}", _TWICE, _TWICE, code="parameter_repeated")
        if name in fields and int in fields[name].takes and _WHOLE.fullmatch(str(value)):
            read[name] = int(str(value))
    return struct_from(read, shape, unknown=unknown, ignored=ignored)


def as_text(value: object) -> str:
    """The text of a notebook parameter that papermill converted to a number; a float as its shortest decimal.

    Twelve digits that begin with 260 become a phone number again, with a plus: no amount is that large.
    """
    text = str(value)
    return (
        f"+{text}" if isinstance(value, int) and len(text) == len("260961234567") and text.startswith("260") else text
    )
