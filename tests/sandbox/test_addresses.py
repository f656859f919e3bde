import socket
import threading
import time
from typing import Any

import pytest

from workbench import Workbench
from workbench.errors import InvalidRequest
from workbench.sandbox import addresses
from workbench.sandbox.addresses import Destination, check_url, resolved

ALLOWED = [
    "http://127.0.0.1/",
    "http://127.0.0.1:8000/webhooks?x=1",
    "http://127.1/",
    "http://127.255.255.254/",
    "http://0177.0.0.1/",
    "http://2130706433/",
    "http://0x7f.1/",
    "http://0x7f000001/",
    "http://[::1]/",
    "http://[::1]:8000/",
    "http://[::ffff:127.0.0.1]/",
    "http://localhost:3000/",
    "http://LOCALHOST/",
    "http://x.localhost/",
    "https://merchant.example/webhooks",
    "https://nowhere.invalid/",
    "HTTPS://merchant.example/",
    "https://8.8.8.8/",
    "https://[2606:4700:4700::1111]/",
]
REFUSED = [
    "http://10.0.0.1/",
    "http://10.1/",
    "http://0x0a000001/",
    "http://167772161/",
    "http://012.0.0.1/",
    "http://172.16.0.1/",
    "http://192.168.1.1/",
    "http://169.254.169.254/latest/meta-data",
    "http://100.64.0.1/",
    "http://192.0.2.1/",
    "http://198.18.0.1/",
    "http://192.88.99.1/",
    "http://0.0.0.0/",
    "http://0/",
    "http://240.0.0.1/",
    "http://255.255.255.255/",
    "http://224.0.0.1/",
    "http://239.255.255.250/",
    "http://[::]/",
    "http://[::ffff:10.0.0.1]/",
    "http://[::ffff:169.254.169.254]/",
    "http://[::10.0.0.1]/",
    "http://[64:ff9b::a00:1]/",
    "http://[64:ff9b:1::a00:1]/",
    "http://[2002:a00:1::]/",
    "http://[2001:0:a00:1::]/",
    "http://[2001:db8::1]/",
    "http://[3fff::1]/",
    "http://[5f00::1]/",
    "http://[fc00::1]/",
    "http://[fd12:3456::1]/",
    "http://[fe80::1]/",
    "http://[fec0::1]/",
    "http://[ff02::1]/",
    "http://[ff0e::1]/",
    "http://[64:ff9b::7f00:1]/",
    "http://[64:ff9b::808:808]/",
    "http://[2002:7f00:1::]/",
    "http://[2001:20::1]/",
    "http://[2001:1::1]/",
    "http://[100::1]/",
    "http://[4000::1]/",
    "http://[::ffff:0:8.8.8.8]/",
    "http://[::ffff:100.64.0.1]/",
    "http://[febf::1]/",
    "http://[feff::1]/",
    "http://100.127.255.255/",
    "http://192.0.0.9/",
    "http://198.51.100.1/",
    "http://203.0.113.1/",
]
MALFORMED = [
    "",
    "merchant.example",
    "/webhooks",
    "//merchant.example/",
    "http://",
    "http:///webhooks",
    "http://:8000/",
    "ftp://merchant.example/",
    "file:///etc/passwd",
    "javascript:alert(1)",
    "http://merchant.example:0/",
    "http://merchant.example:99999/",
    "http://merchant.example:http/",
    "http://[::1/",
    "http://user@merchant.example/",
    "http://user:word@merchant.example/",
    "http://127.0.0.1@10.0.0.1/",
    "http://@merchant.example/",
    "http://merchant example/",
    " http://merchant.example/",
    "http://merchant.example/a b",
    "http://merchant.example/a\tb",
    "http://merchant.example/\r\nHost: other",
    "http://merch\x00ant.example/",
    "http://mérchant.example/",
    "http://\uff11\uff12\uff17.0.0.1/",
]


@pytest.mark.parametrize("url", ALLOWED)
def test_loopback_public_addresses_and_names_are_taken(url: str):
    check_url(url)


@pytest.mark.parametrize("url", REFUSED)
def test_every_other_address_is_refused_in_every_spelling(url: str):
    with pytest.raises(InvalidRequest) as refused:
        check_url(url)
    assert (refused.value.code, refused.value.param) == ("url_refused", "url")
    assert "neither this machine's loopback nor a public address" in str(refused.value)


