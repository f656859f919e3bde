"""Structs to rows and back, the same for every table; the ledger's two: appended, sealed, chained and checked."""

import itertools
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any, Generic, NamedTuple, TypeVar

import msgspec

from workbench.domain import ledger
from workbench.domain.ledger import JournalEntry, Posting
from workbench.errors import LedgerRefused

_COLUMNS = tuple(name for name in JournalEntry.__struct_fields__ if name != "postings")
_ENTRY = ", ".join(_COLUMNS)
_POSTING = "account, code, side, amount_minor, currency"
_STANDS = "NOT EXISTS (SELECT 1 FROM entry AS undone WHERE undone.reverses = entry.id)"
_BATCH = 1000
R = TypeVar("R", bound=msgspec.Struct)
_PLAIN = (str, int, str | None, int | None)
Filters = str | int | None | tuple[str, ...]
"""What a column is to equal: a value, nothing, or one of several."""


class Condition(NamedTuple):
    """A condition beside those on columns, and the values for its places."""

    sql: str
    values: tuple[str | int, ...]


@cache
def _decoders(record: type[msgspec.Struct]) -> dict[str, Callable[[Any], Any] | None]:
    """Column → what reads it as its field; what is neither text nor a whole number is kept as JSON."""
    return {
        each.name: None if each.type in _PLAIN else msgspec.json.Decoder(each.type).decode
        for each in msgspec.structs.fields(record)
    }


def _where(equals: dict[str, Filters]) -> tuple[str, tuple[str | int, ...]]:
    """The condition that columns equal these, and the values for its places."""
    terms, values = ["1"], list[str | int]()
    for name, filters in equals.items():
        if filters is None:
            terms.append(f"{name} IS NULL")
        elif isinstance(filters, tuple):
            terms.append(f"{name} IN ({', '.join('?' * len(filters))})")
            values += filters
        else:
            terms.append(f"{name} = ?")
            values.append(filters)
    return " AND ".join(terms), tuple(values)


class Table(Generic[R]):
    """The rows of one table as structs of one type; `key` is the column that names a row."""

    def __init__(self, connection: sqlite3.Connection, name: str, record: type[R], key: str = "id") -> None:
        self._connection = connection
        self._name = name
        self._record = record
        self._key = key
        self._decoders = _decoders(record)

    def add(self, record: R) -> R:
        """Insert one; the record itself is the answer."""
        places, columns = ", ".join("?" * len(self._decoders)), ", ".join(self._decoders)
        self._connection.execute(f"INSERT INTO {self._name} ({columns}) VALUES ({places})", self._row(record))
        return record

    def put(self, record: R, **changes: Any) -> R:  # noqa: ANN401  columns are of several types
        """Write a record with `changes` over the row of the same key; the changed record is the answer."""
        changed = msgspec.structs.replace(record, **changes)
        sets = ", ".join(f"{name} = ?" for name in self._decoders)
        self._connection.execute(
            f"UPDATE {self._name} SET {sets} WHERE {self._key} = ?", (*self._row(changed), getattr(changed, self._key))
        )
        return changed

    def remove(self, record: R) -> None:
        """Delete the row of this record."""
        self._connection.execute(f"DELETE FROM {self._name} WHERE {self._key} = ?", (getattr(record, self._key),))

    def get(self, key: str) -> R | None:
        """The record of this key."""
        return self.first(**{self._key: key})

    def first(self, order: str = "", **equals: Filters) -> R | None:
        """The first record whose columns equal these."""
        found = self._select(order, " LIMIT 1", equals)
        return found[0] if found else None

    def all(self, order: str = "seq", **equals: Filters) -> list[R]:
        """Every record whose columns equal these, in order."""
        return self._select(order, "", equals)

    def after(self, seq: int) -> list[R]:
        """Every record that came later, in order."""
        return self._read(f"{self._from} WHERE seq > ? ORDER BY seq", (seq,))

    def page(
        self,
        limit: int,
        *,
        older_than: int | None,
        newer_than: int | None,
        also: Sequence[Condition] = (),
        **equals: Filters,
    ) -> list[R]:
        """At most `limit` records, newest first: from the newest on or from below `older_than`, down to `newer_than`.

        With `newer_than` alone, those next above it. `also` are conditions that hold of each.
        """
        where, values = _where(equals)
        for each in also:
            where, values = f"{where} AND {each.sql}", (*values, *each.values)
        edges = {"<": older_than, ">": newer_than}
        for sign, edge in edges.items():
            if edge is not None:
                where, values = f"{where} AND seq {sign} ?", (*values, edge)
        upwards = newer_than is not None and older_than is None
        order = "seq" if upwards else "seq DESC"
        rows = self._read(f"{self._from} WHERE {where} ORDER BY {order} LIMIT ?", (*values, limit))
        return rows[::-1] if upwards else rows

    def count(self, **equals: Filters) -> int:
        """How many rows there are whose columns equal these."""
        where, values = _where(equals)
        return int(self._connection.execute(f"SELECT count(*) FROM {self._name} WHERE {where}", values).fetchone()[0])

    @property
    def _from(self) -> str:
        return f"SELECT {', '.join(self._decoders)} FROM {self._name}"

    def _select(self, order: str, limit: str, equals: dict[str, Filters]) -> list[R]:
        where, values = _where(equals)
        ordered = f" ORDER BY {order}" if order else ""
        return self._read(f"{self._from} WHERE {where}{ordered}{limit}", values)

    def _read(self, sql: str, values: tuple[str | int, ...]) -> list[R]:
        return [self._made(row) for row in self._connection.execute(sql, values)]

    def _row(self, record: R) -> tuple[Any, ...]:
        return tuple(
            getattr(record, name) if decode is None else msgspec.json.encode(getattr(record, name)).decode()
            for name, decode in self._decoders.items()
        )

    def _made(self, row: tuple[Any, ...]) -> R:
        columns = zip(self._decoders.items(), row, strict=True)
        return self._record(**{name: value if decode is None else decode(value) for (name, decode), value in columns})


