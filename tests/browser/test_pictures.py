"""The README's pictures, taken from a real browser; `--pictures` writes them anew into fixtures/."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from PIL import Image
from playwright.sync_api import expect

from workbench.lab.server import layout
from workbench.resources import fixture, notebooks

if TYPE_CHECKING:
    from tests.browser.conftest import Lab

MOST_BYTES, COLOURS, MARGIN = 200_000, 64, 8
WIDE = {"width": 1360, "height": 860}
TALL = {"width": 1900, "height": 3000}
Keep = Callable[[Path, str], None]
DESK = ["from workbench import Workbench\n\nbench = Workbench(seed=7)", "bench.desk()"]


@pytest.fixture
def keep(request: pytest.FixtureRequest) -> Keep:
    """Make a picture small, and one of the README's if that was asked for."""

    def small(picture: Path, name: str) -> None:
        with Image.open(picture) as shot:
            assert min(shot.size) > 300
            reduced = shot.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
        reduced.save(picture, optimize=True)
        assert picture.stat().st_size < MOST_BYTES
        if request.config.getoption("--pictures"):
            shutil.copy(picture, fixture(f"{name}.png"))

    return small


def test_a_notebook_and_its_handset(lab: "Lab", keep: Keep):
    start = notebooks()[0]
    lab.lay_out(layout(start))
    lab.page.set_viewport_size(WIDE)
    lab.open(notebook=start)
    handset = lab.page.locator(".jp-LinkedOutputView section.wb-phone")
    for place in (1, 2, 4, 6):
        lab.run_cell(place)
    expect(handset).to_contain_text("Pay ZMW 150.00")
    lab.cell(5).scroll_into_view_if_needed()
    keep(lab.shot("#main", "notebook"), "notebook")
    lab.type_pin(handset)
    expect(handset).to_contain_text("Approved")


def test_the_desk(lab: "Lab", keep: Keep):
    lab.page.set_viewport_size(TALL)
    desk = lab.show(*DESK).locator(".wb-board")
    desk.get_by_role("button", name="Send request", exact=True).click()
    handset = desk.locator("section.wb-phone")
    expect(handset).to_contain_text("Pay ZMW 150.00")
    lab.type_pin(handset)
    expect(desk.locator("> .wb-status")).to_contain_text("Paid: ")
    shot = lab.shot(desk, "desk")
    # As far as the ledger: the code below it is for those who have begun.
    top, ledger = desk.bounding_box(), desk.get_by_role("region", name="Ledger", exact=True).bounding_box()
    assert top
    assert ledger
    with Image.open(shot) as whole:
        cut = whole.crop((0, 0, whole.width, int(ledger["y"] + ledger["height"] - top["y"]) + MARGIN))
    cut.save(shot)
    keep(shot, "desk")
