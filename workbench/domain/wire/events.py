"""The body of a webhook."""

from typing import Any

from msgspec import field

from workbench.domain.wire.shown import Shown

API_VERSION = "1"


class EventData(Shown):
    """The object as it was when the event happened, and what changed."""

    object: dict[str, Any]
    previous_attributes: dict[str, Any] = field(default_factory=dict)


class EventRequest(Shown):
    """The request that caused the event; both None when no request did."""

    id: str | None = None
    idempotency_key: str | None = None


class Event(Shown):
    """The body of a webhook; its names and members are assumed (section 6)."""

    id: str
    type: str
    timestamp: str
    data: EventData
    request: EventRequest
    api_version: str = API_VERSION
    livemode: bool = False
