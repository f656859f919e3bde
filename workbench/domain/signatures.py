"""Signatures of webhooks by Standard Webhooks 1.0: sign, verify, and say which mistake it was.

Source: the Standard Webhooks specification 1.0. The signed content is `id.timestamp.body`, the key
is the base64 after `whsec_`, the signature is `v1,` and the base64 of HMAC-SHA256. Nothing but the
standard library is used here, so that a merchant's backend can take this file as it is.
"""

import base64
import hashlib
import hmac
import json
import re
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Final

from workbench.errors import SignatureRefused

ID_HEADER: Final = "webhook-id"
TIMESTAMP_HEADER: Final = "webhook-timestamp"
SIGNATURE_HEADER: Final = "webhook-signature"
SECRET_PREFIX: Final = "whsec_"  # noqa: S105  the prefix, not a secret
_KEY_BYTES = range(24, 65)
_SECONDS = re.compile(r"[0-9]{1,12}")
_AMOUNT = re.compile(r'("amount": ?)([0-9]+(?:\.[0-9]+)?)')


def sign(secret: str, message_id: str, timestamp_s: int, body: bytes) -> str:
    """The value of `webhook-signature` for these bytes: `v1,` and base64.

    Raises SignatureRefused: the secret is not `whsec_` and base64.
    """
    return "v1," + base64.b64encode(_digest(_key(secret), message_id, timestamp_s, body)).decode()


def headers_for(
    secret: str, message_id: str, timestamp_s: int, body: bytes, *, also: Iterable[str] = ()
) -> dict[str, str]:
    """The three headers that go with a body; `also` are further secrets to sign with, while one is being rolled."""
    return {
        ID_HEADER: message_id,
        TIMESTAMP_HEADER: str(timestamp_s),
        SIGNATURE_HEADER: " ".join(sign(each, message_id, timestamp_s, body) for each in (secret, *also)),
    }


def verify(
    body: bytes, headers: Mapping[str, str], secrets: Iterable[str], *, now_s: int, tolerance_s: int = 300
) -> str:
    """The id of a message that is genuine and fresh; dedupe on it next.

    `body` is what arrived, to the byte; `now_s` is seconds since 1970; any of `secrets` may match,
    as may any of several signatures.
    Raises SignatureRefused with `reason` one of header_missing, timestamp_malformed, timestamp_stale,
    timestamp_in_future, secret_malformed, signature_malformed, signature_is_hex, key_not_decoded,
    body_reserialised, signature_mismatch.
    """
    message_id, timestamp, signatures = _headers(headers)
    if not _SECONDS.fullmatch(timestamp):
        raise SignatureRefused("timestamp_malformed", f"{TIMESTAMP_HEADER} is not whole seconds since 1970.")
    sent_s = int(timestamp)
    given = [value for version, _, value in (each.partition(",") for each in signatures.split()) if version == "v1"]
    if not given:
        raise SignatureRefused("signature_malformed", f"{SIGNATURE_HEADER} holds no v1 signature.")
    secrets = list(secrets)
    keys = [_key(secret) for secret in secrets]
    if not _any_match(keys, given, message_id, sent_s, body):
        mistake = _mistake(secrets, given, message_id, sent_s, body)
        raise SignatureRefused(mistake, _MISTAKES[mistake][0], hint=_MISTAKES[mistake][1])
    age_s, allowed = now_s - sent_s, f"{tolerance_s} s are allowed."
    if age_s > tolerance_s:
        hint = "It is an old message sent again, or this machine's clock is fast."
        raise SignatureRefused("timestamp_stale", f"The message was signed {age_s} s ago; {allowed}", hint=hint)
    if -age_s > tolerance_s:
        says = f"The message was signed {-age_s} s in the future; {allowed}"
        raise SignatureRefused("timestamp_in_future", says, hint="This machine's clock is slow.")
    return message_id


def _headers(headers: Mapping[str, str]) -> tuple[str, str, str]:
    found = {name.lower(): value for name, value in headers.items()}
    missing = [name for name in (ID_HEADER, TIMESTAMP_HEADER, SIGNATURE_HEADER) if not found.get(name)]
    if missing:
        raise SignatureRefused("header_missing", f"The header {missing[0]} is missing.")
    return found[ID_HEADER], found[TIMESTAMP_HEADER], found[SIGNATURE_HEADER]


def _any_match(keys: list[bytes], given: list[str], message_id: str, sent_s: int, body: bytes) -> bool:
    expected = [base64.b64encode(_digest(key, message_id, sent_s, body)) for key in keys]
    # Every pair is compared, in constant time each, so that the time tells nothing.
    return sum(hmac.compare_digest(one, _bytes(two)) for one in expected for two in given) > 0


_MISTAKES: Final[Mapping[str, tuple[str, str]]] = {
    "signature_is_hex": ("The signature is in hexadecimal.", "Standard Webhooks signatures are base64."),
    "key_not_decoded": ("The signature was made with the secret's text.",
                        "The key is what the base64 after whsec_ decodes to."),
    "body_reserialised": ("The signature fits the same JSON written another way.",
                          "Verify the bytes that arrived, before any framework parses them."),
    "signature_mismatch": ("No signature fits these bytes with this secret.",
                           "The body was changed on the way, or the secret is another endpoint's."),
}  # fmt: skip
"""What a mismatch comes from, in words, and what to do."""


def _mistake(secrets: list[str], given: list[str], message_id: str, sent_s: int, body: bytes) -> str:
    """Which of the usual mistakes explains the mismatch; each guess is tried, not assumed."""
    keys = [_key(secret) for secret in secrets]
    if {_digest(key, message_id, sent_s, body).hex() for key in keys} & set(given):
        return "signature_is_hex"
    undecoded = [_bytes(text) for secret in secrets for text in (secret, secret.removeprefix(SECRET_PREFIX))]
    if _any_match(undecoded, given, message_id, sent_s, body):
        return "key_not_decoded"
    if any(_any_match(keys, given, message_id, sent_s, other) for other in _reserialised(body)):
        return "body_reserialised"
    return "signature_mismatch"


def _reserialised(body: bytes) -> Iterable[bytes]:
    """The same JSON in the ways in which libraries write it, its amounts with and without two decimals."""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return
    for ascii_only in (True, False):
        for separators in ((",", ":"), (", ", ": ")):
            text = json.dumps(value, separators=separators, ensure_ascii=ascii_only)
            yield _bytes(text)
            yield _bytes(_AMOUNT.sub(lambda found: f"{found[1]}{Decimal(found[2]):.2f}", text))


def _bytes(text: str) -> bytes:
    """Text from a header or a body may hold half of a surrogate pair, which no signature fits."""
    return text.encode(errors="backslashreplace")


def _key(secret: str) -> bytes:
    try:
        key = base64.b64decode(secret.removeprefix(SECRET_PREFIX), validate=True)
    except ValueError:
        key = b""
    if len(key) not in _KEY_BYTES:
        raise SignatureRefused("secret_malformed", "The secret is not whsec_ and the base64 of 24 to 64 bytes.")
    return key


def _digest(key: bytes, message_id: str, timestamp_s: int, body: bytes) -> bytes:
    return hmac.digest(key, _bytes(f"{message_id}.{timestamp_s}.") + body, hashlib.sha256)
