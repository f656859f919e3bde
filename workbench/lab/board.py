"""A board: sections on one screen, live in JupyterLab, as text and HTML anywhere else. It holds no logic."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from threading import RLock
from typing import TYPE_CHECKING, Any

from workbench.errors import WorkbenchError
from workbench.lab import drawn
from workbench.lab.parts.part import BoardSection, Message
from workbench.lab.parts.words import whole_text
from workbench.lab.views import BAD, Item, Note, Section, as_data, slots
from workbench.live import Widget, with_widget
from workbench.render import bundle
from workbench.visible import visible

if TYPE_CHECKING:
    from workbench.lab.board_widget import BoardWidget

FOLLOW = "follow"
"""What a form that is typed into asks its part to do."""
_BROKEN = "Something in the workbench failed; the kernel's log says what."


def _no_widget(on: str) -> Widget:
    raise WorkbenchError(f"Nothing is known of {on!r}.")


class Board:
    """Parts under one title. `watch` is the bench's: the board is drawn anew when something happens, while it is shown.

    `name` is what its style sheet knows it by, `read` is called before the parts are asked what they show, and
    `slot` gives the widget of a place that a part leaves for one.
    """

    def __init__(
        self,
        title: str,
        parts: Sequence[BoardSection],
        watch: Callable[[Callable[[], object]], Callable[[], None]],
        *,
        name: str = "",
        read: Callable[[], object] = lambda: None,
        slot: Callable[[str], Widget] = _no_widget,
    ) -> None:
        self.title = title
        self.name = name
        self._parts = {each.id: each for each in parts}
        self._watch = watch
        self._read = read
        self._slot = slot
        self._lock = RLock()
        self._widget: BoardWidget | None = None
        self._unwatch: Callable[[], None] | None = None
        self._said: dict[str, Any] = {}
        self._code: tuple[Item, ...] = ()

    @property
    def said(self) -> str:
        """What the status line says."""
        return str(self._said.get("text", ""))

    def sections(self) -> tuple[Section, ...]:
        """What is to be seen now; where the sandbox does not answer, what was seen last, and that it does not."""
        with self._lock:
            try:
                self._read()
            except WorkbenchError as error:
                unread: tuple[Section, ...] = (Section("unread", "No answer", (Note(str(error), BAD),)),)
            else:
                unread = ()
            return (*unread, *(section_of(each) for each in self._parts.values()))

    @property
    def widget(self) -> Widget:
        """The board to touch, for JupyterLab; one, however often it is shown."""
        if self._widget is None:
            from workbench.lab.board_widget import BoardWidget

            self._widget = BoardWidget(self._act, self._shown)
            self._shown(is_shown=True)
        return self._widget

    def live_sections(self) -> tuple[Section, ...]:
        """What is to be seen where one can touch it: all, unless a board shows one thing at a time."""
        return self.sections()

    def refresh(self) -> None:
        """Draw what has changed since."""
        with self._lock:
            if self._widget is not None:
                sections = self.live_sections()
                seen = {"title": self.title, "name": self.name, "sections": as_data(sections)}
                self._widget.show({**seen, "widgets": self._widgets(sections), **self._told()})

    def do(self, part: str, name: str, on: str = "", **values: str) -> Message | None:
        """Press a button: what a click does, for a script. An error of the service is said, not raised."""
        with self._lock:
            said = self._done(part, name, on, values)
            if said is not None:
                self.say(said)
                self._code = said.code
            return said

    def say(self, said: Message) -> None:
        """Say something in the board's status line."""
        self._said = {
            "text": visible(said.text, lines=True),
            "tone": said.tone,
            "number": self._said.get("number", 0) + 1,
        }

    def __repr__(self) -> str:
        return drawn.text(self.title, self.sections())

    def _repr_mimebundle_(self, **_: object) -> dict[str, object]:
        sections = self.sections()
        shown = bundle(drawn.text(self.title, sections), drawn.html(self.title, sections))
        return with_widget(shown, lambda: self.widget)

    def _widgets(self, sections: tuple[Section, ...]) -> dict[str, str]:
        """The model of each widget that has a place among these sections."""
        made: dict[str, str] = {}
        for place in (each for section in sections for each in slots(section.items)):
            # Without its widget, what stands in its place is drawn.
            with suppress(WorkbenchError):
                made[place.on] = self._slot(place.on).model_id
        return made

    def _told(self) -> dict[str, Any]:
        return {"said": self._said, "code": as_data(self._code)}

    def _act(self, message: dict[str, Any]) -> None:
        """A message of the browser: press the button, draw, answer."""
        values = {str(name): str(value) for name, value in dict(message.get("values") or {}).items()}
        with self._lock:
            try:
                said = self.do(str(message.get("part")), str(message.get("do")), str(message.get("on") or ""), **values)
                self.refresh()
                if self._widget is not None and said is not None and said.reveal is not None:
                    self._widget.reveal(said.reveal)
            except Exception:
                self._fail()
                raise
            finally:
                # A button that is not answered waits, and then blames the kernel.
                if self._widget is not None:
                    self._widget.answered = int(message.get("id") or 0)

    def _shown(self, *, is_shown: bool) -> None:
        """Follow what happens while somebody looks: a cell that is run again leaves a board that nobody sees."""
        with self._lock:
            if is_shown and self._unwatch is None:
                self._unwatch = self._watch(self.refresh)
                self.refresh()
            elif not is_shown and self._unwatch is not None:
                self._unwatch()
                self._unwatch = None

    def _fail(self) -> None:
        """Say that something broke, over what was drawn last: to draw anew may be what failed."""
        self.say(Message(_BROKEN, BAD))
        if self._widget is not None:
            self._widget.show({**self._widget.view, **self._told()})

    def _done(self, part: str, name: str, on: str, values: dict[str, str]) -> Message | None:
        values = {each: whole_text(value) for each, value in values.items()}
        doing = self._parts[part].handlers.get(name) if part in self._parts else None
        if doing is None:
            return Message("This board has changed: run its cell again.", BAD)
        try:
            return doing(self._parts[part], on, values)
        except WorkbenchError as error:
            return None if name == FOLLOW else Message(str(error), BAD)


def section_of(part: BoardSection) -> Section:
    """What a part shows; or why it cannot."""
    try:
        return part.section()
    except WorkbenchError as error:
        return Section(part.id, part.id.capitalize(), (Note(str(error), BAD),))
