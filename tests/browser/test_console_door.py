"""The console's door in Chromium: its own page does all, and no page beside it anything, whatever that one sends."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import pytest
from playwright.sync_api import expect

from tests.browser.conftest import FLAGS, HERE, Tools, Watch

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

    from tests.conftest import Server, Serving

INTENT = json.dumps({"amount": 150, "currency": "ZMW", "payment_method_types": ["mobile_money"]})
ASK = """async ([url, options]) => {
  try { const got = await fetch(url, options); return [got.type, got.status, await got.text()]; }
  catch (error) { return ["refused", 0, ""]; }
}"""
LISTEN = """([url, withCredentials]) => new Promise((tell) => {
  const source = new EventSource(url, {withCredentials});
  const end = (told) => { source.close(); tell(told); };
  source.onopen = () => end('open');
  source.onerror = () => end('refused');
  setTimeout(() => end('silent'), 10000);
})"""
FRAMED = """(url) => new Promise((tell) => {
  const frame = document.createElement('iframe');
  frame.onload = tell;
  frame.src = url;
  document.body.append(frame);
})"""
FORM = """([url, enctype, name]) => {
  const form = Object.assign(document.createElement('form'), {method: 'post', action: url, enctype});
  form.append(Object.assign(document.createElement('input'), {name, value: ''}));
  document.body.append(form);
  form.submit();
}"""


@pytest.fixture
def beside(folder_at: Callable[[Path], str], tmp_path: Path) -> str:
    """The address of a page of somebody else's program on this machine."""
    tmp_path.joinpath("index.html").write_text("<title>Beside</title><link rel=icon href='data:,'><body>")
    return folder_at(tmp_path)


@pytest.fixture
def server(serving: "Serving", beside: str) -> Iterator["Server"]:
    with serving("--port", "0", "--json", "--allow-origin", beside) as served:
        yield served


def let_in(context: "BrowserContext", server: "Server") -> "Page":
    """The console, opened by its link."""
    page = context.new_page()
    page.goto(server.console_url)
    expect(page).to_have_url(f"{server.address['base_url']}/")
    expect(page).to_have_title("Sandbox console")
    return page


def intents(server: "Server") -> int:
    headers = {"Authorization": f"Bearer {server.address['secret_key']}"}
    return httpx.get(f"{server.address['base_url']}/sandbox/payments", headers=headers).json()["total"]


def test_its_own_requests_count_and_no_key_is_in_the_page(server: "Server", context: "BrowserContext", watch: Watch):
    page, key = let_in(context, server), server.address["secret_key"]
    assert page.evaluate("document.cookie") == ""
    assert page.evaluate("document.referrer") == ""
    assert page.evaluate("history.length") <= 2
    kind, status, text = page.evaluate(ASK, ["/sandbox/keys", {}])
    assert (kind, status, json.loads(text)["secret_key"]) == ("basic", 200, key)
    sent = {"method": "POST", "headers": {"Content-Type": "application/json"}, "body": INTENT}
    assert page.evaluate(ASK, ["/v1/payment_intents", sent])[1] == 200
    assert intents(server) == 1
    assert page.evaluate(LISTEN, ["/sandbox/changes", False]) == "open"
    assert key not in page.content()
    watch.check()


def test_a_pasted_code_opens_it_and_a_wrong_one_says_so(server: "Server", context: "BrowserContext", watch: Watch):
    watch.expect("403")
    page = context.new_page()
    page.goto(server.address["base_url"])
    code = page.get_by_label("Code")
    expect(code).to_be_focused()
    code.fill("0" * 24)
    code.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("does not work")
    page.get_by_label("Code").fill(server.console_url.rpartition("=")[2])
    page.get_by_role("button", name="Open the console").click()
    expect(page).to_have_url(f"{server.address['base_url']}/")
    expect(page).to_have_title("Sandbox console")


def test_a_page_on_another_port_of_this_machine_reads_and_changes_nothing(
    server: "Server", beside: str, context: "BrowserContext", watch: Watch
):
    watch.expect("")  # the browser says each time that it was refused
    url = server.address["base_url"]
    let_in(context, server)
    page = context.new_page()
    page.goto(beside)
    answered = set[tuple[str, int]]()
    page.on("response", lambda response: answered.add((response.url.removeprefix(url), response.status)))
    sent_along = {each["name"] for each in context.cookies(beside)}
    assert f"workbench_{url.rpartition(':')[2]}" in sent_along, "cookies are shared between ports"
    for path in ("/sandbox/keys", "/v1/payment_intents", "/sandbox/changes"):
        for options in ({"credentials": "include"}, {"credentials": "include", "mode": "no-cors"}):
            kind, status, text = page.evaluate(ASK, [url + path, options])
            assert (status, text) == (0, ""), (kind, path, options)
    for options in (
        {"mode": "no-cors", "headers": {"Content-Type": "text/plain"}},
        {"mode": "cors", "headers": {"Content-Type": "application/json"}},
    ):
        sent = {"method": "POST", "credentials": "include", "body": INTENT, **options}
        assert page.evaluate(ASK, [f"{url}/v1/payment_intents", sent])[1:] == [0, ""]
    assert page.evaluate(LISTEN, [f"{url}/sandbox/changes", True]) == "refused"
    assert {(path, 401) for path in ("/sandbox/keys", "/v1/payment_intents", "/sandbox/changes")} == answered
    page.evaluate(FRAMED, f"{url}/")
    assert [each.url for each in page.frames[1:]] == ["chrome-error://chromewebdata/"]
    for enctype, path in (("text/plain", "/v1/payment_intents"), ("multipart/form-data", "/sandbox/reset")):
        with page.expect_navigation(url=url + path) as posted:
            page.evaluate(FORM, [url + path, enctype, INTENT[:-1] + ', "description": "'])
        assert posted.value
        assert posted.value.status == 401
        page.goto(beside)
    assert intents(server) == 0


def test_a_page_whose_name_leads_here_is_refused_by_its_name(browser: "Browser", tools: "Tools", server: "Server"):
    # What a name server would say that somebody else controls.
    rebinds = f"--host-resolver-rules=MAP rebound.example {HERE}, MAP * ~NOTFOUND, EXCLUDE {HERE}"
    chromium = browser.browser_type.launch(executable_path=tools.chromium, args=[*FLAGS[:-1], rebinds])
    context = chromium.new_context()
    console, rebound = let_in(context, server), context.new_page()
    response = rebound.goto(server.address["base_url"].replace(HERE, "rebound.example"))
    assert response
    assert response.status == 421
    assert rebound.evaluate("location.hostname") == "rebound.example"
    for path in ("/", "/sandbox/keys", "/console/main.js"):
        assert rebound.evaluate(ASK, [path, {}])[1] == 421
    assert rebound.evaluate(ASK, ["/sandbox/reset", {"method": "POST"}])[1] == 421
    assert console.evaluate(ASK, ["/sandbox/keys", {}])[1] == 200
    chromium.close()
