"""Pages of a list that may be long: only the one that is shown is asked for."""

from collections.abc import Callable
from typing import Any, Generic, TypeVar

from workbench.client.resource import Identified
from workbench.domain import wire
from workbench.errors import NotFound
from workbench.lab.views import Action, Actions, Item

T = TypeVar("T", bound=Identified)
SIZE = 25
NEWEST, NEWER, OLDER = "newest", "newer", "older"
_CURSOR_GONE = "cursor_unknown"


class Pages(Generic[T]):
    """Where one is in a list, newest first; `group` gives the group of calls that lists it."""

    def __init__(self, group: Callable[[], Any], size: int = SIZE) -> None:
        self._group = group
        self._size = size
        self._after: list[str] = []
        """The last row of each page before this one."""
        self._last = ""
        self.has_more = False
        """Whether there are older rows than those of the page that was read last."""

    def rows(self, **filters: str | None) -> list[T]:
        """The page that is shown, as it is now; the newest one where its place is gone, as after a reset."""
        try:
            page = self._page(**filters)
        except NotFound as error:
            if error.code != _CURSOR_GONE:
                raise
            self._after = []
            page = self._page(**filters)
        self.has_more = page.has_more
        self._last = page.data[-1].id if page.data else ""
        return page.data

    def turn(self, where: str) -> None:
        """Go to the newest page, or one towards the newer or older ones."""
        if where == OLDER and self.has_more and self._last:
            self._after.append(self._last)
        elif where == NEWER:
            self._after = self._after[:-1]
        elif where == NEWEST:
            self._after = []

    @property
    def number(self) -> int:
        """Which page it is, from 1."""
        return len(self._after) + 1

    def buttons(self, label: str) -> tuple[Item, ...]:
        """To turn the pages; none where there is but one."""
        if not self._after and not self.has_more:
            return ()
        first = "" if self._after else "This is the newest page."
        last = "" if self.has_more else "This is the oldest page."
        return (
            Actions(
                f"{label}: page {self.number}",
                (
                    Action("turn", "Newest", NEWEST, off=first),
                    Action("turn", "Newer", NEWER, off=first),
                    Action("turn", "Older", OLDER, off=last),
                ),
            ),
        )

    def _page(self, **filters: str | None) -> wire.List[T]:
        after = self._after[-1] if self._after else None
        page: wire.List[T] = self._group().list(limit=self._size, starting_after=after, **filters)
        return page
