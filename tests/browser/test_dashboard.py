"""The merchant dashboard in JupyterLab, by mouse and by keyboard: what is seen, what is kept, what is not."""

import re
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

if TYPE_CHECKING:
    from playwright.sync_api import Locator

    from tests.browser.conftest import Lab

SECRET = re.compile(r"(?:sk_test_|pk_test_|whsec_)[0-9A-Za-z+/=]{6,}")
DEAD_LETTERS = """
endpoint = pay.webhook_endpoints.create(url="http://127.0.0.1:9/hooks", enabled_events=["charge.succeeded"])
for phone in ("+260961234567", "+260961111222", "+260971234567"):
    sell(phone, "airtel" if "97" in phone else "mtn")
bench.clock.advance(days=4)
"""
"""An endpoint that takes nothing for as long as it is tried."""
STAGES = (
    "Payments", "Suspense", "Requests", "Events", "Deliveries", "Webhook endpoints", "API keys", "Operators",
)  # fmt: skip


@pytest.fixture
def board(lab: "Lab") -> "Locator":
    """The dashboard of a shop with three sales, and an endpoint that has failed for four days."""
    lab.page.set_viewport_size({"width": 1400, "height": 1400})
    shown = lab.show(lab.shop, DEAD_LETTERS, "bench.dashboard()").locator(".wb-board")
    expect(shown.get_by_role("button", name="+1 minute")).to_be_visible()
    return shown


def go(board: "Locator", name: str) -> None:
    menu = board.get_by_role("navigation", name="Dashboard")
    menu.get_by_role("button", name=name, exact=True).click()
    expect(menu.locator("[aria-current=page]")).to_have_text(name)


def row(board: "Locator", text: str) -> "Locator":
    return board.get_by_role("row").filter(has_text=text).first


def said(board: "Locator", text: str) -> None:
    expect(board.get_by_role("status")).to_contain_text(text)


def asked_to_refund(drawer: "Locator", typed: str, named: str) -> None:
    drawer.get_by_label("Amount in ZMW").fill(typed)
    drawer.get_by_role("button", name="Refund", exact=True).click()
    expect(drawer.get_by_role("group", name=f"{named} goes back to the customer. Refund it?")).to_be_visible()


def test_a_key_is_rolled_and_its_value_is_seen_once(lab: "Lab", board: "Locator"):
    go(board, "API keys")
    own = row(board, "sk_test_")
    roll, revoke = (own.get_by_role("button", name=re.compile(name)) for name in ("^Roll", "^Revoke"))
    expect(revoke).to_have_attribute("aria-disabled", "true")
    revoke.click(force=True)
    said(board, "roll it instead")
    roll.click()
    lab.page.keyboard.press("Escape")
    expect(roll).to_be_focused()
    roll.click()
    board.get_by_role("button", name="Yes, roll").click()
    said(board, "This bench has gone over to it")
    revealed = board.get_by_role("group", name="New secret key")
    value = revealed.locator("code").inner_text()
    assert SECRET.fullmatch(value)
    assert lab.run("str(bench.secret_key)").strip("'") == value
    revealed.get_by_role("button", name="Hide for good").click()
    expect(board).not_to_contain_text(value)
    assert lab.run("sell('+260961234568')[:3]") == "'pi_'"
    assert not SECRET.search(lab.save()), "neither that value nor another"
    state = lab.run("import json; json.dumps(bench.dashboard().widget.view)")
    assert value not in state
    lab.reopen()
    lab.run_cell(2)
    expect(lab.output(2).locator(".wb-board")).not_to_contain_text(value)


