"""Bodies of the sandbox's clock, of deprecations, resets and simulated months."""

from decimal import Decimal
from typing import Annotated, ClassVar, Final

from msgspec import UNSET, Meta, UnsetType, field

from workbench.domain.wire.base import OfSandbox, meaning
from workbench.domain.wire.fields import MAX_AT_MS, DateTime, Minor, Moment, NeverNegative, seconds_up_to

MAX_ADVANCE_S = 10 * 366 * 86_400


class Clock(OfSandbox):
    """The sandbox's clock; `mode` is manual or running.

    `seq` is the place of the latest thing that happened, in the order of the trace: what has it has seen all.
    """

    mode: Annotated[str, meaning(enum=["manual", "running"])]
    now: DateTime
    now_ms: int
    business_date: Annotated[str, meaning("In Lusaka.", format="date")]
    seq: int
    object: Annotated[str, meaning(const="clock")] = "clock"


class Advance(OfSandbox):
    """By how much the clock moves: what is named adds up."""

    __whole__: ClassVar = {"anyOf": [{"required": [name]} for name in ("seconds", "minutes", "hours", "days")]}
    seconds: Annotated[Decimal, seconds_up_to(MAX_ADVANCE_S)] | UnsetType = UNSET
    minutes: Annotated[int, Meta(ge=0, le=MAX_ADVANCE_S // 60), meaning("Whole minutes.")] | UnsetType = UNSET
    hours: Annotated[int, Meta(ge=0, le=MAX_ADVANCE_S // 3600), meaning("Whole hours.")] | UnsetType = UNSET
    days: Annotated[int, Meta(ge=0, le=MAX_ADVANCE_S // 86_400), meaning("Whole days.")] | UnsetType = UNSET


class Deprecate(OfSandbox):
    """Mark an operation as one that will be gone, from a moment on, now without one; or `marked` false, no more."""

    marked: bool = True
    deprecated_at: Moment | None = None
    sunset_at: Annotated[Moment, meaning("When it is gone, not before it is deprecated.")] | None = None


class Deprecated(OfSandbox):
    """An operation and the moments of its headers; none where it is not marked."""

    operation: str
    deprecated_at: DateTime | None = None
    sunset_at: DateTime | None = None


class ReliedRow(OfSandbox):
    """A row of the register that something relied on: calls and webhooks, the most frequent first."""

    name: str
    used_by: list[str]
    object: Annotated[str, meaning(const="gap")] = "gap"


SIMULATED: Final = ("script", "charge", "intent", "confirm", "pin", "refund", "payout")
MAX_COMMANDS: Final = 1_000


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


class Simulated(OfSandbox):
    """Where a simulation goes on: `cursor` is how many of its commands are done, `done` how many since the one sent."""

    simulation: str
    cursor: NeverNegative
    done: NeverNegative
    object: Annotated[str, meaning(const="simulation")] = "simulation"


class WasReset(OfSandbox):
    """What a reset left: the clock, the keys and the webhook endpoints."""

    endpoints: list[str]
    object: Annotated[str, meaning(const="reset")] = "reset"
