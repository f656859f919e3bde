"""The console of a served sandbox, in Chromium: what somebody sees and does on it, with mouse and keyboard."""

import json
import re
from collections.abc import Callable, Iterator
from decimal import Decimal
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Tools, Watch, flaws, keep
from tests.conftest import bearer
from tests.test_certify import listening
from workbench import Workbench

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Locator, Page

    from tests.conftest import Server, Serving

PHONE, OTHER = "+260961234567", "+260977654321"
LARGE, LAPTOP, TABLET, SMALL = (1440, 900), (1280, 720), (900, 720), (360, 740)
COVERED = """(button) => {
  const own = button.getBoundingClientRect(), range = document.createRange();
  range.selectNodeContents(button.parentElement.querySelector('pre'));
  const meets = ({ left, right, top, bottom }) =>
    right > own.left && left < own.right && bottom > own.top && top < own.bottom;
  return [...range.getClientRects()].filter(meets).length;
}"""
"""The number of texts below a button that copies them."""
VIEWS = {
    "payments": "Payments", "webhooks/deliveries": "Webhooks", "webhooks/events": "Webhooks",
    "webhooks/endpoints": "Webhooks", "requests": "Requests", "requests/try/createCharge": "Requests", "money": "Money",
    "sandbox": "Sandbox",
}  # fmt: skip
"""What the address says → the view that is chosen in the head."""
INSIDE = """(element) => {
  // The part of an element that a person sees: within the window and within whatever scrolls around it.
  let box = element.getBoundingClientRect();
  for (let each = element.parentElement; each; each = each.parentElement) {
    if (getComputedStyle(each).overflow === 'visible') continue;
    const around = each.getBoundingClientRect();
    if (box.bottom > around.bottom + 1 || box.top < around.top - 1) return false;
  }
  return box.height > 0 && box.top >= 0 && box.bottom <= innerHeight;
}"""
DRAWN = """(svg) => [...svg.querySelectorAll('.step')].map((step) => {
  const lines = [...step.querySelectorAll('.line')].map((each) => each.getBoundingClientRect());
  const texts = [...step.querySelectorAll('text:not(.time)')].map((each) => each.getBoundingClientRect());
  const left = Math.min(...lines.map((each) => each.left)), right = Math.max(...lines.map((each) => each.right));
  const isOver = (each) => each.left < left - 8 || each.right > right + 8;
  return texts.filter(isOver).map((each) => [each.left, each.right, left, right]);
}).flat()"""
"""The labels that are wider than their arrows, whose heads and feet are 7 px long."""
PLACED = """async ([steps, widths]) => {
  const { placed } = await import('/console/sequence.js');
  const context = document.createElement('canvas').getContext('2d');
  context.font = '500 11.5px sans-serif';
  const measure = (text) => context.measureText(text).width;
  return widths.map((width) => {
    const { xs, half, rows } = placed(steps, width, measure);
    const isOver = (row) => (line) => measure(line) > Math.abs(row.to - row.from);
    const over = rows.flatMap((row) => [...row.label, ...row.response].filter(isOver(row)));
    return [width, xs.every((x) => x - half >= 0 && x + half <= width), new Set(xs).size, over];
  });
}"""


AGAIN_MS = 400
"""After so long the phone has asked for the keyboard a second time."""
HIDDEN = """([is]) => {
  Object.defineProperty(document, 'hidden', {value: is, configurable: true});
  document.dispatchEvent(new Event('visibilitychange'));
}"""
"""The tab goes into the background, or comes back."""
HELD = """(() => {
  const [ask, held] = [window.fetch, window.held = []];
  window.fetch = async (path, ...rest) => {
    const answer = await ask(path, ...rest);
    if (window.isHeld && String(path).match(window.isHeld)) await new Promise((release) => held.push(release));
    return answer;
  };
})()"""
"""The answers to one address come, and the page has them only when they are released."""
Shop = Callable[[int], None]
"""Tells the shop's receiver with which status to respond from now on."""


class Console:
    """A page of the console, and the sandbox that it shows."""

    def __init__(self, page: "Page", bench: Workbench, url: str) -> None:
        self.page, self.bench, self.url = page, bench, url
        self.detail, self.list = page.locator(".detail"), page.locator(".list")
        self.phone = page.get_by_role("region", name="Customer's phone")
        self.pin = self.phone.get_by_label("PIN")
        self.dialog, self.pager = page.get_by_role("dialog"), self.list.locator(".pager")
        self.status = self.detail.locator(".lead .pill")
        self.search = page.get_by_label("Search payments")
        self.asked: list[tuple[str, str]] = []
        page.on("request", lambda each: self.asked.append((each.method, each.url.removeprefix(url))))

    def open(self, route: str = "", size: tuple[int, int] = LARGE) -> None:
        self.page.set_viewport_size({"width": size[0], "height": size[1]})
        self.page.goto(f"{self.url}/#/{route}" if route else self.url)
        expect(self.page.locator(".app")).to_have_attribute("data-status", "live")

    def settle(self, quiet_ms: int = 400) -> None:
        """Wait until nothing is asked for so long, and forget what was."""
        self.asked.append(("", ""))
        while self.asked:
            self.asked.clear()
            self.page.wait_for_timeout(quiet_ms)

    def hold(self, address: str) -> None:
        """Keep the answers to the addresses of a pattern from the page that is opened next."""
        self.page.add_init_script(f"window.isHeld = {json.dumps(address)}; {HELD}")

    def hold_from_now(self, address: str) -> None:
        """Keep the responses from the addresses of a pattern from the page that is open."""
        self.page.evaluate(f"() => {{ window.isHeld = {json.dumps(address)}; {HELD} }}")

    def has_held(self) -> None:
        """Wait until an answer is kept from the page, which lets nobody evaluate a text on its own time."""
        for _ in range(100):
            if self.page.evaluate("() => window.held.length"):
                return
            self.page.wait_for_timeout(50)
        raise AssertionError("nothing was asked")

    def release(self) -> None:
        self.page.evaluate("() => { window.isHeld = null; window.held.forEach((each) => each()); }")

    def ask(self, amount: str = "150.00", phone: str = PHONE, provider: str = "mtn", what: str = "Monstera") -> str:
        """An intent of the shop's own, confirmed."""
        pay = self.bench.client.payment_intents
        made = pay.create(amount=Decimal(amount), description=what)
        return pay.confirm(made.id, phone=phone, provider=provider).id

    def sell(self, amount: str = "150.00", phone: str = PHONE, provider: str = "mtn", what: str = "Monstera") -> str:
        made = self.ask(amount, phone, provider, what)
        self.bench.phone(phone).enter_pin("1234")
        return made

    def row(self, text: str) -> "Locator":
        """The row of a list that holds a text, as the link that it is."""
        return self.page.get_by_role("row").filter(has_text=text).get_by_role("link").first

    def tab(self, name: str) -> "Locator":
        return self.page.get_by_role("tab", name=re.compile(rf"^{name}"))

    def press(self, name: str, within: "Locator | None" = None) -> None:
        (within or self.page).get_by_role("button", name=name, exact=True).click()

    def agree(self, opens: str, confirms: str, **fields: str) -> None:
        """Press a button that says what will happen, fill in what it asks for, and confirm."""
        self.press(opens)
        for label, value in fields.items():
            self.dialog.get_by_label(label.replace("_", " ")).fill(value)
        self.press(confirms, self.dialog)

    def pays(self, pin: str = "1234") -> None:
        """Type the PIN, or the rest of it, where the focus is."""
        expect(self.pin).to_be_focused()
        self.page.keyboard.type(f"{pin}\n")
        expect(self.phone).to_contain_text("Approved.")

    def go(self, route: str) -> None:
        """Open a view as a link within the page does."""
        self.page.evaluate("(route) => { location.hash = '#/' + route; }", route)

    def is_paid(self, intent: str) -> bool:
        return self.bench.client.payment_intents.retrieve(intent).status == "succeeded"

    def sees(self, *texts: "str | re.Pattern[str]", within: "Locator | None" = None) -> None:
        for each in texts:
            expect((within or self.detail).get_by_text(each).first).to_be_visible()


