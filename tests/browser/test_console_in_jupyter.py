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
