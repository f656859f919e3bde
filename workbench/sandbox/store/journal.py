"""The ledger's tables: appends, chains, reads and verifies entries; keeps the balances of accounts beside them."""

import itertools
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from operator import attrgetter

import msgspec

from workbench.domain import ledger
from workbench.domain.ledger import DEBIT, JournalEntry, Posting
from workbench.domain.moments import day_start_ms
from workbench.errors import LedgerRefused

_COLUMNS = tuple(name for name in JournalEntry.__struct_fields__ if name != "postings")
_ENTRY = ", ".join(_COLUMNS)
_POSTING = "account, code, side, amount_minor, currency"
_ADD_POSTING = f"INSERT INTO posting (entry, line, {_POSTING}) VALUES (?, ?, ?, ?, ?, ?, ?)"
_ADD_ENTRY = f"INSERT INTO entry ({_ENTRY}) VALUES ({', '.join('?' * len(_COLUMNS))})"
_VALUES = attrgetter(*_COLUMNS)
_STANDS = "NOT EXISTS (SELECT 1 FROM entry AS undone WHERE undone.reverses = entry.id)"
_BALANCE = "account, currency, day_ms, code, debit_minor, credit_minor"
_MOVE = f"""INSERT INTO balance ({_BALANCE}) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET
    debit_minor = debit_minor + excluded.debit_minor, credit_minor = credit_minor + excluded.credit_minor"""
_LATE = f"WHERE kind = '{ledger.LATE}'"
"""SQL for the entries of late money; it has no placeholder, so that SQLite uses the index of these entries."""
_BATCH = 1000


def _moves(entries: Iterable[JournalEntry]) -> Iterator[tuple[str, str, int, int, int, int]]:
    """Yields a row of `_BALANCE` for each posting: account, currency, start of the business day, code, debit, credit.

    One of debit and credit is 0. The caller adds the row to the account's balance of that day.
    """
    for entry in entries:
        day_ms = day_start_ms(entry.occurred_ms)
        for posting in entry.postings:
            sides = (posting.amount_minor, 0) if posting.side == DEBIT else (0, posting.amount_minor)
            yield posting.account, posting.currency, day_ms, posting.code, *sides


