"""Sends a webhook to an application of this process, or over a socket, within one deadline.

A WSGI application runs in the sending thread, so it can use what a test keeps in that thread, such as a transaction or
a database in memory. An ASGI application has an event loop of its own, in `asgi`.

Over a socket, webhooks may go to this machine's loopback and to public addresses; as an option, also to private ranges.
A name is resolved at every attempt, and the connection goes to the address that was checked, so that the name cannot
change to another address in between.
"""

import inspect
import io
import ipaddress
import re
import socket
import ssl
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from functools import cache, partial
from http.client import HTTPException, HTTPResponse
from typing import TYPE_CHECKING, Final, NamedTuple, Self, cast
from urllib.parse import unquote, urlsplit
from wsgiref.types import WSGIApplication, WSGIEnvironment

import httpx

from workbench.domain.masking import mask
from workbench.domain.webhooks import HOST_NAME, MAX_RESPONSE_BYTES
from workbench.errors import InvalidRequest
from workbench.sandbox.messages import log_fault

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

_Address = ipaddress.IPv4Address | ipaddress.IPv6Address
LOOPBACK: Final = "127.0.0.1"
_PRINTABLE: Final = re.compile(r"[\x21-\x7e]+")
_PORTS: Final = {"http": 80, "https": 443}
_GLOBAL_UNICAST: Final = ipaddress.ip_network("2000::/3")
"""The IPv6 addresses assigned for the public internet; translators, link- and site-local addresses are outside."""
_NOT_PUBLIC: Final = tuple(
    ipaddress.ip_network(text)
    for text in ("192.0.0.0/24", "192.88.99.0/24", "2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20")
)
"""Networks outside of the public internet for which some Python versions' `is_global` is true."""
_PRIVATE: Final = tuple(
    ipaddress.ip_network(text) for text in ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7")
)
"""Private networks (RFC 1918, RFC 4193), such as those of containers.

Link-local addresses, from which clouds serve credentials, are not among them.
"""
_HEADERS: Final = {"Accept": "*/*", "Accept-Encoding": "identity", "User-Agent": "workbench-webhooks/1"}
_INFORMATIONAL: Final = range(100, 200)
_MOST_INFORMATIONAL: Final = 100
"""The most informational (1xx) responses before the final one; without a limit, a receiver could send them forever."""
_OF_ASGI: Final = 3
"""The number of parameters of an ASGI application."""


class Destination(NamedTuple):
    """The host and port of a URL, and the IP address to connect to."""

    host: str
    port: int
    address: str


def check_url(url: str, *, private: bool = False) -> None:
    """Raises InvalidRequest unless `url` is http or https, and its host is a name or an address that may be called.

    With `private`, the address may be in a private network. A name is resolved and checked at each attempt instead.
    """
    host, _ = split(url)
    numeric = _numeric(host)
    if numeric is not None and not _is_allowed(numeric, private=private):
        raise _refused(f"{host} is neither this machine's loopback nor a public address.", numeric)


def destination_of(url: str, patience_s: float, *, private: bool = False) -> Destination:
    """The address to connect to; all addresses of the name must be public or, with `private`, in a private network.

    Raises InvalidRequest: an address is not allowed. Raises OSError: the name does not resolve. Raises TimeoutError:
    the look-up takes over `patience_s` seconds.
    """
    host, port = split(url)
    if is_localhost(host):
        return Destination(host, port, LOOPBACK)
    numeric = _numeric(host)
    addresses = [numeric] if numeric else _looked_up(host, port, patience_s)
    for address in addresses:
        if not _is_allowed(address, private=private):
            raise _refused(f"{host} leads to {address}, neither this machine's loopback nor a public address.", address)
    return Destination(host, port, addresses[0])


def is_localhost(host: str) -> bool:
    """True if a name means this machine, whatever the resolver returns for it (RFC 6761)."""
    return host == "localhost" or host.endswith(".localhost")


