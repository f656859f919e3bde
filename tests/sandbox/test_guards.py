"""What goes wrong only under load, with a slow receiver, or with a caller who means harm."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.sandbox.conftest import Sandbox
from workbench import Workbench
from workbench.errors import InvalidRequest, PermissionDenied

PHONE, OTHER = "+260961234567", "+260961234568"


@pytest.fixture(scope="module")
def bench() -> Iterator[Workbench]:
    with Workbench(seed=7) as made:
        yield made


def test_a_pin_after_the_time_is_up_moves_no_money_though_nobody_had_closed_the_prompt(sandbox: Sandbox):
    """A running clock passes the moment before whoever drives comes to it."""
    pay = sandbox.client.payment_intents
    intent = pay.create(amount=10)
    pay.confirm(intent.id, phone=PHONE, provider="mtn")
    with sandbox.engine.store.transaction() as tx:
        tx.move_clock(tx.now_ms + 300_000)
    refused = sandbox.http.post(f"/sandbox/phones/{PHONE}/input", json={"text": "1234"})
    assert (refused.status_code, refused.json()["code"]) == (409, "prompt_expired")
    after = pay.retrieve(intent.id)
    assert (after.status, after.last_payment_error.code) == ("requires_payment_method", "prompt_timeout")
    with sandbox.engine.store.transaction() as tx:
        assert list(tx.journal.entries()) == []
    sandbox.engine.run_due()


def test_a_replay_tells_a_publishable_key_nothing(bench: Workbench):
    intent = bench.client.payment_intents.create(amount=10)
    confirmed = bench.client.payment_intents.confirm(intent.id, phone=OTHER, provider="mtn", idempotency_key="c")
    assert confirmed.client_secret
    app = bench.client_with(str(bench.publishable_key))
    with pytest.raises(PermissionDenied):
        app.payment_intents.confirm(intent.id, phone=OTHER, provider="mtn", idempotency_key="c")


def test_an_identifier_is_no_way_to_another_path(bench: Workbench):
    before = len(bench.trace)
    for identifier in ("", ".", ".."):
        with pytest.raises(InvalidRequest):
            bench.client.payment_intents.retrieve(identifier)
    assert len(bench.trace) == before


def test_an_event_names_the_idempotency_key_as_it_was_sent(bench: Workbench):
    bench.client.charges.create(amount=100, channel="mtn", phone=PHONE, idempotency_key="0971234567")
    assert b'"idempotency_key":"0971234567"' in bench.receiver.arrivals[-1].body


def test_a_header_that_is_not_ascii_is_answered_in_process_too(bench: Workbench):
    answer = bench.http.get("/v1/charges/x", headers={"Authorization": "Bearer schl\u00fcssel".encode("latin-1")})
    assert (answer.status_code, answer.json()["code"]) == (400, "request_not_ascii")


def test_holds_only_grow(tmp_path: Path):
    with Workbench(seed=7, store=tmp_path / "store.db") as bench:
        bench.client.charges.create(amount=100, channel="mtn", phone=PHONE, idempotency_key="k")
    with closing(sqlite3.connect(tmp_path / "store.db")) as connection:
        for sql in ("UPDATE hold SET amount_minor = 1", "DELETE FROM hold",
                    "INSERT OR REPLACE INTO hold SELECT * FROM hold"):  # fmt: skip
            with pytest.raises(sqlite3.IntegrityError):
                connection.execute(sql)
