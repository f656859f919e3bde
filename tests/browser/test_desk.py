"""The desk in a real browser: from an empty form to a verified webhook."""

import re
from typing import TYPE_CHECKING

from PIL import Image
from playwright.sync_api import expect

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
AMOUNT = "Amount in kwacha (ZMW)"


class Desk:
    def __init__(self, lab: "Lab", root: "Locator") -> None:
        self.lab = lab
        self.root = root
        self.status = root.locator("> .wb-status")
        self.handset = root.locator("section.wb-phone")
        parts = ("Answer", "Payment", "Webhooks", "Ledger")
        self.answer, self.payment, self.webhooks, self.ledger = map(self.part, parts)

    def part(self, name: str) -> "Locator":
        return self.root.get_by_role("region", name=name, exact=True)

    def field(self, name: str) -> "Locator":
        return self.root.get_by_label(name, exact=True)

    def press(self, name: str) -> None:
        self.root.get_by_role("button", name=name, exact=True).click()

    def send(self) -> None:
        self.press("Send request")

    def asks(self) -> None:
        self.send()
        self.says("its handset shows the prompt")

    def pay(self, amount: str = "150.00") -> None:
        """Type the PIN; all of it has come to what it should."""
        self.lab.type_pin(self.handset)
        self.is_paid(amount)

    def says(self, words: str) -> None:
        expect(self.status).to_contain_text(words)

    def is_paid(self, amount: str = "150.00") -> None:
        self.says(f"Paid: ZMW {amount} is booked in the ledger, and its webhook has come, its signature verified.")
        expect(self.payment.get_by_role("list", name="How far it is")).to_contain_text("webhook verified: done")
        row = self.webhooks.get_by_role("row").filter(has_text=re.compile(r"\.succeeded")).last
        expect(row).to_contain_text("✓ verified")
        expect(self.ledger).to_contain_text("Debits equal credits")
        expect(self.ledger.get_by_role("table").first).to_contain_text(amount)


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
        lab.page.set_viewport_size({"width": 1900, "height": 3000})
        expect(desk.answer).to_contain_text("Nothing was sent yet.")
        lab.snapshot(desk.root, "desk-empty")
        desk.send()
        desk.says("ZMW 150.00 asked of +26096••••567: its handset shows the prompt.")
        expect(desk.handset).to_contain_text("Pay ZMW 150.00")
        # Code that is scrolled stays where it is.
        scrolled = desk.answer.get_by_role("group", name="Answer")
        scrolled.evaluate("(node) => { node.scrollTop = 60; }")
        desk.pay()
        assert scrolled.evaluate("(node) => node.scrollTop") == 60
        expect(desk.answer).to_contain_text("→ 200 OK")
        shot = lab.shot(desk.root, "desk")
        # As far as the ledger: the code below it is for those who have begun.
        top, ledger = desk.root.bounding_box(), desk.ledger.bounding_box()
        assert top
        assert ledger
        with Image.open(shot) as whole:
            cut = whole.crop((0, 0, whole.width, int(ledger["y"] + ledger["height"] - top["y"]) + 8))
        cut.save(shot)
        lab.picture(shot, "desk")
        lab.snapshot(desk.payment, "desk-paid-payment")
        lab.snapshot(desk.webhooks, "desk-paid-webhooks")
        lab.snapshot(desk.ledger, "desk-paid-ledger")

    def test_by_keyboard_alone(self, lab: "Lab"):
        desk, keys = opened(lab), lab.page.keyboard
        desk.field(AMOUNT).focus()
        keys.press("Control+A")
        keys.type("20.50")
        # Nothing of what is typed reaches the notebook, and Enter sends.
        keys.press("Enter")
        expect(desk.handset).to_contain_text("Pay ZMW 20.50")
        lab.reach(desk.handset.get_by_label("PIN", exact=True))
        keys.type("1234")
        keys.press("Enter")
        desk.is_paid("20.50")
        assert lab.page.locator(".jp-Notebook .jp-Cell").count() == 2


