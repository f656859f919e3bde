"""The trace in JupyterLab: the diagram, the rows that were chosen, and one exchange to look into and to copy."""

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

if TYPE_CHECKING:
    from playwright.sync_api import Locator

    from tests.browser.conftest import Lab

SOON_MS = 1000  # what happens elsewhere is seen without being asked for
PAID = "first, second = sell(), sell(amount='20.00')"
CHARGE = (
    'bench.client.charges.create(amount=2000, channel="mtn", phone="+260961234567", idempotency_key=f"key-{number}")'
)


@pytest.fixture
def board(lab: "Lab") -> "Locator":
    lab.page.set_viewport_size({"width": 1400, "height": 2200})
    shown = lab.show(lab.shop, PAID, "bench.trace").locator(".wb-board")
    expect(shown.get_by_role("row").last).to_be_visible()
    return shown


def test_an_exchange_is_looked_into_copied_and_told_to_everybody(lab: "Lab", board: "Locator"):
    told = lab.run("print([str(row['seq']) for row in bench.trace])")
    assert told == str(board.get_by_role("rowheader").all_inner_texts()), "the rows are those that a script reads"
    board.get_by_label("Kind").select_option("screen")
    expect(board).not_to_contain_text("funds_secured")
    lab.snapshot(board, "trace")
    board.get_by_label("Kind").select_option("")
    board.get_by_label("Payment").select_option(lab.run("first").strip("'"))
    expect(board).not_to_contain_text("ZMW 20.00")
    diagram = board.get_by_role("img", name="Sequence diagram")
    expect(diagram).to_be_visible()
    assert diagram.evaluate("(image) => image.complete && image.naturalWidth > 100")
    confirm = board.get_by_role("row").filter(has_text="/confirm").get_by_role("button").first
    confirm.focus()
    lab.page.keyboard.press("Enter")
    expect(confirm).to_have_attribute("aria-expanded", "true")
    expect(confirm).to_be_focused()
    expect(board.get_by_role("group", name="Request", exact=True)).to_contain_text("Authorization: Bearer sk_test_••••")
    expect(board.get_by_role("group", name="Answer", exact=True)).to_contain_text("HTTP/1.1 200 OK")
    expect(board).to_contain_text("answered in")
    board.get_by_text("The same call in curl, httpx and Python").click()
    expect(board.get_by_role("group", name="curl", exact=True)).to_contain_text("/confirm")
    board.get_by_role("button", name="Copy curl").click()
    expect(board.get_by_role("status")).to_contain_text("curl copied")
    for theme in lab.themes():
        lab.shot(board, f"trace-{theme}")
        assert (theme, lab.axe(board)) == (theme, [])
    lab.page.set_viewport_size({"width": 360, "height": 1600})
    lab.command("application:toggle-left-area")
    lab.command("application:set-mode", mode="single-document")
    assert board.evaluate("(board) => board.scrollWidth <= board.clientWidth + 1")
    lab.shot(board, "trace-360")


def test_one_call_and_then_five_hundred_payments(lab: "Lab"):
    once = 'bench.client.payment_intents.create(amount=Decimal("1.00"), description="Fern")'
    board = lab.show(lab.shop, once, "bench.trace").locator(".wb-board")
    expect(board.get_by_role("row").last).to_contain_text("payment_intent.created")
    last = lab.run(f"for number in range(500): {CHARGE}\nprint(bench.trace[-1]['seq'])")
    expect(board.get_by_role("rowheader").last).to_have_text(last, timeout=SOON_MS)
    expect(board.get_by_role("row")).to_have_count(51)


def test_what_is_looked_into_and_typed_stays(lab: "Lab", board: "Locator"):
    look = board.get_by_role("button", name="Look: 5", exact=True)
    look.click()
    expect(board.get_by_role("group", name="Request", exact=True)).to_be_visible()
    look.focus()
    lab.run("for _ in range(30): sell(amount='7.00')")
    lab.page.wait_for_timeout(SOON_MS)
    expect(look).to_be_focused()
    expect(board.get_by_role("group", name="Request", exact=True)).to_be_visible()
    board.get_by_role("button", name="Newer").click()
    expect(look).to_have_count(0)

    # A cell that is run again leaves nobody watching.
    for _ in range(3):
        lab.run_cell(2)
        expect(board.get_by_role("row").last).to_be_visible()
    lab.page.wait_for_timeout(SOON_MS)
    assert lab.run("len(bench.watchers._callbacks)") == "1"
