"""The desk in a real browser: from an empty form to a verified webhook."""

import re
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

if TYPE_CHECKING:
    from playwright.sync_api import Locator

    from tests.browser.conftest import Lab
    from tests.conftest import Serving

THEMES = ("JupyterLab Light", "JupyterLab Dark", "JupyterLab Dark High Contrast")
SETUP = "from workbench import Workbench\n\nbench = Workbench(seed=7)"
NUMBER = "+260961234567"
PIN = "1234"
LEAST_PX = 44
MOST_TABS = 60
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

    def type_pin(self) -> None:
        for digit in PIN:
            self.handset.get_by_role("button", name=digit, exact=True).click()
        self.handset.get_by_role("button", name="Send", exact=True).click()

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
    lab.open(cells=[setup, *(cells or ("bench.desk()",))])
    lab.run_all()
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
        desk.type_pin()
        desk.is_paid()
        expect(desk.answer).to_contain_text("→ 200 OK")
        lab.shot(desk.root, "desk-paid")
        lab.snapshot(desk.payment, "desk-paid-payment")
        lab.snapshot(desk.webhooks, "desk-paid-webhooks")
        lab.snapshot(desk.ledger, "desk-paid-ledger")

    def test_by_keyboard_alone(self, lab: "Lab"):
        desk = opened(lab)
        keys = lab.page.keyboard
        desk.field("Amount in kwacha (ZMW)").focus()
        keys.press("Control+A")
        keys.type("20.50")
        # Nothing of what is typed reaches the notebook, and Enter sends.
        keys.press("Enter")
        expect(desk.handset).to_contain_text("Pay ZMW 20.50")
        pin = desk.handset.get_by_label("PIN", exact=True)
        reach(lab, pin)
        keys.type(PIN)
        keys.press("Enter")
        desk.is_paid("20.50")
        assert lab.page.locator(".jp-Notebook .jp-Cell").count() == 2

    def test_a_charge_in_one_call(self, lab: "Lab"):
        desk = opened(lab)
        desk.field("What to send").select_option("charge")
        expect(desk.field("JSON")).to_have_value(re.compile('"amount": 15000'))
        desk.send()
        desk.is_paid()
        expect(desk.answer).to_contain_text("POST /v1/charges → 200 OK")
        lab.shot(desk.root, "desk-charge")

    def test_what_is_done_is_code_to_copy(self, lab: "Lab"):
        desk = opened(lab)
        desk.part("Request").get_by_text("The same in Python and curl").click()
        code = desk.part("Request").get_by_role("group", name="Python")
        expect(code).to_contain_text('amount=Decimal("150.00")')
        desk.field("Amount in kwacha (ZMW)").fill("7")
        expect(code).to_contain_text("amount=7,")
        desk.part("Request").get_by_role("button", name="Copy Python").click()
        desk.says("Python copied.")
        # What was copied is run as it stands.
        text = code.inner_text()
        lab.run(text)
        expect(desk.handset).to_contain_text("Pay ZMW 7.00")
        expect(desk.payment).to_contain_text("requires action")


def reach(lab: "Lab", place: "Locator") -> None:
    """Press Tab until the focus is there."""
    for _ in range(MOST_TABS):
        lab.page.keyboard.press("Tab")
        if place.evaluate("(node) => node === document.activeElement"):
            return
    pytest.fail("the keyboard does not get there")


