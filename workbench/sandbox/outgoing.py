"""One POST over a socket of its own: looked up, checked, sent and answered within one deadline."""

import io
import socket
import ssl
import threading
import time
from collections.abc import Mapping
from functools import cache
from http.client import HTTPException, HTTPResponse
from typing import Any, Final, NamedTuple, Self, cast
from urllib.parse import urlsplit

import httpx

from workbench.domain.webhooks import MAX_RESPONSE_BYTES
from workbench.sandbox.addresses import Destination, needs_no_look_up, resolved

_INFORMATIONAL: Final = range(100, 200)
_MOST_INFORMATIONAL: Final = 100
"""Most informational (1xx) responses before the final one; without a limit they would be read until the deadline."""


class Received(NamedTuple):
    """A received response, with the beginning of its body."""

    status_code: int
    body: bytes
    retry_after: str


class NotReceived(Exception):
    """No whole response came back; the message names the step that failed, and why."""


def post(url: str, headers: Mapping[str, str], body: bytes, timeout_s: float, *, private: bool) -> Received:
    """Send to the very address that was checked, follow no redirect, and read what comes back.

    Raises TimeoutError: not done within `timeout_s`, whichever step took so long. Raises NotReceived: the connection
    failed, or what came is no response. Raises InvalidRequest: the URL may not be called. Raises OSError: its name
    does not resolve.
    """
    until_s = time.monotonic() + timeout_s
    with _OutgoingConnection(_destination_of(url, until_s, private=private), until_s) as connection:
        connection.open(is_https=url[:6].lower() == "https:")
        connection.send(_head(url, headers, len(body)) + body)
        return connection.receive()


def _destination_of(url: str, until_s: float, *, private: bool) -> Destination:
    """The destination of a URL. A resolver cannot be interrupted, so a separate thread waits for it."""
    if needs_no_look_up(url):
        return resolved(url, private=private)
    found: list[Destination | Exception] = []

    def look_up() -> None:
        try:
            found.append(resolved(url, private=private))
        except Exception as error:  # noqa: BLE001  raised below, in the thread that sends
            found.append(error)

    looking = threading.Thread(target=look_up, daemon=True)
    looking.start()
    looking.join(max(0.0, until_s - time.monotonic()))
    if not found:
        raise TimeoutError
    if isinstance(found[0], Exception):
        raise found[0]
    return found[0]


def _head(url: str, headers: Mapping[str, str], length: int) -> bytes:
    parts = urlsplit(url)
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    sent = {"Host": parts.netloc, **headers, "Content-Length": length, "Connection": "close"}
    lines = [f"POST {target} HTTP/1.1", *(f"{name}: {value}" for name, value in sent.items()), "", ""]
    return "\r\n".join(lines).encode("latin-1")


class _OutgoingConnection(io.RawIOBase):
    """A connection of which every step ends by one moment; what arrives is read as a file.

    Python gives a TLS handshake, and each read and write, one deadline over all that it receives meanwhile.
    """

    def __init__(self, destination: Destination, until_s: float) -> None:
        self._destination = destination
        self._until_s = until_s
        self._step = "ConnectError"
        family = socket.AF_INET6 if ":" in destination.address else socket.AF_INET
        self._socket = socket.socket(family, socket.SOCK_STREAM)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._socket.close()
        reason = error[1]
        if isinstance(reason, HTTPException):
            message = f"RemoteProtocolError: {reason or 'the connection ended without a response'}"
            raise NotReceived(message) from None
        if isinstance(reason, OSError) and not isinstance(reason, TimeoutError):
            message = f"{self._step}: {reason}"
            raise NotReceived(message) from None

    def open(self, *, is_https: bool) -> None:
        self._in_time().connect((self._destination.address, self._destination.port))
        if is_https:
            self._socket = _trusting().wrap_socket(self._in_time(), server_hostname=self._destination.host)

    def send(self, message: bytes) -> None:
        self._step = "WriteError"
        self._in_time().sendall(message)

    def receive(self) -> Received:
        """The response, behind those that only announce it."""
        self._step = "ReadError"
        arriving = cast("socket.socket", _AsSocket(io.BufferedReader(self)))
        # All are kept to the end, as the first that is dropped closes the file for those behind it.
        responses: list[HTTPResponse] = []
        while not responses or responses[-1].status in _INFORMATIONAL:
            if len(responses) == _MOST_INFORMATIONAL:
                message = f"got {_MOST_INFORMATIONAL} responses that only announce another"
                raise HTTPException(message)
            responses.append(HTTPResponse(arriving, method="POST"))
            responses[-1].begin()
        response = responses[-1]
        body = response.read(MAX_RESPONSE_BYTES)
        if len(body) < MAX_RESPONSE_BYTES and response.length:
            message = f"the connection ended {response.length} bytes before the response did"
            raise HTTPException(message)
        return Received(response.status, body, response.headers.get("retry-after", ""))

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:  # noqa: ANN401  the base class's signature
        return self._in_time().recv_into(buffer)

    def _in_time(self) -> socket.socket:
        """The socket, which waits for as long as is left."""
        left_s = self._until_s - time.monotonic()
        if left_s <= 0:
            raise TimeoutError
        self._socket.settimeout(left_s)
        return self._socket


class _AsSocket(NamedTuple):
    """All that `http.client` asks of a socket: the file of what arrives."""

    arriving: io.BufferedReader

    def makefile(self, mode: str) -> io.BufferedReader:  # noqa: ARG002  the signature of a socket
        return self.arriving


@cache
def _trusting() -> ssl.SSLContext:
    """The certificates that https is checked against, loaded on first use because that takes 30 ms."""
    return httpx.create_ssl_context(trust_env=False)
