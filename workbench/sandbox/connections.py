"""HTTP on one port: llhttp parses; the event loop's thread handles waiting requests in groups, one transaction each.

A request that takes long, such as an advance of the clock, is finished in a thread of its own.
"""

import asyncio
import logging
import math
import re
import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from email.utils import formatdate
from functools import partial
from http import HTTPStatus
from typing import Any, Final, NamedTuple, cast

import httptools
import msgspec

from workbench.domain.wire.sandbox_controls import Changes
from workbench.errors import (
    ApiError,
    HeadTooLarge,
    InvalidRequest,
    PayloadTooLarge,
    RequestTimeout,
    ServiceFailed,
    ServiceUnavailable,
    TargetTooLong,
)
from workbench.sandbox.engine import Application, Engine, headers_in
from workbench.sandbox.messages import MAX_BODY_BYTES, MAX_READ_BYTES, Answer, Arrived, log_fault
from workbench.sandbox.store import NotNow
from workbench.sandbox.store.transaction import BUSY_S

_LOG = logging.getLogger(__name__)
_TICK_S: Final = 0.05
_LOOK_S: Final = 0.01
"""Seconds between two ticks, for each open stream; with no stream, or with more than five, ticks use `_TICK_S`."""
_COMMENT_S: Final = 15
"""Seconds between comments on an event stream without news; they show both ends that the connection is alive."""
BODY_S: Final = 10
"""Seconds within which a whole body must arrive."""
_IDLE_S: Final = 75
"""Seconds for which a connection may stay open between two requests."""
_MAX_HEAD_BYTES: Final = 65_536
_MAX_HEADERS: Final = 100
_MOST_WAIT: Final = 8
"""The number of requests on a connection that may wait for responses; the server then stops reading from it."""
_MOST_TOGETHER: Final = 64
"""The most commands in one transaction."""
_BACKLOG: Final = 1024
_STOP_S: Final = 15
"""Seconds for requests in flight after the server is asked to stop."""
_GRACE_S: Final = 0.1
"""Seconds for which a stopping server accepts connections; for as long again, it waits for their requests."""
_LINES: Final[Mapping[int, str]] = {
    status.value: f"HTTP/1.1 {status.value} {status.phrase}\r\n" for status in HTTPStatus
}
_READS: Final = ("GET", "HEAD", "")
"""Methods of requests that only read; the empty one stands for bytes that are not a request."""
_LINGER_S: Final = 1
"""Seconds for which the server reads on after it has refused a request, or when it stops."""
_LOG_AGAIN_S: Final = 60
"""Seconds after which the log repeats that the server cannot accept connections."""
_AGAIN_S: Final = 0.005
"""Seconds until a request is tried again because another process or thread held the store."""
_ABSOLUTE: Final = re.compile(rb"[^/?#]+://([^/?#]*)(.*)")
"""A request target that names a host: groups for the host, and for path and query."""
_PATH: Final = b"/sandbox/changes"
_EVENTS: Final = "text/event-stream"
_LAST: Final = "last-event-id"
_CLOSE: Final = "connection: close\r\n"
_KEEP_ALIVE: Final = {"1.0": "connection: keep-alive\r\n"}


class _Exchange(NamedTuple):
    """A request, and the connection that waits for its response."""

    connection: "_Connection"
    arrived: Arrived
    connection_header: str
    """The response's `connection` header line, or empty."""
    since_s: float
    """The moment of the request's arrival, in seconds of the monotonic clock."""


