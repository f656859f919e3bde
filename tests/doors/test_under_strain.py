"""A served sandbox that is treated badly: receivers that hang, bugs, secrets wherever they do not belong."""

import base64
import json
import secrets
import socket
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from tests.conftest import Serving, is_true_soon
from workbench import Workbench
from workbench.errors import ServiceFailed

NewNumber = Callable[..., str]


@pytest.mark.thorough
def test_a_receiver_that_hangs_stalls_nobody(serving: Serving, tmp_path: Path):
    gaps = tmp_path / "gaps.toml"
    gaps.write_text("delivery_timeout_s = 5\n")
    options = ("--port", "0", "--json", "--gaps", str(gaps), "--workers", "2", "--store", str(tmp_path / "s.db"))
    # It takes connections and never answers.
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/"
        with serving(*options, "--webhook", url) as server, Workbench.connect(**server.address) as bench:
            receiver, started = bench.receiver, time.monotonic()
            for number in (1, 2):
                bench.client.payment_intents.create(amount=number)
                assert is_true_soon(lambda: len(receiver.events) == number)  # noqa: B023  called at once
            assert time.monotonic() - started < 4
            # The clock can be moved meanwhile: the attempt in flight ends first, and nothing is sent twice.
            bench.clock.advance(0)
            assert len(receiver.arrivals) == len(receiver.events) == 2
            assert [row["result"] for row in bench.trace if row["kind"] == "webhook"].count("200") == 2
        assert server.errors == ""


def send_everywhere(client: httpx.Client, own: str, words: list[str]) -> None:
    for word in words:
        headers = {"Authorization": f"Bearer {own}", "Content-Type": "application/json", "Idempotency-Key": word}
        body = json.dumps({"amount": word, "phone": word, "description": word, word: word})
        for path in (f"/v1/charges/{word}", f"/{word}", f"/sandbox/phones/{word}", f"/v1/payment_intents?x={word}"):
            client.get(path, headers=headers)
            client.post(path, headers=headers, content=body)
        for path in ("/v1/payment_intents", "/v1/charges", "/v1/webhook_endpoints", "/v1/auth/token", "/plants"):
            client.post(path, headers=headers, content=body)
            client.post(path, headers={**headers, "Content-Type": word}, content=f"{word} is no JSON")
            client.post(path, headers={**headers, "Authorization": f"Bearer {word}"}, content=body)
            client.post(path, headers={**headers, "Sandbox-Scenario": word, "Api-Version": word}, content=body)
            named = {"phone": word, "reference": word}
            client.post(path, auth=(own, ""), headers={"Idempotency-Key": word}, json=named)


def run(store: Path, statements: str) -> None:
    with closing(sqlite3.connect(store)) as connection:
        connection.executescript(statements)


@pytest.mark.thorough
def test_whatever_is_sent_no_secret_is_logged_or_kept(serving: Serving, tmp_path: Path, new_number: NewNumber):
    """Of a server that was sent it everywhere and is then broken. What must be nowhere is drawn anew each time."""
    store, draw, of_a_job = tmp_path / "s.db", secrets.token_hex(12), "sk_test_" + "abcdefghijkl"
    whsec = "whsec_" + base64.b64encode(draw.encode()).decode()
    kinds = ("sk" + "_test_", "sk" + "_live_", "pk" + "_test_", f"pi_{draw}_secret_", "at_")
    with serving("--port", "0", "--json", "--store", str(store)) as server:
        own, url = server.address["secret_key"], server.address["base_url"]
        words = [own, *(kind + draw for kind in kinds), whsec, new_number()]
        with httpx.Client(base_url=url, trust_env=False, timeout=30) as client:
            send_everywhere(client, own, words)
            run(store, "CREATE TRIGGER bug BEFORE INSERT ON payment_intent BEGIN SELECT RAISE(ABORT, 'a bug'); END;")
            run(store, f"INSERT INTO job (seq, due_ms, kind, ref) VALUES (999999999, 0, 'nothing', '{of_a_job}')")  # noqa: S608  a word of this file
            intent = {"amount": 1, "currency": "ZMW", "payment_method_types": ["mobile_money"]}
            answer = client.post("/v1/payment_intents", headers={"Authorization": f"Bearer {own}"}, json=intent)
            assert (answer.status_code, ServiceFailed.default_code in answer.text) == (500, True)
            run(store, "DROP TRIGGER bug; ALTER TABLE call RENAME TO calls_gone;")
            send_everywhere(client, own, words)
            run(store, "ALTER TABLE calls_gone RENAME TO call;")
            assert client.get("/plants/openapi.json").status_code == 200
            for word in words:
                with socket.create_connection(("127.0.0.1", urlsplit(url).port), timeout=10) as raw:
                    raw.sendall(f"{word}\r\n\r\n".encode())
        assert is_true_soon(lambda: "put off" in server.errors)
        log = server.errors
    with closing(sqlite3.connect(store)) as connection:
        calls = connection.execute("SELECT * FROM call").fetchall()
    assert len(calls) > 100
    assert [each in log for each in ("IntegrityError", "no such table", of_a_job)] == [True, True, False]
    told = log + json.dumps(calls, ensure_ascii=False)
    assert not [word for word in words if word.removeprefix("+") in told]
