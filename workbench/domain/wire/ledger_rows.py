"""Rows of the ledger, and the bodies that settle a difference."""

from collections.abc import Mapping
from typing import Annotated, ClassVar, Final

from msgspec import UNSET, Meta, UnsetType

from workbench.domain.ledger import SETTLEMENTS, TRACKED
from workbench.domain.wire.base import OfSandbox, Schema, View, meaning, parameter
from workbench.domain.wire.field_types import (
    MaskedPhone,
    Minor,
    Moment,
    NeverNegative,
    Positive,
    Seq,
    UpperCurrency,
    comma_separated,
)


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
    amount_minor: Positive
    currency: str
    external_reference: str | None


class LedgerMovement(OfSandbox):
    """A movement of one account by an entry, as a statement would list it.

    `key` is the other side's id of the movement, `batch` its id of the batch that the movement is a part of.
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
    """Asks for rows of the `limit` entries after the entry numbered `after`; without a limit, of all later entries."""

    after: Annotated[Seq, parameter("The number of an entry: only entries after it.")] = 0
    limit: Annotated[int, Meta(ge=1, le=10_000, description="How many rows at most.")] | None = None


class MovementsQuery(EntriesQuery):
    """Filters movements by accounts, separated by commas; by default, the accounts with an operator or the bank."""

    account: Annotated[str, comma_separated("Those on these accounts", pattern="^[a-z0-9_:]+$")] | None = None


class LedgerVerified(OfSandbox):
    """The check of the chain: its length and head, or the place and reason of a break."""

    holds: bool
    entries: int | UnsetType = UNSET
    head: str | UnsetType = UNSET
    message: str | UnsetType = UNSET
    entry: str | UnsetType = UNSET
    place: int | UnsetType = UNSET
    damage: str | UnsetType = UNSET
    object: str = "ledger"


SETTLED_BY: Final[Mapping[str, str]] = {"credit": "suspense_settled", "return": "suspense_returned"}
"""The fate of late money, `credit` or `return` → the recipe."""


def _settles(*, entry: bool, fee: bool) -> Schema:
    """Fields that the recipes of one sort need: an entry, or the account, the reference and the amount."""
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
    currency: UpperCurrency = "ZMW"
    account: Annotated[str, meaning(enum=[*TRACKED])] | None = None
    reference: Annotated[str, meaning(minLength=1)] | None = None
    entry: str | None = None
    occurred_at: Moment | None = None
    description: str = ""


class SettleSuspense(OfSandbox):
    """Settles late money: `credit` it to the merchant, or `return` it to the customer."""

    how: Annotated[str, meaning(enum=[*SETTLED_BY])]
