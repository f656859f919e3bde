"""The sandbox on a port: one thread parses HTTP (llhttp) and answers; what waits is done in other threads."""

import asyncio
import logging
import multiprocessing
import os
import signal
import socket
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import replace
from email.utils import formatdate
from functools import partial
from http import HTTPStatus
from multiprocessing import connection, resource_tracker
from pathlib import Path
from typing import Final, NamedTuple, cast

import httptools

from workbench.errors import ApiError, HeadTooLarge, InvalidRequest, TargetTooLong, WorkbenchError
from workbench.sandbox.access import Hosts, Origins
from workbench.sandbox.engine import Application, Engine
from workbench.sandbox.messages import (
    BODY_S,
    MAX_BODY_BYTES,
    MAX_READ_BYTES,
    Answer,
    Arrived,
    body_incomplete,
    body_late,
    headers_in,
    log_fault,
)
from workbench.sandbox.ports import LOOPBACK, listener
from workbench.sandbox.store import NotNow, Settings

_LOG = logging.getLogger(__name__)
_TICK_S: Final = 0.05
_AFTER_A_FAULT_S: Final = 1.0
_IDLE_S: Final = 75
"""How long a connection may stay open between two requests."""
_MAX_HEAD_BYTES: Final = 65_536
_MAX_HEADERS: Final = 100
_MOST_WAIT: Final = 8
"""So many requests of one connection wait for their responses, then it is not read."""
_MOST_TOGETHER: Final = 64
"""So many commands are one transaction at most."""
_BACKLOG: Final = 1024
_START_S: Final = 30
_STOP_S: Final = 15
"""How long requests in flight may take once the server is asked to end; longer than a body may take to arrive."""
_GRACE_S: Final = 0.1
"""How long connections are still taken then: a client that has just connected is answered."""
_LINES: Final = {each: f"HTTP/1.1 {each.value} {each.phrase}\r\n" for each in HTTPStatus}
_READS: Final = ("GET", "HEAD", "")
"""Methods that ask for nothing to be done; an empty one is of what is no request."""
_LINGER_S: Final = 1
_AGAIN_S: Final = 0.005
"""After so long a command is tried again that another process or thread was in the way of."""


_CLOSE: Final = "connection: close\r\n"
_KEEP_ALIVE: Final = {"1.0": "connection: keep-alive\r\n"}


class _Exchange(NamedTuple):
    """A request, the connection that waits for the response, and the line by which the response says how it goes on."""

    connection: "_Connection"
    arrived: Arrived
    goes_on: str