def is_loopback(host: str) -> bool:
    """True for a name of this machine, and for a loopback address in any notation."""
    numeric = _numeric(host)
    return is_localhost(host) if numeric is None else address_in(numeric).is_loopback


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


def _looked_up(host: str, port: int, patience_s: float) -> list[str]:
    """The addresses of a name, resolved in a separate thread, since a resolver cannot be interrupted.

    Raises TimeoutError: the look-up takes over `patience_s` seconds; a resolver's own limit is many seconds.
    """
    result: Future[list[str]] = Future()

    def run() -> None:
        try:
            infos = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
            result.set_result([str(info[4][0]) for info in infos])
        except Exception as error:
            result.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return result.result(patience_s)


def _numeric(host: str) -> str | None:
    """The address that a host writes as numbers, None for a name; 127.1, 0x7f.1 and 2130706433 are all loopback."""
    try:
        return str(socket.getaddrinfo(host, None, flags=socket.AI_NUMERICHOST)[0][4][0])
    except (OSError, UnicodeError):
        return None


def address_in(text: str) -> _Address:
    """The address in a text, without its zone; for an IPv4 address mapped into IPv6, the IPv4 address."""
    address = ipaddress.ip_address(text.partition("%")[0])
    return (address.ipv4_mapped or address) if isinstance(address, ipaddress.IPv6Address) else address


def _is_allowed(text: str, *, private: bool) -> bool:
    address = address_in(text)
    if address.is_loopback or (private and any(address in network for network in _PRIVATE)):
        return True
    if isinstance(address, ipaddress.IPv6Address) and address not in _GLOBAL_UNICAST:
        return False
    return address.is_global and not address.is_multicast and not any(address in network for network in _NOT_PUBLIC)


def _refused(message: str, address: str | None = None) -> InvalidRequest:
    is_private = address is not None and any(address_in(address) in network for network in _PRIVATE)
    hint = "A network of your own? workbench serve --allow-private-receivers lets webhooks go there."
    return InvalidRequest(message, code="url_refused", param="url", hint=hint if is_private else "")


class Reply(NamedTuple):
    """A receiver's response to a message. If none came, `status_code` is None and `fault` says why."""

    status_code: int | None
    answer: str = ""
    retry_after: str = ""
    fault: str | None = None
    latency_ms: int = 0


def received(status_code: int, body: bytes, retry_after: str = "") -> Reply:
    """A Reply with the status, the first MAX_RESPONSE_BYTES of the body, masked, and the Retry-After."""
    return Reply(status_code, mask(body[:MAX_RESPONSE_BYTES].decode("utf-8", "replace")), retry_after)


class NotReceived(Exception):
    """No complete response came; the message says why, and in which step of the connection."""


Post = Callable[[str, Mapping[str, str], bytes, int], Reply]
"""Posts headers and a body to a URL, within a number of seconds. Raises NotReceived."""


