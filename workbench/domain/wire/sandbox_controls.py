"""Bodies of the sandbox's clock, of deprecations, resets and simulated months."""

from decimal import Decimal
from typing import Annotated, ClassVar, Final

from msgspec import UNSET, Meta, UnsetType, field

from workbench.domain.wire.base import OfSandbox, meaning
from workbench.domain.wire.field_types import MAX_AT_MS, DateTime, Minor, Moment, NeverNegative, seconds_up_to

MAX_ADVANCE_S = 10 * 366 * 86_400


class Clock(OfSandbox):
    """The sandbox's clock; `mode` is manual or running.

    `seq` is the place of the latest thing that happened, in the order of the trace.
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
    sunset_at: Annotated[Moment, meaning("When it is gone, not before it is deprecated.")] | None = None


class Deprecated(OfSandbox):
    """An operation and the moments in its headers; None if it is not marked."""

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

    `script`: the next attempt on `phone` runs `scenario`. `charge`: asks `phone`, of `provider`, for `amount_minor` for
    an `order`; `intent` and `confirm` do so in two steps, one after the other. `pin`: enters the right PIN. `refund`:
    sends back `amount_minor` of the payment by `phone` for `order`, or with 0 all that is left. `payout`: pays out the
    available balance, if there is any.
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


class Simulated(OfSandbox):
    """The progress of a simulation: `cursor` counts its finished commands, `done` those since the cursor sent."""

    simulation: str
    cursor: NeverNegative
    done: NeverNegative
    object: Annotated[str, meaning(const="simulation")] = "simulation"


class WasReset(OfSandbox):
    """The result of a reset, which keeps the clock, the keys and the webhook endpoints."""

    endpoints: list[str]
    object: Annotated[str, meaning(const="reset")] = "reset"
