"""The pages of the documentation without JavaScript: at each width, in both schemes, by keyboard and on paper."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

import httpx
import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Tools, flaws
from workbench import Workbench
from workbench.resources import guide_paths

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

GUIDE = [f"/docs/guide/{name}" for name in sorted(guide_paths().keys() - {"index"})]
PAGES = ("/", "/docs", "/docs/errors", "/docs/test-numbers", "/docs/guide", *GUIDE, "/docs/interface")
WIDTHS = (360, 900, 1440, 1600)
LOOKED_AT: dict[int, Literal["light", "dark"]] = {360: "light", 1440: "dark"}
WIDER = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with Workbench(seed=7) as bench, bench.serve() as served:
        yield served.base_url


@pytest.fixture
def page(browser: "Browser") -> Iterator["Page"]:
    """A page on which no script of the document runs; what a test evaluates does."""
    context = browser.new_context(java_script_enabled=False)
    yield context.new_page()
    context.close()


@pytest.mark.parametrize("path", PAGES)
def test_a_page_is_whole_at_every_width_and_axe_finds_nothing(
    browser: "Browser", tools: Tools, address: str, path: str
):
    page = browser.new_page()
    page.goto(address + path)
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate(WIDER) <= 0, width
        # Of the two widths and the two schemes, each is looked at once: what one hides, the other shows.
        if scheme := LOOKED_AT.get(width):
            page.emulate_media(color_scheme=scheme)
            assert flaws(page.locator("html"), tools) == []
    page.close()


def test_the_table_of_notebooks_begins_with_the_first_and_only_its_parts_are_bold(page: "Page", address: str):
    page.goto(f"{address}/docs/guide/notebooks")
    table = page.get_by_role("table").first
    expect(table.get_by_role("row").filter(has_text="Start here")).to_contain_text("15")
    for name in ("Start here", "Tokens and plants"):
        expect(table.get_by_role("cell", name=name, exact=True)).to_have_css("font-weight", "400")
    expect(table.get_by_text("Learn the flow")).to_have_css("font-weight", "700")


def test_without_javascript_an_operation_is_found_its_language_chosen_and_its_words_lead_on(page: "Page", address: str):
    page.set_viewport_size({"width": 1440, "height": 900})
    page.goto(f"{address}/docs")
    index = page.get_by_role("navigation", name="Operations", exact=True)
    index.get_by_role("link", name="POST /v1/charges", exact=True).click()
    expect(page).to_have_url(f"{address}/docs#createCharge")
    operation = page.locator("#createCharge")
    expect(operation.get_by_role("heading", name="Charge a wallet")).to_be_in_viewport()
    shown = {"curl": "curl -X POST", "Python": "pay.charges.create(", "JavaScript": "await fetch("}
    for language, begins in shown.items():
        page.get_by_role("radio", name=language, exact=True).check()
        expect(operation.locator(".side > div:visible")).to_have_count(1)
        expect(operation.locator(".side > div:visible")).to_contain_text(begins)
    left, middle, right = (
        part.bounding_box() or {} for part in (index, operation.locator("> div").first, operation.locator(".side"))
    )
    assert left["x"] + left["width"] <= middle["x"]
    assert middle["x"] + middle["width"] <= right["x"]
    operation.get_by_role("link", name="422", exact=True).click()
    expect(page).to_have_url(f"{address}/docs/errors#status-422")
    page.go_back()
    row = operation.locator(".rows a").first
    name = row.inner_text()
    row.click()
    expect(page).to_have_url(f"{address}/docs/interface#{name}")
    page.get_by_role("link", name="createCharge", exact=True).first.click()
    expect(page).to_have_url(f"{address}/docs#createCharge")


def test_by_keyboard_the_content_is_one_link_away_and_the_languages_are_one_stop(page: "Page", address: str):
    page.goto(f"{address}/docs")
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    page.get_by_role("radio", name="curl").focus()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("radio", name="Python")).to_be_checked()
    page.keyboard.press("Tab")
    expect(page.get_by_role("navigation", name="Operations", exact=True).get_by_role("link").first).to_be_focused()


def test_on_paper_stand_the_words_and_the_examples_and_no_index(page: "Page", address: str):
    page.emulate_media(media="print")
    page.goto(f"{address}/docs")
    expect(page.locator(".index")).to_be_hidden()
    expect(page.locator("#sandboxPayment summary + pre")).to_be_visible()
    assert httpx.get(f"{address}/docs").headers["content-type"].startswith("text/html")
