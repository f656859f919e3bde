"""The sandbox over HTTP for backends in any language: granian's workers, each behind a front that receives whole."""

import asyncio
import io
import logging
import multiprocessing
import os
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from functools import partial
from http.client import HTTPConnection, HTTPException
from multiprocessing import resource_tracker
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Final, NamedTuple
from urllib.parse import unquote_to_bytes
from wsgiref.types import WSGIApplication, WSGIEnvironment

import granian
from granian.constants import HTTPModes, Interfaces
from granian.log import LogLevels

from workbench.domain import wire
from workbench.errors import ApiError, WorkbenchError
from workbench.sandbox.access import Hosts, Origins
from workbench.sandbox.engine import Engine
from workbench.sandbox.messages import (
    BODY_S,
    MAX_BODY_BYTES,
    MAX_READ_BYTES,
    NOT_WHOLE,
    add_headers,
    body_incomplete,
    body_late,
    length_in,
    log_fault,
)
from workbench.sandbox.ports import Port, free_port
from workbench.sandbox.speaking import Speaker
from workbench.sandbox.store import Settings

_LOG = logging.getLogger(__name__)
_TICK_S = 0.05
_AFTER_A_FAULT_S = 1.0
_START_S = 30.0
_STOP_S = 15
"""How long requests in flight may take once the server is asked to end; longer than a body may take to arrive."""
_THREADS = 4
"""For each worker: a backend may call back while `advance` waits for its answer."""
_LOG_TO_STDERR = {
    "handlers": {
        name: {"formatter": "generic", "class": "logging.StreamHandler", "stream": "ext://sys.stderr"}
        for name in ("console", "access")
    }
}

_Message = dict[str, Any]
_Receive = Callable[[], Awaitable[_Message]]
_Send = Callable[[_Message], Awaitable[None]]
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
    """The environment of a WSGI application (PEP 3333), but for the body."""
    server, port = scope["server"]
    environ: WSGIEnvironment = {
        "REQUEST_METHOD": scope["method"], "SCRIPT_NAME": "", "SERVER_NAME": server, "SERVER_PORT": str(port),
        "SERVER_PROTOCOL": f"HTTP/{scope['http_version']}", "REMOTE_ADDR": scope["client"][0],
        "PATH_INFO": unquote_to_bytes(scope["raw_path"]).decode("latin-1"),
        "QUERY_STRING": scope["query_string"].decode("latin-1"),
        "wsgi.version": (1, 0), "wsgi.url_scheme": scope["scheme"], "wsgi.errors": sys.stderr,
        "wsgi.multithread": True, "wsgi.multiprocess": True, "wsgi.run_once": False,
    }  # fmt: skip
    add_headers(environ, scope["headers"])
    return environ


async def _received(environ: WSGIEnvironment, receive: _Receive) -> tuple[bytes, ApiError | None]:
    """The body, up to one byte over the limit, and what is wrong with how it came."""
    length = length_in(environ.get("CONTENT_LENGTH", "")) or 0
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
    quiet: bool = False,
) -> None:
    """Serve a sandbox at `host` until interrupted; call it from the main thread.

    `announce` is called once requests are answered. Without a path in `settings` the store is
    thrown away at the end. Port 0 takes a free one. `webhook` is a URL that is sent every event: an
    enabled endpoint of the store with this URL is used again, or one is made. `allow_hosts` are names to answer by
    beside the loopback's own and `host`, `allow_origins` those of pages that may call what a publishable key may.
    Unless it is `quiet`, standard error has a line for each request and each delivery.
    Raises PortTaken: something listens there. Raises ServeRefused: no address of this machine, no name, no origin.
    Raises StoreRefused: the file cannot be used. Raises InvalidRequest: `webhook` may not be called.
    """
    bound = free_port(host, port)
    hosts, origins = Hosts((host, bound.address, *allow_hosts)), Origins(allow_origins)
    with ExitStack() as at_end:
        path = settings.path
        if path is None:
            path = Path(at_end.enter_context(tempfile.TemporaryDirectory(prefix="workbench-"))) / "store.db"
        at_end.enter_context(_interrupt_means_terminate())
        served = replace(settings, path=path)
        # Open to the end: who closes last folds into the file what was written last.
        engine = at_end.enter_context(closing(Engine(served, raise_bugs=False)))
        keys = engine.store.key("secret"), engine.store.key("publishable")
        account = engine.store.credentials or (None, None)
        address = Address(bound.base_url, *keys, engine.registered(webhook) if webhook else None, *account)
        threading.Thread(target=_when_up, args=(bound, partial(announce, address)), daemon=True).start()
        # Spawned, not forked: no connection and no lock of this process is carried into a worker.
        multiprocessing.set_start_method("spawn", force=True)
        load = partial(_load, replace(served, seed=None, start_ms=None), hosts, origins, os.getpid(), quiet=quiet)
        granian.Granian(
            "workbench",
            address=bound.address,
            port=bound.port,
            # With the lifespan protocol, so that a worker is told of its end.
            interface=Interfaces.ASGI,
            http=HTTPModes.http1,
            websockets=False,
            workers=workers,
            workers_kill_timeout=_STOP_S,
            log_level=LogLevels.error,
            log_dictconfig=_LOG_TO_STDERR,
        ).serve(target_loader=load, wrap_loader=False)


