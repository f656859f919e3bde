"""Reads TOML that a person wrote, or names the line with the mistake."""

import re
import tomllib
from typing import Any, Final

_PLACE: Final = re.compile(r"\(at (?:line (\d+), column \d+|end of document)\)$")


def read_toml(content: bytes) -> dict[str, Any]:
    """The declarations in a TOML file, with or without a byte-order mark.

    Raises ValueError: not UTF-8 or not TOML; the message is to follow the file's name.
    """
    try:
        return tomllib.loads(content.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise ValueError("is not text in UTF-8") from None
    except tomllib.TOMLDecodeError as error:
        match = _PLACE.search(str(error))
        line = match[1] if match else None
        raise ValueError(f"is not TOML: look at {f'line {line}' if line else 'its end'}") from None


_KINDS: Final = {
    "int": "a whole number", "float": "a number with a point", "str": "a text", "bool": "true or false",
    "array": "a list", "object": "a table", "null": "nothing",
}  # fmt: skip
_MISMATCH: Final = re.compile(r"Expected `([^`]+)`, got `([^`]+)`")


def wrong_kind(error: Exception) -> str:
    """The expected and the given kind of a value, from msgspec's message: `takes a list, not a text`; else its text."""
    match = _MISMATCH.match(str(error))
    if not match:
        return str(error)
    wanted, given = (" or ".join(_KINDS.get(kind, kind) for kind in text.split(" | ")) for text in match.groups())
    return f"takes {wanted}, not {given}"
