"""Structs to rows and back, the same for every table."""

import sqlite3
from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from operator import attrgetter
from typing import Any, Generic, NamedTuple, TypeVar, get_origin

import msgspec

R = TypeVar("R", bound=msgspec.Struct)
_PLAIN = (str, int, str | None, int | None)
_fields = cache(msgspec.structs.fields)  # the same for every connection
_MOST_KNOWN = 256
"""The most queries that are remembered: anybody may ask for unknown keys."""
Filters = str | int | None | tuple[str, ...]
"""The value that a column equals; None for null, a tuple for one of several."""


class Condition(NamedTuple):
    """A condition beside those on columns, and the values for its places."""

    sql: str
    values: tuple[str | int, ...]


_encoded = msgspec.json.Encoder().encode


@cache
def _from_json(kind: Any) -> Callable[[str], Any]:  # noqa: ANN401  a type
    """The reader of JSON text as a type. It remembers immutable values: most rows have the same few texts."""
    read = msgspec.json.Decoder(kind).decode
    return lru_cache(read) if get_origin(kind) is tuple else read


@lru_cache
def _terms(*filters: tuple[str, int | None]) -> str:
    """The condition that columns equal one of so many values, or are null."""
    terms = (f"{name} IS NULL" if most is None else f"{name} IN ({', '.join('?' * most)})" for name, most in filters)
    return " AND ".join(terms) or "1"


def _where(equals: dict[str, Filters], also: Sequence[Condition] = ()) -> tuple[str, tuple[str | int, ...]]:
    """The condition that columns equal these and the others hold, and the values for its places."""
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


