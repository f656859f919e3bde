"""A board: sections on one screen, live in JupyterLab, as text and HTML anywhere else. It holds no logic."""

from collections.abc import Callable, Sequence
from threading import RLock
from typing import TYPE_CHECKING, Any

from workbench.errors import WorkbenchError
from workbench.lab import drawn
from workbench.lab.parts.part import Part, Said
from workbench.lab.views import BAD, Item, Note, Section, as_data
from workbench.live import Widget, with_widget
from workbench.render import bundle

if TYPE_CHECKING:
    from workbench.lab.board_widget import BoardWidget

FOLLOW = "follow"
"""What a form that is typed into asks its part to do."""


class Board:
    """Parts under one title. `watch` is the bench's: the board is drawn anew when something happens."""

    def __init__(
        self, title: str, parts: Sequence[Part], watch: Callable[[Callable[[], object]], Callable[[], None]]
    ) -> None:
        self.title = title
        self._parts = {each.id: each for each in parts}
        self._watch = watch
        self._lock = RLock()
        self._widget: BoardWidget | None = None
        self._said: dict[str, Any] = {}
        self._code: tuple[Item, ...] = ()

    def sections(self) -> tuple[Section, ...]:
        """What is to be seen now."""
        return tuple(section_of(each) for each in self._parts.values())

    @property
    def widget(self) -> Widget:
        """The board to touch, for JupyterLab; one, however often it is shown."""
        if self._widget is None:
            from workbench.lab.board_widget import BoardWidget

            self._widget = BoardWidget(self._act)
            self.refresh()
            self._watch(self.refresh)
        return self._widget

    def live_sections(self) -> tuple[Section, ...]:
        """What is to be seen where one can touch it: all, unless a board shows one thing at a time."""
        return self.sections()

    def refresh(self) -> None:
        """Draw what has changed since."""
        with self._lock:
            if self._widget is not None:
                self._widget.show({"title": self.title, "sections": as_data(self.live_sections()), **self._told()})

    def do(self, part: str, name: str, on: str = "", **values: str) -> Said | None:
        """Press a button: what a click does, for a script. An error of the service is said, not raised."""
        with self._lock:
            said = self._done(part, name, on, values)
            if said is not None:
                self._said = {"text": said.words, "tone": said.tone, "number": self._said.get("number", 0) + 1}
                self._code = said.code
            return said

    def __repr__(self) -> str:
        return drawn.text(self.title, self.sections())

    def _repr_mimebundle_(self, **_: object) -> dict[str, object]:
        sections = self.sections()
        shown = bundle(drawn.text(self.title, sections), drawn.html(self.title, sections))
        return with_widget(shown, lambda: self.widget)

    def _told(self) -> dict[str, Any]:
        return {"said": self._said, "code": as_data(self._code)}

    def _act(self, message: dict[str, Any]) -> None:
        """A message of the browser: press the button, draw, answer."""
        values = {str(name): str(value) for name, value in dict(message.get("values") or {}).items()}
        with self._lock:
            said = self.do(str(message.get("part")), str(message.get("do")), str(message.get("on") or ""), **values)
            self.refresh()
            if self._widget is not None:
                if said is not None and said.reveal is not None:
                    self._widget.reveal(said.reveal)
                self._widget.answered = int(message.get("id") or 0)

    def _done(self, part: str, name: str, on: str, values: dict[str, str]) -> Said | None:
        doing = self._parts[part].doings.get(name) if part in self._parts else None
        if doing is None:
            return Said("This board has changed: run its cell again.", BAD)
        try:
            return doing(self._parts[part], on, values)
        except WorkbenchError as error:
            return None if name == FOLLOW else Said(str(error), BAD)


def section_of(part: Part) -> Section:
    """What a part shows; or why it cannot."""
    try:
        return part.section()
    except WorkbenchError as error:
        return Section(part.id, part.id.capitalize(), (Note(str(error), BAD),))
