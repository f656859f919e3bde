"""A full disk, or a file that cannot be written: what was asked is not done, reading goes on, and the key is free."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from tests.conftest import Serving
from workbench import Workbench
from workbench.errors import ApiError, ServiceFailed, ServiceUnavailable, StorageFull
from workbench.sandbox.store import transaction

LARGE = "x" * 900


def allow_no_more_pages(bench: Workbench) -> Callable[[], object]:
    """Fill the disk of a sandbox in this process, as SQLite itself can; the function returned makes room again."""
    connection = bench._engine.store._connection  # type: ignore[union-attr]  # noqa: SLF001  no disk is filled here
    pages = connection.execute("PRAGMA page_count").fetchone()[0]
    connection.execute(f"PRAGMA max_page_count = {pages}")
    return lambda: connection.execute("PRAGMA max_page_count = 1000000")


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


@pytest.mark.parametrize(("kept", "served"), [(True, False), (False, False), (True, True)])
def test_on_a_full_disk_reads_go_on_and_a_key_creates_once_there_is_room(
    store_path: Path, caplog: pytest.LogCaptureFixture, *, kept: bool, served: bool
):
    with ExitStack() as at_end:
        own = bench = at_end.enter_context(Workbench(seed=7, store=store_path if kept else None))
        if served:
            at = at_end.enter_context(own.serve())
            bench = at_end.enter_context(Workbench.connect(at.base_url, at.secret_key))
        create(bench, "before")
        empty = allow_no_more_pages(own)
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
        bench.clock.advance(minutes=5)
        assert len(own.receiver.events) == len(bench.client.payment_intents.list(limit=100).data), "webhooks too"
    lines = [each.getMessage() for each in caplog.records if each.levelname == "ERROR"]
    assert len(lines) == 1
    assert "disk is full" in lines[0]


def test_reading_goes_on_for_long_and_its_calls_fill_no_memory(store_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(transaction, "_MOST_READS_WAIT", 10)
    with Workbench(seed=7, store=store_path) as bench:
        made = create(bench, "before")
        empty = allow_no_more_pages(bench)
        fill(bench)
        for limit in range(1, 31):
            assert len(bench.client.payment_intents.list(limit=limit)) >= 1
        assert bench.client.payment_intents.retrieve(made).id == made
        empty()
        read = [row["what"] for row in bench.trace if row["what"].startswith("GET /v1/payment_intents")]
        newest = [f"?limit={limit}" for limit in range(22, 31)]
        assert read == [f"GET /v1/payment_intents{each}" for each in (*newest, f"/{made}")], "the newest are kept"


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
