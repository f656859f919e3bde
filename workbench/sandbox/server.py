"""Serves a sandbox on a port, beside a notebook or as `workbench serve`, in one or more processes."""

import asyncio
import errno
import logging
import multiprocessing
import os
import signal
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import replace
from functools import partial
from multiprocessing import connection, resource_tracker
from pathlib import Path
from typing import Final, NamedTuple

from workbench.errors import PortTaken, ServeRefused, WorkbenchError
from workbench.process import signals_mean
from workbench.sandbox.access import LAST_PORT, Admitted
from workbench.sandbox.connections import ConnectionServer
from workbench.sandbox.engine import Door, Engine
from workbench.sandbox.messages import Speaker, log_fault
from workbench.sandbox.outbound import LOOPBACK, address_in
from workbench.sandbox.store import NotNow, Settings

_LOG = logging.getLogger(__name__)
_LOOPBACKS: Final = {4: LOOPBACK, 6: "::1"}
_AFTER_A_FAULT_S: Final = 1.0
_START_S: Final = 30
_STOP_S: Final = 20
"""Seconds for a worker to stop, more than requests in flight get."""
_HURRY_S: Final = 0.1
"""Seconds for due jobs after the server has stopped; the next start runs the rest."""


class _Runner:
    """Runs the due jobs in its own thread whenever `wake` is called, and then calls `then`."""

    def __init__(self, engine: Engine, then: Callable[[], object] = lambda: None) -> None:
        self._engine = engine
        self._then = then
        self._woken = threading.Event()
        self._ends = False
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def wake(self) -> None:
        """Starts the due jobs; if they are already running, they run once more afterwards."""
        self._woken.set()

    def tick(self) -> None:
        """Wakes the runner if a job is due, and writes waiting calls into the trace."""
        try:
            if self._engine.store.clock_if_due():
                self.wake()
            self._engine.store.write_calls()
        except (NotNow, WorkbenchError) as error:
            # The store itself says once what it cannot write.
            _LOG.debug("not this tick: %s", error)
        except Exception as error:
            log_fault("what was read could not be traced", error)

    def end(self, within_s: float | None) -> None:
        """Ends the thread; waits `within_s` seconds (None: without limit) for jobs that were already requested."""
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
            except Exception as error:
                if not self._ends:
                    log_fault("what was due failed", error)
                    time.sleep(_AFTER_A_FAULT_S)


@contextmanager
def listening(
    engine: Engine,
    port: int,
    *,
    allow_hosts: Iterable[str] = (),
    allow_origins: Iterable[str] = (),
    after_each: Callable[[], object] = lambda: None,
    ticks: bool = False,
) -> Iterator[str]:
    """Serves on a port of this machine's loopback while the block runs; yields the base URL.

    `allow_hosts` are accepted host names in addition to the loopback's own, `allow_origins` are origins of pages that
    may call the operations of a publishable key. `after_each` is called after responses, once the jobs that the calls
    made due are done. With `ticks`, for a running clock, due jobs run at their moment; otherwise they run after the
    next call. Requests in flight are finished before the block is left. Raises ServeRefused: an allowed host or origin
    is malformed, or the server does not start. Raises PortTaken: the port is in use.
    """
    app = engine.app_to_serve(Admitted(allow_hosts, allow_origins))
    bound, address = listener(LOOPBACK, port)
    runner, end = _Runner(engine, after_each), list[Callable[[], object]]()
    on_tick = runner.tick if ticks else lambda: None
    began: Future[None] = Future()

    async def answering() -> None:
        ended, ready = asyncio.Event(), partial(began.set_result, None)
        end.append(partial(asyncio.get_running_loop().call_soon_threadsafe, ended.set))
        await ConnectionServer(engine, app, runner.wake).answer_until(ended, bound, on_tick=on_tick, ready=ready)

    def run() -> None:
        try:
            asyncio.run(answering())
        except Exception as error:
            if began.done():
                raise
            began.set_exception(error)

    thread = threading.Thread(target=run, name="workbench-serve", daemon=True)
    thread.start()
    try:
        if error := began.exception(_START_S):
            raise ServeRefused(f"The server did not start: {error}.") from error
        yield address.base_url
    finally:
        with suppress(IndexError, RuntimeError):  # it did not start
            end[0]()
        thread.join()
        runner.end(None)
        bound.close()


