"""The desk in a browser."""

from typing import TYPE_CHECKING
from playwright.sync_api import expect

if TYPE_CHECKING:
    from tests.browser.conftest import Lab

CELLS = ["from workbench import Workbench\nbench = Workbench(seed=7)", "bench.desk()"]


def test_look(lab: "Lab"):
    lab.page.set_viewport_size({"width": 1500, "height": 3000})
    lab.open(cells=CELLS)
    lab.run_all()
    board = lab.page.locator(".wb-board")
    expect(board.locator(".wb-slot .wb")).to_be_visible()
    board.get_by_role("button", name="Send request").click()
    expect(board.get_by_role("status").first).to_contain_text("rings")
    lab.run("bench.phone('+260961234567').enter_pin('1234')")
    lab.page.wait_for_timeout(800)
    lab.shot(board, "03-paid")
    print(board.get_by_role("status").first.inner_text())
    board.get_by_role("button", name="Message: 08:00:00").last.click()
    board.get_by_text("The same in Python and curl").click()
    lab.shot(board, "04-open")
    lab.theme("JupyterLab Dark")
    for w in (2000, 760, 360):
        lab.page.set_viewport_size({"width": w, "height": 5600})
        if w < 800:
            lab.page.evaluate("() => window.jupyterapp.commands.execute('application:toggle-left-area')")
        if w < 400:
            lab.page.evaluate("() => window.jupyterapp.commands.execute('application:toggle-single-document') ")
        lab.page.wait_for_timeout(500)
        lab.shot(board, f"05-{w}")
        print(w, board.bounding_box())
