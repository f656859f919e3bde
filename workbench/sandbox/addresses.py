"""Where webhooks may go: this machine's loopback and public addresses, nothing in between.

Names are looked up again at every attempt and the address found is the one connected to, so that a
name cannot point elsewhere between the check and the connection.
"""

import ipaddress
import re
import socket
import threading
from contextlib import suppress
from typing import NamedTuple
from urllib.parse import urlsplit

from workbench.domain.webhooks import HOST_NAME
from workbench.errors import InvalidRequest

_PRINTABLE = re.compile(r"[\x21-\x7e]+")
_PORTS = {"http": 80, "https": 443}
_LOOKUP_S = 1.0
"""How long a name may take to be looked up at registration, where a caller and the store wait for it."""
_GLOBAL_UNICAST = ipaddress.ip_network("2000::/3")
"""All that IPv6 has given out for use on the public internet: translators, link- and site-local are outside."""
_NOT_PUBLIC = tuple(
    ipaddress.ip_network(text)
    for text in ("192.0.0.0/24", "192.88.99.0/24", "2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20")
)
"""What `is_global` lets through, in one version of Python or another, and is still not the public internet."""


class Destination(NamedTuple):
    """A URL and the address behind its host."""

    host: str
    port: int
    address: str


def check_url(url: str) -> None:
    """Raises InvalidRequest unless `url` is http or https to a host that may be called.

    A name that does not resolve, or not within a second, is taken: a machine may be offline. It is looked
    up again at each attempt, and that look-up decides.
    """
    host, port = _split(url)
    numeric = _numeric(host)
    if numeric is not None and not _is_allowed(numeric):
        raise _refused(f"{host} is neither this machine's loopback nor a public address.")
    if numeric is None and not _is_localhost(host):
        _check_all(host, _found_soon(host, port))


def resolved(url: str) -> Destination:
    """The address to connect to; every address of the name must be allowed.

    Raises InvalidRequest: not allowed. Raises OSError: the name does not resolve.
    """
    host, port = _split(url)
    if _is_localhost(host):
        return Destination(host, port, "127.0.0.1")
    found = _looked_up(host, port)
    _check_all(host, found)
    return Destination(host, port, found[0])


def _is_localhost(host: str) -> bool:
    return host == "localhost" or host.endswith(".localhost")


def _looked_up(host: str, port: int) -> list[str]:
    return [str(info[4][0]) for info in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]


def _found_soon(host: str, port: int) -> list[str]:
    """The addresses of a name, none when that takes too long: the resolver's own patience is many seconds."""
    found: list[str] = []

    def look_up() -> None:
        with suppress(OSError, UnicodeError):
            found.extend(_looked_up(host, port))

    looking = threading.Thread(target=look_up, daemon=True)
    looking.start()
    looking.join(_LOOKUP_S)
    return list(found)


def _check_all(host: str, addresses: list[str]) -> None:
    for address in addresses:
        if not _is_allowed(address):
            raise _refused(f"{host} leads to {address}, neither this machine's loopback nor a public address.")


def _split(url: str) -> tuple[str, int]:
    """The host and port of a URL that may stand in a registration."""
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


def _numeric(host: str) -> str | None:
    """The address that a host is, in any spelling: 127.1, 0x7f.1 and 2130706433 are loopback."""
    try:
        return str(socket.getaddrinfo(host, None, flags=socket.AI_NUMERICHOST)[0][4][0])
    except (OSError, UnicodeError):
        return None


def _is_allowed(text: str) -> bool:
    address = ipaddress.ip_address(text.partition("%")[0])
    if isinstance(address, ipaddress.IPv6Address):
        address = address.ipv4_mapped or address
    if address.is_loopback:
        return True
    if address.version == 6 and address not in _GLOBAL_UNICAST:  # noqa: PLR2004  the version's name
        return False
    inside = any(address in network for network in _NOT_PUBLIC if network.version == address.version)
    return address.is_global and not address.is_multicast and not inside


def _refused(message: str) -> InvalidRequest:
    return InvalidRequest(message, code="url_refused", param="url")
