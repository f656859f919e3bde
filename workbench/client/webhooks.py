"""Webhooks: endpoints, events, deliveries, dead letters and replay. Assumed, but for what section 6 shows."""

from collections.abc import Iterator, Sequence

from workbench.client.resource import Listed, listed
from workbench.domain import wire


class WebhookEndpoints(Listed[wire.WebhookEndpoint]):
    """Where events go; the interface does not show how an endpoint is registered."""

    _path, _shape, _page = "/v1/webhook_endpoints", wire.WebhookEndpoint, wire.List[wire.WebhookEndpoint]

    def create(self, *, url: str, enabled_events: Sequence[str] = ("*",)) -> wire.WebhookEndpoint:
        """Register an endpoint; the answer holds its signing secret, this once."""
        body = {"url": url, "enabled_events": listed("enabled_events", enabled_events, "charge.*")}
        return self._client.calls.send("POST", self._url(), wire.WebhookEndpoint, body=body)

    def update(
        self,
        endpoint_id: str,
        *,
        url: str | None = None,
        enabled_events: Sequence[str] | None = None,
        status: str | None = None,
    ) -> wire.WebhookEndpoint:
        """Change what is given; `status` is enabled or disabled."""
        wanted = None if enabled_events is None else listed("enabled_events", enabled_events, "charge.*")
        body = {"url": url, "enabled_events": wanted, "status": status}
        return self._client.calls.send("PATCH", self._url(endpoint_id), wire.WebhookEndpoint, body=body)

    def roll_secret(self, endpoint_id: str) -> wire.WebhookEndpoint:
        """A new signing secret, this once; for a day messages are signed with both."""
        return self._client.calls.send("POST", self._url(endpoint_id) + "/roll_secret", wire.WebhookEndpoint)

    def delete(self, endpoint_id: str) -> wire.Deleted:
        """Remove an endpoint: nothing more is sent there."""
        return self._client.calls.send("DELETE", self._url(endpoint_id), wire.Deleted)


class Events(Listed[wire.Event]):
    """What happened; `list` and `each` take `type`, `created_since` and `search`."""

    _path, _shape, _page = "/v1/events", wire.Event, wire.List[wire.Event]

    def list(
        self,
        *,
        limit: int = 10,
        starting_after: str | None = None,
        ending_before: str | None = None,
        type: str | None = None,  # noqa: A002  the field's name
        created_since: str | None = None,
        search: str | None = None,
    ) -> wire.List[wire.Event]:
        """A page, newest first.

        Of one `type` or a family such as `charge.*`; of the moment `created_since`, such as
        `2026-01-05T06:00:00Z`, and later; in which the text `search` stands, or of a number that ends so.
        """
        return self._listed(
            limit=str(limit),
            starting_after=starting_after,
            ending_before=ending_before,
            type=type,
            created_since=created_since,
            search=search,
        )

    def each(
        self,
        *,
        type: str | None = None,  # noqa: A002  the field's name
        created_since: str | None = None,
        search: str | None = None,
    ) -> Iterator[wire.Event]:
        """Every event, newest first; filtered as `list` is."""
        return self._every(type=type, created_since=created_since, search=search)

    def replay(self, event_id: str) -> wire.List[wire.Delivery]:
        """Send an event again to every enabled endpoint that wants it."""
        return self._client.calls.send("POST", self._url(event_id) + "/replay", wire.List[wire.Delivery])


class Deliveries(Listed[wire.Delivery]):
    """Events on their way to endpoints; `list` and `each` take `status`, `event` and `endpoint`."""

    _path, _shape, _page = "/v1/deliveries", wire.Delivery, wire.List[wire.Delivery]

    def list(
        self,
        *,
        limit: int = 10,
        starting_after: str | None = None,
        ending_before: str | None = None,
        status: str | None = None,
        event: str | None = None,
        endpoint: str | None = None,
    ) -> wire.List[wire.Delivery]:
        """A page, newest first; in one `status` or several, separated by commas, of one `event`, to one `endpoint`."""
        return self._listed(
            limit=str(limit),
            starting_after=starting_after,
            ending_before=ending_before,
            status=status,
            event=event,
            endpoint=endpoint,
        )

    def each(
        self, *, status: str | None = None, event: str | None = None, endpoint: str | None = None
    ) -> Iterator[wire.Delivery]:
        """Every delivery, newest first; filtered as `list` is."""
        return self._every(status=status, event=event, endpoint=endpoint)

    def replay(self, delivery_id: str) -> wire.Delivery:
        """Send it again: same event id and body, new timestamp and signature, the schedule from its beginning."""
        return self._client.calls.send("POST", self._url(delivery_id) + "/replay", wire.Delivery)

    def replay_dead_letters(self) -> wire.List[wire.Delivery]:
        """Send every dead letter again whose endpoint is enabled."""
        url = f"{self._client.base_url}/v1/dead_letters/replay"
        return self._client.calls.send("POST", url, wire.List[wire.Delivery])
