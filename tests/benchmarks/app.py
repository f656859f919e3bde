"""The least that such a service does, by hand: Falcon, msgspec and SQLite, a payment three inserts in one commit.

    python app.py PORT STORE

granian serves it by WSGI, for which Falcon is written, with four threads.
"""

import secrets
import sqlite3
import sys
import threading
import time
from decimal import Decimal
from functools import partial

import falcon
import granian
import msgspec
from granian.constants import HTTPModes, Interfaces

_SCHEMA = """
PRAGMA journal_mode = WAL;
CREATE TABLE intent (
    seq INTEGER PRIMARY KEY, id TEXT UNIQUE, amount_minor INTEGER, currency TEXT, created INTEGER) STRICT;
CREATE TABLE event (seq INTEGER PRIMARY KEY, id TEXT UNIQUE, type TEXT, body TEXT) STRICT;
CREATE TABLE call (seq INTEGER PRIMARY KEY, id TEXT UNIQUE, method TEXT, path TEXT, body TEXT) STRICT;
"""


class Asked(msgspec.Struct):
    amount: Decimal
    currency: str
    payment_method_types: list[str]


class Intent(msgspec.Struct):
    id: str
    amount: Decimal
    currency: str
    created: int
    status: str = "requires_payment_method"
    object: str = "payment_intent"


class Payments:
    """The two paths; connections are a thread's own, and one thread writes at a time."""

    def __init__(self, store: str) -> None:
        self._store = store
        self._own = threading.local()
        self._writing = threading.Lock()
        self._asked = msgspec.json.Decoder(Asked)
        self._json = msgspec.json.Encoder(decimal_format="number")

    def _run(self, sql: str, *values: object) -> sqlite3.Cursor:
        if not hasattr(self._own, "connection"):
            self._own.connection = sqlite3.connect(self._store, isolation_level=None)
            self._own.connection.execute("PRAGMA synchronous = NORMAL")
        return self._own.connection.execute(sql, values)

    def on_post(self, req: falcon.Request, resp: falcon.Response) -> None:
        body = req.bounded_stream.read()
        asked = self._asked.decode(body)
        intent = Intent(f"pi_{secrets.token_hex(12)}", asked.amount, asked.currency, int(time.time()))
        event, call = f"evt_{secrets.token_hex(12)}", f"req_{secrets.token_hex(12)}"
        resp.data, resp.content_type = self._json.encode(intent), falcon.MEDIA_JSON
        with self._writing:
            self._run("BEGIN IMMEDIATE")
            kept = intent.id, int(asked.amount * 100), intent.currency, intent.created
            self._run("INSERT INTO intent (id, amount_minor, currency, created) VALUES (?, ?, ?, ?)", *kept)
            kept = event, "payment_intent.created", resp.data.decode()
            self._run("INSERT INTO event (id, type, body) VALUES (?, ?, ?)", *kept)
            kept = call, req.method, req.path, body.decode()
            self._run("INSERT INTO call (id, method, path, body) VALUES (?, ?, ?, ?)", *kept)
            self._run("COMMIT")

    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        found = self._found("ORDER BY seq DESC LIMIT ?", req.get_param_as_int("limit"))
        resp.data, resp.content_type = self._json.encode({"object": "list", "data": found}), falcon.MEDIA_JSON

    def on_get_one(self, req: falcon.Request, resp: falcon.Response, id: str) -> None:  # noqa: ARG002  Falcon's signature
        (found,) = self._found("WHERE id = ?", id)
        resp.data, resp.content_type = self._json.encode(found), falcon.MEDIA_JSON

    def _found(self, which: str, value: object) -> list[Intent]:
        rows = self._run(f"SELECT id, amount_minor, currency, created FROM intent {which}", value)  # noqa: S608  one of the two above
        return [Intent(row[0], Decimal(row[1]).scaleb(-2), *row[2:]) for row in rows]


def _loaded(store: str) -> falcon.App:
    payments, app = Payments(store), falcon.App()
    app.add_route("/v1/payment_intents", payments)
    app.add_route("/v1/payment_intents/{id}", payments, suffix="one")
    return app


if __name__ == "__main__":
    port, path = int(sys.argv[1]), sys.argv[2]
    connection = sqlite3.connect(path)
    connection.executescript(_SCHEMA)
    connection.close()
    server = granian.Granian(
        "app", address="127.0.0.1", port=port, interface=Interfaces.WSGI, http=HTTPModes.http1, websockets=False,
        workers=1, blocking_threads=4, log_enabled=False,
    )  # fmt: skip
    server.serve(target_loader=partial(_loaded, path), wrap_loader=False)
