"""The examined shop: its process, its checkout and its orders, each started by a command of the user's."""

import json
import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import IO, Final

from workbench.certify.exam import NotExamined, ShopOrder, Target, total
from workbench.domain.masking import mask
from workbench.errors import ExamRefused
from workbench.process import NOTHING, Process, ended_when_asked, printed
from workbench.visible import visible

PHONE: Final = "PAYMENTS_CUSTOMER_PHONE"
"""The environment variable that gives the checkout the phone number of the customer who pays."""
_START_S: Final = 30.0
_COMMAND_S: Final = 30
_READ_BYTES: Final = 1 << 20


class Shop:
    """A shop that a shell command starts in its own environment; the shop prints into `log`."""

    def __init__(self, command: str, environment: Mapping[str, str], log: IO[bytes], target: Target) -> None:
        self._command, self._environment, self._log, self._target = command, environment, log, target
        self._process: Process | None = None
        self._read = 0

    def start(self) -> None:
        """Starts the shop and waits until it listens. Raises ExamRefused: the shop does not listen."""
        self._process = Process(self._command, self._environment, self._log)
        self._process.wait(_START_S, until=self._target.listens)
        if not self._target.listens():
            status, listens = self._process.status, f"nothing listened at {self._target.url}"
            what = f"{listens} in {_START_S:g} s" if status is None else f"it ended with status {status} and {listens}"
            said = f"--cmd was run, and {what}; it printed:\n{self.printed() or NOTHING}"
            raise ExamRefused(said, hint="Your shop must listen on the port in URL.")

    def restart(self) -> None:
        """Ends the shop and starts it again.

        Raises NotExamined: a process of the old shop still listens. Raises ExamRefused: the new shop does not listen.
        """
        self.end()
        if self._target.listens():
            raise NotExamined("a process that --cmd left behind still listens, so that nothing was restarted")
        self.start()

    def end(self) -> None:
        """Ends all processes of the shop."""
        if self._process:
            self._process.end()

    def printed(self) -> str:
        """The last lines that the shop printed since the previous call, without secrets."""
        begin, self._read = self._read, os.fstat(self._log.fileno()).st_size
        return printed(self._log, begin)


@contextmanager
def running(command: str, environment: Mapping[str, str], target: Target) -> Iterator[Shop]:
    """Starts a shop by a shell command; when the block ends, all processes of the shop end.

    Raises ExamRefused: another program listens there already, or the shop ends or does not listen within 30 seconds.
    """
    if target.listens():
        message = f"Another program listens on port {target.port} already, so the exam would examine that."
        raise ExamRefused(message, hint="End it, or leave --cmd out.")
    with tempfile.TemporaryFile() as log, ended_when_asked():
        shop = Shop(command, environment, log, target)
        try:
            shop.start()
            yield shop
        finally:
            shop.end()


def read_orders(text: str) -> dict[str, ShopOrder]:
    """Reads payment → order from lines of JSON; several lines for one payment add up.

    Raises ExamRefused: a line is not such JSON.
    """
    orders_of: dict[str, list[ShopOrder]] = {}
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
        orders_of.setdefault(payment, []).append(ShopOrder(fulfilled, status))
    return {payment: total(orders) for payment, orders in orders_of.items()}


def output_of(option: str, command: str, environment: Mapping[str, str]) -> str:
    """The output of the command that `option` gives. Raises ExamRefused: it fails, or takes over 30 seconds."""
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        process = Process(command, environment, output, errors)
        try:
            process.wait(_COMMAND_S)
            status = process.status
        finally:
            process.end(patience_s=0)
        if status == 0:
            return os.pread(output.fileno(), _READ_BYTES, 0).decode("utf-8", "replace")
        what = f"had not ended after {_COMMAND_S} s" if status is None else f"ended with status {status}"
        said = printed(errors).strip() or printed(output).strip() or NOTHING
        raise ExamRefused(f"The command of {option} {what}; it printed:\n{said}")
