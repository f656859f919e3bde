"""Rows that a console reads: payments, requests, and what changed."""

from typing import Annotated, Final

from msgspec import Meta

from workbench.domain.wire.base import OfSandbox, View, meaning, parameter, to_json
from workbench.domain.wire.endpoints_and_events import Delivery
from workbench.domain.wire.field_types import (
    ChargeId,
    DateTime,
    MaskedPhone,
    NeverNegative,
    Positive,
    Seconds,
    Seq,
    comma_separated,
)
from workbench.domain.wire.paging import FindQuery
from workbench.domain.wire.trace_rows import TraceRow, TraceStep

DASHBOARD: Final = "/sandbox/dashboard"
"""A sandbox's dashboard finds the operations that the interface does not offer below this path: `…/v1/refunds`."""
PAYMENT_STATES: Final = ("new", "waiting", "succeeded", "part_refunded", "refunded", "failed", "canceled")
"""States of a payment, which is an intent or a charge without one."""


class Payment(OfSandbox):
    """A payment in a search; amounts in minor units."""

    id: str
    seq: int
    created: Seconds
    amount_minor: Positive
    refunded_minor: NeverNegative
    currency: str
    state: Annotated[str, meaning(enum=[*PAYMENT_STATES])]
    description: str | None
    phone: MaskedPhone | None
    provider: str | None
    charge: ChargeId | None
    failure_code: str | None
    object: Annotated[str, meaning(const="payment")] = "payment"


class PaymentEvent(OfSandbox):
    """An event of a payment, without its data."""

    id: str
    type: str
    created: Seconds


class LoggedRequest(OfSandbox):
    """A request of the merchant's, masked, without its bodies."""

    id: Annotated[str, meaning("Its Request-Id.")]
    seq: int
    at: DateTime
    method: str
    path: str
    status: int
    payment: str | None
    key: Annotated[str, meaning("What it was sent with, masked; empty for nothing.")]
    idempotency_key: str | None
    object: Annotated[str, meaning(const="request")] = "request"


class PaymentsQuery(FindQuery):
    """Filters payments by id, description or a number's last digits; by state, operator and amount."""

    status: Annotated[str, comma_separated("Those in one of these states", enum=PAYMENT_STATES)] | None = None
    provider: Annotated[str, parameter("Those by this operator.")] | None = None
    min_minor: Annotated[Seq, parameter("Those of this amount, in minor units, and more.")] | None = None
    max_minor: Annotated[Seq, parameter("Those of this amount, in minor units, and less.")] | None = None


class RequestsQuery(FindQuery):
    """Filters requests by Request-Id, path, payment or idempotency key; by method and the status's first digit."""

    method: Annotated[str, parameter("Those of this method.")] | None = None
    status: Annotated[int, Meta(ge=1, le=5, description="Those whose status begins so.")] | None = None


class PaymentDetails(View):
    """Everything about one payment; `steps` are the rows of its trace as arrows of a sequence diagram."""

    payment: Payment
    events: list[PaymentEvent]
    deliveries: list[Delivery]
    trace: list[TraceRow]
    steps: list[TraceStep]
    object: Annotated[str, meaning(const="payment_details")] = "payment_details"


class Code(OfSandbox):
    """A request as texts to copy, with names in place of the keys."""

    curl: str
    python: str
    javascript: str
    object: Annotated[str, meaning(const="code")] = "code"


class CodeQuery(View):
    """The sandbox's address for the texts."""

    base_url: Annotated[str, Meta(max_length=200, description="Written instead of `$BASE_URL`.")] = ""


CHANGED: Final = ("payment", "delivery", "prompt", "request", "entry", "clock")
"""Kinds of objects that change: an intent or a charge without one, a delivery, a handset by its number, and so on."""


class Change(OfSandbox):
    """A changed object and the `seq` of its last change; the clock, which has none, gets the latest `seq`."""

    seq: int
    kind: Annotated[str, meaning(enum=[*CHANGED])]
    id: Annotated[str, meaning("Of a prompt the customer's number; of the clock `clock`.")]


class Changes(OfSandbox):
    """Changed objects, in order, without repeats; read on from `last_seq`.

    After a `reset`, or if the sandbox has not reached the requested `seq`, `data` is empty: everything read before is
    gone.
    """

    data: list[Change]
    last_seq: NeverNegative
    has_more: bool = False
    reset: bool = False
    object: str = "list"

    def as_events(self) -> bytes:
        """The page as Server-Sent Events, whose ids are the rows' `seq`; an empty page is a comment."""
        rows = [(change.seq, "message", to_json(change)) for change in self.data]
        if self.reset:
            rows = [(self.last_seq, "reset", to_json({"last_seq": self.last_seq}))]
        texts = [b"id: %d\nevent: %s\ndata: %s\n\n" % (seq, name.encode(), data) for seq, name, data in rows]
        return b"".join(texts) or b":\n\n"


class ChangesQuery(View):
    """Asks for the changes after a `seq`."""

    after: Annotated[Seq, parameter("What changed after this `seq`; without it, from now on.")] | None = None
