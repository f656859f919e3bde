"""What the tests of both doors send: raw HTTP, each header written out."""

import base64
import json
import socket
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from decimal import Decimal
from typing import Any, NamedTuple
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary

import httpx
import pytest

from workbench import Workbench
from workbench.bench import Served

_SEEN: WeakKeyDictionary[Workbench, int] = WeakKeyDictionary()
"""How far each bench's trace was read: the served one grows over the whole session."""
JSON = {"Content-Type": "application/json"}
Fields = Mapping[str, str | None]

INTENT: Fields = {
    "amount": "150.00",
    "currency": '"ZMW"',
    "payment_method_types": '["mobile_money"]',
    "description": '"Monstera"',
}
CHARGE: Fields = {
    "amount": "15000",
    "currency": '"zmw"',
    "type": '"mobile_money"',
    "channel": '"mtn"',
    "reference": '"order-1"',
}
PLANT: Fields = {"id": "1", "name": '"Monstera"', "tag": '"climber"'}


def written(fields: Fields) -> bytes:
    """A JSON object from raw JSON texts, so that a test decides each character; None leaves a field out."""
    return ("{" + ", ".join(f'"{name}": {text}' for name, text in fields.items() if text is not None) + "}").encode()


def method(phone: str | None = '"+260961234567"', provider: str | None = '"mtn"', kind: str = "mobile_money") -> str:
    """What pays an intent, from raw JSON texts."""
    inner = written({"phone": phone, "provider": provider}).decode()
    return f'{{"type": "{kind}", "mobile_money": {inner}}}'


