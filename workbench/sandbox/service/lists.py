"""Who calls, and pages of a list: newest first, from a cursor that is a row, so that new rows shift nothing."""

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple, TypeAlias, TypeVar

from workbench.domain import wire
from workbench.errors import ApiError, NotFound
from workbench.sandbox.store.table import Condition, Filters, R, Table


class Cause(NamedTuple):
    """The merchant's request that something follows from, which events name."""

    request_id: str | None = None
    idempotency_key: str | None = None


BY_ITSELF: Final = Cause()
"""What falls due, and what a person does through `/sandbox`, which is no request of the merchant's."""


class Caller(NamedTuple):
    """The credential behind a call: `kind` is secret, publishable, token or nobody."""

    kind: str
    account: str
    bearer: str | None = None
    """The access token itself, for the operation that refreshes it."""
    cause: Cause = BY_ITSELF
    scenario: str | None = None
    """What the call, or the script of its number, asks to go wrong."""
    relied: tuple[str, ...] = ()
    """Rows of the register without which the credential would not do."""


NOBODY = Caller("nobody", "")


class Refused(NamedTuple):
    """A refusal that keeps what was done: returned, it is committed, where an ApiError that is raised undoes it all.

    A charge that was declined stays, and so does the prompt that was found expired. As a type of its own, next to
    what a function returns on success, it says in the signature which functions refuse so.
    """

    error: ApiError


W = TypeVar("W")
Query: TypeAlias = wire.ListQuery | wire.NumberedQuery
"""What asks for a page: `pagination` decides which."""
Listed: TypeAlias = wire.List[W] | wire.NumberedList[W]


def page(
    caller: Caller,
    table: Table[R],
    query: Query,
    url: str,
    shown: Callable[[R], W],
    also: Sequence[Condition] = (),
    /,
    **equals: Filters,
) -> Listed[W]:
    """The caller's rows that `query` asks for, each as `shown`; of each, the conditions `also` hold.

    Raises NotFound: a cursor that is no row of the caller's.
    """
    if isinstance(query, wire.NumberedQuery):
        number, size = query.page, query.per_page
        found, total = table.numbered(number, size, also, account=caller.account, **equals)
        return wire.NumberedList(url, [shown(each) for each in found], number, size, total)
    found = table.page(
        query.limit + 1,
        older_than=_seq(caller, table, query.starting_after, "starting_after"),
        newer_than=_seq(caller, table, query.ending_before, "ending_before"),
        also=also,
        account=caller.account,
        **equals,
    )
    # One more than asked for tells whether there are more; it stands at the far end.
    goes_back = query.ending_before is not None and query.starting_after is None
    rows = found[-query.limit :] if goes_back else found[: query.limit]
    return wire.List(url=url, has_more=len(found) > query.limit, data=[shown(each) for each in rows])


def _seq(caller: Caller, table: Table[R], cursor: str | None, param: str) -> int | None:
    if cursor is None:
        return None
    row = table.first(id=cursor, account=caller.account)
    if row is None:
        raise NotFound(f"{param} names no row of this list: {cursor[:60]!r}.", code="cursor_unknown", param=param)
    return int(getattr(row, "seq"))  # noqa: B009  every listed record has one
