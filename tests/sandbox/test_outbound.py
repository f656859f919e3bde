"""Where a webhook may go, and receivers that misbehave on a real socket: each is a recorded attempt in bounded time."""

import socket
import ssl
import struct
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NoReturn, cast

import pytest

from tests.sandbox.conftest import SOON_S, NewSandbox
from workbench import Workbench
from workbench.domain.webhooks import MAX_RESPONSE_BYTES
from workbench.errors import InvalidRequest
from workbench.sandbox import outbound
from workbench.sandbox.driver import Dispatch
from workbench.sandbox.engine import Engine
from workbench.sandbox.outbound import Destination, Outbound, Reply, check_url, destination_of
from workbench.sandbox.store import Settings

LIMIT_S, SHORT_S = 2, 0.25
"""For who answers, and for who does not."""
resolved = partial(destination_of, patience_s=SOON_S)
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
TOO_LONG = f"the response took longer than {SHORT_S} s"


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
    "announces without end": (drips(b"", b"HTTP/1.1 103 Early Hints\r\n\r\n", 0), None, "RemoteProtocolError"),
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


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A key and a certificate of its own for the name shop.localhost, in one file."""
    folder = tmp_path_factory.mktemp("tls")
    made = "req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=shop -addext subjectAltName=DNS:shop.localhost"
    subprocess.run(  # noqa: S603  fixed words
        ["openssl", *made.split(), "-keyout", "key.pem", "-out", "cert.pem"],  # noqa: S607  the system's own
        cwd=folder, check=True, capture_output=True, timeout=60,
    )  # fmt: skip
    both = folder / "both.pem"
    both.write_text((folder / "key.pem").read_text() + (folder / "cert.pem").read_text())
    return both


@pytest.mark.parametrize(
    ("host", "is_trusted", "said"),
    [
        ("shop.localhost", True, "200"),
        ("shop.localhost", False, "ConnectError: [SSL: CERTIFICATE_VERIFY_FAILED]"),
        ("other.localhost", True, "ConnectError: [SSL: CERTIFICATE_VERIFY_FAILED]"),
    ],
)
def test_tls_is_verified(certificate: Path, monkeypatch: pytest.MonkeyPatch, host: str, *, is_trusted: bool, said: str):
    served = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    served.load_cert_chain(certificate)
    if is_trusted:
        monkeypatch.setattr(outbound, "_trusting", lambda: ssl.create_default_context(cafile=certificate))

    def over_tls(connection: socket.socket, stop: threading.Event) -> None:
        with served.wrap_socket(connection, server_side=True) as wrapped:
            says(b"HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")(wrapped, stop)

    with receiving(over_tls) as url:
        reply = Outbound().send(url.replace("http://127.0.0.1", f"https://{host}"), {}, b"{}", LIMIT_S)
    assert str(reply.fault or reply.status_code).startswith(said)


def test_a_tls_handshake_that_drips_has_the_one_deadline_too():
    record = b"\x16\x03\x03\x40\x00"  # the head of a message of 16 kB

    def handshake(connection: socket.socket, stop: threading.Event) -> None:
        connection.sendall(record)
        while not stop.wait(0.05):
            connection.sendall(b"\x02")

    with receiving(handshake) as url:
        started = time.monotonic()
        reply = Outbound().send(url.replace("http:", "https:"), {}, b"{}", SHORT_S)
        assert (reply.fault, time.monotonic() - started < SHORT_S + 1) == (TOO_LONG, True)


@pytest.fixture
def _slow_resolver(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The look-up of a name ends with the test."""
    answer = threading.Event()

    def hangs(host: str, *_: object, flags: int = 0, **__: object) -> None:
        if not flags:
            answer.wait(30)
        raise socket.gaierror(socket.EAI_AGAIN, host)

    monkeypatch.setattr(socket, "getaddrinfo", hangs)
    yield
    answer.set()


@pytest.mark.usefixtures("_slow_resolver")
def test_a_name_that_takes_too_long_to_look_up_has_it_too():
    assert Outbound().send("http://merchant.example/", {}, b"{}", SHORT_S).fault == TOO_LONG


def test_when_to_come_again_is_read_from_a_chunked_response():
    answer = b"HTTP/1.1 503 Busy\r\nRetry-After: 70\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbusy\r\n0\r\n\r\n"
    reply, _ = sent(says(answer), LIMIT_S)
    assert (reply.status_code, reply.answer, reply.retry_after) == (503, "busy", "70")


