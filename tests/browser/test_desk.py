"""The desk in a real browser: from an empty form to a verified webhook."""

import re
from typing import TYPE_CHECKING

from playwright.sync_api import expect

if TYPE_CHECKING:
    from playwright.sync_api import Locator

    from tests.browser.conftest import Lab
    from tests.conftest import Serving

SETUP = "from workbench import Workbench\n\nbench = Workbench(seed=7)"
NUMBER = "+260961234567"
LEAST_PX = 44
SMALL = f"""(desk) => [...desk.querySelectorAll('button, select, input, summary')]
  .filter((each) => !each.closest('.wb-phone'))
  .map((each) => [each.textContent, each.getBoundingClientRect()])
  .filter(([, box]) => box.width && (box.width < {LEAST_PX} || box.height < {LEAST_PX - 0.5}))
  .map(([text, box]) => `${{text}}: ${{box.width}} x ${{box.height}}`)"""
CUT_OFF = """(desk) => [desk, ...desk.querySelectorAll('*')].filter((each) => {
  const scrolls = ['auto', 'scroll'].includes(getComputedStyle(each).overflowX);
  const isField = ['INPUT', 'SELECT', 'TEXTAREA'].includes(each.tagName) || each.closest('.wb-phone, .wb-unseen');
  return !scrolls && !isField && each.clientWidth > 2 && each.scrollWidth > each.clientWidth + 1;
}).map((each) => `${each.tagName} ${each.className}`)"""
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
WIDTH = "(desk, width) => { desk.parentElement.style.width = width; }"
AMOUNT = "Amount in kwacha (ZMW)"
WRONG = [
    (AMOUNT, "abc", "abc is no amount"),
    (AMOUNT, "1,5", "Write the ngwee after a point: 1.5."),
    (AMOUNT, "-5", "amount: -5 is not more than zero."),
    ("Customer's number", "+447911123456", "The number is not Zambian"),
    ("Idempotency key", "clé", "printable ASCII"),
]


class Desk:
    """What the tests press on a desk, and what they read."""

    def __init__(self, lab: "Lab", root: "Locator") -> None:
        self.lab = lab
        self.root = root
        self.status = root.locator("> .wb-status")
        self.handset = root.locator("section.wb-phone")
        self.answer = self.part("Answer")
        self.payment = self.part("Payment")
        self.webhooks = self.part("Webhooks")
        self.ledger = self.part("Ledger")

    def part(self, name: str) -> "Locator":
        return self.root.get_by_role("region", name=name, exact=True)

    def field(self, name: str) -> "Locator":
        return self.root.get_by_label(name, exact=True)

    def press(self, name: str) -> None:
        self.root.get_by_role("button", name=name, exact=True).click()

    def send(self) -> None:
        self.press("Send request")

    def asks(self) -> None:
        """Send the request, until the handset shows the prompt."""
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


def opened(lab: "Lab", *cells: str, setup: str = SETUP) -> Desk:
    lab.page.set_viewport_size(TALL)
    lab.show(setup, *(cells or ("bench.desk()",)))
    return shown(lab, 1)


def shown(lab: "Lab", cell: int) -> Desk:
    desk = Desk(lab, lab.output(cell).locator(".wb-board"))
    expect(desk.handset).to_be_visible()
    return desk


