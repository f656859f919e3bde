"""A served sandbox that is treated badly: bugs, and secrets wherever they do not belong."""

import base64
import json
import secrets
import socket
import sqlite3
import time
from collections.abc import Callable, Iterable
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import httpx
import pytest

from workbench.errors import ServiceFailed

if TYPE_CHECKING:
    from tests.conftest import Serving

SOON_S = 10


def send_everywhere(client: httpx.Client, key: str, words: Iterable[str]) -> None:
    for word in words:
        headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json", "Idempotency-Key": word}
        body = json.dumps({"amount": word, "phone": word, "description": word, word: word})
        for path in (f"/v1/charges/{word}", f"/{word}", f"/sandbox/phones/{word}", f"/v1/payment_intents?x={word}"):
            client.get(path, headers=headers)
            client.post(path, headers=headers, content=body)
        for path in ("/v1/payment_intents", "/v1/charges", "/v1/webhook_endpoints", "/v1/auth/token", "/plants"):
            client.post(path, headers=headers, content=body)
            for more in ({"Content-Type": word}, {"Authorization": f"Bearer {word}"}, {"Sandbox-Scenario": word}):
                client.post(path, headers={**headers, **more}, content=f"{word} is no JSON")
            client.post(path, auth=(key, ""), headers={"Idempotency-Key": word}, json={"phone": word})


@pytest.mark.thorough
def test_whatever_is_sent_no_secret_is_logged_or_kept(
    serving: "Serving", tmp_path: Path, new_number: Callable[..., str]
):
    """Not by a server that was sent them everywhere, and then broken."""
    store, draw = tmp_path / "s.db", secrets.token_hex(12)

    def run(sql: str) -> None:
        with closing(sqlite3.connect(store)) as connection:
            connection.executescript(sql)

    with serving("--port", "0", "--json", "--store", str(store)) as server:
        key, port = server.address["secret_key"], urlsplit(server.address["base_url"]).port
        signing = "whsec_" + base64.b64encode(draw.encode()).decode()
        kinds = ("sk_test_", "sk_live_", "pk_test_", f"pi_{draw}_secret_", "at_")
        words = [key, signing, new_number(), *(kind + draw for kind in kinds)]
        with httpx.Client(base_url=server.address["base_url"], trust_env=False, timeout=30) as client:
            send_everywhere(client, key, words)
            run("CREATE TRIGGER bug BEFORE INSERT ON payment_intent BEGIN SELECT RAISE(ABORT, 'a bug'); END;")
            run("INSERT INTO job (seq, due_ms, kind, ref) VALUES (999999999, 0, 'nothing', 'sk_test_abcdefghijkl')")
            answer = client.post(
                "/v1/payment_intents",
                headers={"Authorization": f"Bearer {key}"},
                json={"amount": 1, "currency": "ZMW", "payment_method_types": ["mobile_money"]},
            )
            assert (answer.status_code, ServiceFailed.default_code in answer.text) == (500, True)
            run("DROP TRIGGER bug; ALTER TABLE call RENAME TO calls_gone;")
            send_everywhere(client, key, words)
            run("ALTER TABLE calls_gone RENAME TO call;")
            assert client.get("/plants/openapi.json").status_code == 200
        for word in words:
            with socket.create_connection(("127.0.0.1", port), timeout=SOON_S) as raw:
                raw.sendall(f"{word}\r\n\r\n".encode())
        until = time.monotonic() + SOON_S
        while "put off" not in server.errors and time.monotonic() < until:
            time.sleep(0.02)
        log = server.errors
    assert all(each in log for each in ("put off", "IntegrityError", "no such table"))
    with closing(sqlite3.connect(store)) as connection:
        calls = connection.execute("SELECT * FROM call").fetchall()
    assert len(calls) > 100
    kept = log + json.dumps(calls, ensure_ascii=False)
    assert [each for each in (*words, "sk_test_abcdefghijkl") if each.removeprefix("+") in kept] == []
