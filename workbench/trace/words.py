"""Texts of the trace made short enough for a column or a label."""

import re

WIDEST = 64
MASK_NOTE = "secrets masked"
_IDENTIFIER = re.compile(r"\b([a-z]{2,4}_[0-9A-Za-z]{6})[0-9A-Za-z]{18}\b")


def short(text: str, widest: int = WIDEST) -> str:
    """Text for a narrow place: identifiers by their first letters, the rest cut; a row has it whole."""
    text = _IDENTIFIER.sub(r"\1…", text)
    return text if len(text) <= widest else f"{text[: widest - 1]}…"


def clock_of(at: str) -> str:
    """The moment of a row, to the second."""
    return at[:19].replace("T", " ")