class Journal:
    """The ledger within one transaction."""

    name = "entry"

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._head: tuple[int, str] | None = None
        self._came_late: bool | None = None

    def forget(self) -> None:
        """Clears the cached last entry of the chain and `came_late`, so that their next use reads the file."""
        self._head = self._came_late = None

    def append(self, entry: JournalEntry) -> JournalEntry:
        """Appends `entry` to the chain; returns the entry with its `number`, `prev_hash` and `hash`."""
        number, head = self.head()
        sealed = msgspec.structs.replace(entry, number=number + 1, prev_hash=head).sealed()
        self._connection.executemany(
            _ADD_POSTING,
            [
                (sealed.id, line, posting.account, posting.code, posting.side, posting.amount_minor, posting.currency)
                for line, posting in enumerate(sealed.postings, start=1)
            ],
        )
        self._connection.execute(_ADD_ENTRY, _VALUES(sealed))
        self._connection.executemany(_MOVE, _moves([sealed]))
        self._head = sealed.number, sealed.hash
        if sealed.kind == ledger.LATE:
            self._came_late = True
        return sealed

    def add_up(self) -> None:
        """Recomputes the balances from the entries."""
        self._connection.execute("DELETE FROM balance")
        self._connection.executemany(_MOVE, _moves(self.entries()))

    def head(self) -> tuple[int, str]:
        """The number and the hash of the last entry; 0 and a hash of zeros before the first."""
        if self._head is None:
            row = self._connection.execute("SELECT number, hash FROM entry ORDER BY number DESC LIMIT 1").fetchone()
            self._head = row or (0, ledger.GENESIS)
        return self._head

    def entries(self) -> Iterator[JournalEntry]:
        """Yields the entries with their postings, in order, reading them one by one."""
        # NOT INDEXED: checks read the rows themselves, not an index's copy of a column.
        return self._read("NOT INDEXED ORDER BY number", ())

    def between(self, first: int, last: int) -> Iterator[JournalEntry]:
        """Entries with a `seq` from `first` to `last`, both included, in order."""
        return self._read("WHERE seq BETWEEN ? AND ? ORDER BY number", (first, last))

    def page(self, after: int, accounts: Sequence[str] | None = None) -> Iterator[JournalEntry]:
        """Yields the entries with a number above `after`, in order, reading them one by one.

        With `accounts`, only entries that post to one of these accounts.
        """
        if accounts is None:
            return self._read("WHERE number > ? ORDER BY number", (after,))
        places = ", ".join("?" * len(accounts))
        posts = f"EXISTS (SELECT 1 FROM posting WHERE posting.entry = entry.id AND account IN ({places}))"
        return self._read(f"WHERE number > ? AND {posts} ORDER BY number", (after, *accounts))

    def count(self) -> int:
        """The number of entries."""
        return self.head()[0]

    def get(self, entry_id: str) -> JournalEntry | None:
        """The entry with this id, with its postings, or None."""
        return next(self._read("WHERE id = ?", (entry_id,)), None)

    def __getitem__(self, entry_id: str) -> JournalEntry:
        """The entry with this id, which must exist."""
        [entry] = self._read("WHERE id = ?", (entry_id,))
        return entry

    def reversal_of(self, entry_id: str) -> JournalEntry | None:
        """The entry that reverses this entry, or None."""
        return next(self._read("WHERE reverses = ?", (entry_id,)), None)

    def answers_to(self, entry_id: str) -> Iterator[JournalEntry]:
        """Entries that reverse or settle this entry and were not reversed themselves, in order."""
        return self._read(f"WHERE (reverses = ? OR settles = ?) AND {_STANDS} ORDER BY number", (entry_id, entry_id))

    def known_as(self, reference: str) -> Iterator[JournalEntry]:
        """Entries with this external reference that were not reversed, in order."""
        return self._read(f"WHERE external_reference = ? AND {_STANDS} ORDER BY number", (reference,))

    def of_payment(self, payment: str, kinds: tuple[str, ...] = ()) -> Iterator[JournalEntry]:
        """Entries about one payment, in order; with `kinds`, only entries of these kinds."""
        among = f" AND kind IN ({', '.join('?' * len(kinds))})" if kinds else ""
        return self._read(f"WHERE payment = ?{among} ORDER BY number", (payment, *kinds))

    @property
    def came_late(self) -> bool:
        """True once late money has come for any payment; until then lookups of late money are skipped."""
        if self._came_late is None:
            self._came_late = self._connection.execute(f"SELECT 1 FROM entry {_LATE} LIMIT 1").fetchone() is not None
        return self._came_late

    def late(self) -> Iterator[JournalEntry]:
        """Entries by which late money went into suspense, in order."""
        return self._read(f"{_LATE} ORDER BY number", ())

    def balance(self, account: str, currency: str, *, before_day_ms: int | None = None) -> int:
        """Debits less credits of one account in minor units; with `before_day_ms`, only of earlier business days."""
        row = self._connection.execute(
            """SELECT coalesce(sum(debit_minor - credit_minor), 0) FROM balance
               WHERE account = ? AND currency = ? AND day_ms < coalesce(?, day_ms + 1)""",
            (account, currency, before_day_ms),
        ).fetchone()
        return int(row[0])

    def credits_since(self, account: str, currency: str, day_ms: int) -> int:
        """Credits of an account, in minor units, from the day that begins at `day_ms` on."""
        row = self._connection.execute(
            "SELECT coalesce(sum(credit_minor), 0) FROM balance WHERE account = ? AND currency = ? AND day_ms >= ?",
            (account, currency, day_ms),
        ).fetchone()
        return int(row[0])

    def currencies(self, accounts: Sequence[str]) -> list[str]:
        """The codes of the currencies of some accounts' postings, sorted."""
        places = ", ".join("?" * len(accounts))
        sql = f"SELECT DISTINCT currency FROM balance WHERE account IN ({places}) ORDER BY currency"
        return [code for (code,) in self._connection.execute(sql, tuple(accounts))]

    def sums(self, *, as_of_ms: int | None = None, known_ms: int | None = None) -> list[tuple[str, int, str, int, int]]:
        """(account, code, currency, debits, credits) of every account, in minor units, by code and name.

        The sums are of postings that occurred by `as_of_ms` and were recorded by `known_ms`, both included; None sets
        no limit.
        """
        if as_of_ms is None and known_ms is None:
            return self._connection.execute(
                """SELECT account, code, currency, sum(debit_minor), sum(credit_minor)
                   FROM balance GROUP BY account, currency ORDER BY code, account, currency"""
            ).fetchall()
        return self._connection.execute(
            """SELECT account, code, currency,
                       sum(CASE side WHEN 'debit' THEN amount_minor ELSE 0 END),
                       sum(CASE side WHEN 'credit' THEN amount_minor ELSE 0 END)
                FROM posting WHERE entry IN (SELECT id FROM entry WHERE occurred_ms <= coalesce(?, occurred_ms)
                                             AND recorded_ms <= coalesce(?, recorded_ms))
                GROUP BY account, currency ORDER BY code, account, currency""",
            (as_of_ms, known_ms),
        ).fetchall()

    def verify(self) -> tuple[int, str]:
        """Verifies the chain of all entries, the balances against the entries, and the file.

        Returns the number and the hash of the last entry. Raises LedgerRefused; it names the first entry that was
        tampered with, the accounts whose balances differ from their postings, or the damage that SQLite finds.
        """
        try:
            head = self._chain()
            damage = self._connection.execute("PRAGMA integrity_check(1)").fetchone()[0]
        except sqlite3.DatabaseError as error:
            raise LedgerRefused(f"The store's file is damaged: {error}.", damage=str(error)) from None
        if damage != "ok":
            raise LedgerRefused(f"The store's file is damaged: {damage}.", damage=damage)
        return head

    def _chain(self) -> tuple[int, str]:
        head, entries = ledger.GENESIS, self.entries()
        if stray := self._connection.execute(
            "SELECT entry FROM posting WHERE entry NOT IN (SELECT id FROM entry)"
        ).fetchone():
            raise LedgerRefused(f"There are postings of {stray[0]}, and no such entry.", entry=stray[0])
        # The chain seals the order of postings, not their line numbers.
        if gap := self._connection.execute(
            "SELECT entry FROM posting GROUP BY entry HAVING min(line) <> 1 OR max(line) <> count(*)"
        ).fetchone():
            raise LedgerRefused(f"The postings of {gap[0]} are not numbered from 1 on.", entry=gap[0])
        count, added = 0, dict[tuple[str, str, int, int], list[int]]()
        while batch := tuple(itertools.islice(entries, _BATCH)):
            head = ledger.check_chain(batch, start=head, before=count)
            count += len(batch)
            for account, currency, day_ms, code, debit, credit in _moves(batch):
                sides = added.setdefault((account, currency, day_ms, code), [0, 0])
                sides[0] += debit
                sides[1] += credit
        kept = {row[:4]: [*row[4:]] for row in self._connection.execute(f"SELECT {_BALANCE} FROM balance")}
        wrong = sorted({key[0] for key in kept.keys() | added.keys() if kept.get(key) != added.get(key)})
        if wrong:
            names = ", ".join(wrong)
            raise LedgerRefused(f"The postings of {names} add up to another balance than is kept.", accounts=wrong)
        return count, head

    def _read(self, where: str, values: tuple[str | int, ...]) -> Iterator[JournalEntry]:
        lines = f"SELECT {_POSTING} FROM posting WHERE entry = ? ORDER BY line"
        for row in self._connection.execute(f"SELECT {_ENTRY} FROM entry {where}", values):
            postings = tuple(Posting(*line) for line in self._connection.execute(lines, (row[0],)))
            yield JournalEntry(**dict(zip(_COLUMNS, row, strict=True)), postings=postings)
