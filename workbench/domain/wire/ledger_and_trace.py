"""Rows of the ledger and of the trace, their queries, and the bodies that settle a difference."""

from collections.abc import Mapping
from functools import partial
from typing import Annotated, Any, ClassVar, Final, NamedTuple, TypeVar

import msgspec
from msgspec import UNSET, Meta, UnsetType, field

from workbench.domain.ledger import SETTLEMENTS, TRACKED
from workbench.domain.wire.base import (
    DateTime,
    MaskedPhone,
    Minor,
    Moment,
    NeverNegative,
    OfSandbox,
    Positive,
    Schema,
    Seq,
    UpperCurrency,
    View,
    comma_separated,
    meaning,
    parameter,
)


class LedgerAccount(OfSandbox):
    """An account with postings, and the sums of its debits and credits."""

    account: str
    code: int
    currency: str
    debit_minor: int
    credit_minor: int


class LedgerEntry(OfSandbox):
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


class LedgerPosting(OfSandbox):
    """One debit or credit of an entry to one account."""

    entry: str
    number: int
    line: int
    kind: str
    payment: str | None
    occurred_at: str
    business_date: str
    account: str
    code: int
    side: Annotated[str, meaning(enum=["debit", "credit"])]
    amount_minor: Positive
    currency: str
    external_reference: str | None


class LedgerMovement(OfSandbox):
    """A movement of one account by an entry, as a statement would list it.

    `key` is the id that the operator or the bank gives to the movement. If they book a batch of movements as one,
    `batch` is their id of the batch, and `key` is the id of the ledger's entry.
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
    direction: Annotated[str, meaning(enum=["in", "out"])]
    amount_minor: Positive
    fee_minor: NeverNegative
    currency: str
    status: Annotated[str, meaning(const="completed")]
    phone: MaskedPhone | None
    state: Annotated[str, meaning(enum=["posted", "in_suspense"])]


class EntriesQuery(View):
    """Asks for the rows of entries numbered above `after` (0: from the first), `limit` entries at most (None: all)."""

    after: Annotated[Seq, parameter("The number of an entry: only entries after it.")] = 0
    limit: Annotated[int, Meta(ge=1, le=10_000, description="How many entries at most.")] | None = None


class MovementsQuery(EntriesQuery):
    """Filters movements by accounts, separated by commas; by default, the accounts with an operator or the bank."""

    account: Annotated[str, comma_separated("Only movements on these accounts", pattern="^[a-z0-9_:]+$")] | None = None


class LedgerVerified(OfSandbox):
    """The check of the chain: its length and last hash, or the place and the reason of the first fault."""

    holds: bool
    entries: int | UnsetType = UNSET
    head: str | UnsetType = UNSET
    message: str | UnsetType = UNSET
    entry: str | UnsetType = UNSET
    place: int | UnsetType = UNSET
    damage: str | UnsetType = UNSET
    object: str = "ledger"


SETTLED_BY: Final[Mapping[str, str]] = {"credit": "suspense_settled", "return": "suspense_returned"}
"""Decision about late money, `credit` or `return` → the recipe for it."""


def _settles(*, entry: bool, fee: bool) -> Schema:
    """The schema of a settlement by the recipes with these values of `takes_entry` and `takes_fee`.

    If `entry`, the settled entry is required; otherwise the account, the reference and the amount are. If both are
    false, the fee must be 0.
    """
    recipes = [name for name, row in SETTLEMENTS.items() if (row.takes_entry, row.takes_fee) == (entry, fee)]
    needed: Schema = {"entry": {"type": "string"}}
    if not entry:
        needed = {"account": {"type": "string"}, "reference": {"type": "string"}, "amount_minor": {"minimum": 1}}
    fees: Schema = {} if entry or fee else {"fee_minor": {"const": 0}}
    return {"required": [*needed], "properties": {"recipe": {"enum": recipes}, **needed, **fees}}


class Settle(OfSandbox):
    """A difference from a statement, and the recipe that settles it; amounts in minor units.

    `account` is the account that differs, and `reference` the operator's or the bank's id of the movement. Recipes
    whose amounts follow from an entry need `entry`, the entry that they settle.
    """

    __whole__: ClassVar = {
        "oneOf": [_settles(entry=True, fee=False), _settles(entry=False, fee=True), _settles(entry=False, fee=False)]
    }
    recipe: Annotated[str, meaning(enum=[*SETTLEMENTS])]
    amount_minor: Minor = 0
    fee_minor: Minor = 0
    currency: UpperCurrency = "ZMW"
    account: Annotated[str, meaning(enum=[*TRACKED])] | None = None
    reference: Annotated[str, meaning(minLength=1)] | None = None
    entry: str | None = None
    occurred_at: Moment | None = None
    description: str = ""


class SettleSuspense(OfSandbox):
    """Settles late money: `credit` it to the merchant, or `return` it to the customer."""

    how: Annotated[str, meaning(enum=[*SETTLED_BY])]


CALL: Final = "call"
SCREEN: Final = "screen"
ENTRY: Final = "entry"
WEBHOOK: Final = "webhook"
KINDS: Final = (CALL, SCREEN, ENTRY, WEBHOOK)
UNSEEN: Final = "Sandbox-Unseen"
"""The header of a GET that is not traced and changes nothing, not even the counter of ids."""


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
    """A handset's screen, and the key pressed before it; None for a prompt that arrived."""

    phone: str = ""
    pressed: str | None = None
    words: str = ""


