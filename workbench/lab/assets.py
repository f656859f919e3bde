"""The scripts and style sheets of the widgets, which travel inside the package."""

from functools import cache
from pathlib import Path

_STATIC = Path(__file__).parent / "static"


@cache
def asset(name: str) -> str:
    """The text of a file of `static/`."""
    return (_STATIC / name).read_text("utf-8")
