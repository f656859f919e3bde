"""Where a request ends: what is pipelined is answered in order, what two readers would read in two ways is refused."""

import json
import re
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress

import pytest

from tests.doors.conftest import Door, whole
from workbench import Workbench

BODY = '{"amount": 1.50, "currency": "ZMW", "payment_method_types": ["mobile_money"]}'
SMUGGLED = "DELETE /v1/smuggled HTTP/1.1\r\nHost: localhost\r\n\r\n"
CHUNKED = "Transfer-Encoding: chunked"
# What stands in the head of a POST, and what follows the head: another request, to one of two readers.
ATTACKS = {
    "a length beside chunks": (f"Content-Length: 5\r\n{CHUNKED}", f"0\r\n\r\n{SMUGGLED}"),
    "chunks beside a length": (f"{CHUNKED}\r\nContent-Length: {len(SMUGGLED) + 5}", f"0\r\n\r\n{SMUGGLED}"),
    "two lengths": (f"Content-Length: 0\r\nContent-Length: {len(SMUGGLED)}", SMUGGLED),
    "two lengths in one": (f"Content-Length: 0, {len(SMUGGLED)}", SMUGGLED),
    "a length with a sign": ("Content-Length: +0", SMUGGLED),
    "a length below zero": ("Content-Length: -1", SMUGGLED),
    "a length in hexadecimal": ("Content-Length: 0x0", SMUGGLED),
    "a length of 5000 digits": (f"Content-Length: {'1' * 5_000}", SMUGGLED),
    "a length that is no number": ("Content-Length: x", SMUGGLED),
    "an encoding that is none": ("Transfer-Encoding: xchunked", f"0\r\n\r\n{SMUGGLED}"),
    "chunks that are not last": ("Transfer-Encoding: chunked, identity", f"0\r\n\r\n{SMUGGLED}"),
    "chunks twice": (f"{CHUNKED}\r\n{CHUNKED}", f"0\r\n\r\n{SMUGGLED}"),
    "a tab of another kind": ("Transfer-Encoding: \x0bchunked", f"0\r\n\r\n{SMUGGLED}"),
    "a space before the colon": ("Transfer-Encoding : chunked", f"0\r\n\r\n{SMUGGLED}"),
    "a folded header": ("X: y\r\n Transfer-Encoding: chunked", f"0\r\n\r\n{SMUGGLED}"),
    "bare line feeds": (f"X: y\nContent-Length: {len(SMUGGLED)}", SMUGGLED),
    "a bare carriage return": (f"X: y\rContent-Length: {len(SMUGGLED)}", SMUGGLED),
    "a NUL in a value": ("X: y\0z", SMUGGLED),
    "a NUL in a name": ("X\0: y", SMUGGLED),
    "a header without a name": (": y", SMUGGLED),
    "a chunk below zero": (CHUNKED, f"-1\r\n{SMUGGLED}"),
    "a chunk that is no number": (CHUNKED, f"x\r\n{SMUGGLED}"),
    "a chunk with a prefix": (CHUNKED, f"0x0\r\n\r\n{SMUGGLED}"),
    "a chunk that is longer than it says": (CHUNKED, f"2\r\n{{}}}}\r\n0\r\n\r\n{SMUGGLED}"),
    "a bare line feed behind a chunk's length": (CHUNKED, f"2\n{{}}\r\n0\r\n\r\n{SMUGGLED}"),
    "a line feed in a chunk's extension": (CHUNKED, f"2;x\ny\r\n{{}}\r\n0\r\n\r\n{SMUGGLED}"),
}
TAKEN = {CHUNKED, "Transfer-Encoding: xchunked"}
"""Heads that are in order; what follows them is refused."""
LIMIT = 65_536


@pytest.fixture(scope="module")
def bench() -> Iterator[Workbench]:
    with Workbench(seed=7) as made:
        yield made


@pytest.fixture(scope="module")
def door(bench: Workbench) -> Iterator[Door]:
    with bench.serve() as served:
        yield Door.of(served)


def asked(door: Door, path: str, *lines: str, method: str = "GET", body: str = "", version: str = "1.1") -> bytes:
    """A request with its key and its length, which leaves the connection open."""
    head = [f"{method} {path} HTTP/{version}", "Host: localhost", f"Authorization: Bearer {door.key}", *lines]
    length = [f"Content-Length: {len(body)}", "Content-Type: application/json"] if body else []
    return "\r\n".join([*head, *length, "", body]).encode("latin-1")


