"""What a browser draws of a board: the widget that carries a view there and a press back; loaded when one looks."""

from base64 import b64encode
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import anywidget
import traitlets

from workbench.lab.sections import Message

BROKEN = "Something in the workbench failed; the kernel's log says what."
_STATIC = Path(__file__).parent / "static"
_MARK = b64encode((Path(__file__).parents[1] / "templates" / "mark.svg").read_bytes()).decode()


@cache
def asset(*names: str) -> str:
    """The text of files of `static/`, one after the other: a widget's script is one module of several files."""
    return "\n".join((_STATIC / name).read_text("utf-8") for name in names)


class BoardWidget(anywidget.AnyWidget):
    """`view` is what is to be seen, `answered` the number of the last message that was carried out.

    The view goes to the browser as a message: a notebook that is saved with its widgets would hold what is synced,
    and in a view stand the numbers and texts that somebody has typed.
    """

    _esm = asset("dom.js", "pieces.js", "sequence.js", "forms.js", "tabs.js", "board.js")
    _css = asset("theme.css", "board.css", "desk.css", "dashboard.css", "trace.css") + (
        f'.wb-title::before {{ background-image: url("data:image/svg+xml;base64,{_MARK}"); }}'
    )
    title = traitlets.Unicode().tag(sync=True)
    view = traitlets.Dict()
    answered = traitlets.Int(0).tag(sync=True)

    def __init__(self, act: Callable[[dict[str, Any]], None], shown: Callable[..., None]) -> None:
        super().__init__()
        self._act = act
        self._shown = shown
        self._pages = 0
        self.on_msg(lambda _widget, message, _buffers: self._receive(message))

    def show(self, view: dict[str, Any]) -> None:
        """Send what is to be seen, unless it is what is seen already."""
        if view != self.view:
            self.view = view
            self.title = str(view.get("title", ""))
            self.send({"view": view})

    def hand_over(self, message: Message) -> None:
        """A secret to show this once, or a file to keep: sent alone, so that no saved notebook holds it."""
        for name in ("reveal", "download"):
            if (given := getattr(message, name)) is not None:
                self.send({name: given._asdict()})

    def _receive(self, message: dict[str, Any]) -> None:
        """A page that has just been opened asks to see, and says so when it is closed; anything else is pressed."""
        if message.get("gone"):
            self._pages -= 1
            self._shown(is_shown=self._pages > 0)
        elif message.get("look"):
            self._pages += 1
            self._shown(is_shown=True)
            self.send({"view": self.view})
            self.answered = int(message.get("id") or 0)
        else:
            self._act(message)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.title!r})"
