"""The body of a webhook."""

from typing import Annotated, Any, ClassVar

from msgspec import field

from workbench.domain.webhooks import EVENT_TYPES
from workbench.domain.wire.fields import DateTime, EventId, Live, one_of, only
from workbench.domain.wire.shown import Source, View

API_VERSION = "1"


class EventData(View):
    """The object as it was when the event happened, and what changed."""

    __source__: ClassVar[Source] = Source(gap="6")
    object: dict[str, Any]
    previous_attributes: dict[str, Any] = field(default_factory=dict)


class EventRequest(View):
    """The request that caused the event; both None when no request did."""

    __source__: ClassVar[Source] = Source(gap="6")
    id: str | None = None
    idempotency_key: str | None = None


class Event(View):
    """The body of a webhook; its names and members are assumed (section 6)."""

    __source__: ClassVar[Source] = Source(gap="6", relies=("event_payload", "event_types"))
    id: EventId
    type: Annotated[str, one_of(EVENT_TYPES)]
    timestamp: DateTime
    data: EventData
    request: EventRequest
    api_version: Annotated[str, only(API_VERSION)] = API_VERSION
    livemode: Live = False
