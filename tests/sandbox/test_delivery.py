import itertools
import json
import socket
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import closing
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any, NamedTuple
from wsgiref.types import StartResponse, WSGIEnvironment

import httpx
import pytest

from workbench import PaymentsClient, verify
from workbench.domain.gaps import Gaps
from workbench.domain.webhooks import Attempt, Delivery
from workbench.sandbox import driver
from workbench.sandbox.delivery import Outbound
from workbench.sandbox.engine import Engine
from workbench.sandbox.store import Settings, Transaction

START_MS = 1_767_592_800_000
SCHEDULE_S = (0, 5, 300, 1800, 7200, 18000, 36000, 50400, 72000, 86400)
DAY_S = 86_400


class Arrival(NamedTuple):
    """One request at the merchant's side."""

    path: str
    id: str
    headers: dict[str, str]
    body: bytes


class Merchant:
    """A WSGI application that answers each path with the statuses in hand, the last one for ever."""

    def __init__(self, *statuses: int | Exception | BaseException | str) -> None:
        self.answers: dict[str, list[Any]] = defaultdict(lambda: list(statuses) or [200])
        self.headers_at: dict[str, list[tuple[str, str]]] = defaultdict(list)
        self.answer = b""
        self.arrivals: list[Arrival] = []
        self.meanwhile: Callable[[], object] = lambda: None

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> list[bytes]:
        body = environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"]))
        headers = {
            name.removeprefix("HTTP_").replace("_", "-").lower(): value
            for name, value in environ.items()
            if name.startswith("HTTP_") or name == "CONTENT_TYPE"
        }
        path = environ["PATH_INFO"]
        self.arrivals.append(Arrival(path, headers["webhook-id"], headers, body))
        self.meanwhile()
        answers = self.answers[path]
        status = answers.pop(0) if len(answers) > 1 else answers[0]
        if isinstance(status, BaseException):
            raise status
        start_response(f"{status} Status", [("Content-Length", str(len(self.answer))), *self.headers_at[path]])
        return [self.answer]

    def at(self, path: str) -> list[Arrival]:
        return [each for each in self.arrivals if each.path == path]


class Sandbox:
    """An engine, the client of it, and endpoints of a merchant in this process."""

    def __init__(self, merchant: Merchant, path: Path | None = None, **gaps: object) -> None:
        settings = Settings(path=path, seed="7", start_ms=START_MS, gaps=Gaps.chosen(gaps))
        self.engine = Engine(settings, mounted={"merchant.localhost": merchant}, raise_bugs=True)
        key = self.engine.store.key("secret")
        self.http = httpx.Client(
            transport=httpx.WSGITransport(self.engine.app),
            base_url="http://sandbox.localhost",
            headers={"Authorization": f"Bearer {key}"},
        )
        self.client = PaymentsClient("http://sandbox.localhost", key, http=self.http)

    def close(self) -> None:
        self.http.close()
        self.engine.close()

    def endpoint(self, path: str = "/a", *enabled_events: str) -> str:
        made = self.client.webhook_endpoints.create(
            url=f"http://merchant.localhost{path}", enabled_events=enabled_events or ("*",)
        )
        return str(made.secret)

    def event(self) -> None:
        """One event, due at once and not yet sent."""
        self.client.payment_intents.create(amount=Decimal("150.00"))

    def advance(self, seconds: Decimal | int) -> httpx.Response:
        body = json.dumps({"seconds": float(seconds)})
        return self.http.post("/sandbox/clock/advance", content=body, headers={"Content-Type": "application/json"})

    def attempts(self) -> list[Attempt]:
        with self.engine.store.transaction() as tx:
            return tx.attempts.all()

    def deliveries(self) -> list[Delivery]:
        with self.engine.store.transaction() as tx:
            return tx.deliveries.all()

    def now_ms(self) -> int:
        with self.engine.store.transaction() as tx:
            return tx.now_ms - START_MS

    def outcomes(self) -> list[tuple[str, int]]:
        """Status and number of attempts of each delivery."""
        return [(each.status, each.attempts) for each in self.deliveries()]

    def told(self) -> None:
        """An event, sent at once to an endpoint at /a."""
        self.endpoint()
        self.event()
        self.advance(0)


