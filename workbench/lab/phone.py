"""The customer's handset as a widget: it shows prompts, takes a PIN, and keeps the operator's messages."""

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from threading import RLock
from typing import Any, Final, NamedTuple

import anywidget
import traitlets

from workbench.domain import ussd, wire
from workbench.domain.masking import mask
from workbench.domain.phones import EVERY_OPERATOR, mask_phone
from workbench.domain.wire import control
from workbench.errors import WorkbenchError
from workbench.handset import Phone, on_screen
from workbench.lab.board_widget import BROKEN, asset
from workbench.session import Session
from workbench.visible import visible

RUNNING: Final = "running"
MOST_MESSAGES: Final = 50
CLOSED: Final = "This Workbench is closed. Run the notebook's cells again, from the one that makes it."
_UNKNOWN: Final = "This handset has changed: run its cell again."
_SAME_MS: Final = 1500
"""Two readings of one end that differ by less are one: between two clocks, each takes its time to be read."""

_BAD_ENDS: Final = (ussd.REFUSED, ussd.BLOCKED, ussd.EXPIRED, ussd.CANCELED, ussd.WITHDRAWN)
OUTCOMES: Final[Mapping[str, str]] = {ussd.APPROVED: "good", **dict.fromkeys(_BAD_ENDS, "bad")}
"""Screen → how the payment ended, where it has."""

SCRIPT: Final = ("dom.js", "phone.js")
STYLE: Final = ("theme.css", "phone.css")
"""The handset's files in `static/`."""

View = dict[str, Any]
EMPTY: Final[View] = {
    "name": "",
    "operator": "",
    "words": "",
    "outcome": "",
    "waiting": False,
    "prompt": "",
    "tries_left": 0,
    "queued": 0,
    "clock": "",
    "left_ms": 0,
    "ends_ms": 0,
    "messages": [],
    "trouble": "",
}


class Now(NamedTuple):
    """A moment by two clocks, milliseconds since 1970: the sandbox's, `manual` or `running`, and the kernel's."""

    mode: str
    sandbox_ms: int
    kernel_ms: int


class PhoneState(NamedTuple):
    """What was read of a handset: its screen, its inbox and, where a prompt waits, what time it is."""

    handset: wire.Handset
    messages: Sequence[control.Message]
    now: Now | None


def view_of(state: PhoneState, before: View) -> View:
    """What is to be seen, where `before` is what was seen last.

    Where a prompt waits, `left_ms` is how long on a clock that stands still, and `ends_ms` the moment on the kernel's
    clock at which the time is up on one that runs.
    """
    handset, messages, now = state
    view = {
        **EMPTY,
        "name": mask_phone(handset.phone),
        "operator": EVERY_OPERATOR[handset.operator].name,
        "words": "\n".join(on_screen(handset.screen)),
        "outcome": OUTCOMES.get(handset.state, ""),
        "messages": [
            {"seq": each.seq, "from": visible(each.sender), "text": visible(mask(each.text), lines=True)}
            for each in messages[-MOST_MESSAGES:]
        ],
    }
    if not handset.expires_at or not now:
        return view
    left_ms = handset.expires_at * 1000 - now.sandbox_ms
    running = now.mode == RUNNING
    ends_ms = now.kernel_ms + left_ms
    is_same = before["prompt"] == handset.charge and abs(before["ends_ms"] - ends_ms) < _SAME_MS
    return view | {
        "waiting": True,
        "prompt": handset.charge,
        "tries_left": handset.tries_left,
        "queued": handset.queued,
        "clock": now.mode,
        "left_ms": 0 if running else max(0, left_ms),
        "ends_ms": (before["ends_ms"] if is_same else ends_ms) if running else 0,
    }


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

    _esm = asset(*SCRIPT)
    _css = asset(*STYLE)
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
