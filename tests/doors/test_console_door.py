"""Who is let into the console of a served sandbox, through real sockets: by a code, by a cookie, from which page."""

import json
import os
import re
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import httpx
import pytest

from tests.conftest import INTENT, Server, Serving, charge_of, is_true_soon
from tests.doors.test_streams import worker_of
from workbench import Workbench

OPTIONS = ("--port", "0", "--json")
LINK = re.compile(r"http://127\.0\.0\.1:[0-9]+/\?code=([0-9A-Za-z]{24})\n")
CHARGE = charge_of("+260960000001", 15_000)
KEYS, CHANGES = "/sandbox/keys", "/sandbox/changes"
SAME = {"Sec-Fetch-Site": "same-origin"}
FRAMES = "frame-ancestors 'none'"


class Console(NamedTuple):
    """A browser that was let in: its cookie, and the server."""

    url: str
    cookie: str
    server: Server

    @classmethod
    def of(cls, server: Server, link: str | None = None) -> "Console":
        response = httpx.get(link or server.console_url)
        assert response.status_code == 303, response.text
        return cls(server.address["base_url"], response.headers["set-cookie"].partition(";")[0], server)

    @property
    def origin(self) -> dict[str, str]:
        return {"Origin": self.url}

    def ask(self, method: str, path: str, body: object = None, **headers: str) -> httpx.Response:
        """A request with the cookie, and nothing that says which page it is from unless it is given."""
        named = {"Cookie": self.cookie, **{name.replace("_", "-"): value for name, value in headers.items()}}
        return httpx.request(method, f"{self.url}{path}", json=body, headers=named)

    def begins_to_stream(self) -> tuple[int, str]:
        """The status and the first line of what changes, as a stream."""
        headers = {"Cookie": self.cookie, "Accept": "text/event-stream", **SAME}
        with httpx.stream("GET", f"{self.url}{CHANGES}", headers=headers) as stream:
            return stream.status_code, next(stream.iter_lines())

    def status(self, method: str, path: str, body: object = None, **headers: str) -> tuple[int, str]:
        response = self.ask(method, path, body, **headers)
        return response.status_code, "" if response.is_success else response.json()["code"]


@pytest.fixture(scope="module")
def server(serving: Serving) -> Iterator[Server]:
    with serving(*OPTIONS, "--seed", "7", "--allow-origin", "http://127.0.0.1:3000") as served:
        yield served


@pytest.fixture(scope="module")
def console(server: Server) -> Console:
    return Console.of(server)


def links(server: Server) -> list[str]:
    """The links that were printed on standard error."""
    return [found[0].strip() for found in LINK.finditer(server.errors)]


def next_link(server: Server, before: int) -> str:
    assert is_true_soon(lambda: len(links(server)) > before), server.errors
    return links(server)[-1]