@pytest.fixture
def merchant() -> Merchant:
    return Merchant()


@pytest.fixture
def sandbox(merchant: Merchant) -> Iterator[Sandbox]:
    with closing(Sandbox(merchant)) as made:
        yield made


# What arrives


def test_an_event_arrives_signed_on_the_sandboxes_clock(sandbox: Sandbox, merchant: Merchant):
    secret = sandbox.endpoint()
    sandbox.advance(1_000)
    sandbox.event()
    assert merchant.arrivals == []
    sandbox.engine.run_due()
    (arrival,) = merchant.arrivals
    assert verify(arrival.body, arrival.headers, [secret], now_s=START_MS // 1000 + 1_000, tolerance_s=0) == arrival.id
    assert arrival.headers["content-type"] == "application/json"
    assert json.loads(arrival.body)["id"] == arrival.id
    assert sandbox.outcomes() == [("delivered", 1)]


# Retries


def test_the_schedule_is_kept_on_the_clock_within_jitter(sandbox: Sandbox, merchant: Merchant):
    merchant.answers["/a"] = [500]
    secret = sandbox.endpoint()
    sandbox.event()
    sandbox.advance(10 * DAY_S)
    attempts = sandbox.attempts()
    waits_ms = [after.at_ms - before.at_ms for before, after in itertools.pairwise(attempts)]
    assert len(attempts) == len(merchant.arrivals) == 10
    assert attempts[0].at_ms == START_MS
    factors = [wait_ms / (each * 1000) for wait_ms, each in zip(waits_ms, SCHEDULE_S[1:], strict=True)]
    assert all(0.8 <= factor <= 1.2 for factor in factors)
    assert len(set(factors)) == len(factors)
    # One message, signed anew at each attempt.
    assert len({(each.id, each.body) for each in merchant.arrivals}) == 1
    for attempt, arrival in zip(attempts, merchant.arrivals, strict=True):
        verify(arrival.body, arrival.headers, [secret], now_s=attempt.at_ms // 1000, tolerance_s=0)


def test_after_the_last_attempt_it_is_a_dead_letter(sandbox: Sandbox, merchant: Merchant):
    merchant.answers["/a"] = [500]
    sandbox.told()
    seen = [sandbox.outcomes()]
    for wait_s in SCHEDULE_S[1:]:
        sandbox.advance(int(wait_s * 1.2) + 1)
        seen.append(sandbox.outcomes())
    assert seen == [[("pending" if number < 10 else "dead_letter", number)] for number in range(1, 11)]
    sandbox.advance(30 * DAY_S)
    assert len(merchant.arrivals) == 10
    with sandbox.engine.store.transaction() as tx:
        assert (tx.jobs.count(), tx.events.count()) == (0, 1)


@pytest.mark.parametrize(
    ("choices", "statuses", "outcome"),
    [
        ({}, [500, 204], ("delivered", 2)),
        ({}, [500] * 9 + [204], ("delivered", 10)),
        ({"retry_schedule_s": [0]}, [500], ("dead_letter", 1)),
        ({"retry_schedule_s": [0, 5, 300, 1800, 7200, 18000, 36000, 36000]}, [500], ("dead_letter", 8)),
        ({"retry_schedule_s": [0, *[1800] * 48]}, [500], ("dead_letter", 49)),
        ({"delivery_gone": "retried"}, [410, 200], ("delivered", 2)),
    ],
    ids=["a success", "a late one", "none", "eight", "a day", "gone is a failure like any other"],
)
def test_a_success_ends_it_and_the_register_says_how_it_goes_on(
    merchant: Merchant, choices: dict[str, object], statuses: list[int], outcome: tuple[str, int]
):
    merchant.answers["/a"] = [*statuses]
    with closing(Sandbox(merchant, **choices)) as sandbox:
        sandbox.told()
        sandbox.advance(10 * DAY_S)
        assert sandbox.outcomes() == [outcome]
        codes = statuses if len(statuses) > 1 else statuses * outcome[1]
        assert [each.status_code for each in sandbox.attempts()] == codes
        assert sandbox.client.webhook_endpoints.create(url="http://localhost/").status == "enabled"


WAITS: list[tuple[tuple[int, int], list[tuple[int, str | None]]]] = [
    ((4, 6), [(500, None), (500, "90"), (503, None)]),
    ((60, 60), [(429, None), (502, None), (504, None), (429, "soon"), (429, "-5"),
                (429, "Mon, 05 Jan 2026 05:59:00 GMT"), (429, "Wed, 99 Oct 2026 07:28:00 GMT")]),
    ((60, 120), [(429, "9" * 40)]),
    ((90, 90), [(429, "90"), (503, "90")]),
    ((100, 100), [(503, "Mon, 05 Jan 2026 06:01:40 GMT"), (429, "Mon, 05 Jan 2026 06:01:40 GMT"),
                  (429, "Monday, 05-Jan-26 06:01:40 GMT"), (429, "Mon Jan  5 06:01:40 2026")]),
    ((120, 120), [(429, "500"), (429, "Wed, 21 Oct 2026 07:28:00 GMT")]),
]  # fmt: skip
"""At least and at most so many seconds, for each status and Retry-After."""


def test_a_receiver_can_ask_for_time(merchant: Merchant, sandbox: Sandbox):
    asked = [(waits_s, *each) for waits_s, answers in WAITS for each in answers]
    for number, (_, status, retry_after) in enumerate(asked):
        merchant.answers[f"/{number}"] = [status, 200]
        merchant.headers_at[f"/{number}"] = [] if retry_after is None else [("Retry-After", retry_after)]
        sandbox.endpoint(f"/{number}")
    sandbox.event()
    sandbox.advance(1_000)
    moments = defaultdict(list)
    for each in sandbox.attempts():
        moments[each.delivery].append(each.at_ms)
    for (at_least_s, at_most_s), status, retry_after in asked:
        first, second = moments.pop(next(iter(moments)))
        assert at_least_s * 1000 <= second - first <= at_most_s * 1000, (status, retry_after)


def test_a_redirect_is_an_answer_and_not_followed(sandbox: Sandbox, merchant: Merchant):
    merchant.answers["/a"] = [302, 200]
    merchant.headers_at["/a"] = [("Location", "http://merchant.localhost/elsewhere")]
    sandbox.told()
    assert ([each.path for each in merchant.arrivals], sandbox.outcomes()) == (["/a"], [("pending", 1)])
    sandbox.advance(6)
    assert [each.path for each in merchant.arrivals] == ["/a", "/a"]
    assert [each.status_code for each in sandbox.attempts()] == [302, 200]


def test_a_receiver_that_fails_is_told_of_and_tried_again(sandbox: Sandbox, merchant: Merchant):
    merchant.answers["/a"] = [RuntimeError("out of plants, +260961234567"), 200]
    sandbox.told()
    sandbox.advance(6)
    first, second = sandbox.attempts()
    assert (first.status_code, first.answer) == (None, "")
    assert "RuntimeError: out of plants, +26096••••567" in str(first.fault)
    assert (second.status_code, second.fault) == (200, None)


def test_a_name_that_does_not_resolve_or_leads_inside_later_is_a_failed_attempt(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
):
    sandbox.client.webhook_endpoints.create(url="https://nowhere.invalid/")
    looked_up: list[Any] = [
        socket.gaierror(-2, "Name or service not known"), UnicodeError("label too long"),
        [(socket.AF_INET, 1, 6, "", ("10.0.0.1", 443))],
    ]  # fmt: skip
    now: list[Any] = [None]

    def look_up(*_: object, **__: object) -> Any:  # noqa: ANN401  as of socket.getaddrinfo
        (found,) = now
        if isinstance(found, Exception):
            raise found
        return found

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    for now[0] in looked_up:
        sandbox.event()
        sandbox.advance(0)
    attempts = sandbox.attempts()
    assert [each.status_code for each in attempts] == [None] * 3
    assert [str(each.fault) for each in attempts[:2]] == [f"{type(each).__name__}: {each}" for each in looked_up[:2]]
    assert "10.0.0.1" in str(attempts[2].fault)
    assert sandbox.outcomes() == [("pending", 1)] * 3


def test_of_an_answer_at_most_20_kb_are_kept_and_masked(sandbox: Sandbox, merchant: Merchant):
    secret = sandbox.endpoint()
    sizes = [0, 1, 20_000, 20_001, 70_000]
    for size in sizes:
        merchant.answer = b"x" * size
        sandbox.event()
        sandbox.advance(0)
    merchant.answer = f"{secret} {sandbox.engine.store.key('secret')} +260961234567 \xff".encode("latin-1")
    sandbox.event()
    sandbox.advance(0)
    *plain, masked = sandbox.attempts()
    assert [(len(each.answer), each.status_code) for each in plain] == [(min(size, 20_000), 200) for size in sizes]
    assert masked.answer == "whsec_•••• sk_test_•••• +26096••••567 \ufffd"


# Gone


def test_gone_disables_the_endpoint_and_tells_the_others(sandbox: Sandbox, merchant: Merchant):
    merchant.answers["/a"] = [410]
    for path in ("/a", "/b"):
        sandbox.endpoint(path)
    for _ in range(3):
        sandbox.event()
    sandbox.advance(10 * DAY_S)
    assert len(merchant.at("/a")) == 1
    told = [json.loads(each.body) for each in merchant.at("/b")]
    assert [each["type"] for each in told] == ["payment_intent.created"] * 3 + ["webhook_endpoint.disabled"]
    shown = told[-1]["data"]["object"]
    assert (shown["url"], shown["status"], "secret" in shown) == ("http://merchant.localhost/a", "disabled", False)
    # What was on its way to it ends there.
    with sandbox.engine.store.transaction() as tx:
        disabled, enabled = tx.endpoints.all()
        ends = {each.id: [] for each in (disabled, enabled)}
        for each in tx.deliveries.all():
            ends[each.endpoint].append((each.status, each.attempts))
        assert (disabled.status, enabled.status) == ("disabled", "enabled")
        assert ends == {
            disabled.id: [("dead_letter", 1)] + [("dead_letter", 0)] * 2,
            enabled.id: [("delivered", 1)] * 4,
        }
        assert tx.jobs.count() == 0
    sandbox.event()
    sandbox.advance(0)
    assert (len(merchant.at("/a")), len(merchant.at("/b"))) == (1, 5)


# A process that dies


@pytest.mark.parametrize("how", ["advance", "run_due", "another process, advance", "another process, run_due"])
def test_what_was_in_hand_when_a_process_died_is_sent_again(tmp_path: Path, merchant: Merchant, how: str):
    """The message has arrived, and nobody has written that down."""
    path = tmp_path / "store.db"
    merchant.answers["/a"] = [KeyboardInterrupt(), 200]
    sandbox = Sandbox(merchant, path)
    sandbox.endpoint()
    sandbox.event()
    with pytest.raises(KeyboardInterrupt):
        sandbox.engine.run_due()
    assert sandbox.attempts() == []
    if "another" in how:
        sandbox.close()
        sandbox = Sandbox(merchant, path)
    with closing(sandbox):
        if "advance" in how:
            sandbox.advance(0)
        else:
            sandbox.engine.run_due()
        assert len(merchant.arrivals) == 2
        assert len({(each.id, each.body, each.headers["webhook-signature"]) for each in merchant.arrivals}) == 1
        assert sandbox.outcomes() == [("delivered", 1)]
        sandbox.advance(10 * DAY_S)
        assert len(merchant.arrivals) == 2


# The clock as an event loop


@pytest.fixture
def noted(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, str]]:
    """(milliseconds since the start, ref) of every job of the kind `note`, as it ran."""
    made: list[tuple[int, str]] = []

    def note(tx: Transaction, ref: str) -> None:
        made.append((tx.now_ms - START_MS, ref))
        name, _, then_ms = ref.partition("+")
        if then_ms:
            tx.schedule("note", f"{name}'", in_ms=int(then_ms))

    monkeypatch.setitem(driver.HANDLERS, "note", note)
    return made


def due(sandbox: Sandbox, *jobs: tuple[int, str]):
    with sandbox.engine.store.transaction() as tx:
        for in_ms, ref in jobs:
            tx.schedule("note", ref, in_ms=in_ms)


RUNS: dict[str, tuple[list[tuple[int, str]], list[tuple[int, str]], int]] = {
    "by due moment": (
        [(3_000, "c"), (1_000, "a"), (2_000, "b")], [(1_000, "a"), (2_000, "b"), (3_000, "c")], 0,
    ),
    "ties by seq": ([(1_000, "x"), (1_000, "a"), (1_000, "m")], [(1_000, "x"), (1_000, "a"), (1_000, "m")], 0),
    "up to the end": (
        [(0, "now"), (9_999, "late"), (10_000, "last"), (10_001, "not yet")],
        [(0, "now"), (9_999, "late"), (10_000, "last")], 1,
    ),
    "now again": ([(1_000, "a+0"), (1_000, "b")], [(1_000, "a+0"), (1_000, "b"), (1_000, "a'")], 0),
    "in between": ([(1_000, "a+500"), (2_000, "b")], [(1_000, "a+500"), (1_500, "a'"), (2_000, "b")], 0),
    "follow-ups": (
        [(9_000, "a+1000"), (9_500, "b+1000")], [(9_000, "a+1000"), (9_500, "b+1000"), (10_000, "a'")], 1,
    ),
    "nothing": ([], [], 0),
}  # fmt: skip
"""What is due when, what ran when, and how much is left after ten seconds."""


@pytest.mark.parametrize("case", RUNS)
def test_advance_runs_each_job_at_its_moment(sandbox: Sandbox, noted: list[Any], case: str):
    jobs, ran, left = RUNS[case]
    due(sandbox, *jobs)
    sandbox.advance(10)
    assert noted == ran
    assert sandbox.now_ms() == 10_000
    with sandbox.engine.store.transaction() as tx:
        assert tx.jobs.count() == left


@pytest.mark.parametrize("steps", [[5, 5], [0, 10, 0], [Decimal("0.5")] * 20], ids=repr)
def test_many_small_steps_are_one_big_one(sandbox: Sandbox, noted: list[Any], steps: list[Decimal | int]):
    due(sandbox, (1_500, "a+2000"), (5_000, "b"), (9_750, "c"))
    for step in steps:
        sandbox.advance(step)
    assert noted == [(1_500, "a+2000"), (3_500, "a'"), (5_000, "b"), (9_750, "c")]
    assert sandbox.now_ms() == 10_000


def test_a_job_that_fails_is_not_lost(sandbox: Sandbox, noted: list[Any], monkeypatch: pytest.MonkeyPatch):
    good = driver.HANDLERS["note"]

    def fails(tx: Transaction, ref: str) -> None:
        good(tx, ref)
        raise RuntimeError(ref)

    due(sandbox, (1_000, "a"), (2_000, "b"))
    monkeypatch.setitem(driver.HANDLERS, "note", fails)
    with pytest.raises(RuntimeError):
        sandbox.advance(10)
    assert sandbox.now_ms() == 0
    monkeypatch.setitem(driver.HANDLERS, "note", good)
    noted.clear()
    sandbox.advance(10)
    assert noted == [(1_000, "a"), (2_000, "b")]


def test_deliveries_and_timers_share_one_order_and_the_clock_is_left_where_it_is(
    sandbox: Sandbox, merchant: Merchant, noted: list[Any]
):
    merchant.meanwhile = lambda: noted.append((sandbox.now_ms(), "webhook"))
    sandbox.endpoint()
    due(sandbox, (0, "before"), (1, "later"))
    sandbox.event()
    due(sandbox, (0, "after"))
    sandbox.engine.run_due()
    assert noted == [(0, "before"), (0, "webhook"), (0, "after")]
    assert sandbox.now_ms() == 0


def test_a_receiver_may_call_the_service_and_may_not_move_the_clock(sandbox: Sandbox, merchant: Merchant):
    answers = []

    def call_back() -> None:
        if len(merchant.arrivals) == 1:
            sandbox.event()
            answers.append(sandbox.advance(5))

    merchant.meanwhile = call_back
    sandbox.endpoint()
    sandbox.event()
    sandbox.advance(1)
    assert [(each.status_code, each.json()["code"]) for each in answers] == [(409, "clock_busy")]
    # The event that the call back made went out in the same round.
    assert len(merchant.arrivals) == 2
    assert sandbox.now_ms() == 1_000


def test_a_receiver_on_another_thread_may_call_the_service_too(merchant: Merchant):
    """As a backend does on its own port, while the delivery to it waits for its answer."""
    with closing(Sandbox(merchant, delivery_timeout_s=5)) as sandbox:

        def call_back() -> None:
            thread = threading.Thread(target=sandbox.engine.run_due)
            threads.append(thread)
            thread.start()
            thread.join(timeout=2)
            waits.append(thread.is_alive())

        threads: list[threading.Thread] = []
        waits: list[bool] = []
        merchant.meanwhile = call_back
        sandbox.endpoint()
        sandbox.event()
        sandbox.event()
        sandbox.engine.run_due()
        for thread in threads:
            thread.join()
        assert waits == [False, False]


# Over a socket


class Echo(BaseHTTPRequestHandler):
    """Answers with the request line and the Host header, and a redirect."""

    def do_POST(self) -> None:
        answer = f"{self.requestline} | {self.headers['Host']} | {self.headers['X-Test']}".encode()
        self.send_response(307)
        self.send_header("Location", "http://10.0.0.1/")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  the base class's signature
        del format, args


@pytest.fixture
def port() -> Iterator[int]:
    server = HTTPServer(("127.0.0.1", 0), Echo)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server.server_port
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "merchant.localhost", "127.1", "merchant.example"])
def test_the_address_is_pinned_and_the_host_kept(port: int, host: str, monkeypatch: pytest.MonkeyPatch):
    if host == "merchant.example":
        pinned = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port))]
        look_up = socket.getaddrinfo
        monkeypatch.setattr(
            socket, "getaddrinfo", lambda name, *more, **also: pinned if name == host else look_up(name, *more, **also)
        )
    with closing(Outbound()) as outbound:
        reply = outbound.send(f"http://{host}:{port}/webhooks?x=1", {"X-Test": "yes"}, b"{}", 5)
    assert (reply.status_code, reply.fault) == (307, None)
    assert reply.answer == f"POST /webhooks?x=1 HTTP/1.1 | {host}:{port} | yes"


def test_sending_never_raises_and_a_port_where_nothing_listens_is_a_fault():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        free = probe.getsockname()[1]
    with closing(Outbound()) as outbound:
        replies = [
            outbound.send(url, {}, b"{}", 5)
            for url in (
                f"http://127.0.0.1:{free}/",
                "http://10.0.0.1/",
                "ftp://localhost/",
                "http://a\tb/",
                "http://[::1/",
                "",
            )
        ]
    assert {each.status_code for each in replies} == {None}
    assert str(replies[0].fault).startswith("ConnectError")