def test_what_is_pressed_keeps_the_focus_and_what_cannot_be_undone_asks_first(lab: "Lab", board: "Locator"):
    go(board, "Deliveries")
    board.get_by_label("Status").select_option("dead_letter")
    expect(board.get_by_role("table", name="Deliveries, as filtered")).to_be_visible()
    expect(board.get_by_role("button", name=re.compile("^Replay: "))).to_have_count(3)
    first = board.locator(".wb-open").first
    first.click()
    expect(board.get_by_role("table", name=re.compile("^Attempts at delivery")).get_by_role("row")).to_have_count(11)
    expect(first).to_have_attribute("aria-expanded", "true")
    expect(board.get_by_role("heading", name="charge.succeeded")).to_be_focused()
    lab.page.keyboard.press("Escape")
    expect(first).to_be_focused()
    board.get_by_role("button", name="Replay all dead letters").click()
    expect(board.get_by_role("button", name="No", exact=True)).to_be_focused()
    board.get_by_role("button", name="Yes, replay all dead letters").click()
    said(board, "3 dead letters sent again.")
    go(board, "Events")
    keys, since = lab.page.keyboard, board.get_by_label("From")
    search = board.get_by_label(re.compile("^Id, reference"))
    details = board.locator(".wb-open")
    lab.reach(search)
    keys.type("1222")
    expect(details).to_have_count(5)
    expect(search).to_be_focused()
    lab.reach(since)
    since.fill("2102-01-05")
    expect(since).to_have_attribute("aria-invalid", "true")
    expect(since).to_be_focused()
    expect(details).to_have_count(5)
    clock = board.get_by_role("region", name="Test clock")
    clock.get_by_text("Another span").click()
    clock.get_by_label("By how much").fill("90")
    clock.get_by_role("button", name="Move", exact=True).click()
    expect(clock).to_contain_text("2026-01-09 09:30:00")
    go(board, "Webhook endpoints")
    row(board, "127.0.0.1:9/hooks").get_by_role("button", name=re.compile("^Manage")).click()
    board.get_by_label("Deliver everything twice").check()
    board.get_by_role("button", name="Set faults").click()
    expect(row(board, "127.0.0.1:9/hooks")).to_contain_text("✓enabled, duplicate")
    expect(board.get_by_label("Deliver everything twice")).to_be_checked()


def test_a_payment_is_opened_refunded_and_followed_to_its_request(lab: "Lab", board: "Locator"):
    keys, rows, drawer = lab.page.keyboard, board.locator(".wb-open"), board.get_by_role("complementary")
    expect(rows).to_have_count(3)
    assert 36 <= board.locator(".wb-opens tbody tr").first.evaluate("(row) => row.getBoundingClientRect().height") < 38
    lab.reach(rows.first)
    keys.press("ArrowDown")
    expect(rows.nth(1)).to_be_focused()
    keys.press("Enter")
    title = drawer.get_by_role("heading", name="K150.00")
    expect(title).to_be_focused()
    expect(rows.nth(1)).to_have_attribute("aria-expanded", "true")
    keys.press("Escape")
    expect(drawer).to_have_count(0)
    expect(rows.nth(1)).to_be_focused()
    # A row is clicked wherever it is clicked.
    cell = board.get_by_role("row").filter(has_text="Airtel Money").get_by_text("K150.00").bounding_box()
    assert cell is not None
    lab.page.mouse.click(cell["x"] + 5, cell["y"] + 5)
    expect(title).to_be_focused()
    expect(drawer.locator(".wb-facts").get_by_title("2026-01-05 06:00:00 UTC")).to_have_text("2026-01-05 08:00:00")
    drawer.get_by_role("button", name=re.compile("^Copy pi_")).click()
    said(board, "copied")
    drawer.locator("summary", has_text="Refund").click()
    asked_to_refund(drawer, "10.5", "K10.50")
    # What was asked is what is sent.
    drawer.get_by_label("Amount in ZMW").fill("99")
    drawer.get_by_role("button", name="Yes, refund").click()
    said(board, "K10.50 goes back to the customer.")
    lab.run("bench.clock.advance(10)")
    expect(drawer.locator(".wb-pill").first).to_have_text("↩refunded in part")
    asked_to_refund(drawer, "1000", "K1,000.00")
    drawer.get_by_role("button", name="Yes, refund").click()
    board.get_by_role("status").get_by_role("button", name="Show the request").click()
    expect(drawer.get_by_role("heading", name="POST /v1/refunds")).to_be_visible()
    expect(drawer).to_contain_text("✗400 Bad Request")
    drawer.get_by_role("button", name="Send again").click()
    drawer.get_by_role("button", name="Yes, send again").click()
    said(board, "Sent again: 400 Bad Request.")
    go(board, "Payments")
    expect(title).to_be_visible()
    board.get_by_label(re.compile("^Id, description")).fill("567")
    expect(rows).to_have_count(2)
    board.get_by_label("Operator").select_option("mtn")
    expect(rows).to_have_count(1)
    with lab.page.expect_download() as waited:
        board.get_by_role("button", name="CSV").click()
    assert waited.value.suggested_filename == "payments.csv"
    assert len(waited.value.path().read_text("utf-8").splitlines()) == 2
    said(board, "1 payment in payments.csv.")
    go(board, "Events")
    go(board, "Payments")
    expect(board.get_by_label("Operator")).to_have_value("mtn")


