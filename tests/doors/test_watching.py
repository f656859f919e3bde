"""Whoever watches a bench is told of what happens; whoever watches or only looks changes nothing."""

import logging
import threading
from collections.abc import Callable
from decimal import Decimal

import pytest

from tests.conftest import bearer
from workbench import Workbench
from workbench.domain.wire.ledger_and_trace import UNSEEN

pytestmark = pytest.mark.socket


ALONE = True
"""In its sandbox nothing falls due that the tests of others left."""
SOON_S = 5
_WHILE_S = 0.8
_PAYMENTS = 25


class Seen:
    """A callback that knows whether it was called."""

    def __init__(self) -> None:
        self.threads: set[str] = set()
        self._news = threading.Event()

    def __call__(self) -> None:
        self.threads.add(threading.current_thread().name)
        self._news.set()

    def within(self, seconds: float) -> bool:
        came = self._news.wait(seconds)
        self._news.clear()
        return came


def something_happens(bench: Workbench) -> str:
    return bench.client.payment_intents.create(amount=Decimal("1.00")).id


@pytest.mark.thorough
def test_what_happens_is_told_in_another_thread_until_it_is_ended_and_looking_is_no_news(bench: Workbench):
    seen = Seen()

    def look() -> None:
        assert bench.clock.now_ms > 0
        seen()

    stop = bench.watchers.add(look)
    bench.looking().api_keys.list()
    bench.http.get("/v1/api_keys", headers={**bearer(bench), UNSEEN: "true"})
    assert not seen.within(_WHILE_S), "nothing has happened"
    something_happens(bench)
    assert seen.within(SOON_S)
    assert seen.threads == {"workbench-watch"}
    assert not seen.within(_WHILE_S), "one that asks tells itself nothing"
    stop()
    something_happens(bench)
    assert not seen.within(_WHILE_S)


def test_what_a_callback_raises_is_logged_and_the_others_are_told(bench: Workbench, caplog: pytest.LogCaptureFixture):
    seen = Seen()

    def fail() -> None:
        raise ValueError("broken")

    with caplog.at_level(logging.ERROR, logger="workbench"):
        stops = [bench.watchers.add(fail), bench.watchers.add(seen)]
        something_happens(bench)
        assert seen.within(SOON_S)
    assert "broken" in caplog.text
    for stop in stops:
        stop()


def test_looking_leaves_no_trace_but_what_changes_something_is_seen_whoever_asks(bench: Workbench):
    looking = bench.looking()
    before = len(bench.trace), clock_of(bench)["seq"]
    looking.events.list()
    looking.deliveries.list(status="dead_letter")
    assert (len(bench.trace), clock_of(bench)["seq"]) == before
    made = looking.api_keys.create()
    looking.api_keys.revoke(made.id)
    bench.client.events.list()
    assert [row["what"].split("/")[1] for row in bench.trace[before[0] :]] == ["v1"] * 3
    assert clock_of(bench)["seq"] > before[1]


def look_meanwhile(bench: Workbench) -> Callable[[], None]:
    """Look from a watcher and from its thread for as long as it takes; the function that ends it."""
    ended = threading.Event()

    def look() -> None:
        while not ended.is_set():
            bench.looking().events.list(limit=1)
            assert bench.clock.now_ms > 0

    stop = bench.watchers.add(look)
    return lambda: (ended.set(), stop())


def test_whoever_looks_meanwhile_webhooks_arrive_before_the_next_line_and_the_history_is_the_same():
    histories = []
    for watched in (False, True):
        with Workbench(seed=1) as bench:
            bench.client.payment_intents.list()
            stop = look_meanwhile(bench) if watched else lambda: None
            for number in range(1, _PAYMENTS + 1):
                something_happens(bench)
                assert len(bench.receiver.events) == number
            stop()
            histories.append(list(bench.trace))
    assert histories[0] == histories[1]


def clock_of(bench: Workbench) -> dict[str, int]:
    return bench.http.get("/sandbox/clock", headers=bearer(bench)).json()
