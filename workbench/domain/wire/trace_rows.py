"""The rows of the trace, and the query that filters them."""

from collections.abc import Mapping
from functools import partial
from typing import Annotated, Any, Final, NamedTuple, TypeVar

import msgspec
from msgspec import Meta, field

from workbench.domain.wire.base import OfSandbox, View, meaning, parameter
from workbench.domain.wire.field_types import DateTime, NeverNegative, Seq, comma_separated

CALL: Final = "call"
SCREEN: Final = "screen"
ENTRY: Final = "entry"
WEBHOOK: Final = "webhook"
KINDS: Final = (CALL, SCREEN, ENTRY, WEBHOOK)
UNSEEN: Final = "Sandbox-Unseen"
"""The header of a GET that leaves no trace and changes nothing, not even the next number."""


class TracedRequest(OfSandbox):
    """The request of a call, masked."""

    headers: dict[str, str] = field(default_factory=dict)
    body: str = ""


class TracedResponse(OfSandbox):
    """The response of a call, masked."""

    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    body: str = ""


class TracedCall(OfSandbox):
    """One HTTP exchange; `target` is the method, path and query."""

    request: TracedRequest = field(default_factory=TracedRequest)
    response: TracedResponse = field(default_factory=TracedResponse)
    target: str = ""


class TracedScreen(OfSandbox):
    """A handset's screen, and the key pressed before it: None for a prompt that arrived by itself."""

    phone: str = ""
    pressed: str | None = None
    words: str = ""


class TracedPosting(NamedTuple):
    """One side of an entry."""

    side: str
    account: str
    amount_minor: int
    currency: str


class TracedEntry(OfSandbox):
    """The postings of an entry of the ledger."""

    postings: list[TracedPosting] = field(default_factory=list)


class TracedWebhook(OfSandbox):
    """One attempt to deliver an event; `fault` says why no response came."""

    event: str = ""
    endpoint: str = ""
    delivery: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    body: str = ""
    answer: str | None = None
    fault: str | None = None


class TraceRow(OfSandbox):
    """A call, screen, entry or webhook, at its place in the order of all that happened."""

    seq: int
    at: DateTime
    kind: Annotated[str, meaning(enum=[*KINDS])]
    payment: str | None
    what: str
    result: str
    detail: Annotated[Any, meaning(type="object")]
    """A `TracedCall`, `TracedScreen`, `TracedEntry` or `TracedWebhook`, by the kind."""


class TraceStep(OfSandbox):
    """A row of the trace as one arrow of a sequence diagram, with the response's arrow if one came."""

    seq: int
    at: DateTime
    kind: Annotated[str, meaning(enum=[*KINDS])]
    source: str = field(name="from")
    target: str = field(name="to")
    label: str
    response: Annotated[str, meaning("Empty where none came.")] = ""
    is_bad: Annotated[bool, meaning("Refused, failed or without a response.")] = False


class TracePage(OfSandbox):
    """Rows of the trace in order; `has_more` is true if more rows follow in the direction of the page."""

    data: list[TraceRow]
    has_more: bool = False
    total: Annotated[NeverNegative | None, meaning("How many rows there are in all; counted for the latest.")] = None
    object: str = "list"


class TraceQuery(View):
    """Asks for rows after a `seq`, oldest first: the first rows, or the latest."""

    since: Annotated[Seq, parameter("What came after this `seq`.")] = 0
    limit: Annotated[int, Meta(ge=1, le=1_000, description="How many rows at most.")] = 1_000
    latest: (
        Annotated[int, Meta(ge=1, le=1_000, description="How many of the latest rows, in place of the first.")] | None
    ) = None
    skip: Annotated[Seq, parameter("How many rows to pass over: before the first, or after the latest.")] = 0
    kind: Annotated[str, comma_separated("Those of these kinds", enum=[*KINDS])] | None = None
    payment: (
        Annotated[str, parameter("Those of one payment, by the id of its intent, charge or refund; or of one payout.")]
        | None
    ) = None


D = TypeVar("D")


def _detail(shape: type[D], row: Mapping[str, Any]) -> D:
    return msgspec.convert(row["detail"], shape)


call_of = partial(_detail, TracedCall)
"""The detail of a row of the kind `call`; the next three read the other kinds."""
screen_of = partial(_detail, TracedScreen)
entry_of = partial(_detail, TracedEntry)
webhook_of = partial(_detail, TracedWebhook)
