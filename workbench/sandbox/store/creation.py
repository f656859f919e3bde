"""How a store comes to be: its tables from `schema.sql` or an earlier one, keys from its seed; what a reset leaves."""

import hashlib
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files

from workbench.domain.ids import KEY_PREFIXES, Draws
from workbench.sandbox.store.journal import Journal

SCHEMA_VERSION = 4
MIGRATIONS: Mapping[int, Sequence[str]] = {
    3: (
        "ALTER TABLE ussd_session RENAME COLUMN play TO scenario",
        "ALTER TABLE script RENAME COLUMN play TO scenario",
        "ALTER TABLE kept_answer RENAME TO kept_response",
        "DROP INDEX job_due",
    ),
}
"""Version of an earlier schema → what changes in its tables on the way to the next. What is new is made anyway."""

_FORGOTTEN = (
    "attempt", "delivery", "event", "job", "kept_response", "call", "screen", "hold", "ussd_session", "refund",
    "charge", "payment_intent", "payout", "token", "script", "outage", "posting", "entry", "balance",
)  # fmt: skip
"""What a reset empties, children first. Accounts, keys, endpoints, the clock and the counters stay."""


def create(connection: sqlite3.Connection) -> None:
    """Make what is missing of the tables, indexes and triggers."""
    for statement in _statements(files(__package__).joinpath("schema.sql").read_text("utf-8")):
        connection.execute(statement)


def migrate(connection: sqlite3.Connection, version: int) -> None:
    """Bring a store of an earlier schema, one of `MIGRATIONS`, to this one."""
    for step in range(version, SCHEMA_VERSION):
        for statement in MIGRATIONS[step]:
            connection.execute(statement)
    create(connection)
    Journal(connection).add_up()
    connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")


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
