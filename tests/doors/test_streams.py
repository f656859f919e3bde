"""What changed as a stream, through real sockets: in time, from where it broke off, and ended with the server."""

import json
import socket
import sqlite3
import time
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any, Self

import httpx
import psutil
import pytest

from tests.conftest import INTENT, Server, Serving, is_true_soon
from tests.doors.conftest import Door
from workbench import Workbench
from workbench.sandbox import connections

WITHIN_S, ENDS_S, MANY = 1, 0.5, 50


class Stream:
    """One that is open: its events as they come."""

    def __init__(self, door: Door, path: str = "/sandbox/changes", *lines: str, key: str | None = None) -> None:
        self._connection = socket.create_connection((door.host, door.port), timeout=30)
        every = [f"GET {path} HTTP/1.1", "Host: localhost", "Accept: text/event-stream", *lines]
        every += [f"Authorization: Bearer {door.key if key is None else key}", "", ""]
        self.send("\r\n".join(every).encode())
        self._text = b""
        self.head = self._until(b"\r\n\r\n", 30).decode().lower()
        self.port: int = self._connection.getsockname()[1]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def send(self, message: bytes) -> None:
        self._connection.sendall(message)

    def _until(self, end: bytes, within_s: float) -> bytes:
        until_s = time.monotonic() + within_s
        while end not in self._text:
            self._connection.settimeout(max(0.001, until_s - time.monotonic()))
            more = self._connection.recv(65_536)
            if not more:
                raise EOFError(self._text.decode())
            self._text += more
        found, _, self._text = self._text.partition(end)
        return found

    def block(self, within_s: float = WITHIN_S) -> str:
        """What comes up to the next empty line."""
        return self._until(b"\n\n", within_s).decode()

    def event(self, within_s: float = WITHIN_S) -> tuple[int, str, dict[str, Any]]:
        """The next event: its id, its name and its data; comments are passed over."""
        while (block := self.block(within_s)).startswith(":"):
            pass
        fields = dict(line.split(": ", 1) for line in block.splitlines())
        return int(fields["id"]), fields["event"], json.loads(fields["data"])

    def hears(self, kind: str, name: str, within_s: float = WITHIN_S) -> int | None:
        """The `seq` by which that object is told of, if it is in time."""
        until_s = time.monotonic() + within_s
        try:
            while True:
                seq, _, row = self.event(max(0.001, until_s - time.monotonic()))
                if (row["kind"], row["id"]) == (kind, name):
                    return seq
        except TimeoutError:
            return None

    def ends(self, within_s: float = WITHIN_S) -> bool:
        """Whether the other end closes it in time, behind a whole event."""
        try:
            while True:
                self.block(within_s)
        except EOFError as rest:
            return not str(rest)
        except TimeoutError:
            return False

    def is_read(self) -> bool:
        """Read all that is there: what is not would reset the connection, which is another end."""
        return not self.ends(0.3)


def intent(http: httpx.Client) -> str:
    """The id of an intent that a merchant makes meanwhile."""
    return str(http.post("/v1/payment_intents", json=INTENT).json()["id"])


def last_seq(http: httpx.Client) -> int:
    return int(http.get("/sandbox/changes").json()["last_seq"])


@pytest.mark.thorough
def test_what_somebody_commits_is_told_within_a_second_by_its_seq(door: Door):
    with Stream(door) as stream, door.client() as http:
        assert stream.head.startswith("http/1.1 200")
        named = dict(line.split(": ", 1) for line in stream.head.splitlines()[1:])
        assert (named["content-type"], named["cache-control"]) == ("text/event-stream", "no-store")
        assert "content-length" not in named
        assert named["request-id"].startswith("ctl_")
        for _ in range(5):
            begun, made = time.monotonic(), intent(http)
            seq = stream.hears("payment", made)
            assert seq is not None
            assert time.monotonic() - begun < WITHIN_S
            page = http.get(f"/sandbox/changes?after={seq - 1}").json()["data"]
            assert ("payment", made) in {(each["kind"], each["id"]) for each in page}


def test_it_needs_the_secret_key_and_ends_with_it(door: Door):
    with Stream(door, key="sk_test_nobody") as refused:
        assert refused.head.startswith("http/1.1 401")
    with door.client() as http:
        made = http.post("/v1/api_keys").json()
        with Stream(door, key=made["value"]) as stream, Stream(door) as other:
            assert http.delete(f"/v1/api_keys/{made['id']}").json()["status"] == "revoked"
            assert stream.ends()
            assert other.hears("payment", intent(http))


def test_it_goes_on_from_where_it_broke_off(door: Door):
    with door.client() as http:
        with Stream(door) as stream:
            seq = stream.hears("payment", intent(http))
        missed = intent(http)
    for path, *lines in (
        (f"/sandbox/changes?after={seq}",),
        ("/sandbox/changes", f"Last-Event-ID: {seq}"),
        # As a browser does it: the address is that of the beginning.
        ("/sandbox/changes?after=0", f"Last-Event-ID: {seq}"),
    ):
        with Stream(door, path, *lines) as again:
            rows = [again.event()[2]]
            while rows[-1]["id"] != missed:
                rows.append(again.event()[2])
            assert min(each["seq"] for each in rows) > (seq or 0)
    with Stream(door, "/sandbox/changes", "Last-Event-ID: 1&after=2") as refused:
        assert refused.head.startswith("http/1.1 400")


@pytest.mark.thorough
def test_more_than_a_page_comes_at_once(threaded: Door):
    with threaded.client() as http:
        since = last_seq(http)
        made = [intent(http) for _ in range(400)]
    with Stream(threaded, f"/sandbox/changes?after={since}") as stream:
        heard = set[str]()
        while not heard >= {*made}:
            heard.add(stream.event()[2]["id"])


