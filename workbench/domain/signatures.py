"""Signs and verifies webhooks by Standard Webhooks 1.0, or as Stripe or GitHub does; names mistakes in signatures.

Each scheme is a row of `SCHEMES`: its headers, the signed text, the key, and how the HMAC-SHA256 is written.

- `standard_webhooks` signs `id.timestamp.body`; the key is what the base64 after `whsec_` decodes to; the signature is
  `v1,` and base64.
- `stripe` signs `timestamp.body`; the key is the whole secret with `whsec_`; `Stripe-Signature: t=…,v1=` and hex.
- `github` signs the body; the key is the whole secret; `X-Hub-Signature-256: sha256=` and hex. Without a timestamp an
  old message verifies like a new one, and only the id in the body shows a duplicate.

This file needs only the standard library, so that a merchant can copy it into a backend.
"""

import base64
import hashlib
import hmac
import json
import re
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from functools import lru_cache
from itertools import product
from typing import Final, NamedTuple

from workbench.errors import SignatureRefused

ID_HEADER: Final = "webhook-id"
TIMESTAMP_HEADER: Final = "webhook-timestamp"
SIGNATURE_HEADER: Final = "webhook-signature"
STRIPE_HEADER: Final = "Stripe-Signature"
GITHUB_HEADER: Final = "X-Hub-Signature-256"
SECRET_PREFIX: Final = "whsec_"  # noqa: S105  the prefix, not a secret
STANDARD: Final = "standard_webhooks"
_KEY_BYTES = range(24, 65)
_GITHUB_SECRET = 40
_SECONDS = re.compile(r"[0-9]{1,12}")
_AMOUNT = re.compile(r'("amount": ?)([0-9]+(?:\.[0-9]+)?)')
_Encode = Callable[[bytes], str]
_Prefix = Callable[[str, int | None], str]
"""A function from a message's id and its time in seconds to the signed text before the body."""


class SignedHeaders(NamedTuple):
    """The contents of a message's headers; `message_id` is empty or `sent_s` None if the scheme has no such header."""

    message_id: str
    sent_s: int | None
    signatures: list[str]


class Mistake(NamedTuple):
    """A common mistake in signing: its reason, and what the signer does differently from the scheme."""

    reason: str
    keys: Callable[[str], list[bytes]] | None = None
    """A function from a secret to the wrong keys; None if the key is right."""
    prefix: _Prefix | None = None
    encode: _Encode | None = None


class Scheme(NamedTuple):
    """A signature scheme: how headers are written and read."""

    headers: tuple[str, ...]
    write: Callable[[str, int, list[str]], dict[str, str]]
    """A function from message id, seconds since 1970 and signatures to the headers."""
    read: Callable[[Mapping[str, str]], SignedHeaders]
    """A function from the headers, named as in `headers`, to their contents. Raises SignatureRefused: malformed."""
    prefix: _Prefix
    key: Callable[[str], bytes]
    """A function from a secret to its key. Raises SignatureRefused: not a secret of the scheme."""
    encode: _Encode
    mistakes: tuple[Mistake, ...]
    new_secret: Callable[[bytes], str]
    """A function from 32 random bytes to a secret, which begins with `whsec_` so that masking recognises it."""
    has_room: bool = True
    """True if a message can have several signatures. If not, rolling a secret makes the old secret invalid at once."""


def headers_for(
    secret: str, message_id: str, timestamp_s: int, body: bytes, *, also: Iterable[str] = (), scheme: str = STANDARD
) -> dict[str, str]:
    """The headers that sign the message `message_id` with this body, at `timestamp_s` seconds since 1970.

    `also` has further secrets to sign with, if the scheme allows several signatures. Raises SignatureRefused: a secret
    is not of the scheme.
    """
    row = SCHEMES[scheme]
    prefix, secrets = row.prefix(message_id, timestamp_s), (secret, *(also if row.has_room else ()))
    return row.write(message_id, timestamp_s, [row.encode(_digest(row.key(key), prefix, body)) for key in secrets])


