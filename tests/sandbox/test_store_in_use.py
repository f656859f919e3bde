"""What is kept and remembered follows from what is written; nothing is scanned; what only reads waits for nobody."""

import re
import sqlite3
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, suppress
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import StoreFile, bearer
from tests.sandbox.test_store import opened
from workbench import Workbench
from workbench.domain.ledger import settlement_postings
from workbench.domain.moments import DAY_MS, day_start_ms
from workbench.sandbox import controls, operations
from workbench.sandbox.store import _MOST_CALLS_WAIT, Transaction
from workbench.sandbox.store.rows import StoredOutage


def test_a_balance_before_a_day_is_of_what_occurred_before_it_whenever_it_was_recorded():
    with closing(opened()) as store, store.transaction() as tx:
        postings = settlement_postings("unknown_credit", {"amount": 100, "fee": 0}, "ZMW", "operator:mtn:float")
        for days_ago in (0, 1, 2):
            occurred_ms = tx.now_ms - days_ago * DAY_MS
            tx.post("unknown_credit", postings, description="", payment=None, occurred_ms=occurred_ms)
        bounds = [None, *(day_start_ms(tx.now_ms, days_on=-days) for days in (0, 1, 2))]
        held = [tx.journal.balance("operator:mtn:float", "ZMW", before_day_ms=bound) for bound in bounds]
        assert held == [300, 200, 100, 0]


def made_of(path: Path) -> set[tuple[str, str]]:
    """What the file at a path is made of: tables, indexes and views, by their names."""
    with closing(sqlite3.connect(path)) as connection:
        # `sql`: SQLite's own indexes have none. A table that is there keeps those that it was made with.
        return set(connection.execute("SELECT type, name FROM sqlite_master WHERE type <> 'trigger' AND sql NOT NULL"))


def test_a_store_of_the_schema_before_has_all_that_a_new_one_has_and_goes_on(store_path: Path):
    with Workbench(store=store_path, seed=7) as bench:
        charge = bench.client.charges.create(amount=15_000, channel="mtn", phone="+260960000001", idempotency_key="1")
        fresh, sums = made_of(store_path), bench.ledger.accounts
    statements = "DROP VIEW payment; DROP INDEX event_object; DELETE FROM balance; PRAGMA user_version = 4;"
    StoreFile(store_path).run(statements)
    assert made_of(store_path) != fresh
    with Workbench(store=store_path) as bench:
        assert made_of(store_path) == fresh
        assert bench.ledger.accounts.equals(sums)
        bench.clock.advance(days=2)
        assert bench.client.charges.retrieve(charge.id).status == "succeeded"
        bench.ledger.verify()


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Iterator[set[str]]:
    """Every statement that a connection made from now on runs."""
    connect, statements = sqlite3.connect, set[str]()

    def traced(*given: Any, **named: Any) -> sqlite3.Connection:  # noqa: ANN401  as it is given
        connection = connect(*given, **named)
        connection.set_trace_callback(statements.add)
        return connection

    with monkeypatch.context() as patch:
        patch.setattr(sqlite3, "connect", traced)
        yield statements


FEW = ("clock", "account", "webhook_endpoint")
"""Tables of a handful of rows, however many payments there are."""
_SCAN = re.compile(r"SCAN ([a-z_]+)")


def scans(plan: list[str], statement: str) -> list[str]:
    """What is gone through row by row, but for a page in the order of its rows, which ends when it is full."""
    found = [line for line in plan if (scan := _SCAN.search(line)) and scan[1] not in FEW]
    in_order = "ORDER BY" in statement and not any("TEMP B-TREE" in line for line in plan)
    is_page = "LIMIT" in statement and (in_order or all("USING INDEX" in line for line in found))
    return [] if is_page else found


def confirmed(bench: Workbench, key: str) -> str:
    intent = bench.client.payment_intents.create(amount=Decimal(100), currency="ZMW", idempotency_key=key)
    return bench.client.payment_intents.confirm(intent.id, phone="+260961111111", provider="mtn").id


