"""Masks texts before they are displayed, stored or logged: hides secrets, and the middle digits of customers' numbers.

Every text that leaves the sandbox for a log, the trace, a stored attempt or a repr goes through `mask`, and so does a
report's text about a statement. `phones.mask_column` masks a column that holds only numbers.
"""

import re
from collections.abc import Callable, Iterable

from workbench.domain.phones import GAPS, MARK, mask_column

SECRET_FIELDS = ("client_secret", "password", "refresh_token")
"""Fields of requests with a secret value."""
_GAP = GAPS + "{0,2}"
# fmt: off


def _mask_rest(match: re.Match[str]) -> str:
    return f"{match[1]}{MARK}"


_KEY = re.compile(r"([sp]k(?<!\w.k)(?:_|%5[Ff])(?:test|live)(?:_|%5[Ff])?)[0-9A-Za-z][0-9A-Za-z_]*")
"""A secret or publishable key; group 1 is its prefix. A prefix alone, as in a sentence, does not match."""
_BASIC = re.compile(r"((?i:\bbasic)\s+)(?=\S*[0-9A-Z])[0-9A-Za-z+/=]{8,}")
"""The word Basic, as group 1, and a credential, which unlike a word of a sentence has a capital or a digit."""
RULES: tuple[tuple[str, re.Pattern[str], Callable[[re.Match[str]], str]], ...] = (
    # A pattern looks back for the beginning of a word: a pattern that begins with a letter is quicker than with a \b.
    # An intent's client secret first: it contains an id that stays readable.
    ("_secret_", re.compile(r"(pi_[0-9A-Za-z]+_secret_)[0-9A-Za-z]+"), _mask_rest),
    ("k_test", _KEY, _mask_rest), ("k_live", _KEY, _mask_rest), ("k%5f", _KEY, _mask_rest),
    # A token has at least six characters after its prefix; `at_once` has four.
    ("at_", re.compile(r"(at_(?<!\wat_))[0-9A-Za-z_]{6,}"), _mask_rest),
    ("rt_", re.compile(r"(rt_(?<!\wrt_))[0-9A-Za-z_]{6,}"), _mask_rest),
    ("whsec", re.compile(r"(whsec(?:_|%5[Ff]))[0-9A-Za-z+/=]+"), _mask_rest),
    # A text may end, or be cut, within a value.
    ("password",
     re.compile(r"""(["']password["']\s*:\s*)(?:"(?:[^"\\]|\\.)*(?:"|\\?\Z)|'[^']*(?:'|\Z)|[^\s,}\]"]+)"""),
      lambda match: f'{match[1]}"{MARK}"'),
     # The code of a console's link.
     ("code=", re.compile(r"""([?&]code=)[^&\s"']+"""), _mask_rest),
     ("password=", re.compile(r"\b(password=)[^&\s]+"), _mask_rest),
    # The long s is a third case of s.
    ("bas", _BASIC, _mask_rest), ("ba\u017f", _BASIC, _mask_rest),
    ("bearer", re.compile(r"((?i:\bbearer)\s+)(?!\S*••••)(?=\S*[0-9A-Z])\S{8,}"), _mask_rest),
)
# fmt: on
"""(word, pattern, replacement): the pattern searches only texts that contain the word, in upper or lower case.

Searching for a word is faster than for a pattern, and the longer the word, the faster.
"""
# A Zambian number in any spelling: +260…, %2B260…, 00260…, 260…, 0…, its digits in groups or not.
NUMBER = re.compile(
    rf"((?:\+|%(?:25)?2[Bb]|(?<![0-9A-Za-z.•]))(?:(?:00)?260{_GAP}|0[ -]?)[5-79]\d)"
    rf"(?:{_GAP}\d){{4}}{_GAP}(\d{_GAP}\d{_GAP}\d)"
)
_BY_THREES = r"[0-9]{1,3}(?:(?:[ ,'\u00a0\u2009\u202f][0-9]{3}){1,4}[.,]|(?:\.[0-9]{3}){1,4},)"
_AMOUNT = rf"(?:[0-9]{{4,13}}[.,][0-9]|{_BY_THREES}[0-9])[0-9]?(?![0-9]|[./-][0-9])"
"""An amount with its decimals: `1500.00`, `1 500 000,00`."""
_AFRICAN = rf"(?:27|2[1-9]\d)(?:{_GAP}\d){{9}}(?!\d)"
_DIALLED = rf"(?!{_AMOUNT})(?:{_AFRICAN}|[17](?:{_GAP}\d){{10}}(?!\d)|[2-689](?:{_GAP}\d){{7,14}}(?!\d))"
ABROAD: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("+", re.compile(rf"\+{_DIALLED}")),
    ("%2", re.compile(rf"%(?:25)?2[Bb]{_DIALLED}")),
    ("FRI:", re.compile(rf"FRI:{_DIALLED}")),
    ("002", re.compile(rf"00(?<![0-9A-Za-z.•]00){_AFRICAN}")),
    ("254", re.compile(r"254(?<![0-9A-Za-z.•]254)[17]\d{8}(?!\d)")),
)
"""(word, pattern) for foreign and fixed-line numbers; only texts that contain the word are searched by the pattern.

A number differs from an identifier by the characters before it, or by the format of Kenyan numbers. Digits with
decimals are an amount and stay. A whole amount of eight digits with a plus looks like a number and is masked.
"""
_ENDS = re.compile(rf"(\D*(?:(?:25)?2[Bb])?(?:00)?[1-9]\d{{0,2}}).*(\d{_GAP}\d{_GAP}\d)", re.DOTALL)
"""The beginning and the end of a number in `ABROAD`, which stay visible."""
_BY_FOURS = r"(?:[A-Z]{2}[0-9]{2}(?: [0-9A-Z]{4})+|[0-9]{4}(?:[ -][0-9]{4})+)[ -][0-9]{1,4}"
ACCOUNTS = tuple(
    re.compile(f"(?<![0-9A-Za-z]){pattern}(?![0-9A-Za-z])")
    for pattern in (_BY_FOURS, r"(?:[A-Z]{2}[0-9]{2}[A-Z]{0,4}|\+)?[0-9]{9,}")
)
"""Patterns of account and card numbers and IBANs, in groups of four or without gaps; other long numbers match too."""
_ZERO = re.compile(rf"0(?={_GAP}[5-79]\d)")
_BEFORE, _AFTER = 9, 25
"""The most characters of a Zambian number before and after the zero that `_ZERO` finds.

Before it may be `%252B0026`; after it nine digits, and eight gaps of two characters.
"""
_BEHIND, _REACH = 2_000, 64
"""`mask_beginning` masks up to `_BEHIND` characters beyond its cut, of which at least `_REACH` must remain.

No number, token or prefix has more than `_REACH` characters.
"""
_ENDS_A_LOOK_AHEAD = re.compile(r"[0-9A-Z\s]")

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_ESCAPED = re.compile(r"\\u00(2[013-9a-fA-F]|[346][0-9a-fA-F]|5[0-9abd-fABD-F]|7[0-9a-eA-E])")
"""A printable ASCII character, except quote and backslash, written as a JSON escape."""