@pytest.fixture(scope="module")
def server(tools: Tools, serving: "Serving") -> Iterator["Server"]:  # noqa: ARG001  skips before a server is started
    with serving("--port", "0", "--json", "--seed", "7") as started:
        yield started


@pytest.fixture(scope="module")
def let_in(server: "Server", context: "BrowserContext") -> "BrowserContext":
    """The browser's profile with the cookie that the link's code is exchanged for."""
    page = context.new_page()
    page.goto(server.console_url)
    page.close()
    return context


@pytest.fixture
def console(server: "Server", let_in: "BrowserContext", watch: Watch) -> Iterator[Console]:  # noqa: ARG001  it checks
    """A page for one test, and an empty sandbox; endpoints that the test has made are deleted."""
    with Workbench.connect(**server.address) as bench:
        bench.reset()
        made = Console(let_in.new_page(), bench, server.address["base_url"])
        yield made
        made.page.close()
        for endpoint in bench.client.webhook_endpoints.list().data:
            bench.client.webhook_endpoints.delete(endpoint.id)


@pytest.fixture
def shop(console: Console) -> Iterator[Shop]:
    """A receiver that responds with 200 until told otherwise, registered for every event."""
    status = [200]
    with listening(lambda *_: status[0], b"out of stock") as url:
        console.bench.client.webhook_endpoints.create(url=url)
        yield lambda code: status.__setitem__(0, code)


def test_the_first_minute_is_a_click_and_five_keys(console: Console):
    console.open(size=LAPTOP)
    expect(console.phone.get_by_label("PIN")).to_have_count(0)
    first = console.page.get_by_role("button", name="Take a first payment: K150.00 from +260 96 1234567")
    expect(console.page.locator(".detail .primary, .first .primary")).to_have_count(1)
    first.click()
    console.pays()
    shown = console.detail
    expect(shown.locator(".lead .pill")).to_have_text("succeeded")
    expect(shown.get_by_role("region", name="Ledger of this payment").locator("tbody tr")).to_have_count(4)
    events = shown.get_by_role("region", name="Events of this payment")
    expect(events.get_by_role("link")).to_have_count(5)
    expect(events.get_by_role("button", name="Add an endpoint…")).to_be_visible()
    expect(shown.get_by_role("region", name="The code that did it")).to_contain_text("/confirm")
    expect(shown.locator(".step")).to_have_count(5)
    for each in (".step", ".mini tfoot", ".plain li", ".outcome .code", ".lead .pill", ".key"):
        assert console.page.locator(each).last.evaluate(INSIDE), f"{each} must be scrolled to"
    assert console.page.evaluate("[document.scrollingElement.scrollHeight, innerHeight]") == [720, 720]


def test_where_an_endpoint_is_registered_each_event_says_how_its_delivery_went(console: Console, shop: Shop):
    shop(200)
    console.open()
    console.sell()
    events = console.detail.get_by_role("region", name="Events of this payment")
    expect(events.locator("li")).to_have_text([re.compile(r"\w+\.\w+ ?200$")] * 5)
    expect(console.detail.locator(".step.of-webhook")).to_have_count(5)


def test_it_follows_the_newest_until_a_payment_is_chosen(console: Console):
    console.open()
    first = console.ask("10.00", what="Fern")
    expect(console.detail).to_have_attribute("aria-label", f"Payment {first}")
    second = console.ask("20.00", OTHER, "airtel", what="Aloe")
    expect(console.detail).to_have_attribute("aria-label", f"Payment {second}")
    expect(console.phone).to_contain_text("Pay K20.00")
    console.row("Fern").click()
    console.sees("K10.00", within=console.detail.locator("h1"))
    expect(console.phone).to_contain_text("Pay K10.00")
    expect(console.phone.get_by_label("Whose phone")).to_have_value(PHONE)
    console.ask("30.00", "+260955550123", "zamtel", what="Cactus")
    expect(console.row("Cactus")).to_be_visible()
    expect(console.detail).to_have_attribute("aria-label", f"Payment {first}")
    expect(console.phone).to_contain_text("Pay K10.00")
    console.page.get_by_role("link", name="Follow").click()
    console.sees("K30.00", within=console.detail.locator("h1"))
    expect(console.phone).to_contain_text("Pay K30.00")


def test_a_half_typed_pin_is_not_left_for_a_newer_payment(console: Console):
    console.open()
    first = console.ask("10.00")
    expect(console.detail).to_have_attribute("aria-label", f"Payment {first}")
    expect(console.pin).to_be_focused()
    console.page.keyboard.type("12")
    console.ask("20.00", OTHER, "airtel", what="Aloe")
    expect(console.row("Aloe")).to_be_visible()
    expect(console.detail).to_have_attribute("aria-label", f"Payment {first}")
    console.page.keyboard.type("34\n")
    expect(console.phone.get_by_text("Pay K20.00")).to_be_visible()
    assert console.is_paid(first)


def test_a_pin_typed_before_its_payment_is_known_goes_to_the_phone_that_was_shown(console: Console):
    console.hold(r"/sandbox/payments\?limit=1$")
    console.open()
    first = console.ask("10.00")
    expect(console.pin).to_be_focused()
    console.page.keyboard.type("12")
    console.ask("20.00", OTHER, "airtel", what="Aloe")
    console.release()
    console.sees("K20.00", within=console.detail.locator("h1"))
    expect(console.phone).to_contain_text("Pay K10.00")
    console.page.keyboard.type("34\n")
    expect(console.phone).to_contain_text("Pay K20.00")
    assert console.is_paid(first)


def test_a_prompt_that_is_over_does_not_come_back_while_the_next_payment_is_read(console: Console):
    console.hold("")
    console.open()
    console.ask("10.00")
    console.pays()
    console.sees("K10.00", within=console.detail.locator("h1"))
    console.page.evaluate(r"() => { window.isHeld = '/sandbox/(phones|payments/pi_[^/]+)$'; }")
    second = console.ask("20.00")
    expect(console.detail).not_to_contain_text("K10.00")
    expect(console.phone).to_contain_text("Pay K20.00")
    console.page.keyboard.type("12")
    console.release()
    console.sees("K20.00", within=console.detail.locator("h1"))
    console.pays("34")
    assert console.is_paid(second)


def test_no_digit_is_lost_when_a_payment_is_read_as_it_was_before_it_was_confirmed(console: Console):
    """The page asks for a payment while it has no phone yet, and has the answer when the phone rings already."""
    intents = console.bench.client.payment_intents
    made = intents.create(amount=Decimal("10.00"), description="Monstera")
    console.hold(f"/sandbox/payments/{made.id}$")
    console.open()
    console.has_held()
    intents.confirm(made.id, phone=PHONE, provider="mtn")
    expect(console.pin).to_be_focused()
    console.page.keyboard.type("1")
    console.release()
    console.sees("K10.00", within=console.detail.locator("h1"))
    console.pays("234")
    assert console.is_paid(made.id)


def test_the_phone_of_a_payment_that_is_long_past_is_found(console: Console):
    console.sell("11.00", "+260961110000", what="Old")
    for place in range(21):
        console.sell("5.00", f"+2609722200{place:02}", "airtel", what="New")
    console.open()
    console.search.fill("Old")
    expect(console.list.locator("tbody tr")).to_have_count(1)
    console.row("Old").click()
    expect(console.phone.get_by_label("Whose phone")).to_have_value("+260961110000")
    expect(console.phone.get_by_role("log")).to_contain_text("K11.00 paid")


