"""What arrives together is one transaction, and nobody can tell: each command is done or refused as if alone."""

import json
import sqlite3
import statistics
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from itertools import pairwise
from typing import Any

import httpx
import pytest

from tests.conftest import INTENT, Serving, StoreFile, charge_of, is_true_soon
from tests.doors.conftest import Door, basic, whole
from workbench import Workbench

QUIETLY = ("--port", "0", "--json", "--quiet")

MANY = 48


@pytest.fixture
def bench(store: StoreFile) -> Iterator[Workbench]:
    with Workbench(seed=7, store=store.path) as made:
        yield made


@pytest.fixture
def door(bench: Workbench) -> Iterator[Door]:
    with bench.serve() as served:
        yield Door.of(served)


@contextmanager
def held(store: StoreFile) -> Iterator[None]:
    """Somebody else writes to the file for as long as the block runs."""
    with closing(sqlite3.connect(store.path, isolation_level=None, timeout=30)) as other:
        other.execute("BEGIN IMMEDIATE")
        try:
            yield
        finally:
            other.execute("ROLLBACK")


def breaks(store: StoreFile, table: str, amount_minor: int, way: str) -> None:
    """Let SQLite undo the statement that adds this amount (ABORT), or the whole transaction (ROLLBACK)."""
    when = f"BEFORE INSERT ON {table} WHEN NEW.amount_minor = {amount_minor}"
    store.run(f"CREATE TRIGGER breaks {when} BEGIN SELECT RAISE({way}, 'broken'); END")


