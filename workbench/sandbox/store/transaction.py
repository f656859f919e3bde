"""The store as one command sees it: tables, made from `schema.sql`, the current moment, new ids, and due jobs."""

import hashlib
import logging
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from datetime import timedelta
from functools import cache, lru_cache
from importlib.resources import files
from operator import attrgetter
from types import TracebackType
from typing import Any, Final, Generic, TypeVar, get_origin

import msgspec

from workbench.domain import payments, ussd, webhooks
from workbench.domain.gaps import Gaps
from workbench.domain.ids import ACTIVE, KEY_PREFIXES, Draws
from workbench.domain.ledger import JournalEntry, Posting, postings_for
from workbench.domain.phones import MARK
from workbench.errors import ServiceFailed, ServiceUnavailable, StorageFull
from workbench.sandbox.store import rows
from workbench.sandbox.store.journal import Journal
from workbench.sandbox.store.rows import Condition

_LOG = logging.getLogger(__name__)
MERCHANT_ID: Final = "plants"
BUSY_S: Final = 30
"""Seconds that a command waits for other processes."""
_SHORTEST_PAUSE_S: Final = timedelta(milliseconds=1).total_seconds()
_LONGEST_PAUSE_S: Final = timedelta(milliseconds=20).total_seconds()
_LOOK_S: Final = timedelta(milliseconds=5).total_seconds()
"""Seconds for which even a thread that must not wait lets another thread's command finish."""
DELIVER: Final = "deliver"
"""The kind of job that makes the next attempt of a delivery."""
_OF_DELIVERY: Final = "(SELECT object_id FROM event JOIN delivery AS way ON event.id = way.event WHERE way.id = {})"
_CHANGES: Final = {
    "call": "'request', id, payment", "screen": "'prompt', phone, charge", "entry": "'entry', id, payment",
    "delivery": f"'delivery', id, {_OF_DELIVERY.format('delivery.id')}",
    "attempt": f"'delivery', delivery, {_OF_DELIVERY.format('attempt.delivery')}",
    "job": f"iif(kind = '{DELIVER}', 'delivery', ''), ref, {_OF_DELIVERY.format('job.ref')}",
    "event": "'', '', object_id", **dict.fromkeys(("payment_intent", "charge", "refund"), "'', '', id"),
}  # fmt: skip
"""Table → SQL for the kind and id of the object that a new row changes, and the id of an object of its payment.

Kind and id are empty if only the payment changes.
"""
UNWRITTEN: Final = (ServiceUnavailable, StorageFull)
"""Errors for a command that cannot be written; all its changes are undone."""
_LOCKED: Final = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_FAILED: Final = (sqlite3.SQLITE_IOERR, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN)
_MOST_READS_WAIT: Final = 1_000
"""The most calls that wait for the trace while the file cannot be written; beyond that, the oldest are dropped."""
_LATEST: Final = "latest_ms"
"""The counter that stores the latest moment of a running clock."""
_LEAST_LOGGED_MS: Final = 1_000
"""The smallest backward jump of this machine's clock, in milliseconds, that is logged."""
_READS_OF_AN_OPENING: Final = 1 << 40
"""The most reads that each opening of a kept file can number; an id of one opening never occurs in another."""
_FORGOTTEN: Final = (
    "attempt", "delivery", "event", "job", "kept_response", "call", "screen", "hold", "ussd_session", "refund",
    "charge", "payment_intent", "payout", "token", "script", "outage", "posting", "entry", "balance",
)  # fmt: skip
"""Tables that a reset empties, children first. Accounts, keys, endpoints, clock and counters stay."""


R = TypeVar("R", bound=msgspec.Struct)
_PLAIN = (str, int, str | None, int | None)
_fields = cache(msgspec.structs.fields)  # the same for every connection
_MOMENTS = ("created_ms", "at_ms", "issued_ms")
_MOST_KNOWN = 256
"""The most queries, and the most rows, that a table caches: clients may ask for any number of unknown keys."""
Filters = str | int | None | tuple[str, ...]
"""The value that a column must have: None for null, a tuple for any of several values."""

_encoded = msgspec.json.Encoder().encode


@cache
def _from_json(kind: object) -> Callable[[str], object]:
    """A function that parses JSON text as this type; it caches tuples, since most rows have the same few texts."""
    read = msgspec.json.Decoder(kind).decode
    return lru_cache(read) if get_origin(kind) is tuple else read


@lru_cache
def _terms(*filters: tuple[str, int | None]) -> str:
    """SQL of filters (column, count): the column has one of `count` values; if `count` is None, it is null."""
    terms = (f"{name} IS NULL" if most is None else f"{name} IN ({', '.join('?' * most)})" for name, most in filters)
    return " AND ".join(terms) or "1"


