"""A request to be written down: its parts with variables in them, as HTTP in httpx and as curl."""

import json
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, Final
from urllib.parse import parse_qs, quote, unquote

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


IN_PROCESS_URL: Final = "http://sandbox.localhost"
KEYS: Final = ("secret_key", "publishable_key", "access_token")
SCHEMES: Final = ("Bearer", "Basic", "none")
CONTENT_TYPE: Final = "Content-Type"

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
    written: str | None = None
    """The body's own text, if it was given as text and holds no secret."""

    def header(self, name: str) -> str | None:
        """The value of a header, whatever the case of its name."""
        return next((value for given, value in self.headers.items() if given.lower() == name.lower()), None)

    @property
    def segments(self) -> list[str]:
        """The path's segments, decoded."""
        return [unquote(each) for each in self.path.split("/")[1:]]

    @property
    def content(self) -> list[Piece] | None:
        """The body as it is sent, a text with variables in it."""
        if self.written is not None:
            return [self.written]
        if self.body is None or isinstance(self.body, str):
            return None if self.body is None else [self.body]
        return json_pieces(self.body)


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
    body, written = _body(request.body, path)
    made = replace(
        request,
        path=mask_secrets(path),
        query=_hidden(query),
        headers=headers,
        body=body,
        written=written,
        scheme=request.scheme or _usual_scheme(request.method, path),
    )
    if made.body is not None and made.header(CONTENT_TYPE) is None:
        headers[CONTENT_TYPE] = "application/json"
    return made


def _usual_scheme(method: str, path: str) -> str:
    if path.startswith("/v1/auth/"):
        return "none"
    return "Basic" if (method, path) == _BASIC else "Bearer"


def _body(body: Any, path: str) -> tuple[Any, str | None]:  # noqa: ANN401  JSON is of any type
    """The value of a body without its secrets, and its own text if it was given as JSON text that holds none.

    The text keeps its blanks, as an idempotency key is for the same bytes. What cannot be read stays text, masked.
    """
    value = body
    if isinstance(body, str):
        try:
            value = json_from(body.encode("utf-8", "surrogatepass"))
        except InvalidRequest:
            return mask(body), None
    is_pin = isinstance(value, Mapping) and _PIN_PATH.fullmatch(path) and value.get("text") != SANDBOX_PIN
    hidden = _hidden({**value, "text": Variable("pin")} if is_pin else value)
    is_plain = isinstance(body, str) and value is not None and json_pieces(value) == json_pieces(hidden)
    return hidden, body if is_plain else None


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
    content = request.content
    if content is not None:
        # As text: a number with a point would be a float in Python.
        arguments.append(f"content={expression(content)}")
    if headers := _python_headers(request):
        arguments.append(f"headers={headers}")
    if request.scheme == "Basic":
        arguments.append(f'auth=({python_key(request.key)}, "")')
    if request.method in (_SHORT if content is None else _WITH_BODY):
        return noted(call(f"bench.http.{request.method.lower()}", arguments))
    return noted(call("bench.http.request", [literal(request.method), *arguments]))


def _python_headers(request: Request) -> str:
    headers = [
        f"{literal(name)}: {literal(value)}"
        for name, value in request.headers.items()
        if value or name.lower() != CONTENT_TYPE.lower()
    ]
    if request.scheme == "Bearer":
        headers.insert(0, f'"Authorization": f"Bearer {{{python_key(request.key)}}}"')
    return "{" + ", ".join(headers) + "}" if headers else ""


def curl(request: Request) -> str:
    """The request as curl sends it, one option on a line."""
    key = request.key.upper()
    parts = ["curl --head" if request.method == "HEAD" else f"curl -X {shell_word([request.method])}"]
    parts[0] += f" {shell_word(_url(request))}"
    if request.scheme == "Bearer":
        parts.append(f'-H "Authorization: Bearer ${key}"')
    if request.scheme == "Basic":
        parts.append(f'-u "${key}:"')
    parts += [f"-H {shell_word([_header_line(name, value)])}" for name, value in request.headers.items()]
    content = request.content
    if content is not None:
        # Not -d, for which a text that begins with @ is the name of a file.
        parts.append(f"--data-raw {shell_word(content)}")
    return noted(" \\\n  ".join(parts))


def _header_line(name: str, value: str) -> str:
    """As curl reads it: an empty Content-Type is not sent, though curl would add one; others are sent empty."""
    if value:
        return f"{name}: {value}"
    return f"{name}:" if name.lower() == CONTENT_TYPE.lower() else f"{name};"


def _path(request: Request) -> str:
    return _readable(quote(_STRAY_PERCENT.sub("%25", request.path), safe=_SAFE + "%", errors="replace"))


def _url(request: Request) -> list[Piece]:
    base = request.base_url.rstrip("/")
    pieces: list[Piece] = [Variable("base_url") if base in ("", IN_PROCESS_URL) else base, _path(request)]
    pairs: list[tuple[str, Any]] = [
        (name, each)
        for name, value in request.query.items()
        for each in (value if isinstance(value, list) else [value])
    ]
    for place, (name, value) in enumerate(pairs):
        pieces.append(("&" if place else "?") + _encoded(name) + "=")
        pieces.append(value if isinstance(value, Variable) else _encoded(str(value)))
    return pieces


def _encoded(text: str) -> str:
    return _readable(quote(text, safe="*", errors="replace"))


def _readable(encoded: str) -> str:
    """A mask stays readable: it is not to be sent."""
    return encoded.replace(quote(_MASK), _MASK)
