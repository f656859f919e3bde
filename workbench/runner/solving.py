"""A notebook with its exercises done: each solution stands where a person would write."""

import re

import nbformat

from workbench.errors import RunRefused
from workbench.lab.exercises.tasks import EXERCISES

_TAG = "exercise"
_CHECK = re.compile(r'^exercises\.check\(\s*"(\w+)"', re.MULTILINE)


def solved(node: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """The notebook with the code of its solutions above each check.

    An exercise's cell is tagged `exercise` and ends with `exercises.check("its_name", …)`.
    Raises RunRefused: no check at the beginning of a line, or the check of an unknown exercise.
    """
    codes = {each.name: each.solution for each in EXERCISES}
    for cell in node.cells:
        if _TAG in cell.metadata.get("tags", ()):
            check = _CHECK.search(cell.source)
            if check is None or check[1] not in codes:
                named = f"of {check[1]!r}, which is no exercise" if check else "of no exercise"
                raise RunRefused(f"A cell tagged {_TAG} has the check {named}:\n{cell.source}")
            cell["source"] = f"{codes[check[1]]}\n{cell.source[check.start() :]}"
    return node
