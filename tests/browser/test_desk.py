"""The desk in a real browser: from an empty form to a verified webhook."""

import re
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import READY

if TYPE_CHECKING:
    from playwright.sync_api import Locator

    from tests.browser.conftest import Lab

SETUP = "from workbench import Workbench\n\nbench = Workbench(seed=7)"
NUMBER = "+260961234567"
OVERPRINTED = """(part) => {
  const texts = [...part.querySelectorAll('caption, th, td')].filter((each) => each.textContent).map((each) => {
    const range = document.createRange();
    range.selectNodeContents(each);
    return [each.textContent, [...range.getClientRects()]];
  });
  const meet = (a, b) => a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1;
  return texts.flatMap(([one, here], place) => texts.slice(place + 1)
    .filter(([, there]) => here.some((a) => there.some((b) => meet(a, b))))
    .map(([other]) => `${one} / ${other}`));
}"""
"""Texts of tables that stand upon each other."""
SCROLLED = """(part) => [...part.querySelectorAll('.wb-scroll')]
  .filter((each) => each.scrollWidth > each.clientWidth + 1).map((each) => `${each.ariaLabel} is cut off`)"""
TALL = {"width": 1400, "height": 4000}
AMOUNT = "Amount in kwacha"
TABS = ("Progress", "Response", "Webhooks", "Ledger", "Code")
MOST_PX, LEAST_CARD_PX, LEAST_PANEL_PX = 850, 240, 500
SPLIT = """(part) => {
  const found = [];
  for (const each of part.querySelectorAll('caption, th, td, label, button, dt, h4, summary, .wb-step, .wb-note')) {
    for (const node of [...each.childNodes].filter((one) => one.nodeType === 3)) {
      for (const { index, 0: word } of node.textContent.matchAll(/[\\w']+/g)) {
        const range = document.createRange();
        range.setStart(node, index);
        range.setEnd(node, index + word.length);
        if (new Set([...range.getClientRects()].map((line) => line.top)).size > 1) found.push(word);
      }
    }
  }
  return found;
}"""
"""Words that go on in the next line."""
PLACES = """(desk) => [
  '.wb-steps', '.wb-sections', '.wb-tablist', '.wb-tabs', '.wb-primary', '.wb-keys', '.wb-foot'
].map(
  (each) => [each, desk.querySelector(each).getBoundingClientRect()]
).filter(([, box]) => box.width).map(([each, box]) => [each, box.top, each === '.wb-tabs' ? 0 : box.height])"""
"""Where the parts of a desk stand that can be seen, and how high they are."""
ROOM = """(select, text) => {
  const style = getComputedStyle(select);
  const drawn = document.createElement('canvas').getContext('2d');
  drawn.font = `${style.fontWeight} ${style.fontSize} ${style.fontFamily}`;
  const arrow = 20;
  const inside = select.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight) - arrow;
  return inside - drawn.measureText(text).width;
}"""
"""How much wider a closed list is than a text."""


class Desk:
    def __init__(self, lab: "Lab", root: "Locator") -> None:
        self.lab = lab
        self.root = root
        self.status = root.locator("> .wb-status")
        self.handset = root.locator("section.wb-phone")
        self.request, self.payment = map(self.region, ("Request", "Payment"))

    def region(self, name: str) -> "Locator":
        return self.root.get_by_role("region", name=name, exact=True)

    def tab(self, name: str) -> "Locator":
        """The panel of a tab, which is chosen."""
        self.root.get_by_role("tab", name=re.compile(f"^{name}")).click()
        return self.root.get_by_role("tabpanel", name=re.compile(f"^{name}"))

    def field(self, name: str) -> "Locator":
        return self.root.get_by_label(name, exact=True)

    def press(self, name: str) -> None:
        self.root.get_by_role("button", name=name, exact=True).click()

    def send(self) -> None:
        if not self.request.count():
            self.tab("Request")
        self.press("Send request")

    def asks(self) -> None:
        self.send()
        self.says("the phone shows the prompt")

    def pay(self, amount: str = "150.00") -> None:
        """Type the PIN; all of it has come to what it should."""
        if not self.handset.is_visible():
            self.tab("Customer's phone")
        self.lab.type_pin(self.handset)
        self.is_paid(amount)

    def says(self, words: str) -> None:
        expect(self.status).to_contain_text(words)

    def is_paid(self, amount: str = "150.00") -> None:
        self.says(f"Paid: K{amount} is booked in the ledger, and its webhook is verified.")
        expect(self.payment.get_by_role("list", name="How far it is")).to_contain_text("webhook: doneverified")
        row = self.tab("Webhooks").get_by_role("row").filter(has_text=re.compile(r"\.succeeded")).last
        expect(row).to_contain_text("✓ verified")
        ledger = self.tab("Ledger")
        expect(ledger).to_contain_text("Debits equal credits")
        expect(ledger.get_by_role("table").first).to_contain_text(f"K{amount}")