class Journal:
    """The ledger within one transaction."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def append(self, entry: JournalEntry) -> JournalEntry:
        """Seal `entry` at the end of the chain: its `number`, `prev_hash` and `hash` are set here."""
        number, head = self.head()
        sealed = msgspec.structs.replace(entry, number=number + 1, prev_hash=head).sealed()
        self._connection.executemany(
            f"INSERT INTO posting (entry, line, {_POSTING}) VALUES (?, ?, ?, ?, ?, ?, ?)",
            [
                (sealed.id, line, each.account, each.code, each.side, each.amount_minor, each.currency)
                for line, each in enumerate(sealed.postings, start=1)
            ],
        )
        places, values = ", ".join("?" * len(_COLUMNS)), tuple(getattr(sealed, name) for name in _COLUMNS)
        self._connection.execute(f"INSERT INTO entry ({_ENTRY}) VALUES ({places})", values)
        return sealed

    def head(self) -> tuple[int, str]:
        """Number and hash of the last entry; 0 and zeros before the first."""
        row = self._connection.execute("SELECT number, hash FROM entry ORDER BY number DESC LIMIT 1").fetchone()
        return row or (0, ledger.GENESIS)

    def entries(self, *, after_seq: int | None = None) -> Iterator[JournalEntry]:
        """Entries with their postings, in order, read as they are asked for."""
        # NOT INDEXED: from the rows themselves, not from the copy of a column that an index keeps.
        where = "NOT INDEXED" if after_seq is None else "WHERE seq > ?"
        return self._read(f"{where} ORDER BY number", () if after_seq is None else (after_seq,))

    def page(self, after: int, accounts: Sequence[str] | None = None) -> Iterator[JournalEntry]:
        """Entries of a higher number than `after`, in order, read as they are asked for.

        With `accounts`, those that post to one of them.
        """
        if accounts is None:
            return self._read("WHERE number > ? ORDER BY number", (after,))
        places = ", ".join("?" * len(accounts))
        posts = f"EXISTS (SELECT 1 FROM posting WHERE posting.entry = entry.id AND account IN ({places}))"
        return self._read(f"WHERE number > ? AND {posts} ORDER BY number", (after, *accounts))

    def get(self, entry_id: str) -> JournalEntry | None:
        """The entry of this id, with its postings."""
        return next(self._read("WHERE id = ?", (entry_id,)), None)

    def reversal_of(self, entry_id: str) -> JournalEntry | None:
        """The entry that reverses this one."""
        return next(self._read("WHERE reverses = ?", (entry_id,)), None)

    def answers_to(self, entry_id: str) -> Iterator[JournalEntry]:
        """Entries that reverse or settle this one and were not reversed themselves, in order."""
        return self._read(f"WHERE (reverses = ? OR settles = ?) AND {_STANDS} ORDER BY number", (entry_id, entry_id))

    def known_as(self, reference: str) -> Iterator[JournalEntry]:
        """Entries of this external reference that were not reversed, in order."""
        return self._read(f"WHERE external_reference = ? AND {_STANDS} ORDER BY number", (reference,))

    def of_payment(self, payment: str, kinds: tuple[str, ...]) -> Iterator[JournalEntry]:
        """Entries of these kinds about one payment, in order."""
        places = ", ".join("?" * len(kinds))
        return self._read(f"WHERE payment = ? AND kind IN ({places}) ORDER BY number", (payment, *kinds))

    def balance(self, account: str, currency: str, *, before_ms: int | None = None) -> int:
        """Debits less credits of one account in minor units, of what happened before a moment or of all."""
        bound = "" if before_ms is None else " AND (SELECT occurred_ms FROM entry WHERE id = posting.entry) < ?"
        values = (account, currency) if before_ms is None else (account, currency, before_ms)
        row = self._connection.execute(
            f"""SELECT coalesce(sum(CASE side WHEN 'debit' THEN amount_minor ELSE -amount_minor END), 0)
                FROM posting WHERE account = ? AND currency = ?{bound}""",
            values,
        ).fetchone()
        return int(row[0])

    def sums(self, *, as_of_ms: int | None = None, known_ms: int | None = None) -> list[tuple[str, int, str, int, int]]:
        """(account, code, currency, debits, credits) of every account, in minor units, by code and name.

        Of what had occurred by one moment and was recorded by another, both included.
        """
        bounds = {"occurred_ms": as_of_ms, "recorded_ms": known_ms}
        asked = {name: bound for name, bound in bounds.items() if bound is not None}
        terms = " AND ".join(f"{name} <= ?" for name in asked)
        within = f"WHERE entry IN (SELECT id FROM entry WHERE {terms})" if asked else ""
        return self._connection.execute(
            f"""SELECT account, code, currency,
                       sum(CASE side WHEN 'debit' THEN amount_minor ELSE 0 END),
                       sum(CASE side WHEN 'credit' THEN amount_minor ELSE 0 END)
                FROM posting {within} GROUP BY account, currency ORDER BY code, account, currency""",
            tuple(asked.values()),
        ).fetchall()

    def verify(self) -> tuple[int, str]:
        """Check every entry against the chain, then the file; number and hash of the last entry.

        Raises LedgerRefused naming the first entry that was tampered with, or what SQLite finds damaged.
        """
        try:
            found = self._chain()
            damage = self._connection.execute("PRAGMA integrity_check(1)").fetchone()[0]
        except sqlite3.DatabaseError as error:
            raise LedgerRefused(f"The store's file is damaged: {error}.", damage=str(error)) from None
        if damage != "ok":
            raise LedgerRefused(f"The store's file is damaged: {damage}.", damage=damage)
        return found

    def _chain(self) -> tuple[int, str]:
        head, entries = ledger.GENESIS, self.entries()
        if stray := self._connection.execute(
            "SELECT entry FROM posting WHERE entry NOT IN (SELECT id FROM entry)"
        ).fetchone():
            raise LedgerRefused(f"There are postings of {stray[0]}, and no such entry.", entry=stray[0])
        count = 0
        while batch := tuple(itertools.islice(entries, _BATCH)):
            head = ledger.check_chain(batch, start=head, before=count)
            count += len(batch)
        return count, head

    def _read(self, where: str, values: tuple[str | int, ...]) -> Iterator[JournalEntry]:
        lines = f"SELECT {_POSTING} FROM posting WHERE entry = ? ORDER BY line"
        for row in self._connection.execute(f"SELECT {_ENTRY} FROM entry {where}", values):
            postings = tuple(Posting(*line) for line in self._connection.execute(lines, (row[0],)))
            yield JournalEntry(**dict(zip(_COLUMNS, row, strict=True)), postings=postings)
