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
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import IO, Final, NamedTuple

from workbench.certify.payments import NotExamined
from workbench.certify.sending import Target
from workbench.domain.masking import mask
from workbench.errors import ExamRefused
from workbench.visible import visible

PHONE: Final = "PAYMENTS_CUSTOMER_PHONE"
"""In the environment of the checkout: the number of the customer who pays."""
PAID: Final = "paid"
_START_S: Final = 30.0
_COMMAND_S: Final = 30
_END_S: Final = 3.0
_POLL_S: Final = 0.02
_SHOWN_LINES: Final = 40
_NOTHING: Final = "(nothing)"
_READ_BYTES: Final = 1 << 20
_COLOUR: Final = re.compile(r"\x1b\[[0-9;]*m")


class ShopOrder(NamedTuple):
    """How often the order of a payment was fulfilled, and its status, if the shop says one."""

    fulfilled: int
    status: str | None = None


def total(orders: Iterable[ShopOrder]) -> ShopOrder:
    """Several orders of one payment: `paid` only if no other status is said."""
    orders = list(orders)
    statuses = sorted((each.status for each in orders if each.status), key=PAID.__eq__)
    return ShopOrder(sum(each.fulfilled for each in orders), statuses[0] if statuses else None)


class Shop:
    """A shop: the process that `start` begins, and what it prints into `log`."""

    def __init__(self, log: IO[bytes], start: Callable[[], subprocess.Popen[bytes]], target: Target) -> None:
        self._log = log
        self._start = start
        self._target = target
        self._process: subprocess.Popen[bytes] | None = None
        self._read = 0

    def start(self) -> None:
        """Start it, and wait until it listens. Raises ExamRefused: it does not."""
        self._process, until = self._start(), time.monotonic() + _START_S
        while not self._target.listens():
            ended = self._process.poll()
            if ended is None and time.monotonic() < until:
                time.sleep(_POLL_S)
                continue
            listens = f"nothing listened at {self._target.url}"
            what = f"{listens} in {_START_S:g} s" if ended is None else f"it ended with status {ended} and {listens}"
            said = f"--cmd was run, and {what}; it printed:\n{self.printed() or _NOTHING}"
            raise ExamRefused(said, hint="Your shop must listen on the port in URL.")

    def restart(self) -> None:
        """End it and start it again. Raises NotExamined: it outlives its end; ExamRefused: it does not come back."""
        self.end()
        if self._target.listens():
            raise NotExamined("a process that --cmd left behind still listens, so that nothing was restarted")
        self.start()

    def end(self) -> None:
        """Ask all its processes to end, wait, and make them."""
        if process := self._process:
            _signal(process, signal.SIGTERM)
            until = time.monotonic() + _END_S
            while _signal(process, None) and time.monotonic() < until:
                process.poll()
                time.sleep(_POLL_S)
            _signal(process, signal.SIGKILL)
            process.wait()

    def printed(self) -> str:
        """What it has printed since this was last asked: the last lines of it, without secrets."""
        # Without moving to it: the process writes where the file stands.
        begin, self._read = self._read, os.fstat(self._log.fileno()).st_size
        return _shown(os.pread(self._log.fileno(), _READ_BYTES, max(begin, self._read - _READ_BYTES)))


@contextmanager
def running(command: str, environment: Mapping[str, str], target: Target) -> Iterator[Shop]:
    """A shop started by a line of the shell, until the block ends: then all processes of its group end too.

    Raises ExamRefused: something listens there already, it ends at once, or listens in 30 seconds to nothing.
    """
    if target.listens():
        message = f"Another program listens on port {target.port} already, so the exam would examine that."
        raise ExamRefused(message, hint="End it, or leave --cmd out.")
    with tempfile.TemporaryFile() as log, _ended_when_asked():
        shop = Shop(log, lambda: _started(command, environment, log, log), target)
        try:
            shop.start()
            yield shop
        finally:
            shop.end()


def checkout_by(command: str, environment: Mapping[str, str]) -> Callable[[str], None]:
    """A function that makes the shop create a payment of the customer with a number."""

    def check_out(phone: str) -> None:
        _output_of("--checkout", command, {**environment, PHONE: phone})

    return check_out


def orders_by(command: str, environment: Mapping[str, str]) -> Callable[[], dict[str, ShopOrder]]:
    """A function that reads the order of each payment."""
    return lambda: read_orders(_output_of("--orders", command, environment))


def read_orders(text: str) -> dict[str, ShopOrder]:
    """Payment → its order, from lines of JSON; several lines of one payment add up.

    Raises ExamRefused: a line is no such JSON.
    """
    found: dict[str, list[ShopOrder]] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            payment, fulfilled, status = row["payment"], row["fulfilled"], row.get("status")
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            payment = fulfilled = status = None
        is_order = isinstance(payment, str) and type(fulfilled) is int and fulfilled >= 0
        if not is_order or not isinstance(status, str | None):
            message = f"Line {number} of --orders is {visible(mask(line[:80]))!r}."
            raise ExamRefused(message, hint='A line looks like {"payment": "pi_…", "fulfilled": 1, "status": "paid"}.')
        found.setdefault(payment, []).append(ShopOrder(fulfilled, status))
    return {payment: total(orders) for payment, orders in found.items()}


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


def _signal(process: subprocess.Popen[bytes], number: signal.Signals | None) -> bool:
    """Signal all processes of the group, or none of them; whether there are any."""
    try:
        os.killpg(process.pid, number or 0)
    except (ProcessLookupError, PermissionError):
        return False
    return True


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