def opened(lab: "Lab", *cells: str) -> Desk:
    lab.page.set_viewport_size(TALL)
    lab.show(SETUP, *(cells or ("bench.desk()",)))
    return shown(lab, 1)


def shown(lab: "Lab", cell: int) -> Desk:
    desk = Desk(lab, lab.output(cell).locator(".wb-board"))
    expect(desk.handset).to_be_visible()
    return desk


class TestAPayment:
    def test_by_mouse_from_empty_to_verified_webhook(self, lab: "Lab"):
        desk = opened(lab)
        lab.page.set_viewport_size({"width": 1900, "height": 1200})
        expect(desk.tab("Response")).to_contain_text("Nothing was sent yet.")
        desk.tab("Progress")
        lab.snapshot(desk.root, "desk-empty")
        desk.send()
        desk.says("K150.00 asked of +26096••••567: the phone shows the prompt.")
        expect(desk.handset).to_contain_text("Pay K150.00")
        # Code that is scrolled stays where it is.
        response = desk.tab("Response")
        scrolled = response.get_by_role("group", name="Response")
        scrolled.evaluate("(node) => { node.scrollTop = 60; }")
        lab.type_pin(desk.handset)
        desk.says("Paid: K150.00")
        assert scrolled.evaluate("(node) => node.scrollTop") == 60
        expect(response).to_contain_text("→ 200 OK")
        desk.is_paid()
        lab.snapshot(desk.payment, "desk-paid-payment")
        lab.snapshot(desk.root.get_by_role("tablist"), "desk-paid-tabs")
        for name in ("Progress", "Webhooks", "Ledger"):
            lab.snapshot(desk.tab(name), f"desk-paid-{name.lower()}")
        desk.tab("Progress")
        lab.picture(lab.shot(desk.root, "desk"), "desk")

    def test_by_keyboard_alone(self, lab: "Lab"):
        desk, keys = opened(lab), lab.page.keyboard
        desk.field(AMOUNT).focus()
        keys.press("Control+A")
        keys.type("20.50")
        # Nothing of what is typed reaches the notebook, and Enter sends.
        keys.press("Enter")
        expect(desk.handset).to_contain_text("Pay K20.50")
        lab.reach(desk.handset.get_by_label("PIN", exact=True))
        keys.type("1234")
        keys.press("Enter")
        desk.is_paid("20.50")
        assert lab.page.locator(".jp-Notebook .jp-Cell").count() == 2


