"""Structs to rows and back, the same for every table."""

import sqlite3
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Generic, NamedTuple, TypeVar

import msgspec

R = TypeVar("R", bound=msgspec.Struct)
_PLAIN = (str, int, str | None, int | None)
Filters = str | int | None | tuple[str, ...]
"""What a column is to equal: a value, nothing, or one of several."""


class Condition(NamedTuple):
    """A condition beside those on columns, and the values for its places."""

    sql: str
    values: tuple[str | int, ...]


class _Shape(NamedTuple):
    names: tuple[str, ...]
    to_column: tuple[Callable[[Any], Any] | None, ...]
    from_column: tuple[Callable[[Any], Any] | None, ...]


@cache
def _shape_of(record: type[msgspec.Struct]) -> _Shape:
    shown = msgspec.structs.fields(record)
    plain = [each.type in _PLAIN for each in shown]
    return _Shape(
        tuple(each.name for each in shown),
        tuple(None if is_plain else _to_json for is_plain in plain),
        tuple(
            None if is_plain else msgspec.json.Decoder(each.type).decode
            for each, is_plain in zip(shown, plain, strict=True)
        ),
    )


def _to_json(value: object) -> str:
    return msgspec.json.encode(value).decode()


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
        self._shape = _shape_of(record)

    def add(self, record: R) -> R:
        """Insert one; the record itself is the answer."""
        places = ", ".join("?" * len(self._shape.names))
        columns = ", ".join(self._shape.names)
        self._connection.execute(f"INSERT INTO {self._name} ({columns}) VALUES ({places})", self._row(record))
        return record

    def put(self, record: R, **changes: Any) -> R:  # noqa: ANN401  columns are of several types
        """Write a record with `changes` over the row of the same key; the changed record is the answer."""
        changed = msgspec.structs.replace(record, **changes)
        sets = ", ".join(f"{name} = ?" for name in self._shape.names)
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
        return f"SELECT {', '.join(self._shape.names)} FROM {self._name}"

    def _select(self, order: str, limit: str, equals: dict[str, Filters]) -> list[R]:
        where, values = _where(equals)
        ordered = f" ORDER BY {order}" if order else ""
        return self._read(f"{self._from} WHERE {where}{ordered}{limit}", values)

    def _read(self, sql: str, values: tuple[str | int, ...]) -> list[R]:
        return [self._made(row) for row in self._connection.execute(sql, values)]

    def _row(self, record: R) -> tuple[Any, ...]:
        return tuple(
            getattr(record, name) if convert is None else convert(getattr(record, name))
            for name, convert in zip(self._shape.names, self._shape.to_column, strict=True)
        )

    def _made(self, row: tuple[Any, ...]) -> R:
        return self._record(
            **{
                name: value if convert is None else convert(value)
                for name, convert, value in zip(self._shape.names, self._shape.from_column, row, strict=True)
            }
        )
