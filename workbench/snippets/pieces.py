"""Texts with variables in them: as JSON, as an expression of Python, as a word of a shell."""

import json
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from typing import Any

from workbench.visible import visible


class Variable(str):
    """The name of a variable that stands for a secret."""

    __slots__ = ()


Piece = str | Variable
_SURROGATE = re.compile("[\ud800-\udfff]")
_NEEDS_QUOTES = re.compile(r'["$`\\!]')
_BRACES = re.compile(r"\$\{(\w+)\}(?!\w)")
"""A name in braces that ends in the same place without them."""
WIDTH = 88
_INDENT = "    "


def json_pieces(value: Any) -> list[Piece]:  # noqa: ANN401  JSON is of any type
    """JSON with every digit of its numbers; a variable stands between quotes, as a string's content.

    Written as the client writes it, to the byte: another blank is another body to an idempotency key.
    """
    pieces: list[Piece] = []
    for each in _json(value):
        if pieces and not isinstance(each, Variable) and not isinstance(pieces[-1], Variable):
            pieces[-1] += each
        elif each:
            pieces.append(each)
    return pieces


def _json(value: Any) -> Iterator[Piece]:  # noqa: ANN401  JSON is of any type
    if isinstance(value, Variable):
        yield from ('"', value, '"')
    elif isinstance(value, Mapping):
        yield from _members("{}", ((f"{_json_text(str(name))}:", each) for name, each in value.items()))
    elif isinstance(value, list | tuple):
        yield from _members("[]", (("", each) for each in value))
    elif isinstance(value, str):
        yield _json_text(value)
    else:
        # A float comes from a reader that knew no better; its shortest form is what was written.
        yield str(value) if isinstance(value, Decimal) else json.dumps(value)


def _members(brackets: str, members: Iterable[tuple[str, Any]]) -> Iterator[Piece]:
    yield brackets[0]
    for place, (before, each) in enumerate(members):
        yield ("," if place else "") + before
        yield from _json(each)
    yield brackets[1]


def _json_text(text: str) -> str:
    return whole(json.dumps(text, ensure_ascii=False))


def whole(text: str) -> str:
    """Text that can be encoded: half of a surrogate pair is escaped as in JSON."""
    return _SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def literal(value: Any) -> str:  # noqa: ANN401  JSON is of any type
    """A value as Python writes it; variables by their names."""
    if isinstance(value, Variable):
        return str(value)
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{literal(name)}: {literal(each)}" for name, each in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(literal(each) for each in value) + "]"
    if isinstance(value, str):
        shown = repr(str(value))
        return f'"{shown[1:-1]}"' if '"' not in shown else shown
    return f'Decimal("{value}")' if isinstance(value, Decimal | float) else repr(value)


def expression(pieces: list[Piece]) -> str:
    """A text with variables in it as an expression of Python."""
    return " + ".join(literal(each) for each in pieces) or '""'


def call(head: str, arguments: list[str]) -> str:
    """A call, on one line if it fits, else with an argument on each."""
    line = f"{head}({', '.join(arguments)})"
    if len(line) <= WIDTH and "\n" not in line:
        return line
    return f"{head}(\n" + "".join(f"{_INDENT}{each},\n" for each in arguments) + ")"


def shell_word(pieces: list[Piece]) -> str:
    """A text with variables in it as one word of a shell. A NUL, which no argument of a program holds, is replaced."""
    pieces = [each if isinstance(each, Variable) else whole(each).replace("\0", "\ufffd") for each in pieces]
    texts = [each for each in pieces if not isinstance(each, Variable)]
    if len(texts) == len(pieces):
        return _quoted("".join(texts))
    if not any(_NEEDS_QUOTES.search(each) or _is_unseen(each) for each in texts):
        shown = "".join(f"${{{each.upper()}}}" if isinstance(each, Variable) else each for each in pieces)
        return '"' + _BRACES.sub(r"$\1", shown) + '"'
    return "".join(f'"${each.upper()}"' if isinstance(each, Variable) else _quoted(each) for each in pieces)


def _quoted(text: str) -> str:
    """A text as a word: in single quotes or, with a control in it, in `$'…'`, in which bash and zsh read escapes."""
    return "$'" + "".join(map(_escaped, text)) + "'" if _is_unseen(text) else shlex.quote(text)


def _escaped(letter: str) -> str:
    """An escape is of bytes, so that it means the same in every locale."""
    if letter in "\\'":
        return f"\\{letter}"
    return "".join(f"\\x{byte:02x}" for byte in letter.encode()) if _is_unseen(letter) else letter


def _is_unseen(text: str) -> bool:
    return visible(text, lines=True) != text
