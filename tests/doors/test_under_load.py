"""A served sandbox that is busy: stalled connections, what waits, shops that call back, and the end of it all."""

import asyncio
import errno
import json
import signal
import socket
import statistics
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.conftest import INTENT, Serving, StoreFile, is_true_soon
from tests.doors.conftest import Door, whole
from workbench import Workbench
from workbench.sandbox.connections import _Connection
from workbench.sandbox.openapi import pages

QUIETLY = ("--port", "0", "--json", "--quiet")

SOON_S = 12


def timed(client: httpx.Client, for_s: float) -> list[float]:
    """How long calls took, one after the other for so many seconds."""
    took, until = [], time.monotonic() + for_s
    while time.monotonic() < until:
        before = time.monotonic()
        assert client.get("/v1/balance").status_code == 200
        took.append(time.monotonic() - before)
        time.sleep(0.002)
    return took


def held_up(client: httpx.Client, for_s: float) -> float:
    """The p99 of what calls take, in the calmest of three spells.

    What holds a caller up does so in each of them; other work of the machine costs a call here and there.
    """
    return min(statistics.quantiles(timed(client, for_s / 3), n=100)[98] for _ in range(3))


def test_a_page_is_made_once_for_all_who_ask_for_it(monkeypatch: pytest.MonkeyPatch):
    made, text = Counter[str](), pages._rendered  # noqa: SLF001  what makes a page, counted

    def counted(template: str, **values: Any) -> str:  # noqa: ANN401  as the function itself
        made[template] += 1
        return text(template, **values)

    monkeypatch.setattr(pages, "_rendered", counted)
    asked = [(path, f"h{number}.localhost") for number in range(8) for path in ("/docs", "/docs/interface")]
    # A row of the register that no other test switches so: what was made before is of another sandbox.
    with Workbench(seed=7, gaps={"delivery_timeout_s": 30}) as bench, bench.serve() as served:
        door = Door.of(served)
        with ThreadPoolExecutor(len(asked)) as pool:
            got = [*pool.map(lambda each: door.send(door.head(each[0], f"Host: {each[1]}")), asked)]
    assert {status for status, *_ in got} == {200}
    for (path, host), (*_, page) in zip(asked, got, strict=True):
        assert (f"http://{host}/v1" in page) is (path == "/docs")
    assert made == {"docs.html": 1, "guide.html": 1}


@pytest.mark.thorough
def test_what_waits_holds_nobody_up(serving: Serving):
    with serving(*QUIETLY) as server, ExitStack() as held:
        client, other = (held.enter_context(Door.at(**server.address).client()) for _ in range(2))
        begun = time.monotonic()
        asked = [
            threading.Thread(
                target=lambda: other.post("/v1/payment_intents", json=INTENT, headers={"Sandbox-Scenario": "slow"})
            )
            for _ in range(4)
        ]
        for each in asked:
            each.start()
        assert held_up(client, 1) < 0.1
        assert all(each.is_alive() for each in asked)
        # Asked to end, it answers them first.
        server.process.terminate()
        assert server.process.wait(SOON_S + 5) == 0
        for each in asked:
            each.join(SOON_S)
        assert time.monotonic() - begun > 9
    assert server.errors == ""


