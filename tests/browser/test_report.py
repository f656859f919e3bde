"""The page of a reconciliation: filters, and decisions that are downloaded, by keyboard, narrow, dark and offline."""

import csv
from codecs import BOM_UTF8
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.analysis.test_report import a_break, reconciled
from workbench.analysis.report import write_page

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

    from tests.browser.conftest import Tools

KEY = 'the "key", =1'
BREAKS = [
    a_break("timing", 5, key="1", description="CUSTOMER for order 7", account="bank:settlement"),
    a_break("fee_mismatch", 4, key=KEY, id="b2", since_date=a_break("timing", 1)["business_date"]),
    a_break("fee_mismatch", 3, key="=3", id="b3", verdict="ignore", who="John", when="2026-01-01T00:00:00Z", why="old"),
]


@pytest.fixture
def shown(browser: "Browser", tmp_path: Path) -> Iterator["Page"]:
    write_page(reconciled(breaks=BREAKS), tmp_path / "page.html")
    context = browser.new_context(viewport={"width": 360, "height": 800}, color_scheme="dark")
    page, wrong = context.new_page(), []
    page.on("console", lambda message: wrong.append(message.text))
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.goto((tmp_path / "page.html").as_uri())
    yield page
    context.close()
    assert wrong == []


def keys(page: "Page") -> list[str | None]:
    return [row.get_attribute("data-key") for row in page.locator("tr[data-code]:visible").all()]


def test_filters_narrow_what_is_listed_and_say_how_many(shown: "Page"):
    for label, value, left in (("account", "bank:settlement", ["1"]), ("code", "fee_mismatch", [KEY, "=3"])):
        shown.get_by_label(label, exact=True).select_option(value)
        assert keys(shown) == left
        assert shown.locator("#count").inner_text() == f"{len(left)} of the 3 listed breaks shown."
        assert shown.locator("section:visible").count() == 1
        shown.get_by_label(label, exact=True).select_option("")
    shown.get_by_label("new or carried").select_option("carried")
    assert keys(shown) == [KEY]
    shown.get_by_label("new or carried").select_option("")
    shown.get_by_label("text", exact=True).fill("ORDER 7")
    assert keys(shown) == ["1"]
    assert shown.evaluate("document.documentElement.scrollWidth") == 360


def test_what_is_decided_is_downloaded_with_what_was_decided_before(shown: "Page", tmp_path: Path):
    assert shown.locator("#decided").inner_text() == "1 decided."
    row = shown.locator("tr[data-id=b2]")
    assert row.get_by_placeholder("partner's id").is_hidden()
    row.get_by_label("Verdict of").select_option("match")
    row.get_by_placeholder("partner's id").fill("b9")
    row.get_by_placeholder("why").fill('said "so",\nand =1')
    shown.locator("#download").click()
    assert shown.locator("#decided").inner_text() == "Say who decides."
    shown.get_by_label("who decides").fill("=Accounts")
    with shown.expect_download() as download:
        shown.locator("#download").click()
    download.value.save_as(tmp_path / "decisions.csv")
    content = (tmp_path / "decisions.csv").read_bytes()
    assert content.startswith(BOM_UTF8), "or a spreadsheet takes it for another encoding"
    text = content.decode("utf-8-sig")
    made, kept = csv.DictReader(text.splitlines(keepends=True), strict=True)
    assert list(made) == ["break", "verdict", "partner", "who", "when", "why", "account", "key", "code"]
    assert made.pop("when").endswith("Z")
    assert list(made.values()) == [
        "b2",
        "match",
        "b9",
        "'=Accounts",
        'said "so", and =1',
        BREAKS[1]["account"],
        KEY,
        "fee_mismatch",
    ]
    assert list(kept.values())[:6] == ["b3", "ignore", "", "John", "2026-01-01T00:00:00Z", "old"]
    assert (kept["key"], text.count("\r\n")) == ("'=3", 3)


def test_nobody_is_kept_out(shown: "Page", tools: "Tools"):
    shown.evaluate(Path(tools.axe).read_text("utf-8"))
    found = shown.evaluate("axe.run().then(({violations}) => violations.map(({id, nodes}) => [id, nodes[0].html]))")
    assert found == []
    shown.emulate_media(media="print")
    assert shown.locator(".tools:visible, .decide:visible").count() == 0


def test_without_its_script_it_shows_everything(browser: "Browser", shown: "Page"):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(shown.url)
    assert sorted(map(str, keys(page))) == sorted(["1", KEY, "=3"])
    assert page.locator("button:visible, select:visible, input:visible").count() == 0
    context.close()
