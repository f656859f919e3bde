"""The merchant dashboard in JupyterLab, by mouse and by keyboard: what is seen, what is kept, what is not."""

import re
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

if TYPE_CHECKING:
    from playwright.sync_api import Locator

    from tests.browser.conftest import Lab

SECRET = re.compile(r"(?:sk_test_|pk_test_|whsec_)[0-9A-Za-z+/=]{6,}")
SHOP = """
from decimal import Decimal
from workbench import Workbench

bench = Workbench(seed=7)
pay = bench.client
FAILS = "http://127.0.0.1:9/hooks"

def sell(phone, provider="mtn", pin="1234"):
    intent = pay.payment_intents.create(
        amount=Decimal("150.00"), currency="ZMW", payment_method_types=["mobile_money"], description="Monstera"
    )
    pay.payment_intents.confirm(intent.id, phone=phone, provider=provider)
    bench.phone(phone).enter_pin(pin)
    return intent.id
"""
DEAD_LETTERS = """
endpoint = pay.webhook_endpoints.create(url=FAILS, enabled_events=["charge.succeeded"])
for phone in ("+260961234567", "+260961111222", "+260971234567"):
    sell(phone, "airtel" if "97" in phone else "mtn")
bench.clock.advance(days=4)
"""
"""An endpoint that takes nothing for as long as it is tried."""
TOO_SMALL = """(board) => [...board.querySelectorAll('button, select, input:not([type=checkbox]), summary')].filter(
    (each) => each.getClientRects().length && each.getBoundingClientRect().height < 43.5
).map((each) => each.outerHTML.slice(0, 120))"""
STAGES = ("Payments", "API keys", "Webhook endpoints", "Events", "Deliveries", "Operators")


@pytest.fixture
def board(lab: "Lab") -> "Locator":
    """The dashboard of a shop with three sales, and an endpoint that has failed for four days."""
    lab.page.set_viewport_size({"width": 1400, "height": 1400})
    shown = lab.show(SHOP, DEAD_LETTERS, "bench.dashboard()").locator(".wb-board")
    expect(shown.get_by_role("button", name="+1 minute")).to_be_visible()
    return shown


def go(board: "Locator", name: str) -> None:
    """Choose a part of the dashboard."""
    menu = board.get_by_role("navigation", name="Dashboard")
    menu.get_by_role("button", name=name, exact=True).click()
    expect(menu.locator("[aria-current=page]")).to_have_text(name)


def row(board: "Locator", text: str) -> "Locator":
    return board.get_by_role("row").filter(has_text=text).first


def said(board: "Locator", text: str) -> None:
    expect(board.get_by_role("status")).to_contain_text(text)


def test_dead_letters_are_replayed_one_and_all(lab: "Lab", board: "Locator"):
    go(board, "Deliveries")
    board.get_by_label("Status").select_option("dead_letter")
    replays = board.get_by_role("button", name=re.compile("^Replay: "))
    expect(replays).to_have_count(3)
    first = board.get_by_role("button", name=re.compile("^Attempts: ")).first
    first.click()
    attempts = board.get_by_role("table", name=re.compile("^Attempts at delivery"))
    expect(attempts.get_by_role("row")).to_have_count(11)
    expect(attempts).to_contain_text("Connection refused")
    expect(first).to_have_attribute("aria-expanded", "true")
    expect(first).to_be_focused()
    lab.shot(board, "dead-letters")
    lab.run("pay.webhook_endpoints.update(endpoint.id, url=bench.receiver_url)")
    lab.run("bench.receiver.secrets.append(endpoint.secret)")
    replays.first.click()
    said(board, "Sent again, and delivered.")
    expect(replays).to_have_count(2)
    expect(board.get_by_role("group", name="Python")).to_contain_text("pay.deliveries.replay(")
    expect(board.get_by_role("group", name="curl")).to_contain_text("/replay")
    board.get_by_role("button", name="Replay all dead letters").click()
    expect(board.get_by_role("button", name="No", exact=True)).to_be_focused()
    lab.shot(board, "replay-all-asked")
    board.get_by_role("button", name="Yes, replay all dead letters").click()
    said(board, "2 dead letters sent again.")
    expect(board).to_contain_text("There are no dead letters.")
    assert lab.run("[each.status for each in pay.deliveries.list(endpoint=endpoint.id)]") == str(["delivered"] * 3)
    lab.shot(board, "replayed")


