"""The handset in a real browser: from the ring of a prompt to the operator's receipt."""

import json
import re
from decimal import Decimal
from typing import TYPE_CHECKING

from playwright.sync_api import expect

from tests.browser.conftest import READY
from workbench import Workbench

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from tests.browser.conftest import Lab
    from tests.conftest import Serving

NUMBER = "+260961234567"
SILENCE_MS = 10_000
OPENS_MS = 30_000
RING_MS = 6_500
SHOW = "bench.phone('+260961234567')"
COUNT_SOUNDS = """() => {
  window.sounds = 0;
  const made = AudioContext.prototype.createOscillator;
  AudioContext.prototype.createOscillator = function () { window.sounds += 1; return made.call(this); };
}"""
KINDS = "() => window.jupyterapp.shell.currentWidget.model.sharedModel.cells.map((cell) => cell.cell_type)"


class Handset:
    def __init__(self, lab: "Lab", cell: int) -> None:
        self.lab = lab
        self.root = root = lab.output(cell).locator("section.wb-phone")
        self.words = root.locator(".wb-words")
        self.left = root.locator(".wb-left")
        self.says = root.locator(".wb-says")
        self.pin = root.get_by_label("PIN", exact=True)
        self.inbox = root.get_by_role("group", name="Messages, newest first")
        self.receipt = root.locator(".wb-bubble")
        expect(self.words).not_to_be_empty()

    def press(self, *names: str) -> None:
        for name in names:
            self.root.get_by_role("button", name=name, exact=True).click()

    def read(self) -> None:
        self.root.get_by_role("button", name=re.compile("^(Messages|Back$)")).click()

    def asked(self, amount: str = "150.00") -> str:
        intent = self.lab.run(f"print(ask(amount='{amount}'))")
        self.rings(amount)
        return intent

    def rings(self, amount: str = "150.00") -> None:
        expect(self.words).to_have_text(re.compile(rf"Pay K{amount}\s+to PLANT STORE\s+Ref: Monstera"))
        expect(self.root).to_have_class(re.compile("wb-rings"))

    def approve(self) -> None:
        self.lab.type_pin(self.root)
        expect(self.words).to_contain_text("Approved.")

    def status(self, intent: str) -> str:
        return self.lab.run(f"print(bench.client.payment_intents.retrieve('{intent}').status)")


def opened(lab: "Lab", *cells: str, setup: str = "") -> Handset:
    lab.show(setup or lab.shop, *(cells or (SHOW,)))
    return Handset(lab, 1)


def sent_pins(page: "Page") -> list[str]:
    """Every message with a PIN in it that leaves the browser from now on, as it is sent."""
    sent: list[str] = []

    def heard(frame: str | bytes) -> None:
        text = frame if isinstance(frame, str) else frame.decode("utf-8", "replace")
        if re.search(r'"(?:pin|text)":\s*"\d', text):
            sent.append(text)

    page.on("websocket", lambda socket: socket.on("framesent", heard))
    return sent