class TestPhone:
    def test_a_key_costs_no_request_and_the_pin_is_sent_once_and_kept_nowhere(self, console: Console):
        console.open()
        console.ask()
        expect(console.pin).to_be_focused()
        console.settle()
        for digit in "12":
            console.page.keyboard.press(digit)
        console.press("3", console.phone)
        console.press("Backspace", console.phone)
        console.page.keyboard.type("34")
        expect(console.pin).to_have_value("1234")
        assert console.pin.get_attribute("type") == "password"
        assert console.asked == []
        console.page.keyboard.press("Enter")
        expect(console.phone.get_by_text("Approved.")).to_be_visible()
        posts = [path for method, path in console.asked if method == "POST"]
        assert posts == [f"/sandbox/phones/{PHONE}/input"]
        expect(console.pin).to_have_value("")
        expect(console.pin).to_be_focused()

    def test_a_prompt_leaves_a_field_alone_and_escape_gives_the_focus_back(self, console: Console):
        # On a page of less than two seconds, too, Escape is the last word.
        console.page.add_init_script("performance.now = () => 900")
        # A page of less than two seconds: Escape counts from its first moment.
        console.sell(what="Fern")
        console.open()
        console.search.click()
        console.ask("20.00", OTHER, "airtel")
        expect(console.phone).to_contain_text("Pay K20.00")
        expect(console.search).to_be_focused()
        console.search.fill("")
        console.row("Fern").focus()
        console.bench.phone(OTHER).cancel()
        expect(console.phone).not_to_contain_text("Pay K20.00")
        console.page.get_by_role("link", name="Money").focus()
        console.ask("30.00", OTHER, "airtel")
        # The prompt of before may have the focus once more until this one has come.
        expect(console.phone).to_contain_text("Pay K30.00")
        expect(console.pin).to_be_focused()
        console.page.keyboard.press("1")
        console.page.keyboard.press("Escape")
        expect(console.pin).to_have_value("")
        console.page.keyboard.press("Escape")
        console.settle()
        expect(console.page.get_by_role("link", name="Money")).to_be_focused()

    def test_it_has_the_keyboard_back_from_a_page_that_takes_it_and_not_from_who_moves_it(self, console: Console):
        takes = "() => document.querySelector('nav a').focus()"
        console.open()
        made = console.ask()
        expect(console.pin).to_be_focused()
        for digits in ("12", "34"):
            console.page.keyboard.type(digits)
            # As JupyterLab does on its way to the next cell.
            console.page.evaluate(takes)
            expect(console.pin).to_be_focused()
        console.page.keyboard.press("Enter")
        expect(console.phone).to_contain_text("Approved.")
        assert console.is_paid(made)
        console.page.evaluate(takes)
        expect(console.page.get_by_role("link", name="Payments").first).to_be_focused()
        console.ask("20.00")
        expect(console.pin).to_be_focused()
        console.page.keyboard.press("Tab")
        expect(console.pin).not_to_be_focused()
        console.search.click()
        console.page.wait_for_timeout(AGAIN_MS)
        expect(console.search).to_be_focused()

    def test_wrong_pins_cost_tries_and_what_is_no_pin_costs_none(self, console: Console, watch: Watch):
        watch.expect("400")
        console.open()
        made = console.ask()
        expect(console.phone.get_by_text("3 tries")).to_be_visible()
        console.page.keyboard.type("9\n")
        expect(console.phone.get_by_text("A PIN has 4 digits; you typed 1.")).to_be_visible()
        console.page.keyboard.type("0000\n")
        expect(console.phone.get_by_text("2 tries")).to_be_visible()
        console.press("Cancel", console.phone)
        expect(console.phone.get_by_text("Nothing was paid.")).to_be_visible()
        console.sees(re.compile("declined_by_customer"))
        assert console.bench.client.payment_intents.retrieve(made).status == "requires_payment_method"

    def test_another_phone_that_rings_is_said_and_shown_by_a_tap(self, console: Console):
        first = console.sell(what="Fern")
        console.open(f"payments/{first}")
        console.ask("20.00", OTHER, "airtel")
        console.press("+260 97 7654321 rings")
        expect(console.phone).to_contain_text("Pay K20.00")
        console.press("Ignore", console.phone)
        expect(console.phone).to_contain_text("the prompt was left unanswered")
        console.phone.get_by_label("Whose phone").select_option(PHONE)
        expect(console.phone.get_by_role("log")).to_contain_text("K150.00 paid to PLANT STORE")


class TestTimeline:
    def test_what_came_on_another_day_stands_below_a_line_with_its_date(self, console: Console):
        made = console.sell()
        console.bench.clock.advance(days=1)
        console.bench.client.refunds.create(payment_intent=made, amount=Decimal("20.00"))
        console.open(f"payments/{made}")
        day = console.detail.locator(".step .time", has_text=re.compile(r"^\d+ [A-Z][a-z]{2}$"))
        expect(day).to_have_count(1)
        row = day.locator("xpath=..")
        expect(row).to_contain_text("POST /v1/refunds")
        told, label = day.bounding_box(), row.locator("text:not(.time)").first.bounding_box()
        above = row.locator("xpath=preceding-sibling::*[1]").bounding_box()
        assert above["y"] + above["height"] - 1 <= told["y"] + 3
        assert label["y"] - told["y"] > 12, "a line further down"

    def test_no_label_is_wider_than_its_arrow_and_no_lifeline_is_lost(self, console: Console, shop: Shop):
        shop(500)
        made = console.sell(what="A Monstera in a pot of clay")
        console.open(f"payments/{made}")
        svg = console.detail.locator(".steps")
        for size in ((360, 740), (420, 740), (661, 740), (900, 720), (1181, 720), (1280, 720), (1600, 900)):
            console.page.set_viewport_size({"width": size[0], "height": size[1]})
            expect(svg).to_be_visible()
            expect(console.detail.locator(".steps > .life")).to_have_count(5)
            assert svg.evaluate(DRAWN) == [], size
        steps = httpx.get(f"{console.url}/sandbox/payments/{made}", headers=bearer(console.bench)).json()["steps"]
        widths = [*range(344, 1601, 8)]
        for width, is_within, lanes, over in console.page.evaluate(PLACED, [steps, widths]):
            assert (is_within, lanes, over) == (True, 5, []), width

    def test_what_is_read_does_not_move_when_steps_are_added(self, console: Console, shop: Shop):
        shop(200)
        made = console.sell()
        console.open(f"payments/{made}", LAPTOP)
        expect(console.detail.locator(".step")).to_have_count(10)
        third = console.detail.locator(".step").nth(3)
        console.detail.locator(".sequence").evaluate("(each) => { each.scrollTop = 0; }")
        console.page.wait_for_timeout(100)
        before = third.bounding_box()
        console.bench.client.refunds.create(payment_intent=made, amount=Decimal("50.00"))
        expect(console.detail.locator(".step")).to_have_count(13)
        assert third.bounding_box() == before
        console.detail.locator(".sequence").evaluate("(each) => { each.scrollTop = each.scrollHeight; }")
        console.page.wait_for_timeout(100)
        console.bench.client.refunds.create(payment_intent=made, amount=Decimal("10.00"))
        expect(console.detail.locator(".step")).not_to_have_count(13)
        console.page.wait_for_timeout(200)
        assert console.detail.locator(".step").last.evaluate(INSIDE)

    def test_each_arrow_opens_its_exchange_by_mouse_and_keyboard_and_says_what_it_is(self, console: Console):
        made = console.sell()
        console.open(f"payments/{made}")
        exchange = console.page.get_by_role("region", name="The exchange")
        steps = console.detail.get_by_role("group", name=re.compile("Messages, in order")).get_by_role("button")
        expect(steps.nth(0)).to_have_accessible_name(
            re.compile(r"in Lusaka .* UTC.*your server to payment service: POST /v1/payment_intents, answered 200")
        )
        steps.nth(0).focus()
        console.page.keyboard.press("ArrowDown")
        console.page.keyboard.press("Enter")
        expect(exchange.get_by_role("region", name="Request")).to_contain_text("mobile_money")
        expect(exchange.get_by_role("region", name="Response")).to_contain_text("requires_action")
        console.page.keyboard.press("Escape")
        expect(exchange).to_have_count(0)
        steps.nth(3).click()
        expect(exchange.get_by_role("region", name="Screen")).to_contain_text("Approved.")
        steps.nth(4).click()
        entry = exchange.get_by_role("table", name=re.compile("received through mtn"))
        expect(entry).to_contain_text("income:merchant_fee")
        console.press("table")
        expect(console.detail.get_by_role("table", name="Messages, in order").locator("tbody tr")).to_have_count(5)

    def test_the_diagram_is_kept_as_a_file(self, console: Console):
        made = console.sell()
        console.open(f"payments/{made}")
        with console.page.expect_download() as kept:
            console.press("SVG")
        assert kept.value.suggested_filename == f"{made}.svg"
        svg = kept.value.path().read_text("utf-8")
        assert svg.startswith("<svg")
        assert "var(" not in svg
        assert 'fill="rgb(' in svg
        for each in ("payment service", "customer's phone", "PIN ••••", "K150.00 received through"):
            assert each in svg


