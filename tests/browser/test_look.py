"""One look: each kind of page, served or written to a file, has the head, the mark and the colours of all others."""

import os
import re
import subprocess
from typing import TYPE_CHECKING, Literal

import nbformat
import pytest
from nbformat.v4 import new_markdown_cell, new_notebook

from tests.browser.conftest import Tools, flaws
from tests.browser.test_docs import PAGES as DOCUMENTATION
from tests.browser.test_docs import WIDER
from tests.conftest import KERNEL, SECRET
from tests.test_certify import listening
from workbench.resources import console, fixture

if TYPE_CHECKING:
    from playwright.sync_api import Browser

    from tests.conftest import Serving

SHEET = console("look.css")
SERVED = ("/docs", "/docs/guide/testing", "/docs/interface", "/docs/errors", "/docs/test-numbers", "/?code=wrong")
FILES = ("guide", "notebook", "exam", "reconciliation", "checklist")
SCHEMES: tuple[Literal["light"], Literal["dark"]] = ("light", "dark")
LOOK = """(names) => {
  const root = document.querySelector('.wb-look, .wb-console'), head = document.querySelector('header.head');
  const [bar, brand] = [head, head.querySelector('.brand :is(b, strong)')].map((each) => getComputedStyle(each));
  const mark = head.querySelector('.brand svg'), ground = root.matches('html') ? document.body : root;
  const { x, y, width, height } = mark.getBoundingClientRect();
  const probe = root.appendChild(document.createElement('i'));
  const colour = (name) => { probe.style.color = `var(${name})`; return getComputedStyle(probe).color; };
  const colours = Object.fromEntries(names.map((name) => [name, colour(name)]));
  probe.remove();
  return {
    colours, mark: [x, y, width, height, getComputedStyle(mark.querySelector('rect')).fill],
    head: [head.getBoundingClientRect().height, bar.backgroundColor, bar.borderBottom],
    brand: [brand.fontSize, brand.fontWeight, brand.color, brand.fontFamily],
    ground: getComputedStyle(ground).backgroundColor,
  };
}"""
VISIBLE = "(selector) => [...document.querySelectorAll(selector)].filter((each) => each.checkVisibility()).length"
UNSTYLED = "[...document.links].filter((each) => getComputedStyle(each).color === 'rgb(0, 0, 238)').length"
BOOKS = "books/books.csv", "statements/mtn_portal.csv", "books/books.toml"
TEXT = "# One\n\n[Two](#Two).\n\n## Two\n\nText."


@pytest.fixture(scope="module")
def files(command: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The address of each kind of page that a command writes."""
    folder = tmp_path_factory.mktemp("look")
    folder.joinpath("out").mkdir()
    nbformat.write(new_notebook(cells=[new_markdown_cell(TEXT)], metadata=KERNEL), folder / "notebook.ipynb")
    ledger, statement, layout = (str(fixture(each)) for each in BOOKS)
    env = {**os.environ, "SHOP_SECRET": SECRET}
    with listening(lambda *_: 200) as url:
        for line in (
            ["docs", "testing", "--out", "out/guide.html"],
            ["run", "notebook.ipynb", "--out", "out"],
            ["certify", url, "--secret-env", "SHOP_SECRET", "--report", "out/exam.html"],
            ["reconcile", ledger, statement, "--ledger-layout", layout, "--out", "out/reconciliation.html"],
            ["check-live", "--out", "out/checklist.html"],
        ):
            subprocess.run([command, *line], cwd=folder, env=env, capture_output=True, check=False, timeout=120)  # noqa: S603  our own
    return {name: (folder / f"out/{name}.html").as_uri() for name in FILES}


def test_every_page_has_the_same_head_mark_and_colours_and_nobody_is_kept_out(
    serving: "Serving", browser: "Browser", files: dict[str, str], tools: Tools
):
    names = sorted({*re.findall(r"(--[\w-]+): light-dark", SHEET.read_text("utf-8"))})
    assert {"--ink", "--link", "--good", "--bad"} <= {*names}
    seen, context = dict[tuple[str, str], object](), browser.new_context()
    with serving("--port", "0", "--json", "--seed", "7") as server:
        served = {each: server.address["base_url"] + each for each in SERVED}
        # The console's link lets in: what is shown to strangers is looked at before.
        for kind, address in (served | files | {"console": server.console_url}).items():
            page = context.new_page()
            page.goto(address)
            page.locator(".brand svg").first.wait_for()
            for scheme in SCHEMES:
                page.emulate_media(media="screen", color_scheme=scheme)
                for width in (360, 720, 768, 900, 1440):
                    page.set_viewport_size({"width": width, "height": 900})
                    assert page.evaluate(WIDER) <= 0, (kind, width)
                seen[scheme, kind] = page.evaluate(LOOK, names)
                assert page.evaluate(UNSTYLED) == 0, kind
                if kind not in DOCUMENTATION:  # its own test has the checker look at it
                    assert flaws(page.locator("html"), tools) == [], (kind, scheme)
                if kind != "console":
                    page.emulate_media(media="print")
                    assert page.evaluate(VISIBLE, ".contents, .head nav, .head fieldset") == 0, kind
                    assert page.evaluate(LOOK, names)["ground"] == "rgb(255, 255, 255)", "paper is white"
            page.close()
    context.close()
    assert {at: each for at, each in seen.items() if each != seen[at[0], "console"]} == {}
    assert seen["light", "console"] != seen["dark", "console"]
