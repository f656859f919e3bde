"""The page of a reconciliation: filters, and decisions that are downloaded, by keyboard, narrow, dark and offline."""

import csv
import re
from codecs import BOM_UTF8
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.analysis.test_report import a_break, reconciled
from tests.browser.conftest import Tools, flaws
from workbench.analysis.frames import frame
from workbench.analysis.reconcile.decisions import decisions_in
from workbench.analysis.report.page import write_page
from workbench.analysis.shapes import DECIDED, DECISION

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

KEY = 'the "key", =1'
ONE, TWO, THREE, FOUR, FIVE, UNLISTED, BOTH = (f"bq4x7m2k5n3{each}" for each in "abcdefg")
BREAKS = [
    a_break("timing", 5, key="1", id=ONE, description="CUSTOMER for order 7", account="bank:settlement",
            verdict="accept", who="Ann", when="2026-01-02", why="waits"),
    a_break("fee_mismatch", 4, key=KEY, id=TWO, since_date=a_break("timing", 1)["business_date"]),
    a_break("fee_mismatch", 3, key="=3", id=THREE, verdict="match", partner=FIVE, who="John",
            when="2026-01-01T00:00:00Z", why="old"),
    a_break("missing_in_ledger", -4, key=None, id=FOUR, side="statement", description="MONTHLY CHARGE"),
    a_break("amount_mismatch", 2, key="5", id=BOTH, side="both"),
]  # fmt: skip
ELSEWHERE = [UNLISTED, "accept", "", "Ann", "2026-01-02", "\u200b=agreed, before", "a", '"k"', "timing"]
"""A decision about a break that is not among those listed."""
SCROLLING = "[...document.querySelectorAll('.scroll')].filter((e) => e.scrollWidth > e.clientWidth).length"
"""The number of tables that scroll sideways."""


@pytest.fixture
def shown(browser: "Browser", tmp_path: Path) -> Iterator["Page"]:
    result = reconciled(breaks=BREAKS)
    result.decisions = frame([dict(zip(DECISION, [*ELSEWHERE, "applied"], strict=True))], DECISION)
    write_page(result, tmp_path / "page.html")
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
        assert shown.locator("#count").inner_text() == f"{len(left)} of the 5 listed breaks shown."
        assert shown.locator("section:visible").count() == 1
        shown.get_by_label(label, exact=True).select_option("")
    shown.get_by_label("new or carried").select_option("carried")
    assert keys(shown) == [KEY]
    shown.get_by_label("new or carried").select_option("")
    shown.get_by_label("text", exact=True).fill("ORDER 7")
    assert keys(shown) == ["1"]
    assert shown.evaluate("document.documentElement.scrollWidth") == 360
    assert shown.evaluate(SCROLLING) == 0


def downloaded(page: "Page", folder: Path) -> dict[str, dict[str, str]]:
    with page.expect_download() as download:
        page.locator("#download").click()
    download.value.save_as(folder / "decisions.csv")
    content = (folder / "decisions.csv").read_bytes()
    assert content.startswith(BOM_UTF8), "or a spreadsheet takes it for another encoding"
    rows = list(csv.DictReader(content.decode("utf-8-sig").splitlines(keepends=True), strict=True))
    assert content.count(b"\r\n") == len(rows) + 1
    assert {each["break"] for each in decisions_in(folder / "decisions.csv")[0]} <= {each["break"] for each in rows}
    return {each["break"]: each for each in rows}


