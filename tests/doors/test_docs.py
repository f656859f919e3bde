"""The description and the pages through both doors: for everybody, numbered, and nothing from elsewhere."""

import json
import os
import re
import shutil
import subprocess
import threading
from html.parser import HTMLParser

import httpx
import pytest

from tests.doors.conftest import Wire
from workbench import Workbench
from workbench.domain import scenarios
from workbench.domain.catalogue import CODES, OPERATOR_NAMES
from workbench.domain.payments import ADVICE, FAILURES
from workbench.domain.wire.keys_and_events import API_VERSION
from workbench.resources import guide_paths
from workbench.sandbox.openapi import pages
from workbench.sandbox.openapi.document import document
from workbench.sandbox.openapi.pages import PAGES

HTML = "text/html; charset=utf-8"
ASSETS = {"mark.svg": "image/svg+xml"} | dict.fromkeys(("look.css", "page.css", "docs.css"), "text/css; charset=utf-8")
GUIDE = "/docs/guide"
PAGES_FOR_PEOPLE = ("/", "/docs", "/docs/errors", "/docs/test-numbers", "/docs/interface", GUIDE)
TYPES = {
    **dict.fromkeys((*PAGES_FOR_PEOPLE, "/docs/guide/testing"), HTML),
    **dict.fromkeys(("/openapi.json", "/plants/openapi.json"), "application/json"),
    **{f"/docs/assets/{name}": media_type for name, media_type in ASSETS.items()},
    **dict.fromkeys(("/console/console.css", "/console/look.css"), "text/css; charset=utf-8"),
    "/console/vendor/preact.js": "text/javascript; charset=utf-8",
}
NOT_THERE = (
    "notebook.css", "docs.js", "..%2fpages.py", "..%2f..%2ftemplates%2fdocs.html", "%2e%2e%2fdocs.css", "docs.css%00",
    "%2fetc%2fpasswd", ".", "docs.css/",
)  # fmt: skip
SAMPLE = (
    "createPaymentIntent", "listPaymentIntents", "createCharge", "retrieveBalance", "createWebhookEndpoint",
    "createApiKey", "createPlant", "issueToken", "sandboxClock", "sandboxAdvance", "sandboxScript", "sandboxMovements",
)  # fmt: skip
"""Operations whose call runs as it is copied: it names no object of an earlier run."""


