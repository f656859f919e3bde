"""What the dashboard's long lists share: a filter, pages with their place in the whole, and a drawer beside them."""

import csv
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from datetime import date, timedelta
from io import StringIO
from typing import ClassVar, Final, Generic, TypeAlias, TypeVar

from workbench.domain import wire
from workbench.errors import InvalidRequest, NotFound
from workbench.lab import views
from workbench.lab.sections import (
    NEWER,
    NEWEST,
    OLDER,
    SIZE,
    Download,
    Message,
    SessionSection,
    Values,
    counted,
    turns,
)
from workbench.session import Session

T = TypeVar("T", wire.Payment, wire.LoggedRequest)
Filter: TypeAlias = tuple[str, str, str, tuple[tuple[str, str], ...]]
OF_TIME: Final[tuple[Filter, ...]] = (("since", "From", "date", ()), ("until", "To", "date", ()))
_MIDNIGHT: Final = "T00:00:00+02:00"
_NO_DAY: Final = "A day, such as 2026-01-05."
_MAX_SEARCH: Final = 100
_MOST_AT_ONCE: Final = 1000
_RISKY: Final = ("=", "+", "-", "@", "\t", "\r")
"""What a spreadsheet takes for the beginning of a formula."""


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


class FoundSection(Opens, Generic[T]):
    """A list that the store searches, filters, counts and cuts into pages; one row of it opened in a drawer.

    What is typed into its filter stays while another part of the dashboard is looked at.
    """

    filters: ClassVar[tuple[Filter, ...]]
    """Each a parameter of the list, its label, how it is typed in, and what it may be chosen from."""
    noun: ClassVar[str]
    empty: ClassVar[str] = "Nothing yet."

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._filter: Values = {}
        """As it was typed."""
        self._older: list[int] = []
        """The place of the last row of each page before this one."""
        self._tab = ""
        self._page: wire.Found[T] = wire.Found([])

    @abstractmethod
    def _read(self, query: Mapping[str, str]) -> wire.Found[T]:
        """A page of the list."""

    def _fields(self, errors: Mapping[str, str]) -> tuple[views.Field, ...]:
        typed = self._filter
        return tuple(
            views.Field(name, label, typed.get(name, ""), kind, choices, error=errors.get(name, ""))
            for name, label, kind, choices in self.filters
        )

    def _asked(self, name: str, text: str) -> str:
        """What was typed into a field as the store takes it. Raises ValueError: what is wrong."""
        if name in {"since", "until"}:
            return day(text, days_on=int(name == "until"))
        return searched(text) if name == "search" else text

    @abstractmethod
    def _grid(self, caption: str, rows: Iterable[T]) -> views.Grid:
        """The rows."""

    @abstractmethod
    def _line(self, row: T) -> dict[str, object]:
        """A row of the file, by its columns."""

    def _items(self) -> Iterator[views.Item]:
        query, errors = self._query()
        yield views.Form("filter", f"Which {self.noun}s", self._fields(errors), self._ways(), follow=True, row=True)
        try:
            yield self._split(*self._list(query))
        except InvalidRequest as refused:
            # The filter can still be changed.
            yield views.Note(str(refused), views.BAD)

    def _list(self, query: Mapping[str, str]) -> Iterator[views.Item]:
        older = {"older_than": str(self._older[-1])} if self._older else {}
        self._page = page = self._read({**query, **older, "limit": str(SIZE)})
        if older and not page.data:
            # Its place is gone, as after a reset.
            self._older = []
            self._page = page = self._read({**query, "limit": str(SIZE)})
        last = _last(page)
        place = f"{page.first}\N{EN DASH}{last} of {page.total:,}" if page.data else "0"
        yield self._grid(f"{place} {self.noun}s{', as filtered' if query else ''}", page.data)
        yield from turns(f"Pages of {self.noun}s", has_newer=bool(self._older), has_older=last < page.total)

    def _ways(self) -> tuple[views.Action, ...]:
        clear = views.Action("clear", "Clear", off="" if any(self._filter.values()) else "Nothing is filtered.")
        return clear, views.Action("csv", "CSV")

    def _query(self) -> tuple[dict[str, str], dict[str, str]]:
        """The parameters of the list, and what is wrong with which field."""
        query, errors = dict[str, str](), dict[str, str]()
        for name, text in self._filter.items():
            try:
                if text.strip():
                    query[name] = self._asked(name, text.strip())
            except ValueError as error:
                errors[name] = str(error)
        return query, errors

    def _on_follow(self, _on: str, values: Values) -> None:
        if values != self._filter:
            self._filter, self._older = dict(values), []

    def _on_search(self, on: str, values: Values) -> Message:
        """For a script: what a person's typing does, and how much was found."""
        self._on_follow(on, values)
        query, errors = self._query()
        if errors:
            return Message(next(iter(errors.values())), views.BAD)
        return Message(f"{counted(self._read({**query, 'limit': '1'}).total, self.noun)} found.")

    def _on_clear(self, on: str, _values: Values) -> Message:
        self._on_follow(on, {})
        return Message(f"All {self.noun}s are shown.")

    def _on_turn(self, on: str, _values: Values) -> None:
        if on == OLDER and self._page.data and _last(self._page) < self._page.total:
            self._older.append(self._page.data[-1].seq)
        elif on in (NEWER, NEWEST):
            self._older = self._older[:-1] if on == NEWER else []

    def _on_tab(self, on: str, _values: Values) -> None:
        self._tab = on

    def _on_csv(self, _on: str, _values: Values) -> Message:
        rows = [self._line(row) for row in self._every()]
        text = StringIO()
        writer = csv.DictWriter(text, rows[0] if rows else ())
        writer.writeheader()
        writer.writerows({name: _plain(name, value) for name, value in row.items()} for row in rows)
        name = f"{self.id}.csv"
        return Message(f"{counted(len(rows), self.noun)} in {name}.", download=Download(name, text.getvalue()))

    def _every(self) -> Iterator[T]:
        """Every row that the filter lets through, newest first."""
        query, _ = self._query()
        older: dict[str, str] = {}
        while rows := self._read({**query, **older, "limit": str(_MOST_AT_ONCE)}).data:
            yield from rows
            older = {"older_than": str(rows[-1].seq)}

    def find(self, identifier: str) -> None:
        """Look for one row, and open it."""
        self._filter, self._older, self._open = {"search": identifier}, [], identifier


def _last(page: wire.Found[T]) -> int:
    """The number of the last row of a page."""
    return page.first + len(page.data) - 1


def searched(text: str) -> str:
    """What is looked for, as long as the store takes."""
    return text[:_MAX_SEARCH]


def day(text: str, *, days_on: int = 0) -> str:
    """The midnight in Lusaka with which a day begins, or one so many days later. Raises ValueError: no day."""
    try:
        return f"{(date.fromisoformat(text) + timedelta(days=days_on)).isoformat()}{_MIDNIGHT}"
    except (ValueError, OverflowError):
        raise ValueError(_NO_DAY) from None


def _plain(column: str, value: object) -> object:
    """A text that somebody typed is no formula of a spreadsheet; a masked number, which begins with a plus, is none."""
    return f"'{value}" if column != "phone" and isinstance(value, str) and value.startswith(_RISKY) else value