def responses(got: bytes) -> list[tuple[int, dict[str, str], bytes]]:
    """Status, headers and body of each response in what came."""
    found = []
    while got:
        head, _, got = got.partition(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        length = int(headers.get("content-length", 0))
        found.append((int(first.split(" ")[1]), headers, got[:length]))
        got = got[length:]
    return found


@pytest.mark.parametrize("name", ATTACKS)
def test_what_two_readers_read_in_two_ways_is_one_response_and_the_end(door: Door, bench: Workbench, name: str):
    framing, rest = ATTACKS[name]
    before = len(bench.trace)
    begun = time.monotonic()
    got = responses(door.raw(f"POST /plants HTTP/1.1\r\nHost: localhost\r\n{framing}\r\n\r\n{rest}".encode("latin-1")))
    assert [status for status, *_ in got] == [400]
    headers = got[0][1]
    assert headers["connection"] == "close"
    # The operation is known once the head has arrived.
    assert ("sandbox-provenance" in headers) == (framing in TAKEN)
    assert time.monotonic() - begun < 5
    assert not [row for row in [*bench.trace][before:] if "smuggled" in row["what"]]


def test_a_chunk_that_never_ends_is_no_response_before_its_time_and_none_twice(
    door: Door, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("workbench.sandbox.connections.BODY_S", 0.5)
    got = door.raw(f"POST /plants HTTP/1.1\r\nHost: localhost\r\n{CHUNKED}\r\n\r\nFFFFFFFFFFFF\r\n{SMUGGLED}".encode())
    assert [status for status, *_ in responses(got)] == [408]


def test_what_stands_behind_the_chunks_is_no_header(door: Door):
    for trailer, status in (("X: y", 200), (f"Authorization: Bearer {door.key}", 401), ("Host: evil.example", 200)):
        lines = [] if status == 401 else [f"Authorization: Bearer {door.key}"]
        head = door.head("/v1/payment_intents", "Host: localhost", "Content-Type: application/json", CHUNKED, *lines,
                         method="POST")  # fmt: skip
        got = door.send(head + f"{len(BODY):x}\r\n{BODY}\r\n0\r\n{trailer}\r\n\r\n".encode())
        assert got[0] == status, trailer


class TestHeads:
    """The limits hold however the head comes: in one piece, or in many."""

    @pytest.mark.parametrize("step", [1 << 20, 1000])
    @pytest.mark.parametrize(
        ("line", "header", "status"), [("/docs", LIMIT - 500, 200), ("/docs", LIMIT, 431), ("/" + "x" * LIMIT, 0, 414)]
    )
    def test_a_head_is_held_to_its_limit(self, door: Door, step: int, line: str, header: int, status: int):
        message = door.head(line, "Host: localhost", f"X: {'y' * header}")
        with door.connection() as connection:
            for place in range(0, len(message), step):
                connection.sendall(message[place : place + step])
            ((answered, headers, _),) = responses(whole(connection))
        assert answered == status
        assert re.fullmatch(r"(req|ctl)_\w{24}", headers["request-id"])

    def test_a_head_that_does_not_end_is_refused_while_it_comes(self, door: Door):
        for begun, status in ((b"GET /docs HTTP/1.1\r\nHost: localhost\r\nX: ", 431), (b"GET /", 414)):
            with door.connection() as connection:
                connection.sendall(begun)
                with suppress(OSError):
                    for _ in range(20):
                        connection.sendall(b"y" * LIMIT)
                assert connection.recv(100).split(b" ")[1] == str(status).encode()

    def test_each_that_is_refused_has_a_number_of_its_own(self, door: Door):
        refused = [responses(door.raw(b"GET / HTTP/1.1\r\n: no name\r\n\r\n"))[0] for _ in range(2)]
        assert [status for status, *_ in refused] == [400, 400]
        assert len({headers["request-id"] for _, headers, _ in refused}) == 2

    def test_so_many_headers_and_no_more(self, door: Door):
        for count, status in ((98, 200), (99, 431)):
            lines = [f"X-{number}: y" for number in range(count)]
            assert door.send(door.head("/docs", "Host: localhost", *lines))[0] == status

    def test_empty_lines_before_a_request_are_no_request(self, door: Door):
        assert door.send(b"\r\n\r\n" + door.head("/docs", "Host: localhost"))[0] == 200
        assert door.raw(b"\r\n\r\n", ends=True) == b""

    def test_half_a_head_is_refused_at_its_end_and_given_up_in_time(self, door: Door, monkeypatch: pytest.MonkeyPatch):
        half = b"GET /docs HTTP/1.1\r\nHost: local"
        assert [status for status, *_ in responses(door.raw(half, ends=True))] == [400]
        monkeypatch.setattr("workbench.sandbox.connections.BODY_S", 0.5)
        begun = time.monotonic()
        with door.connection() as connection:
            connection.sendall(half)
            for _ in range(3):
                time.sleep(0.1)
                connection.sendall(b"h")
            assert whole(connection) == b""
        assert 0.4 < time.monotonic() - begun < 2


class TestTargets:
    @pytest.mark.parametrize(
        ("target", "status"),
        [
            ("http://localhost/openapi.json", 200), ("HTTP://LOCALHOST:80/openapi.json", 200),
            ("http://[::1]:80/openapi.json?x", 200), ("http://localhost?x=y", 200),
            ("//evil.example/openapi.json", 404),
            ("http://evil.example/openapi.json", 421), ("http://user@localhost/openapi.json", 400),
            ("http://", 400), ("evil.example", 400), ("*", 404),
        ],
    )  # fmt: skip
    def test_a_target_that_names_a_host_outdoes_the_header(self, door: Door, target: str, status: int):
        host = "localhost" if status != 200 or target.startswith("/") else "evil.example"
        assert door.send(door.head(target, f"Host: {host}"))[0] == status


class TestOtherProtocols:
    def test_a_request_that_offers_one_is_answered_with_its_body_and_the_connection_kept(self, door: Door):
        # As Java's client sends its first request on each connection.
        offer = (
            "Connection: Upgrade, HTTP2-Settings",
            "Upgrade: h2c",
            "HTTP2-Settings: AAEAAEAAAAIAAAABAAMAAABkAAQBAAAA",
        )
        create = asked(door, "/v1/payment_intents", *offer, method="POST", body=BODY)
        for step in (len(create) * 4, 7):
            message = create * 2 + asked(door, "/v1/balance", *offer) + asked(door, "/v1/balance", "Connection: close")
            with door.connection() as connection:
                for place in range(0, len(message), step):
                    connection.sendall(message[place : place + step])
                got = responses(whole(connection))
            assert [status for status, *_ in got] == [200] * 4
            assert len({json.loads(body)["id"] for *_, body in got[:2]}) == 2

    def test_a_tunnel_is_refused_and_the_connection_closed(self, door: Door):
        got = door.raw(b"CONNECT localhost:80 HTTP/1.1\r\nHost: localhost\r\n\r\n" + SMUGGLED.encode())
        assert [(status, headers["connection"]) for status, headers, _ in responses(got)] == [(404, "close")]


class TestHttp10:
    def test_it_is_kept_where_that_is_asked_for(self, door: Door):
        one = asked(door, "/v1/balance", version="1.0")
        kept = asked(door, "/v1/balance", "Connection: keep-alive", version="1.0")
        assert [headers["connection"] for _, headers, _ in responses(door.raw(kept + one + one))] == [
            "keep-alive",
            "close",
        ]

    def test_chunks_that_it_knows_nothing_of_end_the_connection(self, door: Door):
        lines = ("Connection: keep-alive", "Content-Type: application/json", CHUNKED)
        message = asked(door, "/v1/payment_intents", *lines, method="POST", version="1.0")
        got = responses(door.raw(message + f"{len(BODY):x}\r\n{BODY}\r\n0\r\n\r\n{SMUGGLED}".encode()))
        assert [(status, headers["connection"]) for status, headers, _ in got] == [(200, "close")]

    def test_it_is_not_told_to_go_on(self, door: Door):
        message = asked(door, "/plants", "Expect: 100-continue", method="POST", body="{}", version="1.0")
        assert b" 100 " not in door.raw(message)


class TestPipelining:
    def test_what_comes_in_one_piece_is_answered_in_its_order(self, door: Door):
        create = [
            asked(door, "/v1/payment_intents", method="POST", body=BODY.replace("1.50", f"{n}.00")) for n in (1, 2)
        ]
        read = asked(door, "/v1/balance")
        last = asked(door, "/nowhere", "Connection: close")
        got = responses(door.raw(create[0] + read + create[1] + read + last + read))
        assert [status for status, *_ in got] == [200, 200, 200, 200, 404]
        assert [json.loads(got[place][2])["amount"] for place in (0, 2)] == [1.0, 2.0]
        assert ["connection" in headers for _, headers, _ in got] == [False] * 4 + [True]

    def test_what_waits_keeps_the_order_and_what_is_broken_comes_last(self, door: Door):
        advance = asked(door, "/sandbox/clock/advance", method="POST", body='{"seconds": 60}')
        got = responses(door.raw(advance + asked(door, "/nowhere") + b"BROKEN\r\n\r\n"))
        assert [status for status, *_ in got] == [200, 404, 400]

    @pytest.mark.thorough
    def test_thousands_are_answered_as_they_are_read(self, door: Door):
        count, one = 3000, asked(door, "/nowhere")
        with door.connection(60) as connection:
            sender = threading.Thread(
                target=lambda: connection.sendall(one * (count - 1) + asked(door, "/docs", "Connection: close"))
            )
            sender.start()
            got = responses(whole(connection))
            sender.join()
        assert [status for status, *_ in got] == [404] * (count - 1) + [200]

    @pytest.mark.thorough
    def test_a_connection_is_not_read_on_while_many_of_its_requests_wait(self, door: Door):
        read = asked(door, "/docs")
        with door.connection() as connection:
            connection.settimeout(1)
            sent = 0
            with suppress(TimeoutError):
                while sent < 100_000_000:
                    sent += connection.send(read * 1000)
            assert sent < 50_000_000
            # Others are answered meanwhile.
            assert door.send(door.head("/docs", "Host: localhost"))[0] == 200

    @pytest.mark.thorough
    def test_one_that_does_not_read_is_given_up(self, door: Door, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setattr("workbench.sandbox.connections.BODY_S", 1)
        pages = asked(door, "/openapi.json") * 99 + asked(door, "/openapi.json", "Connection: close")
        with door.connection() as unread, door.connection() as slow:
            for each in (unread, slow):
                each.sendall(pages)
            # One that reads, however slowly, is not cut off; one that reads nothing is.
            got = b""
            for _ in range(25):
                time.sleep(0.1)
                got += slow.recv(1_000_000)
            assert len(responses(got + whole(slow))) == 100
            left = b""
            with suppress(ConnectionError):
                left = whole(unread)
            assert len(responses(left)) < 50


class TestGoingAway:
    def test_one_that_goes_in_the_middle_leaves_everybody_else_alone(
        self, door: Door, capfd: pytest.CaptureFixture[str]
    ):
        advance = asked(door, "/sandbox/clock/advance", method="POST", body='{"seconds": 3600}')
        create = asked(door, "/v1/payment_intents", method="POST", body=BODY)
        with ExitStack() as held:
            for message in (advance, create, create[:-5], create * 50, create[:40], asked(door, "/docs") * 100):
                for linger in (False, True):
                    connection = held.enter_context(door.connection())
                    if linger:  # it resets the connection
                        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
                    connection.sendall(message)
                    connection.close()
                assert door.send(door.head("/docs", "Host: localhost"))[0] == 200
        assert capfd.readouterr().err == ""

    def test_one_that_only_stops_sending_is_answered(self, door: Door):
        create = asked(door, "/v1/payment_intents", method="POST", body=BODY)
        assert [status for status, *_ in responses(door.raw(create * 3, ends=True))] == [200] * 3


def test_a_body_over_the_limit_is_read_to_its_end_and_refused(door: Door):
    for size, status in ((1 << 20, 400), ((1 << 20) + 1, 413), (40 << 20, 413)):
        lines = (f"Content-Length: {size}", "Content-Type: application/json")
        with door.connection(30) as connection:
            connection.sendall(asked(door, "/v1/payment_intents", *lines, method="POST"))
            with suppress(OSError):
                for _ in range(size // (1 << 16)):
                    connection.sendall(b" " * (1 << 16))
                connection.sendall(b" " * (size % (1 << 16)))
                connection.shutdown(socket.SHUT_WR)
            assert connection.recv(100).split(b" ")[1] == str(status).encode(), size


@pytest.mark.parametrize("begun", ["0\r\nX: ", "0\r\nX", "2;x="])
def test_what_frames_a_body_is_held_to_a_limit_too(door: Door, monkeypatch: pytest.MonkeyPatch, begun: str):
    monkeypatch.setattr("workbench.sandbox.connections.MAX_READ_BYTES", 1 << 20)
    with door.connection() as connection:
        connection.sendall(asked(door, "/v1/payment_intents", CHUNKED, method="POST") + begun.encode())
        with suppress(OSError):
            for _ in range(32):
                connection.sendall(b"y" * (1 << 16))
        assert connection.recv(100).split(b" ")[1] == b"413"


def test_a_client_that_asks_first_is_told_to_go_on_after_earlier_responses(door: Door):
    message = asked(door, "/sandbox/clock/advance", method="POST", body='{"seconds": 1}')
    message += asked(door, "/plants", "Expect: 100-continue ", "Connection: close", method="POST", body="{}")
    statuses = re.findall(rb"HTTP/1.1 (\d+)", door.raw(message))
    assert statuses == [b"200", b"400"]
