"""Runs one query in your own database through ADBC: it only reads, and shows and keeps nothing of the address."""

import re
from collections.abc import Mapping
from contextlib import closing
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Final, TypeGuard
from urllib.parse import parse_qsl, urlsplit

import pyarrow as pa

from workbench.domain.masking import mask
from workbench.errors import StatementRefused
from workbench.extras import how_to_install

_ADDRESS: Final = re.compile(r"[A-Za-z][\w+.-]+://")
POSTGRESQL, SQLITE = "postgresql", "sqlite"
DRIVERS: Final = {POSTGRESQL: POSTGRESQL, "postgres": POSTGRESQL, SQLITE: SQLITE}
"""Scheme of an address, before `://` → the driver."""
EXTRA: Final = how_to_install("sql")
_ROWS_AT_ONCE: Final = str(1 << 24)
"""The rows of a batch. SQLite's columns have no type: the driver goes by the first batch, so it must hold all rows."""
_PATIENCE_S: Final = 10
_OPENS_WITH: Final = ("SELECT", "WITH", "VALUES")
_UNREAD: Final = re.compile(
    r"""(?P<comment>--[^\n]*|/\*.*?\*/)|'(?:[^']|'')*'|"(?:[^"]|"")*"|\$(?P<tag>\w*)\$.*?\$(?P=tag)\$""", re.DOTALL
)
"""Comments and quoted text, which hold no words of the query."""
_SENT_AS: Final = "COPY ("
"""What the PostgreSQL driver puts before the query: the server may count places from there."""
_SAID_BY_SQLITE: Final = re.compile(r"query: ([^\n]+)")
_NOT_REACHED: Final[Mapping[str, tuple[str, str]]] = {
    "password|no pg_hba": (
        "does not let this user in",
        "The user stands in the address, and the password in the environment: PGPASSWORD.",
    ),
    "role .* does not exist": ("does not know this user", "The user stands in the address, or in PGUSER."),
    "database .* does not exist": ("is not on this server", "Its name is what follows the host: postgresql://…/NAME."),
    "translate host name": ("is on a host that is not found", "Is its name right, and is there a network?"),
    "invalid|missing": ("has an address that cannot be used", "postgresql://user@host:5432/name, for example."),
    "": ("cannot be reached", "Is it running, and does it take connections from this machine?"),
}
"""Pattern of the driver's message → our words, and what to do; the message itself has the user and the host."""


def is_address(text: object) -> TypeGuard[str]:
    """True for text like the address of a database, which has a scheme and `://`."""
    return isinstance(text, str) and _ADDRESS.match(text) is not None


def fetched(address: str, sql: str, name: str) -> pa.Table:
    """The result of a query as an Arrow table; messages call the query `name`.

    `address` is `postgresql://user@host/database` or `sqlite:///path` (`sqlite:////path` from the root). The query is
    run by itself and only reads. Raises StatementRefused: an address with a password, no such driver or database, or a
    text that is not one query, writes, or fails.
    """
    scheme = address.partition(":")[0].lower()
    if scheme not in DRIVERS:
        known = ", ".join(f"{name}://" for name in DRIVERS)
        text = f"There is no driver for the address {scheme}://…; there are {known}."
        raise StatementRefused(text, drivers=tuple(DRIVERS))
    checked = _one_query(sql, name)
    driver = DRIVERS[scheme]
    try:
        adbc = import_module(f"adbc_driver_{driver}.dbapi")
    except ImportError:
        raise StatementRefused(f"The driver for {driver} is not installed.", hint=EXTRA) from None
    fetch = _from_postgresql if driver == POSTGRESQL else _from_sqlite
    # What a driver raises may have the user, the host and the path in it, and goes no further.
    return fetch(adbc, address, checked, name)