def basic(user: str, password: str = "") -> dict[str, str]:
    """What `curl -u user:password` sends."""
    return {"Authorization": "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()}


class Wire:
    """Requests to one bench as a backend would write them, and what they left behind."""

    written = staticmethod(written)
    user = staticmethod(basic)

    def __init__(self, bench: Workbench, new_number: Callable[..., str]) -> None:
        self.bench = bench
        self.new_number = new_number
        self.bearer = {"Authorization": f"Bearer {bench.secret_key}"}
        self.publishable = {"Authorization": f"Bearer {bench.publishable_key}"}
        self.basic = basic(str(bench.secret_key))

    def post(self, path: str, body: bytes, headers: Mapping[str, str]) -> httpx.Response:
        return self.bench.http.post(path, content=body, headers={**JSON, **headers})

    def get(self, path: str, headers: Mapping[str, str] | None = None) -> httpx.Response:
        return self.bench.http.get(path, headers=self.bearer if headers is None else headers)

    def intent(self, **fields: str | None) -> httpx.Response:
        return self.post("/v1/payment_intents", written({**INTENT, **fields}), self.bearer)

    def confirm(
        self, intent_id: str, phone: str, provider: str = "mtn", *, client_secret: str | None = None
    ) -> httpx.Response:
        secret = None if client_secret is None else json.dumps(client_secret)
        body = {"payment_method": method(json.dumps(phone), json.dumps(provider)), "client_secret": secret}
        return self.post(f"/v1/payment_intents/{intent_id}/confirm", written(body), self.bearer)

    def charge(self, *, key: str | None = None, **fields: str | None) -> httpx.Response:
        body = written({"phone": json.dumps(self.new_number()), **CHARGE, **fields})
        return self.post("/v1/charges", body, {**self.basic, "Idempotency-Key": key or self.new_key()})

    def plant(self, **fields: str | None) -> httpx.Response:
        return self.post("/plants", written({**PLANT, **fields}), self.bearer)

    def press(self, phone: str, what: str, body: bytes = b"") -> httpx.Response:
        return self.post(f"/sandbox/phones/{phone}/{what}", body, self.bearer)

    def pin(self, phone: str, text: str = "1234") -> httpx.Response:
        return self.press(phone, "input", json.dumps({"text": text}).encode())

    def new_key(self) -> str:
        """An idempotency key that no test used before; the served store is shared."""
        return "key-" + self.new_number()[4:]

    def prompt(self, amount: str = "150.00", prefix: str = "96") -> tuple[str, str]:
        """A confirmed intent whose customer has the prompt before them: its id, the number."""
        intent, phone = self.intent(amount=amount).json(), self.new_number(prefix)
        assert self.confirm(intent["id"], phone, client_secret=intent["client_secret"]).is_success
        return intent["id"], phone

    def paid(self, amount: str = "150.00", prefix: str = "96") -> str:
        """An intent that was paid, with its webhooks delivered."""
        intent_id, phone = self.prompt(amount, prefix)
        assert self.pin(phone).status_code == 200
        self.bench.clock.advance(0)
        return intent_id

    def status(self, intent_id: str) -> str:
        response = self.get(f"/v1/payment_intents/{intent_id}")
        # A refusal has a status too, as a number.
        assert response.status_code == 200, response.text
        return response.json()["status"]

    def entries(self, payment: str | None = None) -> list[dict[str, Any]]:
        rows = self.get("/sandbox/ledger/entries").json()["data"]
        return [row for row in rows if payment in (None, row["payment"])]

    def postings(self, payment: str) -> dict[tuple[str, str], int]:
        """(account, side) → sum in ngwee, of one payment."""
        sums: dict[tuple[str, str], int] = {}
        for row in self.get("/sandbox/ledger/postings").json()["data"]:
            if row["payment"] == payment:
                key = row["account"], row["side"]
                sums[key] = sums.get(key, 0) + row["amount_minor"]
        return sums

    def trace(self, since: int = 0) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = []
        while page := self.get(f"/sandbox/trace?since={rows[-1]['seq'] if rows else since}").json()["data"]:
            rows += page
        return rows

    def last_seq(self) -> int:
        """Where the trace ends now: what follows is the test's own."""
        rows = self.trace(_SEEN.get(self.bench, 0))
        _SEEN[self.bench] = rows[-1]["seq"] if rows else _SEEN.get(self.bench, 0)
        return _SEEN[self.bench]

    def events(self, since: int = 0) -> set[str]:
        """The ids of all events of which a delivery was attempted."""
        return {row["detail"]["event"] for row in self.trace(since) if row["kind"] == "webhook"}

    def types(self, payment: str) -> list[str]:
        """The types of the events about one payment, in the order of their delivery."""
        return [row["what"] for row in self.trace() if row["kind"] == "webhook" and row["payment"] == payment]


def whole(connection: socket.socket) -> bytes:
    """All that comes until the other end closes the connection."""
    return b"".join(iter(lambda: connection.recv(65_536), b""))


class Door(NamedTuple):
    """A socket at which a sandbox answers, and the key to it."""

    port: int
    key: str
    host: str

    @classmethod
    def at(cls, base_url: str, secret_key: object = "", **_: str) -> "Door":
        """The door of a sandbox with this address."""
        url = urlsplit(base_url)
        return cls(url.port or 0, str(secret_key), url.hostname or "")

    @classmethod
    def of(cls, served: Workbench | Served) -> "Door":
        return cls.at(served.base_url, served.secret_key)

    def client(self) -> httpx.Client:
        """Calls with the key, over connections that are kept."""
        headers = {"Authorization": f"Bearer {self.key}"}
        at = f"http://{self.host}:{self.port}"
        return httpx.Client(base_url=at, headers=headers, trust_env=False, timeout=30, verify=False)  # noqa: S501  no TLS

    def connection(self, within_s: float = 15) -> "closing[socket.socket]":
        return closing(socket.create_connection((self.host, self.port), timeout=within_s))

    def raw(self, message: bytes, *, ends: bool = False) -> bytes:
        """What comes back for these very bytes; this end of the connection is closed first if it `ends`."""
        with self.connection() as connection:
            connection.sendall(message)
            if ends:
                connection.shutdown(socket.SHUT_WR)
            return whole(connection)

    def send(self, message: bytes, *, ends: bool = False) -> tuple[int, str, str]:
        """Raw bytes, a connection of their own: the status, the code of a refusal, all that came."""
        got = self.raw(message, ends=ends).decode("latin-1")
        body = got.partition("\r\n\r\n")[2]
        return int(got.split(" ")[1]), json.loads(body).get("code", "") if body.startswith("{") else "", got

    def head(self, path: str, *lines: str, method: str = "GET") -> bytes:
        every = [f"{method} {path} HTTP/1.1", *lines, "Connection: close", "", ""]
        return "\r\n".join(every).encode("latin-1")


@pytest.fixture
def wire(bench: Workbench, new_number: Callable[..., str]) -> Wire:
    assert bench.receiver.secrets  # over the served door, this is what registers it
    return Wire(bench, new_number)


@pytest.fixture(scope="session")
def exact() -> Callable[[httpx.Response], dict[str, Any]]:
    """A body with every number that has a point as Decimal."""
    return lambda response: json.loads(response.content, parse_float=Decimal)


@pytest.fixture(scope="module")
def served(served_bench: Workbench) -> Door:
    return Door.of(served_bench)


@pytest.fixture(scope="module")
def threaded() -> Iterator[Door]:
    """A sandbox of this process on a port; it answers by the names by which the session's does."""
    with Workbench(seed=7) as bench, bench.serve(allow_hosts=["allowed.example", "192.0.2.7"]) as at:
        yield Door.of(at)


@pytest.fixture(params=["served", "threaded"])
def door(request: pytest.FixtureRequest) -> Door:
    return request.getfixturevalue(request.param)
