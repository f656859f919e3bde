"""A request to be written as code: its parts in one form, and its secrets as variables."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final
from urllib.parse import parse_qs, unquote

from workbench.domain.masking import SECRET_FIELDS, mask, mask_secrets
from workbench.domain.reading import json_from
from workbench.domain.scenarios import SANDBOX_PIN
from workbench.errors import InvalidRequest
from workbench.snippets.pieces import Piece, Variable, json_pieces

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