class TestPayment:
    def test_the_ledger_is_t_accounts_with_totals_that_lead_to_their_statements(self, console: Console):
        made = console.sell()
        console.bench.client.refunds.create(payment_intent=made, amount=Decimal("50.00"))
        console.bench.clock.advance(seconds=10)
        console.open()
        console.tab("Ledger").click()
        console.sees("Debits equal credits: K251.50 and K251.50, in 3 entries.")
        float_ = console.detail.get_by_role("region", name="Account operator:mtn:float")
        expect(float_.get_by_role("group", name="Debits")).to_contain_text("150.00")
        expect(float_.get_by_role("group", name="Credits")).to_contain_text(re.compile(r"1\.50.*50\.00"))
        expect(float_.locator(".balance span").first).to_have_text("Balance98.50")
        float_.get_by_role("link").click()
        expect(console.page.get_by_role("table", name="Statement of operator:mtn:float")).to_contain_text("K150.00")

    def test_an_attempt_says_why_it_failed_and_is_sent_again(self, console: Console, shop: Shop):
        shop(503)
        console.sell()
        console.open()
        expect(console.tab("Webhooks")).to_contain_text("5 failing")
        console.tab("Webhooks").click()
        delivery = console.detail.locator(".event").filter(has_text="charge.succeeded").locator(".delivery")
        expect(delivery.get_by_role("row").nth(1)).to_contain_text(re.compile(r"503.*ms.*out of stock"))
        console.sees(re.compile("next attempt in"), within=delivery)
        shop(200)
        delivery.get_by_role("button", name="Replay…").click()
        console.sees(re.compile("once more, now, with the same id"), within=console.dialog)
        console.press("Send it")
        expect(delivery.locator(".pill")).to_have_text("delivered")
        expect(console.tab("Webhooks")).to_contain_text("4 failing")

    def test_code_and_json_are_those_of_the_payment(self, console: Console):
        made = console.sell(what="Fern")
        console.open()
        console.tab("Code").click()
        expect(console.detail.get_by_role("region", name="POST /v1/payment_intents in curl")).to_be_visible()
        console.press("Python", console.detail.locator(".codes").first)
        code = console.detail.get_by_role("region", name="POST /v1/payment_intents in python")
        expect(code).to_contain_text("pay.payment_intents.create(")
        console.tab("JSON").click()
        text = console.detail.get_by_role("region", name="JSON")
        expect(text).to_contain_text('"amount": 150.00')
        assert json.loads(text.inner_text())["id"] == made

    def test_a_refund_says_what_will_happen_and_happens(self, console: Console, watch: Watch):
        watch.expect("400|409")
        made = console.sell()
        console.open()
        console.press("Refund…")
        console.sees(
            re.compile("back to .26096••••567 through MTN MoMo.*fee of the payment is kept"), within=console.dialog
        )
        console.dialog.get_by_label("Amount in ZMW").fill("150.01")
        console.press("Refund", console.dialog)
        expect(console.dialog.get_by_role("alert")).to_contain_text("refund")
        console.dialog.get_by_label("Amount in ZMW").fill("50.00")
        console.press("Refund", console.dialog)
        expect(console.status).to_have_text("part_refunded")
        assert console.bench.client.refunds.list().data[0].payment_intent == made

    def test_cancel_confirm_again_and_an_operator_that_never_answered(self, console: Console):
        console.open()
        made = console.ask()
        console.agree("Cancel…", "Cancel the payment")
        expect(console.status).to_have_text("canceled")
        made = console.bench.client.payment_intents.create(amount=Decimal("12.00")).id
        console.press("Confirm…")
        console.dialog.get_by_label("Customer's number").fill("+260 96 0000012")
        console.press("Ask for K12.00")
        expect(console.status).to_have_text("waiting")
        console.press("+1 min")
        console.agree("Ask the operator…", "Ask")
        expect(console.status).to_have_text("succeeded")
        assert console.is_paid(made)

    def test_late_money_is_settled_in_the_head_of_its_payment(self, console: Console):
        made = console.ask("80.00", "+260960000010")
        console.bench.clock.advance(seconds=400)
        console.open(f"payments/{made}")
        console.sees("K80.00 came late")
        console.agree("Return…", "Return")
        expect(console.detail.locator(".strip")).to_have_count(0)
        assert [each["status"] for each in console.bench.operator.suspense()] == ["returned"]


class TestNewPayment:
    def test_it_asks_a_test_number_by_what_it_does_and_stays_filled_in(self, console: Console):
        console.open()
        console.page.keyboard.press("n")
        expect(console.page.get_by_label("Amount in kwacha")).to_be_focused()
        console.page.get_by_label("Amount in kwacha").fill("87.35")
        console.page.get_by_label("Description").fill("Aloe")
        console.page.get_by_label("What the customer does").select_option(label="the customer cancels")
        console.page.get_by_label("Operator").last.select_option("airtel")
        expect(console.page.get_by_label("Customer's number")).to_have_value("+260 97 0000004")
        body = console.detail.get_by_role("region", name="Body of /v1/payment_intents", exact=True)
        expect(body).to_contain_text('"amount": 87.35')
        console.press("Ask for K87.35")
        expect(console.status).to_have_text("waiting")
        console.press("+1 min")
        expect(console.status).to_contain_text("declined_by_customer")
        console.page.get_by_role("link", name="New payment").click()
        expect(console.page.get_by_label("Amount in kwacha")).to_have_value("87.35")
        expect(console.page.get_by_label("Customer's number")).to_have_value("+260 97 0000004")

    def test_one_call_is_a_charge_and_a_key_sent_twice_is_done_once(self, console: Console, watch: Watch):
        watch.expect("422")
        console.open("payments/new")
        console.page.get_by_role("radio", name=re.compile("Charge")).check()
        console.page.get_by_text("Idempotency key, scenario").click()
        console.page.get_by_label("Idempotency key").fill("order-1")
        console.page.get_by_label("Keep this key").check()
        for _ in range(2):
            console.press("Ask for K150.00")
            expect(console.status).to_have_text("succeeded")
            console.page.keyboard.press("Escape")
            console.page.keyboard.press("n")
        assert len(console.bench.client.charges.list().data) == 1
        console.page.get_by_label("Amount in kwacha").fill("150.005")
        console.press("Ask for it")
        console.sees("At most two decimals, such as 150.00.")
        console.page.get_by_label("Amount in kwacha").fill("200")
        console.press("Ask for K200.00")
        console.sees(re.compile("idempotency_key_reused|was used"), within=console.detail.get_by_role("alert"))

    @pytest.mark.parametrize("width", [1400, 700])
    def test_the_keyboard_goes_to_the_form_and_then_to_the_payment(self, console: Console, width: int):
        console.sell()
        console.open(size=(width, 900))
        console.page.get_by_role("link", name="New payment").press("Enter")
        expect(console.page.get_by_label("Amount in kwacha")).to_be_focused()
        console.page.get_by_label("What the customer does").select_option(label="insufficient funds, after 5 s")
        console.page.get_by_role("button", name="Ask for K150.00").press("Enter")
        expect(console.pin).to_be_focused()
        console.bench.clock.advance(seconds=6)
        expect(console.status).to_contain_text("insufficient_funds")
        expect(console.detail.locator("h1")).to_be_focused()

    def test_a_half_typed_number_is_kept_when_another_payment_comes(self, console: Console):
        console.open("payments/new")
        number = console.page.get_by_label("Customer's number")
        number.fill("")
        number.press_sequentially("+26097")
        console.ask("20.00", what="Aloe")
        expect(console.row("Aloe")).to_be_visible()
        number.press_sequentially("7654321")
        expect(number).to_have_value("+260977654321")
        number.press("Tab")
        expect(console.page.get_by_label("Operator", exact=True).last).to_have_value("airtel")

    def test_a_scenario_on_demand_fails_and_is_a_payment_too(self, console: Console, watch: Watch):
        watch.expect("402")
        console.open("payments/new")
        console.page.get_by_role("radio", name=re.compile("Charge")).check()
        console.page.get_by_text("Idempotency key, scenario").click()
        console.page.get_by_label("Scenario on demand").select_option("insufficient_funds")
        console.press("Ask for K150.00")
        expect(console.status).to_have_text("failed insufficient_funds")
        expect(console.status).to_have_attribute("title", "The wallet holds less than the amount.")


