"""What arrives, read as a struct: JSON bodies and query strings, with every fault named by its field."""

import json
import re
from collections.abc import Mapping, Sequence
from decimal import Decimal, InvalidOperation
from functools import cache
from typing import Any, NoReturn, TypeVar, get_args

import msgspec
from msgspec import NODEFAULT, Struct, UnsetType

from workbench.domain.masking import SECRET_FIELDS
from workbench.errors import FieldProblem, InvalidRequest

MAX_DEPTH = 32
MAX_NUMBER_LENGTH = 400
_NEVER_SHOWN = (*SECRET_FIELDS, "text")
"""Fields whose value no message repeats; `text` is what a customer types, a PIN."""
_KINDS = ((bool, "a boolean"), (str, "a string"), (int | Decimal, "a number"), (list, "an array"), (dict, "an object"))
_WANTED = {str: "a string", int: "a whole number", Decimal: "a number", bool: "a boolean"}
_WORD_BITS = (32, 64)
_LONGEST_NAME = 80
_MISSING = "is required"
_NESTED = (dict, list)
_WHOLE = re.compile("[0-9]{1,19}")
_NO_NUMBER = Decimal("NaN")
"""Stands for what cannot be held, until the walk finds it and names its field."""

S = TypeVar("S", bound=Struct)
_fields = cache(msgspec.structs.fields)
"""Their types are worked out once."""