class Table(Generic[R]):
    """The rows of one table as structs of one type; `key` is the column that names a row.

    There is one for each connection; what depends on no row is worked out then. `cursor` runs all statements of the
    connection's tables: each has its rows before the next one is run. Of a table of `few` rows it remembers what it
    read until something is written to it, or `forget` says that others may have written.
    """

    def __init__(
        self, cursor: sqlite3.Cursor, name: str, record: type[R], key: str = "id", *, few: bool = False
    ) -> None:
        shown = _fields(record)
        names = tuple(each.name for each in shown)
        self._run = cursor.execute
        self.name = name
        self._record = record
        self._key = key
        self._names = names
        self._few = few
        self._known: dict[tuple[object, ...], list[R]] = {}
        """Queries and their records."""
        self._rows: dict[str | int, R | None] = {}
        """Rows by their keys as they are in the file, None where there is none."""
        self._updates: dict[tuple[int, ...], str] = {}
        self._values = attrgetter(*names)
        self._json = {each.name: _from_json(each.type) for each in shown if each.type not in _PLAIN}
        """Columns that are JSON text, and their readers."""
        self._json_places = [place for place, name in enumerate(names) if name in self._json]
        self._from = f"SELECT {', '.join(names)} FROM {name}"
        self._insert = f"INSERT INTO {name} ({', '.join(names)}) VALUES ({', '.join('?' * len(names))})"
        self._by_key = f"{self._from} WHERE {key} = ?"

    def forget(self) -> None:
        """Forget all remembered rows."""
        self._known.clear()
        self._rows.clear()

    def add(self, record: R) -> R:
        """Insert one; the record itself is returned."""
        self._run(self._insert, self._row(record))
        self._remember(record)
        return record

    def put(self, record: R, **changes: Any) -> R:  # noqa: ANN401  columns are of several types
        """Write a record with `changes` over the row of the same key; the changed record is returned."""
        changed = msgspec.structs.replace(record, **changes)
        before = self.get(getattr(record, self._key))
        # Without what stays: where a column is set, even to what it was, SQLite writes its indexes anew, and where
        # that is the key, it looks for rows that refer to it.
        if before is not None and before != changed:
            kept, row = self._values(before), self._values(changed)
            differing = tuple([place for place, value in enumerate(row) if value != kept[place]])
            set_to = [
                _encoded(row[place]).decode() if place in self._json_places else row[place] for place in differing
            ]
            self._run(self._update(differing), (*set_to, getattr(record, self._key)))
            self._remember(changed)
        return changed

    def remove(self, record: R) -> None:
        """Delete the row of this record."""
        self.forget()
        self._run(f"DELETE FROM {self.name} WHERE {self._key} = ?", (getattr(record, self._key),))

    def get(self, key: str | int) -> R | None:
        """The record of this key."""
        if key not in self._rows:
            found = self._from_file(self._by_key, (key,))
            self._keep(key, found[0] if found else None)
        return self._rows[key]

    def first(self, order: str = "", **equals: Filters) -> R | None:
        """The first record whose columns equal these."""
        found = self._select(order, " LIMIT 1", equals)
        if not found:
            return None
        self._keep(getattr(found[0], self._key), found[0])
        return found[0]

    def all(self, order: str = "seq", **equals: Filters) -> list[R]:
        """Every record whose columns equal these, in order."""
        return [*self._select(order, "", equals)]

    def between(self, first: int, last: int) -> list[R]:
        """Every record from one place to another, both included, in order."""
        return self._from_file(f"{self._from} WHERE seq BETWEEN ? AND ? ORDER BY seq", (first, last))

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
        where, values = _where(equals, also)
        edges = {"<": older_than, ">": newer_than}
        for sign, edge in edges.items():
            if edge is not None:
                where, values = f"{where} AND seq {sign} ?", (*values, edge)
        upwards = newer_than is not None and older_than is None
        order = "seq" if upwards else "seq DESC"
        rows = self._from_file(f"{self._from} WHERE {where} ORDER BY {order} LIMIT ?", (*values, limit))
        return rows[::-1] if upwards else rows

    def numbered(
        self, number: int, size: int, also: Sequence[Condition] = (), **equals: Filters
    ) -> tuple[list[R], int]:
        """The page of a number, from 1, newest first, and how many rows there are on all pages."""
        where, values = _where(equals, also)
        there = (*values, size, (number - 1) * size)
        rows = self._from_file(f"{self._from} WHERE {where} ORDER BY seq DESC LIMIT ? OFFSET ?", there)
        return rows, self.count(also, **equals)

    def count(self, also: Sequence[Condition] = (), **equals: Filters) -> int:
        """Count the rows whose columns equal these and that meet the conditions `also`."""
        where, values = _where(equals, also)
        # Counted within, and with a limit, so that SQLite flattens a view: a count of the view itself would build it.
        within = f"SELECT seq FROM {self.name} WHERE {where} LIMIT -1"
        ((rows,),) = self._run(f"SELECT count(*) FROM ({within})", values)
        return int(rows)

    def _remember(self, record: R) -> None:
        """Remember a row as the file has it now."""
        if self._few:
            self._known.clear()
        self._keep(getattr(record, self._key), record)

    def _keep(self, key: str | int, record: R | None) -> None:
        if len(self._rows) >= _MOST_KNOWN:
            self._rows.clear()
        self._rows[key] = record

    def _update(self, places: tuple[int, ...]) -> str:
        """The statement that sets the columns at these places."""
        if places not in self._updates:
            set_to = ", ".join(f"{self._names[place]} = ?" for place in places)
            self._updates[places] = f"UPDATE {self.name} SET {set_to} WHERE {self._key} = ?"
        return self._updates[places]

    def _select(self, order: str, limit: str, equals: dict[str, Filters]) -> list[R]:
        asked = order, limit, *equals.items()
        if asked in self._known:
            return self._known[asked]
        where, values = _where(equals)
        ordered = f" ORDER BY {order}" if order else ""
        found = self._from_file(f"{self._from} WHERE {where}{ordered}{limit}", values)
        if self._few:
            if len(self._known) > _MOST_KNOWN:
                self.forget()
            self._known[asked] = found
        return found

    def _from_file(self, sql: str, values: tuple[str | int, ...]) -> list[R]:
        return [self._made(row) for row in self._run(sql, values)]

    def _made(self, row: tuple[Any, ...]) -> R:
        fields = dict(zip(self._names, row, strict=True))
        for name, decoded in self._json.items():
            fields[name] = decoded(fields[name])
        return self._record(**fields)

    def _row(self, record: R) -> Sequence[Any]:
        values = self._values(record)
        if not self._json:
            return values
        row = list(values)
        for place in self._json_places:
            row[place] = _encoded(row[place]).decode()
        return row