class TestList:
    def test_it_is_searched_filtered_paged_and_kept_as_a_file(self, console: Console):
        for place in range(42):
            console.bench.client.payment_intents.create(amount=Decimal(10 + place), description=f"order {place}")
        console.sell("99.00", what="=1+1")
        console.open()
        expect(console.pager).to_contain_text("1\N{EN DASH}40 of 43 payments")
        console.press("Older")
        expect(console.pager).to_contain_text("41\N{EN DASH}43 of 43 payments")
        console.press("Newer")
        console.page.keyboard.press("/")
        console.page.keyboard.type("order 4")
        expect(console.pager).to_contain_text("1\N{EN DASH}3 of 3 payments")
        console.press("Clear", console.list)
        console.page.get_by_label("State").select_option("succeeded")
        expect(console.pager).to_contain_text("1\N{EN DASH}1 of 1 payment")
        with console.page.expect_download() as kept:
            console.press("CSV")
        head, line = kept.value.path().read_text("utf-8").splitlines()
        assert head.startswith("id,created_lusaka,amount,refunded,currency,status")
        assert ",99.00,0.00,ZMW,succeeded," in line
        assert "'=1+1" in line
        console.press("Clear", console.list)
        console.list.locator("summary", has_text="More").click()
        console.page.get_by_label("K from", exact=True).fill("45")
        console.page.get_by_label("K to", exact=True).fill("49")
        console.page.keyboard.press("Enter")
        expect(console.pager).to_contain_text("1\N{EN DASH}5 of 5 payments")

    def test_the_response_to_an_older_search_does_not_replace_the_newer_list(self, console: Console):
        for name in ("Fern", "Fern tree", "Aloe"):
            console.sell(what=name)
        console.open()
        console.hold_from_now("search=Fern&")
        console.search.fill("Fern")
        console.has_held()
        console.search.fill("Fern tree")
        expect(console.pager).to_contain_text("1\N{EN DASH}1 of 1 payment")
        console.release()
        console.settle()
        expect(console.pager).to_contain_text("1\N{EN DASH}1 of 1 payment")

    def test_what_came_while_a_search_was_left_is_there_when_it_is_made_again(self, console: Console):
        console.ask("10.00", what="Fern")
        console.open()
        console.hold_from_now("search=Fern&")
        console.search.fill("Fern")
        console.has_held()
        console.search.fill("")
        console.ask("20.00", OTHER, "airtel", what="Fern tree")
        expect(console.pager).to_contain_text("1\N{EN DASH}2 of 2 payments")
        console.search.fill("Fern")
        console.settle()
        console.release()
        expect(console.list.locator("tbody tr")).to_have_count(2)

    def test_a_list_that_is_read_meanwhile_leaves_what_is_typed(self, console: Console):
        for amount in ("10.00", "45.00", "49.00", "51.00"):
            console.ask(amount)
        console.open()
        console.hold_from_now("min_minor=4500&")
        console.list.locator("summary", has_text="More").click()
        least = console.page.get_by_label("K from", exact=True)
        assert least.evaluate("(field) => field.getBoundingClientRect().left") >= 0, "the menu is within the window"
        least.fill("45")
        console.page.get_by_label("K to", exact=True).press_sequentially("49")
        console.has_held()
        console.release()
        expect(console.pager).to_contain_text("1\N{EN DASH}3 of 3 payments")
        expect(console.page.get_by_label("K to", exact=True)).to_have_value("49")
        console.page.keyboard.press("Enter")
        expect(console.pager).to_contain_text("1\N{EN DASH}2 of 2 payments")
        console.press("Clear", console.list)
        expect(console.page.get_by_label("K to", exact=True)).to_have_value("")

    def test_arrows_go_through_it_and_enter_opens(self, console: Console):
        for name in ("Fern", "Aloe", "Cactus"):
            console.sell(what=name)
        console.open()
        expect(console.row("Cactus")).to_be_visible()
        console.row("Cactus").focus()
        console.page.keyboard.press("ArrowDown")
        expect(console.row("Aloe")).to_be_focused()
        console.page.keyboard.press("Enter")
        console.sees("Aloe", within=console.detail.locator(".lead"))
        console.page.keyboard.press("Escape")
        expect(console.page).to_have_url(re.compile("#/payments$"))


class TestWebhooks:
    def test_an_endpoint_is_added_edited_paused_and_deleted_and_its_secret_shown_once(self, console: Console):
        console.open("webhooks/endpoints")
        console.press("Add an endpoint…")
        console.dialog.get_by_label("URL").fill("http://127.0.0.1:9/hook")
        console.press("Add endpoint", console.dialog)
        expect(console.dialog.get_by_role("button", name="Done")).to_be_focused()
        console.page.keyboard.press("Escape")
        expect(console.dialog.locator("code")).to_have_text(re.compile("^whsec_"))
        console.press("Done", console.dialog)
        assert "whsec_" not in console.page.content().replace("whsec_••••", "")
        console.row("http://127.0.0.1:9/hook").click()
        console.agree("Edit…", "Save", Events="charge.*")
        console.sees("charge.*")
        console.agree("Pause…", "Pause")
        expect(console.status).to_have_text("disabled")
        console.press("Misbehave…")
        console.dialog.get_by_label("Deliver everything twice").check()
        console.press("Set", console.dialog)
        console.sees("Deliver everything twice")
        console.press("Roll secret…")
        console.press("Roll", console.dialog)
        expect(console.dialog.locator("code")).to_have_text(re.compile("^whsec_"))
        console.press("Done", console.dialog)
        console.agree("Delete…", "Delete")
        console.sees("No endpoint: events go nowhere.", within=console.list)

    def test_dead_letters_are_counted_and_replayed(self, console: Console, shop: Shop):
        shop(500)
        console.ask()
        console.bench.clock.advance(days=10)
        console.open("webhooks/deliveries")
        views = console.page.get_by_role("navigation", name="Views")
        expect(views.get_by_role("link", name=re.compile(r"^Webhooks ?\d+$"))).to_be_visible()
        console.row("payment_intent.created").click()
        delivery = console.detail.locator(".delivery .pill")
        expect(delivery).to_have_text("dead_letter")
        shop(200)
        console.agree("Replay dead letters…", "Replay all")
        expect(delivery).to_have_text("delivered")
        expect(views.get_by_role("link", name="Webhooks", exact=True)).to_be_visible()

    @pytest.mark.parametrize("width", [1400, 700])
    def test_what_failed_can_be_read_with_its_days_and_reasons(self, console: Console, width: int):
        console.bench.client.webhook_endpoints.create(url="http://127.0.0.1:9/webhooks")
        console.ask()
        console.bench.clock.advance(days=5)
        console.open("webhooks/deliveries", size=(width, 900))
        row = console.row("payment_intent.requires_action")
        expect(console.list).to_contain_text("no response \N{MULTIPLICATION SIGN}10")
        assert row.locator("xpath=..").evaluate("(cell) => cell.scrollWidth - cell.clientWidth") <= 0
        row.click()
        attempts = console.detail.get_by_role("table")
        expect(attempts.get_by_text("[Errno 111] Connection refused")).to_have_count(10)
        wider = "(all) => all.filter((each) => each.scrollWidth > each.clientWidth).map((each) => each.textContent)"
        assert attempts.locator("th, td").evaluate_all(wider) == []
        days = attempts.locator("time").evaluate_all("(all) => all.map((each) => each.textContent.split(' ')[0])")
        assert len(set(days)) > 1
        title = console.detail.locator("h1")
        assert title.evaluate("(each) => each.scrollWidth - each.clientWidth") == 0

    def test_events_are_found_and_lead_to_their_payment_and_are_sent(self, console: Console, shop: Shop):
        made = console.sell(what="Fern")
        shop(200)
        console.open("webhooks/events")
        console.page.get_by_label("Type").first.select_option("charge.*")
        expect(console.list.locator("tbody tr")).to_have_count(1)
        console.row("charge.succeeded").click()
        expect(console.detail.get_by_role("region", name="The event")).to_contain_text('"type": "charge.succeeded"')
        console.page.get_by_role("link", name="The payment").click()
        expect(console.detail).to_have_attribute("aria-label", f"Payment {made}")


