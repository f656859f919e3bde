"""The bodies of `/sandbox`, as structs."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Annotated, ClassVar, Final, Generic, TypeVar

from msgspec import UNSET, Meta, UnsetType, field

from workbench.domain import ussd
from workbench.domain.gaps import Gaps
from workbench.domain.ledger import SETTLEMENTS, TRACKED
from workbench.domain.payments import FAILURES
from workbench.domain.phones import OFFERED
from workbench.domain.scenarios import SANDBOX_PIN, SCRIPTABLE, TEST_NUMBERS
from workbench.domain.signing import HOW
from workbench.domain.webhooks import FAULTS
from workbench.domain.wire import base
from workbench.domain.wire.base import Schema, Source, View, WithSecrets, is_id, meaning

T = TypeVar("T")
Minor = Annotated[int, Meta(ge=0, le=10**12 - 1)]
"""Minor units; at most ten digits before the point."""
MAX_ADVANCE_S = 10 * 366 * 86_400
MAX_OUTAGE_S: Final = 30 * 86_400
MAX_ANSWERS: Final = 100
MAX_NAME: Final = 40
MAX_COMMANDS: Final = 1_000
MAX_AT_MS: Final = 4_102_444_799_999
"""The last millisecond of 2099, which is as far as a moment of a request goes."""
SETTLED_BY: Final[Mapping[str, str]] = {"credit": "suspense_settled", "return": "suspense_returned"}
"""What is asked of late money → the recipe."""
SIMULATED: Final = ("script", "charge", "intent", "confirm", "pin", "refund", "payout")


def _seconds_up_to(most: int) -> Meta:
    return meaning("In whole milliseconds.", minimum=0, maximum=most, multipleOf=Decimal("0.001"))


class OfSandbox(View):
    """What no real service has."""

    __source__ = Source(gap="")


class Rows(View, Generic[T]):
    """All rows at once, in order."""

    data: list[T]
    object: str = "list"


class Page(View, Generic[T]):
    """Rows in order; `has_more` tells whether there are entries beyond the last."""

    data: list[T]
    has_more: bool = False
    object: str = "list"


PAYMENT_STATES: Final = ("new", "waiting", "succeeded", "part_refunded", "refunded", "failed", "canceled")
"""What a payment has come to, whether it is an intent or a charge without one."""


class Found(View, Generic[T]):
    """A page of what was looked for, newest first: the rows from the `first`, counted from 1, of a `total`."""

    data: list[T]
    first: base.NeverNegative = 1
    total: base.NeverNegative = 0
    object: str = "list"


class Payment(OfSandbox):
    """A payment as a person looks for it; amounts in minor units."""

    id: str
    seq: int
    created: base.Seconds
    amount_minor: base.Positive
    refunded_minor: base.NeverNegative
    currency: str
    state: Annotated[str, meaning(enum=[*PAYMENT_STATES])]
    description: str | None
    phone: base.MaskedPhone | None
    provider: str | None
    charge: base.ChargeId | None
    failure_code: str | None
    object: Annotated[str, meaning(const="payment")] = "payment"


class PaymentEvent(OfSandbox):
    """An event that tells of a payment, without what it tells."""

    id: str
    type: str
    created: base.Seconds


class LoggedRequest(OfSandbox):
    """A request of the merchant's, masked, without what was sent and answered."""

    id: Annotated[str, meaning("Its Request-Id.")]
    seq: int
    at: base.DateTime
    method: str
    path: str
    status: int
    payment: str | None
    key: Annotated[str, meaning("What it was sent with, masked; empty for nothing.")]
    idempotency_key: str | None
    object: Annotated[str, meaning(const="request")] = "request"


class Input(OfSandbox):
    """What is typed on a handset; not kept anywhere."""

    text: Annotated[str, meaning(f"The PIN; {SANDBOX_PIN} is right.", pattern="^[0-9]{4}$")]

    def __repr__(self) -> str:
        return f"Input({'•' * len(self.text)})"