def test_what_is_decided_is_downloaded_with_what_was_decided_before(shown: "Page", tmp_path: Path):
    one, two, three = (shown.locator(f"tr[data-id={each}]") for each in (ONE, TWO, THREE))
    said = shown.locator("#decided")
    assert said.inner_text() == "3 rows of decisions to download.", "one is of a break that is not listed"
    assert two.get_by_placeholder("partner's id").is_hidden()
    two.get_by_label("Verdict of").select_option("match")
    assert two.get_by_label("Partner's id of").input_value() == FOUR, "the only one that it can be"
    two.get_by_label("Partner's id of").fill(FIVE)
    for verdict in ("accept", "match"):
        two.get_by_label("Verdict of").select_option(verdict)
    assert two.get_by_label("Partner's id of").input_value() == FIVE, "nor is what was typed replaced"
    two.get_by_label("Partner's id of").fill(f" {FOUR.upper()};")
    two.get_by_placeholder("why").fill(' said "so",\nand =1')
    shown.get_by_label("who decides").fill(" =Accounts ")
    assert said.inner_text() == "4 rows of decisions to download."
    rows = downloaded(shown, tmp_path)
    assert said.inner_text() == "Downloaded: 4 rows of decisions."
    made, kept = rows[TWO], rows[THREE]
    assert list(made) == list(DECIDED)
    assert re.fullmatch("20[0-9T:-]+Z", made.pop("when"))
    assert list(made.values()) == [
        TWO, "match", FOUR, "'=Accounts", 'said "so", and =1', BREAKS[1]["account"], KEY, "fee_mismatch",
    ]  # fmt: skip
    assert list(kept.values())[:6] == [THREE, "match", FIVE, "John", "2026-01-01T00:00:00Z", "old"]
    assert (kept["key"], rows[ONE]["who"]) == ("'=3", "Ann")
    assert list(rows[UNLISTED].values()) == [f"'{text}" if "=" in text else text for text in ELSEWHERE]
    # What somebody else has said stays theirs until any of it is changed, and a partner is a match's alone.
    one.get_by_label("Verdict of").select_option("ignore")
    two.get_by_label("Verdict of").select_option("accept")
    three.get_by_label("Partner's id of").fill(FOUR)
    rows = downloaded(shown, tmp_path)
    assert {name: (rows[name]["who"], rows[name]["partner"]) for name in (ONE, TWO, THREE)} == {
        ONE: ("'=Accounts", ""), TWO: ("'=Accounts", ""), THREE: ("'=Accounts", FOUR),
    }  # fmt: skip
    three.get_by_label("Partner's id of").fill(FIVE)
    three.get_by_label("Why of").fill("+new")
    one.get_by_label("Verdict of").select_option("")
    rows = downloaded(shown, tmp_path)
    assert [rows[THREE][name] for name in ("who", "why")] == ["'=Accounts", "'+new"]
    assert rows[THREE]["when"] > "2026-02"
    assert ONE not in rows
    for each in (two, three):
        assert shown.locator("#download").is_enabled()
        each.get_by_label("Verdict of").select_option("")
    assert shown.locator("#download").is_disabled()


def test_a_match_is_offered_where_there_may_be_a_partner(shown: "Page"):
    offers = {
        each.get_attribute("data-id"): each.locator("select option[value=match]").count()
        for each in shown.locator("tr[data-code]").all()
    }
    assert offers == {ONE: 1, TWO: 1, THREE: 1, FOUR: 1, BOTH: 0}, "a pair has none"
    options = "(each) => [...each.list.options].map(({value, text}) => [value, text])"
    two = shown.locator(f"tr[data-id={TWO}]")
    field = two.locator("input[list]")
    assert field.evaluate(options) == [], "until somebody looks for one"
    two.get_by_label("Verdict of").select_option("match")
    field.focus()
    # The proposed partner comes first, then the other breaks of the account: a decided one is out, the rest is in.
    assert field.evaluate(options) == [[FOUR, "MONTHLY CHARGE -0.04"], [THREE, "=3 +0.03"]]
    shown.locator(f"tr[data-id={THREE}]").get_by_label("Verdict of").select_option("ignore")
    two.get_by_placeholder("why").focus()
    field.focus()
    assert field.evaluate(options) == [[FOUR, "MONTHLY CHARGE -0.04"]]


