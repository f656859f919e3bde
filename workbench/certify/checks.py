"""The checks of an exam: one row per check, in the order in which they run.

To add a check, add its row and the function that sends its messages.
"""

import base64
import time
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from functools import partial
from typing import Final, NamedTuple

import msgspec

from workbench.certify.exam import PAID, Event, Exam, Exchange, NotExamined, Payment, is_accepted
from workbench.domain.signatures import ID_HEADER, SECRET_PREFIX, STANDARD
from workbench.domain.signing import other_secret
from workbench.sandbox.outbound import Reply

BURST: Final = 200
_BURST_S: Final = 30
LARGE_BYTES: Final = 256 * 1024
_HOUR_S: Final = 3600
_AT_ONCE: Final = 4
REFUSED: Final = range(400, 500)
_REDIRECTS: Final = range(300, 400)
_GONE: Final = 410
_PUBLISHED: Final = f"{SECRET_PREFIX}MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
"""The secret in the specification's example."""
_TO_COME: Final[Mapping[str, str]] = {
    STANDARD: f"v1a,{base64.b64encode(bytes(64)).decode()} {{}}", "stripe": f"{{}},v0={bytes(32).hex()}",
}  # fmt: skip
"""Scheme → a header's value with a signature of a future version of the scheme; `{}` is the known signature."""

Judge = Callable[[Reply, int], str]
"""A response and the limit in milliseconds → the fault in words, or an empty text."""


def accepted(reply: Reply, _: int) -> str:
    """Expects a 2xx response to a genuine message; returns the fault, or an empty text."""
    return "" if is_accepted(reply) else shown(reply)


def refused(reply: Reply, _: int) -> str:
    """Expects a 4xx except 410 to a forged message: 410 disables the endpoint, and a 5xx is a fault of the shop."""
    if reply.status_code == _GONE:
        return f"{shown(reply)}, which disables the endpoint"
    if is_accepted(reply):
        return f"{shown(reply)}: accepted as genuine"
    return "" if reply.status_code in REFUSED else shown(reply)


def in_time(reply: Reply, limit_ms: int) -> str:
    """Expects the whole response within the limit; returns the fault, or an empty text."""
    return "" if reply.latency_ms < limit_ms else f"{shown(reply)} after {reply.latency_ms} ms"


def shown(reply: Reply) -> str:
    """A response in a few words."""
    if reply.status_code is None:
        return f"no response: {reply.fault}"
    text = " ".join(reply.answer.split())
    if reply.status_code in _REDIRECTS:
        return f"{reply.status_code}, a redirect, which is not followed"
    if text[:15].lower().startswith(("<!doctype html", "<html")):
        return f"{reply.status_code} with a page of HTML"
    return f"{reply.status_code} {text[:60]!r}" if text else str(reply.status_code)


class Order(NamedTuple):
    """The order's expected fulfilments and status after a check, why they matter, and how to fix the shop."""

    fulfilled: int
    why: str
    fix: str
    status: str = ""


class Check(NamedTuple):
    """A check of an endpoint: its texts, the function that sends the messages, and the judge of each response."""

    name: str
    title: str
    sent: str
    expected: str
    why: str
    fix: str
    notebook: str
    run: Callable[[Exam], Payment | None]
    """Sends the messages; returns the payment whose order is checked at the end of the exam."""
    judge: Judge = accepted
    order: Order | None = None
    warns: bool = False
    """True if a fault is only a warning, because the case may never occur in this shop."""


class Result(NamedTuple):
    """The outcome of a check: its verdict, the responses in words (`came`), and the exchanges at fault."""

    check: Check
    verdict: str
    came: str
    payment: Payment | None = None
    printed: str = ""
    faulty: Sequence[Exchange] = ()
    broke: bool = False
    """True if one of the user's commands failed."""


def _valid(exam: Exam) -> Payment:
    exam.first = exam.made()
    return exam.deliver_payment(exam.first)


def _duplicate(exam: Exam) -> Payment:
    payment = exam.made()
    exam.deliver(payment.events[:-1])
    exam.deliver([payment.success] * _AT_ONCE, again=True, at_once=True)
    exam.deliver([payment.success])
    return payment


