"""Messages to test a receiver with: signed as the service signs them, or wrong on purpose."""

import hashlib
import json
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from workbench.domain.signatures import SCHEMES, TIMESTAMP_HEADER, headers_for
from workbench.errors import InvalidRequest

_BEYOND_S = 60
"""A message that is old or early on purpose is this far outside the tolerance."""


class SignedMessage(NamedTuple):
    """A message for a receiver: the bytes of the body, and the headers."""

    body: bytes
    headers: dict[str, str]


class Signer(NamedTuple):
    """Signs messages with a secret, at a moment in seconds since 1970, by rows of the register in force."""

    secret: str
    message_id: str
    now_s: int
    scheme: str
    tolerance_s: int
    media_type: str

    def headers(self, body: bytes, *, secret: str = "", later_s: int = 0, first: str = "") -> dict[str, str]:
        """The headers that sign `body` as of `later_s` seconds from now.

        `secret` signs in place of the signer's own secret; `first` is a further secret, which signs before it.
        """
        secret = secret or self.secret
        secrets = (first, secret) if first else (secret,)
        at_s = self.now_s + later_s
        return headers_for(secrets[0], self.message_id, at_s, body, also=secrets[1:], scheme=self.scheme)

    @property
    def away_s(self) -> int:
        """Seconds by which a wrong message is old or early: the tolerance and a margin."""
        return self.tolerance_s + _BEYOND_S


def other_secret(secret: str, scheme: str) -> str:
    """Another valid secret of the same scheme."""
    return SCHEMES[scheme].new_secret(hashlib.sha256(secret.encode()).digest())


def _tampered(by: Signer, body: bytes) -> SignedMessage:
    """Signs the body, then changes it; it stays JSON, so that only a receiver that verifies notices."""
    has_members = body.rstrip().endswith(b"}") and body.strip(b" \t\r\n{}") != b""
    return SignedMessage(body.rstrip()[:-1] + b',"tampered":true}' if has_members else body + b" ", by.headers(body))


def _reserialised(by: Signer, body: bytes) -> SignedMessage:
    """Signs the body, then writes its JSON with other blanks, as a proxy or a framework may."""
    try:
        other = json.dumps(json.loads(body), indent=1, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        other = body
    return SignedMessage(other if other != body else body + b"\n", by.headers(body))


def _malformed(by: Signer, body: bytes) -> SignedMessage:
    """Replaces the signature by nonsense, as a probe sends it."""
    headers = by.headers(body)
    return SignedMessage(body, {**headers, [*headers][-1]: "nonsense"})


def _malformed_timestamp(by: Signer, body: bytes) -> SignedMessage:
    headers = by.headers(body)
    name = TIMESTAMP_HEADER if TIMESTAMP_HEADER in headers else [*headers][-1]
    return SignedMessage(body, {**headers, name: headers[name].replace(str(by.now_s), "yesterday")})


def _other_scheme(by: Signer, body: bytes) -> SignedMessage:
    """Signs with the right secret by another service's scheme."""
    other = next(scheme for scheme in SCHEMES if scheme != by.scheme)
    return SignedMessage(body, by._replace(scheme=other).headers(body))


HOW: Final[Mapping[str, Callable[[Signer, bytes], SignedMessage]]] = {
    "right": lambda by, body: SignedMessage(body, by.headers(body)),
    # Another's signature before the right one, as while a secret is being rolled.
    "several": lambda by, body: SignedMessage(body, by.headers(body, first=other_secret(by.secret, by.scheme))),
    "wrong_secret": lambda by, body: SignedMessage(body, by.headers(body, secret=other_secret(by.secret, by.scheme))),
    "stale": lambda by, body: SignedMessage(body, by.headers(body, later_s=-by.away_s)),
    "future": lambda by, body: SignedMessage(body, by.headers(body, later_s=by.away_s)),
    "other_scheme": _other_scheme,
    "tampered": _tampered,
    "reserialised": _reserialised,
    "unsigned": lambda _, body: SignedMessage(body, {}),
    "malformed": _malformed,
    "malformed_timestamp": _malformed_timestamp,
}
"""Name → the function that makes the message. A receiver must take the first two messages and refuse all others."""
NOT_IN: Final[Mapping[str, Mapping[str, str]]] = {
    "github": {
        "several": "has room for one signature",
        **dict.fromkeys(("stale", "future", "malformed_timestamp"), "has no timestamp"),
    },
}
"""Scheme → name of `HOW` that the scheme cannot express → why."""


def signed(by: Signer, body: bytes, how: str = "right") -> SignedMessage:
    """A message made by the row `how` of `HOW`. Raises InvalidRequest: no such row, or the scheme cannot express it."""
    if how not in HOW:
        message = f"how is one of {', '.join(HOW)}, not {how!r}."
        raise InvalidRequest(message, code="parameter_invalid", param="how")
    if why := NOT_IN.get(by.scheme, {}).get(how):
        message = f"There is no message {how!r} where signature_scheme is {by.scheme!r}: it {why}."
        raise InvalidRequest(message, code="parameter_invalid", param="how")
    made = HOW[how](by, body)
    return made._replace(headers={"Content-Type": by.media_type, **made.headers})