class Read(HTMLParser):
    """A page as its elements: by id, their links and what each of them has in `pre`."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.links: list[str] = []
        self.inline: list[str] = []
        self.calls: dict[tuple[str, str], str] = {}
        self._section = self._language = ""
        self._in_code = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.ids += [given["id"]] if "id" in given else []
        self.links += [given[name] for name in ("href", "src") if name in given]
        self.inline += [tag] if tag in {"style", "script"} else []
        self.inline += [name for name in given if name == "style" or name.startswith("on")]
        kind = given.get("class", "")
        self._section = given["id"] if kind == "operation" else self._section
        self._language = "" if tag == "section" else self._language
        self._language = kind if kind in {"curl", "python", "javascript"} else self._language
        self._language = "" if tag == "details" else self._language
        self._in_code = tag == "code"

    def handle_endtag(self, tag: str) -> None:
        self._in_code = self._in_code and tag != "code"

    def handle_data(self, data: str) -> None:
        if self._in_code and self._language and self._section:
            place = self._section, self._language
            self.calls[place] = self.calls.get(place, "") + data


def test_a_page_is_for_everybody_and_numbered(wire: Wire):
    names = {
        "/docs/assets/{name}": list(ASSETS), "/docs/guide/{name}": ["testing"],
        "/console/{name}": ["console.css", "look.css"], "/console/vendor/{name}": ["preact.js"],
    }  # fmt: skip
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
        assert all(address.startswith("/") for address in loaded)
        assert Read(page.text).inline == []
        assert not re.search(r"[sp]k_test_\w", page.text)
        # The browser is held to that.
        policy = page.headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self';")
        assert "unsafe" not in policy
        assert not [each for each in ("http", "*") if each in policy]


def test_every_page_of_the_documentation_is_reached_from_another_and_is_understood(wire: Wire):
    texts = {name: wire.get(f"/docs/guide/{name}", {}).text for name in guide_paths()}
    leads = {*re.findall(r'href="(/docs/(?:guide|interface)[^"]*)"', "".join(texts.values()))}
    assert {GUIDE if name == "index" else f"{GUIDE}/{name}" for name in guide_paths()} <= {
        each.partition("#")[0] for each in leads
    }
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
    for name in NOT_THERE:
        response = wire.get(f"/docs/assets/{name}", {})
        assert (response.status_code, response.json()["code"]) == (404, "path_not_found")
    for path in ("/console/", "/console/vendor/", "/docs/assets/", "/docs/guide/"):
        assert wire.get(f"{path}{'x' * 300}.js", {}).json()["code"] == "path_not_found"
    assert "/docs" in wire.get("/v1/plants", {}).json()["detail"]


def test_every_operation_has_its_section_its_schema_and_its_calls(wire: Wire):
    described, page = wire.get("/openapi.json", {}).json(), wire.get("/docs", {}).text
    read = Read(page)
    assert len(read.ids) == len({*read.ids})
    operations = {
        each["operationId"]: (method.upper(), path, each)
        for path, item in described["paths"].items()
        for method, each in item.items()
    }
    events = {each["post"]["operationId"] for each in described["webhooks"].values()}
    schemas = described["components"]["schemas"]
    assert operations.keys() | events | {f"object-{name}" for name in schemas} <= {*read.ids}
    assert {(name, language) for name in operations for language in ("curl", "python", "javascript")} == {*read.calls}
    sections = dict(re.findall(r'<section class="operation" id="(\w+)"(.*?)</section>', page, re.DOTALL))
    for name, (method, path, each) in operations.items():
        section = sections[name]
        text = re.sub(r"<wbr>", "", section)
        assert f'<span class="method {method}">{method}</span> <code>{path}</code>' in text
        assert re.search(rf'class="pill[ a-z]*">{each["x-provenance"]}</span>', section)
        assert all(f"#section-{one}" in section for one in each.get("x-section", "").split(", ") if one)
        assert all(f"<code>{one['name']}</code>" in section for one in each.get("parameters", ()))
        assert all(f'<th scope="row">{status}</th>' in section or f"#status-{status}" in section
                   for status in each["responses"])  # fmt: skip
        body = each.get("requestBody", {}).get("content", {}).get("application/json")
        fields = schemas[body["schema"]["$ref"].rpartition("/")[2]].get("properties", {}) if body else {}
        assert all(f"<code>{field}</code>" in section for field in fields)
        assert f"-X {method} " in read.calls[name, "curl"] or "--head" in read.calls[name, "curl"]
    assert re.search(r"<code>payment_method\.mobile_money\.phone</code>.*?required", sections["confirmPaymentIntent"])


def test_every_link_of_every_page_leads_to_a_place_that_is_there(wire: Wire):
    paths = (*PAGES_FOR_PEOPLE, *(f"{GUIDE}/{name}" for name in guide_paths()))
    pages = {path: Read(wire.get(path, {}).text) for path in paths}
    for path, read in pages.items():
        for link in read.links:
            address, _, place = link.partition("#")
            address = (address or path).partition("?")[0]
            if address not in pages:
                assert link.startswith(("/docs/assets/", "data:")) or wire.get(address, {}).status_code == 200, link
            else:
                # What begins with a slash is a view of the console.
                assert not place or place[0] == "/" or place in pages[address].ids, (path, link)
    assert {link for link in pages["/docs"].links if link.startswith("/docs/errors#")} >= {
        f"/docs/errors#{code}" for code in CODES
    }
    # From a row of the register to the operations of its section, and back.
    assert "/docs#createCharge" in pages["/docs/interface"].links
    assert "/docs/interface#success_status" in pages["/docs"].links


@pytest.mark.socket
@pytest.mark.parametrize("path", ["/docs", "/openapi.json", "/docs/interface"])
def test_no_request_waits_while_a_page_is_made(monkeypatch: pytest.MonkeyPatch, path: str):
    begun, answered, held_up = threading.Event(), threading.Event(), list[bool]()

    def slow(*given: object) -> dict[str, object]:
        begun.set()
        held_up.append(not answered.wait(5))
        return document(*given)

    with Workbench(seed=7, gaps={"dead_letter": "dropped"}) as bench, bench.serve() as served:
        monkeypatch.setattr("workbench.sandbox.openapi.pages.document", slow)
        for made in (pages._reference, pages._openapi):  # noqa: SLF001  a page that another test had made is kept
            made.cache_clear()
        got = list[int]()
        reader = threading.Thread(target=lambda: got.append(httpx.get(served.base_url + path, timeout=20).status_code))
        reader.start()
        assert begun.wait(10)
        assert httpx.get(f"{served.base_url}/docs/assets/mark.svg", timeout=20).status_code == 200
        answered.set()
        reader.join()
    assert (got, held_up) == ([200], [False])


@pytest.mark.thorough
@pytest.mark.parametrize(("language", "shell"), [("curl", ["bash", "-c"]), ("javascript", ["node", "-e"])])
@pytest.mark.socket
def test_a_call_runs_as_it_is_copied_with_the_key_put_in(language: str, shell: list[str]):
    program = shutil.which(shell[0])
    if program is None:
        pytest.skip(f"{shell[0]} is not installed")
    with Workbench(seed=7) as bench, bench.serve() as served:
        calls = Read(httpx.get(f"{served.base_url}/docs").text).calls
        known = {"SECRET_KEY": str(served.secret_key), "PASSWORD": "greenhouse"}
        told = "curl() { command curl -s -o /dev/null -w '%{http_code}\\n' \"$@\"; }\n"
        if language == "javascript":
            told = f"const {{SECRET_KEY, PASSWORD}} = {json.dumps(known)};\n"
        written = [calls[name, language] for name in SAMPLE]
        if language == "javascript":
            written = [f"await (async () => {{\n{each}\nconsole.log(response.status)\n}})()" for each in written]
            written = ["(async () => {", *written, "})()"]
        line = [program, shell[1], told + "\n".join(written)]
        env = {**os.environ, **known}
        ran = subprocess.run(line, env=env, capture_output=True, text=True, check=False, timeout=60)  # noqa: S603  ours
        assert [each[:1] for each in ran.stdout.split()] == ["2"] * len(SAMPLE), ran


def test_every_code_has_an_anchor_its_words_and_what_others_call_a_failure_and_every_number_what_it_does(wire: Wire):
    page = wire.get("/docs/errors", {}).text
    anchors = re.findall(r'<tr id="([^"]+)"', page)
    assert anchors == [*CODES, *(f"decline-{code}" for code in FAILURES)]
    assert all(f"{row.kind.status} {row.kind.title}" in page for row in CODES.values())
    assert all(name in page for names in OPERATOR_NAMES.values() for name in names)
    assert all(each.shop in page.replace("&#39;", "'") for each in ADVICE.values())
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
        for method in ("OPTIONS", "PUT", "PATCH", "TRACE", "PROPFIND"):
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
