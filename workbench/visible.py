"""Makes text from outside safe to display: control and direction characters become symbols, formulas become text."""

import re
import shlex
from pathlib import PurePath
from typing import Final

# C0, DEL and C1 steer a terminal; marks of direction turn round what is read; the line and paragraph separators end a
# line where nobody expects it. The rest are invisible, so that one name could pass for another; joiners are not among
# them, which scripts and emoji need. Half of a surrogate pair cannot be printed at all.
_UNSEEN: Final = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f]"
)
_PICTURES: Final = {**{code: chr(0x2400 + code) for code in range(0x20)}, 0x7F: "\u2421"}
_STAY: Final = "\n\t"
FORMULA_SIGNS: Final = r"=+\-@|%\uff1d\uff0b\uff0d\uff20"
"""Characters that begin a formula; spreadsheets treat full-width forms like the normal ones."""
BLANKS: Final = r"\s\ufeff\u200b-\u200f\u2060"
FORMULA: Final = rf"(?![+-][0-9][0-9•., ]*(?![\s\S]))(?:[\t\r\n]|[{BLANKS}]*[{FORMULA_SIGNS}])"
"""Matches the beginning of a text that a spreadsheet would run. Amounts and masked numbers are no formulas."""
_FORMULA: Final = re.compile(FORMULA)
_ARMED: Final = re.compile(rf"'(?=[\t\r\n]|[{BLANKS}]*[{FORMULA_SIGNS}])")


def visible(text: str, *, lines: bool = False) -> str:
    r"""`text` with every control and invisible character as a symbol: `␛`, or `U+202E` in small brackets.

    With `lines`, line breaks and tabs stay.

    >>> visible("a\x1b[2Jb")
    'a␛[2Jb'
    """
    if text.isprintable():
        return text
    if lines:
        return _UNSEEN.sub(lambda match: match[0] if match[0] in _STAY else _symbol(match), text.replace("\r\n", "\n"))
    return _UNSEEN.sub(_symbol, text)


def escaped(code: str) -> str:
    """JavaScript with every control and invisible character escaped; line breaks stay."""
    return _UNSEEN.sub(lambda match: "\n" if match[0] == "\n" else f"\\u{{{ord(match[0]):x}}}", code)


def begins_as_formula(text: str) -> bool:
    """True if a spreadsheet would take the text, typed or read from a CSV file, for a formula."""
    return _FORMULA.match(text) is not None


def armed(text: str) -> str:
    """`text` with an apostrophe in front if a spreadsheet would run it as a formula."""
    return f"'{text}" if begins_as_formula(text) else text


def disarmed(text: str) -> str:
    """`text` without the apostrophe that `armed` added."""
    return _ARMED.sub("", text, count=1) if text.startswith("'") else text


def pasted(path: object) -> str:
    """A path or another word of a command, quoted for the shell; `./` is put before a path that begins with `-`."""
    text = str(path)
    return shlex.quote(f"./{text}" if isinstance(path, PurePath) and text.startswith("-") else text)


def _symbol(match: re.Match[str]) -> str:
    code = ord(match[0])
    return _PICTURES.get(code) or f"\u2039U+{code:04X}\u203a"