def test_a_reset_and_a_place_that_is_ahead_say_so():
    with Workbench(seed=7) as bench, bench.serve() as served, ExitStack() as held:
        door = Door.of(served)
        http = held.enter_context(door.client())
        with Stream(door) as stream:
            assert stream.hears("payment", intent(http))
            bench.reset()
            while (told := stream.event())[1] != "reset":
                pass
            assert told[0] == told[2]["last_seq"] == last_seq(http)
            assert stream.hears("payment", intent(http))
        # The intent's webhook may be recorded meanwhile.
        before = last_seq(http)
        with Stream(door, "/sandbox/changes?after=1000000") as ahead:
            seq, name, data = ahead.event()
            assert (name, data) == ("reset", {"last_seq": seq})
            assert before <= seq <= last_seq(http)


def test_one_without_news_gets_a_comment(threaded: Door, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(connections, "_COMMENT_S", 1e9)
    with Stream(threaded) as stream:
        assert stream.block() == ":"
        assert stream.is_read()
        monkeypatch.setattr(connections, "_COMMENT_S", 0.2)
        assert [stream.block(), stream.block()] == [":", ":"]


def test_what_is_sent_behind_a_request_for_a_stream_is_not_answered_in_it(threaded: Door):
    with Stream(threaded) as stream, threaded.client() as http:
        stream.send(b"GET /docs HTTP/1.1\r\nHost: localhost\r\n\r\n")
        made = intent(http)
        while "pi_" not in (block := stream.block()):
            assert block.startswith((":", "id:"))
        assert made in block


def worker_of(server: Server, port: int) -> int | None:
    """The process that holds the server's end of a connection from this port."""
    for worker in server.workers:
        if any(each.raddr and each.raddr.port == port for each in worker.net_connections("tcp")):
            return worker.pid
    return None


@pytest.mark.thorough
def test_what_another_worker_commits_is_told_in_time_too(serving: Serving, tmp_path: Path):
    with serving("--port", "0", "--json", "--workers", "2", "--store", str(tmp_path / "store.db")) as server:
        door = Door.at(**server.address)
        elsewhere = 0
        with Stream(door) as stream:
            here = worker_of(server, stream.port)
            assert here
            for _ in range(100):
                with door.client() as http:
                    made = intent(http)
                    (connection,) = http._transport._pool.connections  # type: ignore[attr-defined]  # noqa: SLF001  whose socket it is
                    ours = connection._connection._network_stream.get_extra_info("client_addr")[1]  # noqa: SLF001  the same
                    elsewhere += worker_of(server, ours) != here
                assert stream.hears("payment", made)
                if elsewhere == 3:
                    return
    pytest.fail("the other worker was never asked")


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.thorough
def test_asked_to_end_the_server_ends_them_at_once(serving: Serving, workers: int):
    with serving("--port", "0", "--json", "--workers", str(workers)) as server, ExitStack() as closing_all:
        streams = [closing_all.enter_context(Stream(Door.at(**server.address))) for _ in range(8)]
        for each in streams:
            each.block()
        begun = time.monotonic()
        server.process.terminate()
        assert [each.ends(ENDS_S) for each in streams] == [True] * 8
        assert time.monotonic() - begun < ENDS_S
        assert server.process.wait(5) == 0


@pytest.mark.thorough
def test_no_read_is_held_open_so_that_the_log_of_writes_can_be_folded(serving: Serving, tmp_path: Path):
    store = tmp_path / "store.db"
    with serving("--port", "0", "--json", "--store", str(store)) as server, ExitStack() as held:
        door = Door.at(**server.address)
        stream, http = held.enter_context(Stream(door)), held.enter_context(door.client())
        assert stream.hears("payment", intent(http))
        with closing(sqlite3.connect(store)) as connection:
            assert connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone() == (0, 0, 0)
        assert (tmp_path / "store.db-wal").stat().st_size == 0
        assert stream.hears("payment", intent(http))


@pytest.mark.thorough
def test_fifty_cost_no_thread_and_all_of_them_hear(serving: Serving):
    with serving("--port", "0", "--json") as server, ExitStack() as closing_all:
        door, process = Door.at(**server.address), psutil.Process(server.process.pid)
        threads = process.num_threads()
        streams = [closing_all.enter_context(Stream(door)) for _ in range(MANY)]
        made = intent(closing_all.enter_context(door.client()))
        assert all(each.hears("payment", made) for each in streams)
        assert process.num_threads() <= threads
        before = sum(process.cpu_times()[:2])
        time.sleep(2)
        assert sum(process.cpu_times()[:2]) - before < 0.2, "a tenth of a processor, and nobody does anything"


@pytest.mark.thorough
def test_one_that_is_left_is_forgotten(monkeypatch: pytest.MonkeyPatch):
    asked = list[float]()
    with Workbench(seed=7) as bench:
        version = bench._engine.store.version  # type: ignore[union-attr]  # noqa: SLF001  it is in process

        def noted() -> tuple[int, int]:
            asked.append(time.monotonic())
            return version()

        monkeypatch.setattr(bench._engine.store, "version", noted)  # type: ignore[union-attr]  # noqa: SLF001  the same
        with bench.serve() as served:
            with Stream(Door.of(served)) as stream:
                assert stream.is_read()
                assert is_true_soon(lambda: len(asked) > 3)
            time.sleep(0.3)
            asked.clear()
            time.sleep(0.3)
            assert asked == []
