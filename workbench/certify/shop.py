"""The examined shop: its endpoint, and the user's commands that start it, check out, and list its orders."""

import os
import socket
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import IO, Annotated, Final, NamedTuple, TypeAlias
from urllib.parse import urlsplit

import msgspec

from workbench.domain.masking import mask
from workbench.errors import ExamRefused, InvalidRequest
from workbench.process import NOTHING, Process, ended_when_asked, printed
from workbench.sandbox.outbound import Outbound, Reply, is_localhost, is_loopback, split
from workbench.visible import visible

PHONE: Final = "PAYMENTS_CUSTOMER_PHONE"
"""The environment variable that gives the checkout the phone number of the customer who pays."""
PAID: Final = "paid"
_CONNECT_S: Final = 1.0
_START_S: Final = 30.0
_COMMAND_S: Final = 30
_READ_BYTES: Final = 1 << 20
_STATUSES: Final = {
    126: "the shell may not execute the command's file", 127: "the shell did not find the command",
}  # fmt: skip
"""Status with which a shell ends → its reason."""


class NotExamined(Exception):
    """A check cannot be made, for the reason in the message."""


class Target:
    """An endpoint on this machine's loopback; each request waits up to `patience_s` seconds for the response.

    Raises ExamRefused: the URL is not on this machine, or is not plain HTTP.
    """

    def __init__(self, url: str, *, patience_s: int = 20) -> None:
        try:
            self.host, self.port = split(url)
        except InvalidRequest:
            self.host = ""
        if not self.host or not url.lower().startswith("http:"):
            message = f"{url!r} is not a plain http:// address."
            raise ExamRefused(message, hint="For example http://127.0.0.1:8000/webhooks.")
        if not is_loopback(self.host):
            message = f"{self.host} is not this machine's loopback, and the exam sends what is wrong on purpose."
            raise ExamRefused(message, hint="Start the endpoint on this machine and name it by 127.0.0.1 or localhost.")
        self.url = self._called = url
        self.patience_s = patience_s
        self._outbound = Outbound()

    def listens(self) -> bool:
        """True if a program takes connections at the URL.

        For `localhost`, tries IPv4 first and then IPv6; `post` then uses the address that took the connection.
        """
        if not is_localhost(self.host):
            return self._connects(self.host)
        # Node may listen at localhost on IPv6 only.
        is_ipv6 = not self._connects("127.0.0.1")
        self._called = urlsplit(self.url)._replace(netloc=f"[::1]:{self.port}").geturl() if is_ipv6 else self.url
        return not is_ipv6 or self._connects("::1")

    def _connects(self, address: str) -> bool:
        try:
            with socket.create_connection((address, self.port), timeout=_CONNECT_S):
                return True
        except OSError as error:
            # A program that closes each connection at once listens too.
            return isinstance(error, ConnectionResetError)

    def post(self, body: bytes, headers: dict[str, str]) -> Reply:
        """Sends one POST without following redirects; a failure is in the Reply's `fault`, not raised."""
        sent = {"Content-Type": "application/json", **headers}
        return self._outbound.send(self._called, sent, body, self.patience_s)


class Shop:
    """A shop, started by a shell command that prints to `log`; `environment` is added to the inherited variables."""

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
            fault = f"{listens} in {_START_S:g} s" if status is None else f"it ended with status {status} and {listens}"
            advice = _STATUSES.get(status or 0, "your shop must listen on the port in URL")
            raise ExamRefused(f"--cmd was run, and {fault}: {advice}; it printed:\n{self.printed() or NOTHING}")

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

    Raises ExamRefused: another program listens on the target's port, or the shop ends or does not listen within 30 s.
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


# Its orders


class ShopOrder(NamedTuple):
    """The number of times that the shop fulfilled a payment's order, and the order's status if the shop tells it."""

    fulfilled: int
    status: str | None = None


def total(orders: Iterable[int | ShopOrder]) -> ShopOrder:
    """Adds up the orders of one payment; a number is how often the shop fulfilled an order.

    The status is one that is not `paid` if any order has such a status, else `paid`; None if no order has a status.
    """
    read = [order if isinstance(order, ShopOrder) else ShopOrder(order) for order in orders]
    statuses = sorted((order.status for order in read if order.status), key=PAID.__eq__)
    return ShopOrder(sum(order.fulfilled for order in read), statuses[0] if statuses else None)


Orders: TypeAlias = Callable[[], Mapping[str, int | ShopOrder]]


class _Line(msgspec.Struct):
    payment: str
    fulfilled: Annotated[int, msgspec.Meta(ge=0)]
    status: str | None = None


def read_orders(text: str) -> dict[str, ShopOrder]:
    """Payment → order, from lines of JSON; if a payment has several lines, their fulfilments are added.

    Raises ExamRefused: a line is not such JSON.
    """
    orders_of: dict[str, list[ShopOrder]] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        try:
            order = msgspec.json.decode(line, type=_Line) if line.strip() else None
        except (msgspec.MsgspecError, RecursionError):
            message = f"Line {number} of --orders is {visible(mask(line[:80]))!r}."
            hint = 'A line looks like {"payment": "pi_…", "fulfilled": 1, "status": "paid"}.'
            raise ExamRefused(message, hint=hint) from None
        if order:
            orders_of.setdefault(order.payment, []).append(ShopOrder(order.fulfilled, order.status))
    return {payment: total(orders) for payment, orders in orders_of.items()}


def output_of(option: str, command: str, environment: Mapping[str, str]) -> str:
    """Standard output of the shell command in the option `option`. Raises ExamRefused: it fails or takes over 30 s."""
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        process = Process(command, environment, output, errors)
        try:
            process.wait(_COMMAND_S)
            status = process.status
        finally:
            process.end(patience_s=0)
        if status == 0:
            return os.pread(output.fileno(), _READ_BYTES, 0).decode("utf-8", "replace")
        ending = f"had not ended after {_COMMAND_S} s" if status is None else f"ended with status {status}"
        last_lines = printed(errors).strip() or printed(output).strip() or NOTHING
        raise ExamRefused(f"The command of {option} {ending}; it printed:\n{last_lines}")
