"""Callers, views of stored objects, and a merchant's lists, whose pages begin at a row: new rows do not shift them."""

from collections.abc import Callable, Sequence
from functools import cache
from operator import attrgetter
from typing import Any, Final, Generic, NamedTuple, TypeAlias, TypeVar, cast

from msgspec import Struct

from workbench.domain.payments import FAILURES
from workbench.domain.wire.base import List, ListQuery, NumberedList, NumberedQuery
from workbench.errors import ApiError, NotFound
from workbench.sandbox.store import Transaction
from workbench.sandbox.store.records import StoredScript
from workbench.sandbox.store.search import Condition
from workbench.sandbox.store.transaction import Filters, R, Table


class Cause(NamedTuple):
    """The merchant's request that caused an event; the event names it."""

    request_id: str | None = None
    idempotency_key: str | None = None


BY_ITSELF: Final = Cause()
"""The cause of due jobs and of actions through `/sandbox`, which are not requests of the merchant."""


class Caller(NamedTuple):
    """The credential behind a call: `kind` is secret, publishable, token or nobody."""

    kind: str
    account: str
    name: str = ""
    """The account's name, which customers read in a prompt."""
    bearer: str | None = None
    """The access token itself, for the operation that refreshes it."""
    cause: Cause = BY_ITSELF
    scenario: str | None = None
    """The scenario that the call, or a fault in the script of its number, asks for."""
    script: StoredScript | None = None
    """The next answer in the script of the number that is charged."""
    relied: tuple[str, ...] = ()
    """Rows of the register without which the credential would be refused."""


NOBODY = Caller("nobody", "")


class Refused(NamedTuple):
    """A refusal that a function returns, so that its changes are committed; a raised ApiError undoes all changes.

    A declined charge stays, and so does an expired prompt. The return type shows which functions refuse this way.
    """

    error: ApiError


W = TypeVar("W")
Query: TypeAlias = ListQuery | NumberedQuery
"""The query for a page, by the register's `pagination`."""
Listed: TypeAlias = List[W] | NumberedList[W]
V = TypeVar("V", bound=Struct)


@cache
def _shared(shape: type[Struct], kind: type[Struct]) -> tuple[tuple[str, ...], Callable[[Struct], tuple[Any, ...]]]:
    """The names of the fields that a stored object and its view share, and a function that reads them."""
    names = tuple(name for name in shape.__struct_fields__ if name in kind.__struct_fields__)
    return names, attrgetter(*names)


def view_of(shape: type[V], stored: Struct, **others: object) -> V:
    """The view of a stored object: fields of the same names, creation in seconds, failure message, and `others`.

    `payments` builds the frequent views of intents and charges by hand, which is twice as quick.
    """
    names, values = _shared(shape, type(stored))
    fields = dict(zip(names, values(stored), strict=True))
    if hasattr(shape, "created"):
        fields["created"] = stored.created_ms // 1000  # type: ignore[attr-defined]  # what has the one has the other
    if hasattr(shape, "failure_message"):
        fields["failure_message"] = FAILURES[code] if (code := fields["failure_code"]) else None
    return shape(**fields | others)


class Resource(NamedTuple, Generic[R, W]):
    """A kind of object that a merchant retrieves and lists; NotFound has the error code `code`."""

    name: str
    url: str
    table: Callable[[Transaction], Table[R]]
    view: Callable[[Transaction, R], W]
    code: str
    gone: str = ""
    """The state of an object that is no longer found."""

    def find(self, tx: Transaction, caller: Caller, key: str, *, param: str = "id") -> R:
        """The caller's object of this id. Raises NotFound."""
        row: Any = self.table(tx).get(key)
        if row is None or row.account != caller.account or (self.gone and row.status == self.gone):
            raise NotFound(f"There is no {self.name} {key[:60]!r}.", code=self.code, param=param)
        return cast("R", row)

    def retrieve(self, tx: Transaction, caller: Caller, **path: str) -> W:
        """The view of the caller's object that the path names. Raises NotFound."""
        return self.view(tx, self.find(tx, caller, *path.values()))

    def page(
        self, tx: Transaction, caller: Caller, also: Sequence[Condition] = (), /, *, query: Query, **equals: Filters
    ) -> Listed[W]:
        """The page that `query` asks for, of the caller's objects whose columns equal these and that meet `also`.

        Raises NotFound: a cursor is not the id of an object of the caller.
        """
        table, equals = self.table(tx), {"account": caller.account, **equals}
        also = [*also, Condition("status <> ?", (self.gone,))] if self.gone else also
        if isinstance(query, NumberedQuery):
            number, size = query.page, query.per_page
            rows, total = table.numbered(number, size, also, **equals)
            return NumberedList(self.url, [self.view(tx, row) for row in rows], number, size, total)
        edges: list[int | None] = []
        for param in ("starting_after", "ending_before"):
            cursor = getattr(query, param)
            row: Any = table.first(id=cursor, account=caller.account) if cursor is not None else None
            if cursor is not None and row is None:
                message = f"{param} names no row of this list: {cursor[:60]!r}."
                raise NotFound(message, code="cursor_unknown", param=param)
            edges.append(row and row.seq)
        older_than, newer_than = edges
        rows = table.page(query.limit + 1, older_than=older_than, newer_than=newer_than, also=also, **equals)
        has_more = len(rows) > query.limit
        # One row more than asked for, at the far end, shows that there are more.
        goes_back = newer_than is not None and older_than is None
        rows = rows[-query.limit :] if goes_back else rows[: query.limit]
        return List(url=self.url, has_more=has_more, data=[self.view(tx, row) for row in rows])
