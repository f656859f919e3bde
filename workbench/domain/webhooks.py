"""Webhooks: signing and verifying by Standard Webhooks 1.0, and what follows an attempt.

Source: the Standard Webhooks specification 1.0. The signed content is `id.timestamp.body`, the key
is the base64 after `whsec_`, the signature is `v1,` and the base64 of HMAC-SHA256.
"""

import base64
import binascii
import hashlib
import hmac
import json
import re
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Final, NamedTuple

import msgspec

from workbench.domain.gaps import Gaps
from workbench.errors import SignatureRefused

ID_HEADER: Final = "webhook-id"
TIMESTAMP_HEADER: Final = "webhook-timestamp"
SIGNATURE_HEADER: Final = "webhook-signature"
SECRET_PREFIX: Final = "whsec_"  # noqa: S105  the prefix, not a secret
_SECONDS = re.compile(r"[0-9]{1,12}")
_AMOUNT = re.compile(r'("amount": ?)([0-9]+(?:\.[0-9]+)?)')

PENDING: Final = "pending"
DELIVERED: Final = "delivered"
DEAD_LETTER: Final = "dead_letter"
MAX_ANSWER_BYTES: Final = 20_000


class Endpoint(msgspec.Struct, frozen=True, kw_only=True):
    """Where a merchant wants events, as it is stored."""

    id: str
    seq: int
    account: str
    url: str
    secret: str
    enabled_events: tuple[str, ...] = ("*",)
    status: str = "enabled"
    created_ms: int = 0

    def wants(self, event_type: str) -> bool:
        """Whether the filter lets this type through; `payment_intent.*` takes a whole family."""
        family = f"{event_type.partition('.')[0]}.*"
        return self.status == "enabled" and any(each in ("*", family, event_type) for each in self.enabled_events)


class StoredEvent(msgspec.Struct, frozen=True, kw_only=True):
    """An event and the exact bytes that are sent for it, each time the same."""

    id: str
    seq: int
    account: str
    type: str
    object_id: str
    body: str
    created_ms: int


class Delivery(msgspec.Struct, frozen=True, kw_only=True):
    """One event on its way to one endpoint."""

    id: str
    seq: int
    event: str
    endpoint: str
    status: str = PENDING
    attempts: int = 0


class Attempt(msgspec.Struct, frozen=True, kw_only=True):
    """One try: `status_code` is None when no answer came, and then `fault` says why."""

    id: str
    seq: int
    delivery: str
    at_ms: int
    latency_ms: int
    status_code: int | None
    answer: str
    fault: str | None
    headers: dict[str, str]


class Outcome(NamedTuple):
    """What an attempt leads to; `wait_ms` is until the next one, None when there is none."""

    status: str
    wait_ms: int | None = None
    disables_endpoint: bool = False


_SUCCESS = {"2xx": range(200, 300), "200_201_202": range(200, 203)}
_SLOW_DOWN = (429, 502, 504)
_SLOW_DOWN_MS = 60_000
_GONE = 410
_JITTER_PERMILLE = 200


def outcome_of(
    attempt_number: int, status_code: int | None, retry_after_s: int | None, jitter: int, gaps: Gaps
) -> Outcome:
    """What follows attempt `attempt_number` (from 1).

    `jitter` is a draw from 0 to 400: the wait is multiplied by 0.8 to 1.2.
    """
    if status_code in _SUCCESS[gaps.delivery_success]:
        return Outcome(DELIVERED)
    if status_code == _GONE and gaps.delivery_gone == "disables":
        return Outcome(DEAD_LETTER, disables_endpoint=True)
    if attempt_number >= len(gaps.retry_schedule_s):
        return Outcome(DEAD_LETTER)
    wait_ms = gaps.retry_schedule_s[attempt_number] * (1000 - _JITTER_PERMILLE + jitter)
    if status_code in _SLOW_DOWN and gaps.delivery_retry_after == "honoured":
        wait_ms = max(wait_ms, _SLOW_DOWN_MS)
        wait_ms = max(wait_ms, min((retry_after_s or 0) * 1000, 2 * wait_ms))
    return Outcome(PENDING, wait_ms)


def sign(secret: str, message_id: str, timestamp_s: int, body: bytes) -> str:
    """The value of `webhook-signature` for these bytes: `v1,` and base64.

    Raises SignatureRefused: the secret is not `whsec_` and base64.
    """
    return "v1," + base64.b64encode(_digest(_key(secret), message_id, timestamp_s, body)).decode()