class Outbound:
    """Sends webhooks, from several threads, to applications of this process or over a socket.

    `private` lets a message go to private ranges too.
    """

    def __init__(self, *, private: bool = False) -> None:
        self._apps: dict[str, tuple[Post, Callable[[], object]]] = {}
        """Host → the functions that post to its application and shut it down."""
        self._private = private

    def mount(self, host: str, post: Post, end: Callable[[], object]) -> None:
        """Registers an application of this process for a host; messages to the host are then passed to `post`.

        `end` shuts the application down. The application that was registered for the host before is shut down.
        """
        before = self._apps.get(host)
        self._apps[host] = post, end
        if before is not None:
            before[1]()

    def close(self) -> None:
        """Shuts down all registered applications."""
        for _, end in self._apps.values():
            end()

    def send(
        self, url: str, headers: Mapping[str, str], body: bytes, timeout_s: int, *, by_sandbox_clock: bool = False
    ) -> Reply:
        """Sends one POST; returns the reply, with a fault if none came within `timeout_s` seconds. Never raises.

        Redirects are not followed. A WSGI application is not interrupted: its late reply is dropped, but counts
        with `by_sandbox_clock`, since no time passes on that clock. If an application raises, the reply is a 500 with
        the traceback, which the trace and the delivery show; the traceback is logged too.
        """
        started, headers = time.monotonic(), {**_HEADERS, **headers}
        app = self._apps.get(_host_of(url))
        post = app[0] if app else partial(_post_over_a_socket, private=self._private)
        try:
            reply = post(url, headers, body, timeout_s)
        except NotReceived as error:
            reply = Reply(None, fault=mask(str(error)))
        except Exception as error:
            if app is not None:
                log_fault(f"the application at {url} failed on a webhook", error)
                reply = received(500, "".join(traceback.format_exception(error)).encode()[-MAX_RESPONSE_BYTES:])
            elif isinstance(error, TimeoutError):
                reply = Reply(None, fault=_too_long(timeout_s))
            else:
                reply = Reply(None, fault=mask(f"{type(error).__name__}: {error}"))
        took_s = time.monotonic() - started
        if app is not None and took_s > timeout_s and not by_sandbox_clock:
            # An application cannot be interrupted, but a late response is dropped: a service would hang up.
            reply = Reply(None, fault=_too_long(timeout_s))
        return reply._replace(latency_ms=round(took_s * 1000))


def _post_over_a_socket(url: str, headers: Mapping[str, str], body: bytes, timeout_s: int, *, private: bool) -> Reply:
    """Sends a message to the checked address; with `private`, also to one in a private network.

    Raises TimeoutError: the reply is not complete within `timeout_s` seconds.
    """
    until_s = time.monotonic() + timeout_s
    with _OutgoingConnection(destination_of(url, timeout_s, private=private), until_s) as connection:
        connection.open(is_https=url[:6].lower() == "https:")
        connection.send(_head(url, headers, len(body)) + body)
        return connection.receive()


def _too_long(timeout_s: int) -> str:
    return f"the response took longer than {timeout_s} s"


