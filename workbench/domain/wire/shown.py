"""What every body is made of: a struct whose repr tells no secret, and its JSON."""

from collections.abc import Callable
from typing import Annotated, Any, ClassVar, NamedTuple

import msgspec
from msgspec import UNSET, Meta, Struct

from workbench.domain.gaps import Gaps
from workbench.domain.masking import Secret, mask

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