def _unknown_type(exam: Exam) -> None:
    plant = {"id": "plant_1", "object": "plant", "name": "Monstera"}
    new = exam.made().success.altered(
        exam.new_id(), type="plant.watered", data={"object": plant, "previous_attributes": {}}
    )
    exam.deliver([new])


def _unknown_fields(exam: Exam) -> None:
    more = {"loyalty_points": 3, "till": {"name": "Kabwe Road", "number": 7}}
    events = exam.made().events
    exam.deliver([event.altered(event.id, object_members=more, region="lusaka", tags=["a", None]) for event in events])


def _exact_bytes(exam: Exam) -> None:
    """Sends events in JSON that no library writes: with blanks, line breaks and an escaped letter."""
    bodies = [event.body for event in exam.made(amount=Decimal("150.00"), description="Größe ½").events]
    laid_out = [msgspec.json.format(body, indent=1) for body in bodies]
    exam.deliver([Event.read(body.replace(b'"mobile_money"', b'"mobile\\u005fmoney"')) for body in laid_out])


def _tampered(exam: Exam) -> Payment:
    """Changes a delivered message; a shop that looks up the id before it verifies takes the message for a duplicate."""
    genuine, headers = exam.first.success, exam.signed(exam.first.success)
    unpaid = exam.made("failed")
    other = genuine.about(exam.first.ids, unpaid.ids, genuine.id)
    exam.send("the body changed", other.body, headers)
    if ID_HEADER in headers:
        exam.send("the id changed", genuine.body, {**headers, ID_HEADER: exam.new_id()})
    if signed_at := exam.way.read(headers).sent_s:
        changed = {name: value.replace(str(signed_at), str(signed_at - 1)) for name, value in headers.items()}
        exam.send("the timestamp changed", genuine.body, changed)
    return unpaid


def _wrong_secret(exam: Exam) -> Payment:
    unpaid = exam.made("failed")
    for label, secret in (
        ("another secret", other_secret(exam.secret, exam.scheme)),
        ("the specification's example", _PUBLISHED),
    ):
        forged = exam.first.success.about(exam.first.ids, unpaid.ids, exam.new_id())
        exam.send(label, forged.body, exam.signed(forged, secret=secret))
    return unpaid


def _away(label: str, away_s: int, exam: Exam) -> None:
    event = exam.made().success
    headers = exam.signed(event, away_s=away_s)
    if exam.way.read(headers).sent_s is None:
        raise NotExamined(f"a signature of the scheme {exam.scheme} has no timestamp")
    exam.send(label, event.body, headers)


def _missing_headers(exam: Exam) -> None:
    event = exam.made().success
    headers = exam.signed(event)
    for missing in headers:
        kept = {name: value for name, value in headers.items() if name != missing}
        exam.send(f"without {missing}", event.body, kept)
    if len(headers) > 1:
        exam.send("without any", event.body, {})


def _malformed_headers(exam: Exam) -> None:
    event = exam.made().success
    headers = exam.signed(event)
    *_, last = headers
    signed_at = exam.way.read(headers).sent_s
    malformed = [{last: "nonsense"}, *(exam.way.write(event.id, signed_at or 0, [text]) for text in ("nonsense", ""))]
    if signed_at:
        times = ("soon", "9" * 30, "-1")
        malformed += [{name: value.replace(str(signed_at), time) for name, value in headers.items()} for time in times]
    for wrong in malformed:
        changed = {name: value for name, value in wrong.items() if value != headers[name]}
        exam.send("; ".join(f"{name}: {value}" for name, value in changed.items()), event.body, {**headers, **changed})


def _several_signatures(exam: Exam) -> None:
    event = exam.made().success
    headers = exam.signed(event)
    *_, last = headers
    two_signatures = _with_future_signature(exam)
    exam.send(two_signatures.format("…"), event.body, {**headers, last: two_signatures.format(headers[last])})


def _rolled_secret(exam: Exam) -> None:
    _with_future_signature(exam)
    other = other_secret(exam.secret, exam.scheme)
    for label, secret, also in (("new, old", other, exam.secret), ("old, new", exam.secret, other)):
        event = exam.made().success
        exam.send(f"the signatures {label}", event.body, exam.signed(event, secret=secret, also=(also,)))