class TestAPayment:
    def test_by_mouse_from_ring_to_receipt(self, lab: "Lab"):
        sent = sent_pins(lab.page)
        phone = opened(lab)
        expect(phone.words).to_have_text("(no message)")
        intent = phone.asked()
        expect(phone.root.locator(".wb-ring")).to_be_visible()
        expect(phone.says).to_have_text("A prompt waits. Type 1234 and press Send.")
        lab.shot(phone.root, "phone-ringing")
        lab.snapshot(phone.root, "phone-ringing")
        phone.press("1", "2", "5", "Backspace", "3", "4")
        expect(phone.pin).to_have_value("1234")
        expect(phone.pin).to_have_attribute("type", "password")
        expect(phone.root).not_to_have_class(re.compile("wb-rings"))
        assert sent == []
        phone.press("Send")
        expect(phone.words).to_have_text(re.compile(r"Approved\.\s+K150\.00 paid\s+to PLANT STORE\."))
        expect(phone.receipt).to_have_text(re.compile(r"K150\.00 paid to PLANT STORE.* Transaction 4\d{9}\."))
        expect(phone.pin).to_have_value("")
        assert phone.status(intent) == "succeeded"
        assert len(sent) == 1
        lab.shot(phone.root, "phone-approved")
        lab.snapshot(phone.root, "phone-approved")
        expect(phone.root.get_by_role("button", name="Messages 1 new")).to_be_visible()
        phone.read()
        expect(phone.inbox.get_by_role("listitem")).to_have_count(1)
        lab.shot(phone.root, "phone-inbox")
        lab.snapshot(phone.root, "phone-inbox")
        phone.read()
        expect(phone.root.get_by_role("button", name="Messages", exact=True)).to_be_visible()

    def test_by_keyboard_alone_and_the_notebook_around_it_hears_nothing(self, lab: "Lab"):
        phone, keys = opened(lab, SHOW, "'the end'"), lab.page.keyboard
        lab.command("notebook:enter-command-mode")
        phone.asked()
        lab.reach(phone.pin)
        keys.type("1239")
        keys.press("Backspace")
        keys.type("4")
        keys.press("Enter")
        expect(phone.words).to_contain_text("Approved.")
        expect(phone.receipt).to_contain_text("Transaction")
        # The next prompt is answered from where one is; until then nothing looks as if a PIN were asked for.
        expect(phone.pin).to_be_focused()
        expect(phone.root.locator(".wb-field-pin")).to_have_css("opacity", "0")
        lab.shot(phone.root, "phone-approved-by-keyboard")
        keys.type("1")
        expect(phone.root.locator(".wb-field-pin")).to_have_css("opacity", "1")
        keys.press("Backspace")
        lab.reach(phone.root.get_by_role("button", name="Messages 1 new"))
        keys.press("Enter")
        expect(phone.inbox).to_be_visible()
        keys.press("Escape")
        expect(phone.inbox).to_be_hidden()
        # Digits typed on a key go where the keypad's go.
        phone.asked()
        phone.root.get_by_role("button", name="5", exact=True).focus()
        keys.type("12")
        keys.press("Enter")
        expect(phone.pin).to_have_value("125")
        # Letters and digits are shortcuts of the notebook around it: insert a cell, make it a heading.
        keys.type("ab12")
        assert lab.page.evaluate(KINDS) == ["code", "code", "code"]
        phone.press("Clear")
        expect(phone.pin).to_have_value("")
        # A click leaves the focus where one types.
        phone.press("1")
        expect(phone.pin).to_be_focused()
        keys.type("2x34")
        expect(phone.pin).to_have_value("1234")
        # With care: what is typed goes first, and the payment is refused by the second press alone.
        keys.press("Escape")
        expect(phone.pin).to_have_value("")
        keys.press("Escape")
        expect(phone.says).to_have_text("Press Escape again to refuse this payment.")
        expect(phone.words).to_contain_text("Enter PIN")
        keys.press("Escape")
        expect(phone.words).to_have_text(re.compile(r"Canceled\.\s+Nothing was paid\."))

    def test_wrong_pins_a_queue_and_a_prompt_that_expires_while_somebody_types(self, lab: "Lab"):
        """The longest prompt that there is: a reference of forty letters, a wrong PIN, another payment behind it."""
        phone = opened(lab, setup=lab.shop.replace("Monstera", "Monstera deliciosa for the waiting rooms"))
        lab.run("ask(); ask()")
        expect(phone.left).to_contain_text("5:00 left, 3 tries left, 1 more behind. The clock is stopped")
        phone.press("1", "2", "Send")
        expect(phone.says).to_have_text("A PIN has 4 digits; you typed 2.")
        lab.type_pin(phone.root, "9999")
        expect(phone.words).to_contain_text("Wrong PIN. Tries left: 2")
        home = phone.root.locator(".wb-home")
        assert home.evaluate("(home) => home.scrollHeight - home.clientHeight") <= 1
        lab.shot(phone.root, "phone-longest")
        lab.type_pin(phone.root)
        expect(phone.left).not_to_contain_text("behind")
        expect(phone.says).to_have_text("New message from MTN MoMo. A prompt waits. Type 1234 and press Send.")
        # What was typed for a payment that ended is not sent for the next.
        phone.press("1", "2")
        lab.run("bench.clock.advance(61)")
        expect(phone.left).to_contain_text("3:59 left")
        lab.run("bench.clock.advance(400)")
        expect(phone.words).to_contain_text("The request has expired.")
        expect(phone.pin).to_have_value("")
        lab.run("ask()")
        for left in ("2 tries left", "1 try left"):
            lab.type_pin(phone.root, "0000")
            expect(phone.left).to_contain_text(left)
        lab.type_pin(phone.root, "0000")
        expect(phone.words).to_contain_text("Wrong PIN too often.")
        expect(phone.root.locator(".wb-outcome")).to_have_text("✗")
        lab.snapshot(phone.root, "phone-blocked")


