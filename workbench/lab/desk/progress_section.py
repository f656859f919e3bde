"""How far the payment has come: its timeline, its webhooks and what the receiver made of them."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from workbench.domain import ussd, wire
from workbench.domain.masking import mask, shortened
from workbench.domain.moments import clock_text
from workbench.domain.signatures import GITHUB_HEADER, SIGNATURE_HEADER, STRIPE_HEADER
from workbench.domain.wire.trace_rows import call_of, screen_of, webhook_of
from workbench.lab import views
from workbench.lab.desk.gathered import (
    LATEST,
    DeskSection,
    Rows,
    TraceRow,
    money_of,
    object_in,
    pretty,
    short_path,
    why,
)
from workbench.lab.sections import STATES, Message, Values, counted
from workbench.receiver import Arrival
from workbench.snippets import snippet
from workbench.trace.diagram import clock_of, utc_of

_NOT_PAID = {"failed", "canceled"}
_ASKS = ussd.SCREEN_TEXTS[ussd.ENTER_PIN].rpartition("}")[2]
"""How a screen ends on which a PIN is awaited, the first or another one."""
_DONE: Mapping[str, str] = {
    "payment_intents": "intent created",
    "confirm": "intent confirmed",
    "cancel": "intent canceled",
    "charges": "charge asked for",
    "refunds": "refund asked for",
}
"""What a call that succeeded has done, by the last segment of its path."""


_SCREEN_LINES = 2


def timeline(rows: Rows) -> views.Grid:
    """A line for each row of the trace."""
    days = sorted({clock_of(row["at"])[:10] for row in rows})
    shown = []
    for row in rows:
        what, result = _TEXTS[row["kind"]](row)
        time = clock_of(row["at"]) if len(days) > 1 else _time(row)
        cells = (time, shortened(what, 64), shortened(result, 48))
        shown.append(views.Row(f"{row['seq']}{row['kind']}", cells, hovers=(utc_of(row["at"]),)))
    caption = f"Timeline{f' on {days[0]}' if len(days) == 1 else ''}, time in Lusaka"
    columns = views.headings("time", "what", "result")
    return views.Grid(caption, columns, tuple(shown), "Nothing yet: send a request.")


def steps(rows: Rows, state: str, failure: str, verified: TraceRow | None) -> views.Steps:
    """How far a payment has come; `verified` is the webhook about its success that was found genuine, if one was."""
    prompted = _last(rows, lambda row: _is_screen(row) and row["result"] == "prompt")
    answered = None if asks(rows) else _last(rows, _is_screen)
    secured = _last(rows, lambda row: row["kind"] == "entry" and row["result"] == "funds_secured")
    reached = {
        "created": rows[0] if rows else None,
        "prompt": prompted,
        "PIN": answered,
        "paid": secured,
        "webhook": verified if secured else None,
    }
    if state in _NOT_PAID:
        # Who cancels has answered, and typed no PIN.
        names = {"created": "created", "prompt": "prompt", "PIN": "answered"}
        done = [_done(text, row) for name, text in names.items() if (row := reached[name])]
        return views.Steps("How far it is", (*done, views.Step("not paid", views.FAILED, failure)))
    # What comes after the first step that is not reached yet lies ahead, as it does of a payment at rest.
    next_text = next((text for text, row in reached.items() if not row), "") if state == "waiting" else ""
    way = (
        _done(text, row) if row else views.Step(text, views.NOW if text == next_text else views.AHEAD)
        for text, row in reached.items()
    )
    return views.Steps("How far it is", tuple(way))


def asks(rows: Rows) -> bool:
    """Whether the phone shows a prompt that awaits its PIN."""
    screen = _last(rows, _is_screen)
    return screen is not None and str(screen["what"]).endswith(_ASKS)


def _is_screen(row: TraceRow) -> bool:
    return bool(row["kind"] == "screen")


def _done(text: str, row: TraceRow) -> views.Step:
    note = f"verified {_time(row)}" if row["kind"] == "webhook" else _time(row)
    return views.Step(text, views.DONE, note, utc_of(row["at"]))


def _last(rows: Rows, holds: Callable[[TraceRow], bool]) -> TraceRow | None:
    """Of an intent that was confirmed again, what became of the latest attempt."""
    return next((row for row in reversed(rows) if holds(row)), None)


def _time(row: TraceRow) -> str:
    return clock_of(row["at"])[11:]


def _call(row: TraceRow) -> tuple[str, str]:
    method, _, path = str(row["what"]).partition(" ")
    last = path.split("?")[0].rsplit("/", 1)[-1]
    has_succeeded = method == "POST" and str(row["result"]).startswith("2")
    done = _DONE.get(last, "") if has_succeeded else ""
    again = " again" if "Idempotent-Replayed" in call_of(row).response.headers else ""
    return f"Merchant: {done or f'{method} {short_path(path)}'}", f"{row['result']}{again}"


def _screen(row: TraceRow) -> tuple[str, str]:
    pressed = screen_of(row).pressed
    # Its first line names the operator.
    what = " / ".join(str(row["what"]).split(" / ")[:_SCREEN_LINES])
    return f"Phone: {what}", f"PIN {pressed}" if pressed and set(pressed) == {"•"} else str(pressed or "prompt")


def _entry(row: TraceRow) -> tuple[str, str]:
    return f"Ledger: {row['what']}", str(row["result"]).replace("_", " ")


def _webhook(row: TraceRow) -> tuple[str, str]:
    return f"Webhook: {row['what']}", str(row["result"])


_TEXTS = {"call": _call, "screen": _screen, "entry": _entry, "webhook": _webhook}


_NO_RECEIVER = (
    "Nothing here receives webhooks yet. The receiver listens on a free port of this machine and is registered "
    "with the sandbox, until the bench is closed; what happens from then on arrives there."
)
_FRESH = "and the timestamp is at most five minutes off"
_HOW = {
    SIGNATURE_HEADER: ("webhook-id.webhook-timestamp.body", _FRESH),
    STRIPE_HEADER: ("t.body", _FRESH),
    GITHUB_HEADER: ("the body", "and says nothing of when it was made"),
}
"""Header of a signature → what is signed, and what is known of the time."""
_CODE = """bench.receiver