class TestRequests:
    def test_one_is_found_opened_and_sent_again(self, console: Console):
        console.open("payments/new")
        console.page.get_by_text("Idempotency key, scenario").click()
        console.page.get_by_label("Idempotency key").fill("order-9")
        console.press("Ask for K150.00")
        expect(console.status).to_have_text("waiting")
        console.page.get_by_role("link", name="Requests").click()
        console.page.get_by_label("Search requests").fill("order-9")
        console.row("/confirm").click()
        expect(console.detail.get_by_role("region", name="Request", exact=True)).to_contain_text("Idempotency-Key: ")
        console.sees(re.compile(r"curl -X POST .*/confirm"))
        console.press("Send again…")
        console.sees("With the same idempotency key, the service responds as it did before.", within=console.dialog)
        console.press("Send it", console.dialog)
        expect(console.dialog.get_by_role("region", name="Response")).to_contain_text("requires_action")
        console.press("Done", console.dialog)
        assert len(console.bench.client.payment_intents.list().data) == 1
        console.page.get_by_label("Status").select_option("4")
        console.sees("No request matches.", within=console.list)

    def test_what_is_masked_is_filled_in_before_it_is_sent(self, console: Console, watch: Watch):
        watch.expect("409")
        console.ask()
        console.open("requests")
        console.row("/confirm").click()
        console.press("Fill in and send…")
        body = console.page.get_by_label("Body")
        expect(body).to_have_value(re.compile("26096••••567"))
        body.fill(body.input_value().replace("+26096••••567", OTHER))
        console.press("Send", console.detail)
        expect(console.page.get_by_role("region", name="What came back")).to_contain_text("409")

    def test_every_operation_opens_and_one_is_sent_and_shown_with_its_code(self, console: Console, watch: Watch):
        watch.expect("401")
        console.sell()
        described = httpx.get(f"{console.url}/openapi.json").json()["paths"].values()
        names = [each["operationId"] for methods in described for each in methods.values() if "operationId" in each]
        console.open("requests/try")
        for operation in names:
            console.go(f"requests/try/{operation}")
            expect(console.page.get_by_role("form", name=f"Try {operation}", exact=True)).to_be_visible()
        console.page.get_by_label("Search operations").fill("createcharge")
        console.list.get_by_role("link").filter(has_text="POST/v1/charges").click()
        expect(console.page.get_by_label("Body")).to_have_value(re.compile('"amount": 15000'))
        console.press("Send", console.detail)
        came = console.page.get_by_role("region", name="What came back")
        expect(came.get_by_role("region", name="Response")).to_contain_text('"status": "succeeded"')
        expect(came.locator(".codes")).to_contain_text("/v1/charges")
        console.page.get_by_text("Query, headers, key").click()
        console.page.get_by_label("Sent with").select_option("the publishable key")
        console.press("Send", console.detail)
        expect(came.get_by_role("region", name="Response")).to_contain_text("401")

    def test_the_reference_leads_to_each_operation_filled_in_by_its_example_and_what_is_there(self, console: Console):
        sold = console.bench.client.payment_intents.retrieve(console.sell())
        console.page.goto(f"{console.url}/docs#createRefund")
        links = console.page.get_by_role("link", name=re.compile("^Try it out"))
        assert links.count() == console.page.locator(".operation").count() > 40
        console.page.locator("#createRefund").get_by_role("link", name=re.compile("^Try it out")).click()
        expect(console.page.get_by_label("Body")).to_have_value(re.compile(str(sold.latest_charge)))
        console.press("Send", console.detail)
        came = console.page.get_by_role("region", name="What came back")
        expect(came.get_by_role("region", name="Response")).to_contain_text('"object": "refund"')
        (refund,) = console.bench.client.refunds.list().data
        console.go("requests/try/retrieveRefund")
        expect(console.page.get_by_label("refund_id")).to_have_value(refund.id)


def test_money_is_paid_out_and_the_books_balance(console: Console):
    console.sell()
    late = console.ask("80.00", "+260960000010")
    console.bench.clock.advance(days=1)
    console.open("money")
    console.sees("K146.25", "K80.00", within=console.page.locator(".sums"))
    console.sees("debits equal credits", re.compile(r"the chain of \d+ entries holds"), within=console.page)
    console.agree("Credit…", "Credit")
    expect(console.page.get_by_role("table", name="Late money")).to_contain_text("credited")
    console.agree("Pay out…", "Pay out", Amount_in_ZMW="100.00", Destination="Main account")
    payouts = console.page.get_by_role("table", name="Payouts")
    expect(payouts).to_contain_text(re.compile(r"K100.00.*Main account.*pending"))
    console.press("+1 day")
    expect(payouts).to_contain_text("paid")
    console.row("suspense:mtn").click()
    expect(
        console.page.get_by_role("table", name="Statement of suspense:mtn").get_by_role("link").first
    ).to_have_attribute("href", f"#/payments/{late}")


