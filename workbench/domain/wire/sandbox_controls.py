"""Bodies that only a sandbox has: its clock and simulated months, handsets and operators, and the console's lists."""

from decimal import Decimal
from typing import Annotated, ClassVar, Final

from msgspec import UNSET, Meta, UnsetType, field

from workbench.domain import ussd
from workbench.domain.gaps import Gaps
from workbench.domain.payments import FAILURES
from workbench.domain.phones import OFFERED
from workbench.domain.scenarios import SANDBOX_PIN, SCRIPTABLE, TEST_NUMBERS
from workbench.domain.wire.base import (
    MAX_AT_MS,
    ChargeId,
    DateTime,
    FindQuery,
    MaskedPhone,
    Minor,
    Moment,
    NeverNegative,
    OfSandbox,
    OperatorName,
    Phone,
    Positive,
    Seconds,
    Seq,
    View,
    by_register,
    comma_separated,
    meaning,
    parameter,
    to_json,
)
from workbench.domain.wire.keys_and_events import Delivery
from workbench.domain.wire.ledger_and_trace import TraceRow, TraceStep

MAX_ADVANCE_S = 10 * 366 * 86_400


def seconds_up_to(most: int) -> Meta:
    """The schema of seconds: a decimal number from 0 to `most`, with a precision of milliseconds."""
    return meaning("In whole milliseconds.", minimum=0, maximum=most, multipleOf=Decimal("0.001"))


class Clock(OfSandbox):
    """The sandbox's clock; `mode` is manual or running.

    `seq` is that of the latest row in the trace.
    """

    mode: Annotated[str, meaning(enum=["manual", "running"])]
    now: DateTime
    now_ms: int
    business_date: Annotated[str, meaning("In Lusaka.", format="date")]
    seq: int
    object: Annotated[str, meaning(const="clock")] = "clock"


