"""Sends one message to the examined endpoint: a genuine or altered event with its headers."""

import json
import socket
from decimal import Decimal
from typing import Any, Final, NamedTuple, Self
from urllib.parse import urlsplit

import msgspec

from workbench.domain.wire.base import to_json
from workbench.errors import ExamRefused, InvalidRequest
from workbench.sandbox.addresses import is_localhost, is_loopback, split
from workbench.sandbox.outbound import Outbound, Reply

_CONNECT_S: Final = 1.0


class Event(NamedTuple):
    """An event, and the bytes that the exam sends for it."""

    id: str
    type: str
    body: bytes

    @classmethod
    def read(cls, body: bytes) -> Self:
        """Reads an event from its bytes."""
        members = json.loads(body)
        return cls(members["id"], members["type"], body)

    def altered(self, new_id: str, *, object_members: dict[str, Any] | None = None, **members: object) -> "Event":
        """A copy of this event with members of its body, or of its object, changed or added."""
        changed = {**json.loads(self.body, parse_float=Decimal), "id": new_id, **members}
        if object_members is not None:
            data = changed["data"]
            changed["data"] = {**data, "object": {**data["object"], **object_members}}
        return Event.read(to_json(changed))

    def respelt(self) -> "Event":
        """This event in JSON that no library writes: with blanks, line breaks and an escaped letter."""
        return Event.read(msgspec.json.format(self.body, indent=1).replace(b'"mobile_money"', b'"mobile\\u005fmoney"'))

    def about(self, ids: tuple[str, ...], others: tuple[str, ...], new_id: str) -> "Event":
        """This event about another payment: each id in `ids` becomes the id at the same place in `others`."""
        body = self.body.replace(self.id.encode(), new_id.encode())
        for own_id, other_id in zip(ids, others, strict=False):
            body = body.replace(own_id.encode(), other_id.encode())
        return Event.read(body)


class Target:
    """An endpoint on this machine's loopback, called as the sandbox calls endpoints.

    A response may take `patience_s` seconds.
    Raises ExamRefused: the URL is not on this machine, or is not plain HTTP.
    """

    def __init__(self, url: str, *, patience_s: int = 20) -> None:
        self.url = url
        self.host, self.port = _loopback_address(url)
        self.patience_s = patience_s
        self._outbound = Outbound()
        self._called = url

    def listens(self) -> bool:
        """True if a program takes connections there. Chooses between the IPv4 and the IPv6 address of `localhost`."""
        if not is_localhost(self.host):
            return _connects(self.host, self.port)
        if _connects("127.0.0.1", self.port):
            return True
        # Node may listen at localhost on IPv6 only.
        self._called = urlsplit(self.url)._replace(netloc=f"[::1]:{self.port}").geturl()
        return _connects("::1", self.port)

    def post(self, body: bytes, headers: dict[str, str]) -> Reply:
        """Sends one POST and follows no redirect. Never raises."""
        sent = {"Content-Type": "application/json", **headers}
        return self._outbound.send(self._called, sent, body, self.patience_s)


def _loopback_address(url: str) -> tuple[str, int]:
    try:
        host, port = split(url)
    except InvalidRequest:
        host, port = "", 0
    if not host or not url.lower().startswith("http:"):
        raise ExamRefused(
            f"{url!r} is not a plain http:// address.", hint="For example http://127.0.0.1:8000/webhooks."
        )
    if not is_loopback(host):
        message = f"{host} is not this machine's loopback, and the exam sends what is wrong on purpose."
        raise ExamRefused(message, hint="Start the endpoint on this machine and name it by 127.0.0.1 or localhost.")
    return host, port


def _connects(address: str, port: int) -> bool:
    try:
        with socket.create_connection((address, port), timeout=_CONNECT_S):
            return True
    except ConnectionResetError:
        # A program listens, and closes each connection at once.
        return True
    except OSError:
        return False
