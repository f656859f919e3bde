"""The description and the pages through both doors: for everybody, numbered, and nothing from elsewhere."""

import re

from tests.doors.conftest import Wire
from workbench.domain import scenarios
from workbench.domain.catalogue import CODES, OPERATOR_NAMES
from workbench.domain.payments import FAILURES
from workbench.domain.wire import API_VERSION
from workbench.resources import guide
from workbench.sandbox.openapi.pages import PAGES

HTML = "text/html; charset=utf-8"
SCRIPT, STYLE = "text/javascript; charset=utf-8", "text/css; charset=utf-8"
ASSETS = {
    "swagger-ui-bundle.js": SCRIPT, "swagger-ui.css": STYLE, "favicon-32x32.png": "image/png", "docs.js": SCRIPT,
    "docs.css": STYLE,
}  # fmt: skip
GUIDE = "/docs/guide"
PAGES_FOR_PEOPLE = ("/", "/docs", "/docs/errors", "/docs/test-numbers", "/docs/interface", GUIDE)
TYPES = {
    **dict.fromkeys((*PAGES_FOR_PEOPLE, "/docs/guide/testing"), HTML),
    **dict.fromkeys(("/openapi.json", "/plants/openapi.json"), "application/json"),
    **{f"/docs/assets/{name}": media_type for name, media_type in ASSETS.items()},
}
NOT_THERE = (
    "VERSION", "swagger-ui.js", "..%2fpages.py", "..%2f..%2ftemplates%2fdocs.html", "%2e%2e%2fdocs.js", "docs.js%00",
    "%2fetc%2fpasswd", ".", "docs.js/",
)  # fmt: skip


def test_a_page_is_for_everybody_and_numbered(wire: Wire):
    names = {"/docs/assets/{name}": list(ASSETS), "/docs/guide/{name}": ["testing"]}
    assert {page.replace("{name}", name) for page in PAGES for name in names.get(page, [""])} == set(TYPES)
    since = wire.last_seq()
    for path, media_type in TYPES.items():
        response = wire.get(path, {})
        assert (response.status_code, response.headers["content-type"]) == (200, media_type)
        assert re.fullmatch(r"ctl_\w{24}", response.headers["request-id"])
        assert response.headers["api-version"] == API_VERSION
    assert wire.trace(since) == []  # it is no call of the merchant's


def test_a_page_loads_what_is_there_and_nothing_from_elsewhere(wire: Wire):
    for path in PAGES_FOR_PEOPLE:
        page = wire.get(path, {})
        loaded = re.findall(r"""(?:src|href)="([^"#]+)["#]""", page.text)
        assert "/docs/errors" in loaded
        assert path != "/" or {*PAGES_FOR_PEOPLE[1:], "/openapi.json"} <= {*loaded}
        for address in loaded:
            assert address.startswith("/")
            assert wire.get(address, {}).status_code == 200
        assert path != "/" or f"curl {wire.bench.base_url}/v1/charges" in page.text
        assert "//" not in page.text.replace(f"curl {wire.bench.base_url}/", "")
        assert not re.search(r"[sp]k_test_\w", page.text)
        # The browser is held to that.
        policy = page.headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; script-src 'self';")
        assert not [each for each in ("http", "*") if each in policy]


def test_every_page_of_the_documentation_is_reached_from_its_index_and_leads_to_places_that_are_there(wire: Wire):
    texts = {name: wire.get(f"/docs/guide/{name}", {}).text for name in guide()}
    leads = {*re.findall(r'href="(/docs/(?:guide|interface)[^"]*)"', "".join(texts.values()))}
    assert {GUIDE if name == "index" else f"{GUIDE}/{name}" for name in guide()} <= {
        each.partition("#")[0] for each in leads
    }
    for address in leads:
        path, _, place = address.partition("#")
        assert f'id="{place}"' in wire.get(path, {}).text or not place, address
    for text in texts.values():
        prose = re.sub(r"<(pre|code)>.*?</\1>", "", text, flags=re.DOTALL)
        assert not re.search(r"\*\*|`|\]\(|^[|#]|^- ", prose, re.MULTILINE), "Markdown that is not understood"
        assert not re.search(r'(?:src|href)="(?!/|#|data:)', text), "it would lead elsewhere"
    assert wire.get("/docs/guide/nowhere", {}).json()["code"] == "path_not_found"