class TestTheRequest:
    def test_raw_json_follows_the_form_is_sent_as_written_and_refused_beside_it(self, lab: "Lab"):
        desk = opened(lab)
        desk.request.get_by_text("Raw JSON").click()
        raw, described = desk.field("JSON to create it"), desk.field("Description")
        described.press("End")
        described.press_sequentially(" deliciosa, large")
        expect(raw).to_have_value(re.compile('"Monstera deliciosa, large"'))
        expect(described).to_have_value("Monstera deliciosa, large")
        raw.fill('{"amount": 9.75, "currency": "ZMW", "payment_method_types": ["mobile_money"]}')
        expect(desk.root).to_contain_text("Written by hand: sent as it stands.")
        desk.send()
        expect(desk.handset).to_contain_text("Pay K9.75")
        desk.pay("9.75")
        raw.fill('{"amount": 9.75,,}')
        # Sent at once: what was typed last is sent first.
        desk.send()
        desk.says("The body is not JSON")
        expect(raw).to_have_attribute("aria-invalid", "true")
        expect(desk.tab("Response")).to_contain_text("→ 400 Bad Request")
        desk.press("Use the form's JSON")
        # Markup stays text.
        described.fill("<img src=x onerror=alert(1)><b>Fern</b>")
        desk.asks()
        response = desk.tab("Response")
        assert desk.root.locator("img").count() == response.locator("b").count() == 0
        expect(response).to_contain_text("<b>Fern</b>")

    def test_what_is_copied_runs_as_it_stands(self, lab: "Lab"):
        desk = opened(lab)
        code = desk.tab("Code")
        desk.field(AMOUNT).fill("7")
        expect(code.get_by_role("group", name="Python", exact=True)).to_contain_text("amount=7,")
        lab.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        code.get_by_role("button", name="Copy Python", exact=True).click()
        desk.says("Python copied.")
        lab.run(lab.page.evaluate("() => navigator.clipboard.readText()"))
        expect(desk.handset).to_contain_text("Pay K7.00")

    def test_two_payments_and_their_handsets(self, lab: "Lab"):
        desk = opened(lab)
        desk.send()
        expect(desk.handset).to_contain_text("Pay K150.00")
        desk.field(AMOUNT).fill("20.00")
        desk.field("Phone number").fill("+260971234567")
        desk.field("Operator").select_option("airtel")
        desk.send()
        expect(desk.handset).to_contain_text("Pay K20.00")
        expect(desk.handset).to_contain_text("Airtel")
        choice = desk.field("Payment looked at")
        choice.select_option(index=1)
        expect(desk.handset).to_contain_text("Pay K150.00")
        desk.pay()
        choice.select_option(index=0)
        expect(desk.handset).to_contain_text("Pay K20.00")
        expect(desk.tab("Ledger")).to_contain_text("No entry yet")
        assert lab.run("len(bench.numbers)") == "2"


class TestTheNotebookAroundIt:
    def test_what_is_typed_survives_what_another_cell_does(self, lab: "Lab"):
        desk = opened(lab)
        field = desk.field("Description")
        field.fill("Fern, half wri")
        field.focus()
        lab.run(
            "from decimal import Decimal\n"
            "i = bench.client.payment_intents.create(amount=Decimal('3'), currency='ZMW',"
            " payment_method_types=['mobile_money'])\n"
            f"bench.client.payment_intents.confirm(i.id, phone='{NUMBER}', provider='mtn')"
        )
        expect(desk.root.get_by_role("tabpanel", name="Progress")).to_contain_text("K3.00")
        expect(field).to_have_value("Fern, half wri")
        expect(field).to_be_focused()
        lab.page.keyboard.type("tten")
        expect(field).to_have_value("Fern, half written")

    def test_two_views_show_the_same_and_a_restarted_kernel_and_a_closed_bench_are_said(self, lab: "Lab"):
        desk, again = opened(lab, "bench.desk()", "bench.desk()"), shown(lab, 2)
        desk.send()
        again.says("the phone shows the prompt")
        again.pay()
        desk.is_paid()
        lab.restart()
        desk.send()
        expect(desk.status).to_contain_text("run the cells again", timeout=9_000)
        lab.run_all()
        desk = shown(lab, 1)
        desk.asks()
        lab.run("bench.close()")
        desk.send()
        expect(desk.root).to_contain_text("closed")

    def test_opened_without_its_kernel_it_says_at_once_that_it_loads_and_then_how_it_is_seen(self, lab: "Lab"):
        lab.jupyter.keep_widgets()
        desk = opened(lab)
        lab.save()
        lab.page.goto("about:blank")
        lab.jupyter.end_kernels()
        lab.page.goto(f"{lab.jupyter.url}/lab/workspaces/{lab.name}/tree/{lab.path}")
        desk.says("Loading …")
        desk.says("Run the notebook's cells to see it.")
        lab.page.evaluate(READY, lab.path)
        lab.run_all()
        shown(lab, 1).says("Send a request")


