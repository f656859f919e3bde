"""Deliveries of a running clock: side by side, one at a time to an endpoint, and nobody stalls."""

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import is_true_soon
from tests.sandbox.conftest import SOON_S, START_MS, Merchant, NewSandbox, Sandbox
from workbench.domain import webhooks
from workbench.sandbox import driver
from workbench.sandbox.driver import MAX_IN_FLIGHT


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


def hooks(sandbox: Sandbox, *paths: str) -> None:
    for path in paths:
        sandbox.hook(path)


def statuses(sandbox: Sandbox) -> Counter[str]:
    return Counter(status for status, _ in sandbox.outcomes())


def refs(noted: list[tuple[int, str]]) -> list[str]:
    return [ref for _, ref in noted]


@pytest.fixture
def worker(new_sandbox: NewSandbox, store_path: Path) -> NewSandbox:
    """An engine over the one store, as a worker of the server has it: a bug is logged."""
    return partial(new_sandbox, store_path, raise_bugs=False, delivery_timeout_s=5)


@pytest.fixture
def sandbox(worker: NewSandbox) -> Sandbox:
    return worker("running")


def test_a_receiver_that_hangs_holds_up_nobody_else(sandbox: Sandbox, merchant: Merchant, noted: list[Any]):
    hooks(sandbox, "/slow", "/quick")
    sandbox.event("first")
    with running(sandbox.engine.run_due):
        assert is_true_soon(lambda: len(merchant.arrivals) == 2)
        sandbox.event("second")
        sandbox.schedule((0, "timer"))
        assert is_true_soon(lambda: merchant.texts("/quick") == ["first", "second"] and refs(noted) == ["timer"])
        assert merchant.texts("/slow") == ["first"]
        merchant.let_go.set()
    assert merchant.texts("/slow") == ["first", "second"]
    assert statuses(sandbox) == {"delivered": 4}


def test_by_object_none_overtakes_another_side_by_side(
    worker: NewSandbox, merchant: Merchant, monkeypatch: pytest.MonkeyPatch
):
    outcome_of = webhooks.outcome_of

    def soon(*attempt: Any) -> webhooks.Outcome:  # noqa: ANN401  those of outcome_of
        outcome = outcome_of(*attempt)
        return outcome._replace(wait_ms=outcome.wait_ms and 1)

    monkeypatch.setattr(webhooks, "outcome_of", soon)
    sandbox = worker("running", ordering="per_object")
    merchant.answers["/a"], merchant.answers["/b"] = [500, 500, 200] * 60, [200]
    hooks(sandbox, "/a", "/b")

    def sell() -> None:
        for _ in range(5):
            sandbox.client.payment_intents.cancel(sandbox.client.payment_intents.create(amount=1).id)
            sandbox.engine.run_due()

    with running(sell, sell, sandbox.engine.run_due):
        pass
    # Which of them meets the refusals is a matter of chance: one that met ten is a dead letter, and over too.
    over = {webhooks.DELIVERED, webhooks.DEAD_LETTER}
    assert is_true_soon(lambda: sandbox.engine.run_due() or {*statuses(sandbox)} <= over)
    assert (statuses(sandbox).total(), statuses(sandbox)[webhooks.DELIVERED] >= 30) == (40, True)
    assert sandbox.overtaking() == []


def test_so_many_are_in_flight_and_no_more(sandbox: Sandbox, merchant: Merchant):
    paths = [f"/slow{number}" for number in range(MAX_IN_FLIGHT + 3)]
    hooks(sandbox, *paths)
    for description in ("first", "second"):
        sandbox.event(description)
    with running(sandbox.engine.run_due):
        assert is_true_soon(lambda: merchant.in_flight["all"] == MAX_IN_FLIGHT)
        time.sleep(0.2)
        assert merchant.in_flight["all"] == MAX_IN_FLIGHT
        merchant.let_go.set()
    assert (merchant.most["all"], merchant.most["/slow0"]) == (MAX_IN_FLIGHT, 1)
    assert [merchant.texts(path) for path in paths] == [["first", "second"]] * len(paths)


