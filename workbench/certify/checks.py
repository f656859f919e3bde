"""Makes the payments of an exam and sends their events, genuine and forged: the checks, and the judges of responses.

To add a check, add its texts to `checks.toml`, and to `_RUNS` the function that sends its messages.
"""

import base64
import json
import secrets
import time
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from decimal import Decimal
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from workbench.certify.report import NOT_EXAMINED, ReportRow, switched_text
from workbench.certify.shop import NotExamined, Orders, ShopOrder, Target
from workbench.domain.payments import REQUIRES_PAYMENT_METHOD
from workbench.domain.signatures import ID_HEADER, SCHEMES, SECRET_PREFIX, STANDARD, headers_for
from workbench.domain.webhooks import IMPOSSIBLE_MESSAGES, other_secret
from workbench.domain.wire.base import to_json
from workbench.domain.wire.sandbox_controls import DASHBOARD
from workbench.errors import ExamRefused, SignatureRefused, WorkbenchError
from workbench.resources import notebook_name
from workbench.sandbox.outbound import Reply
from workbench.session import Session

BURST: Final = 200
_BURST_S: Final = 30
LARGE_BYTES: Final = 256 * 1024
_HOUR_S: Final = 3600
_AT_ONCE: Final = 4
_ACCEPTED: Final = range(200, 300)
REJECTED: Final = range(400, 500)
_REDIRECTS: Final = range(300, 400)
_GONE: Final = 410
_PUBLISHED: Final = f"{SECRET_PREFIX}MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
"""The secret in the example of Standard Webhooks, which everybody can look up."""
_WITH_FUTURE_SIGNATURE: Final[Mapping[str, str]] = {
    STANDARD: f"v1a,{base64.b64encode(bytes(64)).decode()} {{}}", "stripe": f"{{}},v0={bytes(32).hex()}",
}  # fmt: skip
"""Scheme → a header's value with two signatures: one of a future version, and `{}` in place of the genuine one."""

_PATIENCE_S: Final = 5
"""The exam waits this many seconds beyond the limit, to tell a late response from none."""
_AMOUNT: Final = Decimal("87.35")
_INTENT: Final = "pi_"
_CUSTOMERS: Final = {
    "paid": (("+260960000001",), 6, ("succeeded", "successful")),
    "failed": (("+260960000002",), 6, ("failed",)),
    "retried": (("+260960000004", "+260960000001"), 6, ("succeeded", "successful")),
    "late": (("+260960000010",), 61, ("late_success",)),
}
"""Outcome → the phone of each attempt, the seconds to wait after it, and the possible endings of the last event's type.

There are several endings because the register's row `event_types` decides the names.

The customers approve after five seconds, have too little money, cancel, or approve a minute after the prompt has
expired.
"""


# Payments and messages


class NoAnswer(Exception):
    """A response did not come in time, so the check sends no further message: each would wait as long."""


def check_secret(secret: str, scheme: str) -> None:
    """Checks a secret's form. Raises ExamRefused: the scheme does not accept the secret."""
    try:
        SCHEMES[scheme].key(secret)
    except SignatureRefused as error:
        raise ExamRefused(error.message, hint="It is not shown here.") from None


class RawEvent(NamedTuple):
    """An event, and the bytes that the exam sends for it."""

    id: str
    type: str
    body: bytes

    @classmethod
    def read(cls, body: bytes) -> "RawEvent":
        """Reads an event from its bytes."""
        members = json.loads(body)
        return cls(members["id"], members["type"], body)

    def altered(self, new_id: str, *, object_members: dict[str, Any] | None = None, **members: object) -> "RawEvent":
        """A copy with the id `new_id`; `members` replace members of the body, `object_members` of `data.object`."""
        changed = {**json.loads(self.body, parse_float=Decimal), "id": new_id, **members}
        if object_members is not None:
            data = changed["data"]
            changed["data"] = {**data, "object": {**data["object"], **object_members}}
        return RawEvent.read(to_json(changed))

    def about(self, ids: tuple[str, ...], others: tuple[str, ...], new_id: str) -> "RawEvent":
        """A copy with the id `new_id`, about another payment: `others` replace the ids in `ids`, in the same order."""
        body = self.body
        for own_id, other_id in zip((self.id, *ids), (new_id, *others), strict=False):
            body = body.replace(own_id.encode(), other_id.encode())
        return RawEvent.read(body)