class TracedPosting(NamedTuple):
    """A debit or credit of an entry."""

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


DETAILS: Final[Mapping[str, type[OfSandbox]]] = {
    CALL: TracedCall, SCREEN: TracedScreen, ENTRY: TracedEntry, WEBHOOK: TracedWebhook,
}  # fmt: skip
"""Kind of a trace row → the struct of its detail."""


class TraceRow(OfSandbox):
    """A call, screen, entry or webhook, with its position in the order of everything that happened."""

    seq: int
    at: DateTime
    kind: Annotated[str, meaning(enum=[*KINDS])]
    payment: str | None
    what: str
    result: str
    detail: Annotated[Any, meaning(type="object")]
    """A `TracedCall`, `TracedScreen`, `TracedEntry` or `TracedWebhook`, depending on the kind."""


class TraceStep(OfSandbox):
    """A row of the trace as one arrow of a sequence diagram, with the response's arrow if one came."""

    seq: int
    at: DateTime
    kind: Annotated[str, meaning(enum=[*KINDS])]
    source: str = field(name="from")
    target: str = field(name="to")
    label: str
    response: Annotated[str, meaning("Empty if no response came.")] = ""
    is_bad: Annotated[bool, meaning("Refused, failed or without a response.")] = False


class TracePage(OfSandbox):
    """Rows of the trace in order; `has_more` is true if more rows follow in the direction of the page."""

    data: list[TraceRow]
    has_more: bool = False
    total: Annotated[NeverNegative | None, meaning("How many rows there are in all; only with `latest`.")] = None
    object: str = "list"


class TraceQuery(View):
    """Asks for rows after a `seq`, oldest first: the first rows, or the latest."""

    since: Annotated[Seq, parameter("Only rows after this `seq`.")] = 0
    limit: Annotated[int, Meta(ge=1, le=1_000, description="How many rows at most.")] = 1_000
    latest: (
        Annotated[int, Meta(ge=1, le=1_000, description="How many of the latest rows, instead of the first rows.")]
        | None
    ) = None
    skip: Annotated[
        Seq, parameter("How many rows to leave out first, from the beginning or, with `latest`, from the end.")
    ] = 0
    kind: Annotated[str, comma_separated("Only rows of these kinds", enum=[*KINDS])] | None = None
    payment: (
        Annotated[
            str, parameter("Only rows of one payment, by the id of its intent, charge or refund, or of one payout.")
        ]
        | None
    ) = None


D = TypeVar("D")


def _detail(shape: type[D], row: Mapping[str, Any]) -> D:
    return msgspec.convert(row["detail"], shape)


call_of = partial(_detail, TracedCall)
"""Reads the detail of a trace row of the kind `call`; the next three functions read the other kinds."""
screen_of = partial(_detail, TracedScreen)
entry_of = partial(_detail, TracedEntry)
webhook_of = partial(_detail, TracedWebhook)