@pytest.mark.parametrize("which", ["this process", "another"])
def test_an_advance_gets_its_turn_and_sends_nothing_twice(
    sandbox: Sandbox, merchant: Merchant, worker: NewSandbox, which: str
):
    hooks(sandbox, "/slow", "/quick")
    sandbox.event("first")
    other = worker("running")
    with running(sandbox.engine.run_due):
        assert is_true_soon(lambda: len(merchant.arrivals) == 2)
        # Whoever else looks for what is due finds that somebody sees to it, and does not wait.
        other.engine.run_due()
        with running(lambda: (other if which == "another" else sandbox).advance(3600)):
            # Somebody waits for the turn: what falls due now is left to the one who gets it.
            time.sleep(0.3)
            sandbox.event("second")
            time.sleep(0.2)
            assert merchant.texts("/quick") == ["first"]
            merchant.let_go.set()
    assert merchant.texts("/slow") == merchant.texts("/quick") == ["first", "second"]
    assert statuses(sandbox) == {"delivered": 4}


def test_two_workers_send_everything_once(sandbox: Sandbox, merchant: Merchant, worker: NewSandbox):
    hooks(sandbox, "/a", "/b")
    stop = threading.Event()

    def tick(each: Sandbox) -> None:
        while not stop.wait(0.005):
            each.engine.run_due()

    events = [f"event {number}" for number in range(40)]
    with running(partial(tick, sandbox), partial(tick, worker("running"))):
        for each in events:
            sandbox.event(each)
        assert is_true_soon(lambda: statuses(sandbox) == {"delivered": 80})
        stop.set()
    assert merchant.texts("/a") == merchant.texts("/b") == events


