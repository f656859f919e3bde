"""Starts a user's command in its own process group, waits for it, and ends it with all its children."""

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import IO, Final

from workbench.domain.masking import mask
from workbench.errors import CommandRefused
from workbench.visible import visible

_POLL_S: Final = 0.02
NOTHING: Final = "(nothing)"
_END_S: Final = 3.0
_SHOWN_LINES: Final = 40
_READ_BYTES: Final = 1 << 20
_COLOUR: Final = re.compile(r"\x1b\[[0-9;]*m")


class Process:
    """A running program (from its arguments, or a shell command line) in its own process group, without standard input.

    `environment` is added to the inherited variables.

    The program writes to the files `output` and `errors` instead of pipes, which processes left behind would keep open.
    Without `errors`, standard error goes to `output` too. Raises CommandRefused: the program cannot be started, or this
    machine has no process groups.
    """

    def __init__(
        self,
        command: str | Sequence[str],
        environment: Mapping[str, str],
        output: IO[bytes],
        errors: IO[bytes] | None = None,
    ) -> None:
        if sys.platform == "win32":
            raise CommandRefused("Commands can be run on POSIX systems only, which this machine is not.")
        try:
            self._process = subprocess.Popen(  # noqa: S603  the user's own command
                command, shell=isinstance(command, str), stdin=subprocess.DEVNULL, stdout=output,
                stderr=errors or output, env={**os.environ, **environment}, start_new_session=True,
            )  # fmt: skip
        except OSError as error:
            raise CommandRefused(f"{visible(command[0])} cannot be started: {error.strerror}.") from None

    @property
    def status(self) -> int | None:
        """The exit status; None while the program runs, or the negative number of the signal that ended it."""
        return self._process.poll()

    def wait(self, limit_s: float, until: Callable[[], bool] = lambda: False) -> None:
        """Waits until the program has ended or `until` returns true, at most `limit_s` seconds."""
        end = time.monotonic() + limit_s
        while self.status is None and not until() and time.monotonic() <= end:
            time.sleep(_POLL_S)

    def end(self, patience_s: float | None = None) -> None:
        """Asks all processes of the group to end, waits `patience_s` seconds (3 by default), and kills the rest."""
        if self._signalled(signal.SIGTERM):
            until = time.monotonic() + (_END_S if patience_s is None else patience_s)
            while self._signalled(None) and time.monotonic() < until:
                self._process.poll()
                time.sleep(_POLL_S)
            self._signalled(signal.SIGKILL)
        self._process.wait()

    def _signalled(self, number: signal.Signals | None) -> bool:
        """Sends a signal (None: no signal) to all processes of the group; False if the group has none."""
        try:
            os.killpg(self._process.pid, number or 0)
        except (ProcessLookupError, PermissionError):
            return False
        return True


def printed(file: IO[bytes], begin: int = 0) -> str:
    """The last 40 lines that a command printed to a file after the byte `begin`, with secrets masked."""
    # Read without moving the file's position, at which the process writes.
    end = os.fstat(file.fileno()).st_size
    text = os.pread(file.fileno(), _READ_BYTES, max(begin, end - _READ_BYTES)).decode("utf-8", "replace")
    lines = _COLOUR.sub("", text).splitlines()[-_SHOWN_LINES:]
    return visible(mask("\n".join(lines)), lines=True)


@contextmanager
def signals_mean(do: Callable[[int], object]) -> Iterator[Collection[int]]:
    """During the block, calls `do` with the signal that asks this process to stop: SIGTERM, Ctrl-C, a closed terminal.

    Yields the signals' numbers. An ignored hang-up, as under nohup, stays ignored.
    """
    names = ("SIGINT", "SIGTERM", "SIGHUP")
    numbers = [number for name in names if (number := getattr(signal, name, None)) is not None]
    before = {number: signal.getsignal(number) for number in numbers if signal.getsignal(number) != signal.SIG_IGN}
    for number in before:
        signal.signal(number, lambda received, _: do(received))
    try:
        yield before.keys()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def ended_when_asked() -> Iterator[None]:
    """In the block, SIGTERM and SIGHUP raise SystemExit, as Ctrl-C raises KeyboardInterrupt: so the block can clean up.

    Later signals are ignored until the end of the block, since they would leave slow processes behind. Outside the main
    thread, nothing changes.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def leave(received: int) -> None:
        for number in numbers:
            signal.signal(number, signal.SIG_IGN)
        if received == signal.SIGINT:
            raise KeyboardInterrupt
        sys.exit(128 + received)

    with signals_mean(leave) as numbers:
        yield
