"""Webhooks: endpoints, events, deliveries, the results of attempts, and messages for testing a receiver."""

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

import msgspec

from workbench.domain.gaps import Gaps
from workbench.domain.payments import Stored
from workbench.domain.signatures import SCHEMES, TIMESTAMP_HEADER, headers_for
from workbench.errors import InvalidRequest, invalid

PENDING: Final = "pending"
DELIVERED: Final = "delivered"
DEAD_LETTER: Final = "dead_letter"
DROPPED: Final = "dropped"
"""The state of a dead letter that is no longer kept: lists leave the letter out, the trace still has its attempts."""
MAX_RESPONSE_BYTES: Final = 20_000
ENABLED: Final = "enabled"
DISABLED: Final = "disabled"
DELETED: Final = "deleted"
DUPLICATE: Final = "duplicate"
OUT_OF_ORDER: Final = "out_of_order"
FAULTS: Final = (DUPLICATE, OUT_OF_ORDER)
"""Faults that an endpoint's deliveries can be given, for testing a receiver."""
UNDECIDED: Final = ("created", "requires_action", "processing", "pending")
"""The last parts of the types of events before a payment's outcome."""

EVENT_TYPES: Final = (
    *(f"payment_intent.{state}" for state in ("created", "requires_action", "processing", "succeeded",
                                            "payment_failed", "canceled", "late_success")),
    *(f"charge.{state}" for state in ("pending", "succeeded", "failed", "refunded", "late_success")),
    *(f"refund.{state}" for state in ("created", "succeeded", "failed")),
    *(f"payout.{state}" for state in ("created", "paid", "failed")),
    *(f"suspense.{state}" for state in ("credited", "returned")),
    "webhook_endpoint.disabled",
)  # fmt: skip
"""Every type of event. The interface names no types, so these are assumed."""
SENT_AS: Final[Mapping[str, Mapping[str, str]]] = {
    "by_object": {event_type: event_type for event_type in EVENT_TYPES},
    # Money is collected by a charge, of an intent or on its own; late money in suspense is not collected.
    "collection": {"charge.succeeded": "collection.successful", "charge.failed": "collection.failed"},
}
"""Value of the register's `event_types` → (type in EVENT_TYPES → type as sent); events of other types are not sent."""


def types_of(event_types: str) -> tuple[str, ...]:
    """The types of events that are sent if the register's `event_types` has this value."""
    return tuple(SENT_AS[event_types].values())


def names_of(event_type: str) -> tuple[str, str, str]:
    """The names in a filter that match a type: `*`, the type's family such as `charge.*`, and the type itself."""
    return "*", f"{event_type.partition('.')[0]}.*", event_type


@lru_cache(maxsize=1024)
def takes(enabled_events: tuple[str, ...], event_type: str) -> bool:
    """True if a filter matches this type; `payment_intent.*` matches a whole family. Cached, as few filters exist."""
    return not {*names_of(event_type)}.isdisjoint(enabled_events)


def check_filter(enabled_events: Sequence[str], types: Sequence[str], *, param: str = "enabled_events") -> None:
    """Raises InvalidRequest unless the filter has names, each a type in `types`, a family such as `charge.*`, or `*`.

    `param` is the field's name in the error.
    """
    unknown = [name for name in enabled_events if not types_named(name, types)]
    if unknown or not enabled_events:
        raise InvalidRequest(
            f"{unknown[0][:60]!r} is not a type of event." if unknown else f"{param} names no type of event.",
            code="event_type_unknown",
            param=param,
            hint="Use '*' for all.",
        )


def types_named(name: str, types: Sequence[str]) -> tuple[str, ...]:
    """The types that a name stands for: a type, a family such as `charge.*`, or `*` for all; empty if unknown."""
    return tuple(event_type for event_type in types if name in names_of(event_type))


HOST_NAME: Final = re.compile(r"([A-Za-z0-9._-]*\.)?[A-Za-z][A-Za-z0-9_-]*\.?")
"""A host that is a name, not an IP address: its last part begins with a letter."""


class OldSecret(NamedTuple):
    """A replaced secret, which signs messages beside the new one until `until_ms`, in milliseconds since 1970."""

    secret: str
    until_ms: int


