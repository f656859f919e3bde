"""What only reads waits for no writer, and what the trace keeps of it is written later, in its place."""

import sqlite3
from collections import defaultdict
from contextlib import ExitStack, closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import bearer
from workbench import Workbench
from workbench.sandbox import control, operations
from workbench.sandbox.store.files import _MOST_CALLS_WAIT

READS = [each for each in (*operations.OPERATIONS, *control.OPERATIONS) if each.method == "GET"]
PHONE = "+260961234567"
NAMED = ("delivery_id", "event_id", "key_id", "payout_id", "refund_id")
WRITES, READS_BALANCE, LOOKS = range(3)


def test_a_read_waits_for_nobody_and_writes_nothing(tmp_path: Path):
    path = tmp_path / "store.db"
    with Workbench(seed=7, store=path) as bench:
        intent = bench.client.payment_intents.create(amount=2_000)
        intent = bench.client.payment_intents.confirm(intent.id, phone=PHONE, provider="mtn")
        known = {"intent_id": intent.id, "charge_id": intent.latest_charge, "phone": PHONE, "endpoint_id": "none"}
        with closing(sqlite3.connect(path, isolation_level=None)) as writer:
            for each in READS:
                bench.session.control.clock()  # what was read before is written
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
        with closing(sqlite3.connect(path)) as beside:
            assert beside.execute("SELECT count(*) FROM call WHERE method = 'GET'").fetchone()[0] >= _MOST_CALLS_WAIT
    with Workbench(store=path) as bench:
        read = [row for row in bench.trace if row["what"] == "GET /v1/balance"]
    assert len(read) == _MOST_CALLS_WAIT + 2