def headers_for(secret: str, message_id: str, timestamp_s: int, body: bytes) -> dict[str, str]:
    """The three headers that go with a body."""
    return {
        ID_HEADER: message_id,
        TIMESTAMP_HEADER: str(timestamp_s),
        SIGNATURE_HEADER: sign(secret, message_id, timestamp_s, body),
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
        raise _diagnosed(secrets, given, message_id, sent_s, body)
    _check_age(sent_s, now_s, tolerance_s)
    return message_id


def _headers(headers: Mapping[str, str]) -> tuple[str, str, str]:
    found = {name.lower(): value for name, value in headers.items()}
    missing = [name for name in (ID_HEADER, TIMESTAMP_HEADER, SIGNATURE_HEADER) if not found.get(name)]
    if missing:
        raise SignatureRefused("header_missing", f"The header {missing[0]} is missing.")
    return found[ID_HEADER], found[TIMESTAMP_HEADER], found[SIGNATURE_HEADER]


def _check_age(sent_s: int, now_s: int, tolerance_s: int) -> None:
    age_s = now_s - sent_s
    if age_s > tolerance_s:
        raise SignatureRefused(
            "timestamp_stale",
            f"The message was signed {age_s} s ago; {tolerance_s} s are allowed.",
            hint="It is an old message sent again, or this machine's clock is fast.",
        )
    if -age_s > tolerance_s:
        raise SignatureRefused(
            "timestamp_in_future",
            f"The message was signed {-age_s} s in the future; {tolerance_s} s are allowed.",
            hint="This machine's clock is slow.",
        )


def _any_match(keys: list[bytes], given: list[str], message_id: str, sent_s: int, body: bytes) -> bool:
    expected = [base64.b64encode(_digest(key, message_id, sent_s, body)) for key in keys]
    # Every pair is compared, in constant time each, so that the time tells nothing.
    return sum(hmac.compare_digest(one, two.encode()) for one in expected for two in given) > 0


def _diagnosed(secrets: list[str], given: list[str], message_id: str, sent_s: int, body: bytes) -> SignatureRefused:
    """Which of the usual mistakes explains the mismatch; each guess is tried, not assumed."""
    keys = [_key(secret) for secret in secrets]
    if {_digest(key, message_id, sent_s, body).hex() for key in keys} & set(given):
        return SignatureRefused(
            "signature_is_hex", "The signature is in hexadecimal.", hint="Standard Webhooks signatures are base64."
        )
    undecoded = [text.encode() for secret in secrets for text in (secret, secret.removeprefix(SECRET_PREFIX))]
    if _any_match(undecoded, given, message_id, sent_s, body):
        return SignatureRefused(
            "key_not_decoded",
            "The signature was made with the secret's text.",
            hint="The key is what the base64 after whsec_ decodes to.",
        )
    if any(_any_match(keys, given, message_id, sent_s, other) for other in _reserialised(body)):
        return SignatureRefused(
            "body_reserialised",
            "The signature fits the same JSON written another way.",
            hint="Verify the bytes that arrived, before any framework parses them.",
        )
    return SignatureRefused(
        "signature_mismatch",
        "No signature fits these bytes with this secret.",
        hint="The body was changed on the way, or the secret is another endpoint's.",
    )


def _reserialised(body: bytes) -> Iterable[bytes]:
    """The same JSON in the ways in which libraries write it, its amounts with and without two decimals."""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return
    for ascii_only in (True, False):
        for separators in ((",", ":"), (", ", ": ")):
            text = json.dumps(value, separators=separators, ensure_ascii=ascii_only)
            yield text.encode()
            yield _AMOUNT.sub(lambda found: f"{found[1]}{Decimal(found[2]):.2f}", text).encode()


def _key(secret: str) -> bytes:
    try:
        key = base64.b64decode(secret.removeprefix(SECRET_PREFIX), validate=True)
    except binascii.Error:
        key = b""
    if not key:
        raise SignatureRefused("secret_malformed", "The secret is not whsec_ and base64.")
    return key


def _digest(key: bytes, message_id: str, timestamp_s: int, body: bytes) -> bytes:
    return hmac.digest(key, f"{message_id}.{timestamp_s}.".encode() + body, hashlib.sha256)
