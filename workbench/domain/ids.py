"""Identifiers, secrets and random draws, all keyed hashes of one seed; and the ids that operators and banks assign.

A draw is identified by its purpose (its natural key), not by its position in a stream, so an additional draw changes no
other.
"""

import re
from collections.abc import Mapping
from functools import lru_cache
from hashlib import blake2b
from typing import Final

from workbench.domain.moments import LUSAKA, moment
from workbench.domain.signatures import SCHEMES, STANDARD

KEY_PREFIXES: Final[Mapping[str, str]] = {"secret": "sk_test_", "publishable": "pk_test_"}
"""Kind of API key → the prefix of its value."""
ACTIVE: Final = "active"
ROLLED: Final = "rolled"
REVOKED: Final = "revoked"
_ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_PAIRS = [first + second for second in _ALPHABET for first in _ALPHABET]
"""All pairs of letters or digits.

`token` takes four letters from its long number at once, as two pairs: divisions of long numbers are slow.
"""
_PAIR, _FOUR = len(_PAIRS), len(_PAIRS) ** 2
_TOKEN_LENGTH = 24
_EIGHTS = range(_TOKEN_LENGTH // 8)
_IDENTIFIER = re.compile(rf"\b([a-z]{{2,4}}_[0-9A-Za-z]{{6}})[0-9A-Za-z]{{{_TOKEN_LENGTH - 6}}}\b")


@lru_cache
def _keyed(key: bytes, size: int) -> blake2b:
    """A hash object with its key set, meant to be copied: a copy takes a third of the time of a new one."""
    return blake2b(key=key, digest_size=size)


class Draws:
    """Draws of one sandbox, which look random and are determined by its seed, a text of any length.

    The parts of a natural key say what a draw is for: the same seed and key always draw the same value.
    """

    def __init__(self, seed: str) -> None:
        self._key = blake2b(seed.encode()).digest()

    def digest(self, *natural_key: str | int, size: int = 32) -> bytes:
        """`size` bytes, drawn for this natural key."""
        drawn = _keyed(self._key, size).copy()
        # Formats a separator before every part: quicker than joining their texts.
        drawn.update((("\x1f%s" * len(natural_key))[1:] % natural_key).encode())
        return drawn.digest()

    def token(self, *natural_key: str | int) -> str:
        """24 letters and digits (about 142 bits), drawn for this natural key."""
        number, drawn = int.from_bytes(self.digest(*natural_key), "big"), ""
        for _ in _EIGHTS:
            number, low = divmod(number, _FOUR)
            number, high = divmod(number, _FOUR)
            drawn += f"{_PAIRS[low % _PAIR]}{_PAIRS[low // _PAIR]}{_PAIRS[high % _PAIR]}{_PAIRS[high // _PAIR]}"
        return drawn

    def identifier(self, prefix: str, number: int) -> str:
        """The id of the `number`-th object of a kind: `pi_…`, `ch_…`, `evt_…`."""
        return f"{prefix}_{self.token('id', prefix, number)}"

    def api_key(self, kind: str, identifier: str) -> str:
        """The value of the API key with this id, such as `sk_test_…`; `kind` is `secret` or `publishable`."""
        return KEY_PREFIXES[kind] + self.token("key", identifier)

    def webhook_secret(self, *natural_key: str | int, scheme: str = STANDARD) -> str:
        """A signing secret of 32 bytes in the format of a scheme: for Standard Webhooks 1.0, `whsec_` and base64."""
        return SCHEMES[scheme].new_secret(self.digest("whsec", *natural_key))

    def below(self, bound: int, *natural_key: str | int) -> int:
        """An integer from 0 to `bound` - 1, drawn for this natural key."""
        return int.from_bytes(self.digest("below", *natural_key), "big") % bound


def with_short_ids(text: str) -> str:
    """The text with every identifier cut to its prefix and six characters, `pi_3CwQs4…`."""
    return _IDENTIFIER.sub(r"\1…", text)


FORMATS: Final[Mapping[str, str]] = {
    "mtn": "4{seq:09d}",
    "airtel": "MP{at:%y%m%d.%H%M}.{seq:08d}",
    "zamtel": "ZK{at:%y%m%d}-{seq:07d}",
    "zed": "ZM{at:%y%m%d}{seq:08d}",
    "sweep": "SWP{at:%Y%m%d}-{operator}",
    "recall": "RCL{at:%Y%m%d}-{seq:07d}",
    "top_up": "TOP{at:%Y%m%d}-{seq:07d}",
    "credit": "STL{at:%Y%m%d}",
    "return": "RTN{at:%Y%m%d}-{seq:07d}",
}
"""Operator, or kind of movement → the format of the id that the operator or the bank assigns.

The formats are invented; they differ as much as those of real operators. Days and minutes are in Lusaka time. An id
without a `seq` occurs once a night: one sweep for every operator, and one credit of the bank for all sweeps.
"""


def reference(kind: str, at_ms: int, *, seq: int = 0, operator: str = "") -> str:
    """The operator's or the bank's id for a movement at `at_ms`, in milliseconds since 1970.

    `kind` is a key of `FORMATS`; `seq` is the movement's unique number in a sandbox, and `operator` is needed for a
    `sweep` alone.

    >>> reference("airtel", 1_767_592_860_000, seq=42)
    'MP260105.0801.00000042'
    """
    return FORMATS[kind].format(at=moment(at_ms).astimezone(LUSAKA), seq=seq, operator=operator.upper())
