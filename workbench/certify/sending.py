"""One message to the endpoint that is examined: an event, right or altered, its signature, and what came back."""

import json
import socket
from decimal import Decimal
from typing import Any, Final, NamedTuple, Self
from urllib.parse import urlsplit

import msgspec

from workbench.domain.wire.base import to_json
from workbench.errors import ExamRefused, InvalidRequest
from workbench.sandbox.addresses import is_localhost, is_loopback, split
from workbench.sandbox.delivery import Outbound, Reply

_CONNECT_S: Final = 1.0


class Event(NamedTuple):
    """An event, and the bytes that are sent for it."""

    id: str
    type: str
    body: bytes

    @classmethod
    def read(cls, body: bytes) -> Self:
        """The event whose bytes these are."""
        members = json.loads(body)
        return cls(members["id"], members["type"], body)

    @property
    def members(self) -> dict[str, Any]:
        """The body's members, amounts with a point as Decimals."""
        return dict(json.loads(self.body, parse_float=Decimal))

    def altered(self, new_id: str, *, object_members: dict[str, Any] | None = None, **members: object) -> "Event":
        """Another event like this one: members of the body, or of its object, changed or added."""
        changed = {**self.members, "id": new_id, **members}
        if object_members is not None:
            data = changed["data"]
            changed["data"] = {**data, "object": {**data["object"], **object_members}}
        return Event.read(to_json(changed))

    def respelt(self) -> "Event":
        """This event in JSON that no library writes: with blanks and line breaks, a letter in its long form."""
        return Event.read(msgspec.json.format(self.body, indent=1).replace(b'"mobile_money"', b'"mobile\\u005fmoney"'))

    def about(self, ids: tuple[str, ...], others: tuple[str, ...], new_id: str) -> "Event":
        """This event about another payment: `others` replace `ids`, each at its place."""
        body = self.body.replace(self.id.encode(), new_id.encode())
        for each, other in zip(ids, others, strict=False):
            body = body.replace(each.encode(), other.encode())
        return Event.read(body)


class Target:
    """An endpoint on this machine's loopback, called as the sandbox calls one; `patience_s` seconds for an answer.

    Raises ExamRefused: the URL is not of this machine, or not plain HTTP.
    """

    def __init__(self, url: str, *, patience_s: int = 20) -> None:
        self.url = url
        self.host, self.port = _checked(url)
        self.patience_s = patience_s
        self._outbound = Outbound()
        self._called = url

    def listens(self) -> bool:
        """Tells whether anything takes a connection, and settles on an address: a name of this machine has two."""
        if not is_localhost(self.host):
            return _connects(self.host, self.port)
        if _connects("127.0.0.1", self.port):
            return True
        # Where Node is to listen at localhost, it may listen here alone.
        self._called = urlsplit(self.url)._replace(netloc=f"[::1]:{self.port}").geturl()
        return _connects("::1", self.port)

    def post(self, body: bytes, headers: dict[str, str]) -> Reply:
        """One POST; no redirect is followed. Never raises."""
        sent = {"Content-Type": "application/json", **headers}
        return self._outbound.send(self._called, sent, body, self.patience_s)


def _checked(url: str) -> tuple[str, int]:
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
        # Somebody is there, and hangs up at once.
        return True
    except OSError:
        return False