class Endpoint(Stored, frozen=True, kw_only=True):
    """The stored row of a merchant's URL for events.

    `old_secrets` are the replaced secrets, newest first; `rolls` counts the replacements. `failing_since_ms` is the
    moment of the first failure after the last success; None if there is none.
    """

    url: str
    secret: str
    enabled_events: tuple[str, ...] = ("*",)
    status: str = ENABLED
    rolls: int = 0
    old_secrets: tuple[OldSecret, ...] = ()
    failing_since_ms: int | None = None
    faults: tuple[str, ...] = ()

    def overlapping(self, now_ms: int) -> tuple[OldSecret, ...]:
        """The old secrets that still sign messages at `now_ms`."""
        return tuple(old for old in self.old_secrets if now_ms < old.until_ms)


class StoredEvent(Stored, frozen=True, kw_only=True):
    """The stored row of an event, with the exact body that every delivery sends."""

    type: str
    object_id: str
    body: str


class StoredDelivery(Stored, frozen=True, kw_only=True):
    """The stored row of an event's delivery to one endpoint. `spent` counts the attempts before its last replay."""

    event: str
    endpoint: str
    status: str = PENDING
    attempts: int = 0
    spent: int = 0


class Attempt(msgspec.Struct, frozen=True, kw_only=True):
    """An attempt at a delivery; if no response came, `status_code` is None and `fault` says why."""

    id: str
    seq: int
    delivery: str
    number: int
    at_ms: int
    latency_ms: int
    status_code: int | None
    answer: str
    fault: str | None
    headers: dict[str, str]


class Outcome(NamedTuple):
    """The delivery's status after an attempt; `wait_ms` is the time until the next attempt, None if there is none."""

    status: str
    wait_ms: int | None = None
    disables_endpoint: bool = False


_SUCCESS = {"2xx": range(200, 300), "200_201_202": range(200, 203)}
_SLOW_DOWN_MS = 60_000
_AT_LEAST_MS = {429: _SLOW_DOWN_MS, 502: _SLOW_DOWN_MS, 503: 0, 504: _SLOW_DOWN_MS}
"""Status by which a receiver asks for time → the shortest wait in milliseconds, also without a Retry-After."""
_GONE = 410
JITTER_PERMILLE: Final = 200
"""The most by which a wait is randomly shortened or lengthened, in thousandths."""


def outcome_of(
    attempt_number: int, status_code: int | None, retry_after_s: int | None, draw: Callable[[int], int], gaps: Gaps
) -> Outcome:
    """The result of attempt `attempt_number` (from 1), with the response's `status_code`; None for no response.

    `retry_after_s` is the wait in seconds that the response requests, None if none. `draw` returns a random integer
    from 0 to its argument - 1; with it, a wait is multiplied by 0.8 to 1.2.
    """
    if status_code in _SUCCESS[gaps.delivery_success]:
        return Outcome(DELIVERED)
    if status_code == _GONE and gaps.delivery_gone == "disables":
        return Outcome(DEAD_LETTER, disables_endpoint=True)
    if attempt_number >= len(gaps.retry_schedule_s):
        return Outcome(DEAD_LETTER)
    jitter_permille = draw(2 * JITTER_PERMILLE + 1) - JITTER_PERMILLE
    wait_ms = gaps.retry_schedule_s[attempt_number] * (1000 + jitter_permille)
    if status_code in _AT_LEAST_MS and gaps.delivery_retry_after == "honoured":
        at_most_ms = 2 * max(wait_ms, _SLOW_DOWN_MS)
        wait_ms = max(wait_ms, _AT_LEAST_MS[status_code], min((retry_after_s or 0) * 1000, at_most_ms))
    return Outcome(PENDING, wait_ms)


_BEYOND_S = 60
"""Seconds beyond the tolerance by which a message is deliberately old or early."""


class SignedMessage(NamedTuple):
    """A signed message for a receiver: body bytes and headers."""

    body: bytes
    headers: dict[str, str]


def other_secret(secret: str, scheme: str) -> str:
    """Another valid secret of the same scheme."""
    return SCHEMES[scheme].new_secret(hashlib.sha256(secret.encode()).digest())