class TestTheNotebookAroundIt:
    def test_two_views_show_the_same_also_while_a_cell_runs(self, lab: "Lab"):
        one, again = opened(lab, SHOW, SHOW), Handset(lab, 2)
        one.asked()
        again.rings()
        again.approve()
        expect(one.words).to_contain_text("Approved.")
        lab.run("import threading; done = threading.Event()")
        lab.page.evaluate(
            """() => window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.requestExecute(
                 {code: 'ask(); done.wait(20)'})"""
        )
        one.rings()

    def test_a_closed_bench_a_restarted_kernel_and_none_say_what_to_do(self, lab: "Lab"):
        lab.jupyter.keep_widgets()
        phone = opened(lab)
        phone.asked()
        lab.run("bench.close()")
        expect(phone.says).to_contain_text("This Workbench is closed. Run the notebook's cells again")
        lab.type_pin(phone.root)
        expect(phone.says).to_contain_text("This Workbench is closed.")
        lab.run_all()
        phone = Handset(lab, 1)
        expect(phone.says).to_be_empty()
        phone.asked()
        lab.restart()
        # It says so by itself, and what is pressed hangs on nothing.
        expect(phone.says).to_contain_text("run the cells again", timeout=SILENCE_MS)
        lab.type_pin(phone.root)
        expect(phone.root).not_to_have_attribute("aria-busy", "true", timeout=SILENCE_MS)
        # The ringing, which goes on for a while, takes none of these words away.
        lab.page.wait_for_timeout(RING_MS)
        expect(phone.says).to_contain_text("run the cells again")
        lab.run_all()
        phone = Handset(lab, 1)
        expect(phone.says).to_be_empty()
        phone.asked()
        lab.save()
        lab.page.goto("about:blank")
        lab.jupyter.end_kernels()
        # Where the Lab keeps it, the last screen is shown.
        lab.page.goto(f"{lab.jupyter.url}/lab/workspaces/{lab.name}/tree/{lab.path}")
        lab.page.locator("section.wb-phone").wait_for(timeout=OPENS_MS)
        phone = Handset(lab, 1)
        expect(phone.words).to_contain_text("Enter PIN")
        expect(phone.says).to_contain_text("Run the first cells to switch it on", timeout=SILENCE_MS)
        # Greyed, and no key of it can be pressed.
        body = phone.root.locator(".wb-body")
        expect(body).to_have_css("opacity", "0.55")
        assert lab.axe(phone.root) == []
        body.locator("[data-digit='9']").click(force=True)
        expect(body.locator(".wb-pin")).to_have_value("")
        lab.shot(phone.root, "phone-off")
        lab.page.evaluate(READY, lab.path)
        lab.run_all()
        phone = Handset(lab, 1)
        expect(phone.root.locator(".wb-body")).to_have_css("opacity", "1")
        phone.asked()

    def test_the_tab_closed_and_opened_again_and_neither_pin_nor_number_is_saved(self, lab: "Lab"):
        phone = opened(lab, "number = '+26096' + '1234567'; bench.phone(number)")
        phone.asked()
        lab.reopen()
        phone = Handset(lab, 1)
        phone.rings()
        phone.approve()
        saved = json.loads(lab.save())
        outputs = json.dumps([cell.get("outputs") for cell in saved["cells"]] + [saved["metadata"]])
        assert "+26096" in outputs
        assert "1234567" not in outputs
        assert '"1234"' not in outputs


