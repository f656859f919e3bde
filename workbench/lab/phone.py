"""The handset as a live widget: it shows a number's screen and messages, and presses what a person presses.

It holds no logic: each key calls the method of `Phone` that a script calls.
"""

import logging
import time
from collections.abc import Callable, Mapping
from threading import RLock
from typing import Any, Final

import anywidget
import traitlets

from workbench.domain import wire
from workbench.errors import WorkbenchError
from workbench.handset import Phone
from workbench.lab.assets import BROKEN, asset
from workbench.lab.phone_view import EMPTY, Now, PhoneState, View, view_of
from workbench.session import Session

CLOSED: Final = "This Workbench is closed. Run the notebook's cells again, from the one that makes it."
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
    browser knows how much its own is off.
    """

    _esm = asset("dom.js", "phone.js")
    _css = asset("theme.css", "phone.css")
    view = traitlets.Dict(EMPTY).tag(sync=True)

    def __init__(self, phone: Phone, session: Session) -> None:
        self._phone = phone
        self._control = session.untraced
        self._watchers = session.watchers
        self._changing = RLock()
        self._ended = False
        self._state: PhoneState | None = None
        super().__init__(view=self._looked(EMPTY, self._all))
        self.on_msg(lambda _widget, message, _buffers: self._press(message))

    def refresh(self) -> None:
        """Show what the sandbox has now; called from any thread."""
        with self._changing:
            self._show(self._all)

    def end(self) -> None:
        """The Workbench is closed: say so, and ask it nothing any more."""
        with self._changing:
            self._ended = True
            self.view = {**self.view, "waiting": False, "trouble": CLOSED}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.view['name']!r})"

    def _press(self, message: Mapping[str, Any]) -> None:
        trouble = BROKEN
        try:
            # No refresh runs in between: it would show what was read before the key. The key's one call is no news
            # to this handset, which shows the response to it.
            with self._changing, self._watchers.skipping(self.refresh):
                before = self._phone.response
                trouble = self._pressed(str(message.get("do")), message)
                self._show(self._refused if trouble else lambda: self._after(before))
        finally:
            self.send({"answered": message.get("id"), "said": trouble, "kernel_ms": _kernel_ms()})

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

    def _show(self, read: Callable[[], PhoneState]) -> None:
        if not self._ended:
            # A trait is sent only where it differs: what is drawn without need flickers, and is read aloud twice.
            self.view = self._looked(self.view, read)

    def _looked(self, before: View, read: Callable[[], PhoneState]) -> View:
        try:
            self._state = read()
        except WorkbenchError as error:
            logging.getLogger("workbench").info("The handset cannot ask the sandbox: %s", error)
            return {**before, "waiting": False, "trouble": str(error)}
        return view_of(self._state, before)

    def _all(self) -> PhoneState:
        """Everything anew. The clock says how long a prompt waits; without one it is not read."""
        handset = self._control.phone(self._phone.number)
        messages = self._control.messages(self._phone.number)
        return PhoneState(handset, messages, self._now() if handset.waiting else None)

    def _after(self, before: wire.Handset) -> PhoneState:
        """What is shown after a key or, where none was pressed since the response `before`, to somebody who looks.

        Beside it that is asked which may have changed with it: as long as the same prompt waits the time, and where
        one has ended the inbox. Another prompt behind that one waits by the clock that is known. Whatever else
        happens is news, and read by `refresh`.
        """
        state, response = self._state, self._phone.response
        if state is None:
            return self._all()
        handset = self._control.phone(self._phone.number) if response is before else response
        if handset.waiting and (state.now is None or handset.charge == state.handset.charge):
            return state._replace(handset=handset, now=self._now())
        return state._replace(handset=handset, messages=self._control.messages(self._phone.number))

    def _refused(self) -> PhoneState:
        """A key that was refused changes no more than the screen: a prompt may have been too old."""
        state = self._state
        if state is None:
            return self._all()
        handset = self._control.phone(self._phone.number)
        now = self._now() if handset.waiting and state.now is None else state.now
        return state._replace(handset=handset, now=now)

    def _now(self) -> Now:
        clock = self._control.clock()
        return Now(clock.mode, clock.now_ms, _kernel_ms())


def _kernel_ms() -> int:
    return time.time_ns() // 1_000_000