def test_a_key_is_rolled_and_its_value_is_seen_once(lab: "Lab", board: "Locator"):
    go(board, "API keys")
    own = row(board, "sk_test_")
    roll, revoke = (own.get_by_role("button", name=re.compile(name)) for name in ("^Roll", "^Revoke"))
    expect(revoke).to_have_attribute("aria-disabled", "true")
    revoke.click(force=True)
    said(board, "roll it instead")
    roll.click()
    lab.shot(board, "roll-asked")
    lab.page.keyboard.press("Escape")
    expect(roll).to_be_focused()
    roll.click()
    board.get_by_role("button", name="Yes, roll").click()
    said(board, "This bench has gone over to it")
    revealed = board.get_by_role("group", name="New secret key")
    value = revealed.locator("code").inner_text()
    assert SECRET.fullmatch(value)
    assert lab.run("str(bench.secret_key)").strip("'") == value
    lab.shot(board, "rolled")
    revealed.get_by_role("button", name="Hide for good").click()
    expect(board).not_to_contain_text(value)
    assert lab.run("sell('+260961234568')[:3]") == "'pi_'"
    assert not SECRET.search(lab.save()), "neither that value nor another"
    state = lab.run("import json; json.dumps(bench.dashboard().widget.view)")
    assert value not in state
    lab.reopen()
    lab.run_cell(2)
    expect(lab.output(2).locator(".wb-board")).not_to_contain_text(value)


def test_events_are_filtered_and_searched_by_keyboard(lab: "Lab", board: "Locator"):
    go(board, "Events")
    press, search = lab.page.keyboard, board.get_by_label("Search")
    details = board.get_by_role("button", name=re.compile("^Details: "))
    expect(details).to_have_count(15)
    for _ in range(3):
        press.press("Tab")
    expect(search).to_be_focused()
    press.type("1222")
    expect(details).to_have_count(5)
    expect(search).to_be_focused()
    press.press("Enter")
    said(board, "5 events found.")
    expect(board.get_by_role("group", name="Python")).to_contain_text('search="1222"')
    press.press("Tab")
    press.type("charge.s")
    expect(details).to_have_count(1)
    press.press("Tab")
    press.type("2026-13")
    expect(board.get_by_label("Since (Lusaka)")).to_have_attribute("aria-invalid", "true")
    expect(board).to_contain_text("A moment in Lusaka")
    lab.shot(board, "events-no-moment")
    for _ in "2026-13":
        press.press("Backspace")
    press.type("2026-01-06")
    expect(board).to_contain_text("None found.")
    expect(board.get_by_label("Since (Lusaka)")).to_be_focused()
    for _ in range(2):
        press.press("Tab")
    press.press("Enter")
    said(board, "All events are shown.")
    expect(search).to_have_value("")
    expect(details).to_have_count(15)
    details.first.focus()
    press.press("Enter")
    expect(board.get_by_role("group", name="Payload, numbers masked").first).to_contain_text('"type": "payment_intent')
    lab.shot(board, "event-unfolded")


def test_the_clock_is_moved_and_an_outage_is_on_and_off(lab: "Lab", board: "Locator"):
    clock = board.get_by_role("region", name="Test clock")
    expect(clock).to_contain_text("2026-01-09 08:00:00")
    for name, moment in (("+1 minute", "08:01:00"), ("+1 hour", "09:01:00"), ("+1 day", "2026-01-10 09:01:00")):
        clock.get_by_role("button", name=name).click()
        expect(clock).to_contain_text(moment)
    clock.get_by_text("Another span").click()
    clock.get_by_label("By how much").fill("90")
    clock.get_by_role("button", name="Move", exact=True).click()
    expect(clock).to_contain_text("10:31:00")
    expect(board.get_by_role("group", name="Python")).to_contain_text("bench.clock.advance(")
    lab.shot(board, "clock")
    go(board, "Operators")
    board.get_by_label("Operator", exact=True).select_option("airtel")
    board.get_by_label("For how many minutes").fill("5")
    board.get_by_role("button", name="Start outage").click()
    airtel = row(board, "Airtel Money")
    expect(airtel).to_contain_text("✗ down")
    lab.shot(board, "outage")
    assert lab.run("bench.operator.states()[1]['down_until'] is not None") == "True"
    airtel.get_by_role("button", name=re.compile("^End outage")).click()
    expect(airtel).to_contain_text("✓ up")
    board.get_by_role("button", name="Start outage").click()
    expect(airtel).to_contain_text("✗ down")
    clock.get_by_role("button", name="+1 hour").click()
    expect(airtel).to_contain_text("✓ up")


