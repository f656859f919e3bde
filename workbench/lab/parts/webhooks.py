"""The webhooks of one payment: what was sent, and what the merchant's receiver made of it."""

from collections.abc import Mapping, Sequence

from workbench.domain import wire
from workbench.domain.masking import mask, shortened
from workbench.domain.moments import rfc3339
from workbench.domain.wire.trace import webhook_of
from workbench.lab.parts.part import BoardSection, Message, Values
from workbench.lab.parts.seen import Gathered, Rows, TraceRow, json_in, pretty
from workbench.lab.parts.words import lusaka
from workbench.lab.views import WARN, Action, Actions, Code, Grid, Item, Note, Row, Section, headings
from workbench.receiver import Arrival
from workbench.session import Session

_NO_RECEIVER = (
    "Nothing here receives webhooks yet. The receiver listens on a free port of this machine and is registered "
    "with the sandbox, until the bench is closed; what happens from then on arrives there."
)
_HOW = (
    "Verified: the signature, HMAC-SHA256 over webhook-id.webhook-timestamp.body with the endpoint's secret, is that "
    "of these very bytes, and the timestamp is at most five minutes off. Then the id is looked up: what came before "
    "is answered 200 and not handled again."
)
_CODE = """bench.receiver


@bench.receiver.on("payment_intent.succeeded")
def ship(event):
    print(event.data.object["id"])"""


class WebhooksSection(BoardSection):
    """What was sent about a payment, and whether it was genuine."""

    id = "webhooks"
    handlers = ("start",)

    def __init__(self, session: Session, gathered: Gathered) -> None:
        self._session = session
        self._gathered = gathered

    def section(self) -> Section:
        """One row for each event."""
        items: list[Item] = []
        if self._session.started is None:
            # To ask for the receiver would start one.
            start = Action("start", "Start the receiver")
            items += [Note(_NO_RECEIVER, WARN), Actions("Receiver", (start,))]
        items.append(webhooks(self._gathered.rows, self._gathered.arrivals, self._gathered.deliveries))
        return Section(self.id, "Webhooks", tuple(items))

    def start(self, _on: str, _values: Values) -> Message:
        """Let the bench's receiver listen."""
        _ = self._session.receiver  # asking for it starts it
        return Message("The receiver listens: what happens from now on arrives there.", code=(Code("Python", _CODE),))


def webhooks(rows: Rows, arrivals: Sequence[Arrival], deliveries: Mapping[str, wire.Delivery]) -> Grid:
    """The attempts among a payment's rows, one line for each event and endpoint."""
    by_delivery: dict[str, list[TraceRow]] = {}
    for row in rows:
        if row["kind"] == "webhook":
            by_delivery.setdefault(webhook_of(row).delivery, []).append(row)
    came = _by_event(arrivals)
    shown = tuple(
        _row(each, came.get(webhook_of(each[0]).event, []), deliveries.get(name)) for name, each in by_delivery.items()
    )
    columns = headings("time", "event", "attempts", "signature", "handled")
    return Grid("Webhooks of this payment", columns, shown, "None was sent yet.")


def verified_at(rows: Rows, arrivals: Sequence[Arrival]) -> str:
    """When the webhook of a payment's success was found genuine: the time in Lusaka, or nothing."""
    came = _by_event(arrivals)
    for row in rows:
        is_end = row["kind"] == "webhook" and str(row["what"]).endswith(".succeeded")
        if is_end and any(each.verdict in {"accepted", "failed"} for each in came.get(webhook_of(row).event, [])):
            return lusaka(row["at"])[1]
    return ""


def _by_event(arrivals: Sequence[Arrival]) -> dict[str, list[Arrival]]:
    found: dict[str, list[Arrival]] = {}
    for each in arrivals:
        body = json_in(each.body.decode("utf-8", "replace"))
        name = body.get("id") if isinstance(body, dict) else None
        found.setdefault(str(name or each.headers.get("webhook-id", "")), []).append(each)
    return found


def _row(rows: Rows, arrivals: Sequence[Arrival], delivery: wire.Delivery | None) -> Row:
    first, last = rows[0], rows[-1]
    attempts = f"{len(rows)}, {_result(last)}"
    if delivery is not None and delivery.next_attempt_at:
        attempts += f", next at {lusaka(rfc3339(delivery.next_attempt_at * 1000))[1]}"
    cells = (lusaka(first["at"])[1], str(first["what"]), attempts, *_verdicts(arrivals))
    return Row(webhook_of(first).delivery, cells, more=_more(rows, arrivals), more_label="Message")


def _result(row: TraceRow) -> str:
    return shortened(str(row["result"]), 40)


def _verdicts(arrivals: Sequence[Arrival]) -> tuple[str, str]:
    """What a receiver made of the messages of one event: whether they were verified, and handled."""
    verdicts = [each.verdict for each in arrivals]
    if not verdicts:
        return "not received here", "no"
    reasons = {each.verdict: each.reason for each in reversed(arrivals)}  # the first of each
    is_verified = any(each != "refused" for each in verdicts)
    verified = "✓ verified" if is_verified else f"✗ {reasons['refused']}"
    if "accepted" in verdicts:
        again = verdicts.count("duplicate")
        return verified, f"✓ once; {again} repeated" if again else "✓ once"
    failed = reasons.get("failed")
    return verified, f"✗ {shortened(failed, 60)}" if failed else "no"


def _more(rows: Rows, arrivals: Sequence[Arrival]) -> tuple[Item, ...]:
    attempts = Grid(
        "Attempts",
        headings("attempt", "time", "answer", "the receiver said", numeric=("attempt",)),
        tuple(
            Row(str(place), (str(place), lusaka(row["at"])[1], _result(row), shortened(_receiver_text(row), 80)))
            for place, row in enumerate(rows, 1)
        ),
    )
    last = webhook_of(rows[-1])
    head = "\n".join(f"{name}: {value}" for name, value in last.headers.items())
    message = Code("The message, secrets masked", mask(f"{head}\n\n{pretty(last.body)}"))
    reasons = sorted({each.reason for each in arrivals if each.verdict in {"refused", "failed"}})
    return (attempts, *(Note(each, WARN) for each in reasons), message, Note(_HOW))


def _receiver_text(row: TraceRow) -> str:
    attempt = webhook_of(row)
    return attempt.fault or attempt.answer or ""
