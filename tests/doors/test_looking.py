"""Whoever only looks changes nothing: not the trace, not the next number, not what others are told."""

import threading
from decimal import Decimal

import pytest

from workbench import Workbench
from workbench.domain.wire import UNSEEN

pytestmark = pytest.mark.socket


@pytest.fixture(scope="module")
def shared_bench(lone_bench: Workbench) -> Workbench:
    return lone_bench


def test_looking_leaves_no_trace(bench: Workbench):
    looking = bench.looking()
    before = len(bench.trace), bench.http.get("/sandbox/clock", headers=held(bench)).json()["seq"]
    looking.events.list()
    looking.deliveries.list(status="dead_letter")
    looking.api_keys.list()
    assert (len(bench.trace), bench.http.get("/sandbox/clock", headers=held(bench)).json()["seq"]) == before
    bench.client.events.list()
    assert len(bench.trace) == before[0] + 1


def test_looking_moves_no_number_of_what_comes():
    histories = []
    for looks in (False, True):
        with Workbench(seed=7) as bench:
            if looks:
                bench.looking().payment_intents.list()
            made = bench.client.payment_intents.create(
                amount=Decimal("1.00"), currency="ZMW", payment_method_types=["mobile_money"]
            )
            histories.append((made.id, repr(bench.trace)))
    assert histories[0] == histories[1]


def test_what_changes_something_is_seen_whatever_it_asks(bench: Workbench):
    before = len(bench.trace)
    made = bench.looking().api_keys.create()
    bench.looking().api_keys.revoke(made.id)
    assert [row["what"].split("/")[1] for row in bench.trace[before:]] == ["v1", "v1"]


def test_one_that_looks_tells_itself_nothing(bench: Workbench):
    heard = threading.Event()
    stop = bench.watch(heard.set)
    bench.looking().api_keys.list()
    bench.http.get("/v1/api_keys", headers={**held(bench), UNSEEN: "true"})
    assert not heard.wait(0.8)
    bench.client.api_keys.list()
    assert heard.wait(5)
    stop()


def test_webhooks_arrive_before_the_next_line_whoever_looks_meanwhile():
    with Workbench(seed=7) as bench:
        ended = threading.Event()

        def look() -> None:
            while not ended.is_set():
                bench.looking().events.list(limit=1)
                assert bench.clock.now_ms > 0

        stop = bench.watch(look)
        try:
            for count in range(1, 80):
                bench.client.payment_intents.create(
                    amount=Decimal("1.00"), currency="ZMW", payment_method_types=["mobile_money"]
                )
                assert len(bench.receiver.events) == count
        finally:
            ended.set()
            stop()


def held(bench: Workbench) -> dict[str, str]:
    return {"Authorization": f"Bearer {bench.secret_key}"}