def _where(equals: dict[str, Filters], also: Sequence[Condition] = ()) -> tuple[str, tuple[str | int, ...]]:
    places: list[tuple[str, int | None]] = []
    values: list[str | int] = []
    for name, filters in equals.items():
        several = filters if isinstance(filters, tuple) else () if filters is None else (filters,)
        places.append((name, None if filters is None else len(several)))
        values += several
    where = _terms(*places)
    for condition in also:
        where = f"{where} AND {condition.sql}"
        values += condition.values
    return where, tuple(values)


def create(connection: sqlite3.Connection) -> None:
    """Creates missing tables, indexes and triggers, within the caller's transaction."""
    statement = ""
    for line in files(__package__).joinpath("schema.sql").read_text("utf-8").splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            connection.execute(statement)
            statement = ""


@lru_cache(maxsize=64)
def secret_digest(secret: str) -> str:
    """The SHA-256 with which a key or token is stored; cached, because the same key comes with every call."""
    return hashlib.sha256(secret.encode()).hexdigest()


def unwritten(error: BaseException | None) -> ServiceFailed | None:
    """The service error for an SQLite error that the disk or another program caused; None for any other exception."""
    if not isinstance(error, sqlite3.OperationalError):
        return None
    # The lowest byte is the kind of an extended code.
    code, message = error.sqlite_errorcode & 0xFF, f"The sandbox's store cannot be written: {error}."
    if code == sqlite3.SQLITE_FULL:
        return StorageFull(message)
    if code in _LOCKED:
        return ServiceUnavailable(message, code="storage_locked")
    return ServiceUnavailable(message) if code in _FAILED else None


