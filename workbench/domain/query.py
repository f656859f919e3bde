"""Reading a query string: parameters by name, each once, whole numbers from their digits."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar, get_args

import msgspec
from msgspec import Struct

from workbench.domain.reading import struct_from
from workbench.errors import FieldProblem, InvalidRequest

Q = TypeVar("Q", bound=Struct)
_WHOLE = re.compile("[0-9]{1,19}")


def query_from(parameters: Mapping[str, str | Sequence[str]], shape: type[Q], *, unknown: str = "ignored") -> Q:
    """The parameters of a query as a `shape`; one that stands several times comes as a sequence.

    Raises InvalidRequest: a parameter twice, or one that is not what it must be.
    """
    known = {each.encode_name: each.type for each in msgspec.structs.fields(shape)}
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