def test_what_cannot_even_be_sent_is_an_attempt_too(monkeypatch: pytest.MonkeyPatch):
    def no_more(_thread: threading.Thread) -> NoReturn:
        message = "can't start new thread"
        raise RuntimeError(message)

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", no_more)
        assert Outbound().send("http://a.example/", {}, b"{}", 5).fault == "RuntimeError: can't start new thread"
        dispatch, sending = Dispatch(Outbound()), SimpleNamespace(delivery=SimpleNamespace(endpoint="we_1"))
        with pytest.raises(RuntimeError):
            dispatch.start(cast("Any", sending))
        # Nobody waits for what was never begun.
        assert dispatch.is_idle


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


def finds(monkeypatch: pytest.MonkeyPatch, *found: str | Exception):
    """What a name leads to, addresses or none; addresses themselves are read as they are, and not looked up."""
    real = socket.getaddrinfo

    def look_up(name: str, port: int | None, *args: Any, flags: int = 0, **more: Any) -> Any:  # noqa: ANN401  as socket.getaddrinfo
        if flags or name[0].isdigit() or name.endswith("localhost"):
            return real(name, port, *args, flags=flags, **more)
        for each in found:
            if isinstance(each, Exception):
                raise each
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (each, port)) for each in found]

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


ALLOWED = [
    "http://127.0.0.1/", "http://127.0.0.1:8000/webhooks?x=1", "http://127.1/", "http://127.255.255.254/",
    "http://0177.0.0.1/", "http://2130706433/", "http://0x7f.1/", "http://0x7f000001/", "http://[::1]/",
    "http://[::1]:8000/", "http://[::ffff:127.0.0.1]/", "http://localhost:3000/", "http://LOCALHOST/",
    "http://x.localhost/", "https://merchant.example/webhooks", "https://nowhere.invalid/",
    "HTTPS://merchant.example/", "https://8.8.8.8/", "https://[2606:4700:4700::1111]/",
]  # fmt: skip
REFUSED = [
    "10.0.0.1", "10.1", "0x0a000001", "167772161", "012.0.0.1", "172.16.0.1", "192.168.1.1", "100.64.0.1",
    "192.0.2.1", "198.18.0.1", "192.88.99.1", "0", "240.0.0.1", "255.255.255.255", "224.0.0.1",
    "0.0.0.0",  # noqa: S104  an address to be refused
    "239.255.255.250", "[::]", "[::ffff:10.0.0.1]", "[::ffff:169.254.169.254]", "[::10.0.0.1]", "[64:ff9b::a00:1]",
    "[64:ff9b:1::a00:1]", "[2002:a00:1::]", "[2001:0:a00:1::]", "[2001:db8::1]", "[3fff::1]", "[5f00::1]",
    "[fc00::1]", "[fd12:3456::1]", "[fe80::1]", "[fec0::1]", "[ff02::1]", "[ff0e::1]", "[64:ff9b::7f00:1]",
    "[64:ff9b::808:808]", "[2002:7f00:1::]", "[2001:20::1]", "[2001:1::1]", "[100::1]", "[4000::1]",
    "[::ffff:0:8.8.8.8]", "[::ffff:100.64.0.1]", "[febf::1]", "[feff::1]", "100.127.255.255", "192.0.0.9",
    "198.51.100.1", "203.0.113.1",
]  # fmt: skip
MALFORMED = [
    "", "merchant.example", "/webhooks", "//merchant.example/", "http://", "http:///webhooks", "http://:8000/",
    "ftp://merchant.example/", "file:///etc/passwd", "javascript:alert(1)", "http://merchant.example:0/",
    "http://merchant.example:99999/", "http://merchant.example:http/", "http://[::1/",
    "http://user@merchant.example/", "http://user:word@merchant.example/", "http://127.0.0.1@10.0.0.1/",
    "http://@merchant.example/", "http://merchant example/", " http://merchant.example/",
    "http://merchant.example/a b", "http://merchant.example/a\tb", "http://merchant.example/\r\nHost: other",
    "http://merch\x00ant.example/", "http://mérchant.example/", "http://\uff11\uff12\uff17.0.0.1/",
]  # fmt: skip