class TestAPayment:
    def test_by_mouse_from_empty_to_verified_webhook(self, lab: "Lab"):
        desk = opened(lab)
        expect(desk.answer).to_contain_text("Nothing was sent yet.")
        lab.snapshot(desk.root, "desk-empty")
        lab.shot(desk.root, "desk-empty")
        desk.send()
        desk.says("ZMW 150.00 asked of +26096••••567: its handset shows the prompt.")
        expect(desk.handset).to_contain_text("Pay ZMW 150.00")
        lab.shot(desk.root, "desk-asked")
        # Code that is scrolled stays where it is.
        scrolled = desk.answer.get_by_role("group", name="Answer")
        scrolled.evaluate("(node) => { node.scrollTop = 60; }")
        desk.pay()
        assert scrolled.evaluate("(node) => node.scrollTop") == 60
        expect(desk.answer).to_contain_text("→ 200 OK")
        lab.shot(desk.root, "desk-paid")
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

    def test_a_charge_in_one_call_and_what_is_done_is_code_to_copy(self, lab: "Lab"):
        desk = opened(lab)
        desk.field("What to send").select_option("charge")
        expect(desk.field("JSON")).to_have_value(re.compile('"amount": 15000'))
        desk.send()
        desk.is_paid()
        expect(desk.answer).to_contain_text("POST /v1/charges → 200 OK")
        lab.shot(desk.root, "desk-charge")
        desk.field("What to send").select_option("intent")
        request = desk.part("Request")
        request.get_by_text("The same in Python and curl").click()
        code = request.get_by_role("group", name="Python")
        expect(code).to_contain_text('amount=Decimal("150.00")')
        desk.field(AMOUNT).fill("7")
        expect(code).to_contain_text("amount=7,")
        request.get_by_role("button", name="Copy Python").click()
        desk.says("Python copied.")
        # What was copied is run as it stands.
        lab.run(code.inner_text())
        expect(desk.handset).to_contain_text("Pay ZMW 7.00")
        expect(desk.payment).to_contain_text("requires action")


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
        lab.shot(desk.root, "desk-refused")
        desk.press("Take the form's again")
        # Markup stays text.
        described.fill("<img src=x onerror=alert(1)><b>Fern</b>")
        desk.asks()
        assert desk.root.locator("img").count() == desk.answer.locator("b").count() == 0
        expect(desk.answer).to_contain_text("<b>Fern</b>")

    def test_the_same_key_does_it_once(self, lab: "Lab"):
        desk, again = opened(lab), "Send again with the same key"
        expect(desk.root.get_by_role("button", name=again)).to_have_attribute("aria-disabled", "true")
        desk.asks()
        desk.press(again)
        desk.says("The service gave the answer of before: nothing was done a second time.")
        expect(desk.answer).to_contain_text("Idempotent-Replayed: true")
        assert lab.run("len(bench.client.payment_intents.list().data)") == "1"
        desk.field(AMOUNT).fill("151.00")
        desk.press(again)
        desk.says("This Idempotency-Key came with another body before.")
        expect(desk.field("Idempotency key")).to_have_attribute("aria-invalid", "true")
        lab.shot(desk.root, "desk-key-reused")

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
        assert lab.run("len(bench._phone_widgets)") == "2"

    def test_what_is_wrong_is_said_beside_its_field(self, lab: "Lab"):
        desk = opened(lab)
        for name, value, words in WRONG:
            field = desk.field(name)
            right = field.input_value()
            field.fill(value)
            desk.send()
            desk.says(words)
            expect(field).to_have_attribute("aria-invalid", "true")
            expect(field).to_have_accessible_description(re.compile(re.escape(words)))
            field.fill(right)
            expect(field).not_to_have_attribute("aria-invalid", "true")


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

    def test_a_second_view_shows_the_same(self, lab: "Lab"):
        desk, again = opened(lab, "bench.desk()", "bench.desk()"), shown(lab, 2)
        desk.send()
        again.says("its handset shows the prompt")
        again.pay()
        desk.is_paid()

    def test_a_restarted_kernel_says_what_to_do_and_a_closed_bench_that_it_is(self, lab: "Lab"):
        desk = opened(lab)
        lab.restart()
        desk.send()
        expect(desk.status).to_contain_text("run the cells again", timeout=9_000)
        lab.run_all()
        desk = shown(lab, 1)
        desk.asks()
        lab.run("bench.close()")
        desk.send()
        expect(desk.root).to_contain_text("closed")

    def test_an_outage_is_seen(self, lab: "Lab"):
        desk = opened(lab)
        lab.run("bench.operator.outage('mtn', 600)")
        desk.send()
        desk.press("Let 10 seconds pass")
        desk.says("Not paid: operator unavailable.")
        expect(desk.payment).to_contain_text("not paid: failed")
        lab.shot(desk.root, "desk-outage")


def test_served_the_receiver_starts_when_it_is_asked_for(lab: "Lab", serving: "Serving"):
    with serving("--port", "0", "--json") as server:
        desk = opened(lab, setup=f"from workbench import Workbench\n\nbench = Workbench.connect(**{server.address!r})")
        expect(desk.webhooks).to_contain_text("Nothing here receives webhooks yet.")
        assert lab.run("bench.session.started is None") == "True"
        desk.press("Start the receiver")
        desk.says("The receiver listens")
        desk.asks()
        desk.pay()
        lab.shot(desk.root, "desk-served")
        lab.run("bench.close()")


class TestForEveryone:
    def test_axe_finds_nothing_in_any_theme_nor_with_forced_colors(self, lab: "Lab"):
        desk = opened(lab)
        desk.field(AMOUNT).fill("abc")
        desk.send()
        desk.says("abc is no amount")
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
            assert (theme, lab.axe(desk.root), desk.root.evaluate(SMALL)) == (theme, [], [])

    def test_nothing_is_cut_off_and_no_target_too_small_through_a_payment(self, lab: "Lab"):
        """In 320 px, what 400 % of 1280 px leaves, and on small screens, of which JupyterLab keeps a third."""
        desk = opened(lab)
        for width in (360, 320):
            desk.root.evaluate(WIDTH, f"{width}px")
            is_whole_through_a_payment(desk)
            lab.shot(desk.root, f"desk-{width}")
        desk.root.evaluate(WIDTH, "")
        lab.command("application:toggle-left-area")
        for width, height in ((360, 740), (320, 256)):
            lab.page.set_viewport_size({"width": width, "height": height})
            is_whole_through_a_payment(desk)
        lab.page.set_viewport_size({"width": 1280, "height": 1024})
        desk.root.evaluate(WIDTH, "1280px")
        desk.root.evaluate("(node) => { node.style.zoom = 4; }")
        desk.asks()
        assert desk.root.evaluate(CUT_OFF) == []

    def test_no_heading_of_an_account_stands_upon_its_columns(self, lab: "Lab"):
        desk = opened(lab)
        lab.command("application:toggle-left-area")
        desk.asks()
        desk.pay()
        found = {}
        for width in (1440, 1180, 1000, 900, 700, 500, 360):
            lab.page.set_viewport_size({"width": width, "height": 4000})
            lab.page.wait_for_timeout(300)  # JupyterLab lays out its panels some frames later
            found[width] = desk.ledger.evaluate(OVERPRINTED) + desk.ledger.evaluate(SCROLLED)
            lab.shot(desk.ledger, f"desk-ledger-{width}")
        assert {width: each for width, each in found.items() if each} == {}


def is_whole_through_a_payment(desk: Desk) -> None:
    desk.asks()
    desk.pay()
    assert (desk.root.evaluate(CUT_OFF), desk.root.evaluate(SMALL)) == ([], [])
