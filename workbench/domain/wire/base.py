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


def meaning(says: str = "", /, **schema: object) -> Meta:
    """The description of a field, and keywords that replace or join its schema."""
    return Meta(extra_json_schema={**schema, **({"description": says} if says else {})})


def by_register(rule: Rule) -> Meta:
    """The schema of a field where it depends on the register."""
    return Meta(extra={"rule": rule})


def required(*names: str, **choices: str) -> Rule:
    """A rule that requires these fields where the register has these choices."""
    return lambda gaps: {"required": [*names]} if all(getattr(gaps, row) == choices[row] for row in choices) else {}


def parameter(says: str, **schema: object) -> Meta:
    """The description of a parameter, and keywords that join its schema."""
    return Meta(description=says, extra_json_schema=schema)


SECRETS = (
    "client_secret", "access_token", "token", "refresh_token", "secret", "password", "value", "secret_key",
    "publishable_key",
)  # fmt: skip
"""Fields that hold a secret."""
_LINE = 100


class Source(NamedTuple):
    """The origin of a struct's fields: a section of the interface shows the fields in `shows`.

    The other fields are assumed in a gap of the section `gap`, or belong to the sandbox alone if `gap` is empty.
    """

    section: str = ""
    shows: tuple[str, ...] = ()
    gap: str = "4"


class View(Struct):
    """A struct whose repr masks telephone numbers and everything in the form of a secret."""

    __source__: ClassVar[Source] = Source()
    __whole__: ClassVar[Schema | Rule] = {}
    """The schema of the struct as a whole; a field that it requires is never null."""
    __prints_as__: ClassVar[str | None] = None

    def _shown_fields(self) -> list[str]:
        """The fields that are not empty, as `name=value`."""
        values = {name: getattr(self, name) for name in self.__struct_fields__}
        return [f"{name}={value!r}" for name, value in values.items() if value not in (None, UNSET, [], {})]

    def __repr__(self) -> str:
        fields, name = self._shown_fields(), self.__prints_as__ or type(self).__name__
        line = f"{name}({', '.join(fields)})"
        if len(line) > _LINE:
            inner = ",\n".join(fields).replace("\n", "\n    ")
            line = f"{name}(\n    {inner},\n)"
        return mask(line)


class WithSecrets(View):
    """A view with a field that holds a secret in any form."""

    def __post_init__(self) -> None:
        for name in _secrets_of(type(self)):
            if isinstance(value := getattr(self, name), str):
                setattr(self, name, Secret(value))


@cache
def _secrets_of(view: type[View]) -> tuple[str, ...]:
    return tuple(name for name in SECRETS if name in view.__struct_fields__)


class OfSandbox(View):
    """A body that only a sandbox has."""

    __source__ = Source(gap="")


def without_once(shown: object) -> object:
    """The body without the key or secret that a response shows only once."""
    once = {name: UNSET for name in ("secret", "value") if hasattr(shown, name)}
    return msgspec.structs.replace(shown, **once) if once and isinstance(shown, Struct) else shown


def secret_text(value: object) -> str:
    """A secret as the text that travels; msgspec encodes no subclass of a string by itself."""
    if isinstance(value, Secret):
        return str(value)
    raise NotImplementedError(type(value).__name__)


to_json = msgspec.json.Encoder(decimal_format="number", enc_hook=secret_text).encode
"""JSON bytes; decimals as numbers with all their digits, secrets whole."""
