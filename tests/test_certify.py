"""The exam for a webhook endpoint: who passes it, who fails on what, and what cannot be examined."""

import json
import re
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, make_server
from wsgiref.types import StartResponse, WSGIEnvironment

import psutil
import pytest
import standardwebhooks
from click.testing import CliRunner, Result

from tests.conftest import SECRET, free_port, is_true_soon
from workbench import Receiver, Workbench, process
from workbench import certify as run
from workbench.certify import Report, certify, checks, shop
from workbench.cli import app
from workbench.domain.signatures import SECRET_PREFIX, STANDARD, verify
from workbench.domain.webhooks import EVENT_TYPES
from workbench.errors import ExamRefused, SignatureRefused
from workbench.resources import course
from workbench.sandbox.outbound import Reply

LATER = pytest.mark.thorough
ORDERS = [
    f"{check.row.name}.{what}"
    for check in checks.CHECKS if check.order
    for what in ("order", *(["status"] if check.order.status else []))
]  # fmt: skip


class Shop:
    """A good shop on the reference receiver, and a flaw that comes before it: a status, or None to go on."""

    def __init__(self, bench: Workbench, flaw: "Flaw | None" = None, scheme: str = STANDARD) -> None:
        self.orders: Counter[str] = Counter()
        self.statuses: dict[str, str] = {}
        self.refunds: set[str] = set()
        self._bench, self._flaw, self._scheme = bench, flaw, scheme
        self.start()

    def start(self) -> None:
        """With a receiver that remembers no message."""
        self.receiver = Receiver([SECRET])
        self.receiver.scheme = self._scheme
        self.receiver.on("payment_intent.succeeded", "collection.successful")(
            lambda event: self.ship(event.data.object["id"])
        )
        self.receiver.on("suspense.credited")(lambda event: self.ship(event.data.object["payment_intent"]))
        self.receiver.on("refund.created")(lambda event: self.refunds.add(event.data.object["payment_intent"]))

    @property
    def seen(self) -> list[str]:
        return [each.id for each in self.receiver.events]

    @property
    def types(self) -> list[str]:
        return [each.type for each in self.receiver.events]

    def types_of(self, event: dict[str, Any]) -> list[str]:
        return [each.type for each in self.receiver.events if each.data.object["id"] == event["data"]["object"]["id"]]

    def knows(self, payment: str) -> bool:
        return any(each.data.object["id"] == payment for each in self.receiver.events)

    def ship(self, payment: str) -> None:
        if payment not in self.refunds:
            self.orders[payment] += 1
            self.statuses[payment] = "paid"

    def shipped(self) -> dict[str, shop.ShopOrder]:
        return {payment: shop.ShopOrder(times, self.statuses[payment]) for payment, times in self.orders.items()}

    def check_out(self, phone: str) -> None:
        made = self._bench.client.payment_intents.create(amount=Decimal("87.35"))
        self._bench.client.payment_intents.confirm(made.id, phone=phone, provider="mtn")

    def take(self, body: bytes, headers: dict[str, str]) -> int:
        status = self._flaw(self, body, headers) if self._flaw else None
        return self.receiver.receive(body, headers) if status is None else status


class Quiet(WSGIRequestHandler):
    def log_message(self, *_: object) -> None: ...


@contextmanager
def listening(take: Callable[[bytes, dict[str, str]], int], text: bytes = b"", **sent: str) -> Iterator[str]:
    """A server that answers each message with a status; its URL."""

    def app(environ: WSGIEnvironment, start_response: StartResponse) -> list[bytes]:
        body = environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"]))
        names = [name for name in environ if name.startswith("HTTP_")]
        headers = {name.removeprefix("HTTP_").replace("_", "-").lower(): environ[name] for name in names}
        start_response(f"{take(body, headers)} As Asked", list(sent.items()))
        return [text]

    with make_server("127.0.0.1", 0, app, handler_class=Quiet) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/webhooks"
        finally:
            # Closed before it is shut down, it would spin for as long as the tests run.
            server.shutdown()
            thread.join()


def junit_of(text: str) -> ET.Element:
    return ET.fromstring(text)  # noqa: S314  written here


Flaw = Callable[[Shop, bytes, dict[str, str]], int | None]


def genuine(body: bytes, headers: dict[str, str], **more: int) -> dict[str, Any] | None:
    """The event, if the message holds."""
    try:
        verify(body, headers, [SECRET], **{"now_s": int(time.time()), **more})
    except SignatureRefused:
        return None
    return dict(json.loads(body))


def on(judge: Callable[[Shop, dict[str, Any]], int | None]) -> Flaw:
    """A flaw in how genuine events are handled."""

    def flaw(shop: Shop, body: bytes, headers: dict[str, str]) -> int | None:
        event = genuine(body, headers)
        return None if event is None else judge(shop, event)

    return flaw


def by_the_library(_: Shop, body: bytes, headers: dict[str, str]) -> int | None:
    try:
        standardwebhooks.Webhook(SECRET).verify(body, headers)
    except standardwebhooks.WebhookVerificationError:
        return 400
    except Exception:  # noqa: BLE001  what a framework answers when a handler raises
        return 500
    return None


def rewritten(_: Shop, body: bytes, headers: dict[str, str]) -> int | None:
    written = json.dumps(
        json.loads(body, parse_float=Decimal), separators=(",", ":"), ensure_ascii=False, default=float
    )
    return None if genuine(written.encode(), headers) else 400