class TestOneScreen:
    def test_it_fits_in_every_state_and_tab_beside_the_file_browser_and_without(self, lab: "Lab"):
        desk, found = opened(lab), []

        def look(state: str) -> None:
            for side in ("file browser", "notebook alone"):
                lab.page.set_viewport_size({"width": 1440, "height": 4000})
                for name in TABS:
                    panel = desk.tab(name)
                    box = desk.root.bounding_box()
                    assert box
                    if box["height"] > MOST_PX or desk.root.evaluate(SPLIT):
                        found.append((state, side, name, box["height"], desk.root.evaluate(SPLIT)))
                    cards = panel.locator(".wb-beside > *").evaluate_all("(all) => all.map((each) => each.clientWidth)")
                    found.extend((state, side, name, card) for card in cards if card < LEAST_CARD_PX)
                lab.command("application:toggle-left-area")
                lab.page.wait_for_timeout(300)

        look("empty")
        desk.asks()
        look("asked")
        desk.pay()
        look("paid")
        assert found == []

    @pytest.mark.parametrize("width", [1440, 900, 360])
    def test_nothing_moves_when_a_message_comes_and_goes_and_the_choice_can_be_read(self, lab: "Lab", width: int):
        desk = opened(lab)
        lab.command("application:toggle-left-area")
        lab.page.emulate_media(reduced_motion="reduce")  # a phone that rings shakes
        lab.page.set_viewport_size({"width": width, "height": 4000})
        lab.page.wait_for_timeout(300)
        if width < 1440:
            desk.tab("Request")
        places = desk.root.evaluate(PLACES)
        assert len(places) > 4

        def is_still(words: str) -> None:
            desk.says(words)
            assert (words, desk.root.evaluate(PLACES)) == (words, places)

        is_still("Send a request, enter 1234 on the phone")
        desk.field(AMOUNT).fill("1,50")
        desk.send()
        is_still("Nothing was sent. Write 1.50, with a point.")
        desk.field(AMOUNT).fill("150.00")
        desk.send()
        is_still("the phone shows the prompt")
        if width > 360:
            lab.type_pin(desk.handset, "1")
            expect(desk.handset).to_contain_text("A PIN has 4 digits; you typed 1.")
            is_still("the phone shows the prompt")
        lab.run("bench.phone('+260961234567').enter_pin('1234')")
        is_still("Paid: K150.00")
        desk.send()
        lab.run("bench.phone('+260961234567').cancel()")
        is_still("Not paid: declined by customer.")
        choice = desk.field("Payment looked at")
        expect(choice.locator("option")).to_have_text(
            ["2: K150.00 Monstera, 08:00:00, failed", "1: K150.00 Monstera, 08:00:00, succeeded"]
        )
        shown = "2: K150.00 Monstera, 08:00:00" + ", failed" * (width > 360)
        assert choice.evaluate(ROOM, shown) > 0

    def test_the_way_fills_as_it_happens(self, lab: "Lab"):
        desk = opened(lab)
        way = desk.payment.get_by_role("listitem")

        def is_at(*states: str) -> None:
            expect(way).to_have_class([re.compile(f"wb-step-{each}$") for each in states])

        is_at(*["ahead"] * 5)
        desk.asks()
        is_at("done", "done", "now", "ahead", "ahead")
        expect(way.nth(1).get_by_text("08:00:00")).to_have_attribute("title", "2026-01-05 06:00:00 UTC")
        way.first.evaluate("(step) => { step.dataset.stood = 'before'; }")
        desk.pay()
        is_at(*["done"] * 5)
        # What is filled does not fill again.
        expect(way.first).to_have_attribute("data-stood", "before")
        desk.asks()
        is_at("done", "done", "now", "ahead", "ahead")
        desk.handset.get_by_role("button", name="Cancel").click()
        desk.says("Not paid: declined by customer.")
        is_at("done", "done", "done", "failed")

    def test_tabs_by_keyboard_and_a_chosen_one_is_not_taken_for_the_focus(self, lab: "Lab"):
        desk, keys = opened(lab), lab.page.keyboard
        tabs = desk.root.get_by_role("tab")
        tabs.first.focus()
        for key, place in (("ArrowRight", 1), ("End", 4), ("ArrowRight", 0), ("ArrowLeft", 4), ("Home", 0)):
            keys.press(key)
            expect(tabs.nth(place)).to_be_focused()
            expect(desk.root.get_by_role("tab", selected=True)).to_have_text(re.compile(f"^{TABS[place]}"))
            expect(desk.root.get_by_role("tabpanel")).to_have_count(1)
        of_it = "(tab) => [getComputedStyle(tab).outlineColor, getComputedStyle(tab).borderBottomColor]"
        focus, chosen = tabs.first.evaluate(of_it)
        assert focus != chosen
        keys.press("Tab")
        expect(desk.root.get_by_role("tabpanel", name="Progress")).to_be_focused()

    def test_where_it_is_narrow_the_request_is_a_tab_and_what_was_typed_stays(self, lab: "Lab"):
        desk = opened(lab)
        lab.command("application:toggle-left-area")
        desk.field("Description").fill("Fern, half wri")
        lab.page.set_viewport_size({"width": 900, "height": 4000})
        expect(desk.root.get_by_role("tab").first).to_have_text("Request")
        expect(desk.request).to_have_count(0)
        expect(desk.root.get_by_role("tab", selected=True)).to_have_text("Progress")
        expect(desk.tab("Request").get_by_label("Description")).to_have_value("Fern, half wri")
        # There is as much room for it where no phone can be shown.
        desk.field("Phone number").fill("+44")
        desk.send()
        desk.says("not Zambian")
        box = desk.tab("Request").bounding_box()
        assert box
        assert box["height"] > LEAST_PANEL_PX
        desk.field("Phone number").fill(NUMBER)
        desk.field("Description").press("End")
        lab.page.set_viewport_size({"width": 1440, "height": 4000})
        expect(desk.request.get_by_label("Description")).to_be_focused()
        lab.page.keyboard.type("tten")
        expect(desk.field("Description")).to_have_value("Fern, half written")
        desk.press("New key")
        desk.says("The next request is sent with")
        desk.asks()
        expect(desk.tab("Response").get_by_role("group", name="Response")).to_contain_text("Fern, half written")


