"""The pages that `workbench run` writes: in two schemes, three widths, on paper, and by keyboard."""

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from PIL import Image
from playwright.sync_api import expect

from tests.browser.conftest import Tools, flaws
from tests.conftest import KERNEL
from workbench.notebook_runs import HIDDEN, write_notebook_page
from workbench.resources import notebooks

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

    from tests.browser.conftest import Lab

PAPER_PX = 680
"""What A4 has between the margins."""
SETUP = """from decimal import Decimal
from workbench import Workbench

bench = Workbench(seed=seed)
intent = bench.client.payment_intents.create(amount=Decimal("150.00"), currency="ZMW", description="Monstera")
bench.client.payment_intents.confirm(intent.id, phone="+260961234567", provider="mtn")"""
PLOT = """from matplotlib.figure import Figure
from workbench.text.render import picture

figure = Figure(figsize=(9, 3))
figure.subplots().plot([1, 2])
picture(figure, "A line that rises.")"""
REFUND = """bench.clock.advance(days=1)
bench.client.refunds.create(payment_intent=intent.id, amount=Decimal("20.00"))
bench.clock.advance(days=1)
bench.phone('+260961234567')"""
CHECKS = "# What every run must hold\nassert seed == 8"
LONG = "print(*range(80))  # " + "as long as it is " * 8
TABLE = f"| choice | what it does |\n|---|---|\n| `a_name_that_is_long` | `and_another = 'it too'` {'and more ' * 20}|"
SCROLLED = """[...document.querySelectorAll(".shown:not(:has(table, .aligned, .svg))")]
    .filter((each) => each.scrollWidth > each.clientWidth).map((each) => each.innerText.slice(0, 80))"""
"""What a cell gave that scrolls sideways, though nothing in it stands in columns."""
DRAWN = """(record) => {
  const box = (each) => each.getBoundingClientRect();
  const [svg, ...others] = [...record.querySelectorAll('svg')].filter((each) => box(each).width);
  const lines = [...svg.querySelectorAll('line')], edge = Math.min(innerWidth, box(record).right);
  const isLife = (each) => each.getAttribute('x1') === each.getAttribute('x2');
  const lives = lines.filter(isLife).map(box).filter((each) => each.left > box(record).left && each.right < edge);
  const arrows = lines.filter((each) => !isLife(each)).map(box);
  const labels = [...svg.querySelectorAll('g[text-anchor] text')];
  const over = labels.filter((text) => {
    const {left, right, bottom} = box(text);
    const below = arrows.filter((each) => each.top > bottom - 8 && each.left < right && each.right > left);
    const arrow = below.sort((one, other) => one.top - other.top)[0];
    return left < arrow.left - 2 || right > arrow.right + 2;
  });
  return {
    shapes: 1 + others.length, lanes: new Set(lives.map(({left}) => left)).size, labels: labels.length,
    height: Math.min(...labels.map((each) => box(each).height)), over: over.map((each) => each.textContent),
  };
}"""
"""Of the diagram of a record that is shown: its lanes, its labels, and those that are wider than their arrows."""
DARK = "rgb(20, 24, 31)"
FOLDS = ["Parameters", "Set-up", "Code of the plot", "What every run must hold"]


def tagged(source: str, tag: str) -> nbformat.NotebookNode:
    return new_code_cell(
        source, metadata={"tags": [tag]} | ({"jupyter": {"source_hidden": True}} if tag == HIDDEN else {})
    )


CELLS = [
    new_markdown_cell("# Everything\n\nThat a page may have, and a link to [another](sub.ipynb#There)."),
    tagged("seed: int = 7", "parameters"),
    new_code_cell(SETUP),
    new_markdown_cell(f"## Tables\n\n{TABLE}\n\n```python\nprint('in the text')  # {'long ' * 40}\n```"),
    new_code_cell("bench.gaps"),
    new_code_cell("bench.ledger.accounts"),
    new_markdown_cell("## A phone\n\nWith <b>HTML</b> in the text. ![A dot](a%20dot.png)"),
    new_code_cell("bench.phone('+260961234567')"),
    new_code_cell(f"bench.phone('+260961234567').enter_pin('0000').enter_pin('1234')\n{REFUND}"),
    new_markdown_cell("## Pictures"),
    new_code_cell("bench.trace.sequence"),
    new_code_cell("bench.trace.for_(intent.id)"),
    tagged(PLOT, HIDDEN),
    new_markdown_cell("## `Long` lines, and a failure"),
    new_code_cell(LONG),
    tagged(CHECKS, HIDDEN),
]


