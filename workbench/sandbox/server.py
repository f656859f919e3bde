"""The sandbox over HTTP for backends in any language: granian, and a thread that runs what is due."""

import logging
import multiprocessing
import os
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from http.client import HTTPConnection
from pathlib import Path
from typing import NamedTuple
from wsgiref.types import WSGIApplication

import granian
from granian.constants import Interfaces
from granian.log import LogLevels

from workbench.errors import PortTaken, WorkbenchError
from workbench.sandbox.engine import Engine
from workbench.sandbox.store import Settings

LOOPBACK = "127.0.0.1"
_TICK_S = 0.05
_START_S = 30.0
_STOP_S = 5
_LOG_TO_STDERR = {
    "handlers": {
        name: {"formatter": "generic", "class": "logging.StreamHandler", "stream": "ext://sys.stderr"}
        for name in ("console", "access")
    }
}


class Address(NamedTuple):
    """Where a served sandbox answers, and its test keys."""

    base_url: str
    secret_key: str
    publishable_key: str


def serve(settings: Settings, *, port: int, announce: Callable[[Address], object]) -> None:
    """Serve a sandbox on this machine's loopback until interrupted; its clock runs.

    `announce` is called once requests are answered. Without a path in `settings` the store is
    thrown away at the end. Port 0 takes a free one.
    Raises PortTaken: something listens there. Raises StoreRefused: the file cannot be used.
    """
    port = _free_port(port)
    with _store_path(settings.path) as path:
        served = replace(settings, path=path, clock="running")
        engine = Engine(served, raise_bugs=False)
        keys = (engine.store.key("secret"), engine.store.key("publishable"))
        engine.close()
        address = Address(f"http://{LOOPBACK}:{port}", *keys)
        threading.Thread(target=_when_up, args=(port, partial(announce, address)), daemon=True).start()
        # Spawned, not forked: no connection and no lock of this process is carried into a worker.
        multiprocessing.set_start_method("spawn", force=True)
        granian.Granian(
            "workbench",
            address=LOOPBACK,
            port=port,
            interface=Interfaces.WSGI,
            # A backend may call back while `advance` waits for its answer.
            blocking_threads=4,
            workers_kill_timeout=_STOP_S,
            log_level=LogLevels.error,
            log_dictconfig=_LOG_TO_STDERR,
        ).serve(target_loader=partial(_load, replace(served, seed=None), os.getpid()), wrap_loader=False)


def _load(settings: Settings, parent: int) -> WSGIApplication:
    """In the worker: the application, with its two threads."""
    engine = Engine(settings, raise_bugs=False)
    threading.Thread(target=_tick, args=(engine,), daemon=True).start()
    threading.Thread(target=_watch, args=(parent,), daemon=True).start()
    return engine.app


def _tick(engine: Engine) -> None:
    """Run what falls due as the clock runs; a fault is logged and the next tick tries again."""
    while True:
        time.sleep(_TICK_S)
        try:
            engine.run_due()
        except WorkbenchError as error:
            logging.getLogger(__name__).debug("not this tick: %s", error)
        except Exception:
            logging.getLogger(__name__).exception("what was due failed")


def _watch(parent: int) -> None:
    """End with the parent, even a killed one: a worker that serves on alone would keep the port."""
    while os.getppid() == parent:
        time.sleep(_TICK_S * 10)
    os._exit(1)


def _free_port(port: int) -> int:
    """The port, when nothing listens there: the server's own socket would share it silently."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            raise PortTaken(
                f"Something listens on {LOOPBACK}:{port} already.", hint="Name another with --port.", port=port
            ) from None
        return int(probe.getsockname()[1])


def _when_up(port: int, announce: Callable[[], object]) -> None:
    """Announce once a request is answered: the socket listens before a worker is there to answer."""
    until = time.monotonic() + _START_S
    while time.monotonic() < until:
        connection = HTTPConnection(LOOPBACK, port, timeout=_START_S)
        try:
            connection.request("GET", "/sandbox/clock")
            connection.getresponse().read()
        except OSError:
            time.sleep(_TICK_S)
        else:
            announce()
            return
        finally:
            connection.close()


@contextmanager
def _store_path(path: Path | None) -> Iterator[Path]:
    if path is not None:
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="workbench-") as folder:
        yield Path(folder) / "store.db"