def _one_query(sql: str, name: str) -> str:
    """The query with blanks for its comments, so that places stay, and no semicolon at its end.

    Raises StatementRefused: the text is no query, or several statements.
    """
    plain = _UNREAD.sub(lambda found: re.sub(r"[^\n]", " ", found[0]) if found["comment"] else found[0], sql)
    ended = plain.rstrip().removesuffix(";").rstrip()
    first = re.match(r"[\s(]*(\w*)", ended)
    if first is None or first[1].upper() not in _OPENS_WITH:
        begins = f"it begins with {first[1][:40]}" if first and first[1] else "there is none in it"
        hint = f"A query begins with {' or '.join(_OPENS_WITH)}, and must only read."
        raise StatementRefused(f"{name} is not a query: {begins}.", hint=hint, file=name)
    if ";" in _UNREAD.sub("", ended):
        raise StatementRefused(f"{name} has several statements.", hint="Keep the one query of the ledger.", file=name)
    return ended


def _from_postgresql(adbc: ModuleType, address: str, sql: str, name: str) -> pa.Table:
    try:
        parts = urlsplit(address)
        has_password = parts.password is not None or any("password" in key for key, _ in parse_qsl(parts.query))
    except ValueError:
        raise StatementRefused(
            "The address of the database cannot be read.", hint=_NOT_REACHED["invalid|missing"][1]
        ) from None
    if has_password:
        raise StatementRefused(
            "The address of the database contains a password, which others can read.",
            hint="Remove it, and set PGPASSWORD in the environment.",
        )
    waits = "" if "connect_timeout" in parts.query else f"{'&' if parts.query else '?'}connect_timeout={_PATIENCE_S}"
    try:
        connection = adbc.connect(address + waits)
    except adbc.Error as error:
        why, hint = next(words for pattern, words in _NOT_REACHED.items() if re.search(pattern, str(error)))
        raise StatementRefused(f"The database {why}.", hint=hint) from None
    with closing(connection), closing(connection.cursor()) as cursor:
        try:
            cursor.execute("SET TRANSACTION READ ONLY")
            cursor.execute(sql)
            return cursor.fetch_record_batch().read_all()
        except (adbc.Error, OSError, pa.ArrowException) as error:
            raise _failed(name, *_said_by_postgresql(error, sql)) from None


def _said_by_postgresql(error: Exception, sql: str) -> tuple[str, str]:
    """The server's message, which has nothing of the address; and words for the place in the query, if it names one."""
    details = {key.decode(): value.decode(errors="replace") for key, value in getattr(error, "details", None) or ()}
    place = int(details.get("PG_DIAG_STATEMENT_POSITION", 0)) - (
        len(_SENT_AS) if f"Query was: {_SENT_AS}" in str(error) else 0
    )
    before = sql[: place - 1].split("\n") if place > 0 else []
    where = f", at line {len(before)}, column {len(before[-1]) + 1}" if before else ""
    return details.get("PG_DIAG_MESSAGE_PRIMARY", "the server's answer ended early"), where


def _from_sqlite(adbc: ModuleType, address: str, sql: str, name: str) -> pa.Table:
    path = Path(address.partition(":")[2].removeprefix("///"))
    if not path.is_file():
        hint = "sqlite:///books.db is a file of this folder, sqlite:////srv/books.db one from the root."
        raise StatementRefused(f"There is no database {path.name or 'there'}.", hint=hint)
    read_only, options = f"{path.resolve().as_uri()}?mode=ro", {"adbc.sqlite.query.batch_rows": _ROWS_AT_ONCE}
    try:
        with closing(adbc.connect(read_only)) as link, closing(link.cursor(adbc_stmt_kwargs=options)) as cursor:
            cursor.execute(sql)
            return cursor.fetch_record_batch().read_all()
    except (adbc.Error, OSError, pa.ArrowException) as error:
        said = _SAID_BY_SQLITE.search(str(error))
        raise _failed(name, said[1] if said else "the file cannot be read as a database") from None


def _failed(name: str, said: str, where: str = "") -> StatementRefused:
    hint = "A query of the ledger must only read." if re.search("read-?only", said) else ""
    return StatementRefused(f"{name} fails{where}: {mask(said)}.", hint=hint, file=name)
