"""What the sections of boards share: their base, what comes of a button, and pages of rows."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar, Final, Generic, NamedTuple, TypeAlias, TypeVar

from workbench.client import Identified
from workbench.domain import wire
from workbench.domain.moments import lusaka_text, utc_text
from workbench.errors import NotFound, WorkbenchError
from workbench.lab.views import BAD, GOOD, Action, Actions, Beside, Code, Fact, Item, Note, Section
from workbench.session import Session
from workbench.snippets import snippet

T = TypeVar("T", bound=Identified)
Values: TypeAlias = Mapping[str, str]
"""What a form holds, by the names of its fields."""
_PAY: Final = "pay = bench.client\n"
_ACTING: Final = "pay = bench.acting\n"
_VERSION: Final = "/v1/"
STATES: Final = {
    "new": "○ not confirmed", "waiting": "◷ waiting", "succeeded": "✓ succeeded", "part_refunded": "↩ refunded in part",
    "refunded": "↩ refunded", "failed": "✗ failed", "canceled": "⊘ canceled",
}  # fmt: skip
"""What a payment has come to: a sign and words."""
SIZE = 25
NEWEST, NEWER, OLDER = "newest", "newer", "older"
_CURSOR_GONE = "cursor_unknown"


def whole_text(text: str) -> str:
    """Text that can be sent: half of a surrogate pair, which a browser may send, becomes a question mark."""
    return text.encode("utf-8", "replace").decode()


def when(at_s: float | None) -> str:
    """A moment in Lusaka, to the second; a dash for none."""
    return "-" if at_s is None else lusaka_text(int(at_s * 1000))


def utc(at_s: float | None) -> str:
    """The same moment in UTC, to be shown over it."""
    return "" if at_s is None else utc_text(int(at_s * 1000))


def fact_at(name: str, at_s: float) -> Fact:
    """A moment among facts."""
    return f"{name} (Lusaka)", when(at_s), utc(at_s)


def counted(count: int, one: str) -> str:
    """`1 event`, `2 events`."""
    return f"{count:,} {one if count == 1 else plural(one)}"


def plural(one: str) -> str:
    """`events`, `deliveries`."""
    return f"{one[:-1]}ies" if one.endswith("ry") else f"{one}s"


def turns(label: str, *, has_newer: bool, has_older: bool) -> tuple[Item, ...]:
    """To turn the pages; none where there is but one."""
    if not has_newer and not has_older:
        return ()
    first = "" if has_newer else "This is the newest page."
    last = "" if has_older else "This is the oldest page."
    ways = ((NEWEST, first), (NEWER, first), (OLDER, last))
    return (Actions(label, tuple(Action("turn", where.capitalize(), where, off=off) for where, off in ways)),)


class Download(NamedTuple):
    """A file that the browser is handed, to keep."""

    name: str
    text: str


class Reveal(NamedTuple):
    """A secret to be seen this once: it goes to the browser as a message, and into nothing that is saved."""

    label: str
    secret: str


class Message(NamedTuple):
    """What came of a button: a sentence, its tone, the same in code; what a browser gets alone; what leads further."""

    text: str
    tone: str = GOOD
    code: tuple[Item, ...] = ()
    reveal: Reveal | None = None
    download: Download | None = None
    leads: Action | None = None


Handler: TypeAlias = Callable[[str, Values], Message | None]


class BoardSection(ABC):
    """A section of a board, made of what the sandbox reports whenever it is asked.

    A button `name` calls the method `_on_name(on, values) -> Message | None`: `on` is what a button is about, `values`
    what its form holds. `_on_follow` gets what is typed into a form, and says nothing.
    """

    id: ClassVar[str]
    title: ClassVar[str] = ""
    wide: ClassVar[bool] = False
    tab: ClassVar[int] = 0
    _open = ""
    """The row that is unfolded, by its id."""

    @abstractmethod
    def _items(self) -> Iterable[Item]:
        """What is to be seen now."""

    def _badge(self) -> str:
        """What its tab says beside its title."""
        return ""

    def section(self) -> Section:
        """What it shows; or why it cannot."""
        try:
            return Section(self.id, self.title, tuple(self._items()), self.wide, self.tab, self._badge())
        except WorkbenchError as error:
            return Section(self.id, self.id.capitalize(), (Note(str(error), BAD),), tab=self.tab)

    def handler(self, name: str) -> Handler | None:
        """What a button calls; None where there is no such button."""
        return getattr(self, f"_on_{name}", None)

    def _unfolds(self, label: str, row: str) -> Action:
        return Action("unfold", label, row, expanded="yes" if row == self._open else "no")

    def _on_unfold(self, on: str, _values: Values) -> None:
        self._open = "" if on == self._open else on


class SessionSection(BoardSection):
    """A section that reads with `looking`, the key that the session holds now, and acts with the session's `acting`."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._pay = session.acting
        self._looking = session.looking()

    def _now_s(self) -> int:
        return self._session.untraced.clock().now_ms // 1000

    def _code(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        *,
        query: Mapping[str, str] | None = None,
        python: str = "{}",
    ) -> tuple[Item, ...]:
        """The same call in Python and in curl; `python` is what stands around the call there."""
        made = snippet(method, path, body, query=query, base_url=self._session.base_url)
        before, pay, call = made.python.rpartition(_PAY)
        curl = made.curl
        if path.startswith(_VERSION) and self._session.is_on_dashboard(path):
            pay, curl = _ACTING, curl.replace(_VERSION, f"{wire.DASHBOARD}/", 1)
        return (Beside((Code("Python", before + pay + python.format(call)), Code("curl", curl))),)


class PagedSection(SessionSection, Generic[T]):
    """A section that shows a list page by page, newest first; `group` names the group of calls that lists it."""

    group: ClassVar[str]
    page_size: ClassVar[int] = SIZE

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._group = getattr(self._looking, self.group)
        self._numbered = self._looking.pagination == "page"
        self._after: list[str] = []
        """The last row of each page before this one."""
        self._last = ""
        self._has_more = False
        """Whether there are older rows than those of the page that was read last."""

    def _rows(self, **filters: str | None) -> list[T]:
        """The page that is shown, as it is now; the newest one where its place is gone, as after a reset."""
        cursor = {"starting_after": self._after[-1]} if self._after else {}
        place = {"page": len(self._after) + 1} if self._numbered else cursor
        try:
            page: wire.List[T] = self._group.list(limit=self.page_size, **place, **filters)
        except NotFound as error:
            if error.code != _CURSOR_GONE:
                raise
            self._after = []
            return self._rows(**filters)
        self._has_more = page.has_more
        self._last = page.data[-1].id if page.data else ""
        return page.data

    def _on_turn(self, on: str, _values: Values) -> None:
        if on == OLDER and self._has_more and self._last:
            self._after.append(self._last)
        elif on == NEWER:
            self._after = self._after[:-1]
        elif on == NEWEST:
            self._after = []

    def _buttons(self, label: str) -> tuple[Item, ...]:
        label = f"{label}: page {len(self._after) + 1}"
        return turns(label, has_newer=bool(self._after), has_older=self._has_more)
