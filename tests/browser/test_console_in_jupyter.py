"""The console in a cell of JupyterLab and of Jupyter Notebook: the served one's JavaScript, through the kernel."""

import json
import re
from typing import TYPE_CHECKING

from playwright.sync_api import expect

if TYPE_CHECKING:
    from playwright.sync_api import Locator

    from tests.browser.conftest import Lab, Notebook

MOST_MS = 60
TIMES = 8
WAITING = """
import time
asked = ask()
until = time.monotonic() + 20
while pay.payment_intents.retrieve(asked).status != "succeeded" and time.monotonic() < until:
    time.sleep(0.02)
print("paid while it ran" if time.monotonic() < until else "not paid")
"""
ENTER = """(pin) => new Promise((resolve) => {
  const phone = pin.closest('.phone'), began = performance.now();
  new MutationObserver((_, seeing) => {
    if (!phone.textContent.includes('Approved.')) return;
    seeing.disconnect();
    requestAnimationFrame(() => setTimeout(() => resolve(performance.now() - began)));
  }).observe(phone, {subtree: true, childList: true, characterData: true});
  setTimeout(() => resolve(10_000), 10_000);
  pin.dispatchEvent(new KeyboardEvent('keydown', {key: 'Enter', bubbles: true, cancelable: true}));
})"""
"""Milliseconds from Enter to the frame that shows what came of it; ten seconds where nothing came."""
KINDS = "() => window.jupyterapp.shell.currentWidget.model.sharedModel.cells.map((cell) => cell.cell_type)"
IS_NOTEBOOKS = (
    "Boolean(document.activeElement.closest('.jp-Notebook') && !document.activeElement.closest('.wb-console'))"
)
GONE = "Run the notebook's cells again to go on."
NOT_FOUND = "widget model not found"
"""What ipywidgets' manager 5.0 writes where a kernel connects before the notebook's widgets are read: it takes them as
read. Nothing of ours runs by then, and the notebook opened again shows them."""
OPENINGS = 5


class Shown:
    """The console that a cell shows."""

    def __init__(self, lab: "Lab", *cells: str, place: int = 1) -> None:
        self.lab, self.keyboard = lab, lab.page.keyboard
        if cells:
            lab.open(cells)
            for each in range(place + 1):
                lab.run_cell(each)
        self.root = lab.output(place).locator(".wb-console")
        self.phone = self.root.get_by_role("region", name="Customer's phone")
        self.pin = self.phone.get_by_label("PIN")
        self.first = self.root.get_by_role("button", name="Take a first payment")
        expect(self.root.locator(".app")).to_have_attribute("data-status", "live")

    def pays(self, status: "Locator | None" = None) -> None:
        expect(self.pin).to_be_focused()
        self.keyboard.type("1234")
        self.keyboard.press("Enter")
        expect(self.phone).to_contain_text("Approved.")
        expect(status or self.root.locator(".lead .pill")).to_have_text("succeeded")


def test_a_first_payment_is_a_click_and_five_keys_in_each_theme(lab: "Lab"):
    console = Shown(lab, lab.shop, "bench.console()")
    expect(console.phone).to_contain_text("No customer was asked yet.")
    expect(console.pin).to_have_count(0)
    console.first.click()
    console.pays()
    expect(console.root.locator(".mini").first.locator("tbody tr")).to_have_count(4)
    found = []
    for theme in lab.themes():
        expect(console.root).to_have_attribute("data-theme", "light" if theme == "light" else "dark")
        # Of both dark themes the console's own colours are the same.
        found += [f"{theme}: {each}" for each in lab.axe(console.root)] if theme != "dark" else []
    assert found == []
    # Each view is there, and what the kernel did is on the one that is looked at.
    for view in ("Webhooks", "Requests", "Money", "Sandbox"):
        console.root.get_by_role("link", name=view).first.click()
        expect(console.root.locator(".app")).to_have_attribute("data-view", view.lower())
    lab.run("sell(amount='9.75')")
    console.root.get_by_role("link", name="Payments").first.click()
    expect(console.root.locator(".lead")).to_contain_text("K9.75")
    lab.run("bench.reset()")
    expect(console.first).to_be_visible()


def test_in_jupyter_notebook_it_is_live_too(notebook: "Notebook"):
    notebook.watch.expect("reading 'schema'")  # what Jupyter Notebook itself throws, with no widget on the page
    console = Shown(notebook, notebook.shop, "bench.console()")
    console.first.click()
    console.pays()
    assert notebook.axe(console.root) == []
    assert notebook.run("[each.status for each in pay.payment_intents.list().data]") == "['succeeded']"


