"""An exercise in a real JupyterLab: done by hand, and remembered by another kernel."""

import json
from typing import TYPE_CHECKING

from playwright.sync_api import expect

from workbench.lab.exercises.on_payments import SECOND_PAYMENT
from workbench.resources import notebooks

if TYPE_CHECKING:
    from tests.browser.conftest import Lab

START = notebooks()[0]
CELLS = json.loads(START.read_text("utf-8"))["cells"]
WAITS_MS = 30_000


def place_of(words: str) -> int:
    """The place of the one code cell in which these words stand."""
    (place,) = [at for at, cell in enumerate(CELLS) if cell["cell_type"] == "code" and words in "".join(cell["source"])]
    return place


RING = next(place for place, cell in enumerate(CELLS) if "handset" in cell["metadata"].get("tags", ()))
LOOK, TASK, REPORT = (place_of(words) for words in ("what_to_do", "exercises.check", "exercises.report"))


def test_what_is_done_is_remembered(lab: "Lab"):
    lab.open(notebook=START)
    lab.run_all()
    expect(lab.output(LOOK)).to_contain_text(
        "A prompt waits on the phone. Enter the PIN on it, then run this cell again."
    )
    expect(lab.output(TASK)).to_contain_text("Not done yet")
    lab.type_pin(lab.output(RING))
    expect(lab.output(RING)).to_contain_text("Approved.", timeout=WAITS_MS)
    lab.run_cell(LOOK)
    expect(lab.output(LOOK)).to_contain_text("the intent is succeeded")

    lab.run(SECOND_PAYMENT.solution)
    lab.run_cell(TASK)
    expect(lab.output(TASK)).to_contain_text("Done: The Fern is paid")
    lab.run_cell(REPORT)
    expect(lab.output(REPORT)).to_contain_text("1 of")
    lab.restart()
    lab.run_all()
    expect(lab.output(LOOK)).to_contain_text("A prompt waits on the phone.")
    expect(lab.output(REPORT)).to_contain_text("✓ done")
