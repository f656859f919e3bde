"""The shape of the register of gaps: a row, how it is declared and how it is shown."""

from collections.abc import Mapping
from dataclasses import field
from typing import Any, NamedTuple, TypeVar

Value = str | int | tuple[int, ...]
V = TypeVar("V", bound=Value)

_NONE: Mapping[Any, str] = {}


class Gap(NamedTuple):
    """One row of the register."""

    name: str
    section: str
    """The section of the interface document that leaves it open."""
    default: Value
    says: str
    """What the default means."""
    alternatives: Mapping[Value, str]
    planned: Mapping[Value, str]
    why: str
    built: bool
    """Whether the sandbox implements the default in full; if not, it ignores or refuses it."""

    def as_record(self) -> dict[str, Any]:
        """The row as JSON types: its values as lists of `value` and `says`."""
        listed = {
            group: [{"value": value, "says": says} for value, says in getattr(self, group).items()]
            for group in ("alternatives", "planned")
        }
        return {**self._asdict(), **listed}

    def as_text(self) -> str:
        """The row for reading: a heading, a line for each value, why."""
        values = [(self.default, self.says, "default" if self.built else "default, not built in full yet")]
        values += [(value, says, "") for value, says in self.alternatives.items()]
        values += [(value, says, "planned") for value, says in self.planned.items()]
        lines = [f"  {value!r}: {says}{f'  [{mark}]' if mark else ''}" for value, says, mark in values]
        return "\n".join(
            [f"{self.name} (section {self.section})", *lines, *([f"  why: {self.why}"] if self.why else [])]
        )


def row(  # noqa: PLR0913  a row of the register has these columns
    section: str,
    default: V,
    says: str,
    *,
    alternatives: Mapping[Any, str] = _NONE,
    planned: Mapping[Any, str] = _NONE,
    why: str = "",
    built: bool = True,
) -> V:
    """A field of `Gaps`: its section, its default and what that means, and the rest by name."""
    metadata = {
        "section": section, "says": says, "alternatives": alternatives, "planned": planned, "why": why, "built": built,
    }  # fmt: skip
    return field(default=default, metadata=metadata)