def mask(text: str) -> str:
    """`text` with every key, token, client secret, signing secret, password and number masked.

    JSON escapes of plain characters are decoded first, so that they cannot hide a secret.
    """
    if "\\u00" in text:
        text = _ESCAPED.sub(lambda match: chr(int(match[1], 16)), text)
    return mask_numbers(mask_secrets(text))


def mask_beginning(text: str, most: int) -> str:
    """The first `most` characters of the masked text, usually without masking the text far beyond them.

    A secret across the cut is masked as in the whole text. If masking only a part could give another result, for
    instance when a password ends far beyond the cut, the whole text is masked.
    """
    if len(text) > most + _BEHIND:
        begun = mask(text[: most + _BEHIND])
        if len(begun) >= most + _REACH and _ENDS_A_LOOK_AHEAD.search(begun, most):
            return begun[:most]
    return mask(text)[:most]


def mask_beginnings(texts: Iterable[str], most: int) -> list[str]:
    """The first `most` characters of each text, masked as `mask_beginning` does."""
    return [mask_beginning(text, most) for text in texts]


def mask_secrets(text: str) -> str:
    """`text` with its secrets masked, but not its phone numbers, which are needed to send a request again."""
    lowered = text.lower()
    for word, pattern, shown in RULES:
        if word in lowered:
            text = pattern.sub(shown, text)
    return text


def mask_numbers(text: str) -> str:
    """`text` with every customer's phone number masked, Zambian or foreign."""
    shown: list[str] = []
    end = 0
    for zero in _ZERO.finditer(text):
        if match := NUMBER.search(text, max(end, zero.start() - _BEFORE), zero.end() + _AFTER):
            shown += (text[end : match.start()], match[1], MARK, match[2])
            end = match.end()
    if shown:
        text = "".join((*shown, text[end:]))
    for word, pattern in ABROAD:
        if word in text:
            text = pattern.sub(lambda match: _ENDS.sub(rf"\1{MARK}\2", match[0]), text)
    return text


def mask_accounts(text: str) -> str:
    """Masks as `mask` does, and also account, card and other long numbers, for layouts that people share."""
    by_fours, whole = ACCOUNTS
    text = mask(by_fours.sub(lambda match: mask_column(match[0]), text))
    return whole.sub(lambda match: mask_column(match[0]), text)


def shortened(text: str, most: int, *, counts_mark: bool = True) -> str:
    """`text`, or, if longer than `most` characters, its beginning and a `…`.

    With `counts_mark`, the `…` is one of the `most` characters; without it, the `…` comes after them.
    """
    return text if len(text) <= most else f"{text[: most - counts_mark]}…"


def xml_text(text: str) -> str:
    """The text with every character that XML cannot contain replaced by the replacement character."""
    return _NOT_XML.sub("\ufffd", text)


class Secret(str):
    """A string with a masked repr, so that a notebook does not save it by accident; `print` shows it completely.

    The repr of a secret without a known form shows none of its characters.
    """

    __slots__ = ()

    def __repr__(self) -> str:
        whole = str(self)
        masked = mask(whole)
        return repr(MARK if whole and masked == whole else masked)
