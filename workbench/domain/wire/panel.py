"""The bodies of the control plane, `/sandbox`, which no real service has. Amounts are whole minor units."""

from decimal import Decimal
from typing import Any, Generic, TypeVar

from msgspec import UNSET, UnsetType, field

from workbench.domain.wire.shown import Shown

T = TypeVar("T")


class Rows(Shown, Generic[T]):
    """All rows at once, in order."""

    data: list[T]
    object: str = "list"


class Input(Shown):
    """What is typed on a handset; not kept anywhere."""

    text: str

    def __repr__(self) -> str:
        return f"Input({'•' * len(self.text)})"


class Advance(Shown):
    """By how much the clock moves."""

    seconds: Decimal


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
    """The sandbox's clock; `mode` is manual or running."""

    mode: str
    now: str
    now_ms: int
    business_date: str
    object: str = "clock"


class Handset(Shown):
    """A customer's phone: what it shows, and whether that waits for an answer."""

    phone: str
    operator: str
    screen: str
    state: str
    waiting: bool
    tries_left: int | None
    expires_at: int | None
    queued: int
    object: str = "phone"


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
    account: str
    code: int
    side: str
    amount_minor: int
    currency: str


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
