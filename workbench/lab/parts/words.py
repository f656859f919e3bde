"""Words and moments that several parts show."""

import re
from datetime import datetime

from workbench.domain.moments import LUSAKA

_WIDEST = 96
_IDENTIFIER = re.compile("[a-z]{2,4}_[0-9A-Za-z]{20,}")


def lusaka(at: str) -> tuple[str, str]:
    """The day and the time of day in Lusaka of a moment as the trace has it."""
    there = datetime.fromisoformat(at).astimezone(LUSAKA)
    return there.strftime("%Y-%m-%d"), there.strftime("%H:%M:%S")


def short(text: str, width: int = _WIDEST) -> str:
    """Text for a cell; longer ones are cut."""
    return text if len(text) <= width else f"{text[: width - 1]}…"


def short_id(name: str) -> str:
    """An identifier by its first letters, `pi_3CwQs4…`; anything else as it is."""
    return f"{name[:9]}…" if _IDENTIFIER.fullmatch(name) else name
