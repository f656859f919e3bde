"""The console in a cell of JupyterLab and of Jupyter Notebook: the served one's JavaScript, through the kernel."""

from typing import TYPE_CHECKING

from playwright.sync_api import expect

if TYPE_CHECKING:
    from tests.browser.conftest import Lab


def test_a_first_payment_by_a_click_and_five_keys(lab: "Lab"):
    console = lab.show(lab.shop, "bench.console()").locator(".wb-console")
    first = console.get_by_role("button", name="Take a first payment")
    first.click()
    phone = console.get_by_role("region", name="Customer's phone")
    expect(phone.get_by_label("PIN")).to_be_focused()
    lab.shot(console, "console-rings")
    lab.page.keyboard.type("1234")
    lab.page.keyboard.press("Enter")
    expect(phone).to_contain_text("Approved.")
    expect(console.locator(".lead .pill")).to_have_text("succeeded")
    lab.shot("#main", "console-in-lab")


WAITING = """
import time
asked = ask()
until = time.monotonic() + 10
while pay.payment_intents.retrieve(asked).status != "succeeded" and time.monotonic() < until:
    time.sleep(0.02)
print("paid while it ran" if time.monotonic() < until else "not paid")
"""


def test_the_phone_takes_a_pin_while_a_cell_runs(lab: "Lab"):
    lab.open([lab.shop, "bench.console()", WAITING, "'the end'"])
    lab.run_cell(0)
    lab.run_cell(1)
    console = lab.output(1).locator(".wb-console")
    phone = console.get_by_role("region", name="Customer's phone")
    expect(console.get_by_role("button", name="Take a first payment")).to_be_visible()
    lab.cell(2).locator(".cm-content").click()
    lab.page.keyboard.press("Shift+Enter")
    expect(phone.get_by_label("PIN")).to_be_focused()
    lab.page.keyboard.type("1234")
    lab.page.keyboard.press("Enter")
    expect(phone).to_contain_text("Approved.")
    expect(lab.output(2)).to_contain_text("paid while it ran")
