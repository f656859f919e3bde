"""The widget that draws a board in the browser. The only part of it that loads ipywidgets."""

from collections.abc import Callable
from typing import Any

import anywidget
import traitlets

from workbench.lab.assets import asset
from workbench.lab.parts.part import Reveal


class BoardWidget(anywidget.AnyWidget):
    """`view` is what is to be seen, `answered` the last message that was carried out."""

    _esm = asset("board.js")
    _css = asset("theme.css") + asset("board.css")
    view = traitlets.Dict().tag(sync=True)
    answered = traitlets.Int(0).tag(sync=True)

    def __init__(self, act: Callable[[dict[str, Any]], None]) -> None:
        super().__init__()
        self.on_msg(lambda _widget, message, _buffers: act(message))

    def show(self, view: dict[str, Any]) -> None:
        """Send what is to be seen, unless it is what is seen already."""
        if view != self.view:
            self.view = view

    def reveal(self, secret: Reveal) -> None:
        """Show a secret this once: a message, which no saved notebook holds."""
        self.send({"reveal": {"label": secret.label, "secret": secret.secret}})

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.view.get('title', '')!r})"