class Address(NamedTuple):
    """The URL of a served sandbox, its test keys, and the signing secret of the endpoint `webhook`, if one was given.

    With `email` and `password` a client gets a token; both are None if any values work. `console_url` opens the
    console, once.
    """

    base_url: str
    secret_key: str
    publishable_key: str
    webhook_secret: str | None = None
    email: str | None = None
    password: str | None = None
    console_url: str | None = None


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
    opened: "_Opened",
    quiet: bool = False,
) -> None:
    """Serves a sandbox at `host` until it is interrupted; must be called from the main thread.

    - `settings`: without a path, the store is thrown away at the end.
    - `port`: 0 takes a free port.
    - `webhook`: a URL that is sent every event. An enabled endpoint of the store with this URL is used again.
    - `allow_hosts`: names to answer to, in addition to the loopback's own and `host`.
    - `allow_origins`: origins of pages that may call the operations of a publishable key.
    - `announce`: called once requests are answered.
    - `opened`: called by each process with its sandbox. The function that it returns is called before the sandbox
      closes.
    - `quiet`: standard error has no lines about requests and deliveries.

    Raises PortTaken: the port is in use. Raises ServeRefused: `host` is no address of this machine, or an allowed host
    or origin is malformed.
    Raises StoreRefused: the file cannot be used. Raises InvalidRequest: `webhook` may not be called.
    Raises StateConflict: the store has another endpoint, and the register allows no second.
    """
    with ExitStack() as at_end:
        bound, address = listener(host, port)
        at_end.enter_context(closing(bound))
        door = Door(address.base_url, address.port)
        access = Admitted((host, address.address, *allow_hosts), allow_origins), door
        at_end.enter_context(signals_mean(lambda _: sys.exit(0)))
        path = settings.path
        if path is None:
            path = Path(at_end.enter_context(tempfile.TemporaryDirectory(prefix="workbench-"))) / "store.db"
        served = replace(settings, path=path)
        # Open to the end: the last to close folds SQLite's journal into the file.
        engine = Engine(served, raise_bugs=False, speaker=_speaker(quiet=quiet))
        at_end.callback(engine.close, patience_s=0)
        at_end.callback(opened(engine))
        keys = engine.store.key("secret"), engine.store.key("publishable")
        account: tuple[str | None, str | None] = engine.store.credentials or (None, None)
        registered = engine.registered(webhook) if webhook else None
        ready = partial(announce, Address(address.base_url, *keys, registered, *account, door.link))
        if workers == 1:
            asyncio.run(_work(engine, access, bound, ready))
        else:
            _supervise(workers, (replace(served, seed=None, start_ms=None), access, opened, quiet, bound), ready)


def _speaker(*, quiet: bool) -> Speaker | None:
    """The log writer for standard error; None if `quiet`, or if standard error is not a file, as in a test."""
    with suppress(AttributeError, OSError):
        return None if quiet else Speaker(sys.stderr.fileno())
    return None


async def _work(engine: Engine, access: "_Access", bound: socket.socket, ready: Callable[[], object]) -> None:
    """Handles requests on the socket `bound`, and runs due jobs at their moments, until this process is asked to stop.

    `access` has the admitted hosts and origins, and the console login; `ready` is called once requests are handled.
    """
    ended, runner = asyncio.Event(), _Runner(engine)
    server = ConnectionServer(engine, engine.app_to_serve(*access), after_each=lambda: None)
    loop = asyncio.get_running_loop()
    with signals_mean(lambda _: loop.call_soon_threadsafe(ended.set)):
        await server.answer_until(ended, bound, on_tick=runner.tick, ready=ready)
    runner.end(_HURRY_S)


_Access = tuple[Admitted, Door]
_Opened = Callable[[Engine], Callable[[], object]]
_Shared = tuple[Settings, _Access, _Opened, bool, socket.socket]