@pytest.mark.thorough
def test_an_advance_that_cannot_have_its_turn_says_so(
    sandbox: Sandbox, merchant: Merchant, worker: NewSandbox, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(driver, "_SLACK_S", -4)
    hooks(sandbox, "/slow")
    sandbox.event()
    other = worker("running")
    with running(sandbox.engine.run_due):
        assert is_true_soon(lambda: bool(merchant.arrivals))
        busy = other.advance(1)
        merchant.let_go.set()
    assert (busy.status_code, busy.json()["code"]) == (409, "clock_busy")
    assert other.advance(1).json()["mode"] == "running"


def test_on_a_manual_clock_who_waits_is_next_after_the_attempt_in_hand(merchant: Merchant, worker: NewSandbox):
    sandbox, senders = worker(), []
    merchant.meanwhile = lambda: senders.append(threading.current_thread())
    hooks(sandbox, "/slow")
    sandbox.event("first")
    sandbox.event("second")
    with running(sandbox.engine.run_due) as first:
        assert is_true_soon(lambda: bool(merchant.arrivals))
        with running(lambda: sandbox.advance(1)) as second:
            time.sleep(0.3)
            merchant.let_go.set()
    assert senders == [*first, *second]


@pytest.mark.parametrize("clock", ["running", "manual"])
def test_a_job_that_raises_is_put_off_and_the_others_go_on(
    worker: NewSandbox, noted: list[Any], clock: str, caplog: pytest.LogCaptureFixture
):
    sandbox = worker(clock)
    sandbox.schedule((0, "bug"), (0, "good"))
    with caplog.at_level(logging.ERROR):
        sandbox.engine.run_due()
    assert refs(noted) == ["bug", "good"]
    assert [each in caplog.text for each in ("put off by 60 s", "RuntimeError", "+260961234567")] == [True, True, False]
    # Once for each time that the clock is moved, however far.
    for seconds, again in ((59, 0), (3600, 1), (61, 2)):
        sandbox.advance(seconds)
        assert refs(noted) == ["bug", "good", *["bug"] * again]
    in_process = worker(clock, raise_bugs=True)
    in_process.schedule((0, "bug of our own"))
    with pytest.raises(RuntimeError):
        in_process.engine.run_due()


def test_a_job_that_fails_between_the_commands_of_a_month_repeats_no_command(new_sandbox: NewSandbox, noted: list[Any]):
    sandbox = new_sandbox()
    sandbox.schedule((1_500, "bug"))
    commands = [
        {"what": "intent", "order": str(s), "amount_minor": 100, "at_ms": START_MS + 1_000 * s} for s in range(4)
    ]
    month = {"simulation": "march", "commands": commands}
    with pytest.raises(RuntimeError):
        sandbox.call("POST", "/sandbox/simulation", month)
    assert [each.description for each in sandbox.client.payment_intents.list()][::-1] == ["0", "1"]
    with sandbox.engine.store.transaction() as tx:
        tx.unschedule("bug")
    assert sandbox.call("POST", "/sandbox/simulation", month).json()["cursor"] == 4
    assert [each.description for each in sandbox.client.payment_intents.list()][::-1] == ["0", "1", "2", "3"]
    assert {ref for _, ref in noted} == {"bug"}


def test_a_shop_that_pays_in_another_sandbox_holds_up_neither(new_sandbox: NewSandbox, merchant: Merchant):
    first, second = new_sandbox(), new_sandbox()
    statuses, began = list[int](), time.monotonic()

    def order() -> None:
        if len(merchant.arrivals) == 1:
            second.event()
            statuses.extend(each.advance(1).status_code for each in (second, first))
        else:
            statuses.append(first.advance(1).status_code)

    merchant.meanwhile = order
    first.hook("/a")
    second.hook("/b")
    first.event()
    first.engine.run_due()
    assert statuses == [409, 200, 409], "the clock of the first is being advanced, also where the second delivers"
    assert time.monotonic() - began < 5, "refused at once"
    assert first.advance(1).status_code == second.advance(1).status_code == 200


INTERRUPTED: dict[str, tuple[str, Callable[[Sandbox], object]]] = {
    "without waiting": ("DriverLock.is_wanted", lambda sandbox: sandbox.engine.run_due()),
    "after a wait": ("_FileLock.free", lambda sandbox: sandbox.advance(1)),
}
"""How the driver lock is taken → what is called once it is, and what takes it."""


@pytest.mark.parametrize("how", INTERRUPTED)
def test_an_interrupt_once_the_driver_lock_is_taken_gives_it_back(
    new_sandbox: NewSandbox, noted: list[Any], monkeypatch: pytest.MonkeyPatch, how: str
):
    sandbox, (called, act) = new_sandbox(), INTERRUPTED[how]
    kind, _, name = called.partition(".")
    do = getattr(vars(driver)[kind], name)

    def interrupted(*whose: Any) -> None:  # noqa: ANN401  a lock
        patch.undo()
        do(*whose)
        raise KeyboardInterrupt

    sandbox.schedule((0, "a"))
    with monkeypatch.context() as patch:
        patch.setattr(vars(driver)[kind], name, interrupted)
        with pytest.raises(KeyboardInterrupt):
            act(sandbox)
    assert refs(noted) == []
    assert sandbox.advance(1).status_code == 200
    assert refs(noted) == ["a"]


def test_a_delivery_that_cannot_be_recorded_is_sent_again_after_an_advance_and_not_within_it(
    worker: NewSandbox, merchant: Merchant, monkeypatch: pytest.MonkeyPatch
):
    sandbox = worker("manual")
    hooks(sandbox, "/a")
    sandbox.event("first")

    def bug(*_: Any) -> None:  # noqa: ANN401  what is recorded
        raise ZeroDivisionError

    with monkeypatch.context() as broken:
        broken.setattr("workbench.sandbox.service.webhooks.record", bug)
        sandbox.advance(3600)
    assert merchant.texts("/a") == ["first"]
    sandbox.advance(59)
    assert merchant.texts("/a") == ["first"]
    sandbox.advance(1)
    assert merchant.texts("/a") == ["first", "first"]
    assert statuses(sandbox) == {"delivered": 1}


@pytest.mark.parametrize("clock", ["running", "manual"])
def test_a_delivery_that_is_forgotten_while_it_is_in_flight(merchant: Merchant, worker: NewSandbox, clock: str):
    sandbox = worker(clock, raise_bugs=True)
    hooks(sandbox, "/slow")
    sandbox.event("first")
    sandbox.event("second")
    with running(sandbox.engine.run_due):
        assert is_true_soon(lambda: bool(merchant.arrivals))
        with sandbox.engine.store.transaction() as tx:
            for table in (tx.jobs, tx.deliveries):
                for each in table.all():
                    table.remove(each)
        merchant.let_go.set()
    assert merchant.texts("/slow") == ["first"]
    sandbox.event("third")
    sandbox.engine.run_due()
    assert merchant.texts("/slow") == ["first", "third"]
