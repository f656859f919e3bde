"""The application behind an ASGI server: a request has arrived whole before one of the few threads takes it."""

import asyncio
import io
import sys
import threading
from collections.abc import Awaitable, Callable, Iterable, Mapping
from queue import SimpleQueue
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


_Job = tuple[WSGIEnvironment, "asyncio.Future[_Answer]", asyncio.AbstractEventLoop]


class Front:
    """`app` for an ASGI server, run in `threads` threads; `at_end` is called when the last request is answered."""

    def __init__(self, app: WSGIApplication, *, threads: int, at_end: Callable[[], object]) -> None:
        self._app = app
        self._at_end = at_end
        self._arrived: SimpleQueue[_Job | None] = SimpleQueue()
        self._threads = [threading.Thread(target=self._work, daemon=True) for _ in range(threads)]
        for each in self._threads:
            each.start()

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
        loop = asyncio.get_running_loop()
        answered: asyncio.Future[_Answer] = loop.create_future()
        self._arrived.put((environ, answered, loop))
        response = await answered
        # What is still to come of a body would be read as the next request.
        headers = response.headers if not_whole is None else [*response.headers, _CLOSE]
        await send({"type": "http.response.start", "status": response.status, "headers": headers})
        await send({"type": "http.response.body", "body": response.body})

    async def _live(self, receive: _Receive, send: _Send) -> None:
        await receive()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        for _ in self._threads:
            self._arrived.put(None)
        for each in self._threads:
            each.join()
        self._at_end()
        await send({"type": "lifespan.shutdown.complete"})

    def _work(self) -> None:
        """Answer what has arrived, one request after the other: a hand-over is all that a pool is needed for."""
        while job := self._arrived.get():
            environ, answered, loop = job
            loop.call_soon_threadsafe(answered.set_result, self._response(environ))

    def _response(self, environ: WSGIEnvironment) -> _Answer:
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
    meaning = environ.get("CONTENT_LENGTH", "0")
    length = int(meaning) if meaning.isdecimal() else 0
    if "HTTP_TRANSFER_ENCODING" in environ:
        length = MAX_READ_BYTES
    elif length == 0:
        return b"", None
    try:
        async with asyncio.timeout(BODY_S):
            return await _read(receive, min(length, MAX_READ_BYTES))
    except TimeoutError:
        return b"", body_late()


async def _read(receive: _Receive, most: int) -> tuple[bytes, ApiError | None]:
    """So much, or to the end, also what is over the limit: answered while it still writes, a client sees no answer.

    Who knows the length does not ask for the end behind it, which costs a turn of the server's loop.
    """
    body, read, more = bytearray(), 0, True
    while more and read < most:
        message = await receive()
        if message["type"] == "http.disconnect":
            return b"", body_incomplete()
        chunk, more = message["body"], message["more_body"]
        read += len(chunk)
        body += chunk[: MAX_BODY_BYTES + 1 - len(body)]
    return bytes(body), None