def test_the_phone_takes_a_pin_while_a_cell_runs_and_gives_the_keyboard_back(lab: "Lab"):
    console = Shown(lab, lab.shop, "bench.console()", WAITING, "'the end'")
    lab.cell(2).locator(".cm-content").click()
    console.keyboard.press("Shift+Enter")
    # Typed without a click: in the notebook, digits would make headings of the next cell.
    console.pays()
    expect(lab.output(2)).to_contain_text("paid while it ran")
    console.keyboard.type("12ab")
    assert lab.page.evaluate(KINDS) == ["code"] * 4
    console.keyboard.press("Escape")
    console.keyboard.press("Escape")
    assert lab.page.evaluate(IS_NOTEBOOKS)
    lab.run("ask()")
    console.pays()
    # Without Escape the phone gives the keyboard back by itself, a moment after the payment.
    lab.page.wait_for_function(IS_NOTEBOOKS)
    # Its own again: command mode's keys are the notebook's.
    console.keyboard.press("m")
    assert lab.page.evaluate(KINDS) == ["code", "code", "code", "markdown"]


def test_an_editor_or_a_field_that_is_written_in_is_not_left_for_a_prompt(lab: "Lab"):
    console = Shown(lab, lab.shop, "bench.console()", "'a text'")
    lab.cell(2).locator(".cm-content").click()
    lab.run("ask()")
    expect(console.phone).to_contain_text("Pay K150.00")
    console.keyboard.type("1234")
    expect(lab.cell(2).locator(".cm-content")).to_contain_text("1234")
    console.root.get_by_role("button", name="List").or_(console.root.get_by_role("link", name="Requests")).first.click()
    search = console.root.get_by_role("searchbox").or_(console.root.locator("[data-search]")).first
    search.fill("dd")
    lab.run("bench.phone('+260961234567').cancel(); ask(amount='7.00')")
    expect(console.phone).to_contain_text("Pay K7.00")
    console.keyboard.type("b0")
    # Letters and Delete are the notebook's only outside of a field.
    assert search.input_value() == "ddb0"
    assert len(lab.sources()) == 3


def test_a_pin_is_on_the_screen_in_a_moment(lab: "Lab"):
    """It is typed at once, while the page still reads on after the approval before: no digit is lost."""
    console, took = Shown(lab, lab.shop, "bench.console()"), list[float]()
    while len(took) < 4 or (len(took) < TIMES and min(took) >= MOST_MS):
        lab.run("ask()")
        expect(console.phone.locator(".words")).to_contain_text("Enter PIN")
        expect(console.pin).to_be_editable()
        console.pin.focus()
        console.keyboard.type("1234")
        expect(console.pin).to_have_value("1234")
        took.append(console.pin.evaluate(ENTER))
    assert min(took) < MOST_MS, took


def test_there_is_one_phone_on_a_page(lab: "Lab"):
    lab.open([lab.shop, "bench.console()", "Workbench(seed=8).console()"])
    for each in range(3):
        lab.run_cell(each)
    earlier, later = Shown(lab), Shown(lab, place=2)
    expect(later.phone).to_be_visible()
    expect(earlier.phone).to_have_count(0)
    lab.run_cell(1)
    expect(earlier.phone).to_be_visible()
    expect(later.phone).to_have_count(0)


def test_when_its_bench_or_its_kernel_has_ended_it_says_so_and_the_phone_is_dark(lab: "Lab"):
    console = Shown(lab, lab.shop, "bench.console()")
    lab.run("ask()")
    expect(console.pin).to_be_focused()
    lab.run("bench.close()")
    expect(console.phone).to_contain_text("This Workbench is closed.")
    expect(console.pin).to_have_count(0)
    for each in range(2):
        lab.run_cell(each)
    console = Shown(lab)
    lab.run("ask()")
    expect(console.pin).to_be_focused()
    lab.restart()
    expect(lab.output(1)).to_contain_text(GONE)
    expect(console.phone).to_have_class(re.compile(r"\boff\b"))
    expect(console.pin).to_have_count(0)
    lab.run_all()
    expect(lab.output(1)).not_to_contain_text(GONE)
    Shown(lab).first.click()


def test_opened_again_it_is_live_and_without_a_kernel_a_record_with_a_sentence(lab: "Lab"):
    lab.jupyter.keep_widgets()
    lab.open([f"{lab.shop}\nname = sell()", "bench.console()"])
    lab.run_all()
    Shown(lab)
    lab.reopen()
    console = Shown(lab)
    expect(console.phone).to_contain_text("Approved.")
    saved = json.loads(lab.save())
    kept = json.dumps([cell.get("outputs") for cell in saved["cells"]] + [saved["metadata"]])
    assert "K150.00" in json.dumps(saved["metadata"])
    assert "1234567" not in kept
    assert "sk_test_" not in kept.replace("sk_test_••••", "")
    lab.page.goto("about:blank")
    lab.jupyter.end_kernels()
    lab.watch.expect(NOT_FOUND)
    record = lab.output(1)
    for opening in range(OPENINGS):
        lab.page.goto(lab.jupyter.url + lab.address.format(name=f"{lab.name}-again-{opening}", path=lab.path))
        expect(record).to_contain_text(re.compile(f"{re.escape(GONE)}|Error displaying widget"), timeout=60_000)
        if "Error displaying widget" not in record.inner_text():
            break
    expect(record).to_contain_text(GONE)
    expect(record).to_contain_text("/v1/payment_intents")
    expect(record.locator(".wb-console")).to_have_count(0)
