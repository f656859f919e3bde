"""Receivers that misbehave on a real socket: each is a recorded attempt, in bounded time, and leaves nothing behind."""

import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest

from workbench.domain.webhooks import MAX_RESPONSE_BYTES
from workbench.sandbox.delivery import Outbound, Reply

LIMIT_S, SHORT_S = 2, 0.25
"""For who answers, and for who does not."""
SOON_S = 10
Behaviour = Callable[[socket.socket, threading.Event], None]


def read_request(connection: socket.socket) -> str:
    """Up to the end of the body, which is `{}`."""
    message = b""
    while not message.endswith(b"\r\n\r\n{}"):
        message += connection.recv(65_536)
    return message.decode()


def says(answer: bytes) -> Behaviour:
    def behave(connection: socket.socket, _: threading.Event) -> None:
        read_request(connection)
        connection.sendall(answer)

    return behave


def repeats(connection: socket.socket, _: threading.Event) -> None:
    """Answers with the request line and two of its headers, and a redirect."""
    line, *headers = read_request(connection).split("\r\n")
    said = {name: value for name, _, value in (each.partition(": ") for each in headers)}
    answer = f"{line} | {said['Host']} | {said['X-Test']}"
    head = f"HTTP/1.1 307 Moved\r\nLocation: http://10.0.0.1/\r\nContent-Length: {len(answer)}\r\n\r\n"
    connection.sendall((head + answer).encode())


def hangs(connection: socket.socket, stop: threading.Event) -> None:
    read_request(connection)
    stop.wait(SOON_S)


def resets(connection: socket.socket, _: threading.Event) -> None:
    read_request(connection)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def drips(head: bytes, drop: bytes, every_s: float) -> Behaviour:
    def behave(connection: socket.socket, stop: threading.Event) -> None:
        read_request(connection)
        connection.sendall(head)
        while not stop.wait(every_s):
            connection.sendall(drop)

    return behave


ENDLESS = b"HTTP/1.1 200 OK\r\nContent-Length: 999999999\r\n\r\n"
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
STREAMS = drips(ENDLESS, b"x" * 4096, 0)
TOO_LONG = f"the answer took longer than {SHORT_S} s"


@contextmanager
def receiving(behave: Behaviour) -> Iterator[str]:
    """The URL of a receiver that does this on every connection."""
    stop = threading.Event()

    def answer(connection: socket.socket) -> None:
        with connection, suppress(OSError):
            behave(connection, stop)

    def accept(listener: socket.socket) -> None:
        with suppress(OSError):
            while not stop.is_set():
                threading.Thread(target=answer, args=(listener.accept()[0],)).start()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        accepting = threading.Thread(target=accept, args=(listener,))
        accepting.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}/"
        finally:
            stop.set()
            listener.shutdown(socket.SHUT_RDWR)
            accepting.join()


def sent(behave: Behaviour, limit_s: float) -> tuple[Reply, float]:
    """The reply and the seconds it took."""
    with receiving(behave) as url:
        started = time.monotonic()
        reply = Outbound().send(url, {}, b"{}", limit_s)
        return reply, time.monotonic() - started


