"""The scripts and style sheets of the widgets, which travel inside the package."""

from functools import cache
from pathlib import Path

_STATIC = Path(__file__).parent / "static"


@cache
def asset(*names: str) -> str:
    """The text of files of `static/`, one after the other: a widget's script is one module of several files."""
    return "\n".join((_STATIC / name).read_text("utf-8") for name in names)
