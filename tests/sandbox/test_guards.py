"""What goes wrong only under load, with a slow receiver, or with a caller who means harm."""

import socket
import sqlite3
import threading
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest

from workbench import PaymentsClient, Workbench
from workbench.errors import InvalidRequest, LiveKeyRefused, PermissionDenied, StateConflict
from workbench.sandbox.engine import Engine
from workbench.sandbox.outbound import Outbound
from workbench.sandbox.store import Settings

PHONE = "+260961234567"
LIVE = "sk_" + "live_" + "x" * 8


def paying(engine: Engine) -> PaymentsClient:
    http = httpx.Client(transport=httpx.WSGITransport(engine.app))
    return PaymentsClient("http://sandbox.localhost", engine.store.key("secret"), http=http)


def test_a_pin_after_the_time_is_up_moves_no_money_though_nobody_had_closed_the_prompt():
    """A running clock passes the moment before whoever drives comes to it."""
    engine = Engine(Settings(seed="7", clock="manual", start_ms=1_767_592_800_000), raise_bugs=True)
    with closing(engine):
        pay = paying(engine)
        intent = pay.payment_intents.create(amount=10)
        pay.payment_intents.confirm(intent.id, phone=PHONE, provider="mtn")
        with engine.store.transaction() as tx:
            tx.move_clock(tx.now_ms + 300_000)
        with pytest.raises(StateConflict) as refused:
            pay.calls.send(
                "POST", f"http://sandbox.localhost/sandbox/phones/{PHONE}/input", dict, body={"text": "1234"}
            )
        assert refused.value.code == "prompt_expired"
        after = pay.payment_intents.retrieve(intent.id)
        assert (after.status, after.last_payment_error.code) == ("requires_payment_method", "prompt_timeout")
        with engine.store.transaction() as tx:
            assert list(tx.journal.entries()) == []
        engine.run_due()


def test_threads_that_come_and_go_leave_no_file_open():
    engine = Engine(Settings(seed="7"), raise_bugs=True)
    with closing(engine):

        def look() -> None:
            with engine.store.transaction() as tx:
                tx.journal.head()

        def crowd() -> int:
            for _ in range(50):
                thread = threading.Thread(target=look)
                thread.start()
                thread.join()
            return len(list(Path("/proc/self/fd").iterdir()))

        first = crowd()
        assert crowd() == first


def test_an_idempotency_key_on_the_panel_is_ignored():
    with Workbench(seed=7) as bench:
        headers = {"Authorization": f"Bearer {bench.secret_key!s}", "Idempotency-Key": "k"}
        nows = [
            bench.http.post("/sandbox/clock/advance", json={"seconds": 5}, headers=headers).json()["now"] for _ in "ab"
        ]
        assert nows == ["2026-01-05T06:00:05.000Z", "2026-01-05T06:00:10.000Z"]


def test_a_replay_tells_a_publishable_key_nothing():
    with Workbench(seed=7) as bench:
        intent = bench.client.payment_intents.create(amount=10)
        told = bench.client.payment_intents.confirm(intent.id, phone=PHONE, provider="mtn", idempotency_key="c")
        assert told.client_secret
        app = bench.client_with(str(bench.publishable_key))
        with pytest.raises(PermissionDenied):
            app.payment_intents.confirm(intent.id, phone=PHONE, provider="mtn", idempotency_key="c")


def drip(listener: socket.socket, stop: threading.Event):
    connection, _ = listener.accept()
    with connection:
        connection.sendall(b"HTTP/1.1 200 OK\r\nX-Drip: ")
        while not stop.wait(0.1):
            try:
                connection.sendall(b"x")
            except OSError:
                return


def test_a_receiver_that_drips_has_the_whole_time_and_no_more():
    stop = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        dripping = threading.Thread(target=drip, args=(listener, stop))
        dripping.start()
        started = time.monotonic()
        reply = Outbound().send(f"http://127.0.0.1:{listener.getsockname()[1]}/", {}, b"{}", 1)
        took_s = time.monotonic() - started
        stop.set()
        dripping.join()
    assert (reply.status_code, reply.fault) == (None, "the answer took longer than 1 s")
    assert took_s < 3


@pytest.mark.parametrize(
    "request_of",
    [
        lambda key: {"headers": {"Authorization": f"Basic {key}:"}},
        lambda key: {"headers": {"Authorization": f'Bearer "{key}"'}},
        lambda key: {"headers": {"X-Api-Key": key}},
        lambda key: {"params": {"key": key}},
    ],
    ids=["basic not encoded", "in quotes", "another header", "query"],
)
def test_a_live_key_is_refused_wherever_it_stands(request_of: Callable[[str], dict[str, Any]]):
    with Workbench(seed=7) as bench:
        answer = bench.http.post("/v1/payment_intents", json={}, **request_of(LIVE))
        assert (answer.status_code, answer.json()["code"]) == (401, "live_key_in_sandbox")
        refreshed = bench.http.post("/v1/auth/refresh", json={"refresh_token": LIVE})
        assert (refreshed.status_code, refreshed.json()["code"]) == (401, "live_key_in_sandbox")
        assert LIVE not in repr(bench.trace[:])