def json_from(body: bytes) -> Any:  # noqa: ANN401  JSON is of any type
    """The JSON value in `body`; numbers with a point or exponent as Decimal.

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
    if "\\u" in text or not _is_usual(value):
        _check(value)
    return value


def struct_from(value: object, shape: type[S], *, unknown: str = "ignored") -> S:
    """`value` as a `shape`.

    Raises InvalidRequest with every fault at once in `problems`, the first one's field in `param`.
    """
    problems: list[FieldProblem] = []
    made = _read_struct(value, shape, "", problems, unknown=unknown)
    if made is None:
        param, detail = _dotted(problems[0].pointer), problems[0].detail
        raise InvalidRequest(
            f"{param or 'The body'} {detail}.",
            code="parameter_missing" if detail == _MISSING else "parameter_invalid",
            param=param or None,
            problems=tuple(problems),
        )
    return made


def _read_struct(
    value: object, shape: type[S], pointer: str, problems: list[FieldProblem], *, unknown: str
) -> S | None:
    if not isinstance(value, dict):
        problems.append(FieldProblem(pointer, f"must be an object, not {_kind(value)}"))
        return None
    before = len(problems)
    read: dict[str, Any] = {}
    shown = _fields(shape)
    for each in shown:
        here = f"{pointer}/{each.encode_name}"
        if each.encode_name in value:
            read[each.name] = _read_field(value[each.encode_name], each.type, here, problems, unknown=unknown)
        elif each.default is NODEFAULT and each.default_factory is NODEFAULT:
            problems.append(FieldProblem(here, _MISSING))
    if unknown == "refused":
        known = {each.encode_name for each in shown}
        problems += [FieldProblem(f"{pointer}/{_escape(name)}", "is not known") for name in value if name not in known]
    return shape(**read) if len(problems) == before else None


def _read_field(
    value: object,
    wanted: Any,  # noqa: ANN401  a type
    pointer: str,
    problems: list[FieldProblem],
    *,
    unknown: str,
) -> Any:  # noqa: ANN401  a value of it
    if isinstance(wanted, type) and issubclass(wanted, Struct):
        return _read_struct(value, wanted, pointer, problems, unknown=unknown)
    try:
        return msgspec.convert(_as_wanted(value, wanted), wanted, builtin_types=(Decimal,))
    except msgspec.ValidationError:
        if members := _members_that_are_no_text(value, wanted):
            problems += [FieldProblem(f"{pointer}/{name}", f"must be a string, not {kind}") for name, kind in members]
            return None
        out_of_range = _base(wanted) is int and type(value) is int
        hidden = pointer.rpartition("/")[2] in _NEVER_SHOWN
        given = f"{value!s:.40}" if out_of_range else _kind(value, hidden=hidden)
        problems.append(FieldProblem(pointer, f"must be {_wanted_name(wanted)}, not {given}"))
        return None


def _members_that_are_no_text(value: object, wanted: Any) -> list[tuple[str, str]]:  # noqa: ANN401  a type
    """Names and kinds of what is no string in an object or array of strings."""
    if _base(wanted) is dict and isinstance(value, dict):
        named = [(_escape(name[:_LONGEST_NAME]), each) for name, each in value.items()]
    elif _base(wanted) is list and isinstance(value, list):
        named = [(str(place), each) for place, each in enumerate(value)]
    else:
        return []
    return [(name, _kind(each)) for name, each in named if not isinstance(each, str)]


def _as_wanted(value: object, wanted: Any) -> object:  # noqa: ANN401  a type
    """JSON has one kind of number: 150 is a decimal, and 15000.0 a whole number."""
    if type(value) is int and Decimal in map(_base, (wanted, *get_args(wanted))):
        return Decimal(value)
    # First what is quick to tell: most fields are texts.
    if (
        isinstance(value, Decimal)
        and value.adjusted() < MAX_NUMBER_LENGTH
        and int in map(_base, (wanted, *get_args(wanted)))
    ):
        return int(value) if value == value.to_integral_value() else value
    return value


def _base(wanted: Any) -> Any:  # noqa: ANN401  a type
    """The plain type: without its members, and without what is said of it."""
    while (origin := getattr(wanted, "__origin__", None)) is not None:
        wanted = origin
    return wanted


def _wanted_name(wanted: Any) -> str:  # noqa: ANN401  a type
    base, metas = _base(wanted), getattr(wanted, "__metadata__", ())
    if base is int and (bounds := next((each for each in metas if each.ge is not None), None)):
        bits = bounds.le.bit_length() + 1
        is_word = bits in _WORD_BITS and bounds.ge < 0
        return f"a whole number that fits {bits} bits" if is_word else f"a whole number from {bounds.ge} to {bounds.le}"
    if base is list:
        return (
            "an array of strings"
            if list[str] in (wanted, getattr(wanted, "__origin__", None))
            else "an array of objects"
        )
    if base is dict:
        return "an object of strings"
    if base in _WANTED:
        return _WANTED[base]
    options = [each for each in get_args(wanted) if each is not UnsetType]
    return " or ".join("null" if each is type(None) else _wanted_name(each) for each in options)


def _kind(value: object, *, hidden: bool = False) -> str:
    if value is None:
        return "null"
    is_number = isinstance(value, int | Decimal) and not isinstance(value, bool)
    shown = f" ({value!s:.40})" if is_number and not hidden else ""
    return next(name for kind, name in _KINDS if isinstance(value, kind)) + shown


def _dotted(pointer: str) -> str:
    return pointer.removeprefix("/").replace("/", ".")


def _escape(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")


def _check(value: object) -> None:
    """Walk the whole value once, fields that will be ignored too, without recursion."""
    level: list[tuple[str, object]] = [("", value)]
    for _ in range(MAX_DEPTH + 1):
        below: list[tuple[str, object]] = []
        for pointer, each in level:
            if isinstance(each, dict):
                for name in each:
                    _check_text(name, pointer)
                below += [(f"{pointer}/{_escape(name)}", child) for name, child in each.items()]
            elif isinstance(each, list):
                below += [(f"{pointer}/{index}", child) for index, child in enumerate(each)]
            elif isinstance(each, str):
                _check_text(each, pointer)
            elif each is _NO_NUMBER:
                _refuse_number(pointer)
        if not any(isinstance(each, dict | list) for _, each in level):
            return
        level = below
    _too_deep()


def _is_usual(value: object) -> bool:
    """Whether nothing is nested too deep and no number cannot be held: what need not be walked field by field."""
    level: list[Any] = [[value]]
    for _ in range(MAX_DEPTH + 1):
        level = [
            child
            for each in level
            for child in (each.values() if type(each) is dict else each)
            if type(child) in _NESTED or child is _NO_NUMBER
        ]
        if not level:
            return True
        if any(each is _NO_NUMBER for each in level):
            return False
    return False


def _refuse_number(pointer: str) -> NoReturn:
    param = _dotted(pointer)
    raise InvalidRequest(
        f"{param or 'The body'} is not a number: NaN, Infinity and more than {MAX_NUMBER_LENGTH} digits are refused.",
        code="number_invalid",
        param=param or None,
        problems=(FieldProblem(pointer, "is not a number"),),
    )


def _check_text(text: str, pointer: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        param = _dotted(pointer)
        raise InvalidRequest(
            f"{param or 'The body'} holds half of a surrogate pair.", code="body_not_utf8", param=param or None
        ) from None


def _too_deep() -> NoReturn:
    raise InvalidRequest(f"The body is nested deeper than {MAX_DEPTH} levels.", code="body_too_deep")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1).encode("ascii", "backslashreplace").decode()[:80]
        raise InvalidRequest(f"{twice} stands twice.", code="duplicate_key", param=twice)
    return made


def _integer(text: str) -> int | Decimal:
    return int(text) if len(text) <= MAX_NUMBER_LENGTH else _NO_NUMBER


def _decimal(text: str) -> Decimal:
    try:
        return Decimal(text) if len(text) <= MAX_NUMBER_LENGTH else _NO_NUMBER
    except InvalidOperation:
        return _NO_NUMBER


_DECODER = json.JSONDecoder(
    object_pairs_hook=_object, parse_float=_decimal, parse_int=_integer, parse_constant=lambda _: _NO_NUMBER
)


def query_from(parameters: Mapping[str, str | Sequence[str]], shape: type[S], *, unknown: str = "ignored") -> S:
    """The parameters of a query as a `shape`; one that stands several times comes as a sequence.

    Raises InvalidRequest: a parameter twice, or one that is not what it must be.
    """
    known = {each.encode_name: each.type for each in _fields(shape)}
    read: dict[str, object] = dict(parameters)
    for name, value in parameters.items():
        if name in known and not isinstance(value, str):
            problem = FieldProblem(f"/{name}", "stands more than once")
            message = f"{name} stands more than once."
            raise InvalidRequest(message, code="parameter_repeated", param=name, problems=(problem,))
        if isinstance(value, str) and _WHOLE.fullmatch(value) and _is_whole(known.get(name)):
            read[name] = int(value)
    return struct_from(read, shape, unknown=unknown)


def _is_whole(kind: Any) -> bool:  # noqa: ANN401  a type
    return int in (kind, *(inner for each in get_args(kind) for inner in (each, *get_args(each))))
