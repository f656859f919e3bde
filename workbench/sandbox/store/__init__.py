"""The store, which contains all SQL: creates or opens its SQLite file, and runs one transaction at a time on it."""

import logging
import os
import sqlite3
import stat
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path

from workbench.domain.gaps import Gaps
from workbench.domain.ids import KEY_PREFIXES, Draws
from workbench.domain.moments import START, milliseconds
from workbench.errors import StoreRefused
from workbench.sandbox.store.journal import Journal
from workbench.sandbox.store.transaction import BUSY_S, MERCHANT_ID, UNWRITTEN, NotNow, Transaction, UnitOfWork, create
from workbench.visible import visible

__all__ = ["MERCHANT_ID", "NotNow", "Settings", "Store", "Transaction"]
_LOG = logging.getLogger(__name__)
SCHEMA_VERSION = 5
_UPGRADED = 4
"""The earlier schema version whose files are upgraded: missing tables are created, and balances computed."""
_APPLICATION_ID = 0x4D4D5742
"""SQLite's `application_id` of a store's file: the letters MMWB."""
MERCHANT_NAME = "PLANT STORE"
_OLDEST_SQLITE = (3, 37, 0)
_MOST_CALLS_WAIT = 100
"""The number of calls waiting for the trace at which even a read writes them, so that they do not fill the memory."""
BESIDE = ("-driver", "-next")
"""Endings of the names of the lock files beside the store's file."""
_SIBLINGS = ("", "-wal", "-shm", "-journal", *BESIDE)
"""Suffixes of all files of a store: the store itself, SQLite's files and the lock files."""
_OWNERS_ALONE = 0o600


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Settings for opening a sandbox; plain values, so that they can be sent to a worker process.

    If `path` is None, the database is temporary and private. If `seed` is None, the file's own seed is used, or for a
    new file a random one. `start_ms` is the first moment of a new manual clock, in milliseconds since 1970; if it is
    None, an existing file keeps its own first moment, and a new one takes `moments.START`. `private_receivers` allows
    webhooks to private address ranges.
    """

    path: Path | None = None
    seed: str | None = None
    clock: str = "manual"
    start_ms: int | None = None
    gaps: Gaps = field(default_factory=Gaps)
    private_receivers: bool = False


def wall_clock_ms() -> int:
    """Milliseconds since 1970 by this machine's clock."""
    return time.time_ns() // 1_000_000


def make_private(path: Path | str) -> None:
    """Creates an empty file that only its owner can read, whatever the umask; an existing file stays unchanged.

    Call this before SQLite opens the file: SQLite gives the files beside it the same mode. Errors are
    ignored here: SQLite reports them when it opens the file.
    """
    with suppress(OSError):
        Path(path).touch(_OWNERS_ALONE, exist_ok=False)


def keep_private(store: Path) -> None:
    """Makes the files of a store readable only for their owner; a copied or older file may have the umask's mode.

    If the mode cannot be set, as for another user's file, that is logged.
    """
    for ending in _SIBLINGS:
        path = Path(f"{store}{ending}")
        try:
            if stat.S_IMODE(path.stat().st_mode) != _OWNERS_ALONE:
                path.chmod(_OWNERS_ALONE)
        except FileNotFoundError:
            continue
        except OSError as error:
            _LOG.warning("%s can be read by others, and holds signing secrets: %s.", visible(str(path)), error.strerror)


