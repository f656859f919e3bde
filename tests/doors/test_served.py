"""A sandbox on a real port: a notebook's own, one that is served elsewhere, and one that is treated badly."""

import base64
import json
import secrets
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from urllib.parse import urlsplit

import httpx
import pytest

from tests.conftest import INTENT, Serving, StoreFile, is_true_soon
from tests.doors.conftest import Door
from workbench import Receiver, Workbench
from workbench.bench import Served
from workbench.errors import (
    AuthenticationFailed,
    LiveKeyRefused,
    PortTaken,
    ServeRefused,
    ServiceFailed,
    ServiceUnreachable,
    UnexpectedResponse,
)

NewNumber = Callable[..., str]


@pytest.fixture(scope="module")
def own() -> Iterator[Workbench]:
    with Workbench(seed=7) as made:
        yield made


@pytest.fixture(scope="module")
def served(own: Workbench) -> Iterator[Served]:
    with own.serve() as made:
        yield made


@pytest.fixture(scope="module")
def door(served: Served) -> Door:
    return Door.of(served)


@pytest.fixture(scope="module")
def wire(door: Door) -> Iterator[httpx.Client]:
    with door.client() as client:
        yield client


class TestOneSandbox:
    def test_a_backend_and_the_notebook_see_one_ledger_clock_and_receiver(
        self, own: Workbench, served: Served, new_number: NewNumber
    ):
        phone = new_number()
        with Workbench.connect(served.base_url, served.secret_key) as backend:
            made = backend.client.payment_intents.create(amount=10)
            backend.client.payment_intents.confirm(made.id, phone=phone, provider="mtn")
            own.phone(phone).enter_pin("1234")
            assert backend.client.payment_intents.retrieve(made.id).status == "succeeded"
            assert backend.clock.now_ms == own.clock.now_ms
            own.clock.advance(hours=1)
            assert backend.clock.now_ms == own.clock.now_ms
            assert backend.ledger.verify() == own.ledger.verify()
        assert own.receiver.events[-1].type == "payment_intent.succeeded"

    def test_one_seed_numbers_the_same_calls_alike_in_process_and_served(self):
        numbers = []
        for serves in (False, True):
            with Workbench(seed=7) as own, httpx.Client(trust_env=False) as other:
                base_url, http = (own.serve().base_url, other) if serves else ("", own.http)
                for path in ("/v1/balance", "/v1/charges/ch_unknown", "/v1/balance"):
                    got = http.get(f"{base_url}{path}", headers={"Authorization": f"Bearer {own.secret_key!s}"})
                    numbers.append(got.headers["request-id"])
        assert numbers[:3] == numbers[3:]

    def test_its_keys_are_the_benches_and_masked_when_shown(self, own: Workbench, served: Served):
        assert (served.secret_key, served.publishable_key) == (own.secret_key, own.publishable_key)
        assert str(own.secret_key) not in repr(served)
        assert served.base_url in repr(served)


class TestItsEnd:
    def test_the_port_is_free_again(self):
        with Workbench(seed=7) as own:
            with own.serve() as first:
                port = urlsplit(first.base_url).port
            assert own.client.payment_intents.create(amount=1).id
            second = own.serve(port)
            assert urlsplit(second.base_url).port == port
            second.close()
            second.close()
            own.serve(port)  # which the end of the bench ends
        with pytest.raises(OSError, match="refused"):
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        with pytest.raises(ServeRefused, match="closed"):
            own.serve()

    def test_a_taken_port_is_refused_and_a_connected_bench_serves_nothing(self, own: Workbench, served: Served):
        with pytest.raises(PortTaken):
            own.serve(urlsplit(served.base_url).port)
        backend = Workbench.connect(served.base_url, served.secret_key)
        with backend, pytest.raises(ServeRefused, match="served already"):
            backend.serve()


UNCLOSED = """
import sys
from workbench import Workbench

bench = Workbench.connect(*sys.argv[1:])
receiver, console = bench.receiver, bench.console()
console.channel
own = Workbench()
port = own.serve()
sys.exit(7)
"""


@pytest.mark.thorough
def test_a_script_that_closes_no_receiver_no_console_and_no_port_ends(served: Served):
    command = [sys.executable, "-c", UNCLOSED, served.base_url, str(served.secret_key)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)  # noqa: S603  our own lines
    assert (done.returncode, done.stderr) == (7, "")


