"""How far the payment has come: its timeline, its webhooks and what the receiver made of them."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from workbench.domain import wire
from workbench.domain.ids import short_id
from workbench.domain.masking import mask, shortened
from workbench.domain.moments import rfc3339
from workbench.domain.wire.trace_rows import call_of, screen_of, webhook_of
from workbench.lab import views
from workbench.lab.desk.gathered import LATEST, DeskSection, Rows, TraceRow, lusaka, object_in, pretty, short_path
from workbench.lab.sections import Message, Values
from workbench.receiver import Arrival
from workbench.snippets import snippet

_AT_REST = {"requires_payment_method", "succeeded", "failed", "canceled", "refunded"}
"""Statuses in which nothing happens until somebody asks for it."""
_DONE: Mapping[str, str] = {
    "payment_intents": "intent created",
    "confirm": "intent confirmed",
    "cancel": "intent canceled",
    "charges": "charge asked for",
    "refunds": "refund asked for",
}
"""What a call that succeeded has done, by the last segment of its path."""


def timeline(rows: Rows) -> views.Grid:
    """A line for each row of the trace."""
    days = sorted({lusaka(row["at"])[0] for row in rows})
    shown = []
    for row in rows:
        what, result = _TEXTS[row["kind"]](row)
        time = " ".join(lusaka(row["at"])) if len(days) > 1 else _time(row)
        shown.append(views.Row(f"{row['seq']}{row['kind']}", (time, shortened(what, 96), shortened(result, 48))))
    caption = f"Timeline{f' on {days[0]}' if len(days) == 1 else ''}, time in Lusaka"
    columns = views.headings("time", "what", "result")
    return views.Grid(caption, columns, tuple(shown), "Nothing yet: send a request.", cards=True)


def steps(rows: Rows, status: str, failure: str, verified: str) -> views.Steps:
    """How far a payment has come; `verified` says when a webhook about its end was found genuine, if it was."""
    if not rows:
        ahead = ("created", "prompt", "PIN", "paid", "webhook")
        return views.Steps("How far it is", tuple(views.Step(text, views.AHEAD) for text in ahead))
    prompted = _first(rows, lambda row: row["kind"] == "screen" and row["result"] == "prompt")
    answered = _first(rows, lambda row: row["kind"] == "screen" and row["result"] != "prompt")
    secured = _first(rows, lambda row: row["kind"] == "entry" and row["result"] == "funds_secured")
    texts = ("created", "prompt on the phone", "answered", "paid", "webhook verified")
    notes = (_time(rows[0]), prompted, answered, secured, verified if secured else "")
    reached = list(zip(texts, notes, strict=True))
    if failure and not secured:
        done = [views.Step(text, views.DONE, note) for text, note in reached[:3] if note]
        return views.Steps("How far it is", (*done, views.Step("not paid", views.FAILED, failure.replace("_", " "))))
    # What comes after the first step that is not reached yet lies ahead, as it does of a payment at rest.
    next_text = next((text for text, note in reached if not note), "") if status not in _AT_REST else ""
    way = (
        views.Step(text, views.DONE if note else views.NOW if text == next_text else views.AHEAD, note)
        for text, note in reached
    )
    return views.Steps("How far it is", tuple(way))


def _first(rows: Rows, holds: Callable[[TraceRow], bool]) -> str:
    return next((_time(row) for row in rows if holds(row)), "")


def _time(row: TraceRow) -> str:
    return lusaka(row["at"])[1]


def _call(row: TraceRow) -> tuple[str, str]:
    method, _, path = str(row["what"]).partition(" ")
    last = path.split("?")[0].rsplit("/", 1)[-1]
    has_succeeded = method == "POST" and str(row["result"]).startswith("2")
    done = _DONE.get(last, "") if has_succeeded else ""
    again = " again" if "Idempotent-Replayed" in call_of(row).response.headers else ""
    return f"Merchant: {done or f'{method} {short_path(path)}'}", f"answered {row['result']}{again}"


def _screen(row: TraceRow) -> tuple[str, str]:
    pressed = screen_of(row).pressed
    return f"Phone: {row['what']}", f"PIN {pressed}" if pressed and set(pressed) == {"•"} else str(pressed or "prompt")


def _entry(row: TraceRow) -> tuple[str, str]:
    return f"Ledger: {row['what']}", str(row["result"]).replace("_", " ")


def _webhook(row: TraceRow) -> tuple[str, str]:
    result = str(row["result"])
    return f"Webhook: {row['what']}", f"answered {result}" if result[:1].isdigit() else result


_TEXTS = {"call": _call, "screen": _screen, "entry": _entry, "webhook": _webhook}


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


class WebhooksSection(DeskSection):
    """What was sent about a payment, and whether it was genuine."""

    id, title = "webhooks", "Webhooks"

    def _items(self) -> Iterator[views.Item]:
        if self._session.started is None:
            # To ask for the receiver would start one.
            yield views.Note(_NO_RECEIVER, views.WARN)
            yield views.Actions("Receiver", (views.Action("start", "Start the receiver"),))
        yield webhooks(self._gathered.rows, self._gathered.arrivals, self._gathered.deliveries)

    def _on_start(self, _on: str, _values: Values) -> Message:
        _ = self._session.receiver  # asking for it starts it
        code = (views.Code("Python", _CODE),)
        return Message("The receiver listens: what happens from now on arrives there.", code=code)


def webhooks(rows: Rows, arrivals: Sequence[Arrival], deliveries: Mapping[str, wire.Delivery]) -> views.Grid:
    """The attempts among a payment's rows, one line for each event and endpoint."""
    by_delivery: dict[str, list[TraceRow]] = {}
    for row in rows:
        if row["kind"] == "webhook":
            by_delivery.setdefault(webhook_of(row).delivery, []).append(row)
    came = _by_event(arrivals)
    shown = tuple(
        _row(each, came.get(webhook_of(each[0]).event, []), deliveries.get(name)) for name, each in by_delivery.items()
    )
    columns = views.headings("time", "event", "attempts", "signature", "handled")
    return views.Grid("Webhooks of this payment", columns, shown, "None was sent yet.")