@cache
def _empty_store() -> bytes:
    """The bytes of an empty store; copying them takes a quarter of the time of the sixty statements that create one."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        create(connection)
        return connection.serialize()


def _connected_without_a_name(connect: Callable[[str], sqlite3.Connection]) -> sqlite3.Connection:
    """A connection to a new temporary file, whose name is removed at once.

    On Windows, or if no file can be created, the database is in memory. SQLite's own temporary database is not used:
    SQLite 3.40 damages it in a rollback, after moving it to its file.
    """
    try:
        if os.name == "nt":
            return connect(":memory:")
        descriptor, name = tempfile.mkstemp(prefix="workbench-", suffix=".db")
    except OSError:
        return connect(":memory:")
    os.close(descriptor)
    try:
        connection = connect(name)
        # Nobody else can open it; and SQLite would look for files beside it.
        connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        return connection
    finally:
        Path(name).unlink()


class Store:
    """The file of one sandbox. Threads of one process use it one at a time; other processes wait for the file.

    `new_seed` makes the seed of a new file if the settings have none; `wall_ms` is this machine's clock.
    Raises StoreRefused: SQLite is too old, or the file cannot be used with these settings.
    """

    def __init__(
        self, settings: Settings, new_seed: Callable[[], str], wall_ms: Callable[[], int] = wall_clock_ms
    ) -> None:
        if sqlite3.sqlite_version_info < _OLDEST_SQLITE:
            raise StoreRefused(
                f"SQLite {sqlite3.sqlite_version} is too old: 3.37 brought the strict tables that are used here.",
                hint="A newer Python brings a newer SQLite.",
            )
        self.path = settings.path
        self._wall_ms = wall_ms
        self.gaps = settings.gaps
        self.before_reset: list[Callable[[], object]] = []
        """Functions to call before a reset deletes what has happened."""
        if self.path is not None:
            if self.path.is_dir():
                raise self._refused(f"{self.path} is a folder.", hint="Name a file in it.")
            if not self.path.parent.is_dir():
                raise self._refused(f"There is no folder {self.path.parent} to keep {self.path.name} in.")
            make_private(self.path)
        try:
            with ExitStack() as at_fault:
                self._connection = at_fault.enter_context(closing(self._connected()))
                self._open(settings, new_seed)
                at_fault.pop_all()
        except (sqlite3.Error, UnicodeDecodeError) as error:  # a damaged message of SQLite's own is no text
            store = self.path or "A temporary database"
            raise self._refused(f"{store} cannot be used as a store: {error}.") from None

    def close(self) -> None:
        """Closes the file; the last process to close it deletes the files beside it."""
        if self.path is not None:
            # Writes the calls that only read and a running clock's moment; nothing if the store was closed before.
            with suppress(*UNWRITTEN, sqlite3.ProgrammingError), self.transaction():
                pass
        with self._transaction.turn:
            self._transaction.close()
            if self.path is not None:
                self._fold()
            self._connection.close()

    def reading(self) -> AbstractContextManager[Transaction]:
        """Begins a read, which sees the file as of one moment, and neither waits for a writer nor blocks one.

        A call traced during the read is written with the process's next command, or by `write_calls`.
        """
        if len(self._transaction.later) >= _MOST_CALLS_WAIT:
            with suppress(NotNow, *UNWRITTEN):
                self.write_calls()
        return UnitOfWork(self._transaction, reads_only=True)

    def write_calls(self) -> None:
        """Writes the traced calls of reads into the trace, if any are waiting."""
        if self._transaction.later:
            with self.transaction():
                pass

    def key(self, kind: str) -> str:
        """The merchant's oldest active test key, `secret` or `publishable`; empty if no publishable key is active.

        A secret key is always active.
        """
        with self.reading() as tx:
            return tx.key(MERCHANT_ID, kind)

    def _fold(self) -> None:
        """Merges SQLite's journal into the file and deletes the files beside it, unless others have the file open."""
        with suppress(sqlite3.Error, OSError):
            # The exclusive mode fails while another connection is open. With it, nobody can open the file until
            # this connection ends, so that no lock that is removed here is held.
            self._connection.execute("PRAGMA busy_timeout = 0")
            self._connection.execute("PRAGMA locking_mode = EXCLUSIVE")
            self._connection.execute("PRAGMA journal_mode = DELETE")
            # A lock that is held to the end of the process, as by a delivery that hangs, has a journal.
            for ending in (*BESIDE, *(f"{beside}-journal" for beside in BESIDE)):
                Path(f"{self.path}{ending}").unlink(missing_ok=True)

    def _connected(self) -> sqlite3.Connection:
        # check_same_thread: threads take turns at the one connection, as they would have to at the file.
        connect = partial(
            sqlite3.connect, timeout=BUSY_S, isolation_level=None, check_same_thread=False, cached_statements=256
        )
        # A throw-away store keeps its journal in memory.
        ways = ("synchronous = NORMAL",) if self.path else ("journal_mode = MEMORY", "synchronous = OFF")
        connection = connect(self.path) if self.path else _connected_without_a_name(connect)
        for way in (*ways, "foreign_keys = ON"):
            connection.execute(f"PRAGMA {way}")
        if self.path is None:
            with closing(sqlite3.connect(":memory:")) as empty:
                empty.deserialize(_empty_store())
                empty.backup(connection)
        return connection

    def _open(self, settings: Settings, new_seed: Callable[[], str]) -> None:
        """Creates the tables of a new file; checks an existing one, and upgrades an earlier schema.

        A file that is refused stays unchanged. Raises StoreRefused: the file is no store, or has an unknown version.
        """
        connection = self._connection
        connection.execute("BEGIN IMMEDIATE")
        version = 0 if self.path is None else self._version()
        if version:
            self._check_settings(settings)
        if self.path is not None:
            # Once the file is known to be a store, and before it holds a secret.
            keep_private(self.path)
        if not version:
            self._fill(settings, new_seed)
        elif version == _UPGRADED:
            create(connection)
            Journal(connection).add_up()
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
        self.draws = Draws(connection.execute("SELECT value FROM meta WHERE name = 'seed'").fetchone()[0])
        tx = self._transaction = Transaction(
            connection, self.draws, self.gaps, self._wall_ms, shared=self.path is not None
        )
        tx.private_receivers = settings.private_receivers
        self.hosts_by_its_clock = tx.hosts_by_its_clock
        self.transaction = partial(UnitOfWork, tx, reads_only=False)
        """Begins a command, whose changes are committed unless the block raises."""
        self.grouped = tx.grouped
        """Begins a group of this thread's commands, or reads, which are one transaction."""
        self.now_s, self.clock_if_due, self.version = tx.moment_s, tx.clock_if_due, tx.version
        self.credentials = tx.credentials()
        """The merchant's e-mail address and password; None if the service accepts almost any."""
        tx.begin()
        for kind in () if version else KEY_PREFIXES:
            tx.new_key(MERCHANT_ID, kind)
        tx.set_clock_mode(settings.clock)
        if self.path is not None:
            tx.opening = tx.count_up("opening")
        tx.commit()
        if self.path is not None:
            connection.execute("PRAGMA journal_mode = WAL")
            # From now on a wait for another process does not hold up this process's threads.
            connection.execute("PRAGMA busy_timeout = 0")

    @contextmanager
    def never_waiting_here(self) -> Iterator[None]:
        """During the block, the calling thread gets NotNow where it would wait for the file or the connection."""
        ours = threading.get_ident()
        with self.reading():
            pass  # an opening's first read may take a command, and waits for that before
        self._transaction.never_wait.add(ours)
        try:
            yield
        finally:
            self._transaction.never_wait.discard(ours)

    def _refused(self, message: str, *, hint: str = "", **facts: int) -> StoreRefused:
        return StoreRefused(message, hint=hint, path=str(self.path), **facts)

    def _version(self) -> int:
        """The version of the file's schema; 0 for a new file.

        Raises StoreRefused: an unknown version, or no store at all.
        """
        application, version, tables = (
            self._connection.execute(question).fetchone()[0]
            for question in ("PRAGMA application_id", "PRAGMA user_version", "SELECT count(*) FROM sqlite_master")
        )
        if not (application or version or tables):
            return 0
        if application != _APPLICATION_ID:
            raise self._refused(f"{self.path} is a database of another program.")
        if version not in (SCHEMA_VERSION, _UPGRADED):
            message = f"{self.path} has schema version {version}; this workbench reads {SCHEMA_VERSION}."
            raise self._refused(message, version=version)
        return int(version)

    def _check_settings(self, settings: Settings) -> None:
        """Raises StoreRefused: the settings ask for another seed or first moment than the file's."""
        known = dict(self._connection.execute("SELECT name, value FROM meta"))
        requested = {"seed": settings.seed, "start_ms": settings.start_ms}
        for name, origin in (("seed", "made with another seed"), ("start_ms", "begun at another moment")):
            if requested[name] is not None and str(requested[name]) != known.get(name):
                setting = name.removesuffix("_ms")
                raise self._refused(f"{self.path} was {origin}.", hint=f"Leave the {setting} out, or name a new file.")

    def _fill(self, settings: Settings, new_seed: Callable[[], str]) -> None:
        connection = self._connection
        if self.path is not None:
            create(connection)
        seed = settings.seed if settings.seed is not None else new_seed()
        manual_ms = milliseconds(START) if settings.start_ms is None else settings.start_ms
        start_ms = manual_ms if settings.clock == "manual" else self._wall_ms()
        connection.execute("INSERT INTO meta VALUES ('seed', ?), ('start_ms', ?)", (seed, str(start_ms)))
        connection.execute("INSERT INTO clock VALUES (1, ?, ?, 0)", (settings.clock, start_ms))
        connection.execute("INSERT INTO account VALUES (?, ?)", (MERCHANT_ID, MERCHANT_NAME))
        connection.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
