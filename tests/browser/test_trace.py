"""The trace in JupyterLab: the diagram, the rows that were chosen, and one exchange to look into and to copy."""

from io import BytesIO
from typing import TYPE_CHECKING

import pytest
from PIL import Image
from playwright.sync_api import expect

if TYPE_CHECKING:
    from playwright.sync_api import Locator

    from tests.browser.conftest import Lab

WORK = ("ScriptDuration", "LayoutDuration", "RecalcStyleDuration")
MOST_WORK_S, TIMES = 0.1, 5
"""Of the browser's processor time, which another program's load hardly changes; the best of some times."""
AT_END = "(node) => node.scrollTop + node.clientHeight > node.scrollHeight - 2"
SOON_MS = 1000  # what happens elsewhere is seen without being asked for
PAID = "first, second = sell(), sell(amount='20.00')"
CHARGE = (
    'bench.client.charges.create(amount=2000, channel="mtn", phone="+260961234567", idempotency_key=f"key-{number}")'
)


@pytest.fixture
def board(lab: "Lab") -> "Locator":
    lab.page.set_viewport_size({"width": 1400, "height": 2200})
    shown = lab.show(lab.shop, PAID, "bench.trace").locator(".wb-board")
    shown.get_by_role("button", name="Table").click()
    expect(shown.get_by_role("row").last).to_be_visible()
    return shown


def arrows(board: "Locator") -> "Locator":
    return board.locator(".wb-open")


def test_the_diagram_is_looked_into_paused_and_saved(lab: "Lab"):
    lab.page.set_viewport_size({"width": 1400, "height": 900})
    board = lab.show(lab.shop, PAID, "bench.trace").locator(".wb-board")
    diagram = board.get_by_role("group", name="Sequence diagram")
    confirm = diagram.get_by_role("button", name="/confirm").last
    expect(confirm).to_be_visible()
    lab.snapshot(board, "trace-diagram")

    # The names of the lanes stay on top, whatever is scrolled.
    name = diagram.get_by_text("webhook receiver", exact=True)
    tops = set()
    for place in (0, 200, 10_000):
        diagram.evaluate("(node, place) => { node.scrollTop = place; }", place)
        tops.add(name.bounding_box()["y"])  # type: ignore[index]  it is seen
    assert len(tops) == 1

    # By keyboard: to an arrow, from arrow to arrow, into the exchange and back.
    confirm.focus()
    for key in ("ArrowDown", "ArrowUp", "Enter"):
        lab.page.keyboard.press(key)
    expect(confirm).to_have_attribute("aria-expanded", "true")
    expect(board.get_by_role("complementary").get_by_role("heading").first).to_be_focused()
    expect(board.get_by_role("group", name="Request", exact=True)).to_contain_text("Authorization: Bearer sk_test_••••")
    for theme in lab.themes():
        lab.shot(board, f"trace-diagram-{theme}")
        assert (theme, lab.axe(board)) == (theme, [])
    board.get_by_role("complementary").press("Escape")
    expect(confirm).to_be_focused()

    # Paused, it says how much is new; shown, it follows.
    shown = arrows(board).count()
    board.get_by_role("button", name="Pause").click()
    lab.run("third = sell(amount='30.00')")
    news = board.get_by_role("button", name="new, show")
    expect(news).to_have_text("10 new, show", timeout=SOON_MS * 3)
    assert arrows(board).count() == shown
    news.click()
    expect(diagram).to_contain_text("K30.00")
    board.get_by_role("button", name="Pause").wait_for()
    lab.run("sell(amount='40.00')")
    expect(arrows(board).filter(has_text="K40.00").last).to_be_visible(timeout=SOON_MS * 3)
    lab.page.wait_for_function(AT_END, arg=diagram.element_handle())

    saved: dict[str, bytes] = {}
    for form in ("SVG", "PNG"):
        with lab.page.expect_download() as waits:
            board.get_by_role("button", name=form, exact=True).click()
        assert waits.value.suggested_filename == f"trace.{form.lower()}"
        saved[form] = waits.value.path().read_bytes()
    assert saved["SVG"].startswith(b"<svg ")
    # The page is dark by now: so is a picture that can be, whatever the machine prefers.
    paper = Image.open(BytesIO(saved["PNG"])).convert("L").getpixel((6, 400))
    assert (paper < 128) == (b"prefers-color-scheme" in saved["SVG"])  # type: ignore[operator]  one band
    board.get_by_role("button", name="Mermaid").click()
    expect(board.get_by_role("group", name="Mermaid", exact=True)).to_contain_text("sequenceDiagram")

    for width in (900, 360):
        lab.page.set_viewport_size({"width": width, "height": 1600})
        if width == 360:
            lab.command("application:toggle-left-area")
            lab.command("application:set-mode", mode="single-document")
        assert board.evaluate("(board) => board.scrollWidth <= board.clientWidth + 1")
        lab.shot(board, f"trace-diagram-{width}")


