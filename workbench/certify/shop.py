"""The shop that is examined: its process, its checkout and its orders, each a command line of the user's."""

import json
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import IO, Final, NamedTuple

from workbench.certify.payments import NotExamined
from workbench.certify.sending import Target
from workbench.domain.masking import mask
from workbench.errors import ExamRefused
from workbench.process import NOTHING, Process, ended_when_asked, printed
from workbench.visible import visible

PHONE: Final = "PAYMENTS_CUSTOMER_PHONE"
"""In the environment of the checkout: the number of the customer who pays."""
PAID: Final = "paid"
_START_S: Final = 30.0
_COMMAND_S: Final = 30
_READ_BYTES: Final = 1 << 20


class ShopOrder(NamedTuple):
    """The count of a payment's fulfilments, and the order's status, if the shop gives one."""

    fulfilled: int
    status: str | None = None


def total(orders: Iterable[ShopOrder]) -> ShopOrder:
    """Several orders of one payment: `paid` only if no other status is said."""
    orders = list(orders)
    statuses = sorted((each.status for each in orders if each.status), key=PAID.__eq__)
    return ShopOrder(sum(each.fulfilled for each in orders), statuses[0] if statuses else None)


class Shop:
    """A shop: the process that a line of the shell begins, and what it prints into `log`."""

    def __init__(self, command: str, environment: Mapping[str, str], log: IO[bytes], target: Target) -> None:
        self._command = command
        self._environment = environment
        self._log = log
        self._target = target
        self._process: Process | None = None
        self._read = 0

    def start(self) -> None:
        """Start it, and wait until it listens. Raises ExamRefused: it does not."""
        self._process = Process(self._command, self._environment, self._log)
        self._process.wait(_START_S, until=self._target.listens)
        if not self._target.listens():
            status, listens = self._process.status, f"nothing listened at {self._target.url}"
            what = f"{listens} in {_START_S:g} s" if status is None else f"it ended with status {status} and {listens}"
            said = f"--cmd was run, and {what}; it printed:\n{self.printed() or NOTHING}"
            raise ExamRefused(said, hint="Your shop must listen on the port in URL.")

    def restart(self) -> None:
        """End it and start it again. Raises NotExamined: it outlives its end; ExamRefused: it does not come back."""
        self.end()
        if self._target.listens():
            raise NotExamined("a process that --cmd left behind still listens, so that nothing was restarted")
        self.start()

    def end(self) -> None:
        """End all its processes."""
        if self._process:
            self._process.end()

    def printed(self) -> str:
        """The last lines that the shop printed since the last call, without secrets."""
        begin, self._read = self._read, os.fstat(self._log.fileno()).st_size
        return printed(self._log, begin)


@contextmanager
def running(command: str, environment: Mapping[str, str], target: Target) -> Iterator[Shop]:
    """A shop started by a line of the shell, until the block ends: then all processes of its group end too.

    Raises ExamRefused: something listens there already, it ends at once, or listens in 30 seconds to nothing.
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