class TestTheRequest:
    def test_raw_json_follows_the_form_is_sent_as_written_and_refused_beside_it(self, lab: "Lab"):
        desk = opened(lab)
        raw, described = desk.field("JSON to create it"), desk.field("Description")
        described.press("End")
        described.press_sequentially(" deliciosa, large")
        expect(raw).to_have_value(re.compile('"Monstera deliciosa, large"'))
        expect(described).to_have_value("Monstera deliciosa, large")
        raw.fill('{"amount": 9.75, "currency": "ZMW", "payment_method_types": ["mobile_money"]}')
        expect(desk.root).to_contain_text("Written by hand: sent as it stands.")
        desk.send()
        expect(desk.handset).to_contain_text("Pay ZMW 9.75")
        desk.pay("9.75")
        raw.fill('{"amount": 9.75,,}')
        # Sent at once: what was typed last is sent first.
        desk.send()
        desk.says("The body is not JSON")
        expect(raw).to_have_attribute("aria-invalid", "true")
        expect(desk.answer).to_contain_text("→ 400 Bad Request")
        desk.press("Take the form's again")
        # Markup stays text.
        described.fill("<img src=x onerror=alert(1)><b>Fern</b>")
        desk.asks()
        assert desk.root.locator("img").count() == desk.answer.locator("b").count() == 0
        expect(desk.answer).to_contain_text("<b>Fern</b>")

    def test_what_is_copied_runs_as_it_stands(self, lab: "Lab"):
        desk = opened(lab)
        request = desk.part("Request")
        request.get_by_text("The same in Python and curl").click()
        desk.field(AMOUNT).fill("7")
        code = request.get_by_role("group", name="Python")
        expect(code).to_contain_text("amount=7,")
        lab.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        request.get_by_role("button", name="Copy Python").click()
        desk.says("Python copied.")
        lab.run(lab.page.evaluate("() => navigator.clipboard.readText()"))
        expect(desk.handset).to_contain_text("Pay ZMW 7.00")

    def test_two_payments_and_their_handsets(self, lab: "Lab"):
        desk = opened(lab)
        desk.send()
        expect(desk.handset).to_contain_text("Pay ZMW 150.00")
        desk.field(AMOUNT).fill("20.00")
        desk.field("Customer's number").fill("+260971234567")
        desk.field("Operator").select_option("airtel")
        desk.send()
        expect(desk.handset).to_contain_text("Pay ZMW 20.00")
        expect(desk.handset).to_contain_text("Airtel")
        choice = desk.field("Payment looked at")
        choice.select_option(index=2)
        expect(desk.handset).to_contain_text("Pay ZMW 150.00")
        desk.pay()
        choice.select_option(index=1)
        expect(desk.handset).to_contain_text("Pay ZMW 20.00")
        expect(desk.ledger).to_contain_text("No entry yet")
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
        expect(desk.payment).to_contain_text("ZMW 3.00")
        expect(field).to_have_value("Fern, half wri")
        expect(field).to_be_focused()
        lab.page.keyboard.type("tten")
        expect(field).to_have_value("Fern, half written")

    def test_two_views_show_the_same_and_a_restarted_kernel_and_a_closed_bench_are_said(self, lab: "Lab"):
        desk, again = opened(lab, "bench.desk()", "bench.desk()"), shown(lab, 2)
        desk.send()
        again.says("its handset shows the prompt")
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
        desk.webhooks.get_by_role("button", name=re.compile("^Message")).last.click()
        desk.part("Request").get_by_text("The same in Python and curl").click()
        for theme in lab.themes():
            lab.shot(desk.root, f"desk-{theme}")
            assert (theme, lab.axe(desk.root), lab.flaws(desk.root)) == (theme, [], [])

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
            found[width] = desk.ledger.evaluate(OVERPRINTED) + desk.ledger.evaluate(SCROLLED)
            lab.shot(desk.ledger, f"desk-ledger-{width}")
        assert {width: each for width, each in found.items() if each} == {}
        for width, height in ((360, 740), (320, 256)):
            lab.page.set_viewport_size({"width": width, "height": height})
            is_whole()