class _Connection(asyncio.Protocol):
    """One connection: receives requests completely and sends their responses in order."""

    _transport: asyncio.Transport

    def __init__(self, server: "ConnectionServer") -> None:
        self._server = server
        self._parser = httptools.HttpRequestParser(self)
        self._begin()
        self._waiting: deque[_Exchange] = deque()
        self._answering = False
        self._unread = 0
        """Bytes that the client had not read when last checked; 0 while the client keeps up."""
        self._ends = False
        """True if nothing more is read: the connection ends after its last response."""
        self._set_deadline(_IDLE_S)

    def _set_deadline(self, seconds: float) -> None:
        """Sets the client's deadline: `seconds` from now, for its next step."""
        self.until_s = time.monotonic() + seconds

    def _begin(self) -> None:
        self._headers: list[tuple[bytes, bytes]] = []
        self._target, self._body = b"", bytearray()
        self._in_head, self._in_body = False, False
        self._bytes = 0
        """The number of received bytes of the head, or of the body with its framing."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._server.connections.add(self)

    def connection_lost(self, _: Exception | None) -> None:
        self._server.connections.discard(self)
        self._server.streams.pop(self, None)
        self._ends = True
        self._waiting.clear()

    def pause_writing(self) -> None:
        self._unread = self._transport.get_write_buffer_size()
        self._set_deadline(BODY_S)

    def resume_writing(self) -> None:
        self._unread = 0
        self._set_deadline(_IDLE_S)
        self._next()

    def eof_received(self) -> bool:
        """Refuses an incomplete request, since the client sends no more; closes once all requests have their responses.

        Returns True, so that asyncio keeps the connection open for the client to read.
        """
        if self._in_head or self._in_body:
            self._refuse_part("The connection ended in the middle of a request's head.")
        self._begin()
        self._ends = True
        self._server.streams.pop(self, None)
        self._close_if_done()
        return True

    def data_received(self, data: bytes) -> None:
        if self._ends:
            return
        self._bytes += len(data)
        try:
            self._parse(memoryview(data))
        except httptools.HttpParserCallbackError as error:
            log_fault("a request failed", error)
            self._transport.abort()
        except httptools.HttpParserError as error:
            self._refuse_part(f"The request cannot be read: {error}.")
        else:
            if self._in_head and self._bytes > _MAX_HEAD_BYTES:
                self._refuse_head()
            if self._in_body and self._bytes > MAX_READ_BYTES:
                self._refuse(PayloadTooLarge(f"The body, with all that frames it, is over {MAX_READ_BYTES} bytes."))

    def _parse(self, data: memoryview) -> None:
        """Parses all `data`. A request for another protocol is treated as one without Upgrade (RFC 9110 §7.8)."""
        while data and not self._ends:
            try:
                self._parser.feed_data(data)
            except httptools.HttpParserUpgrade as stopped:
                data = data[stopped.args[0] :]
                if not self._ends:
                    self._parse_again()
            else:
                return

    def _parse_again(self) -> None:
        """Parses the head again without the header Upgrade, at which the parser stopped."""
        version = self._parser.get_http_version().encode()
        head = [b"%s %s HTTP/%s" % (self._parser.get_method(), self._target, version)]
        head += [b"%s: %s" % header for header in self._headers if header[0].lower() != b"upgrade"]
        self._parser = httptools.HttpRequestParser(self)
        self._begin()
        self._parser.feed_data(b"\r\n".join([*head, b"", b""]))

    def on_message_begin(self) -> None:
        self._in_head = True
        self._set_deadline(BODY_S)

    def on_url(self, url: bytes) -> None:
        self._target += url

    def on_header(self, name: bytes, value: bytes) -> None:
        # Trailers may follow the body; they are not headers of the request.
        if self._in_head and len(self._headers) <= _MAX_HEADERS:
            self._headers.append((name, value))

    def on_headers_complete(self) -> None:
        head_bytes = len(self._target) + sum(len(name) + len(value) for name, value in self._headers)
        if len(self._headers) > _MAX_HEADERS or head_bytes > _MAX_HEAD_BYTES:
            self._refuse_head()
        self._in_head, self._in_body, self._bytes = False, True, 0
        self._set_deadline(BODY_S)
        # Not before an earlier request's response, of which it would seem a part; HTTP/1.0 has no 100.
        if not self._ends and not self._waiting and self._parser.get_http_version() == "1.1":
            headers = ((name.lower(), value.strip().lower()) for name, value in self._headers)
            if (b"expect", b"100-continue") in headers:
                self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    def on_body(self, body: bytes) -> None:
        # One byte over the limit is kept. The rest is read and dropped: a client that still writes sees no response.
        self._body += body[: MAX_BODY_BYTES + 1 - len(self._body)]

    def on_message_complete(self) -> None:
        is_tunnel = self._parser.get_method() == b"CONNECT"
        if self._ends or (self._parser.should_upgrade() and not is_tunnel):
            return
        arrived, version, connection_header = self._arrived(), self._parser.get_http_version(), _CLOSE
        # HTTP/1.0 has no chunks: a proxy may see the end of the request elsewhere (RFC 9112 §6.1).
        is_torn = version == "1.0" and "transfer-encoding" in arrived.headers
        if self._parser.should_keep_alive() and not (is_tunnel or is_torn or _is_stream(arrived)):
            connection_header = _KEEP_ALIVE.get(version, "")
        self._begin()
        self._owe(arrived, connection_header)

    def _arrived(self, fault: ApiError | None = None) -> Arrived:
        method = self._parser.get_method().decode("latin-1")
        headers, target = headers_in(self._headers), self._target
        if named := _ABSOLUTE.fullmatch(target):
            # The target's host replaces the header's (RFC 9112 §3.2.2).
            headers["host"], target = named[1].decode("latin-1"), named[2]
        return Arrived(method, target, headers, bytes(self._body), fault)

    def _refuse(self, error: ApiError) -> None:
        """Refuses an incomplete request and stops reading, since its remaining bytes would look like a new request."""
        if not self._ends:
            self._owe(self._arrived(error) if self._in_body else Arrived("", b"", {}, fault=error), _CLOSE)

    def _refuse_part(self, of_head: str) -> None:
        """Refuses a request that broke off; `of_head` is the error's message if even its head is incomplete."""
        of_body = "The connection ended, or the chunks broke off, before the body did."
        self._refuse(InvalidRequest(of_body, code="body_incomplete") if self._in_body else InvalidRequest(of_head))

    def _refuse_head(self) -> None:
        if self._headers and len(self._target) <= _MAX_HEAD_BYTES:
            message = f"The headers are over {_MAX_HEADERS}, or the head over {_MAX_HEAD_BYTES} bytes."
            self._refuse(HeadTooLarge(message))
        else:
            self._refuse(TargetTooLong(f"The request's first line is over {_MAX_HEAD_BYTES} bytes."))

    def _owe(self, arrived: Arrived, connection_header: str) -> None:
        self._waiting.append(_Exchange(self, arrived, connection_header, time.monotonic()))
        self._ends = self._ends or connection_header == _CLOSE
        if len(self._waiting) >= _MOST_WAIT:
            self._transport.pause_reading()
        self._next()

    def _next(self) -> None:
        """Lets the server handle the next request, once the previous response is sent and the client reads."""
        if self._waiting and not self._answering and not self._unread:
            self._answering = True
            self._server.take(self._waiting[0])

    def give_up(self, now_s: float) -> None:
        """If the deadline is over: refuses a late body, closes a connection that is idle or reads no responses."""
        if now_s < self.until_s or (self._waiting and not self._unread):
            return
        if (unread := self._transport.get_write_buffer_size()) < self._unread:
            # The other end reads, however slowly.
            self._unread = unread
            self._set_deadline(BODY_S)
        elif self._unread or self._transport.is_closing():
            self._transport.abort()
        elif self._in_body and not self._ends:
            self._refuse(RequestTimeout(f"The body had not arrived whole after {BODY_S} seconds."))
        else:
            self._transport.close()

    def ask_again(self, arrived: Arrived) -> None:
        """Requests more of a stream from the server, unless such a request is already waiting."""
        if not self._waiting:
            self._owe(arrived, _CLOSE)

    def send(self, answer: Answer, *, is_more: bool = False) -> None:
        """Sends the response to the oldest waiting request or, with `is_more`, more of a stream."""
        if not self._waiting:
            return  # the other end has gone
        exchange, self._answering = self._waiting.popleft(), False
        connection_header = _CLOSE if self._server.is_ending and not self._waiting else exchange.connection_header
        lines = [_LINES[answer.status], f"date: {self._server.date}\r\n"]
        lines += [f"{name}: {value}\r\n" for name, value in answer.headers]
        head = "" if is_more else "".join([*lines, connection_header, "\r\n"])
        self._transport.write(head.encode("latin-1") + answer.body)
        if connection_header == _CLOSE:
            self._ends = True
        elif len(self._waiting) == _MOST_WAIT - 1:
            self._transport.resume_reading()
        if not (self._unread or self._in_head or self._in_body):
            self._set_deadline(_IDLE_S)
        if self._waiting:
            # Not called directly, since a thousand requests may have come in one piece.
            self._server.loop.call_soon(self._next)
        self._close_if_done()

    def _close_if_done(self) -> None:
        if not self._ends or self._waiting or self in self._server.streams or self._transport.is_closing():
            return
        if self._in_head or self._in_body:
            # If it were closed now, the other end would lose the response: the rest is read, or given up, first.
            self._transport.write_eof()
            self._set_deadline(_LINGER_S)
        else:
            self._transport.close()

    def end(self) -> None:
        """Closes a connection without a waiting request; a request or response in transfer gets a moment more."""
        if self._unread or not self._waiting:
            self.until_s = min(self.until_s, time.monotonic() + _LINGER_S)
        if not self._waiting and (self._ends or not (self._in_head or self._in_body)):
            self._ends = True
            self._transport.close()