class Signer(NamedTuple):
    """Signs messages with `secret` as of `now_s`, in seconds since 1970; `scheme` is a name in `SCHEMES`."""

    secret: str
    message_id: str
    now_s: int
    scheme: str
    tolerance_s: int
    media_type: str

    def signed(self, body: bytes, *secrets: str, later_s: int = 0) -> SignedMessage:
        """Signs `body` as of `later_s` seconds after `now_s`, with `secrets` or by default the signer's own."""
        first, *also = secrets or (self.secret,)
        at_s = self.now_s + later_s
        return SignedMessage(body, headers_for(first, self.message_id, at_s, body, also=also, scheme=self.scheme))


def _tampered(signer: Signer, body: bytes) -> SignedMessage:
    """Signs the body, then changes it to other valid JSON: only a receiver that verifies the signature notices."""
    has_members = body.rstrip().endswith(b"}") and body.strip(b" \t\r\n{}") != b""
    changed = body.rstrip()[:-1] + b',"tampered":true}' if has_members else body + b" "
    return signer.signed(body)._replace(body=changed)


def _reserialised(signer: Signer, body: bytes) -> SignedMessage:
    """Signs the body, then writes its JSON with different blanks, as a proxy or a framework may."""
    try:
        other = json.dumps(json.loads(body), indent=1, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        other = body
    return signer.signed(body)._replace(body=other if other != body else body + b"\n")


def _malformed(signer: Signer, body: bytes) -> SignedMessage:
    """Replaces the signature by text that is no signature."""
    headers = signer.signed(body).headers
    return SignedMessage(body, {**headers, [*headers][-1]: "nonsense"})


def _malformed_timestamp(signer: Signer, body: bytes) -> SignedMessage:
    headers = signer.signed(body).headers
    name = TIMESTAMP_HEADER if TIMESTAMP_HEADER in headers else [*headers][-1]
    return SignedMessage(body, {**headers, name: headers[name].replace(str(signer.now_s), "yesterday")})


def _other_scheme(signer: Signer, body: bytes) -> SignedMessage:
    """Signs with the correct secret, but by another service's scheme."""
    return signer._replace(scheme=next(scheme for scheme in SCHEMES if scheme != signer.scheme)).signed(body)


TEST_MESSAGES: Final[Mapping[str, Callable[[Signer, bytes], SignedMessage]]] = {
    "right": Signer.signed,
    # Another's signature before the right one, as while a secret is being rolled.
    "several": lambda signer, body: signer.signed(body, other_secret(signer.secret, signer.scheme), signer.secret),
    "wrong_secret": lambda signer, body: signer.signed(body, other_secret(signer.secret, signer.scheme)),
    "stale": lambda signer, body: signer.signed(body, later_s=-signer.tolerance_s - _BEYOND_S),
    "future": lambda signer, body: signer.signed(body, later_s=signer.tolerance_s + _BEYOND_S),
    "other_scheme": _other_scheme,
    "tampered": _tampered,
    "reserialised": _reserialised,
    "unsigned": lambda _, body: SignedMessage(body, {}),
    "malformed": _malformed,
    "malformed_timestamp": _malformed_timestamp,
}
"""Name → the function that makes the message. A receiver must accept the first two messages and refuse all others."""
IMPOSSIBLE_MESSAGES: Final[Mapping[str, Mapping[str, str]]] = {
    "github": {
        "several": "has room for one signature",
        **dict.fromkeys(("stale", "future", "malformed_timestamp"), "has no timestamp"),
    },
}
"""Scheme → (name in `TEST_MESSAGES` → the reason why the scheme has no such message)."""


def signed(signer: Signer, body: bytes, how: str = "right") -> SignedMessage:
    """A message with `body`, signed by `signer`, for testing a receiver; `how` is a name in `TEST_MESSAGES`.

    Raises InvalidRequest: no such name, or the signer's scheme has no such message.
    """
    if how not in TEST_MESSAGES:
        raise invalid(f"how is one of {', '.join(TEST_MESSAGES)}, not {how!r}.", "how")
    if why := IMPOSSIBLE_MESSAGES.get(signer.scheme, {}).get(how):
        raise invalid(f"There is no message {how!r} where signature_scheme is {signer.scheme!r}: it {why}.", "how")
    message = TEST_MESSAGES[how](signer, body)
    return message._replace(headers={"Content-Type": signer.media_type, **message.headers})