class Table(Generic[R]):
    """The rows of one table as structs of one type; the column `key` identifies a row.

    New rows get ids that begin with `prefix`. Each connection has its own tables, which build their SQL once and share
    a cursor: all rows of a statement are read before the next statement runs. A table of `few` rows caches the results
    of its queries until the table is written to, or until `forget` is called because others may have written.
    """

    def __init__(
        self, tx: "Transaction", name: str, record: type[R], prefix: str = "", *, key: str = "id", few: bool = False
    ) -> None:
        fields = _fields(record)
        names = tuple(field.name for field in fields)
        self._tx = tx
        self._run = tx.execute
        self._prefix = prefix
        self._moment = next((column for column in _MOMENTS if column in names), None)
        """The column of the moment at which a row was made."""
        self.name = name
        self._record = record
        self._key = key
        self._names = names
        self._few = few
        self._known: dict[tuple[object, ...], list[R]] = {}
        """Query → its records."""
        self._rows: dict[str | int, R | None] = {}
        """Key → the row as it is in the file, None if there is no such row."""
        self._updates: dict[tuple[int, ...], str] = {}
        """Indexes of changed columns → the statement that sets them."""
        self._values = attrgetter(*names)
        self._json = {field.name: _from_json(field.type) for field in fields if field.type not in _PLAIN}
        """Column of JSON text → its reader."""
        self._json_places = [place for place, name in enumerate(names) if name in self._json]
        self._from = f"SELECT {', '.join(names)} FROM {name}"
        self._insert = f"INSERT INTO {name} ({', '.join(names)}) VALUES ({', '.join('?' * len(names))})"
        self._by_key = f"{self._from} WHERE {key} = ?"

    def forget(self) -> None:
        """Clears the cache of rows."""
        self._known.clear()
        self._rows.clear()

    def create(self, **columns: object) -> R:
        """Inserts and returns a record with these columns, a new `seq`, the moment now and, unless given, a new id."""
        tx, prefix = self._tx, self._prefix
        if prefix and "id" not in columns:
            columns["id"] = tx.draws.identifier(prefix, tx.count_up(prefix))
        columns["seq"] = tx.count_up("seq")
        if self._moment:
            columns[self._moment] = tx.now_ms
        return self.add(self._record(**columns))

    def add(self, record: R) -> R:
        """Inserts a record and returns it."""
        self._run(self._insert, self._row(record))
        self._remember(record)
        return record

    def put(self, record: R, **changes: object) -> R:
        """Updates the row with the record's key, if any, to the record with `changes`; returns the changed record."""
        changed = msgspec.structs.replace(record, **changes)
        before = self.get(getattr(record, self._key))
        # Sets only changed columns: if a column is set, even to the same value, SQLite writes its indexes anew, and
        # for the key it looks for rows that refer to it.
        if before is not None and before != changed:
            kept, row = self._values(before), self._values(changed)
            differing = tuple([place for place, value in enumerate(row) if value != kept[place]])
            if differing not in self._updates:
                set_to = ", ".join(f"{self._names[place]} = ?" for place in differing)
                self._updates[differing] = f"UPDATE {self.name} SET {set_to} WHERE {self._key} = ?"
            values = [
                _encoded(row[place]).decode() if place in self._json_places else row[place] for place in differing
            ]
            self._run(self._updates[differing], (*values, getattr(record, self._key)))
            self._remember(changed)
        return changed

    def remove(self, record: R) -> bool:
        """Deletes the row of this record; True if it existed."""
        self.forget()
        return self._run(f"DELETE FROM {self.name} WHERE {self._key} = ?", (getattr(record, self._key),)).rowcount > 0

    def get(self, key: str | int) -> R | None:
        """The record with this key, or None."""
        if key not in self._rows:
            records = self._from_file(self._by_key, (key,))
            self._keep(key, records[0] if records else None)
        return self._rows[key]

    def __getitem__(self, key: str | int) -> R:
        """The record with this key, which must exist. Raises KeyError: it does not."""
        if (record := self.get(key)) is None:
            raise KeyError(key)
        return record

    def first(self, order: str = "", **equals: Filters) -> R | None:
        """The first record in `order`, such as `ended_seq DESC`, whose columns equal `equals`; else None."""
        records = self._select(order, " LIMIT 1", equals)
        return records[0] if records else None

    def all(self, order: str = "seq", **equals: Filters) -> list[R]:
        """All records whose columns equal `equals`, sorted by `order`."""
        return [*self._select(order, "", equals)]

    def between(self, first: int, last: int) -> list[R]:
        """All records with a `seq` from `first` to `last`, both included, in order."""
        return self._from_file(f"{self._from} WHERE seq BETWEEN ? AND ? ORDER BY seq", (first, last))

    def page(
        self,
        limit: int,
        skip: int = 0,
        /,
        *,
        older_than: int | None = None,
        newer_than: int | None = None,
        also: Sequence[Condition] = (),
        **equals: Filters,
    ) -> list[R]:
        """At most `limit` records, newest first, with a `seq` below `older_than` and above `newer_than`.

        With `newer_than` alone, the records that follow it directly. The records meet the conditions `also`, and their
        columns equal `equals`. The first `skip` of them are left out.
        """
        where, values = _where(equals, also)
        for sign, edge in ("<", older_than), (">", newer_than):
            if edge is not None:
                where, values = f"{where} AND seq {sign} ?", (*values, edge)
        upwards = newer_than is not None and older_than is None
        order = "seq" if upwards else "seq DESC"
        sql = f"{self._from} WHERE {where} ORDER BY {order} LIMIT ? OFFSET ?"
        rows = self._from_file(sql, (*values, limit, skip))
        return rows[::-1] if upwards else rows

    def count(self, also: Sequence[Condition] = (), **equals: Filters) -> int:
        """The number of rows that meet the conditions `also` and whose columns equal `equals`."""
        where, values = _where(equals, also)
        # Counted in a subquery with a limit, which lets SQLite flatten a view: a count of the view would build it.
        within = f"SELECT seq FROM {self.name} WHERE {where} LIMIT -1"
        ((rows,),) = self._run(f"SELECT count(*) FROM ({within})", values)
        return int(rows)

    def _remember(self, record: R) -> None:
        if self._few:
            self._known.clear()
        self._keep(getattr(record, self._key), record)

    def _keep(self, key: str | int, record: R | None) -> None:
        if len(self._rows) >= _MOST_KNOWN:
            self._rows.clear()
        self._rows[key] = record

    def _select(self, order: str, limit: str, equals: dict[str, Filters]) -> list[R]:
        query = order, limit, *equals.items()
        if query in self._known:
            return self._known[query]
        where, values = _where(equals)
        ordered = f" ORDER BY {order}" if order else ""
        records = self._from_file(f"{self._from} WHERE {where}{ordered}{limit}", values)
        if limit and records:
            self._keep(getattr(records[0], self._key), records[0])
        if self._few:
            if len(self._known) > _MOST_KNOWN:
                self.forget()
            self._known[query] = records
        return records

    def _from_file(self, sql: str, values: tuple[str | int, ...]) -> list[R]:
        records = []
        for row in self._run(sql, values):
            fields = dict(zip(self._names, row, strict=True))
            for name, decoded in self._json.items():
                fields[name] = decoded(fields[name])
            records.append(self._record(**fields))
        return records

    def _row(self, record: R) -> Sequence[Any]:
        values = self._values(record)
        if not self._json:
            return values
        row = list(values)
        for place in self._json_places:
            row[place] = _encoded(row[place]).decode()
        return row


class NotNow(Exception):
    """The connection or the file is busy, or a group of commands was rolled back.

    Nothing has changed, and the command can be tried again.
    """


