"""A request to be written down: its parts with variables in them, as HTTP in httpx and as curl."""

import json
import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import groupby
from typing import Any, Final
from urllib.parse import parse_qs, quote

from workbench.domain.masking import SECRET_FIELDS, mask, mask_secrets
from workbench.domain.reading import json_from
from workbench.domain.scenarios import SANDBOX_PIN
from workbench.errors import InvalidRequest
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
    for is_variable, run in groupby(_json(value), lambda each: isinstance(each, Variable)):
        together = [*run]
        pieces += together if is_variable else ["".join(together)]
    return pieces


def _json(value: Any) -> Iterator[Piece]:  # noqa: ANN401  JSON is of any type
    if isinstance(value, Variable):
        yield from ('"', value, '"')
    elif isinstance(value, Mapping):
        for place, (name, each) in enumerate(value.items()):
            yield f"{',' if place else '{'}{_json_text(str(name))}:"
            yield from _json(each)
        yield "}" if value else "{}"
    elif isinstance(value, list | tuple):
        for place, each in enumerate(value):
            yield "," if place else "["
            yield from _json(each)
        yield "]" if value else "[]"
    elif isinstance(value, str):
        yield _json_text(value)
    else:
        # A float comes from a reader that knew no better; its shortest form is what was written.
        yield str(value) if isinstance(value, Decimal) else json.dumps(value)


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


IN_PROCESS_URL: Final = "http://sandbox.localhost"
_CONTENT_TYPE: Final = "Content-Type"
_PIN_PATH = re.compile(r"/sandbox/phones/[^/]+/input")
_BASIC = ("POST", "/v1/charges")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]+")


@dataclass(frozen=True)
class Request:
    """A request as `snippet` was given it; `read` brings it into the form that the texts are made from."""

    method: str
    path: str
    body: Any
    query: dict[str, Any]
    headers: dict[str, str]
    scheme: str
    key: str
    base_url: str
    content: list[Piece] | None = None
    """The body as it is sent, a text with variables in it."""


def read(request: Request) -> Request:
    """The request with its query apart from its path, its body read, and every secret a variable or masked."""
    path, _, query_text = request.path.partition("?")
    in_path = parse_qs(query_text, keep_blank_values=True)
    query = {**{name: each[0] if len(each) == 1 else each for name, each in in_path.items()}, **request.query}
    headers = {
        name: _CONTROL.sub(" ", mask_secrets(value))
        for name, value in request.headers.items()
        if name.lower() not in {"authorization", "host", "content-length"}
    }
    body, content = _body(request.body, path)
    if body is not None and not any(map(is_content_type, headers)):
        headers[_CONTENT_TYPE] = "application/json"
    usual = "none" if path.startswith("/v1/auth/") else "Basic" if (request.method, path) == _BASIC else "Bearer"
    return replace(
        request,
        path=mask_secrets(path),
        query=_hidden(query),
        headers=headers,
        body=body,
        content=content,
        scheme=request.scheme or usual,
    )


def is_content_type(name: str) -> bool:
    """Whether this is the name of that header."""
    return name.lower() == _CONTENT_TYPE.lower()


def _body(body: Any, path: str) -> tuple[Any, list[Piece] | None]:  # noqa: ANN401  JSON is of any type
    """The value of a body without its secrets, and its text. What cannot be read as JSON is sent as it is, masked."""
    value = body
    if isinstance(body, str):
        try:
            value = json_from(body.encode("utf-8", "surrogatepass"))
        except InvalidRequest:
            return mask(body), [mask(body)]
    if value is None:
        return None, None
    is_pin = isinstance(value, Mapping) and _PIN_PATH.fullmatch(path) and value.get("text") != SANDBOX_PIN
    hidden = _hidden({**value, "text": Variable("pin")} if is_pin else value)
    # A text without a secret keeps its blanks, as an idempotency key is for the same bytes.
    if isinstance(body, str) and json_pieces(value) == json_pieces(hidden):
        return hidden, [body]
    return hidden, [hidden] if isinstance(hidden, str) else json_pieces(hidden)


