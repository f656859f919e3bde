"""The bodies of the control plane, `/sandbox`, which no real service has. Amounts are whole minor units."""

from decimal import Decimal
from typing import Annotated, Any, Generic, TypeVar

from msgspec import UNSET, Meta, UnsetType, field

from workbench.domain.wire.shown import Shown

T = TypeVar("T")
Minor = Annotated[int, Meta(ge=0, le=10**12 - 1)]
"""Minor units; at most ten digits before the point."""
MAX_ADVANCE_S = 10 * 366 * 86_400
Minutes = Annotated[int, Meta(ge=0, le=MAX_ADVANCE_S // 60)]
Hours = Annotated[int, Meta(ge=0, le=MAX_ADVANCE_S // 3600)]
Days = Annotated[int, Meta(ge=0, le=MAX_ADVANCE_S // 86_400)]


class Rows(Shown, Generic[T]):
    """All rows at once, in order."""

    data: list[T]
    object: str = "list"


class Page(Shown, Generic[T]):
    """Rows in order; `has_more` tells whether there are entries beyond the last."""

    data: list[T]
    has_more: bool = False
    object: str = "list"


class Input(Shown):
    """What is typed on a handset; not kept anywhere."""

    text: str

    def __repr__(self) -> str:
        return f"Input({'•' * len(self.text)})"


class Advance(Shown):
    """By how much the clock moves: what is named adds up."""

    seconds: Decimal | UnsetType = UNSET
    minutes: Minutes | UnsetType = UNSET
    hours: Hours | UnsetType = UNSET
    days: Days | UnsetType = UNSET


class Script(Shown):
    """What the next attempts on a number come to, one answer each."""

    phone: str
    answers: list[str]


class Outage(Shown):
    """An operator is down for so long from now; 0 ends it."""

    provider: str
    seconds: Decimal


class OperatorQuery(Shown):
    """The operator is asked what became of a charge."""

    charge: str


class NewAccount(Shown):
    """Another merchant in the same sandbox; `name` is what a customer reads in the prompt."""

    name: str


class DeliveryFaults(Shown):
    """How deliveries to an endpoint misbehave: `duplicate`, `out_of_order`, both or neither."""

    faults: list[str] = field(default_factory=list)


class Clock(Shown):
    """The sandbox's clock; `mode` is manual or running.

    `seq` is the place of the latest thing that happened, in the order of the trace: what has it has seen all.
    """

    mode: str
    now: str
    now_ms: int
    business_date: str
    seq: int
    object: str = "clock"


class Handset(Shown):
    """A customer's phone: what it shows, of which charge, and whether that waits for an answer."""

    phone: str
    operator: str
    screen: str
    state: str
    waiting: bool
    tries_left: int | None
    expires_at: int | None
    queued: int
    charge: str | None
    object: str = "phone"


class Message(Shown):
    """What an operator texted to a customer; `transaction` is its own reference, None where no money moved."""

    seq: int
    at: str
    kind: str
    sender: str
    text: str
    amount_minor: int
    currency: str
    merchant: str
    transaction: str | None
    object: str = "message"


class LedgerAccount(Shown):
    """An account posted to, and the sums of its two sides."""

    account: str
    code: int
    currency: str
    debit_minor: int
    credit_minor: int


class LedgerEntry(Shown):
    """An entry of the journal; `hash` covers its postings and the entry before."""

    id: str
    seq: int
    number: int
    kind: str
    description: str
    payment: str | None
    reverses: str | None
    occurred_at: str
    recorded_at: str
    business_date: str
    external_reference: str | None
    settles: str | None
    prev_hash: str
    hash: str


class LedgerPosting(Shown):
    """One side of one account."""

    entry: str
    number: int
    line: int
    kind: str
    payment: str | None
    occurred_at: str
    business_date: str
    account: str
    code: int
    side: str
    amount_minor: int
    currency: str
    external_reference: str | None


class LedgerMovement(Shown):
    """What an entry does to one account, as a statement would tell it.

    `key` is the id by which the other side knows it, `batch` that of the whole of which it is a part.
    """

    entry: str
    number: int
    kind: str
    payment: str | None
    reverses: str | None
    account: str
    key: str | None
    batch: str | None
    occurred_at: str
    business_date: str
    direction: str
    amount_minor: int
    fee_minor: int
    currency: str
    status: str
    phone: str | None
    state: str


class Settle(Shown):
    """A difference from a statement, and the recipe that settles it; amounts in minor units.

    `account` is the one that differs, `reference` the id by which the other side knows the movement, and
    `entry` the one that it is about: needed by the recipes whose amounts follow from it.
    """

    recipe: str
    amount_minor: Minor = 0
    fee_minor: Minor = 0
    currency: str = "ZMW"
    account: str | None = None
    reference: str | None = None
    entry: str | None = None
    occurred_at: str | None = None
    description: str = ""


class LedgerVerified(Shown):
    """Whether the chain holds: its length and head, or where it breaks and why."""

    holds: bool
    entries: int | UnsetType = UNSET
    head: str | UnsetType = UNSET
    message: str | UnsetType = UNSET
    entry: str | UnsetType = UNSET
    place: int | UnsetType = UNSET
    damage: str | UnsetType = UNSET
    object: str = "ledger"


class TraceRow(Shown):
    """A call, screen, entry or webhook, at its place in the order of all that happened."""

    seq: int
    at: str
    kind: str
    payment: str | None
    what: str
    result: str
    detail: dict[str, Any]


class Scripted(Shown):
    """What a number has before it."""

    phone: str
    answers: list[str]
    object: str = "operator_script"


class OperatorState(Shown):
    """Until when an operator is down, None when it is up."""

    provider: str
    down_until: int | None
    object: str = "operator"


class NewAccountKeys(Shown):
    """A merchant's keys, this once."""

    id: str
    name: str
    secret_key: str
    publishable_key: str
    object: str = "account"


class FaultyEndpoint(Shown):
    """An endpoint and how deliveries to it misbehave."""

    id: str
    faults: list[str]
    object: str = "webhook_endpoint"


class WasReset(Shown):
    """What a reset left: the clock, the keys and the webhook endpoints."""

    endpoints: list[str]
    object: str = "reset"