class TestHttp:
    """What a client of any language may send."""

    BODY = '{"amount": 1.50, "currency": "ZMW", "payment_method_types": ["mobile_money"]}'

    def test_a_client_that_asks_before_it_sends(self, door: Door):
        lines = ("Host: localhost", f"Content-Length: {len(self.BODY)}", "Expect: 100-continue")
        with door.connection() as connection:
            connection.sendall(door.head("/plants", *lines, method="POST"))
            assert connection.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
            connection.sendall(self.BODY.encode())
            assert b" 401 " in connection.recv(100)

    def test_head_has_no_body(self, door: Door):
        for path in ("/plants/openapi.json", "/v1/charges", "/nowhere"):
            head, _, body = door.raw(door.head(path, "Host: localhost", method="HEAD")).partition(b"\r\n\r\n")
            assert (head[:5], body) == (b"HTTP/", b"")

    def test_what_is_no_request_harms_nobody(self, door: Door, wire: httpx.Client, capfd: pytest.CaptureFixture[str]):
        http_2 = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])
        short = (b"", b"\r\n\r\n", b"GET\r\n\r\n", b"\x16\x03\x01\x00", b"GET / HTTP/9.9\r\n\r\n", http_2)
        for message in (*short, b"x" * 70_000):
            door.raw(message, ends=True)
            assert wire.get("/plants/openapi.json").status_code == 200
        assert capfd.readouterr().err == ""

    def test_a_bug_is_answered_and_its_traceback_masked(
        self, own: Workbench, wire: httpx.Client, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
    ):
        def fails(*_: object, **__: object) -> None:
            raise RuntimeError(f"no room for {own.secret_key!s}")

        monkeypatch.setattr("workbench.sandbox.exchange.check_version", fails)
        assert wire.get("/v1/charges/ch_1").status_code == 500
        monkeypatch.setattr("workbench.sandbox.exchange._write_down", fails)
        assert wire.get("/v1/charges/ch_1").status_code == 500
        assert "RuntimeError" in caplog.text
        assert str(own.secret_key) not in caplog.text


class TestConnect:
    def test_what_is_no_sandbox_is_named_as_such(self):
        with Receiver().listen() as url, pytest.raises(UnexpectedResponse, match=f"{url}.*not like `workbench serve`"):
            Workbench.connect(url, "sk" + "_test_" + "x" * 24)

    def test_a_wrong_key_is_refused_without_being_repeated_and_a_live_one_not_sent(self, served: Served):
        key = "sk" + "_test_" + "x" * 24
        with pytest.raises(AuthenticationFailed) as refused:
            Workbench.connect(served.base_url, key)
        assert key not in str(refused.value)
        with pytest.raises(LiveKeyRefused):
            Workbench.connect("http://127.0.0.1:9", "sk" + "_live_" + "x" * 24)

    def test_a_server_that_is_gone(self, own: Workbench):
        served = own.serve()
        with Workbench.connect(served.base_url, served.secret_key) as backend:
            served.close()
            with pytest.raises(ServiceUnreachable, match="Nothing was changed"):
                _ = backend.clock.now
        with pytest.raises(ServiceUnreachable):
            Workbench.connect(served.base_url, served.secret_key)


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


@pytest.mark.thorough
def test_whatever_is_sent_no_secret_is_logged_or_kept(serving: Serving, store: StoreFile, new_number: NewNumber):
    """Of a server that was sent it everywhere and is then broken. What must be nowhere is drawn anew each time."""
    draw, of_a_job = secrets.token_hex(12), "sk_test_" + "abcdefghijkl"
    whsec = "whsec_" + base64.b64encode(draw.encode()).decode()
    kinds = ("sk" + "_test_", "sk" + "_live_", "pk" + "_test_", f"pi_{draw}_secret_", "at_")
    with serving("--port", "0", "--json", "--store", str(store.path)) as server:
        own, url = server.address["secret_key"], server.address["base_url"]
        words = [own, *(kind + draw for kind in kinds), whsec, new_number()]
        with httpx.Client(base_url=url, trust_env=False, timeout=30) as client:
            send_everywhere(client, own, words)
            store.run("CREATE TRIGGER bug BEFORE INSERT ON payment_intent BEGIN SELECT RAISE(ABORT, 'a bug'); END;")
            store.run(f"INSERT INTO job (seq, due_ms, kind, ref) VALUES (999999999, 0, 'nothing', '{of_a_job}')")  # noqa: S608  a word of this file
            answer = client.post("/v1/payment_intents", headers={"Authorization": f"Bearer {own}"}, json=INTENT)
            assert (answer.status_code, ServiceFailed.default_code in answer.text) == (500, True)
            store.run("DROP TRIGGER bug; ALTER TABLE call RENAME TO calls_gone;")
            send_everywhere(client, own, words)
            store.run("ALTER TABLE calls_gone RENAME TO call;")
            assert client.get("/plants/openapi.json").status_code == 200
            for word in words:
                with socket.create_connection(("127.0.0.1", urlsplit(url).port), timeout=10) as raw:
                    raw.sendall(f"{word}\r\n\r\n".encode())
        assert is_true_soon(lambda: "put off" in server.errors)
        log = server.errors
    calls = store.rows("SELECT * FROM call")
    assert len(calls) > 100
    assert [each in log for each in ("IntegrityError", "no such table", of_a_job)] == [True, True, False]
    told = log + json.dumps(calls, ensure_ascii=False)
    assert not [word for word in words if word.removeprefix("+") in told]