@bench.receiver.on("payment_intent.succeeded")
def ship(event):
    print(event.data.object["id"])"""


class WebhooksSection(DeskSection):
    """What was sent about a payment, and whether it was genuine."""

    id, title, tab = "webhooks", "Webhooks", views.ALWAYS

    def _badge(self) -> str:
        sent = _deliveries(self._gathered.rows).values()
        failing = sum(not str(attempts[-1]["result"]).startswith("2") for attempts in sent)
        return f"{failing} ✗" if failing else str(len(sent) or "")

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
    came = _by_event(arrivals)
    shown = tuple(
        _row(each, came.get(webhook_of(each[0]).event, []), deliveries.get(name))
        for name, each in _deliveries(rows).items()
    )
    columns = views.headings("event", "time", "sent", "signature", "handled")
    return views.Grid("Webhooks of this payment", columns, shown, "None was sent yet.")


def _deliveries(rows: Rows) -> dict[str, list[TraceRow]]:
    """The attempts of each delivery, by its id."""
    found: dict[str, list[TraceRow]] = {}
    for row in rows:
        if row["kind"] == "webhook":
            found.setdefault(webhook_of(row).delivery, []).append(row)
    return found


def verified_in(rows: Rows, arrivals: Sequence[Arrival]) -> TraceRow | None:
    """The webhook of a payment's success that was found genuine, if one was."""
    came = _by_event(arrivals)
    for row in rows:
        is_end = row["kind"] == "webhook" and str(row["what"]).endswith((".succeeded", ".successful"))
        if is_end and any(each.verdict in {"accepted", "failed"} for each in came.get(webhook_of(row).event, [])):
            return row
    return None


def _by_event(arrivals: Sequence[Arrival]) -> dict[str, list[Arrival]]:
    found: dict[str, list[Arrival]] = {}
    for each in arrivals:
        name = object_in(each.body.decode("utf-8", "replace")).get("id")
        found.setdefault(str(name or each.headers.get("webhook-id", "")), []).append(each)
    return found


