"""The shop that is examined: its process, its checkout and its orders, each a command line of the user's."""

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import IO, Final

from workbench.certify.sending import Target
from workbench.domain.masking import mask
from workbench.errors import ExamRefused
from workbench.visible import visible

PHONE: Final = "PAYMENTS_CUSTOMER_PHONE"
"""In the environment of the checkout: the number of the customer who pays."""
_START_S: Final = 30.0
_COMMAND_S: Final = 30
_END_S: Final = 3.0
_POLL_S: Final = 0.02
_SHOWN_LINES: Final = 40
_NOTHING: Final = "(nothing)"
_READ_BYTES: Final = 1 << 20
_COLOUR: Final = re.compile(r"\x1b\[[0-9;]*m")


class Shop:
    """A started shop: its process, and what it prints."""

    def __init__(self, process: subprocess.Popen[bytes], log: IO[bytes]) -> None:
        self._process = process
        self._log = log
        self._read = 0

    def printed(self) -> str:
        """What it has printed since this was last asked: the last lines of it, without secrets."""
        # Without moving to it: the process writes where the file stands.
        new = os.pread(self._log.fileno(), _READ_BYTES, max(self._read, _size(self._log) - _READ_BYTES))
        self._read = _size(self._log)
        return _shown(new)

    def status(self) -> int | None:
        """The status with which it ended; None while it runs."""
        return self._process.poll()


@contextmanager
def running(command: str, environment: Mapping[str, str], target: Target) -> Iterator[Shop]:
    """A shop started by a line of the shell, until the block ends: then all processes of its group end too.

    Raises ExamRefused: something listens there already, it ends at once, or listens in 30 seconds to nothing.
    """
    if target.listens():
        message = f"Another program listens on port {target.port} already, so the exam would examine that."
        raise ExamRefused(message, hint="End it, or leave --cmd out.")
    with tempfile.TemporaryFile() as log, _ended_when_asked():
        process = _started(command, environment, log, log)
        try:
            shop = Shop(process, log)
            _wait_for(shop, target)
            yield shop
        finally:
            _end(process)


def checkout_by(command: str, environment: Mapping[str, str]) -> Callable[[str], None]:
    """A function that makes the shop create a payment of the customer with a number."""

    def check_out(phone: str) -> None:
        _output_of("--checkout", command, {**environment, PHONE: phone})

    return check_out


def orders_by(command: str, environment: Mapping[str, str]) -> Callable[[], dict[str, int]]:
    """A function that reads how often the order of each payment was fulfilled."""
    return lambda: read_orders(_output_of("--orders", command, environment))


def read_orders(text: str) -> dict[str, int]:
    """Payment → how often its order was fulfilled, from lines of JSON; several lines of one payment add up.

    Raises ExamRefused: a line is no such JSON.
    """
    found: dict[str, int] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            payment, fulfilled = row["payment"], row["fulfilled"]
        except (ValueError, KeyError, TypeError, RecursionError):
            payment = fulfilled = None
        if not isinstance(payment, str) or type(fulfilled) is not int or fulfilled < 0:
            message = f"Line {number} of --orders is {visible(mask(line[:80]))!r}."
            raise ExamRefused(message, hint='A line looks like {"payment": "pi_…", "fulfilled": 1}.')
        found[payment] = found.get(payment, 0) + fulfilled
    return found


def _output_of(option: str, command: str, environment: Mapping[str, str]) -> str:
    # Files, not pipes: what it leaves behind in the background does not keep them open.
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        process = _started(command, environment, output, errors)
        what = f"had not ended after {_COMMAND_S} s"
        try:
            with suppress(subprocess.TimeoutExpired):
                what = f"ended with status {process.wait(_COMMAND_S)}"
        finally:
            succeeded = process.poll() == 0
            _signal(process, signal.SIGKILL)
            process.wait()
        printed, said = (os.pread(each.fileno(), _READ_BYTES, 0) for each in (output, errors))
    if succeeded:
        return printed.decode("utf-8", "replace")
    raise ExamRefused(
        f"The command of {option} {what}; it printed:\n{_shown(said).strip() or _shown(printed).strip() or _NOTHING}"
    )


def _started(
    command: str, environment: Mapping[str, str], output: IO[bytes], errors: IO[bytes]
) -> subprocess.Popen[bytes]:
    if sys.platform == "win32":
        raise ExamRefused("--cmd, --checkout and --orders need a POSIX shell, which this machine does not have.")
    return subprocess.Popen(  # noqa: S602  the user's own line of the shell
        command, shell=True, stdin=subprocess.DEVNULL, stdout=output, stderr=errors,
        env={**os.environ, **environment}, start_new_session=True,
    )  # fmt: skip


def _wait_for(shop: Shop, target: Target) -> None:
    until = time.monotonic() + _START_S
    while not target.listens():
        ended = shop.status()
        if ended is None and time.monotonic() < until:
            time.sleep(_POLL_S)
            continue
        listens = f"nothing listened at {target.url}"
        what = f"{listens} in {_START_S:g} s" if ended is None else f"it ended with status {ended} and {listens}"
        said = f"--cmd was run, and {what}; it printed:\n{shop.printed() or _NOTHING}"
        raise ExamRefused(said, hint="Your shop must listen on the port in URL.")


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ask the whole group to end, wait, and make it."""
    _signal(process, signal.SIGTERM)
    until = time.monotonic() + _END_S
    while _signal(process, None) and time.monotonic() < until:
        process.poll()
        time.sleep(_POLL_S)
    _signal(process, signal.SIGKILL)
    process.wait()


def _signal(process: subprocess.Popen[bytes], number: signal.Signals | None) -> bool:
    """Signal all processes of the group, or none of them; whether there are any."""
    try:
        os.killpg(process.pid, number or 0)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def _size(log: IO[bytes]) -> int:
    return os.fstat(log.fileno()).st_size


def _shown(printed: bytes) -> str:
    """The last lines, without secrets."""
    lines = _COLOUR.sub("", printed.decode("utf-8", "replace")).splitlines()[-_SHOWN_LINES:]
    return visible(mask("\n".join(lines)), lines=True)


@contextmanager
def _ended_when_asked() -> Iterator[None]:
    """Let SIGTERM and a closed terminal leave the block as Ctrl-C does, so that the shop is ended too."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    asked = (signal.SIGTERM, signal.SIGHUP)
    before = {each: signal.signal(each, lambda number, _: sys.exit(128 + number)) for each in asked}
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
