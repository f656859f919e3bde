"""Rows that a console reads: payments, requests, and what changed."""

from typing import Annotated, Final

from msgspec import Meta

from workbench.domain.wire.base import OfSandbox, View, meaning, parameter, to_json
from workbench.domain.wire.endpoints_and_events import Delivery
from workbench.domain.wire.fields import (
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
"""Where a sandbox's dashboard finds the operations that the interface does not offer: `/v1/refunds` below here."""
PAYMENT_STATES: Final = ("new", "waiting", "succeeded", "part_refunded", "refunded", "failed", "canceled")
"""What a payment has come to, whether it is an intent or a charge without one."""


class Payment(OfSandbox):
    """A payment as a person looks for it; amounts in minor units."""

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
    """An event that tells of a payment, without what it tells."""

    id: str
    type: str
    created: Seconds


class LoggedRequest(OfSandbox):
    """A request of the merchant's, masked, without what was sent and answered."""

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
    """Those by id, description, or a number's last digits; in some states, by operator, and between two amounts."""

    status: Annotated[str, comma_separated("Those in one of these states", enum=PAYMENT_STATES)] | None = None
    provider: Annotated[str, parameter("Those by this operator.")] | None = None
    min_minor: Annotated[Seq, parameter("Those of this amount, in minor units, and more.")] | None = None
    max_minor: Annotated[Seq, parameter("Those of this amount, in minor units, and less.")] | None = None


class RequestsQuery(FindQuery):
    """Those by Request-Id, path, payment or idempotency key; by their method, and by the first digit of the status."""

    method: Annotated[str, parameter("Those of this method.")] | None = None
    status: Annotated[int, Meta(ge=1, le=5, description="Those whose status begins so.")] | None = None


class PaymentDetails(View):
    """All there is of one payment; `steps` are the rows of its trace as arrows of a sequence diagram."""

    payment: Payment
    events: list[PaymentEvent]
    deliveries: list[Delivery]
    trace: list[TraceRow]
    steps: list[TraceStep]
    object: Annotated[str, meaning(const="payment_details")] = "payment_details"


class Code(OfSandbox):
    """A request as texts to copy, each with names in the place of keys."""

    curl: str
    python: str
    javascript: str
    object: Annotated[str, meaning(const="code")] = "code"


class CodeQuery(View):
    """Where the sandbox is, for the texts."""

    base_url: Annotated[str, Meta(max_length=200, description="Written instead of `$BASE_URL`.")] = ""


CHANGED: Final = ("payment", "delivery", "prompt", "request", "entry", "clock")
"""What may change: an intent or a charge without one, a delivery, a handset by its number, and so on."""


class Change(OfSandbox):
    """An object that changed, by the `seq` of what happened last; the clock has none, and gets the latest."""

    seq: int
    kind: Annotated[str, meaning(enum=[*CHANGED])]
    id: Annotated[str, meaning("Of a prompt the customer's number; of the clock `clock`.")]


class Changes(OfSandbox):
    """What changed, each object once, in order; `last_seq` is where to go on.

    After a `reset`, or where the sandbox has not come as far as it was asked for, `data` is empty: what was read before
    is gone.
    """

    data: list[Change]
    last_seq: NeverNegative
    has_more: bool = False
    reset: bool = False
    object: str = "list"

    def as_events(self) -> bytes:
        """The page as Server-Sent Events, each row by its `seq`; a comment where there is nothing to tell."""
        rows = [(each.seq, "message", to_json(each)) for each in self.data]
        if self.reset:
            rows = [(self.last_seq, "reset", to_json({"last_seq": self.last_seq}))]
        texts = [b"id: %d\nevent: %s\ndata: %s\n\n" % (seq, name.encode(), data) for seq, name, data in rows]
        return b"".join(texts) or b":\n\n"


class ChangesQuery(View):
    """What changed after a `seq`."""

    after: Annotated[Seq, parameter("What changed after this `seq`; without it, from now on.")] | None = None
