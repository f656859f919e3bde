"""Reading a query string: parameters by name, each once, whole numbers from their digits."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar, get_args

import msgspec
from msgspec import Struct

from workbench.domain.reading import struct_from
from workbench.errors import FieldProblem, InvalidRequest

Q = TypeVar("Q", bound=Struct)
_MAX_DIGITS = 19


def query_from(parameters: Mapping[str, str | Sequence[str]], shape: type[Q], *, unknown: str = "ignored") -> Q:
    """The parameters of a query as a `shape`; one that stands several times comes as a sequence.

    Raises InvalidRequest: a parameter twice, or one that is not what it must be.
    """
    known = {each.encode_name: each.type for each in msgspec.structs.fields(shape)}
    for name, value in parameters.items():
        if name in known and not isinstance(value, str):
            problem = FieldProblem(f"/{name}", "stands more than once")
            raise InvalidRequest(
                f"{name} stands more than once.", code="parameter_repeated", param=name, problems=(problem,)
            )
    read = {name: _number_in(value) if _is_whole(known.get(name)) else value for name, value in parameters.items()}
    return struct_from(read, shape, unknown=unknown)


def _is_whole(wanted: Any) -> bool:  # noqa: ANN401  a type
    within = [inner for each in get_args(wanted) for inner in (each, *get_args(each))]
    return int in (wanted, *within)


def _number_in(value: str | Sequence[str]) -> object:
    is_number = isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= _MAX_DIGITS
    return int(value) if is_number and isinstance(value, str) else value
