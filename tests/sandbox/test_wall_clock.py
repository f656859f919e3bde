"""A machine's clock that is set back, by hand or by its time service, does not set back a sandbox's running clock."""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path

import pytest

from tests.conftest import is_true_soon
from tests.sandbox.test_store import now_of, opened
from workbench import Workbench
from workbench.sandbox.engine import Engine
from workbench.sandbox.server import listening
from workbench.sandbox.store import Settings

HOUR_MS = 3_600_000
NUMBER = "+260960000001"


@pytest.fixture
def set_wrong(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Sets this machine's clock wrong by so many milliseconds."""
    right = time.time_ns
    return lambda by_ms: monkeypatch.setattr(time, "time_ns", lambda: right() + by_ms * 1_000_000)


@contextmanager
def served(path: Path) -> Iterator[Workbench]:
    """A bench that is connected to a sandbox with a running clock, as `workbench serve` has it."""
    with (
        closing(Engine(Settings(path=path, clock="running"), raise_bugs=False)) as engine,
        listening(engine, 0, ticks=True) as url,
        Workbench.connect(url, engine.store.key("secret")) as bench,
    ):
        yield bench


def pay(bench: Workbench) -> str:
    """The state of a payment some seconds after its PIN; the operator takes one to answer."""
    intent = bench.client.payment_intents.create(amount=5)
    bench.client.payment_intents.confirm(intent.id, phone=NUMBER, provider="mtn")
    bench.phone(NUMBER).enter_pin("1234")
    until = time.monotonic() + 15
    while (status := bench.client.payment_intents.retrieve(intent.id).status) == "processing":
        if time.monotonic() > until:
            break
        time.sleep(0.05)
    return str(status)


def test_payments_go_on_when_the_machines_clock_is_set_back(
    store_path: Path, set_wrong: Callable[[int], None], caplog: pytest.LogCaptureFixture
):
    with served(store_path) as bench:
        assert pay(bench) == "succeeded"
        seen = [bench.clock.now_ms]
        set_wrong(-HOUR_MS)
        began_s = time.monotonic()
        assert pay(bench) == "succeeded"
        while time.monotonic() - began_s < 1.2:
            seen += [bench.clock.now_ms]
        assert seen == sorted(seen)
        assert seen[-1] - seen[0] == pytest.approx((time.monotonic() - began_s) * 1000, abs=500), "at its normal pace"
        receiver = bench.receiver
        assert pay(bench) == "succeeded"
        assert is_true_soon(lambda: receiver.arrivals), "webhooks are sent"
    assert caplog.text.count("was set back by 3") == caplog.text.count("was set back") == 1
    # It is wrong still, and more, when the server starts again.
    set_wrong(-3 * HOUR_MS)
    with served(store_path) as bench:
        assert bench.clock.now_ms >= seen[-1]
        assert pay(bench) == "succeeded"
    assert caplog.text.count("was set back by 7") == caplog.text.count("was set back") - 1 == 1


def test_two_processes_on_one_file_go_by_one_clock(store_path: Path, caplog: pytest.LogCaptureFixture):
    walls = [10 * HOUR_MS, 10 * HOUR_MS]
    with ExitStack() as held:
        first, second = (
            held.enter_context(closing(opened(store_path, clock="running", wall_ms=lambda each=each: walls[each])))
            for each in (0, 1)
        )
        assert now_of(first) == now_of(second) == 10 * HOUR_MS
        for minute in range(1, 6):
            walls[:] = [9 * HOUR_MS + minute * 60_000] * 2
            # Who only looks, who reads, and who writes: whoever comes first.
            assert second.now_s() * 1000 <= now_of(first) == 10 * HOUR_MS + (minute - 1) * 60_000
            with second.reading() as tx:
                assert tx.now_ms == 10 * HOUR_MS + (minute - 1) * 60_000
        with second.transaction() as tx:
            tx.move_clock(tx.now_ms + 500)
        assert first.now_s() * 1000 == second.now_s() * 1000 == 10 * HOUR_MS + 4 * 60_000
    assert caplog.text.count("was set back by 3540 s") == caplog.text.count("was set back") == 1


def test_what_a_failed_command_read_of_the_clock_is_not_lost(store_path: Path, caplog: pytest.LogCaptureFixture):
    wall = [10 * HOUR_MS]
    with closing(opened(store_path, clock="running", wall_ms=lambda: wall[0])) as store:
        now_of(store)
        wall[0] -= HOUR_MS
        for _ in range(3):
            with suppress(KeyError), store.transaction() as tx:
                assert tx.now_ms == 10 * HOUR_MS + (wall[0] - 9 * HOUR_MS)
                raise KeyError
            wall[0] += 10
        assert "was set back" not in caplog.text, "nothing of it is in the file"
        assert now_of(store) == 10 * HOUR_MS + 30
        # The small corrections of every day go without a word, and back as little.
        wall[0] -= 20
        assert now_of(store) == 10 * HOUR_MS + 30
    assert caplog.text.count("was set back by 3600 s") == caplog.text.count("was set back") == 1
    wall[0] += 50
    with closing(opened(store_path, wall_ms=lambda: wall[0])) as manual:
        assert now_of(manual) == 10 * HOUR_MS + 80