_Begun = Answer | Callable[[], Answer]
"""A response, or a function that waits and then returns it."""


class ConnectionServer:
    """Handles the requests of all connections on the loop's thread, and calls `after_each` after each response."""

    def __init__(self, engine: Engine, app: Application, after_each: Callable[[], object]) -> None:
        self._engine = engine
        self._app = app
        self._after_each = after_each
        self._reads: list[_Exchange] = []
        self._commands: deque[_Exchange] = deque()
        self._is_woken = False
        self._told_s = -math.inf
        self.loop = asyncio.get_running_loop()
        self.connections: set[_Connection] = set()
        self.streams: dict[_Connection, Arrived] = {}
        """Connection of a stream → the request for the next changes."""
        self._seen_state: tuple[float, ...] = ()
        self.is_ending = False
        self._sweep()

    def take(self, exchange: _Exchange) -> None:
        """Queues a request; the loop handles it together with all others that have arrived by then."""
        (self._reads if exchange.arrived.method in _READS else self._commands).append(exchange)
        self._wake(0)

    def _wake(self, in_s: float) -> None:
        if not self._is_woken:
            self._is_woken = True
            if in_s:
                self.loop.call_later(in_s, self._run_all)
            else:
                self.loop.call_soon(self._run_all)

    def _run_all(self) -> None:
        """Handles all queued reads in one transaction, up to 64 commands in another, and sends the responses."""
        self._is_woken = False
        self._reads = self._handle_batch(self._reads, reads_only=True) if self._reads else []
        batch = [self._commands.popleft() for _ in range(min(len(self._commands), _MOST_TOGETHER))]
        postponed = self._handle_batch(batch, reads_only=False)
        self._commands.extendleft(reversed(postponed))
        while postponed and self._commands and time.monotonic() - self._commands[0].since_s > BUSY_S:
            locked = ServiceUnavailable("Another program has the sandbox's store locked.", code="storage_locked")
            self._send(self._commands.popleft(), self._app.unreadable(locked))
        if self._reads or self._commands:
            self._wake(_AGAIN_S if self._reads or postponed else 0)

    def _handle_batch(self, batch: list[_Exchange], *, reads_only: bool) -> list[_Exchange]:
        """Handles these requests; returns those that cannot begin while another process or thread holds the store.

        With `reads_only`, all of them are reads; a read that has to write is queued with the commands.
        """
        begun = self._begin_batch(batch, reads_only=reads_only) if reads_only or len(batch) > 1 else []
        if begun is None:
            return batch
        if not begun:
            # A single request, or the shared transaction failed: each gets its own transaction, and its own error.
            for place, exchange in enumerate(batch):
                try:
                    self._send(exchange, self._begun(exchange))
                except NotNow:
                    return batch[place:]
        for exchange, response in zip(batch, begun, strict=False):
            if response is None:
                self._commands.append(exchange)
            else:
                self._send(exchange, response)
        return []

    def _begin_batch(self, batch: list[_Exchange], *, reads_only: bool) -> list[_Begun | None] | None:
        """Begins these requests in one transaction; returns the results in order, None for a read that has to write.

        An empty list means that the transaction failed and the requests must be handled one by one. None instead of a
        list means that the transaction cannot begin now.
        """
        begun: list[_Begun | None] | None = None
        try:
            with self._engine.store.grouped(reads_only=reads_only):
                begun = []
                for exchange in batch:
                    try:
                        begun.append(self._begun(exchange))
                    except NotNow:
                        if not reads_only:
                            raise
                        begun.append(None)
        except NotNow:
            return None if begun is None else []
        except Exception as error:
            _LOG.debug("%s requests are answered one by one: %s", len(batch), error)
            return []
        return begun

    def _begun(self, exchange: _Exchange) -> _Begun:
        arrived = _resumed(exchange.arrived)
        try:
            if not arrived.method and arrived.fault is not None:
                return self._app.unreadable(arrived.fault)
            return self._app.begin(arrived)
        except NotNow:
            raise
        except Exception as error:
            return _failure_answer(error)

    def _send(self, exchange: _Exchange, begun: _Begun) -> None:
        if isinstance(begun, Answer):
            if _is_stream(exchange.arrived):
                self._stream(*exchange[:2], begun)
                return
            if self._engine.speaker:
                self._engine.speaker.request(exchange.arrived, begun, time.monotonic() - exchange.since_s)
            exchange.connection.send(begun)
            self._after_each()
            return
        try:
            threading.Thread(target=self._wait, args=(exchange, begun), daemon=True).start()
        except RuntimeError as error:  # there are no more threads
            self._send(exchange, _failure_answer(error))

    def _stream(self, connection: _Connection, arrived: Arrived, answer: Answer) -> None:
        """Sends a stream's changes, and keeps its request for later changes; an error ends the stream."""
        is_more = self.streams.pop(connection, None) is not None
        if answer.status == HTTPStatus.OK and connection in self.connections:
            answer, self.streams[connection], has_more = _streamed(arrived, answer)
            self._seen_state = () if has_more else self._seen_state
        elif is_more:
            answer = Answer(answer.status, [], b"")
        connection.send(answer, is_more=is_more)

    def _wait(self, exchange: _Exchange, finish: Callable[[], Answer]) -> None:
        """Waits, in the thread of one request, for its response, and lets the loop send it."""
        try:
            answer = finish()
        except Exception as error:
            answer = _failure_answer(error)
        with suppress(RuntimeError):  # the loop has ended
            self.loop.call_soon_threadsafe(self._send, exchange, answer)

    def _sweep(self) -> None:
        """Closes late connections and refuses late requests; sends each stream the store's changes, or a comment."""
        now_s, self.date = time.monotonic(), formatdate(usegmt=True)
        for connection in tuple(self.connections):
            connection.give_up(now_s)
        if self.streams and (state := (*self._engine.store.version(), now_s // _COMMENT_S)) != self._seen_state:
            self._seen_state = state
            for connection, arrived in self.streams.items():
                connection.ask_again(arrived)

    def _loop_failed(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Logs failures in the loop, but not each of the thousand attempts a second to accept a connection."""
        error = context.get("exception")
        if error is None:
            loop.default_exception_handler(context)
        elif "socket" in context:
            if time.monotonic() > self._told_s + _LOG_AGAIN_S:
                self._told_s = time.monotonic()
                _LOG.error("No more connections can be taken: %s. Those that wait are taken once others end.", error)
        elif not (self.is_ending and isinstance(error, ValueError)):  # what it tries again has been closed
            log_fault(context["message"], error)

    async def answer_until(
        self, ended: asyncio.Event, bound: socket.socket, *, on_tick: Callable[[], object], ready: Callable[[], object]
    ) -> None:
        """Handles requests on a socket until `ended` is set, and then the requests that came before.

        `ready` is called once the socket accepts connections, and `on_tick` every `_TICK_S` seconds, or more often
        while few streams are open.
        """
        self.loop.set_exception_handler(self._loop_failed)

        def tick() -> None:
            self.loop.call_later(min(_LOOK_S * len(self.streams) or _TICK_S, _TICK_S), tick)
            self._sweep()
            on_tick()

        with self._engine.store.never_waiting_here():
            listening = await self.loop.create_server(partial(_Connection, self), sock=bound, backlog=_BACKLOG)
            tick()
            ready()
            await ended.wait()
            await self._end(listening, bound)

    async def _end(self, listening: asyncio.Server, bound: socket.socket) -> None:
        """Closes the port and idle connections; refuses requests without a response after `_STOP_S` seconds."""
        self.is_ending = True
        await asyncio.sleep(_GRACE_S)
        # Clients in the backlog would be reset when the port closes: the backlog takes no more, and is emptied here.
        bound.listen(0)
        accepted_sockets = list[socket.socket]()
        with suppress(OSError):  # nobody is left
            while True:
                accepted_sockets.append(bound.accept()[0])
        listening.close()
        for accepted in accepted_sockets:
            await self.loop.connect_accepted_socket(partial(_Connection, self), accepted)
        await asyncio.sleep(_GRACE_S)
        until_s = time.monotonic() + _STOP_S
        while self.connections and time.monotonic() < until_s:
            for connection in tuple(self.connections):
                connection.end()
            await asyncio.sleep(_TICK_S / 5)
        late = ServiceFailed("The server was asked to end, and this took too long to wait for.")
        for connection in tuple(self.connections):
            with suppress(NotNow):
                connection.send(self._app.unreadable(late))


def _is_stream(arrived: Arrived) -> bool:
    is_there = arrived.method == "GET" and arrived.target.partition(b"?")[0] == _PATH
    return is_there and _EVENTS in arrived.headers.get("accept", "")


def _resumed(arrived: Arrived) -> Arrived:
    """A request that resumes a stream, with its Last-Event-ID as `after` in the query; any other request unchanged."""
    if _LAST not in arrived.headers or not _is_stream(arrived):
        return arrived
    return msgspec.structs.replace(arrived, target=b"%s?after=%s" % (_PATH, arrived.headers[_LAST].encode()))


def _streamed(arrived: Arrived, answer: Answer) -> tuple[Answer, Arrived, bool]:
    """The page in `answer` as server-sent events, the request for the next page, and True if more rows exist now."""
    page = msgspec.json.decode(answer.body, type=Changes)
    headers = [header for header in answer.headers if header[0] not in {"content-type", "content-length"}]
    headers += [("content-type", _EVENTS), ("cache-control", "no-store")]
    next_request = msgspec.structs.replace(arrived, headers={**arrived.headers, _LAST: str(page.last_seq)})
    return Answer(answer.status, headers, page.as_events()), next_request, page.has_more


def _failure_answer(error: Exception) -> Answer:
    log_fault("a request failed", error)
    return Answer(500, [("content-type", "text/plain"), ("content-length", "0")], b"")