@pytest.fixture(scope="module")
def written(command: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page with everything on it, of a run that fails in its last cell."""
    folder = tmp_path_factory.mktemp("pages")
    Image.new("RGB", (40, 40), "blue").save(folder / "a dot.png")
    nbformat.write(new_notebook(cells=CELLS, metadata=KERNEL), folder / "everything.ipynb")
    arguments = [command, "run", str(folder / "everything.ipynb"), "--out", str(folder / "out")]
    done = subprocess.run(arguments, capture_output=True, text=True, check=False, timeout=120)  # noqa: S603  our own
    assert "assert seed == 8" in done.stderr, done.stderr
    return folder / "out" / "everything.html"


@pytest.fixture
def shown(browser: "Browser", written: Path) -> Iterator["Page"]:
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    page, asked = context.new_page(), list[str]()
    page.on("request", lambda request: asked.append(request.url))
    page.goto(written.as_uri())
    yield page
    assert [each for each in asked if not each.startswith(("file:", "data:"))] == []
    assert page.locator("script").count() == 0
    context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nobody_is_kept_out(shown: "Page", tools: Tools, scheme: str):
    shown.emulate_media(color_scheme=scheme)
    for width in (1440, 900, 360):
        shown.set_viewport_size({"width": width, "height": 900})
        for fold in shown.locator("details:not([open]) > summary:visible").all()[::-1]:
            fold.click()
        assert flaws(shown.locator("html"), tools) == [], width


def test_contents_stay_at_the_side_or_are_folded_and_the_keyboard_reaches_them_and_the_folds(shown: "Page"):
    contents = shown.get_by_role("navigation", name="Contents")
    expect(contents.get_by_role("link")).to_have_text(
        ["Everything", "Tables", "A phone", "Pictures", "Long lines, and a failure"]
    )
    contents.get_by_role("link", name="Pictures").press("Enter")
    expect(contents).to_be_in_viewport(ratio=1)
    expect(shown.get_by_role("heading", name="Pictures")).to_be_in_viewport()
    shown.set_viewport_size({"width": 900, "height": 900})
    expect(contents).to_be_hidden()
    shown.goto(shown.url.partition("#")[0] + "?")
    for key in ("Tab", "Tab", "Enter", "Tab"):  # past the link to the content
        shown.keyboard.press(key)
    expect(contents.get_by_role("link").first).to_be_focused()
    assert shown.locator("b").inner_text() == "HTML"
    assert shown.get_by_alt_text("A dot").evaluate("(each) => each.naturalWidth") == 40
    folds = shown.locator("main details.code")
    assert folds.locator("summary").all_inner_texts() == FOLDS
    assert folds.evaluate_all("(all) => all.map((each) => each.open)") == [False, False, False, True], "what failed"
    folds.first.locator("summary").press("Enter")
    expect(folds.first.locator("pre")).to_contain_text("seed: int = 7")
    expect(folds.nth(2).locator("xpath=following-sibling::*//img")).to_be_visible()


def test_no_page_is_wider_than_a_phone_or_than_paper(shown: "Page", written: Path):
    pages = [written]
    for each in notebooks():
        pages.append(written.with_name(f"{each.stem}.html"))
        write_notebook_page(nbformat.read(each, as_version=4), pages[-1], folder=each.parent)
    widths, scrolls = {}, {}
    for each in pages:
        shown.goto(each.as_uri())
        for media, width in (("screen", 360), ("print", PAPER_PX)):
            shown.emulate_media(media=media)
            shown.set_viewport_size({"width": width, "height": 800})
            widths[each.stem, media] = shown.evaluate("document.documentElement.scrollWidth") - width
            if media == "screen":
                scrolls[each.stem] = shown.evaluate(SCROLLED)
    assert {where: texts for where, texts in scrolls.items() if texts} == {}, "prose is wrapped"
    assert {where: beyond for where, beyond in widths.items() if beyond} == {}


@pytest.mark.parametrize("width", [1600, 1024, 685, 590, 480, 360])
def test_no_lane_of_a_record_is_lost_and_no_label_is_wider_than_its_arrow(shown: "Page", width: int):
    shown.set_viewport_size({"width": width, "height": 900})
    record = shown.locator(".wb-saved")
    diagram = shown.locator(".shown:has(> * .svg)").first
    for each in (record, diagram):
        drawn = each.evaluate(DRAWN)
        assert (drawn["shapes"], drawn["lanes"], drawn["over"]) == (1, 5, [])
        assert drawn["labels"] > 20
        assert drawn["height"] > 10, "it can be read"
    for account in record.locator("table:visible").all():
        assert account.evaluate("(each) => each.scrollWidth <= each.closest('.wb-saved').clientWidth")


def test_a_phone_leaves_a_receipt_of_its_moment_that_is_low_and_whole(shown: "Page"):
    receipts = shown.locator(".wb-receipt")
    for width in (1440, 360):
        shown.set_viewport_size({"width": width, "height": 900})
        for each in receipts.all():
            assert each.evaluate(
                "({offsetHeight, scrollHeight, clientHeight}) => [offsetHeight <= 160, scrollHeight <= clientHeight]"
            ) == [True, True]
    expect(receipts.first).to_contain_text("08:00:00 in Lusaka: waits for a PIN until 08:05:00, 3 tries left")
    expect(receipts.nth(1)).to_contain_text("no prompt waits")
    assert receipts.locator("button, input, a").count() == 0
    assert shown.locator(".wb-saved .wb-receipt").count() == 1


def test_in_the_lab_a_trace_and_a_phone_stay_as_they_were_in_the_colours_of_its_theme(lab: "Lab"):
    lab.page.set_viewport_size({"width": 1280, "height": 1600})
    lab.open([lab.shop, "made = ask()\nbench.phone('+260961234567')", "bench.trace.for_(made)"])
    lab.run_all()
    record, receipt = lab.output(2).locator(".wb-saved"), lab.output(1).locator(".wb-receipt")
    expect(receipt).to_contain_text("Enter PIN to approve:")
    lab.run("bench.phone('+260961234567').enter_pin('1234')")
    expect(lab.output(2)).to_contain_text("This is a record. bench.console() shows payments as they happen.")
    grounds = {}
    for theme in lab.themes():
        grounds[theme] = record.evaluate("(each) => getComputedStyle(each).backgroundColor")
        assert lab.axe(lab.output(2)) == []
        assert record.evaluate(DRAWN)["over"] == []
    assert grounds == {"light": "rgb(255, 255, 255)", "dark": DARK, "dark-high-contrast": DARK}
    expect(receipt).to_contain_text("Enter PIN to approve:")
    expect(receipt.locator("button, input")).to_have_count(0)
    expect(record).not_to_contain_text("Approved.")


def test_the_lab_folds_what_the_page_folds_and_runs_it(lab: "Lab", tmp_path: Path):
    path = tmp_path / "folded.ipynb"
    cells = [tagged(f"# Checks: {'as the text says, ' * 12}\nprint(6 * 7)", HIDDEN), new_code_cell("print('after')")]
    nbformat.write(new_notebook(cells=cells, metadata=KERNEL), path)
    lab.open(notebook=path)
    editor = lab.cell(0).locator(".jp-InputArea-editor")
    expect(editor).to_be_hidden()
    panel = lab.page.locator(".jp-NotebookPanel .jp-WindowedPanel-outer")
    assert panel.evaluate("(each) => each.scrollWidth - each.clientWidth") == 0
    lab.run_all()
    expect(lab.output(0)).to_contain_text("42")
    expect(lab.output(1)).to_contain_text("after")
    lab.cell(0).locator(".jp-Placeholder").click()
    expect(editor).to_be_visible()
