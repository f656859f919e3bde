"""Who may reach the sandbox, and how a request has to arrive: by the names of this machine, whole, and in time."""

import itertools
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from decimal import Decimal

import httpx
import pytest

from tests.conftest import Serving, refusal
from tests.doors.conftest import Door, whole
from workbench import Workbench
from workbench.errors import ServeRefused

HOME = ["127.0.0.1", "[::1]", "localhost", "LocalHost", "a.b.localhost", "[0:0:0:0:0:0:0:1]", "allowed.example",
        "ALLOWED.example", "192.0.2.7"]  # fmt: skip
MALFORMED = ["", "localhost,localhost", "localhost:x", "localhost:65536", "user@localhost", "[::1", "::1", "local host",
             "localhost/", "http://localhost"]  # fmt: skip
FOREIGN = [
    "evil.example", "localhost.evil.example", "evillocalhost", "localhost.", "127.0.0.1.nip.io", "127.0.0.2",
    "0.0.0.0", "2130706433", "0x7f.1", "[::]", "[::ffff:127.0.0.1]", "192.168.1.7", ".localhost", "-.localhost",  # noqa: S104  a name
    "allowed.example.x",
]  # fmt: skip
PAGES_AT_HOME = ["http://localhost", "https://shop.localhost:3000", "http://[::1]:8888", "https://allowed.example"]
PAGES_ELSEWHERE = [
    "null", "", "https://evil.example", "http://localhost.evil.example", "file://", "http://", "localhost",
    "http://localhost http://evil.example", "chrome-extension://localhost", "http://evil.example,http://localhost",
]  # fmt: skip
SEVERAL = [(), ("localhost", "localhost"), ("evil.example", "localhost"), ("localhost", "evil.example")]
ANSWERS: dict[tuple[int, str], list[list[str]]] = {
    (200, ""): [*([f"Host: {each}:{port}"] for each in HOME for port in ("80", "4242")), ["Host: localhost"],
                *(["Host: localhost", f"Origin: {each}"] for each in PAGES_AT_HOME)],
    (400, "host_malformed"): [[f"Host: {each}" for each in hosts] for hosts in (*zip(MALFORMED), *SEVERAL)],
    (421, "host_refused"): [[f"Host: {each}"] for each in FOREIGN],
    (403, "origin_refused"): [["Host: localhost", *2 * ["Origin: http://localhost"]],
                              *(["Host: localhost", f"Origin: {each}"] for each in PAGES_ELSEWHERE)],
}  # fmt: skip
"""Status and code → the headers of requests that are answered so."""
PATHS = ["/", "/docs", "/docs/assets/docs.css", "/v1/auth/token", "/sandbox/ledger/entries", "/nowhere"]
METHODS = ["GET", "HEAD", "POST", "DELETE", "OPTIONS", "PROPFIND"]
SHORT_S = 1.5
SHOP = "https://shop.example"
CONFIRM, RETRIEVE = "/v1/payment_intents/pi_0/confirm", "/v1/payment_intents/pi_0"
ASKED = [
    # path, what a preflight asks for, what it is answered from a page that is let in
    (CONFIRM, "POST", 200), (RETRIEVE, "GET", 200), (RETRIEVE, "HEAD", 200), (CONFIRM, "GET", 403),
    (CONFIRM, "", 403), ("/v1/payment_intents/pi_0/cancel", "POST", 403), ("/v1/payment_intents", "POST", 403),
    ("/v1/charges", "POST", 403), ("/v1/balance", "GET", 403), ("/sandbox/clock", "GET", 403), ("/docs", "GET", 403),
]  # fmt: skip


@pytest.fixture
def hurried(threaded: Door, monkeypatch: pytest.MonkeyPatch) -> Door:
    """A door at which a body may take SHORT_S."""
    monkeypatch.setattr("workbench.sandbox.connections.BODY_S", SHORT_S)
    return threaded


@pytest.mark.thorough
def test_who_is_answered_by_which_name_and_from_whose_page(door: Door):
    for expected, requests in ANSWERS.items():
        for lines in requests:
            status, code, said = door.send(door.head("/openapi.json", *lines))
            assert (status, code) == expected, lines
            assert code != "host_refused" or all(each in said for each in ("--allow-host NAME", "allow_hosts=[NAME]"))