def first_signature_alone(_: Shop, body: bytes, headers: dict[str, str]) -> int | None:
    given = [each for each in headers.get("webhook-signature", "").split() if each.startswith("v1,")]
    return None if genuine(body, {**headers, "webhook-signature": given[0] if given else ""}) else 400


def at_another_time(choose: Callable[[int, int], int]) -> Flaw:
    """Verifies at whichever moment of the two, its own or the message's, lets more through."""

    def flaw(_: Shop, body: bytes, headers: dict[str, str]) -> int | None:
        sent = headers.get("webhook-timestamp", "")
        now_s = choose(int(time.time()), int(sent)) if sent.isdigit() and len(sent) < 12 else int(time.time())
        return 200 if genuine(body, headers, now_s=now_s) and not genuine(body, headers) else None

    return flaw


def with_the_example(_: Shop, body: bytes, headers: dict[str, str]) -> int | None:
    try:
        verify(body, headers, [SECRET_PREFIX + "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"], now_s=int(time.time()))
    except SignatureRefused:
        return None
    return 200


def slow_once(shop: Shop, event: dict[str, Any]) -> None:
    if event["type"] == "payment_intent.succeeded" and "payment_intent.succeeded" not in shop.types:
        time.sleep(1.1)


def object_of(event: dict[str, Any]) -> dict[str, Any]:
    return dict(event["data"]["object"])


def ship_late_money(shop: Shop, event: dict[str, Any]) -> None:
    if event["type"] == "payment_intent.late_success" and event["id"] not in shop.seen:
        shop.ship(object_of(event)["id"])


def ship_first(shop: Shop, body: bytes, headers: dict[str, str]) -> None:
    event = json.loads(body)
    if event["type"] == "payment_intent.succeeded" and event["id"] not in shop.seen and not genuine(body, headers):
        shop.ship(object_of(event)["id"])


def wait_again(shop: Shop, event: dict[str, Any]) -> None:
    if event["type"] == PROCESSING and event["id"] not in shop.seen and object_of(event)["id"] in shop.statuses:
        shop.statuses[object_of(event)["id"]] = "waiting"


def age_of(shop: Shop, event: dict[str, Any]) -> timedelta:
    """How old an event says it is, beside the latest that came."""
    latest = max((each.timestamp for each in shop.receiver.events), default=event["timestamp"])
    return datetime.fromisoformat(latest) - datetime.fromisoformat(event["timestamp"])


def skip_unless(allowed: Callable[[Shop, dict[str, Any]], bool]) -> Flaw:
    """Takes every message, and ships for some alone."""

    def judge(shop: Shop, event: dict[str, Any]) -> int | None:
        return 200 if event["type"] == "payment_intent.succeeded" and not allowed(shop, event) else None

    return on(judge)


def ship_each_copy(shop: Shop, event: dict[str, Any]) -> None:
    if event["type"] == "charge.succeeded" and event["id"] in shop.seen:
        shop.ship(object_of(event)["payment_intent"])


def forget_refunds(shop: Shop, _: dict[str, Any]) -> None:
    shop.refunds.clear()


def processing_first(shop: Shop, event: dict[str, Any]) -> bool:
    return any(
        each.type.endswith("processing") and each.data.object["id"] == object_of(event)["id"]
        for each in shop.receiver.events
    )


PROCESSING = "payment_intent.processing"
FLAWS: dict[str, Flaw] = {
    "duplicate": on(lambda shop, event: 409 if event["id"] in shop.seen else None),
    "out_of_order": on(lambda shop, event: 409 if event["type"].endswith(".created") and event["type"][:2] == "pa"
                       and event["id"] not in shop.seen and shop.knows(object_of(event)["id"]) else None),
    "failed": on(lambda _, event: 404 if object_of(event).get("failure_code") == "insufficient_funds" else None),
    "unknown_type": on(lambda _, event: None if event["type"] in EVENT_TYPES else 422),
    "unknown_fields": on(lambda _, event: 422 if "region" in event else None),
    "exact_bytes": rewritten,
    "tampered": lambda shop, _, headers: 200 if headers.get("webhook-id") in shop.seen else None,
    "wrong_secret": with_the_example,
    "stale": at_another_time(min),
    "future": at_another_time(max),
    "missing_headers": lambda _, __, headers: None if "webhook-signature" in headers else 200,
    "malformed_headers": by_the_library,
    "several_signatures": lambda _, __, headers: 400 if "v1a" in headers.get("webhook-signature", "") else None,
    "rolled_secret": first_signature_alone,
    "large": lambda _, body, __: 413 if len(body) > 100_000 else None,
    "replay": on(lambda shop, event: 400 if age_of(shop, event) > timedelta(hours=1) else None),
    "burst": on(lambda shop, event: 429 if [*shop.types[-100:], event["type"]] == [PROCESSING] * 101 else None),
    "refund_first": on(lambda _, event: 500 if event["type"] == "refund.succeeded" else None),
    "late_success": on(lambda _, event: 500 if event["type"].endswith("late_success") else None),
    "slow": on(slow_once),
    "duplicate.order": on(ship_each_copy),
    "wrong_secret.order": ship_first,
    "out_of_order.status": on(wait_again),
    "out_of_order.order": skip_unless(processing_first),
    "replay.order": skip_unless(lambda shop, event: age_of(shop, event) < timedelta(hours=1)),
    "retried.order": skip_unless(lambda shop, event: "payment_intent.payment_failed" not in shop.types_of(event)),
    "refund_first.order": on(forget_refunds),
    "late_success.order": on(ship_late_money),
    "late_credited.order": on(lambda _, event: 200 if event["type"] == "suspense.credited" else None),
}  # fmt: skip
"""What fails → who fails on it."""
AGAIN = {
    "duplicate": ["restart"], "duplicate.order": ["restart.order"],
    "late_success": ["late_credited"], "late_success.order": ["late_credited.order"],
}  # fmt: skip
"""Flaws that are seen once more, when the messages come again after the restart or the late money is credited."""
CAME = {
    "tampered": "the body changed, the timestamp changed: 200: accepted as genuine",
    "wrong_secret.order": "fulfilled 2 times, although the message was rejected",
    "out_of_order.status": "waiting",
}
SEEN_AT_ONCE = ("tampered",)


