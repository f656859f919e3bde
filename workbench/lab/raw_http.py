"""A raw HTTP request as a person writes it: read line by line, variables put in, mistakes reported with their line."""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple, TypeAlias
from urllib.parse import quote

from workbench.domain import wire

METHODS: Final = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS")
COMPUTED: Final = ("content-length", "transfer-encoding", "connection")
"""Headers that follow from the body; the HTTP client sets them."""
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_VARIABLE = re.compile(r"\$(?:\$|([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*))")
_Write: TypeAlias = Callable[[str, Any, int], str]
"""How the value of a variable is written: its name and its line are for messages."""


class Mistyped(Exception):
    """What was written is no request. The message says where and what to write."""


class RawRequest(NamedTuple):
    """A request that can be sent."""

    method: str
    target: str
    headers: list[tuple[str, str]]
    body: bytes | None


def read(text: str, names: Mapping[str, Any], base_url: str) -> RawRequest:
    """The request of a cell, with `$name` and `$name.attribute` filled in from `names`; `$$` is a dollar.

    Raises Mistyped: it cannot be sent, or it is for another place than `base_url`.
    """
    lines = text.replace("\r\n", "\n").split("\n")
    start = next((place for place, line in enumerate(lines) if line.strip() and not line.startswith("#")), None)
    if start is None:
        raise Mistyped("The cell is empty. Begin with a method and a path, such as: GET /v1/balance")
    end = next((place for place in range(start, len(lines)) if not lines[place].strip()), len(lines))
    method, target = _request_line(_filled(lines[start], names, _in_path, start), start, base_url)
    headers = [_header(_filled(lines[place], names, _as_text, place), place) for place in range(start + 1, end)]
    body_text = "\n".join(lines[end + 1 :]).rstrip("\n")
    body = _filled(body_text, names, _in_body, end + 1) if body_text.strip() else None
    named = {name.lower() for name, _ in headers}
    # JSON with a slip in it too: the service then says where the slip is, not that a header is missing.
    if body is not None and "content-type" not in named and body.lstrip().startswith(("{", "[")):
        headers.append(("Content-Type", "application/json"))
    return RawRequest(method, target, headers, None if body is None else body.encode("utf-8", "surrogatepass"))


def _request_line(line: str, place: int, base_url: str) -> tuple[str, str]:
    parts = line.split()
    if len(parts) == 3 and parts[2].upper().startswith("HTTP/"):  # noqa: PLR2004  method, path and version
        parts.pop()
    if parts[0] not in METHODS:
        meant = f"Did you mean {parts[0].upper()}?" if parts[0].upper() in METHODS else f"Use {', '.join(METHODS)}."
        raise Mistyped(f"{_line(place)} {parts[0][:40]!r} is no method. {meant}")
    if len(parts) != 2:  # noqa: PLR2004  method and path
        raise Mistyped(f"{_line(place)} a request line is a method and a path, such as: {parts[0]} /v1/balance")
    return parts[0], _local(parts[1], place, base_url)


def _local(target: str, place: int, base_url: str) -> str:
    """The path and query of what is asked for. Raises Mistyped: it is not within the sandbox."""
    base = base_url.rstrip("/")
    if target == base or target.startswith((f"{base}/", f"{base}?")):
        target = target.removeprefix(base) or "/"
    if "://" in target.partition("?")[0] or target.startswith("//"):
        message = f"{_line(place)} that is another host, and nothing leaves the sandbox. Write the path alone, from /."
        raise Mistyped(message)
    if not target.startswith("/"):
        raise Mistyped(f"{_line(place)} a path begins with /, such as /v1/balance, and this is {target[:60]!r}.")
    return target


def _header(line: str, place: int) -> tuple[str, str]:
    name, colon, value = line.partition(":")
    if not colon or not _HEADER_NAME.fullmatch(name):
        hint = "An empty line goes before the body." if line.lstrip().startswith(("{", "[")) else ""
        raise Mistyped(f"{_line(place)} a header is a name, a colon and a value: Name: value. {hint}".rstrip())
    return name, value.strip()


def _filled(text: str, names: Mapping[str, Any], write: _Write, place: int) -> str:
    def found(match: re.Match[str]) -> str:
        if match[1] is None:
            return "$"
        line = place + text.count("\n", 0, match.start())
        return write(match[1], _looked_up(match[1], names, line), line)

    return _VARIABLE.sub(found, text)


def _looked_up(path: str, names: Mapping[str, Any], place: int) -> Any:  # noqa: ANN401  whatever is there
    first, *attributes = path.split(".")
    if first not in names:
        raise Mistyped(f"{_line(place)} there is no variable {first} here. For a dollar sign write $$.")
    value = names[first]
    for each in attributes:
        if not hasattr(value, each):
            raise Mistyped(f"{_line(place)} ${path}: a {type(value).__name__} has no {each}.")
        value = getattr(value, each)
    return value


def _as_text(name: str, value: object, place: int) -> str:
    text = str(value)
    if _CONTROL.search(text):
        raise Mistyped(f"{_line(place)} ${name} holds a line break or another control character.")
    return text


def _in_path(name: str, value: object, place: int) -> str:
    return quote(_as_text(name, value, place), safe="/")


def _in_body(_name: str, value: object, _place: int) -> str:
    """A string as it stands within the quotes of JSON; objects, arrays, true, false and null as JSON."""
    if isinstance(value, str):
        return wire.to_json(str(value)).decode()[1:-1]
    if value is None or isinstance(value, bool | Mapping | list | tuple):
        return wire.to_json(value).decode()
    return str(value)


def _line(place: int) -> str:
    """Where it is, as the cell's lines are counted: `%%http` is the first."""
    return f"Line {place + 2}:"
