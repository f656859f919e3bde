"""The checks of an exam: the functions that send their messages, and the judges of the responses.

To add a check, add its texts to `checks.toml`, and to `_RUNS` the function that sends its messages.
"""

import base64
import time
import tomllib
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from workbench.certify.exam import Event, Exam, Exchange, NotExamined, Payment, is_accepted
from workbench.domain.signatures import ID_HEADER, SECRET_PREFIX, STANDARD
from workbench.domain.webhooks import other_secret
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

Run = Callable[[Exam], Payment | None]
"""Sends a check's messages; returns the payment whose order is checked at the end of the exam."""
Judge = Callable[[Reply, int], str]
"""A response and the limit in milliseconds → the fault in words, or an empty text."""


def accepted(reply: Reply, _: int) -> str:
    """Expects a 2xx response to a genuine message; returns the fault, or an empty text."""
    return "" if is_accepted(reply) else shown(reply)


def refused(reply: Reply, _: int) -> str:
    """Expects a 4xx except 410 to a forged message; returns the fault, or an empty text.

    A 410 disables the endpoint, and a 5xx is a fault of the shop.
    """
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

    run: Run
    judge: Judge
    name: str
    title: str
    sent: str
    expected: str
    why: str
    fix: str
    notebook: str
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
    """A header's value with a future version's signature beside `{}`, which stands for the known signature.

    Raises NotExamined: the scheme's header holds one signature.
    """
    if not exam.way.has_room:
        raise NotExamined(f"the scheme {exam.scheme} has room for one signature")
    return _TO_COME[exam.scheme]


_RUNS: Final[Mapping[str, tuple[Run, Judge]]] = {
    "valid": (_valid, accepted),
    "duplicate": (_duplicate, accepted),
    "out_of_order": (lambda exam: exam.deliver_payment(exam.made(), backwards=True), accepted),
    "failed": (lambda exam: exam.deliver_payment(exam.made("failed")), accepted),
    "unknown_type": (_unknown_type, accepted),
    "unknown_fields": (_unknown_fields, accepted),
    "exact_bytes": (_exact_bytes, accepted),
    "tampered": (_tampered, refused),
    "wrong_secret": (_wrong_secret, refused),
    "stale": (partial(_away, "an hour old", -_HOUR_S), refused),
    "future": (partial(_away, "an hour ahead", _HOUR_S), refused),
    "missing_headers": (_missing_headers, refused),
    "malformed_headers": (_malformed_headers, refused),
    "several_signatures": (_several_signatures, accepted),
    "rolled_secret": (_rolled_secret, accepted),
    "restart": (_restart, accepted),
    "large": (_large, accepted),
    "replay": (lambda exam: exam.deliver_payment(exam.yesterday), accepted),
    "burst": (_burst, accepted),
    "refund_first": (_refund_first, accepted),
    "late_success": (lambda exam: exam.deliver_payment(exam.made("late")), accepted),
    "slow": (lambda exam: exam.exchanges.append(exam.slowest), in_time),
}
"""Check → the function that sends its messages, and the judge of each response."""


# The texts

_FILE: Final = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
_SHARED: Final = _FILE["shared"]
_FIGURES: Final = {"at_once": _AT_ONCE, "burst": BURST, "large_kib": LARGE_BYTES // 1024}
REFUSED_BADLY: Final[tuple[str, str]] = (_SHARED["not_accepted"], _SHARED["catch"])
"""Why and fix for a shop that rejects forged messages with another status than a 4xx."""


def texts(kind: str) -> list[dict[str, Any]]:
    """The rows of `checks.toml` of a kind, `check` or `cause`, with shared texts and figures in place of the braces."""
    return [_filled(row) for row in _FILE[kind]]


def _filled(value: Any) -> Any:  # noqa: ANN401  any value of TOML
    if isinstance(value, dict):
        return {name: _filled(member) for name, member in value.items()}
    return value.format(**_SHARED, **_FIGURES) if isinstance(value, str) else value


CHECKS: Final = tuple(
    Check(*_RUNS[row["name"]], **{**row, "order": Order(**row["order"]) if "order" in row else None})
    for row in texts("check")
)


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
