"""A full disk, or a file that cannot be written: what was asked is not done, reading goes on, and the key is free."""

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.conftest import Serving, is_true_soon
from workbench import Workbench
from workbench.errors import ApiError, ServiceFailed, ServiceUnavailable, StorageFull

NUMBER = "+260960000001"
LARGE = "x" * 900
FILLED = """
import sqlite3
from pathlib import Path

_room = Path({path!r})


class Commands(sqlite3.Cursor):
    def execute(self, sql, *values):
        if sql in ("BEGIN", "BEGIN IMMEDIATE"):
            now = super().execute("PRAGMA page_count").fetchone()[0]
            super().execute(f"PRAGMA max_page_count = {{_room.read_text() or now}}")
        return super().execute(sql, *values)


class Filled(sqlite3.Connection):
    def cursor(self):
        return super().cursor(Commands)


_connect = sqlite3.connect
sqlite3.connect = lambda *given, **named: _connect(*given, **{{"factory": Filled, **named}})
"""
"""What a Python that finds this on its path does first: an empty file fills its disk, at every BEGIN anew."""


@pytest.fixture
def room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """How many pages a server that is started now has room for; nothing: as many as there are."""
    file, site = tmp_path / "room.txt", tmp_path / "site"
    file.write_text("1000000")
    site.mkdir()
    (site / "sitecustomize.py").write_text(FILLED.format(path=str(file)))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, [str(site), os.environ.get("PYTHONPATH", "")])))
    return file


def fill(bench: Workbench, refused: type[ApiError] = StorageFull) -> str:
    """Create until the store has no room; the key of the create that was refused first."""
    for number in range(100):
        try:
            create(bench, key := f"key-{number}")
        except refused:
            return key
    raise AssertionError("there is room for all of them")


def create(bench: Workbench, key: str) -> str:
    return str(bench.client.payment_intents.create(amount=5, description=LARGE, idempotency_key=key).id)


def the_same_key_creates_once_there_is_room(bench: Workbench, empty: Callable[[], object]) -> None:
    """What a merchant sees of a disk that was filled: read, create with a key, again, and again with room."""
    key = fill(bench)
    listed = [each.id for each in bench.client.payment_intents.list(limit=100).data]
    for _ in range(3):
        with pytest.raises(ServiceFailed) as refused:
            create(bench, key)
        assert (refused.value.status, refused.value.code) == (507, "storage_full")
        assert refused.value.request_id
    with pytest.raises(StorageFull):
        bench.clock.advance(1)
    assert [each.id for each in bench.client.payment_intents.list(limit=100).data] == listed, "nothing was done"
    assert bench.client.payment_intents.retrieve(listed[0]).description == LARGE
    assert bench.control.clock().object == "clock"
    assert bench.ledger.verify()
    empty()
    made = create(bench, key)
    assert create(bench, key) == made not in listed
    assert [each.id for each in bench.client.payment_intents.list(limit=100).data] == [made, *listed]
    results = [each.status for each in bench.trace.exchanges if each.request.startswith("POST /v1/payment_intents")]
    assert results[-6:] == [507, 507, 507, 507, 200, 200], "what was refused is in the trace once it can be"


@pytest.mark.parametrize("kept", [True, False])
def test_a_full_disk_in_process(store_path: Path, caplog: pytest.LogCaptureFixture, *, kept: bool):
    with Workbench(seed=7, store=store_path if kept else None) as bench:
        create(bench, "before")
        connection = bench._engine.store._connection  # noqa: SLF001  SQLite's own way to be full
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count = {pages}")
        the_same_key_creates_once_there_is_room(bench, lambda: connection.execute("PRAGMA max_page_count = 1000000"))
        bench.clock.advance(minutes=5)
        assert len(bench.receiver.events) == len(bench.client.payment_intents.list(limit=100).data), "webhooks too"
    lines = [each.getMessage() for each in caplog.records if each.levelname == "ERROR"]
    assert len(lines) == 1
    assert "disk is full" in lines[0]