class _Connection(asyncio.Protocol):
    """One connection: requests are received whole and answered in their order."""

    _transport: asyncio.Transport

    def __init__(self, server: "_Server") -> None:
        self._server = server
        self._parser = httptools.HttpRequestParser(self)
        self._begin()
        self._waiting: deque[_Exchange] = deque()
        self._answering = False
        self._full = False
        """The other end does not read what was sent."""
        self._ends = False
        """Nothing more is read: the end of the connection follows the responses that are owed."""
        self.until_s = time.monotonic() + _IDLE_S

    def _begin(self) -> None:
        self._target, self._headers, self._head_bytes = b"", list[tuple[bytes, bytes]](), 0
        self._body, self._body_bytes = bytearray(), 0
        self._in_head, self._in_body = False, False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._server.connections.add(self)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002  the base class's signature
        self._server.connections.discard(self)
        self._ends = True
        self._waiting.clear()

    def pause_writing(self) -> None:
        self._full, self.until_s = True, time.monotonic() + BODY_S

    def resume_writing(self) -> None:
        self._full, self.until_s = False, time.monotonic() + _IDLE_S
        self._next()

    def eof_received(self) -> bool:
        """The other end sends nothing more, and may still read. Half a request is refused."""
        if self._in_body:
            self._refuse(body_incomplete())
        elif self._in_head:
            self._refuse(InvalidRequest("The connection ended in the middle of a request's head."))
        self._begin()
        self._ends = True
        self._close_if_done()
        return True

    def data_received(self, data: bytes) -> None:
        if self._ends:
            return
        if not self._in_head and not self._in_body:
            self.until_s, self._in_head = time.monotonic() + BODY_S, True
        if not self._in_body:
            self._head_bytes += len(data)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            # It is answered as if it had not asked; what follows is of no protocol that is spoken here.
            self._ends = True
        except httptools.HttpParserCallbackError as error:
            log_fault("a request failed", error)
            self._transport.abort()
        except httptools.HttpParserError as error:
            # A first empty line is no request yet.
            self._refuse(
                body_incomplete() if self._in_body else InvalidRequest(f"The request cannot be read: {error}.")
            )
        else:
            if self._in_head and self._head_bytes > _MAX_HEAD_BYTES:
                self._refuse(_too_large(self._headers))

    def on_message_begin(self) -> None:
        self._in_head, self.until_s = True, time.monotonic() + BODY_S

    def on_url(self, url: bytes) -> None:
        self._target += url

    def on_header(self, name: bytes, value: bytes) -> None:
        # Behind the body there may be more of them, which are no headers of the request.
        if self._in_head and len(self._headers) <= _MAX_HEADERS:
            self._headers.append((name, value))

    def on_headers_complete(self) -> None:
        if len(self._headers) > _MAX_HEADERS:
            self._refuse(_too_large(self._headers))
        self._in_head, self._in_body, self._head_bytes = False, True, 0
        self.until_s = time.monotonic() + BODY_S
        if not self._ends and any(name.lower() == b"expect" and value.lower() == b"100-continue" for name, value in self._headers):
            self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    def on_body(self, body: bytes) -> None:
        self._body_bytes += len(body)
        # Over the limit is told by one byte. The rest is read: a client that still writes sees no response.
        self._body += body[: MAX_BODY_BYTES + 1 - len(self._body)]
        if self._body_bytes > MAX_READ_BYTES and not self._ends:
            self._owe(self._arrived(), _CLOSE)

    def on_message_complete(self) -> None:
        if self._ends:
            return
        arrived, goes_on = self._arrived(), _CLOSE
        if self._parser.should_keep_alive():
            goes_on = _KEEP_ALIVE.get(self._parser.get_http_version(), "")
        self._begin()
        self.until_s = time.monotonic() + _IDLE_S
        self._owe(arrived, goes_on)

    def _arrived(self, fault: ApiError | None = None) -> Arrived:
        method = self._parser.get_method().decode("latin-1")
        headers, target = headers_in(self._headers), self._target
        if not target.startswith((b"/", b"*")):
            with suppress(httptools.HttpParserInvalidURLError):
                url = httptools.parse_url(target)
                # A target that names a host outdoes the header (RFC 9112 §3.2.2).
                port = f":{url.port}" if url.port else ""
                headers["host"] = f"{(url.host or b'').decode('latin-1')}{port}"
                target = (url.path or b"/") + (b"?" + url.query if url.query else b"")
        return Arrived(method, target, headers, bytes(self._body), fault)

    def _refuse(self, error: ApiError) -> None:
        """Refuse what did not arrive whole; what is still to come would be read as the next request."""
        if not self._ends:
            self._owe(self._arrived(error) if self._in_body else Arrived("", b"", {}, fault=error), _CLOSE)

    def _owe(self, arrived: Arrived, goes_on: str) -> None:
        self._waiting.append(_Exchange(self, arrived, goes_on))
        self._ends = self._ends or goes_on == _CLOSE
        if len(self._waiting) >= _MOST_WAIT:
            self._transport.pause_reading()
        self._next()

    def _next(self) -> None:
        """Have the next request answered, in its order, once the response before it is sent."""
        if self._waiting and not self._answering and not self._full:
            self._answering = True
            self._server.take(self._waiting[0])

    def give_up(self, now_s: float) -> None:
        """Refuse or close what has not come by now, or was not read."""
        if now_s < self.until_s or (self._waiting and not self._full):
            return
        if self._full or self._transport.is_closing():
            self._transport.abort()
        elif self._in_body and not self._ends:
            self._refuse(body_late())
        else:
            self._transport.close()

    def send(self, answer: Answer) -> None:
        """Send the response that is owed next."""
        if not self._waiting:
            return  # the other end has gone
        exchange, self._answering = self._waiting.popleft(), False
        goes_on = _CLOSE if self._server.is_ending else exchange.goes_on
        lines = [_LINES[answer.status], f"date: {self._server.date}\r\n"]
        lines += [f"{name}: {value}\r\n" for name, value in answer.headers]
        self._transport.write("".join([*lines, goes_on, "\r\n"]).encode("latin-1") + answer.body)
        if goes_on == _CLOSE:
            self._ends = True
            self._waiting.clear()
        elif len(self._waiting) == _MOST_WAIT - 1:
            self._transport.resume_reading()
        if not (self._in_head or self._in_body):
            self.until_s = time.monotonic() + _IDLE_S
        if self._waiting:
            # Not at once: a thousand requests may have come in one piece.
            self._server.loop.call_soon(self._next)
        self._close_if_done()

    def _close_if_done(self) -> None:
        if not self._ends or self._waiting or self._transport.is_closing():
            return
        if self._in_head or self._in_body:
            # Closed before all has come, the other end would lose the response: it is read, or given up, first.
            self._transport.write_eof()
            self.until_s = time.monotonic() + _LINGER_S
        else:
            self._transport.close()

    def end(self) -> None:
        """Close a connection that is owed nothing."""
        if not self._waiting:
            self._ends = True
            self._transport.close()


