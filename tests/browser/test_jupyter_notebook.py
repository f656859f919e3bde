"""The same widgets in Jupyter Notebook, which has no layout and no extension of ours."""

from typing import TYPE_CHECKING

from playwright.sync_api import expect

if TYPE_CHECKING:
    from tests.browser.conftest import Notebook


def test_a_payment_is_taken_on_the_desk_and_on_a_handset(notebook: "Notebook"):
    notebook.watch.expect("reading 'schema'")  # what Jupyter Notebook itself throws, with no widget on the page
    notebook.page.set_viewport_size({"width": 1400, "height": 2400})
    cells = notebook.shop, "bench.phone('+260971234567')", "## By hand", "bench.desk()"
    desk = notebook.show(*cells).locator(".wb-board")
    handset = notebook.output(1).locator("section.wb-phone")
    notebook.run("ask('+260971234567', 'airtel', '9.75')")
    expect(handset).to_contain_text("Pay K9.75")
    handset.get_by_label("PIN", exact=True).focus()
    notebook.page.keyboard.type("1234")
    notebook.page.keyboard.press("Enter")
    expect(handset).to_contain_text("Approved")

    desk.get_by_role("button", name="Send request").click()
    notebook.type_pin(desk.locator("section.wb-phone"))
    expect(desk.get_by_role("status").first).to_contain_text("Paid: K150.00")
    assert notebook.axe(desk) == []
    notebook.shot("#main", "notebook-7")
    assert notebook.run("[each.status for each in pay.payment_intents.list().data]") == "['succeeded', 'succeeded']"
