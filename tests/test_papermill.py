"""Papermill's own command line sets the notebooks' parameters, of which it makes numbers where they look like one."""

import json
from pathlib import Path

import papermill
import pytest
from papermill.cli import _resolve_type as as_papermill_reads

from workbench.domain.reading import as_text
from workbench.resources import course

TAKING = [
    each.path for each in course().values() if 'amount: str = "' in each.path.read_text("utf-8").replace('\\"', '"')
]
"""Every notebook with an amount; most take a phone too."""


@pytest.mark.parametrize(
    ("typed", "read"),
    [("0.37", "0.37"), ("19.99", "19.99"), ("100", "100"), ("9999999999.99", "9999999999.99"), ("abc", "abc"),
     ("+260961234567", "+260961234567"), ("0961234567", "961234567")],
)  # fmt: skip
def test_what_papermill_made_a_number_is_read_as_the_text_that_was_typed(typed: str, read: str):
    assert as_text(as_papermill_reads(typed)) == read


@pytest.mark.thorough
@pytest.mark.parametrize("notebook", TAKING, ids=lambda path: path.stem)
def test_each_notebook_runs_with_what_papermill_makes_of_its_parameters(notebook: Path, tmp_path: Path):
    cells = json.loads(notebook.read_text("utf-8"))["cells"]
    taken = next("".join(each["source"]) for each in cells if "parameters" in each["metadata"].get("tags", ()))
    typed = {"amount": "87.35", "phone": "+260961234567"}
    given = {name: as_papermill_reads(text) for name, text in typed.items() if f"{name}:" in taken}
    assert type(given["amount"]) is not str
    papermill.execute_notebook(notebook, tmp_path / "out.ipynb", parameters=given, progress_bar=False)