def _row(rows: Rows, arrivals: Sequence[Arrival], delivery: wire.Delivery | None) -> views.Row:
    first, last = rows[0], rows[-1]
    attempts = f"{counted(len(rows), 'attempt')}, {_result(last)}"
    if delivery is not None and delivery.next_attempt_at:
        attempts += f", next at {clock_text(delivery.next_attempt_at * 1000)}"
    cells = (str(first["what"]), _time(first), attempts, *_verdicts(arrivals))
    more, hovers = _more(rows, arrivals), ("", utc_of(first["at"]))
    return views.Row(webhook_of(first).delivery, cells, more=more, more_label="Message", hovers=hovers)


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
    columns = views.headings("attempt", "time", "response", "body", numeric=("attempt",))
    attempts = views.Grid("Attempts", columns, tuple(views.Row(each[0], each) for each in cells))
    last = sent[-1]
    head = "\n".join(f"{name}: {value}" for name, value in last.headers.items())
    message = views.Code("The message, secrets masked", mask(f"{head}\n\n{pretty(last.body)}"))
    reasons = sorted({each.reason for each in arrivals if each.verdict in {"refused", "failed"}})
    return (attempts, *(views.Note(each, views.WARN) for each in reasons), message, views.Note(_how(last.headers)))


def _how(headers: Mapping[str, str]) -> str:
    """How a message that came with these headers is verified."""
    content, fresh = next((how for name, how in _HOW.items() if name in headers), _HOW[SIGNATURE_HEADER])
    return (
        f"Verified: the signature, HMAC-SHA256 over {content} with the endpoint's secret, is that of these very bytes, "
        f"{fresh}. Then the id is looked up: what came before is answered 200 and not handled again."
    )


class PaymentSection(DeskSection):
    """How far the payment is that is looked at, and the choice of another."""

    id, title = "payment", "Payment"

    def _items(self) -> Iterator[views.Item]:
        gathered, payment = self._gathered, self._gathered.payment
        state, failure = (payment.state, why(payment)) if payment else ("", "")
        yield steps(gathered.rows, state, failure, verified_in(gathered.rows, gathered.arrivals))
        choices = [_choice(each, gathered.total - place) for place, each in enumerate(gathered.payments)]
        # The newest stands for whichever is the latest; before there is one, the place is kept.
        _, latest = choices[0] if choices else ("", "No payment yet")
        options = ((LATEST, latest), *choices[1:])
        field = views.Field("payment", "Payment looked at", gathered.chosen, "select", options)
        yield views.Form("choice", "Which payment", (field,), follow=True)

    def _on_follow(self, _on: str, values: Values) -> None:
        self._gathered.choose(values.get("payment", LATEST))


def _choice(payment: wire.Payment, number: int) -> tuple[str, str]:
    """A payment by its number, the newest the highest: `3: K150.00 Monstera, 08:00:00, succeeded`."""
    what = f"{money_of(payment)} {shortened(payment.description or '', _CHOICE_DESCRIBED)}".strip()
    return payment.id, f"{number}: {what}, {clock_text(payment.created * 1000)}, {STATES[payment.state][2:]}"


_CHOICE_DESCRIBED = 16
_SPANS = (("10", "Wait 10 seconds"), ("300", "Wait 5 minutes"))


class ProgressSection(DeskSection):
    """What the payment is and what has happened to it, line by line."""

    id, title, tab = "progress", "Progress", views.ALWAYS

    def _items(self) -> Iterator[views.Item]:
        if payment := self._gathered.payment:
            facts = {
                "Payment": payment.id,
                "Amount": money_of(payment),
                "Status": STATES[payment.state],
                "Failed for": why(payment),
                "Number": payment.phone,
            }
            yield views.Facts(tuple((name, value) for name, value in facts.items() if value), ("Status",))
        yield timeline(self._gathered.rows)
        yield views.Actions("Clock", tuple(views.Action("wait", label, span) for span, label in _SPANS))

    def _on_wait(self, on: str, _values: Values) -> Message:
        seconds = int(on) if on in dict(_SPANS) else int(_SPANS[0][0])
        self._session.clock.advance(seconds)
        same = snippet("POST", "/sandbox/clock/advance", {"seconds": seconds}, base_url=self._session.base_url)
        code = (views.Code("Python", same.python), views.Code("curl", same.curl))
        return Message(f"{seconds} seconds have passed.", code=code)