class TestTheCode:
    @pytest.mark.thorough
    def test_it_is_exchanged_for_a_cookie_once(self, serving: Serving):
        with serving(*OPTIONS) as server:
            assert LINK.fullmatch(f"{server.console_url}\n")
            url, port = server.address["base_url"], server.address["base_url"].rpartition(":")[2]
            without = httpx.get(url)
            assert (without.status_code, "Open the console" in without.text) == (200, True)
            # Who only looks whether something is there uses nothing up.
            assert httpx.head(server.console_url).status_code == 200
            let_in = httpx.get(server.console_url)
            assert (let_in.status_code, let_in.headers["location"], let_in.content) == (303, "/", b"")
            assert (let_in.headers["referrer-policy"], let_in.headers["cache-control"]) == ("no-referrer", "no-store")
            cookie, *attributes = let_in.headers["set-cookie"].split("; ")
            assert re.fullmatch(rf"workbench_{port}=[0-9A-Za-z]{{24}}", cookie)
            assert sorted(attributes) == ["HttpOnly", "Path=/", "SameSite=Strict"]  # of this host: no Domain
            assert cookie.partition("=")[2] not in server.console_url
            again = httpx.get(server.console_url)
            assert (again.status_code, "set-cookie" in again.headers) == (403, False)
            assert "does not work" in again.text
            assert (again.headers["referrer-policy"], again.headers["cache-control"]) == ("no-referrer", "no-store")
            page = httpx.get(url, headers={"Cookie": cookie})
            assert (page.status_code, 'src="/console/main.js"' in page.text) == (200, True)
            assert not re.search(r"[sp]k_test_\w", page.text + without.text + again.text)
            # Whoever is in already may follow any link.
            back = httpx.get(server.console_url, headers={"Cookie": cookie})
            assert (back.status_code, back.headers["location"], "set-cookie" in back.headers) == (303, "/", False)

    @pytest.mark.thorough
    def test_a_guess_is_refused_and_uses_nothing_up(self, serving: Serving):
        with serving(*OPTIONS) as server:
            url, code = server.address["base_url"], server.console_url.rpartition("=")[2]
            guesses = ["", "0" * 24, code[:-1], code + "0", code.swapcase(), "Ω", f"{code}&code={code}", "%00"]
            for guess in guesses:
                response = httpx.get(f"{url}/?code={guess}")
                assert (response.status_code, "set-cookie" in response.headers) == (403, False), guess
            assert httpx.post(f"{url}/?code={code}").status_code == 405
            assert httpx.get(server.console_url).status_code == 303

    @pytest.mark.thorough
    def test_no_log_and_no_trace_holds_it(self, serving: Serving, tmp_path: Path):
        store = tmp_path / "store.db"
        with serving(*OPTIONS, "--store", str(store)) as server:
            url, code = server.address["base_url"], server.console_url.rpartition("=")[2]
            httpx.post(f"{url}/?code={code}")
            httpx.get(f"{url}/?c%6fde={code}", headers={"Host": "evil.example"})
            httpx.get(f"{url}/v1/nothing?x=1&code={code}")
            httpx.get(server.console_url)
            httpx.get(f"{url}/?code={code}0")
            assert is_true_soon(lambda: server.errors.count("/?code=••••") == 4), server.errors
            bearer = {"Authorization": f"Bearer {server.address['secret_key']}"}
            rows = httpx.get(f"{url}/sandbox/trace", headers=bearer)
            assert rows.text.count("code=••••") >= 3
            used = server.errors + rows.text
        assert code not in used
        with sqlite3.connect(store) as connection:
            kept = "".join(connection.iterdump())
        assert code not in kept

    @pytest.mark.thorough
    def test_quiet_prints_the_first_one_alone(self, serving: Serving):
        with serving(*OPTIONS, "--quiet") as server:
            assert httpx.get(server.console_url).status_code == 303
            assert httpx.get(server.console_url).status_code == 403
            assert server.errors == ""

    @pytest.mark.thorough
    def test_of_two_workers_each_knows_what_the_other_let_in(self, serving: Serving):
        with serving(*OPTIONS, "--workers", "2") as server:
            met = dict[int | None, Console]()
            link, cookies = server.console_url, set[str]()
            for _ in range(60):
                with httpx.Client() as http:
                    http.get(f"{server.address['base_url']}/docs/errors")
                    (kept,) = http._transport._pool.connections  # type: ignore[attr-defined]  # noqa: SLF001  whose socket it is
                    port = kept._connection._network_stream.get_extra_info("client_addr")[1]  # noqa: SLF001  the same
                    worker = worker_of(server, port)
                    if not met:
                        let_in = http.get(link)
                        assert let_in.status_code == 303
                        cookies.add(let_in.headers["set-cookie"].partition(";")[0])
                    elif worker not in met:
                        # The other one: the code is used up, the cookie counts.
                        assert http.get(link).status_code == 403
                        (cookie,) = cookies
                        read = http.get(f"{server.address['base_url']}{KEYS}", headers={"Cookie": cookie, **SAME})
                        assert read.status_code == 200
                        assert http.get(next_link(server, 0)).status_code == 303
                        return
                    met[worker] = None  # type: ignore[assignment]  that it was met
        pytest.fail("the other worker was never asked")