def test_a_refusal_of_an_operation_says_where_it_comes_from_though_its_caller_may_not_come_in():
    with Workbench(seed=7) as bench:
        refused = [bench.http.get(path, headers={"Host": "shop.example"}) for path in ("/v1/balance", "/nothing")]
    assert [("Sandbox-Provenance" in each.headers, each.status_code) for each in refused] == [(True, 421), (False, 421)]


def test_another_name_or_page_is_refused_before_a_path_is_looked_for_by_any_method(door: Door):
    lines = (f"Authorization: Bearer {door.key}", "Content-Length: 0")
    for path, method in {*((each, "GET") for each in PATHS), *(("/v1/auth/token", each) for each in METHODS)}:
        assert door.send(door.head(path, "Host: evil.example", *lines, method=method))[0] == 421, (method, path)
        elsewhere = ("Host: localhost", "Origin: https://evil.example")
        assert door.send(door.head(path, *elsewhere, *lines, method=method))[0] == 403, (method, path)


class TestAllowed:
    def test_what_is_no_name_is_refused(self):
        with Workbench(seed=7) as bench:
            for name in ("http://shop", "shop:80", "*", "*.shop", "", "a b", "-x", "[::1", "sh\x00p"):
                with pytest.raises(ServeRefused, match="not a name or an address"):
                    bench.serve(allow_hosts=[name])

    def test_one_name_is_a_name_and_not_its_letters(self):
        with Workbench(seed=7) as bench, bench.serve(allow_hosts="shop") as served:
            door = Door.of(served)
            assert door.send(door.head("/docs", "Host: shop"))[0] == 200
            assert door.send(door.head("/docs", "Host: s"))[0] == 421

    @pytest.mark.thorough
    def test_bound_to_every_address_it_answers_by_that_one_beside_the_loopbacks_names(self, serving: Serving):
        answered, refused = ["0.0.0.0", "127.0.0.1", "shop"], ["192.168.1.7", "evil.example"]  # noqa: S104  what is tested
        allowed = ("--allow-host", "shop", "--allow-origin", "http://localhost:3000", "--allow-origin", SHOP)
        with serving("--port", "0", "--json", "--host", answered[0], *allowed) as server:
            door = Door.at(**server.address)
            for status, names in ((200, answered), (421, refused)):
                assert [door.send(door.head("/docs", f"Host: {each}"))[0] for each in names] == [status] * len(names)
            for origin, status in (("http://localhost:3000", 200), (SHOP, 200), ("http://localhost:3001", 405)):
                lines = (f"Host: {door.host}", f"Origin: {origin}", "Access-Control-Request-Method: POST")
                assert door.send(door.head(CONFIRM, *lines, method="OPTIONS"))[0] == status, origin


LETS = "access-control-allow-origin"


@contextmanager
def calls(bench: Workbench, origins: str) -> Iterator[httpx.Client]:
    """Calls over a port that lets pages of these origins in."""
    with bench.serve(allow_origins=origins) as served, httpx.Client(base_url=served.base_url, verify=False) as http:  # noqa: S501  no TLS is spoken
        yield http