def asked(bench: Workbench) -> None:
    """A payment of which the customer is asked, by a process of its own."""
    pay = bench.client.payment_intents
    intent = pay.create(
        amount=Decimal("150.00"), currency="ZMW", payment_method_types=["mobile_money"], description="Monstera"
    )
    pay.confirm(intent.id, phone=NUMBER, provider="mtn")


def test_served_a_backends_payment_is_seen_and_time_runs_by_itself(lab: "Lab", serving: "Serving"):
    with serving("--port", "0", "--json") as server:
        phone = opened(lab, setup=f"from workbench import Workbench\n\nbench = Workbench.connect(**{server.address!r})")
        with Workbench.connect(**server.address) as backend:
            asked(backend)
            phone.rings()
        expect(phone.left).to_have_text(re.compile(r"^4:5\d left, 3 tries left$"))
        before = phone.left.text_content()
        expect(phone.left).not_to_have_text(before or "", timeout=3_000)
        lab.type_pin(phone.root)
        expect(phone.receipt).to_contain_text("paid to")
        lab.run("bench.operator.script('+260961234567', ['prompt_timeout'])")
        with Workbench.connect(**server.address) as backend:
            asked(backend)
            phone.rings()
            backend.clock.advance(298)
        # The server closes the prompt when its time is up; nobody asks it to.
        expect(phone.words).to_contain_text("The request has expired.", timeout=SILENCE_MS)
    # The server has ended.
    expect(phone.says).to_contain_text("got no response", timeout=SILENCE_MS)


class TestEverybody:
    def test_axe_finds_nothing(self, lab: "Lab"):
        phone, found = opened(lab), []

        def look(state: str) -> None:
            for theme in lab.themes():
                expect(phone.root).to_have_css("background-color", "rgba(0, 0, 0, 0)")
                lab.shot(phone.root, f"phone-{theme}-{state}")
                found.extend(f"{theme}, {state}: {each}" for each in lab.axe(phone.root))

        look("idle")
        phone.asked()
        look("ringing")
        phone.press("1", "2", "Send")
        expect(phone.says).not_to_be_empty()
        look("refused")
        phone.approve()
        look("approved")
        phone.read()
        look("inbox")
        assert found == []

    def test_it_makes_no_sound_nor_moves_unasked_keeps_its_edges_and_every_target_is_large(self, lab: "Lab"):
        phone = opened(lab)
        lab.page.evaluate(COUNT_SOUNDS)
        phone.asked()
        assert lab.page.evaluate("() => window.sounds") == 0
        moving = "(phone) => getComputedStyle(phone.querySelector('.wb-body')).animationName"
        assert phone.root.evaluate(moving) == "wb-shake"
        lab.page.emulate_media(reduced_motion="reduce")
        assert phone.root.evaluate(moving) == "none"
        expect(phone.root.locator(".wb-ring")).to_have_text("Prompt")
        lab.page.emulate_media(reduced_motion="no-preference", forced_colors="active")
        lab.shot(phone.root, "phone-forced")
        edge = "(phone) => getComputedStyle(phone.querySelector('.wb-key')).borderTopWidth"
        assert phone.root.evaluate(edge) == "2px"
        lab.page.emulate_media(forced_colors="none")
        phone.press("Cancel", "Sound")
        expect(phone.root.get_by_role("button", name="Sound")).to_have_attribute("aria-pressed", "true")
        before = lab.page.evaluate("() => window.sounds")
        # The last size is what 400 % of 1280 by 1024 leaves.
        for width, height in ((1400, 900), (360, 640), (320, 256)):
            phone.asked()
            lab.page.set_viewport_size({"width": width, "height": height})
            if width == 360:
                lab.command("application:toggle-left-area")
            expect(phone.root).to_be_visible()
            lab.shot(phone.root, f"phone-{width}")
            assert (width, lab.flaws(phone.root)) == (width, [])
            box = phone.root.bounding_box()
            assert box is not None
            assert box["x"] + box["width"] <= width
            phone.approve()
        assert lab.page.evaluate("() => window.sounds") > before
