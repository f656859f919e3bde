"""Where webhooks may go: this machine's loopback and public addresses, nothing in between.

Names are looked up again at every attempt and the address found is the one connected to, so that a
name cannot point elsewhere between the check and the connection.
"""

import ipaddress
import re
import socket
from typing import NamedTuple
from urllib.parse import SplitResult, urlsplit

from workbench.errors import InvalidRequest

_PRINTABLE = re.compile(r"[\x21-\x7e]+")
_PORTS = {"http": 80, "https": 443}
_NOT_PUBLIC = tuple(
    ipaddress.ip_network(text)
    for text in (
        "64:ff9b::/96",
        "2002::/16",
        "fec0::/10",
        "3fff::/20",
        "5f00::/16",
        "192.88.99.0/24",
        "::/96",
        "64:ff9b:1::/48",
    )
)
"""What `is_global` lets through and is still not the public internet: translators, tunnels, documentation."""


class Destination(NamedTuple):
    """A URL and the address behind its host."""

    host: str
    port: int
    address: str


def check_url(url: str) -> None:
    """Raises InvalidRequest unless `url` is http or https to a host that may be called.

    A name is not looked up here: that happens at each attempt.
    """
    parts = _split(url)
    address = _numeric(parts.hostname or "")
    if address is not None and not _is_allowed(address):
        raise _refused(f"{parts.hostname} is neither this machine's loopback nor a public address.")


def resolved(url: str) -> Destination:
    """The address to connect to; every address of the name must be allowed.

    Raises InvalidRequest: not allowed. Raises OSError: the name does not resolve.
    """
    parts = _split(url)
    host, port = parts.hostname or "", parts.port or _PORTS[parts.scheme]
    if host == "localhost" or host.endswith(".localhost"):
        return Destination(host, port, "127.0.0.1")
    found = [str(info[4][0]) for info in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]
    for address in found:
        if not _is_allowed(address):
            raise _refused(f"{host} leads to {address}, neither this machine's loopback nor a public address.")
    return Destination(host, port, found[0])


def _split(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise _refused("url is not a URL.") from None
    if parts.scheme not in _PORTS or not parts.hostname or port == 0 or not _PRINTABLE.fullmatch(url):
        raise _refused("url must be http:// or https:// with a host.")
    if parts.username is not None or parts.password is not None:
        raise _refused("url must not hold a user name or password.")
    return parts


def _numeric(host: str) -> str | None:
    """The address that a host is, in any spelling: 127.1, 0x7f.1 and 2130706433 are loopback."""
    try:
        return str(socket.getaddrinfo(host, None, flags=socket.AI_NUMERICHOST)[0][4][0])
    except (OSError, UnicodeError):
        return None


def _is_allowed(text: str) -> bool:
    address = ipaddress.ip_address(text.partition("%")[0])
    mapped = getattr(address, "ipv4_mapped", None)
    address = mapped or address
    if address.is_loopback:
        return True
    inside = any(address in network for network in _NOT_PUBLIC if network.version == address.version)
    return address.is_global and not address.is_multicast and not inside


def _refused(message: str) -> InvalidRequest:
    return InvalidRequest(message, code="url_refused", param="url")