def _restart(exam: Exam) -> Payment:
    """Sends events again after a restart, as if their responses had been lost."""
    if exam.restart is None:
        raise NotExamined("--cmd would examine it")
    payment = exam.deliver_payment(exam.made())
    exam.known.update(exam.orders() if exam.orders else {})
    exam.restart()
    return exam.deliver_payment(payment)


def _large(exam: Exam) -> None:
    event = exam.made().success
    exam.deliver([event.altered(event.id, object_members={"metadata": {"note": "x" * LARGE_BYTES}})])


def _burst(exam: Exam) -> None:
    """Sends many events one after the other, for at most 30 seconds."""
    event, until = exam.made().events[0], time.monotonic() + _BURST_S
    family, status = ("payment_intent", "processing") if event.type.startswith("payment") else ("charge", "pending")
    for _ in range(BURST):
        if time.monotonic() > until:
            exam.note(Exchange("the rest", Reply(None, fault=f"{_BURST_S} s are up")))
            break
        exam.deliver([event.altered(exam.new_id(), type=f"{family}.{status}", object_members={"status": status})])


def _refund_first(exam: Exam) -> Payment:
    payment, refund = exam.refunded()
    exam.deliver([*refund, *payment.events], again=True)
    return payment


def _with_future_signature(exam: Exam) -> str:
    """A header's value with a future version's signature beside the known one.

    Raises NotExamined: the scheme's header holds one signature.
    """
    if not exam.way.has_room:
        raise NotExamined(f"the scheme {exam.scheme} has room for one signature")
    return _TO_COME[exam.scheme]


_VERIFY, _RETRIES, _FAIL, _BACKEND = (
    "verify_webhooks", "retries_dead_letters_and_replay", "when_payments_fail", "your_own_backend"
)  # fmt: skip
_TAKEN, _REFUSAL = "2xx to each", "400, or another 4xx except 410, to each"
_RETRIED = "A message without a 2xx response is retried for three days and then becomes a dead letter"
_FORGED = "Whoever knows the address of a shop that accepts it can tell the shop that an order is paid"
_CATCH = (
    "Catch what the library raises, and respond 400. In the PyPI package standardwebhooks, that is ValueError beside "
    "WebhookVerificationError; in the npm packages, any Error."
)
_NOT_ACCEPTED = (
    "Your shop did not accept the message. But a 5xx says that the fault is yours, and 410 disables the endpoint: "
    "anybody could fill your error log or stop your webhooks."
)
REFUSED_BADLY: Final = (_NOT_ACCEPTED, _CATCH)
"""Why and fix for a shop that rejects forged messages with another status than a 4xx."""
RESPONDS_LATE: Final = (
    "A late response counts as none: the message is sent again while you still work on it.",
    "Respond first, work later: record the message, return 200, and do the work in a queue.",
)
PARSES_FIRST: Final = (
    "The bytes are signed. JSON that is parsed and written again has other bytes: 150.0 for 150.00, an escaped letter.",
    "Verify the raw body before anything parses it: request.get_data(), request.body, express.raw().",
)

_NOT_FORGED = Order(
    0, "Goods for an order whose payment failed.", "Verify first; read, record and fulfil after it, never before."
)