class Advance(OfSandbox):
    """By how much the clock moves: what is named adds up."""

    __whole__: ClassVar = {"anyOf": [{"required": [name]} for name in ("seconds", "minutes", "hours", "days")]}
    seconds: Annotated[Decimal, _seconds_up_to(MAX_ADVANCE_S)] | UnsetType = UNSET
    minutes: Annotated[int, Meta(ge=0, le=MAX_ADVANCE_S // 60), meaning("Whole minutes.")] | UnsetType = UNSET
    hours: Annotated[int, Meta(ge=0, le=MAX_ADVANCE_S // 3600), meaning("Whole hours.")] | UnsetType = UNSET
    days: Annotated[int, Meta(ge=0, le=MAX_ADVANCE_S // 86_400), meaning("Whole days.")] | UnsetType = UNSET


class Script(OfSandbox):
    """What the next attempts on a number come to, one answer each."""

    phone: base.Phone
    answers: Annotated[list[str], meaning(items={"enum": [*SCRIPTABLE]}, maxItems=MAX_ANSWERS)]


class Outage(OfSandbox):
    """An operator is down for so long from now; 0 ends it."""

    provider: base.OperatorName
    seconds: Annotated[Decimal, _seconds_up_to(MAX_OUTAGE_S)]


class Deprecate(OfSandbox):
    """Mark an operation as one that will be gone, from a moment on, now without one; or `marked` false, no more."""

    marked: bool = True
    deprecated_at: base.Moment | None = None
    sunset_at: Annotated[base.Moment, meaning("When it is gone, not before it is deprecated.")] | None = None


class Deprecated(OfSandbox):
    """An operation and the moments of its headers; none where it is not marked."""

    operation: str
    deprecated_at: base.DateTime | None = None
    sunset_at: base.DateTime | None = None


class SimulatedCommand(OfSandbox):
    """What somebody does at a moment of a simulated month, of the fields that it takes.

    `script`: what the next attempt on `phone` comes to is `scenario`. `charge`: `phone`, of `provider`, is asked for
    `amount_minor` for an `order`; with `intent` and `confirm` it is in two steps, one after the other. `pin`: the right
    PIN is entered. `refund`: `amount_minor` of what `phone` paid for `order` goes back, or with 0 all that is left.
    `payout`: what is available is paid out, if anything is.
    """

    at_ms: Annotated[int, Meta(ge=0, le=MAX_AT_MS), meaning("Milliseconds since 1970; not before the one before.")]
    what: Annotated[str, meaning(enum=[*SIMULATED])]
    order: str = ""
    phone: str = ""
    provider: str = ""
    amount_minor: Minor = 0
    scenario: str = ""


class Simulate(OfSandbox):
    """Commands of a simulated month, from the cursor on."""

    simulation: Annotated[str, meaning("A name of the client's.", pattern="^[0-9A-Za-z]{1,40}$")]
    cursor: Annotated[int, Meta(ge=0, le=2**53), meaning("How many commands of the simulation came before.")] = 0
    commands: Annotated[list[SimulatedCommand], meaning(maxItems=MAX_COMMANDS)] = field(default_factory=list)


class OperatorQuery(OfSandbox):
    """The operator is asked what became of a charge."""

    charge: str


class NewAccount(OfSandbox):
    """Another merchant in the same sandbox; `name` is what a customer reads in the prompt."""

    name: Annotated[str, meaning(minLength=1, maxLength=MAX_NAME, pattern=r"[^\s\x1c-\x1f\x85]")]


class DeliveryFaults(OfSandbox):
    """How deliveries to an endpoint misbehave: `duplicate`, `out_of_order`, both or neither."""

    faults: Annotated[list[str], meaning(items={"enum": [*FAULTS]})] = field(default_factory=list)


_SigningEndpoint = Annotated[base.EndpointId, meaning("Its secret signs; by default the newest enabled endpoint's.")]
_SignedAt = Annotated[
    int, Meta(ge=0, le=MAX_AT_MS // 1000), meaning("Seconds since 1970; by default this machine's time.")
]


class Sign(OfSandbox):
    """A message for your endpoint, and what is wrong with it on purpose; `right` and `several` are genuine."""

    body: Annotated[str, meaning("What is signed, to the byte.")]
    how: Annotated[str, meaning(enum=[*HOW])] = "right"
    endpoint: _SigningEndpoint | None = None
    message_id: Annotated[str, meaning("By default the id in the body.")] | None = None
    timestamp: _SignedAt | None = None


class Signed(OfSandbox):
    """What to post to your endpoint: the body to the byte, and the headers that go with it."""

    body: str
    headers: dict[str, str]
    object: Annotated[str, meaning(const="signed_message")] = "signed_message"


class Clock(OfSandbox):
    """The sandbox's clock; `mode` is manual or running.

    `seq` is the place of the latest thing that happened, in the order of the trace: what has it has seen all.
    """

    mode: Annotated[str, meaning(enum=["manual", "running"])]
    now: base.DateTime
    now_ms: int
    business_date: Annotated[str, meaning("In Lusaka.", format="date")]
    seq: int
    object: Annotated[str, meaning(const="clock")] = "clock"


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
    last_seq: base.NeverNegative
    has_more: bool = False
    reset: bool = False
    object: str = "list"

    def as_events(self) -> bytes:
        """The page as Server-Sent Events, each row by its `seq`; a comment where there is nothing to tell."""
        rows = [(each.seq, "message", base.to_json(each)) for each in self.data]
        if self.reset:
            rows = [(self.last_seq, "reset", base.to_json({"last_seq": self.last_seq}))]
        texts = [b"id: %d\nevent: %s\ndata: %s\n\n" % (seq, name.encode(), data) for seq, name, data in rows]
        return b"".join(texts) or b":\n\n"


class Handset(OfSandbox):
    """A customer's phone: what it shows, of which charge, and whether that waits for an answer."""

    phone: str
    operator: Annotated[str, base.by_register(lambda gaps: {"enum": [*OFFERED[gaps.zed_mobile]]})]
    screen: str
    state: Annotated[str, meaning(enum=["idle", *dict.fromkeys(ussd.SCREEN_TEXTS)])]
    waiting: bool
    tries_left: base.Positive | None
    expires_at: base.Seconds | None
    queued: base.NeverNegative
    charge: base.ChargeId | None
    object: Annotated[str, meaning(const="phone")] = "phone"


class Message(OfSandbox):
    """What an operator texted to a customer; `transaction` is its own reference, None where no money moved."""

    seq: int
    at: base.DateTime
    kind: Annotated[str, meaning(enum=[*ussd.RECEIPT_TEXTS])]
    sender: str
    text: str
    amount_minor: base.Positive
    currency: str
    merchant: str
    transaction: str | None
    object: Annotated[str, meaning(const="message")] = "message"


class LedgerAccount(OfSandbox):
    """An account posted to, and the sums of its two sides."""

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
    side: Annotated[str, meaning(enum=["debit", "credit"])]
    amount_minor: base.Positive
    currency: str
    external_reference: str | None


class LedgerMovement(OfSandbox):
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
    direction: Annotated[str, meaning(enum=["in", "out"])]
    amount_minor: base.Positive
    fee_minor: base.NeverNegative
    currency: str
    status: Annotated[str, meaning(const="completed")]
    phone: base.MaskedPhone | None
    state: Annotated[str, meaning(enum=["posted", "in_suspense"])]


def _settles(*, entry: bool, fee: bool) -> Schema:
    """What the recipes of one sort need: an entry, or the account, the reference and the amount."""
    recipes = [name for name, row in SETTLEMENTS.items() if (row.takes_entry, row.takes_fee) == (entry, fee)]
    needed: Schema = {"entry": {"type": "string"}}
    if not entry:
        needed = {"account": {"type": "string"}, "reference": {"type": "string"}, "amount_minor": {"minimum": 1}}
    fees: Schema = {} if entry or fee else {"fee_minor": {"const": 0}}
    return {"required": [*needed], "properties": {"recipe": {"enum": recipes}, **needed, **fees}}


class Settle(OfSandbox):
    """A difference from a statement, and the recipe that settles it; amounts in minor units.

    `account` is the one that differs, `reference` the id by which the other side knows the movement, and
    `entry` the one that it is about: needed by the recipes whose amounts follow from it.
    """

    __whole__: ClassVar = {
        "oneOf": [_settles(entry=True, fee=False), _settles(entry=False, fee=True), _settles(entry=False, fee=False)]
    }
    recipe: Annotated[str, meaning(enum=[*SETTLEMENTS])]
    amount_minor: Minor = 0
    fee_minor: Minor = 0
    currency: base.UpperCurrency = "ZMW"
    account: Annotated[str, meaning(enum=[*TRACKED])] | None = None
    reference: Annotated[str, meaning(minLength=1)] | None = None
    entry: str | None = None
    occurred_at: base.Moment | None = None
    description: str = ""


class SettleSuspense(OfSandbox):
    """What becomes of late money: `credit` it to the merchant, or `return` it to the customer."""

    how: Annotated[str, meaning(enum=[*SETTLED_BY])]


class LedgerVerified(OfSandbox):
    """Whether the chain holds: its length and head, or where it breaks and why."""

    holds: bool
    entries: int | UnsetType = UNSET
    head: str | UnsetType = UNSET
    message: str | UnsetType = UNSET
    entry: str | UnsetType = UNSET
    place: int | UnsetType = UNSET
    damage: str | UnsetType = UNSET
    object: str = "ledger"


class Scripted(OfSandbox):
    """What a number has before it."""

    phone: str
    answers: Annotated[list[str], meaning(items={"enum": [*SCRIPTABLE]})]
    object: Annotated[str, meaning(const="operator_script")] = "operator_script"


class Simulated(OfSandbox):
    """Where a simulation goes on: `cursor` is how many of its commands are done, `done` how many since the one sent."""

    simulation: str
    cursor: base.NeverNegative
    done: base.NeverNegative
    object: Annotated[str, meaning(const="simulation")] = "simulation"


class OperatorState(OfSandbox):
    """Until when an operator is down, None when it is up."""

    provider: Annotated[str, base.by_register(lambda gaps: {"enum": [*OFFERED[gaps.zed_mobile]]})]
    down_until: base.Seconds | None
    object: Annotated[str, meaning(const="operator")] = "operator"


class NewAccountKeys(WithSecrets):
    """A merchant's keys, this once."""

    __source__ = Source(gap="")

    id: Annotated[str, is_id("acct")]
    name: str
    secret_key: str
    publishable_key: str
    object: Annotated[str, meaning(const="account")] = "account"


class MerchantKeys(WithSecrets):
    """The merchant's oldest active keys; the publishable one is empty where the last was revoked."""

    __source__ = Source(gap="")

    secret_key: str
    publishable_key: str
    object: Annotated[str, meaning(const="keys")] = "keys"


class Code(OfSandbox):
    """A request as texts to copy, each with names in the place of keys."""

    curl: str
    python: str
    javascript: str
    object: Annotated[str, meaning(const="code")] = "code"


class TestNumber(OfSandbox):
    """The last seven digits of a number, the same for every operator, and what happens on it."""

    ending: Annotated[str, meaning(pattern="^[0-9]{7}$")]
    says: str


class OfferedOperator(OfSandbox):
    """A mobile network operator with wallets; `prefixes` are the two digits after +260."""

    id: str
    name: str
    prefixes: list[str]


class OfferedScenarios(OfSandbox):
    """What can be asked to happen: on which numbers, and by the header Sandbox-Scenario; `pin` is every wallet's."""

    test_numbers: list[TestNumber]
    scenarios: Annotated[list[str], meaning(items={"enum": [*SCRIPTABLE]})]
    failures: Annotated[dict[str, str], meaning("Why money did not move: a code, and a sentence for a person.")]
    operators: list[OfferedOperator]
    pin: str
    object: Annotated[str, meaning(const="scenarios")] = "scenarios"

    @classmethod
    def of(cls, gaps: Gaps) -> "OfferedScenarios":
        """Those of a register."""
        numbers = [TestNumber(each.ending, each.says) for each in TEST_NUMBERS.values()]
        offered = OFFERED[gaps.zed_mobile].values()
        operators = [OfferedOperator(each.id, each.name, [*each.prefixes]) for each in offered]
        return cls(numbers, [*SCRIPTABLE], {**FAILURES}, operators, SANDBOX_PIN)


class ReliedRow(OfSandbox):
    """A row of the register that something relied on: calls and webhooks, the most frequent first."""

    name: str
    used_by: list[str]
    object: Annotated[str, meaning(const="gap")] = "gap"


class FaultyEndpoint(OfSandbox):
    """An endpoint and how deliveries to it misbehave."""

    id: base.EndpointId
    faults: Annotated[list[str], meaning(items={"enum": [*FAULTS]})]
    object: str = "webhook_endpoint"


class WasReset(OfSandbox):
    """What a reset left: the clock, the keys and the webhook endpoints."""

    endpoints: list[str]
    object: Annotated[str, meaning(const="reset")] = "reset"
