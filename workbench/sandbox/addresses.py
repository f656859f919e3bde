"""Addresses that webhooks may go to and that a server listens on.

Webhooks go to this machine's loopback and to public addresses, on request also to private ranges. A name is looked up
again at every attempt, and the connection goes to the address that was checked, so that the name cannot point
elsewhere in between.
"""

import errno
import ipaddress
import re
import socket
import sys
import threading
from collections.abc import Callable, Container, Mapping
from concurrent.futures import Future
from contextlib import suppress
from contextvars import ContextVar
from functools import partial
from types import MappingProxyType
from typing import Final, NamedTuple, TypeVar
from urllib.parse import urlsplit

from workbench.domain.webhooks import HOST_NAME
from workbench.errors import InvalidRequest, PortTaken, ServeRefused
from workbench.sandbox.store import NotNow

T = TypeVar("T")
_Address = ipaddress.IPv4Address | ipaddress.IPv6Address
_Network = ipaddress.IPv4Network | ipaddress.IPv6Network
LOOPBACK: Final = "127.0.0.1"
_LOOPBACKS: Final = {4: LOOPBACK, 6: "::1"}
LAST_PORT: Final = 65_535
_PRINTABLE: Final = re.compile(r"[\x21-\x7e]+")
_PORTS: Final = {"http": 80, "https": 443}
_LOOKUP_S: Final = 1.0
"""The most seconds for the look-up of a name at registration, while a caller waits."""
_FOUND: Final[ContextVar[Mapping[str, list[str]]]] = ContextVar("found", default=MappingProxyType({}))
"""Name → its addresses, as looked up for the call that runs now."""
_GLOBAL_UNICAST: Final = ipaddress.ip_network("2000::/3")
"""The IPv6 addresses assigned for the public internet; translators, link- and site-local addresses are outside."""
_NOT_PUBLIC: Final = tuple(
    ipaddress.ip_network(text)
    for text in ("192.0.0.0/24", "192.88.99.0/24", "2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20")
)
"""Networks outside the public internet that `is_global` of some version of Python lets through."""
_PRIVATE: Final = tuple(
    ipaddress.ip_network(text) for text in ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7")
)
"""Private networks (RFC 1918, RFC 4193), such as a container's; without link-local addresses, where clouds keep their
credentials."""


class Destination(NamedTuple):
    """A URL's host and port, and the address behind the host."""

    host: str
    port: int
    address: str


class NotLookedUp(NotNow):
    """A name must be looked up first, outside of any transaction, since a look-up must not hold the store."""

    def __init__(self, host: str, port: int) -> None:
        super().__init__(host)
        self._host, self._port = host, port

    def then(self, call: Callable[[], T]) -> T:
        """Look the name up, and return the result of `call`, which then finds the addresses."""
        found: list[str] = []
        with suppress(OSError, UnicodeError):  # the look-up failed or took too long
            found = _in_time(_LOOKUP_S, partial(_looked_up, self._host, self._port))
        before = _FOUND.set({self._host: found})
        try:
            return call()
        finally:
            _FOUND.reset(before)


def check_url(url: str, mounted: Container[str] = (), *, private: bool = False) -> None:
    """Raises InvalidRequest unless `url` is http or https to a host that may be called.

    With `private`, the host may be in a private network too. Applications of this process answer for the hosts
    `mounted`, which are never looked up. Raises NotLookedUp: another name, not looked up yet. A name that does not
    resolve within a second is accepted, as this machine may be offline; the look-up at each attempt decides.
    """
    host, port = split(url)
    numeric = _numeric(host)
    if numeric is not None and not _is_allowed(numeric, private=private):
        raise _refused(f"{host} is neither this machine's loopback nor a public address.", numeric)
    if numeric is None and not is_localhost(host) and host not in mounted:
        if host not in _FOUND.get():
            raise NotLookedUp(host, port)
        _check_all(host, _FOUND.get()[host], private=private)


def destination_of(url: str, patience_s: float, *, private: bool = False) -> Destination:
    """The address to connect to; every address of the name must be allowed.

    Raises InvalidRequest: an address is not allowed. Raises OSError: the name does not resolve.
    Raises TimeoutError: the look-up takes too long.
    """
    host, port = split(url)
    if is_localhost(host):
        return Destination(host, port, LOOPBACK)
    numeric = _numeric(host)
    found = [numeric] if numeric else _in_time(patience_s, partial(_looked_up, host, port))
    _check_all(host, found, private=private)
    return Destination(host, port, found[0])


