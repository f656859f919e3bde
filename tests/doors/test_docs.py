"""The description and the pages through both doors: for everybody, numbered, and nothing from elsewhere."""

import html
import json
import os
import re
import subprocess
from typing import TYPE_CHECKING

import pytest

from workbench import Workbench
from workbench.domain import scenarios
from workbench.domain.catalogue import CODES, OPERATOR_NAMES
from workbench.domain.payments import FAILURES
from workbench.domain.wire import API_VERSION
from workbench.sandbox.openapi.pages import PAGES

if TYPE_CHECKING:
    from tests.doors.conftest import Wire

HTML = "text/html; charset=utf-8"
SCRIPT, STYLE = "text/javascript; charset=utf-8", "text/css; charset=utf-8"
ASSETS = {
    "swagger-ui-bundle.js": SCRIPT, "swagger-ui.css": STYLE, "favicon-32x32.png": "image/png", "docs.js": SCRIPT,
    "docs.css": STYLE,
}  # fmt: skip
PAGES_FOR_PEOPLE = ("/", "/docs", "/docs/errors", "/docs/test-numbers")
TYPES = {
    **dict.fromkeys(PAGES_FOR_PEOPLE, HTML),
    **dict.fromkeys(("/openapi.json", "/plants/openapi.json"), "application/json"),
    **{f"/docs/assets/{name}": media_type for name, media_type in ASSETS.items()},
}
NOT_THERE = (
    "VERSION", "swagger-ui.js", "..%2fpages.py", "..%2f..%2ftemplates%2fdocs.html", "%2e%2e%2fdocs.js", "docs.js%00",
    "%2fetc%2fpasswd", ".", "docs.js/",
)  # fmt: skip


def test_these_are_all_pages():
    assert {page.replace("{name}", name) for page in PAGES for name in ASSETS} == set(TYPES)


def test_a_page_is_for_everybody_and_numbered(wire: "Wire"):
    since = wire.last_seq()
    for path, media_type in TYPES.items():
        response = wire.get(path, {})
        assert (response.status_code, response.headers["content-type"]) == (200, media_type)
        assert re.fullmatch(r"ctl_\w{24}", response.headers["request-id"])
        assert response.headers["api-version"] == API_VERSION
    assert wire.trace(since) == []  # it is no call of the merchant's


def test_a_page_loads_what_is_there_and_nothing_from_elsewhere(wire: "Wire"):
    for path in PAGES_FOR_PEOPLE:
        page = wire.get(path, {})
        loaded = re.findall(r"""(?:src|href)="([^"#]+)["#]""", page.text)
        assert "/docs/errors" in loaded
        for address in loaded:
            assert address.startswith("/")
            assert wire.get(address, {}).status_code == 200
        assert "//" not in page.text.replace(f"curl {wire.bench.base_url}/", "")
        # The browser is held to that.
        policy = page.headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; script-src 'self';")
        assert "http" not in policy
        assert "*" not in policy


class TestTheFirstPage:
    def test_it_leads_to_the_others_holds_no_key_and_calls_by_the_name_it_was_called_by(self, wire: "Wire"):
        page = wire.get("/", {}).text
        assert all(f'<a href="{each}">' in page for each in (*PAGES_FOR_PEOPLE[1:], "/openapi.json"))
        assert str(wire.bench.secret_key) not in page
        assert not re.search(r"[sp]k_test_\w", page)
        response = wire.bench.http.get("/", headers={"Host": "shop.localhost:4242"})
        assert "curl http://shop.localhost:4242/v1/charges" in response.text

    def test_its_calls_work_as_they_are_copied(self, wire: "Wire"):
        page = wire.get("/", {}).text
        if wire.bench.base_url.endswith("sandbox.localhost"):
            pytest.skip("curl calls a port")
        calls = [html.unescape(each) for each in re.findall(r"<pre><code>(.+?)</code></pre>", page, re.DOTALL)]
        # The served sandbox is shared: the key of the one call that makes something is made its own.
        calls = [each.replace("order-1", wire.new_key()) for each in calls]
        env = {"PATH": os.environ["PATH"], "KEY": str(wire.bench.secret_key)}
        done = [subprocess.run(["bash", "-c", each], env=env, capture_output=True, check=True) for each in calls]  # noqa: S603, S607  our own page's lines
        charge, listed, postings = (json.loads(each.stdout) for each in done)
        assert (charge["status"], charge["amount"]) == ("succeeded", 15_000)
        assert listed["data"][0]["id"] == charge["id"]
        assert [row["amount_minor"] for row in postings["data"] if row["payment"] == charge["id"]][:1] == [15_000]


def test_the_description_is_of_the_choices_in_force():
    with Workbench(seed=7, gaps={"version_header": "none", "unknown_fields": "refused"}) as bench:
        components = bench.http.get("/openapi.json").json()["components"]
    assert "Api-Version" not in components["headers"]
    assert components["schemas"]["CreateCharge"]["additionalProperties"] is False