def test_the_client_lets_no_live_key_out():
    with pytest.raises(LiveKeyRefused):
        PaymentsClient("http://sandbox.localhost", f" {LIVE}")
    with Workbench(seed=7) as bench, pytest.raises(LiveKeyRefused):
        bench.client.plants.create(id=1, name="Monstera", token=LIVE)


@pytest.mark.parametrize("identifier", ["", ".", ".."])
def test_an_identifier_is_no_way_to_another_path(identifier: str):
    with Workbench(seed=7) as bench:
        with pytest.raises(InvalidRequest):
            bench.client.payment_intents.retrieve(identifier)
        assert bench.trace[-1]["what"] == "POST /v1/webhook_endpoints"


@pytest.mark.parametrize(
    "sent",
    [
        {
            "content": "email=a@example.com&password=hunter22",
            "headers": {"Content-Type": "application/x-www-form-urlencoded"},
        },
        {"content": "{'password': 'hunter22'}", "headers": {"Content-Type": "application/json"}},
        {"json": {"email": "a@example.com", "password": ["hunter22"]}},
        {"json": {"email": "a@example.com", "password": "hunter22"}},
    ],
    ids=["form", "not JSON", "list", "as it should be"],
)
def test_a_password_is_in_no_answer_and_no_trace(sent: dict[str, Any]):
    with Workbench(seed=7) as bench:
        answer = bench.http.post("/v1/auth/token", **sent)
        assert "hunter22" not in answer.text
        assert "hunter22" not in repr(list(bench.trace)) + repr(bench.trace.exchanges)


def test_a_number_for_a_pin_or_a_password_is_not_repeated():
    with Workbench(seed=7) as bench:
        bearer = {"Authorization": f"Bearer {bench.secret_key!s}"}
        answers = [
            bench.http.post("/v1/auth/token", json={"email": "a@example.com", "password": 12345678}),
            bench.http.post(f"/sandbox/phones/{PHONE}/input", json={"text": 12345678}, headers=bearer),
        ]
        assert [(each.status_code, "12345678" in each.text) for each in answers] == [(400, False)] * 2
        assert "12345678" not in repr(list(bench.trace))


@pytest.mark.parametrize("types", [[], ["payment_intent.suceeded"], ["charge"], ["*", "nothing.*"]])
def test_a_filter_that_would_hear_nothing_is_refused(types: list[str]):
    with Workbench(seed=7) as bench, pytest.raises(InvalidRequest) as refused:
        bench.client.webhook_endpoints.create(url="http://127.0.0.1:9/", enabled_events=types)
    assert (refused.value.code, refused.value.param) == ("event_type_unknown", "enabled_events")


def test_an_event_names_the_idempotency_key_as_it_was_sent():
    with Workbench(seed=7) as bench:
        bench.client.charges.create(amount=100, channel="mtn", phone=PHONE, idempotency_key="0971234567")
        assert b'"idempotency_key":"0971234567"' in bench.receiver.arrivals[-1].body


def test_a_header_that_is_not_ascii_is_answered_in_process_too():
    with Workbench(seed=7) as bench:
        answer = bench.http.get("/v1/charges/x", headers={"Authorization": "Bearer schl\u00fcssel".encode("latin-1")})
        assert (answer.status_code, answer.json()["code"]) == (400, "request_not_ascii")


def test_an_ignored_prompt_makes_way_for_the_next():
    with Workbench(seed=7) as bench:
        for description in ("Fern", "Monstera"):
            intent = bench.client.payment_intents.create(amount=10, description=description)
            bench.client.payment_intents.confirm(intent.id, phone=PHONE, provider="mtn")
        phone = bench.phone(PHONE)
        assert "Fern" in phone.screen
        assert "Monstera" in phone.ignore().screen
        phone.enter_pin("1234")
        assert bench.client.payment_intents.retrieve(intent.id).status == "succeeded"


@pytest.mark.parametrize(
    "sql", ["UPDATE hold SET amount_minor = 1", "DELETE FROM hold", "INSERT OR REPLACE INTO hold SELECT * FROM hold"]
)
def test_holds_only_grow(tmp_path: Path, sql: str):
    with Workbench(seed=7, store=tmp_path / "store.db") as bench:
        bench.client.charges.create(amount=100, channel="mtn", phone=PHONE, idempotency_key="k")
    with closing(sqlite3.connect(tmp_path / "store.db")) as connection, pytest.raises(sqlite3.IntegrityError):
        connection.execute(sql)


def test_the_errors_that_newcomers_meet_read_as_they_were_written():
    with Workbench(seed=7) as bench:
        missing = bench.http.post("/v1/payment_intents", json={}).json()["detail"]
        basic = bench.http.post("/v1/charges", json={}, headers={"Authorization": "Basic ???"}).json()["detail"]
    assert missing == "The Authorization header is missing; this operation takes Authorization: Bearer and the key."
    assert basic == "The Basic credentials are not base64 of key and colon."