class TestTheRequest:
    def test_raw_json_follows_the_form_and_is_sent_as_written(self, lab: "Lab"):
        desk = opened(lab)
        raw = desk.field("JSON to create it")
        desk.field("Description").press("End")
        desk.field("Description").press_sequentially(" deliciosa, large")
        expect(raw).to_have_value(re.compile('"Monstera deliciosa, large"'))
        expect(desk.field("Description")).to_have_value("Monstera deliciosa, large")
        raw.fill('{"amount": 9.75, "currency": "ZMW", "payment_method_types": ["mobile_money"]}')
        expect(desk.root).to_contain_text("Written by hand: sent as it stands.")
        desk.send()
        expect(desk.handset).to_contain_text("Pay ZMW 9.75")
        desk.type_pin()
        desk.is_paid("9.75")

    def test_json_that_is_none_is_said_beside_it(self, lab: "Lab"):
        desk = opened(lab)
        desk.field("JSON to create it").fill('{"amount": 9.75,,}')
        # Sent at once: what was typed last is sent first.
        desk.send()
        desk.says("The body is not JSON")
        expect(desk.field("JSON to create it")).to_have_attribute("aria-invalid", "true")
        expect(desk.answer).to_contain_text("→ 400 Bad Request")
        lab.shot(desk.root, "desk-refused")
        desk.press("Take the form's again")
        desk.send()
        desk.says("its handset shows the prompt")

    def test_the_same_key_does_it_once(self, lab: "Lab"):
        desk = opened(lab)
        expect(desk.root.get_by_role("button", name="Send again with the same key")).to_have_attribute(
            "aria-disabled", "true"
        )
        desk.send()
        desk.says("its handset shows the prompt")
        desk.press("Send again with the same key")
        desk.says("The service gave the answer of before: nothing was done a second time.")
        expect(desk.answer).to_contain_text("Idempotent-Replayed: true")
        assert lab.run("len(bench.client.payment_intents.list().data)") == "1"
        desk.field("Amount in kwacha (ZMW)").fill("151.00")
        desk.press("Send again with the same key")
        desk.says("This Idempotency-Key came with another body before.")
        expect(desk.field("Idempotency key")).to_have_attribute("aria-invalid", "true")
        lab.shot(desk.root, "desk-key-reused")

    def test_two_payments_and_their_handsets(self, lab: "Lab"):
        desk = opened(lab)
        desk.send()
        expect(desk.handset).to_contain_text("Pay ZMW 150.00")
        desk.field("Amount in kwacha (ZMW)").fill("20.00")
        desk.field("Customer's number").fill("+260971234567")
        desk.field("Operator").select_option("airtel")
        desk.send()
        expect(desk.handset).to_contain_text("Pay ZMW 20.00")
        expect(desk.handset).to_contain_text("Airtel")
        choice = desk.field("Payment looked at")
        choice.select_option(index=2)
        expect(desk.handset).to_contain_text("Pay ZMW 150.00")
        desk.type_pin()
        desk.is_paid("150.00")
        choice.select_option(index=1)
        expect(desk.handset).to_contain_text("Pay ZMW 20.00")
        expect(desk.ledger).to_contain_text("No entry yet")
        assert lab.run("len(bench._phone_widgets)") == "2"

    @pytest.mark.parametrize(
        ("name", "value", "words"),
        [
            ("Amount in kwacha (ZMW)", "abc", "abc is no amount"),
            ("Amount in kwacha (ZMW)", "1,5", "Write the ngwee after a point: 1.5."),
            ("Amount in kwacha (ZMW)", "-5", "amount: -5 is not more than zero."),
            ("Customer's number", "+447911123456", "The number is not Zambian"),
            ("Idempotency key", "clé", "printable ASCII"),
        ],
    )
    def test_what_is_wrong_is_said_beside_its_field(self, lab: "Lab", name: str, value: str, words: str):
        desk = opened(lab)
        field = desk.field(name)
        field.fill(value)
        desk.send()
        desk.says(words)
        expect(field).to_have_attribute("aria-invalid", "true")
        expect(field).to_have_accessible_description(re.compile(re.escape(words)))

    def test_markup_stays_text(self, lab: "Lab"):
        desk = opened(lab)
        desk.field("Description").fill("<img src=x onerror=alert(1)><b>Fern</b>")
        desk.send()
        desk.says("its handset shows the prompt")
        assert desk.root.locator("img").count() == desk.answer.locator("b").count() == 0
        expect(desk.answer).to_contain_text("<b>Fern</b>")


class TestTheNotebookAroundIt:
    def test_what_is_typed_survives_what_another_cell_does(self, lab: "Lab"):
        desk = opened(lab)
        desk.field("Description").fill("Fern, half wri")
        desk.field("Description").focus()
        lab.run(
            "from decimal import Decimal\n"
            "i = bench.client.payment_intents.create(amount=Decimal('3'), currency='ZMW',"
            " payment_method_types=['mobile_money'])\n"
            f"bench.client.payment_intents.confirm(i.id, phone='{NUMBER}', provider='mtn')"
        )
        expect(desk.payment).to_contain_text("ZMW 3.00")
        expect(desk.field("Description")).to_have_value("Fern, half wri")
        expect(desk.field("Description")).to_be_focused()
        lab.page.keyboard.type("tten")
        expect(desk.field("Description")).to_have_value("Fern, half written")

    def test_scrolled_code_stays_where_it_is(self, lab: "Lab"):
        desk = opened(lab)
        desk.send()
        desk.says("its handset shows the prompt")
        pre = desk.answer.get_by_role("group", name="Answer")
        pre.evaluate("(node) => { node.scrollTop = 60; }")
        desk.type_pin()
        desk.is_paid()
        assert pre.evaluate("(node) => node.scrollTop") == 60

    def test_a_second_view_shows_the_same(self, lab: "Lab"):
        desk = opened(lab, "bench.desk()", "bench.desk()")
        again = shown(lab, 2)
        desk.send()
        again.says("its handset shows the prompt")
        again.type_pin()
        desk.is_paid()
        again.is_paid()

    def test_a_restarted_kernel_says_what_to_do(self, lab: "Lab"):
        desk = opened(lab)
        lab.restart()
        desk.send()
        expect(desk.status).to_contain_text("run the cells again", timeout=9_000)
        lab.run_all()
        desk = shown(lab, 1)
        desk.send()
        desk.says("its handset shows the prompt")

    def test_a_closed_bench_says_so(self, lab: "Lab"):
        desk = opened(lab)
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


