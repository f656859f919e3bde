"""What the dashboard's lists share: a filter, pages with their place in the whole, and a drawer beside them."""

import csv
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from datetime import date, timedelta
from io import StringIO
from types import MappingProxyType
from typing import ClassVar, Final, Generic, TypeAlias, TypeVar

from msgspec.structs import replace

from workbench.client import Identified
from workbench.domain import wire
from workbench.domain.moments import RFC3339
from workbench.errors import InvalidRequest, NotFound
from workbench.lab import views
from workbench.lab.sections import (
    NEWER,
    NEWEST,
    OLDER,
    SIZE,
    Download,
    Message,
    PagedSection,
    SessionSection,
    Values,
    counted,
    plural,
    turns,
    utc,
    when,
)
from workbench.session import Session
from workbench.visible import armed

T = TypeVar("T", wire.Payment, wire.LoggedRequest)
L = TypeVar("L", bound=Identified)
Filter: TypeAlias = tuple[str, str, str, tuple[tuple[str, str], ...]]
OF_TIME: Final[tuple[Filter, ...]] = (("since", "From", "date", ()), ("until", "To", "date", ()))
_MIDNIGHT: Final = "T00:00:00+02:00"
_NO_DAY: Final = "A day, such as 2026-01-05."
_MAX_SEARCH: Final = 100
_MOST_AT_ONCE: Final = 1000
_CUT: Final = 3
"""The place of the column that is cut where there is little room: `dashboard.css` does."""


class Opens(SessionSection):
    """Opens one row of its list in a drawer, whatever page and filter are shown."""

    def _split(self, *listed: views.Item) -> views.Split:
        try:
            return views.Split(listed, self._drawer(self._open) if self._open else None)
        except NotFound:
            # As after a reset.
            self._open = ""
            return views.Split(listed)

    @abstractmethod
    def _drawer(self, opened: str) -> views.Drawer:
        """All there is of one row. Raises NotFound: there is none of this id."""


class FilteredSection(Opens):
    """A list that is filtered by what is typed. That stays while another part of the dashboard is looked at."""

    noun: ClassVar[str]
    _filter: Values = MappingProxyType({})
    """As it was typed."""

    @property
    @abstractmethod
    def filters(self) -> tuple[Filter, ...]:
        """Each a parameter of the list, its label, how it is typed in, and what it may be chosen from."""

    @abstractmethod
    def _list(self, query: Mapping[str, str]) -> Iterator[views.Item]:
        """A page of the list, and what turns it."""

    @abstractmethod
    def _found(self, query: Mapping[str, str]) -> str:
        """How many rows there are."""

    def _items(self) -> Iterator[views.Item]:
        query, errors = self._query()
        typed = self._filter
        fields = tuple(
            views.Field(name, label, typed.get(name, ""), kind, choices, error=errors.get(name, ""))
            for name, label, kind, choices in self.filters
        )
        yield views.Form("filter", f"Which {plural(self.noun)}", fields, self._ways(), follow=True, row=True)
        try:
            yield self._split(*self._list(query))
        except InvalidRequest as refused:
            # The filter can still be changed.
            yield views.Note(str(refused), views.BAD)

    def _opened(self, grid: views.Grid, query: Mapping[str, str]) -> views.Grid:
        """The rows, each a button that opens it."""
        empty = f"No {self.noun} matches." if query else "Nothing yet."
        return replace(grid, empty=empty, cards=True, opens="unfold", opened=self._open)

    def _ways(self) -> tuple[views.Action, ...]:
        return (views.Action("clear", "Clear", off="" if any(self._filter.values()) else "Nothing is filtered."),)

    def _asked(self, name: str, kind: str, text: str) -> str:
        """What was typed into a field as the list takes it. Raises ValueError: what is wrong."""
        if kind == "date":
            return day(text, days_on=int(name == "until"))
        return text[:_MAX_SEARCH] if kind == "search" else text

    def _query(self) -> tuple[dict[str, str], dict[str, str]]:
        """The parameters of the list, and what is wrong with which field."""
        query, errors = dict[str, str](), dict[str, str]()
        for name, _label, kind, _choices in self.filters:
            try:
                if text := self._filter.get(name, "").strip():
                    query[name] = self._asked(name, kind, text)
            except ValueError as error:
                errors[name] = str(error)
        return query, errors

    def _on_follow(self, _on: str, values: Values) -> None:
        if values != self._filter:
            self._filter = dict(values)
            self._on_turn(NEWEST, {})

    def _on_search(self, on: str, values: Values) -> Message:
        """For a script: what a person's typing does, and how much was found."""
        self._on_follow(on, values)
        query, errors = self._query()
        if errors:
            return Message(next(iter(errors.values())), views.BAD)
        return Message(f"{self._found(query)} found.")

    def _on_clear(self, on: str, _values: Values) -> Message:
        self._on_follow(on, {})
        return Message(f"All {plural(self.noun)} are shown.")

    @abstractmethod
    def _on_turn(self, on: str, values: Values) -> None:
        """Turn to another page."""

    def find(self, identifier: str) -> None:
        """Look for one row, and open it."""
        self._on_follow("", {"search": identifier})
        self._open = identifier


