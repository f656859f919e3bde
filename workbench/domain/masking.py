"""What may be shown, stored and logged: secrets without their middle, numbers without their tail.

One table of patterns; every text that leaves the sandbox for a log, a trace, a stored attempt or a
repr goes through `mask`.
"""

import re

_RULES: tuple[tuple[re.Pattern[str], str], ...] = (
    # An intent's client secret first: it contains an id that stays readable.
    (re.compile(r"(pi_[0-9A-Za-z]+_secret_)[0-9A-Za-z]+"), r"\1••••"),
    (re.compile(r"\b([sp]k_(?:test|live)_?|at_|rt_)[0-9A-Za-z_]+"), r"\1••••"),
    (re.compile(r"(whsec_)[0-9A-Za-z+/=]+"), r"\1••••"),
    (re.compile(r"(\+260\d\d)\d{4}(\d{3})\b"), r"\1••••\2"),
    (re.compile(r"(%2[Bb]260\d\d)\d{4}(\d{3})\b"), r"\1••••\2"),
    (re.compile(r'("password"\s*:\s*")(?:[^"\\]|\\.)*'), r"\1••••"),
    (re.compile(r"(Basic )[0-9A-Za-z+/=]+"), r"\1••••"),
    (re.compile(r"(Bearer )(?![sp]k_|at_)\S+"), r"\1••••"),
)


def mask(text: str) -> str:
    """`text` with every key, token, client secret, signing secret, password and number masked."""
    for pattern, shown in _RULES:
        text = pattern.sub(shown, text)
    return text


class Secret(str):
    """A string whose repr is masked, so that a notebook does not save it by accident.

    It is still the whole string: `str(key)`, f-strings and `print` show it.
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return repr(mask(str(self)))