def test_an_endpoint_is_added_and_managed(lab: "Lab", board: "Locator"):
    go(board, "Webhook endpoints")
    form = board.get_by_role("form", name="A new endpoint")
    form.get_by_label("URL").fill("nowhere")
    form.get_by_role("button", name="Add endpoint").click()
    expect(board.get_by_role("status")).to_have_class(re.compile("wb-bad"))
    form.get_by_label("URL").fill("http://127.0.0.1:9/two")
    form.get_by_role("button", name="Add endpoint").click()
    said(board, "Added")
    board.get_by_role("button", name="Hide for good").click()
    manage = row(board, "127.0.0.1:9/two").get_by_role("button", name=re.compile("^Manage"))
    manage.click()
    board.get_by_label("Deliver everything twice").check()
    board.get_by_role("button", name="Set faults").click()
    expect(row(board, "127.0.0.1:9/two")).to_contain_text("enabled, duplicate")
    board.get_by_role("button", name="Pause", exact=True).click()
    expect(row(board, "127.0.0.1:9/two")).to_contain_text("paused")
    lab.shot(board, "endpoint-managed")
    board.get_by_role("button", name="Delete", exact=True).click()
    board.get_by_role("button", name="Yes, delete").click()
    said(board, "Deleted")
    expect(board).not_to_contain_text("127.0.0.1:9/two")


def test_axe_finds_nothing_and_a_screen_reader_is_told_all(lab: "Lab", board: "Locator"):
    for name in STAGES:
        go(board, name)
        lab.snapshot(board, f"dashboard-{name.replace(' ', '-').lower()}")
    go(board, "API keys")
    board.get_by_role("button", name="Create key").click()
    expect(board.get_by_role("group", name="New secret key")).to_be_visible()
    go(board, "Events")
    board.get_by_role("button", name=re.compile("^Details: ")).first.click()
    expect(board.get_by_role("group", name="Payload, numbers masked")).to_be_visible()
    for theme in lab.themes():
        for name in STAGES:
            go(board, name)
            manage = board.get_by_role("button", name=re.compile("^Manage"), expanded=False)
            if name == "Webhook endpoints" and manage.count() > 1:
                manage.first.click()
            assert lab.axe(board) == [], (theme, name)
            lab.shot(board, f"{theme}-{name.replace(' ', '-').lower()}")


def test_it_is_whole_where_it_is_narrow(lab: "Lab", board: "Locator"):
    """A zoom of 400 % on a screen of 1280 by 1024 leaves 320 by 256."""
    lab.command("application:toggle-left-area")
    for name, width, height in (("phone", 360, 740), ("zoomed", 320, 256)):
        for stage in STAGES:
            lab.page.set_viewport_size({"width": width, "height": height})
            go(board, stage)
            over = board.evaluate("(each) => each.scrollWidth - each.clientWidth")
            assert over <= 1, (name, stage, over)
            assert board.evaluate(TOO_SMALL) == [], (name, stage)
            lab.page.set_viewport_size({"width": width, "height": 1800})
            lab.shot(board, f"{name}-{stage.replace(' ', '-').lower()}")


def test_two_views_of_one_dashboard_show_the_same_and_say_what_to_do_after_a_restart(lab: "Lab"):
    lab.show(SHOP, "bench.dashboard()", "bench.dashboard()")
    one, other = (lab.output(place).locator(".wb-board") for place in (1, 2))
    go(one, "Operators")
    expect(other.get_by_role("region", name="Sandbox: operators")).to_be_visible()
    lab.restart()
    one.get_by_role("button", name="+1 minute").click()
    expect(one.get_by_role("status")).to_contain_text("run the cells again", timeout=15_000)
    lab.run_all()
    one.get_by_role("button", name="+1 minute").click()
    said(one, "The clock was moved")
