"""The base of all bodies and queries, and their JSON."""

from collections.abc import Callable
from functools import cache
from typing import Any, ClassVar, NamedTuple

import msgspec
from msgspec import UNSET, Meta, Struct

from workbench.domain.gaps import Gaps
from workbench.domain.masking import Secret, mask

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


def parameter(says: str, **schema: Any) -> Meta:  # noqa: ANN401  JSON is of any type
    """What it is for, and what joins its schema."""
    return Meta(description=says, extra_json_schema=schema)


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

    def _shown_fields(self) -> list[str]:
        """The fields that say something."""
        told = {name: getattr(self, name) for name in self.__struct_fields__}
        return [f"{name}={value!r}" for name, value in told.items() if value not in (None, UNSET, [], {})]

    def __repr__(self) -> str:
        fields, name = self._shown_fields(), self.__prints_as__ or type(self).__name__
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


class OfSandbox(View):
    """What no real service has."""

    __source__ = Source(gap="")


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
