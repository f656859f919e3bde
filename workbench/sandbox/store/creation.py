"""How a store comes to be: its tables from `schema.sql`, keys from its seed, and what a reset leaves of it."""

import hashlib
import sqlite3
from collections.abc import Iterator
from importlib.resources import files

from workbench.domain.ids import KEY_PREFIXES, Draws

_FORGOTTEN = (
    "attempt", "delivery", "event", "job", "kept_answer", "call", "screen", "hold", "ussd_session", "refund", "charge",
    "payment_intent", "payout", "token", "script", "outage", "posting", "entry",
)  # fmt: skip
"""What a reset empties, children first. Accounts, keys, endpoints, the clock and the counters stay."""


def create(connection: sqlite3.Connection) -> None:
    """Make what is missing of the tables, indexes and triggers."""
    for statement in _statements(files(__package__).joinpath("schema.sql").read_text("utf-8")):
        connection.execute(statement)


def forget(connection: sqlite3.Connection) -> None:
    """Drop what a reset empties and make it anew: rows of the ledger cannot be deleted, its whole table can."""
    for table in _FORGOTTEN:
        connection.execute(f"DROP TABLE {table}")
    create(connection)


def key_value(draws: Draws, kind: str, identifier: str) -> str:
    """The key of an identifier; the same for the same seed."""
    return KEY_PREFIXES[kind] + draws.token("key", identifier)


def digest_of(secret: str) -> str:
    """What is stored of a key or token: its SHA-256."""
    return hashlib.sha256(secret.encode()).hexdigest()


def _statements(script: str) -> Iterator[str]:
    """The statements of a script, so that they run inside the caller's transaction."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