def test_a_trace_is_read_from_its_start_and_says_below_how_much_is_new(lab: "Lab"):
    lab.page.set_viewport_size({"width": 1400, "height": 900})
    board = lab.show(lab.shop, PAID, "bench.trace").locator(".wb-board")
    diagram = board.get_by_role("group", name="Sequence diagram")
    top = "(node) => node.scrollTop"
    expect(diagram).to_contain_text("K20.00")
    lab.page.wait_for_timeout(SOON_MS)
    assert diagram.evaluate("(node) => node.scrollHeight > node.clientHeight + 200")
    assert diagram.evaluate(top) == 0

    # Who reads stays there, is told, and may go on to the end.
    lab.run("sell(amount='50.00')")
    news = diagram.get_by_role("button", name="new, show")
    expect(news).to_have_text("10 new, show", timeout=SOON_MS * 3)
    assert diagram.evaluate(top) == 0
    lab.shot(board, "trace-news")
    assert lab.axe(board) == []
    news.focus()
    lab.page.keyboard.press("Enter")
    lab.page.wait_for_function(AT_END, arg=diagram.element_handle())
    expect(news).to_be_hidden()
    expect(diagram).to_be_focused()
    lab.run("sell(amount='60.00')")
    expect(diagram).to_contain_text("K60.00")
    lab.page.wait_for_function(AT_END, arg=diagram.element_handle())
    expect(news).to_be_hidden()

    # Other rows are a trace of their own.
    for value in (lab.run("first").strip("'"), ""):
        board.get_by_label("Payment").select_option(value)
        expect(diagram.get_by_text("K60.00").first).to_be_attached(attached=not value)
        lab.page.wait_for_timeout(SOON_MS)
        assert diagram.evaluate(top) == 0


def test_a_handset_and_a_trace_on_one_page_leave_each_other_as_they_are(lab: "Lab"):
    board = lab.show(lab.shop, PAID, "bench.phone('+260961234567')", "bench.trace").locator(".wb-board")
    phone = lab.output(2).locator(".wb-phone")
    expect(board.locator(".wb-left").first).to_be_attached()
    heights = "(nodes) => nodes.map((node) => node.getBoundingClientRect().height)"
    assert max(board.locator(".wb-says").evaluate_all(heights)) < min(board.locator(".wb-way").evaluate_all(heights))
    assert 0 not in board.locator(".wb-left").evaluate_all(heights)
    assert min(phone.locator(".wb-bubble .wb-icon, .wb-soft .wb-icon").evaluate_all(heights)) > 10
    lab.shot(phone, "trace-beside-phone")
    lab.shot(board, "trace-beside-trace")


def test_five_hundred_steps_unfold_without_a_stall(lab: "Lab"):
    board = lab.show(lab.shop, "for _ in range(60): sell()", "bench.trace").locator(".wb-board")
    board.get_by_role("button", name="Fold all").click()
    expect(arrows(board)).to_have_count(0)
    chromium = lab.page.context.new_cdp_session(lab.page)
    chromium.send("Performance.enable", {"timeDomain": "threadTicks"})

    def worked_s() -> float:
        return sum(each["value"] for each in chromium.send("Performance.getMetrics")["metrics"] if each["name"] in WORK)

    took: list[float] = []
    while len(took) < TIMES and min(took, default=MOST_WORK_S) >= MOST_WORK_S:
        before = worked_s()
        board.get_by_role("button", name="Unfold all").click()
        expect(arrows(board)).to_have_count(500)
        lab.page.wait_for_timeout(SOON_MS)
        took.append(worked_s() - before)
        board.get_by_role("button", name="Fold all").click()
        expect(arrows(board)).to_have_count(0)
    assert min(took) < MOST_WORK_S, took


def test_an_exchange_is_looked_into_copied_and_told_to_everybody(lab: "Lab", board: "Locator"):
    told = lab.run("print([str(row['seq']) for row in bench.trace])")
    assert told == str(board.get_by_role("rowheader").all_inner_texts()), "the rows are those that a script reads"
    board.get_by_label("Kind").select_option("screen")
    expect(board).not_to_contain_text("funds_secured")
    lab.snapshot(board, "trace")
    board.get_by_label("Kind").select_option("")
    board.get_by_label("Payment").select_option(lab.run("first").strip("'"))
    expect(board).not_to_contain_text("K20.00")
    confirm = board.get_by_role("row").filter(has_text="/confirm").get_by_role("button").first
    confirm.focus()
    lab.page.keyboard.press("Enter")
    expect(confirm).to_have_attribute("aria-expanded", "true")
    expect(confirm).to_be_focused()
    expect(board.get_by_role("group", name="Request", exact=True)).to_contain_text("Authorization: Bearer sk_test_••••")
    expect(board.get_by_role("group", name="Response", exact=True)).to_contain_text("HTTP/1.1 200 OK")
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
    board.get_by_role("button", name="Table").click()
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
        expect(arrows(board).last).to_be_visible()
    lab.page.wait_for_timeout(SOON_MS)
    assert lab.run("len(bench.watchers._callbacks)") == "1"
