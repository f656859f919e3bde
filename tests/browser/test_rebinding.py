"""A page of another site, whose name comes to be resolved to this machine, does not reach a sandbox that is served."""

import http.server
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from tests.browser.conftest import Tools
    from tests.conftest import Serving

EVIL = "evil.example"
CALL = """async ([url, options]) => {
    try { const got = await fetch(url, options); return [got.status, await got.text()] } catch { return [0, ""] }
}"""
JSON = {"Content-Type": "application/json"}
TOKEN = {"method": "POST", "headers": JSON, "body": '{"email": "a@b.example", "password": "x"}'}


class Elsewhere(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<title>evil</title>")

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def site() -> Iterator[int]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Elsewhere) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_port
        server.shutdown()


@pytest.fixture(scope="module")
def page(tools: "Tools", flags: tuple[str, ...], tmp_path_factory: pytest.TempPathFactory) -> Iterator["Page"]:
    """A browser for which the other site's name is this machine."""
    from playwright.sync_api import sync_playwright

    own = [each for each in flags if "host-resolver-rules" not in each]
    rebound = f"--host-resolver-rules=MAP {EVIL} 127.0.0.1, MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"
    home: dict[str, str | float | bool] = {"HOME": str(tmp_path_factory.mktemp("home"))}
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=tools.chromium, args=[*own, rebound], env=home)
        yield browser.new_page()
        browser.close()


@pytest.fixture(scope="module")
def port(serving: "Serving") -> Iterator[int]:
    with serving("--port", "0", "--json") as server:
        yield urlsplit(server.address["base_url"]).port or 0


def calls(page: "Page", url: str, **options: Any) -> tuple[int, str]:  # noqa: ANN401  options of fetch
    status, text = page.evaluate(CALL, [url, options])
    return status, text


def test_at_home_a_page_may_ask_and_a_name_that_leads_here_shows_and_gets_nothing(page: "Page", port: int):
    page.goto(f"http://127.0.0.1:{port}/")
    status, text = calls(page, "/v1/auth/token", **TOKEN)
    assert (status, "access_token" in text) == (200, True)
    for path in ("/docs", "/openapi.json", "/sandbox/ledger/entries", "/"):
        response = page.goto(f"http://{EVIL}:{port}{path}")
        assert response is not None
        assert (path, response.status, response.json()["code"]) == (path, 421, "host_refused")
    status, text = calls(page, "/v1/auth/token", **TOKEN)
    assert (status, "access_token" in text) == (421, False)
    assert calls(page, "/openapi.json")[0] == 421


@pytest.mark.parametrize("mode", ["cors", "no-cors"])
def test_a_page_elsewhere_cannot_have_anything_done(page: "Page", port: int, site: int, mode: str):
    page.goto(f"http://{EVIL}:{site}/")
    seen: list[int] = []
    page.on("response", lambda response: seen.append(response.status))
    assert calls(page, f"http://127.0.0.1:{port}/v1/auth/token", method="POST", mode=mode, body="{}") == (0, "")
    assert set(seen) <= {403}
