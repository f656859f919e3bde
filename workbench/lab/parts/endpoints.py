"""Webhook endpoints: where events go, which of them, signed with what, and how deliveries are made to misbehave."""

from typing import ClassVar, Final

from workbench.domain import wire
from workbench.domain.masking import Secret
from workbench.domain.webhooks import DISABLED, ENABLED, FAULTS
from workbench.lab.parts.pages import Pages
from workbench.lab.parts.part import BoardSection, Handler, Message, Reveal, Values
from workbench.lab.parts.source import Source
from workbench.lab.parts.words import when
from workbench.lab.views import Action, Actions, Facts, Field, Form, Grid, Item, Row, Section, headings

_PATH: Final = "/v1/webhook_endpoints"
_STATUS: Final = {ENABLED: "enabled", DISABLED: "paused"}
_HINT: Final = "* for all, or types and families, separated by commas: charge.*, refund.failed"
_FAULT_LABELS: Final = {"duplicate": "Deliver everything twice", "out_of_order": "Deliver out of order"}
_TAKES: Final = "bench.receiver.secrets.append({}.secret)"
"""What makes the bench's own receiver know the new secret."""
_PAUSED: Final = (
    "Paused: nothing is sent there. What waits becomes a dead letter when it is due; what happens meanwhile is sent "
    "nowhere, and can be replayed from the events once it is enabled."
)
_MASKED: Final = "whsec_••••"


class EndpointsSection(BoardSection):
    """The endpoints, newest first. The bench's own receiver is handed the secrets that it needs."""

    id = "endpoints"

    def __init__(self, source: Source) -> None:
        self._source = source
        self._pages = Pages[wire.WebhookEndpoint](lambda: source.looking.webhook_endpoints)

    def section(self) -> Section:
        """What is to be seen now."""
        faults = {each.id: each.faults for each in self._source.control.delivery_faults()}
        rows = tuple(self._row(each, faults.get(each.id, [])) for each in self._pages.rows())
        columns = headings("URL", "Events", "Status", "Signing secret")
        return Section(
            self.id,
            "Developers: webhook endpoints",
            (Grid("Endpoints", columns, rows, "None: events go nowhere."), *self._pages.buttons("Endpoints"), _new()),
            wide=True,
        )

    def add(self, on: str, values: Values) -> Message:
        """Register an endpoint."""
        url, event_types = values.get("url", "").strip(), _event_types(values)
        made = self._source.pay.webhook_endpoints.create(url=url, enabled_events=event_types)
        also = self._handed_over(made)
        return Message(
            f"Added: events go to {url}. Copy the signing secret now, it is shown this once.{also}",
            code=self._source.code("POST", _PATH, {"url": url, "enabled_events": event_types}),
            reveal=_reveal(made),
        )

    def save(self, on: str, values: Values) -> Message:
        """Another address or filter."""
        body = {"url": values.get("url", "").strip(), "enabled_events": _event_types(values)}
        self._source.pay.webhook_endpoints.update(on, url=str(body["url"]), enabled_events=_event_types(values))
        return Message("Saved.", code=self._source.code("PATCH", f"{_PATH}/{on}", body))

    def pause(self, on: str, values: Values) -> Message:
        """Send nothing there for now."""
        return self._turned(on, DISABLED, _PAUSED)

    def enable(self, on: str, values: Values) -> Message:
        """Send there again."""
        return self._turned(on, ENABLED, "Enabled: events go there from now on; dead letters can be replayed.")

    def roll(self, on: str, values: Values) -> Message:
        """A new secret; for a day messages are signed with both."""
        made = self._source.pay.webhook_endpoints.roll_secret(on)
        until = f" Until {when(made.secret_overlap_until)} messages are signed with the one before too."
        return Message(
            f"Rolled.{until} Copy the new secret now, it is shown this once.{self._handed_over(made)}",
            code=self._source.code("POST", f"{_PATH}/{on}/roll_secret", python=_TAKES if self._is_own(made) else "{}"),
            reveal=_reveal(made),
        )

    def delete(self, on: str, values: Values) -> Message:
        """Remove it."""
        self._source.pay.webhook_endpoints.delete(on)
        return Message("Deleted: nothing more is sent there.", code=self._source.code("DELETE", f"{_PATH}/{on}"))

    def misbehave(self, on: str, values: Values) -> Message:
        """Make deliveries misbehave, or behave again."""
        faults = [each for each in FAULTS if values.get(each)]
        self._source.session.control.set_delivery_faults(on, faults)
        says = " and ".join(_FAULT_LABELS[each].lower() for each in faults)
        return Message(
            f"From now on: {says}." if faults else "Deliveries behave again.",
            code=self._source.code("POST", f"/sandbox/webhook_endpoints/{on}/faults", {"faults": faults}),
        )

    def turn(self, on: str, values: Values) -> None:
        """Another page."""
        self._pages.turn(on)

    def _turned(self, on: str, status: str, text: str) -> Message:
        self._source.pay.webhook_endpoints.update(on, status=status)
        return Message(text, code=self._source.code("PATCH", f"{_PATH}/{on}", {"status": status}))

    def _handed_over(self, made: wire.WebhookEndpoint) -> str:
        """The bench's own receiver verifies with the new secret too."""
        if not self._is_own(made):
            return ""
        self._source.session.receiver.secrets.append(Secret(made.secret))
        return " The bench's own receiver has it already."

    def _is_own(self, endpoint: wire.WebhookEndpoint) -> bool:
        return endpoint.url == self._source.session.receiver_url

    def _row(self, endpoint: wire.WebhookEndpoint, faults: list[str]) -> Row:
        status = ", ".join(
            [_STATUS.get(endpoint.status, endpoint.status), *(each.replace("_", " ") for each in faults)]
        )
        secret = "two, for a while" if endpoint.secret_overlap_until else _MASKED
        cells = (endpoint.url, ", ".join(endpoint.enabled_events), status, secret)
        return Row(
            endpoint.id, cells, more=_managed(endpoint, faults, is_own=self._is_own(endpoint)), more_label="Manage"
        )

    handlers: ClassVar[dict[str, Handler]] = {
        "add": add, "save": save, "pause": pause, "enable": enable, "roll": roll, "delete": delete,
        "misbehave": misbehave, "turn": turn,
    }  # fmt: skip