def _too_large(headers: list[tuple[bytes, bytes]]) -> ApiError:
    """Why a head is refused: its first line, or its headers."""
    if headers:
        return HeadTooLarge(f"The headers are over {_MAX_HEADERS}, or the head over {_MAX_HEAD_BYTES} bytes.")
    return TargetTooLong(f"The request's first line is over {_MAX_HEAD_BYTES} bytes.")


_Begun = Answer | Callable[[], Answer]
"""A response, or what waits and then returns one."""


class _Server:
    """Answers the requests of all connections on the loop's thread; `after_each` is called there after each."""

    def __init__(self, engine: Engine, app: Application, after_each: Callable[[], object]) -> None:
        self._engine = engine
        self._app = app
        self._after_each = after_each
        self._commands: deque[_Exchange] = deque()
        self._is_woken = False
        self.loop = asyncio.get_running_loop()
        self.connections: set[_Connection] = set()
        self.is_ending = False
        self.sweep()

    def take(self, exchange: _Exchange) -> None:
        """Answer what reads at once; what writes, together with all that has arrived by then."""
        if exchange.arrived.method in _READS:
            with suppress(NotNow):
                self._send(exchange, self._begun(exchange))
                return
        self._commands.append(exchange)
        self._wake(0)

    def _wake(self, in_s: float) -> None:
        if not self._is_woken:
            self._is_woken = True
            self.loop.call_later(in_s, self._run_commands)

    def _run_commands(self) -> None:
        """Run the commands that have arrived as one transaction; each is answered after the commit."""
        self._is_woken = False
        batch = [self._commands.popleft() for _ in range(min(len(self._commands), _MOST_TOGETHER))]
        done = 0
        try:
            begun = self._together(batch) if len(batch) > 1 else []
            for exchange in batch:
                self._send(exchange, begun[done] if begun else self._begun(exchange))
                done += 1
        except NotNow:
            self._commands.extendleft(reversed(batch[done:]))
        if self._commands:
            self._wake(0 if done else _AGAIN_S)

    def _together(self, batch: Sequence[_Exchange]) -> Sequence[_Begun]:
        """What comes of commands in one transaction; nothing where that is lost and each is to be run alone.

        Raises NotNow: it cannot begin.
        """
        begun: list[_Begun] = []
        has_begun = False
        try:
            with self._engine.store.grouped():
                has_begun = True
                begun += [self._begun(each) for each in batch]
        except Exception as error:
            if not has_begun:
                raise
            _LOG.debug("%s commands are run one by one: %s", len(batch), error)
            return []
        return begun

    def _begun(self, exchange: _Exchange) -> _Begun:
        arrived = exchange.arrived
        try:
            if not arrived.method and arrived.fault is not None:
                return self._app.unreadable(arrived.fault)
            return self._app.begin(arrived)
        except NotNow:
            raise
        except Exception as error:  # noqa: BLE001  what not even a failure's response survives
            return _failed(error)

    def _send(self, exchange: _Exchange, begun: _Begun) -> None:
        if isinstance(begun, Answer):
            exchange.connection.send(begun)
            self._after_each()
            return
        threading.Thread(target=self._wait, args=(exchange, begun), daemon=True).start()

    def _wait(self, exchange: _Exchange, finish: Callable[[], Answer]) -> None:
        """Wait in a thread of its own, such as for the clock, and have the response sent."""
        try:
            answer = finish()
        except Exception as error:  # noqa: BLE001  as above
            answer = _failed(error)
        with suppress(RuntimeError):  # the loop has ended
            self.loop.call_soon_threadsafe(self._send, exchange, answer)

    def sweep(self) -> None:
        """Give up what has not come in time."""
        now_s, self.date = time.monotonic(), formatdate(usegmt=True)
        for each in tuple(self.connections):
            each.give_up(now_s)

    async def end(self, listening: asyncio.Server) -> None:
        """Answer what has come, close what is idle, and let go of the port."""
        self.is_ending = True
        await asyncio.sleep(_GRACE_S)
        listening.close()
        until_s = time.monotonic() + _STOP_S
        while self.connections and time.monotonic() < until_s:
            for each in tuple(self.connections):
                each.end()
            await asyncio.sleep(_TICK_S / 5)