@contextmanager
def sandbox(**gaps: object) -> Iterator[Workbench]:
    """As the command opens one."""
    with Workbench(seed=7, start=datetime.now(UTC) - timedelta(days=1), gaps=gaps) as bench:
        yield bench


def examined(
    flaw: Flaw | None = None,
    *,
    restart: Callable[[Shop], object] = lambda _: None,
    limit_s: int | None = None,
    **gaps: object,
) -> Report:
    with sandbox(**gaps) as bench:
        shop = Shop(bench, flaw, str(gaps.get("signature_scheme", STANDARD)))
        given = {
            "checkout": shop.check_out,
            "orders": shop.shipped,
            "restart": lambda: restart(shop),
            "limit_s": limit_s,
        }
        with listening(shop.take) as url:
            return certify(bench, url, SECRET, **given)


def failed(report: Report) -> list[str]:
    return [each.name for each in report.failed]


WHOLE_BURST = checks.BURST


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """What takes long is seen whole in two tests."""
    monkeypatch.setattr(checks, "BURST", 2)


def test_a_shop_on_the_reference_receiver_passes_whole(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(checks, "BURST", WHOLE_BURST)
    report = examined()
    assert (failed(report), report.passes) == ([], True)
    assert {each.verdict for each in report.rows} == {"passed"}
    assert [each.name for each in report.rows] == [*(each.row.name for each in checks.CHECKS), *ORDERS]
    assert report.causes == ()


def test_a_burst_that_takes_too_long_fails_on_its_own(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(checks, "_BURST_S", 0)
    assert failed(examined()) == ["burst"]


@pytest.mark.parametrize("flaw", [pytest.param(each, marks=() if each in SEEN_AT_ONCE else LATER) for each in FLAWS])
def test_a_flaw_fails_on_its_check_alone(flaw: str, monkeypatch: pytest.MonkeyPatch):
    if flaw == "burst":
        monkeypatch.setattr(checks, "BURST", WHOLE_BURST)
    report = examined(FLAWS[flaw], limit_s=1 if flaw == "slow" else None)
    assert [each.name for each in report.rows if each.verdict in {"failed", "warning"}] == [
        flaw,
        *AGAIN.get(flaw, []),
    ]
    assert (failed(report) == [], report.causes) == (flaw == "large", ())
    assert CAME.get(flaw, "") in "".join(each.came for each in report.failed)
    assert ("MAX_CONTENT_LENGTH in Flask" in str(report)) is (flaw == "large")


def first_of(*names: str) -> Flaw:
    """Several flaws in one shop: the first that decides a message."""
    return lambda *message: next((status for name in names if (status := FLAWS[name](*message)) is not None), None)


@pytest.mark.parametrize("names", [("stale", "future"), ("refund_first", "late_success")])
def test_failures_that_look_alike_have_no_cause_of_other_checks(names: tuple[str, ...]):
    report = examined(first_of(*names))
    assert (failed(report), report.causes) == ([*names, *AGAIN.get(names[-1], [])], ())


def test_a_failed_attempt_that_is_reported_late_does_not_make_a_paid_order_unpaid():
    def unpaid(shop: Shop, event: dict[str, Any]) -> None:
        if event["type"] == "payment_intent.payment_failed":
            shop.statuses[object_of(event)["id"]] = "unpaid"

    report = examined(on(unpaid))
    assert [(each.name, each.came) for each in report.failed] == [("out_of_order.status", "unpaid")]


PAID_ORDERS = {f"{each.row.name}.order" for each in checks.CHECKS if each.order and each.order.fulfilled}


def unshipped(_: Shop, event: dict[str, Any]) -> int | None:
    return 200 if event["type"] in {"payment_intent.succeeded", "suspense.credited"} else None


def ship_for_the_charge_too(shop: Shop, event: dict[str, Any]) -> None:
    if event["type"] == "charge.succeeded" and event["id"] not in shop.seen:
        shop.ship(object_of(event)["payment_intent"])


@pytest.mark.parametrize(
    ("judge", "cause", "orders", "came"),
    [
        (unshipped, "never_fulfilled", PAID_ORDERS, "not fulfilled in the 0 s after the last message"),
        (ship_for_the_charge_too, "counted_twice", PAID_ORDERS - {"late_credited.order"}, "fulfilled 2 times"),
    ],
)
def test_a_count_that_is_wrong_for_every_paid_order_has_one_cause(
    judge: Callable[[Shop, dict[str, Any]], int | None], cause: str, orders: set[str], came: str,
    monkeypatch: pytest.MonkeyPatch,
):  # fmt: skip
    monkeypatch.setattr(run, "_ORDERS_S", 0)
    report = examined(on(judge))
    assert [each.name for each in report.causes] == [cause]
    assert {(each.name, each.came, each.fix) for each in report.failed} == {
        (name, came, report.causes[0].fix) for name in orders
    }


def test_an_order_that_copies_keep_from_being_fulfilled_has_its_own_advice(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(run, "_ORDERS_S", 0)
    copies: Counter[str] = Counter()

    def stuck(_: Shop, event: dict[str, Any]) -> int | None:
        copies[object_of(event).get("id", "")] += event["type"] == "payment_intent.created"
        is_success = event["type"] == "payment_intent.succeeded"
        return 200 if is_success and copies[object_of(event)["id"]] > 1 else None

    (row,) = examined(on(stuck)).failed
    assert (row.name, row.fix[:40]) == ("duplicate.order", "Let one of several copies fulfil the ord")


def test_a_shop_that_uses_up_the_time_is_told_so_for_every_check_left(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(run, "_EXAM_S", 1)
    with sandbox() as bench, listening(lambda *_: time.sleep(0.3) or 200) as url:
        report = certify(bench, url, SECRET)
    (row,) = report.failed
    assert row.name == "slow"
    assert re.fullmatch(r"1 s are up, used up by slow responses: the slowest took 3\d\d ms", row.came)
    assert f"- not examined: {row.came}: The same message again" in str(report)


def test_a_word_that_is_longer_than_its_column_is_cut_rather_than_left_out():
    row = checks.CHECKS[0].ended("failed", f"created:{'x' * 200}")
    assert f"created:{'x' * 40}" in row.line()
    assert row.line().endswith(" …")


@LATER
@pytest.mark.parametrize(
    ("restart", "came"),
    [(Shop.start, "fulfilled 2 times"), (lambda shop: shop.orders.clear(), "10 earlier orders are gone")],
)
def test_what_a_shop_forgets_at_a_restart_is_found(restart: Callable[[Shop], object], came: str):
    (row,) = examined(restart=restart).failed
    assert (row.name, row.came, "Keep the orders in the" in row.fix) == ("restart.order", came, "gone" in came)


LATE = {"late_success", "late_success.order", "late_credited", "late_credited.order"}
REFUND = {"refund_first", "refund_first.order"}
SWITCHED: list[tuple[str, object, set[str]]] = [
    # what the exam itself relies on → what has no meaning then
    ("signature_scheme", "github", {"stale", "future", "several_signatures", "rolled_secret"}),
    ("signature_scheme", "stripe", set()),
    ("event_types", "collection", LATE | REFUND),
    ("late_success", "succeeds", LATE),
    ("prompt_timeout_s", 600, set()),
    ("client_secret_on_confirm", "always", set()),
    ("extra_endpoints", "absent", set()),
    ("intent_fields", "minimal", set()),
    ("pagination", "page", set()),
]


@pytest.mark.parametrize(
    ("row", "value", "left_out"),
    [
        pytest.param(*each, id=f"{each[0]}={each[1]}", marks=LATER if number else ())
        for number, each in enumerate(SWITCHED)
    ],
)
def test_the_exam_goes_by_the_register(row: str, value: object, left_out: set[str]):
    report = examined(**{row: value})
    assert failed(report) == []
    assert {each.name for each in report.rows if each.verdict == "not examined"} == left_out
    assert f"s, with {row} = {value}." in str(report)
    assert f"with {row} = {value}." in report.html()


def test_numbers_that_trigger_nothing_leave_nothing_to_examine_with():
    with pytest.raises(ExamRefused, match=r"came to payment_intent\.requires_action: failure_triggers = header"):
        examined(failure_triggers="header")


@LATER
def test_a_shop_that_asks_for_a_message_again_passes():
    def not_yet(shop: Shop, event: dict[str, Any]) -> int | None:
        is_early = event["type"] == PROCESSING and not any(each.endswith(".created") for each in shop.types_of(event))
        return 503 if is_early and "evt_exam" not in event["id"] else None

    assert failed(examined(on(not_yet))) == []


@LATER
def test_a_second_fulfilment_that_comes_late_is_seen():
    reads: list[int] = []

    def orders() -> Counter[str]:
        reads.append(1)
        return good.orders + Counter(list(good.orders)[:1] if len(reads) > 2 else [])

    with sandbox() as bench:
        good = Shop(bench)
        with listening(good.take) as url:
            report = certify(bench, url, SECRET, checkout=good.check_out, orders=orders)
    assert [(each.name, each.came) for each in report.failed] == [("valid.order", "fulfilled 2 times")]


@LATER
def test_an_endpoint_that_hangs_midway_is_left_soon(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(checks, "_PATIENCE_S", 1)
    taken: list[bytes] = []

    def hang_after_ten(body: bytes, _: dict[str, str]) -> int:
        taken.append(body)
        if len(taken) > 10:
            time.sleep(3)
        return 200

    def orders() -> dict[str, int]:
        if len(taken) > 10:
            raise ExamRefused("The command of --orders had not ended after 30 s; it printed:\n")
        return {}

    with sandbox() as bench, listening(hang_after_ten) as url:
        report = certify(bench, url, SECRET, limit_s=1, orders=orders)
    assert [each.name for each in report.causes] == ["too_slow"], "the command that asks this shop is not to blame"
    assert sum(each.verdict == "failed" for each in report.rows) == run.MOST_TIMEOUTS
    assert report.rows[-1].came == "your shop no longer responds"


def test_the_copies_of_a_message_arrive_at_the_same_moment():
    together = threading.Barrier(4, timeout=5)
    with sandbox(delivery_timeout_s=5) as bench:
        examined = checks.Exam(bench, NOWHERE, SECRET)
        assert examined.limit_ms == 5_000
        examined.target.post = lambda *_: Reply(200 + together.wait())  # type: ignore[method-assign]  answers once all four are there
        examined.deliver([checks.RawEvent.read(b'{"id": "evt_1", "type": "plant.watered"}')] * 4, at_once=True)
    assert {each.reply.status_code for each in examined.exchanges} == {200, 201, 202, 203}


def test_each_check_has_its_name_and_a_notebook_that_is_there():
    names = [each.row.name for each in checks.CHECKS]
    assert len(set(names)) == len(names)
    assert {each.row.notebook for each in checks.CHECKS} <= {each.name for each in course().values()}
    assert not re.search(r"{\w+}", repr(checks.CHECKS)), "each brace has its text"


def everything_else(status: int, answer: bytes = b"", **headers: str) -> Callable[[], Any]:
    return lambda: listening(lambda _, __: status, answer, **headers)


@contextmanager
def raw(
    answer: Callable[[socket.socket], object],
    at: tuple[str, int] = ("127.0.0.1", 0),
    family: socket.AddressFamily = socket.AF_INET,
) -> Iterator[str]:
    """A server that does what it likes with each connection."""
    with socket.create_server(at, family=family) as server:

        def serve() -> None:
            with ExitStack() as held, suppress(OSError):
                while True:
                    connection = held.enter_context(server.accept()[0])
                    with suppress(OSError):
                        answer(connection)

        threading.Thread(target=serve, daemon=True).start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}/webhooks"
        server.shutdown(socket.SHUT_RDWR)


def accept(connection: socket.socket) -> None:
    connection.recv(4096)
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")


@pytest.mark.skipif(not socket.has_dualstack_ipv6(), reason="This machine has no IPv6")
def test_a_shop_at_localhost_is_called_where_it_listens_now():
    target = shop.Target(f"http://localhost:{free_port()}/webhooks")
    assert not target.listens()
    for host, family in (("127.0.0.1", socket.AF_INET), ("::1", socket.AF_INET6)):
        with raw(accept, (host, target.port), family):
            assert target.listens()
            assert target.post(b"{}", {}).status_code == 200


def reset(connection: socket.socket) -> None:
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


def drip(connection: socket.socket) -> None:
    def sending() -> None:
        with suppress(OSError):
            while True:
                connection.send(b"H")
                time.sleep(0.05)

    threading.Thread(target=sending, daemon=True).start()


def verifying(spelled: Callable[[bytes], bytes] = bytes, otherwise: int = 400) -> Callable[[], Any]:
    """Accepts a message if it verifies, once its body is spelled so."""
    return lambda: listening(lambda body, headers: 200 if genuine(spelled(body), headers) else otherwise)


def compact(body: bytes) -> bytes:
    return json.dumps(json.loads(body), separators=(",", ":")).encode()


def test_a_remedy_that_names_what_to_use_in_node_names_it_in_php_too():
    fixes = {row["fix"] for kind in ("check", "cause") for row in checks.texts(kind)}
    in_node = {fix for fix in fixes if re.search("express|npm", fix)}
    assert len(in_node) == 3
    assert {fix for fix in in_node if re.search("(?i)php", fix)} == in_node
    assert [fix for fix in in_node if re.search("Go.*panic", fix) and "In Java" in fix]


FORGED = {each.row.name for each in checks.CHECKS if each.judge is checks.rejected}
WITH_AMOUNTS = {each.row.name for each in checks.CHECKS if each.judge is checks.accepted} - {
    "unknown_type", "burst", "restart", "large",
}  # fmt: skip
UNCAUGHT, UNVERIFIED = "An exception is not caught", "Signatures are not verified"
PARSED, LATE_ANSWERS = "The signature is verified after parsing", "The responses are late"
BAD: dict[str, tuple[Callable[[], Any], set[str], str, str]] = {
    # who answers → what fails, what is said of it, and what explains it
    "200 to everything": (everything_else(200), FORGED, "example: 200: accepted as genuine", UNVERIFIED),
    "a page of HTML": (
        everything_else(200, b"<!doctype html><title>Shop"), FORGED, "a page of HTML: accepted as genuine", UNVERIFIED,
    ),
    "500 to everything": (everything_else(500, b"Oops"), {"valid"}, "intent.processing, and 2 more: 500 'Oops'", ""),
    "403 to everything": (everything_else(403), {"valid"}, "and 2 more: 403", ""),
    "410 to what is forged": (verifying(otherwise=410), FORGED, "410, which disables", ""),
    "500 to what is forged": (verifying(otherwise=500), FORGED, "example: 500", UNCAUGHT),
    "verifies after parsing": (verifying(compact), WITH_AMOUNTS, "400", PARSED),
    "verifies with blanks": (verifying(lambda body: json.dumps(json.loads(body)).encode()), {"valid"}, "400", PARSED),
    "redirects": (everything_else(302, Location="http://127.0.0.1:9/"), {"valid"}, "302, a redirect, which is not", ""),
    "resets": (lambda: raw(reset), {"valid"}, "no response: ", ""),
    "hangs": (lambda: raw(lambda _: None), {"valid"}, "no response: the response took longer than 2 s", LATE_ANSWERS),
    "drips": (lambda: raw(drip), {"valid"}, "no response: the response took longer than 2 s", LATE_ANSWERS),
}  # fmt: skip


@pytest.mark.parametrize(
    "who", [pytest.param(each, marks=() if each == "403 to everything" else LATER) for each in BAD]
)
def test_whoever_answers_like_this_gets_a_clear_result_soon(who: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(checks, "_PATIENCE_S", 1)
    answering, fails, said, cause = BAD[who]
    began = time.monotonic()
    with sandbox() as bench, answering() as url:
        report = certify(bench, url, SECRET, limit_s=1 if "longer than" in said else None)
    assert time.monotonic() - began < 30
    assert set(failed(report)) == fails
    assert said in " ".join(each.came for each in report.failed)
    assert not report.passes
    if fails == {"valid"}:
        assert report.score == f"0 of 1 passed, {len(report.rows) - 1} not examined", "to refuse all is no merit"
    # What explains several failures stands first, and once.
    assert [each.title for each in report.causes] == [cause] * bool(cause)
    for each in report.causes:
        flagged = [row for row in report.rows if row.verdict in {"failed", "warning"}]
        assert {(row.cause, row.fix) for row in flagged} == {(cause, each.fix)}
        shown = " ".join(report.ending().split())
        assert shown.startswith(f"✗ {cause} ")
        assert (shown.count(each.fix), shown.count(f"Cause: {cause}")) == (1, len(flagged))
        assert cause == UNVERIFIED or not re.search("accepted as genuine|Whoever knows|Anybody who", shown)
    if cause == LATE_ANSWERS:
        assert report.causes[0].came == "no whole response within the limit of 1 s; the exam waits 2 s"


def invoke(*arguments: str) -> Result:
    return CliRunner(env={"NO_SECRET": "whsec_c2hvcnQ=", "A_SECRET": SECRET}).invoke(app, ["certify", *arguments])


NOWHERE = "http://127.0.0.1:9/webhooks"
REFUSED = [
    ("http://example.com/webhooks --secret-env A_SECRET", "example.com is not this machine's loopback"),
    ("http://192.168.0.7/ --secret-env A_SECRET", "192.168.0.7 is not this machine's loopback"),
    ("http://127.0.0.1.example.com/ --secret-env A_SECRET", "is not this machine's loopback"),
    ("http://user@127.0.0.1/ --secret-env A_SECRET", "not a plain http:// address"),
    ("https://127.0.0.1/ --secret-env A_SECRET", "not a plain http:// address"),
    ("localhost:8000 --secret-env A_SECRET", "not a plain http:// address"),
    ("http://127.0.0.1:99999/ --secret-env A_SECRET", "not a plain http:// address"),
    (NOWHERE, "Give the endpoint's signing secret"),
    (f"{NOWHERE} --secret-env=", "Give the endpoint's signing secret"),
    (f"{NOWHERE} --secret-env A_SECRET", f"Nothing listens at {NOWHERE}"),
    (f"{NOWHERE} --secret-env UNSET", "UNSET is not set"),
    (f"{NOWHERE} --secret-env NO_SECRET", "not whsec_ and the base64 of 24 to 64 bytes"),
    (f"{NOWHERE} --secret-env A_SECRET --report x.pdf", "x.pdf ends in none of .html, .json, .xml, .txt"),
    (f"{NOWHERE} --secret-env A_SECRET --report nowhere/x.json", "nowhere/x.json cannot be written"),
]


@pytest.mark.parametrize(("line", "said"), REFUSED)
def test_what_cannot_be_examined_is_said_in_a_line(
    line: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    done = invoke(*line.split())
    assert (done.exit_code, done.stdout) == (2, "")
    assert said in " ".join(done.stderr.split())
    assert not [each for each in ("Traceback", "c2hvcnQ", SECRET[8:20]) if each in done.stderr]


COMMANDS = [
    (r"printf '\033[35m%s\033[0m\a\n' $PAYMENTS_WEBHOOK_SECRET; exit 3", "it ended with status 3 and nothing listened"),
    ("trap '' TERM; echo stubborn", "nothing listened"),
    ("./nosuch; exit $?", ": the shell did not find the command; it printed: left"),
]


@pytest.mark.parametrize(("command", "said"), COMMANDS)
def test_a_shop_that_does_not_listen_is_ended_and_what_it_printed_is_shown(
    command: str, said: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(shop, "_START_S", 0.3)
    monkeypatch.setattr(process, "_END_S", 0.2)
    url = f"http://127.0.0.1:{free_port()}/webhooks"
    done = invoke(url, "--cmd", f"sleep 600 & echo left $!; {command}; sleep 600")
    shown = " ".join(done.stderr.split())
    assert (done.exit_code, done.stdout) == (2, "")
    assert said in shown
    assert "it printed: left " in shown
    assert not {"\x1b", "␛", "\x07"} & {*shown}, "no colour and no bell"
    assert SECRET_PREFIX not in shown.replace(f"{SECRET_PREFIX}••••", "")
    left = int(shown.partition("it printed: left ")[2].split()[0])
    assert is_true_soon(lambda: not psutil.pid_exists(left) or psutil.Process(left).status() == psutil.STATUS_ZOMBIE)


def test_whoever_listens_before_the_shop_is_started_is_not_examined_in_its_place():
    with listening(lambda _, __: 200) as url:
        done = invoke(url, "--cmd", "exit 0")
    assert (done.exit_code, "would examine that" in " ".join(done.stderr.split())) == (2, True)


NO_ORDERS = (
    "ready", "[]", '{"payment": "pi_1"}', '{"payment": 1, "fulfilled": 1}', '{"payment": "pi_1", "fulfilled": true}',
    '{"payment": "pi_1", "fulfilled": 1, "status": 1}',
    '{"payment": "pi_1", "fulfilled": -1}', '{"payment": "pi_1", "fulfilled": 1.0}', "[" * 100_000,
)  # fmt: skip


@pytest.mark.parametrize("line", NO_ORDERS, ids=range(len(NO_ORDERS)))
def test_orders_are_lines_of_json(line: str):
    with pytest.raises(ExamRefused, match="Line 2 of --orders"):
        shop.read_orders(f"\n{line}")
    lines = ['{"payment": "pi_1", "fulfilled": 1}', "", '{"payment": "pi_1", "fulfilled": 2, "more": []}']
    assert shop.read_orders("\n".join(lines)) == {"pi_1": (3, None)}


def test_a_command_that_fails_or_does_not_end_is_refused_with_what_it_printed(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(shop, "_COMMAND_S", 0.3)
    for command, said in (
        ("echo no curl >&2; exit 7", "status 7; it printed:\nno curl"),
        ("sleep 60", "not ended after"),
    ):
        with pytest.raises(ExamRefused, match=said):
            shop.output_of("--checkout", command, {})
    line = 'echo "{\\"payment\\": \\"$WHO\\", \\"fulfilled\\": 2}"; sleep 60 &'
    orders = shop.read_orders(shop.output_of("--orders", line, {"WHO": "pi_1"}))
    assert orders == {"pi_1": (2, None)}, "what it leaves in the background does not keep it open"


SHOP = """
import os, pathlib, sys
from wsgiref.simple_server import WSGIRequestHandler, make_server
from workbench.merchant.receiver import Receiver
if "once" in sys.argv:
    try:
        pathlib.Path(__file__ + ".lock").touch(exist_ok=False)
    except FileExistsError:
        sys.exit("the lock file of the last start is still there")
receiver = Receiver([os.environ["PAYMENTS_WEBHOOK_SECRET"]])
names = ("PAYMENTS_BASE_URL", "PAYMENTS_SECRET_KEY", "PAYMENTS_PUBLISHABLE_KEY")
keys = " ".join(os.environ[name] for name in names)
def lame(environ, start_response):
    if "careless" in sys.argv:
        start_response("200 OK", [])
        return [b""]
    if environ.get("HTTP_WEBHOOK_SIGNATURE") == "nonsense":
        raise ValueError("not enough values to unpack " + keys)
    return receiver(environ, start_response)
WSGIRequestHandler.log_message = lambda *_: None
print("It begins.", flush=True)
make_server("127.0.0.1", int(os.environ["PORT"]), lame).serve_forever()
"""
"""A shop that fails on a malformed header; if asked to, it verifies nothing, or does not start a second time."""


@pytest.fixture
def started(tmp_path: Path) -> tuple[str, str, str]:
    """The address of a shop, and the option with the command that starts it."""
    (tmp_path / "shop.py").write_text(SHOP)
    port = free_port()
    return f"http://127.0.0.1:{port}/webhooks", "--cmd", f"{sys.executable} {tmp_path}/shop.py"


@LATER
def test_the_command_starts_a_shop_examines_it_and_writes_reports(started: tuple[str, str, str], tmp_path: Path):
    url = started[0]
    files = {ending: tmp_path / f"report.{ending}" for ending in ("html", "json", "xml", "txt")}
    reports = [each for path in files.values() for each in ("--report", str(path))]
    done = invoke(*started, *reports)
    assert done.exit_code == 1
    assert "23 of 24 passed, 13 not examined" in done.stdout
    (line,) = [each for each in done.stdout.splitlines() if "not examined: " in each]
    assert line.startswith("- not examined: --orders would examine it: A paid payment: its order; ")
    assert line.endswith("; and 10 more")
    assert done.stdout.count("ValueError: not enough values") == 1, "what the shop printed stands where it failed"
    assert "It begins." not in done.stdout, "and only what it printed meanwhile"
    assert files["txt"].read_text() == done.stdout
    record = json.loads(files["json"].read_text())
    failing = [(each["name"], each["notebook"]) for each in record["checks"] if each["verdict"] == "failed"]
    assert failing == [("malformed_headers", "05_verify_webhooks.ipynb")]
    assert (record["endpoint"], record["passed"], record["failed"], record["passes"]) == (url, 23, 1, False)
    suite = junit_of(files["xml"].read_text())
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("37", "1", "13")
    assert [each.get("name") for each in suite if each.find("failure") is not None] == [
        "malformed_headers: Malformed headers"
    ]
    page = files["html"].read_text()
    assert all(
        each in page
        for each in (
            'lang="en"',
            'aria-labelledby="checks"',
            'scope="col"',
            "23 of 24 passed",
            "ValueError: not enough",
        )
    )
    lab = "http://127.0.0.1:8888/lab/tree/05_verify_webhooks.ipynb"
    assert f'<a href="{lab}">05_verify_webhooks</a>' in page
    assert page.index('id="malformed_headers"') < page.index('id="valid"'), "what failed stands first"
    assert not [each for each in ("<script", "http://www", "https://", "src=", "@import") if each in page]
    assert not shop.Target(url).listens()
    for each in (done.stdout, done.stderr, *(path.read_text() for path in files.values())):
        assert "sk_test_" not in each.replace("sk_test_••••", "")


def test_what_an_endpoint_answers_cannot_steer_a_terminal_or_a_page(tmp_path: Path):
    hostile = b"<script>alert(1)</script>\x1b[2J\x00 ]]> \xff\xfe" + b"sk_test_" + b"a1" * 20
    with sandbox() as bench, listening(lambda _, __: 500, hostile) as url:
        report = certify(bench, url, SECRET)
    for text in (str(report), report.html(), report.json(), report.junit()):
        assert not [each for each in ("\x1b", "\x00", "a1a1a1") if each in text]
    assert "<script" not in report.html()
    at = datetime.fromisoformat(report.at)
    assert f'title="{at:%Y-%m-%d %H:%M:%S} UTC">{at + timedelta(hours=2):%Y-%m-%d %H:%M:%S} in Lusaka</time>' in (
        report.html()
    )
    assert junit_of(report.junit()).find(".//failure") is not None
    with pytest.raises(ExamRefused, match="cannot be written"):
        report.write(f"{tmp_path}/folder/x.json")


def test_orders_of_payments_that_the_shop_does_not_know_are_not_examined(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(run, "_ORDERS_S", 0)
    with sandbox() as bench, listening(lambda _, __: 200) as url:
        rows = certify(bench, url, SECRET, orders=dict).rows
    came = {each.came for each in rows if each.name in ORDERS and each.name != "restart.order"}
    assert came == {"the shop does not know the payments: let --checkout make them"}
    assert {each.verdict for each in rows if each.name in ORDERS} == {"not examined"}


def test_a_command_that_fails_during_an_exam_is_one_cause_with_what_it_printed(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(run, "_ORDERS_S", 0)
    lines = iter(["true"])
    with sandbox() as bench, listening(lambda _, __: 200) as url:
        report = certify(
            bench, url, SECRET,
            orders=lambda: shop.read_orders(shop.output_of("--orders", next(lines, "echo no curl >&2; exit 7"), {})),
        )  # fmt: skip
    (cause,) = [each for each in report.causes if each.name == "command"]
    assert (cause.came, cause.printed, cause.notebook) == (
        "The command of --orders ended with status 7.", "no curl", course()["going_live"].path.stem,
    )  # fmt: skip
    assert "\n  Printed meanwhile:\n    no curl\n" in str(report)


@LATER
def test_a_shop_that_does_not_start_again_fails_that_check_and_ends_the_exam(started: tuple[str, str, str]):
    url, cmd, line = started
    done = invoke(url, cmd, f"{line} once")
    assert done.exit_code == 1
    assert re.search(r"^✗ failed +The same messages after a restart ", done.stdout, re.MULTILINE)
    assert "\n    the lock file of the last start is still there\n" in done.stdout, "as its shop printed it"
    assert "␊" not in done.stdout
    assert "not examined: nothing listens any more: A large body; " in done.stdout


@LATER
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_an_exam_that_is_asked_to_end_ends_its_shop_and_after_ctrl_c_says_what_is_known(
    command: str, number: signal.Signals, started: tuple[str, str, str], tmp_path: Path
):
    report = tmp_path / "exam.json"
    line = [command, "certify", started[0], *started[1:], "--report", str(report)]
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:  # noqa: S603  our own command
        assert process.stdout
        first = process.stdout.readline()
        assert (first.split()[:2], process.poll(), report.exists()) == (["✓", "passed"], None, False)
        process.send_signal(number)
        rest = process.stdout.read()
        assert process.wait(10) == 128 + number
    assert not shop.Target(started[0]).listens()
    assert ("- not examined: interrupted: " in rest) is report.exists() is (number == signal.SIGINT)
    if number == signal.SIGINT:
        record = json.loads(report.read_text())
        assert (record["checks"][0]["verdict"], record["causes"]) == ("passed", [])


def test_a_checkout_that_makes_no_payment_or_another_is_refused_and_one_that_breaks_midway_fails():
    def examined_with(check_out: Callable[[Workbench, str], object]) -> Report:
        with sandbox() as bench, listening(lambda _, __: 200) as url:
            return certify(bench, url, SECRET, checkout=lambda phone: check_out(bench, phone))

    with pytest.raises(ExamRefused, match="does it call PAYMENTS_BASE_URL"):
        examined_with(lambda _, __: None)
    with pytest.raises(ExamRefused, match="let --checkout use that number"):
        examined_with(lambda bench, _: Shop(bench).check_out("+260960000005"))
    runs: list[str] = []

    def break_at_the_third(bench: Workbench, phone: str) -> None:
        runs.append(phone)
        if len(runs) > 2:
            raise ExamRefused("--checkout broke")
        bench.client.charges.create(amount=100, channel="mtn", phone=phone, idempotency_key=f"order-{len(runs)}")

    def declined(bench: Workbench, phone: str) -> None:
        runs.append(phone)
        bench.client.charges.create(amount=100, channel="mtn", phone=phone, idempotency_key=f"order-{len(runs)}")

    report = examined_with(declined)
    assert {each.verdict for each in report.rows if each.name == "failed"} == {"passed"}, "its checkout raises"
    runs.clear()
    report = examined_with(break_at_the_third)
    came = {each.name: (each.verdict, each.came) for each in report.rows}
    assert came["valid"][0] == "passed", "a charge is a payment too"
    assert came["duplicate"] == ("failed", "--checkout broke")
