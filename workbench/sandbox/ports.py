"""Where a server listens: an address of this machine and a port that nobody has."""

import errno
import ipaddress
import socket
import sys
from typing import NamedTuple

from workbench.errors import PortTaken, ServeRefused

LOOPBACK = "127.0.0.1"
_LOOPBACKS = {4: LOOPBACK, 6: "::1"}
_LAST_PORT = 65_535
_ANOTHER_PORT = "Name another port, or 0 for a free one (on the command line, --port)."
_ANOTHER = "Name another port or address (on the command line, --port and --host)."


class Port(NamedTuple):
    """A numeric address and a port."""

    address: str
    port: int

    @property
    def reached_at(self) -> str:
        """The address to connect to from this machine; nobody can connect to "every address"."""
        address = ipaddress.ip_address(self.address.partition("%")[0])
        return _LOOPBACKS[address.version] if address.is_unspecified else self.address

    @property
    def base_url(self) -> str:
        """What a client on this machine calls."""
        host = f"[{self.reached_at}]" if ":" in self.reached_at else self.reached_at
        return f"http://{host}:{self.port}"


def is_loopback(host: str) -> bool:
    """Whether a server at `host` is reached from this machine alone. Raises ServeRefused: no such address."""
    return ipaddress.ip_address(_resolved(host, 0)[1].partition("%")[0]).is_loopback


def free_port(host: str, port: int) -> Port:
    """The address that `host` is, and the port, when nothing listens there; for 0 a free one.

    Raises PortTaken and ServeRefused as `listener` does.
    """
    bound, address = listener(host, port)
    bound.close()
    return address


def listener(host: str, port: int) -> tuple[socket.socket, Port]:
    """A socket that listens on the address that `host` is, and on the port, for 0 a free one.

    Raises PortTaken: something listens there. Raises ServeRefused: no such port, or this machine has no such address.
    """
    if type(port) is not int or not 0 <= port <= _LAST_PORT:
        raise ServeRefused(f"A port is a whole number from 0 to {_LAST_PORT}, not {port!r}.")
    family, address = _resolved(host, port)
    bound = socket.socket(family, socket.SOCK_STREAM)
    try:
        if sys.platform != "win32":  # where it would let two servers share a port
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind((address, port))
        bound.listen()  # two that only bind may both have one port
    except OSError as error:
        bound.close()
        if error.errno == errno.EADDRINUSE:
            message = f"Another program listens on {address}:{port} already."
            raise PortTaken(message, hint=_ANOTHER_PORT, port=port) from None
        reason = (error.strerror or str(error)).lower()
        message = f"Nothing can listen on {address}:{port} here: {reason}."
        raise ServeRefused(message, hint=_ANOTHER) from None
    return bound, Port(address, int(bound.getsockname()[1]))


def _resolved(host: str, port: int) -> tuple[int, str]:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except (OSError, UnicodeError):
        raise ServeRefused(f"{host!r} is not an address of this machine.", hint="Name one with --host.") from None
    return found[0], str(found[4][0])
