"""Webhooks: endpoints, events, deliveries, and what follows an attempt to deliver one."""

from collections.abc import Sequence
from typing import Final, NamedTuple

import msgspec

from workbench.domain.gaps import Gaps
from workbench.errors import InvalidRequest

PENDING: Final = "pending"
DELIVERED: Final = "delivered"
DEAD_LETTER: Final = "dead_letter"
MAX_ANSWER_BYTES: Final = 20_000


EVENT_TYPES: Final = (
    *(f"payment_intent.{each}" for each in ("created", "requires_action", "processing", "succeeded",
                                            "payment_failed", "canceled", "late_success")),
    *(f"charge.{each}" for each in ("pending", "succeeded", "failed", "refunded", "late_success")),
    *(f"refund.{each}" for each in ("created", "succeeded", "failed")),
    *(f"payout.{each}" for each in ("created", "paid", "failed")),
    "webhook_endpoint.disabled",
)  # fmt: skip
"""Every type of event, assumed; which of them are emitted yet, the register says."""


def check_filter(enabled_events: Sequence[str]) -> None:
    """Raises InvalidRequest unless each is a type, a family such as `charge.*`, or `*`."""
    known = {"*", *EVENT_TYPES, *(f"{each.partition('.')[0]}.*" for each in EVENT_TYPES)}
    unknown = [each for each in enabled_events if each not in known]
    if unknown or not enabled_events:
        raise InvalidRequest(
            f"{unknown[0][:60]!r} is no type of event." if unknown else "enabled_events names no type of event.",
            code="event_type_unknown",
            param="enabled_events",
            hint="Use '*' for all.",
        )


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
    number: int
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