BEHAVIOURS: dict[str, tuple[Behaviour, int | None, str | None]] = {
    "hangs": (hangs, None, TOO_LONG),
    "drips its headers": (drips(b"HTTP/1.1 200 OK\r\nX: ", b"x", 0.1), None, TOO_LONG),
    "drips its body": (drips(ENDLESS, b"x", 0.1), None, TOO_LONG),
    "drips chunks": (drips(CHUNKED, b"1\r\nx\r\n", 0.1), None, TOO_LONG),
    "streams without end": (STREAMS, 200, None),
    "headers without end": (
        drips(b"HTTP/1.1 200 OK\r\n", b"X: " + b"x" * 1000 + b"\r\n", 0), None, "RemoteProtocolError"),
    "resets": (resets, None, "ReadError"),
    "closes": (says(b""), None, "RemoteProtocolError"),
    "speaks TLS": (says(b"\x16\x03\x01\x00\xa5" * 20), None, "RemoteProtocolError"),
    "says too little": (says(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort"), None, "RemoteProtocolError"),
    "says it is compressed": (
        says(b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n\r\nabc"), 200, None),
    "302 inside": (
        says(b"HTTP/1.1 302 Found\r\nLocation: http://10.0.0.1/\r\nContent-Length: 0\r\n\r\n"), 302, None),
    "308 nowhere": (says(b"HTTP/1.1 308 Moved\r\nLocation: \xff\r\nContent-Length: 0\r\n\r\n"), 308, None),
    "HTTP/1.0": (says(b"HTTP/1.0 200 OK\r\n\r\nuntil the end"), 200, None),
}  # fmt: skip
"""What a receiver does → the status and the fault that are recorded."""


@pytest.mark.parametrize("kind", BEHAVIOURS)
def test_each_is_one_recorded_attempt(kind: str):
    behave, status_code, fault = BEHAVIOURS[kind]
    limit_s = SHORT_S if fault == TOO_LONG else LIMIT_S
    reply, took_s = sent(behave, limit_s)
    assert (reply.status_code, reply.fault and reply.fault.partition(":")[0]) == (status_code, fault)
    # Of a stream without end so much is kept.
    assert len(reply.answer) <= MAX_RESPONSE_BYTES
    assert behave is not STREAMS or reply.answer == "x" * MAX_RESPONSE_BYTES
    assert took_s < limit_s + 2


def test_a_receiver_that_drips_leaves_no_thread_and_no_connection():
    before = threading.active_count()
    with receiving(drips(ENDLESS, b"x", 0.05)) as url:
        replies = [Outbound().send(url, {}, b"{}", SHORT_S) for _ in range(2)]
        until = time.monotonic() + SOON_S
        # The receiver notices that the connection is closed, and its threads end too.
        while threading.active_count() > before + 1 and time.monotonic() < until:
            time.sleep(0.05)
        assert threading.active_count() <= before + 1
    assert [each.fault for each in replies] == [TOO_LONG] * 2


def finds(monkeypatch: pytest.MonkeyPatch, found: str | Exception):
    """The name merchant.example leads to an address, or to none."""
    real = socket.getaddrinfo

    def look_up(name: str, port: int | None, *args: Any, **more: Any) -> Any:  # noqa: ANN401  as socket.getaddrinfo
        if name == "merchant.example" and "flags" not in more:
            if isinstance(found, Exception):
                raise found
            name = found
        return real(name, port, *args, **more)

    monkeypatch.setattr(socket, "getaddrinfo", look_up)


def test_the_address_is_pinned_and_the_host_kept(monkeypatch: pytest.MonkeyPatch):
    finds(monkeypatch, "127.0.0.1")
    with receiving(repeats) as url:
        port = int(url.rstrip("/").rpartition(":")[2])
        for host in ("merchant.localhost", "127.1", "merchant.example"):
            reply = Outbound().send(f"http://{host}:{port}/webhooks?x=1", {"X-Test": "yes"}, b"{}", 5)
            assert (reply.status_code, reply.fault) == (307, None)
            assert reply.answer == f"POST /webhooks?x=1 HTTP/1.1 | {host}:{port} | yes"


def test_a_name_that_does_not_resolve_or_leads_inside_is_a_fault(monkeypatch: pytest.MonkeyPatch):
    for found in (socket.gaierror(-2, "unknown"), UnicodeError("too long"), "10.0.0.1"):
        finds(monkeypatch, found)
        reply = Outbound().send("http://merchant.example/", {}, b"{}", 5)
        words = found if isinstance(found, str) else str(found.args[-1])
        assert (reply.status_code, words in str(reply.fault)) == (None, True)


def test_sending_never_raises_and_a_port_where_nothing_listens_is_a_fault():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        free = f"http://127.0.0.1:{probe.getsockname()[1]}/"
    urls = (free, "http://10.0.0.1/", "ftp://localhost/", "http://a\tb/", "http://[::1/", "")
    replies = [Outbound().send(url, {}, b"{}", 5) for url in urls]
    assert {each.status_code for each in replies} == {None}
    assert str(replies[0].fault).startswith("ConnectError")