@pytest.mark.parametrize("workers", ["1", pytest.param("2", marks=pytest.mark.thorough)])
def test_a_full_disk_served(serving: Serving, room: Path, tmp_path: Path, workers: str):
    options = ("--port", "0", "--json", "--quiet", "--store", str(tmp_path / "s.db"), "--workers", workers)
    with serving(*options) as server, Workbench.connect(**server.address) as bench:
        create(bench, "before")
        room.write_text("")
        the_same_key_creates_once_there_is_room(bench, lambda: room.write_text("1000000"))
        # Time goes on, and so do payments and their webhooks.
        receiver = bench.receiver
        intent = bench.client.payment_intents.create(amount=5)
        bench.client.payment_intents.confirm(intent.id, phone=NUMBER, provider="mtn")
        assert is_true_soon(lambda: bench.client.payment_intents.retrieve(intent.id).status == "succeeded")
        assert is_true_soon(lambda: receiver.events)
        errors = server.errors.splitlines()
    assert 1 <= len(errors) <= int(workers), "a line a worker"
    assert all("disk is full" in each for each in errors)


@pytest.mark.thorough
def test_reading_goes_on_for_long_and_its_calls_fill_no_memory(store_path: Path):
    with Workbench(seed=7, store=store_path) as bench:
        made = create(bench, "before")
        store = bench._engine.store  # noqa: SLF001  SQLite's own way to be full
        pages = store._connection.execute("PRAGMA page_count").fetchone()[0]  # noqa: SLF001  see above
        store._connection.execute(f"PRAGMA max_page_count = {pages}")  # noqa: SLF001  see above
        fill(bench)
        for _ in range(1_500):
            assert bench.client.payment_intents.retrieve(made).id == made
        store._connection.execute("PRAGMA max_page_count = 1000000")  # noqa: SLF001  see above
        read = [each for each in bench.trace.exchanges if each.request.startswith("GET /v1/payment_intents/")]
        assert len(read) == 1_000, "the newest are kept"


@pytest.fixture
def held(store_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Workbench, sqlite3.Connection]]:
    """A bench that waits for nobody, and another program that has its file open."""
    monkeypatch.setattr("workbench.sandbox.store.transaction.BUSY_S", 0)  # not for half a minute
    with (
        Workbench(seed=7, store=store_path) as bench,
        closing(sqlite3.connect(store_path, isolation_level=None)) as other,
    ):
        yield bench, other


def test_a_locked_file_is_a_503_of_its_own_and_the_key_stays_free(
    held: tuple[Workbench, sqlite3.Connection], caplog: pytest.LogCaptureFixture
):
    bench, other = held
    made = create(bench, "before")
    other.execute("BEGIN IMMEDIATE")
    for _ in range(2):
        with pytest.raises(ServiceUnavailable) as refused:
            create(bench, "key")
        assert (refused.value.status, refused.value.code) == (503, "storage_locked")
        assert bench.client.payment_intents.retrieve(made).id == made
    other.execute("ROLLBACK")
    assert create(bench, "key") == create(bench, "key") != made
    assert [each.levelname for each in caplog.records].count("ERROR") == 1
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(ServiceUnavailable):
        create(bench, "another")
    other.execute("ROLLBACK")
    assert [each.levelname for each in caplog.records].count("ERROR") == 2, "it was mended in between"


@pytest.mark.thorough
def test_an_error_of_the_disks_is_a_503_of_its_own(serving: Serving, tmp_path: Path):
    """A file may be so large and no larger: a write beyond that is an I/O error."""
    resource = pytest.importorskip("resource")
    if not hasattr(resource, "prlimit"):
        pytest.skip("the limits of another process cannot be set here")
    path = tmp_path / "s.db"
    with (
        serving("--port", "0", "--json", "--quiet", "--store", str(path)) as server,
        Workbench.connect(**server.address) as bench,
    ):
        made = create(bench, "before")
        workers = [each.pid for each in server.workers]
        for each in workers:
            resource.prlimit(each, resource.RLIMIT_FSIZE, (path.stat().st_size, resource.RLIM_INFINITY))
        key = fill(bench, ServiceUnavailable)
        with pytest.raises(ServiceUnavailable) as refused:
            create(bench, key)
        assert (refused.value.status, refused.value.code) == (503, "storage_failed")
        assert bench.client.payment_intents.retrieve(made).id == made
        for each in workers:
            resource.prlimit(each, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        assert create(bench, key) == create(bench, key) != made
        errors = server.errors.splitlines()
    assert len(errors) == 1
    assert "disk I/O error" in errors[0]
