"""Deliveries of a running clock: side by side, one at a time to an endpoint, and nobody stalls."""

import json
import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any
from wsgiref.types import StartResponse, WSGIEnvironment

import httpx
import pytest

from workbench import PaymentsClient
from workbench.domain.gaps import Gaps
from workbench.errors import StateConflict
from workbench.sandbox import driver
from workbench.sandbox.delivery import MAX_IN_FLIGHT
from workbench.sandbox.engine import Engine
from workbench.sandbox.store import Settings, Transaction

SOON_S = 10


def is_true_soon(condition: Callable[[], bool]) -> bool:
    until = time.monotonic() + SOON_S
    while not (met := condition()) and time.monotonic() < until:
        time.sleep(0.005)
    return met


class Merchant:
    """A WSGI application; a path that begins with /slow answers when it is let go."""

    def __init__(self) -> None:
        self.let_go = threading.Event()
        self.arrivals: list[tuple[str, str]] = []
        self.in_flight: Counter[str] = Counter()
        self.most: Counter[str] = Counter()
        self._lock = threading.Lock()

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> list[bytes]:
        path = environ["PATH_INFO"]
        event = json.loads(environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"])))
        with self._lock:
            self.arrivals.append((path, event["data"]["object"]["description"]))
            for each in (path, "all"):
                self.in_flight[each] += 1
                self.most[each] = max(self.most[each], self.in_flight[each])
        if path.startswith("/slow"):
            self.let_go.wait(SOON_S)
        with self._lock:
            for each in (path, "all"):
                self.in_flight[each] -= 1
        start_response("200 OK", [("Content-Length", "0")])
        return [b""]

    def at(self, path: str) -> list[str]:
        return [text for each, text in self.arrivals if each == path]


class Sandbox:
    """An engine on a running clock, as a worker of the server has it."""

    def __init__(self, merchant: Merchant, path: Path, clock: str = "running", *, raise_bugs: bool = False) -> None:
        settings = Settings(path=path, clock=clock, gaps=Gaps.chosen({"delivery_timeout_s": 5}))
        self.engine = Engine(settings, mounted={"merchant.localhost": merchant}, raise_bugs=raise_bugs)
        key = self.engine.store.key("secret")
        self.http = httpx.Client(transport=httpx.WSGITransport(self.engine.app))
        self.client = PaymentsClient("http://sandbox.localhost", key, http=self.http)

    def close(self) -> None:
        self.http.close()
        self.engine.close()

    def endpoints(self, *paths: str) -> None:
        for path in paths:
            self.client.webhook_endpoints.create(url=f"http://merchant.localhost{path}")

    def event(self, description: str = "a") -> None:
        self.client.payment_intents.create(amount=Decimal(1), description=description)

    def advance(self, seconds: int) -> dict[str, Any]:
        url = "http://sandbox.localhost/sandbox/clock/advance"
        return self.client.calls.send("POST", url, dict[str, Any], body={"seconds": seconds})

    def schedule(self, ref: str) -> None:
        with self.engine.store.transaction() as tx:
            tx.schedule("note", ref)

    def statuses(self) -> Counter[str]:
        with self.engine.store.transaction() as tx:
            return Counter(each.status for each in tx.deliveries.all())


@contextmanager
def running(*work: Callable[[], object]) -> Iterator[list[threading.Thread]]:
    """Each in a thread of its own, all ended when the block is left."""
    threads = [threading.Thread(target=each) for each in work]
    for thread in threads:
        thread.start()
    yield threads
    for thread in threads:
        thread.join(SOON_S)
    assert not any(thread.is_alive() for thread in threads)


@pytest.fixture
def merchant() -> Iterator[Merchant]:
    made = Merchant()
    yield made
    made.let_go.set()


@pytest.fixture
def sandbox(merchant: Merchant, store_path: Path) -> Iterator[Sandbox]:
    with closing(Sandbox(merchant, store_path)) as made:
        yield made


@pytest.fixture
def noted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Jobs of the kind `note`, as they ran; one named `bug…` raises."""
    made: list[str] = []

    def note(tx: Transaction, ref: str) -> None:
        del tx
        made.append(ref)
        if ref.startswith("bug"):
            raise RuntimeError(f"{ref} of +260961234567")

    monkeypatch.setitem(driver.HANDLERS, "note", note)
    return made


def test_a_receiver_that_hangs_holds_up_nobody_else(sandbox: Sandbox, merchant: Merchant, noted: list[str]):
    sandbox.endpoints("/slow", "/quick")
    sandbox.event("first")
    with running(sandbox.engine.run_due):
        assert is_true_soon(lambda: len(merchant.arrivals) == 2)
        sandbox.event("second")
        sandbox.schedule("timer")
        assert is_true_soon(lambda: merchant.at("/quick") == ["first", "second"] and noted == ["timer"])
        assert merchant.at("/slow") == ["first"]
        merchant.let_go.set()
    assert merchant.at("/slow") == ["first", "second"]
    assert sandbox.statuses() == {"delivered": 4}


def test_an_endpoint_gets_one_at_a_time_in_their_order(sandbox: Sandbox, merchant: Merchant):
    sandbox.endpoints("/slow")
    events = [f"event {number}" for number in range(5)]
    for each in events:
        sandbox.event(each)
    with running(sandbox.engine.run_due):
        assert is_true_soon(lambda: bool(merchant.arrivals))
        merchant.let_go.set()
    assert (merchant.at("/slow"), merchant.most["/slow"]) == (events, 1)
    assert sandbox.statuses() == {"delivered": 5}


def test_so_many_are_in_flight_and_no_more(sandbox: Sandbox, merchant: Merchant):
    paths = [f"/slow{number}" for number in range(MAX_IN_FLIGHT + 3)]
    sandbox.endpoints(*paths)
    for description in ("first", "second"):
        sandbox.event(description)
    with running(sandbox.engine.run_due):
        assert is_true_soon(lambda: merchant.in_flight["all"] == MAX_IN_FLIGHT)
        time.sleep(0.2)
        assert merchant.in_flight["all"] == MAX_IN_FLIGHT
        merchant.let_go.set()
    assert merchant.most["all"] == MAX_IN_FLIGHT
    assert [merchant.at(path) for path in paths] == [["first", "second"]] * len(paths)


@pytest.mark.parametrize("which", ["this process", "another"])
def test_an_advance_gets_its_turn_and_sends_nothing_twice(
    sandbox: Sandbox, merchant: Merchant, store_path: Path, which: str
):
    sandbox.endpoints("/slow", "/quick")
    sandbox.event("first")
    with closing(Sandbox(merchant, store_path)) as other, running(sandbox.engine.run_due):
        assert is_true_soon(lambda: len(merchant.arrivals) == 2)
        # Whoever else looks for what is due finds that somebody sees to it, and does not wait.
        other.engine.run_due()
        with running(lambda: (other if which == "another" else sandbox).advance(3600)):
            # Somebody waits for the turn: what falls due now is left to the one who gets it.
            time.sleep(0.3)
            sandbox.event("second")
            time.sleep(0.2)
            assert merchant.at("/quick") == ["first"]
            merchant.let_go.set()
    assert merchant.at("/slow") == merchant.at("/quick") == ["first", "second"]
    assert sandbox.statuses() == {"delivered": 4}


def test_two_workers_send_everything_once(sandbox: Sandbox, merchant: Merchant, store_path: Path):
    sandbox.endpoints("/a", "/b")
    stop = threading.Event()

    def tick(engine: Engine) -> None:
        while not stop.wait(0.005):
            engine.run_due()

    events = [f"event {number}" for number in range(40)]
    other = Sandbox(merchant, store_path)
    with closing(other), running(lambda: tick(sandbox.engine), lambda: tick(other.engine)):
        for each in events:
            sandbox.event(each)
        assert is_true_soon(lambda: sandbox.statuses() == {"delivered": 80})
        stop.set()
    assert merchant.at("/a") == merchant.at("/b") == events


def test_an_advance_that_cannot_have_its_turn_says_so(
    sandbox: Sandbox, merchant: Merchant, store_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(driver, "_SLACK_S", -4)
    sandbox.endpoints("/slow")
    sandbox.event()
    with closing(Sandbox(merchant, store_path)) as other:
        with running(sandbox.engine.run_due):
            assert is_true_soon(lambda: bool(merchant.arrivals))
            with pytest.raises(StateConflict) as busy:
                other.advance(1)
            merchant.let_go.set()
        assert busy.value.code == "clock_busy"
        assert other.advance(1)["mode"] == "running"


def test_on_a_manual_clock_deliveries_go_one_after_another(merchant: Merchant, store_path: Path):
    with closing(Sandbox(merchant, store_path, clock="manual")) as sandbox:
        sandbox.endpoints("/slow", "/quick")
        sandbox.event("first")
        sandbox.event("second")
        with running(sandbox.engine.run_due):
            assert is_true_soon(lambda: bool(merchant.arrivals))
            time.sleep(0.2)
            assert merchant.arrivals == [("/slow", "first")]
            merchant.let_go.set()
    assert merchant.most["all"] == 1
    assert merchant.arrivals == [(path, text) for text in ("first", "second") for path in ("/slow", "/quick")]


@pytest.mark.parametrize("clock", ["running", "manual"])
def test_a_job_that_raises_is_put_off_and_the_others_go_on(
    merchant: Merchant, store_path: Path, noted: list[str], clock: str, caplog: pytest.LogCaptureFixture
):
    with closing(Sandbox(merchant, store_path, clock)) as sandbox:
        sandbox.schedule("bug")
        sandbox.schedule("good")
        with caplog.at_level(logging.ERROR):
            sandbox.engine.run_due()
        assert noted == ["bug", "good"]
        assert "put off by 60 s" in caplog.text
        assert "RuntimeError" in caplog.text
        assert "+260961234567" not in caplog.text
        sandbox.advance(59)
        assert noted == ["bug", "good"]
        # Once for each time that the clock is moved, however far.
        sandbox.advance(3600)
        assert noted == ["bug", "good", "bug"]
        sandbox.advance(61)
        assert noted == ["bug", "good", "bug", "bug"]


def test_in_process_a_job_that_raises_is_seen(merchant: Merchant, store_path: Path, noted: list[str]):
    with closing(Sandbox(merchant, store_path, raise_bugs=True)) as sandbox:
        sandbox.schedule("bug")
        with pytest.raises(RuntimeError):
            sandbox.engine.run_due()
    assert noted == ["bug"]


@pytest.mark.parametrize("clock", ["running", "manual"])
def test_a_delivery_that_is_forgotten_while_it_is_in_flight(merchant: Merchant, store_path: Path, clock: str):
    with closing(Sandbox(merchant, store_path, clock, raise_bugs=True)) as sandbox:
        sandbox.endpoints("/slow")
        sandbox.event("first")
        sandbox.event("second")
        with running(sandbox.engine.run_due):
            assert is_true_soon(lambda: bool(merchant.arrivals))
            with sandbox.engine.store.transaction() as tx:
                for each in tx.jobs.all():
                    tx.jobs.remove(each)
                for each in tx.deliveries.all():
                    tx.deliveries.remove(each)
            merchant.let_go.set()
        assert merchant.arrivals == [("/slow", "first")]
        sandbox.event("third")
        sandbox.engine.run_due()
        assert merchant.arrivals == [("/slow", "first"), ("/slow", "third")]
