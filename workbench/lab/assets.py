"""What the widgets share: their scripts and style sheets, which travel inside the package, and a message."""

from functools import cache
from pathlib import Path

BROKEN = "Something in the workbench failed; the kernel's log says what."
_STATIC = Path(__file__).parent / "static"


@cache
def asset(*names: str) -> str:
    """The text of files of `static/`, one after the other: a widget's script is one module of several files."""
    return "\n".join((_STATIC / name).read_text("utf-8") for name in names)