class TestTheCookie:
    def test_it_stands_for_the_secret_key_in_what_the_page_itself_reads(self, console: Console):
        keys = console.ask("GET", KEYS, **SAME)
        assert keys.json()["secret_key"] == console.server.address["secret_key"]
        assert keys.headers["cache-control"] == "no-store"
        assert console.status("HEAD", KEYS, **SAME)[0] == 200
        assert console.status("GET", KEYS, **console.origin)[0] == 200
        assert console.begins_to_stream() == (200, ":")

    def test_and_in_what_it_changes_in_the_scheme_that_the_operation_takes(self, console: Console):
        intent = console.ask("POST", "/v1/payment_intents", INTENT, **console.origin)
        charge = console.ask("POST", "/v1/charges", CHARGE, Idempotency_Key="order-1", **console.origin)
        again = console.ask("POST", "/v1/charges", CHARGE, Idempotency_Key="order-1", **console.origin)
        assert [each.status_code for each in (intent, charge, again)] == [200] * 3
        assert again.headers["idempotent-replayed"] == "true"
        rows = [
            console.ask("GET", f"/sandbox/requests/{each.headers['request-id']}", **SAME).json()["detail"]["request"]
            for each in (intent, charge)
        ]
        assert [row["headers"]["Authorization"] for row in rows] == ["Bearer sk_test_••••", "Basic ••••"]
        assert not [row for row in rows if "cookie" in {name.lower() for name in row["headers"]}]
        code = console.ask("GET", f"/sandbox/requests/{charge.headers['request-id']}/code", **SAME).json()
        assert '-u "$SECRET_KEY:"' in code["curl"]

    @pytest.mark.thorough
    def test_it_does_nothing_in_a_request_that_the_page_did_not_send(self, console: Console):
        missing = (401, "key_missing")
        port = int(console.url.rpartition(":")[2])
        for site in ("same-site", "cross-site", "none", "", "Same-Origin"):
            assert console.status("GET", KEYS, Sec_Fetch_Site=site) == missing
        assert console.status("GET", KEYS) == missing
        others = [f"http://127.0.0.1:{port + 1}", "http://127.0.0.1", f"http://localhost:{port}", "http://[::1]:3000"]
        for origin in others:
            # Even if it says the rest, which no browser lets a page do.
            assert console.status("GET", KEYS, Origin=origin, **SAME) == missing
            assert console.status("GET", CHANGES, Origin=origin, Accept="text/event-stream", **SAME) == missing
            assert console.status("POST", "/v1/payment_intents", INTENT, Origin=origin, **SAME) == missing
        for origin in ("null", "https://evil.example", f"http://127.0.0.1:{port}.evil.example", "http://", "://"):
            assert console.status("POST", "/sandbox/reset", Origin=origin, **SAME) == (403, "origin_refused")
        # A form that another page sends has no header of the page's own, whatever browser it is.
        assert console.status("POST", "/sandbox/reset", **SAME) == missing
        assert console.status("POST", "/sandbox/reset", Sec_Fetch_Site="same-site") == missing

    def test_a_page_that_may_call_with_a_publishable_key_may_not_with_the_cookie(self, console: Console):
        intent = console.ask("POST", "/v1/payment_intents", INTENT, **console.origin).json()
        shop = {"Origin": "http://127.0.0.1:3000", "Sec_Fetch_Site": "same-site"}
        path = f"/v1/payment_intents/{intent['id']}"
        assert console.status("GET", f"{path}?client_secret={intent['client_secret']}", **shop) == (401, "key_missing")
        assert console.status("GET", KEYS, **shop) == (401, "key_missing")
        answer = console.ask("GET", path, **shop)
        assert "access-control-allow-credentials" not in answer.headers

    @pytest.mark.thorough
    def test_another_name_in_host_is_refused_before_anything_else(self, serving: Serving):
        with serving(*OPTIONS) as server:
            code, evil = server.console_url.rpartition("/")[2], {"Host": "evil.example"}
            rebound = httpx.get(f"{server.address['base_url']}/{code}", headers=evil)
            assert (rebound.status_code, "set-cookie" in rebound.headers) == (421, False)
            console = Console.of(server)  # it was not used up
            own = {"Origin": "http://evil.example", **SAME, **evil}
            assert console.status("GET", KEYS, **own) == (421, "host_refused")
            assert console.status("GET", "/", **evil) == (421, "host_refused")
            assert console.status("POST", "/sandbox/reset", **own) == (421, "host_refused")

    def test_a_key_that_is_sent_wins(self, console: Console):
        sent = {"Authorization": "Bearer sk_test_nobody"}
        assert console.status("GET", KEYS, **SAME, **sent) == (401, "key_invalid")
        publishable = {"Authorization": f"Bearer {console.server.address['publishable_key']}"}
        assert console.status("GET", KEYS, **SAME, **publishable) == (403, "key_not_allowed")

    @pytest.mark.thorough
    def test_that_of_another_server_is_none(self, console: Console, serving: Serving):
        with serving(*OPTIONS, "--seed", "7") as other:
            theirs = Console.of(other).cookie
        name = console.cookie.partition("=")[0]
        renamed = f"{name}={theirs.partition('=')[2]}"
        for cookie in (theirs, renamed, f"{name}=", name, console.cookie[:-1], f"x{console.cookie}", "", ";;", "Ω=1"):
            headers = {"Cookie": cookie.encode(), **SAME}
            assert httpx.get(f"{console.url}{KEYS}", headers=headers).status_code == 401, cookie
        beside = {"Cookie": f"{theirs}; {renamed}; a=b; {console.cookie}", **SAME}
        assert httpx.get(f"{console.url}{KEYS}", headers=beside).status_code == 200

    @pytest.mark.thorough
    def test_it_ends_with_the_server(self, serving: Serving, tmp_path: Path):
        options = ("--json", "--seed", "7", "--store", str(tmp_path / "store.db"))
        with serving("--port", "0", *options) as server:
            console = Console.of(server)
            port = console.url.rpartition(":")[2]
        with serving("--port", port, *options) as again:
            assert console.status("GET", KEYS, **SAME) == (401, "key_missing")
            assert "Open the console" in console.ask("GET", "/").text
            assert again.console_url != server.console_url
            assert httpx.get(server.console_url).status_code == 403


