"""The merchant dashboard in JupyterLab."""

from typing import TYPE_CHECKING

from playwright.sync_api import expect

if TYPE_CHECKING:
    from tests.browser.conftest import Lab

SHOP = """
from decimal import Decimal
from workbench import Workbench

bench = Workbench(seed=7)
pay = bench.client

def sell(amount="150.00", phone="+260961234567", pin="1234"):
    intent = pay.payment_intents.create(
        amount=Decimal(amount), currency="ZMW", payment_method_types=["mobile_money"], description="Monstera"
    )
    pay.payment_intents.confirm(intent.id, phone=phone, provider="mtn")
    bench.phone(phone).enter_pin(pin)
    return intent.id

sell()
"""


FAILING = """
import time
pay.webhook_endpoints.create(url="http://127.0.0.1:9/hooks", enabled_events=["charge.*", "refund.failed"])
for phone in ("+260961234567", "+260961234568", "+260961234569"):
    sell(phone=phone)
bench.clock.advance(days=4)
sell(amount="20.50", phone="+260961111222")
"""


def test_look(lab: "Lab"):
    lab.open(cells=[SHOP, FAILING, "bench.dashboard()"])
    lab.page.set_viewport_size({"width": 1400, "height": 2400})
    lab.run_all()
    board = lab.output(2).locator(".wb-board")

    def go(name):
        board.get_by_role("navigation").get_by_role("button", name=name, exact=True).click()
        expect(board.get_by_role("navigation").locator("[aria-current]")).to_have_text(name)

    for name in ("Payments", "API keys", "Webhook endpoints", "Events", "Deliveries", "Operators"):
        go(name)
        lab.shot(board, f"look-{name}")
    go("Events")
    board.get_by_role("button", name="Details").nth(2).click()
    board.get_by_role("button", name="Attempts").first.wait_for()
    board.get_by_role("button", name="Attempts").first.click()
    lab.shot(board, "look-event-open")
    go("Deliveries")
    board.get_by_label("Status").select_option("dead_letter")
    expect(board.locator("caption").first).to_have_text("Deliveries: dead letters")
    board.get_by_role("button", name="Attempts").first.click()
    expect(board.locator("caption")).to_have_count(2)
    lab.shot(board, "look-dead-open")
    board.get_by_role("button", name="Replay all dead letters").click()
    lab.shot(board, "look-dead-confirm")
    board.get_by_role("button", name="Yes, ").click()
    expect(board.get_by_role("status")).to_contain_text("sent again")
    lab.shot(board, "look-dead-replayed")
    go("Webhook endpoints")
    board.get_by_role("button", name="Manage").first.click()
    lab.shot(board, "look-endpoint-open")
    go("API keys")
    board.get_by_role("button", name="Roll").last.click()
    lab.shot(board, "look-key-confirm")
    board.get_by_role("button", name="Yes, ").click()
    expect(board.get_by_role("status")).to_contain_text("Rolled")
    lab.shot(board, "look-key-rolled")
    lab.page.set_viewport_size({"width": 700, "height": 2400})
    lab.shot(board, "look-narrow-keys")
    go("Deliveries")
    lab.shot(board, "look-narrow-deliveries")
    go("Events")
    lab.shot(board, "look-narrow-events")
