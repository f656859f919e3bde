"""A customer's phone: its screen and its keys, as text and HTML."""

from typing import Any

from msgspec.structs import asdict

from workbench.control import SandboxControl
from workbench.domain.masking import mask
from workbench.domain.moments import clock_text, utc_text
from workbench.domain.phones import EVERY_OPERATOR, mask_phone
from workbench.domain.wire.sandbox_controls import Handset
from workbench.merchant.calls import checked_text
from workbench.text import saved
from workbench.text.render import Table, Tabular, table
from workbench.text.saved import Saved
from workbench.visible import visible


class Phone:
    """A handset of the sandbox, by its number. Each method returns the handset.

    Displayed in a notebook, a handset leaves a receipt of its screen at that moment; the console has a phone to press.
    The text and HTML mask the number, and any key on the screen, because a notebook saves them; `number` and `screen`
    are not masked.
    The PIN of every sandbox wallet is 1234.
    """

    def __init__(self, control: SandboxControl, number: str) -> None:
        self._control = control
        self.number = number
        # A number without a wallet is refused here, not when it is first shown.
        self.response = self._look()
        """The sandbox's response to the last key press, with the screen of that moment."""

    @property
    def shown(self) -> dict[str, Any]:
        """State now: `screen`, `state`, `waiting`, `tries_left`, `expires_at` (Unix seconds), `queued`, `charge`."""
        return asdict(self._look())

    @property
    def screen(self) -> str:
        """The text on the screen now."""
        return self._look().screen

    @property
    def waiting(self) -> bool:
        """True if a prompt waits for an answer."""
        return self._look().waiting

    @property
    def messages(self) -> "Messages":
        """The operator's text messages to this number, oldest first."""
        return Messages(asdict(message) for message in self._control.messages(self.number))

    def enter_pin(self, pin: str) -> "Phone":
        """Type the PIN and send it.

        Raises InvalidRequest: not four digits, and no try is lost. Raises StateConflict: no prompt waits.
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
        return _record(self._look(), self._control.clock().now_ms).text

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        return _record(self._look(), self._control.clock().now_ms).bundle

    def _look(self) -> Handset:
        return self._control.phone(self.number)


class Messages(Tabular, list[dict[str, Any]]):
    """The messages on a handset, shown as a table: dicts with `at`, `sender`, `text` and the payment's fields."""

    def _table(self) -> Table:
        return table("Messages, oldest first", ("from", "text"), [(row["sender"], mask(row["text"])) for row in self])


def on_screen(text: str) -> list[str]:
    """The lines of a screen, safe to save: masked, controls as symbols. A screen may show a merchant's own text."""
    return [visible(line) for line in mask(text).split("\n")]


def _record(handset: Handset, at_ms: int) -> Saved:
    """A record of a handset's screen at `at_ms`, milliseconds since 1970 by the sandbox's clock."""
    number, operator = mask_phone(handset.phone), EVERY_OPERATOR[handset.operator].name
    state, hover = "no prompt waits", utc_text(at_ms)
    if handset.expires_at is not None:
        tries = "1 try" if handset.tries_left == 1 else f"{handset.tries_left} tries"
        more = f", {handset.queued} more behind it" if handset.queued else ""
        until_ms = handset.expires_at * 1000
        state = f"waits for a PIN until {clock_text(until_ms)}, {tries} left{more}"
        hover = f"{hover}, until {utc_text(until_ms)}"
    status = f"{clock_text(at_ms)} in Lusaka: {state}"
    name = f"{number} ({handset.operator})"
    return saved.receipt(name, operator, number, on_screen(handset.screen), status, hover=hover)
