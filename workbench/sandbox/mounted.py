"""Applications of this process that take webhooks without a port, called as a server would call them.

A WSGI application runs in the thread that sends, so that what a test holds there for it, such as a transaction or a
database in memory, is there for it. An ASGI application has a loop of its own, in `asgi`.
"""

import inspect
import io
import sys
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, Protocol
from urllib.parse import unquote, urlsplit
from wsgiref.types import WSGIApplication, WSGIEnvironment

from workbench.domain.webhooks import MAX_RESPONSE_BYTES

_OF_ASGI = 3
"""The number of arguments of an ASGI application."""


class Answer(NamedTuple):
    """The answer of an application."""

    status_code: int
    body: bytes
    retry_after: str


class NoAnswer(Exception):
    """The application gave no answer; the message says why."""


class Mounted(Protocol):
    """An application that takes a message; what it raises comes out."""

    def post(self, url: str, headers: Mapping[str, str], body: bytes, timeout_s: int) -> Answer:
        """The answer to one POST. Raises NoAnswer."""

    def close(self) -> None:
        """Let go of what runs for it."""


def is_asgi(app: object) -> bool:
    """True for an ASGI application, False for a WSGI one, by its signature. Raises TypeError for anything else."""
    if not callable(app) or inspect.isclass(app):
        what = f"the class {app.__name__}" if inspect.isclass(app) else repr(type(app).__name__)
        message = f"webhooks is a WSGI or ASGI application, such as a Flask, Django or FastAPI one, not {what}"
        raise TypeError(message)
    if any(map(inspect.iscoroutinefunction, (app, getattr(app, "__call__", None)))):  # noqa: B004  which method it is
        return True
    try:
        parameters = inspect.signature(app).parameters.values()
    except (TypeError, ValueError):
        return False
    return len([parameter for parameter in parameters if parameter.default is parameter.empty]) == _OF_ASGI


class Nobody:
    """In the place of an application that is still to come."""

    def post(self, url: str, headers: Mapping[str, str], body: bytes, timeout_s: int) -> Answer:  # noqa: ARG002  as of any
        """No answer. Raises NoAnswer."""
        message = "no application is there yet: use bench.deliver_to(app)"
        raise NoAnswer(message)

    def close(self) -> None:
        """Nothing runs."""


class Wsgi:
    """A WSGI application, called as PEP 3333 says."""

    def __init__(self, app: WSGIApplication) -> None:
        self._app = app

    def post(self, url: str, headers: Mapping[str, str], body: bytes, timeout_s: int) -> Answer:  # noqa: ARG002  it cannot be interrupted
        """The answer, however long it takes."""
        parts = urlsplit(url)
        environ: WSGIEnvironment = {
            "REQUEST_METHOD": "POST", "SCRIPT_NAME": "", "PATH_INFO": unquote(parts.path, "latin-1") or "/",
            "QUERY_STRING": parts.query, "SERVER_NAME": parts.hostname, "SERVER_PORT": str(parts.port or 80),
            "SERVER_PROTOCOL": "HTTP/1.1", "REMOTE_ADDR": "127.0.0.1", "CONTENT_LENGTH": str(len(body)),
            "wsgi.version": (1, 0), "wsgi.url_scheme": parts.scheme, "wsgi.input": io.BytesIO(body),
            "wsgi.errors": sys.stderr, "wsgi.multithread": True, "wsgi.multiprocess": False, "wsgi.run_once": False,
        }  # fmt: skip
        for name, value in ("Host", parts.netloc), *headers.items():
            key = name.upper().replace("-", "_")
            environ[key if key == "CONTENT_TYPE" else f"HTTP_{key}"] = value
        begun: list[tuple[int, dict[str, str]]] = []

        def start_response(status: str, headers: Iterable[tuple[str, str]], exc_info: object = None) -> Any:  # noqa: ANN401, ARG001  WSGI's signature
            begun.append((int(status[:3]), {name.lower(): value for name, value in headers}))
            return lambda _: None

        chunks = self._app(environ, start_response)
        try:
            answer = beginning(chunks)
        finally:
            getattr(chunks, "close", lambda: None)()
        status_code, shown = begun[-1]
        return Answer(status_code, answer, shown.get("retry-after", ""))

    def close(self) -> None:
        """Nothing runs."""


def beginning(chunks: Iterable[bytes]) -> bytes:
    """The kept beginning of a body; the rest is not waited for."""
    answer = b""
    for chunk in chunks:
        answer += chunk
        if len(answer) >= MAX_RESPONSE_BYTES:
            break
    return answer[:MAX_RESPONSE_BYTES]