def _failed(error: Exception) -> Answer:
    log_fault("a request failed", error)
    return Answer(500, [("content-type", "text/plain"), ("content-length", "0")], b"")


async def _answer_until(
    ended: asyncio.Event,
    engine: Engine,
    app: Application,
    bound: socket.socket,
    *,
    after_each: Callable[[], object],
    on_tick: Callable[[], object],
    ready: Callable[[], object],
) -> None:
    """Answer on a socket until `ended` is set and what was asked until then is answered."""
    loop = asyncio.get_running_loop()
    server = _Server(engine, app, after_each)

    def tick() -> None:
        loop.call_later(_TICK_S, tick)
        server.sweep()
        on_tick()

    with engine.store.never_waiting_here():
        listening = await loop.create_server(lambda: _Connection(server), sock=bound, backlog=_BACKLOG)
        tick()
        ready()
        await ended.wait()
        await server.end(listening)


class _Runner:
    """Runs what is due in a thread of its own whenever it is woken, and then calls `then`."""

    def __init__(self, engine: Engine, then: Callable[[], object] = lambda: None) -> None:
        self._engine = engine
        self._then = then
        self._woken = threading.Event()
        self._ends = False
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def wake(self) -> None:
        """Run what is due, once more after what runs already."""
        self._woken.set()

    def end(self, within_s: float | None) -> None:
        """Finish what was asked for, if that takes no longer than so many seconds; None waits."""
        self._ends = True
        self._woken.set()
        self._thread.join(within_s)

    def _run(self) -> None:
        while not self._ends or self._woken.is_set():
            self._woken.wait()
            self._woken.clear()
            try:
                self._engine.run_due()
                self._then()
            except WorkbenchError as error:
                _LOG.debug("not now: %s", error)
            except Exception as error:  # noqa: BLE001  the thread must not end, whatever the fault is
                if not self._ends:
                    log_fault("what was due failed", error)
                    time.sleep(_AFTER_A_FAULT_S)


@contextmanager
def listening(
    engine: Engine,
    port: int,
    *,
    allow_hosts: Iterable[str],
    allow_origins: Iterable[str],
    after_each: Callable[[], object],
) -> Iterator[str]:
    """Answer on a port of this machine's loopback too while the block runs; its base URL.

    `allow_hosts` are names to answer by beside the loopback's own, `allow_origins` those of pages that may call
    what a publishable key may. `after_each` is called after responses, when what the calls made due has been done.
    Requests in flight are finished before the block is left.
    Raises ServeRefused: what is allowed is no name of a host, or no origin. Raises PortTaken: something listens there.
    """
    app = engine.app_to_serve(Hosts(allow_hosts), Origins(allow_origins))
    bound, address = listener(LOOPBACK, port)
    runner, is_up, end = _Runner(engine, after_each), threading.Event(), list[Callable[[], object]]()

    async def answering() -> None:
        ended = asyncio.Event()
        end.append(partial(asyncio.get_running_loop().call_soon_threadsafe, ended.set))
        await _answer_until(ended, engine, app, bound, after_each=runner.wake, on_tick=lambda: None, ready=is_up.set)

    thread = threading.Thread(target=lambda: asyncio.run(answering()), name="workbench-serve", daemon=True)
    thread.start()
    is_up.wait(_START_S)
    try:
        yield address.base_url
    finally:
        end[0]()
        thread.join()
        runner.end(None)


class Address(NamedTuple):
    """Where a served sandbox answers, its test keys, and the signing secret of `webhook`, if one was given.

    `email` and `password` are those of its one account, where it has one.
    """

    base_url: str
    secret_key: str
    publishable_key: str
    webhook_secret: str | None = None
    email: str | None = None
    password: str | None = None