class ListedSection(PagedSection[L], FilteredSection, Generic[L]):
    """A list of the interface's, which tells neither how long it is nor where a page stands in it."""

    @abstractmethod
    def _grid(self, caption: str, rows: Iterable[L]) -> views.Grid:
        """The rows."""

    def _list(self, query: Mapping[str, str]) -> Iterator[views.Item]:
        label = plural(self.noun).capitalize()
        caption = f"{label}{', as filtered' if query else ''}, newest first"
        yield self._opened(self._grid(caption, self._rows(**query)), query)
        yield from self._buttons(label)

    def _found(self, query: Mapping[str, str]) -> str:
        found = counted(len(self._rows(**query)), self.noun)
        return f"{found}, and there are more," if self._has_more else found


class FoundSection(FilteredSection, Generic[T]):
    """A list that the store searches, filters, counts and cuts into pages; one row of it opened in a drawer."""

    columns: ClassVar[tuple[str, ...]]
    """Of the file."""

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._older: list[int] = []
        """The place of the last row of each page before this one."""
        self._tab = ""
        self._page: wire.Found[T] = wire.Found([])

    @abstractmethod
    def _read(self, query: Mapping[str, str]) -> wire.Found[T]:
        """A page of the list."""

    @abstractmethod
    def _grid(self, caption: str, rows: Iterable[T]) -> views.Grid:
        """The rows."""

    @abstractmethod
    def _line(self, row: T) -> tuple[object, ...]:
        """A row of the file."""

    def _list(self, query: Mapping[str, str]) -> Iterator[views.Item]:
        older = {"older_than": str(self._older[-1])} if self._older else {}
        self._page = page = self._read({**query, **older, "limit": str(SIZE)})
        if older and not page.data:
            # Its place is gone, as after a reset.
            self._older = []
            self._page = page = self._read({**query, "limit": str(SIZE)})
        last = _last(page)
        span = f"{page.first:,}\N{EN DASH}{last:,}" if last > page.first else f"{last:,}"
        place = f"{span} of " if page.data else ""
        grid = self._grid(f"{place}{counted(page.total, self.noun)}{', as filtered' if query else ''}", page.data)
        yield self._opened(grid, query)
        yield from turns(f"Pages of {plural(self.noun)}", has_newer=bool(self._older), has_older=last < page.total)

    def _ways(self) -> tuple[views.Action, ...]:
        return (*super()._ways(), views.Action("csv", "CSV"))

    def _found(self, query: Mapping[str, str]) -> str:
        return counted(self._read({**query, "limit": "1"}).total, self.noun)

    def _on_turn(self, on: str, _values: Values) -> None:
        if on == OLDER and self._page.data and _last(self._page) < self._page.total:
            self._older.append(self._page.data[-1].seq)
        elif on in (NEWER, NEWEST):
            self._older = self._older[:-1] if on == NEWER else []

    def _on_tab(self, on: str, _values: Values) -> None:
        self._tab = on

    def _on_csv(self, _on: str, _values: Values) -> Message:
        text, name = StringIO(), f"{self.id}.csv"
        writer = csv.writer(text)
        writer.writerow(self.columns)
        count = 0
        for row in self._every():
            writer.writerow(armed(each) if isinstance(each, str) else each for each in self._line(row))
            count += 1
        return Message(f"{counted(count, self.noun)} in {name}.", download=Download(name, text.getvalue()))

    def _every(self) -> Iterator[T]:
        """Every row that the filter lets through, newest first."""
        query = {**self._query()[0], "limit": str(_MOST_AT_ONCE)}
        page = self._read(query)
        while page.data:
            yield from page.data
            page = self._read({**query, "older_than": str(page.data[-1].seq)})


def _last(page: wire.Found[T]) -> int:
    """The number of the last row of a page."""
    return page.first + len(page.data) - 1


def timed(identifier: str, cells: tuple[str, ...], at_s: int) -> views.Row:
    """A row that ends with its moment in Lusaka. What the cell that is cut first says is shown over it."""
    over = (text if place == _CUT else "" for place, text in enumerate(cells))
    return views.Row(identifier, (*cells, when(at_s)), hovers=(*over, utc(at_s)))


def day(text: str, *, days_on: int = 0) -> str:
    """The midnight in Lusaka with which a day begins, or one so many days later. Raises ValueError: no day."""
    try:
        midnight = f"{(date.fromisoformat(text) + timedelta(days=days_on)).isoformat()}{_MIDNIGHT}"
    except (ValueError, OverflowError):
        midnight = ""
    # Also while a year is being typed, digit by digit.
    if not RFC3339.fullmatch(midnight):
        raise ValueError(_NO_DAY)
    return midnight
