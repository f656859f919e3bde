"""The application behind an ASGI server: a request has arrived whole before one of the few threads takes it."""

import asyncio
import io
import sys
from collections.abc import Awaitable, Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, NamedTuple
from urllib.parse import unquote_to_bytes
from wsgiref.types import WSGIApplication, WSGIEnvironment

from workbench.errors import ApiError
from workbench.sandbox.messages import BODY_S, MAX_BODY_BYTES, MAX_READ_BYTES, NOT_WHOLE, body_incomplete, body_late

_Message = dict[str, Any]
_Receive = Callable[[], Awaitable[_Message]]
_Send = Callable[[_Message], Awaitable[None]]
_UNPREFIXED: Final = frozenset({"CONTENT_TYPE", "CONTENT_LENGTH"})
_CLOSE: Final = (b"connection", b"close")


class _Answer(NamedTuple):
    status: int
    headers: list[tuple[bytes, bytes]]
    body: bytes


class Front:
    """`app` for an ASGI server, run in `threads` threads; `at_end` is called when the last request is answered."""

    def __init__(self, app: WSGIApplication, *, threads: int, at_end: Callable[[], object]) -> None:
        self._app = app
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="answering")
        self._at_end = at_end

    async def __call__(self, scope: _Message, receive: _Receive, send: _Send) -> None:
        """One request, or the server's life; nothing else is asked of it."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
            return
        environ = _environ(scope)
        body, not_whole = await _received(environ, receive)
        environ["wsgi.input"] = io.BytesIO(body)
        if not_whole is not None:
            environ[NOT_WHOLE] = not_whole
        answer = await asyncio.get_running_loop().run_in_executor(self._threads, self._answer, environ)
        # What is still to come of a body would be read as the next request.
        headers = answer.headers if not_whole is None else [*answer.headers, _CLOSE]
        await send({"type": "http.response.start", "status": answer.status, "headers": headers})
        await send({"type": "http.response.body", "body": answer.body})

    async def _live(self, receive: _Receive, send: _Send) -> None:
        await receive()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        self._threads.shutdown()
        self._at_end()
        await send({"type": "lifespan.shutdown.complete"})

    def _answer(self, environ: WSGIEnvironment) -> _Answer:
        started: list[tuple[int, list[tuple[bytes, bytes]]]] = []

        def start_response(status: str, headers: Iterable[tuple[str, str]], exc_info: object = None) -> Any:  # noqa: ANN401, ARG001  WSGI's signature
            coded = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers]
            started.append((int(status[:3]), coded))

        body = b"".join(self._app(environ, start_response))
        return _Answer(*started[-1], body)


def _environ(scope: Mapping[str, Any]) -> WSGIEnvironment:
    """The environment of a WSGI application (PEP 3333), but for the body; headers of one name are joined by commas."""
    server, port = scope["server"]
    environ: WSGIEnvironment = {
        "REQUEST_METHOD": scope["method"],
        "SCRIPT_NAME": "",
        "PATH_INFO": unquote_to_bytes(scope["raw_path"]).decode("latin-1"),
        "QUERY_STRING": scope["query_string"].decode("latin-1"),
        "SERVER_NAME": server,
        "SERVER_PORT": str(port),
        "SERVER_PROTOCOL": f"HTTP/{scope['http_version']}",
        "REMOTE_ADDR": scope["client"][0],
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": scope["scheme"],
        "wsgi.errors": sys.stderr,
        "wsgi.multithread": True,
        "wsgi.multiprocess": True,
        "wsgi.run_once": False,
    }
    for coded_name, coded_value in scope["headers"]:
        name = coded_name.decode("latin-1").upper().replace("-", "_")
        name, value = name if name in _UNPREFIXED else f"HTTP_{name}", coded_value.decode("latin-1").strip()
        environ[name] = f"{environ[name]},{value}" if name in environ else value
    return environ


async def _received(environ: WSGIEnvironment, receive: _Receive) -> tuple[bytes, ApiError | None]:
    """The body, up to one byte over the limit, and what is wrong with how it came."""
    length = environ.get("CONTENT_LENGTH", "0")
    if "HTTP_TRANSFER_ENCODING" not in environ and not (length.isdecimal() and int(length)):
        return b"", None
    try:
        async with asyncio.timeout(BODY_S):
            return await _read(receive)
    except TimeoutError:
        return b"", body_late()


async def _read(receive: _Receive) -> tuple[bytes, ApiError | None]:
    """To the end, also past the limit within reason: answered while it still writes, a client sees no answer."""
    body, read, more = bytearray(), 0, True
    while more and read < MAX_READ_BYTES:
        message = await receive()
        if message["type"] == "http.disconnect":
            return b"", body_incomplete()
        chunk, more = message["body"], message["more_body"]
        read += len(chunk)
        body += chunk[: MAX_BODY_BYTES + 1 - len(body)]
    return bytes(body), None