def _managed(endpoint: wire.WebhookEndpoint, faults: list[str], *, is_own: bool) -> tuple[Item, ...]:
    until = when(endpoint.secret_overlap_until) if endpoint.secret_overlap_until else ""
    own = " The bench's own receiver would hear nothing more." if is_own else ""
    facts = [("Id", endpoint.id), ("Made (Lusaka)", when(endpoint.created))]
    facts += [("Signed with both secrets until", until)] if until else []
    facts += [("It is", "this bench's own receiver, bench.receiver")] if is_own else []
    checks = tuple(Field(each, _FAULT_LABELS[each], "yes" if each in faults else "", "check") for each in FAULTS)
    return (
        Facts(tuple(facts)),
        Form(
            f"edit-{endpoint.id}",
            "Address and filter",
            (
                Field("url", "URL", endpoint.url),
                Field("events", "Events", ", ".join(endpoint.enabled_events), hint=_HINT),
            ),
            (Action("save", "Save", endpoint.id, primary=True),),
            row=True,
        ),
        Form(
            f"faults-{endpoint.id}",
            "To test a receiver",
            checks,
            (Action("misbehave", "Set faults", endpoint.id),),
            row=True,
        ),
        Actions(
            "This endpoint",
            (
                _switch(endpoint),
                Action(
                    "roll",
                    "Roll secret",
                    endpoint.id,
                    confirm="A new secret; for a day the old one signs too. Roll it?",
                ),
                Action("delete", "Delete", endpoint.id, confirm=f"Nothing more is sent there.{own} Delete it?"),
            ),
        ),
    )


def _switch(endpoint: wire.WebhookEndpoint) -> Action:
    if endpoint.status == ENABLED:
        return Action("pause", "Pause", endpoint.id)
    return Action("enable", "Enable", endpoint.id)


def _new() -> Form:
    fields = (
        Field("url", "URL", hint="Of this machine, such as http://127.0.0.1:8000/webhooks"),
        Field("events", "Events", "*", hint=_HINT),
    )
    return Form("new", "A new endpoint", fields, (Action("add", "Add endpoint", primary=True),), row=True)


def _event_types(values: Values) -> list[str]:
    return [each.strip() for each in values.get("events", "").split(",") if each.strip()]


def _reveal(endpoint: wire.WebhookEndpoint) -> Reveal:
    return Reveal("Signing secret", str(endpoint.secret))