def _host_of(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def is_asgi(app: object) -> bool:
    """True for an ASGI application, False for a WSGI one, by its signature. Raises TypeError for anything else."""
    if not callable(app) or inspect.isclass(app):
        kind = f"the class {app.__name__}" if inspect.isclass(app) else repr(type(app).__name__)
        raise TypeError(f"webhooks is a WSGI or ASGI application, such as a Flask, Django or FastAPI one, not {kind}")
    if inspect.iscoroutinefunction(app) or inspect.iscoroutinefunction(type(app).__call__):
        return True
    try:
        parameters = inspect.signature(app).parameters.values()
    except (TypeError, ValueError):
        return False
    return len([parameter for parameter in parameters if parameter.default is parameter.empty]) == _OF_ASGI


def post_to_nobody(*_: object) -> Reply:
    """Stands in for an application that is not registered yet. Raises NotReceived."""
    raise NotReceived("no application is there yet: use bench.deliver_to(app)")


def post_to_wsgi(app: WSGIApplication, url: str, headers: Mapping[str, str], body: bytes, _timeout_s: int) -> Reply:
    """Calls a WSGI application (PEP 3333) and returns its response; the call cannot be interrupted."""
    parts = urlsplit(url)
    environ: WSGIEnvironment = {
        "REQUEST_METHOD": "POST", "SCRIPT_NAME": "", "PATH_INFO": unquote(parts.path, "latin-1") or "/",
        "QUERY_STRING": parts.query, "SERVER_NAME": parts.hostname, "SERVER_PORT": str(parts.port or 80),
        "SERVER_PROTOCOL": "HTTP/1.1", "REMOTE_ADDR": "127.0.0.1", "CONTENT_LENGTH": str(len(body)),
        "wsgi.version": (1, 0), "wsgi.url_scheme": parts.scheme, "wsgi.input": io.BytesIO(body),
        "wsgi.errors": sys.stderr, "wsgi.multithread": True, "wsgi.multiprocess": False, "wsgi.run_once": False,
    }  # fmt: skip
    for name, value in ("Host", parts.netloc), *headers.items():
        key = name.upper().replace("-", "_")
        environ[key if key == "CONTENT_TYPE" else f"HTTP_{key}"] = value
    begun: list[tuple[int, dict[str, str]]] = []

    def start_response(
        status: str, headers: Iterable[tuple[str, str]], _exc_info: object = None
    ) -> Callable[[bytes], object]:
        begun.append((int(status[:3]), {name.lower(): value for name, value in headers}))
        return lambda _: None

    chunks, answer = app(environ, start_response), b""
    try:
        # The rest of a long body is not read.
        for chunk in chunks:
            answer += chunk
            if len(answer) >= MAX_RESPONSE_BYTES:
                break
    finally:
        getattr(chunks, "close", lambda: None)()
    status_code, shown = begun[-1]
    return received(status_code, answer, shown.get("retry-after", ""))


def _head(url: str, headers: Mapping[str, str], length: int) -> bytes:
    parts = urlsplit(url)
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    sent = {"Host": parts.netloc, **headers, "Content-Length": length, "Connection": "close"}
    lines = [f"POST {target} HTTP/1.1", *(f"{name}: {value}" for name, value in sent.items()), "", ""]
    return "\r\n".join(lines).encode("latin-1")


class _OutgoingConnection(io.RawIOBase):
    """A connection whose steps must end by `until_s`, in seconds of the monotonic clock; `makefile` reads from it.

    Each step gets the remaining time: Python applies a timeout to a whole TLS handshake, read or write.
    """

    def __init__(self, destination: Destination, until_s: float) -> None:
        self._destination = destination
        self._until_s = until_s
        self._step = "ConnectError"
        family = socket.AF_INET6 if ":" in destination.address else socket.AF_INET
        self._socket = socket.socket(family, socket.SOCK_STREAM)
        self._arriving = io.BufferedReader(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._socket.close()
        reason = error[1]
        if isinstance(reason, HTTPException):
            raise NotReceived(f"RemoteProtocolError: {reason or 'the connection ended without a response'}") from None
        if isinstance(reason, OSError) and not isinstance(reason, TimeoutError):
            raise NotReceived(f"{self._step}: {reason}") from None

    def open(self, *, is_https: bool) -> None:
        self._in_time().connect((self._destination.address, self._destination.port))
        if is_https:
            self._socket = _trusting().wrap_socket(self._in_time(), server_hostname=self._destination.host)

    def send(self, message: bytes) -> None:
        self._step = "WriteError"
        self._in_time().sendall(message)

    def receive(self) -> Reply:
        """The final response, after any informational ones."""
        self._step = "ReadError"
        # All responses read one file, and are kept to the end: a response that is dropped closes the file.
        responses: list[HTTPResponse] = []
        while not responses or responses[-1].status in _INFORMATIONAL:
            if len(responses) == _MOST_INFORMATIONAL:
                raise HTTPException(f"got {_MOST_INFORMATIONAL} responses that only announce another")
            responses.append(HTTPResponse(cast("socket.socket", self), method="POST"))
            responses[-1].begin()
        response = responses[-1]
        body = response.read(MAX_RESPONSE_BYTES)
        if len(body) < MAX_RESPONSE_BYTES and response.length:
            raise HTTPException(f"the connection ended {response.length} bytes before the response did")
        return received(response.status, body, response.headers.get("retry-after", ""))

    def makefile(self, _mode: str) -> io.BufferedIOBase:
        """The received bytes as a file; `http.client` needs no other method of a socket."""
        return self._arriving

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "WriteableBuffer") -> int:
        return self._in_time().recv_into(buffer)

    def _in_time(self) -> socket.socket:
        left_s = self._until_s - time.monotonic()
        if left_s <= 0:
            raise TimeoutError
        self._socket.settimeout(left_s)
        return self._socket


@cache
def _trusting() -> ssl.SSLContext:
    """The TLS context with trusted certificates, loaded on first use because that takes 30 ms."""
    return httpx.create_ssl_context(trust_env=False)
