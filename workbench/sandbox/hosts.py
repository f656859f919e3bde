"""By which names the sandbox answers, and whose pages may call it.

A page on any site can have its own name resolved to this machine (DNS rebinding); it then is of the same origin as
the sandbox, and would read keys, ledger and handsets. What gives it away is the name in `Host`, or the `Origin` of
its calls.
"""

import ipaddress
import re
from collections.abc import Iterable
from typing import Final

from workbench.errors import HostRefused, InvalidRequest, PermissionDenied, ServeRefused

_LOCAL: Final = ("127.0.0.1", "::1", "localhost")
_ANY_LOCAL: Final = ".localhost"
_NAME: Final = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)(\.(?!-)[a-z0-9_-]{1,63}(?<!-))*")
_AUTHORITY: Final = re.compile(r"(?P<host>\[[0-9a-f:.]+\]|[a-z0-9_.-]+)(:(?P<port>[0-9]{1,5}))?")
_LAST_PORT: Final = 65_535
_SHOWN: Final = 80


class Hosts:
    """This machine's loopback names, and `names` beside them.

    Raises ServeRefused: one of them is neither a name nor an address.
    """

    def __init__(self, names: Iterable[str] = ()) -> None:
        given = [names] if isinstance(names, str) else names
        self._names = frozenset({*_LOCAL, *map(_named, given)})

    def check(self, host: str | None, origin: str | None) -> None:
        """Whether a request with these headers is answered; several of one come joined by commas.

        Raises InvalidRequest: no host, or none that can be read. Raises HostRefused: another one.
        Raises PermissionDenied: a page of another origin.
        """
        named = _host_in(host or "")
        if named is None:
            message = "A request needs one header Host, a name or an address with or without a port"
            raise InvalidRequest(f"{message}, not {_shown(host)}.", code="host_malformed", param="Host")
        if not self._knows(named):
            raise HostRefused(
                f"This sandbox does not answer by the name {_shown(host)}: a proxy that passes its own name on, or "
                "another name for this machine, looks the same as a page that is not to reach it.",
                hint="Call it by 127.0.0.1 or localhost, or allow the name: workbench serve --allow-host NAME, "
                "or bench.serve(allow_hosts=[NAME]).",
                param="Host",
            )
        if origin is not None and not self._is_home(origin):
            raise PermissionDenied(
                f"A page of the origin {_shown(origin)} may not call this sandbox.",
                code="origin_refused",
                hint="Call from a server, or allow the page's host: workbench serve --allow-host NAME, "
                "or bench.serve(allow_hosts=[NAME]).",
                param="Origin",
            )

    def _knows(self, name: str) -> bool:
        return name in self._names or (name.endswith(_ANY_LOCAL) and _NAME.fullmatch(name) is not None)

    def _is_home(self, origin: str) -> bool:
        scheme, separator, rest = origin.partition("://")
        named = _host_in(rest)
        return scheme in {"http", "https"} and bool(separator) and named is not None and self._knows(named)


def _host_in(authority: str) -> str | None:
    """The host of `host` or `host:port`, an address in its shortest form; None where it cannot be read."""
    found = _AUTHORITY.fullmatch(authority.lower())
    if found is None or int(found["port"] or 0) > _LAST_PORT:
        return None
    return _shortest(found["host"].strip("[]")) if found["host"].startswith("[") else found["host"]


def _shortest(address: str) -> str | None:
    try:
        return ipaddress.IPv6Address(address).compressed
    except ValueError:
        return None


def _named(name: str) -> str:
    """A name to allow, as `_host_in` gives it."""
    plain = name.lower().partition("%")[0]
    address = _shortest(plain[1:-1] if plain[:1] + plain[-1:] == "[]" else plain)
    if address is None and _NAME.fullmatch(plain) is None:
        raise ServeRefused(
            f"{name[:_SHOWN]!r} is neither a name nor an address that a request could be sent to.",
            hint="Name a host alone, without http://, port or *, such as sandbox or 192.0.2.7.",
        )
    return address or plain


def _shown(value: str | None) -> str:
    return repr(value[:_SHOWN]) if value else "none"