class TestPages:
    """Cross-origin calls of a merchant's pages: what a publishable key may do, for origins that are let in."""

    @pytest.mark.parametrize(("gaps", "lets"), [({}, True), ({"publishable_key": "nothing"}, False)])
    def test_a_preflight_is_answered_where_a_publishable_key_may_call(self, gaps: dict[str, object], lets: bool):  # noqa: FBT001  a case
        with Workbench(seed=7, gaps=gaps) as bench, calls(bench, f"{SHOP}:443/") as http:
            for origin, (path, method, status) in itertools.product((SHOP, "https://evil.example"), ASKED):
                headers = {"Origin": origin, "Access-Control-Request-Method": method}
                answer = http.options(path, headers=headers)
                is_let = lets and origin == SHOP and status == 200
                assert answer.status_code == (200 if is_let else 403), (origin, path, method)
                assert answer.headers.get(LETS) == (SHOP if is_let else None)
                if is_let:
                    sent = answer.headers["Access-Control-Allow-Headers"].lower().split(", ")
                    assert {"authorization", "content-type", "idempotency-key"} <= {*sent}
                    assert answer.headers["Access-Control-Allow-Methods"] == {"HEAD": "GET"}.get(method, method)
            assert not [row for row in bench.trace if row["result"] == "200" and row["what"].startswith("OPTIONS")]

    def test_what_it_is_answered_it_may_read_refusals_too_and_nothing_else(self):
        with Workbench(seed=7) as bench, calls(bench, SHOP) as http:
            made = bench.client.payment_intents.create(amount=Decimal(1))
            key = {"Origin": SHOP, "Authorization": f"Bearer {bench.publishable_key!s}"}
            for path, status, is_let in (
                (f"/{made.id}?client_secret={made.client_secret!s}", 200, True),
                (f"/{made.id}", 403, True), ("/pi_0?client_secret=x", 404, True), ("", 403, False),
            ):  # fmt: skip
                answer = http.get(f"/v1/payment_intents{path}", headers=key)
                assert (answer.status_code, answer.headers.get(LETS)) == (status, SHOP if is_let else None), path
                assert ("Vary" in answer.headers) == is_let
            assert refusal(answer)[1] == "origin_refused"

    def test_without_one_there_is_no_preflight(self, door: Door):
        for origin in PAGES_AT_HOME[:3]:
            lines = ("Host: localhost", f"Origin: {origin}", "Access-Control-Request-Method: POST")
            assert door.send(door.head(CONFIRM, *lines, method="OPTIONS"))[0] == 405

    def test_what_is_no_origin_is_refused(self):
        with Workbench(seed=7) as bench:
            for origin in ("*", "null", "shop.example", "http://", "file:///x", "http://shop/x", "http://a b", "//"):
                with pytest.raises(ServeRefused, match="not the origin of a page"):
                    bench.serve(allow_origins=[origin])


HALF = ("Host: localhost", "Content-Type: application/json", "Content-Length: 80")


class TestTheBody:
    @pytest.mark.thorough
    def test_half_bodies_hold_nobody_up_and_are_given_up(self, hurried: Door):
        with ExitStack() as held:
            connections = [held.enter_context(hurried.connection()) for _ in range(64)]
            for each in connections:
                each.sendall(hurried.head("/v1/payment_intents", *HALF, method="POST") + b'{"amount": 1')
            time.sleep(0.2)
            for _ in range(3):
                before = time.monotonic()
                head = hurried.head("/sandbox/clock", "Host: localhost", f"Authorization: Bearer {hurried.key}")
                assert hurried.send(head)[0] == 200
                assert time.monotonic() - before < 1
            answers = [whole(each) for each in connections]
            assert all(each.split(b" ")[1] == b"408" and b'"code":"body_late"' in each for each in answers)

    @pytest.mark.thorough
    def test_one_that_drips_has_one_time_for_all_of_it(self, hurried: Door):
        begun = time.monotonic()
        with hurried.connection() as connection:
            connection.sendall(hurried.head("/v1/payment_intents", *HALF, method="POST"))
            connection.settimeout(0.25)
            got = b""
            while not got and time.monotonic() - begun < SHORT_S + 5:
                connection.sendall(b" ")
                with suppress(TimeoutError):
                    got = connection.recv(65_536)
        assert got.split(b" ")[1] == b"408"
        assert SHORT_S - 0.5 < time.monotonic() - begun < SHORT_S + 5

    @pytest.mark.parametrize("framing", ["Content-Length: 80", "Transfer-Encoding: chunked"])
    def test_one_that_ends_early_is_refused(self, door: Door, framing: str):
        sent = '{"amount": 1, "currency": "ZMW", "payment_method_types": ["mobile_money"]}'
        sent = sent if framing.startswith("C") else f"{len(sent):x}\r\n{sent}\r\n"
        lines = ("Host: localhost", f"Authorization: Bearer {door.key}", "Content-Type: application/json", framing)
        with door.connection() as connection:
            connection.sendall(door.head("/v1/payment_intents", *lines, method="POST") + sent.encode())
            connection.shutdown(socket.SHUT_WR)
            got = whole(connection)
        # A server may also drop a connection whose other end is gone; what it must not do is answer 200.
        assert got == b"" or got.split(b" ")[1] == b"400", got