class TestSandbox:
    def test_keys_are_shown_on_request_alone(self, console: Console):
        secret = console.bench.secret_key
        console.open("sandbox")
        console.sees("Scenarios", within=console.page)
        assert str(secret) not in console.page.content()
        assert not any("/sandbox/keys" in path for _, path in console.asked)
        console.press("Show keys")
        expect(console.page.get_by_text(str(secret))).to_be_visible()
        console.press("Hide keys")
        assert str(secret) not in console.page.content()
        assert not any("sk_test" in path for _, path in console.asked)

    @pytest.mark.parametrize("width", [1400, 700])
    def test_the_last_characters_of_each_key_are_seen_without_a_scrollbar(self, console: Console, width: int):
        console.open("sandbox", size=(width, 900))
        keys = console.page.get_by_role("table", name=re.compile("^keys"))
        expect(keys.get_by_role("row")).to_have_count(3)
        for each in (keys.locator("td:first-child").first, keys.locator("..")):
            assert each.evaluate("(each) => each.scrollWidth - each.clientWidth") == 0

    def test_an_operator_goes_down_and_a_number_follows_its_script(self, console: Console, watch: Watch):
        watch.expect("400")
        console.open("sandbox")
        row = console.page.get_by_role("row").filter(has_text="MTN MoMo")
        row.get_by_role("button", name="Outage…").click()
        console.press("Start outage")
        expect(row).to_contain_text("down")
        expect(row).to_contain_text(re.compile(r"\d+ min.* more"))
        row.get_by_role("button", name="End outage").click()
        expect(row).to_contain_text("up")
        console.press("Script a number…")
        console.dialog.get_by_label("Outcomes, in order").fill("no_such_thing")
        console.press("Set", console.dialog)
        expect(console.dialog.get_by_role("alert")).to_contain_text("no_such_thing")
        console.dialog.get_by_label("Outcomes, in order").fill("insufficient_funds")
        console.press("Set", console.dialog)
        expect(console.dialog).to_have_count(0)
        made = console.ask()
        console.bench.clock.advance(seconds=10)
        assert console.bench.client.payment_intents.retrieve(made).last_payment_error.code == "insufficient_funds"

    def test_the_clock_is_moved_and_the_sandbox_reset(self, console: Console):
        console.sell()
        console.open("sandbox")
        before = console.bench.clock.now_ms
        console.press("…")
        console.dialog.get_by_label("By").fill("2")
        console.dialog.get_by_label("Of what").select_option("hours")
        console.press("Move", console.dialog)
        expect(console.dialog).to_have_count(0)
        assert console.bench.clock.now_ms - before >= 2 * 3_600_000
        console.agree("Reset…", "Delete all payments")
        console.page.get_by_role("link", name="Payments").click()
        expect(console.page.get_by_role("button", name=re.compile("Take a first payment"))).to_be_visible()

    def test_the_key_of_the_console_is_rolled_and_not_revoked(self, serving: "Serving", context: "BrowserContext"):
        with serving("--port", "0", "--json") as server:
            page = context.new_page()
            page.goto(server.console_url)
            page.evaluate("location.hash = '#/sandbox'")
            row = page.get_by_role("row").filter(has_text="sk_test_")
            expect(row.get_by_role("button", name="Revoke…")).to_be_disabled()
            row.get_by_role("button", name="Roll…").click()
            page.get_by_role("dialog").get_by_role("button", name="Roll").click()
            expect(page.get_by_role("dialog").locator("code")).to_have_text(re.compile("^sk_test_"))
            page.get_by_role("dialog").get_by_role("button", name="Done").click()
            expect(page.get_by_role("row").filter(has_text="sk_test_").filter(has_text="rolled")).to_be_visible()
            page.get_by_role("button", name="+1 h").click()
            expect(page.get_by_role("alert")).to_have_count(0)
            page.close()


class TestLayout:
    @pytest.mark.parametrize("size", [LARGE, LAPTOP])
    def test_nothing_is_scrolled_to_but_lists(self, console: Console, size: tuple[int, int]):
        console.sell()
        console.open(size=size)
        for route, view in VIEWS.items():
            console.go(route)
            current = console.page.get_by_role("navigation", name="Views").locator("[aria-current]")
            expect(current).to_have_text(re.compile(f"^{view}"))
            assert console.page.evaluate(
                "[document.scrollingElement.scrollHeight, document.scrollingElement.scrollWidth]"
            ) == [size[1], size[0]]
        console.go("payments")
        box = console.list.locator("tbody tr").first.bounding_box()
        assert (box["height"], box["y"] <= 120) == (36, True)
        assert console.page.locator(".head").bounding_box()["height"] == 48
        assert console.phone.evaluate(INSIDE)

    def test_with_less_room_there_are_two_columns_and_with_little_one(self, console: Console):
        console.sell()
        console.open(size=TABLET)
        for each in (console.list, console.page.get_by_role("link", name="New payment"), console.phone):
            expect(each).to_be_visible()
        expect(console.detail).to_be_hidden()
        console.row("Monstera").click()
        expect(console.detail).to_be_visible()
        expect(console.list).to_be_hidden()
        shown = [each.bounding_box() or {} for each in (console.detail, console.phone)]
        assert [each["x"] for each in shown] == [0, shown[0]["width"]]
        assert sum(each["width"] for each in shown) == TABLET[0]
        console.page.get_by_role("link", name="Back to the list").click()
        expect(console.list).to_be_visible()
        expect(console.detail).to_be_hidden()
        console.page.set_viewport_size({"width": SMALL[0], "height": SMALL[1]})
        expect(console.phone).to_be_hidden()
        console.press("Phone")
        expect(console.phone).to_be_visible()
        expect(console.list).to_be_hidden()
        console.press("Payment")
        expect(console.detail).to_be_visible()
        assert console.page.evaluate("document.scrollingElement.scrollWidth") == SMALL[0]

    @pytest.mark.parametrize("width", [720, 768, 1280])
    def test_beside_the_phone_nothing_is_cut_off_and_no_code_is_covered(self, console: Console, width: int):
        console.open(f"payments/{console.sell()}", size=(width, 900))
        expect(console.page.get_by_role("button", name="…", exact=True)).to_be_in_viewport(ratio=1)
        tabs = console.detail.get_by_role("tablist")
        expect(tabs.get_by_role("tab", name="JSON")).to_be_in_viewport(ratio=1)
        assert tabs.evaluate("(each) => each.scrollWidth - each.clientWidth") == 0
        assert console.detail.get_by_role("button", name="Copy The last call").evaluate(COVERED) == 0
        assert console.page.evaluate("document.scrollingElement.scrollWidth") == width

    def test_on_a_small_screen_the_phone_comes_to_the_front_when_it_is_asked(self, console: Console):
        console.open(size=SMALL)
        console.page.get_by_role("button", name=re.compile("Take a first payment")).click()
        console.pays()


SCHEMES: dict[str, dict[str, Any]] = {
    "light": {"color_scheme": "light"}, "dark": {"color_scheme": "dark"}, "forced": {"forced_colors": "active"},
}  # fmt: skip


def test_no_view_has_a_finding_of_the_accessibility_checker(console: Console, tools: Tools, shop: Shop):
    shop(500)
    console.ask("80.00", "+260960000010")
    console.bench.clock.advance(seconds=400)
    console.sell()
    console.open(size=LAPTOP)

    def check(what: str) -> None:
        console.settle(150)
        for scheme, media in SCHEMES.items():
            console.page.emulate_media(**{"color_scheme": "light", "forced_colors": "none"} | media)
            assert flaws(console.page.locator("html"), tools) == [], (what, scheme)

    for route in [*VIEWS, "payments/new", "money/operator:mtn:float"]:
        console.go(route)
        if route.startswith(("webhooks", "requests")) and "try" not in route:
            console.list.get_by_role("row").get_by_role("link").first.click()
        check(route)
    console.go("payments")
    for name in ("Ledger", "Webhooks", "Code", "JSON", "Timeline"):
        console.tab(name).click()
        check(name)
    console.detail.locator(".step").nth(1).click()
    check("an exchange")
    console.press("Refund…")
    check("a dialog")