def test_the_trace_in_a_drawer_is_that_payments_and_is_drawn_for_as_long_as_it_is_looked_at(
    lab: "Lab", board: "Locator"
):
    rows, drawer = board.locator(".wb-opens .wb-open"), board.get_by_role("complementary").first
    diagram = board.get_by_role("group", name="Sequence diagram")
    rows.last.click()
    for _ in range(3):
        drawer.get_by_role("button", name="Trace", exact=True).click()
        expect(diagram).to_contain_text("/confirm")
        drawer.get_by_role("button", name="JSON", exact=True).click()
        expect(diagram).to_have_count(0)
    assert lab.run("len(bench.watchers._callbacks)") == "1"
    drawer.get_by_role("button", name="Trace", exact=True).click()
    diagram.get_by_role("button", name="/confirm").click()
    payment = rows.last.get_attribute("data-row")
    lab.run(f"pay.refunds.create(payment_intent={payment!r}, amount=Decimal('1.00'))")
    expect(diagram).to_contain_text("POST /v1/refunds")
    expect(diagram.get_by_role("button", name="/confirm")).to_have_attribute("aria-expanded", "true")


def test_axe_finds_nothing_a_screen_reader_is_told_all_and_it_is_whole_where_it_is_narrow(lab: "Lab", board: "Locator"):
    """A zoom of 400 % on a screen of 1280 by 1024 leaves 320 by 256."""
    stages = {name: name.replace(" ", "-").lower() for name in STAGES}
    for name, short in stages.items():
        go(board, name)
        lab.snapshot(board, f"dashboard-{short}")
    for name in ("Payments", "Requests"):
        go(board, name)
        board.locator(".wb-open").first.click()
        drawer = board.get_by_role("complementary")
        expect(drawer.get_by_role("button", name="Close")).to_be_visible()
        lab.snapshot(drawer, f"dashboard-drawer-of-{name.lower()}")
    go(board, "API keys")
    board.get_by_role("button", name="Create key").click()
    expect(board.get_by_role("group", name="New secret key")).to_be_visible()
    go(board, "Events")
    board.locator(".wb-open").first.click()
    expect(board.get_by_role("group", name="Payload, numbers masked")).to_be_visible()
    for theme in lab.themes():
        for name, short in stages.items():
            go(board, name)
            manage = board.get_by_role("button", name=re.compile("^Manage"), expanded=False)
            if name == "Webhook endpoints" and manage.count() > 1:
                manage.first.click()
            assert lab.axe(board) == [], (theme, name)
            lab.shot(board, f"{theme}-{short}")
    lab.command("application:toggle-left-area")
    lab.touch()
    for width, height in ((360, 740), (320, 256)):
        lab.page.set_viewport_size({"width": width, "height": height})
        for name in stages:
            go(board, name)
            assert (width, name, lab.flaws(board)) == (width, name, [])
