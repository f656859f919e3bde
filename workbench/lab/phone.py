"""The handset as a live widget: it shows what the sandbox tells of a number, and presses what a person presses.

It holds no logic: each key calls the method of `Phone` that a script calls.
"""

import logging
import time
from collections.abc import Callable, Mapping
from threading import RLock
from typing import Any, Final

import anywidget
import traitlets

from workbench.errors import WorkbenchError
from workbench.handset import Phone
from workbench.lab.assets import asset
from workbench.lab.phone_view import EMPTY, Known, Now, View, view_of
from workbench.session import Session

CLOSED: Final = "This Workbench is closed. Run the notebook's cells again, from the one that makes it."
_BROKEN: Final = "Something in the workbench failed; the kernel's log says what."
_UNKNOWN: Final = "This handset has changed: run its cell again."

_PRESSES: Final[Mapping[str, Callable[[Phone, Mapping[str, Any]], object]]] = {
    "look": lambda _phone, _message: None,
    "pin": lambda phone, message: phone.enter_pin(str(message.get("pin", ""))),
    "cancel": lambda phone, _message: phone.cancel(),
    "ignore": lambda phone, _message: phone.ignore(),
}
"""What the browser may ask for → the call that a script would make."""


class PhoneWidget(anywidget.AnyWidget):
    """`view` is what is to be seen. It is kept by a browser and may be saved: no number in full is in it, and no PIN.

    A message `{"id": 3, "do": "pin", "pin": "…"}` is carried out, `view` renewed, and then answered by a message
    `{"answered": 3, "said": "", "kernel_ms": …}`: what went wrong in words, and the kernel's clock, by which a
    browser tells how much its own is off.
    """

    _esm = asset("dom.js", "phone.js")
    _css = asset("theme.css", "phone.css")
    view = traitlets.Dict(EMPTY).tag(sync=True)

    def __init__(self, phone: Phone, session: Session) -> None:
        self._phone = phone
        self._control = session.unseen
        self._changing = RLock()
        self._ended = False
        super().__init__(view=self._looked(EMPTY))
        self.on_msg(lambda _widget, message, _buffers: self._press(message))

    def refresh(self) -> None:
        """Show what the sandbox tells now; called from any thread."""
        with self._changing:
            if not self._ended:
                # A trait is sent only where it differs: what is drawn without need flickers, and is read aloud twice.
                self.view = self._looked(self.view)

    def end(self) -> None:
        """The Workbench is closed: say so, and ask it nothing any more."""
        with self._changing:
            self._ended = True
            self.view = {**self.view, "waiting": False, "trouble": CLOSED}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.view['name']!r})"

    def _press(self, message: Mapping[str, Any]) -> None:
        said = _BROKEN
        try:
            said = self._pressed(str(message.get("do")), message)
            self.refresh()
        finally:
            self.send({"answered": message.get("id"), "said": said, "kernel_ms": _kernel_ms()})

    def _pressed(self, what: str, message: Mapping[str, Any]) -> str:
        """Press a key; what went wrong, in words."""
        press = _PRESSES.get(what)
        if press is None:
            return _UNKNOWN
        if self._ended:
            return "" if what == "look" else CLOSED
        try:
            press(self._phone, message)
        except WorkbenchError as error:
            return str(error)
        return ""

    def _looked(self, before: View) -> View:
        try:
            known = self._all()
        except WorkbenchError as error:
            logging.getLogger("workbench").info("The handset cannot ask the sandbox: %s", error)
            return {**before, "waiting": False, "trouble": str(error)}
        return view_of(known, before)

    def _all(self) -> Known:
        """Everything anew. The clock tells how long a prompt waits; without one it is not asked."""
        shown = self._control.phone(self._phone.number)
        messages = self._control.messages(self._phone.number)
        return Known(shown, messages, self._now() if shown.waiting else None)

    def _now(self) -> Now:
        clock = self._control.clock()
        return Now(clock.mode, clock.now_ms, _kernel_ms())


def _kernel_ms() -> int:
    return time.time_ns() // 1_000_000
