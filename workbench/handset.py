"""A customer's phone: what it shows and what is pressed on it, as text and HTML."""

import textwrap
from collections.abc import Callable
from functools import cached_property
from html import escape
from typing import Any

from msgspec.structs import asdict

from workbench.calls import checked_text
from workbench.control import SandboxControl
from workbench.domain import wire
from workbench.domain.masking import mask
from workbench.domain.moments import clock_text, utc_text
from workbench.domain.phones import EVERY_OPERATOR, mask_phone
from workbench.render import Table, Tabular, Widget, bundle, table, with_widget
from workbench.visible import visible

_WIDTH = 32
_CASE = (
    "box-sizing:border-box;width:16em;max-width:100%;padding:.8em .8em 1em;border:3px solid #5c6675;"
    "border-radius:1.6em 1.6em 2.4em 2.4em;background:#2c313a;line-height:1.4;"
    "break-inside:avoid;print-color-adjust:exact"
)
_EAR = "width:3.2em;height:.35em;margin:0 auto .7em;border-radius:1em;background:#5c6675"
_LCD = "min-height:11em;padding:0 .6em .6em;border-radius:.5em;background:#e4eedd;color:#15230e"
"""The screen has its own colours, so that it is read on any ground; those of the case are for the eye alone."""
_BAR = (
    "display:flex;justify-content:space-between;gap:.6em;margin:0 -.6em;padding:.3em .6em;"
    "border-bottom:1px solid #6f8165;font-size:.8em"
)
_WORDS = "margin:.6em 0;font-family:monospace;font-size:.95em;overflow-wrap:anywhere"
_CALLS = (
    "height:1.5em;margin:.8em .2em .5em;border-radius:1em;"
    "background:linear-gradient(90deg,#12702f 32%,#2c313a 0 68%,#b3261e 0)"
)
_KEYS = "height:6.4em;background:radial-gradient(closest-side,#566072 78%,#2c313a 82%) 0 0/33.33% 25%"
_STILL = "To use the phone, open this notebook with <code>workbench lab</code>."


class Phone:
    """A handset of the sandbox, by its number. Each method returns the handset, which shows its screen.

    Its text and HTML mask the number, and a key that stands on the screen, as a notebook saves them; `number` and
    `screen` are whole.
    The PIN of every sandbox wallet is 1234.
    """

    def __init__(self, control: SandboxControl, number: str, *, widget: "Callable[[Phone], Widget]") -> None:
        self._control = control
        self.number = number
        self._make_widget = widget
        # A number without a wallet is refused here, not when it is first shown.
        self.response = self._look()
        """The sandbox's response to the key that was pressed last: what was to be seen then."""

    @property
    def shown(self) -> dict[str, Any]:
        """What is seen: `screen`, `state`, `waiting`, `tries_left`, `expires_at` (Unix seconds), `queued`, `charge`."""
        return asdict(self._look())

    @property
    def screen(self) -> str:
        """The text on the screen now."""
        return self._look().screen

    @property
    def waiting(self) -> bool:
        """Whether a prompt waits for an answer."""
        return self._look().waiting

    @property
    def messages(self) -> "Messages":
        """What the operator has texted to this number, oldest first."""
        return Messages(asdict(each) for each in self._control.messages(self.number))

    def enter_pin(self, pin: str) -> "Phone":
        """Type the PIN and send it.

        Raises InvalidRequest: not four digits, which costs no try. Raises StateConflict: no prompt waits.
        """
        self.response = self._control.enter(self.number, checked_text("pin", pin, such_as="1234"))
        return self

    def cancel(self) -> "Phone":
        """Refuse the payment. Raises StateConflict: no prompt waits."""
        self.response = self._control.press(self.number, "cancel")
        return self

    def ignore(self) -> "Phone":
        """Put the phone away; the prompt closes when its time is up. Raises StateConflict: no prompt waits."""
        self.response = self._control.press(self.number, "ignore")
        return self

    def __repr__(self) -> str:
        return _text(self._look())

    def _repr_mimebundle_(self, **_: object) -> dict[str, object]:
        shown = self._look()
        return with_widget(bundle(_text(shown), _html(shown)), lambda: self.widget)

    @cached_property
    def widget(self) -> Widget:
        """The handset to touch, for JupyterLab: one, however often it is shown, which it is where somebody looks."""
        return self._make_widget(self)

    def _look(self) -> wire.Handset:
        return self._control.phone(self.number)


class Messages(Tabular, list[dict[str, Any]]):
    """The messages on a handset, shown as a table; each is a dict with `at`, `sender`, `text` and what it is about."""

    def _table(self) -> Table:
        return table("Messages, oldest first", ("from", "text"), [(row["sender"], mask(row["text"])) for row in self])


def _status(shown: wire.Handset) -> str:
    if shown.expires_at is None:
        return "no prompt waits"
    tries = "1 try" if shown.tries_left == 1 else f"{shown.tries_left} tries"
    more = f", {shown.queued} more behind it" if shown.queued else ""
    return f"waits for a PIN until {clock_text(shown.expires_at * 1000)} in Lusaka, {tries} left{more}"


def on_screen(text: str) -> list[str]:
    """The lines of a screen as they may be saved: a merchant's own text is on it."""
    return [visible(line) for line in mask(text).split("\n")]


def _text(shown: wire.Handset) -> str:
    text = [part for line in on_screen(shown.screen) for part in textwrap.wrap(line, _WIDTH) or [""]]
    lines = [f"│ {line:<{_WIDTH}} │" for line in text]
    edge = "─" * (_WIDTH + 2)
    name = f"{mask_phone(shown.phone)} ({shown.operator})"
    return "\n".join([name, f"╭{edge}╮", *lines, f"╰{edge}╯", _status(shown)])


def _html(shown: wire.Handset) -> str:
    """A drawn handset that needs no style sheet of the page and reads well where styles are stripped."""
    text = "<br>".join(map(escape, on_screen(shown.screen)))
    number, operator = mask_phone(shown.phone), EVERY_OPERATOR[shown.operator].name
    until = "" if shown.expires_at is None else f' title="{utc_text(shown.expires_at * 1000)}"'
    # One that shows a prompt, and has no keys, is explained.
    still = f"<p><small>{_STILL}</small></p>" if shown.waiting else ""
    return (
        f'<div role="group" aria-label="{escape(f"Phone {number}, {operator}")}" style="{_CASE}">'
        f'<div style="{_EAR}"></div><div style="{_LCD}">'
        f'<div style="{_BAR}"><strong>{escape(operator)}</strong> <span>{escape(number)}</span></div>'
        f'<p style="{_WORDS}">{text}</p><div><small{until}>{escape(_status(shown))}</small></div></div>'
        f'<div style="{_CALLS}"></div><div style="{_KEYS}"></div></div>{still}'
    )