def is_localhost(host: str) -> bool:
    """True if a name is this machine's own, whatever its resolver says (RFC 6761)."""
    return host == "localhost" or host.endswith(".localhost")


def is_loopback(host: str) -> bool:
    """True for this machine's own name, and for an address of its loopback in any spelling."""
    numeric = _numeric(host)
    return is_localhost(host) if numeric is None else _address(numeric).is_loopback


def split(url: str) -> tuple[str, int]:
    """The host and port of a webhook's URL. Raises InvalidRequest: the URL cannot be registered."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise _refused("url is not a URL.") from None
    if parts.scheme not in _PORTS or not parts.hostname or port == 0 or not _PRINTABLE.fullmatch(url):
        raise _refused("url must be http:// or https:// with a host.")
    if parts.username is not None or parts.password is not None:
        raise _refused("url must not hold a user name or password.")
    host = parts.hostname
    at_port = "" if port is None else f":{port}"
    if parts.netloc.lower() not in {f"{host}{at_port}", f"[{host}]{at_port}"}:
        raise _refused("what stands between // and the path must be a host, and a port after a colon.")
    if _numeric(host) is None and not HOST_NAME.fullmatch(host):
        raise _refused(f"{host[:60]!r} is neither a name nor an address.")
    return host, port or _PORTS[parts.scheme]


def _looked_up(host: str, port: int) -> list[str]:
    return [str(info[4][0]) for info in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]


def _in_time(patience_s: float, look_up: Callable[[], T]) -> T:
    """The result of a look-up. A resolver cannot be interrupted, so a separate thread waits for it.

    Raises TimeoutError: the look-up takes too long; a resolver's own limit is many seconds.
    """
    result: Future[T] = Future()

    def run() -> None:
        try:
            result.set_result(look_up())
        except Exception as error:
            result.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return result.result(patience_s)


def _check_all(host: str, addresses: list[str], *, private: bool) -> None:
    for address in addresses:
        if not _is_allowed(address, private=private):
            raise _refused(f"{host} leads to {address}, neither this machine's loopback nor a public address.", address)


def _numeric(host: str) -> str | None:
    """The address that a host spells, None for a name; 127.1, 0x7f.1 and 2130706433 all spell loopback."""
    try:
        return str(socket.getaddrinfo(host, None, flags=socket.AI_NUMERICHOST)[0][4][0])
    except (OSError, UnicodeError):
        return None


def _address(text: str) -> _Address:
    address = ipaddress.ip_address(text.partition("%")[0])
    return (address.ipv4_mapped or address) if isinstance(address, ipaddress.IPv6Address) else address


def _is_allowed(text: str, *, private: bool) -> bool:
    address = _address(text)
    if address.is_loopback or (private and _is_within(address, _PRIVATE)):
        return True
    if isinstance(address, ipaddress.IPv6Address) and address not in _GLOBAL_UNICAST:
        return False
    return address.is_global and not address.is_multicast and not _is_within(address, _NOT_PUBLIC)


def _is_within(address: _Address, networks: tuple[_Network, ...]) -> bool:
    return any(address in network for network in networks if network.version == address.version)


def _refused(message: str, address: str | None = None) -> InvalidRequest:
    is_private = address is not None and _is_within(_address(address), _PRIVATE)
    hint = "A network of your own? workbench serve --allow-private-receivers lets webhooks go there."
    return InvalidRequest(message, code="url_refused", param="url", hint=hint if is_private else "")


class Port(NamedTuple):
    """A numeric address and a port."""

    address: str
    port: int

    @property
    def base_url(self) -> str:
        """The URL that a client on this machine calls."""
        address = _address(self.address)
        # Nobody can connect to "every address".
        host = _LOOPBACKS[address.version] if address.is_unspecified else self.address
        return f"http://[{host}]:{self.port}" if ":" in host else f"http://{host}:{self.port}"


def serves_loopback(host: str) -> bool:
    """True if only this machine reaches a server at `host`. Raises ServeRefused: no such address."""
    return _address(_listened_on(host, 0)[1]).is_loopback


def free_port(host: str, port: int) -> Port:
    """The address of `host`, and `port`, or for 0 a free port, if nothing listens there.

    Raises PortTaken and ServeRefused as `listener` does.
    """
    bound, address = listener(host, port)
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
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except (OSError, UnicodeError):
        raise ServeRefused(f"{host!r} is not an address of this machine.", hint="Name one with --host.") from None
    return found[0], str(found[4][0])