class TestThePage:
    def test_nobody_may_frame_it_and_nothing_inline_runs(self, console: Console):
        for page in (console.ask("GET", "/"), httpx.get(console.url), httpx.get(f"{console.url}/?code=0")):
            policy = page.headers["content-security-policy"]
            assert FRAMES in policy
            assert "unsafe" not in policy
            assert not re.search(r"<script>|<style|\son\w+=|\sstyle=", page.text)

    @pytest.mark.thorough
    def test_its_files_are_served_as_they_are_and_no_other(self, console: Console):
        folder = Path(__file__).parents[2] / "workbench" / "lab" / "console"
        types = {".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8"}
        files = [each for each in folder.rglob("*") if each.suffix in types]
        assert {"main.js", "console.css", "preact.js"} <= {each.name for each in files}
        for each in files:
            served = httpx.get(f"{console.url}/console/{each.relative_to(folder).as_posix()}")
            assert (served.status_code, served.content) == (200, each.read_bytes())
            assert served.headers["content-type"] == types[each.suffix]
            assert served.headers["cache-control"] == "no-cache"
            assert served.headers["x-content-type-options"] == "nosniff"
        loaded = re.findall(r'(?:src|href)="([^"]+)"', console.ask("GET", "/").text)
        assert loaded
        assert [httpx.get(f"{console.url}{each}").status_code for each in loaded] == [200] * len(loaded)
        for name in (
            "nothing.js", "vendor", "vendor/LICENSE-htm", "vendor/VERSIONS.txt", "..%2f__init__.py", "../x.js",
            "..%2f..%2fsandbox%2fconsole_door.py", "..%2fserver%2fx.js", "%00.js", "main.js%00.css", "~x.js",
            "..%5cx.js",
        ):  # fmt: skip
            response = httpx.get(f"{console.url}/console/{name}")
            assert response.status_code == 404, name

    def test_what_the_page_loads_is_no_line_of_the_log(self, console: Console):
        before = console.server.errors
        httpx.get(f"{console.url}/console/main.js")
        console.begins_to_stream()
        console.ask("GET", "/v1/balance", **SAME)
        assert is_true_soon(lambda: "/v1/balance" in console.server.errors[len(before) :])
        assert not re.search("/console/|/sandbox/changes", console.server.errors[len(before) :])


def test_a_sandbox_in_a_notebook_has_no_such_door():
    with Workbench(seed=7) as bench, bench.serve() as served:
        for page in (bench.http.get("/"), httpx.get(served.base_url), httpx.get(f"{served.base_url}/?code=0")):
            assert (page.status_code, "bench.console()" in page.text, "<form" in page.text) == (200, True, False)


class TestTheCommand:
    @pytest.mark.thorough
    def test_open_has_the_link_opened_in_a_browser(
        self, serving: Serving, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ):
        opened = tmp_path / "opened.txt"
        opener = tmp_path / "xdg-open"
        opener.write_text(f'#!/bin/sh\nprintf "%s" "$1" > "{opened}"\n')
        opener.chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
        for workers in ("1", "2"):
            with serving(*OPTIONS, "--open", "--workers", workers) as server:
                assert is_true_soon(opened.exists)
                assert is_true_soon(lambda server=server: opened.read_text() == server.console_url)
                assert Console.of(server).status("GET", KEYS, **SAME)[0] == 200
            opened.unlink()

    @pytest.mark.thorough
    def test_without_json_the_link_stands_where_a_person_looks(self, serving: Serving):
        with serving("--port", "0") as server:
            assert server.process.stdout
            text = server.first_line + "".join(server.process.stdout.readline() for _ in range(3))
            assert LINK.search(text), text

    def test_json_has_it(self, server: Server):
        assert {*json.loads(server.first_line)} == {"base_url", "secret_key", "publishable_key", "console_url"}