def verify(
    body: bytes,
    headers: Mapping[str, str],
    secrets: Iterable[str],
    *,
    now_s: int,
    tolerance_s: int = 300,
    scheme: str = STANDARD,
) -> str:
    """Checks a message's signature and age, and returns its id; check next whether you handled this id before.

    `body` are the bytes that arrived; `now_s` is seconds since 1970, `tolerance_s` the seconds that a message may be
    old or early. `scheme` is a name in `SCHEMES`; `github` has no timestamp, so old messages pass. One signature that
    fits one of `secrets` is enough. If the headers have no id, the result is the id in the body, empty if the body is
    no JSON object with an id.
    Raises SignatureRefused with `reason` one of header_missing, timestamp_malformed, timestamp_stale,
    timestamp_in_future, secret_malformed, signature_malformed, body_reserialised, signature_mismatch; for Standard
    Webhooks also signature_is_hex, key_not_decoded; for Stripe and GitHub also signature_is_base64, key_not_the_text;
    and for Stripe also timestamp_not_signed.
    """
    row = SCHEMES[scheme]
    signed = row.read(_scheme_headers(row, headers))
    secrets = [secrets] if isinstance(secrets, str) else list(secrets)
    keys = [row.key(secret) for secret in secrets]
    if not _any_match(keys, row.prefix(*signed[:2]), row.encode, signed, body):
        mistake = _mistake(row, secrets, keys, signed, body)
        raise SignatureRefused(mistake, _MISTAKES[mistake][0], hint=_MISTAKES[mistake][1])
    if signed.sent_s is not None:
        _check_age(now_s - signed.sent_s, tolerance_s)
    return signed.message_id or id_in(body)


def _check_age(age_s: int, tolerance_s: int) -> None:
    allowed = f"{tolerance_s} s are allowed."
    if age_s > tolerance_s:
        hint = "It is an old message sent again, or this machine's clock is fast."
        raise SignatureRefused("timestamp_stale", f"The message was signed {age_s} s ago; {allowed}", hint=hint)
    if -age_s > tolerance_s:
        says = f"The message was signed {-age_s} s in the future; {allowed}"
        raise SignatureRefused("timestamp_in_future", says, hint="This machine's clock is slow.")


def _scheme_headers(scheme: Scheme, headers: Mapping[str, str]) -> dict[str, str]:
    """The headers of a scheme, named as the scheme writes them. Raises SignatureRefused: a header is missing."""
    values = {name.lower(): value for name, value in headers.items()}
    own = {name: value for name in scheme.headers if (value := values.get(name.lower()))}
    if missing := [name for name in scheme.headers if name not in own]:
        others = [
            name for name, other in SCHEMES.items() if other is not scheme and values.get(other.headers[-1].lower())
        ]
        hint = f"It is signed by the scheme {others[0]}." if others else ""
        raise SignatureRefused("header_missing", f"The header {missing[0]} is missing.", hint=hint)
    return own


def _seconds(text: str, where: str) -> int:
    if not _SECONDS.fullmatch(text):
        raise SignatureRefused("timestamp_malformed", f"{where} is not whole seconds since 1970.")
    return int(text)


def _some(signatures: list[str], where: str, kind: str) -> list[str]:
    if not signatures:
        raise SignatureRefused("signature_malformed", f"{where} holds no {kind} signature.")
    return signatures


def _read_standard(headers: Mapping[str, str]) -> SignedHeaders:
    sent_s = _seconds(headers[TIMESTAMP_HEADER], TIMESTAMP_HEADER)
    parts = (part.partition(",") for part in headers[SIGNATURE_HEADER].split())
    signatures = [value for version, _, value in parts if version == "v1"]
    return SignedHeaders(headers[ID_HEADER], sent_s, _some(signatures, SIGNATURE_HEADER, "v1"))