def _load(settings: Settings, hosts: Hosts, origins: Origins, parent: int, *, quiet: bool) -> Front:
    """In the worker: the application, with its two threads."""
    threading.Thread(target=_watch, args=(parent,), daemon=True).start()
    speaker = Speaker(sys.stderr.fileno()) if sys.stderr and not quiet else None
    engine = Engine(settings, raise_bugs=False, speaker=speaker)
    threading.Thread(target=_tick, args=(engine,), daemon=True).start()
    return Front(engine.app_to_serve(hosts, origins), threads=_THREADS, at_end=_end)


def _end() -> None:
    """End the worker, whose last request is answered, here and now.

    The interpreter's own end would race with the server's threads, which then abort (granian 2.8). The store is left
    as a killed process would leave it, whole, as a thread may be at what is due; the parent closes it.
    """
    os._exit(0)


def _tick(engine: Engine) -> None:
    """Run what falls due as the clock runs, and trace what was read; after a fault a later tick tries again."""
    while True:
        time.sleep(_TICK_S)
        try:
            engine.run_due()
            engine.store.write_calls()
        except WorkbenchError as error:
            _LOG.debug("not this tick: %s", error)
        except Exception as error:  # noqa: BLE001  the thread must not end, whatever the fault is
            log_fault("what was due failed", error)
            time.sleep(_AFTER_A_FAULT_S)


def _watch(parent: int) -> None:
    """End with the parent, even a killed one: a worker that serves on alone would keep the port."""
    while os.getppid() == parent:
        time.sleep(_TICK_S * 10)
    os._exit(1)


@contextmanager
def _interrupt_means_terminate() -> Iterator[None]:
    """Ctrl-C, and a terminal that is closed, reach every process at once; here that ends this one, then its workers.

    Workers are born with these signals blocked, so that none dies of one before it is asked to end.
    Until the server has a handler of its own, what was begun here is cleared away.
    """
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    if sys.platform == "win32":
        yield
        return
    # A hang-up that is ignored, as under nohup, stays so.
    heard = {signal.SIGINT} if signal.getsignal(signal.SIGHUP) == signal.SIG_IGN else {signal.SIGINT, signal.SIGHUP}
    # Where it is first started, it lets through again what was blocked before (Python 3.11).
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGHUP})
    threading.Thread(target=_terminate_when_interrupted, args=(heard,), daemon=True).start()
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _terminate_when_interrupted(heard: set[signal.Signals]) -> None:
    signal.sigwait(heard)
    os.kill(os.getpid(), signal.SIGTERM)


def _when_up(bound: Port, announce: Callable[[], object]) -> None:
    """Announce once a request is answered: the socket listens before a worker is there to answer."""
    until = time.monotonic() + _START_S
    while time.monotonic() < until:
        connection = HTTPConnection(bound.reached_at, bound.port, timeout=_START_S)
        try:
            connection.request("GET", "/sandbox/clock", headers={wire.UNSEEN: "true"})
            connection.getresponse().read()
        except (OSError, HTTPException):
            time.sleep(_TICK_S)
        else:
            announce()
            return
        finally:
            connection.close()
