"""What may be shown, stored and logged: secrets without their middle, numbers without their tail, long texts cut.

One table of patterns; every text that leaves the sandbox for a log, a trace, a stored attempt or a repr goes through
`mask`.
"""

import re
from collections.abc import Mapping

from workbench.domain.phones import GAPS

SECRET_FIELDS = ("client_secret", "password", "refresh_token")
"""Fields of requests whose value is secret."""
_GAP = GAPS + "{0,2}"
# fmt: off
RULES: tuple[tuple[tuple[str, ...], re.Pattern[str], str], ...] = (
    # What begins a word is looked back at: a pattern that begins with a letter is found sooner than one with a \b.
    # An intent's client secret first: it contains an id that stays readable.
    (("_secret_",), re.compile(r"(pi_[0-9A-Za-z]+_secret_)[0-9A-Za-z]+"), r"\1••••"),
    # A bare prefix, as in a sentence, is no key; a token has six characters at least, as `at_once` has not.
    (("k_test", "k_live", "k%5ftest", "k%5flive"),
     re.compile(r"([sp]k(?<!\w.k)(?:_|%5[Ff])(?:test|live)(?:_|%5[Ff])?)[0-9A-Za-z][0-9A-Za-z_]*"), r"\1••••"),
    (("at_",), re.compile(r"(at_(?<!\wat_))[0-9A-Za-z_]{6,}"), r"\1••••"),
    (("rt_",), re.compile(r"(rt_(?<!\wrt_))[0-9A-Za-z_]{6,}"), r"\1••••"),
    (("whsec",), re.compile(r"(whsec(?:_|%5[Ff]))[0-9A-Za-z+/=]+"), r"\1••••"),
    # A text may end, or be cut, within a value.
    (("password",),
     re.compile(r"""(["']password["']\s*:\s*)(?:"(?:[^"\\]|\\.)*(?:"|\\?\Z)|'[^']*(?:'|\Z)|[^\s,}\]"]+)"""),
     r'\1"••••"'),
    (("password=",), re.compile(r"\b(password=)[^&\s]+"), r"\1••••"),
    # A credential has a capital or a digit in it, a word of a sentence has not. An s has more cases than two.
    (("bas", "ba\u017f"), re.compile(r"((?i:\bbasic)\s+)(?=\S*[0-9A-Z])[0-9A-Za-z+/=]{8,}"), r"\1••••"),
    (("bearer",), re.compile(r"((?i:\bbearer)\s+)(?!\S*••••)(?=\S*[0-9A-Z])\S{8,}"), r"\1••••"),
)
# fmt: on
"""Words, a pattern, and what is shown instead. A text without any of the words, in lower case, has nothing to mask: to
look for them is quicker than the pattern, and the longer they are, the quicker."""
# A Zambian number in any spelling: +260…, %2B260…, 00260…, 260…, 0…, its digits in groups or not.
NUMBER = re.compile(
    rf"((?:\+|%(?:25)?2[Bb]|(?<![0-9A-Za-z.]))(?:(?:00)?260{_GAP}|0[ -]?)[5-79]\d)"
    rf"(?:{_GAP}\d){{4}}{_GAP}(\d{_GAP}\d{_GAP}\d)"
)
_ZERO = re.compile(rf"0(?={_GAP}[5-79]\d)")
_BEFORE, _AFTER = 9, 25
"""Each has this zero, with at most so many characters before and after it: `%252B0026` and four gaps of digits."""
_BEHIND, _REACH = 2_000, 64
"""So many characters behind a cut are masked too, and of what they become so many are beyond what is kept: no number,
token or prefix is as long as the latter."""
_ENDS_A_LOOK_AHEAD = re.compile(r"[0-9A-Z\s]")

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_ESCAPED = re.compile(r"\\u00(2[013-9a-fA-F]|[346][0-9a-fA-F]|5[0-9abd-fABD-F]|7[0-9a-eA-E])")
"""A printable ASCII character, but for the quote and the backslash, in JSON's long form."""


def mask(text: str) -> str:
    """`text` with every key, token, client secret, signing secret, password and number masked.

    JSON's long form of a plain character is shortened first, so that no spelling hides a secret.
    """
    if "\\u00" in text:
        text = _ESCAPED.sub(lambda found: chr(int(found[1], 16)), text)
    return mask_numbers(mask_secrets(text))


def mask_beginning(text: str, most: int) -> str:
    """The first `most` characters of the masked text, without masking all that is behind them.

    A secret that straddles the cut is masked as in the whole text. Where the part that is masked might show another
    beginning, as when a password ends far behind, all of it is.
    """
    if len(text) > most + _BEHIND:
        begun = mask(text[: most + _BEHIND])
        if len(begun) >= most + _REACH and _ENDS_A_LOOK_AHEAD.search(begun, most):
            return begun[:most]
    return mask(text)[:most]


def mask_values(headers: Mapping[str, str]) -> dict[str, str]:
    """The same names, each with its value masked."""
    return {name: mask_numbers(mask_secrets(value)) for name, value in headers.items()}


def mask_secrets(text: str) -> str:
    """`text` masked, but for numbers: a request to be repeated needs them."""
    lowered = text.lower()
    for words, pattern, shown in RULES:
        for word in words:
            if word in lowered:
                text = pattern.sub(shown, text)
                break
    return text


def mask_numbers(text: str) -> str:
    """`text` with every Zambian number masked, which are looked for around their zeros."""
    shown, end = list[str](), 0
    for zero in _ZERO.finditer(text):
        if found := NUMBER.search(text, max(end, zero.start() - _BEFORE), zero.end() + _AFTER):
            shown += (text[end : found.start()], found[1], "••••", found[2])
            end = found.end()
    return "".join((*shown, text[end:]))


def shortened(text: str, most: int, *, counts_mark: bool = True) -> str:
    """`text` if it has at most `most` characters, else its beginning and a `…`, which counts as one of them or not."""
    return text if len(text) <= most else f"{text[: most - counts_mark]}…"


def xml_text(text: str) -> str:
    """Text in which what XML has no place for, however it is written, is a replacement character."""
    return _NOT_XML.sub("\ufffd", text)


class Secret(str):
    """A string whose repr is masked, so that a notebook does not save it by accident; `print` shows the whole.

    Where it has no form that is known, nothing of it is shown.
    """

    __slots__ = ()

    def __repr__(self) -> str:
        whole = str(self)
        masked = mask(whole)
        return repr("••••" if whole and masked == whole else masked)