class Advance(OfSandbox):
    """Advances the clock by the sum of the named durations."""

    __whole__: ClassVar = {"anyOf": [{"required": [name]} for name in ("seconds", "minutes", "hours", "days")]}
    seconds: Annotated[Decimal, seconds_up_to(MAX_ADVANCE_S)] | UnsetType = UNSET
    minutes: Annotated[int, Meta(ge=0, le=MAX_ADVANCE_S // 60), meaning("Whole minutes.")] | UnsetType = UNSET
    hours: Annotated[int, Meta(ge=0, le=MAX_ADVANCE_S // 3600), meaning("Whole hours.")] | UnsetType = UNSET
    days: Annotated[int, Meta(ge=0, le=MAX_ADVANCE_S // 86_400), meaning("Whole days.")] | UnsetType = UNSET


class Deprecate(OfSandbox):
    """Marks an operation as deprecated from a moment on, by default now; `marked` false removes the mark."""

    marked: bool = True
    deprecated_at: Moment | None = None
    sunset_at: Annotated[Moment, meaning("When the operation is removed; not before it is deprecated.")] | None = None


class Deprecated(OfSandbox):
    """An operation, and the moments of its deprecation and its removal; None for a moment that is not set."""

    operation: str
    deprecated_at: DateTime | None = None
    sunset_at: DateTime | None = None


class ReliedRow(OfSandbox):
    """A row of the register, and the calls and webhooks that relied on it, the most frequent first."""

    name: str
    used_by: list[str]
    object: Annotated[str, meaning(const="gap")] = "gap"


SIMULATED: Final = ("script", "charge", "intent", "confirm", "pin", "refund", "payout")
MAX_COMMANDS: Final = 1_000


class SimulatedCommand(OfSandbox):
    """An action at a moment of a simulated month; which fields count depends on `what`.

    - `script`: the next attempt on `phone` runs `scenario`.
    - `charge`: asks `phone`, of `provider`, for `amount_minor` for an `order`.
    - `intent` and `confirm`: do the same in two steps, one after the other.
    - `pin`: enters the right PIN on `phone`.
    - `refund`: sends back `amount_minor` of the payment by `phone` for `order`, or with 0 all that is left.
    - `payout`: pays out the available balance, if there is any.
    """

    at_ms: Annotated[int, Meta(ge=0, le=MAX_AT_MS), meaning("Milliseconds since 1970; not before the command before.")]
    what: Annotated[str, meaning(enum=[*SIMULATED])]
    order: str = ""
    phone: str = ""
    provider: str = ""
    amount_minor: Minor = 0
    scenario: str = ""


class Simulate(OfSandbox):
    """Commands of a simulated month; `cursor` counts the commands before them."""

    simulation: Annotated[str, meaning("A name that the client chooses.", pattern="^[0-9A-Za-z]{1,40}$")]
    cursor: Annotated[int, Meta(ge=0, le=2**53), meaning("How many commands of the simulation came before.")] = 0
    commands: Annotated[list[SimulatedCommand], meaning(maxItems=MAX_COMMANDS)] = field(default_factory=list)


class Simulated(OfSandbox):
    """The progress of a simulation: `cursor` counts its finished commands, `done` those after the request's cursor."""

    simulation: str
    cursor: NeverNegative
    done: NeverNegative
    object: Annotated[str, meaning(const="simulation")] = "simulation"


class WasReset(OfSandbox):
    """The result of a reset, which keeps the clock, the keys and the webhook endpoints."""

    endpoints: list[str]
    object: Annotated[str, meaning(const="reset")] = "reset"


class Handset(OfSandbox):
    """A customer's phone: its screen, the charge of the prompt, and whether the prompt waits for an answer."""

    phone: str
    operator: Annotated[str, by_register(lambda gaps: {"enum": [*OFFERED[gaps.zed_mobile]]})]
    screen: str
    state: Annotated[str, meaning(enum=["idle", *dict.fromkeys(ussd.SCREEN_TEXTS)])]
    waiting: bool
    tries_left: Positive | None
    expires_at: Seconds | None
    queued: NeverNegative
    charge: ChargeId | None
    object: Annotated[str, meaning(const="phone")] = "phone"


class Input(OfSandbox):
    """The text typed on a handset, such as a PIN; the sandbox does not keep it."""

    text: Annotated[str, meaning(f"The PIN; {SANDBOX_PIN} is right.", pattern="^[0-9]{4}$")]

    def __repr__(self) -> str:
        return f"Input({'•' * len(self.text)})"


class Message(OfSandbox):
    """An operator's text message to a customer; `transaction` is the operator's reference, None if no money moved."""

    seq: int
    at: DateTime
    kind: Annotated[str, meaning(enum=[*ussd.RECEIPT_TEXTS])]
    sender: str
    text: str
    amount_minor: Positive
    currency: str
    merchant: str
    transaction: str | None
    object: Annotated[str, meaning(const="message")] = "message"


class PhonesQuery(View):
    """Names the payment whose customer's handset comes first in the list."""

    payment: Annotated[str, parameter("The payment whose customer's handset comes first.")] | None = None


MAX_ANSWERS: Final = 100


class Script(OfSandbox):
    """Outcomes of the next attempts on a number, in order."""

    phone: Phone
    answers: Annotated[list[str], meaning(items={"enum": [*SCRIPTABLE]}, maxItems=MAX_ANSWERS)]


class Scripted(OfSandbox):
    """The remaining outcomes of a number's script."""

    phone: str
    answers: Annotated[list[str], meaning(items={"enum": [*SCRIPTABLE]})]
    object: Annotated[str, meaning(const="operator_script")] = "operator_script"


MAX_OUTAGE_S: Final = 30 * 86_400


class Outage(OfSandbox):
    """Takes an operator down for `seconds` from now; 0 ends the outage."""

    provider: OperatorName
    seconds: Annotated[Decimal, seconds_up_to(MAX_OUTAGE_S)]


class OperatorState(OfSandbox):
    """An operator, and the end of its outage; None if the operator is up."""

    provider: Annotated[str, by_register(lambda gaps: {"enum": [*OFFERED[gaps.zed_mobile]]})]
    down_until: Seconds | None
    object: Annotated[str, meaning(const="operator")] = "operator"


class OperatorQuery(OfSandbox):
    """Asks the operator for the outcome of a charge."""

    charge: str


class TestNumber(OfSandbox):
    """The last seven digits of a test number, the same for every operator, and its scenario in words."""

    ending: Annotated[str, meaning(pattern="^[0-9]{7}$")]
    says: str


class OfferedOperator(OfSandbox):
    """A mobile network operator with wallets; `prefixes` are the two digits after +260."""

    id: str
    name: str
    prefixes: list[str]


class OfferedScenarios(OfSandbox):
    """Scenarios on offer: by test numbers and by the header Sandbox-Scenario; `pin` opens every wallet."""

    test_numbers: list[TestNumber]
    scenarios: Annotated[list[str], meaning(items={"enum": [*SCRIPTABLE]})]
    failures: Annotated[dict[str, str], meaning("Why money did not move: a code, and a sentence for a person.")]
    operators: list[OfferedOperator]
    pin: str
    object: Annotated[str, meaning(const="scenarios")] = "scenarios"

    @classmethod
    def from_register(cls, gaps: Gaps) -> "OfferedScenarios":
        """The scenarios that are available with this register."""
        numbers = [TestNumber(number.ending, number.says) for number in TEST_NUMBERS.values()]
        offered = OFFERED[gaps.zed_mobile].values()
        operators = [OfferedOperator(operator.id, operator.name, [*operator.prefixes]) for operator in offered]
        return cls(numbers, [*SCRIPTABLE], {**FAILURES}, operators, SANDBOX_PIN)


DASHBOARD: Final = "/sandbox/dashboard"
"""The path prefix, instead of `/v1`, of operations that only the sandbox's dashboard has and the interface lacks."""
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
    key: Annotated[str, meaning("The key that the request was sent with, masked; empty if it had none.")]
    idempotency_key: str | None
    object: Annotated[str, meaning(const="request")] = "request"


class PaymentsQuery(FindQuery):
    """Filters payments by id, description or a number's last digits; by state, operator and amount."""

    status: Annotated[str, comma_separated("Only payments in one of these states", enum=PAYMENT_STATES)] | None = None
    provider: Annotated[str, parameter("Only payments of this operator.")] | None = None
    min_minor: Annotated[Seq, parameter("Only payments of this amount or more, in minor units.")] | None = None
    max_minor: Annotated[Seq, parameter("Only payments of this amount or less, in minor units.")] | None = None


class RequestsQuery(FindQuery):
    """Filters requests by Request-Id, path, payment or idempotency key; by method and the status's first digit."""

    method: Annotated[str, parameter("Only requests of this method.")] | None = None
    status: (
        Annotated[int, Meta(ge=1, le=5, description="Only requests whose status begins with this digit.")] | None
    ) = None


class PaymentDetails(View):
    """Everything about one payment; `steps` are the rows of its trace as arrows of a sequence diagram."""

    payment: Payment
    events: list[PaymentEvent]
    deliveries: list[Delivery]
    trace: list[TraceRow]
    steps: list[TraceStep]
    object: Annotated[str, meaning(const="payment_details")] = "payment_details"


class Code(OfSandbox):
    """A request as code to copy, with names in place of the keys."""

    curl: str
    python: str
    javascript: str
    object: Annotated[str, meaning(const="code")] = "code"


class CodeQuery(View):
    """Asks for code that calls the sandbox at this address."""

    base_url: Annotated[str, Meta(max_length=200, description="Written instead of `$BASE_URL`.")] = ""


CHANGED: Final = ("payment", "delivery", "prompt", "request", "entry", "clock")
"""Kinds of changed objects. A payment is an intent, or a charge without an intent; a prompt is on a handset."""


class Change(OfSandbox):
    """A changed object and the `seq` of its last change; the clock, which has no `seq` of its own, gets the latest."""

    seq: int
    kind: Annotated[str, meaning(enum=[*CHANGED])]
    id: Annotated[str, meaning("The object's id; for a prompt the customer's number, for the clock `clock`.")]


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
        """The page as Server-Sent Events, whose ids are the rows' `seq`; an empty page becomes a comment."""
        rows = [(change.seq, "message", to_json(change)) for change in self.data]
        if self.reset:
            rows = [(self.last_seq, "reset", to_json({"last_seq": self.last_seq}))]
        texts = [b"id: %d\nevent: %s\ndata: %s\n\n" % (seq, name.encode(), data) for seq, name, data in rows]
        return b"".join(texts) or b":\n\n"


class ChangesQuery(View):
    """Asks for the changes after a `seq`."""

    after: Annotated[Seq, parameter("Only changes after this `seq`; without `after`, changes from now on.")] | None = (
        None
    )