def _read_stripe(headers: Mapping[str, str]) -> SignedHeaders:
    items = [part.strip().partition("=") for part in headers[STRIPE_HEADER].split(",")]
    times, signatures = ([value for key, _, value in items if key == name] for name in ("t", "v1"))
    sent_s = _seconds(times[0] if times else "", f"The t in {STRIPE_HEADER}")
    return SignedHeaders("", sent_s, _some(signatures, STRIPE_HEADER, "v1"))


def _read_github(headers: Mapping[str, str]) -> SignedHeaders:
    kind, _, value = headers[GITHUB_HEADER].strip().partition("=")
    return SignedHeaders("", None, _some([value] if kind == "sha256" else [], GITHUB_HEADER, "sha256"))


def _any_match(keys: Iterable[bytes], prefix: str, encode: _Encode, signed: SignedHeaders, body: bytes) -> bool:
    expected = [encode(_digest(key, prefix, body)).encode() for key in keys]
    # Every pair is compared, and every comparison takes constant time, so that the time tells nothing.
    pairs = product(expected, map(_bytes, signed.signatures))
    return sum(hmac.compare_digest(right, received) for right, received in pairs) > 0


_MISTAKES: Final[Mapping[str, tuple[str, str]]] = {
    "signature_is_hex": ("The signature is in hexadecimal.", "Standard Webhooks signatures are base64."),
    "key_not_decoded": ("The signature was made with the secret's text.",
                        "The key is what the base64 after whsec_ decodes to."),
    "signature_is_base64": ("The signature is in base64.", "Here signatures are in hexadecimal."),
    "key_not_the_text": ("The signature was made with a part of the secret, or with what it decodes to.",
                         "The key is the secret's whole text, whsec_ included."),
    "timestamp_not_signed": ("The signature is of the body alone.",
                             "What is signed is the timestamp, a point and the body."),
    "body_reserialised": ("The signature fits the same JSON written another way.",
                          "Verify the bytes that arrived, before any framework parses them."),
    "signature_mismatch": ("No signature fits these bytes with this secret.",
                           "The body was changed on the way, or the secret is another endpoint's."),
}  # fmt: skip
"""Reason → the cause of a mismatch in words, and the remedy."""


def _mistake(scheme: Scheme, secrets: list[str], keys: list[bytes], signed: SignedHeaders, body: bytes) -> str:
    """The reason for a mismatch: a common mistake that produces this signature, or `signature_mismatch`."""
    for guess in scheme.mistakes:
        tried = [key for secret in secrets for key in guess.keys(secret)] if guess.keys else keys
        prefix = (guess.prefix or scheme.prefix)(*signed[:2])
        if _any_match(tried, prefix, guess.encode or scheme.encode, signed, body):
            return guess.reason
    prefix = scheme.prefix(*signed[:2])
    if any(_any_match(keys, prefix, scheme.encode, signed, other) for other in respellings(body)):
        return "body_reserialised"
    return "signature_mismatch"


def respellings(body: bytes, number: Callable[[str], object] | None = None) -> list[bytes]:
    """Writes the JSON of a body in eight ways that libraries use; an empty list if the body is no JSON.

    The texts differ in blanks, in escapes of non-ASCII letters, and in the decimals of amounts; their order is the same
    for all bodies. `number` converts the text of a decimal, as another language would; None makes a float.
    """
    try:
        value = json.loads(body, parse_float=number)
    except (ValueError, RecursionError):
        return []
    texts: list[bytes] = []
    for is_ascii, separators in product((True, False), ((",", ":"), (", ", ": "))):
        text = json.dumps(value, separators=separators, ensure_ascii=is_ascii)
        texts += [_bytes(text), _bytes(_AMOUNT.sub(lambda match: f"{match[1]}{Decimal(match[2]):.2f}", text))]
    return texts


def id_in(body: bytes) -> str:
    """The id in a body that is a JSON object; empty if there is none."""
    try:
        identifier = json.loads(body)["id"]
    except (ValueError, RecursionError, KeyError, TypeError):
        return ""
    return identifier if isinstance(identifier, str) else ""


