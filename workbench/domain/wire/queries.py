"""The parameters of paths and of query strings; one struct for each kind of operation that reads any of a query."""

from typing import Annotated, Final

from msgspec import Meta

from workbench.domain.webhooks import DEAD_LETTER, DELIVERED, PENDING
from workbench.domain.wire.fields import EVENT_NAMES, MOMENT, PHONE, parameter
from workbench.domain.wire.shown import View

UNSEEN: Final = "Sandbox-Unseen"
"""The header of a GET that leaves no trace: whoever only looks changes nothing, not even the next number."""

# In a path
PathIntent = Annotated[str, parameter("The intent's id.", pattern="^pi_[0-9A-Za-z]+$")]
PathCharge = Annotated[str, parameter("The charge's id.", pattern="^ch_[0-9A-Za-z]+$")]
PathRefund = Annotated[str, parameter("The refund's id.", pattern="^re_[0-9A-Za-z]+$")]
PathPayout = Annotated[str, parameter("The payout's id.", pattern="^po_[0-9A-Za-z]+$")]
PathEvent = Annotated[str, parameter("The event's id.", pattern="^evt_[0-9A-Za-z]+$")]
PathEndpoint = Annotated[str, parameter("The webhook endpoint's id.", pattern="^we_[0-9A-Za-z]+$")]
PathDelivery = Annotated[str, parameter("The delivery's id.", pattern="^del_[0-9A-Za-z]+$")]
PathKey = Annotated[str, parameter("The key's id, not the key.", pattern="^key_[0-9A-Za-z]+$")]
PathEntry = Annotated[str, parameter("The ledger entry's id.", pattern="^je_[0-9A-Za-z]+$")]
PathPhone = Annotated[str, parameter("The customer's number.", **PHONE)]

# In a query
Limit = Annotated[int, Meta(ge=1, le=100, description="How many rows at most.")]
EntryLimit = Annotated[int, Meta(ge=1, le=10_000, description="How many rows at most.")]
Seq = Annotated[int, Meta(ge=0, le=2**63 - 1)]
_Search = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=100,
        description="Those in whose payload this text stands; of three digits and more, also those of a number that "
        "ends so.",
    ),
]
_States = parameter(
    "Those in one of these states, separated by commas.",
    type="array",
    items={"type": "string", "enum": [PENDING, DELIVERED, DEAD_LETTER]},
    minItems=1,
)
_Accounts = parameter(
    "Those on these accounts, separated by commas.",
    type="array",
    items={"type": "string", "pattern": "^[a-z0-9_:]+$"},
    minItems=1,
)


class ClientSecretQuery(View):
    """What a publishable key needs beside it."""

    client_secret: (
        Annotated[str, parameter("The intent's; needed with a publishable key, checked whenever sent.")] | None
    ) = None


class ListQuery(View):
    """A page, newest first: `limit` rows older than the id `starting_after`, newer than `ending_before`, or between."""

    limit: Limit = 10
    starting_after: Annotated[str, parameter("The id of a row: those older than it.")] | None = None
    ending_before: (
        Annotated[str, parameter("The id of a row: those newer than it; with `starting_after`, those between.")] | None
    ) = None


class RefundsQuery(ListQuery):
    """Those of one charge."""

    charge: Annotated[str, parameter("Those of this charge.")] | None = None


class EventsQuery(ListQuery):
    """Those of one type, or of a family such as `charge.*`; from a moment of RFC 3339 on; in which a text stands."""

    type: Annotated[str, parameter("Those of this type, or of a family.", enum=EVENT_NAMES)] | None = None
    created_since: Annotated[str, parameter("Those of this moment and later.", **MOMENT)] | None = None
    search: _Search | None = None


class DeliveriesQuery(ListQuery):
    """Those in one of several states, separated by commas, of one event, to one endpoint."""

    status: Annotated[str, _States] | None = None
    event: Annotated[str, parameter("Those of this event.")] | None = None
    endpoint: Annotated[str, parameter("Those to this endpoint.")] | None = None


class BalancesQuery(View):
    """What had occurred by `as_of` and was recorded by `known_at`, moments of RFC 3339."""

    as_of: Annotated[str, parameter("What had occurred by this moment.", **MOMENT)] | None = None
    known_at: Annotated[str, parameter("What was recorded by this moment.", **MOMENT)] | None = None


class EntriesQuery(View):
    """Rows of the `limit` entries after the one of the number `after`; without a limit, of all of them."""

    after: Annotated[Seq, parameter("The number of an entry: those that follow it.")] = 0
    limit: EntryLimit | None = None


class MovementsQuery(EntriesQuery):
    """Those of some accounts, separated by commas; without any, of those that somebody else keeps books of too."""

    account: Annotated[str, _Accounts] | None = None


class TraceQuery(View):
    """What came after a `seq`."""

    since: Annotated[Seq, parameter("What came after this `seq`.")] = 0
