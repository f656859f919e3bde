import socket
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from workbench import Workbench
from workbench.errors import InvalidRequest
from workbench.sandbox import addresses
from workbench.sandbox.addresses import Destination, check_url, resolved

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


def refused(call: Callable[..., object] = check_url, **named: str) -> str:
    with pytest.raises(InvalidRequest) as caught:
        call(**named)
    assert (caught.value.code, caught.value.param) == ("url_refused", "url")
    return str(caught.value)


def leads_to(*addresses: str) -> Any:  # noqa: ANN401  stands for socket.getaddrinfo
    def look_up(host: str, port: int, *_: object, flags: int = 0, **__: object) -> list[tuple[Any, ...]]:
        if flags:
            raise socket.gaierror(socket.EAI_NONAME, f"{host} is a name")
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in addresses]

    return look_up


def test_loopback_public_addresses_and_names_are_taken():
    for url in ALLOWED:
        check_url(url)


@pytest.mark.parametrize("host", REFUSED)
def test_every_other_address_is_refused_in_every_spelling(host: str):
    assert "neither this machine's loopback nor a public address" in refused(url=f"http://{host}/")


def test_what_is_no_url_is_refused_and_an_attempt_checks_all_that_registration_does():
    for url in MALFORMED:
        assert refused(url=url) == refused(resolved, url=url)
    refused(resolved, url="http://10.0.0.1/")
    assert "sesame" not in refused(url="http://user:sesame@merchant.example/")


def test_a_name_that_leads_inside_is_not_registered_and_no_address_inside(
    bench: Workbench, monkeypatch: pytest.MonkeyPatch
):
    register = bench.client.webhook_endpoints.create
    assert "169.254.169.254" in refused(register, url="http://169.254.169.254/latest/meta-data")
    for found in INSIDE:
        monkeypatch.setattr(socket, "getaddrinfo", leads_to(*found))
        assert found[-1] in refused(register, url="https://merchant.example/")
        assert found[-1] in refused(resolved, url="https://merchant.example/")


def test_a_resolver_that_hangs_holds_nobody_up_for_long(monkeypatch: pytest.MonkeyPatch):
    answer = threading.Event()

    def hangs(host: str, *_: object, flags: int = 0, **__: object) -> None:
        if not flags:
            answer.wait(30)
        raise socket.gaierror(socket.EAI_AGAIN, host)

    monkeypatch.setattr(socket, "getaddrinfo", hangs)
    monkeypatch.setattr(addresses, "_LOOKUP_S", 0.1)
    started = time.monotonic()
    check_url("https://merchant.example/")
    assert time.monotonic() - started < 5
    answer.set()


def test_a_name_leads_to_its_first_address(monkeypatch: pytest.MonkeyPatch):
    for found in (["8.8.8.8"], ["127.0.0.1"], ["2606:4700:4700::1111", "8.8.8.8"], ["::1"], ["127.0.0.1", "::1"]):
        monkeypatch.setattr(socket, "getaddrinfo", leads_to(*found))
        check_url("https://merchant.example/")
        assert resolved("https://merchant.example/webhooks") == Destination("merchant.example", 443, found[0])
        assert resolved("http://merchant.example:8000/") == Destination("merchant.example", 8000, found[0])


def test_localhost_is_never_looked_up(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(socket, "getaddrinfo", leads_to("10.0.0.1"))
    for host in ("localhost", "x.localhost", "a.b.localhost"):
        assert resolved(f"http://{host}:8000/") == Destination(host, 8000, "127.0.0.1")


def test_a_name_that_does_not_resolve_says_so(monkeypatch: pytest.MonkeyPatch):
    def fails(*_: object, **__: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", fails)
    check_url("https://nowhere.invalid/")
    with pytest.raises(OSError, match="not known"):
        resolved("https://nowhere.invalid/")