@pytest.mark.parametrize("url", MALFORMED)
def test_what_is_no_url_is_refused(url: str):
    with pytest.raises(InvalidRequest) as refused:
        check_url(url)
    assert (refused.value.code, refused.value.param) == ("url_refused", "url")


def test_a_refusal_does_not_repeat_a_password():
    with pytest.raises(InvalidRequest) as refused:
        check_url("http://user:sesame@merchant.example/")
    assert "sesame" not in str(refused.value)


# At registration a name is looked up, and what is found is checked; what is not found is taken.


@pytest.mark.parametrize("addresses", [["10.0.0.1"], ["8.8.8.8", "10.0.0.1"], ["127.0.0.1", "fe80::1%eth0"]], ids=repr)
def test_a_name_that_leads_inside_is_not_registered(monkeypatch: pytest.MonkeyPatch, addresses: list[str]):
    monkeypatch.setattr(socket, "getaddrinfo", leads_to(*addresses))
    with Workbench(seed=7) as bench, pytest.raises(InvalidRequest) as refused:
        bench.client.webhook_endpoints.create(url="https://merchant.example/")
    assert (refused.value.code, refused.value.param) == ("url_refused", "url")
    assert addresses[-1] in str(refused.value)


@pytest.mark.parametrize("addresses", [["8.8.8.8"], ["127.0.0.1", "::1"], ["2606:4700:4700::1111"]], ids=repr)
def test_a_name_that_leads_outside_or_to_loopback_is_registered(monkeypatch: pytest.MonkeyPatch, addresses: list[str]):
    monkeypatch.setattr(socket, "getaddrinfo", leads_to(*addresses))
    check_url("https://merchant.example/")


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


# At an attempt the name is looked up, and every address of it counts.


def leads_to(*addresses: str) -> Any:  # noqa: ANN401  stands for socket.getaddrinfo
    def look_up(host: str, port: int, *_: object, flags: int = 0, **__: object) -> list[tuple[Any, ...]]:
        if flags:
            raise socket.gaierror(socket.EAI_NONAME, f"{host} is a name")
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in addresses]

    return look_up


@pytest.mark.parametrize(
    ("addresses", "first"),
    [
        (["8.8.8.8"], "8.8.8.8"),
        (["127.0.0.1"], "127.0.0.1"),
        (["2606:4700:4700::1111", "8.8.8.8"], "2606:4700:4700::1111"),
        (["::1"], "::1"),
    ],
)
def test_a_name_leads_to_its_first_address(monkeypatch: pytest.MonkeyPatch, addresses: list[str], first: str):
    monkeypatch.setattr(socket, "getaddrinfo", leads_to(*addresses))
    assert resolved("https://merchant.example/webhooks") == Destination("merchant.example", 443, first)
    assert resolved("http://merchant.example:8000/") == Destination("merchant.example", 8000, first)


@pytest.mark.parametrize(
    "addresses",
    [
        ["10.0.0.1"],
        ["169.254.169.254"],
        ["8.8.8.8", "10.0.0.1"],
        ["::ffff:192.168.0.1"],
        ["fe80::1%eth0"],
        ["64:ff9b::a00:1"],
        ["0.0.0.0"],  # noqa: S104  an address to be refused
        ["224.0.0.1"],
    ],
    ids=repr,
)
def test_a_name_that_leads_inside_is_refused(monkeypatch: pytest.MonkeyPatch, addresses: list[str]):
    monkeypatch.setattr(socket, "getaddrinfo", leads_to(*addresses))
    with pytest.raises(InvalidRequest) as refused:
        resolved("https://merchant.example/")
    assert refused.value.code == "url_refused"
    assert addresses[-1] in str(refused.value)


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


@pytest.mark.parametrize("url", ["http://10.0.0.1/", "ftp://merchant.example/", "http://user@merchant.example/"])
def test_an_attempt_checks_all_that_registration_does(url: str):
    with pytest.raises(InvalidRequest):
        resolved(url)


def test_registration_refuses_an_address_inside(bench: Workbench):
    with pytest.raises(InvalidRequest) as refused:
        bench.client.webhook_endpoints.create(url="http://169.254.169.254/")
    assert (refused.value.code, refused.value.param) == ("url_refused", "url")
