"""An application of this process on a port of this machine's loopback: a thread for each connection.

The standard library's WSGI server, with what it leaves out: bodies in chunks, a body that ends where it
should and arrives in time, no look-up of this machine's name. A connection carries one request and is closed.
"""

import atexit
import io
import re
import socket
import socketserver
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from socketserver import ThreadingMixIn
from typing import Any, BinaryIO, cast
from wsgiref.simple_server import ServerHandler, WSGIRequestHandler, WSGIServer
from wsgiref.types import WSGIApplication, WSGIEnvironment

from workbench.errors import ApiError
from workbench.sandbox.messages import (
    BODY_S,
    MAX_READ_BYTES,
    NOT_WHOLE,
    body_incomplete,
    body_late,
    length_in,
    log_fault,
)
from workbench.sandbox.ports import LOOPBACK, free_port

_POLL_S = 0.05
_MAX_LINE_BYTES = 65_536
_SIZE = re.compile(rb"[0-9a-fA-F]{1,16}")


@contextmanager
def listening(
    app: WSGIApplication, *, port: int, after_each: Callable[[], object], new_request_id: Callable[[], str]
) -> Iterator[str]:
    """Answer while the block runs; the base URL. `after_each` is called when an answer has been sent.

    `new_request_id` numbers what is refused before the application sees it.

    Requests in flight are finished before the block is left.
    Raises PortTaken: something listens there.
    """
    bound = free_port(LOOPBACK, port)
    server = _Server((bound.address, bound.port), _Handler)
    server.app, server.after_each, server.new_request_id = app, after_each, new_request_id
    thread = threading.Thread(target=server.serve_forever, args=(_POLL_S,), daemon=True)
    thread.start()
    # A script that ends in the midst of it: afterwards the thread stands still, and would be waited for for ever.
    atexit.register(server.shutdown)
    try:
        yield bound.base_url
    finally:
        atexit.unregister(server.shutdown)
        server.shutdown()
        server.stop_receiving()
        server.server_close()
        thread.join()


class _Server(ThreadingMixIn, WSGIServer):
    daemon_threads = False
    request_queue_size = 128
    app: WSGIApplication
    after_each: Callable[[], object]
    new_request_id: Callable[[], str]

    def __init__(self, *args: Any) -> None:  # noqa: ANN401  the base class's arguments
        super().__init__(*args)
        self.receiving: set[_Arriving] = set()

    def stop_receiving(self) -> None:
        """What has not arrived yet does not keep the server's end waiting."""
        for each in tuple(self.receiving):
            each.stop()

    def server_bind(self) -> None:
        # Not HTTPServer's, which asks the resolver for this machine's name and may wait for it.
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = LOOPBACK, int(self.server_address[1])
        self.setup_environ()

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ANN401, ARG002  the base class's signature
        """A client that went away is no news."""
        error = sys.exception()
        if error is not None and not isinstance(error, OSError):
            log_fault("after a request", error)


class _Handler(WSGIRequestHandler):
    server: _Server
    # So that "Expect: 100-continue" is answered.
    protocol_version = "HTTP/1.1"

    def setup(self) -> None:
        super().setup()
        self._arriving = _Arriving(self.connection)
        self.rfile = io.BufferedReader(self._arriving)
        self.server.receiving.add(self._arriving)

    def handle(self) -> None:
        """One request: received whole, then answered."""
        try:
            environ = self._received()
        except TimeoutError:
            # Not even its head has come.
            return
        finally:
            self.server.receiving.discard(self._arriving)
        if environ is None:
            return
        # For as long, what is sent may stay unread.
        self.connection.settimeout(BODY_S)
        responding = _Responding(environ["wsgi.input"], cast("BinaryIO", self.wfile), sys.stderr, environ)
        # As wsgiref's own handler does: this is who writes a line for each request, or does not.
        responding.request_handler = self
        responding.run(self.server.app)
        self.server.after_each()

    def _received(self) -> WSGIEnvironment | None:
        """The request with its body; None when it was no request, and is answered."""
        self.raw_requestline = self.rfile.readline(_MAX_LINE_BYTES + 1)
        self.requestline, self.request_version, self.command = "", "", ""
        if len(self.raw_requestline) > _MAX_LINE_BYTES:
            self.send_error(414)
            return None
        if not self.parse_request():
            return None
        body, not_whole = self._body()
        environ: WSGIEnvironment = self.get_environ()
        environ["wsgi.input"] = io.BytesIO(body)
        if not_whole is not None:
            environ[NOT_WHOLE] = not_whole
        return environ

    def _body(self) -> tuple[bytes, ApiError | None]:
        """The body and nothing behind it, and what is wrong with how it came."""
        source = cast("BinaryIO", self.rfile)
        try:
            if "chunked" in self.headers.get("Transfer-Encoding", "").lower():
                del self.headers["Content-Length"]
                body = _unchunked(source)
                return (body, None) if body is not None else (b"", body_incomplete())
            # A length that is no number is the application's to refuse.
            wanted = min(length_in(self.headers.get("Content-Length", "")) or 0, MAX_READ_BYTES)
            body = source.read(wanted)
            return body, body_incomplete() if len(body) < wanted else None
        except TimeoutError:
            return b"", body_late()

    def send_response(self, code: int, message: str | None = None) -> None:
        """The head of a refusal of this server's own: what the application answers does not come this way."""
        super().send_response(code, message)
        self.send_header("Request-Id", self.server.new_request_id())

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002, ANN401  the base class's signature
        """No line on standard error for each request: it would land in a notebook's output."""
        del format, args


class _Responding(ServerHandler):
    request_handler: WSGIRequestHandler


class _Arriving(io.RawIOBase):
    """What a connection sends, all of it within one time, however slowly it drips."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._until = time.monotonic() + BODY_S

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:  # noqa: ANN401  the base class's signature
        left = self._until - time.monotonic()
        if left <= 0:
            raise TimeoutError
        self._connection.settimeout(left)
        return self._connection.recv_into(buffer)

    def stop(self) -> None:
        """Let whoever reads see the end."""
        with suppress(OSError):
            self._connection.shutdown(socket.SHUT_RD)


def _unchunked(stream: BinaryIO) -> bytes | None:
    """A body sent in chunks, whole (RFC 9112 §7.1); None when they are not well formed, or too many."""
    body = bytearray()
    while size := _chunk_size(stream.readline(_MAX_LINE_BYTES)):
        if size < 0 or len(body) + size > MAX_READ_BYTES:
            return None
        body += stream.read(size)
        if stream.readline(3) != b"\r\n":
            return None
    # What may follow the last chunk, up to an empty line.
    while stream.readline(_MAX_LINE_BYTES).strip():
        pass
    return bytes(body)


def _chunk_size(line: bytes) -> int:
    digits = line.partition(b";")[0].strip()
    return int(digits, 16) if _SIZE.fullmatch(digits) else -1
