"""Text of others as it may be shown: what steers a terminal or turns a line round is a symbol, and does nothing."""

import re
from typing import Final

# C0, DEL and C1 steer a terminal; marks of direction turn round what is read; the line and paragraph separators end a
# line where nobody expects it. The rest are invisible, so that one name could pass for another; joiners are not among
# them, which scripts and emoji need. Half of a surrogate pair cannot be printed at all.
_UNSEEN: Final = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f]"
)
_PICTURES: Final = {**{code: chr(0x2400 + code) for code in range(0x20)}, 0x7F: "\u2421"}
_STAY: Final = "\n\t"


def visible(text: str, *, lines: bool = False) -> str:
    r"""`text` with every control and every invisible mark as a symbol: `␛`, `U+202E` in small brackets.

    Text of several `lines` keeps its line breaks and tabs.

    >>> visible("a\x1b[2Jb")
    'a␛[2Jb'
    """
    if text.isprintable():
        return text
    if lines:
        return _UNSEEN.sub(lambda found: found[0] if found[0] in _STAY else _symbol(found), text.replace("\r\n", "\n"))
    return _UNSEEN.sub(_symbol, text)


def _symbol(found: re.Match[str]) -> str:
    code = ord(found[0])
    return _PICTURES.get(code) or f"\u2039U+{code:04X}\u203a"