def test_where_there_are_no_more_threads_what_would_wait_is_refused(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    def none_left(_: threading.Thread) -> None:
        message = "can't start new thread"
        raise RuntimeError(message)

    with Workbench(seed=7) as bench, bench.serve() as served:
        door = Door.of(served)
        bearer, length = f"Authorization: Bearer {door.key}", "Content-Length: 14"
        with monkeypatch.context() as patched:
            patched.setattr(threading.Thread, "start", none_left)
            lines = ("Host: localhost", bearer, length, "Content-Type: application/json")
            got = door.raw(door.head("/sandbox/clock/advance", *lines, method="POST") + b'{"seconds": 1}')
        assert got.split(b" ")[1] == b"500"
        assert bench.client.payment_intents.create(amount=1).id
    assert "can't start new thread" in caplog.text


@contextmanager
def shop_that_calls_back(door: Door) -> Iterator[tuple[str, list[float]]]:
    """A merchant's server that creates and reads while its webhook handler runs: its URL, how long the calls took."""
    took: list[float] = []

    class Shop(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            if len(took) < 6:
                with door.client() as client:
                    before = time.monotonic()
                    assert client.post("/v1/payment_intents", json=INTENT).status_code == 200
                    assert client.get("/v1/balance").status_code == 200
                    took.append(time.monotonic() - before)
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Shop) as shop:
        threading.Thread(target=shop.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{shop.server_address[1]}/", took
        finally:
            shop.shutdown()


@pytest.mark.parametrize(("kept", "by_http"), [(False, False), (True, False), (False, True)])
def test_a_shop_may_call_back_while_the_clock_is_advanced(store: StoreFile, kept: bool, by_http: bool):  # noqa: FBT001  a case
    with Workbench(seed=7, store=store.path if kept else None) as bench, bench.serve() as served:
        with shop_that_calls_back(Door.of(served)) as (url, took):
            bench.client.webhook_endpoints.create(url=url)
            with Workbench.connect(served.base_url, served.secret_key) as other:
                caller = other if by_http else bench
                caller.client.payment_intents.create(amount=1)
                caller.clock.advance(60)
            assert is_true_soon(lambda: len(took) >= 3)
        assert max(took) < 2


@pytest.mark.parametrize(("ask", "workers"), [(signal.SIGTERM, 1), (signal.SIGINT, 2)])
@pytest.mark.thorough
def test_asked_to_end_under_load_it_breaks_no_request(
    serving: Serving, tmp_path: Path, ask: signal.Signals, workers: int
):
    store = tmp_path / "kept" / "s.db"
    store.parent.mkdir()
    told: Counter[str] = Counter()
    with socket.create_server(("127.0.0.1", 0)) as hangs:  # a receiver that never answers
        options = ("--webhook", f"http://127.0.0.1:{hangs.getsockname()[1]}/", "--workers", str(workers))
        with serving(*QUIETLY, "--store", str(store), *options) as server, ExitStack() as held:
            family, door = server.workers, Door.at(**server.address)

            def pay() -> None:
                with door.client() as client:
                    while True:
                        try:
                            response = client.post("/v1/payment_intents", json=INTENT)
                        except httpx.ConnectError:
                            return
                        except httpx.TransportError as error:
                            told[repr(error)] += 1
                            return
                        told[str(response.status_code)] += 1
                        if response.headers.get("connection") == "close":
                            return  # who is told so, and connects anew, is no longer in flight

            callers = [threading.Thread(target=pay) for _ in range(8)]
            for each in callers:
                each.start()
            # One that says half a request, and one that does not read what it asked for.
            half, unread = held.enter_context(door.connection()), held.enter_context(door.connection())
            half.sendall(door.head("/v1/payment_intents", "Host: localhost", "Content-Length: 9", method="POST"))
            unread.sendall(door.head("/openapi.json", "Host: localhost").replace(b"close", b"keep-alive") * 100)
            time.sleep(0.7)
            begun = time.monotonic()
            server.process.send_signal(ask)
            assert server.process.wait(SOON_S) == 0
            assert time.monotonic() - begun < 6
            for each in callers:
                each.join(SOON_S)
            assert whole(half).split(b" ")[1] == b"408"
        assert told.keys() == {"200"}
        assert told["200"] > 20
        assert not any(map(server.is_alive, family))
        assert server.errors == ""
    assert [*store.parent.iterdir()] == [store]
    made = StoreFile(store).rows("SELECT count(*) FROM payment_intent")
    assert made == [(told["200"],)]


@pytest.mark.thorough
def test_where_no_connection_can_be_taken_it_says_so_once_and_tries_again(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    tried = threading.Event()

    def full(self: socket.socket) -> None:  # noqa: ARG001  a method
        tried.set()
        raise OSError(errno.EMFILE, "Too many open files")

    with Workbench(seed=7) as bench, bench.serve() as served:
        door = Door.of(served)
        with monkeypatch.context() as patched, door.connection() as connection:
            patched.setattr(socket.socket, "accept", full)
            connection.sendall(door.head("/docs", "Host: localhost"))
            with door.connection():
                assert tried.wait(SOON_S)
                time.sleep(0.1)
            patched.undo()
            assert whole(connection).split(b" ")[1] == b"200"
            # It ends before it tries again.
            tried.clear()
            patched.setattr(socket.socket, "accept", full)
            with door.connection():
                assert tried.wait(SOON_S)
                time.sleep(0.85)
                served.close()
    assert [(each.levelname, "Too many open files" in each.getMessage(), each.exc_info) for each in caplog.records] == [
        ("ERROR", True, None)
    ]


def test_who_connects_as_it_ends_is_answered_or_refused(monkeypatch: pytest.MonkeyPatch):
    made, told = _Connection.connection_made, Counter[bytes]()

    def slowly(self: _Connection, transport: asyncio.BaseTransport) -> None:
        time.sleep(0.002)  # so that some have connected and are not taken, whenever it is
        made(self, transport)

    def call(door: Door) -> None:
        with suppress(ConnectionRefusedError, TimeoutError):
            while True:
                with door.connection(1) as connection, suppress(OSError):
                    connection.settimeout(SOON_S)
                    connection.sendall(door.head("/nowhere", "Host: localhost"))
                    told[whole(connection)[9:12]] += 1
                    continue
                told[b"reset"] += 1

    monkeypatch.setattr(_Connection, "connection_made", slowly)
    with Workbench(seed=7) as bench:
        with bench.serve() as served:
            callers = [threading.Thread(target=call, args=(Door.of(served),)) for _ in range(30)]
            for each in callers:
                each.start()
            time.sleep(0.3)
        for each in callers:
            each.join()
    assert told.keys() == {b"404"}


@pytest.mark.thorough
def test_what_takes_too_long_is_answered_at_the_end(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("workbench.sandbox.connections._STOP_S", 0.5)
    arrived, goes_on, got = threading.Event(), threading.Event(), list[tuple[int, str]]()

    def hangs(environ: object, start: Callable[[str, list[tuple[str, str]]], object]) -> list[bytes]:  # noqa: ARG001  WSGI
        arrived.set()
        goes_on.wait(SOON_S)
        start("200 OK", [])
        return []

    with Workbench(seed=7, webhooks=hangs) as bench, ExitStack() as held:
        with bench.serve() as served:
            client = held.enter_context(Door.of(served).client())
            assert client.post("/v1/payment_intents", json=INTENT).status_code == 200
            assert arrived.wait(SOON_S)

            def advance() -> None:
                response = client.post("/sandbox/clock/advance", json={"seconds": 60})
                got.append((response.status_code, response.json()["code"]))
                goes_on.set()

            waits = threading.Thread(target=advance)
            waits.start()
            time.sleep(0.3)
        waits.join()
    assert got == [(500, "service_failed")]


@pytest.mark.thorough
def test_at_the_other_loopback(serving: Serving):
    with serving(*QUIETLY, "--host", "::1") as server, Workbench.connect(**server.address) as bench:
        assert "[::1]" in server.address["base_url"]
        assert bench.client.payment_intents.create(amount=1).id
        door = Door.at(**server.address)
        for host, status in (("[::1]", 200), ("[::2]", 421), ("::1", 400)):
            assert door.send(door.head("/docs", f"Host: {host}"))[0] == status
        # A shell would read its brackets.
        assert "POST &#39;http://[::1]:7/v1/payment_intents" in door.send(door.head("/docs", "Host: [::1]:7"))[2]
    assert json.loads(server.first_line)