class TestOthers:
    def test_text_of_others_is_only_ever_text(self, console: Console):
        console.sell(what="<img src=x onerror=alert(1)> \u202egpj.exe")
        console.open()
        for each in (console.list, console.detail.locator(".lead"), console.phone):
            console.sees("<img src=x onerror=alert(1)>", within=each)
        console.sees("\u2039U+202E\u203agpj.exe", within=console.list)
        assert console.page.locator("img").count() == 0

    def test_a_session_that_has_ended_says_so(self, console: Console, watch: Watch):
        watch.expect("401")
        console.open()
        console.page.route(
            "**/sandbox/**", lambda route: route.fulfill(status=401, json={"detail": "no", "code": "key_missing"})
        )
        console.page.reload()
        expect(console.page.get_by_role("heading", name="This page's session has ended")).to_be_visible()

    def test_a_sandbox_that_does_not_respond_darkens_the_phone_and_comes_back(self, console: Console, watch: Watch):
        watch.expect("ERR_INTERNET_DISCONNECTED|ERR_FAILED")
        console.sell()
        console.open()
        expect(console.phone.get_by_label("PIN")).to_have_count(1)
        console.page.context.set_offline(True)
        try:
            console.press("+1 min")
            expect(console.page.locator(".toast").get_by_role("alert")).to_contain_text("The sandbox does not respond.")
        finally:
            console.page.context.set_offline(False)
        console.press("+1 min")
        expect(console.page.get_by_role("alert")).to_have_count(0)

    def test_a_tab_in_the_background_asks_for_nothing_and_catches_up(self, console: Console):
        console.open()
        console.page.evaluate(HIDDEN, [True])
        console.settle()
        console.sell(what="Fern")
        console.page.wait_for_timeout(600)
        assert console.asked == []
        console.page.evaluate(HIDDEN, [False])
        expect(console.row("Fern")).to_be_visible()

    def test_a_fifth_tab_works_by_asking(self, console: Console):
        console.open()
        pages = [console.page.context.new_page() for _ in range(4)]
        try:
            for page in pages:
                page.goto(console.url)
                expect(page.locator(".app")).to_have_attribute("data-status", re.compile("live|asking"))
            expect(pages[-1].locator(".app")).to_have_attribute("data-status", "asking")
            console.sell(what="Fern")
            for page in pages:
                expect(page.get_by_role("row").filter(has_text="Fern")).to_be_visible()
            pages[0].close()
            expect(pages[-1].locator(".app")).to_have_attribute("data-status", "live")
        finally:
            for page in pages:
                page.close()

    def test_where_the_interface_offers_less_the_dashboard_has_it(
        self, serving: "Serving", context: "BrowserContext", tmp_path: Path
    ):
        gaps = tmp_path / "gaps.toml"
        gaps.write_text('extra_endpoints = "absent"\npagination = "page"\n')
        with (
            serving("--port", "0", "--json", "--gaps", str(gaps)) as server,
            Workbench.connect(**server.address) as bench,
        ):
            page = context.new_page()
            page.goto(server.console_url)
            page.get_by_role("button", name=re.compile("Take a first payment")).click()
            expect(page.get_by_label("PIN")).to_be_focused()
            page.keyboard.type("1234\n")
            page.get_by_role("button", name="Refund…").click()
            page.get_by_role("dialog").get_by_role("button", name="Refund").click()
            expect(page.locator(".lead .pill")).to_have_text("refunded")
            page.evaluate("location.hash = '#/webhooks/events'")
            expect(page.get_by_role("row").filter(has_text="refund.created")).to_be_visible()
            page.evaluate("location.hash = '#/sandbox'")
            expect(page.get_by_role("row").filter(has_text="extra_endpoints")).to_contain_text("absent")
            assert bench.http.get("/v1/refunds", headers=bearer(bench)).status_code == 404
            page.close()


FAST_MS, MOST_ROWS = 150, 300
TIMED = """([label, text]) => new Promise((tell) => {
  const field = document.querySelector(`[aria-label="${label}"]`), pager = document.querySelector('.list .pager');
  const [before, start] = [pager.textContent, performance.now()];
  const look = new MutationObserver(() => {
    if (pager.textContent === before) return;
    look.disconnect();
    requestAnimationFrame(() => setTimeout(() => tell(performance.now() - start)));
  });
  look.observe(document.querySelector('.list'), {subtree: true, childList: true, characterData: true});
  field.value = text;
  field.dispatchEvent(new Event(field.tagName === 'SELECT' ? 'change' : 'input', {bubbles: true}));
})"""


@pytest.mark.thorough
def test_ten_thousand_payments_are_searched_and_filtered_at_once(console: Console):
    simulate(console, 10_000)
    console.open()
    expect(console.pager).to_contain_text("1\N{EN DASH}40 of 10,000 payments")
    assert console.page.get_by_role("row").count() <= MOST_ROWS
    for label, texts in (
        ("Search payments", ("order-77", "001", "", "order-9")),
        ("State", ("failed", "succeeded", "")),
        ("Operator", ("airtel", "")),
    ):
        took = [console.page.evaluate(TIMED, [label, text]) for _ in range(4) for text in texts]
        # Of the best: another program's load makes one slower and none faster.
        assert min(took) < FAST_MS, (label, took)


PICTURES = {
    "console-payments": ("payments", "Every PIN here is 1234."),
    "console-webhooks": ("webhooks/deliveries", "charge.succeeded"),
    "console-sandbox": ("sandbox", "Operators"),
}
"""The pictures of the README: the name of each, what the address says, and a text that is on it."""


def test_the_readme_has_three_views(console: Console, shop: Shop, tmp_path: Path, request: pytest.FixtureRequest):
    shop(200)
    console.sell("90.50", OTHER, "airtel", what="Fern")
    console.ask("45.00", "+260950000002", "zamtel", what="Aloe")
    sold = console.sell("320.00", "+260966543210", what="Orchid")
    console.bench.client.refunds.create(payment_intent=sold, amount=Decimal("20.00"))
    console.bench.clock.advance(minutes=7)
    shop(500)
    console.ask("60.00", "+260960000004", what="Basil")
    console.bench.clock.advance(minutes=3)
    shop(200)
    console.sell()
    for name, (route, text) in PICTURES.items():
        console.open(route, LAPTOP)
        console.sees(text, within=console.page.locator(".app"))
        if name == "console-webhooks":
            console.row("pending").click()
            console.sees("out of stock")
        console.settle()
        shot = tmp_path / f"{name}.png"
        console.page.screenshot(path=shot, animations="disabled")
        keep(shot, name, request.config)


LONG_MS = 100


@pytest.mark.thorough
def test_hundreds_of_live_payments_leave_no_long_task_and_no_litter(console: Console, browser: "Browser"):
    console.open()
    session = console.page.context.new_cdp_session(console.page)
    session.send("Performance.enable")

    def measured() -> dict[str, float]:
        session.send("HeapProfiler.collectGarbage")
        return {each["name"]: each["value"] for each in session.send("Performance.getMetrics")["metrics"]}

    def sell(count: int) -> None:
        for place in range(count):
            console.sell(phone=f"+2609600{place % 200 + 10_000:05}", what=f"live {place}")

    sell(100)
    console.settle()
    before = measured()
    browser.start_tracing(page=console.page, categories=["toplevel"])
    sell(200)
    console.settle()
    traced = json.loads(browser.stop_tracing())["traceEvents"]
    after = measured()
    # By the processor's time: another program's load makes a task longer, and no stall of the page's own.
    tasks_ms = [each["tdur"] / 1000 for each in traced if each["name"].endswith("RunTask") and "tdur" in each]
    assert len(tasks_ms) > 200
    assert max(tasks_ms) < LONG_MS
    assert after["Nodes"] < 2 * before["Nodes"] + 2000
    assert after["JSHeapUsedSize"] < 1.5 * before["JSHeapUsedSize"] + 1e6


def simulate(console: Console, count: int) -> None:
    """So many charges of a simulated month, half of which fail."""
    start = console.bench.clock.now_ms + 1000
    numbers = {"+260960000001": "mtn", "+260970000001": "airtel", "+260950000002": "zamtel", "+260960000004": "mtn"}
    commands = [
        {
            "at_ms": start + place * 50, "what": "charge", "order": f"order-{place}", "phone": phone,
            "provider": numbers[phone], "amount_minor": 500 + place,
        }
        for place, phone in zip(range(count), cycle(numbers), strict=False)
    ]  # fmt: skip
    cursor = 0
    while cursor < count:
        body = {"simulation": "many", "cursor": cursor, "commands": commands[cursor : cursor + 1000]}
        made = httpx.post(f"{console.url}/sandbox/simulation", json=body, headers=bearer(console.bench), timeout=60)
        cursor = made.json()["cursor"]
