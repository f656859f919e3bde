"""A request as raw HTTP: with httpx from Python, and with curl from a shell."""

import re
from typing import Any
from urllib.parse import quote

from workbench.snippets.pieces import Piece, Variable, call, expression, literal, shell_word
from workbench.snippets.request import CONTENT_TYPE, IN_PROCESS_URL, Request

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