def test_no_statement_of_a_payment_goes_through_a_table_that_grows(tmp_path: Path, asked: set[str]):
    path = tmp_path / "store.db"
    with Workbench(seed=1, store=path) as bench:
        first, phone = confirmed(bench, "paid"), bench.phone("+260961111111")
        phone.enter_pin("1234")
        for press in (phone.cancel, phone.ignore):
            confirmed(bench, press.__name__)
            press()
        bench.clock.advance(days=1)
        bench.client.refunds.create(payment_intent=first, amount=Decimal(30))
        bench.client.payouts.create(amount=Decimal(10), currency="ZMW")
        bench.clock.advance(days=2)
        bench.client.payment_intents.list(limit=100)
        bench.client.events.list(limit=100)
    plans = {
        each: [row[3] for row in StoreFile(path).rows(f"EXPLAIN QUERY PLAN {each}")]
        for each in asked
        if each.split()[0] in {"SELECT", "UPDATE", "INSERT", "DELETE"} and "sqlite_master" not in each
    }
    assert len(plans) > 100, "hardly anything was asked"
    wrong = {each: found for each, plan in plans.items() if (found := scans(plan, each))}
    assert not wrong, wrong
    assert any("USING INDEX" in line for plan in plans.values() for line in plan)


def read_anew(path: Path) -> tuple[Any, ...]:
    """Clock, counters, the head of the chain, keys and outages as the file has them."""
    questions = (
        "SELECT manual_ms FROM clock",
        "SELECT kind, value FROM counter ORDER BY kind",
        "SELECT number, hash FROM entry ORDER BY number DESC LIMIT 1",
        "SELECT id, status FROM api_key ORDER BY seq",
        "SELECT provider, until_ms FROM outage ORDER BY provider",
        "SELECT seq, claimed FROM job ORDER BY seq",
    )
    return tuple(StoreFile(path).rows(each) for each in questions)


def as_remembered(tx: Transaction, kinds: list[str]) -> tuple[Any, ...]:
    number, head = tx.journal.head()
    return (
        [(tx.now_ms,)],
        [(kind, tx.last(kind)) for kind in kinds],
        [(number, head)] if number else [],
        [(each.id, each.status) for each in tx.api_keys.all(account="plants")],
        [(each.provider, each.until_ms) for each in tx.outages.all(order="provider")],
        [(seq, job.claimed) for seq in range(tx.last("seq") + 1) if (job := tx.jobs.get(seq))],
    )


def post(tx: Transaction) -> None:
    postings = settlement_postings("unknown_credit", {"amount": 100, "fee": 0}, "ZMW", "operator:mtn:float")
    tx.post("unknown_credit", postings, description="", payment=None)


def break_down(tx: Transaction) -> None:
    for act in (post, *ACTS[:-2]):
        act(tx)
    raise RuntimeError("after all that")


def revoke(tx: Transaction) -> None:
    key = tx.api_keys.first(order="seq DESC", account="plants")
    assert key is not None
    tx.api_keys.put(key, status="revoked" if key.status == "active" else "active")


def end_outages(tx: Transaction) -> None:
    for each in tx.outages.all(order="provider"):
        tx.outages.remove(each)


def claim(tx: Transaction) -> None:
    """The first job, by a statement of the table's own, and all of them by one of the transaction's."""
    job = tx.jobs.first(order="seq")
    if job is None:
        tx.schedule("night", "night")
    elif job.claimed:
        tx.release_claims()
    else:
        tx.jobs.put(job, claimed=1)


def undo(tx: Transaction) -> None:
    with suppress(RuntimeError), tx.savepoint():
        break_down(tx)


ACTS: tuple[Callable[[Transaction], object], ...] = (
    post,
    revoke,
    end_outages,
    lambda tx: tx.move_clock(tx.now_ms + 1),
    lambda tx: tx.new_id("pi"),
    lambda tx: tx.outages.get("mtn") or tx.outages.add(StoredOutage(provider="mtn", until_ms=tx.now_ms)),
    lambda tx: tx.forget(),
    claim,
    lambda tx: tx.unschedule("night"),
    undo,
    break_down,
)