def message(door: Door, path: str, body: object, **headers: str) -> bytes:
    text = json.dumps(body)
    lines = [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    credential = f"Authorization: {basic(door.key)['Authorization'] if 'charges' in path else 'Bearer ' + door.key}"
    lines += ["Host: localhost", credential, "Content-Type: application/json", f"Content-Length: {len(text)}"]
    return door.head(path, *lines, method="POST") + text.encode()


def together(door: Door, store: StoreFile, messages: list[bytes]) -> list[tuple[int, dict[str, Any], str]]:
    """Status, body and head of the response to each; all have arrived before the first can be begun."""
    with ExitStack() as stack:
        connections = [stack.enter_context(door.connection(60)) for _ in messages]
        with held(store):
            for connection, each in zip(connections, messages, strict=True):
                connection.sendall(each)
            time.sleep(0.3)
        found = []
        for connection in connections:
            head, _, body = whole(connection).decode().partition("\r\n\r\n")
            found.append((int(head.split(" ")[1]), json.loads(body) if body else {}, head.lower()))
        return found


def statuses(found: list[tuple[int, dict[str, Any], str]]) -> Counter[int]:
    return Counter(status for status, *_ in found)


def test_one_key_is_one_charge_and_refusals_are_undone_alone(
    door: Door, store: StoreFile, bench: Workbench, new_number: Callable[[], str]
):
    phone = new_number()
    same = [message(door, "/v1/charges", charge_of(phone), Idempotency_Key="one")] * 12
    other = [message(door, "/v1/charges", charge_of(phone, 77), Idempotency_Key="one")]
    body = {**charge_of(phone), "currency": "xyz"}
    wrong = [message(door, "/v1/charges", body, Idempotency_Key=f"w-{n}") for n in range(6)]
    intents = [message(door, "/v1/payment_intents", {**INTENT, "amount": n + 1}) for n in range(20)]
    found = together(door, store, [*same, *other, *wrong, *intents])
    assert statuses(found) == {200: 32, 400: 6, 422: 1}
    assert len({body["id"] for _, body, _ in found[:12]}) == 1
    assert Counter("idempotent-replayed" in head for *_, head in found[:12]) == {True: 11, False: 1}
    assert [body["amount"] for _, body, _ in found[19:]] == [n + 1 for n in range(20)]
    assert store.rows("SELECT count(*) FROM charge") == [(1,)]
    assert bench.ledger.verify()


def test_identifiers_are_those_of_one_after_the_other(door: Door, store: StoreFile):
    found = together(door, store, [message(door, "/v1/payment_intents", INTENT)] * MANY)
    with Workbench(seed=7) as alone:
        expected = [alone.client.payment_intents.create(amount=1).id for _ in range(MANY)]
    assert {body["id"] for _, body, _ in found} == {*expected}
    seqs = [seq for (seq,) in store.rows("SELECT seq FROM payment_intent ORDER BY seq")]
    assert len({two - one for one, two in pairwise(seqs)}) == 1


def test_a_bug_is_one_requests_own(door: Door, store: StoreFile, caplog: pytest.LogCaptureFixture):
    breaks(store, "payment_intent", 700, "ABORT")
    intents = [message(door, "/v1/payment_intents", {**INTENT, "amount": n}) for n in range(1, 21)]
    found = together(door, store, intents)
    assert [status for status, *_ in found] == [200] * 6 + [500] + [200] * 13
    assert caplog.text.count("IntegrityError") == 1
    assert store.rows("SELECT count(*) FROM payment_intent") == [(19,)]


@pytest.mark.parametrize("place", [0, 7, 19])
def test_where_the_transaction_is_lost_each_is_done_alone(
    door: Door,
    store: StoreFile,
    bench: Workbench,
    new_number: Callable[[], str],
    caplog: pytest.LogCaptureFixture,
    place: int,
):
    breaks(store, "charge", 666, "ROLLBACK")
    bodies = [charge_of(new_number(), 666 if n == place else 100 + n) for n in range(20)]
    charges = [message(door, "/v1/charges", body, Idempotency_Key=f"k-{n}") for n, body in enumerate(bodies)]
    found = together(door, store, charges)
    expected = [500 if n == place else 200 for n in range(20)]
    assert [status for status, *_ in found] == expected
    # The loss of all of them is nobody's fault; that of the one is told once.
    assert caplog.text.count("IntegrityError") == 1
    store.run("DROP TRIGGER breaks")
    again = [door.send(each) for each in charges]
    assert all(("idempotent-replayed: true" in head.lower()) for n, (_, _, head) in enumerate(again) if n != place)
    assert [status for n, (status, *_) in enumerate(again) if n != place] == [200] * 19
    assert store.rows("SELECT count(*) FROM entry")[0][0] == store.rows("SELECT count(*) FROM charge")[0][0]
    assert bench.ledger.verify()


def test_where_the_disk_is_full_nothing_is_half_done(door: Door, store: StoreFile, bench: Workbench):
    # The limit is one of a connection: it is set on the sandbox's own.
    connection = bench._engine.store._connection  # type: ignore[union-attr]  # noqa: SLF001  no disk is filled here
    pages = connection.execute("PRAGMA page_count").fetchone()[0]
    connection.execute(f"PRAGMA max_page_count = {pages + 4}")
    wide = {**INTENT, "description": "x" * 450}
    found = together(door, store, [message(door, "/v1/payment_intents", wide)] * MANY)
    done = [body["id"] for status, body, _ in found if status == 200]
    assert 0 < len(done) < MANY
    assert {status for status, *_ in found} <= {200, 500, 507}
    connection.execute("PRAGMA max_page_count = 1000000")
    assert {each for (each,) in store.rows("SELECT id FROM payment_intent")} == {*done}
    assert door.send(message(door, "/v1/payment_intents", wide))[0] == 200
    assert store.is_whole()


@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=pytest.mark.thorough)])
def test_reads_go_on_while_somebody_else_writes_and_commands_are_done_after_it(
    serving: Serving, store: StoreFile, workers: int
):
    with (
        serving(*QUIETLY, "--workers", str(workers), "--store", str(store.path)) as server,
        ExitStack() as stack,
    ):
        headers = {"Authorization": f"Bearer {server.address['secret_key']}"}
        made = {"base_url": server.address["base_url"], "headers": headers, "trust_env": False, "timeout": 30}
        clients = [stack.enter_context(httpx.Client(**made, verify=False)) for _ in range(14)]  # noqa: S501  no TLS
        reader, *writers = clients
        is_true_soon(lambda: len(server.workers) == workers)
        if workers > 1:
            time.sleep(1)
        with ThreadPoolExecutor(len(writers)) as pool:
            with held(store):
                begun = time.monotonic()
                asked = [pool.submit(each.post, "/v1/payment_intents", json=INTENT) for each in writers]
                took = []
                # The first read of a start, too, which is numbered by a command.
                while time.monotonic() - begun < 1:
                    before = time.monotonic()
                    assert reader.get("/v1/balance").status_code == 200
                    took.append(time.monotonic() - before)
                    time.sleep(0.005)
                assert not [each for each in asked if each.done()]
            let_go = time.monotonic()
            assert {each.result().status_code for each in asked} == {200}
            assert time.monotonic() - let_go < 1
        print(f"reads: {len(took)}, p99 {1000 * statistics.quantiles(took, n=100)[98]:.1f} ms")  # noqa: T201  a figure
        # On a machine that does other things too; by itself it is under 10 ms. A lock that is waited for holds up each
        # third of the reads, other work of the machine a read here and there.
        assert len(took) > 10
        assert min(statistics.quantiles(took[third::3], n=100)[98] for third in range(3)) < 0.1