def serve(  # noqa: PLR0913  one argument per option, handed over by name
    settings: Settings,
    *,
    host: str,
    port: int,
    workers: int,
    webhook: str | None,
    allow_hosts: Sequence[str] = (),
    allow_origins: Sequence[str] = (),
    announce: Callable[[Address], object],
) -> None:
    """Serve a sandbox at `host` until interrupted; call it from the main thread.

    `announce` is called once requests are answered. Without a path in `settings` the store is
    thrown away at the end. Port 0 takes a free one. `webhook` is a URL that is sent every event: an
    enabled endpoint of the store with this URL is used again, or one is made. `allow_hosts` are names to answer by
    beside the loopback's own and `host`, `allow_origins` those of pages that may call what a publishable key may.
    Raises PortTaken: something listens there. Raises ServeRefused: no address of this machine, no name, no origin.
    Raises StoreRefused: the file cannot be used. Raises InvalidRequest: `webhook` may not be called.
    """
    with ExitStack() as at_end:
        bound, address = listener(host, port)
        at_end.enter_context(closing(bound))
        hosts, origins = Hosts((host, address.address, *allow_hosts)), Origins(allow_origins)
        at_end.enter_context(_signals_mean(lambda: sys.exit(0)))
        path = settings.path
        if path is None:
            path = Path(at_end.enter_context(tempfile.TemporaryDirectory(prefix="workbench-"))) / "store.db"
        served = replace(settings, path=path)
        # Open to the end: who closes last folds into the file what was written last.
        engine = Engine(served, raise_bugs=False)
        at_end.callback(engine.close, patience_s=0)
        keys = engine.store.key("secret"), engine.store.key("publishable")
        account = engine.store.credentials or (None, None)
        ready = partial(
            announce, Address(address.base_url, *keys, engine.registered(webhook) if webhook else None, *account)
        )
        if workers == 1:
            asyncio.run(_work(engine, hosts, origins, bound, ready))
        else:
            _supervise(workers, (replace(served, seed=None, start_ms=None), hosts, origins, bound), ready)


async def _work(
    engine: Engine, hosts: Hosts, origins: Origins, bound: socket.socket, ready: Callable[[], object]
) -> None:
    """Answer and run what falls due as the clock goes, until this process is asked to end."""
    ended, runner = asyncio.Event(), _Runner(engine)

    def tick() -> None:
        try:
            if engine.is_due:
                runner.wake()
            engine.store.write_calls()
        except NotNow:
            pass
        except Exception as error:  # noqa: BLE001  a later tick tries again
            log_fault("what was read could not be traced", error)

    app = engine.app_to_serve(hosts, origins)
    with _signals_mean(partial(asyncio.get_running_loop().call_soon_threadsafe, ended.set)):
        await _answer_until(ended, engine, app, bound, after_each=lambda: None, on_tick=tick, ready=ready)
    runner.end(_GRACE_S)


_Shared = tuple[Settings, Hosts, Origins, socket.socket]


def _supervise(workers: int, shared: _Shared, ready: Callable[[], object]) -> None:
    """Run worker processes until this one is asked to end, or one of them ends by itself."""
    # Spawned, not forked: no connection and no lock of this process is carried into a worker.
    context = multiprocessing.get_context("spawn")
    told, tells = context.Pipe(duplex=False)
    family = [context.Process(target=_worker, args=(*shared, tells)) for _ in range(workers)]
    try:
        with _deaf():
            for each in family:
                each.start()
        ends = [each.sentinel for each in family]
        if told in connection.wait([told, *ends], _START_S):
            ready()
            connection.wait(ends)
        _LOG.error("A worker process has ended; so does the server.")
        sys.exit(1)
    finally:
        with _signals_mean(lambda: None):
            for each in family:
                if each.pid is not None:
                    each.terminate()
            for each in family:
                if each.pid is not None:
                    each.join(_STOP_S + _START_S)
                    each.kill()


def _worker(
    settings: Settings, hosts: Hosts, origins: Origins, bound: socket.socket, tells: connection.Connection
) -> None:
    """Be one of several processes that answer on one socket from one file."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    engine = Engine(settings, raise_bugs=False)
    try:
        asyncio.run(_work(engine, hosts, origins, bound, partial(tells.send, None)))
    finally:
        engine.close(patience_s=0)


def _end_with_parent() -> None:
    """End with the parent, even a killed one: a worker that serves on alone would keep the port."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


@contextmanager
def _signals_mean(do: Callable[[], object]) -> Iterator[None]:
    """Call `do` where this process is asked to end: SIGTERM, Ctrl-C, a terminal that is closed."""
    names = ("SIGTERM", "SIGINT", "SIGHUP")
    asked = [each for name in names if (each := getattr(signal, name, None)) is not None]
    # A hang-up that is ignored, as under nohup, stays so.
    before = {each: signal.getsignal(each) for each in asked if signal.getsignal(each) != signal.SIG_IGN}
    for each in before:
        signal.signal(each, lambda *_: do())
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


@contextmanager
def _deaf() -> Iterator[None]:
    """Let processes that are started in the block be born deaf to what a whole terminal is sent: one of them is asked."""
    if sys.platform == "win32":
        yield
        return
    # Where it is first started, it lets through again what was blocked before (Python 3.11).
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGHUP})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
