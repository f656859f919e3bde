"""The parameters of a query string, one struct for each kind of operation that reads any."""

from typing import Annotated, Final

from msgspec import Meta

from workbench.domain.wire.shown import Shown

UNSEEN: Final = "Sandbox-Unseen"
"""The header of a GET that leaves no trace: whoever only looks changes nothing, not even the next number."""
Limit = Annotated[int, Meta(ge=1, le=100)]
EntryLimit = Annotated[int, Meta(ge=1, le=10_000)]
Search = Annotated[str, Meta(min_length=1, max_length=100)]
Seq = Annotated[int, Meta(ge=0, le=2**63 - 1)]


class ClientSecretQuery(Shown):
    """What a publishable key needs beside it."""

    client_secret: str | None = None


class ListQuery(Shown):
    """A page, newest first: `limit` rows older than the id `starting_after`, newer than `ending_before`, or between."""

    limit: Limit = 10
    starting_after: str | None = None
    ending_before: str | None = None


class RefundsQuery(ListQuery):
    """Those of one charge."""

    charge: str | None = None


class EventsQuery(ListQuery):
    """Those of one type, or of a family such as `charge.*`; from a moment of RFC 3339 on; in which a text stands."""

    type: str | None = None
    created_since: str | None = None
    search: Search | None = None


class DeliveriesQuery(ListQuery):
    """Those in one of several states, separated by commas, of one event, to one endpoint."""

    status: str | None = None
    event: str | None = None
    endpoint: str | None = None


class BalancesQuery(Shown):
    """What had occurred by `as_of` and was recorded by `known_at`, moments of RFC 3339."""

    as_of: str | None = None
    known_at: str | None = None


class EntriesQuery(Shown):
    """Rows of the `limit` entries after the one of the number `after`; without a limit, of all of them."""

    after: Seq = 0
    limit: EntryLimit | None = None


class MovementsQuery(EntriesQuery):
    """Those of some accounts, separated by commas; without any, of those that somebody else keeps books of too."""

    account: str | None = None


class TraceQuery(Shown):
    """What came after a `seq`."""

    since: Seq = 0