def test_ticked_breaks_of_one_account_are_matched_with_each_other(shown: "Page", tmp_path: Path):
    verdict, match = shown.get_by_label("selected breaks"), shown.locator("#all-verdict option[value=match]")

    def tick(*names: str) -> None:
        for name in names:
            shown.locator(f"tr[data-id={name}] .tick input").check()

    tick(TWO)
    assert match.is_disabled(), "one has no partner"
    tick(ONE)
    assert match.is_disabled(), "of two accounts"
    shown.locator(f"tr[data-id={ONE}] .tick input").uncheck()
    tick(FOUR, BOTH)
    assert match.is_enabled()
    verdict.select_option("match")
    shown.get_by_label("why, for all selected").fill("one payment")
    shown.get_by_role("button", name="Decide 3 selected").click()
    shown.get_by_label("who decides").fill("Ann")
    rows = downloaded(shown, tmp_path)
    mine = {name: (rows[name]["verdict"], rows[name]["partner"], rows[name]["why"]) for name in (TWO, FOUR, BOTH)}
    assert {name: (one, set(others.split("; ")), why) for name, (one, others, why) in mine.items()} == {
        name: ("match", {TWO, FOUR, BOTH} - {name}, "one payment") for name in (TWO, FOUR, BOTH)
    }
    assert match.is_disabled()
    for width in (360, 768, 961, 1024, 1120, 1440, 900):
        shown.set_viewport_size({"width": width, "height": 800})
        assert (shown.evaluate("document.documentElement.scrollWidth"), shown.evaluate(SCROLLING)) == (width, 0)
    narrative = shown.locator(f"tr[data-id={FOUR}] td.why").bounding_box()
    assert narrative
    assert narrative["width"] > 120, "beside the fields of a match"


def test_nothing_is_downloaded_that_the_reader_would_refuse(shown: "Page", tmp_path: Path):
    said, heard = shown.locator("#decided"), list[object]()
    shown.on("download", lambda each: heard.append(each))  # noqa: PLW0108  it refers weakly to what hears

    def refused(text: str, field: str) -> None:
        shown.locator("#download").press("Enter")
        assert said.inner_text() == f"Not downloaded. {text}"
        assert shown.evaluate("document.activeElement.id || document.activeElement.ariaLabel") == field
        assert shown.locator("[aria-invalid]").first.evaluate("(each) => each === document.activeElement")

    two, four = (shown.locator(f"tr[data-id={each}]") for each in (TWO, FOUR))
    two.get_by_label("Verdict of").select_option("match")
    two.get_by_placeholder("partner's id").fill("")
    for who in ("", " "):
        shown.get_by_label("who decides").fill(who)
        refused("Say who decides. And 2 more.", "who")
    assert said.get_attribute("role") == "status", "and it is read out"
    shown.get_by_label("who decides").fill("Acct")
    shown.get_by_label("text", exact=True).fill("order 7")
    assert two.is_hidden()
    for text in ("", "b9", TWO, f"{FOUR}, {TWO}"):
        two.get_by_placeholder("partner's id").evaluate("(each, value) => { each.value = value }", text)
        refused(f"Name the partner of {KEY} by its id. And 1 more.", f"Partner's id of {KEY}")
    two.get_by_placeholder("partner's id").fill(FOUR.upper())
    refused(f"Say why for {KEY}.", f"Why of {KEY}")
    two.get_by_placeholder("why").fill("  ")
    refused(f"Say why for {KEY}.", f"Why of {KEY}")
    two.get_by_placeholder("why").fill("one payment")
    shown.get_by_label("text", exact=True).fill("")
    four.get_by_label("Verdict of").select_option("accept")
    four.get_by_placeholder("why").fill("no, this")
    refused("MONTHLY CHARGE is decided in two ways.", "Verdict of MONTHLY CHARGE")
    four.get_by_label("Verdict of").select_option("match")
    assert (heard, shown.locator("[aria-invalid]").count()) == ([], 1)
    rows = downloaded(shown, tmp_path)
    assert (rows[TWO]["partner"], rows[FOUR]["partner"]) == (FOUR, TWO)
    assert len(decisions_in(tmp_path / "decisions.csv")[0]) == len(rows) - 1, "told from both sides it is one match"
    assert shown.locator("[aria-invalid]").count() == 0


def test_nobody_is_kept_out(shown: "Page", tools: Tools):
    shown.locator("#download").click()
    assert flaws(shown.locator("html"), tools) == []
    shown.emulate_media(media="print")
    assert shown.locator(".tools:visible, .decide:visible").count() == 0


def test_without_its_script_it_shows_everything(browser: "Browser", shown: "Page"):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(shown.url)
    assert sorted(map(str, keys(page))) == sorted(["1", KEY, "=3", "", "5"])
    assert page.locator("button:visible, select:visible, input:visible").count() == 0
    context.close()
