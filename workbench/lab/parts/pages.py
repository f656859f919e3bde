"""Pages of a list that may be long: only the one that is shown is asked for."""

from typing import Any, ClassVar, Generic, TypeVar

from workbench.client.resource import Identified
from workbench.domain import wire
from workbench.errors import NotFound
from workbench.lab.parts.part import Values
from workbench.lab.parts.source import SessionSection
from workbench.lab.views import Action, Actions, Item
from workbench.session import Session

T = TypeVar("T", bound=Identified)
SIZE = 25
NEWEST, NEWER, OLDER = "newest", "newer", "older"
_CURSOR_GONE = "cursor_unknown"


class Pages(Generic[T]):
    """Where one is in a list, newest first; `group` is the group of calls that lists it."""

    def __init__(self, group: Any, size: int = SIZE) -> None:  # noqa: ANN401  each group lists by filters of its own
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

    def buttons(self, label: str) -> tuple[Item, ...]:
        """To turn the pages; none where there is but one."""
        if not self._after and not self.has_more:
            return ()
        first = "" if self._after else "This is the newest page."
        last = "" if self.has_more else "This is the oldest page."
        ways = (("Newest", NEWEST, first), ("Newer", NEWER, first), ("Older", OLDER, last))
        actions = tuple(Action("turn", text, where, off=off) for text, where, off in ways)
        return (Actions(f"{label}: page {len(self._after) + 1}", actions),)

    def _page(self, **filters: str | None) -> wire.List[T]:
        after = self._after[-1] if self._after else None
        page: wire.List[T] = self._group.list(limit=self._size, starting_after=after, **filters)
        return page


class PagedSection(SessionSection, Generic[T]):
    """A section that shows a list page by page; `group` names the group of calls that lists it."""

    group: ClassVar[str]
    page_size: ClassVar[int] = SIZE

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._pages = Pages[T](getattr(self._looking, self.group), self.page_size)
        self._open = ""
        """The row that is unfolded."""

    def turn(self, on: str, _values: Values) -> None:
        """Another page."""
        self._pages.turn(on)

    def unfold(self, on: str, _values: Values) -> None:
        """Show what is beneath a row, or fold it up."""
        self._open = "" if on == self._open else on
