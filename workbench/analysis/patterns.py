"""Runs the patterns that people write in layouts and rules, by RE2 alone, so that no pattern takes for ever."""

from collections.abc import Iterable
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

MOST: Final = 500
"""The most characters of a pattern."""


def refusal(pattern: str) -> str:
    """The reason why a pattern cannot be used, as the end of a sentence; empty if it can be used."""
    if len(pattern) > MOST:
        return f"has {len(pattern):,} characters; a pattern has at most {MOST}"
    try:
        pc.match_substring_regex(pa.array([""]), pattern)
    except pa.ArrowInvalid as error:
        # The first line of the engine's message: `Invalid regular expression: missing ): (`.
        why = str(error).splitlines()[0].partition(": ")[2]
        return f"is not a regular expression of RE2, which has neither backreferences nor lookaround: {why}"
    return ""


def found_in(texts: Iterable[str], pattern: str) -> list[str]:
    """The texts in which a pattern is found."""
    given = pa.array(texts, pa.string())
    return [*given.filter(pc.match_substring_regex(given, pattern)).to_pylist()]
