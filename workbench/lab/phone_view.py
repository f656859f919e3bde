"""What the handset's widget shows, as plain data made from the sandbox's: no number in full, never a PIN."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from workbench.domain import ussd, wire
from workbench.domain.masking import mask
from workbench.domain.phones import OPERATORS, mask_phone
from workbench.domain.wire import panel
from workbench.handset import on_screen
from workbench.visible import visible

RUNNING: Final = "running"
MOST_MESSAGES: Final = 50
_SAME_MS: Final = 1500
"""Two readings of one end that differ by less are one: between two clocks, each takes its time to be read."""

_BAD_ENDS: Final = (ussd.REFUSED, ussd.BLOCKED, ussd.EXPIRED, ussd.CANCELED, ussd.WITHDRAWN)
OUTCOMES: Final[Mapping[str, str]] = {ussd.APPROVED: "good", **dict.fromkeys(_BAD_ENDS, "bad")}
"""Screen → how the payment ended, where it has."""

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
    messages: Sequence[panel.Message]
    now: Now | None


def view_of(state: PhoneState, before: View) -> View:
    """What is to be seen, where `before` is what was seen last.

    Where a prompt waits, `left_ms` is how long on a clock that stands still, and `ends_ms` the moment on the kernel's
    clock at which the time is up on one that runs.
    """
    handset = state.handset
    return {
        **EMPTY,
        "name": mask_phone(handset.phone),
        "operator": OPERATORS[handset.operator].name,
        "words": "\n".join(on_screen(handset.screen)),
        "outcome": OUTCOMES.get(handset.state, ""),
        "messages": [
            {"seq": each.seq, "from": visible(each.sender), "text": visible(mask(each.text), lines=True)}
            for each in state.messages[-MOST_MESSAGES:]
        ],
        **(_waiting(handset, handset.expires_at, state.now, before) if handset.expires_at and state.now else {}),
    }


def _waiting(handset: wire.Handset, expires_at: int, now: Now, before: View) -> View:
    left_ms = expires_at * 1000 - now.sandbox_ms
    running = now.mode == RUNNING
    ends_ms = now.kernel_ms + left_ms
    is_same = before["prompt"] == handset.charge and abs(before["ends_ms"] - ends_ms) < _SAME_MS
    return {
        "waiting": True,
        "prompt": handset.charge,
        "tries_left": handset.tries_left,
        "queued": handset.queued,
        "clock": now.mode,
        "left_ms": 0 if running else max(0, left_ms),
        "ends_ms": (before["ends_ms"] if is_same else ends_ms) if running else 0,
    }