CHECKS: Final[tuple[Check, ...]] = (
    Check(
        "valid", "A paid payment", "Each event of a payment that succeeds, in order, signed.", _TAKEN,
        f"{_RETRIED}: the order is paid, and the shop never knows.",
        "Return 200 at this path, to a POST without session or CSRF token, and without a redirect. If the "
        "signature is what fails, verify the bytes of the body, with the key that the scheme asks for (Standard "
        "Webhooks: what stands after whsec_, decoded). If it is an order that the shop does not know, let --checkout "
        "make it.",
        _VERIFY, _valid,
        order=Order(1, "A paid order that nobody ships is a complaint by the evening.",
                    "Fulfil the order when payment_intent.succeeded (or charge.succeeded) arrives."),
    ),
    Check(
        "duplicate", "The same message again", f"The last event of a payment {_AT_ONCE} times at once, and once more.",
        _TAKEN, "Delivery is at least once: if your 2xx is lost or late, the message comes again.",
        "Return 200 for an id that you have handled, and do nothing more.", _RETRIES, _duplicate,
        order=Order(1, "An order that ships for each copy of a message ships twice.",
                    "Record the event's id (webhook-id) under a unique constraint, in the transaction that fulfils "
                    "the order."),
    ),
    Check(
        "out_of_order", "Events in another order", "The events of a paid payment, the last one first.",
        "2xx to each, at the second try at the latest",
        "Order is not guaranteed: a retry of an early event arrives after a later one.",
        "Use each event on its own, or retrieve the payment; never require that another came first.",
        _RETRIES, lambda exam: exam.deliver_payment(exam.made(), backwards=True),
        order=Order(1, "A late payment_intent.processing must not undo or repeat what success did.",
                    "Let an order only move forward: paid is final, whatever arrives later.", PAID),
    ),
    Check(
        "failed", "A payment that fails", "Each event of a payment whose customer has too little money.", _TAKEN,
        f"{_RETRIED}; failures are as frequent as successes in some hours.",
        "Handle payment_intent.payment_failed and charge.failed, or ignore them, and return 200.", _FAIL,
        lambda exam: exam.deliver_payment(exam.made("failed")),
        order=Order(0, "Goods for an order that was never paid.", "Check the event's type, not only that it arrived."),
    ),
    Check(
        "unknown_type", "An event of a type that you do not know", "A genuine event of the type plant.watered.", _TAKEN,
        "New types come without notice, and each rejected event is retried for three days.",
        "Return 200 for types that you do not handle.", _RETRIES, _unknown_type,
    ),
    Check(
        "unknown_fields", "Fields that you do not know", "The events of a payment, with new fields.", _TAKEN,
        "Fields are added without notice: a strict parser stops every payment on that day.",
        "Let your parser ignore unknown fields (`extra=ignore`, no `additionalProperties: false`).",
        _VERIFY, _unknown_fields,
    ),
    Check(
        "exact_bytes", "JSON in an unusual spelling",
        "The events of a payment as JSON with blanks, and a letter in its long form.",
        _TAKEN, *PARSES_FIRST, _VERIFY, _exact_bytes,
    ),
    Check(
        "tampered", "A message that was changed on the way",
        "A message that came before, with another payment in its body, another id, another timestamp.", _REFUSAL,
        f"{_FORGED}, by changing a recorded message.",
        "Verify the signature over id, timestamp and body first; look the id up after it.", _VERIFY, _tampered, refused,
        _NOT_FORGED,
    ),
    Check(
        "wrong_secret", "A signature of another's secret",
        "A forged success, signed with another secret, and with the secret of the specification's example.", _REFUSAL,
        f"{_FORGED}.", "Compare only with the secret of this endpoint; do not let the shop start without one.",
        _VERIFY, _wrong_secret, refused,
        _NOT_FORGED,
    ),
    Check(
        "stale", "A message from an hour ago", "A genuine message, signed an hour ago.", _REFUSAL,
        "Anybody who recorded a message could send it again at any time.",
        "Reject a signed timestamp (webhook-timestamp) more than 300 s away from your clock.", _VERIFY,
        partial(_away, "an hour old", -_HOUR_S), refused,
    ),
    Check(
        "future", "A message from an hour ahead", "A genuine message, signed for an hour from now.", _REFUSAL,
        "A message dated in the future would stay valid for as long as its sender likes.",
        "Reject a signed timestamp more than 300 s away from your clock, in both directions.",
        _VERIFY, partial(_away, "an hour ahead", _HOUR_S), refused,
    ),
    Check(
        "missing_headers", "Headers that are missing",
        "A message without each of the headers that sign it, and without any.", _REFUSAL,
        f"{_FORGED}, without any signature.",
        "Reject a message that lacks one; never skip the check because a header is missing.",
        _VERIFY, _missing_headers, refused,
    ),
    Check(
        "malformed_headers", "Malformed headers",
        "Signatures and timestamps that are nonsense.", _REFUSAL,
        "A 500 says that the fault is yours; anybody could fill your error log.",
        _CATCH, _VERIFY, _malformed_headers, refused,
    ),
    Check(
        "several_signatures", "A signature of a version that you do not know",
        "A genuine message with a signature of v1a beside its own (the scheme stripe: v0).", _TAKEN,
        "The header may hold several signatures, also of future versions; one that matches is enough.",
        "Split the header, skip what is not v1, and accept if any other matches.", _VERIFY, _several_signatures,
    ),
    Check(
        "rolled_secret", "A secret that is being rolled",
        "Messages with two signatures: of the new secret and the old one, and the other way round.",
        _TAKEN, "For a day after a roll, messages are signed with the new secret and the old one: your shop knows one.",
        "Compare with every v1 signature of the header, not only with the first.", _VERIFY, _rolled_secret,
    ),
    Check(
        "restart", "The same messages after a restart",
        "The events of a paid payment, and the same events after a restart of the shop.", _TAKEN,
        "A shop is restarted with every release, and a message whose 2xx was lost comes again after it.",
        "Start with the same database, and let what was recorded before be no error.", _RETRIES, _restart,
        order=Order(1, "A shop that remembers in its memory what it has handled ships again after each restart; one "
                    "that queues its work there loses it.",
                    "Record the event's id in the database, in the transaction that fulfils the order."),
    ),
    Check(
        "large", "A large body", f"A genuine message of {LARGE_BYTES // 1024} KiB.", _TAKEN,
        "Metadata of your own makes events larger than some frameworks allow: 100 kB in Express, 1 MB in others.",
        "If your metadata can become so large, raise the limit of this route to 1 MB: express.raw({limit: '1mb'}) in "
        "Express, bodyLimit in Fastify, MAX_CONTENT_LENGTH in Flask, DATA_UPLOAD_MAX_MEMORY_SIZE in Django, "
        "client_max_size in aiohttp, client_max_body_size in nginx.", _BACKEND, _large, warns=True,
    ),
    Check(
        "replay", "Yesterday's event, replayed",
        "The events of a payment of a day ago, which arrive for the first time, signed now.", _TAKEN,
        "Dead letters are replayed days later: the event is old, its signature is new.",
        "Judge the age by the signed timestamp (webhook-timestamp), never by the event's own timestamp.",
        _RETRIES, lambda exam: exam.deliver_payment(exam.yesterday),
        order=Order(1, "A payment from a day when the shop was down is never fulfilled.",
                    "Fulfil an order whenever its success arrives, unless it was fulfilled or canceled."),
    ),
    Check(
        "burst", f"{BURST} messages in a row", f"{BURST} genuine messages, one after the other.", _TAKEN,
        "After an outage, all waiting messages arrive at once.",
        "Respond first and work later; keep rate limits and connection pools away from this route.", _RETRIES, _burst,
    ),
    Check(
        "refund_first", "A refund before its success",
        "The events of a refund, and after them the events of its payment.",
        "2xx to each, at the second try at the latest",
        "The success may still wait for its retry while the refund is delivered.",
        "Record a refund even if its payment is not known as paid yet, and return 200.", _RETRIES, _refund_first,
        order=Order(0, "Goods for money that was given back.",
                    "Remember refunds, or retrieve the charge, before you fulfil: see `refunded`."),
    ),
    Check(
        "late_success", "Money after the prompt has expired",
        "The events of a payment that fails at 300 s, and whose money arrives at 360 s.", _TAKEN,
        "This case loses real money: the customer has paid, but the payment has failed.",
        "Handle payment_intent.late_success and charge.late_success: tell a person, and return 200.",
        _FAIL, lambda exam: exam.deliver_payment(exam.made("late")),
        order=Order(0, "The money waits in suspense: it is not yours until it is credited, and may go back.",
                    "Do not fulfil on late_success; settle it, then fulfil by hand."),
    ),
    Check(
        "slow", "A response in time", "The slowest response to all genuine messages so far.",
        "the whole response in time", *RESPONDS_LATE, _RETRIES,
        lambda exam: exam.exchanges.append(exam.slowest), in_time,
    ),
)  # fmt: skip


def times(count: int) -> str:
    """The count of an order's fulfilments in words, such as `fulfilled once`."""
    return {0: "not fulfilled", 1: "fulfilled once"}.get(count, f"fulfilled {count} times")


ORDER_CHECKS: Final = tuple(
    check._replace(
        name=f"{check.name}.{what}", title=f"{check.title}: its {what}", expected=expected,
        why=check.order.why, fix=check.order.fix,
    )
    for check in CHECKS if check.order
    for what, expected in (("order", times(check.order.fulfilled)), ("status", check.order.status)) if expected
)  # fmt: skip
"""Checks of the orders at the end of the exam; they send no messages."""