def verified_at(rows: Rows, arrivals: Sequence[Arrival]) -> str:
    """When the webhook of a payment's success was found genuine: the time in Lusaka, or nothing."""
    came = _by_event(arrivals)
    for row in rows:
        is_end = row["kind"] == "webhook" and str(row["what"]).endswith(".succeeded")
        if is_end and any(each.verdict in {"accepted", "failed"} for each in came.get(webhook_of(row).event, [])):
            return _time(row)
    return ""


def _by_event(arrivals: Sequence[Arrival]) -> dict[str, list[Arrival]]:
    found: dict[str, list[Arrival]] = {}
    for each in arrivals:
        name = object_in(each.body.decode("utf-8", "replace")).get("id")
        found.setdefault(str(name or each.headers.get("webhook-id", "")), []).append(each)
    return found


def _row(rows: Rows, arrivals: Sequence[Arrival], delivery: wire.Delivery | None) -> views.Row:
    first, last = rows[0], rows[-1]
    attempts = f"{len(rows)}, {_result(last)}"
    if delivery is not None and delivery.next_attempt_at:
        attempts += f", next at {lusaka(rfc3339(delivery.next_attempt_at * 1000))[1]}"
    cells = (_time(first), str(first["what"]), attempts, *_verdicts(arrivals))
    return views.Row(webhook_of(first).delivery, cells, more=_more(rows, arrivals), more_label="Message")


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


def _more(rows: Rows, arrivals: Sequence[Arrival]) -> tuple[views.Item, ...]:
    sent = [webhook_of(row) for row in rows]
    answers = (shortened(each.fault or each.answer or "", 80) for each in sent)
    cells = [
        (str(place), _time(row), _result(row), answer)
        for place, (row, answer) in enumerate(zip(rows, answers, strict=True), 1)
    ]
    columns = views.headings("attempt", "time", "answer", "the receiver said", numeric=("attempt",))
    attempts = views.Grid("Attempts", columns, tuple(views.Row(each[0], each) for each in cells))
    last = sent[-1]
    head = "\n".join(f"{name}: {value}" for name, value in last.headers.items())
    message = views.Code("The message, secrets masked", mask(f"{head}\n\n{pretty(last.body)}"))
    reasons = sorted({each.reason for each in arrivals if each.verdict in {"refused", "failed"}})
    return (attempts, *(views.Note(each, views.WARN) for each in reasons), message, views.Note(_HOW))


_SPANS = (("10", "Let 10 seconds pass"), ("300", "Let 5 minutes pass"))


class PaymentSection(DeskSection):
    """The choice of a payment, its steps and its timeline."""

    id, title = "payment", "Payment"

    def _items(self) -> Iterator[views.Item]:
        gathered, payment = self._gathered, self._gathered.payment
        if gathered.payments:
            yield self._choice()
        yield steps(gathered.rows, payment.status, payment.failure, verified_at(gathered.rows, gathered.arrivals))
        facts = {
            "Payment": payment.id,
            "Amount": payment.money,
            "Status": payment.status.replace("_", " "),
            "Failed for": payment.failure.replace("_", " "),
            "Number": payment.phone,
        }
        if payment.id:
            yield views.Facts(tuple((name, value) for name, value in facts.items() if value))
        yield timeline(gathered.rows)
        yield views.Actions("Clock", tuple(views.Action("wait", label, span) for span, label in _SPANS))

    def _on_follow(self, _on: str, values: Values) -> None:
        chosen = values.get("payment", LATEST)
        self._gathered.chosen = chosen if chosen in {each.id for each in self._gathered.payments} else LATEST
        self._gathered.read()

    def _on_wait(self, on: str, _values: Values) -> Message:
        seconds = int(on) if on in dict(_SPANS) else int(_SPANS[0][0])
        self._session.clock.advance(seconds)
        same = snippet("POST", "/sandbox/clock/advance", {"seconds": seconds}, base_url=self._session.base_url)
        code = (views.Code("Python", same.python), views.Code("curl", same.curl))
        return Message(f"{seconds} seconds have passed.", code=code)

    def _choice(self) -> views.Form:
        options = [
            (each.id, f"{each.money or 'an amount'} at {lusaka(each.at)[1]}, {short_id(each.id)}")
            for each in self._gathered.payments
        ]
        latest = (LATEST, f"the latest: {options[0][1]}")
        field = views.Field("payment", "Payment looked at", self._gathered.chosen, "select", (latest, *options))
        return views.Form("choice", "Which payment", (field,), follow=True)