@pytest.mark.thorough
@settings(max_examples=15 if settings.get_current_profile_name() == "workbench" else 100)
@given(steps=st.lists(st.tuples(st.integers(0, 1), st.sampled_from(ACTS)), max_size=12))
def test_two_that_write_to_one_file_know_what_it_holds(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[int, Callable[[Transaction], object]]]
):
    path = tmp_path_factory.mktemp("shared") / "store.db"
    with closing(opened(path)) as one, closing(opened(path)) as other:
        for who, act in steps:
            with suppress(RuntimeError), (one, other)[who].transaction() as tx:
                act(tx)
            known = read_anew(path)
            for store in (one, other):
                with store.transaction() as tx:
                    assert as_remembered(tx, [kind for kind, _ in known[1]]) == known


READS = [each for each in (*operations.OPERATIONS, *controls.OPERATIONS) if each.method == "GET"]
PHONE = "+260961234567"
NAMED = ("delivery_id", "event_id", "key_id", "payout_id", "refund_id", "request_id")
WRITES, READS_BALANCE, LOOKS = range(3)


def test_a_read_waits_for_nobody_and_writes_nothing(tmp_path: Path):
    path = tmp_path / "store.db"
    with Workbench(seed=7, store=path) as bench:
        intent = bench.client.payment_intents.create(amount=2_000)
        intent = bench.client.payment_intents.confirm(intent.id, phone=PHONE, provider="mtn")
        known = {"intent_id": intent.id, "charge_id": intent.latest_charge, "phone": PHONE, "endpoint_id": "none"}
        known["payment_id"] = intent.id
        with closing(sqlite3.connect(path, isolation_level=None)) as writer:
            for each in READS:
                bench.control.clock()  # what was read before is written
                writer.execute("BEGIN IMMEDIATE")
                asked = each.path.format_map(dict.fromkeys(NAMED, "none") | known)
                response = bench.http.get(asked, headers=bearer(bench))
                writer.execute("ROLLBACK")
                assert response.status_code in (200, 404), each.id


@settings(max_examples=15 if settings.get_current_profile_name() == "workbench" else 150, deadline=None)
@given(steps=st.lists(st.tuples(st.integers(0, 1), st.sampled_from((WRITES, READS_BALANCE, LOOKS))), max_size=20))
def test_of_two_with_one_file_each_sees_its_own_calls_in_order_and_nothing_comes_before_what_was_seen(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[int, int]]
):
    path = tmp_path_factory.mktemp("shared") / "store.db"
    made, seen, latest = defaultdict[int, list[str]](list), dict[str, int](), 0
    with ExitStack() as opened:
        benches = [opened.enter_context(Workbench(seed=7, store=path)) for _ in range(2)]
        for who, act in [*steps, (0, LOOKS), (1, LOOKS)]:
            http = benches[who].http
            if act == LOOKS:
                rows = http.get("/sandbox/trace", headers=bearer(benches[who])).json()["data"]
                calls = {
                    row["detail"]["response"]["headers"]["Request-Id"]: row["seq"]
                    for row in rows
                    if row["kind"] == "call"
                }
                assert all(seq > latest for call, seq in calls.items() if call not in seen)
                assert [call for call in calls if call in made[who]] == made[who]
                seen, latest = calls, max(row["seq"] for row in rows)
            elif act == READS_BALANCE:
                made[who].append(http.get("/v1/balance", headers=bearer(benches[who])).headers["Request-Id"])
            else:
                intents = {"amount": 2_000, "currency": "ZMW"}
                response = http.post("/v1/payment_intents", json=intents, headers=bearer(benches[who]))
                made[who].append(response.headers["Request-Id"])
    assert len({*made[0], *made[1]}) == len(made[0]) + len(made[1])


def test_calls_that_only_read_fill_no_memory_and_are_there_when_the_file_is_opened_again(tmp_path: Path):
    path = tmp_path / "store.db"
    with Workbench(seed=7, store=path) as bench:
        for _ in range(_MOST_CALLS_WAIT + 2):
            bench.client.balance.retrieve()
        ((written,),) = StoreFile(path).rows("SELECT count(*) FROM call WHERE method = 'GET'")
        assert written >= _MOST_CALLS_WAIT
    with Workbench(store=path) as bench:
        read = [row for row in bench.trace if row["what"] == "GET /v1/balance"]
    assert len(read) == _MOST_CALLS_WAIT + 2
