"""Pages of lists, and the queries that ask for a page."""

from collections.abc import Iterator
from functools import cache
from typing import Annotated, Generic, TypeVar, cast

import msgspec
from msgspec import Meta, defstruct

from workbench.domain.wire.base import View, parameter
from workbench.domain.wire.field_types import Moment, NeverNegative, Positive, Seq

T = TypeVar("T")


class Listing(Generic[T]):
    """A page of a list that can be looped over, indexed and measured."""

    __slots__ = ()
    data: list[T]

    def __len__(self) -> int:
        return len(self.data)

    def __iter__(self) -> Iterator[T]:
        return iter(self.data)

    def __getitem__(self, place: int) -> T:
        return self.data[place]


class List(View, Listing[T], Generic[T]):
    """A page of a list, newest first, to loop over; `has_more` is true if more rows follow."""

    url: str
    has_more: bool
    data: list[T]
    object: str = "list"

    def _shown_fields(self) -> list[str]:
        return [f"count={len(self)}", *super()._shown_fields(), *(["data=[]"] if not self.data else [])]


class NumberedList(View, Listing[T], Generic[T]):
    """A page of a list by its number, newest first; `total` counts the rows of all pages."""

    url: str
    data: list[T]
    page: Positive
    per_page: Positive
    total: NeverNegative
    object: str = "list"


class Rows(View, Generic[T]):
    """All rows at once, in order."""

    data: list[T]
    object: str = "list"


class Page(View, Generic[T]):
    """Rows in order; `has_more` is true if entries follow the last one."""

    data: list[T]
    has_more: bool = False
    object: str = "list"


class Found(View, Generic[T]):
    """A page of search results, newest first, from row `first` (counted from 1) of `total`."""

    data: list[T]
    first: NeverNegative = 1
    total: NeverNegative = 0
    object: str = "list"


class ListQuery(View):
    """Asks for `limit` rows, newest first: older than `starting_after`, newer than `ending_before`, or between."""

    limit: Annotated[int, Meta(ge=1, le=100, description="How many rows at most.")] = 10
    starting_after: Annotated[str, parameter("The id of a row: only rows older than it.")] | None = None
    ending_before: (
        Annotated[str, parameter("The id of a row: only newer rows; with `starting_after`, the rows between.")] | None
    ) = None


class NumberedQuery(View):
    """Asks for a page by its number, newest first; new rows shift the pages."""

    page: Annotated[int, Meta(ge=1, le=2**31 - 1, description="The page's number, from 1.")] = 1
    per_page: Annotated[int, Meta(ge=1, le=100, description="How many rows at most.")] = 10


@cache
def numbered_query(query: type[ListQuery]) -> type[NumberedQuery]:
    """The query of the same list, with the same filters, that names a page by its number."""
    filters = [column for column in msgspec.structs.fields(query) if column.name not in ListQuery.__struct_fields__]
    more = {"__doc__": query.__doc__, "__module__": __name__}
    columns = [(column.name, column.type, column.default) for column in filters]
    made = defstruct(f"Numbered{query.__name__}", columns, bases=(NumberedQuery,), namespace=more)
    return cast("type[NumberedQuery]", made)


class FindQuery(View):
    """Asks for a page of search results, newest first."""

    limit: Annotated[int, Meta(ge=1, le=1000, description="How many rows at most.")] = 25
    older_than: Annotated[Seq, parameter("The `seq` of a row: only rows older than it.")] | None = None
    search: (
        Annotated[str, Meta(min_length=1, max_length=100, description="Those in which this text stands.")] | None
    ) = None
    since: Annotated[Moment, parameter("Those of this moment and later.")] | None = None
    until: Annotated[Moment, parameter("Those before this moment.")] | None = None
