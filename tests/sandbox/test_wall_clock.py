"""A machine's clock that is set back, by hand or by its time service, does not set back a sandbox's running clock."""

import os
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, suppress
from pathlib import Path

import pytest

from tests.conftest import Serving, is_true_soon
from tests.sandbox.test_store import now_of, opened
from workbench import Workbench

HOUR_MS = 3_600_000
NUMBER = "+260960000001"
SHIFTED = """
import time
from pathlib import Path
_real, _shift = time.time_ns, Path({path!r})
time.time_ns = lambda: _real() + int(_shift.read_text()) * 1_000_000
"""
"""What a Python that finds this on its path does first: its wall clock is set by a file."""


@pytest.fixture
def shift(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """By how many milliseconds the wall clock of a server that is started now is wrong, to be changed as it runs."""
    file, site = tmp_path / "shift.txt", tmp_path / "site"
    file.write_text("0")
    site.mkdir()
    (site / "sitecustomize.py").write_text(SHIFTED.format(path=str(file)))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, [str(site), os.environ.get("PYTHONPATH", "")])))
    return file


def set_to(shift: Path, ms: int) -> None:
    """Change the file in one step: a server reads it at any moment."""
    new = shift.with_suffix(".new")
    new.write_text(str(ms))
    new.replace(shift)


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


@pytest.mark.parametrize("workers", ["1", pytest.param("2", marks=pytest.mark.thorough)])
def test_payments_go_on_when_the_machines_clock_is_set_back(
    serving: Serving, shift: Path, tmp_path: Path, workers: str
):
    options = ("--port", "0", "--json", "--quiet", "--store", str(tmp_path / "s.db"), "--workers", workers)
    with serving(*options) as server, Workbench.connect(**server.address) as bench:
        assert pay(bench) == "succeeded"
        seen = [bench.clock.now_ms]
        set_to(shift, -HOUR_MS)
        began_s = time.monotonic()
        assert pay(bench) == "succeeded"
        while time.monotonic() - began_s < 2:
            seen += [bench.clock.now_ms]
        assert seen == sorted(seen), "it goes back in no worker"
        assert seen[-1] - seen[0] == pytest.approx((time.monotonic() - began_s) * 1000, abs=500), "at its normal pace"
        receiver = bench.receiver
        assert pay(bench) == "succeeded"
        assert is_true_soon(lambda: receiver.arrivals), "webhooks are sent"
        errors = server.errors
    assert errors.count("was set back by 3") == len(errors.splitlines()) == 1
    # It is wrong still, and more, when the server starts again.
    set_to(shift, -3 * HOUR_MS)
    with serving(*options) as server, Workbench.connect(**server.address) as bench:
        assert bench.clock.now_ms >= seen[-1]
        assert pay(bench) == "succeeded"
        errors = server.errors
    assert errors.count("was set back by 7") == len(errors.splitlines()) == 1


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