def _supervise(workers: int, shared: _Shared, ready: Callable[[], object]) -> None:
    """Runs worker processes until this process is asked to stop, and calls `ready` once a worker is ready.

    Exits with status 1 if a worker ends on its own or none is ready in time.
    """
    # Spawned, not forked: no connection and no lock of this process is carried into a worker.
    context = multiprocessing.get_context("spawn")
    ready_end, worker_end = context.Pipe(duplex=False)
    family = [context.Process(target=_worker, args=(*shared, worker_end)) for _ in range(workers)]
    try:
        with _signals_blocked():
            for process in family:
                process.start()
        ends = [process.sentinel for process in family]
        began = connection.wait([ready_end, *ends], _START_S)
        if ready_end in began:
            # Closed here, so that nobody can connect and wait once no worker listens.
            shared[-1].close()
            ready()
            connection.wait(ends)
        why = "A worker process has ended" if began else f"No worker process was ready within {_START_S} s"
        _LOG.error("%s; so the server ends.", why)
        sys.exit(1)
    finally:
        with signals_mean(lambda _: None):
            started = [process for process in family if process.pid is not None]
            for process in started:
                process.terminate()
            for process in started:
                process.join(_STOP_S)
                process.kill()


def _worker(
    settings: Settings,
    access: _Access,
    opened: _Opened,
    quiet: bool,  # noqa: FBT001  one of a process's arguments
    bound: socket.socket,
    pipe: connection.Connection,
) -> None:
    """Runs a worker process that handles requests on the socket `bound`, from the shared file.

    Sends None through `pipe` once it is ready. `opened` is called with the sandbox; it returns a function to call
    before the sandbox closes.
    """
    threading.Thread(target=_end_with_parent, daemon=True).start()
    with ExitStack() as at_end:
        engine = Engine(settings, raise_bugs=False, speaker=_speaker(quiet=quiet))
        at_end.callback(engine.close, patience_s=0)
        at_end.callback(opened(engine))
        asyncio.run(_work(engine, access, bound, partial(pipe.send, None)))


def _end_with_parent() -> None:
    """Ends this process when its parent ends, even if killed: an orphaned worker would keep the port."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


@contextmanager
def _signals_blocked() -> Iterator[None]:
    """Blocks SIGINT and SIGHUP in the processes that the block starts; a terminal sends these to all of them."""
    if sys.platform == "win32":
        yield
        return
    # Started first, because its start unblocks the signals that were blocked before (Python 3.11).
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGHUP})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class Port(NamedTuple):
    """A numeric address and a port number."""

    address: str
    port: int

    @property
    def base_url(self) -> str:
        """The URL that a client on this machine calls."""
        address = address_in(self.address)
        # Nobody can connect to "every address".
        host = _LOOPBACKS[address.version] if address.is_unspecified else self.address
        return f"http://[{host}]:{self.port}" if ":" in host else f"http://{host}:{self.port}"


def serves_loopback(host: str) -> bool:
    """True if only this machine can reach a server at `host`. Raises ServeRefused: no such address."""
    return address_in(_listened_on(host, 0)[1]).is_loopback


def free_port(port: int) -> Port:
    """The loopback's address with `port`, or for 0 with a free port, if nothing listens there.

    Raises PortTaken and ServeRefused as `listener` does.
    """
    bound, address = listener(LOOPBACK, port)
    bound.close()
    return address


def listener(host: str, port: int) -> tuple[socket.socket, Port]:
    """A socket that listens on the address of `host` and on `port`, or for 0 on a free port; and its Port.

    Raises PortTaken: something listens there. Raises ServeRefused: no such port, or this machine has no such address.
    """
    if type(port) is not int or not 0 <= port <= LAST_PORT:
        raise ServeRefused(f"A port is a whole number from 0 to {LAST_PORT}, not {port!r}.")
    family, address = _listened_on(host, port)
    bound = socket.socket(family, socket.SOCK_STREAM)
    try:
        if sys.platform != "win32":  # where it would let two servers share a port
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind((address, port))
        bound.listen()  # two that only bind may both have one port
    except OSError as error:
        bound.close()
        if error.errno == errno.EADDRINUSE:
            hint = "Name another port, or 0 for a free one (on the command line, --port)."
            raise PortTaken(f"Another program listens on {address}:{port} already.", hint=hint, port=port) from None
        reason = (error.strerror or str(error)).lower()
        hint = "Name another port or address (on the command line, --port and --host)."
        raise ServeRefused(f"Nothing can listen on {address}:{port} here: {reason}.", hint=hint) from None
    return bound, Port(address, int(bound.getsockname()[1]))


def _listened_on(host: str, port: int) -> tuple[int, str]:
    try:
        info = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except (OSError, UnicodeError):
        raise ServeRefused(f"{host!r} is not an address of this machine.", hint="Name one with --host.") from None
    return info[0], str(info[4][0])