class TestForEveryone:
    def test_axe_finds_nothing_in_any_theme_nor_with_forced_colors(self, lab: "Lab"):
        desk = opened(lab)
        desk.field(AMOUNT).fill("abc")
        desk.send()
        desk.says("abc is no amount")
        expect(desk.field(AMOUNT)).to_have_attribute("aria-invalid", "true")
        expect(desk.field(AMOUNT)).to_have_accessible_description(re.compile("abc is no amount"))
        for theme in lab.themes():
            assert (theme, lab.axe(desk.root)) == (theme, [])
        desk.field(AMOUNT).fill("5")
        desk.asks()
        lab.page.emulate_media(forced_colors="active")
        lab.shot(desk.root, "desk-forced-colors")
        assert lab.axe(desk.root) == []
        lab.page.emulate_media(forced_colors="none")
        desk.pay("5.00")
        desk.tab("Webhooks").get_by_role("button", name=re.compile("^Message")).last.click()
        desk.request.get_by_text("Raw JSON").click()
        for theme in lab.themes():
            for name in TABS:
                desk.tab(name)
                lab.shot(desk.root, f"desk-{theme}-{name}")
                assert (theme, name, lab.axe(desk.root), lab.flaws(desk.root)) == (theme, name, [], [])

    def test_nothing_is_cut_off_overprinted_or_too_small_through_a_payment(self, lab: "Lab"):
        """In 320 px, what 400 % of 1280 px leaves, and on small screens, of which JupyterLab keeps a third."""
        desk = opened(lab)

        def is_whole() -> None:
            desk.asks()
            desk.pay()
            assert lab.flaws(desk.root) == []

        lab.command("application:toggle-left-area")
        is_whole()
        found = {}
        for width in (1440, 1180, 1000, 900, 700, 500, 360):
            lab.page.set_viewport_size({"width": width, "height": 4000})
            lab.page.wait_for_timeout(300)  # JupyterLab lays out its panels some frames later
            ledger = desk.tab("Ledger")
            found[width] = ledger.evaluate(OVERPRINTED) + ledger.evaluate(SCROLLED)
            lab.shot(ledger, f"desk-ledger-{width}")
        assert {width: each for width, each in found.items() if each} == {}
        for width, height in ((360, 740), (320, 256)):
            lab.page.set_viewport_size({"width": width, "height": height})
            is_whole()