def _hidden(value: Any, name: str = "") -> Any:  # noqa: ANN401  JSON is of any type
    if isinstance(value, Mapping):
        return {mask_secrets(each): _hidden(inner, each) for each, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_hidden(each) for each in value]
    if not isinstance(value, str) or isinstance(value, Variable):
        return value
    return Variable(name) if name in SECRET_FIELDS else mask_secrets(str(value))


MASKED_NOTE = "# What is masked with •••• is yours to fill in."
_MASK = "••••"
_SAFE = "/:@+,;=~"
_STRAY_PERCENT = re.compile(r"%(?![0-9A-Fa-f]{2})")
_SHORT = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD")
_WITH_BODY = ("POST", "PUT", "PATCH")


def python_key(key: str) -> str:
    """The key as Python names it."""
    return f"bench.{key}" if key in ("secret_key", "publishable_key") else key


def noted(text: str) -> str:
    """The text, with a note if something is masked in it."""
    return f"{MASKED_NOTE}\n{text}" if _MASK in text else text


def httpx(request: Request) -> str:
    """The request as `bench.http` sends it."""
    arguments = [literal(_path(request))]
    if request.query:
        arguments.append(f"params={literal(request.query)}")
    if request.content is not None:
        # As text: a number with a point would be a float in Python.
        arguments.append(f"content={' + '.join(map(literal, request.content))}")
    if headers := _python_headers(request):
        arguments.append(f"headers={headers}")
    if request.scheme == "Basic":
        arguments.append(f'auth=({python_key(request.key)}, "")')
    if request.method in (_SHORT if request.content is None else _WITH_BODY):
        return noted(call(f"bench.http.{request.method.lower()}", arguments))
    return noted(call("bench.http.request", [literal(request.method), *arguments]))


def _python_headers(request: Request) -> str:
    headers = [
        f"{literal(name)}: {literal(value)}"
        for name, value in request.headers.items()
        if value or not is_content_type(name)
    ]
    if request.scheme == "Bearer":
        headers.insert(0, f'"Authorization": f"Bearer {{{python_key(request.key)}}}"')
    return "{" + ", ".join(headers) + "}" if headers else ""


def curl(request: Request) -> str:
    """The request as curl sends it, one option on a line."""
    key = request.key.upper()
    asked = "--head" if request.method == "HEAD" else f"-X {shell_word([request.method])}"
    parts = [f"curl {asked} {shell_word(_url(request))}"]
    if request.scheme == "Bearer":
        parts.append(f'-H "Authorization: Bearer ${key}"')
    if request.scheme == "Basic":
        parts.append(f'-u "${key}:"')
    parts += [f"-H {shell_word([_header_line(name, value)])}" for name, value in request.headers.items()]
    if request.content is not None:
        # Not -d, for which a text that begins with @ is the name of a file.
        parts.append(f"--data-raw {shell_word(request.content)}")
    return noted(" \\\n  ".join(parts))


def _header_line(name: str, value: str) -> str:
    """As curl reads it: an empty Content-Type is not sent, though curl would add one; others are sent empty."""
    if value:
        return f"{name}: {value}"
    return f"{name}:" if is_content_type(name) else f"{name};"


def _path(request: Request) -> str:
    return _readable(quote(_STRAY_PERCENT.sub("%25", request.path), safe=_SAFE + "%", errors="replace"))


def _url(request: Request) -> list[Piece]:
    base = request.base_url.rstrip("/")
    pieces: list[Piece] = [Variable("base_url") if base in ("", IN_PROCESS_URL) else base, _path(request)]
    mark = "?"
    for name, value in request.query.items():
        for each in value if isinstance(value, list) else [value]:
            pieces += [f"{mark}{_encoded(name)}=", each if isinstance(each, Variable) else _encoded(str(each))]
            mark = "&"
    return pieces


def _encoded(text: str) -> str:
    return _readable(quote(text, safe="*", errors="replace"))


def _readable(encoded: str) -> str:
    """A mask stays readable: it is not to be sent."""
    return encoded.replace(quote(_MASK), _MASK)