INSIDE = [["10.0.0.1"], ["8.8.8.8", "10.0.0.1"], ["::ffff:192.168.0.1"], ["127.0.0.1", "fe80::1%eth0"]]
"""What a name may lead to, and the last of it is refused."""


def refused(call: Callable[..., object] = check_url, **named: object) -> str:
    with pytest.raises(InvalidRequest) as caught:
        call(**named)
    assert (caught.value.code, caught.value.param) == ("url_refused", "url")
    return str(caught.value)


def test_loopback_public_addresses_and_names_are_taken():
    for url in ALLOWED:
        check_url(url)


@pytest.mark.parametrize("host", REFUSED)
def test_every_other_address_is_refused_in_every_spelling(host: str):
    assert "neither this machine's loopback nor a public address" in refused(url=f"http://{host}/")


def test_private_networks_are_taken_on_request_and_nothing_else_with_them():
    for host in ("10.0.0.1", "172.31.255.254", "192.168.0.1", "[fd00::1]", "[::ffff:10.0.0.1]"):
        check_url(f"http://{host}/", private=True)
        assert resolved(f"http://{host}/", private=True).port == 80
        assert "--allow-private-receivers" in refused(url=f"http://{host}/")
    for host in ("169.254.169.254", "100.64.0.1", "0.0.0.0", "[fe80::1]", "[fec0::1]", "224.0.0.1"):  # noqa: S104  none is bound
        assert "--allow-private-receivers" not in refused(url=f"http://{host}/", private=True)


def test_what_is_no_url_is_refused_and_an_attempt_checks_all_that_registration_does():
    for url in MALFORMED:
        assert refused(url=url) == refused(resolved, url=url)
    refused(resolved, url="http://10.0.0.1/")
    assert "sesame" not in refused(url="http://user:sesame@merchant.example/")


def test_a_name_is_registered_unseen_and_no_attempt_goes_inside(bench: Workbench, monkeypatch: pytest.MonkeyPatch):
    register = bench.client.webhook_endpoints.create
    assert "169.254.169.254" in refused(register, url="http://169.254.169.254/latest/meta-data")
    for found in INSIDE:
        finds(monkeypatch, *found)
        assert register(url="https://merchant.example/").status == "enabled"
        assert found[-1] in refused(resolved, url="https://merchant.example/")


def test_an_address_inside_is_refused_to_a_server(new_sandbox: NewSandbox):
    with pytest.raises(InvalidRequest, match=r"169\.254\.169\.254") as caught:
        new_sandbox().engine.registered("http://169.254.169.254/")
    assert caught.value.code == "url_refused"


def test_servers_that_start_at_once_with_one_store_register_a_url_once(store_path: Path):
    urls, told = [f"http://127.0.0.1:9/{number}" for number in range(20)], list[list[str]]()
    with ExitStack() as at_end:
        pair = [Engine(Settings(path=store_path), raise_bugs=True) for _ in range(2)]
        for engine in pair:
            at_end.callback(engine.close)
        both = threading.Barrier(len(pair))

        def register(engine: Engine) -> None:
            secrets = []
            for url in urls:
                both.wait(SOON_S)
                secrets.append(engine.registered(url))
            told.append(secrets)

        threads = [threading.Thread(target=register, args=(engine,)) for engine in pair]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert told[0] == told[1]
        with pair[0].store.reading() as tx:
            assert tx.endpoints.count() == len(urls)


def test_a_name_leads_to_its_first_address(monkeypatch: pytest.MonkeyPatch):
    for found in (["8.8.8.8"], ["127.0.0.1"], ["2606:4700:4700::1111", "8.8.8.8"], ["::1"], ["127.0.0.1", "::1"]):
        finds(monkeypatch, *found)
        assert resolved("https://merchant.example/webhooks") == Destination("merchant.example", 443, found[0])
        assert resolved("http://merchant.example:8000/") == Destination("merchant.example", 8000, found[0])


def test_localhost_is_never_looked_up(monkeypatch: pytest.MonkeyPatch):
    finds(monkeypatch, "10.0.0.1")
    for host in ("localhost", "x.localhost", "a.b.localhost"):
        assert resolved(f"http://{host}:8000/") == Destination(host, 8000, "127.0.0.1")