class PaymentEvents(NamedTuple):
    """A payment and its events in order; `ids` are the ids of the intent and its charge, or only of the charge."""

    ids: tuple[str, ...]
    events: list[RawEvent]

    @property
    def success(self) -> RawEvent:
        """The last event, which reports the success of a payment that succeeded."""
        return self.events[-1]


class WebhookExchange(NamedTuple):
    """A message with a short label, and the response to it."""

    label: str
    reply: Reply
    body: bytes = b""

    @property
    def is_accepted(self) -> bool:
        """True if the response is any 2xx."""
        return self.reply.status_code in _ACCEPTED


@dataclass(eq=False, repr=False)
class Exam:
    """Makes payments, sends their events genuine and forged, and keeps the responses until the check is judged.

    The first fields are the arguments of `certify`. Raises ExamRefused: the URL is not on this machine, or the secret
    is invalid.
    """

    session: Session
    url: str
    secret: str
    checkout: Callable[[str], object] | None = None
    orders: Orders | None = None
    printed: Callable[[], str] = str
    restart: Callable[[], object] | None = None
    limit_s: int | None = None
    first: PaymentEvents = field(init=False)
    """The payment of the first check."""
    yesterday: PaymentEvents = field(init=False)
    """A payment of a day ago; the exam has sent none of its events yet."""
    orders_before_restart: dict[str, int | ShopOrder] = field(default_factory=dict)
    """The shop's orders before its restart."""
    exchanges: list[WebhookExchange] = field(default_factory=list)
    """The exchanges of the current check."""
    slowest: WebhookExchange = field(init=False)
    """The slowest response to a genuine message."""
    waited_ms: int = 0
    spelling: int | None = None
    """The number of the JSON spelling over which the shop verifies signatures; None until `certify` finds one."""

    def __post_init__(self) -> None:
        register = self.session.control.gaps()
        self.rows = {row["name"]: row["value"] for row in register}
        self.switched = {row["name"]: row["value"] for row in register if row["value"] != row["default"]}
        self.limit_ms = 1000 * (self.limit_s or int(self.rows["delivery_timeout_s"]))
        self.target = Target(self.url, patience_s=self.limit_ms // 1000 + _PATIENCE_S)
        self.scheme = self.rows["signature_scheme"]
        check_secret(self.secret, self.scheme)
        self.signer, self.slowest = SCHEMES[self.scheme], WebhookExchange("", Reply(None))
        # Lists and events may be reserved for the dashboard.
        self._client = self.session.acting
        # A shop may remember the ids of earlier exams.
        self._new_ids = map(f"evt_exam{secrets.token_hex(4)}{{:04}}".format, count(1))

    def require(self, how: str) -> None:
        """Raises NotExamined: the scheme in force has no message `how`, a key of `webhooks.TEST_MESSAGES`."""
        if why := IMPOSSIBLE_MESSAGES.get(self.scheme, {}).get(how):
            raise NotExamined(f"the scheme {self.scheme} {why}")

    def new_id(self) -> str:
        """A new event id."""
        return next(self._new_ids)

    def make_payment(self, outcome: str = "paid", **fields: Any) -> PaymentEvents:  # noqa: ANN401  the fields of its intent
        """Makes a payment with an outcome of `_CUSTOMERS`; without a checkout, its intent has these `fields`.

        Raises NotExamined: the payment came to another outcome, or the checkout created none.
        """
        phones, seconds, ending = _CUSTOMERS[outcome]
        intents = self.session.client.payment_intents
        if self.checkout is None:
            payment = intents.create(**{"amount": _AMOUNT, **fields}).id
        else:
            payment = self._checked_out(self.checkout, phones[0])
        if len(phones) > 1 and not payment.startswith(_INTENT):
            raise NotExamined("a charge has only one attempt")
        for phone in phones:
            if payment.startswith(_INTENT):
                intent = self._client.payment_intents.retrieve(payment)
                if intent.status == REQUIRES_PAYMENT_METHOD:
                    intents.confirm(payment, phone=phone, provider="mtn", client_secret=intent.client_secret or None)
            self.session.clock.advance(seconds + (self.rows["prompt_timeout_s"] if outcome == "late" else 0))
        charges = [charge.id for charge in self._client.charges.list() if charge.payment_intent == payment]
        events = self._events(payment)
        if not events or not events[-1].type.endswith(ending):
            last_type = events[-1].type if events else "no event"
            why = switched_text(self.switched) or "let --checkout use that number"
            raise NotExamined(f"the payment of the customer {phones[-1]} came to {last_type}: {why}")
        return PaymentEvents((payment, *charges[:1]), events)

    def make_refund(self) -> tuple[PaymentEvents, Sequence[RawEvent]]:
        """Makes a payment, refunds it in full, and returns both the payment and the refund's events.

        Raises NotExamined: the payment has another outcome, or the sandbox has no events of refunds.
        """
        payment = self.make_payment()
        self._client.refunds.create(charge=payment.ids[-1])
        self.session.clock.advance(_CUSTOMERS["paid"][1])
        events = self._events(payment.ids[0])[len(payment.events) :]
        if not events:
            raise NotExamined(f"no event tells of a refund: {switched_text(self.switched)}")
        return payment, events

    def make_credited_payment(self) -> PaymentEvents:
        """Makes a payment whose money arrives late, credits the money to the merchant, and returns the payment."""
        payment = self.make_payment("late")
        self.session.operator.settle(payment.ids[0], "credit")
        return payment._replace(events=self._events(payment.ids[0]))

    def _checked_out(self, checkout: Callable[[str], object], phone: str) -> str:
        """Runs the shop's checkout, and returns the id of the intent that it created, or else of the charge.

        Raises WorkbenchError: the checkout failed and created no payment. Raises NotExamined: it ended without an error
        and created none.
        """
        earlier = self._ids()
        failure: WorkbenchError | None = None
        try:
            checkout(phone)
        except WorkbenchError as error:
            # A checkout may fail because its payment is declined at once.
            failure = error
        for payment in self._ids():
            if payment not in earlier:
                return payment
        raise failure or NotExamined("the checkout created no payment in this sandbox: does it call PAYMENTS_BASE_URL?")

    def _ids(self) -> list[str]:
        """The ids of the latest 100 intents, then of the latest 100 charges."""
        client = self._client
        lists = (client.payment_intents.list(limit=100), client.charges.list(limit=100))
        return [payment.id for payments in lists for payment in payments]

    def _events(self, payment: str) -> list[RawEvent]:
        """A payment's events, oldest first, with exactly the bytes that the sandbox sends."""
        response = self.session.http.get(
            f"{DASHBOARD if '/events'.startswith(self.session.on_dashboard) else '/v1'}/events",
            params={"search": payment, "limit": "100"},
            headers={"Authorization": f"Bearer {self.session.secret_key!s}"},
        )
        listed = msgspec.json.decode(response.content, type=dict[str, msgspec.Raw])["data"]
        return [RawEvent.read(bytes(body)) for body in reversed(msgspec.json.decode(listed, type=list[msgspec.Raw]))]

    def signed_headers(
        self, event: RawEvent, *, away_s: int = 0, secret: str = "", also: tuple[str, ...] = ()
    ) -> dict[str, str]:
        """The headers of an event, signed for the moment `away_s` seconds from now.

        The signatures are by `secret`, by default the exam's own, and by each secret in `also`.
        """
        at_s = int(time.time()) + away_s
        return headers_for(secret or self.secret, event.id, at_s, event.body, also=also, scheme=self.scheme)

    def signed_success(self, **options: Any) -> tuple[RawEvent, dict[str, str]]:  # noqa: ANN401  as `signed` takes it
        """The last event of a new payment that succeeded, and its headers; `options` are those of `signed_headers`."""
        event = self.make_payment().success
        return event, self.signed_headers(event, **options)

    def send(self, label: str, body: bytes, headers: dict[str, str]) -> None:
        """Sends one message as it is, and keeps the exchange for the check; `label` names the message in the report."""
        self.note(WebhookExchange(label, self.target.post(body, headers), body))

    def deliver_payment(self, payment: PaymentEvents, *, backwards: bool = False) -> PaymentEvents:
        """Delivers a payment's events in order, and returns the payment.

        With `backwards`, delivers the last event first, and then once more each event that the shop rejected.
        """
        self.deliver(payment.events[:: -1 if backwards else 1], again=backwards)
        return payment

    def deliver(self, events: Sequence[RawEvent], *, again: bool = False, at_once: bool = False) -> None:
        """Sends genuine events one after the other or, with `at_once`, all at the same moment.

        With `again`, rejected events are sent once more after all other events, as the service would do.
        """
        sent = len(self.exchanges)
        exchanges: Iterable[WebhookExchange] = map(self.send_genuine, events)
        if at_once:
            with ThreadPoolExecutor(len(events)) as threads:
                exchanges = list(threads.map(self.send_genuine, events))
        for exchange in exchanges:
            if exchange.reply.latency_ms >= self.slowest.reply.latency_ms:
                self.slowest = exchange
            self.note(exchange)
        for index, event in enumerate(events if again else (), start=sent):
            if not self.exchanges[index].is_accepted:
                self.exchanges[index] = self.send_genuine(event)

    def send_genuine(self, event: RawEvent, spelling: bytes = b"") -> WebhookExchange:
        """Sends a genuine event, and keeps no exchange. A `spelling` is signed instead of the event's body."""
        headers = self.signed_headers(event._replace(body=spelling or event.body))
        return WebhookExchange(event.type, self.target.post(event.body, headers), event.body)

    def note(self, exchange: WebhookExchange) -> None:
        """Keeps an exchange for the check. Raises NoAnswer: no response came in the target's `patience_s` seconds."""
        self.exchanges.append(exchange)
        self.waited_ms += exchange.reply.latency_ms
        if exchange.reply.status_code is None and exchange.reply.latency_ms >= self.target.patience_s * 1000:
            raise NoAnswer


# The judges

Run = Callable[[Exam], PaymentEvents | None]
"""Sends a check's messages; returns the payment whose order is checked at the end of the exam."""
Judge = Callable[[Reply, int], str]
"""A response and the limit in milliseconds → the fault in words, or an empty text."""


def accepted(reply: Reply, _: int) -> str:
    """Expects a 2xx response to a genuine message; returns the fault, or an empty text."""
    return "" if reply.status_code in _ACCEPTED else reply_text(reply)


def rejected(reply: Reply, _: int) -> str:
    """Expects a 4xx except 410 to a forged message; returns the fault, or an empty text.

    A 410 disables the endpoint, and a 5xx is a fault of the shop.
    """
    if reply.status_code == _GONE:
        return f"{reply_text(reply)}, which disables the endpoint"
    if reply.status_code in _ACCEPTED:
        return f"{reply_text(reply)}: accepted as genuine"
    return "" if reply.status_code in REJECTED else reply_text(reply)


def in_time(reply: Reply, limit_ms: int) -> str:
    """Expects the whole response within the limit; returns the fault, or an empty text."""
    return "" if reply.latency_ms < limit_ms else f"{reply_text(reply)} after {reply.latency_ms} ms"


def reply_text(reply: Reply) -> str:
    """A response in a few words."""
    if reply.status_code is None:
        return f"no response: {reply.fault}"
    text = " ".join(reply.answer.split())
    if reply.status_code in _REDIRECTS:
        return f"{reply.status_code}, a redirect, which is not followed"
    if text[:15].lower().startswith(("<!doctype html", "<html")):
        return f"{reply.status_code} with a page of HTML"
    return f"{reply.status_code} {text[:60]!r}" if text else str(reply.status_code)


# The messages of each check


def _valid(exam: Exam) -> PaymentEvents:
    exam.first = exam.make_payment()
    return exam.deliver_payment(exam.first)


def _duplicate(exam: Exam) -> PaymentEvents:
    """Delivers several copies of each event of a payment at the same moment, then each once; returns the payment.

    A shop may fulfil the order at any event, so every event is repeated.
    """
    payment = exam.make_payment()
    for event in payment.events:
        exam.deliver([event] * _AT_ONCE, again=True, at_once=True)
    return exam.deliver_payment(payment)


def _out_of_order(exam: Exam) -> PaymentEvents:
    """Delivers the last event first; the payment has a failed attempt before its success, if it can have two."""
    is_intent = exam.first.ids[0].startswith(_INTENT)
    return exam.deliver_payment(exam.make_payment("retried" if is_intent else "paid"), backwards=True)


def _unknown_type(exam: Exam) -> None:
    plant = {"id": "plant_1", "object": "plant", "name": "Monstera"}
    new = exam.make_payment().success.altered(
        exam.new_id(), type="plant.watered", data={"object": plant, "previous_attributes": {}}
    )
    exam.deliver([new])


def _unknown_fields(exam: Exam) -> None:
    new_fields = {"loyalty_points": 3, "till": {"name": "Kabwe Road", "number": 7}}
    events = exam.make_payment().events
    exam.deliver(
        [event.altered(event.id, object_members=new_fields, region="lusaka", tags=["a", None]) for event in events]
    )


def _exact_bytes(exam: Exam) -> None:
    """Sends events in JSON that no library writes: with blanks, line breaks and an escaped letter."""
    bodies = [event.body for event in exam.make_payment(amount=Decimal("150.00"), description="Größe ½").events]
    laid_out = [msgspec.json.format(body, indent=1) for body in bodies]
    exam.deliver([RawEvent.read(body.replace(b'"mobile_money"', b'"mobile\\u005fmoney"')) for body in laid_out])


def _tampered(exam: Exam) -> PaymentEvents:
    """Sends a genuine message with its body, id or timestamp changed; returns the unpaid payment in the changed body.

    A shop that looks up the id before it verifies takes the changed body for a duplicate.
    """
    genuine, headers = exam.first.success, exam.signed_headers(exam.first.success)
    unpaid = exam.make_payment("failed")
    other = genuine.about(exam.first.ids, unpaid.ids, genuine.id)
    exam.send("the body changed", other.body, headers)
    if ID_HEADER in headers:
        exam.send("the id changed", genuine.body, {**headers, ID_HEADER: exam.new_id()})
    if signed_at := exam.signer.read(headers).sent_s:
        changed = {name: value.replace(str(signed_at), str(signed_at - 1)) for name, value in headers.items()}
        exam.send("the timestamp changed", genuine.body, changed)
    return unpaid


def _wrong_secret(exam: Exam) -> PaymentEvents:
    unpaid = exam.make_payment("failed")
    for label, secret in (
        ("another secret", other_secret(exam.secret, exam.scheme)),
        ("the specification's example", _PUBLISHED),
    ):
        forged = exam.first.success.about(exam.first.ids, unpaid.ids, exam.new_id())
        exam.send(label, forged.body, exam.signed_headers(forged, secret=secret))
    return unpaid


def _misdated(label: str, away_s: int, exam: Exam) -> None:
    exam.require("stale")
    event, headers = exam.signed_success(away_s=away_s)
    exam.send(label, event.body, headers)


def _missing_headers(exam: Exam) -> None:
    event, headers = exam.signed_success()
    for missing in headers:
        kept = {name: value for name, value in headers.items() if name != missing}
        exam.send(f"without {missing}", event.body, kept)
    if len(headers) > 1:
        exam.send("without any", event.body, {})


def _malformed_headers(exam: Exam) -> None:
    event, headers = exam.signed_success()
    *_, last = headers
    signed_at = exam.signer.read(headers).sent_s
    malformed = [
        {last: "nonsense"},
        *(exam.signer.write(event.id, signed_at or 0, [text]) for text in ("nonsense", "")),
    ]
    if signed_at:
        times = ("soon", "9" * 30, "-1")
        malformed += [{name: value.replace(str(signed_at), time) for name, value in headers.items()} for time in times]
    for wrong in malformed:
        changed = {name: value for name, value in wrong.items() if value != headers[name]}
        exam.send("; ".join(f"{name}: {value}" for name, value in changed.items()), event.body, {**headers, **changed})


def _several_signatures(exam: Exam) -> None:
    exam.require("several")
    event, headers = exam.signed_success()
    *_, last = headers
    two_signatures = _WITH_FUTURE_SIGNATURE[exam.scheme]
    exam.send(two_signatures.format("…"), event.body, {**headers, last: two_signatures.format(headers[last])})


def _rolled_secret(exam: Exam) -> None:
    exam.require("several")
    other = other_secret(exam.secret, exam.scheme)
    for label, secret, also in (("new, old", other, exam.secret), ("old, new", exam.secret, other)):
        event, headers = exam.signed_success(secret=secret, also=(also,))
        exam.send(f"the signatures {label}", event.body, headers)


def _restart(exam: Exam) -> PaymentEvents:
    """Restarts the shop between two deliveries of the same events, as if the first responses had been lost."""
    if exam.restart is None:
        raise NotExamined("--cmd would examine it")
    payment = exam.deliver_payment(exam.make_payment())
    exam.orders_before_restart.update(exam.orders() if exam.orders else {})
    exam.restart()
    return exam.deliver_payment(payment)


def _large(exam: Exam) -> None:
    event = exam.make_payment().success
    exam.deliver([event.altered(event.id, object_members={"metadata": {"note": "x" * LARGE_BYTES}})])


def _burst(exam: Exam) -> None:
    """Sends many events one after the other, for at most 30 seconds."""
    event, until = exam.make_payment().events[0], time.monotonic() + _BURST_S
    family, status = ("payment_intent", "processing") if event.type.startswith("payment") else ("charge", "pending")
    for _ in range(BURST):
        if time.monotonic() > until:
            exam.note(WebhookExchange("the rest", Reply(None, fault=f"{_BURST_S} s are up")))
            break
        exam.deliver([event.altered(exam.new_id(), type=f"{family}.{status}", object_members={"status": status})])


def _refund_first(exam: Exam) -> PaymentEvents:
    payment, refund = exam.make_refund()
    exam.deliver([*refund, *payment.events], again=True)
    return payment


_RUNS: Final[Mapping[str, tuple[Run, Judge]]] = {
    "valid": (_valid, accepted),
    "duplicate": (_duplicate, accepted),
    "out_of_order": (_out_of_order, accepted),
    "failed": (lambda exam: exam.deliver_payment(exam.make_payment("failed")), accepted),
    "retried": (lambda exam: exam.deliver_payment(exam.make_payment("retried")), accepted),
    "unknown_type": (_unknown_type, accepted),
    "unknown_fields": (_unknown_fields, accepted),
    "exact_bytes": (_exact_bytes, accepted),
    "tampered": (_tampered, rejected),
    "wrong_secret": (_wrong_secret, rejected),
    "stale": (partial(_misdated, "an hour old", -_HOUR_S), rejected),
    "future": (partial(_misdated, "an hour ahead", _HOUR_S), rejected),
    "missing_headers": (_missing_headers, rejected),
    "malformed_headers": (_malformed_headers, rejected),
    "several_signatures": (_several_signatures, accepted),
    "rolled_secret": (_rolled_secret, accepted),
    "restart": (_restart, accepted),
    "large": (_large, accepted),
    "replay": (lambda exam: exam.deliver_payment(exam.yesterday), accepted),
    "burst": (_burst, accepted),
    "refund_first": (_refund_first, accepted),
    "late_success": (lambda exam: exam.deliver_payment(exam.make_payment("late")), accepted),
    "late_credited": (lambda exam: exam.deliver_payment(exam.make_credited_payment()), accepted),
    "slow": (lambda exam: exam.exchanges.append(exam.slowest), in_time),
}
"""Check → the function that sends its messages, and the judge of each response."""


# The checks

_TOML: Final = Path(__file__).with_suffix(".toml").read_text("utf-8")
_SHARED: Final = tomllib.loads(_TOML)["shared"]
_TEXTS: Final = tomllib.loads(_TOML.format(**_SHARED, at_once=_AT_ONCE, burst=BURST, large_kib=LARGE_BYTES // 1024))
REJECTED_BADLY: Final[Mapping[str, str]] = {"why": _SHARED["not_accepted"], "fix": _SHARED["catch"]}
"""The texts for a shop that rejects forged messages with another status than a 4xx."""


def texts(kind: str) -> list[dict[str, Any]]:
    """The rows of `checks.toml` of a kind, `check` or `cause`, with shared texts and figures in place of the braces."""
    return [{**row, "notebook": notebook_name(row["notebook"])} for row in _TEXTS[kind]]


class Order(NamedTuple):
    """The fulfilments and the status that an order should have after a check; an empty status is not checked."""

    fulfilled: int
    why: str
    fix: str
    status: str = ""
    instead: Mapping[str, Mapping[str, str]] = {}
    """Other texts for an order that is `missing` (it was not fulfilled) or `gone` (with the restart)."""


class Check(NamedTuple):
    """A check of an endpoint: the function that sends the messages, the judge of each response, and the texts."""

    run: Run
    judge: Judge
    row: ReportRow
    """The check's row in the report before the exam: not examined, without responses."""
    order: Order | None
    warns: bool
    """True if a fault is only a warning, because the case may never occur in this shop."""

    @classmethod
    def from_texts(cls, order: Mapping[str, Any] | None = None, *, warns: bool = False, **texts: str) -> "Check":
        """A check from the `texts` of its row of `checks.toml`, and the table `order` of that row, if it has one.

        With `warns`, a fault is only a warning.
        """
        row = ReportRow(**texts, verdict=NOT_EXAMINED, came="")
        return cls(*_RUNS[row.name], row, Order(**order) if order else None, warns)

    def ended(self, verdict: str, came: str, printed: str = "") -> ReportRow:
        """The check's row with a verdict, the responses in words (`came`), and what the shop printed meanwhile."""
        return self.row._replace(verdict=verdict, came=came, printed=printed)


CHECKS: Final = tuple(Check.from_texts(**row) for row in texts("check"))


def times(count: int) -> str:
    """The count of an order's fulfilments in words, such as `fulfilled once`."""
    return {0: "not fulfilled", 1: "fulfilled once"}.get(count, f"fulfilled {count} times")


ORDER_CHECKS: Final = tuple(
    check._replace(row=check.row._replace(
        name=f"{check.row.name}.{part}", title=f"{check.row.title}: its {part}", expected=expected,
        why=check.order.why, fix=check.order.fix,
    ))
    for check in CHECKS if check.order
    for part, expected in (("order", times(check.order.fulfilled)), ("status", check.order.status)) if expected
)  # fmt: skip
"""Checks of the orders at the end of the exam; they send no messages."""
