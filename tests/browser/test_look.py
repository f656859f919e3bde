"""One look: each kind of page, served or written to a file, has the head, the mark and the colours of all others."""

import json
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import nbformat
import pytest
from nbformat.v4 import new_markdown_cell, new_notebook

from tests.browser.conftest import AXE, Tools
from tests.test_certify import SECRET, listening
from workbench import look
from workbench.resources import fixture

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext

    from tests.conftest import Serving

Pages = tuple["BrowserContext", dict[str, str]]
SHEET = Path(look.__file__).with_name("templates") / "look.css"
SERVED = ("/docs", "/docs/guide/testing", "/docs/interface", "/docs/errors", "/docs/test-numbers", "/?code=wrong")
FILES = ("guide", "notebook", "exam", "reconciliation", "checklist")
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
WIDER = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
VISIBLE = "(selector) => [...document.querySelectorAll(selector)].filter((each) => each.checkVisibility()).length"
UNSTYLED = "[...document.links].filter((each) => getComputedStyle(each).color === 'rgb(0, 0, 238)').length"
BOOKS = "books/books.csv", "statements/mtn_portal.csv", "books/books.toml"
TEXT = "# One\n\n[Two](#Two).\n\n## Two\n\nText."


@pytest.fixture(scope="module")
def files(command: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The address of each kind of page that a command writes."""
    folder = tmp_path_factory.mktemp("look")
    nbformat.write(new_notebook(cells=[new_markdown_cell(TEXT)]), folder / "notebook.ipynb")
    ledger, statement, layout = (str(fixture(each)) for each in BOOKS)
    env = {**os.environ, "SHOP_SECRET": SECRET}
    with listening(lambda *_: 200) as url:
        for line in (
            ["docs", "testing", "--out", "guide.html"],
            ["run", "notebook.ipynb", "--out", "."],
            ["certify", url, "--secret-env", "SHOP_SECRET", "--report", "exam.html"],
            ["reconcile", ledger, statement, "--ledger-layout", layout, "--out", "reconciliation.html"],
            ["check-live", "--out", "checklist.html"],
        ):
            subprocess.run([command, *line], cwd=folder, env=env, capture_output=True, check=False, timeout=120)  # noqa: S603  our own
    return {name: (folder / f"{name}.html").as_uri() for name in FILES}


@pytest.fixture(scope="module")
def pages(serving: "Serving", browser: "Browser", files: dict[str, str]) -> Iterator[Pages]:
    """A profile that was let in, and the address of every page by its kind."""
    with serving("--port", "0", "--json", "--seed", "7") as server:
        context = browser.new_context(bypass_csp=True)
        page = context.new_page()
        page.goto(server.console_url)
        page.close()
        base = server.address["base_url"]
        yield context, {"console": base} | {each: base + each for each in SERVED} | files
        context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_page_has_the_same_head_mark_and_colours_and_nobody_is_kept_out(pages: Pages, tools: Tools, scheme: str):
    context, addresses = pages
    names = sorted({*re.findall(r"(--[\w-]+): light-dark", SHEET.read_text())})
    assert {"--ink", "--link", "--good", "--bad"} <= {*names}
    seen = {}
    for kind, address in addresses.items():
        page = context.new_page()
        page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
        page.set_viewport_size({"width": 1440, "height": 900})
        page.goto(address)
        page.locator(".brand svg").first.wait_for()
        seen[kind] = page.evaluate(LOOK, names)
        assert page.evaluate(UNSTYLED) == 0, kind
        for width in (360, 900, 1440):
            page.set_viewport_size({"width": width, "height": 900})
            assert page.evaluate(WIDER) <= 0, (kind, width)
        if kind in {"console", *FILES}:  # what is served is looked at with the documentation
            page.evaluate(tools.axe.read_text("utf-8"))
            flaws = [(each["id"], each["nodes"][0]["html"][:200]) for each in page.locator("html").evaluate(AXE)]
            assert flaws == [], kind
        if kind != "console":
            page.emulate_media(media="print")
            assert page.evaluate(VISIBLE, ".contents, .head nav, .head fieldset") == 0, kind
            assert page.evaluate(LOOK, names)["ground"] == "rgb(255, 255, 255)", "paper is white"
        page.close()
    assert {kind for kind, each in seen.items() if each != seen["console"]} == set(), json.dumps(seen, indent=1)