class TestAssets:
    def test_one_is_kept_for_good_under_an_address_of_its_content_and_no_other_file_is_served(self, wire: "Wire"):
        page = wire.get("/docs", {}).text
        for name in ASSETS:
            response = wire.get(f"/docs/assets/{name}", {})
            assert "immutable" in response.headers["cache-control"]
            assert len(response.content) > 100
            assert re.search(re.escape(name) + r"\?v=[0-9a-f]{12}\"", page)
        for name in NOT_THERE:
            response = wire.get(f"/docs/assets/{name}", {})
            assert (response.status_code, response.json()["code"]) == (404, "path_not_found")

    def test_styles_and_our_script_load_nothing(self, wire: "Wire"):
        for name in ("docs.css", "swagger-ui.css"):
            text = wire.get(f"/docs/assets/{name}", {}).text
            assert "@import" not in text
            assert re.findall(r"url\((?![\"']?data:)[^)]*", text) == []
        script = wire.get("/docs/assets/docs.js", {}).text
        assert re.findall(r"https?:", script) == []
        assert "validatorUrl: null" in script, "the validator of Swagger is not asked"


def test_every_code_has_an_anchor_its_words_and_what_others_call_a_failure(wire: "Wire"):
    page = wire.get("/docs/errors", {}).text
    anchors = re.findall(r'<tr id="([^"]+)"', page)
    assert anchors == [*CODES, *(f"decline-{code}" for code in FAILURES)]
    assert all(f"{row.kind.status} {row.kind.title}" in page for row in CODES.values())
    assert all(name in page for names in OPERATOR_NAMES.values() for name in names)
    path, _, anchor = wire.get("/v1/charges/ch_0").json()["type"].partition("#")
    assert path == "/docs/errors"
    assert anchor in anchors


def test_every_test_number_is_told(wire: "Wire"):
    page = wire.get("/docs/test-numbers", {}).text
    assert re.findall(r'<tr id="(\d{7})"', page) == list(scenarios.TEST_NUMBERS)
    assert all(each.says in page.replace("&#39;", "'") for each in scenarios.TEST_NUMBERS.values())


class TestOtherMethods:
    def test_a_method_that_is_not_described_is_refused_with_those_that_are(self, wire: "Wire"):
        posts = ("/v1/payment_intents", "/v1/payment_intents/pi_x/confirm", "/v1/charges", "/plants", "/v1/auth/token")
        gets = (*TYPES, "/v1/charges", "/v1/balance", "/sandbox/clock", "/v1/payment_intents/pi_x")
        right = [*((path, {"GET", "HEAD"}) for path in gets), *((path, {"POST"}) for path in posts)]
        for path, takes in right:
            for method in ("OPTIONS", "PUT", "PATCH", "TRACE", "FOO"):
                response = wire.bench.http.request(method, path)
                assert (response.status_code, response.json()["code"]) == (405, "method_not_allowed")
                assert takes <= set(response.headers["allow"].split(", ")), (method, path)
                assert method not in response.headers["allow"]
                assert re.fullmatch(r"(req|ctl|sim)_\w{24}", response.headers["request-id"])
                assert response.headers["api-version"] == API_VERSION
                assert response.headers["content-type"] == "application/problem+json"

    def test_head_is_get_without_the_body(self, wire: "Wire"):
        own = ("request-id", "content-length", "date")
        for path in (*TYPES, "/v1/charges", "/v1/balance", "/sandbox/clock", "/v1/charges/ch_0"):
            got, asked = (wire.bench.http.request(method, path, headers=wire.bearer) for method in ("GET", "HEAD"))
            assert (asked.status_code, asked.content) == (got.status_code, b"")
            assert {name: value for name, value in asked.headers.items() if name not in own} == {
                name: value for name, value in got.headers.items() if name not in own
            }
            assert 0 <= int(asked.headers["content-length"]) - len(got.content) <= 1  # of a clock that runs on

    def test_head_without_a_key_and_where_there_is_no_get(self, wire: "Wire"):
        assert wire.bench.http.head("/v1/charges").status_code == 401
        refused = wire.bench.http.head("/v1/dead_letters/replay", headers=wire.bearer)
        assert (refused.status_code, refused.headers["allow"]) == (405, "POST")

    def test_a_refused_method_is_traced_as_any_call(self, wire: "Wire"):
        since = wire.last_seq()
        wire.bench.http.request("OPTIONS", "/v1/charges")
        assert [row["what"] for row in wire.trace(since)] == ["OPTIONS /v1/charges"]


def test_a_path_that_there_is_not_points_to_those_that_there_are(wire: "Wire"):
    for path in ("/v1/plants", "/v1", "/docs/nothing"):
        response = wire.get(path, {})
        assert (response.status_code, response.json()["code"]) == (404, "path_not_found")
        assert "/docs" in response.json()["detail"]
        assert response.headers["request-id"]
