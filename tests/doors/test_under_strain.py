"""A served sandbox that is treated badly: receivers that hang, bugs, secrets wherever they do not belong."""

import base64
import json
import secrets
import socket
import sqlite3
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import httpx
import pytest

from workbench import Workbench
from workbench.errors import ServiceFailed

if TYPE_CHECKING:
    from tests.conftest import Serving

NewNumber = Callable[..., str]
SOON_S = 10


def is_true_soon(condition: Callable[[], bool]) -> bool:
    until = time.monotonic() + SOON_S
    while not (met := condition()) and time.monotonic() < until:
        time.sleep(0.02)
    return met


@contextmanager
def hanging() -> Iterator[str]:
    """The URL of a receiver that takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/"


@pytest.mark.thorough
def test_a_receiver_that_hangs_stalls_nobody(serving: "Serving", tmp_path: Path):
    gaps = tmp_path / "gaps.toml"
    gaps.write_text("delivery_timeout_s = 5\n")
    options = ("--port", "0", "--json", "--gaps", str(gaps), "--workers", "2", "--store", str(tmp_path / "s.db"))
    with hanging() as url, serving(*options, "--webhook", url) as server:
        address = server.address
        with Workbench.connect(address["base_url"], address["secret_key"]) as bench:
            receiver, started = bench.receiver, time.monotonic()
            for number in (1, 2):
                bench.client.payment_intents.create(amount=number)
                assert is_true_soon(lambda: len(receiver.events) == number)  # noqa: B023  called at once
            assert time.monotonic() - started < 4
            # The clock can be moved meanwhile: the attempt in flight ends first, and nothing is sent twice.
            bench.clock.advance(0)
            assert len(receiver.arrivals) == len(receiver.events) == 2
            results = Counter(row["result"] for row in bench.trace if row["kind"] == "webhook")
            assert results["200"] == 2
        assert server.errors == ""


class Leaks:
    """What must be in no log and no table of calls, drawn anew each time."""

    def __init__(self, secret_key: str, number: str) -> None:
        draw = secrets.token_hex(12)
        self.words = {
            "own key": secret_key,
            "other key": "sk" + "_test_" + draw,
            "live key": "sk" + "_live_" + draw,
            "publishable key": "pk" + "_test_" + draw,
            "client secret": f"pi_{draw}_secret_{draw}",
            "signing secret": "whsec_" + base64.b64encode(draw.encode()).decode(),
            "token": "at_" + draw,
            "number": number,
        }

    def found_in(self, text: str) -> list[str]:
        return [name for name, word in self.words.items() if word in text or word.removeprefix("+") in text]


def send_everywhere(client: httpx.Client, leaks: Leaks) -> None:
    own = leaks.words["own key"]
    for word in leaks.words.values():
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
            client.post(
                path, auth=(own, ""), headers={"Idempotency-Key": word}, json={"phone": word, "reference": word}
            )


@pytest.fixture
def treated(serving: "Serving", tmp_path: Path, new_number: NewNumber) -> Iterator[tuple[str, Path, Leaks]]:
    """The log, the store and what must be in neither, of a server that was sent it everywhere and then broken."""
    store = tmp_path / "s.db"
    with serving("--port", "0", "--json", "--store", str(store)) as server:
        leaks = Leaks(server.address["secret_key"], new_number())
        with httpx.Client(base_url=server.address["base_url"], trust_env=False, timeout=30) as client:
            send_everywhere(client, leaks)
            with closing(sqlite3.connect(store)) as connection:
                connection.executescript("""
                    CREATE TRIGGER bug BEFORE INSERT ON payment_intent BEGIN SELECT RAISE(ABORT, 'a bug'); END;
                    INSERT INTO job (seq, due_ms, kind, ref) VALUES (999999999, 0, 'nothing', 'sk_test_abcdefghijkl');
                """)
            answer = client.post(
                "/v1/payment_intents",
                headers={"Authorization": f"Bearer {leaks.words['own key']}", "Content-Type": "application/json"},
                content=b'{"amount": 1, "currency": "ZMW", "payment_method_types": ["mobile_money"]}',
            )
            assert (answer.status_code, ServiceFailed.default_code in answer.text) == (500, True)
            with closing(sqlite3.connect(store)) as connection:
                connection.executescript("DROP TRIGGER bug; ALTER TABLE call RENAME TO calls_gone;")
            send_everywhere(client, leaks)
            with closing(sqlite3.connect(store)) as connection:
                connection.executescript("ALTER TABLE calls_gone RENAME TO call;")
            assert client.get("/plants/openapi.json").status_code == 200
            port = urlsplit(server.address["base_url"]).port
            for word in leaks.words.values():
                with socket.create_connection(("127.0.0.1", port), timeout=SOON_S) as raw:
                    raw.sendall(f"{word}\r\n\r\n".encode())
        assert is_true_soon(lambda: "put off" in server.errors)
        yield server.errors, store, leaks


@pytest.mark.thorough
def test_whatever_is_sent_no_secret_is_logged_or_kept(treated: tuple[str, Path, Leaks]):
    log, store, leaks = treated
    assert "IntegrityError" in log
    assert "no such table" in log
    assert leaks.found_in(log) == []
    assert "sk_test_abcdefghijkl" not in log
    with closing(sqlite3.connect(store)) as connection:
        calls = connection.execute("SELECT * FROM call").fetchall()
    assert len(calls) > 100
    assert leaks.found_in(json.dumps(calls, ensure_ascii=False)) == []