def _bytes(text: str) -> bytes:
    """Text as bytes; half of a surrogate pair, as in a faulty header or body, is escaped, so that no signature fits."""
    return text.encode(errors="backslashreplace")


@lru_cache
def _decoded_key(secret: str) -> bytes:
    try:
        key = base64.b64decode(secret.removeprefix(SECRET_PREFIX), validate=True)
    except ValueError:
        key = b""
    if len(key) not in _KEY_BYTES:
        raise SignatureRefused("secret_malformed", "The secret is not whsec_ and the base64 of 24 to 64 bytes.")
    return key


def _whole_key(secret: str) -> bytes:
    if not secret:
        raise SignatureRefused("secret_malformed", "The secret is empty.")
    return _bytes(secret)


def _keys_without_prefix(secret: str) -> list[bytes]:
    """The wrong keys of a signer who leaves out the secret's prefix, though the scheme takes the whole text as key.

    They are the text after the prefix, and, if that is base64, its bytes.
    """
    bare = secret.removeprefix(SECRET_PREFIX)
    try:
        return [_bytes(bare), base64.b64decode(bare, validate=True)]
    except ValueError:
        return [_bytes(bare)]


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _digest(key: bytes, prefix: str, body: bytes) -> bytes:
    digest = _keyed_hmac(key).copy()
    digest.update(_bytes(prefix) + body)
    return digest.digest()


@lru_cache
def _keyed_hmac(key: bytes) -> hmac.HMAC:
    """An HMAC with its key set, meant to be copied: setting the key takes a quarter of the time of a short message."""
    return hmac.new(key, digestmod=hashlib.sha256)


_WITH_THE_WHOLE_TEXT: Final = (
    Mistake("signature_is_base64", encode=_base64),
    Mistake("key_not_the_text", keys=_keys_without_prefix),
)
"""Common mistakes for schemes whose key is the secret's whole text, and whose signatures are hexadecimal."""
SCHEMES: Final[Mapping[str, Scheme]] = {
    STANDARD: Scheme(
        headers=(ID_HEADER, TIMESTAMP_HEADER, SIGNATURE_HEADER),
        write=lambda message_id, at_s, signatures: {
            ID_HEADER: message_id,
            TIMESTAMP_HEADER: str(at_s),
            SIGNATURE_HEADER: " ".join(f"v1,{signature}" for signature in signatures),
        },
        read=_read_standard,
        prefix="{0}.{1}.".format,
        key=_decoded_key,
        encode=_base64,
        mistakes=(
            Mistake("signature_is_hex", encode=bytes.hex),
            Mistake(
                "key_not_decoded",
                keys=lambda secret: [_bytes(text) for text in (secret, secret.removeprefix(SECRET_PREFIX))],
            ),
        ),
        new_secret=lambda key: SECRET_PREFIX + _base64(key),
    ),
    "stripe": Scheme(
        headers=(STRIPE_HEADER,),
        write=lambda _id, at_s, signatures: {
            STRIPE_HEADER: ",".join([f"t={at_s}", *(f"v1={signature}" for signature in signatures)])
        },
        read=_read_stripe,
        prefix="{1}.".format,
        key=_whole_key,
        encode=bytes.hex,
        mistakes=(*_WITH_THE_WHOLE_TEXT, Mistake("timestamp_not_signed", prefix="".format)),
        new_secret=lambda key: SECRET_PREFIX + key.hex(),
    ),
    "github": Scheme(
        headers=(GITHUB_HEADER,),
        write=lambda _id, _at_s, signatures: {GITHUB_HEADER: f"sha256={signatures[0]}"},
        read=_read_github,
        prefix="".format,
        key=_whole_key,
        encode=bytes.hex,
        mistakes=_WITH_THE_WHOLE_TEXT,
        new_secret=lambda key: SECRET_PREFIX + key.hex()[:_GITHUB_SECRET],
        has_room=False,
    ),
}
"""Value of the register's `signature_scheme` → the scheme."""
