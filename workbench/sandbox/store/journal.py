"""The ledger's two tables: entries are appended, sealed and chained, and read back to be checked."""

import itertools
import sqlite3
from collections.abc import Iterator

import msgspec

from workbench.domain import ledger
from workbench.domain.ledger import JournalEntry, Posting
from workbench.errors import LedgerRefused

_ENTRY = (
    "id, seq, number, kind, description, payment, reverses, occurred_ms, recorded_ms, prev_hash, "
    "external_reference, settles, hash"
)
_POSTING = "account, code, side, amount_minor, currency"
_BATCH = 1000


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
        places = ", ".join("?" * len(_ENTRY.split(", ")))
        self._connection.execute(
            f"INSERT INTO entry ({_ENTRY}) VALUES ({places})",
            tuple(getattr(sealed, name) for name in _ENTRY.split(", ")),
        )
        return sealed

    def head(self) -> tuple[int, str]:
        """Number and hash of the last entry; 0 and zeros before the first."""
        row = self._connection.execute("SELECT number, hash FROM entry ORDER BY number DESC LIMIT 1").fetchone()
        return row or (0, ledger.GENESIS)

    def entries(self, *, after_seq: int | None = None) -> Iterator[JournalEntry]:
        """Entries with their postings, in order, read as they are asked for."""
        # NOT INDEXED: from the rows themselves, not from the copy of a column that an index keeps.
        where = "NOT INDEXED" if after_seq is None else "WHERE seq > ?"
        values = () if after_seq is None else (after_seq,)
        rows = self._connection.execute(f"SELECT {_ENTRY} FROM entry {where} ORDER BY number", values)
        names = _ENTRY.split(", ")
        for row in rows:
            yield JournalEntry(**dict(zip(names, row, strict=True)), postings=self._postings(row[0]))

    def get(self, entry_id: str) -> JournalEntry | None:
        """The entry of this id, with its postings."""
        row = self._connection.execute(f"SELECT {_ENTRY} FROM entry WHERE id = ?", (entry_id,)).fetchone()
        if row is None:
            return None
        return JournalEntry(**dict(zip(_ENTRY.split(", "), row, strict=True)), postings=self._postings(entry_id))

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

    def sums(self) -> list[tuple[str, int, str, int, int]]:
        """(account, code, currency, debits, credits) of every account, in minor units, by code and name."""
        return self._connection.execute(
            """SELECT account, code, currency,
                      sum(CASE side WHEN 'debit' THEN amount_minor ELSE 0 END),
                      sum(CASE side WHEN 'credit' THEN amount_minor ELSE 0 END)
               FROM posting GROUP BY account, currency ORDER BY code, account, currency"""
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

    def _postings(self, entry: str) -> tuple[Posting, ...]:
        rows = self._connection.execute(f"SELECT {_POSTING} FROM posting WHERE entry = ? ORDER BY line", (entry,))
        return tuple(Posting(*row) for row in rows)