class UnitOfWork(msgspec.Struct):
    """A command, which is committed unless the block raises; or a read, which sees the file as of one moment.

    It is a struct and not a generator, which would take twice the time. Raises StorageFull or ServiceUnavailable: the
    command cannot be written. Raises NotNow: the thread must not wait, and the file or the connection is busy; or the
    command's group was rolled back.
    """

    tx: "Transaction"
    reads_only: bool
    part: AbstractContextManager[object] | None = None
    """The command's block within the group of the thread; None if there is no group."""

    def __enter__(self) -> "Transaction":
        tx = self.tx
        if tx.group is not None and tx.group == threading.get_ident():
            self.part = tx.part_of_group(reads_only=self.reads_only)
            self.part.__enter__()
        else:
            tx.begin_in_turn(reads_only=self.reads_only)
        return tx

    def __exit__(
        self, kind: type[BaseException] | None, failure: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.part is None:
            self.tx.end_in_turn(failure)
        else:
            self.part.__exit__(kind, failure, trace)


class Transaction:
    """The reads and writes of a command. Each connection has one Transaction, which runs one command at a time.

    `now_ms` is read once when the command begins, in milliseconds since 1970. Clock, counters, the last entry of the
    chain and small tables are cached from one command to the next, until another connection writes to the file.
    """

    now_ms: int
    reads_only: bool
    private_receivers = False
    """True if webhooks to private address ranges are allowed."""
    opening = 0
    """The number of this opening of a kept file; it makes the ids of its reads differ from those of other openings."""
    group: int | None = None
    """The identifier of the thread whose commands share a transaction at present, or None."""
    _version: int | None = None
    _clock: tuple[str, int, int] | None = None
    _latest_ms = 0
    """The latest moment of a running clock in this process; the file has the moment of the latest command."""
    _lost_ms = 0
    """Milliseconds by which this machine's clock jumped back, until a command adds them to the offset."""
    _made_up_ms = 0
    """Milliseconds of `_lost_ms` that the current command has added to the offset."""
    _failed_at: int | None = None
    """The connection's number of changes when a write last failed; None after a command was written."""
    _none_claimed = False
    """True if the file is known to have no claimed job."""

    def __init__(
        self, connection: sqlite3.Connection, draws: Draws, gaps: Gaps, wall_ms: Callable[[], int], *, shared: bool
    ) -> None:
        self._connection = connection
        self._cursor = connection.cursor()
        """Runs the statements of every command: making a cursor takes as long as many statements."""
        self.execute = self._cursor.execute
        self.turn = threading.RLock()
        """Held by the thread whose command or read is running. Only its holder can release an RLock."""
        self.never_wait: set[int] = set()
        """Threads that get NotNow where other threads wait."""
        self.hosts_by_its_clock: set[str] = set()
        """Hosts whose webhooks go to an application of this process that uses the sandbox's clock."""
        self._wall_ms = wall_ms
        self._counters: dict[str, int] = {}
        self._counters_before: dict[str, int] = {}
        """Counters of a throw-away store after its last commit, which no file keeps."""
        self._counted: set[str] = set()
        """Counters that the command has changed."""
        self._shared = shared
        self._read_ids: dict[str, int] = {}
        self._read_ids_before: dict[str, int] = {}
        """Kind → how many ids of reads this opening had used when the last command or read ended; for a rollback."""
        self.later: deque[rows.StoredCall] = deque(maxlen=_MOST_READS_WAIT)
        """Calls of reads, which the next command writes into the trace."""
        self.draws = draws
        self.gaps = gaps
        self.intent_transitions = payments.intent_transitions(gaps)
        self.charge_transitions = payments.charge_transitions(gaps)
        self.accounts = Table(self, "account", rows.StoredAccount, few=True)
        self.api_keys = Table(self, "api_key", rows.StoredKey, "key", few=True)
        self.tokens = Table(self, "token", rows.TokenPair, "tok")
        self.intents = Table(self, "payment_intent", payments.StoredIntent, "pi")
        self.payments = Table(self, "payment", rows.StoredPayment)
        """A view for searches; writes go to intents and charges, so no row of the view is remembered."""
        self.charges = Table(self, "charge", payments.StoredCharge, "ch")
        self.refunds = Table(self, "refund", payments.StoredRefund, "re")
        self.payouts = Table(self, "payout", payments.StoredPayout, "po")
        self.sessions = Table(self, "ussd_session", ussd.UssdSession, "ussd")
        self.screens = Table(self, "screen", rows.Screen, key="seq")
        self.holds = Table(self, "hold", rows.Hold, key="seq")
        self.endpoints = Table(self, "webhook_endpoint", webhooks.Endpoint, "we", few=True)
        self.events = Table(self, "event", webhooks.StoredEvent, "evt")
        self.deliveries = Table(self, "delivery", webhooks.StoredDelivery, "del")
        self.attempts = Table(self, "attempt", webhooks.Attempt, "att")
        self.jobs = Table(self, "job", rows.Job, key="seq", few=True)
        self.scripts = Table(self, "script", rows.StoredScript, key="seq", few=True)
        self.outages = Table(self, "outage", rows.StoredOutage, key="provider", few=True)
        self.kept_responses = Table(self, "kept_response", rows.KeptResponse, key="scope")
        self.calls = Table(self, "call", rows.StoredCall)
        self.journal = Journal(connection)
        self._remember = [member for member in vars(self).values() if isinstance(member, Table | Journal)]

    @contextmanager
    def grouped(self, *, reads_only: bool) -> Iterator[None]:
        """A block in which the commands and reads of this thread share one transaction; it is committed at the end.

        A command that fails is undone alone; if the block itself raises, all commands are undone. With `reads_only`, a
        command raises NotNow. The errors of UnitOfWork are raised too.
        """
        with UnitOfWork(self, reads_only):
            self.group = threading.get_ident()
            try:
                yield
            finally:
                self.group = None

    def end_in_turn(self, failure: BaseException | None) -> None:
        """Commits, or rolls back after a `failure`, and releases the connection for other threads.

        Raises StorageFull or ServiceUnavailable: the command cannot be written.
        """
        try:
            if failure is None:
                self.commit()
            else:
                self._roll_back()
        except sqlite3.OperationalError as error:
            self._refuse(error)
            raise
        finally:
            self.turn.release()
        self._refuse(failure)

    def commit(self) -> None:
        """Writes the counters, commits the command or ends the read, and updates the caches."""
        try:
            self._write_counters()
            self._cursor.execute("COMMIT")
            self._end()
        except BaseException as error:
            if isinstance(error, sqlite3.Error) or self._connection.in_transaction:
                self._roll_back()
            else:  # Ctrl-C came once the command was committed
                self._end()
            raise

    def _refuse(self, error: BaseException | None) -> None:
        """Raises the service error for an SQLite error by the disk or another program; logs only the first one."""
        if refused := unwritten(error):
            if self._failed_at is None:
                _LOG.error("%s Until it can, requests that write get %s.", refused, refused.status)
            self._failed_at = self._connection.total_changes
            raise refused from error

    @contextmanager
    def part_of_group(self, *, reads_only: bool) -> Iterator[None]:
        """Runs the block as one command (with `reads_only`, one read) of the group that this thread has opened.

        If the block fails, its own changes are undone, and not those of the group's other commands.

        Raises NotNow: a command in a group that only reads, or the group's transaction was rolled back.
        """
        if self.reads_only and not reads_only:
            raise NotNow
        self.now_ms, counted = self._moment(), (self._counters.copy(), self._read_ids.copy())
        try:
            with nullcontext() if self.reads_only else self.savepoint():
                yield
        except Exception as error:
            self._counters, self._read_ids = counted  # the refusal takes the number that the failed read had
            # An error of the disk loses the whole group, which may be undone already: each command is tried alone.
            if unwritten(error) or not self._connection.in_transaction:
                raise NotNow from error
            raise

    def begin_in_turn(self, *, reads_only: bool) -> None:
        """Begins a command or, with `reads_only`, a read, after waiting for other threads and processes.

        Waiting for another process does not block other threads. The errors of UnitOfWork are raised too.
        """
        until_s, pause_s = time.monotonic() + BUSY_S, _SHORTEST_PAUSE_S
        while True:
            self._take_connection()
            try:
                self._cursor.execute("BEGIN" if reads_only else "BEGIN IMMEDIATE")
                self.begin(reads_only=reads_only)
            except BaseException as error:
                try:
                    self._roll_back()
                finally:  # a closed connection can't be rolled back either
                    self.turn.release()
                refused = unwritten(error)
                if refused is None or refused.code != "storage_locked" or time.monotonic() > until_s:
                    self._refuse(error)
                    raise
                if threading.get_ident() in self.never_wait:
                    raise NotNow from None
            else:
                return
            time.sleep(pause_s)
            pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)

    def _take_connection(self) -> None:
        try:
            is_taken = self.turn.acquire(blocking=False)
            if not is_taken:
                waits_s = _LOOK_S if threading.get_ident() in self.never_wait else -1
                is_taken = self.turn.acquire(timeout=waits_s)
        except BaseException:
            # Ctrl-C may come when the lock is taken already: a lock that stays taken would stop every other thread.
            with suppress(RuntimeError):  # it was not taken
                self.turn.release()
            raise
        if not is_taken:
            raise NotNow

    def _roll_back(self) -> None:
        self.drop_memory()
        self._counters, self._read_ids = self._counters_before.copy(), self._read_ids_before.copy()
        self._lost_ms, self._made_up_ms = self._lost_ms + self._made_up_ms, 0
        if self._connection.in_transaction:
            self._cursor.execute("ROLLBACK")

    def begin(self, *, reads_only: bool = False) -> None:
        """Reads the clock for a command or, with `reads_only`, a read, whose database transaction is already open.

        In a command, also writes the calls that wait for the trace.
        """
        self.now_ms = self._look()
        self.reads_only = reads_only
        if not reads_only:
            if self._lost_ms:
                self._move_offset(self._lost_ms, self.now_ms)
                self._made_up_ms, self._lost_ms = self._lost_ms, 0
            for call in self.later:
                self.calls.add(msgspec.structs.replace(call, seq=self.next_seq()))

    def moment_s(self) -> int:
        """The current moment of the clock in whole seconds since 1970, for use outside of a command."""
        with self.turn:
            return self._look() // 1000

    def version(self) -> tuple[int, int, int]:
        """Three numbers, of which at least one changes with every write by any process, and with a reset."""
        connection = self._connection
        return connection.execute("PRAGMA data_version").fetchone()[0], connection.total_changes, self.last("seq")

    def clock_if_due(self) -> str | None:
        """The clock's mode if a job is due, else None. Claimed jobs count, since their driver may have died.

        Raises NotNow: the file or the connection is busy.
        """
        self._take_connection()
        try:
            now_ms = self._look()
            return self.clock_mode() if self.earliest_job(now_ms, takes_over=True) else None
        finally:
            self.turn.release()

    def _look(self) -> int:
        """The current moment in milliseconds since 1970; clears the caches if another connection has written."""
        if self._shared:
            version = int(self._connection.execute("PRAGMA data_version").fetchone()[0])
            if version != self._version:
                self.drop_memory()
                self._version = version
                self._lost_ms = 0
        return self._moment()

    def _moment(self) -> int:
        mode, manual_ms, offset_ms = self._clock_row()
        if mode == "manual":
            return manual_ms
        now_ms = self._wall_ms() + offset_ms + self._lost_ms
        # If the wall clock was set back, even while the file was closed, time goes on from the latest moment.
        self._latest_ms = max(now_ms, self._latest_ms, self.last(_LATEST))
        self._lost_ms += self._latest_ms - now_ms
        return self._latest_ms

    def _end(self) -> None:
        """Updates the caches after the commit of a command or after a read."""
        if not self.reads_only:
            self.later.clear()
            if self._failed_at != self._connection.total_changes:
                self._failed_at = None
            if self._made_up_ms >= _LEAST_LOGGED_MS:
                message = "This machine's clock was set back by %s s. The sandbox's clock continues from where it was."
                _LOG.warning(message, self._made_up_ms // 1000)
            self._made_up_ms = 0
        if not self._shared:
            self._counters_before = self._counters.copy()
        self._read_ids_before = self._read_ids.copy()

    def new_read_id(self, kind: str) -> str:
        """The next id of a kind for a read, which cannot write its number into a kept file.

        If other processes may have the file open, each opening numbers its own reads.
        """
        if not self._shared:
            return self.new_id(kind)
        self._read_ids[kind] = self._read_ids.get(kind, 0) + 1
        return self.draws.identifier(kind, self.opening * _READS_OF_AN_OPENING + self._read_ids[kind])

    def credentials(self) -> tuple[str, str] | None:
        """The merchant's e-mail address and password, drawn from the seed; None if the register accepts almost any."""
        if self.gaps.token_credentials != "one_account":
            return None
        name = f"{MERCHANT_ID}-{self.draws.token('email', MERCHANT_ID)[:6].lower()}"
        return f"{name}@merchant.example", self.draws.token("password", MERCHANT_ID)

    def _write_counters(self) -> None:
        """Writes the counters and a running clock's moment, once per command, before its commit."""
        if self.reads_only:
            return
        if self.clock_mode() == "running":
            self.note(_LATEST, self.now_ms)
        # Nobody reads the counters of a throw-away store again.
        if self._shared:
            self._cursor.executemany(
                "INSERT INTO counter VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value",
                [(kind, self._counters[kind]) for kind in sorted(self._counted)],
            )
        self._counted.clear()

    @contextmanager
    def savepoint(self) -> Iterator[None]:
        """Undoes the block's changes if it raises, but not the command's earlier changes."""
        before = self.now_ms, self._clock, self._counters.copy(), self._counted.copy()
        self._cursor.execute("SAVEPOINT step")
        try:
            yield
        except BaseException:
            # An error of the disk may have ended the whole transaction.
            if self._connection.in_transaction:
                self._cursor.execute("ROLLBACK TO step")
                self._cursor.execute("RELEASE step")
            self.drop_memory()
            self.now_ms, self._clock, self._counters, self._counted = before
            raise
        self._cursor.execute("RELEASE step")

    def close(self) -> None:
        """Closes the cursor, since its last statement would keep the connection open."""
        with suppress(sqlite3.ProgrammingError):  # the connection was closed before
            self._cursor.close()

    def drop_memory(self) -> None:
        """Clears all caches, as after a rollback."""
        self._clock = None
        self._none_claimed = False
        self._counters.clear()
        self._counted.clear()
        for memory in self._remember:
            memory.forget()

    def _clock_row(self) -> tuple[str, int, int]:
        if self._clock is None:
            self._clock = self._connection.execute("SELECT mode, manual_ms, offset_ms FROM clock").fetchone()
        return self._clock

    def next_seq(self) -> int:
        """The next `seq`, which numbers everything that happens in order."""
        return self.count_up("seq")

    def new_id(self, prefix: str) -> str:
        """The next id that begins with `prefix`."""
        return self.draws.identifier(prefix, self.count_up(prefix))

    def number_call(self, kind: str, *, reads: bool, traced: bool) -> tuple[str, int | None]:
        """The id of a new call, and its `seq` in the trace; None if the call is not `traced`.

        The `seq` is 0 in a transaction that only reads, and the next command assigns it. The id is numbered among those
        of reads if `reads` is True or the transaction only reads.
        """
        seq = None if not traced else 0 if self.reads_only else self.next_seq()
        return self.new_read_id(kind) if reads or self.reads_only else self.new_id(kind), seq

    def new_key(self, account: str, kind: str) -> tuple[rows.StoredKey, str]:
        """Creates an account's key, `secret` or `publishable`; returns its record, and its value, which is not kept."""
        key_id = self.new_id("key")
        value = self.draws.api_key(kind, key_id)
        masked = f"{KEY_PREFIXES[kind]}{MARK}{value[-4:]}"
        key = self.api_keys.create(id=key_id, account=account, digest=secret_digest(value), kind=kind, masked=masked)
        return key, value

    def key_and_account(self, digest: str) -> tuple[rows.StoredKey, rows.StoredAccount] | None:
        """The key with this digest, and its account; None if there is no such key."""
        key = self.api_keys.first(digest=digest)
        return (key, self.accounts[key.account]) if key else None

    def key(self, account: str, kind: str) -> str:
        """An account's oldest active key, derived from the seed and never stored; empty if no key is active."""
        key = self.api_keys.first(order="seq", account=account, kind=kind, status=ACTIVE)
        return self.draws.api_key(kind, key.id) if key else ""

    def post(  # noqa: PLR0913  the columns of an entry
        self,
        kind: str,
        postings: tuple[Posting, ...],
        *,
        description: str,
        payment: str | None,
        reference: str | None = None,
        reverses: str | None = None,
        settles: str | None = None,
        occurred_ms: int | None = None,
    ) -> JournalEntry:
        """Appends a balanced entry to the ledger and returns it; by default (`occurred_ms` is None), it occurred now.

        `payment` is the id of the payment that the entry is about, None for no payment; `reference` the id by which an
        operator or the bank knows the movement. `reverses` or `settles` is the id of the entry that this entry undoes,
        or settles without undoing it.
        """
        return self.journal.append(
            JournalEntry(
                id=self.new_id("je"),
                seq=self.next_seq(),
                kind=kind,
                description=description,
                payment=payment,
                reverses=reverses,
                occurred_ms=self.now_ms if occurred_ms is None else occurred_ms,
                recorded_ms=self.now_ms,
                postings=postings,
                external_reference=reference,
                settles=settles,
            )
        )

    def deliver(
        self, event: webhooks.StoredEvent, endpoint: webhooks.Endpoint, *, in_ms: int
    ) -> webhooks.StoredDelivery:
        """Creates the delivery of an event to an endpoint; its first attempt is due in `in_ms` milliseconds."""
        delivery = self.deliveries.create(account=event.account, event=event.id, endpoint=endpoint.id)
        self.schedule(DELIVER, delivery.id, in_ms=in_ms)
        return delivery

    def message(
        self, delivery_id: str
    ) -> tuple[webhooks.StoredDelivery, webhooks.StoredEvent, webhooks.Endpoint] | None:
        """A delivery with its event and endpoint; None if a reset deleted them."""
        if (delivery := self.deliveries.get(delivery_id)) is None:
            return None
        return delivery, self.events[delivery.event], self.endpoints[delivery.endpoint]

    def book(
        self,
        recipe: str,
        amounts: dict[str, int],
        currency: str,
        description: str,
        *,
        payment: str | None = None,
        reference: str | None = None,
        **party: str,
    ) -> JournalEntry:
        """Appends a recipe's entry to the ledger and returns it.

        `amounts` are minor units by the names in the recipe, `party` is `operator`, `merchant` or both. `payment` and
        `reference` are as for `post`.
        """
        postings = postings_for(recipe, amounts, currency, **party)
        return self.post(recipe, postings, description=description, payment=payment, reference=reference)

    def latest_amounts(self, account: str, currency: str, most: int) -> list[int]:
        """The amounts, in minor units, of the charges in a currency among the latest `most` charges of an account."""
        # Charges of any currency: to look for a rare currency would go through all charges.
        rows = self._connection.execute(
            "SELECT amount_minor, currency FROM charge WHERE account = ? ORDER BY seq DESC LIMIT ?", (account, most)
        )
        return [amount_minor for amount_minor, of_currency in rows if of_currency == currency]

    def schedule(self, kind: str, ref: str, *, in_ms: int = 0) -> None:
        """Creates a job of a kind for the object with the id `ref`, due in `in_ms` milliseconds."""
        self.jobs.create(due_ms=self.now_ms + in_ms, kind=kind, ref=ref)

    def unschedule(self, ref: str) -> None:
        """Deletes all jobs of the object with the id `ref`."""
        self._connection.execute("DELETE FROM job WHERE ref = ?", (ref,))
        self.jobs.forget()

    def earliest_job(self, until_ms: int, *, takes_over: bool = False) -> rows.Job | None:
        """The unclaimed job that is due first, if it is due by `until_ms`; else None.

        With `takes_over`, also jobs that a driver had claimed when it died.
        """
        job = self.jobs.first(order="due_ms, seq", claimed=0)
        if takes_over and (claims := self._claims()):
            job = min([*claims, *([job] if job else [])], key=attrgetter("due_ms", "seq"))
        return job if job and job.due_ms <= until_ms else None

    def claim(self, job: rows.Job) -> rows.Job:
        """Claims a job until it is removed, and returns it.

        If this driver dies, the next driver takes the claim over, or releases it.
        """
        self._none_claimed = False
        return self.jobs.put(job, claimed=1)

    def release_claims(self) -> None:
        """Makes jobs due again that a driver claimed before it died."""
        for job in self._claims():
            self.jobs.put(job, claimed=0)

    def _claims(self) -> list[rows.Job]:
        """The claimed jobs. Once there are none, the file is read again only after a claim or `drop_memory`."""
        jobs = [] if self._none_claimed else self.jobs.all(claimed=1)
        self._none_claimed = not jobs
        return jobs

    def move_clock(self, now_ms: int) -> None:
        """Sets the clock to a moment; a running clock continues from there."""
        self._move_offset(now_ms - self.now_ms, now_ms)
        self.now_ms = now_ms
        self.note("moved", self.last("seq"))

    def _move_offset(self, by_ms: int, manual_ms: int) -> None:
        mode, _, offset_ms = self._clock_row()
        self._clock = mode, manual_ms, offset_ms + by_ms
        self._connection.execute("UPDATE clock SET offset_ms = ?, manual_ms = ?", (offset_ms + by_ms, manual_ms))

    def forget(self) -> None:
        """Deletes everything except accounts, keys, endpoints and clock; no id is used a second time."""
        for table in _FORGOTTEN:
            # Rows of the ledger cannot be deleted; a whole table can, and is created anew.
            self._connection.execute(f"DROP TABLE {table}")
        create(self._connection)
        for memory in self._remember:
            memory.forget()
        self.note("reset", self.next_seq())

    def set_clock_mode(self, mode: str) -> None:
        """Sets the clock's mode, `manual` or `running`; the clock continues from its present moment."""
        if mode != self.clock_mode():
            self._connection.execute(
                "UPDATE clock SET mode = ?, manual_ms = ?, offset_ms = ?",
                (mode, self.now_ms, self.now_ms - self._wall_ms()),
            )
            self._clock = None

    def clock_mode(self) -> str:
        """The clock's mode, `manual` or `running`."""
        return str(self._clock_row()[0])

    def count_up(self, kind: str) -> int:
        """The next number of a kind, from 1; no number is returned twice. The commit writes the counter."""
        self._counters[kind] = self.last(kind) + 1
        self._counted.add(kind)
        return self._counters[kind]

    def places(self, tables: Iterable[str], since: int, most: int, skip: int, *, latest: bool) -> list[int]:
        """The `seq` of at most `most` rows of these tables, ascending; only rows whose `seq` is above `since`.

        By default, the first `skip` rows are left out and the next ones returned; with `latest`, the last `skip` rows
        are left out and the ones before them returned.
        """
        rows = " UNION ALL ".join(f"SELECT seq FROM {table} WHERE seq > :since" for table in tables)
        sql = f"{rows} ORDER BY seq {'DESC' if latest else ''} LIMIT :most OFFSET :skip"
        numbers = self._connection.execute(sql, {"since": since, "most": most, "skip": skip}).fetchall()
        return sorted(seq for (seq,) in numbers)

    def changed(self, since: int, most: int) -> list[tuple[int, str, str, str | None]]:
        """(seq, kind, id, id of an object of the payment) of at most `most` changes after the `seq` `since`, in order.

        _CHANGES has the SQL for the last three, by table.
        """
        rows = (f"SELECT seq, {columns} FROM {table} WHERE seq > :since" for table, columns in _CHANGES.items())
        sql = f"{' UNION ALL '.join(rows)} ORDER BY seq LIMIT :most"
        return self._connection.execute(sql, {"since": since, "most": most}).fetchall()

    def note(self, kind: str, value: int) -> None:
        """Stores an integer under the name `kind`, for `last` to return; a reset does not change it."""
        self._counters[kind] = value
        self._counted.add(kind)

    def last(self, kind: str) -> int:
        """The latest number of a kind that `count_up` returned or `note` stored; 0 if there is none.

        For `seq`, the latest one that was used.
        """
        if kind not in self._counters:
            row = self._connection.execute("SELECT value FROM counter WHERE kind = ?", (kind,)).fetchone()
            self._counters[kind] = int(row[0]) if row else 0
        return self._counters[kind]