class TestServed:
    def test_the_receiver_starts_when_it_is_asked_for(self, lab: "Lab", serving: "Serving"):
        with serving("--port", "0", "--json") as server:
            desk = opened(
                lab, setup=f"from workbench import Workbench\n\nbench = Workbench.connect(**{server.address!r})"
            )
            expect(desk.webhooks).to_contain_text("Nothing here receives webhooks yet.")
            assert lab.run("bench.session.started is None") == "True"
            desk.press("Start the receiver")
            desk.says("The receiver listens")
            desk.send()
            desk.says("its handset shows the prompt")
            desk.type_pin()
            desk.is_paid()
            lab.shot(desk.root, "desk-served")
            lab.run("bench.close()")


def is_whole_through_a_payment(desk: Desk) -> None:
    """Nothing is cut off and no target too small, from the request to what came of it."""
    desk.send()
    desk.says("its handset shows the prompt")
    desk.type_pin()
    desk.is_paid()
    assert desk.root.evaluate(CUT_OFF) == []
    assert desk.root.evaluate(SMALL) == []


class TestForEveryone:
    @pytest.mark.parametrize("theme", THEMES)
    def test_axe_finds_nothing(self, lab: "Lab", theme: str):
        desk = opened(lab)
        lab.theme(theme)
        desk.field("Amount in kwacha (ZMW)").fill("abc")
        desk.send()
        desk.says("abc is no amount")
        assert lab.axe(desk.root) == []
        desk.field("Amount in kwacha (ZMW)").fill("5")
        desk.send()
        desk.says("its handset shows the prompt")
        desk.type_pin()
        desk.is_paid("5.00")
        desk.webhooks.get_by_role("button", name=re.compile("^Message")).last.click()
        desk.part("Request").get_by_text("The same in Python and curl").click()
        assert lab.axe(desk.root) == []
        assert desk.root.evaluate(SMALL) == []
        lab.shot(desk.root, f"desk-{theme.lower().replace(' ', '-')}")

    def test_forced_colors(self, lab: "Lab"):
        lab.page.emulate_media(forced_colors="active")
        desk = opened(lab)
        desk.send()
        desk.says("its handset shows the prompt")
        lab.shot(desk.root, "desk-forced-colors")
        assert lab.axe(desk.root) == []

    @pytest.mark.parametrize("width", [360, 320])
    def test_narrow(self, lab: "Lab", width: int):
        """320 px is what 400 % of 1280 px leaves."""
        desk = opened(lab)
        desk.root.evaluate(f"(node) => {{ node.parentElement.style.width = '{width}px'; }}")
        is_whole_through_a_payment(desk)
        lab.shot(desk.root, f"desk-{width}")

    @pytest.mark.parametrize(("width", "height"), [(360, 740), (320, 256)], ids=["360px", "400%"])
    def test_on_a_small_screen(self, lab: "Lab", width: int, height: int):
        """Of which JupyterLab keeps a third for itself."""
        desk = opened(lab)
        lab.page.evaluate("() => window.jupyterapp.commands.execute('application:toggle-left-area')")
        lab.page.set_viewport_size({"width": width, "height": height})
        is_whole_through_a_payment(desk)

    def test_no_heading_of_an_account_stands_upon_its_columns(self, lab: "Lab"):
        desk = opened(lab)
        lab.page.evaluate("() => window.jupyterapp.commands.execute('application:toggle-left-area')")
        desk.send()
        desk.says("its handset shows the prompt")
        desk.type_pin()
        desk.is_paid()
        found = {}
        for width in (1440, 1180, 1000, 900, 700, 500, 360):
            lab.page.set_viewport_size({"width": width, "height": 4000})
            lab.page.wait_for_timeout(300)  # JupyterLab lays out its panels some frames later
            found[width] = desk.ledger.evaluate(OVERPRINTED) + desk.ledger.evaluate(SCROLLED)
            lab.shot(desk.ledger, f"desk-ledger-{width}")
        assert {width: each for width, each in found.items() if each} == {}

    def test_at_400_percent(self, lab: "Lab"):
        desk = opened(lab)
        lab.page.set_viewport_size({"width": 1280, "height": 1024})
        desk.root.evaluate("(node) => { node.style.zoom = 4; node.parentElement.style.width = '1280px'; }")
        desk.send()
        desk.says("its handset shows the prompt")
        assert desk.root.evaluate(CUT_OFF) == []