def test_an_asset_is_kept_for_good_under_an_address_of_its_content_and_no_other_file_is_served(wire: Wire):
    page = wire.get("/docs", {}).text
    for name in ASSETS:
        response = wire.get(f"/docs/assets/{name}", {})
        assert "immutable" in response.headers["cache-control"]
        assert re.search(re.escape(name) + r"\?v=[0-9a-f]{12}\"", page)
        if name.endswith(".css"):
            assert "@import" not in response.text
            assert re.findall(r"url\((?![\"']?data:)[^)]*", response.text) == []
    script = wire.get("/docs/assets/docs.js", {}).text
    assert re.findall(r"https?:", script) == []
    assert "validatorUrl: null" in script, "the validator of Swagger is not asked"
    for name in NOT_THERE:
        response = wire.get(f"/docs/assets/{name}", {})
        assert (response.status_code, response.json()["code"]) == (404, "path_not_found")
    assert "/docs" in wire.get("/v1/plants", {}).json()["detail"]


def test_every_code_has_an_anchor_its_words_and_what_others_call_a_failure_and_every_number_what_it_does(wire: Wire):
    page = wire.get("/docs/errors", {}).text
    anchors = re.findall(r'<tr id="([^"]+)"', page)
    assert anchors == [*CODES, *(f"decline-{code}" for code in FAILURES)]
    assert all(f"{row.kind.status} {row.kind.title}" in page for row in CODES.values())
    assert all(name in page for names in OPERATOR_NAMES.values() for name in names)
    path, _, anchor = wire.get("/v1/charges/ch_0").json()["type"].partition("#")
    assert (path, anchor in anchors) == ("/docs/errors", True)
    page = wire.get("/docs/test-numbers", {}).text
    assert re.findall(r'<tr id="(\d{7})"', page) == list(scenarios.TEST_NUMBERS)
    assert all(each.says in page.replace("&#39;", "'") for each in scenarios.TEST_NUMBERS.values())


def test_a_method_that_is_not_described_is_refused_with_those_that_are_and_traced_as_any_call(wire: Wire):
    since = wire.last_seq()
    posts = ("/v1/payment_intents", "/v1/charges", "/plants", "/v1/auth/token")
    gets = (*TYPES, "/v1/charges", "/sandbox/clock", "/v1/payment_intents/pi_x")
    for path, takes in [*((path, {"GET", "HEAD"}) for path in gets), *((path, {"POST"}) for path in posts)]:
        for method in ("OPTIONS", "PUT", "PATCH", "TRACE", "FOO"):
            response = wire.bench.http.request(method, path)
            assert (response.status_code, response.json()["code"]) == (405, "method_not_allowed")
            assert takes <= set(response.headers["allow"].split(", ")) - {method}, (method, path)
            assert re.fullmatch(r"(req|ctl|sim)_\w{24}", response.headers["request-id"])
            assert response.headers["content-type"] == "application/problem+json"
    assert "OPTIONS /v1/charges" in [row["what"] for row in wire.trace(since)]


def test_head_is_get_without_the_body(wire: Wire):
    own = ("request-id", "content-length", "date")
    for path in (*TYPES, "/v1/charges", "/sandbox/clock", "/v1/charges/ch_0"):
        got, asked = (wire.bench.http.request(method, path, headers=wire.bearer) for method in ("GET", "HEAD"))
        assert (asked.status_code, asked.content) == (got.status_code, b"")
        assert {name: value for name, value in asked.headers.items() if name not in own} == {
            name: value for name, value in got.headers.items() if name not in own
        }
        assert 0 <= int(asked.headers["content-length"]) - len(got.content) <= 1  # of a clock that runs on
    assert wire.bench.http.head("/v1/charges").status_code == 401
    refused = wire.bench.http.head("/v1/dead_letters/replay", headers=wire.bearer)
    assert (refused.status_code, refused.headers["allow"]) == (405, "POST")
